"""What a row of the benchmarks calls: a program of its own, and the kernel that its name says."""

import pytest
import torch

from benchmarks.op import all_ops, compiled
from tritonbook.port.compat import hook_launch


def triple(x):
    return 3 * x


def test_static_and_dynamic_compile_copies_of_their_own():
    # Kills: the dynamic row served with the program that was compiled for one shape.
    static, dynamic = compiled(triple, dynamic=False).load(), compiled(triple, dynamic=True).load()
    codes = {fn._torchdynamo_orig_callable.__code__ for fn in (static, dynamic)}
    assert len(codes) == 2 and triple.__code__ not in codes
    assert static._torchdynamo_orig_callable(torch.ones(2)).tolist() == [3.0, 3.0]


def test_rope_in_place_is_the_solution_over_its_inputs():
    # Kills: new tensors in the row that stands against a peer without them.
    q, k = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 3, 8)
    cos, sin = torch.randn(2, 3, 4).unbind(0)
    providers = all_ops()["rope"].providers
    wanted = providers["rope"].load()(q, k, cos, sin)
    got = providers["rope, in place"].load()(q, k, cos, sin)
    assert got[0] is q and got[1] is k
    assert torch.equal(q, wanted[0]) and torch.equal(k, wanted[1])


@pytest.mark.parametrize(
    ("row", "kernel"),
    [
        ("flash_fwd", "flash_fwd_kernel"),
        ("flash_two_phases", "flash_two_phases_kernel"),
        ("flash_gqa", "flash_gqa_kernel"),
        ("attention record", "flash_gqa_record_kernel"),
    ],
)
def test_each_row_of_attention_launches_its_own_kernel(row, kernel):
    # Kills: one page's kernel timed under the name of another.
    launched = []

    def note(call, fn, grid, args, kwargs):
        launched.append(fn.__name__)
        return call()

    q = torch.randn(1, 1, 20, 64, dtype=torch.float16)
    with hook_launch(note):
        all_ops()["flash_fwd"].providers[row].load()(q, q, q, True)
    assert launched == [kernel]
