"""Wrong answers of 11_rmsnorm_split with the diagnosis each must get, and honest variants."""

from tritonbook.course.mutants import Mutant, Variant

COLUMNS = "    offs_n = piece * piece_size + offs\n    mask_n = (offs < piece_size) & (offs_n < N)\n"
X_PTRS = "    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn\n"
X_LOAD = "    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n"
W_LOAD = "    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)\n"
# The same lines stand in both kernels; what follows tells which is meant.
SUM = COLUMNS + "\n" + X_PTRS + X_LOAD + "\n"
SCALE = COLUMNS + "\n" + X_PTRS + X_LOAD + W_LOAD
STORE = "tl.store(y_ptr + row * stride_ym + offs_n * stride_yn, y, mask=mask_n)"
RESULT = "y = x * tl.rsqrt(mean_square + eps) * w"
HALF = "x_ptr.dtype.element_ty"
ATOMIC = "tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0))"
ZEROS = "sums = torch.zeros(M, dtype=torch.float32, device=x.device)"
PLACE = "tl.store(partials_ptr + pid, tl.sum(x * x, axis=0))"
PARTIALS = "partials = torch.empty(grid, dtype=torch.float32, device=x.device)"
ROW_OF_SUMS = "partials_ptrs = partials_ptr + row * num_splits + offs_s"
SUMS_LOAD = "tl.load(partials_ptrs, mask=offs_s < num_splits, other=0.0)"
RACE = ("race", "nan", "reads-outside", "out-of-bounds-store")

ALL_AT_ONCE = """
@triton.jit
def rmsnorm_barrier_kernel(
    x_ptr, w_ptr, sums_ptr, done_ptr, y_ptr, N, num_splits, piece_size,
    stride_xm, stride_xn, stride_ym, stride_yn, eps, BLOCK_N: tl.constexpr,
):
    pid = tl.program_id(0)
    row = (pid // num_splits).to(tl.int64)
    offs = tl.arange(0, BLOCK_N)
    offs_n = pid % num_splits * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)
    x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0))
    tl.atomic_add(done_ptr + row, 1)
    while tl.atomic_add(done_ptr + row, 0) < num_splits:
        pass
    total = tl.atomic_add(sums_ptr + row, 0.0)
    y = x * tl.rsqrt(total / N + eps) * w
    y_ptrs = y_ptr + row * stride_ym + offs_n * stride_yn
    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask_n)


def {name}(x, w, eps=1e-6, num_splits=4):
    require_weight(x, w)
    N = x.shape[-1]
    piece_size, BLOCK_N = pieces(N, num_splits)
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    M = x_rows.shape[0]
    sums = torch.zeros(M, dtype=torch.float32, device=x.device)
    done = torch.zeros(M, dtype=torch.int32, device=x.device)
    rmsnorm_barrier_kernel[(M * num_splits,)](
        x_rows, w, sums, done, y_rows, N, num_splits, piece_size,
        *x_rows.stride(), *y_rows.stride(), eps, BLOCK_N=BLOCK_N,
    )
    return y
"""
TORCH = """
def {name}(x, w, eps=1e-6, num_splits=4):
    return torch.nn.functional.rms_norm(x, w.shape, w, eps)
"""


def _in_both(mean):
    """Wrong answers that both tasks can have. mean: how the second kernel has the row's sum."""
    return [
        # --- the formula
        Mutant("no_weight", "no-weight", (RESULT, RESULT.removesuffix(" * w"))),
        Mutant("sum_not_mean", "sum-not-mean", (mean + " / N", mean)),
        Mutant("divided_by_piece", "divided-by-piece", (mean + " / N", mean + " / piece_size")),
        Mutant("divided_by_tile", "divided-by-tile", (mean + " / N", mean + " / BLOCK_N")),
        Mutant("eps_outside_root", "eps-outside-root", (RESULT, "y = x / (tl.sqrt(mean_square) + eps) * w")),
        Mutant("eps_before_the_mean", "eps-before-the-mean", (mean + " / N", f"({mean} + eps) / N"), (RESULT, "y = x * tl.rsqrt(mean_square) * w")),
        Mutant("no_eps", "no-eps", (RESULT, "y = x * tl.rsqrt(mean_square) * w")),
        Mutant("eps_of_its_own", "fixed-eps", (RESULT, RESULT.replace("eps", "1e-6"))),
        Mutant("no_root", "no-root", (RESULT, "y = x / (mean_square + eps) * w")),
        Mutant("root_for_its_inverse", "root-for-its-inverse", ("tl.rsqrt(", "tl.sqrt(")),
        Mutant("mean_of_x", ("mean-of-x", "nan"), ("tl.sum(x * x, axis=0)", "tl.sum(x, axis=0)")),
        Mutant("mean_of_magnitudes", "mean-of-magnitudes", ("tl.sum(x * x, axis=0)", "tl.sum(tl.abs(x), axis=0)")),
        Mutant("one_plus_weight", "one-plus-weight", (RESULT, RESULT.replace("* w", "* (1 + w)"))),
        Mutant("rounded_before_the_weight", "rounded-twice", (RESULT, RESULT.removesuffix(" * w") + f"\n    y = y.to({HALF}).to(tl.float32) * w")),
        Mutant("squares_in_half", ("squares-overflow", "sum-in-half-precision", "overflow", "nan"), (SUM, SUM.replace(".to(tl.float32)", ""))),
        # --- pieces and masks
        Mutant("pieces_overlap", "counted-twice", (SUM, SUM.replace("(offs < piece_size) & ", ""))),
        Mutant("piece_one_too_wide", "one-column-twice", (SUM, SUM.replace("offs < piece_size", "offs <= piece_size"))),
        Mutant("no_mask_for_the_row", ("reads-outside", "nan"), (SUM, SUM.replace(" & (offs_n < N)", ""))),
        Mutant("no_mask_at_all", ("reads-outside", "nan"), (SUM, SUM.replace(", mask=mask_n, other=0.0", ""))),
        Mutant("masked_lanes_hold_one", "masked-lanes-counted", (SUM, SUM.replace("0.0", "1.0"))),
        Mutant("masked_lanes_as_in_softmax", "squares-overflow", (SUM, SUM.replace("0.0", 'float("-inf")'))),
        Mutant("rounded_down", ("tail-lost", "wrong-values"), (SUM, SUM.replace("offs_n < N", "offs_n < N // num_splits * num_splits"))),
        Mutant("mask_one_short", "last-column-lost", (SUM, SUM.replace("offs_n < N", "offs_n < N - 1"))),
        Mutant("tiles_apart_by_block", "pieces-apart-by-tiles", (SUM, SUM.replace("piece * piece_size", "piece * BLOCK_N"))),
        Mutant("every_program_sums_piece_zero", "first-piece-for-all", (SUM, SUM.replace("piece * piece_size + offs", "offs"))),
        Mutant("pieces_by_pid", "columns-by-pid", (SUM, SUM.replace("piece * piece_size", "pid * piece_size"))),
        Mutant("first_weights_for_every_piece", ("first-weights", "reads-outside"), (W_LOAD, W_LOAD.replace("offs_n", "offs"))),
        Mutant("one_weight", "first-weight-only", (W_LOAD, "    w = tl.load(w_ptr).to(tl.float32)\n")),
        Mutant("pieces_overlap_at_the_store", "race", (SCALE, SCALE.replace("(offs < piece_size) & ", ""))),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race"), (STORE, STORE.replace(", mask=mask_n", ""))),
        Mutant("no_mask_at_the_second_load", "reads-outside", (SCALE, SCALE.replace("tl.load(x_ptrs, mask=mask_n, other=0.0)", "tl.load(x_ptrs)")), only="interpreter"),
        Mutant("half_the_pieces_scaled", ("unwritten", "unwritten-tail"), (RESULT, RESULT + "\n    mask_n = mask_n & (piece % 2 == 0)")),
        # --- rows and strides
        Mutant("always_row_zero", ("first-row-for-all", "wrong-values"), (SUM, SUM.replace("row * stride_xm + ", ""))),
        Mutant("row_stride_is_n", ("strided-only", "reads-outside"), (SUM, SUM.replace("stride_xm", "N"))),
        Mutant("column_stride_is_one", ("strided-only", "reads-outside"), (SUM, SUM.replace(" * stride_xn", ""))),
        Mutant("row_stride_is_n_in_the_second", ("strided-only", "reads-outside"), (SCALE, SCALE.replace("stride_xm", "N"))),
        Mutant("row_stride_of_x_for_y", ("strided-only", "out-of-bounds-store"), (STORE, STORE.replace("stride_ym", "stride_xm"))),
        Mutant("row_stride_n_for_all", "strided-only", (SUM, SUM.replace("stride_xm", "N")), (SCALE, SCALE.replace("stride_xm", "N"))),
        # --- wrapper
        Mutant("rows_returned", "wrong-shape", ("    return y", "    return y_rows")),
        Mutant("no_check_of_w", "should-raise", ("    require_weight(x, w)\n", "")),
        Mutant("whole_row_in_every_program", "tile-too-large", (SUM, "    offs_n = tl.arange(0, 8 * BLOCK_N)\n    x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=offs_n < N, other=0.0).to(tl.float32) * (piece == 0)\n\n")),
        Mutant("untouched", "not-attempted", (STORE, "pass")),
    ]


MUTANTS = {
    "rmsnorm_split": [
        *_in_both("tl.load(sums_ptr + row)"),
        Mutant("buffer_not_zeroed", ("reads-unwritten", "sums-of-nothing", "reads-outside"), (ZEROS, ZEROS.replace("zeros", "empty"))),
        Mutant(
            "stale_sums_on_the_second_call",
            ("second-call", "not-repeatable"),
            ("    " + ZEROS, "    key = ('sums', M, num_splits)\n    if key not in _KEPT:\n        _KEPT[key] = torch.zeros(M, dtype=torch.float32, device=x.device)\n    sums = _KEPT[key]"),
            ("@triton.jit\ndef rmsnorm_sums_kernel", "_KEPT = {}\n\n\n@triton.jit\ndef rmsnorm_sums_kernel"),
        ),
        Mutant("sums_in_the_dtype_of_x", ("sums-in-half-precision", "squares-overflow", "sum-in-half-precision", "overflow", "nan", "raised", "does-not-compile"), (ZEROS, ZEROS.replace("torch.float32", "x.dtype"))),
        Mutant("first_kernel_left_open", "sums-stay-zero", (ATOMIC, "pass")),
        Mutant("buffer_for_one_row", ("out-of-bounds-store", "reads-outside"), (ZEROS, ZEROS.replace("(M,", "(1,"))),
        Mutant("store_instead_of_add", ("last-piece-only", "race", "first-piece-only"), (ATOMIC, ATOMIC.replace("atomic_add", "store")), on_gpu=("off-by-row",)),
        Mutant("load_add_store", "race", (ATOMIC, "tl.store(sums_ptr + row, tl.load(sums_ptr + row) + tl.sum(x * x, axis=0))"), only="interpreter"),
        Mutant("one_sum_for_all_rows", "sum-of-all-rows", (ATOMIC, ATOMIC.replace("sums_ptr + row", "sums_ptr")), ("tl.load(sums_ptr + row)", "tl.load(sums_ptr)")),
        Mutant("sum_of_row_zero", "first-row-for-all", ("tl.load(sums_ptr + row)", "tl.load(sums_ptr)")),
        Mutant("scaled_by_its_own_piece", "own-piece-only", (ATOMIC, ATOMIC.replace("+ row", "+ pid")), (ZEROS, ZEROS.replace("(M,", "(M * num_splits,")), ("tl.load(sums_ptr + row)", "tl.load(sums_ptr + pid)")),
        Mutant("sums_by_piece", "sums-by-piece", (ATOMIC, ATOMIC.replace("+ row", "+ piece"))),
        Mutant("sums_by_piece_in_both", "sums-by-piece-in-both", (ATOMIC, ATOMIC.replace("+ row", "+ piece")), ("tl.load(sums_ptr + row)", "tl.load(sums_ptr + piece)")),
        Mutant("sum_taken_by_piece", "taken-by-piece", ("tl.load(sums_ptr + row)", "tl.load(sums_ptr + piece)")),
        Mutant("buffer_of_ones", "buffer-of-ones", (ZEROS, ZEROS.replace("zeros", "ones"))),
        Mutant("mean_of_means", "mean-of-means", (ATOMIC, ATOMIC.replace("axis=0)", "axis=0) / piece_size")), ("tl.load(sums_ptr + row) / N", "tl.load(sums_ptr + row) / num_splits")),
        Mutant("divided_twice", "divided-twice", (ATOMIC, ATOMIC.replace("axis=0)", "axis=0) / N"))),
        Mutant("grid_without_a_comma", "raised", ("grid = (M * num_splits,)", "grid = M * num_splits")),
        Mutant("piece_missing_at_the_store", ("race", "wrong-values"), (STORE, STORE.replace("offs_n *", "offs *"))),
        Mutant("sum_at_the_program", ("reads-outside", "out-of-bounds-store", "wrong-values"), (ATOMIC, ATOMIC.replace("+ row", "+ pid"))),
        Mutant("sums_by_torch", ("torch-compute", "wrong-launch-count", "no-kernel-launched"), (ZEROS, "sums = x_rows.float().pow(2).sum(-1)")),
        Mutant("a_program_per_row", "other-programs", ("grid = (M * num_splits,)", "grid = (M,)")),
        Mutant("a_program_per_piece", "other-programs", ("grid = (M * num_splits,)", "grid = (num_splits,)")),
        Mutant("spin_barrier", ("timeout", "wrong-launch-count"), replace=ALL_AT_ONCE.replace("{name}", "rmsnorm_split")),
        Mutant("torch_stand_in", "no-kernel-launched", replace=TORCH.replace("{name}", "rmsnorm_split")),
        Mutant(
            "one_launch_only",
            ("unwritten", "wrong-launch-count"),
            ("    rmsnorm_scale_kernel[grid](\n        x_rows, w, sums, y_rows, N, num_splits, piece_size,\n        *x_rows.stride(), *y_rows.stride(), eps,\n        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),\n    )\n", ""),
        ),
    ],
    "rmsnorm_split_det": [
        *_in_both("tl.sum(partials, axis=0)"),
        Mutant(
            "the_atomics_of_task_1",
            "not-by-hand",
            replace="def rmsnorm_split_det(x, w, eps=1e-6, num_splits=4):\n    return rmsnorm_split(x, w, eps, num_splits=num_splits)\n",
        ),
        Mutant("first_kernel_left_open", ("not-attempted", "places-of-nothing", "reads-outside"), (PLACE, "pass")),
        Mutant("atomics_into_places", "not-by-hand", (PLACE, PLACE.replace("tl.store", "tl.atomic_add")), (PARTIALS, PARTIALS.replace("empty", "zeros"))),
        Mutant("all_pieces_in_one_place", ("last-piece-only", *RACE), (PLACE, PLACE.replace("+ pid", "+ row"))),
        Mutant("places_by_piece_alone", RACE, (PLACE, PLACE.replace("+ pid", "+ piece"))),
        Mutant("places_that_overlap", (*RACE, "wrong-values"), (PLACE, PLACE.replace("+ pid", "+ row + piece"))),
        Mutant("rows_apart_by_block", ("nan", "wrong-values", "reads-outside"), (ROW_OF_SUMS, ROW_OF_SUMS.replace("num_splits", "BLOCK_S"))),
        Mutant("sums_of_the_row_after_pid", ("nan", "wrong-values", "reads-outside"), (ROW_OF_SUMS, ROW_OF_SUMS.replace("row * num_splits", "pid"))),
        Mutant("sums_from_row_on", "sums-of-other-rows", (ROW_OF_SUMS, ROW_OF_SUMS.replace("row * num_splits", "row"))),
        Mutant("mask_of_the_tile_of_sums", "reads-outside", (SUMS_LOAD, SUMS_LOAD.replace("< num_splits", "< BLOCK_S"))),
        Mutant("divided_by_the_pieces", ("constant-factor", "wrong-values"), ("tl.sum(partials, axis=0) / N", "tl.sum(partials, axis=0) / num_splits")),
        Mutant("sums_of_row_zero", "first-row-for-all", (ROW_OF_SUMS, ROW_OF_SUMS.replace("row * num_splits + ", ""))),
        Mutant("only_its_own_sum", "own-piece-only", ("tl.sum(partials, axis=0) / N", "tl.load(partials_ptr + pid) / N")),
        Mutant("only_the_first_sum", "first-piece-only", ("tl.sum(partials, axis=0) / N", "tl.load(partials_ptr + row * num_splits) / N")),
        Mutant("no_mask_on_the_sums", ("reads-outside", "nan"), (SUMS_LOAD, "tl.load(partials_ptrs)")),
        Mutant("masked_sums_hold_one", "masked-sums-counted", (SUMS_LOAD, SUMS_LOAD.replace("0.0", "1.0"))),
        Mutant("largest_sum_for_their_sum", "largest-piece-only", ("tl.sum(partials, axis=0)", "tl.max(partials, axis=0)")),
        Mutant("partials_in_the_dtype_of_x", ("sums-in-half-precision", "squares-overflow", "sum-in-half-precision", "wrong-values", "overflow", "nan", "does-not-compile"), (PARTIALS, PARTIALS.replace("torch.float32", "x.dtype"))),
        Mutant("a_place_per_row", ("out-of-bounds-store", "reads-outside", "raised"), (PARTIALS, PARTIALS.replace("grid", "x_rows.shape[0]"))),
        Mutant(
            "one_launch_too_many",
            "wrong-launch-count",
            ("    rmsnorm_join_kernel[grid](", "    rmsnorm_partials_kernel[grid](\n        x_rows, partials, N, num_splits, piece_size, *x_rows.stride(), BLOCK_N=BLOCK_N\n    )\n    rmsnorm_join_kernel[grid]("),
        ),
        Mutant("spin_barrier", ("timeout", "wrong-launch-count", "not-by-hand"), replace=ALL_AT_ONCE.replace("{name}", "rmsnorm_split_det")),
        Mutant("torch_stand_in", "no-kernel-launched", replace=TORCH.replace("{name}", "rmsnorm_split_det")),
    ],
}

DIVIDED = (RESULT, "y = x / tl.sqrt(mean_square + eps) * w")
VARIANTS = {
    "rmsnorm_split": [
        Variant("relaxed_atomics", (ATOMIC, ATOMIC.replace("axis=0))", 'axis=0), sem="relaxed")'))),
        Variant("sqrt_and_divide", DIVIDED),
        Variant("filled_with_zero", (ZEROS, "sums = torch.full((M,), 0.0, dtype=torch.float32, device=x.device)")),
        Variant("divided_before_the_add", (ATOMIC, ATOMIC.replace("axis=0)", "axis=0) / N")), ("tl.load(sums_ptr + row) / N", "tl.load(sums_ptr + row)")),
        Variant("cast_before_the_store", (STORE, STORE.replace("y, mask", "y.to(y_ptr.dtype.element_ty), mask"))),
        Variant("mask_by_the_end_of_the_piece", (SUM, SUM.replace("(offs < piece_size) & (offs_n < N)", "offs_n < tl.minimum((piece + 1) * piece_size, N)"))),
        Variant("pieces_as_wide_as_the_tile", (SUM, SUM.replace("piece_size", "BLOCK_N")), (SCALE, SCALE.replace("piece_size", "BLOCK_N"))),
        Variant("one_column_of_sums", (ZEROS, ZEROS.replace("(M,", "(M, 1,"))),
        Variant("sums_that_fit_the_grid", (ZEROS, ZEROS.replace("(M,", "(M + 7,"))),
    ],
    "rmsnorm_split_det": [
        Variant("zeroed_all_the_same", (PARTIALS, PARTIALS.replace("empty", "zeros"))),
        Variant("a_matrix_of_places", (PARTIALS, PARTIALS.replace("grid", "x_rows.shape[0], num_splits"))),
        Variant(
            "pieces_first",
            (PLACE, PLACE.replace("+ pid", "+ piece * (tl.num_programs(0) // num_splits) + row")),
            (ROW_OF_SUMS, "partials_ptrs = partials_ptr + offs_s * (tl.num_programs(0) // num_splits) + row"),
        ),
        Variant("place_by_row_and_piece", (PLACE, PLACE.replace("+ pid", "+ row * num_splits + piece"))),
        Variant("sqrt_and_divide", DIVIDED),
        Variant("squares_first", ("tl.sum(x * x, axis=0)", "tl.sum(x * x * (1.0 / N), axis=0)"), ("tl.sum(partials, axis=0) / N", "tl.sum(partials, axis=0)")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "rmsnorm_split": {
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=0.0) (2)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'sums = torch.zeros(M, dtype=torch.float32, device=x.device) => sums = torch.zeros(M, device=x.device)': "torch's default dtype is float32",
        'sums = torch.zeros(M, dtype=torch.float32, device=x.device) => sums = torch.zeros(M, dtype=torch.float32)': "the interpreter has one device; on a GPU Triton refuses it by name",
        'tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0)) => tl.atomic_add(sums_ptr + row, tl.sum(x * x))': "a tile of one dimension has one axis",
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n).to(tl.float32) (2)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'tl.store(y_ptr + row * stride_ym + offs_n * stride_yn, y, mask=mask_n) => tl.store(y_ptr + row * stride_ym + offs_n, y, mask=mask_n)': "the wrapper makes a contiguous result: its last stride is 1",
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=1.0).to(tl.float32) (2)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=1.0).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
    },
    "rmsnorm_split_det": {
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=0.0) (2)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'partials = torch.empty(grid, dtype=torch.float32, device=x.device) => partials = torch.empty(grid, device=x.device)': "torch's default dtype is float32",
        'partials = torch.empty(grid, dtype=torch.float32, device=x.device) => partials = torch.empty(grid, dtype=torch.float32)': "the interpreter has one device; on a GPU Triton refuses it by name",
        'tl.store(partials_ptr + pid, tl.sum(x * x, axis=0)) => tl.store(partials_ptr + pid, tl.sum(x * x))': "a tile of one dimension has one axis",
        'mean_square = tl.sum(partials, axis=0) / N => mean_square = tl.sum(partials) / N': "a tile of one dimension has one axis",
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n).to(tl.float32) (2)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'tl.store(y_ptr + row * stride_ym + offs_n * stride_yn, y, mask=mask_n) => tl.store(y_ptr + row * stride_ym + offs_n, y, mask=mask_n)': "the wrapper makes a contiguous result: its last stride is 1",
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=1.0).to(tl.float32) (2)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=1.0).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
    },
}
