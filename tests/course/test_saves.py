"""Which checks a change concerns, and who runs them."""

import os

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


def test_the_next_run_gets_a_process_that_was_there_before(small_notebook, tmp_path):
    """Kills: seconds of imports after each save; a process that sees what another run left."""
    note = (
        "import os, torch\nopen('pid', 'a').write(f'{os.getpid()} {hasattr(torch, \"left\")}\\n')"
    )
    path = small_notebook(f"{note}\ntorch.left = 1")
    with terminal.Apart() as apart:
        apart.get_ready()
        ready = apart._next.pid
        assert apart.run(path).passed
        assert apart.run(path).passed
    first, second = (tmp_path / "pid").read_text().split("\n")[:2]
    assert first == f"{ready} False" and second.endswith("False")
    assert str(os.getpid()) not in (first, second)
