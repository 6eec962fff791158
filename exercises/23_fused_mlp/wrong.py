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
LOAD_W = "w = tl.load(w_ptrs, mask=rest[:, None] & mask_w, other=0.0)"
DOT = 'both = tl.dot(x, w, both, input_precision="ieee")'
STEP_X = "        x_ptrs += BLOCK_K * stride_xd\n"
STEP_W = "        w_ptrs += BLOCK_K * stride_wd\n"
HALVES = "    gate, up = halves(both, BLOCK_M, BLOCK_N)\n"
REST = "rest = d + offs_d < D"
LOOP = "range(0, D, BLOCK_K)"
OUT = "    out = gate / (1.0 + tl.exp(-gate)) * up\n"
BOTH = "    both = tl.zeros((BLOCK_M, 2 * BLOCK_N), dtype=tl.float32)\n"
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
        Mutant("one_forgotten", "one-forgotten", (GATE, "out = gate / tl.exp(-gate) * up\n\n    tl.store")),
        Mutant("rounded_to_half", "half-digits", (GATE_STORE, GATE_STORE.replace("out, mask", "out.to(tl.float16), mask"))),
        Mutant("no_store_mask", "out-of-bounds-store", (GATE_STORE, GATE_STORE.replace(", mask=mask_n", ""))),
        Mutant("no_load_mask", OUTSIDE, ("tl.load(gate_ptrs, mask=mask_n)", "tl.load(gate_ptrs)"), only="interpreter"),
        Mutant("up_uses_strides_of_gate", (*STRIDES, "wrong-values"), (UP_PTRS, "up_ptrs = up_ptr + pid_m * stride_gm + offs_n * stride_gn")),
        Mutant("gate_uses_strides_of_up", (*STRIDES, "wrong-values"), (GATE_PTRS, "gate_ptrs = gate_ptr + pid_m * stride_um + offs_n * stride_un")),
        Mutant("out_uses_strides_of_gate", (*STRIDES, "out-of-bounds-store"), ("out_ptr + pid_m * stride_om", "out_ptr + pid_m * stride_gm")),
        Mutant("columns_of_up_side_by_side", STRIDES, (UP_PTRS, "up_ptrs = up_ptr + pid_m * stride_um + offs_n")),
        Mutant("columns_of_gate_side_by_side", STRIDES, (GATE_PTRS, "gate_ptrs = gate_ptr + pid_m * stride_gm + offs_n")),
        Mutant("rows_of_gate_packed", STRIDES, (GATE_PTRS, "gate_ptrs = gate_ptr + pid_m * N + offs_n * stride_gn")),
        Mutant("gate_read_twice", ("wrong-values", "unused-input"), ("tl.load(up_ptrs, mask=mask_n)", "tl.load(gate_ptrs, mask=mask_n)")),
        Mutant("first_row_only", STRIDES, (GATE_PTRS, "gate_ptrs = gate_ptr + offs_n * stride_gn")),
        Mutant("one_tile_for_each_row", UNWRITTEN, ("(M * triton.cdiv(N, 512),)", "(M,)")),
        Mutant("grid_rounds_down", UNWRITTEN, ("(M * triton.cdiv(N, 512),)", "(M * (N // 512),)")),
        Mutant("float32_result", "wrong-dtype", ("dtype=gate.dtype, device", "dtype=torch.float32, device")),
        Mutant("takes_any_shapes", "should-raise", ("if gate.shape != up.shape:", "if gate.ndim != up.ndim:")),
        Mutant("lies_like_gate", "property", ("    out = torch.empty((M, N), dtype=gate.dtype, device=gate.device)\n", "    out = torch.empty_like(gate)\n")),
        Mutant("in_place", ("aliases-input", "input-changed"), ("    out = torch.empty((M, N), dtype=gate.dtype, device=gate.device)\n", "    out = gate\n")),
        Mutant("silu_in_torch", "torch-compute", ("    M, N = gate.shape\n", "    gate = torch.nn.functional.silu(gate)\n    M, N = gate.shape\n")),
    ],
    "gate_up_swiglu": [
        Mutant("gate_and_up_swapped", "gate-and-up-swapped", (OUT, "    out = up * tl.sigmoid(up) * gate\n")),
        Mutant("no_silu", "no-silu", (OUT, "    out = gate * up\n")),
        Mutant("sigmoid_for_silu", "sigmoid-for-silu", (OUT, "    out = tl.sigmoid(gate) * up\n")),
        Mutant("up_forgotten", "no-up", (OUT, "    out = gate * tl.sigmoid(gate)\n")),
        Mutant("silu_of_both", "silu-of-both", (OUT, "    out = gate * tl.sigmoid(gate) * up * tl.sigmoid(up)\n")),
        Mutant("gate_taken_twice", "gate-weight-twice", (OUT, OUT.replace("* up", "* gate"))),
        Mutant("up_taken_twice", "up-weight-twice", (OUT, OUT.replace("gate", "up"))),
        Mutant("halves_taken_the_wrong_way_round", "gate-and-up-swapped", (HALVES, HALVES.replace("gate, up", "up, gate"))),
        Mutant("x_never_advances", "x-stands-still", (STEP_X, "")),
        Mutant("weights_never_advance", "weights-stand-still", (STEP_W, "")),
        Mutant("nothing_advances", "nothing-advances", (STEP_X, ""), (STEP_W, "")),
        Mutant("x_advances_by_one", "x-advances-by-one", (STEP_X, "        x_ptrs += stride_xd\n")),
        Mutant("weights_advance_by_one", "weights-advance-by-one", (STEP_W, "        w_ptrs += stride_wd\n")),
        Mutant("all_advance_by_one", "all-advance-by-one", (STEP_X, "        x_ptrs += stride_xd\n"), (STEP_W, "        w_ptrs += stride_wd\n")),
        Mutant("sign_of_the_exponential", "sign-of-the-exponential", (OUT, "    out = gate / (1.0 + tl.exp(gate)) * up\n")),
        Mutant("exp2_without_factor", "base-two", (OUT, "    out = gate / (1.0 + tl.exp2(-gate)) * up\n")),
        Mutant("silu_added", "added", (OUT, "    out = gate * tl.sigmoid(gate) + up\n")),
        Mutant("x_advances_without_its_stride", ("strided-only", "reads-outside"), (STEP_X, "        x_ptrs += BLOCK_K\n")),
        Mutant("weights_advance_without_strides", "weights-move-sideways", (STEP_W, "        w_ptrs += BLOCK_K\n")),
        Mutant("up_advances_like_gate", ("step-of-the-other", "up-like-gate-turned"), (STEP_W, STEP_W.replace("stride_wd", "stride_gd"))),
        Mutant("one_pointer_tile_for_both", ("up-with-strides-of-gate", "up-turned-like-gate"), ("tl.where(of_gate, stride_gd, stride_ud)", "stride_gd"), ("tl.where(of_gate, stride_gh, stride_uh)", "stride_gh")),
        Mutant("gate_read_as_up", ("gate-with-strides-of-up", "gate-turned-like-up"), ("tl.where(of_gate, stride_gd, stride_ud)", "stride_ud"), ("tl.where(of_gate, stride_gh, stride_uh)", "stride_uh")),
        Mutant("columns_of_x_side_by_side", ("strided-only", "reads-outside"), ("offs_d[None, :] * stride_xd", "offs_d[None, :]"), (STEP_X, "        x_ptrs += BLOCK_K\n")),
        Mutant("gate_advances_like_up", ("gate-like-up", "gate-like-up-turned", "step-of-the-other", "up-like-gate-turned"), (STEP_W, STEP_W.replace("stride_wd", "stride_ud"))),
        Mutant("exponential_overflows", ("nan", "overflow"), (OUT, "    out = gate * tl.exp(gate) / (1 + tl.exp(gate)) * up\n")),
        Mutant("silu_of_the_product", "silu-of-the-product", (OUT, "    out = gate * up\n    out = out * tl.sigmoid(out)\n")),
        Mutant("one_forgotten", "one-forgotten", (OUT, "    out = gate / tl.exp(-gate) * up\n")),
        Mutant("halves_by_turns", "halves-by-turns", (HALVES, "    gate, up = tl.split(both.reshape(BLOCK_M, BLOCK_N, 2))\n")),
        Mutant("x_moves_by_d", "x-moves-by-d", (STEP_X, STEP_X.replace("BLOCK_K", "d"))),
        Mutant("weights_move_by_d", "weights-move-by-d", (STEP_W, STEP_W.replace("BLOCK_K", "d"))),
        Mutant("steps_rounded", "steps-rounded", (DOT, f'both += tl.dot(x, w, input_precision="ieee").to({HALF})')),
        Mutant("steps_in_float16", ("steps-rounded", "steps-rounded-to-float16"), (DOT, 'both += tl.dot(x, w, input_precision="ieee").to(tl.float16)')),
        Mutant("result_in_half", "half-digits", (STORE, STORE.replace("out, mask", "out.to(tl.float16), mask"))),
        Mutant("loop_counts_by_one", OUTSIDE, (LOOP, "range(0, D)")),
        Mutant("both_move_by_d", "both-move-by-d", (STEP_X, STEP_X.replace("BLOCK_K", "d")), (STEP_W, STEP_W.replace("BLOCK_K", "d"))),
        Mutant("last_column_left_out", "last-column-left-out", (REST, "rest = d + offs_d < D - 1")),
        Mutant("both_made_in_the_loop", "last-step-only", (LOAD_W, "both = tl.zeros((BLOCK_M, 2 * BLOCK_N), dtype=tl.float32)\n        " + LOAD_W)),
        Mutant("brackets_forgotten", (*OUTSIDE, "does-not-compile"), (LOAD_X, LOAD_X.replace("mask_m & rest[None, :]", "mask_m & offs_d[None, :] < D - d"))),
        Mutant(
            "two_walks",
            "property",
            (BOTH, "".join(f"    {name} = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n    {name}_ptrs = {name}_ptr + offs_d[:, None] * stride_{name[0]}d + offs_h[None, :] * stride_{name[0]}h\n" for name in ("gate", "up")) + "    x_first = x_ptrs\n    for d in range(0, D, BLOCK_K):\n        rest = d + offs_d < D\n        x = tl.load(x_first, mask=mask_m & rest[None, :], other=0.0)\n        gate = tl.dot(x, tl.load(gate_ptrs, mask=rest[:, None] & mask_h, other=0.0), gate, input_precision=\"ieee\")\n        x_first += BLOCK_K * stride_xd\n        gate_ptrs += BLOCK_K * stride_gd\n"),
            (LOAD_W, "wide = rest[:, None] & mask_h"),
            (DOT, 'up = tl.dot(x, tl.load(up_ptrs, mask=wide, other=0.0), up, input_precision="ieee")'),
            (STEP_W, "        up_ptrs += BLOCK_K * stride_ud\n"),
            (HALVES, ""),
        ),
        Mutant("tile_under_another_name", ("does-not-compile", "raised"), (LOAD_X, LOAD_X.replace("x =", "a ="))),
        Mutant("sum_replaced", "last-step-only", (DOT, DOT.replace(", both,", ","))),
        Mutant("stored_in_the_loop", "property", (STEP_W, STEP_W + "    " + HALVES + "    " + OUT + "        " + STORE + "\n"), (HALVES + OUT + "    " + STORE, "    pass")),
        Mutant("accumulated_twice", "sums-added-twice", (DOT, DOT.replace("both = ", "both += "))),
        Mutant("first_step_only", "first-step-only", (LOOP, "range(0, min(D, BLOCK_K), BLOCK_K)")),
        Mutant("last_step_dropped", "tail-left-out", (LOOP, "range(0, D - BLOCK_K + 1, BLOCK_K)")),
        Mutant("loop_over_h", ("tail-left-out", "first-step-only"), (LOOP, "range(0, H, BLOCK_K)")),
        Mutant("sum_gated_in_the_loop", "wrong-values", (STEP_X, "        both = both * tl.sigmoid(both)\n" + STEP_X)),
        Mutant("gated_in_each_step", "gated-in-each-step", (BOTH, BOTH + "    out = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n"), (DOT, 'gate, up = halves(tl.dot(x, w, input_precision="ieee"), BLOCK_M, BLOCK_N)\n        out += gate * tl.sigmoid(gate) * up'), (HALVES + OUT, "")),
        Mutant("no_mask_along_d", (*OUTSIDE, "nan"), (LOAD_X, LOAD_X.replace(" & rest[None, :]", "")), (LOAD_W, LOAD_W.replace("rest[:, None] & ", ""))),
        Mutant("weights_not_masked_past_h", (*OUTSIDE, "nan"), (LOAD_W, LOAD_W.replace(" & mask_w", ""))),
        Mutant("mask_of_one_half", ("does-not-compile", "raised"), (LOAD_W, LOAD_W.replace("mask_w", "mask_h"))),
        Mutant("not_taken_apart", ("does-not-compile", "raised"), (HALVES, "    gate = up = both\n")),
        Mutant("no_mask_of_x_along_d", (*OUTSIDE, "nan"), (LOAD_X, LOAD_X.replace(" & rest[None, :]", ""))),
        Mutant("mask_never_moves", (*OUTSIDE, "nan"), (REST, "rest = offs_d < D")),
        Mutant("mask_of_all_steps", "first-step-only", (REST, "rest = offs_d + d < BLOCK_K")),
        Mutant("mask_one_too_many", (*OUTSIDE, "nan", "wrong-values"), (REST, "rest = d + offs_d <= D")),
        Mutant("other_forgotten", "no-other", (LOAD_X, LOAD_X.replace(", other=0.0", "")), (LOAD_W, LOAD_W.replace(", other=0.0", "")), only="interpreter"),
        Mutant("sums_rounded_before_the_gate", "rounded-on-the-way", (HALVES, f"    both = both.to({HALF}).to(tl.float32)\n{HALVES}")),
        Mutant("up_rounded_before_the_gate", ("rounded-on-the-way", "wrong-values"), (OUT, f"    up = up.to({HALF}).to(tl.float32)\n{OUT}")),
        Mutant("no_input_precision", "tf32", (DOT, DOT.replace(', input_precision="ieee"', ""))),
        Mutant("tf32", "tf32", (DOT, DOT.replace("ieee", "tf32"))),
        Mutant("no_store_mask", "out-of-bounds-store", (STORE, "tl.store(out_ptrs, out)")),
        Mutant("store_mask_of_rows", "out-of-bounds-store", (STORE, "tl.store(out_ptrs, out, mask=mask_m)")),
        Mutant("not_stored", UNWRITTEN + ("not-attempted",), ("    " + STORE, "    out = out")),
        Mutant("grid_rounds_down", UNWRITTEN, ('triton.cdiv(H, tile["BLOCK_N"])', '(H // tile["BLOCK_N"])')),
        Mutant("takes_any_shapes", "should-raise", ("if w_gate.shape != w_up.shape or x.shape[1] != w_gate.shape[0]:", "if w_gate.ndim != w_up.ndim:")),
        Mutant("gate_in_torch", "torch-compute", ("    return out", "    return out * 1")),
        Mutant("contiguous_copies", "property", ("    M, D = x.shape\n", "    w_gate, w_up = w_gate.contiguous(), w_up.contiguous()\n    M, D = x.shape\n")),
        Mutant("copy_of_one", "property", ("    M, D = x.shape\n", "    w_up = w_up.clone()\n    M, D = x.shape\n")),
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
        Mutant("copy_of_down", "property", ("matmul_tuned(hidden, w_down)", "matmul_tuned(hidden, w_down.contiguous())")),
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
        Variant("dot_added_afterwards", (DOT, 'both += tl.dot(x, w, input_precision="ieee")')),
        Variant("silu_by_sigmoid", (OUT, "    out = gate * tl.sigmoid(gate) * up\n")),
        Variant("cast_before_the_store", (STORE, f"tl.store(out_ptrs, out.to({HALF}), mask=mask_m & mask_h)")),
        Variant("steps_counted", ("for d in range(0, D, BLOCK_K):\n        rest = d + offs_d < D", "for step in range(0, tl.cdiv(D, BLOCK_K)):\n        rest = offs_d < D - step * BLOCK_K")),
        Variant("pointers_by_d", (LOAD_X, LOAD_X.replace("x_ptrs", "x_ptrs + d * stride_xd")), (STEP_X, "")),
        Variant("halves_by_split", (HALVES, "    gate, up = tl.split(tl.trans(both.reshape(BLOCK_M, 2, BLOCK_N), 0, 2, 1))\n")),
        Variant(
            "two_sums",
            (BOTH, "".join(f"    {name} = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n    {name}_ptrs = {name}_ptr + offs_d[:, None] * stride_{name[0]}d + offs_h[None, :] * stride_{name[0]}h\n" for name in ("gate", "up"))),
            (LOAD_W, "wide = rest[:, None] & mask_h"),
            (DOT, "\n        ".join(f'{name} = tl.dot(x, tl.load({name}_ptrs, mask=wide, other=0.0), {name}, input_precision="ieee")' for name in ("gate", "up"))),
            (STEP_W, "        gate_ptrs += BLOCK_K * stride_gd\n        up_ptrs += BLOCK_K * stride_ud\n"),
            (HALVES, ""),
        ),
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
        f"{load} => {load.replace('0.0', '1.0')}": ONE_FACTOR for load in (LOAD_X, LOAD_W)
    },
}
