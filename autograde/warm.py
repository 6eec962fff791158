"""Imports and first uses that every checker would pay for, done once in the process they fork from.

Interpreter only: on a GPU the first use opens the driver, and a process that did so cannot fork.
"""

from tritonbook import device
from tritonbook.checking import battery, card, check, gates  # noqa: F401

if device.INTERPRET:
    import sympy  # noqa: F401  (torch imports it at the first meta tensor; it takes a second)
    import torch

    from tritonbook.seeing import meter  # noqa: F401

    torch.empty(2, device="meta") + 1
