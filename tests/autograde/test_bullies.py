"""Some of a class hand in what costs time, memory or output: the others lose nothing by it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from corpus import answer
from grading import LEVEL, Grader, graded, hand_in, needs_walls, solutions

from autograde.classroom.runners import local_runner
from autograde.judge.execute import Setting
from autograde.judge.work import Verdict
from autograde.walls.sandbox import Limits
from tritonbook.course.exercises import Exercise, get

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
    mixed = sorted(doubles, key=lambda who: hash(who) % 97)
    hand_in(course, {who: right | {"double": doubles[who]} for who in mixed})
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


# The address lies 4 TiB behind the tensor: no GPU and no process has memory there.
FAULT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def far_outside_kernel(x_ptr):
    tl.store(x_ptr + tl.program_id(0).to(tl.int64) + (1 << 40), 1.0)


def rmsnorm_row(x, w, eps=1e-6):
    far_outside_kernel[(1,)](x)
    return torch.empty_like(x)
"""


@pytest.mark.slow
def test_a_fault_costs_its_own_exercise_only() -> None:
    """Kills: a crash that ends the other exercises; points for the answer that crashed."""
    grader = Grader(get("10"))
    keys = solutions(grader.exercise)
    found = {key: grader.grade(key, rmsnorm_row=FAULT) for key in keys}
    fault, spared = found.pop("rmsnorm_row"), found.values()
    assert (fault.points, fault.status) in ((0, "FAIL"), (0, "CUDA_FAULT")), fault
    assert spared and all(verdict.status == "PASS" for verdict in spared)
