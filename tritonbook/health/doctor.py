"""Doctor: what is this machine fit for, and what would mend it?

`machine` takes the snapshot, `judgements` judges it; here both meet and are shown.
"""

from __future__ import annotations

import html
from dataclasses import dataclass

from .. import style
from .judgements import CHECKS
from .machine import Machine, probe

SYMBOLS = {"ok": "✓", "note": "•", "problem": "✗"}
COLOURS = {"ok": "#1a7f37", "note": "#0a58ca", "problem": "#b42318"}


@dataclass(frozen=True)
class Judgement:
    """One judgement. fix is the command or step that mends it, empty when nothing needs mending."""

    name: str
    level: str
    sentence: str
    fix: str


@dataclass(frozen=True)
class Diagnosis:
    """All judgements about one machine; shows itself in a notebook, `text()` in a terminal."""

    machine: Machine
    judgements: list[Judgement]

    @property
    def healthy(self) -> bool:
        return not any(judgement.level == "problem" for judgement in self.judgements)

    @property
    def headline(self) -> str:
        problems = sum(judgement.level == "problem" for judgement in self.judgements)
        if problems:
            return f"{problems} thing{'s' * (problems > 1)} to mend before kernels run here"
        how = "are compiled" if self.machine.on_gpu else "run in the interpreter"
        return f"This machine is ready: kernels {how}"

    def text(self) -> str:
        lines = [self.headline, ""]
        for each in self.judgements:
            lines.append(f"  {SYMBOLS[each.level]} {each.level:<8} {each.name:<14} {each.sentence}")
            if each.fix:
                lines.append(f"{'':27}mend: {each.fix}")
        return "\n".join(lines)

    __str__ = __repr__ = text

    def _repr_html_(self) -> str:
        rows = []
        for each in self.judgements:
            fix = f"<br>mend: <code>{html.escape(each.fix)}</code>" if each.fix else ""
            level = style.badge(f"{SYMBOLS[each.level]} {each.level}", COLOURS[each.level])
            rows.append([level, html.escape(each.name), html.escape(each.sentence) + fix])
        return style.card(self.headline, style.table(rows))


def examine(machine: Machine) -> Diagnosis:
    """Judge a machine: every check in order; those that do not apply say nothing."""
    judgements = [
        Judgement(name, *said) for name, check in CHECKS.items() if (said := check(machine))
    ]
    return Diagnosis(machine, judgements)


def doctor() -> Diagnosis:
    """Look at this machine and say what it is fit for and what would mend it."""
    return examine(probe())
