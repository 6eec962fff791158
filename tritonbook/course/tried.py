"""Try an answer in the place of a page's own: run in a process apart, through `Child`.

Somebody else's answer may crash the process, spoil the CUDA context or never end.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ..checking import CheckFailed, dtype_override, first_finding_only
from ..checking.card import as_text
from ..port.device import INTERPRET
from .exercises import Exercise, get, load
from .page_checks import run_page_check


def try_answer(
    page: str,
    key: str,
    text: str | None,
    dtype: str | None = None,
    hidden: bool | None = None,
    notes: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Run one check. page: its slug, or the path of its page.py. text: of the answer; None: as
    solved. dtype: None: as the cases say. hidden, notes: as `run_page_check` takes them.

    Returns code ("passed", a diagnosis code, "error" or "load-error"), message, card, seconds, the
    note of the last case that was run, and whether this process can run no more.
    """
    start = time.perf_counter()
    override = dtype_override.set(dtype)
    brief = first_finding_only.set(True)
    code, message, card, case = "load-error", "", "", ""
    try:
        exercise = Exercise(Path(page)) if page.endswith(".py") else get(page)
        module = load(exercise, {key: text} if text is not None else None)
        code = "error"  # unless the check says more
        report = run_page_check(module, key, hidden, notes, timed=False)
        case = report.cases[-1].note if report.cases else ""
        if report.passed:
            code = "passed"
        else:
            message, card = str(CheckFailed(report)), as_text(report)
            code = report.finding.code if report.finding else report.state
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
    finally:
        dtype_override.reset(override)
        first_finding_only.reset(brief)
    seconds = time.perf_counter() - start
    answer = {"code": code, "message": message, "card": card, "seconds": seconds, "case": case}
    return {**answer, "spent": _gpu_is_spent()}


def _gpu_is_spent() -> bool:
    """Has an illegal access ended this process's CUDA context? If not, unused memory goes back:
    others work on the same GPU."""
    if INTERPRET:
        return False
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        return False
    except RuntimeError:
        return True
