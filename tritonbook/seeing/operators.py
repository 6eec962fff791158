"""What PyTorch gets to know of an operator: its fake results, its graphs, its gradients.

`graph_of` shows what torch.compile makes of a function. `operator_fact` tells one fact about an
operator as plain data, for a check that judges it elsewhere.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import operator
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch
from torch._subclasses import FakeTensor, FakeTensorMode
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch._subclasses.functional_tensor import FunctionalTensor

from ..port import device
from ..port.compat import hook_launch

Register = Callable[[str], Any]
# Never this machine's, and no operator asks a driver for it.
OTHER_DEVICE = "meta"
# PyTorch writes what a fake raises there, in some thirty lines, beside the error itself.
_FAKES_LOG = logging.getLogger("torch._subclasses.fake_tensor")


def graph_of(fn: Callable[..., Any], *arguments: Any) -> list[str]:
    """The operators that are left when torch.compile has traced `fn(*arguments)`, by name.

    They are what its code generator gets. Raises what torch.compile raises at a graph break.
    """
    return _compiled(fn, *arguments)[0]


def _compiled(fn: Callable[..., Any], *arguments: Any) -> tuple[list[str], Any]:
    """Names of the operators in the graph, and the result of running it."""
    from torch._dynamo.backends.common import aot_autograd

    names: list[str] = []

    def note(graph: Any, inputs: Any) -> Any:
        calls = [node.target for node in graph.graph.nodes if node.op == "call_function"]
        names.extend(str(target) for target in calls if target is not operator.getitem)
        return graph

    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=note)
    return names, torch.compile(fn, fullgraph=True, backend=backend)(*arguments)


# --- one fact at a time


class Obstacle(Exception):
    """Why a fact cannot be told, in a few words."""


@dataclass
class _Launches:
    names: list[str] = field(default_factory=list)
    without_data: bool = False  # one was tried on fake tensors


@dataclass
class _Asked:
    """An operator that was just registered, and what it is asked with."""

    register: Register
    namespace: str
    operator: Any
    inputs: list[Any]
    gradient: torch.Tensor
    launches: _Launches

    def call(self, *inputs: Any) -> Any:
        return self.operator(*(inputs or self.inputs))

    def name(self) -> str:
        """As PyTorch knows it: namespace::name."""
        return _definition(self.operator)._schema.name

    def leaves(self) -> list[Any]:
        """The inputs, each floating tensor a new leaf that wants a gradient."""
        return [
            x.detach().clone(memory_format=torch.preserve_format).requires_grad_()
            if isinstance(x, torch.Tensor)
            else x
            for x in self.inputs
        ]


def operator_fact(
    register: Register,
    what: str,
    inputs: Sequence[Any],
    gradient: torch.Tensor,
    layout: str = "contiguous",
) -> Any:
    """One fact about the operator that `register(namespace)` makes and returns, as plain data.

    what: a key of FACTS. inputs: its arguments, tensors on the CPU; layout: how the first one lies
    in memory, "contiguous" or "transposed". gradient: that of the result. Where something stands in
    the way, the fact is a sentence that says what.
    """
    moved = [x.to(device.DEVICE) if isinstance(x, torch.Tensor) else x for x in inputs]
    if layout == "transposed":
        moved[0] = moved[0].t().contiguous().t()
    namespace = f"workbook_{uuid.uuid4().hex[:8]}"
    try:
        with _watched_launches() as launches, mock.patch.object(_FAKES_LOG, "disabled", True):
            made = _registered(register, namespace)
            gradient = gradient.to(device.DEVICE)
            return FACTS[what](_Asked(register, namespace, made, moved, gradient, launches))
    except Obstacle as obstacle:
        return str(obstacle)


@contextlib.contextmanager
def _watched_launches() -> Iterator[_Launches]:
    """Launches inside the block. One on tensors without data is stopped: their address is 0, and
    a kernel that reads there ends this process or spoils the GPU's context."""
    seen = _Launches()

    def around(call: Any, fn: Any, grid: Any, args: Any, kwargs: Any) -> Any:
        if any(isinstance(x, (FakeTensor, FunctionalTensor)) for x in (*args, *kwargs.values())):
            seen.without_data = True
            raise RuntimeError(f"{fn.__name__} was launched on tensors without data")
        seen.names.append(fn.__name__)
        return call()

    with hook_launch(around):
        yield seen


def _registered(register: Register, namespace: str) -> Any:
    """The operator, which is still there. Raises Obstacle."""
    try:
        made = register(namespace)
    except RuntimeError as error:
        if "non-functional" in str(error) and "!)" in str(error):
            raise Obstacle("its schema says that an input is changed") from None
        raise
    if made is None:
        raise Obstacle("nothing was returned")
    if inspect.isfunction(made) or not callable(made):
        raise Obstacle("what was returned is no operator")
    try:
        name = _definition(made)._schema.name
    except AttributeError:  # its name is there, and nothing behind it
        raise Obstacle("its library is closed") from None
    if not torch._C._jit_get_schemas_for_operator(name):
        raise Obstacle("its library is closed")
    return made


def _definition(made: Any) -> Any:
    """The OpOverload of whatever stands for an operator in Python."""
    made = getattr(made, "_opoverload", made)
    return getattr(made, made.overloads()[0]) if hasattr(made, "overloads") else made


def _schema(asked: _Asked) -> str:
    """As text, without namespace and defaults."""
    text = str(_definition(asked.operator)._schema).partition("::")[2]
    if "!)" in text:
        raise Obstacle("its schema says that an input is changed")
    return re.sub(r"=[^,)]+", "", text)


def _devices(asked: _Asked) -> list[str]:
    """Devices that it has an implementation for."""
    has = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    return [key for key in ("CPU", "CUDA") if has(asked.name(), key)]


def _result(asked: _Asked) -> Any:
    """What a call returns."""
    tensors = [x for x in asked.inputs if isinstance(x, torch.Tensor)]
    before = [x.clone() for x in tensors]
    try:
        with new_memory_is_nan():
            result = asked.call()
    except RuntimeError as error:
        raise Obstacle("an input was returned") if "alias" in str(error) else error from None
    if any(not torch.equal(x, old) for x, old in zip(tensors, before, strict=True)):
        raise Obstacle("an input was changed")
    if not asked.launches.names:
        raise Obstacle("no kernel was launched")
    if not isinstance(result, torch.Tensor):
        raise Obstacle("a call returns no tensor")
    if any(result.data_ptr() == x.data_ptr() for x in tensors):
        raise Obstacle("an input was returned")
    if bool(result.isnan().any()):
        raise Obstacle("a part of the result was not written")
    return result.detach().cpu()


@contextlib.contextmanager
def new_memory_is_nan() -> Iterator[None]:
    """Inside, `torch.empty` gives NaN: what nobody writes shows."""
    before = torch.are_deterministic_algorithms_enabled()
    only_warn = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=only_warn)


def _fake(asked: _Asked) -> Any:
    """Shape, dtype and strides of the result for inputs without data, and on which device it is:
    for inputs on this machine's device, and for inputs on another one."""

    def without_data(x: Any, where: str, strides: Any = None) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        return torch.empty_strided(x.shape, strides or x.stride(), dtype=x.dtype, device=where)

    first, *rest = asked.inputs
    side_by_side = first.contiguous().stride()
    found = []
    with FakeTensorMode():
        tries = [[without_data(x, w) for x in asked.inputs] for w in (device.DEVICE, OTHER_DEVICE)]
        packed = without_data(first, device.DEVICE, side_by_side)
        tries.append([packed, *(without_data(x, device.DEVICE) for x in rest)])
        for inputs in tries:
            with _no_data(asked):
                found.append(asked.call(*inputs))
            if any(found[-1] is x for x in inputs):
                raise Obstacle("the fake returns its input")
    if not all(isinstance(result, torch.Tensor) for result in found):
        return type(found[0]).__name__
    here = found[0]
    return {
        "shape": list(here.shape),
        "dtype": str(here.dtype),
        "strides": list(here.stride()),
        "devices": [result.device.type for result in found[:2]],
    }


# What torch says where no fake is registered.
_NO_FAKE = re.compile(r"no fake impl|does not support running with fake|no meta|register_fake")


# And where one asks for values.
_READS_DATA = ("data_ptr", "numpy", "data pointer", "data-dependent", "DataDependent")


@contextlib.contextmanager
def _no_data(asked: _Asked) -> Iterator[None]:
    """Inside, fake tensors are used. Raises Obstacle where that fails for a known reason."""
    try:
        yield
    except Exception as error:
        text = str(error)
        if asked.launches.without_data:
            raise Obstacle("a kernel was launched on fake tensors") from None
        if isinstance(error, DataDependentOutputException) or any(x in text for x in _READS_DATA):
            raise Obstacle("the fake reads data") from None
        if type(error).__name__ == "UnsupportedOperatorException" or _NO_FAKE.search(text):
            raise Obstacle("there is no fake") from None
        raise


def _gradients(asked: _Asked, fn: Callable[..., Any] | None = None, change: bool = False) -> Any:
    """Gradients of the tensors among the inputs, on the CPU; change: the first one is changed
    between forward and backward."""
    leaves = asked.leaves()
    wanted = [x for x in leaves if isinstance(x, torch.Tensor)]
    result = (fn or asked.operator)(*leaves)
    if not result.requires_grad:
        raise Obstacle("there is no gradient")
    if change:
        with torch.no_grad():
            wanted[0].add_(1)
    try:
        found = torch.autograd.grad(result, wanted, asked.gradient, allow_unused=True)
    except (RuntimeError, AttributeError) as error:
        for text, obstacle in _IN_THE_BACKWARD.items():
            if text in str(error):
                raise Obstacle(obstacle) from None
        raise
    if all(x is None for x in found):
        raise Obstacle("there is no gradient")
    names = [each.name for each in _definition(asked.operator)._schema.arguments]
    tensors = [name for name, x in zip(names, leaves, strict=False) if isinstance(x, torch.Tensor)]
    grads = [None if x is None else x.detach().cpu() for x in found]
    return {f"gradient of {name}": x for name, x in zip(tensors, grads, strict=True)}


# What torch says of a backward that fails, and what that means.
_IN_THE_BACKWARD = {
    "no autograd formula": "there is no gradient",
    "does not require grad": "there is no gradient",
    "incorrect number of gradients": "the backward does not return one gradient for each input",
    "a gradient different than None": "the backward returns a gradient for a number",
    "but expected shape compatible": "a gradient has another shape than its input",
    "object has no attribute": "the backward looks for something that was not kept",
}


def _changed_meanwhile(asked: _Asked) -> str:
    """Does the backward notice that the first input was changed after the forward?"""
    right = _gradients(asked)
    try:
        found = _gradients(asked, change=True)
    except RuntimeError as error:
        if "inplace" in str(error) or "in-place" in str(error):
            return "noticed"
        raise
    same = all(
        right[name] is not None and torch.allclose(right[name], x, atol=1e-3)
        for name, x in found.items()
        if x is not None
    )
    return "noticed" if same else "not noticed"


def _in_a_graph(asked: _Asked) -> Any:
    """How the code generator sees the operator between two others, and what the graph gives."""
    with _no_data(asked):
        names, result = _compiled(lambda x, *rest: asked.call(x + 1, *rest) * 2, *asked.inputs)
    if any("triton_kernel_wrapper" in name for name in names):
        seen = "the kernel"
    else:
        seen = "one call" if any(asked.namespace in name for name in names) else "other operators"
    return {"seen as": seen, "result": result.detach().cpu()}


def _compiled_gradients(asked: _Asked) -> Any:
    """Gradients where forward and backward are compiled together."""
    torch._dynamo.reset()
    compiled = torch.compile(asked.operator, fullgraph=True, backend="aot_eager")
    with _no_data(asked):
        return _gradients(asked, compiled)


def _graphs_for_sizes(asked: _Asked) -> str:
    """Is a compiled call made anew for each number of rows? (For the second it is, and general.)"""
    from torch._dynamo.testing import CompileCounter

    count = CompileCounter()
    x, *rest = asked.inputs
    torch._dynamo.reset()
    call = torch.compile(lambda x: asked.call(x, *rest), fullgraph=True, backend=count)
    with _no_data(asked):
        for rows in range(2, 7):
            call(x[:1].expand(rows, -1).contiguous())
    return "at most two graphs" if count.frame_count <= 2 else "a graph for each"


def _again(asked: _Asked) -> Any:
    """The result after another namespace was asked for, and then the same a second time."""
    asked.call()
    name = asked.name()
    _registered(asked.register, f"{asked.namespace}_too")
    if not torch._C._jit_get_schemas_for_operator(name):
        raise Obstacle("its library closed when another opened")
    try:
        second = _registered(asked.register, asked.namespace)
    except RuntimeError as error:
        if "multiple times" in str(error) or "Only a single" in str(error):
            raise Obstacle("the name was taken") from None
        raise
    # torch 2.6 keeps an operator in torch.ops when its library closes by itself. To call it is to
    # read freed memory.
    if second is asked.operator:
        raise Obstacle("the operator of a closed library was returned")
    return second(*asked.inputs).detach().cpu()


def _opcheck(asked: _Asked) -> list[str]:
    """The tests of torch.library.opcheck that fail, each with the first line of what it says."""
    found = torch.library.opcheck(
        _definition(asked.operator), tuple(asked.leaves()), raise_exception=False
    )
    return [f"{t}: {str(said).splitlines()[0]}" for t, said in found.items() if said != "SUCCESS"]


FACTS: dict[str, Callable[[_Asked], Any]] = {
    "schema": _schema,
    "devices": _devices,
    "result": _result,
    "fake": _fake,
    "gradient": _gradients,
    "input changed": _changed_meanwhile,
    "in a graph": _in_a_graph,
    "gradient, compiled": _compiled_gradients,
    "five sizes, compiled": _graphs_for_sizes,
    "registered again": _again,
    "opcheck": _opcheck,
}
