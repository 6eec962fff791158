"""Doctor: what is this machine fit for, and what would mend it?

`machine` takes the snapshot, `findings` judges it; here both meet and are shown.
"""

from __future__ import annotations

import html
from dataclasses import asdict, dataclass
from typing import Any

from . import style
from .findings import CHECKS, Finding
from .machine import Machine, probe

SYMBOLS = {"ok": "✓", "note": "•", "problem": "✗"}
COLOURS = {"ok": "#1a7f37", "note": "#0a58ca", "problem": "#b42318"}


@dataclass(frozen=True)
class Diagnosis:
    """All findings about one machine; shows itself in a notebook, `text()` in a terminal."""

    machine: Machine
    findings: list[Finding]

    @property
    def healthy(self) -> bool:
        return not any(finding.level == "problem" for finding in self.findings)

    @property
    def headline(self) -> str:
        problems = sum(finding.level == "problem" for finding in self.findings)
        if problems:
            return f"{problems} thing{'s' * (problems > 1)} to mend before kernels run here"
        how = "are compiled" if self.machine.on_gpu else "run in the interpreter"
        return f"This machine is ready: kernels {how}"

    def to_dict(self) -> dict[str, Any]:
        findings = [asdict(finding) for finding in self.findings]
        return {"healthy": self.healthy, "findings": findings, "machine": self.machine.to_dict()}

    def text(self) -> str:
        lines = [self.headline, ""]
        for f in self.findings:
            lines.append(f"  {SYMBOLS[f.level]} {f.level:<8} {f.name:<14} {f.sentence}")
            if f.fix:
                lines.append(f"{'':27}mend: {f.fix}")
        return "\n".join(lines)

    __str__ = __repr__ = text

    def _repr_html_(self) -> str:
        rows = []
        for f in self.findings:
            fix = f"<br>mend: <code>{html.escape(f.fix)}</code>" if f.fix else ""
            level = style.badge(f"{SYMBOLS[f.level]} {f.level}", COLOURS[f.level])
            rows.append([level, html.escape(f.name), html.escape(f.sentence) + fix])
        return style.card(self.headline, style.table(rows))


def examine(machine: Machine) -> Diagnosis:
    """Judge a machine: every check in order; those that do not apply say nothing."""
    findings = [finding for check in CHECKS if (finding := check(machine))]
    return Diagnosis(machine, findings)


def doctor() -> Diagnosis:
    """Look at this machine and say what it is fit for and what would mend it."""
    return examine(probe())
