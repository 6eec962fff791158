"""Exercises as modules: loading, replacing answers, running checks, finding solutions."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_page import OF_NUMBERS, write_page

from tritonbook.course import exercises, page_checks
from tritonbook.course.exercises import Exercise
from tritonbook.course.source import SourceError
from tritonbook.notebook import LOADING

TEXT = """\
# %% tags=["setup"]
from tritonbook.notebook import LOADING

seen = []


def setup():
    seen.append("called")


setup()

# %%
raise RuntimeError("a worked example is no part of the module")

# %% tags=["reference"]
LOADED_QUIETLY = LOADING.get()

# %% tags=["answer"] key="double"
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% [markdown] tags=["hint"] key="double"
# Think.

# %% tags=["check"] key="double" points=1
check(double)
"""
ABS = "def double(x):\n    return 2 * abs(x)\n"


def write(folder: Path, slug: str, text: str = TEXT) -> Path:
    return write_page(folder, slug, text, cases=OF_NUMBERS)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    write(tmp_path, "03_toy")
    write(tmp_path, "shared")
    (tmp_path / "notes.py").write_text("not an exercise")
    monkeypatch.setenv("TRITONBOOK_EXERCISES", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("wanted", ["03_toy", "toy", 3, "3", "03"])
def test_find_by_slug_name_or_number(folder: Path, wanted):
    assert exercises.get(wanted).path == folder / "03_toy" / "page.py"


def test_find_says_what_is_near(folder: Path):
    with pytest.raises(LookupError, match="did you mean '03_toy'"):
        exercises.get("03_tyo")


def test_what_only_looks_like_a_number_is_no_exercise(folder: Path):
    """Kills: ValueError for a digit that is no decimal."""
    with pytest.raises(LookupError, match="There is no page '²'"):
        exercises.get("²")


def test_the_module_has_answers_but_neither_examples_nor_the_setup_call(folder: Path):
    """Kills: a module that runs a worked example, or prints the set-up line on import."""
    module = exercises.load("toy")
    assert module.double(4) == 8
    assert module.seen == []
    assert module.LOADED_QUIETLY is True
    assert LOADING.get() is False
    assert module.__exercise__.slug == "03_toy"


def test_replaced_answers_and_hidden_cases(folder: Path):
    """Kills: a run_page_check that leaves the hidden cases out, or never asks for the visible."""
    assert page_checks.run_page_check(exercises.load("toy"), "double").passed
    wrong = exercises.load("toy", {"double": ABS})
    assert page_checks.run_page_check(wrong, "double", hidden=False).passed
    for hidden in (True, None):
        report = page_checks.run_page_check(wrong, "double", hidden=hidden)
        assert not report.passed and [row.note for row in report.cases] == ["below zero"]
    report = page_checks.run_page_check(exercises.load("toy", {"double": "double = 3"}), "double")
    assert report.state == "not attempted" and "double is int" in report.finding.sentence


def test_an_unknown_key_is_refused(folder: Path):
    with pytest.raises(KeyError, match="no answer with the key 'triple'"):
        exercises.load("toy", {"triple": ABS})
    with pytest.raises(KeyError, match="no check with the key 'triple'"):
        page_checks.run_page_check(exercises.load("toy"), "triple")


def test_the_same_page_in_two_folders_is_two_modules(folder: Path, tmp_path_factory):
    """Kills: a check of one folder's page with the cases of the other."""
    other = Exercise(write(tmp_path_factory.mktemp("other"), "03_toy"))
    mine, theirs = exercises.load("toy"), exercises.load(other)
    assert mine.__exercise__.path != theirs.__exercise__.path == other.path
    assert exercises.load("toy") is mine and exercises.load(other) is theirs


def test_reference_finds_a_solution_by_function_name(folder: Path):
    assert exercises.reference("double")(5) == 10
    with pytest.raises(LookupError, match="did you mean 'double'"):
        exercises.reference("duoble")


def test_a_broken_gap_names_file_and_line(folder: Path):
    write(folder, "03_toy", TEXT.replace("    ### END SOLUTION\n", ""))
    with pytest.raises(SourceError, match=r"03_toy/page.py, line 31: .* never closed"):
        exercises.load("toy")
