"""`make mutate`: what the checks say of changes by machine.

Each change of an answer goes to the visible check and, if that accepts it, to the hidden cases.
Results are kept, so that a sweep that was stopped goes on where it was.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..checking.codes import only_a_place
from ..course.exercises import Exercise
from ..course.mutants import wrong_answers
from ..course.mutations import mutations
from .kept import Kept
from .matrix import NO_VERDICT, PASSED, Attempt, CheckProcess

CALL_SECONDS = 5.0  # of one call of an answer: a loop without an end is stopped
SECONDS = 40.0  # of one check


@dataclass(frozen=True)
class Result:
    """What became of one mutation. visible, hidden: codes; hidden is "" where it was not asked."""

    exercise: str
    key: str
    name: str
    visible: str
    hidden: str
    sentence: str
    reason: str = ""  # why it is equivalent, where wrong.py says that it is

    @property
    def verdict(self) -> str:
        """In capitals what must not be. A check that broke down or had no end refused nothing."""
        if "error" in (self.visible, self.hidden):
            return "CHECK BROKE"
        if self.sentence.startswith(NO_VERDICT):
            return "no verdict"
        survived = self.visible == "passed"
        if self.reason:
            return "equivalent" if survived else "NOT EQUIVALENT"
        if survived:
            return "ACCEPTED" if self.hidden == "passed" else "HIDDEN ONLY"
        vague = only_a_place(self.visible) and "everywhere" in self.sentence
        return "no cause" if vague else "refused"


def sweep(course: Sequence[Exercise], root: Path, processes: int) -> Iterator[Result]:
    """Results of all mutations of the exercises' answers, as they come."""
    wanted = [
        (exercise, key, change.name, change.text)
        for exercise in course
        for key, cell in exercise.answers().items()
        for change in mutations(cell.source)
    ]
    workers = threading.local()
    started: list[CheckProcess] = []
    folder = root / "build" / "out" / "mutate"
    kept = {exercise.slug: Kept(exercise, folder) for exercise in course}
    reasons = {exercise.slug: wrong_answers(exercise).equivalent for exercise in course}

    def one(task: tuple[Exercise, str, str, str]) -> Result:
        exercise, key, name, text = task
        if not hasattr(workers, "own"):
            workers.own = CheckProcess(CALL_SECONDS)
            started.append(workers.own)
        said = kept[exercise.slug].get(key, text)
        if said is None:
            said = _ask(workers.own, Attempt(exercise, key, "mutant", "", PASSED, text))
            kept[exercise.slug].put(said, key, text)
        reason = reasons[exercise.slug].get(key, {}).get(name, "")
        return Result(exercise.slug, key, name, *said, reason)

    try:
        with ThreadPoolExecutor(processes) as pool:
            yield from pool.map(one, wanted)
    finally:
        for worker in started:
            worker.close()


def lines(results: Sequence[Result]) -> str:
    """What wrong.py needs for changes that a check accepts: lines to paste, the reason open."""
    asked: dict[str, list[str]] = {}
    for each in results:
        if each.verdict in ("ACCEPTED", "HIDDEN ONLY"):
            asked.setdefault(f"{each.exercise}, {each.key}", []).append(each.name)
    return "\n".join(
        f"{place}: a visible case that refuses it, or into EQUIVALENT with the reason:\n"
        + "\n".join(f'        {name!r}: "TODO: why is it no mistake?",' for name in names)
        for place, names in asked.items()
    )


def _ask(worker: CheckProcess, attempt: Attempt) -> tuple[str, str, str]:
    seen = worker.ask(attempt, None, SECONDS, hidden=False)
    if seen.code != "passed":
        return seen.code, "", seen.message
    hidden = worker.ask(attempt, None, SECONDS, hidden=True)
    return seen.code, hidden.code, hidden.message


def stale(course: Sequence[Exercise]) -> list[str]:
    """Entries of EQUIVALENT that no mutation has: the answer has changed since."""
    found = []
    for exercise in course:
        for key, entries in wrong_answers(exercise).equivalent.items():
            cell = exercise.answers().get(key)
            names = {change.name for change in mutations(cell.source)} if cell else ()
            found += [f"{exercise.slug}, {key}: {name}" for name in entries if name not in names]
    return found
