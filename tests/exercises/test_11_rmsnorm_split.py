"""Pictures of page 11: SMs with work, two launches, and the lanes of pieces."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from tritonbook.course.cases import pictures
from tritonbook.course.exercises import load
from tritonbook.seeing import svg

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def draw():
    return pictures("11_rmsnorm_split")


def shapes(picture, kind: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(picture.svg)
    assert root.find(f"{SVG}desc").text == picture.text
    return list(root.iter(f"{SVG}{kind}"))


def texts(picture) -> list[str]:
    return [node.text for node in shapes(picture, "text")]


def test_busy_processors_are_filled(draw):
    # Kills: more busy processors than there are, and idle ones drawn as busy.
    picture = draw.draw_occupancy(M=8, num_splits=33, num_sms=132)
    assert "8 programs, 8 of 132 SMs" in picture.text
    assert "264 programs, 132 of 132 SMs" in picture.text
    boxes = shapes(picture, "rect")
    assert sum(box.get("fill") == svg.INK for box in boxes) == 8 + 132


def test_every_piece_has_its_program_in_both_launches(draw):
    # Kills: programs numbered by piece alone (3 to 5 would be missing).
    found = texts(draw.draw_two_launches(M=2, num_splits=3))
    assert [found.count(f"pid {pid}") for pid in range(7)] == 6 * [2] + [0]
    assert found.count("sum of row 0") == found.count("sum of row 1") == 1


def test_lanes_of_a_tile_end_with_their_piece(draw):
    # Kills: columns of the next piece shown as this one's, lanes beyond the row not counted.
    picture = draw.draw_pieces(100, *load("11_rmsnorm_split").pieces(100, 3))
    assert {"0 to 47", "48 to 95", "96 to 99"} < set(texts(picture))
    assert "Piece 1 has columns 48 to 95; 16 lanes masked." in picture.text
    assert "60 lanes masked" in picture.text


@pytest.mark.parametrize(("N", "splits"), [(100, 3), (17, 5), (1, 2), (262_144, 33), (255, 1)])
def test_pieces_cover_a_row(N, splits):
    # Kills: columns in no piece, a tile that is too narrow for its piece.
    size, block = load("11_rmsnorm_split").pieces(N, splits)
    assert size * splits >= N and size % 16 == 0
    assert block >= size and block & (block - 1) == 0
