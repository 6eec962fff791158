"""source.py reads what jupytext and a YAML parser read, and names what is broken."""

from __future__ import annotations

from pathlib import Path

import jupytext
import pytest
import yaml

from tritonbook.build import template
from tritonbook.course.exercises import exercises
from tritonbook.course.source import FIRST, SETUP, Header, SourceError, parse
from tritonbook.notebook import machinery

TEMPLATE = template.PAGE.format(title="Twice", name="twice")
COURSE = [exercise.path for exercise in exercises()]


def texts() -> list:
    found = [pytest.param(TEMPLATE, id="template")]
    return found + [pytest.param(path.read_text(), id=path.parent.name) for path in COURSE]


@pytest.mark.parametrize("text", texts())
def test_cells_agree_with_jupytext(text: str):
    """Kills: a reader that keeps trailing blank lines, or loses a markdown line without a blank."""
    notebook = jupytext.reads(text.replace(FIRST, SETUP), fmt="py:percent")
    cells = [cell for cell in notebook.cells if cell.cell_type != "raw"]
    ours = parse(text).cells
    assert [(c.kind, c.source) for c in ours] == [(c.cell_type, c.source) for c in cells]
    for mine, theirs in zip(ours, cells, strict=True):
        metadata = theirs.metadata
        assert list(mine.tags) == metadata.get("tags", [])
        assert (mine.key, mine.points) == (metadata.get("key"), metadata.get("points"))


def test_the_first_line_brings_what_the_first_cell_does():
    """Kills: a page that runs as a notebook and not in an editor; a name that begins with _."""
    with machinery():
        line, cell = {}, {}
        exec(FIRST, line)
        exec(SETUP, cell)
    del line["__builtins__"], cell["__builtins__"]
    assert line == cell


@pytest.mark.parametrize("text", texts())
def test_header_agrees_with_yaml(text: str):
    """Kills: a comment, which our reader does not know; a colon in an item taken for a key."""
    header = text.split("# ---\n")[1]
    plain = "\n".join(line.removeprefix("#").removeprefix(" ") for line in header.splitlines())
    assert parse(text).header == Header(**yaml.safe_load(plain)["workbook"])


def test_header_values_with_quotes():
    text = TEMPLATE.replace("title: Twice", 'title: "Twice: a #1"')
    text = text.replace("requires: []", "requires: [00_start_here, '01_vector_add']")
    header = parse(text).header
    assert header.title == "Twice: a #1"
    assert header.requires == ["00_start_here", "01_vector_add"]


UNREAD = "a cell's first line cannot be read"
BROKEN = [
    ("# ---\n# workbook", "# workbook", 1, "the header is missing"),
    ("# workbook:", "# workshop:", 1, "the header is missing"),
    ("#   minutes: 6\n", "", 9, "the header lacks 'minutes'"),
    ("minutes: 6", "minutes: forty", 4, "'minutes' has a value of another kind"),
    ("needs: interpreter", "needs: tpu", 1, "needs is 'tpu'"),
    ("requires: []", "requires: none", 6, "'requires' has a value of another kind"),
    ("requires: []", "wants: []", 6, "a line of the header cannot be read"),
    ("{sm_75: no spills, sm_80", "sm_80", 7, "'limits' has a value of another kind"),
    ("#   title: T", "#     - x\n#   title: T", 3, "a line of the header cannot be read"),
    ("title: Twice", "title:", 3, "'title' has a value of another kind"),
    ('tags=["setup"]', 'tags=["start"]', None, "unknown tag 'start'"),
    ('tags=["setup"]', "tags=[setup]", None, UNREAD),
    ('tags=["setup"]', 'tags=["setup", "answer"]', None, "a cell cannot be both"),
    ('tags=["setup"]', 'tags=["setup"] key="twice"', None, "answer, hint and check cells have"),
    ('["answer"] key="twice"', '["answer"]', None, "answer, hint and check cells have a key"),
    ('["answer"] key="twice"', '["answer"] key="Two"', None, UNREAD),
    ('key="twice" points=2', 'key="twice"', None, "check cells state points"),
    ("points=2", "points=-1", None, UNREAD),
    ("points=2", "marks=2", None, UNREAD),
    ('["answer"] key="twice"', '["answer"] key="twice" points=2', None, "check cells state"),
    ('[markdown] tags=["hint"]', 'tags=["hint"]', None, "the hint cell has the wrong kind"),
    ("# ## Recap", "## Recap\nRecap", None, "text in a markdown cell lacks its '# '"),
    ("# ---\n\n# %%", "# ---\nimport os\n\n# %%", 11, "this text stands before the first cell"),
]


@pytest.mark.parametrize(("old", "new", "line", "problem"), BROKEN, ids=[b[3] for b in BROKEN])
def test_a_broken_file_gets_one_sentence(old: str, new: str, line: int | None, problem: str):
    """Each row is one slip of an author; kills a reader that guesses instead of saying so."""
    assert old in TEMPLATE
    with pytest.raises(SourceError) as caught:
        parse(TEMPLATE.replace(old, new, 1), Path("17_twice/page.py"))
    error = caught.value
    assert error.problem.startswith(problem)
    assert str(error).startswith(f"17_twice/page.py, line {error.line}: ")
    assert str(error).endswith(".") and "\n" not in str(error) and error.mend
    if line is not None:
        assert error.line == line
