"""What the checks of 63_gluon_pipeline try."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import launches, starts, starts_at_most
from tritonbook.simulating import watch_overlaps, watch_products
from tritonbook.words import later

from ..shared.products import product
from .page import matmul_pipeline_ref, row_sums_ref


def sums_case(note, M, N, slots=4, layout="contiguous", **x):
    return case(note, x=tensor(M, N, layout=layout, **x), options={"slots": slots})


SUMS = [
    sums_case("129 numbers: one more than a tile", 5, 129),
    sums_case("two tiles and a rest, four slots", 16, 300),
    sums_case("nine tiles: the ring comes round", 20, 1130),
    sums_case("two slots", 18, 500, slots=2),
    sums_case("three slots", 16, 640, slots=3),
    sums_case("rows with gaps, nine tiles", 17, 1060, layout="strided"),
    case("half precision", x=tensor(4, 64, dtype="float16"), raises=ValueError),
]
HIDDEN_SUMS = [
    sums_case("one number a row", 3, 1),
    sums_case("eleven tiles, five slots", 33, 1400, slots=5),
    sums_case("an odd length", 15, 901, slots=3),
    sums_case("large numbers", 16, 700, mean=100.0),
]


def piped(note, M, K, N, tile=(32, 32, 16), slots=3, dtype="float16"):
    return product(note, M, K, N, tile=tile, options={"slots": slots}, dtype=dtype)


PRODUCTS = [
    piped("one step", 32, 16, 32),
    piped("four steps, four tiles", 64, 64, 64),
    piped("no tile is full", 40, 112, 48, tile=(32, 32, 32)),
    piped("fewer steps than slots", 20, 32, 16, slots=5),
    piped("three tiles, one below the other", 70, 32, 32),
    piped("two slots", 33, 96, 32, slots=2),
    piped("tall tiles", 140, 48, 48, tile=(64, 32, 16)),
    piped("wide tiles", 40, 48, 80, tile=(32, 64, 16)),
    piped("bfloat16", 17, 48, 32, dtype="bfloat16"),
    piped("the page's tile", 20, 64, 48, tile=(128, 128, 32), slots=4),
    product("K is no multiple of 16", 16, 24, 32, dtype="float16", raises=ValueError),
    product("widths that differ", 16, 32, 32, short=16, dtype="float16", raises=ValueError),
    product("float32", 16, 32, 16, raises=ValueError),
]
HIDDEN_PRODUCTS = [
    piped("seven steps, three tiles by two", 70, 112, 64),
    piped("one row", 1, 160, 16, slots=4),
    piped("more steps than slots, K ragged", 50, 144, 80, tile=(32, 32, 32), slots=2),
]


ORDERS = 4  # in which the simulator runs a launch
SLOTS = 5  # not the page's own number
NOTES = ("has ordered", "has under way", "closes a group")


def is_a_pipeline(seen, steps, copies, along):
    """Refuses what leaves fewer than SLOTS - 1 steps under way. A real GPU notes nothing.

    seen: what the simulator notes of one program; copies: of each step.
    """
    if DEVICE == "cuda":
        return
    seen = seen[: len(seen) // ORDERS]
    notes = {what: [n for each, n in seen if each.endswith(what)] for what in NOTES}
    ordered, under_way, groups = notes.values()
    # Where a step reads two tiles, its first read is noted.
    by_arrival = {}
    for all_, left in zip(ordered, under_way, strict=True):
        by_arrival.setdefault(all_ - left, left // copies)
    assert by_arrival, (
        "The values are right, but no tile is read that an asynchronous copy has brought. "
        "`gl.load` waits for what it asks for, so nothing runs ahead. Order copies into the ring, "
        "and read it: `tiles.index(slot).load(...)`."
    )
    assert len(ordered) >= steps * copies, (
        f"The values are right, but of {steps * copies} tiles {len(ordered)} are read from a ring. "
        "The others come some other way, and nothing of them runs ahead. Read both tiles of a step "
        "from theirs."
    )
    left = list(by_arrival.values())[: steps - SLOTS + 2]  # the last steps may have none ahead
    assert 0 not in left, (
        "The values are right, but a step waits for all copies, those that are ahead too, so "
        "nothing is under way while a tile is used. Only this step's copies must have arrived."
    )
    if min(left) < SLOTS - 2:
        assert 0 not in groups, (
            "The values are right, but groups are closed that hold no copy. `wait_group` counts "
            "them too, so it waits for copies that are ahead. One `commit_group()` for each step."
        )
        assert min(groups) == copies, (
            "The values are right, but each copy has a group of its own. `wait_group` counts "
            "groups, so it waits for copies that are ahead. Both copies of a step belong in one."
        )
    assert min(left) >= SLOTS - 2, (
        f"The values are right. But with {SLOTS} slots the number of steps under way after a wait "
        f"is {min(left)}, where it should be {SLOTS - 2}; the next order makes {SLOTS - 1}. Is it "
        "SLOTS − 1 that are ordered before the loop, in each step the one SLOTS − 1 ahead, and is "
        "SLOTS the `slots` of the call?"
    )
    assert min(by_arrival) <= copies, (
        "The values are right, but the first wait is for two steps, and only one is read. What a "
        "step orders before it waits counts, too: then SLOTS − 1 groups may be unfinished."
    )
    assert len(by_arrival) <= steps + 2, (
        f"The values are right, but the loop has {len(by_arrival)} steps, and {along} has {steps} "
        "tiles: the other steps add zeros."
    )


def sums_in_a_pipeline(fn):
    with watch_products() as seen, watch_overlaps() as told:
        fn(torch.ones(16, 1024, device=DEVICE), slots=SLOTS)
    is_a_pipeline(seen, 8, 1, later("a row of 1024"))
    stores = sum(each.endswith("stores numbers of its own") for each in told) // ORDERS
    assert stores < 2, (
        f"The values are right, but the sums are stored {stores} times. Put the store behind the "
        "loop."
    )


def product_in_a_pipeline(fn):
    a, b = (torch.ones(shape, device=DEVICE).half() for shape in ((32, 128), (128, 32)))
    with watch_products() as seen:
        fn(a, b, tile=(32, 32, 16), slots=SLOTS)
    is_a_pipeline(seen, 8, 2, "K = 128")


def rows_with_gaps(fn):
    """Matrices that are columns of wider ones."""
    a, b = torch.randn(40, 96).half()[:, :80], torch.randn(80, 112).half()[:, :48]
    a, b = a.to(DEVICE), b.to(DEVICE)
    right = (a.double() @ b.double()).to(torch.float32)
    found = fn(a, b, tile=(32, 32, 16), slots=3).to(torch.float32)
    error = (found - right).abs().max().item()
    assert error < 0.05, (
        f"With rows of a 96 apart and rows of b 112 apart, c is off by {error:.3g}. Which stride "
        "belongs to which pointer?"
    )


CHECKS = {
    "row_sums": Check(
        reference=row_sums_ref,
        cases=SUMS,
        hidden=HIDDEN_SUMS,
        asks=[
            launches(1),
            starts_at_most(lambda x, slots=4: -(-x.shape[0] // 16)),
            sums_in_a_pipeline,
        ],
        terms=1400,
    ),
    "matmul_pipeline": Check(
        reference=matmul_pipeline_ref,
        cases=PRODUCTS,
        hidden=HIDDEN_PRODUCTS,
        asks=[
            launches(1),
            starts(
                lambda a, b, tile=(128, 128, 32), slots=4: (
                    -(-a.shape[0] // tile[0]) * -(-b.shape[1] // tile[1])
                )
            ),
            rows_with_gaps,
            product_in_a_pipeline,
        ],
        terms=160,
    ),
}
