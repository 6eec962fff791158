"""What a check found out, as data. The card and the grader read the same model."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field, fields
from typing import Any

from ..words import later, say

NOT_ATTEMPTED = later("not attempted")
DOES_NOT_COMPILE = later("does not compile")
WRONG = later("wrong")
PASSED = later("passed")
NOT_RUN = "not run: "  # begins the outcome of a gate that was not tried; a reason follows
# What `count` says of the package's own things.
COUNTED = (
    later("1 element"),
    later("{number} elements"),
    later("1 program"),
    later("{number} programs"),
)


@dataclass(frozen=True)
class Finding:
    """One cause. `code` is stable and tested; `sentence` is for the learner."""

    code: str
    sentence: str
    detail: str = ""  # compiler lines, a traceback's last line


@dataclass
class CaseResult:
    """One row of the card. state: "passed", "wrong", "not run"."""

    note: str
    describe: str
    state: str
    error: float | None = None  # largest error over the allowed one
    absolute_error: float | None = None
    tolerance: str = ""
    finding: Finding | None = None
    first_bad: str = ""
    remark: str = ""  # what a case that compares nothing found, or why it was not run
    bad_strip: list[float] = field(default_factory=list)  # share of wrong elements along the output


@dataclass
class Report:
    """Outcome of one check. `gates` maps values, compile, speed to "passed", "failed" or
    "not run: reason"."""

    key: str
    state: str
    finding: Finding | None
    cases: list[CaseResult]
    kernels: list[str]
    gates: dict[str, str]
    versions: dict[str, str]
    seconds: float
    stderr: str = ""
    printed: str = ""  # by the first call that prints
    remarks: list[str] = field(default_factory=list)  # a sentence each, of an answer that passed

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Report:
        """The report that `to_dict` gave this, without what only another version keeps."""

        def known(kind: type, found: dict[str, Any]) -> dict[str, Any]:
            return {each.name: found[each.name] for each in fields(kind) if each.name in found}

        def finding(found: dict[str, Any] | None) -> Finding | None:
            return Finding(**found) if found else None

        rows = [
            CaseResult(**{**known(CaseResult, row), "finding": finding(row["finding"])})
            for row in data["cases"]
        ]
        for row in rows:  # infinities are words in JSON
            row.error = None if row.error is None else float(row.error)
            row.absolute_error = None if row.absolute_error is None else float(row.absolute_error)
        return cls(**{**known(cls, data), "finding": finding(data["finding"]), "cases": rows})

    @property
    def passed(self) -> bool:
        return self.state == PASSED

    @property
    def counts(self) -> str:
        """How many cases are right, where that says something."""
        counted = [c for c in self.cases if c.state != "not run"]
        good = sum(c.state == "passed" for c in counted)
        if self.state == PASSED:
            return f"{good} of {len(counted)} cases"
        if self.state == WRONG and counted and good == len(counted):
            return (
                "though its one case is right"
                if good == 1
                else f"though all {good} cases are right"
            )
        if self.state == WRONG and counted:
            return f"{good} of {len(counted)} cases right"
        if self.state == DOES_NOT_COMPILE and counted and good == len(counted):
            return "though all values are right in the interpreter"
        return ""

    @property
    def headline(self) -> str:
        counts = self.counts
        return f"{self.key}: {self.state}{', ' if counts else ''}{counts}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: no NaN, no tensors."""
        return _finite(dataclasses.asdict(self))


def count(number: int, what: str) -> str:
    """`1 element`, `2 elements`."""
    return f"{number} {what}{'s' if number != 1 else ''}"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return value


def headline(report: Report) -> str:
    """The report's, in the reader's language."""
    state, counts = say(report.state), say(report.counts)
    if counts:
        return say("{key}: {state}, {counts}", key=report.key, state=state, counts=counts)
    return say("{key}: {state}", key=report.key, state=state)


class CheckFailed(AssertionError):
    """A check that did not pass. Shows its headline; the card above it has the rest."""

    def __init__(self, report: Report):
        finding = report.finding
        super().__init__(report.headline + (f". {finding.sentence}" if finding else ""))
        self.report = report

    def _render_traceback_(self) -> list[str]:
        return [f"CheckFailed: {headline(self.report)}"]
