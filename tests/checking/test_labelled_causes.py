"""What a check says of a mistake is true, or an honest place. All lines: `labelled.py`."""

from .labelled import LINES, judged, rates, text_of

EACH = 80  # one line in so many; half of that with --thorough


def test_no_cause_is_wrong_and_few_mistakes_get_no_place(capsys, pytestconfig):
    """Kills: a rule that guesses; lines that rot until nothing is measured. Names each mistake
    whose sentence blames what is not to blame.

    Where an answer was changed, give its lines the new name, or take others from `make mutate`.
    """
    there = sum(text_of(*line[:3]) is not None for line in LINES)
    assert there >= max(300, 0.95 * len(LINES))
    each = EACH // 2 if pytestconfig.getoption("thorough") else EACH
    found = list(judged(LINES[each // 2 :: each]))
    with capsys.disabled():
        print("\n" + rates(what for what, *_ in found))
    assert [(line, said) for what, line, said in found if what == "wrong"] == []
    assert sum(what == "nothing" for what, *_ in found) <= 1
