"""Known mistakes, and the one whose results a wrong answer gives, on this case and on others."""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .cases import Case, elements
from .compare import Difference, apart, flatten
from .guard import is_poison

NEAR = 4.0  # tolerances within which a result is a mistake's
SMALLER = 4  # times: so much smaller a wrong case has to be to be asked first
SECONDS = 15.0  # of a processor's time, for what all mistakes of an answer give


@dataclass(frozen=True)
class Mistake:
    """A mistake that has a name: what a learner is told of it, and what it gives.

    gives: the results for a case and a draw, as the answer's come; it raises where there are none.
    astray: code and sentence of what the meter finds there; empty where that is nothing. instead:
    codes of the meter's in whose place it is told.
    """

    code: str
    sentence: str
    gives: Callable[[Case, int], Any]
    astray: Callable[[Case, int], tuple[str, str]] = lambda case, draw: ("", "")
    instead: tuple[str, ...] = ()


@dataclass
class Lineup:
    """Finds the mistake that explains wrong results.

    case, draw, differences: of the call that was wrong; astray: what the meter found there. others:
    further cases with a result; answer_on: the answer's results there, None where the call failed.
    """

    known: Sequence[Mistake]
    case: Case
    draw: int
    differences: Sequence[Difference]
    astray: str
    others: Sequence[Case]
    answer_on: Callable[[Case], Sequence[Difference] | None]

    def __post_init__(self) -> None:
        self.others = sorted(self.others, key=elements)  # small ones tell as much, and sooner
        self._on = functools.cache(lambda at: self.answer_on(self.others[at]))
        self._end = time.process_time() + SECONDS

    def mistake(self) -> Mistake | None:
        """The mistake whose results are the answer's in every one of them. Of several the one that
        explains most other cases, then the nearest."""
        borne_out = self._borne_out()
        if len({known.sentence for known in borne_out}) > 1:
            borne_out.sort(key=lambda known: -sum(self._votes(known)))
        return borne_out[0] if borne_out else None

    def _borne_out(self) -> list[Mistake]:
        """The mistakes whose results are the answer's here, and not denied by others; the nearest
        first."""
        return [known for _, known, values in self._near() if self._bears_out(known, values)]

    def _near(self) -> list[tuple[float, Mistake, list[torch.Tensor]]]:
        """The mistakes whose results are the answer's on its case, the nearest first."""
        near: list[tuple[float, Mistake, list[torch.Tensor]]] = []
        for listed in self._short_lists():
            for known in listed:
                values = self._values(known, self.case, self.draw)
                far = distance(self.differences, values) if values else math.inf
                if values and far < NEAR and self._goes_astray_alike(known):
                    near.append((far, known, values))
            if near:
                break
        return sorted(near, key=lambda entry: entry[0])

    def harmless(self, known: Mistake) -> bool:
        """Whether a mistake's results on this case are all accepted."""
        values = self._values(known, self.case, self.draw)
        if values is None or len(values) != len(self.differences):
            return False
        return not any(
            d.got is None or d.got.shape != value.shape or makes_a_difference(d, value)
            for d, value in zip(self.differences, values, strict=True)
        )

    def _goes_astray_alike(self, known: Mistake) -> bool:
        try:
            return known.astray(self.case, self.draw)[0] == self.astray
        except Exception:  # a run of its own, which may end in another way
            return False

    def _bears_out(self, known: Mistake, values: list[torch.Tensor]) -> bool:
        """Whether the other cases speak for a mistake."""
        says = _says_something(self.differences, values)
        return self._stands(known) if says else self._confirmed(known, values)

    def _stands(self, known: Mistake) -> bool:
        """Whether the first other case that can tell speaks for a mistake, or else the next."""
        votes = list(itertools.islice(self._votes(known), 2))
        return 1 in votes or not (votes or self._too_late())

    def _short_lists(self) -> Iterator[Sequence[Mistake]]:
        """All mistakes; where a much smaller case is wrong too, those that explain it. Where it is
        NaN there and a number here, the others after them: that may have another reason."""
        size, spoilt = elements(self.case), None
        for at, other in enumerate(self.others):
            if SMALLER * elements(other) > size:
                break
            found = (elements(other) and self._on(at)) or ()
            if not any(d.bad is not None and bool(d.bad.any()) for d in found):
                continue
            if _has_numbers(found) or not _has_numbers(self.differences):
                yield self._explaining(at)
                return
            spoilt = at if spoilt is None else spoilt
        listed = [] if spoilt is None else self._explaining(spoilt)
        yield listed
        yield [known for known in self.known if known not in listed]

    def _explaining(self, at: int) -> list[Mistake]:
        """The mistakes whose results are the answer's on another case."""
        found = self._on(at) or ()
        valued = ((known, self._values(known, self.others[at], 0)) for known in self.known)
        return [known for known, values in valued if values and distance(found, values) < NEAR]

    def _values(self, known: Mistake, case: Case, draw: int) -> list[torch.Tensor] | None:
        """What a mistake gives, for comparison; None where it cannot take the case."""
        if self._too_late():
            return None
        try:
            raw = [each.detach().cpu() for each in flatten(known.gives(case, draw))]
            return [_seen(each.double(), is_poison(each), each.dtype) for each in raw]
        except Exception:  # a mistake is tried on cases that its author did not think of
            return None

    def _votes(self, known: Mistake, spoilt: bool = False) -> Iterator[int]:
        """For each other case that can tell: 1 where the answer gives there what the mistake gives,
        -1 where it does not. spoilt: so is a case where the mistake makes no difference. Zeros that
        both give tell nothing."""
        for at, other in enumerate(self.others):
            values = self._values(known, other, 0)
            found = self._on(at) if values else None
            if not values or not found or len(found) != len(values):
                continue
            pairs = list(zip(found, values, strict=True))
            if any(d.got is None or d.got.shape != v.shape for d, v in pairs):
                continue
            right = all(d.ok for d in found)
            if not any(makes_a_difference(d, v) for d, v in pairs):
                if spoilt:
                    yield 1 if right else -1
            elif right:
                yield -1
            elif not all(map(_spoils_all, values)):
                if distance(found, values) >= NEAR:
                    yield -1
                elif _says_something(found, values):
                    yield 1

    def _confirmed(self, known: Mistake, values: Sequence[torch.Tensor]) -> bool:
        """Whether no other case speaks against a mistake that spoils what it touches. NaN
        everywhere fits all that spoils a result: then another case has to bear it out, if only by
        being right where the mistake makes no difference."""
        spoilt = all(map(_spoils_all, values))
        borne_out = False
        for vote in self._votes(known, spoilt):
            if vote < 0:
                return False
            borne_out = True
        return borne_out or not (spoilt or self._too_late())

    def _too_late(self) -> bool:
        """Whether the time is up, so that a case may not have been asked."""
        return time.process_time() > self._end


def distance(differences: Sequence[Difference], values: Sequence[torch.Tensor]) -> float:
    """How many tolerances results lie from what a mistake gives, all of them together; infinity
    where the mistake makes no difference to any."""
    if len(values) != len(differences):
        return math.inf
    pairs = list(zip(differences, values, strict=True))
    if any(d.got is None or d.got.shape != value.shape for d, value in pairs):
        return math.inf
    if not any(makes_a_difference(d, value) for d, value in pairs):
        return math.inf
    return max(apart(d.tolerance, value, _seen(d.got, d.unwritten, d.dtype)) for d, value in pairs)


def _says_something(differences: Sequence[Difference], values: Sequence[torch.Tensor]) -> bool:
    """Whether what is wrong in a result is more than zeros, NaN and what was never written, which
    fit many a mistake."""
    for difference, value in zip(differences, values, strict=True):
        if difference.bad is not None:
            says = value[difference.bad]
            if bool((says.isfinite() & (says != 0) | (says == -math.inf)).any()):
                return True
    return False


def _seen(values: torch.Tensor, unwritten: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Values in which NaN that was computed is told from what was never written: infinity here.
    Whole numbers have none to spare."""
    return torch.where(unwritten, math.inf, values) if dtype.is_floating_point else values


def _has_numbers(differences: Sequence[Difference]) -> bool:
    """Whether nothing of a result is NaN or infinite."""
    return all(d.got is not None and bool(d.got.isfinite().all()) for d in differences)


def _spoils_all(values: torch.Tensor) -> bool:
    return bool((values.isnan() | (values == math.inf)).all())


def makes_a_difference(difference: Difference, value: torch.Tensor) -> bool:
    """Whether a mistake's result is none that would be accepted."""
    want = difference.expected
    alike = (want == value) | (
        want.isnan() & value.isnan()
    )  # infinities are equal, and have no gap
    near = (want - value).abs() <= difference.tolerance.bound(value) + 1e-300
    return not bool((alike | near).all())
