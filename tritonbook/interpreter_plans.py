"""Triton's interpreter decides what to do from types alone: here it decides once for each kind.

For `tile + n` it asks some fifty questions about both types, splats the number, and adds. The
answers are the same for all tiles of those types. So the builder's calls that do the work are
written down, as a small Python function (a plan), which is called from then on: the same calls, of
the same builder, in the same order. A check takes a sixth less time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

# Methods of `TritonSemantic` that look at types and plain numbers, never at the data of a tile.
_BY_TYPE_ALONE = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "and_",
    "or_",
    "less_than",
    "less_equal",
    "greater_than",
    "greater_equal",
    "equal",
    "not_equal",
    "binary_op_type_checking_impl",
    "broadcast_impl_value",
    "expand_dims",
    "cast",
)
_MOST = 4096  # plans of one method: numbers written in kernels are few, loop counters are many
_NUMBERS = (int, float, bool, type(None))


def keep_plans(interp: Any, core: Any) -> None:
    """interp: the module `triton.runtime.interpreter`; core: `triton.language.core`."""
    semantic = getattr(interp, "interpreter_semantic", None)
    if semantic is None:  # Triton 3.2 has functions in its place
        return
    for name in filter(functools.partial(hasattr, semantic), _BY_TYPE_ALONE):
        setattr(semantic, name, _planned(getattr(semantic, name), semantic, interp, core))


def _planned(original: Callable[..., Any], semantic: Any, interp: Any, core: Any) -> Any:
    tile, types = core.tensor, (core.dtype, core.block_type, core.pointer_type)
    plans: dict[Any, Callable[..., Any] | None] = {}  # None: seen once

    @functools.wraps(original)
    def method(*args: Any, **named: Any) -> Any:
        key = []
        for arg in args:
            kind = type(arg)
            if kind is tile:
                key.append(_number(arg.type))
            elif kind in _NUMBERS:  # 0, 0.0, -0.0 and False are equal, and not the same
                key.append((kind, arg or str(arg)))
            elif kind in types:
                key.append(_number(arg))
            else:
                return original(*args, **named)
        if named:
            return original(*args, **named)
        plan = plans.get(key := tuple(key))
        if plan is not None:
            return plan(semantic.builder, *args)
        if key not in plans:  # writing a plan takes longer than the call: worth it if asked again
            if len(plans) >= _MOST:
                plans.clear()
            plans[key] = None
            return original(*args)
        scribe = _Scribe(semantic.builder, args, interp.TensorHandle, tile)
        try:
            semantic.builder = scribe
            result = original(*args)
        finally:
            semantic.builder = scribe.builder
        plans[key] = scribe.plan(result)
        return result

    return method


_numbers: dict[Any, int] = {}


def _number(type: Any) -> int:
    """The same for equal types: each launch makes new ones for its arguments."""
    found = vars(type).get("_number")
    if found is None:  # a pointer's name leaves out its address space
        name = type.name, getattr(type.scalar, "address_space", None)
        found = type._number = _numbers.setdefault(name, len(_numbers))
    return found


class _Scribe:
    """Passes calls on to a builder, and writes down those that make data for tiles."""

    def __init__(self, builder: Any, args: tuple[Any, ...], handle: type, tile: type):
        self.builder, self._args, self._handle, self._tile = builder, args, handle, tile
        self._constants: dict[str, Any] = {"tile": tile}
        self._lines: list[str] = []
        tiles = [(f"a{n}", arg) for n, arg in enumerate(args) if type(arg) is tile]
        # By the identity of data: what a plan calls it. The data stay alive until it is written.
        self._names = {id(arg.handle): f"{name}.handle" for name, arg in tiles}
        self._alive: list[Any] = []
        self._sure = len(self._names) == len(tiles)  # x * x could be read as x * y, or as y * y

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.builder, name)
        if not name.startswith(("create_", "get_")):
            return found

        def call(*given: Any, **named: Any) -> Any:
            result = found(*given, **named)
            if isinstance(result, self._handle):
                words = [self._word(value) for value in given]
                words += [f"{key}={self._word(value)}" for key, value in named.items()]
                self._lines.append(f"v{len(self._lines)} = builder.{name}({', '.join(words)})")
                self._alive.append(result)
                self._names[id(result)] = f"v{len(self._lines) - 1}"
            return result

        return call

    def _word(self, value: Any) -> str:
        if isinstance(value, self._handle):
            self._sure &= id(value) in self._names
            return self._names.get(id(value), "unknown")
        name = f"c{len(self._constants)}"
        self._constants[name] = value
        return name

    def _made(self, one: Any) -> str:
        for number, arg in enumerate(self._args):
            if one is arg:
                return f"a{number}"
        if type(one) is self._tile:
            return f"tile({self._word(one.handle)}, {self._word(one.type)})"
        self._sure = False
        return "unknown"

    def plan(self, result: Any) -> Callable[..., Any] | None:
        """A function of a builder and the arguments; None where it is not sure what was done."""
        made = ", ".join(map(self._made, result)) if type(result) is tuple else self._made(result)
        if not self._sure:
            return None
        names = ", ".join(["builder", *(f"a{number}" for number in range(len(self._args)))])
        text = "\n    ".join([f"def plan({names}):", *self._lines, f"return {made}"])
        exec(text, self._constants)
        return self._constants["plan"]
