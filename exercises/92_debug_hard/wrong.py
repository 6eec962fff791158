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

ADDED_AT_ONCE = """@triton.jit
def row_squares_kernel(x_ptr, out_ptr, N, piece_size, BLOCK_N: tl.constexpr):
    row, piece = tl.program_id(axis=0).to(tl.int64), tl.program_id(axis=1)
    offs = tl.arange(0, BLOCK_N)
    offs_n = piece * piece_size + offs
    mask = (offs < piece_size) & (offs_n < N)
    x = tl.load(x_ptr + row * N + offs_n, mask=mask, other=0.0).to(tl.float32)
    tl.atomic_add(out_ptr + row, tl.sum(x * x, axis=0))


def row_squares(x, num_splits=8):
    require_contiguous(x)
    M, N = x.shape
    piece_size = triton.cdiv(triton.cdiv(N, num_splits), 16) * 16
    out = torch.zeros(M, dtype=torch.float32, device=x.device)
    block = triton.next_power_of_2(piece_size)
    row_squares_kernel[(M, num_splits)](x, out, N, piece_size, BLOCK_N=block)
    return out


def row_squares_cause():
    return "uninitialised"
"""
ONE_PROGRAM = """@triton.jit
def row_squares_kernel(x_ptr, out_ptr, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(axis=0).to(tl.int64)
    total = 0.0
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * N + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)
        total += tl.sum(x * x, axis=0)
    tl.store(out_ptr + row, total)


def row_squares(x, num_splits=8):
    require_contiguous(x)
    M, N = x.shape
    out = torch.empty(M, dtype=torch.float32, device=x.device)
    row_squares_kernel[(M,)](x, out, N, BLOCK_N=64)
    return out


def row_squares_cause():
    return "uninitialised"
"""
IN_BLOCKS = """@triton.jit
def cache_rows_kernel(rows_ptr, slots_ptr, cache_ptr, D, BLOCK_D: tl.constexpr):
    t = tl.program_id(axis=0).to(tl.int64)
    slot = tl.load(slots_ptr + t)
    if slot >= 0:
        for start in range(0, D, BLOCK_D):
            offs_d = start + tl.arange(0, BLOCK_D)
            row = tl.load(rows_ptr + t * D + offs_d, mask=offs_d < D, other=0.0)
            tl.store(cache_ptr + slot * D + offs_d, row, mask=offs_d < D)


def cache_rows(cache, rows, slots):
    require_contiguous(cache, rows, slots)
    T, D = rows.shape
    if cache.shape[1] != D or slots.shape != (T,):
        raise ValueError("it takes cache (S, D), rows (T, D) and slots (T,)")
    cache_rows_kernel[(T,)](rows, slots, cache, D, BLOCK_D=16)


def cache_rows_cause():
    return "unchecked index"
"""

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
        Mutant("a_left_out", "a-left-out", (SHIFTED, SHIFTED.replace("a * after", "after"))),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def shift_gradient(dy, a, block=16):\n    require_contiguous(dy)\n    dy[:-1] += a * dy[1:]\n\n\ndef shift_gradient_cause():\n    return 'race'\n"),
        Mutant("returned_instead", "unwritten", (COPY, "x, y = dy, torch.empty_like(dy)"), ("    shift_gradient_kernel[grid](", "    global kept\n    kept = y\n    shift_gradient_kernel[grid](")),
        Mutant("last_row_of_a_piece_left_out", "borders-left-out", (AFTER, AFTER.replace("t + 1 < T", "t + 1 < tl.minimum(first + BLOCK_T, T)")), on_gpu=("property",)),
        Mutant("from_the_end_in_place", ("from-the-end", "property", "wrong-values"), (COPY, "x, y = dy, dy"), ("    offs = first * D + offs_d\n", "    offs = (tl.minimum(first + BLOCK_T, T) - 1) * D + offs_d\n"), ("    row = tl.load(x_ptr + offs, mask=mask_d, other=0.0)\n    for t in range(first, tl.minimum(first + BLOCK_T, T)):\n", "    for back in range(first, tl.minimum(first + BLOCK_T, T)):\n        t = first + tl.minimum(first + BLOCK_T, T) - 1 - back\n        row = tl.load(x_ptr + offs, mask=mask_d, other=0.0)\n"), (ROW, ""), ("        offs += D\n", "        offs -= D\n")),
        Mutant("synchronised_before", "property", (COPY, "x, y = dy, dy\n    if dy.is_cuda:\n        torch.cuda.synchronize()")),
        Mutant("no_copy_by_to", "property", ("x, y = dy.clone(), dy", "x, y = dy.to(dy.dtype), dy")),
        Mutant("no_copy_by_contiguous", "property", ("x, y = dy.clone(), dy", "x, y = dy.contiguous(), dy")),
        Mutant("border_read_first", "property", ("x, y = dy.clone(), dy", "x, y = dy, dy"), ("    row = tl.load(x_ptr + offs, mask=mask_d, other=0.0)", "    border = tl.load(x_ptr + (first + BLOCK_T) * D + offs_d, mask=mask_d & (first + BLOCK_T < T), other=0.0)\n    row = tl.load(x_ptr + offs, mask=mask_d, other=0.0)"), ("        row = after\n", "        after = tl.where(t + 1 == first + BLOCK_T, border, after)\n        row = after\n")),
        Mutant("programs_in_reverse", "race", ("x, y = dy.clone(), dy", "x, y = dy, dy"), ("first = tl.program_id(axis=0).to(tl.int64) * BLOCK_T", "first = (tl.num_programs(axis=0) - 1 - tl.program_id(axis=0)).to(tl.int64) * BLOCK_T")),
        Mutant("added_atomically", "property", ("x, y = dy.clone(), dy", "x, y = dy, dy"), ("tl.store(y_ptr + offs, row + a * after, mask=mask_d)", "tl.atomic_add(y_ptr + offs, a * after, mask=mask_d)")),
        Mutant("taken_off", "taken-off", ("tl.store(y_ptr + offs, row + a * after, mask=mask_d)", "tl.store(y_ptr + offs, row - a * after, mask=mask_d)")),
        Mutant("a_at_the_row_itself", "a-on-the-row-itself", ("tl.store(y_ptr + offs, row + a * after, mask=mask_d)", "tl.store(y_ptr + offs, a * row + after, mask=mask_d)")),
        Mutant("last_row_asks_for_itself", "reads-outside", ("after = tl.load(x_ptr + offs + D, mask=mask_d & (t + 1 < T), other=0.0)", "after = tl.load(x_ptr + offs + D, mask=mask_d & (t < T), other=0.0)"), only="interpreter"),
        Mutant("steps_of_the_block", "out-of-bounds-store", ("offs += D", "offs += BLOCK_D")),
        Mutant("uninitialised_named", "property", ("return \"race\"", "return \"uninitialised\"")),
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
        Mutant("old_factor_alone_guarded", ("still-ill", "nan"), (START, MINUS), ("l_i = l_i * tl.exp(m_i - m_new)", "old = tl.where(m_i == m_new, 1.0, tl.exp(m_i - m_new))\n        l_i = l_i * old"), ("acc = acc * tl.exp(m_i - m_new)", "acc = acc * old")),
        Mutant("new_exponentials_alone_guarded", ("still-ill", "nan"), (START, MINUS), ("p = tl.exp(s - m_new)", "p = tl.where(seen, tl.exp(s - m_new), 0.0)")),
        Mutant("a_little_in_the_divisor", ("still-ill", "nan"), (START, MINUS), (ATTENDED, "tl.store(o_ptr + offs_d, acc / (l_i + 1e-20))")),
        Mutant("starts_at_plus_infinity", ("wrong-values", "nan", "zeros", "maximum-from-above"), (START, 'm_i, l_i = float("inf"), 0.0')),
        Mutant("nan_of_p_made_zero", "still-ill", ("m_i, l_i = -1e38, 0.0", "m_i, l_i = float(\"-inf\"), 0.0"), ("p = tl.exp(s - m_new)", "p = tl.exp(s - m_new)\n        p = tl.where(p == p, p, 0.0)")),
        Mutant("starts_at_minus_10000", "maximum-from-above", ("m_i, l_i = -1e38, 0.0", "m_i, l_i = -1e4, 0.0")),
        Mutant("old_maximum_alone_made_zero", "still-ill", ("m_i, l_i = -1e38, 0.0", "m_i, l_i = float(\"-inf\"), 0.0"), ("m_new = tl.maximum(m_i, tl.max(s, axis=0))", "m_new = tl.maximum(m_i, tl.max(s, axis=0))\n        m_i = tl.where(m_i == float('-inf'), 0.0, m_i)")),
        Mutant("begins_before_the_first_key", "reads-outside", ("m_i, l_i = -1e38, 0.0", "m_i, l_i = float(\"-inf\"), 0.0"), ("for start in range(0, T, BLOCK_T):", "for start in range(T - window, T, BLOCK_T):"), only="interpreter"),
        Mutant("begins_behind_the_window", "nan", ("m_i, l_i = -1e38, 0.0", "m_i, l_i = float(\"-inf\"), 0.0"), ("for start in range(0, T, BLOCK_T):", "for start in range(window, T, BLOCK_T):")),
        Mutant("first_keys_seen", "first-keys", ("seen = (offs_t < T) & (offs_t >= T - window)", "seen = (offs_t < T) & (offs_t < window)")),
        Mutant("not_scaled", "wrong-values", ("* scale", "")),
        Mutant("sum_not_brought_along", "sum-not-brought-along", ("l_i = l_i * tl.exp(m_i - m_new) + tl.sum(p, axis=0)", "l_i += tl.sum(p, axis=0)")),
        Mutant("values_not_brought_along", "values-not-brought-along", ("acc = acc * tl.exp(m_i - m_new) + tl.sum", "acc += tl.sum")),
        Mutant("narrow_sum_named", "property", ("return \"infinity\"", "return \"narrow sum\"")),
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
        Mutant("NaN_of_each_place_made_zero", ("property", "reads-unwritten"), (ZEROS, EMPTY), ("    tl.store(out_ptr + row, tl.sum(", "    partials = tl.where(partials == partials, partials, 0.0)\n    tl.store(out_ptr + row, tl.sum(")),
        Mutant("zeros_of_the_input_dtype", "squared-in-half", (ZEROS, ZEROS.replace("torch.float32", "x.dtype"))),
        Mutant("ones_instead", "ones-beside", (ZEROS, ZEROS.replace("zeros", "ones"))),
        Mutant("kept_and_never_cleared", ("still-ill", "property", "wrong-values", "nan"), (ZEROS, ZEROS.replace("zeros", "empty").replace("(M, num_splits)", "(M * 2, num_splits)"))),
        Mutant("piece_mask_forgotten", ("wrong-values", "full-pieces-only", "last-piece-left-out"), (MASK, "mask = offs_n + BLOCK_N <= N")),
        Mutant("not_squared", "not-squared", ("tl.sum(x * x, axis=0)", "tl.sum(x, axis=0)")),
        Mutant("squared_in_half", ("squared-in-half",), ("mask=mask, other=0.0).to(tl.float32)", "mask=mask, other=0.0)")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def row_squares(x, num_splits=8):\n    require_contiguous(x)\n    return x.float().pow(2).sum(1)\n\n\ndef row_squares_cause():\n    return 'uninitialised'\n"),
        Mutant("no_more_splits_than_sixteens", ("still-ill", "nan", "reads-unwritten"), (ZEROS, "num_splits = max(min(num_splits, triton.cdiv(N, 16)), 1)\n    " + EMPTY)),
        Mutant("pieces_not_rounded", ("still-ill", "nan", "reads-unwritten"), ("piece_size = triton.cdiv(triton.cdiv(N, num_splits), 16) * 16", "piece_size = triton.cdiv(N, num_splits)"), (ZEROS, EMPTY)),
        Mutant("other_of_the_load", "still-ill", (ZEROS, EMPTY), (JOINED, JOINED.replace("other=0.0", "other=0.0, eviction_policy='evict_first'"))),
        Mutant("places_chosen_again", "still-ill", ("partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)", "partials = torch.empty((M, num_splits), dtype=torch.float32, device=x.device)"), ("partials = tl.load(partials_ptr + places, mask=offs_s < num_splits, other=0.0)", "partials = tl.load(partials_ptr + places, mask=offs_s < num_splits, other=0.0)\n    partials = tl.where(offs_s < num_splits, partials, 0.0)")),
        Mutant("first_places_cleared", "still-ill", ("partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)", "partials = torch.empty((M, num_splits), dtype=torch.float32, device=x.device)\n    partials[:, 0] = 0")),
        Mutant("last_places_cleared", "reads-unwritten", ("partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)", "partials = torch.empty((M, num_splits), dtype=torch.float32, device=x.device)\n    partials[:, -1] = 0"), only="interpreter"),
        Mutant("negative_ones_cut_off", "still-ill", ("partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)", "partials = torch.empty((M, num_splits), dtype=torch.float32, device=x.device)"), ("    tl.store(out_ptr + row, tl.sum(", "    partials = tl.maximum(partials, 0.0)\n    tl.store(out_ptr + row, tl.sum(")),
        Mutant("one_piece_more_stored", "still-ill", ("partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)", "partials = torch.empty((M, num_splits), dtype=torch.float32, device=x.device)"), ("    if piece * piece_size < N:\n", "    if piece * piece_size <= N:\n")),
        Mutant("one_place_a_row", "out-of-bounds-store", ("partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)", "partials = torch.zeros((M,), dtype=torch.float32, device=x.device)"), on_gpu=("property",)),
        Mutant("row_not_multiplied", "wrong-tail", ("places = row * num_splits + offs_s", "places = row + offs_s")),
        Mutant("added_to_fresh_memory", "reads-unwritten", ("partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)", "partials = torch.empty((M, num_splits), dtype=torch.float32, device=x.device)"), ("tl.store(partials_ptr + place,", "tl.atomic_add(partials_ptr + place,"), only="interpreter"),
        Mutant("tile_longer_than_its_piece", "into-the-next-piece", ("mask = (offs < piece_size) & (offs_n < N)", "mask = offs_n < N")),
        Mutant("kept_from_call_to_call", "property", ("partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)", "partials = P.setdefault((M, num_splits), torch.zeros((M, num_splits), dtype=torch.float32, device=x.device))"), ("def row_squares(", "P = {}\n\n\ndef row_squares(")),
        Mutant("padding_named", "property", ("return \"uninitialised\"", "return \"padding\"")),
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
        Mutant("chosen_at_the_value", ("out-of-bounds-store",), (PUT, "tl.store(cache_ptr + slot * D + offs_d, tl.where(slot >= 0, row, tl.load(cache_ptr + slot * D + offs_d, mask=mask_d, other=0.0)), mask=mask_d)")),
        Mutant("token_for_slot", ("out-of-bounds-store", "wrong-values", "unwritten", "race"), (PUT, PUT.replace("slot * D", "t * D"))),
        Mutant("up_to_the_last_token", ("wrong-values", "nothing-stored", "unwritten", "wrong-tail", "unwritten-tail"), ("cache_rows_kernel[(T,)]", "cache_rows_kernel[(T - 1,)]")),
        Mutant("mask_at_the_slot", "out-of-bounds-store", ("slot = tl.load(slots_ptr + t)", "slot = tl.load(slots_ptr + t, mask=t >= 0, other=0)"), ("tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0))", "tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d)")),
        Mutant("remainder_as_in_python", "padding-in-the-last-slot", ("slots_ptr, cache_ptr, D, ", "slots_ptr, cache_ptr, S, D, "), ("tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0))", "tl.store(cache_ptr + (slot + S) % S * D + offs_d, row, mask=mask_d)"), ("(rows, slots, cache, D,", "(rows, slots, cache, cache.shape[0], D,")),
        Mutant("upper_end_alone", "out-of-bounds-store", ("slots_ptr, cache_ptr, D, ", "slots_ptr, cache_ptr, S, D, "), ("tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0))", "tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot < S))"), ("(rows, slots, cache, D,", "(rows, slots, cache, cache.shape[0], D,")),
        Mutant("asserted_alone", "out-of-bounds-store", ("tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0))", "tl.device_assert(slot >= 0, \"slot\")\n    tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d)")),
        Mutant("token_asked", "out-of-bounds-store", ("tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0))", "tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (t >= 0))")),
        Mutant("address_asked", "out-of-bounds-store", ("tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0))", "tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot * D + offs_d >= -D))")),
        Mutant("row_times_the_condition", "out-of-bounds-store", ("tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0))", "tl.store(cache_ptr + slot * D + offs_d, row * (slot >= 0), mask=mask_d)")),
        Mutant("clamped_by_torch", "torch-compute", ("    T, D = rows.shape\n", "    T, D = rows.shape\n    slots = slots.clamp(min=0)\n")),
        Mutant("slots_of_the_block", "out-of-bounds-store", ("tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0))", "tl.store(cache_ptr + slot * BLOCK_D + offs_d, row, mask=mask_d & (slot >= 0))")),
        Mutant("a_copy_is_filled", "unwritten", ("    T, D = rows.shape\n", "    cache = cache.clone()\n    T, D = rows.shape\n")),
        Mutant("uninitialised_named", "property", ("return \"unchecked index\"", "return \"uninitialised\"")),
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
        Mutant("less_or_equal_and_no_mask", ("rounded-up-to-tiles", "reads-outside", "wrong-values"), (WHILE, "while row <= end:"), (EXPERT_MASK, "mask = offs_d < D + 0 * offs_m")),
        Mutant("until_the_end_is_met_or_all_rows", ("timeout", "wrong-values"), (WHILE, "while (row != end) & (row != end + BLOCK_M):")),
        Mutant("stops_after_a_thousand", "reads-outside", (WHILE, "while (row != end) & (row < 1000):"), (EXPERT_MASK, "mask = (offs_m < 1000) & (offs_d < D)")),
        Mutant("while_equal", "zeros", ("while row < end:", "while row == end:")),
        Mutant("while_greater", "zeros", ("while row < end:", "while row > end:")),
        Mutant("one_behind_the_end", "timeout", ("while row < end:", "while row != end + 1:")),
        Mutant("range_ends_a_tile_early", "last-tile-left-out", ("while row < end:", "for row in range(row, end - BLOCK_M, BLOCK_M):"), ("        row += BLOCK_M\n", "")),
        Mutant("one_step_to_the_end", "first-tile-only", ("row += BLOCK_M", "row += end - row")),
        Mutant("begin_forgotten_in_the_range", "rows-after-first", ("while row < end:", "for row in range(0, end - row, BLOCK_M):"), ("        row += BLOCK_M\n", "")),
        Mutant("end_of_the_next_expert", "timeout", ("end = tl.load(ends_ptr + e)", "end = tl.load(ends_ptr + e + 1)")),
        Mutant("one_row_too_many", "reads-outside", ("mask = (offs_m < end) & (offs_d < D)", "mask = (offs_m <= end) & (offs_d < D)"), only="interpreter"),
        Mutant("sum_in_the_input_dtype", "does-not-compile", ("tl.zeros((BLOCK_D,), dtype=tl.float32)", "tl.zeros((BLOCK_D,), dtype=x_ptr.dtype.element_ty)")),
        Mutant("two_turns_at_most", "wrong-tail", ("while row < end:", "turns = 0\n    while (row != end) & (turns < 2):"), ("row += BLOCK_M", "row += BLOCK_M\n        turns += 1")),
        Mutant("unchecked_index_named", "property", ("return \"endless loop\"", "return \"unchecked index\"")),
    ],
}

VARIANTS = {
    "shift_gradient": [
        Variant("one_program_has_all_rows", (COPY, "x, y = dy, dy"), (SHIFT_GRID, "block = max(T, 1)\n    grid = (min(T, 1),)")),
        Variant("copied_into_memory_of_its_own", (COPY, "x, y = torch.empty_like(dy), dy\n    x.copy_(dy)")),
        Variant("names_of_its_own", (COPY, "before = dy.clone()\n    x, y = before, dy")),
        Variant("programs_of_columns", replace="@triton.jit\ndef shift_gradient_kernel(y_ptr, a, T, D, BLOCK_D: tl.constexpr):\n    offs_d = tl.program_id(axis=0) * BLOCK_D + tl.arange(0, BLOCK_D)\n    mask_d = offs_d < D\n    y_ptrs = y_ptr + offs_d\n    row = tl.load(y_ptrs, mask=mask_d & (T > 0), other=0.0)\n    for t in range(T):\n        after = tl.load(y_ptrs + D, mask=mask_d & (t + 1 < T), other=0.0)\n        tl.store(y_ptrs, row + a * after, mask=mask_d)\n        row = after\n        y_ptrs += D\n\n\ndef shift_gradient(dy, a, block=16):\n    require_contiguous(dy)\n    T, D = dy.shape\n    shift_gradient_kernel[(triton.cdiv(D, 4),)](dy, a, T, D, BLOCK_D=4)\n\n\ndef shift_gradient_cause():\n    return \"race\"\n"),
        Variant("tiles_from_a_copy", replace="@triton.jit\ndef shift_gradient_kernel(x_ptr, y_ptr, a, n, D, BLOCK: tl.constexpr):\n    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)\n    after = tl.load(x_ptr + offs + D, mask=offs + D < n, other=0.0)\n    tl.store(y_ptr + offs, x + a * after, mask=offs < n)\n\n\ndef shift_gradient(dy, a, block=16):\n    require_contiguous(dy)\n    n = dy.numel()\n    shift_gradient_kernel[(triton.cdiv(n, 64),)](dy.clone(), dy, a, n, dy.shape[1], BLOCK=64)\n\n\ndef shift_gradient_cause():\n    return \"race\"\n"),
        Variant("copied_by_torch_clone", (COPY, "x, y = torch.clone(dy), dy")),
        Variant("detached_and_copied", (COPY, "x, y = dy.detach().clone(), dy")),
        Variant("elements_copied", (COPY, "x, y = torch.empty_like(dy), dy\n    x[:] = dy")),
        Variant("written_elsewhere_and_brought_back", (COPY, "x, y = dy, torch.empty_like(dy)"), ("BLOCK_T=block, BLOCK_D=triton.next_power_of_2(D)\n    )\n", "BLOCK_T=block, BLOCK_D=triton.next_power_of_2(D)\n    )\n    dy.copy_(y)\n")),
        Variant("brought_back_by_a_slice", (COPY, "x, y = dy, torch.empty_like(dy)"), ("BLOCK_T=block, BLOCK_D=triton.next_power_of_2(D)\n    )\n", "BLOCK_T=block, BLOCK_D=triton.next_power_of_2(D)\n    )\n    dy[:] = y\n")),
        Variant("only_the_borders_are_kept", (COPY, "x, y = dy, dy\n    borders = dy[block::block].clone()"), ("    x_ptr, y_ptr,\n    a,", "    x_ptr, y_ptr, borders_ptr,\n    a,"), (AFTER, "last = (t + 1) % BLOCK_T == 0\n        after = tl.load(x_ptr + offs + D, mask=mask_d & (t + 1 < T) & (not last), other=0.0)\n        border = tl.load(borders_ptr + ((t + 1) // BLOCK_T - 1) * D + offs_d, mask=mask_d & (t + 1 < T) & last, other=0.0)\n        after += border"), ("        x, y, a,", "        x, y, borders, a,")),
        Variant("columns_walked_by_index", replace='@triton.jit\ndef shift_gradient_kernel(y_ptr, a, T, D, BLOCK_D: tl.constexpr):\n    offs_d = tl.program_id(axis=0) * BLOCK_D + tl.arange(0, BLOCK_D)\n    mask_d = offs_d < D\n    for t in range(0, T - 1):\n        row = tl.load(y_ptr + t * D + offs_d, mask=mask_d, other=0.0)\n        after = tl.load(y_ptr + (t + 1) * D + offs_d, mask=mask_d, other=0.0)\n        tl.store(y_ptr + t * D + offs_d, row + a * after, mask=mask_d)\n\n\ndef shift_gradient(dy, a, block=16):\n    require_contiguous(dy)\n    T, D = dy.shape\n    shift_gradient_kernel[(triton.cdiv(D, block),)](dy, a, T, D, BLOCK_D=block)\n\n\ndef shift_gradient_cause():\n    """What ailed the patient: a name of the table."""\n    return "race"\n'),
        Variant("borders_kept_by_a_kernel", replace='@triton.jit\ndef keep_kernel(x_ptr, kept_ptr, T, D, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):\n    p = tl.program_id(axis=0).to(tl.int64)\n    offs_d = tl.arange(0, BLOCK_D)\n    first = (p + 1) * BLOCK_T\n    row = tl.load(x_ptr + first * D + offs_d, mask=(offs_d < D) & (first < T), other=0.0)\n    tl.store(kept_ptr + p * D + offs_d, row, mask=offs_d < D)\n\n\n@triton.jit\ndef shift_gradient_kernel(x_ptr, kept_ptr, a, T, D, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):\n    p = tl.program_id(axis=0).to(tl.int64)\n    offs_d = tl.arange(0, BLOCK_D)\n    mask_d = offs_d < D\n    first = p * BLOCK_T\n    last = tl.minimum(first + BLOCK_T, T)\n    row = tl.load(x_ptr + first * D + offs_d, mask=mask_d & (first < T), other=0.0)\n    for t in range(first, last):\n        after = tl.load(x_ptr + (t + 1) * D + offs_d, mask=mask_d & (t + 1 < last), other=0.0)\n        if t + 1 == last:\n            after = tl.load(kept_ptr + p * D + offs_d, mask=mask_d, other=0.0)\n        tl.store(x_ptr + t * D + offs_d, row + a * after, mask=mask_d)\n        row = after\n\n\ndef shift_gradient(dy, a, block=16):\n    require_contiguous(dy)\n    T, D = dy.shape\n    grid = (triton.cdiv(T, block),)\n    if T == 0:\n        return\n    kept = torch.empty((grid[0], D), dtype=dy.dtype, device=dy.device)\n    wide = triton.next_power_of_2(D)\n    keep_kernel[grid](dy, kept, T, D, BLOCK_T=block, BLOCK_D=wide)\n    shift_gradient_kernel[grid](dy, kept, a, T, D, BLOCK_T=block, BLOCK_D=wide)\n\n\ndef shift_gradient_cause():\n    """What ailed the patient: a name of the table."""\n    return "race"\n'),
        Variant("copied_by_a_kernel", replace='@triton.jit\ndef copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)\n\n\n@triton.jit\ndef shift_gradient_kernel(x_ptr, y_ptr, a, n, D, BLOCK: tl.constexpr):\n    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)\n    after = tl.load(x_ptr + offs + D, mask=offs + D < n, other=0.0).to(tl.float32)\n    tl.store(y_ptr + offs, x + a * after, mask=offs < n)\n\n\ndef shift_gradient(dy, a, block=16):\n    require_contiguous(dy)\n    T, D = dy.shape\n    n = dy.numel()\n    x = torch.empty_like(dy)\n    grid = (triton.cdiv(n, 64),)\n    if n:\n        copy_kernel[grid](dy, x, n, BLOCK=64)\n        shift_gradient_kernel[grid](x, dy, a, n, D, BLOCK=64)\n\n\ndef shift_gradient_cause():\n    """What ailed the patient: a name of the table."""\n    return "race"\n'),
    ],
    "window_attend": [
        Variant("begins_at_the_window", (START, MINUS), (WALK, "for start in range(tl.maximum(0, T - window), T, BLOCK_T):")),
        Variant("begins_at_its_tile", (START, MINUS), (WALK, "for start in range(tl.maximum(0, T - window) // BLOCK_T * BLOCK_T, T, BLOCK_T):")),
        Variant("empty_tiles_are_jumped_over", (START, MINUS), (NEW, NEW + "\n        m_new = tl.maximum(m_new, -1e30)")),
        Variant("large_and_finite_scores", (START, "m_i, l_i = -1e30, 0.0"), ("axis=1), float(\"-inf\"))", "axis=1), -1e38)")),
        Variant("maximum_where_it_is_one", (START, MINUS), ("p = tl.exp(s - m_new)", "m_new = tl.where(m_new == float(\"-inf\"), -1e38, m_new)\n        p = tl.exp(s - m_new)")),
        Variant("exponentials_masked", (START, "m_i, l_i = -1e38, 0.0"), ("p = tl.exp(s - m_new)", "p = tl.where(seen, tl.exp(s - m_new), 0.0)")),
        Variant("smallest_float32", (START, "m_i, l_i = -3.4e38, 0.0")),
        Variant("keys_cut_by_the_wrapper", (START, MINUS), ("    o = torch.empty_like(q)\n", "    k, v = k[max(T - window, 0) :], v[max(T - window, 0) :]\n    T = len(k)\n    o = torch.empty_like(q)\n")),
        Variant("one_tile_for_all", (START, MINUS), ("    o = torch.empty_like(q)\n", "    block = triton.next_power_of_2(T)\n    o = torch.empty_like(q)\n")),
        Variant("both_factors_guarded", (START, MINUS), ("p = tl.exp(s - m_new)", 'p = tl.where(seen, tl.exp(s - m_new), 0.0)\n        old = tl.where(m_i == float("-inf"), 0.0, tl.exp(m_i - m_new))'), ("l_i = l_i * tl.exp(m_i - m_new)", "l_i = l_i * old"), ("acc = acc * tl.exp(m_i - m_new)", "acc = acc * old")),
        Variant("finite_scores_alone", ("axis=1), float(\"-inf\"))", "axis=1), -1e38)")),
        Variant("empty_tiles_jumped_by_if", (START, MINUS), ("        s = tl.where(seen, tl.sum(q[None, :] * k, axis=1), float(\"-inf\"))\n        m_new = tl.maximum(m_i, tl.max(s, axis=0))\n        p = tl.exp(s - m_new)\n        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(p, axis=0)\n        acc = acc * tl.exp(m_i - m_new) + tl.sum(p[:, None] * v, axis=0)\n        m_i = m_new\n", "        if start + BLOCK_T > T - window:\n            s = tl.where(seen, tl.sum(q[None, :] * k, axis=1), float(\"-inf\"))\n            m_new = tl.maximum(m_i, tl.max(s, axis=0))\n            p = tl.exp(s - m_new)\n            l_i = l_i * tl.exp(m_i - m_new) + tl.sum(p, axis=0)\n            acc = acc * tl.exp(m_i - m_new) + tl.sum(p[:, None] * v, axis=0)\n            m_i = m_new\n")),
        Variant("begins_at_the_last_windows_tile", ("m_i, l_i = -1e38, 0.0", "m_i, l_i = float(\"-inf\"), 0.0"), ("for start in range(0, T, BLOCK_T):", "for start in range((T - tl.minimum(window, T)) // BLOCK_T * BLOCK_T, T, BLOCK_T):")),
        Variant("from_the_last_tile_back", ("m_i, l_i = -1e38, 0.0", "m_i, l_i = float(\"-inf\"), 0.0"), ("for start in range(0, T, BLOCK_T):", "for back in range(0, T, BLOCK_T):\n        start = (T - 1) // BLOCK_T * BLOCK_T - back")),
        Variant("maximum_in_a_walk_of_its_own", replace='@triton.jit\ndef window_attend_kernel(q_ptr, k_ptr, v_ptr, o_ptr, T, first, scale, D: tl.constexpr, BLOCK_T: tl.constexpr):\n    offs_d = tl.arange(0, D)\n    q = tl.load(q_ptr + offs_d).to(tl.float32) * scale\n    top = float("-inf")\n    for start in range(first, T, BLOCK_T):\n        offs_t = start + tl.arange(0, BLOCK_T)\n        k = tl.load(k_ptr + offs_t[:, None] * D + offs_d[None, :], mask=(offs_t < T)[:, None], other=0.0).to(tl.float32)\n        s = tl.where(offs_t < T, tl.sum(q[None, :] * k, axis=1), float("-inf"))\n        top = tl.maximum(top, tl.max(s, axis=0))\n    total = 0.0\n    acc = tl.zeros((D,), dtype=tl.float32)\n    for start in range(first, T, BLOCK_T):\n        offs_t = start + tl.arange(0, BLOCK_T)\n        offs = offs_t[:, None] * D + offs_d[None, :]\n        k = tl.load(k_ptr + offs, mask=(offs_t < T)[:, None], other=0.0).to(tl.float32)\n        v = tl.load(v_ptr + offs, mask=(offs_t < T)[:, None], other=0.0).to(tl.float32)\n        s = tl.where(offs_t < T, tl.sum(q[None, :] * k, axis=1), float("-inf"))\n        p = tl.exp(s - top)\n        total += tl.sum(p, axis=0)\n        acc += tl.sum(p[:, None] * v, axis=0)\n    tl.store(o_ptr + offs_d, acc / total)\n\n\ndef window_attend(q, k, v, window, block=16):\n    require_contiguous(q, k, v)\n    T, D = k.shape\n    if window < 1 or T < 1 or D & (D - 1):\n        raise ValueError("it takes a key, a window of 1 or more, and a power of two for D")\n    o = torch.empty_like(q)\n    window_attend_kernel[(1,)](q, k, v, o, T, max(T - window, 0), D**-0.5, D=D, BLOCK_T=block)\n    return o\n\n\ndef window_attend_cause():\n    """What ailed the patient: a name of the table."""\n    return "infinity"\n'),
        Variant("begins_with_a_score", ("m_i, l_i = -1e38, 0.0", "last = tl.load(k_ptr + (T - 1) * D + offs_d).to(tl.float32)\n    m_i, l_i = tl.sum(q * last, axis=0), 0.0")),
        Variant("empty_maximum_is_zero", ("m_i, l_i = -1e38, 0.0", "m_i, l_i = float(\"-inf\"), 0.0"), ("m_new = tl.maximum(m_i, tl.max(s, axis=0))", "m_new = tl.maximum(m_i, tl.max(s, axis=0))\n        m_new = tl.where(m_new == float('-inf'), 0.0, m_new)")),
    ],
    "row_squares": [
        Variant("every_program_stores", (ZEROS, EMPTY), (IF + PART, PART.replace("        ", "    "))),
        Variant("new_zeros", (ZEROS, "partials = torch.empty((M, num_splits), dtype=torch.float32, device=x.device).fill_(0.0)")),
        Variant("full_of_zeros", (ZEROS, "partials = torch.full((M, num_splits), 0.0, dtype=torch.float32, device=x.device)")),
        Variant("only_written_places_are_read", (ZEROS, EMPTY), ("def row_join_kernel(partials_ptr, out_ptr, num_splits, ", "def row_join_kernel(partials_ptr, out_ptr, num_splits, used, "), (JOINED, JOINED.replace("offs_s < num_splits", "offs_s < used")), ("(partials, out, num_splits, ", "(partials, out, num_splits, triton.cdiv(N, piece_size), ")),
        Variant("a_zero_is_stored_too", (ZEROS, EMPTY), (PART, PART + "    else:\n        tl.store(partials_ptr + row * tl.num_programs(axis=1) + piece, 0.0)\n")),
        Variant("no_more_programs_than_pieces", (ZEROS, "num_splits = triton.cdiv(N, piece_size)\n    " + EMPTY)),
        Variant("zeroed_where_it_lies", (ZEROS, EMPTY + "\n    partials.zero_()")),
        Variant("new_zeros_of_x", (ZEROS, "partials = x.new_zeros((M, num_splits), dtype=torch.float32)")),
        Variant("places_with_columns_are_read", (ZEROS, EMPTY), ("def row_join_kernel(partials_ptr, out_ptr, num_splits, ", "def row_join_kernel(partials_ptr, out_ptr, N, piece_size, num_splits, "), (JOINED, JOINED.replace("offs_s < num_splits", "(offs_s < num_splits) & (offs_s * piece_size < N)")), ("(partials, out, num_splits, ", "(partials, out, N, piece_size, num_splits, ")),
        Variant("zero_first_and_then_the_sum", (ZEROS, EMPTY), (IF, "    tl.store(partials_ptr + row * tl.num_programs(axis=1) + piece, 0.0)\n" + IF)),
        Variant("added_to_the_result_at_once", replace=ADDED_AT_ONCE),
        Variant("one_program_a_row", replace=ONE_PROGRAM),
        Variant("condition_that_always_holds", ("partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)", "partials = torch.empty((M, num_splits), dtype=torch.float32, device=x.device)"), ("    if piece * piece_size < N:\n", "    if piece >= 0:\n")),
        Variant("cleared_by_a_kernel", ("partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)", "partials = torch.empty((M, num_splits), dtype=torch.float32, device=x.device)\n    zero_kernel[(M,)](partials, num_splits, BLOCK_S=triton.next_power_of_2(num_splits))"), ("def row_squares(", "@triton.jit\ndef zero_kernel(partials_ptr, num_splits, BLOCK_S: tl.constexpr):\n    offs = tl.arange(0, BLOCK_S)\n    row = tl.program_id(axis=0).to(tl.int64)\n    tl.store(partials_ptr + row * num_splits + offs, offs * 0.0, mask=offs < num_splits)\n\n\ndef row_squares(")),
        Variant("pieces_of_any_length", ("partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)", "partials = torch.empty((M, num_splits), dtype=torch.float32, device=x.device)"), ("piece_size = triton.cdiv(triton.cdiv(N, num_splits), 16) * 16", "num_splits = min(num_splits, N)\n    piece_size = triton.cdiv(N, num_splits)\n    num_splits = triton.cdiv(N, piece_size)")),
        Variant("pieces_side_by_side", ("place = row * tl.num_programs(axis=1) + piece", "place = piece * tl.num_programs(axis=0) + row"), ("places = row * num_splits + offs_s", "places = offs_s * tl.num_programs(axis=0) + row")),
    ],
    "cache_rows": [
        Variant("by_a_branch", (PUT, "if slot >= 0:\n        tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d)")),
        Variant("mask_of_its_own", (PUT, "kept = mask_d & (slot > -1)\n    tl.store(cache_ptr + slot * D + offs_d, row, mask=kept)")),
        Variant("row_loaded_for_slots_alone", ("rows_ptr + t * D + offs_d, mask=mask_d", "rows_ptr + t * D + offs_d, mask=mask_d & (slot >= 0)")),
        Variant("upper_end_too", ("slots_ptr, cache_ptr, D, ", "slots_ptr, cache_ptr, S, D, "), (PUT, PUT.replace("(slot >= 0)", "(slot >= 0) & (slot < S)")), ("(rows, slots, cache, D,", "(rows, slots, cache, cache.shape[0], D,")),
        Variant("returns_early", (SLOT, SLOT + "\n    if slot < 0:\n        return"), (PUT, PUT.replace(" & (slot >= 0)", ""))),
        Variant("not_negative", (PUT, PUT.replace("(slot >= 0)", "~(slot < 0)"))),
        Variant("no_columns_for_nobody", (PUT, PUT.replace("mask_d & (slot >= 0)", "offs_d < tl.where(slot >= 0, D, 0)"))),
        Variant("address_held_back_too", (PUT, PUT.replace("cache_ptr + slot * D", "cache_ptr + tl.maximum(slot, 0) * D"))),
        Variant("mask_of_all", ("mask_d = offs_d < D", "mask_d = (offs_d < D) & (slot >= 0)"), (PUT, PUT.replace(" & (slot >= 0)", ""))),
        Variant("pointer_moved", (PUT, "cache_ptr += slot * D\n    " + PUT.replace("slot * D + ", ""))),
        Variant("columns_in_blocks", replace=IN_BLOCKS),
        Variant("four_tokens_a_program", replace='@triton.jit\ndef cache_rows_kernel(rows_ptr, slots_ptr, cache_ptr, T, D, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):\n    offs_t = tl.program_id(axis=0).to(tl.int64) * BLOCK_T + tl.arange(0, BLOCK_T)\n    slots = tl.load(slots_ptr + offs_t, mask=offs_t < T, other=-1)\n    offs_d = tl.arange(0, BLOCK_D)\n    kept = (slots >= 0)[:, None] & (offs_d < D)[None, :]\n    rows = tl.load(rows_ptr + offs_t[:, None] * D + offs_d[None, :], mask=kept, other=0.0)\n    tl.store(cache_ptr + slots[:, None] * D + offs_d[None, :], rows, mask=kept)\n\n\ndef cache_rows(cache, rows, slots):\n    require_contiguous(cache, rows, slots)\n    T, D = rows.shape\n    if cache.shape[1] != D or slots.shape != (T,):\n        raise ValueError("it takes cache (S, D), rows (T, D) and slots (T,)")\n    cache_rows_kernel[(triton.cdiv(T, 4),)](rows, slots, cache, T, D, BLOCK_T=4, BLOCK_D=triton.next_power_of_2(D))\n\n\ndef cache_rows_cause():\n    """What ailed the patient: a name of the table."""\n    return "unchecked index"\n'),
        Variant("length_of_nobody_is_0", ("slot = tl.load(slots_ptr + t)", "slot = tl.load(slots_ptr + t)\n    D_kept = tl.where(slot < 0, 0, D)"), ("tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0))", "tl.store(cache_ptr + slot * D + offs_d, row, mask=offs_d < D_kept)")),
        Variant("as_an_unsigned_number", ("slots_ptr, cache_ptr, D, ", "slots_ptr, cache_ptr, S, D, "), ("tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0))", "tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot.to(tl.uint64) < S))"), ("(rows, slots, cache, D,", "(rows, slots, cache, cache.shape[0], D,")),
    ],
    "expert_sums": [
        Variant("by_range", (WHILE, "for row in range(row, end, BLOCK_M):"), (f"        {STEP}\n", "")),
        Variant("greater", (WHILE, "while end > row:")),
        Variant("one_turn_more", (WHILE, "while row <= end:")),
        Variant("count_of_tiles", (WHILE, "tiles = (end - row + BLOCK_M - 1) // BLOCK_M\n    for _ in range(tiles):")),
        Variant("what_is_left", (WHILE, "while end - row > 0:")),
        Variant("not_at_or_behind", (WHILE, "while not (row >= end):")),
        Variant("last_step_is_shorter", (WHILE, "while row != end:"), (STEP, "row += tl.minimum(BLOCK_M, end - row)")),
        Variant("end_is_met", (WHILE, "while row != end:"), (STEP, "row = tl.minimum(row + BLOCK_M, end)")),
        Variant("end_of_the_tiles", (WHILE, "last = row + tl.cdiv(end - row, BLOCK_M) * BLOCK_M\n    while row != last:")),
        Variant("summed_over_rows_at_the_end", ("acc = tl.zeros((BLOCK_D,), dtype=tl.float32)", "acc = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)"), (ADD, "acc += x"), ("tl.store(out_ptr + e * D + offs_out, acc,", "tl.store(out_ptr + e * D + offs_out, tl.sum(acc, axis=0),")),
        Variant("number_of_rows_counts", (WHILE, "for done in range(0, end - row, BLOCK_M):"), ("offs_m = row + tl.arange(0, BLOCK_M)[:, None]", "offs_m = row + done + tl.arange(0, BLOCK_M)[:, None]"), (f"        {STEP}\n", "")),
        Variant("whole_tiles_of_x", ("while row < end:", "for row in range(row // BLOCK_M * BLOCK_M, end, BLOCK_M):"), ("mask = (offs_m < end) & (offs_d < D)", "mask = (offs_m >= begin) & (offs_m < end) & (offs_d < D)"), ("row = tl.load(ends_ptr + e - 1, mask=e > 0, other=0)", "row = tl.load(ends_ptr + e - 1, mask=e > 0, other=0)\n    begin = row"), ("        row += BLOCK_M\n", "")),
        Variant("a_program_for_each_row", replace='@triton.jit\ndef expert_sums_kernel(x_ptr, ends_ptr, out_ptr, M, D, E, BLOCK_D: tl.constexpr):\n    m = tl.program_id(axis=0)\n    e = 0\n    for i in range(E):\n        if tl.load(ends_ptr + i) <= m:\n            e = i + 1\n    offs_d = tl.arange(0, BLOCK_D)\n    if e < E:\n        x = tl.load(x_ptr + m * D + offs_d, mask=offs_d < D, other=0.0).to(tl.float32)\n        tl.atomic_add(out_ptr + e * D + offs_d, x, mask=offs_d < D)\n\n\ndef expert_sums(x, ends, block=16):\n    require_contiguous(x, ends)\n    E, (M, D) = ends.shape[0], x.shape\n    out = torch.zeros((E, D), dtype=torch.float32, device=x.device)\n    expert_sums_kernel[(M,)](x, ends, out, M, D, E, BLOCK_D=triton.next_power_of_2(D))\n    return out\n\n\ndef expert_sums_cause():\n    """What ailed the patient: a name of the table."""\n    return "endless loop"\n', only="interpreter"),
        Variant("one_row_a_turn", ("block=16):", "block=1):")),
        Variant("from_the_end_back", ("while row < end:", "start = row\n    row = end - BLOCK_M\n    while row + BLOCK_M > start:"), ("mask = (offs_m < end) & (offs_d < D)", "mask = (offs_m >= start) & (offs_m < end) & (offs_d < D)"), ("row += BLOCK_M", "row -= BLOCK_M")),
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
