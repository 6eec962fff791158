"""What tests of several wings share."""

import contextlib
import json
import os
from pathlib import Path

import pytest
from forked_python import ForkedPython
from small_page import page_of

# So busy may a machine be before the compiler's silence says something. Children inherit it.
os.environ.setdefault("TRITONBOOK_COMPILE_SECONDS", "600")

# What is set up once for these takes seconds, so one worker runs them all.
TOGETHER = (
    "tests/autograde/test_demo.py",
    "tests/autograde/test_slurm.py",
    "tests/autograde/test_stock_tools.py",
    "tests/browser/",
    "tests/build/test_matrix.py",
    "tests/export/test_export.py",
    "tests/exercises/test_notebooks.py",
    "tests/exercises/test_30_register_op.py",
    "tests/port/test_compat_target.py",
)


def pytest_xdist_make_scheduler(config, log):
    """Hand out tests one by one, but those of `TOGETHER` as a whole and first.

    xdist's own `--dist loadgroup` does nothing under pytest 9.2, which has no `_nodeid`.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)

    return Scheduling(config, log)


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="nothing shortened, nothing kept")


def pytest_collection_modifyitems(items):
    """Slow tests first, then whole commands, whose tests stand beside this file: a long one that
    starts last keeps one worker busy while others wait."""
    here = Path(__file__).parent
    items.sort(key=lambda it: (it.get_closest_marker("slow") is None, it.path.parent != here))


def _cell(name, source, points=None):
    grader = {"grade_id": name, "solution": name.startswith("answer")}
    grader |= {"grade": points is not None, "points": points}
    metadata = {"nbgrader": grader} if name.startswith(("answer", "check")) else {}
    return {
        "cell_type": "code",
        "id": name,
        "metadata": metadata,
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


@pytest.fixture(scope="session")
def python():
    """Runs Python programs in processes of their own that need not import torch."""
    with contextlib.closing(ForkedPython()) as forked:
        yield forked


PAGE = page_of("""\
# %% tags=["setup"]
import torch

# %% tags=["answer"] key="double"
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% tags=["check"] key="double" points=3
check(double)
""")
CASES = """\
from tritonbook.checking import Check, case, tensor

CHECKS = {{
    "double": Check(
        lambda x: x + x,
        cases=[case("nine", x=tensor(9, values="positive"))],
        hidden=[case("below zero", x=tensor(9, values="negative"))],
        {demands}
    )
}}
"""


@pytest.fixture
def small_notebook(tmp_path, monkeypatch):
    """Write a.ipynb: set-up, the learner's own cells, one answer, its check of 3 points.

    The answer and the check are plain Python, so that no kernel is compiled; both can be replaced,
    and what the check demands besides its values. The course has a page for it, after its own.
    """
    pages = tmp_path / "pages"
    (pages / "98_double").mkdir(parents=True)
    for page in (Path(__file__).parents[1] / "exercises").iterdir():
        (pages / page.name).symlink_to(page)
    (pages / "98_double" / "page.py").write_text(PAGE)
    monkeypatch.setenv("TRITONBOOK_EXERCISES", str(pages))

    def write(
        *own,
        answer="def double(x):\n    return 2 * x",
        check="check(double)",
        demands="triton=False",
    ):
        (pages / "98_double" / "cases.py").write_text(CASES.format(demands=demands))
        cells = [_cell("setup", "from tritonbook import check\nimport torch")]
        cells += [_cell(f"own{i}", source) for i, source in enumerate(own)]
        cells.append(_cell("answer-double", answer))
        cells.append({"cell_type": "markdown", "id": "t", "metadata": {}, "source": "# text"})
        cells.append(_cell("check-double", check, 3))
        path = tmp_path / "a.ipynb"
        content = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        path.write_text(json.dumps(content))
        return path

    return write
