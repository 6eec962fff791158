"""Does an open gap still compile? A learner must be able to run the notebook before filling it.

Compiling needs a process without the interpreter, so this file is also the script of one. There is
no launch: a stand-in driver takes the kernels that the answer's function would launch on the first
case of its check, and Triton compiles them for an A100.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..checking.cases import arguments
from ..course import gaps
from ..course.cases import call
from ..course.exercises import Exercise, load
from ..course.source import SourceError

ARCH = 80
COMPILE_ERRORS = ("CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct")


def problems(exercises: Sequence[Exercise]) -> list[SourceError]:
    """Answers whose kernels do not compile while their gap is open."""
    if not exercises:
        return []
    # "0" keeps the package from choosing the interpreter where there is no GPU.
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    command = [sys.executable, "-m", __name__, *(str(exercise.path) for exercise in exercises)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"the compiler process ended with {done.returncode}: {last}")
    found = json.loads(done.stdout.splitlines()[-1])
    return [SourceError(Path(path), line, problem, mend) for path, line, problem, mend in found]


def _compile_open_gaps(exercise: Exercise) -> list[tuple[str, int, str, str]]:
    found = []
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
            _compile(asked.function, case)
    except Exception as error:
        # Anything else is an open host function, which stops and has nothing to compile.
        if type(error).__name__ in COMPILE_ERRORS:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            return f"the open gap of {key!r} does not compile ({lines[-1]})"
    return None


def _compile(fn: Callable[..., Any], case: Any) -> None:
    """Call `fn` with a driver that compiles every kernel and launches none."""
    from ..port.compat import fake_gpu

    with fake_gpu(ARCH):
        fn(*arguments(case), **case.options)


if __name__ == "__main__":
    print(json.dumps([row for p in sys.argv[1:] for row in _compile_open_gaps(Exercise(Path(p)))]))
