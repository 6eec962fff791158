"""Mistakes of 41_flash_attention with what is said of each, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = """
    acc-counted-twice acc-not-rescaled acc-starts-again always-causal causal-ignored causal-strict divided-in-every-tile
    factor-in-another-base first-head-only first-tile-always keys-for-values last-key-missing log2e-missing
    lse-divided-by-ln2 lse-heads-behind-tokens lse-in-base-2 lse-is-the-sum lse-log-scaled-twice lse-log-subtracted
    lse-log2-of-the-sum lse-maximum-in-base-2 lse-of-mixed-bases lse-without-logarithm lse-without-max lse-without-sum
    mask-upside-down maximum-added maximum-along-queries maximum-before-the-mask maximum-in-other-units maximum-not-kept
    maximum-of-another-query maximum-of-the-tile maximum-of-the-whole-tile multiplied-by-the-sum no-diagonal-mask
    no-mask-on-scores no-scale-at-all not-divided nothing-rescaled queries-and-keys-swapped reduced-along-queries
    scale-missing scale-twice scale-upside-down start-counts-steps start-in-steps-of-one start-in-steps-of-queries
    sum-along-queries sum-counted-twice sum-not-rescaled sum-of-the-whole-tile sum-starts-again too-little-taken-off
    values-for-keys walk-ends-at-the-first-query walk-ends-before-the-diagonal walk-ends-causally
    weights-without-maximum
"""
PROMISES = ("all-scores-at-once", "acc-not-rescaled", "grid-in-tiles-of-keys")

UNWRITTEN = ("unwritten", "unwritten-tail")

# Sentences that several mistakes share.
SAYS = {
    "last-tile-only":
        "Only the last tile counts. Do l and acc start again with each tile, or is the new m never kept? Then the "
        "factor is exp(-inf), always 0.",
    "rest-dropped": "The last keys never take part: their number is not a multiple of `block`.",
    "nothing-added":
        "The result is 0 everywhere: nothing is ever added to acc, or the factor is applied to it. The factor, 0 in "
        "the first tile, is for what was there before.",
    "first-tile-only":
        "Only the first tile counts. How many keys are there? They are dimension 2 of k. Or does `return` stand inside "
        "the loop?",
    "rounded-early":
        "The result is nearly right: something is rounded to half precision too early. Is it q times the scale, or p "
        "before it is summed? Scores and sums stay in float32.",
}

MUTANTS = {
    "attention_tiled_torch": [
        Mutant("ready-made", seen="property", body="return torch.nn.functional.scaled_dot_product_attention(q, k, v)"),
        Mutant("powers-of-two", "alpha = torch.{exp -> exp2}(", "p = torch.{exp -> exp2}(",
            says="These are powers of 2. The softmax is to base e: `torch.exp`, or a scale with log2(e) in it."),
        Mutant("keys-and-values-exchanged", ("k_tile, v_tile = k[", "v_tile, k_tile = k["),
            says="Keys and values have changed places: the scores are made of V, and what they weight is K."),
        Mutant("a-softmax-for-each-tile", "p = {torch.exp(s - m_new[..., None]) -> torch.softmax(s, dim=-1)}",
            says="p is the softmax of one tile: its weights add up to 1 there. It is exp(s - m_new), and the division "
                "comes once, at the end."),
        Mutant("causal-here",
            "* scale{ -> \n        later = torch.arange(start, start + s.shape[-1], device=s.device)\n"
            "        late = later > torch.arange(s.shape[-2], device=s.device)[:, None]\n"
            '        s = s.masked_fill(late, float("-inf"))}',
            says="Queries see only the keys up to their own place. In this task there is no mask: each sees all."),
        Mutant("acc-not-rescaled", "{* alpha[..., None]  -> }"),
        Mutant("sum-not-rescaled", "l = l {* alpha  -> }"),
        Mutant("nothing-rescaled", "{        alpha = torch.exp(m - m_new)\n -> }",
            "{ ->         m = m_new\n        alpha = torch.exp(m - m_new)\n}        l = l "),
        Mutant("not-divided", "{ / l[..., None] -> }"),
        Mutant("scale-missing", "1, -2){ * scale -> }"),
        Mutant("scale-twice", "s = q { -> * scale }@ k_tile"),
        Mutant("maximum-of-the-tile", "{torch.maximum(m, s.amax(dim=-1) -> s.amax(dim=-1}"),
        Mutant("no-maximum-at-all", "{maximum(m, s.amax(dim=-1) -> zeros_like(m}", "{        m = m_new\n -> }",
            ".{exp(m - m_new -> ones_like(m}", says="no-maximum"),
        Mutant("maximum-never-kept", "{        m = m_new\n -> }", says="last-tile-only"),
        Mutant("last-tile-dropped", "(0, {k.shape[2] -> max(block, k.shape[2] - block)}", says="rest-dropped"),
        Mutant("rest-dropped", "0, k.shape[2]{ ->  // block * block},", says="rest-dropped"),
        Mutant("last-tile-only", "= {l * alpha +  -> }", "{acc * alpha[..., None] +  -> }", says="last-tile-only"),
        Mutant("softmax-of-each-tile", "{exp(s - m_new[..., None] -> softmax(s, dim=-1}", "{* alpha[..., None]  -> }",
            "{ / l[..., None] -> }",
            says="Each tile got a softmax of its own. Keep the sum l over all tiles, and divide once at the end."),
        Mutant("factor-upside-down", ".exp({m - m_new -> m_new - m}", seen="nan"),
        Mutant("maximum-over-queries", ".amax(dim=-{1 -> 2}))",
            seen=("raised", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("m-starts-at-zero", "{full(q.shape … q.device -> zeros_like(q[..., 0]}", says="m-starts-at-zero"),
        Mutant("divided-in-every-tile",
            "{acc * alpha[..., None] + p @ v_tile -> (acc * alpha[..., None] + p @ v_tile) / l[..., None]}",
            "acc{ / l[..., None] -> }"),
        Mutant("divided-after-every-tile", "+ p @ v_tile{ -> \n        acc = acc / l[..., None]}", says="divided-in-every-tile"),
        Mutant("all-scores-at-once", seen="property",
            body="return torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, dim=-1) @ v"),
        Mutant("nothing-summed", "{ + p.sum(dim=-1) -> }", says="nothing-summed"),
        Mutant("nothing-added", "]{ + p @ v_tile -> }", says="nothing-added"),
        Mutant("sum-starts-again", "= {l * alpha +  -> }"),
        Mutant("acc-starts-again", "{acc * alpha[..., None] +  -> }"),
        Mutant("multiplied-by-the-sum", "return acc {/ -> *} l"),
        Mutant("maximum-of-everything", " s.{amax(dim=-1 -> max(}",
            says="The maximum is that of all queries and heads, and the weights of a query whose scores are far "
                "smaller are all 0. Each query has its own: dim=-1."),
        Mutant("sum-of-everything", " p.sum({dim=-1 -> })",
            says="l adds up the weights of all queries and heads. Each query has a sum of its own: dim=-1."),
        Mutant("maximum-added", "torch.exp(s {- -> +} "),
        Mutant("heads-counted-for-keys", "(0, k.shape[{2 -> 1}]", says="first-tile-only"),
        Mutant("tiles-of-queries-counted", "in range(0, {k -> q}.",
            says="The walk has as many tiles as the queries need. It is a walk over keys, dimension 2 of k."),
        Mutant("block-fixed-at-16", "{block], v[:, :, start : start + block -> 16], v[:, :, start : start + 16}",
            seen=("wrong-values", "wrong-tail", "rows-after-first", "nan", "raised")),
        Mutant("factor-after-the-sum", "{l * alpha + p.sum(dim=-1) -> (l + p.sum(dim=-1)) * alpha}",
            says="nothing-summed"),
        Mutant("factor-after-the-product",
            "{acc * alpha[..., None] + p @ v_tile -> (acc + p @ v_tile) * alpha[..., None]}", says="nothing-added"),
        Mutant("sum-counted-twice", "l { -> +}= l * alpha "),
        Mutant("acc-counted-twice", "acc { -> +}= acc * alpha"),
        Mutant("m-starts-at-minus-100", "{full(q.shape … q.device -> full_like(q[..., 0], -100.0}",
            says="m-starts-at-zero"),
        Mutant("start-in-steps-of-one", "shape[2]{, block -> }",
            says="Each step of the walk goes on by one key, so the tiles overlap: the third argument of `range` is the "
                "step."),
        Mutant("start-counts-steps", "{0, k.shape[2], block -> -(-k.shape[2] // block)}",
            says="`start` counts 0, 1, 2 ... up to the number of tiles, so the tiles overlap. It is a number of keys."),
        Mutant("start-counts-full-steps", "{0, k.shape[2], -> k.shape[2] //}",
            says="`start` counts 0, 1, 2 ... up to the number of full tiles, so the tiles overlap. It is a number of "
                "keys."),
        Mutant("tiles-without-end", "{ : start + block], v[:, :, start : start + block -> :], v[:, :, start:}",
            says="Each tile goes on to the last key. It ends at start + block."),
        Mutant("tiles-one-short", "{], v[:, :, start : start + block ->  - 1], v[:, :, start : start + block - 1}",
            says="The last key of each tile is left out. The end of a slice does not belong to it: start + block is "
                "right."),
        Mutant("tiles-one-long", "{], v[:, :, start : start + block ->  + 1], v[:, :, start : start + block + 1}",
            says="The first key of each tile belongs to the one before it too. The end of a slice does not belong to "
                "it: start + block is right."),
        Mutant("maximum-not-scaled", "1, -2){ * scale -> }", " torch.exp(s { -> * scale }-",
            says="m is the largest bare product of q and k, and is subtracted from scaled scores: the weights become "
                "0, or infinite. Scale before the maximum."),
        Mutant("factor-not-scaled", "1, -2){ * scale -> }", "{s - m_new[..., None] -> (s - m_new[..., None]) * scale}",
            says="The weights are scaled, and the m in the factor is not. Scale before the maximum."),
        Mutant("factor-of-two-exponentials", "torch.exp(m{ -  -> ) / torch.exp(}", says="no-maximum"),
        Mutant("weights-with-the-old-maximum", "exp(s - {m_new -> m}[", seen="nan"),
        Mutant("keys-for-values", "] + p @ {v_tile -> k_tile}"),
        Mutant("maximum-never-below-zero", ".amax(dim=-1)){ -> .clamp(min=0)}", says="m-starts-at-zero"),
        Mutant("returns-the-sum-too", "/ l[..., None]{ -> , l}", seen=("wrong-type", "wrong-values")),
    ],
    "flash_fwd": [
        Mutant("one-program-walks",
            "def {flash_fwd_kernel(\n     -> one_tile(\n    pid_m, head, }q_ptr",
            "{    pid_m, head = tl.program_id(0), tl.program_id(1).to(tl.int64)\n -> }",
            "{ -> @triton.jit\n"
            "def all_tiles(q, k, v, o, lse, L, scale, tiles, heads, CAUSAL: tl.constexpr, D: tl.constexpr,\n"
            "              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):\n"
            "    for i in range(0, tiles * heads):\n"
            "        head = tl.full([], i // tiles, tl.int64)\n"
            "        one_tile(i % tiles, head, q, k, v, o, lse, L, scale, CAUSAL, D, BLOCK_M, BLOCK_N)\n"
            "\n"
            "\n"
            "}def flash_fwd(q",
            "{flash_fwd_kernel[grid](q, k, v, o, lse, L, LOG2_E / D**0.5, -> all_tiles[(1,)](q, k, v, o, lse, L, LOG2_E / D**0.5, *grid,} causal",
            seen="unshared-work", only="interpreter"),
        Mutant("a-program-for-each-head",
            "def {flash_fwd_kernel(\n     -> one_tile(\n    pid_m, head, }q_ptr",
            "{    pid_m, head = tl.program_id(0), tl.program_id(1).to(tl.int64)\n -> }",
            "{ -> @triton.jit\n"
            "def all_tiles(q, k, v, o, lse, L, scale, tiles, CAUSAL: tl.constexpr, D: tl.constexpr,\n"
            "              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):\n"
            "    head = tl.program_id(0).to(tl.int64)\n"
            "    for i in range(0, tiles):\n"
            "        one_tile(i, head, q, k, v, o, lse, L, scale, CAUSAL, D, BLOCK_M, BLOCK_N)\n"
            "\n"
            "\n"
            "}def flash_fwd(q",
            "{flash_fwd_kernel[grid](q, k, v, o, lse, L, LOG2_E / D**0.5, -> all_tiles[(B * H,)](q, k, v, o, lse, L, LOG2_E / D**0.5, grid[0],} causal",
            seen="unshared-work", only="interpreter"),
        Mutant("too-little-taken-off", ' {float("-inf") -> s - 1e6})'),
        Mutant("masked-scores-of-minus-1e9", ' {float("-inf") -> -1e9})', says="score-zero"),
        Mutant("m-starts-at-minus-1e6", ' {float("-inf") -> -1e6},', says="m-starts-at-zero"),
        # the method
        Mutant("acc-not-rescaled", "{ * alpha[:, None] -> }"),
        Mutant("sum-not-rescaled", "= l_i {* alpha  -> }"),
        Mutant("nothing-rescaled", "{ -> m_i = m_new\n        }alpha = tl.exp2"),
        Mutant("not-divided", "{ / l_i[:, None] -> }"),
        Mutant("no-running-maximum", "{maximum(m_i, tl.max(s, axis=1) -> zeros([BLOCK_M], tl.float32}",
            '{full([BLOCK_M], float("-inf") -> zeros([BLOCK_M]}', says="no-maximum"),
        Mutant("maximum-of-the-tile", "{maximum(m_i, tl.max(s, axis=1) -> max(s, axis=1}"),
        Mutant("maximum-not-kept", "{        m_i = m_new\n -> }"),
        Mutant("maximum-never-grows", "{tl.maximum(m_i, tl.max(s, axis=1)) -> m_i}", seen="nan"),
        Mutant("arms-of-the-mask-swapped", '{s, float("-inf") -> float("-inf"), s}', seen="nan"),
        Mutant("factor-upside-down", "exp2({m_i - m_new -> m_new - m_i}", seen="nan"),
        Mutant("m-starts-at-zero", '{full([BLOCK_M], float("-inf") -> zeros([BLOCK_M]}', says="m-starts-at-zero"),
        Mutant("divided-in-every-tile", '], input_precision="ieee"){ ->  / l_i[:, None]}', "acc{ / l_i[:, None] -> }"),
        Mutant("reduced-along-queries", "max(s, axis={1 -> 0}))", "sum(p, axis={1 -> 0})"),
        Mutant("causal-strict",
            "{cols[None, :] <= last -> (cols[None, :] < last) | (not CAUSAL and cols[None, :] <= last)}",
            seen="last-key-missing"),
        Mutant("lse-divided-by-ln2", "log2(l_i)) {* -> /} LN_2"),
        Mutant("last-tile-only", "{l_i * alpha +  -> }", "{acc * alpha[:, None],  -> }", says="last-tile-only"),
        Mutant("sum-along-queries", "sum(p, axis={1 -> 0})"),
        Mutant("nothing-summed", "{ + tl.sum(p, axis=1) -> }", says="nothing-summed"),
        Mutant("sum-starts-again", "{l_i * alpha +  -> }"),
        Mutant("acc-starts-again", "{acc * alpha[:, None],  -> }"),
        Mutant("multiplied-by-the-sum", "+ rows, acc {/ -> *} "),
        Mutant("maximum-added", "= tl.exp2(s {- -> +} "),
        Mutant("maximum-of-another-query", "m_new[{:, None -> None, :}]"),
        Mutant("maximum-before-the-mask", '{        s = tl.where(cols[None, :] <= last, s, float("-inf"))\n -> }',
            'max(s, axis=1)){ -> \n        s = tl.where(cols[None, :] <= last, s, float("-inf"))}',
            on_gpu=("overflow",)),
        Mutant("maximum-of-the-whole-tile", ".max(s{, axis=1 -> }"),
        Mutant("maximum-along-queries", "max(s, axis={1 -> 0}))"),
        Mutant("sum-of-the-whole-tile", ".sum(p{, axis=1 -> }"),
        Mutant("factor-after-the-sum", "{l_i * alpha + tl.sum(p, axis=1) -> (l_i + tl.sum(p, axis=1)) * alpha}",
            says="nothing-summed"),
        Mutant("factor-after-the-product",
            '{ * alpha[:, None], input_precision="ieee") -> , input_precision="ieee") * alpha[:, None]}', seen="zeros"),
        Mutant("sum-counted-twice", "l_i { -> +}= l_i * alpha"),
        Mutant("acc-counted-twice", "acc { -> +}= tl.dot(p"),
        Mutant("m-starts-at-minus-one", ' {float("-inf") -> -1.0},', says="m-starts-at-zero"),
        # units
        Mutant("scale-missing", "LOG2_E{ / D**0.5 -> }"),
        Mutant("log2e-missing", "lse, L, {LOG2_E -> 1}"),
        Mutant("no-scale-at-all", 'ieee"){ * qk_scale -> }'),
        Mutant("scale-twice", "LOG2_E / D{**0.5 -> }"),
        Mutant("scale-of-the-kernel-twice", 'ieee"){ * qk_scale -> * qk_scale * qk_scale}',
            says="The scores are multiplied by qk_scale twice."),
        Mutant("divided-by-log2e", "lse, L, {LOG2_E / D**0.5 -> 1 / LOG2_E / D**0.5}",
            says="The scale is divided by log2(e). Multiply: 2 to the power of x log2(e) is e to the power of x."),
        Mutant("no-head", "rows = {head * L * D +  -> }", "k_ptr + {head * L * D +  -> }",
            "v_ptr + {head * L * D +  -> }", seen="race"),
        Mutant("offsets-of-32-bits", "program_id(1){.to(tl.int64) -> }", seen="int32-offset"),
        Mutant("scale-upside-down", ", L, LOG2_E {/ -> *} "),
        Mutant("weights-without-maximum", "{ - m_new[:, None] -> }"),
        Mutant("tf32-by-default", '){, input_precision="ieee" -> }', seen="tf32", only="interpreter"),
        Mutant("tf32-in-the-second-product", ']{, input_precision="ieee" -> }', seen="tf32", only="interpreter"),
        Mutant("queries-and-keys-swapped", "flash_fwd_kernel[grid]({q, k -> k, q},"),
        Mutant("lse-log-subtracted", "offs_m, (m_i {+ -> -} "),
        Mutant("exp-for-exp2", "p = tl.{exp2 -> exp}(s ", "alpha = tl.{exp2 -> exp}", says="log2e-twice"),
        Mutant("exp-for-p-alone", "p = tl.{exp2 -> exp}(s ", says="log2e-twice"),
        Mutant("factor-in-another-base", " = tl.{exp2 -> exp}(m_i"),
        Mutant("maximum-in-other-units", 'ieee"){ * qk_scale -> }', " = tl.exp2(s { -> * qk_scale }-",
            on_gpu=("overflow",)),
        Mutant("lse-in-base-2", "{(m_i + tl.log2(l_i)) * LN_2 -> m_i + tl.log2(l_i)}"),
        Mutant("lse-of-mixed-bases", "{(m_i + tl.log2(l_i)) * LN_2 -> m_i + tl.log(l_i)}"),
        Mutant("lse-log-scaled-twice", "(m_i + tl.{log2 -> log}"),
        Mutant("lse-log2-of-the-sum", "{(m_i + tl.log2(l_i)) * LN_2 -> m_i * LN_2 + tl.log2(l_i)}"),
        Mutant("lse-without-sum", "{(m_i + tl.log2(l_i)) -> m_i}"),
        Mutant("lse-maximum-in-base-2", "{(m_i + tl.log2(l_i)) * LN_2 -> m_i}"),
        Mutant("lse-without-max", "{(m_i + tl.log2(l_i)) * LN_2 -> tl.log(l_i)}"),
        Mutant("lse-without-logarithm", "{(m_i + tl.log2(l_i)) * LN_2 -> m_i * LN_2 + l_i}"),
        Mutant("lse-is-the-sum", "{(m_i + tl.log2(l_i)) * LN_2 -> l_i}"),
        Mutant("lse-maximum-multiplied-by-log2e", "{(m_i + tl.log2(l_i)) * LN_2 -> m_i / LN_2 + tl.log(l_i)}",
            says="m is in base 2 and is multiplied by log2(e), or divided by ln(2), once more. ln(2) times m is in "
                "base e."),
        Mutant("lse-natural-maximum-times-ln2", "lse, L, {LOG2_E -> 1}", "p = tl.{exp2 -> exp}(s ",
            "alpha = tl.{exp2 -> exp}", "{(m_i + tl.log2(l_i)) * LN_2 -> m_i * LN_2 + tl.log(l_i)}",
            says="The m in lse is multiplied by ln(2) once too often. Is it natural already, with exp for exp2?"),
        Mutant("lse-maximum-unscaled", 'ieee"){ * qk_scale -> }',
            "{s - m_new[:, None] -> (s - m_new[:, None]) * qk_scale}", "exp2({m_i - m_new -> (m_i - m_new) * qk_scale}",
            says="The m in lse is the largest bare product of q and k times ln(2): the scale, with its log2(e), is "
                "missing."),
        Mutant("lse-maximum-bare", 'ieee"){ * qk_scale -> }', "{s - m_new[:, None] -> (s - m_new[:, None]) * qk_scale}",
            "exp2({m_i - m_new -> (m_i - m_new) * qk_scale}", "{(m_i + tl.log2(l_i)) * LN_2 -> m_i + tl.log(l_i)}",
            says="The m in lse is the largest bare product of q and k: the scale is missing."),
        Mutant("factor-not-scaled", 'ieee"){ * qk_scale -> }',
            "{s - m_new[:, None] -> (s - m_new[:, None]) * qk_scale}",
            "{(m_i + tl.log2(l_i)) * LN_2 -> m_i * qk_scale * LN_2 + tl.log(l_i)}",
            says="The weights are scaled, and the m in the factor is not. Scale both, or the scores before the "
                "maximum."),
        Mutant("lse-without-any-logarithm", "{(m_i + tl.log2(l_i)) * LN_2 -> tl.exp2(m_i) * l_i}",
            says="lse holds the sum of exp(s) itself. It is the logarithm of that sum: m plus the log of l."),
        Mutant("query-rounded-after-scaling",
            '{q, tl.trans(k), input_precision="ieee") * qk_scale -> (q * qk_scale).to(k.dtype), tl.trans(k), '
            'input_precision="ieee")}',
            says="rounded-early"),
        Mutant("factor-of-two-exponentials", "tl.exp2(m_i{ -  -> ) / tl.exp2(}", seen="overflow"),
        Mutant("m-starts-at-minus-1000", ' {float("-inf") -> -1000.0},', says="m-starts-at-zero"),
        # masks
        Mutant("forbidden-score-too-large", ' {float("-inf") -> -1e4})', says="score-zero"),
        Mutant("diagonal-one-too-far",
            "{cols[None, :] <= last -> (cols[None, :] <= last + (1 if CAUSAL else 0)) & (cols[None, :] < L)}",
            says="The diagonal is one key too far to the right: query i sees key j only if j <= i."),
        Mutant("walk-begins-at-the-own-queries", "cols = { -> (pid_m * BLOCK_M if CAUSAL else 0) + }start +",
            says="last-tile-only"),
        Mutant("diagonal-in-the-tile-rows-cols", "last = {offs_m -> tl.arange(0, BLOCK_M)}[",
            "({cols[None, :] -> (cols[None, :] - start if CAUSAL else cols[None, :])}",
            says="The diagonal mask compares places within a tile, of the queries and of the keys. It compares "
                "positions in the text: a query's is pid_m * BLOCK_M + ..., a key's start + ...."),
        Mutant("diagonal-in-the-tile-rows", "last = {offs_m -> tl.arange(0, BLOCK_M)}[",
            says="The diagonal mask compares places within a tile, of the queries. It compares positions in the text: "
                "a query's is pid_m * BLOCK_M + ..., a key's start + ...."),
        Mutant("diagonal-in-the-tile-cols",
            "{cols[None, :] <= last -> (cols[None, :] - (start if CAUSAL else 0) <= last) & (cols[None, :] < L)}",
            says="The diagonal mask compares places within a tile, of the keys. It compares positions in the text: a "
                "query's is pid_m * BLOCK_M + ..., a key's start + ...."),
        Mutant("walk-ends-in-tiles-of-keys", " 1) * {BLOCK_M -> BLOCK_N})",
            says="The walk of program pid_m ends at key (pid_m + 1) * BLOCK_N. Its last query is number (pid_m + 1) * "
                "BLOCK_M - 1."),
        Mutant("rest-dropped", " range(0, end{ ->  // BLOCK_N * BLOCK_N},",
            says="The walk drops the last keys, where they do not fill a tile. The mask is for them: round up, not "
                "down."),
        Mutant("reads-k-behind-the-diagonal", "{tl.minimum(L, (pid_m + 1) * BLOCK_M) if CAUSAL else  -> }",
            "v_ptr + head * L * D + tile, mask={cols[:, None] < L -> (cols[:, None] < L) & (start < (pid_m + 1) * "
            "BLOCK_M if CAUSAL else True)}, other=0.0)",
            seen="property"),
        Mutant("causal-ignored", "{offs_m[:, None] if CAUSAL else  -> }",
            "{tl.minimum(L, (pid_m + 1) * BLOCK_M) if CAUSAL else  -> }"),
        Mutant("always-causal", "{ if CAUSAL else L - 1 -> }", "{ if CAUSAL else L -> }"),
        Mutant("no-mask-on-scores", "{        last = offs_m[:, None] if CAUSAL else L - 1\n -> }",
            '{        s = tl.where(cols[None, :] <= last, s, float("-inf"))\n -> }'),
        Mutant("no-diagonal-mask", "{offs_m[:, None] if CAUSAL else  -> }"),
        Mutant("score-zero", ' {float("-inf") -> 0.0})', says="score-zero"),
        Mutant("last-key-missing", "None, :] <{= -> } last"),
        Mutant("diagonal-one-too-far-too", "offs_m[:, None] { -> + 1 }if", says="causal-one-too-far"),
        Mutant("mask-upside-down", "cols[None, :] {< -> >}="),
        Mutant("keys-past-the-end-seen", "CAUSAL else L {- 1 -> + BLOCK_N}", says="score-zero"),
        Mutant("walks-over-all-keys", "{tl.minimum(L, (pid_m + 1) * BLOCK_M) if CAUSAL else  -> }", seen="property"),
        Mutant("walks-one-tile-too-far", "1) * BLOCK_M{ ->  + BLOCK_N}) ", seen="property"),
        Mutant("walk-ends-before-the-diagonal", "L, {(pid_m + 1) -> pid_m}"),
        Mutant("walk-ends-at-the-first-query", "{(pid_m + 1) * BLOCK_M -> pid_m * BLOCK_M + 1}"),
        Mutant("walk-ends-causally", "){ if CAUSAL else L -> }"),
        Mutant("walk-ends-in-tiles", "{(pid_m + 1) * BLOCK_M -> pid_m + 1}", says="first-tile-only"),
        Mutant("walk-of-the-first-program", "{(pid_m + 1) *  -> }", says="first-tile-only"),
        Mutant("start-counts-steps", ", {end, BLOCK_N -> tl.cdiv(end, BLOCK_N)}"),
        Mutant("start-in-steps-of-one", ", end{, BLOCK_N -> }"),
        Mutant("start-in-steps-of-queries", "end, {BLOCK_N -> BLOCK_M}):"),
        Mutant("keys-masked-by-D", "k_ptr + head * L * D + tile, mask=cols[:, None] < {L -> D}, other=0.0)",
            "cols[:, None] < {L -> D}, other=0.0)",
            says="Rows of K and V from number D on are never loaded. Their mask compares the key's number with L."),
        Mutant("last-key-is-L", "CAUSAL else L{ - 1 -> }", says="causal-one-too-far"),
        Mutant("no-other-for-v", "v_ptr + head * L * D + tile, mask=cols[:, None] < L{, other=0.0 -> })",
            seen="no-other", only="interpreter"),
        Mutant("no-key-mask", "k_ptr + head * L * D + tile{, mask=cols[:, None] < L, other=0.0 -> })",
            "{, mask=cols[:, None] < L, other=0.0 -> }", seen="reads-outside"),
        Mutant("no-store-mask", "]{, mask=offs_m[:, None] < L -> }", seen=("out-of-bounds-store", "race")),
        Mutant("no-mask-on-lse", "{, mask=offs_m < L -> }", seen=("out-of-bounds-store", "race")),
        Mutant("no-query-mask", "{, mask=offs_m[:, None] < L, other=0.0 -> }", seen="reads-outside", only="interpreter"),
        # addresses
        Mutant("keys-for-values", " tl.load({v_ptr -> k_ptr}"),
        Mutant("values-for-keys", "grid](q, {k, v -> v, k}, o"),
        Mutant("first-head-only", "k_ptr + {head * L * D +  -> }tile, ", " {head * L * D +  -> }tile"),
        Mutant("k-of-head-times-0", "k_ptr + {head * L * D +  -> }tile, ",
            says="A head of k begins at element head * L * D. Here it begins at 0: all heads read the first one."),
        Mutant("v-of-head-times-0", "v_ptr + {head * L * D +  -> }tile, ",
            says="A head of v begins at element head * L * D. Here it begins at 0: all heads read the first one."),
        Mutant("k-of-head-times-L", "k_ptr + head * L {* D  -> }+ tile, mask=cols[",
            says="A head of k begins at element head * L * D. Here it begins at head * L."),
        Mutant("k-and-v-of-head-times-D", "k_ptr + head * {L *  -> }D + tile, ", " head * {L *  -> }D + tile",
            says="A head of k and v begins at element head * L * D. Here it begins at head * D."),
        Mutant("heads-transposed", "cols[:, None] {* D + offs_d -> + offs_d * L}",
            says="K and V are read as if a column were contiguous: element d of key j lies at j * D + d."),
        Mutant("grid-in-tiles-of-keys", ' tile["{BLOCK_M -> BLOCK_N}', seen="property"),
        Mutant("rows-one-apart", "cols[:, None] {* D  -> }+ offs_d",
            says="The rows of K and V are read one element apart. A row has D elements: cols * D."),
        Mutant("start-forgotten", "cols = {start +  -> }", says="first-tile-only"),
        Mutant("first-tile-always", "tile = {cols -> tl.arange(0, BLOCK_N)}[:,"),
        Mutant("cast-too-late", "){.to(tl.int64) -> }", "k_ptr + {head * L * D -> (head * L * D).to(tl.int64)} + ",
            seen="int32-offset", only="interpreter"),
        Mutant("one-head-for-all", ").to(tl.int64){ ->  * 0}",
            seen=("unwritten", "unwritten-tail", "race", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("heads-overlap", " L {* D  -> }+ offs_m",
            seen=("unwritten", "unwritten-tail", "race", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("grid-axes-swapped",
            '{triton.cdiv(L, tile["BLOCK_M"]), B * H -> B * H, triton.cdiv(L, tile["BLOCK_M"])}',
            seen=("reads-outside", "out-of-bounds-store", "race", "unwritten", "unwritten-tail", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("grid-forgets-the-batch", 'BLOCK_M"]), {B *  -> }', seen=UNWRITTEN),
        Mutant("grid-rounded-down", '{triton.cdiv(L, tile["BLOCK_M"]) -> L // tile["BLOCK_M"]}', seen=UNWRITTEN),
        Mutant("lse-heads-behind-tokens", "{head * L + offs_m -> offs_m * tl.num_programs(1) + head}",
            seen=("unwritten", "unwritten-tail", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("lse-of-one-head", " + {head * L +  -> }", seen=("race", "unwritten", "unwritten-tail")),
        Mutant("lse-never-stored", "{tl.store(lse_ptr … offs_m < L) -> l_i += 0}", seen=UNWRITTEN),
        # types
        Mutant("p-never-cast", "(p{.to(v.dtype) -> }", seen=("raised", "does-not-compile")),
        Mutant("p-cast-before-the-sum", "m_new[:, None]){ -> .to(q.dtype)}", says="rounded-early",
            seen=("off-by-row", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("converted-before-the-division", "rows, acc{ / l_i -> .to(q.dtype) / l_i.to(q.dtype)}", seen="property"),
        Mutant("stored-in-every-step",
            "m_i = m_new\n{ ->         tl.store(o_ptr + rows, acc / l_i[:, None], mask=offs_m[:, None] < L)\n}",
            seen="property"),
        Mutant("acc-in-half", "D], {tl.float32 -> q.dtype})",
            '{tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee" -> (acc * alpha[:, None] + '
            'tl.dot(p.to(v.dtype), v, input_precision="ieee")).to(q.dtype}',
            seen="property"),
        Mutant("v-cast-up", "{.to(v.dtype), v -> , v.to(tl.float32)}", seen="float32-product", only="interpreter"),
        Mutant("lse-in-half", "={torch.float32 -> q.dtype}", seen="wrong-dtype"),
        Mutant("float32-result", "empty_like(q{ -> , dtype=torch.float32}),", seen="wrong-dtype"),
        # the wrapper
        Mutant("no-check", "{    require_heads(q, k, v)\n -> }", seen="should-raise"),
        Mutant("returns-o-alone", "return o{, lse -> }", seen="wrong-type"),
        Mutant("lse-first", "return {o, lse -> lse, o}", seen=("wrong-shape", "wrong-dtype")),
        Mutant("writes-over-q", "{torch.empty_like(q) -> q}", seen=("input-changed", "aliases-input")),
        Mutant("scaled-by-torch",
            "{flash_fwd_kernel[grid](q, k, v, o, lse, L, LOG2_E / D**0.5 -> q = q / D**0.5\n"
            "    flash_fwd_kernel[grid](q, k, v, o, lse, L, LOG2_E}",
            seen="torch-compute"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="require_heads(q, k, v)\n"
                "o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)\n"
                "return o, torch.zeros(o.shape[:-1])"),
    ],
}

VARIANTS = {
    "attention_tiled_torch": [
        Variant("starts-far-below", "{full(q.shape … q.device -> full_like(q[..., 0], -1e300}"),
        Variant("divides-in-every-tile",
            "{l = l * alpha + p.sum(dim=-1) … alpha[..., None] + p @ v_tile -> l_new = l * alpha + p.sum(dim=-1)\n"
            "        acc = (acc * (l * alpha)[..., None] + p @ v_tile) / l_new[..., None]\n"
            "        l = l_new}", "{ / l[..., None] -> }"),
        Variant("einsum", '{q @ k_tile.transpose(-1, -2 -> torch.einsum("bhqd,bhkd->bhqk", q, k_tile}'),
        Variant("split",
            "{start in range(0, k.shape[2], block): … k_tile, v_tile = k[:, :, start : start + block], v[:, :, "
            "start : start + block] -> k_tile, v_tile in zip(k.split(block, dim=2), v.split(block, dim=2)):}"),
    ],
    "flash_fwd": [
        Variant("tiles-of-its-own", "{attention_tile(q -> dict(BLOCK_M=64, BLOCK_N=32}"),
        Variant("small-tiles", "{attention_tile(q -> dict(BLOCK_M=16, BLOCK_N=16}"),
        Variant("m-starts-far-below", ' {float("-inf") -> -1e38},'),
        Variant("natural-exponentials", "lse, L, {LOG2_E -> 1}", "p = tl.{exp2 -> exp}(s ", "alpha = tl.{exp2 -> exp}",
            "{(m_i + tl.log2(l_i)) * LN_2 -> m_i + tl.log(l_i)}"),
        Variant("lse-piece-by-piece", "{(m_i + tl.log2(l_i)) * LN_2 -> m_i * LN_2 + tl.log(l_i)}"),
        Variant("sum-after-the-product", "{        l_i = l_i * alpha + tl.sum(p, axis=1)\n -> }",
            "{ -> l_i = l_i * alpha + tl.sum(p, axis=1)\n        }m_i = m_new"),
        Variant("acc-rescaled-by-itself",
            "{tl.dot(p.to(v.dtype), v, acc * alpha[:, None] -> acc * alpha[:, None]\n"
            "        acc += tl.dot(p.to(v.dtype), v}"),
        Variant("two-masks", "{offs_m[:, None] if CAUSAL else  -> }",
            'float("-inf")){ -> \n'
            "        if CAUSAL:\n"
            '            s = tl.where(cols[None, :] <= offs_m[:, None], s, float("-inf"))}'),
        Variant("scale-in-the-kernel", "lse, L, {LOG2_E -> 1}",
            'ieee") * {qk_scale -> (qk_scale * 1.4426950408889634)}'),
        Variant("keys-loaded-transposed",
            "k_ptr + head * L * D + {tile, mask=cols[:, None -> cols[None, :] * D + tl.arange(0, D)[:, None], "
            "mask=cols[None, :}] < L, other=0.0)",
            "q, {tl.trans(k) -> k}"),
        Variant("heads-first", "{0), tl.program_id(1 -> 1), tl.program_id(0}",
            '{triton.cdiv(L, tile["BLOCK_M"]), B * H -> B * H, triton.cdiv(L, tile["BLOCK_M"])}'),
        Variant("flat-grid", "{, tl.program_id(1 ->  % tl.cdiv(L, BLOCK_M), (tl.program_id(0) // tl.cdiv(L, BLOCK_M)}",
            'BLOCK_M"]){, B * H ->  * B * H,}'),
        Variant("divides-by-a-reciprocal", "rows, acc {/ l_i -> * (1.0 / l_i)}"),
        Variant("last-tile-first", " tl.{ -> num_programs(0) - 1 - tl.}program_id(0"),
        Variant("tiles-of-keys-wider", "{attention_tile(q -> dict(BLOCK_M=32, BLOCK_N=128}"),
        Variant("tiles-counted",
            "{start in range(0, end, BLOCK_N): -> step in range(tl.cdiv(end, BLOCK_N)):\n"
            "        start = step * BLOCK_N}"),
        Variant("while-loop", "{for start in range(0, end, BLOCK_N) -> start = 0\n    while start < end}",
            "m_i = m_new\n{ ->         start += BLOCK_N\n}"),
        Variant("mask-added", "{= tl.where(cols[None, :] <= last, s -> += tl.where(cols[None, :] <= last, 0.0}"),
        Variant("exponents-scaled", 'ieee"){ * qk_scale -> }',
            "{s - m_new[:, None] -> (s - m_new[:, None]) * qk_scale}", "exp2({m_i - m_new -> (m_i - m_new) * qk_scale}",
            "offs_m, (m_i { -> * qk_scale }+"),
        Variant("grid-of-three", "{tl.program_id(1 -> (tl.program_id(1) * tl.num_programs(2) + tl.program_id(2)}",
            'BLOCK_M"]), B{ * -> ,}'),
        Variant("no-other-for-k", "k_ptr + head * L * D + tile, mask=cols[:, None] < L{, other=0.0 -> })"),
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
