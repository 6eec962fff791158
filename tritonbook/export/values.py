"""How a value can be written in a file: by importing it, or by an expression that makes it."""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import torch
import triton
import triton.language as tl

_LIBRARIES = {"torch", "triton", "numpy", "matplotlib", "rich"}
# Where functions without a module of their own (torch.empty_like, math.sqrt) are looked for.
_HOMES = ("torch", "torch.nn.functional", "triton", "triton.language", "math", "numpy")
_NOTHING = object()  # not None: a global of the learner's may be None
_PACKAGE = Path(__file__).resolve().parent.parent


class ExportError(Exception):
    """Something that the function uses cannot be written into a file. The text says what."""


def unwrap(value: Any) -> tuple[Any, int]:
    """The plain function (or class) inside decorators, and the number of layers around it.

    Follows `.fn` (JITFunction, InterpretedFunction, Autotuner, Heuristics), `__wrapped__`
    (functools.wraps) and `_init_fn` (torch.library.custom_op).
    """
    layers = 0
    while not isinstance(value, type):
        own = dict(getattr(value, "__dict__", {}))
        if isinstance(value, FunctionType):
            own.pop("fn", None)  # a function's own attribute, not a wrapper's
        inside = (own.get(attribute) for attribute in ("fn", "__wrapped__", "_init_fn"))
        found = next((each for each in inside if each is not None), None)
        if found is None:
            break
        value, layers = found, layers + 1
    return value, layers


def importable(value: Any, name: str) -> tuple[str, str] | None:
    """(module, attribute) from which any process can import `value`; None for user code."""
    inner = unwrap(value)[0]
    attribute: str = getattr(inner, "__qualname__", "") or getattr(inner, "__name__", name)
    for module in dict.fromkeys((getattr(inner, "__module__", None), *_HOMES)):
        if not isinstance(module, str) or not _is_library(module):
            continue
        if "." not in attribute and getattr(sys.modules[module], attribute, _NOTHING) is value:
            return module, attribute
    return None


def _is_library(module: str) -> bool:
    if module not in sys.modules or module == "__main__":
        return False
    root = module.partition(".")[0]
    if root in _LIBRARIES or root in sys.stdlib_module_names:
        return True
    path = Path(getattr(sys.modules[module], "__file__", None) or ".").resolve()
    if root == "tritonbook":
        return _PACKAGE in path.parents and "_exercises" not in path.parts
    return "site-packages" in path.parts or "dist-packages" in path.parts


def expression(value: Any) -> str | None:
    """Python text that makes an equal value, or None where there is no simple one.

    It calls libraries by their whole names, as `imports_of` imports them.
    """
    if (
        value is None
        or isinstance(value, (bool, int, str, bytes))
        and type(value).__repr__ in _REPR
        or isinstance(value, torch.dtype)
    ):
        return repr(value)
    if type(value) is float:
        return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
    if isinstance(value, torch.device):
        return f"torch.{value!r}"
    if isinstance(value, tl.constexpr):
        inner = expression(value.value)
        return inner and f"triton.language.constexpr({inner})"
    if isinstance(value, tl.dtype):
        # Its own text is Triton's short form (fp32), which is no name in Python.
        known = (n for n, v in vars(tl).items() if type(v) is type(value) and v == value)
        name = next(known, None)
        return name and f"triton.language.{name}"
    if isinstance(value, triton.Config):
        return _config(value)
    if type(value) in (list, tuple, dict):
        flat = itertools.chain(*value.items()) if isinstance(value, dict) else value
        texts = [expression(each) for each in flat]
        if any(text is None for text in texts):
            return None
        if isinstance(value, dict):
            pairs = zip(texts[::2], texts[1::2], strict=True)
            return f"{{{', '.join(f'{key}: {each}' for key, each in pairs)}}}"
        inside = ", ".join(map(str, texts))
        if isinstance(value, list):
            return f"[{inside}]"
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return None


_REPR = {kind.__repr__ for kind in (bool, int, str, bytes)}


def imports_of(text: str) -> set[str]:
    """The import lines that an expression needs."""
    libraries = ("torch", "triton", "triton.language")
    return {f"import {name}" for name in libraries if f"{name}." in text}


def _config(config: Any) -> str | None:
    settings = expression(dict(config.kwargs))
    if config.pre_hook is not None or settings is None:
        return None
    parts = [settings]
    for option in ("num_warps", "num_stages", "num_ctas", "maxnreg"):
        setting = getattr(config, option, None)
        if setting is not None and (option, setting) != ("num_ctas", 1):
            parts.append(f"{option}={setting!r}")
    return f"triton.Config({', '.join(parts)})"
