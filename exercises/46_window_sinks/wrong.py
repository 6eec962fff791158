"""Mistakes of 46_window_sinks with what is said of each, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant, usual

MUTANTS = {}
VARIANTS = {}
EQUIVALENT = {}
