"""What is graded and what came of it: the records that pass between the steps, all of them JSON."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from .course import Course

Status = Literal[
    "PASS",
    "FAIL",
    "TIMEOUT",
    "CRASH",
    "CUDA_FAULT",
    "OOM",
    "POLICY",
    "MISSING",
    "INFRA",
]
# The outcome's code where a cell of the course's own fails in the candidate: INFRA, until it is
# known whether it runs without the student's cells.
COURSE_CELL = "course-cell"


class Record(BaseModel):
    """Every record is closed: an unknown field is an error, not an extension."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Cell(Record):
    """One code cell as it will run. `role`: from the released notebook, or the student's."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]{1,80}$")
    role: Literal["given", "answer", "extra"]
    source: str


class GradedCheck(Record):
    """One graded check of a notebook."""

    key: str
    check: str  # grade id of the check cell
    points: float = Field(ge=0)
    before: int = Field(ge=0)  # how many of the notebook's code cells stand above the check


class Submission(Record):
    """One submitted notebook, rebuilt: the released cells with the student's answers in them."""

    student: str
    assignment: str
    notebook: str
    timestamp: str | None = None
    untimed: bool = False  # it came with a time that says no moment
    cells: tuple[Cell, ...]
    exercises: tuple[GradedCheck, ...]
    missing: tuple[str, ...] = ()  # answer cells that were not handed in, by grade id
    notes: tuple[str, ...] = ()  # repairs that ingest made

    @property
    def digest(self) -> str:
        """Changes when anything that runs changes, or what stands above which check."""
        told: list[list[str | float]] = [[cell.name, cell.role, cell.source] for cell in self.cells]
        told += [[task.check, task.points, task.before] for task in self.exercises]
        return hashlib.sha256(json.dumps([told, self.missing]).encode()).hexdigest()[:32]


class ItemId(Record):
    """One exercise of one submission: the unit of work."""

    student: str
    assignment: str
    notebook: str
    key: str

    def __str__(self) -> str:
        return f"{self.assignment}/{self.student}/{self.notebook}/{self.key}"


Known = tuple[ItemId, str, str]  # an item, the digest of its submission, the digest of its course


@dataclass(frozen=True)
class Item:
    """One unit of work with everything that it needs."""

    course: Course
    submission: Submission
    exercise: GradedCheck
    attempt: int = 1

    @property
    def id(self) -> ItemId:
        return ItemId(
            student=self.submission.student,
            assignment=self.submission.assignment,
            notebook=self.submission.notebook,
            key=self.exercise.key,
        )

    @property
    def known(self) -> Known:
        """What the ledger knows it by."""
        return self.id, self.submission.digest, self.course.digest

    @property
    def asked(self) -> Asked:
        """What a verdict on it must fit."""
        item, digest, course = self.known
        maximum = self.exercise.points
        return Asked(item=item, digest=digest, course=course, attempt=self.attempt, maximum=maximum)


@dataclass(frozen=True)
class Outcome:
    """What a check came to: a status, a code, a sentence, its cards. Becomes a Verdict."""

    status: Status
    code: str
    sentence: str
    reports: tuple[dict[str, Any], ...] = ()


def infra(sentence: str) -> Outcome:
    """The grader failed."""
    return Outcome("INFRA", "infra", sentence)


class Asked(Record):
    """Which attempt at which item, and the points that there are."""

    item: ItemId
    digest: str  # of the submission that is run
    course: str  # digest of the notebook with its hidden tests
    attempt: int = Field(ge=1)
    maximum: float = Field(ge=0, allow_inf_nan=False)

    @property
    def known(self) -> Known:
        return self.item, self.digest, self.course


class Verdict(Asked):
    """What came of one item. `points` is None exactly when the status is INFRA."""

    status: Status
    points: float | None
    code: str = Field(max_length=80)
    sentence: str = Field(max_length=4000)
    sandbox: str = Field(max_length=40)
    seconds: float = Field(ge=0)
    reports: tuple[dict[str, Any], ...] = ()

    def model_post_init(self, context: object) -> None:
        if (self.points is None) != (self.status == "INFRA"):
            raise ValueError("points must be given, except for INFRA")
        if self.points is not None and not 0 <= self.points <= self.maximum:
            raise ValueError(f"points {self.points} are not between 0 and {self.maximum}")
        if self.status == "PASS" and self.points != self.maximum:
            raise ValueError("PASS means full points")

    @property
    def final(self) -> bool:
        return self.status != "INFRA"
