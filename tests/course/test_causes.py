"""The helper that names the cause of what was wrong on a GPU: it needs none itself."""

import pytest
from small_page import write_page

from tritonbook.build import matrix
from tritonbook.checking import plain, runner
from tritonbook.checking.report import Finding
from tritonbook.checking.runner import called
from tritonbook.course import causes, exercises, gaps
from tritonbook.course.page_checks import checks, run_page_check, with_causes


def said_in_the_helper(page, key, mutant, note=""):
    exercise = exercises.get(page)
    attempts = {each.name: each.text for each in matrix.attempts(exercise, key)}
    module = exercises.load(exercise, {key: attempts[mutant]} if attempts[mutant] else None)
    answer = called(getattr(module, key), checks(exercise)[key], vars(module).__getitem__)
    return causes.in_the_interpreter(exercise, key, answer, note)


@pytest.mark.parametrize(
    ("page", "key", "mutant", "code"),
    [
        ("04_softmax", "softmax", "maximum-not-subtracted", "maximum-not-subtracted"),
        ("04_softmax", "softmax", "no-store-mask", "out-of-bounds-store"),
        # Called through a function of the page's own, which is written down with it.
        ("13_layernorm", "welford_combine", "from-mean-b", "from-mean-b"),
    ],
)
def test_the_interpreter_names_a_cause(page, key, mutant, code):
    found = said_in_the_helper(page, key, mutant)
    assert found.code == code and found.sentence


def test_a_place_is_no_cause_and_what_is_right_has_none():
    assert said_in_the_helper("04_softmax", "softmax", "last-row-left-out") is None
    assert said_in_the_helper("04_softmax", "softmax", "as solved") is None


def test_what_cannot_be_written_down_has_no_cause():
    answer = type("Answer", (), {"__call__": lambda self, x: x})()
    assert causes.in_the_interpreter(exercises.get("04"), "softmax", answer, "") is None


def test_what_the_interpreter_says_takes_the_place_of_a_finding():
    """Kills: a crash whose cause is known, and a notebook that is not told to start again."""
    exercise = exercises.get("04")
    check = with_causes(exercise, "softmax", checks(exercise)["softmax"])
    asked = []

    def elsewhere(fn, note):
        asked.append(note)
        return Finding("a-cause", "This is why.")

    for code, more in (("wrong-values", ""), ("crashed", f" {runner.STOPPED}")):
        battery = runner.Battery(None, runner.replace(check, elsewhere=elsewhere), "softmax", [])
        found = runner._in_the_interpreter(battery, Finding(code, "It is wrong."), "one tile")
        assert found.code == "a-cause" and found.sentence == f"This is why.{more}"
    assert asked == ["one tile"] * 2


PLAIN = """
# %% tags=["setup"]
import torch

# %% tags=["answer"] key="half"
def half(n):
    ### BEGIN SOLUTION
    while n % 2:
        n += 1
    return n // 2
    ### END SOLUTION

# %% tags=["check"] key="half" points=1
check(half)
"""
CASES = """
from tritonbook.checking import Check, case

CHECKS = {"half": Check(lambda n: -(-n // 2), [case("odd", n=5), case("even", n=4)], triton=False)}
"""
WRONG = """
from tritonbook.course.mutants import Mutant

MUTANTS = {"half": [
    Mutant("spins", "{n += 1 -> pass}", says="It never ends."),
    Mutant("whole", "{n // 2 -> n}", says="It is not halved."),
]}
"""


@pytest.mark.parametrize(("seconds", "code"), [(15.0, "whole"), (0.1, "wrong-values")])
def test_a_mutant_of_a_plain_function_that_spins_is_passed_over(
    seconds, code, tmp_path, monkeypatch
):
    """Kills: its time limit that ends the check, or is waited for by each of them in turn."""
    page = write_page(tmp_path, "17_half", PLAIN, cases=CASES, wrong=WRONG)
    monkeypatch.setattr(causes, "WORK", 0.3)
    monkeypatch.setattr(plain, "SECONDS", seconds)
    module = exercises.load(
        exercises.Exercise(page), {"half": "def half(n):\n    return n + n % 2"}
    )
    assert run_page_check(module, "half", hidden=False).finding.code == code


def test_where_all_there_is_to_say_is_a_place_one_change_of_the_answer_is_looked_for():
    """Kills: a card that leaves a learner with the rows that are wrong; the line in any form."""
    page, key = "01_vector_add", "add_strided"
    solved = gaps.solved_text(exercises.get(page).answers()[key].source)
    right, wrong = (
        "offs_m * stride_ym + offs_n * stride_yn",
        "stride_yn * offs_n + offs_m",
    )
    assert right in solved
    module = exercises.load(page, {key: solved.replace(right, wrong)})
    found = run_page_check(module, key, hidden=False).finding
    assert "One change makes all cases right. In `" in found.sentence
    assert "stride_yn * offs_n + offs_m" in found.sentence


def test_where_an_address_may_be_off_the_loop_that_makes_it_is_looked_at():
    """Kills: "... or the address is off", with nothing more, of a walk that begins below 0."""
    page, key = "46_window_sinks", "window_decode"
    solved = gaps.solved_text(exercises.get(page).answers()[key].source)
    right, wrong = "range(tl.maximum(length - window, 0)", "range(length - window"
    assert right in solved
    module = exercises.load(page, {key: solved.replace(right, wrong)})
    found = run_page_check(module, key, hidden=False).finding
    assert found.code == "reads-outside" and "or the address is off" in found.sentence
    assert f"In `for start in {wrong}, length, BLOCK_N):` the loop begins" in found.sentence
