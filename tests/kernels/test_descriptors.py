"""Which tensors a copy engine takes: where the answer is wrong, a launch fails."""

import pytest
import torch

from tritonbook.kernels import descriptors
from tritonbook.port.compat import triton_version

X = torch.zeros(4, 64, 64, dtype=torch.float16)


@pytest.fixture
def h100(monkeypatch):
    monkeypatch.setattr(descriptors, "INTERPRET", False)
    monkeypatch.setattr(descriptors, "target_arch", lambda: 90)
    monkeypatch.setattr(descriptors, "triton_version", lambda: (3, 6))


@pytest.mark.parametrize("x", [X, X.bfloat16(), X[1:], X[..., 8:], X[:, ::2], X[:, 3:5]])
def test_halves_in_rows_of_16_bytes_are_described(h100, x):
    assert descriptors.can_describe(x, X)


@pytest.mark.parametrize(
    "x",
    [
        X.float(),
        X.to(torch.int8),
        X.mT,
        X[..., ::2],
        X[..., 4:],  # its address
        torch.zeros(4, 64, 68, dtype=torch.float16)[..., :64],  # its rows
        torch.zeros(4 * 4100, dtype=torch.float16).as_strided((4, 64, 64), (4100, 64, 1)),
        X[:1].expand(4, 64, 64),
        X[:, :0],
    ],
)
def test_other_tensors_are_not(h100, x):
    """Kills: each condition left out. One tensor among several is enough for a no."""
    assert not descriptors.can_describe(x) and not descriptors.can_describe(X, x)


@pytest.mark.parametrize(("arch", "triton"), [(80, (3, 7)), (89, (3, 7)), (90, (3, 5))])
def test_nor_is_anything_without_an_engine_or_a_triton_for_it(h100, arch, triton, monkeypatch):
    monkeypatch.setattr(descriptors, "target_arch", lambda: arch)
    monkeypatch.setattr(descriptors, "triton_version", lambda: triton)
    assert not descriptors.can_describe(X)


def test_the_interpreter_plays_the_engine(h100, monkeypatch):
    """Kills: kernels that a learner without an H100 can never try with descriptors."""
    monkeypatch.setattr(descriptors, "target_arch", lambda: 80)
    monkeypatch.setattr(descriptors, "INTERPRET", True)
    assert descriptors.can_describe(X) and not descriptors.can_describe(X.float())


@pytest.mark.skipif(triton_version() < (3, 6), reason="tensor descriptors want Triton 3.6")
def test_a_descriptor_says_what_the_tensor_is():
    """Kills: a contiguous tensor's strides for those of a view."""
    made = descriptors.describe(X[:, 2:, 8:], [1, 16, 32])
    assert (made.shape, made.strides, made.block_shape) == ([4, 62, 56], [4096, 64, 1], [1, 16, 32])
    assert made.base.data_ptr() == X[:, 2:, 8:].data_ptr()
