"""Pictures of the pages about rows: who takes which part."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from tritonbook.seeing.pictures_norms import draw_schemes

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
