"""`predict`: your guesses beside what was measured.

A guess that is left at None reveals nothing: what it asks for is not even measured. Times of the
interpreter are never compared, because they say nothing about a GPU; a figure that is stored with
the workbook may stand in for them, under the name of the GPU it came from.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from .. import style
from ..timing import stored as kept
from ..timing.result import BenchResult
from ..words import later, say, titled
from .tile_picture import size_text
from .tiles import CannotShow
from .traffic import TensorTraffic, Traffic

RIGHT, CLOSE = 1.1, 2.0  # factors within which a guess is right, or close
# One sign, one word, one colour for each verdict; white on each colour has 5:1 or better.
LOOKS = {
    later("right"): ("✓", "#1a7f37"),
    later("close"): ("≈", "#7a5b00"),
    later("off"): ("✗", "#b42318"),
    later("your turn"): ("○", "#57606a"),
    later("no number"): ("!", "#6f3fb5"),
    later("not measured yet"): ("!", "#6f3fb5"),
    later("not compared"): ("–", "#57606a"),
}
INTERPRETER = (
    "This time was taken in the interpreter, which says nothing about a GPU. Run the notebook on "
    "one, or look at the outputs of the solution notebook."
)


@dataclass(frozen=True)
class Measured:
    """One measured number. unit: "bytes", "ms", "times" (a ratio) or "" (a plain count).

    value is None where there is nothing to compare with. label: where it was measured.
    """

    value: float | None
    unit: str
    label: str = ""


@dataclass(frozen=True)
class Line:
    """One question with its verdict; a key of LOOKS."""

    question: str
    verdict: str
    sentence: str = ""
    figures: str = ""
    label: str = ""


@dataclass(frozen=True)
class Prediction:
    """The box. It shows itself in a notebook and prints as text."""

    lines: tuple[Line, ...]

    @property
    def headline(self) -> str:
        verdicts = [line.verdict for line in self.lines]
        waiting = verdicts.count("your turn")
        if waiting == len(verdicts):
            return "Predict: write your guess in place of each None, then run this cell again"
        right = sum(verdict == "right" for verdict in verdicts)
        judged = sum(verdict in ("right", "close", "off") for verdict in verdicts)
        said = [f"{right} of {judged} right" if judged else "nothing compared"]
        if waiting:
            said.append(later(f"{waiting} open"))
        return f"Your predictions: {', '.join(said)}"

    def text(self) -> str:
        lines = [say(self.headline)]
        for line in self.lines:
            told = titled(say(line.question), say(line.verdict))
            lines.append(f"  {LOOKS[line.verdict][0]} {told}")
            parts = map(say, (line.figures, line.sentence, line.label))
            lines += [f"      {part}" for part in parts if part]
        return "\n".join(lines)

    __str__ = __repr__ = text

    def _repr_html_(self) -> str:
        return style.card(say(self.headline), *(_html_line(line) for line in self.lines))


def time_of(
    result: BenchResult,
    row: str,
    over: str | None = None,
    stored: str | None = None,
) -> Measured:
    """The milliseconds of one row of a `bench`; with `over`, its time divided by that row's.

    stored: name of a result kept with the workbook, taken where `result` is the interpreter's.
    Raises KeyError for a row that a table measured here lacks.
    """
    names = [row] + ([over] if over else [])
    unit = "times" if over else "ms"
    if not (result.on_gpu or result.elsewhere):
        found = kept.load(stored) if stored else None
        if not isinstance(found, BenchResult):
            return Measured(None, unit)
        result = found
    if result.elsewhere and not set(names) <= {each.name for each in result.rows}:
        return Measured(None, unit)  # measured with other rows, on another day
    times = [result[name].ms for name in names]
    return Measured(times[0] / times[1] if over else times[0], unit, result.label)


def predict(
    guesses: Mapping[str, float | None],
    *,
    measured: Sequence[Any | Callable[[], Any]],
    hints: Sequence[str],
) -> Prediction:
    """Your guesses beside what was measured: right (10 %), close (a time within 2 times), or off.

    guesses: your number for each question; None while it is open.
    measured: for each question what `traffic` returns or one tensor of it (bytes), what `time_of`
        returns (ms or a ratio), or a plain number. A function is called only once there is a
        guess, so that an open question costs no time and gives nothing away.
    hints: for each question what is commonly forgotten, shown when the guess is off.

    Raises ValueError unless there is one of each for every question.
    """
    if not len(guesses) == len(measured) == len(hints):
        raise ValueError(
            f"predict needs one measurement and one hint for each question; there are "
            f"{len(guesses)} questions, {len(measured)} measurements and {len(hints)} hints"
        )
    triples = zip(guesses.items(), measured, hints, strict=True)
    return Prediction(tuple(_judge(q, guess, found, hint) for (q, guess), found, hint in triples))


def _judge(question: str, guess: Any, found: Any, hint: str) -> Line:
    if guess is None:
        sentence = "Write your guess in place of None, then run this cell again."
        return Line(question, "your turn", sentence)
    number = isinstance(guess, Real) and not isinstance(guess, bool)
    if not (number and math.isfinite(guess) and guess > 0):
        sentence = f"{guess!r} is not a number above 0. Write digits without quotes, such as 12e6."
        return Line(question, "no number", sentence)
    try:
        seen = _measured(found)
    except CannotShow as problem:
        return Line(question, "not measured yet", str(problem), f"your guess {guess:,.4g}")
    except (NameError, NotImplementedError) as problem:
        sentence = f"Nothing to compare with yet ({problem}). Run the cells above, then this one."
        return Line(question, "not measured yet", sentence, f"your guess {guess:,.4g}")
    if seen.value is None:
        figures = f"your guess {_number(guess, seen.unit)}"
        return Line(question, "not compared", INTERPRETER, figures)
    if not seen.value:
        figures = f"your guess {_number(guess, seen.unit)} · measured 0"
        return Line(question, "off", hint, figures, seen.label)
    ratio = guess / seen.value
    figures = (
        f"your guess {_number(guess, seen.unit)} · measured {_number(seen.value, seen.unit)} · "
        f"guess / measured = {ratio:.3g}"
    )
    factor = max(ratio, 1 / ratio)
    counted = seen.unit in ("", "bytes")  # what can be counted is right, or it is not
    # A hair of room, so that 110 for 100 is within 10 % whatever the rounding.
    if factor <= RIGHT + 1e-9:
        return Line(question, "right", "Within 10 %.", figures, seen.label)
    if factor <= CLOSE + 1e-9 and not counted:
        return Line(question, "close", "Within a factor of 2.", figures, seen.label)
    size = later("much") if ratio > 1 else later("little")
    times = f"{factor:.3g}" if factor < 100 else f"{factor:,.0f}"
    sentence = f"Too {size} by a factor of {times}. {_slip(factor, seen.unit) or hint}"
    return Line(question, "off", sentence, figures, seen.label)


def _slip(factor: float, unit: str) -> str:
    """A power of 1,000 is no wrong thought but a wrong unit."""
    power = round(math.log10(factor) / 3)
    if power < 1 or unit not in ("bytes", "ms") or abs(factor / 1000.0**power - 1) > 0.1:
        return ""
    name = {"bytes": "bytes, not kB, MB or GB", "ms": "milliseconds, not seconds or microseconds"}
    return f"Is it the unit? The box counts {name[unit]}."


def _measured(found: Any) -> Measured:
    if callable(found):
        found = found()
    if isinstance(found, Measured):
        return found
    if isinstance(found, Traffic):
        return Measured(found.bytes, "bytes")
    if isinstance(found, TensorTraffic):
        return Measured(found.read + found.written, "bytes")
    return Measured(found, "")


def _number(value: float, unit: str) -> str:
    if unit == "bytes":
        exact = f"{value:,.0f} bytes"
        return exact if value < 10_000 else f"{exact} ({size_text(round(value))})"
    return f"{value:,.4g} {unit}".strip()


def _html_line(line: Line) -> str:
    """A paragraph of lines: they keep their order and a gap between where a page drops styles."""
    sign, colour = LOOKS[line.verdict]
    badge = style.badge(f"{sign} {say(line.verdict)}", colour)
    parts = [f"{badge} <strong>{html.escape(say(line.question))}</strong>"]
    if line.figures:
        parts.append(f'<code style="{_CODE}">{html.escape(say(line.figures))}</code>')
    if line.sentence:
        parts.append(html.escape(say(line.sentence)))
    if line.label:
        parts.append(f'<span style="font-size:12px">{html.escape(say(line.label))}</span>')
    return f'<p style="{_LINE}">{"<br>".join(parts)}</p>'


_LINE = f"border-top:1px solid {style.LINE};margin:6px 0 0;padding:6px 0 0"
_CODE = "color:inherit;background:transparent;padding:0;white-space:normal"
