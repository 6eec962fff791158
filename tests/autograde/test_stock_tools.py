"""nbgrader's own tools on a course folder that `autograde` graded: they see nothing unusual."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from grading import NAME, exported, keep, needs_walls, scores
from nbgrader.apps import NbGraderAPI
from nbgrader.coursedir import CourseDirectory

from autograde.classroom import demo

pytestmark = [pytest.mark.slow, pytest.mark.system, needs_walls]


@pytest.fixture(scope="module")
def graded(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two students, graded by the command that an instructor types."""
    course = Path(shutil.copytree(released, tmp_path_factory.mktemp("graded") / "course"))
    keep(course, "s1_right", "s4_no_mask")
    command = [sys.executable, "-m", "autograde", "grade", NAME, "--course", str(course)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return course


def test_the_assignment_can_be_made_again(graded: Path, tmp_path: Path) -> None:
    """Kills: a gradebook after which `generate_assignment` fails, or forgets the scores; scores
    that nbgrader's export does not find."""
    course = Path(shutil.copytree(graded, tmp_path / "course"))
    done = demo.nbgrader(course, "generate_assignment", NAME, "--force")
    assert done.returncode == 0, done.stdout
    assert exported(course) == {"s1_right": 6.0, "s4_no_mask": 2.0}


def test_nbgraders_pages_have_the_scores(graded: Path) -> None:
    """Kills: submissions that formgrader lists as not autograded, or with another score. (How it
    shows one, see tests/browser/test_instructor.py.)"""
    api = NbGraderAPI(CourseDirectory(root=str(graded)))
    rows = api.get_submissions(NAME)
    found = {row["student"]: (row["autograded"], row["score"], row["max_score"]) for row in rows}
    assert found == {"s1_right": (True, 6.0, 6.0), "s4_no_mask": (True, 2.0, 6.0)}
    assert not any(row["needs_manual_grade"] for row in rows)


def test_formgraders_bolt_grades_behind_walls(graded: Path, tmp_path: Path) -> None:
    """Kills: a click in Formgrader that runs a student's code as the instructor."""
    course = Path(shutil.copytree(graded, tmp_path / "course"))
    trap = tmp_path / "ran"
    path = course / "submitted" / "s1_right" / NAME / f"{NAME}.ipynb"
    book = json.loads(path.read_text())
    source = f"open({str(trap)!r}, 'w').close()"
    book["cells"].append({"cell_type": "code", "metadata": {}, "source": source, "outputs": []})
    path.write_text(json.dumps(book))
    program = (
        "from nbgrader.apps import NbGraderAPI, NbGraderApp\n"
        "app = NbGraderApp(); app.initialize([])\n"
        f"print(NbGraderAPI(parent=app, coursedir=app.coursedir).autograde({NAME!r}, 's1_right'))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=course, capture_output=True, text=True)
    assert "autograde grade" in done.stdout and "'success': True" in done.stdout, done
    assert not trap.exists()
    assert scores(course)["s1_right", "check-halves"] == 2.0
