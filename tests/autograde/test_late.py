"""Late penalties: the due date, the plug-in and its settings give what stock nbgrader gives."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from grading import NAME, by_status, graded, keep

from autograde.classroom import demo
from autograde.classroom.record import open_gradebook, read_marks
from autograde.judge.course import BadCourse

README = (Path(__file__).parents[2] / "autograde" / "README.md").read_text()
SNIPPET = re.search(r"(?s)```python\n([^`]*AssignLatePenalties[^`]*)```", README)[1]
HANDED_IN = {
    "ann": "2026-11-01 11:59:00.000000 UTC",  # in time
    "bob": "2026-11-01 12:40:00.000000 UTC",  # within the hour of grace
    "cem": "2026-11-03 12:00:00.000000 UTC",  # two days late
    "dia": "2026-12-01 12:00:00.000000 UTC",  # a month
    "eve": "2026-11-03 12:00:00.000000 UTC",  # two days late, with three days more
}


@pytest.fixture
def course(course: Path) -> Path:
    """Five right answers, handed in at different times, due at noon UTC."""
    right = course / "submitted" / "s1_right"
    for student, when in HANDED_IN.items():
        folder = Path(shutil.copytree(right, right.with_name(student)))
        (folder / NAME / "timestamp.txt").write_text(when)
    keep(course, *HANDED_IN)
    with open_gradebook(course) as book:
        book.update_or_create_assignment(NAME, duedate="2026-11-01T13:00+01:00")
    return course


def test_a_due_date_is_written_as_the_readme_says(course: Path) -> None:
    """Kills: a command of the README after which the assignment is due at another time."""
    line = re.search(r"nbgrader (db assignment add) \S+ (--duedate=)\S+T23:59(\S+)", README)
    *command, option, zone = *line[1].split(), line[2], line[3]
    done = demo.nbgrader(course, *command, NAME, f"{option}2027-11-01T13:00{zone}")
    assert done.returncode == 0, done.stdout
    with open_gradebook(course) as book:
        assert book.find_assignment(NAME).duedate.isoformat() == "2027-11-01T12:00:00"


def _marks(course: Path) -> dict[str, tuple[float, float]]:
    return {
        student: (marks.late_penalty, marks.score)
        for student, marks in read_marks(course, NAME).items()
    }


def _ours(course: Path) -> dict[str, tuple[float, float]]:
    graded(course, by_status(lambda item: "PASS"))
    return _marks(course)


def _stock(course: Path) -> dict[str, tuple[float, float]]:
    """Nothing is executed: a check without an output has full points."""
    done = demo.nbgrader(course, "autograde", NAME, "--no-execute")
    assert done.returncode == 0, done.stdout
    return _marks(course)


@pytest.mark.parametrize(
    ("settings", "due"),
    [
        ("", {"cem": 0.0, "dia": 0.0}),
        ("c.LateSubmissionPlugin.penalty_method = 'zero'", {"bob": 6.0, "cem": 6.0, "dia": 6.0}),
        (SNIPPET, {"cem": 1.2, "dia": 6.0}),
    ],
    ids=["nothing set", "zero", "the README's plug-in"],
)
@pytest.mark.parametrize("marks", [_ours, pytest.param(_stock, marks=pytest.mark.system)])
def test_penalties_are_those_of_stock_nbgrader(
    marks: Callable[[Path], dict[str, tuple[float, float]]],
    settings: str,
    due: dict[str, float],
    course: Path,
) -> None:
    """Kills: a plug-in, its settings, the grace or an extension lost on the way."""
    with (course / "nbgrader_config.py").open("a") as file:
        file.write(f"\n{settings}\n")
    with open_gradebook(course) as book:
        book.update_or_create_student("eve")
        book.update_or_create_submission(NAME, "eve")
        book.grant_extension(NAME, "eve", days=3)
    found = marks(course)
    expected = {student: due.get(student, 0.0) for student in HANDED_IN}
    assert {student: pair[0] for student, pair in found.items()} == pytest.approx(expected)
    assert {student: score for student, (_, score) in found.items()} == pytest.approx(
        {student: 6.0 - penalty for student, penalty in expected.items()}
    )


def test_a_plug_in_may_be_a_file_of_the_course(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: a plug-in found only where the command is typed; another folder's settings used."""
    (course / "our_rule.py").write_text(
        "from nbgrader.plugins import BasePlugin\n"
        "class Two(BasePlugin):\n"
        "    def late_submission_penalty(self, student_id, score, total_seconds_late):\n"
        "        return 2.0\n"
    )
    with (course / "nbgrader_config.py").open("a") as file:
        file.write("\nc.AssignLatePenalties.plugin_class = 'our_rule.Two'\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "nbgrader_config.py").write_text("raise SystemExit('another course')")
    monkeypatch.chdir(elsewhere)
    assert _ours(course)["cem"] == (2.0, 4.0)


def test_a_class_in_time_needs_none_of_nbgraders_commands(course: Path) -> None:
    """Kills: half a second of loading for a plug-in that would write nothing; a penalty that stays
    when the due date is moved."""
    keep(course, "ann", "bob")
    with (course / "nbgrader_config.py").open("a") as file:
        file.write("\nc.Exchange.root = '/somewhere'\n")
    text = (
        "import sys\n"
        "from pathlib import Path\n"
        "from autograde.classroom import record\n"
        "from autograde.classroom.run import Session\n"
        "def loaded(): return {'nbgrader.apps', 'nbgrader.server_extensions'} & {*sys.modules}\n"
        f"root, name = Path({str(course)!r}), {NAME!r}\n"
        "session = Session(root, name)\n"
        "session.ingest()\n"
        "assert str(record.exchange(root)) == '/somewhere'\n"
        "with record.open_gradebook(root) as book:\n"
        "    book.update_or_create_assignment(name, duedate='2026-11-01T13:45+01:00')\n"
        "    found = book.find_submission_notebook(name, name, 'bob')\n"
        "    found.late_submission_penalty = 1.0\n"
        "    book.db.commit()\n"
        "session.record()\n"
        "assert record.read_marks(root, name)['bob'].late_penalty == 0\n"
        "assert not loaded(), loaded()\n"
        "with record.open_gradebook(root) as book:\n"
        "    book.update_or_create_assignment(name, duedate='2026-11-01T13:00+01:00')\n"
        "session.record()\n"  # the same process may need them all the same
        "assert loaded() == {'nbgrader.apps'}\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", ["1 / 0", "c.AssignLatePenalties.plugin_class = 'no.such.Rule'"])
def test_settings_that_cannot_be_read_are_one_sentence(line: str, course: Path) -> None:
    """Kills: a class graded without penalties because a setting was misspelt."""
    with (course / "nbgrader_config.py").open("a") as file:
        file.write(f"\n{line}\n")
    with pytest.raises(BadCourse, match="nbgrader_config.py"):
        _ours(course)
