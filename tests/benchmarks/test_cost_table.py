"""The table of the course's cost: every figure from a stored file, nothing made up."""

import json

import pytest

from benchmarks import cost, cost_stored, cost_suite, cost_table, results

COURSE = {"01_a": ["add", "sub"], "02_b": ["mul"]}
GPU = "Paper 9000"
NO_GPU = {"gpu": "no GPU", "capability": "", "torch": "9.9", "triton": "8.8", "python": "3.99"}
ON_GPU = NO_GPU | {"gpu": GPU, "capability": "sm_99"}


def check(exercise, key, first=None, again=(), failed=None):
    return {
        "exercise": exercise,
        "key": key,
        "first": first,
        "again": list(again),
        "failed": failed,
    }


def measured(versions, *checks, load=0.0):
    return {
        "date": "2026-01-02",
        "versions": versions,
        "machine": {"cpu": "Paper CPU", "cores": 4, "load_before": load},
        "cold": [5.0, 9.0, 6.0],
        "checks": list(checks),
    }


def one_class(students, wall, stock_wall):
    return {
        "students": students,
        "workers": 2,
        "wall": wall,
        "overhead": 0.8,
        "tests": 0.7,
        "stock_students": 10,
        "stock_wall": stock_wall,
    }


def run_of(*classes):
    return {
        "date": "2026-03-04",
        "notebook": "01_vector_add",
        "cores": 2,
        "load_before": 0.1,
        "versions": {"nbgrader": "0.9", "torch": "9.9", "triton": "8.8"},
        "python": "3.99",
        "classes": list(classes),
    }


FILES = {
    "cost_interpreter.json": measured(
        NO_GPU,
        check("01_a", "add", 2.5, [1.0, 30.0, 1.5]),
        check("01_a", "sub", 0.5, [2.0, 2.0, 2.0]),
        check("02_b", "mul", failed="wrong"),
    ),
    "cost_paper_9000.json": measured(ON_GPU, check("01_a", "add", 7.5, [0.004]), load=3.0),
    "cost_suite.json": {
        "date": "2026-02-03",
        "versions": NO_GPU,
        "machine": {"cpu": "Paper CPU", "cores": 4, "load_before": 0.0},
        "seconds": 612.4,
        "cpu_seconds": 1100.2,
        "passed": 1234,
        "skipped": 5,
    },
    "grading_speed.json": [run_of(one_class(10, 20.0, 60.0)), run_of(one_class(50, 50.0, 60.0))],
    "grading_gpu.json": {
        "exercise": "10_rmsnorm_rows",
        "submissions": 80,
        "seconds_per_submission": 1.5,
        "workers": 12,
        "date": "2026-04-05",
        "versions": ON_GPU,
    },
}
PARTS = list(FILES)


def page(folder, files):
    for name, data in files.items():
        text = data if isinstance(data, str) else json.dumps(data)
        (folder / name).write_text(text)
    return cost_table.page(cost_stored.read(folder), COURSE)


def row(text, what):
    """The cells of the one row whose first cell is `what`."""
    [line] = [line for line in text.splitlines() if line.startswith(f"| {what} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_each_figure_stands_in_its_row_with_its_place(tmp_path):
    """Kills: a mean for a median; figures of one machine in another's row; a figure without its
    machine, versions, date or command."""
    text = page(tmp_path, FILES)
    place = ["no GPU, Paper CPU, 4 cores", "torch 9.9, Triton 8.8, Python 3.99", "2026-01-02"]
    again = "`python -m benchmarks.cost` without a GPU"
    assert row(text, "first passed check, interpreter")[1:] == [
        "6.00 (5.00 to 9.00, 3 runs)",
        *place,
        again,
    ]
    assert row(text, "each check, interpreter")[1:] == [
        "median of checks, first / again: 1.50 / 1.75; slowest `add` 2.50 / `sub` 2.00; "
        "all 3.00 / 3.50; 2 of 3 passed, 1 failed",
        *place,
        again,
    ]
    suite = row(text, "test suite")
    assert suite[1] == "612; 1100 of CPU; 1234 tests passed, 5 skipped"
    assert suite[4:] == ["2026-02-03", "`python -m benchmarks.cost --suite`"]
    assert row(text, "graded submission, CPU, class of 10")[1].startswith("2.00; 20.0 for 10,")
    graded = row(text, "graded submission, GPU")
    assert graded[1] == "1.50; 120 for 80, notebook 10, 31 workers"
    assert graded[2] == f"{GPU}, CPU not stored" and graded[4] == "2026-04-05"


def test_a_gpu_gets_its_columns_and_a_busy_machine_is_named(tmp_path):
    """Kills: a notebook that the GPU never ran with the interpreter's seconds; a blank cell; the
    figures of a loaded machine that look like others."""
    text = page(tmp_path, FILES)
    assert row(text, "01_a")[1:] == [
        "2",
        "3.00 / 3.50",
        "`add` 2.50 / `sub` 2.00",
        "7.50 / <0.01 (1 of 2 passed, 1 not measured)",
        "`add` 7.50 / `add` <0.01",
    ]
    assert row(text, "02_b")[1:] == ["1", "0 of 1 passed, 1 failed", "-", "not measured", "-"]
    assert "NOT QUIET (load 3 before)" in row(text, f"each check, {GPU}")[2]
    assert "NOT QUIET" not in row(text, "each check, interpreter")[2]


def test_grading_grows_by_what_was_measured(tmp_path):
    """Kills: stock's factor by students instead of seconds; a class of 200 made up from others; the
    GPU's run with faults passed off as a class with overhead and stock's time."""
    text = page(tmp_path, FILES)
    grown = row(text, "50")
    assert grown[1:3] == ["50.0", "1.00"] and grown[6:8] == ["6.00 (first 10)", "6.0"]
    assert row(text, "200")[1:8] == ["not measured"] * 7
    faults = row(text, "80")
    assert faults[1:3] == ["120", "1.50"] and faults[8] == "GPU, notebook 10"
    assert [faults[i] for i in (3, 4, 6, 7)] == ["not measured"] * 4
    assert "From 10 to 50 students, 5 times as many, grading takes 2.5 times as long." in text


def test_what_was_never_measured_is_a_row_with_its_command(tmp_path):
    """Kills: rows that vanish with their file, blank cells, a crash on an empty folder."""
    text = page(tmp_path, {})
    for what, command in {
        "first passed check, interpreter": "`python -m benchmarks.cost` without",
        "first passed check, on a GPU": "`python -m benchmarks.cost` on a GPU",
        "each check, interpreter": "`python -m benchmarks.cost` without",
        "each check, on a GPU": "`python -m benchmarks.cost` on a GPU",
        "test suite": "benchmarks.cost --suite",
        "graded submission, CPU, class of 10": "autograde.measure --students 10 50 200",
        "graded submission, CPU, class of 50": "autograde.measure --students 10 50 200",
        "graded submission, CPU, class of 200": "autograde.measure --students 10 50 200",
        "graded submission, GPU": "autograde.neighbours",
    }.items():
        cells = row(text, what)
        assert cells[1] == "not measured" and command in cells[5]
    assert row(text, "any")[1] == "not measured"
    assert "No check was measured" in text


@pytest.mark.parametrize("name", PARTS)
def test_no_cell_is_blank_whatever_is_missing(tmp_path, name):
    """Kills: one missing part that empties a cell of another part's row."""
    text = page(tmp_path, {key: data for key, data in FILES.items() if key != name})
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 15
    assert all(cell.strip() for line in rows for cell in line.strip("|").split("|"))


def broken(name, **changes):
    data = FILES[name]
    return name, json.dumps((data[0] if isinstance(data, list) else data) | changes)


@pytest.mark.parametrize(
    "name, text, says",
    [
        *((name, "{", "is not JSON") for name in PARTS),
        *((name, "[3]", "holds no `") for name in PARTS),
        (*broken("cost_suite.json", seconds=0), "holds 0 as seconds of `seconds`"),
        (*broken("cost_suite.json", cpu_seconds=float("nan")), "holds nan as `cpu_seconds`"),
        (*broken("cost_suite.json", passed=True), "holds True as `passed`"),
        (*broken("cost_suite.json", machine=[4]), "holds [4] as `machine`"),
        (*broken("cost_suite.json", versions={}), "names no version"),
        (*broken("cost_suite.json", date=""), "holds '' as `date`"),
        (*broken("cost_interpreter.json", cold=[]), "no seconds in `cold`"),
        (*broken("cost_interpreter.json", checks=[check("01_a", "add", 1.0)]), "of 01_a add"),
        (*broken("cost_interpreter.json", checks=[check("01_a", "add", "1", [1.0])]), "'1' as"),
        (*broken("cost_interpreter.json", versions=ON_GPU), f"measured on {GPU}"),
        (*broken("cost_paper_9000.json", versions=NO_GPU), "was not measured on a GPU"),
        (*broken("grading_gpu.json", versions=NO_GPU), "was not measured on a GPU"),
        (*broken("grading_gpu.json", submissions=0), "holds 0 as `submissions`"),
        (*broken("grading_speed.json", classes=[one_class(0, 1.0, 1.0)]), "holds 0 as `students`"),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path, capsys, name, text, says):
    """Kills: a traceback, a made-up figure, the interpreter's seconds as a GPU's, a page that is
    written over with half of its parts."""
    for other, data in FILES.items():
        (tmp_path / other).write_text(json.dumps(data))
    (tmp_path / name).write_text(text)
    (tmp_path / "cost.md").write_text("older")
    assert cost_table.main(folder=tmp_path) == 2
    said = capsys.readouterr()
    assert says in said.err and said.err.startswith(str(tmp_path / name)) and not said.out
    assert "measure again with `python -m" in said.err and said.err.count("\n") == 1
    assert (tmp_path / "cost.md").read_text() == "older"


def test_the_command_prints_what_it_writes(tmp_path, capsys):
    """Kills: a printed table that differs from the stored one; a table that measures."""
    out = tmp_path / "page.md"
    assert cost.main(["--table", "--out", str(out)]) == 0
    assert capsys.readouterr().out == out.read_text()


def test_the_committed_page_is_what_the_command_makes(tmp_path):
    """Kills: a page edited by hand, or older than the files and checks that it speaks of.

    `python -m benchmarks.cost --table` makes it again.
    """
    out = tmp_path / "page.md"
    assert cost_table.main(out) == 0
    assert out.read_text() == (results.DIRECTORY / cost_table.FILE).read_text()


def test_the_suite_and_a_gpu_are_stored_where_the_table_looks():
    """Kills: a measurement that the table never finds."""
    assert results.path_for("cost interpreter").name == cost_stored.INTERPRETER
    assert cost_suite.FILE == cost_stored.SUITE
    assert results.path_for(f"cost {GPU}").name == "cost_paper_9000.json"
