"""What the checks of 65_gluon_attention try. Races and deadlocks are named by the simulator."""

import itertools
import math

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, tensor
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


def overlaps_of(fn):
    """What the simulator notes of three tiles of keys; a real GPU notes nothing."""
    q, k, v = (torch.ones(1, 1, 300, 16, dtype=torch.float16, device=DEVICE) for _ in range(3))
    with watch_overlaps() as seen:
        fn(q, k, v)
    return seen


def loads_run_ahead(fn):
    """Refuses a job that loads, and waits for what it loads."""
    waits = [each for each in overlaps_of(fn) if each.endswith("waits for its copies")]
    assert not waits, (
        f"The values are right. But {waits[0]}: so its next copy is not under way meanwhile. `put` "
        "waits for an empty slot, and who takes the tile waits for the copy."
    )


def rows_from(row):
    """The sum over tiles of 128 rows of K and V that begin at `row(tile, tiles)`."""

    def wrong(q, k, v):
        pad = (0, 0, 0, 2 * TILE)
        tiles, total = -(-q.shape[2] // TILE), torch.zeros_like(q)
        k, v = (shared.shared(torch.nn.functional.pad(x, pad), q.shape[1]) for x in (k, v))
        for tile in range(tiles):
            rows = slice(row(tile, tiles), row(tile, tiles) + TILE)
            total = total + q @ k[:, :, rows].transpose(-2, -1) @ v[:, :, rows]
        return total

    return wrong


def heads_by(place):
    """Query head h of batch b with the head of K and V at `place(b, h, share)`, or zeros."""

    def wrong(q, k, v):
        result = torch.zeros_like(q)
        for b, h in itertools.product(*map(range, q.shape[:2])):
            batch, head = place(b, h, q.shape[1] // k.shape[1])
            if batch < k.shape[0] and head < k.shape[1]:
                result[b, h] = q[b, h] @ k[batch, head].T @ v[batch, head]
        return result

    return wrong


WHICH_HEAD = "Query heads 0 to share - 1 have head 0 of K and V, the next ones head 1: "
PLACES = {
    "tile-for-row": (
        rows_from(lambda tile, tiles: tile),
        "Tiles are loaded from rows 0, 1, 2, ... and overlap. Tile t begins at row 128 * t.",
    ),
    "rows-too-close": (
        rows_from(lambda tile, tiles: tile * TILE // 2),
        "Each tile begins 64 rows after the one before it. A tile of keys or values has 128.",
    ),
    "one-tile-too-far": (
        rows_from(lambda tile, tiles: (tile + 1) * TILE),
        "Rows 0 to 127 are never loaded, and zeros from beyond the last row are. Step 0 wants tile "
        "steps - 1.",
    ),
    "same-rows": (
        rows_from(lambda tile, tiles: (tiles - 1) * TILE),
        "The last tile is loaded in every step.",
    ),
    "heads-not-shared": (
        heads_by(lambda b, h, share: (b, h)),
        WHICH_HEAD + "here each one has a head of its own number.",
    ),
    "heads-by-remainder": (
        heads_by(lambda b, h, share: (b, h % share)),
        WHICH_HEAD + "here it is the remainder.",
    ),
    "batch-for-head": (
        heads_by(lambda b, h, share: (h // share, b)),
        "Batch and head are exchanged: a place is [batch, head, row, 0].",
    ),
    "one-batch": (
        heads_by(lambda b, h, share: (0, h // share)),
        "Each batch gets the keys and values of batch 0.",
    ),
}


def attention_case(note, L, B=1, H=1, HK=1, D=16, causal=False, dtype="float16", k=None, **options):
    return case(
        note,
        q=tensor(B, H, L, D),
        k=tensor(B, HK, L, D, **(k or {})),
        v=tensor(B, HK, L, D),
        causal=causal,
        options=options,
        dtype=dtype,
    )


GROWING = {"values": shared.growing(60.0)}
FALLING = {"values": lambda generator, shape: shared.growing(5.0)(generator, shape).flip(-2)}

ATTENTION = [
    attention_case("three tiles of keys", 300),  # first: all gaps are met
    attention_case("one tile of keys", 128),
    attention_case("large scores in the last tile, which comes first", 300, k=GROWING),
    attention_case("large scores in the first tile, which comes last", 300, k=FALLING),
    attention_case("causal, five tiles", 520, causal=True, k=FALLING),
    attention_case("causal, three slots", 520, causal=True, slots=3),
    attention_case("no tile is full, causal", 40, causal=True),
    attention_case("two batches, six heads share two", 130, B=2, H=6, HK=2, D=32, causal=True),
    attention_case("bfloat16", 150, dtype="bfloat16"),
]
HIDDEN_ATTENTION = [
    attention_case("one token, causal", 1, causal=True),
    attention_case("heads of 64", 390, H=2, D=64, causal=True, k=FALLING),
    attention_case("five tiles, four slots", 550, slots=4),
]


def backwards(part):
    """The walk from the last tile of keys to the first, with one part left out or done wrong."""

    def wrong(q, k, v, causal=False):
        s = shared.scores_ref(q, k, causal).float()
        v = shared.shared(v, q.shape[1]).float()
        m = torch.full_like(s[..., 0], -math.inf)
        total, acc, before = torch.zeros_like(m), torch.zeros_like(q).float(), torch.ones_like(m)
        for start in reversed(range(0, s.shape[-1], TILE)):
            here = s[..., start : start + TILE]
            top = here.amax(-1)
            m_new = top if part == "running" else torch.maximum(m, top)
            m_new = torch.where(top == -math.inf, m, m_new)  # no program visits it
            m_new = torch.zeros_like(m) if part == "maximum" else m_new
            if part == "raw":  # the maximum of q @ k.T, taken for one of s * scale
                m_new = torch.maximum(m, top * q.shape[-1] ** 0.5 / shared.LOG2_E)
                m_new = torch.where(top == -math.inf, m, m_new)
            base = torch.where(m_new == -math.inf, 0.0, m_new)
            own = torch.where(top == -math.inf, 0.0, top)
            off = {"p": 0 * base, "p of the tile": own}.get(part, base)
            p = torch.exp((here - off[..., None]) * (shared.LOG2_E if part == "p by exp" else 1))
            alpha = torch.exp((m - base) * (shared.LOG2_E if part == "alpha by exp" else 1))
            alpha = torch.ones_like(alpha) if part in ("maximum", "m first") else alpha
            alpha = 1 / alpha if part == "upside down" else alpha
            first = m == -math.inf
            factor = {
                "acc": torch.ones_like(alpha),
                "late": before,
                "new acc": alpha if start == 0 else torch.zeros_like(alpha),  # `end` adds
                "divided": torch.where(first, 0.0, 1 / alpha),
            }.get(part, alpha)
            kept = {"l": 1, "new l": torch.where(top == -math.inf, 1.0, 0.0)}.get(part, alpha)
            visited = (top != -math.inf) & (start + TILE < s.shape[-1])  # `begin` is no step
            again = torch.where(visited, alpha, 1.0)
            total = total * kept + p.sum(-1) * (again if part == "sum too" else 1)
            total = total * (again if part == "l again" else 1)
            p = p.half().float() if part == "raw" else p
            acc = acc * factor[..., None] + p @ v[:, :, start : start + TILE]
            m, before = torch.where(first, m_new, m) if part == "first" else m_new, alpha
        return acc / total[..., None]

    return wrong


def other_scale(factor):
    return lambda q, k, v, causal=False: attention_ref(q * factor(q.shape[-1]), k, v, causal)


MISTAKES = {
    "nan": (
        lambda q, k, v, causal=False: q * math.nan,
        "Before the first tile m is -inf and l is 0. The new m is finite, the larger one of m and "
        "of the maximum of each row. alpha is 2 to the power of m less the new m, so 0; p takes "
        "off the new m, and l gets the sum of each row of p.",
    ),
    "acc-not-rescaled": (
        backwards("acc"),
        "acc still belongs to the old maximum when the next output is added. Once it is finished, "
        "multiply it by alpha.",
    ),
    "output-forgotten": (
        backwards("new acc"),
        "The outputs of all steps but the last two are lost: each product is added to acc.",
    ),
    "acc-divided": (
        backwards("divided"),
        "acc is divided by alpha. It is multiplied by it, as l is.",
    ),
    "m-not-kept": (
        backwards("first"),
        "m stays the maximum of the first tile. softmax_step returns the new one: keep it.",
    ),
    "maximum-not-scaled": (
        backwards("raw"),
        "The maximum of s is taken for m without `scale`. m is in units of s * scale.",
    ),
    "l-not-rescaled": (
        backwards("l"),
        "l still belongs to the old maximum when the new sum is added: l * alpha comes first.",
    ),
    "no-running-maximum": (
        backwards("running"),
        "The new m is the maximum of this tile alone. The one before counts too.",
    ),
    "m-updated-first": (
        backwards("m first"),
        "alpha is 1 in each step: m holds the new maximum already when alpha is computed.",
    ),
    "sum-times-alpha": (
        backwards("sum too"),
        "The sum of this tile is multiplied by alpha, too. Only what came before is.",
    ),
    "l-rescaled-again": (
        backwards("l again"),
        "l is multiplied by alpha once more, and this tile's sum with it.",
    ),
    "p-of-the-tile": (
        backwards("p of the tile"),
        "p takes off the maximum of its own tile. It is the new m, as in alpha.",
    ),
    "exp-in-p": (
        backwards("p by exp"),
        "p is a power of e, or has log2(e) once more: `scale` has it for powers of 2.",
    ),
    "exp-in-alpha": (
        backwards("alpha by exp"),
        "alpha is a power of e, or has log2(e) once more: m is in units for powers of 2.",
    ),
    "l-forgotten": (
        backwards("new l"),
        "l is the sum of this tile alone: what came before, times alpha, belongs to it.",
    ),
    "no-maximum": (
        backwards("p"),
        "No maximum is taken off before the exponential: large scores leave the range of floats.",
    ),
    "alpha-upside-down": (
        backwards("upside down"),
        "alpha is turned over: it is the old maximum less the new one, and 1 at the most.",
    ),
    "not-scaled": (
        other_scale(lambda D: D**0.5 / shared.LOG2_E),
        "The scores are not multiplied by `scale` before the exponential.",
    ),
    "exp-for-exp2": (
        other_scale(lambda D: shared.LOG2_E),
        "The exponents have log2(e) once too often. `scale` holds it, for powers of 2.",
    ),
}


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


def products_of(fn):
    """What the simulator notes of the products of three tiles of keys."""
    q, k, v = (torch.ones(1, 1, 300, 16, dtype=torch.float16, device=DEVICE) for _ in range(3))
    with watch_products() as seen:
        fn(q, k, v)
    return seen


def two_under_way(fn):
    """Refuses products that are waited for one by one. A GPU tells nobody."""
    if DEVICE == "cuda":
        return
    seen = products_of(fn)
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
    seen, orders, last = products_of(fn), [], {}
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
    turns = [each for each in overlaps_of(fn) if " arrives at baton" in each]
    late = [each for each in turns if not each.endswith(", 2 products under way")]
    assert not late, (
        f"The values are right. But {late[0]}: it has waited before it hands over. Hand over as "
        "soon as both products are ordered."
    )


def overlaps(seen):
    """Does a group ever order products while the other one has some under way?"""
    under_way = {}
    for who, count in seen:
        under_way[who] = count
        if all(under_way.values()) and len(under_way) == 2:
            return True
    return False


CHECKS = {
    "two_products": Check(
        reference=two_products_ref,
        cases=[*PRODUCTS, *REFUSED],
        hidden=HIDDEN_PRODUCTS,
        launches=1,
        tolerance=shared.close_enough,
        programs=lambda q, k, v, slots=2: -(-q.shape[2] // TILE) * q.shape[1] * q.shape[0],
        mistakes=PLACES,
        also=(from_the_last_rows, loads_run_ahead),
        arch=90,
    ),
    "flash_ahead": Check(
        reference=attention_ref,
        cases=ATTENTION,
        hidden=HIDDEN_ATTENTION,
        launches=1,
        tolerance=shared.close_enough,
        mistakes=MISTAKES,
        also=(sums_keep_their_digits, two_under_way),
        arch=90,
    ),
    "flash_gluon": Check(
        reference=attention_ref,
        # So many slots let one group get ahead of the other, if nothing holds it.
        cases=[*ATTENTION, attention_case("five tiles of keys, six slots", 520, slots=6)],
        hidden=HIDDEN_ATTENTION,
        launches=1,
        tolerance=shared.close_enough,
        mistakes=MISTAKES,
        also=(in_turns,),
        arch=90,
    ),
}
