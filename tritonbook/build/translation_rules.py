"""The rules of a translation: what stays as it is, the words of the glossary, the signs.

`exercises/glossary.zh.csv` has for each English term its Chinese as first used on a page, with the
other language in brackets, then the forms after that, and the words that are not to be used.
`exercises/released.zh.txt` names the pages of which nothing may be missing.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from markdown_it import MarkdownIt

from .. import words
from ..course import messages
from ..course.exercises import Exercise
from ..course.source import SourceError
from . import catalogues

_PARSER = MarkdownIt()
HAN = r"[\u3400-\u9fff]"
# What must be the same in both languages.
KEPT = {
    "code": r"`+[^`]*`+",
    "formula": r"\$\$.*?\$\$|\$[^$]*\$",
    "link": r"\]\([^)]*\)",
    "HTML": r"</?[A-Za-z!][^>]*>",
    "field": r"\{\w*\}",
    "number": r"\d+(?:[.,]\d+)*",
    "name": r"\b[A-Za-z]\w*_\w+\b",
}
SIGNS = {
    "a half-width sign in a Chinese sentence": (
        rf"{HAN}\s*[,;:?!()]|[,;:?!()]\s*{HAN}|{HAN}\.|\.\s+{HAN}"
    ),
    "no space between Chinese and Latin": rf"{HAN}[A-Za-z0-9]|[A-Za-z0-9]{HAN}",
    "a half-width sign between two names": r"\bA[,;] A\b",  # code is an A here
    "a space beside a full-width sign": r" [，。；：？！（）、]|[，。；：？！（）、] (?![|*])",
}


@dataclass(frozen=True)
class Term:
    """A row of the glossary."""

    english: str
    first: str
    then: tuple[str, ...]
    avoid: tuple[str, ...]

    def is_in(self, english: str) -> bool:
        return re.search(rf"\b{self.english}s?\b", english, re.IGNORECASE) is not None


def glossary(folder: Path) -> list[Term]:
    """The terms of the course in this folder; none where it has no glossary."""
    path = folder / "glossary.zh.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Term(
                row["english"],
                row["first"],
                tuple(row["then"].split("|")),
                tuple(filter(None, row["avoid"].split("|"))),
            )
            for row in csv.DictReader(file)
        ]


def problems(course: Iterable[Exercise], root: Path) -> list[SourceError]:
    """What is wrong with the translated pages, and with the package's sentences."""
    terms = glossary(root / "exercises")
    pages = {page.slug: page for page in messages.translations(course)}
    released = root / "exercises" / "released.zh.txt"
    found: list[SourceError] = []
    slugs = released.read_text().split() if released.is_file() else []
    missing = dict.fromkeys(slugs, ["all of it"])
    for page in pages.values():
        path = messages.catalogue(page, page.lang)
        known = words.read(path)
        told = catalogues.of_page(Exercise(page.path))
        if page.slug in missing:
            missing[page.slug] = [message for message in told if message not in known]
        found += _of_messages(path, {k: known[k] for k in told if k in known}, terms)
        found += [
            SourceError(path, 1, problem, mend) for problem, mend in first_uses(known, told, terms)
        ]
    for slug, behind in missing.items():
        if behind:
            problem = f"{slug} is released, and {len(behind)} messages are missing: {behind[0]!r}"
            mend = "translate them, or take it from the list until someone does"
            found.append(SourceError(released, 1, problem, mend))
    # What the package calls a program is not always Triton's.
    terms = [term for term in terms if term.english != "program"]
    for path, told in catalogues.of_package(root).items():
        known = words.read(path) if path.is_file() else {}
        found += _of_messages(path, {k: known[k] for k in told if k in known}, terms)
        if lacking := [message for message in told if message not in known]:
            problem = f"{len(lacking)} messages are missing: {lacking[0]!r}"
            found.append(SourceError(path, 1, problem, "run make translate, and translate them"))
    return found


def _of_messages(path: Path, known: Mapping[str, str], terms: list[Term]) -> Iterator[SourceError]:
    for english, chinese in known.items():
        for problem, mend in slips(english, chinese, terms):
            lines = path.read_text(encoding="utf-8").splitlines()
            start = chinese[:12].replace('"', '\\"')
            line = next((i for i, text in enumerate(lines, 1) if start in text), 1)
            yield SourceError(path, line, problem, mend)


def slips(english: str, chinese: str, terms: list[Term]) -> Iterator[tuple[str, str]]:
    """What is wrong with one message, and the mend."""
    rest, other = english, chinese
    for kind, pattern in KEPT.items():
        found = _numbers if kind == "number" else re.compile(pattern).findall
        wanted, there = (Counter(found(text)) for text in (rest, other))
        if kind == "number":
            wanted -= Counter(_in_words(other))
            there -= Counter(_in_words(rest))
        if kind in ("name", "field"):
            wanted, there = Counter(set(wanted)), Counter(set(there))
        new = [text for text in there - wanted if kind != "number" or not _is_small(text)]
        # A field may be left out where Chinese needs no "is" or "are".
        for text in [*(wanted - there if kind != "field" else ()), *new]:
            side = "is not in the translation" if wanted[text] > there[text] else "is new in it"
            yield f"the {kind} {text!r} {side}", "keep what is no word as it is"
        if kind not in ("number", "name"):
            blank = {"link": "]", "field": "□"}.get(kind, "A")  # a field may hold either language
            rest, other = (re.sub(pattern, blank, text) for text in (rest, other))
    plain = re.sub(r"\*+|[\[\]]", "", other)
    for problem, pattern in SIGNS.items():
        if sign := re.search(pattern, plain):
            near = plain[max(0, sign.start() - 6) : sign.end() + 6]
            yield f"{problem}: {near!r}", "write ，。：；？！（） and `中文 Latin 中文`"
    if re.search(HAN, plain) and re.search(r"[,.;:?!]$", plain):
        yield f"a half-width sign ends the sentence: {plain[-8:]!r}", "write 。 or ："
    if _is_loose(chinese):
        yield f"the stars show in {chinese[:30]!r}", "put signs and brackets outside of **bold**"
    for term in terms:
        for word in term.avoid:
            if word in plain:
                yield f"{word} is not used", f"write {term.then[0]} ({term.english})"
        forms = (term.first, *term.then)
        if term.is_in(rest) and not any(form in plain for form in forms):
            yield f"{term.english!r} has another name in {plain[:30]!r}", f"write {term.then[0]}"


# What a number counts, in either language.
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_SCALES |= {"× 10⁶": 6, "× 10⁹": 9}
_SCALES |= {"千": 3, "万": 4, "百万": 6, "千万": 7, "亿": 8, "十亿": 9, "万亿": 12}
_SCALE = rf"\s*({'|'.join(sorted(_SCALES, key=len, reverse=True))})(?![a-z]|字节)"
_SCALED = re.compile(f"({KEPT['number']}){_SCALE}")
_ONE = re.compile(rf"\b(?:a|one){_SCALE}|一{_SCALE}", re.IGNORECASE)


def _numbers(text: str) -> list[str]:
    """The numbers of a text; of 16.8 million and 1680 万 the same."""
    found = []
    for number, scale in _SCALED.findall(text):
        value = Decimal(number.replace(",", "")).scaleb(_SCALES[scale])
        found.append(f"{value.normalize():f}")
    return found + re.findall(KEPT["number"], _SCALED.sub(" ", text))


def _in_words(text: str) -> set[str]:
    """Numbers that the other language may have in digits: a million, 一百万."""
    return {str(10 ** _SCALES["".join(scale)]) for scale in _ONE.findall(text)}


def _is_small(number: str) -> bool:
    """Whether English may have it as a word: "one", "doubled"."""
    return number.isdecimal() and int(number) <= 10


def _is_loose(chinese: str) -> bool:
    """Whether Markdown leaves the stars of bold or italic text as they are."""
    tokens = _PARSER.parseInline(re.sub(r"\d\*\*\d", "", chinese))
    texts = [
        part.content for token in tokens for part in token.children or () if part.type == "text"
    ]
    return any("**" in text or re.search(rf"\*{HAN}|{HAN}\*", text) for text in texts)


def first_uses(
    known: Mapping[str, str], told: Mapping[str, str], terms: list[Term]
) -> Iterator[tuple[str, str]]:
    """Where a page's first sentence with a term lacks its other name, or a later one repeats it.
    known: its translations; told: its messages, with the kind of cell of each."""
    prose = [
        re.sub(r"`+[^`]*`+|\*+", "", known[message])
        for message, place in told.items()
        if message in known and place.split()[0] in ("markdown", "hint")
    ]
    for term in terms:
        short = re.compile(rf"(?<![A-Za-z_]){re.escape(term.then[0])}(?![A-Za-z_])")
        explained = [text for text in prose if term.first in text]
        first = next((t for t in prose if re.search("[。：？！]$", t) and short.search(t)), None)
        told_first = explained and prose.index(explained[0]) <= prose.index(first or explained[0])
        if first is not None and not told_first:
            yield f"{term.first} is not said at its first use: {first[:30]!r}", "say it there"
        if sum(text.count(term.first) for text in explained) > 1:
            yield f"{term.first} is said more than once", f"then write {term.then[0]}"
