"""Drawings of page 55: logits with their noise, and the bisection of a threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import label


def draw_scores(z: Sequence[float], noise: Sequence[float]) -> Picture:
    """Bars of logits, the noise on top of each or taken off it, and the highest score."""
    scale, left, step, wide = 42.0, 74.0, 84.0, 30.0
    scores = [a + b for a, b in zip(z, noise, strict=True)]
    top, bottom = max([0.0, *z, *scores]), min([0.0, *z, *scores])
    zero = 26 + top * scale
    best = max(range(len(z)), key=lambda v: scores[v])
    parts = [svg.line(left - 14, zero, left + len(z) * step - 20, zero)]
    for v, (logit, score) in enumerate(zip(z, scores, strict=True)):
        x = left + v * step
        parts.append(_bar(x, zero, logit, scale, wide, svg.FILLS[0]))
        parts.append(
            svg.line(x + wide + 14, zero - logit * scale, x + wide + 14, zero - score * scale, True)
        )
        y = zero - score * scale
        thick = 3 if v == best else 1.5
        parts.append(
            f'<path d="M{x:g} {y:g}h{wide + 20:g}" stroke="{svg.INK}" stroke-width="{thick}"/>'
        )
        if v == best:
            parts.append(svg.words(x + 25, y - 8, "the highest", svg.BODY, "middle", bold=True))
        parts.append(svg.words(x + 22, zero - bottom * scale + 24, f"word {v}", svg.BODY, "middle"))
    parts.append(svg.words(0, zero + 4, "0", svg.SMALL))
    low = zero - bottom * scale + 50
    parts += [
        svg.rect(left, low, 20, 14, svg.FILLS[0], svg.INK),
        svg.words(left + 28, low + 12, "logit", svg.BODY),
        svg.line(left + 96, low + 14, left + 96, low - 1, tip=True),
        svg.words(left + 108, low + 12, label("noise"), svg.BODY),
        svg.line(left + 172, low + 7, left + 200, low + 7, colour=svg.INK),
        svg.words(left + 208, low + 12, label("score"), svg.BODY),
    ]
    said = ", ".join(f"{a:g} and {b:g}" for a, b in zip(z, noise, strict=True))
    text = f"Logits and noise of {len(z)} words: {said}. Word {best} has the highest sum."
    return svg.titled(
        left + len(z) * step - 10, low + 20, "The highest score is the word", text, parts
    )


def _bar(x: float, zero: float, value: float, scale: float, wide: float, fill: str) -> str:
    return svg.rect(x, zero - max(value, 0) * scale, wide, abs(value) * scale or 0.5, fill, svg.INK)


def draw_bisection(z: Sequence[float], p: float, width: float, steps: int) -> Picture:
    """Words on the line of logits, and how lo and hi close in on the threshold, step by step."""
    m, total = max(z), sum(math.exp(x - max(z)) for x in z)
    left, span, row = 84.0, 430.0, 27.0

    def at(logit: float) -> float:
        return left + (logit - (m - width)) / width * span

    lo, hi = m - width, m
    top = 62.0
    parts = [
        svg.words(0, 4, f"p = {p:g}", svg.BODY, bold=True),
        svg.words(left + span + 16, 4, "from mid on", svg.SMALL),
    ]
    for x in z:
        y = top - 8 - 44 * math.exp(x - m)
        parts.append(
            f'<path d="M{at(x):.5g} {top - 8:g}V{y:.5g}" stroke="{svg.INK}" stroke-width="4"/>'
        )
    parts.append(svg.line(left, top - 8, left + span, top - 8, colour=svg.INK))
    said = []
    for step in range(steps):
        mid = (lo + hi) / 2
        mass = sum(math.exp(x - m) for x in z if x >= mid) / total
        y = top + 8 + step * row
        enough = mass >= p
        parts += [
            svg.words(0, y + 13, f"step {step + 1}", svg.BODY),
            svg.rect(at(lo), y, at(hi) - at(lo), 17, svg.FILLS[1], svg.INK),
            f'<path d="M{at(mid):.5g} {y - 3:g}v23" stroke="{svg.ALARM}" stroke-width="2"/>',
            svg.words(
                left + span + 16, y + 13, f"{mass:.2f}: {'lo' if enough else 'hi'} = mid", svg.BODY
            ),
        ]
        moved = "lo" if enough else "hi"
        said.append(f"Step {step + 1}: {mass:.2f}, so {moved} becomes mid.")
        lo, hi = (mid, hi) if enough else (lo, mid)
    y = top + 8 + steps * row
    stay = [v for v, x in enumerate(z) if x >= lo]
    for x in z:
        parts.append(
            f'<path d="M{at(x):.5g} {top - 8:g}V{y - 6:g}" stroke="{svg.LINE}" '
            'stroke-dasharray="2 4" fill="none"/>'
        )
    parts.append(svg.words(at(lo) - 8, y + 12, label("threshold"), svg.BODY, "end", bold=True))
    parts.append(svg.words(at(lo) + 2, y + 12, f"{len(stay)} words stay", svg.BODY, bold=True))
    text = (
        f"{len(z)} words on the line of logits, with bars for their probabilities. lo and hi start "
        f"{width:g} apart. " + " ".join(said) + f" Words {', '.join(map(str, stay))} stay."
    )
    return svg.titled(left + span + 130, y + 20, "Half of the interval at each step", text, parts)
