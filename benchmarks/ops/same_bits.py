"""Products and decode attention whose rows keep their bits in any batch, in float16."""

import torch
import torch.nn.functional as F

from benchmarks.op import Op, Problem, normal, peer, solution


def sdpa(q, k, v, lengths):
    """The problems fill their caches: all L tokens count."""
    heads = (each.transpose(1, 2) for each in (k, v))
    return F.scaled_dot_product_attention(q[:, :, None], *heads)[:, :, 0]


def rows(M, N=4096, K=4096):
    return Problem(
        label=f"{M}x{N}x{K} f16",
        make=normal(torch.float16, (M, K), (K, N)),
        bytes=2 * (M * K + K * N + M * N),
        flops=2 * M * N * K,
    )


def sequences(B, L=8192, H=32, D=128):
    def make(device):
        q, k, v = (
            torch.randn(B, *rest, device=device, dtype=torch.float16)
            for rest in ((H, D), (L, H, D), (L, H, D))
        )
        return q, k, v, torch.full((B,), L, device=device, dtype=torch.int32)

    return Problem(
        label=f"{B} x {L} tokens f16" + ("" if (H, D) == (32, 128) else f" H{H} D{D}"),
        make=make,
        bytes=4 * B * (L + 1) * H * D + 4 * B,
    )


OPS = [
    Op(
        name="matmul_same",
        notebook="59_same_bits",
        problems=[rows(M) for M in (1, 64, 512, 4096)],
        exact=torch.matmul,
        providers={"matmul_same": solution("matmul_same"), "torch": peer(torch.matmul)},
    ),
    Op(
        name="decode_same",
        notebook="59_same_bits",
        problems=[sequences(B) for B in (1, 4, 16)],
        exact=sdpa,
        providers={"decode_same": solution("decode_same"), "torch": peer(sdpa)},
    ),
]
