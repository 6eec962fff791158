"""Gluon kernels without a GPU: values, and the orders in which they go wrong.

`machine.py` has the actors and their order, `memory.py` what they share, `language.py` the names
that a kernel uses, `run.py` takes a kernel through many orders.
"""

from .machine import Fault, watch_products
from .run import simulate

__all__ = ["Fault", "simulate", "watch_products"]
