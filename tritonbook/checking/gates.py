"""The gates beside the values: does it compile for a GPU, is it fast enough here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..port import device
from .asks import COMPILED, FACTS, Made, all_float32
from .cases import Case, arguments, elements
from .checks import Check, Speed
from .errors import explain_error
from .report import NOT_RUN, Finding


def compile_ahead(
    fn: Callable[..., Any], check: Check, compile_gate: Callable[..., Any]
) -> tuple[Finding | None, str]:
    """Without a GPU: compile for the check's `arch`. On a GPU the run itself compiled everything.

    The largest case of each combination of dtypes is compiled, since `tl.exp` and others refuse
    half precision there and not in the interpreter. Where the task asks something of what is
    compiled, cases of float32 alone are compiled on a GPU too. Returns what was found, and the
    gate's outcome.
    """
    cases, asked = check.cases, check.asked(COMPILED)
    if not device.INTERPRET:
        if not asked:
            return None, "passed"
        cases = [case for case in cases if all_float32(case)]
    usable = [c for c in cases if c.raises is None and c.only != "gpu"]
    largest: dict[tuple[str, ...], Case] = {}
    for case in sorted(usable, key=elements, reverse=True):
        dtypes = tuple(spec.dtype or case.effective_dtype() for spec in case.specs().values())
        largest.setdefault(dtypes, case)
    made, finding, gate = _compiled(fn, list(largest.values()), compile_gate, check.arch)
    for ask in asked:
        for case, kernels in made:
            if said := ask.finds(Made(case, kernels)):
                return said, "failed"
    return finding, gate


def _compiled(
    fn: Callable[..., Any], cases: Sequence[Case], compile_gate: Callable[..., Any], arch: int
) -> tuple[list[tuple[Case, Any]], Finding | None, str]:
    """Cases and their kernels, up to the first that does not compile; what was found there, and the
    gate's outcome."""
    made: list[tuple[Case, Any]] = []
    for case in cases:
        outcome = compile_gate(fn, arguments(case), case.options, arch=arch)
        if outcome.ok is None:
            return made, None, _not_run(outcome.message)
        if not outcome.ok:
            return made, Finding(outcome.code, outcome.message, outcome.caret), "failed"
        made.append((case, outcome.kernels))
    return made, None, "passed" if made else _not_run("there is no case to compile")


def _not_run(reason: str) -> str:
    """The outcome of a gate that was not tried."""
    return NOT_RUN + reason


def judge_facts(
    fn: Callable[..., Any], check: Check, compile_gate: Callable[..., Any]
) -> tuple[Finding | None, str]:
    """What is found of what the compiler made of an answer whose values are right, and the gate's
    outcome.

    Among hidden cases there is none of the notes: then nothing is asked.
    """
    finding, gate = None, "passed"
    for ask in check.asked(FACTS):
        noted = [case for case in check.cases if case.note in ask.notes]
        made, finding, gate = _compiled(fn, noted, compile_gate, 80)
        if gate != "passed":
            break
        try:
            ask.finds({case.note: kernels for case, kernels in made})
        except AssertionError as error:
            return Finding("slow", str(error)), "failed"
    return finding, gate


def measure_speed(
    fn: Callable[..., Any], key: str, speed: Speed, finding: Finding | None
) -> tuple[Finding | None, str]:
    """Ratio to the baseline in the same run: what was found, and the gate's outcome.

    finding: what is wrong already. A function that raises on the timed case, which is larger than
    those whose values were right, gets a finding; a baseline that does leaves the gate not run.
    """
    if device.INTERPRET:
        return finding, _not_run("there is no GPU here")
    if finding is not None:
        return finding, _not_run("the values are not right yet")
    from ..timing.measure import bench

    inputs = arguments(speed.case, device.DEVICE)
    calls: dict[str, Callable[[], Any]] = {
        speed.name: lambda: speed.baseline(*inputs),
        key: lambda: fn(*inputs, **speed.case.options),
    }
    for name, call in calls.items():
        try:
            call()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
        except Exception as error:
            if name != key:
                return None, _not_run(f"{name} raised {type(error).__name__} here")
            found = explain_error(error)
            where = f"On the timed case ({speed.case.describe()}): "
            return replace(found, sentence=where + found.sentence), "failed"
    timed = bench(calls, baseline=speed.name)
    rows = {row.name: row for row in timed.rows}
    ratio = rows[speed.name].ms / rows[key].ms
    if ratio >= speed.at_least:
        return None, "passed"
    slow = Finding(
        "slow",
        f"The values are right, at {ratio:.2f} times the speed of {speed.name} (on "
        f"{speed.case.describe()}). This task asks for {speed.at_least:g}.",
    )
    return slow, "failed"
