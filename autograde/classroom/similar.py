"""Answers that resemble each other, or the published solution: pairs for a person, never a grade.

Compared are runs of K tokens without names, numbers, layout and comments, as MOSS does. What the
course gave out does not count, nor does what a good part of the class writes.
"""

from __future__ import annotations

import builtins
import functools
import io
import keyword
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tritonbook.words import later

from ..judge.course import Course, GivenCell
from ..judge.work import Submission
from .matching import solution_text, stub_text

K = 10  # tokens of a run
LEAST = 20  # runs of one's own, without which there is nothing to compare
LISTED = 0.8  # score from which a pair is listed
SOLUTION = later("the published solution")
_KEPT = {*keyword.kwlist, *dir(builtins), "tl", "triton", "torch"}
_SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Pair:
    """Two answers to one exercise. `score`: the share of the shorter one's own runs that the other
    has too, from 0 to 1. `kind`: "word for word", "renamed" or "similar"."""

    key: str
    one: str
    other: str
    score: float
    kind: str


@functools.lru_cache(maxsize=4096)
def tokens(source: str, names: bool = False) -> tuple[str, ...]:
    """The tokens of an answer. names: with the names, numbers and strings as they are written."""
    found: list[str] = []
    fresh = True  # at the beginning of a statement, where a string is a comment
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in _SKIPPED:
                fresh = fresh or token.type == tokenize.NEWLINE
                continue
            if token.type == tokenize.STRING and fresh:
                continue
            fresh = False
            found.append(token.string if names else _plain(token, found))
    except (tokenize.TokenError, SyntaxError):
        pass  # what stands before the mistake is compared
    return tuple(found)


def _plain(token: tokenize.TokenInfo, before: list[str]) -> str:
    if token.type == tokenize.NAME:
        return token.string if token.string in _KEPT or before[-1:] == ["."] else "V"
    if token.type == tokenize.NUMBER:
        return "N"
    return token.string if token.type == tokenize.OP else "S"


def runs(found: Sequence[str]) -> set[int]:
    """The hashes of all runs of K tokens; they hold within this process."""
    return {hash(tuple(found[at : at + K])) for at in range(len(found) - K + 1)}


def pairs_of(submissions: Iterable[tuple[Course, Submission]]) -> list[Pair]:
    """The pairs of a class, exercise by exercise; cells that students added count as one more."""
    texts: dict[str, dict[str, str]] = {}
    courses: dict[str, GivenCell] = {}
    for course, submission in submissions:
        courses |= {cell.name: cell for cell in course.answers()}
        for cell in submission.cells:
            if cell.role != "given" and cell.name not in submission.missing:
                name = cell.name if cell.role == "answer" else f"added cells of {course.notebook}"
                mine = texts.setdefault(name, {})
                mine[submission.student] = f"{mine.get(submission.student, '')}\n{cell.source}"
    found = []
    for name, answers in texts.items():
        own = courses.get(name)
        given, solution = (stub_text(own), solution_text(own)) if own else ("", "")
        found += compare(name.removeprefix("answer-"), answers, given, solution)
    return found


def compare(key: str, answers: Mapping[str, str], given: str, solution: str) -> list[Pair]:
    """The pairs of one exercise that are alike, most alike first. answers: text by student."""
    known = runs(tokens(given))
    own = {student: runs(tokens(text)) - known for student, text in answers.items()}
    seen = Counter(run for found in own.values() for run in found)
    often = max(5, len(answers) / 4)
    rare = {student: {run for run in found if seen[run] <= often} for student, found in own.items()}
    published = runs(tokens(solution)) - known
    texts = {**answers, SOLUTION: solution}
    pairs = [(one, other, rare[one], rare[other]) for one, other in combinations(sorted(rare), 2)]
    pairs += [(student, SOLUTION, found, published) for student, found in sorted(own.items())]
    listed = []
    for one, other, left, right in pairs:
        if min(len(left), len(right)) < LEAST:
            continue
        score = len(left & right) / min(len(left), len(right))
        if score >= LISTED:
            listed.append(Pair(key, one, other, score, _kind(texts[one], texts[other])))
    return sorted(listed, key=lambda pair: (-pair.score, pair.one, pair.other))


def _kind(one: str, other: str) -> str:
    if tokens(one, names=True) == tokens(other, names=True):
        return later("word for word")
    return later("renamed") if tokens(one) == tokens(other) else later("similar")
