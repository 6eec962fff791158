"""Pictures of page 12: addresses of a tile with two dimensions, and the map of the schemes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.style import digits
from tritonbook.timing import plots
from tritonbook.timing.stored import DIRECTORY

SCHEMES = ("row", "loop", "split", "multirow")
TIE = 1.05
STORED = "rmsnorm_regimes.json"
SEVERAL_ROWS = 512  # columns up to which scheme 4 takes more than one row; else it is scheme 1
LOOP_TILE = 8192  # columns that scheme 2 takes at once; up to there it is scheme 1
# What is larger gains nothing from warm caches: twice an H100's L2.
COLD_BYTES = 100e6
ONE_TILE = 65536  # elements that a program can hold: schemes 1 and 4


def draw_addresses(pid: int, M: int, N: int, BLOCK_M: int, BLOCK_N: int) -> Picture:
    """An upright tile of rows' offsets and a flat one of columns' make a table of addresses.

    The matrix is contiguous: rows lie N elements apart.
    """
    cell, high, left, top = 44, 28, 250, 62
    rows = [pid * BLOCK_M + lane for lane in range(BLOCK_M)]
    parts = [
        svg.words(left, 16, "offs_n[None, :] * stride_xn", 12, mono=True),
        svg.words(left - 58, 43, "offs_m[:, None] * stride_xm", 12, "end", mono=True),
    ]
    for n in range(BLOCK_N):
        x = left + n * cell
        parts.append(svg.box(x, 26, cell - 4, high - 4, str(n), 17, svg.MANY, svg.LINE, 12))
    for lane, m in enumerate(rows):
        y = top + lane * high
        parts.append(svg.rect(left - 48, y, cell - 4, high - 4, svg.MANY, svg.LINE))
        parts.append(svg.words(left - 28, y + 17, str(m * N), 12, "middle"))
        parts.append(svg.words(left - 58, y + 17, f"row {m}", svg.SMALL, "end", svg.MUTED))
        for n in range(BLOCK_N):
            x, there = left + n * cell, m < M and n < N
            fill = svg.fill_of(pid) if there else svg.MASKED
            dash = "" if there else "3 2"
            parts.append(svg.rect(x, y, cell - 4, high - 4, fill, "#8b949e", dash=dash))
            if there:
                middle = x + (cell - 4) / 2
                parts.append(svg.words(middle, y + 17, str(m * N + n), 12, "middle"))
    inside = sum(m < M for m in rows) * N
    legend = f"Hatched: {BLOCK_M * BLOCK_N - inside} lanes beyond the last row or column, masked."
    parts.append(svg.words(0, top + BLOCK_M * high + 16, legend, svg.SMALL, colour=svg.MUTED))
    title = f"{M} rows of {N}: program {pid}, a tile of {BLOCK_M} x {BLOCK_N}"
    text = (
        f"{title}. It has rows {rows[0]} to {rows[-1]}. Each element's address is the offset of "
        f"its row, {rows[0] * N} to {rows[-1] * N}, plus that of its column, 0 to {BLOCK_N - 1}. "
        f"{legend}"
    )
    return svg.titled(left + BLOCK_N * cell, top + BLOCK_M * high + 20, title, text, parts)


def fits(scheme: str, N: int) -> bool:
    """Whether a scheme is worth a time for rows of N elements."""
    worth = {"row": N <= ONE_TILE, "loop": N > LOOP_TILE, "multirow": N <= SEVERAL_ROWS}
    return worth.get(scheme, True)


def tied(us: Mapping[str, float]) -> list[str]:
    """The fastest scheme and all within 5 % of it, in the order of their numbers."""
    best = min(us.values())
    return [scheme for scheme in SCHEMES if us.get(scheme, float("inf")) <= TIE * best]


@dataclass(frozen=True)
class Regimes:
    """Microseconds of each scheme for each size: rows of {"M", "N", "us": {scheme: time}}."""

    where: str
    rows: tuple[dict[str, Any], ...]

    def save(self, path: str | Path) -> None:
        text = json.dumps({"where": self.where, "rows": self.rows}, indent=1, sort_keys=True)
        Path(path).write_text(text + "\n", encoding="utf-8")

    def of(self, M: int, N: int) -> dict[str, float]:
        """Microseconds of each scheme for one size. Raises KeyError where it was not measured."""
        for row in self.rows:
            if (row["M"], row["N"]) == (M, N):
                return row["us"]
        raise KeyError(f"{M} rows of {N} were not measured")

    def table(self, sizes: Iterable[tuple[int, int]]) -> str:
        """Microseconds of some sizes as text; a star at each that is the best or tied with it."""
        lines = [f"{'rows':>9}  {'of':>7}" + "".join(f"{scheme:>11}" for scheme in SCHEMES)]
        for M, N in sizes:
            us = self.of(M, N)
            best = tied(us)
            cells = (
                f"{digits(us[s]):>10}{'*' if s in best else ' '}" if s in us else f"{'-':>10} "
                for s in SCHEMES
            )
            lines.append(f"{M:9,}  {N:7,}" + "".join(cells))
        return "\n".join([*lines, f"microseconds; *: the best, or within 5 % of it. {self.where}"])

    def plot(self) -> plots.Plot:
        """The map: a cell has the numbers and colours of the best scheme and all tied with it."""
        Ms = sorted({row["M"] for row in self.rows})
        Ns = sorted({row["N"] for row in self.rows})
        figure, axes = plots.card(1.9 + 0.82 * len(Ns), 1.9 + 0.44 * len(Ms))
        for row in self.rows:
            _cell(axes, Ns.index(row["N"]), Ms.index(row["M"]), tied(row["us"]))
        axes.set_xlim(-0.5, len(Ns) - 0.5)
        axes.set_ylim(len(Ms) - 0.5, -0.5)
        axes.set_xticks(range(len(Ns)), [f"{N:,}" for N in Ns], fontsize=8)
        axes.set_yticks(range(len(Ms)), [f"{M:,}" for M in Ms], fontsize=8)
        axes.set_xlabel("N, elements of a row")
        axes.set_ylabel("M, rows")
        key = "The fastest scheme: 1 row, 2 loop, 3 split, 4 multirow; several are a tie"
        plots.caption(figure, axes, key, self.where)
        return plots.Plot(figure, self._alt())

    def _alt(self) -> str:
        names = ("scheme 1", "scheme 2", "scheme 3", "scheme 4")
        sizes: dict[str, list[str]] = {}
        for row in self.rows:
            best = " = ".join(names[SCHEMES.index(s)] for s in tied(row["us"]))
            sizes.setdefault(best, []).append(f"{row['M']}x{row['N']}")
        found = ". ".join(f"{best}: {', '.join(where)}" for best, where in sorted(sizes.items()))
        return f"The fastest scheme of {len(self.rows)} sizes ({self.where}). {found}."


def _cell(axes: Any, x: int, y: int, best: list[str]) -> None:
    """One size: a band of colour for each scheme that is as fast as any."""
    from matplotlib.patches import Rectangle

    wide = 1 / len(best)
    for place, scheme in enumerate(best):
        fill, left = svg.fill_of(SCHEMES.index(scheme)), x - 0.5 + place * wide
        axes.add_patch(Rectangle((left, y - 0.5), wide, 1, facecolor=fill, edgecolor="none"))
        number = str(SCHEMES.index(scheme) + 1)
        middle = left + wide / 2
        axes.text(middle, y, number, ha="center", va="center", fontsize=9, color=plots.INK)
    frame = Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor="none", edgecolor=plots.CARD, linewidth=2)
    axes.add_patch(frame)


def sizes() -> list[tuple[int, int]]:
    """What the map holds: matrices of 16 thousand to 67 million elements."""
    columns = sorted([*(4**j for j in range(3, 11)), 32768])
    return [(4**i, N) for i in range(11) for N in columns if 2**14 <= 4**i * N <= 2**26]


def stored_regimes() -> Regimes:
    """The map that was measured on the GPU named in it, for readers without one."""
    found = json.loads((DIRECTORY / STORED).read_text(encoding="utf-8"))
    for row in found["rows"]:
        row["us"] = {s: us for s, us in row["us"].items() if fits(s, row["N"])}
    return Regimes(found["where"], tuple(found["rows"]))


def regimes(ways: Mapping[str, Callable[..., Any]]) -> Regimes:
    """Times of the four schemes, functions of x and w, on many sizes; without a GPU stored ones."""
    import torch

    from tritonbook import INTERPRET, triton_version

    if INTERPRET:
        return stored_regimes()
    rows = []
    for M, N in sizes():
        us = {s: round(_us(way, M, N), 2) for s, way in ways.items() if fits(s, N)}
        rows.append({"M": M, "N": N, "us": us})
    versions = f"torch {torch.__version__}, Triton {'.'.join(map(str, triton_version()))}"
    found = Regimes(f"bfloat16, {torch.cuda.get_device_name()}, {versions}", tuple(rows))
    if folder := os.environ.get("TRITONBOOK_STORE_BENCH"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        found.save(Path(folder) / STORED)
    return found


def _us(way: Callable[..., Any], M: int, N: int) -> float:
    """Microseconds in bfloat16 on this GPU; of small matrices without the host's share."""
    import torch

    from tritonbook.timing.clock import clock

    x = torch.randn(M, N, dtype=torch.bfloat16, device="cuda")
    w = torch.randn(N, dtype=torch.bfloat16, device="cuda")
    way(x, w)
    timer = clock()
    if 4 * M * N < COLD_BYTES and (device_ms := timer.device_time(lambda: way(x, w))) is not None:
        return 1e3 * device_ms
    return 1e3 * timer.time(lambda: way(x, w), warmup=5, rep=20).median
