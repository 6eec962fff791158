"""Drawings of pages 13 to 15."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from tritonbook import pictures
from tritonbook.seeing import svg

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: svg.Picture) -> list[str]:
    root = ElementTree.fromstring(picture.svg)
    assert root.find(f"{SVG}desc").text == picture.text
    return [node.text for node in root.iter(f"{SVG}text")]


def test_masked_lanes_that_hold_something_are_marked():
    """Kills: an alarm for elements, or for masked lanes that hold 0."""
    steps = {"loaded": [4, 6, 0, 0], "minus the mean": [-1, 1, -5, -5]}
    picture = pictures("layernorm").draw_lanes(steps, elements=2)
    boxes = [node.get("fill") for node in ElementTree.fromstring(picture.svg).iter(f"{SVG}rect")]
    assert boxes.count(svg.CLASH) == 2 and boxes.count(svg.MASKED) == 2
    assert texts(picture).count("-5") == 2 and "minus the mean: -1, 1, -5, -5." in picture.text


def test_a_number_fits_its_cell():
    """Kills: the last bits of a GPU's division, "-7.45058e-08" across three cells."""
    steps = {"minus the mean": [-1.0, -7.45058e-08, 0.25]}
    picture = pictures("layernorm").draw_lanes(steps, elements=2)
    assert "minus the mean: -1, 0, 0.25." in picture.text and "0" in texts(picture)


def test_the_mean_of_two_parts_lies_where_their_sizes_say():
    """Kills: the mean of the means."""
    picture = pictures("layernorm").draw_merge([1.0, 2.0, 6.0], [9.0])
    found = texts(picture)
    assert {"mean a = 3", "mean b = 9", "mean = 4.5"} <= set(found)
    assert found.count("a") == 3 and found.count("b") == 1
    assert "3 + 1/4 of 6 = 4.5" in picture.text


def test_three_launches_show_one_merge():
    found = texts(pictures("layernorm_split").draw_three_launches())
    assert found.count("n, mean, M2") == 4 and found.count("mean, rstd") == 1


def test_each_program_adds_up_every_third_row():
    """Kills: neighbouring rows for one program, and a row of the buffer that nobody fills."""
    picture = pictures("norm_backward").draw_two_stages(rows=7, programs=3)
    assert "program 0 adds up rows 0, 3, 6; program 1 adds up rows 1, 4;" in picture.text
    found = texts(picture)
    assert {"row 6: program 0", "row 5: program 2", "sum of program 2"} <= set(found)
