"""The learner's own files: given back, laid out, and never overwritten."""

import os

import pytest

from tritonbook.command import BadInput
from tritonbook.course import desk, hints, records, redo, terminal


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_gap_or_a_page_is_given_back_and_the_old_text_kept(here):
    path = desk.start("01")
    fresh = path.read_text()
    gap = fresh.replace("    pass\n", "    mine\n")
    path.write_text(gap)
    file, kept = desk.reset("01", "add")
    assert kept.read_text() == gap
    assert file.read_text().count("    mine\n") == gap.count("    mine\n") - 1
    file, second = desk.reset("01")
    assert file.read_text() == fresh and second != kept
    with pytest.raises(BadInput, match="has no gap 'no'"):
        desk.reset("01", "no")


def test_a_page_speaks_its_readers_language_and_a_reset_that_of_the_file(here, monkeypatch):
    """Kills: an English page for who reads Chinese, or a Chinese one that is reset to English."""
    monkeypatch.setenv("TRITONBOOK_LANG", "zh")
    path = desk.start("01")
    fresh = path.read_text()
    assert "`tritonbook hint add`" in fresh  # a name in code is none of the words
    assert 'lang="zh"' in fresh and "# # 01. 向量加法" in fresh
    monkeypatch.setenv("TRITONBOOK_LANG", "en")
    path.write_text(fresh.replace("    pass\n", "    mine\n", 1))
    desk.reset("01", "add")
    assert "TODO: 哪些元素" in path.read_text() and "    mine\n" not in path.read_text()
    desk.reset("01")
    assert path.read_text() == fresh


def test_of_two_languages_the_file_saved_last_is_meant(here, monkeypatch):
    """Kills: an untouched English notebook checked, and not the Chinese one that is worked in."""
    (here / "zh").mkdir()
    for age, folder in enumerate((here, here / "zh")):
        path = folder / "01_vector_add.ipynb"
        path.write_text("{}")
        os.utime(path, (age, age))
    assert desk.own_file("01_vector_add").parts == ("01_vector_add.ipynb",)
    monkeypatch.setenv("TRITONBOOK_LANG", "zh")
    assert desk.own_file("01_vector_add").parts == ("zh", "01_vector_add.ipynb")


def test_a_touched_page_stays_and_an_untouched_one_follows_the_course(here, monkeypatch):
    course = here / "course"
    for name in ("notebooks", "solutions"):
        (course / name).mkdir(parents=True)
        for page in ("a", "b"):
            (course / name / f"{page}.ipynb").write_text("{}")
    monkeypatch.setattr(desk, "directory", lambda: course / "exercises")
    work = here / "work"
    assert len(desk.lay_out(work)) == 2
    (work / "a.ipynb").write_text("mine")
    for page in ("a", "b", "c"):
        (course / "notebooks" / f"{page}.ipynb").write_text("newer")
    assert [path.name for path in desk.lay_out(work)] == ["b.ipynb", "c.ipynb"]
    assert (work / "a.ipynb").read_text() == "mine"
    assert (work / "solutions" / "a.ipynb").stat().st_mode & 0o222 == 0


def test_hints_come_one_at_a_time_and_then_from_the_first_again():
    titles = [hints.hint("add")[0] for _ in range(5)]
    assert [title[:6] for title in titles] == ["Hint 1", "Hint 2", "Hint 3", "These ", "Hint 1"]


@pytest.mark.parametrize("notebook", [False, True])
def test_what_was_passed_is_written_again_from_nothing(notebook):
    with pytest.raises(BadInput, match="not passed yet"):
        redo.redo("softmax")
    records.record("softmax", "passed", "def softmax(x):\n    return x\n")
    path = redo.redo(None, notebook)
    cells = terminal.read_cells(path)
    assert [cell.key for cell in cells if cell.check] == ["softmax"]
    assert "TODO: fill in softmax" in path.read_text() and "softmax_kernel[" not in path.read_text()
    assert redo.redo("softmax", notebook) != path
