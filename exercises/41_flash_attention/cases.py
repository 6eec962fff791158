"""What the checks of 41_flash_attention try: cases, and mistakes that have a name."""

import torch

from tritonbook import DEVICE, traffic
from tritonbook.checking import Check, case, tensor
from tritonbook.port.dispatch import DispatchMode
from tritonbook.seeing.tiles import CannotShow

from ..shared.attention import (
    DEEP,
    LN_2,
    LOG2_E,
    Tile,
    all_scores,
    careless_softmax_of,
    close_enough,
    counted,
    growing,
    hill,
    in_steps,
    in_visited_tiles,
    kernel_mistakes,
    method_mistakes,
    other_arguments,
    scale_of,
    times_visited,
    without,
)
from .page import attention_ref, attention_tile

# --- attention_tiled_torch


def tiled_ref(q, k, v, block=16):
    return attention_ref(q, k, v, False)[0]


def in_tiles_of_16(formula):
    return lambda q, k, v, block=16: formula(q, k, v)[0]


def softmax_of_each_tile(q, k, v, block=16):
    """Each tile's own attention, weighted as if each sum were the whole one."""
    tiles = range(0, k.shape[2], block)
    cut = [(k[:, :, start : start + block], v[:, :, start : start + block]) for start in tiles]
    return sum(tiled_ref(q, k_tile, v_tile) for k_tile, v_tile in cut)


def keys_of(pick):
    """Attention that sees the keys pick(number of keys, block), a slice, alone."""

    def wrong(q, k, v, block=16):
        keys = pick(k.shape[2], block)
        return tiled_ref(q, k[:, :, keys], v[:, :, keys]) if k[:, :, keys].numel() else 0 * q

    return wrong


def keys_counted(times):
    """Each key counts times(keys, their number, block) times: 0, 1, 2, ..."""

    def wrong(q, k, v, block=16):
        number = times(torch.arange(k.shape[2]), k.shape[2], block).to(q.dtype)
        return torch.softmax(all_scores(q, k) + torch.log(number), dim=-1) @ v

    return wrong


def keys_of_the_first_tiles(q, k, v, block=16):
    """As many tiles of keys as there are tiles of queries."""
    keys = -(-q.shape[2] // block) * block
    return tiled_ref(q, k[:, :, :keys], v[:, :, :keys])


def all_nan(q, k, v, causal=False):
    """NaN everywhere, where no score is so large that it could have come of an overflow."""
    o, lse = attention_ref(q, k, v, causal)
    never = float("nan") if lse.abs().max() < 50 else 0.0
    return o + never, lse + never


MINUS_INFINITY_MET = (
    "Minus infinity minus itself is NaN, and so is 0 / 0. Is the new m the larger of the old one "
    "and the scores? Is the factor exp(m_old - m_new), in this order, and do the weights subtract "
    "the new m? Does a query see any key of the first tile? Is a tile visited at all, and nothing "
    "but a score minus infinity?"
)

TILED_MISTAKES = {
    code: (in_tiles_of_16(formula), sentence)
    for code, (formula, sentence) in method_mistakes(16, work=None).items()
} | {
    "softmax-of-each-tile": (
        softmax_of_each_tile,
        "Each tile got a softmax of its own. Keep the sum l over all tiles, and divide once at the "
        "end.",
    ),
    "last-tile-only": (
        keys_of(lambda n, block: slice((n - 1) // block * block, n)),
        "Only the last tile counts. Do l and acc start again with each tile, or is the new m never "
        "kept? Then the factor is exp(-inf), always 0.",
    ),
    "first-tile-only": (
        keys_of(lambda n, block: slice(0, block)),
        "Only the first tile counts. How many keys are there? They are dimension 2 of k. Or does "
        "`return` stand inside the loop?",
    ),
    "tiles-of-queries-counted": (
        keys_of_the_first_tiles,
        "The walk has as many tiles as the queries need. It is a walk over keys, dimension 2 of k.",
    ),
    "nothing-added": (
        lambda q, k, v, block=16: 0 * q,
        "The result is 0 everywhere: nothing is ever added to acc, or the factor is applied to it. "
        "The factor, 0 in the first tile, is for what was there before.",
    ),
    "sum-of-everything": (
        in_tiles_of_16(without("sum of all", 16, None)),
        "l adds up the weights of all queries and heads. Each query has a sum of its own: dim=-1.",
    ),
    "maximum-of-everything": (
        in_tiles_of_16(without("top of all", 16, None)),
        "The maximum is that of all queries and heads, and the weights of a query whose scores are "
        "far smaller are all 0. Each query has its own: dim=-1.",
    ),
    "nan": (in_tiles_of_16(all_nan), MINUS_INFINITY_MET),
    "rest-dropped": (
        keys_of(lambda n, block: slice(0, n // block * block)),
        "The last keys never take part: their number is not a multiple of `block`.",
    ),
    "maximum-not-scaled": (
        in_tiles_of_16(without("bare maximum", 16, None)),
        "m is the largest bare product of q and k, and is subtracted from scaled scores: the "
        "weights become 0, or infinite. Scale before the maximum.",
    ),
    "factor-not-scaled": (
        in_tiles_of_16(without("bare factor", 16)),
        "The weights are scaled, and the m in the factor is not. Scale before the maximum.",
    ),
    "keys-for-values": (
        lambda q, k, v, block=16: attention_ref(q, k, k, False)[0],
        "The weights are right, and what they weight is K instead of V.",
    ),
    "start-in-steps-of-one": (
        keys_counted(lambda keys, n, block: times_visited(keys, torch.tensor(n), block)),
        "Each step of the walk goes on by one key, so the tiles overlap: the third argument of "
        "`range` is the step.",
    ),
    "start-counts-steps": (
        keys_counted(
            lambda keys, n, block: times_visited(keys, torch.tensor(-(-n // block)), block)
        ),
        "`start` counts 0, 1, 2 ... up to the number of tiles, so the tiles overlap. It is a "
        "number of keys.",
    ),
    "start-counts-full-steps": (
        keys_counted(lambda keys, n, block: times_visited(keys, torch.tensor(n // block), block)),
        "`start` counts 0, 1, 2 ... up to the number of full tiles, so the tiles overlap. It is a "
        "number of keys.",
    ),
    "tiles-without-end": (
        keys_counted(lambda keys, n, block: keys // block + 1),
        "Each tile goes on to the last key. It ends at start + block.",
    ),
    "tiles-one-short": (
        keys_counted(lambda keys, n, block: (keys + 1) % block > 0),
        "The last key of each tile is left out. The end of a slice does not belong to it: start + "
        "block is right.",
    ),
    "tiles-one-long": (
        keys_counted(lambda keys, n, block: 1 + ((keys % block == 0) & (keys > 0))),
        "The first key of each tile belongs to the one before it too. The end of a slice does not "
        "belong to it: start + block is right.",
    ),
}


def never_all_scores(fn):
    """No tensor on the way may hold all scores."""

    class Watch(DispatchMode):
        largest = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            if isinstance(made, torch.Tensor) and made.is_floating_point():
                self.largest = max(self.largest, made.numel())
            return made

    q, k, v = (torch.randn(1, 2, 64, 8, dtype=torch.float64) for _ in range(3))
    with Watch() as watch:
        fn(q, k, v, 16)
    assert watch.largest < 2 * 64 * 64, "A tensor with all Lq x Lk scores was made."


def torch_case(note, B, H, Lq, Lk, D, block=16, **more):
    q = tensor(B, H, Lq, D, **more.pop("queries", {}))
    k, v = tensor(B, H, Lk, D, **more), tensor(B, H, Lk, D)
    return case(note, dtype="float64", q=q, k=k, v=v, block=block)


TILED_CASES = [
    torch_case("one tile", 1, 2, 5, 16, 8),
    torch_case("three tiles and a rest", 1, 2, 20, 50, 8),
    torch_case("tiles of five", 1, 1, 4, 18, 8, block=5),
    torch_case("scores that grow", 2, 1, 9, 70, 16, values=growing(3.0)),
    # Not so large that an exponential overflows without a maximum: a wrong maximum shows alone.
    torch_case("scores of some hundreds", 1, 1, 9, 70, 16, values=growing(150.0)),
    torch_case("large scores that grow", 1, 1, 9, 70, 16, values=growing(2000.0)),
    torch_case("large scores, the largest in the middle", 1, 2, 6, 80, 8, values=hill(2000.0)),
    torch_case("all scores far below zero", 1, 1, 4, 40, 8, mean=-30.0, queries={"mean": 30.0}),
    torch_case(
        "scores of -2^30 that grow",
        *(1, 1, 4, 40, 16),
        queries=DEEP["queries"],
        **DEEP["keys"],
    ),
]

HIDDEN_TILED_CASES = [
    torch_case("one key", 1, 1, 3, 1, 4),
    torch_case("tiles of seven", 1, 2, 11, 30, 8, block=7),
    torch_case("larger scores that grow", 1, 2, 6, 60, 8, values=growing(3000.0)),
    torch_case("scores farther below zero", 1, 2, 3, 30, 16, mean=-40.0, queries={"mean": 30.0}),
]

# --- flash_fwd


FAR_BELOW = {"queries": {"mean": 8.0}, "keys": {"mean": -8.0}}


def heads(note, B, H, L, D, causal=True, **more):
    """A case of contiguous q, k and v. queries, keys: how they are drawn."""
    q, k = (tensor(B, H, L, D, **more.pop(name, {})) for name in ("queries", "keys"))
    return case(note, q=q, k=k, v=tensor(B, H, L, D), causal=causal, **more)


CASES = [
    heads("one tile, every key seen", 1, 2, 32, 16, causal=False),
    heads("three tiles and a rest, causal", 2, 2, 75, 32),
    heads("every key seen, a ragged end", 1, 2, 50, 16, causal=False),
    heads("large scores that grow", 1, 1, 100, 16, keys={"values": growing(150.0)}),
    heads(
        "large scores, the largest in the middle",
        1,
        1,
        96,
        16,
        causal=False,
        keys={"values": hill(150.0)},
    ),
    heads("all scores far below zero", 1, 1, 40, 16, **FAR_BELOW),
    heads("scores of -2^30 that grow", 1, 1, 40, 16, **DEEP),
    heads("half precision, causal", 1, 2, 150, 64, dtype="float16"),
    heads("fewer tokens than a tile", 1, 3, 5, 16),
    case(
        "k longer than q",
        q=tensor(1, 1, 20, 16),
        k=tensor(1, 1, 24, 16),
        v=tensor(1, 1, 24, 16),
        causal=True,
        raises=ValueError,
    ),
    case(
        "memory with gaps",
        q=tensor(1, 2, 20, 16, layout="strided"),
        k=tensor(1, 2, 20, 16),
        v=tensor(1, 2, 20, 16),
        causal=True,
        raises=ValueError,
    ),
    heads("no tokens", 1, 2, 0, 16),
    heads("an odd head dimension", 1, 1, 20, 24, raises=ValueError),
]

HIDDEN_CASES = [
    heads("one token", 1, 1, 1, 16),
    heads("one token less than two tiles", 1, 2, 63, 16),
    heads("one token more than two tiles", 2, 1, 65, 64, causal=False),
    heads("large heads, half precision", 1, 1, 200, 128, dtype="float16"),
    heads("bfloat16, every key seen", 2, 1, 130, 32, causal=False, dtype="bfloat16"),
    heads("large scores, causal", 1, 2, 90, 16, keys={"values": hill(120.0)}),
    heads(
        "scores that grow, half precision",
        1,
        1,
        300,
        16,
        dtype="float16",
        keys={"values": growing(3.0)},
    ),
    heads("scores far below zero, every key seen", 1, 1, 50, 16, causal=False, **FAR_BELOW),
]


def tile_of(dtype):
    sizes = attention_tile(torch.empty(0, dtype=dtype))
    return Tile(sizes["BLOCK_M"], sizes["BLOCK_N"])


def on_this_tile(code):
    """A known mistake in the tile that the page gives for the case's dtype."""

    def wrong(q, k, v, causal=True, *, dtype):
        return kernel_mistakes(tile_of(dtype))[code][0](q, k, v, causal)

    return wrong


def of_another_width(code, width):
    """The same with tiles of the learner's own choice."""
    return lambda q, k, v, causal=True: method_mistakes(width)[code][0](q, k, v, causal)


def heads_begin(x, step):
    """x where each head is read from its number times `step` on, as it lies in memory."""
    B, H, L, D = x.shape
    at = torch.arange(B * H)[:, None] * step + torch.arange(L * D)
    return x.flatten()[at].view(x.shape)


def other_heads(names, step):
    """Heads of k or v, or of both, that begin elsewhere. step: of (L, D)."""

    def change(q, k, v, causal):
        read = {name: heads_begin(x, step(*x.shape[2:])) for name, x in (("k", k), ("v", v))}
        return q, *(read[n] if n in names else x for n, x in (("k", k), ("v", v))), causal

    return other_arguments(change)


def zero_from_D_on(x):
    return torch.where((torch.arange(x.shape[2]) < x.shape[3])[:, None], x, 0.0)


ADDRESS_MISTAKES = {
    f"{what.replace(' ', '-')}-of-head-times-{step}": (
        other_heads(names, {"0": lambda L, D: 0, "L": lambda L, D: L, "D": lambda L, D: D}[step]),
        f"A head of {what} begins at element head * L * D. Here it begins at "
        + ("0: all heads read the first one." if step == "0" else f"head * {step}."),
    )
    for what, names in (("k", "k"), ("v", "v"), ("k and v", "kv"))
    for step in ("0", "L", "D")
    if (names, step) != ("kv", "0")  # first-head-only
} | {
    "rows-one-apart": (
        other_arguments(lambda q, k, v, causal: (q, in_steps(k, 1, 1), in_steps(v, 1, 1), causal)),
        "The rows of K and V are read one element apart. A row has D elements: cols * D.",
    ),
    "keys-masked-by-D": (
        other_arguments(lambda q, k, v, causal: (q, zero_from_D_on(k), zero_from_D_on(v), causal)),
        "Rows of K and V from number D on are never loaded. Their mask compares the key's number "
        "with L.",
    ),
}


def in_the_tile(*of):
    """The mask compares numbers within the tile, those of `of`: "rows", "cols", or both."""

    def wrong(q, k, v, causal=True, *, dtype):
        tile = tile_of(dtype)

        def score(s, keys, seen):
            rows = torch.arange(q.shape[2])[:, None]
            row, key = (
                rows % tile.M if "rows" in of else rows,
                keys % tile.N if "cols" in of else keys,
            )
            return s.masked_fill((key > row) | (keys >= k.shape[2]), float("-inf"))

        formula = in_visited_tiles(tile, score, careless_softmax_of) if causal else attention_ref
        return formula(q, k, v, causal)

    return wrong


def one_key_too_far(q, k, v, causal=True, *, dtype):
    """As "causal-one-too-far", with a mask at the end of the keys besides."""

    def score(s, keys, seen):
        return s.masked_fill((keys > seen) | (keys >= k.shape[2]), float("-inf"))

    return in_visited_tiles(tile_of(dtype), score)(q, k, v, causal)


def visited(times, causal_only=False):
    """Each key counts times(keys, rows, tile, walk) times, as far as its query sees it."""

    def wrong(q, k, v, causal=True, *, dtype):
        tile, rows = tile_of(dtype), torch.arange(q.shape[2])[:, None]
        formula = counted(
            tile, lambda keys, seen, walk: times(keys, rows, tile, walk) * (keys < seen)
        )
        return (formula if causal or not causal_only else attention_ref)(q, k, v, causal)

    return wrong


def lse_of(change):
    """lse from m, the log of l, and the scale."""

    def wrong(q, k, v, causal=True):
        o, lse = attention_ref(q, k, v, causal)
        s = all_scores(q, k)
        if causal:
            s = s.masked_fill(torch.ones_like(s).triu(1) > 0, float("-inf"))
        m = s.amax(dim=-1)
        return o, change(m, lse - m, scale_of(q, None))

    return wrong


def rounded_query(q, k, v, causal=True, *, dtype):
    """q times the scale in the dtype of q: Triton rounds the number to it, and the product."""
    scale = LOG2_E * scale_of(q, None)
    scaled = q.to(dtype) * torch.tensor(scale, dtype=dtype)
    return attention_ref(scaled.to(q.dtype) * (LN_2 / scale_of(q, None)), k, v, causal)


SLOPPY_MISTAKES = {
    f"diagonal-in-the-tile-{'-'.join(of)}": (
        in_the_tile(*of),
        "The diagonal mask compares places within a tile, "
        + " and ".join({"rows": "of the queries", "cols": "of the keys"}[each] for each in of)
        + ". It compares positions in the text: a query's is pid_m * BLOCK_M + ..., a key's start "
        "+ ....",
    )
    for of in (("rows",), ("cols",), ("rows", "cols"))
} | {
    "diagonal-one-too-far": (
        one_key_too_far,
        "The diagonal is one key too far to the right: query i sees key j only if j <= i.",
    ),
    "walk-ends-in-tiles-of-keys": (
        visited(lambda keys, rows, tile, walk: keys < (rows // tile.M + 1) * tile.N, True),
        "The walk of program pid_m ends at key (pid_m + 1) * BLOCK_N. Its last query is number "
        "(pid_m + 1) * BLOCK_M - 1.",
    ),
    "rest-dropped": (
        visited(lambda keys, rows, tile, walk: keys < walk().end // tile.N * tile.N),
        "The walk drops the last keys, where they do not fill a tile. The mask is for them: round "
        "up, not down.",
    ),
    "heads-transposed": (
        other_arguments(
            lambda q, k, v, causal: (q, *(in_steps(x, 1, x.shape[2]) for x in (k, v)), causal)
        ),
        "K and V are read as if a column were contiguous: element d of key j lies at j * D + d.",
    ),
    "lse-maximum-multiplied-by-log2e": (
        lse_of(lambda m, log_l, scale: m * LOG2_E**2 + log_l),
        "m is in base 2 and is multiplied by log2(e), or divided by ln(2), once more. ln(2) "
        "times m is in base e.",
    ),
    "lse-natural-maximum-times-ln2": (
        lse_of(lambda m, log_l, scale: m * LN_2 + log_l),
        "The m in lse is multiplied by ln(2) once too often. Is it natural already, with exp for "
        "exp2?",
    ),
    "lse-maximum-unscaled": (
        lse_of(lambda m, log_l, scale: m / scale * LN_2 + log_l),
        "The m in lse is the largest bare product of q and k times ln(2): the scale, with its "
        "log2(e), is missing.",
    ),
    "lse-maximum-bare": (
        lse_of(lambda m, log_l, scale: m / scale + log_l),
        "The m in lse is the largest bare product of q and k: the scale is missing.",
    ),
    "lse-without-any-logarithm": (
        lse_of(lambda m, log_l, scale: torch.exp(m + log_l)),
        "lse holds the sum of exp(s) itself. It is the logarithm of that sum: m plus the log of l.",
    ),
    "factor-not-scaled": (
        lambda q, k, v, causal=True, *, dtype: without("bare factor in base 2", tile_of(dtype).N)(
            q, k, v, causal
        ),
        "The weights are scaled, and the m in the factor is not. Scale both, or the scores before "
        "the maximum.",
    ),
    "rounded-early": (
        rounded_query,
        "The result is nearly right: something is rounded to half precision too early. Is it q "
        "times the scale, or p before it is summed? Scores and sums stay in float32.",
    ),
}

FLASH_MISTAKES = (
    {
        code: (on_this_tile(code), sentence)
        for code, (_, sentence) in kernel_mistakes(Tile(16, 16)).items()
    }
    | {
        f"{code}-{width}": (of_another_width(code, width), method_mistakes(width)[code][1])
        for code in ("acc-not-rescaled", "sum-not-rescaled", "nothing-rescaled")
        for width in (16, 128)
    }
    | ADDRESS_MISTAKES
    | SLOPPY_MISTAKES
    | {"nan": (all_nan, MINUS_INFINITY_MET)}
)

EARLY = 256  # queries that must not depend on later values


def stops_at_the_diagonal(fn):
    """NaN in every later value: 0 times NaN would show in a program that comes near it."""
    generator = torch.Generator().manual_seed(5)
    q, k, v = torch.randn(3, 1, 1, 300, 16, generator=generator).half().unbind(0)
    want = attention_ref(q.float(), k.float(), v.float())[0][:, :, :EARLY]
    v[:, :, EARLY:] = float("nan")
    got = fn(q.to(DEVICE), k.to(DEVICE), v.to(DEVICE), True)[0][:, :, :EARLY].float().cpu()
    early = got.isfinite().all(dim=-1)
    assert bool(early.all()), (
        f"Query {int((~early).flatten().nonzero()[0])} comes out as NaN where v holds NaN from row "
        f"{EARLY} on. A causal program has to stop at the tile of its last query: it reads tiles "
        "of keys that lie wholly above the diagonal."
    )
    assert torch.allclose(got, want, rtol=1e-2, atol=1e-2), (
        "Wrong values for 300 queries in float16."
    )


LOST = 9  # tiles of 64 keys: enough for what each adds to get lost


def acc_in_float32(fn):
    """All keys weigh the same, those of the first tile have large values, and what each later tile
    adds is less than half a step of float16 there: 0.45, where acc is 2,048 and a step is 2."""
    q, k = torch.zeros(2, 1, 1, LOST * 64, 16, dtype=torch.float16).unbind(0)
    v = torch.full_like(q, 0.45 / 64)
    v[:, :, :64] = 32.0
    v[..., 8:] = 1000.0  # and these columns of acc come to more than float16 holds
    want = v.float().mean(dim=2, keepdim=True)
    got = fn(q.to(DEVICE), k.to(DEVICE), v.to(DEVICE), False)[0].float().cpu()
    errors = ((got - want).abs() / want).nan_to_num(nan=torch.inf)
    error = errors[..., :8].max().item()
    assert error < 2**-10, (
        f"{LOST * 64} keys of one weight in float16: the result is {error:.1%} off. What each tile "
        "adds is small beside what acc holds, and gets lost in half precision. Keep acc and l in "
        "float32."
    )
    assert errors.max().item() < 2**-10, (
        f"{LOST * 64} keys of one weight and values of 1,000 in float16: acc passes 65,504, the "
        "largest number of float16, and the result is not 1,000. Divide by l in float32, then "
        "convert."
    )


LONG = 512


def reads_what_it_needs(fn):
    """Rows of k that all programs read. P programs that walk over all keys read P times L; where
    each has queries, its tile is smaller than L / (P - 1). 128: the largest tile of keys."""
    q, k, v = (torch.zeros(1, 1, LONG, 16, dtype=torch.float16, device=DEVICE) for _ in range(3))
    try:
        seen = [traffic(fn, q, k, v, causal) for causal in (False, True)]
    except CannotShow:
        return
    for tensor_seen in seen[0].tensors:
        times = tensor_seen.written / max(tensor_seen.written_distinct, 1)
        assert times <= 1, (
            f"`{tensor_seen.name}` is stored {times:.0f} times. The stores stand behind the loop."
        )
    # k is the second argument. In the grader it has another name.
    every, causal = (each.tensors[1].read // (16 * 2) for each in seen)
    programs = max(every // LONG, 1)
    tile = LONG / max(programs - 1, 1)
    most = sum(min(LONG, (number + 1) * tile + 128) for number in range(programs))
    assert causal <= most, (
        f"For {LONG} queries your {programs} programs read {causal:,} rows of k with causal=True, "
        f"and {every:,} without. If each has its share of the queries and stops at the diagonal, "
        f"{int(most):,} are enough. Are there programs without queries (the grid is cdiv(L, "
        "BLOCK_M)), or does a walk go on behind the diagonal?"
    )


CHECKS = {
    "attention_tiled_torch": Check(
        tiled_ref,
        TILED_CASES,
        HIDDEN_TILED_CASES,
        triton=False,
        mistakes=TILED_MISTAKES,
        also=[never_all_scores],
    ),
    "flash_fwd": Check(
        attention_ref,
        CASES,
        HIDDEN_CASES,
        launches=1,
        tolerance=close_enough,
        mistakes=FLASH_MISTAKES,
        no_tf32=True,
        int64=("q", "k", "v"),
        also=[stops_at_the_diagonal, reads_what_it_needs, acc_in_float32],
    ),
}
