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
from typing import Any

import numpy as np
import torch

from tritonbook.checking.host_memory import HostMemory
from tritonbook.language.meanings import place
from tritonbook.port.compat import tensor_of, triton_version
from tritonbook.port.dispatch import DispatchMode
from tritonbook.port.tuners import timing

_DTYPES = """
    float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 complex64 complex128 bool
    int64 int32 int16 int8 uint64 uint32 uint16 uint8
"""
DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in _DTYPES.split()}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
MAX_STEPS = 20_000  # operations of one call
MAX_DEPTH = 20
MAX_BITS = 10_000  # of a whole number: Python writes no more than 4300 digits of one
MAX_TEXT = 2000  # characters of an error message
CONSTANT_BYTES = 16 << 20  # a table that a module made beforehand
NO_MEMORY = "a tensor on the device 'meta' has no memory: allocate on the input's device"


class TapeError(Exception):
    """A tape that no recorder writes: the candidate made it up, or it is beyond the limits."""


def encode(value: Any, reference: Callable[[Any], Any], depth: int = 0) -> Any:
    """A value as JSON. `reference` turns tensors and functions into JSON objects."""
    if depth > MAX_DEPTH:
        raise TypeError("the value is nested too deeply")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ValueError(f"a whole number of {value.bit_length()} bits is too large to be taken")
    if isinstance(value, (int, float)) and not isinstance(value, torch.SymInt):
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        if value.type == "meta":
            raise ValueError(NO_MEMORY)
        return {"device": str(value)}
    if isinstance(value, (torch.memory_format, torch.layout)):
        return {"torch": str(value).removeprefix("torch.")}
    if isinstance(value, (list, tuple, torch.Size)):
        name = "list" if isinstance(value, list) else "tuple"
        return {name: [encode(item, reference, depth + 1) for item in value]}
    if isinstance(value, dict):
        pairs = [[encode(part, reference, depth + 1) for part in pair] for pair in value.items()]
        return {"dict": pairs}
    kind = type(value)
    if kind.__module__.startswith("triton.language") and kind.__name__ == "dtype":
        return {"tl": value.name}
    if kind.__name__ == "constexpr":
        return encode(value.value, reference, depth + 1)
    base = tensor_of(value)
    if base is not value and value.padding == "zero":
        sizes = [[int(n) for n in part] for part in (value.shape, value.strides, value.block_shape)]
        if not hasattr(value, "layout"):
            return {"described": [reference(base), *sizes]}
        from tritonbook.kernels import gluon

        if value.layout == gluon.layout_of(tuple(sizes[-1]), base.dtype):
            return {"laid out": [reference(base), *sizes]}
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
            value = decode(pair[1], resolve, depth + 1)
            try:
                found[key] = value
            except TypeError as error:  # a tuple that holds a list
                raise TapeError("not a key") from error
        return found
    if kind == "dtype" and isinstance(body, str) and body in DTYPES:
        return DTYPES[body]
    if kind == "device" and body in ("cpu", "cuda", "cuda:0"):
        return torch.device(body)
    if kind == "device" and body == "meta":
        raise TapeError(NO_MEMORY)
    if kind == "torch" and body in ("contiguous_format", "preserve_format", "strided"):
        return getattr(torch, body)
    if kind == "tl" and isinstance(body, str):
        return _triton_dtype(body)
    if kind in ("described", "laid out") and isinstance(body, list) and len(body) == 4:
        return _descriptor(kind, decode(body[0], resolve, depth + 1), *body[1:])
    return resolve(data)


def decode_call(
    args: Any, kwargs: Any, resolve: Callable[[dict[str, Any]], Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call on a tape. Raises TapeError."""
    arguments, options = decode(args, resolve), decode(kwargs, resolve)
    if not isinstance(arguments, list) or not isinstance(options, dict):
        raise TapeError("not arguments")
    return arguments, options


def _triton_dtype(name: str) -> Any:
    import triton.language as tl

    for value in vars(tl).values():
        if isinstance(value, tl.dtype) and value.name == name:
            return value
    raise TapeError(f"not a Triton dtype: {name[:40]}")


def _descriptor(kind: str, base: Any, *sizes: Any) -> Any:
    """The descriptor of a tape. Raises TapeError where it leads out of its tensor's memory.

    kind: "described" for Triton's, "laid out" for Gluon's, which has a layout of its own.
    """
    if not isinstance(base, torch.Tensor) or triton_version() < (3, 6):
        raise TapeError("not a described tensor")
    for part in sizes:
        if not (isinstance(part, list) and all(type(n) is int and 0 < n < 1 << 40 for n in part)):
            raise TapeError("not the sizes of a descriptor")
    shape, strides, block = sizes
    if not len(shape) == len(strides) == len(block):
        raise TapeError("the sizes of a descriptor disagree")
    steps = zip(shape, strides, strict=True)
    last = base.storage_offset() + sum((n - 1) * step for n, step in steps)
    if (last + 1) * base.element_size() > base.untyped_storage().nbytes():
        raise TapeError("a descriptor leads out of its tensor")
    from triton.tools.tensor_descriptor import TensorDescriptor

    from tritonbook.kernels import gluon

    try:
        if kind == "laid out":
            return gluon.laid_out(base, shape, strides, block)
        return TensorDescriptor(base, shape, strides, block)
    except (AssertionError, AttributeError, TypeError, ValueError) as error:
        raise TapeError(f"not a descriptor: {error}") from None


def told(error: BaseException) -> dict[str, Any]:
    """An exception as data: its type's names and its text."""
    try:
        text = str(error)[:MAX_TEXT]
    except BaseException:  # noqa: BLE001  (a __str__ of the student's own)
        text = "no message"
    return {"types": [kind.__name__[:80] for kind in type(error).__mro__], "text": text}


def describe(tensor: torch.Tensor) -> dict[str, Any]:
    """Shape, strides, offset, dtype, device: all that a stand-in needs."""
    return {
        "shape": list(tensor.shape),
        "strides": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "dtype": _NAMES[tensor.dtype],
        "device": tensor.device.type,
    }


def laid_on(storage: torch.UntypedStorage, described: dict[str, Any]) -> torch.Tensor:
    """A view of this memory, as `describe` tells it."""
    made = torch.empty(0, dtype=DTYPES[described["dtype"]], device=storage.device)
    return made.set_(storage, described["offset"], described["shape"], described["strides"])


def memory(data: bytes) -> torch.Tensor:
    """A block of this process's memory with these bytes in it."""
    block = torch.empty(len(data), dtype=torch.uint8)
    block.numpy()[:] = np.frombuffer(data, dtype=np.uint8)
    return block


def raw(tensor: torch.Tensor) -> bytes:
    """The bytes of a dense tensor in this machine's memory."""
    return tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""


class Recorder(DispatchMode):
    """The candidate's side: numbers tensors and writes steps. Launches are written, not run."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Any] = []
        self.constants: list[bytes] = []
        self.fail_at: int | None = None  # this launch of the call raises
        self.memory = HostMemory()
        self._launches = 0
        self._timing = False  # a tuner tries a config: what is written says so
        self._writing = False  # a constant: its values are read here, not by the learner's code
        self._numbers: dict[int, int] = {}
        self._next = 0

    def take(self) -> tuple[list[Any], list[bytes]]:
        """The steps since the last time, and their constants. Tensors keep their numbers."""
        taken = self.steps, self.constants
        self.steps, self.constants = [], []
        self._launches, self._timing, self.fail_at = 0, False, None
        self.memory = HostMemory()
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
            return {"kernel": place(function)}
        raise TypeError(f"a {type(value).__name__} cannot be passed on")

    def _write_constant(self, tensor: torch.Tensor) -> None:
        data = tensor.detach().cpu().contiguous()
        size = data.numel() * data.element_size()
        if size > CONSTANT_BYTES or tensor.dtype not in _NAMES:
            raise TypeError("a tensor from outside the call is too big, or of an unknown dtype")
        number = self.number(tensor)
        self.steps.append(["constant", number, describe(data), len(self.constants)])
        self._writing = True
        try:
            self.constants.append(raw(data))
        finally:
            self._writing = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self._tell_of_timing()
        step = ["torch", func.name(), encode(list(args), self.reference)]
        step.append(encode(kwargs, self.reference))
        result = func(*args, **kwargs)
        leaves = result if isinstance(result, (list, tuple)) else [result]
        made = [self.number(leaf) if isinstance(leaf, torch.Tensor) else None for leaf in leaves]
        self.steps.append([*step, made])
        if len(self.steps) > MAX_STEPS:
            raise RuntimeError("the function does more steps than the grader follows")
        self.memory.follow(func, args, kwargs, result)
        return result

    def look(self) -> None:
        """The function reads values out of a tensor, by a method of which torch does not tell."""
        if not self._writing and len(self.steps) < MAX_STEPS:
            self._tell_of_timing()
            self.steps.append(["look"])

    def choice(self) -> None:
        """A tuner is called that may take one of several configs."""
        self.steps.append(["choice"])

    def _tell_of_timing(self) -> None:
        if self._timing != timing():
            self._timing = not self._timing
            self.steps.append(["timing", self._timing])

    def launch(self, call: Any, fn: Any, grid: Any, args: Any, kwargs: Any) -> None:
        """Stands in place of a launch: write it down."""
        self._tell_of_timing()
        self._launches += 1
        if self.fail_at == self._launches - 1:
            raise RuntimeError("the launch failed")
        self.memory.refuse(fn, args, kwargs)
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
                place(fn),
                sizes,
                encode(list(args), self.reference),
                encode(given, self.reference),
            ]
        )
