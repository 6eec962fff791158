"""The compiler's verdict without a GPU: facts, refusals in plain words, a worker that survives."""

from __future__ import annotations

import os
import signal
import time

import psutil
import pytest
import torch

from tritonbook import facts
from tritonbook.seeing.arguments import decode, encode
from tritonbook.seeing.compiled import CompileError, compile_gate
from tritonbook.seeing.occupancy import occupancy
from tritonbook.seeing.process import worker

from . import kernels as k


def test_vector_loads_vanish_for_an_odd_length():
    # Kills: describing tensors and numbers without the divisibility that Triton specialises on.
    (even,) = facts(k.add, torch.ones(1 << 20), torch.ones(1 << 20), block=1024)
    (odd,) = facts(k.add, torch.ones((1 << 20) + 1), torch.ones((1 << 20) + 1), block=1024)
    assert even.vector_loads == even.loads > 0 and even.spills == 0
    assert odd.vector_loads == 0 and odd.loads == 4 * even.loads
    assert even.grid == (1024,) and even.constants == {"BLOCK": 1024}
    assert "ld.global" in even.ptx and not {"ptx", "text"} & even.to_dict().keys()


def test_ptx_that_nobody_asked_for_is_not_an_empty_text():
    """Kills: an assertion on the PTX of compiled facts, which holds for want of one."""
    (kernel,) = compile_gate(k.add, [torch.ones(64), torch.ones(64)], {"block": 64}).kernels
    with pytest.raises(LookupError, match="its PTX was not kept; ask for it with ptx=True"):
        _ = kernel.ptx


def test_tensor_cores_by_dtype_and_capability():
    a = torch.ones(64, 64, dtype=torch.float16)
    (ampere,) = facts(k.matmul, a, a)
    (hopper,) = facts(k.matmul, a, a, arch=90, block=64)
    assert ampere.mma > 0 and ampere.shared_bytes > 0 and ampere.arch == 80
    assert hopper.tensor_cores > 0 and not ampere.tf32
    (short,) = facts(k.matmul, a.float(), a.float())
    assert 0 < short.tf32 == short.mma


def test_too_much_shared_memory_names_the_numbers():
    a = torch.ones(128, 1024, dtype=torch.float16)
    b = torch.ones(1024, 128, dtype=torch.float16)
    greedy = {"block": 128, "num_stages": 6}
    result = compile_gate(k.matmul, [a, b], greedy, arch=89)
    assert result.code == "out-of-resources" and result.ok is False
    assert "101,376" in result.message and "L4" in result.message
    listed = facts(k.matmul, a, b, arch=89, **greedy)
    assert not listed and "shared memory" in str(listed) and "101,376" in listed._repr_html_()


def test_a_warm_gate_is_quick():
    """Kills: a process started for each kernel. Counts the processor's time: others have it too."""
    x = torch.ones(1000)
    compile_gate(k.add, [x, x], {"block": 128})
    warm = psutil.Process(worker(interpret=False)._child.pid)
    before = warm.cpu_times()
    assert compile_gate(k.add, [x, x], {"block": 256}).ok
    after = warm.cpu_times()
    assert after.user + after.system - before.user - before.system < 2


def test_a_wrapper_that_wants_cuda():
    def polite(x):
        assert x.is_cuda
        out = torch.empty(x.shape, device="cuda")
        k.add_kernel[(1,)](x, x, out, x.numel(), BLOCK=64)
        return out

    def stubborn(x):
        assert x.device.type == "cuda", "needs a cuda tensor"

    assert compile_gate(polite, [torch.ones(64)]).ok
    result = compile_gate(stubborn, [torch.ones(64)])
    assert result.ok is None and "CUDA" in result.message


def test_what_cannot_be_compiled_is_not_held_against_anyone():
    # Kills: counting trouble of the tool as the learner's.
    def reads_results(x):
        out = k.add(x, x)
        raise RuntimeError(f"{out.sum()}")

    result = compile_gate(reads_results, [torch.ones(64)])
    assert result.ok is None and "wrapper stopped" in result.message and len(result.kernels) == 1
    assert compile_gate(k.add, [object(), 1]).ok is None
    assert compile_gate(print, [1]).ok  # launches nothing: nothing to refuse
    with pytest.raises(CompileError, match="arch is one of"):
        facts(k.add, torch.ones(4), torch.ones(4), arch=70)
    with pytest.raises(CompileError, match="object"):
        facts(k.add, object(), 1)


def test_worker_is_replaced_after_death_and_after_a_timeout(monkeypatch):
    x = torch.ones(640)
    compile_gate(k.add, [x, x])
    child = worker(interpret=False)._child
    os.kill(child.pid, signal.SIGKILL)
    while child.alive:
        time.sleep(0.01)
    assert compile_gate(k.add, [x, x]).ok

    def endless(x):
        while True:
            pass

    with monkeypatch.context() as hurried:
        hurried.setenv("TRITONBOOK_COMPILE_SECONDS", "1")
        result = compile_gate(endless, [x])
    assert result.ok is None and "1 s" in result.message

    def fatal(x):
        os._exit(3)

    result = compile_gate(fatal, [x])
    assert result.ok is None and "died" in result.message
    assert compile_gate(k.add, [x, x]).ok


def test_arguments_survive_the_journey():
    tensor = torch.arange(12, dtype=torch.int32).reshape(3, 4)[:, 1:3]
    sent = [tensor, 3, 2.5, float("inf"), True, None, "x", (1, [2]), torch.float16, {"a": tensor}]
    got = [decode(encode(value), load=None) for value in sent]
    assert torch.equal(got[0], tensor) and got[0].stride() == tensor.stride()
    assert got[0].data_ptr() % 16 == tensor.data_ptr() % 16
    assert got[1:9] == sent[1:9] and torch.equal(got[9]["a"], tensor)
    wide = torch.zeros(1, 5).expand(4, 5)
    assert decode(encode(wide), load=None).stride() == (0, 1)


@pytest.mark.parametrize(
    ("registers", "shared", "warps", "arch", "programs", "limit"),
    [
        (32, 0, 4, 80, 16, "warps"),  # 64 warps / 4
        (255, 0, 8, 80, 1, "registers"),  # 256 * 256 registers: the whole file
        (64, 0, 4, 80, 8, "registers"),
        (32, 81920, 4, 80, 2, "shared memory"),  # 2 * (80 + 1) KiB of 164
        (32, 0, 1, 75, 16, "programs"),
        (32, 0, 4, 86, 12, "warps"),
    ],
)
def test_occupancy(registers, shared, warps, arch, programs, limit):
    # Figures from NVIDIA's occupancy calculator.
    found = occupancy(registers, shared, warps, arch)
    assert (found["programs_per_sm"], found["limited_by"]) == (programs, limit)


def test_an_autotuned_kernel_is_listed_with_the_first_configuration_that_fits():
    (listed,) = facts(k.tuned_add, torch.ones(1000), torch.ones(1000))
    assert (listed.constants["BLOCK"], listed.warps) == (64, 2)
