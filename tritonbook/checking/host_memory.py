"""Which tensors would lie in the CPU's memory if there were a GPU.

In the interpreter all of them do, so one that was made without `device=` reaches a kernel, and no
GPU takes it. Here a mode hears which tensors a function makes without a device, and a launch that
gets one is refused. What comes from such a tensor by views and operators is of its kind; `.to(...)`
brings it to the inputs. A tensor of which nothing is known counts as the GPU's.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
import linecache
import re
import site
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _device

from ..port.compat import tensor_of
from ..port.device import INTERPRET

_PACKAGES = (*site.getsitepackages(), str(Path(torch.__file__).parents[1]), "<frozen")
_ROOT = Path(__file__).resolve().parents[2]
_OURS = tuple(str(_ROOT / name) for name in ("tritonbook/", "autograde/"))
# Operators that take tensors of both memories: copies, and places that are picked.
_BETWEEN = ("copy_", "_to_copy", "index", "index_put", "index_put_", "_index_put_impl_")
_IS_CUDA = torch.Tensor.is_cuda.__get__

# What `torch.set_default_device` said before a check began: see `no_default_device`.
_default: contextvars.ContextVar[torch.device | None] = contextvars.ContextVar(
    "default", default=None
)


class OnTheHost(ValueError):
    """A kernel, or an operator with an input, was given a tensor in the CPU's memory. `where`: the
    line that made it."""

    def __init__(self, sentence: str, where: str):
        super().__init__(sentence)
        self.where = where


@contextlib.contextmanager
def no_default_device(theirs: torch.device | None = None) -> Iterator[None]:
    """Inside, tensors are made on the CPU where no device is named, whatever a cell has told
    `torch.set_default_device`: a check's own are. theirs: what it was, where it was put back."""
    theirs = theirs or _device.CURRENT_DEVICE
    if theirs is None:
        yield
        return
    token = _default.set(theirs)
    try:
        with torch.device("cpu"):
            yield
    finally:
        _default.reset(token)


def default_device() -> contextlib.AbstractContextManager[Any]:
    """Inside, the default device is what the cells said; without a GPU it stays the CPU."""
    theirs = _default.get()
    return contextlib.nullcontext() if INTERPRET or theirs is None else theirs


class HostMemory(TorchFunctionMode):
    """Knows the tensors that a function makes in the CPU's memory while this mode is on.

    Whoever sees torch's operators tells of each by `follow`, whoever sees launches asks `refuse`.
    On a GPU nothing is noted: there the memories are two.
    """

    def __init__(self) -> None:
        super().__init__()
        # The first byte of each one's storage: the storage, kept so that nothing else gets its
        # place, the code that made it and the line.
        self._made: dict[int, tuple[torch.UntypedStorage, str, str]] = {}
        self._hears = 0  # calls of torch under way
        self._patched: Any = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func == _IS_CUDA and not _of_packages(sys._getframe(1)):
            return INTERPRET and not self._holds(args[0]) or func(*args)
        self._hears += 1
        try:
            result = func(*args, **kwargs)
        finally:
            self._hears -= 1
        if INTERPRET and isinstance(result, torch.Tensor):
            if func is torch.normal or func in _device._device_constructors():
                if not (args and isinstance(args[0], torch.Tensor)):
                    self._note(result, kwargs.get("device") is not None)
            elif func is torch.Tensor.cpu or (func is torch.Tensor.to and _names(args, kwargs)):
                result = self._moved(result, _line())
        return result

    def __enter__(self) -> Any:
        makers = {name: self._maker(getattr(torch, name)) for name in ("from_numpy", "frombuffer")}
        self._patched = mock.patch.multiple(torch, **makers)
        self._patched.start()
        return super().__enter__()

    def __exit__(self, *raised: Any) -> None:
        self._patched.stop()
        super().__exit__(*raised)

    def _maker(self, original: Callable[..., torch.Tensor]) -> Any:
        @functools.wraps(original)
        def make(*args: Any, **kwargs: Any) -> torch.Tensor:  # of which torch does not tell
            result = original(*args, **kwargs)
            if INTERPRET:
                self._keep(result, *_line())
            return result

        return make

    def follow(self, func: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        """An operator that torch has carried out. Raises OnTheHost where it meets both memories."""
        if not INTERPRET or (self._hears and not self._made):
            return
        name = func.name().partition("::")[2].partition(".")[0]
        given = [*_tensors(args), *_tensors(kwargs.values())]
        if not given and not self._hears:  # `torch.Tensor(n)` makes it, and says nothing
            for made in _tensors([result]):
                self._note(made, False)
        ours = [tensor for tensor in given if self._holds(tensor)]
        if not ours or name == "copy_":
            return
        others = any(tensor.ndim for tensor in given if not self._holds(tensor))
        if not others:
            _, code, where = self._made[_first_byte(ours[0])]
            for made in _tensors([result]):
                self._keep(made, code, where)
        elif name not in _BETWEEN and any(tensor.ndim for tensor in ours):
            _, code, where = self._made[_first_byte(next(each for each in ours if each.ndim))]
            raise OnTheHost(
                f"`{code}` makes a tensor in the CPU's memory, and `torch.{name}` gets it beside "
                "one on the GPU. Make it there: `device=x.device`, x an input.",
                where,
            )

    def refuse(self, fn: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> None:
        """Raise OnTheHost where a launch gets a tensor in the CPU's memory."""
        if not self._made:
            return
        names = [*inspect.signature(fn).parameters]
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            for tensor in _tensors([value]):
                if self._holds(tensor) and tensor.numel():
                    _, code, where = self._made[_first_byte(tensor)]
                    raise OnTheHost(
                        f"`{name}` is in the CPU's memory: `{code}` names no device that a kernel "
                        "can use. Write `device=x.device`, x an input, or `torch.empty_like(x)`.",
                        where,
                    )

    def _holds(self, tensor: torch.Tensor) -> bool:
        return _first_byte(tensor) in self._made

    def _note(self, tensor: torch.Tensor, named: bool) -> None:
        """A new tensor. named: the call names a device."""
        code, where = _line()
        if _says_cpu(code) if named else (_default.get() or _device.CURRENT_DEVICE) is None:
            self._keep(tensor, code, where)

    def _moved(self, tensor: torch.Tensor, line: tuple[str, str]) -> torch.Tensor:
        """What `.to(...)` or `.cpu()` gives, which is the very tensor that it had."""
        if _says_cpu(line[0]):
            tensor = tensor.clone()
            self._keep(tensor, *line)
        else:
            self._made.pop(_first_byte(tensor), None)
        return tensor

    def _keep(self, tensor: torch.Tensor, code: str, where: str) -> None:
        with torch._C.DisableTorchFunction():
            storage = tensor.untyped_storage()
        if storage.data_ptr():
            self._made[storage.data_ptr()] = storage, code, where


def _first_byte(tensor: torch.Tensor) -> int:
    with torch._C.DisableTorchFunction():
        return tensor.untyped_storage().data_ptr()


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _tensors(value)
        elif isinstance(base := tensor_of(value), torch.Tensor):
            yield base


def _says_cpu(code: str) -> bool:
    """Whether a line means the CPU by its name: the inputs' device has the same one here."""
    return bool(re.search(r"""["']cpu["']|\.cpu\(\)""", code)) and "cuda" not in code


def _names(args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether `.to(...)` brings a tensor to a device, or to another tensor's."""
    kinds = (str, torch.device, torch.Tensor)
    named = kwargs.get("device") is not None or "other" in kwargs
    return named or any(isinstance(value, kinds) for value in args[1:2])


def _of_packages(frame: Any) -> bool:
    return bool(frame.f_code.co_filename.startswith((*_PACKAGES, *_OURS)))


def _line() -> tuple[str, str]:
    """The line of the function that is running, not torch's nor the workbook's: its code, and it
    as a card shows it."""
    frame: Any = sys._getframe(1)
    while frame and _of_packages(frame):
        frame = frame.f_back
    if frame is None:
        return "", ""
    code = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return code, f"line {frame.f_lineno}, in {frame.f_code.co_name}: {code}"
