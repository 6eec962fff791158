"""Differences between Triton versions, the interpreter's mends, launch hooks: each with its reason."""
