"""Drawings of page 65: what warp groups and tensor cores do, tick by tick."""

from __future__ import annotations

from dataclasses import dataclass

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture

SOFTMAX = 2  # ticks; a product takes one
WAYS = {
    "alike": "all warps alike",
    "ahead": "one group, its loop shifted",
    "turns": "two groups in turn",
}


@dataclass(frozen=True)
class Job:
    """What a lane does from `start` on. group: whose it is."""

    lane: int  # 0: the tensor cores
    start: int
    length: int
    text: str
    group: int


def schedule(way: str, tiles: int) -> list[Job]:
    """Who does what when: a drawing of the dependences, not a measurement."""
    jobs = []
    if way == "alike":  # both groups at once: their products take two ticks
        for tile in range(tiles):
            jobs.append(Job(0, 6 * tile, 2, f"s{tile}", 0))
            jobs.append(Job(1, 6 * tile + 2, SOFTMAX, f"softmax {tile}", 0))
            jobs.append(Job(0, 6 * tile + 4, 2, f"o{tile}", 0))
        return jobs
    groups, period = (2, 4) if way == "turns" else (1, 3)
    for group in range(groups):
        for tile in range(tiles):
            start = 2 * group + period * tile
            jobs.append(Job(0, start, 1, f"s{tile}", group))
            jobs.append(Job(1 + group, start + 1, SOFTMAX, f"softmax {tile}", group))
            scores_first = tile < tiles - 1  # those of the next tile
            jobs.append(Job(0, start + period + scores_first, 1, f"o{tile}", group))
    return jobs


def idle(jobs: list[Job]) -> tuple[int, int]:
    """How many ticks there are, and in how many the tensor cores have nothing to do."""
    last = max(job.start + job.length for job in jobs)
    return last, last - sum(job.length for job in jobs if job.lane == 0)


def draw_groups(*ways: str, tiles: int = 3) -> Picture:
    """A lane for the tensor cores and one for each group, for one way or several."""
    drawn = {way: schedule(way, tiles) for way in ways}
    longest = max(idle(jobs)[0] for jobs in drawn.values())
    left, tick, high, y = 96.0, min(38.0, 580 / longest), 26.0, 12.0
    parts, told = [], []
    for way, jobs in drawn.items():
        ticks, nothing = idle(jobs)
        said = f"{WAYS[way]}: {ticks} ticks, the tensor cores idle in {nothing}"
        told.append(said)
        parts.append(svg.words(0, y, said, svg.SMALL))
        y += 8
        groups = 1 + max(job.group for job in jobs)
        names = [
            "tensor cores",
            *(f"group {n}" if groups > 1 else "the warps" for n in range(groups)),
        ]
        for lane, name in enumerate(names):
            parts.append(svg.words(0, y + lane * high + 16, name, svg.SMALL))
            parts.append(
                svg.rect(left, y + lane * high, ticks * tick, high - 4, svg.EMPTY, svg.LINE)
            )
        for job in jobs:
            x, top = left + job.start * tick, y + job.lane * high
            fill = svg.FILLS[job.group]
            parts.append(svg.box(x, top, job.length * tick, high - 4, job.text, 15, fill))
        y += len(names) * high + 22
    title = "s: a product for scores, o: one for the output"
    return svg.titled(left + longest * tick + 4, y - 12, title, "; ".join(told) + ".", parts)
