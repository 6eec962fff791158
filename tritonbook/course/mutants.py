"""The mistakes of a page, each told once: the edit that makes it, and the sentence a learner gets.

`wrong.py` in a page's folder holds them, and honest variants that a check must accept, as edits of
its answer cells:

    MUTANTS = {"add": [
        Mutant("twice", "x + {y -> x}", says="This is x + x: y is loaded, and not added."),
        Mutant("no-store-mask", "x + y{, mask=mask -> })", seen="out-of-bounds-store"),
    ]}
    VARIANTS = {"add": [Variant("block-256", "BLOCK_SIZE={1024 -> 256}")]}

An edit quotes the answer around what it changes, and ` … ` in it stands for what lies between two
quotes, up to the nearest one: `{for start in … mask=mask) -> pass}`. One whose text, or what is
quoted of it first, is not in the answer exactly once is an error, so none can rot unnoticed.
`body=` is another body of the answer's function, without the kernels above it; `kernels=` is
another text of these, to which edits fit the function; `replace=` is another text of both. What
stands below the function stays.

A sentence that several mutants share stands in SAYS, of the page or of `exercises/shared/says.py`,
under a name that they give, or have: those of other pages are listed in SHARED then, so that no
mutant gets one by accident.

Each of the header's `you_will` is broken by some mistake, which PROMISES names in their order, or
is asked for by the page's guesses:

    PROMISES = ("twice", "predict")

The mistakes of masks, grid and result that any page has (`usual.py`) come by one name, where the
answer has room for them: `MUTANTS = {"add": [usual(), Mutant(...)]}`.

`make mutate` changes answers by machine. A change that makes no difference to the contract stands
there by its name, with the reason; one that is refused after all is reported.

    EQUIVALENT = {"add": {"mask = offs < n => mask = offs < n & True": "it is the same mask"}}
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..port import source_file
from . import gaps
from .exercises import Exercise, get
from .usual import USUAL, texts

Edit = str | tuple[str, str]  # "around {old -> new} it", or (old, new) where braces are in the way
LEFT_OUT = " … "  # in an edit, between two quotes: what lies there
_EDIT = re.compile(r"([^{}]*)\{(.*?) -> (.*)\}([^{}]*)", re.DOTALL)


class MutantError(ValueError):
    """A mutant cannot be made: the sentence names its file, key and name, and the mend."""


class Variant:
    """Another right answer, such as other block sizes or another legal algorithm.

    It is an answer cell changed by edits, or another text of it. only:
    "interpreter" or "gpu" where it is right (a mutant: where its mistake shows) in one of them
    alone: atomics give other last bits each time on a GPU, and an unmasked load whose lanes are
    dropped again is seen by the interpreter's meter.
    """

    def __init__(
        self,
        name: str,
        *edits: Edit,
        body: str | None = None,
        kernels: str | None = None,
        replace: str | None = None,
        only: str | None = None,
    ):
        if only not in (None, "interpreter", "gpu"):
            raise MutantError(f"{name!r}: only={only!r} must be 'interpreter' or 'gpu'")
        self.name, self.edits, self.only = name, edits, only
        self.body, self.kernels, self.replace = body, kernels, replace

    def apply(self, answer: str, key: str = "") -> str:
        """The changed text of the answer cell `key` (as solved, without markers).

        Raises MutantError.
        """
        texts = sum(each is not None for each in (self.body, self.kernels, self.replace))
        if texts + bool(self.edits and self.kernels is None) != 1:
            raise MutantError(f"{self.name!r}: give edits {{old -> new}}, body= or replace=")
        text = self._instead(answer, key) if texts else answer
        for edit in self.edits:
            text = self._changed(text, edit)
        if text == answer:
            raise MutantError(f"{self.name!r}: the edits change nothing")
        return text

    def _changed(self, text: str, edit: Edit) -> str:
        if not isinstance(edit, str):
            before, (old, new), after = "", edit, ""
        elif found := _EDIT.fullmatch(edit):
            before, old, new, after = found.groups()
        else:
            raise MutantError(f"{self.name!r}: {edit!r} has no {{old -> new}}; give (old, new)")
        first, *rest = (before + old + after).split(LEFT_OUT)
        if (count := text.count(first)) != 1:
            raise MutantError(
                f"{self.name!r}: the text {first!r} is in the answer {count} times, not once; "
                "quote more or other text of the answer cell"
            )
        groups = (".*?".join(map(re.escape, each.split(LEFT_OUT))) for each in (before, old, after))
        place = re.search("({})({})({})".format(*groups), text, re.DOTALL)
        if not place:
            raise MutantError(f"{self.name!r}: {rest!r} do not come behind {first!r} in the answer")
        return text[: place.end(1)] + new + text[place.end(2) :]

    def _instead(self, answer: str, key: str) -> str:
        """The function with another body, under other kernels, or another text; what stands below
        stays, if it is not in that text."""
        lines, tree = answer.splitlines(), ast.parse(answer).body
        names = [getattr(node, "name", None) for node in tree]
        if key not in names:
            if self.replace is None:
                raise MutantError(f"{self.name!r}: the answer has no function {key!r}")
            return self.replace
        own, *below = tree[names.index(key) :]
        if self.body is not None:
            head = "\n".join(lines[own.lineno - 1 : own.body[0].lineno - 1])
            text = f"{head}\n{textwrap.indent(self.body, '    ')}"
        elif self.kernels is not None:
            text = f"{self.kernels}\n\n{_source(lines, own)}"
        else:
            text = self.replace
            functions = (node for node in below if isinstance(node, ast.FunctionDef))
            below = [node for node in functions if f"def {node.name}(" not in text]
        return "\n\n\n".join([text, *(_source(lines, node) for node in below)])


def _source(lines: list[str], node: ast.stmt) -> str:
    """The text of a function, with what decorates it."""
    first = min(each.lineno for each in (node, *getattr(node, "decorator_list", ())))
    return "\n".join(lines[first - 1 : node.end_lineno])


class Mutant(Variant):
    """A text that makes a mistake, and what is told of it.

    says: the sentence for whoever gives the same results, or the name of one in SAYS (a mutant's
    own name if that is there); its code is that name, or the mutant's. seen: codes of general
    findings that it may get besides, or alone; where the meter finds one of them, the sentence is
    told in its place. on_gpu: codes that it may get on a GPU alone, where
    no meter sees addresses, programs run at the same time, and the compiler speaks first.
    """

    def __init__(
        self,
        name: str,
        *edits: Edit,
        says: str | None = None,
        seen: str | tuple[str, ...] = (),
        on_gpu: tuple[str, ...] = (),
        **how: Any,
    ):
        super().__init__(name, *edits, **how)
        self.says, self.code = says, name
        self.seen = (seen,) if isinstance(seen, str) else tuple(seen)
        self.on_gpu = on_gpu

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes that it may get."""
        return ((self.code,) if self.says else ()) + self.seen

    def share(self, says: Mapping[str, str], by_name: Collection[str]) -> None:
        """Take the sentence that it shares, and that one's name for a code. by_name: those that may
        be taken by a mutant's own name. Raises MutantError for another one."""
        name = self.says or self.name
        if name not in says:
            return
        if not self.says and name not in by_name:
            raise MutantError(
                f"{name!r} is the name of a sentence that pages share: list it in SHARED, or give "
                "the mutant a sentence or a name of its own"
            )
        self.says, self.code = says[name], name


class usual:
    """Stands in MUTANTS for the usual mistakes of an answer. but: names of those to leave out.

    Raises MutantError for a name that none of them has.
    """

    def __init__(self, but: tuple[str, ...] = ()):
        if unknown := sorted(set(but) - set(USUAL)):
            known = ", ".join(USUAL)
            raise MutantError(f"usual() knows no {unknown[0]!r}; but= takes some of {known}")
        self.names = [name for name in USUAL if name not in but]

    def mutants(self, answer: str) -> list[Mutant]:
        """One for each that the answer (as solved, without markers) has room for."""
        return [
            Mutant(name, replace=text, seen=USUAL[name].seen, only=USUAL[name].only)
            for name, text in texts(answer).items()
            if name in self.names
        ]


@dataclass(frozen=True)
class WrongAnswers:
    """The mutants and variants of one exercise, by key."""

    exercise: Exercise
    path: Path
    mutants: dict[str, tuple[Mutant, ...]]
    variants: dict[str, tuple[Variant, ...]]
    equivalent: dict[str, dict[str, str]]
    promises: tuple[str, ...]
    left_out: dict[str, list[str]] = field(default_factory=dict)  # what usual() has no room for

    def text(self, key: str, change: Variant) -> str:
        """The text of the answer cell `key` with a mutant's or a variant's change."""
        try:
            answer = self.exercise.answers()[key]
            return change.apply(self.exercise.cut(answer, gaps.solved_text), key)
        except MutantError as error:
            raise MutantError(f"{self.path.parent.name}/{self.path.name}, {key}: {error}") from None


def wrong_answers(slug: str | int | Exercise) -> WrongAnswers:
    """Read the mutants and variants of an exercise; empty where it has no such file.

    Raises MutantError, which names the file, where it cannot be read.
    """
    exercise = get(slug)
    path = exercise.path.with_name("wrong.py")
    if not path.is_file():
        return WrongAnswers(exercise, path, {}, {}, {}, ())
    text, name = path.read_text(encoding="utf-8"), f"_tritonbook_wrong_{exercise.slug}"
    try:
        module = source_file.module_of(text, str(path), name, {})
    except Exception as error:
        problem = f"it cannot be read ({type(error).__name__}: {error})"
        raise MutantError(f"{path.parent.name}/{path.name}: {problem}") from None
    tables, left_out = [], {}
    for table, kind in (("MUTANTS", Mutant), ("VARIANTS", Variant)):
        found = {key: tuple(changes) for key, changes in getattr(module, table, {}).items()}
        for key, changes in found.items():
            if table == "MUTANTS" and key in exercise.answers():
                answer = exercise.cut(exercise.answers()[key], gaps.solved_text)
                asked = [name for each in changes if isinstance(each, usual) for name in each.names]
                found[key] = changes = tuple(_with_usual(changes, answer))
                if missing := sorted({*asked} - {change.name for change in changes}):
                    left_out[key] = missing
            _check_table(path, f"{table}[{key!r}]", key, changes, kind, exercise)
        tables.append(found)
    own, shared = getattr(module, "SAYS", {}), getattr(module, "SHARED", "").split()
    mutants = [each for changes in tables[0].values() for each in changes]
    sentences, names = {**_shared(exercise), **own}, {*own, *shared, *USUAL}
    try:
        for mutant in mutants:
            mutant.share(sentences, names)
        if idle := sorted(set(shared) - {mutant.code for mutant in mutants if mutant.says}):
            raise MutantError(f"no mutant takes the sentence {idle[0]!r} of SHARED by its name")
    except MutantError as error:
        raise MutantError(f"{path.parent.name}/{path.name}: {error}") from None
    rest = getattr(module, "EQUIVALENT", {}), getattr(module, "PROMISES", ())
    return WrongAnswers(exercise, path, *tables, *rest, left_out)


def _with_usual(changes: tuple[Any, ...], answer: str) -> Iterator[Any]:
    for change in changes:
        yield from change.mutants(answer) if isinstance(change, usual) else [change]


def _shared(exercise: Exercise) -> dict[str, str]:
    """The sentences that several pages share."""
    path = exercise.path.parents[1] / "shared" / "says.py"
    if not path.is_file():
        return {}
    text = path.read_text(encoding="utf-8")
    return source_file.module_of(text, str(path), "_tritonbook_says", {}).SAYS


def _check_table(
    path: Path, table: str, key: str, changes: tuple, kind: type, exercise: Exercise
) -> None:
    where = f"{path.parent.name}/{path.name}, {table}"
    if key not in exercise.answers():
        raise MutantError(f"{where}: {exercise.slug} has no answer with the key {key!r}")
    for change in changes:
        if type(change) is not kind:
            raise MutantError(
                f"{where}: {getattr(change, 'name', change)!r} is not a {kind.__name__}"
            )
    names = [change.name for change in changes]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise MutantError(f"{where}: the name {sorted(twice)[0]!r} is used twice")
