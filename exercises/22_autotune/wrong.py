"""Wrong answers of 22_autotune with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

KEPT = 'return kept or [min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])]'
FITS = 'fits = elements * element_size * config["num_stages"] <= shared_limit'
LARGE = 'too_large = config["BLOCK_M"] > rows or config["BLOCK_N"] > columns'
SMALL = 'too_small = config["BLOCK_M"] < 64 <= M'
ROWS = "rows = max(16, triton.next_power_of_2(M))"
COLUMNS = "columns = max(16, triton.next_power_of_2(N))"
KEEPS = "if fits and not too_large and not too_small:"

KEY = 'key=["M", "N", "K"]'
PRUNING = '        prune_configs_by={"early_config_prune": early_prune},\n'
CACHED = "@functools.cache\ndef tuned_kernel():"

SCALED = "scaled = (x.to(tl.float32) * s).to(x.dtype)"
SCALE_STORE = "tl.store(x_ptr + offs * stride_xn, scaled, mask=mask)"
SCALE_GRID = 'return (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)'
TUNE_SCALE = 'key=["n_elements"], restore_value=["x_ptr"]'


MUTANTS = {
    "prune": [
        Mutant("keeps_everything", "unpruned", (KEEPS, "if True:")),
        Mutant("may_leave_nothing", "empty", (KEPT, "return kept")),
        Mutant("falls_back_to_everything", "all-when-none", (KEPT, "return kept or configs")),
        Mutant("falls_back_to_the_largest", "largest-when-none", ("[min(configs", "[max(configs")),
        Mutant("falls_back_to_the_last", "last-when-none", (KEPT, "return kept or configs[-1:]")),
        Mutant("falls_back_to_the_first", "largest-when-none", (KEPT, "return kept or configs[:1]")),
        Mutant("smallest_by_shared_memory", "smallest-pair-when-none", ('key=lambda c: c["BLOCK_M"] * c["BLOCK_N"]', 'key=lambda c: (c["BLOCK_M"] + c["BLOCK_N"]) * c["BLOCK_K"]')),
        Mutant("smallest_by_rows", "lowest-when-none", ('key=lambda c: c["BLOCK_M"] * c["BLOCK_N"]', 'key=lambda c: c["BLOCK_M"]')),
        Mutant("last_of_the_smallest", "last-when-none", ("[min(configs, key", "[min(configs[::-1], key")),
        Mutant("a_config_for_a_list", "wrong-values", (KEPT, 'return kept or min(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])')),
        Mutant("shared_memory_ignored", "shared-memory-ignored", ("if fits and", "if")),
        Mutant("two_bytes_for_all", "bytes-per-element", ("elements * element_size", "elements * 2")),
        Mutant("elements_counted", "elements-for-bytes", ("elements * element_size", "elements")),
        Mutant("one_stage_counted", "stages-ignored", (' * config["num_stages"] <=', " <=")),
        Mutant("one_stage_less", "one-stage-less", ('* config["num_stages"] <=', '* (config["num_stages"] - 1) <=')),
        Mutant("tile_of_the_result_counted", "smallest-only", ('(config["BLOCK_M"] + config["BLOCK_N"])', '(config["BLOCK_M"] * config["BLOCK_N"])')),
        Mutant("limit_of_one_gpu", "shared-memory-ignored", ("<= shared_limit", "<= 232448")),
        Mutant("no_room_at_the_limit", "no-room-at-the-limit", ("<= shared_limit", "< shared_limit")),
        Mutant("rows_ignored", "rows-ignored", ('config["BLOCK_M"] > rows or ', "")),
        Mutant("columns_ignored", "columns-ignored", (' or config["BLOCK_N"] > columns', "")),
        Mutant("both_must_be_too_large", "rows-ignored", ("> rows or", "> rows and")),
        Mutant("rows_and_columns_swapped", "rows-for-columns", (ROWS, ROWS.replace("(M)", "(N)")), (COLUMNS, COLUMNS.replace("(N)", "(M)"))),
        Mutant("rows_below_sixteen", ("below-sixteen", "wrong-values"), (ROWS, "rows = triton.next_power_of_2(M)")),
        Mutant("nothing_below_sixteen_is_rounded", "below-sixteen", (ROWS, "rows = triton.next_power_of_2(M)"), (COLUMNS, "columns = triton.next_power_of_2(N)")),
        Mutant("not_rounded_up", "not-rounded-up", (ROWS, "rows = max(16, M)"), (COLUMNS, "columns = max(16, N)")),
        Mutant("tile_as_large_as_the_matrix_dropped", ("not-rounded-up", "wrong-values"), ("> rows or", ">= rows or")),
        Mutant("small_tiles_kept", "too-small-ignored", (" and not too_small", "")),
        Mutant("small_tiles_always_dropped", "too-small-for-all", (SMALL, 'too_small = config["BLOCK_M"] < 64')),
        Mutant("small_from_65_rows_on", "too-small-ignored", (SMALL, 'too_small = config["BLOCK_M"] < 64 < M')),
        Mutant("small_tiles_by_rounded_rows", "too-small-for-m-rounded-up", (SMALL, 'too_small = config["BLOCK_M"] < 64 <= rows')),
        Mutant("small_tiles_by_either_side", "too-narrow", (SMALL, 'too_small = config["BLOCK_M"] < 64 <= M or config["BLOCK_N"] < 64 <= N')),
        Mutant("small_tiles_by_columns", "wrong-values", (SMALL, 'too_small = config["BLOCK_N"] < 64 <= N')),
        Mutant("other_order", "wrong-values", ("kept.append(config)", "kept.insert(0, config)")),
        Mutant("removes_from_what_it_walks_through", "removed-while-walking", ("    kept = []\n    for config in configs:", "    kept = list(configs)\n    for config in kept:"), (KEEPS + "\n            kept.append(config)", "if not (fits and not too_large and not too_small):\n            kept.remove(config)")),
        Mutant("changes_the_table", "raised", ("    for config in configs:", "    for config in list(configs):\n        configs.remove(config)")),
        Mutant("first_only", "wrong-values", ("kept.append(config)", "return [config]")),
        Mutant("nothing_kept", "smallest-only", (KEEPS, "if False:")),
        Mutant("the_hopeless_ones", ("only-what-is-hopeless",), (KEEPS, "if not (fits and not too_large and not too_small):")),
        Mutant("columns_below_sixteen", "below-sixteen", (COLUMNS, "columns = triton.next_power_of_2(N)")),
        Mutant("no_return", "wrong-type", (KEPT, "kept or configs")),
    ],
    "matmul_tuned": [
        Mutant("key_without_k", "property", (KEY, 'key=["M", "N"]')),
        Mutant("key_without_n", "property", (KEY, 'key=["M", "K"]')),
        Mutant("key_of_k", "property", (KEY, 'key=["K"]')),
        Mutant("empty_key", "property", (KEY, "key=[]")),
        Mutant("key_in_small_letters", "property", (KEY, 'key=["m", "n", "k"]')),
        Mutant("key_with_a_name_that_is_none", "property", (KEY, 'key=["M", "N", "K", "dtype"]')),
        Mutant("key_with_a_pointer", "property", (KEY, 'key=["M", "N", "K", "a_ptr"]')),
        Mutant("key_with_the_results_pointer", "property", (KEY, 'key=["M", "N", "K", "c_ptr"]')),
        Mutant("key_of_pointers", "property", (KEY, 'key=["a_ptr", "b_ptr"]')),
        Mutant("a_new_tuner_each_time", "property", (CACHED, "def tuned_kernel():")),
        Mutant("a_new_tuner_in_the_wrapper", "property", ("    return launch(tuned_kernel(), a, b)", f'    tune = triton.autotune(configs=CONFIGS, {KEY}, prune_configs_by={{"early_config_prune": early_prune}})\n    return launch(tune(matmul_tiles_kernel), a, b)')),
        Mutant("never_pruned", "property", (PRUNING, "")),
        Mutant("one_config", "property", ("configs=CONFIGS", "configs=CONFIGS[4:5]")),
        Mutant("not_tuned_at_all", "property", ("launch(tuned_kernel(), a, b)", "launch(matmul_tiles_kernel, a, b, **CONFIGS[4].all_kwargs())")),
        Mutant("pruning_is_called", "raised", ('{"early_config_prune": early_prune}', '{"early_config_prune": early_prune()}')),
        Mutant("prune_for_early_prune", "raised", ('{"early_config_prune": early_prune}', '{"early_config_prune": prune}')),
        Mutant("tiles_for_configs", "raised", ("configs=CONFIGS", "configs=TILES")),
        Mutant("no_kernel_in_the_tuner", "raised", ("return tune(matmul_tiles_kernel)", "return tune")),
        Mutant("nothing_returned", "raised", ("    return tune(matmul_tiles_kernel)", "    tune(matmul_tiles_kernel)")),
        Mutant("the_plain_kernel", ("raised", "does-not-compile"), ("return tune(matmul_tiles_kernel)", "return matmul_tiles_kernel")),
        Mutant("config_passed_too", "raised", ("GROUP_M=16, **sizes", "GROUP_M=16, BLOCK_M=64, **sizes")),
        Mutant("any_sizes", "should-raise", ("    if a.shape[1] != b.shape[0]:\n", "    if a.ndim != b.ndim:\n")),
        Mutant("torch_stand_in", "no-kernel-launched", ("    return launch(tuned_kernel(), a, b)", "    return a @ b")),
    ],
    "scale_inplace_tuned": [
        Mutant("in_half_precision", "scaled-in-half-precision", (SCALED, "scaled = x * s.to(x.dtype)")),
        Mutant("nothing_restored", "not-restored", (TUNE_SCALE, 'key=["n_elements"]')),
        Mutant("reset_for_restored", "zeroed", ("restore_value=", "reset_to_zero=")),
        Mutant("both_restored_and_reset", "zeroed", (TUNE_SCALE, TUNE_SCALE + ', reset_to_zero=["x_ptr"]')),
        Mutant("restores_another_name", ("raised",), ('restore_value=["x_ptr"]', 'restore_value=["x"]')),
        Mutant("restores_the_factor", ("raised",), ('restore_value=["x_ptr"]', 'restore_value=["s"]')),
        Mutant("empty_key", "property", ('key=["n_elements"]', "key=[]")),
        Mutant("key_of_a_name_that_is_none", "property", ('key=["n_elements"]', 'key=["N"]')),
        Mutant("key_of_the_tensor", "property", ('key=["n_elements"]', 'key=["x_ptr"]')),
        Mutant("key_of_the_stride", "property", ('key=["n_elements"]', 'key=["stride_xn"]')),
        Mutant("a_new_tuner_each_time", "property", ("@functools.cache\ndef tuned_scale_kernel():", "def tuned_scale_kernel():")),
        Mutant("one_config", "property", ("configs=sizes", "configs=sizes[:1]")),
        Mutant("not_stored", ("unscaled", "not-attempted", "unwritten"), (SCALE_STORE, "tl.store(x_ptr + offs * stride_xn, x, mask=mask)")),
        Mutant("squared", "off-by-an-input", (SCALED, "scaled = (x.to(tl.float32) * x * s).to(x.dtype)")),
        Mutant("added", "added", (SCALED, "scaled = (x.to(tl.float32) + s).to(x.dtype)")),
        Mutant("no_store_mask", ("out-of-bounds-store",), (SCALE_STORE, "tl.store(x_ptr + offs * stride_xn, scaled)")),
        Mutant("no_load_mask", ("reads-outside",), ("mask=mask)\n    scaled", ")\n    scaled"), only="interpreter"),
        Mutant("stride_forgotten", ("strided-only", "reads-outside", "out-of-bounds-store", "not-restored"), ("tl.load(x_ptr + offs * stride_xn", "tl.load(x_ptr + offs"), (SCALE_STORE, "tl.store(x_ptr + offs, scaled, mask=mask)")),
        Mutant("passed_twice", "raised", ("x.stride(0))", "x.stride(0), BLOCK_SIZE=1024)")),
        Mutant("grid_of_one_config", ("grid-of-4096", "grid-of-4096-for-1024", "property"), (SCALE_GRID, "return (triton.cdiv(n_elements, 4096),)")),
        Mutant("grid_of_another_config", ("grid-of-1024", "grid-of-4096", "property"), (SCALE_GRID, "return (triton.cdiv(n_elements, 1024),)")),
        Mutant("grid_rounds_down", ("wrong-tail", "property"), (SCALE_GRID, 'return (n_elements // meta["BLOCK_SIZE"],)')),
        Mutant("grid_is_no_tuple", "raised", (SCALE_GRID, 'return triton.cdiv(n_elements, meta["BLOCK_SIZE"])')),
        Mutant("grid_by_attribute", "raised", (SCALE_GRID, "return (triton.cdiv(n_elements, meta.BLOCK_SIZE),)")),
        Mutant("grid_by_a_name_that_is_none", "raised", (SCALE_GRID, 'return (triton.cdiv(n_elements, meta["BLOCK"]),)')),
        Mutant("tiles_overlap", ("wrong-tail", "race", "wrong-values", "not-restored"), ("tl.program_id(0).to(tl.int64) * BLOCK_SIZE", "tl.program_id(0).to(tl.int64) * (BLOCK_SIZE // 2)"), on_gpu=("nan",)),
        Mutant("multiplied_by_torch", "torch-compute", ("    return x", "    return x.mul_(1)")),
        Mutant("takes_a_matrix", "should-raise", ("if x.ndim != 1:", "if x.ndim > 2:")),
    ],
}

VARIANTS = {
    "prune": [
        Variant("three_ifs", ("        " + KEEPS + "\n            kept.append(config)\n", "        if not fits or too_large:\n            continue\n        if not too_small:\n            kept.append(config)\n")),
        Variant("sorted_fallback", (KEPT, 'return kept or sorted(configs, key=lambda c: c["BLOCK_M"] * c["BLOCK_N"])[:1]')),
        Variant("powers_by_bit_length", (ROWS, "rows = max(16, 1 << (M - 1).bit_length())")),
        Variant("both_conditions_written_out", (SMALL, 'too_small = M >= 64 and config["BLOCK_M"] < 64')),
    ],
    "matmul_tuned": [
        Variant("rounded_up_by_hand", ('triton.cdiv(M, meta["BLOCK_M"])', '-(-M // meta["BLOCK_M"])')),
        Variant("key_with_strides", (KEY, 'key=["M", "N", "K", "stride_ak", "stride_bn"]')),
        Variant("pruned_by_a_lambda", ('{"early_config_prune": early_prune}', '{"early_config_prune": lambda table, named, **more: early_prune(table, named)}')),
        Variant("short_table", ("configs=CONFIGS", "configs=CONFIGS[2:]")),
        Variant("in_one_step", ("    tune = triton.autotune(\n", "    return triton.autotune(\n"), ("    )\n    return tune(matmul_tiles_kernel)", "    )(matmul_tiles_kernel)")),
        Variant("groups_of_8", ("GROUP_M=16", "GROUP_M=8")),
    ],
    "scale_inplace_tuned": [
        Variant("other_order", ("(x.to(tl.float32) * s).to(x.dtype)", "(s * x.to(tl.float32)).to(x.dtype)")),
        Variant("float32_by_s", (SCALED, "scaled = x * s")),
        Variant("masked_lanes_read_zero", ("mask=mask)\n    scaled", "mask=mask, other=0.0)\n    scaled")),
        Variant("key_with_the_stride", ('key=["n_elements"]', 'key=["n_elements", "stride_xn"]')),
        Variant("cast_by_the_store", (SCALED, "scaled = x.to(tl.float32) * s")),
    ],
}

POWERS = "no side of a tile lies between 16 and 17"
EQUIVALENT = {
    "prune": {
        f"{ROWS} => rows = max(17, triton.next_power_of_2(M))": POWERS,
        f"{COLUMNS} => columns = max(17, triton.next_power_of_2(N))": POWERS,
    },
    "scale_inplace_tuned": {
        f"{SCALED} => scaled = x.to(tl.float32) * s": "a store rounds by itself",
        f"{SCALED} => scaled = (x * s).to(x.dtype)": "s is float32, so the product is",
    },
}
