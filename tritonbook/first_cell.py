# ruff: noqa: F401, I001
"""What a page's first line imports. Below stands the first cell of every notebook, as it is."""

from tritonbook import DEVICE, bench, check, facts, mine, pictures, progress
from tritonbook import reference, setup, show_cases, show_tiles, traffic

import torch
import triton
import triton.language as tl

setup()
