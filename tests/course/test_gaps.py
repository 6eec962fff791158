"""Gaps: what the learner sees instead of a solution."""

from __future__ import annotations

import re

import pytest

from tritonbook.course import gaps
from tritonbook.course.source import Slip

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
        "stands inside a block",
    ),
]


@pytest.mark.parametrize(("body", "problem"), BROKEN)
def test_a_gap_that_cannot_be_cut_is_named(body: str, problem: str):
    with pytest.raises(Slip, match=problem) as caught:
        gaps.learner_text(f"def f():\n{body}")
    assert caught.value.line >= 1 and caught.value.mend


def test_a_gap_that_leaves_half_a_statement_is_refused():
    text = "@triton.jit\ndef k():\n    try:\n        ### BEGIN SOLUTION\n        x = 1\n"
    text += "    finally:\n        x = 2\n        ### END SOLUTION"
    with pytest.raises(Slip, match="cuts a statement in two"):
        gaps.learner_text(text)


def test_a_gap_outside_a_function_is_refused():
    text = "### BEGIN SOLUTION\nx = 1\n### END SOLUTION"
    with pytest.raises(Slip, match="outside every function holds something else than functions"):
        gaps.gaps(text)


MIDDLE = """\
def f(x):
    y = 0
    # TODO: first
    ### BEGIN SOLUTION
    y = x + 1
    ### END SOLUTION
    z = 2 * y
    # TODO: second
    ### BEGIN SOLUTION
    z = z + 1
    ### END SOLUTION
    return z"""


def as_nbgrader_cuts(text: str) -> str:
    """Each region becomes the comment."""
    comment = rf"\1{gaps.YOUR_CODE}"
    region = rf"(?ms)^( *){gaps.BEGIN_SOLUTION}$.*?^ *{gaps.END_SOLUTION}$"
    return re.sub(region, comment, text)


@pytest.mark.parametrize("ending", ["return z", "assert z, 'zero'"])
def test_gaps_in_the_middle_of_a_host_function(ending: str):
    """Kills: an instructor's text whose solution runs into the learner's error below it."""
    text = MIDDLE.replace("return z", ending)
    names: dict = {}
    exec(gaps.instructor_text(text), names)
    assert names["f"](3) == (9 if ending == "return z" else None)
    assert as_nbgrader_cuts(gaps.instructor_text(text)) == gaps.learner_text(text)


def test_hidden_tests_vanish_with_the_blank_lines_at_the_end():
    text = "check(a)\n### BEGIN HIDDEN TESTS\ncheck(b)\n### END HIDDEN TESTS\ncheck(c)\n\n"
    text += "### BEGIN HIDDEN TESTS\ncheck(d)\n### END HIDDEN TESTS"
    assert gaps.without_hidden(text) == "check(a)\ncheck(c)"


PATIENT = """\
@triton.jit
def scale_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    ### BEGIN SOLUTION
    # only lanes that exist
    mask = offs < n
    ### BROKEN
    # mask = offs <= n
    #
    # mask = mask & True
    ### END SOLUTION
    tl.store(x_ptr + offs, 2.0, mask=mask)


def scale(x):
    for i in range(2):
        ### BEGIN SOLUTION
        x = x + i
        ### BROKEN
        # x = x * i
        ### END SOLUTION
    y = x
    ### BEGIN SOLUTION
    y = y + 1
    ### BROKEN
    ### END SOLUTION
    return y


def scale_cause():
    ### BEGIN SOLUTION
    return "mask"
    ### END SOLUTION"""


def test_a_learner_gets_broken_lines_to_mend():
    """Kills: a word in the learner's text that shows where the mistake sits."""
    assert (
        gaps.learner_text(PATIENT)
        == """\
@triton.jit
def scale_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs <= n

    mask = mask & True
    tl.store(x_ptr + offs, 2.0, mask=mask)


def scale(x):
    for i in range(2):
        x = x * i
    y = x
    return y


def scale_cause():
    # YOUR CODE HERE
    raise NotImplementedError("TODO: fill in scale_cause")"""
    )


def test_the_instructors_text_of_a_patient_ends_with_it_mended():
    """Kills: a region of nbgrader's where the mistake sits, and a broken answer that wins."""
    text = gaps.instructor_text(PATIENT)
    host = "\n\n".join(part for part in text.split("\n\n\n") if "triton.jit" not in part)
    names: dict = {}
    exec(host, names)
    assert names["scale"](3) == 5 and names["scale_cause"]() == "mask"
    assert as_nbgrader_cuts(text) == gaps.learner_text(PATIENT)


def test_a_patient_that_returns_nothing_ends_before_the_stub():
    text = gaps.instructor_text(PATIENT.replace("    return y\n", ""))
    stub = '    raise NotImplementedError("TODO: fill in scale_cause")'
    assert text.endswith(f"    return\n    ### END SOLUTION\n{stub}")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("    # mask = offs <= n", "    mask = offs <= n", "a broken line is no comment"),
        (
            '    return "mask"\n',
            '    return "mask"\n    ### BROKEN\n    # return 1\n',
            "no last function",
        ),
        ("def scale(x):", "@triton.jit\ndef scale(x):", "no last function"),
    ],
)
def test_a_patient_that_cannot_be_given_out_is_named(old: str, new: str, problem: str):
    with pytest.raises(Slip, match=problem):
        gaps.instructor_text(PATIENT.replace(old, new))
