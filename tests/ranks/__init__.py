"""Tests of ranks in processes of their own."""

import tritonbook  # noqa: F401  (decides about the interpreter before any test imports triton)
