"""What every GPU refuses, or may, and the interpreter carries out."""

from __future__ import annotations

import inspect

import pytest
import torch
import triton
import triton.language as tl

from tritonbook.checking import case, tensor
from tritonbook.checking.asks import offsets_of_64_bits
from tritonbook.checking.card import as_html, as_text

from .answers import run

ROWS = [case("rows", x=tensor(3, 50)), case("more rows", x=tensor(7, 20))]


@triton.jit
def double_rows_kernel(x_ptr, out_ptr, N, AXIS: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = tl.arange(0, BLOCK_N)
    at = tl.program_id(AXIS).to(tl.int64) * N + cols
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=cols < N), mask=cols < N)


def double_rows(axis, of_a_row=1):
    """Rows along this axis of the grid, 64 columns of them in each program."""

    def wrapper(x):
        M, N = x.shape
        out = torch.empty_like(x)
        grid = [1, 1, 1]
        grid[axis] = M * of_a_row
        double_rows_kernel[tuple(grid)](x, out, N, axis, BLOCK_N=64)
        return out

    return wrapper


@pytest.mark.parametrize("axis", [1, 2])
def test_rows_do_not_go_along_the_second_axis(axis):
    """Kills: a grid that no GPU takes for many rows, passed as no case has so many."""
    report = run(double_rows(axis), lambda x: 2 * x, ROWS)
    assert report.finding.code == "grid-limit"
    said = report.finding.sentence
    assert said.startswith("For 70,000 rows `double_rows_kernel` is launched with 70,000 programs")
    assert f"along axis {axis} of its grid" in said and "refuses more than 65,535" in said


def test_rows_go_along_the_first_axis():
    assert run(double_rows(0), lambda x: 2 * x, ROWS).passed


def heads_along(axis):
    """Heads of one row, along this axis of the grid."""

    def wrapper(x):
        out, grid = torch.empty_like(x), [1, 1, 1]
        grid[axis] = x.shape[0] * x.shape[1]
        double_rows_kernel[tuple(grid)](x, out, x.shape[2], axis, BLOCK_N=64)
        return out

    return wrapper


def test_what_a_check_says_is_many_goes_along_the_first_axis():
    """Kills: heads along axis 1, which no GPU takes where a page has more of them."""
    cases = [case("two times three heads", x=tensor(2, 3, 50))]
    wide = [case("70,000 heads", x=tensor(1, 70_000, 4))]
    report = run(heads_along(1), lambda x: 2 * x, cases, wide=wide)
    assert report.finding.code == "grid-limit"
    assert report.finding.sentence.startswith("For 70,000 heads `double_rows_kernel` is launched")
    assert run(heads_along(1), lambda x: 2 * x, cases).passed
    assert run(heads_along(0), lambda x: 2 * x, cases, wide=wide).passed


def test_what_a_second_axis_holds_for_many_rows_passes():
    """Kills: tiles of rows along axis 1 taken for rows."""

    @triton.jit
    def kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
        rows = tl.program_id(1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = tl.arange(0, BLOCK_N)
        at = rows[:, None] * N + cols
        mask = (rows < M)[:, None] & (cols < N)
        tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=mask), mask=mask)

    def wrapper(x):
        out = torch.empty_like(x)
        kernel[(1, triton.cdiv(x.shape[0], 2))](x, out, *x.shape, BLOCK_M=2, BLOCK_N=64)
        return out

    assert run(wrapper, lambda x: 2 * x, [case("two rows", x=tensor(2, 50)), *ROWS]).passed


@triton.jit
def one_by_one_kernel(x_ptr, out_ptr, N):
    for at in range(0, N):
        tl.store(out_ptr + at, 2 * tl.load(x_ptr + at))


def one_by_one(x):
    out = torch.empty_like(x)
    one_by_one_kernel[(1,)](x, out, x.numel())
    return out


@triton.jit
def narrow_rows_kernel(x_ptr, out_ptr, N, BLOCK_N: tl.constexpr):
    cols = tl.arange(0, BLOCK_N)
    at = tl.program_id(0) * N + cols
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=cols < N), mask=cols < N)


def narrow_rows(x):
    out = torch.empty_like(x)
    narrow_rows_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK_N=64)
    return out


def test_offsets_of_32_bits_are_remarked_upon():
    """Kills: a card that is silent about them, points lost for what tutorials write, and the remark
    on an answer that is wrong or whose offsets have 64 bits."""
    report = run(narrow_rows, lambda x: 2 * x, ROWS)
    assert report.passed and len(report.remarks) == 1
    assert report.remarks[0].startswith("Right, and wrong beyond 2**31 elements: `tl.program_id")
    for card in (as_text(report), as_html(report)):
        assert "Right, and wrong beyond 2**31 elements" in card
    assert run(narrow_rows, lambda x: 3 * x, ROWS).remarks == []
    assert run(double_rows(0), lambda x: 2 * x, ROWS).remarks == []


def test_a_kernel_without_a_tile_is_remarked_on():
    """Kills: a loop over single elements that passes without a word, and a remark on a kernel that
    loads one number beside its tiles."""
    numbers = [case("40 numbers", x=tensor(40))]
    report = run(one_by_one, lambda x: 2 * x, numbers)
    assert report.passed and len(report.remarks) == 1
    assert report.remarks[0].startswith("Right, and slow: `one_by_one_kernel` takes one element")
    assert run(double_rows(0), lambda x: 2 * x, ROWS).remarks == []


def test_offsets_of_32_bits_are_refused_where_a_page_asks_for_64():
    report = run(narrow_rows, lambda x: 2 * x, ROWS, asks=[offsets_of_64_bits("x")])
    assert report.finding.code == "int32-offset"
    assert "`tl.program_id(0) * N` in `narrow_rows_kernel`" in report.finding.sentence
    assert run(double_rows(0), lambda x: 2 * x, ROWS, asks=[offsets_of_64_bits("x")]).passed


def test_a_kernel_made_by_exec_is_refused():
    """Kills: a kernel that no GPU can compile, passed as the interpreter needs no text."""
    names = {"triton": triton, "tl": tl}
    text = inspect.getsource(double_rows_kernel.fn)
    exec(text, names)
    made = names["double_rows_kernel"]

    def wrapper(x):
        out = torch.empty_like(x)
        made[(x.shape[0],)](x, out, x.shape[1], 0, BLOCK_N=64)
        return out

    report = run(wrapper, lambda x: 2 * x, ROWS)
    assert report.finding.code == "no-source"
    assert "The text of `double_rows_kernel` is not in any cell or file" in report.finding.sentence


@triton.jit
def count_or_most_kernel(x_ptr, out_ptr, lock_ptr, parts_ptr, HOW: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0))
    if HOW == "most":
        if x > tl.load(out_ptr):
            tl.atomic_max(out_ptr, x)
    elif HOW == "exchanged":
        tl.atomic_xchg(out_ptr, tl.load(out_ptr) + x)
    elif HOW == "swapped once":
        old = tl.load(out_ptr)
        tl.atomic_cas(out_ptr, old, old + x)
    elif HOW == "swapped":
        old, found = -1, tl.load(out_ptr)
        while found != old:
            old = found
            found = tl.atomic_cas(out_ptr, old, old + x)
    elif HOW == "exchanged after an atomic operation":
        tl.atomic_add(out_ptr, 0)
        tl.atomic_xchg(out_ptr, tl.load(out_ptr, volatile=True) + x)
    elif HOW == "first set to 0":
        if tl.program_id(0) == 0:
            tl.store(out_ptr, 0)
        tl.atomic_add(out_ptr, x)
    elif HOW == "locked":
        while tl.atomic_cas(lock_ptr, 0, 1) == 1:
            pass
        tl.store(out_ptr, tl.load(out_ptr) + x)
        tl.atomic_xchg(lock_ptr, 0)
    elif HOW == "unlocked too early":
        while tl.atomic_cas(lock_ptr, 0, 1) == 1:
            pass
        sum = tl.load(out_ptr) + x
        tl.atomic_xchg(lock_ptr, 0)
        tl.store(out_ptr, sum)
    elif HOW == "by the last":
        tl.store(parts_ptr + tl.program_id(0), x)
        if tl.atomic_add(lock_ptr, 1) == tl.num_programs(0) - 1:
            for other in range(0, tl.num_programs(0)):
                tl.store(out_ptr, tl.load(out_ptr) + tl.load(parts_ptr + other))
    elif HOW == "by the last one's number":
        tl.atomic_add(lock_ptr, x)
        if tl.program_id(0) == tl.num_programs(0) - 1:
            tl.store(out_ptr, tl.load(lock_ptr))


def count_or_most(how):
    def wrapper(x):
        out = torch.zeros(1, dtype=torch.int32, device=x.device)
        lock, parts = torch.zeros_like(out), torch.empty_like(x)
        count_or_most_kernel[(x.shape[0],)](x, out, lock, parts, how)
        return out

    return wrapper


COUNTED = [case("five", x=tensor(5, dtype="int32", values="integers", low=1, high=9))]


def total(x):
    return x.sum(0, keepdim=True).to(torch.int32)


@pytest.mark.parametrize(
    ("how", "does"),
    [
        ("exchanged", "updates [0] of `out`"),
        ("swapped once", "updates [0] of `out`"),
        ("exchanged after an atomic operation", "updates [0] of `out`"),
        ("first set to 0", "stores [0] of `out`"),
        ("unlocked too early", "stores [0] of `out`"),
        ("by the last one's number", "updates [0] of `lock`"),
    ],
)
def test_what_programs_add_is_not_lost(how, does):
    """Kills: what holds only as long as no other program comes between two accesses, as none does
    in the interpreter, or as program 0 comes first."""
    found = run(count_or_most(how), total, COUNTED).finding
    assert found.code == "race"
    assert found.sentence.startswith(f"Program 0 of `count_or_most_kernel` {does} at `")


@pytest.mark.parametrize("how", ["swapped", "locked", "by the last"])
def test_programs_that_wait_for_each_other_pass(how):
    """Kills: refusing a right lock, a loop of compare-and-swap, a counter of those who are done."""
    assert run(count_or_most(how), total, COUNTED).passed


def test_what_comes_between_and_does_no_harm_passes():
    most = run(count_or_most("most"), lambda x: x.amax(0, keepdim=True), COUNTED)
    assert most.passed
