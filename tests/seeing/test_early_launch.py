"""Whether launches may overlap: asked before every launch, so it must be cheap and right."""

import pytest
import torch

from tritonbook import early_launch


@pytest.mark.parametrize(
    ("capability", "has_it", "says"),
    [((9, 0), True, True), ((10, 0), True, True), ((8, 0), True, False), ((9, 0), False, False)],
)
def test_the_gpu_is_asked_once(capability, has_it, says, monkeypatch):
    """Kills: an early launch on an A100 or an old Triton; a question at every call, which took a
    third of the time that the call kept the host busy."""
    asked = []
    monkeypatch.setattr(early_launch, "INTERPRET", False)
    monkeypatch.setattr(early_launch, "TRITON_HAS_IT", has_it)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(
        torch.cuda, "get_device_capability", lambda device: asked.append(device) or capability
    )
    early_launch._can.cache_clear()
    try:
        assert [early_launch.can_launch_early() for _ in range(3)] == [says] * 3
        assert len(asked) <= 1
    finally:
        early_launch._can.cache_clear()


def test_without_a_gpu_no_launch_is_early(monkeypatch):
    """Kills: a question to a GPU that is not there, such as when kernels are only compiled."""
    monkeypatch.setattr(early_launch, "INTERPRET", False)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert early_launch.can_launch_early() is False
