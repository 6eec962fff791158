"""Pictures of the attention notebooks. Kills: a causal diagonal that is off by one tile."""

import pytest

from tritonbook import pictures
from tritonbook.seeing.pictures_attention import draw_rotation, draw_tile_walk, tile_states
from tritonbook.seeing.svg import FILLS

from .test_pictures import texts

WALK, GROUP = pictures("41_flash_attention"), pictures("42_flash_gqa")


def test_the_diagonal_tile_is_masked_and_what_lies_above_it_is_skipped():
    assert tile_states(48, 48, 16, 16) == [
        ["masked", "skipped", "skipped"],
        ["full", "masked", "skipped"],
        ["full", "full", "masked"],
    ]


def test_the_last_query_sees_the_last_key():
    assert tile_states(16, 48, 16, 16) == [["full", "full", "masked"]]
    assert tile_states(48, 16, 16, 16) == [["skipped"], ["skipped"], ["masked"]]


def test_a_window_has_a_left_edge():
    """Kills: full tiles that the last query no longer sees, tiles before the window."""
    assert tile_states(64, 64, 16, 16, window=20)[3] == ["skipped", "masked", "masked", "masked"]
    assert tile_states(64, 64, 16, 16, window=32)[3] == ["skipped", "masked", "full", "masked"]
    assert tile_states(64, 64, 16, 16, window=64) == tile_states(64, 64, 16, 16)


@pytest.mark.parametrize(
    "drawing",
    [
        draw_rotation(6, (0.5, 0.12)),
        draw_tile_walk(80, 80, 16, 16),
        draw_tile_walk(80, 80, 16, 16, window=30),
        pictures("46_window_sinks").draw_sink([1.0, 0.0], 1.5),
        WALK.draw_running_max([0.5, -1.0, 2.5, 0.3], 2),
        WALK.draw_one_step(5, 2),
        GROUP.draw_group_tile(4, 12, 8, 3),
    ],
)
def test_every_picture_is_xml_with_words(drawing):
    assert texts(drawing)


def test_the_running_sum_ends_at_the_softmax_denominator():
    # exp(0 - 1) + exp(1 - 1) = 1.37
    assert "l 1.37" in repr(WALK.draw_running_max([0.0, 1.0], 1))


def test_heads_of_a_position_see_the_same_keys():
    """Kills: a staircase that goes by rows, an offset that is forgotten."""
    seen = GROUP.draw_group_tile(4, 12, 8, 3).svg.count(FILLS[2])
    assert seen == 4 * (4 + 5 + 6) + 3 + 1  # cells, and head 2 of each position, and the legend
