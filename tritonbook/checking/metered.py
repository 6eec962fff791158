"""Calls under the interpreter's meter: every lane's address, and what follows from where it is."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..port import device
from ..seeing.record import STORE
from .asks import narrow_place
from .cases import Case
from .codes import MEMORY, VALUES, about
from .judge import Judge
from .report import Finding
from .trial import Trial, fence

_NARROW_REMARK = (
    "Right, and wrong beyond 2**31 elements: {place} has 32 bits. `.to(tl.int64)` on the program's "
    "number, or on what was loaded, before it is multiplied makes it 64."
)
_SINGLE_REMARK = (
    "Right, and slow: `{kernel}` takes one element after the other, {count} in a program. Give "
    "`tl.load` a tile of addresses, `tl.arange`, and all its lanes work at once."
)
SINGLE = 16  # accesses of one element each, by one program, that a tile would have made at once


@dataclass
class Metered:
    """What the meter shows of an answer; nothing on a GPU. seen: its latest record."""

    verdict: Judge
    seen: Any = None
    remarks: dict[str, str] = field(default_factory=dict)  # of an answer that passes, by their kind

    def __post_init__(self) -> None:
        self.calls = self.verdict.calls

    def first_call(self, case: Case) -> tuple[Finding | None, bool, Trial | None]:
        """In the interpreter: every lane's address against the tensors' bounds; shared stores.

        Goes first, because an address far outside would end this process. The second value says
        that nothing more may be run: lanes left all memory of the call, or the call itself failed.
        The third is the trial, None on a GPU.
        """
        if not device.INTERPRET:
            return None, False, None
        from ..seeing.meter import meter

        with meter() as seen:
            trial = self.calls.trial(case)
        self.seen = seen
        if trial.error is not None:
            return self.verdict.explained(trial, trial.error), True, trial
        masking_helps = functools.partial(self._right_where_harmless, case)
        for code, sentence in seen.findings_of_call(
            trial.inputs, trial.watch.outputs, masking_helps
        ):
            return Finding(code, sentence), seen.left_all_memory, trial
        return None, False, trial

    def or_swapped(self, trial: Trial | None, finding: Finding | None) -> Finding | None:
        """What is wrong; where the grid's axes are exchanged, that, which is tried out."""
        if not (finding and trial and trial.error is None and device.INTERPRET):
            return finding
        if not about(finding.code, VALUES, MEMORY) or self.calls.right(trial):
            return finding
        for one, two in ((0, 1), (0, 2), (1, 2)):
            if self._right_if_swapped(trial, one, two) and self._so_elsewhere(trial, one, two):
                said = (
                    f"Axes {one} and {two} of the grid are swapped: with these two numbers of the "
                    "grid exchanged the result is right. `tl.program_id(0)` counts along the "
                    "grid's first number, `tl.program_id(1)` along its second."
                )
                return Finding(finding.code, said, finding.detail)
        return finding

    def _right_if_swapped(self, trial: Trial, one: int, two: int) -> bool | None:
        """Whether a call is right with two axes of its grids exchanged, and none of its lanes goes
        astray; None if none changes."""
        from ..seeing.meter import meter

        if all(launch.swapped(one, two) == launch.grid for launch in trial.watch.launches):
            return None
        with fence(), meter() as seen:
            again = self.calls.again(trial, mode=f"swapped {one} {two}")
        found = seen.findings_of_call(again.inputs, again.watch.outputs)
        return self.calls.right(again) and not any(about(code, MEMORY) for code, _ in found)

    def _so_elsewhere(self, trial: Trial, one: int, two: int) -> bool:
        """Whether no other case denies it: a grid of few programs may be right by chance."""
        for case in self.calls.others(trial.case):
            with fence():
                other = self.calls.trial(case)
            if not other.error and self._right_if_swapped(other, one, two) is False:
                return False
        return True

    def _right_where_harmless(self, case: Case) -> bool:
        """Whether lanes without an element of their own are all that is wrong: they find what a
        sum or a maximum does not feel, behind each row if need be, and the result is right."""
        contiguous = {spec.layout for spec in case.specs().values()} == {"contiguous"}
        cases = [case, *([case.with_layout("apart")] if contiguous else [])]
        for mild, fill in itertools.product(cases, ("zero", "least")):
            with fence():
                trial = self.calls.trial(mild, fill=fill)
            if self.calls.right(trial):
                return True
        return False

    def waits(self, first: Trial) -> Finding | None:
        """In the interpreter, of a right result: on a GPU, does a barrier miss, or does it matter
        what other programs do between two accesses of one?"""
        if self.seen is None:
            return None
        from ..port.order import interrupted
        from ..seeing.barriers import meetings, without_barrier

        for found in without_barrier(self.seen):
            return Finding(*found)
        for launch, point, told in meetings(self.seen):
            with interrupted(launch, point), fence():
                again = self.calls.again(first)
            if again.error is None and not self.calls.right(again):
                return Finding("race", told)
        return None

    def remark_on_offsets(self, first: Trial) -> None:
        """A remark where an offset has 32 bits though a tensor may be large."""
        if place := narrow_place(first.case, self.seen):
            self.remarks.setdefault("int32-offset", _NARROW_REMARK.format(place=place))

    def remark_on_single_elements(self) -> None:
        """A remark where a kernel has no tile: each access of a program is of one element."""
        for launch, accesses in self.seen.by_launch().items():
            if any(math.prod(access.shape) > 1 for access in accesses):
                continue
            stores = Counter(access.program for access in accesses if access.kind == STORE)
            if (count := max(stores.values(), default=0)) >= SINGLE:
                kernel = self.seen.launches[launch].kernel
                said = _SINGLE_REMARK.format(kernel=kernel, count=count)
                self.remarks.setdefault("single-elements", said)
