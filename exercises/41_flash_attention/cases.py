"""What the checks of 41_flash_attention try: cases, references, and mistakes that have a name."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, tensor

from .page import SMALL_TILES


def scores_ref(q, k, causal, scale):
    """All scores, (B, H, Lq, Lk); the forbidden ones are -inf."""
    k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
    s = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        Lq, Lk = s.shape[-2:]
        row = torch.arange(Lq, device=s.device)[:, None]
        s = s.masked_fill(torch.arange(Lk, device=s.device) > row + Lk - Lq, float("-inf"))
    return s


def attention_ref(q, k, v, causal=False, scale=None):
    s = scores_ref(q, k, causal, scale)
    lse = torch.logsumexp(s, dim=-1)
    seen = torch.where(lse == float("-inf"), 0.0, lse)[..., None]
    v = v.repeat_interleave(q.shape[1] // v.shape[1], dim=1)
    return torch.exp(s - seen) @ v, lse.to(torch.promote_types(q.dtype, torch.float32))


def close_enough(dtype):
    """P is rounded to the dtype of V before the second product; float32 scores may be large."""
    step = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}.get(dtype, 5e-5)
    return Tolerance(step, of_row_max=step, absolute=1e-6, because=f"a rounding step of {step:.1e}")


def tiled_ref(q, k, v, block=16):
    return attention_ref(q, k, v)[0]


def growing_keys(generator, shape):
    """Keys whose scores grow from left to right: the largest score of a row comes late."""
    size = torch.linspace(0.1, 3.0, shape[-2], dtype=torch.float64)[:, None]
    return torch.randn(shape, generator=generator, dtype=torch.float64) * size


def huge_keys(generator, shape):
    return 1000 * growing_keys(generator, shape)


def in_tiles(q, k, v, causal=False, scale=None, fix_acc=True, fix_l=True, divide=True, block=16):
    """The method itself, with one of its parts left out."""
    s, acc = scores_ref(q, k, causal, scale), 0 * q
    v = v.repeat_interleave(q.shape[1] // v.shape[1], dim=1)
    m, l = torch.full_like(s[..., 0], float("-inf")), torch.zeros_like(s[..., 0])
    for start in range(0, s.shape[-1], block):
        s_tile = s[..., start : start + block]
        m_new = torch.maximum(m, s_tile.amax(dim=-1))
        base = torch.where(m_new == float("-inf"), 0.0, m_new)
        p, alpha = torch.exp(s_tile - base[..., None]), torch.exp(m - base)
        l = (l * alpha if fix_l else l) + p.sum(dim=-1)
        acc = (acc * alpha[..., None] if fix_acc else acc) + p @ v[:, :, start : start + block]
        m = m_new
    safe = torch.where(l == 0, 1.0, l)
    lse = (m + torch.log(safe)).to(torch.promote_types(q.dtype, torch.float32))
    return acc / safe[..., None] if divide else acc, lse


def left_out(**parts):
    return lambda q, k, v, *rest: in_tiles(q, k, v, *rest, **parts)


MISTAKES = {
    "acc-not-rescaled": (
        left_out(fix_acc=False),
        "When m grows, what is in acc was weighted with the old m: multiply it by exp(m - m_new).",
    ),
    "sum-not-rescaled": (
        left_out(fix_l=False),
        "When m grows, l was summed with the old m: multiply it by exp(m - m_new).",
    ),
    "not-divided": (left_out(divide=False), "The result is not divided by the sum l."),
    "scale-missing": (
        lambda q, k, v, causal=False, scale=None: attention_ref(q, k, v, causal, 1.0),
        "The scores are not multiplied by the scale.",
    ),
}

TILED_MISTAKES = {
    code: (lambda q, k, v, block=16, wrong=wrong: wrong(q, k, v)[0], sentence)
    for code, (wrong, sentence) in MISTAKES.items()
}


def never_all_scores(fn):
    """No tensor on the way may hold all scores."""

    class Watch(TorchDispatchMode):
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
    q, k, v = tensor(B, H, Lq, D), tensor(B, H, Lk, D, **more), tensor(B, H, Lk, D)
    return case(note, dtype="float64", q=q, k=k, v=v, block=block)


DESCRIBED_TILES = {"block_m": 16, "block_n": 32}  # for heads of 64; the interpreter can do it too


def attention_case(note, B, H, HK, Lq, Lk, D, causal=False, scale=None, **more):
    """A case with tiles of 16, unless options= says otherwise. keys: how k is drawn."""
    layout, keys = more.pop("layout", "contiguous"), more.pop("keys", {})
    options = more.pop("options", SMALL_TILES)
    q = tensor(B, H, Lq, D, layout=layout, **more.pop("queries", {}))
    k, v = tensor(B, HK, Lk, D, layout=layout, **keys), tensor(B, HK, Lk, D, layout=layout)
    return case(note, q=q, k=k, v=v, causal=causal, scale=scale, options=options, **more)


def other_mask(shift):
    """Causal with the diagonal moved by `shift(Lq, Lk)` keys."""

    def wrong(q, k, v, causal=False, scale=None):
        if not causal:
            return attention_ref(q, k, v, causal, scale)
        Lq, Lk = q.shape[2], k.shape[2]
        keep = Lk + shift(Lq, Lk)
        s = scores_ref(q, k, False, scale)
        row = torch.arange(Lq)[:, None]
        s = s.masked_fill(torch.arange(Lk) > row + keep - Lq, float("-inf"))
        lse = torch.logsumexp(s, dim=-1)
        p = torch.exp(s - torch.where(lse == float("-inf"), 0.0, lse)[..., None])
        v = v.repeat_interleave(q.shape[1] // v.shape[1], dim=1)
        return p @ v, lse

    return wrong


def other_scale(factor):
    def wrong(q, k, v, causal=False, scale=None):
        usual = q.shape[-1] ** -0.5 if scale is None else scale
        return attention_ref(q, k, v, causal, usual * factor)

    return wrong


def other_lse(change):
    def wrong(q, k, v, causal=False, scale=None):
        o, lse = attention_ref(q, k, v, causal, scale)
        return o, change(lse, q, k, causal, scale)

    return wrong


SUSPECTS = MISTAKES | {
    "log2e-missing": (
        other_scale(0.6931471805599453),
        "exp2 was given natural scores. The scale must include log2(e).",
    ),
    "log2e-twice": (other_scale(1.4426950408889634), "log2(e) is multiplied in twice."),
    "causal-ignored": (
        lambda q, k, v, causal=False, scale=None: attention_ref(q, k, v, False, scale),
        "Queries see keys that come after them: causal is ignored.",
    ),
    "causal-strict": (
        other_mask(lambda Lq, Lk: -1),
        "The diagonal is one key too far to the left: a query may see its own position.",
    ),
    "causal-one-too-far": (
        other_mask(lambda Lq, Lk: 1),
        "The diagonal is one key too far to the right.",
    ),
    "causal-top-left": (
        other_mask(lambda Lq, Lk: Lq - Lk),
        "Where Lq and Lk differ, the last query sees the last key: j <= i + Lk - Lq.",
    ),
    "lse-in-base-2": (
        other_lse(lambda lse, *_: lse * 1.4426950408889634),
        "lse is in base 2. Multiply by ln(2).",
    ),
    "lse-without-sum": (
        other_lse(lambda lse, q, k, causal, scale: scores_ref(q, k, causal, scale).amax(dim=-1)),
        "lse is the maximum alone. The log of the sum is missing.",
    ),
    "lse-without-max": (
        other_lse(lambda lse, q, k, c, scale: lse - scores_ref(q, k, c, scale).amax(dim=-1)),
        "lse is the log of the sum alone. The maximum is missing.",
    ),
}


def heads_behind_tokens(fn):
    """q, k and v as a model hands them over: (B, L, H, D) in memory."""
    q, k, v = torch.randn(3, 1, 9, 2, 16, device=DEVICE).transpose(2, 3).unbind(0)
    want = attention_ref(q, k, v, True)[0]
    got = fn(q, k, v, True, None, **SMALL_TILES)[0]
    close = torch.allclose(got, want, rtol=1e-3, atol=1e-4)
    assert close, "Wrong for q = x.transpose(1, 2): use the strides of each tensor."


TILED_CASES = [
    torch_case("one tile", 1, 2, 5, 16, 8),
    torch_case("three tiles and a rest", 1, 2, 20, 50, 8),
    torch_case("keys that grow", 2, 1, 9, 70, 16, values=growing_keys),
]

HIDDEN_TILED_CASES = [
    torch_case("one key", 1, 1, 3, 1, 4),
    torch_case("tiles of seven", 1, 2, 11, 30, 8, block=7),
    torch_case("large scores that grow", 1, 2, 6, 60, 8, values=huge_keys),
    torch_case("all scores far below zero", 1, 1, 4, 40, 4, mean=-300.0),
]

CASES = [
    attention_case("one tile", 1, 2, 2, 16, 16, 16),
    attention_case("odd lengths, causal", 2, 1, 1, 19, 19, 16, causal=True),
    attention_case("keys that grow", 1, 1, 1, 9, 40, 16, keys={"values": growing_keys}),
    attention_case("causal, fewer queries", 1, 1, 1, 18, 37, 16, causal=True),
    attention_case("causal, queries that see nothing", 1, 1, 1, 36, 22, 16, causal=True),
    attention_case("half precision, D = 40", 1, 1, 1, 20, 20, 40, causal=True, dtype="float16"),
    attention_case("memory with gaps", 1, 2, 2, 8, 20, 16, layout="strided"),
    attention_case(
        "keys through descriptors", 2, 2, 2, 9, 40, 64, dtype="float16", options=DESCRIBED_TILES
    ),
    attention_case("heads that differ", 1, 2, 1, 16, 16, 16, raises=ValueError),
]

HIDDEN_CASES = [
    attention_case("one query, one key", 1, 1, 1, 1, 1, 16),
    attention_case("one query of a long text", 1, 2, 2, 1, 50, 32, causal=True),
    attention_case(
        "large scores, growing",
        1,
        1,
        1,
        17,
        40,
        16,
        causal=True,
        keys={"values": growing_keys},
        queries={"scale": 100.0},
    ),
    attention_case(
        "tiles as they come", 1, 1, 1, 17, 100, 128, causal=True, options={}, dtype="float16"
    ),
    attention_case(
        "wide tiles of queries",
        1,
        1,
        1,
        35,
        35,
        16,
        causal=True,
        options={"block_m": 32, "block_n": 16},
    ),
    attention_case(
        "wide tiles of keys",
        1,
        1,
        1,
        20,
        40,
        16,
        causal=True,
        options={"block_m": 16, "block_n": 32},
    ),
    attention_case("two batches, two heads", 2, 2, 2, 3, 18, 16, causal=True),
    attention_case("another scale", 1, 1, 1, 16, 20, 16, scale=0.6),
    attention_case("transposed memory", 1, 2, 2, 8, 20, 16, layout="transposed", causal=True),
    attention_case(
        "all scores far below zero", 1, 1, 1, 8, 20, 16, keys={"mean": -5.0}, queries={"mean": 5.0}
    ),
    attention_case("a negative scale", 1, 1, 1, 16, 16, 16, scale=-1.0, raises=ValueError),
]


def shared_by(pick):
    """Attention where query head h reads key head pick(h, H, HK)."""

    def wrong(q, k, v, causal=False, scale=None):
        H, HK = q.shape[1], k.shape[1]
        chosen = [pick(h, H, HK) for h in range(H)]
        return attention_ref(q, k[:, chosen], v[:, chosen], causal, scale)

    return wrong


GQA_SUSPECTS = {
    "heads-modulo": (
        shared_by(lambda h, H, HK: h % HK),
        "Query head h reads key head h % HK. Heads of a group are neighbours: h // GROUP.",
    ),
    "first-head-only": (
        shared_by(lambda h, H, HK: 0),
        "All queries read the keys of head 0.",
    ),
    **SUSPECTS,
}

GQA_CASES = [
    attention_case("four heads share one", 1, 4, 1, 4, 16, 16),
    attention_case("two groups of three", 1, 6, 2, 7, 20, 16),
    attention_case("causal, two batches", 2, 4, 2, 11, 11, 16, causal=True),
    attention_case("one query of each head", 1, 8, 2, 1, 40, 16, causal=True),
    attention_case("no sharing", 1, 2, 2, 18, 18, 16, causal=True),
    attention_case("queries that see nothing", 1, 2, 1, 20, 9, 16, causal=True),
    attention_case(
        "keys through descriptors", 2, 4, 2, 5, 40, 64, dtype="float16", options=DESCRIBED_TILES
    ),
    attention_case("heads that do not share evenly", 1, 3, 2, 16, 16, 16, raises=ValueError),
]

HIDDEN_GQA_CASES = [
    attention_case("half precision, D = 40", 1, 4, 2, 9, 20, 40, causal=True, dtype="float16"),
    attention_case(
        "tiles as they come", 1, 8, 2, 5, 70, 64, causal=True, options={}, dtype="float16"
    ),
    attention_case("groups of five", 1, 5, 1, 7, 20, 16, causal=True),
    attention_case("keys that grow", 1, 2, 1, 6, 40, 16, keys={"values": growing_keys}),
    attention_case("memory with gaps", 1, 4, 2, 4, 20, 16, layout="strided"),
    attention_case("transposed memory", 1, 4, 2, 4, 20, 16, layout="transposed", causal=True),
    attention_case("one token, three batches", 3, 2, 1, 1, 1, 16, causal=True),
    attention_case("another scale", 1, 2, 1, 5, 20, 32, scale=0.3),
]

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
        mistakes=SUSPECTS,
        also=[heads_behind_tokens],
    ),
    "flash_gqa": Check(
        attention_ref,
        GQA_CASES,
        HIDDEN_GQA_CASES,
        launches=1,
        tolerance=close_enough,
        mistakes=GQA_SUSPECTS,
        also=[heads_behind_tokens],
    ),
}
