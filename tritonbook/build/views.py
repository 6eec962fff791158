"""The three notebooks of an exercise: the learner's, the solved one, the instructor's for nbgrader.

The bytes depend on the exercise file and the release alone. Cell ids come from keys and positions.
The learner's notebook carries the metadata that stock `nbgrader generate_assignment` gives when it
reads the instructor's, so both are the same notebook, and a learner can submit the published one.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import writes_json

from ..course import gaps, messages, plain
from ..course.exercises import Exercise
from ..course.source import Cell
from ..words import later, listed, say, speaking
from .release import Release

BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
KAGGLE = "https://kaggle.com/static/images/open-in-kaggle.svg"
MODELSCOPE = "https://img.shields.io/badge/Open_in-ModelScope-624aff"
CNB = "https://img.shields.io/badge/Open_in-CNB-ff6a00"
NEEDS = {
    "interpreter": later("no GPU needed"),
    "gluon": later("no GPU needed, but Triton 3.6 to 3.8"),
    "gpu": later("needs a GPU"),
    "sm80": later("needs an A100-class GPU or newer"),
}
# nbgrader's grade, solution and locked, by a cell's role. Other cells are none of its.
NBGRADER = {
    "answer": (False, True, False),
    "check": (True, False, True),
    "setup": (False, False, True),
    "reference": (False, False, True),
}

INSTALL = """\
# @title {title}
import importlib.util

if importlib.util.find_spec("tritonbook") is None:
    get_ipython().run_line_magic("pip", "install -q \'tritonbook @ {archive}\'")

"""
TITLE = later("Run this cell first: it imports the workbook, and in Colab installs it before.")
# Folded in JupyterLab, in Colab (as a form with its title), and by what reads tags.
FOLDED = {"jupyter": {"source_hidden": True}, "cellView": "form"}


def learner(exercise: Exercise, release: Release) -> NotebookNode:
    """notebooks/NN_slug.ipynb: gaps and checks, no hidden tests."""
    notebook = _notebook(exercise, release, {"answer": gaps.learner_text})
    for cell in notebook.cells:
        if settings := cell.metadata.get("nbgrader"):  # what generate_assignment adds
            settings.update(cell_type=cell.cell_type, checksum=_checksum(cell))
            cell.metadata["deletable"] = False
            if settings.locked:
                cell.metadata["editable"] = False
    return notebook


def solution(exercise: Exercise, release: Release) -> NotebookNode:
    """solutions/NN_slug.ipynb, before it is run: everything solved, no hidden tests."""
    notebook = _notebook(exercise, release, {"answer": gaps.solved_text})
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)
    return notebook


def instructor(exercise: Exercise, release: Release) -> NotebookNode:
    """autograde/source/NN_slug/NN_slug.ipynb: nbgrader's source, with markers and hidden tests."""
    texts = {"answer": gaps.instructor_text, "check": gaps.with_hidden}
    return _notebook(exercise, release, texts)


def to_bytes(notebook: NotebookNode) -> bytes:
    """The file's content: keys sorted, one final newline."""
    nbformat.validate(notebook)
    return (writes_json(notebook).rstrip("\n") + "\n").encode()


def cell_ids(exercise: Exercise) -> list[str]:
    """An id for each cell of the exercise: by key where it has one, else by role and position."""
    seen: Counter[str] = Counter()
    found = []
    for cell in exercise.cells:
        role = cell.role or ("text" if cell.kind == "markdown" else "code")
        name = f"{role}-{cell.key}" if cell.key else role
        seen[name] += 1
        found.append(name if cell.key or role == "setup" else f"{name}-{seen[name]}")
    return found


def title_text(exercise: Exercise, release: Release) -> str:
    """The first lines of the notebook: title, badge, minutes and needs, what you will do."""
    header = exercise.header
    minutes = say("**{minutes} minutes**", minutes=header.minutes)
    if header.stretch:
        minutes = say(
            "**{minutes} minutes**, and {stretch} for the stretch tasks",
            minutes=header.minutes,
            stretch=header.stretch,
        )
    facts = [minutes, say(NEEDS[header.needs])]
    if header.requires:
        links = listed(f"[{slug}]({slug}.ipynb)" for slug in header.requires)
        facts.append(say("before this: {pages}", pages=links))
    folder = "notebooks" if exercise.lang == "en" else f"notebooks/{exercise.lang}"
    path = f"{folder}/{exercise.slug}.ipynb"
    doors = [
        ("Colab", BADGE, release.colab(path)),
        ("Kaggle", KAGGLE, release.kaggle(path)),
        ("ModelScope", MODELSCOPE, release.modelscope(path)),
        ("CNB", CNB, release.cnb(path)),
    ]
    if exercise.lang == "zh":
        doors = doors[2:] + doors[:2]  # what Chinese learners reach comes first
    lines = [
        f"# {exercise.number:02}. {header.title}",
        "",
        "&nbsp;".join(f"[![{name}]({badge})]({address})" for name, badge, address in doors),
        "",
        " · ".join(facts),
        "",
        say("**You will**"),
        *(f"- {item}" for item in header.you_will),
    ]
    return "\n".join(lines)


def _notebook(exercise: Exercise, release: Release, texts: dict[str, Any]) -> NotebookNode:
    with speaking(exercise.lang):
        return _in_its_language(exercise, release, texts)


def _in_its_language(exercise: Exercise, release: Release, texts: dict[str, Any]) -> NotebookNode:
    exercise.parse_code()
    cells = [_cell("title", "markdown", title_text(exercise, release))]
    for name, cell in zip(cell_ids(exercise), exercise.cells, strict=True):
        source = exercise.cut(cell, texts[cell.role]) if cell.role in texts else cell.source
        if cell.role == "setup":
            source = setup_text(source, release, exercise.lang)
        cells.append(node(name, cell, source))
    for cell in cells:
        if cell.cell_type == "markdown":  # a double click would lay all hints open
            cell.metadata["editable"] = False
            if exercise.lang != "en":
                cell.source = messages.relinked(cell.source, exercise)
    about = {"slug": exercise.slug, "version": release.version}
    if exercise.lang != "en":
        about["lang"] = exercise.lang
    return book(cells, about)


def setup_text(source: str, release: Release, lang: str = "en") -> str:
    """A set-up cell that installs the workbook where it is missing, and speaks the language."""
    install = INSTALL.format(title=say(TITLE), archive=release.archive)
    return install + plain.with_version(source, lang, release.version)


def node(name: str, cell: Cell, source: str) -> NotebookNode:
    """A cell of a notebook, with the id `name` and this source, and nbgrader's metadata (schema
    version 3)."""
    made = _cell(name, cell.kind, source)
    if cell.tags:
        made.metadata["tags"] = list(cell.tags)
    if cell.role == "setup":
        made.metadata.update(FOLDED)
    if cell.role in NBGRADER:
        grade, solution_cell, locked = NBGRADER[cell.role]
        made.metadata["nbgrader"] = NotebookNode(
            schema_version=3,
            grade=grade,
            solution=solution_cell,
            locked=locked,
            task=False,
            grade_id=name,
        )
        if grade:
            made.metadata["nbgrader"]["points"] = cell.points
    return made


def _cell(name: str, kind: str, source: str) -> NotebookNode:
    """Of the schema that `to_bytes` holds the whole notebook to: nbformat's own would look each
    cell over, which takes a fifth of `make sync`."""
    made = NotebookNode(id=name, cell_type=kind, metadata=NotebookNode(), source=source)
    return made if kind == "markdown" else NotebookNode(made, execution_count=None, outputs=[])


def book(cells: list[NotebookNode], about: dict[str, Any]) -> NotebookNode:
    """A notebook of these cells. about: what the workbook notes in its metadata."""
    return NotebookNode(
        cells=cells,
        metadata=NotebookNode(
            accelerator="GPU",  # Colab starts a machine with a GPU for it
            kernelspec=NotebookNode(display_name="Python 3", language="python", name="python3"),
            language_info=NotebookNode(name="python"),
            workbook=NotebookNode(about),
        ),
        nbformat=4,
        nbformat_minor=5,
    )


def _checksum(node: NotebookNode) -> str:
    """nbgrader's checksum of a cell; its tests hold it to nbgrader's own."""
    meta = node.metadata["nbgrader"]
    parts = [node.source, node.cell_type, meta.grade, meta.solution, meta.locked, meta.grade_id]
    if meta.grade:
        parts.append(float(meta.points))
    return hashlib.md5("".join(map(str, parts)).encode()).hexdigest()
