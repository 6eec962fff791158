"""Pictures of the Gluon notebooks: who gets how much work."""

import xml.etree.ElementTree as ElementTree

from tritonbook.seeing.pictures_gluon import draw_shares, shares


def forwards(turn, pid, programs):
    return turn * programs + pid


def every_second_backwards(turn, pid, programs):
    return turn * programs + (programs - 1 - pid if turn % 2 else pid)


def test_work_is_tiles_of_keys_and_the_first_tile_of_a_head_is_the_longest():
    # two heads of 4 tiles with 4, 3, 2 and 1 tiles of keys
    assert shares(forwards, 4, 2, 4) == [8, 6, 4, 2]
    assert shares(every_second_backwards, 4, 2, 4) == [5, 5, 5, 5]


def test_a_last_turn_may_be_short():
    """Kills: counting a tile that does not exist."""
    assert shares(forwards, 4, 1, 3) == [5, 3, 2]
    assert sum(shares(every_second_backwards, 4, 1, 3)) == 10


def test_the_words_say_what_the_bars_show():
    drawn = draw_shares({"a": forwards, "b": every_second_backwards}, 4, 2, 4)
    assert "a: longest 8, mean 5; b: longest 5, mean 5" in repr(drawn)
    assert ElementTree.fromstring(drawn.svg) is not None
