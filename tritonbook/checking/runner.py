"""Run a check: every case, then the gates. What a learner's call and a grader's have in common.

cases -> guard -> launches -> compare -> diagnose -> report -> card, never back.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..port import device
from ..words import later
from . import report as states
from .asks import COMPILED, FACTS, FIRST, HIDDEN, LAST
from .battery import Battery
from .caller import Caller
from .cases import Case
from .checks import Check
from .codes import CODES, COMPILING, GAP, about, stops
from .errors import STOPPED
from .gates import compile_ahead, judge_facts, measure_speed
from .host_memory import no_default_device
from .mended import Search, is_vague, told
from .report import CaseResult, Finding, Report
from .slips import (
    WORDLESS,
    in_words_of_blocks,
    put_into_words,
    seen_in_addresses,
    slip,
    truth_of_tiles,
)
from .trial import fence

# Set where nobody reads the card (the kill matrix): one finding is enough, and saves the rest.
first_finding_only: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "first_finding_only", default=False
)


def _state_of(finding: Finding | None) -> str:
    if finding is None:
        return states.PASSED
    if about(finding.code, GAP):
        return states.NOT_ATTEMPTED
    if about(finding.code, COMPILING):
        return states.DOES_NOT_COMPILE
    return states.WRONG


def _finish(
    battery: Battery,
    helpers: list[Battery],
    others: list[Any],
    hidden: bool,
    compile_gate: Callable[..., Any],
) -> Report:
    """Run every case and gate, and put together the report."""
    check, brief = battery.check, first_finding_only.get()
    speed = check.speed
    start = time.perf_counter()
    rows: list[CaseResult] = []
    finding = battery.calls.asserted(FIRST, others)
    for helper in () if finding else helpers:
        for case in helper.check.cases:
            rows.append(helper.run_case(case, thorough=True))
            finding = finding or rows[-1].finding
            if finding and (brief or stops(finding.code)):
                break
        battery.calls.noise += helper.calls.noise
        battery.calls.printed += helper.calls.printed
    early = finding is not None  # of a rule or helper beside the kernel: compiling tells nothing
    for case in () if finding else check.cases:
        row = battery.run_case(case, thorough=finding is None)
        rows.append(row)
        finding = finding or row.finding
        if row.finding and (brief or stops(row.finding.code)):
            break
    mended = _mended(battery, rows, finding) if finding and check.mends else ""
    if finding and finding.code == "wrong-values" and not mended:
        finding = replace(finding, sentence=finding.sentence + _first_wrong(rows))
    if finding and finding.code in CODES and CODES[finding.code].address:
        odd = seen_in_addresses(battery.calls.launched.values())
        finding = replace(finding, sentence=finding.sentence + odd)
        finding = in_words_of_blocks(finding, battery.calls.launched.values())
    if finding and mended:  # it was tried out; what the values look like may be a guess
        finding = replace(finding, sentence=f"{mended} {finding.sentence}")
    if finding is None and all(row.state == "not run" for row in rows):
        finding = Finding("not-run", "No case of this check can run on this machine.")
    if finding and device.INTERPRET and (said := truth_of_tiles(battery.calls.launched.values())):
        finding = Finding("truth-of-a-tile", said, finding.detail)
    if finding:  # on a GPU the compiler speaks here
        finding = put_into_words(finding, battery.calls.launched.values())
    # Whether it is fast comes before what a page asks beside the function, as for a cause.
    late: dict[str, str] = {}
    if check.asked(FACTS) and finding is None:
        finding, late["facts"] = judge_facts(battery.fn, check, compile_gate)
    if speed is not None:
        finding, late["speed"] = measure_speed(battery.fn, battery.key, speed, finding)
    finding = finding or battery.many_programs()
    finding = finding or battery.calls.asserted(HIDDEN if hidden else LAST, others)
    gates = {"values": "failed" if finding and finding.code != "slow" else "passed"}
    # On a GPU TF32 shows in the values, and what is compiled tells the cause.
    code = finding.code if finding else "passed"
    rounded = check.asked(COMPILED) and not device.INTERPRET and code == "wrong-values"
    if check.triton and not early and (rounded or not finding or (not brief and not stops(code))):
        compile_finding, outcome = compile_ahead(battery.fn, check, compile_gate)
        # What raised here stops there too: the card has said why.
        if code != "raised" or not outcome.startswith(states.NOT_RUN):
            gates["compile"] = outcome
        if compile_finding and WORDLESS.search(compile_finding.sentence):
            if slip(battery.calls.launched.values()) or not finding:
                compile_finding = put_into_words(compile_finding, battery.calls.launched.values())
            else:
                compile_finding = None  # the compiler has no words for it, and the values have
        # Without a GPU rounded factors are no reason for wrong values; what does not compile is.
        compiles = compile_finding is None or (compile_finding.code == "tf32" and not rounded)
        if compile_finding and finding and not compile_finding.detail:
            compile_finding = replace(compile_finding, detail=finding.detail)
        finding = (finding or compile_finding) if compiles else compile_finding
    gates |= late
    wrong = next((row for row in rows if row.finding), None)
    if wrong and finding and check.elsewhere and _state_of(finding) == states.WRONG:
        finding = _in_the_interpreter(battery, finding, wrong.note)
    return Report(
        key=battery.key,
        state=_state_of(finding),
        finding=finding,
        cases=[] if finding and finding.code == "not-attempted" else rows,
        kernels=battery.verdict.kernels,
        gates=gates,
        versions=device.versions(),
        seconds=time.perf_counter() - start,
        stderr="".join(battery.calls.noise)[:20_000],
        printed=battery.calls.printed,
        remarks=[] if finding else list(battery.metered.remarks.values()),
    )


def _in_the_interpreter(battery: Battery, finding: Finding, note: str) -> Finding:
    """The cause that the interpreter names for what was wrong on a GPU, where it names one."""
    assert battery.check.elsewhere is not None
    found = battery.check.elsewhere(battery.fn, note)
    if found is None:
        return finding
    if finding.code != "crashed":
        return replace(found, detail=finding.detail)
    return Finding(found.code, f"{found.sentence} {STOPPED}", finding.detail)


def _mended(battery: Battery, rows: list[CaseResult], finding: Finding) -> str:
    """Where one change of the answer makes all cases right, in a sentence; empty where none does,
    or where the finding says enough."""
    check, here = battery.check, {row.note: row for row in rows if row.state != "not run"}
    if check.mends is None or not is_vague(finding):
        return ""
    asked = replace(check, known=tuple, mends=None, asks=(), timeout=min(check.timeout, 2.0))

    def right(fn: Any, case: Case) -> bool:
        if not check.triton:
            return sound(fn, case)
        with fence() as strays:
            trial = Caller(fn, battery.oracle).trial(case)
        return Caller(fn, battery.oracle).right(trial) and not strays()

    def sound(fn: Any, case: Case) -> bool:
        return Battery(fn, asked, battery.key).run_case(case, thorough=False).finding is None

    able = [case for case in check.cases if case.raises is None and case.only != "gpu"]
    tried = [case for case in able if case.note in here]  # none: a rule ended the check before
    wrong = [case for case in tried if here[case.note].finding] if tried else able
    # By what changes are judged by: what a tuner may choose elsewhere, say, no change can show.
    wrong = [case for case in wrong if not right(battery.fn, case)]
    if not wrong:
        return ""
    others = [case for case in battery.calls.others(wrong[0]) if case not in wrong]
    # Few cases are shown, and a change may be right in these by chance.
    hidden = [case for case in check.hidden if case.raises is None and case.only != "gpu"]
    mends = check.mends(battery.fn, finding.sentence)
    return told(Search(mends, wrong, others, right, sound, hidden).found())


def _first_wrong(rows: list[CaseResult]) -> str:
    """Which case is the first wrong one, where others before it have values that are right."""
    at = next(i for i, row in enumerate(rows) if row.finding)
    right = any(row.state == "passed" for row in rows[:at])
    return f" The cases before `{rows[at].note}` are right: what is new in it?" if right else ""


def run_check(
    fn: Callable[..., Any],
    check: Check,
    key: str,
    *,
    hidden: bool = False,
    beside: Callable[[str], Any] | None = None,
    vetted: bool = False,
    compile_gate: Callable[..., Any] | None = None,
) -> Report:
    """Run the visible cases of a check on `fn`, or the hidden ones: returns the Report.

    key: the name on the card. beside: finds another function of the page by its name; without it
    they are taken from where `fn` was defined. vetted: the kernels' text holds the language alone,
    as the grader has seen to. compile_gate: compiles a call in place of
    `seeing.compiled.compile_gate`.
    Raises ValueError where the hidden cases are asked for and there are none.
    """
    if hidden and not check.hidden:
        raise ValueError(later(f"The check of {key} has no hidden case."))
    look_up = beside or functools.partial(_neighbour, fn)
    asserted = [*check.asked(FIRST), *check.asked(HIDDEN if hidden else LAST)]
    others = [look_up(name) for name in check.beside] if asserted else []
    answer = called(fn, check, beside)
    if not callable(answer):
        said = f"{key} is {type(answer).__name__}, not a function. Run the cell above."
        found, gates = Finding("not-defined", said), {"values": "failed"}
        return Report(key, states.NOT_ATTEMPTED, found, [], [], gates, device.versions(), 0.0)
    if compile_gate is None:
        from ..seeing import compiled

        compile_gate = compiled.compile_gate
    # Set from outside: whoever grades many endless loops cannot wait 20 s for each.
    most = float(os.environ.get("TRITONBOOK_CALL_SECONDS", "inf"))

    def battery(function: Any, check: Check) -> Battery:
        cases = check.hidden if hidden else check.cases
        asked = replace(check, cases=cases, timeout=min(check.timeout, most))
        return Battery(function, asked, key, vetted)

    looked_at = [(called(fn, helper, beside), helper) for helper in check.of_helpers()]
    helpers = [battery(function, helper) for function, helper in looked_at if function]
    with no_default_device():
        return _finish(battery(answer, check), helpers, others, hidden, compile_gate)


def called(fn: Any, check: Check, beside: Callable[[str], Any] | None = None) -> Any:
    """The function that a check of `fn` calls: `fn` itself, or what it is looked at through."""
    if check.look is not None:
        return check.look(fn)
    if not check.through or not callable(fn):
        return fn
    return (beside or functools.partial(_neighbour, fn))(check.through)


def _neighbour(fn: Callable[..., Any], name: str) -> Any:
    """Another function of the cell or module in which `fn` was defined. Raises NameError."""
    names = getattr(inspect.unwrap(getattr(fn, "fn", fn)), "__globals__", {})
    if inspect.isclass(fn):
        names = vars(sys.modules[fn.__module__])
    if name not in names:
        raise NameError(later(f"{name} is not defined. Run the cell that defines it."), name=name)
    return names[name]
