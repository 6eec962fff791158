"""Right values on a CPU, and no A100 could run the kernel: the card says so, without a GPU."""

import pytest
import torch
import triton
import triton.language as tl

import tritonbook
from tritonbook.checking import card, case, tensor
from tritonbook.checking.asks import compiled
from tritonbook.seeing.compiled import CompileResult

from . import answers
from .answers import run

pytestmark = pytest.mark.skipif(
    not tritonbook.INTERPRET, reason="on a GPU the launch itself fails; tests/gpu has that"
)


CASES = [case("one", x=tensor(64))]


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, M: tl.constexpr, K: tl.constexpr, BLOCK_K: tl.constexpr):
    offs_m, offs_k = tl.arange(0, M), tl.arange(0, BLOCK_K)
    acc = tl.zeros((M, M), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + offs_m[:, None] * K + k + offs_k[None, :])
        b = tl.load(b_ptr + (k + offs_k)[:, None] * M + offs_m[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + offs_m[:, None] * M + offs_m[None, :], acc.to(c_ptr.dtype.element_ty))


def of_200_kilobytes(a, b):
    """Two tiles of 64 KiB, and another pair on its way from memory: 262,144 bytes."""
    M, K = a.shape
    c = torch.empty((M, M), dtype=a.dtype, device=a.device)
    product_kernel[(1,)](a, b, c, M=M, K=K, BLOCK_K=512, num_stages=3)
    return c


def test_a_kernel_of_more_shared_memory_than_an_a100_has_is_told_so_on_a_cpu():
    """Kills: a pass on a laptop for what no A100 can start; numbers without the GPU's name."""
    a, b = tensor(64, 1024, scale=0.1), tensor(1024, 64, scale=0.1)
    half = case("half precision", dtype="float16", a=a, b=b)
    found = run(of_200_kilobytes, lambda a, b: a @ b, [half], key="product", terms=1024)
    assert found.gates == {"values": "passed", "compile": "failed"}
    assert (found.state, found.finding.code) == ("does not compile", "out-of-resources")
    for form in (card.as_text(found), card.as_html(found)):
        assert "262,144 bytes of shared memory; the A100 (sm_80) has 166,912" in form, form


def test_a_tile_that_no_compiler_takes_is_told_so_on_a_cpu():
    huge = lambda x: answers.launch(answers.scale_kernel, x, block=2**21)  # noqa: E731
    found = run(huge, lambda x: 2 * x, [case("c", x=tensor(1000))], key="double")
    assert found.state == "does not compile", card.as_text(found)
    assert "1,048,576 elements" in card.as_text(found)


def test_a_check_may_ask_for_another_gpu():
    """Kills: a kernel for an H100 that is judged by an A100's shared memory."""
    asked = []

    def gate(fn, args, options, arch):
        asked.append(arch)
        return CompileResult(True)

    for arch in ({}, {"arch": 90}):
        run(answers.right, lambda x: 2 * x, CASES, compile_gate=gate, **arch)
    assert asked == [80, 90]


def test_a_compiler_without_words_does_not_hide_what_is_wrong():
    """Kills: `error encountered during parsing` in place of the values' own cause."""

    def gate(fn, args, options, arch):
        return CompileResult(
            False, "RuntimeError: error encountered during parsing", code="does-not-compile"
        )

    found = run(answers.right, lambda x: 6 * x, CASES, compile_gate=gate)
    assert found.finding.code == "constant-factor" and found.gates["compile"] == "failed"
    found = run(answers.right, lambda x: 2 * x, CASES, compile_gate=gate)
    assert found.finding.code == "does-not-compile"


@triton.jit
def total(x, n):
    s = 0
    for _ in range(n):
        s += tl.sum(x, axis=0)
    return s


@triton.jit
def by_a_helper_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs, mask=offs < n_elements)
    tl.store(out_ptr + offs, 2 * x + 0 * total(x, n_elements), mask=offs < n_elements)


def by_a_helper(x):
    out = torch.empty_like(x)
    by_a_helper_kernel[(1,)](x, out, x.numel(), BLOCK_SIZE=64)
    return out


def test_the_line_of_a_helper_is_quoted_and_no_facts_excuse_it():
    """Kills: the line that calls the helper, in place of the one that Triton refuses; and "not
    run" for facts of a kernel that does not compile."""
    facts = compiled(lambda kernels: None, "one")
    found = run(by_a_helper, lambda x: 2 * x, CASES, asks=[facts])
    assert found.finding.code == "does-not-compile" and found.gates["facts"] == "failed"
    _, line, mark = found.finding.detail.splitlines()
    assert line.strip() == "for _ in range(n):" and mark.strip() == "^"
