"""Every trial of one case: other addresses, other margins, other data, no kernel at all."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ..limits import CheckTimeout, time_limit
from ..port import device
from ..port.tuners import choosing
from .cases import Case, dtype_override, elements
from .errors import explain_error
from .judge import beyond_a_grid, own
from .plain import PlainJudge
from .report import CaseResult, Finding
from .trial import Trial, captured_stderr, fence, printed_aside

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
    "not-repeatable",
    "undue-input",
)
MANY_ROWS = 70_000  # more than go along axis 1 or 2 of a grid
MOST_ELEMENTS = 1 << 24  # of the tensors with so many rows
# Findings that say up to what a result is right: what the meter saw tells why.
_BUT_FOR_ONE_THING = (
    "constant-factor",
    "constant-summand",
    "off-by-an-input",
    "off-by-row",
    "off-by-column",
    "wrong-by-value",
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
_TUNES_AGAIN = (
    "A second call of the same sizes tries the tuner's configs again. Make the tuner once, outside "
    "the wrapper, and let its `key=` name sizes alone."
)
_OF_A_CONFIG = "With {config}, which the tuner may choose on another GPU: {found}"
MOST_CONFIGS = 32  # of a tuner's that are tried, one call each

_NARROW = (
    "The values are right. But at {place} a program's number, or one that was loaded, is "
    "multiplied by a size in 32 bits: beyond 2**31 elements the product wraps round, and the "
    "address is another one. This page asks for 64 bits: `.to(tl.int64)` on the number, before it "
    "is multiplied."
)
_NARROW_REMARK = (
    "Right, and wrong beyond 2**31 elements: at {place} an offset has 32 bits. `.to(tl.int64)` on "
    "the program's number, or on what was loaded, before it is multiplied makes it 64."
)


@dataclass
class Battery(PlainJudge):
    """Judges whole cases. `proven`: the proof that the kernel does the work was given once."""

    proven: bool = False
    tuned: bool = False  # every config of its tuners was tried, once
    remarks: dict[str, str] = field(default_factory=dict)  # of an answer that passes, by their kind
    _seen: Any = None  # the meter of the latest metered trial
    _wide: list[Case] = field(default_factory=list)  # as many programs along axis 1 or 2 as rows

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
        self.astray, crashes, metered = self._metered(case)
        astray = self.astray
        if crashes:
            told = self.told_by_mutant(metered, astray.code) if astray else None
            return told or self._or_swapped(metered, astray)
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
        vague = finding is not None and finding.code in ("nan", "wrong-values", *_BUT_FOR_ONE_THING)
        # Tiles that overlap leave the end unwritten, or run into the next row.
        by_race = (*_UNWRITTEN, "rows-after-first", "zeros")
        vague |= bool(astray and finding and astray.code == "race" and finding.code in by_race)
        if finding is None or (astray and (vague or astray.code == finding.code)):
            told = self.told_by_mutant(metered, astray.code) if astray else None
            finding = told or astray  # the meter names program and line
        elif self._seen and metered and (vague or finding.code in ("overflow", *_UNWRITTEN)):
            early = self._seen.reads_unwritten(metered.watch.outputs)
            if early:
                finding = Finding("reads-unwritten", early)
            elif finding.code in _UNWRITTEN and (
                crowd := self._seen.crowded(metered.watch.outputs)
            ):
                finding = Finding(finding.code, crowd)
        if finding or not thorough:
            return self._or_swapped(first, finding)
        if any(max(launch.grid[1:], default=0) >= case.rows() > 1 for launch in own(first)):
            self._wide.append(case)
        return (
            self._lanes_wait()
            or self._offsets_hold(case)
            or self._again_elsewhere(case, first)
            or self._again_with_new_data(case, first)
            or self._proof_of_triton(case)
            or self._other_configs(case, first)
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

    def _lanes_wait(self) -> Finding | None:
        """In the interpreter, of a right result: on a GPU, does a barrier miss?"""
        if self._seen is None:
            return None
        from ..seeing.barriers import without_barrier

        return next((Finding(*found) for found in without_barrier(self._seen)), None)

    def _offsets_hold(self, case: Case) -> Finding | None:
        """In the interpreter: have offsets 64 bits where a tensor may be large?"""
        layouts = {spec.layout for spec in case.specs().values()}
        # elsewhere columns are far apart, and in a single row they lead through the tensor
        if self._seen is None or layouts - {"contiguous"} or case.rows() == 1:
            return None
        from ..seeing.offsets import narrow_place

        place = narrow_place(self._seen, self.check.int64)
        if place and self.check.int64:
            return Finding("int32-offset", _NARROW.format(place=place))
        if place:
            self.remarks.setdefault("int32-offset", _NARROW_REMARK.format(place=place))
        return None

    def many_rows(self) -> Finding | None:
        """Where rows seem to go along axis 1 or 2 of a grid: the launches for more of them than fit
        there, looked at and not carried out."""
        if not self._wide:
            return None
        tall = min((case.with_rows(MANY_ROWS) for case in self._wide), key=elements)
        launched = own(self.trial(tall, mode="mute")) if elements(tall) < MOST_ELEMENTS else []
        return beyond_a_grid(launched, f"For {MANY_ROWS:,} rows ")

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
            moved = summary(self._seen, findings=False)
            self.asked(functools.partial(self.check.traffic, moved), trial)
        except AssertionError as error:
            return Finding("slow", str(error))
        return None

    def _again_elsewhere(self, case: Case, first: Trial) -> Finding | None:
        """Same values at other addresses, other margins: the same bits must come out."""
        second = self.trial(case, fill="large", large=True)
        if self.check.launches is not None and second.watch.tried:
            return Finding("wrong-launch-count", _TUNES_AGAIN)
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

    def _other_configs(self, case: Case, first: Trial) -> Finding | None:
        """Each config of a tuner's gives the right values: another GPU takes another one."""
        if self.tuned or not first.watch.choices:
            return None
        self.tuned, chosen, known = True, first.watch.chosen, []
        for number in range(MOST_CONFIGS):
            with choosing(number), fence():
                trial = self.trial(case)
                options = trial.watch.chosen
                if options in known:  # pruning leaves no more
                    return None
                known.append(options)
                finding = None if options == chosen else self.judge(trial)
            if finding:
                config = _differing(options, chosen)
                said = _OF_A_CONFIG.format(config=config, found=finding.sentence)
                return replace(finding, sentence=said)
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
            with captured_stderr() as noise, printed_aside() as printed, guard as strays:
                try:
                    with time_limit(self.check.timeout):
                        assertion(self.fn, *self.beside)
                except AssertionError as error:
                    said = str(error) or "A required property does not hold."
                    failed = Finding("property", said)
                except (Exception, CheckTimeout, SystemExit) as error:
                    failed = explain_error(error)
            self.printed = self.printed or printed.getvalue()
            for code, sentence in strays():
                return Finding(code, sentence)
            if failed:
                return failed
            self.noise.extend(noise)
        return None


def _differing(one: list[dict[str, Any]], two: list[dict[str, Any]]) -> str:
    """The options that one call's launches have and another's have not, as they are written."""
    known = [(name, value) for options in two for name, value in options.items()]
    given = [(name, value) for options in one for name, value in options.items()]
    return ", ".join(dict.fromkeys(f"{n}={v!r}" for n, v in given if (n, v) not in known))
