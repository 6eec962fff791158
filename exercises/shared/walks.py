"""What the checks of kernels that walk through rows share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tritonbook.checking.asks import Ask, compiled
from tritonbook.checking.cases import Case, arguments
from tritonbook.seeing.tiles import traffic
from tritonbook.seeing.traffic import Traffic
from tritonbook.words import later

from .looking import where_shown

# A load or store of one float32 moves a sector of 32 bytes: eight times what is asked for. A tile
# that begins anywhere moves at most twice that, and a row has few numbers beside its tiles.
LONE = 4


def each_once(moved: Traffic, *arguments: Any, **options: Any) -> None:
    """Asks of a case's `Traffic` that no program loads or stores an element twice."""
    for what, verb in (("read", later("loaded")), ("written", later("stored"))):
        for tensor in moved.tensors:
            times = getattr(tensor, what) / max(1, getattr(tensor, f"{what}_distinct"))
            shared = tensor.nbytes < max(other.nbytes for other in moved.tensors)
            assert times <= 1 or shared, (
                f"The values are right, but elements are {verb} {times:.3g} times. The contract "
                "asks for one load and one store of each: keep the tile, and use it again."
            )


def _no_float64(kernels: dict[str, tuple[Any, ...]]) -> None:
    count = max(kernel.float64 for found in kernels.values() for kernel in found)
    assert not count, (
        f"The values are right, but {count} instructions of the compiled kernel are float64, which "
        "most GPUs do slowly. The contract asks for float32."
    )


def in_float32(of: Case) -> Ask:
    """Asks of what is compiled for a case that nothing is computed in float64."""
    return compiled(_no_float64, of.note)


def whole_tiles(of: Case) -> Callable[..., None]:
    """An assertion that the answer, on this float32 case, takes its rows in tiles.

    It looks at all tensors together, as a grader's have other names.
    """

    @where_shown
    def taken(fn: Any) -> None:
        moved = traffic(fn, *arguments(of), **of.options)
        assert moved.moved < LONE * max(1, moved.bytes), (
            "The values are right, but a row is taken one number at a time: a loop over the row, "
            "with one lane of a program at work. Load a tile at once."
        )

    return taken
