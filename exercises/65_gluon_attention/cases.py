"""What the checks of 65_gluon_attention try. Races and deadlocks are named by the simulator."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import launches, starts
from tritonbook.simulating import watch_overlaps, watch_products

from ..shared import attention as shared
from .page import attention_ref, two_products_ref

TILE = 128


def products_case(note, L, B=1, H=1, HK=1, D=16, dtype="float16", layout="contiguous", **options):
    return case(
        note,
        q=tensor(B, H, L, D, layout=layout),
        k=tensor(B, HK, L, D, layout=layout),
        v=tensor(B, HK, L, D, layout=layout),
        options=options,
        dtype=dtype,
    )


def refused_case(note, H=1, HK=1, D=16, dtype="float16"):
    k = tensor(1, HK, 8, D)
    return case(note, q=tensor(1, H, 8, D), k=k, v=k, dtype=dtype, raises=ValueError)


REFUSED = [
    refused_case("float32", dtype="float32"),
    refused_case("heads of 24", D=24),
    refused_case("3 heads for 2 of keys", H=3, HK=2),
]

PRODUCTS = [
    products_case("one tile", 128),
    products_case("three tiles of keys, rings of one slot", 300, slots=1),
    products_case("five tiles, two slots", 520),
    products_case("four tiles, three slots", 400, slots=3),
    products_case("no tile is full", 40),
    products_case("two batches, six heads share two", 130, B=2, H=6, HK=2, D=32),
    products_case("bfloat16", 150, dtype="bfloat16"),
]
HIDDEN_PRODUCTS = [
    products_case("one token", 1),
    products_case("five tiles, four slots", 600, slots=4),
    products_case("heads of 64", 390, D=64),
]


def from_the_last_rows(fn):
    """Sums of three tiles whose order shows: what is small is lost beside what is large."""
    q, k, v = (torch.zeros(1, 1, 3 * TILE, 16, dtype=torch.float16) for _ in range(3))
    q[..., 0] = 1
    for tile, (key, value) in enumerate(((1, 1), (-32768, 2048), (32768, 2048))):
        k[:, :, tile * TILE, 0], v[:, :, tile * TILE, 0] = key, value
    found = fn(q.to(DEVICE), k.to(DEVICE), v.to(DEVICE))[0, 0, :, 0].cpu()
    assert (found == 1).all(), (
        "The tiles come in another order than from the last rows to the first. The sums are the "
        "same, but the next tasks mask the tile that comes first."
    )


def noted(watch, fn):
    """What the simulator notes of three tiles of keys; a real GPU notes nothing."""
    q, k, v = (torch.ones(1, 1, 300, 16, dtype=torch.float16, device=DEVICE) for _ in range(3))
    with watch() as seen:
        fn(q, k, v)
    return seen


def loads_run_ahead(fn):
    """Refuses a job that loads, and waits for what it loads."""
    waits = [each.partition(" waits for its copies") for each in noted(watch_overlaps, fn)]
    waits = [name for name, waits, _ in waits if waits]
    assert not waits, (
        f"The values are right. But {waits[0]} waits for its copies: so its next copy is not under "
        "way meanwhile. `put` waits for an empty slot, and who takes the tile waits for the copy."
    )


def attention_case(note, L, B=1, H=1, HK=1, D=16, causal=False, dtype="float16", **more):
    """queries, keys: how they are drawn."""
    return case(
        note,
        q=tensor(B, H, L, D, **more.pop("queries", {})),
        k=tensor(B, HK, L, D, **more.pop("keys", {})),
        v=tensor(B, HK, L, D),
        causal=causal,
        options=more,
        dtype=dtype,
    )


GROWING = {"values": shared.growing(60.0)}
FALLING = {"values": lambda generator, shape: shared.growing(5.0)(generator, shape).flip(-2)}

ATTENTION = [
    attention_case("three tiles of keys", 300),  # first: all gaps are met
    attention_case("one tile of keys", 128),
    attention_case("large scores in the last tile, which comes first", 300, keys=GROWING),
    attention_case("large scores in the first tile, which comes last", 300, keys=FALLING),
    attention_case("causal, five tiles", 520, causal=True, keys=FALLING),
    attention_case("causal, three slots", 520, causal=True, slots=3),
    attention_case("no tile is full, causal", 40, causal=True),
    attention_case("two batches, six heads share two", 130, B=2, H=6, HK=2, D=32, causal=True),
    attention_case("bfloat16", 150, dtype="bfloat16"),
    attention_case("scores of -2^30 that grow", 40, causal=True, dtype="bfloat16", **shared.DEEP),
]
HIDDEN_ATTENTION = [
    attention_case("one token, causal", 1, causal=True),
    attention_case("heads of 64", 390, H=2, D=64, causal=True, keys=FALLING),
    attention_case("five tiles, four slots", 550, slots=4),
]


def sums_keep_their_digits(fn):
    """Refuses sums in half precision, which eight tiles of values of one sign show."""
    torch.manual_seed(0)
    q, k = 0.1 * torch.randn(2, 1, 1, 1000, 16)
    q, k, v = (x.half() for x in (q, k, 0.5 + torch.rand(1, 1, 1000, 16)))
    exact = attention_ref(*(x.double() for x in (q, k, v)))
    got = fn(*(x.to(DEVICE) for x in (q, k, v))).cpu().double()
    error = float(((got - exact) / exact).abs().max())
    assert error < 7.5e-4, (
        f"With 1,000 keys and values of one sign the result is off by {error:.1e}. One rounding "
        "to float16 makes 5e-04 at most: acc or l is rounded on the way. Both are float32."
    )


def two_under_way(fn):
    """Refuses products that are waited for one by one. A GPU tells nobody."""
    if DEVICE == "cuda":
        return
    seen = noted(watch_products, fn)
    for name in sorted({who for who, _ in seen}) or ["A group"]:
        counts = [count for who, count in seen if who == name]
        assert max(counts, default=0) == 2, (
            f"{name} never has two products under way. Order the scores and the output first, both "
            "with is_async=True, and wait then."
        )
        pairs = list(zip(counts, counts[1:], strict=False))
        assert (2, 0) not in pairs, (
            f"{name} waits for both products at once, so nothing is under way while it computes "
            "its softmax. The first wait is for the scores alone: one product may be unfinished."
        )
        assert (2, 1, 0) not in zip(counts, counts[1:], counts[2:], strict=False), (
            f"{name} waits for the output before its softmax, so nothing is under way meanwhile. "
            "The softmax comes between the two waits."
        )


def in_turns(fn):
    """Refuses groups that order products whenever they like. A GPU tells nobody."""
    if DEVICE == "cuda":
        return
    two_under_way(fn)
    seen, orders, last = noted(watch_products, fn), [], {}
    for who, count in seen:
        if count > last.get(who, 0):
            orders.append(who)
        last[who] = count
    for first in range(0, len(orders) - 1, 2):
        one, other = orders[first : first + 2]
        assert one == other, (
            "Both groups order products at the same time. A group orders both of its own when "
            "it has the baton, and hands over after that."
        )
    for one, other in zip(orders[::2], orders[2::2], strict=False):
        assert one != other, (
            f"{one} has two turns, one after the other. After each turn the other group has one."
        )
    assert overlaps(seen), (
        "A group hands over only when its softmax is done, so the other one never multiplies "
        "meanwhile. Hand over as soon as both products are ordered."
    )
    turns = [each.partition(" arrives at baton") for each in noted(watch_overlaps, fn)]
    late = [
        name for name, turn, rest in turns if turn and not rest.endswith(", 2 products under way")
    ]
    assert not late, (
        f"The values are right. But {late[0]} has waited before it hands over. Hand over as soon "
        "as both products are ordered."
    )


def overlaps(seen):
    """Does a group ever order products while the other one has some under way?"""
    under_way = {}
    for who, count in seen:
        under_way[who] = count
        if all(under_way.values()) and len(under_way) == 2:
            return True
    return False


FIRST_TILE = (
    "Before the first tile m is -inf and l is 0. The new m is finite, the larger one of m and of "
    "the maximum of each row. alpha is 2 to the power of m less the new m, so 0; p takes off the "
    "new m, and l gets the sum of each row of p."
)
CHECKS = {
    "two_products": Check(
        reference=two_products_ref,
        cases=[*PRODUCTS, *REFUSED],
        hidden=HIDDEN_PRODUCTS,
        asks=[
            launches(1),
            starts(lambda q, k, v, slots=2: -(-q.shape[2] // TILE) * q.shape[1] * q.shape[0]),
            from_the_last_rows,
            loads_run_ahead,
        ],
        tolerance=shared.close_enough,
        arch=90,
    ),
    "flash_ahead": Check(
        reference=attention_ref,
        cases=ATTENTION,
        hidden=HIDDEN_ATTENTION,
        asks=[launches(1), sums_keep_their_digits, two_under_way],
        tolerance=shared.close_enough,
        nan=FIRST_TILE,
        arch=90,
    ),
    "flash_gluon": Check(
        reference=attention_ref,
        # So many slots let one group get ahead of the other, if nothing holds it.
        cases=[*ATTENTION, attention_case("five tiles of keys, six slots", 520, slots=6)],
        hidden=HIDDEN_ATTENTION,
        asks=[launches(1), in_turns],
        tolerance=shared.close_enough,
        nan=FIRST_TILE,
        arch=90,
    ),
}
