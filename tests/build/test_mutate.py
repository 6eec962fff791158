"""Machine-made mistakes: what is made, and that no check accepts one without a reason."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tritonbook.build import matrix, mutate
from tritonbook.build.kept import drawn
from tritonbook.course.exercises import exercises
from tritonbook.course.mutations import Change, mutations

ROOT = Path(__file__).parents[2]
# Changes of each answer; one, on one page in so many drawn by --seed, without --thorough. `make
# mutate` tries them all.
SAMPLE, FEW = 2, 10

ANSWER = """\
@triton.jit
def sum_kernel(x_ptr, out_ptr, N, stride_xm, stride_om, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    ### BEGIN SOLUTION
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + pid * stride_xm + offs, mask=offs < N, other=0.0).to(tl.float32)
    tl.store(out_ptr + pid * stride_om, tl.sum(tl.where(x > 0, x, 0.0), axis=0))
    ### END SOLUTION"""


def changed() -> dict[str, str]:
    return {change.name.partition(" => ")[2]: change.text for change in mutations(ANSWER)}


@pytest.mark.parametrize(
    "line",
    [
        "x = tl.load(x_ptr + pid * stride_xm + offs, other=0.0).to(tl.float32)",
        "x = tl.load(x_ptr + pid * stride_xm + offs, mask=offs < N).to(tl.float32)",
        "x = tl.load(x_ptr + pid * stride_xm + offs, mask=offs <= N, other=0.0).to(tl.float32)",
        "x = tl.load(x_ptr + pid * stride_om + offs, mask=offs < N, other=0.0).to(tl.float32)",
        "x = tl.load(x_ptr + pid + offs, mask=offs < N, other=0.0).to(tl.float32)",
        "x = tl.load(x_ptr + pid * stride_xm + offs, mask=offs < N, other=0.0)",
        "tl.store(out_ptr + pid * stride_om, tl.sum(x, axis=0))",
        "tl.store(out_ptr + pid * stride_om, tl.sum(tl.where(x > 0, x, 0.0), axis=1))",
        "tl.store(out_ptr + pid * stride_om, tl.max(tl.where(x > 0, x, 0.0), axis=0))",
        "pass",
    ],
)
def test_the_mistakes_of_kernels_are_made(line: str):
    text = changed()[line]
    assert text.count(line) == 1 and "SOLUTION" not in text


def test_only_gaps_are_changed_and_each_change_is_one():
    made = mutations(ANSWER)
    assert all("    pid = tl.program_id(0)\n" in change.text for change in made)
    assert len({change.text for change in made}) == len(made)


def results(course, **wrong):
    """The sweep of the template exercise, its wrong.py saying what is equivalent."""
    with course.wrong.open("a") as file:
        file.write(f"\nEQUIVALENT = {wrong!r}\n")
    found = list(mutate.sweep([course.exercise], course.root, 1))
    return {each.name: each for each in found}


def test_a_sweep_says_what_is_accepted_and_goes_on_where_it_stopped(course, monkeypatch):
    """Kills: an entry that hides a mistake, a sweep that begins again each time."""
    first = results(course, twice={})
    refused = next(name for name, each in first.items() if each.verdict == "refused")
    accepted, _ = sorted(name for name, each in first.items() if each.verdict == "ACCEPTED")
    assert accepted.endswith("=> x = tl.load(x_ptr + offs, mask=mask)")
    assert f'{accepted!r}: "TODO: why is it no mistake?",' in mutate.lines([*first.values()])
    monkeypatch.setattr(mutate, "_ask", None)  # nobody is asked again
    second = results(course, twice={refused: "so they say", "gone => gone too": "?"})
    assert second[refused].verdict == "NOT EQUIVALENT"
    assert mutate.stale([course.exercise]) == ["17_twice, twice: gone => gone too"]


@pytest.mark.parametrize(
    ("visible", "hidden", "sentence", "verdict"),
    [
        ("error", "", "KeyError: 'x'", "CHECK BROKE"),
        ("passed", "error", "KeyError: 'x'", "CHECK BROKE"),
        ("timeout", "", f"{matrix.NO_VERDICT}: the check was stopped after 40 s", "no verdict"),
        ("timeout", "", "Stopped after 5 s. It was at `while True:`.", "refused"),
        ("passed", "passed", "", "ACCEPTED"),
        ("passed", "nan", "The result is NaN.", "HIDDEN ONLY"),
    ],
)
def test_a_check_that_broke_down_has_not_refused(visible, hidden, sentence, verdict):
    """Kills: an exception of the check's own, or its time limit, counted among the refused."""
    assert mutate.Result("17", "k", "n", visible, hidden, sentence).verdict == verdict


@pytest.mark.slow
def test_no_mistake_of_a_sample_is_accepted_without_a_reason(monkeypatch, pytestconfig):
    """Kills: a case that is taken away, an entry of EQUIVALENT that is no longer true."""
    thorough, seed = pytestconfig.getoption("thorough"), pytestconfig.getoption("seed")
    sample = SAMPLE if thorough else 1

    def some(answer: str) -> list[Change]:
        made = mutations(answer)
        return sorted(made, key=lambda m: hashlib.sha256(m.name.encode()).digest())[:sample]

    course = [one for one in exercises() if one.header.needs == "interpreter" and one.number < 60]
    assert mutate.stale(course) == []
    monkeypatch.setattr(mutate, "mutations", some)
    swept = [one for one in course if thorough or drawn(f"mutate {one.slug}", seed, FEW)]
    found = [each for each in mutate.sweep(swept, ROOT, 1) if each.verdict.isupper()]
    assert found == []
