"""The three notebooks: same bytes every time; stock nbgrader makes the same learner's notebook."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import nbformat
import pytest

from tritonbook.build import sync, views
from tritonbook.build.kept import FEW
from tritonbook.build.release import Release, read_release
from tritonbook.course.exercises import exercises

ROOT = Path(__file__).parents[2]
RELEASE = Release("https://github.com/someone/somewhere", "1.2.3")
VIEWS = (views.learner, views.solution, views.instructor)


def joined(notebook) -> str:
    return "\n".join(cell.source for cell in notebook.cells)


def test_what_each_view_shows(course):
    """Kills: a learner's notebook with hidden tests, a solved one with markers or TODOs."""
    learner, solution, instructor = (joined(view(course.exercise, RELEASE)) for view in VIEWS)
    solved = "tl.store(out_ptr + offs, 2 * x, mask=mask)"
    assert solved not in learner and solved in solution and solved in instructor
    assert "    # YOUR CODE HERE\n    pass\n" in learner
    assert "hidden" not in learner and "hidden" not in solution
    assert "check(twice)\n### BEGIN HIDDEN TESTS\ncheck(twice, hidden=True)\n###" in instructor
    assert "case(" not in learner and "case(" not in instructor
    assert "SOLUTION" not in solution and "TODO" not in solution
    assert "# TODO: load the tile" in learner


def test_the_learners_notebook_opens_in_colab_at_the_released_tag(course):
    notebook = views.learner(course.exercise, RELEASE)
    first, setup = notebook.cells[0].source, notebook.cells[1].source
    assert first.startswith("# 17. Twice\n")
    assert "/github/someone/somewhere/blob/v1.2.3/notebooks/17_twice.ipynb" in first
    assert "**6 minutes** · no GPU needed" in first and "- double a vector" in first
    assert "https://github.com/someone/somewhere/archive/refs/tags/v1.2.3.zip" in setup
    assert setup.index("find_spec") < setup.index("from tritonbook import")
    assert notebook.metadata.kernelspec.name == "python3"


def test_the_workbook_is_installed_for_the_python_that_runs_the_page(course, python):
    """Kills: the pip of the PATH, which may be another Python's; errors in a log nobody sees."""
    setup = views.learner(course.exercise, RELEASE).cells[1].source
    text = f"""
import importlib.util, sys
from IPython.core.interactiveshell import InteractiveShell
shell, found = InteractiveShell(), importlib.util.find_spec
shell.system = lambda line: print("ran", line.removeprefix(sys.executable))
importlib.util.find_spec = lambda name, *of: None if name == "tritonbook" else found(name, *of)
shell.run_cell({setup.partition("import torch")[0]!r}).raise_error()
"""
    said = python.run("-c", text)
    release = "'tritonbook @ https://github.com/someone/somewhere/archive/refs/tags/v1.2.3.zip'"
    assert f"ran  -m pip install -q {release}\n" in said.stdout, said.stdout + said.stderr


def test_the_set_up_cell_is_folded_and_says_what_it_was_made_for(course):
    """Kills: a page that begins with a screen of imports, in JupyterLab or in Colab."""
    for view in VIEWS:
        (setup,) = [c for c in view(course.exercise, RELEASE).cells if c.id == "setup"]
        assert setup.metadata["jupyter"] == {"source_hidden": True}
        assert setup.metadata["cellView"] == "form" and setup.source.startswith("# @title ")
        assert setup.source.splitlines()[-1] == 'setup(made_for="1.2.3")'
        others = [c for c in view(course.exercise, RELEASE).cells if c is not setup]
        assert not any("jupyter" in cell.metadata for cell in others if cell.id != "setup")


def test_nbgrader_metadata(course):
    notebook = views.instructor(course.exercise, RELEASE)
    found = {cell.id: cell.metadata.get("nbgrader") for cell in notebook.cells}
    flags = ("grade", "solution", "locked")
    assert [found["answer-twice"][flag] for flag in flags] == [False, True, False]
    assert [found["check-twice"][flag] for flag in flags] == [True, False, True]
    assert found["check-twice"]["points"] == 2
    assert [found["reference-1"][flag] for flag in flags] == [False, False, True]
    assert found["text-1"] is None and found["code-1"] is None and found["hint-twice"] is None
    solution = views.solution(course.exercise, RELEASE)
    assert not any("nbgrader" in cell.metadata for cell in solution.cells)


def test_bytes_do_not_depend_on_the_process(course, python):
    """Kills: anything built from a set's order or from the clock."""
    code = (
        "import sys; from pathlib import Path; from tritonbook.build import sync\n"
        "built = sync.build(Path(sys.argv[1]))\n"
        "sys.stdout.buffer.write(b''.join(built.files[path] for path in sorted(built.files)))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}  # here it is another one at each run
    there = python.run("-c", code, course.root, env=environment).stdout
    built = sync.build(course.root)
    assert b"".join(built.files[path] for path in sorted(built.files)).decode() == there


def test_the_release_is_read_from_the_package_metadata(course):
    release = read_release(course.root)
    assert release.tag == f"v{release.version}" and release.repository.startswith("https://")
    (course.root / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(ValueError, match="no line Repository"):
        read_release(course.root)


@pytest.mark.slow
def test_stock_nbgrader_gives_the_learners_notebooks(course, tmp_path, pytestconfig, python):
    """The real command with the course's own settings on the template and one exercise in ten, with
    --thorough on all.

    Kills: a stub that nbgrader would write otherwise, a checksum over other text.
    """
    release = read_release(ROOT)
    step = 1 if pytestconfig.getoption("thorough") else FEW
    found = [*exercises(ROOT / "exercises")[::step], course.exercise]
    grading = tmp_path / "grading"
    (grading / "source" / "all").mkdir(parents=True)
    shutil.copy(ROOT / "autograde" / "nbgrader_config.py", grading)
    for exercise in found:
        target = grading / "source" / "all" / f"{exercise.slug}.ipynb"
        target.write_bytes(views.to_bytes(views.instructor(exercise, release)))
    # nbgrader looks for alembic on PATH.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ("-m", "nbgrader", "generate_assignment", "all", "--create")
    done = python.run(*command, cwd=grading, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
    for exercise in found:
        released = (grading / "release" / "all" / f"{exercise.slug}.ipynb").read_text()
        ours = views.to_bytes(views.learner(exercise, release)).decode()
        assert json.loads(released)["cells"] == json.loads(ours)["cells"], exercise.slug
        assert released.rstrip("\n") == ours.rstrip("\n"), exercise.slug
        nbformat.validate(nbformat.reads(released, as_version=4))
