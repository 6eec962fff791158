"""The inputs that a wrong answer ignores, and those that get into it and must not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..port import device
from .cases import Case
from .compare import Difference, apart
from .guard import same_bits
from .trial import Trial

FAR = 4.0  # tolerances between two results of one answer that rounding does not explain

Values = dict[str, torch.Tensor]
Result = Callable[[Case, Values], torch.Tensor | None]  # None where there is none to compare


def unused_and_undue(
    trial: Trial,
    wrong: Difference,
    new: Values,
    cases: Sequence[Case],
    reference: Result,
    answer: Result,
) -> tuple[list[str], list[str]]:
    """Inputs that the right result depends on and the wrong one does not; and tensors of which it
    is the other way round. Each input is changed alone.

    new: other values of the tensors. cases: the check's, which know other texts.
    """
    same: dict[str, bool] = {}  # whether no change of an input that matters made a difference
    undue: list[str] = []
    for name, case, values in changes(trial, new, cases):
        want = reference(case, values) if same.get(name, True) else None
        if want is None or want.shape != wrong.expected.shape:
            continue
        matters = apart(wrong.tolerance, wrong.expected, want) > 1
        if not matters and (name not in values or not torch.equal(want, wrong.expected)):
            continue
        # A flag that is ignored does no harm where it says what the answer does anyway.
        flag = isinstance(trial.plain.get(name), (bool, str))
        if flag and apart(wrong.tolerance, wrong.got, want) > FAR:
            continue
        got = answer(case, values)
        if got is None:
            continue
        if matters:
            same[name] = same_bits(wrong.got, got)
        elif apart(wrong.tolerance, wrong.got, got) > FAR:
            undue.append(name)
    return [name for name, holds in same.items() if holds], undue


def changes(trial: Trial, new: Values, cases: Sequence[Case]) -> Iterator[tuple[str, Case, Values]]:
    """The call with one input changed: its name, the case, its values."""
    for name, value in trial.values.items():
        if not same_bits(value, new[name]):  # where all draws are alike nothing would change
            yield name, trial.case, trial.values | {name: new[name]}
    for name, value in trial.plain.items():
        for other in _others(name, value, cases):
            arguments = trial.case.arguments | {name: other}
            yield name, replace(trial.case, arguments=arguments), trial.values


def _others(name: str, value: Any, cases: Sequence[Case]) -> list[Any]:
    """What else might stand in the place of a number, a flag or a text, the likeliest first.

    A whole number may be a size, which on a GPU nothing keeps within its tensor. A number that
    half or twice its size leaves without effect, such as a small eps, is to blame for nothing.
    """
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1, value // 2, 8 * value + 5] if device.INTERPRET else []
    if isinstance(value, float):
        return [value / 2, 2 * value, 32 * value]
    if isinstance(value, str):
        known = dict.fromkeys(case.arguments.get(name) for case in cases)
        return [text for text in known if isinstance(text, str) and text != value]
    return []
