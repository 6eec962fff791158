"""Copies are listed, those of the published solution too; given code and common lines are not."""

from __future__ import annotations

import re

from corpus import answer

from autograde.classroom.similar import SOLUTION, compare, tokens

HEAD = """def softmax(x, block=64):
    \"\"\"Rows of x.\"\"\"
    out = torch.empty_like(x)
    rows, columns = x.shape
    check_inputs(x, out)
    strides = x.stride(0), out.stride(0)
"""
GIVEN = HEAD + "    raise NotImplementedError('TODO')\n"
SOLVED = answer()
OTHER = (
    HEAD
    + """    largest = x.amax(dim=1, keepdim=True)
    shifted = torch.where(x == largest, torch.zeros_like(x), x - largest)
    scale = 1 / shifted.exp().sum(dim=1)
    while scale.ndim < x.ndim:
        scale = scale[..., None]
    torch.mul(torch.exp(shifted), scale, out=out)
    return out.reshape(rows, columns)
"""
)


def _renamed(text: str) -> str:
    for old, new in (("largest", "biggest"), ("shifted", "s"), ("scale", "factor"), ("x", "data")):
        text = re.sub(rf"\b{old}\b", new, text)
    text = text.replace("1 / s", "1.0 / s").replace(
        "\n    factor =", "\n\n    # my own\n    factor ="
    )
    return text.replace("Rows of data.", "My softmax.")


def _found(**answers: str) -> dict[tuple[str, str], tuple[float, str]]:
    pairs = compare("softmax", answers, GIVEN, SOLVED)
    return {(pair.one, pair.other): (pair.score, pair.kind) for pair in pairs}


def test_identical_and_renamed_answers_are_pairs() -> None:
    """Kills: a copy that another name, another number, a comment or a blank line hides."""
    found = _found(ann=OTHER, bob=_renamed(OTHER), cem=SOLVED, dia=OTHER + "\n# done\n")
    assert found == {
        ("ann", "bob"): (1.0, "renamed"),
        ("ann", "dia"): (1.0, "word for word"),
        ("bob", "dia"): (1.0, "renamed"),
        ("cem", SOLUTION): (1.0, "word for word"),
    }


def test_a_copy_with_a_line_more_is_found() -> None:
    """Kills: a copy that one added or changed statement hides."""
    more = OTHER.replace("    while", "    print(rows)\n    while")
    ((pair, (score, kind)),) = _found(ann=OTHER, bob=more).items()
    assert pair == ("ann", "bob") and 0.8 <= score <= 1 and kind == "similar"


def test_the_published_solution_is_named() -> None:
    """Kills: a whole class that hands in the course's own solution, and no one hears of it."""
    everybody = {f"s{number:02}": SOLVED for number in range(20)}
    found = _found(**everybody, other=OTHER)
    assert {pair for pair in found if SOLUTION in pair} == {(s, SOLUTION) for s in everybody}


def test_given_code_does_not_count() -> None:
    """Kills: students listed for what the course gave out, or for an answer not begun."""
    assert _found(ann=GIVEN, bob=GIVEN, cem=OTHER) == {}


def test_what_a_good_part_of_the_class_writes_does_not_count() -> None:
    """Kills: everybody a pair of everybody, where a task leaves one way to do it."""
    assert _found(**{f"s{number}": OTHER for number in range(6)}) == {}
    assert len(_found(**{f"s{number}": OTHER for number in range(5)})) == 10


def test_a_mistake_in_the_text_ends_nothing() -> None:
    """Kills: a class without a report because of one bracket."""
    assert tokens("def f(:\n    'a") is not None
    assert _found(ann=OTHER + "\n)", bob=OTHER + "\n'''")[("ann", "bob")][0] == 1.0
