"""Wrong answers of 03_gelu_fusion with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

ALLOCATE = "    out = torch.empty_like(x)\n"


def pointwise(name, arithmetic):
    """Mistakes that any kernel of one tensor can make; `arithmetic` is its line of arithmetic."""
    store = "tl.store(out_ptr + offs, out, mask=mask)"
    launch = f"    {name}_kernel[grid](x, out, n_elements, BLOCK_SIZE=1024)\n"
    return [
        Mutant("no_store_mask", "out-of-bounds-store", (store, store.replace(", mask=mask", ""))),
        Mutant("mask_one_too_far", "out-of-bounds-store", ("offs < n_elements", "offs <= n_elements")),
        Mutant("mask_one_short", "unwritten-tail", ("offs < n_elements", "offs < n_elements - 1")),
        Mutant(
            "no_load_mask",
            "reads-outside",
            ("tl.load(x_ptr + offs, mask=mask)", "tl.load(x_ptr + offs)"),
            only="interpreter",
        ),
        Mutant("grid_rounds_down", "unwritten-tail", ("triton.cdiv(n_elements, 1024)", "n_elements // 1024")),
        Mutant("writes_into_x", ("input-changed", "aliases-input"), (ALLOCATE, "    out = x\n")),
        Mutant(
            "always_float32",
            "wrong-dtype",
            (ALLOCATE, "    out = torch.empty(x.shape, dtype=torch.float32, device=x.device)\n"),
        ),
        Mutant("no_check_of_the_layout", "should-raise", ("    require_contiguous(x)\n", "")),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace=f"def {name}(x):\n    require_contiguous(x)\n    return {name}_ref(x)\n",
        ),
        Mutant("decoy_launch", "torch-compute", ("    return out", f"    return {name}_ref(x)")),
        Mutant("two_launches", "wrong-launch-count", (launch, launch + launch)),
        Mutant("stores_twice", "slow", (store, f"{store}\n    {store}"), only="interpreter"),
        Mutant("loads_twice", "slow", (arithmetic, arithmetic.replace("out = x", "again = tl.load(x_ptr + offs, mask=mask).to(tl.float32)\n    out = again")), only="interpreter"),
        Mutant("in_float64", "slow", ("mask=mask).to(tl.float32)", "mask=mask).to(tl.float64)")),
        Mutant("stores_x", "unchanged", (arithmetic, "out = x")),
    ]


MUTANTS = {
    "silu": [
        *pointwise("silu", "out = x * tl.sigmoid(x)"),
        Mutant("only_the_sigmoid", "only-sigmoid", ("x * tl.sigmoid(x)", "tl.sigmoid(x)")),
        Mutant("sign_of_the_exponent", "sigmoid-of-minus-x", ("tl.sigmoid(x)", "tl.sigmoid(-x)")),
        Mutant("tanh_instead", "tanh", ("tl.sigmoid(x)", "(2 * tl.sigmoid(2 * x) - 1)")),
        Mutant("exponential_that_overflows", "overflow", ("x * tl.sigmoid(x)", "x * tl.exp(x) / (1 + tl.exp(x))")),
        Mutant(
            "sigmoid_in_the_tensors_dtype",
            ("does-not-compile", "raised"),
            ("mask=mask).to(tl.float32)", "mask=mask)"),
        ),
        Mutant("rounded_between", "rounded-between", ("out = x * tl.sigmoid(x)", "out = x * tl.sigmoid(x).to(tl.float16).to(tl.float32)")),
        Mutant("only_the_sigmoid_in_float32", "half-arithmetic", ("mask=mask).to(tl.float32)", "mask=mask)"), ("tl.sigmoid(x)", "tl.sigmoid(x.to(tl.float32)).to(x.dtype)")),
        Mutant("hard_swish", "wrong-values", ("tl.sigmoid(x)", "tl.minimum(tl.maximum(x / 6 + 0.5, 0.0), 1.0)")),
    ],
    "gelu_tanh": [
        *pointwise("gelu_tanh", "out = x * tl.sigmoid(2 * u)"),
        Mutant(
            "tanh_from_two_exponentials",
            "overflow",
            (
                "out = x * tl.sigmoid(2 * u)",
                "e = tl.exp(2 * u)\n    out = 0.5 * x * (1 + (e - 1) / (e + 1))",
            ),
        ),
        Mutant(
            "erf_form",
            "erf-form",
            ("out = x * tl.sigmoid(2 * u)", "out = 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))"),
        ),
        Mutant("sigmoid_of_u", "sigmoid-of-u", ("tl.sigmoid(2 * u)", "tl.sigmoid(u)")),
        Mutant("half_missing", "half-missing", ("x * tl.sigmoid(2 * u)", "2 * x * tl.sigmoid(2 * u)")),
        Mutant("one_missing", "one-missing", ("x * tl.sigmoid(2 * u)", "x * (tl.sigmoid(2 * u) - 0.5)")),
        Mutant("square_for_cube", "square-for-cube", ("0.044715 * x * x * x", "0.044715 * x * x")),
        Mutant("no_cubic_term", "no-cubic-term", (" + 0.044715 * x * x * x", "")),
        Mutant("quick_gelu", "quick-gelu", ("tl.sigmoid(2 * u)", "tl.sigmoid(1.702 * x)")),
        Mutant("silu", "silu", ("tl.sigmoid(2 * u)", "tl.sigmoid(x)")),
        Mutant("ten_times_the_coefficient", "coefficient", ("0.044715 * x * x", "0.44715 * x * x")),
        Mutant("root_missing", "root-missing", ("SQRT_2_OVER_PI * (", "SQRT_2_OVER_PI * SQRT_2_OVER_PI * (")),
        Mutant("factor_missing", "factor-missing", ("SQRT_2_OVER_PI * (", "1.0 * (")),
        Mutant("u_in_half_precision", ("half-arithmetic", "rounded-between"), ("out = x * tl.sigmoid(2 * u)", "u = u.to(out_ptr.dtype.element_ty).to(tl.float32)\n    out = x * tl.sigmoid(2 * u)")),
        Mutant("rough_constant", ("wrong-values", "wrong-by-value"), ("SQRT_2_OVER_PI * (", "0.8 * (")),
        Mutant("constant_of_two_digits", "wrong-values", ("0.044715 * x * x * x)", "0.045 * x * x * x)")),
        Mutant(
            "everything_in_the_tensors_dtype",
            ("does-not-compile", "raised"),
            ("mask=mask).to(tl.float32)", "mask=mask)"),
        ),
        Mutant("cube_in_half_precision", "rounded-between", ("x * x * x)", "(x * x * x).to(tl.float16).to(tl.float32))")),
        Mutant(
            "cube_by_torch",
            "torch-compute",
            (ALLOCATE, "    out = torch.empty_like(x)\n    cube = x * x * x\n"),
        ),
    ],
    "bias_gelu": [
        Mutant("bias_missing", "bias-missing", ("    x += bias\n", "")),
        Mutant("row_in_the_columns", "unwritten-tail", ("pid_n * BLOCK_SIZE", "pid_m * BLOCK_SIZE")),
        Mutant("sigmoid_of_u", "sigmoid-of-u", ("tl.sigmoid(2 * u)", "tl.sigmoid(u)")),
        Mutant("square_for_cube", "square-for-cube", ("0.044715 * x * x * x", "0.044715 * x * x")),
        Mutant("erf_form", "erf-form", ("out = x * tl.sigmoid(2 * u)", "out = 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))")),
        Mutant(
            "bias_after_gelu",
            "bias-after",
            ("    x += bias\n", ""),
            ("out = x * tl.sigmoid(2 * u)", "out = x * tl.sigmoid(2 * u) + bias"),
        ),
        Mutant("bias_by_row", "bias-by-row", ("bias_ptr + offs_n * stride_bn", "bias_ptr + pid_m * stride_bn + 0 * offs_n")),
        Mutant("first_bias_for_all", "first-bias-for-all", ("bias_ptr + offs_n * stride_bn", "bias_ptr + 0 * offs_n")),
        Mutant("bias_at_the_flat_index", ("reads-outside", "rows-after-first"), ("bias_ptr + offs_n * stride_bn", "bias_ptr + pid_m * N + offs_n")),
        Mutant("bias_stride_forgotten", ("strided-only", "reads-outside"), ("bias_ptr + offs_n * stride_bn", "bias_ptr + offs_n")),
        Mutant("rows_are_n_apart", ("strided-only",), ("x_ptr + pid_m * stride_xm", "x_ptr + pid_m * N")),
        Mutant("column_stride_forgotten", ("strided-only", "reads-outside"), ("offs_n * stride_xn", "offs_n")),
        Mutant("one_stride_for_two_tensors", ("strided-only", "out-of-bounds-store"), ("pid_m * stride_om", "pid_m * stride_xm")),
        Mutant("every_row_is_the_first", ("rows-after-first",), ("x_ptr + pid_m * stride_xm", "x_ptr")),
        Mutant("no_store_mask", "out-of-bounds-store", ("tl.store(out_ptrs, out, mask=mask_n)", "tl.store(out_ptrs, out)")),
        Mutant("one_tile_a_row", ("unwritten-tail", "unwritten"), ("(M, triton.cdiv(N, 1024))", "(M, 1)")),
        Mutant("grid_rounds_down", ("unwritten-tail", "unwritten"), ("triton.cdiv(N, 1024)", "max(1, N // 1024)")),
        Mutant(
            "grid_turned_round",
            ("unwritten", "unwritten-tail", "out-of-bounds-store"),
            ("grid = (M, triton.cdiv(N, 1024))", "grid = (triton.cdiv(N, 1024), M)"),
        ),
        Mutant(
            "sum_in_half_precision",
            "rounded-between",
            ("x += bias\n", "x = (x.to(out_ptr.dtype.element_ty) + bias.to(out_ptr.dtype.element_ty)).to(tl.float32)\n"),
        ),
        Mutant("bias_only_in_u", "bias-only-in-u", ("    x += bias\n", "    z = x + bias\n"), ("(x + 0.044715 * x * x * x)", "(z + 0.044715 * z * z * z)")),
        Mutant("bias_not_in_u", "bias-not-in-u", ("    x += bias\n", ""), ("out = x * tl", "out = (x + bias) * tl")),
        Mutant("bias_subtracted", "bias-subtracted", ("x += bias", "x -= bias")),
        Mutant("bias_with_the_column_stride_of_x", ("strided-only", "reads-outside"), ("offs_n * stride_bn", "offs_n * stride_xn")),
        Mutant("out_with_the_strides_of_x", ("strided-only", "out-of-bounds-store"), ("pid_m * stride_om + offs_n * stride_on", "pid_m * stride_xm + offs_n * stride_xn")),
        Mutant("tile_number_forgotten", ("unwritten-tail", "race"), ("pid_n * BLOCK_SIZE + tl.arange", "tl.arange")),
        Mutant("every_row_into_the_first", ("unwritten-tail", "race"), ("out_ptr + pid_m * stride_om", "out_ptr")),
        Mutant("no_load_mask", "reads-outside", ("tl.load(x_ptrs, mask=mask_n)", "tl.load(x_ptrs)"), only="interpreter"),
        Mutant("no_shape_check", "should-raise", ("bias.shape != x.shape[1:] or ", "")),
        Mutant("bias_added_by_torch", "torch-compute", ("    M, N = x.shape\n", "    x = x + bias\n    bias = bias - bias\n    M, N = x.shape\n")),
    ],
    "gelu_backward": [
        Mutant("dy_missing", "dy-missing", ("dy * (s + ", "1.0 * (s + ")),
        Mutant("second_term_missing", "second-term-missing", (" + x * s * (1 - s) * 2 * du", "")),
        Mutant("first_term_missing", "first-term-missing", ("(s + x * s", "(x * s")),
        Mutant("one_minus_s_missing", "one-minus-s-missing", ("x * s * (1 - s) * 2", "x * s * 2")),
        Mutant("sigmoid_of_u", "sigmoid-of-u", ("tl.sigmoid(2 * SQRT", "tl.sigmoid(SQRT")),
        Mutant("factor_missing_from_du", "factor-missing", ("du = SQRT_2_OVER_PI * (", "du = 1.0 * (")),
        Mutant("cube_for_square", "cube-for-square", ("3 * 0.044715 * x * x", "3 * 0.044715 * x * x * x")),
        Mutant("factor_two_missing", "two-missing", ("(1 - s) * 2 * du", "(1 - s) * du")),
        Mutant("factor_three_missing", "three-missing", ("3 * 0.044715", "0.044715")),
        Mutant("sign_of_one_minus_s", "wrong-values", ("(1 - s) * 2", "(1 + s) * 2")),
        Mutant("forward_instead", "forward", ("dy * (s + x * s * (1 - s) * 2 * du)", "dy * x * s")),
        Mutant(
            "tanh_that_overflows",
            ("overflow", "nan"),
            (
                "s = tl.sigmoid(2 * SQRT_2_OVER_PI * (x + 0.044715 * x * x * x))",
                "e = tl.exp(2 * SQRT_2_OVER_PI * (x + 0.044715 * x * x * x))\n    s = e / (1 + e)",
            ),
        ),
        Mutant("second_term_without_dy", "second-term-without-dy", ("dy * (s + x * s * (1 - s) * 2 * du)", "dy * s + x * s * (1 - s) * 2 * du")),
        Mutant("first_term_without_dy", "first-term-without-dy", ("dy * (s + x * s * (1 - s) * 2 * du)", "s + dy * x * s * (1 - s) * 2 * du")),
        Mutant("minus_the_second_term", "sign", ("(s + x * s", "(s - x * s")),
        Mutant("dy_twice", "unused-input", ("tl.load(x_ptr + offs", "tl.load(dy_ptr + offs")),
        Mutant("no_store_mask", "out-of-bounds-store", ("tl.store(dx_ptr + offs, dx, mask=mask)", "tl.store(dx_ptr + offs, dx)")),
        Mutant("grid_rounds_down", "unwritten-tail", ("triton.cdiv(n_elements, 1024)", "n_elements // 1024")),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace="def gelu_backward(dy, x):\n    if dy.shape != x.shape:\n        raise ValueError\n"
            '    return torch.ops.aten.gelu_backward(dy, x, approximate="tanh")\n',
        ),
    ],
}

BLOCK_256 = Variant(
    "block_256",
    ("triton.cdiv(n_elements, 1024)", "triton.cdiv(n_elements, 256)"),
    ("BLOCK_SIZE=1024", "BLOCK_SIZE=256"),
)
EIGHT_WARPS = Variant("eight_warps", ("BLOCK_SIZE=1024)", "BLOCK_SIZE=1024, num_warps=8)"))
WRITTEN_CAST = Variant("cast_before_the_store", ("out_ptr + offs, out,", "out_ptr + offs, out.to(out_ptr.dtype.element_ty),"))

VARIANTS = {
    "silu": [
        BLOCK_256,
        EIGHT_WARPS,
        WRITTEN_CAST,
        Variant("written_out", ("x * tl.sigmoid(x)", "x / (1 + tl.exp(-x))")),
        Variant("by_exp2", ("x * tl.sigmoid(x)", "x / (1 + tl.exp2(-1.4426950408889634 * x))")),
    ],
    "gelu_tanh": [
        BLOCK_256,
        EIGHT_WARPS,
        WRITTEN_CAST,
        Variant("tanh_through_sigmoid", ("out = x * tl.sigmoid(2 * u)", "out = 0.5 * x * (1 + 2 * tl.sigmoid(2 * u) - 1)")),
        Variant("exp_of_a_negative_number", ("out = x * tl.sigmoid(2 * u)", "e = tl.exp(-2 * tl.abs(u))\n    t = (1 - e) / (1 + e)\n    out = 0.5 * x * (1 + tl.where(u >= 0, t, -t))")),
        Variant("horner", ("(x + 0.044715 * x * x * x)", "x * (1 + 0.044715 * x * x)")),
    ],
    "bias_gelu": [
        Variant("block_128", ("triton.cdiv(N, 1024)", "triton.cdiv(N, 128)"), ("BLOCK_SIZE=1024", "BLOCK_SIZE=128")),
        Variant("whole_row_in_one_tile", ("grid = (M, triton.cdiv(N, 1024))", "grid = (M, 1)"), ("BLOCK_SIZE=1024", "BLOCK_SIZE=triton.next_power_of_2(N)")),
        Variant("masked_lanes_read_zero", ("offs_n * stride_bn, mask=mask_n)", "offs_n * stride_bn, mask=mask_n, other=0.0)")),
        Variant("sixty_four_bit_rows", ("pid_m = tl.program_id(axis=0)", "pid_m = tl.program_id(axis=0).to(tl.int64)")),
    ],
    "gelu_backward": [
        BLOCK_256,
        Variant("cast_before_the_store", ("dx_ptr + offs, dx,", "dx_ptr + offs, dx.to(dx_ptr.dtype.element_ty),")),
        Variant(
            "through_tanh",
            (
                "dx = dy * (s + x * s * (1 - s) * 2 * du)",
                "t = 2 * s - 1\n    dx = dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * du)",
            ),
        ),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "bias_gelu": {
        'x = tl.load(x_ptrs, mask=mask_n).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'bias = tl.load(bias_ptr + offs_n * stride_bn, mask=mask_n).to(tl.float32) => bias = tl.load(bias_ptr + offs_n * stride_bn, mask=mask_n)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on => out_ptrs = out_ptr + pid_m * stride_om + offs_n': "the wrapper makes a contiguous result: its last stride is 1",
    },
    "gelu_backward": {
        'dy = tl.load(dy_ptr + offs, mask=mask).to(tl.float32) => dy = tl.load(dy_ptr + offs, mask=mask)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
    },
}
