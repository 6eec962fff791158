"""How a check cell calls its function, without running the check: functions, cases, timed cases.

`tritonbook facts`, `tritonbook bench` and the compile check take their arguments from here, so that
they speak of the same shapes as the check does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from . import gaps
from .exercises import Exercise, load, machinery


@dataclass(frozen=True)
class Call:
    """One `check(fn, reference, cases, ...)` as written in a check cell."""

    key: str
    function: Callable[..., Any]
    reference: Callable[..., Any]
    cases: tuple[Any, ...]
    options: dict[str, Any]

    @property
    def launches_kernels(self) -> bool:
        """False for a check of plain Python."""
        return self.options.get("triton", True)

    def usable(self) -> list[Any]:
        """Cases with a result, the timed one included."""
        speed = self.options.get("speed")
        found = [case for case in self.cases if case.raises is None]
        return [*found, speed.case] if speed else found

    def largest(self) -> Any:
        """The usable case with the most elements. Raises ValueError where there is none."""
        return max(self.usable(), key=elements)


def elements(case: Any) -> int:
    """How many elements the tensors of a case have in all."""
    return sum(torch.Size(spec.shape).numel() for spec in case.specs().values())


def arguments(case: Any, device: str = "cpu") -> list[Any]:
    """The arguments of a case in call order, its tensors drawn and on `device`."""
    drawn = {name: value.to(device) for name, value in case.sample().items()}
    return [drawn.get(name, value) for name, value in case.arguments.items()]


def calls(exercise: Exercise, key: str, module: ModuleType | None = None) -> list[Call]:
    """Every call of `check` in the visible part of a check cell. Raises KeyError: no such key."""
    module = module or load(exercise)
    found: list[Call] = []

    def note(function: Any, reference: Any, cases: Any, **options: Any) -> None:
        found.append(Call(key, function, reference, tuple(cases), options))

    text = gaps.without_hidden(exercise.checks()[key].source)
    with machinery():
        names = {**vars(module), "check": note}
        exec(compile(text, f"<check {key} of {exercise.slug}>", "exec"), names)
    return found
