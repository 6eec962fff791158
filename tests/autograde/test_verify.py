"""A certificate is run again behind walls, and a changed one is refused."""

import pytest
from grading import needs_walls

from autograde.classroom import cli, statement, verify
from tritonbook.course import certify, records
from tritonbook.course.exercises import get

RIGHT = get("00_start_here").module_text()


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Write a certificate of these sources, by key; returns its path."""
    monkeypatch.setenv("TRITONBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRITONBOOK_PROGRESS", raising=False)

    def write(**sources):
        for key, text in sources.items():
            records.record(key, "passed", text)
        certify.write(tmp_path / "c.html", "Ada")
        return tmp_path / "c.html"

    return write


@pytest.fixture
def run(capsys):
    """Verify a file: the exit code, and what is said."""

    def verify(*arguments):
        code = cli.main(["verify", *map(str, arguments)])
        return code, "".join(capsys.readouterr())

    return verify


@needs_walls
def test_right_sources_hold_and_cannot_touch_this_machine(page, run, tmp_path):
    """Kills: sources run as the organiser; walls that also keep the exercises out."""
    trace = tmp_path / "trace"
    nosy = f"open({str(trace)!r}, 'w').write('here')\n\ndef copy(x):\n    return x\n"
    code, said = run(page(tile_ranges="from __future__ import annotations\n" + RIGHT, copy=nosy))
    assert code == 1
    first, second = said.splitlines()
    assert first.startswith("✗ copy:") and second == "✓ tile_ranges: passed"
    assert not trace.exists()


PATCHED = """\
import sys
from tritonbook.checking.report import Report
from tritonbook.course import tried
Report.passed = True
tried.run_page_check = lambda *told, **options: type("Report", (), {"passed": True, "cases": []})()

def copy(x):
    return x
"""


@needs_walls
def test_an_answer_does_not_hold_its_own_check(page, run):
    """Kills: an answer that patches the check, in the process in which it is called."""
    code, said = run(page(copy=PATCHED))
    assert code == 1 and said.startswith("✗ copy:")


def test_names_move_no_cursor(page, run):
    """Kills: a key that writes a line of its own on the organiser's terminal; one that leads out of
    the course."""
    file = page(tile_ranges=RIGHT)
    data = certify.read(file)
    data["passes"][0] |= {"key": "copy\r\x1b[2K✓ add: passed\n✓ add", "notebook": "../00"}
    file.write_text(certify.page(data))
    code, said = run(file, "--force")
    assert code == 1 and len(said.splitlines()) == 1
    assert "\x1b" not in said and "\\x1b[2K" in said


def test_the_file_comes_first(run, tmp_path, monkeypatch):
    """Kills: bubblewrap asked for, where the file is not there."""
    monkeypatch.setattr(verify.sandbox, "works", lambda level, image=None: level == "plain")
    code, said = run(tmp_path / "none.html")
    assert code == 2 and "cannot be read" in said and "bubblewrap" not in said


def test_a_changed_page_is_refused(page, run):
    """Kills: running whatever the page says now."""
    file = page(tile_ranges=RIGHT)
    file.write_text(file.read_text().replace("return", "retrun"))
    code, said = run(file, "--force")
    assert code == 2 and "was changed" in said


def test_without_walls_it_must_be_asked_for(page, run, monkeypatch):
    monkeypatch.setattr(verify.sandbox, "works", lambda level, image=None: level == "plain")
    code, said = run(page(tile_ranges=RIGHT))
    assert code == 2 and "bubblewrap" in said


def test_any_walls_will_do(page, run, monkeypatch):
    """Kills: bubblewrap asked for where namespaces work."""
    levels = []
    monkeypatch.setattr(verify.sandbox, "works", lambda level, image=None: level == "namespaces")
    monkeypatch.setattr(verify, "Executor", lambda setting: levels.append(setting.level))
    monkeypatch.setattr(verify, "_graded", lambda row, _: certify.Claim(row["key"], True, "passed"))
    assert run(page(tile_ranges=RIGHT)) == (0, "✓ tile_ranges: passed\n")
    assert levels == ["namespaces"]


def test_a_signature_may_hold_any_signs(tmp_path):
    """Kills: a traceback for a signature that is no ASCII."""
    (tmp_path / "secret").write_text("of the course")
    told = {"exam": "e", "student": "s", "score": 1.0, "of": 2.0, "date": "d", "signature": "é"}
    (claim,) = statement.claims({"exams": [told]}, tmp_path)
    assert not claim.holds
