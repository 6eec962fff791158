"""The ledger: what is in it stays, what was half written does not count."""

from __future__ import annotations

import io
from pathlib import Path

import grading
import pytest
from pydantic import ValidationError

from autograde.classroom.ledger import MAX_ATTEMPTS, Ledger, LedgerBusy
from autograde.judge.course import Course
from autograde.judge.work import GradedCheck, Item, Submission, Verdict

TASK = GradedCheck(key="k", check="check-k", points=4.0, before=0)


def _verdict(student: str = "ann", status: str = "PASS", attempt: int = 1, **more) -> Verdict:
    handed_in = {"student": student, "assignment": "a", "notebook": "n"}
    submission = Submission(**handed_in, cells=(), exercises=(TASK,))
    item = Item(Course("a", "n", (), "", ""), submission, TASK, attempt)
    return grading.verdict(item, status, **more)


class _Full(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(28, "No space left on device")


def test_a_full_disk_is_told_with_its_file(tmp_path: Path) -> None:
    """Kills: "No space left on device", and no word of which."""
    with pytest.raises(OSError) as told, Ledger(tmp_path / "ledger.jsonl") as ledger:
        ledger._file.close()
        ledger._file = io.BufferedWriter(_Full())
        ledger.append(_verdict())
    assert told.value.filename == str(tmp_path / "ledger.jsonl")


@pytest.mark.parametrize(
    "fields",
    [
        {"points": float("nan")},
        {"points": float("inf")},
        {"points": 5.0},
        {"points": -1.0},
        {"points": 3.0},  # PASS with less than full points
        {"points": None},
        {"status": "INFRA", "points": 0.0},
        {"status": "GOOD"},
        {"bonus": 1},
    ],
)
def test_no_impossible_verdict(fields: dict) -> None:
    """Kills: NaN, negative or too many points; INFRA scored as zero; an unknown field or status."""
    with pytest.raises(ValidationError):
        _verdict(**fields)


def test_only_what_fits_the_submission_counts(tmp_path: Path) -> None:
    """Kills: a grade of an earlier submission, or of an earlier version of the course, kept."""
    with Ledger(tmp_path / "l") as ledger:
        ledger.append(_verdict())
    ledger = Ledger(tmp_path / "l")
    item, digest, course = _verdict().known
    assert ledger.latest((item, digest, course)).points == 4.0
    assert ledger.latest((item, "other", course)) is None
    assert ledger.latest((item, digest, "other")) is None
    assert ledger.open((item, "other", course))


def test_any_verdict_is_given_again(tmp_path: Path) -> None:
    """Kills: a verdict that nobody can have run again; the old one lost before there is a new one,
    or because the grader failed meanwhile; an item that is run again without end."""
    known = _verdict().known
    with Ledger(tmp_path / "l") as ledger:
        ledger.append(_verdict())
        ledger.reopen(known)
        assert ledger.open(known)
        assert ledger.latest(known).status == "PASS"
        for attempt in range(1, MAX_ATTEMPTS + 1):
            assert ledger.open(known)
            ledger.append(_verdict(status="INFRA", attempt=attempt))
        assert not ledger.open(known)
        assert ledger.latest(known).status == "PASS"
        ledger.reopen(known)
        assert ledger.open(known)
        ledger.append(_verdict(status="FAIL"))
        assert not ledger.open(known)
    assert Ledger(tmp_path / "l").latest(known).status == "FAIL"


def test_a_torn_line_is_run_again(tmp_path: Path) -> None:
    """Kills: half a line that makes the ledger unreadable, or glues the next verdict to it."""
    path = tmp_path / "l"
    with Ledger(path) as ledger:
        ledger.append(_verdict("ann"))
        ledger.append(_verdict("bob"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    with Ledger(path) as ledger:
        assert ledger.open(_verdict("bob").known)
        ledger.append(_verdict("bob"))
    again = Ledger(path)
    assert not again.open(_verdict("ann").known)
    assert not again.open(_verdict("bob").known)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """Kills: two drivers that grade the same class at once."""
    with Ledger(tmp_path / "l"), pytest.raises(LedgerBusy), Ledger(tmp_path / "l"):
        pass
    with Ledger(tmp_path / "l"):
        pass
