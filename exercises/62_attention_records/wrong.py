"""Wrong answers of 62_attention_records with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

VALUES = ("wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow")
UNWRITTEN = ("unwritten", "unwritten-tail")
OUTSIDE = ("reads-outside", "out-of-bounds-store")
BROKEN = ("raised", "does-not-compile", "property")

# --- which_tile

FIRST = "first = pid // (at_once * tiles) * at_once"
SIZE = "size = min(at_once, heads - first)"
PLACE = "place = pid - first * tiles"
TILE = "tiles - 1 - place // size"
HEAD = "first + place % size"

# --- load_tile and the kernel

LOAD = "return x_ptr.load([b, h, start, FIRST]).reshape(BLOCK_N, WIDTH)"
OFFS_D = "offs_d = FIRST + tl.arange(0, WIDTH)[None, :]"
STEP = "x_ptr += start.to(tl.int64) * stride_xn"
X_PTRS = "x_ptrs = x_ptr + (offs_n * stride_xn + offs_d * stride_xd)"
MASK = "mask=(start + offs_n < L) & (offs_d < D)"
ADDRESS = "return tl.load(x_ptrs, mask=(start + offs_n < L) & (offs_d < D), other=0.0)"
TAKEN = "tl.store(y_ptrs, tile, mask=offs_n < L)"
S = 's = tl.dot(q, tl.trans(k), input_precision="ieee")'
S_REST = 's = tl.dot(q2, tl.trans(k2), s, input_precision="ieee")'
WHERE = 's = tl.where(cols[None, :] < limit[:, None], s, float("-inf"))'
IF_MASKED = "            if MASKED:\n                " + WHERE + "\n"
NEW_MAX = "m_new = tl.maximum(m_i, tl.max(s, axis=1) * qk_scale)"
P = "p = tl.exp2(s * qk_scale - m_new[:, None])"
ALPHA = "alpha = tl.exp2(m_i - m_new)"
SUM = "l_i = l_i * alpha + tl.sum(p, axis=1)"
CAST = "p = p.to(v.dtype)"
ACC = 'acc = tl.dot(p, v, acc * alpha[:, None], input_precision="ieee")'
ACC_REST = 'acc2 = tl.dot(p, v2, acc2 * alpha[:, None], input_precision="ieee")'
IF_REST = "            if D2 > 0:\n                " + ACC_REST + "\n"
IF_S_REST = "            if D2 > 0:\n                " + S_REST + "\n"
KEEP = "            m_i = m_new\n"
STORE = "tl.store(o_rows[:, None] + offs_d * stride_od, acc / l_safe[:, None], mask=mask)"
O_REST = "o2 = acc2 / l_safe[:, None]"
STORE_REST = "tl.store(o_rows[:, None] + offs_2 * stride_od, o2, mask=mask_2)"

MUTANTS = {
    "which_tile": [
        Mutant("first_tiles_first", "shortest-first", (TILE, "place // size")),
        Mutant("one_tile_too_far", "one-tile-too-far", (TILE, "tiles - place // size")),
        Mutant("last_group_not_smaller", "last-group-not-smaller", (SIZE, "size = at_once")),
        Mutant("largest_group", ("all-heads-at-once", "wrong-values"), (SIZE, "size = max(at_once, heads - first)")),
        Mutant("head_after_head", "one-head-after-another", (TILE, "tiles - 1 - place % tiles"), (HEAD, "first + place // tiles")),
        Mutant("all_heads_at_once", "all-heads-at-once", (FIRST, "first = 0"), (SIZE, "size = heads")),
        Mutant("heads_of_the_first_group", "heads-of-the-first-group", (HEAD, "place % size")),
        Mutant("group_counted_in_groups", "number-of-the-group", (FIRST, "first = pid // (at_once * tiles)")),
        Mutant("fractions", "fractions", (FIRST, FIRST.replace("//", "/"))),
        Mutant("groups_of_programs", "wrong-values", (FIRST, "first = pid // at_once * at_once")),
        Mutant("place_not_reduced", "place-is-the-program", (PLACE, "place = pid")),
        Mutant("place_by_this_group", "place-by-this-group", (PLACE, "place = pid % (tiles * size)")),
        Mutant("number_of_the_group", "number-of-the-group-alone", (FIRST, "first = pid // (at_once * tiles)"), (PLACE, "place = pid % (at_once * tiles)")),
        Mutant("place_by_the_group", "wrong-values", (PLACE, "place = pid % tiles")),
        Mutant("head_comes_first", "head-comes-first", (f"return {TILE}, {HEAD}", f"return {HEAD}, {TILE}")),
        Mutant("heads_backwards", "heads-backwards", (HEAD, "first + size - 1 - place % size")),
        Mutant("tile_and_head_exchanged", "quotient-for-remainder", (TILE, "tiles - 1 - place % size"), (HEAD, "first + place // size")),
        Mutant("head_by_the_program", "head-by-the-program", (HEAD, "first + pid % size")),
        Mutant("below_zero", "property", (TILE, "(-1 - place) // size + tiles")),
        Mutant("divmod_is_no_triton", "property", (FIRST, "first = divmod(pid, at_once * tiles)[0] * at_once")),
        Mutant("int_is_no_triton", "property", (FIRST, "first = int(pid / (at_once * tiles)) * at_once")),
        Mutant("heads_not_subtracted", "last-group-not-smaller", (SIZE, "size = min(at_once, heads)")),
    ],
    "take_columns": [
        Mutant("first_columns_of_addresses", "first-columns-always", (OFFS_D, "offs_d = tl.arange(0, WIDTH)[None, :]")),
        Mutant("batch_and_head_swapped", "heads-and-batches-swapped", (LOAD, LOAD.replace("b, h", "h, b"))),
        Mutant("row_and_column_swapped", "rows-for-columns", (LOAD, LOAD.replace("start, FIRST", "FIRST, start"))),
        Mutant("first_batch_described", "first-batch-only", (LOAD, LOAD.replace("b, h", "0, h"))),
        Mutant("first_head_described", "one-head-for-all", (LOAD, LOAD.replace("b, h", "0, 0"))),
        Mutant("first_columns_again", "first-columns-always", (LOAD, LOAD.replace("FIRST", "0"))),
        Mutant("first_tile_always", "first-rows-always", (LOAD, LOAD.replace("start", "0"))),
        Mutant("start_in_tiles", VALUES, (LOAD, LOAD.replace("start", "start // BLOCK_N"))),
        Mutant("four_dimensions", BROKEN, (LOAD, LOAD.replace(".reshape(BLOCK_N, WIDTH)", ""))),
        Mutant("reshaped_the_other_way", BROKEN, (LOAD, LOAD.replace("BLOCK_N, WIDTH", "WIDTH, BLOCK_N"))),
        Mutant("addresses_where_described", BROKEN, ("    if DESCRIBED:\n", "    if not DESCRIBED:\n")),
        Mutant("no_else", "property", ("    else:\n        offs_n =", "    if 1:\n        offs_n ="), only="interpreter"),
        Mutant("start_forgotten", ("first-rows-always", *VALUES), (STEP, "x_ptr += start.to(tl.int64) * 0")),
        Mutant("start_without_stride", VALUES, (STEP, "x_ptr += start.to(tl.int64)")),
        Mutant("end_not_masked", OUTSIDE, (MASK, "mask=(offs_n >= 0) & (offs_d < D)"), only="interpreter"),
        Mutant("tile_masked_by_its_row", OUTSIDE, (MASK, MASK.replace("start + offs_n", "offs_n")), only="interpreter"),
        Mutant("columns_not_masked", (*OUTSIDE, *VALUES), (MASK, "mask=(start + offs_n < L) & (offs_d >= 0)"), only="interpreter"),
        Mutant("no_mask", OUTSIDE, (ADDRESS, "return tl.load(x_ptrs)"), only="interpreter"),
        Mutant("strides_swapped", ("strides-swapped", *OUTSIDE, *VALUES), (X_PTRS, "x_ptrs = x_ptr + (offs_n * stride_xd + offs_d * stride_xn)")),
        Mutant("other_is_one", "other-is-one", (ADDRESS, ADDRESS.replace("other=0.0", "other=1.0"))),
        Mutant("other_as_in_a_maximum", "other-is-infinite", (ADDRESS, ADDRESS.replace("other=0.0", 'other=float("-inf")'))),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race"), (TAKEN, TAKEN.replace(", mask=offs_n < L", ""))),
        Mutant("last_row_not_stored", (*UNWRITTEN, *VALUES), (TAKEN, TAKEN.replace("< L", "< L - 1"))),
        Mutant("always_from_the_first_row", "first-rows-always", ("x_ptr, b, h, start, L, stride_xn, stride_xd, FIRST", "x_ptr, b, h, start * 0, L, stride_xn, stride_xd, FIRST")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="def take_columns(x, first, width):\n    return torch.nn.functional.pad(x, (0, width))[..., first : first + width].contiguous()\n"),
    ],
    "flash_gqa_record": [
        Mutant("rest_not_in_scores", "rest-not-in-scores", (IF_S_REST, "")),
        Mutant("rest_alone_in_scores", "rest-alone-in-scores", (S_REST, S_REST.replace(" s, input", " input"))),
        Mutant("first_columns_twice", VALUES, (S_REST, "s += s")),
        Mutant("first_columns_twice_by_dot", "first-part-twice", (S_REST, S_REST.replace("s = ", "s += "))),
        Mutant("scaled_twice", "scaled-twice", (S, S + " * qk_scale")),
        Mutant("rest_of_k_with_q", BROKEN, (S_REST, S_REST.replace("q2", "q"))),
        Mutant("every_tile_masked", "property", (IF_MASKED, "            " + WHERE + "\n"), only="interpreter"),
        Mutant("p_masked_not_s", (*VALUES, "zeros"), (IF_MASKED, ""), (ALPHA, ALPHA + "\n            if MASKED:\n                p = tl.where(cols[None, :] < limit[:, None], p, 0.0)")),
        Mutant("own_position_for_limit", "own-position-for-limit", (WHERE, WHERE.replace("< limit[:, None]", "<= (position + Lk - Lq)[:, None]"))),
        Mutant("natural_exponential", "natural-exponential", (P, P.replace("exp2", "exp"))),
        Mutant("rest_left_out", "rest-left-out", (IF_S_REST, ""), (IF_REST, "")),
        Mutant("sums_in_half", "sum-in-half", (STORE, STORE.replace("acc / l", "acc.to(q.dtype) / l")), (O_REST, O_REST.replace("acc2 /", "acc2.to(q.dtype) /"))),
        Mutant("no_tile_masked", ("no-mask-on-scores", "score-zero"), (IF_MASKED, "")),
        Mutant("masked_where_full", "no-mask-on-scores", ("if MASKED:\n                s", "if MASKED == 0:\n                s")),
        Mutant("score_zero", "score-zero", (WHERE, WHERE.replace('float("-inf")', "0.0"))),
        Mutant("mask_upside_down", "limit-upside-down", (WHERE, WHERE.replace("<", ">="))),
        Mutant("one_key_too_far", "causal-one-too-far", (WHERE, WHERE.replace("<", "<="))),
        Mutant("place_in_the_tile", ("no-mask-on-scores", "score-zero", *VALUES), (WHERE, WHERE.replace("cols", "(cols - start)"))),
        Mutant("maximum_unscaled", "maximum-in-other-units", (NEW_MAX, NEW_MAX.replace(" * qk_scale", ""))),
        Mutant("maximum_of_the_tile", "maximum-of-the-tile", (NEW_MAX, "m_new = tl.max(s, axis=1) * qk_scale")),
        Mutant("maximum_along_queries", BROKEN + VALUES, (NEW_MAX, NEW_MAX.replace("axis=1", "axis=0"))),
        Mutant("maximum_before_the_rest", (*VALUES, "zeros"), (IF_S_REST, "            m_new = tl.maximum(m_i, tl.max(s, axis=1) * qk_scale)\n" + IF_S_REST), ("            " + NEW_MAX + "\n            p =", "            p =")),
        Mutant("p_without_maximum", "weights-without-maximum", (P, "p = tl.exp2(s * qk_scale)")),
        Mutant("maximum_scaled_in_p", "maximum-scaled-in-p", (P, "p = tl.exp2((s - m_new[:, None]) * qk_scale)")),
        Mutant("exp_for_exp2", "log2e-twice", (P, P.replace("exp2", "exp")), (ALPHA, ALPHA.replace("exp2", "exp"))),
        Mutant("factor_upside_down", VALUES, (ALPHA, "alpha = tl.exp2(m_new - m_i)")),
        Mutant("sum_not_rescaled", "sum-not-rescaled", (SUM, "l_i = l_i + tl.sum(p, axis=1)")),
        Mutant("sum_starts_again", "sum-starts-again", (SUM, "l_i = tl.sum(p, axis=1)")),
        Mutant("acc_not_rescaled", ("acc-not-rescaled", *VALUES), (ACC, ACC.replace("acc * alpha[:, None]", "acc"))),
        Mutant("nothing_rescaled", "acc-not-rescaled", (ACC, ACC.replace("acc * alpha[:, None]", "acc")), (ACC_REST, ACC_REST.replace("acc2 * alpha[:, None]", "acc2"))),
        Mutant("rest_not_rescaled", "rest-not-rescaled", (ACC_REST, ACC_REST.replace("acc2 * alpha[:, None]", "acc2"))),
        Mutant("rest_starts_again", "rest-starts-again", (ACC_REST, ACC_REST.replace(" acc2 * alpha[:, None],", ""))),
        Mutant("rest_never_added", "rest-of-o-is-zero", (IF_REST, "")),
        Mutant("rest_of_keys", VALUES, (ACC_REST, ACC_REST.replace("v2", "k2"))),
        Mutant("rest_counted_twice", "rest-counted-twice", (ACC_REST, ACC_REST.replace("acc2 = ", "acc2 += "))),
        Mutant("keys_for_values", "keys-for-values", (ACC, ACC.replace("(p, v,", "(p, k,")), (ACC_REST, ACC_REST.replace("v2", "k2"))),
        Mutant("maximum_not_kept", ("maximum-not-kept", "last-tile-only"), (KEEP, "")),
        Mutant("m_updated_first", "nothing-rescaled", ("            " + ALPHA + "\n", "            m_i = m_new\n            " + ALPHA + "\n")),
        Mutant("p_never_cast", BROKEN, ("            " + CAST + "\n", "")),
        Mutant("tf32_in_the_rest", "tf32", (S_REST, S_REST.replace(', input_precision="ieee"', "")), only="interpreter"),
        Mutant("rest_not_stored", UNWRITTEN, (f"    if D2 > 0:\n        {O_REST}\n        {STORE_REST}\n", "")),
        Mutant("rest_over_the_first", (*UNWRITTEN, *VALUES), (STORE_REST, STORE_REST.replace("offs_2", "offs_d").replace("mask_2", "mask")), (O_REST, "o2 = acc / l_safe[:, None]")),
        Mutant("rest_into_the_first_columns", (*UNWRITTEN, *VALUES, "race"), (STORE_REST, STORE_REST.replace("offs_2", "(offs_2 - D1)"))),
        Mutant("rest_not_divided", "rest-not-divided", (O_REST, "o2 = acc2")),
        Mutant("not_divided", "not-divided", (STORE, STORE.replace(" / l_safe[:, None]", "")), (O_REST, "o2 = acc2")),
        Mutant("multiplied_by_the_sum", "multiplied-by-the-sum", (STORE, STORE.replace("acc / ", "acc * ")), (O_REST, O_REST.replace("/", "*"))),
        Mutant("divided_by_l", "nothing-seen-is-nan", (STORE, STORE.replace("l_safe", "l_i")), (O_REST, O_REST.replace("l_safe", "l_i"))),
        Mutant("rest_without_mask", ("out-of-bounds-store", "race"), (STORE_REST, STORE_REST.replace(", mask=mask_2", ""))),
        Mutant("first_without_mask", ("out-of-bounds-store", "race"), (STORE, STORE.replace(", mask=mask", ""))),
        Mutant("torch_stand_in", "no-kernel-launched", replace="def flash_gqa_record(q, k, v, causal=False, scale=None):\n    if q.shape[1] % k.shape[1] or (scale is not None and scale <= 0):\n        raise ValueError('q')\n    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=True)\n    return o, torch.zeros(o.shape[:-1])\n"),
    ],
}

VARIANTS = {
    "which_tile": [
        Variant("by_the_remainder", (PLACE, "place = pid % (at_once * tiles)")),
        Variant("group_first", (FIRST, "group = pid // (tiles * at_once)\n    first = group * at_once")),
        Variant("the_last_head", (SIZE, "size = min(first + at_once, heads) - first")),
    ],
    "take_columns": [
        Variant("tile_first", (LOAD, "tile = x_ptr.load([b, h, start, FIRST])\n        return tile.reshape(BLOCK_N, WIDTH)")),
        Variant("reshape_by_tl", (LOAD, "return tl.reshape(x_ptr.load([b, h, start, FIRST]), (BLOCK_N, WIDTH))")),
        Variant("rows_in_the_offsets", (STEP, "offs_n = (start + offs_n).to(tl.int64)"), (MASK, "mask=(offs_n < L) & (offs_d < D)")),
    ],
    "flash_gqa_record": [
        Variant("sum_by_addition", (S_REST, 's += tl.dot(q2, tl.trans(k2), input_precision="ieee")')),
        Variant("rest_first", (IF_REST, ""), ("            " + ACC + "\n", IF_REST + "            " + ACC + "\n")),
        Variant("acc_rescaled_by_itself", (ACC, 'acc = acc * alpha[:, None]\n            acc += tl.dot(p, v, input_precision="ieee")')),
        Variant("scores_scaled_first", (IF_MASKED, "            s = s * qk_scale\n" + IF_MASKED), (NEW_MAX, "m_new = tl.maximum(m_i, tl.max(s, axis=1))"), (P, "p = tl.exp2(s - m_new[:, None])")),
        Variant("sum_after_the_product", ("            " + SUM + "\n", ""), (KEEP, KEEP), ("            " + CAST + "\n", "            " + SUM + "\n            " + CAST + "\n")),
        Variant("cast_in_both", ("            " + CAST + "\n", ""), (ACC, ACC.replace("(p,", "(p.to(v.dtype),")), (ACC_REST, ACC_REST.replace("(p,", "(p.to(v.dtype),"))),
        Variant("new_names", (P, "weights = s * qk_scale\n            p = tl.exp2(weights - m_new[:, None])")),
    ],
}

WIDE = "D2 is 0, or 16 and more"
FAR = "shows where an offset passes the largest int32"
EQUIVALENT = {
    "take_columns": {f"{STEP} => x_ptr += start * stride_xn": FAR},
    "flash_gqa_record": {
        "if D2 > 0: => if D2 > 1:": WIDE,
        "if D2 > 0: => if D2 > 1: (2)": WIDE,
        "if D2 > 0: => if D2 > 1: (3)": WIDE,
    },
}
