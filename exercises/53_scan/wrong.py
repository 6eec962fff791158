"""Wrong answers of 53_scan with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

LOAD = "x = tl.load(x_row + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)"
SCAN = "y = carry + tl.cumsum(x, axis=0)"
STORE = "tl.store(y_row + offs_n, y, mask=offs_n < N)"
CARRY = "carry += tl.sum(x, axis=0)"
OFFS = "offs_n = start + tl.arange(0, BLOCK_N)"

THEN = "return a2 * a1, a2 * b1 + b2"
LOAD_A = "a = tl.load(a_ptr + offs, mask=mask, other=1.0).to(tl.float32)"
LOAD_B = "b = tl.load(b_ptr + offs, mask=mask, other=0.0).to(tl.float32)"
PAIRS = "A, B = tl.associative_scan((a, b), axis=0, combine_fn=then)"
H = "h = A * carry + B"
STORE_H = "tl.store(h_ptr + offs, h, mask=mask)"
NEXT = "carry = tl.sum(tl.where(lanes == BLOCK_T - 1, h, 0.0), axis=0)"
LAST = "    tl.store(last_ptr + row, carry)"
WALK = "for start in range(0, T, BLOCK_T):"

SCORES = 'scores = tl.dot(q, tl.trans(k), input_precision="ieee")'
MASK = "        scores = tl.where(causal, scores, 0.0)\n"
INSIDE = 'o = tl.dot(scores.to(v.dtype), v, input_precision="ieee")'
BEFORE = 'o = tl.dot(q, state.to(q.dtype), o, input_precision="ieee")'
STORE_O = "tl.store(o_ptrs, o, mask=mask)"
GROW = 'state = tl.dot(tl.trans(k), v, state, input_precision="ieee")'

STEP_BY_STEP = """@triton.jit
def gated_scan_kernel(a_ptr, b_ptr, h_ptr, last_ptr, T):
    row = tl.program_id(0).to(tl.int64) * T
    h = 0.0
    for t in range(0, T):
        a = tl.load(a_ptr + row + t).to(tl.float32)
        h = a * h + tl.load(b_ptr + row + t).to(tl.float32)
        tl.store(h_ptr + row + t, h)
    tl.store(last_ptr + tl.program_id(0), h)


def gated_scan(a, b, block=2048):
    if a.shape != b.shape or not a.is_contiguous() or not b.is_contiguous():
        raise ValueError("a and b must be contiguous, and of one shape (M, T)")
    M, T = b.shape
    h = torch.empty_like(b)
    last = torch.empty(M, dtype=torch.float32, device=b.device)
    if M > 0:
        gated_scan_kernel[(M,)](a, b, h, last, T)
    return h, last
"""

BADLY = ("wrong-values", "wrong-tail", "rows-after-first")

MUTANTS = {
    "cumsum_rows": [
        Mutant("carry_forgotten", "carry-forgotten", (SCAN, "y = tl.cumsum(x, axis=0)")),
        Mutant("carry_never_changes", "carry-forgotten", (CARRY, "pass")),
        Mutant("carry_overwritten", "carry-overwritten", (CARRY, "carry = tl.sum(x, axis=0)")),
        Mutant("carry_before_use", "carry-too-early", (f"        {CARRY}\n", ""), (SCAN, f"{CARRY}\n        {SCAN}")),
        Mutant("carry_doubled", "carry-doubled", (CARRY, "carry += tl.sum(tl.where(tl.arange(0, BLOCK_N) == BLOCK_N - 1, y, 0.0), axis=0)")),
        Mutant("carry_without_the_last", "carry-without-the-last", (CARRY, "carry += tl.sum(tl.where(tl.arange(0, BLOCK_N) < BLOCK_N - 1, x, 0.0), axis=0)")),
        Mutant("carry_is_the_last_number", "carry-is-a-number", (CARRY, "carry += tl.sum(tl.where(tl.arange(0, BLOCK_N) == BLOCK_N - 1, x, 0.0), axis=0)")),
        Mutant("carry_is_the_maximum", "carry-is-the-maximum", (CARRY, "carry += tl.max(x, axis=0)")),
        Mutant("carry_is_the_largest_y", "carry-is-the-largest-y", (CARRY, "carry = tl.max(y, axis=0)")),
        Mutant("loaded_in_float16", "loaded-in-float16", (LOAD, LOAD.replace("float32", "float16")), (SCAN, f"x = x.to(tl.float32)\n        {SCAN}")),
        Mutant("stored_in_float16", "stored-in-float16", (STORE, STORE.replace(" y,", " y.to(tl.float16),"))),
        Mutant("carry_inside_the_scan", "carry-in-each-lane", (SCAN, "y = tl.cumsum(x + carry, axis=0)")),
        Mutant("carry_is_a_tile", ("carry-is-a-tile", "does-not-compile", "raised"), (CARRY, "carry = y")),
        Mutant("carry_adds_a_tile", ("carry-adds-a-tile", "does-not-compile", "raised"), (CARRY, "carry += y")),
        Mutant("all_pairs_of_lanes", ("raised", "does-not-compile"), (SCAN, "i = tl.arange(0, BLOCK_N)\n        y = carry + tl.sum(tl.where(i[:, None] >= i[None, :], x[None, :], 0.0), axis=1)")),
        Mutant("number_by_number", "property", (f"        x = {LOAD[4:]}\n        {SCAN}\n        {STORE}\n        {CARRY}\n", "        for n in range(start, tl.minimum(start + BLOCK_N, N)):\n            carry += tl.load(x_row + n).to(tl.float32)\n            tl.store(y_row + n, carry)\n"), only="interpreter"),
        Mutant("carry_sums_y", "carry-sums-y", (CARRY, "carry += tl.sum(y, axis=0)")),
        Mutant("steps_of_one", "steps-of-one", ("range(0, N, BLOCK_N)", "range(0, N)")),
        Mutant("never_float32", "tile-in-half", (LOAD, LOAD.replace(".to(tl.float32)", ""))),
        Mutant("exclusive", "exclusive", (SCAN, SCAN + " - x")),
        Mutant("exclusive_in_tiles", "carry-without-the-last", (CARRY, "carry += tl.sum(x, axis=0) - tl.sum(tl.where(tl.arange(0, BLOCK_N) == BLOCK_N - 1, x, 0.0), axis=0)")),
        Mutant("reversed_tiles", "from-the-right", (SCAN, SCAN.replace("axis=0", "axis=0, reverse=True"))),
        Mutant("carry_subtracted", "carry-subtracted", (CARRY, "carry -= tl.sum(x, axis=0)")),
        Mutant("subtracts_what_comes_later", "property", (SCAN, "y = carry + (tl.sum(x, axis=0) - tl.cumsum(x, axis=0, reverse=True)) + x")),
        Mutant("sum_for_scan", "total-everywhere", (SCAN, "y = carry + tl.sum(x, axis=0) + 0.0 * x")),
        Mutant("not_scanned", "not-scanned", (SCAN, "y = carry + x")),
        Mutant("carry_in_half", "carry-in-half", (CARRY, "carry = (carry + tl.sum(x, axis=0)).to(y_ptr.dtype.element_ty).to(tl.float32)")),
        Mutant("scan_in_half", "scan-in-half", (LOAD, LOAD.replace(".to(tl.float32)", "")), (SCAN, "y = carry + tl.cumsum(x, axis=0).to(tl.float32)"), (CARRY, "carry += tl.sum(x.to(tl.float32), axis=0)")),
        Mutant("product", ("wrong-values", "rows-after-first", "overflow", "zeros"), (SCAN, SCAN.replace("cumsum", "cumprod"))),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "rows-after-first", "race"), (STORE, STORE.replace(", mask=offs_n < N", ""))),
        Mutant("no_mask_at_the_load", "reads-outside", (LOAD, "x = tl.load(x_row + offs_n).to(tl.float32)"), only="interpreter"),
        Mutant("first_tile_again", ("wrong-values", "unwritten-tail", "wrong-tail"), (OFFS, "offs_n = tl.arange(0, BLOCK_N)")),
        Mutant("last_tile_left_out", ("unwritten-tail", "unwritten"), ("range(0, N, BLOCK_N)", "range(0, N - BLOCK_N + 1, BLOCK_N)")),
        Mutant("rows_are_n_apart", ("strided-only", "wrong-values"), ("x_ptr + pid_m * stride_xm", "x_ptr + pid_m * N")),
        Mutant("one_tile_for_all", "tile-too-large", ("min(block, triton.next_power_of_2(N))", "triton.next_power_of_2(N)")),
        Mutant("by_torch", ("torch-compute", "no-kernel-launched"), replace="def cumsum_rows(x, block=2048):\n    if x.ndim != 2 or x.stride(1) != 1:\n        raise ValueError('x')\n    return x.cumsum(1)\n"),
    ],
    "gated_scan": [
        Mutant("carry_forgotten", "carry-forgotten", (H, "h = B")),
        Mutant("carry_not_gated", "carry-not-gated", (H, "h = carry + B")),
        Mutant("carry_by_one_gate", "carry-by-one-gate", (H, "h = a * carry + B")),
        Mutant("carry_before_b", "carry-before-B", (H, "h = A * (carry + B)")),
        Mutant("b_for_B", "b-for-B", (H, "h = A * carry + b")),
        Mutant("lane_of_the_row", "carry-forgotten", (NEXT, NEXT.replace("BLOCK_T", "T"))),
        Mutant("lane_of_the_first_tile", "carry-of-one-tile", (NEXT, NEXT.replace("lanes ==", "start + lanes =="))),
        Mutant("carry_is_the_largest", ("carry-is-the-largest", "wrong-values"), (NEXT, "carry = tl.max(h, axis=0)")),
        Mutant("steps_of_one", "steps-of-one", (WALK, "for start in range(0, T):")),
        Mutant("arguments_mixed", "arguments-mixed", ("def then(a1, b1, a2, b2)", "def then(a1, a2, b1, b2)")),
        Mutant("step_by_step", "property", replace=STEP_BY_STEP, only="interpreter"),
        Mutant("b_unchecked", "should-raise", (" or not b.is_contiguous()", "")),
        Mutant("a_unchecked", "should-raise", (" or not a.is_contiguous()", "")),
        Mutant("lengths_compared_alone", "should-raise", ("a.shape != b.shape", "a.shape[1] != b.shape[1]")),
        Mutant("where_swapped", "all-lanes-but-the-last", (NEXT, NEXT.replace("h, 0.0", "0.0, h"))),
        Mutant("a_and_b_swapped", "a-and-b-swapped", ("](a, b, h, last, T", "](b, a, h, last, T")),
        Mutant("gate_of_the_second", "gate-of-the-second", (THEN, "return a2 * a1, a2 * b2 + b1")),
        Mutant("gate_of_both", "gate-of-both", (THEN, "return a2 * a1, a2 * (b1 + b2)")),
        Mutant("two_scans", "inputs-not-gated", (PAIRS, "A = tl.cumprod(a, axis=0)\n        B = tl.cumsum(b, axis=0)")),
        Mutant("never_float32", "scan-in-half", (LOAD_A, LOAD_A.replace(".to(tl.float32)", "")), (LOAD_B, LOAD_B.replace(".to(tl.float32)", ""))),
        Mutant("gates_not_multiplied", "gates-not-multiplied", (THEN, "return a2, a2 * b1 + b2")),
        Mutant("first_gate_kept", "first-gate-kept", (THEN, "return a1, a2 * b1 + b2")),
        Mutant("gates_added", "gates-added", (THEN, "return a1 + a2, a2 * b1 + b2")),
        Mutant("order_swapped", "order-swapped", (THEN, "return a2 * a1, a1 * b2 + b1")),
        Mutant("arguments_swapped", "order-swapped", ("def then(a1, b1, a2, b2)", "def then(a2, b2, a1, b1)")),
        Mutant("gate_of_the_first", "gate-of-the-first", (THEN, "return a2 * a1, a1 * b1 + b2")),
        Mutant("inputs_not_gated", "inputs-not-gated", (THEN, "return a2 * a1, b1 + b2")),
        Mutant("exclusive", ("exclusive", "wrong-values"), (H, "h = (A * carry + B - b) / a")),
        Mutant("pair_returned_backwards", "returned-backwards", (THEN, "return a2 * b1 + b2, a2 * a1")),
        Mutant("pairs_received_backwards", "gates-alone", (PAIRS, PAIRS.replace("A, B =", "B, A ="))),
        Mutant("gates_and_inputs_swapped", "a-and-b-swapped", (PAIRS, PAIRS.replace("(a, b)", "(b, a)"))),
        Mutant("first_lane_carried", "carry-too-early", (NEXT, NEXT.replace("lanes == BLOCK_T - 1", "lanes == 0"))),
        Mutant("lane_before_the_last", BADLY, (NEXT, NEXT.replace("BLOCK_T - 1", "BLOCK_T - 2"))),
        Mutant("no_such_lane", ("carry-forgotten", "unused-input"), (NEXT, NEXT.replace("BLOCK_T - 1", "BLOCK_T"))),
        Mutant("sum_of_all_lanes", ("wrong-values", "last-is-a-sum"), (NEXT, "carry = tl.sum(h, axis=0)")),
        Mutant("carry_of_b_alone", "carry-is-B", (NEXT, NEXT.replace("h, 0.0", "B, 0.0"))),
        Mutant("carry_added_up", BADLY, (NEXT, NEXT.replace("carry =", "carry +="))),
        Mutant("masked_gate_0", "last-gate-of-padding", (LOAD_A, LOAD_A.replace("other=1.0", "other=0.0"))),
        Mutant("masked_input_1", "last-input-of-padding", (LOAD_B, LOAD_B.replace("other=0.0", "other=1.0"))),
        Mutant("other_forgotten_a", ("last-gate-of-padding", "wrong-values", "nan", "no-other"), (LOAD_A, LOAD_A.replace(", other=1.0", "")), only="interpreter"),
        Mutant("other_forgotten_b", ("last-input-of-padding", "wrong-values", "nan", "no-other"), (LOAD_B, LOAD_B.replace(", other=0.0", "")), only="interpreter"),
        Mutant("last_never_stored", ("unwritten", "unwritten-tail", "nan"), (LAST, "    carry += 0.0")),
        Mutant("last_stored_too_early", ("last-of-the-tile-before", "wrong-values"), (LAST, "    pass"), (STORE_H, f"{STORE_H}\n        tl.store(last_ptr + row, carry)")),
        Mutant("last_of_row_0", ("unwritten", "unwritten-tail", "race", "wrong-values", "rows-after-first"), (LAST, "    tl.store(last_ptr, carry)")),
        Mutant("carry_in_half", "state-in-half", (NEXT, f"{NEXT}.to(h_ptr.dtype.element_ty).to(tl.float32)")),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "rows-after-first", "race"), (STORE_H, "tl.store(h_ptr + offs, h)")),
        Mutant("gates_not_cast", "gates-in-half", (LOAD_A, LOAD_A.replace(".to(tl.float32)", ""))),
        Mutant("two_cumulative_products", ("division-by-gates", "nan"), (PAIRS, "A = tl.cumprod(a, axis=0)\n        B = A * tl.cumsum(b / A, axis=0)")),
        Mutant("backwards", BADLY, (PAIRS, PAIRS.replace("axis=0,", "axis=0, reverse=True,"))),
        Mutant("last_in_the_dtype_of_b", ("wrong-dtype",), ("torch.empty(M, dtype=torch.float32, device=b.device)", "torch.empty(M, dtype=b.dtype, device=b.device)")),
        Mutant("results_swapped", ("wrong-shape", "swapped", "wrong-dtype"), ("return h, last", "return last, h")),
        Mutant("strides_ignored", "should-raise", (" or not a.is_contiguous() or not b.is_contiguous()", "")),
        Mutant("torch_loop", ("torch-compute", "no-kernel-launched"), replace="def gated_scan(a, b, block=2048):\n    if a.shape != b.shape or not a.is_contiguous() or not b.is_contiguous():\n        raise ValueError('a and b')\n    h, steps = torch.zeros_like(b[:, 0]), []\n    for t in range(b.shape[1]):\n        h = a[:, t] * h + b[:, t]\n        steps.append(h)\n    return torch.stack(steps, 1), h.float()\n"),
    ],
    "linear_attention": [
        Mutant("no_mask", "future-of-the-chunk", (MASK, "")),
        Mutant("mask_turned_round", "past-masked", (MASK, "        scores = tl.where(tl.trans(causal), scores, 0.0)\n")),
        Mutant("branches_swapped", "future-only", (MASK, MASK.replace("scores, 0.0", "0.0, scores"))),
        Mutant("mask_from_the_start", "mask-from-the-start", (MASK, "        scores = tl.where((start + offs_t)[:, None] >= offs_t[None, :], scores, 0.0)\n")),
        Mutant("mask_without_a_past", "mask-without-a-past", (MASK, "        scores = tl.where(offs_t[:, None] >= (start + offs_t)[None, :], scores, 0.0)\n")),
        Mutant("state_k_v", ("raised", "does-not-compile"), (GROW, GROW.replace("tl.trans(k)", "k"))),
        Mutant("values_transposed", ("raised", "does-not-compile"), (GROW, GROW.replace("tl.trans(k), v", "k, tl.trans(v)"))),
        Mutant("keys_left_transposed", ("raised", "does-not-compile"), (SCORES, f"k = tl.trans(k)\n        {SCORES.replace('tl.trans(k)', 'k')}")),
        Mutant("diagonal_missing", "diagonal-missing", (MASK, "        scores = tl.where(offs_t[:, None] > offs_t[None, :], scores, 0.0)\n")),
        Mutant("state_forgotten", "state-forgotten", (BEFORE, "pass")),
        Mutant("state_of_one_chunk", "state-of-one-chunk", (GROW, GROW.replace("v, state,", "v,"))),
        Mutant("state_never_grows", "state-never-grows", (GROW, "pass")),
        Mutant("state_too_early", "state-too-early", (f"        {GROW}\n", ""), (SCORES, f"{GROW}\n        {SCORES}")),
        Mutant("chunk_forgotten", "chunk-forgotten", (BEFORE, BEFORE.replace("q.dtype), o,", "q.dtype),"))),
        Mutant("diagonal_twice", "diagonal-twice", (MASK, MASK + "        scores += tl.where(offs_t[:, None] == offs_t[None, :], scores, 0.0)\n")),
        Mutant("infinity_for_zero", ("nan", "overflow", "wrong-values"), (MASK, MASK.replace("0.0", 'float("-inf")'))),
        Mutant("softmax", "softmax-kept", (MASK, '        scores = tl.where(causal, scores, float("-inf"))\n        scores = tl.exp(scores - tl.max(scores, axis=1)[:, None])\n        scores = scores / tl.sum(scores, axis=1)[:, None]\n')),
        Mutant("tf32_scores", "tf32", (SCORES, SCORES.replace(', input_precision="ieee"', ""))),
        Mutant("tf32_state", "tf32", (GROW, GROW.replace(', input_precision="ieee"', ""))),
        Mutant("scaled", "scaled", (STORE_O, "tl.store(o_ptrs, o * D**-0.5, mask=mask)")),
        Mutant("state_in_half", "state-in-half", (GROW, GROW + ".to(q.dtype).to(tl.float32)")),
        Mutant("store_unmasked", ("out-of-bounds-store", "race", "rows-after-first"), (STORE_O, "tl.store(o_ptrs, o)")),
        Mutant("not_stored", ("unwritten", "unwritten-tail"), (STORE_O, "o += 0.0")),
        Mutant("keys_not_transposed", ("does-not-compile", "wrong-values", "raised", "kernel-error"), (SCORES, SCORES.replace("tl.trans(k)", "k"))),
        Mutant("keys_for_queries", "keys-for-queries", (BEFORE, BEFORE.replace("tl.dot(q, ", "tl.dot(k, "))),
        Mutant("keys_for_values", "unused-input", (INSIDE, INSIDE.replace("v, input", "k, input"))),
        Mutant("queries_in_the_state", "unused-input", (GROW, GROW.replace("tl.trans(k)", "tl.trans(q)"))),
        Mutant("state_doubled", "state-doubled", (GROW, GROW.replace("state = ", "state += "))),
        Mutant("inside_twice", "inside-twice", (BEFORE, BEFORE.replace("o = ", "o += "))),
        Mutant("exponentials", "exponentials", (MASK, MASK.replace("causal, scores", "causal, tl.exp(scores)"))),
        Mutant("scores_transposed", "scores-transposed", (SCORES, 'scores = tl.dot(k, tl.trans(q), input_precision="ieee")')),
        Mutant("state_subtracted", "constant-factor", (GROW, 'state -= tl.dot(tl.trans(k), v, input_precision="ieee")')),
        Mutant("stored_before_the_state", "state-forgotten", (f"        {STORE_O}\n", ""), (BEFORE, f"{STORE_O}\n        {BEFORE}")),
        Mutant("by_torch", ("torch-compute", "no-kernel-launched"), replace="def linear_attention(q, k, v, chunk=64):\n    if not q.shape == k.shape == v.shape or q.shape[3] not in (16, 32, 64, 128):\n        raise ValueError('shapes')\n    return (q @ k.mT).tril() @ v, (k.mT @ v).float()\n"),
    ],
}

VARIANTS = {
    "cumsum_rows": [
        Variant("carry_from_y", (CARRY, "carry = tl.sum(tl.where(offs_n == start + BLOCK_N - 1, y, 0.0), axis=0)")),
        Variant("small_tiles", ("block=2048", "block=128")),
        Variant("eight_warps", ("BLOCK_N=BLOCK_N)", "BLOCK_N=BLOCK_N, num_warps=8)")),
        Variant("carry_added_to_the_first", (SCAN, "y = tl.cumsum(x + tl.where(offs_n == start, carry, 0.0), axis=0)")),
        Variant("cast_at_the_store", (STORE, "tl.store(y_row + offs_n, y.to(y_ptr.dtype.element_ty), mask=offs_n < N)")),
        Variant("carry_is_a_tile", ("carry = 0.0", "carry = tl.zeros([1], tl.float32)")),
    ],
    "gated_scan": [
        Variant("products_the_other_way", (THEN, "return a1 * a2, b1 * a2 + b2")),
        Variant("carry_in_the_first_step", (PAIRS, "b += tl.where(lanes == 0, a * carry, 0.0)\n        " + PAIRS), (H, "h = B")),
        Variant("last_of_each_tile_stored", (LAST, "    pass"), (NEXT, NEXT + "\n        tl.store(last_ptr + row, carry)")),
        Variant("fma", (H, "h = tl.fma(A, carry + tl.zeros([BLOCK_T], tl.float32), B)")),
        Variant("carry_by_product", (NEXT, "carry = tl.sum(h * (lanes == BLOCK_T - 1).to(tl.float32), axis=0)")),
        Variant("small_tiles", ("block=2048", "block=64")),
    ],
    "linear_attention": [
        Variant("state_by_plus", (GROW, 'state += tl.dot(tl.trans(k), v, input_precision="ieee")')),
        Variant("outside_first", (INSIDE, 'o = tl.dot(q, state.to(q.dtype), input_precision="ieee")'), (BEFORE, 'o = tl.dot(scores.to(v.dtype), v, o, input_precision="ieee")')),
        Variant("mask_by_product", (MASK, "        scores = scores * causal.to(tl.float32)\n")),
        Variant("mask_by_tokens", (MASK, "        scores = tl.where(tokens >= start + offs_t[None, :], scores, 0.0)\n")),
        Variant("wider_slices", ("BLOCK_E = min(D, 32)", "BLOCK_E = min(D, 16)")),
        Variant("eight_warps", ("BLOCK_E=BLOCK_E\n", "BLOCK_E=BLOCK_E, num_warps=8\n")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "cumsum_rows": {
        "carry += tl.sum(x, axis=0) => carry += tl.sum(x)": "a tile of one dimension has one axis",
        "y = carry + tl.cumsum(x, axis=0) => y = carry + tl.cumsum(x)": "axis 0 is the default",
        "x = tl.load(x_row + offs_n, mask=offs_n < N, other=0.0).to(tl.float32) => x = tl.load(x_row + offs_n, mask=offs_n < N).to(tl.float32)": "masked lanes stand at the end of the last tile: no lane and no carry that counts comes after them",
        "x = tl.load(x_row + offs_n, mask=offs_n < N, other=0.0).to(tl.float32) => x = tl.load(x_row + offs_n, mask=offs_n < N, other=1.0).to(tl.float32)": "masked lanes stand at the end of the last tile: no lane and no carry that counts comes after them",
    },
    "gated_scan": {
        "if M > 0: => if True:": "Triton launches nothing over an empty grid",
        "if M > 0: => if M >= 0:": "Triton launches nothing over an empty grid",
        "row = tl.program_id(axis=0).to(tl.int64) => row = tl.program_id(axis=0)": "it takes more than 2^31 elements to tell, which no check can have",
        "last = torch.empty(M, dtype=torch.float32, device=b.device) => last = torch.empty(M, device=b.device)": "float32 is PyTorch's default",
        "last = torch.empty(M, dtype=torch.float32, device=b.device) => last = torch.empty(M, dtype=torch.float32)": "without a GPU there is one device; with one the launch fails",
        "carry = tl.sum(tl.where(lanes == BLOCK_T - 1, h, 0.0), axis=0) => carry = tl.sum(tl.where(lanes == BLOCK_T - 1, h, 0.0))": "a tile of one dimension has one axis",
    },
}
