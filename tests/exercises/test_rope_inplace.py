"""What notebook 13 has beside its tasks."""

import torch

from tritonbook.course.exercises import get, load
from tritonbook.device import DEVICE


def test_rope_in_place_is_rope_and_lies_where_its_inputs_lay():
    """Kills: new tensors; a pair whose second half is read after the first was written."""
    page = load(get("13_rope"))
    q, k = (torch.randn(2, 5, heads, 12, device=DEVICE).transpose(1, 2) for heads in (4, 2))
    cos, sin = torch.randn(2, 5, 6, device=DEVICE).unbind(0)
    wanted = page.rope_ref(q.clone(), k.clone(), cos, sin)
    places = q.data_ptr(), k.data_ptr()
    got = page.rope_inplace(q, k, cos, sin)
    assert tuple(one.data_ptr() for one in got) == places
    for one, want in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, want)
