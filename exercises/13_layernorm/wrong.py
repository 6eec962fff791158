"""Wrong answers of 13_layernorm with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

CENTRED = "centred = tl.where(mask_n, x - mean, 0.0)"
STORE = "    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask_n)\n"
Y = "y = centred * rstd * w + b"
RSTD = "rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / N + eps)"
X_LOAD = "    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n"
ROW_LOAD = X_LOAD.replace("other=0.0", "other=0.0, eviction_policy=KEEP")
LOOP_TILE = "centred = tl.where(mask_n, x - mean_tile, 0.0)"
LOOP_MERGE = "n, mean, m2 = welford_combine(n, mean, m2, n_tile, mean_tile, m2_tile)"
LOOP_Y = "y = (x - mean) * rstd * w + b"
REDUCE = "n, mean, m2 = tl.reduce((n, mean, m2), 0, welford_combine)"
ON_PAPER = """
        n += tl.sum(mask_n.to(tl.float32), axis=0)
        mean += tl.sum(x, axis=0) / N
        m2 += tl.sum(x * x, axis=0)
"""
DX = "dx = rstd * (wdy - x_hat * mean_x_hat_wdy - mean_wdy)"
RMS_DX = "dx = rstd * (wdy - x_hat * mean_x_hat_wdy)"
TORCH = """
def {name}(x, w, b, eps=1e-5, {knob}=None):
    return torch.nn.functional.layer_norm(x, w.shape, w, b, eps)
"""


def _torch(name, knob):
    return Mutant("torch_stand_in", "no-kernel-launched", replace=TORCH.format(name=name, knob=knob))


MUTANTS = {
    "layernorm": [
        Mutant("padding_counted", "padding-counted", (CENTRED, "centred = x - mean")),
        Mutant("unbiased", "unbiased", ("axis=0) / N + eps)", "axis=0) / tl.maximum(N - 1, 1) + eps)")),
        Mutant("lost_digits", "property", (RSTD, "rstd = tl.rsqrt(tl.sum(x * x, axis=0) / N - mean * mean + eps)")),
        Mutant("mean_over_the_tile", ("wrong-values", "rmsnorm"), ("mean = tl.sum(x, axis=0) / N", "mean = tl.sum(x, axis=0) / BLOCK_N")),
        Mutant("variance_over_the_tile", ("wrong-values", "constant-factor"), ("axis=0) / N + eps)", "axis=0) / BLOCK_N + eps)")),
        Mutant("mean_not_subtracted", "mean-not-subtracted", (Y, Y.replace("centred", "x"))),
        Mutant("rmsnorm", "rmsnorm", (CENTRED, "centred = tl.where(mask_n, x, 0.0)")),
        Mutant("mean_square_for_variance", "mean-square-for-variance", ("tl.sum(centred * centred", "tl.sum(x * x")),
        Mutant("no_weight", "no-weight", (Y, "y = centred * rstd + b")),
        Mutant("no_bias", "no-bias", (Y, "y = centred * rstd * w")),
        Mutant("bias_before_weight", "bias-before-weight", (Y, "y = (centred * rstd + b) * w")),
        Mutant("no_eps", ("no-eps", "nan"), ("axis=0) / N + eps)", "axis=0) / N)")),
        Mutant("eps_outside_root", "eps-outside-root", (RSTD, "rstd = 1.0 / (tl.sqrt(tl.sum(centred * centred, axis=0) / N) + eps)")),
        Mutant("no_root", "no-root", (RSTD, "rstd = 1.0 / (tl.sum(centred * centred, axis=0) / N + eps)")),
        Mutant("sum_not_mean", "sum-not-mean", ("axis=0) / N + eps)", "axis=0) + eps)")),
        Mutant("row_stride_is_n", "strided-only", ("row * stride_xm", "row * N")),
        Mutant("column_stride_is_one", ("strided-only", "reads-outside"), ("offs_n * stride_xn", "offs_n")),
        Mutant("stride_of_x_for_y", ("strided-only", "out-of-bounds-store"), ("row * stride_ym", "row * stride_xm")),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race"), (STORE, STORE.replace(", mask=mask_n", ""))),
        Mutant("no_mask_at_the_load", "reads-outside", (ROW_LOAD, ROW_LOAD.replace("x_ptrs, mask=mask_n, other=0.0", "x_ptrs"))),
        Mutant("masked_lanes_hold_one", ("wrong-values", "constant-factor"), (ROW_LOAD, ROW_LOAD.replace("other=0.0", "other=1.0"))),
        Mutant("sums_in_half", ("wrong-values", "squares-overflow", "overflow", "nan"), (ROW_LOAD, ROW_LOAD.replace(".to(tl.float32)", ""))),
        Mutant("float32_result", ("wrong-dtype", "torch-compute"), ("    y = y_rows.view(x.shape)\n", "    y = y_rows.view(x.shape).float()\n")),
        _torch("layernorm", "stats"),
    ],
    "welford_combine": [
        Mutant("empty_is_nan", "nan", ("n_b / tl.maximum(n, 1.0)", "n_b / n")),
        Mutant("delta_not_squared", "delta-not-squared", ("delta * delta * n_a", "delta * n_a")),
        Mutant("no_delta_term", "no-delta-term", (" + delta * delta * n_a * share_b", "")),
        Mutant("mean_of_means", "mean-of-means", ("mean = mean_a + delta * share_b", "mean = mean_a + delta * 0.5")),
        Mutant("share_of_the_other", "share-of-the-other", ("mean = mean_a + delta * share_b", "mean = mean_a + delta * n_a / tl.maximum(n, 1.0)")),
        Mutant("delta_the_wrong_way", "wrong-values", ("delta = mean_b - mean_a", "delta = mean_a - mean_b")),
        Mutant("m2_of_a_lost", "wrong-values", ("m2 = m2_a + m2_b", "m2 = m2_b")),
        Mutant("m2_of_b_lost", "wrong-values", ("m2 = m2_a + m2_b", "m2 = m2_a")),
        Mutant("count_of_b_lost", "wrong-values", ("    return n, mean, m2", "    return n_a, mean, m2")),
        Mutant("no_division_by_n", "wrong-values", ("delta * delta * n_a * share_b", "delta * delta * n_a * n_b")),
        Mutant("results_swapped", "wrong-values", ("    return n, mean, m2", "    return n, m2, mean")),
        Mutant("n_minus_one", "wrong-values", ("n = n_a + n_b", "n = n_a + n_b - 1.0")),
    ],
    "layernorm_loop": [
        Mutant(
            "the_kernel_of_task_1",
            "tile-too-large",
            replace="def layernorm_loop(x, w, b, eps=1e-5, block=4096):\n    return layernorm(x, w, b, eps)\n",
        ),
        Mutant("lost_digits", "property", ("        n_tile = tl.sum(mask_n.to(tl.float32), axis=0)\n        mean_tile = tl.sum(x, axis=0) / n_tile\n        centred = tl.where(mask_n, x - mean_tile, 0.0)\n        m2_tile = tl.sum(centred * centred, axis=0)\n        " + LOOP_MERGE, ON_PAPER.strip("\n")), ("rstd = tl.rsqrt(m2 / N + eps)", "rstd = tl.rsqrt(m2 / N - mean * mean + eps)")),
        Mutant("padding_counted", ("wrong-values", "padding-counted"), (LOOP_TILE, "centred = x - mean_tile")),
        Mutant("every_tile_is_full", ("wrong-values", "constant-factor"), ("n_tile = tl.sum(mask_n.to(tl.float32), axis=0)", "n_tile = BLOCK_N * 1.0")),
        Mutant("only_the_last_tile", ("wrong-values", "reads-outside"), (LOOP_MERGE, "n, mean, m2 = n_tile, mean_tile, m2_tile")),
        Mutant("tiles_not_merged", "wrong-values", (LOOP_MERGE, "m2 += m2_tile\n        mean += mean_tile * n_tile / N")),
        Mutant("no_weight", "no-weight", (LOOP_Y, "y = (x - mean) * rstd + b")),
        Mutant("no_bias", "no-bias", (LOOP_Y, "y = (x - mean) * rstd * w")),
        Mutant("mean_not_subtracted", "mean-not-subtracted", (LOOP_Y, "y = x * rstd * w + b")),
        Mutant("mean_of_the_last_tile", ("wrong-values", "does-not-compile"), (LOOP_Y, "y = (x - mean_tile) * rstd * w + b")),
        Mutant("no_eps", ("no-eps", "nan"), ("m2 / N + eps", "m2 / N")),
        Mutant("unbiased", ("unbiased", "nan"), ("m2 / N + eps", "m2 / (N - 1) + eps")),
        Mutant("sum_not_mean", "sum-not-mean", ("m2 / N + eps", "m2 + eps")),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race"), ("        tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask_n)", "        tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty))")),
        Mutant("mask_of_the_first_tile", ("out-of-bounds-store", "reads-outside"), ("        mask_n = offs_n < N\n        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn\n        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n        w", "        mask_n = offs < N\n        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn\n        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n        w")),
        Mutant("first_tile_of_w", ("wrong-values", "wrong-tail"), ("w_ptr + offs_n", "w_ptr + offs")),
        Mutant("row_stride_is_n", ("strided-only", "reads-outside"), ("        x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn\n        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n        n_tile", "        x_ptrs = x_ptr + row * N + offs_n * stride_xn\n        x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n        n_tile")),
        _torch("layernorm_loop", "block"),
    ],
    "layernorm_welford": [
        Mutant("padding_counted", ("wrong-values", "padding-counted"), (CENTRED, "centred = x - mean")),
        Mutant("pieces_all_full", ("wrong-values", "constant-factor"), ("n = tl.sum(mask_n.to(tl.float32), axis=0)", "n = piece_size * 1.0")),
        Mutant("empty_piece_is_nan", "nan", ("tl.sum(x, axis=0) / tl.maximum(n, 1.0)", "tl.sum(x, axis=0) / n")),
        Mutant("all_pieces_in_one_place", ("race", "reads-outside", "nan"), ("tl.store(mean_ptr + pid, mean)", "tl.store(mean_ptr + row, mean)")),
        Mutant("m2_never_stored", ("nan", "reads-outside"), ("    tl.store(m2_ptr + pid, tl.sum(centred * centred, axis=0))\n", "")),
        Mutant("variance_for_m2", ("wrong-values", "constant-factor"), ("tl.store(m2_ptr + pid, tl.sum(centred * centred, axis=0))", "tl.store(m2_ptr + pid, tl.sum(centred * centred, axis=0) / tl.maximum(n, 1.0))")),
        Mutant("sums_of_three", ("wrong-values", "constant-factor"), (REDUCE, "m2 = tl.sum(m2, axis=0)\n    mean = tl.sum(n * mean, axis=0) / tl.sum(n, axis=0)\n    n = tl.sum(n, axis=0)")),
        Mutant("mean_of_means", "wrong-values", ("tl.store(row_mean_ptr + row, mean)", "tl.store(row_mean_ptr + row, tl.sum(tl.load(mean_ptr + places, mask=mask_s, other=0.0), axis=0) / num_splits)")),
        Mutant("masked_parts_hold_one", ("wrong-values", "constant-factor"), ("n = tl.load(n_ptr + places, mask=mask_s, other=0.0)", "n = tl.load(n_ptr + places, mask=mask_s, other=1.0)")),
        Mutant("no_mask_on_the_parts", ("reads-outside", "nan"), ("m2 = tl.load(m2_ptr + places, mask=mask_s, other=0.0)", "m2 = tl.load(m2_ptr + places)")),
        Mutant("unbiased", ("unbiased", "nan", "wrong-values"), ("tl.rsqrt(m2 / n + eps)", "tl.rsqrt(m2 / (n - 1) + eps)")),
        Mutant("no_eps", ("no-eps", "nan"), ("tl.rsqrt(m2 / n + eps)", "tl.rsqrt(m2 / n)")),
        Mutant("sum_not_mean", "sum-not-mean", ("tl.rsqrt(m2 / n + eps)", "tl.rsqrt(m2 + eps)")),
        Mutant("variance_for_rstd", "wrong-values", ("tl.rsqrt(m2 / n + eps)", "m2 / n + eps")),
        Mutant("row_stride_is_n", ("strided-only", "reads-outside"), ("    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn\n" + X_LOAD + "\n    n = ", "    x_ptrs = x_ptr + row * N + offs_n * stride_xn\n" + X_LOAD + "\n    n = ")),
        Mutant("no_mask_at_the_load", "reads-outside", (X_LOAD + "\n    n = ", X_LOAD.replace("x_ptrs, mask=mask_n, other=0.0", "x_ptrs") + "\n    n = ")),
        Mutant("one_launch_missing", ("nan", "reads-outside", "wrong-launch-count"), ("    layernorm_merge_kernel[(M,)](\n        n, mean, m2, row_mean, row_rstd, num_splits, eps,\n        BLOCK_S=triton.next_power_of_2(num_splits), num_warps=1,\n    )\n", "")),
        _torch("layernorm_welford", "num_splits"),
    ],
    "layernorm_split": [
        Mutant("m2_of_the_next_row", ("nan", "reads-outside", "wrong-values"), ("places = row * num_splits + offs_s", "places = row * BLOCK_S + offs_s")),
        Mutant("no_delta_term", "wrong-values", ("m2_s + n_s * delta * delta", "m2_s")),
        Mutant("mean_of_means", "wrong-values", ("tl.sum(n_s * mean_s, axis=0) / N", "tl.sum(mean_s, axis=0) / num_splits")),
        Mutant("no_bias", "no-bias", (" * w + b\n", " * w\n")),
        Mutant("sum_not_mean", "sum-not-mean", ("m2 / N + eps", "m2 + eps")),
    ],
    "layernorm_backward": [
        Mutant("mean_term_missing", "wrong-values", (DX, "dx = rstd * (wdy - x_hat * mean_x_hat_wdy)")),
        Mutant("projection_missing", "wrong-values", (DX, "dx = rstd * (wdy - mean_wdy)")),
        Mutant("no_rstd", ("wrong-values", "constant-factor"), (DX, DX.replace("rstd * ", ""))),
        Mutant("weight_missing", "wrong-values", ("wdy = w * dy", "wdy = dy")),
        Mutant("last_row_only", "wrong-values", ("dw += dy * x_hat", "dw = dy * x_hat")),
        Mutant("dw_of_x", "wrong-values", ("dw += dy * x_hat", "dw += dy * x")),
        Mutant("db_of_wdy", "wrong-values", ("db += dy", "db += wdy")),
        Mutant("means_over_the_tile", "wrong-values", ("mean_wdy = tl.sum(wdy, axis=0) / N", "mean_wdy = tl.sum(wdy, axis=0) / BLOCK_N")),
        Mutant("stride_of_x_for_dy", ("strided-only", "reads-outside"), ("row * stride_dym", "row * stride_xm")),
    ],
    "rmsnorm_backward": [
        Mutant("projection_missing", "wrong-values", (RMS_DX, "dx = rstd * wdy")),
        Mutant("weight_missing", "wrong-values", ("wdy = w * dy", "wdy = dy")),
        Mutant("no_eps", ("wrong-values", "nan"), ("/ N + eps", "/ N")),
        Mutant("last_row_only", "wrong-values", ("dw += dy * x_hat", "dw = dy * x_hat")),
        Mutant("dw_of_x", "wrong-values", ("dw += dy * x_hat", "dw += dy * x")),
        Mutant("dw_of_wdy", "wrong-values", ("dw += dy * x_hat", "dw += wdy * x_hat")),
        Mutant("sum_not_mean", "wrong-values", ("mean_x_hat_wdy = tl.sum(x_hat * wdy, axis=0) / N", "mean_x_hat_wdy = tl.sum(x_hat * wdy, axis=0)")),
    ],
}

VARIANTS = {
    "layernorm": [
        Variant("four_warps", ("num_warps=warps_for(BLOCK_N)", "num_warps=4")),
        Variant("sqrt_and_divide", (RSTD, "rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / N + eps)")),
        Variant("wider_tile", ("BLOCK_N = triton.next_power_of_2(N)", "BLOCK_N = 2 * triton.next_power_of_2(N)")),
        Variant("mask_by_product", (CENTRED, "centred = (x - mean) * mask_n.to(tl.float32)")),
    ],
    "welford_combine": [
        Variant("product_before_the_division", ("delta * delta * n_a * share_b", "delta * delta * (n_a * n_b) / tl.maximum(n, 1.0)")),
        Variant("where_for_maximum", ("n_b / tl.maximum(n, 1.0)", "tl.where(n > 0, n_b / tl.where(n > 0, n, 1.0), 0.0)")),
        Variant("from_the_other_side", ("mean = mean_a + delta * share_b", "mean = tl.where(n_b > 0, mean_b - delta * (1.0 - share_b), mean_a)")),
    ],
    "layernorm_loop": [
        Variant("count_by_arithmetic", ("n_tile = tl.sum(mask_n.to(tl.float32), axis=0)", "n_tile = tl.minimum(N - start, BLOCK_N) * 1.0")),
        Variant("four_warps", ("num_warps=warps_for(block)", "num_warps=4")),
        Variant("two_walks_for_the_statistics", ("    rstd = tl.rsqrt(m2 / N + eps)\n", "    squares = tl.zeros([BLOCK_N], dtype=tl.float32)\n    for start in range(0, N, BLOCK_N):\n        offs_n = start + offs\n        x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=offs_n < N, other=0.0)\n        centred = tl.where(offs_n < N, x.to(tl.float32) - mean, 0.0)\n        squares += centred * centred\n    rstd = tl.rsqrt(tl.sum(squares, axis=0) / N + eps)\n")),
        Variant("sqrt_and_divide", ("rstd = tl.rsqrt(m2 / N + eps)", "rstd = 1.0 / tl.sqrt(m2 / N + eps)")),
    ],
    "layernorm_welford": [
        Variant("plain_sums", (REDUCE, "total = tl.sum(n, axis=0)\n    common = tl.sum(n * mean, axis=0) / total\n    m2 = tl.sum(m2 + n * (mean - common) * (mean - common), axis=0)\n    n, mean = total, common")),
        Variant("count_by_arithmetic", ("n = tl.sum(mask_n.to(tl.float32), axis=0)", "n = tl.minimum(tl.maximum(N - piece * piece_size, 0), piece_size) * 1.0")),
        Variant("zeroed_buffers", ("torch.empty((3, M * num_splits)", "torch.zeros((3, M * num_splits)")),
    ],
    "layernorm_split": [
        Variant("sqrt_and_divide", ("* tl.rsqrt(m2 / N + eps) * w", "/ tl.sqrt(m2 / N + eps) * w")),
    ],
    "layernorm_backward": [
        Variant("no_pipeline", (", num_stages=3", "")),
        Variant("masked_again", ("x_hat = (x - mean) * rstd", "x_hat = tl.where(mask_n, (x - mean) * rstd, 0.0)")),
        Variant("divided_before_the_sum", ("mean_wdy = tl.sum(wdy, axis=0) / N", "mean_wdy = tl.sum(wdy / N, axis=0)")),
    ],
    "rmsnorm_backward": [
        Variant("no_pipeline", (", num_stages=3", "")),
        Variant("in_one_sum", (RMS_DX, "dx = wdy * rstd - x * rstd * rstd * rstd * tl.sum(x * wdy, axis=0) / N")),
    ],
}
