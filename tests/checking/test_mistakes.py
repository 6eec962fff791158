"""A wrong result gets the sentence of the mistake that gives the same, or of none."""

import pytest
import torch

from tritonbook.checking import Tolerance, case, mistakes, tensor
from tritonbook.checking.compare import compare_values
from tritonbook.checking.mistakes import Lineup, Mistake

from .answers import run, three_times

CASES = [case("five", x=tensor(5)), case("forty", x=tensor(40)), case("four", x=tensor(4))]


def result(formula, of, draw=0):
    return formula(of.sample(draw)["x"].double())


def mistake(code, formula, astray="", cost=lambda: None):
    def gives(of, draw):
        cost()
        return result(formula, of, draw)

    return Mistake(code, f"It is {code}.", gives, lambda of, draw: (astray, ""))


def lineup(answer, *known, astray="", cases=CASES):
    """Mistakes that may explain an answer, where 2 * x is right and the first case is wrong."""

    def differences(of):
        return [compare_values(result(answer, of), result(lambda x: 2 * x, of), Tolerance(1e-6))]

    first, *others = cases
    return Lineup(known, first, 0, differences(first), astray, others, differences)


def told(answer, *known, **more):
    """The code of the mistake that explains an answer."""
    found = lineup(answer, *known, **more).mistake()
    return found and found.code


def thrice(x):
    return 3 * x


def thrice_of_five(x):
    return (3 if x.numel() == 5 else 2) * x


def test_of_two_that_fit_here_it_is_the_one_that_fits_elsewhere():
    """Kills: the first of a list."""
    small, every = mistake("small", thrice_of_five), mistake("every", thrice)
    assert told(thrice, small, every) == "every"
    assert told(thrice_of_five, every, small) == "small"


def test_what_no_other_case_bears_out_is_not_said():
    """Kills: a mistake that fits the failing case by chance."""
    assert told(thrice, mistake("every", thrice)) == "every"
    assert told(thrice_of_five, mistake("every", thrice)) is None


def test_zeros_on_another_case_do_not_outvote_a_right_result():
    """Kills: one sentence for all that leave a small case at zero."""

    def answer(x):
        return thrice_of_five(x) * (x.numel() != 4)

    assert told(answer, mistake("elsewhere too", lambda x: thrice(x) * (x.numel() != 4))) is None
    assert told(answer, mistake("just so", answer)) == "just so"


def test_a_mistake_that_raises_or_has_another_shape_is_none():
    def raises(x):
        raise ValueError

    others = mistake("raises", raises), mistake("shorter", lambda x: 3 * x[1:])
    assert told(thrice, *others, mistake("every", thrice)) == "every"


def test_zeros_fit_many_a_mistake():
    """Kills: a mistake that gives zeros here, said of zeros everywhere."""
    here = mistake("here", lambda x: (0 if x.numel() == 5 else 3) * x)
    assert told(torch.zeros_like, here) is None
    assert told(torch.zeros_like, here, mistake("nothing", torch.zeros_like)) == "nothing"


def nan_of_five(x):
    return x * (torch.nan if x.numel() == 5 else 3)


def nan_at_first(x):
    return torch.where(torch.arange(x.numel()) < 2, torch.nan, 2 * x)


@pytest.mark.parametrize("answer", [nan_of_five, nan_at_first])
def test_a_small_case_that_is_nan_says_which_mistakes_are_run(answer):
    """Kills: a hundred mistakes run on a large case, of which a small one denies all but two."""
    ran = []

    def other(of, draw):
        ran.append(of)
        return result(lambda x: 4 * x, of)

    known = Mistake("other", "It is other.", other), mistake("fits", answer)
    assert told(answer, *known, cases=[CASES[1], CASES[0]]) == "fits"
    assert CASES[0] in ran and CASES[1] not in ran


def test_a_small_case_may_be_nan_for_a_reason_of_its_own():
    """Kills: a cause that is lost where nothing but the small case denies it."""
    cases = [CASES[1], CASES[0], case("thirty", x=tensor(30))]
    assert told(nan_of_five, mistake("every", thrice), cases=cases) == "every"


def test_nothing_is_said_when_the_time_is_up(monkeypatch):
    """Kills: a mistake that fits the failing case, said because nobody had time for the others."""
    clock = [0.0]
    monkeypatch.setattr(mistakes.time, "process_time", lambda: clock[0])

    def slow():
        clock[0] += mistakes.SECONDS + 1

    assert told(thrice_of_five, mistake("every", thrice, cost=slow)) is None


@pytest.mark.parametrize(("seen", "code"), [("", "plain"), ("race", "astray")])
def test_a_mistake_that_the_meter_reports_is_one_where_it_reports_the_answer(seen, code):
    known = mistake("astray", thrice, astray="race"), mistake("plain", thrice)
    assert told(thrice, *known, astray=seen) == code


def test_a_plain_mistake_that_would_spoil_what_is_right_is_not_said():
    """Kills: "always 0", of an answer that is 0 in one case and right in ten."""
    cases = [case(f"n is {n}", n=n) for n in (4, 5, 6, 7)]
    nothing = Mistake("nothing", "It is always 0.", lambda of, draw: 0)
    asked = dict(triton=False, known=lambda: [nothing])
    once = run(lambda n: 0 if n == 6 else 2 * n, lambda n: 2 * n, cases, **asked)
    assert once.finding.code == "wrong-values"
    always = run(lambda n: 0, lambda n: 2 * n, cases, **asked)
    assert always.finding.code == "nothing"


def test_the_first_wrong_case_alone_is_searched_for_a_cause():
    """Kills: the page's mistakes run on each wrong case, for causes that no card shows."""
    asked = []
    known = lambda: asked.append(1) or [mistake("every", lambda x: 4 * x)]  # noqa: E731
    report = run(three_times, lambda x: 2 * x, CASES, known=known)
    assert [row.state for row in report.cases] == ["wrong"] * 3 and report.finding.code == "every"
    assert len(asked) == 1 and all(row.first_bad for row in report.cases)
