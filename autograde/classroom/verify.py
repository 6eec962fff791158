"""Is a certificate true? Run the sources that it holds again, behind walls."""

from __future__ import annotations

from pathlib import Path

from tritonbook.course import certify
from tritonbook.course.exercises import directory

from ..walls import sandbox
from .statement import claims

# Below the walls' own temporary folder, the one place where something can still be put.
EXERCISES = "/tmp/exercises"


def walls() -> list[str]:
    """The start of a command line: no network, nothing of this machine to write to.

    The exercises with their checks are inside, read-only. Raises NoWalls without bubblewrap.
    """
    if "bubblewrap" not in sandbox.available():
        raise sandbox.NoWalls(
            "There are no walls here around the certificate's programs: install bubblewrap, or "
            "run again with --force."
        )
    inside = ["--ro-bind", str(directory()), EXERCISES, "--setenv", "TRITONBOOK_EXERCISES"]
    return [*sandbox.bubblewrap_command(), *inside, EXERCISES]


def verify(file: Path, force: bool = False, course: Path | None = None) -> list[certify.Claim]:
    """What each claimed pass came to when it was run again, and which exams `course` has signed.

    force: run them where no walls can be built, as programs of yours. Raises NoWalls, and
    BadCertificate for a file that is none or was changed.
    """
    try:
        prefix = walls()
    except sandbox.NoWalls:
        if not force:
            raise
        prefix = []
    return [*certify.verify(file, walls=prefix), *claims(certify.read(file), course)]
