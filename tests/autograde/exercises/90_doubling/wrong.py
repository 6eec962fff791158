"""Wrong answers and variants of the exercise that the grading tests are made with."""

from tritonbook.course.mutants import Mutant, Variant

MUTANTS = {
    "double": [
        Mutant(
            "no_store_mask",
            "out-of-bounds-store",
            ("tl.store(out_ptr + offs, x + x, mask=mask)", "tl.store(out_ptr + offs, x + x)"),
        ),
    ],
}
VARIANTS = {
    "double": [
        Variant(
            "block_32",
            ("triton.cdiv(n, 64)", "triton.cdiv(n, 32)"),
            ("BLOCK_SIZE=64", "BLOCK_SIZE=32"),
        ),
    ],
}
