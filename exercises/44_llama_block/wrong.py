"""Mistakes of 44_llama_block with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "queries-not-turned"
PROMISES = ("rope-missing", "heads-copied", "weights-not-turned", "kernels-by-their-own-names")

# Sentences that several mistakes share.
SAYS = {
    "rope-missing":
        "Queries and keys are not turned by their positions. `rope` returns both: go on with what it returns. It takes "
        "(B, heads, L, d), so a token's position is in the third place.",
    "queries-for-keys":
        "Queries and keys have changed places: in the split, in what `rope` returns, or in the call of `flash_gqa`.",
    "eps-not-passed": "`eps` did not reach the norm: another one was used.",
    "joined-side-by-side":
        "q, k and v are joined along the inputs. Join them along the outputs: dimension 0 while they are (out, in), "
        "dimension 1 once they are turned.",
}

MUTANTS = {
    "attention_half": [
        Mutant("rope-missing", "{    q, k = ops.rope(q, k, cos, sin, out=(q, k))\n -> }", says="rope-missing"),
        Mutant("keys-not-turned", "{k = ops.rope(q, k, cos, sin, out=(q, k) -> _ = ops.rope(q, k, cos, sin}",
            says="The queries are turned, the keys are not. `rope` returns both."),
        Mutant("queries-not-turned", "{q, k = ops.rope(q, k, cos, sin, out=(q, k) -> _, k = ops.rope(q, k, cos, sin}"),
        Mutant("ropes-results-swapped",
            "{q, k = ops.rope(q, k, cos, sin, out=(q, k) -> k, q = ops.rope(q, k, cos, sin}", says="queries-for-keys"),
        Mutant("turned-twice", "{ ->     q, k = ops.rope(q, k, cos, sin, out=(q, k))\n}    o, _ = ops",
            says="Queries and keys are turned twice."),
        Mutant("rope-on-values", "{ ->     v, _ = ops.rope(v, v, cos, sin)\n}    o, _ = ops",
            says="The values are turned too. RoPE is for queries and keys alone."),
        Mutant("rope-on-values-for-keys",
            "{k = ops.rope(q, k, cos, sin, out=(q, k -> v = ops.rope(q, v, cos, sin, out=(q, v}",
            says="Queries and values are turned. RoPE is for queries and keys."),
        Mutant("interleaved", " cos, sin, { -> True, }out",
            says="Pairs of neighbours are turned. Llama's weights want the half-split form, in which element i goes "
                "with element i + d / 2."),
        Mutant("another-eps", "norm_attn, {eps -> EPS})", says="eps-not-passed"),
        Mutant("tables-swapped", " k, {cos, sin -> sin, cos}, ",
            says="cos and sin have changed places in the call of `rope`."),
        Mutant("keys-and-values-swapped", "q, {k, v -> v, k} = parts",
            says="Keys and values have changed places. The product holds q, k, v, in this order."),
        Mutant("another-order",
            "{q, k, v = parts.split((heads, kv_heads, kv_heads -> k, v, q = parts.split((kv_heads, kv_heads, heads}",
            says="The product was cut in the order k, v, q. It holds q, k, v."),
        Mutant("queries-and-keys-swapped", "flash_gqa({q, k -> k, q},", says="queries-for-keys"),
        Mutant("values-for-keys", "flash_gqa(q, {k, v -> v, k},",
            says="In the call of `flash_gqa`, keys and values have changed places."),
        Mutant("sum-and-factor-swapped", "{x.view(-1, D), o -> o, x.view(-1, D)}",
            says="o and x have changed places in the last product: `torch.addmm(c, a, b)` is c + a @ b."),
        Mutant("not-causal", "(q, k, v{, True -> }",
            says="Tokens see those that come after them. `flash_gqa` is causal only if you say so: its fourth "
                "argument."),
        Mutant("heads-cut-across-tokens",
            "{L, heads + 2 * kv_heads, -1).transpose(1, 2 -> heads + 2 * kv_heads, L, -1}",
            says="Heads were cut across tokens. In memory the heads of one token lie side by side: `.view(B, L, heads, "
                "d)` first, then `.transpose(1, 2)`."),
        Mutant("tokens-and-heads-swapped", "){.transpose(1, 2) -> }", "kv_heads), dim={1 -> 2})",
            "{transpose(1, 2). -> }",
            says="Each token attends to its own heads, not to the other tokens. Kernels want (B, heads, L, d): "
                "`.transpose(1, 2)` after the view, and back again before the last product."),
        Mutant("size-from-the-tables", "kv_heads, {-1 -> 2 * cos.shape[1]}).", seen="raised"),
        Mutant("rope-by-heads",
            "{ops.rope(q, k, cos, sin, out=(q, k -> (t.transpose(1, 2) for t in ops.rope(q.transpose(1, 2), "
            "k.transpose(1, 2), cos, sin}",
            says="rope-missing"),
        Mutant("another-transposition-of-o", "transpose({1, 2 -> 2, 3}).",
            says="o is (B, heads, L, d), and L and d were exchanged before it was made into rows. Exchange heads and "
                "L: `.transpose(1, 2)`."),
        Mutant("heads-not-brought-together", "{transpose(1, 2). -> }",
            says="o is (B, heads, L, d), and was made into rows as it is: each row holds several tokens of one head. "
                "`.transpose(1, 2)` first, so that a row holds all heads of one token."),
        Mutant("both-results-of-attention", "o{, _ -> } = ops.flash_gqa", seen="raised"),
        Mutant("first-product-of-x", "parts = ({normed -> x}",
            says="The product with w_qkv takes x itself. It has to take the normalised x."),
        Mutant("norm-weight-missing", "x, {norm_attn -> torch.ones_like(norm_attn)}, eps",
            says="The norm's weight is not used."),
        Mutant("eps-forgotten", "norm_attn{, eps -> }", says="eps-not-passed"),
        Mutant("attention-residual-missing", "{torch.addmm(x.view(-1, D), o, -> (o @}",
            says="x is not added to what attention gave."),
        Mutant("residual-of-the-norm", "torch.addmm({x -> normed}.",
            says="The normalised x is added to what attention gave. Add x as it came in."),
        Mutant("residual-twice", "return { -> x + }torch.addmm",
            says="x is added twice. `torch.addmm(x, o, w_o)` adds it already."),
        Mutant("last-product-missing", "{torch.addmm(x.view(-1, D), o, w_o) -> x + o}",
            says="The product with w_o is missing."),
        Mutant("last-product-transposed", "1, D), o, w_o{ -> .t()})",
            says="The last product takes the transpose of w_o. Here weights lie as (in, out): `o @ w_o`."),
        Mutant("residual-in-place", "{torch.addmm(x.view(-1, D),  -> x.view(-1, D).addmm_(}",
            seen=("input-changed", "aliases-input")),
        Mutant("heads-counted-once", ", heads + {2 *  -> }", seen="raised"),
        Mutant("torch-attention",
            "{, _ = ops.flash_gqa(q, k, v,  ->  = torch.nn.functional.scaled_dot_product_attention(q, k, v, "
            "is_causal=True, enable_gqa=}",
            seen="property"),
        Mutant("torch-rope",
            "{    q, k = ops.rope(q, k, cos, sin, out=(q, k) -> \n"
            "    def turned(t):\n"
            "        a, b = t.chunk(2, dim=-1)\n"
            "        c, s = cos[:L, : a.shape[-1]], sin[:L, : a.shape[-1]]\n"
            "        return torch.cat((a * c - b * s, b * c + a * s), dim=-1)\n"
            "\n"
            "    q, k = turned(q), turned(k}",
            seen="property"),
        Mutant("torch-norm",
            "{ops.rmsnorm(x, norm_attn, eps) -> x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * norm_attn}",
            seen="property"),
        Mutant("kernels-by-their-own-names", ", k = {ops. -> }rope", seen="property"),
        Mutant("norm-by-its-own-name", " = {ops. -> }rmsnorm", seen="property"),
        Mutant("heads-copied", " = parts.{ -> contiguous().}split", seen="property"),
        Mutant("queries-and-keys-copied", "{, k, cos, sin, out=(q, k) -> .clone(), k.clone(), cos, sin}",
            seen="property"),
        Mutant("o-viewed", "(1, 2).{reshape -> view}", seen="property"),
        Mutant("attends-twice", "{ ->     o, _ = ops.flash_gqa(q, k, v, True)\n}    o = o.transpose", seen="property"),
    ],
    "llama_block": [
        Mutant("mlp-residual-missing", "{h.view(-1, D).addmm_(hidden, -> (hidden @}",
            says="What attention gave is not added to what the MLP gave."),
        Mutant("mlp-residual-of-the-norm", "return {h -> normed}.view(",
            says="The MLP's half adds the normalised values. Add the values as they came out of attention."),
        Mutant("mlp-residual-of-the-input", "{h.view(-1, D).addmm_( -> torch.addmm(x.view(-1, D), }",
            says="The MLP's half adds x. It has to add what came out of attention."),
        Mutant("residual-counted-twice", "{.view(-1, D).addmm_( ->  + torch.addmm(h.view(-1, D), }",
            says="What came out of attention is added twice."),
        Mutant("mlp-reads-the-input", "ops.rmsnorm({h -> x},",
            says="The MLP reads x. It has to read what came out of attention."),
        Mutant("attention-left-out", "{ ->     h = x.clone()\n}    normed = ops",
            says="The MLP's half works on x, and what came out of attention is lost."),
        Mutant("norms-swapped", "(x, {norm_attn -> norm_mlp}, w_qkv", "(h, {norm_mlp -> norm_attn}, ",
            says="The weights of the two norms have changed places."),
        Mutant("first-norm-twice", "(h, {norm_mlp -> norm_attn}, ",
            says="The MLP's half normalises with norm_attn. It has norm_mlp."),
        Mutant("mlp-norm-weight-missing", "(h, {norm_mlp -> torch.ones_like(norm_mlp)}, ", says="norm_mlp is not used."),
        Mutant("second-norm-missing", "{ops.rmsnorm(h, norm_mlp, eps -> h.clone(}",
            says="The MLP's half does not normalise what it reads."),
        Mutant("eps-not-passed-to-attention", "kv_heads, {eps,  -> ops=}",
            says="`eps` did not reach the half with attention."),
        Mutant("eps-not-passed-to-the-mlp", " norm_mlp{, eps -> }",
            says="`eps` did not reach the norm of the MLP's half."),
        Mutant("ops-for-eps", "kv_heads, {eps,  -> }", seen=("raised", "does-not-compile")),
        Mutant("gate-and-up-swapped", "{w_gate, normed @ w_up -> w_up, normed @ w_gate}",
            says="gate and up have changed places. `silu_mul(gate, up)` puts its first argument through the SiLU."),
        Mutant("gate-twice", "normed @ {w_up -> w_gate})", says="Both arguments of `silu_mul` come from w_gate."),
        Mutant("up-twice", "normed @ {w_gate -> w_up},", says="Both arguments of `silu_mul` come from w_up."),
        Mutant("no-gate", "{ops.silu_mul(normed @ w_gate,  -> (normed @ w_gate) * (}",
            says="gate and up are multiplied without the SiLU.", seen="property"),
        Mutant("down-transposed", "hidden, w_down{ -> .t()})", seen="raised"),
        Mutant("torch-gate", "{ops.silu_mul(normed @ w_gate,  -> torch.nn.functional.silu(normed @ w_gate) * (}",
            seen="property"),
        Mutant("torch-norm",
            "{ops.rmsnorm(h, norm_mlp, eps) -> h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + eps) * norm_mlp\n"
            "    normed = normed}",
            seen="property"),
        Mutant("ops-not-passed", "kv_heads, eps{, ops -> }", seen="property"),
        Mutant("kernels-by-their-own-names", "= {ops. -> }silu_mul", seen="property"),
        Mutant("nothing-returned", "{return  -> }h.view(", seen="wrong-type"),
        Mutant("rows-returned", "{.view(x.shape) -> }", seen="wrong-shape"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            replace="""
def llama_block(x, norm_attn, w_qkv, w_o, norm_mlp, w_gate, w_up, w_down, *more, ops=MINE):
    h = x + (torch.nn.functional.rms_norm(x, x.shape[-1:], norm_attn) @ w_qkv[:, : w_o.shape[0]]) @ w_o
    n = torch.nn.functional.rms_norm(h, h.shape[-1:], norm_mlp)
    return h + (torch.nn.functional.silu(n @ w_gate) * (n @ w_up)) @ w_down
"""),
    ],
    "from_hugging_face": [
        Mutant("weights-not-turned", ', w["v"])){.t() -> }', 'w_qkv, w["o"]{.t() -> },',
            '{.t(), w["up"].t(), w["down"].t() -> , w["up"], w["down"]}',
            says="The matrices are (out, in) still. `.t()` makes them (in, out)."),
        Mutant("w-qkv-not-turned", ', w["v"])){.t() -> }', says="w_qkv is (out, in) still: `.t()`."),
        Mutant("w-o-not-turned", 'w_qkv, w["o"]{.t() -> },', says="w_o is (out, in) still: `.t()`."),
        Mutant("w-down-not-turned", 'w["down"]{.t() -> },', says="w_down is (out, in) still: `.t()`."),
        Mutant("joined-in-another-order", ', w["{k"], w["v -> v"], w["k}',
            says="w_qkv holds q, v, k. The layer cuts it into q, k, v."),
        Mutant("joined-keys-first", '((w["{q"], w["k -> k"], w["q}',
            says="w_qkv holds k, q, v. The layer cuts it into q, k, v."),
        Mutant("joined-along-the-inputs", '"k"], w["v"]){ -> , dim=1})', says="joined-side-by-side"),
        Mutant("joined-along-the-inputs-when-turned", '{, w["k"], w["v"])).t( -> .t(), w["k"].t(), w["v"].t())}',
            says="joined-side-by-side"),
        Mutant("norm-weights-swapped", "{input_layernorm -> post_attention_layernorm}",
            'w["{post_attention_layernorm -> input_layernorm}"], w[',
            says="The weights of the two norms have changed places."),
        Mutant("gate-and-up-swapped", '{gate"].t(), w["up -> up"].t(), w["gate}',
            says="w_gate and w_up have changed places."),
        Mutant("six-weights", '{ w["down"].t(), -> }', seen="wrong-values"),
        Mutant("nothing-returned", "{return -> _ =} (", seen="wrong-type"),
    ],
}

VARIANTS = {
    "from_hugging_face": [
        Variant("turned-before", '{(w["q"], w["k"], w["v"])).t( -> [w[name].t() for name in "qkv"], dim=1}'),
        Variant("mT", 'w_qkv, w["o"].{t() -> mT},', 'w["up"].{t() -> T}, w'),
        Variant("a-list-of-names",
            '{ -> o = w["o"].transpose(0, 1)\n'
            "    }return", 'w_qkv, {w["o"].t() -> o}'),
    ],
    "attention_half": [
        Variant("residual-by-a-sum", "{torch.addmm(x.view(-1, D), o, -> x + (o @}"),
        Variant("turned-into-new-tensors", "sin{, out=(q, k) -> }"),
        Variant("product-of-rows", "norm_attn, eps){ -> .reshape(B * L, D)}"),
        Variant("slices-for-split",
            "{.split((heads, kv_heads, kv_heads), dim=1) -> [:, :heads], parts[:, heads : heads + kv_heads], "
            "parts[:, heads + kv_heads :]}"),
        Variant("cut-before-the-transposition", "){.transpose(1, 2) -> }",
            "kv_heads), dim={1 -> 2)\n    q, k, v = (t.transpose(1, 2) for t in (q, k, v)})"),
        Variant("size-by-hand", "kv_heads, {-1 -> w_o.shape[0] // heads})."),
        Variant("three-products",
            "{parts = (normed … dim=1 -> n, m = w_o.shape[0], w_qkv.shape[1] - w_o.shape[0]\n"
            "    a, b, c = normed @ w_qkv[:, :n], normed @ w_qkv[:, n : n + m // 2], normed @ w_qkv[:, n + m // 2 :]\n"
            "    q, k, v = (t.view(B, L, -1, n // heads).transpose(1, 2) for t in (a, b, c)}"),
        Variant("contiguous-rows", "(1, 2).{reshape -> contiguous().view}"),
        Variant("einsum", 'parts = {(normed @ -> torch.einsum("bld,de->ble", normed,}'),
        Variant("turned-in-place-alone", "{q, k =  -> }ops.rope"),
        Variant("keyword", "(q, k, v, { -> causal=}True"),
    ],
    "llama_block": [
        Variant("new-tensor", "{h.view(-1, D).addmm_( -> torch.addmm(h.view(-1, D), }"),
        Variant("residual-by-a-sum", "{.view(-1, D).addmm_(hidden, ->  + (hidden @}"),
        Variant("flat-afterwards", "eps){.view(-1, D) -> }",
            "{normed @ w_gate, normed @ w_up -> (normed @ w_gate).flatten(0, 1), (normed @ w_up).flatten(0, 1)}"),
        Variant("keywords", "kv_heads, eps{,  -> =eps, ops=}"),
        Variant("sum-in-place",
            "{return h.view(-1, D).addmm_(hidden, w_down).view(x.shape) -> h += (hidden @ w_down).view(x.shape)\n"
            "    return h}"),
    ],
}

EQUIVALENT = {
    "attention_half": {
        "parts = (normed @ w_qkv).view(B, L, heads + 2 * kv_heads, -1).transpose(1, 2) => parts = (normed @ w_qkv).view(B, L, heads + 2 * kv_heads, -1).transpose(2, 1)": "the order of the two dimensions makes no difference",
        "o = o.transpose(1, 2).reshape(B * L, -1) => o = o.transpose(2, 1).reshape(B * L, -1)": "the order of the two dimensions makes no difference",
        "q, k = ops.rope(q, k, cos, sin, out=(q, k)) => q, k = ops.rope(q, k, cos, sin)": "new tensors are as right; writing over the old ones saves time",
    },
}
