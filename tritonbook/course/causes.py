"""What the mistakes of a page give: a wrong result that agrees with one has its cause.

A mutant runs on the failing case as the answer did, in the interpreter; where its values are the
answer's once more under the same meter, which takes a fifth of the time of all of them. On a
GPU the answer goes there too, in a process of its own: a GPU adds in another order, a second wrong
call may end the notebook's use of it, and only the interpreter's meter sees an address.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..checking import Check, Report, dtype_override, first_finding_only, run_check
from ..checking.cases import Case, arguments
from ..checking.mended import Mends
from ..checking.mistakes import Mistake
from ..checking.report import Finding
from ..checking.runner import called
from ..checking.trial import fence, run_trial
from ..export.writer import ExportError, export
from ..limits import WORK, CheckTimeout, time_limit
from ..port import source_file
from ..port.device import INTERPRET
from ..seeing.meter import meter
from ..seeing.process import Worker, WorkerError
from . import gaps
from .exercises import Exercise, load
from .mends import mends
from .mutants import wrong_answers

SECONDS = 20.0  # a call, on a busy machine; what spins is stopped sooner


# What a call gives, then code and sentence of what was seen besides.
Results = tuple[Any, tuple[str, str]]
_NOTHING = "", ""


class NoResults(RuntimeError):
    """A mutant that gives none for a case, with the reason."""


def known(exercise: Exercise, key: str, check: Check) -> Sequence[Mistake]:
    """The mutants of an answer that have a sentence, as mistakes that its results are compared
    with."""
    wrong = wrong_answers(exercise)
    found = []
    for mutant in wrong.mutants.get(key, ()):
        if mutant.says:
            run = functools.partial(_kept, exercise, key, check, wrong.text(key, mutant))
            gives, astray = functools.partial(_first, run), functools.partial(_second, run)
            found.append(Mistake(mutant.code, mutant.says, gives, astray, instead=mutant.seen))
    return found


def changes(exercise: Exercise, key: str, fn: Any, said: str) -> Mends:
    """Small changes of an answer's own text, but for what the page gives: each as a call that makes
    the changed function, and what it is. None where the answer cannot be written down.

    said: the finding, as `mends` takes it.
    """
    try:
        written = export(fn)
    except ExportError:
        return
    cell = exercise.answers()[key]
    mine = set(_functions(cell.source))
    given = set(_functions(exercise.module_text())) - mine
    rows = exercise.cut(cell, gaps.learner_text).splitlines()
    lines = {" ".join(row.split()) for row in rows}
    for number, mend in enumerate(mends(written.text, given, lines, said)):
        yield functools.partial(_made, mend.text, written.entry, number), mend


def _functions(text: str) -> Iterator[str]:
    return (node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))


def _made(text: str, entry: str, number: int) -> Any:
    """What an expression names in a file of this text."""
    home = vars(source_file.module_of(text, f"mend_{number}.py", f"_mend_{number}", {}))
    return eval(entry, home)


def _first(run: Callable[..., Results], case: Case, draw: int) -> Any:
    return run(case, draw)[0]


def _second(run: Callable[..., Results], case: Case, draw: int) -> tuple[str, str]:
    return run(case, draw, True)[1]


_given: dict[tuple[Any, ...], Results | Exception] = {}
MOST = 4000  # results that are kept


def _kept(
    exercise: Exercise,
    key: str,
    check: Check,
    text: str,
    case: Case,
    draw: int,
    metered: bool = False,
) -> Results:
    """The results of a mutant, kept; what it raised, raised again."""
    at = (exercise.path, key, text, repr(case), draw, dtype_override.get(), metered)
    if at not in _given:
        if len(_given) > MOST:
            _given.clear()
        try:
            _given[at] = results(exercise, key, check, text, case, draw, metered)
        except Exception as error:
            _given[at] = error
    found = _given[at]
    if isinstance(found, Exception):
        raise found
    return found


def results(
    exercise: Exercise,
    key: str,
    check: Check,
    text: str,
    case: Case,
    draw: int,
    metered: bool = True,
) -> Results:
    """What a mutant gives for a case; metered: and what the meter finds. Raises what it raises,
    and NoResults. Nothing was called before: no tuner has chosen, no dictionary is filled.
    """
    module = load(exercise, {key: text}, fresh=True)
    fn = called(getattr(module, key), check, vars(module).__getitem__)
    if not check.triton:
        try:
            with fence(), time_limit(SECONDS, WORK):
                return fn(*arguments(case), **case.options), _NOTHING
        except CheckTimeout as error:
            raise NoResults(str(error)) from None
    values = case.sample(draw)
    with meter(strays_only=not metered) as seen:
        trial = run_trial(fn, case, values, draw=draw, allow=check.allow, timeout=SECONDS)
    if trial.error is not None:
        raise NoResults(f"{type(trial.error).__name__}: {trial.error}")
    found = seen.findings_of_call(trial.inputs, trial.watch.outputs) if metered else []
    astray = found[0] if found else _NOTHING
    if check.inplace:
        return [trial.inputs[name].view for name in check.inplace], astray
    return trial.result, astray


RANKS_SECONDS = 300.0  # for a whole check of several ranks
HELPER_SECONDS = 90.0  # with its start, for a page's whole check


@functools.cache
def _helper() -> Worker:
    return Worker(interpret=True, function="tritonbook.course.interpreted:cause")


def in_the_interpreter(
    exercise: Exercise, key: str, fn: Callable[..., Any], note: str
) -> Finding | None:
    """The cause that the check names in the interpreter, for an answer that was wrong on a GPU.

    note: of the case that was wrong. None where it is right there, has no cause there either, or
    cannot be written down.
    """
    try:
        written = export(fn)
        request = {"page": str(exercise.path), "key": key, "text": written.text, "note": note}
        request |= {"entry": written.entry, "dtype": dtype_override.get()}
        said = _helper().ask(request, HELPER_SECONDS)
    except (ExportError, WorkerError):
        return None
    return Finding(said["code"], said["sentence"]) if said else None


def judged(
    exercise: Exercise, key: str, fn: Any, check: Check, hidden: bool, beside: Any = None
) -> Report:
    """The Report of a check, made here, or, of several ranks on a GPU, in the interpreter.

    Raises ExportError where an answer cannot be written down, WorkerError where it ends there.
    """
    if INTERPRET or not check.ranks:
        return run_check(fn, check, key, hidden=hidden)
    written = export(called(fn, check, beside))
    request = {"page": str(exercise.path), "key": key, "text": written.text, "hidden": hidden}
    request |= {"entry": written.entry, "brief": first_finding_only.get()}
    return Report.from_dict(_of_ranks().ask(request, RANKS_SECONDS))


@functools.cache
def _of_ranks() -> Worker:
    return Worker(interpret=True, function="tritonbook.course.interpreted:whole_report")
