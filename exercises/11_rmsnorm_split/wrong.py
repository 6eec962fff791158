"""Wrong answers of 11_rmsnorm_split with the diagnosis each must get, and honest variants."""

from tritonbook.course.mutants import Mutant, Variant

SUM_LOAD = "    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n\n"
ATOMIC = "tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0))"
ZEROS = "sums = torch.zeros(M, dtype=torch.float32, device=x.device)"
SUM_MASK = "    # inside the piece (what follows is another program's) and inside the row\n    mask_n = (offs < piece_size) & (offs_n < N)\n"
SCALE_STORE = "    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask_n)\n"
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
    x_rows, y_rows = prepare(x, w)
    M, N = x_rows.shape
    piece_size, BLOCK_N = pieces(N, num_splits)
    sums = torch.zeros(M, dtype=torch.float32, device=x.device)
    done = torch.zeros(M, dtype=torch.int32, device=x.device)
    rmsnorm_barrier_kernel[(M * num_splits,)](
        x_rows, w, sums, done, y_rows, N, num_splits, piece_size,
        *x_rows.stride(), *y_rows.stride(), eps, BLOCK_N=BLOCK_N,
    )
    return y_rows.view(x.shape)
"""
TORCH = """
def {name}(x, w, eps=1e-6, {knob}=4):
    return torch.nn.functional.rms_norm(x, w.shape, w, eps)
"""


def _same_in_both(sums_buffer):
    """Wrong answers that scheme 3 has in both forms; `sums_buffer` names the second input."""
    mean = (
        "tl.load(sums_ptr + row) / N" if sums_buffer == "sums" else "tl.sum(partials, axis=0) / N"
    )
    load_w = "    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)\n"
    scale_x = "    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n" + load_w
    return [
        Mutant(
            "no_weight",
            "no-weight",
            ("tl.rsqrt(mean_square + eps) * w", "tl.rsqrt(mean_square + eps)"),
        ),
        Mutant("sum_not_mean", "sum-not-mean", (mean, mean.removesuffix(" / N"))),
        Mutant(
            "divided_by_piece", "divided-by-piece", (mean, mean.removesuffix("N") + "piece_size")
        ),
        Mutant(
            "eps_outside_root",
            "eps-outside-root",
            ("x * tl.rsqrt(mean_square + eps) * w", "x / (tl.sqrt(mean_square) + eps) * w"),
        ),
        Mutant(
            "no_eps", ("no-eps", "nan"), ("tl.rsqrt(mean_square + eps)", "tl.rsqrt(mean_square)")
        ),
        Mutant(
            "no_root", "no-root", ("x * tl.rsqrt(mean_square + eps)", "x / (mean_square + eps)")
        ),
        Mutant(
            "first_weights_for_every_piece",
            ("wrong-values", "wrong-tail", "reads-outside"),
            ("tl.load(w_ptr + offs_n, mask=mask_n", "tl.load(w_ptr + offs, mask=mask_n"),
        ),
        Mutant(
            "no_mask_at_the_store",
            ("out-of-bounds-store", "race"),
            (SCALE_STORE, SCALE_STORE.replace(", mask=mask_n", "")),
        ),
        Mutant(
            "no_mask_at_the_load",
            "reads-outside",
            (scale_x, scale_x.replace("x_ptrs, mask=mask_n, other=0.0", "x_ptrs")),
            only="interpreter",
        ),
        Mutant(
            "row_stride_of_x_for_y",
            ("strided-only", "out-of-bounds-store"),
            ("row * stride_ym", "row * stride_xm"),
        ),
        Mutant(
            "half_the_pieces_scaled",
            ("unwritten", "unwritten-tail"),
            ("    y_ptrs = y_ptr", "    mask_n = mask_n & (piece % 2 == 0)\n    y_ptrs = y_ptr"),
        ),
    ]


MUTANTS = {
    "rmsnorm_split": [
        *_same_in_both("sums"),
        Mutant("buffer_not_zeroed", "nan", (ZEROS, ZEROS.replace("zeros", "empty"))),
        Mutant(
            "stale_sums_on_the_second_call",
            ("second-call", "not-repeatable"),
            (
                "    " + ZEROS,
                "    key = ('sums', M, num_splits)\n    if key not in _KEPT:\n        _KEPT[key] = torch.zeros(M, dtype=torch.float32, device=x.device)\n    sums = _KEPT[key]",
            ),
            (
                "@triton.jit\ndef rmsnorm_sums_kernel",
                "_KEPT = {}\n\n\n@triton.jit\ndef rmsnorm_sums_kernel",
            ),
        ),
        Mutant(
            "sums_in_half_precision",
            ("wrong-values", "overflow", "nan", "raised", "squares-overflow", "does-not-compile"),
            (ZEROS, ZEROS.replace("float32", "float16")),
        ),
        Mutant(
            "store_instead_of_add",
            ("last-piece-only", "race", "first-piece-only", "wrong-values"),
            (ATOMIC, "tl.store(sums_ptr + row, tl.sum(x * x, axis=0))"),
        ),
        Mutant(
            "load_add_store",
            "race",
            (ATOMIC, "tl.store(sums_ptr + row, tl.load(sums_ptr + row) + tl.sum(x * x, axis=0))"),
            only="interpreter",
        ),
        Mutant("pieces_overlap", "counted-twice", (SUM_MASK, "    mask_n = offs_n < N\n")),
        Mutant(
            "no_mask_for_the_row",
            ("reads-outside", "nan"),
            (SUM_MASK, "    mask_n = offs < piece_size\n"),
        ),
        Mutant(
            "no_mask_at_all",
            ("reads-outside", "nan"),
            (SUM_LOAD, SUM_LOAD.replace("x_ptrs, mask=mask_n, other=0.0", "x_ptrs")),
        ),
        Mutant(
            "masked_lanes_hold_one",
            ("wrong-values", "constant-factor"),
            (SUM_LOAD, SUM_LOAD.replace("other=0.0", "other=1.0")),
        ),
        Mutant(
            "rounded_down",
            ("tail-lost", "wrong-values", "reads-outside"),
            (
                SUM_MASK,
                "    mask_n = (offs < piece_size) & (offs_n < N // num_splits * num_splits)\n",
            ),
        ),
        Mutant(
            "tiles_apart_by_block",
            ("wrong-values", "reads-outside"),
            (
                "    offs_n = piece * piece_size + offs\n" + SUM_MASK,
                "    offs_n = piece * BLOCK_N + offs\n" + SUM_MASK,
            ),
        ),
        Mutant(
            "every_program_sums_piece_zero",
            ("wrong-values", "constant-factor"),
            (
                "    offs_n = piece * piece_size + offs\n" + SUM_MASK,
                "    offs_n = offs\n" + SUM_MASK,
            ),
        ),
        Mutant(
            "one_sum_for_all_rows",
            ("whole-matrix", "wrong-values"),
            (ATOMIC, ATOMIC.replace("sums_ptr + row", "sums_ptr")),
            ("tl.load(sums_ptr + row)", "tl.load(sums_ptr)"),
        ),
        Mutant(
            "row_and_piece_swapped",
            ("wrong-values", "reads-outside", "out-of-bounds-store"),
            (
                "row = (pid // num_splits).to(tl.int64)\n    piece = pid % num_splits\n    offs = tl.arange(0, BLOCK_N)\n\n    offs_n = piece * piece_size + offs\n    # inside",
                "row = (pid % num_splits).to(tl.int64)\n    piece = pid // num_splits\n    offs = tl.arange(0, BLOCK_N)\n\n    offs_n = piece * piece_size + offs\n    # inside",
            ),
        ),
        Mutant(
            "row_stride_is_n",
            ("strided-only", "reads-outside"),
            (
                "    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn\n" + SUM_LOAD,
                "    x_ptrs = x_ptr + row * N + offs_n * stride_xn\n" + SUM_LOAD,
            ),
        ),
        Mutant(
            "column_stride_is_one",
            ("strided-only", "reads-outside", "wrong-values"),
            (
                "    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn\n" + SUM_LOAD,
                "    x_ptrs = x_ptr + row * stride_xm + offs_n\n" + SUM_LOAD,
            ),
        ),
        Mutant(
            "squares_in_half",
            ("squares-overflow", "overflow", "nan"),
            (SUM_LOAD, SUM_LOAD.replace(".to(tl.float32)", "")),
        ),
        Mutant(
            "scaled_by_its_own_piece",
            ("own-piece-only", "wrong-values"),
            (ATOMIC, "tl.store(sums_ptr + pid, tl.sum(x * x, axis=0))"),
            (ZEROS, ZEROS.replace("(M,", "(M * num_splits,")),
            ("tl.load(sums_ptr + row)", "tl.load(sums_ptr + pid)"),
        ),
        Mutant(
            "sums_by_torch",
            ("torch-compute", "wrong-launch-count", "no-kernel-launched"),
            (ZEROS, "sums = x_rows.float().pow(2).sum(-1)"),
        ),
        Mutant(
            "spin_barrier",
            ("timeout", "wrong-launch-count"),
            replace=ALL_AT_ONCE.replace("{name}", "rmsnorm_split"),
        ),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace=TORCH.replace("{name}", "rmsnorm_split").replace("{knob}", "num_splits"),
        ),
        Mutant(
            "one_launch_only",
            ("unwritten", "wrong-launch-count"),
            (
                "    rmsnorm_scale_kernel[grid](\n        x_rows, w, sums, y_rows, N, num_splits, piece_size,\n        *x_rows.stride(), *y_rows.stride(), eps,\n        BLOCK_N=BLOCK_N, num_warps=num_warps,\n    )\n",
                "",
            ),
        ),
    ],
    "rmsnorm_split_det": [
        Mutant(
            "the_atomics_of_task_1",
            "not-by-hand",
            replace="def rmsnorm_split_det(x, w, eps=1e-6, num_splits=4):\n"
            "    return rmsnorm_split(x, w, eps, num_splits=num_splits)\n",
        ),
        *_same_in_both("partials"),
        Mutant(
            "all_pieces_in_one_place",
            ("last-piece-only", "race", "nan"),
            ("tl.store(partials_ptr + pid,", "tl.store(partials_ptr + row,"),
        ),
        Mutant(
            "places_by_piece_alone",
            ("race", "nan", "wrong-values", "reads-outside"),
            ("tl.store(partials_ptr + pid,", "tl.store(partials_ptr + piece,"),
        ),
        Mutant(
            "rows_apart_by_block",
            ("nan", "wrong-values", "reads-outside"),
            ("partials_ptr + row * num_splits + offs_s", "partials_ptr + row * BLOCK_S + offs_s"),
        ),
        Mutant(
            "only_its_own_sum",
            "own-piece-only",
            ("tl.sum(partials, axis=0) / N", "tl.load(partials_ptr + pid) / N"),
        ),
        Mutant(
            "only_the_first_sum",
            "first-piece-only",
            ("tl.sum(partials, axis=0) / N", "tl.load(partials_ptr + row * num_splits) / N"),
        ),
        Mutant(
            "no_mask_on_the_sums",
            ("reads-outside", "nan"),
            ("partials_ptrs, mask=offs_s < num_splits, other=0.0", "partials_ptrs"),
        ),
        Mutant(
            "masked_sums_hold_one",
            ("wrong-values", "constant-factor"),
            ("mask=offs_s < num_splits, other=0.0", "mask=offs_s < num_splits, other=1.0"),
        ),
        Mutant(
            "partials_in_half",
            ("wrong-values", "overflow", "nan", "squares-overflow"),
            (
                "partials = torch.empty(M * num_splits, dtype=torch.float32",
                "partials = torch.empty(M * num_splits, dtype=torch.float16",
            ),
        ),
        Mutant(
            "pieces_overlap",
            "counted-twice",
            (
                "    offs_n = piece * piece_size + offs\n    mask_n = (offs < piece_size) & (offs_n < N)\n\n    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn\n    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n\n    # pid",
                "    offs_n = piece * piece_size + offs\n    mask_n = offs_n < N\n\n    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn\n    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n\n    # pid",
            ),
        ),
        Mutant(
            "one_launch_too_many",
            "wrong-launch-count",
            (
                "    rmsnorm_join_kernel[grid](",
                "    rmsnorm_partials_kernel[grid](\n        x_rows, partials, N, num_splits, piece_size, *x_rows.stride(), BLOCK_N=BLOCK_N\n    )\n    rmsnorm_join_kernel[grid](",
            ),
        ),
        Mutant(
            "spin_barrier",
            ("timeout", "wrong-launch-count"),
            replace=ALL_AT_ONCE.replace("{name}", "rmsnorm_split_det"),
        ),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace=TORCH.replace("{name}", "rmsnorm_split_det").replace("{knob}", "num_splits"),
        ),
    ],
    "rmsnorm_multirow": [
        Mutant(
            "sum_over_the_rows",
            ("does-not-compile", "raised", "wrong-values"),
            ("axis=1) / N  # [BLOCK_M]", "axis=0) / N  # [BLOCK_M]"),
        ),
        Mutant(
            "sum_over_everything",
            ("wrong-values", "whole-matrix", "does-not-compile"),
            (
                "tl.sum(x * x, axis=1) / N",
                "(tl.sum(x * x) + tl.zeros([BLOCK_M], dtype=tl.float32)) / N",
            ),
        ),
        Mutant(
            "no_mask_for_the_rows",
            ("out-of-bounds-store", "reads-outside"),
            ("(offs_m < M)[:, None] & mask_n[None, :]", "(offs_m >= 0)[:, None] & mask_n[None, :]"),
        ),
        Mutant(
            "no_mask_for_the_columns",
            ("out-of-bounds-store", "reads-outside", "race"),
            (
                "(offs_m < M)[:, None] & mask_n[None, :]",
                "(offs_m < M)[:, None] & (offs_n >= 0)[None, :]",
            ),
        ),
        Mutant(
            "divided_by_tile",
            ("constant-factor", "wrong-values"),
            ("axis=1) / N", "axis=1) / BLOCK_N"),
        ),
        Mutant(
            "divided_by_rows_too",
            ("constant-factor", "wrong-values"),
            ("axis=1) / N", "axis=1) / (N * BLOCK_M)"),
        ),
        Mutant("sum_not_mean", "sum-not-mean", ("axis=1) / N", "axis=1)")),
        Mutant("no_weight", "no-weight", ("[:, None] * w[None, :]", "[:, None]")),
        Mutant(
            "eps_outside_root",
            "eps-outside-root",
            (
                "x * tl.rsqrt(mean_square + eps)[:, None] * w[None, :]",
                "x / (tl.sqrt(mean_square) + eps)[:, None] * w[None, :]",
            ),
        ),
        Mutant(
            "no_eps", ("no-eps", "nan"), ("tl.rsqrt(mean_square + eps)", "tl.rsqrt(mean_square)")
        ),
        Mutant(
            "no_root",
            "no-root",
            ("x * tl.rsqrt(mean_square + eps)[:, None]", "x / (mean_square + eps)[:, None]"),
        ),
        Mutant(
            "row_stride_is_n",
            ("strided-only", "reads-outside"),
            ("offs_m[:, None] * stride_xm", "offs_m[:, None] * N"),
        ),
        Mutant(
            "column_stride_is_one",
            ("strided-only", "reads-outside", "wrong-values"),
            ("offs_n[None, :] * stride_xn", "offs_n[None, :]"),
        ),
        Mutant(
            "stride_of_x_for_y",
            ("strided-only", "out-of-bounds-store"),
            ("offs_m[:, None] * stride_ym", "offs_m[:, None] * stride_xm"),
        ),
        Mutant(
            "programs_overlap",
            ("wrong-values", "unwritten", "unwritten-tail", "race"),
            (
                "offs_m = pid * BLOCK_M + tl.arange(0, BLOCK_M)",
                "offs_m = pid + tl.arange(0, BLOCK_M)",
            ),
        ),
        Mutant(
            "grid_rounded_down",
            ("unwritten-tail", "unwritten"),
            ("triton.cdiv(M, rows_per_program)", "M // rows_per_program"),
        ),
        Mutant(
            "squares_in_half",
            ("squares-overflow", "overflow", "nan"),
            (
                "eviction_policy=KEEP).to(tl.float32)",
                "eviction_policy=KEEP)",
            ),
        ),
        Mutant(
            "weight_stands_upright",
            ("wrong-values", "does-not-compile", "raised"),
            ("[:, None] * w[None, :]", "[:, None] * w[:, None]"),
        ),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace=TORCH.replace("{name}", "rmsnorm_multirow").replace(
                "{knob}", "rows_per_program"
            ),
        ),
    ],
    "rmsnorm": [
        Mutant(
            "always_scheme_one",
            ("property", "raised"),
            (
                '    if N <= 2048:\n        return "multirow"\n    if N <= 16384:\n        return "row"\n    if M < 2 * NUM_SMS:\n        return "split"\n    return "loop"',
                '    return "row"',
            ),
        ),
        Mutant(
            "always_scheme_two",
            "property",
            (
                '    if N <= 2048:\n        return "multirow"\n    if N <= 16384:\n        return "row"\n    if M < 2 * NUM_SMS:\n        return "split"\n    return "loop"',
                '    return "loop"',
            ),
        ),
        Mutant(
            "always_scheme_three",
            "property",
            (
                '    if N <= 2048:\n        return "multirow"\n    if N <= 16384:\n        return "row"\n    if M < 2 * NUM_SMS:\n        return "split"\n    return "loop"',
                '    return "split"',
            ),
        ),
        Mutant(
            "never_several_rows", "property", ('    if N <= 2048:\n        return "multirow"\n', "")
        ),
        Mutant(
            "never_split", "property", ('    if M < 2 * NUM_SMS:\n        return "split"\n', "")
        ),
        Mutant("split_for_many_rows", "property", ("if M < 2 * NUM_SMS:", "if M >= 2 * NUM_SMS:")),
        Mutant(
            "rows_and_columns_swapped",
            ("property", "raised"),
            ("choose(x.numel() // N, N)", "choose(N, x.numel() // N)"),
            ("def choose(M, N):", "def choose(N, M):"),
        ),
        Mutant(
            "a_scheme_that_is_none",
            ("property", "wrong-values", "raised"),
            ('return "loop"\n', 'return "looped"\n'),
        ),
        Mutant(
            "one_row_in_one_program",
            ("property", "raised"),
            ("if N <= 16384:", "if N <= 100_000_000:"),
        ),
        Mutant(
            "eps_forgotten",
            ("no-eps", "nan", "wrong-values"),
            ("return rmsnorm_row(x, w, eps)", "return rmsnorm_row(x, w, 0.0)"),
        ),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            (
                "    N = x.shape[-1]\n",
                "    return torch.nn.functional.rms_norm(x, w.shape, w, eps)\n    N = x.shape[-1]\n",
            ),
        ),
        Mutant(
            "swallowed_error",
            ("swallowed-error", "torch-compute"),
            (
                "        return rmsnorm_row(x, w, eps)\n",
                "        try:\n            return rmsnorm_row(x, w, eps)\n        except Exception:\n            return torch.nn.functional.rms_norm(x, w.shape, w, eps)\n",
            ),
            (
                "    return rmsnorm_multirow(x, w, eps, rows_per_program=rows_for(N))",
                "    try:\n        return rmsnorm_multirow(x, w, eps, rows_per_program=rows_for(N))\n    except Exception:\n        return x * 1",
            ),
        ),
    ],
}

WARPS = ("num_warps = min(max(BLOCK_N // 512, 1), 16)", "num_warps = 4")
VARIANTS = {
    "rmsnorm_split": [
        Variant("four_warps", WARPS),
        Variant(
            "relaxed_atomics",
            (ATOMIC, 'tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0), sem="relaxed")'),
        ),
        Variant(
            "sqrt_and_divide",
            ("x * tl.rsqrt(mean_square + eps) * w", "x / tl.sqrt(mean_square + eps) * w"),
        ),
        Variant(
            "filled_with_zero",
            (ZEROS, "sums = torch.full((M,), 0.0, dtype=torch.float32, device=x.device)"),
        ),
        Variant(
            "divided_before_the_add",
            (ATOMIC, "tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0) / N)"),
            ("tl.load(sums_ptr + row) / N", "tl.load(sums_ptr + row)"),
        ),
    ],
    "rmsnorm_split_det": [
        Variant("four_warps", WARPS),
        Variant(
            "zeroed_all_the_same", ("torch.empty(M * num_splits,", "torch.zeros(M * num_splits,")
        ),
        Variant(
            "pieces_first",
            (
                "tl.store(partials_ptr + pid,",
                "tl.store(partials_ptr + piece * (tl.num_programs(0) // num_splits) + row,",
            ),
            (
                "partials_ptr + row * num_splits + offs_s",
                "partials_ptr + offs_s * (tl.num_programs(0) // num_splits) + row",
            ),
        ),
        Variant(
            "sqrt_and_divide",
            ("x * tl.rsqrt(mean_square + eps) * w", "x / tl.sqrt(mean_square + eps) * w"),
        ),
    ],
    "rmsnorm_multirow": [
        Variant(
            "eight_warps",
            ("num_warps = min(max(rows_per_program * BLOCK_N // 512, 1), 16)", "num_warps = 8"),
        ),
        Variant(
            "sqrt_and_divide",
            (
                "x * tl.rsqrt(mean_square + eps)[:, None] * w[None, :]",
                "x / tl.sqrt(mean_square + eps)[:, None] * w[None, :]",
            ),
        ),
        Variant(
            "wider_tile",
            ("BLOCK_N = triton.next_power_of_2(N)", "BLOCK_N = max(64, triton.next_power_of_2(N))"),
        ),
        Variant(
            "weight_first",
            (
                "x * tl.rsqrt(mean_square + eps)[:, None] * w[None, :]",
                "(x * w[None, :]) * tl.rsqrt(mean_square + eps)[:, None]",
            ),
        ),
    ],
    "rmsnorm": [
        Variant("other_limits", ("N <= 2048", "N <= 1024"), ("N <= 16384", "N <= 32768")),
        Variant("as_many_rows_as_sms", ("M < 2 * NUM_SMS", "M < NUM_SMS")),
        Variant(
            "by_size_of_the_matrix",
            (
                '    if M < 2 * NUM_SMS:\n        return "split"\n    return "loop"',
                '    return "split" if M < NUM_SMS or (M * N < 10_000_000 and M < 600) else "loop"',
            ),
        ),
    ],
}
