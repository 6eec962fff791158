"""The doctor's judgements: each a pure function of a `Machine`, tested with machines nobody has.

Those about GPUs stand in `gpus.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from ..port.pairs import LINUX, PAIRS, PYTHONS, TESTED_PAIR, numbers, short, triton_for
from ..words import later
from . import gpus
from .folders import GIGABYTE, Folder
from .judgement import Judgement, needed, note, ok, problem, yes_where
from .machine import Machine

LATER = "   # then restart the kernel"


def platform(m: Machine) -> Judgement:
    if m.system != "Linux":
        system = "macOS" if m.system == "Darwin" else m.system
        return problem(f"There is no Triton for {system}.", LINUX)
    low, high = PYTHONS
    if not low <= numbers(m.python)[:2] <= high:
        return note(
            f"Python {m.python} is outside the tested range 3.{low[1]} to 3.{high[1]}.",
            "python3.12 -m venv .venv   # then install the workbook in it",
        )
    return ok(f"{m.system} on {m.processor}, Python {m.python}.")


def pair(m: Machine) -> Judgement:
    if m.broken:
        return problem(*m.broken)
    found, want = short(m.triton), PAIRS.get(short(m.torch))
    fitting = triton_for(m.torch) if m.system == "Linux" else LINUX
    if not found:
        return problem("Triton is not installed.", fitting)
    if len(m.tritons) > 1:
        names = " ".join(each.split()[0] for each in m.tritons)
        return needed(m)(
            f"Several packages bring Triton into one folder: {', '.join(m.tritons)}.",
            f"pip uninstall -y {names} && {triton_for(m.torch)}",
        )
    if want is None:
        return note(
            f"The workbook was not tested on torch {m.torch} with Triton {m.triton}.",
            TESTED_PAIR if m.system == "Linux" else LINUX,
        )
    if found != want:
        return needed(m)(
            f"torch {m.torch} belongs with Triton {want}, but Triton {m.triton} is installed.",
            fitting,
        )
    return ok(f"torch {m.torch} and Triton {m.triton} belong together.")


def mode(m: Machine) -> Judgement | None:
    if m.broken:
        return None
    wanted = (m.interpret_variable or "").lower() not in ("", "0", "false", "off")
    if m.library_interpreted is not None and wanted != m.library_interpreted:
        state = later("set") if wanted else later("removed")
        return problem(
            f"TRITON_INTERPRET was {state} after triton was imported: half of it is interpreted.",
            "Restart the kernel; set the variable before anything imports triton.",
        )
    if m.interpreting and m.cuda_works and not m.amd:
        return note(
            "TRITON_INTERPRET is set although there is a GPU: kernels are interpreted, not timed.",
            f"unset TRITON_INTERPRET{LATER}",
        )
    if m.interpret_variable and not (m.interpreting or m.cuda_works):
        return problem(
            f"TRITON_INTERPRET={m.interpret_variable} asks for compiled kernels, but torch "
            "finds no GPU here.",
            f"unset TRITON_INTERPRET{LATER}: the interpreter runs every notebook",
        )
    return ok("Kernels are interpreted on the CPU." if m.interpreting else "Kernels are compiled.")


def compiler(m: Machine) -> Judgement:
    other, where = m.compiler_elsewhere, yes_where(m)
    if m.compiler_named is not None and not m.compiler:
        return needed(m)(
            f"CC is {m.compiler_named!r}, and that is no program here{where}.",
            f"unset CC   # Triton then takes {other}" if other else "unset CC; apt-get install gcc",
        )
    if not m.compiler:
        return needed(m)(
            f"There is no C compiler, which Triton's launcher is built with{where}.",
            "apt-get install gcc   # or: module load gcc; conda install gcc; export CC=/path/to/cc",
        )
    if m.compiler_complaint:
        unset = m.compiler_named is not None and other not in (None, m.compiler)
        return needed(m)(
            f"{m.compiler} builds no library{where}: {m.compiler_complaint}.",
            f"unset CC   # Triton then takes {other}" if unset else "apt-get install gcc libc6-dev",
        )
    return ok(f"C compiler: {m.compiler}.")


def header(m: Machine) -> Judgement:
    if m.python_header:
        return ok(f"Python header: {m.python_header}.")
    return needed(m)(
        f"Python.h is missing, which Triton's launcher is built with{yes_where(m)}.",
        f"apt-get install python{short(m.python)}-dev   # or use conda's Python, which brings it",
    )


def _elsewhere(m: Machine, instead_of: Folder, setting: str) -> str:
    """The command that names another folder, one where programs can be kept: it was tried."""
    for folder in m.other_folders:
        path = folder.path.rstrip("/")
        if instead_of.on_network and folder.on_network:
            continue
        if folder.good and not f"{instead_of.path}/".startswith(f"{path}/"):
            place = f'"{path}/tritonbook-$USER"'
            return f"mkdir -p {place} && export {setting}={place}{LATER}"
    tried = ", ".join(folder.path for folder in m.other_folders) or "any folder"
    return f"Make room, or ask for a folder of your own: {tried} would not do either."


def cache(m: Machine) -> Judgement:
    where, setting = m.cache.path, "TRITON_CACHE_DIR"
    if not m.cache.writable:
        said = m.cache.refused or "no permission"
        return needed(m)(
            f"Triton's cache folder {where} cannot be written: {said}.",
            _elsewhere(m, m.cache, setting),
        )
    if m.cache.noexec:
        return needed(m)(
            f"Triton's cache folder {where} lies on a file system that forbids programs (noexec).",
            _elsewhere(m, m.cache, setting),
        )
    if m.cache.on_network:
        said = f"Triton's cache folder {where} lies on {m.cache.kind}: slow, and jobs may collide."
        return note(said, _elsewhere(m, m.cache, setting))
    return ok(f"Triton's cache: {where} ({m.cache.kind}).")


def home(m: Machine) -> Judgement:
    if m.data.writable:
        return ok(f"Your progress is kept in {m.data.path}.")
    said = m.data.refused or "no permission"
    return note(
        f"{m.data.path} cannot be written ({said}): your progress goes to a temporary folder.",
        "export TRITONBOOK_HOME=/a/folder/of/yours",
    )


def disk(m: Machine) -> Judgement:
    """Room for files. Where the cache or your progress take none, their own judgements say so."""
    if not m.temporary.writable:
        said = m.temporary.refused or "no permission"
        return problem(
            f"Temporary files cannot be written to {m.temporary.path}: {said}.",
            _elsewhere(m, m.temporary, "TMPDIR"),
        )
    every = {"TMPDIR": m.temporary, "TRITON_CACHE_DIR": m.cache, "TRITONBOOK_HOME": m.data}
    settings = {name: folder for name, folder in every.items() if folder.writable}
    setting = min(settings, key=lambda each: settings[each].free)
    tight = settings[setting]
    free = f"{tight.free / GIGABYTE:.1f} GiB"
    if tight.free < GIGABYTE // 10:
        said = f"The disk of {tight.path} is full ({free} free): compiling will fail."
        return problem(said, _elsewhere(m, tight, setting))
    if tight.free < 2 * GIGABYTE:
        said = f"Only {free} are free on the disk of {tight.path}."
        return note(said, f"du -xsh {tight.path} ~/.triton ~/.cache   # then remove some")
    return ok(f"At least {free} of disk are free.")


CHECKS: dict[str, Callable[[Machine], Judgement | None]] = {
    "platform": platform,
    "gpu": gpus.gpu,
    "driver": gpus.driver,
    "capability": gpus.capability,
    "pair": pair,
    "assembler": gpus.assembler,
    "mode": mode,
    "compiler": compiler,
    "python-header": header,
    "libcuda": gpus.libcuda,
    "cache": cache,
    "progress": home,
    "disk": disk,
}
