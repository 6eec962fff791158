"""Wrong answers of 14_layernorm_split with the diagnosis each must get, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

# --- piece_stats
X_PTRS = "x_ptrs = x_ptr + pid_m * stride_xm + offs_n * stride_xn"
X_LOAD = "x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)"
COUNT = "n = tl.sum(mask_n.to(tl.float32), axis=0)"
MEAN = "mean = tl.sum(x, axis=0) / tl.maximum(n, 1.0)"
CENTRED = "centred = tl.where(mask_n, x - mean, 0.0)"
SQUARES = "tl.sum(centred * centred, axis=0))"

# --- layernorm_split
LOADS = "n = tl.load(n_ptr + places, mask=mask_s, other=0.0)"
REDUCE = "n, mean, m2 = tl.reduce((n, mean, m2), 0, welford_combine)"
RSTD = "tl.rsqrt(m2 / n + eps)"
MERGE_LAUNCH = """    layernorm_merge_kernel[(M,)](
        n, mean, m2, row_mean, row_rstd, num_splits, eps, BLOCK_S=BLOCK_S, num_warps=4
    )
"""
SCALE_LAUNCH = """    layernorm_scale_kernel[(M * num_splits,)](
        x_rows, w, b, row_mean, row_rstd, y_rows, M, N, piece_size,
        *x_rows.stride(), *y_rows.stride(),
        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),
    )
"""
SUMS = """total = tl.sum(n, axis=0)
    common = tl.sum(n * mean, axis=0) / total
    m2 = tl.sum(m2 + n * (mean - common) * (mean - common), axis=0)
    n, mean = total, common"""

MUTANTS = {
    "piece_stats": [
        Mutant("count_below_none", "count-below-none", (COUNT, "n = tl.minimum(piece_size, N - pid_s * piece_size).to(tl.float32)")),
        Mutant("past_the_row_counted", "past-the-row-counted", (CENTRED, "centred = tl.where(offs < piece_size, x - mean, 0.0)")),
        Mutant("zeros_not_counted", "zeros-not-counted", (COUNT, "n = tl.sum((x != 0).to(tl.float32), axis=0)")),
        Mutant("count_and_mean_swapped", "count-and-mean-swapped", ("place, n)", "place, mean)"), ("tl.store(mean_ptr + place, mean)", "tl.store(mean_ptr + place, n)")),
        Mutant("padding_counted", "padding-counted", (CENTRED, "centred = x - mean")),
        Mutant("counts_a_whole_piece", "count-of-a-piece", (COUNT, "n = piece_size * 1.0"), (MEAN, "mean = tl.sum(x, axis=0) / tl.maximum(tl.sum(mask_n.to(tl.float32), axis=0), 1.0)")),
        Mutant("piece_size_for_the_count", ("count-of-a-piece", "mean-over-piece"), (COUNT, "n = piece_size * 1.0")),
        Mutant("tile_for_the_count", ("count-of-the-tile", "count-of-a-piece"), (COUNT, "n = BLOCK_N * 1.0")),
        Mutant("mean_over_the_piece", "mean-over-piece", (MEAN, "mean = tl.sum(x, axis=0) / piece_size")),
        Mutant("mean_over_the_tile", ("mean-over-tile", "mean-over-piece"), (MEAN, "mean = tl.sum(x, axis=0) / BLOCK_N")),
        Mutant("mean_over_the_row", "mean-over-row", (MEAN, "mean = tl.sum(x, axis=0) / N")),
        Mutant("empty_piece_is_nan", "empty-piece", (MEAN, "mean = tl.sum(x, axis=0) / n")),
        Mutant("divided_by_n_plus_one", ("wrong-values", "constant-factor"), (MEAN, "mean = tl.sum(x, axis=0) / (n + 1.0)")),
        Mutant("sum_stored", "sum-for-mean", ("tl.store(mean_ptr + place, mean)", "tl.store(mean_ptr + place, tl.sum(x, axis=0))")),
        Mutant("variance_for_m2", "variance-for-m2", (SQUARES, "tl.sum(centred * centred, axis=0) / tl.maximum(n, 1.0))")),
        Mutant("deviation_for_m2", "root-for-m2", (SQUARES, "tl.sqrt(tl.sum(centred * centred, axis=0) / tl.maximum(n, 1.0)))")),
        Mutant("squares_of_x", "squares-of-x", (SQUARES, "tl.sum(x * x, axis=0))")),
        Mutant("lost_digits", "property", (SQUARES, "tl.sum(x * x, axis=0) - n * mean * mean)")),
        Mutant("mean_and_m2_swapped", "mean-and-m2-swapped", ("m2_ptr + place", "mean_ptr  + place"), ("mean_ptr + place, mean", "m2_ptr + place, mean")),
        Mutant("all_pieces_in_one_place", ("race", "unwritten", "unwritten-tail"), ("tl.store(mean_ptr + place, mean)", "tl.store(mean_ptr + pid_m, mean)")),
        Mutant("m2_never_stored", ("unwritten", "unwritten-tail"), ("    tl.store(m2_ptr + place, " + SQUARES + "\n", "")),
        Mutant("place_of_the_program", "other-order", ("place = pid_m * num_splits + pid_s", "place = pid")),
        Mutant("row_stride_is_n", ("strided-only", "reads-outside"), (X_PTRS, X_PTRS.replace("stride_xm", "N"))),
        Mutant("column_stride_is_one", ("strided-only", "reads-outside"), (X_PTRS, X_PTRS.replace(" * stride_xn", ""))),
        Mutant("columns_of_the_tile", "first-piece-again", (X_PTRS, X_PTRS.replace("offs_n", "offs"))),
        Mutant("program_for_the_row", ("reads-outside", "wrong-values", "nan"), (X_PTRS, X_PTRS.replace("pid_m", "pid"))),
        Mutant("no_mask_at_the_load", "reads-outside", (X_LOAD, X_LOAD.replace(", mask=mask_n, other=0.0", ""))),
        Mutant("other_forgotten", "no-other", (X_LOAD, X_LOAD.replace(", other=0.0", "")), only="interpreter"),
        Mutant("mask_of_the_row_alone", ("into-the-next-piece", "reads-outside"), (X_LOAD, "mask_n = offs_n < N\n    " + X_LOAD)),
        Mutant("mask_of_the_piece_alone", ("reads-outside", "count-of-a-piece"), (X_LOAD, "mask_n = offs < piece_size\n    " + X_LOAD)),
        Mutant("in_half", ("overflow", "nan", "wrong-values"), (X_LOAD, X_LOAD.replace(".to(tl.float32)", "")), (SQUARES, "tl.sum((centred * centred).to(x_ptr.dtype.element_ty), axis=0))")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="def piece_stats(x, num_splits):\n    x = x.reshape(-1, x.shape[-1])\n    cut = torch.nn.functional.pad(x, (0, num_splits * pieces(x.shape[1], num_splits)[0] - x.shape[1])).unflatten(1, (num_splits, -1))\n    n = torch.ones_like(cut).sum(-1)\n    return n, cut.mean(-1), cut.var(-1) * n\n"),
    ],
    "layernorm_split": [
        Mutant("lanes_of_a_piece_in_the_merge", "first-pieces-only", ("BLOCK_S=BLOCK_S", "BLOCK_S=BLOCK_N")),
        Mutant("x_for_x_rows", "x-for-x-rows", (SCALE_LAUNCH, SCALE_LAUNCH.replace("x_rows, w", "x, w"))),
        Mutant("rstd_not_stored", ("reads-unwritten", "nothing-but-nan"), (f"    tl.store(row_rstd_ptr + pid_m, {RSTD})\n", "")),
        Mutant("sums_of_three", ("m2-summed", "averages"), (REDUCE, "m2 = tl.sum(m2, axis=0)\n    mean = tl.sum(n * mean, axis=0) / tl.sum(n, axis=0)\n    n = tl.sum(n, axis=0)")),
        Mutant("averages", ("averages", "m2-summed"), (REDUCE, "n, mean, m2 = tl.sum(n, axis=0), tl.sum(mean, axis=0) / num_splits, tl.sum(m2, axis=0)")),
        Mutant("plain_sums", "means-summed", (REDUCE, "n, mean, m2 = tl.sum(n, axis=0), tl.sum(mean, axis=0), tl.sum(m2, axis=0)")),
        Mutant("mean_of_means", "mean-of-means", (REDUCE, "average = tl.sum(mean, axis=0) / num_splits\n    " + REDUCE), ("row_mean_ptr + pid_m, mean", "row_mean_ptr + pid_m, average")),
        Mutant("masked_parts_hold_one", "idle-lanes-count", (LOADS, LOADS.replace("0.0", "1.0"))),
        Mutant("counts_without_mask", ("reads-outside", "nan", "wrong-values"), (LOADS, "n = tl.load(n_ptr + places)")),
        Mutant("other_forgotten", "no-other", (LOADS, LOADS.replace(", other=0.0", "")), only="interpreter"),
        Mutant("places_of_the_first_row", "first-rows-statistics", ("= tl.load(n_ptr + places", "= tl.load(n_ptr + offs_s"), ("tl.load(mean_ptr + places", "tl.load(mean_ptr + offs_s"), ("tl.load(m2_ptr + places", "tl.load(m2_ptr + offs_s")),
        Mutant("places_by_the_tile", ("reads-outside", "nan", "rows-after-first"), ("tl.load(mean_ptr + places", "tl.load(mean_ptr + pid_m * BLOCK_S + offs_s")),
        Mutant("over_the_pieces", "m2-over-pieces", (RSTD, RSTD.replace("/ n", "/ num_splits"))),
        Mutant("unbiased", "unbiased", (RSTD, RSTD.replace("/ n", "/ (n - 1)"))),
        Mutant("eps_of_its_own", "fixed-eps", (RSTD, RSTD.replace("eps", "1e-5"))),
        Mutant("buffers_swapped_in_the_first_launch", "buffers-swapped", ("n, mean, m2, row_mean, row_rstd, num", "n, m2, mean, row_mean, row_rstd, num")),
        Mutant("no_eps", "no-eps", (RSTD, RSTD.replace(" + eps", ""))),
        Mutant("eps_outside_root", "eps-outside-root", (RSTD, "1.0 / (tl.sqrt(m2 / n) + eps)")),
        Mutant("sum_not_mean", "sum-not-mean", (RSTD, RSTD.replace(" / n", ""))),
        Mutant("root_for_its_inverse", "root-for-its-inverse", (RSTD, RSTD.replace("rsqrt", "sqrt"))),
        Mutant("variance_for_rstd", "variance-for-rstd", (RSTD, "m2 / n + eps")),
        Mutant("statistics_swapped", "statistics-swapped", ("row_mean_ptr + pid_m, mean", "row_rstd_ptr + pid_m, mean"), ("row_rstd_ptr + pid_m, tl", "row_mean_ptr + pid_m, tl")),
        Mutant("buffers_swapped_in_a_launch", "statistics-swapped", ("x_rows, w, b, row_mean, row_rstd", "x_rows, w, b, row_rstd, row_mean")),
        Mutant("weight_and_bias_swapped", "weight-for-bias", ("x_rows, w, b, row_mean", "x_rows, b, w, row_mean")),
        Mutant("statistics_of_the_row_in_one_place", ("race", "first-rows-statistics", "nan", "wrong-values"), ("row_mean_ptr + pid_m, mean", "row_mean_ptr, mean")),
        Mutant("one_merge_program", ("reads-unwritten", "first-row-merged"), ("layernorm_merge_kernel[(M,)]", "layernorm_merge_kernel[(1,)]")),
        Mutant("a_merge_program_for_each_piece", ("out-of-bounds-store", "reads-outside"), ("layernorm_merge_kernel[(M,)]", "layernorm_merge_kernel[(M * num_splits,)]")),
        Mutant("a_program_a_row_at_the_end", ("unwritten-tail", "unwritten", "wrong-launch-count"), ("layernorm_scale_kernel[(M * num_splits,)]", "layernorm_scale_kernel[(M,)]")),
        Mutant("merge_not_launched", ("nan", "reads-outside", "wrong-launch-count"), (MERGE_LAUNCH, "")),
        Mutant("scale_not_launched", ("unwritten", "wrong-launch-count", "not-attempted"), (SCALE_LAUNCH, "")),
        Mutant("launched_in_the_wrong_order", ("reads-unwritten", "nothing-but-nan", "reads-outside", "overflow"), (MERGE_LAUNCH + SCALE_LAUNCH, SCALE_LAUNCH + MERGE_LAUNCH)),
        Mutant("n_and_piece_size_swapped", ("unwritten", "unwritten-tail", "race", "out-of-bounds-store", "reads-outside"), ("M, N, piece_size,\n        *x", "M, piece_size, N,\n        *x")),
        Mutant("strides_of_x_for_y", ("strided-only", "out-of-bounds-store", "race"), ("*x_rows.stride(), *y_rows.stride()", "*x_rows.stride(), *x_rows.stride()")),
        Mutant("rows_returned", "wrong-shape", ("\n    return y", "\n    return y_rows")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="def layernorm_split(x, w, b, eps=1e-5, num_splits=64):\n    return torch.nn.functional.layer_norm(x, w.shape, w, b, eps)\n"),
    ],
}

VARIANTS = {
    "piece_stats": [
        Variant("count_by_arithmetic", (COUNT, "n = tl.minimum(tl.maximum(N - pid_s * piece_size, 0), piece_size) * 1.0")),
        Variant("where_for_the_divisor", (MEAN, "mean = tl.sum(x, axis=0) / tl.where(n == 0, 1.0, n)")),
        Variant("where_after_the_division", (MEAN, "mean = tl.where(n > 0, tl.sum(x, axis=0) / n, 0.0)")),
        Variant("mask_by_product", (CENTRED, "centred = (x - mean) * mask_n.to(tl.float32)")),
        Variant("one_warp", ("num_warps=warps_for(BLOCK_N)", "num_warps=1")),
        Variant("zeroed_buffers", ("torch.empty((3, M, num_splits)", "torch.zeros((3, M, num_splits)")),
    ],
    "layernorm_split": [
        Variant("weighted_sums", (REDUCE, SUMS)),
        Variant("divided_by_all_counts", (RSTD, "tl.rsqrt(m2 / tl.sum(tl.load(n_ptr + places, mask=mask_s, other=0.0), axis=0) + eps)")),
        Variant("sqrt_and_divide", (RSTD, "1.0 / tl.sqrt(m2 / n + eps)")),
        Variant("one_warp_merges", ("num_warps=4", "num_warps=1")),
        Variant("a_wider_tile_of_pieces", ("BLOCK_S = triton.next_power_of_2(num_splits)", "BLOCK_S = 2 * triton.next_power_of_2(num_splits)")),
        Variant("stats_by_another_name", ("    n, mean, m2 = piece_stats(x_rows, num_splits)\n", "    found = piece_stats(x, num_splits)\n"), ("n, mean, m2, row_mean, row_rstd, num_splits, eps, BLOCK_S", "*found, row_mean, row_rstd, num_splits, eps, BLOCK_S")),
    ],
}

ONE_AXIS = "a tile of one dimension has one axis"
EQUIVALENT = {
    "piece_stats": {
        "n = tl.sum(mask_n.to(tl.float32), axis=0) => n = tl.sum(mask_n.to(tl.float32))": ONE_AXIS,
        "n = tl.sum(mask_n.to(tl.float32), axis=0) => n = tl.sum(mask_n, axis=0)": "tl.sum counts true lanes in int32, and the division and the store make float32 of it",
        "mean = tl.sum(x, axis=0) / tl.maximum(n, 1.0) => mean = tl.sum(x) / tl.maximum(n, 1.0)": ONE_AXIS,
        "tl.store(m2_ptr + place, tl.sum(centred * centred, axis=0)) => tl.store(m2_ptr + place, tl.sum(centred * centred))": ONE_AXIS,
    },
    "layernorm_split": {
        "mean = tl.load(mean_ptr + places, mask=mask_s, other=0.0) => mean = tl.load(mean_ptr + places, mask=mask_s, other=1.0)": "the mean of a part without elements has a share of 0",
    },
}
