"""The budget of a page: what is counted, and that a page over it is named."""

from __future__ import annotations

import pytest

from tritonbook.build import budget
from tritonbook.build.release import Release
from tritonbook.course.exercises import Exercise

RELEASE = Release("https://github.com/someone/somewhere", "1.2.3")
IDEA = "One paragraph and a picture."
STORE = "    tl.store(out_ptr + offs, 2 * x, mask=mask)\n    ### END"


def said(course) -> list[str]:
    return [str(error) for error in budget.problems(course.exercise, RELEASE)]


def test_what_is_counted(course):
    """Kills: folded text among the words, comments of a gap among its lines, blank lines."""
    before = budget.size(course.exercise, RELEASE)
    folded = "<details><summary>More</summary> seven words that nobody has to read </details>"
    course.edit(IDEA, f"Two words. {folded}")
    course.edit(STORE, f"    # why\n\n{STORE}")
    after = budget.size(course.exercise, RELEASE)
    assert after["words"] == before["words"] + 2 - len(IDEA.split())
    assert after["folded"] == before["folded"] + 9
    assert (after["to write"], after["largest gap"], after["first kernel gap"]) == (2, 2, 2)
    assert after["code"] == before["code"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (IDEA, "word " * 1400, ", and 1300 is the most"),
        (STORE, "    x += 1\n" * 20 + STORE, "largest gap: 22, and 18 is the most"),
        (STORE, "    x += 1\n" * 7 + STORE, "first kernel gap: 9, and 8 is the most"),
        ("# %%\nprogress()", "# %%\n" + "progress()\n" * 231, ", and 230 is the most"),
        ("    return 2 * x", "    x = 1\n" * 30 + "    return 2 * x", ", and 30 is the most"),
        ("minutes: 6", "minutes: 30", "it states 30 minutes, and looks like"),
        ("minutes: 6", "minutes: 1", "it states 1 minutes, and looks like"),
    ],
)
def test_a_page_over_its_budget_is_named(course, old: str, new: str, sentence: str):
    assert said(course) == []
    course.edit(old, new)
    assert any(sentence in text for text in said(course)), said(course)


def with_more_tasks(text: str, count: int) -> str:
    """The template's page with its task again, under `count` other names."""
    start, stop = text.index('# %% tags=["answer"]'), text.index("# %% [markdown]\n# ## Recap")
    more = "".join(text[start:stop].replace("twice", f"twice_{i}") for i in range(count))
    return text[:stop] + more + text[stop:]


@pytest.mark.parametrize(("slug", "most"), [("18_twice", 3), ("97_twice", 6)])
def test_at_most_three_tasks_and_six_patients_in_the_clinic(course, slug, most):
    page = course.copied(slug)
    page.write_text(with_more_tasks(page.read_text(), most))
    problems = [str(error) for error in budget.problems(Exercise(page), RELEASE)]
    assert any(f"tasks: {most + 1}, and {most} is the most" in sentence for sentence in problems)


def test_a_blank_page_has_a_budget_of_its_own(course):
    """Kills: a whole kernel that counts as a gap, or one that may be as long as it likes."""
    gap = "### BEGIN SOLUTION\ndef helper(x):\n{body}    return x\n### END SOLUTION\n\n\n"
    first = "@triton.jit\ndef twice_kernel"
    course.edit(first, gap.format(body="    x += 1\n" * 20) + first)
    assert budget.size(course.exercise, RELEASE)["blank page"] > 20
    assert not any("largest gap" in text for text in said(course))
    course.edit("    return x\n###", "    x += 1\n" * 20 + "    return x\n###")
    assert any("blank page" in text for text in said(course))


# What pages had when readers worked through them, and the minutes that they took: part, words,
# folded words, lines of code, lines to write of each task.
READERS = {
    "00_start_here": (0, 1064, 219, 48, [5, 5], 37),
    "01_vector_add": (0, 1238, 294, 113, [5, 8], 50),
    "02_measure": (0, 1296, 354, 119, [9, 3, 4], 63),
    "03_gelu_fusion": (0, 1291, 512, 166, [3, 4, 10], 75),
    "12_rmsnorm_choose": (1, 1268, 389, 133, [32, 7], 48),
    "21_matmul_grouped": (2, 1188, 444, 165, [5, 3, 33], 45),
    "22_autotune": (2, 1300, 373, 195, [11, 4, 8], 46),
    "41_flash_attention": (4, 1299, 423, 115, [9, 35], 62),
    "45_llama_decode_train": (4, 1222, 313, 216, [8, 6, 5], 50),
    "50_split_kv_decode": (5, 1291, 332, 185, [7, 13], 50),
    "90_debug": (9, 1111, 704, 200, [3, 2, 2, 2, 2], 45),
}


@pytest.mark.parametrize("page", READERS)
def test_minutes_are_those_that_readers_needed(page):
    """Kills: a formula by which page 00 takes the 25 minutes that it used to state."""
    part, words, folded, code, written, took = READERS[page]
    needed = budget.estimate(part, words=words, folded=folded, code=code, written=written)
    assert 0.75 <= took / needed <= 1.25, needed


def test_what_is_voluntary_takes_no_minutes(course):
    """Kills: minutes that count a stretch task, or the set-up cell, which is folded."""
    before = budget.minutes(course.exercise, RELEASE)
    course.edit(STORE, "    x += 1\n" * 9 + STORE)
    assert budget.minutes(course.exercise, RELEASE) > before + 7
    text = course.path.read_text()
    for tag in ("answer", "check"):
        text = text.replace(f'tags=["{tag}"]', f'tags=["{tag}", "stretch"]')
    course.path.write_text(text)
    assert budget.minutes(course.exercise, RELEASE) < before
