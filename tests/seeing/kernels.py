"""Kernels that the tests of this wing watch: honest ones, and some with a known mistake."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    y = tl.load(y_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x + y, mask=mask)


def add(x, y, block=64):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), block),)](x, y, out, x.numel(), BLOCK=block)
    return out


tuned_add_kernel = triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=2) for b in (64, 128)], key=["n"]
)(add_kernel)


def tuned_add(x, y):
    out = torch.empty_like(x)
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)  # noqa: E731
    tuned_add_kernel[grid](x, y, out, x.numel())
    return out


@triton.jit
def steps_kernel(x_ptr, out_ptr, steps, MASKED: tl.constexpr):
    offs = tl.arange(0, 32)
    for step in range(steps):
        mask = offs < 64 if MASKED else None  # a mask that stands still
        tl.store(out_ptr, tl.sum(tl.load(x_ptr + step * 32 + offs, mask=mask), axis=0))


def steps(x, steps, masked=False):
    steps_kernel[(1,)](x, torch.empty(1), steps, masked)


@triton.jit
def one_of_kernel(x_ptr, out_ptr, place):
    tl.store(out_ptr, tl.load(x_ptr + place))


def one_of(x, place):
    out = torch.ones(1)
    one_of_kernel[(1,)](x, out, place)
    return out


@triton.jit
def read_up_to_kernel(x_ptr, out_ptr, first, limit, MASKED: tl.constexpr):
    offs = first + tl.arange(0, 128)
    x = tl.load(x_ptr + offs, mask=offs < limit, other=0.0) if MASKED else tl.load(x_ptr + offs)
    tl.store(out_ptr, tl.sum(x, axis=0))


def read_up_to(x, limit, first=0):
    read_up_to_kernel[(1,)](x, torch.empty(1), first, limit or 0, MASKED=limit is not None)


@triton.jit
def open_kernel(x_ptr):
    pass


def open_gap(x):
    open_kernel[(1,)](x)


@triton.jit
def unmasked_kernel(
    x_ptr, out_ptr, n, later, LOAD: tl.constexpr, STORE: tl.constexpr, B: tl.constexpr
):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    mask = offs < n
    from_ = offs - later
    x = tl.load(x_ptr + from_) if LOAD else tl.load(x_ptr + from_, mask=from_ < n, other=0.0)
    x = tl.maximum(x, 0.0)
    if STORE:
        tl.store(out_ptr + offs, x)
    else:
        tl.store(out_ptr + offs, x, mask=mask)


def unmasked(x, load=False, store=False, block=64, later=0, out=None):
    """What is above 0, without a mask on load or store; `later` forgets that nothing comes before
    the first element."""
    out = torch.empty_like(x) if out is None else out
    grid = (triton.cdiv(out.numel(), block),)
    unmasked_kernel[grid](x, out, out.numel(), later, LOAD=load, STORE=store, B=block)
    return out


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, ATOMIC: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + offs, mask=offs < n, other=0.0))
    if ATOMIC:
        tl.atomic_add(out_ptr, part)
    else:
        tl.store(out_ptr, tl.load(out_ptr) + part)


def total(x, atomic=True):
    out = torch.zeros(1)
    sum_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), ATOMIC=atomic, BLOCK=64)
    return out


@triton.jit
def norm_kernel(x_ptr, w_ptr, y_ptr, stride_x, stride_y, N, eps, BLOCK: tl.constexpr):
    row, offs = tl.program_id(0), tl.arange(0, BLOCK)
    mask = offs < N
    x = tl.load(x_ptr + row * stride_x + offs, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs, mask=mask)
    scale = 1 / tl.sqrt(tl.sum(x * x) / N + eps)
    tl.store(y_ptr + row * stride_y + offs, x * scale * w, mask=mask)


def norm(x, w, eps=1e-6):
    y = torch.empty_like(x)
    block = triton.next_power_of_2(x.shape[1])
    norm_kernel[(x.shape[0],)](x, w, y, x.stride(0), y.stride(0), x.shape[1], eps, BLOCK=block)
    return y


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, sam, sbk, scm, BLOCK: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    offs_n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        offs_k = start + tl.arange(0, BLOCK)
        mask_a = (offs_m[:, None] < M) & (offs_k[None, :] < K)
        mask_b = (offs_k[:, None] < K) & (offs_n[None, :] < N)
        a = tl.load(a_ptr + offs_m[:, None] * sam + offs_k[None, :], mask=mask_a, other=0.0)
        b = tl.load(b_ptr + offs_k[:, None] * sbk + offs_n[None, :], mask=mask_b, other=0.0)
        acc = tl.dot(a, b, acc)
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptr + offs_m[:, None] * scm + offs_n[None, :], acc, mask=mask)


def matmul(a, b, block=32, num_stages=3):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, block), triton.cdiv(N, block))
    strides = a.stride(0), b.stride(0), c.stride(0)
    matmul_kernel[grid](a, b, c, M, N, K, *strides, BLOCK=block, num_stages=num_stages)
    return c


@triton.jit
def reverse_in_place_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (n - 1 - offs), mask=offs < n)
    tl.store(x_ptr + offs, x, mask=offs < n)


def reverse_in_place(x):
    reverse_in_place_kernel[(triton.cdiv(x.numel(), 16),)](x, x.numel(), BLOCK=16)
    return x


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, CAST: tl.constexpr):
    rows, cols = tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]
    a, b = tl.load(a_ptr + rows * 16 + cols), tl.load(b_ptr + rows * 16 + cols)
    if CAST:
        a, b = a.to(tl.float32), b.to(tl.float32)
    c = tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + rows * 16 + cols, c)


def product(a, b, cast=True):
    """a @ b of 16 x 16 tiles; cast: as float32."""
    c = torch.empty(16, 16, dtype=a.dtype, device=a.device)
    product_kernel[(1,)](a, b, c, CAST=cast)
    return c


@triton.jit
def blocks_kernel(x_ptr, out_ptr, M, N, CHECK: tl.constexpr, B: tl.constexpr):
    at = (tl.program_id(0) * B, 0)
    x_block = tl.make_block_ptr(x_ptr, (M, N), (N, 1), at, (B, B), (1, 0))
    out_block = tl.make_block_ptr(out_ptr, (M, N), (N, 1), at, (B, B), (1, 0))
    x = tl.load(x_block, boundary_check=CHECK)
    tl.store(out_block, x, boundary_check=(0, 1))


def blocks(x, check, rows):
    """A copy by block pointers, which are told that x has `rows` rows."""
    M, N = x.shape
    out = torch.empty(rows, N)
    blocks_kernel[(triton.cdiv(M, 16),)](x, out, rows, N, check, B=16)
    return out


@triton.jit
def described_kernel(x_ptr, out_ptr, M, N: tl.constexpr, B: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [B, N])
    out_desc = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [B, N])
    row = tl.program_id(0) * B
    out_desc.store([row, 0], x_desc.load([row, 0]))


def described(x, rows):
    """A copy through tensor descriptors, which are told that x has `rows` rows."""
    out = torch.empty_like(x)
    M, N = x.shape
    described_kernel[(triton.cdiv(M, 4),)](x, out, rows, N=N, B=4)
    return out


@triton.jit
def passed_on_kernel(
    x_ptr, scratch_ptr, out_ptr, N: tl.constexpr, HOW: tl.constexpr, BETWEEN: tl.constexpr
):
    """out[i] = x[i] + what was stored a moment before at a place of scratch that HOW says."""
    offs = tl.arange(0, N)
    x = tl.load(x_ptr + offs)
    tl.store(scratch_ptr + offs, x)
    if BETWEEN == "barrier":
        tl.debug_barrier()
    if BETWEEN == "sum":
        x += tl.sum(x, axis=0)
    if BETWEEN == "scan":
        x = tl.cumsum(x, axis=0)
    if BETWEEN == "counter":
        x += tl.atomic_add(out_ptr + N, 1.0)
    if HOW == "mirrored":
        x += tl.load(scratch_ptr + (N - 1 - offs))
    if HOW == "same lane":
        x += tl.load(scratch_ptr + offs)
    if HOW == "same lane, half of them":
        x += tl.load(scratch_ptr + offs, mask=offs < N // 2, other=0.0)
    if HOW == "the first":
        x += tl.load(scratch_ptr)
    if HOW == "other shape":
        y = tl.load(scratch_ptr + tl.arange(0, 2)[:, None] * (N // 2) + tl.arange(0, N // 2))
        x += tl.reshape(y, (N,))
    if HOW == "updated":
        tl.atomic_add(scratch_ptr + (N - 1 - offs), x)
    tl.store(out_ptr + offs, x)


def passed_on(n, how, between="", warps=4):
    out, scratch = torch.zeros(n + 1), torch.empty(n)
    passed_on_kernel[(1,)](torch.ones(n), scratch, out, n, how, between, num_warps=warps)


@triton.jit
def picked_and_replaced_kernel(
    x_ptr, out_ptr, place, N: tl.constexpr, BLOCK_N: tl.constexpr, BETWEEN: tl.constexpr
):
    """out = x[place]; then all of x doubled, in tiles."""
    picked = tl.load(x_ptr + place)
    if BETWEEN == "barrier":
        tl.debug_barrier()
    if BETWEEN == "sum":
        picked += 0 * tl.sum(tl.load(x_ptr + tl.arange(0, N)), axis=0)
    if BETWEEN == "its tile":
        offs = place // BLOCK_N * BLOCK_N + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + offs)
        picked = tl.sum(tl.where(offs == place, x, 0.0), axis=0)
    for start in range(0, N, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        tl.store(x_ptr + offs, 2 * tl.load(x_ptr + offs))
    tl.store(out_ptr, picked)


def picked_and_replaced(n, place, block, between="", warps=4):
    picked_and_replaced_kernel[(1,)](
        torch.ones(n), torch.zeros(1), place, n, block, between, num_warps=warps
    )


@triton.jit
def handed_round_kernel(
    x_ptr,
    s_ptr,
    out_ptr,
    N: tl.constexpr,
    M: tl.constexpr,
    HOW: tl.constexpr,
    BETWEEN: tl.constexpr,
):
    """Through memory: a number, or N numbers; then what HOW says becomes of it."""
    offs, offs_m = tl.arange(0, N), tl.arange(0, M)
    number = s_ptr if N == 1 else s_ptr + offs
    if HOW == "stored over" or HOW == "counted up":
        y = tl.load(number)
    if HOW != "stored over":
        tl.store(number, tl.load(x_ptr) if N == 1 else tl.load(x_ptr + offs))
    if BETWEEN == "barrier":
        tl.debug_barrier()
    if HOW == "stored over":
        tl.store(number, y + 1)
    elif HOW != "counted up":
        y = tl.load(number)
    if HOW == "tile" or HOW == "stored over":
        tl.store(out_ptr + offs_m, y * offs_m)
    if HOW == "number":
        tl.store(out_ptr, tl.sqrt(y) + y)
    if HOW == "sum":
        tl.store(out_ptr, tl.sum(y * offs_m, axis=0))
    if HOW == "address":
        tl.store(out_ptr + y.to(tl.int32) + offs_m, offs_m)
    if HOW == "mask":
        tl.store(out_ptr + offs_m, offs_m, mask=offs_m < y)
    if HOW == "load":
        tl.store(out_ptr + offs_m, tl.load(out_ptr + M + y.to(tl.int32) + offs_m))
    if HOW == "added":
        tl.atomic_add(out_ptr + offs_m, y + tl.zeros((M,), tl.float32))
    if HOW == "product":
        a = tl.zeros((16, 16), tl.float32)
        tl.store(out_ptr, tl.sum(tl.dot(a, a + y)))
    if HOW == "same shape":
        tl.store(out_ptr + offs, 2 * y)
    if HOW == "own sum":
        tl.store(out_ptr + offs_m, tl.sum(y, axis=0) + offs_m)
    if HOW == "own sum, stored":
        tl.store(out_ptr, tl.sum(y, axis=0))
    if HOW == "rows":
        tl.store(out_ptr + offs[:, None] * M + offs_m, y[:, None] * offs_m)
    if HOW == "sums of rows":
        tl.store(out_ptr + offs, tl.sum(y[:, None] * offs_m, axis=1))
    if HOW == "turned":
        tl.store(out_ptr + offs_m, tl.reshape(tl.trans(tl.reshape(y, (2, N // 2))), (N,)))


def handed_round(n, m, how, between="", warps=4):
    out = torch.zeros(max(n, 2) * m + 2)
    handed_round_kernel[(1,)](
        torch.ones(n), torch.zeros(n), out, n, m, how, between, num_warps=warps
    )


@triton.jit
def running_sum_kernel(x_ptr, out_ptr, N: tl.constexpr):
    """out[i] = x[0] + ... + x[i], number by number, each made from the one before in memory."""
    tl.store(out_ptr, tl.load(x_ptr))
    for i in range(1, N):
        tl.store(out_ptr + i, tl.load(out_ptr + i - 1) + tl.load(x_ptr + i))


@triton.jit
def stored_twice_kernel(out_ptr, N: tl.constexpr, HOW: tl.constexpr, BETWEEN: tl.constexpr):
    """Numbers over zeros, or over what their own store stores."""
    offs = tl.arange(0, N)
    tl.store(out_ptr + offs, tl.zeros((N,), tl.float32))
    if BETWEEN == "barrier":
        tl.debug_barrier()
    if HOW == "other lanes":
        tl.store(out_ptr + (N - 1 - offs), offs + 1.0)
    if HOW == "one number":
        tl.store(out_ptr + 7, 1.0)
    if HOW == "no lane, then the same values":
        tl.store(out_ptr + offs, offs + 1.0, mask=offs < 0)
    if HOW == "the same values" or HOW == "no lane, then the same values":
        tl.store(out_ptr + (N - 1 - offs), tl.zeros((N,), tl.float32))
    if HOW == "same lanes":
        tl.store(out_ptr + offs, offs + 1.0, mask=offs < 9)
    if HOW == "pairs of lanes":
        tl.store(out_ptr + N + offs // 2, offs + 1.0)
    if HOW == "pairs of lanes that agree":
        tl.store(out_ptr + N + offs // 2, offs // 2 + 1.0)
    if HOW == "pairs, one of them masked":
        tl.store(out_ptr + N + offs // 2, offs + 1.0, mask=offs % 2 == 0)


def stored_twice(n, how, between="", warps=4):
    stored_twice_kernel[(1,)](torch.ones(2 * n), n, how, between, num_warps=warps)


@triton.jit
def reshaped_in_place_kernel(x_ptr, N: tl.constexpr):
    """x doubled: loaded as a tile of two rows, stored as one row."""
    x = tl.load(x_ptr + tl.arange(0, 2)[:, None] * (N // 2) + tl.arange(0, N // 2))
    tl.store(x_ptr + tl.arange(0, N), 2 * tl.reshape(x, (N,)))


def reshaped_in_place(n):
    reshaped_in_place_kernel[(1,)](torch.ones(n), n)


@triton.jit
def told_kernel(x_ptr, parts_ptr, ready_ptr, out_ptr, N: tl.constexpr, BETWEEN: tl.constexpr):
    """Each program stores N numbers, or one, and counts itself; the last one adds up all."""
    pid, offs = tl.program_id(0), tl.arange(0, N)
    x = tl.load(x_ptr + offs)
    total = tl.sum(x, axis=0)
    if BETWEEN == "one number":
        tl.store(parts_ptr + pid * N, total)
    else:
        tl.store(parts_ptr + pid * N + offs, x)
    if BETWEEN == "barrier":
        tl.debug_barrier()
    if BETWEEN == "another counter":
        tl.atomic_add(out_ptr + 1, 1.0)
    if tl.atomic_add(ready_ptr, 1) == tl.num_programs(0) - 1:
        for other in range(0, 3):
            total += tl.sum(tl.load(parts_ptr + other * N + offs), axis=0)
        tl.store(out_ptr, total)


def told(n, between=""):
    out, ready = torch.zeros(2), torch.zeros(1, dtype=torch.int32)
    told_kernel[(3,)](torch.ones(n), torch.zeros(3 * n), ready, out, n, between)


@triton.jit
def locked_kernel(x_ptr, lock_ptr, sum_ptr, N: tl.constexpr, WAIT: tl.constexpr):
    offs = tl.arange(0, N)
    x = tl.load(x_ptr + offs)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(sum_ptr + offs, x + tl.load(sum_ptr + offs))
    if WAIT:
        tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def locked(n, wait):
    lock = torch.zeros(1, dtype=torch.int32)
    locked_kernel[(3,)](torch.ones(n), lock, torch.zeros(n), n, wait, num_warps=1)


@triton.jit
def far_store_kernel(out_ptr, far, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.program_id(0) * far + tl.arange(0, BLOCK), 1.0)


@triton.jit
def early_mask_kernel(x_ptr, out_ptr, n, STEPS: tl.constexpr):
    offs = tl.arange(0, 32)
    mask = offs < n
    for _ in range(STEPS):
        tl.store(out_ptr, tl.sum(tl.load(x_ptr + offs, mask=mask), axis=0))
        offs += 32
