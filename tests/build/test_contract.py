"""Every rule of an exercise file: a file that breaks it is named in its sentence."""

from __future__ import annotations

import re

import pytest

from tritonbook.build import contract, sync
from tritonbook.build.release import Release
from tritonbook.course.exercises import Exercise

RELEASE = Release("https://github.com/someone/somewhere", "1.2.3")
LOADS = "    x = tl.load(x_ptr + offs, mask=mask, other=0.0)\n"


def sentences(course) -> list[str]:
    return [str(error) for error in contract.problems(course.exercise, RELEASE)]


def test_the_template_keeps_every_rule(course):
    assert sentences(course) == []


BOX_PLACE = "# %% [markdown]\n# ## Recap"
BOX = f"""\
# %% tags=["predict"]
predict({{"bytes": None}}, measured=[lambda: traffic(twice, 12)], hints=["Count."])

# %% [markdown]
# <details>

{BOX_PLACE}"""

# What the author slipped in: text of the template, what stands there instead, the sentence.
SLIPS = {
    "filled guess": (BOX_PLACE, BOX.replace("None", "3"), "a guess is filled in already"),
    "guesses without a box": (
        BOX_PLACE,
        BOX.replace("predict(", "print("),
        "does not call predict",
    ),
    "guesses that define": (BOX_PLACE, BOX.replace("predict(", "box = predict("), "a name"),
    "guesses without a derivation": (
        BOX_PLACE,
        BOX.replace("<details>", ""),
        "no folded derivation stands below",
    ),
    "a box as it should be": (BOX_PLACE, BOX, None),
    "guesses that measure themselves": (
        BOX_PLACE,
        BOX.replace("traffic(twice, 12)", "4 * triton.cdiv(12, 8)"),
        "a guess is held to a formula: lambda: 4 * triton.cdiv(12, 8)",
    ),
    "code that a list ends": (
        BOX_PLACE,
        f"# %% [markdown]\n# - Add `a\n#   + b` first.\n\n{BOX_PLACE}",
        "`code` has no end before the next item",
    ),
    "code on two lines": (
        BOX_PLACE,
        f"# %% [markdown]\n# - Add `a +\n#   b` first.\n# - Then `c`.\n\n{BOX_PLACE}",
        None,
    ),
    "a sign in a block": (BOX_PLACE, f"# %% [markdown]\n# ```\n# `\n# ```\n\n{BOX_PLACE}", None),
    "nothing promised": ("#     - double a vector, one tile per program\n", "", "'you_will' has 0"),
    "a promise that nothing breaks": (
        "#     - double a vector, one tile per program\n",
        "#     - double a vector, one tile per program\n#     - sing\n",
        "PROMISES does not name what breaks each of 2",
    ),
    "too long": ("minutes: 6", "minutes: 600", "it states 600 minutes, and looks like"),
    "no limits": ("#   limits: {sm_75: no spills, sm_80: no spills}\n", "", "does not promise"),
    "weak limits": ("sm_80: no spills", "sm_80: fits", "does not promise 'no spills' on sm_80"),
    "small limits": ("sm_80: no spills", "sm_80: spills 8", "does not promise 'no spills'"),
    "limits elsewhere": ("sm_75: no spills", "sm_75: spills 8", None),
    "other GPU": ("sm_75: no", "sm_76: no", "names the GPU 'sm_76'; use one of sm_75, sm_80"),
    "vague limits": (
        "sm_75: no spills",
        "sm_75: fine",
        "says 'fine' of sm_75; write fits, no spills",
    ),
    "no set-up": ('# %% tags=["setup"]', "# %%", "is the set-up cell of all notebooks"),
    "own set-up": ("import *\n", "import *\nimport os\n", "is the set-up cell of all notebooks"),
    "code first": (
        '# %% tags=["setup"]',
        '# %%\n1\n\n# %% tags=["setup"]',
        "is the set-up cell of all notebooks",
    ),
    "no hint": ('# %% [markdown] tags=["hint"] key="twice"', "# %% [markdown]", "no hint cell"),
    "two hints": ("<details><summary>Hint 3: the", "Hint 3: the", "three whole <details>"),
    "no check": ('["check"] key="twice" points=2', '["check"] key="thrice" points=2', "no check"),
    "no answer": ('["check"] key="twice" points=2', '["check"] key="thrice" points=2', "no answer"),
    "no points": ("points=2", "points=0", "no check is worth a point"),
    "no gap": ("    ### BEGIN SOLUTION\n", "", "'### END SOLUTION' without its beginning"),
    "no gap at all": (
        "    ### BEGIN SOLUTION\n    x = tl.load(x_ptr + offs, mask=mask, other=0.0)\n\n"
        "    tl.store(out_ptr + offs, 2 * x, mask=mask)\n    ### END SOLUTION\n",
        "    tl.store(out_ptr + offs, 2 * tl.load(x_ptr + offs, mask=mask), mask=mask)\n",
        "the answer 'twice' has no gap",
    ),
    "leak in a comment": (
        "# TODO: load the tile",
        "# TODO: x = tl.load(x_ptr + offs, mask=mask, other=0.0)",
        "the learner can read the solution line 'x = tl.load(",
    ),
    "leak in the hints": (
        "`x = tl.load(...)`, then `tl.store(...)`",
        "`x = tl.load(x_ptr + offs, mask=mask, other=0.0)`\n"
        "# `tl.store(out_ptr + offs, 2 * x, mask=mask)`",
        "the learner can read the solution line",
    ),
    "magic": ("# %%\nprogress()", "# %%\n# %matplotlib inline\nprogress()", "a magic command"),
    "no progress": ("# %%\nprogress()\n", "", "does not end with the learner's progress"),
    "not Python": ("progress()\n", "progress(\n", "this is not Python"),
    "check of another": ("check(twice)\n", "check(thrice)\n", "write check(twice) alone"),
    "a score": ("check(twice)\n", "check(twice)\n2.0\n", "holds something else than the check"),
    "block pointer": (LOADS, "    x = tl.make_block_ptr(x_ptr)\n", "block pointers are gone"),
    "wide line": ("# %%\nprogress()", f"# %%\nprogress()  # {'x' * 90}", "the line has 104"),
    "wide kernel": (LOADS, f"{LOADS}    # {'x' * 90}\n", "a kernel's line has 96 characters"),
    "pointer name": (
        "def twice_kernel(x_ptr,",
        "def twice_kernel(x_ptr, z,",
        None,  # an argument that is no address may have any name
    ),
    "constexpr name": ("BLOCK_SIZE: tl.constexpr", "block: tl.constexpr", "is not in capitals"),
    "capital name": ("out_ptr, n_elements, B", "out_ptr, n_elements, SIZE, B", "but no constexpr"),
    "stride name": (
        "out_ptr, n_elements, B",
        "out_ptr, n_elements, x_row_stride, B",
        "'x_row_stride'",
    ),
    "pointer": ("tl.load(x_ptr +", "tl.load(n_elements +", "'n_elements' does not end in '_ptr'"),
    "limits without a kernel": ("@triton.jit\n", "", "'limits' is there and no kernel is; take"),
    "stale mutant": ("2 * x, mask", "x * 2, mask", "'not-doubled': the text 'offs, 2 * x, mask'"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_gets_its_sentence(course, slip: str):
    old, new, sentence = SLIPS[slip]
    course.edit(old, new)
    found = sentences(course)
    if sentence is None:
        assert found == []
        return
    assert any(sentence in text for text in found), found
    for text in found:
        assert re.match(r"17_twice/(page|cases|wrong)\.py, line \d+: ", text)
        assert text.endswith(".") and "; " in text and "\n" not in text


THRICE = '    "thrice": Check('
# What the author slipped in cases.py, and the sentence with the line that it points at.
CASES_SLIPS = {
    "a name that is not there": (
        "twice_ref,\n        cases",
        "thrice_ref,\n        cases",
        "the cases cannot be read (NameError: name 'thrice_ref' is not defined); mend this line.",
        "        thrice_ref,",
    ),
    "another key": ('"twice": Check', '"thrice": Check', "the page has no check 'thrice'", THRICE),
    "a check left out": (
        '"twice": Check',
        '"thrice": Check',
        "cases.py does not say what the check 'twice' tries; add CHECKS['twice'] there",
        '# %% tags=["check"] key="twice" points=2',
    ),
    "nothing hidden": (
        "        ],\n        asks=[launches(1)],",
        "        ][:0],\n        asks=[launches(1)],",
        "the check 'twice' has no hidden case; add hidden=[case(...)].",
        '    "twice": Check(',
    ),
}


@pytest.mark.parametrize("slip", CASES_SLIPS)
def test_a_slip_in_the_cases_gets_its_sentence(course, slip: str):
    """Kills: a broken cases.py told as a traceback, or as a fault of the page."""
    old, new, sentence, line = CASES_SLIPS[slip]
    course.edit(old, new, course.cases)
    errors = contract.problems(course.exercise, RELEASE)
    (error,) = [error for error in errors if sentence in str(error)]
    assert str(error).startswith(f"17_twice/{error.path.name}, line ")
    assert str(error).endswith(".") and "\n" not in str(error)
    assert error.path.read_text().splitlines()[error.line - 1] == line


def test_a_page_whose_cells_fail_is_named_and_not_its_cases(course):
    """Kills: an author sent to cases.py, which only imports the page."""
    course.edit("    return 2 * x\n", "    return 2 * x\n\n\nMEAN = twice_ref(none)\n")
    (error,) = contract.problems(course.exercise, RELEASE)
    assert error.path == course.path and "the cells cannot be run (NameError: " in str(error)
    assert course.path.read_text().splitlines()[error.line - 1] == "MEAN = twice_ref(none)"


def test_the_sentence_points_at_the_line(course):
    course.edit(LOADS, f"{LOADS}    # {'x' * 90}\n")
    (error,) = contract.problems(course.exercise, RELEASE)
    assert course.path.read_text().splitlines()[error.line - 1] == f"    # {'x' * 90}"


def test_a_checked_key_needs_a_wrong_answer(course):
    course.wrong.unlink()
    assert any("nothing proves that the check 'twice'" in text for text in sentences(course))


def test_a_finding_that_no_check_gives_is_named(course):
    """Kills: what a mutant may be refused for, under a name that is gone."""
    course.edit('seen="should-raise"', 'seen=("should-raise", "reads-neighbour")', course.wrong)
    assert any("no check gives 'reads-neighbour'" in text for text in sentences(course))


def test_two_answers_with_one_key(course):
    text = course.path.read_text()
    cell = text[text.index('# %% tags=["answer"]') : text.index("# %% [markdown] tags=")]
    course.path.write_text(text + "\n" + cell)
    assert any("the key 'twice' has two answer cells" in text for text in sentences(course))


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
    [
        ("18_more", "", "", "the key 'twice' is in 17_twice too"),
        ("17_zwei", "", "", "17_twice has the number 17 too"),
        (
            "18_more",
            "requires: []",
            "requires: [19_last]",
            "requires '19_last', which is no earlier",
        ),
    ],
)
def test_rules_between_exercises(course, name: str, old: str, new: str, sentence: str):
    other = course.copied(name)
    other.write_text(other.read_text().replace(old, new) if old else other.read_text())
    found = [str(e) for e in contract.course_problems([course.exercise, Exercise(other)])]
    assert any(sentence in text for text in found), found


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        ("", True),
        ("# %% [markdown]\n# `tl.trans(x)` turns a tile.\n\n", False),
        (
            "# %% [markdown]\n# <details><summary>x</summary>\n# `tl.trans(x)`\n# </details>\n\n",
            True,
        ),
    ],
)
def test_what_a_gap_needs_is_shown_before_it(course, shown: str, told: bool):
    """Kills: a task that needs a function which no page has named, or in a fold alone."""
    course.edit("2 * x, mask", "2 * tl.trans(x), mask")
    course.edit('# %% tags=["answer"]', f'{shown}# %% tags=["answer"]')
    found = [str(error) for error in contract.course_problems([course.exercise])]
    assert any("the answer 'twice' needs tl.trans, shown nowhere yet" in e for e in found) == told


def test_a_broken_file_does_not_stop_the_others(course):
    course.copied("18_more")
    course.edit("points=2", "")
    built = sync.build(course.root)
    assert [error.path.name for error in built.broken] == ["page.py"]
    assert "17_twice/page.py, line " in str(built.broken[0])
    assert {path.stem for path in built.files} == {"18_more"}
    assert built.left_over() == []  # nothing is removed on the word of half a course
