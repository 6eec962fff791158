"""One trial judged: launches, memory, type and values, against a float64 reference."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ..language.kernel_text import refusal
from ..port import device
from ..port.compat import causes
from ..port.idle_lanes import hold_zero
from ..simulating.machine import Fault
from ..words import later
from .asks import LAUNCHES, TEXT, is_empty, own
from .caller import Caller
from .compare import Difference, flatten
from .diagnose import (
    Evidence,
    diagnose,
    gap_left,
    loads_without_other,
    still_open,
)
from .errors import explain_error
from .evidence import evidence
from .guard import changed
from .launches import LOOK, MOST, Launch
from .places import bad_strip, first_bad, where
from .report import CaseResult, Finding, count
from .trial import Trial

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
    """Says what is wrong with a call of an answer."""

    calls: Caller
    vetted: bool = False  # the kernels' text holds the language alone: the grader has seen to it
    kernels: list[str] = field(default_factory=list)
    astray: Finding | None = None  # what the meter found in the case that is tried
    thorough: bool = True  # a cause is looked for; of later wrong cases a card shows the place
    _allowed: set[int] = field(default_factory=set)  # kernels that hold the language alone, by id

    def __post_init__(self) -> None:
        self.check = self.calls.check

    def judge(self, trial: Trial, row: CaseResult | None = None) -> Finding | None:
        """First thing wrong with a trial; None when everything holds. Fills the row's figures."""
        row = row or CaseResult(trial.case.note, "", "passed")
        if trial.error is not None:
            return self.explained(trial, trial.error)
        finding = self._judge_launches(trial) or self._judge_memory(trial)
        # An open gap also leaves no launch or no write behind: say that first.
        differences = self.calls.differences(trial)
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
            if not self.thorough:
                place = where(wrong.bad)
                return Finding("wrong-values", f"The values are wrong {place}.")
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
            names = [self.calls.name_of(i, len(differences)) for i in range(len(differences))]
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
        from ..seeing.meter import meter

        with hold_zero():
            with meter() as seen:
                again = self.calls.again(trial)
            if again.error is not None:
                return None
            differences = self.calls.differences(again)
            if any(not d.ok for d in differences):
                wrong = next(d for d in differences if not d.ok)
                self._not_by_chance(again, wrong, differences.index(wrong))
                astray = seen.findings_of_call(again.inputs, again.watch.outputs)
                found = Finding(*astray[0]) if astray else None
                return replace(self, astray=found)._cause(again, differences)
        # Right by the zeros, or because it was called once more?
        if self.calls.right(self.calls.again(trial)):
            return None
        which = (
            later(f"`{loads[0]}` needs")
            if len(loads) == 1
            else f"One of the {len(loads)} loads needs"
        )
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
        if self.calls.outputs(trial)[position].is_floating_point():
            return
        again = self.calls.again(trial, large=not trial.watch.large)
        results = [] if again.error else self.calls.outputs(again)
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
            if not self.vetted and (refused := refusal(kernel)):
                return Finding(refused.code, refused.sentence)
            self._allowed.add(key)
        if found := self.calls.answers(trial, TEXT):
            return found
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
        return beyond_a_grid(launched) or self.calls.answers(trial, LAUNCHES)

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
        for name in self.check.inplace:
            home, untouched = trial.inputs[name], not trial.inputs[name].interior_changed()
            mine = home.buffer.untyped_storage().data_ptr()
            others = [each for each in flatten(trial.result) if isinstance(each, torch.Tensor)]
            away = others and all(each.untyped_storage().data_ptr() != mine for each in others)
            if untouched and away:
                return Finding(
                    "other-tensor",
                    f"{name} is as it was before the call, and another tensor was returned. {name} "
                    "itself has to become the result: give it to the kernel, no copy of it.",
                )
        return None

    def _judge_aliasing(self, trial: Trial) -> Finding | None:
        if self.check.inplace:
            return None
        homes = {g.buffer.untyped_storage().data_ptr(): n for n, g in trial.inputs.items()}
        for result in self.calls.outputs(trial):
            if isinstance(result, torch.Tensor) and result.numel():
                name = homes.get(result.untyped_storage().data_ptr())
                if name:
                    return Finding(
                        "aliases-input",
                        f"The result shares its memory with the input {name}. Allocate a new one.",
                    )
        return None

    def _evidence(self, trial: Trial, differences: list[Difference], position: int) -> Evidence:
        astray = self.astray.code if self.astray else ""
        return evidence(self.calls, trial, differences, position, astray)


def _has_text(kernel: Callable[..., Any]) -> bool:
    try:
        return bool(inspect.getsourcelines(kernel))
    except (OSError, TypeError):
        return False


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
