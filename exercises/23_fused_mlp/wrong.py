"""Wrong answers of 23_fused_mlp with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

GATE_PTRS = "gate_ptrs = gate_ptr + pid_m * stride_gm + offs_n * stride_gn"
UP_PTRS = "up_ptrs = up_ptr + pid_m * stride_um + offs_n * stride_un"
GATE = "out = gate * tl.sigmoid(gate) * up\n\n    tl.store"
GATE_STORE = "tl.store(out_ptr + pid_m * stride_om + offs_n * stride_on, out, mask=mask_n)"
HALF = "out_ptr.dtype.element_ty"
UNWRITTEN = ("unwritten", "unwritten-tail")
OUTSIDE = ("reads-outside", "out-of-bounds-load")
STRIDES = ("strided-only", "reads-outside")

LOAD_X = "x = tl.load(x_ptrs, mask=mask_m & rest[None, :], other=0.0)"
LOAD_GATE = "w_gate = tl.load(gate_ptrs, mask=rest[:, None] & mask_h, other=0.0)"
LOAD_UP = "w_up = tl.load(up_ptrs, mask=rest[:, None] & mask_h, other=0.0)"
DOT_GATE = 'gate = tl.dot(x, w_gate, gate, input_precision="ieee")'
DOT_UP = 'up = tl.dot(x, w_up, up, input_precision="ieee")'
STEP_X = "        x_ptrs += BLOCK_K * stride_xd\n"
STEP_GATE = "        gate_ptrs += BLOCK_K * stride_gd\n"
STEP_UP = "        up_ptrs += BLOCK_K * stride_ud\n"
REST = "rest = offs_d < D - d"
LOOP = "range(0, D, BLOCK_K)"
OUT = "    out = gate / (1.0 + tl.exp(-gate)) * up\n"
STORE = "tl.store(out_ptrs, out, mask=mask_m & mask_h)"
LAYER = "    hidden = gate_up_swiglu(x, w_gate, w_up)\n    return matmul_tuned(hidden, w_down)"

MUTANTS = {
    "silu_mul": [
        Mutant("gate_and_up_swapped", "gate-and-up-swapped", (GATE, "out = up * tl.sigmoid(up) * gate\n\n    tl.store")),
        Mutant("no_silu", "no-silu", (GATE, "out = gate * up\n\n    tl.store")),
        Mutant("sigmoid_for_silu", "sigmoid-for-silu", (GATE, "out = tl.sigmoid(gate) * up\n\n    tl.store")),
        Mutant("up_forgotten", "no-up", (GATE, "out = gate * tl.sigmoid(gate)\n\n    tl.store")),
        Mutant("silu_added", "added", (GATE, "out = gate * tl.sigmoid(gate) + up\n\n    tl.store")),
        Mutant("silu_of_both", "silu-of-both", (GATE, "out = gate * tl.sigmoid(gate) * up * tl.sigmoid(up)\n\n    tl.store")),
        Mutant("silu_of_the_product", "silu-of-the-product", (GATE, "out = gate * up * tl.sigmoid(gate * up)\n\n    tl.store")),
        Mutant("sign_of_the_exponential", "sign-of-the-exponential", (GATE, "out = gate / (1.0 + tl.exp(gate)) * up\n\n    tl.store")),
        Mutant("exp2_without_factor", "base-two", (GATE, "out = gate / (1.0 + tl.exp2(-gate)) * up\n\n    tl.store")),
        Mutant("exponential_overflows", ("nan", "overflow"), (GATE, "out = gate * tl.exp(gate) / (1 + tl.exp(gate)) * up\n\n    tl.store")),
        Mutant("silu_in_half_precision", "rounded-on-the-way", (GATE, f"out = (gate * tl.sigmoid(gate)).to({HALF}) * up.to({HALF})\n\n    tl.store")),
        Mutant("sigmoid_of_half_precision", ("does-not-compile", "raised"), ("tl.load(gate_ptrs, mask=mask_n).to(tl.float32)", "tl.load(gate_ptrs, mask=mask_n)")),
        Mutant("no_store_mask", "out-of-bounds-store", (GATE_STORE, GATE_STORE.replace(", mask=mask_n", ""))),
        Mutant("no_load_mask", OUTSIDE, ("tl.load(gate_ptrs, mask=mask_n)", "tl.load(gate_ptrs)"), only="interpreter"),
        Mutant("up_uses_strides_of_gate", (*STRIDES, "wrong-values"), (UP_PTRS, "up_ptrs = up_ptr + pid_m * stride_gm + offs_n * stride_gn")),
        Mutant("gate_uses_strides_of_up", (*STRIDES, "wrong-values"), (GATE_PTRS, "gate_ptrs = gate_ptr + pid_m * stride_um + offs_n * stride_un")),
        Mutant("out_uses_strides_of_gate", (*STRIDES, "out-of-bounds-store"), ("out_ptr + pid_m * stride_om", "out_ptr + pid_m * stride_gm")),
        Mutant("columns_of_up_side_by_side", STRIDES, (UP_PTRS, "up_ptrs = up_ptr + pid_m * stride_um + offs_n")),
        Mutant("columns_of_gate_side_by_side", STRIDES, (GATE_PTRS, "gate_ptrs = gate_ptr + pid_m * stride_gm + offs_n")),
        Mutant("rows_of_gate_packed", STRIDES, (GATE_PTRS, "gate_ptrs = gate_ptr + pid_m * N + offs_n * stride_gn")),
        Mutant("gate_read_twice", ("wrong-values", "unused-input"), ("tl.load(up_ptrs, mask=mask_n)", "tl.load(gate_ptrs, mask=mask_n)")),
        Mutant("first_row_only", ("rows-after-first", "wrong-values", "rows-moved"), (GATE_PTRS, "gate_ptrs = gate_ptr + offs_n * stride_gn")),
        Mutant("one_tile_for_each_row", UNWRITTEN, ("(M * triton.cdiv(N, 512),)", "(M,)")),
        Mutant("grid_rounds_down", UNWRITTEN, ("(M * triton.cdiv(N, 512),)", "(M * (N // 512),)")),
        Mutant("float32_result", "wrong-dtype", ("dtype=gate.dtype, device", "dtype=torch.float32, device")),
        Mutant("takes_any_shapes", "should-raise", ("if gate.shape != up.shape:", "if gate.ndim != up.ndim:")),
        Mutant("in_place", ("aliases-input", "input-changed"), ("    out = torch.empty((M, N), dtype=gate.dtype, device=gate.device)\n", "    out = gate\n")),
        Mutant("silu_in_torch", "torch-compute", ("    M, N = gate.shape\n", "    gate = torch.nn.functional.silu(gate)\n    M, N = gate.shape\n")),
    ],
    "gate_up_swiglu": [
        Mutant("gate_and_up_swapped", "gate-and-up-swapped", (OUT, "    out = up * tl.sigmoid(up) * gate\n")),
        Mutant("no_silu", "no-silu", (OUT, "    out = gate * up\n")),
        Mutant("sigmoid_for_silu", "sigmoid-for-silu", (OUT, "    out = tl.sigmoid(gate) * up\n")),
        Mutant("up_forgotten", "no-up", (OUT, "    out = gate * tl.sigmoid(gate)\n")),
        Mutant("silu_of_both", "silu-of-both", (OUT, "    out = gate * tl.sigmoid(gate) * up * tl.sigmoid(up)\n")),
        Mutant("gate_weight_twice", "gate-weight-twice", (DOT_UP, DOT_UP.replace("w_up", "w_gate"))),
        Mutant("up_weight_twice", "up-weight-twice", (DOT_GATE, DOT_GATE.replace("w_gate", "w_up"))),
        Mutant("up_loaded_from_gate", "gate-weight-twice", (LOAD_UP, LOAD_UP.replace("up_ptrs", "gate_ptrs"))),
        Mutant("both_into_one_sum", "zeros", (DOT_UP, 'gate = tl.dot(x, w_up, gate, input_precision="ieee")')),
        Mutant("x_never_advances", "x-stands-still", (STEP_X, "")),
        Mutant("gate_never_advances", "gate-stands-still", (STEP_GATE, "")),
        Mutant("up_never_advances", "up-stands-still", (STEP_UP, "")),
        Mutant("weights_never_advance", "weights-stand-still", (STEP_GATE, ""), (STEP_UP, "")),
        Mutant("nothing_advances", "nothing-advances", (STEP_X, ""), (STEP_GATE, ""), (STEP_UP, "")),
        Mutant("x_advances_by_one", "x-advances-by-one", (STEP_X, "        x_ptrs += stride_xd\n")),
        Mutant("gate_advances_by_one", "gate-advances-by-one", (STEP_GATE, "        gate_ptrs += stride_gd\n")),
        Mutant("up_advances_by_one", "up-advances-by-one", (STEP_UP, "        up_ptrs += stride_ud\n")),
        Mutant("weights_advance_by_one", "weights-advance-by-one", (STEP_GATE, "        gate_ptrs += stride_gd\n"), (STEP_UP, "        up_ptrs += stride_ud\n")),
        Mutant("all_advance_by_one", "all-advance-by-one", (STEP_X, "        x_ptrs += stride_xd\n"), (STEP_GATE, "        gate_ptrs += stride_gd\n"), (STEP_UP, "        up_ptrs += stride_ud\n")),
        Mutant("gate_advances_without_its_stride", "gate-moves-sideways", (STEP_GATE, "        gate_ptrs += BLOCK_K\n")),
        Mutant("up_advances_without_its_stride", "up-moves-sideways", (STEP_UP, "        up_ptrs += BLOCK_K\n")),
        Mutant("sign_of_the_exponential", "sign-of-the-exponential", (OUT, "    out = gate / (1.0 + tl.exp(gate)) * up\n")),
        Mutant("exp2_without_factor", "base-two", (OUT, "    out = gate / (1.0 + tl.exp2(-gate)) * up\n")),
        Mutant("silu_added", "added", (OUT, "    out = gate * tl.sigmoid(gate) + up\n")),
        Mutant("x_advances_without_its_stride", ("strided-only", "reads-outside"), (STEP_X, "        x_ptrs += BLOCK_K\n")),
        Mutant("weights_advance_without_strides", "weights-move-sideways", (STEP_GATE, "        gate_ptrs += BLOCK_K\n"), (STEP_UP, "        up_ptrs += BLOCK_K\n")),
        Mutant("up_advances_like_gate", ("strided-only", "reads-outside"), (STEP_UP, STEP_UP.replace("stride_ud", "stride_gd"))),
        Mutant("one_pointer_tile_for_both", ("up-with-strides-of-gate", "up-turned-like-gate"), ("up_ptrs = up_ptr + offs_d[:, None] * stride_ud + offs_h[None, :] * stride_uh", "up_ptrs = up_ptr + offs_d[:, None] * stride_gd + offs_h[None, :] * stride_gh"), (STEP_UP, STEP_UP.replace("stride_ud", "stride_gd"))),
        Mutant("gate_read_as_up", ("gate-with-strides-of-up", "gate-turned-like-up"), ("gate_ptrs = gate_ptr + offs_d[:, None] * stride_gd + offs_h[None, :] * stride_gh", "gate_ptrs = gate_ptr + offs_d[:, None] * stride_ud + offs_h[None, :] * stride_uh"), (STEP_GATE, STEP_GATE.replace("stride_gd", "stride_ud"))),
        Mutant("columns_of_x_side_by_side", ("strided-only", "reads-outside"), ("offs_d[None, :] * stride_xd", "offs_d[None, :]"), (STEP_X, "        x_ptrs += BLOCK_K\n")),
        Mutant("accumulators_replaced", "last-step-only", (DOT_GATE, DOT_GATE.replace(", gate,", ",")), (DOT_UP, DOT_UP.replace(", up,", ","))),
        Mutant("gate_replaced", "last-step-of-gate", (DOT_GATE, DOT_GATE.replace(", gate,", ","))),
        Mutant("up_replaced", "last-step-of-up", (DOT_UP, DOT_UP.replace(", up,", ","))),
        Mutant("stored_in_the_loop", "property", (STEP_UP, STEP_UP + "    " + OUT + "        " + STORE + "\n"), (OUT + "    " + STORE, "    pass")),
        Mutant("both_accumulated_twice", "sums-added-twice", (DOT_GATE, DOT_GATE.replace("gate = ", "gate += ")), (DOT_UP, DOT_UP.replace("up = ", "up += "))),
        Mutant("accumulated_twice", "gate-added-twice", (DOT_GATE, DOT_GATE.replace("gate = ", "gate += "))),
        Mutant("first_step_only", "first-step-only", (LOOP, "range(0, min(D, BLOCK_K), BLOCK_K)")),
        Mutant("last_step_dropped", "tail-left-out", (LOOP, "range(0, D - BLOCK_K + 1, BLOCK_K)")),
        Mutant("loop_over_h", ("tail-left-out", "first-step-only"), (LOOP, "range(0, H, BLOCK_K)")),
        Mutant("gate_applied_in_the_loop", "wrong-values", (STEP_X, "        gate = gate * tl.sigmoid(gate)\n" + STEP_X), (OUT, "    out = gate * up\n")),
        Mutant("gated_in_each_step", "gated-in-each-step", (DOT_GATE, 'part = tl.dot(x, w_gate, input_precision="ieee")'), (DOT_UP, 'up += part * tl.sigmoid(part) * tl.dot(x, w_up, input_precision="ieee")'), (OUT, "    out = up\n")),
        Mutant("no_mask_along_d", (*OUTSIDE, "nan"), (LOAD_X, LOAD_X.replace(" & rest[None, :]", "")), (LOAD_GATE, LOAD_GATE.replace("rest[:, None] & ", "")), (LOAD_UP, LOAD_UP.replace("rest[:, None] & ", ""))),
        Mutant("no_mask_of_x_along_d", (*OUTSIDE, "nan"), (LOAD_X, LOAD_X.replace(" & rest[None, :]", ""))),
        Mutant("mask_never_moves", (*OUTSIDE, "nan"), (REST, "rest = offs_d < D")),
        Mutant("mask_of_all_steps", "first-step-only", (REST, "rest = offs_d + d < BLOCK_K")),
        Mutant("mask_one_too_many", (*OUTSIDE, "nan", "wrong-values"), (REST, "rest = offs_d <= D - d")),
        Mutant("other_forgotten", "no-other", (LOAD_X, LOAD_X.replace(", other=0.0", "")), (LOAD_GATE, LOAD_GATE.replace(", other=0.0", "")), (LOAD_UP, LOAD_UP.replace(", other=0.0", "")), only="interpreter"),
        Mutant("sums_rounded_before_the_gate", "rounded-on-the-way", (OUT, f"    gate, up = gate.to({HALF}).to(tl.float32), up.to({HALF}).to(tl.float32)\n{OUT}")),
        Mutant("up_rounded_before_the_gate", ("rounded-on-the-way", "wrong-values"), (OUT, f"    up = up.to({HALF}).to(tl.float32)\n{OUT}")),
        Mutant("no_input_precision", "tf32", (DOT_GATE, DOT_GATE.replace(', input_precision="ieee"', "")), (DOT_UP, DOT_UP.replace(', input_precision="ieee"', ""))),
        Mutant("no_input_precision_in_one", "tf32", (DOT_UP, DOT_UP.replace(', input_precision="ieee"', ""))),
        Mutant("tf32", "tf32", (DOT_UP, DOT_UP.replace("ieee", "tf32"))),
        Mutant("no_store_mask", "out-of-bounds-store", (STORE, "tl.store(out_ptrs, out)")),
        Mutant("store_mask_of_rows", "out-of-bounds-store", (STORE, "tl.store(out_ptrs, out, mask=mask_m)")),
        Mutant("not_stored", UNWRITTEN + ("not-attempted",), ("    " + STORE, "    out = out")),
        Mutant("grid_rounds_down", UNWRITTEN, ('triton.cdiv(H, tile["BLOCK_N"])', '(H // tile["BLOCK_N"])')),
        Mutant("takes_any_shapes", "should-raise", ("if w_gate.shape != w_up.shape or x.shape[1] != w_gate.shape[0]:", "if w_gate.ndim != w_up.ndim:")),
        Mutant("gate_in_torch", "torch-compute", ("    return out", "    return out * 1")),
        Mutant("contiguous_copies", ("torch-compute", "wrong-launch-count", "passed"), ("    M, D = x.shape\n", "    w_gate, w_up = w_gate.clone() * 1, w_up\n    M, D = x.shape\n")),
        Mutant(
            "three_kernels",
            ("wrong-launch-count",),
            replace="def gate_up_swiglu(x, w_gate, w_up):\n    if w_gate.shape != w_up.shape:\n        raise ValueError\n    return silu_mul(matmul_tuned(x, w_gate), matmul_tuned(x, w_up))\n",
        ),
    ],
    "mlp_swiglu": [
        Mutant("gate_and_up_swapped", "gate-and-up-swapped", ("gate_up_swiglu(x, w_gate, w_up)", "gate_up_swiglu(x, w_up, w_gate)")),
        Mutant("gate_weight_twice", "gate-weight-twice", ("gate_up_swiglu(x, w_gate, w_up)", "gate_up_swiglu(x, w_gate, w_gate)")),
        Mutant("up_weight_twice", "up-weight-twice", ("gate_up_swiglu(x, w_gate, w_up)", "gate_up_swiglu(x, w_up, w_up)")),
        Mutant("down_forgotten", "wrong-shape", ("return matmul_tuned(hidden, w_down)", "return hidden")),
        Mutant("down_in_torch", "torch-compute", ("return matmul_tuned(hidden, w_down)", "return hidden @ w_down")),
        Mutant("down_transposed", ("raised", "wrong-shape"), ("return matmul_tuned(hidden, w_down)", "return matmul_tuned(hidden, w_down.T)")),
        Mutant("hidden_computed_twice", "property", ("    hidden = gate_up_swiglu(x, w_gate, w_up)\n", "    hidden = gate_up_swiglu(x, w_gate, w_up)\n    hidden = gate_up_swiglu(x, w_gate, w_up)\n")),
        Mutant("gate_of_task_1", "property", ("gate_up_swiglu(x, w_gate, w_up)", "silu_mul(matmul_tuned(x, w_gate), matmul_tuned(x, w_up))")),
        Mutant("no_gate", "no-gate", ("gate_up_swiglu(x, w_gate, w_up)", "matmul_tuned(x, w_up)")),
        Mutant("all_in_torch", ("no-kernel-launched", "torch-compute"), (LAYER, "    return (torch.nn.functional.silu(x @ w_gate) * (x @ w_up)) @ w_down")),
        Mutant("gate_in_torch", "torch-compute", ("    hidden = gate_up_swiglu(x, w_gate, w_up)\n", "    hidden = torch.nn.functional.silu(matmul_tuned(x, w_gate)) * matmul_tuned(x, w_up)\n")),
        Mutant("two_results", "wrong-type", ("return matmul_tuned(hidden, w_down)", "return matmul_tuned(hidden, w_down), hidden")),
        Mutant("no_return", "wrong-type", ("return matmul_tuned(hidden, w_down)", "matmul_tuned(hidden, w_down)")),
    ],
}

VARIANTS = {
    "silu_mul": [
        Variant("tiles_of_256", ("(M * triton.cdiv(N, 512),)", "(M * triton.cdiv(N, 256),)"), ("BLOCK_N=512", "BLOCK_N=256, num_warps=2")),
        Variant("silu_by_division", (GATE, "out = gate / (1.0 + tl.exp(-gate)) * up\n\n    tl.store")),
        Variant("other_order", (GATE, "out = up * (gate * tl.sigmoid(gate))\n\n    tl.store")),
        Variant("masked_lanes_read_zero", ("tl.load(gate_ptrs, mask=mask_n)", "tl.load(gate_ptrs, mask=mask_n, other=0.0)")),
        Variant("cast_before_the_store", (GATE_STORE, GATE_STORE.replace("out, mask", f"out.to({HALF}), mask"))),
        Variant("up_goes_to_float32_by_itself", ("tl.load(up_ptrs, mask=mask_n).to(tl.float32)", "tl.load(up_ptrs, mask=mask_n)")),
    ],
    "gate_up_swiglu": [
        Variant("tiles_of_32", ("    tile = gate_up_tile(M, x.dtype)\n", "    tile = dict(BLOCK_M=32, BLOCK_N=32, BLOCK_K=16, num_warps=4, num_stages=2)\n")),
        Variant("dots_added_afterwards", (DOT_GATE, 'gate += tl.dot(x, w_gate, input_precision="ieee")'), (DOT_UP, 'up += tl.dot(x, w_up, input_precision="ieee")')),
        Variant("silu_by_sigmoid", (OUT, "    out = gate * tl.sigmoid(gate) * up\n")),
        Variant("cast_before_the_store", (STORE, f"tl.store(out_ptrs, out.to({HALF}), mask=mask_m & mask_h)")),
        Variant("steps_counted", ("for d in range(0, D, BLOCK_K):\n        rest = offs_d < D - d", "for step in range(0, tl.cdiv(D, BLOCK_K)):\n        rest = offs_d < D - step * BLOCK_K")),
        Variant("pointers_by_d", (LOAD_X, LOAD_X.replace("x_ptrs", "x_ptrs + d * stride_xd")), (STEP_X, "")),
        Variant("up_first", ("        " + DOT_GATE + "\n        " + DOT_UP, "        " + DOT_UP + "\n        " + DOT_GATE)),
        Variant("zero_weights_are_enough", (LOAD_X, LOAD_X.replace(" & rest[None, :]", " & rest[None, :] & (offs_d[None, :] >= 0)"))),
    ],
    "mlp_swiglu": [
        Variant("in_one_line", (LAYER, "    return matmul_tuned(gate_up_swiglu(x, w_gate, w_up), w_down)")),
        Variant("by_keyword", ("gate_up_swiglu(x, w_gate, w_up)", "gate_up_swiglu(x, w_up=w_up, w_gate=w_gate)")),
        Variant("by_the_product_of_page_20", ("matmul_tuned(hidden, w_down)", 'reference("matmul")(hidden, w_down)')),
    ],
}

ONE_FACTOR = "the other factor of each such product is 0"
EQUIVALENT = {
    "silu_mul": {
        "up = tl.load(up_ptrs, mask=mask_n).to(tl.float32) => up = tl.load(up_ptrs, mask=mask_n)": "it goes to float32 in the product with the SiLU",
        f"{GATE_STORE} => {GATE_STORE.replace('offs_n * stride_on', 'offs_n')}": "out is contiguous, so its columns lie side by side",
    },
    "gate_up_swiglu": {
        f"{load} => {load.replace('0.0', '1.0')}": ONE_FACTOR for load in (LOAD_X, LOAD_GATE, LOAD_UP)
    },
}
