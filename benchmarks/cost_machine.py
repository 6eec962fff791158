"""The machine that a cost was taken on, and whether it was quiet enough for one."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """`cpu` (its name), `cores` and `load_before` (runnable processes, mean of a minute) of now."""
    return {"cpu": _cpu(), "cores": os.cpu_count(), "load_before": round(os.getloadavg()[0], 2)}


def busy(found: Mapping[str, Any]) -> bool:
    """Did other work take more than a quarter of the cores before the measurement?"""
    return found["load_before"] > found["cores"] / 4


def _cpu() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
