"""Further calls that a diagnosis may ask for, to tell one cause of a wrong result from another."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

import torch

from ..port import device
from ..port.tuners import choosing
from .caller import Caller
from .cases import Case
from .compare import Difference, apart
from .diagnose import Evidence
from .inputs import FAR, unused_and_undue
from .mistakes import Lineup, Mistake
from .oracle import as_float64, results_of
from .report import Finding
from .trial import Trial, fence, run_trial


def evidence(
    calls: Caller, trial: Trial, differences: list[Difference], position: int, astray: str
) -> Evidence:
    """What may be looked at for one wrong result. astray: the code of what the meter found."""
    case, wrong = trial.case, differences[position]

    def contiguous_is_right() -> bool:
        if all(spec.layout == "contiguous" for spec in case.specs().values()):
            return False
        plain = case.with_layout("contiguous")
        return calls.right(calls.trial(plain, draw=trial.draw, fill=trial.fill))

    def fill_matters() -> bool:
        again = calls.again(trial, fill="large" if trial.fill == "nan" else "nan")
        if not calls.check.deterministic:
            return calls.right(again)
        if again.error is not None or calls.same_bits(trial, again):
            return False
        # By the margins, or by what a call before it left behind?
        third = calls.again(trial)
        return third.error is None and calls.same_bits(trial, third)

    def wider_is_right() -> bool:
        if not device.INTERPRET:
            return False
        with fence():
            if not calls.right(calls.again(trial, mode="wider")):
                return False
            # One more may be enough by chance, where the grid is small.
            return all(
                calls.right(calls.trial(other, mode="wider"))
                for other in calls.others(case)
                if not calls.right(calls.trial(other))
            )

    def differs_again() -> bool:
        again = calls.result(calls.again(trial), wrong, position)
        return again is not None and apart(wrong.tolerance, wrong.got, again) > FAR

    def untuned_is_right() -> bool:
        if not trial.watch.tried:
            return False
        with choosing(0), fence():
            return calls.right(calls.again(trial))

    def reference(other: Case, values: dict[str, torch.Tensor]) -> torch.Tensor | None:
        try:
            return results_of(calls.check.reference, other, values)[position].to(torch.float64)
        except Exception:  # nobody said that it takes these
            return None

    def answer(other: Case, values: dict[str, torch.Tensor]) -> torch.Tensor | None:
        asked = calls.check
        how: dict[str, Any] = {"allow": asked.allow, "timeout": asked.timeout}
        with fence():
            again = run_trial(calls.fn, other, values, fill=trial.fill, **how)
        return calls.result(again, wrong, position)

    def first_for_all() -> str:
        for name, value in trial.values.items() if calls.check.deterministic else ():
            if value.numel() < 2 or not value.is_floating_point():
                continue
            first = value.flatten()[0]
            want, other = (
                reference(case, trial.values | {name: torch.full_like(value, float(number))})
                for number in (first, 2 * first + 1)
            )
            shape = wrong.expected.shape
            if want is None or other is None or not want.shape == other.shape == shape:
                continue
            # Not where any one number everywhere gives this: where it is subtracted from itself.
            told_apart = apart(wrong.tolerance, want, other) > FAR
            if told_apart and apart(wrong.tolerance, want, wrong.got) <= FAR:
                return name
        return ""

    @functools.cache
    def by_inputs() -> tuple[list[str], list[str]]:
        if not calls.check.deterministic or trial.draw:
            return [], []
        new = calls.oracle.values(case, 1)
        return unused_and_undue(trial, wrong, new, calls.check.cases, reference, answer)

    # A number of tokens, or of an expert, is no large input.
    sizes = [v.double().abs() for v in trial.values.values() if v.numel() and v.is_floating_point()]
    finite = [float(s[s.isfinite()].max()) for s in sizes if bool(s.isfinite().any())]
    return Evidence(
        wrong,
        trial.watch.kernels,
        functools.partial(_known_mistake, calls, trial, differences, astray),
        calls.check.nan,
        contiguous_is_right,
        fill_matters,
        any(min(launch.grid, default=1) < 1 for launch in trial.watch.launches),
        max(finite, default=0.0),
        lambda: by_inputs()[0],
        lambda: by_inputs()[1],
        {name: as_float64(value) for name, value in trial.values.items()},
        wider_is_right,
        first_for_all,
        differs_again,
        untuned_is_right,
    )


def told_by_mutant(calls: Caller, trial: Trial | None, astray: Finding) -> Finding | None:
    """The mistake that is told in the place of what the meter found, where its results are those of
    this trial; where both are right all the same, one of which the meter says the same."""
    if trial is None or trial.error is not None:
        return None
    known = [each for each in calls.check.known() if astray.code in each.instead]
    differences = calls.differences(trial)
    if any(d.bad is None for d in differences):
        return None
    lineup = _lineup(calls, trial, differences, astray.code, known)
    told = lineup.mistake()
    if told or any(bool(d.bad.any()) for d in differences):
        return Finding(told.code, told.sentence) if told else None
    alike = {
        each.sentence: each.code
        for each in known
        if lineup.harmless(each) and _seen_alike(each, trial, astray)
    }
    return Finding(*alike.popitem()[::-1]) if len(alike) == 1 else None


def _seen_alike(known: Mistake, trial: Trial, astray: Finding) -> bool:
    """Whether the meter finds the same of a mistake, in as many places, at whatever line."""
    try:
        code, sentence = known.astray(trial.case, trial.draw)
    except Exception:  # a run of its own, which may end in another way
        return False
    return code == astray.code and _without_lines(sentence) == _without_lines(astray.sentence)


def _without_lines(text: str) -> str:
    """The first sentence without the lines that it quotes; names stay."""
    first = re.sub("`(.*?)`", lambda quote: quote[1] if quote[1].isidentifier() else "", text)
    return first.partition(". ")[0]


def _lineup(
    calls: Caller,
    trial: Trial,
    differences: list[Difference],
    astray: str,
    known: Sequence[Mistake],
) -> Lineup:
    others = calls.others(trial.case)
    return Lineup(known, trial.case, trial.draw, differences, astray, others, calls.results_on)


def _known_mistake(
    calls: Caller, trial: Trial, differences: list[Difference], astray: str
) -> Finding | None:
    known = calls.check.known()
    if not known:  # on a GPU: what would a wrong answer touch on another case?
        return None
    found = _lineup(calls, trial, differences, astray, known).mistake()
    return Finding(found.code, found.sentence) if found else None
