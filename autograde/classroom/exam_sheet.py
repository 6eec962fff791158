"""What `exam.py` draws, as notebooks: the sheet, which is nbgrader's source, and its key.

The sheet's answer cells hold the broken text, and below it, in a solution region, the functions
that mend it. The key is the sheet with right answers, so that it can be handed in like any other.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from nbformat import NotebookNode

from tritonbook.build import views
from tritonbook.build.release import read_release
from tritonbook.course import gaps, messages
from tritonbook.course.source import Cell
from tritonbook.words import language, later, listed, say

from ..judge.course import BadCourse
from ..judge.statements import statements
from . import exam
from .new_course import COURSE, empty_course

ROOT = Path(__file__).resolve().parents[2]
MINUTES_A_POINT = 4
Drawn = tuple[exam.Question, str]  # with what is seen of its mistake
SAID = later("In an exam a check says passed or not passed, and no more.")
VERDICT = "from tritonbook.course.answer_check import verdict as check"
RULES = (
    later(
        "Each task shows a function of the course with one mistake in it, and says what is seen of "
        "it. Find the mistake and mend the cell."
    ),
    later(
        "A check says *passed* or *not passed*. The points of a task are for an answer that "
        "passes; there is nothing in between. Graded, it meets other sizes and other numbers."
    ),
    later(
        "Change a cell as you like, or write its functions anew below `# YOUR CODE HERE`. Add "
        "cells and try things out. Where PyTorch's formula stands above a task, compare with it."
    ),
    later("The pages of the course and their solutions stay closed."),
)


def make(folder: Path, seed: str, count: int, pages: Iterable[str]) -> tuple[Path, Path]:
    """Write exam_SEED and its key into a course folder, which is made where there is none, in the
    language that is spoken; returns their paths. Raises BadCourse."""
    if not re.fullmatch(r"[A-Za-z0-9-]{1,40}", seed):
        raise BadCourse(f"{seed!r} is no seed: write letters, digits and hyphens, at most 40.")
    name = f"exam_{seed}"
    source = folder / "source" / name / f"{name}.ipynb"
    key = folder / "keys" / f"{name}.ipynb"
    course = (folder / "nbgrader_config.py").is_file() and folder.resolve() != COURSE
    if folder.exists() and not course:
        raise BadCourse(f"{folder} is no course folder: name another with --course, or a new one.")
    tasks = [task for page in exam.done(pages) for task in exam.tasks_of(page)]
    drawn = exam.examined(tasks, count, seed)
    sheet, answers = (views.to_bytes(_book(name, drawn, solved)) for solved in (False, True))
    if source.exists() and source.read_bytes() != sheet:
        raise BadCourse(f"{source} is there already, with other tasks: take another seed.")
    if not folder.exists():
        empty_course(folder)
    for path, content in ((source, sheet), (key, answers)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return source, key


def _book(name: str, drawn: Sequence[Drawn], solved: bool) -> NotebookNode:
    """The sheet; solved: its key."""
    seed = name.removeprefix("exam_")
    title = say("Key of exam {seed}", seed=seed) if solved else say("Exam {seed}", seed=seed)
    points = sum(question.hardness for question, _ in drawn)
    minutes = MINUTES_A_POINT * points
    size = say(
        "**Tasks: {tasks}. Points: {points}. Minutes: {minutes}.**",
        tasks=len(drawn),
        points=points,
        minutes=minutes,
    )
    first, *rules = map(say, RULES)
    head = "\n\n".join([f"# {title}", size, first, "\n".join(f"- {rule}" for rule in rules)])
    page = drawn[0][0].task.exercise
    setup = next(cell for cell in page.cells if cell.role == "setup")
    source = views.setup_text(setup.source, read_release(ROOT), language())
    source += f"\n\n# {say(SAID)}\n{VERDICT}"
    cells = [_text("title", head), views.node("setup", setup, source)]
    known: dict[str, str] = {}  # what a name means that is given above
    for number, (question, seen) in enumerate(drawn, 1):
        task, points = question.task, question.hardness
        what = (
            say("Task {number}. `{key}`: 1 point", number=number, key=task.key)
            if points == 1
            else say(
                "Task {number}. `{key}`: {points} points",
                number=number,
                key=task.key,
                points=points,
            )
        )
        symptom = say("**What is seen:** {seen}", seen=seen)
        cells.append(_text(f"task-{task.key}", f"## {what}\n\n{symptom}"))
        renamed = _renaming(task, known)
        if task.given:
            given = "\n\n\n".join(each.text for each in task.given)
            cells.append(_code("reference", f"given-{task.key}", renamed(given)))
        answer = task.right if solved else _with_region(question)
        cells.append(_code("answer", f"answer-{task.key}", renamed(answer)))
        check = gaps.with_hidden(f"check({task.key})")
        cells.append(_code("check", f"check-{task.key}", check, points))
        if solved:
            cells.append(_text(f"mistake-{task.key}", _mistake(question)))
    return views.book(cells, {"exam": name})


def _renaming(task: exam.Task, known: dict[str, str]) -> Callable[[str], str]:
    """Gives a text of a task other names where a task above gives another meaning to one."""
    number = f"_{task.exercise.number:02}"
    pairs = ((name, each.text) for each in task.given for name in sorted(each.gives))
    twice = [name for name, text in pairs if known.setdefault(name, text) != text]
    pattern = rf"\b({'|'.join(twice)})\b"
    return lambda text: re.sub(pattern, lambda found: found[0] + number, text) if twice else text


def _with_region(question: exam.Question) -> str:
    """The broken text, then a solution region with the functions that differ in the right one."""
    broken = {each.text for each in statements(question.broken)}
    right = [each.text for each in statements(question.task.right)]
    mended = "\n\n\n".join(text for text in right if text not in broken)
    region = "\n".join([gaps.BEGIN_SOLUTION, mended, gaps.END_SOLUTION])
    return f"{question.broken.rstrip()}\n\n\n{region}"


def _mistake(question: exam.Question) -> str:
    page = question.task.exercise.slug
    broken, right = question.broken.splitlines(), question.task.right.splitlines()
    change = "\n".join([*difflib.unified_diff(broken, right, n=2, lineterm="")][2:])
    codes = listed(f"`{code}`" for code in question.codes)
    what = (
        say(
            "**The mistake:** `{name}` of {page}; a check of the page says {codes}.",
            name=question.name,
            page=page,
            codes=codes,
        )
        if question.known
        else say("**The mistake:** a change by machine, {page}.", page=page)
    )
    return f"{what}\n\n```diff\n{change}\n```"


def _text(name: str, source: str) -> NotebookNode:
    return views.node(name, Cell("markdown", (), None, None, source, 0), source)


def _code(role: str, name: str, source: str, points: int | None = None) -> NotebookNode:
    if language() != "en":
        source = messages.code(source, say)
    cell = Cell("code", (role,), None, points, source, 0)
    return views.node(name, cell, source)
