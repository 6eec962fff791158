"""A page in another language: its text message by message, its code as it is.

One message is a paragraph, a heading, an item of a list, a row of a table, a line of a summary, a
field of the header, or in code a comment or a sentence of a docstring, on one line each. What has
no words in it (code, formulas, numbers) is none. The same walk finds the messages and puts their
translations in; `ask` is what it asks for each.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import io
import re
import tokenize
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from markdown_it import MarkdownIt

from .. import words
from . import gaps
from .exercises import Exercise
from .source import Source, SourceError

BEHIND = "（未译）"  # the mark of what is still English
WIDTH = 96  # columns of a line of code; a Chinese character takes two
Ask = Callable[[str], str | None]

_PARSER = MarkdownIt("commonmark").enable("table")
_NO_WORDS = re.compile(r"`+[^`]*`+|\$\$.*?\$\$|\$[^$]*\$|\]\([^)]*\)|<[^>]*>")
_CLOSING = "，。；：！？、）》」』”’…"
Edit = tuple[int, int, list[str]]  # lines from, up to, and what comes in their place


def catalogue(exercise: Exercise, lang: str) -> Path:
    """Where a page's catalogue lies."""
    return exercise.path.with_name(f"{words.LOCALES[lang]}.po")


def translations(course: Iterable[Exercise]) -> list[Translated]:
    """The pages that have a catalogue, in each language."""
    return [Translated(page.path) for page in course if catalogue(page, "zh").is_file()]


def spoken(exercise: Exercise, lang: str) -> Exercise:
    """The page in this language, or in English where it has no catalogue."""
    return next((page for page in translations([exercise]) if page.lang == lang), exercise)


class Translated(Exercise):
    """A page in another language, as far as its catalogue goes. Raises SourceError where a
    translation changes code."""

    lang = "zh"

    @functools.cached_property
    def _source(self) -> Source:
        return rewrite(Exercise(self.path), words.read(catalogue(self, self.lang)).get)


def read(exercise: Exercise) -> dict[str, str]:
    """The messages of a page, in order, with the kind of cell that each stands in first."""
    found: dict[str, str] = {}
    place = "header"

    def note(message: str) -> None:
        found.setdefault(message, place)

    _header(exercise, note)
    for cell in exercise.cells:
        place = " ".join(filter(None, [cell.role or cell.kind, cell.key]))
        (markdown if cell.kind == "markdown" else code)(cell.source, note)
        for text in _guesses(cell.source) if cell.role == "predict" else ():
            note(text)
    return found


def _guesses(source: str) -> Iterator[str]:
    """What a box of guesses says: its questions, and what is commonly forgotten. They are texts of
    Python and stay as they are there; the box asks for their translation when it is shown."""
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "predict":
            hints = next((each.value for each in call.keywords if each.arg == "hints"), None)
            for text in [*getattr(call.args[0], "keys", ()), *getattr(hints, "elts", ())]:
                if isinstance(text, ast.Constant) and has_words(str(text.value)):
                    yield text.value


def rewrite(exercise: Exercise, ask: Ask) -> Source:
    """The page with what `ask` has for its messages; what it has nothing for bears a mark."""
    cells = []
    for cell in exercise.cells:
        source = (markdown if cell.kind == "markdown" else code)(cell.source, ask)
        if cell.kind == "code" and not same_code(cell.source, source):
            problem = "a translated comment changes the code"
            raise SourceError(exercise.path, cell.line, problem, "mend it in the catalogue")
        cells.append(dataclasses.replace(cell, source=source))
    return Source(_header(exercise, ask), tuple(cells))


def _header(exercise: Exercise, ask: Ask):
    header = exercise.header
    title, *promises = (
        ask(text) or text + BEHIND if has_words(text) else text
        for text in (header.title, *header.you_will)
    )
    return dataclasses.replace(header, title=title, you_will=promises)


def has_words(text: str) -> bool:
    """Whether there is anything to translate: a word outside code, formulas and addresses."""
    return re.search(r"[a-z]{2}", _NO_WORDS.sub(" ", text)) is not None


def markdown(source: str, ask: Ask) -> str:
    """Markdown with its messages as `ask` has them."""
    lines = source.split("\n")
    return "\n".join(_edited(lines, _markdown_edits(lines, ask)))


def _markdown_edits(lines: list[str], ask: Ask) -> Iterator[Edit]:
    row = False
    for token in _PARSER.parse("\n".join(lines)):
        first, end = token.map or (0, 0)
        if token.type in ("tr_open", "tr_close"):
            row = token.type == "tr_open"
            message = lines[first].strip()
            if row and has_words(message):
                text = ask(message) or f"{message[:-1]}{BEHIND} |"
                yield first, end, [text]
        elif token.type == "html_block":
            for number in range(first, end):
                # One line holds one summary; nothing else of HTML has words.
                if found := re.search(r"(?<=<summary>).*(?=</summary>)", lines[number]):
                    said = _or_marked(found[0], ask)
                    line = lines[number]
                    yield number, number + 1, [line[: found.start()] + said + line[found.end() :]]
        elif token.type == "fence" and token.info.strip() == "python":
            indent = re.match(r"\s*", lines[first])[0]
            inside = [line[len(indent) :] for line in lines[first + 1 : end - 1]]
            said = _fenced("\n".join(inside), ask).split("\n")
            yield first + 1, end - 1, [(indent + line).rstrip() for line in said]
        elif token.type == "inline" and not row and has_words(token.content):
            parts = token.content.split("\n")
            before = lines[first][: lines[first].index(parts[0])]
            yield first, end, [before + _or_marked(" ".join(map(str.strip, parts)), ask)]


def _or_marked(message: str, ask: Ask) -> str:
    return ask(message) or message + BEHIND


def _fenced(source: str, ask: Ask) -> str:
    """Python in a text: a sketch, where each comment stands for a line, and a body may lack. What
    has no tokens of Python, such as a bracket that stays open, stays as it is."""
    lines = source.split("\n")
    try:
        edits = [*_comment_edits(source, lines, ask, sketch=True)]
    except (SyntaxError, tokenize.TokenError):
        return source
    with contextlib.suppress(SyntaxError):
        edits += _docstring_edits(source, lines, ask)
    return "\n".join(_edited(lines, sorted(edits)))


def code(source: str, ask: Ask) -> str:
    """Python with its comments and docstrings as `ask` has them."""
    lines = source.split("\n")
    edits = [*_docstring_edits(source, lines, ask), *_comment_edits(source, lines, ask)]
    return "\n".join(_edited(lines, sorted(edits)))


def _edited(lines: list[str], edits: Iterator[Edit] | list[Edit]) -> list[str]:
    lines = list(lines)
    for first, end, text in reversed(list(edits)):
        lines[first:end] = text
    return lines


def same_code(one: str, other: str) -> bool:
    """Whether two cells differ in nothing but the words of comments and docstrings."""
    return _bare(one) == _bare(other)


def _bare(source: str) -> tuple[list[str], list[str]]:
    tree = ast.parse(source)
    skipped = {node.lineno: node.end_lineno for node in _docstrings(tree)}
    tokens, marks = [], []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.string.startswith("###"):
            marks.append(token.string)
        if token.type == tokenize.STRING and token.start[0] in skipped:
            continue
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            tokens.append(token.string)
    return tokens, marks


def _docstrings(tree: ast.AST) -> list[ast.expr]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    owners = (node for node in ast.walk(tree) if isinstance(node, kinds))
    return [node.body[0].value for node in owners if ast.get_docstring(node) is not None]


def _docstring_edits(source: str, lines: list[str], ask: Ask) -> Iterator[Edit]:
    """A message is a sentence, or as many as end with a line."""
    for node in _docstrings(ast.parse(source)):
        first, end = node.lineno - 1, node.end_lineno
        held: list[str] = []
        for number in range(first, end):
            line = lines[number].strip()
            before = '"""' if number == first else ""
            after = '"""' if number == end - 1 else ""
            text = line[len(before) : len(line) - len(after)]
            held.append(text)
            if not (text.endswith((".", ":")) or not text or after):
                continue
            message = " ".join(filter(None, held))
            begin = number + 1 - len(held)
            held = []
            if not has_words(message) or is_code(message.rstrip(".")):
                continue
            indent = " " * node.col_offset
            opening = '"""' if begin == first else ""
            said = ask(message)
            if said is None:
                whole = lines[begin : number + 1]
                whole[-1] = whole[-1].removesuffix(after) + BEHIND + after
                yield begin, number + 1, whole
            else:
                yield begin, number + 1, wrapped(opening + said + after, indent)


def _comment_edits(source: str, lines: list[str], ask: Ask, sketch: bool = False) -> Iterator[Edit]:
    for first, end, column in _comments(source, lines, sketch):
        before = lines[first][:column]
        text = " ".join(line[column:].lstrip("#").strip() for line in lines[first:end])
        todo = re.match(r"(?:TODO(?: \d+)?: )?", text)[0]
        start, message = f"# {todo}", text.removeprefix(todo)
        if not has_words(message) or is_code(message):
            continue
        said = ask(message)
        if said is None:
            yield end - 1, end, [lines[end - 1] + BEHIND]
        elif before.strip():
            yield first, end, [before + start + said]
        else:
            yield first, end, wrapped(start + said, before, before + "# ")


def _comments(source: str, lines: list[str], sketch: bool) -> Iterator[tuple[int, int, int]]:
    """Lines, from 0, and column of each comment: behind code, or as many lines as lie together,
    in a sketch one. Each TODO begins one, and what a learner gets to mend is none."""
    found: list[tuple[int, int, int]] = []
    broken = False
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        row, column, text = token.start[0] - 1, token.start[1], token.string
        if text.startswith("###"):
            broken = text == gaps.BROKEN
        elif not broken and not text.startswith(("# noqa", "# type:", "# fmt:")):
            first, end, above = found[-1] if found else (0, -1, -1)
            alone = (
                not sketch and not lines[row][:column].strip() and not lines[first][:column].strip()
            )
            if (end, above) == (row, column) and alone and not text.startswith("# TODO"):
                found[-1] = (first, row + 1, column)
            else:
                found.append((row, row + 1, column))
    yield from found


def is_code(text: str) -> bool:
    """Whether a comment is a formula or a shape, and no words."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return re.search(r"[=+*/\[\](){}.<>@-]", text) is not None


def wrapped(text: str, indent: str, then: str | None = None, width: int = WIDTH) -> list[str]:
    """The text in lines of at most so many columns. then: what begins the later ones."""
    units = re.findall(rf"(?:[^\s\u2e80-\uffef]+|[\u2e80-\uffef])[{_CLOSING}]*|\s+", text)
    lines, line = [], indent
    for unit in units:
        if _columns(line + unit) > width and line.strip(" #"):
            lines.append(line.rstrip())
            line = (indent if then is None else then) + unit.lstrip()
        else:
            line += unit
    return [*lines, line.rstrip()]


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def relinked(text: str, exercise: Exercise) -> str:
    """The text of a page one folder deeper: links to pages that its language has stay, others go
    up to what the English page links to."""

    def deeper(found: re.Match[str]) -> str:
        target = found[1]
        page = exercise.path.parents[1] / target.split("#")[0].removesuffix(".ipynb") / "page.py"
        if page.is_file() and catalogue(Exercise(page), exercise.lang).is_file():
            return found[0]
        return f"](../{target})"

    return re.sub(r"\]\((?!\w+:)([^)\s]+\.(?:ipynb|md|py|png|svg)(?:#[^)\s]*)?)\)", deeper, text)
