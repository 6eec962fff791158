"""`autograde exam`: draw broken kernels from the course, for an exam in which they are mended.

A question is a wrong answer: one that a page knows (`MUTANTS` of its wrong.py), or a small change
of the right one that a machine makes (as `make mutate` does). It has a hardness from 1 to 5, which
is also its points on the sheet. Which hardnesses a sheet has follows from the pages and the number
of tasks alone, and nearly so how many lines are to be read; the seed decides about functions and
mistakes. So two sheets are equally hard. `exam_sheet.py` writes what is drawn here.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import random
import re
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tritonbook.build.matrix import SECONDS, Attempt, CheckProcess
from tritonbook.checking.codes import CODES, about, only_a_place
from tritonbook.checking.codes import VALUES as OF_VALUES
from tritonbook.command import sentence
from tritonbook.course import gaps
from tritonbook.course.exercises import Exercise, exercises, get
from tritonbook.course.mutants import wrong_answers
from tritonbook.course.mutations import mutations
from tritonbook.course.page_checks import checks
from tritonbook.words import later

from ..judge.course import BadCourse
from ..judge.statements import LENDING, Statement, reached, statements

# What is refused for another reason than values or these, such as a kernel that does not compile,
# tells its mistake by itself and is not asked. Here no value needs to be wrong.
SEEN = {
    "out-of-bounds-store": later("The function writes outside its result."),
    "reads-outside": later("The function reads outside its inputs."),
    "race": later("Programs that run at the same time store to the same place."),
    "input-changed": later("The function changes one of its inputs."),
}
VALUES = {code for code in CODES if about(code, OF_VALUES)}
PLACES = {code for code in VALUES if only_a_place(code)} - {*SEEN}
LONG = 40  # lines of an answer, from which on it is harder to read
MANY_POINTS = 5  # of a page's task
TRIES = 200
AS_LONG = 0.1  # so far the lines of a sheet may be from what is usual, where the pages give room
MISSES = 4  # changes of a task that show nothing, until others are asked about


@dataclass(frozen=True, eq=False)
class Task:
    """A function that may be asked about. given: the statements of its page that it needs. own:
    names that mean on a sheet what they mean here."""

    exercise: Exercise
    key: str
    right: str
    given: tuple[Statement, ...]
    own: frozenset[str]
    questions: list[Question] = field(default_factory=list)

    @property
    def lines(self) -> int:
        return sum(bool(line.strip()) for line in self.right.splitlines())

    def fits(self, other: Task) -> bool:
        """Whether both can stand on one sheet, so that none gives what the other asks for."""
        pairs = ((self, other), (other, self))
        return self.own.isdisjoint(other.own) and all(
            one.own.isdisjoint(each.gives) for one, two in pairs for each in two.given
        )


@dataclass(frozen=True, eq=False)
class Question:
    """A task with one mistake in it. codes: the diagnoses that belong to its hardness; a check that
    gives another one makes it no question. known: to the page, not made by machine."""

    task: Task
    name: str
    codes: Collection[str]
    broken: str
    hardness: int
    known: bool = True


def done(pages: Iterable[str]) -> list[Exercise]:
    """The pages of a class, by part (one digit), number (04) or name; none: all. Raises
    BadCourse."""
    found: set[Exercise] = set()
    for name in filter(None, pages):
        part = [each for each in exercises() if name == str(each.number // 10)]
        try:
            found.update(part or [get(name)])
        except LookupError as problem:
            raise BadCourse(sentence(problem)) from None
    return sorted(found or exercises(), key=lambda page: page.slug)


def tasks_of(page: Exercise) -> list[Task]:
    """The required kernels of a page that stand alone: they ask no other page for a function."""
    known, wrong, found = checks(page), wrong_answers(page), []
    for key, cell in page.answers().items():
        asked, check = known[key], page.checks()[key]
        right = page.cut(cell, gaps.solved_text)
        body = ast.parse(right).body
        functions = [node for node in body if isinstance(node, ast.FunctionDef)]
        kernel = any(gaps.is_kernel(node) for node in functions)
        if not (asked.triton and kernel and functions == body) or "stretch" in check.tags:
            continue
        if f"{key}_cause" in asked.beside:
            continue  # a patient of the clinic: its cell names another cause than a sheet's mistake
        own = {*asked.beside, *filter(None, [asked.through])}
        roots = {name for each in statements(right) for name in each.names}
        given = _needed(page, key, roots | own | {asked.reference.__name__})
        if any(not each.names.isdisjoint(LENDING) for each in given):
            continue
        own.update(function.name for function in functions)
        task = Task(page, key, right, given, frozenset(own))
        hardness = (
            1 + ((check.points or 0) >= MANY_POINTS) + (page.number >= 20) + (task.lines > LONG)
        )
        mutants = wrong.mutants.get(key, ())
        allowed = {*VALUES, *SEEN, *(mutant.code for mutant in mutants if mutant.says)}
        for mutant in mutants:
            if mutant.only or mutant.replace is not None or not set(mutant.codes) <= allowed:
                continue
            broken = wrong.text(key, mutant)
            level = hardness + (set(mutant.codes) <= PLACES)
            task.questions.append(Question(task, mutant.name, mutant.codes, broken, level))
        levels = (hardness, allowed - PLACES), (hardness + 1, PLACES)
        same = wrong.equivalent.get(key, {})
        for change in mutations(cell.source):
            name, solved = change.name, gaps.solved_text(cell.source)
            text = "" if name in same else _as_by_hand(name, change.text, solved)
            if text:  # what its check says decides about its hardness
                task.questions.extend(
                    Question(task, name, codes, text, level, known=False) for level, codes in levels
                )
        if any(question.known for question in task.questions):
            found.append(task)
    return found


def _as_by_hand(name: str, changed: str, right: str) -> str:
    """A change by machine as somebody would have written it; empty where its looks give it away:
    a `pass` beside statements, `if True`, a call that alone stands on one long line."""
    broken, kept = changed.splitlines(), right.splitlines()
    after = name.partition(" => ")[2]
    if after.split(" (")[0] == "pass":
        at = next(i for i, (one, two) in enumerate(zip(broken, kept, strict=False)) if one != two)
        text = "\n".join(broken[:at] + broken[at + 1 :])
        try:
            ast.parse(text)
        except SyntaxError:  # the only statement of its block
            return ""
        return text
    glaring = any(words in after for words in ("if True", "if False")) or len(broken) != len(kept)
    return "" if glaring else changed


def _needed(page: Exercise, key: str, roots: Iterable[str]) -> tuple[Statement, ...]:
    """The statements of a page, beside the answer `key`, that some names need, in order."""
    texts = []
    for cell in page.cells:
        if cell.role == "reference":
            texts.append(cell.source)
        elif cell.role == "answer" and cell.key != key:
            texts.append(page.cut(cell, gaps.solved_text))
    needed = reached(texts, roots)
    return tuple(each for text in texts for each in statements(text) if each in needed)


def yardstick(tasks: Sequence[Task], count: int) -> list[Question]:
    """A sheet that goes evenly through the tasks, easy ones first. Each sheet of them has its
    hardnesses. Raises BadCourse where so many do not fit on one sheet."""
    ordered = sorted(tasks, key=lambda task: min(each.hardness for each in task.questions))
    rng = random.Random(0)
    chosen: list[Task] = []
    while len(chosen) < count:
        left = [task for task in ordered if all(map(task.fits, chosen))]
        if not left:
            raise BadCourse(
                f"These pages have broken kernels for a sheet of {len(chosen)} tasks, not of "
                f"{count}: ask for fewer, or name more pages."
            )
        chosen.append(left[len(left) * (2 * len(chosen) + 1) // (2 * count)])
    return [rng.choice([each for each in task.questions if each.known]) for task in chosen]


def draw(
    tasks: Sequence[Task], count: int, seed: str, without: Collection[Question] = ()
) -> list[Question]:
    """The questions of a sheet, easy ones first. Raises BadCourse as `yardstick` does."""
    levels = sorted(question.hardness for question in yardstick(tasks, count))
    lines: dict[int, list[int]] = collections.defaultdict(list)  # of answers, by hardness
    for task in tasks:
        for level in {each.hardness for each in task.questions}:
            lines[level].append(task.lines)
    due = sum(statistics.mean(lines[level]) for level in levels)
    rng = random.Random(seed)
    left = {
        (task, level): [q for q in task.questions if q.hardness == level and q not in without]
        for task in tasks
        for level in {*levels}
    }
    sheets: dict[float, list[Question]] = {}  # by how far off they are
    for sheet in filter(None, (_attempt(rng, tasks, levels, left) for _ in range(TRIES))):
        off = abs(sum(each.task.lines for each in sheet) / due - 1)
        sheets.setdefault(off, sheet)
        if off <= AS_LONG:
            break
    if not sheets:
        raise BadCourse(f"No sheet of {count} tasks was found: ask for fewer, or name more pages.")
    return sheets[min(sheets)]


def _attempt(
    rng: random.Random,
    tasks: Sequence[Task],
    levels: Sequence[int],
    left: Mapping[tuple[Task, int], list[Question]],
) -> list[Question]:
    """A sheet of these hardnesses; empty where the first tasks leave no room for the others.
    left: the questions of each task and hardness."""
    found: list[Question] = []
    for level in levels:
        options = [
            left[task, level] for task in tasks if all(task.fits(each.task) for each in found)
        ]
        if not any(options):
            return []
        questions = rng.choice([each for each in options if each])
        kinds = [[q for q in questions if q.known is known] for known in (True, False)]
        found.append(rng.choice(rng.choice([kind for kind in kinds if kind])))
    return found


def examined(tasks: Sequence[Task], count: int, seed: str) -> list[tuple[Question, str]]:
    """The questions of a sheet with what is seen of each mistake, as the visible check runs it
    here. One that shows nothing is left out, and the sheet is drawn again."""
    seen: dict[Question, str] = {}
    with contextlib.closing(CheckProcess()) as worker:
        while True:
            empty = {question for question in seen if not seen[question]}
            try:
                sheet = draw(tasks, count, seed, empty | _tired(empty))
            except BadCourse:  # no other questions are left
                sheet = draw(tasks, count, seed, empty)
            for question in sheet:
                if question not in seen:
                    seen[question] = _symptom(worker, question)
            if all(seen[question] for question in sheet):
                return [(question, seen[question]) for question in sheet]


def _tired(empty: Collection[Question]) -> set[Question]:
    """The questions beside several that show nothing. Of some tasks nearly no change by machine
    shows a wrong value at a hardness, and a hundred would be run in vain."""
    kinds = collections.Counter((each.task, each.hardness, each.known) for each in empty)
    return {
        question
        for (task, hardness, known), misses in kinds.items()
        for question in task.questions
        if misses >= MISSES and (question.hardness, question.known) == (hardness, known)
    }


def _symptom(worker: CheckProcess, question: Question) -> str:
    """What is wrong on the first input that shows it, not why; empty where nothing is, or where
    the check gives a diagnosis of another hardness."""
    task, codes = question.task, tuple(question.codes)
    attempt = Attempt(task.exercise, task.key, "mutant", question.name, codes, question.broken)
    answer = worker.ask(attempt, None, SECONDS, hidden=False)
    row = re.search(r"(?m)^  ✗ (.+?) \((.+?)\)(?:: (first at .+))?$", answer.card)
    if answer.code not in codes or row is None:
        return ""
    where, arguments, values = row.groups()
    said = SEEN.get(answer.code) or (values and later(f"The result is wrong, {values}."))
    return later(f'The input is "{where}" ({arguments}).') + f" {said}" if said else ""
