"""What the graders' README promises is there: commands, options, files."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main

from autograde.classroom import cli, similar
from autograde.classroom.handins import MAX_FILES, MAX_ZIP_BYTES
from autograde.walls.confine import MOST_FILES, Limits

README = (Path(__file__).parents[2] / "autograde" / "README.md").read_text()
COMMANDS = typer.main.get_command(cli.app).commands


def test_the_commands_are_those_of_the_readme() -> None:
    """Kills: a command of the README that was renamed; one that no instructor hears of."""
    assert set(COMMANDS) == set(re.findall(r"(?m)^autograde ([a-z-]+)", README))


def test_the_options_of_running_are_those_of_the_readme() -> None:
    """Kills: an option that only one of the four commands has."""
    line = re.search(r"`run`, `grade`, `retry` and `regrade` take (.*?): see", README, re.DOTALL)[1]
    for option in re.findall(r"`(--[a-z-]+)", line):
        for name in ("run", "grade", "retry", "regrade"):
            taken = [text for each in COMMANDS[name].params for text in each.opts]
            assert option in taken, (name, option)


def test_bounds_are_those_of_the_readme() -> None:
    """Kills: a bound that was changed here and not there."""
    assert f"({MAX_ZIP_BYTES >> 20} MB, {MAX_FILES} files)" in README
    assert f"fewer than {similar.LEAST} runs" in README and similar.K == 10
    most, bare = Limits(), Limits().without_walls()
    assert f"{most.processes} processes and threads (at `plain` {bare.processes}," in README
    assert f"{most.memory >> 30} GB of memory for each process" in README
    assert f"{most.files >> 20} MB of\n`/tmp`" in README and f"{MOST_FILES:,} files" in README
    cell, call, exercise = most.call_seconds / 3, most.call_seconds, most.wall_seconds
    limits = f"a cell ({cell:g} s), of a call ({call:g} s) and of an exercise ({exercise:g} s)"
    assert limits in README.replace("\n", " ")
