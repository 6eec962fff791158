"""One change of a wrong answer's own text that makes every case right: there its mistake is.

It is looked for where all else names a place alone, whatever the form of the answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .cases import Case, elements
from .codes import MEMORY, VALUES, about, only_a_place
from .report import Finding

SECONDS = 6.0  # of a processor's time, for all changes of an answer
# What is seen of a mistake, which leaves open what it is.
EFFECTS = ("off-by-row", "off-by-column", "constant-factor", "rows-moved", "strided-only")
# What a finding of memory says where it leaves open what is wrong.
_ASKS = re.compile(r"Either|In a loop|Is the address off|, or (the address|the loop|is too much)")


class Mend(Protocol):
    """A change: the line in which it is, and what is told of it."""

    @property
    def line(self) -> str: ...
    @property
    def says(self) -> str: ...


MENDS = "One change makes all cases right."
_EITHER = "It belongs in `{line}`, or else in `{other}`."
Mends = Iterator[tuple[Callable[[], Any], Mend]]


def is_vague(finding: Finding) -> bool:
    """Whether a finding leaves open what is wrong, and one change of the answer may tell."""
    if not about(finding.code, VALUES, MEMORY):
        return False
    place = only_a_place(finding.code) or finding.code in EFFECTS
    sure = finding.code in ("reads-outside", "out-of-bounds-store", "unwritten-tail")
    return place and (not sure or bool(_ASKS.search(finding.sentence)))


def told(found: Sequence[Mend]) -> str:
    """What a learner is told of changes that mend an answer; nothing of none."""
    if not found:
        return ""
    if len(found) == 1:
        return f"{MENDS} {found[0].says}"
    return f"{MENDS} {_EITHER.format(line=found[0].line, other=found[1].line)}"


@dataclass
class Search:
    """Looks for the changes after which all cases are right.

    mends: the changes. wrong: the cases that are not right now; others: the rest of those that have
    a result; beside: further ones, which have to be right too. right: whether a function gives what
    is expected of a case; sound: whether there is nothing at all to say of it.
    """

    mends: Mends
    wrong: Sequence[Case]
    others: Sequence[Case]
    right: Callable[[Any, Case], bool]
    sound: Callable[[Any, Case], bool]
    beside: Sequence[Case] = ()

    def found(self, seconds: float = SECONDS) -> list[Mend]:
        """The first such change, and one in another line that comes about as soon."""
        cases = sorted(self.wrong, key=elements) + sorted(self.others, key=elements)
        start, found = time.process_time(), list[Mend]()
        end = start + seconds
        for make, mend in self.mends:
            if time.process_time() > end:
                break
            if found and mend.line == found[0].line:
                continue
            if self._all_right(make, cases):
                found.append(mend)
                spent = time.process_time() - start
                end = min(end, start + 2 * spent + 0.5)
                if len(found) > 1:
                    break
        return found

    def _all_right(self, make: Callable[[], Any], cases: Sequence[Case]) -> bool:
        try:
            fn = make()
            right = all(self.right(fn, case) for case in (*cases, *self.beside))
            return right and all(self.sound(fn, case) for case in cases)
        except Exception:  # most changes are no code that runs
            return False
