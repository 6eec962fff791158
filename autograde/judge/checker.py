"""The process that holds the hidden tests, the reference, the secret and the verdict.

It runs the instructor's own check cell. The names that the answers define are bound to proxies: a
call goes to the candidate and comes back as data. No Python of the student's runs here, and in the
interpreter, where a kernel's pointer is an address, no kernel either: `engine.py` runs those.
"""

from __future__ import annotations

import builtins
import dataclasses
import re
import socket
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import torch
from triton.compiler import errors as triton_errors
from triton.runtime import errors as runtime_errors
from triton.runtime import interpreter

import tritonbook.limits
from tritonbook import checking
from tritonbook.checking import card
from tritonbook.checking.asks import METER
from tritonbook.checking.battery import LEFT_TO_TORCH
from tritonbook.checking.report import CheckFailed, Finding, Report
from tritonbook.limits import CheckTimeout
from tritonbook.notebook import machinery
from tritonbook.port import device, source_file
from tritonbook.timing import clock
from tritonbook.words import later

from ..walls import confine
from ..walls.kernels import KernelLibrary
from ..walls.wire import Line, NotReady, ProcessEnded
from . import proof
from .course import Course, asked_of
from .gate import CannotCompile, Compiler, Gate
from .launcher import EngineLauncher, LocalLauncher
from .lending import lending
from .peer import Peer
from .turns import Turns, this_gpu
from .watch import Queue
from .work import COURSE_CELL, Item, Outcome, Status, infra

# Findings that say more than "wrong": each has a status of its own.
_STATUS_OF_CODE: dict[str, Status] = {
    "timeout": "TIMEOUT",
    "crashed": "CUDA_FAULT",
    "policy": "POLICY",
    "not-run": "INFRA",  # this machine cannot run the check: no reason for a score
}

# The name of a class of the student's own may say what a hidden case holds.
_OWN_ERROR = later("an error of your own")
_KNOWN_ERRORS = {
    name
    for module in (builtins, torch, triton_errors, runtime_errors, interpreter)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}


def main(
    line_end: socket.socket,
    engine_end: socket.socket | None,
    verdict_end: socket.socket,
    item: Item,
    limits: confine.Limits,
    roots: Sequence[int],
) -> None:
    """The checker's process: grade, send the outcome, end. roots: the numbers of the processes at
    the other ends."""
    confine.die_with_parent()  # a driver that was killed leaves none behind
    ends = [line_end, verdict_end, *([engine_end] if engine_end else [])]
    confine.close_other_files([end.fileno() for end in ends])
    if device.INTERPRET:  # a submission's allocations are carried out here
        confine.limit_memory(2 * limits.memory)
    verdict = Line(verdict_end)
    try:

        def compiler(request: dict[str, Any]) -> dict[str, Any]:
            verdict.send({"compile": request})
            return verdict.receive().body  # the driver bounds the wait, and ends this process

        if not device.INTERPRET:
            take_turns(Turns(this_gpu()), verdict)
        engine = Line(engine_end) if engine_end else None
        line, queue = Line(line_end), Queue(roots)

        def ready() -> None:
            queue.look()
            for other in filter(None, (line, engine)):
                other.waiting = queue.seconds
            tritonbook.limits.waiting = queue.seconds
            if device.INTERPRET:  # on a GPU a call may have a compiler's work to do
                tritonbook.limits.working = queue.worked

        outcome = run_check(line, engine, item, limits.call_seconds, compiler, ready)
    except (CannotCompile, NotReady) as problem:
        outcome = infra(str(problem))
    except BaseException:  # noqa: BLE001  (whatever it was, the driver hears of it and retries)
        outcome = infra(traceback.format_exc()[-3000:])
    verdict.send(dataclasses.asdict(outcome))


def take_turns(turns: Turns, verdict: Line) -> None:
    """Share the GPU from now on, and have it alone from the first figure on until the end.

    The driver hears of each wait, so that it costs the exercise none of its time.
    """

    def wait(for_what: Callable[[], None]) -> None:
        verdict.send({"gpu": "waits"})
        for_what()
        verdict.send({"gpu": "works"})

    def alone() -> None:
        if not turns.is_alone:
            wait(turns.alone)

    wait(turns.share)
    clock.wait_before_timing(alone)


def run_check(
    line: Line,
    engine: Line | None,
    item: Item,
    call_seconds: float,
    compiler: Compiler,
    ready: Callable[[], None] = lambda: None,
) -> Outcome:
    """Grade one item with the candidate at the other end of `line`.

    engine: the line to the process that runs its kernels; None on a GPU, where the checker does.
    compiler: answers compile requests as `tritonbook.seeing.worker` does. ready: called when the
    processes are, and nothing of the student's has run.
    """
    course, check = item.course, item.exercise.check
    if course.asked != asked_of(course.notebook, course.keys()):
        return infra(
            later(
                f"The page {course.notebook} was changed meanwhile, or is another one on this "
                "node: have one version of the workbook, then run `autograde retry`."
            )
        )
    try:
        lent = lending(course, check)
    except (OSError, ValueError) as unread:
        return infra(
            later(
                f"A function of another page that {course.notebook} uses cannot be read "
                f"({unread}): install the workbook anew, then run `autograde retry`."
            )
        )
    cells = [(cell.name, cell.source) for cell in item.submission.cells[: item.exercise.before]]
    library = KernelLibrary(cells)
    launcher = EngineLauncher(library, engine, call_seconds) if engine else LocalLauncher(library)
    peer = Peer(line, cells, launcher, call_seconds, lent)
    candidate, kernels = (
        later("The process of the student's code"),
        later("The process that runs the kernels"),
    )
    for other, who in ((line, candidate), (engine, kernels)):
        if other is not None:
            other.wait_until_ready(who)
    ready()
    names: dict[str, Any] = {"__name__": "__main__"}
    for name, text in course.trusted_cells(check):
        _execute(name, text, names)
    checks = _Checks(peer, course, names, Gate(peer, compiler))
    names["check"] = checks.check
    for function, on_tape in course.answer_names(check).items():
        names[function] = peer.function(function, on_tape)
    token = checking.seed_secret.set(course.secret)
    error: BaseException | None = None
    try:
        peer.run_cells()
        for name, _ in course.trusted_cells(check):
            if name in peer.cell_errors:
                problem = _in_short(peer.cell_errors[name])
                sentence = later(f"The course's own cell {name} does not run: {problem}")
                return Outcome("INFRA", COURSE_CELL, sentence)
        with launcher.serving():
            _execute(check, course.check_text(check), names)
    except (CheckFailed, CheckTimeout, ProcessEnded):
        pass  # the report, or the peer's trouble, says why
    except Exception as problem:  # noqa: BLE001  (a bare assert in the cell, for instance)
        error = problem
    finally:
        checking.seed_secret.reset(token)
    return _outcome(peer, checks, error)


def _in_short(error: Any) -> str:
    """An error of a cell, as the candidate tells it."""
    if not isinstance(error, dict):
        return "an error"
    kind = error["types"][0] if isinstance(error.get("types"), list) and error["types"] else "error"
    text = str(error.get("text", ""))[:300]
    if kind == CheckTimeout.__name__:
        seconds = found[0] if (found := re.search(r"\d+(\.\d)?", text)) else "a few"
        return later(f"it was stopped after {seconds} s")
    # Its file is the grader's, the line is the cell's.
    text = re.sub(r"\([^()\s]*, line (\d+)\)", r"(line \1)", text)
    return f"{kind}: {text}"


def _execute(name: str, text: str, names: dict[str, Any]) -> None:
    filename = f"<{name}>"
    source_file.remember(filename, text)
    with machinery():
        exec(compile(text, filename, "exec", dont_inherit=True), names)


class _Checks:
    """Stands for `check` in the cell: same arguments, keeps the cards.

    names: of the cell, where the page's other functions are found.
    """

    def __init__(self, peer: Peer, course: Course, names: dict[str, Any], gate: Gate):
        self.peer, self.names, self.gate = peer, names, gate
        self.asked = course.asks()
        self.reports: list[Report] = []
        self.cards: list[dict[str, Any]] = []

    def check(self, fn: Any, *, hidden: bool = False) -> None:
        key = fn.__name__
        asked = self.asked[key]
        if asked.ranks:  # values come back; of launches the candidate tells, where it simulates
            asks = asked.asks if device.INTERPRET else asked.asked(METER)
            asked = dataclasses.replace(asked, triton=False, asks=asks)
        # A kernel that never ends runs here: it gets no more time than a call does.
        limit = min(asked.timeout, self.peer.call_seconds)
        # A call through the peer takes longer than its kernels: a ratio would fail honest answers.
        # Facts are asked for all the same.
        report = checking.run_check(
            fn,
            dataclasses.replace(asked, timeout=limit, speed=None),
            key,
            hidden=hidden,
            beside=self.names.__getitem__,
            compile_gate=self.gate,
            vetted=True,
        )
        if hidden:
            report = _without_values(report)
        self.reports.append(report)
        self.cards.append({"hidden": hidden, **card.bundle(report)})
        if not report.passed or self.peer.trouble or self.peer.refused:
            raise CheckFailed(report)


def _without_values(report: Report) -> Report:
    """A report of hidden cases as the student may see it: what went wrong, and no value.

    An error's text is the student's own, and may say what a kernel read; so may a result that is
    not a tensor.
    """
    cases = [
        dataclasses.replace(
            row,
            note=later(f"hidden case {number}"),
            describe="",
            first_bad="",
            finding=_said(row.finding),
        )
        for number, row in enumerate(report.cases, 1)
    ]
    return dataclasses.replace(report, cases=cases, finding=_said(report.finding), stderr="")


def _said(finding: Finding | None) -> Finding | None:
    if finding is None or finding.code not in ("raised", "wrong-values", "should-raise"):
        return finding
    if finding.code == "should-raise":
        kind = re.search(r", not (\w+)\.$", finding.sentence)
        if kind is None or kind[1] in _KNOWN_ERRORS:
            return finding
        return Finding(finding.code, finding.sentence.replace(f"{kind[1]}.", f"{_OWN_ERROR}."))
    if finding.code == "raised":
        kind = re.search(
            r"(?:raised |\()(?:InterpreterError: (?=\w+\())?(\w+)[:(]", finding.sentence
        )
        told = (
            later("an error")
            if kind is None
            else kind[1]
            if kind[1] in _KNOWN_ERRORS
            else _OWN_ERROR
        )
        sentence = later(f"On a hidden case it raised {told}.")
    elif re.match("Expected .*, got ", finding.sentence, re.DOTALL):
        sentence = later("On a hidden case the result is another one than it should be.")
    else:
        sentence = finding.sentence
    return Finding(finding.code, sentence)


def _outcome(peer: Peer, checks: _Checks, error: BaseException | None) -> Outcome:
    found, reports = tuple(checks.cards), checks.reports
    trouble = peer.trouble
    if trouble is None and peer.refused is not None:
        code = peer.refused.code
        trouble = Outcome(_STATUS_OF_CODE.get(code, "FAIL"), code, peer.refused.sentence)
    if trouble is not None:
        return dataclasses.replace(trouble, reports=found)
    failed = next((report for report in reports if not report.passed), None)
    if failed is not None and peer.wanted_gradients:
        # A tape has no backward pass: the failure may be the grader's. INFRA: a person decides.
        return infra(
            later(
                "This check takes gradients through the answer, which the grader cannot follow: "
                "give its points by hand."
            )
        )
    if failed is not None:
        finding = failed.finding
        code = finding.code if finding else "wrong-values"
        sentence = finding.sentence if finding else failed.headline
        sentence = _first_error(peer, code, sentence)
        return Outcome(_STATUS_OF_CODE.get(code, "FAIL"), code, sentence, found)
    if error is not None:
        if isinstance(error, AssertionError):
            said = str(error) or later("A test that the instructor added failed.")
            return Outcome("FAIL", "property", said, found)
        raise error  # not the student's doing: INFRA
    if not reports:
        return infra(
            later(
                "The check's cell in source/ calls no check: put its call back there, then run "
                "`autograde retry`."
            )
        )
    if peer.proof.idle() is not None:
        return Outcome("FAIL", "right-without-kernel", proof.SENTENCE, found)
    if peer.proof.left_to_torch:
        return Outcome("FAIL", "right-without-kernel", LEFT_TO_TORCH, found)
    return Outcome("PASS", "passed", reports[-1].headline, found)


def _first_error(peer: Peer, code: str, sentence: str) -> str:
    """A name that is missing is missing because its cell failed: say that. Here nobody has
    forgotten to run one."""
    missing = re.search(r"(`\w+`) is not defined", sentence) if code == "raised" else None
    if missing is None:
        return sentence
    if not peer.cell_errors:
        name = missing[1]
        return later(
            f"{name} is not defined when your cells are run from the first to the last: does one "
            "define it, spelt just so, and none delete it?"
        )
    # An answer's own cell first: a worked example may have failed because of it.
    first = sorted(peer.cell_errors.items(), key=lambda each: not each[0].startswith("answer-"))
    name, problem = first[0][0], _in_short(first[0][1])
    key = name.removeprefix("answer-")
    if key != name:
        return later(f"The cell that defines `{key}` does not run: {problem}")
    if name.startswith("extra-"):
        return later(f"A cell that you added does not run: {problem}")
    return later(f"The cell {name} does not run: {problem}")
