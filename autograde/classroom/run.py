"""Grade an assignment: ingest, run what is not done, record. Interrupted, it goes on from there."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tritonbook.command import sentence
from tritonbook.words import say

from ..judge.course import BadCourse, Course, read_cells, read_course
from ..judge.work import Item, Known, Submission, Verdict
from ..walls import visible
from .ingest import NothingHandedIn, ingest
from .ledger import Ledger
from .places import find_places
from .record import open_gradebook, write_late_penalties, write_notebook, write_scores

if TYPE_CHECKING:
    from .runners import Runner


def refuse_in_view(*places: Path) -> None:
    """Raises BadCourse where students' code could read one of these folders."""
    for place in places:
        if place.exists() and (seen := visible.shown_in(place)):
            folder = place.resolve()
            raise BadCourse(
                f"The folder {folder} lies in {seen}, which students' code can read: move it "
                "elsewhere."
            )


class Session:
    """One assignment of one course folder, and the ledger of its verdicts."""

    def __init__(self, root: Path, assignment: str):
        self.root, self.assignment = root, assignment
        self.submissions: list[tuple[Course, Submission]] = []
        self.strays: list[str] = []  # what lies there and was not taken, in sentences
        self.unwritten: list[str] = []  # feedback that could not be written, in sentences
        self.absent: list[str] = []  # students of the gradebook who handed nothing in
        self.keys: set[str] = set()  # the exercises that are run; none: all
        self.whole = True  # whether the whole class was read
        self.again: set[Known] | None = None  # the items that are run again; None: what is open
        self.courses = read_course(root, assignment)
        for course in self.courses:
            released = self.root / "release" / self.assignment / f"{course.notebook}.ipynb"
            if not released.is_file():
                raise BadCourse(
                    f"{released} is missing: run `nbgrader generate_assignment "
                    f"{self.assignment}` first."
                )
            try:
                read_cells(released)
            except BadCourse:
                raise BadCourse(
                    f"{released} is damaged: run `nbgrader generate_assignment "
                    f"{self.assignment} --force` to make it anew."
                ) from None
        self.ledger = Ledger(self.folder / "ledger.jsonl")

    @property
    def folder(self) -> Path:
        return self.root / "work" / self.assignment

    def read(self, students: Iterable[str] = ()) -> None:
        """Rebuild every submission, or those of some students; nothing is written.

        Raises BadCourse where nobody handed anything in, or none of these students.
        """
        with open_gradebook(self.root) as book:
            roster = {
                student.id: " ".join(filter(None, (student.first_name, student.last_name)))
                for student in book.students
            }
        places = find_places(self.root, self.assignment, roster)
        self.whole = not students
        self.strays, self.submissions = places.strays, []
        place = self.root / "submitted"
        if not places.found:
            if self.strays:
                raise BadCourse(f"Nobody handed in {self.assignment}: {self.strays[0]}")
            raise BadCourse(
                f"Nobody handed in {self.assignment}: {place} has no folder STUDENT/"
                f"{self.assignment}; run `nbgrader collect {self.assignment}` first."
            )
        chosen = set(students) or set(places.found)
        if unknown := sorted(chosen - set(places.found)):
            who = unknown[0]
            raise BadCourse(
                f"Nobody called {who!r} handed in {self.assignment}: write --student as a folder "
                f"in {place} is called."
            )
        for student in sorted(chosen):
            try:
                self.submissions += [
                    (course, ingest(self.root, course, student, places.found[student]))
                    for course in self.courses
                ]
            except NothingHandedIn:
                del places.found[student]
                self.strays.append(
                    say(
                        "submitted/{student} has nothing of {assignment}: what lies there does not "
                        "define its functions; if it is meant all the same, move it to "
                        "submitted/{student}/{assignment}/.",
                        student=student,
                        assignment=self.assignment,
                    )
                )
            except PermissionError as problem:
                self.strays.append(
                    say(
                        "{file} cannot be read ({why}), so {student} is not graded: give yourself "
                        "the right to read it, and run the same command again.",
                        file=problem.filename,
                        why=say(problem.strerror or "Permission denied"),
                        student=student,
                    )
                )
            except Exception as problem:  # noqa: BLE001  (whatever it is, the class goes on)
                self.strays.append(
                    say(
                        "submitted/{student} could not be read ({problem}), so it is not scored: "
                        "look at it, and give its points by hand in Formgrader.",
                        student=student,
                        problem=type(problem).__name__,
                    )
                )
        self.absent = sorted(student for student in roster if student not in places.found)

    def ingest(self, students: Iterable[str] = ()) -> None:
        """The same; scores that are not about what was handed in any more become pending."""
        self.read(students)
        with open_gradebook(self.root) as book:
            for course, submission in self.submissions:
                self._keep(submission)
                write_scores(book, submission, self.verdicts(course, submission))

    def _keep(self, submission: Submission) -> None:
        """A copy for whoever wants to see what was run."""
        folder = self.folder / "submissions" / submission.student
        folder.mkdir(parents=True, exist_ok=True)
        text = submission.model_dump_json(indent=1)
        (folder / f"{submission.notebook}.json").write_text(
            text, encoding="utf-8", errors="replace"
        )

    def verdicts(self, course: Course, submission: Submission) -> dict[str, Verdict]:
        """The verdicts that hold for this submission, by key."""
        found = {}
        for exercise in submission.exercises:
            verdict = self.ledger.latest(Item(course, submission, exercise).known)
            if verdict is not None:
                found[exercise.key] = verdict
        return found

    def items(self) -> list[Item]:
        """Everything that is to be graded, done or not."""
        return [
            Item(course, submission, exercise)
            for course, submission in self.submissions
            for exercise in submission.exercises
            if not self.keys or exercise.key in self.keys
        ]

    def open_items(self) -> list[Item]:
        """What still has to be run, with the number of the attempt."""
        found = []
        for item in self.items():
            if self.ledger.open(item.known) and (self.again is None or item.known in self.again):
                attempt = self.ledger.attempts(item.known) + 1
                found.append(Item(item.course, item.submission, item.exercise, attempt))
        return found

    def graded(self) -> bool:
        """Whether any of the items has a verdict."""
        return any(self.ledger.latest(item.known) for item in self.items())

    def choose(self, keys: Iterable[str]) -> None:
        """Run these exercises only; none: all. Raises BadCourse for one that is not there."""
        known = [
            cell.name.removeprefix("check-") for course in self.courses for cell in course.checks()
        ]
        self.keys = set(keys)
        if unknown := sorted(self.keys - set(known)):
            names = ", ".join(known)
            raise BadCourse(f"{self.assignment} has no exercise {unknown[0]!r}: it has {names}.")

    def reopen(self, failed: bool = False) -> int:
        """Have what has a verdict run once more; failed: what the grader failed on, alone. Returns
        how many items that are."""
        found = [self.ledger.latest(item.known) for item in self.items()]
        again = {each.known for each in found if each and not (failed and each.final)}
        for known in again:
            self.ledger.reopen(known)
        self.again = again
        return len(again)

    def run(
        self, runner: Runner, on_verdict: Callable[[Verdict], None] = lambda verdict: None
    ) -> None:
        """Run open items until none is left; items that the grader failed on are tried again."""
        with self.ledger:
            while waiting := self.open_items():
                with contextlib.closing(runner(waiting)) as verdicts:
                    for verdict in verdicts:
                        self.ledger.append(verdict)
                        on_verdict(verdict)

    def record(self) -> None:
        """Write scores and notebooks of every submission."""
        self.unwritten = []
        with open_gradebook(self.root) as book:
            for course, submission in self.submissions:
                verdicts = self.verdicts(course, submission)
                write_scores(book, submission, verdicts)
                try:
                    write_notebook(self.root, course, submission, verdicts)
                except (OSError, ValueError, RecursionError) as problem:
                    self.unwritten.append(
                        say(
                            "autograded/{student}/{assignment} could not be written ({problem}), "
                            "so it has no feedback: mend that, and run `autograde record "
                            "{assignment}`.",
                            student=submission.student,
                            assignment=self.assignment,
                            problem=sentence(problem).rstrip("."),
                        )
                    )
        write_late_penalties(self.root, [submission for _, submission in self.submissions])

    def summary(self) -> Counter[str]:
        """How many items have which status; "OPEN" for those still to be run."""
        verdicts = [self.ledger.latest(item.known) for item in self.items()]
        return Counter(verdict.status if verdict else "OPEN" for verdict in verdicts)
