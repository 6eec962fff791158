"""The sample class: submissions made from an exercise, each with the grade that it must get.

Nothing here is a hand-copied notebook. Right answers come from the exercise's solutions, honest
variants and the missing mask from the page's `wrong.py`, the rest from rewrites that fit any
exercise. So the class follows the course when the course changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from tritonbook.course import gaps
from tritonbook.course.exercises import Exercise
from tritonbook.course.mutants import wrong_answers
from tritonbook.course.page_checks import checks
from tritonbook.words import later


@dataclass(frozen=True)
class Expected:
    """What one check must say: points, and the reason codes that are right."""

    points: float
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Sample:
    """One submission of one notebook. `answers` maps keys to the text of the answer cell; a key
    that is missing keeps the released gap."""

    student: str
    title: str
    answers: dict[str, str]
    expected: dict[str, Expected]


PASSED = ("passed",)
FOUND_OUT = ("no-kernel-launched", "torch-compute", "right-without-kernel")
NOISE = ("import sys, warnings", "warnings.warn('slow path')", "print('note', file=sys.stderr)")


def with_first_lines(text: str, function: str, lines: Iterable[str]) -> str:
    """`text` with `lines` put at the top of the body of `function`, which it defines."""
    defined = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    first = next(node.body[0] for node in defined if node.name == function)
    rows, at = text.splitlines(), first.lineno - 1
    added = [" " * first.col_offset + line for line in lines]
    return "\n".join([*rows[:at], *added, *rows[at:]])


def torch_instead(text: str, function: str, reference: str) -> str:
    """`text` with the function replaced by a call of the PyTorch reference that stands above it,
    which does not take the tuning knobs that a check may pass."""
    call = f"def {function}(*args, **options):\n    return {reference}(*args)\n"
    return f"{text.rstrip()}\n\n\n{call}"


def sample_class(exercise: Exercise) -> list[Sample]:
    """The submissions of one notebook, which must have a mask to forget."""
    asked, wrong = checks(exercise), wrong_answers(exercise)
    solved = {key: gaps.solved_text(cell.source) for key, cell in exercise.answers().items()}
    full = {key: Expected(exercise.checks()[key].points or 0, PASSED) for key in solved}
    untouched = {key: Expected(0, ("not-attempted",)) for key in solved}
    module = ast.parse(exercise.module_text())
    defined = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    varied, cheated, refused, noisy = dict(solved), dict(solved), dict(full), dict(solved)
    for key, text in solved.items():
        noisy[key] = with_first_lines(text, key, NOISE)
        if variants := wrong.variants.get(key):
            wanted = [each for word in ("loop", "block") for each in variants if word in each.name]
            varied[key] = [*wanted, *variants][0].apply(text, key)
        reference = asked[key].reference.__name__
        if asked[key].triton and reference in defined:
            cheated[key] = torch_instead(text, key, reference)
            refused[key] = Expected(0, FOUND_OUT)

    def first_task(student: str, title: str, code: str, *lines: str) -> Sample:
        """Right answers but the first, which begins with these lines."""
        key, text = next(iter(solved.items()))
        answers = solved | {key: with_first_lines(text, key, lines)}
        return Sample(student, title, answers, full | {key: Expected(0, (code,))})

    key, unmasked = next(
        (key, mutant)
        for key, mutants in wrong.mutants.items()
        for mutant in mutants
        if "mask" in mutant.name and "out-of-bounds-store" in mutant.codes
    )
    outside = solved | {key: unmasked.apply(solved[key], key)}
    caught = full | {key: Expected(0, tuple(unmasked.codes))}
    return [
        Sample("s1_right", later("right"), solved, full),
        Sample("s2_other_blocks", later("right, other blocks and loops"), varied, full),
        Sample("s3_warns", later("right, warns on stderr"), noisy, full),
        Sample("s4_no_mask", later("missing mask"), outside, caught),
        Sample("s5_torch", later("PyTorch instead of Triton"), cheated, refused),
        Sample("s6_untouched", later("untouched"), {}, untouched),
        first_task("s7_exit", later("crash by os._exit"), "crashed", "import os", "os._exit(3)"),
        first_task("s8_endless", later("endless loop"), "timeout", "while True:", "    pass"),
    ]
