"""What a judgement is, and what several of them say.

A judgement has a level (ok, note, problem), one sentence and, unless all is well, what mends it. A
*problem* stops kernels from running; a *note* is something to know. None means: does not apply.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from ..words import later
from .machine import Machine


class Judgement(NamedTuple):
    """fix is the command or step that mends it, empty when nothing needs mending."""

    level: str
    sentence: str
    fix: str = ""


ok, note, problem = (partial(Judgement, level) for level in ("ok", "note", "problem"))


def needed(machine: Machine) -> Callable[[str, str], Judgement]:
    """What is missing that only compiled kernels need."""
    return note if machine.interpreting else problem


def yes_where(machine: Machine) -> str:
    return later(" (needed on a GPU, not here)") if machine.interpreting else ""
