"""Drawings of page 46: the weights of a softmax, with a sink and without."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture


def draw_sink(scores: Sequence[float], sink: float) -> Picture:
    """The weights that keys with these scores get, without a sink and beside one of this logit."""
    left, length, high, top = 96.0, 560.0, 34.0, 24.0
    parts, said = [], []
    for number, (name, extra) in enumerate((("no sink", None), ("with a sink", sink))):
        y = top + number * (high + 34)
        powers = [math.exp(score) for score in scores]
        whole = sum(powers) + (math.exp(extra) if extra is not None else 0.0)
        weights = [power / whole for power in powers]
        parts.append(svg.words(0, y + 22, name, svg.BODY, bold=True))
        x = left
        for key, weight in enumerate(weights):
            wide = weight * length
            label = f"{weight:.2f}"
            parts.append(svg.box(x, y, wide, high, label, 22, svg.fill_of(key)))
            if not number:
                about = f"s = {scores[key]:g}"
                parts.append(svg.words(x + wide / 2, y - 8, about, svg.SMALL, "middle"))
            x += wide
        if extra is not None:
            rest = left + length - x
            parts.append(svg.rect(x, y, rest, high, svg.EMPTY, svg.INK, dash="4 3"))
            parts.append(svg.words(x + rest / 2, y + 22, "the sink's", svg.SMALL, "middle"))
        total = sum(weights)
        under = f"the weights of the keys: {total:.2f} in all"
        parts.append(svg.words(left, y + high + 16, under, svg.SMALL, colour=svg.MUTED))
        shares = ", ".join(f"{weight:.2f}" for weight in weights)
        said.append(f"Weights, {name}: {shares}.")
    given = ", ".join(f"{score:g}" for score in scores)
    rest = f"The sink, of logit {sink:g}, takes the rest."
    text = " ".join([f"Keys with the scores {given}.", *said, rest])
    width, height = left + length, top + 2 * (high + 34)
    return svg.titled(width, height, "Where the weight goes", text, parts)
