"""A layer of Llama in plain torch, and inputs for it: for pages 44 and 45."""

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


def turn(x, cos, sin):
    L, half = x.shape[2], x.shape[3] // 2
    c, s = (t[:L, :half] for t in (cos, sin))
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * c - b * s, b * c + a * s), dim=-1)


def attend(q, k, v):
    """Causal attention, (B, H, L, size)."""
    k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for t in (k, v))
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    later = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1)
    return torch.softmax(s.masked_fill(later, float("-inf")), dim=-1) @ v


def attention_ref(x, norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, eps=EPS):
    """x + attention(norm(x))."""
    q, k, v = cut_heads(norm(x, norm_attn, eps) @ w_qkv, heads, kv_heads)
    return x + attend(turn(q, cos, sin), turn(k, cos, sin), v).transpose(1, 2).flatten(2) @ w_o


def block_ref(
    x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, cos, sin, heads, kv_heads, eps=EPS
):  # fmt: skip
    """The whole layer."""
    h = attention_ref(x, norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, eps)
    n = norm(h, norm_mlp, eps)
    return h + torch.nn.functional.silu(n @ w_gate) * (n @ w_up) @ w_down


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
