"""The drawings of pages 11, 13 to 15, 20, 21, 23, 24, 43, 64 and 65."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree

import pytest

from tritonbook import pictures
from tritonbook.course.exercises import load, reference
from tritonbook.seeing import svg

SVG = "{http://www.w3.org/2000/svg}"
split = pictures("11_rmsnorm_split")
orders = pictures("matmul_grouped")
groups = pictures("gluon_attention")


def shapes(picture: svg.Picture, kind: str) -> list[ElementTree.Element]:
    """The shapes of a kind in a picture that is whole, has words, and fetches and runs nothing."""
    root = ElementTree.fromstring(picture.svg)
    assert root.get("role") == "img" and root.find(f"{SVG}title").text
    assert root.find(f"{SVG}desc").text == picture.text == repr(picture)
    assert "<script" not in picture.svg
    assert "http" not in picture.svg.replace("http://www.w3.org/2000/svg", "")
    return list(root.iter(f"{SVG}{kind}"))


def texts(picture: svg.Picture) -> list[str]:
    return [node.text for node in shapes(picture, "text")]


def test_busy_processors_are_filled():
    # Kills: more busy processors than there are, and idle ones drawn as busy.
    picture = split.draw_occupancy(M=8, num_splits=33, num_sms=132)
    assert "8 programs, 8 of 132 SMs" in picture.text
    assert "264 programs, 132 of 132 SMs" in picture.text
    boxes = shapes(picture, "rect")
    assert sum(box.get("fill") == svg.INK for box in boxes) == 8 + 132


def test_every_piece_has_its_program_in_both_launches():
    # Kills: programs numbered by piece alone (3 to 5 would be missing).
    found = texts(split.draw_two_launches(M=2, num_splits=3))
    assert [found.count(f"pid {pid}") for pid in range(7)] == 6 * [2] + [0]
    assert found.count("sum of row 0") == found.count("sum of row 1") == 1


def test_lanes_of_a_tile_end_with_their_piece():
    # Kills: columns of the next piece shown as this one's, lanes beyond the row not counted.
    picture = split.draw_pieces(100, *load("11_rmsnorm_split").pieces(100, 3))
    assert {"0 to 47", "48 to 95", "96 to 99"} < set(texts(picture))
    assert "Piece 1 has columns 48 to 95; 16 lanes masked." in picture.text
    assert "60 lanes masked" in picture.text


def test_masked_lanes_that_hold_something_are_marked():
    """Kills: an alarm for elements, or for masked lanes that hold 0."""
    steps = {"loaded": [4, 6, 0, 0], "minus the mean": [-1, 1, -5, -5]}
    picture = pictures("layernorm").draw_lanes(steps, elements=2)
    boxes = [box.get("fill") for box in shapes(picture, "rect")]
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


def draw_k_loop(**other):
    sizes = dict(M=96, N=128, K=160, block_m=32, block_n=32, block_k=64, pid_m=1, pid_n=2)
    return pictures("matmul").draw_k_loop(**(sizes | other))


def test_k_loop_names_its_short_last_step():
    """Kills: a last step as long as the others."""
    loop = draw_k_loop(M=40, N=40, K=70, block_k=32, pid_m=0, pid_n=1)
    assert shapes(loop, "rect") and "3 steps" in loop.text and "6 of 32 columns" in loop.text


@pytest.mark.parametrize("place", [(3, 0), (0, 4), (-1, 0)])
def test_k_loop_refuses_a_tile_outside(place):
    with pytest.raises(ValueError, match="outside"):
        draw_k_loop(pid_m=place[0], pid_n=place[1])


def row_by_row(pid, grid_m, grid_n):
    return pid // grid_n, pid % grid_n


def two_orders():
    named = {"column by column": orders.by_column, "groups of 4": orders.in_groups_of(4)}
    return orders.draw_tile_order(named, grid_m=8, grid_n=8, running=16)


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
    cells = [r for r in shapes(two_orders(), "rect") if r.get("width") == "22" == r.get("height")]
    assert len({(r.get("x"), r.get("y")) for r in cells}) == len(cells) == 128


def test_tiles_outside_are_counted_and_not_drawn():
    """Kills: a learner's wrong order that is drawn over the words below."""
    full = {"full groups": lambda pid, grid_m, grid_n: (pid // 24 * 3 + pid % 3, pid % 24 // 3)}
    drawing = orders.draw_tile_order(full, grid_m=8, grid_n=8, running=16)
    drawn = [box for box in shapes(drawing, "rect") if box.get("width") == "22"]
    assert len(drawn) == 64 - 5 and "5 tiles lie outside C" in drawing.text


def test_gate_and_up_share_a_tile_that_stays_out_of_memory():
    found = texts(pictures("fused_mlp").draw_gate_up())
    assert {"gate", "up", "silu(gate) * up", "w_gate: D × H", "w_up: D × H"} <= set(found)
    assert found.count("never in memory") == 2


@pytest.mark.parametrize(("fused", "says"), [(False, "in memory:"), (True, "never in memory")])
def test_the_pictures_say_where_the_hidden_values_are(fused, says):
    """Kills: two pictures that are the same."""
    assert says in texts(pictures("mlp_one_kernel").draw_mlp(fused))


def test_the_owners_walk_as_far_as_the_causal_triangle():
    """Kills: a walk that leaves the triangle, or one that is a tile short."""
    drawing = pictures("flash_backward").draw_owners(tiles=6)
    assert shapes(drawing, "rect")
    assert "owns tile 4 of the queries walks along 5 tiles" in repr(drawing)
    assert "owns tile 1 of the keys walks down 5 tiles" in repr(drawing)
    with pytest.raises(ValueError, match="row 0 and column 1 do not meet"):
        pictures("flash_backward").draw_owners(tiles=6, row=0)


def test_a_ring_shows_slot_and_phase_of_each_load():
    drawn = pictures("gluon_matmul").draw_ring(loads=5, slots=2)
    assert "0 in slot 0, phase 0; 1 in slot 1, phase 0; 2 in slot 0, phase 1" in repr(drawn)
    assert "4 in slot 0, phase 0" in repr(drawn)
    assert shapes(drawn, "rect")


def test_jobs_save_the_loads_and_stores_between_tiles():
    drawn = pictures("gluon_matmul").draw_jobs(tiles=3)
    assert "one after another: 42 ticks" in repr(drawn) and "go on: 30 ticks" in repr(drawn)
    assert shapes(drawn, "rect")


@pytest.mark.parametrize("way", ["alike", "ahead", "turns"])
@pytest.mark.parametrize("tiles", [1, 2, 5])
def test_nobody_does_two_things_at_once_or_too_early(way, tiles):
    """Kills: two products in one tick, a softmax before its scores, an output before that."""
    jobs = groups.schedule(way, tiles)
    for lane in {job.lane for job in jobs}:
        own = sorted((job.start, job.start + job.length) for job in jobs if job.lane == lane)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(own))
    end = {(job.text, job.group): job.start + job.length for job in jobs}
    start = {(job.text, job.group): job.start for job in jobs}
    for group, tile in itertools.product({job.group for job in jobs}, range(tiles)):
        softmax = f"softmax {tile}", group
        assert end[f"s{tile}", group] <= start[softmax]
        assert end[softmax] <= start[f"o{tile}", group]


def test_turns_leave_least_idle_and_the_words_say_so():
    drawn = groups.draw_groups("alike", "turns")
    assert "all warps alike: 18 ticks, the tensor cores idle in 6" in repr(drawn)
    assert "two groups in turn: 15 ticks, the tensor cores idle in 3" in repr(drawn)
    assert shapes(drawn, "rect")
