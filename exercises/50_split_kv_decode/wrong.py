"""Wrong answers of 50_split_kv_decode with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

LSES = 'lses = tl.load(lses_ptr + rows, mask=offs_s < S, other=float("-inf"))'
E = "e = tl.exp(lses - tl.max(lses, axis=0))"
WEIGHTS = "weights = e / tl.sum(e, axis=0)"
PARTS = "parts = tl.load(parts_ptrs, mask=offs_s[:, None] < S, other=0.0)"
PARTS_PTRS = "parts_ptrs = parts_ptr + rows[:, None] * D + offs_d[None, :]"
OUT = "out = tl.sum(weights[:, None] * parts, axis=0)"
STORE = "tl.store(out_ptr + pid_r * D + offs_d, out)"

PAGES = "pages = tl.load(table_ptrs + offs_n // PAGE, mask=mask_n, other=0)"
SLOTS = "slots = pages.to(tl.int64) * PAGE + offs_n % PAGE"
TILE = "tile = ((slots * HK + head) * D)[:, None] + offs_d"
K = "k = tl.load(k_ptr + tile, mask=mask_n[:, None], other=0.0)"
V = "v = tl.load(v_ptr + tile, mask=mask_n[:, None], other=0.0)"
S = 's = tl.dot(q, tl.trans(k), input_precision="ieee") * qk_scale'
WHERE = 's = tl.where(mask_n[None, :], s, float("-inf"))'
M_NEW = "m_new = tl.maximum(m_i, tl.max(s, axis=1))"
P = "p = tl.exp(s - m_new[:, None])"
ALPHA = "alpha = tl.exp(m_i - m_new)"
L_I = "l_i = l_i * alpha + tl.sum(p, axis=1)"
ACC = 'acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")'

# a GPU may take numbers near the least float for 0
MORE = ("maximum-of-more", "wrong-values", "zeros", "nan", "off-by-row")

MUTANTS = {
    "merge_states": [
        Mutant("padding_at_minus_1e9", "padding-counted", ('other=float("-inf")', "other=-1e9")),
        Mutant("starts_at_minus_50000", "starts-too-high", ("tl.max(lses, axis=0)", "tl.maximum(-50000.0, tl.max(lses, axis=0))")),
        Mutant("mean", "mean-of-pieces", (WEIGHTS, "weights = (lses > -1e38).to(tl.float32) / S")),
        Mutant("not_normalised", "not-normalised", (WEIGHTS, "weights = e")),
        Mutant("divided_by_s", ("wrong-values", "constant-factor", "off-by-row"), (WEIGHTS, "weights = e / S")),
        Mutant("maximum_not_subtracted", "maximum-not-subtracted", (E, "e = tl.exp(lses)")),
        Mutant("masked_lanes_are_zero", "padding-counted", (LSES, LSES.replace('float("-inf")', "0.0"))),
        Mutant("other_forgotten", ("padding-counted", "no-other"), (LSES, LSES.replace(', other=float("-inf")', "")), only="interpreter"),
        Mutant("base_two", "base-two", (E, E.replace("tl.exp(", "tl.exp2("))),
        Mutant("mean_for_the_maximum", "infinity-subtracted", (E, "e = tl.exp(lses - tl.sum(tl.where(offs_s < S, lses, 0.0), axis=0) / S)")),
        Mutant("first_for_the_maximum", ("nan", "overflow"), (E, "e = tl.exp(lses - tl.load(lses_ptr + pid_r * S))")),
        Mutant("logarithms_of_weights", "logarithms-of-weights", (WEIGHTS, "weights = lses - tl.max(lses, axis=0) - tl.log(tl.sum(e, axis=0))\n    weights = tl.where(offs_s < S, weights, 0.0)")),
        Mutant("half_precision_weights", ("wrong-values", "property"), (WEIGHTS, "weights = (e / tl.sum(e, axis=0)).to(tl.float16)")),
        Mutant("minus_lse", ("of-minus-lse", "nan", "overflow"), (E, "e = tl.exp(tl.min(lses, axis=0) - lses)")),
        Mutant("mask_by_rows", "masked-by-rows", (LSES, LSES.replace("offs_s < S", "rows < S"))),
        Mutant("parts_s_apart", "parts-s-apart", (PARTS_PTRS, PARTS_PTRS.replace("* D +", "* S +"))),
        Mutant("parts_one_apart", "parts-one-apart", (PARTS_PTRS, PARTS_PTRS.replace(" * D +", " +"))),
        Mutant("no_axis", "one-sum-for-all-columns", (OUT, OUT.replace(", axis=0", ""))),
        Mutant("no_weights", "sum-of-pieces", (OUT, "out = tl.sum(parts, axis=0)")),
        Mutant("summed_along_columns", ("raised", "does-not-compile"), (OUT, OUT.replace("axis=0", "axis=1"))),
        Mutant("lse_of_the_first_row", ("rows-after-first", "wrong-values", "wrong-tail"), (LSES, LSES.replace("rows", "offs_s"))),
        Mutant("parts_of_the_first_row", ("rows-after-first", "wrong-values", "wrong-tail"), (PARTS_PTRS, PARTS_PTRS.replace("rows[", "offs_s["))),
        Mutant("no_mask_for_parts", "reads-outside", (PARTS, "parts = tl.load(parts_ptrs)")),
        Mutant("no_mask_for_lses", "reads-outside", (LSES, "lses = tl.load(lses_ptr + rows)")),
        Mutant("one_row_for_all", ("unwritten-tail", "race"), (STORE, "tl.store(out_ptr + offs_d, out)")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="def merge_states(parts, lses, dtype):\n    if lses.shape != parts.shape[:2]:\n        raise ValueError('shapes')\n    return torch.einsum('rs,rsd->rd', torch.softmax(lses, -1), parts).to(dtype)\n"),
    ],
    "paged_decode": [
        Mutant("pages_of_32_bits", "int32-offset", (SLOTS, SLOTS.replace(".to(tl.int64)", "")), only="interpreter"),
        Mutant("cast_too_late", "int32-offset", (SLOTS, SLOTS.replace(".to(tl.int64)", "")), (TILE, "tile = ((slots * HK + head)[:, None] * D + offs_d).to(tl.int64)"), only="interpreter"),
        Mutant("one_token_more", "one-token-more", ("mask_n = offs_n < length", "mask_n = offs_n <= length")),
        Mutant("position_length_counts", "position-length-counts", (WHERE, WHERE.replace("mask_n[None, :]", "(offs_n <= length)[None, :]"))),
        Mutant("factor_on_the_new_acc", "factor-on-the-new-acc", (ACC, 'acc = (acc + tl.dot(p.to(v.dtype), v, input_precision="ieee")) * alpha[:, None]')),
        Mutant("pages_without_heads", "pages-without-heads", (TILE, "tile = (pages.to(tl.int64) * PAGE * D)[:, None] + ((offs_n % PAGE) * HK + head)[:, None] * D + offs_d")),
        Mutant("head_times_group", "head-times-group", (TILE, TILE.replace("+ head", "+ head * GROUP"))),
        Mutant("table_by_the_tile", "page-of-the-tile", (PAGES, PAGES.replace("// PAGE", "// BLOCK_N"))),
        Mutant("slot_in_the_tile", "position-for-slot", (SLOTS, SLOTS.replace("% PAGE", "% BLOCK_N"))),
        Mutant("a_score_of_minus_a_billion", ("masked-keys-count", "wrong-values", "zeros", "maximum-of-more", "maximum-before-the-mask"), (WHERE, WHERE.replace('float("-inf")', "-1e9"))),
        Mutant("scores_rounded", ("wrong-values", "off-by-row"), (S, S + "\n        s = s.to(q.dtype).to(tl.float32)")),
        Mutant("acc_in_half", "property", (ACC, ACC + ".to(v.dtype).to(tl.float32)")),
        Mutant("scores_in_half", ("wrong-values", "off-by-row"), (S, S + "\n        s = s.to(v.dtype).to(tl.float32)")),
        Mutant("a_score_of_minus_10000", ("masked-keys-count", "wrong-values", "zeros", "maximum-of-more", "maximum-before-the-mask"), (WHERE, WHERE.replace('float("-inf")', "-1e4"))),
        Mutant("page_left_out", "page-left-out", (SLOTS, "slots = (offs_n % PAGE).to(tl.int64)")),
        Mutant("keys_and_values_swapped", "keys-and-values-swapped", (K, K.replace("k_ptr", "v_ptr")), (V, V.replace("v_ptr", "k_ptr"))),
        Mutant("table_by_slot", "table-by-slot", (PAGES, PAGES.replace("offs_n // PAGE", "offs_n % PAGE"))),
        Mutant("heads_before_slots_of_a_page", "heads-before-slots", (TILE, "tile = (((pages.to(tl.int64) * HK + head) * PAGE + offs_n % PAGE) * D)[:, None] + offs_d")),
        Mutant("powers_of_two_of_page_41", "lse-of-mixed-bases", (S, S + " * 1.4426950408889634"), (P, P.replace("tl.exp", "tl.exp2")), (ALPHA, ALPHA.replace("tl.exp", "tl.exp2"))),
        Mutant("pages_in_order", ("pages-in-order", "nan", "reads-outside"), (PAGES, "pages = offs_n // PAGE")),
        Mutant("table_of_the_first_sequence", ("table-of-the-first", "nan", "reads-outside"), ("table_ptr + b * stride_tb", "table_ptr")),
        Mutant("table_by_the_token", "table-by-position", (PAGES, PAGES.replace("offs_n // PAGE", "offs_n"))),
        Mutant("slot_forgotten", "slot-forgotten", (SLOTS, SLOTS.replace(" + offs_n % PAGE", ""))),
        Mutant("slot_without_remainder", "position-for-slot", (SLOTS, SLOTS.replace("offs_n % PAGE", "offs_n"))),
        Mutant("page_for_slot", "page-number-for-slot", (SLOTS, SLOTS.replace("offs_n %", "offs_n //"))),
        Mutant("page_of_the_tile", "page-of-the-tile", (PAGES, "pages = tl.load(table_ptrs + start // PAGE)")),
        Mutant("page_from_the_tile", "page-counted-from-the-tile", (PAGES, PAGES.replace("offs_n // PAGE", "tl.arange(0, BLOCK_N) // PAGE"))),
        Mutant("slot_from_the_tile", "slot-counted-anew", (SLOTS, SLOTS.replace("offs_n % PAGE", "tl.arange(0, BLOCK_N) % PAGE"))),
        Mutant("tile_from_the_first_token", "page-counted-from-the-tile", (PAGES, PAGES.replace("offs_n // PAGE", "tl.arange(0, BLOCK_N) // PAGE")), (SLOTS, SLOTS.replace("offs_n % PAGE", "tl.arange(0, BLOCK_N) % PAGE"))),
        Mutant("scale_for_base_two", "scale-for-base-two", (S, S + " * 1.4426950408889634")),
        Mutant("maximum_before_the_mask", "maximum-before-the-mask", (WHERE + "\n        " + M_NEW, M_NEW + "\n        " + WHERE)),
        Mutant("maximum_of_all_rows", MORE, (M_NEW, "m_new = tl.maximum(m_i, tl.max(s))")),
        Mutant("scaled_after_the_maximum", "unscaled-in-lse", (S, S.replace(" * qk_scale", "")), (P, "p = tl.exp((s - m_new[:, None]) * qk_scale)"), (ALPHA, "alpha = tl.exp((m_i - m_new) * qk_scale)")),
        Mutant("factor_in_base_two", "factor-in-base-two", (ALPHA, ALPHA.replace("tl.exp(", "tl.exp2("))),
        Mutant("new_sum_times_the_factor", "nan", (L_I, "l_i = (l_i + tl.sum(p, axis=1)) * alpha")),
        Mutant("pages_one_slot_apart", "pages-one-slot-apart", (SLOTS, SLOTS.replace("pages.to(tl.int64) * PAGE", "pages.to(tl.int64)"))),
        Mutant("slots_without_heads", "slots-without-heads", (TILE, "tile = ((slots + head) * D)[:, None] + offs_d")),
        Mutant("head_by_one_number", "head-by-one-number", (TILE, "tile = (slots * HK * D + head)[:, None] + offs_d")),
        Mutant("all_one_number_apart", "one-number-apart", (TILE, "tile = (slots * HK + head)[:, None] + offs_d"), on_gpu=("one-number-apart", "raised")),
        Mutant("scale_upside_down", "scale-upside-down", (S, S.replace("* qk_scale", "/ qk_scale"))),
        Mutant("added_twice", "acc-counted-twice", (ACC, ACC.replace("acc = ", "acc += "))),
        Mutant("factor_turned_round", "nan", (ALPHA, "alpha = tl.exp(m_new - m_i)")),
        Mutant("weights_by_the_old_maximum", "nan", (P, "p = tl.exp(s - m_i[:, None])")),
        Mutant("no_mask_for_the_table", "reads-outside", (PAGES, PAGES.replace(", mask=mask_n, other=0", ""))),
        Mutant("no_mask_for_values", ("nan", "reads-outside", "no-other"), (V, V.replace(", mask=mask_n[:, None], other=0.0", ""))),
        Mutant("padding_counted", "masked-keys-count", (WHERE, "s = s * 1.0")),
        Mutant("padding_is_zero", "masked-keys-count", (WHERE, WHERE.replace('float("-inf")', "0.0"))),
        Mutant("first_key_head", "first-key-head", (TILE, "tile = (slots * HK * D)[:, None] + offs_d")),
        Mutant("heads_before_slots", "heads-first", (TILE, "tile = ((head * PAGE + slots) * D)[:, None] + offs_d")),
        Mutant("keys_for_values", "keys-for-values", (V, V.replace("v_ptr", "k_ptr"))),
        Mutant("values_for_keys", "values-for-keys", (K, K.replace("k_ptr", "v_ptr"))),
        Mutant("scale_forgotten", "scale-forgotten", (S, S.replace(" * qk_scale", ""))),
        Mutant("scale_twice", "scale-twice", (S, S + " * qk_scale")),
        Mutant("no_running_maximum", "no-maximum", (M_NEW, "m_new = m_i * 0.0")),
        Mutant("maximum_of_the_tile", "maximum-of-the-tile", (M_NEW, "m_new = tl.max(s, axis=1)")),
        Mutant("l_not_rescaled", "sum-not-rescaled", (L_I, "l_i = l_i + tl.sum(p, axis=1)")),
        Mutant("acc_not_rescaled", "acc-not-rescaled", (ACC, ACC.replace(" * alpha[:, None]", ""))),
        Mutant("maximum_updated_first", "nothing-rescaled", (ALPHA, "m_i = m_new\n        " + ALPHA)),
        Mutant("maximum_never_kept", "maximum-never-kept", (ACC + "\n        m_i = m_new", ACC)),
        Mutant("values_of_the_last_tile", "acc-starts-again", (ACC, 'acc = tl.dot(p.to(v.dtype), v, input_precision="ieee")')),
        Mutant("base_two", "base-two", (P, P.replace("tl.exp(", "tl.exp2("))),
        Mutant("tf32", "tf32", (S, S.replace(', input_precision="ieee"', ""))),
        Mutant("sum_over_queries", ("raised", "does-not-compile"), (L_I, L_I.replace("axis=1", "axis=0"))),
        Mutant("torch_stand_in", ("no-kernel-launched", "raised", "torch-compute"), replace="def paged_decode(q, k_cache, v_cache, table, lengths, pieces=None):\n    require_cache(q, k_cache, v_cache, table, lengths)\n    return paged_decode_ref(q, k_cache, v_cache, table, lengths)\n"),
    ],
}

VARIANTS = {
    "merge_states": [
        Variant("divided_at_the_end", (WEIGHTS, "weights = e"), (OUT, OUT + " / tl.sum(e, axis=0)")),
        Variant("wider_tile", ("triton.next_power_of_2(S)", "2 * triton.next_power_of_2(S)")),
        Variant("large_negative", (LSES, LSES.replace('float("-inf")', "-1e38"))),
        Variant("cast_at_the_store", (STORE, STORE.replace("out)", "out.to(out_ptr.dtype.element_ty))"))),
        Variant("lse_of_the_whole", (WEIGHTS, "weights = tl.exp(lses - (tl.max(lses, axis=0) + tl.log(tl.sum(e, axis=0))))")),
        Variant("pieces_in_a_loop", ("    " + PARTS_PTRS + "\n    " + PARTS + "\n    " + OUT + "\n", "    top, total = tl.max(lses, axis=0), tl.sum(e, axis=0)\n    out = tl.zeros((D,), tl.float32)\n    for s in range(0, S):\n        weight = tl.exp(tl.load(lses_ptr + pid_r * S + s) - top) / total\n        out += weight * tl.load(parts_ptr + (pid_r * S + s) * D + offs_d)\n"), (WEIGHTS + "\n", "weights = e\n")),
        Variant("turned", (OUT, "out = tl.sum(tl.trans(parts) * weights[None, :], axis=1)")),
    ],
    "paged_decode": [
        Variant("exp2", (P, "p = tl.exp2((s - m_new[:, None]) * 1.4426950408889634)")),
        Variant("larger_tiles", ("BLOCK_N=128 if roomy else 32", "BLOCK_N=64")),
        Variant("sum_after", (ACC, 'acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")')),
        Variant("keys_loaded_turned", (K, "k = tl.load(k_ptr + tl.trans(tile), mask=mask_n[None, :], other=0.0)"), (S, S.replace("tl.trans(k)", "k"))),
        Variant("masked_by_adding", (WHERE, 's += tl.where(mask_n, 0.0, float("-inf"))[None, :]')),
        Variant("last_page_again", (PAGES, "pages = tl.load(table_ptrs + tl.minimum(offs_n, length - 1) // PAGE)")),
        Variant("two_warps", ("num_warps=4", "num_warps=2")),
        Variant("strides_by_hand", (TILE, "tile = slots[:, None] * HK * D + head * D + offs_d")),
        # Page 0 is read in the place of pages that do not exist, and `where` throws it away.
        Variant("no_mask_for_keys", (K, K.replace(", mask=mask_n[:, None], other=0.0", ""))),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "merge_states": {
        'weights = e / tl.sum(e, axis=0) => weights = e / tl.sum(e)': "a tile of one dimension has one axis",
        'e = tl.exp(lses - tl.max(lses, axis=0)) => e = tl.exp(lses - tl.max(lses))': "a tile of one dimension has one axis",
        'parts = tl.load(parts_ptrs, mask=offs_s[:, None] < S, other=0.0) => parts = tl.load(parts_ptrs, mask=offs_s[:, None] < S, other=1.0)': "a masked piece has the weight 0, and 1 times 0 is 0 too",
    },
    "paged_decode": {
        'pages = tl.load(table_ptrs + offs_n // PAGE, mask=mask_n, other=0) => pages = tl.load(table_ptrs + offs_n // PAGE, mask=mask_n)': "what these lanes hold reaches no load: those of k and v are masked alike",
        'pages = tl.load(table_ptrs + offs_n // PAGE, mask=mask_n, other=0) => pages = tl.load(table_ptrs + offs_n // PAGE, mask=mask_n, other=1)': "what these lanes hold reaches no load: those of k and v are masked alike",
        'k = tl.load(k_ptr + tile, mask=mask_n[:, None], other=0.0) => k = tl.load(k_ptr + tile, mask=mask_n[:, None])': "`where` replaces the scores of these lanes",
        'k = tl.load(k_ptr + tile, mask=mask_n[:, None], other=0.0) => k = tl.load(k_ptr + tile, mask=mask_n[:, None], other=1.0)': "`where` replaces the scores of these lanes",
        'v = tl.load(v_ptr + tile, mask=mask_n[:, None], other=0.0) => v = tl.load(v_ptr + tile, mask=mask_n[:, None], other=1.0)': "p is 0 in these lanes, and 1 times 0 is 0 too",
    },
}
