"""What the checks of 45_llama_decode_train try: cases, references, and mistakes with a name."""

import functools

import torch

from tritonbook.checking import Check, Tolerance, case, rounded_once, tensor

from ..shared.llama import (
    KERNELS_WORK,
    PRODUCTS,
    attend,
    attention_ref,
    block_arguments,
    block_ref,
    close_enough,
    cut_heads,
    join_heads,
    norm,
    only_products,
    silu_mul,
    turn,
)
from .page import EPS

# --- one token more


def decode_ref(*arguments):
    """The whole layer at once: what the steps must add up to."""
    return block_ref(*arguments[:-1])


def stepwise(
    x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, cos, sin, heads, kv_heads, prefill,
    *, offset=lambda position, L: position, kept=lambda raw, turned: turned,
    places=lambda position, L: slice(position, position + L), stored="kv",
    read=lambda position, L: slice(0, position + L), seen=attend, asked=lambda raw, turned: turned,
    fresh=False, kept_keys="k", kept_values="v",
):  # fmt: skip
    """Step by step with a cache, fresh memory as NaN; the keyword arguments are for mistakes.

    offset: where RoPE believes the step to stand. kept, asked: keys that are kept and queries that
    ask, before or after the turn. places: where a step writes; stored: which of both. read: what
    attention gets. fresh: the new keys and values in place of the cache. kept_keys, kept_values:
    what goes into which cache.
    """
    B, L, _ = x.shape
    size = w_o.shape[0] // heads
    caches = {
        name: torch.full((B, kv_heads, L, size), float("nan"), dtype=x.dtype) for name in "kv"
    }
    results, position = [], 0
    for tokens in x.split([prefill] + [1] * (L - prefill), dim=1):
        n = tokens.shape[1]
        q, k, v = cut_heads(norm(tokens, norm_attn, EPS) @ w_qkv, heads, kv_heads)
        at = min(offset(position, n), cos.shape[0] - n)
        q_turned, k_turned = turn(q, cos, sin, at), turn(k, cos, sin, at)
        made = {"k": kept(k, k_turned), "v": v}
        new = {"k": made[kept_keys], "v": made[kept_values]}
        for name in stored:
            where = caches[name][:, :, places(position, n)]
            where.copy_(new[name][:, :, : where.shape[2]])
        part = read(position, n)
        keys, values = (new[name] if fresh else caches[name][:, :, part] for name in "kv")
        o = seen(asked(q, q_turned), keys, values) if keys.shape[2] else 0 * q
        h = tokens + join_heads(o) @ w_o
        rows = norm(h, norm_mlp, EPS)
        results.append(h + silu_mul(rows @ w_gate, rows @ w_up) @ w_down)
        position += n
    return torch.cat(results, dim=1)


def _(sentence, **steps):
    return functools.partial(stepwise, **steps), sentence


DECODE_MISTAKES = {
    "no-offset": _(
        "Each step's tokens are turned as if the first of them stood at position 0. `rope` has to "
        "know: `pos_offset=position`.",
        offset=lambda position, L: 0,
    ),
    "offset-at-the-end": _(
        "RoPE's offset is where the new tokens end. It is where they begin: `position`.",
        offset=lambda position, L: position + L,
    ),
    "offset-twice": _(
        "The tokens stand at twice their position. Where the tables are cut at `position`, "
        "`pos_offset` must not count it again.",
        offset=lambda position, L: 2 * position,
    ),
    "offset-short": _(
        "The tokens are turned one position short. The first of them stands at `position`.",
        offset=lambda position, L: max(position - 1, 0),
    ),
    "keys-kept-before-the-turn": _(
        "The cache holds keys as they were before the turn. A key is turned once, by its own "
        "position, and kept like that.",
        kept=lambda raw, turned: raw,
    ),
    "queries-not-turned": _(
        "The keys are turned, the queries are not. `rope` returns both, q first.",
        asked=lambda raw, turned: raw,
    ),
    "rope-missing": _(
        "Queries and keys are not turned by their positions. `rope` returns both: go on with what "
        "it returns.",
        kept=lambda raw, turned: raw,
        asked=lambda raw, turned: raw,
    ),
    "cache-read-to-its-end": _(
        "The cache was read to its end. Behind the last new token lies what was in memory before: "
        "read `[:, :, :position + L]`.",
        read=lambda position, L: slice(None),
    ),
    "attends-to-the-new-alone": _(
        "The new tokens see only each other. Attention has to get the cache, from 0 to the last "
        "new token.",
        fresh=True,
    ),
    "as-many-as-are-new": _(
        "Attention reads as many tokens of the cache as are new, the first ones. The filled part "
        "ends at `position + L`.",
        read=lambda position, L: slice(0, L),
    ),
    "new-tokens-not-seen": _(
        "Attention reads the tokens before `position` alone. A token sees itself too.",
        read=lambda position, L: slice(0, position),
    ),
    "last-token-not-seen": _(
        "The last new token is left out of what attention reads: the end of a slice is not in it.",
        read=lambda position, L: slice(0, position + L - 1),
    ),
    "written-at-the-start": _(
        "What earlier steps wrote is lost: each step writes to the beginning of the cache, or not "
        "into the cache at all but into a tensor of its own. Write into it, from `position` on.",
        places=lambda position, L: slice(0, L),
    ),
    "nothing-written": _(
        "The cache was read where nothing was written. Do both k and v go into it, all the new "
        "tokens, from `position` on?",
        stored="",
    ),
    # its sentence is for NaN of no known reason: the formula is the right one, and fits nothing
    "nan": (
        decode_ref,
        "Until something is written, a cache of this check holds NaN. Do k and v go into it, all "
        "the new tokens, before attention reads it?",
    ),
    "keys-kept-for-values": _("cache_v holds the keys. It has to hold v.", kept_values="k"),
    "values-kept-for-keys": _("cache_k holds the values. It has to hold k.", kept_keys="v"),
    "not-causal": _(
        "The tokens of a prompt see those that come after them: `flash_gqa(q, ..., ..., True)`.",
        seen=lambda q, k, v: attend(q, k, v, causal=False),
    ),
    "caches-swapped": _(
        "Keys and values have changed places, in the caches or in the call of `flash_gqa`.",
        seen=lambda q, k, v: attend(q, v, k),
    ),
}


def decode_case(note, B, L, prefill, dtype="float32", **sizes):
    return case(note, dtype=dtype, **block_arguments(B, L, **sizes), prefill=prefill)


DECODE_CASES = [
    decode_case("three at once, then two; wide tables", 2, 5, 3, positions=9),
    decode_case("token by token", 1, 4, 1, heads=2, kv_heads=2),
    decode_case("half precision", 1, 6, 4, dtype="float16"),
]

HIDDEN_DECODE_CASES = [
    decode_case("all at once", 1, 6, 6),
    decode_case("another model", 2, 4, 2, D=40, F=70, heads=8, kv_heads=2),
    decode_case("a longer text", 1, 20, 18, heads=2, kv_heads=1, dtype="float16"),
    decode_case("bfloat16", 1, 5, 4, heads=3, kv_heads=1, dtype="bfloat16"),
]

# --- the way back through the gate


def silu_mul_backward_ref(dhidden, gate, up):
    s = torch.sigmoid(gate)
    return dhidden * up * (s + gate * s * (1 - s)), dhidden * gate * s


def _dgate(dhidden, gate, up):
    return silu_mul_backward_ref(dhidden, gate, up)[0]


def _dup(dhidden, gate, up):
    return silu_mul_backward_ref(dhidden, gate, up)[1]


def _gate_with(derivative):
    """dgate with another derivative of the SiLU, dup right."""

    def wrong(dhidden, gate, up):
        s = torch.sigmoid(gate)
        return dhidden * up * derivative(gate, s), dhidden * gate * s

    return wrong


def silu_mul_backward_by(dhidden, gate, up, s):
    """The formulas of the page with another s."""
    return dhidden * up * (s + gate * s * (1 - s)), dhidden * gate * s


GATE_MISTAKES = {
    "results-swapped": (
        lambda *a: silu_mul_backward_ref(*a)[::-1],
        "What is stored as dgate is dup. Have the two changed places, or do both stores go to one "
        "tensor?",
    ),
    "gate-and-up-swapped": (
        lambda dhidden, gate, up: silu_mul_backward_ref(dhidden, up, gate),
        "gate and up have changed places. The SiLU is of gate.",
    ),
    "second-term-missing": (
        _gate_with(lambda g, s: s),
        "The first term of the derivative stands alone. g × s is a product: s + g s (1 - s).",
    ),
    "first-term-missing": (
        _gate_with(lambda g, s: g * s * (1 - s)),
        "The second term of the derivative stands alone. g × s is a product: s + g s (1 - s).",
    ),
    "derivative-of-the-sigmoid": (
        _gate_with(lambda g, s: s * (1 - s)),
        "This has the derivative of the sigmoid. It wants that of g × sigmoid(g).",
    ),
    "sigmoid-of-minus": (
        lambda d, g, u: silu_mul_backward_by(d, g, u, torch.sigmoid(-g)),
        "s is the sigmoid of −gate: it has exp(−gate) below the line. `tl.sigmoid(gate)`.",
    ),
    "sigmoid-of-up": (
        lambda d, g, u: silu_mul_backward_by(d, g, u, torch.sigmoid(u)),
        "s is the sigmoid of up. It is that of gate.",
    ),
    "silu-for-s": (
        lambda d, g, u: silu_mul_backward_by(d, g, u, g * torch.sigmoid(g)),
        "s is the SiLU, gate × sigmoid(gate). In the formulas s is the sigmoid alone.",
    ),
    "brackets-missing": (
        lambda d, g, u: (
            d * u * torch.sigmoid(g) + g * torch.sigmoid(g) * (1 - torch.sigmoid(g)),
            silu_mul_backward_ref(d, g, u)[1],
        ),
        "The brackets around s + g s (1 - s) are missing: dhidden × up multiplies both terms.",
    ),
    "silu-for-its-derivative": (
        _gate_with(lambda g, s: g * s),
        "The SiLU itself stands where its derivative belongs.",
    ),
    "s-missing": (
        _gate_with(lambda g, s: 1 + g * (1 - s)),
        "A factor s is missing: s (1 + g (1 - s)).",
    ),
    "g-missing": (
        _gate_with(lambda g, s: s + s * (1 - s)),
        "In the second term the factor g is missing.",
    ),
    "sign": (
        _gate_with(lambda g, s: s - g * s * (1 - s)),
        "The second term is subtracted. Add it.",
    ),
    "one-plus-s": (
        _gate_with(lambda g, s: s + g * s * (1 + s)),
        "1 + s stands where 1 - s belongs.",
    ),
    "dgate-without-up": (
        lambda d, g, u: (
            silu_mul_backward_ref(d, g, u * 0 + 1)[0],
            silu_mul_backward_ref(d, g, u)[1],
        ),
        "The factor up is missing.",
    ),
    "dgate-without-dhidden": (
        lambda d, g, u: (
            silu_mul_backward_ref(d * 0 + 1, g, u)[0],
            silu_mul_backward_ref(d, g, u)[1],
        ),
        "The factor dhidden is missing.",
    ),
    "dup-without-dhidden": (
        lambda d, g, u: (
            silu_mul_backward_ref(d, g, u)[0],
            silu_mul_backward_ref(d * 0 + 1, g, u)[1],
        ),
        "The factor dhidden is missing.",
    ),
    "dup-without-the-silu": (
        lambda d, g, u: (_dgate(d, g, u), d * g),
        "This is dhidden × gate. It wants dhidden × silu(gate): the factor s is missing.",
    ),
    "dup-without-the-gate": (
        lambda d, g, u: (_dgate(d, g, u), d * torch.sigmoid(g)),
        "This is dhidden × sigmoid(gate). It wants dhidden × silu(gate): the factor gate is lost.",
    ),
    "dup-with-up-for-gate": (
        lambda d, g, u: (_dgate(d, g, u), d * u * torch.sigmoid(g)),
        "This is dhidden × up × s. It wants dhidden × gate × s.",
    ),
    "dup-with-the-derivative": (
        lambda d, g, u: (_dgate(d, g, u), _dgate(d, g, torch.ones_like(u))),
        "This is dhidden times the derivative of the SiLU. It wants dhidden × silu(gate).",
    ),
    "dup-of-up": (
        lambda d, g, u: (_dgate(d, g, u), d * u),
        "This is dhidden × up. It wants dhidden × silu(gate).",
    ),
    "in-half-precision": (
        lambda d, g, u, *, dtype: _in_half(d, g, u, dtype, also=()),
        "dhidden × up was rounded to half precision on its way. Take all three tiles to float32 "
        "first, and round once, at the store.",
    ),
    "all-in-half-precision": (
        lambda d, g, u, *, dtype: _in_half(d, g, u, dtype, also=("gate",)),
        "Products were rounded to half precision on their way. Take all three tiles to float32 "
        "first, and round once, at the store.",
    ),
}


def _in_half(dhidden, gate, up, dtype, also):
    """dhidden x up rounded to the dtype; with "gate" also dhidden x gate."""
    product = (dhidden * up).to(dtype).double()
    other = (dhidden * gate).to(dtype).double() if also else dhidden * gate
    return _dgate(product, gate, 1.0).to(dtype), (other * torch.sigmoid(gate)).to(dtype)


def gate_case(note, *shape, dtype="float32", raises=None, gate=(), layout="contiguous", **how):
    return case(
        note,
        dtype=dtype,
        raises=raises,
        dhidden=tensor(*shape, layout=layout),
        gate=tensor(*(gate or shape), **how),
        up=tensor(*shape),
    )


GATE_CASES = [
    gate_case("a few rows", 5, 70),
    gate_case("more than one tile, ragged", 3, 1031),
    gate_case("large gates", 4, 60, scale=40.0),
    gate_case("half precision", 6, 90, dtype="float16"),
    gate_case("bfloat16", 3, 130, dtype="bfloat16"),
    gate_case("another shape", 4, 8, gate=(8, 4), raises=ValueError),
]

HIDDEN_GATE_CASES = [
    gate_case("one element", 1, 1),
    gate_case("exactly a tile", 2, 512),
    gate_case("no rows", 0, 64),
    gate_case("many tiles", 9, 700, dtype="float16"),
    gate_case("very negative gates", 3, 100, mean=-60.0),
    gate_case("three dimensions", 2, 3, 50),
    gate_case("a gradient with gaps", 4, 30, layout="strided", raises=ValueError),
]


def gate_digits(dtype):
    """A GPU takes exp(x) as a power of two, and rounds x times log2(e): 2**-24 of x is lost."""
    usual = rounded_once(terms=4)(dtype)
    because = f"{usual.because}; exponents of up to 64, rounded in float32"
    return Tolerance(usual.relative + 64 * 2.0**-24, usual.of_row_max, usual.absolute, because)


# --- gradients


def gradients_ref(x, dy, *rest, layer=block_ref):
    with torch.enable_grad():
        leaves = [t.detach().requires_grad_() for t in (x, *rest[:7])]
        y = layer(*leaves, *rest[7:])
        return y.detach(), *torch.autograd.grad(y, leaves[::-1], dy)


def by_hand(forward, backward):
    """A function whose way back is `backward(inputs, gradients)`, right or wrong."""

    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx, *gradients):
            return backward(ctx.saved_tensors, gradients)

    return Made.apply


def _turned_back(inputs, gradients):
    cos, sin = inputs[2:]
    return tuple(turn(g, cos, -sin) for g in gradients)


def _rope_with(backward):
    """The layer with another way back through RoPE: (inputs, gradients) -> those of q and k."""
    apply = by_hand(
        lambda q, k, cos, sin: (turn(q, cos, sin), turn(k, cos, sin)),
        lambda inputs, gradients: (*backward(inputs, gradients), None, None),
    )
    attention = functools.partial(
        attention_ref, turned=lambda q, k, v, cos, sin: (*apply(q, k, cos, sin), v)
    )
    return _layer(attention=attention)


def _gate_back(backward, forward=silu_mul):
    """The layer with another way back through the gate: (dhidden, gate, up) -> dgate, dup."""
    return _layer(gated=by_hand(forward, lambda inputs, gradients: backward(gradients[0], *inputs)))


def _layer(**steps):
    return functools.partial(gradients_ref, layer=functools.partial(block_ref, **steps))


def _fits(one, other, inputs):
    """Both gradients, where q and k are of one shape; else what autograd would refuse."""
    return (one, other) if one.shape == inputs[0].shape else (other, one)


TRAIN_MISTAKES = {
    "nothing-through-rope": (
        _rope_with(lambda inputs, gradients: [torch.zeros_like(g) for g in gradients]),
        "No gradient comes back to q and k. `Rope.backward` returns one value for each input, in "
        "the order of `forward`: dq, dk, None, None. And `Rope.forward` returns a tuple.",
    ),
    "nothing-to-the-keys": (
        _rope_with(
            lambda inputs, gradients: (
                _turned_back(inputs, gradients)[0],
                torch.zeros_like(gradients[1]),
            )
        ),
        "No gradient comes back to k. `Rope.backward` returns one value for each input, in the "
        "order of `forward`: dq, dk, None, None.",
    ),
    "rope-back-missing": (
        _rope_with(lambda inputs, gradients: gradients),
        "The gradients of q and k go through `Rope` as they are. They have to be turned back: "
        "`rope_backward`.",
    ),
    "rope-turned-forwards": (
        _rope_with(lambda inputs, gradients: tuple(turn(g, *inputs[2:]) for g in gradients)),
        "`Rope.backward` turns forwards once more. `rope_backward` turns back.",
    ),
    "rope-gradients-swapped": (
        _rope_with(lambda inputs, gradients: _fits(*_turned_back(inputs, gradients)[::-1], inputs)),
        "`Rope.backward` returns the gradients of k and q. q comes first.",
    ),
    "rope-tables-swapped": (
        _rope_with(
            lambda inputs, gradients: tuple(turn(g, inputs[3], -inputs[2]) for g in gradients)
        ),
        "In `Rope`, cos and sin come back in another order than they were kept.",
    ),
    "keys-gradient-not-turned": (
        _rope_with(
            lambda inputs, gradients: (_turned_back(inputs, gradients)[0], gradients[1]),
        ),
        "The gradient of k is not turned back. `rope_backward` returns both.",
    ),
    "queries-gradient-not-turned": (
        _rope_with(
            lambda inputs, gradients: (gradients[0], _turned_back(inputs, gradients)[1]),
        ),
        "The gradient of q is not turned back. `rope_backward` returns both.",
    ),
    "gate-gradients-swapped": (
        _gate_back(lambda *a: silu_mul_backward_ref(*a)[::-1]),
        "`SiluMul.backward` returns the gradients of up and gate. gate comes first.",
    ),
    "gate-and-up-swapped-on-the-way": (
        _gate_back(lambda d, g, u: silu_mul_backward_ref(d, u, g)),
        "In `SiluMul`, gate and up come back in another order than they were kept.",
    ),
    "gate-arguments": (
        _gate_back(lambda d, g, u: silu_mul_backward_ref(g, u, d)),
        "The arguments of `silu_mul_backward` are dhidden, gate, up, in this order.",
    ),
    "gate-gradient-from-the-result": (
        _gate_back(lambda d, g, u: (d * u, d * g)),
        "`SiluMul.backward` has the gradient of gate × up, without the SiLU.",
    ),
    "gate-back-missing": (
        _gate_back(lambda d, g, u: (d, d)),
        "The gradient goes through `SiluMul` as it is. `silu_mul_backward` gives those of gate and "
        "up.",
    ),
    "gate-forwards-again": (
        _gate_back(lambda d, g, u: (silu_mul(d, g), silu_mul(d, u))),
        "`SiluMul.backward` calls `silu_mul`. It wants `silu_mul_backward`.",
    ),
    "gate-and-up-swapped-forwards": (
        _layer(gated=lambda gate, up: silu_mul(up, gate)),
        "`SiluMul.forward` computes silu(up) × gate.",
    ),
    "rope-missing-forwards": (
        _layer(attention=lambda *a: attention_ref(*a, turned=lambda q, k, v, *_: (q, k, v))),
        "`Rope.forward` returns q and k as they were.",
    ),
}


def gradients_close(dtype):
    usual = close_enough(dtype)
    return Tolerance(4 * usual.relative, 4 * usual.of_row_max, usual.relative, usual.because)


def training_case(note, B, L, dtype="float32", **sizes):
    arguments = block_arguments(B, L, **sizes)
    x = arguments.pop("x")
    return case(note, dtype=dtype, x=x, dy=tensor(B, L, x.shape[2]), **arguments)


TRAINING = (*PRODUCTS, "t", "cat", "copy_", "slice_backward", "split_with_sizes_backward")

TRAINING_CASES = [
    # Equal heads first: there gradients fit together that shapes would stop elsewhere.
    training_case("equal heads", 1, 3, D=16, F=24, heads=2, kv_heads=2),
    training_case("four heads share two", 2, 5),
]

HIDDEN_TRAINING_CASES = [
    training_case("an odd length", 1, 18, heads=2, kv_heads=1),
    training_case("one token", 2, 1),
    training_case("odd widths, eight heads share two", 1, 6, D=40, F=70, heads=8),
]

DECODING = (*PRODUCTS, "copy_", "cat", "index_copy_", "index_put_", "arange")
DECODE = block_arguments(1, 3) | {"prefill": 2}
TRAIN = training_case("", 1, 3).arguments


def _steps_by_kernels(fn):
    only_products(fn, DECODE, DECODING)


def _gradients_by_kernels(fn):
    only_products(fn, TRAIN, TRAINING)


CHECKS = {
    "llama_decode": Check(
        decode_ref,
        DECODE_CASES,
        HIDDEN_DECODE_CASES,
        allow=(*DECODING, *KERNELS_WORK),
        tolerance=close_enough,
        mistakes=DECODE_MISTAKES,
        also=[_steps_by_kernels],
    ),
    "silu_mul_backward": Check(
        silu_mul_backward_ref,
        GATE_CASES,
        HIDDEN_GATE_CASES,
        launches=1,
        results=("dgate", "dup"),
        tolerance=gate_digits,
        mistakes=GATE_MISTAKES,
    ),
    "llama_train": Check(
        gradients_ref,
        TRAINING_CASES,
        HIDDEN_TRAINING_CASES,
        through="layer_gradients",
        results=(
            "y",
            "dw_down",
            "dw_up",
            "dw_gate",
            "dnorm_mlp",
            "dw_o",
            "dw_qkv",
            "dnorm_attn",
            "dx",
        ),
        allow=(*TRAINING, *KERNELS_WORK),
        tolerance=gradients_close,
        mistakes=TRAIN_MISTAKES,
        also=[_gradients_by_kernels],
    ),
}
