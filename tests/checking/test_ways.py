"""A task that asks for one way of doing it: another way, right in its values, is not an answer."""

import pytest
import torch
import triton
import triton.language as tl
from triton.language import softmax as ready

from tritonbook.checking import case, tensor
from tritonbook.port.device import INTERPRET

from .answers import run


@triton.jit
def row_kernel(x_ptr, out_ptr, M, N, ROWS: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :]
    mask = (rows < M) & (cols < N)
    x = tl.load(x_ptr + rows * N + cols, mask=mask, other=0.0)
    tl.store(out_ptr + rows * N + cols, x + tl.sum(x, axis=1)[:, None], mask=mask)


@triton.jit
def loop_kernel(x_ptr, out_ptr, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    sums = tl.zeros([BLOCK_N], dtype=tl.float32)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        sums += tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0)
    total = tl.sum(sums, axis=0)
    for start in range(0, N, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0)
        tl.store(out_ptr + row * N + cols, x + total, mask=cols < N)


def by_rows(x, block=0, rows=1):
    M, N = x.shape
    out = torch.empty_like(x)
    BLOCK_N = triton.next_power_of_2(N)
    row_kernel[(triton.cdiv(M, rows),)](x, out, M, N, ROWS=rows, BLOCK_N=BLOCK_N)
    return out


def many_rows_a_program(x, block=0):
    return by_rows(x, rows=4)


def in_pieces(x, block):
    out = torch.empty_like(x)
    loop_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK_N=block)
    return out


def added(x):
    return x + x.sum(dim=1, keepdim=True)


CASES = [case("rows", x=tensor(6, 100), options={"block": 32})]
ROW = {"programs": lambda x, block: x.shape[0]}
LOOP = ROW | {"max_tile": lambda x, block: block}


def code(fn, rules):
    report = run(fn, added, CASES, terms=100, **rules)
    return report.finding and report.finding.code


def test_several_rows_a_program_are_no_row_a_program():
    """Kills: the kernel that a later page asks for, handed in for the plain one."""
    assert code(by_rows, ROW) is None
    assert code(many_rows_a_program, ROW) == "other-programs"
    assert code(many_rows_a_program, {}) is None


@pytest.mark.skipif(not INTERPRET, reason="the meter sees tiles in the interpreter alone")
def test_a_whole_row_at_once_is_no_loop():
    """Kills: the first task's kernel handed in for the second, which asks for pieces."""
    assert code(in_pieces, LOOP) is None
    assert code(by_rows, LOOP) == "tile-too-large"
    assert code(by_rows, ROW) is None


@triton.jit
def softmax(x):
    e = tl.exp(x - tl.max(x, axis=0))
    return e / tl.sum(e, axis=0)


@triton.jit
def dressed(x):
    return tl.softmax(x)


@triton.jit
def renamed(x):
    return ready(x)


def answer(op):
    @triton.jit
    def kernel(x_ptr, out_ptr, N, BLOCK_N: tl.constexpr):
        cols = tl.arange(0, BLOCK_N)
        at = tl.program_id(0) * N + cols
        x = tl.load(x_ptr + at, mask=cols < N, other=-float("inf"))
        tl.store(out_ptr + at, op(x), mask=cols < N)

    def wrapper(x):
        out = torch.empty_like(x)
        kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK_N=triton.next_power_of_2(x.shape[1]))
        return out

    return wrapper


@pytest.mark.parametrize(
    ("fn", "expected"),
    [(answer(softmax), None), (answer(dressed), "not-by-hand"), (answer(renamed), "not-by-hand")],
    ids=["written", "in a helper", "imported under another name"],
)
def test_tritons_own_softmax_is_not_written_by_hand(fn, expected):
    """Kills: `tl.softmax(x)` where the task is to write it, also in a helper or by another name;
    a rule that refuses a helper for its name."""
    cases = [case("rows", x=tensor(3, 50))]
    report = run(fn, lambda x: x.softmax(dim=1), cases, terms=50, by_hand=["softmax"])
    assert (report.finding and report.finding.code) == expected
