"""What the checks of 64_gluon_matmul try."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, case, tensor

from .page import matmul_ref


def product(note, M, K, N, tile=(32, 32, 16), slots=3, dtype="float16", **options):
    options = {"tile": tile, "slots": slots, **options}
    return case(note, a=tensor(M, K), b=tensor(K, N), options=options, dtype=dtype)


RING = [
    product("one step", 32, 16, 32),
    product("page", 140, 136, 264, tile=(128,256,64),slots=4),
]
CHECKS = {
    name: Check(matmul_ref, RING, launches=1, terms=300, arch=90) for name in ("matmul_ring", "matmul_jobs", "matmul_groups")
}
