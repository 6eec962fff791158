"""Mistakes of 00_start_here with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "one-element-a-program"
PROMISES = ("next-element", "pid-not-times-block", "all-broken")

MUTANTS = {
    "add_one": [
        Mutant("copy", "x = x{ + 1 -> }\n", says="This is x itself: nothing was added to what is stored."),
        Mutant("minus-one", "x = x {+ -> -} 1\n", says="1 was taken away, not added."),
        Mutant("plus-two", "x = x + {1 -> 2}\n", says="2 was added, not 1."),
        Mutant("adds-a-float", "x = x + {1 -> 1.0}\n",
            says="`x + 1.0` makes a float32 of each whole number, which holds all of them up to 2**24 only. Add 1, and "
                "the numbers stay whole."),
        Mutant("doubled", "x = x {+ 1 -> * 2}\n", says="x was doubled. Add 1 to it."),
        Mutant("squared", "x = x {+ 1 -> * x}\n", says="This is x times x. Add 1 to it."),
        Mutant("numbers-of-the-elements", "x = {x -> offs} + 1\n",
            says="This is the number of each element plus 1. `offs` says where an element lies, `x` is its value."),
        Mutant("next-element", "x = {x + 1 -> tl.load(x_ptr + offs + 1, mask=offs + 1 < n_elements)}\n",
            seen=("wrong-values", "nan")),
        Mutant("an-address", "x = {x -> x_ptr} + 1\n", seen=("does-not-compile", "raised", "wrong-values")),
        Mutant("adds-pid", "x = x + {1 -> pid}\n", says="The number of the program was added. Add 1 to each element."),
        Mutant("adds-the-lane", "x = x + {1 -> tl.arange(0, BLOCK_SIZE)}\n",
            says="The number of the lane was added. Add 1 to each element."),
        Mutant("added-by-torch", seen="no-kernel-launched", replace="def add_one(x):\n    return x + 1\n"),
        Mutant("no-store-mask", "offs, x{, mask=mask -> }", seen="out-of-bounds-store"),
        Mutant("grid-rounds-down", "{triton.cdiv(n_elements, 4) -> n_elements // 4}", seen="unwritten-tail"),
        Mutant("pid-not-times-block", " {* BLOCK_SIZE  -> }", seen=("race", "unwritten-tail")),
    ],
    "tile_ranges": [
        Mutant("last-tile-missing", "{(n + block - 1) // block  # rounds up -> n // block}",
            says="The number of programs is rounded down, so the last elements have no owner. Round up."),
        Mutant("program-without-elements",
            "{(n + block - 1) // block  # rounds up -> max(1, (n + block - 1) // block)}",
            says="For `n = 0` there is no program: the list is empty."),
        Mutant("one-program-too-many", "{(n + block - 1) // block  # rounds up -> n // block + 1}",
            says="There is one program too many when the tiles fit exactly, and when there is no element. `n // block "
                "+ 1` is not the same as rounding up."),
        Mutant("past-the-end", "{min((pid + 1) * block, n) -> (pid + 1) * block}",
            says="The last range goes past the end: it must stop at `n`."),
        Mutant("last-inclusive", ") * block, n){ ->  - 1})",
            says="Each range stops one element early: `end` is one past the last element."),
        Mutant("clipped-to-n-minus-1", ") * block, n{ ->  - 1}))", seen="wrong-values"),
        Mutant("always-one-program-more", "{(n + block - 1) // block  # rounds up -> (n + block - 1) // block + 1}",
            says="There is always one program too many."),
        Mutant("larger-for-smaller", "* block, {min -> max}((pid",
            says="`max` takes the larger of the two ends. A range stops at whichever comes first."),
        Mutant("one-short-but-for-the-last", "* block{ ->  - 1}, n)", seen="wrong-values"),
        Mutant("tiles-overlap", "append((pid{ * block -> }", seen="wrong-values"),
        Mutant("first-and-block", "{min((pid + 1) * block, n) -> block}",
            says="These are the first element and the size of a tile. `end` is one past the last element."),
        Mutant("first-and-length", "{(pid + 1) * block, n -> block, n - pid * block}",
            says="These are the first element and the number of elements. `end` is one past the last."),
        Mutant("begins-at-pid", "{ * block, min((pid + 1) * -> , min(pid +}",
            says="Program `pid` begins at `pid` here. It should begin where the program before it ends."),
        Mutant("first-range-only", "(pid + 1) * block, n))){ -> \n        break}",
            says="Only the range of program 0 is there. Does the loop go over all programs, and does `return` stand "
                "after the loop, not in it?"),
        Mutant("returns-nothing", "{return -> ranges =} ranges", seen="wrong-type"),
        Mutant("returns-the-count", "return {ranges -> num_programs}", seen="wrong-values"),
        Mutant("untouched",
            '{num_programs = (n + block - 1) // block  # rounds up -> raise NotImplementedError("TODO: fill in '
            'tile_ranges")}',
            seen="not-attempted"),
        Mutant("divides-as-float", " - 1) /{/ -> } block", seen="raised"),
    ],
    "copy": [
        Mutant("nearly-x", "out_ptr + offs, x{ ->  * 1.000001}, ", seen="other-bits"),
        Mutant("adds-nothing", "out_ptr + offs, x{ ->  + 0.0}, ", seen="other-bits"),
        Mutant("by-way-of-float32", "offs, mask=mask){ -> .to(tl.float32)}", seen="other-bits"),
        Mutant("pid-not-times-block", " {* BLOCK_SIZE  -> }", seen="race"),
        Mutant("one-element-a-program", "BLOCK_SIZE{ + tl.arange(0, BLOCK_SIZE) -> }"),
        Mutant("the-element-pid", "{pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE) -> pid}", says="one-element-a-program"),
        Mutant("lanes-from-one", "arange({0, BLOCK_SIZE -> 1, BLOCK_SIZE + 1})", seen="unwritten"),
        Mutant("stored-over-x", "store({out_ptr -> x_ptr} + offs", seen="unwritten"),
        Mutant("no-store-mask", ", x{, mask=mask -> }", seen="out-of-bounds-store"),
        Mutant("grid-rounds-down", "{triton.cdiv(n_elements, 256) -> n_elements // 256}", seen="unwritten-tail"),
        Mutant("one-program", "{triton.cdiv(n_elements, 256) -> 1}", seen="unwritten-tail"),
        Mutant("one-program-too-many", "{triton.cdiv(n_elements, 256) -> n_elements // 256 + 1}",
            seen="too-many-programs"),
        Mutant("grid-of-smaller-tiles", "n_elements, {256 -> 128}", seen="too-many-programs"),
        Mutant("mask-one-too-far", "offs <{ -> =} n_elements", seen="out-of-bounds-store"),
        Mutant("mask-one-short", "offs < n_elements{ ->  - 1}", seen="unwritten-tail"),
        Mutant("grid-of-elements", "{triton.cdiv(n_elements, 256) -> n_elements}", seen="too-many-programs"),
        Mutant("no-load-mask", "offs{, mask=mask -> }", seen="reads-outside", only="interpreter"),
        Mutant("copies-by-torch", seen="no-kernel-launched", replace="def copy(x):\n    return x.clone()\n"),
        Mutant("hands-back-x", seen=("no-kernel-launched", "aliases-input"), replace="def copy(x):\n    return x\n"),
        Mutant("all-broken", " {* BLOCK_SIZE  -> }", "{triton.cdiv(n_elements, 256) -> n_elements // 256}",
            ", x{, mask=mask -> }", seen="race"),
        Mutant("through-float32", "torch.{empty_like(x -> empty(x.shape, device=x.device}", seen="wrong-dtype"),
    ],
}

VARIANTS = {
    "add_one": [
        Variant("the-other-way-round", "x = {x + 1 -> 1 + x}\n"),
        Variant("added-in-place", "x {= x + 1 -> += 1}\n"),
        Variant("looks-inside", "x = x + 1{ -> \n    print(\"x\", x)}\n"),
    ],
    "tile_ranges": [
        Variant("with-cdiv", "{(n + block - 1) // block  # rounds up -> triton.cdiv(n, block)}"),
        Variant("comprehension", body="return [(i, min(i + block, n)) for i in range(0, n, block)]"),
        Variant("lists-for-pairs",
            "{(pid * block, min((pid + 1) * block, n)) -> [pid * block, min((pid + 1) * block, n)]}"),
    ],
    "copy": [
        Variant("block-1024", "n_elements, {256 -> 1024}", "BLOCK_SIZE={256 -> 1024}"),
        Variant("two-warps", "BLOCK_SIZE=256{ -> , num_warps=2})"),
        Variant("grid-as-a-function",
            '{(triton.cdiv(n_elements, 256 -> lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]}'),
    ],
}
