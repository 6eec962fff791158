"""LayerNorm of few very long rows, with fewer launches than page 14 has.

Every program merges the statistics of its row's pieces itself: they are few, and with the counts
known from N two plain sums are enough. That spares the launch in the middle. A cooperative launch,
where the GPU has one, spares another: all programs run at the same time, so they may wait for each
other's statistics.
"""

from __future__ import annotations

import functools

import torch
import triton
import triton.language as tl

from tritonbook.cooperative import arrival_counters, can_launch_cooperatively, wait_for_all


@triton.jit
def layernorm_stats_kernel(
    x_ptr, mean_ptr, m2_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    BLOCK_N: tl.constexpr,
):  # fmt: skip
    """mean, m2 [row, piece] = mean and M2 of one piece of the row.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size.
    """
    pid = tl.program_id(0)
    row = (pid // num_splits).to(tl.int64)
    offs = tl.arange(0, BLOCK_N)
    offs_n = pid % num_splits * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)

    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / tl.maximum(tl.sum(mask_n.to(tl.float32), axis=0), 1.0)
    centred = tl.where(mask_n, x - mean, 0.0)

    tl.store(mean_ptr + pid, mean)
    tl.store(m2_ptr + pid, tl.sum(centred * centred, axis=0))


@triton.jit
def layernorm_join_kernel(
    x_ptr, w_ptr, b_ptr, mean_ptr, m2_ptr, y_ptr, arrived_ptr,
    N, num_splits, piece_size,
    stride_xm, stride_xn,
    stride_ym, stride_yn,
    eps,
    BLOCK_N: tl.constexpr,
    BLOCK_S: tl.constexpr,
):  # fmt: skip
    """y = (x - mean) * rstd * w + b on one piece; mean and rstd from all pieces.

    One program = one piece of one row.
    Assumes BLOCK_N >= piece_size and BLOCK_S >= num_splits. With arrived_ptr, in a cooperative
    launch, the statistics are computed here.
    """
    pid = tl.program_id(0)
    row = (pid // num_splits).to(tl.int64)
    offs = tl.arange(0, BLOCK_N)
    offs_n = pid % num_splits * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)
    offs_s = tl.arange(0, BLOCK_S)
    mask_s = offs_s < num_splits
    # elements of piece s: all of it, a part, or nothing
    n_s = tl.minimum(tl.maximum(N - offs_s * piece_size, 0), piece_size).to(tl.float32)
    if arrived_ptr is not None:
        layernorm_stats_kernel(
            x_ptr, mean_ptr, m2_ptr,
            N, num_splits, piece_size, stride_xm, stride_xn, BLOCK_N,
        )  # fmt: skip
        wait_for_all(arrived_ptr + row, num_splits)

    # x, w and b are on their way while the pieces are merged
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    mean_s = tl.load(mean_ptr + row * num_splits + offs_s, mask=mask_s, other=0.0)
    m2_s = tl.load(m2_ptr + row * num_splits + offs_s, mask=mask_s, other=0.0)

    mean = tl.sum(n_s * mean_s, axis=0) / N
    apart = mean_s - mean
    m2 = tl.sum(tl.where(mask_s, m2_s + n_s * apart * apart, 0.0), axis=0)
    y = (x - mean) * tl.rsqrt(m2 / N + eps) * w + b

    tl.store(y_ptr + row * stride_ym + offs_n * stride_yn, y, mask=mask_n)


@functools.cache  # 10 us of Python at each call
def pieces(N: int, num_splits: int) -> tuple[int, int]:
    """Columns of a piece when N columns are cut in num_splits, and the tile that holds one.

    Raises ValueError for a piece of over 65536.
    """
    piece_size = triton.cdiv(triton.cdiv(N, num_splits), 16) * 16
    if piece_size > 65536:
        raise ValueError(f"a piece of {piece_size} columns does not fit one program: cut finer")
    return piece_size, triton.next_power_of_2(piece_size)


def layernorm_split(
    x: torch.Tensor,
    w: torch.Tensor,
    b: torch.Tensor,
    eps: float = 1e-5,
    num_splits: int = 4,
    cooperative: bool = False,
) -> torch.Tensor:
    """LayerNorm over the last dimension of x [..., N]; w and b contiguous [N].

    In two launches; with `cooperative` in one, where the GPU can.
    """
    N = x.shape[-1]
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    M = x_rows.shape[0]
    piece_size, BLOCK_N = pieces(N, num_splits)
    mean, m2 = torch.empty((2, M * num_splits), dtype=torch.float32, device=x.device).unbind(0)
    grid, cut = (M * num_splits,), (N, num_splits, piece_size)
    num_warps = min(max(BLOCK_N // (512 if BLOCK_N < 8192 else 1024), 1), 32)
    arrived, how = None, {}
    if cooperative and can_launch_cooperatively():
        arrived, how = arrival_counters(x.device, M, num_splits), {"launch_cooperative_grid": True}
    else:
        layernorm_stats_kernel[grid](
            x_rows, mean, m2, *cut, *x_rows.stride(), BLOCK_N=BLOCK_N, num_warps=num_warps
        )
    layernorm_join_kernel[grid](
        x_rows, w, b, mean, m2, y_rows, arrived, *cut, *x_rows.stride(), *y_rows.stride(), eps,
        BLOCK_N=BLOCK_N, BLOCK_S=triton.next_power_of_2(num_splits), num_warps=num_warps, **how,
    )  # fmt: skip
    return y
