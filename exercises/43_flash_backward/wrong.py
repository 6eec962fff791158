"""Wrong answers of 43_flash_backward with the diagnosis each must get, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

EXACT = ', input_precision="ieee"'
FLOAT32 = "mask=mask, other=0.0).to(tl.float32)"
O_LOAD = f"o = tl.load(o_ptr + offsets, {FLOAT32}\n    do"
DO_LOAD = f"do = tl.load(do_ptr + offsets, {FLOAT32}"
MASK = "mask = (offs_m[:, None] < M) & (offs_d[None, :] < D)"
DELTA = "delta = tl.sum(o * do, axis=1)\n    tl"
DELTA_STORE = "tl.store(delta_ptr + offs_m, delta, mask=offs_m < M)"

S = f's = tl.dot(q, tl.trans(k){EXACT}) * scale\n        seen'
SEEN = "seen = cols < (limit - start)[:, None]"
P = "p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)\n        dp"
DP = f"        dp = tl.dot(do, tl.trans(v){EXACT})\n        ds"
DS = "        ds = p * (dp - delta[:, None])\n"
DQ = f"dq = tl.dot(ds.to(k.dtype), k, dq{EXACT})"
KEYS = "for start in range(0, end, BLOCK_N):"
K_LOAD = "k = load_rows(k_ptr, kv_head, start, Lk, D, BLOCK_N, BLOCK_D)\n        v"
V_LOAD = "        v = load_rows(v_ptr, kv_head, start, Lk, D, BLOCK_N, BLOCK_D)\n        s"
DQ_STORE = "    store_rows(dq_ptr, head, first, Lq, dq * scale, D, BLOCK_M, BLOCK_D)"
DQ_SCALE = 'D**-0.5 if scale is None else scale'

ST = f'st = tl.dot(k, tl.trans(q){EXACT}) * scale'
SEEN_T = "seen = cols >= (since - start)[:, None]"
PT = "pt = tl.where(seen, tl.exp(st - lse[None, :]), 0.0)"
DV = f"dv = tl.dot(pt.to(do.dtype), do, dv{EXACT})"
DPT = f"dpt = tl.dot(v, tl.trans(do){EXACT})"
DST = "dst = pt * (dpt - delta[None, :])"
DK = f"dk = tl.dot(dst.to(q.dtype), q, dk{EXACT})"
LOADS = "head * Lq + offs_m, mask=offs_m < Lq, other=0.0)"
LSE = f"lse = tl.load(lse_ptr + {LOADS}\n            delta"
DELTAS = f"            delta = tl.load(delta_ptr + {LOADS}\n            st"
STORE_DK = "    store_rows(dk_ptr, kv_head, first, Lk, dk * scale, D, BLOCK_N, BLOCK_D)"
STORE_DV = "    store_rows(dv_ptr, kv_head, first, Lk, dv, D, BLOCK_N, BLOCK_D)"
Q_LOAD = "q = load_rows(q_ptr, head, start, Lq, D, BLOCK_M, BLOCK_D)\n            do"
DO_ROWS = "            do = load_rows(do_ptr, head, start, Lq, D, BLOCK_M, BLOCK_D)\n            lse"
WALK = "for start in range(begin, Lq, BLOCK_M):"
NAN = "nan-where-nothing-is-seen"
LOG2E = "1.4426950408889634"

SAVED = "ctx.save_for_backward(q, k, v, o, lse)"
FORWARD = "o, lse = flash_gqa(q, k, v, causal, scale)"
BACKWARD = "dq, dk, dv = flash_bwd(do, q, k, v, o, lse, ctx.causal, ctx.scale)"
GIVEN = "return dq, dk, dv, None, None"
KEPT = "ctx.causal, ctx.scale = causal, scale"

MUTANTS = {
    "attention_delta": [
        Mutant("sum_of_o", "sum-of-o", (DELTA, DELTA.replace("o * do", "o"))),
        Mutant("sum_of_do", "sum-of-do", (DELTA, DELTA.replace("o * do", "do"))),
        Mutant("o_twice", "squared", (DELTA, DELTA.replace("o * do", "o * o"))),
        Mutant("do_twice", "do-squared", (DELTA, DELTA.replace("o * do", "do * do"))),
        Mutant("both_added", "sum-of-both", (DELTA, DELTA.replace("o * do", "o + do"))),
        Mutant("summed_before_the_product", "product-of-sums", (DELTA, DELTA.replace("tl.sum(o * do, axis=1)", "tl.sum(o, axis=1) * tl.sum(do, axis=1)"))),
        Mutant("over_the_whole_tile", "summed-over-the-tile", (DELTA, DELTA.replace(", axis=1", ""))),
        Mutant("mean_instead_of_sum", "mean", (DELTA, DELTA.replace("axis=1)", "axis=1) / D"))),
        Mutant("minus", "minus-delta", (DELTA, DELTA.replace("tl.sum", "-tl.sum"))),
        Mutant("over_the_rows", "summed-over-rows", (DELTA, DELTA.replace("axis=1", "axis=0"))),
        Mutant("rows_a_tile_apart", ("rows-a-tile-apart", "reads-outside"), ("offs_m[:, None] * D +", "offs_m[:, None] * BLOCK_D +")),
        Mutant("rows_all_the_same", ("wrong-values", "rows-after-first"), ("offs_m[:, None] * D +", "0 * offs_m[:, None] * D +")),
        Mutant("rows_across", "rows-across", ("offs_m[:, None] * D +", "offs_m[None, :] * D +")),
        Mutant("rows_one_apart", "rows-one-apart", ("offs_m[:, None] * D +", "offs_m[:, None] +")),
        Mutant("rows_and_columns_exchanged", "summed-over-rows", ("offs_m[:, None] * D + offs_d[None, :]", "offs_m[:, None] + offs_d[None, :] * M")),
        Mutant("no_column_mask", "reads-outside", (MASK, "mask = (offs_m[:, None] < M) & (offs_d[None, :] >= 0)")),
        Mutant("no_row_mask", "reads-outside", (MASK, "mask = (offs_m[:, None] >= 0) & (offs_d[None, :] < D)")),
        Mutant("no_load_mask_at_all", "reads-outside", (O_LOAD, O_LOAD.replace("mask=mask, other=0.0", "")), (DO_LOAD + "\n", DO_LOAD.replace("mask=mask, other=0.0", "") + "\n")),
        Mutant("no_store_mask", "out-of-bounds-store", (DELTA_STORE, DELTA_STORE.replace(", mask=offs_m < M", ""))),
        Mutant("mask_one_short", ("unwritten-tail", "unwritten"), (DELTA_STORE, DELTA_STORE.replace("< M", "< M - 1"))),
        Mutant("o_of_the_first_tile", ("wrong-values", "rows-after-first", "wrong-tail"), (O_LOAD, O_LOAD.replace("offsets", "tl.arange(0, BLOCK_M)[:, None] * D + offs_d[None, :]"))),
        Mutant("product_in_half_precision", ("in-half-precision", "wrong-values"), (O_LOAD, O_LOAD.replace(".to(tl.float32)", "")), (DO_LOAD + "\n", DO_LOAD.replace(".to(tl.float32)", "") + "\n")),
        Mutant("no_other", "no-other", (O_LOAD, O_LOAD.replace(", other=0.0", "")), (DO_LOAD + "\n", DO_LOAD.replace(", other=0.0", "") + "\n")),
        Mutant("sum_rounded", "rounded-to-half", (DELTA, DELTA.replace("axis=1)", "axis=1).to(tl.float16)"))),
        Mutant("rows_masked_by_d", "rows-below-d", (MASK, MASK.replace("< M", "< D"))),
        Mutant("result_in_half_precision", "wrong-dtype", ("dtype=torch.float32, device=o.device", "dtype=o.dtype, device=o.device")),
        Mutant("strides_ignored", ("strided-only", "reads-outside"), ("o.contiguous(), do.contiguous()", "o, do")),
        Mutant("never_stored", "unwritten", ("    " + DELTA_STORE + "\n", "")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="""
def attention_delta(o, do):
    if o.shape != do.shape:
        raise ValueError("shapes")
    return (o * do).sum(dim=-1).float()
"""),
    ],
    "flash_bwd_dq": [
        # what the fifth reader of the old page tried
        Mutant("delta_missing", "delta-missing", (DS, "        ds = p * dp\n")),
        Mutant("without_scale", "dq-without-scale", (DQ_STORE, DQ_STORE.replace(" * scale", ""))),
        Mutant("exp2_for_exp", "base-two", (P, P.replace("tl.exp(", "tl.exp2("))),
        Mutant("lse_in_other_units", "lse-not-in-base-two", (P, P.replace("tl.exp(s - lse", f"tl.exp2(s * {LOG2E} - lse"))),
        Mutant("scores_in_other_units", "scores-times-log2e", (P, P.replace("s - lse", f"s * {LOG2E} - lse"))),
        Mutant("lse_by_column", "lse-by-column", (P, P.replace("lse[:, None]", "lse[None, :]"))),
        Mutant("delta_by_column", "delta-by-column", (DS, DS.replace("delta[:, None]", "delta[None, :]"))),
        Mutant("not_masked", "not-masked", (P, P.replace("tl.where(seen, tl.exp(s - lse[:, None]), 0.0)", "tl.exp(s - lse[:, None])"))),
        Mutant("only_the_end_masked", "not-masked", (SEEN, "seen = cols < Lk - start")),
        Mutant("own_key_missing", "own-key-missing", (SEEN, SEEN.replace("(limit - start)", "(limit - start - 1)"))),
        Mutant("one_key_too_many", "one-key-too-many", (SEEN, SEEN.replace("<", "<="))),
        Mutant("sum_overwritten", "dq-of-the-last-tile", (DQ, DQ.replace("k, dq,", "k,"))),
        Mutant("scale_not_handed_on", "scale-ignored", ("tensors, numbers, flags = prepared(do, q, k, v, lse, delta, causal, scale)", "tensors, numbers, flags = prepared(do, q, k, v, lse, delta, causal, None)")),
        Mutant("masked_before_the_exponential", NAN, (P, P.replace("tl.where(seen, tl.exp(s - lse[:, None]), 0.0)", 'tl.exp(tl.where(seen, s, float("-inf")) - lse[:, None])'))),
        Mutant("log2e_left_in", "dq-with-log2e", (DQ_STORE, DQ_STORE.replace("dq * scale", f"dq * (scale * {LOG2E})"))),
        Mutant("products_rounded", "property", (DP, DP.replace(EXACT, ""))),
        # what the page warns of, and others
        Mutant("masked_only_if_causal", "past-the-end-not-masked", (P, P.replace("p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)\n", "p = tl.exp(s - lse[:, None])\n        if IS_CAUSAL:\n            p = tl.where(seen, p, 0.0)\n"))),
        Mutant("masked_scores_are_zero", "masked-scores-zero", (P, P.replace("tl.where(seen, tl.exp(s - lse[:, None]), 0.0)", "tl.exp(tl.where(seen, s, 0.0) - lse[:, None])"))),
        Mutant("mask_of_the_first_tile", "mask-not-moved", (SEEN, SEEN.replace("(limit - start)", "limit"))),
        Mutant("mask_upside_down", "dq-zero", (SEEN, SEEN.replace("<", ">="))),
        Mutant("limit_of_each_column", "not-masked", (SEEN, SEEN.replace("[:, None]", "[None, :]"))),
        Mutant("delta_added", "delta-added", (DS, DS.replace("dp - delta", "dp + delta"))),
        Mutant("brackets_forgotten", "delta-outside", (DS, "        ds = p * dp - delta[:, None]\n")),
        Mutant("p_forgotten", "ds-without-p", (DS, "        ds = dp - delta[:, None]\n")),
        Mutant("lse_for_delta", "lse-for-delta", (DS, DS.replace("delta", "lse"))),
        Mutant("sign", "minus-ds", (DS, DS.replace("dp - delta[:, None]", "delta[:, None] - dp"))),
        Mutant("scaled_twice", "dq-scaled-twice", (DQ_STORE, DQ_STORE.replace("dq * scale", "dq * scale * scale"))),
        Mutant("scores_without_scale", "unscaled-scores", (S, S.replace(" * scale", ""))),
        Mutant("no_scale_at_all", "no-scale-at-all", (S, S.replace(" * scale", "")), (DQ_STORE, DQ_STORE.replace(" * scale", ""))),
        Mutant("lse_forgotten", "lse-ignored", (P, P.replace("s - lse[:, None]", "s"))),
        Mutant("lse_added", "lse-added", (P, P.replace("s - lse", "s + lse"))),
        Mutant("p_times_k", "dq-from-p", (DQ, DQ.replace("ds.to", "p.to"))),
        Mutant("dp_times_k", "dq-from-dp", (DQ, DQ.replace("ds.to", "dp.to"))),
        Mutant("ds_times_v", "dq-times-v", (DQ, DQ.replace(", k, dq", ", v, dq"))),
        Mutant("dp_from_k", "dp-from-k", (DP, DP.replace("trans(v)", "trans(k)"))),
        Mutant("dp_from_q", "dp-from-q", (DP, DP.replace("tl.dot(do", "tl.dot(q"))),
        Mutant("scores_from_v", "scores-of-v", (S, S.replace("trans(k)", "trans(v)"))),
        Mutant("scores_from_do", "scores-of-do", (S, S.replace("tl.dot(q", "tl.dot(do"))),
        Mutant("first_tile_again", "first-tile-again", (K_LOAD, K_LOAD.replace("start", "0")), (V_LOAD, V_LOAD.replace("start", "0"))),
        Mutant("k_of_the_first_tile", "first-tile-of-k", (K_LOAD, K_LOAD.replace("start", "0"))),
        Mutant("v_of_the_first_tile", "first-tile-of-v", (V_LOAD, V_LOAD.replace("start", "0"))),
        Mutant("masked_by_a_product", NAN, (P, P.replace("tl.where(seen, tl.exp(s - lse[:, None]), 0.0)", "tl.exp(s - lse[:, None]) * seen"))),
        Mutant("added_twice", "dq-added-twice", (DQ, DQ.replace("dq = ", "dq += "))),
        Mutant("scores_added_to_dq", "dq-in-the-scores", (S, S.replace("tl.trans(k),", "tl.trans(k), dq,"))),
        Mutant("steps_of_block_m", "steps-of-the-other-side", ("range(0, end, BLOCK_N)", "range(0, end, BLOCK_M)")),
        Mutant("stored_in_the_walk", ("unwritten", "unwritten-tail"), (DQ_STORE, "    " + DQ_STORE)),
        Mutant("lse_after_the_exponential", "lse-outside", (P, P.replace("tl.exp(s - lse[:, None])", "tl.exp(s) - lse[:, None]"))),
        Mutant("always_causal", "always-causal", (SEEN, "seen = start + cols <= offs_m[:, None]")),
        Mutant("diagonal_from_the_corner", "diagonal-from-the-corner", (SEEN, "seen = (cols < Lk - start) & (start + cols <= offs_m[:, None] + (0 if IS_CAUSAL else Lk))")),
        Mutant("maximum_subtracted", "maximum-for-lse", (P, P.replace("lse[:, None]", "tl.max(s, axis=1)[:, None]"))),
        Mutant("a_softmax_of_its_own", "softmax-of-a-tile", (P, P.replace("tl.exp(s - lse[:, None])", "tl.exp(s - tl.max(s, axis=1)[:, None]) / tl.sum(tl.exp(s - tl.max(s, axis=1)[:, None]), axis=1)[:, None]"))),
        Mutant("delta_scaled", "delta-scaled", (DS, DS.replace("delta[:, None]", "scale * delta[:, None]"))),
        Mutant("dp_scaled", "dp-scaled", (DS, DS.replace("(dp", "(dp * scale"))),
        Mutant("ds_transposed", "ds-transposed", (DQ, DQ.replace("ds.to", "tl.trans(ds).to"))),
        Mutant("last_k_transposed", "last-k-transposed", (DQ, DQ.replace(", k, dq", ", tl.trans(k), dq"))),
        Mutant("keys_placed_by_lq", ("keys-placed-by-lq", "reads-outside"), (K_LOAD, K_LOAD.replace("Lk", "Lq")), (V_LOAD, V_LOAD.replace("Lk", "Lq"))),
        Mutant("first_tile_only", "first-tile-only", (KEYS, KEYS.replace("end", "0 + BLOCK_N"))),
        Mutant("first_tile_left_out", ("dq-zero", "first-tile-left-out"), (KEYS, KEYS.replace("(0,", "(0 + BLOCK_N,"))),
        Mutant("full_tiles_only", "last-tile-left-out", (KEYS, KEYS.replace(" end,", " end // BLOCK_N * BLOCK_N,"))),
        Mutant("start_counts_tiles", "start-counts-tiles", (KEYS, KEYS.replace(" end, BLOCK_N)", " tl.cdiv(end, BLOCK_N))"))),
        Mutant("keys_of_the_queries_head", ("reads-outside", "wrong-values"), (K_LOAD, K_LOAD.replace("kv_head", "head")), (V_LOAD, V_LOAD.replace("kv_head", "head"))),
        Mutant("k_not_transposed", "k-not-transposed", (S, S.replace("tl.trans(k)", "k"))),
        Mutant("v_not_transposed", "v-not-transposed", (DP, DP.replace("tl.trans(v)", "v"))),
        Mutant("ds_not_cast", ("raised", "does-not-compile", "float32-product"), (DQ, DQ.replace("ds.to(k.dtype)", "ds"))),
        Mutant("dp_turned_over", "dp-transposed", (DP, DP.replace("tl.dot(do, tl.trans(v)", "tl.dot(v, tl.trans(do)"))),
        Mutant("walks_past_the_diagonal", "property", (KEYS, KEYS.replace(" end,", " Lk,"))),
        Mutant("walk_begins_at_first", "walk-begins-at-first", (KEYS, KEYS.replace("(0,", "(first,"))),
        Mutant("steps_of_one", "start-in-steps-of-one", (KEYS, "for start in range(0, end):")),
        Mutant("tiles_of_first", "tiles-of-first", (K_LOAD, K_LOAD.replace("start", "first")), (V_LOAD, V_LOAD.replace("start", "first"))),
        Mutant("k_of_first", "k-of-first", (K_LOAD, K_LOAD.replace("start", "first"))),
        Mutant("v_of_first", "v-of-first", (V_LOAD, V_LOAD.replace("start", "first"))),
        Mutant("limit_changed_in_the_walk", "last-tile-left-out", (SEEN, "limit = limit - start\n        seen = cols < limit[:, None]")),
        Mutant("mask_moved_by_first", "mask-moved-by-first", (SEEN, SEEN.replace("start", "first"))),
        Mutant("q_scaled_in_the_walk", "scores-scaled-in-each-round", (S, "q = q * scale\n        " + S.replace(" * scale", ""))),
        Mutant("sum_scaled_in_the_walk", "dq-scaled-in-each-round", (DQ, DQ + " * scale"), (DQ_STORE, DQ_STORE.replace(" * scale", ""))),
        Mutant("exponentials_divided", "exponentials-divided", (P, P.replace("tl.exp(s - lse[:, None])", "tl.exp(s) / tl.exp(lse)[:, None]"))),
        Mutant("exponent_zero", "masked-exponent-zero", (P, P.replace("tl.where(seen, tl.exp(s - lse[:, None]), 0.0)", "tl.exp(tl.where(seen, s - lse[:, None], 0.0))"))),
        Mutant("scores_crosswise", "scores-crosswise", (S, S.replace("tl.dot(q, tl.trans(k)", "tl.dot(k, tl.trans(q)"))),
        Mutant("walks_to_lq", "walks-to-the-other-length", ("for start in range(0, end, BLOCK_N):", "for start in range(0, Lq, BLOCK_N):")),
        Mutant("stored_into_the_kv_head", ("unwritten", "unwritten-tail", "race"), (DQ_STORE, DQ_STORE.replace("head,", "kv_head,"))),
        Mutant("never_stored", ("unwritten", "unwritten-tail"), (DQ_STORE + "\n", "")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="""
def flash_bwd_dq(do, q, k, v, lse, delta, causal=False, scale=None, tile=None):
    prepared(do, q, k, v, lse, delta, causal, scale)
    return torch.zeros_like(q)
"""),
    ],
    "flash_bwd_dkdv": [
        # what the fifth reader of the old page tried
        Mutant("dk_alone_unscaled", "dk-without-scale", (STORE_DK, STORE_DK.replace(" * scale", ""))),
        Mutant("not_masked", "not-masked", (PT, "pt = tl.exp(st - lse[None, :])")),
        Mutant("delta_missing", "delta-missing", (DST, "dst = pt * dpt")),
        Mutant("dv_scaled", "dv-scaled", (STORE_DV, STORE_DV.replace("dv, D", "dv * scale, D"))),
        Mutant("exp2_for_exp", "base-two", (PT, PT.replace("tl.exp(", "tl.exp2("))),
        Mutant("lse_in_other_units", "lse-not-in-base-two", (PT, PT.replace("tl.exp(st - lse", f"tl.exp2(st * {LOG2E} - lse"))),
        Mutant("scores_in_other_units", "scores-times-log2e", (PT, PT.replace("st - lse", f"st * {LOG2E} - lse"))),
        Mutant("lse_by_row", "lse-by-column", (PT, PT.replace("lse[None, :]", "lse[:, None]"))),
        Mutant("delta_by_row", "delta-by-column", (DST, DST.replace("delta[None, :]", "delta[:, None]"))),
        Mutant("own_key_missing", "own-key-missing", (SEEN_T, SEEN_T.replace(">=", ">"))),
        Mutant("one_key_too_many", "one-key-too-many", (SEEN_T, SEEN_T.replace("(since - start)", "(since - start - 1)"))),
        Mutant("dk_overwritten", "dk-of-the-last-tile", (DK, DK.replace("q, dk,", "q,"))),
        Mutant("dv_overwritten", "dv-of-the-last-tile", (DV, DV.replace("do, dv,", "do,"))),
        Mutant("both_overwritten", "dk-of-the-last-tile", (DK, DK.replace("q, dk,", "q,")), (DV, DV.replace("do, dv,", "do,"))),
        Mutant("swapped", "dv-in-dk", (STORE_DK, STORE_DK.replace("dk_ptr", "dv_ptr")), (STORE_DV, STORE_DV.replace("dv_ptr", "dk_ptr"))),
        Mutant("swapped_values", "scaled-dv-in-dk", (STORE_DK, STORE_DK.replace("dk *", "dv *")), (STORE_DV, STORE_DV.replace(" dv,", " dk,"))),
        Mutant("scale_not_handed_on", "scale-ignored", ("tensors, numbers, flags = prepared(do, q, k, v, lse, delta, causal, scale)", "tensors, numbers, flags = prepared(do, q, k, v, lse, delta, causal, None)")),
        Mutant("masked_before_the_exponential", NAN, (PT, 'pt = tl.exp(tl.where(seen, st, float("-inf")) - lse[None, :])')),
        Mutant("log2e_left_in", "dk-with-log2e", (STORE_DK, STORE_DK.replace("dk * scale", f"dk * (scale * {LOG2E})"))),
        Mutant("products_rounded", "property", (DPT, DPT.replace(EXACT, ""))),
        # what the page warns of, and others
        Mutant("masked_scores_are_zero", "masked-scores-zero", (PT, "pt = tl.exp(tl.where(seen, st, 0.0) - lse[None, :])")),
        Mutant("mask_of_the_first_tile", "mask-not-moved", (SEEN_T, SEEN_T.replace("(since - start)", "since"))),
        Mutant("mask_upside_down", "dk-zero", (SEEN_T, SEEN_T.replace(">=", "<"))),
        Mutant("delta_added", "delta-added", (DST, DST.replace("dpt - delta", "dpt + delta"))),
        Mutant("brackets_forgotten", "delta-outside", (DST, "dst = pt * dpt - delta[None, :]")),
        Mutant("p_forgotten", "ds-without-p", (DST, "dst = dpt - delta[None, :]")),
        Mutant("lse_for_delta", "lse-for-delta", (DST, DST.replace("delta", "lse"))),
        Mutant("sign", "minus-ds", (DST, DST.replace("dpt - delta[None, :]", "delta[None, :] - dpt"))),
        Mutant("dk_scaled_twice", "dk-scaled-twice", (STORE_DK, STORE_DK.replace("dk * scale", "dk * scale * scale"))),
        Mutant("scale_on_the_wrong_one", "dk-without-scale", (STORE_DK, STORE_DK.replace(" * scale", "")), (STORE_DV, STORE_DV.replace("dv, D", "dv * scale, D"))),
        Mutant("scores_without_scale", "unscaled-scores", (ST, ST.replace(" * scale", ""))),
        Mutant("no_scale_at_all", "no-scale-at-all", (ST, ST.replace(" * scale", "")), (STORE_DK, STORE_DK.replace(" * scale", ""))),
        Mutant("lse_forgotten", "lse-ignored", (PT, PT.replace("st - lse[None, :]", "st"))),
        Mutant("lse_added", "lse-added", (PT, PT.replace("st - lse", "st + lse"))),
        Mutant("dv_stored_twice", "scaled-dv-in-dk", (STORE_DK, STORE_DK.replace("dk *", "dv *"))),
        Mutant("scaled_dk_stored_twice", "scaled-dk-in-dv", (STORE_DV, STORE_DV.replace(" dv,", " dk * scale,"))),
        Mutant("dk_stored_twice", "dk-in-dv", (STORE_DV, STORE_DV.replace(" dv,", " dk,"))),
        Mutant("dk_from_p", "dk-from-p", (DK, DK.replace("dst.to", "pt.to"))),
        Mutant("dk_from_dp", "dk-from-dp", (DK, DK.replace("dst.to", "dpt.to"))),
        Mutant("dk_times_do", "dk-times-do", (DK, DK.replace(", q, dk", ", do, dk"))),
        Mutant("dk_times_k", "dk-times-k", (DK, DK.replace(", q, dk", ", k, dk"))),
        Mutant("dv_times_v", "dv-times-v", (DV, DV.replace(", do, dv", ", v, dv"))),
        Mutant("dv_from_ds", "dv-from-ds", ("            " + DV + "\n", ""), (DST, f"{DST}\n            {DV.replace('pt.to', 'dst.to')}")),
        Mutant("dv_times_q", "dv-times-q", (DV, DV.replace(", do, dv", ", q, dv"))),
        Mutant("products_exchanged", "dk-from-p", ("            " + DV + "\n", ""), (DST, f"{DST}\n            {DV.replace('pt.to', 'dst.to')}"), (DK, DK.replace("dst.to", "pt.to"))),
        Mutant("dp_from_k", "dp-from-k", (DPT, DPT.replace("tl.dot(v", "tl.dot(k"))),
        Mutant("dp_from_q", "dp-from-q", (DPT, DPT.replace("trans(do)", "trans(q)"))),
        Mutant("scores_from_v", "scores-of-v", (ST, ST.replace("tl.dot(k", "tl.dot(v"))),
        Mutant("scores_from_do", "scores-of-do", (ST, ST.replace("trans(q)", "trans(do)"))),
        Mutant("one_head_of_the_group", "one-head-of-the-group", ("for g in range(GROUP):", "for g in range(1):")),
        Mutant("rows_of_the_keys_head", "rows-of-the-keys-head", (Q_LOAD, Q_LOAD.replace("head", "kv_head")), (DO_ROWS, DO_ROWS.replace("head", "kv_head"))),
        Mutant("numbers_of_the_keys_head", "numbers-of-the-keys-head", (LSE, LSE.replace("head", "kv_head")), (DELTAS, DELTAS.replace("head", "kv_head"))),
        Mutant("queries_of_the_keys_head", "queries-of-the-keys-head", (Q_LOAD, Q_LOAD.replace("head", "kv_head")), (DO_ROWS, DO_ROWS.replace("head", "kv_head")), (LSE, LSE.replace("head", "kv_head")), (DELTAS, DELTAS.replace("head", "kv_head"))),
        Mutant("lse_of_the_first_tile", "first-tile-of-lse", (LSE, LSE.replace("offs_m, mask", "offs_m - start, mask"))),
        Mutant("delta_of_the_first_tile", "first-tile-of-delta", (DELTAS, DELTAS.replace("offs_m, mask", "offs_m - start, mask"))),
        Mutant("queries_not_numbered", "first-tile-of-numbers", ("offs_m = start + tl.arange", "offs_m = tl.arange")),
        Mutant("dp_turned_over", "dp-transposed", (DPT, DPT.replace("tl.dot(v, tl.trans(do)", "tl.dot(do, tl.trans(v)"))),
        Mutant("mask_upside_down_with_its_own", "mask-upside-down-with-its-own", (SEEN_T, SEEN_T.replace(">=", "<="))),
        Mutant("walks_above_the_diagonal", "property", ("range(begin, Lq, BLOCK_M)", "range(0, Lq, BLOCK_M)")),
        Mutant("q_not_transposed", "q-not-transposed", (ST, ST.replace("tl.trans(q)", "q"))),
        Mutant("do_not_transposed", "do-not-transposed", (DPT, DPT.replace("tl.trans(do)", "do"))),
        Mutant("lse_without_the_head", "numbers-of-the-first-head", (LSE, LSE.replace("head * Lq + ", "")), (DELTAS, DELTAS.replace("head * Lq + ", ""))),
        Mutant("q_of_the_first_tile", "first-tile-of-q", (Q_LOAD, Q_LOAD.replace("start", "0"))),
        Mutant("do_of_the_first_tile", "first-tile-of-do", (DO_ROWS, DO_ROWS.replace("start", "0"))),
        Mutant("first_tile_again", "first-tile-again", (Q_LOAD, Q_LOAD.replace("start", "0")), (DO_ROWS, DO_ROWS.replace("start", "0"))),
        Mutant("masked_by_a_product", NAN, (PT, "pt = tl.exp(st - lse[None, :]) * seen")),
        Mutant("dk_added_twice", "dk-added-twice", (DK, DK.replace("dk = ", "dk += "))),
        Mutant("dv_added_twice", "dv-added-twice", (DV, DV.replace("dv = ", "dv += "))),
        Mutant("dk_onto_dv", "dk-onto-dv", (DK, DK.replace("q, dk,", "q, dv,"))),
        Mutant("dv_onto_dk", "dv-onto-dk", (DV, DV.replace("do, dv,", "do, dk,"))),
        Mutant("steps_of_block_n", "steps-of-the-other-side", (WALK, WALK.replace("BLOCK_M", "BLOCK_N"))),
        Mutant("always_causal", "always-causal", (SEEN_T, "seen = start + cols >= offs_n[:, None]")),
        Mutant("diagonal_from_the_corner", "diagonal-from-the-corner", (SEEN_T, "seen = start + cols >= (offs_n if IS_CAUSAL else since)[:, None]")),
        Mutant("maximum_subtracted", "maximum-for-lse", (PT, PT.replace("lse[None, :]", "tl.max(st, axis=0)[None, :]"))),
        Mutant("a_softmax_of_its_own", "softmax-of-a-tile", (PT, PT.replace("tl.exp(st - lse[None, :])", "tl.exp(st - tl.max(st, axis=0)[None, :]) / tl.sum(tl.exp(st - tl.max(st, axis=0)[None, :]), axis=0)[None, :]"))),
        Mutant("delta_scaled", "delta-scaled", (DST, DST.replace("delta[None, :]", "scale * delta[None, :]"))),
        Mutant("dp_scaled", "dp-scaled", (DST, DST.replace("(dpt", "(dpt * scale"))),
        Mutant("dk_turned", "dk-turned", (DK, DK.replace("dst.to", "tl.trans(dst).to"))),
        Mutant("dv_turned", "dv-turned", (DV, DV.replace("pt.to", "tl.trans(pt).to"))),
        Mutant("queries_placed_by_lk", ("queries-placed-by-lk", "reads-outside"), (Q_LOAD, Q_LOAD.replace("Lq", "Lk")), (DO_ROWS, DO_ROWS.replace("Lq", "Lk"))),
        Mutant("walk_begins_at_first", "walk-begins-at-first", (WALK, WALK.replace("begin", "first"))),
        Mutant("steps_of_one", "start-in-steps-of-one", (WALK, WALK.replace(", BLOCK_M", ""))),
        Mutant("all_of_first", "queries-of-first", ("offs_m = start + tl.arange", "offs_m = first + tl.arange"), (Q_LOAD, Q_LOAD.replace("start", "first")), (DO_ROWS, DO_ROWS.replace("start", "first"))),
        Mutant("rows_of_first", "rows-of-first", (Q_LOAD, Q_LOAD.replace("start", "first")), (DO_ROWS, DO_ROWS.replace("start", "first"))),
        Mutant("numbers_of_first", "numbers-of-first", ("offs_m = start + tl.arange", "offs_m = first + tl.arange")),
        Mutant("q_of_first", "q-of-first", (Q_LOAD, Q_LOAD.replace("start", "first"))),
        Mutant("do_of_first", "do-of-first", (DO_ROWS, DO_ROWS.replace("start", "first"))),
        Mutant("since_changed_in_the_walk", "mask-moved-again", (SEEN_T, "since = since - start\n            seen = cols >= since[:, None]")),
        Mutant("mask_moved_by_first", "mask-moved-by-first", (SEEN_T, SEEN_T.replace("start", "first"))),
        Mutant("k_scaled_in_the_walk", "scores-scaled-in-each-round", (ST, "k = k * scale\n            " + ST.replace(" * scale", ""))),
        Mutant("sum_scaled_in_the_walk", "dk-scaled-in-each-round", (DK, DK + " * scale"), (STORE_DK, STORE_DK.replace(" * scale", ""))),
        Mutant("exponent_zero", "masked-exponent-zero", (PT, "pt = tl.exp(tl.where(seen, st - lse[None, :], 0.0))")),
        Mutant("scores_crosswise", "scores-crosswise", (ST, ST.replace("tl.dot(k, tl.trans(q)", "tl.dot(q, tl.trans(k)"))),
        Mutant("sums_start_again_with_each_head", "last-head-of-the-group", ("        head = kv_head * GROUP + g\n", "        head = kv_head * GROUP + g\n        dk = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)\n        dv = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)\n")),
        Mutant("masked_for_dk_alone", "not-masked", (PT, "pt = tl.exp(st - lse[None, :])"), (DST, "dst = tl.where(seen, pt * (dpt - delta[None, :]), 0.0)")),
        Mutant("first_tile_only", "first-tile-only", (WALK, WALK.replace("Lq", "begin + BLOCK_M"))),
        Mutant("first_tile_left_out", ("dk-zero", "first-tile-left-out"), (WALK, WALK.replace("(begin,", "(begin + BLOCK_M,"))),
        Mutant("full_tiles_only", "last-tile-left-out", (WALK, WALK.replace(" Lq,", " Lq // BLOCK_M * BLOCK_M,"))),
        Mutant("start_counts_tiles", "start-counts-tiles", (WALK, WALK.replace(" Lq, BLOCK_M)", " tl.cdiv(Lq, BLOCK_M))"))),
        Mutant("lse_without_other", "no-other", (LSE, LSE.replace(", other=0.0", ""))),
        Mutant("lse_not_masked", "reads-outside", (LSE, LSE.replace(", mask=offs_m < Lq, other=0.0", ""))),
        Mutant("walks_to_lk", "walks-to-the-other-length", (WALK, WALK.replace("Lq", "Lk"))),
        Mutant("pt_not_cast", ("raised", "does-not-compile", "float32-product"), (DV, DV.replace("pt.to(do.dtype)", "pt"))),
        Mutant("dv_never_stored", ("unwritten",), (STORE_DV + "\n", "")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="""
def flash_bwd_dkdv(do, q, k, v, lse, delta, causal=False, scale=None, tile=None):
    prepared(do, q, k, v, lse, delta, causal, scale)
    return torch.zeros_like(k), torch.zeros_like(v)
"""),
    ],
    "flash_attention": [
        Mutant("dv_before_dk", "dk-and-dv-swapped", (GIVEN, "return dq, dv, dk, None, None")),
        Mutant("dk_first", "dq-not-first", (GIVEN, "return dk, dq, dv, None, None")),
        Mutant("one_gradient_short", "raised", (GIVEN, "return dq, dk, dv, None")),
        Mutant("no_nones", "raised", (GIVEN, "return dq, dk, dv")),
        Mutant("causal_not_kept", "causal-not-kept", (KEPT, "ctx.causal, ctx.scale = False, scale")),
        Mutant("causal_not_handed_on", "causal-not-kept", (BACKWARD, BACKWARD.replace("ctx.causal", "False"))),
        Mutant("scale_not_kept", "scale-not-kept", (KEPT, "ctx.causal, ctx.scale = causal, None")),
        Mutant("defaults_backwards", ("causal-not-kept", "scale-not-kept"), (BACKWARD, BACKWARD.replace(", ctx.causal, ctx.scale", ""))),
        Mutant("not_causal_forwards", "causal-not-used", (FORWARD, FORWARD.replace("causal", "False"))),
        Mutant("scale_not_used", "scale-not-used", (FORWARD, FORWARD.replace(", scale", ""))),
        Mutant("lse_and_o_swapped", ("raised",), (SAVED, "ctx.save_for_backward(q, k, v, lse, o)")),
        Mutant("keys_and_values_swapped", "k-and-v-swapped", (SAVED, "ctx.save_for_backward(q, v, k, o, lse)")),
        Mutant("queries_and_keys_swapped", "q-and-k-swapped", (SAVED, "ctx.save_for_backward(k, q, v, o, lse)")),
        Mutant("v_and_o_swapped", "v-and-o-swapped", (BACKWARD, BACKWARD.replace("v, o,", "o, v,"))),
        Mutant("do_and_q_swapped", "do-and-q-swapped", (BACKWARD, BACKWARD.replace("do, q,", "q, do,"))),
        Mutant("keys_and_values_swapped_forwards", "forward-k-and-v-swapped", (FORWARD, FORWARD.replace("k, v", "v, k"))),
        Mutant("queries_and_keys_swapped_forwards", "forward-q-and-k-swapped", (FORWARD, FORWARD.replace("q, k", "k, q"))),
        Mutant("no_gradient_for_v", "raised", (GIVEN, "return dq, dk, None, None, None")),
        Mutant("q_for_do", "q-for-do", (BACKWARD, BACKWARD.replace("(do,", "(q,"))),
        Mutant("returns_lse_too", ("raised", "wrong-type"), ("        return o\n", "        return o, lse\n")),
        Mutant("tensors_on_ctx", "property", (SAVED, "ctx.kept = (q, k, v, o, lse)"), ("ctx.saved_tensors", "ctx.kept")),
        Mutant("v_on_ctx", "property", (SAVED, "ctx.save_for_backward(q, k, o, lse)\n        ctx.v = v"), ("q, k, v, o, lse = ctx.saved_tensors", "(q, k, o, lse), v = ctx.saved_tensors, ctx.v")),
        Mutant("nothing_kept", "raised", (SAVED, "pass")),
    ],
}

VARIANTS = {
    "attention_delta": [
        Variant("larger_tiles", ("(triton.cdiv(M, 32),)", "(triton.cdiv(M, 64),)"), ('"BLOCK_M": 32', '"BLOCK_M": 64')),
        Variant("product_the_other_way", (DELTA, DELTA.replace("o * do", "do * o"))),
        Variant("float32_after_both_loads", (O_LOAD, O_LOAD.replace(".to(tl.float32)", "")), (DO_LOAD + "\n", DO_LOAD.replace(".to(tl.float32)", "") + "\n"), (DELTA, DELTA.replace("o * do", "o.to(tl.float32) * do.to(tl.float32)"))),
        Variant("one_line", (DELTA_STORE, DELTA_STORE.replace("delta, mask", "tl.sum(o * do, 1), mask"))),
        Variant("columns_across", ("offs_m[:, None] * D + offs_d[None, :]", "offs_m[None, :] * D + offs_d[:, None]"), (MASK, "mask = (offs_m[None, :] < M) & (offs_d[:, None] < D)"), (DELTA, DELTA.replace("axis=1", "axis=0"))),
    ],
    "flash_bwd_dq": [
        Variant("products_before_subtraction", (DS, "        ds = p * dp - p * delta[:, None]\n")),
        Variant("dp_first", (S, "dp = tl.dot(do, tl.trans(v)" + EXACT + ")\n        " + S), (DP, "        ds")),
        Variant("scale_in_the_exponential", (S, S.replace(" * scale", "")), (P, P.replace("s - lse", "s * scale - lse"))),
        Variant("powers_of_two", (P, P.replace("tl.exp(s - lse[:, None])", f"tl.exp2((s - lse[:, None]) * {LOG2E})"))),
        Variant("scale_from_the_left", (DQ_STORE, DQ_STORE.replace("dq * scale", "scale * dq"))),
        Variant("scale_in_ds", (DS, DS.replace("ds = p *", "ds = scale * p *")), (DQ_STORE, DQ_STORE.replace(" * scale", ""))),
        Variant("sum_added", (DQ, f"dq += tl.dot(ds.to(k.dtype), k{EXACT})")),
        Variant("mask_by_product", (P, P.replace("tl.where(seen, tl.exp(s - lse[:, None]), 0.0)", 'tl.exp(tl.where(seen, s - lse[:, None], float("-inf")))'))),
        Variant("keys_numbered", (SEEN, "seen = start + cols < limit[:, None]")),
        Variant("queries_in_the_other_order", ("first = (num_tiles - 1 - tl.program_id(0) % num_tiles) * BLOCK_M", "first = tl.program_id(0) % num_tiles * BLOCK_M")),
        Variant("precision_in_tf32x3", (DP, DP.replace('"ieee"', '"tf32x3"'))),
        Variant("cast_to_q", (DQ, DQ.replace("k.dtype", "q.dtype"))),
        Variant("tiles_counted", (KEYS, "for tile in range(tl.cdiv(end, BLOCK_N)):\n        start = tile * BLOCK_N")),
        Variant("limit_in_steps", (SEEN, "seen = cols < limit[:, None]"), (DQ, DQ + "\n        limit -= BLOCK_N")),
    ],
    "flash_bwd_dkdv": [
        Variant("products_before_subtraction", (DST, "dst = pt * dpt - pt * delta[None, :]")),
        Variant("dk_before_dv", ("            " + DV + "\n", ""), (DK, f"{DK}\n            {DV}")),
        Variant("scale_in_the_exponential", (ST, ST.replace(" * scale", "")), (PT, PT.replace("st - lse", "st * scale - lse"))),
        Variant("scale_in_ds", (DST, DST.replace("dst = pt *", "dst = scale * pt *")), (STORE_DK, STORE_DK.replace(" * scale", ""))),
        Variant("sums_added", (DV, f"dv += tl.dot(pt.to(do.dtype), do{EXACT})"), (DK, f"dk += tl.dot(dst.to(q.dtype), q{EXACT})")),
        Variant("queries_numbered", (SEEN_T, "seen = start + cols >= since[:, None]")),
        Variant("lse_of_absent_queries_infinite", (LSE, LSE.replace("other=0.0", 'other=float("inf")'))),
        Variant("rows_first", (ST, f"s = tl.dot(q, tl.trans(k){EXACT}) * scale"), (PT, "pt = tl.where(seen, tl.exp(tl.trans(s) - lse[None, :]), 0.0)")),
        Variant("stores_in_the_other_order", (STORE_DK + "\n", ""), (STORE_DV, f"{STORE_DV}\n{STORE_DK}")),
        Variant("nothing_transposed", (ST, f"s = tl.dot(q, tl.trans(k){EXACT}) * scale"), (SEEN_T, "seen = start + tl.arange(0, BLOCK_M)[:, None] >= since[None, :]"), (PT, "p = tl.where(seen, tl.exp(s - lse[:, None]), 0.0)"), (DV, f"dv = tl.dot(tl.trans(p).to(do.dtype), do, dv{EXACT})"), (DPT, f"dp = tl.dot(do, tl.trans(v){EXACT})"), (DST, "ds = p * (dp - delta[:, None])"), (DK, f"dk = tl.dot(tl.trans(ds).to(q.dtype), q, dk{EXACT})")),
        Variant("limit_of_each_query", (SEEN_T, "limit = offs_m + 1 + Lk - Lq if IS_CAUSAL else tl.full([BLOCK_M], Lk, tl.int32)\n            seen = offs_n[:, None] < limit[None, :]")),
        Variant("two_tensors", ("dk, dv = torch.empty((2, *k.shape), dtype=k.dtype, device=k.device)", "dk = torch.empty(k.shape, dtype=k.dtype, device=k.device)\n    dv = torch.empty(v.shape, dtype=v.dtype, device=v.device)")),
    ],
    "flash_attention": [
        Variant("keeps_one_tuple", (KEPT, "ctx.options = (causal, scale)"), ("ctx.causal, ctx.scale)", "*ctx.options)")),
        Variant("unpacks_in_the_call", ("        q, k, v, o, lse = ctx.saved_tensors\n", ""), ("flash_bwd(do, q, k, v, o, lse,", "flash_bwd(do, *ctx.saved_tensors,")),
        Variant("returns_a_list_as_tuple", (GIVEN, "return (*(dq, dk, dv), None, None)")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
ONE_SIDE = "one factor in float32 makes the product float32"
TIMES_ZERO = "it is multiplied by what the other tile holds there, which is 0"
EQUIVALENT = {
    "attention_delta": {
        "o = tl.load(o_ptr + offsets, mask=mask, other=0.0).to(tl.float32) => o = tl.load(o_ptr + offsets, mask=mask, other=0.0)": ONE_SIDE,
        "do = tl.load(do_ptr + offsets, mask=mask, other=0.0).to(tl.float32) => do = tl.load(do_ptr + offsets, mask=mask, other=0.0)": ONE_SIDE,
        "o = tl.load(o_ptr + offsets, mask=mask, other=0.0).to(tl.float32) => o = tl.load(o_ptr + offsets, mask=mask, other=1.0).to(tl.float32)": TIMES_ZERO,
        "do = tl.load(do_ptr + offsets, mask=mask, other=0.0).to(tl.float32) => do = tl.load(do_ptr + offsets, mask=mask, other=1.0).to(tl.float32)": TIMES_ZERO,
    },
    "flash_bwd_dkdv": {
        "store_rows(dk_ptr, kv_head, first, Lk, dk * scale, D, BLOCK_N, BLOCK_D) store_rows(dv_ptr, kv_head, first, Lk, dv, D, BLOCK_N, BLOCK_D) => store_rows(dv_ptr, kv_head, first, Lk, dv, D, BLOCK_N, BLOCK_D) store_rows(dk_ptr, kv_head, first, Lk, dk * scale, D, BLOCK_N, BLOCK_D)": "two tensors, in any order",
        "lse = tl.load(lse_ptr + head * Lq + offs_m, mask=offs_m < Lq, other=0.0) => lse = tl.load(lse_ptr + head * Lq + offs_m, mask=offs_m < Lq, other=1.0)": "P of a query past the end is finite, and multiplies rows of zeros",
        "delta = tl.load(delta_ptr + head * Lq + offs_m, mask=offs_m < Lq, other=0.0) => delta = tl.load(delta_ptr + head * Lq + offs_m, mask=offs_m < Lq, other=1.0)": "dS of a query past the end is finite, and multiplies a row of zeros",
    },
}
