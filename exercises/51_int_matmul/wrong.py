"""Wrong answers of 51_int_matmul with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

OUTSIDE = ("reads-outside", "reads-neighbour", "wrong-values", "out-of-bounds-load", "nan")

LARGEST = "largest = tl.maximum(largest, tl.max(tl.abs(x), axis=0))"
SCALE = "scale = tl.where(largest > 0, largest / 127, 1.0)"
STORE_SCALE = "tl.store(scales_ptr + pid_m, scale)"
Q = "q = tl.floor(x / scale + 0.5)"
STORE_Q = "tl.store(q_row + offs_k, q.to(tl.int8), mask=offs_k < K)"
WALK = "    for start in range(0, K, BLOCK_K):\n        offs_k = start + tl.arange(0, BLOCK_K)\n        x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0).to(tl.float32)\n        "
SECOND = WALK + Q

ACC = "acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)"
LOOP = "    for k in range(0, K, BLOCK_K):\n        mask_k = offs_k < K - k"
MASK = "mask_k = offs_k < K - k"
X = "x = tl.load(x_ptrs + k, mask=mask_m[:, None] & mask_k[None, :], other=0)"
W = "w = tl.load(w_ptrs + k, mask=mask_k[:, None] & mask_n[None, :], other=0)"
DOT = "acc = tl.dot(x, w, acc, out_dtype=tl.int32)"
SX = "sx = tl.load(sx_ptr + offs_m, mask=mask_m, other=0.0)"
SW = "sw = tl.load(sw_ptr + offs_n, mask=mask_n, other=0.0)"
Y = "y = acc.to(tl.float32) * sx[:, None] * sw[None, :]"
STORE_Y = "tl.store(y_ptrs, y, mask=mask_m[:, None] & mask_n[None, :])"
IN_THE_LOOP = (f"    {ACC}\n", f"    {SX}\n    {SW}\n    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n")
NO_SCALES_AFTER = (f"    {SX}\n    {SW}\n    {Y}\n", "    y = acc\n")

XF = "x = tl.load(x_ptrs + k, mask=mask_m, other=0.0)"
PACKED = "packed = tl.load(packed_ptrs + k // 2, mask=mask_n[:, None], other=0)"
SCALES = "scales = tl.load(scales_ptrs + k // GROUP, mask=mask_n, other=0.0)"
UNPACK = "w = tl.interleave(packed << 4 >> 4, packed >> 4)"
ADD = "acc += tl.dot(x, tl.trans(w.to(x.dtype))) * scales[None, :]"
STEPS = "    for k in range(0, K, BLOCK_K):\n        " + XF

MUTANTS = {
    "quantize_rows": [
        Mutant("steps_of_128", "steps-of-128", (SCALE, SCALE.replace("127", "128"))),
        Mutant("steps_of_255", "steps-of-255", (SCALE, SCALE.replace("largest / 127", "2 * largest / 255"))),
        Mutant("steps_of_128_clamped", "steps-of-128-clamped", (SCALE, SCALE.replace("127", "128")), (Q, "q = tl.minimum(tl.floor(x / scale + 0.5), 127.0)")),
        Mutant("scale_of_255", "scale-of-255", (SCALE, SCALE.replace("127", "255"))),
        Mutant("cut_off", "cut-off", (Q, "q = x / scale")),
        Mutant("half_added_and_cut", "half-added-and-cut", (Q, "q = x / scale + 0.5")),
        Mutant("rounded_down", "rounded-down", (Q, "q = tl.floor(x / scale)")),
        Mutant("rounded_up", "rounded-up", (Q, "q = tl.ceil(x / scale)")),
        Mutant("epsilon_added", "scale-plus-epsilon", (SCALE, "scale = largest / 127 + 1e-8")),
        Mutant("half_added_afterwards", "half-added-afterwards", (Q, "q = tl.floor(x / scale) + 0.5")),
        Mutant("half_added_after_the_cut", "half-added-after-the-cut", (Q, "q = (x / scale).to(tl.int32) + 0.5")),
        Mutant("sign_lost", "sign-lost", (Q, "q = tl.floor(tl.abs(x) / scale + 0.5)")),
        Mutant("half_precision_on_the_way", ("wrong-values", "overflow", "nan", "zeros", "rows-after-first", "wrong-tail"), (SECOND, SECOND.replace("tl.float32", "tl.float16"))),
        Mutant("not_divided_but_clamped", "scale-of-one-and-clamped", (Q, "q = tl.minimum(tl.maximum(tl.floor(x + 0.5), -127.0), 127.0)")),
        Mutant("zeros_divided", "scale-of-zeros-divided", (SCALE, "scale = tl.where(largest > 0, largest, 1.0) / 127")),
        Mutant("largest_at_least_one", "largest-at-least-one", (SCALE, "scale = tl.maximum(largest, 1.0) / 127")),
        Mutant("scale_at_least_one", "scale-at-least-one", (SCALE, "scale = tl.maximum(largest / 127, 1.0)")),
        Mutant("rounded_before_division", "rounded-before-division", (Q, "q = tl.floor(x) / scale + 0.5")),
        Mutant("half_added_to_x", "half-added-to-x", (Q, "q = tl.floor((x + 0.5) / scale)")),
        Mutant("x_stored", "x-stored", (STORE_Q, STORE_Q.replace("q.to", "x.to"))),
        Mutant("one_added", "one-added", (Q, "q = tl.floor(x / scale + 1)")),
        Mutant("not_divided", "scale-of-one", (Q, "q = tl.floor(x + 0.5)")),
        Mutant("scale_of_one", "scale-of-one", (SCALE, "scale = 1.0")),
        Mutant("largest_not_kept", "scale-of-one", (LARGEST, "tl.max(tl.abs(x), axis=0)")),
        Mutant("largest_of_the_last_tile", "largest-of-the-last-tile", (LARGEST, "largest = tl.max(tl.abs(x), axis=0)")),
        Mutant("not_loaded_again", "last-tile-again", (SECOND, SECOND.replace("x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0).to(tl.float32)\n        ", ""))),
        Mutant("largest_added", "largest-added", (LARGEST, "largest += tl.max(tl.abs(x), axis=0)")),
        Mutant("no_sizes", "without-sign-lost", (LARGEST, LARGEST.replace("tl.abs(x)", "x"))),
        Mutant("abs_of_the_maximum", ("wrong-values", "without-sign-lost"), (LARGEST, "largest = tl.maximum(largest, tl.abs(tl.max(x, axis=0)))")),
        Mutant("mean_for_maximum", "wrong-values", (LARGEST, "largest = tl.maximum(largest, tl.sum(tl.abs(x), axis=0) / BLOCK_K)")),
        Mutant("scale_of_each_tile", "scale-of-each-tile", (f"    {STORE_SCALE}\n", ""), (SECOND, WALK + "largest = tl.max(tl.abs(x), axis=0)\n        " + SCALE + "\n        " + STORE_SCALE + "\n        " + Q)),
        Mutant("zero_row", "zero-scale", (SCALE, "scale = largest / 127")),
        Mutant("zero_row_by_epsilon", "tiny-scale", (SCALE, "scale = tl.maximum(largest, 1e-10) / 127")),
        Mutant("scale_is_the_largest", "scale-is-the-largest", (SCALE, "scale = tl.where(largest > 0, largest, 1.0)")),
        Mutant("scale_upside_down", "scale-upside-down", (SCALE, "scale = tl.where(largest > 0, 127 / largest, 1.0)"), (Q, "q = tl.floor(x * scale + 0.5)")),
        Mutant("scale_upside_down_and_divided", ("wrong-values", "scale-upside-down", "multiplied-by-the-scale"), (SCALE, "scale = tl.where(largest > 0, 127 / largest, 1.0)")),
        Mutant("multiplied", "multiplied-by-the-scale", (Q, "q = tl.floor(x * scale + 0.5)")),
        Mutant("scale_not_stored", ("unwritten", "unwritten-tail"), (f"    {STORE_SCALE}\n", "")),
        Mutant("scale_in_the_first_place", ("unwritten", "race", "unwritten-tail"), (STORE_SCALE, "tl.store(scales_ptr, scale)")),
        Mutant("q_in_rows_of_x", ("out-of-bounds-store", "unwritten", "strided-only", "unwritten-tail"), (STORE_Q, "tl.store(q_ptr + pid_m * stride_xm + offs_k, q.to(tl.int8), mask=offs_k < K)")),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race", "rows-after-first"), (STORE_Q, STORE_Q.replace(", mask=offs_k < K", ""))),
        Mutant("first_tile_only", ("unwritten", "unwritten-tail", "wrong-tail"), (SECOND, SECOND.replace("range(0, K", "range(0, BLOCK_K"))),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def quantize_rows(x, block=8192):\n    if x.ndim != 2 or x.stride(1) != 1:\n        raise ValueError('rows')\n    scales = x.float().abs().amax(1) / 127\n    scales = torch.where(scales > 0, scales, 1.0)\n    return (x.float() / scales[:, None]).round().to(torch.int8), scales\n"),
    ],
    "matmul_w8a8": [
        Mutant("a_small_tile_of_its_own", "too-many-programs", ('tile = tile or tile_for(M, 128)', 'tile = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}')),
        Mutant("a_large_tile_of_its_own", "property", ('tile = tile or tile_for(M, 128)', 'tile = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}')),
        Mutant("scales_swapped", ("scales-swapped", *OUTSIDE), (SX, "sx = tl.load(sw_ptr + offs_m, mask=mask_m, other=0.0)"), (SW, "sw = tl.load(sx_ptr + offs_n, mask=mask_n, other=0.0)")),
        Mutant("scales_turned", ("raised", "does-not-compile"), (Y, "y = acc.to(tl.float32) * sx[None, :] * sw[:, None]")),
        Mutant("no_scales", "no-scales", NO_SCALES_AFTER),
        Mutant("only_sx", "only-scales-of-x", (Y, "y = acc.to(tl.float32) * sx[:, None]")),
        Mutant("only_sw", "only-scales-of-w", (Y, "y = acc.to(tl.float32) * sw[None, :]")),
        Mutant("scales_twice", "scales-twice", (Y, Y + "\n    y = y * sx[:, None] * sw[None, :]")),
        Mutant("sx_twice", "scales-of-x-twice", (Y, Y + "\n    y = y * sx[:, None]")),
        Mutant("scales_in_the_loop", "scales-in-the-loop", IN_THE_LOOP, (DOT, "acc += tl.dot(x, w) * sx[:, None] * sw[None, :]"), NO_SCALES_AFTER),
        Mutant("scales_in_the_loop_and_after", "scales-twice", (f"    {ACC}\n", f"    {SX}\n    {SW}\n    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n"), (DOT, "acc += tl.dot(x, w) * sx[:, None] * sw[None, :]")),
        Mutant("scales_added", "scales-added", (Y, "y = acc.to(tl.float32) * (sx[:, None] + sw[None, :])")),
        Mutant("divided", "divided-by-scales", (Y, "y = acc.to(tl.float32) / sx[:, None] / sw[None, :]")),
        Mutant("scales_of_the_first_tile", "scales-of-the-first-tile", (SX, "sx = tl.load(sx_ptr + tl.arange(0, BLOCK_M), mask=mask_m, other=0.0)"), (SW, "sw = tl.load(sw_ptr + tl.arange(0, BLOCK_N), mask=mask_n, other=0.0)")),
        Mutant("first_scales", "first-scales", (SX, "sx = tl.load(sx_ptr)"), (SW, "sw = tl.load(sw_ptr)"), (Y, "y = acc.to(tl.float32) * sx * sw")),
        Mutant("int8_sum", ("int8-sum", "raised", "does-not-compile"), (ACC, ACC.replace("int32", "int8")), (DOT, "acc += tl.dot(x, w).to(tl.int8)")),
        Mutant("int16_sum", "int16-sum", (ACC, ACC.replace("int32", "int16")), (DOT, "acc += tl.dot(x, w).to(tl.int16)")),
        Mutant("int16_products", ("int16-sum", "wrong-values"), (DOT, "acc += tl.dot(x, w).to(tl.int16)")),
        Mutant("float_sum", "float-sum", (ACC, ACC.replace("int32", "float32")), (DOT, "acc += tl.dot(x, w)")),
        Mutant("float16_tiles", "float-sum", (ACC, ACC.replace("int32", "float32")), (DOT, "acc = tl.dot(x.to(tl.float16), w.to(tl.float16), acc)")),
        Mutant("float16_dot_int32_sum", "property", (DOT, "acc += tl.dot(x.to(tl.float16), w.to(tl.float16)).to(tl.int32)")),
        Mutant("float32_dot_int32_sum", "property", (DOT, 'acc += tl.dot(x.to(tl.float32), w.to(tl.float32), input_precision="ieee").to(tl.int32)')),
        Mutant("no_out_dtype", ("raised", "does-not-compile"), (DOT, "acc = tl.dot(x, w, acc)")),
        Mutant("acc_and_dot_both_add", "sum-added-twice", (DOT, DOT.replace("acc =", "acc +="))),
        Mutant("forgets_to_add", "only-last-step", (DOT, "acc = tl.dot(x, w)")),
        Mutant("x_never_moves", "x-stands-still", (X, X.replace("x_ptrs + k", "x_ptrs"))),
        Mutant("w_never_moves", "w-stands-still", (W, W.replace("w_ptrs + k", "w_ptrs"))),
        Mutant("nothing_moves", "both-stand-still", (X, X.replace("x_ptrs + k", "x_ptrs")), (W, W.replace("w_ptrs + k", "w_ptrs"))),
        Mutant("one_element_a_step", "one-element-a-step", (LOOP, LOOP.replace("range(0, K, BLOCK_K)", "range(0, K)"))),
        Mutant("steps_of_rows", "steps-of-rows", (LOOP, LOOP.replace("range(0, K, BLOCK_K)", "range(0, K, BLOCK_M)"))),
        Mutant("steps_of_columns", "steps-of-columns", (LOOP, LOOP.replace("range(0, K, BLOCK_K)", "range(0, K, BLOCK_N)"))),
        Mutant("k_counts_steps", "k-counts-steps", (LOOP, LOOP.replace("range(0, K, BLOCK_K)", "range(0, tl.cdiv(K, BLOCK_K))"))),
        Mutant("w_moves_by_rows", OUTSIDE, (W, W.replace("w_ptrs + k", "w_ptrs + k * K"))),
        Mutant("w_moves_by_n", OUTSIDE, (W, W.replace("w_ptrs + k", "w_ptrs + k * N"))),
        Mutant("no_mask_along_k", OUTSIDE, (X, X.replace(" & mask_k[None, :]", "")), (W, W.replace("mask_k[:, None] & ", ""))),
        Mutant("mask_never_moves", (*OUTSIDE, "lanes-past-k"), (MASK, "mask_k = offs_k < K")),
        Mutant("no_row_mask", OUTSIDE, (X, X.replace("mask_m[:, None] & ", ""))),
        Mutant("no_other", "no-other", (X, X.replace(", other=0", "")), (W, W.replace(", other=0", "")), only="interpreter"),
        Mutant("last_step_left_out", "last-step-left-out", (LOOP, LOOP.replace("range(0, K,", "range(0, (K - 1) // BLOCK_K * BLOCK_K,"))),
        Mutant("whole_steps_only", ("wrong-values", "zeros", "last-step-left-out"), (LOOP, LOOP.replace("range(0, K,", "range(0, K // BLOCK_K * BLOCK_K,"))),
        Mutant("first_step_only", "only-first-step", (LOOP, LOOP.replace("range(0, K,", "range(0, BLOCK_K,"))),
        Mutant("always_float16", "always-float16", (STORE_Y, STORE_Y.replace("y,", "y.to(tl.float16),"))),
        Mutant("float16_sums", ("wrong-values", "overflow", "nan"), (Y, Y.replace("tl.float32", "tl.float16"))),
        Mutant("no_store_mask", ("out-of-bounds-store", "race"), (STORE_Y, "tl.store(y_ptrs, y)")),
        Mutant("rows_of_k", ("out-of-bounds-store", "race", "wrong-values", "unwritten"), ("offs_m[:, None] * N + offs_n", "offs_m[:, None] * K + offs_n")),
        Mutant("stored_across", "stored-across", ("offs_m[:, None] * N + offs_n[None, :]", "offs_n[None, :] * M + offs_m[:, None]")),
        Mutant("store_in_the_loop", "property", (DOT, DOT + "\n        now = acc.to(tl.float32) * tl.load(sx_ptr + offs_m, mask=mask_m, other=0.0)[:, None] * tl.load(sw_ptr + offs_n, mask=mask_n, other=0.0)[None, :]\n        tl.store(y_ptr + offs_m[:, None] * N + offs_n[None, :], now, mask=mask_m[:, None] & mask_n[None, :])")),
        Mutant("int_mm", ("no-kernel-launched", "torch-compute"), replace="def matmul_w8a8(xq, sx, wq, sw, dtype, tile=None):\n    if xq.shape[1] != wq.shape[1]:\n        raise ValueError('sizes')\n    return ((xq.float() @ wq.float().T) * sx[:, None] * sw).to(dtype)\n"),
    ],
    "matmul_w4a16": [
        Mutant("a_small_tile_of_its_own", "too-many-programs", ('tile = tile or tile_for(M, 64)', 'tile = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}')),
        Mutant("a_large_tile_of_its_own", "property", ('tile = tile or tile_for(M, 64)', 'tile = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}')),
        Mutant("nibbles_swapped", "nibbles-swapped", (UNPACK, "w = tl.interleave(packed >> 4, packed << 4 >> 4)")),
        Mutant("halves", "halves", (UNPACK, "w = tl.reshape(tl.trans(tl.join(packed << 4 >> 4, packed >> 4), 0, 2, 1), BLOCK_N, BLOCK_K)")),
        Mutant("low_without_sign", "low-without-sign", (UNPACK, "w = tl.interleave(packed & 15, packed >> 4)")),
        Mutant("high_without_sign", "high-without-sign", (UNPACK, "w = tl.interleave(packed << 4 >> 4, (packed >> 4) & 15)")),
        Mutant("both_without_sign", "both-without-sign", (UNPACK, "w = tl.interleave(packed & 15, (packed >> 4) & 15)")),
        Mutant("eight_subtracted", "eight-subtracted", (UNPACK, "w = tl.interleave((packed & 15) - 8, ((packed >> 4) & 15) - 8)")),
        Mutant("low_not_shifted_back", "low-not-shifted-back", (UNPACK, "w = tl.interleave(packed << 4, packed >> 4)")),
        Mutant("low_is_the_byte", "low-is-the-byte", (UNPACK, "w = tl.interleave(packed, packed >> 4)")),
        Mutant("shifts_in_another_order", "shifts-in-another-order", (UNPACK, UNPACK.replace("<< 4 >> 4", ">> 4 << 4"))),
        Mutant("remainder_and_quotient", "remainder-and-quotient", (UNPACK, "w = tl.interleave(packed % 16, packed // 16)")),
        Mutant("added_and_scaled", "added-and-scaled", (ADD, "acc += tl.dot(x, tl.trans(w.to(x.dtype)), acc) * scales[None, :]")),
        Mutant("half_the_row", "half-the-row", (STEPS, STEPS.replace("range(0, K,", "range(0, K // 2,"))),
        Mutant("one_step_a_group", "one-step-a-group", (STEPS, STEPS.replace("BLOCK_K)", "GROUP)"))),
        Mutant("low_nibbles_only", "low-nibbles-only", (UNPACK, "w = tl.interleave(packed << 4 >> 4, packed << 4 >> 4)")),
        Mutant("high_nibbles_only", "high-nibbles-only", (UNPACK, "w = tl.interleave(packed >> 4, packed >> 4)")),
        Mutant("high_is_the_byte", "high-is-the-byte", (UNPACK, "w = tl.interleave(packed << 4 >> 4, packed)")),
        Mutant("wide_low_shift", "low-is-the-byte", (UNPACK, "wide = packed.to(tl.int32)\n        w = tl.interleave(wide << 4 >> 4, wide >> 4)")),
        Mutant("no_scales", "no-scales", (ADD, ADD.replace(" * scales[None, :]", ""))),
        Mutant("scales_twice", "scales-twice", (ADD, ADD.replace("w.to(x.dtype)", "(w * scales[:, None]).to(x.dtype)"))),
        Mutant("first_group", "first-group", (SCALES, SCALES.replace(" + k // GROUP", ""))),
        Mutant("scales_at_the_end", "last-group", (ADD, ADD.replace(" * scales[None, :]", "")), ("    y_ptrs = y_ptr", "    acc = acc * scales[None, :]\n    y_ptrs = y_ptr"), on_gpu=("does-not-compile",)),
        Mutant("step_for_group", ("step-for-group", *OUTSIDE), (SCALES, SCALES.replace("GROUP", "BLOCK_K"))),
        Mutant("k_for_group", OUTSIDE, (SCALES, SCALES.replace("k // GROUP", "k"))),
        Mutant("sum_scaled_again", "sum-scaled-again", (ADD, "acc = tl.dot(x, tl.trans(w.to(x.dtype)), acc) * scales[None, :]")),
        Mutant("scales_of_rows", ("raised", "does-not-compile"), (ADD, ADD.replace("scales[None, :]", "scales[:, None]"))),
        Mutant("half_sum", "half-sum", ("dtype=tl.float32)", "dtype=tl.float16)"), (ADD, ADD.replace("acc += ", "acc += (") + ").to(tl.float16)")),
        Mutant("forgets_to_add", "only-last-step", (ADD, ADD.replace("+=", "="))),
        Mutant("first_step_only", "only-first-step", (STEPS, STEPS.replace("range(0, K,", "range(0, BLOCK_K,"))),
        Mutant("last_step_left_out", ("wrong-values", "zeros"), (STEPS, STEPS.replace("range(0, K,", "range(0, K - BLOCK_K,"))),
        Mutant("x_never_moves", "x-stands-still", (XF, XF.replace("x_ptrs + k", "x_ptrs"))),
        Mutant("packed_never_moves", "packed-stands-still", (PACKED, PACKED.replace(" + k // 2", ""))),
        Mutant("packed_moves_by_k", OUTSIDE, (PACKED, PACKED.replace("k // 2", "k"))),
        Mutant("nothing_moves", "both-stand-still", (XF, XF.replace("x_ptrs + k", "x_ptrs")), (PACKED, PACKED.replace(" + k // 2", ""))),
        Mutant("not_transposed", ("raised", "does-not-compile"), (ADD, ADD.replace("tl.trans(w.to(x.dtype))", "w.to(x.dtype)"))),
        Mutant("int8_into_the_dot", ("raised", "does-not-compile"), (ADD, ADD.replace("w.to(x.dtype)", "w"))),
        Mutant("stored_across", "stored-across", ("offs_m[:, None] * N + offs_n[None, :]", "offs_n[None, :] * M + offs_m[:, None]")),
        Mutant("x_cut_to_int8", "x-cut-to-int8", (ADD, ADD.replace("tl.dot(x, tl.trans(w.to(x.dtype)))", "tl.dot(x.to(tl.int8), tl.trans(w))"))),
        Mutant("reshaped", "reshaped", (ADD, ADD.replace("tl.trans(w.to(x.dtype))", "tl.reshape(w.to(x.dtype), BLOCK_K, BLOCK_N)"))),
        Mutant("x_moves_by_bytes", "x-moves-by-bytes", (XF, XF.replace("x_ptrs + k", "x_ptrs + k // 2"))),
        Mutant("group_of_bytes", "group-of-bytes", (SCALES, SCALES.replace("k // GROUP", "k // 2 // GROUP"))),
        Mutant("weights_over_seven", "constant-factor", (ADD, ADD.replace("w.to(x.dtype)", "(w / 7).to(x.dtype)"))),
        Mutant("no_row_mask", OUTSIDE, (XF, "x = tl.load(x_ptrs + k)")),
        Mutant("no_mask_of_packed", OUTSIDE, (PACKED, "packed = tl.load(packed_ptrs + k // 2)")),
        Mutant("no_mask_of_scales", OUTSIDE, (SCALES, "scales = tl.load(scales_ptrs + k // GROUP)")),
        Mutant("unpacked_by_torch", ("no-kernel-launched", "torch-compute"), replace="def matmul_w4a16(x, packed, scales, group, tile=None):\n    if x.dtype != torch.float16 or x.shape[1] % group or group < 32:\n        raise ValueError('sizes')\n    q = torch.stack((packed << 4 >> 4, packed >> 4), dim=-1).flatten(1)\n    return (x.float() @ (q * scales.float().repeat_interleave(group, 1)).T).half()\n"),
    ],
}

VARIANTS = {
    "quantize_rows": [
        Variant("four_warps", ("num_warps=8", "num_warps=4")),
        Variant("maximum_of_the_whole_tile", (LARGEST, "largest = tl.max(tl.maximum(largest, tl.abs(x)), axis=0)")),
        Variant("multiplied_by_the_inverse", (Q, "q = tl.floor(x * (1.0 / scale) + 0.5)")),
        Variant("rounded_by_sign", (Q, "q = x / scale + tl.where(x > 0, 0.5, -0.5)")),
        Variant("rounded_from_above", (Q, "q = tl.ceil(x / scale - 0.5)")),
        Variant("clamped", (Q, "q = tl.minimum(tl.maximum(tl.floor(x / scale + 0.5), -127.0), 127.0)")),
        Variant("scale_stored_last", (f"    {STORE_SCALE}\n", ""), (STORE_Q, f"{STORE_Q}\n    {STORE_SCALE}")),
        Variant("one_by_comparison", (SCALE, "scale = largest / 127 + (largest == 0).to(tl.float32)")),
        Variant("small_tiles", ("block=8192", "block=64")),
        Variant("a_maximum_for_each_lane", ("    largest = 0.0\n", "    largest = tl.zeros((BLOCK_K,), tl.float32)\n"), (LARGEST, "largest = tl.maximum(largest, tl.abs(x))"), ("    " + SCALE, "    largest = tl.max(largest, axis=0)\n    " + SCALE)),
        Variant("second_walk_backwards", (SECOND, SECOND.replace("range(0, K, BLOCK_K)", "range((K - 1) // BLOCK_K * BLOCK_K, -1, -BLOCK_K)"))),
        Variant("scale_by_if", (SCALE, "scale = largest / 127\n    if largest == 0:\n        scale = 1.0")),
        Variant("largest_and_least", (LARGEST, "largest = tl.maximum(largest, tl.maximum(tl.max(x, axis=0), -tl.min(x, axis=0)))")),
        Variant("divided_by_the_largest", (Q, "q = tl.floor(x * 127 / tl.where(largest > 0, largest, 1.0) + 0.5)")),
    ],
    "matmul_w8a8": [
        Variant("dot_added_afterwards", (DOT, "acc += tl.dot(x, w)")),
        Variant("scales_in_one", (Y, "y = acc.to(tl.float32) * (sx[:, None] * sw[None, :])")),
        Variant("promoted", (Y, "y = acc * sx[:, None] * sw[None, :]")),
        Variant("zeros_as_floats", (X, X.replace("other=0", "other=0.0"))),
        Variant("mask_from_k", (MASK, "mask_k = k + offs_k < K")),
        Variant("cast_before_the_store", (STORE_Y, STORE_Y.replace("y,", "y.to(y_ptr.dtype.element_ty),"))),
        Variant("counts_steps", (LOOP, "    for step in range(0, tl.cdiv(K, BLOCK_K)):\n        k = step * BLOCK_K\n        mask_k = offs_k < K - k")),
        Variant("scales_before_the_loop", (f"    {ACC}\n", f"    {SX}\n    {SW}\n    {ACC}\n"), (f"    {SX}\n    {SW}\n    {Y}", f"    {Y}")),
        Variant("pointers_move", (X, X.replace(" + k", "")), (W, W.replace(" + k", "")), (DOT, DOT + "\n        x_ptrs += BLOCK_K\n        w_ptrs += BLOCK_K")),
        Variant("one_axis", ("pid_m, pid_n = tl.program_id(0), tl.program_id(1)", "wide = tl.cdiv(N, BLOCK_N)\n    pid_m, pid_n = tl.program_id(0) // wide, tl.program_id(0) % wide"), ('grid = (triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]))', 'grid = (triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)')),
        Variant("turned_in_the_kernel", (W, "w = tl.load(w_ptr + offs_n[:, None] * K + k + offs_k[None, :], mask=mask_n[:, None] & mask_k[None, :], other=0)"), (DOT, "acc = tl.dot(x, tl.trans(w), acc, out_dtype=tl.int32)")),
        Variant("while_loop", (LOOP, "    k = 0\n    while k < K:\n        mask_k = offs_k < K - k"), (DOT, DOT + "\n        k += BLOCK_K")),
        Variant("own_tile", ("tile = tile or tile_for(M, 128)", "tile = tile or dict(BLOCK_M=32, BLOCK_N=64, BLOCK_K=64)")),
    ],
    "matmul_w4a16": [
        Variant("scaled_first", (ADD, "w = (w * scales[:, None]).to(x.dtype)\n        acc = tl.dot(x, tl.trans(w), acc)")),
        Variant("signs_by_xor", (UNPACK, "w = tl.interleave(((packed & 15) ^ 8) - 8, packed >> 4)")),
        Variant("join_and_reshape", (UNPACK, "w = tl.reshape(tl.join(packed << 4 >> 4, packed >> 4), BLOCK_N, BLOCK_K)")),
        Variant("low_by_where", (UNPACK, "low = packed & 15\n        w = tl.interleave(tl.where(low > 7, low - 16, low), packed >> 4)")),
        Variant("cast_first", (ADD, "acc += tl.dot(x, tl.trans(w).to(tl.float16)) * scales[None, :]")),
        Variant("scales_in_float32", (SCALES, SCALES + "\n        scales = scales.to(tl.float32)")),
        Variant("product_first", (ADD, "new = tl.dot(x, tl.trans(w.to(x.dtype)))\n        acc = acc + new * scales[None, :]")),
        Variant("pointers_move", (XF, XF.replace(" + k", "")), (PACKED, PACKED.replace(" + k // 2", "")), (ADD, ADD + "\n        x_ptrs += BLOCK_K\n        packed_ptrs += BLOCK_K // 2")),
        Variant("nibbles_in_32_bits", (UNPACK, "wide = packed.to(tl.int32)\n        w = tl.interleave(wide << 28 >> 28, wide >> 4)")),
        Variant("two_dots", (UNPACK, "low, high = (packed << 4 >> 4).to(x.dtype), (packed >> 4).to(x.dtype)"), (ADD, "even, odd = tl.split(tl.reshape(x, BLOCK_M, BLOCK_K // 2, 2))\n        acc += (tl.dot(even, tl.trans(low)) + tl.dot(odd, tl.trans(high))) * scales[None, :]")),
        Variant("groups_and_their_steps", (STEPS, "    for number in range(0, K // GROUP):\n      for inside in range(0, GROUP, BLOCK_K):\n        k = number * GROUP + inside\n        " + XF)),
        Variant("own_tile", ("tile = tile or tile_for(M, 64)", "tile = tile or dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=64)")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "quantize_rows": {
        'x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0).to(tl.float32) => x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0)': "float32 all the same: largest is in the first walk, and scale in the second",
        'largest = tl.maximum(largest, tl.max(tl.abs(x), axis=0)) => largest = tl.maximum(largest, tl.max(tl.abs(x)))': "a tile of one dimension has one axis",
        'tl.store(q_row + offs_k, q.to(tl.int8), mask=offs_k < K) => tl.store(q_row + offs_k, q, mask=offs_k < K)': "the store casts to int8, and q is a whole number",
        'x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0).to(tl.float32) => x = tl.load(x_row + offs_k, mask=offs_k < K).to(tl.float32)': "of the second walk: masked lanes are not stored",
        'x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0).to(tl.float32) => x = tl.load(x_row + offs_k, mask=offs_k < K, other=1.0).to(tl.float32)': "of the second walk: masked lanes are not stored",
    },
    "matmul_w8a8": {
        'sx = tl.load(sx_ptr + offs_m, mask=mask_m, other=0.0) => sx = tl.load(sx_ptr + offs_m, mask=mask_m)': "rows past M are not stored",
        'sw = tl.load(sw_ptr + offs_n, mask=mask_n, other=0.0) => sw = tl.load(sw_ptr + offs_n, mask=mask_n)': "columns past N are not stored",
        'x = tl.load(x_ptrs + k, mask=mask_m[:, None] & mask_k[None, :], other=0) => x = tl.load(x_ptrs + k, mask=mask_m[:, None] & mask_k[None, :])': "0 on the other side is enough: an integer times 0 is 0",
        'w = tl.load(w_ptrs + k, mask=mask_k[:, None] & mask_n[None, :], other=0) => w = tl.load(w_ptrs + k, mask=mask_k[:, None] & mask_n[None, :])': "0 on the other side is enough: an integer times 0 is 0",
        'sx = tl.load(sx_ptr + offs_m, mask=mask_m, other=0.0) => sx = tl.load(sx_ptr + offs_m, mask=mask_m, other=1.0)': "rows past M are not stored",
        'sw = tl.load(sw_ptr + offs_n, mask=mask_n, other=0.0) => sw = tl.load(sw_ptr + offs_n, mask=mask_n, other=1.0)': "columns past N are not stored",
        'y = acc.to(tl.float32) * sx[:, None] * sw[None, :] => y = acc * sx[:, None] * sw[None, :]': "int32 times float32 is float32",
        'x = tl.load(x_ptrs + k, mask=mask_m[:, None] & mask_k[None, :], other=0) => x = tl.load(x_ptrs + k, mask=mask_m[:, None] & mask_k[None, :], other=1)': "0 on the other side is enough: an integer times 0 is 0",
        'w = tl.load(w_ptrs + k, mask=mask_k[:, None] & mask_n[None, :], other=0) => w = tl.load(w_ptrs + k, mask=mask_k[:, None] & mask_n[None, :], other=1)': "0 on the other side is enough: an integer times 0 is 0",
    },
    "matmul_w4a16": {
        'x = tl.load(x_ptrs + k, mask=mask_m, other=0.0) => x = tl.load(x_ptrs + k, mask=mask_m)': "rows past M are not stored, and K needs no mask",
        'packed = tl.load(packed_ptrs + k // 2, mask=mask_n[:, None], other=0) => packed = tl.load(packed_ptrs + k // 2, mask=mask_n[:, None])': "columns past N are not stored, and K needs no mask",
        'scales = tl.load(scales_ptrs + k // GROUP, mask=mask_n, other=0.0) => scales = tl.load(scales_ptrs + k // GROUP, mask=mask_n)': "columns past N are not stored",
        'x = tl.load(x_ptrs + k, mask=mask_m, other=0.0) => x = tl.load(x_ptrs + k, mask=mask_m, other=1.0)': "rows past M are not stored, and K needs no mask",
        'packed = tl.load(packed_ptrs + k // 2, mask=mask_n[:, None], other=0) => packed = tl.load(packed_ptrs + k // 2, mask=mask_n[:, None], other=1)': "columns past N are not stored, and K needs no mask",
        'scales = tl.load(scales_ptrs + k // GROUP, mask=mask_n, other=0.0) => scales = tl.load(scales_ptrs + k // GROUP, mask=mask_n, other=1.0)': "columns past N are not stored",
    },
}
