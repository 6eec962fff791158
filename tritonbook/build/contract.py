"""The rules of a page. A broken one is named in one sentence: file, line, mend.

Rules about what stands inside a kernel are in `kernel_rules`, and the rule that an open gap must
compile is in `stubs`.
"""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterable, Iterator

from markdown_it import MarkdownIt

from ..checking.codes import CODES
from ..course import gaps, page_checks
from ..course.exercises import Exercise
from ..course.mutants import MutantError, wrong_answers
from ..course.source import FIRST, SETUP, Cell, SourceError
from . import budget, kernel_rules, limits, taught
from .kernel_rules import Problem
from .release import Release

MAX_WIDTH = 100
HINTS = 3


def problems(exercise: Exercise, release: Release) -> list[SourceError]:
    """Everything that is wrong with one exercise file, in the order of its lines."""
    try:
        trees = exercise.parse_code()
        for cell in exercise.answers().values():
            exercise.cut(cell, gaps.gaps)
    except SourceError as error:
        return [error]
    of_cells = (_setup, _keys, _answers, _hints, _checks, _predictions, _code, _prose, _end)
    broken = [each for rule in (_header, _limits, *of_cells) for each in rule(exercise)]
    for cell, tree in trees.items():
        for line, problem, mend in kernel_rules.problems(tree, cell.source):
            broken.append((cell.line + line, problem, mend))
    found = [SourceError(exercise.path, *each) for each in broken]
    found += [*_cases(exercise), *_wrong(exercise)]
    found += budget.problems(exercise, release)
    return sorted(found, key=lambda error: (str(error.path), error.line))


def course_problems(course: Iterable[Exercise]) -> list[SourceError]:
    """What is wrong between exercises: numbers, keys, prerequisites, names that nobody showed."""
    course = list(course)
    found = [*taught.problems(course)]
    keys: dict[str, str] = {}
    earlier: dict[str, int] = {}
    for exercise in course:
        path = exercise.path
        for slug, number in earlier.items():
            if number == exercise.number:
                problem = f"{slug} has the number {number} too"
                found.append(SourceError(path, 1, problem, "rename one of the folders"))
        for slug in exercise.header.requires:
            if slug not in earlier:
                problem = f"it requires {slug!r}, which is no earlier exercise"
                found.append(SourceError(path, 1, problem, "name one that comes before it"))
        for key, cell in exercise.answers().items():
            if key in keys:
                problem = f"the key {key!r} is in {keys[key]} too"
                found.append(SourceError(path, cell.line, problem, "choose another key"))
            keys[key] = exercise.slug
        earlier[exercise.slug] = exercise.number
    return found


def _header(exercise: Exercise) -> Iterator[Problem]:
    if not 1 <= len(exercise.header.you_will) <= 5:
        yield 1, f"'you_will' has {len(exercise.header.you_will)} items", "state one to five"


def _limits(exercise: Exercise) -> Iterator[Problem]:
    answers = (ast.parse(cell.source) for cell in exercise.answers().values())
    nodes = (node for tree in answers for node in ast.walk(tree))
    kernels = any(isinstance(node, ast.FunctionDef) and gaps.is_kernel(node) for node in nodes)
    text = exercise.path.read_text(encoding="utf-8")
    for problem, mend in limits.slips(exercise.header.limits, kernels):
        yield _find_line(text, "limits:"), problem, mend


def _setup(exercise: Exercise) -> Iterator[Problem]:
    found = [cell for cell in exercise.cells if cell.role == "setup"]
    code = [cell for cell in exercise.cells if cell.kind == "code"]
    if found != code[:1] or found[0].source != SETUP:
        problem = "the first code cell, and no other, is the set-up cell of all notebooks"
        mend = f"write {FIRST!r} there; import the rest in a later cell"
        yield code[0].line if code else 1, problem, mend


def _keys(exercise: Exercise) -> Iterator[Problem]:
    """Each key: one answer, a hint right below it, one check after it."""
    places: dict[tuple[str, str], int] = {}
    for place, cell in enumerate(exercise.cells):
        if cell.key is None:
            continue
        if (cell.role, cell.key) in places:
            problem = f"the key {cell.key!r} has two {cell.role} cells"
            yield cell.line, problem, "merge them or rename one key"
        places[cell.role, cell.key] = place
    for (role, key), place in places.items():
        cell = exercise.cells[place]
        if role != "answer":
            if ("answer", key) not in places:
                problem = f"the {role} cell's key {key!r} has no answer cell"
                yield cell.line, problem, "add the answer or mend the key"
            continue
        if places.get(("hint", key)) != place + 1:
            problem = f"the answer {key!r} has no hint cell right below it"
            yield cell.line, problem, "add one with three <details> blocks"
        if places.get(("check", key), -1) < place:
            problem = f"the answer {key!r} has no check cell below it"
            yield cell.line, problem, f'add tags=["check"] key="{key}"'


def _answers(exercise: Exercise) -> Iterator[Problem]:
    for cell in exercise.answers().values():
        if not gaps.gaps(cell.source):
            yield (
                cell.line,
                f"the answer {cell.key!r} has no gap",
                "put markers around its solution",
            )
        yield from _leaks(exercise, cell)


def _leaks(exercise: Exercise, answer: Cell) -> Iterator[Problem]:
    """Solution lines that the learner would read in the answer's own cell, or most in its hint."""
    secret = solution_lines(answer.source)
    for cell in exercise.cells:
        if cell.key != answer.key or cell.role not in ("answer", "hint"):
            continue
        text = gaps.learner_text(cell.source) if cell is answer else cell.source
        shown = [_squeezed(line) for line in text.splitlines()]
        read = sorted(line for line in secret if any(line in other for other in shown))
        # A hint may quote a line of several; the answer's own comments may quote none.
        if cell is answer and read or cell is not answer and 2 * len(read) > len(secret):
            problem = f"the learner can read the solution line {read[0]!r}"
            mend = "leave holes in it, or move it out of the gap"
            yield _line_of(cell, read[0]), problem, mend


def solution_lines(text: str) -> set[str]:
    """The lines of an answer that only its gaps hold, without trivial ones, blanks squeezed."""
    inside: set[str] = set()
    lines = text.splitlines()
    for gap in gaps.gaps(text):
        for line in lines[gap.begin : gap.end - 1]:
            squeezed = _squeezed(line)
            if len(squeezed) >= 16 and re.search(r"[=(]", squeezed) and squeezed[0] != "#":
                inside.add(squeezed)
    outside = {_squeezed(line) for line in gaps.learner_text(text).splitlines()}
    return inside - outside


def _squeezed(line: str) -> str:
    return " ".join(line.split())


def _line_of(cell: Cell, squeezed: str) -> int:
    lines = cell.source.splitlines()
    return cell.line + next(i for i, line in enumerate(lines, 1) if squeezed in _squeezed(line))


def _hints(exercise: Exercise) -> Iterator[Problem]:
    for cell in exercise.cells:
        if cell.role != "hint":
            continue
        count = cell.source.count("<details>")
        if not count == cell.source.count("</details>") == cell.source.count("<summary>") == HINTS:
            problem = f"the hint {cell.key!r} does not hold three whole <details> blocks"
            mend = "write <details><summary>...</summary> ... </details> three times"
            yield cell.line, problem, mend


def _checks(exercise: Exercise) -> Iterator[Problem]:
    """Check cells call check(name), and one is worth something."""
    checks = exercise.checks()
    if not sum(cell.points for cell in checks.values()):
        yield 1, "no check is worth a point", "add points= to one"
    for key, cell in checks.items():
        if cell.source != f"check({key})":
            problem = f"the check cell {key!r} holds something else than the check"
            yield cell.line, problem, f"write check({key}) alone"


def _cases(exercise: Exercise) -> Iterator[SourceError]:
    """cases.py says for each check what is asked, and for no other."""
    checks = exercise.checks()
    try:
        asked = page_checks.checks(exercise)
    except SourceError as error:
        yield error
        return
    for key in set(checks) - set(asked):
        problem = f"cases.py does not say what the check {key!r} tries"
        yield SourceError(exercise.path, checks[key].line, problem, f"add CHECKS[{key!r}] there")
    path = exercise.path.with_name("cases.py")
    text = path.read_text(encoding="utf-8")
    for key, check in asked.items():
        line = _find_line(text, f'"{key}":')
        if key not in checks:
            yield SourceError(path, line, f"the page has no check {key!r}", "mend the name")
        elif not check.hidden:
            problem = f"the check {key!r} has no hidden case"
            yield SourceError(path, line, problem, "add hidden=[case(...)]")


def _predictions(exercise: Exercise) -> Iterator[Problem]:
    """A box for guesses: nothing filled in, nothing that later cells need, a derivation below."""
    for place, cell in enumerate(exercise.cells):
        if cell.role != "predict":
            continue
        nodes = list(ast.walk(ast.parse(cell.source)))
        calls = [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) == "predict"]
        if len(calls) != 1 or not (calls[0].args and isinstance(calls[0].args[0], ast.Dict)):
            problem = "the cell of guesses does not call predict({...}) once"
            yield cell.line, problem, "write its questions as a dict"
            continue
        guesses = calls[0].args[0].values
        if any(not isinstance(g, ast.Constant) or g.value is not None for g in guesses):
            yield cell.line, "a guess is filled in already", "leave None to the learner"
        if _made(cell):
            yield cell.line, "the cell of guesses defines a name", "measure in a cell above it"
        yield from _formulas(exercise.cells[:place], cell, calls[0])
        below = exercise.cells[place + 1 : place + 2]
        if not (below and below[0].kind == "markdown" and "<details>" in below[0].source):
            problem = "no folded derivation stands below the guesses"
            yield cell.line, problem, "add markdown with <details>"


def _formulas(above: list[Cell], cell: Cell, call: ast.Call) -> Iterator[Problem]:
    """Numbers that a guess is held to, and that nothing of the page was asked for."""
    made = set().union(*(_made(each) for each in above if each.kind == "code"))
    measured = next((each.value for each in call.keywords if each.arg == "measured"), call)
    for each in measured.elts if isinstance(measured, ast.List) else [measured]:
        used = {node.id for node in ast.walk(each) if isinstance(node, ast.Name)}
        if not used & made:
            problem = f"a guess is held to a formula: {ast.unparse(each)}"
            yield cell.line + each.lineno, problem, "measure it, or ask in a folded question"


def _made(cell: Cell) -> set[str]:
    """Names that a cell makes: functions, and what it assigns; imports are not of the page."""
    names = symtable.symtable(cell.source, "cell", "exec").get_symbols()
    return {each.get_name() for each in names if each.is_assigned() and not each.is_imported()}


def _code(exercise: Exercise) -> Iterator[Problem]:
    for cell in exercise.cells:
        if cell.kind != "code":
            continue
        for number, line in enumerate(cell.source.splitlines(), 1):
            place = cell.line + number
            if re.match(r"\s*[%!]", line) or re.match(r"# ?[%!]\w", line):
                yield place, "a magic command or shell line", "write it in Python"
            if len(line) > MAX_WIDTH and cell.role != "setup":
                yield place, f"the line has {len(line)} characters", f"break it at {MAX_WIDTH}"
            if re.search(r"\b(make_block_ptr|tl\.advance)\b", line):
                problem = "block pointers are gone from newer Tritons"
                yield place, problem, "use plain offsets and strides"


def _prose(exercise: Exercise) -> Iterator[Problem]:
    """A line that begins with the sign of a list is an item of it, in `code` too, whose signs are
    then text."""
    for cell in exercise.cells:
        for block in MarkdownIt().parse(cell.source) if cell.kind == "markdown" else ():
            if any(each.type == "text" and "`" in each.content for each in block.children or ()):
                problem = "`code` has no end before the next item or paragraph"
                yield cell.line + block.map[0] + 1, problem, "break it elsewhere"


def _end(exercise: Exercise) -> Iterator[Problem]:
    last = exercise.cells[-1]
    if last.source.strip() != "progress()":
        yield last.line, "the page does not end with the learner's progress", "add progress() below"


def _wrong(exercise: Exercise) -> Iterator[SourceError]:
    """Mutants and variants that no longer fit their exercise."""
    path = exercise.path.with_name("wrong.py")
    try:
        wrong = wrong_answers(exercise)
        for table in (wrong.mutants, wrong.variants):
            for key, changes in table.items():
                for change in changes:
                    wrong.text(key, change)
    except MutantError as error:
        # The error's own text names file, key and mend.
        yield SourceError(path, 1, str(error).partition(": ")[2], "bring it up to date")
        return
    for key, mutants in wrong.mutants.items():
        given = {*CODES, *(mutant.code for mutant in mutants)}
        for mutant in mutants:
            for code in sorted({*mutant.seen, *mutant.on_gpu} - given):
                problem = f"{key}, {mutant.name!r}: no check gives {code!r}"
                mend = "name one that `python -m tritonbook.build codes` prints, or a mutant"
                yield SourceError(path, 1, problem, mend)
    known = {mutant.name for mutants in wrong.mutants.values() for mutant in mutants}
    known |= {cell.role for cell in exercise.cells} & {"predict"}
    promised = exercise.header.you_will
    if len(wrong.promises) != len(promised) or not known.issuperset(wrong.promises):
        problem = f"PROMISES does not name what breaks each of {len(promised)} items of 'you_will'"
        yield SourceError(path, 1, problem, "name a mutant, or predict, for each in its order")
    for key, cell in exercise.checks().items():
        if cell.points and not wrong.mutants.get(key):
            problem = f"nothing proves that the check {key!r} refuses a wrong answer"
            mend = f"add MUTANTS[{key!r}] to wrong.py"
            yield SourceError(exercise.path, cell.line, problem, mend)


def _find_line(text: str, wanted: str) -> int:
    lines = text.splitlines()
    return next((i for i, line in enumerate(lines, 1) if wanted and wanted in line), 1)
