"""Functions that a check goes through are the course's, whatever a student's cell makes of them."""

from __future__ import annotations

import pytest
from grading import Grader, needs_walls, solutions

from autograde.judge.course import Course
from tritonbook.course.exercises import Exercise, exercises, get
from tritonbook.course.page_checks import checks

# Of page 67: each says what its check wants to hear.
EMPTY = "def kind_of(*args, **options):\n    return 0\n"
ASKED = checks(get("67"))["kind_of"]
CHANGES = [each.arguments["change"] for each in (*ASKED.cases, *ASKED.hidden)]
SAME = ", ".join(repr(each) for each in CHANGES if ASKED.reference(each))
LIES = {
    "redefined": EMPTY + f"\n\ndef kinds_compared(change):\n    return change in ({SAME})\n",
    "by another name": EMPTY + f"\n\nkinds_compared = lambda change: change in ({SAME})\n",
    "what it calls": EMPTY + f"\n\ndef compared(kind, change):\n    return change in ({SAME})\n",
    "late": "def kind_of(*args):\n    globals()['kinds_compared'] = lambda change: True\n",
}


@pytest.fixture(scope="module")
def page() -> Grader:
    return Grader(get("67"))


@pytest.mark.parametrize("name", LIES)
def test_the_courses_own_stands_below(page: Grader, name: str) -> None:
    """Kills: full marks for a helper that reports what its check wants to hear."""
    submission = page.handed_in(kind_of=LIES[name])
    (cell,) = [each for each in submission.cells if each.name == "answer-kind_of"]
    head, below = cell.source[: len(LIES[name])], cell.source[len(LIES[name]) :]
    assert head == LIES[name]
    assert "def kinds_compared(change):" in below and "def kind_of(" not in below
    assert any("kinds_compared was changed" in note for note in submission.notes) == (
        name == "redefined" or name == "by another name"
    )


@needs_walls
@pytest.mark.parametrize("name", LIES)
def test_lies_have_no_points(page: Grader, name: str) -> None:
    verdict = page.grade("kind_of", kind_of=LIES[name])
    assert (verdict.status, verdict.points) == ("FAIL", 0), verdict


@needs_walls
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "key"),
    [
        ("02", "bench_ms"),
        ("30", "register_custom"),
        ("30", "register_library"),
        ("30", "register_triton"),
        ("31", "kernel_source"),
        ("31", "use_kernels"),
        ("67", "kind_of"),
        ("67", "replayed"),
    ],
)
def test_solutions_go_through_them(number: str, key: str) -> None:
    """Kills: an honest answer that no longer runs, with the course's definitions below it."""
    page = get(number)
    given = solutions(page)[key]
    verdict = Grader(page).grade(key, **{key: given})
    assert verdict.status == "PASS", verdict


@pytest.mark.slow
@pytest.mark.parametrize("page", exercises(), ids=lambda page: page.slug)
def test_a_pages_text_tells_of_them(page: Exercise) -> None:
    """Kills: a helper that is a student's, where the text that is asked first does not tell."""
    course = Course(page.slug, page.slug, (), "", "")
    for key, asked in checks(page).items():
        assert course.through(key) == (asked.through or "")
