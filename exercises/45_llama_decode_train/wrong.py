"""Wrong answers of 45_llama_decode_train with their diagnoses, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

TURN = "    q, k = rope(q, k, cos, sin, pos_offset=position)\n"
KEEP_K = "    cache_k[:, :, position:end] = k\n"
KEEP_V = "    cache_v[:, :, position:end] = v\n"
ATTEND = "    o, _ = flash_gqa(q, cache_k[:, :, :end], cache_v[:, :, :end], True)\n"
ALONE = "    o, _ = flash_gqa(q, k, v, True)\n"
UNTURNED = "    raw = k\n" + TURN

DGATE = "dhidden * up * (s + gate * s * (1 - s))"
DUP = "dhidden * gate * s"
STORE_GATE = f"    tl.store(dgate_ptr + offs, {DGATE}, mask=mask)\n"
STORE_UP = f"    tl.store(dup_ptr + offs, {DUP}, mask=mask)\n"
LOAD_GATE = "gate = tl.load(gate_ptr + offs, mask=mask).to(tl.float32)"
LOAD_UP = "up = tl.load(up_ptr + offs, mask=mask).to(tl.float32)"
LOAD_HIDDEN = "dhidden = tl.load(dhidden_ptr + offs, mask=mask).to(tl.float32)"

ROPE_BACK = "        dq, dk = rope_backward(dq, dk, *ctx.saved_tensors)\n"
ROPE_RETURN = "        return dq, dk, None, None\n"
TABLES = "        ctx.save_for_backward(cos, sin)\n"
SAVED = "        ctx.save_for_backward(gate, up)\n"
GATE_BACK = "        return silu_mul_backward(dhidden, gate, up)"

MUTANTS = {
    "llama_decode": [
        Mutant("no_offset", "no-offset", (TURN, TURN.replace(", pos_offset=position", ""))),
        # RoPE is relative: a shift of all positions is right until the tables end.
        Mutant("offset_one_too_far", "raised", (TURN, TURN.replace("=position", "=position + 1"))),
        Mutant("offset_one_short", "offset-short", (TURN, TURN.replace("=position", "=max(position - 1, 0)"))),
        Mutant("offset_at_the_end", "offset-at-the-end", (TURN, TURN.replace("=position", "=position + L"))),
        Mutant("position_for_interleaved", "no-offset", (TURN, TURN.replace("pos_offset=position", "position"))),
        Mutant("rope_missing", "rope-missing", (TURN, "")),
        Mutant("ropes_result_not_taken", "rope-missing", (TURN, TURN.replace("q, k = ", ""))),
        Mutant("queries_not_turned", "queries-not-turned", (TURN, TURN.replace("q, k = ", "_, k = "))),
        Mutant("keys_kept_before_the_turn", "keys-kept-before-the-turn", (TURN, UNTURNED), (KEEP_K, KEEP_K.replace("= k", "= raw"))),
        Mutant("turned_after_the_keeping", "keys-kept-before-the-turn", (TURN, ""), (ATTEND, TURN + ATTEND)),
        Mutant("cache_read_to_its_end", "cache-read-to-its-end", (ATTEND, "    o, _ = flash_gqa(q, cache_k, cache_v, True)\n")),
        Mutant("values_not_kept", ("reads-unwritten", "nothing-written"), (KEEP_V, "")),
        Mutant("keys_not_kept", ("reads-unwritten", "nothing-written"), (KEEP_K, ""), on_gpu=("nan",)),
        Mutant("written_at_the_start", "written-at-the-start", (KEEP_K, KEEP_K.replace("position:end", ":L")), (KEEP_V, KEEP_V.replace("position:end", ":L"))),
        Mutant("one_token_written", ("reads-unwritten", "nothing-written"), (KEEP_K, "    cache_k[:, :, position] = k[:, :, 0]\n"), (KEEP_V, "    cache_v[:, :, position] = v[:, :, 0]\n")),
        Mutant("slices_in_the_wrong_dimension", "raised", (KEEP_K, KEEP_K.replace(":, :, ", ":, ")), (KEEP_V, KEEP_V.replace(":, :, ", ":, "))),
        Mutant("end_without_l", "raised", ("    end = position + L\n", "    end = position + 1\n")),
        Mutant("keys_joined_to_a_tensor_of_its_own", "written-at-the-start", (KEEP_K, "    cache_k = torch.cat((cache_k[:, :, :position], k), dim=2)\n")),
        Mutant("attends_to_the_new_alone", "attends-to-the-new-alone", (ATTEND, ALONE)),
        Mutant("new_tokens_not_seen", "new-tokens-not-seen", (ATTEND, ATTEND.replace(":end", ":position"))),
        Mutant("last_token_not_seen", "last-token-not-seen", (ATTEND, ATTEND.replace(":end", ": end - 1"))),
        Mutant("read_from_position", "attends-to-the-new-alone", (ATTEND, ATTEND.replace(":end", "position:end"))),
        Mutant("not_causal", "not-causal", (ATTEND, ATTEND.replace(", True", ""))),
        Mutant("offset_twice", "offset-twice", (TURN, "    q, k = rope(q, k, cos[position:], sin[position:], pos_offset=position)\n")),
        Mutant("as_many_as_are_new", "as-many-as-are-new", (ATTEND, ATTEND.replace(":end", ":L"))),
        Mutant("kept_after_attention", ("nan", "reads-unwritten"), (KEEP_K, ""), (KEEP_V, ""), (ATTEND, ATTEND + KEEP_K + KEEP_V)),
        Mutant("caches_swapped", "caches-swapped", (ATTEND, ATTEND.replace("cache_k", "C").replace("cache_v", "cache_k").replace("C", "cache_v"))),
        Mutant("keys_and_values_kept_crosswise", "caches-swapped", (KEEP_K, KEEP_K.replace("= k", "= v")), (KEEP_V, KEEP_V.replace("= v", "= k"))),
        Mutant("keys_kept_twice", "keys-kept-for-values", (KEEP_V, KEEP_V.replace("= v", "= k"))),
        Mutant("values_kept_twice", "values-kept-for-keys", (KEEP_K, KEEP_K.replace("= k", "= v"))),
        Mutant("both_results_of_attention", "raised", (ATTEND, ATTEND.replace("o, _", "o"))),
        Mutant("torch_attention", "property", (ATTEND, "    import torch.nn.functional as F\n    o = torch.cat([F.scaled_dot_product_attention(q[:, :, i : i + 1], cache_k[:, :, : position + i + 1], cache_v[:, :, : position + i + 1], enable_gqa=True) for i in range(L)], dim=2)\n")),
    ],
    "silu_mul_backward": [
        Mutant("results_swapped", "results-swapped", (STORE_GATE, STORE_GATE.replace("dgate_ptr", "dup_ptr")), (STORE_UP, STORE_UP.replace("dup_ptr", "dgate_ptr"))),
        Mutant("both_stored_as_dgate", "results-swapped", (STORE_UP, STORE_UP.replace("dup_ptr", "dgate_ptr"))),
        Mutant("gate_and_up_swapped", "gate-and-up-swapped", (LOAD_GATE, LOAD_GATE.replace("gate_ptr", "up_ptr")), (LOAD_UP, LOAD_UP.replace("up_ptr", "gate_ptr"))),
        Mutant("second_term_missing", "second-term-missing", (DGATE, "dhidden * up * s")),
        Mutant("first_term_missing", "first-term-missing", (DGATE, "dhidden * up * gate * s * (1 - s)")),
        Mutant("sigmoid_of_minus", "sigmoid-of-minus", ("s = tl.sigmoid(gate)", "s = 1 / (1 + tl.exp(gate))")),
        Mutant("sigmoid_of_up", "sigmoid-of-up", ("s = tl.sigmoid(gate)", "s = tl.sigmoid(up)")),
        Mutant("silu_for_s", "silu-for-s", ("s = tl.sigmoid(gate)", "s = gate * tl.sigmoid(gate)")),
        Mutant("brackets_missing", "brackets-missing", (DGATE, "dhidden * up * s + gate * s * (1 - s)")),
        Mutant("dup_with_up_for_gate", "dup-with-up-for-gate", (STORE_UP, STORE_UP.replace("gate *", "up *"))),
        Mutant("dup_with_the_derivative", "dup-with-the-derivative", (STORE_UP, STORE_UP.replace("gate * s", "(s + gate * s * (1 - s))"))),
        Mutant("derivative_of_the_sigmoid", "derivative-of-the-sigmoid", (DGATE, "dhidden * up * s * (1 - s)")),
        Mutant("silu_for_its_derivative", "silu-for-its-derivative", (DGATE, "dhidden * up * gate * s")),
        Mutant("s_missing", "s-missing", (DGATE, "dhidden * up * (1 + gate * (1 - s))")),
        Mutant("g_missing", "g-missing", (DGATE, "dhidden * up * (s + s * (1 - s))")),
        Mutant("minus", "sign", (DGATE, "dhidden * up * (s - gate * s * (1 - s))")),
        Mutant("one_plus_s", "one-plus-s", ("(1 - s))", "(1 + s))")),
        Mutant("no_up", "dgate-without-up", (DGATE, "dhidden * (s + gate * s * (1 - s))")),
        Mutant("no_dhidden", "dgate-without-dhidden", (DGATE, "up * (s + gate * s * (1 - s))")),
        Mutant("dup_without_dhidden", "dup-without-dhidden", (STORE_UP, STORE_UP.replace("dhidden * ", ""))),
        Mutant("dup_without_s", "dup-without-the-silu", (STORE_UP, STORE_UP.replace(" * s,", ","))),
        Mutant("dup_without_gate", "dup-without-the-gate", (STORE_UP, STORE_UP.replace("gate * ", ""))),
        Mutant("dup_of_up", "dup-of-up", (STORE_UP, STORE_UP.replace("gate * s", "up"))),
        Mutant("dgate_not_stored", ("unwritten", "unwritten-tail"), (STORE_GATE, "")),
        Mutant("dup_not_stored", ("unwritten", "unwritten-tail"), (STORE_UP, "")),
        Mutant("no_store_mask", "out-of-bounds-store", (STORE_UP, STORE_UP.replace(", mask=mask", ""))),
        Mutant("no_load_mask", "reads-outside", (LOAD_UP, LOAD_UP.replace(", mask=mask", "")), only="interpreter"),
        Mutant("gate_alone_in_float32", "in-half-precision", (LOAD_HIDDEN, LOAD_HIDDEN.replace(".to(tl.float32)", "")), (LOAD_UP, LOAD_UP.replace(".to(tl.float32)", ""))),
        Mutant("sigmoid_alone_in_float32", ("all-in-half-precision", "wrong-values", "in-half-precision"), (LOAD_HIDDEN, LOAD_HIDDEN.replace(".to(tl.float32)", "")), (LOAD_UP, LOAD_UP.replace(".to(tl.float32)", "")), (LOAD_GATE, LOAD_GATE.replace(".to(tl.float32)", "")), ("tl.sigmoid(gate)", "tl.sigmoid(gate.to(tl.float32))")),
        Mutant("nothing_in_float32", ("raised", "does-not-compile"), (LOAD_GATE, LOAD_GATE.replace(".to(tl.float32)", ""))),
        Mutant("sigmoid_by_hand_overflows", ("nan", "overflow"), ("s = tl.sigmoid(gate)", "s = tl.exp(gate) / (1 + tl.exp(gate))")),
        Mutant("shapes_unchecked", "should-raise", ("t.shape == gate.shape and ", "")),
        Mutant("float32_results", "wrong-dtype", ("torch.empty_like(gate), torch.empty_like(up)", "(torch.empty(gate.shape, device=gate.device) for _ in range(2))")),
        Mutant("grid_rounded_down", ("unwritten-tail", "unwritten"), ("triton.cdiv(n_elements, 1024)", "max(n_elements // 1024, 1)")),
        Mutant("writes_into_gate", ("input-changed", "aliases-input"), ("dgate, dup = torch.empty_like(gate),", "dgate, dup = gate,")),
        Mutant("by_torch", "no-kernel-launched", replace="def silu_mul_backward(dhidden, gate, up):\n    if dhidden.shape != gate.shape:\n        raise ValueError\n    s = torch.sigmoid(gate)\n    return dhidden * up * (s + gate * s * (1 - s)), dhidden * gate * s\n"),
    ],
    "llama_train": [
        Mutant("rope_turned_forwards", "rope-turned-forwards", (ROPE_BACK, ROPE_BACK.replace("rope_backward", "rope"))),
        Mutant("rope_passes_gradients_on", "rope-back-missing", (ROPE_BACK, "")),
        Mutant("ropes_result_not_taken", "rope-back-missing", (ROPE_BACK, ROPE_BACK.replace("dq, dk = ", "", 1))),
        Mutant("rope_gradients_swapped", "rope-gradients-swapped", (ROPE_RETURN, ROPE_RETURN.replace("dq, dk", "dk, dq"))),
        Mutant("keys_gradient_not_turned", "keys-gradient-not-turned", (ROPE_BACK, ROPE_BACK.replace("dq, dk =", "dq, _ ="))),
        Mutant("queries_gradient_not_turned", "queries-gradient-not-turned", (ROPE_BACK, ROPE_BACK.replace("dq, dk =", "_, dk ="))),
        Mutant("tables_in_another_order", "rope-tables-swapped", (TABLES, TABLES.replace("cos, sin", "sin, cos"))),
        Mutant("nones_first", "nothing-through-rope", (ROPE_RETURN, ROPE_RETURN.replace("dq, dk, None, None", "None, None, dq, dk"))),
        Mutant("a_list_of_two", "nothing-through-rope", ("        return rope(q, k, cos, sin)", "        return list(rope(q, k, cos, sin))")),
        Mutant("none_for_the_keys", "nothing-to-the-keys", (ROPE_RETURN, ROPE_RETURN.replace("dq, dk, None, None", "dq, None, dk, None"))),
        Mutant("two_values_for_four", "raised", (ROPE_RETURN, ROPE_RETURN.replace(", None, None", ""))),
        Mutant("tables_not_kept", "raised", (TABLES, "")),
        Mutant("rope_missing", "rope-missing-forwards", ("        return rope(q, k, cos, sin)", "        return q.clone(), k.clone()")),
        Mutant("gate_gradients_swapped", "gate-gradients-swapped", (GATE_BACK, GATE_BACK + "[::-1]")),
        Mutant("gate_and_up_swapped_on_the_way", "gate-and-up-swapped-on-the-way", (SAVED, SAVED.replace("gate, up", "up, gate"))),
        Mutant("gate_and_up_swapped_forwards", "gate-and-up-swapped-forwards", ("        return silu_mul(gate, up)", "        return silu_mul(up, gate)")),
        Mutant("arguments_in_another_order", "gate-arguments", (GATE_BACK, GATE_BACK.replace("dhidden, gate, up", "gate, up, dhidden"))),
        Mutant("gradient_of_a_plain_product", "gate-gradient-from-the-result", (GATE_BACK, "        return dhidden * up, dhidden * gate")),
        Mutant("gradient_passed_on", "gate-back-missing", (GATE_BACK, "        return dhidden, dhidden")),
        Mutant("forwards_again", "gate-forwards-again", (GATE_BACK, "        return silu_mul(dhidden, gate), silu_mul(dhidden, up)")),
        Mutant("one_value_for_two", "raised", (GATE_BACK, GATE_BACK + "[0]")),
        Mutant("gate_by_torch", "property", (GATE_BACK, "        s = torch.sigmoid(gate)\n        return dhidden * up * (s + gate * s * (1 - s)), dhidden * gate * s")),
        Mutant("turned_back_by_torch", "property", (ROPE_BACK, "        cos, sin = ctx.saved_tensors\n        c, s, half = cos[: dq.shape[2]], sin[: dq.shape[2]], dq.shape[3] // 2\n        dq, dk = (torch.cat((t[..., :half] * c + t[..., half:] * s, t[..., half:] * c - t[..., :half] * s), -1) for t in (dq, dk))\n")),
        Mutant("nothing_returned", "raised", (GATE_BACK, GATE_BACK.replace("return ", ""))),
    ],
}

VARIANTS = {
    "llama_decode": [
        Variant("copies_into_the_cache", (KEEP_K, "    cache_k[:, :, position:end].copy_(k)\n"), (KEEP_V, "    cache_v[:, :, position:end].copy_(v)\n")),
        Variant("narrow_for_slices", (ATTEND, "    o, _ = flash_gqa(q, cache_k.narrow(2, 0, end), cache_v.narrow(2, 0, end), True)\n")),
        Variant("offset_by_place", (TURN, "    q, k = rope(q, k, cos, sin, False, position)\n")),
        Variant("tables_cut_by_hand", (TURN, "    q, k = rope(q, k, cos[position:], sin[position:])\n")),
        Variant("turned_in_place", (TURN, TURN.replace("=position", "=position, out=(q, k)"))),
        Variant("end_by_hand", ("    end = position + L\n", "    end = position + q.shape[2]\n")),
    ],
    "silu_mul_backward": [
        Variant("factored", (DGATE, "dhidden * up * s * (1 + gate * (1 - s))")),
        Variant("through_the_silu", ("    s = tl.sigmoid(gate)\n", "    s = tl.sigmoid(gate)\n    silu = gate * s\n"), (DGATE, "dhidden * up * (s + silu * (1 - s))"), (DUP, "dhidden * silu")),
        Variant("sigmoid_by_hand", ("s = tl.sigmoid(gate)", "s = 1 / (1 + tl.exp(-gate))")),
        Variant("smaller_tiles", ("triton.cdiv(n_elements, 1024)", "triton.cdiv(n_elements, 256)"), ("BLOCK_SIZE=1024", "BLOCK_SIZE=256")),
        Variant("filled", (LOAD_UP, LOAD_UP.replace("mask=mask", "mask=mask, other=0.0"))),
        Variant("cast_at_the_store", (DUP, "(dhidden * gate * s).to(dup_ptr.dtype.element_ty)")),
    ],
    "llama_train": [
        Variant("tables_by_name", (ROPE_BACK, "        cos, sin = ctx.saved_tensors\n        dq, dk = rope_backward(dq, dk, cos, sin)\n")),
        Variant("unpacked", (ROPE_BACK, ""), (ROPE_RETURN, "        return *rope_backward(dq, dk, *ctx.saved_tensors), None, None\n")),
        Variant("kept_on_the_context", (TABLES, "        ctx.tables = cos, sin\n"), (ROPE_BACK, ROPE_BACK.replace("saved_tensors", "tables"))),
        Variant("another_order_both_times", (SAVED, SAVED.replace("gate, up", "up, gate")), ("        gate, up = ctx.saved_tensors", "        up, gate = ctx.saved_tensors")),
        Variant("contiguous_gradient", (GATE_BACK, GATE_BACK.replace("(dhidden,", "(dhidden.contiguous(),"))),
    ],
}

EQUIVALENT = {
    "silu_mul_backward": {
        "dhidden = tl.load(dhidden_ptr + offs, mask=mask).to(tl.float32) => dhidden = tl.load(dhidden_ptr + offs, mask=mask)": "the other factors are float32, so the products are",
        "up = tl.load(up_ptr + offs, mask=mask).to(tl.float32) => up = tl.load(up_ptr + offs, mask=mask)": "the other factors are float32, so the products are",
    },
}
