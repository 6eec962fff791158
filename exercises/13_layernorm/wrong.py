"""Wrong answers of 13_layernorm with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

# --- layernorm
X_PTRS = "x_ptrs = x_ptr + offs_m * stride_xm + offs_n * stride_xn"
X_LOAD = "x = tl.load(x_ptrs, mask=mask_m & mask_n, other=0.0).to(tl.float32)"
MEAN = "mean = tl.sum(x, axis=1, keep_dims=True) / N"
CENTRED = "centred = tl.where(mask_n, x - mean, 0.0)"
SQUARES = "tl.sum(centred * centred, axis=1, keep_dims=True)"
RSTD = f"rstd = tl.rsqrt({SQUARES} / N + eps)"
Y = "y = centred * rstd * w + b"
Y_PTRS = "y_ptrs = y_ptr + offs_m * stride_ym + offs_n * stride_yn"
STORE = "tl.store(y_ptrs, y, mask=mask_m & mask_n)"
STORE_MEAN = "tl.store(mean_ptr + offs_m, mean, mask=mask_m)"
STORE_RSTD = "tl.store(rstd_ptr + offs_m, rstd, mask=mask_m)"
HALF = "x_ptr.dtype.element_ty"

# --- layernorm_welford
LOOP_PTRS = "x_ptrs = x_row_ptr + offs_n * stride_xn"
COUNT = "n_tile = tl.sum(mask_n.to(tl.float32), axis=0)"
TILE_MEAN = "mean_tile = tl.sum(x, axis=0) / n_tile"
APART = "centred = tl.where(mask_n, x - mean_tile, 0.0)"
TILE_M2 = "m2_tile = tl.sum(centred * centred, axis=0)"
MERGE = "n, mean, m2 = welford_combine(n, mean, m2, n_tile, mean_tile, m2_tile)"
WALK = "    for start in range(0, N, BLOCK_N):\n        offs_n = start + tl.arange(0, BLOCK_N)\n        mask_n = offs_n < N\n        x_ptrs"
START = "    n, mean, m2 = 0.0, 0.0, 0.0\n"
SECOND_X = "x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n).to(tl.float32)"
SECOND_Y = "y = (x - mean) * rstd * w + b"
SECOND_STORE = "tl.store(y_row_ptr + offs_n * stride_yn, y, mask=mask_n)"
SECOND_WALK = "        mask_n = offs_n < N\n        " + SECOND_X
FIRST_OFFS = "tl.arange(0, BLOCK_N)"
# Count, mean and M2 for each lane, merged after the loop.
LANES = "".join(f"    {name} = tl.zeros([BLOCK_N], dtype=tl.float32)\n" for name in ("n", "mean", "m2"))
BY_LANES = "n, mean, m2 = welford_combine(n, mean, m2, mask_n.to(tl.float32), x, 0.0)"
REDUCED = "    n, mean, m2 = tl.reduce((n, mean, m2), 0, welford_combine)\n    rstd = tl.rsqrt(m2 / n + eps)"

TORCH = """
def {name}(x, w, b, eps=1e-5, {knob}=None):
    return torch.nn.functional.layer_norm(x, w.shape, w, b, eps)
"""


def _torch(name, knob):
    return Mutant("torch_stand_in", "no-kernel-launched", replace=TORCH.format(name=name, knob=knob))


MUTANTS = {
    "layernorm": [
        Mutant("padding_counted", "padding-counted", (CENTRED, "centred = x - mean")),
        Mutant("masked_at_the_store_only", "padding-counted", (CENTRED, "centred = x - mean"), (STORE, STORE.replace("y,", "tl.where(mask_n, y, 0.0),"))),
        Mutant("unbiased", "unbiased", (RSTD, RSTD.replace("/ N", "/ tl.maximum(N - 1, 1)"))),
        Mutant("lost_digits", "property", (RSTD, RSTD.replace("centred * centred", "x * x").replace("/ N +", "/ N - mean * mean +"))),
        Mutant("mean_over_the_tile", "mean-over-tile", (MEAN, MEAN.replace("/ N", "/ BLOCK_N"))),
        Mutant("variance_over_the_tile", "variance-over-tile", (RSTD, RSTD.replace("/ N", "/ BLOCK_N"))),
        Mutant("not_scaled", "not-scaled", (Y, "y = centred * w + b")),
        Mutant("mask_turned_round", "squares-overflow", (CENTRED, "centred = tl.where(mask_n, 0.0, x - mean)")),
        Mutant("eps_added_to_rstd", "no-eps", (RSTD, RSTD.replace(" + eps)", ") + eps"))),
        Mutant("mean_in_half", "mean-in-half", (MEAN, f"mean = (tl.sum(x, axis=1, keep_dims=True) / N).to({HALF}).to(tl.float32)")),
        Mutant("sum_for_the_mean", "sum-for-mean", (MEAN, MEAN.replace(" / N", ""))),
        Mutant("mean_not_subtracted", "mean-not-subtracted", (Y, Y.replace("centred", "x"))),
        Mutant("rmsnorm", "rmsnorm", (CENTRED, "centred = tl.where(mask_n, x, 0.0)")),
        Mutant("mean_square_for_variance", "mean-square-for-variance", (RSTD, RSTD.replace("centred * centred", "x * x"))),
        Mutant("mean_of_magnitudes", "mean-of-magnitudes", (RSTD, RSTD.replace("centred * centred", "tl.abs(centred)"))),
        Mutant("no_weight", "no-weight", (Y, "y = centred * rstd + b")),
        Mutant("no_bias", "no-bias", (Y, "y = centred * rstd * w")),
        Mutant("bias_before_weight", "bias-before-weight", (Y, "y = (centred * rstd + b) * w")),
        Mutant("bias_in_the_factor", "bias-in-the-factor", (Y, "y = centred * rstd * (w + b)")),
        Mutant("brackets_forgotten", "only-the-mean-scaled", (Y, "y = x - mean * rstd * w + b")),
        Mutant("bias_subtracted", "bias-subtracted", (Y, "y = centred * rstd * w - b")),
        Mutant("weight_and_bias_swapped", "weight-for-bias", (Y, "y = centred * rstd * b + w")),
        Mutant("eps_of_its_own", "fixed-eps", (RSTD, RSTD.replace("eps", "1e-5"))),
        Mutant("no_eps", "no-eps", (RSTD, RSTD.replace(" + eps", ""))),
        Mutant("eps_outside_root", "eps-outside-root", (RSTD, f"rstd = 1.0 / (tl.sqrt({SQUARES} / N) + eps)")),
        Mutant("eps_before_the_mean", "eps-before-the-mean", (RSTD, f"rstd = tl.rsqrt(({SQUARES} + eps) / N)")),
        Mutant("no_root", "no-root", (RSTD, f"rstd = 1.0 / ({SQUARES} / N + eps)")),
        Mutant("root_for_its_inverse", "root-for-its-inverse", (RSTD, RSTD.replace("tl.rsqrt", "tl.sqrt"))),
        Mutant("sum_not_mean", "sum-not-mean", (RSTD, RSTD.replace(" / N", ""))),
        Mutant("row_stride_is_n", ("strided-only", "reads-outside"), (X_PTRS, X_PTRS.replace("stride_xm", "N"))),
        Mutant("column_stride_is_one", ("strided-only", "reads-outside"), (X_PTRS, X_PTRS.replace(" * stride_xn", ""))),
        Mutant("strides_swapped", ("strided-only", "reads-outside"), (X_PTRS, "x_ptrs = x_ptr + offs_m * stride_xn + offs_n * stride_xm")),
        Mutant("stride_of_x_for_y", ("strided-only", "out-of-bounds-store"), (Y_PTRS, Y_PTRS.replace("stride_ym", "stride_xm"))),
        Mutant("column_stride_of_x_for_y", ("strided-only", "out-of-bounds-store", "race"), (Y_PTRS, Y_PTRS.replace("stride_yn", "stride_xn"))),
        Mutant("always_row_zero", ("rows-moved", "rows-after-first"), (X_PTRS, X_PTRS.replace("offs_m * stride_xm", "0 * offs_m"))),
        Mutant("row_added_twice", ("row-added-twice", "reads-outside"), (X_PTRS, X_PTRS.replace("offs_m", "2 * offs_m"))),
        Mutant("every_row_to_row_zero", ("race", "unwritten-tail"), (Y_PTRS, Y_PTRS.replace("offs_m * stride_ym", "0 * offs_m"))),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race"), (STORE, STORE.replace(", mask=mask_m & mask_n", ""))),
        Mutant("no_mask_at_the_load", "reads-outside", (X_LOAD, X_LOAD.replace(", mask=mask_m & mask_n, other=0.0", ""))),
        Mutant("other_forgotten", "no-other", (X_LOAD, X_LOAD.replace(", other=0.0", "")), only="interpreter"),
        Mutant("masked_lanes_hold_one", "wrong-values", (X_LOAD, X_LOAD.replace("0.0", "1.0"))),
        Mutant("masked_lanes_as_in_softmax", ("nan", "overflow"), (X_LOAD, X_LOAD.replace("0.0", 'float("-inf")'))),
        Mutant("sums_in_half", "overflow", (X_LOAD, X_LOAD.replace(".to(tl.float32)", ""))),
        Mutant("rounded_before_the_weight", "rounded-twice", (Y, f"y = (centred * rstd).to({HALF}).to(tl.float32) * w + b")),
        Mutant("root_stored_as_rstd", "property", (RSTD, RSTD.replace("rstd = tl.rsqrt", "rstd = tl.sqrt")), (Y, "y = centred / rstd * w + b")),
        Mutant("variance_stored_as_rstd", "property", (RSTD, f"rstd = {SQUARES} / N"), (Y, "y = centred * tl.rsqrt(rstd + eps) * w + b")),
        Mutant("mean_stored_is_another", "property", (Y, Y + "\n    mean = 0.0 * mean")),
        Mutant("stats_swapped", "property", (STORE_MEAN, STORE_MEAN.replace("m, mean", "m, rstd")), (STORE_RSTD, STORE_RSTD.replace("m, rstd", "m, mean"))),
        Mutant("stats_not_stored", "property", (f"    {STORE_MEAN}\n    {STORE_RSTD}\n", "")),
        Mutant("stats_all_in_one_place", "race", (STORE_MEAN, STORE_MEAN.replace("+ offs_m", "+ 0 * offs_m"))),
        Mutant("sums_of_columns", ("raised", "does-not-compile", "wrong-values", "mean-of-columns"), (MEAN, MEAN.replace("axis=1", "axis=0"))),
        Mutant("sums_lie_down", ("raised", "does-not-compile", "wrong-values"), (MEAN, MEAN.replace(", keep_dims=True", ""))),
        Mutant("mean_of_all_rows", "rows-share-a-mean", (MEAN, "mean = tl.sum(x) / (N * BLOCK_M)")),
        Mutant("sum_of_all_rows", "rows-share-a-sum", (MEAN, MEAN.replace(", axis=1, keep_dims=True", ""))),
        Mutant("one_sum_for_all_rows", "rows-share-both-sums", (MEAN, MEAN.replace(", axis=1, keep_dims=True", "")), (RSTD, RSTD.replace(", axis=1, keep_dims=True", ""))),
        Mutant("both_over_the_tile", "both-over-tile", (MEAN, MEAN.replace("/ N", "/ BLOCK_N")), (RSTD, RSTD.replace("/ N", "/ BLOCK_N"))),
        Mutant("mean_subtracted_twice", "mean-subtracted-twice", (Y, "y = (centred - mean) * rstd * w + b")),
        Mutant("padding_holds_eps", "off-by-row", (CENTRED, "centred = tl.where(mask_n, x - mean, eps)")),
        Mutant("mask_by_the_values", "zeros-as-padding", (CENTRED, "centred = tl.where(x == 0, 0.0, x - mean)")),
        Mutant("statistics_in_half", "property", (STORE_MEAN, STORE_MEAN.replace("mean, mask", f"mean.to({HALF}), mask")), (STORE_RSTD, STORE_RSTD.replace("rstd, mask", f"rstd.to({HALF}), mask"))),
        Mutant("no_mask_for_the_mean", "out-of-bounds-store", (STORE_MEAN, STORE_MEAN.replace(", mask=mask_m", ""))),
        Mutant("rows_past_the_end_loaded", "reads-outside", (X_LOAD, X_LOAD.replace("mask_m & mask_n", "mask_n"))),
        Mutant("rows_past_the_end_stored", ("out-of-bounds-store", "race"), (STORE, STORE.replace("mask_m & mask_n", "mask_n"))),
        Mutant("columns_past_the_end_loaded", "reads-outside", (X_LOAD, X_LOAD.replace("mask_m & mask_n", "mask_m"))),
        Mutant("statistics_past_the_end", ("out-of-bounds-store", "property"), (STORE_RSTD, STORE_RSTD.replace(", mask=mask_m", ""))),
        Mutant("centred_in_rows_alone", "padding-counted", (CENTRED, CENTRED.replace("mask_n", "mask_m"))),
        Mutant("mask_one_short", ("unwritten", "unwritten-tail", "wrong-values"), (STORE, STORE.replace("& mask_n", "& (offs_n < N - 1)"))),
        Mutant("float32_result", ("wrong-dtype",), ("y = torch.empty(x.shape, dtype=x.dtype,", "y = torch.empty(x.shape, dtype=torch.float32,")),
        Mutant("rows_returned", "wrong-shape", ("return (y, mean, rstd) if stats else y", "return (y, mean, rstd) if stats else y_rows")),
        Mutant("no_check_of_the_vectors", "should-raise", ("    require_vectors(x, w, b)\n", "")),
        _torch("layernorm", "stats"),
    ],
    "welford_combine": [
        Mutant("distance_from_the_merged_mean", "property", ("m2 = m2_a + m2_b + delta * delta * n_a * share_b", "m2 = m2_a + m2_b + delta * (mean_b - mean) * n_b")),
        Mutant("delta_term_subtracted", "delta-term-subtracted", ("m2_a + m2_b + delta * delta", "m2_a + m2_b - delta * delta")),
        Mutant("mean_of_a_forgotten", "mean-of-a-forgotten", ("mean = mean_a + delta * share_b", "mean = delta * share_b")),
        Mutant("share_over_n_a", "share-over-n-a", ("n_b / tl.maximum(n, 1.0)", "n_b / tl.maximum(n_a, 1.0)")),
        Mutant("large_squares", "property", ("m2 = m2_a + m2_b + delta * delta * n_a * share_b", "m2 = m2_a + n_a * mean_a * mean_a + m2_b + n_b * mean_b * mean_b - n * mean * mean")),
        Mutant("count_of_one", "count-of-1", ("    n = n_a + n_b\n", "    n = tl.maximum(n_a + n_b, 1.0)\n")),
        Mutant("no_guard", "two-empty-parts", ("n_b / tl.maximum(n, 1.0)", "n_b / n")),
        Mutant("guard_adds_one", "divided-by-n-plus-1", ("n_b / tl.maximum(n, 1.0)", "n_b / (n + 1.0)")),
        Mutant("guard_on_b_alone", ("two-empty-parts", "nan", "wrong-values"), ("n_b / tl.maximum(n, 1.0)", "n_b / tl.where(n_b == 0, n_a, n)")),
        Mutant("guard_in_the_mean_alone", "two-empty-parts", ("delta * delta * n_a * share_b", "delta * delta * n_a * n_b / n")),
        Mutant("delta_not_squared", "delta-not-squared", ("delta * delta * n_a", "delta * n_a")),
        Mutant("no_delta_term", "no-delta-term", (" + delta * delta * n_a * share_b", "")),
        Mutant("delta_term_without_n_a", "delta-term-without-n-a", ("delta * delta * n_a * share_b", "delta * delta * share_b")),
        Mutant("delta_term_not_divided", "delta-term-not-divided", ("delta * delta * n_a * share_b", "delta * delta * n_a * n_b")),
        Mutant("delta_term_with_n", "delta-term-with-n", ("n_a * share_b", "n * share_b")),
        Mutant("m2_averaged", "m2-averaged", ("m2 = m2_a + m2_b", "m2 = (n_a * m2_a + n_b * m2_b) / tl.maximum(n, 1.0)")),
        Mutant("weighted_mean_unguarded", "two-empty-parts", ("mean = mean_a + delta * share_b", "mean = (n_a * mean_a + n_b * mean_b) / n")),
        Mutant("guard_by_a_small_number", "wrong-values", ("tl.maximum(n, 1.0)", "(n + 1e-5)")),
        Mutant("two_shares", "two-shares", ("n_a * share_b", "n_a / tl.maximum(n, 1.0) * share_b")),
        Mutant("m2_divided", "m2-divided", ("    return n, mean, m2", "    return n, mean, m2 / tl.maximum(n, 1.0)")),
        Mutant("mean_of_means", "mean-of-means", ("mean = mean_a + delta * share_b", "mean = mean_a + delta * 0.5")),
        Mutant("share_of_the_other", "share-of-the-other", ("mean = mean_a + delta * share_b", "mean = mean_a + delta * n_a / tl.maximum(n, 1.0)")),
        Mutant("n_b_twice", "delta-term-with-n-b", ("delta * delta * n_a", "delta * delta * n_b")),
        Mutant("minimum_for_maximum", "divided-by-the-minimum", ("tl.maximum(n, 1.0)", "tl.minimum(n, 1.0)")),
        Mutant("mean_comes_first", "mean-comes-first", ("    return n, mean, m2", "    return mean, m2, n")),
        Mutant("delta_the_wrong_way", "delta-the-wrong-way", ("delta = mean_b - mean_a", "delta = mean_a - mean_b")),
        Mutant("from_b", "from-mean-b", ("mean = mean_a + delta", "mean = mean_b + delta")),
        Mutant("mean_of_a", "mean-stays", ("mean = mean_a + delta * share_b", "mean = mean_a")),
        Mutant("m2_of_a_lost", "m2-of-a-lost", ("m2 = m2_a + m2_b", "m2 = m2_b")),
        Mutant("m2_of_b_lost", "m2-of-b-lost", ("m2 = m2_a + m2_b", "m2 = m2_a")),
        Mutant("count_of_b_lost", "count-of-a", ("    return n, mean, m2", "    return n_a, mean, m2")),
        Mutant("results_swapped", "results-swapped", ("    return n, mean, m2", "    return n, m2, mean")),
        Mutant("two_results", ("raised", "does-not-compile"), ("    return n, mean, m2", "    return mean, m2")),
        Mutant("an_if_for_tiles", ("truth-of-a-tile", "raised", "does-not-compile", "wrong-values", "two-empty-parts", "constant-summand"), ("    delta = ", "    if n == 0:\n        n = n + 1.0\n    delta = ")),
        Mutant("n_minus_one", ("wrong-values", "constant-summand"), ("n = n_a + n_b", "n = n_a + n_b - 1.0")),
    ],
    "layernorm_welford": [
        Mutant("count_so_far", "count-so-far", (COUNT, "n_tile = tl.minimum(N, start + BLOCK_N)")),
        Mutant("counts_what_is_not_zero", "zeros-as-padding", (COUNT, "n_tile = tl.sum((x != 0).to(tl.float32), axis=0)")),
        Mutant("count_in_half", "count-in-half", (COUNT, COUNT.replace("float32", "float16"))),
        Mutant("averaged_in_turn", "averaged-in-turn", (MERGE, "n, mean, m2 = n + n_tile, (mean + mean_tile) / 2, m2 + m2_tile")),
        Mutant("count_not_kept", "count-not-kept", (MERGE, MERGE.replace("n, mean, m2 =", "_, mean, m2 ="))),
        Mutant(
            "the_kernel_of_task_1",
            ("other-programs", "tile-too-large"),
            replace="def layernorm_welford(x, w, b, eps=1e-5, block=4096):\n    return layernorm(x, w, b, eps)\n",
        ),
        Mutant(
            "lost_digits",
            "property",
            (MERGE, "n += n_tile\n        mean += tl.sum(x, axis=0) / N\n        m2 += tl.sum(x * x, axis=0)"),
            ("rstd = tl.rsqrt(m2 / N + eps)", "rstd = tl.rsqrt(m2 / N - mean * mean + eps)"),
        ),
        Mutant("padding_counted", "padding-counted", (APART, "centred = x - mean_tile")),
        Mutant("every_tile_is_full", "every-tile-full", (COUNT, "n_tile = BLOCK_N * 1.0")),
        Mutant("count_of_the_row", "count-of-the-row", (COUNT, "n_tile = N * 1.0")),
        Mutant("mean_over_the_tile", "mean-over-tile", (TILE_MEAN, TILE_MEAN.replace("/ n_tile", "/ BLOCK_N"))),
        Mutant("mean_over_the_row", "mean-over-row", (TILE_MEAN, TILE_MEAN.replace("/ n_tile", "/ N"))),
        Mutant("variance_merged", "variance-for-m2", (TILE_M2, TILE_M2 + " / n_tile")),
        Mutant("squares_of_x", "m2-of-x", (TILE_M2, "m2_tile = tl.sum(x * x, axis=0)")),
        Mutant("m2_summed", ("m2-summed", "averages"), (MERGE, "mean += n_tile * mean_tile / N\n        n += n_tile\n        m2 += m2_tile")),
        Mutant("all_summed", ("means-summed", "averages"), (MERGE, "mean += mean_tile\n        n += n_tile\n        m2 += m2_tile")),
        Mutant("sides_mixed", ("wrong-values", "nan", "overflow"), (MERGE, "n, mean, m2 = welford_combine(n, n_tile, mean, mean_tile, m2, m2_tile)")),
        Mutant("result_dropped", "nothing-merged", (MERGE, MERGE.replace("n, mean, m2 = ", ""))),
        Mutant("only_the_last_tile", "last-tile-only", (MERGE, "n, mean, m2 = n_tile, mean_tile, m2_tile")),
        Mutant("first_tile_again", ("first-tile-again", "reads-outside"), (LOOP_PTRS, "x_ptrs = x_row_ptr + tl.arange(0, BLOCK_N) * stride_xn")),
        Mutant("mean_of_the_last_tile", ("mean-of-the-last-tile", "raised"), (SECOND_Y, SECOND_Y.replace("mean", "mean_tile")), on_gpu=("does-not-compile",)),
        Mutant("mask_of_the_first_tile", "reads-outside", (LOOP_PTRS, f"mask_n = {FIRST_OFFS} < N\n        {LOOP_PTRS}")),
        Mutant("no_mask_at_the_load", "reads-outside", ("tl.load(x_ptrs, mask=mask_n, other=0.0)", "tl.load(x_ptrs)")),
        Mutant("other_forgotten", "no-other", ("tl.load(x_ptrs, mask=mask_n, other=0.0)", "tl.load(x_ptrs, mask=mask_n)"), only="interpreter"),
        Mutant("masked_lanes_hold_one", "wrong-values", ("tl.load(x_ptrs, mask=mask_n, other=0.0)", "tl.load(x_ptrs, mask=mask_n, other=1.0)")),
        Mutant("column_stride_is_one", ("strided-only", "reads-outside"), (LOOP_PTRS, "x_ptrs = x_row_ptr + offs_n")),
        Mutant("row_stride_is_n", ("strided-only", "reads-outside"), (LOOP_PTRS, "x_ptrs = x_ptr + pid_m * N + offs_n * stride_xn")),
        Mutant("row_added_twice", ("row-added-twice", "reads-outside"), (LOOP_PTRS, "x_ptrs = x_row_ptr + pid_m * stride_xm + offs_n * stride_xn")),
        Mutant("row_added_twice_in_both", ("row-added-twice", "reads-outside"), (LOOP_PTRS, LOOP_PTRS.replace("x_row_ptr", "x_row_ptr + pid_m * stride_xm")), (SECOND_X, SECOND_X.replace("x_row_ptr", "x_row_ptr + pid_m * stride_xm"))),
        Mutant("sums_in_half", "sums-in-half", ("tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)", "tl.load(x_ptrs, mask=mask_n, other=0.0)")),
        Mutant("in_half", ("squares-overflow", "overflow", "nan", "wrong-values"), ("tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)", "tl.load(x_ptrs, mask=mask_n, other=0.0)"), (TILE_M2, f"m2_tile = tl.sum((centred * centred).to({HALF}), axis=0).to(tl.float32)")),
        Mutant("not_scaled", "not-scaled", (SECOND_Y, "y = (x - mean) * w + b")),
        Mutant("tile_by_tile", ("tile-by-tile", "raised", "does-not-compile"), (SECOND_Y, "mean_t = tl.sum(tl.where(mask_n, x, 0.0), axis=0) / tl.sum(mask_n.to(tl.float32), axis=0)\n        apart = tl.where(mask_n, x - mean_t, 0.0)\n        var_t = tl.sum(apart * apart, axis=0) / tl.sum(mask_n.to(tl.float32), axis=0)\n        y = (x - mean_t) * tl.rsqrt(var_t + eps) * w + b")),
        Mutant("no_weight", "no-weight", (SECOND_Y, "y = (x - mean) * rstd + b")),
        Mutant("no_bias", "no-bias", (SECOND_Y, "y = (x - mean) * rstd * w")),
        Mutant("bias_before_weight", "bias-before-weight", (SECOND_Y, "y = ((x - mean) * rstd + b) * w")),
        Mutant("bias_in_the_factor", "bias-in-the-factor", (SECOND_Y, "y = (x - mean) * rstd * (w + b)")),
        Mutant("brackets_forgotten", "only-the-mean-scaled", (SECOND_Y, "y = x - mean * rstd * w + b")),
        Mutant("count_to_the_end", "count-to-the-end", (COUNT, "n_tile = (N - start) * 1.0")),
        Mutant("centred_by_the_mean_so_far", "centred-by-the-mean-so-far", (APART, APART.replace("mean_tile", "mean"))),
        Mutant("mean_not_subtracted", "mean-not-subtracted", (SECOND_Y, "y = x * rstd * w + b")),
        Mutant("divided_by_m2", ("wrong-values", "off-by-row"), (SECOND_Y, "y = (x - mean) / m2 * w + b")),
        Mutant("first_tile_of_w_and_b", "first-weights", ("tl.load(w_ptr + offs_n", "tl.load(w_ptr + tl.arange(0, BLOCK_N)"), ("tl.load(b_ptr + offs_n", "tl.load(b_ptr + tl.arange(0, BLOCK_N)")),
        Mutant("first_tile_of_b", "first-biases", ("tl.load(b_ptr + offs_n", "tl.load(b_ptr + tl.arange(0, BLOCK_N)")),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race"), (SECOND_STORE, SECOND_STORE.replace(", mask=mask_n", ""))),
        Mutant("mask_of_the_first_tile_in_walk_two", ("out-of-bounds-store", "reads-outside"), (SECOND_WALK, SECOND_WALK.replace("offs_n < N", "tl.arange(0, BLOCK_N) < N"))),
        Mutant("column_stride_of_x_for_y", ("strided-only", "out-of-bounds-store", "race"), (SECOND_STORE, SECOND_STORE.replace("stride_yn", "stride_xn"))),
        Mutant("row_number_again_at_the_store", ("out-of-bounds-store", "unwritten", "unwritten-tail", "race"), (SECOND_STORE, SECOND_STORE.replace("y_row_ptr", "y_row_ptr + pid_m * stride_ym"))),
        _torch("layernorm_welford", "block"),
    ],
}

VARIANTS = {
    "layernorm": [
        Variant("four_warps", ("num_warps=max(1, BLOCK_M * BLOCK_N // 1024)", "num_warps=4")),
        Variant("sqrt_and_divide", (RSTD, f"rstd = 1.0 / tl.sqrt({SQUARES} / N + eps)")),
        Variant("wider_tile", ("BLOCK_N = triton.next_power_of_2(N)", "BLOCK_N = 2 * triton.next_power_of_2(N)")),
        Variant("mask_by_product", (CENTRED, "centred = (x - mean) * mask_n.to(tl.float32)")),
        Variant("mask_the_squares", (CENTRED, "centred = x - mean"), (RSTD, RSTD.replace("centred * centred", "tl.where(mask_n, centred * centred, 0.0)"))),
        Variant("cast_before_the_store", (STORE, STORE.replace("y,", "y.to(y_ptr.dtype.element_ty),"))),
        Variant("hint_to_the_cache", (X_LOAD, X_LOAD.replace("other=0.0", 'other=0.0, eviction_policy="evict_last"'))),
    ],
    "welford_combine": [
        Variant("product_before_the_division", ("delta * delta * n_a * share_b", "delta * delta * (n_a * n_b) / tl.maximum(n, 1.0)")),
        Variant("where_before_the_division", ("n_b / tl.maximum(n, 1.0)", "n_b / tl.where(n == 0, 1.0, n)")),
        Variant("where_after_the_division", ("n_b / tl.maximum(n, 1.0)", "tl.where(n > 0, n_b / n, 0.0)")),
        Variant("weighted_mean", ("mean = mean_a + delta * share_b", "mean = (n_a * mean_a + n_b * mean_b) / tl.maximum(n, 1.0)")),
        Variant("maximum_with_a_small_number", ("tl.maximum(n, 1.0)", "tl.maximum(n, 1e-6)")),
        Variant("from_the_other_side", ("mean = mean_a + delta * share_b", "mean = tl.where(n_b > 0, mean_b - delta * (1.0 - share_b), mean_a)")),
    ],
    "layernorm_welford": [
        Variant("a_part_in_each_lane", (START, LANES), (COUNT + "\n        " + TILE_MEAN + "\n        " + APART + "\n        " + TILE_M2 + "\n        " + MERGE, BY_LANES), ("    rstd = tl.rsqrt(m2 / N + eps)", REDUCED)),
        Variant("count_by_arithmetic", (COUNT, "n_tile = tl.minimum(N - start, BLOCK_N) * 1.0")),
        Variant("four_warps", ("num_warps=warps_for(BLOCK_N)", "num_warps=4")),
        Variant("divided_by_the_count", ("tl.rsqrt(m2 / N + eps)", "tl.rsqrt(m2 / n + eps)")),
        Variant("where_for_the_count", (COUNT, "n_tile = tl.sum(tl.where(mask_n, 1.0, 0.0), axis=0)")),
        Variant("tile_first", (MERGE, "n, mean, m2 = welford_combine(n_tile, mean_tile, m2_tile, n, mean, m2)")),
        Variant(
            "two_walks_for_the_statistics",
            ("    rstd = tl.rsqrt(m2 / N + eps)\n", "    squares = tl.zeros([BLOCK_N], dtype=tl.float32)\n    for start in range(0, N, BLOCK_N):\n        offs_n = start + tl.arange(0, BLOCK_N)\n        x = tl.load(x_row_ptr + offs_n * stride_xn, mask=offs_n < N, other=0.0)\n        apart = tl.where(offs_n < N, x.to(tl.float32) - mean, 0.0)\n        squares += apart * apart\n    rstd = tl.rsqrt(tl.sum(squares, axis=0) / N + eps)\n"),
        ),
    ],
}

ONE_AXIS = "a tile of one dimension has one axis"
FLOAT32 = "float32 all the same: the other operand is"
LAST_STRIDE = "the wrapper makes a contiguous result: its last stride is 1"
EQUIVALENT = {
    "welford_combine": {
        "combine_kernel[(1,)](a, b, out, P, BLOCK_P=BLOCK_P) => combine_kernel[(1,)](b, a, out, P, BLOCK_P=BLOCK_P)": "merging is commutative",
    },
    "layernorm_welford": {
        "n_tile = tl.sum(mask_n.to(tl.float32), axis=0) => n_tile = tl.sum(mask_n.to(tl.float32))": ONE_AXIS,
        "m2_tile = tl.sum(centred * centred, axis=0) => m2_tile = tl.sum(centred * centred)": ONE_AXIS,
        "mean_tile = tl.sum(x, axis=0) / n_tile => mean_tile = tl.sum(x) / n_tile": ONE_AXIS,
        "n_tile = tl.sum(mask_n.to(tl.float32), axis=0) => n_tile = tl.sum(mask_n, axis=0)": "tl.sum counts true lanes in int32, and what is computed with it is float32",
        "x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n).to(tl.float32) => x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n)": FLOAT32,
        "w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n)": FLOAT32,
        "b = tl.load(b_ptr + offs_n, mask=mask_n).to(tl.float32) => b = tl.load(b_ptr + offs_n, mask=mask_n)": FLOAT32,
        "tl.store(y_row_ptr + offs_n * stride_yn, y, mask=mask_n) => tl.store(y_row_ptr + offs_n, y, mask=mask_n)": LAST_STRIDE,
    },
}
