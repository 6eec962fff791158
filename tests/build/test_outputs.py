"""Outputs of solved notebooks live as long as what they came from."""

from __future__ import annotations

import json

import pytest
from nbformat import NotebookNode

from tritonbook.build import outputs, sync, views
from tritonbook.build.release import read_release

OUTPUT = {
    "output_type": "display_data",
    "metadata": {},
    "data": {
        "text/plain": "two\nlines",
        "image/svg+xml": "<svg>\n</svg>",
        "application/vnd.card+json": {"kernels": ["one"], "empty": []},
    },
}


@pytest.fixture
def executed(course):
    """The course with a solved notebook whose cells all have an output."""
    course.edit("# %%\nprogress()", "# %%\nunused = 1\n\n# %%\nprint(twice)\n\n# %%\nprogress()")
    sync.write(sync.build(course.root))
    _, path, _ = sync.paths(course.root, "17_twice")
    notebook = views.solution(course.exercise, read_release(course.root))
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            cell.outputs = [NotebookNode(OUTPUT)]
            cell.execution_count = number
    notebook.metadata.workbook["made_from"] = NotebookNode(outputs.source_hashes(notebook))
    notebook.metadata.workbook["executed"] = NotebookNode(gpu="A100", date="2026-01-01")
    path.write_bytes(views.to_bytes(notebook))
    sync.write(sync.build(course.root))
    return course, path


def with_outputs(path) -> set[str]:
    return {cell["id"] for cell in json.loads(path.read_text())["cells"] if cell.get("outputs")}


ALL = {"setup", "reference-1", "answer-twice", "check-twice", "predict-1"}
ALL |= {"code-1", "code-2", "code-3", "code-4"}
OF_THE_ANSWER = {"answer-twice", "check-twice", "predict-1", "code-3"}


def test_a_second_sync_changes_nothing(executed):
    course, path = executed
    before = path.read_bytes()
    built = sync.build(course.root)
    assert built.differing() == [] and built.dropped == {}
    assert sync.write(built) == []
    assert path.read_bytes() == before and with_outputs(path) == ALL


def test_progress_has_the_tasks_that_there_are_today(executed):
    """Kills: solved pages of one course that count other numbers of tasks."""
    course, path = executed
    (cell,) = [cell for cell in json.loads(path.read_text())["cells"] if cell["id"] == "code-4"]
    (line, *_) = cell["outputs"][0]["data"]["text/plain"]
    (check,) = course.exercise.checks().values()
    assert line == f"Your progress: 1 of 1 checks passed, {check.points} of {check.points} points\n"


def test_a_changed_answer_takes_along_what_was_made_from_it(executed):
    """Kills: keeping a picture of the old kernel because its own cell did not change."""
    course, path = executed
    course.edit("    out = torch.empty_like(x)", "    out = torch.zeros_like(x)")
    built = sync.build(course.root)
    assert set(built.dropped[path]) == OF_THE_ANSWER
    assert path in built.differing()
    sync.write(built)
    assert with_outputs(path) == ALL - OF_THE_ANSWER
    assert json.loads(path.read_text())["metadata"]["workbook"]["executed"]["gpu"] == "A100"


def test_a_new_cell_takes_nothing_from_those_after_it(executed):
    """Kills: outputs kept by a cell's number, all of which a cell put before them would cost."""
    course, path = executed
    course.edit("# %%\nunused = 1", "# %%\nmore = 2\n\n# %%\nunused = 1")
    assert sync.build(course.root).dropped == {}
    sync.write(sync.build(course.root))
    assert with_outputs(path) == (ALL | {"code-5"}) - {"code-2"}


@pytest.mark.parametrize(
    ("file", "old", "new", "shown"),
    [
        ("page.py", "One paragraph and a picture.", "Two paragraphs.", "Two paragraphs."),
        ("../../pyproject.toml", '\nversion = "', '\nversion = "9', "/tags/v9"),
    ],
)
def test_changed_text_and_a_new_release_drop_nothing(executed, file, old, new, shown):
    """Kills: a hash over the set-up cell's line that names the release."""
    course, path = executed
    course.edit(old, new, course.path.parent / file)
    sync.write(sync.build(course.root))
    assert shown in path.read_text() and with_outputs(path) == ALL


@pytest.mark.parametrize("whole", [True, False])
def test_outputs_of_a_notebook_without_a_record_or_damaged_do_not_survive(executed, whole):
    course, path = executed
    notebook = json.loads(path.read_text())
    del notebook["metadata"]["workbook"]["made_from"]
    path.write_text(json.dumps(notebook) if whole else "{")
    sync.write(sync.build(course.root))
    assert with_outputs(path) == set()
