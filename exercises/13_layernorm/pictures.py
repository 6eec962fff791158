"""Drawings of page 13: what the lanes of a tile hold, and how two means become one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture


def _number(value: float) -> str:
    """A value as a cell can hold it: a GPU's division leaves 0.00000007 where 0 is meant."""
    return f"{round(value, 4) + 0.0:g}"


def draw_lanes(steps: Mapping[str, Sequence[float]], elements: int) -> Picture:
    """What each lane of a tile holds after each step; lanes from `elements` on are masked.

    A masked lane that holds something else than 0 is drawn in the colour of an alarm.
    """
    label, cell, high, gap = 120.0, 44.0, 30.0, 14.0
    lanes = len(next(iter(steps.values())))
    title = f"{elements} elements in {lanes} lanes"
    parts = [svg.words(0, 13, title, svg.TITLE, bold=True)]
    sentences, top = [], 34.0
    for step, values in steps.items():
        parts.append(svg.words(label - 12, top + 19.5, step, anchor="end"))
        for lane, value in enumerate(values):
            x, masked = label + lane * cell, lane >= elements
            fill = svg.fill_of(0) if not masked else svg.MASKED if value == 0 else svg.CLASH
            colour = svg.ALARM if masked and value else svg.INK
            parts.append(svg.rect(x, top, cell, high, fill, "#8b949e", dash="3 2" * masked))
            middle = x + cell / 2
            if masked:  # a number on a hatch needs a ground of its own
                parts.append(svg.rect(middle - 13, top + 6, 26, 18, svg.CARD, "none", radius=3))
            parts.append(
                svg.words(middle, top + 19.5, _number(value), anchor="middle", colour=colour)
            )
        shown = ", ".join(_number(value) for value in values)
        sentences.append(f"The lanes after the step {step}: {shown}.")
        top += high + gap
    x, wide = label + elements * cell, (lanes - elements) * cell
    parts.append(svg.bracket(x + 2, top - gap + 5, wide - 4))
    parts.append(svg.words(x + wide / 2, top + 13, "masked lanes", svg.SMALL, "middle"))
    text = f"{title}. The last {lanes - elements} are masked. {' '.join(sentences)}"
    return svg.card(label + lanes * cell, top + 16, title, text, parts)


def draw_merge(a: Sequence[float], b: Sequence[float]) -> Picture:
    """The elements of two parts on a line, their means, and the mean of both together."""
    means = [sum(part) / len(part) for part in (a, b)]
    n = len(a) + len(b)
    both = (sum(a) + sum(b)) / n
    low, high = min(*a, *b), max(*a, *b)
    wide, left, axis = 520.0, 20.0, 92.0

    def at(value: float) -> float:
        return left + (value - low) / (high - low) * wide

    title = f"Part a: {len(a)} elements. Part b: {len(b)}"
    parts = [svg.words(0, 13, title, svg.TITLE, bold=True)]
    parts.append(svg.line(left - 12, axis, left + wide + 12, axis, colour=svg.LINE))
    for number, (name, part) in enumerate((("a", a), ("b", b))):
        for value in part:
            parts.append(svg.rect(at(value) - 9, axis - 9, 18, 18, svg.fill_of(number), svg.INK))
            parts.append(svg.words(at(value), axis + 4.5, name, 12, "middle"))
            parts.append(
                svg.words(at(value), axis + 26, f"{value:g}", svg.SMALL, "middle", svg.MUTED)
            )
    for value, words in zip(means, ("mean a", "mean b"), strict=True):
        parts.append(svg.words(at(value), axis - 40, f"{words} = {value:g}", svg.SMALL, "middle"))
        parts.append(svg.line(at(value), axis - 35, at(value), axis - 12, tip=True))
    parts.append(svg.words(at(both), axis + 64, f"mean = {both:g}", 12, "middle", bold=True))
    parts.append(svg.line(at(both), axis + 52, at(both), axis + 8, tip=True))
    way = f"{means[1] - means[0]:g}"
    legend = (
        f"The way from {means[0]:g} to {means[1]:g} is {way}. Part b has {len(b)} of {n} elements: "
        f"{means[0]:g} + {len(b)}/{n} of {way} = {both:g}."
    )
    parts.append(svg.words(0, axis + 92, legend, svg.SMALL, colour=svg.MUTED))
    shown = [", ".join(f"{value:g}" for value in part) for part in (a, b)]
    text = f"{title}. Part a holds {shown[0]}, part b {shown[1]}. {legend}"
    width = max(wide + 2 * left + 30, svg.text_width(legend, svg.SMALL))
    return svg.card(width, axis + 98, title, text, parts)
