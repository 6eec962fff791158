"""A certificate says what was passed, shows a change, and can be run again."""

import html
import json

import pytest

from tritonbook import cli
from tritonbook.course import certify, records
from tritonbook.course.exercises import exercises, get

RIGHT = get("00_start_here").module_text()


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


def test_it_draws_what_is_passed(tmp_path):
    """Kills: a drawing that shows an open check as passed."""
    records.record("tile_ranges", "passed", RIGHT)
    certify.write(tmp_path / "c.html", "Ada")
    shown = (tmp_path / "c.html").read_text().partition('<pre id="certificate"')[0]
    assert "00_start_here 1 of 3" in shown and "01_vector_add 0 of 4" in shown
    checks = sum(len(exercise.checks()) for exercise in exercises())
    drawn = shown.partition("<svg")[2].partition("</svg>")[0]
    assert drawn.count("<rect") == checks and drawn.count(">✓</text>") == 1


@pytest.mark.parametrize("old, new", [("00_s", "00_t"), ("return", "retrun"), ("Ada", "Bob")])
def test_a_change_is_seen(tmp_path, old, new):
    """Kills: reading the data without its hash."""
    records.record("tile_ranges", "passed", RIGHT)
    certify.write(tmp_path / "c.html", "Ada")
    head, mark, data = (tmp_path / "c.html").read_text().partition('<pre id="certificate"')
    assert old in data
    (tmp_path / "c.html").write_text(head + mark + data.replace(old, new))
    with pytest.raises(certify.BadCertificate, match="was changed"):
        certify.read(tmp_path / "c.html")


@pytest.mark.parametrize(
    "text", ["", "<p>", '<pre id="certificate" hidden>[]</pre>', html.escape("{}")]
)
def test_what_is_no_certificate_is_bad_input(tmp_path, text):
    (tmp_path / "c.html").write_text(text)
    with pytest.raises(certify.BadCertificate, match="is no certificate, or damaged"):
        certify.read(tmp_path / "c.html")


def forged(path, *rows):
    """A certificate with these passes whose own hash fits."""
    data = {"name": "Eve", "passes": list(rows)}
    text = html.escape(json.dumps({"data": data, "sha256": certify._digest(data)}))
    path.write_text(f'<pre id="certificate" hidden>{text}</pre>')


ROW = {"notebook": "00_start_here", "key": "copy", "source": ""}


@pytest.mark.parametrize(
    "row",
    [
        {"key": "copy", "source": ""},
        {**ROW, "notebook": 0},
        {**ROW, "key": None},
        {**ROW, "source": 5, "sha256": "x"},
        "copy",
        [["key", "copy"]],
    ],
)
def test_passes_of_another_form_are_bad_input(tmp_path, row):
    """Kills: a traceback for whoever grades, from a page that somebody made by hand."""
    forged(tmp_path / "c.html", row)
    with pytest.raises(certify.BadCertificate, match="is no certificate, or damaged"):
        certify.read(tmp_path / "c.html")


@pytest.mark.parametrize("text", ["", "[]", '{"exam": "exam_7"}', '{"exam": 7}'])
def test_what_is_no_statement_of_an_exam_is_one_sentence(text, tmp_path, capsys):
    (tmp_path / "s.json").write_text(text)
    code = cli.main(["certify", str(tmp_path / "c.html"), "--exam", str(tmp_path / "s.json")])
    assert code == 2 and "is no statement about an exam" in capsys.readouterr().err
    assert not (tmp_path / "c.html").exists()
