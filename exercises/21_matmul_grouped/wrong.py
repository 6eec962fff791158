"""Wrong answers of 21_matmul_grouped with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

OUTSIDE = ("reads-outside", "out-of-bounds-load")
UNWRITTEN = ("unwritten", "unwritten-tail")
RETURN = "return first_m + inside % rows, inside // rows"
TILE = "pid_m, pid_n = tile_of(pid, grid_m, grid_n, GROUP_M)"
GRID = 'grid = (triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)'

X_LOAD = "x = tl.load(x_ptrs, mask=mask_m & (offs_k[None, :] < K), other=0.0)"
W_LOAD = "w = tl.load(w_ptrs, mask=mask_n & (offs_k[:, None] < K), other=0.0)"
OFFS_K = "offs_k = k + tl.arange(0, BLOCK_K).to(tl.int64)"
X_PTRS = "x_ptr + offs_m[:, None] * stride_xm + offs_k[None, :] * stride_xk"
W_PTRS = "w_ptr + offs_k[:, None] * stride_wk + offs_n[None, :] * stride_wn"
DOT = 'acc = tl.dot(x, w, acc, input_precision="ieee")'
BIAS = "bias = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N, other=0.0)"
Y = "y = activate(acc + bias.to(tl.float32)[None, :], ACT)"
OUT_PTRS = "out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on"
STORE = "tl.store(out_ptrs, y, mask=mask_m & mask_n)"
HALF = "out_ptr.dtype.element_ty"
LAUNCH = "*x.stride(), *w.stride(), *bias.stride(), *out.stride(),"

TWO_NUMBERS = 'grid = (triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]))'
PIDS = "pid_m, pid_n = tile_of(tl.program_id(0), grid_m, grid_n, 8)"

# The layer in the other forms: a grid of two numbers, and pointers that move on.
COLUMN_BY_COLUMN = (
    (PIDS, "pid_m, pid_n = tl.program_id(0), tl.program_id(1)"),
    (GRID, TWO_NUMBERS),
)


def moving(x="x_ptrs += BLOCK_K * stride_xk", w="w_ptrs += BLOCK_K * stride_wk", left="K - k"):
    """Edits to a loop that moves its pointers by `x` and `w`, where `left` lanes count."""
    pointers = f"x_ptrs = {X_PTRS}", f"w_ptrs = {W_PTRS}"
    first = "".join(f"    {line}\n" for line in ("offs_k = tl.arange(0, BLOCK_K)", *pointers))
    zeros = "    acc = tl.zeros("
    return (
        (f"        {OFFS_K}\n        {pointers[0]}\n        {pointers[1]}\n", ""),
        (zeros, first + zeros),
        (X_LOAD, X_LOAD.replace("K)", f"{left})")),
        (W_LOAD, W_LOAD.replace("K)", f"{left})")),
        (DOT, f"{DOT}\n        {x}\n        {w}"),
    )


MUTANTS = {
    "swizzle": [
        Mutant("row_by_row", "row-by-row", (RETURN, "return pid // grid_n, pid % grid_n")),
        Mutant("column_by_column", "column-by-column", (RETURN, "return pid % grid_m, pid // grid_m")),
        Mutant("group_of_all_tiles", "group-of-all-tiles", ("per_group = group * grid_n", "per_group = grid_m * grid_n")),
        Mutant("rows_by_columns", "rows-by-columns", ("min(grid_m - first_m", "min(grid_n - first_m")),
        Mutant("along_the_row", "along-the-row", (RETURN, "return first_m + inside % grid_n, inside // grid_n")),
        Mutant("group_for_number_inside", "group-for-number-inside", ("inside = pid % per_group", "inside = pid // per_group")),
        Mutant("rows_for_programs_before", "first-row-for-programs-before", ("inside = pid % per_group", "inside = pid - first_m")),
        Mutant("first_row_is_0", "rows-divided-away", ("pid // per_group * group", "pid // (per_group * group)")),
        Mutant("every_group_is_full", "short-last-group", ("min(grid_m - first_m, group)", "group")),
        Mutant("rows_left_only", "all-rows-left", ("min(grid_m - first_m, group)", "grid_m - first_m")),
        Mutant("larger_of_the_two", "all-rows-left", ("min(", "max(")),
        Mutant("pair_swapped", "row-and-column-swapped", (RETURN, "return inside // rows, first_m + inside % rows")),
        Mutant("across_first", "row-by-row", (RETURN, "return first_m + inside // grid_n, inside % grid_n")),
        Mutant("across_by_rows", "swapped-inside-the-group", (RETURN, "return first_m + inside // rows, inside % rows")),
        Mutant("group_of_columns", ("group-of-columns", "raised"), ("per_group = group * grid_n", "per_group = group * grid_m")),
        Mutant("group_number_for_row", "group-number-for-row", ("pid // per_group * group", "pid // per_group")),
        Mutant("forgets_the_group", "row-inside-the-group", ("return first_m + inside % rows,", "return inside % rows,")),
        Mutant("not_inside", "number-not-inside", ("inside = pid % per_group", "inside = pid")),
        Mutant("column_not_inside", "number-not-inside", ("inside // rows", "pid // rows")),
        Mutant("by_group_instead_of_rows", "short-last-group", (RETURN, "return first_m + inside % group, inside // group")),
        Mutant("column_by_group", "column-by-whole-group", ("inside // rows", "inside // group")),
        Mutant("row_by_group", "row-by-whole-group", ("inside % rows", "inside % group")),
        Mutant("rows_of_the_last_group", "rows-of-the-last-group", ("min(grid_m - first_m, group)", "grid_m % group or group")),
        Mutant("groups_of_columns", "groups-of-columns", ("per_group = group * grid_n", "grid_m, grid_n = grid_n, grid_m\n    per_group = group * grid_n"), (RETURN, "return inside // rows, first_m + inside % rows")),
        Mutant("divmod_of_inside", "property", (RETURN, "pid_n, row = divmod(inside, rows)\n    return first_m + row, pid_n")),
        Mutant("a_quotient_cut", "property", ("pid // per_group * group", "int(pid / per_group) * group")),
        Mutant("a_list_of_tiles", "property", (RETURN, "return [(first_m + m, n) for n in range(grid_n) for m in range(rows)][inside]")),
        Mutant("real_division", ("wrong-values", "wrong-type"), ("inside // rows", "inside / rows")),
        Mutant("last_group_one_short", ("wrong-values", "raised"), ("min(grid_m - first_m, group)", "min(grid_m - first_m - 1, group)")),
        Mutant("returns_nothing", "wrong-type", (RETURN, "_ = first_m")),
        Mutant("returns_a_number", "wrong-values", (RETURN, "return first_m + inside % rows")),
    ],
    "matmul_grouped": [
        Mutant("a_small_tile_of_its_own", "too-many-programs", ('tile = tile or matmul_tile(a.dtype)', 'tile = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}')),
        Mutant("a_large_tile_of_its_own", "property", ('tile = tile or matmul_tile(a.dtype)', 'tile = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}')),
        Mutant("row_by_row", "property", (TILE, "pid_m, pid_n = pid // grid_n, pid % grid_n"), only="interpreter"),
        Mutant("column_by_column", "property", (TILE, "pid_m, pid_n = pid % grid_m, pid // grid_m"), only="interpreter"),
        Mutant("groups_of_one", "property", (TILE, "pid_m, pid_n = tile_of(pid, grid_m, grid_n, 1)"), only="interpreter"),
        Mutant("one_group_for_all", "property", (TILE, "pid_m, pid_n = tile_of(pid, grid_m, grid_n, grid_m)"), only="interpreter"),
        Mutant("two_numbers_as_in_page_20", "property",
            ("    pid = tl.program_id(0)\n    " + TILE, "    pid_m, pid_n = tl.program_id(0), tl.program_id(1)"),
            (GRID, 'grid = (triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]))'), only="interpreter"),
        Mutant("row_and_column_swapped", "row-and-column-swapped", (TILE, "pid_n, pid_m = tile_of(pid, grid_m, grid_n, GROUP_M)")),
        Mutant("grid_sizes_swapped", "row-and-column-swapped", (TILE, "pid_m, pid_n = tile_of(pid, grid_n, grid_m, GROUP_M)")),
        Mutant("group_comes_first", "row-and-column-swapped", (TILE, "pid_m, pid_n = tile_of(pid, GROUP_M, grid_m, grid_n)")),
        Mutant("sizes_for_numbers_of_tiles", "sizes-for-numbers-of-tiles", (TILE, "pid_m, pid_n = tile_of(pid, M, N, GROUP_M)")),
        Mutant("a_group_too_few_arguments", ("raised", "does-not-compile"), (TILE, "pid_m, pid_n = tile_of(pid, grid_m, grid_n)")),
        Mutant("grid_of_rows_only", "grid-of-rows-only", (GRID, 'grid = (triton.cdiv(M, tile["BLOCK_M"]),)')),
        Mutant("grid_of_columns_only", "grid-of-columns-only", (GRID, 'grid = (triton.cdiv(N, tile["BLOCK_N"]),)')),
        Mutant("two_program_ids", "grid-of-rows-only", ("    pid = tl.program_id(0)\n    " + TILE, "    pid_m, pid_n = tl.program_id(0), tl.program_id(1)")),
        Mutant("grid_rounds_m_down", "grid-rounds-m-down", (GRID, 'grid = ((M // tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)')),
        Mutant("grid_rounds_n_down", "grid-rounds-n-down", (GRID, 'grid = (triton.cdiv(M, tile["BLOCK_M"]) * (N // tile["BLOCK_N"]),)')),
        Mutant("grid_rounds_once", "grid-rounds-once", (GRID, 'grid = (triton.cdiv(M * N, tile["BLOCK_M"] * tile["BLOCK_N"]),)')),
        Mutant("grid_of_two_numbers", ("grid-of-rows-only", "race"), (GRID, 'grid = (triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]))')),
        Mutant("grid_rounds_down", "grid-rounds-down", (GRID, 'grid = ((M // tile["BLOCK_M"]) * (N // tile["BLOCK_N"]),)')),
        Mutant("grid_of_elements", ("too-many-programs", "timeout"), (GRID, "grid = (M * N,)")),
        Mutant("grid_with_a_sum", "grid-of-the-sum", (GRID, 'grid = (triton.cdiv(M, tile["BLOCK_M"]) + triton.cdiv(N, tile["BLOCK_N"]),)')),
        Mutant("grid_without_comma", "raised", (GRID, GRID.replace(",)", ")"))),
        Mutant("last_program_left_out", "last-tile-left-out", (GRID, GRID.replace(",)", " - 1,)"))),
        Mutant("number_from_the_second_axis", "all-take-the-first", ("pid = tl.program_id(0)", "pid = tl.program_id(1)")),
        Mutant("the_matmul_of_page_20", ("torch-compute", "no-kernel-launched"), replace="def matmul_grouped(a, b, tile=None):\n    return torch.matmul(a, b)\n"),
    ],
    "linear_act": [
        Mutant("no_bias", "no-bias", (Y, "y = activate(acc, ACT)")),
        Mutant("no_activation", "no-activation", (Y, "y = acc + bias.to(tl.float32)[None, :]")),
        Mutant("activation_not_assigned", "no-activation", (Y, "y = acc + bias.to(tl.float32)[None, :]\n    activate(y, ACT)")),
        Mutant("activation_in_the_loop", "activation-in-every-step", (DOT, DOT + "\n        acc = activate(acc, ACT)")),
        Mutant("bias_after_activation", "bias-after-activation", (Y, "y = activate(acc, ACT) + bias.to(tl.float32)[None, :]")),
        Mutant("bias_by_row", "bias-by-row", (BIAS, "bias = tl.load(bias_ptr + offs_m * stride_bn, mask=(offs_m < M) & (offs_m < N), other=0.0)"), (Y, Y.replace("[None, :]", "[:, None]"))),
        Mutant("bias_of_rows_with_mask_of_rows", ("bias-by-row", *OUTSIDE), (BIAS, "bias = tl.load(bias_ptr + offs_m * stride_bn, mask=offs_m < M, other=0.0)"), (Y, Y.replace("[None, :]", "[:, None]"))),
        Mutant("bias_along_the_wrong_axis", ("raised", "does-not-compile", "bias-by-row", "wrong-values"), (Y, Y.replace("[None, :]", "[:, None]"))),
        Mutant("bias_ignores_its_stride", ("strided-only", *OUTSIDE), ("offs_n * stride_bn, mask", "offs_n, mask")),
        Mutant("bias_with_stride_of_w", ("strided-only", *OUTSIDE, "wrong-values"), ("offs_n * stride_bn, mask", "offs_n * stride_wn, mask")),
        Mutant("bias_without_mask", OUTSIDE, (BIAS, "bias = tl.load(bias_ptr + offs_n * stride_bn)"), only="interpreter"),
        Mutant("bias_of_the_first_tile", ("bias-of-the-first-tile", *OUTSIDE), (BIAS, "bias = tl.load(bias_ptr + tl.arange(0, BLOCK_N) * stride_bn, mask=tl.arange(0, BLOCK_N) < N, other=0.0)")),
        Mutant("one_bias_for_all", "first-bias-only", (BIAS, "bias = tl.load(bias_ptr)"), (Y, "y = activate(acc + bias.to(tl.float32), ACT)")),
        Mutant("bias_subtracted", "bias-subtracted", (Y, Y.replace("acc +", "acc -"))),
        Mutant("bias_multiplied", "wrong-values", (Y, Y.replace("acc +", "acc *"))),
        Mutant("bias_in_every_step", "bias-in-every-step", (DOT, DOT + "\n        b = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N, other=0.0)\n        acc += b.to(tl.float32)[None, :]"), (Y, "y = activate(acc, ACT)")),
        Mutant("always_relu", "relu-always", ("ACT=act", 'ACT="relu"')),
        Mutant("always_none", "no-activation", ("ACT=act", 'ACT="none"')),
        Mutant("always_silu", "silu-always", ("ACT)", '"silu")')),
        Mutant("rounded_before_the_bias", "rounded-before-the-bias", (Y, f"y = activate(acc.to({HALF}).to(tl.float32) + bias.to(tl.float32)[None, :], ACT)")),
        Mutant("rounded_before_the_activation", "rounded-before-the-activation", (Y, f"y = acc + bias.to(tl.float32)[None, :]\n    y = activate(y.to({HALF}).to(tl.float32), ACT)")),
        Mutant("activation_in_half", ("raised", "does-not-compile", "wrong-values", "rounded-before-the-activation"), (Y, f"y = activate((acc + bias.to(tl.float32)[None, :]).to({HALF}), ACT)")),
        Mutant("half_sum", ("half-sum", "raised", "does-not-compile"), ("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)", f"acc = tl.zeros((BLOCK_M, BLOCK_N), dtype={HALF})"), (DOT, f'acc += tl.dot(x, w, input_precision="ieee").to({HALF})'), (Y, "y = activate(acc.to(tl.float32) + bias.to(tl.float32)[None, :], ACT)")),
        Mutant("tf32_by_default", "tf32", (DOT, "acc = tl.dot(x, w, acc)")),
        Mutant("dot_of_float32_tiles", "float32-product", (DOT, 'acc = tl.dot(x.to(tl.float32), w.to(tl.float32), acc, input_precision="ieee")')),
        Mutant("forgets_to_add", "only-last-step", ("tl.dot(x, w, acc,", "tl.dot(x, w,")),
        Mutant("x_stands_still", "a-stands-still", *moving(x="pass")),
        Mutant("w_stands_still", "b-stands-still", *moving(w="pass")),
        Mutant("w_moves_sideways", "b-moves-sideways", *moving(w="w_ptrs += BLOCK_K * stride_wn")),
        Mutant("k_mask_never_moves", "lanes-past-k", *moving(left="K")),
        Mutant("k_without_its_start", "both-stand-still", (OFFS_K, "offs_k = tl.arange(0, BLOCK_K)"), (X_LOAD, X_LOAD.replace("< K", "< K - k")), (W_LOAD, W_LOAD.replace("< K", "< K - k"))),
        Mutant("offsets_and_mask_without_k", "both-stand-still-unmasked", (OFFS_K, "offs_k = tl.arange(0, BLOCK_K)")),
        Mutant("k_subtracted_twice", "k-subtracted-twice", (X_LOAD, X_LOAD.replace("< K", "< K - k")), (W_LOAD, W_LOAD.replace("< K", "< K - k"))),
        Mutant("no_mask_along_k", (*OUTSIDE, "lanes-past-k"), (X_LOAD, "x = tl.load(x_ptrs, mask=mask_m, other=0.0)"), (W_LOAD, "w = tl.load(w_ptrs, mask=mask_n, other=0.0)")),
        Mutant("no_other", "no-other", (X_LOAD, X_LOAD.replace(", other=0.0", "")), (W_LOAD, W_LOAD.replace(", other=0.0", "")), only="interpreter"),
        Mutant("out_with_rows_of_x", "rows-of-a-in-c", (OUT_PTRS, "out_ptr + offs_m[:, None] * stride_xm + offs_n[None, :] * stride_on"), only="interpreter"),
        Mutant("strides_in_another_order", ("wrong-values", *OUTSIDE, "out-of-bounds-store", "race", *UNWRITTEN, "strided-only"), (LAUNCH, "*w.stride(), *x.stride(), *bias.stride(), *out.stride(),")),
        Mutant("stride_of_bias_left_out", ("raised", "does-not-compile"), (LAUNCH, "*x.stride(), *w.stride(), *out.stride(),")),
        Mutant("no_store_mask", "out-of-bounds-store", (STORE, "tl.store(out_ptrs, y)")),
        Mutant("store_mask_of_rows_only", ("out-of-bounds-store", "race"), (STORE, "tl.store(out_ptrs, y, mask=mask_m)")),
        Mutant("grid_of_rows_only", "grid-of-one-dimension", (GRID, 'grid = (triton.cdiv(M, tile["BLOCK_M"]),)')),
        Mutant("grid_rounds_down", ("grid-rounds-down", "unwritten-tail"), (GRID, 'grid = ((M // tile["BLOCK_M"]) * (N // tile["BLOCK_N"]),)')),
        Mutant("grid_of_elements", "too-many-programs", (GRID, "grid = (M * N,)")),
        Mutant("grid_swapped", "grid-swapped", COLUMN_BY_COLUMN[0], (GRID, 'grid = (triton.cdiv(N, tile["BLOCK_N"]), triton.cdiv(M, tile["BLOCK_M"]))')),
        Mutant("one_number_for_a_grid_of_two", "grid-of-one-dimension", COLUMN_BY_COLUMN[0]),
        Mutant("two_numbers_for_a_grid_of_one", "grid-of-one-dimension", COLUMN_BY_COLUMN[1]),
        Mutant("tiles_along_n_round_down", (*UNWRITTEN, "out-of-bounds-store"), ("grid_m, grid_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)", "grid_m, grid_n = tl.cdiv(M, BLOCK_M), N // BLOCK_N")),
        Mutant("float32_result", "wrong-dtype", ("dtype=x.dtype, device", "dtype=torch.float32, device")),
        Mutant("no_return", "wrong-type", ("    return out", "    return None")),
        Mutant("takes_any_activation", "should-raise", ("act not in ACTIVATIONS or ", "")),
        Mutant("second_operator_in_torch", "torch-compute", ("    return out", "    return out * 1")),
        Mutant("product_by_torch", ("torch-compute", "no-kernel-launched"), replace="def linear_act(x, w, bias, act):\n    if act not in ACTIVATIONS:\n        raise ValueError\n    return ACTIVATIONS[act](x @ w + bias)\n"),
    ],
}

VARIANTS = {
    "swizzle": [
        Variant("if_for_the_last", ("rows = min(grid_m - first_m, group)", "rows = group if first_m + group <= grid_m else grid_m - first_m")),
        Variant("remainder_by_subtraction", ("inside = pid % per_group", "inside = pid - first_m * grid_n")),
        Variant("names_of_the_tutorial", ("    inside = pid % per_group\n    " + RETURN, "    pid_m = first_m + (pid % per_group) % rows\n    pid_n = (pid % per_group) // rows\n    return pid_m, pid_n")),
    ],
    "matmul_grouped": [
        Variant("groups_of_4", ("GROUP_M=8", "GROUP_M=4")),
        Variant("in_one_line", ("    pid = tl.program_id(0)\n    " + TILE, "    pid_m, pid_n = tile_of(tl.program_id(0), grid_m, grid_n, GROUP_M)")),
        Variant("number_of_tiles_again", (TILE, "pid_m, pid_n = tile_of(pid, tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP_M)")),
        Variant("rule_written_out", (TILE, "first = pid // (GROUP_M * grid_n) * GROUP_M\n    rows = tl.minimum(grid_m - first, GROUP_M)\n    pid_m = first + pid % (GROUP_M * grid_n) % rows\n    pid_n = pid % (GROUP_M * grid_n) // rows")),
        Variant("grid_as_a_function", (GRID, 'grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)')),
    ],
    "linear_act": [
        Variant("column_by_column", *COLUMN_BY_COLUMN),
        Variant("pointers_that_move", *moving()),
        Variant("column_by_column_with_pointers_that_move", *COLUMN_BY_COLUMN, *moving()),
        Variant("tiles_of_32", ("tile = matmul_tile(x.dtype)", "tile = dict(BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)")),
        Variant("wide_tiles", ("tile = matmul_tile(x.dtype)", "tile = dict(BLOCK_M=64, BLOCK_N=128, BLOCK_K=16, num_warps=8)")),
        Variant("acc_starts_with_the_bias", (Y, "y = activate(acc, ACT)"), ("    " + BIAS + "\n", ""), ("    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n", "    " + BIAS + "\n    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32) + bias.to(tl.float32)[None, :]\n")),
        Variant("no_cast_of_the_bias", ("bias.to(tl.float32)[None, :]", "bias[None, :]")),
        Variant("bias_as_a_row", (BIAS, "bias = tl.load(bias_ptr + offs_n[None, :] * stride_bn, mask=mask_n, other=0.0)"), ("bias.to(tl.float32)[None, :]", "bias.to(tl.float32)")),
        Variant("branches_in_the_kernel", (Y, "y = acc + bias.to(tl.float32)[None, :]\n    if ACT == \"relu\":\n        y = tl.where(y > 0, y, 0.0)\n    else:\n        y = activate(y, ACT)")),
        Variant("counts_steps", ("for k in range(0, K, BLOCK_K):", "for step in range(tl.cdiv(K, BLOCK_K)):\n        k = step * BLOCK_K")),
        Variant("cast_before_the_store", ("tl.store(out_ptrs, y,", f"tl.store(out_ptrs, y.to({HALF}),")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes, or none that shows here.
CONTIGUOUS = "the wrapper makes a contiguous result: its last stride is 1"
NEVER_STORED = "what the masked lanes hold is never stored"
ONE_SIDE = "0 on one side is enough: 1 times 0"
FAR = "shows where an offset passes the largest int32"
EQUIVALENT = {
    "linear_act": {
        "bias = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N, other=0.0) => bias = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N)": NEVER_STORED,
        "bias = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N, other=0.0) => bias = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N, other=1.0)": NEVER_STORED,
        "out = torch.empty((M, N), dtype=x.dtype, device=x.device) => out = torch.empty((M, N), dtype=x.dtype)": "a GPU's check refuses a result on the CPU",
        "offs_k = k + tl.arange(0, BLOCK_K).to(tl.int64) => offs_k = k + tl.arange(0, BLOCK_K)": FAR,
        "out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on => out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :]": CONTIGUOUS,
        "offs_m = pid_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M) => offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)": FAR,
        "offs_n = pid_n.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N) => offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)": FAR,
        "pid_m, pid_n = tile_of(tl.program_id(0), grid_m, grid_n, 8) => pid_m, pid_n = tile_of(tl.program_id(0), grid_m, grid_n, 1)": "the order of the tiles is a matter of speed",
        "pid_m, pid_n = tile_of(tl.program_id(0), grid_m, grid_n, 8) => pid_m, pid_n = tile_of(tl.program_id(0), grid_m, grid_n, 9)": "the order of the tiles is a matter of speed",
        "x = tl.load(x_ptrs, mask=mask_m & (offs_k[None, :] < K), other=0.0) => x = tl.load(x_ptrs, mask=mask_m & (offs_k[None, :] < K), other=1.0)": ONE_SIDE,
        "w = tl.load(w_ptrs, mask=mask_n & (offs_k[:, None] < K), other=0.0) => w = tl.load(w_ptrs, mask=mask_n & (offs_k[:, None] < K), other=1.0)": ONE_SIDE,
        "y = activate(acc + bias.to(tl.float32)[None, :], ACT) => y = activate(acc + bias[None, :], ACT)": "acc makes it float32",
    },
}
