"""What the checks of 71_parallel_mlp try: layers on 1 to 8 ranks, of odd sizes."""

import torch

from tritonbook.checking import Check, Tolerance, case, tensor
from tritonbook.checking.asks import no_copies
from tritonbook.simulating import watch_flags, watch_loads
from tritonbook.words import later

from ..shared.ranks import SAME_BITS, launches_a_rank
from .page import parallel_mlp_ref


def layer(note, ranks, M, D, H, dtype="float32"):
    """x is the same on all ranks; of the weights each has its share, and other numbers beside."""
    into = {name: tensor(ranks, D, H, scale=D**-0.5) for name in ("w_gate", "w_up")}
    x, down = tensor(ranks, M, D, layout="expanded"), tensor(ranks, H, D, scale=3 * H**-0.5)
    return case(note, x=x, **into, w_down=down, dtype=dtype)


CASES = [
    layer("2 ranks, one tile", 2, 12, 30, 21),
    layer("2 ranks, four tiles, all ragged", 2, 70, 100, 37),
    layer("3 ranks, two tiles", 3, 9, 100, 26),
    layer("4 ranks, bfloat16", 4, 20, 33, 50, "bfloat16"),
    layer("1 rank", 1, 10, 20, 30),
]
HIDDEN = [
    layer("2 ranks, one token", 2, 1, 70, 9),
    layer("5 ranks, float16", 5, 10, 30, 41, "float16"),
    layer("8 ranks", 8, 7, 24, 29),
]


def twice_a_layer(dtype):
    """Hidden values, parts and result are rounded, in two layers; all sums are float32."""
    eps = {"float32": 1e-6, "float16": 2**-11, "bfloat16": 2**-8}[str(dtype).removeprefix("torch.")]
    because = "rounded six times on the way, all sums in float32"
    return Tolerance(8 * eps, 8 * eps, 8 * eps, because)


_BEYOND = later(
    "The values are right, but rank {rank} loads {name} beyond its share of the H. A rank has no "
    "other weights, and computes its share alone: cut first, then multiply."
)
_AT_ONCE = later(
    "The values are right, but each program awaits the flags that it has raised itself, and "
    "nothing is multiplied meanwhile. Program pid adds tile pid - lag."
)
R, M, D, H = 2, 4, 8, 20


def weights():
    return [torch.ones(R, *shape) for shape in ((D, H), (D, H), (H, D))]


def loads_its_share(fn):
    """No load goes to weights that belong to another rank."""
    given = weights()
    with watch_loads() as loads:
        fn(torch.ones(R, M, D), *given)
    for name, weight, axis in zip(("w_gate", "w_up", "w_down"), given, (1, 1, 0), strict=True):
        for rank, addresses in loads:
            own = weight[rank]
            at = (addresses - own.data_ptr()) // own.element_size()
            at = at[(at >= 0) & (at < own.numel())] // own.stride(axis) % H
            beyond = (at < rank * H // R) | (at >= (rank + 1) * H // R)
            assert not beyond.any(), _BEYOND.format(rank=rank, name=name)


def awaits_later(fn):
    """Some program awaits what an earlier one of its rank has raised."""
    with watch_flags() as flags:
        fn(torch.ones(R, M, D), *weights())
    assert any(me.rank == by.rank and me.name != by.name for me, by in flags), _AT_ONCE


HOW = {"hidden": HIDDEN, "ranks": True, "tolerance": twice_a_layer, "timeout": 120.0}

CHECKS = {
    key: Check(
        parallel_mlp_ref,
        CASES,
        through=through,
        asks=[launches_a_rank(launches), no_copies(), SAME_BITS, loads_its_share, *more],
        **HOW,
    )
    for key, through, launches, *more in (
        ("parallel_mlp", "computed_twice", 3),
        ("parallel_mlp_fused", "computed_fused_twice", 2),
        ("parallel_mlp_late", "computed_late_twice", 2, awaits_later),
    )
}
