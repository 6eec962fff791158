"""What an instructor reads after a run: grades, common mistakes, who needs help."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from tritonbook.words import aside, listed, say, titled

from ..judge.work import Verdict
from .notes import in_a_line
from .places import shown
from .record import Marks, read_marks
from .run import Session
from .similar import SOLUTION, Pair, pairs_of

HELP_BELOW = 0.5  # share of points under which a student is listed
PAIRS_SHOWN = 100


@dataclass
class Ending:
    """One way that an exercise ended. `code`: "passed" or the mistake's; `sentences`: what students
    are told, with how many there are."""

    code: str
    sentences: Counter[str] = field(default_factory=Counter)
    students: list[str] = field(default_factory=list)

    @property
    def told(self) -> str:
        """The sentence, where all have the same; else the most common one."""
        ((sentence, _),) = self.sentences.most_common(1)
        if len(self.sentences) == 1:
            return say(sentence)
        return say("for example: {sentence}", sentence=sentence)


@dataclass
class Tally:
    """One exercise: its points, and what came of it, by code."""

    points: float
    endings: dict[str, Ending] = field(default_factory=lambda: {"passed": Ending("passed")})

    @property
    def mistakes(self) -> list[Ending]:
        """The most common first."""
        found = [each for each in self.endings.values() if each.code != "passed"]
        return sorted(found, key=lambda each: (-len(each.students), each.code))


@dataclass
class ClassReport:
    """One assignment, counted. `rows`: student -> (points, maximum, statuses)."""

    assignment: str
    rows: dict[str, tuple[float, float, Counter[str]]] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)  # of the gradebook, without a hand-in
    marks: dict[str, Marks] = field(default_factory=dict)  # what the gradebook adds to the points
    tasks: dict[str, Tally] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)  # items that the grader failed on
    waiting: Counter[str] = field(default_factory=Counter)  # exercises not run yet, with how many
    strays: list[str] = field(default_factory=list)  # what lies there and was not taken
    unwritten: list[str] = field(default_factory=list)  # feedback that could not be written
    for_a_person: list[str] = field(default_factory=list)  # items that a person should look at
    notes: list[str] = field(default_factory=list)  # odd hand-ins, a line each
    pairs: list[Pair] = field(default_factory=list)  # answers that are alike
    sandboxes: Counter[str] = field(default_factory=Counter)

    @property
    def distribution(self) -> list[int]:
        """Students by tenths of the points: ten counts, the last includes full points."""
        bins = [0] * 10
        for points, maximum, _ in self.rows.values():
            share = points / maximum if maximum else 0.0
            bins[min(9, int(10 * share))] += 1
        return bins

    @property
    def need_help(self) -> list[str]:
        return sorted(
            student
            for student, (points, maximum, statuses) in self.rows.items()
            if maximum and points / maximum < HELP_BELOW and not {"OPEN", "INFRA"} & statuses.keys()
        )

    @property
    def lists(self) -> list[tuple[str, list[str]]]:
        """The lists of names and notes that are not empty, each with its heading."""
        found = [
            (say("Under {share} of the points", share=f"{HELP_BELOW:.0%}"), self.need_help),
            (say("Nothing handed in"), [*map(shown, self.absent)]),
            (say("In submitted/, and not graded"), self.strays),
            (say("Graded, and without feedback"), self.unwritten),
            (say("Not run yet"), [titled(key, students(n)) for key, n in self.waiting.items()]),
            (say("Not scored yet (the grader failed; run `autograde retry`)"), self.open),
            (say("To look at yourself: Formgrader takes points by hand"), self.for_a_person),
            (say("Odd hand-ins"), self.notes),
            (say("Answers that are alike (no grade follows from this)"), self._alike()),
        ]
        return [(title, names) for title, names in found if names]

    def _alike(self) -> list[str]:
        """Pairs of students, then for each exercise who is like the published solution."""
        between = [pair for pair in self.pairs if pair.other != SOLUTION]
        lines = [
            say(
                "{key}: {one} and {other}, {score}, {kind}",
                key=pair.key,
                one=pair.one,
                other=pair.other,
                score=f"{pair.score:.2f}",
                kind=pair.kind,
            )
            for pair in between[:PAIRS_SHOWN]
        ]
        if len(between) > PAIRS_SHOWN:
            lines.append(say("and {number} pairs more", number=len(between) - PAIRS_SHOWN))
        published: dict[str, list[str]] = defaultdict(list)
        for pair in self.pairs:
            if pair.other == SOLUTION:
                said = f"{pair.one} {pair.score:.2f}{aside(say(pair.kind))}"
                published[pair.key].append(said)
        for key, names in published.items():
            lines.append(
                say(
                    "{key}: {one} and {other}: {names}",
                    key=key,
                    one=SOLUTION,
                    other=students(len(names)),
                    names=listed(names),
                )
            )
        return lines


def class_report(session: Session) -> ClassReport:
    """Count the verdicts of a session that has read its submissions."""
    report = ClassReport(session.assignment)
    for course, submission in session.submissions:
        verdicts = session.verdicts(course, submission)
        points, maximum, statuses = report.rows.get(submission.student, (0.0, 0.0, Counter()))
        for exercise in submission.exercises:
            verdict = verdicts.get(exercise.key)
            maximum += exercise.points
            tally = report.tasks.setdefault(exercise.key, Tally(exercise.points))
            name = f"{submission.student} {submission.notebook} {exercise.key}"
            statuses[verdict.status if verdict else "OPEN"] += 1
            if verdict is None:
                report.waiting[exercise.key] += 1
                continue
            if verdict.points is None:
                report.open.append(titled(name, failure(verdict)))
                continue
            points += verdict.points
            report.sandboxes[verdict.sandbox] += 1
            if verdict.status in ("POLICY", "MISSING"):
                report.for_a_person.append(titled(name, say(_line(verdict.sentence))))
            code = "passed" if verdict.status == "PASS" else verdict.code
            ending = tally.endings.setdefault(code, Ending(_line(code)))
            ending.sentences[_line(verdict.sentence)] += 1
            ending.students.append(submission.student)
        report.rows[submission.student] = (points, maximum, statuses)
        if submission.notes:
            report.notes.append(titled(submission.student, in_a_line(submission.notes)))
    report.absent, report.strays = session.absent, session.strays
    report.unwritten = session.unwritten
    report.marks = read_marks(session.root, session.assignment)
    report.pairs = pairs_of(session.submissions)
    return report


def failure(verdict: Verdict) -> str:
    """Why the grader failed. A traceback's last line tells nobody what to do."""
    sentence = verdict.sentence.rstrip()
    if "\n" not in sentence:
        return say(_line(sentence))
    return say(
        "a fault of the grader's ({error}): give points by hand, and report it",
        error=_line(sentence.rpartition("\n")[2]),
    )


def _line(text: str) -> str:
    """The first line of a text that a student may have written."""
    return (text.strip().splitlines() or [""])[0][:300]


def students(count: int) -> str:
    """The number with its noun."""
    return say("1 student") if count == 1 else say("{count} students", count=count)


def as_text(report: ClassReport) -> str:
    """The report as Markdown that also reads well in a terminal."""
    lines = [titled(f"# {report.assignment}", students(len(report.rows))), ""]
    lines += [f"| {say('points')} | {say('students')} |", "|---|---|"]
    for tenth, count in enumerate(report.distribution):
        lines.append(f"| {10 * tenth}-{10 * tenth + 10} % | {'#' * min(count, 60)} {count} |")
    levels = listed(f"{level} ({count})" for level, count in report.sandboxes.most_common())
    lines += ["", say("Sandbox: {levels}", levels=levels or say("nothing was run")), ""]
    if any(task.mistakes for task in report.tasks.values()):
        lines += [f"## {say('Common mistakes')}", ""]
        for key, task in report.tasks.items():
            for each in task.mistakes[:5]:
                many = students(len(each.students))
                told = listed((each.code, many))
                lines.append(f"- {titled(titled(key, told), each.told)}")
        lines.append("")
    for title, names in report.lists:
        lines += [f"## {title}", "", *(f"- {name}" for name in names), ""]
    # A student's text must not move the cursor of a terminal, nor turn its lines round.
    return "\n".join(map(shown, lines))


def as_csv(report: ClassReport) -> str:
    """One line for each student: what the checks gave, what the gradebook makes of it, and how
    many items have which status. Who handed nothing in has the status ABSENT."""
    rows = dict(report.rows)
    whole = sum(task.points for task in report.tasks.values())
    rows |= {student: (0.0, whole, Counter(ABSENT=1)) for student in report.absent}
    statuses = sorted({status for _, _, counts in rows.values() for status in counts})
    out = io.StringIO()
    writer = csv.writer(out)
    more = ["by_hand", "extra_credit", "late_penalty", "score"]
    writer.writerow(["student", "points", "maximum", *more, *statuses])
    for student, (points, maximum, counts) in sorted(rows.items()):
        marks = report.marks.get(student, Marks())
        row = [f"{points:g}", f"{maximum:g}", "" if marks.by_hand is None else f"{marks.by_hand:g}"]
        row += [f"{value:g}" for value in (marks.extra_credit, marks.late_penalty, marks.score)]
        writer.writerow([_plain(student), *row, *(counts.get(status, 0) for status in statuses)])
    return out.getvalue()


def _plain(text: str) -> str:
    """A name that a spreadsheet takes for a formula gets a quote before it: some pass over blanks
    and what cannot be seen at its head."""
    return f"'{text}" if re.match(r"[\s\x00-\x20]*[=+\-@]|[\t\r\n\x1b]", text) else text
