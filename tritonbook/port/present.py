"""Are torch and Triton here, and what they claim to be? If not: one sentence, and a command."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.machinery import PathFinder

from ..words import later, say
from .pairs import LINUX, TESTED_PAIR, triton_for


class NotReady(ImportError):
    """Kernels cannot run in this process: a sentence, what mends it, no traceback in Jupyter."""

    def __init__(self, sentence: str, mend: str) -> None:
        super().__init__(f"{sentence}\n  mend: {mend}")
        self.sentence, self.mend = sentence, mend

    def told(self) -> str:
        """It in the reader's language."""
        return f"{say(self.sentence)}\n  {say('mend: {fix}', fix=self.mend)}"

    def _render_traceback_(self) -> list[str]:
        return [self.told()]


def installed(package: str) -> str:
    """The version of an installed package, empty where there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


@contextlib.contextmanager
def collected_later() -> Iterator[None]:
    """Inside, nothing is looked through for garbage: a fifth of the time that torch takes to load
    goes there, and there is none."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def demand() -> None:
    """Import torch and Triton. Raises NotReady with the reason where one of them cannot be."""
    _demand("torch", "torch", "nn", TESTED_PAIR)
    _demand("triton", "Triton", "jit", triton_for(installed("torch")))


def _demand(module: str, name: str, has: str, command: str) -> None:
    # Python's own pip: that of a terminal may belong to another Python than the notebook's kernel.
    mend = later(f"{sys.executable} -m {command}   # then restart the kernel")
    if platform.system() != "Linux":
        mend = LINUX
    try:
        found = importlib.import_module(module)
    except Exception as error:  # a library that is missing, of another system, half installed
        if isinstance(error, ModuleNotFoundError) and error.name == module:
            sentence = f"{name} is not installed for {sys.executable}."
            raise NotReady(sentence, mend) from None
        if shadow := _shadow():
            raise _in_place_of(*shadow) from None
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        if os.environ.get("LD_LIBRARY_PATH") and ".so" in reason:
            mend = later(f"unset LD_LIBRARY_PATH   # else install it anew: {mend}")
        raise NotReady(f"{name} cannot be imported: {reason}.", mend) from None
    if not hasattr(found, has):  # a file or a folder of the learner's own that is called like it
        where = getattr(found, "__file__", None) or next(iter(found.__path__), "?")
        raise _in_place_of(where, name)


def _in_place_of(where: str, name: str) -> NotReady:
    return NotReady(
        f"{where} is imported in place of {name}, because it has the same name.",
        f"Rename {where}, then restart the kernel.",
    )


def _shadow() -> tuple[str, str] | None:
    """A file of the learner's own that was imported, and the name of the library's that it stands
    for: it lies in this folder or in one of PYTHONPATH, and Python has another elsewhere."""
    own = {os.path.abspath(place) for place in os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    own.add(os.getcwd())
    others = [place for place in sys.path if os.path.abspath(place) not in own]
    for name, module in list(sys.modules.items()):
        where = getattr(module, "__file__", None) or ""
        folder = os.path.dirname(os.path.abspath(where))
        if "." in name or name in ("__main__", __name__.partition(".")[0]) or not where:
            continue
        if own.isdisjoint((folder, os.path.dirname(folder) if hasattr(module, "__path__") else "")):
            continue
        if name in sys.stdlib_module_names or PathFinder.find_spec(name, others):
            return where, name
    return None
