"""The checker's side of a tape: play what a wrapper did, on real tensors, with vetted kernels.

A tape is whatever the candidate's process sent. Made up, it can still do no more than launch
kernels of the submission and call memory-safe torch operators on tensors of the call. Operators are
carried out here, kernels by the launcher: in the interpreter, in another process.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes

from tritonbook.language.allowed import Refused
from tritonbook.port.compat import tensor_of
from tritonbook.port.tuners import tell_of_a_choice, timing, trying
from tritonbook.words import later

from ..walls.kernels import KernelId, KernelLibrary, is_name, kernel_id
from ..walls.tape import DTYPES, MAX_STEPS, TapeError, decode_call, encode
from ..walls.wire import ProcessEnded
from .work import Outcome

_LONG_PAST = later(
    "The function uses an argument of a call long past: keep no tensor from one call to the next."
)


class LaunchFailed(Exception):
    """A launch on a tape raised. `number` counts the launches of the call, from 0."""

    def __init__(self, number: int, error: BaseException):
        super().__init__(str(error))
        self.number, self.error = number, error


@dataclass(frozen=True)
class Layout:
    """What a compiler needs of a tensor. shift: elements that it lies past an aligned address."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    shift: int


@dataclass(frozen=True)
class Described:
    """What a compiler needs of a tensor descriptor."""

    base: Layout
    shape: list[int]
    strides: list[int]
    block_shape: list[int]
    gluon: bool = False


def laid_out(value: Any) -> Any:
    """A launch argument, tensors as their layout: it can be kept after the call."""
    if isinstance(value, torch.Tensor):
        shift = value.data_ptr() % 16 // value.element_size()
        return Layout(tuple(value.shape), tuple(value.stride()), value.dtype, shift)
    if isinstance(value, (list, tuple)):
        return type(value)(map(laid_out, value))
    base = tensor_of(value)
    if base is not value:
        sizes = value.shape, value.strides, value.block_shape
        return Described(laid_out(base), *sizes, gluon=hasattr(value, "layout"))
    return value


@dataclass(frozen=True)
class LaunchRecord:
    """One launch of a tape: tensors as their layout, a kernel among them as its KernelId.

    instead: launches by which a tuner had tried its configs, before it made this one.
    """

    kernel: KernelId
    grid: tuple[int, ...]
    args: tuple[Any, ...]
    options: dict[str, Any]
    instead: tuple[LaunchRecord, ...] = ()

    @property
    def dtypes(self) -> set[torch.dtype]:
        """Of the tensors that it was given."""
        return _dtypes([*self.args, *self.options.values()])

    @property
    def variant(self) -> str:
        """The kernel and those arguments that choose what it does, as flags and functions do."""
        kinds = (Layout, Described, float)

        def told(value: Any) -> str:
            number = isinstance(value, int) and not isinstance(value, bool)
            return "_" if number or isinstance(value, kinds) else repr(value)

        options = [f"{name}={told(value)}" for name, value in sorted(self.options.items())]
        return f"{self.kernel} {[*map(told, self.args), *options]}"


def _dtypes(value: Any) -> set[torch.dtype]:
    """Of the tensors in what `laid_out` made."""
    if isinstance(value, (list, tuple)):
        return set[torch.dtype]().union(*map(_dtypes, value))
    if isinstance(value, Described):
        value = value.base
    return {value.dtype} if isinstance(value, Layout) else set()


Stores = list[np.ndarray]  # which bytes a launch stored to, for each storage of `storages`


def storages(arguments: Any, options: Any) -> list[torch.UntypedStorage]:
    """The memory that a launch is given, each once, in the order of its arguments."""
    found: dict[tuple[int, int], torch.UntypedStorage] = {}

    def reference(value: Any) -> dict[str, Any]:
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            found.setdefault((storage.data_ptr(), storage.nbytes()), storage)
        return {}

    encode(arguments, reference)
    encode(options, reference)
    return list(found.values())


class Launcher:
    """Carries out launches of a library's kernels: `launcher.py` has one for the interpreter and
    one for a GPU."""

    def __init__(self, library: KernelLibrary):
        self.library = library
        self.trouble: Outcome | None = None  # why it carries out no more
        self.carried_out = 0  # launches that nobody who watches kept from running
        self.stores: list[Stores] | None = None  # of each launch, where somebody asks for them

    def vet(self, id: KernelId) -> None:
        """Raises Refused where the kernel holds more than Triton's language."""

    def launch(
        self, id: KernelId, grid: tuple[int, ...], args: list[Any], options: dict[str, Any]
    ) -> None:
        """Run a vetted kernel; one among the arguments is its KernelId. Raises what it raises."""


class Player:
    """The checker's side: plays tapes on real tensors, with kernels from vetted source."""

    mute = False  # play everything but the launches

    def __init__(self, launcher: Launcher, cell_of_file: Callable[[str], str | None]):
        self.launcher = launcher
        self.cell_of_file = cell_of_file
        self.tensors: dict[int, torch.Tensor] = {}
        self.launched: list[LaunchRecord] = []  # of the latest call
        self._tried: list[LaunchRecord] = []  # by tuners, for launches that are to come
        self._launches = 0  # of the latest call, with those that tried a config

    def play(self, steps: Any, constants: list[bytes]) -> None:
        """Run one call's steps. Raises TapeError, Refused, or what a launch raises."""
        if not isinstance(steps, list) or len(steps) > 2 * MAX_STEPS:
            raise TapeError("not a list of steps")
        self.launched, self._tried, self._launches = [], [], 0
        with contextlib.ExitStack() as tuner:
            self._play_steps(steps, constants, tuner)

    def _play_steps(
        self, steps: list[Any], constants: list[bytes], tuner: contextlib.ExitStack
    ) -> None:
        for step in steps:
            if not isinstance(step, list) or not step:
                raise TapeError("not a step")
            kind, *rest = step
            if kind == "drop" and len(rest) == 1 and isinstance(rest[0], int):
                self.tensors.pop(rest[0], None)
            elif kind == "look" and not rest:
                torch.zeros(()).item()  # the same for who watches: there the values are the peer's
            elif kind == "choice" and not rest:
                tell_of_a_choice()
            elif kind == "timing" and len(rest) == 1:
                tuner.close()
                if rest[0]:
                    tuner.enter_context(trying())
            elif kind == "torch" and len(rest) == 4:
                self._play_torch(*rest)
            elif kind == "launch" and len(rest) == 4:
                self._play_launch(*rest)
            elif kind == "constant" and len(rest) == 3:
                self._play_constant(constants, *rest)
            else:
                raise TapeError("unknown step")

    def resolve(self, data: dict[str, Any]) -> Any:
        """A tensor or kernel that a tape refers to."""
        if "t" in data:
            number = data["t"]
            if not isinstance(number, int) or number not in self.tensors:
                if isinstance(number, int) and number < 0:
                    raise Refused("second-call", _LONG_PAST)
                raise TapeError("a step uses a tensor that is not there")
            return self.tensors[number]
        if "kernel" in data:
            return self._kernel(data["kernel"])
        raise TapeError("not a value")

    def _kernel(self, place: Any) -> KernelId:
        """A vetted kernel."""
        id = kernel_id(place, self.cell_of_file)
        self.launcher.vet(id)
        return id

    def _play_torch(self, name: Any, args: Any, kwargs: Any, made: Any) -> None:
        arguments, options = decode_call(args, kwargs, self.resolve)
        result = self.operated(name, _operator(name)(*arguments, **options))
        leaves = result if isinstance(result, (list, tuple)) else [result]
        if not isinstance(made, list) or len(made) != len(leaves):
            raise TapeError("a step makes another number of tensors")
        for number, leaf in zip(made, leaves, strict=True):
            if isinstance(leaf, torch.Tensor):
                if not isinstance(number, int):
                    raise TapeError("not the number of a tensor")
                self.tensors[number] = leaf

    def _play_launch(self, place: Any, grid: Any, args: Any, kwargs: Any) -> None:
        arguments, options = decode_call(args, kwargs, self.resolve)
        sizes = isinstance(grid, list) and 1 <= len(grid) <= 3
        if not sizes or not all(type(n) is int and 0 <= n < 1 << 31 for n in grid):
            raise TapeError("not a grid")
        # The compile gate writes these names into a program. The interpreter drops what the kernel
        # does not have, and would not complain of one that holds code.
        if not all(map(is_name, options)):
            raise TapeError("not options")
        id = self._kernel(place)
        if self.mute:
            self.muted(arguments, options)
            return
        told = laid_out(tuple(arguments)), {n: laid_out(value) for n, value in options.items()}
        record, carried_out = LaunchRecord(id, tuple(grid), *told), self.launcher.carried_out
        if timing():
            self._tried.append(record)
        else:
            instead = tuple(each for each in self._tried if each.kernel == id)
            self.launched.append(replace(record, instead=instead))
            self._tried = [each for each in self._tried if each.kernel != id]
        self._launches += 1
        try:
            self.launcher.launch(id, tuple(grid), arguments, options)
        except (ProcessEnded, Refused):
            raise
        except Exception as error:
            raise LaunchFailed(self._launches - 1, error) from error
        finally:
            if timing():  # no launch of the call's own
                self.launcher.carried_out = carried_out

    def operated(self, name: str, result: Any) -> Any:
        """What an operator of torch's gave."""
        return result

    def muted(self, arguments: list[Any], options: dict[str, Any]) -> None:
        """In place of a launch."""

    def _play_constant(
        self, constants: list[bytes], number: Any, description: Any, at: Any
    ) -> None:
        if not (isinstance(number, int) and isinstance(at, int) and 0 <= at < len(constants)):
            raise TapeError("not a constant")
        with _disable_current_modes():  # not the submission's doing: no watch sees it
            self.tensors[number] = tensor_from(description, constants[at])


def tensor_from(description: Any, data: bytes) -> torch.Tensor:
    """A dense tensor from raw bytes. Raises TapeError where size, shape and dtype disagree."""
    if not isinstance(description, dict):
        raise TapeError("not a tensor")
    shape, dtype = description.get("shape"), DTYPES.get(str(description.get("dtype")))
    device = description.get("device", "cpu")
    if (
        dtype is None
        or not isinstance(shape, list)
        or len(shape) > 16
        or not all(type(n) is int and 0 <= n < 1 << 40 for n in shape)
        or device not in ("cpu", "cuda")
    ):
        raise TapeError("not a tensor")
    count = math.prod(shape)
    if count * dtype.itemsize != len(data):
        raise TapeError("a tensor's size and its bytes disagree")
    if not count:
        return torch.empty(shape, dtype=dtype, device=device)
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape).to(device)


# Operators that the checker plays. Each is memory-safe for any arguments (torch checks them), so a
# made-up tape can do no more than a wrong one. Whether an exercise allows an operator is decided by
# the check; what is not here at all is refused as torch's work.
_MAKE = """
    empty empty_like empty_strided empty_permuted new_empty new_empty_strided zeros zeros_like
    new_zeros full full_like new_full ones ones_like new_ones scalar_tensor arange linspace
    zero_ fill_ lift_fresh clone copy_ _to_copy contiguous
"""
_VIEW = """
    view _unsafe_view reshape _reshape_alias as_strided transpose t permute expand slice select
    squeeze unsqueeze detach alias unbind split split_with_sizes chunk unflatten flatten narrow
    view_as is_same_size sym_size sym_stride sym_numel
"""
_WORK = """
    add sub rsub mul div neg abs exp exp2 log log2 sqrt rsqrt reciprocal pow square sin cos tanh
    erf sigmoid relu silu gelu maximum minimum clamp where sum mean amax amin max min prod var
    var_mean std argmax argmin cumsum softmax _softmax log_softmax _log_softmax mm bmm addmm
    baddbmm matmul dot mv linear native_layer_norm cat stack repeat tril triu masked_fill
    masked_fill_ add_ sub_ mul_ div_ addmm_ exp_ sigmoid_ relu_ eq ne lt le gt ge logical_and
    logical_or logical_not isnan isfinite all any flip roll round floor ceil _local_scalar_dense
"""
OPERATORS = frozenset((_MAKE + _VIEW + _WORK).split())
# Those that take values from one tensor to another, as some of `_MAKE` and `_VIEW` do, and those
# that make new ones.
_MOVED = "clone copy_ _to_copy contiguous reshape _unsafe_view cat stack repeat flip roll"
MOVES = frozenset(_MOVED.split())
COMPUTES = frozenset(_WORK.split()) - MOVES


def _operator(name: Any) -> Any:
    """A torch operator by its schema name, such as aten::add.Tensor. Raises TapeError, Refused."""
    if not isinstance(name, str) or len(name) > 100:
        raise TapeError("not an operator")
    base, _, overload = name.removeprefix("aten::").partition(".")
    if not name.startswith("aten::") or base not in OPERATORS:
        raise Refused(
            "torch-compute",
            f"Part of the work is done by torch.{base}. The kernel has to do it: outside the "
            "kernel only allocation, views and launches are allowed here.",
        )
    if base == "_reshape_alias":
        return _bounded_alias
    operator = getattr(getattr(torch.ops.aten, base), overload or "default", None)
    if not isinstance(operator, torch._ops.OpOverload):
        raise TapeError("no such operator")
    outs = [argument.name for argument in operator._schema.arguments if argument.is_out]
    return functools.partial(_into, operator, outs) if outs else operator


def _into(operator: Any, names: list[str], *args: Any, **options: Any) -> Any:
    """An operator with `out=`. It would resize that tensor, which may be the check's own."""
    given = [each for each in map(options.get, names) if isinstance(each, torch.Tensor)]
    if len(given) < len(names):
        raise TapeError("no tensor to write to")
    with _disable_current_modes():
        made = [torch.empty(0, dtype=each.dtype, device=each.device) for each in given]
    operator(*args, **{**options, **dict(zip(names, made, strict=True))})
    for here, there in zip(made, given, strict=True):
        if here.shape != there.shape:
            raise Refused(
                "torch-compute",
                later(
                    f"torch gets `out=` with a tensor of shape {tuple(there.shape)} for a result "
                    f"of shape {tuple(here.shape)}: allocate a tensor of the result's shape."
                ),
            )
        with _disable_current_modes():
            there.copy_(here)
    return given[0] if len(given) == 1 else tuple(given)


def _bounded_alias(tensor: torch.Tensor, shape: Any, strides: Any) -> torch.Tensor:
    """`_reshape_alias` trusts its strides; `as_strided` holds them against the memory."""
    return torch.ops.aten.as_strided.default(tensor, shape, strides, tensor.storage_offset())
