"""The change of a wrong answer that makes all cases right: when it is looked for, and told."""

import itertools
from dataclasses import dataclass

import pytest

from tritonbook.checking import Check, case, mended, run_check
from tritonbook.checking.asks import FIRST
from tritonbook.checking.caller import Caller
from tritonbook.checking.mended import Search, is_vague, told
from tritonbook.checking.report import Finding

CASES = [case(f"n is {n}", n=n) for n in (4, 5, 6, 7)]


@dataclass(frozen=True)
class Mend:
    line: str
    says: str = "It is there."


def found(*changes, wrong=CASES[1:], seconds=1e9):
    """The lines of the changes that are told. changes: pairs of a function and a line."""
    mends = ((lambda fn=fn: fn, Mend(line)) for fn, line in changes)

    def right(fn, of):
        return fn(**of.arguments) == 2 * of.arguments["n"]

    others = [each for each in CASES if each not in wrong]
    search = Search(mends, wrong, others, right, right)
    return [mend.line for mend in search.found(seconds)]


def test_a_change_is_told_that_makes_every_case_right():
    """Kills: one that mends the failing case by chance, or breaks one that was right."""
    here, there = (lambda n: 10), (lambda n: n + 6 if n > 5 else 2 * n)
    assert found((here, "a"), (there, "b")) == []
    assert found((here, "a"), (lambda n: n + n, "c")) == ["c"]


def test_two_lines_that_may_be_meant_are_both_told():
    twice = [(lambda n: n + n, "a"), (lambda n: n * 2, "a"), (lambda n: 2 * n, "b")]
    assert found(*twice) == ["a", "b"]
    one, two = Mend("x = y"), Mend("z = y")
    assert "`x = y`, or else in `z = y`" in told([one, two])
    assert told([one]) == "One change makes all cases right. It is there."
    assert told([]) == ""


def test_a_change_that_raises_is_none():
    assert found((lambda n: n // 0, "a"), (lambda n: 2 * n, "b")) == ["b"]


def test_it_ends_with_its_time(monkeypatch):
    """Kills: a card that comes after minutes, where nothing mends an answer."""
    clock = itertools.count()
    monkeypatch.setattr(mended.time, "process_time", lambda: next(clock))
    endless = ((lambda n: 0, str(line)) for line in itertools.count())
    assert found(*itertools.islice(endless, 50), (lambda n: 2 * n, "late"), seconds=10) == []


@pytest.mark.parametrize(
    ("code", "sentence", "vague"),
    [
        ("wrong-values", "The values are wrong everywhere.", True),
        ("off-by-row", "Each row is right up to a factor of its own.", True),
        ("out-of-bounds-store", "The store needs a mask.", False),
        ("out-of-bounds-store", "Either the mask, or the address is off.", True),
        ("out-of-bounds-store", "In a loop, does it test the index that moves?", True),
        ("reads-outside", "Let the mask ask for `>= 0`, or the address is off: a step", True),
        ("out-of-bounds-store", "Those lanes need a mask, or the loop takes a step too many", True),
        ("out-of-bounds-store", "Is the address off, or are there too many programs?", True),
        ("reads-outside", "Its mask lets one lane too many through. Is it `<=`?", False),
        ("strided-only", "Right on contiguous input.", True),
        ("constant-factor", "Every element is 2 times the right value.", True),
        ("unused-input", "The result is the same whatever `w` holds.", False),
        ("not-attempted", "The gap is still open.", False),
        ("a-page-s-own", "The bias is added twice.", False),
    ],
)
def test_it_is_looked_for_where_a_place_is_all_there_is(code, sentence, vague):
    """Kills: six seconds for a mask that is missing, as the card says already."""
    assert is_vague(Finding(code, sentence)) is vague


def test_a_plain_function_is_mended_too():
    def given(fn, said):
        return iter([(lambda: lambda n: 3 * n, Mend("a")), (lambda: lambda n: 2 * n, Mend("b"))])

    check = Check(lambda n: 2 * n, CASES, triton=False, mends=given)
    said = run_check(lambda n: n * n, check, "twice").finding.sentence
    assert said.startswith("One change makes all cases right. It is there. "), "a guess before it"
    assert "what is new in it" not in said


def test_a_hidden_case_denies_a_mend():
    """Kills: a line blamed because the few cases that are shown are right without it."""

    def given(fn, said):
        return iter([(lambda: lambda n: 2 * n if n < 9 else 0, Mend("a"))])

    for hidden, told_of in (([], True), ([case("n is 9", n=9)], False)):
        check = Check(lambda n: 2 * n, CASES, hidden=hidden, triton=False, mends=given)
        said = run_check(lambda n: n * n, check, "twice").finding.sentence
        assert (mended.MENDS in said) is told_of


def test_a_rule_that_ends_the_check_before_its_cases_is_mended_too(monkeypatch):
    """Kills: an address alone, told where a rule looks at the kernel first; a mend that is told of
    what is right in every case."""
    outside = Finding("out-of-bounds-store", "Either the mask, or the address is off.")
    monkeypatch.setattr(
        Caller, "asserted", lambda self, when, _: outside if when == FIRST else None
    )
    check = Check(
        lambda n: 2 * n,
        CASES,
        triton=False,
        mends=lambda fn, said: iter([(lambda: lambda n: n + n, Mend("a"))]),
    )
    for answer, told_of in ((lambda n: n * n, True), (lambda n: n * 2, False)):
        said = run_check(answer, check, "twice").finding.sentence
        assert (mended.MENDS in said) is told_of
