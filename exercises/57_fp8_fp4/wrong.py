"""Mistakes of 57_fp8_fp4 with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant, usual

MUTANTS = {"decode_e4m3": [usual()], "dequantize_mxfp4": [usual()], "matmul_mxfp4": [usual()]}
VARIANTS = {}
EQUIVALENT = {}
