"""Is a certificate true? Grade the sources that it holds again, behind walls."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from tritonbook.course import certify
from tritonbook.course.exercises import exercises
from tritonbook.words import later

from ..judge.course import BadCourse, Course, asked_of, keys_of, read_cells
from ..judge.execute import Executor, Setting
from ..judge.work import Item
from ..walls import sandbox
from .cells import HandedCell
from .ingest import rebuild
from .matching import solution_text
from .new_course import COURSE
from .report import failure
from .statement import claims


def verify(file: Path, force: bool = False, course: Path | None = None) -> list[certify.Claim]:
    """What each claimed pass came to when it was graded again, and which exams `course` has signed.

    force: run them where no walls can be built, as programs of yours. Raises NoWalls, and
    BadCertificate for a file that is none or was changed.
    """
    data = certify.read(file)
    signed = claims(data, course)
    executor = Executor(Setting(sandbox.choose("auto", None, force)))
    return [*(_graded(row, executor) for row in data["passes"]), *signed]


def _graded(row: dict[str, Any], executor: Executor) -> certify.Claim:
    """One claimed pass. The answer is a hand-in of its page, where all others are solved."""
    page, key = row["notebook"], row["key"]
    if not row["source"]:
        return certify.Claim(
            key, False, later("no source was kept: make the page anew with `tritonbook certify`")
        )
    course = _course(page)
    keys = course.keys() if course else ()
    if course is None or key not in keys:
        return certify.Claim(key, False, later(f"there is no task {key} on a page {page}"))
    texts = {cell.name: solution_text(cell) for cell in course.answers()}
    texts[f"answer-{key}"] = row["source"]
    handed = [HandedCell("code", (name,), text) for name, text in texts.items()]
    submission = rebuild(course, "certificate", handed, [])
    task = next(each for each in submission.exercises if each.key == key)
    verdict = executor.run(Item(course, submission, task))
    passed = verdict.status == "PASS"
    told = verdict.sentence.splitlines()[0] if verdict.final else failure(verdict)
    return certify.Claim(key, passed, "passed" if passed else told)


def _course(page: str) -> Course | None:
    """A page as it is graded; None: there is none of this name. Raises BadCourse."""
    if page not in {each.slug for each in exercises()}:
        return None
    source = COURSE / "source" / page / f"{page}.ipynb"
    if not source.is_file():
        raise BadCourse(f"{source} is missing: run `make sync` in the checkout of the workbook.")
    cells = read_cells(source)
    return Course(page, page, cells, secrets.token_hex(32), asked_of(page, keys_of(cells)))
