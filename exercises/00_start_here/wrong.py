"""Wrong answers of 00_start_here with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

BODY = "num_programs = (n + block - 1) // block  # rounds up"

MUTANTS = {
    "tile_ranges": [
        Mutant("rounds_down", "last-tile-missing", (BODY, "num_programs = n // block")),
        Mutant("a_program_for_nothing", "program-without-elements", (BODY, "num_programs = max(1, (n + block - 1) // block)")),
        Mutant("always_one_more", "one-program-too-many", (BODY, "num_programs = n // block + 1")),
        Mutant("not_clipped", "past-the-end", ("min((pid + 1) * block, n)", "(pid + 1) * block")),
        Mutant("end_is_included", "last-inclusive", ("min((pid + 1) * block, n)", "min((pid + 1) * block, n) - 1")),
        Mutant("clipped_to_n_minus_1", "wrong-values", ("(pid + 1) * block, n)", "(pid + 1) * block, n - 1)")),
        Mutant("tiles_overlap", "wrong-values", ("ranges.append((pid * block,", "ranges.append((pid,")),
        Mutant("pairs_of_first_and_size", "first-and-block", ("min((pid + 1) * block, n)", "block")),
        Mutant("pairs_of_first_and_length", "first-and-length", ("min((pid + 1) * block, n)", "min(block, n - pid * block)")),
        Mutant("begins_at_pid", "begins-at-pid", ("(pid * block, min((pid + 1) * block, n))", "(pid, min(pid + block, n))")),
        Mutant("returns_in_the_loop", "first-range-only", ("    return ranges", "        return ranges\n    return []")),
        Mutant("returns_nothing", "wrong-type", ("    return ranges", "    ranges = ranges")),
        Mutant("returns_the_count", "wrong-values", ("    return ranges", "    return num_programs")),
        Mutant("untouched", "not-attempted", (BODY, 'raise NotImplementedError("TODO: fill in tile_ranges")')),
        Mutant("divides_as_float", "raised", ("(n + block - 1) // block", "(n + block - 1) / block")),
    ],
    "copy": [
        Mutant("nearly_x", "other-bits", ("tl.store(out_ptr + offs, x, mask=mask)", "tl.store(out_ptr + offs, x * 1.000001, mask=mask)")),
        Mutant("adds_nothing", "other-bits", ("tl.store(out_ptr + offs, x, mask=mask)", "tl.store(out_ptr + offs, x + 0.0, mask=mask)")),
        Mutant("by_way_of_float32", "other-bits", ("tl.load(x_ptr + offs, mask=mask)", "tl.load(x_ptr + offs, mask=mask).to(tl.float32)")),
        Mutant("pid_not_times_block", "race", ("pid * BLOCK_SIZE +", "pid +")),
        Mutant("no_store_mask", "out-of-bounds-store", ("x, mask=mask)", "x)")),
        Mutant("grid_rounds_down", "unwritten-tail", ("triton.cdiv(n_elements, 256)", "n_elements // 256")),
        Mutant("one_program", "unwritten-tail", ("triton.cdiv(n_elements, 256)", "1")),
        Mutant("one_program_too_many", "too-many-programs", ("triton.cdiv(n_elements, 256)", "n_elements // 256 + 1")),
        Mutant("grid_of_smaller_tiles", "too-many-programs", ("triton.cdiv(n_elements, 256)", "triton.cdiv(n_elements, 128)")),
        Mutant("mask_one_too_far", "out-of-bounds-store", ("offs < n_elements", "offs <= n_elements")),
        Mutant("mask_one_short", "unwritten-tail", ("offs < n_elements", "offs < n_elements - 1")),
        Mutant("grid_of_elements", "too-many-programs", ("triton.cdiv(n_elements, 256)", "n_elements")),
        Mutant("no_load_mask", "reads-outside", ("tl.load(x_ptr + offs, mask=mask)", "tl.load(x_ptr + offs)"), only="interpreter"),
        Mutant("copies_by_torch", "no-kernel-launched", replace="def copy(x):\n    return x.clone()\n"),
        Mutant("hands_back_x", ("no-kernel-launched", "aliases-input"), replace="def copy(x):\n    return x\n"),
        Mutant("all_broken", "race", ("pid * BLOCK_SIZE +", "pid +"), ("triton.cdiv(n_elements, 256)", "n_elements // 256"), ("x, mask=mask)", "x)")),
        Mutant("through_float32", "wrong-dtype", ("out = torch.empty_like(x)", "out = torch.empty(x.shape, device=x.device)")),
    ],
}

VARIANTS = {
    "tile_ranges": [
        Variant("with_cdiv", (BODY, "num_programs = triton.cdiv(n, block)")),
        Variant("comprehension", replace="def tile_ranges(n, block):\n    return [(i, min(i + block, n)) for i in range(0, n, block)]\n"),
        Variant("lists_for_pairs", ("ranges.append((pid * block, min((pid + 1) * block, n)))", "ranges.append([pid * block, min((pid + 1) * block, n)])")),
    ],
    "copy": [
        Variant("block_1024", ("triton.cdiv(n_elements, 256)", "triton.cdiv(n_elements, 1024)"), ("BLOCK_SIZE=256", "BLOCK_SIZE=1024")),
        Variant("two_warps", ("BLOCK_SIZE=256)", "BLOCK_SIZE=256, num_warps=2)")),
        Variant("grid_as_a_function", ("(triton.cdiv(n_elements, 256),)", 'lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)')),
    ],
}
