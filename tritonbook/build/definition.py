"""Strict reading of an Apptainer definition file.

Apptainer's own parser drops a misspelt section without a word, and the fault shows on somebody's
cluster. Here every line must belong to a known key or section, shell parts must parse, template
variables must be declared, and files to be copied must exist.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HEADER_KEYS = ("bootstrap", "from", "stage", "include", "library", "mirrorurl", "osversion")
AGENTS = ("docker", "library", "localimage", "oras", "debootstrap", "dnf", "yum", "scratch")
NEEDS_FROM = ("docker", "library", "localimage", "oras")
SHELL = ("pre", "setup", "post", "environment", "runscript", "startscript", "test")
SECTIONS = (*SHELL, "arguments", "files", "labels", "help")
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True)
class Problem:
    """What is wrong, in one sentence, and in which line (counted from 1)."""

    line: int
    sentence: str


@dataclass
class Section:
    """One %section: its own line number, and its text, which starts on the next line."""

    name: str
    line: int
    options: str
    text: str = ""


@dataclass
class Definition:
    """A definition file: header, sections, and the problems met while reading it."""

    header: dict[str, str] = field(default_factory=dict)
    sections: dict[str, Section] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def arguments(self) -> dict[str, str]:
        """Template variables and their defaults."""
        section = self.sections.get("arguments")
        lines = section.text.splitlines() if section else []
        return dict(line.strip().split("=", 1) for line in lines if "=" in line)

    def filled(self, name: str, **chosen: str) -> str:
        """The text of a section with its template variables filled in."""
        values = {**self.arguments(), **chosen}
        return _VARIABLE.sub(lambda match: values[match[1]], self.sections[name].text)

    def files(self) -> list[tuple[str, str]]:
        """(source, destination) of each line of %files."""
        section = self.sections.get("files")
        lines = section.text.splitlines() if section else []
        pairs = [line.split() for line in lines if line.strip() and not _comment(line)]
        return [(pair[0], pair[1] if len(pair) > 1 else pair[0]) for pair in pairs]


def _comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def parse(text: str) -> Definition:
    """Read a definition file; what does not fit is in `problems`, nothing is dropped in silence."""
    found, current = Definition(), None
    for number, line in enumerate(text.splitlines(), 1):
        opening = re.match(r"^%(\S*)\s*(.*)$", line)
        if opening:
            current = Section(opening[1].lower(), number, opening[2])
            if current.name not in SECTIONS:
                found.problems.append(Problem(number, f"%{opening[1]} is no section."))
            elif current.name in found.sections:
                found.problems.append(Problem(number, f"%{current.name} is there twice."))
            found.sections.setdefault(current.name, current)
        elif current is not None:
            current.text += line + "\n"
        elif line.strip() and not _comment(line):
            _header_line(found, number, line)
    return found


def _header_line(found: Definition, number: int, line: str) -> None:
    key, colon, value = line.partition(":")
    name = key.strip().lower()
    if not colon or not value.strip():
        found.problems.append(Problem(number, "A header line must read 'Key: value'."))
    elif name not in HEADER_KEYS:
        found.problems.append(Problem(number, f"{key.strip()} is no header key."))
    elif name in found.header:
        found.problems.append(Problem(number, f"{key.strip()} is there twice."))
    else:
        found.header[name] = value.strip()


def check(path: Path, root: Path) -> list[Problem]:
    """Every problem of a definition file that is built from the folder `root`."""
    text = path.read_text(encoding="utf-8")
    found = parse(text)
    rules = (_bootstrap, _templates, _labels, _shell)
    problems = [*found.problems, *(p for rule in rules for p in rule(found)), *_copies(found, root)]
    problems += [
        Problem(number, "A tab in place of blanks.")
        for number, line in enumerate(text.splitlines(), 1)
        if "\t" in line
    ]
    return sorted(problems, key=lambda problem: problem.line)


def _bootstrap(found: Definition) -> Iterator[Problem]:
    agent = found.header.get("bootstrap", "")
    if agent not in AGENTS:
        yield Problem(1, f"Bootstrap is {agent or 'missing'}; known: {', '.join(AGENTS)}.")
    if agent in NEEDS_FROM and "from" not in found.header:
        yield Problem(1, f"Bootstrap: {agent} needs a line 'From: image'.")
    if agent == "docker" and ":" not in found.header.get("from", ":"):
        yield Problem(1, "From names no tag, so the image changes from day to day.")


def _templates(found: Definition) -> Iterator[Problem]:
    declared, used = found.arguments(), set()
    for section in found.sections.values():
        for offset, line in enumerate(section.text.splitlines(), 1):
            names = _VARIABLE.findall(line)
            used.update(names)
            for name in names:
                if name not in declared:
                    yield Problem(section.line + offset, f"{name} has no default in %arguments.")
            if line.count("{{") != len(names):
                yield Problem(section.line + offset, "'{{' that opens no template variable.")
            if section.name == "arguments" and line.strip() and "=" not in line:
                yield Problem(section.line + offset, "A line of %arguments must read NAME=value.")
    used.update(_VARIABLE.findall(" ".join(found.header.values())))
    for name in declared.keys() - used:
        yield Problem(found.sections["arguments"].line, f"{name} is declared and never used.")


def _labels(found: Definition) -> Iterator[Problem]:
    section = found.sections.get("labels", Section("labels", 0, ""))
    for offset, line in enumerate(section.text.splitlines(), 1):
        if line.strip() and len(line.split(None, 1)) < 2:
            yield Problem(section.line + offset, "A label must read 'name value'.")


def _shell(found: Definition) -> Iterator[Problem]:
    for section in found.sections.values():
        if section.name not in SHELL:
            continue
        if not section.text.strip():
            yield Problem(section.line, f"%{section.name} is empty.")
        # Apptainer runs them with /bin/sh unless the section's line says -c and a shell.
        shell = section.options.partition("-c")[2].strip() or "sh"
        if section.options and not section.options.startswith("-c"):
            yield Problem(section.line, f"%{section.name} {section.options}: only -c may follow.")
            continue
        filled = _VARIABLE.sub("x", section.text)
        ran = subprocess.run([shell, "-n"], input=filled, capture_output=True, text=True)
        if ran.returncode:
            said = ran.stderr.strip().splitlines()[-1]
            yield Problem(section.line, f"%{section.name} is no shell script: {said}.")
        if section.name in ("post", "test", "setup") and not re.search(r"(?m)^\s*set -e", filled):
            yield Problem(
                section.line, f"%{section.name} goes on after an error: begin with set -e."
            )


def _copies(found: Definition, root: Path) -> Iterator[Problem]:
    section = found.sections.get("files")
    for source, destination in found.files():
        if not (root / source).exists():
            yield Problem(section.line, f"{source} is to be copied and does not exist.")
        if not destination.startswith("/"):
            yield Problem(section.line, f"{destination} must be an absolute path.")
