"""Wrong answers of 10_rmsnorm_rows with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

LOOP_SUM = "        squares += x * x\n"
LOOP_STORE = "tl.store(y_row_ptr + offs_n * stride_yn, y, mask=mask_n)"
X_LOAD = "tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)"
FIRST_PTRS = "x_ptrs = x_row_ptr + offs_n * stride_xn"
SECOND_LOAD = "tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n).to(tl.float32)"
SECOND_PASS = "        mask_n = offs_n < N\n        x = " + SECOND_LOAD
HALF = "x_ptr.dtype.element_ty"

# Right in its values: the way of a later page.
SEVERAL_ROWS = '''
@triton.jit
def several_rows_kernel(
    x_ptr, w_ptr, y_ptr, M, N, stride_xm, stride_xn, eps, ROWS: tl.constexpr, BLOCK_N: tl.constexpr
):
    rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :]
    mask = (rows < M) & (cols < N)
    x = tl.load(x_ptr + rows * stride_xm + cols * stride_xn, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    y = x * tl.rsqrt(tl.sum(x * x, axis=1) / N + eps)[:, None] * w
    tl.store(y_ptr + rows * N + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


def rmsnorm_row(x, w, eps=1e-6):
    require_weight(x, w)
    N = x.shape[-1]
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows = x.reshape(-1, N)
    several_rows_kernel[(triton.cdiv(rows.shape[0], 4),)](
        rows, w, y, rows.shape[0], N, *rows.stride(), eps,
        ROWS=4, BLOCK_N=triton.next_power_of_2(N),
    )
    return y
'''

MUTANTS = {
    "rmsnorm_row": [
        Mutant("masked_lanes_as_in_softmax", "squares-overflow", ("x = tl.load(x_ptrs, mask=mask_n, other=0.0)", 'x = tl.load(x_ptrs, mask=mask_n, other=float("-inf"))')),
        Mutant("row_in_the_columns", "unwritten-tail", ("offs_n = tl.arange", "offs_n = pid_m * BLOCK_N + tl.arange")),
        Mutant("eps_after_the_root", "no-eps", ("tl.rsqrt(mean_square + eps)", "(tl.rsqrt(mean_square) + eps)")),
        Mutant("root_for_its_inverse", "root-for-its-inverse", ("tl.rsqrt(", "tl.sqrt(")),
        Mutant("eps_before_the_mean", "eps-before-the-mean", ("axis=0) / N", "axis=0) / N + eps / N - eps")),
        Mutant("mean_of_magnitudes", "mean-of-magnitudes", ("tl.sum(x * x, axis=0)", "tl.sum(tl.abs(x), axis=0)")),
        Mutant("one_plus_weight", "one-plus-weight", ("(mean_square + eps) * w", "(mean_square + eps) * (1 + w)")),
        Mutant("several_rows_a_program", "other-programs", replace=SEVERAL_ROWS),
        Mutant("no_weight", "no-weight", ("(mean_square + eps) * w", "(mean_square + eps)")),
        Mutant("divided_by_tile", "divided-by-tile", ("axis=0) / N", "axis=0) / BLOCK_N")),
        Mutant("sum_not_mean", "sum-not-mean", ("axis=0) / N", "axis=0)")),
        Mutant("eps_outside_root", "eps-outside-root", ("x * tl.rsqrt(mean_square + eps) * w", "x / (tl.sqrt(mean_square) + eps) * w")),
        Mutant("no_eps", "no-eps", ("mean_square + eps", "mean_square")),
        Mutant("no_root", "no-root", ("x * tl.rsqrt(mean_square + eps)", "x / (mean_square + eps)")),
        Mutant("subtracts_the_mean", "layernorm", ("    mean_square", "    x = tl.where(mask_n, x - tl.sum(x, axis=0) / N, 0.0)\n    mean_square")),
        Mutant("mean_of_x", ("mean-of-x", "nan"), ("tl.sum(x * x", "tl.sum(x")),
        Mutant(
            "squares_in_half",
            ("sum-in-half-precision", "squares-overflow", "overflow", "nan"),
            ("other=0.0).to(tl.float32)\n    w", "other=0.0)\n    w"),
        ),
        Mutant("running_sum_in_half", ("squares-overflow", "sum-in-half-precision"), ("tl.sum(x * x, axis=0)", f"tl.sum((x * x).to({HALF}), axis=0).to(tl.float32)")),
        Mutant("rounded_before_the_weight", "rounded-twice", ("tl.rsqrt(mean_square + eps) * w", f"tl.rsqrt(mean_square + eps)\n    y = y.to({HALF}).to(tl.float32) * w")),
        Mutant("row_added_twice", ("row-added-twice", "reads-outside"), ("x_ptr + pid_m * stride_xm", "x_ptr + 2 * pid_m * stride_xm")),
        Mutant("one_weight_for_all", "first-weight-only", ("tl.load(w_ptr + offs_n, mask=mask_n, other=0.0)", "tl.load(w_ptr)")),
        Mutant("row_stride_is_n", "strided-only", ("pid_m * stride_xm", "pid_m * N")),
        Mutant("column_stride_is_one", "strided-only", ("offs_n * stride_xn", "offs_n")),
        Mutant("stride_of_x_for_y", ("strided-only", "out-of-bounds-store"), ("pid_m * stride_ym", "pid_m * stride_xm")),
        Mutant("always_row_zero", "rows-after-first", ("x_ptr + pid_m * stride_xm", "x_ptr + 0 * pid_m")),
        Mutant("no_store_mask", ("out-of-bounds-store", "race"), ("y, mask=mask_n)", "y)")),
        Mutant("no_load_mask", "reads-outside", (X_LOAD, "tl.load(x_ptrs).to(tl.float32)")),
        Mutant("masked_lanes_hold_one", "off-by-row", (X_LOAD, X_LOAD.replace("0.0", "1.0"))),
        Mutant("no_other_before_the_sum", "no-other", ("x = tl.load(x_ptrs, mask=mask_n, other=0.0)", "x = tl.load(x_ptrs, mask=mask_n)")),
        Mutant("mask_one_short", ("wrong-values", "unwritten", "unwritten-tail"), ("offs_n < N", "offs_n < N - 1")),
        Mutant("float32_result", "wrong-dtype", ("y = torch.empty(x.shape, dtype=x.dtype,", "y = torch.empty(x.shape, dtype=torch.float32,")),
        Mutant("no_check_of_w", "should-raise", ("    require_weight(x, w)\n", "")),
        Mutant(
            "stand_in_with_the_right_name",
            "no-kernel-launched",
            replace='''
def triton_rmsnorm(x, w, eps):
    variance = x.float().pow(2).mean(-1, keepdim=True)
    return (x.float() * torch.rsqrt(variance + eps) * w.float()).to(x.dtype)


def rmsnorm_row(x, w, eps=1e-6):
    return triton_rmsnorm(x, w, eps)
''',
        ),
        Mutant("root_by_torch", "torch-compute", ("    y = torch.empty(", "    scale = x.pow(2).mean()\n    y = torch.empty(")),
        Mutant("in_place", ("input-changed", "aliases-input"), ("    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)\n", "    y = x.contiguous() if not x.is_contiguous() else x\n")),
        Mutant("untouched", "not-attempted", ("    tl.store(y_ptr + pid_m * stride_ym + offs_n * stride_yn, y, mask=mask_n)", "    pass")),
        Mutant("list_in_the_kernel", "does-not-compile", ("offs_n = tl.arange(0, BLOCK_N)", "offs_n = [tl.arange(0, BLOCK_N) for _ in range(1)][0]")),
    ],
    "rmsnorm_loop": [
        Mutant("columns_side_by_side", ("strided-only", "reads-outside", "wrong-values", "out-of-bounds-store"), ("        x_ptrs = x_row_ptr + offs_n * stride_xn", "        x_ptrs = x_row_ptr + offs_n")),
        Mutant("column_stride_of_x_for_y", ("strided-only", "reads-outside", "wrong-values", "out-of-bounds-store"), ("offs_n * stride_yn", "offs_n * stride_xn")),
        Mutant(
            "the_row_kernel_of_task_1",
            "tile-too-large",
            replace="def rmsnorm_loop(x, w, eps=1e-6, block=4096):\n    return rmsnorm_row(x, w, eps)\n",
        ),
        Mutant("sum_in_each_lane", "sum-in-each-lane", ("squares += x * x", "squares += tl.sum(x * x, axis=0)")),
        Mutant("last_piece_left_out", "last-piece-left-out", ("dtype=tl.float32)\n    for start in range(0, N, BLOCK_N)", "dtype=tl.float32)\n    for start in range(0, N - BLOCK_N + 1, BLOCK_N)")),
        Mutant("second_walk_in_half_steps", "property", ("/ N + eps)\n\n    for start in range(0, N, BLOCK_N):", "/ N + eps)\n\n    for start in range(0, N, BLOCK_N // 2):"), only="interpreter"),
        Mutant("only_the_last_piece", "last-piece-only", ("squares += x * x", "squares = x * x")),
        Mutant("mask_of_the_first_piece", ("out-of-bounds-store", "reads-outside"), (SECOND_PASS, SECOND_PASS.replace("offs_n < N", "tl.arange(0, BLOCK_N) < N"))),
        Mutant("no_mask_in_pass_two", ("out-of-bounds-store", "race"), (LOOP_STORE, LOOP_STORE.replace(", mask=mask_n", ""))),
        Mutant("no_other_before_the_sum", "no-other", (X_LOAD, X_LOAD.replace(", other=0.0", ""))),
        Mutant("no_mask_in_pass_one", "reads-outside", (X_LOAD, "tl.load(x_ptrs).to(tl.float32)")),
        Mutant("no_weight", "no-weight", ("y = x * rstd * w", "y = x * rstd")),
        Mutant("first_piece_of_w", "first-weights", ("w_ptr + offs_n, mask=mask_n", "w_ptr + tl.arange(0, BLOCK_N), mask=mask_n")),
        Mutant("divided_by_block", "divided-by-tile", ("axis=0) / N + eps", "axis=0) / BLOCK_N + eps")),
        Mutant("sum_not_mean", "sum-not-mean", ("axis=0) / N + eps", "axis=0) + eps")),
        Mutant("eps_outside_root", "eps-outside-root", ("rstd = tl.rsqrt(tl.sum(squares, axis=0) / N + eps)", "rstd = 1.0 / (tl.sqrt(tl.sum(squares, axis=0) / N) + eps)")),
        Mutant("no_eps", "no-eps", ("/ N + eps", "/ N")),
        Mutant("row_stride_is_n_in_pass_two", ("strided-only", "reads-outside"), (SECOND_PASS, SECOND_PASS.replace("x_row_ptr", "x_ptr + pid_m * N"))),
        Mutant("row_stride_is_n_in_pass_one", ("strided-only", "reads-outside"), (FIRST_PTRS, FIRST_PTRS.replace("x_row_ptr", "x_ptr + pid_m * N"))),
        Mutant("squares_in_half", ("squares-overflow", "overflow", "nan"), ("other=0.0).to(tl.float32)\n        squares", "other=0.0)\n        squares")),
        Mutant("running_sum_in_half", "sum-in-half-precision", ("dtype=tl.float32)", f"dtype={HALF})"), ("squares += x * x", f"squares = (squares + (x * x).to({HALF})).to({HALF})"), ("tl.sum(squares, axis=0)", "tl.sum(squares.to(tl.float32), axis=0)")),
        Mutant("rounded_before_the_weight", "rounded-twice", ("y = x * rstd * w", f"y = (x * rstd).to({HALF}).to(tl.float32) * w")),
        Mutant("row_added_twice", ("row-added-twice", "reads-outside"), (FIRST_PTRS, FIRST_PTRS.replace("x_row_ptr", "x_row_ptr + pid_m * stride_xm")), (SECOND_LOAD, SECOND_LOAD.replace("x_row_ptr", "x_row_ptr + pid_m * stride_xm"))),
        Mutant("row_added_twice_in_pass_two", ("reads-outside", "wrong-values"), (SECOND_LOAD, SECOND_LOAD.replace("x_row_ptr", "x_row_ptr + pid_m * stride_xm"))),
        Mutant("first_piece_only", "first-piece-only", (FIRST_PTRS, FIRST_PTRS.replace("offs_n *", "tl.arange(0, BLOCK_N) *")), (X_LOAD, X_LOAD.replace("mask_n", "mask_n & (start == 0)"))),
        Mutant("pass_two_only_the_first_piece", ("unwritten-tail", "unwritten"), ("/ N + eps)\n\n    for start in range(0, N, BLOCK_N):", "/ N + eps)\n\n    for start in range(0, BLOCK_N, BLOCK_N):")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="def rmsnorm_loop(x, w, eps=1e-6, block=4096):\n    return torch.nn.functional.rms_norm(x, w.shape, w, eps)\n"),
    ],
}

VARIANTS = {
    "rmsnorm_row": [
        Variant("four_warps", ("num_warps=warps_for(BLOCK_N)", "num_warps=4")),
        Variant("sqrt_and_divide", ("x * tl.rsqrt(mean_square + eps) * w", "x / tl.sqrt(mean_square + eps) * w")),
        Variant("wider_tile", ("BLOCK_N = triton.next_power_of_2(N)", "BLOCK_N = 2 * triton.next_power_of_2(N)")),
        Variant("cast_before_the_store", ("stride_yn, y, ", "stride_yn, y.to(y_ptr.dtype.element_ty), ")),
        Variant("hint_to_the_cache", (X_LOAD, X_LOAD.replace("other=0.0", 'other=0.0, eviction_policy="evict_last"'))),
        Variant("weight_first", ("x * tl.rsqrt(mean_square + eps) * w", "(x * w) * tl.rsqrt(mean_square + eps)")),
    ],
    "rmsnorm_loop": [
        Variant("reduce_each_piece", ("squares = tl.zeros([BLOCK_N], dtype=tl.float32)", "squares = tl.zeros([1], dtype=tl.float32)"), (LOOP_SUM, "        squares += tl.sum(x * x, axis=0)\n")),
        Variant("two_warps", ("num_warps=warps_for(block)", "num_warps=2")),
        Variant("keeps_one_over_the_root", ("w_ptr, y_ptr,", "w_ptr, y_ptr, rstd_ptr,"), (" / N + eps)", " / N + eps)\n    tl.store(rstd_ptr + pid_m, rstd)"), ("x_rows, w, y_rows,", "x_rows, w, y_rows, torch.empty(x_rows.shape[0], dtype=torch.float32, device=x.device),")),
        Variant("sqrt_and_divide", ("rstd = tl.rsqrt(tl.sum(squares, axis=0) / N + eps)", "rstd = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "rmsnorm_row": {
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'mean_square = tl.sum(x * x, axis=0) / N => mean_square = tl.sum(x * x) / N': "a tile of one dimension has one axis",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32)': "what the masked lanes hold is never stored",
        'tl.store(y_ptr + pid_m * stride_ym + offs_n * stride_yn, y, mask=mask_n) => tl.store(y_ptr + pid_m * stride_ym + offs_n, y, mask=mask_n)': "the wrapper makes a contiguous result: its last stride is 1",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=1.0).to(tl.float32)': "what the masked lanes hold is never stored",
    },
    "rmsnorm_loop": {
        'x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n).to(tl.float32) => x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'tl.store(y_row_ptr + offs_n * stride_yn, y, mask=mask_n) => tl.store(y_row_ptr + offs_n, y, mask=mask_n)': "the wrapper makes a contiguous result: its last stride is 1",
    },
}
