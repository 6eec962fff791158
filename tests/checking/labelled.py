"""Mistakes with the causes that are true of them, and what the visible checks say.

`labelled_causes.json` has one line a mistake: page, answer, name, codes. The name is that of a
wrong answer of the page's `wrong.py` or of a change by machine (`make mutate`), or it is an edit of
one of the page's variants, `in VARIANT: {old -> new}`. The codes are the
causes that are true of it; `place` says that only a place is. `needs-mask` stands for the
sentences that blame a mask. All lines at once: `python -m tests.checking.labelled`.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tritonbook.build.matrix import PASSED, Attempt, CheckProcess
from tritonbook.checking.codes import only_a_place
from tritonbook.course.exercises import get
from tritonbook.course.mutants import Mutant, MutantError, WrongAnswers, wrong_answers
from tritonbook.course.mutations import mutations

LINES = [
    tuple(line)
    for line in json.loads(
        Path(__file__).with_suffix("").with_name("labelled_causes.json").read_text()
    )
]

BLAMES_A_MASK = re.compile(r"need a mask\.|one lane too many|test each index|test the index")
NO_PLACE = re.compile(r"wrong (everywhere|in \d+ of \d+ elements)\.")
A_PLACE = re.compile(r"In `|In result|The cases before")


def verdict(codes: Iterable[str], code: str, sentence: str) -> str:
    """`cause` for a true one, `place`, `nothing` for neither, `wrong` for a cause that is none."""
    if code in ("reads-outside", "out-of-bounds-store") and BLAMES_A_MASK.search(sentence):
        code = "needs-mask"
    if code in codes:
        return "cause"
    if code == "wrong-values" and NO_PLACE.search(sentence) and not A_PLACE.search(sentence):
        return "nothing"
    return "place" if only_a_place(code) else "wrong"


def text_of(page: str, key: str, name: str) -> str | None:
    """The answer with the mistake; None where the page no longer has it."""
    wrong = _wrong(page)
    mutant = next((each for each in wrong.mutants.get(key, ()) if each.name == name), None)
    of, _, edit = name.removeprefix("in ").partition(": ")
    variant = next((each for each in wrong.variants.get(key, ()) if each.name == of), None)
    with contextlib.suppress(MutantError):
        if variant:
            return Mutant(name, edit).apply(wrong.text(key, variant), key)
        return wrong.text(key, mutant) if mutant else _by_machine(page, key).get(name)
    return None


@functools.cache
def _wrong(page: str) -> WrongAnswers:
    return wrong_answers(get(page))


@functools.cache
def _by_machine(page: str, key: str) -> dict[str, str]:
    cell = _wrong(page).exercise.answers().get(key)
    return {change.name: change.text for change in mutations(cell.source)} if cell else {}


def judged(lines: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, str, str]]:
    """(verdict, line, sentence) of each line whose mistake the page still has."""
    with contextlib.closing(CheckProcess(5.0)) as worker:
        for page, key, name, codes in lines:
            if (text := text_of(page, key, name)) is None:
                yield "gone", f"{page} {key}: {name}", ""
                continue
            attempt = Attempt(get(page), key, "mutant", name, PASSED, text)
            code, sentence, *_ = worker.ask(attempt, None, 40.0, False)
            line = f"{page} {key}: {name} is {codes}, got {code}"
            yield verdict(codes.split(), code, sentence), line, sentence


def rates(verdicts: Iterable[str]) -> str:
    count = collections.Counter(verdicts)
    good, tried = count["cause"] + count["place"], count.total() - count["gone"]
    return (
        f"{good / tried:.1%} of {tried} have a true cause ({count['cause']}) or a place "
        f"({count['place']}); wrong causes: {count['wrong']}; no longer there: {count['gone']}"
    )


if __name__ == "__main__":
    found = list(judged(LINES))
    for what, line, sentence in found:
        if what in ("wrong", "nothing", "gone"):
            print(f"{what}: {line}\n    {sentence}")
    print(rates(what for what, *_ in found))
