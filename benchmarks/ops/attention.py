"""Causal attention in float16, forwards and backwards, against PyTorch's native backends."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.op import DTYPES, Op, Problem, optional, peer, solution


def formula(q, k, v, causal):
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        later = torch.ones(s.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        s = s.masked_fill(later, float("-inf"))
    return torch.softmax(s, dim=-1) @ v


def one_head(q, k, v, causal):
    """The last head of the last batch alone: all of them would not fit in float64."""
    return formula(*last_heads((q, k, v)), causal)


def gradients(forward):
    """o and the gradients of q, k and v, through autograd."""

    def both(q, k, v, do, causal):
        leaves = [t.detach().requires_grad_() for t in (q, k, v)]
        o = forward(*leaves, causal)
        return o.detach(), *torch.autograd.grad(o, leaves, do)

    return both


def one_head_gradients(q, k, v, do, causal):
    return gradients(one_head)(*last_heads((q, k, v, do)), causal)


def last_head(result):
    """The same head of a candidate's result, without lse."""
    return result[0][-1:, -1:] if isinstance(result, tuple) else result[-1:, -1:]


def last_heads(results):
    return tuple(t[-1:, -1:] for t in results)


def native(backend):
    def forward(q, k, v, causal):
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=causal)

    return forward


def _flaggems(module):
    """FlagGems' attention in Triton. Not in the extra `bench`: it pins an older numpy."""
    return lambda q, k, v, causal: module.scaled_dot_product_attention(q, k, v, is_causal=causal)


def where_it_runs(flash_gluon, other=None, fits=lambda q, k: True):
    """The kernel in Gluon on an H100, for what fits; elsewhere another, else the one in Triton."""
    from tritonbook import reference
    from tritonbook.kernels.gluon import gluon_takes

    other = other or reference("flash_gqa")

    def forward(q, k, v, causal):
        takes = fits(q, k) and gluon_takes(q, k, v)
        return (flash_gluon if takes else other)(q, k, v, causal)

    return forward


def problem(B, H, L, D, tensors=3, causal=True, dtype="f16", **targets):
    """tensors: q, k and v; 4 with dO, for the way backwards."""

    def make(device):
        made = torch.randn(tensors, B, H, L, D, device=device, dtype=DTYPES[dtype])
        return *made.unbind(0), causal

    return Problem(
        label=f"B{B} H{H} S{L} D{D} {'causal ' if causal else ''}{dtype}",
        make=make,
        # forwards q, k, v and o; backwards also dO and three gradients
        bytes=2 * (4 if tensors == 3 else 8) * B * H * L * D,
        # two products forwards, five backwards, halved by causality
        flops=(4 if tensors == 3 else 14) * B * H * L * L * D // (2 if causal else 1),
        targets=targets,
    )


OPS = [
    Op(
        name="flash_fwd",
        notebook="42_flash_gqa",
        problems=[
            problem(2, 32, 4096, 128, cudnn=0.85, flaggems=1.2),
            problem(1, 32, 16384, 128, cudnn=0.95, flaggems=1.2),
            problem(4, 32, 4096, 64, cudnn=0.95, flaggems=1.2),
        ],
        exact=one_head,
        part=last_head,
        providers={
            "flash_fwd": solution("flash_fwd"),
            "flash_two_phases": solution("flash_two_phases"),
            "flash_gqa": solution("flash_gqa"),
            "attention record": solution("flash_gqa", record=True),
            "flash_gluon": solution("flash_gluon", where_it_runs),
            "cudnn": peer(native(SDPBackend.CUDNN_ATTENTION)),
            "flash-attention-2": peer(native(SDPBackend.FLASH_ATTENTION)),
            "flaggems": optional("flag_gems.ops.attention", _flaggems),
        },
    ),
    Op(
        name="flash_attention",
        notebook="43_flash_backward",
        problems=[problem(2, 32, 4096, 128, tensors=4, **{"flash-attention-2": 1.1})],
        exact=one_head_gradients,
        part=last_heads,
        providers={
            "flash_attention": solution("attention_gradients"),
            "cudnn": peer(gradients(native(SDPBackend.CUDNN_ATTENTION))),
            "flash-attention-2": peer(gradients(native(SDPBackend.FLASH_ATTENTION))),
        },
    ),
]
