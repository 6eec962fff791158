"""The answer called: a trial of a case, the same once more, and how its results compare."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..limits import CheckTimeout, time_limit
from ..port import device
from .asks import FIRST, Call
from .cases import Case
from .compare import Difference, compare, flatten
from .errors import explain_error
from .guard import same_bits
from .oracle import Oracle
from .report import Finding, count
from .trial import Trial, captured_stderr, fence, printed_aside, run_trial


@dataclass
class Caller:
    """Calls an answer, and keeps what was seen on the way."""

    fn: Callable[..., Any]
    oracle: Oracle
    launched: dict[int, Any] = field(default_factory=dict)  # the kernels' functions, by id
    noise: list[str] = field(default_factory=list)
    printed: str = ""  # by the first call that prints

    def __post_init__(self) -> None:
        self.check = self.oracle.check

    def trial(self, case: Case, draw: int = 0, **how: Any) -> Trial:
        values, asked = self.oracle.values(case, draw), self.check
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
        found = self.compared(trial.case, self.outputs(trial), trial.draw if draw is None else draw)
        for name, made in zip(self.check.inplace, found, strict=False):
            if made.got is not None:
                made.untouched = not trial.inputs[name].interior_changed()
        return found

    def compared(
        self, case: Case, got: list[Any], draw: int = 0, where: str | None = None
    ) -> list[Difference]:
        """Results against what is expected of a case's values, each within its tolerance.

        where: the device on which they have to be; None: that of every call.
        """
        where = where or device.DEVICE
        expected = self.oracle.expected(case, draw)
        if len(got) != len(expected):
            what = "None. Is a `return` missing?" if got == [None] else f"{len(got)}."
            due = count(len(expected), "result")
            return [Difference("wrong-type", f"Expected {due}, got {what}")]
        labels = ["the result"]
        if len(got) > 1:
            labels = [self.name_of(number, len(got)) for number in range(len(got))]
        return [
            compare(value, want, dtype, where, self.oracle.tolerance_for(case, dtype), label)
            for value, want, dtype, label in zip(
                got, expected, self.oracle.output_dtypes(case), labels, strict=True
            )
        ]

    def name_of(self, number: int, several: int) -> str:
        """What a result is called where there are several."""
        if len(self.check.results) == several:
            return f"`{self.check.results[number]}`"
        return f"result {number + 1} of {several}"

    def same_bits(self, one: Trial, two: Trial) -> bool:
        """Whether two trials gave the same tensors; what is no tensor is not compared."""
        first, second = self.outputs(one), self.outputs(two)
        kinds = [isinstance(a, torch.Tensor) for a in first]
        if kinds != [isinstance(b, torch.Tensor) for b in second]:
            return False
        pairs = zip(first, second, kinds, strict=True)
        return all(same_bits(a, b) for a, b, tensors in pairs if tensors)

    def answers(
        self, trial: Trial, when: str, seen: Any = None, again: bool = False
    ) -> Finding | None:
        """What the first ask of a moment finds of a call. seen: by the meter. again: it is not the
        first call of its sizes."""
        call = Call(trial, seen, functools.partial(self.instead, trial), again, self.fn)
        found = (ask.finds(call) for ask in self.check.asked(when))
        return next((each for each in found if each), None)

    def asserted(self, when: str, beside: Sequence[Any]) -> Finding | None:
        """What the first assertion of a moment says of the function, if one fails. beside: further
        functions that they get. Those that come before the cases are fenced: nobody knows yet where
        its kernels store."""
        for ask in self.check.asked(when):
            failed = None
            guard = fence() if when == FIRST else contextlib.nullcontext(list)
            with captured_stderr() as noise, printed_aside() as printed, guard as strays:
                try:
                    with time_limit(self.check.timeout):
                        ask.finds(self.fn, *beside)
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

    def instead(self, trial: Trial, case: Case) -> Trial:
        """The same values in a call of another case."""
        allow, timeout = self.check.allow, self.check.timeout
        with fence():
            return run_trial(self.fn, case, trial.values, allow=allow, timeout=timeout)

    def results_on(self, case: Case) -> list[Difference] | None:
        with fence():
            trial = self.trial(case)
        return None if trial.error else self.differences(trial)

    def others(self, case: Case) -> list[Case]:
        """The other cases that have a result here, those after `case` first."""
        here = "interpreter" if device.INTERPRET else "gpu"
        at = next((i for i, each in enumerate(self.check.cases) if each is case), 0)
        rest = [*self.check.cases[at + 1 :], *self.check.cases[:at]]
        return [c for c in rest if c.raises is None and c.only in (None, here)]

    def result(self, trial: Trial, wrong: Difference, position: int) -> torch.Tensor | None:
        """One result of another call, to be compared with the wrong one; None where there is
        none."""
        found = [] if trial.error else self.outputs(trial)
        one = found[position] if position < len(found) else None
        if not isinstance(one, torch.Tensor) or one.shape != wrong.got.shape:
            return None
        return one.detach().cpu().to(torch.float64)
