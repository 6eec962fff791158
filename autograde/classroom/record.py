"""Write verdicts into nbgrader's gradebook, and the notebooks that feedback is made from.

The only writer. Scores of a submission go in together, and writing them twice changes nothing. An
item without a verdict has no score: nbgrader then shows it as not graded, never as zero.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tritonbook.words import language, later, say, titled

from ..judge.course import BadCourse, Course, GivenCell
from ..judge.work import Submission, Verdict
from ..walls import visible
from .matching import given_text
from .stock import load_in_parts, settings
from .times import read_time

_ABOUT_PENALTIES = {"AssignLatePenalties", "LateSubmissionPlugin"}
# What SQLite says of a gradebook, and what helps.
_MENDS = {
    "locked": later("wait until Formgrader, or what else writes to it, is done, or end that"),
    "readonly": later("give yourself the right to write to it and to its folder"),
    "unable to open": later("give yourself the right to read it and to write to its folder"),
    "full": later("make room on its disk"),
    "no such": later("run `nbgrader db upgrade` in its folder"),
    "": later(
        "put a copy of it back, or delete it, run `nbgrader generate_assignment` again, and give "
        "marks by hand anew"
    ),
}
_MARK = re.compile(r"[!-/:-@\[-^`{-~]")  # a sign that may mark up text


def gradebook_url(root: Path) -> str:
    return f"sqlite:///{root / 'gradebook.db'}"


@contextlib.contextmanager
def open_gradebook(root: Path) -> Iterator[Any]:
    """nbgrader's Gradebook. Raises BadCourse for one that is missing, locked, damaged, outdated."""
    load_in_parts()
    from nbgrader.api import Gradebook, MissingEntry
    from sqlalchemy.exc import DBAPIError

    path = root / "gradebook.db"
    if not path.exists():
        raise BadCourse(
            f"{root} has no gradebook.db: run `nbgrader generate_assignment ASSIGNMENT` there."
        )
    try:
        with Gradebook(gradebook_url(root), "triton-workbook") as book:
            yield book
    except MissingEntry as problem:
        raise BadCourse(
            f"{path} does not fit the source notebooks ({problem}): run `nbgrader "
            "generate_assignment ASSIGNMENT --force`."
        ) from None
    except DBAPIError as problem:
        said = str(problem.orig)
        mend = next((mend for words, mend in _MENDS.items() if words in said), _MENDS[""])
        raise BadCourse(f"{path} cannot be used ({said}): {mend}.") from problem


def write_scores(book: Any, submission: Submission, verdicts: dict[str, Verdict]) -> None:
    """Set the scores of one notebook. `verdicts` by key; a key without a final one is pending."""
    from sqlalchemy.exc import SAWarning

    told = submission.timestamp is not None or submission.untimed  # else the gradebook's stays
    extra = {"timestamp": read_time(submission.timestamp or "")} if told else {}
    with warnings.catch_warnings():
        # nbgrader adds a submission's rows in an order that SQLAlchemy remarks on, each time.
        warnings.simplefilter("ignore", category=SAWarning)
        book.update_or_create_student(submission.student)
        book.update_or_create_submission(submission.assignment, submission.student, **extra)
    for exercise in submission.exercises:
        grade = book.find_grade(
            exercise.check, submission.notebook, submission.assignment, submission.student
        )
        verdict = verdicts.get(exercise.key)
        if verdict is None or not verdict.final:
            grade.auto_score, grade.needs_manual_grade = None, True
        elif grade.auto_score != verdict.points:
            grade.auto_score = verdict.points
            # A rule that cannot judge intent only asks a person to look; and so does a score that a
            # person gave to what was handed in before. Who has looked is not asked again.
            by_hand = grade.manual_score is not None
            grade.needs_manual_grade = verdict.status == "POLICY" or by_hand
    book.db.commit()


def exchange(root: Path) -> Path:
    """The folder through which a class hands in, by the course's nbgrader_config.py."""
    try:
        found = settings(root, strict=True)
    except Exception as problem:
        raise _unusable(root, problem) from None
    outdated = found.TransferApp.get("exchange_directory")  # nbgrader takes that name too
    return Path(found.Exchange.get("root") or outdated or visible.EXCHANGE)


def write_late_penalties(root: Path, submissions: Sequence[Submission]) -> None:
    """Let nbgrader's own plug-in write them, under the course's nbgrader_config.py: `nbgrader
    autograde` would write the same. Raises BadCourse."""
    if _no_penalty_is_due(root, submissions):
        return
    from nbgrader.apps import AutogradeApp
    from nbgrader.preprocessors import AssignLatePenalties

    who = ""
    path = sys.path[:]
    sys.path.insert(0, str(root))  # a plug-in may be a file of the course folder
    try:
        app = AutogradeApp(raise_config_file_errors=True)
        app.load_cwd_config = False  # another folder's, where --course names this one
        app.initialize(["--log-level=ERROR"], root=str(root))
        plugin = AssignLatePenalties(parent=app)
        for submission in submissions:
            who = submission.student
            names = {
                "student": submission.student,
                "assignment": submission.assignment,
                "notebook": submission.notebook,
                "db_url": gradebook_url(root),
            }
            plugin.preprocess(new_notebook(), {"nbgrader": names})
    except Exception as problem:
        raise _unusable(root, problem, who) from problem
    finally:
        sys.path[:] = path


def _unusable(root: Path, problem: Exception, student: str = "") -> BadCourse:
    """student: at whose late penalty it came to light."""
    config = root / "nbgrader_config.py"
    told = " ".join(f"{type(problem).__name__}: {problem}".split()).rstrip(".")
    if not student:
        return BadCourse(
            f"{config} cannot be used ({told}): mend it, or copy that of `autograde new-course`."
        )
    return BadCourse(
        f"{config} cannot decide the late penalty of {student} ({told}): mend what it says of late "
        "hand-ins, then run `autograde record`."
    )


def _no_penalty_is_due(root: Path, submissions: Iterable[Submission]) -> bool:
    """Whether nobody is late and no setting is about penalties: the plug-in would write none, and
    need not be loaded. Those of before are taken back."""
    try:
        if _ABOUT_PENALTIES & settings(root, strict=True).keys():
            return False
    except Exception:  # noqa: BLE001  (nbgrader meets it again, and it is told)
        return False
    with open_gradebook(root) as book:
        for submission in submissions:
            names = submission.assignment, submission.student
            if book.find_submission(*names).total_seconds_late > 0:
                return False
            found = book.find_submission_notebook(submission.notebook, *names)
            found.late_submission_penalty = None
        book.db.commit()
    return True


@dataclass(frozen=True)
class Marks:
    """What the gradebook adds to the points of the checks. `by_hand`: points that a person gave in
    place of a check's, None where there are none; `score`: as `nbgrader export` tells it."""

    by_hand: float | None = None
    extra_credit: float = 0.0
    late_penalty: float = 0.0
    score: float = 0.0


def read_marks(root: Path, assignment: str) -> dict[str, Marks]:
    """The marks of every student who has a submission in the gradebook."""
    found = {}
    with open_gradebook(root) as book:
        for submission in book.assignment_submissions(assignment):
            grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
            by_hand = [grade.manual_score for grade in grades if grade.manual_score is not None]
            penalty = submission.late_submission_penalty or 0.0
            found[submission.student.id] = Marks(
                sum(by_hand) if by_hand else None,
                sum(grade.extra_credit or 0.0 for grade in grades),
                penalty,
                max(0.0, submission.score - penalty),
            )
    return found


def write_notebook(
    root: Path, course: Course, submission: Submission, verdicts: dict[str, Verdict]
) -> None:
    """The autograded notebook: the student's answers, each check with its card, nothing hidden."""
    released = root / "release" / course.assignment / f"{course.notebook}.ipynb"
    book = json.loads(released.read_text(encoding="utf-8"))
    answers = {cell.name: cell.source for cell in submission.cells if cell.role == "answer"}
    given = {cell.name: cell for cell in course.cells}
    for cell in book["cells"]:
        settings = cell.get("metadata", {}).get("nbgrader", {})
        name = settings.get("grade_id", "")
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        if name in answers:
            cell["source"] = answers[name]
        elif settings.get("grade") and name in given:
            _fill_check(cell, given[name], verdicts.get(name.removeprefix("check-")))
    _insert_extras(book["cells"], submission)
    if submission.notes:
        book["cells"].insert(0, _notes_cell(submission.notes))
    folder = root / "autograded" / submission.student / course.assignment
    folder.mkdir(parents=True, exist_ok=True)
    if submission.timestamp:
        (folder / "timestamp.txt").write_text(submission.timestamp, encoding="utf-8")
    else:
        (folder / "timestamp.txt").unlink(missing_ok=True)  # of an earlier hand-in
    _replace(folder / f"{course.notebook}.ipynb", json.dumps(book, indent=1) + "\n")


def _fill_check(cell: dict[str, Any], given: GivenCell, verdict: Verdict | None) -> None:
    cell["source"] = given_text(given)
    if verdict is None:
        return
    outputs = cell["outputs"]
    for shown in verdict.reports:
        data = {kind: value for kind, value in shown.items() if "/" in kind}
        if language() != "en":  # the grader's card is English
            data = _translated(data)
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    if verdict.points is None:
        line = say("The grader could not run this check. It has no score yet, and costs no points.")
    else:
        line = say(
            "{points} points of {maximum}. {sentence}",
            points=f"{verdict.points:g}",
            maximum=f"{verdict.maximum:g}",
            sentence=verdict.sentence,
        )
        line = titled(verdict.status, line)
    outputs.append({"output_type": "stream", "name": "stdout", "text": line + "\n"})
    if verdict.status not in ("PASS", "INFRA"):
        told = {"ename": "CheckFailed", "evalue": say(verdict.sentence)}
        lines = [f"CheckFailed: {verdict.code}"]
        outputs.append({"output_type": "error", **told, "traceback": lines})


def _translated(card: dict[str, Any]) -> dict[str, Any]:
    """A card's forms in the language that is spoken here, from its data."""
    from tritonbook.checking import card as cards
    from tritonbook.checking.report import Report

    return cards.bundle(Report.from_dict(card[cards.MIME])) if cards.MIME in card else card


def _notes_cell(notes: tuple[str, ...]) -> dict[str, Any]:
    """What was odd about the hand-in, for the student. A file's name may hold anything: every
    sign that could mark up text is escaped."""
    lines = [say("**How your hand-in was read**"), ""]
    for note in notes:
        lines.append("- " + _MARK.sub(r"\\\g<0>", say(" ".join(note.split()))))
    return new_markdown_cell("\n".join(lines), id="notes")


def _insert_extras(cells: list[dict[str, Any]], submission: Submission) -> None:
    """Cells that the student added, where they stood: below the cell that they followed."""
    places = {
        cell.get("metadata", {}).get("nbgrader", {}).get("grade_id") or cell.get("id"): cell
        for cell in cells
    }
    last: dict[str, Any] | None = None
    for cell in submission.cells:
        if cell.role != "extra":
            last = places.get(cell.name, last)
            continue
        made = new_code_cell(cell.source, id=cell.name)
        cells.insert(cells.index(last) + 1 if last is not None else 0, made)
        last = made


def _replace(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old one or the new one, never half."""
    draft = path.with_suffix(".tmp")  # the same each time: what a killed run left is written over
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
