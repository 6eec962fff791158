"""The bolt beside a student in nbgrader's Formgrader: `autograde grade`, behind walls.

nbgrader itself would run the student's code as the instructor, in the server that has Formgrader.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from tritonbook.command import BAD_INPUT


def start(self: Any) -> None:
    """What Formgrader starts does this. Its log is what the command says."""
    from nbgrader.converters.base import NbGraderException

    course = self.coursedir
    command = [sys.executable, "-m", "autograde", "grade", course.assignment_id]
    command += [f"--student={course.student_id}", f"--course={course.root}"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    self.log.info("autograde grade\n%s", done.stderr)
    if done.returncode == BAD_INPUT:
        raise NbGraderException(done.stderr.strip().rpartition("\n")[2])
    if done.returncode:
        raise NbGraderException(
            f"Not all exercises of {course.student_id} have a score: `autograde status "
            f"{course.assignment_id}` in the course folder says why."
        )


def replace() -> None:
    """Have Formgrader of this process start it. Where nbgrader's commands are not loaded, there is
    none."""
    if "nbgrader.apps" in sys.modules:
        from nbgrader import converters
        from nbgrader.apps import api

        api.Autograde = type("Autograde", (converters.Autograde,), {"start": start})
