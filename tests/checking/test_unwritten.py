"""What was not written, or read too early: who is to blame is tried out, not guessed."""

import textwrap

import pytest
import torch
import triton
import triton.language as tl

import tritonbook
from tests.port.test_plain_words import double_with
from tests.port.triton_mistakes import GOOD, LOAD
from tritonbook.checking import case, tensor
from tritonbook.checking.mistakes import Mistake

from .answers import run

interpreted = pytest.mark.skipif(not tritonbook.INTERPRET, reason="the meter sees it")

OUT = "out = tl.load(out_ptr + offs, mask=mask, other=0.0)"
SUM = f"{LOAD}\ntl.store(out_ptr + offs, out + 2 * x, mask=mask)"
ADDED = f"{OUT}\n{SUM}"
NO_NAN = f"{OUT}\nout = tl.where(out == out, out, 0.0)\n{SUM}"
ATOMIC = f"{LOAD}\ntl.atomic_add(out_ptr + offs, 2 * x, mask=mask)"


def found(lines, out="torch.empty_like(x)", programs="triton.cdiv(n, 64)", n=130, more=()):
    """What is found of a kernel of these lines, its result made so, launched so many times. n: of
    elements; more: of those of further cases."""
    launch = f"out = {out}\n    double_kernel[({programs},)](x, out, n, BLOCK=64)"
    cases = [case(f"{size} elements", x=tensor(size)) for size in (n, *more)]
    return run(double_with(lines, launch), lambda x: 2 * x, cases, key="double").finding


@interpreted
@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (ADDED, "reads [0] of `out` at `out = tl.load(out_ptr + offs, mask=mask"),
        (NO_NAN, "reads [0] of `out` at `out = tl.load(out_ptr + offs, mask=mask"),
        (ATOMIC, "Begin with `torch.zeros`."),
    ],
)
def test_a_read_of_what_nobody_wrote_is_named(lines, words):
    """Kills: "the root of a negative number", or "wrote nothing", for a kernel that reads its own
    result."""
    said = found(lines)
    assert said.code == "reads-unwritten" and words in said.sentence, said


@pytest.mark.parametrize("lines", [ADDED, ATOMIC])
@pytest.mark.parametrize("out", ["torch.zeros_like(x)", "torch.empty_like(x).zero_()"])
def test_what_begins_with_zeros_may_be_read(lines, out):
    assert found(lines, out) is None


def test_a_result_of_another_shape_is_the_cause_of_stores_outside():
    """Kills: a mask or an address blamed where the tensor was made too small."""
    said = found(GOOD, "torch.empty(100, device=x.device)")
    assert said.code == "wrong-shape" and "got (100,)" in said.sentence


def test_what_torch_put_there_was_written():
    """Kills: `torch.empty(...).fill_(...)` taken for memory that nobody filled."""
    said = found(ADDED, "torch.empty_like(x).fill_(torch.nan)")
    assert said.code == "nan"


@interpreted
def test_lanes_that_share_a_place_are_named():
    """Kills: "the grid or the mask ends before them" said of a scatter whose lanes all have one
    address; and of lanes that share one where each place was written."""
    said = found(f"{LOAD}\ntl.store(out_ptr + offs // 4 * 4, 2 * x, mask=mask)")
    assert said.code == "unwritten", said
    assert said.sentence.startswith("4 lanes of program 0 of `double_kernel` store to the same")
    short = f"{LOAD}\ntl.store(out_ptr + offs, 2 * x, mask=offs < 100)"
    assert "store to the same place" not in found(short).sentence


@interpreted
def test_a_mask_that_is_one_too_short_is_still_asked_for():
    said = found(f"mask = offs < n - 1\n{GOOD}")
    assert said.sentence.startswith("Only the last element was not written. Is the mask")


@interpreted
def test_a_tile_that_begins_at_one_is_asked_for():
    said = found(f"offs += 1\nmask = offs < n\n{GOOD}", n=64)
    assert said.sentence.startswith("Only the first element was not written. Do the offsets")


@interpreted
@pytest.mark.parametrize("n", [65, 130])
def test_a_grid_that_is_rounded_down_is_named(n):
    """Kills: "is the mask one too short?" where the last program is missing."""
    said = found(GOOD, programs="n // 64", n=n, more=(64, 1000))
    assert said.code == "unwritten-tail"
    assert "with one more the result is right" in said.sentence, said


@interpreted
@pytest.mark.parametrize("lines", [GOOD, f"for i in range(2):\n{textwrap.indent(GOOD, '    ')}"])
def test_a_grid_is_not_named_where_one_more_is_enough_in_one_case_alone(lines):
    """Kills: "with one more the result is right", of each program's tiles but the first left out:
    with the least of the cases it is so by chance."""
    said = found(lines, programs="triton.cdiv(n, 128)", n=128, more=(500,))
    assert said.code == "unwritten-tail"
    assert "with one more" not in said.sentence, said


@interpreted
@pytest.mark.parametrize("value", ["x", "2 * x"])
def test_a_store_to_an_input_is_named(value):
    """Kills: "is there a store to its place" of one that goes to `x`, whether or not that changes
    what it holds."""
    store = f"tl.store(x_ptr + offs, {value}, mask=mask)"
    said = found(f"{LOAD}\n{store}")
    assert said.sentence.startswith(f"`double_kernel` stores to the input `x` at `{store}`"), said


@interpreted
def test_a_store_to_an_input_beside_that_to_the_result_is_not_all_there_is():
    said = found(f"{GOOD}\ntl.store(x_ptr + offs, 2 * x, mask=mask)")
    assert said.code == "input-changed" and "nothing to the result" not in said.sentence


@triton.jit
def stores_what_it_found_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(x_ptr + offs, tl.load(x_ptr + offs, mask=mask), mask=mask)


def test_an_unchanged_tensor_was_perhaps_written():
    """Kills: "wrote nothing" and "never written" where the old values were stored again."""

    def double_(x):
        stores_what_it_found_kernel[(3,)](x, x, x.numel(), BLOCK=64)

    cases = [case("ragged", x=tensor(130))]
    report = run(double_, lambda x: 2 * x, cases, key="double_", inplace=("x",))
    assert report.finding.code == "unwritten"
    assert "holds what it held before" in report.finding.sentence
    assert "never written" not in report.cases[0].first_bad


def test_a_copy_that_changes_in_the_place_of_the_argument_is_told():
    """Kills: "is there a store to its place" where the store went to a clone."""

    def double_(x):
        y = x.clone()
        doubles_kernel[(3,)](y, y, x.numel(), 0, BLOCK=64)
        return y

    cases = [case("ragged", x=tensor(130))]
    report = run(double_, lambda x: 2 * x, cases, key="double_", inplace=("x",), allow=("clone",))
    assert report.finding.code == "other-tensor", report.finding


@triton.jit
def doubles_kernel(x_ptr, out_ptr, n, MORE, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr + offs, (2 + MORE) * x, mask=offs < n + MORE)


@interpreted
@pytest.mark.parametrize("instead", [True, False])
def test_a_mutant_is_told_in_the_place_of_a_store_outside(instead):
    """Kills: the place of a store alone, where a mistake gives the same results and leaves the
    tensor in the same way."""

    def double(x):
        out = torch.empty_like(x)
        doubles_kernel[(3,)](x, out, x.numel(), 1, BLOCK=64)
        return out

    def gives(case, draw):
        return 3 * case.sample(draw)["x"]

    def astray(case, draw):
        return outside, ""

    outside = "out-of-bounds-store"
    codes = (outside,) if instead else ()
    known = Mistake(
        "tripled", "This is 3 x.", gives, lambda case, draw: (outside, ""), instead=codes
    )
    cases = [case("ragged", x=tensor(130)), case("another", x=tensor(70))]
    report = run(double, lambda x: 2 * x, cases, known=lambda: [known])
    assert report.finding.code == ("tripled" if instead else outside), report.finding


@triton.jit
def runs_on_kernel(x_ptr, n, N, BLOCK: tl.constexpr):
    offs_n = tl.arange(0, BLOCK)
    offs = tl.program_id(0) * N + offs_n
    x = tl.load(x_ptr + offs, mask=offs_n < N, other=0.0)
    tl.store(x_ptr + offs, 2 * x, mask=offs < n)


@interpreted
def test_rows_that_run_into_the_next_one_are_named_as_a_race():
    """Kills: "row 0 is right, look at what the row's number does" said of a missing mask."""

    def double_(x):
        runs_on_kernel[(x.shape[0],)](x, x.numel(), x.shape[1], BLOCK=64)

    cases = [case("rows", x=tensor(5, 40))]
    report = run(double_, lambda x: 2 * x, cases, key="double_", inplace=("x",))
    assert report.finding.code == "race", report.finding


@triton.jit
def whole_kernel(x_ptr, out_ptr, n, ALL: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (offs < n) if ALL else (offs < n) & (offs % 3 != 1)
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, tl.where(x < 0, 127, 5).to(tl.int8), mask=mask)


@pytest.mark.parametrize("all_of_them", [True, False])
def test_a_number_that_looks_like_never_written_may_have_been_written(all_of_them):
    """Kills: "never written" of a stored 127, which marks fresh memory of int8."""

    def saturate(x):
        out = torch.empty(x.shape, dtype=torch.int8, device=x.device)
        whole_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), all_of_them, BLOCK=64)
        return out

    def right(x):
        return torch.where(x < 0, -127, 5).to(torch.int8)

    found = run(saturate, right, [case("signs", x=tensor(150))]).finding
    assert found.code == ("wrong-by-value" if all_of_them else "unwritten"), found
    assert all_of_them or "element 1, 4" in found.sentence or "in 50 of 150" in found.sentence


@triton.jit
def tile_kernel(x_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[:, None]
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]
    mask = (rows < M) & (columns < N)
    x = tl.load(x_ptr + rows * N + columns, mask=mask)
    tl.store(out_ptr + rows * N + columns, 2 * x, mask=mask)


@triton.jit
def row_kernel(x_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    row, batch = tl.program_id(1), tl.program_id(0)
    at = (batch * M + row) * N + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < N
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=mask), mask=mask)


@interpreted
@pytest.mark.parametrize("right", [True, False])
def test_swapped_axes_of_the_grid_are_named_after_a_trial(right):
    """Kills: "the grid has too few programs", or a mask that is blamed, where the grid's two
    numbers are exchanged."""

    def by_tiles(x):
        out, (M, N) = torch.empty_like(x), x.shape
        grid = (triton.cdiv(M, 16), triton.cdiv(N, 16))
        tile_kernel[grid[::-1] if right else grid](x, out, M, N, BLOCK=16)
        return out

    def by_rows(x):
        out, (B, M, N) = torch.empty_like(x), x.shape
        row_kernel[(B, M) if right else (M, B)](x, out, M, N, BLOCK=16)
        return out

    for answer, shape in ((by_tiles, (20, 70)), (by_rows, (2, 5, 11))):
        finding = run(answer, lambda x: 2 * x, [case("ragged", x=tensor(*shape))]).finding
        if right:
            assert finding is None
        else:
            assert finding.sentence.startswith("Axes 0 and 1 of the grid are swapped"), finding


@triton.jit
def weighted_kernel(x_ptr, w_ptr, out_ptr, sums_ptr, N, BLOCK: tl.constexpr):
    row, group = tl.program_id(0), tl.program_id(1)
    at = (row + group) * N + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < N
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    w = tl.load(w_ptr + row * N + tl.arange(0, BLOCK), mask=mask, other=0.0)
    tl.store(sums_ptr + row, tl.sum(x))
    tl.store(out_ptr + at, x * w, mask=mask)


@interpreted
def test_axes_that_are_right_by_luck_are_not_called_swapped():
    """Kills: "axes 0 and 1 are swapped" where a row's number in a weight's address is the fault:
    with (1, M) for (M, 1) the result is right, and the programs overwrite each other's sums."""

    def weighted(x, w):
        out, (M, N) = torch.empty_like(x), x.shape
        weighted_kernel[(M, 1)](x, w, out, x.new_empty(M), N, BLOCK=16)
        return out

    cases = [case("rows", x=tensor(4, 16), w=tensor(16))]
    finding = run(weighted, lambda x, w: x * w, cases).finding
    assert finding.code == "reads-outside" and "Axes" not in finding.sentence, finding


@triton.jit
def last_tile_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row, offs = tl.program_id(0) * N, tl.arange(0, BLOCK)
    x = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + offs, mask=offs < N)
    tl.store(out_ptr + row + offs, 2 * x, mask=offs < N)


@interpreted
def test_a_store_behind_its_loop_is_among_the_reasons():
    def double(x):
        out, (M, N) = torch.empty_like(x), x.shape
        last_tile_kernel[(M,)](x, out, N, BLOCK=16)
        return out

    finding = run(double, lambda x: 2 * x, [case("rows", x=tensor(3, 60))]).finding
    assert "or the store stands behind its loop" in finding.sentence, finding


@interpreted
def test_of_several_empty_tensors_none_is_named():
    """Kills: the store to an empty output that is said to leave the input."""

    def double(x):
        out = torch.empty_like(x)
        store_kernel[(1,)](x, out, BLOCK=16)
        return out

    finding = run(double, lambda x: 2 * x, [case("nothing", x=tensor(0, 4))]).finding
    assert finding.code == "out-of-bounds-store"
    assert "writes outside a tensor that has no element" in finding.sentence, finding


@triton.jit
def store_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), 0.0)


@triton.jit
def added_kernel(x_ptr, out_ptr, N, stride_xm, stride_xn, BLOCK: tl.constexpr):
    row, offs = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + stride_xm + offs * stride_xn, mask=offs < N)
    tl.store(out_ptr + row * N + offs, 2 * x, mask=offs < N)


@triton.jit
def idle_kernel(x_ptr, out_ptr, N, stride_xm, stride_xn, BLOCK: tl.constexpr):
    row, offs = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row + offs * stride_xn, mask=offs < N)
    tl.store(out_ptr + row * N + offs, 2 * x, mask=offs < N)


@triton.jit
def foreign_kernel(x_ptr, out_ptr, N, stride_xm, stride_om, BLOCK: tl.constexpr):
    row, offs = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_om + offs, mask=offs < N)
    tl.store(out_ptr + row * stride_om + offs, 2 * x, mask=offs < N)
    tl.store(out_ptr + row * stride_om + offs, 2 * x, mask=offs < N - 0 * stride_xm)


@pytest.mark.parametrize(
    ("kernel", "strides", "said"),
    [
        (added_kernel, lambda x, out: x.stride(), "`stride_xm` is added to an address: is an"),
        (
            idle_kernel,
            lambda x, out: x.stride(),
            "`idle_kernel` takes `stride_xm`, and does nothing",
        ),
        (foreign_kernel, lambda x, out: (x.stride(0), 12), "`stride_om` stands beside `x_ptr`: is"),
    ],
)
def test_an_odd_stride_is_asked_about(kernel, strides, said):
    """Kills: "wrong everywhere", and no word of the stride that is added, idle or another's."""

    def double(x):
        out = torch.empty(x.shape, device=x.device)
        kernel[(x.shape[0],)](x, out, x.shape[1], *strides(x, out), BLOCK=16)
        return out

    finding = run(
        double, lambda x: 2 * x, [case("rows", x=tensor(5, 12, layout="strided"))]
    ).finding
    assert said in finding.sentence, finding
