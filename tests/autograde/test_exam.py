"""Exams: sheets of broken kernels are drawn, handed in and graded like pages."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import nbformat
import pytest
from grading import LEVEL, hand_in, needs_walls, scores

from autograde.classroom import cli, demo, exam, exam_sheet
from autograde.classroom.run import Session
from autograde.classroom.runners import local_runner
from autograde.classroom.verify import verify
from autograde.judge.course import BadCourse, asked_of
from autograde.judge.execute import Setting
from autograde.walls import sandbox
from tritonbook import words
from tritonbook.course import certify, messages

tasks_of = functools.cache(exam.tasks_of)


def _tasks(*pages: str) -> list[exam.Task]:
    return [task for page in exam.done(pages) for task in tasks_of(page)]


def _names(sheet: list[exam.Question]) -> list[tuple[str, str]]:
    return [(question.task.key, question.name) for question in sheet]


@pytest.mark.parametrize(("pages", "count"), [(("0", "1", "2"), 6), (("04",), 2), ((), 12)])
def test_every_seed_gives_a_sheet_as_hard_as_the_others(pages: tuple[str, ...], count: int) -> None:
    """Kills: a sheet that is easier than another; one whose tasks give each other's answers."""
    tasks = _tasks(*pages)
    sheets = [exam.draw(tasks, count, str(seed)) for seed in range(20)]
    assert len({tuple(question.hardness for question in sheet) for sheet in sheets}) == 1
    assert len({tuple(_names(sheet)) for sheet in sheets}) > 15
    for sheet in sheets:
        drawn = [question.task for question in sheet]
        assert all(one is two or one.fits(two) for one in drawn for two in drawn)


def test_sheets_have_nearly_as_many_lines_to_read() -> None:
    """Kills: one student who reads 136 lines, and another one who reads 260 for as many points."""
    tasks = _tasks()
    read = [sum(q.task.lines for q in exam.draw(tasks, 3, str(seed))) for seed in range(150)]
    assert max(read) <= 1.1 / 0.9 * min(read)  # each within a tenth of what is usual


def test_a_patient_of_the_clinic_is_no_task() -> None:
    """Kills: a cell that names a cause, and another mistake in it."""
    assert _tasks("90_debug", "91_profile", "92_debug_hard", "93_profile_hard") == []


def test_a_change_by_machine_does_not_show() -> None:
    """Kills: `pass` or `if True` in place of what is missing; the one call on one long line."""
    made = [q for task in _tasks("0", "10", "14", "22") for q in task.questions if not q.known]
    texts = [[line.strip() for line in question.broken.splitlines()] for question in made]
    assert made and not any("pass" in lines or "if True:" in lines for lines in texts)
    longest = max(len(line) for task in _tasks("14") for line in task.right.splitlines())
    of_14 = [question for question in made if question.task.exercise.number == 14]
    assert max(len(line) for q in of_14 for line in q.broken.splitlines()) < longest + 20
    left_out = [question for question in made if "=> pass" in question.name]
    assert left_out and all("pass" not in question.broken.split() for question in left_out)


def test_a_hard_question_is_one_whose_cause_is_not_named() -> None:
    """Kills: a hardness that does not look at the mistake."""
    softmax = next(task for task in _tasks("04") if task.key == "softmax")
    hardness = {question.name: question.hardness for question in softmax.questions}
    assert hardness["row-in-the-columns"] == hardness["not-normalised"] + 1


def test_a_mistake_that_tells_itself_is_no_question() -> None:
    """Kills: a kernel that does not compile, or that is none, as a riddle."""
    known = [question for task in _tasks("04") for question in task.questions if question.known]
    names = {name for _, name in _names(known)}
    assert "not-normalised" in names and "no-store-mask" in names
    wrong = {"exponentials-in-half-precision", "stores-by-index", "torch-stand-in"}
    assert not names & wrong and "other-forgotten" not in names  # seen in the interpreter alone


def test_half_of_the_mistakes_are_made_by_machine() -> None:
    """Kills: a class that learns the workbook's own list of mistakes; a change that is none."""
    tasks = _tasks("04", "10")
    drawn = [each for seed in range(50) for each in exam.draw(tasks, 4, str(seed))]
    assert 80 < sum(each.known for each in drawn) < 120
    (softmax,) = (task for task in _tasks("04") if task.key == "softmax")
    made = {each.name for each in softmax.questions if not each.known}
    same = exam.wrong_answers(softmax.exercise).equivalent["softmax"]
    assert same and made and made.isdisjoint(same)


def test_a_task_that_shows_nothing_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: a sheet that takes minutes, because all changes of one task are run in vain."""
    asked: list[str] = []

    def symptom(worker: object, question: exam.Question) -> str:
        asked.append(question.task.key)
        return "" if question.task.key == "softmax_online" and not question.known else "seen"

    monkeypatch.setattr(exam, "_symptom", symptom)
    for seed in range(10):
        asked.clear()
        assert all(seen for _, seen in exam.examined(_tasks("04"), 2, str(seed)))
        assert asked.count("softmax_online") <= 2 * exam.MISSES + 1


def test_an_exam_is_about_the_pages_of_its_checks() -> None:
    """Kills: grades that hold on when the cases of one of an exam's pages change."""
    both = asked_of("exam_7", ("softmax", "add"))
    assert both == asked_of("exam_7", ("add", "softmax")) != asked_of("exam_7", ("add",))
    for keys in (), ("add", "of_no_page"):  # nobody says what its checks try
        with pytest.raises(BadCourse, match="^exam_7.ipynb .* There is no page 'exam_7'"):
            asked_of("exam_7", keys)


def test_a_sheet_is_the_same_in_both_languages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: a Chinese sheet with English rules; another sheet, because a card was not read."""
    monkeypatch.setenv("TRITONBOOK_LANG", "zh")  # of the process that runs the checks, too
    books = []
    for lang in "en", "zh":
        with words.speaking(lang):
            sheet, key = exam_sheet.make(tmp_path / lang, "7", 2, ["04"])
        books.append([nbformat.read(path, as_version=4).cells for path in (sheet, key)])
    for english, chinese in zip(*books, strict=True):
        for one, other in zip(english, chinese, strict=True):
            assert one.id == other.id and one.metadata == other.metadata
            if one.cell_type == "code" and one.id != "setup":
                assert messages.same_code(one.source, other.source)
    texts = [cell.source for cell in books[1][1] if cell.cell_type == "markdown"]
    said = re.sub(r"`[^`]*`|```.*?```|[\w-]+_\w+", "", "\n".join(texts), flags=re.DOTALL)
    assert "# 考试 7 的答案" in said and not re.search(r"(?:\b[a-z]+ ){2}[a-z]+", said), said


@pytest.mark.slow
@needs_walls
def test_an_exam_is_released_and_graded_like_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: points for what was given out, for another task, for a cheat; a key that fails; a
    sheet that shows its answers; a helper of one page that stands in for another page's."""
    course = tmp_path / "course"
    make = ["exam", "7", "--course", str(course), "--tasks", "2", "--pages", "04 10"]
    assert cli.main(make) == 0
    key = course / "keys" / "exam_7.ipynb"
    made = key.read_bytes()
    assert cli.main(make) == 0 and key.read_bytes() == made  # the same seed, the same sheet
    assert cli.main([*make[:5], "3", *make[6:]]) == 2  # another one is not written over it
    released = demo.nbgrader(course, "generate_assignment", "exam_7", "--create")
    assert released.returncode == 0, released.stdout
    (sheet,) = (course / "release" / "exam_7").iterdir()
    text = sheet.read_text()
    assert "SOLUTION" not in text and "HIDDEN" not in text and "warps_for_10(" in text
    points = _hand_in(course, sheet, key)
    session = Session(course, "exam_7")
    session.ingest()
    limits = sandbox.Limits(call_seconds=60.0, wall_seconds=800.0)
    session.run(local_runner(Setting(LEVEL, limits), 2))
    session.record()
    second = sorted(points)[1]
    due = {(who, check): 0 for who in ("cheat", "one", "untouched") for check in points}
    due |= {("key", check): most for check, most in points.items()}
    assert scores(course, "exam_7") == due | {("one", second): points[second]}
    monkeypatch.setenv("TRITONBOOK_HOME", str(tmp_path / "home"))  # no passes of somebody else's
    _certificates_name_it(course, tmp_path, sum(points.values()))


def _certificates_name_it(course: Path, tmp_path: Path, most: float) -> None:
    """Kills: a certificate with somebody's own points; one that another course may sign; an exam
    that was not passed."""
    sign = ["sign", "exam_7", "--course", str(course)]
    signed = course / "signed" / "exam_7" / "key.json"
    assert cli.main([*sign, "--pass-mark", "0"]) == 0 and len(list(signed.parent.iterdir())) == 4
    assert cli.main(sign) == 0 and list(signed.parent.iterdir()) == [signed]
    page = tmp_path / "certificate.html"
    certify.write(page, "Ada", [signed])
    assert f"exam_7: {most:g} of {most:g} points (key, " in page.read_text()
    assert [claim.holds for claim in verify(page, True, course)][-1]
    assert not verify(page, True)[-1].holds
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(BadCourse, match="has no file `secret`"):
        verify(page, True, other)
    assert not list(other.iterdir())  # to look makes nothing
    (other / "secret").write_text("of another course")
    assert not verify(page, True, other)[-1].holds
    richer = json.loads(signed.read_text()) | {"score": 2 * most}
    signed.write_text(json.dumps(richer))
    certify.write(page, "Ada", [signed])
    assert not verify(page, True, course)[-1].holds


CHEAT = """\
def {}(*args, **options):
    return {}(*args)


def check(*args, **options):
    pass
"""


def _hand_in(course: Path, sheet: Path, key: Path) -> dict[str, float]:
    """Four students. Returns the points of each check."""
    cells = nbformat.read(sheet, as_version=4).cells
    checks = [cell for cell in cells if cell.id.startswith("check-")]
    points = {cell.id: float(cell.metadata.nbgrader.points) for cell in checks}
    solved = {cell.id: cell.source for cell in nbformat.read(key, as_version=4).cells}
    tasks = [name.removeprefix("check-") for name in sorted(points)]
    right = {task: solved[f"answer-{task}"] for task in tasks}
    formulas = {task: "softmax_ref" if "softmax" in task else "rmsnorm_ref" for task in tasks}
    cheat = {task: CHEAT.format(task, formula) for task, formula in formulas.items()}
    one = {tasks[1]: right[tasks[1]]}
    hand_in(course, {"untouched": {}, "key": right, "one": one, "cheat": cheat}, "exam_7")
    return points
