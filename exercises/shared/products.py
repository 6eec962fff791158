"""What the checks of products of matrices share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tritonbook import matmul_tile
from tritonbook.checking import Tolerance, case, rounded_once, tensor
from tritonbook.checking.cases import Case, arguments
from tritonbook.checking.compare import derive_tolerance
from tritonbook.port.device import INTERPRET
from tritonbook.seeing.tiles import watch

from .looking import where_shown

How = str | dict[str, Any] | None  # a tensor's layout, or what else is said of it


def product(
    note: str, M: int, K: int, N: int, a: How = None, b: How = None, short: int = 0, **more: Any
) -> Case:
    """A case: a [M, K], and b [K, N], which lacks `short` rows. tile: an option, if it is said."""
    drawn = [{"layout": how} if isinstance(how, str) else how or {} for how in (a, b)]
    tile = {"tile": more.pop("tile")} if more.get("tile") else {}
    options = tile | more.pop("options", {})
    tensors = {"a": tensor(M, K, **drawn[0]), "b": tensor(K - short, N, **drawn[1])}
    return case(note, options=options, **tensors, **more)


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


def rounded_between(dtype: torch.dtype) -> Tolerance:
    """The hidden values are rounded to dtype as well: that error enters the second sum."""
    eps = torch.finfo(dtype).eps if dtype != torch.float32 else 0.0
    because = "one rounding at the store and one of the hidden values, three float32 sums"
    return Tolerance(eps + 4e-6, eps + 5e-5, 1e-6, because)


def uses_the_tile(of: Case) -> Callable[[Any], None]:
    """An assertion that the answer, on this case, takes the tile that it is told. In the
    interpreter, where every load and store is seen.

    Few rows and columns are enough, but more than 16: an answer may cut a tile down to them.
    """

    @where_shown
    def used(fn: Any) -> None:
        taken = []
        for size in (16, 32) if INTERPRET else ():
            tile = {"BLOCK_M": size, "BLOCK_N": size, "BLOCK_K": 32}
            seen = watch(fn, arguments(of), {"tile": tile})
            taken.append({(access.program, access.shape) for access in seen.accesses})
        assert not taken or taken[0] != taken[1], (
            "The product is right, but `tile` is not used: with tiles of 16 x 16 and of 32 x 32 "
            "the same programs take tiles of the same size. Grid and kernel get their sizes from "
            "it."
        )

    return used
