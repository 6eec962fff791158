"""Mistakes of 45_llama_decode_train with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "queries-not-turned"
PROMISES = ("keys-kept-before-the-turn", "gate-back-missing", "rope-turned-forwards")

# Sentences that several mistakes share.
SAYS = {
    "no-offset":
        "Each step's tokens are turned as if the first of them stood at position 0. `rope` has to know: "
        "`pos_offset=position`.",
    "rope-missing":
        "Queries and keys are not turned by their positions. `rope` returns both: go on with what it returns.",
    "keys-kept-before-the-turn":
        "The cache holds keys as they were before the turn. A key is turned once, by its own position, and kept like "
        "that.",
    "nothing-written":
        "The cache was read where nothing was written. Do both k and v go into it, all the new tokens, from `position` "
        "on?",
    "written-at-the-start":
        "What earlier steps wrote is lost: each step writes to the beginning of the cache, or not into the cache at "
        "all but into a tensor of its own. Write into it, from `position` on.",
    "attends-to-the-new-alone":
        "The new tokens see only each other. Attention has to get the cache, from 0 to the last new token.",
    "caches-swapped": "Keys and values have changed places, in the caches or in the call of `flash_gqa`.",
    "results-swapped":
        "What is stored as dgate is dup. Have the two changed places, or do both stores go to one tensor?",
    "rope-back-missing":
        "The gradients of q and k go through `Rope` as they are. They have to be turned back: `rope_backward`.",
    "nothing-through-rope":
        "No gradient comes back to q and k. `Rope.backward` returns one value for each input, in the order of "
        "`forward`: dq, dk, None, None. And `Rope.forward` returns a tuple.",
}

MUTANTS = {
    "llama_decode": [
        Mutant("no-offset", "{, pos_offset=position -> }", says="no-offset"),
        # RoPE is relative: a shift of all positions is right until the tables end.
        Mutant("offset-one-too-far", "pos_offset=position{ ->  + 1})", seen="raised"),
        Mutant("offset-short", "pos_offset={position -> max(position - 1, 0)}",
            says="The tokens are turned one position short. The first of them stands at `position`."),
        Mutant("offset-at-the-end", "pos_offset=position{ ->  + L})",
            says="RoPE's offset is where the new tokens end. It is where they begin: `position`."),
        Mutant("rope-missing", "{    q, k = rope(q, k, cos, sin, pos_offset=position)\n -> }", says="rope-missing"),
        Mutant("ropes-result-not-taken", "{q, k =  -> }rope(q,", says="rope-missing"),
        Mutant("queries-not-turned", "{q -> _}, k = rope(q,"),
        Mutant("keys-kept-before-the-turn", "{ -> raw = k\n    }q, k = rope(q,", "position:end] = {k -> raw}",
            says="keys-kept-before-the-turn"),
        Mutant("cache-read-to-its-end", "{[:, :, :end], cache_v[:, :, :end] -> , cache_v}",
            says="The cache was read to its end. Behind the last new token lies what was in memory before: read `[:, "
                ":, :position + L]`."),
        Mutant("values-not-kept", "{    cache_v[:, :, position:end] = v\n -> }", says="nothing-written",
            seen="reads-unwritten"),
        Mutant("keys-not-kept", "{    cache_k[:, :, position:end] = k\n -> }", says="nothing-written",
            seen="reads-unwritten", on_gpu=("nan",)),
        Mutant("cache-made-contiguous", ("cache_k[:, :, :end], cache_v[:, :, :end], True",
            "cache_k[:, :, :end].contiguous(), cache_v[:, :, :end].contiguous(), True"), seen="property"),
        Mutant("cache-repeated-for-the-heads", ("cache_k[:, :, :end], cache_v[:, :, :end], True",
            "cache_k[:, :, :end].repeat_interleave(heads // kv_heads, 1), "
            "cache_v[:, :, :end].repeat_interleave(heads // kv_heads, 1), True"), seen="property"),
        Mutant("cache-joined-each-time", ("cache_k[:, :, :end], cache_v[:, :, :end], True",
            "torch.cat((cache_k[:, :, :position], k), 2), torch.cat((cache_v[:, :, :position], v), 2), True"),
            seen="property"),
        Mutant("cache-turned-each-time", ("    q, k = rope(q, k, cos, sin, pos_offset=position)\n", ""),
            "{    o, _ = flash_gqa(q, cache_k[:, :, :end], ->     q, _ = rope(q, k, cos, sin, pos_offset=position)\n"
            "    _, turned = rope(cache_k[:, :, :end], cache_k[:, :, :end], cos, sin)\n"
            "    o, _ = flash_gqa(q, turned,}", seen="property"),
        Mutant("values-turned-for-keys", ("= rope(q, k, cos", "= rope(q, v, cos"),
            says="Values are turned and kept as keys. `rope` takes q and k."),
        Mutant("keys-without-offset",
            "{q, k = rope(q, k, cos, sin, pos_offset=position) -> q, turned = rope(q, k, cos, sin, pos_offset=position)\n"
            "    _, k = rope(q, k, cos, sin)}",
            says="Queries are turned by their positions, and keys as if they stood at 0: `pos_offset=position` for both."),
        Mutant("values-turned-too", "{q, k = rope(q, k, -> q, v = rope(q, v,}",
            says="The values were turned, and the keys were not. `rope` takes q and k, and returns both."),
        Mutant("cache-emptied", "position:end] = v\n{ ->     cache_k.zero_()\n}",
            says="The cache of keys is zero when attention reads it: what earlier steps wrote was lost."),
        Mutant("written-at-the-start", ", :, {position:end -> :L}] = k", ", {position:end -> :L}",
            says="written-at-the-start"),
        Mutant("one-token-written", "position{:end] = k -> ] = k[:, :, 0]}", "position{:end] = v -> ] = v[:, :, 0]}",
            says="nothing-written", seen="reads-unwritten"),
        Mutant("slices-in-the-wrong-dimension", "cache_k[:, {:,  -> }position:end]", ":, {:,  -> }position",
            seen="raised"),
        Mutant("end-without-l", "= position + {L -> 1}", seen="raised"),
        Mutant("attends-to-the-new-alone", "{cache_k[:, :, :end], cache_v[:, :, :end] -> k, v}",
            says="attends-to-the-new-alone"),
        Mutant("new-tokens-not-seen", "{end], cache_v[:, :, :end -> position], cache_v[:, :, :position}",
            says="Attention reads the tokens before `position` alone. A token sees itself too."),
        Mutant("last-token-not-seen", "{end], cache_v[:, :, :end ->  end - 1], cache_v[:, :, : end - 1}",
            says="The last new token is left out of what attention reads: the end of a slice is not in it."),
        Mutant("not-causal", ":, :end]{, True -> }",
            says="The tokens of a prompt see those that come after them: `flash_gqa(q, ..., ..., True)`."),
        Mutant("offset-twice", ", cos{, sin -> [position:], sin[position:]}, pos_offset",
            says="The tokens stand at twice their position. Where the tables are cut at `position`, `pos_offset` must "
                "not count it again."),
        Mutant("as-many-as-are-new", "{end], cache_v[:, :, :end -> L], cache_v[:, :, :L}",
            says="Attention reads as many tokens of the cache as are new, the first ones. The filled part ends at "
                "`position + L`."),
        Mutant("kept-after-attention", "{    cache_k[:, :, position:end] = k\n -> }",
            "{    cache_v[:, :, position:end] = v\n -> }",
            "{ ->     cache_k[:, :, position:end] = k\n    cache_v[:, :, position:end] = v\n}    return x +",
            seen=("nan", "reads-unwritten")),
        Mutant("caches-swapped", "{cache_k[:, :, :end], cache_v -> cache_v[:, :, :end], cache_k}",
            says="caches-swapped"),
        Mutant("keys-kept-for-values", "position:end] = {v -> k}", says="cache_v holds the keys. It has to hold v."),
        Mutant("values-kept-for-keys", "position:end] = {k -> v}", says="cache_k holds the values. It has to hold k."),
        Mutant("both-results-of-attention", "o{, _ -> } = flash_gqa", seen="raised"),
        Mutant("torch-attention",
            "{o, _ = flash_gqa(q, cache_k[:, :, :end], cache_v[:, :, :end], True -> import torch.nn.functional as "
            "F\n"
            "    o = torch.cat([F.scaled_dot_product_attention(q[:, :, i : i + 1], cache_k[:, :, : position + i + "
            "1], cache_v[:, :, : position + i + 1], enable_gqa=True) for i in range(L)], dim=2}",
            seen="property", on_gpu=("torch-compute",)),
    ],
    "silu_mul_backward": [
        Mutant("results-swapped", "store({dgate_ptr -> dup_ptr}",
            "tl.store({dup_ptr -> dgate_ptr} + offs, dhidden * gate", says="results-swapped"),
        Mutant("both-stored-as-dgate", ".store({dup_ptr -> dgate_ptr}", says="results-swapped"),
        Mutant("gate-and-up-swapped", ".load({gate_ptr -> up_ptr}", "up = tl.load({up_ptr -> gate_ptr} + offs, mask",
            says="gate and up have changed places. The SiLU is of gate."),
        Mutant("second-term-missing", "{(s + gate * s * (1 - s)) -> s}",
            says="The first term of the derivative stands alone. g × s is a product: s + g s (1 - s)."),
        Mutant("first-term-missing", "{(s + gate * s * (1 - s) -> gate * s * (1 - s}",
            says="The second term of the derivative stands alone. g × s is a product: s + g s (1 - s)."),
        Mutant("sigmoid-of-minus", "{tl.sigmoid(gate -> 1 / (1 + tl.exp(gate)}",
            says="s is the sigmoid of −gate: it has exp(−gate) below the line. `tl.sigmoid(gate)`."),
        Mutant("sigmoid-of-up", ".sigmoid({gate -> up})", says="s is the sigmoid of up. It is that of gate."),
        Mutant("silu-for-s", "s = { -> gate * }tl.sigmoid",
            says="s is the SiLU, gate × sigmoid(gate). In the formulas s is the sigmoid alone."),
        Mutant("brackets-missing", "{(s + gate * s * (1 - s) -> s + gate * s * (1 - s}",
            says="The brackets around s + g s (1 - s) are missing: dhidden × up multiplies both terms."),
        Mutant("dup-with-up-for-gate", "dhidden * {gate -> up} ",
            says="This is dhidden × up × s. It wants dhidden × gate × s."),
        Mutant("dup-with-the-derivative", "dhidden * {gate * s -> (s + gate * s * (1 - s))},",
            says="This is dhidden times the derivative of the SiLU. It wants dhidden × silu(gate)."),
        Mutant("derivative-of-the-sigmoid", "{(s + gate * s * (1 - s) -> s * (1 - s}",
            says="This has the derivative of the sigmoid. It wants that of g × sigmoid(g)."),
        Mutant("silu-for-its-derivative", "{(s + gate * s * (1 - s)) -> gate * s}",
            says="The SiLU itself stands where its derivative belongs."),
        Mutant("s-missing", " ({s + gate * s -> 1 + gate}", says="A factor s is missing: s (1 + g (1 - s))."),
        Mutant("g-missing", " (s + {gate *  -> }s", says="In the second term the factor g is missing."),
        Mutant("sign", "dhidden * up * (s {+ -> -} ", says="The second term is subtracted. Add it."),
        Mutant("one-plus-s", "gate * s * (1 {- -> +} ", says="1 + s stands where 1 - s belongs."),
        Mutant("dgate-without-up", "dhidden * {up *  -> }", says="The factor up is missing."),
        Mutant("dgate-without-dhidden", ", {dhidden *  -> }up", says="The factor dhidden is missing."),
        Mutant("dup-without-dhidden", " {dhidden *  -> }gate", says="The factor dhidden is missing."),
        Mutant("dup-without-the-silu", "dhidden * gate{ * s -> },",
            says="This is dhidden × gate. It wants dhidden × silu(gate): the factor s is missing."),
        Mutant("dup-without-the-gate", "dhidden * {gate *  -> }s",
            says="This is dhidden × sigmoid(gate). It wants dhidden × silu(gate): the factor gate is lost."),
        Mutant("dup-of-up", "dhidden * {gate * s -> up},", says="This is dhidden × up. It wants dhidden × silu(gate)."),
        Mutant("dgate-not-stored",
            "{    tl.store(dgate_ptr + offs, dhidden * up * (s + gate * s * (1 - s)), mask=mask)\n -> }",
            seen=("unwritten", "unwritten-tail")),
        Mutant("dup-not-stored", "{    tl.store(dup_ptr + offs, dhidden * gate * s, mask=mask)\n -> }",
            seen=("unwritten", "unwritten-tail")),
        Mutant("no-store-mask", " s{, mask=mask -> })", seen="out-of-bounds-store"),
        Mutant("no-load-mask", "up_ptr + offs{, mask=mask -> }).to(", seen="reads-outside", only="interpreter"),
        Mutant("in-half-precision", "dhidden_ptr + offs, mask=mask){.to(tl.float32) -> }",
            "up_ptr + offs, mask=mask){.to(tl.float32) -> }",
            says="dhidden × up was rounded to half precision on its way. Take all three tiles to float32 first, and "
                "round once, at the store."),
        Mutant("all-in-half-precision", "dhidden_ptr + offs, mask=mask){.to(tl.float32) -> }",
            "up_ptr + offs, mask=mask){.to(tl.float32) -> }", "{.to(tl.float32) -> }",
            ".sigmoid(gate{ -> .to(tl.float32)})",
            says="Products were rounded to half precision on their way. Take all three tiles to float32 first, and "
                "round once, at the store.",
            seen=("wrong-values", "in-half-precision")),
        Mutant("nothing-in-float32", "gate_ptr + offs, mask=mask){.to(tl.float32) -> }",
            seen=("raised", "does-not-compile")),
        Mutant("sigmoid-by-hand-overflows", "tl.{sigmoid(gate -> exp(gate) / (1 + tl.exp(gate)}",
            seen=("nan", "overflow")),
        Mutant("shapes-unchecked", "{t.shape == gate.shape and  -> }", seen="should-raise"),
        Mutant("float32-results",
            "{torch.empty_like(gate), torch.empty_like(up -> (torch.empty(gate.shape, device=gate.device) for _ in "
            "range(2)}",
            seen="wrong-dtype"),
        Mutant("grid-rounded-down", "{triton.cdiv(n_elements, 1024 -> max(n_elements // 1024, 1}",
            seen=("unwritten-tail", "unwritten")),
        Mutant("writes-into-gate", "{torch.empty_like(gate) -> gate}", seen=("input-changed", "aliases-input")),
        Mutant("by-torch",
            "{dgate, dup = … return dgate, dup -> s = torch.sigmoid(gate)\n"
            "    return dhidden * up * (s + gate * s * (1 - s)), dhidden * gate * s}", seen="no-kernel-launched"),
    ],
    "llama_train": [
        Mutant("rope-turned-forwards", " {rope_backward -> rope}",
            says="`Rope.backward` turns forwards once more. `rope_backward` turns back."),
        Mutant("rope-passes-gradients-on", "{        dq, dk = rope_backward(dq, dk, *ctx.saved_tensors)\n -> }",
            says="rope-back-missing"),
        Mutant("ropes-result-not-taken", "{dq, dk =  -> }rope_backward", says="rope-back-missing"),
        Mutant("rope-gradients-swapped", "return {dq, dk -> dk, dq},",
            says="`Rope.backward` returns the gradients of k and q. q comes first."),
        Mutant("keys-gradient-not-turned", "dq, {dk -> _} = rope_backward",
            says="The gradient of k is not turned back. `rope_backward` returns both."),
        Mutant("queries-gradient-not-turned", "{dq -> _}, dk = rope_backward",
            says="The gradient of q is not turned back. `rope_backward` returns both."),
        Mutant("rope-tables-swapped", "save_for_backward({cos, sin -> sin, cos}",
            says="In `Rope`, cos and sin come back in another order than they were kept."),
        Mutant("nones-first", "{dq, dk, None, None -> None, None, dq, dk}", says="nothing-through-rope"),
        Mutant("nothing-to-the-keys", "return dq, {dk, None -> None, dk}",
            says="No gradient comes back to k. `Rope.backward` returns one value for each input, in the order of "
                "`forward`: dq, dk, None, None."),
        Mutant("two-values-for-four", "dk{, None, None -> }", seen="raised"),
        Mutant("tables-not-kept", "{        ctx.save_for_backward(cos, sin)\n -> }", seen="raised"),
        Mutant("rope-missing-forwards", " {rope(q, k, cos, sin -> q.clone(), k.clone(}",
            says="`Rope.forward` returns q and k as they were."),
        Mutant("hidden-for-gate",
            "{ctx.save_for_backward(gate, up)\n        return silu_mul(gate, up) -> hidden = silu_mul(gate, up)\n"
            "        ctx.save_for_backward(hidden, up)\n        return hidden}",
            says="What `silu_mul` gave was kept in place of gate. The way back needs gate and up as they came in."),
        Mutant("gate-gradients-swapped", "dhidden, gate, up){ -> [::-1]}",
            says="`SiluMul.backward` returns the gradients of up and gate. gate comes first."),
        Mutant("gate-and-up-swapped-on-the-way", "save_for_backward({gate, up -> up, gate})",
            says="In `SiluMul`, gate and up come back in another order than they were kept."),
        Mutant("gate-and-up-swapped-forwards", " silu_mul({gate, up -> up, gate})",
            says="`SiluMul.forward` computes silu(up) × gate."),
        Mutant("gate-arguments", "{dhidden, gate, up -> gate, up, dhidden}",
            says="The arguments of `silu_mul_backward` are dhidden, gate, up, in this order."),
        Mutant("gate-gradient-from-the-result",
            "{silu_mul_backward(dhidden, gate, up) -> dhidden * up, dhidden * gate}",
            says="`SiluMul.backward` has the gradient of gate × up, without the SiLU."),
        Mutant("gate-back-missing", "{silu_mul_backward(dhidden, gate, up) -> dhidden, dhidden}",
            says="The gradient goes through `SiluMul` as it is. `silu_mul_backward` gives those of gate and up."),
        Mutant("gate-forwards-again", "{silu_mul_backward(dhidden, gate -> silu_mul(dhidden, gate), silu_mul(dhidden}",
            says="`SiluMul.backward` calls `silu_mul`. It wants `silu_mul_backward`."),
        Mutant("one-value-for-two", "dhidden, gate, up){ -> [0]}", seen="raised"),
        Mutant("gate-by-torch",
            "{return silu_mul_backward(dhidden, gate, up) -> s = torch.sigmoid(gate)\n"
            "        return dhidden * up * (s + gate * s * (1 - s)), dhidden * gate * s}",
            seen="property"),
        Mutant("turned-back-by-torch",
            "{dq, dk = rope_backward(dq, dk, *ctx.saved_tensors -> cos, sin = ctx.saved_tensors\n"
            "        c, s, half = cos[: dq.shape[2]], sin[: dq.shape[2]], dq.shape[3] // 2\n"
            "        dq, dk = (torch.cat((t[..., :half] * c + t[..., half:] * s, t[..., half:] * c - t[..., :half] "
            "* s), -1) for t in (dq, dk)}",
            seen="property"),
        Mutant("nothing-returned", "{return  -> }silu_mul_backward", seen="raised"),
    ],
}

VARIANTS = {
    "llama_decode": [
        Variant("copies-into-the-cache", "position:end]{ = k -> .copy_(k)}", "position:end]{ = v -> .copy_(v)}"),
        Variant("narrow-for-slices",
            "{[:, :, :end], cache_v[:, :, :end] -> .narrow(2, 0, end), cache_v.narrow(2, 0, end)}"),
        Variant("offset-by-place", "sin, {pos_offset= -> False, }"),
        Variant("tables-cut-by-hand", "{, sin, pos_offset=position -> [position:], sin[position:]}"),
        Variant("turned-in-place", "pos_offset=position{ -> , out=(q, k)})"),
        Variant("end-by-hand", "= position + {L -> q.shape[2]}"),
    ],
    "silu_mul_backward": [
        Variant("factored", " {(s + gate * s -> s * (1 + gate}"),
        Variant("through-the-silu", "{ ->     silu = gate * s\n}    tl.store(dgate_ptr", "(s + {gate * s -> silu} ",
            "dhidden * {gate * s -> silu},"),
        Variant("sigmoid-by-hand", "{tl.sigmoid(gate -> 1 / (1 + tl.exp(-gate)}"),
        Variant("smaller-tiles", "n_elements, {1024 -> 256}", "BLOCK_SIZE={1024 -> 256}"),
        Variant("filled", "up_ptr + offs, mask=mask{ -> , other=0.0}).to(tl.float32)"),
        Variant("cast-at-the-store", "{dhidden * gate * s -> (dhidden * gate * s).to(dup_ptr.dtype.element_ty)}"),
    ],
    "llama_train": [
        Variant("tables-by-name",
            "{dq, dk = rope_backward(dq, dk, *ctx.saved_tensors -> cos, sin = ctx.saved_tensors\n"
            "        dq, dk = rope_backward(dq, dk, cos, sin}"),
        Variant("unpacked", "{dq, dk = rope_backward …  dq, dk -> return *rope_backward(dq, dk, *ctx.saved_tensors)}"),
        Variant("kept-on-the-context", "{save_for_backward(cos, sin) -> tables = cos, sin}",
            ".{saved_tensors -> tables})"),
        Variant("another-order-both-times", "save_for_backward({gate, up -> up, gate})", "{gate, up -> up, gate} = ctx"),
        Variant("contiguous-gradient", "silu_mul_backward(dhidden{ -> .contiguous()},"),
    ],
}

EQUIVALENT = {
    "silu_mul_backward": {
        "dhidden = tl.load(dhidden_ptr + offs, mask=mask).to(tl.float32) => dhidden = tl.load(dhidden_ptr + offs, mask=mask)": "the other factors are float32, so the products are",
        "up = tl.load(up_ptr + offs, mask=mask).to(tl.float32) => up = tl.load(up_ptr + offs, mask=mask)": "the other factors are float32, so the products are",
    },
}
