"""Wrong answers of 23_fused_mlp with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

GATE_STORE = "tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=mask_n)"
GATE = "out = gate * tl.sigmoid(gate) * up.to(tl.float32)"
GATE_UP = "    out = gate * tl.sigmoid(gate) * up\n"
GATE_UP_STORE = "tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=mask)"
MASKED_X = "x = tl.load(x_ptrs, mask=offs_d[None, :] < D - d, other=0.0)"
MASKED_W = "w = tl.load(w_ptrs, mask=offs_d[:, None] < D - d, other=0.0)"
UNWRITTEN = ("unwritten", "unwritten-tail")
OUTSIDE = ("reads-outside", "out-of-bounds-load")
FUSED_STORE = "tl.store(out_ptrs, out, mask=mask_m[:, None] & mask_n[None, :])"
ACT = "act = gelu_tanh(hidden).to(w2_ptr.dtype.element_ty)"
W2 = "w2 = tl.load(w2_ptrs, mask=mask_h[:, None] & mask_n[None, :], other=0.0)"

MUTANTS = {
    "silu_mul": [
        Mutant("gate_and_up_swapped", "gate-and-up-swapped", (GATE, "out = up.to(tl.float32) * tl.sigmoid(up.to(tl.float32)) * gate")),
        Mutant("no_silu", "no-silu", (GATE, "out = gate * up.to(tl.float32)")),
        Mutant("sigmoid_for_silu", "sigmoid-for-silu", (GATE, "out = tl.sigmoid(gate) * up.to(tl.float32)")),
        Mutant("up_forgotten", "no-up", (GATE, "out = gate * tl.sigmoid(gate) + 0 * up.to(tl.float32)")),
        Mutant("exponential_overflows", ("nan", "overflow"), (GATE, "out = gate * tl.exp(gate) / (1 + tl.exp(gate)) * up.to(tl.float32)")),
        Mutant("no_store_mask", "out-of-bounds-store", (GATE_STORE, "tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty))")),
        Mutant("no_load_mask", OUTSIDE, ("offs_n * stride_gn, mask=mask_n", "offs_n * stride_gn"), only="interpreter"),
        Mutant("up_uses_strides_of_gate", ("strided-only", "reads-outside", "wrong-values"), ("pid_m * stride_um + offs_n * stride_un", "pid_m * stride_gm + offs_n * stride_gn")),
        Mutant("columns_assumed_contiguous", ("strided-only", "reads-outside"), ("pid_m * stride_um + offs_n * stride_un", "pid_m * stride_um + offs_n")),
        Mutant("rows_assumed_packed", ("strided-only", "reads-outside"), ("gate_ptr + pid_m * stride_gm", "gate_ptr + pid_m * N")),
        Mutant("first_row_only", ("rows-after-first", "wrong-values"), ("gate_ptr + pid_m * stride_gm", "gate_ptr + 0 * stride_gm")),
        Mutant("one_tile_for_each_row", UNWRITTEN, ("(M * triton.cdiv(N, 512),)", "(M,)")),
        Mutant("grid_rounds_down", UNWRITTEN, ("(M * triton.cdiv(N, 512),)", "(M * (N // 512),)")),
        Mutant("float32_result", "wrong-dtype", ("dtype=gate.dtype, device", "dtype=torch.float32, device")),
        Mutant("takes_any_shapes", ("should-raise",), ("if gate.shape != up.shape:", "if gate.ndim != up.ndim:")),
        Mutant("in_place", ("aliases-input", "input-changed"), ("    out = torch.empty((M, N), dtype=gate.dtype, device=gate.device)\n", "    out = gate\n")),
        Mutant("silu_in_torch", "torch-compute", ("    M, N = gate.shape\n", "    gate = torch.nn.functional.silu(gate)\n    M, N = gate.shape\n")),
    ],
    "gate_up_swiglu": [
        Mutant("gate_and_up_swapped", "gate-and-up-swapped", (GATE_UP, "    out = up * tl.sigmoid(up) * gate\n")),
        Mutant("no_silu", "no-silu", (GATE_UP, "    out = gate * up\n")),
        Mutant("sigmoid_for_silu", "sigmoid-for-silu", (GATE_UP, "    out = tl.sigmoid(gate) * up\n")),
        Mutant("gate_weight_twice", "same-weight-twice", (GATE_UP, "    up = gate\n" + GATE_UP)),
        Mutant("up_weight_twice", "up-weight-twice", (GATE_UP, "    gate = up\n" + GATE_UP)),
        Mutant("halves_from_pairs_of_columns", "wrong-values", ("gate, up = halves(both, BLOCK_M, BLOCK_N)", "gate, up = tl.split(both.reshape(BLOCK_M, BLOCK_N, 2))")),
        Mutant("accumulator_replaced", "wrong-values", ("both = tl.dot(x, w, both,", "both = tl.dot(x, w,")),
        Mutant("no_mask_along_d", OUTSIDE, (MASKED_X, "x = tl.load(x_ptrs)"), (MASKED_W, "w = tl.load(w_ptrs)")),
        Mutant("mask_never_moves", OUTSIDE, (MASKED_X, MASKED_X.replace("D - d", "D")), (MASKED_W, MASKED_W.replace("D - d", "D"))),
        Mutant("x_never_advances", ("wrong-values", "strided-only"), ("        x_ptrs += BLOCK_K * stride_xd\n", "")),
        Mutant("weights_never_advance", ("wrong-values", "strided-only"), ("        w_ptrs += w_step\n", "")),
        Mutant("up_advances_like_gate", ("strided-only", "reads-outside", "wrong-values"), ("        w_ptrs += w_step\n", "        w_ptrs += BLOCK_K * stride_gd\n")),
        Mutant("last_step_dropped", ("wrong-values", "rows-after-first", "wrong-tail", "strided-only"), ("range(0, D, BLOCK_K)", "range(0, D - BLOCK_K + 1, BLOCK_K)")),
        Mutant("gate_applied_in_the_loop", "wrong-values", ("        x_ptrs += BLOCK_K * stride_xd\n", "        both = both * tl.sigmoid(both)\n        x_ptrs += BLOCK_K * stride_xd\n")),
        Mutant("no_store_mask", "out-of-bounds-store", (GATE_UP_STORE, "tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty))")),
        Mutant("grid_rounds_down", UNWRITTEN, ('triton.cdiv(H, blocks["BLOCK_N"])', '(H // blocks["BLOCK_N"])')),
        Mutant("takes_any_shapes", ("should-raise",), ("if w_gate.shape != w_up.shape or x.shape[1] != w_gate.shape[0]:", "if w_gate.ndim != w_up.ndim:")),
        Mutant("gate_in_torch", "torch-compute", ("    return out", "    return out * 1")),
    ],
    "mlp_swiglu": [
        Mutant("gate_and_up_swapped", "gate-and-up-swapped", ("gate_up_swiglu(x, w_gate, w_up)", "gate_up_swiglu(x, w_up, w_gate)")),
        Mutant("gate_weight_twice", "gate-weight-twice", ("gate_up_swiglu(x, w_gate, w_up)", "gate_up_swiglu(x, w_gate, w_gate)")),
        Mutant("down_forgotten", ("wrong-launch-count", "wrong-shape"), ("return product(hidden, w_down)", "return hidden")),
        Mutant("down_in_torch", "torch-compute", ("return product(hidden, w_down)", "return hidden @ w_down")),
        Mutant("down_transposed", ("raised", "wrong-shape"), ("return product(hidden, w_down)", "return product(hidden, w_down.T)")),
        Mutant("three_launches", "wrong-launch-count", ("    hidden = gate_up_swiglu(x, w_gate, w_up)\n", "    hidden = gate_up_swiglu(x, w_gate, w_up)\n    hidden = gate_up_swiglu(x, w_gate, w_up)\n")),
        Mutant("all_in_torch", ("no-kernel-launched", "torch-compute"), ("    hidden = gate_up_swiglu(x, w_gate, w_up)\n", "    hidden = torch.nn.functional.silu(x @ w_gate) * (x @ w_up)\n"), ("return product(hidden, w_down)", "return hidden @ w_down")),
        Mutant("gate_in_torch", ("torch-compute", "wrong-launch-count"), ("    hidden = gate_up_swiglu(x, w_gate, w_up)\n", "    hidden = torch.nn.functional.silu(product(x, w_gate)) * product(x, w_up)\n")),
        Mutant("result_twice_as_wide", ("wrong-type",), ("return product(hidden, w_down)", "return product(hidden, w_down), hidden")),
        Mutant("hidden_returned_late", ("wrong-type",), ("return product(hidden, w_down)", "product(hidden, w_down)")),
    ],
    "traffic_ledger": [
        Mutant("recomputation_forgotten", "recomputation-forgotten", ("flops=columns * one_product + one_product", "flops=2 * one_product")),
        Mutant("both_products_recomputed", "wrong-values", ("flops=columns * one_product + one_product", "flops=columns * 2 * one_product")),
        Mutant("weights_asked_once", "weights-asked-once", ("asked=rows * (columns * w1 + w2)", "asked=rows * (w1 + w2)")),
        Mutant("both_weights_asked_again", "wrong-values", ("asked=rows * (columns * w1 + w2)", "asked=rows * columns * (w1 + w2)")),
        Mutant("one_row_of_tiles", ("one-row-of-tiles", "wrong-values"), ("asked=rows * (columns * w1 + w2)", "asked=columns * w1 + w2"), ("asked=rows * (w1 + w2)", "asked=w1 + w2")),
        Mutant("elements_for_bytes", "elements-for-bytes", ("x = out = 2 * M * D", "x = out = M * D"), ("hidden = 2 * M * H", "hidden = M * H"), ("w1 = w2 = 2 * D * H", "w1 = w2 = D * H")),
        Mutant("gelu_reads_forgotten", "gelu-reads-forgotten", ("activations=x + 4 * hidden + out", "activations=x + 2 * hidden + out")),
        Mutant("hidden_in_memory_when_fused", "wrong-values", ("        activations=x + out,\n", "        activations=x + hidden + out,\n")),
        Mutant("one_operation_for_a_product", "wrong-values", ("one_product = 2 * M * D * H", "one_product = M * D * H")),
        Mutant("rows_not_rounded_up", "wrong-values", ("rows = triton.cdiv(M, ROWS_OF_A_TILE)", "rows = M // ROWS_OF_A_TILE")),
        Mutant("real_rows", ("wrong-values",), ("rows = triton.cdiv(M, ROWS_OF_A_TILE)", "rows = M / ROWS_OF_A_TILE")),
        Mutant("plan_missing", "wrong-values", ('"epilogue": epilogue, ', "")),
        Mutant("plans_swapped", "wrong-values", ('{"separate": separate, "epilogue": epilogue,', '{"separate": epilogue, "epilogue": separate,')),
    ],
    "mlp_gelu_fused": [
        Mutant("no_gelu", "no-gelu", (ACT, "act = hidden.to(w2_ptr.dtype.element_ty)")),
        Mutant("silu_for_gelu", "silu-for-gelu", (ACT, "act = (hidden * tl.sigmoid(hidden)).to(w2_ptr.dtype.element_ty)")),
        Mutant("relu_for_gelu", "relu-for-gelu", (ACT, "act = tl.maximum(hidden, 0.0).to(w2_ptr.dtype.element_ty)")),
        Mutant("gelu_before_the_sum_is_complete", ("wrong-values", "rows-after-first", "wrong-tail"), ("                hidden = tl.dot(x, w1, hidden, input_precision=\"ieee\")\n", "                hidden = gelu_tanh(tl.dot(x, w1, hidden, input_precision=\"ieee\"))\n")),
        Mutant("no_cast_before_the_second_dot", ("raised", "does-not-compile"), (ACT, "act = gelu_tanh(hidden)")),
        Mutant("accumulator_replaced", "wrong-values", ("acc = tl.dot(act, w2, acc,", "acc = tl.dot(act, w2,")),
        Mutant("w1_never_advances", ("wrong-values", "strided-only"), ("        w1_ptrs += BLOCK_H * stride_1h\n", "")),
        Mutant("w2_never_advances", ("wrong-values", "strided-only"), ("        w2_ptrs += BLOCK_H * stride_2h\n", "")),
        Mutant("no_mask_along_h", OUTSIDE, (W2, W2.replace("mask_h[:, None] & ", "")), ("w1 = tl.load(w1_ptrs, mask=mask_d[:, None] & mask_h[None, :], other=0.0)", "w1 = tl.load(w1_ptrs, mask=mask_d[:, None], other=0.0)")),
        Mutant("no_mask_along_d", OUTSIDE, ("mask=mask_m[:, None] & rest[None, :]", "mask=mask_m[:, None]"), ("mask=rest[:, None] & mask_h[None, :]", "mask=mask_h[None, :]")),
        Mutant("always_one_tile_along_d", ("wrong-values", "strided-only"), ("        if ONE_D:\n", "        if BLOCK_D > 0:\n")),
        Mutant("no_store_mask", "out-of-bounds-store", (FUSED_STORE, "tl.store(out_ptrs, out)")),
        Mutant("weights_assumed_contiguous", ("strided-only", "reads-outside"), ("offs_d[:, None] * stride_1d + offs_h[None, :] * stride_1h", "offs_d[:, None] * H + offs_h[None, :]")),
        Mutant("grid_of_rows_only", UNWRITTEN, ('triton.cdiv(N, blocks["BLOCK_N"]))', "1)")),
        Mutant("second_product_in_torch", ("torch-compute",), ("    return out", "    return out + 0")),
    ],
}

VARIANTS = {
    "silu_mul": [
        Variant("tiles_of_256", ("(M * triton.cdiv(N, 512),)", "(M * triton.cdiv(N, 256),)"), ("BLOCK_N=512, num_warps=4", "BLOCK_N=256, num_warps=2")),
        Variant("silu_by_division", (GATE, "out = gate / (1.0 + tl.exp(-gate)) * up.to(tl.float32)")),
        Variant("other_order", (GATE, "out = up.to(tl.float32) * (gate * tl.sigmoid(gate))")),
        Variant("masked_lanes_read_zero", ("offs_n * stride_gn, mask=mask_n", "offs_n * stride_gn, mask=mask_n, other=0.0")),
    ],
    "gate_up_swiglu": [
        Variant("tiles_of_32", ("    blocks = gate_up_tile(M, x.dtype)\n", "    blocks = sizes(32, 32, 16, 4, 2)\n")),
        Variant("dot_added_afterwards", ("both = tl.dot(x, w, both, input_precision=\"ieee\")", "both += tl.dot(x, w, input_precision=\"ieee\")")),
        Variant("always_masked", ("EVEN_D=D % blocks[\"BLOCK_K\"] == 0", "EVEN_D=False")),
        Variant("silu_by_division", (GATE_UP, "    out = gate / (1.0 + tl.exp(-gate)) * up\n")),
    ],
    "mlp_swiglu": [
        Variant("in_one_line", ("    hidden = gate_up_swiglu(x, w_gate, w_up)\n    return product(hidden, w_down)", "    return product(gate_up_swiglu(x, w_gate, w_up), w_down)")),
        Variant("own_launch", ("    return product(hidden, w_down)", "    H, D = w_down.shape\n    out = torch.empty((len(x), D), dtype=x.dtype, device=x.device)\n    grid = (triton.cdiv(len(x), 32) * triton.cdiv(D, 32),)\n    product_kernel[grid](\n        hidden, w_down, out, len(x), D, H, *hidden.stride(), *w_down.stride(), *out.stride(),\n        EVEN_K=False, **sizes(32, 32, 32, 4, 2),\n    )\n    return out")),
        Variant("by_keyword", ("gate_up_swiglu(x, w_gate, w_up)", "gate_up_swiglu(x, w_up=w_up, w_gate=w_gate)")),
    ],
    "traffic_ledger": [
        Variant("other_order_of_plans", ('{"separate": separate, "epilogue": epilogue, "fused": fused}', '{"fused": fused, "epilogue": epilogue, "separate": separate}')),
        Variant("spelt_out", ("flops=columns * one_product + one_product", "flops=2 * M * D * H * (columns + 1)")),
        Variant("by_negative_division", ("rows = triton.cdiv(M, ROWS_OF_A_TILE)", "rows = -(-M // ROWS_OF_A_TILE)")),
    ],
    "mlp_gelu_fused": [
        Variant("tiles_of_32", ("    blocks = mlp_tile(M, D, x.dtype)\n", "    blocks = dict(BLOCK_M=32, BLOCK_D=32, BLOCK_H=16, BLOCK_N=64, ONE_D=D <= 32)\n")),
        Variant("always_a_loop_along_d", ("**blocks,\n", "**(blocks | dict(ONE_D=False)),\n")),
        Variant("gelu_by_sigmoid", (ACT, "z = 1.5957691216057308 * (hidden + 0.044715 * hidden * hidden * hidden)\n        act = (hidden * tl.sigmoid(z)).to(w2_ptr.dtype.element_ty)")),
        Variant("dot_added_afterwards", ("acc = tl.dot(act, w2, acc, input_precision=\"ieee\")", "acc += tl.dot(act, w2, input_precision=\"ieee\")")),
    ],
}
