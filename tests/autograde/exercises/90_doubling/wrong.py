"""Wrong answers and variants of the exercise that the grading tests are made with."""

from tritonbook.course.mutants import Mutant, Variant

MUTANTS = {
    "double": [
        Mutant(
            "no-store-mask",
            "tl.store(out_ptr + offs, x + x{, mask=mask -> })",
            seen="out-of-bounds-store",
        ),
    ],
}
VARIANTS = {
    "double": [
        Variant(
            "block-32",
            "triton.cdiv(n, {64 -> 32})",
            "BLOCK_SIZE={64 -> 32}",
        ),
    ],
}
