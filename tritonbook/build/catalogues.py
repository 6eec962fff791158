"""The catalogues of pages: begun, and kept up to date with what the pages say."""

from __future__ import annotations

import ast
import io
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from .. import words
from ..course.cases import checks
from ..course.exercises import Exercise, exercises
from ..course.mutants import wrong_answers
from . import messages

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
        for case in [*check.cases, *check.hidden]:
            if messages.has_words(case.note):
                found.setdefault(case.note, "case")
    for path in sorted(exercise.path.parent.glob("*.py")):
        for message in said(path.read_text(encoding="utf-8")):
            found.setdefault(message, path.name)
    return found


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


def of_package(root: Path) -> dict[Path, dict[str, str]]:
    """What `say` and `later` are given in the code, for each room's catalogue: the messages, and
    the file of each."""
    found: dict[Path, dict[str, str]] = {}
    home = root / "tritonbook" / "locale" / words.LOCALES["zh"] / "LC_MESSAGES"
    patterns = ("tritonbook/**/*.py", "autograde/**/*.py", "exercises/shared/*.py")
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        place = path.relative_to(root)
        room = place.parts[1] if place.parts[0] == "tritonbook" else place.parts[0]
        for message in said(path.read_text(encoding="utf-8")):
            found.setdefault(home / f"{Path(room).stem}.po", {}).setdefault(message, str(place))
    return found


def said(text: str) -> list[str]:
    """The sentences that `say` and `later` are given in a Python file, in order."""
    if "words import" not in text:
        return []
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    firsts = [
        call.args[0]
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in ("say", "later") and call.args
    ]
    found = [each for each in firsts if isinstance(each, ast.Constant)]
    return [each.value for each in sorted(found, key=lambda each: (each.lineno, each.col_offset))]
