"""The grader's compiler, behind walls: it evaluates what a student wrote as `tl.constexpr`.

Loaded in a process of its own, which goes behind walls before the first question; where there are
none, within limits all the same. Compiled kernels stay in a folder that is gone with them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tritonbook.seeing import compile_job, worker  # noqa: F401  (loaded while there are files)

from . import confine, visible

LIMITS = confine.Limits(processor_seconds=86400.0, processes=64)  # many kernels, of many students


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """As the worker's."""
    return worker.answer(request)


def _go_inside(room: Path, walls: bool) -> None:
    confine.leave_keyring()
    confine.give_way()
    here = dict(os.environ)
    os.environ.clear()
    os.environ.update(visible.environment())
    os.environ.update({name: here[name] for name in ("TRITONBOOK_PROGRESS", "OMP_NUM_THREADS")})
    if not walls:
        os.environ["TRITON_CACHE_DIR"] = str(room / "kernels")
        confine.limit_resources(LIMITS, gpu=False)
        return
    # A process with threads cannot have a user namespace of its own.
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(128 - status if status < 0 else status)
    confine.enter_namespaces(room, LIMITS)


if "AUTOGRADE_ROOM" in os.environ:  # an empty folder
    _go_inside(Path(os.environ["AUTOGRADE_ROOM"]), os.environ["AUTOGRADE_WALLS"] == "yes")
