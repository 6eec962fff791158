"""The gates beside the values: does it compile for a GPU, is it fast enough here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..port import device
from ..port.plain_words import said_of_lines
from .cases import DTYPES, Case, arguments, elements
from .checks import Check, Facts, Speed
from .errors import explain_error
from .report import Finding

_TF32 = Finding(
    "tf32",
    "Compiled for an A100, your kernel multiplies float32 tiles on the tensor cores, which take "
    'TF32 alone, three decimal digits. Ask for float32 in `tl.dot`: input_precision="ieee".',
)


def compile_ahead(
    fn: Callable[..., Any], check: Check, compile_gate: Callable[..., Any]
) -> tuple[Finding | None, str]:
    """Without a GPU: compile for the check's `arch`. On a GPU the run itself compiled everything.

    The largest case of each combination of dtypes is compiled, since `tl.exp` and others refuse
    half precision there and not in the interpreter. no_tf32: no tensor cores may be used where all
    is float32; these cases are compiled on a GPU too. Returns what was found, and the gate's
    outcome.
    """
    cases = check.cases
    if not device.INTERPRET:
        if not check.no_tf32:
            return None, "passed"
        cases = [case for case in cases if _all_float32(case)]
    usable = [c for c in cases if c.raises is None and c.only != "gpu"]
    largest: dict[tuple[str, ...], Case] = {}
    for case in sorted(usable, key=elements, reverse=True):
        dtypes = tuple(spec.dtype or case.effective_dtype() for spec in case.specs().values())
        largest.setdefault(dtypes, case)
    made, finding, gate = _compiled(fn, list(largest.values()), compile_gate, check.arch)
    exact = [kernels for case, kernels in made if check.no_tf32 and _all_float32(case)]
    if any(kernel.tensor_cores for kernels in exact for kernel in kernels):
        return _TF32, "failed"
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
            return made, None, f"not run: {outcome.message}"
        if not outcome.ok:
            message = said_of_lines(outcome.caret) or outcome.message
            return made, Finding(outcome.code, message, outcome.caret), "failed"
        made.append((case, outcome.kernels))
    return made, None, "passed" if made else "not run: no case to compile"


def judge_facts(
    fn: Callable[..., Any], cases: Sequence[Case], facts: Facts, compile_gate: Callable[..., Any]
) -> tuple[Finding | None, str]:
    """What a check's facts say of an answer whose values are right, and the gate's outcome.

    Among hidden cases there is none of the notes: then nothing is asked.
    """
    noted = [case for case in cases if case.note in facts.notes]
    made, finding, gate = _compiled(fn, noted, compile_gate, 80)
    if gate != "passed":
        return finding, gate
    try:
        facts.judge({case.note: kernels for case, kernels in made})
    except AssertionError as error:
        return Finding("slow", str(error)), "failed"
    return None, "passed"


def _all_float32(case: Case) -> bool:
    """Whether all its floating tensors are: a table of int32 is not multiplied."""
    kinds = {spec.dtype or case.effective_dtype() for spec in case.specs().values()}
    return {kind for kind in kinds if DTYPES[kind].is_floating_point} == {"float32"}


def measure_speed(
    fn: Callable[..., Any], key: str, speed: Speed, finding: Finding | None
) -> tuple[Finding | None, str]:
    """Ratio to the baseline in the same run: what was found, and the gate's outcome.

    finding: what is wrong already. A function that raises on the timed case, which is larger than
    those whose values were right, gets a finding; a baseline that does leaves the gate not run.
    """
    if device.INTERPRET:
        return finding, "not run: there is no GPU here"
    if finding is not None:
        return finding, "not run: the values are not right yet"
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
                return None, f"not run: {name} raised {type(error).__name__} here"
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
