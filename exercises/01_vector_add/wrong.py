"""Wrong answers of 01_vector_add with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

LAUNCH = "    add_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=1024)  # 4. launch\n"
RETURN = "    return out  # 5. return"
ALLOCATE = "    out = torch.empty_like(x)  # 2. allocate, on the input's device\n"

MUTANTS = {
    "add": [
        Mutant("rows_for_elements", "unwritten-tail", ("n_elements = out.numel()", "n_elements = len(x)")),
        Mutant(
            "no_store_mask",
            "out-of-bounds-store",
            ("tl.store(out_ptr + offs, x + y, mask=mask)", "tl.store(out_ptr + offs, x + y)"),
        ),
        Mutant("mask_one_too_far", "out-of-bounds-store", ("offs < n_elements", "offs <= n_elements")),
        Mutant("mask_one_short", "unwritten-tail", ("offs < n_elements", "offs < n_elements - 1")),
        Mutant(
            "no_load_masks",
            "reads-outside",
            ("x = tl.load(x_ptr + offs, mask=mask)", "x = tl.load(x_ptr + offs)"),
            ("y = tl.load(y_ptr + offs, mask=mask)", "y = tl.load(y_ptr + offs)"),
            only="interpreter",
        ),
        Mutant("pid_times_n", "unwritten-tail", ("pid * BLOCK_SIZE +", "pid * n_elements +")),
        Mutant("pid_not_times_block", ("race", "unwritten-tail"), ("pid * BLOCK_SIZE +", "pid +")),
        Mutant("grid_rounds_down", "unwritten-tail", ("triton.cdiv(n_elements, 1024)", "n_elements // 1024")),
        Mutant("one_program", "unwritten-tail", ("triton.cdiv(n_elements, 1024)", "1")),
        Mutant("second_load_reads_x", "one-operand-twice", ("tl.load(y_ptr + offs", "tl.load(x_ptr + offs")),
        Mutant("multiplies", "product", ("x + y, mask", "x * y, mask")),
        Mutant("subtracts", "difference", ("x + y, mask", "x - y, mask")),
        Mutant("rounds_to_half", "rounded-to-half", ("x + y, mask", "(x + y).to(tl.float16), mask")),
        Mutant(
            "writes_into_x",
            ("input-changed", "aliases-input"),
            (ALLOCATE, "    out = x\n"),
        ),
        Mutant(
            "always_float32",
            "wrong-dtype",
            (ALLOCATE, "    out = torch.empty(x.shape, dtype=torch.float32, device=x.device)\n"),
        ),
        Mutant(
            "flat_result",
            "wrong-shape",
            (ALLOCATE, "    out = torch.empty(x.numel(), dtype=x.dtype, device=x.device)\n"),
        ),
        Mutant("no_return", "wrong-type", (RETURN, "")),
        Mutant("no_shape_check", "should-raise", ("    check_inputs(x, y)  # 1. check\n", "")),
        Mutant("block_not_a_power_of_two", ("raised", "does-not-compile"), ("BLOCK_SIZE=1024", "BLOCK_SIZE=1000")),
        Mutant(
            "python_that_only_the_interpreter_runs",
            "does-not-compile",
            ("    mask = offs < n_elements\n", "    mask = [offs < n_elements for _ in range(1)][0]\n"),
        ),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace='''
def add(x, y):
    check_inputs(x, y)
    return x + y
''',
        ),
        Mutant("decoy_launch", "torch-compute", (RETURN, "    return torch.add(x, y)")),
        Mutant(
            "decoy_numpy",
            ("right-without-kernel", "torch-compute"),
            (
                RETURN,
                "    import numpy\n\n"
                "    host = numpy.add(x.detach().cpu().numpy(), y.detach().cpu().numpy())\n"
                "    out.data = torch.from_numpy(numpy.asarray(host)).to(x.device)\n"
                "    return out",
            ),
            only="interpreter",
        ),
        Mutant(
            "torch_when_the_launch_fails",
            "swallowed-error",
            (
                LAUNCH,
                "    try:\n"
                "        add_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=1024)\n"
                "    except Exception:\n"
                "        out.fill_(0)\n",
            ),
        ),
        Mutant("no_launch", "no-kernel-launched", (LAUNCH, "")),
        Mutant(
            "remembers_the_last_result",
            "second-call",
            ("def add(x, y):\n", "KEPT = {}\n\n\ndef add(x, y):\n"),
            (
                LAUNCH,
                "    fresh = x.data_ptr() not in KEPT\n"
                "    target = out if fresh else torch.empty_like(x)\n"
                "    add_kernel[grid](x, y, target, n_elements, BLOCK_SIZE=1024)\n"
                "    out = KEPT.setdefault(x.data_ptr(), out)\n",
            ),
        ),
        Mutant("launched_twice", "wrong-launch-count", (LAUNCH, LAUNCH + LAUNCH)),
    ],
    "add_tiled": [
        Mutant("tiles_a_grid_apart", "property", ("tile = pid * TILES_PER_PROGRAM + i", "tile = pid + i * tl.num_programs(0)")),
        Mutant("last_program_first", "property", ("tile = pid * TILES_PER_PROGRAM + i", "tile = (tl.num_programs(0) - 1 - pid) * TILES_PER_PROGRAM + i")),
        Mutant("one_program_too_many", "too-many-programs", ("triton.cdiv(n_elements, tiles_per_program * 1024)", "n_elements // (tiles_per_program * 1024) + 1")),
        Mutant("grid_of_smaller_tiles", "too-many-programs", ("triton.cdiv(n_elements, tiles_per_program * 1024)", "triton.cdiv(n_elements, tiles_per_program * 512)")),
        Mutant(
            "no_store_mask",
            "out-of-bounds-store",
            ("tl.store(out_ptr + offs, x + y, mask=mask)", "tl.store(out_ptr + offs, x + y)"),
        ),
        Mutant("only_the_first_tile", ("unwritten", "unwritten-tail"), ("range(TILES_PER_PROGRAM)", "range(1)")),
        Mutant("always_two_tiles", ("unwritten", "unwritten-tail"), ("range(TILES_PER_PROGRAM)", "range(2)")),
        Mutant("tiles_overlap", ("unwritten-tail", "race"), ("pid * TILES_PER_PROGRAM + i", "pid + i")),
        Mutant("step_is_one_element", ("unwritten", "unwritten-tail"), ("offs = tile * BLOCK_SIZE", "offs = pid * TILES_PER_PROGRAM * BLOCK_SIZE + i")),
        Mutant("grid_without_k", "too-many-programs", ("tiles_per_program * 1024)", "1024)")),
        Mutant(
            "grid_rounds_down",
            "unwritten-tail",
            ("triton.cdiv(n_elements, tiles_per_program * 1024)", "n_elements // (tiles_per_program * 1024)"),
        ),
        Mutant("mask_of_the_first_tile", ("unwritten", "unwritten-tail"), ("mask = offs < n_elements", "mask = offs < n_elements - i")),
        Mutant("second_load_reads_x", "one-operand-twice", ("tl.load(y_ptr + offs", "tl.load(x_ptr + offs")),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace='''
def add_tiled(x, y, tiles_per_program=2):
    check_inputs(x, y)
    return x + y
''',
        ),
    ],
    "add_grid_stride": [
        Mutant(
            "the_kernel_of_task_1",
            "other-programs",
            replace="def add_grid_stride(x, y, num_programs=4):\n    return add(x, y)\n",
        ),
        Mutant("one_tile_each", ("unwritten-tail", "unwritten"), ("num_programs * BLOCK_SIZE)", "n_elements)")),
        Mutant("step_of_one_tile", "race", ("n_elements, num_programs * BLOCK_SIZE", "n_elements, BLOCK_SIZE"), only="interpreter"),
        Mutant("one_program_does_it_all", "race", ("range(pid * BLOCK_SIZE, n_elements, num_programs * BLOCK_SIZE)", "range(0, n_elements, BLOCK_SIZE)"), only="interpreter"),
        Mutant("starts_at_pid", ("unwritten", "unwritten-tail", "race"), ("range(pid * BLOCK_SIZE,", "range(pid,")),
        Mutant("starts_at_zero", ("race", "unwritten"), ("range(pid * BLOCK_SIZE,", "range(0 * pid,")),
        Mutant(
            "no_store_mask",
            "out-of-bounds-store",
            ("tl.store(out_ptr + offs, x + y, mask=mask)", "tl.store(out_ptr + offs, x + y)"),
        ),
        Mutant("stops_a_tile_early", ("unwritten-tail", "unwritten"), ("BLOCK_SIZE, n_elements, num", "BLOCK_SIZE, n_elements - BLOCK_SIZE, num")),
        Mutant("multiplies", "product", ("x + y, mask", "x * y, mask")),
        Mutant("writes_into_x", ("input-changed", "aliases-input"), ("    out = torch.empty_like(x)\n", "    out = x\n")),
    ],
    "add_strided": [
        Mutant("columns_of_x_side_by_side", ("strided-only", "reads-outside", "wrong-values"), ("offs_n * stride_xn", "offs_n")),
        Mutant("column_stride_of_out_for_x", ("strided-only", "reads-outside", "wrong-values"), ("offs_n * stride_xn", "offs_n * stride_on")),
        Mutant("one_stride_for_both", ("strided-only", "wrong-values", "reads-outside"), ("offs_m * stride_ym + offs_n * stride_yn", "offs_m * stride_xm + offs_n * stride_xn")),
        Mutant("ignores_strides", ("strided-only", "reads-outside"), ("x_ptr + offs_m * stride_xm + offs_n * stride_xn", "x_ptr + offs")),
        Mutant("row_stride_is_n", "strided-only", ("offs_m * stride_xm", "offs_m * N")),
        Mutant("forgets_column_stride", ("strided-only", "reads-outside"), ("offs_n * stride_yn", "offs_n")),
        Mutant("row_and_column_swapped", ("reads-outside", "out-of-bounds-store"), ("offs_m = offs // N", "offs_m = offs % N"), ("offs_n = offs % N", "offs_n = offs // N")),
        Mutant("divides_by_m", ("wrong-values", "reads-outside", "unwritten", "out-of-bounds-store", "race"), ("offs_m = offs // N", "offs_m = offs // M"), ("offs_n = offs % N", "offs_n = offs % M")),
        Mutant("mask_of_rows_only", "unwritten-tail", ("offs < M * N", "offs < M")),
        Mutant(
            "no_store_mask",
            "out-of-bounds-store",
            ("offs_n * stride_on, x + y, mask=mask)", "offs_n * stride_on, x + y)"),
        ),
        Mutant("makes_it_contiguous_by_torch", "torch-compute", ("    M, N = x.shape\n", "    x, y = x + 0, y + 0\n    M, N = x.shape\n")),
    ],
}

VARIANTS = {
    "add": [
        Variant("block_256", ("triton.cdiv(n_elements, 1024)", "triton.cdiv(n_elements, 256)"), ("BLOCK_SIZE=1024", "BLOCK_SIZE=256")),
        Variant("eight_warps", ("BLOCK_SIZE=1024)", "BLOCK_SIZE=1024, num_warps=8)")),
        Variant("grid_as_a_function", ("(triton.cdiv(n_elements, 1024),)", 'lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)')),
        Variant("masked_lanes_read_zero", ("tl.load(x_ptr + offs, mask=mask)", "tl.load(x_ptr + offs, mask=mask, other=0)")),
        Variant(
            "warns_on_stderr",
            (ALLOCATE, ALLOCATE + '    import warnings\n\n    warnings.warn("a warning costs nobody a point")\n'),
        ),
    ],
    "add_tiled": [
        Variant("static_range", ("in range(TILES_PER_PROGRAM)", "in tl.static_range(TILES_PER_PROGRAM)")),
        Variant(
            "offsets_carried_along",
            ("        tile = pid * TILES_PER_PROGRAM + i\n        offs = tile * BLOCK_SIZE +", "        offs = pid * TILES_PER_PROGRAM * BLOCK_SIZE + i * BLOCK_SIZE +"),
        ),
        Variant("last_tile_first", ("in range(TILES_PER_PROGRAM)", "in range(TILES_PER_PROGRAM - 1, -1, -1)")),
    ],
    "add_grid_stride": [
        Variant("programs_counted_by_triton", ("n_elements, num_programs * BLOCK_SIZE", "n_elements, tl.num_programs(0) * BLOCK_SIZE")),
        Variant("block_512", ("num_programs, BLOCK_SIZE=1024", "num_programs, BLOCK_SIZE=512")),
        Variant(
            "loop_over_tiles",
            ("for start in range(pid * BLOCK_SIZE, n_elements, num_programs * BLOCK_SIZE):\n        offs = start +", "for tile in range(pid, tl.cdiv(n_elements, BLOCK_SIZE), num_programs):\n        offs = tile * BLOCK_SIZE +"),
        ),
    ],
    "add_strided": [
        Variant("block_128", ("triton.cdiv(M * N, 1024)", "triton.cdiv(M * N, 128)"), ("BLOCK_SIZE=1024", "BLOCK_SIZE=128")),
        Variant("column_by_subtraction", ("offs_n = offs % N", "offs_n = offs - offs_m * N")),
        Variant("sixteen_bit_safe", ("offs = pid * BLOCK_SIZE", "offs = pid.to(tl.int64) * BLOCK_SIZE")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "add_strided": {
        'tl.store(out_ptr + offs_m * stride_om + offs_n * stride_on, x + y, mask=mask) => tl.store(out_ptr + offs_m * stride_om + offs_n, x + y, mask=mask)': "the wrapper makes a contiguous result: its last stride is 1",
    },
}
