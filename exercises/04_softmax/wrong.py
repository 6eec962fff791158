"""Wrong answers of 04_softmax with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

OTHER = ', other=float("-inf")'
ALLOCATE = "    out = torch.empty((M, N), dtype=x.dtype, device=x.device)\n"
STORE = "tl.store(out_ptrs, out, mask=mask_n)"
MIRRORED = "mirrored = out_ptr + pid_m * stride_om + (N - 1 - offs_n) * stride_on"
READ_BACK = f"{STORE}\n    {MIRRORED}\n    tl.store(mirrored, tl.load(mirrored, mask=mask_n), mask=mask_n)"
FIRST_LOAD = f"tl.load(x_ptrs, mask=mask_n{OTHER})"
FIRST_PTRS = "x_ptrs = x_row_ptr + offs_n * stride_xn"
FIRST_WALK = "    for start in range(0, N, BLOCK_N):\n        offs_n = start + tl.arange(0, BLOCK_N)\n        mask_n = offs_n < N\n        x_ptrs"
SECOND_WALK = FIRST_WALK.replace("x_ptrs", "x = tl.load(x_row_ptr")
SUM_WALK = f"""    l_i = 0.0
{FIRST_WALK} = x_row_ptr + offs_n * stride_xn
        x = {FIRST_LOAD}.to(tl.float32)
        l_i += tl.sum(tl.exp(x - m_i), axis=0)

"""
RESCALED = "l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0)"
MASKED_E = "e = tl.where(counts, tl.exp(x - tl.max(x, axis=0)), 0.0)"

MUTANTS = {
    "softmax": [
        Mutant("padding_at_minus_10000", "padding-too-high", ('other=float("-inf")', "other=-1e4")),
        Mutant("padding_at_minus_1e9", "padding-too-high", ('other=float("-inf")', "other=-1e9")),
        Mutant("columns_side_by_side", ("strided-only", "reads-outside", "wrong-values", "out-of-bounds-store"), ("x_ptr + pid_m * stride_xm + offs_n * stride_xn", "x_ptr + pid_m * stride_xm + offs_n")),
        Mutant("column_stride_of_x_for_out", ("strided-only", "reads-outside", "wrong-values", "out-of-bounds-store"), ("offs_n * stride_on", "offs_n * stride_xn")),
        Mutant(
            "tritons_own",
            "not-by-hand",
            ("    e = tl.exp(x - tl.max(x, axis=0))\n", ""),
            ("out = e * (1.0 / tl.sum(e, axis=0))", "out = tl.softmax(x)"),
        ),
        Mutant("row_in_the_columns", "unwritten-tail", ("offs_n = tl.arange", "offs_n = pid_m * BLOCK_N + tl.arange")),
        Mutant("masked_lanes_are_zero", "padding-counted", (OTHER, ", other=0.0")),
        Mutant("other_forgotten", "padding-counted", (OTHER, ""), only="interpreter"),
        Mutant(
            "maximum_shifted_by_zeros",
            ("maximum-not-subtracted", "overflow"),
            (OTHER, ", other=0.0"),
            ("e = tl.exp(x - tl.max(x, axis=0))", "e = tl.where(mask_n, tl.exp(x - tl.max(x, axis=0)), 0.0)"),
        ),
        Mutant("maximum_not_subtracted", "maximum-not-subtracted", ("x - tl.max(x, axis=0)", "x")),
        Mutant("minimum_subtracted", ("overflow", "nan"), ("tl.max(x, axis=0)", "tl.min(x, axis=0)")),
        Mutant("not_divided", "not-normalised", ("out = e * (1.0 / tl.sum(e, axis=0))", "out = e")),
        Mutant("divided_by_n", "divided-by-n", ("tl.sum(e, axis=0)", "N")),
        Mutant("divided_by_the_block", "divided-by-tile", ("tl.sum(e, axis=0)", "BLOCK_N")),
        Mutant("exp2_without_factor", "base-two", ("tl.exp(", "tl.exp2(")),
        Mutant("sign", "of-minus-x", ("e = tl.exp(x - tl.max(x, axis=0))", "e = tl.exp(tl.min(tl.where(mask_n, x, float('inf')), axis=0) - x)\n    e = tl.where(mask_n, e, 0.0)")),
        Mutant("logarithm", "logarithm", ("out = e * (1.0 / tl.sum(e, axis=0))", "out = x - tl.max(x, axis=0) - tl.log(tl.sum(e, axis=0))")),
        Mutant("one_stride_for_two_tensors", ("strided-only", "out-of-bounds-store"), ("pid_m * stride_om", "pid_m * stride_xm")),
        Mutant("rows_are_n_apart", "strided-only", ("pid_m * stride_xm", "pid_m * N")),
        Mutant("column_stride_forgotten", ("strided-only", "reads-outside"), ("offs_n * stride_xn", "offs_n")),
        Mutant("every_row_is_the_first", "rows-after-first", ("x_ptr + pid_m * stride_xm", "x_ptr")),
        Mutant("no_store_mask", "out-of-bounds-store", (STORE, STORE.replace(", mask=mask_n", ""))),
        Mutant("read_back_by_other_lanes", "no-barrier", (STORE, READ_BACK), only="interpreter"),
        Mutant("rows_along_axis_1", "grid-limit", ("pid_m = tl.program_id(axis=0)", "pid_m = tl.program_id(axis=1)"), ("softmax_kernel[(M,)]", "softmax_kernel[(1, M)]")),
        Mutant("no_load_mask", ("reads-outside", "wrong-values"), (f", mask=mask_n{OTHER}", ""), only="interpreter"),
        Mutant("block_of_1024", ("unwritten-tail", "wrong-values"), ("BLOCK_N = triton.next_power_of_2(N)", "BLOCK_N = 1024")),
        Mutant("last_row_left_out", ("unwritten-tail", "unwritten"), ("softmax_kernel[(M,)]", "softmax_kernel[(max(M - 1, 1),)]")),
        Mutant("sum_in_float16", "sum-in-half-precision", ("tl.sum(e, axis=0)", "tl.sum(e.to(tl.float16), axis=0).to(tl.float32)")),
        Mutant("sum_in_the_dtype_of_x", "sum-in-half-precision", ("tl.sum(e, axis=0)", "tl.sum(e.to(x_ptr.dtype.element_ty), axis=0).to(tl.float32)")),
        Mutant("row_added_twice", ("row-added-twice", "reads-outside"), ("x_ptr + pid_m * stride_xm", "x_ptr + 2 * pid_m * stride_xm")),
        Mutant("exponentials_in_half_precision", ("does-not-compile", "raised"), ("e = tl.exp(x - tl.max(x, axis=0))", "e = tl.exp((x - tl.max(x, axis=0)).to(out_ptr.dtype.element_ty)).to(tl.float32)")),
        Mutant("stores_by_index", ("raised", "does-not-compile"), (STORE, "out_ptr[offs_n] = out")),
        Mutant("writes_into_x", ("input-changed", "aliases-input"), (ALLOCATE, "    out = x\n")),
        Mutant("always_float32", "wrong-dtype", ("dtype=x.dtype", "dtype=torch.float32")),
        Mutant("no_check_of_the_width", ("should-raise",), ("if N > 65536:", "if N > 1 << 30:")),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace="def softmax(x):\n    require_matrix(x)\n    return torch.softmax(x, dim=-1)\n",
        ),
        Mutant("divided_by_torch", "torch-compute", ("out = e * (1.0 / tl.sum(e, axis=0))", "out = e"), ("    return out", "    return out / out.sum(-1, keepdim=True)")),
    ],
    "softmax_online": [
        Mutant("padding_at_minus_10000", "padding-too-high", ('other=float("-inf")', "other=-1e4")),
        Mutant("starts_at_minus_50000", "starts-too-high", ("m_i = -1e38", "m_i = -50000.0")),
        Mutant("starts_at_minus_1e9", "starts-too-high", ("m_i = -1e38", "m_i = -1e9")),
        Mutant("columns_side_by_side", ("strided-only", "reads-outside", "wrong-values", "out-of-bounds-store"), ("        x_ptrs = x_row_ptr + offs_n * stride_xn", "        x_ptrs = x_row_ptr + offs_n"), ("x_row_ptr + offs_n * stride_xn, mask", "x_row_ptr + offs_n, mask")),
        Mutant("column_stride_of_x_for_out", ("strided-only", "reads-outside", "wrong-values", "out-of-bounds-store"), ("offs_n * stride_on", "offs_n * stride_xn")),
        Mutant(
            "the_kernel_of_task_1",
            "tile-too-large",
            replace="def softmax_online(x, block=16384):\n    return softmax(x)\n",
        ),
        Mutant("exponentials_of_the_old_maximum", "exponentials-of-the-old-maximum", ("tl.sum(tl.exp(x - m_new)", "tl.sum(tl.exp(x - m_i)")),
        Mutant("tile_by_tile", "tile-by-tile", ("(1.0 / l_i)", "(1.0 / tl.sum(tl.where(mask_n, tl.exp(x.to(tl.float32) - m_i), 0.0), axis=0))")),
        Mutant("written_in_the_first_walk", "written-too-early", ("        m_i = m_new\n", "        m_i = m_new\n        tl.store(out_row_ptr + offs_n * stride_on, tl.exp(x - m_i) / l_i, mask=mask_n)\n"), (SECOND_WALK, SECOND_WALK.replace("range(0, N, BLOCK_N)", "range(0, 0, BLOCK_N)"))),
        Mutant("second_walk_in_half_steps", "property", (SECOND_WALK, SECOND_WALK.replace("range(0, N, BLOCK_N)", "range(0, N, BLOCK_N // 2)")), only="interpreter"),
        Mutant("three_walks", "property", (SECOND_WALK, SUM_WALK + SECOND_WALK), only="interpreter"),
        Mutant("sum_not_rescaled", "not-rescaled", ("l_i * tl.exp(m_i - m_new)", "l_i")),
        Mutant("rescaled_the_wrong_way", ("rescaled-the-wrong-way", "overflow", "nan"), ("tl.exp(m_i - m_new)", "tl.exp(m_new - m_i)")),
        Mutant("rescaled_the_wrong_way_without_overflow", ("rescaled-the-wrong-way", "overflow", "nan", "wrong-values", "off-by-row"), ("tl.exp(m_i - m_new)", "tl.exp(tl.minimum(m_new - m_i, 80.0))")),
        Mutant("maximum_updated_too_early", "not-rescaled", ("        l_i = l_i * tl.exp", "        m_i = m_new\n        l_i = l_i * tl.exp")),
        Mutant("maximum_of_the_tile_only", "maximum-of-the-last-tile", ("m_new = tl.maximum(m_i, tl.max(x, axis=0))", "m_new = tl.max(x, axis=0)")),
        Mutant("starts_at_minus_infinity", "starts-at-minus-infinity", ("m_i = -1e38", 'm_i = float("-inf")')),
        Mutant("starts_at_zero", "maximum-not-subtracted", ("m_i = -1e38", "m_i = 0.0")),
        Mutant("sum_starts_at_one", ("maximum-not-subtracted", "constant-factor", "wrong-values", "off-by-row"), ("m_i = -1e38", "m_i = 0.0"), ("l_i = 0.0", "l_i = 1.0")),
        Mutant("masked_lanes_are_zero", "padding-counted", (OTHER, ", other=0.0")),
        Mutant("other_forgotten", "padding-counted", (OTHER, ""), only="interpreter"),
        Mutant("no_first_load_mask", ("reads-outside", "wrong-values"), (FIRST_LOAD, "tl.load(x_ptrs)"), only="interpreter"),
        Mutant("first_tile_only", "first-tile-only", (FIRST_WALK, FIRST_WALK.replace("range(0, N, BLOCK_N)", "range(0, BLOCK_N, BLOCK_N)"))),
        Mutant("last_tile_left_out", "last-tile-left-out", (FIRST_WALK, FIRST_WALK.replace("range(0, N, BLOCK_N)", "range(0, N - BLOCK_N + 1, BLOCK_N)"))),
        Mutant("sum_of_the_last_tile", "sum-of-the-last-tile", (RESCALED, "l_i = tl.sum(tl.exp(x - m_new), axis=0)")),
        Mutant("always_the_same_tile", "off-by-row", (FIRST_WALK, FIRST_WALK.replace("start + ", "0 * start + "))),
        Mutant("exp2_in_the_sum", "off-by-row", ("tl.sum(tl.exp(x - m_new)", "tl.sum(tl.exp2(x - m_new)")),
        Mutant("not_divided", "not-normalised", ("(x.to(tl.float32) - m_i) * (1.0 / l_i)", "(x.to(tl.float32) - m_i)")),
        Mutant("maximum_not_subtracted", "maximum-not-subtracted", ("m_new = tl.maximum(m_i, tl.max(x, axis=0))", "m_new = 0.0 * tl.max(x, axis=0)"), ("m_i = -1e38", "m_i = 0.0")),
        Mutant("sum_in_half_precision", "sum-in-half-precision", ("tl.sum(tl.exp(x - m_new), axis=0)\n        m_i = m_new", "tl.sum(tl.exp(x - m_new), axis=0)\n        l_i = l_i.to(tl.float16).to(tl.float32)\n        m_i = m_new")),
        Mutant("column_stride_forgotten", ("strided-only", "reads-outside"), (FIRST_PTRS, "x_ptrs = x_row_ptr + offs_n")),
        Mutant("rows_are_n_apart", "strided-only", ("x_ptr + pid_m * stride_xm", "x_ptr + pid_m * N")),
        Mutant("row_added_twice", ("row-added-twice", "reads-outside"), (FIRST_PTRS, "x_ptrs = x_row_ptr + pid_m * stride_xm + offs_n * stride_xn"), ("tl.load(x_row_ptr + offs_n", "tl.load(x_row_ptr + pid_m * stride_xm + offs_n")),
        Mutant("mask_of_the_first_tile", ("reads-outside", "out-of-bounds-store"), (FIRST_WALK, FIRST_WALK.replace("offs_n < N", "tl.arange(0, BLOCK_N) < N"))),
        Mutant("tl_max_of_two_numbers", ("raised", "does-not-compile"), ("tl.maximum(m_i, tl.max(x, axis=0))", "tl.max(m_i, tl.max(x, axis=0))")),
        Mutant("exponentials_in_half_precision", ("does-not-compile", "raised"), ("tl.sum(tl.exp(x - m_new), axis=0)", "tl.sum(tl.exp((x - m_new).to(out_ptr.dtype.element_ty)).to(tl.float32), axis=0)")),
        Mutant("no_store_mask", "out-of-bounds-store", ("offs_n * stride_on, out, mask=mask_n)", "offs_n * stride_on, out)")),
        Mutant("second_walk_stops_early", ("unwritten-tail", "unwritten"), (SECOND_WALK, SECOND_WALK.replace("range(0, N, BLOCK_N)", "range(0, BLOCK_N, BLOCK_N)"))),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace="def softmax_online(x, block=16384):\n    require_matrix(x)\n    return torch.softmax(x, dim=-1)\n",
        ),
    ],
    "softmax_masked": [
        Mutant("maximum_of_minus_10000", "padding-too-high", ('other=float("-inf")', "other=-1e4")),
        Mutant("lengths_ignored", "lengths-ignored", ("counts = offs_n < length", "counts = offs_n < N")),
        Mutant("empty_row_is_nan", ("nan", "overflow"), (MASKED_E, "e = tl.exp(x - tl.max(x, axis=0))"), ("tl.maximum(tl.sum(e, axis=0), 1.0)", "tl.sum(e, axis=0)")),
        Mutant("zero_over_zero", ("nan", "overflow"), ("tl.maximum(tl.sum(e, axis=0), 1.0)", "tl.sum(e, axis=0)")),
        Mutant("empty_row_is_uniform", "uniform-when-empty", (MASKED_E, "e = tl.exp(x - tl.maximum(tl.max(x, axis=0), -1e30))"), ("out = e / tl.maximum(tl.sum(e, axis=0), 1.0)", "out = tl.where(length > 0, e / tl.maximum(tl.sum(e, axis=0), 1.0), 1.0 / N)")),
        Mutant("one_column_too_many", "one-column-too-many", ("offs_n < length", "offs_n <= length"), ("mask=counts", "mask=counts & (offs_n < N)")),
        Mutant("one_column_too_few", ("wrong-values", "nan"), ("offs_n < length", "offs_n < length - 1")),
        Mutant("length_of_the_first_row", "length-of-row-0", ("lengths_ptr + pid_m", "lengths_ptr")),
        Mutant("only_what_counts_is_stored", ("unwritten", "unwritten-tail"), ("element_ty), mask=offs_n < N)", "element_ty), mask=counts)")),
        Mutant("no_store_mask", "out-of-bounds-store", ("element_ty), mask=offs_n < N)", "element_ty))")),
        Mutant("masked_by_multiplication", ("nan", "overflow", "reads-outside", "wrong-values", "zeros"), ("mask=counts, other=float(\"-inf\")", "mask=offs_n < N, other=0.0"), (MASKED_E, "x = x * counts.to(tl.float32)\n    e = tl.exp(x - tl.max(x, axis=0)) * counts.to(tl.float32)")),
        Mutant("one_stride_for_two_tensors", ("strided-only", "out-of-bounds-store"), ("pid_m * stride_om", "pid_m * stride_xm")),
        Mutant("not_divided", "off-by-row", ("out = e / tl.maximum(tl.sum(e, axis=0), 1.0)", "out = e")),
        Mutant("no_check_of_lengths", "should-raise", ("lengths.shape != (M,) or not lengths.is_contiguous()", "False")),
    ],
}

VARIANTS = {
    "softmax": [
        Variant("read_back_after_a_barrier", (STORE, READ_BACK.replace("mirrored =", "tl.debug_barrier()\n    mirrored =", 1))),
        Variant("offsets_of_32_bits", ("pid_m = tl.program_id(axis=0).to(tl.int64)", "pid_m = tl.program_id(axis=0)")),
        Variant("four_warps", ("num_warps=warps_for(BLOCK_N)", "num_warps=4")),
        Variant("larger_block", ("BLOCK_N = triton.next_power_of_2(N)", "BLOCK_N = 2 * triton.next_power_of_2(N)")),
        Variant("divided_element_by_element", ("e * (1.0 / tl.sum(e, axis=0))", "e / tl.sum(e, axis=0)")),
        Variant("exp2_with_factor", ("tl.exp(x - tl.max(x, axis=0))", "tl.exp2((x - tl.max(x, axis=0)) * 1.4426950408889634)")),
        Variant("where_instead_of_other", (OTHER, ", other=0.0"), ("    e = tl.exp", '    x = tl.where(mask_n, x, float("-inf"))\n    e = tl.exp')),
        Variant("large_negative_number", (OTHER, ", other=-1e38")),
        Variant("cast_before_the_store", (STORE, STORE.replace("out,", "out.to(out_ptr.dtype.element_ty),"))),
        # tl.max gives float32, so the rest of the formula is computed in float32 all the same.
        Variant("no_cast_after_the_load", (".to(tl.float32)", "")),
        Variant("evict_first", (OTHER, OTHER + ', eviction_policy="evict_first"')),
    ],
    "softmax_online": [
        Variant("tiles_of_4096", ("block=16384", "block=4096")),
        Variant("in_three_steps", (RESCALED, "scale = tl.exp(m_i - m_new)\n        l_i = l_i * scale\n        l_i += tl.sum(tl.exp(x - m_new), axis=0)")),
        Variant("minus_infinity_handled", ("m_i = -1e38", 'm_i = float("-inf")'), (RESCALED, 'safe = tl.where(m_new == float("-inf"), 0.0, m_new)\n        l_i = l_i * tl.exp(m_i - safe) + tl.sum(tl.exp(x - safe), axis=0)')),
        Variant("two_walks_for_the_sum", ("        m_i = m_new\n", "        m_i = m_new * 1.0\n")),
        Variant("hints_to_the_cache", (FIRST_LOAD, f'tl.load(x_ptrs, mask=mask_n{OTHER}, eviction_policy="evict_last")')),
        Variant("second_walk_backwards", (SECOND_WALK, SECOND_WALK.replace("offs_n = start + ", "offs_n = (tl.cdiv(N, BLOCK_N) - 1) * BLOCK_N - start + "))),
        Variant("divided_element_by_element", (" * (1.0 / l_i)", " / l_i")),
        Variant("cast_before_the_store", ("offs_n * stride_on, out, ", "offs_n * stride_on, out.to(out_ptr.dtype.element_ty), ")),
        Variant("lowest_float32", ("m_i = -1e38", "m_i = -3.4028234663852886e38")),
    ],
    "softmax_masked": [
        Variant("four_warps", ("num_warps=warps_for(BLOCK_N)", "num_warps=4")),
        Variant("empty_row_by_where", ("out = e / tl.maximum(tl.sum(e, axis=0), 1.0)", "total = tl.sum(e, axis=0)\n    out = e / tl.where(total > 0, total, 1.0)")),
        Variant("finite_maximum", (MASKED_E, "e = tl.exp(x - tl.maximum(tl.max(x, axis=0), -1e38))")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "softmax": {
        'x = tl.load(x_ptrs, mask=mask_n, other=float("-inf")).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=float("-inf"))': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on => out_ptrs = out_ptr + pid_m * stride_om + offs_n': "the wrapper makes a contiguous result: its last stride is 1",
        'e = tl.exp(x - tl.max(x, axis=0)) => e = tl.exp(x - tl.max(x))': "a tile of one dimension has one axis",
        'out = e * (1.0 / tl.sum(e, axis=0)) => out = e * (1.0 / tl.sum(e))': "a tile of one dimension has one axis",
    },
    "softmax_online": {
        'x = tl.load(x_ptrs, mask=mask_n, other=float("-inf")).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=float("-inf"))': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'm_new = tl.maximum(m_i, tl.max(x, axis=0)) => m_new = tl.maximum(m_i, tl.max(x))': "a tile of one dimension has one axis",
        'l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0) => l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new))': "a tile of one dimension has one axis",
        'tl.store(out_row_ptr + offs_n * stride_on, out, mask=mask_n) => tl.store(out_row_ptr + offs_n, out, mask=mask_n)': "the wrapper makes a contiguous result: its last stride is 1",
        'out = tl.exp(x.to(tl.float32) - m_i) * (1.0 / l_i) => out = tl.exp(x - m_i) * (1.0 / l_i)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
    },
    "softmax_masked": {
        'x = tl.load(x_ptrs, mask=counts, other=float("-inf")).to(tl.float32) => x = tl.load(x_ptrs, mask=counts, other=float("-inf"))': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on => out_ptrs = out_ptr + pid_m * stride_om + offs_n': "the wrapper makes a contiguous result: its last stride is 1",
        'tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=offs_n < N) => tl.store(out_ptrs, out, mask=offs_n < N)': "tl.store casts",
        'out = e / tl.maximum(tl.sum(e, axis=0), 1.0) => out = e / tl.maximum(tl.sum(e), 1.0)': "a tile of one dimension has one axis",
        'e = tl.where(counts, tl.exp(x - tl.max(x, axis=0)), 0.0) => e = tl.where(counts, tl.exp(x - tl.max(x)), 0.0)': "a tile of one dimension has one axis",
    },
}
