"""What the checks of 64_gluon_matmul try."""

import re

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import launches, starts
from tritonbook.simulating import watch_overlaps, watch_products


def matmul_ref(a, b):
    return a @ b


SMALL = (128, 32, 16)  # an H100 multiplies it as well: two warp groups of 64 rows
PAGE = (128, 256, 64)


def product(note, M, K, N, tile=SMALL, slots=3, dtype="float16", **options):
    options = {"tile": tile, "slots": slots, **options}
    return case(note, a=tensor(M, K), b=tensor(K, N), options=options, dtype=dtype)


def refused(note, a, b, dtype="float16"):
    return case(note, a=tensor(*a), b=tensor(*b), dtype=dtype, raises=ValueError)


WHAT_DOES_NOT_FIT = [
    refused("float32", (16, 32), (32, 16), dtype="float32"),
    refused("widths that differ", (16, 32), (16, 32)),
    refused("rows of 12", (16, 16), (16, 12)),
]

RING = [
    product("one step", 128, 16, 32),
    product("two steps, three slots", 128, 32, 32),
    product("nine steps: the ring comes round twice", 128, 144, 32),
    product("two by three tiles, none of them full", 140, 72, 72),
    product("two slots", 33, 96, 40, slots=2),
    product("five slots, more than steps", 20, 32, 16, slots=5),
    product("tall tiles, long steps", 270, 72, 48, tile=(256, 16, 32)),
    product("bfloat16", 40, 64, 32, dtype="bfloat16"),
    product("the page's tile", 140, 136, 264, tile=PAGE, slots=4),  # the largest: it is compiled
    *WHAT_DOES_NOT_FIT,
]
HIDDEN_RING = [
    product("seven steps, three by two tiles", 270, 112, 64),
    product("one row, eleven steps, four slots", 1, 176, 16, slots=4),
    product("wide tiles", 130, 40, 200, tile=(128, 64, 16), slots=2),
    product("the page's tile, two steps", 200, 120, 520, tile=PAGE),
]


def stay(note, M, K, N, programs, **rest):
    return product(note, M, K, N, programs=programs, **rest)


JOBS = [
    stay("one tile, one step", 128, 16, 32, 1),
    stay("one tile, eight steps", 128, 128, 32, 1),
    stay("one program, six tiles of four steps", 256, 64, 96, 1),
    stay("two programs, nine tiles, none of them full", 270, 72, 72, 2),
    stay("one step a tile, four tiles", 140, 16, 64, 1),
    stay("two slots, seven tiles, three programs", 800, 48, 24, 3, slots=2),
    stay("more slots than steps", 270, 32, 40, 2, slots=5),
    stay("more programs than tiles", 140, 40, 24, 7),
    stay("tall tiles, long steps", 270, 72, 48, 1, tile=(256, 16, 32)),
    stay("bfloat16", 140, 64, 32, 1, dtype="bfloat16"),
    stay("the page's tile", 140, 136, 264, 2, tile=PAGE),  # the largest: it is compiled
    *WHAT_DOES_NOT_FIT,
]
HIDDEN_JOBS = [
    stay("ten tiles, four programs, three steps", 600, 48, 64, 4),
    stay("one row, thirteen steps, one program", 1, 208, 64, 1, slots=4),
    stay("wide tiles, two slots", 130, 40, 200, 2, tile=(128, 64, 16), slots=2),
    stay("the page's tile, two steps", 200, 120, 520, 2, tile=PAGE),
]


def rows_with_gaps(fn):
    """Matrices that are columns of wider ones."""
    a, b = torch.randn(40, 96).half()[:, :80], torch.randn(80, 112).half()[:, :48]
    a, b = a.to(DEVICE), b.to(DEVICE)
    error = (fn(a, b, tile=SMALL, slots=3).double() - a.double() @ b.double()).abs().max()
    assert error < 0.05, (
        f"With rows of a 96 apart and rows of b 112 apart, c is off by {error:.3g}."
    )


def ordered_and_drained(seen):
    """Products that were ordered, and how often none was left under way, from what was seen."""
    ordered, drained, under_way = 0, 0, {}
    for name, count in seen:
        before = under_way.get(name, 0)
        ordered += count > before
        drained += count == 0 < before
        under_way[name] = count
    return ordered, drained


def always_under_way(fn):
    """Refuses products that are waited for one by one, or all of them within a tile. A real GPU
    notes nothing."""
    a, b = torch.randn(40, 80).half().to(DEVICE), torch.randn(80, 32).half().to(DEVICE)
    with watch_products() as seen:
        fn(a, b, tile=SMALL, slots=3)
    assert not seen or max(count for _, count in seen) > 1, (
        "The values are right, but each product is done before the next one is ordered, so the "
        "tensor cores run dry in between. Order with is_async=True, then wait for the one before: "
        "one product may be unfinished."
    )
    ordered, drained = ordered_and_drained(seen)
    assert 5 * drained <= ordered, (
        f"The values are right, but in tiles of five steps {drained} waits leave no product under "
        f"way, where {ordered // 5} would do: one at the end of each tile. Before it one product "
        "may be unfinished."
    )


def overlaps_of(fn, **options):
    """What the simulator notes of four tiles of five steps; a real GPU notes nothing."""
    a, b = torch.randn(160, 80).half().to(DEVICE), torch.randn(80, 64).half().to(DEVICE)
    with watch_overlaps() as seen:
        fn(a, b, tile=SMALL, **{"slots": 3, **options})
    return seen


def ahead_of_products(seen):
    """(number of a product, steps that had been ordered when it was), two copies a step."""
    noted = [re.search(r"orders product (\d+), (\d+) copies", each) for each in seen]
    return [(int(each[1]), int(each[2]) // 2) for each in noted if each]


def ring_runs_ahead(fn):
    """Refuses a loop that orders its steps later than the ring allows."""
    for number, ordered in ahead_of_products(overlaps_of(fn, slots=4)):
        due = min(5, number + 3)
        assert ordered >= due, (
            f"The values are right. But with 4 slots and 5 steps the product of step {number} was "
            f"ordered when {ordered} of the steps' tiles had been, and {due} could have been: fill "
            "SLOTS - 1 slots first, then order the step that is SLOTS - 1 ahead."
        )


def loads_run_ahead(fn):
    """Refuses a job that loads, and waits for what it loads, or for more than its slot."""
    seen = overlaps_of(fn, programs=1)
    waits = [each.partition(" waits for its copies") for each in seen]
    waits = [name for name, waits, _ in waits if waits]
    assert not waits, (
        f"The values are right. But {waits[0]} waits for its copies: so nothing is loaded ahead. "
        "The job that loads waits for slots to be empty, and the other job for the copies."
    )
    ahead = [ordered - number for number, ordered in ahead_of_products(seen)]
    assert not ahead or max(ahead) == 3, (
        f"The values are right. But of 3 slots at most {max(ahead)} are ever loaded ahead, however "
        "late the products are. Wait for the slot that is filled next, and for the phase in which "
        "its last load was used."
    )


def stores_run_on(fn):
    """Refuses a store that is waited for before the next tile's products are ordered."""
    seen = overlaps_of(fn, programs=1)
    assert not seen or any(each.endswith("multiplies while it stores") for each in seen), (
        "The values are right. But each store is waited for before the next tile is multiplied. "
        "Wait for it when c_tile is to be written again."
    )


def tiles_of(a, b, tile):
    return -(-a.shape[0] // tile[0]) * -(-b.shape[1] // tile[1])


def _stays(a, b, tile=PAGE, slots=3, programs=132):
    return min(tiles_of(a, b, tile), programs)


RULES = {"terms": 210, "arch": 90}
CHECKS = {
    "matmul_ring": Check(
        matmul_ref,
        RING,
        HIDDEN_RING,
        asks=[
            launches(1),
            starts(lambda a, b, tile=PAGE, slots=4: tiles_of(a, b, tile)),
            rows_with_gaps,
            always_under_way,
            ring_runs_ahead,
        ],
        **RULES,
    ),
    "matmul_jobs": Check(
        matmul_ref, JOBS, HIDDEN_JOBS, asks=[launches(1), starts(_stays), loads_run_ahead], **RULES
    ),
    "matmul_groups": Check(
        matmul_ref,
        JOBS,
        HIDDEN_JOBS,
        asks=[launches(1), starts(_stays), always_under_way, loads_run_ahead, stores_run_on],
        **RULES,
    ),
}
