"""Check a file whenever it is saved: what a change does not concern keeps its outcome."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..child import TooSlow
from ..command import BadInput
from ..words import say
from .terminal import Apart, CheckRun, CodeCell, NotebookRun, read_cells

PATIENCE = 5.0  # seconds: a run that takes longer is stopped by the next save
_MADE = re.compile(r"^(?:def|class) +(\w+)|^(\w+) *=", re.MULTILINE)


def watch(path: Path, only: str | None, show: Callable[[NotebookRun], None]) -> bool:
    """Run now and after each save, until Ctrl-C. A file caught half-written is not the end, nor is
    a cell that never ends: the next save stops it.

    only: the one check that is asked for. show: is given what each run found. Returns whether all
    passed at last.
    """
    done, cells = NotebookRun(str(path)), []
    with Apart() as apart:
        try:
            while True:
                save = _Save(path)
                try:
                    now = read_cells(path)
                    keys = [only] if only else touched(cells, now)
                    found = apart.run(path, keys, unless=save.is_past)
                    done, cells = _together(done, found, now), now
                    show(done)
                except TooSlow:
                    print(say("Saved again: what still ran is stopped."))
                    continue
                except BadInput as error:
                    print(say(str(error)), file=sys.stderr)
                again = say(f"Watching {path.name}: save it to check again, Ctrl-C to stop.")
                print(again, flush=True)
                apart.get_ready()
                while not save.is_old():
                    time.sleep(0.1)
        except KeyboardInterrupt:
            return done.passed


def _together(before: NotebookRun, found: NotebookRun, cells: Sequence[CodeCell]) -> NotebookRun:
    """The new outcomes, and the old ones of checks that were not run again, in the file's order."""
    known: dict[str, CheckRun] = {run.key: run for run in (*before.checks, *found.checks)}
    order = [cell.key for cell in cells if cell.check and cell.key in known]
    rest = [run for run in found.checks if run.key not in order]
    return NotebookRun(found.notebook, [known[key] for key in order] + rest, found.broken)


def touched(before: Sequence[CodeCell], now: Sequence[CodeCell]) -> list[str]:
    """Keys of the checks that may come out otherwise than before: what changed is what they call,
    directly or through other cells. A change that defines nothing may concern each of them."""
    old, new = ({cell.source.strip() for cell in cells} for cells in (before, now))
    changed = [name for source in old ^ new for name in _made(source) or [""]]
    checks = [cell for cell in now if cell.check]
    if not before or "" in changed:
        return [cell.key for cell in checks]
    for name in changed:  # grows meanwhile
        for cell in now:
            if re.search(rf"\b{name}\b", cell.source):
                changed += [other for other in _made(cell.source) if other not in changed]
    return [c.key for c in checks if any(re.search(rf"\b{n}\b", c.source) for n in changed)]


def _made(source: str) -> list[str]:
    """Names that a cell defines, found in what may not be Python yet."""
    return [function or value for function, value in _MADE.findall(source)]


class _Save:
    """A file as it is now."""

    def __init__(self, path: Path) -> None:
        self._path, self._stamp = path, _stamp(path)
        self._end = time.monotonic() + PATIENCE

    def is_old(self) -> bool:
        """Whether the file was saved again."""
        return _stamp(self._path) not in (self._stamp, None)

    def is_past(self) -> bool:
        """Whether it was, and a run of what it was takes too long to be waited for."""
        return time.monotonic() > self._end and self.is_old()


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:  # editors that save by renaming leave a moment without the file
        return None
    return found.st_mtime_ns, found.st_size
