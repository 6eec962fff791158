"""What the checks of 52_moe_grouped try: cases and references."""

import torch
import triton

from tritonbook import DEVICE, hook_launch, traffic
from tritonbook.checking import Check, asks, case, tensor
from tritonbook.port.idle_lanes import hold_zero
from tritonbook.seeing.tiles import CannotShow

from ..shared import products
from .page import grouped_matmul_ref, grouped_tile, route_ref, sort_by_expert_ref

# --- route


def route_case(note, T, E, k, dtype="float32", **logits):
    return case(note, logits=tensor(T, E, **logits), k=k, dtype=dtype)


def spread(generator, shape):
    """Logits so far apart that exponentials of all but the largest vanish."""
    return (
        torch.stack(
            [torch.randperm(shape[1], generator=generator) for _ in range(shape[0])]
        ).double()
        * -120.0
    )


def deep(generator, shape):
    """Logits below what a careless "minus infinity" is, such as -1e9; 128 is one float32 step."""
    return spread(generator, shape) / 120 * 128 - 1.5 * 2**30


ROUTES = [
    # of 2 too many a mistake would swap the weights, and be taken for another
    route_case("4 of 8 experts", 5, 8, 4),
    route_case("2 of 8 experts", 5, 8, 2),
    route_case("3 of 6 experts", 4, 6, 3, mean=-4.0),
    route_case("the best one alone", 4, 5, 1),
    route_case("all of them", 3, 5, 5),
    route_case("equal logits", 6, 7, 3, values="integers", high=3),
    route_case("logits around 100: exponentials overflow", 3, 8, 2, mean=100.0, scale=4.0),
    route_case("logits around -200: exponentials vanish", 3, 8, 2, mean=-200.0, scale=4.0),
    route_case("logits far apart", 3, 6, 4, values=spread),
    route_case("logits far below 0", 3, 6, 3, values=deep),
    route_case("all logits -2e30", 2, 6, 3, values=lambda _, shape: torch.full(shape, -2e30)),
    route_case("half precision", 4, 12, 4, dtype="float16"),
    case("more than there are", logits=tensor(3, 4), k=5, raises=ValueError),
    route_case("no tokens", 0, 8, 2),
    case("none", logits=tensor(3, 4), k=0, raises=ValueError),
    case("not contiguous", logits=tensor(3, 4, layout="transposed"), k=2, raises=ValueError),
]

HIDDEN_ROUTES = [
    route_case("8 of 128 experts", 4, 128, 8),
    route_case("bfloat16, with equal logits", 6, 33, 5, dtype="bfloat16"),
    route_case("one token, one expert", 1, 1, 1),
    route_case("all equal", 3, 10, 4, values="ones"),
]


# --- sort_by_expert


def experts_of(given, k, E):
    """Experts [T, k] as a list of lists: random ones below E, or those given, one after another."""
    if isinstance(given, int):
        seeded = torch.Generator().manual_seed(1000 * given + 10 * k + E)
        return torch.randint(0, E, (given, k), generator=seeded)
    return torch.tensor(given).view(-1, k)


def sort_case(note, given, k, E, block=16, dtype="int32", layout="contiguous", raises=None):
    drawn = experts_of(given, k, E)
    experts = tensor(*drawn.shape, dtype=dtype, layout=layout, values=lambda *_: drawn)
    return case(note, experts=experts, E=E, options={"block": block}, raises=raises)


SORTS = [
    # wrong counts lead to no place outside of order here, so they are found as such
    sort_case("all choose the first of 3", [0] * 40, 2, 3),
    sort_case("one tile", [2, 0, 0, 3, 2, 3, 0, 2, 3, 2, 0, 2], 2, 4),
    sort_case("35 choices in tiles of 16", 35, 1, 4),
    sort_case("20 tokens, 2 of 5 experts", 20, 2, 5),
    sort_case("8 experts, three of them with no choice", [5, 2] * 9 + [1, 6, 3], 3, 8),
    sort_case("all choose the last of 3", [2] * 21, 3, 3),
    sort_case("one tile that is full", 8, 2, 3),
    sort_case("3,000 choices of one expert in a tile", [1] * 3000 + [0, 2], 1, 3, block=4096),
    sort_case("64-bit experts", [0] * 8, 2, 2, dtype="int64", raises=ValueError),
    sort_case("no tokens", 0, 2, 3),
    sort_case("not contiguous", [0] * 8, 2, 2, layout="transposed", raises=ValueError),
]

HIDDEN_SORTS = [
    sort_case("31 experts", 40, 4, 31),
    sort_case("32 experts, tiles of 64", 90, 2, 32, block=64),
    sort_case("the block as it is", 300, 2, 16, block=4096),
    sort_case("one choice", [4], 1, 7),
    sort_case("one expert", 33, 1, 1),
]


# --- grouped_matmul

# three sizes: one block is not taken for another
TILE = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 64, "num_warps": 4, "num_stages": 2}


def grouped_case(note, given, k, E, D, F, tile=TILE, dtype="float32"):
    experts = experts_of(given, k, E)
    order, offsets = sort_by_expert_ref(experts, E)
    return case(
        note,
        x=tensor(len(experts), D),
        w=tensor(E, D, F),
        order=tensor(len(order), dtype="int32", values=lambda *_: order),
        offsets=tensor(E + 1, dtype="int32", values=lambda *_: offsets),
        k=k,
        options={"tile": tile},
        dtype=dtype,
    )


# Groups of sizes for which each mistake in the scheduling leaves other rows out: none is taken for
# another. (A grid of tokens is large enough here, and so is one of E programs.)
RAGGED = [[0] * 9, [1] * 20, [3] * 40, [4] * 5]

GROUPS = [
    grouped_case("groups of 9, 20, 0, 40, 5, 0 and 0", sum(RAGGED, []), 2, 7, 48, 40),
    grouped_case("one tile an expert", [0, 1, 1, 2, 2, 0, 1, 0], 2, 3, 16, 40),
    grouped_case("experts of several tiles", 60, 2, 3, 16, 16),
    grouped_case("empty experts", [1, 4, 4, 1, 1, 2] * 7, 3, 6, 16, 16),
    grouped_case("all choose one expert", [2] * 40, 2, 4, 16, 16),
    grouped_case("few choices, many experts", [8, 1, 5, 0, 3, 6], 2, 9, 16, 16),
    grouped_case("odd sizes", 15, 3, 5, 149, 19),
    grouped_case("one choice a token", 30, 1, 4, 16, 33),
    grouped_case(
        "half precision, the tile as it is", 80, 2, 2, 64, 256, tile=None, dtype="float16"
    ),
    case(
        "rows for another number of tokens",
        x=tensor(5, 16),
        w=tensor(2, 16, 16),
        order=tensor(8, dtype="int32", values="zeros"),
        offsets=tensor(3, dtype="int32", values="zeros"),
        k=2,
        raises=ValueError,
    ),
]

HIDDEN_GROUPS = [
    grouped_case("12 experts", 50, 2, 12, 24, 40),
    grouped_case("tiles of 32 rows", 70, 2, 3, 48, 20, tile=TILE | {"BLOCK_M": 32}),
    grouped_case("exactly full tiles", [0] * 16 + [1] * 32, 2, 2, 16, 16),
    grouped_case("the tile as it is", 20, 4, 7, 40, 72, tile=None),
    grouped_case("bfloat16, the tile as it is", 33, 2, 5, 64, 96, tile=None, dtype="bfloat16"),
    grouped_case("one choice in all", [3], 1, 5, 16, 16),
    grouped_case("one expert", 20, 1, 1, 17, 17),
]


def never_asks(fn):
    """Whatever the offsets hold, the same grid starts: the CPU does not know them."""
    grids = []

    def note(call, kernel, grid, args, kwargs):
        grids.append(tuple(grid(kwargs) if callable(grid) else grid))

    x, w = torch.zeros(40, 16, device=DEVICE), torch.zeros(4, 16, 16, device=DEVICE)
    order = torch.arange(40, device=DEVICE, dtype=torch.int32)
    for ends in (40, 40, 40, 40), (1, 18, 20, 40):
        offsets = torch.tensor([0, *ends], device=DEVICE, dtype=torch.int32)
        with hook_launch(note):
            fn(x, w, order, offsets, 1, TILE)
    assert grids[0] == grids[1], (
        f"The grid depends on what `offsets` holds: {grids[0]} and {grids[1]} for the same shapes. "
        "To know it the CPU waits for the GPU. Take a bound that holds for any offsets."
    )


def zeros_do_not_help(fn):
    """A GPU's masked lanes may hold anything where a load has no `other=`, 0 too."""
    experts = torch.tensor([[1], [0], [1]], device=DEVICE, dtype=torch.int32)
    with hold_zero():
        _, offsets = fn(experts, 2)
        try:
            written = sum(tensor.written for tensor in traffic(fn, experts, 2).tensors)
        except CannotShow:
            written = 0
    assert offsets.tolist() == [0, 1, 3] and written <= 4 * (3 + 3), (
        "A load has a mask and no `other=`, so its masked lanes may hold anything: 0, say, and "
        "then they are choices of expert 0. Give them a number that is no expert's."
    )


def most_programs(x, w, order, offsets, k=1, tile=None):
    tile = tile or grouped_tile(len(order), len(w), x.dtype)
    columns = triton.cdiv(w.shape[2], tile["BLOCK_N"])
    return (triton.cdiv(len(order), tile["BLOCK_M"]) + len(w)) * columns


def idle_programs_load_nothing(moved, x, w, order, offsets, k=1, tile=None):
    rows = (tile or grouped_tile(len(order), len(w), x.dtype))["BLOCK_M"]
    due = triton.cdiv(offsets.diff(), rows).sum().item() * w[0].nbytes  # once for each tile
    assert moved["w"].read <= due, (
        "Programs that find no tile for themselves load an expert's matrix for nothing. They "
        "return before they load."
    )


CHECKS = {
    "route": Check(
        route_ref,
        ROUTES,
        HIDDEN_ROUTES,
        asks=[asks.launches(1), asks.starts(lambda logits, k: logits.shape[0])],
        results=("weights", "experts"),
        terms=lambda logits, k: k,
    ),
    "sort_by_expert": Check(
        sort_by_expert_ref,
        SORTS,
        HIDDEN_SORTS,
        asks=[
            asks.launches(2),
            asks.tiles_of_at_most(
                lambda experts, E, block=4096: max(block, triton.next_power_of_2(E + 1))
            ),
            zeros_do_not_help,
        ],
        results=("order", "offsets"),
    ),
    "grouped_matmul": Check(
        grouped_matmul_ref,
        GROUPS,
        HIDDEN_GROUPS,
        asks=[
            asks.launches(1),
            asks.starts_at_most(most_programs),
            asks.exact_float32(),
            asks.offsets_of_64_bits("x", "w"),
            never_asks,
            asks.moves(idle_programs_load_nothing),
            products.uses_the_tile(GROUPS[2]),
        ],
        terms=lambda x, w, order, offsets, k=1, tile=None: x.shape[1],
    ),
}
