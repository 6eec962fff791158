"""What the workbook says, in the reader's language.

English is the source, and what travels: findings, verdicts and records hold English sentences, so
none of them knows a language. Where one is shown, `say` finds its message in the catalogues, with
what stands in its fields, and gives its translation; what has none stays English.

Catalogues are gettext's `.po` files: `tritonbook/locale/` has the package's, a page's folder the
page's own. A message is the sentence as it stands in the code; its fields are named in braces.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .home import directory

LOCALES = {"zh": "zh_CN"}  # a language of the course, and what its catalogues are called
LABEL = "label: "  # how the message of a word that stands alone begins
PACKAGE = Path(__file__).parent / "locale"

_ENTRY = re.compile(r'^msgid ((?:".*"\s*)+)^msgstr ((?:".*"\s*)+)', re.MULTILINE)
_FIELD = re.compile(r"\{([^\W\d]\w*)\}")
_SENTENCE_END = re.compile(r"(?<=[.?!:)]) +")
# Outside code, and brackets of a call or a value.
_OUTSIDE = r"(?=(?:[^`]*`[^`]*`)*[^`]*$)(?![^(\[{]*[)\]}])"
_WORD = re.compile("[a-z]{2}")
_ENDS = {".": "。", ":": "："}
_BETWEEN = {", ": "、", "; ": "；"}
_HAN = r"[\u3400-\u9fff]"
_CHINESE_END = "。？！：；，、）"
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
        raise ValueError(f"there is no language {lang!r}: there are en, {', '.join(LOCALES)}")
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


def later(message: str) -> str:
    """A message that is shown elsewhere: as it is, in English. It goes into the catalogue, also
    where it is an f-string, whose values become fields."""
    return message


def say(text: str, /, **fields: Any) -> str:
    """A text in the reader's language: one message or several, one after the other.

    fields: what stands in the message's braces; without them the text is searched for messages
    whose fields are filled in already.
    """
    english = text.format(**fields) if fields else text
    lang = language()
    if lang == "en" or not _WORD.search(text):
        return english
    if fields:
        said = _catalogue(lang).whole.get(text)
        told = {name: str(value) for name, value in fields.items()}
        return _catalogue(lang).filled(said, told) if said else english
    return _catalogue(lang).said(text)


def label(word: str) -> str:
    """What stands alone in a picture or by an axis. One word's message is its own: in a sentence
    the same word may be a tensor's name."""
    if language() == "en":
        return word
    if " " not in word.strip():
        return _catalogue(language()).whole.get(LABEL + word, word)
    said = say(word)
    return word if said == word.strip() else said


def listed(parts: Iterable[str], between: str = ", ") -> str:
    """Parts in a row: names, figures, or what is said already. between: that, or "; "."""
    return (_BETWEEN[between] if language() == "zh" else between).join(parts)


def titled(title: str, told: str) -> str:
    """What stands behind a title's colon; both are said already."""
    return f"{title}{'：' if language() == 'zh' else ': '}{told}"


def aside(told: str) -> str:
    """What stands in brackets behind something; it is said already."""
    return f"（{told}）" if language() == "zh" else f" ({told})"


@dataclass(frozen=True, eq=False)
class _Catalogue:
    """Messages without fields, and those with them: a pattern each, the most specific first."""

    whole: dict[str, str]
    patterns: list[tuple[re.Pattern[str], str, list[str]]]  # and fields that must be messages too

    @functools.lru_cache(16384)  # noqa: B019  (of few catalogues, which stay)
    def said(self, text: str) -> str:
        """The text message by message; a sentence that is none stays as it is."""
        text = text.strip()
        if text in self.whole:
            return self.whole[text]
        for between in ("; ", None, ", | and "):  # a field may hold commas, and no semicolon
            found = self._list(text, between) if between else self._message(text)
            if found is not None:
                return found
        ends = [found.span() for found in _SENTENCE_END.finditer(text)]
        for end, then in reversed(ends):
            if (first := self._message(text[:end])) is not None:
                return _joined(first, self.said(text[then:]))
        if not ends:
            return text
        end, then = ends[0]
        return _joined(text[:end], self.said(text[then:]))

    def _field(self, text: str) -> str:
        """What stands in a field; behind a comma or a colon, one that goes on."""
        found = re.match(r"[,:;] ", text)
        return f"，{self.said(text[2:])}" if found else self.said(text)

    def _list(self, text: str, between: str) -> str | None:
        """Messages in a row, if all are and none ends a sentence."""
        if re.search(r"[.?!] |^[(\[{]", text):
            return None
        parts = re.split(rf"(?:{between}){_OUTSIDE}", text)
        return "、".join(map(self.said, parts)) if parts[1:] and self._all_known(parts) else None

    def _message(self, text: str) -> str | None:
        """A text as one message; one without an end may stand as a sentence, or before a list."""
        known = self._known(text)
        if known is None and text[-1:] in _ENDS and (title := self._known(text[:-1])) is not None:
            return title + _ENDS[text[-1]]
        return known

    def _known(self, text: str) -> str | None:
        """A message as it is; one that begins with a small letter may begin a sentence."""
        found = self._found(text)
        if found is None and text[:1].isupper():
            return self._found(text[0].lower() + text[1:])
        return found

    def _found(self, text: str) -> str | None:
        if text in self.whole:
            return self.whole[text]
        for pattern, said, fields in self.patterns:
            found = pattern.fullmatch(text)
            if found and self._all_known([found[name] for name in fields]):
                return self.filled(said, found.groupdict())
        return None

    def filled(self, said: str, fields: dict[str, str]) -> str:
        """A translation with what stands in its fields: in code, a key and a call's arguments as it
        is, elsewhere said too."""

        def fill(part: re.Match[str]) -> str:
            if part[0].startswith("`"):
                return _FIELD.sub(lambda field: fields[field[1]], part[0])
            held = fields[part[1]]
            return held if part[1] in ("key", "arguments") else self._field(held)

        text = re.sub(rf"`[^`]*`|{_FIELD.pattern}", fill, said)
        return re.sub(rf"(?<=[{_CHINESE_END}]) |(?<={_HAN}) (?={_HAN})", "", text)

    def _all_known(self, parts: Sequence[str]) -> bool:
        """Whether each is a message, or has no words."""
        return all(
            not _WORD.search(re.sub(r"`[^`]*`", "", part))
            or part.strip() in self.whole
            or self.said(part) != part.strip()
            for part in parts
        )


def _joined(one: str, other: str) -> str:
    blank = "" if not other or one.endswith(tuple(_CHINESE_END)) else " "
    return one + blank + other


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
def _catalogue(lang: str) -> _Catalogue:
    """All that the package and the pages here have in a language."""
    paths = [
        *directory().glob(f"*/{LOCALES[lang]}.po"),
        *(PACKAGE / LOCALES[lang] / "LC_MESSAGES").glob("*.po"),
    ]
    found = {key: text for path in sorted(paths) for key, text in read(path).items()}
    fielded = [key for key in found if _FIELD.search(key)]
    fielded.sort(key=lambda key: (-len(_FIELD.sub("", key)), key))
    return _Catalogue(found, [(_pattern(key), found[key], _doubtful(key)) for key in fielded])


def _doubtful(message: str) -> list[str]:
    """The fields that must be messages too, outside code, where a message has few words: "{one} to
    {other}" fits many a text that is none."""
    if len(re.findall(r"[A-Za-z]", _FIELD.sub("", message))) >= 8:
        return []
    return list(dict.fromkeys(_FIELD.findall(re.sub("`[^`]*`", "", message))))


# A field behind a field holds nothing, or what is added: a bracket, a line, lanes, a half.
_ADDED = r"(?: \([^()]*\)| at `[^`]*`| with [\w ]+)?"


def _pattern(message: str) -> re.Pattern[str]:
    """What a message looks like once its fields are filled in. A field in backticks holds none,
    others hold them in pairs, and none holds the end of a sentence."""
    parts = _FIELD.split(message)
    made, seen = re.escape(parts[0]), set()
    for before, name, after in zip(parts[::2], parts[1::2], parts[2::2], strict=False):
        held = r"(?:`[^`]*`|(?![.?!] )[^`])*?"
        if re.fullmatch(r"rank|number\d*", name):
            held = r"[\d,]+"
        elif name == "key":  # a name of code
            held = r"[^\s`]+"
        if before.endswith("`") and after.startswith("`"):
            held = "[^`]+"
        elif seen and not before:
            held = _ADDED
        made += f"(?P={name})" if name in seen else f"(?P<{name}>{held})"
        made += re.escape(after)
        seen.add(name)
    # A full stop at the end is no part of a field: `_message` takes it off, where it is none's.
    end = r"(?<!\.)" if message.endswith("}") else ""
    return re.compile(made + end, re.DOTALL)
