"""The last tenth of a matrix product: programs that stay, and tiles from the GPU's copy engine.

A persistent kernel has one program for each multiprocessor. It stays, and takes one tile after the
other. `flatten=True` makes one loop of its two, so that the first loads of the next tile are under
way before this one is stored. Tiles come and go through tensor descriptors: one thread orders a
whole tile, no thread computes an address, and past an edge the engine loads zeros and stores
nothing. An H100 and Triton 3.6 are the least that it takes; everything else goes to page 22.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tritonbook import multiprocessors, shared_memory_limit
from tritonbook.course.exercises import reference
from tritonbook.descriptors import can_describe, describe

STAYING = dict(BLOCK_M=128, BLOCK_N=256, BLOCK_K=64, GROUP_M=8, num_warps=8, num_stages=3)


@triton.jit
def matmul_persistent_kernel(
    a_desc, b_desc, c_desc,
    M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):  # fmt: skip
    """c = a @ b.

    One program = the tiles pid, pid + num_programs, pid + 2 num_programs, ... of c.
    Assumes descriptors of a, b and c, for tiles of these sizes; any M, N, K.
    """
    pid, num_programs = tl.program_id(0), tl.num_programs(0)
    grid_m, grid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    for tile in tl.range(pid, grid_m * grid_n, num_programs, flatten=True):
        first_m = tile // (GROUP_M * grid_n) * GROUP_M
        rows = tl.minimum(grid_m - first_m, GROUP_M)
        pid_m = first_m + tile % (GROUP_M * grid_n) % rows
        pid_n = tile % (GROUP_M * grid_n) // rows

        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(0, tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([pid_m * BLOCK_M, step * BLOCK_K])
            b = b_desc.load([step * BLOCK_K, pid_n * BLOCK_N])
            acc = tl.dot(a, b, acc, input_precision="ieee")

        c_desc.store([pid_m * BLOCK_M, pid_n * BLOCK_N], acc.to(c_desc.dtype))


def matmul_persistent(a, b):
    """a @ b by programs that stay, of matrices that descriptors can describe."""
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    block_m, block_n, block_k = (STAYING[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
    # -(-x // y) rounds up as triton.cdiv(x, y) does, and takes the host less time
    tiles = -(-M // block_m) * -(-N // block_n)
    matmul_persistent_kernel[(min(tiles, multiprocessors()),)](
        describe(a, [block_m, block_k]),
        describe(b, [block_k, block_n]),
        describe(c, [block_m, block_n]),
        M, N, K, **STAYING,
    )  # fmt: skip
    return c


def staying_pays(a, b):
    """Is a @ b a large product of halves, on a GPU and with a Triton that know descriptors?"""
    M, N = a.shape[0], b.shape[1]
    high, wide = M // STAYING["BLOCK_M"], N // STAYING["BLOCK_N"]
    return (
        high * wide >= 2 * multiprocessors()  # first, because small products are in a hurry
        and N % 8 == 0  # rows of c begin at multiples of 16 bytes
        and a.dtype == b.dtype
        and a.dtype in (torch.float16, torch.bfloat16)
        and can_describe(a, b)  # GPU, Triton, sizes, strides, addresses
        and shared_memory_limit() >= 227 * 1024  # some newer GPUs than an H100 have 99 KiB
    )


def matmul_tuned(a, b):
    """a @ b: by programs that stay where that pays, else by the kernel of page 22."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"cannot multiply {tuple(a.shape)} by {tuple(b.shape)}")
    return matmul_persistent(a, b) if staying_pays(a, b) else reference("matmul_tuned")(a, b)
