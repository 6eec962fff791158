"""What the project's commands share: bad input is one sentence on standard error, exit code 2."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import os
import re
import sys
from typing import NoReturn

from .words import later, say

BAD_INPUT = 2


class BadInput(Exception):
    """What was typed, or a file that it names, does not fit: one sentence."""


def leave(code: int) -> NoReturn:
    """End this process like `sys.exit(code)`, without taking torch apart: that is 0.7 s of work.

    What is printed is written and what was registered for the end is run; threads are not awaited.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # whoever read it is gone; it is closed
            stream.flush()
    os._exit(code)


# What argparse says itself, and typer.
HEADS = (
    later("usage:"),
    later("positional arguments:"),
    later("options:"),
    later("show this help message and exit"),
    later("Usage:"),
    later("Arguments:"),
    later("Options:"),
    later("Commands:"),
    later("Show this message and exit."),
    later("[default:"),
    later("[required]"),
)
later("the following arguments are required: {names}")
later("unrecognized arguments: {names}")
later("argument {name}: expected one argument")
later("argument {name}: invalid choice: {given} (choose from {known})")
later("argument {name}: invalid int value: {given}")
# Why the system did not open a file.
later("No such file or directory")
later("Not a directory")
later("Is a directory")
later("File exists")
later("Permission denied")
later("No space left on device")
later("Read-only file system")


def with_heads(text: str) -> str:
    """A page of help whose headings are in the reader's language."""
    for head in HEADS:
        said = say(head)
        blank = " ?" if said.endswith("：") else ""
        text = re.sub(rf"(?m)(^|  ){re.escape(head)}{blank}", rf"\1{said}", text)
    return text


class Parser(argparse.ArgumentParser):
    """argparse's parser, in the reader's language, and without the page of usage above the
    sentence that matters."""

    def format_help(self) -> str:
        return with_heads(super().format_help())

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{misused(self.prog, message)}\n")


def misused(program: str, message: str) -> str:
    """What is said of arguments that are not understood."""
    command = f"{program} --help"
    if message.endswith("?"):  # it makes a guess
        return f"{program}: {say(message)} {say('See {command}.', command=command)}"
    return f"{program}: {say('{message}; see {command}.', message=message, command=command)}"


def refused(error: OSError) -> str:
    """What the system said of a file, and what to do: its own words name no way out."""
    why = say(error.strerror or str(error))
    if not error.filename:
        return say("{why}: mend that, and run the same command again.", why=why)
    return say(
        "{file} cannot be used ({why}): mend that, and run the same command again.",
        file=error.filename,
        why=why,
    )


def sentence(error: Exception) -> str:
    """An error as one line that ends with a full stop (or a question mark).

    An OSError names its file; a KeyError's text loses the quotes that Python puts around it.
    """
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, LookupError) and error.args:
        text = str(error.args[0])
    else:
        text = str(error)
    text = " ".join(text.split()) or type(error).__name__
    return text if text.endswith((".", "?", "!")) else f"{text}."
