"""Two compilations of one function must not share programs."""

import torch

from benchmarks.op import compiled


def triple(x):
    return 3 * x


def test_static_and_dynamic_compile_copies_of_their_own():
    # Kills: the dynamic row served with the program that was compiled for one shape.
    static, dynamic = compiled(triple, dynamic=False).load(), compiled(triple, dynamic=True).load()
    codes = {fn._torchdynamo_orig_callable.__code__ for fn in (static, dynamic)}
    assert len(codes) == 2 and triple.__code__ not in codes
    assert static._torchdynamo_orig_callable(torch.ones(2)).tolist() == [3.0, 3.0]
