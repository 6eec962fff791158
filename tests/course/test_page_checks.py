"""cases.py as data: found by name, a package of its page, read again when its text changed."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import pytest
from small_page import write_page

from tritonbook.course import exercises, page_checks
from tritonbook.course.exercises import Exercise
from tritonbook.course.source import SourceError
from tritonbook.notebook import LOADING

PAGE = """\
# %% tags=["setup"]
import torch

# %% tags=["reference"]
FACTOR = 3


def {name}_ref(x):
    return FACTOR * x


def {name}_through(x):
    return {name}(x) + 1

# %% tags=["answer"] key="{name}"
def {name}(x):
    ### BEGIN SOLUTION
    return 3 * x
    ### END SOLUTION

# %% tags=["check"] key="{name}" points=1
check({name})
"""
CASES = """\
from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import at_first
from tritonbook.notebook import LOADING

from ..shared import sizes
from .page import {name}, {name}_ref

QUIET = LOADING.get()


def property_of(answer):
    assert QUIET and {name}_ref(1)


CHECKS = {{
    "{name}": Check(
        {name}_ref,
        cases=[
            case("small", x=tensor(sizes.SMALL)),
            case("large", x=tensor(9, 9)),
            case("refused", x=tensor(99, 99), raises=ValueError),
        ],
        hidden=[case("seven", x=tensor(7))],
        asks=[at_first(property_of)],
        triton=False,
    )
}}
"""


def write(folder: Path, slug: str) -> Exercise:
    name = slug[3:]
    page = write_page(folder, slug, PAGE.format(name=name), cases=CASES.format(name=name))
    return Exercise(page)


@pytest.fixture
def page(tmp_path: Path, monkeypatch) -> Exercise:
    """A course of two pages, triple and treble, and a module that both share. Gives the first."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "sizes.py").write_text("SMALL = 5\n")
    monkeypatch.setenv("TRITONBOOK_EXERCISES", str(tmp_path))
    write(tmp_path, "04_treble")
    return write(tmp_path, "03_triple")


def text_of(page: Exercise) -> Path:
    return page.path.with_name("cases.py")


def test_cases_see_their_page_as_solved_and_what_pages_share(page: Exercise):
    """Kills: a page that is run twice, once for its cases; cases of one page with another's."""
    (check,) = page_checks.checks("triple").values()
    assert check.reference is exercises.load("triple").triple_ref
    assert check.cases[0].arguments["x"].shape == (5,)
    (other,) = page_checks.checks("treble").values()
    assert other.reference.__name__ == "treble_ref"
    assert page_checks.checks(page) is page_checks.checks(3)


def test_cases_are_loaded_quietly_and_their_source_can_be_read(page: Exercise):
    """Kills: `setup` of a page that prints into a learner's notebook; a kernel in cases.py whose
    source Triton cannot find."""
    names = page_checks.checks(page)["triple"].reference.__globals__
    assert names["FACTOR"] == 3 and not LOADING.get()
    (ask,) = page_checks.checks(page)["triple"].asks
    property_of = ask.finds
    assert property_of.__globals__["QUIET"] is True
    assert "triple_ref(1)" in inspect.getsource(property_of)


def test_a_changed_cases_file_is_read_again(page: Exercise):
    """Kills: an author who sees the cases of before. The time of the file stays: bytecode that
    Python kept would look as good as new."""
    before = page_checks.checks(page)
    path, seconds = text_of(page), text_of(page).stat().st_mtime_ns
    path.write_text(path.read_text().replace("tensor(7)", "tensor(8)"))
    os.utime(path, ns=(seconds, seconds))
    assert page_checks.checks(page)["triple"].hidden[0].arguments["x"].shape == (8,)
    assert before["triple"].hidden[0].arguments["x"].shape == (7,)
    assert not list(page.path.parent.glob("__pycache__"))


def test_cases_follow_a_changed_page(page: Exercise):
    """Kills: a reference of before in a check of now."""
    assert page_checks.checks("triple")["triple"].reference(1) == 3
    page.path.write_text(page.path.read_text().replace("FACTOR = 3", "FACTOR = 4"))
    assert page_checks.checks("triple")["triple"].reference(1) == 4


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("CHECKS = {", "CHECKS = [", r"cases\.py, line \d+: this is not Python"),
        ("CHECKS = {", "OTHER = {", r"line 1: CHECKS is no dict of Check\(\.\.\.\); end the file"),
        ("tensor(7)", "tensor(7, values='odd')", r"line 23: the cases cannot be read \(ValueError"),
        ("import sizes", "import size", r"line 5: the cases cannot be read \(ImportError"),
    ],
)
def test_cases_that_cannot_be_used_are_named(page: Exercise, old: str, new: str, said: str):
    """Kills: a traceback in which cases.py is one name among many."""
    text_of(page).write_text(text_of(page).read_text().replace(old, new))
    with pytest.raises(SourceError, match=said) as caught:
        page_checks.checks(page)
    assert str(caught.value).startswith("03_triple/cases.py") and "\n" not in str(caught.value)


def test_a_page_without_cases_is_named(page: Exercise):
    text_of(page).unlink()
    with pytest.raises(SourceError, match=r"03_triple/cases.py, line 1: the file is missing; add"):
        page_checks.checks(page)


def test_a_name_that_is_like_no_other_gets_no_suggestion(page: Exercise):
    with pytest.raises(LookupError, match=r"called 'zzz'\. `tritonbook progress"):
        page_checks.find_check("zzz")


def test_what_a_check_calls(page: Exercise):
    asked = page_checks.call(page, "triple")
    assert asked.function is exercises.load(page).triple and asked.key == "triple"
    answer = exercises.load(page, {"triple": "def triple(x):\n    return 5 * x"})
    assert page_checks.call(page, "triple", answer).function(1) == 5


def test_what_a_check_calls_through_another_function(page: Exercise):
    """Kills: a bench or a table of kernels that calls the answer with arguments of the other."""
    text = text_of(page).read_text()
    text_of(page).write_text(text.replace("triton=False", 'triton=False, through="triple_through"'))
    assert page_checks.call(page, "triple").function(1) == 4
    report = page_checks.run_page_check(exercises.load(page), "triple")
    assert report.finding.code == "wrong-values" and report.key == "triple"


def test_pictures_are_a_module_of_the_page(page: Exercise):
    """Kills: a page that is imported as it stands, so that its check cells run."""
    page.path.with_name("pictures.py").write_text("from .page import FACTOR\nWIDE = 2 * FACTOR\n")
    assert page_checks.pictures("triple").WIDE == 6
    with pytest.raises(LookupError, match="04_treble has no pictures.py"):
        page_checks.pictures("treble")
