"""What the checks of kernels that walk through rows share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tritonbook.checking.cases import Case, arguments
from tritonbook.seeing.tiles import CannotShow, traffic

# A load of one number moves a sector of 32 bytes: eight times what it reads of float32. A tile
# that begins anywhere moves at most twice what it reads.
LONE = 4


def whole_tiles(of: Case, *names: str) -> Callable[..., None]:
    """An assertion that the answer, on this float32 case, loads tiles of the tensors `names`."""

    def taken(fn: Any) -> None:
        try:
            moved = traffic(fn, *arguments(of), **of.options)
        except CannotShow:
            return
        for name in names:
            assert moved[name].moved < LONE * max(1, moved[name].read), (
                f"The values are right, but {name} is loaded one number at a time: a loop over the "
                "row, with one lane of a program at work. Load a tile at once."
            )

    return taken
