"""What keeps Triton's compiler from its work and is no kernel's: tools, disks, memory."""

from __future__ import annotations

import errno
import os
import re
import signal
from pathlib import Path
from subprocess import CalledProcessError

from ..words import later
from .compat import causes


class ToolFailed(Exception):
    """A program that reads what was compiled did not: the text is of `machines_fault`."""


_TOOLS = ("ptxas", "ptxas-blackwell", "cuobjdump")
# Of ptxas on what it was given, besides the lines that it names.
_OF_A_KERNEL = re.compile(r"\berror\b|Unresolved extern", re.IGNORECASE)
_OF_ITS_AGE = re.compile(r"Unsupported \.(version|target)|is not defined for option 'gpu-name'")


def machines_fault(error: BaseException) -> str:
    """What is wrong here, and what to do, where an error of compiling is none of the kernel's;
    empty: it may be the kernel's."""
    chain = causes(error)
    if any(each.__name__ == "CompilationError" for one in chain for each in type(one).__mro__):
        return ""
    cause = chain[-1]
    if isinstance(cause, ToolFailed):
        return str(cause)
    if isinstance(cause, OSError):
        return _of_the_system(cause)
    if isinstance(cause, CalledProcessError):
        command = cause.cmd if isinstance(cause.cmd, str) else str(cause.cmd[0])
        said = cause.stderr or cause.stdout or ""
        said = said.decode(errors="replace") if isinstance(said, bytes) else said
        return _ended(Path(command).name, cause.returncode, said)
    text = str(cause)
    if missing := re.search(r"Cannot find (ptxas[\w-]*)", text):
        return _not_run(missing[1], "it is not there")
    if type(cause).__name__ == "PTXASError":
        status = re.search(r"failed with error code (-?\d+)", text)
        died = "raised SIGSEGV" in text
        number = -signal.SIGSEGV if died else int(status[1]) if status else 255
        said = text.partition("stderr:\n")[2].partition("\nRepro command")[0]
        return _ended("ptxas", number, said)
    return ""


def _of_the_system(error: OSError) -> str:
    name = str(error.filename or "")
    tool = Path(name).name
    why = error.strerror or type(error).__name__
    if tool in _TOOLS or name == os.environ.get("TRITON_PTXAS_PATH"):
        return _not_run(tool, why)
    if error.errno in (errno.EAGAIN, errno.ENOMEM):
        return later(
            f"the compiler's programs cannot be started here ({why}): end what else runs, then try "
            "again"
        )
    where = f"{why}: {name}" if name else why
    return later(
        f"what is compiled cannot be kept here ({where}): let TRITON_CACHE_DIR and TMPDIR name "
        "folders that have room and can be written to"
    )


def _not_run(tool: str, why: str) -> str:
    return later(
        f"Triton's {tool} cannot be run here ({why}): install Triton again, on a disk that lets "
        "programs run"
    )


def _ended(tool: str, status: int, said: str) -> str:
    if status < 0:
        return later(f"Triton's {tool} was ended by signal {-status}: free memory, then try again")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    old = next(filter(_OF_ITS_AGE.search, lines), "")
    if old:
        return later(
            f"Triton's {tool} is older than this Triton ({old}): unset TRITON_PTXAS_PATH, or name "
            "a newer one"
        )
    if any(map(_OF_A_KERNEL.search, lines)):
        return ""
    last = lines[-1] if lines else later("it said nothing")
    return later(
        f"Triton's {tool} failed and blames no line of the kernel ({last}): free memory and disk, "
        "and unset TRITON_PTXAS_PATH"
    )
