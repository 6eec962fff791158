"""What tests of several wings share."""

import gc
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import known_good
import nbformat
import pytest
from small_page import write_page

# So busy may a machine be before the compiler's silence says something. Children inherit it.
os.environ.setdefault("TRITONBOOK_COMPILE_SECONDS", "600")

# What is set up once for these takes seconds, so one worker runs them all.
TOGETHER = (
    "tests/autograde/test_demo.py",
    "tests/autograde/test_exam.py",
    "tests/autograde/test_slurm.py",
    "tests/autograde/test_stock_tools.py",
    "tests/browser/",
    "tests/build/test_matrix.py",
    "tests/export/test_export.py",
    "tests/exercises/test_notebooks.py",
    "tests/exercises/test_30_register_op.py",
    "tests/port/test_compat_target.py",
    "tests/site/",
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
    today = time.strftime("%Y%m%d")
    parser.addoption("--seed", type=int, default=int(today), help="draws samples; default: today")


def pytest_generate_tests(metafunc):
    """With --thorough a thousand orders of ranks, in pieces that workers (-n) share."""
    if "hundred" in metafunc.fixturenames:
        pieces = 10 if metafunc.config.getoption("--thorough") else 1
        metafunc.parametrize("hundred", range(pieces))


@pytest.fixture
def orders(request, hundred):
    """Orders of ranks: a few that the seed chooses, or one hundred of a thousand."""
    first = request.config.getoption("--seed") % 1000
    if request.config.getoption("--thorough"):
        return lambda few: range(100 * hundred, 100 * hundred + 100)
    return lambda few: range(first, first + few)


def pytest_terminal_summary(terminalreporter, config):
    """-q hides the header, and each worker's own words."""
    if not config.getoption("thorough"):
        again = f"--seed={config.getoption('seed')} draws the same"
        terminalreporter.write_line(f"what was never tried here was sampled; {again}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    yield
    if known_good.PASSED in item.stash:
        item.stash[known_good.PASSED]()


def pytest_collection_modifyitems(config, items):
    """Slow tests first, then whole commands, whose tests stand beside this file: a long one that
    starts last keeps one worker busy while others wait."""
    known_good.sort_out(config, items)
    here = Path(__file__).parent
    items.sort(key=lambda it: (it.get_closest_marker("slow") is None, it.path.parent != here))


def pytest_collection_finish():
    """What was imported and collected stays: not to look through it for garbage saves a tenth of a
    worker's time."""
    gc.collect()
    gc.freeze()


def _cell(name, source, points=None):
    grader = {"grade_id": name, "solution": name.startswith("answer")}
    grader |= {"grade": points is not None, "points": points}
    metadata = {"nbgrader": grader} if name.startswith(("answer", "check")) else {}
    return nbformat.v4.new_code_cell(source, id=name, metadata=metadata)


class Python:
    """Python programs in processes of their own: FILE, -c TEXT or -m MODULE, then arguments."""

    def run(self, *program, env=None, cwd=None):
        """The completed process, with its output as text."""
        command = [sys.executable, *map(str, program)]
        return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True)

    def run_all(self, programs):
        """Some at the same time."""
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda program: self.run(*program), programs))


@pytest.fixture(scope="session")
def python():
    return Python()


CASES = """\
from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import launches

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
    write_page(pages, "98_double")
    for page in (Path(__file__).parents[1] / "exercises").iterdir():
        (pages / page.name).symlink_to(page)
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
        cells.append(nbformat.v4.new_markdown_cell("# text"))
        cells.append(_cell("check-double", check, 3))
        path = tmp_path / "a.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        return path

    return write
