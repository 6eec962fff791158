"""Grade with stock nbgrader, and read back what it decided, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from subprocess import CompletedProcess

import nbformat

from autograde.classroom.demo import nbgrader

REPORT_TYPE = "application/vnd.tritonbook.report+json"


def autograde(course: Path, assignment: str) -> CompletedProcess[str]:
    """`nbgrader autograde` of all submissions. The gradebook must exist."""
    command = ("autograde", assignment, "--force")
    ended = nbgrader(course, *command)
    if "Address already in use" in ended.stdout:  # two kernels were given one TCP port
        ended = nbgrader(course, *command)
    return ended


def read_grades(course: Path, log: str) -> dict[tuple[str, str], tuple[float, str]]:
    """By student and checked function: points from the gradebook, and the code of the reason from
    the notebook.

    nbgrader gives a notebook whose kernel died no score at all, and its CSV shows 0.0 for it, like
    an honest zero. The log of the autograde command tells why.
    """
    from nbgrader.api import Gradebook

    found = {}
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "triton-workbook") as book:
        for assignment in book.assignments:
            for submission in book.assignment_submissions(assignment.name):
                student = submission.student.id
                for notebook in submission.notebooks:
                    path = course / "autograded" / student / assignment.name
                    codes = _codes(path / f"{notebook.name}.ipynb")
                    for grade in notebook.grades:
                        name = grade.cell.name
                        code = codes.get(name) or _lost(log, student, assignment.name)
                        key = name.removeprefix("check-")
                        found[student, key] = (grade.auto_score or 0.0, code)
    return found


def _codes(path: Path) -> dict[str, str]:
    """The reason of each graded cell of an autograded notebook, by grade id."""
    cells = nbformat.read(path, as_version=4).cells if path.is_file() else []
    graded = {
        cell.metadata["nbgrader"]["grade_id"]: cell
        for cell in cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")
    }
    return {name: _reason(cell.get("outputs", [])) for name, cell in graded.items()}


def _reason(outputs: Iterable[dict]) -> str:
    """Why a check cell got its points, from what the cell put out.

    The last report that is not passed decides: a cell can hold a visible and a hidden check.
    """
    verdict, stopped = "", ""
    for output in outputs:
        if output.get("output_type") == "error":
            stopped = output.get("ename", "")
        data = output.get("data", {}).get(REPORT_TYPE)
        if data is None:
            continue
        report = json.loads(data) if isinstance(data, str) else data
        if report.get("finding"):
            verdict = report["finding"]["code"]
        verdict = verdict or "passed"
    if stopped in ("CellTimeoutError", "KeyboardInterrupt"):
        return "timeout"
    if stopped and verdict in ("", "passed"):
        return "raised"
    return verdict or "no-report"


def _lost(log: str, student: str, assignment: str) -> str:
    """Why a submission has no autograded notebook."""
    for block in re.split(r"(?=\[AutogradeApp \| ERROR\] There was an error processing)", log):
        first = block.partition("\n")[0]
        if re.search(rf"submitted/{re.escape(student)}/{re.escape(assignment)}\b", first):
            return "crashed" if "DeadKernelError" in block else "failed"
    return "failed"
