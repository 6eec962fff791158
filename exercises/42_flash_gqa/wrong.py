"""Wrong answers of 42_flash_gqa with the diagnosis each must get, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

VALUES = ("wrong-values", "wrong-tail", "rows-after-first", "nan")
UNWRITTEN = ("unwritten", "unwritten-tail")
OUTSIDE = ("reads-outside", "out-of-bounds-store")

# --- walk_bounds

NOT_CAUSAL = "    if not causal:\n        first, last = Lq - 1, Lq - 1\n"
FEWEST = "fewest = max(0, min(Lk, first + 1 + Lk - Lq))"
MOST = "most = max(0, min(Lk, last + 1 + Lk - Lq))"
PAIR = "return fewest // BLOCK_N * BLOCK_N, most"

# --- attend and flash_two_phases

WHERE = 's = tl.where(cols[None, :] < limit[:, None], s, float("-inf"))'
MASK = "            if MASKED:\n                " + WHERE + "\n"
NEW_MAX = "m_new = tl.maximum(m_i, tl.max(s, axis=1) * qk_scale)"
P = "p = tl.exp2(s * qk_scale - m_new[:, None])"
ALPHA = "            alpha = tl.exp2(m_i - m_new)\n"
SUM = "l_i = l_i * alpha + tl.sum(p, axis=1)"
ACC = 'acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")'
KEEP = "            m_i = m_new\n"
LIMIT = "limit = offs_m + 1 if CAUSAL else offs_m * 0 + L"
BOUNDS = "full, end = bounds(first, first + BLOCK_M - 1, L, L, CAUSAL, BLOCK_N)"
CALL = "q, k_ptr, v_ptr, full, end, limit, qk_scale, D, 1, D, 1, D, BLOCK_M, BLOCK_N, D"
LSE = "(m_i + tl.log2(l_i)) * LN_2"
O_STORE = "tl.store(o_ptr + rows, acc / l_i[:, None], mask=offs_m[:, None] < L)"

# --- flash_gqa

ROWS = "position, head = offs_m // GROUP, hk * GROUP + offs_m % GROUP"
FIRST_LAST = "first, last = pid_m * BLOCK_M // GROUP, (pid_m * BLOCK_M + BLOCK_M - 1) // GROUP"
G_BOUNDS = "full, end = bounds(first, last, Lq, Lk, CAUSAL, BLOCK_N)"
G_LIMIT = "limit = position + 1 + Lk - Lq if CAUSAL else position * 0 + Lk"
Q_ROWS = "q_rows = q_ptr + b * stride_qb + head * stride_qh + at * stride_qm"
O_ROWS = "o_rows = o_ptr + b * stride_ob + head * stride_oh + at * stride_om"
MASK_Q = "mask = mask_m[:, None] & (offs_d < D)"
G_STRIDES = "STRIDE_KN, STRIDE_KD, STRIDE_VN, STRIDE_VD, D, BLOCK_M, BLOCK_N, BLOCK_D,"
SAFE = "l_safe = tl.where(l_i == 0.0, 1.0, l_i)"
G_LSE = 'lse = tl.where(l_i == 0.0, float("-inf"), (m_i + tl.log2(l_safe)) * LN_2)'
LSE_AT = "lse_ptr + (b * HK * GROUP + head) * Lq + position"
G_O_STORE = "tl.store(o_rows[:, None] + offs_d * stride_od, acc / l_safe[:, None], mask=mask)"
Q_LOAD = "q = tl.load(q_rows[:, None] + offs_d * stride_qd, mask=mask, other=0.0)"

TORCH_STAND_IN = """
def {name}(q, k, v, causal={causal}, scale=None):
    if q.shape[1] % k.shape[1] or (scale is not None and scale <= 0):
        raise ValueError("head counts")
    attend = torch.nn.functional.scaled_dot_product_attention
    o = attend(q, k, v, is_causal=causal, scale=scale, enable_gqa=True)
    return o, torch.zeros(o.shape[:-1])
"""

MUTANTS = {
    "walk_bounds": [
        Mutant("causal_always", "always-causal", (NOT_CAUSAL, "")),
        Mutant("causal_never", "causal-ignored", (NOT_CAUSAL, "    first, last = Lq - 1, Lq - 1\n")),
        Mutant("no_offset", "no-offset", (FEWEST, "fewest = max(0, min(Lk, first + 1))"), (MOST, "most = max(0, min(Lk, last + 1))"), ("first, last = Lq - 1, Lq - 1", "first, last = Lk - 1, Lk - 1")),
        Mutant("offset_upside_down", "offset-upside-down", (FEWEST, FEWEST.replace("Lk - Lq", "Lq - Lk")), (MOST, MOST.replace("Lk - Lq", "Lq - Lk")), ("first, last = Lq - 1, Lq - 1", "first, last = Lq + Lk, Lq + Lk")),
        Mutant("own_key_missing", "own-key-missing", (FEWEST, FEWEST.replace("first + 1", "first")), (MOST, MOST.replace("last + 1", "last"))),
        Mutant("own_key_missing_at_the_end", "end-without-own-key", (MOST, MOST.replace("last + 1", "last"))),
        Mutant("own_key_missing_in_full", "full-without-own-key", (FEWEST, FEWEST.replace("first + 1", "first"))),
        Mutant("full_of_the_last_query", "full-of-the-last-query", (PAIR, PAIR.replace("fewest", "most"))),
        Mutant("end_of_the_first_query", "end-of-the-first-query", (PAIR, PAIR.replace("most", "fewest"))),
        Mutant("one_key_too_many_in_full", "full-one-key-too-many", (FEWEST, FEWEST.replace("first + 1", "first + 2"))),
        Mutant("at_most_the_queries", "at-most-the-queries", (FEWEST, FEWEST.replace("min(Lk", "min(Lq")), (MOST, MOST.replace("min(Lk", "min(Lq"))),
        Mutant("min_and_max_swapped", "nothing-at-all", (FEWEST, FEWEST.replace("max(0, min(", "min(0, max(")), (MOST, MOST.replace("max(0, min(", "min(0, max("))),
        Mutant("first_still_causal", "first-still-causal", (NOT_CAUSAL, "    if not causal:\n        last = Lq - 1\n")),
        Mutant("all_queries_at_the_last_key", VALUES, (NOT_CAUSAL, "    if not causal:\n        first, last = Lk, Lk\n")),
        Mutant("one_masked_walk", "nothing-is-full", (PAIR, "return 0, most")),
        Mutant("full_not_rounded", "full-not-in-tiles", (PAIR, "return fewest, most")),
        Mutant("full_in_tiles", "full-in-tiles", (PAIR, "return fewest // BLOCK_N, most")),
        Mutant("full_rounded_up", "full-rounded-up", (PAIR, "return triton.cdiv(fewest, BLOCK_N) * BLOCK_N, most")),
        Mutant("full_one_tile_short", "full-without-own-key", (PAIR, "return max(0, fewest // BLOCK_N - 1) * BLOCK_N, most")),
        Mutant("end_rounded_up", "end-rounded-up", (PAIR, "return fewest // BLOCK_N * BLOCK_N, triton.cdiv(most, BLOCK_N) * BLOCK_N")),
        Mutant("end_is_everything", "end-is-everything", (PAIR, "return fewest // BLOCK_N * BLOCK_N, Lk")),
        Mutant("never_brought_between", "above-the-last-key", (FEWEST, "fewest = first + 1 + Lk - Lq"), (MOST, "most = last + 1 + Lk - Lq")),
        Mutant("above_the_last_key", "above-the-last-key", (FEWEST, "fewest = max(0, first + 1 + Lk - Lq)"), (MOST, "most = max(0, last + 1 + Lk - Lq)")),
        Mutant("below_zero", "below-zero", (FEWEST, "fewest = min(Lk, first + 1 + Lk - Lq)"), (MOST, "most = min(Lk, last + 1 + Lk - Lq)")),
        Mutant("the_other_order", "in-the-other-order", (PAIR, "return most, fewest // BLOCK_N * BLOCK_N")),
        Mutant("returns_one_number", "wrong-values", (PAIR, "return most")),
        Mutant("not_causal_sees_the_tile", "wrong-values", ("first, last = Lq - 1, Lq - 1", "first, last = last, last")),
        Mutant("offset_not_below_zero", "offset-not-below-zero", (FEWEST, "fewest = max(0, min(Lk, first + 1 + max(0, Lk - Lq)))"), (MOST, "most = max(0, min(Lk, last + 1 + max(0, Lk - Lq)))")),
        Mutant("offset_not_below_zero_in_full", "offset-not-below-zero", (FEWEST, "fewest = max(0, min(Lk, first + 1 + max(0, Lk - Lq)))")),
        Mutant("one_key_too_many", "end-one-key-too-many", (FEWEST, FEWEST.replace("first + 1", "first + 2")), (MOST, MOST.replace("last + 1", "last + 2"))),
        Mutant("one_key_too_many_at_the_end", "end-one-key-too-many", (MOST, MOST.replace("last + 1", "last + 2"))),
        Mutant("both_in_tiles", "both-in-tiles", (PAIR, "return fewest // BLOCK_N, most // BLOCK_N")),
        Mutant("full_below_zero", "full-below-zero", (FEWEST, "fewest = min(Lk, first + 1 + Lk - Lq)")),
        Mutant("end_at_most_the_queries", "end-at-most-the-queries", (MOST, MOST.replace("min(Lk", "min(Lq"))),
        Mutant("comprehension_is_no_triton", "property", (FEWEST, "seen = [max(0, min(Lk, i + 1 + Lk - Lq)) for i in (first, last)]\n    fewest = seen[0]"), (MOST, "most = seen[1]")),
        Mutant("int_is_no_triton", "property", (PAIR, "return int(fewest / BLOCK_N) * BLOCK_N, most")),
    ],
    "flash_two_phases": [
        Mutant("m_starts_at_minus_1e6", "m-starts-at-zero", ("tl.full([BLOCK_M], -1e38, tl.float32)", "tl.full([BLOCK_M], -1e6, tl.float32)")),
        Mutant("no_mask", ("no-mask-on-scores", "limit-is-everything"), (MASK, "")),
        Mutant("masked_where_full", ("no-mask-on-scores", "limit-is-everything"), (MASK, MASK.replace("if MASKED:", "if MASKED == 0:"))),
        Mutant("score_zero", "score-zero", (WHERE, WHERE.replace('float("-inf")', "0.0"))),
        Mutant("mask_upside_down", "limit-upside-down", (WHERE, WHERE.replace("<", ">="))),
        Mutant("limit_one_short", "limit-one-short", (LIMIT, "limit = offs_m if CAUSAL else offs_m * 0 + L")),
        Mutant("limit_one_too_far", "limit-one-too-far", (LIMIT, "limit = offs_m + 2 if CAUSAL else offs_m * 0 + L")),
        Mutant("limit_ignores_causal", "limit-ignores-causal", (LIMIT, "limit = offs_m + 1")),
        Mutant("limit_is_everything", "limit-is-everything", (LIMIT, "limit = offs_m * 0 + L")),
        Mutant("bounds_of_the_tile_number", "bounds-in-tiles", ("first = pid_m * BLOCK_M", "first = pid_m")),
        Mutant("bounds_of_one_query", "end-of-the-first-row", (BOUNDS, BOUNDS.replace("first + BLOCK_M - 1", "first"))),
        Mutant("full_of_the_last_row", "full-of-the-last-row", (BOUNDS, BOUNDS.replace("bounds(first, first", "bounds(first + BLOCK_M - 1, first"))),
        Mutant("always_causal_bounds", "bounds-always-causal", (BOUNDS, BOUNDS.replace("CAUSAL", "True"))),
        Mutant("causal_never_in_bounds", "bounds-never-causal", (BOUNDS, BOUNDS.replace("CAUSAL", "False"))),
        Mutant("one_masked_walk", "property", (CALL, CALL.replace("full, end", "0, end")), only="interpreter"),
        Mutant("second_phase_lost", "second-phase-lost", (CALL, CALL.replace("full, end", "full, full"))),
        Mutant("maximum_unscaled", "maximum-in-other-units", (NEW_MAX, NEW_MAX.replace(" * qk_scale", ""))),
        Mutant("p_unscaled", ("no-scale-at-all", *VALUES), (P, P.replace(" * qk_scale", ""))),
        Mutant("p_without_maximum", "weights-without-maximum", (P, "p = tl.exp2(s * qk_scale)")),
        Mutant("tf32_in_the_second_product", "tf32", (ACC, ACC.replace(', input_precision="ieee"', "")), only="interpreter"),
        Mutant("nothing_scaled", "no-scale-at-all", (NEW_MAX, NEW_MAX.replace(" * qk_scale", "")), (P, P.replace(" * qk_scale", ""))),
        Mutant("scaled_twice", VALUES, (P, "s = s * qk_scale\n            " + P)),
        Mutant("exp_for_exp2", "log2e-twice", (P, P.replace("exp2", "exp")), (ALPHA, ALPHA.replace("exp2", "exp"))),
        Mutant("exp_for_alpha", "factor-in-another-base", (ALPHA, ALPHA.replace("exp2", "exp"))),
        Mutant("no_maximum", "no-maximum", (NEW_MAX, "m_new = m_i * 0"), (ALPHA, "            alpha = m_i * 0 + 1\n")),
        Mutant("maximum_of_the_tile", "maximum-of-the-tile", (NEW_MAX, "m_new = tl.max(s, axis=1) * qk_scale")),
        Mutant("maximum_not_kept", "maximum-not-kept", (KEEP, "")),
        Mutant("m_updated_first", "nothing-rescaled", (ALPHA, "            m_i = m_new\n" + ALPHA)),
        Mutant("acc_not_rescaled", "acc-not-rescaled", (ACC, ACC.replace("acc * alpha[:, None]", "acc"))),
        Mutant("sum_not_rescaled", "sum-not-rescaled", (SUM, "l_i = l_i + tl.sum(p, axis=1)")),
        Mutant("sum_along_queries", "sum-along-queries", (SUM, SUM.replace("axis=1", "axis=0"))),
        Mutant("every_tile_masked", "property", (MASK, "            " + WHERE + "\n"), only="interpreter"),
        Mutant("one_query_more", "property", (BOUNDS, BOUNDS.replace("first + BLOCK_M - 1", "first + BLOCK_M")), only="interpreter"),
        Mutant("sum_starts_again", "sum-starts-again", (SUM, "l_i = tl.sum(p, axis=1)")),
        Mutant("acc_starts_again", "acc-starts-again", (ACC, ACC.replace("v, acc * alpha[:, None]", "v"))),
        Mutant("nothing_summed", "nothing-summed", (SUM, "l_i = l_i * alpha")),
        Mutant("maximum_added", "maximum-added", (P, P.replace("-", "+"))),
        Mutant("maximum_along_the_keys", "maximum-of-another-query", (P, P.replace("m_new[:, None]", "m_new[None, :]"))),
        Mutant("maximum_before_the_mask", "maximum-before-the-mask", (MASK, ""), (NEW_MAX, NEW_MAX + "\n" + MASK.rstrip())),
        Mutant("maximum_without_axis", "maximum-of-the-whole-tile", (NEW_MAX, NEW_MAX.replace(", axis=1", ""))),
        Mutant("maximum_along_queries", "maximum-along-queries", (NEW_MAX, NEW_MAX.replace("axis=1", "axis=0"))),
        Mutant("sum_without_axis", "sum-of-the-whole-tile", (SUM, SUM.replace(", axis=1", ""))),
        Mutant("multiplied_by_the_sum", "multiplied-by-the-sum", (O_STORE, O_STORE.replace("acc /", "acc *"))),
        Mutant("last_tile_only", ("last-tile-only", "first-phase-lost"), (SUM, "l_i = tl.sum(p, axis=1)"), (ACC, ACC.replace("v, acc * alpha[:, None]", "v"))),
        Mutant("not_divided", "not-divided", (O_STORE, O_STORE.replace(" / l_i[:, None]", ""))),
        Mutant("lse_of_mixed_bases", "lse-of-mixed-bases", (LSE, "m_i + tl.log(l_i)")),
        Mutant("lse_in_base_2", "lse-in-base-2", (LSE, "m_i + tl.log2(l_i)")),
        Mutant("lse_without_max", "lse-without-max", (LSE, "tl.log(l_i)")),
        Mutant("maximum_scaled_in_p", "maximum-scaled-in-p", (P, "p = tl.exp2((s - m_new[:, None]) * qk_scale)")),
        Mutant("factor_scaled", "factor-scaled", (ALPHA, "            alpha = tl.exp2((m_i - m_new) * qk_scale)\n")),
        Mutant("maximum_scaled_again", "maximum-scaled-again", (NEW_MAX, "m_new = tl.maximum(m_i, tl.max(s, axis=1)) * qk_scale")),
        Mutant("acc_counted_twice", "acc-counted-twice", (ACC, ACC.replace("acc = ", "acc += "))),
        Mutant("last_is_the_width", "last-is-the-width", (BOUNDS, BOUNDS.replace("first + BLOCK_M - 1", "BLOCK_M"))),
        Mutant("bounds_of_another_tile", "bounds-of-another-tile", (BOUNDS, "first = tl.program_id(0) * BLOCK_M\n    " + BOUNDS)),
        Mutant("first_by_the_keys_tile", "property", (BOUNDS, "first = pid_m * BLOCK_N\n    " + BOUNDS), only="interpreter"),
        Mutant("bounds_in_tiles_of_queries", "property", (BOUNDS, BOUNDS.replace("BLOCK_N)", "BLOCK_M)")), only="interpreter"),
        Mutant("limit_of_the_first_tile", "limit-of-the-first-tile", (LIMIT, LIMIT.replace("offs_m + 1", "tl.arange(0, BLOCK_M) + 1"))),
        Mutant("limit_less_start", "limit-of-the-first-tile", (WHERE, WHERE.replace("limit[:, None]", "limit[:, None] - start"))),
        Mutant("weights_rounded_before_the_sum", "sum-of-rounded-weights", (SUM, SUM.replace("tl.sum(p,", "tl.sum(p.to(q.dtype).to(tl.float32),"))),
        Mutant("weights_in_half_precision", ("sum-of-rounded-weights", *VALUES), (P, "p = tl.exp2(s * qk_scale - m_new[:, None]).to(q.dtype)")),
        Mutant("mask_crosswise", "mask-crosswise", (WHERE, WHERE.replace("cols[None, :] < limit[:, None]", "cols[:, None] < limit[None, :]"))),
        Mutant("mask_of_the_first_tile", "mask-of-the-first-tile", (WHERE, WHERE.replace("cols", "offs_n"))),
        Mutant("acc_rescaled_after", "acc-rescaled-after", (ACC, 'acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee") * alpha[:, None]')),
        Mutant("masked_scores_a_number", "property", (WHERE, WHERE.replace('float("-inf")', "-1e6")), only="interpreter"),
        Mutant("masked_scores_as_low_as_m", "property", (WHERE, WHERE.replace('float("-inf")', "-1e38")), only="interpreter"),
        Mutant("m_starts_at_minus_infinity", "property", ("-1e38", 'float("-inf")'), only="interpreter"),
        Mutant("strides_swapped", "strides-swapped", (CALL, CALL.replace("D, 1, D, 1,", "1, D, 1, D,"))),
        Mutant("v_strides_swapped", "v-strides-swapped", (CALL, CALL.replace("D, 1, D, 1,", "D, 1, 1, D,"))),
        Mutant("k_and_v_swapped", "values-for-keys", (CALL, CALL.replace("k_ptr, v_ptr", "v_ptr, k_ptr"))),
        Mutant("keys_for_values", "keys-for-values", (CALL, CALL.replace("k_ptr, v_ptr", "k_ptr, k_ptr"))),
        Mutant("p_never_cast", ("raised", "does-not-compile"), ("p.to(v.dtype)", "p")),
        Mutant("no_store_mask", ("out-of-bounds-store", "race"), (O_STORE, O_STORE.replace(", mask=offs_m[:, None] < L", ""))),
        Mutant("torch_stand_in", "no-kernel-launched", replace=TORCH_STAND_IN.format(name="flash_two_phases", causal=True)),
    ],
    "flash_gqa": [
        Mutant("one_masked_walk", "property", ("q, k_ptr, v_ptr, full, end,", "q, k_ptr, v_ptr, 0, end,"), only="interpreter"),
        Mutant("first_far_too_small", "property", (FIRST_LAST, FIRST_LAST.replace("pid_m * BLOCK_M // GROUP, ", "pid_m // GROUP, ")), only="interpreter"),
        Mutant("last_without_group", "property", (FIRST_LAST, FIRST_LAST.replace("(pid_m * BLOCK_M + BLOCK_M - 1) // GROUP", "pid_m * BLOCK_M + BLOCK_M - 1")), only="interpreter"),
        Mutant("bounds_without_group", "bounds-without-group", (FIRST_LAST, "first, last = pid_m * BLOCK_M, pid_m * BLOCK_M + BLOCK_M - 1")),
        Mutant("first_without_group", ("full-without-group", "bounds-without-group"), (FIRST_LAST, FIRST_LAST.replace("pid_m * BLOCK_M // GROUP, ", "pid_m * BLOCK_M, "))),
        Mutant("last_position_missing", "last-position-missing", (FIRST_LAST, "first, last = pid_m * BLOCK_M // GROUP, (pid_m + 1) * BLOCK_M // GROUP - 1")),
        Mutant("group_before_the_tile", ("group-does-not-divide-the-tile", "last-position-missing"), (FIRST_LAST, "first, last = pid_m * (BLOCK_M // GROUP), (pid_m + 1) * (BLOCK_M // GROUP) - 1")),
        Mutant("full_of_the_last_row", "full-of-the-last-row", (G_BOUNDS, G_BOUNDS.replace("first, last", "last, last"))),
        Mutant("walk_ends_at_the_first_row", "end-of-the-first-row", (G_BOUNDS, G_BOUNDS.replace("first, last", "first, first"))),
        Mutant("second_phase_lost", "second-phase-lost", ("q, k_ptr, v_ptr, full, end,", "q, k_ptr, v_ptr, full, full,")),
        Mutant("last_position_one_more", "property", (FIRST_LAST, "first, last = pid_m * BLOCK_M // GROUP, (pid_m + 1) * BLOCK_M // GROUP"), only="interpreter"),
        Mutant("lengths_swapped_in_bounds", "bounds-lengths-swapped", (G_BOUNDS, G_BOUNDS.replace("Lq, Lk", "Lk, Lq"))),
        Mutant("queries_for_keys_in_bounds", "bounds-of-keys-alone", (G_BOUNDS, G_BOUNDS.replace("Lq, Lk", "Lk, Lk"))),
        Mutant("keys_for_queries_in_bounds", ("bounds-of-queries-alone", "bounds-lengths-swapped"), (G_BOUNDS, G_BOUNDS.replace("Lq, Lk", "Lq, Lq"))),
        Mutant("limit_without_queries", "limit-without-queries", (G_LIMIT, G_LIMIT.replace("Lk - Lq if", "Lk if"))),
        Mutant("diagonal_in_rows", "diagonal-in-rows", (G_LIMIT, G_LIMIT.replace("position + 1", "offs_m + 1"))),
        Mutant("diagonal_from_the_top_left", "diagonal-from-the-top-left", (G_LIMIT, "limit = position + 1 if CAUSAL else position * 0 + Lk")),
        Mutant("offset_upside_down", "diagonal-from-the-top-left", (G_LIMIT, "limit = position + 1 + Lq - Lk if CAUSAL else position * 0 + Lk")),
        Mutant("offset_not_below_zero", "limit-not-below-zero", (G_LIMIT, "limit = position + 1 + tl.maximum(Lk - Lq, 0) if CAUSAL else position * 0 + Lk")),
        Mutant("limit_of_the_last_row", "limit-of-the-last-row", (G_LIMIT, "limit = last + 1 + Lk - Lq + position * 0 if CAUSAL else position * 0 + Lk")),
        Mutant("scaled_before_attend", "scaled-before-attend", (Q_LOAD, Q_LOAD + "\n    q = (q * qk_scale).to(q.dtype)")),
        Mutant("nothing_seen_has_lse_0", "nothing-seen-has-lse-0", (G_LSE, "lse = tl.where(l_i == 0.0, 0.0, (m_i + tl.log2(l_safe)) * LN_2)")),
        Mutant("limit_one_short", "limit-one-short", (G_LIMIT, G_LIMIT.replace("position + 1 + Lk", "position + Lk"))),
        Mutant("limit_one_too_far", "limit-one-too-far", (G_LIMIT, G_LIMIT.replace("position + 1 + Lk", "position + 2 + Lk"))),
        Mutant("limit_ignores_causal", "limit-ignores-causal", (G_LIMIT, "limit = position + 1 + Lk - Lq")),
        Mutant("limit_is_everything", ("limit-is-everything", "causal-ignored"), (G_LIMIT, "limit = position * 0 + Lk")),
        Mutant("heads_modulo", ("heads-modulo", *UNWRITTEN, "race"), (ROWS, ROWS.replace("hk * GROUP + offs_m % GROUP", "hk + offs_m % GROUP * HK"))),
        Mutant("group_forgotten_in_head", ("race", *UNWRITTEN, *VALUES), (ROWS, ROWS.replace("hk * GROUP +", "hk +"))),
        Mutant("key_head_forgotten_in_head", ("race", *UNWRITTEN, *VALUES), (ROWS, ROWS.replace("hk * GROUP + offs_m", "hk * 0 + offs_m"))),
        Mutant("position_by_remainder", ("race", *OUTSIDE, *UNWRITTEN, *VALUES), (ROWS, "position, head = offs_m % GROUP, hk * GROUP + offs_m // GROUP")),
        Mutant("rows_head_by_head", VALUES, (ROWS, "position, head = offs_m % Lq, hk * GROUP + offs_m // Lq")),
        Mutant("rows_are_positions", ("race", *OUTSIDE, *UNWRITTEN, *VALUES), (ROWS, "position, head = offs_m, hk * GROUP + offs_m % GROUP")),
        Mutant("one_query_head", ("race", *UNWRITTEN, *VALUES), (ROWS, ROWS.replace("hk * GROUP + offs_m % GROUP", "hk * GROUP + offs_m * 0"))),
        Mutant("queries_of_the_first_batch", "queries-of-the-first-batch", (Q_ROWS, Q_ROWS.replace("b * stride_qb + ", ""))),
        Mutant("queries_of_key_heads", "queries-of-key-heads", (Q_ROWS, Q_ROWS.replace("head * stride_qh", "hk * stride_qh"))),
        Mutant("query_rows_one_apart", "query-rows-one-apart", (Q_ROWS, Q_ROWS.replace("at * stride_qm", "at * stride_qd"))),
        Mutant("no_row_stride_of_q", "query-rows-one-apart", (Q_ROWS, Q_ROWS.replace("at * stride_qm", "at"))),
        Mutant("no_columns_in_q", "first-column-of-q", (Q_LOAD, Q_LOAD.replace(" + offs_d * stride_qd", ""))),
        Mutant("query_rows_dense", ("strided-only", "property", "reads-outside"), (Q_ROWS, Q_ROWS.replace("at * stride_qm", "at * D"))),
        Mutant("query_columns_side_by_side", ("strided-only", "reads-outside", *VALUES), (Q_LOAD, Q_LOAD.replace("offs_d * stride_qd", "offs_d"))),
        Mutant("strides_of_k_for_v", ("strided-only", "reads-outside", "property", *VALUES), (G_STRIDES, G_STRIDES.replace("STRIDE_VN, STRIDE_VD,", "stride_qm, stride_qd,"))),
        Mutant("columns_of_q_as_in_o", ("property", "strided-only", *OUTSIDE), (Q_LOAD, Q_LOAD.replace("offs_d * stride_qd", "offs_d * stride_od"))),
        Mutant("columns_of_o_as_in_q", ("property", "strided-only", *OUTSIDE), (G_O_STORE, G_O_STORE.replace("offs_d * stride_od", "offs_d * stride_qd"))),
        Mutant("strides_of_v_for_k", ("strided-only", *OUTSIDE, *VALUES), (G_STRIDES, G_STRIDES.replace("STRIDE_KN, STRIDE_KD,", "STRIDE_VN, STRIDE_VD,"))),
        Mutant("batches_of_q_as_in_o", ("strided-only", *OUTSIDE), (Q_ROWS, Q_ROWS.replace("b * stride_qb", "b * stride_ob"))),
        Mutant("k_strides_swapped", ("k-strides-swapped", *OUTSIDE), (G_STRIDES, G_STRIDES.replace("STRIDE_KN, STRIDE_KD", "STRIDE_KD, STRIDE_KN"))),
        Mutant("o_through_strides_of_q", ("out-of-bounds-store", "strided-only", *UNWRITTEN, "property"), (O_ROWS, "o_rows = o_ptr + b * stride_qb + head * stride_qh + at * stride_qm")),
        Mutant("no_mask_on_columns", (*OUTSIDE, "race"), (MASK_Q, "mask = mask_m[:, None] & (offs_d >= 0)")),
        Mutant("no_mask_on_rows", (*OUTSIDE, "race"), (MASK_Q, "mask = (offs_m[:, None] >= 0) & (offs_d < D)")),
        Mutant("no_other_for_q", "no-other", (Q_LOAD, Q_LOAD.replace(", other=0.0", "")), only="interpreter"),
        Mutant("v_strides_swapped", "v-strides-swapped", (G_STRIDES, G_STRIDES.replace("STRIDE_VN, STRIDE_VD", "STRIDE_VD, STRIDE_VN"))),
        Mutant("k_column_stride_twice", "k-rows-one-apart", (G_STRIDES, G_STRIDES.replace("STRIDE_KN,", "STRIDE_KD,"))),
        Mutant("v_column_stride_twice", "v-rows-one-apart", (G_STRIDES, G_STRIDES.replace("STRIDE_VN,", "STRIDE_VD,"))),
        Mutant("k_and_v_swapped", "values-for-keys", ("q, k_ptr, v_ptr, full", "q, v_ptr, k_ptr, full")),
        Mutant("nothing_seen_is_nan", "nothing-seen-is-nan", (G_O_STORE, G_O_STORE.replace("l_safe", "l_i"))),
        Mutant("nothing_seen_has_an_lse", "nothing-seen-has-an-lse", (G_LSE, "lse = (m_i + tl.log2(l_safe)) * LN_2")),
        Mutant("lse_the_wrong_way_round", "lse-of-nothing", (G_LSE, G_LSE.replace("==", "!="))),
        Mutant("lse_in_base_2", "lse-in-base-2", (G_LSE, G_LSE.replace(") * LN_2", ") * 1.0"))),
        Mutant("lse_of_mixed_bases", "lse-of-mixed-bases", (G_LSE, G_LSE.replace("(m_i + tl.log2(l_safe)) * LN_2", "m_i + tl.log(l_safe)"))),
        Mutant("lse_in_the_order_of_rows", ("lse-in-the-order-of-rows", *UNWRITTEN), (LSE_AT, "lse_ptr + (b * HK + hk) * GROUP * Lq + offs_m")),
        Mutant("lse_by_tokens_then_heads", ("lse-heads-behind-tokens", "lse-in-the-order-of-rows"), (LSE_AT, "lse_ptr + b * HK * GROUP * Lq + position * HK * GROUP + head")),
        Mutant("lse_forgets_the_batch", ("race", *UNWRITTEN, *VALUES), (LSE_AT, "lse_ptr + head * Lq + position")),
        Mutant("lse_by_key_head", ("race", *UNWRITTEN, *VALUES), (LSE_AT, "lse_ptr + (b * HK + hk) * Lq + position")),
        Mutant("not_divided", "not-divided", (G_O_STORE, G_O_STORE.replace(" / l_safe[:, None]", ""))),
        Mutant("one_key_head_for_all", "first-head-only", ("k_ptr += b * stride_kb + hk * stride_kh", "k_ptr += b * 0"), ("v_ptr += b * stride_vb + hk * stride_vh", "v_ptr += b * 0")),
        Mutant("keys_of_the_first_batch", "heads-of-the-first-batch", ("k_ptr += b * stride_kb + hk", "k_ptr += hk"), ("v_ptr += b * stride_vb + hk", "v_ptr += hk")),
        Mutant("grid_without_group", UNWRITTEN, ('grid = (triton.cdiv(Lq * (H // HK), tile["BLOCK_M"]), B * HK)', 'grid = (triton.cdiv(Lq, tile["BLOCK_M"]), B * HK)')),
        Mutant("scaled_by_torch", "torch-compute", ("    HK, Lk = k.shape[1:3]\n", "    q = q * 1.0\n    HK, Lk = k.shape[1:3]\n")),
        Mutant("torch_stand_in", "no-kernel-launched", replace=TORCH_STAND_IN.format(name="flash_gqa", causal=False)),
    ],
}

VARIANTS = {
    "walk_bounds": [
        Variant("by_comparisons", (FEWEST, "fewest = first + 1 + Lk - Lq\n    if fewest < 0:\n        fewest = 0\n    if fewest > Lk:\n        fewest = Lk")),
        Variant("last_query_at_most", (MOST, "most = max(0, min(last, Lq - 1) + 1 + Lk - Lq)")),
        Variant("by_the_remainder", (PAIR, "return fewest - fewest % BLOCK_N, most")),
        Variant("all_keys_at_once", (NOT_CAUSAL, "    if not causal:\n        return Lk // BLOCK_N * BLOCK_N, Lk\n")),
        Variant("the_other_way_round", (FEWEST, "fewest = min(Lk, max(0, first + 1 + Lk - Lq))"), (MOST, "most = min(Lk, max(0, last + 1 + Lk - Lq))")),
    ],
    "flash_two_phases": [
        Variant("sum_after_the_product", ("            " + SUM + "\n", ""), (KEEP, "            " + SUM + "\n" + KEEP)),
        Variant("scores_scaled_first", (MASK, "            s = s * qk_scale\n" + MASK), (NEW_MAX, "m_new = tl.maximum(m_i, tl.max(s, axis=1))"), (P, "p = tl.exp2(s - m_new[:, None])")),
        Variant("limit_by_minimum", (LIMIT, "limit = tl.minimum(offs_m + 1, L) if CAUSAL else tl.zeros([BLOCK_M], tl.int32) + L")),
        Variant("last_row_by_the_next_tile", (BOUNDS, BOUNDS.replace("first + BLOCK_M - 1", "(pid_m + 1) * BLOCK_M - 1"))),
        Variant("acc_rescaled_by_itself", (ACC, 'acc = acc * alpha[:, None]\n            acc += tl.dot(p.to(v.dtype), v, input_precision="ieee")')),
        Variant("m_starts_elsewhere", ("-1e38", "-1e30")),
        Variant("mask_the_other_way_round", (WHERE, 's = tl.where(cols[None, :] >= limit[:, None], float("-inf"), s)')),
        Variant("o_first", ("    tl.store(lse_ptr + head * L + offs_m, (m_i + tl.log2(l_i)) * LN_2, mask=offs_m < L)\n", ""), (O_STORE, O_STORE + "\n    tl.store(lse_ptr + head * L + offs_m, m_i * LN_2 + tl.log(l_i), mask=offs_m < L)")),
    ],
    "flash_gqa": [
        Variant("head_by_subtraction", (ROWS, "position = offs_m // GROUP\n    head = hk * GROUP + (offs_m - position * GROUP)")),
        Variant("last_position_by_the_next_row", (FIRST_LAST, "first, last = pid_m * BLOCK_M // GROUP, ((pid_m + 1) * BLOCK_M - 1) // GROUP")),
        Variant("last_position_not_past_the_end", (FIRST_LAST, "first, last = pid_m * BLOCK_M // GROUP, tl.minimum(Lq - 1, (pid_m * BLOCK_M + BLOCK_M - 1) // GROUP)")),
        Variant("limit_is_a_number", (G_LIMIT, "limit = position + 1 + Lk - Lq if CAUSAL else Lk")),
        Variant("lse_by_one_where", (SAFE, "l_safe = tl.maximum(l_i, 1e-30)")),
        Variant("limit_by_minimum", (G_LIMIT, "limit = tl.minimum(position + 1 + Lk - Lq, Lk) if CAUSAL else position * 0 + Lk")),
        Variant("head_counted_over_batches", (LSE_AT, "lse_ptr + (tl.program_id(1).to(tl.int64) * GROUP + offs_m % GROUP) * Lq + position")),
        Variant("contiguous_results", ("o, lse = torch.empty_like(q),", "o, lse = q.new_empty(q.shape),")),
        Variant("log_of_nothing", (G_LSE, "lse = (m_i + tl.log2(l_i)) * LN_2")),
        Variant("bounds_from_the_positions", (FIRST_LAST, "first, last = tl.min(position), tl.max(position)")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
A_NUMBER = "a number stands for as many rows as the tile has"
EQUIVALENT = {
    "walk_bounds": {
        'fewest = max(0, min(Lk, first + 1 + Lk - Lq)) => fewest = max(1, min(Lk, first + 1 + Lk - Lq))': "0 keys and 1 key are both no full tile: a tile has 16 keys or more",
    },
    "flash_gqa": {
        'at = position.to(tl.int64) => at = position': "it shows beyond 2^31 elements only, which no case has",
        'limit = position + 1 + Lk - Lq if CAUSAL else position * 0 + Lk => limit = position + 1 + Lk - Lq if CAUSAL else Lk': A_NUMBER,
        'limit = position + 1 + Lk - Lq if CAUSAL else position * 0 + Lk => limit = position + 1 + Lk - Lq if CAUSAL else 0 + Lk': A_NUMBER,
        'l_safe = tl.where(l_i == 0.0, 1.0, l_i) => l_safe = tl.where(l_i == 0.0, 2.0, l_i)': "acc is 0 there, and so is 0 / 2; lse does not take it",
        'q = tl.load(q_rows[:, None] + offs_d * stride_qd, mask=mask, other=0.0) => q = tl.load(q_rows[:, None] + offs_d * stride_qd, mask=mask, other=1.0)': "a row past the end is not stored, and a column past D meets the zeros of k",
    },
}
