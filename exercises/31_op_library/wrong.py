"""Wrong answers of 31_op_library with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

FIRST = '    lines.append("    i_0 = rest")\n'
INDEX = '        lines.append(f"    i_{d} = rest % size_{d}")\n        lines.append(f"    rest = rest // size_{d}")\n'
ADDRESS = 'address = " + ".join(f"i_{d} * stride_{x}_{d}" for d in range(ndim))'
LOAD = 'lines.append(f"    {x} = tl.load({x}_ptr + {address}, mask=mask).to(COMPUTE)")'

SUM = "dx = y * (dy - tl.sum(y * dy, axis=0))"
STORE = "tl.store(dx_ptr + pid_m * N + offs_n, dx, mask=mask_n)"
LOAD_DY = "dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)"
LOAD_Y = "y = tl.load(y_ptrs, mask=mask_n, other=0.0).to(tl.float32)"
REFUSED = "y.dim() != 2 or dy.shape != y.shape or y.shape[1] > 16384"
ALLOCATE = "dx = torch.empty((M, N), dtype=y.dtype, device=y.device)"

OPEN = '    lib = torch.library.Library("aten", "IMPL")\n'
BODY = """    try:
        for name, function in replacements.items():
            implement(lib, name, function)
        yield
    finally:
        lib._destroy()
"""
IN_A_ROW = "    for name, function in replacements.items():\n        implement(lib, name, function)\n"
SHARED = ("@contextlib.contextmanager", 'LIB = torch.library.Library("aten", "IMPL")\n\n\n@contextlib.contextmanager')
KEPT = ("@contextlib.contextmanager", "KEPT = []\n\n\n@contextlib.contextmanager")

MUTANTS = {
    "kernel_source": [
        Mutant("first_dimension_first", "first-dimension-first", ("in reversed(range(1, ndim)):", "in range(ndim - 1):"), (FIRST, '    lines.append(f"    i_{ndim - 1} = rest")\n')),
        Mutant("in_the_order_of_the_sizes", "not-the-last-dimension-first", ("in reversed(range(1, ndim)):", "in range(1, ndim):")),
        Mutant("first_index_overwritten", "first-index-is-zero", ("in reversed(range(1, ndim)):", "in reversed(range(ndim)):")),
        Mutant("first_index_divided", ("first-index-is-zero", "wrong-values"), (FIRST, '    lines.append("    i_0 = rest // size_0")\n')),
        Mutant("strides_ignored", ("strides-ignored", "reads-outside"), (ADDRESS, 'address = "offs"'), on_gpu=("rows-after-first",)),
        Mutant("strides_of_the_first_operand", ("strides-of-the-first", "reads-outside"), ("i_{d} * stride_{x}_{d}", "i_{d} * stride_{operands[0]}_{d}")),
        Mutant("first_operand_for_all", "one-operand-for-all", ("tl.load({x}_ptr", "tl.load({operands[0]}_ptr")),
        Mutant("last_dimension_alone", "last-dimension-only", (ADDRESS, 'address = f"i_{ndim - 1} * stride_{x}_{ndim - 1}"')),
        Mutant("first_dimension_left_out", ("last-dimension-only", "wrong-values", "raised"), (ADDRESS, ADDRESS.replace("range(ndim))", "range(1, ndim)) or '0'")), on_gpu=("does-not-compile",)),
        Mutant("not_converted", "not-in-compute", (").to(COMPUTE)", ")")),
        Mutant("always_float32", "whole-numbers-in-float32", (".to(COMPUTE)", ".to(tl.float32)")),
        Mutant("quotient_not_taken", ("reads-outside", "wrong-values"), ('        lines.append(f"    rest = rest // size_{d}")\n', "")),
        Mutant("quotient_before_the_remainder", "quotient-first", (INDEX, "".join(reversed(INDEX.splitlines(keepends=True))))),
        Mutant("divided_by_the_dimension_before", ("reads-outside", "wrong-values"), ("rest = rest // size_{d}", "rest = rest // size_{d - 1}")),
        Mutant("remainder_of_the_element", "remainder-of-the-element", ("i_{d} = rest % size_{d}", "i_{d} = offs % size_{d}")),
        Mutant("no_mask_in_the_load", ("reads-outside", "wrong-values"), (", mask=mask).to(COMPUTE)", ").to(COMPUTE)"), only="interpreter"),
        Mutant("first_index_by_the_last_size", "first-index-by-the-last-size", (FIRST, '    lines.append(f"    i_0 = rest % size_{ndim - 1}")\n')),
        Mutant("sizes_of_the_dimension_before", "size-of-the-dimension-before", ("rest % size_{d}", "rest % size_{d - 1}")),
        Mutant("strides_in_reverse", ("reads-outside", "wrong-values"), ("stride_{x}_{d}\" for d", "stride_{x}_{ndim - 1 - d}\" for d")),
        Mutant("index_times_size", ("reads-outside", "wrong-values"), ("i_{d} * stride_{x}_{d}", "i_{d} * size_{d}")),
        Mutant("stride_0_is_taken_for_1", ("reads-outside", "wrong-values"), ("i_{d} * stride_{x}_{d}", "i_{d} * tl.maximum(stride_{x}_{d}, 1)")),
        Mutant("two_dimensions_at_most", ("wrong-values", "raised"), (ADDRESS, ADDRESS.replace("range(ndim)", "range(min(ndim, 2))"))),
        Mutant("adresses_multiplied", ("wrong-values", "reads-outside"), ('" + ".join', '" * ".join')),
        Mutant("no_first_index", ("raised", "does-not-compile"), (FIRST, "")),
        Mutant("no_load", ("raised", "does-not-compile"), (LOAD, 'lines.append(f"    {x} = {x}_ptr + {address}")')),
        Mutant("no_blanks", ("raised", "does-not-compile"), ('lines.append("    i_0 = rest")', 'lines.append("i_0 = rest")')),
        Mutant("names_not_put_in", ("raised", "does-not-compile"), ('lines.append(f"    {x} = tl.load', 'lines.append("    {x} = tl.load')),
    ],
    "softmax_backward": [
        Mutant("copied_first", "copies", ("    M, N = y.shape\n    dx =", "    dy, y = dy.contiguous(), y.contiguous()\n    M, N = y.shape\n    dx =")),
        Mutant("sum_left_out", "sum-left-out", (SUM, "dx = y * dy")),
        Mutant("brackets_left_out", "sum-outside", (SUM, "dx = y * dy - tl.sum(y * dy, axis=0)")),
        Mutant("one_for_dy", "one-for-dy", (SUM, "dx = y * (1 - tl.sum(y * dy, axis=0))")),
        Mutant("stored_by_strides_of_y", ("stored-by-strides-of-y", "strided-only"), (STORE, STORE.replace("pid_m * N + offs_n", "pid_m * stride_ym + offs_n * stride_yn"))),
        Mutant("the_widest_tile_always", "tile-too-large", ("BLOCK_N = triton.next_power_of_2(N)", "BLOCK_N = 16384")),
        Mutant("sum_of_dy_alone", "sum-not-weighted", ("tl.sum(y * dy, axis=0)", "tl.sum(dy, axis=0)")),
        Mutant("sum_of_y_alone", "sum-of-y-alone", ("tl.sum(y * dy, axis=0)", "tl.sum(y, axis=0)")),
        Mutant("y_at_the_sum_alone", "y-at-the-sum-alone", (SUM, "dx = dy - y * tl.sum(y * dy, axis=0)")),
        Mutant("sum_of_squares", "sum-of-squares", ("tl.sum(y * dy, axis=0)", "tl.sum(y * y, axis=0)")),
        Mutant("product_of_sums", "product-of-sums", ("tl.sum(y * dy, axis=0)", "tl.sum(y, axis=0) * tl.sum(dy, axis=0)")),
        Mutant("softmax_of_y", "softmax-of-y", (SUM, 'y = tl.where(mask_n, y, float("-inf"))\n    y = tl.exp(y - tl.max(y, axis=0))\n    y = y / tl.sum(y, axis=0)\n    ' + SUM)),
        Mutant("largest_for_the_sum", "largest-not-sum", ("tl.sum(y * dy, axis=0)", "tl.max(y * dy, axis=0)")),
        Mutant("dy_left_out", "dy-left-out", (SUM, "dx = y * tl.sum(y * dy, axis=0)")),
        Mutant("mean_for_the_sum", "mean-not-sum", ("tl.sum(y * dy, axis=0)", "tl.sum(y * dy, axis=0) / N")),
        Mutant("not_times_y", "not-times-y", ("dx = y * (dy - tl.sum(y * dy, axis=0))", "dx = dy - tl.sum(y * dy, axis=0)")),
        Mutant("y_and_dy_exchanged", "times-dy", (SUM, "dx = dy * (y - tl.sum(y * dy, axis=0))")),
        Mutant("arguments_exchanged_in_the_launch", "times-dy", ("dy, y, dx, N, *dy.stride(), *y.stride()", "y, dy, dx, N, *y.stride(), *dy.stride()")),
        Mutant("sum_added", "sum-added", ("dy - tl.sum", "dy + tl.sum")),
        Mutant("sum_minus_dy", "negative", (SUM, "dx = y * (tl.sum(y * dy, axis=0) - dy)")),
        Mutant("gradient_of_a_log_softmax", "of-a-log-softmax", (SUM, "dx = dy - y * tl.sum(dy, axis=0)")),
        Mutant("gradient_of_a_sigmoid", "sigmoid", (SUM, "dx = dy * y * (1.0 - y)")),
        Mutant("sum_in_half_precision", ("sum-in-half-precision", "overflow", "nan"), ("tl.sum(y * dy, axis=0)", "tl.sum((y * dy).to(tl.float16), axis=0).to(tl.float32)")),
        Mutant("never_float32", "sum-in-half-precision", (LOAD_DY, LOAD_DY.replace(".to(tl.float32)", "")), (LOAD_Y, LOAD_Y.replace(".to(tl.float32)", ""))),
        Mutant("masked_lanes_are_one", "padding-counted", (LOAD_DY, LOAD_DY.replace("other=0.0", "other=1.0")), (LOAD_Y, LOAD_Y.replace("other=0.0", "other=1.0"))),
        Mutant("masked_lanes_as_in_softmax", "padding-infinite", (LOAD_DY, LOAD_DY.replace("other=0.0", 'other=float("-inf")'))),
        Mutant("no_mask_in_the_loads", "reads-outside", (LOAD_DY, "dy = tl.load(dy_ptrs).to(tl.float32)"), (LOAD_Y, "y = tl.load(y_ptrs).to(tl.float32)")),
        Mutant("no_mask_in_the_store", ("out-of-bounds-store", "race"), (STORE, STORE.replace(", mask=mask_n", ""))),
        Mutant("strides_of_y_for_both", ("strided-only", "reads-outside"), ("*dy.stride(), *y.stride()", "*y.stride(), *y.stride()")),
        Mutant("strides_of_dy_for_both", ("strided-only", "reads-outside"), ("*dy.stride(), *y.stride()", "*dy.stride(), *dy.stride()")),
        Mutant("no_strides_in_the_kernel", ("strided-only", "reads-outside"), ("dy_ptr + pid_m * stride_dm + offs_n * stride_dn", "dy_ptr + pid_m * N + offs_n"), ("y_ptr + pid_m * stride_ym + offs_n * stride_yn", "y_ptr + pid_m * N + offs_n")),
        Mutant("columns_side_by_side", ("strided-only", "reads-outside"), ("+ offs_n * stride_dn", "+ offs_n")),
        Mutant("every_row_is_the_first", "rows-after-first", ("dy_ptr + pid_m * stride_dm", "dy_ptr"), ("y_ptr + pid_m * stride_ym", "y_ptr")),
        Mutant("result_laid_out_like_dy", "result-laid-out-like-y", (ALLOCATE, "dx = torch.empty_like(dy)")),
        Mutant("result_laid_out_like_y", "result-laid-out-like-y", (ALLOCATE, "dx = torch.empty_like(y)")),
        Mutant("one_program", ("unwritten", "unwritten-tail"), ("softmax_backward_kernel[(M,)]", "softmax_backward_kernel[(1,)]")),
        Mutant("a_program_for_each_column", ("out-of-bounds-store", "unwritten", "unwritten-tail"), ("softmax_backward_kernel[(M,)]", "softmax_backward_kernel[(N,)]")),
        Mutant("tile_of_128", ("unwritten-tail", "unwritten", "wrong-values"), ("BLOCK_N = triton.next_power_of_2(N)", "BLOCK_N = 128")),
        Mutant("sum_of_a_piece", "sum-of-1024-elements", ("    offs_n = tl.arange(0, BLOCK_N)\n", "    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)\n"), ("BLOCK_N = triton.next_power_of_2(N)", "BLOCK_N = 1024"), ("softmax_backward_kernel[(M,)]", "softmax_backward_kernel[(M, triton.cdiv(N, BLOCK_N))]")),
        Mutant("tile_of_n", ("raised", "does-not-compile"), ("BLOCK_N = triton.next_power_of_2(N)", "BLOCK_N = N")),
        Mutant("always_float32", "wrong-dtype", (ALLOCATE, ALLOCATE.replace("dtype=y.dtype, ", ""))),
        Mutant("writes_over_dy", ("input-changed", "aliases-input"), (ALLOCATE, "dx = dy")),
        Mutant("no_check_of_the_shapes", "should-raise", (REFUSED, REFUSED.replace("dy.shape != y.shape or ", ""))),
        Mutant("elements_counted_for_the_shape", "should-raise", (REFUSED, REFUSED.replace("dy.shape != y.shape", "dy.numel() != y.numel()"))),
        Mutant("no_check_of_the_rank", "should-raise", (REFUSED, REFUSED.replace("y.dim() != 2 or ", ""))),
        Mutant("narrower_than_the_contract", "raised", (REFUSED, REFUSED.replace("> 16384", ">= 16384"))),
        Mutant("no_check_of_the_width", "should-raise", (REFUSED, REFUSED.replace(" or y.shape[1] > 16384", ""))),
        Mutant("torch_computes", "no-kernel-launched", replace="def softmax_backward_ref(dy, y):\n    return y * (dy - (y * dy).sum(dim=-1, keepdim=True))\n\n\ndef softmax_backward(dy, y):\n    return softmax_backward_ref(dy, y)\n"),
        Mutant("sum_by_torch", "torch-compute", ("    BLOCK_N = triton", "    total = (y * dy).sum(-1)\n    BLOCK_N = triton")),
    ],
    "use_kernels": [
        Mutant("no_finally", ("not-restored-after-an-error",), (BODY, IN_A_ROW + "    yield\n    lib._destroy()\n")),
        Mutant("left_to_the_garbage_collector", "never-restored", (BODY, IN_A_ROW + "    yield\n")),
        Mutant("replaced_before_the_try", "not-restored-after-a-refusal", (BODY, IN_A_ROW + "    try:\n        yield\n    finally:\n        lib._destroy()\n")),
        Mutant("never_restored", "never-restored", KEPT, (BODY, "    KEPT.append(lib)\n" + IN_A_ROW + "    yield\n")),
        Mutant("restored_after_good_blocks_alone", "not-restored-after-an-error", (BODY, BODY.replace("    finally:\n        lib", "    except ZeroDivisionError:\n        raise\n    else:\n        lib"))),
        Mutant("errors_vanish", "error-swallowed", (BODY, BODY.replace("    finally:", "    except Exception:\n        pass\n    finally:"))),
        Mutant("return_in_finally", "error-swallowed", (BODY, BODY + "        return\n")),
        Mutant("nothing_replaced", "not-replaced", ("            implement(lib, name, function)\n", "            pass\n")),
        Mutant("restored_before_the_block", "not-replaced", (BODY, IN_A_ROW + "    lib._destroy()\n    yield\n")),
        Mutant("replaced_after_the_block", "not-replaced", (BODY, "    try:\n        yield\n" + IN_A_ROW.replace("\n    ", "\n        ").replace("    for", "        for", 1) + "    finally:\n        lib._destroy()\n")),
        Mutant("one_library_for_all", "one-library-for-all", SHARED, (OPEN, "    lib = LIB\n")),
        Mutant("one_library_kept_open", "never-restored", SHARED, (OPEN, "    lib = LIB\n"), ("        lib._destroy()\n", "        pass\n")),
        Mutant("only_the_last_name", "one-of-several", (BODY, BODY.replace("            implement(lib, name, function)\n", "            pass\n        implement(lib, name, function)\n"))),
        Mutant("only_the_first_name", "first-of-several", (BODY, BODY.replace("replacements.items()", "list(replacements.items())[:1]"))),
        Mutant("a_library_for_each_held_by_one_name", ("one-of-several", "never-restored"), (OPEN + BODY, BODY.replace("            implement", '            lib = torch.library.Library("aten", "IMPL")\n            implement'))),
        Mutant("arguments_swapped", "refused-from-the-start", (BODY, BODY.replace("lib, name, function", "lib, function, name"))),
        Mutant("of_the_kind_def", "refused-from-the-start", ('"IMPL"', '"DEF"')),
        Mutant("without_a_device", "not-replaced", (BODY, BODY.replace("implement(lib, name, function)", "lib.impl(name, function)"))),
        Mutant("library_of_a_global_name", "library-of-a-global-name", (OPEN + BODY, ("    global LIB\n" + OPEN + BODY).replace("lib = ", "LIB = ").replace("lib,", "LIB,").replace("lib._", "LIB._"))),
        Mutant("a_yield_in_except", "yields-more-than-once", (BODY, BODY.replace("    finally:", "    except Exception:\n        yield\n    finally:"))),
        Mutant("yields_after_the_try", "not-replaced", (BODY, BODY.replace("        yield\n", "") + "    yield\n")),
        Mutant("all_on_the_last_function", "wrong-values", (BODY, BODY.replace("implement(lib, name, function)", "implement(lib, name, list(replacements.values())[-1])"))),
        Mutant("a_fragment", ("refused-from-the-start", "raised", "not-replaced"), ('"IMPL"', '"FRAGMENT"'), ("implement(lib", "lib.define(name + '(Tensor x) -> Tensor'); implement(lib")),
        Mutant("a_yield_for_each", "yields-more-than-once", ("        yield\n", "            yield\n")),
        Mutant("library_deleted_and_not_closed", "never-restored", ("        lib._destroy()\n", "        del lib\n")),
        Mutant("no_decorator", "raised", ("@contextlib.contextmanager\n", "")),
        Mutant("no_yield", "raised", ("        yield\n", "        pass\n")),
    ],
}

VARIANTS = {
    "kernel_source": [
        Variant("first_index_with_remainder", ('"    i_0 = rest"', '"    i_0 = rest % size_0"')),
        Variant("all_dimensions_alike", ("in reversed(range(1, ndim)):", "in reversed(range(ndim)):"), (FIRST, "")),
        Variant("counted_down", ("in reversed(range(1, ndim)):", "in range(ndim - 1, 0, -1):")),
        Variant("index_by_subtraction", (INDEX, '        lines.append(f"    q = rest // size_{d}")\n        lines.append(f"    i_{d} = rest - q * size_{d}")\n        lines.append("    rest = q")\n')),
        Variant("wide_offsets", ("i_{d} * stride", "i_{d}.to(tl.int64) * stride")),
        Variant("masked_lanes_are_zero", ("mask=mask).to(COMPUTE)", "mask=mask, other=0).to(COMPUTE)")),
        Variant("pointer_moved_dimension_by_dimension", (ADDRESS, 'lines.append(f"    at = {x}_ptr")\n        for d in range(ndim):\n            lines.append(f"    at += i_{d} * stride_{x}_{d}")'), ("tl.load({x}_ptr + {address}, mask", "tl.load(at, mask")),
        Variant("address_in_a_line_of_its_own", (LOAD, 'lines.append(f"    {x}_ptrs = {x}_ptr + {address}")\n        lines.append(f"    {x} = tl.load({x}_ptrs, mask=mask).to(COMPUTE)")')),
    ],
    "softmax_backward": [
        Variant("four_warps", ("num_warps=min(max(BLOCK_N // 512, 1), 16)", "num_warps=4")),
        Variant("warps_not_chosen", (", num_warps=min(max(BLOCK_N // 512, 1), 16)", "")),
        Variant("dtypes_checked_too", (REFUSED, REFUSED + " or dy.dtype != y.dtype or not y.is_floating_point()")),
        Variant("nothing_to_do_for_no_rows", ("    M, N = y.shape\n", "    M, N = y.shape\n    if M == 0:\n        return y.new_empty(M, N)\n")),
        Variant("last_row_first", ("pid_m = tl.program_id(axis=0).to(tl.int64)", "pid_m = (tl.num_programs(0) - 1 - tl.program_id(axis=0)).to(tl.int64)")),
        Variant("weighted_first", (SUM, "weighted = y * dy\n    dx = weighted - y * tl.sum(weighted, axis=0)")),
        Variant("cast_before_the_store", (STORE, STORE.replace("dx,", "dx.to(dx_ptr.dtype.element_ty),"))),
        Variant("wider_tile", ("BLOCK_N = triton.next_power_of_2(N)", "BLOCK_N = 2 * triton.next_power_of_2(N)")),
        Variant("result_like_y", (ALLOCATE, "dx = torch.empty_like(y, memory_format=torch.contiguous_format)")),
        Variant("other_for_dy_alone", (LOAD_Y, LOAD_Y.replace(", other=0.0", "")), (SUM, "y = tl.where(mask_n, y, 0.0)\n    dx = y * (dy - tl.sum(y * dy, axis=0))")),
        Variant("several_rows_a_program", replace='''
def softmax_backward_ref(dy, y):
    return y * (dy - (y * dy).sum(dim=-1, keepdim=True))


@triton.jit
def rows_kernel(
    dy_ptr, y_ptr, dx_ptr, M, N, stride_dm, stride_dn, stride_ym, stride_yn,
    ROWS: tl.constexpr, BLOCK_N: tl.constexpr,
):
    rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :]
    mask = (rows < M) & (cols < N)
    dy = tl.load(dy_ptr + rows * stride_dm + cols * stride_dn, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + rows * stride_ym + cols * stride_yn, mask=mask, other=0.0).to(tl.float32)
    dx = y * (dy - tl.sum(y * dy, axis=1)[:, None])
    tl.store(dx_ptr + rows * N + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)


def softmax_backward(dy, y):
    if y.dim() != 2 or dy.shape != y.shape or y.shape[1] > 16384:
        raise ValueError("two matrices of one shape")
    M, N = y.shape
    dx = torch.empty((M, N), dtype=y.dtype, device=y.device)
    rows_kernel[(triton.cdiv(M, 2),)](
        dy, y, dx, M, N, *dy.stride(), *y.stride(), ROWS=2, BLOCK_N=triton.next_power_of_2(N)
    )
    return dx
'''),
    ],
    "use_kernels": [
        Variant("exit_stack", (BODY, "    with contextlib.ExitStack() as stack:\n        stack.callback(lib._destroy)\n        for name, function in replacements.items():\n            implement(lib, name, function)\n        yield\n")),
        Variant("in_except_and_else", (BODY, BODY.replace("    finally:\n        lib._destroy()\n", "    except BaseException:\n        lib._destroy()\n        raise\n    else:\n        lib._destroy()\n"))),
        Variant("scoped_library", (OPEN + BODY, '    with torch.library._scoped_library("aten", "IMPL") as lib:\n        for name, function in replacements.items():\n            implement(lib, name, function)\n        yield\n')),
        Variant("gives_the_names", ("        yield\n", "        yield list(replacements)\n")),
        Variant("a_library_for_each", (OPEN + BODY, '    libraries = []\n    try:\n        for name, function in replacements.items():\n            libraries.append(torch.library.Library("aten", "IMPL"))\n            implement(libraries[-1], name, function)\n        yield\n    finally:\n        for lib in libraries:\n            lib._destroy()\n')),
        Variant("opened_inside", (OPEN + BODY, '    lib = None\n    try:\n        lib = torch.library.Library("aten", "IMPL")\n        for name, function in replacements.items():\n            implement(lib, name, function)\n        yield\n    finally:\n        lib._destroy()\n')),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "softmax_backward": {
        'dx = torch.empty((M, N), dtype=y.dtype, device=y.device) => dx = torch.empty((M, N), dtype=y.dtype)': "the interpreter has one device; on a GPU Triton refuses it by name",
        'pid_m = tl.program_id(axis=0).to(tl.int64) => pid_m = tl.program_id(axis=0)': "it shows beyond 2**31 elements only, which no case has",
        'dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32) => dy = tl.load(dy_ptrs, mask=mask_n, other=0.0)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'y = tl.load(y_ptrs, mask=mask_n, other=0.0).to(tl.float32) => y = tl.load(y_ptrs, mask=mask_n, other=0.0)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'dx = y * (dy - tl.sum(y * dy, axis=0)) => dx = y * (dy - tl.sum(y * dy))': "a tile of one dimension has one axis",
        'dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32) => dy = tl.load(dy_ptrs, mask=mask_n, other=1.0).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'y = tl.load(y_ptrs, mask=mask_n, other=0.0).to(tl.float32) => y = tl.load(y_ptrs, mask=mask_n, other=1.0).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
    },
}
