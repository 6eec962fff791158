"""Wrong answers of 43_flash_backward with the diagnosis each must get, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

VALUES = ("wrong-values", "wrong-tail", "rows-after-first")
DST = "dst = pt * (dpt - delta[None, :])"
DS = "ds = p * (dp - delta[:, None])"
DELTA_STORE = "tl.store(delta_ptr + bh * Lq + offs_m, tl.sum(o * do, axis=1), mask=offs_m < Lq)"
STORE_DK = "tl.store(dk_ptrs + offs_d[None, :] * stride_yd, dk * scale, mask=mask)"
STORE_DQ = "tl.store(dq_ptrs + offs_d[None, :] * stride_xd, dq * scale, mask=mask)"
SAVED = "ctx.save_for_backward(q, k, v, o, lse)"

MUTANTS = {
    "attention_delta": [
        Mutant("sum_of_o", "sum-of-o", ("tl.sum(o * do, axis=1)", "tl.sum(o, axis=1)")),
        Mutant("sum_of_do", "sum-of-do", ("tl.sum(o * do, axis=1)", "tl.sum(do, axis=1)")),
        Mutant("o_twice", "squared", ("tl.sum(o * do, axis=1)", "tl.sum(o * o, axis=1)")),
        Mutant("mean_instead_of_sum", "constant-factor", ("tl.sum(o * do, axis=1)", "tl.sum(o * do, axis=1) / D")),
        Mutant("strides_of_o_for_do", ("strided-only", "reads-outside"), ("do_ptr + rows * stride_gm", "do_ptr + rows * stride_om")),
        Mutant("no_column_mask", ("reads-outside", "nan"), ("(offs_m[:, None] < Lq) & (offs_d[None, :] < D)", "(offs_m[:, None] < Lq) & (offs_d[None, :] >= 0)")),
        Mutant("no_store_mask", "out-of-bounds-store", (DELTA_STORE, DELTA_STORE.replace(", mask=offs_m < Lq", ""))),
        Mutant("first_head_alone", ("rows-after-first", *VALUES), ("o_ptr += bh // H * stride_ob + bh % H * stride_oh", "o_ptr += bh // H * stride_ob")),
        Mutant("one_batch", ("unwritten-tail", "unwritten"), ("triton.cdiv(Lq, BLOCK_M) * B * H", "triton.cdiv(Lq, BLOCK_M) * H")),
        Mutant("in_half_precision", VALUES, ("mask=mask, other=0.0).to(tl.float32)\n    do", "mask=mask, other=0.0).to(tl.float16)\n    do")),
        Mutant("result_in_half_precision", "wrong-dtype", ("dtype=torch.float32, device=o.device", "dtype=o.dtype, device=o.device")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="""
def attention_delta(o, do):
    return (o * do).sum(dim=-1)
"""),
    ],
    "flash_bwd": [
        Mutant("delta_missing", "delta-missing", (DST, "dst = pt * dpt"), (DS, "ds = p * dp")),
        Mutant("delta_missing_in_dk", (*VALUES, "delta-missing"), (DST, "dst = pt * dpt")),
        Mutant("delta_missing_in_dq", "delta-missing", (DS, "ds = p * dp")),
        Mutant("delta_added", "delta-added", (DST, DST.replace("- d", "+ d")), (DS, DS.replace("- d", "+ d"))),
        Mutant("dq_without_scale", ("scale-missing", "dq-without-scale"), (STORE_DQ, STORE_DQ.replace(" * scale", ""))),
        Mutant("dk_without_scale", ("scale-missing", "dk-without-scale"), (STORE_DK, STORE_DK.replace(" * scale", ""))),
        Mutant("no_scale_at_all", "scale-missing", (STORE_DK, STORE_DK.replace(" * scale", "")), (STORE_DQ, STORE_DQ.replace(" * scale", ""))),
        Mutant("log2e_left_in_dq", "log2e-in-gradient", (STORE_DQ, STORE_DQ.replace("dq * scale", "dq * (scale * LOG2_E)"))),
        Mutant("log2e_missing_in_p", ("log2e-missing", *VALUES), ("pt = tl.exp2(st * qk_scale - lse2[None, :])", "pt = tl.exp2((st * qk_scale - lse2[None, :]) * 0.6931471805599453)"), ("p = tl.exp2(s * qk_scale - lse2[:, None])", "p = tl.exp2((s * qk_scale - lse2[:, None]) * 0.6931471805599453)")),
        Mutant("exp_for_exp2", VALUES, ("p = tl.exp2(s * qk_scale - lse2[:, None])", "p = tl.exp(s * qk_scale - lse2[:, None])")),
        Mutant("causal_ignored", ("causal-ignored", *VALUES), ("            pt = tl.where(seen, pt, 0.0)\n", "            pt = pt * 1.0\n"), ("            p = tl.where(cols[None, :] < limit[:, None], p, 0.0)\n", "            p = p * 1.0\n")),
        Mutant("diagonal_not_masked_for_keys", (*VALUES, "causal-ignored"), ("            pt = tl.where(seen, pt, 0.0)\n", "            pt = pt * 1.0\n")),
        Mutant("mask_before_the_exponential", ("nan", *VALUES), ("        pt = tl.exp2(st * qk_scale - lse2[None, :])\n        if DIAGONAL:\n            pt = tl.where(seen, pt, 0.0)\n", "        if DIAGONAL:\n            st = tl.where(seen, st, float(\"-inf\"))\n        pt = tl.exp2(st * qk_scale - lse2[None, :])\n")),
        Mutant("one_head_of_the_group", "one-head-of-the-group", ("for g in range(GROUP):", "for g in range(1):")),
        Mutant("heads_modulo", VALUES, ("h = hk * GROUP + g", "h = hk + g * HK")),
        Mutant("keys_of_another_head", (*VALUES, "reads-outside"), ("k_ptr += b * stride_kb + h // GROUP * stride_kh", "k_ptr += b * stride_kb")),
        Mutant("p_from_ds", VALUES, ("dv = tl.dot(pt.to(do.dtype), do, dv,", "dv = tl.dot(pt.to(do.dtype), q, dv,")),
        Mutant("dp_from_k", VALUES, ("dp = tl.dot(do, tl.trans(v)", "dp = tl.dot(do, tl.trans(k)")),
        Mutant("lse_along_the_wrong_axis", ("raised", "does-not-compile", *VALUES), ("lse2[None, :])", "lse2[:, None])")),
        Mutant("no_store_mask", "out-of-bounds-store", (STORE_DK, STORE_DK.replace(", mask=mask", ""))),
        Mutant("dv_never_stored", ("unwritten",), ("    tl.store(dv_ptrs + offs_d[None, :] * stride_zd, dv, mask=mask)\n", "")),
        Mutant("rows_assumed_dense", ("strided-only", "reads-outside"), ("x_ptrs = x_ptr + (offs_n * stride_xn", "x_ptrs = x_ptr + (offs_n * D")),
        Mutant("delta_by_torch", "torch-compute", ("delta = attention_delta(o, do)", "delta = (o * do).sum(dim=-1).float()")),
        Mutant("torch_stand_in", "no-kernel-launched", replace="""
def flash_bwd(do, q, k, v, o, lse, causal=False, scale=None, block=None):
    with torch.enable_grad():
        q, k, v = (t.detach().requires_grad_() for t in (q, k, v))
        attend = torch.nn.functional.scaled_dot_product_attention
        y = attend(q, k, v, is_causal=causal, scale=scale, enable_gqa=True)
        return torch.autograd.grad(y, (q, k, v), do)
"""),
    ],
    "flash_attention": [
        Mutant("gradients_in_another_order", ("wrong-values", "raised", "wrong-shape"), ("return dq, dk, dv, None, None", "return dq, dv, dk, None, None")),
        Mutant("one_gradient_short", "raised", ("return dq, dk, dv, None, None", "return dq, dk, dv, None")),
        Mutant("causal_not_kept", VALUES, ("ctx.causal, ctx.scale = causal, scale", "ctx.causal, ctx.scale = False, scale")),
        Mutant("scale_not_kept", VALUES, ("ctx.causal, ctx.scale = causal, scale", "ctx.causal, ctx.scale = causal, None")),
        Mutant("lse_and_o_swapped", ("raised", *VALUES), (SAVED, "ctx.save_for_backward(q, k, v, lse, o)")),
        Mutant("keys_and_values_swapped", VALUES, (SAVED, "ctx.save_for_backward(q, v, k, o, lse)")),
        Mutant("no_gradient_for_v", ("raised", *VALUES), ("return dq, dk, dv, None, None", "return dq, dk, None, None, None")),
        Mutant("gradient_of_q_for_do", VALUES, ("flash_bwd(do, q, k,", "flash_bwd(q, q, k,")),
        Mutant("returns_lse_too", ("raised", "wrong-type"), ("        return o\n", "        return o, lse\n")),
        Mutant("not_causal_forwards", VALUES, ("flash_gqa(q, k, v, causal, scale)", "flash_gqa(q, k, v, False, scale)")),
    ],
}

VARIANTS = {
    "attention_delta": [
        Variant("larger_tiles", ("BLOCK_M = 32", "BLOCK_M = 64")),
        Variant("product_the_other_way", ("tl.sum(o * do, axis=1)", "tl.sum(do * o, axis=1)")),
        Variant("one_line_sum", ("tl.sum(o * do, axis=1)", "tl.sum((o * do).to(tl.float32), axis=1)")),
    ],
    "flash_bwd": [
        Variant("products_before_subtraction", (DST, "dst = pt * dpt - pt * delta[None, :]"), (DS, "ds = p * dp - p * delta[:, None]")),
        Variant("scale_from_the_left", (STORE_DQ, STORE_DQ.replace("dq * scale", "scale * dq")), (DS, "ds = (dp - delta[:, None]) * p")),
        Variant("dk_before_dv", ("        dv = tl.dot(pt.to(do.dtype), do, dv, input_precision=\"ieee\")\n        dpt =", "        dpt ="), ("        dk = tl.dot(dst.to(q.dtype), q, dk, input_precision=\"ieee\")\n", "        dk = tl.dot(dst.to(q.dtype), q, dk, input_precision=\"ieee\")\n        dv = tl.dot(pt.to(do.dtype), do, dv, input_precision=\"ieee\")\n")),
        Variant("queries_in_the_other_order", ("pid_m = num_tiles - 1 - tl.program_id(0) % num_tiles", "pid_m = tl.program_id(0) % num_tiles")),
    ],
    "flash_attention": [
        Variant("keeps_one_tuple", ("ctx.causal, ctx.scale = causal, scale", "ctx.options = (causal, scale)"), ("ctx.causal, ctx.scale)", "*ctx.options)")),
        Variant("unpacks_in_the_call", ("        q, k, v, o, lse = ctx.saved_tensors\n", ""), ("flash_bwd(do, q, k, v, o, lse,", "flash_bwd(do, *ctx.saved_tensors,")),
        Variant("returns_a_list_as_tuple", ("return dq, dk, dv, None, None", "return (*(dq, dk, dv), None, None)")),
    ],
}
