"""The course map and `mine`, against a small made-up course."""

import inspect
import pickle
import re
from types import SimpleNamespace

import pytest
import torch

from tests.seeing.test_pictures import contrast
from tritonbook.course import progress as pg
from tritonbook.course import records
from tritonbook.notebook import machinery


def page(slug, title, **checks):
    """A page of these checks: points and tags."""
    cells = {key: SimpleNamespace(points=n, tags=tags) for key, (n, *tags) in checks.items()}
    return SimpleNamespace(slug=slug, header=SimpleNamespace(title=title), checks=lambda: cells)


COURSE = [
    page("00_start_here", "Start <here>", copy=[2]),
    page("01_vector_add", "Vector add", add=[4], add_strided=[0, "stretch"]),
]


def the_workbooks(x):
    return "workbook"


@pytest.fixture(autouse=True)
def course(monkeypatch):
    monkeypatch.setattr(pg, "exercises", lambda: COURSE)
    monkeypatch.setattr(pg, "reference", lambda name: the_workbooks)


def test_an_untouched_course_points_to_its_first_check():
    shown = pg.progress()
    assert shown.headline == "0 of 2 checks passed, 0 of 6 points"
    assert shown.next_step == "Next: copy in 00_start_here.ipynb"


def test_marks_tell_passed_tried_and_open_apart():
    records.record("copy", "passed", "copy = 1")
    records.record("add", "wrong", "add = 1", reason="the last tile is wrong")
    records.record("add_strided", "not attempted")
    marks = {m.key: m.mark for row in pg.progress().rows for m in row.marks}
    assert marks == {"copy": "passed", "add": "tried", "add_strided": "open"}
    assert pg.progress().next_step == "Next: add in 01_vector_add.ipynb"


def test_stretch_is_shown_but_never_missing():
    records.record("copy", "passed", "copy = 1")
    records.record("add", "passed", "add = 1")
    shown = pg.progress()
    assert shown.headline == "2 of 2 checks passed, 6 of 6 points"
    assert shown.next_step == "Every check of the course is passed."
    assert "add_strided" in shown.text()


def test_the_part_of_the_next_task_is_in_sight_and_the_others_are_folded(monkeypatch):
    """Kills: a map of fifty pages between a learner and the next one."""
    later = [page("20_matmul", "Matmul", matmul=[5]), page("21_grouped", "Order", grouped=[5])]
    monkeypatch.setattr(pg, "exercises", lambda: [*COURSE, *later])
    shown = pg.progress()
    in_sight, _, folded = shown._repr_html_().partition("<details>")
    assert in_sight.index("Next: copy") < in_sight.index("Vector add") and "Order" in folded
    assert re.search("pages 20 to 21 +0/2", shown.text())
    assert "grouped" not in shown.text() and "grouped" in shown.text(all_pages=True)


def test_the_map_fits_a_terminal_of_80_columns(monkeypatch):
    """Kills: a line that the terminal breaks anywhere, within a mark too."""
    names = [f"{'long' * 5}_{number}" for number in range(5)]
    monkeypatch.setattr(pg, "exercises", lambda: [page("10_wide", "W", **{n: [1] for n in names})])
    lines = pg.progress().text().splitlines()
    assert max(map(len, lines)) <= 80 and all(any(f"○ {n}" in row for row in lines) for n in names)


def test_a_check_that_left_the_course_stays_in_the_file_and_off_the_map():
    records.record("retired", "passed", "x = 1")
    assert "retired" not in pg.progress().text()
    assert "retired" in records.entries()


def test_text_and_html_say_the_same_and_html_is_escaped():
    records.record("add", "wrong", reason='1 < 2 & "3"')
    shown = pg.progress()
    page = shown._repr_html_()
    assert shown.headline in page and shown.headline in shown.text()
    assert "Start &lt;here&gt;" in page and "<here>" not in page
    assert "1 &lt; 2 &amp; &quot;3&quot;" in page
    assert "<script" not in page and "http" not in page


@pytest.mark.parametrize("colour", pg.COLOURS.values())
def test_white_words_can_be_read_on_every_badge(colour):
    assert contrast(colour, "#ffffff") >= 4.5


def test_colour_never_stands_alone():
    assert len(set(pg.SYMBOLS.values())) == len(pg.SYMBOLS) == len(pg.COLOURS)
    assert "◐ tried" in pg.progress().text()


def test_mine_is_the_workbooks_until_you_pass(capsys):
    assert pg.mine("add") is the_workbooks
    assert "not passed yet" in capsys.readouterr().out


def test_mine_is_yours_after_a_pass_and_its_source_can_be_read(capsys):
    records.record("add", "passed", "def add(x):\n    return x + 1\n")
    function = pg.mine("add")
    assert function(1) == 2 and "yours" in capsys.readouterr().out
    assert "return x + 1" in inspect.getsource(function)
    records.record("add", "passed", "def add(x):\n    return x + 10\n")
    assert pg.mine("add", quiet=True)(1) == 11


def test_mine_can_be_compiled_and_pickled():
    """Kills: a module that Python cannot import by name."""
    source = "def helper(x):\n    return 2 * x\n\n\ndef add(x):\n    return helper(x) + 1\n"
    records.record("add", "passed", source)
    function = pg.mine("add")
    compiled = torch.compile(lambda x: function(x), backend="eager", fullgraph=True)
    assert compiled(torch.ones(1)).item() == 3
    assert pickle.loads(pickle.dumps(function)) is function


def test_mine_finds_an_answer_that_its_check_looks_at_through_another_function(capsys):
    """Kills: the workbook's operator handed to whoever passed with an own one."""
    source = "def flash_attention(x):\n    return x + 1\n\n\ndef gradients(x):\n    return 0\n"
    namespace = {}
    exec(source, namespace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_source_text", lambda function: source)
        records.record("flash_attention", "passed", namespace["gradients"])
    assert pg.mine("flash_attention")(1) == 2
    assert "flash_attention: yours" in capsys.readouterr().out


def test_mine_survives_a_kept_source_that_no_longer_imports(capsys):
    records.record("add", "passed", "raise AttributeError('tl.gone')\n")
    assert pg.mine("add") is the_workbooks
    assert "tl.gone" in capsys.readouterr().out


def test_the_courses_own_runs_do_not_depend_on_whose_machine_it_is(capsys):
    """Kills: a test or a benchmark of the workbook that runs somebody's own kernel."""
    records.record("add", "passed", "def add(x):\n    return x + 1\n")
    with machinery():
        assert pg.mine("add") is the_workbooks
    assert capsys.readouterr().out == ""
