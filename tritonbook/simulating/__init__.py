"""Gluon kernels without a GPU: values, and the orders in which they go wrong.

`machine.py` has the actors and their order, `memory.py` what they share, `language.py` the names
that a kernel uses, `run.py` takes a kernel through many orders.
"""

from .machine import Fault, hear_of_products, watch_overlaps, watch_products
from .rank_order import are_ranks_watched, hear_of_ranks, watch_flags, watch_foreign, watch_loads
from .run import simulate

__all__ = [
    "Fault",
    "are_ranks_watched",
    "hear_of_ranks",
    "hear_of_products",
    "simulate",
    "watch_flags",
    "watch_foreign",
    "watch_loads",
    "watch_overlaps",
    "watch_products",
]
