"""The check: one call that a learner makes, and the same call that a grader makes.

check -> cases -> guard -> launches -> compare -> diagnose -> report -> card, never back.
"""

from __future__ import annotations

import contextvars
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from .. import device
from ..course import progress
from ..course.exercises import LOADING
from . import report as states
from .battery import Battery
from .card import show
from .cases import Case
from .gates import Speed, compile_for_a100, measure_speed
from .judge import Suspects
from .report import CaseResult, CheckFailed, Finding, Report

# Set where nobody reads the card (the kill matrix): one finding is enough, and saves the rest.
first_finding_only: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "first_finding_only", default=False
)

# After one of these, further cases would only repeat it (or cost the full time limit each).
_STOPS = (
    "not-attempted",
    "timeout",
    "crashed",
    "does-not-compile",
    "no-kernel-launched",
    "policy",
)


def _most_seconds_a_call() -> float:
    """Limit set from outside: whoever grades many endless loops cannot wait 20 s for each."""
    return float(os.environ.get("TRITONBOOK_CALL_SECONDS", "inf"))


def _state_of(finding: Finding | None, gates: dict[str, str]) -> str:
    if finding is None:
        return states.SLOW if gates.get("speed") == "failed" else states.PASSED
    if finding.code in ("not-attempted", "not-defined"):
        return states.NOT_ATTEMPTED
    if finding.code in ("does-not-compile", "out-of-resources"):
        return states.DOES_NOT_COMPILE
    return states.WRONG


def _finish(battery: Battery, cases: Sequence[Case], speed: Speed | None) -> Report:
    """Run every case and gate, and put together the report."""
    brief = first_finding_only.get()
    start = time.perf_counter()
    rows: list[CaseResult] = []
    finding: Finding | None = None
    for case in cases:
        row = battery.run_case(case, thorough=finding is None)
        rows.append(row)
        finding = finding or row.finding
        if row.finding and (brief or row.finding.code in _STOPS):
            break
    if all(row.state == "not run" for row in rows):
        finding = Finding("not-run", "No case of this check can run on this machine.")
    finding = finding or battery.extra_assertions()
    gates = {"values": "failed" if finding else "passed"}
    facts: list[dict[str, Any]] = []
    if battery.triton and (finding is None or (not brief and finding.code not in _STOPS)):
        compile_finding, gates["compile"], facts = compile_for_a100(battery.fn, cases)
        finding = compile_finding or finding
    measured: dict[str, Any] = {}
    if speed is not None:
        finding, gates["speed"], measured = measure_speed(battery.fn, battery.key, speed, finding)
    return Report(
        key=battery.key,
        state=_state_of(finding, gates),
        finding=finding,
        cases=[] if finding and finding.code == "not-attempted" else rows,
        kernels=battery.kernels,
        gates=gates,
        versions=device.versions(),
        seconds=time.perf_counter() - start,
        stderr="".join(battery.noise)[:20_000],
        kernel_facts=facts,
        speed=measured,
    )


def run(
    fn: Callable[..., Any],
    reference: Callable[..., Any],
    cases: Sequence[Case],
    *,
    key: str | None = None,
    allow: Sequence[str] = (),
    inplace: Sequence[str] = (),
    by_hand: Sequence[str] = (),
    suspects: Suspects | None = None,
    speed: Speed | None = None,
    **options: Any,
) -> Report:
    """Same as `check`, without card or exception: returns the Report."""
    name = key or getattr(fn, "__name__", "answer")
    if not callable(fn):
        finding = Finding(
            "not-defined", f"{name} is {type(fn).__name__}, not a function. Run the cell above."
        )
        return Report(
            name,
            states.NOT_ATTEMPTED,
            finding,
            [],
            [],
            {"values": "failed"},
            device.versions(),
            0.0,
        )
    options["timeout"] = min(options.get("timeout", Battery.timeout), _most_seconds_a_call())
    battery = Battery(
        fn,
        reference,
        name,
        allow=tuple(allow),
        inplace=tuple(inplace),
        by_hand=tuple(by_hand),
        suspects=dict(suspects or {}),
        **options,
    )
    return _finish(battery, list(cases), speed)


def check(
    fn: Callable[..., Any],
    reference: Callable[..., Any],
    cases: Sequence[Case],
    **options: Any,
) -> None:
    """Check `fn` against `reference` on `cases`; show a card; raise CheckFailed unless it passed.

    The reference gets float64 CPU tensors and returns float64; results are expected in the dtype
    it would return for the case's own dtypes.
    Options: key (name on the card), triton=False (a plain Python function: no launch proof),
    launches (exact number of launches a call), max_programs (function of the arguments and
    options: largest sensible grid), and where a task asks for one way of doing it: programs
    (likewise: exactly so many), max_tile (likewise: most elements in one load or store), by_hand
    (functions of Triton's that the kernel must not call); allow (further torch operators),
    deterministic, inplace (names of arguments that are the result), overlap (programs may store to one address),
    terms (reduction length for the tolerance: int or function of the arguments), tolerance (a
    Tolerance, or a function from the output's dtype to one),
    suspects ({code: (wrong formula, sentence)}), also (functions with extra assertions),
    timeout (seconds a call; the environment's TRITONBOOK_CALL_SECONDS can lower it), speed.
    """
    finished = run(fn, reference, cases, **options)
    reason = finished.finding.sentence if finished.finding else ""
    if not LOADING.get():
        progress.record(finished.key, finished.state, fn, reason=reason)
        show(finished)
    if not finished.passed:
        raise CheckFailed(finished)
