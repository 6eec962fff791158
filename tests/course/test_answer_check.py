"""`check(fn)` and `show_cases(fn)`, as a learner calls them."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

import tritonbook
from tritonbook import notebook
from tritonbook.checking import CheckFailed
from tritonbook.course import answer_check, records
from tritonbook.course.page_checks import NotAsked, find_check
from tritonbook.notebook import machinery

import torch  # isort: skip
import triton  # isort: skip


def double(x):
    return 2 * x


def rename(fn, name):
    fn.__name__ = name
    return fn


@pytest.fixture
def page(small_notebook):
    """The page of the small notebook: `double`, a plain function."""
    small_notebook()


def test_a_right_answer_prints_its_card_and_is_recorded(page, capsys):
    assert tritonbook.check(double) is None
    assert capsys.readouterr().out.startswith("✓ double: passed, 1 of 1 cases")
    assert records.entries()["double"]["state"] == "passed"


def test_an_exam_hears_passed_or_not_and_no_more(page, capsys):
    """Kills: a cause told in an exam; a pass of its nearly right answers that counts for a page."""
    assert answer_check.verdict(double) is None
    assert capsys.readouterr().out == "double: passed\n"
    with pytest.raises(answer_check.NotPassed) as refused:
        answer_check.verdict(rename(lambda x: 3 * x, "double"))
    assert str(refused.value) == "double: not passed"
    assert refused.value._render_traceback_() == ["double: not passed"]
    assert capsys.readouterr().out == "" and records.entries() == {}


def test_a_wrong_answer_raises_after_its_card(page, capsys):
    """Kills: a cell below a wrong answer that runs on as if nothing had happened."""
    positive = rename(lambda x: 2 * x.abs(), "double")
    tritonbook.check(positive)
    with pytest.raises(CheckFailed, match="double"):
        tritonbook.check(positive, hidden=True)
    assert "✗ double: wrong, 0 of 1 cases right" in capsys.readouterr().out
    assert records.entries()["double"]["state"] == "wrong"


def test_the_courses_own_machinery_leaves_no_trace(page, capsys):
    """Kills: a test or a grader that writes into the learner's progress."""
    with machinery():
        tritonbook.check(double)
    assert capsys.readouterr().out == "" and "double" not in records.entries()


def test_the_solution_is_offered_after_a_pass_alone(page, monkeypatch):
    offered = []
    monkeypatch.setattr(answer_check, "show", lambda report, answer, first: offered.append(answer))
    tritonbook.check(double)
    with pytest.raises(CheckFailed):
        tritonbook.check(rename(lambda x: x, "double"))
    assert offered == ["def double(x):\n    return 2 * x", ""]


@pytest.mark.parametrize("ask", [tritonbook.check, tritonbook.show_cases])
def test_a_name_that_no_page_asks_for_gets_one_sentence(page, ask):
    """Kills: a KeyError, or a check of some other page's function; a traceback in a notebook, where
    IPython asks the error itself."""
    with pytest.raises(LookupError) as caught:
        ask(rename(lambda x: x, "duoble"))
    assert str(caught.value) == (
        "No page of the course asks for a function called 'duoble'. Did you mean 'double'?"
    )
    assert caught.value._render_traceback_() == [str(caught.value)]
    with pytest.raises(NotAsked, match=r"check\(add\), and got a value of type Tensor: is it the"):
        ask(torch.ones(3))
    with pytest.raises(NotAsked, match=r"check\(add\), without quotation marks"):
        ask("add")


def test_a_kernel_of_an_answer_leads_to_its_wrapper():
    """Kills: "Did you mean 'use_kernels'?" said of `add_kernel`."""
    with pytest.raises(NotAsked, match="called 'add_kernel'. Did you mean 'add'"):
        find_check("add_kernel")
    with pytest.raises(NotAsked, match="called 'flash_fwd_kernel'. Did you mean 'flash_fwd'"):
        find_check("flash_fwd_kernel")


def test_a_kernel_is_known_by_its_own_name(page):
    @triton.jit
    def dubble(x_ptr):
        pass

    tuned = triton.autotune(configs=[triton.Config({})], key=[])(dubble)
    for kernel in (dubble, tuned):
        with pytest.raises(LookupError, match="called 'dubble'. Did you mean 'double'"):
            tritonbook.check(kernel)


def test_a_cell_that_failed_is_not_taken_for_what_it_was_before(page, capsys, monkeypatch):
    """Kills: "passed" below a cell with a syntax error, whose function is still the old one."""
    shell = InteractiveShell()
    monkeypatch.setattr(notebook, "_shell", lambda: shell)
    good = "import torch\n\ndef double(x):\n    return 2 * x"
    for failing in (good.replace("(x):", "(x)"), f"raise ValueError\n{good}"):
        shell.run_cell(good, store_history=True)
        shell.run_cell("print('def double(x) is not here')", store_history=True)
        tritonbook.check(shell.user_ns["double"])
        shell.run_cell(failing, store_history=True)
        with pytest.raises(NotAsked, match="The cell of 'double' was not run to its end"):
            tritonbook.check(shell.user_ns["double"])


def test_the_cases_are_told_before_the_first_run(page, capsys):
    """Kills: hidden cases that are printed, and a table that calls the answer."""
    called = []
    tritonbook.show_cases(rename(lambda x: called.append(x), "double"))
    assert capsys.readouterr().out.splitlines() == [
        "nine  x 9 float32",
        "A grader tries 1 more, of other sizes and with other numbers.",
    ]
    assert called == []


def test_every_page_can_show_its_cases(capsys):
    """Kills: an argument that has no short text."""
    from tritonbook.course.exercises import exercises

    for exercise in exercises():
        for key in exercise.checks():
            tritonbook.show_cases(rename(lambda: None, key))
            lines = capsys.readouterr().out.splitlines()
            assert len(lines) > 1 and max(map(len, lines)) <= 100, (key, lines)


@pytest.mark.parametrize(
    "body, left",
    [
        ("return torch.empty(M * len(x))", "M"),
        ("return helper(x)", "M"),
        ("M = len(x)\n    return torch.empty(M)", None),
        ("return torch.empty(BLOCK * len(x))", None),  # of a cell of the learner's own
        ("return rmsnorm_ref(x)", None),  # the page gives it
    ],
)
def test_what_a_cell_further_down_left_behind(body, left):
    """Kills: a pass that needs the number of rows of a table that was made last."""
    space = {"torch": torch, "M": 4, "BLOCK": 8, "rmsnorm_ref": None}
    exec("def helper(x):\n    return M * x", space)
    exec(f"def rmsnorm_split_det(x):\n    {body}", space)
    page, _ = find_check("rmsnorm_split_det")
    assert answer_check._left_over(page, space["rmsnorm_split_det"]) == left
    if left:
        with pytest.raises(NotAsked, match="takes `M` from another cell of this page"):
            tritonbook.check(space["rmsnorm_split_det"])
