"""Answers of several ranks: they run where the answers are, and are judged as on the page."""

from __future__ import annotations

import pytest
from grading import Grader, needs_walls, solutions

from tritonbook.course.exercises import get
from tritonbook.course.mutants import wrong_answers

pytestmark = needs_walls


@pytest.mark.slow
def test_what_the_page_refuses_is_refused() -> None:
    """Kills: one tolerance for all dtypes, by which a float32 sum may be off by 1 %; a reference in
    half precision, by which a right answer is wrong (71, in `test_solutions_pass.py`)."""
    grader, right = Grader(get("70")), solutions(get("70"))["sum_ranks"]
    assert grader.grade("sum_ranks", sum_ranks=right).status == "PASS"
    float32 = "out_ptr.dtype.element_ty == tl.float32"
    off = right.replace("acc, mask", f"acc * (1.01 if {float32} else 1), mask")
    assert off != right
    found = grader.grade("sum_ranks", sum_ranks=off)
    assert (found.status, found.points) == ("FAIL", 0), found.sentence


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "key", "name", "said"),
    [
        ("70", "all_reduce", "begins-with-its-own", "other bits than rank 0"),
        ("70", "all_reduce_large", "one-shot", "that is one shot"),
        ("71", "parallel_mlp", "copied", "A tensor is copied first"),
        ("71", "parallel_mlp", "cut-after-the-product", "beyond its share"),
        ("71", "parallel_mlp_late", "awaits-at-once", "awaits the flags that it has raised itself"),
    ],
)
def test_what_the_task_asks_for_besides_is_asked(page, key, name, said) -> None:
    """Kills: full points for an answer that the page refuses, though its values are right."""
    wrong = wrong_answers(get(page))
    (mutant,) = (each for each in wrong.mutants[key] if each.name == name)
    found = Grader(get(page)).grade(key, **{key: wrong.text(key, mutant)})
    assert (found.status, found.points) == ("FAIL", 0) and said in found.sentence, found.sentence


@pytest.mark.slow
def test_launches_are_counted() -> None:
    """Kills: full points for the launches of another task."""
    right, line = solutions(get("71"))["parallel_mlp"], "    hidden = gate_up_swiglu(x, gate, up)\n"
    assert line in right
    found = Grader(get("71")).grade("parallel_mlp", parallel_mlp=right.replace(line, 2 * line))
    assert found.points == 0 and "of one rank in one call: 4" in found.sentence, found.sentence
