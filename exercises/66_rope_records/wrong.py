"""Wrong answers of 66_rope_records with the diagnosis each must get, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

# --- to_halves
LOAD_MASK = "    mask = (offs_m < M) & (offs_d < 2 * HALF)\n"
STORE_MASK = "    mask = (offs_m < M) & (offs_p < HALF)\n"
LOAD_X = "x = tl.load(x_ptr + offs_m * stride_xm + offs_d * stride_xd, mask=mask)"
SPLIT = "first, second = tl.split(tl.reshape(x, (BLOCK_M, BLOCK_P, 2)))"
ROWS_Y = "y_ptrs = y_ptr + offs_m * 2 * HALF + offs_p"
LEFT = "tl.store(y_ptrs, first, mask=mask)"
RIGHT = "tl.store(y_ptrs + HALF, second, mask=mask)"
RAISES = '    if D % 2 == 1:\n        raise ValueError(f"{D} columns do not make pairs")\n'
GAP_OF_HALVES = (
    f"{LOAD_MASK}    {LOAD_X}\n    {SPLIT}\n    {ROWS_Y}\n{STORE_MASK}    {LEFT}\n    {RIGHT}\n"
)
IN_HALVES = "tl.trans(tl.reshape(x, (BLOCK_M, 2, BLOCK_P)), 0, 2, 1)"

# --- rope_record: load_pairs
MASK_D = "        mask = mask_rows & (offs_d < 2 * HALF)\n        x = tl.load"
LOAD_HEADS = "x = tl.load(x_ptr + rows + offs_d * stride_xd, mask=mask)"
SPLIT_PAIRS = "first, second = tl.split(tl.reshape(x, (x.shape[0], x.shape[1], BLOCK_P, 2)))"
LOAD_FIRST = "first = tl.load(x_ptr + rows + offs_p * stride_xd, mask=mask)"
LOAD_SECOND = "second = tl.load(x_ptr + rows + (offs_p + HALF) * stride_xd, mask=mask)"
MASK_P = "        mask = mask_rows & (offs_p < HALF)\n        first = tl.load"
# store_pairs
MASK_H = "        mask = mask_rows & (offs_d < 2 * HALF)\n        pairs = tl.join"
JOIN = """pairs = tl.join(first, second)
        y = tl.reshape(pairs, (first.shape[0], first.shape[1], 2 * BLOCK_P))"""
STORE_HEADS = "tl.store(y_ptr + rows + offs_d * stride_yd, y, mask=mask)"
STORE_FIRST = "tl.store(y_ptr + rows + offs_p * stride_yd, first, mask=mask)"
STORE_SECOND = "tl.store(y_ptr + rows + (offs_p + HALF) * stride_yd, second, mask=mask)"
MASK_Y = "        mask = mask_rows & (offs_p < HALF)\n        tl.store"
# the kernel
MASK_T = "mask_p = mask_l & (offs_p < HALF)"
COS_PTRS = "cos_ptrs = cos_ptr + (pos_offset + offs_l) * stride_cl + offs_p * stride_cd"
SIN_PTRS = "sin_ptrs = sin_ptr + (pos_offset + offs_l) * stride_sl + offs_p * stride_sd"
LOAD_COS = "cos = tl.load(cos_ptrs, mask=mask_p).to(tl.float32)"
LOAD_SIN = "sin = tl.load(sin_ptrs, mask=mask_p).to(tl.float32)"
LOAD_Q = "q_a, q_b = load_pairs(q_ptr, q_rows, mask_q, stride_qd, HALF, INTERLEAVED, BLOCK_P)"
LOAD_K = "k_a, k_b = load_pairs(k_ptr, k_rows, mask_k, stride_kd, HALF, INTERLEAVED, BLOCK_P)"
TURN_Q = "q_a, q_b = q_a * cos - q_b * sin, q_b * cos + q_a * sin"
TURN_K = "k_a, k_b = k_a * cos - k_b * sin, k_b * cos + k_a * sin"
STORE_Q = """store_pairs(
        q_out_ptr, o_rows, mask_q, q_a, q_b, stride_od, HALF, INTERLEAVED, BLOCK_P
    )"""
STORE_K = """store_pairs(
        k_out_ptr, p_rows, mask_k, k_a, k_b, stride_pd, HALF, INTERLEAVED, BLOCK_P
    )"""
BLOCK_T = "BLOCK_T = max(1, pairs // (BLOCK_H * BLOCK_P))"
GIVEN_MASKS = "mask_q, mask_k = mask_l & (offs_h < H), mask_l & (offs_hk < HK)"
NEW = "q_out, k_out = out or (torch.empty_like(q), torch.empty_like(k))"
CHECKED = "    check_rope_inputs(q, k, cos, sin, pos_offset, out)\n"
HALF = "q_ptr.dtype.element_ty"
OUTSIDE = ("out-of-bounds-store", "reads-outside", "race")



# Both forms by the columns alone: a whole head, its neighbours or its halves side by side.
BY_COLUMNS_LOAD = """    if INTERLEAVED:
        cols = offs_d
    else:
        cols = offs_d // 2 + offs_d % 2 * HALF
    x = tl.load(x_ptr + rows + cols * stride_xd, mask=mask_rows & (offs_d < 2 * HALF))
    first, second = tl.split(tl.reshape(x, (x.shape[0], x.shape[1], BLOCK_P, 2)))
"""
BY_COLUMNS_STORE = """    if INTERLEAVED:
        cols = offs_d
    else:
        cols = offs_d // 2 + offs_d % 2 * HALF
    y = tl.interleave(first, second)
    tl.store(y_ptr + rows + cols * stride_yd, y, mask=mask_rows & (offs_d < 2 * HALF))
"""
LOAD_GAP = f"""    if INTERLEAVED:
{MASK_D}(x_ptr + rows + offs_d * stride_xd, mask=mask)
        {SPLIT_PAIRS}
    else:
{MASK_P}(x_ptr + rows + offs_p * stride_xd, mask=mask)
        {LOAD_SECOND}
"""
STORE_GAP = f"""    if INTERLEAVED:
        mask = mask_rows & (offs_d < 2 * HALF)
        {JOIN}
        {STORE_HEADS}
    else:
{MASK_Y}(y_ptr + rows + offs_p * stride_yd, first, mask=mask)
        {STORE_SECOND}
"""


def positions(text, tables=("cos", "sin")):
    """Edits that take another position for these tables."""
    pointers = {"cos": COS_PTRS, "sin": SIN_PTRS}
    return [(pointers[t], pointers[t].replace("pos_offset + offs_l", text)) for t in tables]


MUTANTS = {
    "to_halves": [
        Mutant("nothing_taken_apart", "as-it-was", (GAP_OF_HALVES, f"{LOAD_MASK}    {LOAD_X}\n    tl.store(y_ptr + offs_m * 2 * HALF + offs_d, x, mask=mask)\n")),
        Mutant("reshaped_to_two_halves", ("raised", "does-not-compile"), (SPLIT, SPLIT.replace("BLOCK_P, 2", "2, BLOCK_P"))),
        Mutant("halves_for_neighbours", "as-it-was", (SPLIT, f"first, second = tl.split({IN_HALVES})")),
        Mutant("split_without_reshape", ("raised", "does-not-compile"), (SPLIT, "first, second = tl.split(x)")),
        Mutant("neighbours_exchanged", "neighbours-exchanged", (GAP_OF_HALVES, f"{LOAD_MASK}    {LOAD_X}\n    {SPLIT}\n    y = tl.reshape(tl.join(second, first), (BLOCK_M, 2 * BLOCK_P))\n    tl.store(y_ptr + offs_m * 2 * HALF + offs_d, y, mask=mask)\n")),
        Mutant("halves_exchanged", "halves-exchanged", (SPLIT, SPLIT.replace("first, second", "second, first"))),
        Mutant("first_stored_twice", "first-twice", (RIGHT, RIGHT.replace("second", "first"))),
        Mutant("second_stored_twice", "second-twice", (LEFT, LEFT.replace("first", "second"))),
        Mutant("second_over_the_first", "second-over-first", (RIGHT, RIGHT.replace(" + HALF", ""))),
        Mutant("only_the_first_half", "second-unwritten", (f"    {RIGHT}\n", "")),
        Mutant("only_the_second_half", "first-unwritten", (f"    {LEFT}\n", "")),
        Mutant("second_half_behind_the_tile", ("out-of-bounds-store", "race"), (RIGHT, RIGHT.replace("HALF", "BLOCK_P"))),
        Mutant("second_half_one_further", ("out-of-bounds-store", "race"), (RIGHT, RIGHT.replace("+ HALF", "+ HALF + 1"))),
        Mutant("rows_half_as_far", ("half-a-row-apart", "race"), (ROWS_Y, ROWS_Y.replace("offs_m * 2 * HALF", "offs_m * HALF")), on_gpu=("wrong-values", "unwritten-tail", "unwritten")),
        Mutant("rows_as_far_as_the_tile", ("out-of-bounds-store", "unwritten"), (ROWS_Y, ROWS_Y.replace("2 * HALF", "2 * BLOCK_P"))),
        Mutant("rows_by_the_stride_of_x", ("out-of-bounds-store", "strided-only", "race"), (ROWS_Y, ROWS_Y.replace("offs_m * 2 * HALF", "offs_m * stride_xm"))),
        Mutant("load_without_mask", "reads-outside", (LOAD_X, LOAD_X.replace(", mask=mask", ""))),
        Mutant("load_without_columns_in_its_mask", "reads-outside", (LOAD_MASK, "    mask = (offs_m < M) & (offs_d >= 0)\n")),
        Mutant("stores_without_mask", ("out-of-bounds-store", "race"), (LEFT, LEFT.replace(", mask=mask", "")), (RIGHT, RIGHT.replace(", mask=mask", ""))),
        Mutant("rows_past_the_end_stored", "out-of-bounds-store", (STORE_MASK, "    mask = (offs_m >= 0) & (offs_p < HALF)\n")),
        Mutant("columns_past_the_half_stored", ("out-of-bounds-store", "race"), (STORE_MASK, "    mask = (offs_m < M) & (offs_p >= 0)\n")),
        Mutant("mask_of_the_tile", ("raised", "does-not-compile"), (STORE_MASK, "")),
        Mutant("half_of_the_row_loaded", "half-loaded", (LOAD_MASK, LOAD_MASK.replace("2 * HALF", "HALF"))),
        Mutant("column_stride_is_one", ("strided-only", "reads-outside"), (LOAD_X, LOAD_X.replace("offs_d * stride_xd", "offs_d"))),
        Mutant("row_stride_is_the_width", ("strided-only", "reads-outside"), (LOAD_X, LOAD_X.replace("stride_xm", "2 * HALF"))),
        Mutant("every_second_of_the_tile", "reads-outside", (LOAD_X, LOAD_X.replace("offs_d * stride_xd", "2 * offs_d * stride_xd"))),
        Mutant("row_0_for_all", ("rows-after-first", "rows-moved"), (LOAD_X, LOAD_X.replace("offs_m * stride_xm", "0 * offs_m * stride_xm"))),
        Mutant("row_added_to_its_stride", "row-added", (LOAD_X, LOAD_X.replace("offs_m * stride_xm", "offs_m + stride_xm"))),
        Mutant("odd_columns_accepted", "should-raise", (RAISES, "")),
        Mutant("rows_rounded_down", ("unwritten", "unwritten-tail"), ("(triton.cdiv(M, BLOCK_M),)", "(M // BLOCK_M,)")),
        Mutant("torch_stand_in", ("no-kernel-launched", "torch-compute"), replace="\ndef to_halves(x):\n    if x.shape[1] % 2:\n        raise ValueError\n    return torch.cat((x[:, 0::2], x[:, 1::2]), dim=1)\n"),
        Mutant("columns_two_apart", "property", (GAP_OF_HALVES, f"""{STORE_MASK}    x_ptrs = x_ptr + offs_m * stride_xm + 2 * offs_p * stride_xd
    y_ptrs = y_ptr + offs_m * 2 * HALF + offs_p
    tl.store(y_ptrs, tl.load(x_ptrs, mask=mask), mask=mask)
    tl.store(y_ptrs + HALF, tl.load(x_ptrs + stride_xd, mask=mask), mask=mask)
"""), only="interpreter"),
        Mutant("whole_rows_to_places_of_their_own", "property", (GAP_OF_HALVES, f"{LOAD_MASK}    {LOAD_X}\n    places = offs_d // 2 + offs_d % 2 * HALF\n    tl.store(y_ptr + offs_m * 2 * HALF + places, x, mask=mask)\n"), only="interpreter"),
        Mutant("left_half_past_its_end", "property", (LEFT, LEFT.replace("mask=mask", "mask=offs_m + 0 * offs_p < M")), only="interpreter"),
    ],
    "rope_record": [
        # --- load_pairs
        Mutant("reshaped_to_two_halves", ("raised", "does-not-compile"), (SPLIT_PAIRS, SPLIT_PAIRS.replace("BLOCK_P, 2", "2, BLOCK_P"))),
        Mutant("halves_for_neighbours", "halves-loaded", (SPLIT_PAIRS, "first, second = tl.split(tl.permute(tl.reshape(x, (x.shape[0], x.shape[1], 2, BLOCK_P)), (0, 1, 3, 2)))")),
        Mutant("split_the_wrong_way_round", "interleaved-partners-swapped", (SPLIT_PAIRS, SPLIT_PAIRS.replace("first, second", "second, first"))),
        Mutant("half_of_the_head_loaded", "half-loaded", (MASK_D, MASK_D.replace("2 * HALF", "HALF"))),
        Mutant("mask_of_pairs_for_heads", ("raised", "does-not-compile"), (MASK_D, MASK_D.replace("offs_d < 2 * HALF", "offs_p < HALF"))),
        Mutant("heads_without_mask", "reads-outside", (LOAD_HEADS, LOAD_HEADS.replace(", mask=mask", ""))),
        Mutant("heads_past_the_end_loaded", "reads-outside", (MASK_D, MASK_D.replace("mask_rows & ", "")), (LOAD_HEADS, LOAD_HEADS.replace("mask=mask", "mask=mask & (mask_rows | True)"))),
        Mutant("halves_without_mask", "reads-outside", (LOAD_FIRST, LOAD_FIRST.replace(", mask=mask", "")), (LOAD_SECOND, LOAD_SECOND.replace(", mask=mask", ""))),
        Mutant("pairs_past_the_head_loaded", "reads-outside", (MASK_P, MASK_P.replace("offs_p < HALF", "offs_p < BLOCK_P"))),
        Mutant("second_half_behind_the_tile", "reads-outside", (LOAD_SECOND, LOAD_SECOND.replace("HALF", "BLOCK_P"))),
        Mutant("loads_without_column_stride", ("strided-only", "reads-outside"), (LOAD_FIRST, LOAD_FIRST.replace("offs_p * stride_xd", "offs_p")), (LOAD_SECOND, LOAD_SECOND.replace("(offs_p + HALF) * stride_xd", "offs_p + HALF"))),
        Mutant("heads_without_column_stride", ("strided-only", "reads-outside"), (LOAD_HEADS, LOAD_HEADS.replace(" * stride_xd", ""))),
        Mutant("stride_added", "a-one-further", (LOAD_FIRST, LOAD_FIRST.replace("offs_p * stride_xd", "offs_p + stride_xd"))),
        Mutant("stride_times_the_pair_alone", ("strided-only", "reads-outside"), (LOAD_SECOND, LOAD_SECOND.replace("(offs_p + HALF) * stride_xd", "offs_p * stride_xd + HALF"))),
        Mutant("first_half_for_both", "first-for-both", (LOAD_SECOND, LOAD_SECOND.replace(" + HALF", ""))),
        Mutant("halves_the_wrong_way_round", "partners-swapped", (LOAD_FIRST, LOAD_FIRST.replace("first =", "second =")), (LOAD_SECOND, LOAD_SECOND.replace("second =", "first ="))),
        Mutant("always_half_split_loads", "halves-loaded", (LOAD_GAP, LOAD_GAP.replace("    if INTERLEAVED:", "    if False:"))),
        Mutant("always_interleaved_loads", "neighbours-loaded", (LOAD_GAP, LOAD_GAP.replace("    if INTERLEAVED:", "    if True:"))),
        Mutant("heads_without_columns", "head-from-one-column-0", (LOAD_HEADS, LOAD_HEADS.replace("offs_d * stride_xd", "0 * offs_d"))),
        Mutant("first_half_without_columns", "a-from-one-column-0", (LOAD_FIRST, LOAD_FIRST.replace("offs_p * stride_xd", "0 * offs_p"))),
        # --- store_pairs
        Mutant("join_the_wrong_way_round", "interleaved-results-swapped", (JOIN, JOIN.replace("tl.join(first, second)", "tl.join(second, first)"))),
        Mutant("first_joined_to_itself", "first-result-twice", (JOIN, JOIN.replace("tl.join(first, second)", "tl.join(first, first)"))),
        Mutant("joined_as_halves", "halves-stored", (JOIN, JOIN.replace("tl.join(first, second)", "tl.permute(tl.join(first, second), (0, 1, 3, 2))"))),
        Mutant("join_and_no_reshape", ("raised", "does-not-compile"), (JOIN, "y = tl.join(first, second)")),
        Mutant("half_of_the_head_stored", "half-stored", (MASK_H, MASK_H.replace("2 * HALF", "HALF"))),
        Mutant("heads_stored_without_mask", OUTSIDE, (STORE_HEADS, STORE_HEADS.replace(", mask=mask", ""))),
        Mutant("heads_past_their_end_stored", OUTSIDE, (MASK_H, MASK_H.replace(" & (offs_d < 2 * HALF)", " & (offs_d >= 0)"))),
        Mutant("halves_stored_without_mask", OUTSIDE, (STORE_FIRST, STORE_FIRST.replace(", mask=mask", "")), (STORE_SECOND, STORE_SECOND.replace(", mask=mask", ""))),
        Mutant("rows_past_the_end_stored", OUTSIDE, (MASK_Y, MASK_Y.replace("mask_rows & (offs_p < HALF)", "(offs_p < HALF) & (first == first)"))),
        Mutant("second_result_behind_the_tile", OUTSIDE, (STORE_SECOND, STORE_SECOND.replace("HALF", "BLOCK_P"))),
        Mutant("both_into_the_first_half", "second-into-first", (STORE_SECOND, STORE_SECOND.replace(" + HALF", ""))),
        Mutant("only_the_first_result", "second-unwritten", (f"        {STORE_SECOND}\n", "")),
        Mutant("results_swapped", "results-swapped", (STORE_FIRST, STORE_FIRST.replace("first", "second")), (STORE_SECOND, STORE_SECOND.replace("second", "first"))),
        Mutant("stores_without_column_stride", ("strided-only", *OUTSIDE, "unwritten"), (STORE_FIRST, STORE_FIRST.replace(" * stride_yd", "")), (STORE_SECOND, STORE_SECOND.replace(" * stride_yd", ""))),
        Mutant("heads_stored_without_column_stride", ("strided-only", *OUTSIDE, "unwritten"), (STORE_HEADS, STORE_HEADS.replace(" * stride_yd", ""))),
        Mutant("always_half_split_stores", "halves-stored", (STORE_GAP, STORE_GAP.replace("    if INTERLEAVED:", "    if False:"))),
        Mutant("always_interleaved_stores", "neighbours-stored", (STORE_GAP, STORE_GAP.replace("    if INTERLEAVED:", "    if True:"))),
        # --- both
        Mutant("always_interleaved", "other-pairing", (LOAD_GAP, LOAD_GAP.replace("    if INTERLEAVED:", "    if True:")), (STORE_GAP, STORE_GAP.replace("    if INTERLEAVED:", "    if True:"))),
        Mutant("always_half_split", "other-pairing", (LOAD_GAP, LOAD_GAP.replace("    if INTERLEAVED:", "    if False:")), (STORE_GAP, STORE_GAP.replace("    if INTERLEAVED:", "    if False:"))),
        Mutant("pairings_swapped", "other-pairing", (LOAD_GAP, LOAD_GAP.replace("    if INTERLEAVED:", "    if not INTERLEAVED:")), (STORE_GAP, STORE_GAP.replace("    if INTERLEAVED:", "    if not INTERLEAVED:"))),
        Mutant("halves_in_and_out", "other-pairing", (SPLIT_PAIRS, SPLIT_PAIRS.replace("tl.reshape(x, (x.shape[0], x.shape[1], BLOCK_P, 2))", "tl.permute(tl.reshape(x, (x.shape[0], x.shape[1], 2, BLOCK_P)), (0, 1, 3, 2))")), (JOIN, JOIN.replace("tl.join(first, second)", "tl.permute(tl.join(first, second), (0, 1, 3, 2))"))),
        Mutant("neighbours_backwards", "wrong-sign", (SPLIT_PAIRS, SPLIT_PAIRS.replace("first, second", "second, first")), (JOIN, JOIN.replace("tl.join(first, second)", "tl.join(second, first)"))),
        # --- cos and sin
        Mutant("no_pos_offset", "no-offset", *positions("offs_l")),
        Mutant("no_pos_offset_for_sin", "no-offset-of-sin", *positions("offs_l", ["sin"])),
        Mutant("offset_twice", ("offset-twice", "reads-outside"), *positions("2 * pos_offset + offs_l")),
        Mutant("position_of_the_first_token", "first-token", *positions("pos_offset + tl.program_id(0) * BLOCK_T + 0 * offs_l")),
        Mutant("one_position_for_the_call", "one-position", *positions("pos_offset + 0 * offs_l")),
        Mutant("number_within_the_program", "number-in-the-program", *positions("pos_offset + tl.arange(0, BLOCK_T)[:, None, None]")),
        Mutant("number_within_the_program_for_cos", "number-in-the-program-of-cos", *positions("pos_offset + offs_l % BLOCK_T", ["cos"])),
        Mutant("number_of_the_program", "program-number", *positions("pos_offset + tl.program_id(0) + 0 * offs_l")),
        Mutant("batch_shifts_the_position", ("reads-outside", "rows-after-first"), *positions("pos_offset + offs_l + b")),
        Mutant("position_added_to_its_stride", "position-added", (COS_PTRS, COS_PTRS.replace(") * stride_cl", ") + stride_cl")), (SIN_PTRS, SIN_PTRS.replace(") * stride_sl", ") + stride_sl"))),
        Mutant("cos_without_pairs", "cos-of-one-pair", (COS_PTRS, COS_PTRS.replace(" + offs_p * stride_cd", " + 0 * offs_p"))),
        Mutant("tables_without_pairs", "cos-sin-of-one-pair", (COS_PTRS, COS_PTRS.replace(" + offs_p * stride_cd", " + 0 * offs_p")), (SIN_PTRS, SIN_PTRS.replace(" + offs_p * stride_sd", " + 0 * offs_p"))),
        Mutant("cos_for_sin", "cos-for-both", (LOAD_SIN, LOAD_SIN.replace("sin_ptrs", "cos_ptrs"))),
        Mutant("tables_swapped", "sin-for-cos", (LOAD_COS, LOAD_COS.replace("cos =", "sin =")), (LOAD_SIN, LOAD_SIN.replace("sin =", "cos ="))),
        Mutant("sin_with_the_strides_of_cos", ("strided-only", "reads-outside"), (SIN_PTRS, SIN_PTRS.replace("stride_sl", "stride_cl").replace("stride_sd", "stride_cd"))),
        Mutant("cos_side_by_side", "cos-side-by-side", (COS_PTRS, COS_PTRS.replace(" * stride_cd", ""))),
        Mutant("tables_side_by_side", "cos-sin-side-by-side", (COS_PTRS, COS_PTRS.replace(" * stride_cd", "")), (SIN_PTRS, SIN_PTRS.replace(" * stride_sd", ""))),
        Mutant("tables_without_tokens_in_their_mask", "reads-outside", (MASK_T, "mask_p = (offs_l >= 0) & (offs_p < HALF)")),
        Mutant("tables_without_mask", "reads-outside", (LOAD_COS, LOAD_COS.replace(", mask=mask_p", "")), (LOAD_SIN, LOAD_SIN.replace(", mask=mask_p", ""))),
        # --- loads and stores of the kernel
        Mutant("q_with_the_column_stride_of_k", ("strided-only", "reads-outside"), (LOAD_Q, LOAD_Q.replace("stride_qd", "stride_kd"))),
        Mutant("k_with_the_column_stride_of_q", ("strided-only", "reads-outside"), (LOAD_K, LOAD_K.replace("stride_kd", "stride_qd"))),
        Mutant("q_out_with_the_stride_of_q", "property", (STORE_Q, STORE_Q.replace("stride_od", "stride_qd"))),
        Mutant("k_out_with_the_stride_of_q_out", ("strided-only", "unwritten", *OUTSIDE), (STORE_K, STORE_K.replace("stride_pd", "stride_od"))),
        Mutant("rows_of_q_for_k", ("the-other", *OUTSIDE), (LOAD_K, LOAD_K.replace("k_ptr, k_rows", "q_ptr, q_rows"))),
        Mutant("mask_of_q_for_k", ("raised", "does-not-compile", *OUTSIDE), (LOAD_K, LOAD_K.replace("mask_k", "mask_q"))),
        Mutant("mask_of_q_for_k_out", ("raised", "does-not-compile", *OUTSIDE), (STORE_K, STORE_K.replace("mask_k", "mask_q"))),
        Mutant("heads_of_q_counted_for_k", OUTSIDE, (GIVEN_MASKS, "mask_q, mask_k = mask_l & (offs_h < H), mask_l & (offs_hk < H)")),
        Mutant("tokens_past_the_end", OUTSIDE, ("mask_l = offs_l < L", "mask_l = offs_l >= 0")),
        Mutant("q_stored_for_k", "the-other", (STORE_K, STORE_K.replace("k_a, k_b", "q_a, q_b"))),
        Mutant("k_stored_for_q", "the-other", (STORE_Q, STORE_Q.replace("q_a, q_b", "k_a, k_b"))),
        Mutant("k_stored_over_q", ("the-other", "unwritten", "race"), (STORE_K, STORE_K.replace("k_out_ptr, p_rows", "q_out_ptr, o_rows"))),
        Mutant("only_q_stored", "unwritten", (f"    {STORE_K}\n", "")),
        Mutant("k_not_turned", "not-turned", (TURN_K, "pass")),
        Mutant("partners_swapped_in_the_kernel", "partners-swapped", (LOAD_Q, LOAD_Q.replace("q_a, q_b", "q_b, q_a"))),
        Mutant("k_partners_swapped_in_the_kernel", "partners-swapped", (LOAD_K, LOAD_K.replace("k_a, k_b", "k_b, k_a"))),
        # --- the turn
        Mutant("turned_back", "wrong-sign", (TURN_Q, TURN_Q.replace("q_a * cos - q_b", "q_a * cos + q_b").replace("q_b * cos + q_a", "q_b * cos - q_a"))),
        Mutant("both_signs_plus", "wrong-sign-first", (TURN_K, TURN_K.replace("k_a * cos - k_b", "k_a * cos + k_b"))),
        Mutant("sine_meets_the_wrong_partner", "sine-of-the-other-second", (TURN_Q, TURN_Q.replace("q_a * sin", "q_b * sin"))),
        Mutant("no_sine", "no-sine", (TURN_K, "k_a, k_b = k_a * cos, k_b * cos")),
        Mutant("second_from_the_new_first", "new-a", (TURN_Q, "q_a = q_a * cos - q_b * sin\n    q_b = q_b * cos + q_a * sin")),
        Mutant("k_meets_q", "second-of-the-other-first", (TURN_Q, TURN_Q.replace("q_b * sin", "k_b * sin"))),
        Mutant("q_meets_k", ("undue-input", "wrong-tail", "wrong-values"), (TURN_K, TURN_K.replace("k_a * sin", "q_a * sin"))),
        Mutant("in_half_precision", "in-half-precision", (TURN_Q, "half = q_ptr.dtype.element_ty\n    q_a, q_b, c, s = q_a.to(half), q_b.to(half), cos.to(half), sin.to(half)\n    q_a, q_b = q_a * c - q_b * s, q_b * c + q_a * s"), on_gpu=("wrong-values",)),
        Mutant("loads_of_q_after_its_stores", "property", (STORE_K, STORE_K + f"\n    {LOAD_Q}\n    {TURN_Q}\n    {STORE_Q}")),
        # --- the wrapper
        Mutant("one_token_a_program", ("property", "other-programs"), (BLOCK_T, "BLOCK_T = 1")),
        Mutant("tokens_of_the_pairs_alone", ("property", "other-programs"), (BLOCK_T, "BLOCK_T = max(1, pairs // BLOCK_P)")),
        Mutant("heads_of_k_counted_too", ("property", "other-programs"), (BLOCK_T, "BLOCK_T = max(1, pairs // (triton.next_power_of_2(H + HK) * BLOCK_P))")),
        Mutant("elements_for_pairs", ("property", "other-programs"), (BLOCK_T, "BLOCK_T = max(1, pairs // (BLOCK_H * 2 * BLOCK_P))")),
        Mutant("pairs_of_one_text", ("property", "other-programs"), (BLOCK_T, "BLOCK_T = min(triton.next_power_of_2(L), max(1, pairs // (BLOCK_H * BLOCK_P // 2)))")),
        Mutant("always_512", ("property", "other-programs"), (BLOCK_T, "BLOCK_T = max(1, 512 // (BLOCK_H * BLOCK_P))")),
        Mutant("none_for_a_large_token", ("raised", "property"), (BLOCK_T, "BLOCK_T = pairs // (BLOCK_H * BLOCK_P)")),
        Mutant("heads_and_pairs_as_they_are", ("property", "raised", "does-not-compile", "other-programs"), (BLOCK_T, "BLOCK_T = max(1, pairs // (H * D // 2))")),
        Mutant("grid_rounded_down", ("other-programs", "unwritten", "unwritten-tail"), ("triton.cdiv(L, BLOCK_T), B", "L // BLOCK_T, B")),
        Mutant("one_batch", ("other-programs", "unwritten"), ("triton.cdiv(L, BLOCK_T), B", "triton.cdiv(L, BLOCK_T), 1")),
        Mutant("writes_into_q", ("input-changed", "aliases-input"), (NEW, "q_out, k_out = out or (q, torch.empty_like(k))")),
        Mutant("out_ignored", "property", (NEW, "q_out, k_out = torch.empty_like(q), torch.empty_like(k)")),
        Mutant("out_returned_unwritten", "property", (NEW, "q_out, k_out = torch.empty_like(q), torch.empty_like(k)"), ("    return q_out, k_out", "    return out or (q_out, k_out)")),
        Mutant("no_shape_check", "should-raise", (CHECKED, "")),
        Mutant(
            "torch_stand_in",
            ("no-kernel-launched", "torch-compute"),
            replace='''
def rope_record(q, k, cos, sin, interleaved=False, pos_offset=0, out=None, pairs=512):
    check_rope_inputs(q, k, cos, sin, pos_offset)
    return rope_ref(q, k, cos, sin, interleaved, pos_offset)
''',
        ),
        Mutant("two_columns_apart_as_page_40", "property", (LOAD_GAP, """    first_columns, second_columns = offs_p, offs_p + HALF
    if INTERLEAVED:
        first_columns, second_columns = 2 * offs_p, 2 * offs_p + 1
    mask = mask_rows & (offs_p < HALF)
    first = tl.load(x_ptr + rows + first_columns * stride_xd, mask=mask)
    second = tl.load(x_ptr + rows + second_columns * stride_xd, mask=mask)
"""), only="interpreter"),
        Mutant("k_loaded_after_the_stores_of_q", "property", (f"    {LOAD_K}\n", ""), (STORE_Q, f"{STORE_Q}\n    {LOAD_K}"), (TURN_K, "pass"), (STORE_K, f"{TURN_K}\n    {STORE_K}"), only="interpreter"),
        Mutant("stored_two_columns_apart_as_page_40", "property", (STORE_GAP, """    first_columns, second_columns = offs_p, offs_p + HALF
    if INTERLEAVED:
        first_columns, second_columns = 2 * offs_p, 2 * offs_p + 1
    mask = mask_rows & (offs_p < HALF)
    tl.store(y_ptr + rows + first_columns * stride_yd, first, mask=mask)
    tl.store(y_ptr + rows + second_columns * stride_yd, second, mask=mask)
"""), only="interpreter"),
        Mutant("first_half_past_its_end", "property", (STORE_FIRST, STORE_FIRST.replace("mask=mask", "mask=mask_rows & (offs_p >= 0)")), only="interpreter"),
        Mutant("tables_in_half", "tables-in-half", (LOAD_COS, LOAD_COS.replace("tl.float32", HALF)), (LOAD_SIN, LOAD_SIN.replace("tl.float32", HALF))),
        Mutant("no_token_where_one_is_too_large", "property", (BLOCK_T, "BLOCK_T = pairs // (BLOCK_H * BLOCK_P)"), on_gpu=("raised",)),
        Mutant("rows_left_out", "rows-left-out", (LOAD_GAP, LOAD_GAP.replace("x_ptr + rows + offs", "x_ptr + 0 * rows + offs").replace("x_ptr + rows + (", "x_ptr + 0 * rows + ("))),
        Mutant("offset_in_elements", "offset-in-elements", (COS_PTRS, "cos_ptrs = cos_ptr + pos_offset + offs_l * stride_cl + offs_p * stride_cd"), (SIN_PTRS, "sin_ptrs = sin_ptr + pos_offset + offs_l * stride_sl + offs_p * stride_sd")),
    ],
}

VARIANTS = {
    "to_halves": [
        Variant("one_warp", ("num_warps=min(16, max(1, BLOCK_M * BLOCK_P // 256))", "num_warps=1")),
        Variant("stores_in_the_other_order", (f"{LEFT}\n    {RIGHT}", f"{RIGHT}\n    {LEFT}")),
        Variant("one_store_of_both", (GAP_OF_HALVES, f"""{LOAD_MASK}    {LOAD_X}
    {SPLIT}
    both = tl.trans(tl.join(first, second), 0, 2, 1)  # [BLOCK_M, 2, BLOCK_P]
    half = tl.arange(0, 2)[None, :, None]
    pair = tl.arange(0, BLOCK_P)[None, None, :]
    y_ptrs = y_ptr + offs_m[:, :, None] * 2 * HALF + half * HALF + pair
    tl.store(y_ptrs, both, mask=(offs_m[:, :, None] < M) & (pair < HALF))
""")),
        Variant("masked_lanes_hold_zero", (LOAD_X, LOAD_X.replace("mask=mask", "mask=mask, other=0.0"))),
        Variant("rows_by_their_width", (ROWS_Y, "y_ptrs = y_ptr + offs_m * (HALF + HALF) + offs_p"), ("x, y, M, *x.stride()", "x, y, M, x.stride(0), x.stride(1)")),
    ],
    "rope_record": [
        Variant("one_warp", ("num_warps=min(8, max(1, BLOCK_T * BLOCK_H * BLOCK_P // 256))", "num_warps=1")),
        Variant("whole_heads_by_columns", (LOAD_GAP, BY_COLUMNS_LOAD), (STORE_GAP, BY_COLUMNS_STORE)),
        Variant("interleave_for_join", (JOIN, "y = tl.interleave(first, second)")),
        Variant("halves_stored_as_one_tile", (STORE_GAP, f"""    if INTERLEAVED:
        mask = mask_rows & (offs_d < 2 * HALF)
        {JOIN}
        {STORE_HEADS}
    else:
        both = tl.join(first, second)
        half = tl.arange(0, 2)[None, None, None, :]
        pair = offs_p[:, :, :, None]
        places = y_ptr + rows[:, :, :, None] + (pair + half * HALF) * stride_yd
        tl.store(places, both, mask=mask_rows[:, :, :, None] & (pair < HALF))
""")),
        Variant("tables_from_the_position_on", (COS_PTRS, "cos_ptrs = (cos_ptr + pos_offset * stride_cl) + (offs_l * stride_cl + offs_p * stride_cd)"), (SIN_PTRS, "sin_ptrs = sin_ptr + pos_offset * stride_sl + offs_l * stride_sl + offs_p * stride_sd")),
        Variant("stored_together_at_the_end", (f"    {STORE_Q}\n    {STORE_K}", f"    {STORE_K}\n    {STORE_Q}")),
        Variant("by_subtraction", (TURN_Q, "q_a, q_b = -(q_b * sin - q_a * cos), q_a * sin + q_b * cos")),
        Variant("a_token_more_by_a_loop", (BLOCK_T, "BLOCK_T = 1\n    while 2 * BLOCK_T * BLOCK_H * BLOCK_P <= pairs:\n        BLOCK_T *= 2")),
        Variant("contiguous_results", (NEW, "q_out, k_out = out or (torch.empty(q.shape, dtype=q.dtype, device=q.device), torch.empty(k.shape, dtype=k.dtype, device=k.device))")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
PRODUCT = "the other factors, the partners, are float32, and so is the product"
SUM = "an address is a sum: its summands may change places"


def flat(call, begins=None):
    """A call in one line, as `make mutate` prints it; begins: other first arguments."""
    line = " ".join(call.split())
    if begins:
        name, rest = line.split("( ")
        line = f"{name}{begins}, {rest.split(', ', 2)[2].removesuffix(' )')})"
    return line


EQUIVALENT = {
    "rope_record": {
        f"{LOAD_COS} => {LOAD_COS.removesuffix('.to(tl.float32)')}": PRODUCT,
        f"{LOAD_SIN} => {LOAD_SIN.removesuffix('.to(tl.float32)')}": PRODUCT,
        f"{flat(STORE_Q)} {flat(STORE_K)} => {flat(STORE_K)} {flat(STORE_Q)}": "all is loaded by then",
        f"{LOAD_Q} => {LOAD_Q.replace('q_ptr, q_rows', 'q_rows, q_ptr')}": SUM,
        f"{LOAD_K} => {LOAD_K.replace('k_ptr, k_rows', 'k_rows, k_ptr')}": SUM,
        f"{flat(STORE_Q)} => {flat(STORE_Q, '(o_rows, q_out_ptr')}": SUM,
        f"{flat(STORE_K)} => {flat(STORE_K, '(p_rows, k_out_ptr')}": SUM,
        f"{BLOCK_T} => BLOCK_T = max(1, triton.cdiv(pairs, BLOCK_H * BLOCK_P))": (
            "all three are powers of two: nothing is left over, or 1 comes out"
        ),
    },
}
