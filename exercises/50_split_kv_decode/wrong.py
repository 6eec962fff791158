"""Mistakes of 50_split_kv_decode with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = """
    acc-counted-twice acc-not-rescaled acc-starts-again maximum-of-the-tile no-maximum nothing-rescaled sum-not-rescaled
    tf32
"""
PROMISES = ("one-piece", "mean-of-pieces", "pages-in-order")

# Sentences that several mistakes share.
SAYS = {
    "scores-rounded":
        "The scores are rounded to half precision before the softmax. s is float32: in half precision a score of 100 "
        "is off by up to 0.03, and its weight by 3 %.",
    "padding-counted": "Masked lanes took part. The lse of nothing is minus infinity: that is their `other=`.",
    "page-of-the-tile":
        "All positions of a tile were read from one page. Each position has a page of its own: entry `offs_n // PAGE` "
        "of the table, a tile of numbers.",
    "position-for-slot": "A slot lies past its page's end. It is the remainder, `offs_n % PAGE`.",
    "masked-keys-count": "Positions from `length` on count. Their score is minus infinity: no real score is below it.",
    "page-counted-from-the-tile":
        "Pages were counted from where the tile begins. `offs_n` are positions in the sequence, and so are the table's "
        "entries.",
}

MUTANTS = {
    "merge_states": [
        Mutant("weighs-what-is-above", "e = {tl.exp(lses - tl.max(lses, axis=0)) -> tl.where(lses > -1e38, tl.exp(lses - tl.max(lses, axis=0)), 0.0)}", seen="nan-lost"),
        Mutant("padding-at-minus-1e9", '={float("-inf") -> -1e9}', says="padding-counted"),
        Mutant("starts-too-high", "{max(lses, axis=0 -> maximum(-50000.0, tl.max(lses, axis=0)}",
            says="The maximum starts at a number that is above all lse of a row, and all exponentials are 0. Start at "
                "minus infinity."),
        Mutant("mean-of-pieces", "{e / tl.sum(e, axis=0) -> (lses > -1e38).to(tl.float32) / S}",
            says="This is the mean of the pieces. Each counts by its share of the whole sum, e to its lse."),
        Mutant("not-normalised", "{ / tl.sum(e, axis=0) -> }", says="The weights are not divided by their sum."),
        Mutant("divided-by-s", "{tl.sum(e, axis=0) -> S}", seen=("wrong-values", "constant-factor", "off-by-row")),
        Mutant("maximum-not-subtracted", "{ - tl.max(lses, axis=0) -> }",
            says="Exponentials overflow or vanish. Is the maximum of the lse subtracted, and is it that of the pieces "
                "alone? What masked lanes hold (`other=`) must not count in it."),
        Mutant("masked-lanes-are-zero", '={float("-inf") -> 0.0}', says="padding-counted"),
        Mutant("other-forgotten", '{, other=float("-inf") -> }', says="padding-counted", seen="no-other",
            only="interpreter"),
        Mutant("base-two", "e = tl.{exp -> exp2}(lses",
            says="The weights have base 2. An lse in natural logarithms goes with `tl.exp`."),
        Mutant("infinity-subtracted", "{max(lses, axis=0) -> sum(tl.where(offs_s < S, lses, 0.0), axis=0) / S}",
            says="What is subtracted is infinite where a piece is empty. Subtract the maximum of the lse."),
        Mutant("first-for-the-maximum", "{max(lses, axis=0 -> load(lses_ptr + pid_r * S}",
            seen=("nan", "overflow", "infinity-subtracted")),
        Mutant("logarithms-of-weights",
            "{e / tl.sum(e, axis= -> lses - tl.max(lses, axis=0) - tl.log(tl.sum(e, axis=0))\n"
            "    weights = tl.where(offs_s < S, weights, 0.}",
            says="These are the logarithms of the weights. Take `tl.exp` of them."),
        Mutant("half-precision-weights", "{e / tl.sum(e, axis=0 -> (e / tl.sum(e, axis=0)).to(tl.float16}",
            seen=("wrong-values", "property")),
        Mutant("of-minus-lse", "{lses - tl.max(lses, axis=0) -> tl.min(lses, axis=0) - lses}",
            says="Pieces with a small lse count most: a sign is turned round.", seen=("nan", "overflow")),
        Mutant("masked-by-rows", ", mask={offs_s -> rows} ",
            says="The mask compares `rows`, which count through all rows, with S. A piece is `offs_s`."),
        Mutant("parts-s-apart", ", None] * {D -> S} + ", says="Parts were looked for S elements apart. Each has D."),
        Mutant("parts-one-apart", ":, None] {* D  -> }+", says="Parts were looked for one element apart. Each has D."),
        Mutant("one-sum-for-all-columns", " parts{, axis=0 -> }",
            says="All columns of a row hold one sum. Sum along the pieces alone: `axis=0`."),
        Mutant("sum-of-pieces", "{weights[:, None] *  -> }", says="This is the sum of the pieces, without weights."),
        Mutant("summed-along-columns", "parts, axis={0 -> 1})", seen=("raised", "does-not-compile")),
        Mutant("lse-of-the-first-row", "lses_ptr + {rows -> offs_s},",
            seen=("rows-after-first", "wrong-values", "wrong-tail")),
        Mutant("parts-of-the-first-row", "parts_ptr + {rows -> offs_s}[",
            seen=("rows-after-first", "wrong-values", "wrong-tail")),
        Mutant("no-mask-for-parts", "{, mask=offs_s[:, None] < S, other=0.0 -> }", seen="reads-outside"),
        Mutant("no-mask-for-lses", '{, mask=offs_s < S, other=float("-inf") -> }', seen="reads-outside"),
        Mutant("one-row-for-all", "+ {pid_r * D +  -> }", seen=("unwritten-tail", "race")),
        Mutant("torch-stand-in",
            "{out = torch … return out -> return torch.einsum('rs,rsd->rd', torch.softmax(lses, -1), parts).to(dtype)}",
            seen="no-kernel-launched"),
    ],
    "paged_decode": [
        Mutant("heads-on-axis-1", "b, head = tl.program_id({0) // HK, tl.program_id(0 -> 1) // HK, tl.program_id(1}) % HK", "piece, pieces = tl.program_id({1), tl.num_programs(1 -> 0), tl.num_programs(0})", "decode_kernel[({B * HK, pieces -> pieces, B * HK})]", seen="grid-limit"),
        Mutant("pages-of-32-bits", "pages{.to(tl.int64) -> }", seen="int32-offset", only="interpreter"),
        Mutant("cast-too-late", "pages{.to(tl.int64) -> }",
            "{ * D)[:, None] + offs_d -> [:, None] * D + offs_d).to(tl.int64)}", seen="int32-offset",
            only="interpreter"),
        Mutant("one-token-more", "offs_n <{ -> =} length",
            says="Position `length` counts. The last one is `length` - 1."),
        Mutant("position-length-counts", "tl.where({mask_n -> (offs_n <= length)}",
            says="Position `length` counts, with a score of 0. The last one is `length` - 1."),
        Mutant("factor-on-the-new-acc",
            '{tl.dot(p … ieee") -> (acc + tl.dot(p.to(v.dtype), v, input_precision="ieee")) * alpha[:, None]}',
            says="The factor meets what this tile adds to acc. It belongs to the old acc alone."),
        Mutant("pages-without-heads",
            "{(slots * HK + head) * D)[:, None] -> pages.to(tl.int64) * PAGE * D)[:, None] + ((offs_n % PAGE) * HK "
            "+ head)[:, None] * D}",
            says="Pages were looked for too close together. Each has PAGE slots of HK heads."),
        Mutant("head-times-group", "HK + head{ ->  * GROUP}) * D",
            says="`head` is the number of a key head already: no GROUP."),
        Mutant("table-by-the-tile", "offs_n // {PAGE -> BLOCK_N},", says="page-of-the-tile"),
        Mutant("slot-in-the-tile", " offs_n % {PAGE -> BLOCK_N}", says="position-for-slot"),
        Mutant("a-score-of-minus-a-billion", ' {float("-inf") -> -1e9}', says="masked-keys-count",
            seen=("wrong-values", "zeros", "maximum-of-more", "maximum-before-the-mask")),
        Mutant("scores-rounded", 'ieee") * qk_scale{ -> \n        s = s.to(q.dtype).to(tl.float32)}',
            says="scores-rounded", seen=("wrong-values", "off-by-row")),
        Mutant("product-rounded", 'input_precision="ieee"){ -> .to(q.dtype)} * qk_scale', says="scores-rounded",
            seen=("wrong-values", "off-by-row")),
        Mutant("weights-summed-in-half", "tl.sum({p -> p.to(v.dtype)}, axis=1)", seen="property"),
        Mutant("weights-rounded-first", "p = tl.exp(s - m_new[:, None]){ -> .to(v.dtype)}", seen="property"),
        Mutant("acc-in-half", '], input_precision="ieee"){ -> .to(v.dtype).to(tl.float32)}', seen="property"),
        Mutant("a-score-of-minus-10000", ' {float("-inf") -> -1e4}', says="masked-keys-count",
            seen=("wrong-values", "zeros", "maximum-of-more", "maximum-before-the-mask")),
        Mutant("page-left-out", "{pages.to(tl.int64) * PAGE + offs_n % PAGE -> (offs_n % PAGE).to(tl.int64)}",
            says="Every position was read from page 0. A slot of the cache is `pages * PAGE` further on."),
        Mutant("keys-and-values-swapped", " tl.load({k_ptr -> v_ptr}", "v = tl.load({v_ptr -> k_ptr} + tile, mask",
            says="k was read from v_cache, and v from k_cache."),
        Mutant("table-by-slot", "table_ptrs + offs_n {// -> %} ",
            says="Entry `offs_n % PAGE` of the table was taken. That is the slot; the page is that of entry `offs_n // "
                "PAGE`."),
        Mutant("heads-before-slots", "{slots * HK + head -> (pages.to(tl.int64) * HK + head) * PAGE + offs_n % PAGE}",
            says="The cache was read as (pages, HK, PAGE, D). Slots come before heads."),
        Mutant("lse-of-mixed-bases", 'ieee") * qk_scale{ ->  * 1.4426950408889634}', "p = tl.{exp -> exp2}(s -",
            "alpha = tl.{exp -> exp2}(",
            says="Each piece is right, and its lse is not: m_i is in powers of 2, and what is given adds a natural "
                "logarithm. Natural exponentials: `tl.exp`, and no log2(e)."),
        Mutant("pages-in-order", "{tl.load(table_ptrs + offs_n // PAGE, mask=mask_n, other=0) -> offs_n // PAGE}",
            says="Position p was read from slot p of the cache. Ask the table for its page.",
            seen=("nan", "reads-outside")),
        Mutant("table-of-the-first", "{ + b * stride_tb -> }",
            says="Every sequence uses the block table of the first one.", seen=("nan", "reads-outside")),
        Mutant("table-by-position", "offs_n{ // PAGE -> }",
            says="Entry `offs_n` of the table was taken. It has one entry for each page: `offs_n // PAGE`."),
        Mutant("slot-forgotten", "{ + offs_n % PAGE -> }",
            says="Only the first slot of a page counts. Is the remainder, `offs_n % PAGE`, in the address? Or does a "
                "mask hide the other positions?"),
        Mutant("slot-without-remainder", " offs_n{ % PAGE -> }", says="position-for-slot"),
        Mutant("page-number-for-slot", "PAGE + offs_n {% -> //} ",
            says="The slot is the remainder, `offs_n % PAGE`. `offs_n // PAGE` says which entry of the table."),
        Mutant("page-of-the-tile", "{offs_n // PAGE, mask=mask_n, other=0 -> start // PAGE}", says="page-of-the-tile"),
        Mutant("page-from-the-tile", "table_ptrs + {offs_n -> tl.arange(0, BLOCK_N)} /",
            says="page-counted-from-the-tile"),
        Mutant("slot-counted-anew", "PAGE + {offs_n -> tl.arange(0, BLOCK_N)} %",
            says="Slots were counted from where the tile begins, which need not be where a page begins. Positions in "
                "the sequence count: `offs_n % PAGE`."),
        Mutant("tile-from-the-first-token", "table_ptrs + {offs_n -> tl.arange(0, BLOCK_N)} /",
            "PAGE + {offs_n -> tl.arange(0, BLOCK_N)} ", says="page-counted-from-the-tile"),
        Mutant("scale-for-base-two", 'ieee") * qk_scale{ ->  * 1.4426950408889634}',
            says="The scores were multiplied by log2(e). That goes with `tl.exp2`, and here with natural exponentials: "
                "no factor."),
        Mutant("maximum-before-the-mask",
            "{s = tl.where … tl.maximum(m_i, tl.max(s, axis=1 -> m_new = tl.maximum(m_i, tl.max(s, axis=1))\n"
            '        s = tl.where(mask_n[None, :], s, float("-inf"}',
            says="Masked positions count in the maximum, with scores of 0. Make masked scores minus infinity first, "
                "then take the maximum."),
        Mutant("maximum-of-more", ".max(s{, axis=1 -> }",
            says="The maximum is too large where all scores are far below 0. It is that of one row, over its keys: "
                "make masked scores minus infinity first, then `tl.max(s, axis=1)`.",
            seen=("wrong-values", "zeros", "nan", "off-by-row")),
        Mutant("unscaled-in-lse", 'ieee"){ * qk_scale -> }', "{s - m_new[:, None] -> (s - m_new[:, None]) * qk_scale}",
            "exp({m_i - m_new -> (m_i - m_new) * qk_scale}",
            says="Each piece is right, and its lse is not: m_i is in scores without qk_scale. Scale s at once, before "
                "the maximum."),
        Mutant("factor-in-base-two", "alpha = tl.{exp -> exp2}(m_i",
            says="The factor alpha has base 2, and p has not. Natural exponentials in both: `tl.exp`."),
        Mutant("new-sum-times-the-factor", "{l_i * alpha + tl.sum(p, axis=1) -> (l_i + tl.sum(p, axis=1)) * alpha}",
            seen="nan"),
        Mutant("pages-one-slot-apart", "int64) {* PAGE  -> }",
            says="Pages were looked for one slot apart. Each has PAGE slots."),
        Mutant("slots-without-heads", "((slots {* HK  -> }+",
            says="Slots were looked for too close together. Each holds HK heads of D numbers."),
        Mutant("head-by-one-number", "{(slots * HK + head) * D -> slots * HK * D + head}",
            says="Heads were looked for one number apart. Each has D numbers."),
        Mutant("one-number-apart", "{(slots * HK + head) * D -> slots * HK + head}",
            says="Heads and slots were looked for one number apart. Each head has D numbers.",
            on_gpu=("one-number-apart", "raised")),
        Mutant("scale-upside-down", 'ieee") {* -> /} qk_scale',
            says="The scores were divided by qk_scale. Multiply by it."),
        Mutant("acc-counted-twice", "acc { -> +}= tl.dot(p"),
        Mutant("factor-turned-round", "exp({m_i - m_new -> m_new - m_i}", seen="nan"),
        Mutant("weights-by-the-old-maximum", "exp(s - {m_new -> m_i}[", seen="nan"),
        Mutant("one-piece", "pieces = {pieces or pieces_for(B * HK, table.shape[1] * PAGE) -> 1}", seen="other-programs"),
        Mutant("no-mask-for-the-table", "{, mask=mask_n, other=0 -> }", seen="reads-outside"),
        Mutant("no-mask-for-values", "v_ptr + tile{, mask=mask_n[:, None], other=0.0 -> })",
            seen=("nan", "reads-outside", "no-other")),
        Mutant("padding-counted", '{tl.where(mask_n[None, :], s, float("-inf")) -> s * 1.0}', says="masked-keys-count"),
        Mutant("first-key-head", "{(slots * HK + head) -> slots * HK}",
            says="Every query head used key head 0. Is `head` in the offsets?"),
        Mutant("heads-first", "{slots * HK + head -> head * PAGE + slots}",
            says="A whole page of a head was looked for. In the cache, a slot holds all its heads: (pages, PAGE, HK, "
                "D)."),
        Mutant("keys-for-values", " tl.load({v_ptr -> k_ptr}", says="The values were read from k_cache."),
        Mutant("values-for-keys", " tl.load({k_ptr -> v_ptr}", says="The keys were read from v_cache."),
        Mutant("scale-forgotten", 'ieee"){ * qk_scale -> }', says="The scores were not scaled: multiply by qk_scale."),
        Mutant("scale-twice", 'ieee") * qk_scale{ ->  * qk_scale}',
            says="The scores were multiplied by qk_scale twice."),
        Mutant("no-maximum", "{tl.maximum(m_i, tl.max(s, axis=1)) -> m_i * 0.0}"),
        Mutant("maximum-of-the-tile", "{maximum(m_i, tl.max(s, axis=1) -> max(s, axis=1}"),
        Mutant("divided-in-every-tile", "        m_i = m_new\n{ ->         acc = acc / l_i[:, None]\n}",
            says="acc is divided by l_i after every tile. Divide once, behind the loop, where it is done already."),
        Mutant("sum-not-rescaled", "= l_i {* alpha  -> }"),
        Mutant("acc-not-rescaled", "{ * alpha[:, None] -> }"),
        Mutant("nothing-rescaled", "{ -> m_i = m_new\n        }alpha = tl.exp"),
        Mutant("maximum-never-kept", "{\n        m_i = m_new -> }",
            says="m_i stays -1e38, so the next factor, exp(m_i - m_new), is 0. Keep the new maximum at the end of the "
                "loop."),
        Mutant("acc-starts-again", "{acc * alpha[:, None],  -> }"),
        Mutant("base-two", "p = tl.{exp -> exp2}(s -",
            says="The weights have base 2. Natural exponentials are asked for: `tl.exp`."),
        Mutant("tf32", '){, input_precision="ieee" -> }', seen="tf32"),
        Mutant("sum-over-queries", "sum(p, axis={1 -> 0})", seen=("raised", "does-not-compile")),
        Mutant("torch-stand-in", seen=("no-kernel-launched", "raised", "torch-compute"),
            body="require_cache(q, k_cache, v_cache, table, lengths)\n"
                "return paged_decode_ref(q, k_cache, v_cache, table, lengths)"),
    ],
}

VARIANTS = {
    "merge_states": [
        Variant("divided-at-the-end", "{ / tl.sum(e, axis=0) -> }", "parts, axis=0){ ->  / tl.sum(e, axis=0)}"),
        Variant("wider-tile", "BLOCK_S={ -> 2 * }triton"),
        Variant("large-negative", '={float("-inf") -> -1e38}'),
        Variant("cast-at-the-store", "+ offs_d, out{ -> .to(out_ptr.dtype.element_ty)})"),
        Variant("lse-of-the-whole",
            "{e / tl.sum(e, axis=0 -> tl.exp(lses - (tl.max(lses, axis=0) + tl.log(tl.sum(e, axis=0)))}"),
        Variant("pieces-in-a-loop",
            "{parts_ptrs = parts_ptr … parts, axis=0) -> top, total = tl.max(lses, axis=0), tl.sum(e, axis=0)\n"
            "    out = tl.zeros((D,), tl.float32)\n"
            "    for s in range(0, S):\n"
            "        weight = tl.exp(tl.load(lses_ptr + pid_r * S + s) - top) / total\n"
            "        out += weight * tl.load(parts_ptr + (pid_r * S + s) * D + offs_d)}", "{ / tl.sum(e, axis=0) -> }"),
        Variant("turned", "{weights[:, None] * parts, axis=0 -> tl.trans(parts) * weights[None, :], axis=1}"),
    ],
    "paged_decode": [
        Variant("exp2", "{exp(s - m_new[:, None] -> exp2((s - m_new[:, None]) * 1.4426950408889634}"),
        Variant("larger-tiles", "{128 if roomy else 32 -> 64}"),
        Variant("sum-after",
            "{tl.dot(p.to(v.dtype), v, acc * alpha[:, None] -> acc * alpha[:, None] + tl.dot(p.to(v.dtype), v}"),
        Variant("keys-loaded-turned", "k_ptr + {tile, mask=mask_n[:, None -> tl.trans(tile), mask=mask_n[None, :}], ",
            "q, {tl.trans(k) -> k}"),
        Variant("masked-by-adding",
            '{= tl.where(mask_n[None, :], s, float("-inf")) -> += tl.where(mask_n, 0.0, float("-inf"))[None, :]}'),
        Variant("last-page-again", "{offs_n // PAGE, mask=mask_n, other=0 -> tl.minimum(offs_n, length - 1) // PAGE}"),
        Variant("two-warps", ", num_warps={4 -> 2},"),
        Variant("strides-by-hand", "{((slots * HK + head) * D)[:, None] -> slots[:, None] * HK * D + head * D}"),
        # Page 0 is read in the place of pages that do not exist, and `where` throws it away.
        Variant("no-mask-for-keys", "k_ptr + tile{, mask=mask_n[:, None], other=0.0 -> })"),
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
