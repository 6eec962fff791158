"""Wrong answers of 20_matmul with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

DOT = 'acc = tl.dot(a, b, acc, input_precision="ieee")'
ACC = "acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)"
HALF_ACC = "acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=c_ptr.dtype.element_ty)"
HALF_DOT = 'acc += tl.dot(a, b, input_precision="ieee").to(c_ptr.dtype.element_ty)'
WHOLE_LOOP = "for _ in range(0, K, BLOCK_K):"
A_LOAD = "a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0)"
B_LOAD = "b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0)"
A_PTRS = "a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak"
B_PTRS = "b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn"
C_PTRS = "c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn"
STORE = "tl.store(c_ptrs, acc, mask=mask_m[:, None] & mask_n[None, :])"
LOOP = "for k in range(0, K, BLOCK_K):"
GRID = '(triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]))'
OUTSIDE = ("reads-outside", "out-of-bounds-load")
UNWRITTEN = ("unwritten", "unwritten-tail")

MUTANTS = {
    "matmul_whole": [
        Mutant("forgets_to_add", "only-last-step", (DOT, 'acc = tl.dot(a, b, input_precision="ieee")')),
        Mutant("only_the_first_step", "only-first-step", (WHOLE_LOOP, "for _ in range(0, BLOCK_K, BLOCK_K):")),
        Mutant("one_step_too_few", "last-step-left-out", (WHOLE_LOOP, "for _ in range(0, K - BLOCK_K, BLOCK_K):")),
        Mutant("a_step_for_each_column", OUTSIDE, (WHOLE_LOOP, "for _ in range(0, K):")),
        Mutant("a_stands_still", "a-stands-still", ("        a_ptrs += BLOCK_K\n", "")),
        Mutant("b_stands_still", "b-stands-still", ("        b_ptrs += BLOCK_K * N\n", "")),
        Mutant("both_stand_still", "both-stand-still", ("        a_ptrs += BLOCK_K\n        b_ptrs += BLOCK_K * N\n", "")),
        Mutant("b_moves_sideways", "b-moves-sideways", ("b_ptrs += BLOCK_K * N", "b_ptrs += BLOCK_K")),
        Mutant("b_moves_one_row", "b-moves-one-row", ("b_ptrs += BLOCK_K * N", "b_ptrs += N")),
        Mutant("b_has_rows_of_a", "b-moves-by-rows-of-a", ("b_ptrs += BLOCK_K * N", "b_ptrs += BLOCK_K * K")),
        Mutant("b_moves_its_width", "b-moves-its-width", ("b_ptrs += BLOCK_K * N", "b_ptrs += BLOCK_N")),
        Mutant("both_move_one", "both-move-one", ("a_ptrs += BLOCK_K\n", "a_ptrs += 1\n"), ("b_ptrs += BLOCK_K * N", "b_ptrs += N")),
        Mutant("float16_products", "float16-products", (DOT, 'acc += tl.dot(a, b, input_precision="ieee").to(tl.float16)')),
        Mutant("float16_tiles", "float16-tiles", (DOT, "acc = tl.dot(a.to(tl.float16), b.to(tl.float16), acc)")),
        Mutant("a_moves_one_column", "a-moves-one", ("a_ptrs += BLOCK_K\n", "a_ptrs += 1\n")),
        Mutant("a_moves_down", "a-moves-down", ("a_ptrs += BLOCK_K\n", "a_ptrs += BLOCK_K * K\n")),
        Mutant("moves_before_the_load", "reads-outside", ("        a_ptrs += BLOCK_K\n        b_ptrs += BLOCK_K * N\n", ""), (WHOLE_LOOP, WHOLE_LOOP + "\n        a_ptrs += BLOCK_K\n        b_ptrs += BLOCK_K * N")),
        Mutant("one_step_too_many", "reads-outside", (WHOLE_LOOP, "for _ in range(0, K + BLOCK_K, BLOCK_K):")),
        Mutant("half_sum", "half-sum", (ACC, HALF_ACC), (DOT, HALF_DOT)),
        Mutant("store_inside_the_loop", "property", ("\n    tl.store(c_ptrs, acc)", "        tl.store(c_ptrs, acc)")),
        Mutant("steps_as_long_as_a_tile_is_wide", "reads-outside", ("b_ptrs += BLOCK_K * N", "b_ptrs += BLOCK_N * N")),
        Mutant("steps_along_n", "reads-outside", (WHOLE_LOOP, "for _ in range(0, N, BLOCK_K):")),
        Mutant("half_sum_of_dot", ("half-sum", "raised", "does-not-compile"), (ACC, HALF_ACC), (DOT, 'acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=c_ptr.dtype.element_ty)')),
        Mutant("tf32_by_default", "tf32", (DOT, "acc = tl.dot(a, b, acc)")),
        Mutant("tf32_by_request", "tf32", (DOT, 'acc = tl.dot(a, b, acc, input_precision="tf32")')),
        Mutant("dot_of_float32_tiles", "float32-product", ("tl.load(a_ptrs)", "tl.load(a_ptrs).to(tl.float32)"), ("tl.load(b_ptrs)", "tl.load(b_ptrs).to(tl.float32)")),
        Mutant("acc_and_dot_both_add", "sum-added-twice", (DOT, 'acc += tl.dot(a, b, acc, input_precision="ieee")')),
        Mutant("elementwise_product", ("raised", "does-not-compile"), (DOT, "acc += a * b")),
        Mutant("operands_swapped", ("raised", "does-not-compile"), ("tl.dot(a, b, acc", "tl.dot(b, a, acc")),
        Mutant("acc_of_ones", "sum-starts-at-one", ("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)", "acc = tl.full((BLOCK_M, BLOCK_N), 1.0, dtype=tl.float32)")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="def matmul_whole(a, b):\n    require_product(a, b)\n    if a.shape[0] % 64:\n        raise ValueError\n    return a @ b\n"),
    ],
    "matmul": [
        Mutant("a_small_tile_of_its_own", "too-many-programs", ("tile = tile or matmul_tile(a.dtype, stages=4)", 'tile = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}')),
        Mutant("a_large_tile_of_its_own", "property", ("tile = tile or matmul_tile(a.dtype, stages=4)", 'tile = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}')),
        Mutant(
            "no_mask_along_k",
            ("lanes-past-k", *OUTSIDE),
            (A_LOAD, "a = tl.load(a_ptrs, mask=mask_m[:, None], other=0.0)"),
            (B_LOAD, "b = tl.load(b_ptrs, mask=mask_n[None, :], other=0.0)"),
        ),
        Mutant("no_mask_along_k_in_a", OUTSIDE, (A_LOAD, "a = tl.load(a_ptrs, mask=mask_m[:, None], other=0.0)")),
        Mutant("no_mask_along_k_in_b", OUTSIDE, (B_LOAD, "b = tl.load(b_ptrs, mask=mask_n[None, :], other=0.0)")),
        Mutant("k_mask_never_moves", "lanes-past-k", ("offs_k < K - k", "offs_k < K")),
        Mutant("k_mask_counts_steps", ("lanes-past-k", *OUTSIDE), (LOOP, "for k in range(0, tl.cdiv(K, BLOCK_K)):")),
        Mutant("k_mask_scaled_twice", "only-first-step", ("offs_k < K - k", "offs_k < K - k * BLOCK_K")),
        Mutant("always_float16", "always-float16", (STORE, STORE.replace("acc", "acc.to(tl.float16)"))),
        Mutant("moves_after_the_loop", "both-stand-still", ("        a_ptrs += BLOCK_K * stride_ak\n        b_ptrs += BLOCK_K * stride_bk\n", "    a_ptrs += BLOCK_K * stride_ak\n    b_ptrs += BLOCK_K * stride_bk\n")),
        Mutant("store_inside_the_loop", "property", (DOT, DOT + "\n        inside = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn\n        tl.store(inside, acc, mask=mask_m[:, None] & mask_n[None, :])")),
        Mutant("and_for_an_ampersand", ("truth-of-a-tile", "raised", "does-not-compile"), (A_LOAD, A_LOAD.replace("&", "and"))),
        Mutant("k_in_offsets_and_mask", "k-subtracted-twice", ("mask_k = offs_k < K - k", "mask_k = k + offs_k < K - k")),
        Mutant("k_mask_one_too_many", ("lanes-past-k", *OUTSIDE), ("offs_k < K - k", "offs_k <= K - k")),
        Mutant("k_mask_one_too_few", "k-mask-too-short", ("offs_k < K - k", "offs_k < K - k - 1")),
        Mutant("no_masks_at_all", OUTSIDE, (A_LOAD, "a = tl.load(a_ptrs)"), (B_LOAD, "b = tl.load(b_ptrs)")),
        Mutant("no_row_mask_in_a", OUTSIDE, (A_LOAD, "a = tl.load(a_ptrs, mask=mask_k[None, :], other=0.0)")),
        Mutant("no_column_mask_in_b", OUTSIDE, (B_LOAD, "b = tl.load(b_ptrs, mask=mask_k[:, None], other=0.0)")),
        Mutant("no_other_in_a", "no-other", (A_LOAD, A_LOAD.replace(", other=0.0", "")), only="interpreter"),
        Mutant("no_other_in_b", "no-other", (B_LOAD, B_LOAD.replace(", other=0.0", "")), only="interpreter"),
        Mutant("no_other", "no-other", (A_LOAD, A_LOAD.replace(", other=0.0", "")), (B_LOAD, B_LOAD.replace(", other=0.0", "")), only="interpreter"),
        Mutant("other_is_one", "masked-lanes-hold-one", (A_LOAD, A_LOAD.replace("0.0", "1.0")), (B_LOAD, B_LOAD.replace("0.0", "1.0"))),
        Mutant("k_loop_rounds_down", "last-step-left-out", (LOOP, "for k in range(0, K // BLOCK_K * BLOCK_K, BLOCK_K):")),
        Mutant("only_the_first_step", "only-first-step", (LOOP, "for k in range(0, BLOCK_K, BLOCK_K):")),
        Mutant("forgets_to_add", "only-last-step", ("acc = tl.dot(a, b, acc,", "acc = tl.dot(a, b,")),
        Mutant("acc_and_dot_both_add", "sum-added-twice", (DOT, 'acc += tl.dot(a, b, acc, input_precision="ieee")')),
        Mutant("a_never_moves", "a-stands-still", ("        a_ptrs += BLOCK_K * stride_ak\n", "")),
        Mutant("b_never_moves", "b-stands-still", ("        b_ptrs += BLOCK_K * stride_bk\n", "")),
        Mutant("b_moves_sideways", "b-moves-sideways", ("b_ptrs += BLOCK_K * stride_bk", "b_ptrs += BLOCK_K * stride_bn")),
        Mutant("b_moves_by_a", ("b-moves-sideways", "b-moves-by-rows-of-a"), ("b_ptrs += BLOCK_K * stride_bk", "b_ptrs += BLOCK_K * stride_ak")),
        Mutant("a_moves_down", "a-moves-down", ("a_ptrs += BLOCK_K * stride_ak", "a_ptrs += BLOCK_K * stride_am")),
        Mutant("both_move_one", "both-move-one", ("a_ptrs += BLOCK_K * stride_ak", "a_ptrs += stride_ak"), ("b_ptrs += BLOCK_K * stride_bk", "b_ptrs += stride_bk")),
        Mutant("float16_tiles", "float16-tiles", (DOT, "acc = tl.dot(a.to(tl.float16), b.to(tl.float16), acc)")),
        Mutant("a_moves_without_its_stride", ("strided-only", *OUTSIDE, "wrong-values"), ("a_ptrs += BLOCK_K * stride_ak", "a_ptrs += BLOCK_K")),
        Mutant("b_moves_without_its_stride", "b-moves-sideways", ("b_ptrs += BLOCK_K * stride_bk", "b_ptrs += BLOCK_K")),
        Mutant("b_moves_n", ("strided-only", *OUTSIDE, "wrong-values"), ("b_ptrs += BLOCK_K * stride_bk", "b_ptrs += BLOCK_K * N")),
        Mutant("half_sum", "half-sum", (ACC, HALF_ACC), (DOT, HALF_DOT)),
        Mutant("tf32_by_default", "tf32", (DOT, "acc = tl.dot(a, b, acc)")),
        Mutant("tf32_by_request", "tf32", (DOT, 'acc = tl.dot(a, b, acc, input_precision="tf32")')),
        Mutant("three_tf32_products", "tf32", (DOT, 'acc = tl.dot(a, b, acc, input_precision="tf32x3")')),
        Mutant("dot_of_float32_tiles", "float32-product", (DOT, 'acc = tl.dot(a.to(tl.float32), b.to(tl.float32), acc, input_precision="ieee")')),
        Mutant("no_store_mask", "out-of-bounds-store", (STORE, "tl.store(c_ptrs, acc)")),
        Mutant("store_mask_of_rows_only", ("out-of-bounds-store", "race"), (STORE, "tl.store(c_ptrs, acc, mask=mask_m[:, None])")),
        Mutant("store_mask_of_columns_only", ("out-of-bounds-store", "race"), (STORE, "tl.store(c_ptrs, acc, mask=mask_n[None, :])")),
        Mutant("a_strides_swapped", (*OUTSIDE, "wrong-values"), (A_PTRS, "a_ptr + offs_m[:, None] * stride_ak + offs_k[None, :] * stride_am")),
        Mutant("b_strides_swapped", (*OUTSIDE, "wrong-values"), (B_PTRS, "b_ptr + offs_k[:, None] * stride_bn + offs_n[None, :] * stride_bk")),
        Mutant("a_must_be_contiguous", ("strided-only", *OUTSIDE), (A_PTRS, "a_ptr + offs_m[:, None] * K + offs_k[None, :]")),
        Mutant("b_must_be_contiguous", ("strided-only", *OUTSIDE), (B_PTRS, "b_ptr + offs_k[:, None] * N + offs_n[None, :]")),
        Mutant("a_without_stride_ak", ("strided-only", *OUTSIDE), (A_PTRS, "a_ptr + offs_m[:, None] * stride_am + offs_k[None, :]")),
        Mutant("b_strides_of_a", "b-has-rows-of-a", (B_PTRS, "b_ptr + offs_k[:, None] * stride_am + offs_n[None, :] * stride_ak"), ("b_ptrs += BLOCK_K * stride_bk", "b_ptrs += BLOCK_K * stride_am")),
        Mutant("c_strides_of_a", "rows-of-a-in-c", (C_PTRS, "c_ptr + offs_m[:, None] * stride_am + offs_n[None, :] * stride_ak"), only="interpreter"),
        Mutant("c_row_stride_of_a", "rows-of-a-in-c", (C_PTRS, "c_ptr + offs_m[:, None] * stride_am + offs_n[None, :] * stride_cn"), only="interpreter"),
        Mutant("c_without_row_stride", "rows-one-apart", (C_PTRS, "c_ptr + offs_m[:, None] + offs_n[None, :]")),
        Mutant("c_transposed", ("wrong-values", "race", "out-of-bounds-store", *UNWRITTEN), (C_PTRS, "c_ptr + offs_m[:, None] * stride_cn + offs_n[None, :] * stride_cm")),
        Mutant("a_rows_from_columns", ("raised", "does-not-compile"), (A_PTRS, "a_ptr + offs_m[None, :] * stride_am + offs_k[:, None] * stride_ak")),
        Mutant("grid_swapped", "grid-swapped", (GRID, '(triton.cdiv(N, tile["BLOCK_N"]), triton.cdiv(M, tile["BLOCK_M"]))')),
        Mutant("grid_with_sizes_swapped", "grid-with-sizes-swapped", (GRID, '(triton.cdiv(M, tile["BLOCK_N"]), triton.cdiv(N, tile["BLOCK_M"]))')),
        Mutant("grid_rounds_down", ("grid-rounds-down", "unwritten-tail"), (GRID, '(M // tile["BLOCK_M"], N // tile["BLOCK_N"])')),
        Mutant("grid_one_too_many", "too-many-programs", (GRID, '(M // tile["BLOCK_M"] + 1, N // tile["BLOCK_N"] + 1)')),
        Mutant("grid_of_elements", "too-many-programs", (GRID, "(M, N)")),
        Mutant("grid_of_one_dimension", "grid-of-one-dimension", (GRID, '(triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]),)')),
        Mutant("grid_of_one_number", "raised", (GRID, '(triton.cdiv(M, tile["BLOCK_M"]))')),
        Mutant("float32_result", "wrong-dtype", ("dtype=a.dtype", "dtype=torch.float32")),
        Mutant("takes_any_shapes", "should-raise", ("    require_product(a, b)\n", "")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="def matmul(a, b, tile=None):\n    require_product(a, b)\n    return a @ b\n"),
        Mutant("torch_after_all", "torch-compute", ("    return c", "    return torch.mm(a, b)")),
        Mutant("copies_its_inputs", "torch-compute", ("    (M, K), N", "    a = a + 0\n    (M, K), N")),
    ],
}

VARIANTS = {
    "matmul_whole": [
        Variant("dot_added_afterwards", (DOT, 'acc += tl.dot(a, b, input_precision="ieee")')),
        Variant("counts_steps", (WHOLE_LOOP, "for step in range(K // BLOCK_K):")),
        Variant("addresses_from_k", (WHOLE_LOOP, "for k in range(0, K, BLOCK_K):"), ("tl.load(a_ptrs)", "tl.load(a_ptrs + k)"), ("tl.load(b_ptrs)", "tl.load(b_ptrs + k * N)"), ("        a_ptrs += BLOCK_K\n        b_ptrs += BLOCK_K * N\n", "")),
        Variant("while_loop", (WHOLE_LOOP, "k = 0\n    while k < K:\n        k += BLOCK_K")),
        Variant("loads_with_masks", ("tl.load(a_ptrs)", "tl.load(a_ptrs, mask=offs_k[None, :] < K, other=0.0)")),
        Variant("cast_at_the_end", ("        b_ptrs += BLOCK_K * N\n", "        b_ptrs += BLOCK_K * N\n    acc = acc.to(c_ptr.dtype.element_ty)\n")),
    ],
    "matmul": [
        Variant("own_tile", ('tile = tile or matmul_tile(a.dtype, stages=4)', 'tile = tile or dict(BLOCK_M=32, BLOCK_N=32, BLOCK_K=16)'), (GRID, '(triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]))  # as given')),
        Variant("counts_steps", (LOOP, "for step in range(0, tl.cdiv(K, BLOCK_K)):"), ("offs_k < K - k", "offs_k < K - step * BLOCK_K")),
        Variant("mask_from_k", ("mask_k = offs_k < K - k", "mask_k = k + offs_k < K")),
        Variant("dot_added_afterwards", (DOT, 'acc += tl.dot(a, b, input_precision="ieee")')),
        Variant("addresses_from_k", ("        a_ptrs += BLOCK_K * stride_ak\n        b_ptrs += BLOCK_K * stride_bk\n", ""),
            (A_LOAD, A_LOAD.replace("a_ptrs", "a_ptrs + k * stride_ak")), (B_LOAD, B_LOAD.replace("b_ptrs", "b_ptrs + k * stride_bk"))),
        Variant("rows_wrap_around", ("a_ptrs = a_ptr + offs_m[:, None]", "a_ptrs = a_ptr + (offs_m % M)[:, None]"), (A_LOAD, "a = tl.load(a_ptrs, mask=mask_k[None, :], other=0.0)")),
        Variant("cast_before_the_store", ("tl.store(c_ptrs, acc,", "tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty),")),
        Variant("grid_as_a_function", (GRID, 'lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))')),
        Variant("masks_compared_in_place", (A_LOAD, "a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K - k), other=0.0)")),
        Variant("zeros_by_where", (A_LOAD, A_LOAD.replace(", other=0.0", "") + "\n        a = tl.where(mask_k[None, :], a, 0.0)")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "matmul_whole": {
        "for _ in range(0, K, BLOCK_K): => for _ in range(1, K, BLOCK_K):": "as many steps: K is a multiple of BLOCK_K, and nobody asks for the value",
    },
    "matmul": {
        "c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn => c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]": "the wrapper makes a contiguous result: its last stride is 1",
        "a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0) => a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=1.0)": "0 on one side is enough: 1 times 0",
        "b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0) => b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=1.0)": "0 on one side is enough: 1 times 0",
    },
}
