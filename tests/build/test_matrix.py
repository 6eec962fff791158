"""The kill matrix: verdicts, and a worker that survives what wrong answers do to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from small_page import OF_NUMBERS, write_page

from tritonbook import child
from tritonbook.build import matrix
from tritonbook.course.exercises import Exercise

WRONG = """\
from tritonbook.course.mutants import Mutant, Variant

MUTANTS = {
    "double": [
        Mutant("ends_the_process", ("return 2 * x", "os._exit(3)"), seen="crashed"),
        Mutant("segfault", ("return 2 * x", "import ctypes; ctypes.string_at(0)"), seen="crashed"),
        Mutant("absolute", ("2 * x", "2 * abs(x)"), seen="wrong-values"),
        Mutant("for_another_reason", ("2 * x", "3 * x"), seen="crashed"),
        Mutant("unnoticed", ("2 * x", "x + x"), seen="wrong-values"),
        Mutant("syntax", ("return 2 * x", "return 2 *"), seen="load-error"),
        Mutant("prints", ("return 2 * x", 'print("{}")'), seen="wrong-type"),
        Mutant("endless", ("return 2 * x", "while True: pass"), seen="timeout"),
    ]
}
VARIANTS = {"double": [Variant("sum", ("2 * x", "x + x")), Variant("three", ("2 * x", "3 * x"))]}
"""

LATE = ("absolute", "for_another_reason", "unnoticed", "three")  # refused late, or wrongly


@pytest.fixture(scope="module")
def worker():
    with contextlib.closing(matrix.CheckProcess()) as shared:
        yield shared


@pytest.fixture
def exercise(tmp_path: Path) -> Exercise:
    return Exercise(write_page(tmp_path, "03_toy", cases=OF_NUMBERS, wrong=WRONG))


def test_every_verdict(exercise: Exercise, worker):
    """Kills: a worker that dies with its first crash, an endless loop that hangs the matrix, a
    matrix that calls a wrong answer killed for whatever reason."""
    wanted = list(matrix.attempts(exercise))
    (endless,) = (attempt for attempt in wanted if attempt.name == "endless")
    wanted.remove(endless)
    rows = {row.attempt.name: row for row in matrix.run(wanted, worker=worker)}
    rows |= {row.attempt.name: row for row in matrix.run([endless], seconds=1, worker=worker)}
    assert {name: (row.answer.code, row.verdict) for name, row in rows.items()} == {
        "as solved": ("passed", "accepted"),
        "open gap": ("not-attempted", "recognised"),
        "ends_the_process": ("crashed", "killed"),
        "segfault": ("crashed", "killed"),
        "absolute": ("wrong-values", "killed"),
        "for_another_reason": ("wrong-values", "MISDIAGNOSED"),
        "unnoticed": ("passed", "SURVIVED"),
        "syntax": ("load-error", "killed"),
        "prints": ("wrong-type", "killed"),
        "endless": ("timeout", "killed"),
        "sum": ("passed", "accepted"),
        "three": ("wrong-values", "REFUSED"),
    }
    assert "exit code 3" in rows["ends_the_process"].answer.message
    assert not rows["unnoticed"].good and not rows["three"].good and rows["endless"].good


def test_on_a_gpu_nobody_asks_for_what_the_meter_alone_sees(exercise: Exercise, monkeypatch):
    """Kills: a suite on a GPU that waits for endless kernels, or for a code that nobody gives
    there; codes of a GPU that weaken those of the interpreter."""
    wrong = exercise.path.with_name("wrong.py")
    two = '("2 * x", "2 * abs(x)"), on_gpu=("nan",), seen='
    text = WRONG.replace('("2 * x", "2 * abs(x)"), seen=', two)
    unseen = '("2 * x", "x + x"), seen="race"'
    text = text.replace('("2 * x", "x + x"), seen="wrong-values"', unseen)
    outside = '("2 * x", "3 * x"), seen=("reads-outside", "race", "crashed")'
    wrong.write_text(text.replace('("2 * x", "3 * x"), seen="crashed"', outside))

    def mutants():
        return {a.name: a.expected for a in matrix.attempts(exercise) if a.kind == "mutant"}

    here = mutants()
    monkeypatch.setattr(matrix, "INTERPRET", False)
    there = mutants()
    assert set(here) - set(there) == {"endless", "unnoticed"}
    assert (here["absolute"], there["absolute"]) == (("wrong-values",), ("wrong-values", "nan"))
    # Whatever lies outside, in whatever order programs run.
    more = {*there["for_another_reason"]} - {*here["for_another_reason"]}
    assert more > {"wrong-values", "nan", "not-repeatable"} and "constant-factor" not in more


def test_a_worker_that_ends_between_two_trials_is_replaced(exercise: Exercise, worker):
    """Kills: a broken pipe that ends the matrix, after a wrong answer that crashes late."""
    solution = next(matrix.attempts(exercise))
    assert worker.ask(solution, None, 30)[0] == "passed"
    os.kill(worker._child.pid, signal.SIGKILL)
    while worker._child.alive:
        time.sleep(0.01)
    assert worker.ask(solution, None, 30)[0] == "passed"


@pytest.mark.parametrize(("expected", "replaced"), [(("passed",), True), (("timeout",), False)])
def test_a_worker_that_was_stopped_by_surprise_is_replaced(exercise: Exercise, expected, replaced):
    """Kills: one slow moment of the machine that fails every later attempt of the process."""
    worker = matrix.CheckProcess()
    worker._child = own = mock.Mock(alive=True)
    own.ask.return_value = {"code": "timeout", "message": "", "spent": False}
    attempt = replace(next(matrix.attempts(exercise)), expected=expected)
    assert worker.ask(attempt, None, 5.0)[0] == "timeout"
    assert own.close.called is replaced


def test_a_limit_of_one_worker_is_nobody_else_s(monkeypatch):
    """Kills: a limit for wrong answers that stops a grader's test in the same session."""
    seen = {}
    monkeypatch.delenv("TRITONBOOK_CALL_SECONDS", raising=False)
    monkeypatch.setattr(child.subprocess, "Popen", lambda command, env, **how: seen.update(env))
    matrix.CheckProcess(call_seconds=0.4)._running()
    assert seen["TRITONBOOK_CALL_SECONDS"] == "0.4" and "PATH" in seen
    assert "TRITONBOOK_CALL_SECONDS" not in os.environ


@pytest.fixture
def asked(monkeypatch):
    """The names of the attempts that a worker was asked, and on which cases."""
    seen, ask = [], matrix.CheckProcess.ask

    def listening(worker, attempt, *how, **more):
        seen.append((attempt.name, attempt.notes))
        return ask(worker, attempt, *how, **more)

    monkeypatch.setattr(matrix.CheckProcess, "ask", listening)
    return seen


def test_the_short_way_refuses_what_the_long_way_refuses(
    exercise: Exercise, tmp_path, asked, worker
):
    """Kills: a mutant that passes because its case is gone, a diagnosis that nobody looked at; a
    variant that meets no case, a case that meets no variant."""
    known = tmp_path / "known.json"
    wanted = [t for t in matrix.attempts(exercise) if t.kind == "solution" or t.name in LATE]
    matrix.remember([exercise], matrix.run(wanted, worker=worker), known)
    found = json.loads(known.read_text())
    assert found == {exercise.slug: {"double": {"absolute": "below zero"}}}
    found[exercise.slug]["double"] |= {
        "for_another_reason": "below zero",
        "unnoticed": "gone",
    }
    known.write_text(json.dumps(found))
    asked.clear()
    short = [t for t in matrix.shortened(exercise, "double", known) if t.name in (*LATE, "sum")]
    rows = {row.attempt.name: row.verdict for row in matrix.run(short, worker=worker)}
    assert asked == [
        ("absolute", ("below zero",)),
        ("for_another_reason", ("below zero",)),
        ("for_another_reason", None),
        ("unnoticed", None),
        ("sum", ("two", "two")),
        ("three", ("two", "below zero")),
        ("three", None),
    ]
    assert rows == {
        "absolute": "killed",
        "for_another_reason": "MISDIAGNOSED",
        "unnoticed": "SURVIVED",
        "sum": "accepted",
        "three": "REFUSED",
    }


EVERYTHING = [f"wrong_{number}" for number in range(12)] + ["sum", "half"]


def _sound(exercise: Exercise) -> Exercise:
    """The page with twelve mutants, one of them for this machine alone, and two variants."""
    mutant = 'Mutant("wrong_{}", ("2 * x", "{}"), seen="wrong-values"{})'
    mutants = [mutant.format(n, f"{n + 3} * x", "") for n in range(11)]
    mutants.append(mutant.format(11, "-x", ', only="interpreter"'))
    variants = 'Variant("sum", ("2 * x", "x + x")), Variant("half", ("2 * x", "4 * x // 2"))'
    exercise.path.with_name("wrong.py").write_text(
        "from tritonbook.course.mutants import Mutant, Variant\n"
        f"MUTANTS = {{'double': [{', '.join(mutants)}]}}\nVARIANTS = {{'double': [{variants}]}}\n"
    )
    return Exercise(exercise.path)


def test_few_are_tried_of_a_key_that_was_never_tried(exercise, tmp_path):
    """Kills: none left out; another sample each time; a mutant for this machine alone that is left
    out on a GPU; the record of a page that is gone."""
    known, exercise = tmp_path / "known.json", _sound(exercise)

    def tried(**how) -> list[str]:
        found = matrix.shortened(exercise, "double", known, **how)
        return [attempt.name for attempt in found if attempt.kind != "untouched"]

    assert tried() == tried(one_in=1, seed=3) == EVERYTHING
    assert tried(one_in=4) == ["wrong_0", "wrong_4", "wrong_8", "wrong_11", "sum", "half"]
    samples = [tried(one_in=4, seed=seed) for seed in range(40)]
    assert samples == [tried(one_in=4, seed=seed) for seed in range(40)]
    assert {name for sample in samples for name in sample} == set(EVERYTHING)
    assert 2 < sum(map(len, samples)) / len(samples) < 5
    rows = [
        matrix.Row(attempt, matrix.Answer(attempt.expected[0], "", case="below zero"))
        for attempt in matrix.attempts(exercise)
    ]
    matrix.remember([exercise], rows, known)
    matrix.remember([exercise], [], known)  # another page was run: this one's record stays
    assert len(json.loads(known.read_text())[exercise.slug]["double"]) == 12
    matrix.remember([], [], known)
    assert json.loads(known.read_text()) == {}, "a page that is gone"


def test_good_rows_are_kept_until_something_that_they_depend_on_changes(
    exercise: Exercise, tmp_path, asked, worker
):
    """Kills: a failure that is gone at the next run; a row of an older page, case or package."""

    def run() -> list[str]:
        asked.clear()
        attempts = [t for t in matrix.attempts(Exercise(exercise.path)) if t.name in LATE]
        names = [
            row.attempt.name for row in matrix.run(attempts, worker=worker, kept=tmp_path / "kept")
        ]
        assert sorted(names) == sorted(LATE)
        return [name for name, _ in asked]

    assert run() == list(LATE)
    assert run() == ["for_another_reason", "unnoticed", "three"]  # the bad ones
    cases = exercise.path.with_name("cases.py")
    cases.write_text(OF_NUMBERS.replace("x=-1", "x=-2"))
    assert run() == list(LATE)


def test_trials_of_one_key(exercise: Exercise):
    assert list(matrix.attempts(exercise, "triple")) == []
    assert list(matrix.attempts(exercise, "double")) == list(matrix.attempts(exercise))
