"""Where the Gluon kernels of notebooks 64 and 65 run, whose warps have different jobs."""

from __future__ import annotations

from .port.compat import target_arch, triton_version
from .port.device import INTERPRET


def triton_has_gluon() -> bool:
    """Has this Triton a Gluon whose functions have the names and signatures of notebooks 64, 65?

    Versions 3.6 to 3.8 do. Before, they are others or absent; 3.9 renamed one.
    """
    return (3, 6) <= triton_version() < (3, 9)


def can_run_gluon() -> bool:
    """Can the Gluon kernels of notebooks 64 and 65 run, or be compiled, here? They are for sm_90.

    Gluon has no interpreter.
    """
    return triton_has_gluon() and not INTERPRET and target_arch() == 90
