"""Where nothing names a cause, what is certain is said: which rows, which inputs, which result."""

from unittest import mock

import pytest
import torch
import triton
import triton.language as tl

from tritonbook.checking import SAME_BITS, Check, Tolerance, case, inputs, run_check, tensor
from tritonbook.checking.compare import compare_values
from tritonbook.checking.diagnose import Evidence, diagnose
from tritonbook.checking.errors import explain_error
from tritonbook.checking.report import Finding
from tritonbook.simulating.machine import Fault

from . import answers
from .answers import run

X = torch.arange(1.0, 25.0, dtype=torch.float64).reshape(4, 6).sqrt()
W = torch.arange(1.0, 7.0, dtype=torch.float64)
ROUNDED = torch.cat(((X * W)[:1], (X * W)[1:].bfloat16().double()))
ODD_ROWS = torch.tensor([[False], [True], [False], [True]])


def found(got, want=X * W, unused=(), **inputs):
    difference = compare_values(got, want, Tolerance(1e-6))
    return diagnose(Evidence(difference, inputs=inputs, unused_inputs=lambda: list(unused)))


@pytest.mark.parametrize(
    ("got", "code", "words"),
    [
        ((X * W)[[1, 2, 3, 0]], "rows-moved", "row 0 holds that of row 1"),
        ((X * W)[[2, 2, 2, 2]], "rows-moved", "the result of row 2"),
        (X * W / X.sum(dim=1, keepdim=True), "off-by-row", "a factor of its own (in row 0: 0.09"),
        (X * W - X.amax(dim=1, keepdim=True), "off-by-row", "a summand of its own"),
        (torch.where(W > 3, 0, X * W), "zeros", "(column 3 to 5, the second half of 6)"),
        (X * 1.5, "off-by-column", "its weight or bias"),
        (3 * X * W, "constant-factor", "Every element is 3 times the right value."),
        (3 * X * W, "constant-factor", "Which constant is missing"),
        (X * W * 1.001, "constant-factor", "rounded to half precision"),
        (ROUNDED, "wrong-values", "are digits lost on the way"),
        (X * W - 0.5, "constant-summand", "Every element is 0.5 too small."),
        (X * W * (1 + 1e-4 * X[:, :1]), "off-by-row", "(in row 0: 1.0001)"),
        (X * W + X**2 * W.flip(0), "wrong-values", "wrong everywhere"),
        (torch.where(ODD_ROWS, X + W, X * W), "wrong-values", "(row 1, 3 of 4"),
        (torch.where(W == 5, torch.nan, X * W), "nan", "(column 4 of 6)"),
    ],
)
def test_what_is_certain_is_said(got, code, words):
    """Kills: "without a pattern", and a cause that the values do not show."""
    said = found(got)
    assert (said.code, words in said.sentence) == (code, True), said.sentence


def test_rows_that_are_alike_are_not_said_to_have_moved():
    """Kills: "row 4 holds that of row 0" of normalised pairs, where an eps was left out."""
    pairs = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    want = torch.cat((pairs, pairs, 0.7 * pairs))
    assert not found(pairs.repeat(3, 1), want).code.startswith("rows-")


def test_a_nan_that_was_lost_is_named():
    """Kills: "look at row 1" said of a clamp, which takes the number and drops the NaN."""
    want = torch.where(ODD_ROWS, torch.nan, X * W)
    said = found(torch.where(ODD_ROWS, 30.0, X * W), want)
    assert (said.code, "a NaN in an input was lost" in said.sentence) == ("nan-lost", True)
    assert found(torch.where(ODD_ROWS, 30.0, X * W + 1), want).code != "nan-lost"


@pytest.mark.parametrize(("dim", "name"), [(0, "batch"), (1, "head"), (2, "row"), (3, "column")])
def test_the_axis_from_which_on_all_is_wrong_is_named(dim, name):
    """Kills: "look at the last tile of a row" said of a wrong stride of the heads."""
    want = torch.rand(4, 4, 4, 4, dtype=torch.float64) + 1
    noise, got = torch.rand(4, 4, 4, 4, dtype=torch.float64), want.clone()
    got.narrow(dim, 2, 2).add_(noise.narrow(dim, 2, 2))
    assert found(got, want).sentence == f"Right before {name} 2, wrong from there on."


def test_numbers_that_come_near_where_bits_are_moved_are_told_so():
    """Kills: "which constant is missing" said of a copy that computes."""
    for got in (X * 1.000001, X.half().double()):
        difference = compare_values(got.float(), X.float().double(), SAME_BITS)
        said = diagnose(Evidence(difference))
        assert said.code == "other-bits" and "bit by bit" in said.sentence, said.sentence


def test_an_input_that_never_gets_in_is_named():
    said = found(X + 0.1 * X**2, unused=["w"], w=W)
    assert said.code == "unused-input" and "whatever `w` holds" in said.sentence


@triton.jit
def scaled_kernel(x_ptr, out_ptr, n, s, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, x * s, mask=mask)


def scaled(x, s):
    out = torch.empty_like(x)
    scaled_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), s, BLOCK=64)
    return out


TWICE_OR_HALF = {"half": 0.5, "twice": 2.0}


@pytest.mark.parametrize(
    ("answer", "reference", "name", "value", "other"),
    [
        (lambda x, s: scaled(x, 1e-6), lambda x, s: x * s, "s", 0.3, 0.2),
        (lambda x, eps: scaled(x, 2.0), lambda x, eps: 2 * x / (1 + eps), "eps", 0.1, 0.2),
        (lambda x, k: scaled(x, 7.0), lambda x, k: x * k, "k", 3, 2),
        (
            lambda x, back: scaled(x, 2.0),
            lambda x, back: x * (0.5 if back else 2.0),
            "back",
            True,
            False,
        ),
        (
            lambda x, how: scaled(x, 2.0),
            lambda x, how: x * TWICE_OR_HALF[how],
            "how",
            "half",
            "twice",
        ),
    ],
)
def test_a_number_or_a_flag_that_never_gets_in_is_named(answer, reference, name, value, other):
    """Kills: "every element is 2 times the right value" said of a flag that nobody asks."""
    cases = [case(str(each), x=tensor(40), **{name: each}) for each in (value, other)]
    said = run(answer, reference, cases).finding
    assert said == Finding("unused-input", f"The result is the same whatever `{name}` is."), said


@pytest.mark.parametrize(
    ("answer", "reference", "options"),
    [
        # A size that changes nothing, a number that gets in, one that hardly matters, a flag that
        # is not to blame.
        (lambda x, n: scaled(x, 3.0), lambda x, n: 2 * x, {"n": 4}),
        (lambda x, s: scaled(x, s), lambda x, s: 2 * x * s, {"s": 0.3}),
        (lambda x, eps: scaled(x, 3.0), lambda x, eps: 2 * x / (1 + eps), {"eps": 1e-9}),
        (lambda x, back: scaled(x, 3.0), lambda x, back: x * (0.5 if back else 2), {"back": True}),
    ],
)
def test_a_number_that_is_not_to_blame_is_not_named(answer, reference, options):
    """Kills: a cause that is none, of an argument that happens to stand there."""
    said = run(answer, reference, [case("one", x=tensor(40), **options)]).finding
    assert said.code == "constant-factor", said


@triton.jit
def mix_kernel(x_ptr, w_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    w = tl.load(w_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, tl.where(offs % 2 == 0, x * 2, w * w), mask=mask)


def mixed(x, w):
    out = torch.empty_like(x)
    mix_kernel[(triton.cdiv(x.numel(), 64),)](x, w, out, x.numel(), BLOCK=64)
    return out, scaled(w, 3.0)


def test_an_input_that_gets_in_where_it_must_not_is_named():
    """Kills: "wrong in 20 of 40 elements" of a gradient into which another tensor went."""
    cases = [case("both", x=tensor(40), w=tensor(40))]
    said = run(mixed, lambda x, w: (2 * x, 3 * w), cases, results=("dx", "dw")).finding
    assert said.code == "undue-input"
    assert said.sentence.startswith("In `dx` (`dw` right): The result changes with `w`, and here")


def test_an_input_that_is_the_same_in_each_draw_is_not_blamed():
    """Kills: "changes with `ends`" where programs race, and each call has another result."""
    old = {"x": torch.ones(4), "ends": torch.arange(4)}
    new = {"x": torch.zeros(4), "ends": torch.arange(4)}
    trial = mock.Mock(values=old, plain={})
    asked = [(name, values["x"].sum()) for name, _, values in inputs.changes(trial, new, [])]
    assert asked == [("x", 0)]


def test_a_result_that_differs_from_call_to_call_is_said_to():
    """Kills: "wrong in 40 of 40 elements" of a seed that is taken from an address."""

    def by_address(x):
        return scaled(x, float(x.data_ptr() // 64 % 9973 + 5))

    said = run(by_address, lambda x: 2 * x, [case("one", x=tensor(40))]).finding
    assert said.code == "not-repeatable" and "in each call" in said.sentence, said


def beside_nothing(x, w):
    return answers.right(x), answers.right(w)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (lambda x, w: (2 * x, w**2), "In `dw` (`dx` right): "),
        (lambda x, w: (2 * x + 0 * w[0], 3 * w + x[0]), "In `dw` (`dx` right): The result is the"),
    ],
)
def test_the_wrong_one_of_several_results_is_named(reference, said):
    """Kills: a card that does not say which gradient is wrong, or whose input is left out."""
    check = Check(reference, [case("both", x=tensor(40), w=tensor(40))], results=("dx", "dw"))
    sentence = run_check(beside_nothing, check, "both").finding.sentence
    assert sentence.startswith(said) and ("`x` holds" in sentence) == ("The result is" in said)


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        (lambda x: x * torch.nan, "nan"),
        (lambda x: torch.where(x < 5, x, torch.nan), "spoils"),
        (lambda x: torch.where((x > -25) & (x < 5), x, torch.nan), "nan"),
    ],
)
def test_nan_everywhere_is_no_evidence_for_a_mistake(formula, code):
    """Kills: whichever mistake spoils all, blamed for whatever else spoils all, or named though it
    would spoil a case that is right."""
    large = case("all large", x=tensor(64, mean=20.0))
    mixed = case("small and large", x=tensor(64, mean=5.0))
    small = case("all small", x=tensor(64, mean=-40.0))
    found = run(
        answers.nan_from_five_on,
        lambda x: x,
        [large, mixed, small] if code == "spoils" else [large, small, mixed],
        known=answers.mistakes(("spoils", formula, "It was this.")),
    )
    assert found.finding.code == code


def nothing_of_two(x):
    answers.right(x)


def test_two_results_of_which_none_came_back():
    """Kills: "Expected 2 results, got 1" said of None."""
    check = Check(lambda x: (2 * x, 3 * x), [case("ragged", x=tensor(100))])
    said = run_check(nothing_of_two, check, "two").finding.sentence
    assert said == "Expected 2 results, got None. Is a `return` missing?"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sum_kernel at `x`", "`sum_kernel` at `x`."),
        ("tiles[3] is read", "`tiles[3]` is read."),
        ("the grid is empty", "The grid is empty."),
    ],
)
def test_a_name_stays_as_it_is_written(text, said):
    """Kills: "Sum_kernel at", "Tiles[3] is read", "It raised Fault"."""
    found = explain_error(Fault("early-read", text))
    assert (found.code, found.sentence) == ("early-read", said)


def test_of_one_row_a_constant_may_be_the_row_s_own():
    """Kills: "which constant?" of a result of one row that is not divided by its sum."""
    row = torch.arange(1.0, 13.0, dtype=torch.float64)
    assert "or sum or maximum of the whole row" in found(row / row.sum(), row).sentence


@pytest.mark.parametrize(("times", "code"), [(2.0, True), (4e-3, False)])
def test_an_input_is_added_a_number_of_times_that_somebody_would_write(times, code):
    """Kills: rounding of an input of many sizes called "the right result less 5e-07 times x"."""
    said = found(X * W + times * X, x=X)
    assert (said.code == "off-by-an-input") == code, said.sentence
