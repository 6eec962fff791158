"""Does an open gap still compile? A learner must be able to run the notebook before filling it.

Compiling needs a process without the interpreter. There is no launch: a stand-in driver takes the
kernels that the answer's function would launch on the first case of its check, and Triton compiles
them for an A100.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..checking.cases import arguments
from ..child import Child
from ..course import gaps
from ..course.exercises import Exercise, load
from ..course.page_checks import call
from ..course.source import SourceError
from ..port.compat import fake_gpu

ARCH = 80
COMPILE_ERRORS = ("CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct")


def problems(exercises: Sequence[Exercise]) -> list[SourceError]:
    """Answers whose kernels do not compile while their gap is open."""
    if not exercises:
        return []
    # "0" keeps the package from choosing the interpreter where there is no GPU.
    with Child(f"{__name__}:compile_open_gaps", TRITON_INTERPRET="0") as child:
        found = child.ask([str(exercise.path) for exercise in exercises])
    return [SourceError(Path(path), line, problem, mend) for path, line, problem, mend in found]


def compile_open_gaps(pages: Sequence[str]) -> list[tuple[str, int, str, str]]:
    """Path, line, problem and mend of what does not compile on pages, by their paths."""
    found = []
    for exercise in map(Exercise, map(Path, pages)):
        for key, cell in exercise.answers().items():
            problem = _why_not(exercise, key)
            if problem:
                place = str(exercise.path), cell.line
                found.append((*place, problem, "move what needs the gap's names into the gap"))
    return found


def _why_not(exercise: Exercise, key: str) -> str | None:
    """What is wrong with the answer `key` while its gap is open, or None."""
    text = exercise.cut(exercise.answers()[key], gaps.learner_text)
    try:
        asked = call(exercise, key, load(exercise, {key: text}))
    except Exception as error:
        return f"with the gap of {key!r} open the cells fail ({type(error).__name__}: {error})"
    try:
        for case in asked.check.usable()[:1]:
            with fake_gpu(ARCH):  # it compiles every kernel and launches none
                asked.function(*arguments(case), **case.options)
    except Exception as error:
        # Anything else is an open host function, which stops and has nothing to compile.
        if type(error).__name__ in COMPILE_ERRORS:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            return f"the open gap of {key!r} does not compile ({lines[-1]})"
    return None
