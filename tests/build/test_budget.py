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
        ("minutes: 6", "minutes: 30", "it states 30 minutes, and looks like 6"),
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
