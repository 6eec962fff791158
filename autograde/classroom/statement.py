"""Signed statements: that a student passed an exam, and with what, for a certificate to name.

The signature is made with the course's secret, so only a holder of the course folder can make or
check one (HMAC, RFC 2104). It says that the points stand in that course's gradebook.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

from tritonbook.course import exercises
from tritonbook.course.certify import Claim
from tritonbook.words import later

from ..judge.course import BadCourse, instructor_secret
from .record import open_gradebook

NAMES = ("exam", "student", "score", "of", "date")


def write_statements(root: Path, assignment: str, pass_mark: float) -> tuple[list[Path], int]:
    """Write signed/ASSIGNMENT/STUDENT.json for each student who passed, and for nobody else.

    pass_mark: the least share of the points, in percent. Returns the paths, and how many students
    are graded. Raises BadCourse for a page of the course, where nobody is graded, or the gradebook
    cannot be read.
    """
    from nbgrader.api import MissingEntry

    if assignment in {page.slug for page in exercises.exercises()}:
        raise BadCourse(
            f"{assignment} is a page of the course, no exam: `autograde exam` makes one to sign."
        )
    secret, paths = instructor_secret(root), []
    today = datetime.date.today().isoformat()
    with open_gradebook(root) as book:
        try:
            found = [each for each in book.assignment_submissions(assignment) if graded(each)]
        except MissingEntry:
            found = []
        for submission in found:
            score = max(0.0, submission.score - (submission.late_submission_penalty or 0.0))
            of = float(submission.max_score)
            path = root / "signed" / assignment / f"{submission.student.id}.json"
            if score < of * pass_mark / 100:
                path.unlink(missing_ok=True)  # of an earlier grade, or mark
                continue
            told = (assignment, submission.student.id, float(score), of, today)
            statement = dict(zip(NAMES, told, strict=True))
            statement["signature"] = signature(statement, secret)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(statement, indent=1) + "\n", encoding="utf-8")
            paths.append(path)
    if not found:
        raise BadCourse(
            f"{root} has no grades of {assignment}: run `autograde grade {assignment}` there."
        )
    return paths, len(found)


def graded(submission: Any) -> bool:
    """Whether every check of a submission has a score."""
    grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
    return all(g.auto_score is not None or g.manual_score is not None for g in grades)


def signature(statement: dict[str, Any], secret: str) -> str:
    """The signature of a statement's other entries."""
    told = json.dumps([statement[name] for name in NAMES]).encode()
    return hmac.new(secret.encode(), told, hashlib.sha256).hexdigest()


def claims(data: dict[str, Any], root: Path | None) -> list[Claim]:
    """Which of a certificate's exams were signed by the course in `root`; None: nobody knows.

    Raises BadCourse for a folder that has never signed: to look must not make a secret.
    """
    if root is not None and not (root / "secret").is_file():
        raise BadCourse(
            f"{root} has no file `secret`: name with --course the folder of the course that signed."
        )
    found = []
    for statement in data["exams"]:
        said = later("not checked: name the course's folder with --course")
        holds = False
        if root is not None:
            made = signature(statement, instructor_secret(root))
            holds = hmac.compare_digest(made.encode(), statement["signature"].encode())
            score, of, student = (
                f"{statement['score']:g}",
                f"{statement['of']:g}",
                statement["student"],
            )
            signed = later(f"{score} of {of} points of {student}, signed")
            said = (
                signed
                if holds
                else later("not signed by this course, or changed since: ask for a new one")
            )
        found.append(Claim(statement["exam"], holds, said))
    return found
