"""Wrong answers of 12_rmsnorm_choose with the diagnosis each must get, and honest variants."""

from tritonbook.course.mutants import Mutant, Variant

MEAN = "mean_square = tl.sum(x * x, axis=1) / N  # [BLOCK_M]"
RESULT = "y = x * tl.rsqrt(mean_square + eps)[:, None] * w[None, :]"
MASK = "mask = (offs_m < M)[:, None] & mask_n[None, :]  # [BLOCK_M, BLOCK_N]"
X_PTRS = "x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_n[None, :] * stride_xn"
X_LOAD = "x = tl.load(x_ptrs, mask=mask, other=0.0).to(tl.float32)"
W_LOAD = "w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)"
Y_PTRS = "y_ptrs = y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :] * stride_yn"
STORE = "tl.store(y_ptrs, y, mask=mask)"
OFFS_M = "offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)"
GRID = "(triton.cdiv(M, rows_per_program),)"
EMPTY = "y = torch.empty(x.shape, dtype=x.dtype, device=x.device)"
TOO_LARGE = '    if rows_per_program * BLOCK_N > 65536:\n        raise ValueError(f"{rows_per_program} rows of {N} do not fit one program")\n'
HALF = "x_ptr.dtype.element_ty"

A_ROW_EACH = '''
@triton.jit
def one_row_kernel(x_ptr, w_ptr, y_ptr, N, stride_xm, stride_xn, eps, BLOCK_N: tl.constexpr):
    pid_m = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    x = tl.load(x_ptr + pid_m * stride_xm + offs_n * stride_xn, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / N + eps) * w
    tl.store(y_ptr + pid_m * N + offs_n, y.to(y_ptr.dtype.element_ty), mask=mask_n)


def rmsnorm_multirow(x, w, eps=1e-6, rows_per_program=4):
    require_weight(x, w)
    N = x.shape[-1]
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows = x.reshape(-1, N)
    one_row_kernel[(rows.shape[0],)](rows, w, y, N, *rows.stride(), eps, BLOCK_N=triton.next_power_of_2(N))
    return y
'''

# Right, with a loop over the program's rows in place of a table.
ROW_BY_ROW = '''
@triton.jit
def row_by_row_kernel(
    x_ptr, w_ptr, y_ptr, M, N, stride_xm, stride_xn, eps, ROWS: tl.constexpr, BLOCK_N: tl.constexpr
):
    first = tl.program_id(0).to(tl.int64) * ROWS
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    for row in range(ROWS):
        mask = mask_n & (first + row < M)
        x_ptrs = x_ptr + (first + row) * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask, other=0.0).to(tl.float32)
        y = x * tl.rsqrt(tl.sum(x * x, axis=0) / N + eps) * w
        tl.store(y_ptr + (first + row) * N + offs_n, y.to(y_ptr.dtype.element_ty), mask=mask)


def rmsnorm_multirow(x, w, eps=1e-6, rows_per_program=4):
    require_weight(x, w)
    N = x.shape[-1]
    if rows_per_program * triton.next_power_of_2(N) > 65536:
        raise ValueError("too many elements for one program")
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows = x.reshape(-1, N)
    row_by_row_kernel[(triton.cdiv(len(rows), rows_per_program),)](
        rows, w, y, len(rows), N, *rows.stride(), eps, ROWS=rows_per_program, BLOCK_N=triton.next_power_of_2(N)
    )
    return y
'''

RULES = '''    if N <= 512:
        return "multirow"
    if N <= 32768:
        return "row"
    if M < num_sms:
        return "split"
    return "loop"'''
SHORT = '    if N <= 512:\n        return "multirow"\n'
FEW = '    if N > 16384 and M < num_sms:\n        return "split"\n'
FITS = '    if N <= 32768:\n        return "row"\n'


def _rules(name, text, codes="property"):
    return Mutant(name, codes, (RULES, text))


MUTANTS = {
    "rmsnorm_multirow": [
        # --- the formula
        Mutant("no_weight", "no-weight", (RESULT, RESULT.removesuffix(" * w[None, :]"))),
        Mutant("sum_not_mean", "sum-not-mean", (MEAN, MEAN.replace(" / N", ""))),
        Mutant("divided_by_tile", "divided-by-tile", (MEAN, MEAN.replace("/ N", "/ BLOCK_N"))),
        Mutant("divided_by_rows_too", "divided-by-rows", (MEAN, MEAN.replace("/ N", "/ (N * BLOCK_M)"))),
        Mutant("eps_outside_root", "eps-outside-root", (RESULT, "y = x / (tl.sqrt(mean_square) + eps)[:, None] * w[None, :]")),
        Mutant("eps_before_the_mean", "eps-before-the-mean", (MEAN, MEAN.replace("/ N", "/ N + eps / N - eps"))),
        Mutant("no_eps", "no-eps", (RESULT, RESULT.replace(" + eps", ""))),
        Mutant("eps_of_its_own", "fixed-eps", (RESULT, RESULT.replace("eps", "1e-6"))),
        Mutant("no_root", "no-root", (RESULT, "y = x / (mean_square + eps)[:, None] * w[None, :]")),
        Mutant("root_for_its_inverse", "root-for-its-inverse", ("tl.rsqrt(", "tl.sqrt(")),
        Mutant("mean_of_x", ("mean-of-x", "nan"), (MEAN, MEAN.replace("x * x", "x"))),
        Mutant("mean_of_magnitudes", "mean-of-magnitudes", (MEAN, MEAN.replace("x * x", "tl.abs(x)"))),
        Mutant("subtracts_the_mean", "layernorm", (MEAN, "x = tl.where(mask, x - (tl.sum(x, axis=1) / N)[:, None], 0.0)\n    " + MEAN)),
        Mutant("weight_added", "weight-added", (RESULT, RESULT.replace("* w", "+ w"))),
        Mutant("eps_subtracted", ("eps-subtracted", "nan"), (RESULT, RESULT.replace("+ eps", "- eps"))),
        Mutant("one_plus_weight", "one-plus-weight", (RESULT, RESULT.replace("w[None, :]", "(1 + w[None, :])"))),
        Mutant("rounded_before_the_weight", "rounded-twice", (RESULT, RESULT.removesuffix(" * w[None, :]") + f"\n    y = y.to({HALF}).to(tl.float32) * w[None, :]")),
        Mutant("squares_in_half", ("squares-overflow", "sum-in-half-precision", "overflow", "nan"), (X_LOAD, X_LOAD.replace(".to(tl.float32)", ""))),
        Mutant("sum_in_half", ("squares-overflow", "sum-in-half-precision", "overflow"), (MEAN, MEAN.replace("tl.sum(x * x, axis=1)", f"tl.sum((x * x).to({HALF}), axis=1).to(tl.float32)"))),
        # --- upright and flat
        Mutant("sum_down_the_columns", ("column-sums", "raised", "does-not-compile"), (MEAN, MEAN.replace("axis=1", "axis=0")), (RESULT, RESULT.replace("[:, None]", "[None, :]"))),
        Mutant("wrong_axis_alone", ("raised", "does-not-compile", "wrong-values"), (MEAN, MEAN.replace("axis=1", "axis=0"))),
        Mutant("sum_of_the_whole_tile", "one-sum-a-program", (MEAN, "mean_square = tl.sum(x * x) / N"), (RESULT, RESULT.replace("[:, None]", ""))),
        Mutant("root_lies_flat", ("root-lies-flat", "raised", "does-not-compile"), (RESULT, RESULT.replace("[:, None]", "[None, :]"))),
        Mutant("root_without_a_direction", ("root-lies-flat", "raised", "does-not-compile"), (RESULT, RESULT.replace("[:, None]", ""))),
        Mutant("weight_stands_upright", ("weight-upright", "raised", "does-not-compile"), (RESULT, RESULT.replace("w[None, :]", "w[:, None]"))),
        Mutant("one_weight", "first-weight-only", (W_LOAD, "w = tl.load(w_ptr + offs_n * 0).to(tl.float32)")),
        # --- masks
        Mutant("no_mask_for_the_rows", ("out-of-bounds-store", "reads-outside"), (MASK, "mask = (offs_m >= 0)[:, None] & mask_n[None, :]")),
        Mutant("no_mask_for_the_columns", ("out-of-bounds-store", "reads-outside", "race"), (MASK, "mask = (offs_m < M)[:, None] & (offs_n >= 0)[None, :]")),
        Mutant("masks_swapped", ("raised", "does-not-compile", "reads-outside", "out-of-bounds-store"), (MASK, "mask = (offs_m < N)[:, None] & (offs_n < M)[None, :]")),
        Mutant("either_mask", ("out-of-bounds-store", "reads-outside", "race"), (MASK, MASK.replace("&", "|"))),
        Mutant("no_mask_at_the_load", "reads-outside", (X_LOAD, "x = tl.load(x_ptrs).to(tl.float32)"), only="interpreter"),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race"), (STORE, "tl.store(y_ptrs, y)")),
        Mutant("no_mask_for_the_weight", "reads-outside", (W_LOAD, "w = tl.load(w_ptr + offs_n).to(tl.float32)"), only="interpreter"),
        Mutant("masked_lanes_hold_one", "masked-lanes-counted", (X_LOAD, X_LOAD.replace("0.0", "1.0"))),
        Mutant("mask_one_short", ("wrong-values", "unwritten", "unwritten-tail"), (MASK, MASK.replace("offs_m < M", "offs_m < M - 1"))),
        # --- which rows
        Mutant("programs_overlap", "race", (OFFS_M, OFFS_M.replace("pid_m * BLOCK_M", "pid_m"))),
        Mutant("always_the_first_rows", ("race", "first-rows-again", "unwritten-tail", "unwritten"), (OFFS_M, OFFS_M.replace("pid_m * BLOCK_M + ", ""))),
        Mutant("first_rows_of_x", "first-rows-again", (X_PTRS, X_PTRS.replace("offs_m[:, None]", "tl.arange(0, BLOCK_M)[:, None]"))),
        Mutant("columns_for_rows", ("unwritten-tail", "raised", "does-not-compile", "out-of-bounds-store", "reads-outside", "race"), (OFFS_M, OFFS_M.replace("* BLOCK_M", "* BLOCK_N"))),
        Mutant("row_stride_is_n", ("strided-only", "reads-outside"), (X_PTRS, X_PTRS.replace("stride_xm", "N"))),
        Mutant("column_stride_is_one", ("strided-only", "reads-outside"), (X_PTRS, X_PTRS.replace(" * stride_xn", ""))),
        Mutant("no_columns", "first-column-only", (X_PTRS, "x_ptrs = x_ptr + offs_m[:, None] * stride_xm + 0 * offs_n[None, :]")),
        Mutant("strides_swapped", ("reads-outside", "wrong-values", "strided-only"), (X_PTRS, X_PTRS.replace("stride_xm", "s").replace("stride_xn", "stride_xm").replace("* s ", "* stride_xn "))),
        Mutant("stride_of_x_for_y", ("strided-only", "out-of-bounds-store"), (Y_PTRS, Y_PTRS.replace("stride_ym", "stride_xm"))),
        # --- the wrapper
        Mutant("a_program_for_each_row", "other-programs", (GRID, "(M,)")),
        Mutant("grid_rounded_down", ("other-programs", "unwritten-tail"), (GRID, "(M // rows_per_program,)")),
        Mutant("one_program_too_many", "other-programs", (GRID, "(M // rows_per_program + 1,)")),
        Mutant("grid_without_a_comma", "raised", (GRID, "triton.cdiv(M, rows_per_program)")),
        Mutant("always_four_rows", "other-programs", (GRID, "(triton.cdiv(M, 4),)"), ("BLOCK_M=rows_per_program", "BLOCK_M=4")),
        Mutant("a_row_each", "other-programs", replace=A_ROW_EACH),
        Mutant("rows_returned", "wrong-shape", ("    return y", "    return y_rows")),
        Mutant("nothing_returned", "wrong-type", ("    return y", "    return")),
        Mutant("result_as_strided_as_x", ("property", "raised"), (EMPTY, "y = torch.empty_like(x)")),
        Mutant("float32_result", "wrong-dtype", (EMPTY, EMPTY.replace("x.dtype", "torch.float32"))),
        Mutant("in_place", ("input-changed", "aliases-input", "raised"), (EMPTY, "y = x")),
        Mutant("view_of_any_strides", "raised", ("x.reshape(-1, N)", "x.view(-1, N)")),
        Mutant("eps_after_the_root", "no-eps", (RESULT, RESULT.replace("tl.rsqrt(mean_square + eps)", "(tl.rsqrt(mean_square) + eps)"))),
        Mutant("blocks_swapped", ("unwritten-tail", "unwritten", "reads-outside", "out-of-bounds-store"), ("BLOCK_M=rows_per_program, BLOCK_N=BLOCK_N,", "BLOCK_M=BLOCK_N, BLOCK_N=rows_per_program,")),
        Mutant("sizes_swapped", ("out-of-bounds-store", "reads-outside"), ("y_rows, M, N, *x", "y_rows, N, M, *x")),
        Mutant("another_error", "should-raise", ("raise ValueError(f", "raise TypeError(f")),
        Mutant("no_check_of_w", "should-raise", ("    require_weight(x, w)\n", "")),
        Mutant("no_check_of_the_tile", ("should-raise", "raised"), (TOO_LARGE, "")),
        Mutant("default_of_one_row", "other-programs", ("eps=1e-6, rows_per_program=4", "eps=1e-6, rows_per_program=1")),
        Mutant("rows_counted_by_the_first_dimension", "other-programs", ("M = x_rows.shape[0]", "M = x.shape[0]")),
        Mutant("two_dimensions_only", ("raised", "wrong-values", "reads-outside"), ("x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)", "x_rows, y_rows = x, y")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="def rmsnorm_multirow(x, w, eps=1e-6, rows_per_program=4):\n    return torch.nn.functional.rms_norm(x, w.shape, w, eps)\n"),
        Mutant("scheme_one", "other-programs", replace="def rmsnorm_multirow(x, w, eps=1e-6, rows_per_program=4):\n    return rmsnorm_row(x, w, eps)\n"),
        Mutant("untouched", "not-attempted", (STORE, "pass")),
    ],
    "rmsnorm": [
        # --- by one of the two sizes alone
        _rules("by_n_alone_with_split", SHORT + FITS + '    return "split"'),
        _rules("by_n_alone_with_loop", SHORT + FITS + '    return "loop"'),
        _rules("by_n_alone_row_as_long_as_it_fits", SHORT + FITS.replace("32768", "65536") + '    return "split"'),
        _rules("by_n_alone_from_16384", SHORT + FITS.replace("32768", "16384") + '    return "split"'),
        _rules("by_m_alone", '    if M < num_sms:\n        return "split"\n    return "loop"'),
        _rules("by_m_alone_in_three_steps", '    if M < num_sms:\n        return "split"\n    if M < 20000:\n        return "loop"\n    return "multirow"'),
        _rules("by_the_size_of_the_matrix", SHORT + '    if N > 16384 and M * N < 20_000_000:\n        return "split"\n' + FITS + '    return "loop"'),
        # --- one scheme for all
        *(_rules(f"always_{scheme}", f'    return "{scheme}"', ("property", "raised")) for scheme in ("row", "loop", "split", "multirow")),
        # --- a rule that is missing or wrong
        _rules("never_several_rows", FEW + FITS + '    return "loop"'),
        _rules("several_rows_up_to_64_only", SHORT.replace("512", "64") + FEW + FITS + '    return "loop"'),
        _rules("several_rows_for_many_only_wrongly", SHORT.replace("N <= 512", "N <= 512 and M < num_sms") + FEW + FITS + '    return "loop"'),
        _rules("never_split", SHORT + FITS + '    return "loop"'),
        _rules("split_few_rows_of_any_length", '    if M < num_sms:\n        return "split"\n' + SHORT + FITS + '    return "loop"'),
        _rules("split_few_rows_of_4096", SHORT + FEW.replace("16384", "4000") + FITS + '    return "loop"'),
        _rules("split_many_rows", SHORT + FEW.replace("M < num_sms", "M >= num_sms") + FITS + '    return "loop"'),
        _rules("split_a_handful_only", SHORT + FEW.replace("M < num_sms", "M < 8") + FITS + '    return "loop"'),
        _rules("never_one_tile", SHORT + FEW + '    return "loop"'),
        _rules("one_tile_for_all", SHORT + FEW + '    return "row"', ("property", "raised")),
        _rules("an_h100_s_count", SHORT + FEW.replace("num_sms", "132") + FITS + '    return "loop"'),
        _rules("sizes_of_the_page", '    sizes = {(1 << 20, 64): "multirow", (8, 262144): "split"}\n    return sizes.get((M, N), "row")', ("property", "raised")),
        _rules("a_scheme_that_is_none", SHORT + FEW + FITS + '    return "looped"'),
        _rules("a_number_for_a_scheme", SHORT + FEW + FITS.replace('"row"', "1") + '    return "loop"', ("property", "raised")),
        _rules("nothing_for_the_rest", SHORT + FEW + '    if 512 < N <= 32768:\n        return "row"'),
        Mutant("rows_and_columns_swapped", "property", ("def choose(M, N, num_sms):", "def choose(N, M, num_sms):")),
        # --- the dispatcher
        Mutant("eps_forgotten", ("no-eps", "nan", "wrong-values"), ("return rmsnorm_row(x, w, eps)", "return rmsnorm_row(x, w, 0.0)")),
        Mutant("eps_forgotten_for_short_rows", ("no-eps", "nan", "wrong-values"), ("rmsnorm_multirow(x, w, eps, rows_for(N))", "rmsnorm_multirow(x, w, 0.0, rows_for(N))")),
        Mutant("eps_forgotten_for_long_rows", ("no-eps", "nan", "wrong-values"), ("rmsnorm_split_det(x, w, eps,", "rmsnorm_split_det(x, w, 0.0,")),
        Mutant("torch_stand_in", "no-kernel-launched", ("    N = x.shape[-1]\n", "    return torch.nn.functional.rms_norm(x, w.shape, w, eps)\n    N = x.shape[-1]\n")),
        Mutant(
            "swallowed_error",
            ("swallowed-error", "torch-compute"),
            ("        return rmsnorm_multirow(x, w, eps, rows_for(N))\n", "        try:\n            return rmsnorm_multirow(x, w, eps, rows_for(N))\n        except Exception:\n            return torch.empty_like(x)\n"),
        ),
    ],
}

VARIANTS = {
    "rmsnorm_multirow": [
        Variant("eight_warps", ("num_warps=warps_for(rows_per_program * BLOCK_N)", "num_warps=8")),
        Variant("sqrt_and_divide", (RESULT, "y = x / tl.sqrt(mean_square + eps)[:, None] * w[None, :]")),
        Variant("wider_tile", ("BLOCK_N = triton.next_power_of_2(N)", "BLOCK_N = max(64, triton.next_power_of_2(N))")),
        Variant("weight_first", (RESULT, "y = (x * w[None, :]) * tl.rsqrt(mean_square + eps)[:, None]")),
        Variant("weight_without_a_direction", (RESULT, RESULT.replace("w[None, :]", "w"))),
        Variant("weight_as_a_table", (W_LOAD, "w = tl.load(w_ptr + offs_n[None, :] + 0 * offs_m[:, None], mask=mask_n[None, :], other=0.0).to(tl.float32)"), (RESULT, RESULT.replace("w[None, :]", "w"))),
        Variant("upright_from_the_start", (MEAN, "mean_square = tl.sum(x * x, axis=1, keep_dims=True) / N"), (RESULT, RESULT.replace("[:, None]", ""))),
        Variant("cast_before_the_store", (STORE, "tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask)")),
        # Both are powers of two: the tile is too large just where its elements of the rows are.
        Variant("elements_counted_for_the_limit", ("rows_per_program * BLOCK_N > 65536", "rows_per_program * N > 65536")),
        Variant("a_grid_with_a_second_number", (GRID, "(triton.cdiv(M, rows_per_program), 1)")),
        Variant("result_is_contiguous", (Y_PTRS, "y_ptrs = y_ptr + offs_m[:, None] * N + offs_n[None, :]")),
        Variant("expand_dims", (RESULT, RESULT.replace("(mean_square + eps)[:, None]", "(tl.expand_dims(mean_square, 1) + eps)"))),
        Variant("row_by_row", replace=ROW_BY_ROW),
        Variant("zeros_at_first", (EMPTY, "y = torch.zeros(x.shape, dtype=x.dtype, device=x.device)")),
        Variant("contiguous_first", ("    N = x.shape[-1]\n", "    x = x.contiguous()\n    N = x.shape[-1]\n")),
    ],
    "rmsnorm": [
        Variant("other_borders", ("N <= 512", "N <= 256"), ("N <= 32768", "N <= 20000")),
        Variant("several_rows_up_to_2048", ("N <= 512", "N <= 2048")),
        Variant("twice_as_many_rows_as_sms", ("M < num_sms", "M < 2 * num_sms")),
        Variant("half_as_many_rows_as_sms", ("M < num_sms", "M <= num_sms // 2")),
        Variant("split_first", (RULES, SHORT + FEW + FITS + '    return "loop"')),
        Variant("loop_from_16384", ("N <= 32768", "N <= 16384")),
        Variant("several_rows_only_of_many", ("N <= 512", "N <= 512 and M > 4 * num_sms")),
        Variant("rules_the_other_way_round", (RULES, '    if N > 16384:\n        return "split" if M < num_sms else "loop"\n    return "row" if N > 512 else "multirow"')),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "rmsnorm_multirow": {
        'if rows_per_program * BLOCK_N > 65536: => if rows_per_program * BLOCK_N > 65537:': "both numbers are powers of two",
        'pid_m = tl.program_id(axis=0).to(tl.int64) => pid_m = tl.program_id(axis=0)': "it shows beyond 2**31 elements only, which no case has",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'y = torch.empty(x.shape, dtype=x.dtype, device=x.device) => y = torch.empty(x.shape, dtype=x.dtype)': "the interpreter has one device; on a GPU Triton refuses it by name",
        'y_ptrs = y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :] * stride_yn => y_ptrs = y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :]': "the wrapper makes a contiguous result: its last stride is 1",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=1.0).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
    },
    "rmsnorm": {
        'if N <= 512: => if N < 512:': "the border itself: both schemes take as long there",
        'if N <= 32768: => if N < 32768:': "the border itself: both schemes take as long there",
        'if N <= 512: => if N <= 513:': "the border itself: both schemes take as long there",
        'if M < num_sms: => if M <= num_sms:': "the border itself: both schemes take as long there",
        'if N <= 32768: => if N <= 32769:': "the border itself: both schemes take as long there",
    },
}
