"""The sample class: submissions made from an exercise, each with the grade that it must get.

Nothing here is a hand-copied notebook. Right answers come from the exercise's solutions, honest
variants and the missing mask from the page's `wrong.py`, the rest from rewrites that fit any
exercise. So the class follows the course when the course changes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tritonbook.course import gaps
from tritonbook.course.cases import checks
from tritonbook.course.exercises import Exercise
from tritonbook.course.mutants import WrongAnswers, wrong_answers


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


@dataclass(frozen=True)
class Asked:
    """One graded key of an exercise, as far as the samples need it."""

    key: str
    points: int
    reference: str
    uses_triton: bool
    solution: str


PASSED = ("passed",)


def tasks_of(exercise: Exercise) -> list[Asked]:
    """What an exercise asks, in order."""
    tasks = []
    asked = checks(exercise)
    for key, answer in exercise.answers().items():
        points, reference = exercise.checks()[key].points or 0, asked[key].reference.__name__
        solution = gaps.solved_text(answer.source)
        tasks.append(Asked(key, points, reference, asked[key].triton, solution))
    return tasks


def with_first_lines(text: str, function: str, lines: Iterable[str]) -> str:
    """`text` with `lines` put at the top of the body of `function`, which it defines."""
    defined = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    first = next(node.body[0] for node in defined if node.name == function)
    rows, at = text.splitlines(), first.lineno - 1
    added = [" " * first.col_offset + line for line in lines]
    return "\n".join([*rows[:at], *added, *rows[at:]])


def torch_instead(task: Asked, reference_text: str) -> str:
    """The answer with the wrapper replaced by the PyTorch reference under the wrapper's name."""
    for node in ast.parse(reference_text).body:
        if isinstance(node, ast.FunctionDef) and node.name == task.reference:
            node.name = task.key
            # Checks pass tuning knobs that a reference does not take.
            node.args.kwarg = node.args.kwarg or ast.arg("options")
            return f"{task.solution.rstrip()}\n\n\n{ast.unparse(node)}\n"
    call = f"def {task.key}(*args, **options):\n    return {task.reference}(*args)"
    return f"{task.solution.rstrip()}\n\n\n{call}\n"


def _missing_mask(wrong: WrongAnswers) -> tuple[str, Any] | None:
    """A key and its wrong answer, best one that forgets the mask of a store."""
    known = [(key, mutant) for key, mutants in wrong.mutants.items() for mutant in mutants]
    masks = [each for each in known if "mask" in each[1].name]
    stores = [each for each in masks if "store" in each[1].name]
    outside = [each for each in known if each in masks or "out-of-bounds-store" in each[1].codes]
    return next(iter([*stores, *outside]), None)


def sample_class(exercise: Exercise) -> list[Sample]:
    """The submissions of one notebook: at least seven, eight where it has a mask to forget."""
    tasks, wrong = tasks_of(exercise), wrong_answers(exercise)
    texts = [cell.source for cell in exercise.cells if cell.role == "reference"]
    reference_text = "\n\n\n".join(texts)
    solved = {task.key: task.solution for task in tasks}
    full = {task.key: Expected(task.points, PASSED) for task in tasks}
    first = tasks[0]
    zero_first = full | {first.key: Expected(0, ("timeout",))}
    crash_first = full | {first.key: Expected(0, ("crashed",))}

    varied = dict(solved)
    for task in tasks:
        variants = wrong.variants.get(task.key, ())
        named = [each for word in ("loop", "block") for each in variants if word in each.name]
        for variant in [*named, *variants][:1]:
            varied[task.key] = variant.apply(task.solution)

    cheated = {
        t.key: torch_instead(t, reference_text) if t.uses_triton else t.solution for t in tasks
    }
    refused = {
        task.key: Expected(0, ("no-kernel-launched", "torch-compute", "right-without-kernel"))
        if task.uses_triton
        else Expected(task.points, PASSED)
        for task in tasks
    }
    noise = ["import sys, warnings", "warnings.warn('slow path')", "print('note', file=sys.stderr)"]
    noisy = {t.key: with_first_lines(t.solution, t.key, noise) for t in tasks}
    crash = solved | {
        first.key: with_first_lines(first.solution, first.key, ["import os", "os._exit(3)"])
    }
    endless = solved | {
        first.key: with_first_lines(first.solution, first.key, ["while True:", "    pass"])
    }
    untouched = {task.key: Expected(0, ("not-attempted",)) for task in tasks}

    samples = [
        Sample("s1_right", "right", solved, full),
        Sample("s2_other_blocks", "right, other blocks and loops", varied, full),
        Sample("s3_warns", "right, warns on stderr", noisy, full),
        Sample("s5_torch", "PyTorch instead of Triton", cheated, refused),
        Sample("s6_untouched", "untouched", {}, untouched),
        Sample("s7_exit", "crash by os._exit", crash, crash_first),
        Sample("s8_endless", "endless loop", endless, zero_first),
    ]
    missing = _missing_mask(wrong)
    if missing is not None:
        key, mutant = missing
        samples.append(
            Sample(
                "s4_no_mask",
                "missing mask",
                solved | {key: mutant.apply(solved[key])},
                full | {key: Expected(0, tuple(mutant.codes))},
            )
        )
    return sorted(samples, key=lambda sample: sample.student)
