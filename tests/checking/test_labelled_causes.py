"""What a check says of a mistake is true, or an honest place. All lines: `labelled.py`."""

from .labelled import LINES, judged, rates, text_of

EACH = 40  # takes one line in so many


def test_no_cause_is_wrong_and_few_mistakes_get_no_place(capsys):
    """Kills: a rule that guesses; lines that rot until nothing is measured. Names each mistake
    whose sentence blames what is not to blame.

    Where an answer was changed, give its lines the new name, or take others from `make mutate`.
    """
    there = sum(text_of(*line[:3]) is not None for line in LINES)
    assert there >= max(300, 0.95 * len(LINES))
    found = list(judged(LINES[EACH // 2 :: EACH]))
    with capsys.disabled():
        print("\n" + rates(what for what, *_ in found))
    assert [(line, said) for what, line, said in found if what == "wrong"] == []
    assert sum(what == "nothing" for what, *_ in found) <= 1
