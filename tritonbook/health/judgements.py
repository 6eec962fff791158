"""The doctor's judgements: each a pure function of a `Machine`, tested with machines nobody has.

A judgement has a level (ok, note, problem), one sentence and, unless all is well, what mends it. A
*problem* stops kernels from running; a *note* is something to know. None means: does not apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from .machine import Machine

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
# The oldest driver that runs programs built with each CUDA major version (CUDA release notes).
OLDEST_DRIVER = {"11": (450, 80), "12": (525, 60), "13": (580, 65)}
# The pair that the project's own tests run with.
TESTED_PAIR = "pip install 'torch==2.13.*' 'triton==3.7.*'"
PYTHONS = ((3, 10), (3, 13))
GIGABYTE = 1 << 30


class Judgement(NamedTuple):
    """fix is the command or step that mends it, empty when nothing needs mending."""

    level: str
    sentence: str
    fix: str = ""


ok, note, problem = (partial(Judgement, level) for level in ("ok", "note", "problem"))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])))


def _short(version: str) -> str:
    return ".".join(map(str, _numbers(version)[:2]))


def _needed(machine: Machine) -> Callable[[str, str], Judgement]:
    """What is missing that only compiled kernels need."""
    return note if machine.interpreting else problem


def _yes_where(machine: Machine) -> str:
    return " (needed on a GPU, not here)" if machine.interpreting else ""


def platform(m: Machine) -> Judgement:
    if m.system != "Linux":
        return problem(
            f"Triton has no wheels for {m.system}.",
            "Use Linux: Colab, WSL2, or a Linux container (docker run -it python:3.12).",
        )
    low, high = PYTHONS
    if not low <= _numbers(m.python)[:2] <= high:
        return note(
            f"Python {m.python} is outside the tested range 3.{low[1]} to 3.{high[1]}.",
            "python3.12 -m venv .venv",
        )
    return ok(f"{m.system} on {m.processor}, Python {m.python}.")


def pair(m: Machine) -> Judgement:
    found, want = _short(m.triton), PAIRS.get(_short(m.torch))
    if not found:
        return problem("Triton is not installed.", "pip install triton")
    if want is None:
        return note(
            f"The workbook was not tested on torch {m.torch} with Triton {m.triton}.",
            TESTED_PAIR,
        )
    if found != want:
        return _needed(m)(
            f"torch {m.torch} belongs with Triton {want}, but Triton {m.triton} is installed.",
            f"pip install 'triton=={want}.*'",
        )
    return ok(f"torch {m.torch} and Triton {m.triton} belong together.")


def gpu(m: Machine) -> Judgement:
    if m.cuda_works and m.gpus:
        first = m.gpus[0]
        major, minor = first.capability
        return ok(f"{first.name}, sm_{major}{minor}, {first.memory / GIGABYTE:.0f} GiB.")
    if m.driver_gpus and m.torch_cuda is None:
        return problem(
            f"This machine has a {m.driver_gpus[0]}, but torch {m.torch} is a CPU build.",
            "pip install --force-reinstall torch --index-url https://download.pytorch.org/whl/cu126",
        )
    if m.driver_gpus and m.visible_devices in ("", "-1"):
        return problem(
            f"CUDA_VISIBLE_DEVICES hides this machine's {m.driver_gpus[0]}.",
            "unset CUDA_VISIBLE_DEVICES",
        )
    if m.driver_gpus:
        return problem(
            f"The driver sees a {m.driver_gpus[0]}, but torch cannot use it.",
            "python -c 'import torch; torch.cuda.init()'   # says why",
        )
    return note(
        "No GPU: kernels run in Triton's interpreter, right but slow; speed is not measured.",
        "For speed, open the notebook on Colab (Runtime > Change runtime type > T4 GPU).",
    )


def driver(m: Machine) -> Judgement | None:
    if not m.driver or not m.torch_cuda:
        return None
    oldest = OLDEST_DRIVER.get(m.torch_cuda.split(".")[0])
    if oldest and _numbers(m.driver)[:2] < oldest:
        return problem(
            f"Driver {m.driver} is too old for CUDA {m.torch_cuda}, which torch was built with "
            f"(it needs {oldest[0]}.{oldest[1]} or newer).",
            "Ask for a newer driver, or install the cluster pair: "
            "pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu118",
        )
    return ok(f"Driver {m.driver} runs CUDA {m.torch_cuda}.")


def capability(m: Machine) -> Judgement | None:
    if not m.gpus:
        return None
    name, (major, minor) = m.gpus[0].name, m.gpus[0].capability
    if (major, minor) < (7, 5):
        return problem(
            f"{name} is sm_{major}{minor}; the workbook's kernels need sm_75 or newer.",
            "export TRITON_INTERPRET=1   # then restart: the interpreter runs every notebook",
        )
    if m.torch_architectures and not _torch_covers(m, major, minor):
        return problem(
            f"{name} is sm_{major}{minor}, which torch {m.torch} was not built for.",
            TESTED_PAIR,
        )
    if major < 8:
        return note(
            f"{name} is sm_{major}{minor}: every notebook gives right results, but recent Triton "
            "uses no tensor cores on it: speed marks of matrix products and attention are off.",
            "For those notebooks use an A100, L4 or newer.",
        )
    return ok(f"sm_{major}{minor} runs every notebook with tensor cores.")


def _torch_covers(m: Machine, major: int, minor: int) -> bool:
    """Whether torch's own kernels run: same major version built for it, or newer by PTX."""
    built = [name.split("_") for name in m.torch_architectures if "_" in name]
    for kind, digits in built:
        number = int("".join(c for c in digits if c.isdigit()))
        if kind == "sm" and number // 10 == major and number % 10 <= minor:
            return True
        if kind == "compute" and number <= major * 10 + minor:
            return True
    return False


def mode(m: Machine) -> Judgement:
    wanted = (m.interpret_variable or "").lower() not in ("", "0", "false", "off")
    if m.library_interpreted is not None and wanted != m.library_interpreted:
        state = "set" if wanted else "removed"
        return problem(
            f"TRITON_INTERPRET was {state} after triton was imported: half of it is interpreted.",
            "Restart the kernel; set the variable before anything imports triton.",
        )
    if m.interpreting and m.cuda_works:
        return note(
            "TRITON_INTERPRET is set although there is a GPU: kernels are interpreted, not timed.",
            "unset TRITON_INTERPRET   # then restart the kernel",
        )
    return ok("Kernels are interpreted on the CPU." if m.interpreting else "Kernels are compiled.")


def compiler(m: Machine) -> Judgement:
    if m.compiler:
        return ok(f"C compiler: {m.compiler}.")
    return _needed(m)(
        f"There is no C compiler, which Triton's launcher is built with{_yes_where(m)}.",
        "apt-get install gcc   # or: module load gcc; conda install gcc; export CC=/path/to/cc",
    )


def header(m: Machine) -> Judgement:
    if m.python_header:
        return ok(f"Python header: {m.python_header}.")
    short = _short(m.python)
    return _needed(m)(
        f"Python.h is missing, which Triton's launcher is built with{_yes_where(m)}.",
        f"apt-get install python{short}-dev   # or use conda's Python, which brings it",
    )


def libcuda(m: Machine) -> Judgement | None:
    if m.interpreting or m.libcuda:
        return None
    return problem(
        "libcuda.so.1 is not found, which Triton's launcher is linked with.",
        "apptainer exec --nv ...   # in a container; else: export TRITON_LIBCUDA_PATH=/usr/lib64",
    )


NODE_LOCAL = 'export TRITON_CACHE_DIR="${TMPDIR:-/tmp}/triton-$USER"'


def cache(m: Machine) -> Judgement:
    where = m.cache.path
    if not m.cache.writable:
        return _needed(m)(f"Triton's cache folder {where} cannot be written.", NODE_LOCAL)
    if m.cache.noexec:
        said = (
            f"Triton's cache folder {where} lies on a file system that forbids programs (noexec)."
        )
        return _needed(m)(said, "export TRITON_CACHE_DIR=$HOME/.triton/cache")
    if m.cache.on_network:
        said = f"Triton's cache folder {where} lies on {m.cache.kind}: slow, and jobs may collide."
        return note(said, NODE_LOCAL)
    return ok(f"Triton's cache: {where} ({m.cache.kind}).")


def home(m: Machine) -> Judgement:
    if m.data.writable:
        return ok(f"Your progress is kept in {m.data.path}.")
    return note(
        f"{m.data.path} cannot be written, so your progress goes to a temporary folder.",
        "export TRITONBOOK_HOME=/a/folder/of/yours",
    )


def disk(m: Machine) -> Judgement:
    tight = min((m.cache, m.temporary, m.data), key=lambda folder: folder.free)
    free = f"{tight.free / GIGABYTE:.1f} GiB"
    if tight.free < GIGABYTE // 10:
        said = f"The disk of {tight.path} is full ({free} free): compiling will fail."
        return problem(said, "du -xsh ~/.triton ~/.cache   # then remove some")
    if tight.free < 2 * GIGABYTE:
        said = f"Only {free} are free on the disk of {tight.path}."
        return note(said, "rm -rf ~/.triton/cache   # it is made again")
    return ok(f"At least {free} of disk are free.")


CHECKS: dict[str, Callable[[Machine], Judgement | None]] = {
    "platform": platform,
    "gpu": gpu,
    "driver": driver,
    "capability": capability,
    "pair": pair,
    "mode": mode,
    "compiler": compiler,
    "python-header": header,
    "libcuda": libcuda,
    "cache": cache,
    "progress": home,
    "disk": disk,
}
