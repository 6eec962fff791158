"""The drawings of pages 64 and 65 say in words what they show."""

import itertools
import xml.etree.ElementTree as ElementTree

import pytest

from tritonbook.course.cases import pictures

draw = pictures("gluon_matmul")


def test_a_ring_shows_slot_and_phase_of_each_load():
    drawn = draw.draw_ring(loads=5, slots=2)
    assert "0 in slot 0, phase 0; 1 in slot 1, phase 0; 2 in slot 0, phase 1" in repr(drawn)
    assert "4 in slot 0, phase 0" in repr(drawn)
    assert ElementTree.fromstring(drawn.svg) is not None


def test_jobs_save_the_loads_and_stores_between_tiles():
    drawn = draw.draw_jobs(tiles=3)
    assert "one after another: 42 ticks" in repr(drawn) and "go on: 30 ticks" in repr(drawn)
    assert ElementTree.fromstring(drawn.svg) is not None


groups = pictures("gluon_attention")


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
    assert ElementTree.fromstring(drawn.svg) is not None
