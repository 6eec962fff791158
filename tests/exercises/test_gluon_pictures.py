"""The drawings of page 64 say in words what they show."""

import xml.etree.ElementTree as ElementTree

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
