"""The check: guarded inputs, poisoned outputs, proof of launch, float64 reference, diagnosis."""

from .cases import case, dtype_override, seed_secret, tensor
from .check import check, first_finding_only, run
from .compare import Tolerance, derive_tolerance
from .gates import Speed
from .report import CheckFailed, Finding, Report

__all__ = [
    "CheckFailed",
    "Finding",
    "Report",
    "Speed",
    "Tolerance",
    "case",
    "check",
    "derive_tolerance",
    "dtype_override",
    "first_finding_only",
    "run",
    "seed_secret",
    "tensor",
]
