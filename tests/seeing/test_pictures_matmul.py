"""Pictures of the matrix notebooks: what they say, and that they carry words."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from tritonbook.seeing import pictures_matmul as pictures

SVG = "{http://www.w3.org/2000/svg}"


def drawings():
    return [pictures.draw_mlp(fused=False), pictures.draw_mlp(fused=True)]


@pytest.mark.parametrize("drawing", drawings(), ids=lambda drawing: drawing.text[:20])
def test_svg_is_whole_described_and_safe(drawing):
    """Kills: unescaped text, a picture without words, anything fetched or run."""
    root = ElementTree.fromstring(drawing._repr_svg_())
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text and root.find(f"{SVG}desc").text
    assert "<script" not in drawing.svg and "http" not in drawing.svg.replace(
        "http://www.w3.org/2000/svg", ""
    )
