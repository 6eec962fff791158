"""What is right for a case: the reference's values, dtypes and tolerance. Needs no learner."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from ..port import device
from .cases import DTYPES, Case
from .checks import Check
from .compare import Tolerance, derive_tolerance, flatten


@dataclass
class Oracle:
    """Answers for one check. It keeps what it computed of the latest case."""

    check: Check
    _latest: Case | None = None
    _drawn: dict[int, dict[str, torch.Tensor]] = field(default_factory=dict)  # by draw
    _right: dict[int, list[torch.Tensor]] = field(default_factory=dict)
    _dtypes: list[torch.dtype] = field(default_factory=list)

    def values(self, case: Case, draw: int = 0) -> dict[str, torch.Tensor]:
        """`case.sample(draw)`, drawn once for all trials of a case: only to be read."""
        if self._latest is not case:
            self._latest, self._drawn, self._right, self._dtypes = case, {}, {}, []
        if draw not in self._drawn:
            self._drawn[draw] = case.sample(draw)
        return self._drawn[draw]

    def expected(self, case: Case, draw: int = 0) -> list[torch.Tensor]:
        """Results of the reference, computed once for all trials of a case: only to be read."""
        values = self.values(case, draw)
        if draw not in self._right:
            self._right[draw] = results_of(self.check.reference, case, values)
        return self._right[draw]

    def output_dtypes(self, case: Case) -> list[torch.dtype]:
        """Dtypes of the results: those that the reference gives for the case's own dtypes.

        It runs on the CPU where cases are small: a tensor without data makes PyTorch import its
        compiler, over a second in each process that checks anything. Cases on a GPU may be large,
        and the CPU lacks some operators for some dtypes: then without.
        """
        values = self.values(case)
        if self._dtypes:
            return self._dtypes
        copies = {name: value.clone() for name, value in values.items()}
        without_data = {
            name: torch.empty(value.shape, dtype=value.dtype, device="meta")
            for name, value in values.items()
        }
        first, second = (copies, without_data) if device.INTERPRET else (without_data, copies)
        try:
            self._dtypes = self._dtypes_for(case, first)
        except RuntimeError:
            self._dtypes = self._dtypes_for(case, second)
        return self._dtypes

    def _dtypes_for(self, case: Case, values: dict[str, torch.Tensor]) -> list[torch.dtype]:
        with torch.no_grad():
            return [leaf.dtype for leaf in flatten(self.check.reference(*case.filled(values)))]

    def tolerance_for(self, case: Case, dtype: torch.dtype) -> Tolerance:
        tolerance, terms = self.check.tolerance, self.check.terms
        if tolerance is not None:
            return self._of(tolerance, case, dtype) if callable(tolerance) else tolerance
        if callable(terms):
            terms = terms(*case.filled(self.values(case)))
        return derive_tolerance(dtype, int(terms))

    @staticmethod
    def _of(tolerance: Callable[..., Tolerance], case: Case, dtype: torch.dtype) -> Tolerance:
        given = dtype, DTYPES[case.effective_dtype()]
        return tolerance(*given[: len(inspect.signature(tolerance).parameters)])


def results_of(
    reference: Callable[..., Any], case: Case, values: dict[str, torch.Tensor]
) -> list[torch.Tensor]:
    """What the reference gives in float64, computed on the CPU from copies that nobody else
    holds."""
    copies = {name: as_float64(value) for name, value in values.items()}
    with torch.no_grad():
        return flatten(reference(*case.filled(copies)))


def as_float64(values: torch.Tensor) -> torch.Tensor:
    """A copy, always."""
    return values.to(torch.float64 if values.dtype.is_floating_point else values.dtype, copy=True)
