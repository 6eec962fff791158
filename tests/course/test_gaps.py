"""Gaps: what the learner sees instead of a solution."""

from __future__ import annotations

import ast

import pytest

from tritonbook.course import gaps

ANSWER = """\
@triton.jit
def scale_kernel(x_ptr, BLOCK: tl.constexpr):
    for i in range(4):
        # a note that stays
        # TODO 1: load
        #   and store
        ### BEGIN SOLUTION
        x = tl.load(x_ptr + i)
        tl.store(x_ptr + i, x)
        ### END SOLUTION


def scale(x):
    # TODO 2
    ### BEGIN SOLUTION
    if x is None:
        return None
    return x
    ### END SOLUTION"""


def test_the_learner_gets_stubs_and_the_comments_above():
    """Kills: `raise` in a kernel (does not compile), a lost TODO, an indentation of column 0."""
    assert (
        gaps.learner_text(ANSWER)
        == """\
@triton.jit
def scale_kernel(x_ptr, BLOCK: tl.constexpr):
    for i in range(4):
        # a note that stays
        # TODO 1: load
        #   and store
        # YOUR CODE HERE
        pass


def scale(x):
    # TODO 2
    # YOUR CODE HERE
    raise NotImplementedError("TODO: fill in scale")"""
    )


def test_the_solution_has_neither_markers_nor_todos():
    solved = gaps.solved_text(ANSWER)
    assert "SOLUTION" not in solved and "TODO" not in solved and "and store" not in solved
    assert "# a note that stays" in solved and "tl.store" in solved
    ast.parse(solved)


def test_the_instructors_text_keeps_the_solution_working():
    """Kills: a stub above the region, where the error would come before the solution."""
    text = gaps.instructor_text(ANSWER)
    names: dict = {}
    host = text[text.index("def scale(x)") :]
    exec(host, names)
    assert names["scale"](3) == 3
    assert text.index("raise NotImplementedError") > text.index("return x")


@pytest.mark.parametrize(
    "decorator",
    ["@triton.jit", "@triton.jit(debug=True)", "@triton.autotune(configs=[], key=[])\n@triton.jit"],
)
def test_every_form_of_jit_is_a_kernel(decorator: str):
    text = f"{decorator}\ndef k(x_ptr):\n    ### BEGIN SOLUTION\n    y = 1\n    ### END SOLUTION"
    assert gaps.learner_text(text).endswith("    pass")


def test_a_gap_in_a_method_names_the_method():
    text = (
        "class Block:\n    def forward(self, x):\n        ### BEGIN SOLUTION\n"
        "        return x\n        ### END SOLUTION"
    )
    assert gaps.learner_text(text).endswith('raise NotImplementedError("TODO: fill in forward")')


BROKEN = [
    ("    ### BEGIN SOLUTION\n    return 1", "without its beginning|never closed"),
    ("    return 1\n    ### END SOLUTION", "without its beginning"),
    (
        "    ### BEGIN SOLUTION\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION",
        "inside",
    ),
    ("    ### BEGIN SOLUTIONS\n    return 1\n    ### END SOLUTION", "misspelt"),
    ("    pass  ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION", "misspelt"),
    ("### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION", "indented unlike its code"),
    ("    ### BEGIN SOLUTION\n    ### END SOLUTION\n    return 1", "no whole statement"),
    ("    return max(\n    ### BEGIN SOLUTION\n    1,\n    ### END SOLUTION\n    2)", "no whole"),
    (
        "    try:\n        ### BEGIN SOLUTION\n        return 1\n    finally:\n        return 2\n"
        "        ### END SOLUTION",
        "cuts a statement in two",
    ),
]


@pytest.mark.parametrize(("body", "problem"), BROKEN)
def test_a_gap_that_cannot_be_cut_is_named(body: str, problem: str):
    with pytest.raises(gaps.GapError, match=problem) as caught:
        gaps.learner_text(f"def f():\n{body}")
    assert caught.value.line >= 1 and caught.value.mend


def test_a_gap_outside_a_function_is_refused():
    text = "### BEGIN SOLUTION\nx = 1\n### END SOLUTION"
    with pytest.raises(gaps.GapError, match="outside every function"):
        gaps.gaps(text)


@pytest.mark.parametrize(
    ("body", "returns"),
    [
        ("    return 1", True),
        ("    raise ValueError", True),
        ("    if x:\n        return 1\n    else:\n        return 2", True),
        ("    if x:\n        return 1", False),
        ("    x = 1", False),
    ],
)
def test_whether_a_gap_ends_its_function(body: str, returns: bool):
    """Kills: a rule that lets the instructor's own solution run into the stub below it."""
    text = f"def f(x):\n    ### BEGIN SOLUTION\n{body}\n    ### END SOLUTION"
    assert gaps.gaps(text)[0].returns is returns


def test_a_gap_above_other_code_does_not_end_its_function():
    text = "def f(x):\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n    return 2"
    assert gaps.gaps(text)[0].returns is False


def test_hidden_tests_vanish_with_the_blank_lines_above_them():
    """Kills: a cut that leaves blank lines behind, which stock nbgrader would not."""
    text = "check(a)\n\n### BEGIN HIDDEN TESTS\ncheck(b)\n### END HIDDEN TESTS\ncheck(c)\n\n"
    text += "### BEGIN HIDDEN TESTS\ncheck(d)\n### END HIDDEN TESTS"
    assert gaps.without_hidden(text) == "check(a)\ncheck(c)"
    assert "check(d)" in gaps.close_up_hidden(text)
