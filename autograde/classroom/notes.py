"""What was odd about a hand-in: notes for the student, and one line of them for the instructor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tritonbook import words
from tritonbook.words import say

from .places import shown

MAX_NOTES = 15  # from the beginning, and as many from the end, of a longer list
_TOLD = 2  # notes in the instructor's line


class Costly(str):
    """A note about what may cost points: it is told first."""


def ordered(notes: Sequence[str]) -> tuple[str, ...]:
    """The notes that are kept, those that may cost points first."""
    found = sorted(dict.fromkeys(notes), key=lambda note: not isinstance(note, Costly))
    if len(found) > 2 * MAX_NOTES:
        found = found[:MAX_NOTES] + found[-MAX_NOTES:]
    return tuple(map(str, found))


def in_a_line(notes: Sequence[str]) -> str:
    """The first notes, and how many more stand above the student's feedback."""
    more = len(notes) - _TOLD
    told = words.listed((shown(say(note)) for note in notes[:_TOLD]), "; ")
    return (
        say("{told}; and {more} more, above the feedback", told=told, more=more)
        if more > 0
        else told
    )


def listed(names: Iterable[str], most: int = 5) -> str:
    """Some of the names, and how many more there are."""
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more
