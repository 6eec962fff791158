"""Mistakes of 56_ragged_batches with what is said of each, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant, usual

MUTANTS = {}
VARIANTS = {}
EQUIVALENT = {}
