"""The clinic's pages: a cause is asked for first, and counts with a mended kernel alone."""

from __future__ import annotations

import ast
import re

import pytest
import torch
from patients import as_it_came, mended, stub_and_cause, symptom

from tritonbook import facts, traffic
from tritonbook.checking.asks import FIRST, LAST
from tritonbook.course.exercises import Exercise, get, load
from tritonbook.course.mutants import wrong_answers
from tritonbook.course.page_checks import checks

SLUGS = ("90_debug", "91_profile", "92_debug_hard", "93_profile_hard")
PAGES = [pytest.param(get(slug), id=slug) for slug in SLUGS]
PATIENTS = [
    pytest.param(page.values[0], key, id=key) for page in PAGES for key in page.values[0].answers()
]


def _known(check) -> list[str]:
    with pytest.raises(AssertionError, match="no name of the table") as error:
        check.asked(FIRST)[0].finds(None, lambda: "nothing")
    return str(error.value).rpartition("They are: ")[2].rstrip(".").split(", ")


@pytest.mark.parametrize("page", PAGES)
def test_the_page_s_table_names_what_the_checks_know(page: Exercise):
    """Kills: a cause that a check calls unknown, or one that no table shows."""
    (table,) = [c.source for c in page.cells if "| name | cause |" in c.source]
    shown = set(re.findall(r'^\| `"([^"]+)"` \|', table, flags=re.MULTILINE))
    for key, check in checks(page).items():
        assert set(_known(check)) == shown, key


# What a slow patient may be refused for: its values are right.
SLOW = {"91_profile": ("slow", "property"), "93_profile_hard": ("slow", "float32-product")}


@pytest.mark.parametrize(("page", "key"), PATIENTS)
def test_a_cause_counts_with_a_mended_kernel_alone(page: Exercise, key: str):
    """What the kill matrix judges is what the page shows. Kills: a point for a guess; a slow
    patient that is wrong, and not only slow. And a mended kernel whose cause nobody has named is
    told so."""
    wrong, (stub, cause) = wrong_answers(page), stub_and_cause(page, key)
    found = {mutant.name: mutant for mutant in wrong.mutants[key]}
    named, not_named = found["as-it-came-and-named"], found["mended-and-not-named"]
    broken = as_it_came(page)[key].replace(stub, cause)
    assert ast.dump(ast.parse(wrong.text(key, named))) == ast.dump(ast.parse(broken))
    assert set(named.codes) <= set(SLOW.get(page.slug, named.codes))
    assert wrong.text(key, not_named) == mended(page)[key].replace(cause, stub)
    assert not_named.codes == ("not-attempted",)


# What a patient's symptom cell prints, and what it prints once the patient is mended.
COMPLAINTS = {
    ("90_debug", "standardise"): (
        ("around 3:       rows [0, 1, 2, 3] of 4 wrong",),
        ("33 columns around 3:       right",),
    ),
    ("90_debug", "square_sum"): (("[1200.0, 2400.0, 3600.0]\n",), ("[1200.0, 1200.0, 1200.0]",)),
    ("90_debug", "bias_gradient"): (
        ("[200.0, 1000.0, 2048.0]", "[200.0, 256.0, 256.0]"),
        # The last is the page's prediction.
        ("[200.0, 1000.0, 3000.0]\ntorch.float16", "[200.0, 1000.0, 3008.0]"),
    ),
    ("90_debug", "rope_rows"): (
        (
            "both prompts:              rows [1] of 2 wrong",
            "program 3 row 3 column 0 to row 3 column 1",
        ),
        ("both prompts:              right",),
    ),
    ("90_debug", "picked_logits"): (
        ("reads outside `z` (up to 100 elements before its start) with 1 lane",),
        ("37 masked lanes",),
    ),
    ("91_profile", "scale_columns"): (
        ("asked for 33,280 bytes, moved 266,240", "0 of them vectors"),
        ("asked for 49,152 bytes, moved 49,152", "4, 4 of them vectors"),
    ),
    ("91_profile", "tall_sums"): (("grid of programs          8\n",), ("8 × 256",)),
    ("91_profile", "average_step"): (
        ("{'n': 1000, 'decay': 0.18", "{'n': 1000, 'decay': 0.25", "{'n': 1001"),
        ("step 1, 1000 numbers: compiled for {'BLOCK': 1024}", "1001 numbers: compiled for {'B"),
    ),
    ("91_profile", "clip_gradient"): (("read by Python: 1",), ("read by Python: 0",)),
    ("92_debug_hard", "shift_gradient"): (
        ("first to last: wrong rows []\nlast to first: wrong rows [15, 31]",),
        ("last to first: wrong rows []",),
    ),
    ("92_debug_hard", "window_attend"): (
        ("NaN at these numbers of keys: 64 to 99",),
        ("NaN at these numbers of keys: none",),
    ),
    ("92_debug_hard", "row_squares"): (
        (
            "128 columns: [128.0, 128.0]\n100 columns: [nan, nan]\n"
            "120 columns: [120.0, 120.0]\n90 columns: [nan, nan]",
        ),
        ("100 columns: [100.0, 100.0]",),
    ),
    ("92_debug_hard", "cache_rows"): (
        ("layer 0: rows that changed: [3]\nlayer 1: rows that changed: [0, 2]",),
        ("layer 0: rows that changed: []\nlayer 1: rows that changed: [0, 2]",),
    ),
    ("92_debug_hard", "expert_sums"): (
        ("[32, 48] [32.0, 16.0]\nStopped after 2 s.",),
        ("[20, 48] [20.0, 28.0]",),
    ),
}


@pytest.mark.parametrize(("slug", "key"), COMPLAINTS)
def test_the_complaint_is_there_and_goes_with_the_mend(slug: str, key: str, capsys):
    page, (ill, well) = get(slug), COMPLAINTS[slug, key]
    came = symptom(page, key, as_it_came(page)[key], capsys)
    assert all(words in came for words in ill), came
    said = symptom(page, key, mended(page)[key], capsys)
    assert all(words in said for words in well), said
    assert not any(words in said for words in (*ill, "nan", "Stopped", "wrong, by")), said


PROFILE, HARD = get("91_profile"), get("92_debug_hard")


def test_eight_times_by_the_sector():
    """The prediction of patient A: 32 bytes for each float32."""
    fn = load(PROFILE, {"scale_columns": as_it_came(PROFILE)["scale_columns"]}).scale_columns
    seen = traffic(fn, torch.randn(64, 64), torch.randn(64), block=32)
    assert seen.moved == 8 * seen.bytes


def test_two_kernels_for_all_lengths():
    """The prediction of patient C: multiples of 16, and the others."""
    fn = load(PROFILE).average_step
    texts = set()
    for n in (1000, 1001, 1007, 1008, 1024):
        for step in (2, 3):
            (kernel,) = facts(fn, torch.empty(n), torch.empty(n), step)
            texts.add(kernel.ptx)
    assert len(texts) == 2


def test_patient_6_is_seen_by_traffic():
    """The hint: a cell at which two programs meet, without running anything backwards."""
    given = torch.randn(40, 4)
    ill = load(HARD, {"shift_gradient": as_it_came(HARD)["shift_gradient"]}).shift_gradient
    assert "another program" in str(traffic(ill, given, 0.5))
    assert "another program" not in str(traffic(load(HARD).shift_gradient, given, 0.5))


@pytest.mark.parametrize("page", PAGES)
def test_every_other_name_of_the_table_is_told_what_speaks_against_it(page: Exercise):
    """Kills: a cause that is taken for the right one, or two that get the same answer."""
    for key, check in checks(page).items():
        names = [name for name in _known(check) if f'"{name}"' not in page.answers()[key].source]
        told = set()
        for name in names:
            told_apart = f"The kernel is mended. But '{name}' is not what ailed it: "
            with pytest.raises(AssertionError, match=told_apart) as error:
                check.asked(LAST)[-1].finds(None, lambda name=name: name)
            told.add(str(error.value).partition("ailed it: ")[2])
        assert len(names) in (9, 11)  # all of the table but one
        assert all(sentence.endswith(".") for sentence in told), told


@pytest.mark.parametrize(("page", "key"), PATIENTS)
def test_ten_right_mends_and_twenty_wrong_ones(page: Exercise, key: str):
    """The kill matrix drives them: each right one is accepted, each wrong one gets its cause."""
    found = wrong_answers(page)
    assert len(found.variants[key]) >= 10 and len(found.mutants[key]) >= 20
