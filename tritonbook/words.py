"""What the workbook says, in the reader's language.

English is the source: a sentence stands in the code, whole, and is the key to its translation.
Catalogues are gettext's `.po` files: `tritonbook/locale/` has the package's, a page's folder the
page's own. They are read when something is said, so a verdict knows no language.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LOCALES = {"zh": "zh_CN"}  # a language of the course, and what its catalogues are called
PACKAGE = Path(__file__).parent / "locale"

_ENTRY = re.compile(r'^msgid ((?:".*"\s*)+)^msgstr ((?:".*"\s*)+)', re.MULTILINE)
_chosen: str | None = None


def language() -> str:
    """The language to speak: as chosen, else by TRITONBOOK_LANG, else by the locale; else "en"."""
    if _chosen is not None:
        return _chosen
    named = ("TRITONBOOK_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
    wanted = next((os.environ[name] for name in named if os.environ.get(name)), "en")
    code = re.split(r"[_.@-]", wanted.lower())[0]
    return code if code in LOCALES else "en"


def choose(lang: str | None) -> None:
    """Speak this language from now on. None: what the environment says. Raises ValueError."""
    global _chosen
    if lang not in (None, "en", *LOCALES):
        raise ValueError(f"there is no {lang!r}: the languages are en, {', '.join(LOCALES)}")
    _chosen = lang


@contextlib.contextmanager
def speaking(lang: str) -> Iterator[None]:
    """What is said inside is said in this language."""
    before = _chosen
    choose(lang)
    try:
        yield
    finally:
        choose(before)


def say(sentence: str, /, **fields: Any) -> str:
    """The sentence in the reader's language, its named fields filled in."""
    said = translated(sentence) or sentence
    return said.format(**fields) if fields else said


def later(sentence: str) -> str:
    """A sentence that is said elsewhere, by its name: here it is only put into the catalogue."""
    return sentence


def translated(sentence: str) -> str | None:
    """What the catalogues have for a sentence in the language that is spoken, if anything."""
    lang = language()
    if lang == "en" or not sentence:
        return None
    return _package(lang).get(sentence) or _course(lang).get(sentence)


def read(path: Path) -> dict[str, str]:
    """The finished messages of a catalogue: translated, and not marked as fuzzy."""
    found = {}
    for block in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
        entry = _ENTRY.search(block + "\n")
        if entry and not re.search(r"^#,.*\bfuzzy\b", block, re.MULTILINE):
            key, text = (_unquoted(part) for part in entry.groups())
            if key and text:
                found[key] = text
    return found


def _unquoted(lines: str) -> str:
    return "".join(ast.literal_eval(line) for line in lines.splitlines() if line.strip())


@functools.cache
def _package(lang: str) -> dict[str, str]:
    return _merged(sorted((PACKAGE / LOCALES[lang] / "LC_MESSAGES").glob("*.po")))


@functools.cache
def _course(lang: str) -> dict[str, str]:
    from .course.exercises import directory

    return _merged(sorted(directory().glob(f"*/{LOCALES[lang]}.po")))


def _merged(paths: list[Path]) -> dict[str, str]:
    return {key: text for path in paths for key, text in read(path).items()}
