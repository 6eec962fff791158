"""Tile sizes for products of matrices: which tile fits this GPU."""

from __future__ import annotations

from ..port.compat import shared_memory_limit, target_arch

PAIR = (128 + 256) * 64 * 2  # bytes of shared memory for one stage of the largest tiles
SPARE = 4 * 1024  # bytes that a kernel needs beside its stages


def matmul_tile(dtype, stages: int = 3) -> dict[str, int]:
    """BLOCK_M, BLOCK_N, BLOCK_K, num_warps and num_stages of a product of two matrices of `dtype`.

    stages: of the largest tiles, at most; as many of them as shared memory holds, and at least 3.

    Before sm_80 Triton has no tensor cores for them, and large tiles spill. float32 products run on
    the ordinary units. Everything else gets the largest tile that its shared memory holds.
    """
    import torch

    if target_arch() < 80:
        sizes = 32, 32, 32, 4, 2
    elif dtype == torch.float32:
        sizes = 64, 64, 32, 8, 2
    elif (pairs := (shared_memory_limit() - SPARE) // PAIR) >= 3:
        sizes = 128, 256, 64, 8, min(stages, pairs)
    else:
        sizes = 64, 128, 32, 4, 4
    names = "BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages"
    return dict(zip(names, sizes, strict=True))
