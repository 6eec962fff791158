"""Drawings for the text: right owners, right masks, readable without sight."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from tritonbook.seeing import svg
from tritonbook.seeing.pictures import draw_mask, draw_rows, draw_tiling
from tritonbook.seeing.pictures_norms import draw_schemes

SVG = "{http://www.w3.org/2000/svg}"


def shapes(picture: svg.Picture, kind: str) -> list[ElementTree.Element]:
    """The shapes of a kind in a picture that is whole, has words, and fetches and runs nothing."""
    root = ElementTree.fromstring(picture.svg)
    assert root.get("role") == "img" and root.find(f"{SVG}title").text
    assert root.find(f"{SVG}desc").text == picture.text == repr(picture)
    assert "<script" not in picture.svg and "href" not in picture.svg
    assert "http" not in picture.svg.replace("http://www.w3.org/2000/svg", "")
    return list(root.iter(f"{SVG}{kind}"))


def texts(picture: svg.Picture) -> list[str]:
    return [node.text for node in shapes(picture, "text")]


def masked_cells(picture) -> int:
    return picture.svg.count(f'fill="{svg.MASKED}"')


def test_one_tile_each():
    picture = draw_tiling(n=10, block=4)
    found = texts(picture)
    assert {"pid 0", "pid 1", "pid 2", "9"} <= set(found) and "pid 3" not in found
    assert masked_cells(picture) == 2
    assert "Program 2 owns elements 8 to 9." in picture.text


def test_several_tiles_each_and_grid_stride():
    # Kills: the two orders mixed up.
    blocked = draw_tiling(n=10, block=2, tiles_per_program=2)
    assert "Program 1 owns elements 4 to 5, 6 to 7." in blocked.text
    assert masked_cells(blocked) == 2  # the second tile of the last program has no elements
    stride = draw_tiling(n=20, block=2, programs=3, order="grid-stride")
    assert "Program 1 owns elements 2 to 3, 8 to 9, 14 to 15." in stride.text
    assert "3 programs" in draw_tiling(n=10, block=4, order="grid-stride").text


@pytest.mark.parametrize("wrong", [{"order": "grid"}, {"n": 0}, {"block": 0}, {"programs": 0}])
def test_a_tiling_that_there_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match="`order` is|at least 1"):
        draw_tiling(**{"n": 10, "block": 4, **wrong})


def test_mask_shows_the_numbers_of_the_last_program():
    picture = draw_mask(n=10, block=4)
    found = texts(picture)
    assert found.count("True") == found.count("False") == 2
    assert {"x[8]", "x[9]", "11"} <= set(found) and "x[10]" not in found
    assert "2 of 4 lanes masked" in picture.text
    assert "No lane is masked" in draw_mask(n=8, block=4).text


def test_rows_in_one_tile_and_in_pieces():
    assert masked_cells(draw_rows(4, 10, 16, "row")) == 4 * 6
    loop = draw_rows(3, 10, 4, "loop")
    assert masked_cells(loop) == 3 * 2 and "step 3" in texts(loop)
    with pytest.raises(ValueError, match="block >= N"):
        draw_rows(2, 10, 4, "row")


def test_every_scheme_names_its_programs():
    # Kills: scheme 3 numbering by column alone (programs 4 to 7 would be missing).
    found = texts(draw_schemes())
    assert found.count("7") == 1 and found.count("3") == 1
    assert found.count("0") == 1 + 4 + 1 + 4  # a row, four tiles, a piece, four rows


def test_the_text_of_a_box_stands_in_its_middle():
    """Kills: a text at the left edge; one that goes by the box of another height."""
    drawn = svg.box(10, 20, 80, 30, "sum", 18, svg.MANY, bold=True)
    alone = svg.words(50, 38, "sum", svg.SMALL, "middle", bold=True)
    assert drawn == svg.rect(10, 20, 80, 30, svg.MANY, svg.INK) + alone


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(front: str, back: str) -> float:
    """As WCAG reckons it: from 1 to 21."""
    light, dark = sorted((_luminance(front), _luminance(back)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_contrast_is_at_least_four_and_a_half():
    grounds = [*svg.FILLS, svg.CARD, svg.EMPTY, svg.MANY]
    pairs = [(svg.INK, ground) for ground in grounds]
    pairs += [(svg.MUTED, svg.CARD), (svg.ALARM, svg.CARD), (svg.ALARM, svg.ALARM_FILL)]
    pairs += [(svg.ALARM, svg.EMPTY)]
    for front, back in pairs:
        assert contrast(front, back) >= 4.5, (front, back)


def test_notebooks_get_the_words_as_alternative_text():
    """Kills: a plain SVG output alone, which JupyterLab shows without its title."""
    picture = svg.titled(10, 10, "t", 'a "quoted" <word>', [])
    shown = picture._repr_mimebundle_()
    assert 'alt="a &quot;quoted&quot; &lt;word&gt;"' in shown["text/html"]
    assert "base64," in shown["text/html"] and shown["image/svg+xml"] == picture.svg


def test_special_characters_are_escaped():
    picture = svg.titled(10, 10, "a < b & c", "x > y", [svg.words(0, 0, "<&>")])
    assert texts(picture) == ["a < b & c", "<&>"]
    assert not re.search(r"<&|& ", picture.svg)
