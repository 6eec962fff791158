"""Every trial of one case: other addresses, other margins, other data, no kernel at all."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..port import device
from .cases import Case, dtype_override
from .errors import explain_error
from .plain import PlainJudge
from .report import CaseResult, Finding
from .trial import CheckTimeout, Trial, captured_stderr, fence, time_limit

# Findings about values, as against launches, memory or types.
_VALUE_CODES = (
    "wrong-values",
    "unwritten",
    "unwritten-tail",
    "wrong-tail",
    "reads-outside",
    "strided-only",
    "rows-after-first",
    "constant-factor",
    "transposed",
    "nan",
    "overflow",
)
_UNWRITTEN = ("unwritten", "unwritten-tail")
# Findings that programs in wrong places lead to, beside wrong values.
_ASTRAY_CODES = ("out-of-bounds-store", "race", "reads-unwritten", "zeros", "rows-moved")
LEFT_TO_TORCH = (
    "A part of the result is right even when the kernel does nothing: torch copied it from an "
    "argument, and no kernel stored to it. The kernel has to store every element."
)
_SECOND_CALL = Finding(
    "second-call",
    "The first call is right, the next one is wrong. Something is kept from one call to the "
    "next: a buffer that is not cleared, or a remembered result.",
)


@dataclass
class Battery(PlainJudge):
    """Judges whole cases. `proven`: the proof that the kernel does the work was given once."""

    proven: bool = False
    _seen: Any = None  # the meter of the latest metered trial

    # --- one case

    def run_case(self, case: Case, thorough: bool) -> CaseResult:
        """All trials of one case. thorough=False: one trial only (a case before it failed)."""
        row = CaseResult(case.note, case.describe(), "passed")
        here = "interpreter" if device.INTERPRET else "gpu"
        if case.only not in (None, here):
            row.state = "not run"
            row.remark = f"needs {'a GPU' if case.only == 'gpu' else 'the interpreter'}"
            return row
        if case.raises is not None and dtype_override.get():
            row.state, row.remark = "not run", "belongs to the dtypes as written"
            return row
        row.finding = self._case_finding(case, row, thorough)
        if row.finding:
            row.state = "wrong"
        return row

    def _case_finding(self, case: Case, row: CaseResult, thorough: bool) -> Finding | None:
        if case.raises is not None:
            row.remark = f"raised {case.raises.__name__}, as it should"
            return self._must_raise(case, case.raises)
        if not self.check.triton:
            return self.plain(case)
        self.expected(case)  # kept: what is right is known before the answer runs
        astray, crashes, metered = self._metered(case)
        if crashes:
            return self._or_swapped(metered, astray)
        # The metered trial serves as the first one, unless the meter kept lanes from their address.
        first = self.trial(case) if metered is None or astray else metered
        finding = self.judge(first, row)
        if (
            finding
            and finding.code in _VALUE_CODES
            and metered is not None
            and metered is not first
            and self.judge(metered) is None
        ):
            finding = _SECOND_CALL  # the metered trial was the first call, and right
        vague = finding is not None and finding.code in ("nan", "wrong-values")
        # Tiles that overlap leave the end unwritten, or run into the next row.
        by_race = (*_UNWRITTEN, "rows-after-first", "zeros")
        vague |= bool(astray and finding and astray.code == "race" and finding.code in by_race)
        if finding is None or (astray and (vague or astray.code == finding.code)):
            finding = astray  # the meter names program and line
        elif self._seen and metered and (vague or finding.code in ("overflow", *_UNWRITTEN)):
            early = self._seen.reads_unwritten(metered.watch.outputs)
            finding = Finding("reads-unwritten", early) if early else finding
        if finding or not thorough:
            return self._or_swapped(first, finding)
        return (
            self._again_elsewhere(case, first)
            or self._again_with_new_data(case, first)
            or self._proof_of_triton(case)
            or self._left_to_torch(case, first)
            or self._tiles(first)
            or self._moved(first)
        )

    def _must_raise(self, case: Case, kind: type[BaseException]) -> Finding | None:
        trial = self.trial(case)
        error, wanted = trial.error, kind.__name__
        if error is None:
            return Finding(
                "should-raise", f"This call should raise {wanted}, but it returned a result."
            )
        if isinstance(error, kind):
            return None
        found = self.explained(trial, error)
        if found.code in ("not-attempted", "timeout"):
            return found
        return Finding(
            "should-raise", f"This call should raise {wanted}, not {type(error).__name__}."
        )

    def _metered(self, case: Case) -> tuple[Finding | None, bool, Trial | None]:
        """In the interpreter: every lane's address against the tensors' bounds; shared stores.

        Goes first, because an address far outside would end this process. The second value says
        that nothing more may be run: lanes left all memory of the call, or the call itself failed.
        The third is the trial, None on a GPU.
        """
        if not device.INTERPRET:
            return None, False, None
        from ..seeing.meter import meter

        with meter() as seen:
            trial = self.trial(case)
        self._seen = seen
        if trial.error is not None:
            return self.explained(trial, trial.error), True, trial
        masking_helps = functools.partial(self._right_where_harmless, case)
        for code, sentence in seen.findings_of_call(
            trial.inputs, trial.watch.outputs, masking_helps
        ):
            return Finding(code, sentence), seen.left_all_memory, trial
        return None, False, trial

    def _or_swapped(self, trial: Trial | None, finding: Finding | None) -> Finding | None:
        """What is wrong; where the grid's axes are exchanged, that, which is tried out."""
        if not (finding and trial and trial.error is None and device.INTERPRET):
            return finding
        if finding.code not in (*_VALUE_CODES, *_ASTRAY_CODES):
            return finding
        for one, two in ((0, 1), (0, 2), (1, 2)):
            if all(launch.swapped(one, two) == launch.grid for launch in trial.watch.launches):
                continue
            with fence():
                again = self.again(trial, mode=f"swapped {one} {two}")
            if self.right(again):
                said = (
                    f"Axes {one} and {two} of the grid are swapped: with these two numbers of the "
                    "grid exchanged the result is right. `tl.program_id(0)` counts along the "
                    "grid's first number, `tl.program_id(1)` along its second."
                )
                return Finding(finding.code, said, finding.detail)
        return finding

    def _right_where_harmless(self, case: Case) -> bool:
        """Whether lanes without an element of their own are all that is wrong: they find what a
        sum or a maximum does not feel, behind each row if need be, and the result is right."""
        contiguous = {spec.layout for spec in case.specs().values()} == {"contiguous"}
        cases = [case, *([case.with_layout("apart")] if contiguous else [])]
        for mild, fill in itertools.product(cases, ("zero", "least")):
            with fence():
                trial = self.trial(mild, fill=fill)
            if self.right(trial):
                return True
        return False

    def _tiles(self, trial: Trial) -> Finding | None:
        """In the interpreter: does the kernel take pieces as small as the task asks for?"""
        if self.check.max_tile is None or self._seen is None:
            return None
        widest = max((math.prod(each.shape) for each in self._seen.accesses), default=0)
        if widest <= (most := self.asked(self.check.max_tile, trial)):
            return None
        return Finding(
            "tile-too-large",
            f"One load or store takes {widest} elements at once. This task asks for pieces "
            f"of at most {most}, one after the other.",
        )

    def _moved(self, trial: Trial) -> Finding | None:
        """In the interpreter: what the task asks of the bytes and products of a call."""
        if self.check.traffic is None or self._seen is None:
            return None
        from ..seeing.traffic import summary

        try:
            self.asked(functools.partial(self.check.traffic, summary(self._seen)), trial)
        except AssertionError as error:
            return Finding("slow", str(error))
        return None

    def _again_elsewhere(self, case: Case, first: Trial) -> Finding | None:
        """Same values at other addresses, other margins: the same bits must come out."""
        second = self.trial(case, fill="large", large=True)
        finding = self.judge(second)
        if finding is None and (not self.check.deterministic or self.same_bits(first, second)):
            return None
        if self._seen and (early := self._seen.reads_unwritten(first.watch.outputs)):
            return Finding("reads-unwritten", early)
        if finding and finding.code not in _VALUE_CODES:
            return finding
        third = self.trial(case)
        right_again = self.judge(third) is None
        if right_again and (not self.check.deterministic or self.same_bits(first, third)):
            return Finding(
                "reads-outside",
                "The result depends on memory outside the tensors, or on what a new one held "
                "before it was written, if only in its last bits. A load needs a mask.",
            )
        if not right_again:
            return _SECOND_CALL
        return Finding(
            "not-repeatable",
            "The same call gives other bits each time: programs race, or something is read "
            "before it is written.",
        )

    def _again_with_new_data(self, case: Case, first: Trial) -> Finding | None:
        """New values at the first call's addresses: nothing may be remembered."""
        if not any(value.numel() for value in first.values.values()):
            return None
        third = self.trial(case, draw=1, fill="small", reuse=first.inputs)
        finding = self.judge(third)
        if finding is None or finding.code not in _VALUE_CODES:
            return finding
        # Right for these values if it remembers the old ones, or spoilt for the old ones too:
        # then the calls depend on each other. Else the values themselves are the trouble.
        remembered = all(d.ok for d in self.differences(third, draw=0))
        spoilt = self.judge(self.trial(case)) is not None
        return _SECOND_CALL if remembered or spoilt else finding

    def _proof_of_triton(self, case: Case) -> Finding | None:
        """Without its launches the function must fail to give the answer, and must not hide it."""
        if self.proven or not any(want.numel() for want in self.expected(case)):
            return None
        self.proven = True
        muted = self.trial(case, mode="mute", draw=2)
        if self.right(muted):
            return Finding(
                "right-without-kernel",
                "The result is right even when the kernel does nothing, so the kernel does not "
                "compute it.",
            )
        sabotaged = self.trial(case, mode="sabotage", draw=2)
        if sabotaged.error is None:
            return Finding(
                "swallowed-error",
                "A kernel launch failed and the function returned all the same. Let the error "
                "through: no fallback.",
            )
        sabotaged.error = None  # its traceback knows the trial: a circle around all that is here
        return None

    def _left_to_torch(self, case: Case, trial: Trial) -> Finding | None:
        """In the interpreter: are there elements that no kernel stored to, and that are right
        without the kernels too, whatever the data? Then torch copied them from an argument. Where
        torch may compute, a number of its own may be right by chance."""
        if self._seen is None or not trial.watch.moves or trial.watch.computes:
            return None
        muted = self.trial(case, mode="mute", draw=2)
        if muted.error is not None:
            return None
        given = {each.buffer.untyped_storage().data_ptr() for each in trial.inputs.values()}
        pairs = zip(self.expected(case), self.differences(muted), strict=False)
        for result, (want, other) in zip(self.outputs(trial), pairs, strict=False):
            if other.bad is None or result.untyped_storage().data_ptr() in given:
                continue  # what the task changes in place may keep what it held
            before = want.to(torch.float64)
            alike = torch.isclose(before, other.expected, rtol=0, atol=0, equal_nan=True)
            left = ~(self._seen.stored(result) | other.bad | alike)
            if left.any():
                return Finding("right-without-kernel", LEFT_TO_TORCH)
        return None

    def asserted(self, assertions: Sequence[Callable[..., None]]) -> Finding | None:
        """What the first of these assertions says of the function, if one fails. Those that come
        before the cases are fenced: nobody knows yet where its kernels store."""
        for assertion in assertions:
            failed = None
            guard = fence() if assertions is self.check.before else contextlib.nullcontext(list)
            with captured_stderr() as noise, guard as strays:
                try:
                    with time_limit(self.check.timeout):
                        assertion(self.fn, *self.beside)
                except AssertionError as error:
                    said = str(error) or "A required property does not hold."
                    failed = Finding("property", said)
                except (Exception, CheckTimeout, SystemExit) as error:
                    failed = explain_error(error)
            for code, sentence in strays():
                return Finding(code, sentence)
            if failed:
                return failed
            self.noise.extend(noise)
        return None
