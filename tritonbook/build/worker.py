"""A process that runs checks on changed answers, one request after another (see `matrix`).

Wrong answers may crash the process, spoil the CUDA context or never end, so they run here and not
in the process that judges them. Requests come as JSON lines on standard input, answers leave on the
descriptor that was standard output; whatever the cells print is dropped.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from pathlib import Path
from typing import Any


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    import tritonbook.checking  # noqa: F401  (torch and triton: before any clock runs)

    gc.freeze()  # what was imported is not looked through for garbage again and again
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        answer = run(json.loads(line))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        if answer.get("spent"):
            return  # the parent starts a fresh process


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run one check. request: path, key, text (None: as solved), dtype (None: as the cases say),
    hidden (None: the visible cases and then the hidden ones), notes (of the cases; None: all).

    Returns code ("passed", a diagnosis code, "error" or "load-error"), message, card, seconds, and
    the note of the last case that was run.
    """
    from tritonbook.checking import CheckFailed, dtype_override, first_finding_only
    from tritonbook.course import cases, exercises

    start = time.perf_counter()
    key, text = request["key"], request["text"]
    override = dtype_override.set(request["dtype"])
    brief = first_finding_only.set(True)
    card = case = ""
    try:
        module = exercises.load(
            exercises.Exercise(Path(request["path"])), {key: text} if text is not None else None
        )
    except Exception as error:
        code, message = "load-error", f"{type(error).__name__}: {error}"
    else:
        try:
            report = cases.run_page_check(module, key, request["hidden"], request["notes"])
        except Exception as error:
            code, message = "error", f"{type(error).__name__}: {error}"
        else:
            code, message = "passed", ""
            case = report.cases[-1].note if report.cases else ""
            if not report.passed:
                code = report.finding.code if report.finding else report.state
                message, card = str(CheckFailed(report)), report.text()
    finally:
        dtype_override.reset(override)
        first_finding_only.reset(brief)
    seconds = time.perf_counter() - start
    answer = {"code": code, "message": message, "card": card, "seconds": seconds, "case": case}
    return {**answer, "spent": _gpu_is_spent()}


def _gpu_is_spent() -> bool:
    """Has an illegal access ended this process's CUDA context?"""
    import torch

    from tritonbook import INTERPRET

    if INTERPRET:
        return False
    try:
        torch.cuda.synchronize()
        return False
    except RuntimeError:
        return True


if __name__ == "__main__":
    main()
