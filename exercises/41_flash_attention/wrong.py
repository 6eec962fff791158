"""Wrong answers of 41_flash_attention with the diagnosis each must get, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

VALUES = ("wrong-values", "wrong-tail", "rows-after-first", "nan")
UNWRITTEN = ("unwritten", "unwritten-tail")

# --- attention_tiled_torch

T_MAX = "m_new = torch.maximum(m, s.amax(dim=-1))"
T_ALPHA = "        alpha = torch.exp(m - m_new)\n"
T_SUM = "l = l * alpha + p.sum(dim=-1)"
T_ACC = "acc = acc * alpha[..., None] + p @ v_tile"
T_RANGE = "range(0, k.shape[2], block)"
T_SLICES = "k[:, :, start : start + block], v[:, :, start : start + block]"

# --- flash_fwd

NEW_MAX = "m_new = tl.maximum(m_i, tl.max(s, axis=1))"
ALPHA = "        alpha = tl.exp2(m_i - m_new)\n"
P = "p = tl.exp2(s - m_new[:, None])"
SUM = "l_i = l_i * alpha + tl.sum(p, axis=1)"
ACC = "acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision=\"ieee\")"
WHERE = 's = tl.where(cols[None, :] <= last, s, float("-inf"))'
LAST = "last = offs_m[:, None] if CAUSAL else L - 1"
END = "end = tl.minimum(L, (pid_m + 1) * BLOCK_M) if CAUSAL else L"
LSE = "(m_i + tl.log2(l_i)) * LN_2"
K_LOAD = "k = tl.load(k_ptr + head * L * D + tile, mask=cols[:, None] < L, other=0.0)"
V_LOAD = "v = tl.load(v_ptr + head * L * D + tile, mask=cols[:, None] < L, other=0.0)"
ROWS = "rows = head * L * D + offs_m[:, None] * D + offs_d"
S_DOT = 's = tl.dot(q, tl.trans(k), input_precision="ieee") * qk_scale'
O_STORE = "tl.store(o_ptr + rows, acc / l_i[:, None], mask=offs_m[:, None] < L)"
LAUNCH = "flash_fwd_kernel[grid](q, k, v, o, lse, L, LOG2_E / D**0.5, causal, D, **tile)"
START = 'tl.full([BLOCK_M], float("-inf"), tl.float32)'
# The scores stay bare, and the exponent of the weights is scaled.
BARE = ((S_DOT, S_DOT.replace(" * qk_scale", "")), (P, "p = tl.exp2((s - m_new[:, None]) * qk_scale)"))

MUTANTS = {
    "attention_tiled_torch": [
        Mutant("acc_not_rescaled", "acc-not-rescaled", (T_ACC, "acc = acc + p @ v_tile")),
        Mutant("sum_not_rescaled", "sum-not-rescaled", (T_SUM, "l = l + p.sum(dim=-1)")),
        Mutant("m_updated_first", "nothing-rescaled", (T_ALPHA, ""), ("        p = torch.exp(s - m_new[..., None])\n", "        p = torch.exp(s - m_new[..., None])\n        m = m_new\n        alpha = torch.exp(m - m_new)\n")),
        Mutant("not_divided", "not-divided", ("return acc / l[..., None]", "return acc")),
        Mutant("scale_missing", "scale-missing", ("k_tile.transpose(-1, -2) * scale", "k_tile.transpose(-1, -2)")),
        Mutant("scale_twice", "scale-twice", ("s = q @ k_tile", "s = q * scale @ k_tile")),
        Mutant("maximum_of_the_tile_alone", "maximum-of-the-tile", (T_MAX, "m_new = s.amax(dim=-1)")),
        Mutant("no_maximum_at_all", "no-maximum", (T_MAX, "m_new = torch.zeros_like(m)"), ("        m = m_new\n", ""), (T_ALPHA, "        alpha = torch.ones_like(m)\n")),
        Mutant("maximum_never_kept", "last-tile-only", ("        m = m_new\n", "")),
        Mutant("last_tile_dropped", "rest-dropped", (T_RANGE, "range(0, max(block, k.shape[2] - block), block)")),
        Mutant("rest_dropped", "rest-dropped", (T_RANGE, "range(0, k.shape[2] // block * block, block)")),
        Mutant("last_tile_only", "last-tile-only", (T_SUM, "l = p.sum(dim=-1)"), (T_ACC, "acc = p @ v_tile")),
        Mutant("softmax_of_each_tile", "softmax-of-each-tile", ("p = torch.exp(s - m_new[..., None])", "p = torch.softmax(s, dim=-1)"), (T_ACC, "acc = acc + p @ v_tile"), ("return acc / l[..., None]", "return acc")),
        Mutant("softmax_of_each_tile_divided", VALUES, ("p = torch.exp(s - m_new[..., None])", "p = torch.softmax(s, dim=-1)")),
        Mutant("factor_upside_down", "nan", ("torch.exp(m - m_new)", "torch.exp(m_new - m)")),
        Mutant("maximum_over_queries", ("raised", *VALUES), ("s.amax(dim=-1)", "s.amax(dim=-2)")),
        Mutant("m_starts_at_zero", "m-starts-at-zero", ('torch.full(q.shape[:-1], float("-inf"), dtype=q.dtype, device=q.device)', "torch.zeros_like(q[..., 0])")),
        Mutant("divided_in_every_tile", "divided-in-every-tile", (T_ACC, "acc = (acc * alpha[..., None] + p @ v_tile) / l[..., None]"), ("return acc / l[..., None]", "return acc")),
        Mutant("all_scores_at_once", "property", replace="""
def attention_tiled_torch(q, k, v, block=16):
    return torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, dim=-1) @ v
"""),
        Mutant("nothing_summed", "nothing-summed", (T_SUM, "l = l * alpha")),
        Mutant("nothing_added", "nothing-added", (T_ACC, "acc = acc * alpha[..., None]")),
        Mutant("sum_starts_again", "sum-starts-again", (T_SUM, "l = p.sum(dim=-1)")),
        Mutant("acc_starts_again", "acc-starts-again", (T_ACC, "acc = p @ v_tile")),
        Mutant("multiplied_by_the_sum", "multiplied-by-the-sum", ("return acc / l", "return acc * l")),
        Mutant("maximum_of_everything", "maximum-of-everything", (T_MAX, "m_new = torch.maximum(m, s.max())")),
        Mutant("sum_of_everything", "sum-of-everything", (T_SUM, "l = l * alpha + p.sum()")),
        Mutant("maximum_added", "maximum-added", ("torch.exp(s - m_new[..., None])", "torch.exp(s + m_new[..., None])")),
        Mutant("heads_counted_for_keys", "first-tile-only", (T_RANGE, "range(0, k.shape[1], block)")),
        Mutant("queries_counted_for_keys", "tiles-of-queries-counted", (T_RANGE, "range(0, q.shape[2], block)")),
        Mutant("returns_in_the_loop", "first-tile-only", ("    return acc / l", "        return acc / l")),
        Mutant("block_fixed_at_16", (*VALUES, "raised"), ("k[:, :, start : start + block], v[:, :, start : start + block]", "k[:, :, start : start + 16], v[:, :, start : start + 16]")),
        Mutant("factor_after_the_sum", "nothing-summed", (T_SUM, "l = (l + p.sum(dim=-1)) * alpha")),
        Mutant("factor_after_the_product", "nothing-added", (T_ACC, "acc = (acc + p @ v_tile) * alpha[..., None]")),
        Mutant("sum_counted_twice", "sum-counted-twice", (T_SUM, "l += l * alpha + p.sum(dim=-1)")),
        Mutant("acc_counted_twice", "acc-counted-twice", (T_ACC, "acc += acc * alpha[..., None] + p @ v_tile")),
        Mutant("m_starts_at_minus_100", "m-starts-at-zero", ('torch.full(q.shape[:-1], float("-inf"), dtype=q.dtype, device=q.device)', "torch.full_like(q[..., 0], -100.0)")),
        Mutant("start_in_steps_of_one", "start-in-steps-of-one", (T_RANGE, "range(0, k.shape[2])")),
        Mutant("start_counts_tiles", "start-counts-steps", (T_RANGE, "range(-(-k.shape[2] // block))")),
        Mutant("start_counts_full_tiles", "start-counts-full-steps", (T_RANGE, "range(k.shape[2] // block)")),
        Mutant("tiles_without_end", "tiles-without-end", (T_SLICES, T_SLICES.replace("start : start + block", "start:"))),
        Mutant("tiles_one_short", "tiles-one-short", (T_SLICES, T_SLICES.replace("+ block", "+ block - 1"))),
        Mutant("tiles_one_long", "tiles-one-long", (T_SLICES, T_SLICES.replace("+ block", "+ block + 1"))),
        Mutant("maximum_not_scaled", "maximum-not-scaled", (" * scale\n        m_new", "\n        m_new"), ("torch.exp(s - m_new", "torch.exp(s * scale - m_new")),
        Mutant("factor_not_scaled", "factor-not-scaled", (" * scale\n        m_new", "\n        m_new"), ("torch.exp(s - m_new[..., None])", "torch.exp((s - m_new[..., None]) * scale)")),
        Mutant("factor_of_two_exponentials", "no-maximum", ("torch.exp(m - m_new)", "torch.exp(m) / torch.exp(m_new)")),
        Mutant("weights_with_the_old_maximum", "nan", ("torch.exp(s - m_new[..., None])", "torch.exp(s - m[..., None])")),
        Mutant("keys_for_values", "keys-for-values", ("p @ v_tile", "p @ k_tile")),
        Mutant("maximum_never_below_zero", "m-starts-at-zero", (T_MAX, T_MAX + ".clamp(min=0)")),
        Mutant("returns_the_sum_too", ("wrong-type", "wrong-values"), ("return acc / l[..., None]", "return acc / l[..., None], l")),
    ],
    "flash_fwd": [
        Mutant("masked_by_minus_a_million", "too-little-taken-off", ('tl.where(cols[None, :] <= last, s, float("-inf"))', "tl.where(cols[None, :] <= last, s, s - 1e6)")),
        Mutant("masked_scores_of_minus_1e9", "score-zero", ('s, float("-inf"))', "s, -1e9)")),
        Mutant("m_starts_at_minus_1e6", "m-starts-at-zero", ('tl.full([BLOCK_M], float("-inf"), tl.float32)', "tl.full([BLOCK_M], -1e6, tl.float32)")),
        # the method
        Mutant("acc_not_rescaled", "acc-not-rescaled", (ACC, ACC.replace("acc * alpha[:, None]", "acc"))),
        Mutant("sum_not_rescaled", "sum-not-rescaled", (SUM, "l_i = l_i + tl.sum(p, axis=1)")),
        Mutant("m_updated_first", "nothing-rescaled", (ALPHA, "        m_i = m_new\n" + ALPHA)),
        Mutant("not_divided", "not-divided", ("acc / l_i[:, None]", "acc")),
        Mutant("no_running_maximum", "no-maximum", (NEW_MAX, "m_new = tl.zeros([BLOCK_M], tl.float32)"), (START, "tl.zeros([BLOCK_M], tl.float32)")),
        Mutant("maximum_of_the_tile", "maximum-of-the-tile", (NEW_MAX, "m_new = tl.max(s, axis=1)")),
        Mutant("maximum_never_kept", "maximum-not-kept", ("        m_i = m_new\n", "")),
        Mutant("maximum_never_grows", "nan", (NEW_MAX, "m_new = m_i")),
        Mutant("arms_of_the_mask_swapped", "nan", (WHERE, 's = tl.where(cols[None, :] <= last, float("-inf"), s)')),
        Mutant("factor_upside_down", "nan", ("tl.exp2(m_i - m_new)", "tl.exp2(m_new - m_i)")),
        Mutant("m_starts_at_zero_and_stays", "no-maximum", (START, "tl.zeros([BLOCK_M], tl.float32)"), (NEW_MAX, "m_new = m_i")),
        Mutant("m_starts_at_zero", "m-starts-at-zero", (START, "tl.zeros([BLOCK_M], tl.float32)")),
        Mutant("divided_in_every_tile", "divided-in-every-tile", (ACC, ACC + " / l_i[:, None]"), ("acc / l_i[:, None], mask", "acc, mask")),
        Mutant("reduced_along_queries", "reduced-along-queries", ("tl.max(s, axis=1)", "tl.max(s, axis=0)"), ("tl.sum(p, axis=1)", "tl.sum(p, axis=0)")),
        Mutant("diagonal_mask_strict", ("causal-strict", "last-key-missing"), (WHERE, 's = tl.where((cols[None, :] < last) | (not CAUSAL and cols[None, :] <= last), s, float("-inf"))')),
        Mutant("lse_divided", "lse-divided-by-ln2", (LSE, LSE.replace("* LN_2", "/ LN_2"))),
        Mutant("last_tile_only", "last-tile-only", (SUM, "l_i = tl.sum(p, axis=1)"), (ACC, 'acc = tl.dot(p.to(v.dtype), v, input_precision="ieee")')),
        Mutant("sum_along_queries", "sum-along-queries", ("tl.sum(p, axis=1)", "tl.sum(p, axis=0)")),
        Mutant("nothing_summed", "nothing-summed", (SUM, "l_i = l_i * alpha")),
        Mutant("sum_starts_again", "sum-starts-again", (SUM, "l_i = tl.sum(p, axis=1)")),
        Mutant("acc_starts_again", "acc-starts-again", (ACC, ACC.replace("v, acc * alpha[:, None]", "v"))),
        Mutant("multiplied_by_the_sum", "multiplied-by-the-sum", ("acc / l_i[:, None]", "acc * l_i[:, None]")),
        Mutant("maximum_added", "maximum-added", (P, P.replace("-", "+"))),
        Mutant("maximum_along_the_keys", "maximum-of-another-query", (P, P.replace("m_new[:, None]", "m_new[None, :]"))),
        Mutant("maximum_before_the_mask", "maximum-before-the-mask", ("        " + WHERE + "\n", ""), (NEW_MAX, NEW_MAX + "\n        " + WHERE), on_gpu=("overflow",)),
        Mutant("maximum_without_axis", "maximum-of-the-whole-tile", ("tl.max(s, axis=1)", "tl.max(s)")),
        Mutant("maximum_along_queries", "maximum-along-queries", ("tl.max(s, axis=1)", "tl.max(s, axis=0)")),
        Mutant("sum_without_axis", "sum-of-the-whole-tile", ("tl.sum(p, axis=1)", "tl.sum(p)")),
        Mutant("factor_after_the_sum", "nothing-summed", (SUM, "l_i = (l_i + tl.sum(p, axis=1)) * alpha")),
        Mutant("factor_after_the_product", "zeros", (ACC, 'acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee") * alpha[:, None]')),
        Mutant("sum_counted_twice", "sum-counted-twice", (SUM, SUM.replace("l_i = ", "l_i += "))),
        Mutant("acc_counted_twice", "acc-counted-twice", (ACC, ACC.replace("acc = ", "acc += "))),
        Mutant("m_starts_at_minus_one", "m-starts-at-zero", (START, "tl.full([BLOCK_M], -1.0, tl.float32)")),
        # units
        Mutant("scale_forgotten", "scale-missing", ("LOG2_E / D**0.5", "LOG2_E")),
        Mutant("log2e_forgotten", "log2e-missing", ("LOG2_E / D**0.5", "1 / D**0.5")),
        Mutant("no_scale_at_all", "no-scale-at-all", (S_DOT, S_DOT.replace(" * qk_scale", ""))),
        Mutant("scale_twice", "scale-twice", ("LOG2_E / D**0.5", "LOG2_E / D")),
        Mutant("scale_upside_down", "scale-upside-down", ("LOG2_E / D**0.5", "LOG2_E * D**0.5")),
        Mutant("p_without_maximum", "weights-without-maximum", (P, "p = tl.exp2(s)")),
        Mutant("tf32_by_default", "tf32", (S_DOT, S_DOT.replace(', input_precision="ieee"', "")), only="interpreter"),
        Mutant("tf32_in_the_second_product", "tf32", (ACC, ACC.replace(', input_precision="ieee"', "")), only="interpreter"),
        Mutant("q_and_k_swapped", "queries-and-keys-swapped", (LAUNCH, LAUNCH.replace("q, k, v,", "k, q, v,"))),
        Mutant("lse_log_subtracted", "lse-log-subtracted", (LSE, LSE.replace("+", "-"))),
        Mutant("exp_for_exp2", "log2e-twice", (P, P.replace("exp2", "exp")), (ALPHA, ALPHA.replace("exp2", "exp"))),
        Mutant("exp_for_p_alone", "log2e-twice", (P, P.replace("exp2", "exp"))),
        Mutant("exp_for_alpha_alone", "factor-in-another-base", (ALPHA, ALPHA.replace("exp2", "exp"))),
        Mutant("maximum_in_other_units", "maximum-in-other-units", (S_DOT, S_DOT.replace(" * qk_scale", "")), (P, "p = tl.exp2(s * qk_scale - m_new[:, None])"), on_gpu=("overflow",)),
        Mutant("lse_in_base_2", "lse-in-base-2", (LSE, "m_i + tl.log2(l_i)")),
        Mutant("lse_of_mixed_bases", "lse-of-mixed-bases", (LSE, "m_i + tl.log(l_i)")),
        Mutant("lse_natural_log_scaled", "lse-log-scaled-twice", (LSE, "(m_i + tl.log(l_i)) * LN_2")),
        Mutant("lse_log2_of_the_sum", "lse-log2-of-the-sum", (LSE, "m_i * LN_2 + tl.log2(l_i)")),
        Mutant("lse_without_sum", "lse-without-sum", (LSE, "m_i * LN_2")),
        Mutant("lse_is_m", "lse-maximum-in-base-2", (LSE, "m_i")),
        Mutant("lse_without_max", "lse-without-max", (LSE, "tl.log(l_i)")),
        Mutant("lse_without_logarithm", "lse-without-logarithm", (LSE, "m_i * LN_2 + l_i")),
        Mutant("lse_is_the_sum", "lse-is-the-sum", (LSE, "l_i")),
        Mutant("lse_maximum_scaled_twice", "lse-maximum-multiplied-by-log2e", (LSE, "m_i / LN_2 + tl.log(l_i)")),
        Mutant("lse_of_a_natural_kernel_in_base_2", "lse-natural-maximum-times-ln2", ("LOG2_E / D**0.5", "1 / D**0.5"), (P, P.replace("exp2", "exp")), (ALPHA, ALPHA.replace("exp2", "exp")), (LSE, "m_i * LN_2 + tl.log(l_i)")),
        Mutant("lse_maximum_unscaled", "lse-maximum-unscaled", *BARE, (ALPHA, ALPHA.replace("m_i - m_new", "(m_i - m_new) * qk_scale"))),
        Mutant("lse_maximum_bare", "lse-maximum-bare", *BARE, (ALPHA, ALPHA.replace("m_i - m_new", "(m_i - m_new) * qk_scale")), (LSE, "m_i + tl.log(l_i)")),
        Mutant("factor_not_scaled", "factor-not-scaled", *BARE, (LSE, "m_i * qk_scale * LN_2 + tl.log(l_i)")),
        Mutant("lse_without_any_logarithm", "lse-without-any-logarithm", (LSE, "tl.exp2(m_i) * l_i")),
        Mutant("query_rounded_after_scaling", "rounded-early", (S_DOT, S_DOT.replace(" * qk_scale", "").replace("dot(q,", "dot((q * qk_scale).to(k.dtype),"))),
        Mutant("factor_of_two_exponentials", "overflow", (ALPHA, "        alpha = tl.exp2(m_i) / tl.exp2(m_new)\n")),
        Mutant("m_starts_at_minus_1000", "m-starts-at-zero", (START, "tl.full([BLOCK_M], -1000.0, tl.float32)")),
        # masks
        Mutant("forbidden_score_too_large", "score-zero", (WHERE, WHERE.replace('float("-inf")', "-1e4"))),
        Mutant("diagonal_one_further", "diagonal-one-too-far", (WHERE, 's = tl.where((cols[None, :] <= last + (1 if CAUSAL else 0)) & (cols[None, :] < L), s, float("-inf"))')),
        Mutant("walk_begins_at_the_own_queries", "last-tile-only", ("cols = start + tl.arange", "cols = (pid_m * BLOCK_M if CAUSAL else 0) + start + tl.arange")),
        Mutant("diagonal_in_the_tile", "diagonal-in-the-tile-rows-cols", (LAST, "last = tl.arange(0, BLOCK_M)[:, None] if CAUSAL else L - 1"), (WHERE, WHERE.replace("cols[None, :] <=", "(cols[None, :] - start if CAUSAL else cols[None, :]) <="))),
        Mutant("diagonal_of_rows_in_the_tile", "diagonal-in-the-tile-rows", (LAST, "last = tl.arange(0, BLOCK_M)[:, None] if CAUSAL else L - 1")),
        Mutant("diagonal_of_columns_in_the_tile", "diagonal-in-the-tile-cols", (WHERE, 's = tl.where((cols[None, :] - (start if CAUSAL else 0) <= last) & (cols[None, :] < L), s, float("-inf"))')),
        Mutant("walk_ends_in_tiles_of_keys", "walk-ends-in-tiles-of-keys", (END, END.replace("BLOCK_M", "BLOCK_N"))),
        Mutant("rest_dropped", "rest-dropped", ("range(0, end, BLOCK_N)", "range(0, end // BLOCK_N * BLOCK_N, BLOCK_N)")),
        Mutant("reads_k_behind_the_diagonal", "property", (END, "end = L"), (V_LOAD, V_LOAD.replace("cols[:, None] < L", "(cols[:, None] < L) & (start < (pid_m + 1) * BLOCK_M if CAUSAL else True)"))),
        Mutant("causal_ignored", "causal-ignored", (LAST, "last = L - 1"), (END, "end = L")),
        Mutant("always_causal", "always-causal", (LAST, "last = offs_m[:, None]"), (END, "end = tl.minimum(L, (pid_m + 1) * BLOCK_M)")),
        Mutant("diagonal_not_masked", "no-mask-on-scores", ("        " + LAST + "\n", ""), ("        " + WHERE + "\n", "")),
        Mutant("only_the_end_is_masked", "no-diagonal-mask", (LAST, "last = L - 1")),
        Mutant("score_zero", "score-zero", (WHERE, WHERE.replace('float("-inf")', "0.0"))),
        Mutant("mask_multiplies_the_score", "score-zero", (WHERE, "s = s * (cols[None, :] <= last)")),
        Mutant("strict_diagonal", "last-key-missing", (WHERE, WHERE.replace("<=", "<"))),
        Mutant("diagonal_one_too_far", "causal-one-too-far", ("offs_m[:, None] if CAUSAL", "offs_m[:, None] + 1 if CAUSAL")),
        Mutant("mask_upside_down", "mask-upside-down", (WHERE, WHERE.replace("<=", ">="))),
        Mutant("keys_past_the_end_seen", "score-zero", ("else L - 1", "else L + BLOCK_N")),
        Mutant("walks_over_all_keys", "property", (END, "end = L")),
        Mutant("walks_one_tile_too_far", "property", (END, "end = tl.minimum(L, (pid_m + 1) * BLOCK_M + BLOCK_N) if CAUSAL else L")),
        Mutant("walk_ends_a_tile_early", "walk-ends-before-the-diagonal", (END, END.replace("(pid_m + 1)", "pid_m"))),
        Mutant("walk_ends_at_the_first_query", "walk-ends-at-the-first-query", (END, END.replace("(pid_m + 1) * BLOCK_M", "pid_m * BLOCK_M + 1"))),
        Mutant("walk_ends_causally_always", "walk-ends-causally", (END, "end = tl.minimum(L, (pid_m + 1) * BLOCK_M)")),
        Mutant("walk_ends_in_tiles", "first-tile-only", (END, END.replace("(pid_m + 1) * BLOCK_M", "pid_m + 1"))),
        Mutant("walk_of_the_first_program", "first-tile-only", (END, END.replace("(pid_m + 1) * BLOCK_M", "BLOCK_M"))),
        Mutant("start_counts_tiles", "start-counts-steps", ("range(0, end, BLOCK_N)", "range(0, tl.cdiv(end, BLOCK_N))")),
        Mutant("start_in_steps_of_one", "start-in-steps-of-one", ("range(0, end, BLOCK_N)", "range(0, end)")),
        Mutant("start_in_steps_of_queries", "start-in-steps-of-queries", ("range(0, end, BLOCK_N)", "range(0, end, BLOCK_M)")),
        Mutant("masked_by_D", "keys-masked-by-D", (K_LOAD, K_LOAD.replace("< L", "< D")), (V_LOAD, V_LOAD.replace("< L", "< D"))),
        Mutant("last_key_is_L", "causal-one-too-far", (LAST, LAST.replace("L - 1", "L"))),
        Mutant("no_other_for_v", "no-other", (V_LOAD, V_LOAD.replace(", other=0.0", "")), only="interpreter"),
        Mutant("no_key_mask", "reads-outside", (K_LOAD, "k = tl.load(k_ptr + head * L * D + tile)"), (V_LOAD, "v = tl.load(v_ptr + head * L * D + tile)")),
        Mutant("no_store_mask", ("out-of-bounds-store", "race"), (O_STORE, O_STORE.replace(", mask=offs_m[:, None] < L", ""))),
        Mutant("no_mask_on_lse", ("out-of-bounds-store", "race"), ("LN_2, mask=offs_m < L)", "LN_2)")),
        Mutant("no_query_mask", "reads-outside", ("q = tl.load(q_ptr + rows, mask=offs_m[:, None] < L, other=0.0)", "q = tl.load(q_ptr + rows)"), only="interpreter"),
        # addresses
        Mutant("values_read_as_keys", "keys-for-values", (V_LOAD, V_LOAD.replace("v_ptr", "k_ptr"))),
        Mutant("k_and_v_swapped", "values-for-keys", (LAUNCH, LAUNCH.replace("q, k, v,", "q, v, k,"))),
        Mutant("keys_of_the_first_head", "first-head-only", (K_LOAD, K_LOAD.replace("k_ptr + head * L * D + tile", "k_ptr + tile")), (V_LOAD, V_LOAD.replace("v_ptr + head * L * D + tile", "v_ptr + tile"))),
        Mutant("keys_alone_of_the_first_head", "k-of-head-times-0", (K_LOAD, K_LOAD.replace("k_ptr + head * L * D + tile", "k_ptr + tile"))),
        Mutant("values_alone_of_the_first_head", "v-of-head-times-0", (V_LOAD, V_LOAD.replace("v_ptr + head * L * D + tile", "v_ptr + tile"))),
        Mutant("heads_of_keys_overlap", "k-of-head-times-L", (K_LOAD, K_LOAD.replace("head * L * D", "head * L"))),
        Mutant("heads_of_both_overlap", "k-and-v-of-head-times-D", (K_LOAD, K_LOAD.replace("head * L * D", "head * D")), (V_LOAD, V_LOAD.replace("head * L * D", "head * D"))),
        Mutant("heads_transposed", "heads-transposed", ("tile = cols[:, None] * D + offs_d", "tile = cols[:, None] + offs_d * L")),
        Mutant("grid_in_tiles_of_keys", "property", ('triton.cdiv(L, tile["BLOCK_M"])', 'triton.cdiv(L, tile["BLOCK_N"])')),
        Mutant("rows_one_apart", "rows-one-apart", ("tile = cols[:, None] * D + offs_d", "tile = cols[:, None] + offs_d")),
        Mutant("start_forgotten", "first-tile-only", ("cols = start + tl.arange", "cols = tl.arange")),
        Mutant("always_the_first_tile", "first-tile-always", ("tile = cols[:, None] * D + offs_d", "tile = tl.arange(0, BLOCK_N)[:, None] * D + offs_d")),
        Mutant("head_of_32_bits", "int32-offset", ("tl.program_id(1).to(tl.int64)", "tl.program_id(1)"), only="interpreter"),
        Mutant("cast_too_late", "int32-offset", ("tl.program_id(1).to(tl.int64)", "tl.program_id(1)"), (K_LOAD, K_LOAD.replace("head * L * D", "(head * L * D).to(tl.int64)")), only="interpreter"),
        Mutant("one_head_for_all", (*UNWRITTEN, "race", *VALUES), ("tl.program_id(1).to(tl.int64)", "tl.program_id(1).to(tl.int64) * 0")),
        Mutant("heads_overlap", (*UNWRITTEN, "race", *VALUES), (ROWS, "rows = head * L + offs_m[:, None] * D + offs_d")),
        Mutant("grid_axes_swapped", ("reads-outside", "out-of-bounds-store", "race", *UNWRITTEN, *VALUES), ('grid = (triton.cdiv(L, tile["BLOCK_M"]), B * H)', 'grid = (B * H, triton.cdiv(L, tile["BLOCK_M"]))')),
        Mutant("grid_forgets_the_batch", UNWRITTEN, ('tile["BLOCK_M"]), B * H)', 'tile["BLOCK_M"]), H)')),
        Mutant("grid_rounded_down", UNWRITTEN, ('triton.cdiv(L, tile["BLOCK_M"])', 'L // tile["BLOCK_M"]')),
        Mutant("lse_by_tokens_then_heads", ("lse-heads-behind-tokens", *UNWRITTEN, *VALUES), ("lse_ptr + head * L + offs_m", "lse_ptr + offs_m * tl.num_programs(1) + head")),
        Mutant("lse_of_one_head", ("race", *UNWRITTEN), ("lse_ptr + head * L + offs_m", "lse_ptr + offs_m")),
        Mutant("lse_never_stored", UNWRITTEN, ("    tl.store(lse_ptr + head * L + offs_m, (m_i + tl.log2(l_i)) * LN_2, mask=offs_m < L)", "    l_i += 0")),
        # types
        Mutant("p_never_cast", ("raised", "does-not-compile"), ("p.to(v.dtype)", "p")),
        Mutant("p_cast_before_the_sum", ("rounded-early", "off-by-row", *VALUES), (P, P.replace("m_new[:, None])", "m_new[:, None]).to(q.dtype)"))),
        Mutant("converted_before_the_division", "property", ("acc / l_i[:, None]", "acc.to(q.dtype) / l_i.to(q.dtype)[:, None]")),
        Mutant("stored_in_every_step", "property", ("        m_i = m_new\n", "        m_i = m_new\n        tl.store(o_ptr + rows, acc / l_i[:, None], mask=offs_m[:, None] < L)\n")),
        Mutant("acc_in_half", "property", ("tl.zeros([BLOCK_M, D], tl.float32)", "tl.zeros([BLOCK_M, D], q.dtype)"), (ACC, 'acc = (acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")).to(q.dtype)')),
        Mutant("v_cast_up", "float32-product", (ACC, ACC.replace("p.to(v.dtype), v", "p, v.to(tl.float32)")), only="interpreter"),
        Mutant("lse_in_half", "wrong-dtype", ("dtype=torch.float32", "dtype=q.dtype")),
        Mutant("float32_result", "wrong-dtype", ("torch.empty_like(q)", "torch.empty_like(q, dtype=torch.float32)")),
        # the wrapper
        Mutant("no_check", "should-raise", ("    require_heads(q, k, v)\n", "")),
        Mutant("returns_o_alone", "wrong-type", ("return o, lse", "return o")),
        Mutant("lse_first", ("wrong-shape", "wrong-dtype"), ("return o, lse", "return lse, o")),
        Mutant("writes_over_q", ("input-changed", "aliases-input"), ("o, lse = torch.empty_like(q),", "o, lse = q,")),
        Mutant("scaled_by_torch", "torch-compute", (LAUNCH, "q = q / D**0.5\n    " + LAUNCH.replace(" / D**0.5", ""))),
        Mutant("torch_stand_in", "no-kernel-launched", replace="""
def flash_fwd(q, k, v, causal=True):
    require_heads(q, k, v)
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return o, torch.zeros(o.shape[:-1])
"""),
    ],
}

VARIANTS = {
    "attention_tiled_torch": [
        Variant("starts_far_below", ('torch.full(q.shape[:-1], float("-inf"), dtype=q.dtype, device=q.device)', "torch.full_like(q[..., 0], -1e300)")),
        Variant(
            "divides_in_every_tile",
            ("        l = l * alpha + p.sum(dim=-1)\n        acc = acc * alpha[..., None] + p @ v_tile\n", "        l_new = l * alpha + p.sum(dim=-1)\n        acc = (acc * (l * alpha)[..., None] + p @ v_tile) / l_new[..., None]\n        l = l_new\n"),
            ("return acc / l[..., None]", "return acc"),
        ),
        Variant("einsum", ("s = q @ k_tile.transpose(-1, -2) * scale", 's = torch.einsum("bhqd,bhkd->bhqk", q, k_tile) * scale')),
        Variant("split", ("    for start in range(0, k.shape[2], block):\n        k_tile, v_tile = k[:, :, start : start + block], v[:, :, start : start + block]\n", "    for k_tile, v_tile in zip(k.split(block, dim=2), v.split(block, dim=2)):\n")),
    ],
    "flash_fwd": [
        Variant("tiles_of_its_own", ("tile = attention_tile(q)", "tile = dict(BLOCK_M=64, BLOCK_N=32)")),
        Variant("small_tiles", ("tile = attention_tile(q)", "tile = dict(BLOCK_M=16, BLOCK_N=16)")),
        Variant("m_starts_far_below", (START, "tl.full([BLOCK_M], -1e38, tl.float32)")),
        Variant("natural_exponentials", ("LOG2_E / D**0.5", "1 / D**0.5"), (P, P.replace("exp2", "exp")), (ALPHA, ALPHA.replace("exp2", "exp")), (LSE, "m_i + tl.log(l_i)")),
        Variant("lse_piece_by_piece", (LSE, "m_i * LN_2 + tl.log(l_i)")),
        Variant("sum_after_the_product", ("        " + SUM + "\n", ""), ("        m_i = m_new\n", "        " + SUM + "\n        m_i = m_new\n")),
        Variant("acc_rescaled_by_itself", (ACC, 'acc = acc * alpha[:, None]\n        acc += tl.dot(p.to(v.dtype), v, input_precision="ieee")')),
        Variant("two_masks", (LAST, "last = L - 1"), (WHERE, WHERE + '\n        if CAUSAL:\n            s = tl.where(cols[None, :] <= offs_m[:, None], s, float("-inf"))')),
        Variant("scale_in_the_kernel", ("LOG2_E / D**0.5", "1 / D**0.5"), (S_DOT, S_DOT.replace("qk_scale", "(qk_scale * 1.4426950408889634)"))),
        Variant("keys_loaded_transposed", (K_LOAD, "k = tl.load(k_ptr + head * L * D + cols[None, :] * D + tl.arange(0, D)[:, None], mask=cols[None, :] < L, other=0.0)"), (S_DOT, S_DOT.replace("tl.trans(k)", "k"))),
        Variant("heads_first", ("tl.program_id(0), tl.program_id(1)", "tl.program_id(1), tl.program_id(0)"), ('(triton.cdiv(L, tile["BLOCK_M"]), B * H)', '(B * H, triton.cdiv(L, tile["BLOCK_M"]))')),
        Variant("flat_grid", ("tl.program_id(0), tl.program_id(1).to(tl.int64)", "tl.program_id(0) % tl.cdiv(L, BLOCK_M), (tl.program_id(0) // tl.cdiv(L, BLOCK_M)).to(tl.int64)"), ('(triton.cdiv(L, tile["BLOCK_M"]), B * H)', '(triton.cdiv(L, tile["BLOCK_M"]) * B * H,)')),
        Variant("divides_by_a_reciprocal", ("acc / l_i[:, None]", "acc * (1.0 / l_i)[:, None]")),
        Variant("last_tile_first", ("pid_m, head = tl.program_id(0),", "pid_m, head = tl.num_programs(0) - 1 - tl.program_id(0),")),
        Variant("tiles_of_keys_wider", ("tile = attention_tile(q)", "tile = dict(BLOCK_M=32, BLOCK_N=128)")),
        Variant("tiles_counted", ("for start in range(0, end, BLOCK_N):", "for step in range(tl.cdiv(end, BLOCK_N)):\n        start = step * BLOCK_N")),
        Variant("while_loop", ("    for start in range(0, end, BLOCK_N):", "    start = 0\n    while start < end:"), ("        m_i = m_new\n", "        m_i = m_new\n        start += BLOCK_N\n")),
        Variant("mask_added", (WHERE, 's += tl.where(cols[None, :] <= last, 0.0, float("-inf"))')),
        Variant("exponents_scaled", *BARE, (ALPHA, ALPHA.replace("m_i - m_new", "(m_i - m_new) * qk_scale")), (LSE, "(m_i * qk_scale + tl.log2(l_i)) * LN_2")),
        Variant("grid_of_three", ("tl.program_id(1).to(tl.int64)", "(tl.program_id(1) * tl.num_programs(2) + tl.program_id(2)).to(tl.int64)"), ('tile["BLOCK_M"]), B * H)', 'tile["BLOCK_M"]), B, H)')),
        Variant("no_other_for_k", (K_LOAD, K_LOAD.replace(", other=0.0", ""))),
    ],
}

NEVER_STORED = "what these masked lanes hold reaches no result: minus infinity takes its place, or no store takes it"
EQUIVALENT = {
    "attention_tiled_torch": {
        's = q @ k_tile.transpose(-1, -2) * scale => s = q @ k_tile.transpose(-1, 2) * scale': "of four dimensions, number 2 is the last but one",
        's = q @ k_tile.transpose(-1, -2) * scale => s = q @ k_tile.transpose(-2, -1) * scale': "the same two dimensions",
    },
    "flash_fwd": {
        'q = tl.load(q_ptr + rows, mask=offs_m[:, None] < L, other=0.0) => q = tl.load(q_ptr + rows, mask=offs_m[:, None] < L)': NEVER_STORED,
        'q = tl.load(q_ptr + rows, mask=offs_m[:, None] < L, other=0.0) => q = tl.load(q_ptr + rows, mask=offs_m[:, None] < L, other=1.0)': NEVER_STORED,
        'k = tl.load(k_ptr + head * L * D + tile, mask=cols[:, None] < L, other=0.0) => k = tl.load(k_ptr + head * L * D + tile, mask=cols[:, None] < L)': NEVER_STORED,
        'k = tl.load(k_ptr + head * L * D + tile, mask=cols[:, None] < L, other=0.0) => k = tl.load(k_ptr + head * L * D + tile, mask=cols[:, None] < L, other=1.0)': NEVER_STORED,
        'v = tl.load(v_ptr + head * L * D + tile, mask=cols[:, None] < L, other=0.0) => v = tl.load(v_ptr + head * L * D + tile, mask=cols[:, None] < L, other=1.0)': "their weight is 0, and 0 times any number is 0",
        'end = tl.minimum(L, (pid_m + 1) * BLOCK_M) if CAUSAL else L => end = (pid_m + 1) * BLOCK_M if CAUSAL else L': "past L everything is masked, whole tiles too",
    },
}
