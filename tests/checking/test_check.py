"""Every state of a check and every finding: each wrong answer must get the intended one."""

from dataclasses import replace

import pytest
import torch

import tritonbook
from tritonbook.checking import Check, CheckFailed, Tolerance, card, case, run_check, tensor
from tritonbook.checking.asks import at_first, launches, on_hidden, starts, starts_at_most
from tritonbook.checking.oracle import Oracle

from . import answers
from .answers import run

CASES = [
    case("one tile", x=tensor(64)),
    case("ragged", x=tensor(150)),
    case("nothing", x=tensor(0)),
]


def double_ref(x):
    return 2 * x


def report(fn, cases=CASES, **options):
    seconds = 1 if fn is answers.never_ends_and_swallows else 60
    return run(fn, double_ref, cases, key="double", timeout=seconds, **options)


@pytest.mark.parametrize("fn", [answers.right, answers.right_other_block, answers.with_warning])
def test_right_answers_pass(fn):
    found = report(fn, asks=[launches(1)])
    assert (found.state, found.finding) == ("passed", None), card.as_text(found)
    assert found.kernels == ["scale_kernel"]
    assert found.gates["values"] == "passed"


@pytest.mark.parametrize(
    ("fn", "state", "code"),
    [
        (answers.torch_only, "wrong", "no-kernel-launched"),
        (answers.torch_beside_a_launch, "wrong", "torch-compute"),
        (answers.a_list_on_the_way, "wrong", "raised"),
        (answers.three_times, "wrong", "constant-factor"),
        (answers.remembers, "wrong", "second-call"),
        (answers.never_ends_and_swallows, "wrong", "timeout"),
        (answers.leaves_the_program, "wrong", "raised"),
        (answers.raises, "wrong", "raised"),
        (answers.freed_reference, "wrong", "no-kernel-launched"),
        (answers.stale_numpy, "wrong", "no-kernel-launched"),
    ],
)
def test_wrong_answers_get_their_finding(fn, state, code):
    found = report(fn)
    assert found.finding is not None, card.as_text(found)
    assert (found.state, found.finding.code) == (state, code), card.as_text(found)


@pytest.mark.parametrize(
    "fn",
    [
        answers.adds_its_earlier_calls,
        answers.adds_one_after_the_first_call,
        answers.doubles_again_after_the_first_call,
    ],
)
def test_what_a_call_before_left_behind_is_told_whatever_it_does(fn, monkeypatch):
    """Kills: "1 too large", where only the second call is."""
    monkeypatch.setattr(answers, "_calls", [])
    assert report(fn).finding.code == "second-call"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_are_drawn_once_and_a_reference_may_spoil_its_copies(dtype):
    """Kills: drawing anew for each trial; handing the values themselves to a reference."""
    drawn = []

    def counted(generator, shape):
        drawn.append(shape)
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    cases = [case("spoilt", x=tensor(150, dtype=dtype, values=counted))]
    found = run(answers.right, lambda x: x.mul_(2), cases, key="double")
    assert found.passed, card.as_text(found)
    # First values, other values, values for the proof; without a GPU the first again, to compile.
    assert len(drawn) == 3 + (tritonbook.DEVICE == "cpu")


@pytest.mark.skipif(tritonbook.DEVICE == "cuda", reason="numpy cannot write GPU memory")
def test_work_done_outside_the_kernel_is_seen_by_muting_it():
    assert report(answers.at_addresses_after_a_launch).finding.code == "right-without-kernel"
    assert report(answers.numpy_after_a_launch).finding.code == "torch-compute"


def test_what_else_is_allowed_is_listed():
    """Kills: "only allocation, views and launches" said where a task allows an operator."""
    assert "allowed here." in report(answers.torch_beside_a_launch).finding.sentence
    said = report(answers.torch_beside_a_launch, allow=("copy_",)).finding.sentence
    assert said.endswith("allowed here, and these operators: copy_.")


def test_a_wrong_answer_raises_the_cards_headline_and_no_more():
    found = report(answers.torch_only)
    assert CheckFailed(found)._render_traceback_() == [f"CheckFailed: {found.headline}"]


def test_a_case_that_must_raise():
    must = [case("refused", x=tensor(8), raises=ValueError)]
    assert report(answers.right, must).finding.code == "should-raise"
    assert report(answers.raises, must).finding.code == "should-raise"
    assert report(answers.raises, [case("refused", x=tensor(8), raises=KeyError)]).passed


def test_no_case_that_can_run_is_not_a_pass():
    elsewhere = "interpreter" if tritonbook.DEVICE == "cuda" else "gpu"
    found = report(answers.right, [case("elsewhere", x=tensor(8), only=elsewhere)])
    assert not found.passed and found.finding.code == "not-run"
    assert not report(answers.right, []).passed


def test_launch_count_and_grid_are_bounded():
    assert report(answers.three_times, asks=[launches(1)]).finding.code == "wrong-launch-count"
    few = [starts_at_most(lambda x: max(1, x.numel() // 256))]
    assert report(answers.right, asks=few).finding.code == "too-many-programs"
    assert report(answers.right_other_block, [case("big", x=tensor(512))], asks=few).passed


def test_an_option_that_the_grid_does_not_follow_is_named():
    """Kills: "does the grid take into account how much one program covers?" said of a `tile=` that
    the answer ignores, and "not used" said of one that it follows."""

    def deaf(x, width=64):
        return answers.launch(answers.scale_kernel, x)

    def follows(x, width=64):
        return answers.launch(answers.scale_kernel, x, width // 2)

    cases = [case("wide", x=tensor(512), options={"width": 256})]

    def rule(x, width=64):
        return -(-x.numel() // width)

    said = report(deaf, cases, asks=[starts_at_most(rule)]).finding
    assert said.code == "too-many-programs", said
    assert said.sentence.startswith("`width` is not used for the grid"), said.sentence
    said = report(follows, cases, asks=[starts_at_most(rule)]).finding
    assert said.code == "too-many-programs" and "not used" not in said.sentence
    said = report(deaf, cases, asks=[starts(rule)]).finding
    assert said.code == "other-programs" and "`width` is not used" in said.sentence


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        (lambda x: 4 * x, "named"),
        (lambda x: x + x, "constant-factor"),  # equals the reference
    ],
)
def test_a_mistake_is_named_where_it_gives_the_result(formula, code):
    known = answers.mistakes(("named", formula, "It was this."))
    assert report(answers.three_times, known=known).finding.code == code


def test_what_comes_before_the_cases_can_end_the_check():
    """Kills: cases that are tried, and causes that are told, before a question is answered."""

    def unanswered(fn):
        raise NotImplementedError("TODO: fill in why")

    def refuses(fn):
        raise AssertionError("No.")

    found = report(answers.three_times, asks=[at_first(unanswered)])
    assert (found.state, found.cases) == ("not attempted", [])
    found = report(answers.right, asks=[at_first(refuses)])
    assert (found.finding.code, found.cases) == ("property", [])
    assert report(answers.right, asks=[at_first(lambda fn: None)]).passed


def test_what_comes_before_the_cases_is_fenced():
    """Kills: a store outside every tensor that ends the process, since no case has found it yet."""
    found = report(answers.looks_over_the_edge, asks=[at_first(lambda fn: fn(torch.ones(150)))])
    assert (found.finding.code, found.cases) == ("reads-outside", [])


def test_warnings_are_kept_and_do_not_reach_stderr(capfd):
    found = report(answers.with_warning)
    assert found.passed and "look at me" in found.stderr and "and at me" in found.stderr
    assert capfd.readouterr().err == ""


def test_a_traceback_on_the_card_names_lines_of_the_answer_alone():
    """Kills: a learner who is shown the inside of the workbook, or of its mended interpreter."""

    def asks_for_too_much(x):
        return tritonbook.reference("no such function")

    (line,) = report(asks_for_too_much).finding.detail.splitlines()
    assert "in asks_for_too_much" in line


def test_plain_functions_need_no_kernel():
    def rows(n):
        return list(range(n))

    cases = [case("three", n=3), case("none", n=0)]
    options = {"key": "rows", "triton": False}
    assert run(rows, lambda n: [*range(n)], cases, **options).passed
    wrong = run(lambda n: [1, 2, 3], lambda n: [*range(n)], cases, **options)
    assert wrong.finding.code == "wrong-values"
    nothing = run(lambda n: None, lambda n: [*range(n)], cases, **options)
    assert nothing.finding.code == "wrong-type"


def sees_all(shown):
    """A check of `lists`, looked at through another function; says what its assertions got."""
    return Check(
        lambda n: n,
        [case("seven", n=7)],
        [case("eight", n=8)],
        triton=False,
        through="through_it",
        beside=("neighbour", "other"),
        asks=[
            lambda *got: shown.append(got),
            on_hidden(lambda *got: shown.append(("hidden", *got))),
        ],
    )


def neighbour():
    return "neighbour"


def other():
    return "other"


def through_it(n):
    return lists(n)[-1]


def lists(n):
    return [*range(n + 1)]


@pytest.mark.parametrize("hidden", [False, True])
def test_an_answer_is_looked_at_through_another_and_beside_others(hidden):
    """Kills: cases that call the answer itself, and assertions that get other functions."""
    shown = []
    found = run_check(lists, sees_all(shown), "lists", hidden=hidden)
    assert found.passed and found.key == "lists", card.as_text(found)
    assert [row.note for row in found.cases] == [["seven", "eight"][hidden]]
    assert shown == [(*["hidden"] * hidden, through_it, neighbour, other)]


def test_a_grader_says_where_the_others_are():
    """Kills: another function of the page that is taken from the grader's own module."""
    shown, elsewhere = [], {"through_it": lambda n: n, "neighbour": len, "other": max}
    assert run_check(lists, sees_all(shown), "lists", beside=elsewhere.__getitem__).passed
    assert shown == [tuple(elsewhere.values())]


def test_a_function_beside_that_is_not_there_is_named():
    alone = eval("lambda n: n", {})
    with pytest.raises(NameError, match="^through_it is not defined. Run the cell that defines"):
        run_check(alone, replace(sees_all([]), asks=()), "lists")


def test_the_others_are_asked_for_only_where_an_assertion_wants_them():
    """Kills: hidden cases that fail because a later cell of the page was not run."""
    asked = Check(lambda n: n, [case("c", n=7)], [case("d", n=8)], triton=False, beside=("gone",))
    alone = eval("lambda n: n", {})
    assert run_check(alone, asked, "lists").passed
    assert run_check(alone, asked, "lists", hidden=True).passed


def test_hidden_cases_that_are_not_there_are_no_answers_fault():
    """Kills: a wrong verdict for what the course left out."""
    asked = Check(lambda n: n, [case("c", n=7)], triton=False)
    with pytest.raises(ValueError, match="The check of lists has no hidden case"):
        run_check(lists, asked, "lists", hidden=True)


def test_a_tolerance_may_depend_on_the_inputs_dtype():
    """Kills: float32 results of half-precision inputs held to the digits of float32 inputs."""
    check = Check(double_ref, CASES, tolerance=lambda out, inputs: Tolerance(inputs.itemsize))
    for dtype, size in (("float32", 4), ("float16", 2)):
        allowed = Oracle(check).tolerance_for(case("x", x=tensor(4), dtype=dtype), torch.float32)
        assert allowed.relative == size
