"""Pictures of page 11: who reads which part of which row, and who wins where.

Numbers in the cells say what the colours say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..timing import plots
from . import svg

_CELL, _GAP = 22, 34
SCHEMES = ("row", "loop", "split", "multirow")
_STORED = Path(plots.__file__).parent / "stored" / "rmsnorm_regimes.json"


def _table(owners: Sequence[Sequence[int]], tile: int, left: float, top: float) -> list[str]:
    """Cells of one matrix: `owners` holds program numbers, `tile` columns share one box."""
    parts = []
    for m, row in enumerate(owners):
        for first in range(0, len(row), tile):
            width = min(tile, len(row) - first) * _CELL
            x, y = left + first * _CELL, top + m * _CELL
            fill = svg.fill_of(row[first])
            parts.append(svg.rect(x + 1, y + 1, width - 2, _CELL - 2, fill, svg.INK))
            parts.append(svg.words(x + width / 2, y + 15, str(row[first]), svg.SMALL, "middle"))
    return parts


def draw_schemes() -> svg.Picture:
    """The four ways to divide RMSNorm's work; the number in a tile is the program that takes it."""
    panels = [
        ("1: a row each", [[m] * 8 for m in range(3)], 8),
        ("2: a row each, in tiles", [[m] * 8 for m in range(3)], 2),
        ("3: pieces of a row", [[4 * m + n // 2 for n in range(8)] for m in range(2)], 2),
        ("4: several rows each", [[m // 4] * 3 for m in range(8)], 3),
    ]
    parts, left, height = [], 0.0, 0
    for title, owners, tile in panels:
        parts.append(svg.words(left, 12, title, bold=True))
        parts += _table(owners, tile, left, 24)
        height = max(height, 24 + len(owners) * _CELL)
        left += max(len(owners[0]) * _CELL, svg.text_width(title)) + _GAP
    text = (
        "Four matrices. Scheme 1: 3 rows, programs 0, 1, 2 take one row each. Scheme 2: the same, "
        "each row in 4 tiles that one program walks through. Scheme 3: 2 rows in 4 pieces each, "
        "programs 0 to 3 share the first row, 4 to 7 the second. Scheme 4: 8 short rows, program 0 "
        "takes the first four, program 1 the others."
    )
    return svg.titled(left - _GAP, height, "Four schemes of RMSNorm", text, parts)


def draw_occupancy(M: int, N: int, num_sms: int, num_splits: int) -> svg.Picture:
    """How many of `num_sms` processors have a program: a row each against `num_splits` a row."""
    size, per_line = 12, 44
    parts, facts, top = [], [], 12
    for scheme, programs in (("scheme 1", M), (f"scheme 3, {num_splits} pieces", M * num_splits)):
        busy = min(programs, num_sms)
        facts.append(f"{scheme}: {programs} programs, {busy} of {num_sms} SMs have work")
        parts.append(svg.words(0, top, facts[-1], bold=True))
        for i in range(num_sms):
            x, y = (i % per_line) * (size + 2), top + 10 + (i // per_line) * (size + 2)
            fill, stroke = (svg.INK, svg.INK) if i < busy else (svg.EMPTY, svg.LINE)
            parts.append(svg.rect(x, y, size, size, fill, stroke))
        top += 10 + -(-num_sms // per_line) * (size + 2) + 26
    title = f"Processors with work, {M} rows of {N}"
    return svg.titled(per_line * (size + 2), top - 26, title, ". ".join(facts) + ".", parts)


@dataclass(frozen=True)
class Regimes:
    """Microseconds of each scheme for each size: rows of {"M", "N", "us": {scheme: time}}."""

    where: str
    rows: tuple[dict[str, Any], ...]

    def to_dict(self) -> dict[str, Any]:
        return {"where": self.where, "rows": list(self.rows)}

    def save(self, path: str | Path) -> None:
        text = json.dumps(self.to_dict(), indent=1, sort_keys=True)
        Path(path).write_text(text + "\n", encoding="utf-8")

    def regret(self, choose: Callable[[int, int], str]) -> list[tuple[float, int, int, str]]:
        """(time of the choice / time of the best scheme, M, N, choice), worst first."""
        found = []
        for row in self.rows:
            chosen = choose(row["M"], row["N"])
            best = min(row["us"].values())
            found.append((row["us"].get(chosen, float("inf")) / best, row["M"], row["N"], chosen))
        return sorted(found, reverse=True)

    def plot(self, title: str = "The fastest scheme") -> plots.Plot:
        """Log-log map: colour and number name the winner, the figure its lead over scheme 1 or 2.

        The lead is the better time of schemes 1 and 2 divided by the winner's time.
        """
        Ms = sorted({row["M"] for row in self.rows})
        Ns = sorted({row["N"] for row in self.rows})
        figure, axes = plots.card(1.8 + 0.78 * len(Ns), 1.7 + 0.42 * len(Ms))
        for row in self.rows:
            _regime_cell(axes, Ns.index(row["N"]), Ms.index(row["M"]), row["us"])
        axes.set_xlim(-0.5, len(Ns) - 0.5)
        axes.set_ylim(len(Ms) - 0.5, -0.5)
        axes.set_xticks(range(len(Ns)), [f"{N:,}" for N in Ns], fontsize=8)
        axes.set_yticks(range(len(Ms)), [f"{M:,}" for M in Ms], fontsize=8)
        axes.set_xlabel("N, elements of a row")
        axes.set_ylabel("M, rows")
        plots.caption(figure, axes, title, self.where)
        return plots.Plot(figure, self._alt())

    def _alt(self) -> str:
        wins: Mapping[str, int] = {
            s: sum(min(row["us"], key=row["us"].get) == s for row in self.rows) for s in SCHEMES
        }
        counts = ", ".join(f"{scheme} {count}" for scheme, count in wins.items())
        return f"Fastest scheme of {len(self.rows)} sizes ({self.where}): {counts}."


def _regime_cell(axes: Any, x: int, y: int, us: Mapping[str, float]) -> None:
    from matplotlib.patches import Rectangle

    winner = min(us, key=us.get)
    fill = svg.fill_of(SCHEMES.index(winner))
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=fill, edgecolor=plots.CARD))
    simple = [us[s] for s in ("row", "loop") if s in us]
    lead = min(simple) / us[winner] if simple else float("nan")
    words = f"{SCHEMES.index(winner) + 1}" + (f"  {lead:.1f}x" if lead > 1.05 else "")
    axes.text(x, y, words, ha="center", va="center", fontsize=8, color=plots.INK)


def stored_regimes() -> Regimes:
    """The map that was measured on the GPU named in it, for readers without one."""
    found = json.loads(_STORED.read_text(encoding="utf-8"))
    return Regimes(found["where"], tuple(found["rows"]))
