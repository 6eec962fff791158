"""Numbers and made-up values on a tape."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest

import tritonbook  # noqa: F401  (decides on the interpreter before Triton is imported)
from autograde.walls.tape import TapeError, decode, encode


class Kind(enum.IntEnum):
    TWO = 2


def _nothing(value: Any) -> Any:
    raise TapeError("no such value")


@pytest.mark.parametrize(
    ("number", "written"), [(np.float64(0.5), 0.5), (Kind.TWO, 2), (True, True), (1e-6, 1e-6)]
)
def test_numbers_of_other_kinds_are_numbers(number, written) -> None:
    """Kills: an honest `eps = np.float64(...)` that passes in a notebook and fails the grader."""
    found = encode(number, _nothing)
    assert (found, type(found)) == (written, type(written))


@pytest.mark.parametrize(
    "made_up", [{"dtype": []}, {"tl": []}, {"dict": [[{"tuple": [{"list": []}]}, 1]]}]
)
def test_what_nobody_writes_breaks_the_protocol(made_up) -> None:
    """Kills: a made-up value that ends the grader with a TypeError, its own fault."""
    with pytest.raises(TapeError):
        decode(made_up, _nothing)
