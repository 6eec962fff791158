"""Ranks without GPUs: right kernels pass in every order; each planted fault is named."""

import threading
import time
from pathlib import Path

import pytest
import torch

from tritonbook.limits import CheckTimeout, time_limit
from tritonbook.port.device import INTERPRET
from tritonbook.port.source_file import module_of
from tritonbook.simulating import Fault, watch_flags, watch_foreign, watch_loads
from tritonbook.simulating.ranks import World, run_on_ranks

from . import rank_kernels as kernels
from .chinese import in_chinese, is_chinese

pytestmark = pytest.mark.skipif(not INTERPRET, reason="ranks are simulated in the interpreter")
GOOD = Path(kernels.__file__).read_text()


def run(fn, count, orders, size=24):
    """The largest error of two calls, one after the other."""
    x = torch.randn(count, size, generator=torch.Generator().manual_seed(0))
    found = run_on_ranks(kernels.twice(fn), World(count), [x], orders)
    total = x.sum(0)
    return max(
        float((got - times * total).abs().max())
        for both in found
        for got, times in zip(both, (1, count), strict=True)
    )


@pytest.mark.parametrize("count", [2, 4, 8])
def test_right_kernels_pass_in_every_order(request, count):
    orders = range(1000 if request.config.getoption("--thorough") else 96 // count**2 + 4)
    assert run(kernels.all_reduce, count, orders) < 1e-4
    assert run(kernels.reduce_between_barriers, count, orders[:100]) < 1e-4


# What is planted, the kinds of fault that it may be called and what the sentence says; the lines or
# parts of lines that go, and those that come.
FAULTS = """\
nobody says that the parts are there => early-read: has waited for no flag
-     meet(flag_table, rank, 0, RANKS)
nobody says that the parts were read => overwritten|early-read: may not have read yet
-     meet(flag_table, rank, 1, RANKS)
the flags are raised before the parts are there => early-read: was raised
-     tl.store(mine + offs, x, mask=mask)
-     meet(flag_table, rank, 0, RANKS)
+     meet(flag_table, rank, 0, RANKS)
+     tl.store(mine + offs, x, mask=mask)
the parts are read before the flags => early-read: has waited for no flag
-     meet(flag_table, rank, 0, RANKS)
-     acc = tl.zeros([BLOCK], tl.float32)
-     for other in tl.static_range(RANKS):
-         theirs = tl.load(part_table + other).to(out_ptr.dtype)
-         acc += tl.load(theirs + offs, mask=mask, other=0.0)
+     acc = tl.zeros([BLOCK], tl.float32)
+     for other in tl.static_range(RANKS):
+         theirs = tl.load(part_table + other).to(out_ptr.dtype)
+         acc += tl.load(theirs + offs, mask=mask, other=0.0)
+     meet(flag_table, rank, 0, RANKS)
a flag is not put back => early-read|overwritten: nobody has put it back
- mine + first + other, 1, 0, sem
+ mine + first + other, 1, 1, sem
one set of flags for both meetings => deadlock|early-read|overwritten: `flags[
- tl.program_id(0) * 2 + turn) * RANKS
+ tl.program_id(0) * 2) * RANKS
all programs share the flags of the first => deadlock|early-read|overwritten: `flags[0
- tl.program_id(0) * 2 + turn) * RANKS
+ turn * RANKS)
a flag is raised at home => deadlock: nobody has changed it
-         theirs = tl.load(flag_table + other).to(tl.pointer_type(tl.int32))
+         theirs = tl.load(flag_table + rank).to(tl.pointer_type(tl.int32))
a flag of the wrong place is raised => deadlock: in `flags[0, 0
- theirs + first + rank, 1
+ theirs + first + other, 1
flags are waited for in another's memory => deadlock|early-read|overwritten: `flags[
-     mine = tl.load(flag_table + rank).to(tl.pointer_type(tl.int32))
+     mine = tl.load(flag_table).to(tl.pointer_type(tl.int32))
the own part alone is waited for => early-read: has waited for no flag that rank
-     for other in tl.static_range(RANKS):
-         while tl.atomic_cas(mine + first + other, 1, 0
+     for other in tl.static_range(1):
+         while tl.atomic_cas(mine + first + rank, 1, 0
the flag takes nothing along => early-read: which takes nothing along
- 1, sem="release", scope="sys"
+ 1, sem="relaxed", scope="sys"
the wait shows nothing => early-read: which shows nothing of what came before
- 0, sem="acquire", scope="sys"
+ 0, sem="relaxed", scope="sys"
the flag ends at the GPU's own memory => early-read: raised with scope="gpu"
- 1, sem="release", scope="sys"
+ 1, sem="release"
the wait ends at the GPU's own memory => early-read: with scope="gpu"
- 0, sem="acquire", scope="sys"
+ 0, sem="acquire"
a store raises the flag => early-read: was raised by `tl.store`
- tl.atomic_xchg(theirs + first + rank, 1, sem="release", scope="sys")
+ tl.store(theirs + first + rank, 1)
a load waits => early-read: by `tl.load`, which orders nothing
- tl.atomic_cas(mine + first + other, 1, 0, sem="acquire", scope="sys") != 1
+ tl.load(mine + first + other) != 1
lanes have not stored when one raises the flag => no-barrier: tl.debug_barrier()
-     tl.debug_barrier()
all parts go to rank 0 => two-writers: of rank 0, and so does program
-     mine = tl.load(part_table + rank).to(out_ptr.dtype)
+     mine = tl.load(part_table).to(out_ptr.dtype)
nobody fills a part => early-read: no kernel has stored anything there
-     tl.store(mine + offs, x, mask=mask)
the table is longer than it is => reads-outside: past the end of `part_table`
- tl.load(part_table + other)
+ tl.load(part_table + other + 1)
the last tile reaches too far => reads-outside: `x = tl.load(x_ptr + offs, mask=mask)`
- offs < N
+ offs < N + 8
another rank's input is taken => reads-outside: which is no symmetric memory
- x = tl.load(x_ptr + offs, mask=mask)
+ x = tl.load(x_ptr + N - 2 * N * rank + offs, mask=mask)
ranks ask for other shapes => size: alike on all ranks
- rank.symmetric("parts", N, x.dtype)
+ rank.symmetric("parts", N + rank.number, x.dtype)
one rank alone asks for memory => size: and rank 0 does not
- rank.symmetric("parts", N, x.dtype)
+ rank.symmetric(f"parts {rank.number}", N, x.dtype)
"""


def planted(table: str) -> list:
    """The parameters of a test: old text, new text, kinds, sentence."""
    found = []
    for line in table.splitlines():
        if line[:2] in ("- ", "+ "):
            found[-1]["-+".index(line[0])].append(line[2:])
        else:
            name, _, said = line.partition(" => ")
            found.append(([], [], *said.split(":", 1), name))
    return [
        pytest.param("\n".join(old), "\n".join(new), kinds, said.strip(), id=name)
        for old, new, kinds, said, name in found
    ]


def broken(old: str, new: str):
    assert GOOD.count(old) >= 1, old
    return module_of(GOOD.replace(old, new), "broken_ranks.py", "broken_ranks", {})


@pytest.mark.parametrize(("old", "new", "kinds", "said"), planted(FAULTS))
def test_a_planted_fault_is_named(old: str, new: str, kinds: str, said: str):
    """One of the kinds, the sentence, and a line; in few orders; and in Chinese, all of it."""
    with pytest.raises(Fault) as caught:
        run(broken(old, new).all_reduce, 2, range(6))
    fault = caught.value
    assert fault.kind in kinds.split("|") and said in str(fault), fault
    assert "`" in str(fault) or fault.kind == "size"
    assert is_chinese(fault), in_chinese(fault)


def test_programs_that_wait_for_one_that_has_no_room():
    """Kills: a program that waits for the last one, on a GPU that runs fewer at once."""
    bad = broken(
        "    mine = tl.load(flag_table",
        "    first += 2 * RANKS * (1 - tl.program_id(0))\n    mine = tl.load(flag_table",
    )
    with pytest.raises(Fault, match="Rank 0 has 1 program more, without room") as caught:
        run(bad.all_reduce, 2, [1])
    assert caught.value.kind == "deadlock" and is_chinese(caught.value)


def test_a_barrier_that_one_rank_leaves_out():
    """Kills: ranks that wait for ever for one that does not come."""

    def fn(rank, x):
        kernels.put_kernel[(1,)](x, rank.symmetric("parts", 8, x.dtype)[0], 8, BLOCK=8)
        if rank.number:
            rank.barrier()

    with pytest.raises(Fault) as caught:
        run_on_ranks(fn, World(2), [torch.zeros(2, 8)], range(2))
    assert "Waiting: rank 1 at" in str(caught.value)
    assert "for all ranks at its rank.barrier() number 1" in str(caught.value)
    assert is_chinese(caught.value), in_chinese(caught.value)


def test_each_load_is_noted_for_its_rank():
    """Kills: a rank that reads what is another's share, and nobody sees it."""
    x = torch.ones(2, 8)
    with watch_loads() as loads:
        run_on_ranks(kernels.all_reduce, World(2), [x], [0])
    assert {rank for rank, addresses in loads if x[1].data_ptr() in addresses} == {1}


def test_what_is_loaded_from_others_is_noted_once():
    """Kills: one shot where two are asked for; a rank's own part, and later calls, counted too."""
    world = World(3)
    with watch_foreign() as foreign:
        for _ in range(2):
            run_on_ranks(kernels.all_reduce, world, [torch.ones(3, 24)], [0])
    assert {rank: len(loaded) for rank, loaded in foreign.items()} == {0: 48, 1: 48, 2: 48}


def test_each_flag_is_noted_with_who_has_raised_it():
    """Kills: programs that wait for what they do themselves, and nobody sees it."""
    with watch_flags() as flags:
        run_on_ranks(kernels.all_reduce, World(2), [torch.ones(2, 24)], [0])
    names = {(me.name, by.name) for me, by in flags}
    assert ("program 1 of rank 0", "program 1 of rank 1") in names and len(names) == 8


def test_memory_stays_from_call_to_call_and_orders_begin_alike():
    """Kills: an order that finds the flags of the order before; memory that a call finds new."""
    world, x = World(2), torch.ones(2, 24)
    for _ in range(2):
        for got in run_on_ranks(kernels.all_reduce, world, [x], range(3)):
            assert bool((got == 2).all())
    assert all(not part.tensor.any() for part in world.parts["flags"])
    assert all(bool((part.tensor == 1).all()) for part in world.parts["parts"])


def test_the_same_order_is_the_same_again():
    """Kills: a fault that comes and goes, with the threads' luck."""
    bad = broken("    meet(flag_table, rank, 1, RANKS)\n", "")
    told = []
    for _ in range(2):
        with pytest.raises(Fault) as caught:
            run(bad.all_reduce, 4, range(6))
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_a_kernel_that_spins_is_stopped_and_leaves_no_thread():
    """Kills: a check that hangs; threads that go on below the next check."""
    spins = broken("            pass\n", "            pass\n    while True:\n        rank += 0\n")
    before, began = threading.active_count(), time.monotonic()
    with pytest.raises(CheckTimeout), time_limit(2.0):
        run(spins.all_reduce, 2, range(1))
    assert time.monotonic() - began < 20
    end = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() == before
