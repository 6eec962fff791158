"""Every trial of one case: other addresses, other margins, other data, no kernel at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ..port import device
from ..port.tuners import choosing
from .asks import LAUNCHES, METER, own
from .caller import Caller
from .cases import Case, dtype_override, elements
from .checks import Check
from .codes import VALUES, about, meter_says_more
from .evidence import told_by_mutant
from .judge import Judge, beyond_a_grid
from .metered import Metered
from .oracle import Oracle
from .plain import Plain
from .report import CaseResult, Finding
from .trial import Trial, fence

MANY_ROWS = 70_000  # more than go along axis 1 or 2 of a grid
MOST_ELEMENTS = 1 << 24  # of the tensors with so many rows
_UNWRITTEN = ("unwritten", "unwritten-tail")
_STORED = (*_UNWRITTEN, "input-changed")
_METERED = (*_STORED, "overflow")
LEFT_TO_TORCH = (
    "A part of the result is right even when the kernel does nothing: torch copied it from an "
    "argument, and no kernel stored to it. The kernel has to store every element."
)
_SECOND_CALL = Finding(
    "second-call",
    "The first call is right, the next one is wrong. Something is kept from one call to the "
    "next: a buffer that is not cleared, or a remembered result.",
)
_OF_A_CONFIG = "With {config}, which the tuner may choose on another GPU: {found}"
MOST_CONFIGS = 32  # of a tuner's that are tried, one call each


@dataclass
class Battery:
    """Judges whole cases of one function.

    key: its name on the card. vetted: as for `Judge`.
    """

    fn: Callable[..., Any]
    check: Check
    key: str
    vetted: bool = False
    proven: bool = False  # the proof that the kernel does the work was given, once
    tuned: bool = False  # every config of its tuners was tried, once
    _along: list[tuple[Case, int]] = field(default_factory=list)  # most along axis 1 or 2
    _wide: list[Case] = field(default_factory=list)  # as many programs along axis 1 or 2 as rows

    def __post_init__(self) -> None:
        self.oracle = Oracle(self.check)
        self.calls = Caller(self.fn, self.oracle)
        self.verdict = Judge(self.calls, self.vetted)
        self.metered = Metered(self.verdict)

    # --- one case

    def run_case(self, case: Case, thorough: bool) -> CaseResult:
        """All trials of one case. thorough=False: one trial only (a case before it failed)."""
        row = CaseResult(case.note, case.describe(), "passed")
        here = "interpreter" if device.INTERPRET else "gpu"
        if case.only not in (None, here):
            row.state = "not run"
            row.remark = "needs a GPU" if case.only == "gpu" else "needs the interpreter"
            return row
        if case.raises is not None and dtype_override.get():
            row.state, row.remark = "not run", "belongs to the dtypes as written"
            return row
        self.verdict.thorough = thorough
        row.finding = self._case_finding(case, row, thorough)
        if row.finding:
            row.state = "wrong"
        return row

    def _case_finding(self, case: Case, row: CaseResult, thorough: bool) -> Finding | None:
        if case.raises is not None:
            row.remark = f"raised {case.raises.__name__}, as it should"
            return self._must_raise(case, case.raises)
        if not self.check.triton:
            return Plain(self.calls).judge(case)
        self.oracle.expected(case)  # kept: what is right is known before the answer runs
        self.verdict.astray, crashes, metered = self.metered.first_call(case)
        astray = self.verdict.astray
        if crashes:
            told = told_by_mutant(self.calls, metered, astray) if astray and thorough else None
            return told or self.metered.or_swapped(metered, astray)
        # The metered trial serves as the first one, unless the meter kept lanes from their address.
        first = self.calls.trial(case) if metered is None or astray else metered
        finding = self.verdict.judge(first, row)
        if (
            finding
            and about(finding.code, VALUES)
            and metered is not None
            and metered is not first
            and self.verdict.judge(metered) is None
        ):
            finding = _SECOND_CALL  # the metered trial was the first call, and right
        seen = astray.code if astray else ""
        vague = finding is not None and meter_says_more(finding.code, seen)
        if finding is None or (astray and (vague or seen == finding.code)):
            told = told_by_mutant(self.calls, metered, astray) if astray and thorough else None
            finding = told or astray  # the meter names program and line
        elif self.metered.seen and metered and (vague or finding.code in _METERED):
            record, outputs = self.metered.seen, metered.watch.outputs
            inputs = metered.inputs.keys() - set(self.check.inplace)
            if finding.code in _STORED and (said := record.misdirected(inputs, outputs)):
                finding = Finding(finding.code, said)
            elif finding.code == "input-changed":
                pass
            elif early := record.reads_unwritten(outputs):
                because = self.check.nan if finding.code == "nan" else ""
                finding = Finding("reads-unwritten", f"{early} {because}".strip())
            elif finding.code in _UNWRITTEN and (crowd := record.crowded(outputs)):
                finding = Finding(finding.code, crowd)
        if finding or not thorough:
            return self.metered.or_swapped(first, finding)
        most = max((max(launch.grid[1:], default=1) for launch in own(first)), default=0)
        if most:
            self._along.append((case, most))
        if most >= case.rows() > 1:
            self._wide.append(case)
        return (
            self.metered.waits(first)
            or self._again_elsewhere(case, first)
            or self._again_with_new_data(case, first)
            or self._proof_of_triton(case)
            or self._other_configs(case, first)
            or self._left_to_torch(case, first)
            or self._answers_metered(first)
        )

    def _answers_metered(self, trial: Trial) -> Finding | None:
        """In the interpreter: what the task asks of accesses, bytes and products of a call."""
        if self.metered.seen is None:
            return None
        self.metered.remark_on_offsets(trial)
        self.metered.remark_on_single_elements()
        return self.calls.answers(trial, METER, self.metered.seen)

    def _must_raise(self, case: Case, kind: type[BaseException]) -> Finding | None:
        trial = self.calls.trial(case)
        error, wanted = trial.error, kind.__name__
        if error is None:
            return Finding(
                "should-raise", f"This call should raise {wanted}, but it returned a result."
            )
        if isinstance(error, kind):
            return None
        found = self.verdict.explained(trial, error)
        if found.code in ("not-attempted", "timeout"):
            return found
        return Finding(
            "should-raise", f"This call should raise {wanted}, not {type(error).__name__}."
        )

    def many_programs(self) -> Finding | None:
        """Where rows, or what the check says, seem to go along axis 1 or 2 of a grid: the launches
        for more of them than fit there, looked at and not carried out."""
        for wide in self.check.wide:
            if all(most >= _of_the_many(wide, case) for case, most in self._along) and (
                found := self._beyond_a_grid(wide, f"For {wide.note} ")
            ):
                return found
        if not self._wide:
            return None
        tall = min((case.with_rows(MANY_ROWS) for case in self._wide), key=elements)
        if elements(tall) >= MOST_ELEMENTS:
            return None
        return self._beyond_a_grid(tall, f"For {MANY_ROWS:,} rows ")

    def _beyond_a_grid(self, case: Case, given: str) -> Finding | None:
        return beyond_a_grid(own(self.calls.trial(case, mode="mute")), given)

    def _again_elsewhere(self, case: Case, first: Trial) -> Finding | None:
        """Same values at other addresses, other margins: the same bits must come out."""
        second = self.calls.trial(case, fill="large", large=True)
        if second.watch.tried and (found := self.calls.answers(second, LAUNCHES, again=True)):
            return found
        finding = self.verdict.judge(second)
        if finding is None and (
            not self.check.deterministic or self.calls.same_bits(first, second)
        ):
            return None
        if self.metered.seen and (early := self.metered.seen.reads_unwritten(first.watch.outputs)):
            return Finding("reads-unwritten", early)
        if finding and not about(finding.code, VALUES):
            return finding
        third = self.calls.trial(case)
        right_again = self.verdict.judge(third) is None
        if right_again and (not self.check.deterministic or self.calls.same_bits(first, third)):
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
        third = self.calls.trial(case, draw=1, fill="small", reuse=first.inputs)
        finding = self.verdict.judge(third)
        if finding is None or not about(finding.code, VALUES):
            return finding
        # Right for these values if it remembers the old ones, or spoilt for the old ones too:
        # then the calls depend on each other. Else the values themselves are the trouble.
        remembered = all(d.ok for d in self.calls.differences(third, draw=0))
        spoilt = self.verdict.judge(self.calls.trial(case)) is not None
        return _SECOND_CALL if remembered or spoilt else finding

    def _proof_of_triton(self, case: Case) -> Finding | None:
        """Without its launches the function must fail to give the answer, and must not hide it."""
        if self.proven or not any(want.numel() for want in self.oracle.expected(case)):
            return None
        self.proven = True
        muted = self.calls.trial(case, mode="mute", draw=2)
        if self.calls.right(muted):
            return Finding(
                "right-without-kernel",
                "The result is right even when the kernel does nothing, so the kernel does not "
                "compute it.",
            )
        sabotaged = self.calls.trial(case, mode="sabotage", draw=2)
        if sabotaged.error is None:
            return Finding(
                "swallowed-error",
                "A kernel launch failed and the function returned all the same. Let the error "
                "through: no fallback.",
            )
        sabotaged.error = None  # its traceback knows the trial: a circle around all that is here
        return None

    def _other_configs(self, case: Case, first: Trial) -> Finding | None:
        """Each config of a tuner's gives the right values: another GPU takes another one."""
        if self.tuned or not first.watch.choices:
            return None
        self.tuned, chosen, known = True, first.watch.chosen, []
        for number in range(MOST_CONFIGS):
            with choosing(number), fence():
                trial = self.calls.trial(case)
                options = trial.watch.chosen
                if options in known:  # pruning leaves no more
                    return None
                known.append(options)
                finding = None if options == chosen else self.verdict.judge(trial)
            if finding:
                config = _differing(options, chosen)
                said = _OF_A_CONFIG.format(config=config, found=finding.sentence)
                return replace(finding, sentence=said)
        return None

    def _left_to_torch(self, case: Case, trial: Trial) -> Finding | None:
        """In the interpreter: are there elements that no kernel stored to, and that are right
        without the kernels too, whatever the data? Then torch copied them from an argument. Where
        torch may compute, a number of its own may be right by chance."""
        if self.metered.seen is None or not trial.watch.moves or trial.watch.computes:
            return None
        muted = self.calls.trial(case, mode="mute", draw=2)
        if muted.error is not None:
            return None
        given = {each.buffer.untyped_storage().data_ptr() for each in trial.inputs.values()}
        pairs = zip(self.oracle.expected(case), self.calls.differences(muted), strict=False)
        for result, (want, other) in zip(self.calls.outputs(trial), pairs, strict=False):
            if other.bad is None or result.untyped_storage().data_ptr() in given:
                continue  # what the task changes in place may keep what it held
            before = want.to(torch.float64)
            alike = torch.isclose(before, other.expected, rtol=0, atol=0, equal_nan=True)
            left = ~(self.metered.seen.stored(result) | other.bad | alike)
            if left.any():
                return Finding("right-without-kernel", LEFT_TO_TORCH)
        return None


def _of_the_many(wide: Case, case: Case) -> int:
    """How many a case has of what `wide` has most of; of query and key heads the fewer."""
    pairs = [(one.shape, case.specs()[name].shape) for name, one in wide.specs().items()]
    most = max(max(shape) for shape, _ in pairs)
    return min(usual[shape.index(most)] for shape, usual in pairs if most in shape)


def _differing(one: list[dict[str, Any]], two: list[dict[str, Any]]) -> str:
    """The options that one call's launches have and another's have not, as they are written."""
    known = [(name, value) for options in two for name, value in options.items()]
    given = [(name, value) for options in one for name, value in options.items()]
    return ", ".join(dict.fromkeys(f"{n}={v!r}" for n, v in given if (n, v) not in known))
