"""Wrong answers of 22_autotune with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

RETURN_KEPT = 'return kept or [min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])]'
LAUNCH = "    tuned_kernel()[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())\n"
GRID = 'return (-(-M // meta["BLOCK_M"]) * -(-N // meta["BLOCK_N"]),)'
SCALED = "scaled = (x.to(tl.float32) * s).to(x.dtype)"
SCALE_STORE = "tl.store(x_ptr + offs * stride_xn, scaled, mask=mask)"
TUNE_SCALE = 'configs=SCALE_CONFIGS, key=["n_elements"], restore_value=["x_ptr"]'

MUTANTS = {
    "configs": [
        Mutant("three_rows", "property", ("        config(128, 256, 64, 16, 8, 4),\n        config(128, 128, 64, 8, 4, 4),\n        config(128, 128, 32, 8, 8, 4),\n        config(64, 128, 32, 8, 4, 4),\n        config(64, 64, 64, 8, 4, 3),\n        config(64, 64, 32, 8, 8, 2),\n", ""), ("        config(16, 64, 128, 1, 4, 4),\n", "")),
        Mutant("thirteen_rows", "property", ("        config(32, 32, 32, 8, 4, 2),\n", "        config(32, 32, 32, 8, 4, 2),\n" + "".join(f"        config(32, {n}, 32, 8, 4, 2),\n" for n in (64, 128, 256)))),
        Mutant("twice_the_same", "property", ("config(128, 128, 64, 8, 4, 4)", "config(128, 256, 64, 16, 8, 3)")),
        Mutant("no_power_of_two", "property", ("config(128, 128, 32, 8, 8, 4)", "config(96, 128, 32, 8, 8, 4)")),
        Mutant("tile_of_8", "property", ("config(16, 64, 128, 1, 4, 4)", "config(8, 64, 128, 1, 4, 4)")),
        Mutant("tile_of_512", "property", ("config(128, 128, 64, 8, 4, 4)", "config(128, 512, 32, 8, 16, 4)")),
        Mutant("too_many_accumulators", "property", ("config(128, 256, 64, 16, 8, 3)", "config(128, 256, 64, 16, 4, 3)")),
        Mutant("does_not_fit_in_shared_memory", "property", ("config(128, 128, 64, 8, 4, 4)", "config(128, 256, 64, 8, 8, 5)")),
        Mutant("three_warps", "property", ("config(64, 64, 64, 8, 4, 3)", "config(64, 64, 64, 8, 3, 3)")),
        Mutant("no_stages", "property", ("config(64, 64, 64, 8, 4, 3)", "config(64, 64, 64, 8, 4, 0)")),
        Mutant("nothing_for_few_rows", "property", ("        config(16, 64, 128, 1, 4, 4),\n        config(16, 32, 128, 1, 4, 4),\n", "")),
        Mutant("nothing_for_float32", "property", ("        config(64, 64, 32, 8, 8, 2),\n        config(32, 32, 32, 8, 4, 2),\n        config(16, 64, 128, 1, 4, 4),\n", ""), ("config(16, 32, 128, 1, 4, 4)", "config(16, 64, 256, 1, 4, 4)")),
        Mutant("lists_for_dicts", "property", ("    return dict(", "    return list(dict("), ("        num_stages=num_stages,\n    )", "        num_stages=num_stages,\n    ).items())")),
        Mutant("not_a_list", "wrong-values", ("    return [\n", "    return tuple([\n"), ("        config(16, 32, 128, 1, 4, 4),\n    ]", "        config(16, 32, 128, 1, 4, 4),\n    ])")),
    ],
    "prune": [
        Mutant("keeps_everything", ("unpruned", "shared-memory-ignored"), ("if fits and useful and lean:", "if True:")),
        Mutant("may_leave_nothing", "empty", (RETURN_KEPT, "return kept")),
        Mutant("falls_back_to_everything", ("unpruned", "wrong-values"), (RETURN_KEPT, "return kept or configs")),
        Mutant("falls_back_to_the_largest", "wrong-values", ("[min(configs", "[max(configs")),
        Mutant("shared_memory_ignored", ("shared-memory-ignored", "unpruned"), ("if fits and useful", "if useful")),
        Mutant("two_bytes_for_all", ("bytes-per-element", "shared-memory-ignored"), ('named_args["element_size"])', "2)")),
        Mutant("limit_of_one_gpu", ("unpruned", "wrong-values"), ('<= named_args["shared_limit"]', "<= 232448")),
        Mutant("no_room_at_the_limit", "wrong-values", ('<= named_args["shared_limit"]', '< named_args["shared_limit"]')),
        Mutant("rows_ignored", "rows-ignored", ('config["BLOCK_M"] <= rows and ', "")),
        Mutant("columns_ignored", "columns-ignored", (' and config["BLOCK_N"] <= columns', "")),
        Mutant("rows_and_columns_swapped", "wrong-values", ('next_power_of_2(named_args["M"])', 'next_power_of_2(named_args["N"])'), ('columns = max(16, triton.next_power_of_2(named_args["N"]))', 'columns = max(16, triton.next_power_of_2(named_args["M"]))')),
        Mutant("below_sixteen", ("empty", "wrong-values"), ('rows = max(16, triton.next_power_of_2(named_args["M"]))', 'rows = triton.next_power_of_2(named_args["M"])')),
        Mutant("not_rounded_up", "wrong-values", ('rows = max(16, triton.next_power_of_2(named_args["M"]))', 'rows = max(16, named_args["M"])')),
        Mutant("tensor_cores_ignored", ("tensor-cores-ignored", "wrong-values"), ("fits and useful and lean", "fits and useful")),
        Mutant("changes_the_table", ("wrong-values", "unpruned"), ("            kept.append(config)", "            kept.insert(0, config)")),
    ],
    "matmul_tuned": [
        Mutant("key_without_k", ("reads-outside", "wrong-values"), ('key=["M", "N", "K"]', 'key=["M", "N"]')),
        Mutant("key_of_nothing_that_counts", ("reads-outside", "wrong-values"), ('key=["M", "N", "K"]', 'key=["stride_cn"]')),
        Mutant("no_pruning", ("raised", "does-not-compile"), ('        prune_configs_by={"early_config_prune": early_prune},\n', "")),
        Mutant("fixed_grid", ("unwritten", "unwritten-tail", "second-call"), (GRID, "return (triton.cdiv(M, 256) * triton.cdiv(N, 256),)")),
        Mutant("grid_of_rows_only", ("unwritten", "unwritten-tail", "second-call"), (GRID, 'return (-(-M // meta["BLOCK_M"]),)')),
        Mutant("grid_rounds_down", ("unwritten", "unwritten-tail", "second-call"), (GRID, 'return (M // meta["BLOCK_M"] * -(-N // meta["BLOCK_N"]),)')),
        Mutant("block_passed_twice", "raised", ("*c.stride())", "*c.stride(), BLOCK_M=64)")),
        Mutant("even_k_promised_for_all", ("reads-outside", "wrong-values", "raised"), (LAUNCH, '    matmul_tiles_kernel[grid](\n        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), EVEN_K=True, **configs()[0]\n    )\n')),
        Mutant("configs_not_converted", ("raised", "wrong-values"), ("[as_triton(config) for config in configs()]", "configs()")),
        Mutant("float32_result", "wrong-dtype", ("dtype=a.dtype, device", "dtype=torch.float32, device")),
        Mutant("torch_stand_in", ("no-kernel-launched", "torch-compute"), (LAUNCH, "    c = a @ b\n")),
        Mutant("strides_of_b_transposed", ("reads-outside", "strided-only", "wrong-values"), ("*b.stride(), *c", "*b.stride()[::-1], *c")),
        Mutant("takes_any_shapes", ("should-raise", "reads-outside"), ("if a.shape[1] != b.shape[0]:", "if a.ndim != b.ndim:")),
    ],
    "scale_inplace_tuned": [
        Mutant("nothing_restored", ("property", "reads-outside", "constant-factor", "overflow", "nan", "wrong-values"), (', restore_value=["x_ptr"]', "")),
        Mutant("zeroed_not_restored", ("property", "zeroed"), ('restore_value=["x_ptr"]', 'reset_to_zero=["x_ptr"]')),
        Mutant("multiplies_by_nothing", "unscaled", (SCALED, "scaled = x")),
        Mutant("no_store_mask", "out-of-bounds-store", (SCALE_STORE, "tl.store(x_ptr + offs * stride_xn, scaled)")),
        Mutant("mask_one_short", ("unscaled", "wrong-tail", "wrong-values"), ("mask = offs < n_elements", "mask = offs < n_elements - 1")),
        Mutant("ignores_the_stride", ("strided-only", "out-of-bounds-store"), ("tl.load(x_ptr + offs * stride_xn", "tl.load(x_ptr + offs"), (SCALE_STORE, "tl.store(x_ptr + offs, scaled, mask=mask)")),
        Mutant("fixed_grid", ("wrong-tail", "unscaled", "wrong-values", "property"), ('(triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)', "(triton.cdiv(n_elements, 16384),)")),
        Mutant("one_program", ("wrong-tail", "unscaled", "wrong-values"), ('(triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)', "(1,)")),
        Mutant("works_on_a_copy", ("unscaled", "wrong-values", "constant-factor"), ("    n_elements = x.numel()\n", "    x = x.clone()\n    n_elements = x.numel()\n")),
        Mutant("adds", ("wrong-values",), (SCALED, "scaled = (x.to(tl.float32) + s).to(x.dtype)")),
        Mutant("block_passed_twice", "raised", ("x.stride(0))", "x.stride(0), BLOCK_SIZE=1024)")),
        Mutant("tiles_overlap", ("wrong-tail", "race", "wrong-values"), ("tl.program_id(0).to(tl.int64) * BLOCK_SIZE", "tl.program_id(0).to(tl.int64) * (BLOCK_SIZE // 2)")),
        Mutant("torch_stand_in", ("torch-compute", "no-kernel-launched"), ("    return x", "    return x.mul_(1)")),
        Mutant("takes_a_matrix", ("should-raise",), ("if x.ndim != 1:", "if x.ndim > 2:")),
    ],
}

VARIANTS = {
    "configs": [
        Variant("four_rows", ("        config(128, 256, 64, 16, 8, 4),\n        config(128, 128, 64, 8, 4, 4),\n        config(128, 128, 32, 8, 8, 4),\n        config(64, 128, 32, 8, 4, 4),\n        config(64, 64, 64, 8, 4, 3),\n        config(64, 64, 32, 8, 8, 2),\n", "        config(128, 128, 32, 8, 8, 3),\n")),
        Variant("by_comprehension", ("        config(128, 128, 64, 8, 4, 4),\n        config(128, 128, 32, 8, 8, 4),\n", "        *[config(128, 128, k, 8, 8, 3) for k in (32, 64)],\n")),
        Variant("smallest_first", ("    return [\n", "    return sorted([\n"), ("        config(16, 32, 128, 1, 4, 4),\n    ]", "        config(16, 32, 128, 1, 4, 4),\n    ], key=accumulators)")),
    ],
    "prune": [
        Variant("three_ifs", ("        if fits and useful and lean:\n            kept.append(config)\n", "        if not fits:\n            continue\n        if not useful:\n            continue\n        if lean:\n            kept.append(config)\n")),
        Variant("sorted_fallback", (RETURN_KEPT, 'return kept or sorted(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])[:1]')),
        Variant("powers_by_bit_length", ('rows = max(16, triton.next_power_of_2(named_args["M"]))', 'rows = max(16, 1 << (named_args["M"] - 1).bit_length())')),
    ],
    "matmul_tuned": [
        Variant("rounded_up_by_triton", (GRID, 'return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)')),
        Variant("key_with_strides", ('key=["M", "N", "K"]', 'key=["M", "N", "K", "stride_ak", "stride_bn"]')),
        Variant("pruned_by_a_lambda", ('{"early_config_prune": early_prune}', '{"early_config_prune": lambda table, named, **more: early_prune(table, named)}')),
        Variant("short_table", ("[as_triton(config) for config in configs()]", "[as_triton(config) for config in configs()[4:]]")),
    ],
    "scale_inplace_tuned": [
        Variant("other_order", ("(x.to(tl.float32) * s).to(x.dtype)", "(s * x.to(tl.float32)).to(x.dtype)")),
        Variant("masked_lanes_read_zero", ("mask=mask)\n    scaled", "mask=mask, other=0.0)\n    scaled")),
        Variant("key_with_the_stride", ('key=["n_elements"]', 'key=["n_elements", "stride_xn"]')),
    ],
}
