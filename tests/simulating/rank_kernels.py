"""A right all-reduce between ranks, to be broken line by line."""

import torch
import triton
import triton.language as tl


@triton.jit
def meet(flag_table, rank, turn, RANKS: tl.constexpr):
    tl.debug_barrier()
    first = (tl.program_id(0) * 2 + turn) * RANKS
    for other in tl.static_range(RANKS):
        theirs = tl.load(flag_table + other).to(tl.pointer_type(tl.int32))
        tl.atomic_xchg(theirs + first + rank, 1, sem="release", scope="sys")
    mine = tl.load(flag_table + rank).to(tl.pointer_type(tl.int32))
    for other in tl.static_range(RANKS):
        while tl.atomic_cas(mine + first + other, 1, 0, sem="acquire", scope="sys") != 1:
            pass


@triton.jit
def all_reduce_kernel(
    x_ptr, part_table, flag_table, out_ptr, rank, N, RANKS: tl.constexpr, BLOCK: tl.constexpr
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < N
    mine = tl.load(part_table + rank).to(out_ptr.dtype)
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(mine + offs, x, mask=mask)
    meet(flag_table, rank, 0, RANKS)
    acc = tl.zeros([BLOCK], tl.float32)
    for other in tl.static_range(RANKS):
        theirs = tl.load(part_table + other).to(out_ptr.dtype)
        acc += tl.load(theirs + offs, mask=mask, other=0.0)
    meet(flag_table, rank, 1, RANKS)
    tl.store(out_ptr + offs, acc, mask=mask)


def all_reduce(rank, x, block=16):
    N = x.numel()
    programs = triton.cdiv(N, block)
    _, parts = rank.symmetric("parts", N, x.dtype)
    _, flags = rank.symmetric("flags", (programs, 2, rank.count), torch.int32)
    out = torch.empty_like(x)
    all_reduce_kernel[(programs,)](
        x, parts, flags, out, rank.number, N, RANKS=rank.count, BLOCK=block
    )
    return out


@triton.jit
def add_kernel(table, out_ptr, N, RANKS: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], tl.float32)
    for other in tl.static_range(RANKS):
        theirs = tl.load(table + other).to(out_ptr.dtype)
        acc += tl.load(theirs + offs, mask=offs < N, other=0.0)
    tl.store(out_ptr + offs, acc, mask=offs < N)


@triton.jit
def put_kernel(x_ptr, part_ptr, N, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(part_ptr + offs, tl.load(x_ptr + offs, mask=offs < N), mask=offs < N)


def reduce_between_barriers(rank, x):
    N, out = x.numel(), torch.empty_like(x)
    part, table = rank.symmetric("parts", N, x.dtype)
    put_kernel[(2,)](x, part, N, BLOCK=16)
    rank.barrier()
    add_kernel[(2,)](table, out, N, RANKS=rank.count, BLOCK=16)
    rank.barrier()
    return out


def twice(fn):
    """Two calls, the second on what the first gave."""

    def both(rank, x):
        first = fn(rank, x)
        return first, fn(rank, first)

    return both
