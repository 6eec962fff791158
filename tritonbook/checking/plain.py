"""A plain Python function judged: it runs as it is, and its results are compared as they are."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..limits import CheckTimeout, time_limit
from .asks import LAUNCHES, METER
from .caller import Caller
from .cases import Case, arguments
from .compare import WRONG_TENSOR, Tolerance, compare_plain, compare_values, flatten
from .diagnose import Evidence, diagnose
from .errors import explain_error
from .guard import changed
from .launches import Watch, heard
from .mistakes import SECONDS, Mistake
from .report import Finding
from .trial import Trial, captured_stderr, fence, printed_aside


@dataclass
class Plain:
    """Judges the answers that launch nothing."""

    calls: Caller

    def __post_init__(self) -> None:
        self.check = self.calls.check
        self._watch = Watch()  # of the latest call

    def judge(self, case: Case) -> Finding | None:
        mine, pristine = arguments(case), arguments(case)
        got, finding = self._call(mine, case)
        if finding:
            return self._instead(finding, got, case, pristine)
        found = self._on_ranks if self.check.ranks else self._as_it_is
        if finding := found(got, case, pristine):
            return finding
        for name, one, two in zip(case.arguments, mine, pristine, strict=True):
            if changed(one, two):
                return Finding("input-changed", f"The argument {name} was changed. Work on a copy.")
        return None

    def _instead(self, finding: Finding, got: Any, case: Case, given: list[Any]) -> Finding:
        """The known mistake that is told in the place of a lane that went astray, if it gives the
        same wrong result."""
        mistakes = [each for each in self.check.known() if finding.code in each.instead]
        if not mistakes or got is None:
            return finding
        wrong = compare_plain(got, self.check.reference(*given), self._relative())
        known = self._mistake(got, case, mistakes) if wrong else None
        return Finding(known.code, known.sentence) if known else finding

    def _as_it_is(self, got: Any, case: Case, given: list[Any]) -> Finding | None:
        wanted = self.check.reference(*given)
        wrong = compare_plain(got, wanted, self._relative())
        if not wrong:
            return None
        if known := self._mistake(got, case, self.check.known()):
            return Finding(known.code, known.sentence)
        if got is None:
            return Finding("wrong-type", f"{wrong} Is a `return` missing?")
        if wrong == WRONG_TENSOR:
            return self._cause(got, wanted, dict(zip(case.arguments, given, strict=True)))
        return Finding("wrong-values", wrong + _seen_in_numbers(got, wanted))

    def _on_ranks(self, got: Any, case: Case, given: list[Any]) -> Finding | None:
        """Kernels that run in another process: their results against float64, then what the task
        asks for besides."""
        results = flatten(got)
        where = results[0].device.type if isinstance(results[0], torch.Tensor) else None
        for difference in self.calls.compared(case, results, where=where):
            if difference.code is not None:
                return Finding(difference.code, difference.sentence or WRONG_TENSOR)
        values = dict(zip(case.arguments, given, strict=True))
        trial = Trial(case, 0, "", values, {}, self._watch, result=got)
        return self.calls.answers(trial, LAUNCHES) or self.calls.answers(trial, METER)

    def _cause(self, got: Any, wanted: Any, inputs: dict[str, Any]) -> Finding:
        relative = self._relative()
        difference = compare_values(got, wanted.cpu(), Tolerance(relative, absolute=relative))
        tensors = {n: v.double() for n, v in inputs.items() if isinstance(v, torch.Tensor)}
        return diagnose(Evidence(difference, inputs=tensors))

    def _call(self, given: list[Any], case: Case) -> tuple[Any, Finding | None]:
        got, finding = None, None
        with captured_stderr() as noise, printed_aside() as printed, fence() as strays:
            try:
                # Whoever is heard is watched in its process, where torch.compile then refuses.
                heard_here = heard() if self.check.ranks else contextlib.nullcontext(Watch())
                with heard_here as self._watch, time_limit(self.check.timeout):
                    got = self.calls.fn(*given, **case.options)
            except (Exception, CheckTimeout, SystemExit) as error:
                finding = explain_error(error)
        self.calls.noise.extend(noise)
        self.calls.printed = self.calls.printed or printed.getvalue()
        for code, sentence in strays():
            return got, Finding(code, sentence)
        return got, finding

    def _mistake(self, got: Any, case: Case, mistakes: Sequence[Mistake]) -> Mistake | None:
        """The known mistake that gives this result; of several, and where results are numbers,
        which may fit by chance, the one that explains most other wrong cases, if it explains half
        of them. None where the time does not suffice for all."""
        relative, end = self._relative(), time.process_time() + SECONDS
        near, results = [], []
        for known in mistakes:
            if compare_plain(got, _mistaken(known, case), relative) is None:
                near.append(known)
            if time.process_time() > end:
                return None
        chance = _numbers([*case.arguments.values(), self.check.reference(*arguments(case))])
        if len({known.sentence for known in near}) <= 1 and not chance:
            return near[0] if near else None
        for other in self.calls.others(case):
            results.append(self._call(arguments(other), other))
            if time.process_time() > end:
                return None
        scored = [(self._votes(known, case, results), known) for known in near]
        fair = [entry for entry in scored if entry[0][0] >= 0 and sum(entry[0]) >= 0]
        return max(fair, key=lambda entry: sum(entry[0]))[1] if fair else None

    def _votes(self, known: Mistake, case: Case, results: list[tuple[Any, Any]]) -> tuple[int, int]:
        """How many other wrong cases a mistake explains, less those that it does not; and less how
        many that are right it would make wrong."""
        relative, wrong, right = self._relative(), 0, 0
        for other, (got, finding) in zip(self.calls.others(case), results, strict=True):
            value = _mistaken(known, other)
            wanted = self.check.reference(*arguments(other))
            if finding or value is _RAISED or compare_plain(value, wanted, relative) is None:
                continue
            if compare_plain(got, wanted, relative) is None:
                right -= 1
            else:
                wrong += -1 if compare_plain(got, value, relative) else 1
        return wrong, right

    def _relative(self) -> float:
        tolerance = self.check.tolerance
        return tolerance.relative if isinstance(tolerance, Tolerance) else 1e-9


def _numbers(result: Any) -> bool:
    """Whether it is a number, or a collection of nothing but numbers."""
    if isinstance(result, dict):
        return all(map(_numbers, result.values()))
    if isinstance(result, (list, tuple)):
        return all(map(_numbers, result))
    return isinstance(result, (int, float))


def _seen_in_numbers(got: Any, wanted: Any) -> str:
    """What all wrong numbers of a result have in common, as a sentence after what is certain."""
    pairs = list(_pairs(got, wanted))
    if not all(type(one) in (int, float) for pair in pairs for one in pair):
        return ""
    wrong = [(one, other) for one, other in pairs if one != other]
    apart = {one - other for one, other in wrong if type(one) is type(other) is int}
    if len(pairs) > 1 and len(apart) == 1 and len(wrong) < len(pairs):
        if apart == {-1}:
            return " Each number that is wrong is 1 too small."
        if apart == {1}:
            return " Each number that is wrong is 1 too large."
    if wrong and any(all(one == round(other, n) for one, other in wrong) for n in range(5)):
        return " That is rounded: leave the number as it is."
    return ""


def _pairs(got: Any, wanted: Any) -> Iterator[tuple[Any, Any]]:
    """What stands in the places of two results that are built alike; else the two."""
    lists = isinstance(got, (list, tuple)) and isinstance(wanted, (list, tuple))
    if lists and len(got) == len(wanted):
        for one, other in zip(got, wanted, strict=True):
            yield from _pairs(one, other)
    else:
        yield got, wanted


_RAISED = object()  # what no answer gives


def _mistaken(known: Mistake, case: Case) -> Any:
    """What a known mistake gives for a case, or _RAISED where it cannot take it."""
    try:
        return known.gives(case, 0)
    except Exception:  # a mistake is tried on cases that its author did not think of
        return _RAISED
