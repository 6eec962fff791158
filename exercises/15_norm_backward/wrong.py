"""Wrong answers of 15_norm_backward with the diagnosis each must get, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

# --- column_sums
ROWS = "offs_g = start + tl.arange(0, BLOCK_G)"
MASK = "mask = (offs_g < G)[:, None] & mask_n[None, :]"
PTRS = "partials_ptrs = partials_ptr + offs_g[:, None] * N + offs_n[None, :]"
ADD = "acc += tl.load(partials_ptrs, mask=mask, other=0.0)"
SUM_STORE = "tl.store(out_ptr + offs_n, tl.sum(acc, axis=0), mask=mask_n)"

# --- both backward kernels
X_HAT = "x_hat = (x - mean) * rstd"
G_LINE = "g = w * dy"
MEAN_G = "mean_g = tl.sum(g, axis=0) / N"
MEAN_GX = "mean_gx = tl.sum(g * x_hat, axis=0) / N"
DX = "dx = rstd * (g - mean_g - x_hat * mean_gx)"
DX_STORE = "tl.store(dx_ptr + row * N + offs_n, dx, mask=mask_n)"
DW = "dw += dy * x_hat"
DB = "db += dy"
RSTD = "rstd = tl.rsqrt(tl.sum(x * x, axis=0) / N + eps)"
RMS_DX = "dx = rstd * (g - x_hat * mean_gx)"
HALF = "x_ptr.dtype.element_ty"

BY_AUTOGRAD = """
def layernorm_backward(dy, x, w, mean, rstd, num_programs=None):
    b = torch.zeros_like(w)
    rows = x.reshape(-1, x.shape[-1])
    return torch.ops.aten.native_layer_norm_backward(
        dy.reshape(rows.shape), rows, w.shape, mean[:, None], rstd[:, None], w, b, [True] * 3
    )
"""

MUTANTS = {
    "column_sums": [
        Mutant("only_the_last_tile", "last-tile-only", (ADD, ADD.replace("+=", "="))),
        Mutant("only_the_first_tile", "first-tile-only", ("range(0, G, BLOCK_G)", "range(0, BLOCK_G, BLOCK_G)")),
        Mutant("last_tile_left_out", "first-tile-only", ("range(0, G, BLOCK_G)", "range(0, G - BLOCK_G + 1, BLOCK_G)")),
        Mutant("first_tile_again", ("first-tile-again", "reads-outside"), (ROWS, "offs_g = tl.arange(0, BLOCK_G)"), (MASK, MASK.replace("offs_g", "offs_g + start"))),
        Mutant("steps_of_one", ("steps-of-one", "reads-outside", "timeout"), ("range(0, G, BLOCK_G)", "range(0, G)")),
        Mutant("mean", "mean-of-a-column", (SUM_STORE, SUM_STORE.replace("axis=0)", "axis=0) / G"))),
        Mutant("sums_of_rows", ("raised", "does-not-compile", "out-of-bounds-store"), (SUM_STORE, SUM_STORE.replace("axis=0", "axis=1"))),
        Mutant("rows_are_a_tile_apart", ("reads-outside", "rows-a-tile-apart"), (PTRS, PTRS.replace("* N", "* BLOCK_N"))),
        Mutant("transposed", ("reads-outside", "wrong-values"), (PTRS, "partials_ptrs = partials_ptr + offs_g[:, None] + offs_n[None, :] * G")),
        Mutant("no_mask_for_rows", ("reads-outside",), (MASK, "mask = mask_n[None, :] & (offs_g >= 0)[:, None]")),
        Mutant("no_mask_for_columns", ("reads-outside", "out-of-bounds-store"), (MASK, "mask = (offs_g < G)[:, None] & (offs_n >= 0)[None, :]"), only="interpreter"),
        Mutant("no_mask_at_all", "reads-outside", (ADD, "acc += tl.load(partials_ptrs)")),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race"), (SUM_STORE, SUM_STORE.replace(", mask=mask_n", ""))),
        Mutant("other_forgotten", "no-other", (ADD, ADD.replace(", other=0.0", "")), only="interpreter"),
        Mutant("masked_lanes_are_one", "masked-lanes-are-one", (ADD, ADD.replace("0.0", "1.0"))),
        Mutant("axes_forgotten", ("raised", "does-not-compile"), (PTRS, "partials_ptrs = partials_ptr + offs_g * N + offs_n")),
        Mutant("columns_of_the_first_program", ("race", "unwritten-tail", "unwritten"), (SUM_STORE, SUM_STORE.replace("out_ptr + offs_n", "out_ptr + tl.arange(0, BLOCK_N)"))),
        Mutant("stored_in_the_loop", ("last-tile-only", "wrong-values", "unwritten", "unwritten-tail", "reads-outside"), (SUM_STORE, "pass"), (ADD, "tl.store(out_ptr + offs_n, tl.sum(tl.load(partials_ptrs, mask=mask, other=0.0), axis=0), mask=mask_n)")),
        Mutant("stored_in_each_round", ("property", "unwritten"), (SUM_STORE, "    " + SUM_STORE)),
        Mutant("tiles_counted", "tiles-counted", ("range(0, G, BLOCK_G)", "range(0, tl.cdiv(G, BLOCK_G))")),
        Mutant("start_forgotten", "first-tile-each-round", (ROWS, "offs_g = tl.arange(0, BLOCK_G)")),
        Mutant("start_times_block", "first-tile-only", (ROWS, "offs_g = start * BLOCK_G + tl.arange(0, BLOCK_G)")),
        Mutant("rows_side_by_side", "rows-side-by-side", (PTRS, PTRS.replace(" * N", ""))),
        Mutant("one_sum_a_program", "one-sum-a-program", (SUM_STORE, SUM_STORE.replace(", axis=0", ""))),
        Mutant("summed_twice", "added-to-all-rows", (ADD, "acc += tl.sum(tl.load(partials_ptrs, mask=mask, other=0.0), axis=0)")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="def column_sums(partials, dtype):\n    return partials.sum(0).to(dtype)\n"),
    ],
    "layernorm_backward": [
        Mutant("mean_term_missing", "no-mean-term", (DX, "dx = rstd * (g - x_hat * mean_gx)")),
        Mutant("projection_missing", "no-projection", (DX, "dx = rstd * (g - mean_g)")),
        Mutant("g_alone", "g-alone", (DX, "dx = rstd * g")),
        Mutant("projection_added", "projection-added", (DX, DX.replace("- x_hat", "+ x_hat"))),
        Mutant("mean_added", "mean-term-added", (DX, DX.replace("- mean_g", "+ mean_g"))),
        Mutant("no_rstd", "no-rstd", (DX, "dx = g - mean_g - x_hat * mean_gx")),
        Mutant("rstd_on_g_alone", "rstd-on-g-alone", (DX, "dx = rstd * g - mean_g - x_hat * mean_gx")),
        Mutant("divided_by_rstd", "divided-by-rstd", (DX, "dx = (g - mean_g - x_hat * mean_gx) / rstd")),
        Mutant("rstd_twice", "rstd-twice", (DX, DX.replace("rstd *", "rstd * rstd *"))),
        Mutant("weight_missing", "no-weight", (G_LINE, "g = dy")),
        Mutant("dy_for_g", "dy-for-g", (DX, DX.replace("(g -", "(dy -"))),
        Mutant("mean_of_dy", "mean-of-dy", (MEAN_G, MEAN_G.replace("(g,", "(dy,"))),
        Mutant("projection_of_dy", "projection-of-dy", (MEAN_GX, MEAN_GX.replace("g * x_hat", "dy * x_hat"))),
        Mutant("projection_on_x", "projection-on-x", (DX, DX.replace("x_hat * mean_gx", "x * mean_gx"))),
        Mutant("projection_without_x_hat", "projection-without-x-hat", (DX, DX.replace("x_hat * ", ""))),
        Mutant("sums_for_means", "sums-for-means", (MEAN_G, MEAN_G.replace(" / N", "")), (MEAN_GX, MEAN_GX.replace(" / N", ""))),
        Mutant("sum_of_g", "sum-of-g", (MEAN_G, MEAN_G.replace(" / N", ""))),
        Mutant("sum_in_the_projection", "sum-in-the-projection", (MEAN_GX, MEAN_GX.replace(" / N", ""))),
        Mutant("means_over_the_tile", "means-over-tile", (MEAN_G, MEAN_G.replace("N", "BLOCK_N")), (MEAN_GX, MEAN_GX.replace("N", "BLOCK_N"))),
        Mutant("mean_of_g_over_the_tile", "mean-of-g-over-tile", (MEAN_G, MEAN_G.replace("N", "BLOCK_N"))),
        Mutant("projection_over_the_tile", "projection-over-tile", (MEAN_GX, MEAN_GX.replace("N", "BLOCK_N"))),
        Mutant("x_hat_without_rstd", "x-hat-is-centred", (X_HAT, "x_hat = x - mean")),
        Mutant("x_hat_without_mean", "x-hat-without-mean", (X_HAT, "x_hat = x * rstd")),
        Mutant("x_for_x_hat", "x-for-x-hat", (X_HAT, "x_hat = x")),
        Mutant("dw_of_the_last_row", "dw-of-the-last-rows", (DW, "dw = dy * x_hat")),
        Mutant("dw_with_weight", "dw-with-weight", (DW, "dw += g * x_hat")),
        Mutant("dw_of_x", "dw-of-x", (DW, "dw += dy * x")),
        Mutant("dw_of_the_centred", "dw-of-the-centred", (DW, "dw += dy * (x - mean)")),
        Mutant("dw_without_x_hat", "dw-is-db", (DW, "dw += dy")),
        Mutant("dw_without_dy", "dw-without-dy", (DW, "dw += tl.where(mask_n, x_hat, 0.0)")),
        Mutant("dw_of_dx", "dw-of-dx", (DW, "dw += dx * x_hat")),
        Mutant("both_added", "both-added", (DX, "dx = rstd * (g + mean_g + x_hat * mean_gx)")),
        Mutant("brackets_forgotten_in_x_hat", "x-hat-without-brackets", (X_HAT, "x_hat = x - mean * rstd")),
        Mutant("projection_of_g", "projection-of-g", (MEAN_GX, MEAN_GX.replace("g * x_hat", "g"))),
        Mutant("x_hat_alone", "x-hat-alone", (DX, DX.replace(" * mean_gx", ""))),
        Mutant("projection_of_x", "projection-of-x", (MEAN_GX, MEAN_GX.replace("x_hat", "x"))),
        Mutant("divided_by_rstd_in_x_hat", "x-hat-divided", (X_HAT, "x_hat = (x - mean) / rstd")),
        Mutant("dw_summed_along_the_row", "dw-summed-along", (DW, "dw += tl.sum(dy * x_hat, axis=0)")),
        Mutant("db_summed_along_the_row", "db-summed-along", (DB, "db += tl.sum(dy, axis=0)")),
        Mutant("dw_with_rstd_again", "dw-rstd-twice", (DW, "dw += dy * x_hat * rstd")),
        Mutant("dw_over_rows", "constant-factor", (DW, "dw += dy * x_hat / M")),
        Mutant("rows_of_all_programs", "race", ("tl.range(pid, M, num_programs,", "tl.range(pid, M, 1,")),
        Mutant("dw_forgotten", ("zeros", "wrong-values", "unused-input"), ("        " + DW + "\n", "")),
        Mutant("db_of_the_last_row", "db-of-the-last-rows", (DB, "db = dy")),
        Mutant("db_of_g", "db-with-weight", (DB, "db += g")),
        Mutant("db_with_x_hat", "db-is-dw", (DB, "db += dy * x_hat")),
        Mutant("db_of_dx", "db-of-dx", (DB, "db += dx")),
        Mutant("dw_and_db_swapped", "dw-is-db", (DW, "dw += dy"), ("        " + DB + "\n", "        db += dy * x_hat\n")),
        Mutant("dx_of_the_program", ("race", "unwritten", "unwritten-tail", "reads-outside", "out-of-bounds-store"), (DX_STORE, DX_STORE.replace("row *", "pid *"))),
        Mutant("dx_with_the_strides_of_x", ("strided-only", "out-of-bounds-store", "race"), (DX_STORE, DX_STORE.replace("row * N + offs_n", "row * stride_xm + offs_n * stride_xn"))),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race"), (DX_STORE, DX_STORE.replace(", mask=mask_n", ""))),
        Mutant("dx_never_stored", "unwritten", ("        " + DX_STORE + "\n", "")),
        Mutant("strides_of_x_for_dy", ("strided-only", "reads-outside"), ("row * stride_dym + offs_n * stride_dyn", "row * stride_xm + offs_n * stride_xn")),
        Mutant("x_hat_in_half", "x-hat-in-half", (X_HAT, f"x_hat = ((x - mean) * rstd).to({HALF}).to(tl.float32)")),
        Mutant("by_torch", "no-kernel-launched", replace=BY_AUTOGRAD),
    ],
    "rmsnorm_backward": [
        Mutant("projection_missing", "g-alone", (RMS_DX, "dx = rstd * g")),
        Mutant("projection_added", "projection-added", (RMS_DX, RMS_DX.replace("- x_hat", "+ x_hat"))),
        Mutant("layernorms_dx", "layernorms", (RMS_DX, "dx = rstd * (g - tl.sum(g, axis=0) / N - x_hat * mean_gx)")),
        Mutant("mean_subtracted", "mean-subtracted", ("x_hat = x * rstd", "x_hat = (x - tl.sum(x, axis=0) / N) * rstd")),
        Mutant("no_rstd", "no-rstd", (RMS_DX, "dx = g - x_hat * mean_gx")),
        Mutant("rstd_on_g_alone", "projection-lacks-rstd", (RMS_DX, "dx = rstd * g - x_hat * mean_gx")),
        Mutant("weight_missing", "no-weight", (G_LINE, "g = dy")),
        Mutant("dy_for_g", "dy-for-g", (RMS_DX, "dx = rstd * (dy - x_hat * mean_gx)")),
        Mutant("projection_of_dy", "projection-of-dy", (MEAN_GX, MEAN_GX.replace("g * x_hat", "dy * x_hat"))),
        Mutant("projection_of_g", "projection-of-g", (MEAN_GX, MEAN_GX.replace("g * x_hat", "g"))),
        Mutant("projection_on_x", "projection-lacks-rstd", (RMS_DX, RMS_DX.replace("x_hat", "x"))),
        Mutant("projection_without_x_hat", "projection-without-x-hat", (RMS_DX, RMS_DX.replace("x_hat * ", ""))),
        Mutant("sum_not_mean", "sum-in-the-projection", (MEAN_GX, MEAN_GX.replace(" / N", ""))),
        Mutant("projection_over_the_tile", "projection-over-tile", (MEAN_GX, MEAN_GX.replace("N", "BLOCK_N"))),
        Mutant("no_eps", "no-eps", (RSTD, RSTD.replace(" + eps", ""))),
        Mutant("eps_outside_root", ("eps-outside-root", "no-eps"), (RSTD, "rstd = 1.0 / (tl.sqrt(tl.sum(x * x, axis=0) / N) + eps)")),
        Mutant("eps_of_its_own", "fixed-eps", (RSTD, RSTD.replace("eps", "1e-6"))),
        Mutant("root_of_the_sum", "sum-not-mean", (RSTD, RSTD.replace(" / N", ""))),
        Mutant("squares_over_the_tile", "squares-over-tile", (RSTD, RSTD.replace("/ N", "/ BLOCK_N"))),
        Mutant("root_for_its_inverse", "root-for-its-inverse", (RSTD, RSTD.replace("rsqrt", "sqrt"))),
        Mutant("no_root", "no-root", (RSTD, "rstd = 1.0 / (tl.sum(x * x, axis=0) / N + eps)")),
        Mutant("x_for_x_hat", "x-for-x-hat", ("x_hat = x * rstd", "x_hat = x")),
        Mutant("divided_by_rstd_in_x_hat", "x-hat-divided", ("x_hat = x * rstd", "x_hat = x / rstd")),
        Mutant("x_hat_alone", "x-hat-alone", (RMS_DX, RMS_DX.replace(" * mean_gx", ""))),
        Mutant("mean_of_x_in_the_root", ("mean-of-x-in-the-root", "nan"), (RSTD, RSTD.replace("x * x", "x"))),
        Mutant("variance_in_the_root", "variance-in-the-root", (RSTD, "mean = tl.sum(x, axis=0) / N\n        rstd = tl.rsqrt(tl.sum(x * x, axis=0) / N - mean * mean + eps)")),
        Mutant("dw_of_the_last_row", "dw-of-the-last-rows", (DW, "dw = dy * x_hat")),
        Mutant("dw_with_weight", "dw-with-weight", (DW, "dw += g * x_hat")),
        Mutant("dw_of_x", "dw-of-x", (DW, "dw += dy * x")),
        Mutant("dw_with_rstd_again", "dw-rstd-twice", (DW, "dw += dy * x_hat * rstd")),
        Mutant("dw_summed_along_the_row", "dw-summed-along", (DW, "dw += tl.sum(dy * x_hat, axis=0)")),
        Mutant("dw_of_dy", "dw-of-dy", (DW, "dw += dy")),
        Mutant("dw_without_dy", "dw-without-dy", (DW, "dw += x_hat")),
        Mutant("dw_of_dx", "dw-of-dx", (DW, "dw += dx * x_hat")),
        Mutant("dx_of_the_program", ("race", "unwritten", "unwritten-tail", "reads-outside", "out-of-bounds-store"), (DX_STORE, DX_STORE.replace("row *", "pid *"))),
        Mutant("dx_with_the_strides_of_x", ("strided-only", "out-of-bounds-store", "race"), (DX_STORE, DX_STORE.replace("row * N + offs_n", "row * stride_xm + offs_n * stride_xn"))),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race"), (DX_STORE, DX_STORE.replace(", mask=mask_n", ""))),
        Mutant("squares_in_half", "squares-overflow", (RSTD, f"rstd = tl.rsqrt(tl.sum((x * x).to({HALF}), axis=0).to(tl.float32) / N + eps)")),
    ],
}

VARIANTS = {
    "column_sums": [
        Variant("other_tiles", ("BLOCK_G=64, BLOCK_N=16", "BLOCK_G=32, BLOCK_N=16")),
        Variant("each_tile_summed", (ADD, "acc += tl.load(partials_ptrs, mask=mask, other=0.0) * 1.0"), (SUM_STORE, SUM_STORE.replace("tl.sum(acc, axis=0)", "tl.sum(acc, axis=0).to(out_ptr.dtype.element_ty)"))),
        Variant("mask_by_product", (MASK, "mask = (offs_g[:, None] < G) & (offs_n[None, :] < N)")),
    ],
    "layernorm_backward": [
        Variant("no_pipeline", (", num_stages=3", "")),
        Variant("two_stages", ("num_stages=3", "num_stages=2")),
        Variant("masked_again", (X_HAT, "x_hat = tl.where(mask_n, (x - mean) * rstd, 0.0)")),
        Variant("divided_before_the_sum", (MEAN_G, "mean_g = tl.sum(g / N, axis=0)")),
        Variant("in_two_steps", (DX, "dx = g - mean_g\n        dx -= x_hat * mean_gx\n        dx *= rstd")),
        Variant("strides_of_a_contiguous_dx", (DX_STORE, DX_STORE.replace("dx,", "dx.to(dx_ptr.dtype.element_ty),"))),
    ],
    "rmsnorm_backward": [
        Variant("no_pipeline", (", num_stages=3", "")),
        Variant("in_one_sum", (RMS_DX, "dx = g * rstd - x * rstd * rstd * rstd * tl.sum(x * g, axis=0) / N")),
        Variant("sqrt_and_divide", (RSTD, "rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / N + eps)")),
    ],
}

ONE_AXIS = "a tile of one dimension has one axis"
EQUIVALENT = {
    "layernorm_backward": {
        "mean_g = tl.sum(g, axis=0) / N => mean_g = tl.sum(g) / N": ONE_AXIS,
        "mean_gx = tl.sum(g * x_hat, axis=0) / N => mean_gx = tl.sum(g * x_hat) / N": ONE_AXIS,
    },
    "rmsnorm_backward": {
        "mean_gx = tl.sum(g * x_hat, axis=0) / N => mean_gx = tl.sum(g * x_hat) / N": ONE_AXIS,
        "rstd = tl.rsqrt(tl.sum(x * x, axis=0) / N + eps) => rstd = tl.rsqrt(tl.sum(x * x) / N + eps)": ONE_AXIS,
    },
}
