"""A certificate says what was passed, shows a change, and can be run again."""

import html

import pytest

from tritonbook import cli
from tritonbook.course import certify, records
from tritonbook.course.exercises import get

RIGHT = get("00_start_here").module_text()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITONBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRITONBOOK_PROGRESS", raising=False)


def test_it_lists_passes_only_and_escapes_what_people_type(tmp_path):
    records.record("tile_ranges", "passed", RIGHT)
    records.record("add", "wrong", RIGHT)
    certify.write(tmp_path / "c.html", "Ada <script>")
    text = (tmp_path / "c.html").read_text()
    assert "tile_ranges" in text and "<script" not in text
    assert "http" not in text.partition('<pre id="certificate"')[0]
    data = certify.read(tmp_path / "c.html")
    assert [row["key"] for row in data["passes"]] == ["tile_ranges"]
    assert data["name"] == "Ada <script>" and data["passes"][0]["source"] == RIGHT


@pytest.mark.parametrize("old, new", [("passed", "PASSED"), ("return", "retrun"), ("Ada", "Bob")])
def test_a_change_is_seen(tmp_path, old, new):
    """Kills: reading the data without its hash."""
    records.record("tile_ranges", "passed", RIGHT)
    certify.write(tmp_path / "c.html", "Ada")
    head, mark, data = (tmp_path / "c.html").read_text().partition('<pre id="certificate"')
    assert old in data
    (tmp_path / "c.html").write_text(head + mark + data.replace(old, new))
    with pytest.raises(certify.BadCertificate, match="was changed"):
        certify.read(tmp_path / "c.html")


def test_sources_are_run_again_and_a_wrong_one_does_not_hold(tmp_path):
    records.record("tile_ranges", "passed", "from __future__ import annotations\n" + RIGHT)
    records.record("copy", "passed", "def copy(x):\n    return x\n")
    certify.write(tmp_path / "c.html", "Ada")
    first, second = certify.verify(tmp_path / "c.html")
    assert (first.key, first.holds) == ("tile_ranges", True)
    assert (second.key, second.holds) == ("copy", False) and second.sentence
    assert cli.main(["certify", str(tmp_path / "c.html"), "--verify"]) == 1


def test_a_source_that_claims_its_own_pass_does_not_hold(tmp_path):
    """Kills: believing the last line that is printed."""
    text = "import os\nprint('passed', flush=True)\nos._exit(0)\n"
    records.record("copy", "passed", text)
    certify.write(tmp_path / "c.html", "Ada")
    (verdict,) = certify.verify(tmp_path / "c.html")
    assert not verdict.holds and "without a verdict" in verdict.sentence


@pytest.mark.parametrize(
    "text", ["", "<p>", '<pre id="certificate" hidden>[]</pre>', html.escape("{}")]
)
def test_what_is_no_certificate_is_bad_input(tmp_path, capsys, text):
    (tmp_path / "c.html").write_text(text)
    assert cli.main(["certify", str(tmp_path / "c.html"), "--verify"]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path, capsys):
    assert cli.main(["certify", str(tmp_path / "no" / "c.html")]) == 2
    assert "cannot be written" in capsys.readouterr().err
