"""Tolerances and comparisons: what is let through and what is not."""

import math

import pytest
import torch

from tritonbook.checking.compare import (
    SAME_BITS,
    compare,
    compare_plain,
    compare_values,
    derive_tolerance,
    rounded_once,
)


def test_a_float32_sum_of_many_terms_may_be_further_off():
    assert derive_tolerance(torch.float32, 10_000).of_row_max > 0
    assert derive_tolerance(torch.float32, 1).of_row_max == 0
    assert "sqrt(10000)" in derive_tolerance(torch.float32, 10_000).because


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_rounding_once_passes_and_rounding_through_a_coarser_type_does_not(dtype):
    exact = torch.randn(4000, dtype=torch.float64) * 3
    once = exact.to(dtype)
    assert compare_values(once, exact, derive_tolerance(dtype)).ok
    coarser = {torch.float32: torch.float16, torch.float16: torch.bfloat16}.get(dtype)
    if coarser is not None:
        assert not compare_values(exact.to(coarser).to(dtype), exact, derive_tolerance(dtype)).ok


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_where_the_contract_rounds_once_a_second_rounding_is_refused(dtype):
    """Kills: a whole step allowed, under which a sum or a product in half precision passes."""
    x, w = torch.randn(2, 4000, dtype=torch.float64)
    tolerance = rounded_once(terms=1)(dtype)
    assert compare_values((x * w).to(dtype), x * w, tolerance).ok
    twice = (x.to(dtype).double() * w).to(dtype)
    assert compare_values(twice, x * w, derive_tolerance(dtype)).error > 0.5
    assert not compare_values(twice, x * w, tolerance).ok
    assert rounded_once(terms=9)(torch.float32) == derive_tolerance(torch.float32, 9)


def test_an_honest_float32_dot_product_passes_and_a_half_precision_one_does_not():
    a, b = torch.randn(64, 2048), torch.randn(2048, 64)
    exact = a.double() @ b.double()
    tolerance = derive_tolerance(torch.float32, 2048)
    assert compare_values(a @ b, exact, tolerance).ok
    assert not compare_values((a.half() @ b.half()).float(), exact, tolerance).ok


def test_nan_and_infinity_must_match_in_place_and_sign():
    want = torch.tensor([1.0, math.inf, -math.inf, math.nan], dtype=torch.float64)
    tolerance = derive_tolerance(torch.float32)
    assert compare_values(want.float(), want, tolerance).ok
    for spoilt in ([math.nan, math.inf, -math.inf, math.nan], [1.0, -math.inf, -math.inf, 0.0]):
        assert not compare_values(torch.tensor(spoilt), want, tolerance).ok


def test_what_overflows_the_output_dtype_is_infinite_by_right():
    want = torch.tensor([1e6, -1e6], dtype=torch.float64)
    assert compare_values(want.half(), want, derive_tolerance(torch.float16)).ok


def test_what_is_smaller_than_normal_numbers_may_be_flushed_to_zero():
    # Kills: a right SiLU refused on a GPU for 0 in place of -7e-40; zeros for any small number.
    tolerance = derive_tolerance(torch.bfloat16)
    for size, right in ((-7e-40, True), (1e-36, True), (1e-30, False)):
        want = torch.tensor([size], dtype=torch.float64)
        assert compare_values(torch.zeros(1, dtype=torch.bfloat16), want, tolerance).ok is right


def test_what_is_only_moved_keeps_its_bits():
    """Kills: a copy that rounds, or that loses the sign of a zero."""
    x = torch.tensor([1.5, -0.0, math.nan, math.inf, -3e-39])
    assert compare_values(x.clone(), x.double(), SAME_BITS).ok
    for wrong in (x * 1.000001, x + 0.0, x.nan_to_num(0.0)):
        assert not compare_values(wrong, x.double(), SAME_BITS).ok
    assert compare_values(x + 0.0, x.double(), derive_tolerance(torch.float32)).ok


def test_a_tensor_subclass_is_no_tensor():
    class Lazy(torch.Tensor):
        pass

    got = torch.zeros(3).as_subclass(Lazy)
    want = torch.zeros(3, dtype=torch.float64)
    found = compare(got, want, torch.float32, "cpu", derive_tolerance(torch.float32))
    assert found.code == "wrong-type"


@pytest.mark.parametrize(
    ("got", "expected", "fine"),
    [
        ([(0, 1)], [(0, 1)], True),
        ([[0, 1]], [(0, 1)], True),
        ([(0, 1.0)], [(0, 1)], True),
        ([(0, 2)], [(0, 1)], False),
        ([], [(0, 1)], False),
        (None, [1], False),
        ({"a": 1.0}, {"a": 1.0 + 1e-12}, True),
        ({"a": 1.0}, {"b": 1.0}, False),
        (math.nan, 1.0, False),
        (True, 1, False),
        ("x", "x", True),
    ],
)
def test_plain_values(got, expected, fine):
    assert (compare_plain(got, expected) is None) is fine


def test_a_row_that_cancelled_by_chance_borrows_the_size_of_the_others():
    """Kills: a tolerance that asks more of one column of sums than float32 can give."""
    sums = torch.tensor([[10.0], [1e-4]], dtype=torch.float64)  # sums of 130 terms of size one
    allowed = derive_tolerance(torch.float32, terms=130).bound(sums)
    assert allowed[1, 0] > 4 * torch.finfo(torch.float32).eps * 10
    wide = sums.expand(2, 16)
    assert derive_tolerance(torch.float32, terms=130).bound(wide)[1, 0] < 1e-8


@pytest.mark.parametrize(
    ("got", "expected", "said"),
    [
        ([], [1], "Expected 1 item, got 0: []."),
        ([], [1, 2], "Expected 2 items, got 0: []."),
        (3.51e-06, 3.510000000000013, "Expected 3.51, got 3.51e-06."),
        (1.0000001, 1.0, "Expected 1.0, got 1.0000001."),
        (2.5, 2, "Expected 2, got 2.5."),
    ],
)
def test_plain_values_are_told_in_few_digits(got, expected, said):
    """Kills: "1 items", and sixteen digits where six tell the two apart."""
    assert compare_plain(got, expected) == said
