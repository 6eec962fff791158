"""The drawings of pages 11 to 15, 20, 21, 23, 24, 43, 64 and 65."""

from __future__ import annotations

import ast
import contextlib
import itertools
import re

import pytest

from tests.seeing.test_pictures import shapes, texts
from tritonbook import pictures, words
from tritonbook.course.exercises import exercises, load, reference
from tritonbook.seeing import svg

split = pictures("11_rmsnorm_split")
orders = pictures("matmul_grouped")
groups = pictures("gluon_attention")


def draw_k_loop(**other):
    sizes = dict(M=96, N=128, K=160, block_m=32, block_n=32, block_k=64, pid_m=1, pid_n=2)
    return pictures("matmul").draw_k_loop(**(sizes | other))


# What is drawn, words of its text, and how often words stand in the picture.
SHOWN = {
    # Kills: columns of the next piece shown as this one's, lanes beyond the row not counted.
    "lanes of a tile end with their piece": (
        lambda: split.draw_pieces(100, *load("11_rmsnorm_split").pieces(100, 3)),
        ["Piece 1 has columns 48 to 95; 16 lanes masked.", "60 lanes masked"],
        {"0 to 47": 1, "48 to 95": 1, "96 to 99": 1},
    ),
    # Kills: the last bits of a GPU's division, "-7.45058e-08" across three cells.
    "a number fits its cell": (
        lambda: pictures("layernorm").draw_lanes({"x - mean": [-1.0, -7.45058e-08, 0.25]}, 2),
        ["x - mean: -1, 0, 0.25."],
        {"0": 1},
    ),
    # Kills: the mean of the means.
    "the mean of two parts lies where their sizes say": (
        lambda: pictures("layernorm").draw_merge([1.0, 2.0, 6.0], [9.0]),
        ["3 + 1/4 of 6 = 4.5"],
        {"mean a = 3": 1, "mean b = 9": 1, "mean = 4.5": 1, "a": 3, "b": 1},
    ),
    "three launches have one merge": (
        lambda: pictures("layernorm_split").draw_three_launches(),
        [],
        {"n, mean, M2": 4, "mean, rstd": 1},
    ),
    # Kills: neighbouring rows for one program, and a row of the buffer that nobody fills.
    "each program adds up every third row": (
        lambda: pictures("norm_backward").draw_two_stages(rows=7, programs=3),
        ["program 0 adds up rows 0, 3, 6; program 1 adds up rows 1, 4;"],
        {"row 6: program 0": 1, "row 5: program 2": 1, "sum of program 2": 1},
    ),
    # Kills: a tensor that a kernel moves and the bar leaves out.
    "one pass moves fewer bytes": (
        lambda: pictures("residual_norm").draw_bytes(),
        ["by three kernels: 13 bytes. Moved by Task 1: 8 bytes. Moved by Task 2: 7 bytes"],
        {"s 2": 4, "y 2": 3, "q 1": 2},
    ),
    # Kills: pieces that move with the number of programs, a sum in another order.
    "pieces stay where they are, whoever computes them": (
        lambda: pictures("same_bits").draw_pieces(pieces=4),
        ["one row: 4 programs; some rows: 2 programs; many rows: 1 program"],
        {"(((p0 + p1) + p2) + p3)": 3, "piece 3: program 3": 1, "piece 3: program 1": 1}
        | {"piece 3: program 0": 1},
    ),
    # Kills: columns counted as rows, lanes of missing rows drawn as elements.
    "addresses are sums": (
        lambda: pictures("12_rmsnorm_choose").draw_addresses(2, M=10, N=6, BLOCK_M=4, BLOCK_N=8),
        ["20 lanes"],
        {"59": 1, "60": 1, "61": 0},
    ),
    # Kills: a last step as long as the others.
    "a short last step": (
        lambda: draw_k_loop(M=40, N=40, K=70, block_k=32, pid_m=0, pid_n=1),
        ["3 steps", "6 of 32 columns"],
        {},
    ),
    "gate and up share a tile that stays out of memory": (
        lambda: pictures("fused_mlp").draw_gate_up(),
        [],
        {"gate": 1, "up": 1, "silu(gate) * up": 1, "w_gate: D × H": 1, "w_up: D × H": 1}
        | {"never in memory": 2},
    ),
    "one program's tensor cores are idle": (
        lambda: pictures("attention_records").draw_residents(1, 3),
        ["busy in 6 of 12 ticks"],
        {},
    ),
    "those of three programs are busy": (
        lambda: pictures("attention_records").draw_residents(3, 3),
        ["busy in 18 of 20 ticks"],
        {},
    ),
    # Kills: two pictures that are the same.
    "hidden values in memory": (
        lambda: pictures("mlp_one_kernel").draw_mlp(False),
        [],
        {"in memory:": 1},
    ),
    "hidden values that stay": (
        lambda: pictures("mlp_one_kernel").draw_mlp(True),
        [],
        {"never in memory": 1},
    ),
    # Kills: a walk that leaves the triangle, or one that is a tile short.
    "owners walk as far as the causal triangle": (
        lambda: pictures("flash_backward").draw_owners(tiles=6),
        ["owns tile 4 of the queries walks along 5 tiles"]
        + ["owns tile 1 of the keys walks down 5 tiles"],
        {},
    ),
    "slot and phase of each load": (
        lambda: pictures("gluon_matmul").draw_ring(loads=5, slots=2),
        ["Load 2 goes to slot 0, in phase 1.", "Load 4 goes to slot 0, in phase 0."],
        {},
    ),
    "jobs save the loads and stores between tiles": (
        lambda: pictures("gluon_matmul").draw_jobs(tiles=3),
        ["one after another: 42 ticks", "go on: 30 ticks"],
        {},
    ),
    "turns leave least idle": (
        lambda: groups.draw_groups("alike", "turns"),
        ["all warps alike: 18 ticks, the tensor cores idle in 6"]
        + ["two groups in turn: 15 ticks, the tensor cores idle in 3"],
        {},
    ),
}


@pytest.mark.parametrize("what", SHOWN)
def test_a_picture_says_and_shows_it(what):
    draw, said, drawn = SHOWN[what]
    found = texts(picture := draw())
    assert all(words in picture.text for words in said), picture.text
    assert {words: found.count(words) for words in drawn} == drawn


# What is called in Chinese as in English: names of code, of PyTorch, and the course's own words.
NAMES = """acc acquire add all-gather all-reduce batch beta bfloat16 cu_seqlens delta dtype dtypes
    e2m1 e4m3 e8m0 fake float16 float32 gate hi hidden int8 join kernel key lane lo logit logits
    lse mean mid mul old out pid position program query rank reduce-scatter release reshape
    residual rstd rule silu sink softmax split tanh tile token tril up value warp wrapper""".split()  # noqa: SIM905


def _drawn_on_pages():
    """What pages draw with arguments that stand in the call, and the drawings above."""
    for page in exercises():
        names = {"pictures": pictures, **vars(load(page))}
        for cell in page.cells:
            for node in ast.walk(ast.parse(cell.source if cell.kind == "code" else "")):
                text = ast.unparse(node) if isinstance(node, (ast.Assign, ast.Call)) else ""
                with contextlib.suppress(NameError):
                    if re.match(r"\w+ = pictures\(", text):
                        exec(text, names)
                    elif re.match(r"(pictures\(.*\)|\w+)\.draw_\w+\(", text):
                        yield eval(text, names)
    yield from (draw() for draw, _, _ in SHOWN.values())


def test_a_picture_is_chinese_where_chinese_is_spoken():
    """Kills: a label of one word that stays English, a sentence put together from pieces."""
    with words.speaking("zh"):
        drawn = list(_drawn_on_pages())
    assert len(drawn) > 80
    lines = [line for each in drawn for line in shapes(each, "text")]
    found = {line.text or "" for line in lines if not line.get("font-family")}  # else it is code
    found |= {part for each in drawn for part in re.split("[，。：；]", each.text)}
    plain = [re.sub(r"`[^`]*`|\w*_\w*", "", text) for text in found]
    english = [text for text in plain if {*re.findall(r"\b[a-z][a-z\d-]{2,}", text)} - {*NAMES}]
    assert english == []


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: draw_k_loop(pid_m=3, pid_n=0), "outside"),
        (lambda: draw_k_loop(pid_m=0, pid_n=4), "outside"),
        (lambda: draw_k_loop(pid_m=-1, pid_n=0), "outside"),
        (lambda: pictures("flash_backward").draw_owners(6, row=0), "column 1 do not meet"),
        (lambda: pictures("45_llama_decode_train").draw_cache(filled=4, room=4), "no room"),
        (lambda: pictures("register_op").draw_floors("Down", []), "at least one"),
    ],
)
def test_a_picture_of_nothing_is_refused(draw, said):
    """Kills: an empty card where a picture should be."""
    with pytest.raises(ValueError, match=said):
        draw()


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


def test_masked_lanes_that_hold_something_are_marked():
    """Kills: an alarm for elements, or for masked lanes that hold 0."""
    steps = {"loaded": [4, 6, 0, 0], "minus the mean": [-1, 1, -5, -5]}
    picture = pictures("layernorm").draw_lanes(steps, elements=2)
    boxes = [box.get("fill") for box in shapes(picture, "rect")]
    assert boxes.count(svg.CLASH) == 2 and boxes.count(svg.MASKED) == 2
    assert texts(picture).count("-5") == 2 and "minus the mean: -1, 1, -5, -5." in picture.text


def test_strips_counted_as_the_text_says():
    """The numbers of the page. Kills: counting tiles, or one matrix only; asking an order for
    programs that do not exist."""
    assert orders.strips(orders.by_column, 8, 8, 16) == (8, 2)
    assert orders.strips(orders.in_groups_of(4), 8, 8, 16) == (4, 4)
    assert orders.strips(orders.in_groups_of(8), 64, 32, 132) == (8, 17)
    assert orders.strips(orders.in_groups_of(6), 48, 48, 108) == (6, 18)
    assert orders.strips(lambda pid, grid_m, grid_n: divmod(pid, grid_n), 2, 3, 100) == (2, 3)


def test_the_picture_draws_the_order_of_the_task():
    """Kills: a picture whose groups are others than those that the check asks for."""
    swizzle = reference("swizzle")
    for grid_m, grid_n, group in [(5, 3, 2), (3, 7, 8), (9, 4, 4)]:
        order = orders.in_groups_of(group)
        for pid in range(grid_m * grid_n):
            assert order(pid, grid_m, grid_n) == swizzle(pid, grid_m, grid_n, group)


def test_tiles_outside_are_counted_and_not_drawn():
    """Kills: a learner's wrong order that is drawn over the words below."""
    full = {"full groups": lambda pid, grid_m, grid_n: (pid // 24 * 3 + pid % 3, pid % 24 // 3)}
    drawing = orders.draw_tile_order(full, grid_m=8, grid_n=8, running=16)
    drawn = [box for box in shapes(drawing, "rect") if box.get("width") == "22"]
    assert len(drawn) == 64 - 5 and "5 tiles lie outside C" in drawing.text


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
