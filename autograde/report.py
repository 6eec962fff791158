"""What an instructor reads after a run: grades, common mistakes, who needs help, fast kernels."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from tritonbook.checking.card import MIME

from .run import Session
from .work import Verdict

HELP_BELOW = 0.5  # share of points under which a student is listed


@dataclass
class ClassReport:
    """One assignment, counted. `rows`: student -> (points, maximum, statuses)."""

    assignment: str
    rows: dict[str, tuple[float, float, Counter[str]]] = field(default_factory=dict)
    mistakes: dict[str, Counter[str]] = field(default_factory=dict)  # key -> code -> students
    sentences: dict[str, str] = field(default_factory=dict)  # code -> an example
    open: list[str] = field(default_factory=list)  # items without a score
    for_a_person: list[str] = field(default_factory=list)  # items that a person should look at
    speeds: dict[str, list[tuple[float, float, str]]] = field(default_factory=dict)
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
            for student, (points, maximum, _) in self.rows.items()
            if maximum and points / maximum < HELP_BELOW
        )


def class_report(session: Session) -> ClassReport:
    """Count the verdicts of a session that has ingested its submissions."""
    report = ClassReport(session.assignment)
    for course, submission in session.submissions:
        verdicts = session.verdicts(course, submission)
        points, maximum, statuses = report.rows.get(submission.student, (0.0, 0.0, Counter()))
        for exercise in submission.exercises:
            verdict = verdicts.get(exercise.key)
            maximum += exercise.points
            name = f"{submission.student} {submission.notebook} {exercise.key}"
            statuses[verdict.status if verdict else "OPEN"] += 1
            if verdict is None or verdict.points is None:
                report.open.append(name)
                continue
            points += verdict.points
            _count(report, exercise.key, submission.student, name, verdict)
        report.rows[submission.student] = (points, maximum, statuses)
    for rows in report.speeds.values():
        rows.sort()
    return report


def _count(report: ClassReport, key: str, student: str, name: str, verdict: Verdict) -> None:
    report.sandboxes[verdict.sandbox] += 1
    if verdict.status == "POLICY":
        report.for_a_person.append(name)
    if verdict.status not in ("PASS", "MISSING"):
        report.mistakes.setdefault(key, Counter())[verdict.code] += 1
        report.sentences.setdefault(verdict.code, (verdict.sentence.splitlines() or [""])[0])
    for shown in verdict.reports:
        speed: dict[str, Any] = shown.get(MIME, {}).get("speed") or {}
        if verdict.status == "PASS" and "ms" in speed:
            row = (float(speed["ms"]), float(speed["ratio"]), student)
            report.speeds.setdefault(f"{key}: {speed['case']}", []).append(row)


def as_text(report: ClassReport) -> str:
    """The report as Markdown that also reads well in a terminal."""
    lines = [f"# {report.assignment}: {len(report.rows)} students", ""]
    lines += ["| points | students |", "|---|---|"]
    for tenth, count in enumerate(report.distribution):
        lines.append(f"| {10 * tenth}-{10 * tenth + 10} % | {'#' * min(count, 60)} {count} |")
    levels = ", ".join(f"{level} ({count})" for level, count in report.sandboxes.most_common())
    lines += ["", f"Sandbox: {levels or 'nothing was run'}", ""]
    if report.mistakes:
        lines += ["## Common mistakes", ""]
        for key, codes in report.mistakes.items():
            for code, count in codes.most_common(5):
                lines.append(f"- {key}: {code}, {count} students. {report.sentences[code]}")
        lines.append("")
    for title, names in (
        (f"## Under {HELP_BELOW:.0%} of the points", report.need_help),
        ("## Not scored yet (the grader failed; run `autograde retry`)", report.open),
        ("## For a person to look at", report.for_a_person),
    ):
        if names:
            lines += [title, "", *(f"- {name}" for name in names), ""]
    for case, rows in report.speeds.items():
        lines += [
            f"## Fastest: {case}",
            "",
            "| ms | times the baseline | student |",
            "|---|---|---|",
        ]
        lines += [f"| {ms:.4f} | {ratio:.2f} | {student} |" for ms, ratio, student in rows[:20]]
        lines.append("")
    return "\n".join(lines)


def as_csv(report: ClassReport) -> str:
    """One line for each student: points, maximum, and how many items have which status."""
    statuses = sorted({status for _, _, counts in report.rows.values() for status in counts})
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["student", "points", "maximum", *statuses])
    for student, (points, maximum, counts) in sorted(report.rows.items()):
        row = [f"{points:g}", f"{maximum:g}", *(counts.get(status, 0) for status in statuses)]
        writer.writerow([_plain(student), *row])
    return out.getvalue()


def _plain(text: str) -> str:
    """A name that a spreadsheet takes for a formula gets a quote before it."""
    return f"'{text}" if text[:1] in "=+-@" else text


def by_status(verdicts: list[Verdict]) -> dict[str, list[str]]:
    """Items of each status, for `autograde status`."""
    found: dict[str, list[str]] = defaultdict(list)
    for verdict in verdicts:
        found[verdict.status].append(str(verdict.item))
    return dict(found)
