"""Which handed-in cell is which answer: by its name, else by the functions that it defines.

Tools drop metadata, people split and merge cells. An answer is taken from wherever its function
is defined, where that is plain; an answer that is found nowhere is named in a note.
"""

from __future__ import annotations

import ast
import dataclasses
import functools

from tritonbook.course import gaps
from tritonbook.words import later

from ..judge.course import Course, GivenCell
from .cells import (
    MAX_CELL_CHARACTERS,
    HandedCell,
    defined,
    digest,
    lines_of,
    parsed,
    statements,
    targets,
)
from .notebook_only import as_python, fence_in, leave_out, magic_of
from .notes import Costly, listed

MAX_EXTRA = 100


def stub_text(given: GivenCell) -> str:
    """An answer's cell as it is given out: gaps, no solution."""
    return gaps.learner_text(_without_stubs(given.source))


def solution_text(given: GivenCell) -> str:
    """An answer's cell as the course solves it."""
    return gaps.solved_text(_without_stubs(given.source))


def _without_stubs(text: str) -> str:
    """An instructor's answer cell without the stubs below its regions, as the exercise has it."""
    lines = text.splitlines()
    for _, end in reversed(gaps.regions(text, gaps.BEGIN_SOLUTION, gaps.END_SOLUTION)):
        below = lines[end].strip() if end < len(lines) else ""
        if below == "pass" or below.startswith('raise NotImplementedError("TODO'):
            del lines[end]
    return "\n".join(lines)


def given_text(cell: GivenCell) -> str:
    """A course cell as a student may see it: no hidden tests."""
    return gaps.without_hidden(cell.source) if cell.role == "check" else cell.source


class Stubs:
    """The answers of a notebook as they are given out."""

    def __init__(self, course: Course):
        self.texts = {cell.name: stub_text(cell) for cell in course.answers()}
        self.names = tuple(self.texts)
        self.functions = {name: defined(text) for name, text in self.texts.items()}

    def required(self, name: str) -> set[str]:
        """The functions without which an answer is none: the one that is checked."""
        functions = set(self.functions[name])
        return {name.removeprefix("answer-")} & functions or functions

    def untouched(self, name: str, source: str) -> bool:
        """Whether the text does not go beyond what was given out."""
        found = statements(source)
        if found is None:
            return not source.strip()
        return not found or found == statements(self.texts[name])

    def held(self, cells: list[HandedCell]) -> int:
        """How many of the answers are there, by name or by what is defined."""
        seen = {name for cell in cells for name in cell.names}
        functions = {name for cell in cells if cell.runs for name in defined(cell.source)}
        return sum(
            name in seen or bool(self.required(name)) and self.required(name) <= functions
            for name in self.names
        )

    def worked_on(self, cells: list[HandedCell]) -> bool:
        """Whether any answer goes beyond its stub."""
        given = {f: text for functions in self.functions.values() for f, text in functions.items()}
        for cell in cells:
            if statements(cell.source) is None and set(cell.names) & set(self.names):
                return True
            if any(given.get(f, text) != text for f, text in defined(cell.source).items()):
                return True
        return False


@functools.lru_cache(maxsize=8)
def stubs_of(course: Course) -> Stubs:
    return Stubs(course)


def match(
    course: Course, handed: list[HandedCell], notes: list[str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Answers by grade id, and added code cells by the course's cell that they follow."""
    stubs = stubs_of(course)
    known = {cell.name for cell in course.cells}
    texts = {given_text(cell).strip(): cell.name for cell in course.cells if cell.kind == "code"}
    handed = [
        cell
        for cell in handed
        if (cell.written or cell.source).strip() or not known.isdisjoint(cell.names)
    ]
    names = [
        next((name for name in cell.names if name in known), "")
        or (texts.get(cell.source.strip(), "") if cell.kind == "code" else "")
        for cell in handed
    ]
    handed = [_clean(cell, name, notes) for cell, name in zip(handed, names, strict=True)]
    handed, left = leave_out(handed, {f for found in stubs.functions.values() for f in found})
    for cell, name in zip(handed, names, strict=True):
        if name in stubs.names and (line := magic_of(cell)):
            left.remove(line)
            note = later(
                f"{name}: its cell begins with {line}, so it is no Python: delete that line"
            )
            notes.append(Costly(note))
        if name in stubs.names and cell.runs and (line := fence_in(cell)):
            if parsed(cell.source) is None:
                note = later(
                    f"{name}: {line} is Markdown's, so the cell is no Python: delete such lines"
                )
                notes.append(Costly(note))
            elif parsed(cell.written) is None:  # else it stands in a string
                notes.append(later(f"{name}: Markdown's {line} around its code was left out"))
    if left:
        notes.append(later(f"left out, as no answer needs it: {listed(left)}"))
    parts = {name: _own(name, handed, names, stubs, notes) for name in stubs.names}
    serves = _elsewhere(handed, names, parts, stubs, texts, notes)
    given = _statements(course) if serves else set()
    for number, held in serves.items():
        source, own = handed[number].source, names[number]
        if own in stubs.names and parts[own] and number in parts[own]:
            held = [own, *held]
        if own or len(held) > 1 or handed[number].kind == "script":
            pieces = _split(source, sorted(held, key=stubs.names.index), stubs, given)
        else:
            pieces = {held[0]: source}
        for name, text in pieces.items():
            parts[name][number] = text
    answers = {
        name: "\n\n\n".join(text for _, text in sorted(found.items()))
        for name, found in parts.items()
        if found
    }
    for name in stubs.names:
        if name not in answers and handed:
            wanted = ", ".join(sorted(stubs.required(name)))
            note = later(f"no cell defines {wanted}: write one, and hand in again")
            notes.append(Costly(note))
    return answers, _extras(handed, names, serves, notes)


def _own(
    name: str, handed: list[HandedCell], names: list[str], stubs: Stubs, notes: list[str]
) -> dict[int, str]:
    """The text of the cells that bear an answer's name, by place. A later cell that defines all
    that an earlier one does replaces it; else the two are one answer, split."""
    found = {number: handed[number].source for number, own in enumerate(names) if own == name}
    worked = {n: text for n, text in found.items() if not stubs.untouched(name, text)} or found
    if len(worked) < 2:
        return worked
    *earlier, last = sorted(worked)
    kept = {last: worked[last]}
    for number in reversed(earlier):
        below = {function for text in kept.values() for function in defined(text)}
        if below and not set(defined(worked[number])) <= below:
            kept[number] = worked[number]
    if len(kept) == 1:
        notes.append(later(f"{name}: several cells hold it, of which the last counts"))
    else:
        count = len(kept)
        notes.append(later(f"{name}: handed in as {count} cells, which were joined"))
    return kept


def _elsewhere(
    handed: list[HandedCell],
    names: list[str],
    parts: dict[str, dict[int, str]],
    stubs: Stubs,
    texts: dict[str, str],
    notes: list[str],
) -> dict[int, list[str]]:
    """Cells that hold an answer whose own cell is gone or untouched: place -> answers."""
    serves: dict[int, list[str]] = {}
    moved = []
    for name, own in parts.items():
        untouched = all(stubs.untouched(name, text) for text in own.values())
        if not untouched or not stubs.functions[name]:
            continue
        found = [
            number
            for number, cell in enumerate(handed)
            if cell.runs
            and number not in own
            and cell.source.strip() not in texts
            and set(defined(cell.source)) & set(stubs.functions[name])
        ]
        functions = {f for number in found for f in defined(handed[number].source)}
        if not stubs.required(name) <= functions:
            continue
        if own and _runs_before_its_check(name, max(own), found, names):
            continue  # added below the stub: it runs where it stands, as in the notebook
        own.clear()
        moved.append(name)
        for number in found:
            serves.setdefault(number, []).append(name)
    if moved:
        answers = ", ".join(moved)
        note = later(f"{answers}: not where they were given out; found by their functions")
        notes.append(note)
    return serves


def _runs_before_its_check(name: str, stub: int, found: list[int], names: list[str]) -> bool:
    check = name.replace("answer-", "check-", 1)
    if check not in names or any(names[number] for number in found):
        return False
    return stub < min(found) and max(found) < names.index(check)


def _split(source: str, answers: list[str], stubs: Stubs, given: set[str]) -> dict[str, str]:
    """One cell's text taken apart: what each answer defines, by answer.

    Imports, constants and helpers go to the first answer. Statements of the course's own and bare
    expressions (checks, plots) are left out; others that use an answer stay behind it.
    """
    owners = {function: name for name in answers for function in stubs.functions[name]}
    lines = lines_of(source)
    pieces: dict[str, list[str]] = {name: [] for name in answers}
    helpers: list[str] = []
    last = ""
    end = 0
    for node in ast.parse(source).body:  # it defines an answer, so it is Python
        text = "\n".join(lines[end : node.end_lineno])
        end = node.end_lineno or end
        owner = next((owners[name] for name in targets(node) if name in owners), "")
        if not owner and (isinstance(node, ast.Expr) or digest(node) in given):
            continue
        used = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        if owner:
            last = owner
            pieces[owner].append(text)
        elif last and used & set(owners) and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            pieces[last].append(text)
        else:
            helpers.append(text)
    pieces[answers[0]][:0] = helpers
    return {name: "\n".join(texts).strip("\n") for name, texts in pieces.items()}


def _statements(course: Course) -> set[str]:
    """Every statement of the course's own cells, as a hash."""
    texts = [given_text(cell) for cell in course.cells if cell.kind == "code"]
    return {found for text in texts for _, found in statements(text) or ()}


def _extras(
    handed: list[HandedCell], names: list[str], serves: dict[int, list[str]], notes: list[str]
) -> dict[str, list[str]]:
    extras: dict[str, list[str]] = {}
    last, added = "", 0
    for number, cell in enumerate(handed):
        if names[number] or number in serves:
            last = names[number] or serves[number][-1]
        elif cell.kind == "code":
            added += 1
            if added <= MAX_EXTRA:
                extras.setdefault(last, []).append(cell.source)
    if added > MAX_EXTRA:
        kept = later(f"only the first {MAX_EXTRA} of {added} added cells were kept: delete some")
        notes.append(Costly(kept))
    return extras


def _clean(cell: HandedCell, name: str, notes: list[str]) -> HandedCell:
    """The cell within bounds, as Python."""
    source = cell.source
    if len(source) > MAX_CELL_CHARACTERS:
        most = MAX_CELL_CHARACTERS
        cut = later(f"an added cell: only the first {most} characters were kept: shorten it")
        if name:
            cut = later(f"{name}: only the first {most} characters were kept: shorten it")
        notes.append(Costly(cut))
        source = source[:MAX_CELL_CHARACTERS]
    made = as_python(source) if cell.runs and not cell.written else source
    return dataclasses.replace(cell, source=made, written=cell.written or source)
