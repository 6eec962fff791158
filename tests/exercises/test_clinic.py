"""The clinic's pages: a cause is asked for first, and counts with a mended kernel alone."""

from __future__ import annotations

import re

import pytest
from patients import as_it_came, judged

from tritonbook.course import gaps
from tritonbook.course.cases import checks
from tritonbook.course.exercises import Exercise, get
from tritonbook.course.mutants import wrong_answers

SLUGS = ("90_debug", "91_profile", "92_debug_hard", "93_profile_hard")
PAGES = [pytest.param(get(slug), id=slug) for slug in SLUGS]
PATIENTS = [
    pytest.param(page.values[0], key, id=key) for page in PAGES for key in page.values[0].answers()
]


@pytest.mark.parametrize("page", PAGES)
def test_the_page_s_table_names_what_the_checks_know(page: Exercise):
    """Kills: a cause that a check calls unknown, or one that no table shows."""
    (table,) = [c.source for c in page.cells if "| name | cause |" in c.source]
    shown = set(re.findall(r'^\| `"([^"]+)"` \|', table, flags=re.MULTILINE))
    for key, check in checks(page).items():
        with pytest.raises(AssertionError, match="no name of the table") as error:
            check.before[0](None, lambda: "nothing")
        assert set(str(error.value).rpartition("They are: ")[2].rstrip(".").split(", ")) == shown, (
            key
        )


@pytest.mark.parametrize(("page", "key"), PATIENTS)
def test_a_cause_counts_with_a_mended_kernel_alone(page: Exercise, key: str):
    """Kills: a point for a guess. And a mended kernel whose cause nobody has named is told so."""
    broken = as_it_came(page)[key]
    stub = f'raise NotImplementedError("TODO: fill in {key}_cause")'
    solved = gaps.solved_text(page.answers()[key].source)
    named = solved.rstrip().splitlines()[-1].strip()
    assert judged(page, key, broken).state == "not attempted"
    assert judged(page, key, broken.replace(stub, named)).state == "wrong"
    assert judged(page, key, solved.replace(named, stub)).state == "not attempted"


@pytest.mark.parametrize(("page", "key"), PATIENTS)
def test_a_wrong_cause_is_told_what_speaks_against_it(page: Exercise, key: str):
    solved = gaps.solved_text(page.answers()[key].source)
    named = solved.rstrip().splitlines()[-1].strip()
    other = "grid" if page.slug.partition("_")[2].startswith("debug") else "repeated loads"
    report = judged(page, key, solved.replace(named, f'return "{other}"'))
    assert report.state == "wrong"
    assert report.finding.sentence.startswith(
        f"The kernel is mended. But '{other}' is not what ailed it: "
    )
    assert all(row.state == "passed" for row in report.cases)


@pytest.mark.parametrize("page", PAGES)
def test_every_other_name_of_the_table_is_told_what_speaks_against_it(page: Exercise):
    """Kills: a cause that is taken for the right one, or two that get the same answer."""
    for key, check in checks(page).items():
        names = [name for name in _known(check) if f'"{name}"' not in page.answers()[key].source]
        told = set()
        for name in names:
            with pytest.raises(AssertionError, match=f"{name}' is not what ailed it: ") as error:
                check.also[-1](None, lambda name=name: name)
            told.add(str(error.value).partition("ailed it: ")[2])
        assert len(names) in (9, 11)  # all of the table but one
        assert all(sentence.endswith(".") for sentence in told), told


def _known(check) -> list[str]:
    with pytest.raises(AssertionError) as error:
        check.before[0](None, lambda: "nothing")
    return str(error.value).rpartition("They are: ")[2].rstrip(".").split(", ")


@pytest.mark.parametrize(("page", "key"), PATIENTS)
def test_ten_right_mends_and_twenty_wrong_ones(page: Exercise, key: str):
    """The kill matrix drives them: each right one is accepted, each wrong one gets its cause."""
    found = wrong_answers(page)
    assert len(found.variants[key]) >= 10 and len(found.mutants[key]) >= 20
