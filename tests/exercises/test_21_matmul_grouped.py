"""Page 21 beyond its own checks: strips, its picture, and the order that its check sees."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from tritonbook import INTERPRET, pictures
from tritonbook.course.cases import load_cases
from tritonbook.course.exercises import reference

SVG = "{http://www.w3.org/2000/svg}"
orders = pictures("matmul_grouped")


def row_by_row(pid, grid_m, grid_n):
    return pid // grid_n, pid % grid_n


def two_orders():
    named = {"column by column": orders.by_column, "groups of 4": orders.in_groups_of(4)}
    return orders.draw_tile_order(named, grid_m=8, grid_n=8, running=16)


def test_svg_is_whole_described_and_safe():
    """Kills: unescaped text, a picture without words, anything fetched or run."""
    drawing = two_orders()
    root = ElementTree.fromstring(drawing._repr_svg_())
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text and root.find(f"{SVG}desc").text
    assert "<script" not in drawing.svg
    assert "http" not in drawing.svg.replace("http://www.w3.org/2000/svg", "")


def test_strips_counted_as_the_text_says():
    """The numbers of the page. Kills: counting tiles, or one matrix only."""
    assert orders.strips(orders.by_column, 8, 8, 16) == (8, 2)
    assert orders.strips(orders.in_groups_of(4), 8, 8, 16) == (4, 4)
    assert orders.strips(orders.in_groups_of(8), 64, 32, 132) == (8, 17)
    assert orders.strips(orders.in_groups_of(6), 48, 48, 108) == (6, 18)


def test_strips_stop_at_the_last_tile():
    """Kills: asking an order for programs that do not exist."""
    assert orders.strips(row_by_row, 2, 3, 100) == (2, 3)


def test_the_picture_draws_the_order_of_the_task():
    """Kills: a picture whose groups are others than those that the check asks for."""
    swizzle = reference("swizzle")
    for grid_m, grid_n, group in [(5, 3, 2), (3, 7, 8), (9, 4, 4)]:
        order = orders.in_groups_of(group)
        for pid in range(grid_m * grid_n):
            assert order(pid, grid_m, grid_n) == swizzle(pid, grid_m, grid_n, group)


def test_two_orders_do_not_overlap():
    """Kills: the second grid drawn over the first."""
    root = ElementTree.fromstring(two_orders().svg)
    cells = [r for r in root.iter(f"{SVG}rect") if r.get("width") == "22" == r.get("height")]
    assert len({(r.get("x"), r.get("y")) for r in cells}) == len(cells) == 128


def test_tiles_outside_are_counted_and_not_drawn():
    """Kills: a learner's wrong order that is drawn over the words below."""
    full = {"full groups": lambda pid, grid_m, grid_n: (pid // 24 * 3 + pid % 3, pid % 24 // 3)}
    drawing = orders.draw_tile_order(full, grid_m=8, grid_n=8, running=16)
    drawn = [
        r for r in ElementTree.fromstring(drawing.svg).iter(f"{SVG}rect") if r.get("width") == "22"
    ]
    assert len(drawn) == 64 - 5 and "5 tiles lie outside C" in drawing.text


@pytest.mark.skipif(not INTERPRET, reason="the order is seen in the interpreter")
def test_the_check_sees_which_program_takes_which_tile():
    """Kills: an order read off the wrong stores, which would accept any."""
    page = load_cases("matmul_grouped")
    want = [page.swizzle_ref(pid, 11, 3, page.GROUP) for pid in range(33)]
    assert page._program_of_each_tile(reference("matmul_grouped")) == want
    by_column = [divmod(pid, 11)[::-1] for pid in range(33)]
    assert page._program_of_each_tile(reference("matmul")) == by_column
