"""Questions about PyTorch's type promotion, with operands written as words.

"int32 [70], 0.5" is an int32 tensor of 70 elements and a number; "float64 []" has rank 0.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

_NUMBER = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}


def operands_of(text: str) -> list[Any]:
    """The tensors (of ones, on the CPU) and numbers that `text` names."""
    found: list[Any] = []
    for word in text.split(", "):
        if " " in word:
            dtype, shape = word.split()
            sizes = [int(n) for n in shape.strip("[]").split("x") if n]
            found.append(torch.ones(sizes, dtype=getattr(torch, dtype)))
        elif word in ("True", "False"):
            found.append(word == "True")
        else:
            found.append(float(word) if "." in word else int(word))
    return found


def promoted(operands: str) -> str:
    """What PyTorch makes of the operands, such as "torch.float32"."""
    return _promoted(operands_of(operands))


def _promoted(operands: Sequence[Any]) -> str:
    from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

    rule = ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
    return str(elementwise_dtypes(*operands, type_promotion_kind=rule)[1])


def _first(operands: str) -> str:
    return str(next(a.dtype for a in operands_of(operands) if isinstance(a, torch.Tensor)))


def _widest(operands: str) -> str:
    dtypes = [getattr(a, "dtype", _NUMBER.get(type(a))) for a in operands_of(operands)]
    return str(functools.reduce(torch.promote_types, dtypes))


def _rank_0_as_number(operands: str) -> str:
    def plain(a: Any) -> Any:
        return a.item() if isinstance(a, torch.Tensor) and not a.ndim else a

    return _promoted([plain(a) for a in operands_of(operands)])


# Rules that somebody might take for PyTorch's, the likeliest first.
SUSPECTS: dict[str, tuple[Callable[[str], str], str]] = {
    "first-decides": (
        _first,
        "The first tensor's dtype decides. Integers times 0.5 must not become integers.",
    ),
    "widest-wins": (
        _widest,
        "All dtypes are joined as equals. A number or a tensor of rank 0 counts only if it is of a "
        "higher kind.",
    ),
    "0-d-is-a-number": (
        _rank_0_as_number,
        "A tensor of rank 0 is taken for a number. It has a dtype of its own: float64 stays "
        "float64.",
    ),
    "python-float-is-float64": (
        lambda operands: "torch.float64",
        "A Python number with a point is float64 here. In PyTorch it has the default dtype, "
        "float32.",
    ),
}
