"""Triton's assembler (ptxas): for which GPUs it makes programs, and of which CUDA they are."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path


def path(major: int) -> str:
    """The one that Triton takes: newer ones have another for Blackwell, variables name yours."""
    import triton

    folder = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
    if major >= 10 and (folder / "ptxas-blackwell").exists():
        return os.environ.get("TRITON_PTXAS_BLACKWELL_PATH") or str(folder / "ptxas-blackwell")
    return os.environ.get("TRITON_PTXAS_PATH") or str(folder / "ptxas")


def about(major: int) -> tuple[str, tuple[str, ...]]:
    """Its CUDA version, and the names of the GPUs that it knows: ("12.8", ("sm_80", ...))."""
    ask = [path(major), "--version"]
    version = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=20).stdout
    ask[1] = "--help"
    known = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=20).stdout
    release = re.search(r"release (\d+\.\d+)", version)
    names = dict.fromkeys(re.findall(r"'(sm_\d+)a?'", known))
    return release[1] if release else "", tuple(names)
