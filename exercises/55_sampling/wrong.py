"""Wrong answers of 55_sampling with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

MUTANTS = {"dropout": [], "sample": [], "top_p_filter": []}
VARIANTS = {"dropout": [], "sample": [], "top_p_filter": []}
EQUIVALENT = {"dropout": {}, "sample": {}, "top_p_filter": {}}
