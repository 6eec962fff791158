"""RoPE on queries and keys as a model hands them over, (B, L, H, D) in memory."""

import torch

from benchmarks.op import DTYPES, Op, Problem, compiled, optional, peer, solution


def eager(q, k, cos, sin):
    def turn(x):
        a, b = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-b, a), dim=-1) * sin

    return turn(q), turn(k)


def angles(device, L, D, dtype=torch.bfloat16):
    """The cosines and sines of Llama 3's positions, (L, D)."""
    theta = 500_000.0 ** (-torch.arange(0, D, 2, device=device) / D)
    angle = torch.arange(L, device=device)[:, None] * theta
    angle = torch.cat((angle, angle), dim=1)
    return angle.cos().to(dtype), angle.sin().to(dtype)


def _over_its_inputs(rope):
    return lambda q, k, cos, sin: rope(q, k, cos, sin, out=(q, k))


def _liger(module):
    # turns q and k in place
    return lambda q, k, cos, sin: module.LigerRopeFunction.apply(q, k, cos[None], sin[None])


def problem(B, L, H, HK, D, dtype="bf16", **targets):
    kind = DTYPES[dtype]

    def make(device):
        q, k = (
            torch.randn(B, L, heads, D, device=device, dtype=kind).transpose(1, 2)
            for heads in (H, HK)
        )
        return q, k, *angles(device, L, D, kind)

    return Problem(
        label=f"B{B} S{L} H{H}/{HK} D{D} {dtype}",
        make=make,
        bytes=kind.itemsize * 2 * (B * L * (H + HK) * D + L * D),  # the angles are read alone
        targets=targets,
    )


OPS = [
    Op(
        name="rope",
        notebook="40_rope",
        problems=[problem(2, 4096, 32, 8, 128, liger=1.0)],
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
