"""Page 20 beyond its own checks: its picture."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from tritonbook import pictures

SVG = "{http://www.w3.org/2000/svg}"


def draw_k_loop(**other):
    sizes = dict(M=96, N=128, K=160, block_m=32, block_n=32, block_k=64, pid_m=1, pid_n=2)
    return pictures("matmul").draw_k_loop(**(sizes | other))


def test_svg_is_whole_described_and_safe():
    """Kills: unescaped text, a picture without words, anything fetched or run."""
    drawing = draw_k_loop()
    root = ElementTree.fromstring(drawing._repr_svg_())
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text and root.find(f"{SVG}desc").text
    assert "<script" not in drawing.svg
    assert "http" not in drawing.svg.replace("http://www.w3.org/2000/svg", "")


def test_k_loop_names_its_short_last_step():
    """Kills: a last step as long as the others."""
    loop = draw_k_loop(M=40, N=40, K=70, block_k=32, pid_m=0, pid_n=1)
    assert "3 steps" in loop.text and "6 of 32 columns" in loop.text


@pytest.mark.parametrize("place", [(3, 0), (0, 4), (-1, 0)])
def test_k_loop_refuses_a_tile_outside(place):
    with pytest.raises(ValueError, match="outside"):
        draw_k_loop(pid_m=place[0], pid_n=place[1])
