"""A layer of Llama in plain torch, right and wrong, and inputs for it: for pages 44 and 45."""

import functools
import inspect

import torch

from tritonbook import DEVICE
from tritonbook.checking import Tolerance, tensor
from tritonbook.checking.launches import watching

EPS = 1e-5
# What torch may do in a layer, and what the four kernels are for: the check lets these by, to name
# them afterwards, in `only_products`.
PRODUCTS = ("mm", "addmm", "bmm", "matmul", "linear", "add", "add_", "addmm_")
KERNELS_WORK = (
    *("silu", "sigmoid", "mul", "mul_", "neg", "sub", "rsub", "div", "exp", "pow", "mean", "sum"),
    *("rsqrt", "sqrt", "rms_norm", "_fused_rms_norm", "native_layer_norm", "cat", "stack", "copy_"),
    *("softmax", "_softmax", "masked_fill", "triu", "tril", "arange", "where", "amax"),
    *("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention"),
    *("_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention"),
    *("_scaled_dot_product_attention_math", "repeat_interleave", "index_select"),
)  # fmt: skip


def norm(x, w, eps):
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * w


def cut_heads(made, heads, kv_heads):
    """q, k, v as (B, heads, L, size) from one product (B, L, all heads x size)."""
    B, L, _ = made.shape
    parts = made.view(B, L, heads + 2 * kv_heads, -1).transpose(1, 2)
    return parts.split((heads, kv_heads, kv_heads), dim=1)


def turn(x, cos, sin, offset=0):
    L, half = x.shape[2], x.shape[3] // 2
    c, s = (t[offset : offset + L, :half] for t in (cos, sin))
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * c - b * s, b * c + a * s), dim=-1)


def turn_both(q, k, v, cos, sin):
    return turn(q, cos, sin), turn(k, cos, sin), v


def attend(q, k, v, causal=True):
    """Softmax attention, (B, H, Lq, size); a query without a key gives 0."""
    group, (Lq, Lk) = q.shape[1] // k.shape[1], (q.shape[2], k.shape[2])
    k, v = (t.repeat_interleave(group, dim=1) for t in (k, v))
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        row = torch.arange(Lq, device=s.device)[:, None]
        s = s.masked_fill(torch.arange(Lk, device=s.device) > row + Lk - Lq, float("-inf"))
    return torch.softmax(s, dim=-1).nan_to_num(0.0) @ v


def join_heads(o):
    return o.transpose(1, 2).flatten(2)


def attention_ref(
    x, norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, eps=EPS,
    *, normed=norm, cut=cut_heads, turned=turn_both, seen=attend, joined=join_heads,
    product=torch.matmul, kept=lambda x, h: x,
):  # fmt: skip
    """x + attention(norm(x)); the keyword arguments are its steps, for mistakes to change."""
    h = normed(x, norm_attn, eps)
    q, k, v = turned(*cut(h @ w_qkv, heads, kv_heads), cos, sin)
    return kept(x, h) + product(joined(seen(q, k, v)), w_o)


def silu_mul(gate, up):
    return torch.nn.functional.silu(gate) * up


def block_ref(
    x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, cos, sin, heads, kv_heads, eps=EPS,
    *, attention=attention_ref, normed=norm, gated=silu_mul, read=lambda x, h: h,
    kept=lambda x, h, n: h,
):  # fmt: skip
    """The whole layer; the keyword arguments are its steps, for mistakes to change."""
    h = attention(x, norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, eps)
    n = normed(read(x, h), norm_mlp, eps)
    return kept(x, h, n) + gated(n @ w_gate, n @ w_up) @ w_down


# --- mistakes of the half with attention


def _steps(formula, sentence, **steps):
    return functools.partial(formula, **steps), sentence


def _square(o, w):
    """A product that was left out, or turned round, where the shapes let it go unnoticed."""
    return w.shape[0] == w.shape[1] and o.shape[-1] == w.shape[0]


def _cut_without_transpose(made, heads, kv_heads):
    """(B, L, heads, size): tokens and heads have changed places."""
    B, L, _ = made.shape
    return made.view(B, L, heads + 2 * kv_heads, -1).split((heads, kv_heads, kv_heads), dim=2)


def _turn_what_fits(q, k, v, cos, sin):
    """As `turn_both`, for tensors that have as many "positions" as there were heads."""
    fits = q.shape[2] <= cos.shape[0]
    return turn_both(q, k, v, cos, sin) if fits and q.shape[2] == k.shape[2] else (q, k, v)


def _neighbours(x, cos, sin):
    L, half = x.shape[2], x.shape[3] // 2
    c, s = (t[:L, :half] for t in (cos, sin))
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * c - b * s, b * c + a * s), dim=-1).flatten(-2)


def _cut_across(made, heads, kv_heads):
    B, L, _ = made.shape
    parts = made.reshape(B, heads + 2 * kv_heads, L, -1)
    return parts.split((heads, kv_heads, kv_heads), dim=1)


def _cut_in_another_order(*order):
    def cut(made, heads, kv_heads):
        """q, k and v by their places in `order`, each as wide as it has to be."""
        sizes = {"q": heads, "k": kv_heads, "v": kv_heads}
        B, L, _ = made.shape
        parts = made.view(B, L, heads + 2 * kv_heads, -1).transpose(1, 2)
        found = dict(zip(order, parts.split([sizes[n] for n in order], dim=1), strict=True))
        return found["q"], found["k"], found["v"]

    return cut


def _plain_rows(o):
    return o.contiguous().reshape(o.shape[0], o.shape[2], -1)


_ = functools.partial(_steps, attention_ref)
ATTENTION_MISTAKES = {
    "rope-missing": _(
        "Queries and keys are not turned by their positions. `rope` returns both: go on with what "
        "it returns. It takes (B, heads, L, d), so a token's position is in the third place.",
        turned=lambda q, k, v, cos, sin: (q, k, v),
    ),
    "keys-not-turned": _(
        "The queries are turned, the keys are not. `rope` returns both.",
        turned=lambda q, k, v, cos, sin: (turn(q, cos, sin), k, v),
    ),
    "queries-not-turned": _(
        "The keys are turned, the queries are not. `rope` returns both, q first.",
        turned=lambda q, k, v, cos, sin: (q, turn(k, cos, sin), v),
    ),
    "turned-twice": _(
        "Queries and keys are turned twice.",
        turned=lambda q, k, v, cos, sin: (
            *turn_both(*turn_both(q, k, v, cos, sin), cos, sin)[:2],
            v,
        ),
    ),
    "rope-on-values": _(
        "The values are turned too. RoPE is for queries and keys alone.",
        turned=lambda q, k, v, cos, sin: (turn(q, cos, sin), turn(k, cos, sin), turn(v, cos, sin)),
    ),
    "rope-on-values-for-keys": _(
        "Queries and values are turned. RoPE is for queries and keys.",
        turned=lambda q, k, v, cos, sin: (turn(q, cos, sin), k, turn(v, cos, sin)),
    ),
    "tables-swapped": _(
        "cos and sin have changed places in the call of `rope`.",
        turned=lambda q, k, v, cos, sin: turn_both(q, k, v, sin, cos),
    ),
    "interleaved": _(
        "Pairs of neighbours are turned. Llama's weights want the half-split form, in which "
        "element i goes with element i + d / 2.",
        turned=lambda q, k, v, cos, sin: (_neighbours(q, cos, sin), _neighbours(k, cos, sin), v),
    ),
    "keys-and-values-swapped": _(
        "Keys and values have changed places. The product holds q, k, v, in this order.",
        cut=_cut_in_another_order("q", "v", "k"),
    ),
    "values-for-keys": _(
        "In the call of `flash_gqa`, keys and values have changed places.",
        seen=lambda q, k, v: attend(q, v, k),
    ),
    "another-order": _(
        "The product was cut in the order k, v, q. It holds q, k, v.",
        cut=_cut_in_another_order("k", "v", "q"),
    ),
    "queries-for-keys": _(
        "Queries and keys have changed places: in the split, in what `rope` returns, or in the "
        "call of `flash_gqa`.",
        seen=lambda q, k, v: attend(k, q, v) if q.shape == k.shape else attend(q, k, v),
    ),
    "not-causal": _(
        "Tokens see those that come after them. `flash_gqa` is causal only if you say so: its "
        "fourth argument.",
        seen=lambda q, k, v: attend(q, k, v, causal=False),
    ),
    "tokens-and-heads-swapped": _(
        "Each token attends to its own heads, not to the other tokens. Kernels want (B, heads, L, "
        "d): `.transpose(1, 2)` after the view, and back again before the last product.",
        cut=_cut_without_transpose,
        turned=_turn_what_fits,
        joined=lambda o: o.flatten(2),
    ),
    "heads-cut-across-tokens": _(
        "Heads were cut across tokens. In memory the heads of one token lie side by side: "
        "`.view(B, L, heads, d)` first, then `.transpose(1, 2)`.",
        cut=_cut_across,
    ),
    "heads-not-brought-together": _(
        "o is (B, heads, L, d), and was made into rows as it is: each row holds several tokens of "
        "one head. `.transpose(1, 2)` first, so that a row holds all heads of one token.",
        joined=_plain_rows,
    ),
    "another-transposition-of-o": _(
        "o is (B, heads, L, d), and L and d were exchanged before it was made into rows. Exchange "
        "heads and L: `.transpose(1, 2)`.",
        joined=lambda o: o.transpose(2, 3).reshape(o.shape[0], o.shape[2], -1),
    ),
    "first-product-of-x": _(
        "The product with w_qkv takes x itself. It has to take the normalised x.",
        normed=lambda x, w, eps: x,
    ),
    "norm-weight-missing": _(
        "The norm's weight is not used.", normed=lambda x, w, eps: norm(x, torch.ones_like(w), eps)
    ),
    "eps-not-passed": _(
        "`eps` did not reach the norm: another one was used.",
        normed=lambda x, w, eps: norm(x, w, 1e-6),
    ),
    "attention-residual-missing": _(
        "x is not added to what attention gave.", kept=lambda x, h: torch.zeros_like(x)
    ),
    "residual-of-the-norm": _(
        "The normalised x is added to what attention gave. Add x as it came in.",
        kept=lambda x, h: h,
    ),
    "residual-twice": _(
        "x is added twice. `torch.addmm(x, o, w_o)` adds it already.", kept=lambda x, h: 2 * x
    ),
    "last-product-missing": _(
        "The product with w_o is missing.",
        product=lambda o, w: o if _square(o, w) else o @ w,
    ),
    "sum-and-factor-swapped": (
        lambda x, n, w_qkv, w_o, *rest: attention_ref(
            *(x, n, w_qkv, w_o, *rest),
            product=lambda o, w: o if _square(o, w) else o @ w,
            kept=lambda x, h: x @ w_o if _square(x, w_o) else x,
        ),
        "o and x have changed places in the last product: `torch.addmm(c, a, b)` is c + a @ b.",
    ),
    "last-product-transposed": _(
        "The last product takes the transpose of w_o. Here weights lie as (in, out): `o @ w_o`.",
        product=lambda o, w: o @ (w.t() if _square(o, w) else w),
    ),
}

# --- and of the MLP's

_ = functools.partial(_steps, block_ref)
MLP_MISTAKES = {
    "norms-swapped": (
        lambda *a: block_ref(*a[:1], a[4], *a[2:4], a[1], *a[5:]),
        "The weights of the two norms have changed places.",
    ),
    "first-norm-twice": (
        lambda *a: block_ref(*a[:4], a[1], *a[5:]),
        "The MLP's half normalises with norm_attn. It has norm_mlp.",
    ),
    "mlp-norm-weight-missing": _(
        "norm_mlp is not used.", normed=lambda x, w, eps: norm(x, torch.ones_like(w), eps)
    ),
    "norm-weights-missing": _(
        "The norms are not multiplied by their weights.",
        attention=ATTENTION_MISTAKES["norm-weight-missing"][0],
        normed=lambda x, w, eps: norm(x, torch.ones_like(w), eps),
    ),
    "second-norm-missing": _(
        "The MLP's half does not normalise what it reads.", normed=lambda x, w, eps: x
    ),
    "eps-not-passed-to-attention": (
        lambda *a: block_ref(*a, attention=lambda *b: attention_ref(*b[:8], EPS)),
        "`eps` did not reach the half with attention.",
    ),
    "eps-not-passed-to-the-mlp": _(
        "`eps` did not reach the norm of the MLP's half.",
        normed=lambda x, w, eps: norm(x, w, 1e-6),
    ),
    "gate-and-up-swapped": _(
        "gate and up have changed places. `silu_mul(gate, up)` puts its first argument through the "
        "SiLU.",
        gated=lambda gate, up: silu_mul(up, gate),
    ),
    "gate-twice": _(
        "Both arguments of `silu_mul` come from w_gate.",
        gated=lambda gate, up: silu_mul(gate, gate),
    ),
    "up-twice": _(
        "Both arguments of `silu_mul` come from w_up.", gated=lambda gate, up: silu_mul(up, up)
    ),
    "no-gate": _("gate and up are multiplied without the SiLU.", gated=torch.mul),
    "mlp-residual-missing": _(
        "What attention gave is not added to what the MLP gave.",
        kept=lambda x, h, n: torch.zeros_like(h),
    ),
    "mlp-residual-of-the-norm": _(
        "The MLP's half adds the normalised values. Add the values as they came out of attention.",
        kept=lambda x, h, n: n,
    ),
    "mlp-residual-of-the-input": _(
        "The MLP's half adds x. It has to add what came out of attention.", kept=lambda x, h, n: x
    ),
    "residual-counted-twice": _(
        "What came out of attention is added twice.", kept=lambda x, h, n: 2 * h
    ),
    "mlp-reads-the-input": _(
        "The MLP reads x. It has to read what came out of attention.", read=lambda x, h: x
    ),
    "attention-left-out": _(
        "The MLP's half works on x, and what came out of attention is lost.",
        attention=lambda x, *rest: x,
    ),
}


def _in_the_block(formula):
    return lambda *a: block_ref(*a, attention=formula)


BLOCK_MISTAKES = MLP_MISTAKES | {
    code: (_in_the_block(formula), sentence)
    for code, (formula, sentence) in ATTENTION_MISTAKES.items()
}

# --- inputs


def close_enough(dtype):
    """Five roundings to the dtype on the way, in float32 the sums of five products."""
    step = {torch.float16: 2.0**-8, torch.bfloat16: 2.0**-5}.get(dtype, 1e-4)
    return Tolerance(step, of_row_max=step, absolute=step / 100, because="roundings between parts")


def angles(generator, shape):
    """The angle of each position and pair, as RoPE's tables have them."""
    P, half = shape
    return torch.arange(P)[:, None] * 100.0 ** (-torch.arange(half) / half)


def _table(function, copies):
    def values(generator, shape):
        P, width = shape
        return function(angles(generator, (P, width // copies))).repeat(1, copies)

    return values


def block_arguments(
    B, L, D=32, F=48, heads=4, kv_heads=2, size=16, positions=None, eps=None, copies=1
):
    """Specs of all arguments of a layer; weights keep the size of what they multiply.

    copies: of each number in a row of the tables, which are (P, size / 2) or (P, size).
    """
    wide, more = (heads + 2 * kv_heads) * size, {} if eps is None else {"eps": eps}
    table = positions or L, size // 2 * copies

    def weight(rows, columns):  # as nn.Linear keeps it, (out, in), seen through .t()
        return tensor(rows, columns, scale=rows**-0.5, layout="transposed")

    return {
        "x": tensor(B, L, D),
        "norm_attn": tensor(D, mean=1.0, scale=0.5),
        "w_qkv": weight(D, wide),
        "w_o": weight(heads * size, D),
        "norm_mlp": tensor(D, mean=1.0, scale=0.5),
        "w_gate": weight(D, F),
        "w_up": weight(D, F),
        "w_down": weight(F, D),
        "cos": tensor(*table, values=_table(torch.cos, copies)),
        "sin": tensor(*table, values=_table(torch.sin, copies)),
        "heads": heads,
        "kv_heads": kv_heads,
        **more,
    }


def attention_arguments(B, L, **sizes):
    """Those of the half with attention."""
    found = block_arguments(B, L, **sizes)
    wanted = [name for name in inspect.signature(attention_ref).parameters if name in found]
    return {name: found[name] for name in wanted}


def drawn(specs):
    """One call's arguments on the device, for an assertion of a check's own."""
    torch.manual_seed(0)
    made = []
    for spec in specs.values():
        shape = getattr(spec, "shape", None)
        value = spec if shape is None else torch.randn(*shape, device=DEVICE) * shape[0] ** -0.5
        made.append(value)
    return made


def only_products(fn, specs, allow=PRODUCTS):
    """Raise AssertionError where torch does what the kernels are for."""
    arguments = drawn(specs)
    with watching(allow) as watch:
        fn(*arguments)
    used = ", ".join(f"torch.{name}" for name in dict.fromkeys(watch.compute))
    assert not used, (
        f"Part of the work is done by {used}. Here torch may do products (`@`, `torch.addmm`), the "
        "sum with the residual, and views. All else is the work of your kernels."
    )
