"""Wrong answers of 44_llama_block with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

NORMED = "    normed = ops.rmsnorm(x, norm_attn, eps)\n"
PARTS = ".view(B, L, heads + 2 * kv_heads, -1).transpose(1, 2)\n"
SPLIT = "    q, k, v = parts.split((heads, kv_heads, kv_heads), dim=1)\n"
TURN = "    q, k = ops.rope(q, k, cos, sin, out=(q, k))\n"
ATTEND = "    o, _ = ops.flash_gqa(q, k, v, True)\n"
ROWS = "    o = o.transpose(1, 2).reshape(B * L, -1)\n"
ADDED = "return torch.addmm(x.view(-1, D), o, w_o).view(B, L, D)"

HALF = "    h = attention_half(x, norm_attn, w_qkv, w_o, cos, sin, heads, kv_heads, eps, ops)\n"
NORM2 = "    normed = ops.rmsnorm(h, norm_mlp, eps).view(-1, D)\n"
GATE = "    hidden = ops.silu_mul(normed @ w_gate, normed @ w_up)\n"
LAST = "return h.view(-1, D).addmm_(hidden, w_down).view(x.shape)"
TORCH_ROPE = """
    def turned(t):
        a, b = t.chunk(2, dim=-1)
        c, s = cos[:L, : a.shape[-1]], sin[:L, : a.shape[-1]]
        return torch.cat((a * c - b * s, b * c + a * s), dim=-1)

    q, k = turned(q), turned(k)
"""
TORCH_NORM = "normed = {0} * torch.rsqrt({0}.pow(2).mean(-1, keepdim=True) + eps) * {1}"

MUTANTS = {
    "attention_half": [
        Mutant("rope_missing", "rope-missing", (TURN, "")),
        Mutant("ropes_result_not_taken", "rope-missing", (TURN, "    ops.rope(q, k, cos, sin)\n")),
        Mutant("queries_alone_turned", "keys-not-turned", (TURN, "    q, _ = ops.rope(q, k, cos, sin)\n")),
        Mutant("keys_alone_turned", "queries-not-turned", (TURN, "    _, k = ops.rope(q, k, cos, sin)\n")),
        Mutant("ropes_results_swapped", "queries-for-keys", (TURN, "    k, q = ops.rope(q, k, cos, sin)\n")),
        Mutant("turned_twice", "turned-twice", (TURN, TURN + TURN)),
        Mutant("values_turned", "rope-on-values", (TURN, TURN + "    v, _ = ops.rope(v, v, cos, sin)\n")),
        Mutant("values_turned_for_keys", "rope-on-values-for-keys", (TURN, TURN.replace("q, k", "q, v"))),
        Mutant("interleaved", "interleaved", (TURN, TURN.replace("cos, sin,", "cos, sin, True,"))),
        Mutant("another_eps", "eps-not-passed", (NORMED, NORMED.replace("eps)", "EPS)"))),
        Mutant("tables_swapped", "tables-swapped", (TURN, TURN.replace("cos, sin", "sin, cos"))),
        Mutant("keys_and_values_swapped", "keys-and-values-swapped", (SPLIT, SPLIT.replace("q, k, v =", "q, v, k ="))),
        Mutant("cut_from_the_wrong_end", "another-order", (SPLIT, "    k, v, q = parts.split((kv_heads, kv_heads, heads), dim=1)\n")),
        Mutant("queries_and_keys_swapped", "queries-for-keys", (ATTEND, ATTEND.replace("q, k, v", "k, q, v"))),
        Mutant("keys_and_values_swapped_in_the_call", "values-for-keys", (ATTEND, ATTEND.replace("q, k, v", "q, v, k"))),
        Mutant("sum_and_factor_swapped", "sum-and-factor-swapped", (ADDED, ADDED.replace("x.view(-1, D), o,", "o, x.view(-1, D),"))),
        Mutant("not_causal", "not-causal", (ATTEND, ATTEND.replace(", True", ""))),
        Mutant("heads_cut_across_tokens", "heads-cut-across-tokens", (PARTS, ".view(B, heads + 2 * kv_heads, L, -1)\n")),
        Mutant("never_transposed", "tokens-and-heads-swapped", (PARTS, ".view(B, L, heads + 2 * kv_heads, -1)\n"), (SPLIT, SPLIT.replace("dim=1", "dim=2")), (ROWS, "    o = o.reshape(B * L, -1)\n")),
        Mutant("size_from_the_tables", "raised", (PARTS, PARTS.replace("-1", "2 * cos.shape[1]"))),
        Mutant("rope_by_heads", "rope-missing", (TURN, "    q, k = (t.transpose(1, 2) for t in ops.rope(q.transpose(1, 2), k.transpose(1, 2), cos, sin))\n")),
        Mutant("o_transposed_elsewhere", "another-transposition-of-o", (ROWS, ROWS.replace("1, 2", "2, 3"))),
        Mutant("o_not_transposed", "heads-not-brought-together", (ROWS, "    o = o.reshape(B * L, -1)\n")),
        Mutant("both_results_of_attention", "raised", (ATTEND, ATTEND.replace("o, _", "o"))),
        Mutant("product_of_x", "first-product-of-x", ("(normed @ w_qkv)", "(x @ w_qkv)")),
        Mutant("weight_of_ones", "norm-weight-missing", (NORMED, NORMED.replace("norm_attn", "torch.ones_like(norm_attn)"))),
        Mutant("eps_forgotten", "eps-not-passed", (NORMED, NORMED.replace(", eps", ""))),
        Mutant("residual_missing", "attention-residual-missing", (ADDED, "return (o @ w_o).view(B, L, D)")),
        Mutant("residual_of_the_norm", "residual-of-the-norm", (ADDED, ADDED.replace("x.view", "normed.view"))),
        Mutant("residual_twice", "residual-twice", (ADDED, ADDED.replace("return ", "return x + "))),
        Mutant("last_product_missing", "last-product-missing", (ADDED, "return x + o.view(B, L, D)")),
        Mutant("last_product_transposed", "last-product-transposed", (ADDED, ADDED.replace("w_o)", "w_o.t())"))),
        Mutant("residual_in_place", ("input-changed", "aliases-input"), (ADDED, "return x.view(-1, D).addmm_(o, w_o).view(B, L, D)")),
        Mutant("heads_counted_once", "raised", ("heads + 2 * kv_heads", "heads + kv_heads")),
        Mutant("torch_attention", "property", (ATTEND, "    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)\n")),
        Mutant("torch_rope", "property", (TURN, TORCH_ROPE)),
        Mutant("torch_norm", "property", (NORMED, "    " + TORCH_NORM.format("x", "norm_attn") + "\n")),
        Mutant("kernels_by_their_own_names", "property", (TURN, TURN.replace("ops.rope", "rope"))),
        Mutant("norm_by_its_own_name", "property", (NORMED, NORMED.replace("ops.rmsnorm", "rmsnorm"))),
        Mutant("heads_copied", "property", (SPLIT, SPLIT.replace("parts.split", "parts.contiguous().split"))),
        Mutant("queries_and_keys_copied", "property", (TURN, "    q, k = ops.rope(q.clone(), k.clone(), cos, sin)\n")),
        Mutant("o_viewed", "property", (ROWS, ROWS.replace("reshape", "view"))),
        Mutant("attends_twice", "property", (ATTEND, ATTEND + ATTEND)),
    ],
    "llama_block": [
        Mutant("residual_missing", "mlp-residual-missing", (LAST, "return (hidden @ w_down).view(x.shape)")),
        Mutant("residual_of_the_norm", "mlp-residual-of-the-norm", (LAST, LAST.replace("h.view", "normed.view"))),
        Mutant("residual_of_the_input", "mlp-residual-of-the-input", (LAST, "return torch.addmm(x.view(-1, D), hidden, w_down).view(x.shape)")),
        Mutant("residual_twice", "residual-counted-twice", (LAST, "return h + torch.addmm(h.view(-1, D), hidden, w_down).view(x.shape)")),
        Mutant("mlp_reads_the_input", "mlp-reads-the-input", (NORM2, NORM2.replace("(h,", "(x,"))),
        Mutant("attention_lost", "attention-left-out", (HALF, HALF + "    h = x.clone()\n")),
        Mutant("norms_swapped", "norms-swapped", (HALF, HALF.replace("norm_attn", "norm_mlp")), (NORM2, NORM2.replace("norm_mlp", "norm_attn"))),
        Mutant("first_norm_twice", "first-norm-twice", (NORM2, NORM2.replace("norm_mlp", "norm_attn"))),
        Mutant("weight_of_ones", "mlp-norm-weight-missing", (NORM2, NORM2.replace("norm_mlp", "torch.ones_like(norm_mlp)"))),
        Mutant("second_norm_missing", "second-norm-missing", (NORM2, "    normed = h.clone().view(-1, D)\n")),
        Mutant("eps_not_passed_to_attention", "eps-not-passed-to-attention", (HALF, HALF.replace("eps, ops", "ops=ops"))),
        Mutant("eps_not_passed_to_the_norm", "eps-not-passed-to-the-mlp", (NORM2, NORM2.replace(", eps", ""))),
        Mutant("ops_for_eps", ("raised", "does-not-compile"), (HALF, HALF.replace("eps, ops", "ops"))),
        Mutant("gate_and_up_swapped", "gate-and-up-swapped", (GATE, GATE.replace("w_gate", "W").replace("w_up", "w_gate").replace("W", "w_up"))),
        Mutant("gate_twice", "gate-twice", (GATE, GATE.replace("w_up", "w_gate"))),
        Mutant("up_twice", "up-twice", (GATE, GATE.replace("w_gate", "w_up"))),
        Mutant("no_silu", ("no-gate", "property"), (GATE, "    hidden = (normed @ w_gate) * (normed @ w_up)\n")),
        Mutant("down_transposed", "raised", (LAST, LAST.replace("w_down)", "w_down.t())"))),
        Mutant("torch_gate", "property", (GATE, "    hidden = torch.nn.functional.silu(normed @ w_gate) * (normed @ w_up)\n")),
        Mutant("torch_norm", "property", (NORM2, "    " + TORCH_NORM.format("h", "norm_mlp") + "\n    normed = normed.view(-1, D)\n")),
        Mutant("ops_not_passed", "property", (HALF, HALF.replace("eps, ops", "eps"))),
        Mutant("kernels_by_their_own_names", "property", (GATE, GATE.replace("ops.silu_mul", "silu_mul"))),
        Mutant("nothing_returned", ("wrong-type",), (LAST, LAST.replace("return ", ""))),
        Mutant("rows_returned", "wrong-shape", (LAST, LAST.replace(".view(x.shape)", ""))),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace="""
def llama_block(x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, *more, ops=MINE):
    h = x + (torch.nn.functional.rms_norm(x, x.shape[-1:], norm_attn) @ w_qkv[:, : w_o.shape[0]]) @ w_o
    n = torch.nn.functional.rms_norm(h, h.shape[-1:], norm_mlp)
    return h + (torch.nn.functional.silu(n @ w_gate) * (n @ w_up)) @ w_down
""",
        ),
    ],
    "from_hugging_face": [
        Mutant("nothing_turned", "weights-not-turned", ('"v"])).t()', '"v"]))'), ('w["o"].t()', 'w["o"]'), ('w["gate"].t(), w["up"].t(), w["down"].t()', 'w["gate"], w["up"], w["down"]')),
        Mutant("w_qkv_not_turned", "w-qkv-not-turned", ('"v"])).t()', '"v"]))')),
        Mutant("w_o_not_turned", "w-o-not-turned", ('w["o"].t()', 'w["o"]')),
        Mutant("down_not_turned", "w-down-not-turned", ('w["down"].t()', 'w["down"]')),
        Mutant("values_before_keys", "joined-in-another-order", ('w["k"], w["v"]', 'w["v"], w["k"]')),
        Mutant("keys_first", "joined-keys-first", ('w["q"], w["k"]', 'w["k"], w["q"]')),
        Mutant("joined_along_the_inputs", "joined-side-by-side", ('w["v"])).t()', 'w["v"]), dim=1).t()')),
        Mutant("joined_along_the_inputs_when_turned", "joined-side-by-side", ('torch.cat((w["q"], w["k"], w["v"])).t()', 'torch.cat((w["q"].t(), w["k"].t(), w["v"].t()))')),
        Mutant("norms_swapped", "norm-weights-swapped", ('w["input_layernorm"], w_qkv', 'w["post_attention_layernorm"], w_qkv'), ('        w["post_attention_layernorm"], w["gate"]', '        w["input_layernorm"], w["gate"]')),
        Mutant("gate_and_up_swapped", "gate-and-up-swapped", ('w["gate"].t(), w["up"].t()', 'w["up"].t(), w["gate"].t()')),
        Mutant("six_weights", "wrong-values", (', w["down"].t(),', ",")),
        Mutant("nothing_returned", "wrong-type", ("return (", "_ = (")),
    ],
}

VARIANTS = {
    "from_hugging_face": [
        Variant("turned_before", ('torch.cat((w["q"], w["k"], w["v"])).t()', 'torch.cat([w[name].t() for name in "qkv"], dim=1)')),
        Variant("mT", ('w["o"].t()', 'w["o"].mT'), ('w["up"].t()', 'w["up"].T')),
        Variant("a_list_of_names", ('    return (\n        w["input_layernorm"], w_qkv, w["o"].t(),\n', '    o = w["o"].transpose(0, 1)\n    return (\n        w["input_layernorm"], w_qkv, o,\n')),
    ],
    "attention_half": [
        Variant("residual_by_a_sum", (ADDED, "return x + (o @ w_o).view(B, L, D)")),
        Variant("turned_into_new_tensors", (TURN, TURN.replace(", out=(q, k)", ""))),
        Variant("product_of_rows", (NORMED, NORMED.replace("eps)", "eps).reshape(B * L, D)"))),
        Variant("slices_for_split", (SPLIT, "    q, k, v = parts[:, :heads], parts[:, heads : heads + kv_heads], parts[:, heads + kv_heads :]\n")),
        Variant("cut_before_the_transposition", (PARTS, ".view(B, L, heads + 2 * kv_heads, -1)\n"), (SPLIT, SPLIT.replace("dim=1", "dim=2") + "    q, k, v = (t.transpose(1, 2) for t in (q, k, v))\n")),
        Variant("size_by_hand", (PARTS, PARTS.replace("-1", "w_o.shape[0] // heads"))),
        Variant("three_products", ("    parts = (normed @ w_qkv)" + PARTS, "    n, m = w_o.shape[0], w_qkv.shape[1] - w_o.shape[0]\n"), (SPLIT, "    a, b, c = normed @ w_qkv[:, :n], normed @ w_qkv[:, n : n + m // 2], normed @ w_qkv[:, n + m // 2 :]\n    q, k, v = (t.view(B, L, -1, n // heads).transpose(1, 2) for t in (a, b, c))\n")),
        Variant("contiguous_rows", (ROWS, "    o = o.transpose(1, 2).contiguous().view(B * L, -1)\n")),
        Variant("einsum", ("(normed @ w_qkv)", 'torch.einsum("bld,de->ble", normed, w_qkv)')),
        Variant("turned_in_place_alone", (TURN, "    ops.rope(q, k, cos, sin, out=(q, k))\n")),
        Variant("keyword", (ATTEND, ATTEND.replace(", True", ", causal=True"))),
    ],
    "llama_block": [
        Variant("new_tensor", (LAST, "return torch.addmm(h.view(-1, D), hidden, w_down).view(x.shape)")),
        Variant("residual_by_a_sum", (LAST, "return h + (hidden @ w_down).view(x.shape)")),
        Variant("flat_afterwards", (NORM2, NORM2.replace(".view(-1, D)", "")), (GATE, "    hidden = ops.silu_mul((normed @ w_gate).flatten(0, 1), (normed @ w_up).flatten(0, 1))\n")),
        Variant("keywords", (HALF, HALF.replace("eps, ops", "eps=eps, ops=ops"))),
        Variant("sum_in_place", (LAST, "h += (hidden @ w_down).view(x.shape)\n    return h")),
    ],
}

EQUIVALENT = {
    "attention_half": {
        "parts = (normed @ w_qkv).view(B, L, heads + 2 * kv_heads, -1).transpose(1, 2) => parts = (normed @ w_qkv).view(B, L, heads + 2 * kv_heads, -1).transpose(2, 1)": "the order of the two dimensions makes no difference",
        "o = o.transpose(1, 2).reshape(B * L, -1) => o = o.transpose(2, 1).reshape(B * L, -1)": "the order of the two dimensions makes no difference",
        "q, k = ops.rope(q, k, cos, sin, out=(q, k)) => q, k = ops.rope(q, k, cos, sin)": "new tensors are as right; writing over the old ones saves time",
    },
}
