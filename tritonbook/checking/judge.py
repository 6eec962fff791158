"""One trial judged: launches, memory, type and values, against a float64 reference."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ..language.kernel_text import language_names, refusal
from ..port import device
from ..port.compat import causes
from ..port.idle_lanes import hold_zero
from ..simulating.machine import Fault
from .cases import DTYPES, Case
from .checks import Check
from .compare import Difference, Tolerance, apart, compare, derive_tolerance, flatten
from .diagnose import (
    Evidence,
    diagnose,
    gap_left,
    loads_without_other,
    still_open,
)
from .errors import explain_error
from .guard import changed, same_bits
from .inputs import FAR, unused_and_undue
from .launches import LOOK, MOST, Launch
from .places import bad_strip, first_bad
from .report import CaseResult, Finding, count
from .suspects import Known, Lineup
from .trial import Trial, fence, run_trial

# Operators of PyTorch's that nobody calls by their names: what one writes.
AS_WRITTEN = {
    "_to_copy": "a conversion (`.to(...)`, `.float()`)",
    LOOK: "a look at a value (`.item()`, `int(x)`, `if x.any()`)",
    "copy_": "`copy_` (an assignment such as `out[0] = 0`, or `.contiguous()`)",
}
_NO_TEXT = (
    "The text of `{kernel}` is not in any cell or file: it was made by `exec`, and every GPU "
    "refuses it, since Triton compiles a kernel from its text. Write `@triton.jit` and the "
    "function in the cell itself."
)


@dataclass
class Judge:
    """A function under check, and what is asked of it.

    key: its name on the card.
    """

    fn: Callable[..., Any]
    check: Check
    key: str
    beside: Sequence[Any] = ()  # functions of the page that its assertions get
    vetted: bool = False  # the kernels' text holds the language alone: the grader has seen to it
    kernels: list[str] = field(default_factory=list)
    launched: dict[int, Any] = field(default_factory=dict)  # the kernels' functions, by id
    noise: list[str] = field(default_factory=list)
    printed: str = ""  # by the first call that prints
    astray: Finding | None = None  # what the meter found in the case that is tried
    _allowed: set[int] = field(default_factory=set)  # kernels that hold the language alone, by id
    # The latest case, its values and right results by draw, and the dtypes of its results.
    _latest: Case | None = None
    _drawn: dict[int, dict[str, torch.Tensor]] = field(default_factory=dict)
    _right: dict[int, list[torch.Tensor]] = field(default_factory=dict)
    _dtypes: list[torch.dtype] = field(default_factory=list)

    # --- the reference

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
            self._right[draw] = _results(self.check.reference, case, values)
        return self._right[draw]

    def by_mistake(self, formula: Callable[..., Any], case: Case, draw: int) -> list[torch.Tensor]:
        """Results of a known mistake's formula. Raises what the formula raises."""
        return _results(formula, case, self.values(case, draw), **_told(formula, case))

    def known(self) -> list[Known]:
        """The mistakes that have a name."""
        return [
            *(
                Known(code, sentence, functools.partial(self.by_mistake, formula), exact=False)
                for code, (formula, sentence) in self.check.mistakes.items()
            ),
            *self.check.known(),
        ]

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
            return tolerance(dtype) if callable(tolerance) else tolerance
        if callable(terms):
            terms = terms(*case.filled(self.values(case)))
        return derive_tolerance(dtype, int(terms))

    # --- one trial

    def trial(self, case: Case, draw: int = 0, **how: Any) -> Trial:
        values, asked = self.values(case, draw), self.check
        trial = run_trial(
            self.fn, case, values, draw=draw, allow=asked.allow, timeout=asked.timeout, **how
        )
        self.launched |= trial.watch.sources
        if trial.stderr:
            self.noise.append(trial.stderr)
        self.printed = self.printed or trial.printed
        return trial

    def again(self, trial: Trial, **how: Any) -> Trial:
        """The same call once more, but for `how`."""
        return self.trial(trial.case, **{"draw": trial.draw, "fill": trial.fill, **how})

    def right(self, trial: Trial) -> bool:
        """Whether a call gave the values that are expected."""
        if trial.error is not None:
            return False
        return all(difference.ok for difference in self.differences(trial))

    def outputs(self, trial: Trial) -> list[Any]:
        """What is compared: the tensors changed in place, or what the function returned."""
        if self.check.inplace:
            return [trial.inputs[name].view for name in self.check.inplace]
        return flatten(trial.result)

    def differences(self, trial: Trial, draw: int | None = None) -> list[Difference]:
        """Its results against what is expected of its values. draw: of others that it may
        remember."""
        case = trial.case
        expected = self.expected(case, trial.draw if draw is None else draw)
        got = self.outputs(trial)
        if len(got) != len(expected):
            what = "None. Is a `return` missing?" if trial.result is None else f"{len(got)}."
            due = count(len(expected), "result")
            return [Difference("wrong-type", f"Expected {due}, got {what}")]
        dtypes = self.output_dtypes(case)
        found = []
        for number, (value, want, dtype) in enumerate(zip(got, expected, dtypes, strict=True)):
            label = "the result" if len(got) == 1 else self.name_of(number, len(got))
            tolerance = self.tolerance_for(case, dtype)
            made = compare(value, want, dtype, device.DEVICE, tolerance, label)
            if self.check.inplace and made.got is not None:
                made.untouched = not trial.inputs[self.check.inplace[number]].interior_changed()
            found.append(made)
        return found

    def name_of(self, number: int, several: int) -> str:
        """What a result is called where there are several."""
        if len(self.check.results) == several:
            return f"`{self.check.results[number]}`"
        return f"result {number + 1} of {several}"

    def judge(self, trial: Trial, row: CaseResult | None = None) -> Finding | None:
        """First thing wrong with a trial; None when everything holds. Fills the row's figures."""
        row = row or CaseResult(trial.case.note, "", "passed")
        if trial.error is not None:
            return self.explained(trial, trial.error)
        finding = self._judge_launches(trial) or self._judge_memory(trial)
        # An open gap also leaves no launch or no write behind: say that first.
        differences = self.differences(trial)
        # A result that is too small, or a list of what was read from a tensor, is the cause.
        due = {"out-of-bounds-store": "wrong-shape", "torch-compute": "wrong-type"}
        due_code = due.get(finding.code) if finding else None
        cause = next((d for d in differences if due_code and d.code == due_code), None)
        if cause and trial.result is not None:
            return Finding(str(cause.code), cause.sentence)
        if finding and finding.code != "no-kernel-launched":
            nothing = self._open_gap(trial, differences)
            return nothing or finding
        if finding:
            return finding
        for difference in differences:
            if difference.tolerance is not None:
                row.error = max(row.error or 0.0, difference.error)
                row.absolute_error = max(row.absolute_error or 0.0, difference.absolute_error)
                row.tolerance = difference.tolerance.because
        wrong = next((d for d in differences if not d.ok), None)
        if wrong is None:
            return self._judge_aliasing(trial)
        self._not_by_chance(trial, wrong, differences.index(wrong))
        if wrong.bad is not None:
            row.first_bad, row.bad_strip = first_bad(wrong), bad_strip(wrong)
        return self._judge_idle_lanes(trial) or self._cause(trial, differences)

    def explained(self, trial: Trial, error: BaseException) -> Finding:
        """The finding of a trial that raised. An open gap may leave names without a value."""
        found = explain_error(error)
        simulated = isinstance(causes(error)[-1], Fault)
        if not simulated and found.code not in ("raised", "does-not-compile"):
            return found
        if name := gap_left(trial.watch.kernels.values()):
            return still_open(name, found.detail)
        if trial.watch.odd and not simulated:
            return Finding("does-not-compile", trial.watch.odd, found.detail)
        return found

    def _cause(self, trial: Trial, differences: list[Difference]) -> Finding:
        wrong = next(d for d in differences if not d.ok)
        if wrong.bad is None:
            return Finding(str(wrong.code), wrong.sentence)
        if name := gap_left(trial.watch.kernels.values()):
            return still_open(name)
        found = diagnose(self._evidence(trial, differences, differences.index(wrong)))
        if len(differences) > 1:
            names = [self.name_of(i, len(differences)) for i in range(len(differences))]
            right = [name for name, d in zip(names, differences, strict=True) if d.ok]
            others = f" ({' and '.join(right)} right)" if right else ""
            where = names[differences.index(wrong)]
            found = replace(found, sentence=f"In {where}{others}: {found.sentence}")
        return found

    def _judge_idle_lanes(self, trial: Trial) -> Finding | None:
        """The cause of a wrong result where loads leave open what masked lanes hold, and the
        interpreter puts rubbish there: with zeros in its place the call is right, or is wrong in a
        way that says more."""
        loads = loads_without_other(trial.watch.kernels.values()) if device.INTERPRET else []
        if not loads:
            return None
        with hold_zero():
            again = self.again(trial)
            if again.error is not None:
                return None
            differences = self.differences(again)
            if any(not d.ok for d in differences):
                wrong = next(d for d in differences if not d.ok)
                self._not_by_chance(again, wrong, differences.index(wrong))
                return self._cause(again, differences)
        # Right by the zeros, or because it was called once more?
        if self.right(self.again(trial)):
            return None
        which = f"`{loads[0]}` needs" if len(loads) == 1 else f"One of the {len(loads)} loads needs"
        if all("boundary_check" in load for load in loads):
            return Finding(
                "no-other",
                "Lanes beyond the tensor's bounds reach the result. On a GPU they hold whatever "
                f'was there before. {which} `padding_option="zero"`.',
            )
        return Finding(
            "no-other",
            "Lanes that a mask switches off reach the result. On a GPU they hold whatever was "
            f"there before. {which} `other=`: 0 before a sum or a product of tiles, minus "
            "infinity before a maximum.",
        )

    def _not_by_chance(self, trial: Trial, wrong: Difference, position: int) -> None:
        """Whole numbers have no bits to spare: what marks them as never written (127 in int8) is a
        value too. Where a tensor that held something else before holds the same now, it was
        written."""
        if wrong.bad is None or not bool((wrong.unwritten & wrong.bad).any()):
            return
        if self.outputs(trial)[position].is_floating_point():
            return
        again = self.again(trial, large=not trial.watch.large)
        results = [] if again.error else self.outputs(again)
        if len(results) > position and getattr(results[position], "shape", None) == wrong.got.shape:
            other = results[position].detach().cpu().to(torch.float64)
            wrong.unwritten = wrong.unwritten & (other != wrong.got)
            wrong.untouched = wrong.untouched and bool(wrong.unwritten.all())

    def _open_gap(self, trial: Trial, differences: list[Difference]) -> Finding | None:
        blank = [d for d in differences if d.unwritten is not None and d.unwritten.numel()]
        if blank and all(d.untouched for d in blank):
            finding = diagnose(self._evidence(trial, blank, 0))
            return finding if finding.code == "not-attempted" else None
        return None

    def _judge_launches(self, trial: Trial) -> Finding | None:
        asked, watch = self.check, trial.watch
        if not asked.triton:
            return None
        launched = own(trial)
        for launch in launched:
            if launch.name not in self.kernels:
                self.kernels.append(launch.name)
        for key in watch.sources.keys() - self._allowed:
            if not _has_text(kernel := watch.sources[key]):
                return Finding("no-source", _NO_TEXT.format(kernel=kernel.__name__))
        for key in () if self.vetted else watch.sources.keys() - self._allowed:
            if refused := refusal(watch.sources[key]):
                return Finding(refused.code, refused.sentence)
            self._allowed.add(key)
        for name in asked.by_hand:
            if any(name in language_names(fn) for fn in watch.sources.values()):
                return Finding(
                    "not-by-hand",
                    f"The kernel uses `{name}` of Triton: this task asks for a way without it.",
                )
        written = (AS_WRITTEN.get(name, f"torch.{name}") for name in watch.compute)
        operators = ", ".join(dict.fromkeys(written))
        if not launched and trial.result is None and not operators and not asked.inplace:
            return Finding(
                "wrong-type",
                "The function launched no kernel and returned None. Is a `return` missing?",
            )
        if not launched and not is_empty(trial):
            instead = f" The work was done by {operators}." if operators else ""
            library = " The kernel launched is a library's." if watch.launches else ""
            return Finding(
                "no-kernel-launched", f"No Triton kernel of yours was launched.{library}{instead}"
            )
        if LOOK in watch.compute:
            return Finding(
                "torch-compute",
                "Python reads numbers out of a tensor (`.item()`, `.tolist()`, `.numpy()`, "
                "`float()` or `if`). On a GPU it waits there until all kernels have ended. Let a "
                "kernel load them.",
            )
        if operators:
            public = [name for name in dict.fromkeys(asked.allow) if not name.startswith("_")]
            shown = ", ".join(public[:8]) + (" and others" if len(public) > 8 else "")
            besides = f", and these operators: {shown}" if public else ""
            return Finding(
                "torch-compute",
                f"Part of the work is done by {operators}. The kernel has to do it: outside the "
                f"kernel only allocation, views and launches are allowed here{besides}.",
            )
        if asked.launches is not None and len(launched) != asked.launches and not is_empty(trial):
            return Finding(
                "wrong-launch-count",
                f"Kernel launches in one call: {len(launched)}. "
                f"This task asks for {asked.launches}.",
            )
        if not asked.copies and watch.copies:
            return Finding(
                "copies",
                "A tensor is copied first (`.contiguous()`, `.clone()`, `.reshape()`), which is a "
                "launch of its own. Give the kernel the strides.",
            )
        return self._judge_grid(trial, launched) if launched else None

    def _judge_grid(self, trial: Trial, launched: list[Launch]) -> Finding | None:
        if refused := beyond_a_grid(launched):
            return refused
        started = max(launch.programs for launch in launched)
        asked = self.check
        if asked.programs is not None and started != (due := self.asked(asked.programs, trial)):
            unused = self._option_without_effect(trial, launched, asked.programs, due)
            return Finding(
                "other-programs",
                unused or f"Programs started: {started}. This task's way of doing it takes {due}.",
            )
        most = self.asked(asked.max_programs, trial) if asked.max_programs else started
        if asked.max_programs is None or started <= most:
            return None
        unused = self._option_without_effect(trial, launched, asked.max_programs, most)
        return Finding(
            "too-many-programs",
            unused
            or f"{started} programs were started where {most} {'is' if most == 1 else 'are'} "
            "enough. Does the grid take into account how much one program covers?",
        )

    def _option_without_effect(
        self, trial: Trial, launched: list[Launch], rule: Callable[..., int], due: int
    ) -> str:
        """Says which option of a call the grid should depend on and does not, if there is one."""
        case = trial.case
        for name in case.options:
            rest = {other: value for other, value in case.options.items() if other != name}
            less = replace(case, options=rest)
            if rule(*case.filled(trial.values), **rest) == due:
                continue
            with fence():
                again = run_trial(
                    self.fn,
                    less,
                    trial.values,
                    allow=self.check.allow,
                    timeout=self.check.timeout,
                )
            same = [each.grid for each in own(again)] == [each.grid for each in launched]
            if again.error is None and same:
                number = count(max(launch.programs for launch in launched), "program")
                return (
                    f"`{name}` is not used for the grid: it is the same without it, {number}, "
                    f"where {due} {'is' if due == 1 else 'are'} due."
                )
        return ""

    def asked(self, rule: Callable[..., Any], trial: Trial) -> Any:
        """What the task asks for, where it depends on a call's arguments and options: a number."""
        return rule(*trial.case.filled(trial.values), **trial.case.options)

    def _judge_memory(self, trial: Trial) -> Finding | None:
        for guarded in [*trial.watch.outputs, *trial.inputs.values()]:
            distance = guarded.margin_written()
            if distance is not None:
                where = (
                    f"{count(distance, 'element')} past the end"
                    if distance > 0
                    else f"{count(-distance, 'element')} before the start"
                    if distance < 0
                    else "between the rows"
                )
                what = "an output" if guarded.name == "output" else guarded.name
                return Finding(
                    "out-of-bounds-store",
                    f"The kernel writes outside {what}: {where}. The store needs a mask that "
                    "covers exactly the elements that exist.",
                )
        for name, guarded in trial.inputs.items():
            if name not in self.check.inplace and guarded.interior_changed():
                return Finding(
                    "input-changed",
                    f"The input {name} was changed. Write to a new tensor; where a kernel stores "
                    "to that one, are the arguments in the kernel's order?",
                )
        for name, value in trial.plain.items():
            if changed(value, trial.case.arguments[name]):
                return Finding("input-changed", f"The argument {name} was changed. Work on a copy.")
        return None

    def _judge_aliasing(self, trial: Trial) -> Finding | None:
        if self.check.inplace:
            return None
        homes = {g.buffer.untyped_storage().data_ptr(): n for n, g in trial.inputs.items()}
        for result in self.outputs(trial):
            if isinstance(result, torch.Tensor) and result.numel():
                name = homes.get(result.untyped_storage().data_ptr())
                if name:
                    return Finding(
                        "aliases-input",
                        f"The result shares its memory with the input {name}. Allocate a new one.",
                    )
        return None

    def _evidence(self, trial: Trial, differences: list[Difference], position: int) -> Evidence:
        case, wrong = trial.case, differences[position]

        def contiguous_is_right() -> bool:
            if all(spec.layout == "contiguous" for spec in case.specs().values()):
                return False
            plain = case.with_layout("contiguous")
            return self.right(self.trial(plain, draw=trial.draw, fill=trial.fill))

        def fill_matters() -> bool:
            again = self.again(trial, fill="large" if trial.fill == "nan" else "nan")
            if not self.check.deterministic:
                return self.right(again)
            if again.error is not None or self.same_bits(trial, again):
                return False
            # By the margins, or by what a call before it left behind?
            third = self.again(trial)
            return third.error is None and self.same_bits(trial, third)

        def wider_is_right() -> bool:
            if not device.INTERPRET:
                return False
            with fence():
                again = self.again(trial, mode="wider")
            return self.right(again)

        def differs_again() -> bool:
            again = self._result(self.again(trial), wrong, position)
            return again is not None and apart(wrong.tolerance, wrong.got, again) > FAR

        def reference(other: Case, values: dict[str, torch.Tensor]) -> torch.Tensor | None:
            try:
                return _results(self.check.reference, other, values)[position].to(torch.float64)
            except Exception:  # nobody said that it takes these
                return None

        def answer(other: Case, values: dict[str, torch.Tensor]) -> torch.Tensor | None:
            asked = self.check
            how: dict[str, Any] = {"allow": asked.allow, "timeout": asked.timeout}
            with fence():
                again = run_trial(self.fn, other, values, fill=trial.fill, **how)
            return self._result(again, wrong, position)

        @functools.cache
        def by_inputs() -> tuple[list[str], list[str]]:
            if not self.check.deterministic or trial.draw:
                return [], []
            new = self.values(case, 1)
            return unused_and_undue(trial, wrong, new, self.check.cases, reference, answer)

        sizes = [v.double().abs() for v in trial.values.values() if v.numel()]
        finite = [float(s[s.isfinite()].max()) for s in sizes if bool(s.isfinite().any())]
        return Evidence(
            wrong,
            trial.watch.kernels,
            functools.partial(self._known_mistake, trial, differences),
            self.check.nan,
            contiguous_is_right,
            fill_matters,
            any(min(launch.grid, default=1) < 1 for launch in trial.watch.launches),
            max(finite, default=0.0),
            lambda: by_inputs()[0],
            lambda: by_inputs()[1],
            {name: _as_float64(value) for name, value in trial.values.items()},
            wider_is_right,
            differs_again,
        )

    def _known_mistake(self, trial: Trial, differences: list[Difference]) -> Finding | None:
        lineup = Lineup(
            self.known(),
            trial.case,
            trial.draw,
            differences,
            self.astray.code if self.astray else "",
            self.others(trial.case),
            self._results_on,
        )
        found = lineup.culprit()
        return Finding(found.code, found.sentence) if found else None

    def _results_on(self, case: Case) -> list[Difference] | None:
        with fence():
            trial = self.trial(case)
        return None if trial.error else self.differences(trial)

    def others(self, case: Case) -> list[Case]:
        """The other cases that have a result here, those after `case` first."""
        here = "interpreter" if device.INTERPRET else "gpu"
        at = next((i for i, each in enumerate(self.check.cases) if each is case), 0)
        rest = [*self.check.cases[at + 1 :], *self.check.cases[:at]]
        return [c for c in rest if c.raises is None and c.only in (None, here)]

    def _result(self, trial: Trial, wrong: Difference, position: int) -> torch.Tensor | None:
        """One result of another call, to be compared with the wrong one; None where there is
        none."""
        found = [] if trial.error else self.outputs(trial)
        one = found[position] if position < len(found) else None
        if not isinstance(one, torch.Tensor) or one.shape != wrong.got.shape:
            return None
        return one.detach().cpu().to(torch.float64)

    def same_bits(self, one: Trial, two: Trial) -> bool:
        """Whether two trials gave the same tensors; what is no tensor is not compared."""
        first, second = self.outputs(one), self.outputs(two)
        kinds = [isinstance(a, torch.Tensor) for a in first]
        if kinds != [isinstance(b, torch.Tensor) for b in second]:
            return False
        pairs = zip(first, second, kinds, strict=True)
        return all(same_bits(a, b) for a, b, tensors in pairs if tensors)


def _has_text(kernel: Callable[..., Any]) -> bool:
    try:
        return bool(inspect.getsourcelines(kernel))
    except (OSError, TypeError):
        return False


def own(trial: Trial) -> list[Launch]:
    """The launches of kernels that no library holds."""
    return [launch for launch in trial.watch.launches if not launch.from_library]


def beyond_a_grid(launches: Sequence[Launch], given: str = "") -> Finding | None:
    """The first launch of more programs along an axis than a GPU takes.

    given: the words for a call that is looked at for its grid alone.
    """
    for launch in launches:
        axis = launch.beyond()
        if axis is not None:
            return Finding(
                "grid-limit",
                f"{given}`{launch.name}` is launched with {launch.grid[axis]:,} programs along "
                f"axis {axis} of its grid, and every GPU refuses more than {MOST[axis]:,} there. "
                "Put what can be so many along axis 0, which takes 2,147,483,647.",
            )
    return None


def _results(
    formula: Callable[..., Any], case: Case, values: dict[str, torch.Tensor], **told: Any
) -> list[torch.Tensor]:
    """What the reference, or a known mistake's formula, gives in float64, computed on the CPU from
    copies that nobody else holds."""
    copies = {name: _as_float64(value) for name, value in values.items()}
    with torch.no_grad():
        return flatten(formula(*case.filled(copies), **told))


def _told(formula: Callable[..., Any], case: Case) -> dict[str, Any]:
    """What a mistake's formula asks for by keyword: options of the call, and the case's `dtype`."""
    known = {"dtype": DTYPES[case.effective_dtype()], **case.options}
    try:
        wanted = inspect.signature(formula).parameters.values()
    except ValueError:  # a built-in function, such as torch.sigmoid, does not say what it takes
        return {}
    return {p.name: known[p.name] for p in wanted if p.kind is p.KEYWORD_ONLY and p.name in known}


def _as_float64(values: torch.Tensor) -> torch.Tensor:
    """A copy, always."""
    return values.to(torch.float64 if values.dtype.is_floating_point else values.dtype, copy=True)


def is_empty(trial: Trial) -> bool:
    """Whether a case has no elements, so that a function may return without a launch."""
    return any(not value.numel() for value in trial.values.values())
