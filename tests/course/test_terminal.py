"""Running a notebook's cells without a browser: what is run, what is skipped, what is said."""

import json

import pytest

from tritonbook.course import terminal

ANSWER = "def double(x):\n    return 2 * x"


@pytest.fixture
def run(small_notebook):
    return lambda *own, **texts: terminal.run_notebook(small_notebook(*own, **texts))


OPEN = "def double(x):\n    raise NotImplementedError('TODO: fill in double')"
GUARDED = "try:\n    check(double, hidden=True)\nexcept AssertionError:\n    pass"


@pytest.mark.parametrize(
    ("texts", "state"),
    [
        ({"answer": ANSWER.replace("2", "3")}, "wrong"),
        ({"answer": OPEN}, "not attempted"),
        (  # of several verdicts not the last one decides
            {
                "answer": ANSWER.replace("2 * x", "2 * abs(x)"),
                "check": f"check(double)\n{GUARDED}\ncheck(double)",
            },
            "wrong",
        ),
        ({"check": "check(no_such_name)"}, "error"),
        ({"check": "'nothing'"}, "error"),
    ],
)
def test_what_is_no_pass_comes_with_its_reason(run, texts, state):
    done = run(**texts)
    assert done.checks[0].state == state and done.checks[0].reason and not done.passed


def test_own_cells_run_and_magics_do_no_harm(run):
    done = run("%timeit 1\nFACTOR = 7 \\\n  % 5", answer=ANSWER.replace("2", "FACTOR"))
    assert done.passed and done.broken == [] and done.checks[0].key == "double"


def test_a_broken_cell_is_named_and_the_rest_still_runs(run):
    done = run("1 / 0", "import sys; sys.exit(0)", "x = = 1")
    assert done.passed
    assert done.broken[0] == "cell 2: ZeroDivisionError: division by zero (line 1 of the cell)"
    assert done.broken[1].startswith("cell 3: SystemExit")
    assert done.broken[2].startswith("cell 4: SyntaxError")


def test_a_check_whose_cell_broke_says_what_broke_there(run):
    """Kills: "name 'double' is not defined" before, or in place of, the syntax error."""
    done = run(answer="def double(x):\n    return (2 * x")
    assert done.checks[0].reason.startswith("cell 2: SyntaxError: '(' was never closed")
    assert run(check="check(other)").checks[0].reason.startswith("NameError")


def test_what_breaks_is_named_once(run):
    """Kills: one syntax error, told again for each cell that would need its function."""
    done = run("def half(x):\n    x++", "half(1)", "half(2)")
    assert len(done.broken) == 1 and "SyntaxError" in done.broken[0]


def test_what_a_statement_made_is_found_as_in_jupyter(run):
    """Kills: `bounds = triton.jit(walk_bounds)` cannot be compiled, as no cell says how it came."""
    found = "from tritonbook.export.texts import assignment\n"
    assert (
        run("SIZES = sorted({3, 1})", found + "assert assignment('SIZES', globals())").broken == []
    )


def test_names_of_the_runner_do_not_leak_into_the_notebook(run):
    """Kills: running the cells in the runner's own namespace, where `json` is imported."""
    assert "NameError: name 'json'" in run("json.dumps(1)").broken[0]


def test_a_notebook_without_checks_is_no_pass(tmp_path):
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": []}))
    assert not terminal.run_notebook(path).passed


def test_the_courses_own_demonstrations_are_left_out(run, monkeypatch):
    monkeypatch.setattr(terminal, "_demonstrations", lambda path: {"1 / 0"})
    assert run("1 / 0").broken == []
    assert len(run("1 / 0.0").broken) == 1


def test_guesses_are_left_out_as_their_measurements_are(small_notebook):
    """Kills: `tritonbook check` that calls a notebook broken because its guesses are filled in."""
    path = small_notebook("predict({'ms': 3}, measured=[timed_above], hints=['h'])")
    book = json.loads(path.read_text())
    (cell,) = [cell for cell in book["cells"] if "timed_above" in "".join(cell["source"])]
    cell["metadata"]["tags"] = ["predict"]
    path.write_text(json.dumps(book))
    assert terminal.run_notebook(path).broken == []


def test_a_notebook_of_the_course_has_demonstrations_to_leave_out(tmp_path):
    found = terminal._demonstrations(tmp_path / "01_vector_add.ipynb")
    assert any("draw_tiling" in text for text in found)
    assert not any("setup()" in text for text in found)


def test_the_process_that_asked_keeps_its_own_main_module(run):
    import sys

    before = sys.modules["__main__"]
    run("1 / 0")
    assert sys.modules["__main__"] is before
