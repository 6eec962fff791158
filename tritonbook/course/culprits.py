"""What the mistakes of a page give: a wrong result that agrees with one has its cause.

A mutant runs on the failing case as the answer did, under the same meter, in the interpreter: on a
GPU in a process of its own.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from ..checking import Check, dtype_override
from ..checking.cases import Case, arguments
from ..checking.runner import called
from ..checking.suspects import Known
from ..checking.trial import fence, run_trial, time_limit
from ..child import Child
from ..port.device import INTERPRET
from ..seeing.meter import meter
from .exercises import Exercise, load
from .mutants import wrong_answers

SECONDS = 20.0  # a call, on a busy machine; what spins is stopped sooner


Results = tuple[Any, str]  # what a call gives, and the code of what the meter found


class NoResults(RuntimeError):
    """A mutant that gives none for a case, with the reason."""


def known(exercise: Exercise, key: str, check: Check) -> Sequence[Known]:
    """The mutants of an answer that have a sentence, as mistakes that its results are compared
    with."""
    wrong = wrong_answers(exercise)
    found = []
    for mutant in wrong.mutants.get(key, ()):
        if mutant.says:
            run = functools.partial(
                _kept, exercise, key, check, mutant.name, wrong.text(key, mutant)
            )
            gives, astray = functools.partial(_first, run), functools.partial(_second, run)
            found.append(Known(mutant.code, mutant.says, gives, astray, instead=mutant.seen))
    return found


def _first(run: Callable[[Case, int], Results], case: Case, draw: int) -> Any:
    return run(case, draw)[0]


def _second(run: Callable[[Case, int], Results], case: Case, draw: int) -> str:
    return run(case, draw)[1]


_given: dict[tuple[Any, ...], Results | Exception] = {}
MOST = 4000  # results that are kept


def _kept(
    exercise: Exercise, key: str, check: Check, name: str, text: str, case: Case, draw: int
) -> Results:
    """The results of a mutant, kept; what it raised, raised again."""
    at = (exercise.path, key, text, repr(case), draw, dtype_override.get())
    if at not in _given:
        if len(_given) > MOST:
            _given.clear()
        try:
            if INTERPRET:
                _given[at] = results(exercise, key, check, text, case, draw)
            else:
                _given[at] = _in_a_helper(exercise, key, name, case, draw)
        except Exception as error:
            _given[at] = error
    found = _given[at]
    if isinstance(found, Exception):
        raise found
    return found


def results(
    exercise: Exercise, key: str, check: Check, text: str, case: Case, draw: int
) -> Results:
    """What a mutant gives for a case. Raises what it raises, and NoResults."""
    module = load(exercise, {key: text})
    fn = called(getattr(module, key), check, vars(module).__getitem__)
    if not check.triton:
        with fence(), time_limit(SECONDS):
            return fn(*arguments(case), **case.options), ""
    values = case.sample(draw)
    with meter() as seen:
        trial = run_trial(fn, case, values, draw=draw, allow=check.allow, timeout=SECONDS)
    if trial.error is not None:
        raise NoResults(f"{type(trial.error).__name__}: {trial.error}")
    found = seen.findings_of_call(trial.inputs, trial.watch.outputs)
    astray = found[0][0] if found else ""
    if check.inplace:
        return [trial.inputs[name].view for name in check.inplace], astray
    return trial.result, astray


_helper: Child | None = None


def _in_a_helper(exercise: Exercise, key: str, name: str, case: Case, draw: int) -> Results:
    """The same, in a process whose kernels are interpreted."""
    global _helper
    if _helper is None or not _helper.alive:
        _helper = Child(
            "tritonbook.course.interpreted:results",
            TRITON_INTERPRET="1",
            CUDA_VISIBLE_DEVICES="",
            TRITONBOOK_PROGRESS="off",
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "results.pt")
        asked = (str(exercise.path), key, name, case.note, draw, dtype_override.get())
        problem = _helper.ask(*asked, str(file), seconds=SECONDS)
        if problem:
            raise NoResults(problem)
        found: Results = torch.load(file)
        return found
