"""Pictures of the matrix notebooks: what they count and say, and that they carry words."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from tritonbook.seeing import pictures_matmul as pictures

SVG = "{http://www.w3.org/2000/svg}"


def row_by_row(pid, grid_m, grid_n):
    return pid // grid_n, pid % grid_n


def in_groups_of(group):
    def order(pid, grid_m, grid_n):
        first = pid // (group * grid_n) * group
        rows = min(grid_m - first, group)
        inside = pid % (group * grid_n)
        return first + inside % rows, inside // rows

    return order


def drawings():
    loop = dict(M=96, N=128, K=160, block_m=32, block_n=32, block_k=64)
    return [
        pictures.draw_k_loop(**loop, pid_m=1, pid_n=2),
        pictures.draw_tile_order({"row by row": row_by_row}, grid_m=8, grid_n=8, running=16),
        pictures.draw_mlp(fused=False),
        pictures.draw_mlp(fused=True),
    ]


@pytest.mark.parametrize("drawing", drawings(), ids=lambda drawing: drawing.text[:20])
def test_svg_is_whole_described_and_safe(drawing):
    """Kills: unescaped text, a picture without words, anything fetched or run."""
    root = ElementTree.fromstring(drawing._repr_svg_())
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text and root.find(f"{SVG}desc").text
    assert "<script" not in drawing.svg and "http" not in drawing.svg.replace(
        "http://www.w3.org/2000/svg", ""
    )


def test_strips_counted_as_the_text_says():
    """The numbers of notebook 20. Kills: counting tiles, or one matrix only."""
    assert pictures.strips(row_by_row, 8, 8, 16) == (2, 8)
    assert pictures.strips(in_groups_of(4), 8, 8, 16) == (4, 4)
    assert sum(pictures.strips(row_by_row, 64, 64, 128)) == 66
    assert sum(pictures.strips(in_groups_of(8), 64, 64, 128)) == 24


def test_strips_stop_at_the_last_tile():
    """Kills: asking an order for programs that do not exist."""
    assert pictures.strips(row_by_row, 2, 3, 100) == (2, 3)


def test_k_loop_names_its_short_last_step():
    """Kills: a last step as long as the others."""
    loop = pictures.draw_k_loop(
        M=40, N=40, K=70, block_m=32, block_n=32, block_k=32, pid_m=0, pid_n=1
    )
    assert "3 steps" in loop.text and "6 of 32 columns" in loop.text


@pytest.mark.parametrize("place", [(3, 0), (0, 4), (-1, 0)])
def test_k_loop_refuses_a_tile_outside(place):
    with pytest.raises(ValueError, match="outside"):
        pictures.draw_k_loop(
            M=96, N=128, K=64, block_m=32, block_n=32, block_k=64, pid_m=place[0], pid_n=place[1]
        )


def test_two_orders_do_not_overlap():
    """Kills: the second grid drawn over the first."""
    drawing = pictures.draw_tile_order(
        {"row by row": row_by_row, "groups of 4": in_groups_of(4)}, grid_m=8, grid_n=8, running=16
    )
    root = ElementTree.fromstring(drawing.svg)
    cells = [r for r in root.iter(f"{SVG}rect") if r.get("width") == "22" == r.get("height")]
    assert len({(r.get("x"), r.get("y")) for r in cells}) == len(cells) == 128
