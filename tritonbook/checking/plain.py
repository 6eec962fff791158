"""A plain Python function judged: it runs as it is, and its results are compared as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ..limits import CheckTimeout, time_limit
from .cases import Case, arguments
from .compare import WRONG_TENSOR, Tolerance, compare_plain, compare_values
from .diagnose import Evidence, diagnose
from .errors import explain_error
from .guard import changed
from .judge import Judge
from .report import Finding
from .trial import captured_stderr, fence, printed_aside


@dataclass
class PlainJudge(Judge):
    """Judges the answers that launch nothing."""

    def plain(self, case: Case) -> Finding | None:
        mine, pristine = arguments(case), arguments(case)
        got, finding = self._plain_call(mine, case)
        if finding:
            return finding
        relative = self.plain_relative()
        wanted = self.check.reference(*pristine)
        wrong = compare_plain(got, wanted, relative)
        if wrong:
            for code, (formula, sentence) in self.check.mistakes.items():
                fits = compare_plain(got, _mistaken(formula, case), relative) is None
                if fits and self._plain_confirmed(formula, case):
                    return Finding(code, sentence)
            if got is None:
                return Finding("wrong-type", f"{wrong} Is a `return` missing?")
            if wrong == WRONG_TENSOR:
                return self._plain_cause(
                    got, wanted, dict(zip(case.arguments, pristine, strict=True))
                )
            return Finding("wrong-values", wrong)
        for name, one, two in zip(case.arguments, mine, pristine, strict=True):
            if changed(one, two):
                return Finding("input-changed", f"The argument {name} was changed. Work on a copy.")
        return None

    def _plain_cause(self, got: Any, wanted: Any, inputs: dict[str, Any]) -> Finding:
        relative = self.plain_relative()
        difference = compare_values(got, wanted.cpu(), Tolerance(relative, absolute=relative))
        tensors = {n: v.double() for n, v in inputs.items() if isinstance(v, torch.Tensor)}
        return diagnose(Evidence(difference, inputs=tensors))

    def _plain_call(self, given: list[Any], case: Case) -> tuple[Any, Finding | None]:
        got, finding = None, None
        with captured_stderr() as noise, printed_aside() as printed, fence() as strays:
            try:
                with time_limit(self.check.timeout):
                    got = self.fn(*given, **case.options)
            except (Exception, CheckTimeout, SystemExit) as error:
                finding = explain_error(error)
        self.noise.extend(noise)
        self.printed = self.printed or printed.getvalue()
        for code, sentence in strays():
            return None, Finding(code, sentence)
        return got, finding

    def _plain_confirmed(self, formula: Any, case: Case) -> bool:
        """Whether a mistake explains at least half of a plain function's other wrong cases, where
        the results are numbers, which may fit by chance."""
        relative, votes = self.plain_relative(), 0
        if not _numbers([*case.arguments.values(), self.check.reference(*arguments(case))]):
            return True
        for other in self.others(case):
            value = _mistaken(formula, other)
            if value is _RAISED:
                continue
            wanted = self.check.reference(*arguments(other))
            if compare_plain(value, wanted, relative) is None:
                continue
            got, finding = self._plain_call(arguments(other), other)
            if finding is None and compare_plain(got, wanted, relative):
                votes += -1 if compare_plain(got, value, relative) else 1
        return votes >= 0

    def plain_relative(self) -> float:
        tolerance = self.check.tolerance
        return tolerance.relative if isinstance(tolerance, Tolerance) else 1e-9


def _numbers(result: Any) -> bool:
    """Whether it is a number, or a collection of nothing but numbers."""
    if isinstance(result, dict):
        return all(map(_numbers, result.values()))
    if isinstance(result, (list, tuple)):
        return all(map(_numbers, result))
    return isinstance(result, (int, float))


_RAISED = object()  # what no answer gives


def _mistaken(formula: Any, case: Case) -> Any:
    """What a known mistake gives for a case, or _RAISED where it cannot take it."""
    try:
        return formula(*arguments(case))
    except Exception:  # a formula is tried on cases that its author did not think of
        return _RAISED
