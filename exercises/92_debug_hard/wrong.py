"""Wrong answers of 92_debug_hard with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant


def cause(right, wrong):
    return (f'return "{right}"', f'return "{wrong}"')


def unnamed(key, right):
    return (f'return "{right}"', f'raise NotImplementedError("TODO: fill in {key}_cause")')


COPY = "x, y = dy.clone(), dy"
AFTER = "after = tl.load(x_ptr + offs + D, mask=mask_d & (t + 1 < T), other=0.0)"
SHIFTED = "tl.store(y_ptr + offs, row + a * after, mask=mask_d)"
ROW = "        row = after\n"
SHIFT_GRID = "grid = (triton.cdiv(T, block),)"

START = "m_i, l_i = -1e38, 0.0"
MINUS = 'm_i, l_i = float("-inf"), 0.0'
SEEN = "seen = (offs_t < T) & (offs_t >= T - window)"
NEW = "m_new = tl.maximum(m_i, tl.max(s, axis=0))"
WALK = "for start in range(0, T, BLOCK_T):"
ATTENDED = "tl.store(o_ptr + offs_d, acc / l_i)"

ZEROS = "partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)"
EMPTY = ZEROS.replace("zeros", "empty")
IF = "    if piece * piece_size < N:\n"
PART = """        x = tl.load(x_ptr + row * N + offs_n, mask=mask, other=0.0).to(tl.float32)
        place = row * tl.num_programs(axis=1) + piece
        tl.store(partials_ptr + place, tl.sum(x * x, axis=0))
"""
JOINED = "partials = tl.load(partials_ptr + places, mask=offs_s < num_splits, other=0.0)"
MASK = "mask = (offs < piece_size) & (offs_n < N)"

PUT = "tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0))"
SLOT = "slot = tl.load(slots_ptr + t)"

WHILE = "while row < end:"
ADD = "acc += tl.sum(x, axis=0)"
STEP = "row += BLOCK_M"
EXPERT_MASK = "mask = (offs_m < end) & (offs_d < D)"
BEGIN = "row = tl.load(ends_ptr + e - 1, mask=e > 0, other=0)"

MUTANTS = {
    "shift_gradient": [
        Mutant("as_it_came_and_named", "property", (COPY, "x, y = dy, dy")),
        Mutant("mended_and_not_named", "not-attempted", unnamed("shift_gradient", "race")),
        Mutant("mended_and_wrongly_named", "property", cause("race", "stale buffer")),
        Mutant("grid_named", "property", cause("race", "grid")),
        Mutant("a_name_of_the_other_table", "property", cause("race", "index")),
        Mutant("a_view_is_no_copy", "property", (COPY, "x, y = dy.view(T, D), dy")),
        Mutant("written_to_the_copy", ("nothing-added", "property", "unwritten", "wrong-values"), (COPY, "x, y = dy, dy.clone()")),
        Mutant("smaller_pieces", ("race", "property"), (COPY, "x, y = dy, dy"), (SHIFT_GRID, "block = 4\n    " + SHIFT_GRID)),
        Mutant("a_barrier", "property", (COPY, "x, y = dy, dy"), (ROW, "        tl.debug_barrier()\n" + ROW)),
        Mutant("loaded_as_volatile", "property", (COPY, "x, y = dy, dy"), (AFTER, AFTER.replace("other=0.0", "other=0.0, volatile=True"))),
        Mutant("row_before", ("wrong-values", "row-before"), (AFTER, AFTER.replace("+ D,", "- D,").replace("t + 1 < T", "t > 0"))),
        Mutant("last_row_reads_on", "reads-outside", (AFTER, AFTER.replace(" & (t + 1 < T)", ""))),
        Mutant("last_row_left_out", ("property", "wrong-values", "wrong-tail"), (SHIFT_GRID, "grid = (max(T // block, 1),)")),
        Mutant("row_kept", "rows-after-first", (ROW, "")),
        Mutant("a_left_out", ("off-by-an-input", "wrong-values", "property"), (SHIFTED, SHIFTED.replace("a * after", "after"))),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def shift_gradient(dy, a, block=16):\n    require_contiguous(dy)\n    dy[:-1] += a * dy[1:]\n\n\ndef shift_gradient_cause():\n    return 'race'\n"),
        Mutant("returned_instead", "unwritten", (COPY, "x, y = dy, torch.empty_like(dy)"), ("    shift_gradient_kernel[grid](", "    global kept\n    kept = y\n    shift_gradient_kernel[grid](")),
    ],
    "window_attend": [
        Mutant("as_it_came_and_named", "still-ill", (START, MINUS)),
        Mutant("mended_and_not_named", "not-attempted", unnamed("window_attend", "infinity")),
        Mutant("mended_and_wrongly_named", "property", cause("infinity", "overflow")),
        Mutant("padding_named", "property", cause("infinity", "padding")),
        Mutant("starts_at_zero", "maximum-from-above", (START, "m_i, l_i = 0.0, 0.0")),
        Mutant("NaN_made_zero_at_the_end", ("zero-for-NaN", "still-ill", "zeros"), (START, MINUS), (ATTENDED, "o = acc / l_i\n    tl.store(o_ptr + offs_d, tl.where(o == o, o, 0.0))")),
        Mutant("unseen_keys_score_0", ("unseen-keys-count", "wrong-values"), (START, MINUS), ("axis=1), float(\"-inf\"))", "axis=1), 0.0)")),
        Mutant("starts_at_minus_60000", "maximum-from-above", (START, "m_i, l_i = -60000.0, 0.0")),
        Mutant("starts_at_minus_100", "maximum-from-above", (START, "m_i, l_i = -100.0, 0.0")),
        Mutant("everything_seen", "everything-seen", (START, MINUS), (SEEN, "seen = offs_t < T")),
        Mutant("window_from_zero_on", ("everything-seen", "wrong-values"), (SEEN, SEEN.replace(">= T - window", ">= 0"))),
        Mutant("one_key_too_few", ("one-key-too-few", "nan", "still-ill", "zero-for-NaN"), (SEEN, SEEN.replace(">=", ">"))),
        Mutant("one_key_too_many", "one-key-too-many", (SEEN, SEEN.replace("T - window", "T - window - 1"))),
        Mutant("begins_a_tile_too_late", ("wrong-values", "zeros", "nan"), (START, MINUS), (WALK, "for start in range(tl.maximum(0, T - window + BLOCK_T - 1) // BLOCK_T * BLOCK_T, T, BLOCK_T):")),
        Mutant("begins_unaligned_and_late", ("wrong-values", "one-key-too-few", "nan"), (START, MINUS), (WALK, "for start in range(tl.maximum(0, T - window + 1), T, BLOCK_T):")),
        Mutant("maximum_not_kept", ("wrong-values", "nan", "overflow"), ("        m_i = m_new\n", "")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def window_attend(q, k, v, window, block=16):\n    T, D = k.shape\n    if window < 1 or D & (D - 1):\n        raise ValueError('window')\n    k, v = k[-window:].float(), v[-window:].float()\n    return ((k @ q.float() * D**-0.5).softmax(0) @ v).to(q.dtype)\n\n\ndef window_attend_cause():\n    return 'infinity'\n"),
    ],
    "row_squares": [
        Mutant("as_it_came_and_named", "still-ill", (ZEROS, EMPTY)),
        Mutant("mended_and_not_named", "not-attempted", unnamed("row_squares", "uninitialised")),
        Mutant("mended_and_wrongly_named", "property", cause("uninitialised", "stale buffer")),
        Mutant("race_named", "property", cause("uninitialised", "race")),
        Mutant("one_place_less_is_read", ("still-ill", "last-piece-left-out", "wrong-values"), (ZEROS, EMPTY), (JOINED, JOINED.replace("offs_s < num_splits", "offs_s < num_splits - 1"))),
        Mutant("full_pieces_are_read", ("full-pieces-only", "wrong-values", "last-piece-left-out", "still-ill"), (ZEROS, EMPTY), ("def row_join_kernel(partials_ptr, out_ptr, num_splits, ", "def row_join_kernel(partials_ptr, out_ptr, num_splits, full, "), (JOINED, JOINED.replace("offs_s < num_splits", "offs_s < full")), ("(partials, out, num_splits, ", "(partials, out, num_splits, N // piece_size, ")),
        Mutant("out_is_zeroed_instead", "still-ill", (ZEROS, EMPTY), ("out = torch.empty(M, dtype", "out = torch.zeros(M, dtype")),
        Mutant("zero_in_a_full_piece_alone", ("still-ill", "nan"), (ZEROS, EMPTY), (IF, "    if (piece + 1) * piece_size <= N + piece_size:\n")),
        Mutant("NaN_made_zero", ("reads-unwritten", "still-ill", "wrong-values", "zeros"), (ZEROS, EMPTY), ("tl.store(out_ptr + row, tl.sum(partials, axis=0))", "total = tl.sum(partials, axis=0)\n    tl.store(out_ptr + row, tl.where(total == total, total, 0.0))")),
        Mutant("NaN_of_each_place_made_zero", "property", (ZEROS, EMPTY), ("    tl.store(out_ptr + row, tl.sum(", "    partials = tl.where(partials == partials, partials, 0.0)\n    tl.store(out_ptr + row, tl.sum(")),
        Mutant("zeros_of_the_input_dtype", "squared-in-half", (ZEROS, ZEROS.replace("torch.float32", "x.dtype"))),
        Mutant("ones_instead", "ones-beside", (ZEROS, ZEROS.replace("zeros", "ones"))),
        Mutant("kept_and_never_cleared", ("still-ill", "property", "wrong-values", "nan"), (ZEROS, ZEROS.replace("zeros", "empty").replace("(M, num_splits)", "(M * 2, num_splits)"))),
        Mutant("piece_mask_forgotten", ("wrong-values", "full-pieces-only", "last-piece-left-out"), (MASK, "mask = offs_n + BLOCK_N <= N")),
        Mutant("not_squared", "not-squared", ("tl.sum(x * x, axis=0)", "tl.sum(x, axis=0)")),
        Mutant("squared_in_half", ("squared-in-half",), ("mask=mask, other=0.0).to(tl.float32)", "mask=mask, other=0.0)")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def row_squares(x, num_splits=8):\n    require_contiguous(x)\n    return x.float().pow(2).sum(1)\n\n\ndef row_squares_cause():\n    return 'uninitialised'\n"),
    ],
    "cache_rows": [
        Mutant("as_it_came_and_named", "out-of-bounds-store", (PUT, PUT.replace(" & (slot >= 0)", ""))),
        Mutant("mended_and_not_named", "not-attempted", unnamed("cache_rows", "unchecked index")),
        Mutant("mended_and_wrongly_named", "property", cause("unchecked index", "stride")),
        Mutant("race_named", "property", cause("unchecked index", "race")),
        Mutant("slot_0_left_out", "slot-0-left-out", (PUT, PUT.replace(">= 0", "> 0"))),
        Mutant("clamped", ("padding-in-slot-0", "race"), (SLOT, "slot = tl.maximum(tl.load(slots_ptr + t), 0)")),
        Mutant("last_slot_as_in_python", ("padding-in-the-last-slot", "raised", "race", "out-of-bounds-store"), ("slots_ptr, cache_ptr, D, ", "slots_ptr, cache_ptr, S, D, "), (SLOT, "slot = tl.load(slots_ptr + t)\n    slot = tl.where(slot < 0, S - 1, slot)"), ("(rows, slots, cache, D,", "(rows, slots, cache, cache.shape[0], D,")),
        Mutant("minus_one_alone", "out-of-bounds-store", (PUT, PUT.replace("slot >= 0", "slot != -1"))),
        Mutant("turned_round", "unwritten", (PUT, PUT.replace(">= 0", "< 0"))),
        Mutant("or_instead_of_and", ("out-of-bounds-store", "race", "wrong-values"), (PUT, PUT.replace("mask_d & (slot >= 0)", "mask_d | (slot >= 0)"))),
        Mutant("zeros_are_stored", "out-of-bounds-store", (PUT, "row = tl.where(slot >= 0, row, 0.0)\n    tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d)")),
        Mutant("guarded_address_is_slot_0", ("padding-in-slot-0", "race"), (PUT, "tl.store(cache_ptr + tl.where(slot >= 0, slot, 0) * D + offs_d, row, mask=mask_d)")),
        Mutant("minus_taken_off", "padding-by-its-size", (PUT, PUT.replace("slot * D", "tl.abs(slot) * D").replace(" & (slot >= 0)", ""))),
        Mutant("only_the_load_is_masked", "out-of-bounds-store", (PUT, PUT.replace(" & (slot >= 0)", "")), ("rows_ptr + t * D + offs_d, mask=mask_d", "rows_ptr + t * D + offs_d, mask=mask_d & (slot >= 0)")),
        Mutant("padding_refused", "torch-compute", (PUT, PUT.replace(" & (slot >= 0)", "")), ("    T, D = rows.shape\n", "    T, D = rows.shape\n    if bool((slots < 0).any()):\n        raise ValueError('padding')\n")),
        Mutant("sorted_out_by_torch", ("torch-compute",), ("    T, D = rows.shape\n", "    rows, slots = rows[slots >= 0], slots[slots >= 0]\n    T, D = rows.shape\n")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def cache_rows(cache, rows, slots):\n    if cache.shape[1] != rows.shape[1]:\n        raise ValueError('width')\n    cache[slots[slots >= 0]] = rows[slots >= 0]\n\n\ndef cache_rows_cause():\n    return 'unchecked index'\n"),
    ],
    "expert_sums": [
        Mutant("as_it_came_and_named", "timeout", (WHILE, "while row != end:")),
        Mutant("mended_and_not_named", "not-attempted", unnamed("expert_sums", "endless loop")),
        Mutant("mended_and_wrongly_named", "property", cause("endless loop", "padding")),
        Mutant("race_named", "property", cause("endless loop", "race")),
        Mutant("one_turn_alone", ("first-tile-only", "zeros", "race", "wrong-values"), (WHILE, "if row < end:")),
        Mutant("steps_of_nothing", "timeout", (STEP, "row += 0")),
        Mutant("no_step", "timeout", (f"        {STEP}\n", "")),
        Mutant("whole_tiles_alone", "whole-tiles-only", (WHILE, "while row + BLOCK_M <= end:")),
        Mutant("steps_back", "wrong-values", (WHILE, "while row != end:"), (STEP, "row = tl.where(row + BLOCK_M > end, row - 1, row + BLOCK_M)")),
        Mutant("last_row_left_out", ("last-row-left-out", "wrong-values"), (EXPERT_MASK, EXPERT_MASK.replace("offs_m < end", "offs_m < end - 1"))),
        Mutant("mask_without_the_end", ("rounded-up-to-tiles", "reads-outside", "wrong-values"), (EXPERT_MASK, "mask = (offs_m < end + BLOCK_M) & (offs_d < D)")),
        Mutant("end_is_rounded_up", ("rounded-up-to-tiles", "reads-outside", "wrong-values"), (WHILE, "end = row + (end - row + BLOCK_M - 1) // BLOCK_M * BLOCK_M\n    while row != end:")),
        Mutant("end_is_rounded_down", "whole-tiles-only", (WHILE, "end = row + (end - row) // BLOCK_M * BLOCK_M\n    while row != end:")),
        Mutant("begins_at_0", "from-row-0", (WHILE, "for row in range(0, end, BLOCK_M):"), (f"        {STEP}\n", "")),
        Mutant("range_without_a_step", "steps-of-one", (WHILE, "for row in range(row, end):"), (f"        {STEP}\n", "")),
        Mutant("steps_of_one", "steps-of-one", (STEP, "row += 1")),
        Mutant("acc_begins_in_the_loop", "last-tile-only", (WHILE, WHILE + "\n        acc = tl.zeros((BLOCK_D,), dtype=tl.float32)")),
        Mutant("every_expert_from_row_0", "from-row-0", (BEGIN, "row = tl.load(ends_ptr + e) * 0")),
        Mutant("last_tile_alone", "last-tile-only", (ADD, "acc = tl.sum(x, axis=0)")),
        Mutant("refuses_ragged_experts", ("timeout", "torch-compute"), ("    out = torch.empty((E, D)", "    if x.shape[0] % block:\n        raise ValueError('pad the experts')\n    out = torch.empty((E, D)"), (WHILE, "while row != end:")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def expert_sums(x, ends, block=16):\n    require_contiguous(x, ends)\n    total = torch.cat((torch.zeros_like(x[:1], dtype=torch.float32), x.float().cumsum(0)))\n    total = total[ends]\n    return torch.cat((total[:1], total[1:] - total[:-1]))\n\n\ndef expert_sums_cause():\n    return 'endless loop'\n"),
    ],
}

VARIANTS = {
    "shift_gradient": [
        Variant("one_program_has_all_rows", (COPY, "x, y = dy, dy"), (SHIFT_GRID, "block = max(T, 1)\n    grid = (min(T, 1),)")),
        Variant("copied_into_memory_of_its_own", (COPY, "x, y = torch.empty_like(dy), dy\n    x.copy_(dy)")),
        Variant("names_of_its_own", (COPY, "before = dy.clone()\n    x, y = before, dy")),
        Variant("programs_of_columns", replace="@triton.jit\ndef shift_gradient_kernel(y_ptr, a, T, D, BLOCK_D: tl.constexpr):\n    offs_d = tl.program_id(axis=0) * BLOCK_D + tl.arange(0, BLOCK_D)\n    mask_d = offs_d < D\n    y_ptrs = y_ptr + offs_d\n    row = tl.load(y_ptrs, mask=mask_d & (T > 0), other=0.0)\n    for t in range(T):\n        after = tl.load(y_ptrs + D, mask=mask_d & (t + 1 < T), other=0.0)\n        tl.store(y_ptrs, row + a * after, mask=mask_d)\n        row = after\n        y_ptrs += D\n\n\ndef shift_gradient(dy, a, block=16):\n    require_contiguous(dy)\n    T, D = dy.shape\n    shift_gradient_kernel[(triton.cdiv(D, 4),)](dy, a, T, D, BLOCK_D=4)\n\n\ndef shift_gradient_cause():\n    return \"race\"\n"),
        Variant("tiles_from_a_copy", replace="@triton.jit\ndef shift_gradient_kernel(x_ptr, y_ptr, a, n, D, BLOCK: tl.constexpr):\n    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)\n    after = tl.load(x_ptr + offs + D, mask=offs + D < n, other=0.0)\n    tl.store(y_ptr + offs, x + a * after, mask=offs < n)\n\n\ndef shift_gradient(dy, a, block=16):\n    require_contiguous(dy)\n    n = dy.numel()\n    shift_gradient_kernel[(triton.cdiv(n, 64),)](dy.clone(), dy, a, n, dy.shape[1], BLOCK=64)\n\n\ndef shift_gradient_cause():\n    return \"race\"\n"),
    ],
    "window_attend": [
        Variant("begins_at_the_window", (START, MINUS), (WALK, "for start in range(tl.maximum(0, T - window), T, BLOCK_T):")),
        Variant("begins_at_its_tile", (START, MINUS), (WALK, "for start in range(tl.maximum(0, T - window) // BLOCK_T * BLOCK_T, T, BLOCK_T):")),
        Variant("empty_tiles_are_jumped_over", (START, MINUS), (NEW, NEW + "\n        m_new = tl.maximum(m_new, -1e30)")),
        Variant("large_and_finite_scores", (START, "m_i, l_i = -1e30, 0.0"), ("axis=1), float(\"-inf\"))", "axis=1), -1e38)")),
        Variant("maximum_where_it_is_one", (START, MINUS), ("p = tl.exp(s - m_new)", "m_new = tl.where(m_new == float(\"-inf\"), -1e38, m_new)\n        p = tl.exp(s - m_new)")),
        Variant("exponentials_masked", (START, "m_i, l_i = -1e38, 0.0"), ("p = tl.exp(s - m_new)", "p = tl.where(seen, tl.exp(s - m_new), 0.0)")),
    ],
    "row_squares": [
        Variant("every_program_stores", (ZEROS, EMPTY), (IF + PART, PART.replace("        ", "    "))),
        Variant("new_zeros", (ZEROS, "partials = torch.empty((M, num_splits), dtype=torch.float32, device=x.device).fill_(0.0)")),
        Variant("full_of_zeros", (ZEROS, "partials = torch.full((M, num_splits), 0.0, dtype=torch.float32, device=x.device)")),
        Variant("only_written_places_are_read", (ZEROS, EMPTY), ("def row_join_kernel(partials_ptr, out_ptr, num_splits, ", "def row_join_kernel(partials_ptr, out_ptr, num_splits, used, "), (JOINED, JOINED.replace("offs_s < num_splits", "offs_s < used")), ("(partials, out, num_splits, ", "(partials, out, num_splits, triton.cdiv(N, piece_size), ")),
        Variant("a_zero_is_stored_too", (ZEROS, EMPTY), (PART, PART + "    else:\n        tl.store(partials_ptr + row * tl.num_programs(axis=1) + piece, 0.0)\n")),
        Variant("no_more_programs_than_pieces", (ZEROS, "num_splits = triton.cdiv(N, piece_size)\n    " + EMPTY)),
    ],
    "cache_rows": [
        Variant("by_a_branch", (PUT, "if slot >= 0:\n        tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d)")),
        Variant("mask_of_its_own", (PUT, "kept = mask_d & (slot > -1)\n    tl.store(cache_ptr + slot * D + offs_d, row, mask=kept)")),
        Variant("row_loaded_for_slots_alone", ("rows_ptr + t * D + offs_d, mask=mask_d", "rows_ptr + t * D + offs_d, mask=mask_d & (slot >= 0)")),
        Variant("upper_end_too", ("slots_ptr, cache_ptr, D, ", "slots_ptr, cache_ptr, S, D, "), (PUT, PUT.replace("(slot >= 0)", "(slot >= 0) & (slot < S)")), ("(rows, slots, cache, D,", "(rows, slots, cache, cache.shape[0], D,")),
    ],
    "expert_sums": [
        Variant("by_range", (WHILE, "for row in range(row, end, BLOCK_M):"), (f"        {STEP}\n", "")),
        Variant("greater", (WHILE, "while end > row:")),
        Variant("one_turn_more", (WHILE, "while row <= end:")),
        Variant("count_of_tiles", (WHILE, "tiles = (end - row + BLOCK_M - 1) // BLOCK_M\n    for _ in range(tiles):")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "window_attend": {
        'm_i, l_i = -1e38, 0.0 => m_i, l_i = -1e38, 1.0': "the first tile that is seen multiplies it by an exponential that is 0",
    },
    "row_squares": {
        'partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device) => partials = torch.zeros((M, num_splits), device=x.device)': "float32 is what zeros makes",
        'partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device) => partials = torch.zeros((M, num_splits), dtype=torch.float32)': "without a GPU there is no other device",
    },
    "expert_sums": {
        'while row < end: => while row <= end:': "one turn more, in which every lane is masked",
    },
}
