"""Stores that nobody waits for: found where a GPU compiles to no barrier, and nowhere else."""

from __future__ import annotations

import pytest
import torch

from tritonbook.seeing.barriers import without_barrier
from tritonbook.seeing.meter import meter

from . import kernels as k


def said(call, *arguments, **options):
    with meter() as seen:
        call(*arguments, **options)
    found = without_barrier(seen)
    assert all(code == "no-barrier" for code, _ in found)
    return found[0][1] if found else ""


@pytest.mark.parametrize("how", ["mirrored", "the first", "other shape", "updated"])
def test_what_another_lane_stored_is_read_after_a_barrier(how):
    """Kills: trusting values, which the interpreter gets right: on an H100 such a read was wrong in
    9,987 of 10,000 rows."""
    sentence = said(k.passed_on, 256, how)
    assert "Program 0 of `passed_on_kernel`" in sentence and "of `scratch` at `" in sentence
    assert "stored at `tl.store(scratch_ptr + offs, x)`" in sentence
    assert said(k.passed_on, 256, how, "barrier") == ""


@pytest.mark.parametrize("how", ["same lane", "same lane, half of them"])
def test_a_lane_reads_back_what_it_stored_itself(how):
    """Kills: refusing a scratch tile that each thread reads back at its own place."""
    assert said(k.passed_on, 256, how) == ""


@pytest.mark.parametrize(
    ("n", "m", "how"),
    [
        (1, 64, "tile"),
        (1, 64, "sum"),
        (1, 64, "address"),
        (1, 64, "mask"),
        (1, 64, "load"),
        (1, 64, "added"),
        (1, 64, "product"),
        (32, 64, "own sum"),
        (64, 8, "rows"),
        (64, 8, "sums of rows"),
    ],
)
def test_copies_of_what_one_thread_stored_are_read_after_a_barrier(n, m, how):
    """Kills: a number that one thread stores and all read (PTX: `st` for thread 0, `ld` for all);
    a tile of fewer elements than threads, which the compiler loads where its rows are needed
    (TTGIR: stored in a layout of one axis, loaded in a slice of one of two)."""
    sentence = said(k.handed_round, n, m, how)
    assert (
        "Program 0 of `handed_round_kernel` reads [0] of `s` at `y = tl.load(number)`" in sentence
    )
    assert "with several warps, and one of them has stored it at `tl.store(number, tl" in sentence
    assert said(k.handed_round, n, m, how, "barrier") == ""
    assert said(k.handed_round, n, m, how, warps=1) == ""


@pytest.mark.parametrize(
    ("n", "m", "how"),
    [
        (1, 1, "number"),
        (1, 32, "tile"),
        (1, 64, "counted up"),
        (32, 64, "same shape"),
        (64, 64, "same shape"),
        (64, 64, "own sum"),
        (32, 1, "own sum, stored"),
        (64, 64, "turned"),
        (128, 8, "rows"),
        (128, 8, "sums of rows"),
    ],
)
def test_copies_that_nobody_needs_do_no_harm(n, m, how):
    """Kills: refusing what the storing thread alone reads back for what it stores next; what one
    warp does; a sum over several warps, which takes each element once; a tile of an element a
    thread."""
    assert said(k.handed_round, n, m, how) == ""


def test_a_sum_goes_on_in_memory_number_by_number():
    """Kills: refusing a loop of one thread, though others run it too and read too early."""
    with meter() as seen:
        k.running_sum_kernel[(1,)](torch.ones(50), torch.zeros(50), 50)
    assert without_barrier(seen) == []


def test_copies_of_what_is_stored_over_are_read_before_a_barrier():
    """Kills: a number that all warps read, and one thread stores over before the last has read."""
    sentence = said(k.handed_round, 1, 64, "stored over")
    assert "stores to [0] of `s` at `tl.store(number, y + 1)`, which all of its warps" in sentence
    assert said(k.handed_round, 1, 64, "stored over", "barrier") == ""
    assert said(k.handed_round, 1, 32, "stored over") == ""


@pytest.mark.parametrize(
    ("n", "between", "counts"),
    [
        (256, "sum", True),
        (256, "scan", True),
        (256, "counter", True),
        (32, "sum", False),
        (32, "scan", False),
        (32, "counter", True),
    ],
)
def test_what_counts_as_a_barrier(n, between, counts):
    """Kills: refusing what a reduction over several warps orders (PTX for sm_80: bar.sync), and
    trusting one that stays in a warp (PTX: none)."""
    assert (said(k.passed_on, n, "mirrored", between) == "") == counts


def test_a_single_warp_loads_after_it_has_stored():
    assert said(k.passed_on, 256, "mirrored", warps=1) == ""


def test_a_number_that_all_warps_read_is_stored_over_after_a_barrier():
    """Kills: the first half of a walk in place that still looks at a number of the row: the warp
    whose tile covers it may be ahead of the one that needs it."""
    sentence = said(k.picked_and_replaced, 256, 130, 64)
    assert "Program 0 of `picked_and_replaced_kernel` stores to [130] of `x`" in sentence
    assert "read at `picked = tl.load(x_ptr + place)`" in sentence
    for between in ("barrier", "sum", "its tile"):
        assert said(k.picked_and_replaced, 256, 130, 64, between) == ""


def test_what_a_single_warp_reads_it_may_store_over():
    """Kills: refusing a tile that one warp stores, whose threads have loaded by then."""
    assert said(k.picked_and_replaced, 256, 130, 64, warps=1) == ""
    assert said(k.picked_and_replaced, 32, 7, 32) == ""


@pytest.mark.parametrize("how", ["other lanes", "one number"])
def test_what_another_lane_stored_is_stored_over_after_a_barrier(how):
    """Kills: zeros, then numbers in some of their places: the zeros may come last."""
    sentence = said(k.stored_twice, 256, how)
    assert "Program 0 of `stored_twice_kernel` stores at `tl.store(out_ptr + " in sentence
    assert "another value at `tl.store(out_ptr + offs, tl.zeros((N,), tl.float32))`" in sentence
    assert (
        said(k.stored_twice, 256, how, "barrier") == said(k.stored_twice, 256, how, warps=1) == ""
    )
    for harmless in ("the same values", "same lanes", "no lane, then the same values"):
        assert said(k.stored_twice, 256, harmless) == ""


def test_lanes_of_one_store_have_a_place_each_or_agree():
    """Kills: the last lane's value, which the interpreter keeps and a GPU need not."""
    with meter() as seen:
        k.stored_twice(256, "pairs of lanes", warps=1)
    ((code, sentence),) = without_barrier(seen)
    assert code == "race" and "at `tl.store(out_ptr + N + offs // 2, offs + 1.0)`" in sentence
    for harmless in ("pairs of lanes that agree", "pairs, one of them masked"):
        assert said(k.stored_twice, 256, harmless) == ""


def test_lanes_that_get_what_they_store_from_the_lanes_that_loaded_it():
    """Kills: refusing a tile in place that another tile's lanes store: a reshape, a transposition,
    pairs that are joined. The values pass through shared memory, after all loads."""
    assert said(k.reshaped_in_place, 256) == ""


def test_a_counter_tells_of_what_all_lanes_have_stored():
    """Kills: an atomic operation taken for a barrier before it (PTX: none), and a refusal of one
    number, which the thread that counts stores itself."""
    sentence = said(k.told, 64)
    assert "Program 0 of `told_kernel` stores [0] of `parts`" in sentence
    assert "tells the others at `if tl.atomic_add(ready_ptr, 1)" in sentence
    assert "program 2 reads it at `" in sentence
    for between in ("barrier", "one number", "another counter"):
        assert said(k.told, 64, between) == ""


def test_a_lock_is_given_back_after_all_lanes_have_stored():
    assert "`tl.atomic_xchg(lock_ptr, 0)`" in said(k.locked, 64, wait=False)
    assert said(k.locked, 64, wait=True) == ""
