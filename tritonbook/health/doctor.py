"""Doctor: what is this machine fit for, and what would mend it?

`machine` takes the snapshot, `judgements` judges it; here both meet and are shown.
"""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass

from .. import style
from ..command import sentence
from ..words import label, later, say
from .judgement import Judgement, note
from .judgements import CHECKS
from .machine import Machine, probe

SYMBOLS = {later("ok"): "✓", later("note"): "•", later("problem"): "✗"}
COLOURS = {"ok": "#1a7f37", "note": "#0a58ca", "problem": "#b42318"}


@dataclass(frozen=True)
class Diagnosis:
    """All judgements about one machine; shows itself in a notebook, `text()` in a terminal."""

    machine: Machine
    judgements: dict[str, Judgement]

    @property
    def problems(self) -> int:
        return sum(each.level == "problem" for each in self.judgements.values())

    @property
    def headline(self) -> str:
        if problems := self.problems:
            if problems == 1:
                return "1 thing to mend before kernels run here"
            return f"{problems} things to mend before kernels run here"
        how = "run in the interpreter" if self.machine.interpreting else "are compiled"
        return f"This machine is ready: kernels {how}"

    def text(self) -> str:
        rows = []
        for name, each in self.judgements.items():
            level = f"  {SYMBOLS[each.level]} {say(each.level)}"
            rows.append([level, label(name), say(each.sentence)])
            if each.fix:
                rows.append(["", "", say("mend: {fix}", fix=each.fix)])
        return "\n".join([say(self.headline), "", *style.columns(rows)])

    __str__ = __repr__ = text

    def _repr_html_(self) -> str:
        rows = []
        for name, each in self.judgements.items():
            mend = f"<code>{html.escape(say(each.fix))}</code>"
            fix = f"<br>{say('mend: {fix}').format(fix=mend)}" if each.fix else ""
            level = style.badge(f"{SYMBOLS[each.level]} {say(each.level)}", COLOURS[each.level])
            rows.append([level, label(name), html.escape(say(each.sentence)) + fix])
        return style.card(say(self.headline), style.table(rows))


def examine(machine: Machine) -> Diagnosis:
    """Judge a machine: every check in order; those that do not apply say nothing."""
    found = {name: _judge(check, machine) for name, check in CHECKS.items()}
    return Diagnosis(machine, {name: said for name, said in found.items() if said})


def _judge(check: Callable[[Machine], Judgement | None], machine: Machine) -> Judgement | None:
    """One judgement; where it fails, that is what it says, and the others go on."""
    try:
        return check(machine)
    except Exception as error:
        said = sentence(error).rstrip(".")
        return note(f"This could not be looked at: {said}.", "Mend the others, then ask again.")


def doctor() -> Diagnosis:
    """Look at this machine and say what it is fit for and what would mend it."""
    return examine(probe())
