"""Decides between GPU and interpreter before any test module imports Triton."""

import tritonbook  # noqa: F401
