"""Tests of the simulator."""

import tritonbook  # noqa: F401  (decides about the interpreter before any test imports triton)
