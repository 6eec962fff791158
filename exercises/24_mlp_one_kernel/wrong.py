"""Mistakes of 24_mlp_one_kernel with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("recomputation-forgotten", "second-product-in-torch", "predict")

UNWRITTEN = ("unwritten", "unwritten-tail")

LOAD_X = "x = tl.load(x_ptrs + d * stride_xd, mask=mask_x, other=0.0)"
LOAD_1 = "w1 = tl.load(w1_ptrs + d * stride_1d, mask=mask_1, other=0.0)"
LOAD_2 = "w2 = tl.load(w2_ptrs, mask=rest_h[:, None] & mask_n, other=0.0)"

# Sentences that several mistakes share.
SAYS = {
    "w2-sideways": "w2 moves on by BLOCK_H elements in each step. Its rows lie a stride apart: multiply.",
}

MUTANTS = {
    "traffic_ledger": [
        Mutant("recomputation-forgotten", "{columns * one_product + -> 2 *}",
            says="The fused kernel computes the first product once for each column of output tiles. Its flops leave "
                "that out."),
        Mutant("both-products-recomputed", " {one_product + -> 2 *}",
            says="In the fused plan's flops both products are done for each column of output tiles. The second one is "
                "not: each column computes its own part of it."),
        Mutant("weights-asked-once", " * ({columns *  -> }",
            says="Each column of output tiles asks for w1 again. The fused plan's `asked` leaves that out."),
        Mutant("both-weights-asked-again", " * {(columns *  -> columns * (}",
            says="In the fused plan's `asked` both weights are asked for by each column of output tiles. w2 is not: "
                "each column asks for its own part."),
        Mutant("weights-count-what-is-asked", "x + out,\n        weights={ -> columns * }w1 + w2,",
            says="`weights` counts each weight once, in each plan. What is asked for again belongs into `asked`."),
        Mutant("one-row-of-tiles", "{rows * (columns * w1 + w2) -> columns * w1 + w2}", "{rows * (w1 + w2) -> w1 + w2}",
            says="Each row of tiles asks for the weights. There are M / 128 rows, rounded up."),
        Mutant("elements-for-bytes", " out = {2 *  -> }M *", "hidden = {2 *  -> }M *", "w1 = w2 = {2 *  -> }D",
            says="These are elements. One has 2 bytes."),
        Mutant("gelu-forgotten", "activations=x + {4 -> 2} ",
            says="As a kernel of its own the GELU reads and writes the hidden values once more."),
        Mutant("hidden-counted-once", "activations=x + {4 -> 2} ", "activations=x + {2 *  -> }hidden + out)",
            says="Between two kernels the hidden values are written and read: each of the two counts."),
        Mutant("hidden-in-memory-when-fused", "activations=x + { -> 2 * hidden + }out,",
            says="In the fused plan the hidden values are never in memory."),
        Mutant("out-forgotten", "{ = out = 2 * M * D -> , out = 2 * M * D, 0}",
            says="`activations` leaves out x, or out. Both count."),
        Mutant("one-operation", "one_product = {2 *  -> }M *",
            says="These are multiplications. Each comes with an addition: 2 operations."),
        Mutant("rows-rounded-down", "{triton.cdiv(M, ROWS_OF_A_TILE) -> M // ROWS_OF_A_TILE}",
            says="The last row of tiles may be shorter, and asks for the weights all the same: round up."),
        Mutant("real-rows", "{triton.cdiv(M, ROWS_OF_A_TILE) -> M / ROWS_OF_A_TILE}", seen="wrong-values"),
        Mutant("one-product", "flops={2 *  -> }one_product",
            says="`flops` of the first two plans is that of one product. There are two of the same size."),
        Mutant("second-product-forgotten", "{ + one_product -> }",
            says="The fused plan's `flops` counts the first product alone, once for each column. The second one is "
                "done once."),
        Mutant("x-for-each-column", "activations={ -> columns * }x + out",
            says="In `activations` a matrix counts once for each kernel that reads it, not for each program that asks "
                "for it. The fused plan has one kernel."),
        Mutant("weights-for-each-row", "weights={w1 + w2 -> rows * (w1 + w2)},\n        asked=rows * (w1",
            "weights={w1 + w2 -> rows * (w1 + w2)}",
            says="`weights` counts each weight once. What the rows of tiles ask for belongs into `asked`."),
        Mutant("fused-asks-in-one-row", "{rows * (columns * w1 + w2) -> columns * w1 + w2}",
            says="The fused plan's `asked` is that of one row of tiles. Each row asks for the weights."),
        Mutant("columns-everywhere", "asked=rows * { -> columns * }(w1",
            says="Only the fused plan asks for w1 once for each column of output tiles. In the other two `asked` knows "
                "nothing of columns."),
        Mutant("four-bytes", "x = out = {2 -> 4} * ", "hidden = {2 -> 4} * M", "w1 = w2 = {2 -> 4} * ",
            says="An element has 2 bytes here. This counts 4 for each."),
        Mutant("hidden-is-4-d", "hidden = 2 * M * {H -> 4 * D}",
            says="The hidden values are counted as M x 4 D. They are M x H: H need not be 4 D."),
        Mutant("hidden-written-only", "x + {2 *  -> }hidden",
            says="In the epilogue plan the hidden values are written by one kernel and read by the next: twice."),
        Mutant("floats", " = out = 2{ -> .0} * M", seen="property"),
        Mutant("rows-and-columns-swapped", "{rows * (columns -> columns * (rows}", seen="wrong-values"),
        Mutant("plan-missing", '{"epilogue": epilogue,  -> }', seen="wrong-values"),
        Mutant("entry-missing", "{weights=w1 + w2,\n         -> }asked=rows * (columns", seen="wrong-values"),
        Mutant("plans-swapped", '{separate, "epilogue": epilogue -> epilogue, "epilogue": separate}',
            says="`separate` and `epilogue` have changed places."),
        Mutant("no-return", "{return  -> }", seen="wrong-type"),
        Mutant("the-reference-by-name", seen="raised",
            replace="def traffic_ledger(M, D, H):\n    return traffic_ledger_ref(M, D, H)\n"),
    ],
    "mlp_gelu_fused": [
        Mutant("no-gelu", "{gelu_tanh(hidden) -> hidden}", says="The GELU is missing."),
        Mutant("silu-for-gelu", "{gelu_tanh(hidden -> (hidden * tl.sigmoid(hidden)}", says="This is SiLU, not GELU."),
        Mutant("relu-for-gelu", "{gelu_tanh(hidden -> tl.maximum(hidden, 0.0}", says="This is ReLU, not GELU."),
        Mutant("gelu-of-the-result", "{gelu_tanh(hidden) -> hidden}", "out_ptrs, {acc -> gelu_tanh(acc)}, ",
            says="The GELU was taken of the result. It belongs between the products."),
        Mutant("gelu-in-the-loop",
            '{tl.dot(x, w1, hidden, input_precision="ieee" -> gelu_tanh(tl.dot(x, w1, hidden, input_precision="ieee")}',
            "{gelu_tanh(hidden) -> hidden}",
            says="The GELU was taken in each step along D, before the sum was complete. It comes after the inner loop."),
        Mutant("gelu-in-the-loop-too",
            '{tl.dot(x, w1, hidden, input_precision="ieee" -> gelu_tanh(tl.dot(x, w1, hidden, input_precision="ieee")}',
            says="The GELU was taken in each step along D, before the sum was complete. It comes after the inner loop."),
        Mutant("no-cast-before-the-second-dot", "{.to(w2_ptr.dtype.element_ty) -> }",
            seen=("raised", "does-not-compile")),
        Mutant("gelu-of-half-precision", "{).to(w2_ptr.dtype.element_ty -> .to(w2_ptr.dtype.element_ty)}",
            seen=("does-not-compile", "raised")),
        Mutant("hidden-not-reset", "{        hidden = tl.zeros((BLOCK_M, BLOCK_H), dtype=tl.float32)\n -> }",
            "{ -> hidden = tl.zeros((BLOCK_M, BLOCK_H), dtype=tl.float32)\n    }for h in range",
            says="The hidden sums go on from step to step along H. Each step starts its own at zero."),
        Mutant("last-step-of-d", ", w1, {hidden,  -> }",
            says="Only the last step along D counts. The first product is added to hidden: `tl.dot(x, w1, hidden, "
                "...)`."),
        Mutant("last-step-of-h", " {acc,  -> }input_precision",
            says="Only the last step along H counts. The second product is added to acc: `tl.dot(act, w2, acc, ...)`."),
        Mutant("hidden-added-twice", "hidden { -> +}= tl.dot",
            says="The hidden sums so far are added twice in each step along D. `tl.dot(x, w1, hidden, ...)` has added "
                "them already: assign, no `+=`."),
        Mutant("inner-loop-by-one", "({0, D, BLOCK_D -> D}",
            says="The inner loop goes on by one, and its tiles overlap. It goes on by BLOCK_D."),
        Mutant("w1-by-h", " += {BLOCK_H -> h} * stride_1h",
            says="w1 moves on by h in a step along H: by 0 in the first, by ever more after it. A step is BLOCK_H "
                "long."),
        Mutant("gelu-of-the-result-too", "out_ptrs, {acc -> gelu_tanh(acc)}, ",
            says="The GELU was taken of the result, too. It belongs between the products alone."),
        Mutant("second-product-inside", "{ ->     }act = gelu_tanh", "{ ->     }w2 = tl.load(w2_ptrs",
            "{ ->     }acc = tl.dot(act",
            says="The second product is done in each step along D, before the hidden sums are complete. It comes after "
                "the inner loop."),
        Mutant("acc-added-twice", "acc { -> +}= tl.dot(act",
            says="`acc` is added twice in each step along H. `tl.dot(act, w2, acc, ...)` has added it already: assign, "
                "no `+=`."),
        Mutant("first-step-of-d", "in range(0, {D -> BLOCK_D},",
            says="Only the first step along D counts. Does the inner loop reach D?"),
        Mutant("w1-stands-still", "{        w1_ptrs += BLOCK_H * stride_1h\n -> }",
            says="w1 stands still along H: every step uses its first columns."),
        Mutant("w2-stands-still", "{        w2_ptrs += BLOCK_H * stride_2h\n -> }",
            says="w2 stands still along H: every step uses its first rows."),
        Mutant("weights-stand-still", "{        w1_ptrs += BLOCK_H * stride_1h\n -> }",
            "{        w2_ptrs += BLOCK_H * stride_2h\n -> }",
            says="Both weights stand still along H: every step uses the same hidden values."),
        Mutant("w1-by-one", " {BLOCK_H *  -> }stride_1h",
            says="w1 moves on by one column in each step along H. A step is BLOCK_H long."),
        Mutant("w2-by-one", " {BLOCK_H *  -> }stride_2h",
            says="w2 moves on by one row in each step along H. A step is BLOCK_H long."),
        Mutant("weights-by-one", " {BLOCK_H *  -> }stride_1h", " += {BLOCK_H *  -> }",
            says="Both weights move on by one in each step along H. A step is BLOCK_H long."),
        Mutant("w2-advances-without-its-stride", "BLOCK_H{ * stride_2h -> }", says="w2-sideways"),
        Mutant("x-stands-still", "{ + d * stride_xd -> }",
            says="x stands still in the inner loop. Its tile lies d columns further."),
        Mutant("w1-stands-still-along-d", "{ + d * stride_1d -> }",
            says="w1 stands still in the inner loop. Its tile lies d rows further."),
        Mutant("inner-loop-stands-still", "{ + d * stride_xd -> }", "{ + d * stride_1d -> }",
            says="The inner loop stands still: every step multiplies the same tiles of x and w1. They lie d columns "
                "and d rows further."),
        Mutant("x-moves-without-its-stride", " d{ * stride_xd -> }", seen=("strided-only", "reads-outside")),
        Mutant("w1-sideways", " d{ * stride_1d -> }",
            says="In the inner loop w1 lies d elements further, not d rows. Rows lie a stride apart: multiply."),
        Mutant("w1-moves-along-d-for-good",
            "{ + d * stride_1d, mask=mask_1, other=0.0) -> , mask=mask_1, other=0.0)\n"
            "            w1_ptrs += BLOCK_D * stride_1d}",
            seen=("wrong-values", "reads-outside", "nan")),
        Mutant("w1-steps-by-the-wrong-stride", "BLOCK_H * {stride_1h -> stride_1d}",
            seen=("wrong-values", "reads-outside", "strided-only", "nan")),
        Mutant("w2-steps-by-the-wrong-stride", "BLOCK_H * {stride_2h -> stride_2n}", says="w2-sideways",
            seen=("reads-outside", "strided-only")),
        Mutant("weights-side-by-side", "{stride_1d + offs_h[None, :] * stride_1h -> H + offs_h[None, :]}",
            seen=("strided-only", "reads-outside")),
        Mutant("no-mask-along-h", "{rest_h[:, None] &  -> }", "{ & rest_h[None, :] -> }",
            seen=("reads-outside", "nan")),
        Mutant("no-mask-along-d", "{ & rest_d[None, :] -> }", "{rest_d[:, None] & rest_h -> rest_h}",
            seen=("reads-outside", "nan")),
        Mutant("mask-of-d-never-moves", "offs_d < D{ - d -> }", seen=("reads-outside", "nan")),
        Mutant("other-forgotten", "mask_x{, other=0.0 -> }", "mask_1{, other=0.0 -> }", "mask_n{, other=0.0 -> }",
            seen=("no-other", "nan"), only="interpreter"),
        Mutant("no-input-precision", 'hidden{, input_precision="ieee" -> }', '{, input_precision="ieee" -> }',
            seen="tf32"),
        Mutant("no-input-precision-in-one", 'acc{, input_precision="ieee" -> }', seen="tf32"),
        Mutant("no-store-mask", "{, mask=mask_m & mask_n -> }", seen="out-of-bounds-store"),
        Mutant("grid-of-rows-only", '{triton.cdiv(N, tile["BLOCK_N"]) -> 1}', seen=UNWRITTEN),
        Mutant("takes-any-sizes", "{shape[1] != w1.shape[0] or w1.shape[1] != w2.shape[0] -> ndim != w1.ndim}",
            seen="should-raise"),
        Mutant("second-product-in-torch", "return out{ ->  + 0}", seen="torch-compute"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body='return torch.nn.functional.gelu(x @ w1, approximate="tanh") @ w2'),
    ],
}

VARIANTS = {
    "traffic_ledger": [
        Variant("other-order-of-plans",
            '{separate": separate, "epilogue": epilogue, "fused": fused -> fused": fused, "epilogue": epilogue, '
            '"separate": separate}'),
        Variant("spelt-out", "{columns * one_product + one_product -> 2 * M * D * H * (columns + 1)}"),
        Variant("by-negative-division", "{triton.cdiv(M, -> -(-M //}"),
    ],
    "mlp_gelu_fused": [
        Variant("tiles-of-32", "{mlp_tile(D, x.dtype -> dict(BLOCK_M=32, BLOCK_D=32, BLOCK_H=16, BLOCK_N=64}"),
        Variant("gelu-by-exp2",
            "{act = gelu_tanh(hidden -> z = 2.302208198 * (hidden + 0.044715 * hidden * hidden * hidden)\n"
            "        act = (hidden / (1.0 + tl.exp2(-z))}"),
        Variant("dots-added-afterwards", "{= tl.dot(act, w2, acc -> += tl.dot(act, w2}",
            "{= tl.dot(x, w1, hidden -> += tl.dot(x, w1}"),
        Variant("weights-by-h", " * stride_1d{ ->  + h * stride_1h}, ", ".load(w2_ptrs{ ->  + h * stride_2h},",
            "{        w1_ptrs += BLOCK_H * stride_1h\n -> }", "{        w2_ptrs += BLOCK_H * stride_2h\n -> }"),
        Variant("cast-before-the-store", "out_ptrs, acc{ -> .to(out_ptr.dtype.element_ty)}, mask"),
        Variant("masks-in-line", "{            mask_1 = rest_d[:, None] & rest_h[None, :]\n -> }",
            "stride_1d, mask={mask_1 -> rest_d[:, None] & rest_h[None, :]}"),
    ],
}

ONE_FACTOR = "the other factor of each such product is 0"
EQUIVALENT = {
    "mlp_gelu_fused": {
        f"{load} => {load.replace('0.0', '1.0')}": ONE_FACTOR for load in (LOAD_X, LOAD_1, LOAD_2)
    },
}
