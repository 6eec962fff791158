"""What the card says first of an answer that failed before."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest
import torch

import tritonbook
from tritonbook.checking import CheckFailed, Finding
from tritonbook.checking.report import NOT_ATTEMPTED, WRONG, Report
from tritonbook.course import attempts

import triton  # isort: skip

SAME = "  This is the same code as last time: was the cell above run again?"


@pytest.fixture(autouse=True)
def page(small_notebook):
    """The page of the small notebook: `double`, a plain function; nothing was tried yet."""
    attempts._failed.clear()
    small_notebook()


def answer(text="return x", **names):
    """`double` as a cell makes it, which knows these names."""
    home = {"torch": torch, **names}
    exec(f"def double(x):\n    {text}", home)
    return home["double"]


def card(fn, capsys):
    """The lines of the card that a check of it prints, without the first."""
    capsys.readouterr()
    with contextlib.suppress(CheckFailed):
        tritonbook.check(fn)
    return capsys.readouterr().out.splitlines()[1:]


def test_the_same_code_is_said_to_be_the_same(capsys):
    """Kills: the same red card again, without a word, below a gap whose cell was not run."""
    wrong = answer()
    assert SAME not in card(wrong, capsys)
    assert card(wrong, capsys)[0].startswith(SAME)
    assert SAME not in card(answer(), capsys)  # the cell was run again, whatever it holds


def test_a_part_that_was_made_anew_is_not_the_same_code(capsys):
    """Kills: "was the cell run again?" where the kernel's cell was, and the wrapper's was not."""

    @triton.jit
    def kernel(x_ptr):
        pass

    wrong = answer("kernel, HALF\n    return x", kernel=kernel, HALF=0.5)
    card(wrong, capsys)
    assert card(wrong, capsys)[0].startswith(SAME)
    for name, value in (("kernel", triton.jit(kernel.fn)), ("HALF", 0.25)):
        wrong.__globals__[name] = value
        assert SAME not in card(wrong, capsys)
        assert card(wrong, capsys)[0].startswith(SAME)


def test_a_pass_forgets_what_was_before(capsys):
    wrong = answer()
    card(wrong, capsys)
    card(answer("return 2 * x"), capsys)
    assert SAME not in card(wrong, capsys)


def test_four_equal_failures_offer_one_hint_after_the_other():
    """Kills: the same card after hint 3, and no way to the answer; a hint offered for failures that
    differ, or for a gap that is still open."""
    hints = ["<summary>Hint 1: a question</summary>", "<summary>Hint 2: the shape</summary>"]
    cells = [SimpleNamespace(role="hint", key="double", source="".join(hints))]
    page = SimpleNamespace(cells=cells, slug="98_double")

    def said(code, state=WRONG, sentence="It is wrong."):
        finding = Finding(code, sentence)
        report = Report("double", state, finding, [], [], {}, {}, 0.0)
        return attempts.said_first("double", answer(), report, page)

    assert [said("race") for _ in range(6)] == [
        *("", "", ""),
        'That was 4 times the same. Open "Hint 1: a question" for `double`.',
        'That was 5 times the same. Open "Hint 2: the shape" for `double`.',
        "That was 6 times the same. Compare with the workbook's answer, in "
        "`solutions/98_double.ipynb` of the course.",
    ]
    assert said("nan") == ""
    words = ("There is no `tl.silu`.", "A kernel knows no `math`.")
    assert {said("does-not-compile", sentence=words[n % 2]) for n in range(6)} == {""}
    assert {said("not-attempted", NOT_ATTEMPTED) for _ in range(5)} == {""}
