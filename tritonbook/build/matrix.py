"""The kill matrix: every mutant must be refused for its reason, every variant accepted.

For each graded key: the solution passes, the open gap reads as not attempted, each mutant gets one
of its diagnoses, each honest variant passes. `shortened` asks less: the suite's daily run.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, NamedTuple

from ..checking.codes import instead_on_gpu, seen_on_gpu
from ..child import Child, Ended, TooSlow
from ..course import gaps
from ..course.exercises import Exercise
from ..course.mutants import wrong_answers
from ..course.page_checks import checks
from ..port.device import INTERPRET
from .kept import Kept, drawn

PASSED = ("passed",)
OPEN_GAP = ("not-attempted",)
SECONDS = 120.0
NO_VERDICT = "no verdict"  # so begins what is said where the check itself came to no end
KNOWN = Path("tests/exercises/refused_by.json")  # what the matrix found: see `remember`
KEPT = Path("build/out/matrix")  # good rows of earlier runs, on this machine alone
TRY = "tritonbook.course.tried:try_answer"
HERE = "interpreter" if INTERPRET else "gpu"


@dataclass(frozen=True)
class Attempt:
    """One text of one answer, and the codes that its check may give. notes: those of the cases
    that are tried first, alone; None: all cases, in their order."""

    exercise: Exercise
    key: str
    kind: str  # solution, untouched, mutant, variant
    name: str
    expected: tuple[str, ...]
    text: str | None
    notes: tuple[str, ...] | None = None


class Answer(NamedTuple):
    """What a check said. case: the note of the last one that was run, which is the failing one."""

    code: str
    message: str
    card: str = ""
    seconds: float = 0.0
    case: str = ""


@dataclass(frozen=True)
class Row:
    """What became of an attempt."""

    attempt: Attempt
    answer: Answer

    @property
    def good(self) -> bool:
        return self.answer.code in self.attempt.expected

    @property
    def verdict(self) -> str:
        """killed, accepted or recognised; in capitals what must not be."""
        if self.attempt.expected == PASSED:
            return "accepted" if self.good else "REFUSED"
        if self.answer.code == "passed":
            return "SURVIVED"
        if not self.good:
            return "MISDIAGNOSED"
        return "recognised" if self.attempt.kind == "untouched" else "killed"


def attempts(exercise: Exercise, key: str | None = None) -> Iterator[Attempt]:
    """All that the checks of an exercise must decide here. Raises MutantError for a stale edit.

    Mutants whose mistake shows only in the interpreter, or only on a GPU, are left out elsewhere.
    On a GPU so are kernels that never end: nothing but the end of their process stops them.
    """
    wrong = wrong_answers(exercise)
    for name, cell in exercise.answers().items():
        if key not in (None, name):
            continue
        yield Attempt(exercise, name, "solution", "as solved", PASSED, None)
        untouched = exercise.cut(cell, gaps.learner_text)
        yield Attempt(exercise, name, "untouched", "open gap", OPEN_GAP, untouched)
        for mutant in wrong.mutants.get(name, ()):
            codes = mutant.codes
            if not INTERPRET:
                codes += mutant.on_gpu
                if not any(map(seen_on_gpu, codes)) or "timeout" in codes:
                    continue
                codes += tuple(found for code in codes for found in instead_on_gpu(code))
            if mutant.only not in (None, HERE):
                continue
            text = wrong.text(name, mutant)
            yield Attempt(exercise, name, "mutant", mutant.name, codes, text)
        for variant in wrong.variants.get(name, ()):
            if variant.only not in (None, HERE):
                continue
            text = wrong.text(name, variant)
            yield Attempt(exercise, name, "variant", variant.name, PASSED, text)


def shortened(
    exercise: Exercise, key: str, known: Path, one_in: int = 1, seed: int | None = None
) -> Iterator[Attempt]:
    """The attempts of one key at less cost. known: a file that `remember` wrote.

    A mutant meets the case first that refused it before; the others, in their order, only if that
    lets it through or says something else. The variants of a key share its cases: each meets some,
    each case meets one. The solution is left out: grader and notebooks try it on every case.
    one_in: one in so many mutants, and those that show on this machine alone. With a seed all are
    drawn by it, variants and the open gap too.
    """
    wanted = list(attempts(exercise, key))
    refused_by = _read(known).get(exercise.slug, {}).get(key, {})
    check = checks(exercise)[key]
    cases = [case for case in (*check.cases, *check.hidden) if case.only in (None, HERE)]
    notes = [case.note for case in cases]
    # The first one with a result is everybody's: on it a launch is proved.
    first = next((case.note for case in cases if case.raises is None), notes[0])
    mutants = [attempt for attempt in wanted if attempt.kind == "mutant"]
    variants = [attempt for attempt in wanted if attempt.kind == "variant"]
    own = {mutant.name for mutant in wrong_answers(exercise).mutants.get(key, ()) if mutant.only}

    def tried(number: int, attempt: Attempt) -> bool:
        if seed is not None:
            return drawn(f"{key} {attempt.kind} {attempt.name}", seed, one_in)
        return attempt.kind != "mutant" or number % one_in == 0 or attempt.name in own

    yield from (each for each in wanted if each.kind == "untouched" and tried(0, each))
    for number, attempt in enumerate(mutants):
        if tried(number, attempt):
            note = refused_by.get(attempt.name)
            yield replace(attempt, notes=(note,)) if note in notes else attempt
    for number, attempt in enumerate(variants):
        if tried(number, attempt):
            yield replace(attempt, notes=(first, *notes[number :: len(variants)]))


def remember(course: Iterable[Exercise], rows: Iterable[Row], known: Path) -> None:
    """Write down of each key which case refused each mutant, where it is not the first of its
    check. Keys that the rows do not have keep what was written of them. course: all pages.
    """
    old = _read(known)
    asked: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        asked.setdefault((row.attempt.exercise.slug, row.attempt.key), []).append(row)
    found: dict[str, dict[str, Any]] = {}
    for exercise in course:
        slug = exercise.slug
        for key, check in checks(exercise).items():
            refused_by = old.get(slug, {}).get(key, {})
            if (slug, key) in asked:
                first = ("", check.cases[0].note)
                refused_by = {
                    row.attempt.name: row.answer.case
                    for row in asked[slug, key]
                    if row.good and row.attempt.kind == "mutant" and row.answer.case not in first
                }
            if refused_by:
                found.setdefault(slug, {})[key] = refused_by
    known.parent.mkdir(parents=True, exist_ok=True)
    # A line for each key: who mends one page changes few lines.
    pages = {
        slug: _lines({key: json.dumps(each, sort_keys=True) for key, each in records.items()})
        for slug, records in found.items()
    }
    known.write_text(_lines(pages) + "\n", encoding="utf-8")


def tried_whole(exercise: Exercise, key: str, kept: Path, now: bool = False) -> bool:
    """Whether all rows of a key were ever tried here. now: they were, just now."""
    mark = kept / f"{exercise.slug}.{key}.whole"
    if now:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return mark.is_file()


def _lines(entries: dict[str, str]) -> str:
    """JSON by name as JSON, a line for each entry."""
    return "{\n" + ",\n".join(f'"{name}": {entries[name]}' for name in sorted(entries)) + "\n}"


def _read(known: Path) -> dict[str, dict[str, Any]]:
    """What `remember` wrote, by page and key; nothing where it never did."""
    return json.loads(known.read_text(encoding="utf-8")) if known.is_file() else {}


def run(
    wanted: Iterable[Attempt],
    dtype: str | None = None,
    seconds: float = SECONDS,
    worker: CheckProcess | None = None,
    kept: Path | None = None,
) -> Iterator[Row]:
    """Run attempts one after another in a worker process that is replaced when one breaks it.

    dtype overrides the dtype of every case. An attempt that takes longer than `seconds` is stopped
    and gets "timeout"; one that ends the process gets "crashed". worker: one to use again, which
    the caller closes; it spares the imports. kept: a folder with the good rows of earlier runs,
    which are not run again while nothing that they depend on has changed.
    """
    shelves: dict[Exercise, Kept] = {}
    with contextlib.ExitStack() as stack:
        if worker is None:
            worker = stack.enter_context(contextlib.closing(CheckProcess()))
        for attempt in wanted:
            if kept and attempt.exercise not in shelves:
                shelves[attempt.exercise] = Kept(attempt.exercise, kept)
            shelf = shelves.get(attempt.exercise)
            asked = (attempt.key, attempt.text, dtype, attempt.notes, attempt.expected)
            said = shelf.get(*asked) if shelf is not None else None
            answer = Answer(*said) if said else worker.ask(attempt, dtype, seconds)
            if attempt.notes is not None and answer.code not in attempt.expected:
                answer = worker.ask(replace(attempt, notes=None), dtype, seconds)
            if shelf is not None and not said and answer.code in attempt.expected:
                shelf.put(answer, *asked)
            yield Row(attempt, answer)


class CheckProcess:
    """The process that runs checks; started when first asked, and again after it broke.

    call_seconds: limit of one call of an answer, where it is to be lower than that of the check.
    """

    def __init__(self, call_seconds: float | None = None) -> None:
        self._child: Child | None = None
        threads = os.environ.get("OMP_NUM_THREADS", "1")
        # Its cards are read by programs, which know English.
        self._environment = {"OMP_NUM_THREADS": threads, "TRITONBOOK_LANG": "en"}
        if call_seconds is not None:
            self._environment["TRITONBOOK_CALL_SECONDS"] = f"{call_seconds:g}"

    def ask(
        self, attempt: Attempt, dtype: str | None, seconds: float, hidden: bool | None = None
    ) -> Answer:
        """What the check says of one attempt. hidden: as `run_page_check` takes it."""
        page = str(attempt.exercise.path)
        try:
            answer = self._running().ask(
                page, attempt.key, attempt.text, dtype, hidden, attempt.notes, seconds=seconds
            )
        except TooSlow as reason:
            self.close()
            return Answer("timeout", f"{NO_VERDICT}: the check was {reason}", seconds=seconds)
        except Ended as reason:
            self.close()
            return Answer("crashed", f"{NO_VERDICT}: {reason}")
        spent = answer.pop("spent")
        stopped = answer["code"] == "timeout" and "timeout" not in attempt.expected
        if spent or stopped:
            # What was stopped by surprise may be PyTorch's compiler at its work, on a busy machine.
            # It would fail in every later attempt of that process.
            self.close()
        return Answer(**answer)

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def _running(self) -> Child:
        # A wrong answer may end the process after its verdict: in a thread, or at a late fault.
        if self._child is None or not self._child.alive:
            self.close()
            self._child = Child(TRY, output=DEVNULL, **self._environment)
        return self._child


def table(rows: Iterable[Row]) -> Any:
    """The rows as a rich table."""
    from rich.table import Table

    shown = Table(title="Kill matrix", expand=False)
    for column in ("exercise", "key", "answer", "expected", "got", "verdict", "s"):
        shown.add_column(column, overflow="fold")
    told: set[str] = set()
    for row in rows:
        attempt, answer = row.attempt, row.answer
        message = "as above" if answer.message in told else answer.message
        if not row.good:
            told.add(answer.message)
        shown.add_row(
            attempt.exercise.slug,
            attempt.key,
            f"{attempt.kind}: {attempt.name}",
            " or ".join(attempt.expected),
            answer.code if row.good else f"{answer.code} ({message})",
            row.verdict,
            f"{answer.seconds:.1f}",
            style="" if row.good else "bold red",
        )
    return shown
