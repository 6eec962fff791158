"""A call as a tape: what a wrapper did with its tensors, without the values in them.

The candidate runs the learner's wrapper on stand-ins that have the shapes, strides and dtypes of
the real arguments and none of their values. What it does is written down: allocations, views,
launches. The checker plays the tape on the real tensors. So the values of a result can only come
from the kernels on the tape, whatever the candidate's process does, and the checker's own
observations (launches, memory, torch operators) are made where no submitted Python runs.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from tritonbook.dispatch import DispatchMode

from . import fence
from .kernels import KernelId, KernelLibrary, Refused

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float64,
        torch.float32,
        torch.float16,
        torch.bfloat16,
        torch.int64,
        torch.int32,
        torch.int16,
        torch.int8,
        torch.uint8,
        torch.bool,
    )
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
MAX_STEPS = 20_000  # operations of one call
MAX_DEPTH = 20
CONSTANT_BYTES = 16 << 20  # a table that a module made beforehand


class LaunchFailed(Exception):
    """A launch on a tape raised. `number` counts the launches of the call, from 0."""

    def __init__(self, number: int, error: BaseException):
        super().__init__(str(error))
        self.number, self.error = number, error


class TapeError(Exception):
    """A tape that no recorder writes: the candidate made it up, or it is beyond the limits."""


def encode(value: Any, reference: Callable[[Any], Any], depth: int = 0) -> Any:
    """A value as JSON. `reference` turns tensors and functions into JSON objects."""
    if depth > MAX_DEPTH:
        raise TypeError("the value is nested too deeply")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, torch.SymInt):
        return value if type(value) in (int, float) else type(value).__base__(value)
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, (torch.memory_format, torch.layout)):
        return {"torch": str(value).removeprefix("torch.")}
    if isinstance(value, (list, tuple, torch.Size)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [encode(item, reference, depth + 1) for item in value]}
    if isinstance(value, dict):
        pairs = [[encode(part, reference, depth + 1) for part in pair] for pair in value.items()]
        return {"dict": pairs}
    kind = type(value)
    if kind.__module__.startswith("triton.language") and kind.__name__ == "dtype":
        return {"tl": value.name}
    if kind.__name__ == "constexpr":
        return encode(value.value, reference, depth + 1)
    return reference(value)


def decode(data: Any, resolve: Callable[[dict[str, Any]], Any], depth: int = 0) -> Any:
    """The value that `encode` wrote. `resolve` turns other JSON objects into values.

    Raises TapeError for anything that `encode` does not write.
    """
    if depth > MAX_DEPTH:
        raise TapeError("nested too deeply")
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    if not isinstance(data, dict) or len(data) != 1:
        raise TapeError("not a value")
    ((kind, body),) = data.items()
    if kind in ("list", "tuple") and isinstance(body, list):
        items = [decode(item, resolve, depth + 1) for item in body]
        return items if kind == "list" else tuple(items)
    if kind == "dict" and isinstance(body, list):
        found = {}
        for pair in body:
            if not (isinstance(pair, list) and len(pair) == 2):
                raise TapeError("not a dict")
            key = decode(pair[0], resolve, depth + 1)
            if not isinstance(key, (str, int, float, bool, tuple, type(None))):
                raise TapeError("not a key")
            found[key] = decode(pair[1], resolve, depth + 1)
        return found
    if kind == "dtype" and body in DTYPES:
        return DTYPES[body]
    if kind == "device" and body in ("cpu", "cuda", "cuda:0", "meta"):
        return torch.device(body)
    if kind == "torch" and body in ("contiguous_format", "preserve_format", "strided"):
        return getattr(torch, body)
    if kind == "tl" and isinstance(body, str):
        return _triton_dtype(body)
    return resolve(data)


def _triton_dtype(name: str) -> Any:
    import triton.language as tl

    found = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}.get(name)
    value = getattr(tl, found or name, None)
    if not isinstance(value, tl.dtype):
        raise TapeError(f"not a Triton dtype: {name[:40]}")
    return value


def describe(tensor: torch.Tensor) -> dict[str, Any]:
    """Shape, strides, offset, dtype, device: all that a stand-in needs."""
    return {
        "shape": list(tensor.shape),
        "strides": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "dtype": _NAMES[tensor.dtype],
        "device": tensor.device.type,
    }


class Recorder(DispatchMode):
    """The candidate's side: numbers tensors and writes steps. Launches are written, not run."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Any] = []
        self.constants: list[bytes] = []
        self.fail_at: int | None = None  # this launch of the call raises
        self._launches = 0
        self._numbers: dict[int, int] = {}
        self._next = 0

    def take(self) -> tuple[list[Any], list[bytes]]:
        """The steps since the last time, and their constants. Tensors keep their numbers."""
        taken = self.steps, self.constants
        self.steps, self.constants = [], []
        self._launches, self.fail_at = 0, None
        return taken

    def number(self, tensor: torch.Tensor) -> int:
        """A number for a new tensor; it is dropped when the tensor is."""
        if id(tensor) not in self._numbers:
            self._next += 1
            self.adopt(tensor, self._next)
        return self._numbers[id(tensor)]

    def adopt(self, tensor: torch.Tensor, number: int) -> None:
        """Give `tensor` a number that the checker chose (below zero: its arguments)."""
        key = id(tensor)
        self._numbers[key] = number
        weakref.finalize(tensor, self._dropped, key, number).atexit = False

    def _dropped(self, key: int, number: int) -> None:
        if self._numbers.get(key) == number:
            del self._numbers[key]
        self.steps.append(["drop", number])

    def reference(self, value: Any) -> dict[str, Any]:
        """JSON for a tensor or a kernel. A tensor that no step made is written as a constant."""
        if isinstance(value, torch.Tensor):
            if id(value) not in self._numbers:
                self._write_constant(value)
            return {"t": self._numbers[id(value)]}
        function = getattr(value, "fn", None)
        if function is not None and hasattr(function, "__code__"):
            return {"kernel": [*_kernel_place(function)]}
        raise TypeError(f"a {type(value).__name__} cannot be passed on")

    def _write_constant(self, tensor: torch.Tensor) -> None:
        data = tensor.detach().cpu().contiguous()
        size = data.numel() * data.element_size()
        if size > CONSTANT_BYTES or tensor.dtype not in _NAMES:
            raise TypeError("a tensor from outside the call is too big, or of an unknown dtype")
        number = self.number(tensor)
        self.steps.append(["constant", number, describe(data), len(self.constants)])
        self.constants.append(data.view(-1).view(torch.uint8).numpy().tobytes() if size else b"")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        step = ["torch", func.name(), encode(list(args), self.reference)]
        step.append(encode(kwargs, self.reference))
        result = func(*args, **kwargs)
        leaves = result if isinstance(result, (list, tuple)) else [result]
        made = [self.number(leaf) if isinstance(leaf, torch.Tensor) else None for leaf in leaves]
        self.steps.append([*step, made])
        if len(self.steps) > MAX_STEPS:
            raise RuntimeError("the function does more steps than the grader follows")
        return result

    def launch(self, call: Any, fn: Any, grid: Any, args: Any, kwargs: Any) -> None:
        """Stands in place of a launch: write it down."""
        self._launches += 1
        if self.fail_at == self._launches - 1:
            raise RuntimeError("the launch failed")
        parameters = inspect.signature(fn).parameters
        given = {name: value for name, value in kwargs.items() if name not in ("grid", "warmup")}
        if callable(grid):
            own = {name: value for name, value in given.items() if name in parameters}
            bound = inspect.signature(fn).bind(*args, **own)
            bound.apply_defaults()
            grid = grid(dict(bound.arguments))
        sizes = [int(size) for size in (grid if isinstance(grid, (tuple, list)) else (grid,))]
        self.steps.append(
            [
                "launch",
                _kernel_place(fn),
                sizes,
                encode(list(args), self.reference),
                encode(given, self.reference),
            ]
        )


def _kernel_place(function: Any) -> list[Any]:
    code = function.__code__
    return [code.co_filename, code.co_firstlineno]


@dataclass(frozen=True)
class LaunchRecord:
    """One launch of a tape, decoded; a kernel among the arguments is its KernelId."""

    kernel: KernelId
    grid: tuple[int, ...]
    args: tuple[Any, ...]
    options: dict[str, Any]


class Player:
    """The checker's side: plays tapes on real tensors, with kernels from vetted source."""

    def __init__(self, library: KernelLibrary, cell_of_file: Callable[[str], str | None]):
        self.library = library
        self.cell_of_file = cell_of_file
        self.tensors: dict[int, torch.Tensor] = {}
        self._launches = 0
        self.collect: list[LaunchRecord] | None = None  # a list: write launches here, run none

    def play(self, steps: Any, constants: list[bytes]) -> None:
        """Run one call's steps. Raises TapeError, Refused, or what a launch raises."""
        if not isinstance(steps, list) or len(steps) > 2 * MAX_STEPS:
            raise TapeError("not a list of steps")
        self._launches = 0
        for step in steps:
            if not isinstance(step, list) or not step:
                raise TapeError("not a step")
            kind, *rest = step
            if kind == "drop" and len(rest) == 1 and isinstance(rest[0], int):
                self.tensors.pop(rest[0], None)
            elif kind == "torch" and len(rest) == 4:
                self._play_torch(*rest)
            elif kind == "launch" and len(rest) == 4:
                self._play_launch(*rest)
            elif kind == "constant" and len(rest) == 3:
                self._play_constant(*rest, constants)
            else:
                raise TapeError("unknown step")

    def resolve(self, data: dict[str, Any]) -> Any:
        """A tensor or kernel that a tape refers to."""
        if "t" in data:
            number = data["t"]
            if not isinstance(number, int) or number not in self.tensors:
                if isinstance(number, int) and number < 0:
                    raise Refused(
                        "second-call", "The function uses an argument of a call long past."
                    )
                raise TapeError("a step uses a tensor that is not there")
            return self.tensors[number]
        if "kernel" in data:
            return self._kernel(data["kernel"])
        raise TapeError("not a value")

    def _kernel_id(self, place: Any) -> KernelId:
        if not (isinstance(place, list) and len(place) == 2):
            raise TapeError("not a kernel")
        file, line = place
        cell = self.cell_of_file(file) if isinstance(file, str) else None
        if cell is None or not isinstance(line, int):
            raise Refused(
                "no-kernel-launched",
                "The kernel that was launched is not one that the notebook defines.",
            )
        return KernelId(cell, line)

    def _kernel(self, place: Any) -> Any:
        id = self._kernel_id(place)
        return self.library.get(id) if self.collect is None else id

    def _play_torch(self, name: Any, args: Any, kwargs: Any, made: Any) -> None:
        operator = _operator(name)
        arguments = decode(args, self.resolve)
        options = decode(kwargs, self.resolve)
        if not isinstance(arguments, list) or not isinstance(options, dict):
            raise TapeError("not arguments")
        result = operator(*arguments, **options)
        leaves = result if isinstance(result, (list, tuple)) else [result]
        if not isinstance(made, list) or len(made) != len(leaves):
            raise TapeError("a step makes another number of tensors")
        for number, leaf in zip(made, leaves, strict=True):
            if isinstance(leaf, torch.Tensor):
                if not isinstance(number, int):
                    raise TapeError("not the number of a tensor")
                self.tensors[number] = leaf

    def _play_launch(self, place: Any, grid: Any, args: Any, kwargs: Any) -> None:
        arguments = decode(args, self.resolve)
        options = decode(kwargs, self.resolve)
        sizes = isinstance(grid, list) and 1 <= len(grid) <= 3
        if not sizes or not all(type(n) is int and 0 <= n < 1 << 31 for n in grid):
            raise TapeError("not a grid")
        if not isinstance(arguments, list) or not isinstance(options, dict):
            raise TapeError("not arguments")
        if not all(isinstance(name, str) for name in options):
            raise TapeError("not options")
        id = self._kernel_id(place)
        kernel = self.library.get(id)  # vetted, also when it is only written down
        if self.collect is not None:
            self.collect.append(LaunchRecord(id, tuple(grid), tuple(arguments), options))
            return
        fence.allow(self.tensors.values())
        self._launches += 1
        try:
            kernel[tuple(grid)](*arguments, **options)
        except Exception as error:
            raise LaunchFailed(self._launches - 1, error) from error

    def _play_constant(self, number: Any, description: Any, at: Any, constants: list) -> None:
        if not (isinstance(number, int) and isinstance(at, int) and 0 <= at < len(constants)):
            raise TapeError("not a constant")
        with _disable_current_modes():  # not the submission's doing: no watch sees it
            self.tensors[number] = tensor_from(description, constants[at])


def tensor_from(description: Any, data: bytes) -> torch.Tensor:
    """A dense tensor from raw bytes. Raises TapeError where size, shape and dtype disagree."""
    if not isinstance(description, dict):
        raise TapeError("not a tensor")
    shape, dtype = description.get("shape"), DTYPES.get(description.get("dtype"))
    device = description.get("device", "cpu")
    if (
        dtype is None
        or not isinstance(shape, list)
        or len(shape) > 16
        or not all(type(n) is int and 0 <= n < 1 << 40 for n in shape)
        or device not in ("cpu", "cuda")
    ):
        raise TapeError("not a tensor")
    count = 1
    for size in shape:
        count *= size
    if count * dtype.itemsize != len(data):
        raise TapeError("a tensor's size and its bytes disagree")
    if not count:
        return torch.empty(shape, dtype=dtype, device=device)
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape).to(device)


# Operators that the checker plays. Each is memory-safe for any arguments (torch checks them), so a
# made-up tape can do no more than a wrong one. Whether an exercise allows an operator is decided by
# the check; what is not here at all is refused as torch's work.
_MAKE = (
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided zeros zeros_like "
)
_MAKE += "new_zeros full full_like new_full ones ones_like new_ones scalar_tensor arange linspace "
_MAKE += "zero_ fill_ lift_fresh clone copy_ _to_copy contiguous "
_VIEW = (
    "view _unsafe_view reshape _reshape_alias as_strided transpose t permute expand slice select "
)
_VIEW += (
    "squeeze unsqueeze detach alias unbind split split_with_sizes chunk unflatten flatten narrow "
)
_VIEW += "view_as is_same_size sym_size sym_stride sym_numel "
_WORK = (
    "add sub rsub mul div neg abs exp exp2 log log2 sqrt rsqrt reciprocal pow square sin cos tanh "
)
_WORK += (
    "erf sigmoid relu silu gelu maximum minimum clamp where sum mean amax amin max min prod var "
)
_WORK += "var_mean std argmax argmin cumsum softmax _softmax log_softmax _log_softmax mm bmm addmm "
_WORK += "baddbmm matmul dot mv linear native_layer_norm cat stack repeat tril triu masked_fill "
_WORK += "masked_fill_ add_ sub_ mul_ div_ exp_ sigmoid_ relu_ eq ne lt le gt ge logical_and "
_WORK += "logical_or logical_not isnan isfinite all any flip roll round floor ceil "
_WORK += "_local_scalar_dense "
OPERATORS = frozenset((_MAKE + _VIEW + _WORK).split())


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
    return operator


def _bounded_alias(tensor: torch.Tensor, shape: Any, strides: Any) -> torch.Tensor:
    """`_reshape_alias` trusts its strides; `as_strided` holds them against the memory."""
    return torch.ops.aten.as_strided.default(tensor, shape, strides, tensor.storage_offset())
