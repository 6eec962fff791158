"""Differences between Triton versions, the interpreter's mends, launch hooks, with reasons."""
