"""Traffic counts what it claims; pictures are well-formed, small, and told in words too."""

from __future__ import annotations

import time

import pytest
import torch

from tritonbook import show_tiles, traffic
from tritonbook.seeing.tile_picture import size_text as _text
from tritonbook.seeing.tiles import CannotShow

from . import kernels as k
from .test_pictures import texts


def test_matmul_with_larger_tiles_reads_less():
    a, b = torch.ones(64, 64), torch.ones(64, 64)
    small, large = traffic(k.matmul, a, b, block=16), traffic(k.matmul, a, b, block=32)
    assert (small.read, large.read) == (131072, 65536)
    assert small.flops == large.flops == 2 * 64**3
    assert large.intensity == pytest.approx(2 * 64**3 / (65536 + 16384))


def test_inputs_stay_as_they_are():
    x = torch.arange(32.0)
    traffic(k.reverse_in_place, x)
    assert torch.equal(x, torch.arange(32.0))


def test_picture_of_a_good_kernel():
    picture = show_tiles(k.add, torch.ones(10), torch.ones(10), block=4)
    found = texts(picture)
    assert "program 0" in found and "2 of 12 lanes masked" in found
    assert "x (10), loads: program 0 0 to 3, program 1 4 to 7, program 2 8 to 9" in picture.text
    assert "url(#tb-masked)" in picture.svg and "✗" not in picture.svg


def test_stray_lanes_and_shared_stores_are_marked():
    # Kills: pictures that draw only what went well.
    stray = texts(show_tiles(k.unmasked, torch.ones(10), load=True, block=4))
    assert "✗" in stray and "✗ 2 lanes outside" in stray
    assert any(text.startswith("! Program 2 of unmasked_kernel reads outside x") for text in stray)
    shared = texts(show_tiles(k.total, torch.ones(200), atomic=False))
    assert "!4" in shared and "! 1 shared store" in shared
    added = texts(show_tiles(k.total, torch.ones(200)))
    assert "+4" in added and "!4" not in added


def test_stray_store_between_padded_rows_is_drawn_at_the_rows_end():
    x = torch.ones(4, 10)[:, :6]
    picture = show_tiles(k.norm, x, torch.ones(6))
    assert "row 3" in picture.svg and "8 of 32 lanes masked" in picture.svg


def test_large_pictures_are_cut_quickly_and_say_so():
    start = time.process_time()
    picture = show_tiles(k.norm, torch.randn(64, 512), torch.randn(512))
    assert time.process_time() - start < 4
    assert len(picture.svg) < 60_000
    assert texts(picture)
    assert "more rows, not drawn" in picture.svg
    many = show_tiles(k.add, torch.ones(5000), torch.ones(5000), block=16)
    assert "4,936 more elements, not drawn" in many.svg and len(many.svg) < 60_000


def test_a_chosen_tensor():
    picture = show_tiles(k.add, torch.ones(8), torch.ones(8), tensors=["out"], block=4)
    assert "out (8), stores" in picture.text and "loads" not in picture.text


def test_what_cannot_be_shown_is_said():
    with pytest.raises(CannotShow, match="no kernel was launched. Is the gap above still open"):
        show_tiles(torch.add, torch.ones(3), torch.ones(3))

    def open_gap(x):
        raise NotImplementedError("TODO: fill in open_gap")

    with pytest.raises(CannotShow, match="gap is still open"):
        traffic(open_gap, torch.ones(3))
    with pytest.raises(CannotShow, match="ValueError: no"):
        traffic(lambda x: (_ for _ in ()).throw(ValueError("no")), torch.ones(3))


def test_other_process_gives_the_same(monkeypatch):
    # What a GPU session does: the interpreter runs in a process of its own.
    x, y = torch.arange(10.0), torch.ones(10)
    here = traffic(k.add, x, y, block=4)
    picture = show_tiles(k.add, x, y, block=4)
    monkeypatch.setattr("tritonbook.port.device.INTERPRET", False)
    try:
        assert traffic(k.add, x, y, block=4) == here
        assert show_tiles(k.add, x, y, block=4).svg == picture.svg
        with pytest.raises(CannotShow, match="no kernel"):
            traffic(_text, 3)
    finally:
        from tritonbook.seeing.process import worker

        worker(interpret=True).stop()


def test_table_in_text_and_html():
    found = traffic(k.norm, torch.ones(4, 300), torch.ones(300))
    assert "9.6 kB" in str(found) and "4×" in str(found)
    assert "4 programs in 1 launch, 2,544 masked lanes" in str(found)
    assert "<table" in found._repr_html_()
