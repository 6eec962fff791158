"""Wrong answers of 20_matmul with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

A_LOAD = "a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)"
B_LOAD = "b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)"
STORE = "tl.store(c_ptrs, c, mask=mask_m[:, None] & mask_n[None, :])"
OUTSIDE = ("reads-outside", "out-of-bounds-load")

MUTANTS = {
    "matmul": [
        Mutant(
            "no_mask_along_k",
            OUTSIDE,
            (A_LOAD, "a = tl.load(a_ptrs, mask=mask_m[:, None], other=0.0)"),
            (B_LOAD, "b = tl.load(b_ptrs, mask=mask_n[None, :], other=0.0)"),
        ),
        Mutant("k_mask_never_moves", OUTSIDE, ("offs_k < K - k", "offs_k < K")),
        Mutant(
            "k_loop_rounds_down",
            ("k-tail", "wrong-values"),
            ("for k in range(0, K, BLOCK_K):", "for k in range(0, K // BLOCK_K * BLOCK_K, BLOCK_K):"),
        ),
        Mutant(
            "only_the_first_step",
            ("only-first-k-tile", "wrong-values"),
            ("for k in range(0, K, BLOCK_K):", "for k in range(0, BLOCK_K, BLOCK_K):"),
        ),
        Mutant("forgets_to_add", ("only-last-k-tile", "wrong-values"), ("acc = tl.dot(a, b, acc,", "acc = tl.dot(a, b,")),
        Mutant("a_never_advances", ("a-stands-still", "wrong-values"), ("        a_ptrs += BLOCK_K * stride_ak\n", "")),
        Mutant("b_never_advances", ("b-stands-still", "wrong-values"), ("        b_ptrs += BLOCK_K * stride_bk\n", "")),
        Mutant("b_advances_by_columns", OUTSIDE + ("wrong-values",), ("b_ptrs += BLOCK_K * stride_bk", "b_ptrs += BLOCK_K * stride_bn")),
        Mutant("half_accumulator", "property",
            ("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)", "acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=c_ptr.dtype.element_ty)"),
            ("acc = tl.dot(a, b, acc, input_precision=\"ieee\")", "acc += tl.dot(a, b, input_precision=\"ieee\").to(c_ptr.dtype.element_ty)"),
        ),
        Mutant("no_store_mask", "out-of-bounds-store", (STORE, "tl.store(c_ptrs, c)")),
        Mutant("store_mask_of_rows_only", ("out-of-bounds-store", "race"), (STORE, "tl.store(c_ptrs, c, mask=mask_m[:, None])")),
        Mutant("masks_swapped", ("unwritten", "unwritten-tail", "out-of-bounds-store") + OUTSIDE, ("mask_m, mask_n = offs_m < M, offs_n < N", "mask_m, mask_n = offs_m < N, offs_n < M")),
        Mutant("a_strides_swapped", OUTSIDE + ("wrong-values",), ("offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak", "offs_m[:, None] * stride_ak + offs_k[None, :] * stride_am")),
        Mutant("a_must_be_contiguous", ("strided-only",) + OUTSIDE, ("offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak", "offs_m[:, None] * K + offs_k[None, :]")),
        Mutant("b_strides_of_a", OUTSIDE + ("wrong-values",), ("offs_k[:, None] * stride_bk", "offs_k[:, None] * stride_am")),
        Mutant("c_strides_of_a", ("unwritten-tail", "unwritten", "out-of-bounds-store", "race"), ("offs_m[:, None] * stride_cm", "offs_m[:, None] * stride_am")),
        Mutant("program_ids_swapped", ("unwritten", "unwritten-tail"), ("pid_m, pid_n = tl.program_id(0), tl.program_id(1)", "pid_n, pid_m = tl.program_id(0), tl.program_id(1)")),
        Mutant("grid_rounds_down", "unwritten-tail", ("triton.cdiv(N, blocks[\"BLOCK_N\"])", "N // blocks[\"BLOCK_N\"]")),
        Mutant("float32_result", "wrong-dtype", ("c = torch.empty((M, N), dtype=a.dtype", "c = torch.empty((M, N), dtype=torch.float32")),
        Mutant("takes_any_shapes", "should-raise", ("    if a.shape[1] != b.shape[0]:\n", "    if a.ndim != b.ndim:\n")),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace='''
def matmul(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError("inner sizes differ")
    return a @ b
''',
        ),
        Mutant("torch_after_all", "torch-compute", ("    return c", "    return torch.mm(a, b)")),
        Mutant("copies_its_inputs", "torch-compute", ("    M, K = a.shape\n", "    a = a + 0\n    M, K = a.shape\n")),
    ],
    "swizzle": [
        Mutant("row_by_row", "no-groups", ("return first_m + inside % rows, inside // rows", "return pid // grid_n, pid % grid_n")),
        Mutant("every_group_is_full", "short-last-group", ("min(grid_m - first_m, group)", "group")),
        Mutant("pair_swapped", "row-and-column-swapped", ("return first_m + inside % rows, inside // rows", "return inside // rows, first_m + inside % rows")),
        Mutant("across_first", ("across-first", "no-groups", "wrong-values"), ("return first_m + inside % rows, inside // rows", "return first_m + inside // grid_n, inside % grid_n")),
        Mutant("group_of_columns", ("wrong-values", "short-last-group"), ("per_group = group * grid_n", "per_group = group * grid_m")),
        Mutant("first_row_not_scaled", "wrong-values", ("pid // per_group * group", "pid // per_group")),
        Mutant("forgets_the_group", "wrong-values", ("return first_m + inside % rows,", "return inside % rows,")),
        Mutant("not_inside", "wrong-values", ("inside = pid % per_group", "inside = pid")),
        Mutant("rows_left_only", "wrong-values", ("min(grid_m - first_m, group)", "grid_m - first_m")),
        Mutant("real_division", ("wrong-values", "wrong-type"), ("inside // rows", "inside / rows")),
        Mutant("returns_nothing", ("wrong-type", "wrong-values"), ("    return first_m", "    _ = first_m")),
    ],
    "matmul_grouped": [
        Mutant("row_by_row", "property", ("    pid_m = first_m + inside % rows\n    pid_n = inside // rows\n", "")),
        Mutant("every_group_is_full", ("unwritten", "unwritten-tail", "property", "race"), ("tl.minimum(grid_m - first_m, GROUP_M)", "GROUP_M")),
        Mutant("across_first", ("property", "race", "unwritten", "unwritten-tail"), ("pid_m = first_m + inside % rows", "pid_m = first_m + inside // grid_n"), ("pid_n = inside // rows", "pid_n = inside % grid_n")),
        Mutant("row_and_column_swapped", ("unwritten", "unwritten-tail", "race"), ("pid_m = first_m + inside % rows", "pid_n = first_m + inside % rows"), ("pid_n = inside // rows", "pid_m = inside // rows")),
        Mutant("grid_of_rows_only", ("unwritten", "unwritten-tail"), ('triton.cdiv(M, blocks["BLOCK_M"]) * triton.cdiv(N, blocks["BLOCK_N"]),)', 'triton.cdiv(M, blocks["BLOCK_M"]),)')),
        Mutant("grid_rounds_down", ("unwritten", "unwritten-tail"), ('triton.cdiv(M, blocks["BLOCK_M"]) *', '(M // blocks["BLOCK_M"]) *')),
        Mutant("grid_of_two_dimensions", ("unwritten", "unwritten-tail", "race"), ('triton.cdiv(M, blocks["BLOCK_M"]) * triton.cdiv(N, blocks["BLOCK_N"]),)', 'triton.cdiv(M, blocks["BLOCK_M"]), triton.cdiv(N, blocks["BLOCK_N"]))')),
        Mutant("first_row_not_scaled", ("race", "unwritten", "unwritten-tail", "property"), ("pid // per_group * GROUP_M", "pid // per_group")),
        Mutant("not_inside", ("unwritten", "unwritten-tail", "race", "property"), ("inside = pid % per_group", "inside = pid")),
        Mutant("group_of_columns", ("unwritten", "unwritten-tail", "race", "property"), ("per_group = GROUP_M * grid_n", "per_group = GROUP_M * grid_m")),
    ],
    "linear_act": [
        Mutant("no_bias", "no-bias", ("y = acc + bias.to(tl.float32)[None, :]", "y = acc")),
        Mutant(
            "bias_by_row",
            ("bias-by-row", "wrong-values"),
            ("bias_ptr + offs_n * stride_bn, mask=mask_n", "bias_ptr + offs_m * stride_bn, mask=offs_m < N"),
            ("bias.to(tl.float32)[None, :]", "bias.to(tl.float32)[:, None]"),
        ),
        Mutant(
            "bias_after_activation",
            "bias-after-activation",
            ("y = acc + bias.to(tl.float32)[None, :]", "y = acc"),
            ("out = y.to(", "y += bias.to(tl.float32)[None, :]\n    out = y.to("),
        ),
        Mutant("bias_ignores_its_stride", ("strided-only", "reads-outside"), ("offs_n * stride_bn, mask", "offs_n, mask")),
        Mutant("bias_without_mask", OUTSIDE, ("offs_n * stride_bn, mask=mask_n, other=0.0", "offs_n * stride_bn"), only="interpreter"),
        Mutant("bias_of_the_first_tile", ("wrong-values", "wrong-tail") + OUTSIDE, ("bias_ptr + offs_n * stride_bn, mask=mask_n", "bias_ptr + tl.arange(0, BLOCK_N) * stride_bn, mask=tl.arange(0, BLOCK_N) < N")),
        Mutant("never_activates", "no-activation", ('ACT == "relu"', 'ACT == "Relu"'), ('ACT == "gelu"', 'ACT == "Gelu"'), ('ACT == "silu"', 'ACT == "Silu"')),
        Mutant("always_relu", "relu-always", ('if ACT == "relu"', 'if ACT != "nothing"')),
        Mutant("gelu_is_silu", "gelu-as-silu", ("y = gelu_tanh(y)", "y = y * tl.sigmoid(y)")),
        Mutant("silu_is_sigmoid", "wrong-values", ("y = y * tl.sigmoid(y)", "y = tl.sigmoid(y)")),
        Mutant("gelu_of_exponentials", ("nan", "overflow"), ("y = gelu_tanh(y)", "e = tl.exp(1.5957691216057308 * (y + 0.044715 * y * y * y))\n        y = 0.5 * y * (1 + (e - 1) / (e + 1))")),
        Mutant("no_store_mask", "out-of-bounds-store", ("tl.store(out_ptrs, out, mask=mask_m[:, None] & mask_n[None, :])", "tl.store(out_ptrs, out)")),
        Mutant("takes_any_activation", "should-raise", ('not in ("none", "relu", "gelu", "silu")', '== ""')),
        Mutant("second_operator_in_torch", "torch-compute", ("    return out", "    return out * 1")),
    ],
}

VARIANTS = {
    "matmul": [
        Variant("tiles_of_32", ("    blocks = tile(a.dtype)\n", "    blocks = dict(BLOCK_M=32, BLOCK_N=32, BLOCK_K=16)\n")),
        Variant("k_in_one_large_step", ("    blocks = tile(a.dtype)\n", "    blocks = dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=128)\n")),
        Variant("dot_added_afterwards", ("acc = tl.dot(a, b, acc, input_precision=\"ieee\")", "acc += tl.dot(a, b, input_precision=\"ieee\")")),
        Variant("addresses_from_k", ("        a_ptrs += BLOCK_K * stride_ak\n        b_ptrs += BLOCK_K * stride_bk\n", ""),
            (A_LOAD, A_LOAD.replace("a_ptrs", "a_ptrs + k * stride_ak")), (B_LOAD, B_LOAD.replace("b_ptrs", "b_ptrs + k * stride_bk"))),
        Variant("rows_wrap_around", ("a_ptrs = a_ptr + offs_m[:, None]", "a_ptrs = a_ptr + (offs_m % M)[:, None]"), (A_LOAD, "a = tl.load(a_ptrs, mask=mask_k[None, :], other=0.0)")),
    ],
    "swizzle": [
        Variant("divmod", ("    inside = pid % per_group\n    return first_m + inside % rows, inside // rows", "    pid_n, row = divmod(pid % per_group, rows)\n    return first_m + row, pid_n")),
        Variant("if_for_the_last", ("rows = min(grid_m - first_m, group)", "rows = group if first_m + group <= grid_m else grid_m - first_m")),
        Variant("remainder_by_subtraction", ("inside = pid % per_group", "inside = pid - first_m * grid_n")),
    ],
    "matmul_grouped": [
        Variant("groups_of_4", ("GROUP_M=8", "GROUP_M=4")),
        Variant("tiles_of_32", ("    blocks = tile(a.dtype)\n", "    blocks = dict(BLOCK_M=32, BLOCK_N=128, BLOCK_K=32)\n")),
        Variant("remainder_by_subtraction", ("inside = pid % per_group", "inside = pid - first_m * grid_n")),
        Variant("grid_as_a_function", ('grid = (triton.cdiv(M, blocks["BLOCK_M"]) * triton.cdiv(N, blocks["BLOCK_N"]),)', 'grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)')),
    ],
    "linear_act": [
        Variant("tiles_of_32", ("    blocks = tile(x.dtype)\n", "    blocks = dict(BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)\n")),
        Variant("relu_by_where", ("tl.maximum(y, 0.0)", "tl.where(y > 0, y, 0.0)")),
        Variant("silu_by_division", ("y = y * tl.sigmoid(y)", "y = y / (1.0 + tl.exp(-y))")),
        Variant("bias_enters_the_sum", ("y = acc + bias.to(tl.float32)[None, :]", "y = bias.to(tl.float32)[None, :] + acc")),
    ],
}
