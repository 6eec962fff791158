"""Wrong answers of 24_mlp_one_kernel with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

UNWRITTEN = ("unwritten", "unwritten-tail")
OUTSIDE = ("reads-outside", "out-of-bounds-load")
FUSED_FLOPS = "flops=columns * one_product + one_product"
FUSED_ASKED = "asked=rows * (columns * w1 + w2)"
PLANS = '{"separate": separate, "epilogue": epilogue, "fused": fused}'

ACT = "act = gelu_tanh(hidden).to(w2_ptr.dtype.element_ty)"
MASK_1 = "mask_1 = rest_d[:, None] & rest_h[None, :]"
LOAD_X = "x = tl.load(x_ptrs + d * stride_xd, mask=mask_x, other=0.0)"
MASK_X = "mask_x = mask_m & rest_d[None, :]"
LOAD_1 = "w1 = tl.load(w1_ptrs + d * stride_1d, mask=mask_1, other=0.0)"
LOAD_2 = "w2 = tl.load(w2_ptrs, mask=rest_h[:, None] & mask_n, other=0.0)"
DOT_1 = 'hidden = tl.dot(x, w1, hidden, input_precision="ieee")'
DOT_2 = 'acc = tl.dot(act, w2, acc, input_precision="ieee")'
ZEROS = "        hidden = tl.zeros((BLOCK_M, BLOCK_H), dtype=tl.float32)\n"
STEP_1 = "        w1_ptrs += BLOCK_H * stride_1h\n"
STEP_2 = "        w2_ptrs += BLOCK_H * stride_2h\n"
OUTER = "    for h in range(0, H, BLOCK_H):\n"
INNER = "range(0, D, BLOCK_D)"
STORE = "tl.store(out_ptrs, acc, mask=mask_m & mask_n)"
HALF = "out_ptr.dtype.element_ty"

MUTANTS = {
    "traffic_ledger": [
        Mutant("recomputation_forgotten", "recomputation-forgotten", (FUSED_FLOPS, "flops=2 * one_product")),
        Mutant("both_products_recomputed", "both-products-recomputed", (FUSED_FLOPS, "flops=columns * 2 * one_product")),
        Mutant("weights_asked_once", "weights-asked-once", (FUSED_ASKED, "asked=rows * (w1 + w2)")),
        Mutant("both_weights_asked_again", "both-weights-asked-again", (FUSED_ASKED, "asked=rows * columns * (w1 + w2)")),
        Mutant("weights_count_what_is_asked", "weights-count-what-is-asked", ("        weights=w1 + w2,\n        " + FUSED_ASKED, "        weights=columns * w1 + w2,\n        " + FUSED_ASKED)),
        Mutant("one_row_of_tiles", "one-row-of-tiles", (FUSED_ASKED, "asked=columns * w1 + w2"), ("asked=rows * (w1 + w2)", "asked=w1 + w2")),
        Mutant("elements_for_bytes", "elements-for-bytes", ("x = out = 2 * M * D", "x = out = M * D"), ("hidden = 2 * M * H", "hidden = M * H"), ("w1 = w2 = 2 * D * H", "w1 = w2 = D * H")),
        Mutant("gelu_forgotten", "gelu-forgotten", ("activations=x + 4 * hidden + out", "activations=x + 2 * hidden + out")),
        Mutant("hidden_counted_once", "hidden-counted-once", ("activations=x + 4 * hidden + out", "activations=x + 2 * hidden + out"), ("activations=x + 2 * hidden + out)\n", "activations=x + hidden + out)\n")),
        Mutant("hidden_in_memory_when_fused", "hidden-in-memory-when-fused", ("        activations=x + out,\n", "        activations=x + 2 * hidden + out,\n")),
        Mutant("out_forgotten", "out-forgotten", ("x = out = 2 * M * D", "x, out = 2 * M * D, 0")),
        Mutant("one_operation_for_a_product", "one-operation", ("one_product = 2 * M * D * H", "one_product = M * D * H")),
        Mutant("rows_rounded_down", "rows-rounded-down", ("rows = triton.cdiv(M, ROWS_OF_A_TILE)", "rows = M // ROWS_OF_A_TILE")),
        Mutant("real_rows", "wrong-values", ("rows = triton.cdiv(M, ROWS_OF_A_TILE)", "rows = M / ROWS_OF_A_TILE")),
        Mutant("one_product_counted", "one-product", ("flops=2 * one_product", "flops=one_product")),
        Mutant("second_product_forgotten", "second-product-forgotten", (FUSED_FLOPS, "flops=columns * one_product")),
        Mutant("x_for_each_column", "x-for-each-column", ("        activations=x + out,\n", "        activations=columns * x + out,\n")),
        Mutant("weights_for_each_row", "weights-for-each-row", ("weights=w1 + w2,\n        asked=rows * (w1 + w2)", "weights=rows * (w1 + w2),\n        asked=rows * (w1 + w2)"), ("weights=w1 + w2,\n        " + FUSED_ASKED, "weights=rows * (w1 + w2),\n        " + FUSED_ASKED)),
        Mutant("fused_asks_in_one_row", "fused-asks-in-one-row", (FUSED_ASKED, "asked=columns * w1 + w2")),
        Mutant("columns_everywhere", "columns-everywhere", ("asked=rows * (w1 + w2)", "asked=rows * columns * (w1 + w2)")),
        Mutant("four_bytes", "four-bytes", ("x = out = 2 *", "x = out = 4 *"), ("hidden = 2 *", "hidden = 4 *"), ("w1 = w2 = 2 *", "w1 = w2 = 4 *")),
        Mutant("hidden_is_4_d", "hidden-is-4-d", ("hidden = 2 * M * H", "hidden = 2 * M * 4 * D")),
        Mutant("hidden_written_only", "hidden-written-only", ("activations=x + 2 * hidden + out)\n", "activations=x + hidden + out)\n")),
        Mutant("floats", "property", ("x = out = 2 *", "x = out = 2.0 *")),
        Mutant("rows_and_columns_swapped", "wrong-values", (FUSED_ASKED, "asked=columns * (rows * w1 + w2)")),
        Mutant("plan_missing", "wrong-values", ('"epilogue": epilogue, ', "")),
        Mutant("entry_missing", "wrong-values", ("        weights=w1 + w2,\n        " + FUSED_ASKED, "        " + FUSED_ASKED)),
        Mutant("plans_swapped", "plans-swapped", (PLANS, '{"separate": epilogue, "epilogue": separate, "fused": fused}')),
        Mutant("no_return", "wrong-type", ("return " + PLANS, PLANS)),
        Mutant("the_reference_by_name", "raised", replace="def traffic_ledger(M, D, H):\n    return traffic_ledger_ref(M, D, H)\n"),
    ],
    "mlp_gelu_fused": [
        Mutant("no_gelu", "no-gelu", (ACT, "act = hidden.to(w2_ptr.dtype.element_ty)")),
        Mutant("silu_for_gelu", "silu-for-gelu", (ACT, "act = (hidden * tl.sigmoid(hidden)).to(w2_ptr.dtype.element_ty)")),
        Mutant("relu_for_gelu", "relu-for-gelu", (ACT, "act = tl.maximum(hidden, 0.0).to(w2_ptr.dtype.element_ty)")),
        Mutant("gelu_at_the_end", "gelu-of-the-result", (ACT, "act = hidden.to(w2_ptr.dtype.element_ty)"), (STORE, STORE.replace("acc", "gelu_tanh(acc)"))),
        Mutant("gelu_in_the_inner_loop", "gelu-in-the-loop", (DOT_1, DOT_1.replace("tl.dot", "gelu_tanh(tl.dot") + ")"), (ACT, "act = hidden.to(w2_ptr.dtype.element_ty)")),
        Mutant("gelu_in_the_inner_loop_too", "gelu-in-the-loop-too", (DOT_1, DOT_1.replace("tl.dot", "gelu_tanh(tl.dot") + ")")),
        Mutant("no_cast_before_the_second_dot", ("raised", "does-not-compile"), (ACT, "act = gelu_tanh(hidden)")),
        Mutant("gelu_of_half_precision", ("does-not-compile", "raised"), (ACT, "act = gelu_tanh(hidden.to(w2_ptr.dtype.element_ty))")),
        Mutant("hidden_never_reset", "hidden-not-reset", (ZEROS, ""), (OUTER, ZEROS[4:] + OUTER)),
        Mutant("hidden_replaced", "last-step-of-d", (DOT_1, DOT_1.replace(", hidden,", ","))),
        Mutant("acc_replaced", "last-step-of-h", (DOT_2, DOT_2.replace(", acc,", ","))),
        Mutant("hidden_doubled", "hidden-added-twice", (DOT_1, DOT_1.replace("hidden =", "hidden +="))),
        Mutant("steps_of_one_along_d", "inner-loop-by-one", (INNER, "range(D)")),
        Mutant("w1_moves_by_h", "w1-by-h", (STEP_1, STEP_1.replace("BLOCK_H", "h"))),
        Mutant("gelu_at_the_end_too", "gelu-of-the-result-too", (STORE, STORE.replace("acc", "gelu_tanh(acc)"))),
        Mutant("second_product_in_the_inner_loop", "second-product-inside", ("        " + ACT, "            " + ACT), ("        " + LOAD_2, "            " + LOAD_2), ("        " + DOT_2, "            " + DOT_2)),
        Mutant("acc_doubled", "acc-added-twice", (DOT_2, DOT_2.replace("acc =", "acc +="))),
        Mutant("first_step_of_d", "first-step-of-d", (INNER, "range(0, BLOCK_D, BLOCK_D)")),
        Mutant("w1_never_advances", "w1-stands-still", (STEP_1, "")),
        Mutant("w2_never_advances", "w2-stands-still", (STEP_2, "")),
        Mutant("weights_never_advance", "weights-stand-still", (STEP_1, ""), (STEP_2, "")),
        Mutant("w1_advances_by_one", "w1-by-one", (STEP_1, "        w1_ptrs += stride_1h\n")),
        Mutant("w2_advances_by_one", "w2-by-one", (STEP_2, "        w2_ptrs += stride_2h\n")),
        Mutant("weights_advance_by_one", "weights-by-one", (STEP_1, "        w1_ptrs += stride_1h\n"), (STEP_2, "        w2_ptrs += stride_2h\n")),
        Mutant("w2_advances_without_its_stride", "w2-sideways", (STEP_2, "        w2_ptrs += BLOCK_H\n")),
        Mutant("x_stands_still_along_d", "x-stands-still", (LOAD_X, LOAD_X.replace(" + d * stride_xd", ""))),
        Mutant("w1_stands_still_along_d", "w1-stands-still-along-d", (LOAD_1, LOAD_1.replace(" + d * stride_1d", ""))),
        Mutant("inner_loop_stands_still", "inner-loop-stands-still", (LOAD_X, LOAD_X.replace(" + d * stride_xd", "")), (LOAD_1, LOAD_1.replace(" + d * stride_1d", ""))),
        Mutant("x_moves_without_its_stride", ("strided-only", "reads-outside"), (LOAD_X, LOAD_X.replace("d * stride_xd", "d"))),
        Mutant("w1_moves_without_its_stride", "w1-sideways", (LOAD_1, LOAD_1.replace("d * stride_1d", "d"))),
        Mutant("w1_moves_along_d_for_good", ("wrong-values", "reads-outside", "nan"), (LOAD_1, LOAD_1.replace(" + d * stride_1d", "") + "\n            w1_ptrs += BLOCK_D * stride_1d")),
        Mutant("w1_steps_by_the_wrong_stride", ("wrong-values", "reads-outside", "strided-only", "nan"), (STEP_1, "        w1_ptrs += BLOCK_H * stride_1d\n")),
        Mutant("w2_steps_by_the_wrong_stride", ("w2-sideways", "reads-outside", "strided-only"), (STEP_2, "        w2_ptrs += BLOCK_H * stride_2n\n")),
        Mutant("weights_side_by_side", ("strided-only", "reads-outside"), ("offs_d[:, None] * stride_1d + offs_h[None, :] * stride_1h", "offs_d[:, None] * H + offs_h[None, :]")),
        Mutant("no_mask_along_h", (*OUTSIDE, "nan"), (LOAD_2, LOAD_2.replace("rest_h[:, None] & ", "")), (MASK_1, "mask_1 = rest_d[:, None]")),
        Mutant("no_mask_along_d", (*OUTSIDE, "nan"), (MASK_X, "mask_x = mask_m"), (MASK_1, "mask_1 = rest_h[None, :]")),
        Mutant("mask_of_d_never_moves", (*OUTSIDE, "nan"), ("rest_d = offs_d < D - d", "rest_d = offs_d < D")),
        Mutant("other_forgotten", ("no-other", "nan"), (LOAD_X, LOAD_X.replace(", other=0.0", "")), (LOAD_1, LOAD_1.replace(", other=0.0", "")), (LOAD_2, LOAD_2.replace(", other=0.0", "")), only="interpreter"),
        Mutant("no_input_precision", "tf32", (DOT_1, DOT_1.replace(', input_precision="ieee"', "")), (DOT_2, DOT_2.replace(', input_precision="ieee"', ""))),
        Mutant("no_input_precision_in_one", "tf32", (DOT_2, DOT_2.replace(', input_precision="ieee"', ""))),
        Mutant("no_store_mask", "out-of-bounds-store", (STORE, "tl.store(out_ptrs, acc)")),
        Mutant("grid_of_rows_only", UNWRITTEN, ('triton.cdiv(N, tile["BLOCK_N"]))', "1)")),
        Mutant("takes_any_sizes", "should-raise", ("if x.shape[1] != w1.shape[0] or w1.shape[1] != w2.shape[0]:", "if x.ndim != w1.ndim:")),
        Mutant("second_product_in_torch", "torch-compute", ("    return out", "    return out + 0")),
        Mutant("torch_stand_in", "no-kernel-launched", replace='def mlp_gelu_fused(x, w1, w2):\n    return torch.nn.functional.gelu(x @ w1, approximate="tanh") @ w2\n'),
    ],
}

VARIANTS = {
    "traffic_ledger": [
        Variant("other_order_of_plans", (PLANS, '{"fused": fused, "epilogue": epilogue, "separate": separate}')),
        Variant("spelt_out", (FUSED_FLOPS, "flops=2 * M * D * H * (columns + 1)")),
        Variant("by_negative_division", ("rows = triton.cdiv(M, ROWS_OF_A_TILE)", "rows = -(-M // ROWS_OF_A_TILE)")),
    ],
    "mlp_gelu_fused": [
        Variant("tiles_of_32", ("    tile = mlp_tile(D, x.dtype)\n", "    tile = dict(BLOCK_M=32, BLOCK_D=32, BLOCK_H=16, BLOCK_N=64)\n")),
        Variant("gelu_by_exp2", (ACT, "z = 2.302208198 * (hidden + 0.044715 * hidden * hidden * hidden)\n        act = (hidden / (1.0 + tl.exp2(-z))).to(w2_ptr.dtype.element_ty)")),
        Variant("dots_added_afterwards", (DOT_2, 'acc += tl.dot(act, w2, input_precision="ieee")'), (DOT_1, 'hidden += tl.dot(x, w1, input_precision="ieee")')),
        Variant("weights_by_h", (LOAD_1, LOAD_1.replace("d * stride_1d", "d * stride_1d + h * stride_1h")), (LOAD_2, LOAD_2.replace("w2_ptrs", "w2_ptrs + h * stride_2h")), (STEP_1, ""), (STEP_2, "")),
        Variant("cast_before_the_store", (STORE, STORE.replace("acc", f"acc.to({HALF})"))),
        Variant("masks_in_line", ("            " + MASK_1 + "\n", ""), (LOAD_1, LOAD_1.replace("mask_1", "rest_d[:, None] & rest_h[None, :]"))),
    ],
}

ONE_FACTOR = "the other factor of each such product is 0"
EQUIVALENT = {
    "mlp_gelu_fused": {
        f"{load} => {load.replace('0.0', '1.0')}": ONE_FACTOR for load in (LOAD_X, LOAD_1, LOAD_2)
    },
}
