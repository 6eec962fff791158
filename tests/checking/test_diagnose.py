"""An open gap is seen wherever it stands. Kills: looking at the launched kernel's own body only."""

import pytest
import torch
import triton
import triton.language as tl

from tritonbook.checking import case, tensor
from tritonbook.checking.compare import Difference, derive_tolerance
from tritonbook.checking.diagnose import Evidence, diagnose, open_gap
from tritonbook.checking.places import where

from .answers import run


@triton.jit
def open_helper(x_ptr):
    pass


@triton.jit
def full_helper(x_ptr):
    tl.store(x_ptr, 1)


@triton.jit
def calls_open(x_ptr):
    open_helper(x_ptr)


@triton.jit
def calls_full(x_ptr):
    full_helper(x_ptr)


@triton.jit
def multiplies(x_ptr):
    tile = tl.full((16, 16), 1.0, tl.float32)
    tl.store(x_ptr, tl.sum(tl.sum(tl.dot(tile, tile), 1), 0))


@triton.jit
def walks(x_ptr, n, BLOCK_SIZE: tl.constexpr):
    for start in range(0, n, BLOCK_SIZE):
        full_helper(x_ptr + start)


@triton.jit
def calls_walks(x_ptr, n, BLOCK_SIZE: tl.constexpr):
    walks(x_ptr, n, BLOCK_SIZE)


@pytest.mark.parametrize(
    ("kernel", "words"), [(walks, "loop"), (calls_walks, "loop"), (calls_full, "the grid ends")]
)
def test_a_row_that_ends_too_early(kernel, words):
    """Kills: "Does the loop reach its end?" asked about a kernel without a loop."""
    unwritten = torch.zeros(3, 40, dtype=torch.bool)
    unwritten[:, 24:] = True
    difference = Difference(unwritten=unwritten, bad=unwritten, got=unwritten.double())
    difference.expected = torch.ones(3, 40, dtype=torch.float64)
    found = diagnose(Evidence(difference, {"kernel": kernel.fn}))
    assert found.code == "unwritten-tail" and "Column 24" in found.sentence
    assert words in found.sentence, found.sentence


@triton.jit
def filled_above_its_pass(x_ptr, n):
    # YOUR CODE HERE
    tl.store(x_ptr, 1, mask=n < 0)
    pass


@triton.jit
def as_the_page_left(x_ptr, n):
    # YOUR CODE HERE
    pass


@pytest.mark.parametrize(
    ("kernel", "is_open"),
    [
        (open_helper, True),
        (calls_open, True),
        (as_the_page_left, True),
        (filled_above_its_pass, False),
        (calls_full, False),
    ],
)
def test_an_open_gap(kernel, is_open):
    """Kills: "the gap is still open" said of a store whose mask is never true."""
    assert bool(open_gap([kernel.fn])) is is_open


def test_few_right_places_are_named():
    """Kills: "element all but 152", and a list of a thousand places."""
    bad = torch.ones(1024, dtype=torch.bool)
    bad[[152, 510]] = False
    assert where(bad) == "in 1022 of 1024 elements (all but element 152, 510 of 1024)"
    bad = torch.ones(9, 4, dtype=torch.bool)
    bad[4] = False
    assert where(bad) == "in 32 of 36 elements (all but row 4 of 9)"


@pytest.mark.parametrize(
    ("wrong", "lost"),
    [
        (lambda x: x.bfloat16().double(), True),
        (lambda x: 1.001 * x, False),
        (lambda x: x + 1e-3, False),
    ],
)
def test_small_errors_up_and_down_are_lost_digits(wrong, lost):
    """Kills: "by hand" for a cast to half precision, and lost digits for a factor or a summand; a
    product in TF32 where there is none."""
    expected = torch.randn(64, generator=torch.Generator().manual_seed(0)).double()
    how = dict(tolerance=derive_tolerance(torch.float32, 1), unwritten=torch.zeros(64).bool())
    difference = Difference(
        got=wrong(expected), expected=expected, bad=how["unwritten"] == 0, **how
    )
    said = diagnose(Evidence(difference, {"kernel": calls_full.fn})).sentence
    assert ("digits lost" in said) == lost and "TF32" not in said
    assert ("TF32" in diagnose(Evidence(difference, {"kernel": multiplies.fn})).sentence) == lost


@triton.jit
def centred_kernel(x_ptr, y_ptr, out_ptr, M, N, FROM: tl.constexpr, BLOCK: tl.constexpr):
    row, offs = tl.program_id(0), tl.arange(0, BLOCK)
    mask = offs < N
    x = tl.load(x_ptr + row * N + offs, mask=mask, other=0.0)
    y = tl.load(y_ptr + FROM + 0 * offs, mask=mask)
    out = x - tl.sum(x, axis=0) / N + y
    if FROM:
        out = 0 * out + tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + row * N + offs, out, mask=mask)


@pytest.mark.parametrize(("first", "code"), [(0, "first-for-all"), (1, "")])
def test_the_first_number_in_each_lane_is_told(first, code):
    """Kills: "wrong in 1023 of 1024 elements" of a load without its offsets; and an input blamed of
    which any number everywhere gives the same."""

    def centred(x, y):
        out = torch.empty_like(x)
        centred_kernel[(x.shape[0],)](x, y, out, *x.shape, FROM=first, BLOCK=32)
        return out

    cases = [case("rows", x=tensor(5, 20), y=tensor(20))]
    found = run(centred, lambda x, y: x - x.mean(dim=1, keepdim=True) + y, cases).finding
    assert (found.code == "first-for-all") == bool(code), found
    assert not code or found.sentence.startswith("Every lane got the first number of `y`.")
