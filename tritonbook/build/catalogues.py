"""The catalogues of pages: begun, and kept up to date with what the pages say."""

from __future__ import annotations

import ast
import inspect
import io
import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

import tritonbook

from .. import words
from ..checking.cases import LAYOUTS
from ..course import messages
from ..course.exercises import Exercise, exercises
from ..course.mutants import wrong_answers
from ..course.page_checks import checks
from ..health.judgements import CHECKS
from ..port import plain_words

# No dates and no line numbers: a catalogue changes where its page does.
HEADER = """\
msgid ""
msgstr ""
"Language: {locale}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

"""


def of_page(exercise: Exercise) -> dict[str, str]:
    """All messages of a page: its text, what is said of its mistakes, the names of its cases, and
    what the files beside it say."""
    found = messages.read(exercise)
    for mutants in wrong_answers(exercise).mutants.values():
        for mutant in mutants:
            if mutant.says:
                found.setdefault(mutant.says, "mistake")
    for check in checks(exercise).values():
        for case in [*check.cases, *check.hidden, *check.wide]:
            if messages.has_words(case.note):
                found.setdefault(case.note, "case")
    for cell in exercise.cells:
        for message in _labels(cell.source) if cell.kind == "code" else ():
            found.setdefault(message, "label")
    for path in sorted(exercise.path.parent.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        drawn = path.name == "pictures.py"
        for message in judged(text) if path.name == "cases.py" else said(text, all_of_it=drawn):
            found.setdefault(message, path.name)
    return found


def _labels(source: str) -> Iterator[str]:
    """What a cell gives a table, a plot or a picture to say: its title, an axis, rows and parts
    that are named in words, and the texts of a drawing."""
    for node in ast.walk(ast.parse(source)):
        named: list[ast.expr | None] = []
        match node:
            case ast.keyword("title", text) | ast.Assign([ast.Name("title")], text):
                yield from filter(messages.has_words, [_template(text)])
            case ast.Dict(keys):
                named = keys
            case ast.DictComp(name) | ast.Assign([ast.Subscript(slice=name)]):
                named = [name]
            case ast.Call(ast.Attribute(ast.Call(ast.Name("pictures")))):
                yield from said(ast.unparse(node), all_of_it=True)
                parts = (part for each in node.args for part in ast.walk(each))
                alone = (_template(part) for part in parts if isinstance(part, ast.Constant))
                yield from (words.LABEL + text for text in alone if re.fullmatch("[a-z]{3,}", text))
            case ast.Call(ast.Name("timeline"), [_, title, label]):
                yield _template(title)
                yield words.LABEL + _template(label)
            case ast.Call(ast.Name("lines"), [_, ast.Tuple(axes)]):
                yield from (words.LABEL + _template(axis) for axis in axes)
            case ast.Call(ast.Name("bench_sweep"), [axis, *_]):
                text = _template(axis)
                yield from [text if " " in text else words.LABEL + text] * ("_" not in text)
        for text in map(_template, filter(None, named)):
            if " " in text and messages.has_words(text):
                yield text


def behind(page: messages.Translated) -> list[str]:
    """The messages of a page that its catalogue has nothing for."""
    known = words.read(messages.catalogue(page, page.lang))
    return [message for message in of_page(Exercise(page.path)) if message not in known]


def update(exercise: Exercise, lang: str) -> tuple[int, int]:
    """Write a page's catalogue anew: new messages are empty, changed ones keep what their neighbour
    had and are marked as fuzzy, and what another page has already is taken from there. Returns how
    many are done, and how many are not."""
    course = exercises(exercise.path.parents[1])
    paths = [messages.catalogue(page, lang) for page in course]
    elsewhere = {k: t for path in paths if path.is_file() for k, t in words.read(path).items()}
    return merge(messages.catalogue(exercise, lang), of_page(exercise), elsewhere, lang)


def merge(
    path: Path, wanted: dict[str, str], elsewhere: dict[str, str], lang: str
) -> tuple[int, int]:
    """The same for any catalogue. wanted: its messages, with the place of each."""
    locale = words.LOCALES[lang]
    template = Catalog(locale=locale)
    for message, place in wanted.items():
        template.add(message, auto_comments=[place])
    found = Catalog(locale=locale)
    if path.is_file():
        with path.open("rb") as file:
            found = read_po(file, locale=locale)
    for message in found:
        message.auto_comments = []  # places come from the page alone
    found.update(template, update_header_comment=False)
    for message in found:
        if message.id and (not message.string or message.fuzzy) and message.id in elsewhere:
            message.string = elsewhere[message.id]
            message.flags.discard("fuzzy")
    order = {message: number for number, message in enumerate(wanted)}
    text = io.BytesIO()
    kept = Catalog(locale=locale)
    for message in sorted((m for m in found if m.id), key=lambda m: order[m.id]):
        kept[message.id] = message
    write_po(text, kept, width=0, omit_header=True, ignore_obsolete=True)
    path.write_bytes((HEADER.format(locale=locale) + text.getvalue().decode()).encode())
    done = sum(bool(m.string) and not m.fuzzy for m in kept if m.id)
    return done, len(wanted) - done


# Files of which each text of several words is read by learners or instructors. Of others it is
# whole sentences, what is raised, and what `say` and `later` are given.
READ = (
    "tritonbook/checking/*.py",
    "tritonbook/language/allowed.py",
    "tritonbook/ranks/processes.py",
    "tritonbook/seeing/barriers.py",
    "tritonbook/seeing/findings.py",
    "tritonbook/port/numbers_only.py",
    "tritonbook/port/plain_words.py",
    "tritonbook/seeing/compile_errors.py",
    "tritonbook/seeing/compiled.py",
    "tritonbook/course/attempts.py",
    "tritonbook/course/answer_check.py",
    "tritonbook/course/progress.py",
    "tritonbook/health/doctor.py",
    "tritonbook/health/gpus.py",
    "tritonbook/health/judgements.py",
    "tritonbook/limits.py",
    "tritonbook/notebook.py",
    "tritonbook/seeing/pictures*.py",
    "tritonbook/seeing/prediction.py",
    "tritonbook/seeing/tile_picture.py",
    "tritonbook/seeing/tile_steps.py",
    "tritonbook/seeing/tiles.py",
    "tritonbook/simulating/*.py",
    "tritonbook/timing/[!p]*.py",
)
# Files that speak to whoever writes pages, or to another process: `say` and `later` alone.
UNTOLD = (
    "benchmarks/*.py",
    "site/*.py",
    "tritonbook/build/*.py",
    "tritonbook/checking/codes.py",
    "tritonbook/course/function_text.py",
    "tritonbook/course/gaps.py",
    "tritonbook/course/mends.py",
    "tritonbook/course/mutants.py",
    "tritonbook/course/page_checks.py",
    "tritonbook/course/source.py",
    "autograde/judge/gate.py",
    "autograde/walls/accesses.py",
    "autograde/walls/tape.py",
    "autograde/walls/wire.py",
)
# Words of a room that stand alone, picked by their name: how a case's tensors lie, and what the
# doctor looks at.
PICKED = {"checking": (*LAYOUTS, "scalar"), "health": (*CHECKS,)}
# Calls whose first text is a message.
OF_WORDS = ("say", "later")
# Calls whose texts nobody reads, or only whoever writes a page: functions, and methods. Of Python's
# errors that learners meet too, `later` marks the text.
UNREAD = ("ValueError", "KeyError", "TypeError", "LookupError", "AttributeError", "IndexError")
UNREAD += ("NameError", "SourceError", "TapeError", "SandboxError", "Obstacle")
UNREAD_OF = ("compile", "fullmatch", "match", "note", "note_overlap", "replace", "search", "sub")


def of_package(root: Path) -> dict[Path, dict[str, str]]:
    """What the code says, for each room's catalogue: the messages, and the file of each."""
    found: dict[Path, dict[str, str]] = {}
    home = root / "tritonbook" / "locale" / words.LOCALES["zh"] / "LC_MESSAGES"
    read = {path for pattern in READ for path in root.glob(pattern)}
    untold = {path for pattern in UNTOLD for path in root.glob(pattern)}
    rooms = ("tritonbook/**", "autograde/**", "exercises/shared", "site", "benchmarks")
    patterns = tuple(f"{room}/*.py" for room in rooms)
    paths = {path for pattern in patterns for path in root.glob(pattern)}
    paths -= {root / "exercises" / "shared" / "says.py"}  # of mistakes, in their pages' catalogues
    for path in sorted(paths):
        place = path.relative_to(root)
        room = place.parts[1] if place.parts[0] == "tritonbook" else place.parts[0]
        text = path.read_text(encoding="utf-8")
        if room == "exercises":
            told = judged(text)
        else:
            all_of_it = path in read - untold
            told = said(text, all_of_it) if path in read | untold else sentences(text)
        for message in told:
            found.setdefault(home / f"{Path(room).stem}.po", {}).setdefault(message, str(place))
    if home.is_dir():
        names = tritonbook.__all__
        for room, picked in PICKED.items():
            found[home / f"{room}.po"] |= dict.fromkeys(map(words.LABEL.__add__, picked), "label")
        found[home / "names.po"] = {text: name for name in names for text in documented(name)}
    return found


def documented(name: str) -> list[str]:
    """The messages of what the set-up cell imports under this name: its docstring's paragraphs,
    and each argument's."""
    value = getattr(tritonbook, name)
    text = inspect.getdoc(value) if callable(value) else None
    parts = re.split(r"\n\n|\n(?=(?:\w+, )*\w+: |Raises )", text) if text else []
    return [" ".join(part.split()) for part in parts]


def said(text: str, all_of_it: bool = False) -> list[str]:
    """The messages in a Python file, in order: what `say` and `later` are given, or all_of_it: each
    text of several words, and each word that stands for a field."""
    return _collected(text, _Texts, all_of_it)


def judged(text: str) -> list[str]:
    """The messages in a file of judges, where most texts are names and data: whole sentences, texts
    with fields, each `because`, and what `say` and `later` are given."""
    return _collected(text, _Judged, True)


def sentences(text: str) -> list[str]:
    """The messages in a file of commands, errors and data: whole sentences, what is raised, what a
    command says of itself, and what `say` and `later` are given."""
    return _collected(text, _Sentences, True)


def _collected(text: str, how: type[_Texts], all_of_it: bool) -> list[str]:
    found: list[str] = []
    how(found, all_of_it, OF_WORDS * ("words import" in text)).visit(ast.parse(text))
    return found


# Patterns, looks, names of modules, commands.
_CODE = re.compile(
    r"[\\|]|\^(?!\d)|\w:[a-z(\d]|^[\w./+-]+$|^(apt-get|pip|unset|export|mkdir|du|python3) "
)
_FIELD = re.compile(r"\{\w*\}")


class _Texts(ast.NodeVisitor):
    """Collects messages."""

    def __init__(self, found: list[str], all_of_it: bool, calls: tuple[str, ...]):
        self.found, self.all_of_it, self.calls = found, all_of_it, calls

    def visit_Call(self, node: ast.Call) -> None:
        of, _, name = ast.unparse(node.func).rpartition(".")
        if name in self.calls and node.args:
            self.found += filter(None, [_template(node.args[0]).strip()])
            for each in getattr(node.args[0], "body", None), getattr(node.args[0], "orelse", None):
                self.found += filter(None, [_template(each)])
            self._choices(node.args[0])
            for more in [*node.args[1:], *(each.value for each in node.keywords)]:
                self.visit(more)
        elif name == "label" and node.args:
            self.found += [words.LABEL + text for text in filter(None, [_template(node.args[0])])]
        elif name == "stanzas" and not of:  # errors, and what is said of them
            pairs = plain_words.stanzas(ast.literal_eval(node.args[0]))
            self.found += [plain_words.as_message(sentence) for _, sentence in pairs]
        else:
            before, unread = self.all_of_it, name in (UNREAD_OF if of else UNREAD)
            self.all_of_it = before and not unread
            self.generic_visit(node)
            self.all_of_it = before

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if self.all_of_it:
            self._add(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        if self.all_of_it:
            self._add(node)
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and not isinstance(part.value, ast.IfExp):
                self.visit(part.value)

    def _add(self, node: ast.expr) -> None:
        message = alone(_template(node))
        words = _FIELD.sub("A", message)
        several = re.search(r"[a-z]{2,}[ ,:.?!]", f"{words}$")
        if (
            messages.has_words(words)
            and several
            and not _CODE.search(re.sub("`[^`]*`", "A", words))
            and not messages.is_code(_FIELD.sub("x", message))
        ):
            self.found.append(message)
        self._choices(node)

    def _choices(self, node: ast.expr) -> None:
        """What stands in a field by a condition is a message, one word too."""
        for part in node.values if isinstance(node, ast.JoinedStr) else ():
            choice = part.value if isinstance(part, ast.FormattedValue) else None
            for each in (choice.body, choice.orelse) if isinstance(choice, ast.IfExp) else ():
                if messages.has_words(message := alone(_template(each))):
                    self.found.append(message)


class _Judged(_Texts):
    """Collects those of judges."""

    def visit_keyword(self, node: ast.keyword | ast.Assign) -> None:
        named = node.arg if isinstance(node, ast.keyword) else ast.unparse(node.targets[0])
        if named == "because" and isinstance(node.value, ast.Constant):
            super()._add(node.value)
        else:
            self.generic_visit(node)

    visit_Assign = visit_keyword  # noqa: N815

    def _add(self, node: ast.expr) -> None:
        if isinstance(node, ast.JoinedStr) or re.search(r"[.?!]\)?$", _template(node).strip()):
            super()._add(node)


class _Sentences(_Texts):
    """Collects those of files where most texts are names and data."""

    whole = False  # each text that is visited, not sentences alone

    def visit_Raise(self, node: ast.Raise) -> None:
        self._each(node.exc)

    def visit_keyword(self, node: ast.keyword) -> None:
        self._each(node.value) if node.arg == "help" else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """What it says is the help of a command."""
        text = ast.get_docstring(node)
        if text and re.search(
            "command|runs_items", " ".join(map(ast.unparse, node.decorator_list))
        ):
            self.found.append(" ".join(text.split()))
        self.generic_visit(node)

    def _each(self, node: ast.expr | None) -> None:
        before, self.whole = self.whole, True
        if node:
            self.visit(node)
        self.whole = before

    def _add(self, node: ast.expr) -> None:
        if self.whole or re.search(r"\s.*[.?!]\)?$", _template(node).strip()):
            super()._add(node)


def alone(template: str) -> str:
    """A text without the fields that hold whole sentences, before and behind it."""
    template = re.sub(r"^[.,:;] ", "", template.lstrip())
    template = re.sub(r"^\{\w+\}\. (?=[A-Z`{])", "", template)  # a title
    text = re.sub(r"(?<=[.?!])(\s*\{\w+\})+$", "", template.strip())
    while (shorter := re.sub(r"^\{\w+\} (?=[A-Z`])", "", text)) != text:
        text = shorter
    return text.strip()


def _template(node: ast.expr | None) -> str:
    """A text of Python as a message: what an f-string holds becomes a field, by its last name.
    Nothing where the node is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"\{(\w+)[:!][^{}]*\}", r"{\1}", node.value)
    if not isinstance(node, ast.JoinedStr):
        return ""
    parts: list[str] = []
    seen: list[tuple[str, str]] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
            continue
        inside = list(ast.walk(part.value))
        names = [each.id for each in inside if isinstance(each, ast.Name)]
        names += [each.attr for each in inside if isinstance(each, ast.Attribute)]
        names = [name.strip("_").lower() for name in names] or ["value"]
        same, number = ast.dump(part), 2
        field = names[-1]
        while any(field == other and same != there for other, there in seen):
            field, number = f"{names[-1]}{number}", number + 1
        seen.append((field, same))
        parts.append(f"{{{field}}}")
    return "".join(parts)
