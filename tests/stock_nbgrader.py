"""Grade with stock nbgrader, and read back what it decided, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess

import nbformat

from autograde.classroom.demo import nbgrader

REPORT_TYPE = "application/vnd.tritonbook.report+json"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class CheckOutcome:
    """What one check of one submission came to: points, and why. `points` is None when nbgrader
    could not say."""

    key: str
    points: float | None
    maximum: float
    code: str
    sentence: str


@dataclass
class Graded:
    """One submitted notebook after autograding."""

    student: str
    notebook: str
    checks: list[CheckOutcome] = field(default_factory=list)


def autograde(course: Path, assignment: str, students: str = "*") -> CompletedProcess[str]:
    """`nbgrader autograde` for the students whose names fit. The gradebook must exist."""
    chosen = (assignment, f"--student={students}", "--force")
    ended = nbgrader(course, "autograde", *chosen)
    if "Address already in use" in ended.stdout:  # two kernels were given one TCP port
        ended = nbgrader(course, "autograde", *chosen)
    return ended


def read_grades(course: Path, commands: Iterable[CompletedProcess[str]]) -> list[Graded]:
    """Every submission with its points, from the gradebook, and its reasons, from the notebooks.

    nbgrader gives a notebook whose kernel died no score at all, and its CSV shows 0.0 for it, like
    an honest zero. The logs of the autograde commands tell why.
    """
    from nbgrader.api import Gradebook

    log = "\n".join(ended.stdout for ended in commands)
    found = []
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "triton-workbook") as book:
        for assignment in book.assignments:
            for submission in book.assignment_submissions(assignment.name):
                for notebook in submission.notebooks:
                    path = course / "autograded" / submission.student.id / assignment.name
                    reports = _reports(path / f"{notebook.name}.ipynb")
                    graded = Graded(submission.student.id, notebook.name)
                    for grade in sorted(notebook.grades, key=lambda grade: grade.id):
                        code, sentence = reports.get(grade.cell.name) or _lost(
                            log, submission.student.id, assignment.name
                        )
                        graded.checks.append(
                            CheckOutcome(
                                grade.cell.name,
                                grade.auto_score,
                                grade.max_score,
                                code,
                                sentence,
                            )
                        )
                    found.append(graded)
    return found


def _reports(path: Path) -> dict[str, tuple[str, str]]:
    """(code, sentence) of each graded cell of an autograded notebook, by grade id."""
    if not path.is_file():
        return {}
    found = {}
    for cell in nbformat.read(path, as_version=4).cells:
        settings = cell.metadata.get("nbgrader", {})
        if settings.get("grade") and cell.cell_type == "code":
            found[settings["grade_id"]] = reason(cell.get("outputs", []))
    return found


def reason(outputs: Iterable[dict]) -> tuple[str, str]:
    """Why a check cell got its points, as (code, sentence), from what the cell put out.

    The last report that is not passed decides: a cell can hold a visible and a hidden check.
    """
    verdict, stopped = None, None
    for output in outputs:
        if output.get("output_type") == "error":
            stopped = (output.get("ename", ""), _ANSI.sub("", output.get("evalue", "")))
        data = output.get("data", {}).get(REPORT_TYPE)
        if data is None:
            continue
        report = json.loads(data) if isinstance(data, str) else data
        finding = report.get("finding")
        if finding:
            verdict = (finding["code"], finding["sentence"])
        elif verdict is None:
            verdict = ("passed", report.get("state", "passed"))
    if stopped and stopped[0] in ("CellTimeoutError", "KeyboardInterrupt"):
        return "timeout", "The cell did not end within its time and was interrupted."
    if stopped and (verdict is None or verdict[0] == "passed"):
        return "raised", f"{stopped[0]}: {stopped[1]}"
    return verdict or ("no-report", "The cell said nothing.")


def _lost(log: str, student: str, assignment: str) -> tuple[str, str]:
    """Why a submission has no autograded notebook, from nbgrader's log."""
    marker = re.compile(rf"submitted/{re.escape(student)}/{re.escape(assignment)}\b")
    for block in re.split(r"(?=\[AutogradeApp \| ERROR\] There was an error processing)", log):
        if not marker.search(block.split("\n", 1)[0]):
            continue
        if "DeadKernelError" in block:
            return "crashed", "The kernel died while a cell ran; nbgrader kept nothing of it."
        last = [line for line in block.splitlines() if re.match(r"[\w.]+(Error|Exception)\b", line)]
        return "failed", last[0] if last else "nbgrader could not grade this notebook."
    return "failed", "nbgrader left no autograded notebook and its log does not say why."
