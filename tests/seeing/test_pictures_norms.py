"""Pictures of the norm notebooks: who takes which part, and who wins where."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from tritonbook.seeing import svg
from tritonbook.seeing.pictures_norms import (
    Regimes,
    draw_occupancy,
    draw_schemes,
    stored_regimes,
)

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture) -> list[str]:
    root = ElementTree.fromstring(picture.svg)
    assert root.find(f"{SVG}desc").text == picture.text
    return [node.text for node in root.iter(f"{SVG}text")]


def test_every_scheme_names_its_programs():
    # Kills: scheme 3 numbering by column alone (programs 4 to 7 would be missing).
    found = texts(draw_schemes())
    assert found.count("7") == 1 and found.count("3") == 1
    assert found.count("0") == 1 + 4 + 1 + 4  # a row, four tiles, a piece, four rows


def test_busy_processors_are_filled():
    # Kills: more busy processors than there are, and idle ones drawn as busy.
    picture = draw_occupancy(M=8, N=262144, num_sms=132, num_splits=32)
    assert "8 programs, 8 of 132 SMs" in picture.text
    assert "256 programs, 132 of 132 SMs" in picture.text
    boxes = ElementTree.fromstring(picture.svg).iter(f"{SVG}rect")
    assert sum(box.get("fill") == svg.INK for box in boxes) == 8 + 132


@pytest.fixture
def regimes():
    return Regimes(
        "a test",
        (
            {"M": 8, "N": 64, "us": {"row": 2.0, "loop": 3.0, "split": 4.0, "multirow": 1.0}},
            {"M": 1, "N": 99, "us": {"loop": 10.0, "split": 2.0}},
        ),
    )


def test_regret_is_time_over_the_best(regimes):
    # Kills: the ratio upside down, and a scheme that cannot run taken for a free one.
    assert regimes.regret(lambda M, N: "split") == [(4.0, 8, 64, "split"), (1.0, 1, 99, "split")]
    assert regimes.regret(lambda M, N: "row")[0] == (float("inf"), 1, 99, "row")


def test_map_names_winners_in_words(regimes, tmp_path):
    plot = regimes.plot()
    assert "row 0, loop 0, split 1, multirow 1" in repr(plot)
    assert plot.png().startswith(b"\x89PNG")
    regimes.save(tmp_path / "map.json")
    assert '"where": "a test"' in (tmp_path / "map.json").read_text()


def test_stored_map_says_where_it_was_measured():
    stored = stored_regimes()
    assert "H100" in stored.where and len(stored.rows) >= 40
    assert all(min(row["us"].values()) > 0 for row in stored.rows)
