"""Tests of the room `port`."""

import tritonbook  # noqa: F401  (decides about the interpreter before any test imports triton)
