"""Offsets of 32 bits that lead through a tensor: seen, and told from indices that stay small."""

from __future__ import annotations

import linecache
import sys

import pytest
import torch
import triton
import triton.language as tl

from tritonbook.seeing.meter import meter
from tritonbook.seeing.offsets import narrow_place

WIDTH = 20


@triton.jit
def rows_kernel(x_ptr, out_ptr, table_ptr, N, HOW: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    if HOW == "narrow":
        at = row * N + cols
    if HOW == "narrow, over two lines":
        first = row * N
        at = cols + first
    if HOW == "cast too late":
        at = (row * N).to(tl.int64) + cols
    if HOW == "by a constant":
        at = row * 20 + cols
    if HOW == "in two steps":
        at = row * (N // 4) * 4 + cols
    if HOW == "from a table":
        at = tl.load(table_ptr + row) * N + cols
    if HOW == "counted":
        before = tl.sum((tl.arange(0, BLOCK) < row).to(tl.int32), axis=0)
        at = before * N + cols
    if HOW == "chosen columns":
        at = row.to(tl.int64) * N + tl.where(cols < row + N, cols, 0) * tl.num_programs(1)
    if HOW == "wide":
        at = row.to(tl.int64) * N + cols
    if HOW == "an index first":
        at = (row * tl.num_programs(1) + tl.program_id(1)).to(tl.int64) * N + cols
    if HOW == "from a wide table":
        at = tl.load(table_ptr + row).to(tl.int64) * N + cols
    if HOW == "a tile of rows":
        rows = row * BLOCK + tl.arange(0, BLOCK)
        at = rows[:, None] * N + cols[None, :]
        mask = (rows < tl.num_programs(0))[:, None] & mask[None, :]
    if HOW == "both sides of a tile":
        rows = row + tl.arange(0, BLOCK) * 0
        at = rows[:, None] * N + cols[None, :] * tl.num_programs(1)
        mask = mask[None, :]
    if HOW == "tiles":
        at = row * BLOCK + cols
        mask = at < N * tl.num_programs(0)
    if HOW == "pieces of a row":
        at = row.to(tl.int64) * N + tl.program_id(1) * N // 2 + cols
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask), mask=mask)


def seen_in(how):
    x = torch.ones(5, WIDTH)
    table = torch.arange(5, dtype=torch.int32)
    with meter() as seen:
        rows_kernel[(5,)](x, torch.empty_like(x), table, WIDTH, how, BLOCK=32)
    return seen


@pytest.mark.parametrize(
    ("how", "product"),
    [
        ("narrow", "row * N"),
        ("narrow, over two lines", "row * N"),
        ("cast too late", "row * N"),
        ("in two steps", "row * (N // 4)"),
        ("from a table", "tl.load(table_ptr + row) * N"),
        ("counted", "before * N"),
        ("a tile of rows", "rows[:, None] * N"),
        ("both sides of a tile", "rows[:, None] * N"),
    ],
)
def test_a_number_times_a_size_in_32_bits_is_named(how, product):
    """Kills: offsets that wrap round beyond 2**31 elements, passed as no case has so many; a line
    with two products, and no word of which one it is."""
    seen = seen_in(how)
    place = narrow_place(seen)
    lines = {line for (line, _, _), _, _ in seen.launches[0].narrow}
    whole = [linecache.getline(__file__, line).strip() for line in lines]
    assert len(whole) == 1 and product in whole[0]
    named = product if sys.version_info >= (3, 11) else whole[0]
    assert place == f"`{named}` in `rows_kernel`"


def test_of_a_kernel_in_a_function_the_line_is_named():
    """Kills: a piece of another word, as its columns are counted without the indentation."""

    @triton.jit
    def inner_kernel(out_ptr, N):
        tl.store(out_ptr + tl.program_id(0) * N, 1.0)

    with meter() as seen:
        inner_kernel[(5,)](torch.empty(5, WIDTH), WIDTH)
    named = "`tl.store(out_ptr + tl.program_id(0) * N, 1.0)` in `inner_kernel`"
    assert narrow_place(seen) == named


@pytest.mark.parametrize(
    "how",
    ["wide", "an index first", "from a wide table", "tiles", "pieces of a row", "chosen columns"],
)
def test_what_is_wide_or_stays_small_is_not_named(how):
    """Kills: an index for an offset; the start of a tile, or a column, for that of a row."""
    assert narrow_place(seen_in(how), among=("x", "out")) == ""


def test_a_constant_is_a_size_where_a_page_asks():
    seen = seen_in("by a constant")
    assert narrow_place(seen) == ""
    assert "row * 20" in narrow_place(seen, among=("x",))
    assert narrow_place(seen, among=("table",)) == ""


def test_few_numbers_beside_a_large_tensor_are_not_named():
    """Kills: a remark on the statistics of rows, which are as many as there are rows."""
    with meter() as seen:
        x, large = torch.ones(5, 3), torch.ones(60)
        rows_kernel[(5,)](x, torch.empty_like(x), large, 3, "narrow", BLOCK=4)
    assert seen.launches[0].narrow and narrow_place(seen) == ""
