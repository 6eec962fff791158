"""Attention in a sliding window, with a sink and a soft cap, as models have it, in float16.

gpt-oss has sinks and a window of 128, Mistral 7B a window of 4,096, Gemma 2 27B the same and a cap.
"""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.op import Op, Problem, Provider, compiled, optional, peer, solution

NO_SINKS = "a sink is not in what it computes"
NO_CAP = "a cap is not in what it computes"


def formula(q, k, v, sinks, window, cap):
    """One query head and its key head: q [Lq, D], k and v [Lk, D], a sink."""
    s = q @ k.T * q.shape[-1] ** -0.5
    if cap:
        s = cap * torch.tanh(s / cap)
    s = s.masked_fill(~seen(q, k, window), float("-inf"))
    s = torch.cat((s, sinks.to(s).expand(len(s), 1)), dim=-1)
    return torch.softmax(s, dim=-1)[:, :-1] @ v


def seen(q, k, window):
    """Which keys each query sees, [Lq, Lk]; the last query sees the last key."""
    Lq, Lk = q.shape[-2], k.shape[-2]
    own = torch.arange(Lk - Lq, Lk, device=q.device)[:, None]
    age = own - torch.arange(Lk, device=q.device)
    return (age >= 0) & (age < window)


def last_head(q, k, v, sinks, window, cap):
    """The last head of the last batch alone: all of them would not fit in float64."""
    return formula(q[-1, -1], k[-1, -1], v[-1, -1], sinks[-1], window, cap)


def sdpa_with_a_mask():
    """The mask is made at the first call: a model makes it once for all its layers."""
    masks = []

    def forward(q, k, v, sinks, window, cap):
        if not masks:
            masks.append(seen(q, k, window))
        return scaled_dot_product_attention(q, k, v, attn_mask=masks[0], enable_gqa=True)

    return forward


def masked_flex(q, k, v, tiles, capped):
    return flex_attention(q, k, v, capped, tiles, enable_gqa=True)


def masked_flex_lse(q, k, v, tiles, capped):
    return flex_attention(q, k, v, capped, tiles, enable_gqa=True, return_lse=True)


def flex():
    """PyTorch's attention for a mask of one's own. What is empty is found at the first call. It
    knows no sinks: there its result is scaled by what they leave, which follows from its lse."""
    made = []

    def forward(q, k, v, sinks, window, cap):
        offset = k.shape[2] - q.shape[2]

        def sees(b, h, i, j):
            return (i + offset >= j) & (i + offset - j < window)

        def capped(score, b, h, i, j):
            return cap * torch.tanh(score / cap)

        if not made:
            scaled = bool(sinks.isfinite().any())
            tiles = create_block_mask(sees, None, None, q.shape[2], k.shape[2], device=q.device)
            attend = compiled(masked_flex_lse if scaled else masked_flex, dynamic=False).load()
            made.append((scaled, attend, tiles, capped if cap else None))
        scaled, attend, *masks = made[0]
        if not scaled:
            return attend(q, k, v, *masks)
        o, lse = attend(q, k, v, *masks)
        return (o * torch.sigmoid(lse - sinks[:, None])[..., None]).to(q.dtype)

    return forward


def _flash_attention(module):
    """FlashAttention-2's own package, which wants (B, L, H, D)."""

    def forward(q, k, v, sinks, window, cap):
        rows = (x.transpose(1, 2) for x in (q, k, v))
        o = module.flash_attn_func(
            *rows, causal=True, window_size=(window - 1, 0), softcap=cap or 0.0
        )
        return o.transpose(1, 2)

    return forward


def problem(model, B, H, HK, L, D, window, cap=None, sinks=False, **targets):
    def make(device):
        def drawn(*shape):
            return torch.randn(*shape, device=device, dtype=torch.float16)

        logits = torch.randn(H, device=device) if sinks else torch.full((H,), -torch.inf).to(device)
        return drawn(B, H, L, D), drawn(B, HK, L, D), drawn(B, HK, L, D), logits, window, cap

    scores = B * H * (L * min(window, L) - min(window, L) * (min(window, L) - 1) // 2)
    without = dict.fromkeys(("SDPA with a mask", "flash-attention-2"), NO_SINKS) if sinks else {}
    if cap:
        without["SDPA with a mask"] = NO_CAP
    return Problem(
        label=f"{model}: B{B} H{H}/{HK} S{L} D{D} window {window} f16",
        make=make,
        bytes=2 * 2 * B * L * D * (H + HK),
        flops=4 * scores * D,
        targets=targets,
        without=without,
    )


# --- one token


def exact_token(q, k_cache, v_cache, lengths, sinks, window, cap):
    """The last sequence alone."""
    group = q.shape[1] // k_cache.shape[1]
    length = int(lengths[-1])
    rows = [
        formula(
            q[-1, h : h + 1],
            k_cache[-1, h // group, :length],
            v_cache[-1, h // group, :length],
            sinks[h],
            window,
            cap,
        )
        for h in range(q.shape[1])
    ]
    return torch.cat(rows)


def sdpa_on_a_slice(q, k_cache, v_cache, lengths, sinks, window, cap):
    """All sequences are of one length, and the caches end there: the last keys are a view."""
    k, v = (cache[:, :, -window:] for cache in (k_cache, v_cache))
    return scaled_dot_product_attention(q[:, :, None], k, v, enable_gqa=True)[:, :, 0]


def _of_one_query(provider):
    """A way of flash_window's with one query for each head."""

    def load():
        forward = provider.load()
        return lambda q, k_cache, v_cache, lengths, sinks, window, cap: forward(
            q[:, :, None], k_cache, v_cache, sinks, window, cap
        )[:, :, 0]

    return Provider(load)


def token(model, B, H, HK, T, D, window, sinks=False, **targets):
    def make(device):
        q = torch.randn(B, H, D, device=device, dtype=torch.float16)
        caches = torch.randn(2, B, HK, T, D, device=device, dtype=torch.float16).unbind(0)
        lengths = torch.full((B,), T, device=device, dtype=torch.int32)
        logits = torch.randn(H, device=device) if sinks else torch.full((H,), -torch.inf).to(device)
        return q, *caches, lengths, logits, window, None

    without = dict.fromkeys(("SDPA with a mask", "SDPA on a slice"), NO_SINKS) if sinks else {}
    return Problem(
        label=f"{model}: B{B} S{T} H{H}/{HK} D{D} window {window} f16",
        make=make,
        bytes=2 * (2 * B * min(window, T) * HK * D + 2 * B * H * D) + 4 * (B + H),
        flops=4 * B * H * min(window, T) * D,
        targets=targets,
        without=without,
    )


OPS = [
    Op(
        name="flash_window",
        notebook="46_window_sinks",
        problems=[
            problem("gpt-oss", 1, 64, 8, 8192, 64, 128, sinks=True),
            problem("Mistral 7B", 1, 32, 8, 16384, 128, 4096),
            problem("Mistral 7B", 4, 32, 8, 4096, 128, 1024),
            problem("Gemma 2 27B", 1, 32, 16, 8192, 128, 4096, cap=50.0),
        ],
        exact=last_head,
        part=lambda result: result[-1, -1] if result.ndim == 4 else result,
        providers={
            "flash_window": solution("flash_window"),
            "SDPA with a mask": Provider(sdpa_with_a_mask),
            "flex attention": Provider(flex),
            "flash-attention-2": optional("flash_attn", _flash_attention),
        },
    ),
    Op(
        name="window_decode",
        notebook="46_window_sinks",
        problems=[
            token("gpt-oss", 64, 64, 8, 8192, 64, 128, sinks=True),
            token("Mistral 7B", 32, 32, 8, 16384, 128, 4096),
            token("Mistral 7B", 64, 32, 8, 8192, 128, 1024),
        ],
        exact=exact_token,
        part=lambda result: result[-1] if result.ndim == 3 else result,
        providers={
            "window_decode": solution("window_decode"),
            "SDPA on a slice": peer(sdpa_on_a_slice),
            "SDPA with a mask": _of_one_query(Provider(sdpa_with_a_mask)),
            "flex attention": _of_one_query(Provider(flex)),
        },
    ),
]
