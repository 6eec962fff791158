"""RoPE on queries and keys as a model hands them over, (B, L, H, D) in memory."""

import torch

from benchmarks.op import Op, Problem, compiled, optional, peer, solution


def eager(q, k, cos, sin):
    def turn(x):
        a, b = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-b, a), dim=-1) * sin

    return turn(q), turn(k)


def angles(device, L, D):
    """The cosines and sines of Llama 3's positions, (L, D)."""
    theta = 500_000.0 ** (-torch.arange(0, D, 2, device=device) / D)
    angle = torch.arange(L, device=device)[:, None] * theta
    angle = torch.cat((angle, angle), dim=1)
    return angle.cos().to(torch.bfloat16), angle.sin().to(torch.bfloat16)


def _over_its_inputs(rope):
    return lambda q, k, cos, sin: rope(q, k, cos, sin, out=(q, k))


def _liger(module):
    # turns q and k in place
    return lambda q, k, cos, sin: module.LigerRopeFunction.apply(q, k, cos[None], sin[None])


def _llama(B, L, H, HK, D):
    def make(device):
        q, k = (
            torch.randn(B, L, heads, D, device=device, dtype=torch.bfloat16).transpose(1, 2)
            for heads in (H, HK)
        )
        return q, k, *angles(device, L, D)

    return Problem(
        label=f"B{B} S{L} H{H}/{HK} D{D} bf16",
        make=make,
        bytes=4 * B * L * (H + HK) * D,
        targets={"liger": 1.0},
    )


OPS = [
    Op(
        name="rope",
        notebook="40_rope",
        problems=[_llama(2, 4096, 32, 8, 128)],
        exact=eager,
        providers={
            "rope": solution("rope"),
            "torch": peer(eager),
            "compile static": compiled(eager, dynamic=False),
            "liger": optional("liger_kernel.ops.rope", _liger),
            "rope, in place": solution("rope", _over_its_inputs),
            "rope record": solution("rope", record=True),
            "rope record, in place": solution("rope", _over_its_inputs, record=True),
        },
    )
]
