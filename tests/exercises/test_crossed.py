"""Each mistake in a kernel of another form: who wrote it is told its sentence, or a place alone.

A mutant's edits are made in an honest variant, so that nobody knows the text beforehand. All of a
page at once: `python -m tests.exercises.test_crossed 10`.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator

from tritonbook.build.matrix import PASSED, Attempt, CheckProcess
from tritonbook.course import gaps
from tritonbook.course.exercises import Exercise, exercises, get
from tritonbook.course.mutants import Mutant, MutantError, wrong_answers

MOST = 60  # of one page
FEW = 5  # in one run of the suite

Crossing = tuple[Exercise, str, Mutant, str, str]


def crossings(exercise: Exercise) -> Iterator[Crossing]:
    """Page, key, mutant, the variant's name, and the variant's text with the mutant's edits."""
    wrong = wrong_answers(exercise)
    for key, mutants in wrong.mutants.items():
        answer = exercise.cut(exercise.answers()[key], gaps.solved_text)
        for variant in wrong.variants.get(key, ()):
            for mutant in mutants:
                if mutant.says and mutant.edits and not variant.only and not mutant.only:
                    with contextlib.suppress(MutantError):  # they touch the same lines
                        text = mutant.apply(variant.apply(answer, key))
                        yield exercise, key, mutant, variant.name, text


def judged(drawn: list[Crossing]) -> Iterator[tuple[str, str]]:
    """`cause` for its own sentence, `wrong` for another mistake's, else `place`; and the line."""
    with contextlib.closing(CheckProcess(20.0)) as worker:
        for exercise, key, mutant, variant, text in drawn:
            attempt = Attempt(exercise, key, "mutant", mutant.name, PASSED, text)
            code, said, *_ = worker.ask(attempt, None, 120.0, False)
            told = {each.code for each in wrong_answers(exercise).mutants[key] if each.says}
            what = "cause" if code in mutant.codes else "wrong" if code in told else "place"
            yield what, f"{exercise.slug} {key}: {mutant.name} in {variant}, got {code}: {said}"


def drawn_from(pages: list[Exercise], seed: int, most: int) -> list[Crossing]:
    found = [crossing for page in pages for crossing in crossings(page)]
    return random.Random(seed).sample(found, min(most, len(found)))


def test_a_mistake_in_another_form_is_told_its_sentence_or_a_place(pytestconfig):
    """Kills: a sentence that fits the text of one answer alone; a neighbour's sentence."""
    seed, thorough = pytestconfig.getoption("seed"), pytestconfig.getoption("thorough")
    pages = [page for page in exercises() if page.header.needs == "interpreter"]
    found = list(judged(drawn_from(pages, seed, 20 * MOST if thorough else FEW)))
    wrong = [line for what, line in found if what == "wrong"]
    assert len(wrong) <= 1 + len(found) // 60, wrong
    assert sum(what == "cause" for what, _ in found) > 0.7 * len(found)


if __name__ == "__main__":
    page = get(sys.argv[1])
    found = list(judged(drawn_from([page], 0, MOST)))
    print("\n".join(f"{what}: {line}" for what, line in found if what != "cause"))
    print({each: [what for what, _ in found].count(each) for each in ("cause", "place", "wrong")})
