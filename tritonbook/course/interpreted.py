"""On a machine with a GPU, what a mutant gives in the interpreter: the other side of `culprits`."""

from __future__ import annotations

from pathlib import Path

import torch

from ..checking import dtype_override
from .cases import checks
from .culprits import results as results_of
from .exercises import Exercise
from .mutants import wrong_answers


def results(
    page: str, key: str, name: str, note: str, draw: int, dtype: str | None, file: str
) -> str:
    """Write the results of a mutant to a file, or return why there are none."""
    exercise = Exercise(Path(page))
    check = checks(exercise)[key]
    override = dtype_override.set(dtype)
    try:
        case = next(case for case in (*check.cases, *check.hidden) if case.note == note)
        wrong = wrong_answers(exercise)
        text = wrong.text(key, next(each for each in wrong.mutants[key] if each.name == name))
        torch.save(results_of(exercise, key, check, text, case, draw), file)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        dtype_override.reset(override)
    return ""
