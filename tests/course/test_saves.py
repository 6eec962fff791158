"""Which checks a change concerns, and who runs them."""

import os
import threading
import time

import pytest

from tritonbook.course import terminal, watch


def cells(**changed):
    """Code cells of a page of two answers that share a helper; the texts of some are given."""
    texts = {
        "setup": "import torch",
        "helper": "def halves(x):\n    return x / 2",
        "add": "def add(x):\n    return halves(x)",
        "check_add": "check(add)",
        "mul": "FACTOR = 2\ndef mul(x):\n    return FACTOR * x",
        "check_mul": "check(mul)",
        **changed,
    }
    return [
        terminal.CodeCell(
            file="a.py",
            place=name,
            check=name.startswith("check"),
            predict=False,
            key=name.removeprefix("check_"),
            stretch=False,
            source=source,
        )
        for name, source in texts.items()
    ]


@pytest.mark.parametrize(
    ("changed", "keys"),
    [
        ({}, []),
        ({"add": "def add(x):\n    return (x"}, ["add"]),
        ({"mul": "FACTOR = 3\ndef mul(x):\n    return FACTOR * x"}, ["mul"]),
        ({"helper": "def halves(x):\n    return x"}, ["add"]),
        ({"helper": "def third(x):\n    return x"}, ["add"]),
        ({"setup": "import torch, os"}, ["add", "mul"]),
        ({"check_mul": "check(mul, hidden=True)"}, ["add", "mul"]),
    ],
)
def test_a_change_concerns_what_calls_it(changed, keys):
    assert watch.touched(cells(), cells(**changed)) == keys


def test_at_first_every_check_is_run():
    assert watch.touched([], cells()) == ["add", "mul"]


def test_outcomes_of_checks_that_were_not_run_again_stay():
    run = lambda key, state: terminal.CheckRun(key, state, "")  # noqa: E731
    before = terminal.NotebookRun("a", [run("add", "wrong"), run("mul", "passed")], ["old"])
    found = terminal.NotebookRun("a", [run("add", "passed")], [])
    done = watch._together(before, found, cells())
    assert [(each.key, each.state) for each in done.checks] == [
        ("add", "passed"),
        ("mul", "passed"),
    ]
    assert done.broken == [] and done.passed


NOTE = """\
import os, time
import torch
from tritonbook.seeing.process import worker
helper = worker(interpret=False).ready(100)
print(os.getpid(), hasattr(torch, "left"), time.process_time(), helper, file=open("note", "a"))
torch.left = 1
"""


def test_a_run_imports_nothing_anew_and_sees_nothing_of_another(small_notebook, tmp_path):
    """Kills: a new interpreter's imports for each save, of torch and of the compiler's process; a
    run that sees what another one left."""
    path = small_notebook(NOTE)
    with terminal.Apart() as apart:
        for _ in range(3):
            apart.get_ready()
            assert apart.run(path).passed
    lines = [line.split() for line in (tmp_path / "note").read_text().splitlines()]
    numbers, left, seconds, helpers = zip(*lines, strict=True)
    assert len({*numbers, str(os.getpid())}) == 4 and set(left) == {"False"}
    assert max(map(float, seconds)) < 0.5, "torch alone takes more of a processor's time"
    assert len(set(helpers)) == 1


def test_a_cell_that_never_ends_is_stopped_by_the_next_save(small_notebook, tmp_path, monkeypatch):
    """Kills: watching that is over with the first `while True` outside of a check."""
    monkeypatch.setattr(watch, "PATIENCE", 0.5)
    path, told = small_notebook("open('began', 'w').close()\nwhile True: pass"), []

    def tell(found):
        told.append(found.passed)
        raise KeyboardInterrupt

    def save():
        while not (tmp_path / "began").exists():
            time.sleep(0.05)
        small_notebook()

    mend = threading.Thread(target=save, daemon=True)
    mend.start()
    assert watch.watch(path, None, tell) and told == [True]
    mend.join()
