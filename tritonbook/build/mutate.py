"""`make mutate`: what the checks say of machine-made mistakes.

Each change of an answer goes to the visible check and, if that accepts it, to the hidden cases.
Results are kept in build/out/mutate/, by the text and by what the check knows, so that a sweep that
was stopped goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..course.exercises import Exercise
from ..course.mutants import wrong_answers
from .matrix import PASSED, Trial, Worker
from .mutations import Mutation, mutations

CALL_SECONDS = 5.0  # of one call of an answer: a loop without an end is stopped
SECONDS = 40.0  # of one check
NO_CAUSE = ("wrong-values", "nan")  # refusals that name no cause; a place, if not everything is bad


@dataclass(frozen=True)
class Result:
    """What became of one mutation. visible, hidden: codes; hidden is "" where it was not asked."""

    exercise: str
    key: str
    name: str
    visible: str
    hidden: str
    sentence: str
    seconds: float
    reason: str = ""  # why it is equivalent, where wrong.py says that it is

    @property
    def verdict(self) -> str:
        """In capitals what must not be."""
        survived = self.visible == "passed"
        if self.reason:
            return "equivalent" if survived else "NOT EQUIVALENT"
        if survived:
            return "ACCEPTED" if self.hidden == "passed" else "HIDDEN ONLY"
        vague = self.visible in NO_CAUSE and "everywhere" in self.sentence
        return "no cause" if vague else "refused"


def sweep(
    course: Sequence[Exercise],
    root: Path,
    processes: int,
    key: str | None = None,
    pick: Callable[[list[Mutation]], list[Mutation]] = list,
) -> Iterator[Result]:
    """Results of all mutations of the exercises' answers, as they come."""
    wanted = [
        (exercise, name, mutation)
        for exercise in course
        for name, cell in exercise.answers().items()
        if key in (None, name)
        for mutation in pick(mutations(cell.source))
    ]
    workers = threading.local()
    started: list[Worker] = []
    kept = {exercise.slug: _Kept(exercise, root) for exercise in course}

    def one(task: tuple[Exercise, str, Mutation]) -> Result:
        exercise, name, mutation = task
        if not hasattr(workers, "own"):
            workers.own = Worker(CALL_SECONDS)
            started.append(workers.own)
        said = kept[exercise.slug].get(name, mutation.text)
        if said is None:
            said = _ask(workers.own, Trial(exercise, name, "mutant", "", PASSED, mutation.text))
            kept[exercise.slug].put(name, mutation.text, said)
        return Result(
            exercise.slug, name, mutation.name, *said, kept[exercise.slug].reason(name, mutation)
        )

    try:
        with ThreadPoolExecutor(processes) as pool:
            yield from pool.map(one, wanted)
    finally:
        for worker in started:
            worker.close()


def _ask(worker: Worker, trial: Trial) -> tuple[str, str, str, float]:
    code, message, _, seconds = worker.ask(trial, None, SECONDS, hidden=False)
    if code != "passed":
        return code, "", message, seconds
    hidden, message, _, more = worker.ask(trial, None, SECONDS, hidden=True)
    return code, hidden, message, seconds + more


class _Kept:
    """Results of one exercise, kept in a file that its next sweep reads."""

    def __init__(self, exercise: Exercise, root: Path):
        self.path = root / "build" / "out" / "mutate" / f"{exercise.slug}.jsonl"
        self.equivalent = wrong_answers(exercise).equivalent
        parts = [
            exercise.path.with_name("cases.py"),
            *sorted((root / "exercises").glob("shared/*.py")),
        ]
        parts += sorted((root / "tritonbook" / "checking").glob("*.py"))
        known = "".join(part.read_text(encoding="utf-8") for part in parts if part.is_file())
        self.digest = _digest(exercise.module_text() + known)
        self._lock = threading.Lock()
        self._found: dict[str, list] = {}
        if self.path.is_file():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self._found[entry["id"]] = entry["said"]

    def get(self, key: str, text: str) -> list | None:
        return self._found.get(_digest(self.digest + key + text))

    def put(self, key: str, text: str, said: tuple) -> None:
        line = json.dumps({"id": _digest(self.digest + key + text), "said": said})
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def reason(self, key: str, mutation: Mutation) -> str:
        return self.equivalent.get(key, {}).get(mutation.name, "")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def stale(course: Sequence[Exercise]) -> list[str]:
    """Entries of EQUIVALENT that no mutation has: the answer has changed since."""
    found = []
    for exercise in course:
        for key, entries in wrong_answers(exercise).equivalent.items():
            cell = exercise.answers().get(key)
            names = {mutation.name for mutation in mutations(cell.source)} if cell else set()
            found += [f"{exercise.slug}, {key}: {name}" for name in entries if name not in names]
    return found


def processors() -> int:
    """Processes that this machine runs at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
