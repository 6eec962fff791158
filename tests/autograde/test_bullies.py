"""Some of a class hand in what costs time, memory or output: the others lose nothing by it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from corpus import answer
from grading import LEVEL, NAME, graded, needs_walls, solutions

from autograde.classroom import demo
from autograde.classroom.runners import local_runner
from autograde.classroom.samples import Sample
from autograde.judge.execute import Setting
from autograde.judge.work import Verdict
from autograde.walls.sandbox import Limits
from tritonbook.course.exercises import Exercise

LIMITS = Limits(call_seconds=3.0, wall_seconds=400.0)
SPIN = answer("while True:\n    pass")
PRINT = answer("print('x' * (20 << 20))")


@pytest.mark.slow
@needs_walls
def test_nobody_pays_for_a_neighbour(
    exercise: Exercise, course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: points lost to 20 MB of output, or to more endless loops than workers, by those who
    are graded beside them; folders that stay behind. (For a compile bomb see `test_compiler.py`.)
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    right = solutions(exercise)
    doubles = {f"honest{n}": answer() for n in range(3)} | {f"spins{n}": SPIN for n in range(3)}
    doubles["prints"] = PRINT
    shutil.rmtree(course / "submitted")
    samples = [Sample(who, who, right | {"double": text}, {}) for who, text in doubles.items()]
    demo.submit(course, NAME, sorted(samples, key=lambda sample: hash(sample.student) % 97))
    session = graded(course, local_runner(Setting(LEVEL, LIMITS), 2))
    found: dict[str, Verdict] = {}
    for notebook, submission in session.submissions:
        verdicts = session.verdicts(notebook, submission)
        assert verdicts["halves"].status == "PASS", submission.student
        found[submission.student] = verdicts["double"]
    for who, verdict in found.items():
        wanted = "TIMEOUT" if who.startswith("spins") else "PASS"
        assert verdict.status == wanted, (who, verdict.status, verdict.sentence)
    assert not list(tmp_path.glob("workbook-*"))
