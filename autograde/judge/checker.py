"""The process that holds the hidden tests, the reference, the secret and the verdict.

It runs the instructor's own check cell. The names that the answers define are bound to proxies: a
call goes to the candidate and comes back as data. No Python of the student's runs here, and in the
interpreter, where a kernel's pointer is an address, no kernel either: `engine.py` runs those.
"""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tritonbook import checking
from tritonbook.checking import card
from tritonbook.checking.report import CheckFailed, Finding, Report
from tritonbook.checking.trial import CheckTimeout
from tritonbook.course.exercises import machinery
from tritonbook.port import source_file
from tritonbook.seeing import compiled

from ..walls.kernels import KernelLibrary
from ..walls.wire import Line, ProcessEnded, Trouble
from . import gate, proof
from .course import Course, asked_of
from .launcher import Launcher, LocalLauncher
from .lending import Lending
from .peer import Peer
from .work import GradedCheck, Submission

# Findings that say more than "wrong": each has a status of its own.
_STATUS_OF_CODE = {
    "timeout": "TIMEOUT",
    "crashed": "CUDA_FAULT",
    "policy": "POLICY",
    "not-run": "INFRA",  # this machine cannot run the check: no reason for a score
}


class NeedsAPerson(RuntimeError):
    """The grader cannot tell whose fault a failure is: no score, listed as INFRA."""


# The outcome's code where a cell of the course's own fails in the candidate: INFRA, until it is
# known whether it runs without the student's cells.
COURSE_CELL = "course-cell"


class CourseCellFailed(Exception):
    """A cell of the course's own does not run in the candidate: one sentence."""


@dataclass
class Outcome:
    """What a check cell came to, before it is a Verdict."""

    status: str
    code: str
    sentence: str
    reports: list[dict[str, Any]]
    seconds: float


Compiler = Callable[[dict[str, Any]], dict[str, Any]]


def run_check(
    line: Line,
    engine: Line | None,
    course: Course,
    submission: Submission,
    exercise: GradedCheck,
    lent: Lending,
    call_seconds: float,
    compiler: Compiler | None = None,
) -> Outcome:
    """Grade one exercise with the candidate at the other end of `line`.

    engine: the line to the process that runs its kernels; None on a GPU, where the checker does.
    lent: what the course lends to the notebook's cells.
    compiler: answers compile requests as `tritonbook.seeing.worker` does; None: no compile gate.
    """
    started = time.perf_counter()
    if course.asked != asked_of(course.notebook, course.keys()):
        raise RuntimeError(f"the page {course.notebook} here is another one than where it was read")
    cells = [(cell.name, cell.source) for cell in submission.cells[: exercise.before]]
    library = KernelLibrary(cells)
    launcher = Launcher(library, engine, call_seconds) if engine else LocalLauncher(library)
    peer = Peer(line, cells, library, launcher, call_seconds, lent)
    for other, who in ((line, "the candidate's process"), (engine, "the kernels' process")):
        if other is not None:
            other.wait_until_ready(who)
    names: dict[str, Any] = {"__name__": "__main__"}
    for name, text in course.trusted_cells(exercise.check):
        _execute(name, text, names)
    checks = _Checks(peer, course, names, _Gate(peer, compiler))
    names["check"] = checks.check
    for function, on_tape in course.answer_names(exercise.check).items():
        names[function] = peer.function(function, on_tape)
    token = checking.seed_secret.set(course.secret)
    error: BaseException | None = None
    try:
        peer.run_cells()
        _course_must_run(peer, course, exercise.check)
        with launcher.serving():
            _execute(exercise.check, course.check_text(exercise.check), names)
    except (CheckFailed, CheckTimeout, ProcessEnded):
        error = None  # the report, or the peer's trouble, says why
    except CourseCellFailed as problem:
        seconds = time.perf_counter() - started
        return Outcome("INFRA", COURSE_CELL, str(problem), [], seconds)
    except Exception as problem:  # noqa: BLE001  (a bare assert in the cell, for instance)
        error = problem
    finally:
        checking.seed_secret.reset(token)
    return _outcome(peer, checks, error, time.perf_counter() - started)


def _course_must_run(peer: Peer, course: Course, check: str) -> None:
    for name, _ in course.trusted_cells(check):
        if name in peer.cell_errors:
            problem = _in_short(peer.cell_errors[name])
            raise CourseCellFailed(f"The notebook's own cell {name} does not run: {problem}")


def _in_short(error: Any) -> str:
    """An error of a cell, as the candidate tells it."""
    if not isinstance(error, dict):
        return "an error"
    kind = error["types"][0] if isinstance(error.get("types"), list) and error["types"] else "error"
    return f"{kind}: {str(error.get('text', ''))[:300]}"


def _execute(name: str, text: str, names: dict[str, Any]) -> None:
    filename = f"<{name}>"
    source_file.remember(filename, text)
    with machinery():
        exec(compile(text, filename, "exec", dont_inherit=True), names)


class _Gate:
    """Stands for `compile_gate`: compiles what a proxy's calls launched. It makes no call itself,
    so that no kernel can be shown to it alone."""

    def __init__(self, peer: Peer, compiler: Compiler | None):
        self.peer, self.compiler = peer, compiler

    def __call__(
        self, fn: Any, args: Any, options: Any = None, arch: int = 80, **how: Any
    ) -> compiled.CompileResult:
        if self.compiler is None:
            return compiled.CompileResult(None, "no compiler was given")
        launches = self.peer.launched(fn.__name__, tuple(args), options or {})
        request = {
            "job": "compile",
            "source": gate.program(self.peer.library, launches),
            "entry": "replay",
            "args": [],
            "options": {},
            "arch": arch,
            "ptx": False,
            "path": [],
        }
        answer = self.compiler(request)
        if "too_long" in answer:
            sentence = (
                f"The compiler was not done with this kernel after {answer['too_long']:g} s. Has "
                "a tl.static_range very many turns? The compiler writes out each of them."
            )
            return compiled.CompileResult(False, sentence, code="timeout")
        if "unanswered" in answer:
            return compiled.CompileResult(None, str(answer["unanswered"]))
        kernels = [{**k, "grid": tuple(k["grid"])} for k in answer["kernels"]]
        facts = tuple(compiled.KernelFacts(**kernel) for kernel in kernels)
        error = answer.get("error")
        if error is None:
            return compiled.CompileResult(True, kernels=facts)
        ok = False if error["code"] else None
        return compiled.CompileResult(ok, error["message"], error["caret"], facts, error["code"])


class _Checks:
    """Stands for `check` in the cell: same arguments, keeps the cards.

    names: of the cell, where the page's other functions are found.
    """

    def __init__(self, peer: Peer, course: Course, names: dict[str, Any], gate: _Gate):
        self.peer, self.names, self.gate = peer, names, gate
        self.asked = course.asks()
        self.reports: list[Report] = []
        self.cards: list[dict[str, Any]] = []

    def check(self, fn: Any, *, hidden: bool = False) -> None:
        key = fn.__name__
        asked = self.asked[key]
        # A kernel that never ends runs here: it gets no more time than a call does.
        limit = min(asked.timeout, self.peer.call_seconds)
        # A call through the peer takes longer than its kernels: a ratio that is required would
        # fail honest answers. Facts are asked for all the same.
        speed = None if asked.speed is not None and asked.speed.required else asked.speed
        report = checking.run_check(
            fn,
            asked,
            key,
            hidden=hidden,
            beside=self.names.__getitem__,
            timeout=limit,
            speed=speed,
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
            row, note=f"hidden case {number}", describe="", first_bad="", finding=_said(row.finding)
        )
        for number, row in enumerate(report.cases, 1)
    ]
    return dataclasses.replace(report, cases=cases, finding=_said(report.finding), stderr="")


def _said(finding: Finding | None) -> Finding | None:
    if finding is None or finding.code not in ("raised", "wrong-values"):
        return finding
    if finding.code == "raised":
        kind = re.search(
            r"(?:raised |\()(?:InterpreterError: (?=\w+\())?(\w+)[:(]", finding.sentence
        )
        sentence = f"On a hidden case it raised {kind[1] if kind else 'an error'}."
    elif re.match("Expected .*, got ", finding.sentence, re.DOTALL):
        sentence = "A hidden case has another result."
    else:
        sentence = finding.sentence
    return Finding(finding.code, sentence)


def _outcome(peer: Peer, checks: _Checks, error: BaseException | None, seconds: float) -> Outcome:
    found, reports = checks.cards, checks.reports
    trouble = peer.trouble
    if trouble is None and peer.refused is not None:
        code = peer.refused.code
        trouble = Trouble(_STATUS_OF_CODE.get(code, "FAIL"), code, peer.refused.sentence)
    if trouble is not None:
        return Outcome(trouble.status, trouble.code, trouble.sentence, found, seconds)
    failed = next((report for report in reports if not report.passed), None)
    if failed is not None and peer.wanted_gradients:
        # A tape has no backward pass: the failure may be the grader's. A person decides.
        raise NeedsAPerson("this check differentiates through the answer, which no tape can carry")
    if failed is not None:
        finding = failed.finding
        code = finding.code if finding else "wrong-values"
        sentence = finding.sentence if finding else failed.headline
        sentence = _first_error(peer, code, sentence)
        return Outcome(_STATUS_OF_CODE.get(code, "FAIL"), code, sentence, found, seconds)
    if error is not None:
        if isinstance(error, AssertionError):
            return Outcome("FAIL", "property", str(error) or "A test failed.", found, seconds)
        raise error  # not the student's doing: INFRA
    if not reports:
        raise RuntimeError("the check cell ran no check")
    if peer.proof.idle() is not None:
        return Outcome("FAIL", "right-without-kernel", proof.SENTENCE, found, seconds)
    return Outcome("PASS", "passed", reports[-1].headline, found, seconds)


def _first_error(peer: Peer, code: str, sentence: str) -> str:
    """A name that is missing is missing because its cell failed: say that."""
    if code == "raised" and "is not defined" in sentence and peer.cell_errors:
        # An answer's own cell first: a worked example may have failed because of it.
        first = sorted(peer.cell_errors.items(), key=lambda each: not each[0].startswith("answer-"))
        name, error = first[0]
        return f"The cell {name} does not run: {_in_short(error)}"
    return sentence
