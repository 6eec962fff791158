"""Tests of the check."""

import tritonbook  # noqa: F401  (decides about the interpreter before any test imports triton)
