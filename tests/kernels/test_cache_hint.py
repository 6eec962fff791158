"""The hint to the cache: when it is given, and that it reaches the machine code."""

import pytest
import torch

from tritonbook import reference
from tritonbook.kernels import cache_hint
from tritonbook.seeing.compiled import compile_gate

hint = cache_hint.cache_hint


def _empty(*shape, dtype=torch.bfloat16):
    return torch.empty(shape, dtype=dtype, device="meta")


def test_only_tensors_far_larger_than_the_cache_get_it():
    """Kills: elements counted instead of bytes; a hint at 67 MB, where it costs 2 %."""
    assert hint(_empty(16384, 4096)) == "evict_last"
    assert hint(_empty(16384, 4096, dtype=torch.float32)) == "evict_last"
    assert hint(_empty(8192, 4096, dtype=torch.float32)) == "evict_last"
    assert hint(_empty(8192, 4096)) == ""
    assert hint(_empty(16384, 4095)) == ""


@pytest.mark.parametrize("arch", [75, 90])
@pytest.mark.parametrize(("key", "vectors"), [("rmsnorm", 1), ("layernorm", 2)])
def test_it_reaches_the_load_of_x(key, vectors, arch):
    """Kills: a wrapper or kernel that drops the hint, which no value would show."""
    record, N = reference(key, record=True), 128
    hints = []
    for rows in (524288, 524288 // 4):
        arguments = (_empty(rows, N), *(_empty(N) for _ in range(vectors)))
        found = compile_gate(record, arguments, {}, arch, ptx=True)
        assert found.ok, found.message
        (kernel,) = found.kernels
        hints.append("evict_last" in kernel.ptx)
    assert hints == [True, False]
