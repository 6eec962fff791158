"""A class from submitted notebooks to the gradebook: resumed, repeated, in any order, the same."""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import nbgrader.api  # noqa: F401
import nbgrader.preprocessors  # noqa: F401  (each driver would import both again)
import psutil
import pytest
import sqlalchemy.orm
from grading import (
    LEVEL,
    NAME,
    by_status,
    declared_scores,
    graded,
    ingested,
    keep,
    needs_walls,
    scores,
    until,
    verdict,
)

from autograde.classroom import demo
from autograde.classroom.record import open_gradebook
from autograde.classroom.report import as_csv, as_text, class_report
from autograde.classroom.runners import local_runner
from autograde.judge.execute import Setting
from autograde.judge.work import Item
from autograde.walls import sandbox
from tritonbook.course.exercises import Exercise

pytestmark = pytest.mark.slow
LIMITS = sandbox.Limits(call_seconds=3.0)


@by_status
def _pretend(item: Item) -> str:
    """Right students pass, by name."""
    time.sleep(0.002)
    return "PASS" if item.submission.student < "s4" else "FAIL"


@needs_walls
def test_the_sample_class(course: Path, exercise: Exercise, tmp_path: Path) -> None:
    """Kills: a grade other than the declared one; hidden tests in what students get, or no reason;
    stock tools that do not work on the result; a verdict that depends on what ran before it, or
    beside it, or on the language; a record of what was run that only this program can read."""
    _same_in_another_order(Path(shutil.copytree(course, tmp_path / "other")), exercise)
    session = graded(course, local_runner(Setting(LEVEL, LIMITS), 2))
    assert scores(course) == declared_scores(exercise)
    for path in (course / "autograded").glob("*/*/*.ipynb"):
        text = path.read_text()
        assert "hidden: 257" not in text and "HIDDEN TESTS" not in text
        nbformat.validate(json.loads(text))
    assert demo.nbgrader(course, "generate_feedback", NAME).returncode == 0
    pages = {path.parts[-3]: path.read_text() for path in course.glob("feedback/*/*/*.html")}
    assert len(pages) == 8
    assert "writes outside" in pages["s4_no_mask"]
    assert not any("hidden: 257" in page for page in pages.values())
    report = class_report(session)
    assert "out-of-bounds-store" in as_text(report)
    assert "s1_right,6,6" in as_csv(report)
    kept = json.loads((session.folder / "submissions/s1_right" / f"{NAME}.json").read_text())
    assert [cell["role"] for cell in kept["cells"]].count("answer") == 2


def _same_in_another_order(course: Path, exercise: Exercise) -> None:
    """Graded backwards by three workers who read Chinese; all but the endless one, whose time is
    known already."""
    session = ingested(course)
    session.submissions = [s for s in session.submissions if s[1].student != "s8_endless"]
    runner = local_runner(Setting(LEVEL, LIMITS), 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LC_ALL", "zh_CN.UTF-8")  # goes through the walls
        session.run(lambda items: runner(list(items)[::-1]))
        session.record()
    found = {at: score for at, score in scores(course).items() if at[0] != "s8_endless"}
    due = declared_scores(exercise)
    assert found == {at: score for at, score in due.items() if at[0] != "s8_endless"}


def _grades(course: Path, student: str) -> Iterator[object]:
    with open_gradebook(course) as book:
        yield book.find_grade("check-double", NAME, NAME, student)
        book.db.commit()


def test_a_person_is_asked_once_and_about_each_new_answer(course: Path) -> None:
    """Kills: POLICY that asks again after a person has looked; a score given by hand that goes on
    to a later answer unseen; the score of an earlier submission that stays when the new one cannot
    be graded."""
    graded(course, by_status(lambda item: "POLICY"))
    for grade in _grades(course, "s1_right"):
        assert grade.needs_manual_grade and grade.auto_score == 0
        grade.manual_score, grade.needs_manual_grade = 3.0, False
    session = ingested(course)
    session.record()
    for grade in _grades(course, "s1_right"):
        assert not grade.needs_manual_grade
    path = course / "submitted" / "s1_right" / NAME / f"{NAME}.ipynb"
    path.write_text(path.read_text().replace("x + x", "x + x + 0"))
    session = ingested(course)
    assert scores(course)["s1_right", "check-double"] is None
    assert [item.id.student for item in session.open_items()] == ["s1_right", "s1_right"]
    graded(course, _pretend)
    for grade in _grades(course, "s1_right"):
        assert grade.auto_score == 4 and grade.needs_manual_grade


def test_the_graders_failure_is_never_a_zero(course: Path) -> None:
    """Kills: INFRA recorded as 0, or retried without end, or without a reason in the report."""
    attempts: list[int] = []

    def failing(item: Item) -> str:
        if item.submission.student == "s2_other_blocks" and item.exercise.key == "double":
            attempts.append(item.attempt)
            return "INFRA"
        return "PASS"

    said = {"INFRA": "Traceback\n  ...\nOSError: no room", "PASS": ""}
    session = graded(
        course, lambda items: (verdict(i, s := failing(i), sentence=said[s]) for i in items)
    )
    assert attempts == [1, 2, 3]
    assert scores(course)["s2_other_blocks", "check-double"] is None
    (line,) = class_report(session).open
    assert line.startswith("s2_other_blocks 90_doubling double: ") and "OSError: no room" in line
    assert "give points by hand" in line


FORK = multiprocessing.get_context("fork")


def _drive(course: Path) -> None:
    session = ingested(course)
    session.run(_pretend)
    session.record()


def _driver(course: Path, seconds: float | None = None) -> int | None:
    """A driver of its own, with what it imports imported already, killed after some seconds if it
    has not ended: its exit code."""
    driver = FORK.Process(target=_drive, args=(course,))
    driver.start()
    driver.join(seconds)
    driver.kill()
    driver.join()
    return driver.exitcode


def _state(course: Path) -> tuple[object, ...]:
    with FORK.Pool(1) as pool:  # SQLite must not be open in a process that forks
        points = pool.apply(scores, [course])
    books = {str(p.relative_to(course)): p.read_text() for p in course.glob("autograded/*/*/*")}
    lines = (course / "work" / NAME / "ledger.jsonl").read_text().splitlines()
    whole = [json.loads(line)["item"] for line in lines if line.endswith("}")]
    return points, books, sorted((item["student"], item["key"]) for item in whole)


def _kill_and_resume(course: Path, folder: Path, wanted: int) -> None:
    keep(course, "s1_right", "s2_other_blocks", "s3_warns")
    (course / "secret").write_text("one secret for all")
    # What each driver would do again before its first line: most kills would fall there.
    nbformat.validate(nbformat.v4.new_notebook())
    sqlalchemy.orm.configure_mappers()
    started = time.monotonic()
    whole = Path(shutil.copytree(course, folder / "whole"))
    assert _driver(whole) == 0
    duration = time.monotonic() - started
    expected = _state(whole)
    assert len(expected[0]) == 6
    rng = random.Random(7)
    kills = 0
    while kills < wanted:
        again = Path(shutil.copytree(course, folder / "again"))
        # Kills at any moment from the first read to the last write, then one run to the end.
        for _ in range(10):
            kills += _driver(again, rng.uniform(0, 0.8 * duration)) == -signal.SIGKILL
        assert _driver(again) == 0
        assert _state(again) == expected
        shutil.rmtree(again)


def test_the_driver_killed_at_many_points_and_resumed(
    course: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Kills: a verdict, a score or a notebook lost, doubled or half written by kill -9 of the
    driver anywhere between ingest and record."""
    wanted = 50 if pytestconfig.getoption("thorough") else 10
    arguments = (course, tmp_path / "rounds", wanted)
    # In a process that has neither threads nor databases, because it forks.
    process = multiprocessing.get_context("spawn").Process(target=_kill_and_resume, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0


@needs_walls
def test_a_killed_driver_leaves_no_candidate_behind(course: Path, tmp_path: Path) -> None:
    """Kills: a student's endless loop that outlives the driver that was to end it; sockets below
    TMPDIR whose address does not fit into 107 bytes."""
    command = [sys.executable, "-m", "autograde", "grade", NAME, "--course", str(course)]
    command += ["--student", "s8_endless", "--exercise", "double"]
    folder = tmp_path / ("a" * 60) / ("b" * 60)
    folder.mkdir(parents=True)
    environment = os.environ | {"TMPDIR": str(folder)}
    driver = subprocess.Popen(command, env=environment, start_new_session=True)
    known = psutil.Process(driver.pid)
    # The forkserver, the checker, the walls' handle and the candidate inside.
    until(lambda: len(known.children(recursive=True)) >= 4)
    time.sleep(1.0)
    family = known.children(recursive=True)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    # Where nobody reaps orphans (a container without an init), the dead stay listed as zombies.
    until(lambda: not any(map(_runs, family)), 120)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_locked_gradebook_loses_nothing(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: verdicts that are gone when the gradebook cannot be written."""
    session = ingested(course)
    session.run(_pretend)
    with sqlite3.connect(course / "gradebook.db", isolation_level=None) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        soon = functools.partial(sqlite3.connect, timeout=0.1)  # it would wait for 5 s
        with monkeypatch.context() as patch, pytest.raises(Exception, match="locked"):
            patch.setattr(sqlite3.dbapi2, "connect", soon)
            session.record()
        lock.execute("ROLLBACK")
    assert not ingested(course).open_items()
    session.record()
    assert scores(course)["s1_right", "check-double"] == 4


@pytest.mark.parametrize("words", [["ingest"], ["run", "--sandbox=plain", "--force"]])
def test_the_process_that_drives_a_class_loads_no_torch(course: Path, words: list[str]) -> None:
    """Kills: seconds of work for a look, for a `grade` of a class that is graded, and beside the
    process that all others are forked from."""
    for other in (course / "submitted").glob("s[2-9]_*"):  # one student is enough
        shutil.rmtree(other)
    program = "import sys; from autograde.classroom import cli\nif __name__ == '__main__':\n"
    program += f"    code = cli.main({[*words, NAME]!r}); print(code, 'torch' in sys.modules)"
    environment = os.environ | {"TRITONBOOK_LATER": "1"}
    del environment["TRITON_INTERPRET"]  # what it is, the others find out
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True)
    assert done.stdout == "0 False\n", done
