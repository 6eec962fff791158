"""Write a function, and everything it needs, as the text of one Python file.

A notebook's function lives in cells. To compile it in a process of its own, or to keep a learner's
kernel for a later notebook, it has to become a file: the function, the kernels and helpers it
calls, their decorators, constants and imports, in an order in which Python can run them.
"""

from __future__ import annotations
import __future__

import re
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any

import triton.language as tl

from . import texts as text_of
from .values import ExportError, expression, importable, imports_of, unwrap

__all__ = ["Export", "ExportError", "export"]


@dataclass(frozen=True)
class Export:
    """`text`: a whole Python file. `entry`: the expression in it that names the function."""

    text: str
    entry: str


def export(fn: Any) -> Export:
    """One self-contained file that defines `fn`. Same function, same text.

    `fn` may come from notebook cells, a module or another function; kernels may carry `triton.jit`,
    `triton.autotune`, `triton.heuristics`. Raises ExportError, naming the culprit, when something
    that `fn` uses cannot be written down (a tensor without a defining statement, for instance).
    """
    writer = _Writer()
    return Export(entry=writer.entry(fn), text=writer.text())


class _Writer:
    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.body: list[str] = []
        self.bound: dict[str, Any] = {}  # name in the file -> value it stands for
        self.defined: dict[int, str] = {}  # id of a plain function or class -> its name
        self.future_annotations = False

    def entry(self, fn: Any) -> str:
        owner = getattr(fn, "__self__", None)
        if isinstance(owner, type):  # FlashAttention.apply and other class methods
            return f"{self.entry(owner)}.{fn.__name__}"
        if isinstance(fn, MethodType) or not (callable(fn) or hasattr(fn, "fn")):
            raise ExportError(f"Only functions can be exported, and this is {_kind(fn)}.")
        inner = unwrap(fn)[0]
        if isinstance(fn, FunctionType) and fn.__name__ == "<lambda>":
            name = "entry_lambda"
        elif isinstance(inner, (FunctionType, type)):
            name = inner.__name__
        else:
            name = "entry"
        return self.bind(name, fn, {})

    def text(self) -> str:
        parts = ["from __future__ import annotations"] if self.future_annotations else []
        # tritonbook decides between GPU and interpreter before triton is imported.
        first = sorted(line for line in self.imports if " tritonbook" in line)
        parts += ["\n".join([*first, *sorted(self.imports.difference(first))])]
        return "\n\n\n".join(part for part in [*parts, *self.body] if part) + "\n"

    def bind(self, wanted: str, value: Any, home: dict[str, Any]) -> str:
        """Make a name mean `value` in the file: `wanted`, or a new one where that is taken.

        home: the namespace where the value was found.
        """
        name = self._free(wanted, value)
        if name in self.bound:
            return name
        self.bound[name] = value
        if isinstance(value, ModuleType):
            alias = "" if name == value.__name__ else f" as {name}"
            self.imports.add(f"import {value.__name__}{alias}")
        elif name == "DEVICE" and isinstance(value, str) and value in ("cpu", "cuda"):
            # The file may run where the other device is: let it ask again.
            self.imports.add("from tritonbook.port.device import DEVICE")
        elif found := importable(value, name):
            module, attribute = found
            alias = "" if attribute == name else f" as {name}"
            self.imports.add(f"from {module} import {attribute}{alias}")
        elif isinstance(unwrap(value)[0], (FunctionType, type)):
            self._define(name, wanted, value, home)
        elif (written := expression(value)) is not None:
            self.imports |= imports_of(written)
            self.body.append(f"{name} = {written}")
        else:
            self._assign(name, wanted, value, home)
        return name

    def _free(self, wanted: str, value: Any) -> str:
        """`wanted`, or `wanted_2`, ... when another value has that name already."""
        name, number = wanted, 2
        while name in self.bound and not _same(self.bound[name], value):
            name, number = f"{wanted}_{number}", number + 1
        return name

    def _define(self, name: str, wanted: str, value: Any, home: dict[str, Any]) -> None:
        inner, wrappers = unwrap(value)
        if id(inner) in self.defined:
            if self.defined[id(inner)] != name:
                self.body.append(f"{name} = {self.defined[id(inner)]}")
            return
        found = text_of.definition(inner)
        # tuned = triton.autotune(...)(kernel); an operator that a function made with its own names
        if wrappers > found.decorators or wrappers and text_of.local_decorators(inner, found.text):
            self._assign(name, wanted, value, home)
            return
        own = name
        if not found.is_lambda and inner.__name__ != wanted:
            own = self._free(inner.__name__, value)
            self.bound[own] = value
        self.defined[id(inner)] = own
        if isinstance(inner, FunctionType):
            flag = __future__.annotations.compiler_flag
            self.future_annotations |= bool(inner.__code__.co_flags & flag)
        text = self._with_names(found.text, text_of.namespace(inner), {inner.__name__: own})
        self.body.append(f"{own} = {text}" if found.is_lambda else text)
        if isinstance(inner, FunctionType):
            self._annotate(own, inner, text)
        if own != name:
            self.body.append(f"{name} = {own}")

    def _annotate(self, own: str, function: FunctionType, text: str) -> None:
        """Annotations that were given later: what is a constexpr may be said after the `def`."""
        for parameter, kind in function.__annotations__.items():
            if kind is tl.constexpr and not re.search(rf"\b{parameter}\s*:", text):
                self.imports.add("import triton.language")
                said = f'{own}.__annotations__["{parameter}"] = triton.language.constexpr'
                self.body.append(said)

    def _assign(self, name: str, wanted: str, value: Any, home: dict[str, Any]) -> None:
        """Copy the statement that made `value`, where no other way to write it is known."""
        statement = text_of.assignment(wanted, home)
        if statement is None and type(value) in (list, tuple, dict):
            self.body.append(f"{name} = {self._collection(wanted, value, home)}")
            return
        if statement is None:
            raise _cannot(wanted, value)
        if wanted in text_of.global_names(statement):
            raise ExportError(f"`{wanted}` is computed from itself: `{statement}`. Use a new name.")
        self.body.append(self._with_names(statement, home, {wanted: name}))

    def _collection(self, wanted: str, value: Any, home: dict[str, Any]) -> str:
        """The text of a tuple, list or dictionary that holds functions, by their names."""

        def written(part: Any) -> str:
            if (text := expression(part)) is not None:
                self.imports |= imports_of(text)
                return text
            if type(part) in (list, tuple, dict):
                return self._collection(wanted, part, home)
            if not isinstance(inner := unwrap(part)[0], (FunctionType, type)):
                raise _cannot(wanted, home.get(wanted, value))
            return self.bind(inner.__name__, part, home)

        if type(value) is dict:
            return f"{{{', '.join(f'{written(k)}: {written(v)}' for k, v in value.items())}}}"
        return f"{type(value).__name__}(({', '.join(map(written, value))},))"

    def _with_names(self, text: str, home: dict[str, Any], own: dict[str, str]) -> str:
        """Bind every name that `text` uses; return the text with those that had to change."""
        names = dict(own)
        for used in text_of.global_names(text):
            # A name that is nowhere (yet) stays unbound, and fails where it fails at home.
            if used not in own and used in home and not used.startswith("__"):
                names[used] = self.bind(used, home[used], home)
        return text_of.rename(text, {old: new for old, new in names.items() if old != new})


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    written = expression(one) if type(one) is type(other) else None
    return written is not None and written == expression(other)


def _cannot(name: str, value: Any) -> ExportError:
    return ExportError(
        f"`{name}` is {_kind(value)}, which cannot be written into a file. "
        "Pass it as an argument, or make it a plain number."
    )


def _kind(value: Any) -> str:
    return f"an object of type {type(value).__name__}"
