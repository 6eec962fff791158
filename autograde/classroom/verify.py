"""Is a certificate true? Run the sources that it holds again, behind walls."""

from __future__ import annotations

from pathlib import Path

from tritonbook.course import certify
from tritonbook.course.exercises import directory

from ..walls import sandbox
from .statement import claims

# Below the walls' own temporary folder, the one place where something can still be put.
EXERCISES = "/tmp/exercises"


def verify(file: Path, force: bool = False, course: Path | None = None) -> list[certify.Claim]:
    """What each claimed pass came to when it was run again, and which exams `course` has signed.

    force: run them where no walls can be built, as programs of yours. Raises NoWalls, and
    BadCertificate for a file that is none or was changed.
    """
    walls: list[str] = []
    if "bubblewrap" in sandbox.available():
        # No network, nothing of this machine to write to; the exercises with their checks, to read.
        inside = ["--ro-bind", str(directory()), EXERCISES, "--setenv", "TRITONBOOK_EXERCISES"]
        walls = [*sandbox.bubblewrap_command(), *inside, EXERCISES]
    elif not force:
        raise sandbox.NoWalls(
            "There are no walls here around the certificate's programs: install bubblewrap, or "
            "run again with --force."
        )
    return [*certify.verify(file, walls=walls), *claims(certify.read(file), course)]
