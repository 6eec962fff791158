"""The grader gives the course's own solutions full marks, under a secret that no page has seen."""

from __future__ import annotations

import fcntl
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from grading import Grader, solutions

from tritonbook.build import kept, matrix
from tritonbook.course.exercises import Exercise, exercises

ROOT = Path(__file__).parents[2]
GRADED = [
    pytest.param(one, number, id=one.slug)
    for number, one in enumerate(one for one in exercises() if one.answers())
]
# By page, a digest of all that its marks stand on. `make test` writes the second; whoever commits
# copies it over the first.
KNOWN, KEPT = Path(__file__).with_name("solutions.json"), ROOT / "build" / "out" / "solutions.json"


def _stands_on(grader: Grader) -> str:
    """A digest of the page, its cases and what they run through, and the grader's code."""
    rooms = [ROOT / "autograde" / room for room in ("judge", "walls")]
    paths = [path for room in rooms for path in sorted(room.glob("*.py"))]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return kept.digest(kept.knowledge(grader.exercise), grader.course.digest, *texts)


def _read(path: Path) -> dict[str, str]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _keep(slug: str, stands_on: str) -> None:
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    with KEPT.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        pages = {page.slug for page in exercises()}
        found = {name: held for name, held in _read(KEPT).items() if name in pages}
        text = json.dumps(found | {slug: stands_on}, indent=0, sort_keys=True)
        new = KEPT.with_suffix(".new")
        new.write_text(text + "\n", encoding="utf-8")
        new.replace(KEPT)  # whole for whoever reads it meanwhile


@pytest.mark.slow
@pytest.mark.parametrize(("exercise", "number"), GRADED)
def test_every_solution_passes(
    exercise: Exercise, number: int, pytestconfig: pytest.Config
) -> None:
    """Kills: torch operators and launch arguments that a page teaches and the grader does not
    know; kernels of two pages that get in each other's way; a dispatch mode around each answer,
    below which torch.compile refuses to work (30); a rule by which a page's last task cannot launch
    what its own cells lend (12); a wall that refuses the solution with the cheat (00, 41).

    As in the kill matrix, one page in ten is graded of those about which nothing changed.
    """
    grader = Grader(exercise)
    stands_on = _stands_on(grader)
    holds = stands_on in (_read(KNOWN).get(exercise.slug), _read(KEPT).get(exercise.slug))
    if pytestconfig.getoption("thorough") or not holds or number % matrix.FEW == 0:
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(grader.grade, solutions(exercise)))
        assert [(f.status, f.sentence) for f in found if f.status != "PASS"] == []
    _keep(exercise.slug, stands_on)
