"""One layer of Llama 3 8B: forward, in bfloat16, the same weights for everyone."""

from functools import partial
from types import SimpleNamespace

import torch
from torch.nn.functional import rms_norm, scaled_dot_product_attention

from benchmarks.op import Op, Problem, compiled, fastest, optional, peer, solution
from benchmarks.ops import attention, mlp, rope

D, F, HEADS, KV_HEADS, SIZE = 4096, 14336, 32, 8, 128


def _attend(q, k, v):
    return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def _attend_exactly(q, k, v):
    """Head by head: all scores at once in float64 would not fit."""
    k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], dim=1) for each in (k, v))
    heads = [part.split(1, dim=1) for part in (q, k, v)]
    return torch.cat([attention.formula(*head, True) for head in zip(*heads, strict=True)], dim=1)


def _layer(norm, turn, attend, gate):
    """A layer put together from four parts; products and sums are torch's."""

    def run(x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, cos, sin, heads, kv_heads):
        B, L, _ = x.shape
        parts = (norm(x, norm_attn) @ w_qkv).view(B, L, heads + 2 * kv_heads, -1).transpose(1, 2)
        q, k, v = parts.split((heads, kv_heads, kv_heads), dim=1)
        q, k = turn(q, k, cos, sin)
        x = x + attend(q, k, v).transpose(1, 2).reshape(B, L, -1) @ w_o
        h = norm(x, norm_mlp)
        return x + gate(h @ w_gate, h @ w_up) @ w_down

    return run


def _norm(x, w):
    return rms_norm(x, w.shape, w, 1e-5)


eager = _layer(_norm, rope.eager, _attend, mlp.gate)
exact = _layer(_norm, rope.eager, _attend_exactly, mlp.gate)


def _liger(ops):
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction
    from liger_kernel.ops.rope import LigerRopeFunction
    from liger_kernel.ops.swiglu import LigerSiLUMulFunction

    return _layer(
        lambda x, w: LigerRMSNormFunction.apply(x, w, 1e-5, 0.0, "llama", False),
        lambda q, k, cos, sin: LigerRopeFunction.apply(q, k, cos[None], sin[None]),
        _attend,
        LigerSiLUMulFunction.apply,
    )


def _on_records(block):
    names = ("rmsnorm", "rope", "flash_gqa", "silu_mul")
    return partial(block, ops=SimpleNamespace(**{name: fastest(name) for name in names}))


def _problem(B, L):
    def make(device):
        def norm():
            return (1 + 0.1 * torch.randn(D, device=device)).to(torch.bfloat16)

        return (
            torch.randn(B, L, D, device=device, dtype=torch.bfloat16),
            norm(),
            mlp.weight(device, D, (HEADS + 2 * KV_HEADS) * SIZE, linear=True),
            mlp.weight(device, HEADS * SIZE, D, linear=True),
            norm(),
            mlp.weight(device, D, F, linear=True),
            mlp.weight(device, D, F, linear=True),
            mlp.weight(device, F, D, linear=True),
            *rope.angles(device, L, SIZE),
            HEADS,
            KV_HEADS,
        )

    parameters = D * (HEADS + 2 * KV_HEADS) * SIZE + HEADS * SIZE * D + 3 * D * F
    return Problem(
        label=f"B{B} S{L} D{D} F{F} bf16",
        make=make,
        bytes=2 * (parameters + 2 * B * L * D),
        flops=2 * B * L * parameters + 2 * B * HEADS * L * L * SIZE,
        targets={"compile static": 1.0, "liger": 1.0},
    )


OPS = [
    Op(
        name="llama_block",
        notebook="44_llama_block",
        problems=[_problem(2, 2048), _problem(1, 8192)],
        exact=exact,
        providers={
            "llama_block": solution("llama_block"),
            "llama_block on records": solution("llama_block", _on_records),
            "torch": peer(eager),
            "compile static": compiled(eager, dynamic=False),
            "liger": optional("liger_kernel.ops", _liger),
        },
    )
]
