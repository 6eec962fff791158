"""Versions of torch, Triton, Python and the driver that go together, and how to install them."""

from __future__ import annotations

import re

# torch and Triton are released in fixed pairs: the newest Triton that each torch was built for.
PAIRS = {
    "2.6": "3.2",
    "2.7": "3.3",
    "2.8": "3.4",
    "2.9": "3.5",
    "2.10": "3.6",
    "2.11": "3.6",
    "2.12": "3.7",
    "2.13": "3.7",
    "2.14": "3.8",
    "2.15": "3.9",
}
# The pair that the project's own tests run with.
TESTED_PAIR = "pip install 'torch==2.13.*' 'triton==3.7.*'"
PYTHONS = ((3, 10), (3, 13))
LINUX = "Use Linux: Colab, WSL2, or a Linux container (docker run -it python:3.12)."

# The oldest driver that runs programs built with each CUDA major version (CUDA release notes).
OLDEST_DRIVER = {"11": (450, 80), "12": (525, 60), "13": (580, 65)}
# The wheels of torch for each of them: what pip is asked for, and where.
WHEELS = {"13": ("torch", "cu130"), "12": ("torch", "cu126"), "11": ("torch==2.6.0", "cu118")}

# GPUs that the assembler of older Tritons knows; newer ones are asked (port/assembler.py).
_HOPPER = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90")
_BLACKWELL = (*_HOPPER, "sm_100", "sm_101", "sm_120")
ASSEMBLED = {"3.2": _HOPPER, "3.3": _BLACKWELL, "3.4": _BLACKWELL, "3.5": _BLACKWELL}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])))


def short(version: str) -> str:
    return ".".join(map(str, numbers(version)[:2]))


def triton_for(torch: str) -> str:
    """The command that installs the Triton of a torch; without a torch, the tested pair."""
    if wanted := PAIRS.get(short(torch)):
        return f"pip install 'triton=={wanted}.*'"
    return TESTED_PAIR


def runs(driver: str, cuda: str) -> bool:
    """Whether a driver runs programs built with a CUDA of that major version."""
    return numbers(driver)[:2] >= OLDEST_DRIVER.get(cuda.split(".")[0], (0,))


def wheel_for(driver: str) -> str:
    """The command that installs a torch whose CUDA the driver runs; empty: there is none."""
    for cuda, (what, index) in WHEELS.items():
        if runs(driver, cuda):
            place = f"https://download.pytorch.org/whl/{index}"
            return f"pip install --force-reinstall {what} --index-url {place}"
    return ""
