"""Where Gluon's kernels run: where the answer is wrong, they do not compile."""

import pytest

from tritonbook.kernels import gluon


@pytest.mark.parametrize(
    ("triton", "arch", "interpreted", "says"),
    [
        ((3, 6), 90, False, True),
        ((3, 8), 90, False, True),
        ((3, 5), 90, False, False),  # warp_specialize takes its jobs in another form
        ((3, 9), 90, False, False),  # the copy engine's store has another name
        ((3, 7), 90, True, False),  # nothing interprets Gluon
        ((3, 7), 80, False, False),
        ((3, 7), 100, False, False),  # other instructions for tensor cores
    ],
)
def test_the_gluon_kernels_are_for_one_gpu(triton, arch, interpreted, says, monkeypatch):
    monkeypatch.setattr(gluon, "triton_version", lambda: triton)
    monkeypatch.setattr(gluon, "target_arch", lambda: arch)
    monkeypatch.setattr(gluon, "INTERPRET", interpreted)
    assert gluon.can_run_gluon() is says
