"""Right kernels pass in every order; each planted fault is named, with its place."""

import re
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from tritonbook.course.exercises import get, load
from tritonbook.kernels.gluon import (
    async_copy,
    describe,
    fence_async_shared,
    gl,
    gluon,
    mbarrier,
    tma,
    triton_has_gluon,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from tritonbook.port.source_file import module_of
from tritonbook.simulating import (
    Fault,
    hear_of_products,
    simulate,
    watch_overlaps,
    watch_products,
)

if not triton_has_gluon():
    pytest.skip("this Triton has no Gluon of the course's form", allow_module_level=True)

from . import kernels
from .chinese import in_chinese, is_chinese

GOOD, NAN = Path(kernels.__file__).read_text(), float("nan")


@pytest.fixture
def orders(request):
    """How many orders a right kernel has to pass."""
    return range(1000 if request.config.getoption("--thorough") else 60)


@pytest.mark.parametrize(("steps", "slots"), [(7, 3), (1, 3), (6, 2), (2, 4)])
def test_right_kernels_pass_in_every_order(orders, steps: int, slots: int):
    assert kernels.run_jobs(kernels.jobs_kernel, orders, steps, slots) < 1e-4
    assert kernels.run_pipeline(kernels.pipeline_kernel, orders, steps, slots) < 1e-4


def test_the_products_of_page_64_pass_in_every_order(orders):
    """One tile a program, then warps with jobs, then two groups; ragged edges."""
    page, of = load(get("64_gluon_matmul")), kernels.described
    torch.manual_seed(0)
    a, b = torch.randn(90, 100).half(), torch.randn(100, 72).half()
    c, few = torch.empty(90, 72, dtype=torch.half), orders[::20]
    for kernel, programs, rows in (
        (page.matmul_ring_kernel, 9, 32),
        (page.matmul_jobs_kernel, 2, 32),
        (page.matmul_groups_kernel, 2, 16),
    ):
        matrices = of(a, 32, 16), of(b, 16, 24), of(c.zero_(), rows, 24)
        simulate(kernel, programs, *matrices, 3, 3, 7, SLOTS=3, orders=few)
        torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("causal", [True, False])
def test_the_attention_of_page_65_passes_in_every_order(orders, causal: bool):
    page = load(get("65_gluon_attention"))
    torch.manual_seed(0)
    L, D = 600, 16
    q, k, v = (torch.randn(1, heads, L, D).half() for heads in (2, 1, 1))
    tiles = (q, 64), (k, 128), (v, 128), (torch.empty_like(q), 64)
    given = [kernels.described(x, 1, 1, rows, D) for x, rows in tiles]
    sizes = {"L": L, "scale": D**-0.5 * 1.4426950408889634, "SLOTS": 2, "IS_CAUSAL": causal}
    for kernel in (page.flash_ahead_kernel, page.flash_gluon_kernel):
        simulate(kernel, (5, 2), *given, 2, **sizes, orders=orders[::20])
        wanted = page.attention_ref(q.float(), k.float(), v.float(), causal)
        torch.testing.assert_close(given[3].base.float(), wanted, rtol=1e-2, atol=1e-2)


# What is planted, the kinds of fault that it may be called and what the sentence says; the lines or
# parts of lines that go, and those that come. More stand in wrong.py of pages 63 to 65.
JOBS = """\
a slot is not waited for => overwritten|too-many-arrivals: was the slot waited for
-         mbarrier.wait(empty.index(slot), phase ^ 1)
an old phase is waited for => early-read|unwritten: On a new barrier phase 1 counts as ended
- full.index(slot), phase)
+ full.index(slot), phase ^ 1)
a tile is not waited for => early-read|unwritten: has waited at no barrier
-         mbarrier.wait(full.index(slot), phase)
the phase never changes => deadlock|phase-twice|early-read|overwritten: [0]
- number % SLOTS, number // SLOTS % 2
+ number % SLOTS, 0
a slot is given back before its product has read it => overwritten: and had not waited
-         acc = warpgroup_mma_wait(0, deps=[acc])
-         mbarrier.arrive(empty.index(slot), count=1)
+         mbarrier.arrive(empty.index(slot), count=1)
+         acc = warpgroup_mma_wait(0, deps=[acc])
a slot is never given back => deadlock: lacks 2 of 2 arrivals: nobody has arrived
-         mbarrier.arrive(empty.index(slot), count=1)
one group gives a slot back => deadlock: lacks 1 of 2 arrivals
-         mbarrier.arrive(empty.index(slot), count=1)
+         if GROUP == 0:
+             mbarrier.arrive(empty.index(slot), count=1)
one group gives a slot back for both => overwritten|early-read: arrived multiply 1 × 2
- arrive(empty.index(slot), count=1)
+ arrive(empty.index(slot), count=2)
more arrivals at once than a phase has => too-many-arrivals: counts 3: its phase lacks 2 of 2
- arrive(empty.index(slot), count=1)
+ arrive(empty.index(slot), count=3)
groups arrive where tiles do => deadlock: `mbarrier.arrive(full.index(slot), count=1)` in `multiply`
- arrive(empty.index(slot)
+ arrive(full.index(slot)
a tile goes to the whole ring => size: the descriptor's tile is [16, 16], the memory [3, 16, 16]
- full.index(slot), a_tiles.index(slot)
+ full.index(slot), a_tiles
a group multiplies the rows of both => size: the shapes [[16, 16], [16, 16], [8, 16]]
- a_tiles.index(slot).slice(GROUP * 8, 8)
+ a_tiles.index(slot)
a number says whether somebody arrives => pred: not the number 0
- arrive(empty.index(slot), count=1)
+ arrive(empty.index(slot), count=1, pred=number)
more bytes are expected than come => deadlock: bytes
- mbarrier.expect(full.index(slot), a_desc.block_type.nbytes + b_desc.block_type.nbytes)
+ mbarrier.expect(full.index(slot), 4 * a_desc.block_type.nbytes)
the ring has no slot of that number => outside: takes number 3
- slot, phase = number % SLOTS,
+ slot, phase = number,
a barrier without a count => not-initialised: full[0]
-         mbarrier.init(full.index(slot), count=1)
the copy engine does not see the result => no-fence: c_tiles[
-         fence_async_shared()
the next result overwrites one that is being stored => overwritten: overwrites c_tiles[
-         tma.store_wait(0)
-         c_tile
+         c_tile
the program ends before its store => unfinished: the copy of `tma.async_copy_shared_to_global
-     tma.store_wait(0)
-
-
+
+
"""
PIPELINE = """\
one group too few is waited for => early-read: a_tiles[0]
- async_copy.wait_group(SLOTS - 2)
+ async_copy.wait_group(SLOTS - 1)
addresses beyond the matrix => outside: address outside its tensor
- , mask=b_there
"""


def planted(which: str, table: str) -> list:
    """The parameters of a test: which kernel, old text, new text, kinds, sentence."""
    found = []
    for line in table.splitlines():
        mark, text = line[:1], line[2:]
        if mark in "-+":
            found[-1]["-+".index(mark)].append(text)
        else:
            name, _, said = line.partition(" => ")
            found.append(([], [], *said.split(":", 1), name))
    return [
        pytest.param(which, "\n".join(old), "\n".join(new), kinds, said.strip(), id=name)
        for old, new, kinds, said, name in found
    ]


@pytest.mark.parametrize(
    ("which", "old", "new", "kinds", "said"),
    [*planted("jobs", JOBS), *planted("pipeline", PIPELINE)],
)
def test_a_planted_fault_is_named(which: str, old: str, new: str, kinds: str, said: str):
    """One of the kinds, and the sentence; and in Chinese, all of it."""
    assert GOOD.count(old) >= 1, old
    module = module_of(GOOD.replace(old, new), "broken.py", "broken", {})
    run, kernel = getattr(kernels, f"run_{which}"), getattr(module, f"{which}_kernel")
    with pytest.raises(Fault) as caught:
        run(kernel, range(20))
    assert caught.value.kind in kinds.split("|") and said in str(caught.value), caught.value
    assert is_chinese(caught.value), in_chinese(caught.value)
    assert "`" in str(caught.value)


def test_a_notebook_shows_one_line_of_a_fault():
    """Kills: forty lines of the simulator's own below a kernel that was called by hand."""
    assert Fault("deadlock", "everybody waits")._render_traceback_() == ["Fault: everybody waits"]


@gluon.jit
def new_ring(slots: gl.constexpr):
    full = gl.allocate_shared_memory(gl.int64, [slots, 1], mbarrier.MBarrierLayout())
    return full


@gluon.jit
def waits_in_a_ring_kernel():
    k_ring = new_ring(2)
    mbarrier.init(k_ring.index(1), count=1)
    mbarrier.wait(k_ring.index(1), 0)


LAYOUT = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 16, 16])


@gluon.jit
def zeros_in_memory(rows: gl.constexpr):
    tile = gl.allocate_shared_memory(gl.float16, [rows, 16], LAYOUT)
    tile.store(gl.zeros([rows, 16], gl.float16, LAYOUT))
    fence_async_shared()
    return tile


@gluon.jit
def two_products_kernel(KEPT: gl.constexpr):
    tile = zeros_in_memory(16)
    p, acc = gl.zeros([64, 16], gl.float16, LAYOUT), gl.zeros([64, 16], gl.float32, LAYOUT)
    acc = warpgroup_mma(p, tile, acc, is_async=True)
    acc = warpgroup_mma(p, tile, acc, is_async=True)
    if KEPT:
        acc, p = warpgroup_mma_wait(0, deps=[acc, p])
    else:
        acc = warpgroup_mma_wait(0, deps=[acc])


@gluon.jit
def in_order_kernel(FIRST: gl.constexpr, LEFT: gl.constexpr, NAMED: gl.constexpr):
    tile = zeros_in_memory(16)
    p, acc = gl.zeros([64, 16], gl.float16, LAYOUT), gl.zeros([64, 16], gl.float32, LAYOUT)
    s = gl.zeros([16, 16], gl.float32, LAYOUT)
    if FIRST == "acc":
        acc = warpgroup_mma(p, tile, acc, is_async=True)
    s = warpgroup_mma(tile, tile, s, is_async=True)
    if FIRST == "s":
        acc = warpgroup_mma(p, tile, acc, is_async=True)
    if NAMED:
        s = warpgroup_mma_wait(LEFT, deps=[s])
    else:
        warpgroup_mma_wait(LEFT, deps=[s])
    s = s + 1
    acc, p = warpgroup_mma_wait(0, deps=[acc, p])


@gluon.jit
def waits_kernel(TURN: gl.constexpr):
    baton = gl.allocate_shared_memory(gl.int64, [3, 1], mbarrier.MBarrierLayout())
    for each in gl.static_range(3):
        mbarrier.init(baton.index(each), count=1)
    gl.warp_specialize([(turns, (0, baton, TURN)), (turns, (1, baton, TURN))], [4], [24])


@gluon.jit
def turn(baton, which, phase):
    mbarrier.wait(baton.index(which), phase)


@gluon.jit
def turns(GROUP: gl.constexpr, baton, TURN: gl.constexpr):
    turn(baton, GROUP, 1)
    mbarrier.arrive(baton.index(GROUP), count=1)
    turn(baton, TURN, 0)


def test_who_watches_hears_of_arrivals():
    with watch_overlaps() as seen, pytest.raises(Fault):
        simulate(waits_kernel, 1, TURN=2, orders=[0])
    assert "turns 0 arrives at baton[0], 0 products under way" in seen


def test_who_watches_hears_how_many_products_are_under_way():
    with watch_products() as seen:
        simulate(two_products_kernel, 1, KEPT=True, orders=range(2))
        hear_of_products([["elsewhere", 1]])
    name = "two_products_kernel"
    assert seen == [*2 * [(name, 1), (name, 2), (name, 0)], ("elsewhere", 1)]
    with pytest.raises(ValueError), watch_products():
        hear_of_products([["elsewhere", "1"]])


@gluon.jit
def divides_kernel(x_ptr, n):
    for number in range(1):
        gl.store(x_ptr, (number - 1) % 2)
        gl.store(x_ptr + 1, (number - 3) // 2)
        gl.store(x_ptr + 2, -n % 4)
        gl.store(x_ptr + 3, (number + 7) % n)


def test_whole_numbers_below_zero_are_divided_as_on_a_gpu():
    """Kills: Python's remainder, by which a kernel is right here and hangs on a GPU."""
    found = torch.zeros(4, dtype=torch.int32)
    simulate(divides_kernel, 1, found, 5)
    assert found.tolist() == [-1, -1, -1, 2]


@gluon.jit
def drops_nan_kernel(x_ptr, y_ptr):
    tile: gl.constexpr = gl.BlockedLayout([1], [32], [gl.num_warps()], [0])
    offs = gl.arange(0, 4, tile)
    x = gl.load(x_ptr + offs)
    gl.store(y_ptr + offs, gl.maximum(x, 0.0) + gl.minimum(0.0, x))
    gl.store(y_ptr + 4, gl.max(x, axis=0))
    gl.store(y_ptr + 5, gl.min(x, axis=0))


@pytest.mark.parametrize(
    ("tile", "wanted"),
    [
        ([3.0, NAN, -2.0, 1.0], [3.0, 0.0, -2.0, 1.0, 3.0, -2.0]),
        ([NAN] * 4, [0.0, 0.0, 0.0, 0.0, NAN, NAN]),
    ],
)
def test_the_larger_and_the_smaller_drop_a_nan_as_on_a_gpu(tile, wanted):
    """Kills: torch's maximum, which keeps it."""
    found = torch.zeros(6)
    simulate(drops_nan_kernel, 1, torch.tensor(tile), found)
    torch.testing.assert_close(found, torch.tensor(wanted), equal_nan=True)


@gluon.jit
def of_triton_kernel(x_ptr):
    gl.store(x_ptr, tl.maximum(1, 2))


@triton.jit
def of_triton(x_ptr):
    tl.store(x_ptr, 1)


@gluon.jit
def calls_triton_kernel(x_ptr):
    of_triton(x_ptr)


@gluon.jit
def not_indexed_kernel():
    full = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    mbarrier.init(full, count=1)


@gluon.jit
def copies_kernel(desc, SWAPPED: gl.constexpr, SLOTS: gl.constexpr):
    tile = gl.allocate_shared_memory(gl.float16, [64, 64], desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    first = full.index(0)
    mbarrier.init(first, count=1)
    mbarrier.expect(first, desc.block_type.nbytes)
    if SWAPPED:
        tma.async_copy_global_to_shared(desc, [0, 0], tile, first)
    else:
        tma.async_copy_global_to_shared(desc, [0, 0], full, tile)


@gluon.jit
def slice_kernel():
    halves = gl.allocate_shared_memory(gl.float16, [128, 16], LAYOUT)
    halves.slice(64, 128)


X = torch.zeros(1)
DESC = describe(torch.zeros(64, 64, dtype=torch.half), [64, 64])
IN_ORDER = "`s = warpgroup_mma_wait(LEFT, deps=[s])` in `in_order_kernel` lets 2"


@pytest.mark.parametrize(
    ("kernel", "arguments", "kind", "said"),
    [
        # Kills: two rings of one helper that a sentence cannot tell apart.
        (waits_in_a_ring_kernel, (), "deadlock", " for phase 0 of `k_ring.full[1]`"),
        # Kills: registers that get other values while tensor cores read them.
        (two_products_kernel, (False,), "operand", "not among the deps"),
        # Kills: `warpgroup_mma_wait comes first` where there is one, of the wrong products.
        (in_order_kernel, ("acc", 1, True), "operand", "Products finish in their order"),
        (in_order_kernel, ("s", 2, True), "early-use", IN_ORDER),
        (in_order_kernel, ("s", 1, False), "early-use", "for a name in deps: that is the result"),
        (in_order_kernel, ("s", 0, True), "operand", "Is that the product to wait for first"),
        # Kills: a line that is right, said of a call that is wrong; the same wait told twice.
        (waits_kernel, (2,), "deadlock", "nobody can end it. Waiting: turns 0, turns 1 at "),
        (
            waits_kernel,
            (2,),
            "deadlock",
            "by `turn(baton, TURN, 0)` in `turns` for phase 0 of `baton[2]`",
        ),
        (of_triton_kernel, (X,), "not-gluon", "calls `tl.maximum`"),
        (calls_triton_kernel, (X,), "not-gluon", "every function has `@gluon.jit`"),
        (not_indexed_kernel, (), "no-index", "full.index(slot) is one"),
        # Kills: a fault that shows when the copy lands, at a line that is nobody's.
        (copies_kernel, (DESC, True, 2), "arguments", "barrier, tile, in this order"),
        (copies_kernel, (DESC, False, 2), "no-index", "in `copies_kernel`"),
        # Kills: "takes number 191" of a slice whose second number was meant as its end.
        (slice_kernel, (), "outside", "takes 128 from number 64 on"),
    ],
)
def test_a_slip_is_named(kernel, arguments, kind, said):
    with pytest.raises(Fault) as caught:
        simulate(kernel, 1, *arguments)
    assert caught.value.kind == kind and said in str(caught.value)
    assert is_chinese(caught.value), in_chinese(caught.value)


def test_without_the_slip_they_pass():
    simulate(two_products_kernel, 1, KEPT=True)
    simulate(in_order_kernel, 1, FIRST="s", LEFT=1, NAMED=True)


@gluon.jit
def softmax_kernel(BETWEEN: gl.constexpr):
    tile = zeros_in_memory(64)
    acc = gl.zeros([64, 16], gl.float32, LAYOUT)
    acc = warpgroup_mma(tile, tile.slice(0, 16), acc, is_async=True)
    if BETWEEN:
        gl.exp2(gl.zeros([64], gl.float32, LAYOUT))
    acc = warpgroup_mma_wait(0, deps=[acc])
    if not BETWEEN:
        gl.exp2(gl.zeros([64], gl.float32, LAYOUT))


@pytest.mark.parametrize(("between", "counts"), [(True, [1, 1, 0]), (False, [1, 0, 0])])
def test_who_watches_hears_what_is_under_way_while_exponentials_are_computed(between, counts):
    """Kills: a softmax that nothing hides, taken for one that a product hides."""
    with watch_products() as seen:
        simulate(softmax_kernel, 1, between, orders=range(1))
    assert [count for _, count in seen] == counts


@gluon.jit
def copies_kernel(x_ptr, n, HOW: gl.constexpr):
    lanes: gl.constexpr = gl.BlockedLayout([4], [32], [1], [0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    slots = gl.allocate_shared_memory(gl.float32, [3, 128], plain)
    for slot in gl.static_range(3):
        ptrs = x_ptr + slot * 128 + gl.arange(0, 128, lanes)
        async_copy.async_copy_global_to_shared(slots.index(slot), ptrs)
        async_copy.commit_group()
    if HOW == "empty":
        async_copy.commit_group()
    if HOW == "known only then":
        async_copy.wait_group(n)
    if HOW == "tl":
        async_copy.wait_group(tl.cdiv(1, 1))
    if HOW == "triton":
        async_copy.wait_group(triton.cdiv(1, 1))
    async_copy.wait_group(2)
    slots.index(0).load(lanes)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("known only then", "constant: .*wait_group(n).* is a constant"),
        ("tl", "not-gluon: .*calls `tl.cdiv`, which is Triton's. Gluon's is `gl.cdiv`"),
        ("triton", "not-gluon: .*calls `triton.cdiv`, which is Triton's. Gluon's is `gl.cdiv`"),
    ],
)
def test_what_the_compiler_would_refuse_of_a_wait_is_refused(how, said):
    with pytest.raises(Fault) as fault:
        simulate(copies_kernel, 1, torch.ones(384), 2, how, orders=[0])
    kind, _, sentence = said.partition(": ")
    assert fault.value.kind == kind
    assert re.search(sentence.replace("(", r"\(").replace(")", r"\)"), str(fault.value))


@pytest.mark.parametrize(("how", "under_way"), [("", 2), ("empty", 1)])
def test_who_watches_hears_how_many_copies_are_under_way_at_a_read(how, under_way):
    """Kills: a ring whose copies have all been waited for, taken for one that runs ahead."""
    with watch_products() as seen:
        simulate(copies_kernel, 1, torch.ones(384), 2, how, orders=[0])
    name = "copies_kernel"
    assert seen[-2:] == [(f"{name} has ordered", 3), (f"{name} has under way", under_way)]
    assert ((f"{name} closes a group", 0) in seen) == (how == "empty")


def test_an_address_outside_is_told_with_its_mask():
    with pytest.raises(Fault, match="outside its tensor: it has no mask"):
        simulate(copies_kernel, 1, torch.ones(300), 2, "", orders=[0])


@gluon.jit
def masked_kernel(x_ptr, M, N, ROWS: gl.constexpr, COLUMNS: gl.constexpr):
    """Loads a tile of 4 x 8 from M x N numbers, under the mask of ROWS x COLUMNS."""
    layout: gl.constexpr = gl.BlockedLayout([1, 1], [1, 32], [4, 1], [1, 0])
    offs_m = gl.arange(0, 4, gl.SliceLayout(1, layout))[:, None]
    offs_n = gl.arange(0, 8, gl.SliceLayout(0, layout))[None, :]
    gl.load(x_ptr + offs_m * N + offs_n, mask=(offs_m < ROWS) & (offs_n < COLUMNS))


@pytest.mark.parametrize(
    "rows, columns, first", [(4, 5, "row 3 and column 0"), (3, 6, "row 2 and column 5")]
)
def test_a_mask_that_lets_too_much_through_is_told_with_the_first_place(rows, columns, first):
    """Kills: one sentence for a mask that forgets rows and one that forgets columns."""
    simulate(masked_kernel, 1, torch.ones(15), 3, 5, 3, 5, orders=[0])
    with pytest.raises(Fault, match=f"its mask is True there, first in {first} of the tile"):
        simulate(masked_kernel, 1, torch.ones(15), 3, 5, rows, columns, orders=[0])


@gluon.jit
def mma_layout_kernel():
    gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])


def test_a_product_of_all_warps_needs_them():
    simulate(mma_layout_kernel, 1, orders=[0])
    with pytest.raises(Fault, match="is for 4 warps, and the launch has num_warps=8"):
        simulate(mma_layout_kernel, 1, orders=[0], num_warps=8)
