"""Modules from text: Triton reads a kernel's source again, by the name of its file."""

from __future__ import annotations

import io
import linecache
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any


def remember(file: str, text: str) -> None:
    """Let tracebacks and Triton find the source. No time stamp: the entry is never refreshed."""
    lines = io.StringIO(text, newline="").readlines()  # as Python counts them: no U+2028 ends one
    linecache.cache[file] = (len(text), None, lines, file)


def written(folder: Path, name: str, text: str) -> Path:
    """The file of this name, made or brought up to date; nobody reads it half-written."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    if not (path.is_file() and path.read_text(encoding="utf-8") == text):
        handle, draft = tempfile.mkstemp(dir=folder, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(draft, path)  # another process may write the same file at the same time
        except BaseException:
            os.unlink(draft)
            raise
    return path


def module_of(text: str, file: str, name: str, names: Mapping[str, Any]) -> ModuleType:
    """The module that `text` gives, as if it stood in `file`, under a name that Python knows it by:
    torch.compile and pickle import a function's module by name. names: what the text finds there.
    """
    remember(file, text)
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(names, __file__=file)
    try:
        exec(compile(text, file, "exec", dont_inherit=True), vars(module))
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
