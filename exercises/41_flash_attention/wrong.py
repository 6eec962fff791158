"""Wrong answers of 41_flash_attention with the diagnosis each must get, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

TORCH_STAND_IN = """
def {name}(q, k, v, causal=False, scale=None, block_m=None, block_n=None):
    check_attention_inputs(q, k, v, scale)
    if {refuse}:
        raise ValueError("head counts")
    attend = torch.nn.functional.scaled_dot_product_attention
    o = attend(q, k, v, is_causal=causal, scale=scale, enable_gqa=True)
    return o, torch.zeros(o.shape[:-1])
"""
VALUES = ("wrong-values", "wrong-tail", "rows-after-first", "nan")
NEW_MAX = "m_new = tl.maximum(m_i, tl.max(s, axis=1) * qk_scale)"
SEEN = 'base = tl.where(m_new == float("-inf"), 0.0, m_new)'

MUTANTS = {
    "attention_tiled_torch": [
        Mutant(
            "acc_not_rescaled",
            "acc-not-rescaled",
            ("acc = acc * alpha[..., None] + p", "acc = acc + p"),
        ),
        Mutant("sum_not_rescaled", "sum-not-rescaled", ("l = l * alpha + p.sum", "l = l + p.sum")),
        Mutant("not_divided", "not-divided", ("return acc / l[..., None]", "return acc")),
        Mutant(
            "scale_missing",
            "scale-missing",
            ("k_tile.transpose(-1, -2) * scale", "k_tile.transpose(-1, -2)"),
        ),
        Mutant(
            "maximum_of_the_tile_alone",
            "wrong-values",
            ("m_new = torch.maximum(m, s.amax(dim=-1))", "m_new = s.amax(dim=-1)"),
            (
                "alpha = torch.exp(m - m_new)",
                "alpha = torch.exp(torch.minimum(m - m_new, 0 * m_new))",
            ),
        ),
        Mutant(
            "last_tile_dropped",
            "wrong-values",
            ("range(0, k.shape[2], block)", "range(0, max(block, k.shape[2] - block), block)"),
        ),
        Mutant(
            "rest_dropped",
            "wrong-values",
            ("range(0, k.shape[2], block)", "range(0, k.shape[2] // block * block, block)"),
        ),
        Mutant("maximum_never_kept", "wrong-values", ("        m = m_new\n", "")),
        Mutant(
            "softmax_of_each_tile",
            "wrong-values",
            ("p = torch.exp(s - m_new[..., None])", "p = torch.softmax(s, dim=-1)"),
        ),
        Mutant(
            "all_scores_at_once",
            "property",
            replace="""
def attention_tiled_torch(q, k, v, block=16):
    return torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, dim=-1) @ v
""",
        ),
        Mutant(
            "no_maximum_at_all",
            ("wrong-values", "nan"),
            ("m_new = torch.maximum(m, s.amax(dim=-1))", "m_new = torch.zeros_like(m)"),
        ),
    ],
    "flash_fwd": [
        Mutant(
            "acc_not_rescaled", "acc-not-rescaled", ("        acc = acc * alpha[:, None]\n", "")
        ),
        Mutant(
            "sum_not_rescaled",
            "sum-not-rescaled",
            ("l_i = l_i * alpha + tl.sum", "l_i = l_i + tl.sum"),
        ),
        Mutant("not_divided", "not-divided", ("o = acc / l_safe[:, None]", "o = acc")),
        Mutant(
            "scale_missing",
            "scale-missing",
            ("qk_scale = scale * LOG2_E", "qk_scale = LOG2_E * 1.0"),
        ),
        Mutant("log2e_never", "log2e-missing", ("qk_scale = scale * LOG2_E", "qk_scale = scale")),
        Mutant(
            "log2e_twice",
            "log2e-twice",
            ("qk_scale = scale * LOG2_E", "qk_scale = scale * LOG2_E * LOG2_E"),
        ),
        Mutant(
            "maximum_in_other_units",
            (*VALUES, "lse-without-max", "unwritten"),
            (NEW_MAX, "m_new = tl.maximum(m_i, tl.max(s, axis=1))"),
        ),
        Mutant(
            "causal_ignored",
            "causal-ignored",
            ("limit = tl.minimum(limit, offs_m + 1 + Lk - Lq)", "limit = limit + 0"),
            (
                "        fewest = tl.maximum(0, tl.minimum(Lk, pid_m * BLOCK_M + 1 + Lk - Lq))\n        most = tl.maximum(0, tl.minimum(Lk, pid_m * BLOCK_M + BLOCK_M + Lk - Lq))\n",
                "        fewest, most = Lk, Lk\n",
            ),
        ),
        Mutant(
            "causal_one_short",
            "causal-strict",
            ("offs_m + 1 + Lk - Lq", "offs_m + Lk - Lq"),
            ("pid_m * BLOCK_M + 1 + Lk", "pid_m * BLOCK_M + Lk"),
        ),
        Mutant(
            "causal_one_too_far",
            "causal-one-too-far",
            ("offs_m + 1 + Lk - Lq", "offs_m + 2 + Lk - Lq"),
            ("pid_m * BLOCK_M + BLOCK_M + Lk - Lq", "pid_m * BLOCK_M + BLOCK_M + 1 + Lk - Lq"),
        ),
        Mutant(
            "causal_from_the_top_left",
            "causal-top-left",
            ("offs_m + 1 + Lk - Lq", "offs_m + 1"),
            ("pid_m * BLOCK_M + 1 + Lk - Lq", "pid_m * BLOCK_M + 1"),
            ("pid_m * BLOCK_M + BLOCK_M + Lk - Lq", "pid_m * BLOCK_M + BLOCK_M"),
        ),
        Mutant(
            "full_phase_too_long",
            (*VALUES, "reads-outside"),
            ("full = fewest // BLOCK_N * BLOCK_N", "full = most // BLOCK_N * BLOCK_N"),
        ),
        Mutant(
            "no_masked_phase",
            (*VALUES, "causal-strict"),
            ("limit, full, most,", "limit, full, full,"),
        ),
        Mutant(
            "walk_ends_a_tile_early", VALUES, ("limit, full, most,", "limit, full, most - BLOCK_N,")
        ),
        Mutant("nothing_seen_is_nan", ("nan", "wrong-values"), (SEEN, "base = m_new")),
        Mutant(
            "empty_row_divides_by_zero",
            ("nan", "wrong-values"),
            ("l_safe = tl.where(l_i == 0.0, 1.0, l_i)", "l_safe = l_i"),
        ),
        Mutant(
            "keys_past_the_end_score_zero",
            VALUES,
            ("cols[None, :] < limit[:, None], s,", "cols[None, :] < limit[:, None] + 16, s,"),
        ),
        Mutant(
            "lse_in_base_2",
            "lse-in-base-2",
            ("(m_i + tl.log2(l_safe)) * LN_2", "m_i + tl.log2(l_safe)"),
        ),
        Mutant(
            "lse_without_sum", "lse-without-sum", ("(m_i + tl.log2(l_safe)) * LN_2", "m_i * LN_2")
        ),
        Mutant(
            "lse_without_max",
            "lse-without-max",
            ("(m_i + tl.log2(l_safe)) * LN_2", "tl.log2(l_safe) * LN_2"),
        ),
        Mutant(
            "lse_never_stored",
            ("unwritten", "unwritten-tail"),
            ("    tl.store(lse_ptr + bh.to(tl.int64) * Lq + offs_m, lse, mask=offs_m < Lq)\n", ""),
        ),
        Mutant(
            "no_store_mask",
            "out-of-bounds-store",
            ("offs_d[None, :] * stride_od, o, mask=mask_q)", "offs_d[None, :] * stride_od, o)"),
        ),
        Mutant(
            "key_rows_assumed_dense",
            ("strided-only", "reads-outside"),
            ("offs_n * stride_xn + offs_d", "offs_n * D + offs_d"),
        ),
        Mutant(
            "values_read_as_keys",
            VALUES,
            (
                "            v_ptr, b, h, start, end, stride_vn",
                "            k_ptr, b, h, start, end, stride_vn",
            ),
        ),
        Mutant("p_never_cast", ("raised", "does-not-compile"), ("tl.dot(p.to(v.dtype), v, acc,", "tl.dot(p, v, acc,")),
        Mutant("p_cast_before_the_sum", VALUES, ("p = tl.exp2(s * qk_scale - base[:, None])", "p = tl.exp2(s * qk_scale - base[:, None]).to(q.dtype)")),
        Mutant("p_cast_late", "float32-product", ("acc = tl.dot(p.to(v.dtype), v, acc, input_precision=\"ieee\")", "acc += tl.dot(p, v.to(tl.float32), input_precision=\"ieee\").to(v.dtype)"), only="interpreter"),
        Mutant("head_and_batch_swapped", VALUES, ("v_ptr, b, h, limit, 0, full,", "v_ptr, h, b, limit, 0, full,"), ("v_ptr, b, h, limit, full, most,", "v_ptr, h, b, limit, full, most,"), only="interpreter"),
        Mutant("full_tiles_of_the_first_head", VALUES, ("v_ptr, b, h, limit, 0, full,", "v_ptr, b, b * 0, limit, 0, full,"), only="interpreter"),
        Mutant("masked_tiles_of_the_first_batch", VALUES, ("v_ptr, b, h, limit, full, most,", "v_ptr, b * 0, h, limit, full, most,"), only="interpreter"),
        Mutant("values_of_another_head", VALUES, ("            v_ptr, b, h, start, end, stride_vn", "            v_ptr, b, b, start, end, stride_vn"), only="interpreter"),
        Mutant(
            "one_head_for_all",
            ("unwritten", "unwritten-tail", "race", "rows-after-first", *VALUES),
            ("(bh % H).to(tl.int64)", "(bh * 0).to(tl.int64)"),
        ),
        Mutant(
            "grid_forgets_the_batch",
            ("unwritten-tail", "unwritten"),
            (
                '(triton.cdiv(Lq, options["BLOCK_M"]) * B * H,)',
                '(triton.cdiv(Lq, options["BLOCK_M"]) * H,)',
            ),
        ),
        Mutant(
            "sum_a_little_too_large",
            ("constant-factor", *VALUES),
            ("tl.sum(p, axis=1)", "tl.sum(p, axis=1) * 1.002"),
        ),
        Mutant(
            "softmax_along_queries",
            ("does-not-compile", "raised", "overflow", *VALUES),
            ("tl.max(s, axis=1)", "tl.max(s, axis=0)"),
        ),
        Mutant(
            "no_head_check",
            ("should-raise",),
            ("    if k.shape[1] != H:\n", "    if k.shape[1] > H:\n"),
        ),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace=TORCH_STAND_IN.format(name="flash_fwd", refuse="k.shape[1] != q.shape[1]"),
        ),
    ],
    "flash_gqa": [
        Mutant(
            "heads_modulo",
            "heads-modulo",
            ("head = hk * GROUP + offs_m % GROUP", "head = hk + offs_m % GROUP * HK"),
        ),
        Mutant(
            "one_key_head_for_all",
            "first-head-only",
            ("k_ptr += b * stride_kb + hk * stride_kh", "k_ptr += b * stride_kb"),
            ("v_ptr += b * stride_vb + hk * stride_vh", "v_ptr += b * stride_vb"),
        ),
        Mutant(
            "values_of_the_first_head",
            VALUES,
            ("v_ptr += b * stride_vb + hk * stride_vh", "v_ptr += b * stride_vb"),
        ),
        Mutant("full_tiles_of_the_query_head", VALUES, ("v_ptr, b, hk, limit, 0, full,", "v_ptr, b, bh, limit, 0, full,"), only="interpreter"),
        Mutant("masked_tiles_of_the_first_head", VALUES, ("v_ptr, b, hk, limit, full, most,", "v_ptr, b, hk * 0, limit, full, most,"), only="interpreter"),
        Mutant(
            "group_forgotten_in_head",
            ("race", "unwritten", "unwritten-tail", *VALUES),
            ("head = hk * GROUP + offs_m % GROUP", "head = hk + offs_m % GROUP"),
        ),
        Mutant(
            "rows_are_positions_at_the_diagonal",
            (*VALUES, "causal-one-too-far", "causal-ignored"),
            (
                "limit = tl.minimum(limit, position + 1 + Lk - Lq)",
                "limit = tl.minimum(limit, offs_m + 1 + Lk - Lq)",
            ),
        ),
        Mutant(
            "boundaries_in_rows",
            (*VALUES, "causal-ignored", "causal-one-too-far"),
            ("first, last = pid_m * BLOCK_M // GROUP,", "first, last = pid_m * BLOCK_M + BLOCK_N,"),
        ),
        Mutant(
            "walk_ends_at_the_first_position",
            (*VALUES, "causal-strict"),
            ("tl.minimum(Lk, last + 1 + Lk - Lq)", "tl.minimum(Lk, first + 1 + Lk - Lq)"),
        ),
        Mutant(
            "position_by_remainder",
            (
                "out-of-bounds-store",
                "reads-outside",
                "race",
                "unwritten",
                "unwritten-tail",
                *VALUES,
            ),
            ("position = offs_m // GROUP", "position = offs_m % GROUP"),
            ("offs_m % GROUP\n    at", "offs_m // GROUP\n    at"),
        ),
        Mutant(
            "mask_without_group",
            ("unwritten", "unwritten-tail"),
            ("mask_q = (offs_m[:, None] < Lq * GROUP)", "mask_q = (offs_m[:, None] < Lq)"),
        ),
        Mutant(
            "grid_without_group",
            ("unwritten", "unwritten-tail"),
            (
                'grid = (triton.cdiv(Lq * (H // HK), options["BLOCK_M"]) * B * HK,)',
                'grid = (triton.cdiv(Lq, options["BLOCK_M"]) * B * HK,)',
            ),
            ("my_tile(tl.cdiv(Lq * GROUP, BLOCK_M)", "my_tile(tl.cdiv(Lq, BLOCK_M)"),
        ),
        Mutant(
            "lse_per_row_of_the_tile",
            ("transposed", "out-of-bounds-store", "race", "unwritten", *VALUES),
            (
                "lse_rows = (b * HK * GROUP + head) * Lq + position",
                "lse_rows = (b * HK + hk) * GROUP * Lq + offs_m",
            ),
        ),
        Mutant(
            "lse_in_base_2",
            "lse-in-base-2",
            ("(m_i + tl.log2(l_safe)) * LN_2", "m_i + tl.log2(l_safe)"),
        ),
        Mutant(
            "causal_from_the_top_left",
            "causal-top-left",
            ("position + 1 + Lk - Lq", "position + 1"),
            ("first + 1 + Lk - Lq", "first + 1"),
            ("last + 1 + Lk - Lq", "last + 1"),
        ),
        Mutant("scaled_by_torch", "torch-compute", ("    HK, Lk = k.shape[1], k.shape[2]\n", "    q = q * 1.0\n    HK, Lk = k.shape[1], k.shape[2]\n")),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace=TORCH_STAND_IN.format(name="flash_gqa", refuse="False"),
        ),
    ],
}

VARIANTS = {
    "attention_tiled_torch": [
        Variant(
            "first_tile_apart",
            (
                'm = torch.full(q.shape[:-1], float("-inf"), dtype=q.dtype, device=q.device)',
                "m = torch.full_like(q[..., 0], -1e300)",
            ),
        ),
        Variant(
            "divides_in_every_tile",
            (
                "        l = l * alpha + p.sum(dim=-1)\n        acc = acc * alpha[..., None] + p @ v_tile\n",
                "        l_new = l * alpha + p.sum(dim=-1)\n        acc = (acc * (l * alpha)[..., None] + p @ v_tile) / l_new[..., None]\n        l = l_new\n",
            ),
            ("return acc / l[..., None]", "return acc"),
        ),
        Variant(
            "einsum",
            (
                "s = q @ k_tile.transpose(-1, -2) * scale",
                's = torch.einsum("bhqd,bhkd->bhqk", q, k_tile) * scale',
            ),
        ),
    ],
    "flash_fwd": [
        Variant(
            "one_phase_with_masks", ("full = fewest // BLOCK_N * BLOCK_N", "full = fewest * 0")
        ),
        Variant(
            "sum_after_the_product",
            ("        l_i = l_i * alpha + tl.sum(p, axis=1)\n", ""),
            (
                "        m_i = m_new\n",
                "        l_i = l_i * alpha + tl.sum(p, axis=1)\n        m_i = m_new\n",
            ),
        ),
        Variant(
            "maximum_of_scaled_scores",
            (NEW_MAX, "m_new = tl.maximum(m_i, tl.max(s * qk_scale, axis=1))"),
        ),
        Variant(
            "keys_read_transposed_once",
            (
                's = tl.dot(q, tl.trans(k), input_precision="ieee")',
                'kt = tl.trans(k)\n        s = tl.dot(q, kt, input_precision="ieee")',
            ),
        ),
        Variant(
            "divides_by_a_reciprocal",
            ("o = acc / l_safe[:, None]", "o = acc * (1.0 / l_safe)[:, None]"),
        ),
    ],
    "flash_gqa": [
        Variant(
            "one_phase_with_masks", ("full = fewest // BLOCK_N * BLOCK_N", "full = fewest * 0")
        ),
        Variant(
            "head_by_subtraction",
            (
                "head = hk * GROUP + offs_m % GROUP",
                "head = hk * GROUP + (offs_m - position * GROUP)",
            ),
        ),
        Variant(
            "one_key_head_at_a_time",
            ("HEADS_AT_ONCE=heads_at_once(Lk, D, q.element_size())", "HEADS_AT_ONCE=1"),
        ),
    ],
}
