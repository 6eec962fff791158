"""What the checks of products of matrices share: mistakes of the walk along K, TF32, the grid.

A mistake is played on memory as it is in a contiguous case: a row of numbers, with NaN around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tritonbook import matmul_tile
from tritonbook.checking import Tolerance, rounded_once
from tritonbook.checking.cases import Case, arguments
from tritonbook.checking.compare import derive_tolerance
from tritonbook.port.device import INTERPRET
from tritonbook.seeing.tiles import CannotShow, traffic, watch

AROUND = 1 << 14  # NaN before and after a matrix
NAN = float("nan")


def tile_of(tile: dict[str, int] | None, dtype: torch.dtype) -> dict[str, int]:
    """The tile that a call asks for; the wrappers' own choice where it asks for none."""
    return tile or matmul_tile(dtype)


def ceil_div(size: int, tile: int) -> int:
    return -(-size // tile)


def programs(M: int, N: int, tile: dict[str, int] | None = None) -> int:
    """Tiles that cover an M x N matrix; the most there can be where the answer chooses the tile."""
    tile = tile or {"BLOCK_M": 16, "BLOCK_N": 16}
    return ceil_div(M, tile["BLOCK_M"]) * ceil_div(N, tile["BLOCK_N"])


def tolerance(dtype: torch.dtype) -> Tolerance:
    """Of a float32 sum of up to 1,024 products, rounded once: a second rounding is refused."""
    if dtype == torch.float32:
        return derive_tolerance(dtype, 1024)
    return rounded_once(terms=1024)(dtype)


def stores_once(of: Case) -> Callable[[Any], None]:
    """An assertion that the answer, on this case, stores no element twice."""

    def once(fn: Any) -> None:
        inputs = arguments(of)
        try:
            moved = traffic(fn, *inputs, **of.options)
        except CannotShow:
            return
        written = sum(tensor.written for tensor in moved.tensors)
        times = written / max(1, sum(tensor.written_distinct for tensor in moved.tensors))
        often = (
            f"each element is stored {times:.2g} times" if times > 1.9 else "some are stored again"
        )
        assert times <= 1, (
            f"The values are right, but {often}: the store stands inside the loop. Put it behind "
            "the loop."
        )

    return once


def uses_the_tile(of: Case) -> Callable[[Any], None]:
    """An assertion that the answer, on this case, takes the tile that it is told. In the
    interpreter, where every load and store is seen.

    Few rows and columns are enough, but more than 16: an answer may cut a tile down to them.
    """

    def used(fn: Any) -> None:
        taken = []
        for size in (16, 32) if INTERPRET else ():
            tile = {"BLOCK_M": size, "BLOCK_N": size, "BLOCK_K": 32}
            try:
                seen = watch(fn, arguments(of), {"tile": tile})
            except CannotShow:
                return
            taken.append({(access.program, access.shape) for access in seen.accesses})
        assert not taken or taken[0] != taken[1], (
            "The product is right, but `tile` is not used: with tiles of 16 x 16 and of 32 x 32 "
            "the same programs take tiles of the same size. Grid and kernel get their sizes from "
            "it."
        )

    return used


def as_tf32(x: torch.Tensor) -> torch.Tensor:
    return (x.to(torch.float32).view(torch.int32) & ~0x1FFF).view(torch.float32).to(x.dtype)


def read(x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """What stands at these places, counted from the first element of a contiguous x."""
    around = torch.full((AROUND,), NAN, dtype=x.dtype)
    memory = torch.cat([around, x.flatten(), around])
    return memory[(places + AROUND).clamp(0, len(memory) - 1)]


def walked(
    a: torch.Tensor,
    b: torch.Tensor,
    block: int,
    *,
    a_step: int | None = None,
    b_step: int | None = None,
    b_row: int | None = None,
    ahead: int = 0,
    starts: Callable[[int, int], range] = lambda K, block: range(0, K, block),
    counts: Callable[[torch.Tensor, int, int], torch.Tensor] = lambda j, k, K: j < K - k,
    add: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = torch.add,
) -> torch.Tensor:
    """The product, as a loop with a mistake computes it.

    a_step, b_step: elements by which the tiles move on. b_row: the distance of B's rows. ahead:
    steps that both are ahead of k. starts: the values of k. counts: which lanes j the mask along K
    lets through at step k. add: (sum so far, product of one step).
    """
    M, K = a.shape
    N = b.shape[1]
    a_step = block if a_step is None else a_step
    b_step = block * N if b_step is None else b_step
    j = torch.arange(block)
    c = torch.zeros(M, N, dtype=a.dtype)
    for step, k in enumerate(starts(K, block), ahead):
        kept = counts(j, k, K)
        at_a = torch.arange(M)[:, None] * K + j + step * a_step
        at_b = j[:, None] * (b_row or N) + torch.arange(N) + step * b_step
        of_a = torch.where(kept, read(a, at_a), 0.0)
        of_b = torch.where(kept[:, None], read(b, at_b), 0.0)
        c = add(c, of_a @ of_b)
    return c


def covered(c: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """c where only its first rows and columns were written; c itself where that is nothing."""
    c = c.clone()
    if not rows or not columns:
        return c
    c[rows:], c[:, columns:] = NAN, NAN
    return c


def stored_apart(c: torch.Tensor, row: int, tile: dict[str, int]) -> torch.Tensor:
    """c when its tiles, one program after the other, are stored as if rows lay `row` apart."""
    M, N = c.shape
    memory = torch.full((c.numel(),), NAN, dtype=c.dtype)
    for m in torch.arange(M).split(tile["BLOCK_M"]):
        for n in torch.arange(N).split(tile["BLOCK_N"]):
            places = (m[:, None] * row + n).flatten()
            inside = places < c.numel()
            memory[places[inside]] = c[m[:, None], n].flatten()[inside]
    return memory.view(M, N)


SAME_TILES = (
    "Every step multiplies the same two tiles, the first ones. Move the pointers on along K, or "
    "add k to their offsets."
)

Sentences = dict[str, tuple[Callable[..., torch.Tensor], str]]


def mistakes(
    block_of: Callable[[dict[str, int] | None, torch.dtype], dict[str, int]],
) -> Sentences:
    """Mistakes of a tiled product a @ b. block_of: a call's tile, from its option and its dtype."""

    def played(**how: Any) -> Callable[..., torch.Tensor]:
        def formula(a, b, *, dtype, tile=None):
            block = block_of(tile, dtype)["BLOCK_K"]
            told = {
                name: how[name](a, b, block)
                for name in ("a_step", "b_step", "b_row")
                if name in how
            }
            return walked(a, b, block, **(how | told))

        return formula

    def twice(so_far, product):
        return so_far + (so_far + product)

    def only_last(so_far, product):
        return product

    def half_sum(a, b, *, dtype, tile=None):
        def rounded(so_far, product):
            return (so_far + product.to(dtype).double()).to(dtype).double()

        if dtype == torch.float32:
            return a @ b
        return walked(a, b, block_of(tile, dtype)["BLOCK_K"], add=rounded)

    def padded_with_ones(a, b, *, dtype, tile=None):
        return a @ b + -a.shape[1] % block_of(tile, dtype)["BLOCK_K"]

    def with_programs(rows, columns):
        """Computed by so many rows and columns of programs: functions of M, N and the tile."""

        def formula(a, b, *, dtype, tile=None):
            sizes = block_of(tile, dtype)
            BM, BN = sizes["BLOCK_M"], sizes["BLOCK_N"]
            M, N = a.shape[0], b.shape[1]
            return covered(a @ b, rows(M, N, BM, BN) * BM, columns(M, N, BM, BN) * BN)

        return formula

    def apart(row):
        def formula(a, b, *, dtype, tile=None):
            return stored_apart(a @ b, row(a), block_of(tile, dtype))

        return formula

    return {
        "a-stands-still": (
            played(a_step=lambda a, b, block: 0),
            "Every step uses the first tile of A. Move its pointers on along K.",
        ),
        "b-stands-still": (
            played(b_step=lambda a, b, block: 0),
            "Every step uses the first tile of B. Move its pointers on along K.",
        ),
        "b-moves-sideways": (
            played(b_step=lambda a, b, block: block),
            "B's pointers move along its rows. K runs down B: one step is BLOCK_K rows, so "
            "BLOCK_K times the distance of two rows.",
        ),
        "b-moves-one-row": (
            played(b_step=lambda a, b, block: b.shape[1]),
            "B's pointers move on by one row a step. One step is BLOCK_K rows.",
        ),
        "b-moves-by-rows-of-a": (
            played(b_step=lambda a, b, block: block * a.shape[1]),
            "B's pointers move on by rows of A's length. B's rows have N elements.",
        ),
        "a-moves-one": (
            played(a_step=lambda a, b, block: 1),
            "A's pointers move on by one column a step. One step is BLOCK_K columns.",
        ),
        "a-moves-down": (
            played(a_step=lambda a, b, block: block * a.shape[1]),
            "A's pointers move down its rows. K runs along A's rows: one step is BLOCK_K columns.",
        ),
        "b-has-rows-of-a": (
            played(
                b_row=lambda a, b, block: a.shape[1], b_step=lambda a, b, block: block * a.shape[1]
            ),
            "B was read as if its rows were as far apart as A's. B has strides of its own.",
        ),
        "both-stand-still": (
            played(a_step=lambda a, b, block: 0, b_step=lambda a, b, block: 0),
            SAME_TILES,
        ),
        "both-stand-still-unmasked": (
            played(
                a_step=lambda a, b, block: 0,
                b_step=lambda a, b, block: 0,
                counts=lambda j, k, K: j < K,
            ),
            SAME_TILES,
        ),
        "only-last-step": (
            played(add=only_last),
            "Only the last step of the loop counts. `tl.dot(a, b, acc, ...)` adds to acc; without "
            "acc it starts from zero.",
        ),
        "sum-added-twice": (
            played(add=twice),
            "The sum so far is added twice in each step. `tl.dot(a, b, acc, ...)` has added acc "
            "already: assign, no `+=`.",
        ),
        "sum-starts-at-one": (
            lambda a, b: a @ b + 1,
            "Everything is 1 too large: `acc` starts with ones.",
        ),
        "masked-lanes-hold-one": (
            padded_with_ones,
            "The masked lanes along K hold 1 and enter the sum: `other=0.0`.",
        ),
        "only-first-step": (
            played(starts=lambda K, block: range(1)),
            "Only the first step along K counts. Does the loop go on to K, and does its mask let "
            "the later steps through?",
        ),
        "last-step-left-out": (
            played(starts=lambda K, block: range(0, (K - 1) // block * block, block)),
            "The last step along K is missing. With `range(0, K, BLOCK_K)` the loop has it, also "
            "where K is no multiple of BLOCK_K.",
        ),
        "lanes-past-k": (
            played(counts=lambda j, k, K: j < K),
            "Lanes past K reached the sum. In the last step only K - k of them count, k being the "
            "step's first column: is the mask `offs_k < K - k`, for A and for B, and does k go in "
            "steps of BLOCK_K?",
        ),
        "k-subtracted-twice": (
            played(counts=lambda j, k, K: j < K - 2 * k),
            "k counts twice in the mask along K. Where the offsets hold k already it is "
            "`offs_k < K`, and otherwise `offs_k < K - k`.",
        ),
        "k-mask-too-short": (
            played(counts=lambda j, k, K: j < K - k - 1),
            "The last column of A never counts: the mask along K is one too short.",
        ),
        "half-sum": (
            half_sum,
            "The sum was rounded to half precision on the way. Keep `acc` in float32; the store "
            "rounds once.",
        ),
        "always-float16": (
            lambda a, b, *, dtype: a @ b if dtype == torch.float16 else (a @ b).half().double(),
            "The result was rounded to float16, whatever dtype it has. The store rounds by itself.",
        ),
        "tf32": (
            lambda a, b: as_tf32(a) @ as_tf32(b),
            "These are TF32 digits: float32 inputs were cut to 10 binary digits. Ask for "
            'input_precision="ieee".',
        ),
        "grid-swapped": (
            with_programs(
                lambda M, N, BM, BN: ceil_div(N, BN), lambda M, N, BM, BN: ceil_div(M, BM)
            ),
            "Some tiles have no program, and some programs have no tile: the grid's two numbers "
            "are swapped. The first is the number of tiles along M.",
        ),
        "grid-rounds-down": (
            with_programs(lambda M, N, BM, BN: M // BM, lambda M, N, BM, BN: N // BN),
            "The ragged last tiles have no program. Round the number of tiles up: `triton.cdiv`.",
        ),
        "grid-of-one-dimension": (
            with_programs(lambda M, N, BM, BN: ceil_div(M, BM), lambda M, N, BM, BN: 1),
            "Only the first column of tiles was computed: every `pid_n` is 0. The grid needs a "
            "second number, that of the tiles along N.",
        ),
        "grid-with-sizes-swapped": (
            with_programs(
                lambda M, N, BM, BN: ceil_div(M, BN), lambda M, N, BM, BN: ceil_div(N, BM)
            ),
            "Some tiles have no program. It looks as if M was divided by BLOCK_N, N by BLOCK_M.",
        ),
        "rows-one-apart": (
            apart(lambda a: 1),
            "The rows of C were stored one element apart. The row number needs C's row stride.",
        ),
        "rows-of-a-in-c": (
            apart(lambda a: a.shape[1]),
            "The tiles were stored as if C had rows of A's length. C has strides of its own.",
        ),
    }
