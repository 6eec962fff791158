"""Whole notebooks in a Jupyter kernel: untouched as a learner opens them, and solved."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager
from known_good import KnownGood, stands_on
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from tritonbook.build import views
from tritonbook.build.release import read_release
from tritonbook.course import gaps
from tritonbook.course.exercises import Exercise, exercises

ROOT = Path(__file__).parents[2]
COURSE = [
    pytest.param(exercise, id=exercise.slug)
    for exercise in exercises(ROOT / "exercises")
    if exercise.header.needs in ("interpreter", "gluon")
]
UNTOUCHED, SOLVED = KnownGood("untouched"), KnownGood("solved")
# `%reset` looks for garbage; what is imported once and never goes takes most of that time.
FRESH = """\
%reset -f
import gc
import os
import tritonbook.checking
if not gc.get_freeze_count():
    gc.freeze()
os.environ["TRITONBOOK_HOME"] = {home!r}
del gc, os, tritonbook"""


def run_all(notebook: NotebookNode, home: Path, kernel: KernelManager) -> None:
    """Run every cell, also those after an error; outputs land in the notebook."""
    notebook.cells.insert(0, new_code_cell(FRESH.format(home=str(home))))
    client = NotebookClient(notebook, km=kernel, timeout=800, allow_errors=True)
    try:
        client.execute()
    finally:
        if client.kc is not None:
            client.kc.stop_channels()  # else its sockets stay open, 18 for each notebook
        del notebook.cells[0]
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")


def errors(notebook: NotebookNode) -> dict[str, NotebookNode]:
    return {
        cell.id: output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    }


def names(cell: NotebookNode) -> tuple[set[str], set[str]]:
    """What a cell reads, and what it defines or changes."""
    read, made = set(), set()
    for node in ast.walk(ast.parse(re.sub(r"(?m)^[%!].*", "", cell.source))):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            made.update(each.id for each in ast.walk(node.value) if isinstance(each, ast.Name))
    return read, made


def about_gaps(cells: list[NotebookNode]) -> list[NotebookNode]:
    """Without the examples that have nothing to do with an answer: they run as in the solved
    notebook, and did so there."""
    used = {cell.id: names(cell) for cell in cells if cell.cell_type == "code"}
    examples = [cell.id for cell in cells if cell.id in used and cell.id.startswith("code-")]
    open_names = set().union(*(used[id][1] for id in used if id.startswith("answer-")))
    dropped = []
    for id in examples:
        read, made = used[id]
        if read & open_names:
            open_names |= made
        else:
            dropped.append(id)
    for id in reversed(dropped):  # what others need of it
        if used[id][1] & set().union(*(used[one][0] for one in used if one not in dropped)):
            dropped.remove(id)
    return [cell for cell in cells if cell.id not in dropped]


@pytest.fixture
def run_new(tmp_path, request, pytestconfig):
    """Run a notebook of a page and judge its errors, unless it was found good as it is; now it
    is."""

    def go(exercise: Exercise, notebook: NotebookNode, good: KnownGood, about, judge) -> None:
        text = views.to_bytes(notebook).decode()
        on = functools.partial(stands_on, exercise, text)
        if good.is_tried(exercise, on, pytestconfig):
            notebook.cells = about(notebook.cells)
            run_all(notebook, tmp_path, request.getfixturevalue("kernel"))
            judge(errors(notebook))
            good.keep(exercise, on)

    return go


@pytest.mark.slow
@pytest.mark.parametrize("exercise", COURSE)
def test_an_untouched_notebook_reads_as_not_attempted(exercise: Exercise, run_new):
    """Kills: an open gap that shows a learner a page of traceback, or counts as wrong."""

    def judge(found: dict[str, NotebookNode]) -> None:
        for name, error in found.items():
            text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
            assert len(text.strip().splitlines()) == 1, (name, text)
        for key in exercise.checks():
            assert found[f"check-{key}"].ename == "CheckFailed"
            assert "not attempted" in found[f"check-{key}"].evalue

    run_new(exercise, views.learner(exercise, read_release(ROOT)), UNTOUCHED, about_gaps, judge)


@pytest.mark.slow
@pytest.mark.parametrize("exercise", COURSE)
def test_a_solved_notebook_runs_without_an_error(exercise: Exercise, run_new):
    def judge(found: dict[str, NotebookNode]) -> None:
        assert {name: error.evalue for name, error in found.items()} == {}

    run_new(exercise, views.solution(exercise, read_release(ROOT)), SOLVED, list, judge)


@pytest.mark.parametrize("exercise", COURSE)
def test_no_instructors_answer_runs_into_the_learners_stub(exercise: Exercise):
    """Kills: an error for the open gap that stands where the solution does not return before."""
    for key, cell in exercise.answers().items():
        tree = ast.parse(exercise.cut(cell, gaps.instructor_text))
        for block in (getattr(node, "body", None) for node in ast.walk(tree)):
            for before, stub in itertools.pairwise(block if isinstance(block, list) else []):
                if isinstance(stub, ast.Raise) and "TODO" in ast.unparse(stub):
                    assert isinstance(before, ast.Return), f"{key}: line {stub.lineno}"
