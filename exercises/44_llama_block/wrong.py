"""Wrong answers of 44_llama_block with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

VALUES = ("wrong-values", "wrong-tail", "rows-after-first", "constant-factor")
TURN = "    q, k = rope(q, k, cos, sin, out=(q, k))\n"
STEP_TURN = "    q, k = rope(q, k, cos, sin, pos_offset=position)\n"
ADDED = "return torch.addmm(x.reshape(-1, D), o, w_o).view(B, L, D)"
ATTEND = "    o, _ = flash_gqa(q, k, v, True)\n"
STEP_ATTEND = "o, _ = flash_gqa(q, cache_k[:, :, :end], cache_v[:, :, :end], True)"
DX = "dx = torch.addmm(dgate @ w_gate.t(), dup, w_up.t())"
GRADIENTS = "return dx, x.t() @ dgate, x.t() @ dup, hidden.t() @ dy"

MUTANTS = {
    "llama_block": [
        Mutant("attention_residual_missing", "attention-residual-missing", (ADDED, "return (o @ w_o).view(B, L, D)")),
        Mutant("mlp_residual_missing", "mlp-residual-missing", ("return x.view(-1, D).addmm_(hidden, w_down).view(x.shape)", "return (hidden @ w_down).view(x.shape)")),
        Mutant("residual_of_the_norm", ("residual-of-the-norm", *VALUES), (ADDED, "return torch.addmm(h, o, w_o).view(B, L, D)"), ("return x.view(-1, D).addmm_(hidden, w_down)", "return torch.addmm(h, hidden, w_down)")),
        Mutant("mlp_adds_the_first_input", "mlp-residual-of-the-input", ("    return mlp_half(h, norm_mlp, w_gate, w_up, w_down, eps)", "    rest = torch.add(x, h, alpha=-1)\n    return torch.add(mlp_half(h, norm_mlp, w_gate, w_up, w_down, eps), rest)")),
        Mutant("mlp_reads_the_first_input", VALUES + ("mlp-on-the-input", "property", "input-changed"), ("    return mlp_half(h, norm_mlp,", "    return mlp_half(x, norm_mlp,")),
        Mutant("norms_swapped", "norms-swapped", ("    h = attention_half(x, norm_attn,", "    h = attention_half(x, norm_mlp,"), ("    return mlp_half(h, norm_mlp,", "    return mlp_half(h, norm_attn,")),
        Mutant("norm_weights_of_ones", ("norm-weights-missing",), ("h = rmsnorm(x, norm_attn, eps).view(-1, D)", "h = rmsnorm(x, torch.ones_like(norm_attn), eps).view(-1, D)"), ("h = rmsnorm(x, norm_mlp, eps)", "h = rmsnorm(x, torch.ones_like(norm_mlp), eps)")),
        Mutant("second_norm_missing", ("second-norm-missing", *VALUES), ("h = rmsnorm(x, norm_mlp, eps).view(-1, D)", "h = x.reshape(-1, D)")),
        Mutant("rope_missing", "rope-missing", (TURN, "")),
        Mutant("rope_on_values", ("rope-on-values",), (TURN, TURN + "    v, _ = rope(v, v, cos, sin)\n")),
        Mutant("keys_and_values_swapped", ("keys-and-values-swapped", *VALUES), ("    q, k, v = parts.split", "    q, v, k = parts.split")),
        Mutant("not_causal", "not-causal", (ATTEND, ATTEND.replace("True", "False"))),
        Mutant("gate_and_up_swapped", "gate-and-up-swapped", ("silu_mul(h @ w_gate, h @ w_up)", "silu_mul(h @ w_up, h @ w_gate)")),
        Mutant("heads_not_brought_together", VALUES, ("o = o.transpose(1, 2).reshape(B * L, -1)", "o = o.reshape(B * L, -1)")),
        Mutant("heads_cut_across_tokens", ("raised", *VALUES), (".view(B, L, heads + 2 * kv_heads, -1).transpose(1, 2)", ".view(B, heads + 2 * kv_heads, L, -1)")),
        Mutant("query_heads_alone_turned", (*VALUES, "rope-missing"), (TURN, "    q, _ = rope(q, k, cos, sin)\n")),
        Mutant("another_eps", VALUES, ("h = rmsnorm(x, norm_attn, eps)", "h = rmsnorm(x, norm_attn, 0.1)")),
        Mutant("torch_attention", "torch-compute", (ATTEND, "    o = attention_ref(q, k, v)\n")),
        Mutant("torch_mlp", "torch-compute", ("silu_mul(h @ w_gate, h @ w_up)", "torch.nn.functional.silu(h @ w_gate) * (h @ w_up)")),
        Mutant("torch_norm", "torch-compute", ("h = rmsnorm(x, norm_mlp, eps)", "h = norm_ref(x, norm_mlp, eps)")),
        Mutant("torch_rope", "torch-compute", (TURN, "    q, k = turn_ref(q, cos, sin), turn_ref(k, cos, sin)\n")),
        Mutant("turned_twice", VALUES, (TURN, TURN + TURN)),
        Mutant("torch_stand_in", "no-kernel-launched", replace="""
def attention_half(*arguments):
    pass


def mlp_half(*arguments):
    pass


def llama_block(*arguments):
    return block_ref(*arguments)
"""),
    ],
    "llama_decode": [
        Mutant("no_offset", VALUES + ("nan",), (STEP_TURN, STEP_TURN.replace(", pos_offset=position", ""))),
        Mutant("offset_one_too_far", ("raised", *VALUES), (STEP_TURN, STEP_TURN.replace("=position", "=position + 1"))),
        Mutant("cache_read_to_its_end", ("nan", "wrong-values", "reads-outside", "unwritten"), (STEP_ATTEND, "o, _ = flash_gqa(q, cache_k, cache_v, True)")),
        Mutant("values_not_kept", ("nan", "wrong-values", "unwritten", "reads-outside"), ("    cache_v[:, :, position:end] = v\n", "")),
        Mutant("keys_not_kept", ("nan", "wrong-values", "unwritten", "reads-outside"), ("    cache_k[:, :, position:end] = k\n", "")),
        Mutant("cache_written_at_the_start", ("nan", "wrong-values", "unwritten", "reads-outside"), ("cache_k[:, :, position:end] = k", "cache_k[:, :, :L] = k"), ("cache_v[:, :, position:end] = v", "cache_v[:, :, :L] = v")),
        Mutant("attends_to_the_new_alone", VALUES, (STEP_ATTEND, "o, _ = flash_gqa(q, k, v, True)")),
        Mutant("new_token_not_seen", ("nan", *VALUES), (STEP_ATTEND, "o, _ = flash_gqa(q, cache_k[:, :, : max(end - 1, 1)], cache_v[:, :, : max(end - 1, 1)], True)")),
        Mutant("not_causal", ("not-causal", *VALUES), (STEP_ATTEND, STEP_ATTEND.replace("True", "False"))),
        Mutant("keys_kept_before_the_turn", VALUES, (STEP_TURN, ""), ("    o, _ = flash_gqa(q, cache_k", "    q, _ = rope(q, k, cos, sin, pos_offset=position)\n    o, _ = flash_gqa(q, cache_k")),
        Mutant("residual_missing", ("attention-residual-missing", *VALUES), (ADDED, "return (o @ w_o).view(B, L, D)")),
        Mutant("torch_attention", "torch-compute", (STEP_ATTEND, "o = attention_ref(q, cache_k[:, :, :end], cache_v[:, :, :end])")),
    ],
    "llama_train": [
        Mutant("rope_turned_forwards", VALUES, ("return *rope_backward(dq, dk, cos, sin), None, None", "return *rope(dq, dk, cos, sin), None, None")),
        Mutant("rope_passes_gradients_on", VALUES, ("return *rope_backward(dq, dk, cos, sin), None, None", "return dq, dk, None, None")),
        Mutant("rope_gradients_swapped", ("raised", *VALUES), ("return *rope_backward(dq, dk, cos, sin), None, None", "dq, dk = rope_backward(dq, dk, cos, sin)\n        return dk, dq, None, None")),
        Mutant("gate_left_out_of_dx", VALUES, (DX, "dx = dup @ w_up.t()")),
        Mutant("up_left_out_of_dx", VALUES, (DX, "dx = dgate @ w_gate.t()")),
        Mutant("gradients_of_gate_and_up_swapped", VALUES, (GRADIENTS, GRADIENTS.replace("x.t() @ dgate, x.t() @ dup", "x.t() @ dup, x.t() @ dgate"))),
        Mutant("gate_and_up_swapped", VALUES, ("gate, up = x @ w_gate, x @ w_up", "gate, up = x @ w_up, x @ w_gate")),
        Mutant("w_down_from_gate", VALUES, (GRADIENTS, GRADIENTS.replace("hidden.t() @ dy", "gate.t() @ dy"))),
        Mutant("weights_not_transposed", ("raised",), ("silu_mul_backward(dy @ w_down.t(), gate, up)", "silu_mul_backward(dy @ w_down, gate, up)")),
        Mutant("gate_by_torch", "torch-compute", ("dgate, dup, hidden = silu_mul_backward(dy @ w_down.t(), gate, up)", "dh, silu = dy @ w_down.t(), torch.nn.functional.silu(gate)\n        dgate, dup, hidden = dh * up * (torch.sigmoid(gate) + silu * (1 - torch.sigmoid(gate))), dh * silu, silu * up")),
    ],
}

VARIANTS = {
    "llama_block": [
        Variant("fused_gate", ("hidden = silu_mul(h @ w_gate, h @ w_up)", 'hidden = reference("gate_up_swiglu")(h, w_gate, w_up)')),
        Variant("residual_by_a_sum", (ADDED, "return x + (o @ w_o).view(B, L, D)")),
        Variant("reshape_for_view", ("h = rmsnorm(x, norm_attn, eps).view(-1, D)", "h = rmsnorm(x, norm_attn, eps).reshape(B * L, D)")),
        Variant("slices_for_split", ("    q, k, v = parts.split((heads, kv_heads, kv_heads), dim=1)\n", "    q, k, v = parts[:, :heads], parts[:, heads : heads + kv_heads], parts[:, heads + kv_heads :]\n")),
    ],
    "llama_decode": [
        Variant("copies_into_the_cache", ("cache_k[:, :, position:end] = k", "cache_k[:, :, position:end].copy_(k)"), ("cache_v[:, :, position:end] = v", "cache_v[:, :, position:end].copy_(v)")),
        Variant("narrow_for_slices", (STEP_ATTEND, "o, _ = flash_gqa(q, cache_k.narrow(2, 0, end), cache_v.narrow(2, 0, end), True)")),
        Variant("residual_by_a_sum", (ADDED, "return x + (o @ w_o).view(B, L, D)")),
    ],
    "llama_train": [
        Variant("dx_by_a_sum", (DX, "dx = dgate @ w_gate.t() + dup @ w_up.t()")),
        Variant("products_transposed", (GRADIENTS, "return dx, (dgate.t() @ x).t(), (dup.t() @ x).t(), (dy.t() @ hidden).t()")),
        Variant("gate_and_up_one_by_one", ("        gate, up = x @ w_gate, x @ w_up\n", "        gate = torch.mm(x, w_gate)\n        up = torch.mm(x, w_up)\n")),
    ],
}
