"""The kill matrix: every wrong answer must be refused for its reason, every right one accepted.

For each graded key: the solution passes, the open gap reads as not attempted, each mutant gets one
of its diagnoses, each honest variant passes.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ..course import gaps
from ..course.exercises import Exercise
from ..course.mutants import wrong_answers
from ..port.device import INTERPRET

PASSED = ("passed",)
OPEN_GAP = ("not-attempted",)
SECONDS = 120.0


@dataclass(frozen=True)
class Trial:
    """One text of one answer, and the codes that its check may give."""

    exercise: Exercise
    key: str
    kind: str  # solution, untouched, mutant, variant
    name: str
    expected: tuple[str, ...]
    text: str | None


@dataclass(frozen=True)
class Row:
    """What became of a trial."""

    exercise: str
    key: str
    kind: str
    name: str
    expected: tuple[str, ...]
    got: str
    message: str
    card: str
    seconds: float

    @property
    def good(self) -> bool:
        return self.got in self.expected

    @property
    def verdict(self) -> str:
        """killed, accepted or recognised; in capitals what must not be."""
        if self.expected == PASSED:
            return "accepted" if self.good else "REFUSED"
        if self.got == "passed":
            return "SURVIVED"
        if not self.good:
            return "MISDIAGNOSED"
        return "recognised" if self.kind == "untouched" else "killed"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict, "good": self.good}


def trials(exercise: Exercise, key: str | None = None) -> Iterator[Trial]:
    """All that the checks of an exercise must decide here. Raises MutantError for a stale edit.

    Mutants whose mistake shows only in the interpreter, or only on a GPU, are left out elsewhere.
    """
    wrong = wrong_answers(exercise)
    here = "interpreter" if INTERPRET else "gpu"
    for name, cell in exercise.answers().items():
        if key not in (None, name):
            continue
        yield Trial(exercise, name, "solution", "as solved", PASSED, None)
        untouched = exercise.cut(cell, gaps.learner_text)
        yield Trial(exercise, name, "untouched", "open gap", OPEN_GAP, untouched)
        for mutant in wrong.mutants.get(name, ()):
            if mutant.only not in (None, here):
                continue
            text = wrong.text(name, mutant)
            yield Trial(exercise, name, "mutant", mutant.name, mutant.codes, text)
        for variant in wrong.variants.get(name, ()):
            text = wrong.text(name, variant)
            yield Trial(exercise, name, "variant", variant.name, PASSED, text)


def run(
    wanted: Iterable[Trial],
    dtype: str | None = None,
    seconds: float = SECONDS,
    worker: Worker | None = None,
) -> Iterator[Row]:
    """Run trials one after another in a worker process that is replaced when one breaks it.

    dtype overrides the dtype of every case. A trial that takes longer than `seconds` is stopped and
    gets "timeout"; one that ends the process gets "crashed". worker: one to use again, which the
    caller closes; it spares the imports.
    """
    with contextlib.ExitStack() as stack:
        if worker is None:
            worker = stack.enter_context(contextlib.closing(Worker()))
        for trial in wanted:
            answer = worker.ask(trial, dtype, seconds)
            yield Row(
                trial.exercise.slug, trial.key, trial.kind, trial.name, trial.expected, *answer
            )


class Worker:
    """The process that runs checks; started when first asked, and again after it broke.

    call_seconds: limit of one call of an answer, where it is to be lower than that of the check.
    """

    def __init__(self, call_seconds: float | None = None) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._environment = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
        if call_seconds is not None:
            self._environment["TRITONBOOK_CALL_SECONDS"] = f"{call_seconds:g}"

    def ask(
        self, trial: Trial, dtype: str | None, seconds: float, hidden: bool | None = None
    ) -> tuple[str, str, str, float]:
        """(code, message, card, seconds) of one trial. hidden: as `run_page_check` takes it."""
        process = self._running()
        request = {
            "path": str(trial.exercise.path),
            "key": trial.key,
            "text": trial.text,
            "dtype": dtype,
            "hidden": hidden,
        }
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        if not ready:
            self.close()
            return "timeout", f"stopped after {seconds:g} s", "", seconds
        line = process.stdout.readline()
        if not line:
            status = process.wait()
            self.close()
            return "crashed", f"the process ended with status {status}", "", 0.0
        answer = json.loads(line)
        stopped = answer["code"] == "timeout" and "timeout" not in trial.expected
        if answer["spent"] or stopped:
            # What was stopped by surprise may be PyTorch's compiler at its work, on a busy machine.
            # It would fail in every later trial of that process.
            self.close()
        return answer["code"], answer["message"], answer["card"], answer["seconds"]

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            with contextlib.suppress(OSError):  # what was not sent has no reader any more
                self._process.stdin.close()
            self._process.stdout.close()
            self._process = None

    def _running(self) -> subprocess.Popen[str]:
        # A wrong answer may end the process after its verdict: in a thread, or at a late fault.
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tritonbook.build.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | self._environment,
            )
            if self._process.stdout.readline() != "ready\n":
                raise RuntimeError("the process that runs checks cannot start; import tritonbook?")
        return self._process


def table(rows: Iterable[Row]) -> Any:
    """The rows as a rich table."""
    from rich.table import Table

    shown = Table(title="Kill matrix", expand=False)
    for column in ("exercise", "key", "answer", "expected", "got", "verdict", "s"):
        shown.add_column(column, overflow="fold")
    for row in rows:
        style = "" if row.good else "bold red"
        shown.add_row(
            row.exercise,
            row.key,
            f"{row.kind}: {row.name}",
            " or ".join(row.expected),
            row.got if row.good else f"{row.got} ({row.message})",
            row.verdict,
            f"{row.seconds:.1f}",
            style=style,
        )
    return shown
