"""Mistakes of 58_delta_rule with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant, usual

MUTANTS = {"delta_step": [], "within_chunks": [], "delta_rule": []}
VARIANTS = {}
