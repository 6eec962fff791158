"""A certificate is run again behind walls, and a changed one is refused."""

import shutil

import pytest

from autograde.classroom import cli, statement, verify
from tritonbook.course import certify, records
from tritonbook.course.exercises import get

HAS_WALLS = pytest.mark.skipif(not shutil.which("bwrap"), reason="bubblewrap is not installed")
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


@HAS_WALLS
def test_right_sources_hold_and_cannot_touch_this_machine(page, run, tmp_path):
    """Kills: sources run as the organiser; walls that also keep the exercises out."""
    trace = tmp_path / "trace"
    nosy = f"open({str(trace)!r}, 'w').write('here')\n\ndef copy(x):\n    return x\n"
    code, said = run(page(tile_ranges=RIGHT, copy=nosy))
    assert code == 1
    first, second = said.splitlines()
    assert first == "✓ tile_ranges: passed" and second.startswith("✗ copy:")
    assert not trace.exists()


def test_a_changed_page_is_refused(page, run):
    """Kills: running whatever the page says now."""
    file = page(tile_ranges=RIGHT)
    file.write_text(file.read_text().replace("return", "retrun"))
    code, said = run(file, "--force")
    assert code == 2 and "was changed" in said


def test_without_walls_it_must_be_asked_for(page, run, monkeypatch):
    monkeypatch.setattr(verify.sandbox, "available", lambda: ["plain"])
    code, said = run(page(tile_ranges=RIGHT))
    assert code == 2 and "bubblewrap" in said


def test_a_signature_may_hold_any_signs(tmp_path):
    """Kills: a traceback for a signature that is no ASCII."""
    (tmp_path / "secret").write_text("of the course")
    told = {"exam": "e", "student": "s", "score": 1.0, "of": 2.0, "date": "d", "signature": "é"}
    (claim,) = statement.claims({"exams": [told]}, tmp_path)
    assert not claim.holds
