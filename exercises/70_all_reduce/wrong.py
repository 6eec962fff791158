"""Mistakes of 70_all_reduce with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

MUTANTS = {}
VARIANTS = {}
EQUIVALENT = {}
