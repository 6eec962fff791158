"""Small right and wrong answers for the tests of the check: each mistake in its plainest form."""

import ctypes
import os
import sys

import numpy as np
import torch
import triton
import triton.language as tl

from tritonbook.checking import Check, run_check
from tritonbook.checking.mistakes import Mistake


def mistakes(*named):
    """What `known` of a check gives. named: code, formula and sentence of each."""

    def by(formula):
        return lambda case, draw: formula(*case.filled(case.sample(draw)))

    return lambda: [Mistake(code, sentence, by(formula)) for code, formula, sentence in named]


def run(fn, reference, cases, key="answer", compile_gate=None, **demands):
    """What a check of these cases, which demands this besides, finds of `fn`."""
    return run_check(fn, Check(reference, cases, **demands), key, compile_gate=compile_gate)


@triton.jit
def scale_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, 2 * x, mask=mask)


@triton.jit
def root_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, tl.where(x < 5, x, tl.sqrt(-x)), mask=mask)


@triton.jit
def sum_neighbours_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    # adds the next element without asking whether there is one
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask) + 0 * tl.load(x_ptr + offs + 1, mask=mask)
    tl.store(out_ptr + offs, 2 * x, mask=mask)


def launch(kernel, x, block=64, grid=None):
    out = torch.empty_like(x)
    kernel[grid or (triton.cdiv(x.numel(), block),)](x, out, x.numel(), BLOCK_SIZE=block)
    return out


def right(x):
    return launch(scale_kernel, x)


def nan_from_five_on(x):
    """x below 5, NaN from there on."""
    return launch(root_kernel, x)


def right_other_block(x):
    return launch(scale_kernel, x, block=256)


def with_warning(x):
    print("look at me", file=sys.stderr)
    os.write(2, b"and at me")
    return right(x)


def looks_over_the_edge(x):
    return launch(sum_neighbours_kernel, x)


def torch_only(x):
    return 2 * x


def torch_beside_a_launch(x):
    right(x)
    return x + x


def _at(x):
    floats = (ctypes.c_float * x.numel()).from_address(x.data_ptr())
    return np.ctypeslib.as_array(floats)


def at_addresses_after_a_launch(x):
    out = right(x)
    _at(out)[:] = 2 * _at(x)
    return out


def numpy_after_a_launch(x):
    out = right(x)
    out.detach().numpy()[:] = 2 * x.numpy()
    return out


def a_list_on_the_way(x):
    right(x)
    return right(torch.tensor(x.tolist()))


def three_times(x):
    out = right(x)
    scale_kernel[(triton.cdiv(x.numel(), 64),)](out, out, x.numel(), BLOCK_SIZE=64)
    return out


_kept = {}


def remembers(x):
    return _kept.setdefault((x.data_ptr(), x.shape), right(x))


_calls = []


@triton.jit
def shifted_kernel(x_ptr, out_ptr, n_elements, factor, summand, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, factor * x + summand, mask=mask)


def _shifted(x, factor, summand):
    out = torch.empty_like(x)
    grid = (triton.cdiv(x.numel(), 64),)
    shifted_kernel[grid](x, out, x.numel(), factor, summand, BLOCK_SIZE=64)
    _calls.append(x.numel())
    return out


def adds_its_earlier_calls(x):
    return _shifted(x, 2, len(_calls))


def adds_one_after_the_first_call(x):
    return _shifted(x, 2, min(1, len(_calls)))


def doubles_again_after_the_first_call(x):
    return _shifted(x, 4 if _calls else 2, 0)


def never_ends(x):
    while True:
        pass


def never_ends_and_swallows(x):
    while True:
        try:
            while True:
                pass
        except Exception:
            continue


def leaves_the_program(x):
    raise SystemExit(0)


def raises(x):
    raise KeyError("no such thing")


def freed_reference(x):
    """Does not run a kernel, and hopes that the allocator hands out the right answer."""
    return torch.empty_like(x)


def stale_numpy(x):
    return torch.from_numpy(np.empty(x.shape, dtype=np.float32))
