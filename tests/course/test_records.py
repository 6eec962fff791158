"""The progress file: survives two writers, damage, and a home that cannot be written."""

import json
import os
import stat
import time

import pytest

from tritonbook import home as folders
from tritonbook.course import records

SOURCE = "def double(x):\n    return 2 * x\n"


def test_a_pass_is_kept_with_its_source_and_versions(home):
    records.record("double", "passed", SOURCE)
    entry = json.loads((home / "progress.json").read_text())["checks"]["double"]
    assert entry["state"] == "passed"
    assert entry["passed"]["source"] == SOURCE and entry["passed"]["versions"]["triton"]


def test_a_later_failure_takes_no_pass_away():
    records.record("double", "passed", SOURCE)
    records.record("double", "wrong", reason="the last tile is wrong")
    entry = records.entries()["double"]
    assert entry["state"] == "wrong"
    assert entry["passed"]["source"] == SOURCE


def test_the_functions_own_name_is_kept_beside_the_key(monkeypatch):
    """Kills: looking a kernel up by its check's key alone."""
    monkeypatch.setattr(records, "_source_text", lambda source: SOURCE)

    def double(x):
        return 2 * x

    records.record("double-fast", "passed", double)
    assert records.entries()["double-fast"]["passed"]["name"] == "double"


def test_without_any_home_the_temporary_folder_serves(monkeypatch, tmp_path):
    """Containers run under users that have no home: "~" must not become a folder here."""
    monkeypatch.delenv("TRITONBOOK_HOME")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(folders.os.path, "expanduser", lambda path: path)
    monkeypatch.setattr(folders.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert folders.home() == tmp_path / f"tritonbook-{os.getuid()}"
    assert not (tmp_path / "~").exists()


def test_a_source_that_cannot_be_exported_does_not_cost_the_pass(monkeypatch):
    def refuse(source):
        raise ValueError("no source")

    monkeypatch.setattr(records, "_source_text", refuse)
    records.record("double", "passed", lambda x: x)
    passed = records.entries()["double"]["passed"]
    assert passed["source"] is None


def test_two_writers_lose_nothing(home, python):
    """Kills: read-change-write without the lock."""
    script = (
        "import sys\nfrom tritonbook.course import records\n"
        "for i in range(25): records.record(f'{sys.argv[1]}{i}', 'passed', 'x = 1')\n"
    )
    writers = python.run_all([("-c", script, name) for name in ("a", "b")])
    assert [writer.returncode for writer in writers] == [0, 0], writers
    assert len(records.entries()) == 50
    assert not list(home.glob(".progress-*"))


@pytest.mark.parametrize("text", ['{"checks": [', '{"checks": {"double": null}}'])
def test_a_damaged_file_is_set_aside_not_thrown_away(text, home, capsys):
    """Kills: AttributeError out of a check, because of an entry that is none."""
    home.mkdir()
    (home / "progress.json").write_text(text)
    records.record("double", "passed", SOURCE)
    assert list(records.entries()) == ["double"]
    assert [f.read_text() for f in home.glob("progress.damaged-*")] == [text]
    assert "could not be read" in capsys.readouterr().err


@pytest.fixture
def unwritable(tmp_path, monkeypatch):
    """A file stands where the folder should be: fails for root as well as for a student. Gives the
    folder that serves instead."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRITONBOOK_HOME", str(tmp_path / "file" / "home"))
    monkeypatch.setattr(folders.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setenv("TRITONBOOK_FALLBACK", str(tmp_path / f"tritonbook-{os.getuid()}"))
    return tmp_path / f"tritonbook-{os.getuid()}"


def test_an_unwritable_home_falls_back_with_one_sentence(unwritable, capsys):
    records.record("double", "passed", SOURCE)
    records.record("triple", "passed", SOURCE)
    assert set(records.entries()) == {"double", "triple"}
    assert folders.home() == unwritable and stat.S_IMODE(unwritable.stat().st_mode) == 0o700
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1 and "TRITONBOOK_HOME" in said[0]


def test_a_fallback_that_others_can_write_is_not_trusted(unwritable, capsys):
    """Kept sources are imported: a folder planted by somebody else must not be used."""
    unwritable.mkdir()
    unwritable.chmod(0o777)
    assert folders.home() != unwritable
    assert folders._private(folders.home())
    records.record("double", "passed", SOURCE)
    assert "which may be emptied, because" in capsys.readouterr().err


@pytest.mark.parametrize("off", ["off", "OFF", "0"])
def test_off_means_nothing_is_written(home, monkeypatch, off):
    monkeypatch.setenv("TRITONBOOK_PROGRESS", off)
    before = len(records.runs)
    records.record("double", "passed", SOURCE)
    assert not home.exists() and records.entries() == {}
    assert len(records.runs) == before + 1  # the terminal command still sees what ran


def test_a_full_disk_says_so_and_goes_on(monkeypatch, capsys):
    def full(*what):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(records, "written", full)
    records.record("double", "passed", SOURCE)
    assert "your result stands" in capsys.readouterr().err


def test_reset_forgets_one_or_all():
    for key in ("a", "b", "c"):
        records.record(key, "wrong")
    assert records.reset("a") == 1 and records.reset("a") == 0
    assert set(records.entries()) == {"b", "c"}
    assert records.reset() == 2 and records.entries() == {}


def test_recording_is_quick():
    start = time.process_time()
    for _ in range(20):
        records.record("double", "passed", SOURCE)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("entry", [{}, {"passed": None}, {"state": "wrong"}])
def test_an_entry_that_lacks_something_is_filled_up(home, entry):
    """Kills: KeyError out of a check, because of a file that was edited by hand."""
    home.mkdir()
    (home / "progress.json").write_text(json.dumps({"checks": {"double": entry}}))
    records.record("double", "passed", SOURCE)
    found = records.entries()["double"]
    assert found["passed"]["source"] == SOURCE
