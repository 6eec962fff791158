"""The check: guarded inputs, poisoned outputs, proof of launch, float64 reference, diagnosis."""

from .cases import case, dtype_override, seed_secret, tensor
from .checks import Check, Speed
from .compare import SAME_BITS, Tolerance, derive_tolerance, rounded_once
from .report import CheckFailed, Finding, Report
from .runner import first_finding_only, run_check

__all__ = [
    "SAME_BITS",
    "Check",
    "CheckFailed",
    "Finding",
    "Report",
    "Speed",
    "Tolerance",
    "case",
    "derive_tolerance",
    "dtype_override",
    "first_finding_only",
    "rounded_once",
    "run_check",
    "seed_secret",
    "tensor",
]
