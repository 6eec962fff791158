"""Wrong answers of 63_gluon_pipeline with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

EARLY = "range(SLOTS - 1)"
WAIT = "        async_copy.wait_group(SLOTS - 2)\n"
LOAD = "        x = tiles.index(number % SLOTS).load(ROWS)\n"
AHEAD = "        order_tile(x_ptr, tiles, number + SLOTS - 1, M, N, stride_xm)\n"
RACE = ("early-read", "unwritten")

A = "        a = a_tiles.index(step % SLOTS).load(gl.DotOperandLayout(0, ACC, 2))\n"
B = "        b = b_tiles.index(step % SLOTS).load(gl.DotOperandLayout(1, ACC, 2))\n"
NEXT = "        ahead = step + SLOTS - 1\n        order_step(a_ptr, b_ptr, a_tiles, b_tiles, ahead, M, N, K, stride_am, stride_bk)\n"
CLOSE = "b_mask)\n    async_copy.commit_group()"
COPY_A = "async_copy.async_copy_global_to_shared(a_slot, a_ptr + a_rows + offs_ak, mask=a_mask)"
COPY_B = "async_copy.async_copy_global_to_shared(b_slot, b_ptr + b_rows + offs_n, mask=b_mask)"

MUTANTS = {
    "row_sums": [
        Mutant("never_waits", RACE, (WAIT, "")),
        Mutant("all_are_waited_for", "property", (WAIT, "        async_copy.wait_group(0)\n")),
        Mutant("a_step_for_each_number", ("property", "timeout"), ("range(gl.cdiv(N, 128))", "range(N)")),
        Mutant("one_group_too_few", RACE, (WAIT, WAIT.replace("- 2", "- 1"))),
        Mutant("waits_for_as_many_as_slots", RACE, (WAIT, WAIT.replace("SLOTS - 2", "SLOTS"))),
        Mutant("waits_after_the_load", RACE, (WAIT + LOAD, LOAD + WAIT)),
        Mutant("waits_after_the_order", RACE, (WAIT + LOAD + AHEAD, LOAD + AHEAD + WAIT)),
        Mutant("ring_not_filled", RACE, ("    for early in gl.static_range(SLOTS - 1):\n        order_tile(x_ptr, tiles, early, M, N, stride_xm)\n", "")),
        Mutant("one_tile_too_few_ahead", ("early-read", "unwritten", "wrong-values"), (EARLY, "range(SLOTS - 2)")),
        Mutant("one_tile_too_many_ahead", ("early-read", "wrong-values", "unwritten", "two-writers"), (EARLY, "range(SLOTS)")),
        Mutant("orders_the_next_tile", ("two-writers", "early-read", "unwritten", "wrong-values"), (AHEAD, AHEAD.replace("number + SLOTS - 1", "number + 1"))),
        Mutant("orders_a_slot_too_far", ("early-read", "unwritten", "wrong-values"), (AHEAD, AHEAD.replace("number + SLOTS - 1", "number + SLOTS"))),
        Mutant("never_orders_again", ("early-read", "wrong-values", "unwritten"), (AHEAD, "")),
        Mutant("reads_the_next_slot", ("early-read", "wrong-values", "unwritten"), (LOAD, LOAD.replace("number %", "(number + 1) %"))),
        Mutant("reads_one_slot", ("early-read", "wrong-values", "unwritten"), (LOAD, LOAD.replace("number % SLOTS", "0"))),
        Mutant("no_remainder", ("outside",), (LOAD, LOAD.replace("number % SLOTS", "number"))),
        Mutant("last_tile_left_out", "rest-left-out", ("gl.cdiv(N, 128)", "N // 128")),
        Mutant("last_tile_alone", "last-tile-only", ("        acc += x\n", "        acc = x\n")),
        Mutant("round_the_ring", "round-the-ring", (AHEAD, AHEAD.replace("number + SLOTS - 1", "(number + SLOTS - 1) % SLOTS"))),
        Mutant("sums_by_torch", ("torch-compute", "no-kernel-launched"), replace="def row_sums(x, slots=4):\n    if x.ndim != 2 or x.stride(1) != 1 or x.dtype != torch.float32:\n        raise ValueError('x')\n    return x.sum(dim=1)\n"),
    ],
    "matmul_pipeline": [
        Mutant("never_waits", RACE, (WAIT, "")),
        Mutant("all_are_waited_for", "property", (WAIT, "        async_copy.wait_group(0)\n")),
        Mutant("a_step_for_each_of_K", ("property", "timeout"), ("range(gl.cdiv(K, BLOCK_K))", "range(K)")),
        Mutant("one_group_too_few", RACE, (WAIT, WAIT.replace("- 2", "- 1"))),
        Mutant("group_not_closed", RACE, (CLOSE, "b_mask)")),
        Mutant("group_closed_too_early", RACE, (COPY_A + "\n    " + COPY_B + "\n    async_copy.commit_group()", COPY_A + "\n    async_copy.commit_group()\n    " + COPY_B)),
        Mutant("b_from_the_next_slot", (*RACE, "wrong-values"), (B, B.replace("step %", "(step + 1) %"))),
        Mutant("ring_not_filled", RACE, ("    for early in gl.static_range(SLOTS - 1):\n        order_step(a_ptr, b_ptr, a_tiles, b_tiles, early, M, N, K, stride_am, stride_bk)\n", "")),
        Mutant("one_step_too_few_ahead", (*RACE, "wrong-values"), (EARLY, "range(SLOTS - 2)")),
        Mutant("orders_the_next_step", (*RACE, "two-writers"), ("step + SLOTS - 1", "step + 1")),
        Mutant("same_step_again", (*RACE, "wrong-values"), ("step + SLOTS - 1", "step")),
        Mutant("k_not_masked_in_a", ("wrong-values", "nan", "outside", "reads-outside"), ("(offs_m < M) & (offs_ak < K)", "(offs_m < M) & (offs_ak < K + 16)")),
        Mutant("m_not_masked", ("outside", "reads-outside", "wrong-values"), ("(offs_m < M) & (offs_ak < K)", "(offs_m < M + 128) & (offs_ak < K)")),
        Mutant("n_masked_with_k", ("zeros", "outside", "reads-outside"), ("(offs_bk < K) & (offs_n < N)", "(offs_bk < K) & (offs_n < K)")),
        Mutant("acc_added_twice", "acc-added-twice", ("acc = mma_v2", "acc += mma_v2")),
        Mutant("as_many_steps_as_n_needs", "walk-along-N", ("gl.cdiv(K, BLOCK_K)", "gl.cdiv(N, BLOCK_K)")),
        Mutant("product_not_added", "last-step-only", ("acc = mma_v2(a, b, acc)", "acc = mma_v2(a, b, gl.zeros([BLOCK_M, BLOCK_N], gl.float32, ACC))")),
        Mutant("last_step_left_out", ("rest-left-out", "zeros"), ("gl.cdiv(K, BLOCK_K)", "K // BLOCK_K")),
        Mutant("blocks_swapped", ("unwritten-tail", "wrong-tail"), ("BLOCK_M=tile[0], BLOCK_N=tile[1]", "BLOCK_M=tile[1], BLOCK_N=tile[0]")),
        Mutant("grid_swapped", ("wrong-values", "unwritten", "unwritten-tail", "wrong-tail", "race"), ("triton.cdiv(M, tile[0]), triton.cdiv(N, tile[1])", "triton.cdiv(N, tile[1]), triton.cdiv(M, tile[0])")),
        Mutant("one_row_of_tiles", "other-programs", ("triton.cdiv(M, tile[0]), triton.cdiv(N, tile[1])", "1, triton.cdiv(N, tile[1])")),
        Mutant("strides_swapped", ("wrong-values", "outside", "reads-outside"), ("M, N, K, a.stride(0), b.stride(0), c.stride(0)", "M, N, K, b.stride(0), a.stride(0), c.stride(0)")),
        Mutant("product_by_torch", ("torch-compute", "no-kernel-launched"), replace="def matmul_pipeline(a, b, tile=(128, 128, 32), slots=4):\n    (M, K), N = a.shape, b.shape[1]\n    if K != b.shape[0] or a.dtype != b.dtype or a.dtype not in (torch.float16, torch.bfloat16) or K % 16 or N % 16:\n        raise ValueError('a, b')\n    return a @ b\n"),
    ],
}

VARIANTS = {
    "row_sums": [
        Variant("order_first", (WAIT + LOAD + AHEAD, AHEAD + WAIT + LOAD)),
        Variant("order_last", (AHEAD + "        acc += x\n", "        acc += x\n" + AHEAD)),
        Variant("slot_kept", (LOAD, "        slot = tiles.index(number % SLOTS)\n        x = slot.load(ROWS)\n")),
        Variant("load_before_other_work", ("        acc += x\n", "        acc = acc + x\n")),
    ],
    "matmul_pipeline": [
        Variant("order_first", (WAIT + A + B + NEXT, NEXT + WAIT + A + B)),
        Variant("a_group_for_each_copy", (COPY_A + "\n", COPY_A + "\n    async_copy.commit_group()\n")),
        Variant("multiply_then_order", (NEXT + "        acc = mma_v2(a, b, acc)\n", "        acc = mma_v2(a, b, acc)\n" + NEXT)),
        Variant("b_ordered_first", (COPY_A + "\n    " + COPY_B, COPY_B + "\n    " + COPY_A)),
        Variant("slot_inline", ("a_slot, b_slot = a_tiles.index(step % SLOTS), b_tiles.index(step % SLOTS)", "slot = step % SLOTS\n    a_slot, b_slot = a_tiles.index(slot), b_tiles.index(slot)")),
    ],
}

EQUIVALENT = {
    "matmul_pipeline": {
        "BLOCK_M=tile[0], BLOCK_N=tile[1], BLOCK_K=tile[2], SLOTS=slots, num_warps=4, => BLOCK_M=tile[0], BLOCK_N=tile[1], BLOCK_K=tile[0], SLOTS=slots, num_warps=4,": "a longer step along K: the same sums from more shared memory",
        "BLOCK_M=tile[0], BLOCK_N=tile[1], BLOCK_K=tile[2], SLOTS=slots, num_warps=4, => BLOCK_M=tile[0], BLOCK_N=tile[1], BLOCK_K=tile[1], SLOTS=slots, num_warps=4,": "a longer step along K: the same sums from more shared memory",
        "c = torch.empty((M, N), dtype=a.dtype, device=a.device) => c = torch.empty((M, N), dtype=a.dtype)": "without a GPU the default device is the input's",
        "async_copy.async_copy_global_to_shared(a_slot, a_ptr + a_rows + offs_ak, mask=a_mask) async_copy.async_copy_global_to_shared(b_slot, b_ptr + b_rows + offs_n, mask=b_mask) => async_copy.async_copy_global_to_shared(b_slot, b_ptr + b_rows + offs_n, mask=b_mask) async_copy.async_copy_global_to_shared(a_slot, a_ptr + a_rows + offs_ak, mask=a_mask)": "the order of two copies of one group",
        "a = a_tiles.index(step % SLOTS).load(gl.DotOperandLayout(0, ACC, 2)) => a = a_tiles.index(step % SLOTS).load(gl.DotOperandLayout(0, ACC, 3))": "the compiler refuses this width; the simulator knows no layouts",
        "b = b_tiles.index(step % SLOTS).load(gl.DotOperandLayout(1, ACC, 2)) => b = b_tiles.index(step % SLOTS).load(gl.DotOperandLayout(1, ACC, 3))": "the compiler refuses this width; the simulator knows no layouts",
    },
}
