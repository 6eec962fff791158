"""Mistakes of 43_flash_backward with what is said of each, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("delta-missing", "lse-ignored", "stored-into-the-kv-head", "dk-and-dv-swapped")

# Sentences that several mistakes share.
SAYS = {
    "summed-over-rows": (
        "Each number is the sum of a column of the tile. Delta has one for each row, over d: is the sum over the "
        "other axis, or are rows and columns exchanged in the address?"
    ),
    "not-masked": (
        "P is not 0 where a query may not see a key. Set it to 0 there with tl.where, before any product takes it; "
        "`limit - start` has one number for each row of the tile."
    ),
    "nan-where-nothing-is-seen": (
        "dQ: NaN for a query that saw no key. Its lse is -inf: a masked score gives -inf - (-inf), and an infinite "
        "P times 0 is NaN too. Set P to 0 after the exponential, with tl.where."
    ),
    "dq-zero": "dQ is all zeros: nothing was added up, or P is 0 wherever a key is seen.",
    "last-tile-left-out": (
        "dQ: nothing of the last, partly filled tile of keys counts. Does the walk end before it, or has a number "
        "that its mask takes been changed in an earlier round?"
    ),
    "dk-without-scale": "dK is not multiplied by the scale.",
    "not-masked-2": (
        "P is not 0 where a query may not see a key. Set it to 0 there with tl.where, before any product takes it; "
        "`since - start` has one number for each row of the tile."
    ),
    "dk-of-the-last-tile": (
        "dK holds what the last tile of queries gave: the sum so far was overwritten. Give dk to tl.dot as its "
        "third argument."
    ),
    "scaled-dv-in-dk": "What is stored as dK is dV times the scale.",
    "nan-where-nothing-is-seen-2": (
        "dK and dV: NaN for a query that saw no key. Its lse is -inf: a masked score gives -inf - (-inf), and an "
        "infinite P times 0 is NaN too. Set P to 0 after the exponential, with tl.where."
    ),
    "dk-zero": "dK is all zeros: nothing was added up, or P is 0 wherever a key is seen.",
    "dk-from-p": "dK is made from P. It is dS transposed times Q.",
    "causal-not-kept": "The backward pass is not causal, and the forward pass is: `causal` was not handed on.",
}

MUTANTS = {
    "attention_delta": [
        Mutant("sum-of-o", "tl.sum(o{ * do -> },", says="This is the sum of o alone."),
        Mutant("sum-of-do", " = tl.sum({o *  -> }", says="This is the sum of do alone."),
        Mutant("squared", "sum(o * {do -> o}, axis", says="This is the sum of o times o."),
        Mutant("do-squared", "delta = tl.sum({o -> do} ", says="This is the sum of do times do."),
        Mutant("sum-of-both", " tl.sum(o {* -> +} do", says="This is the sum of o + do."),
        Mutant("product-of-sums", " tl.sum(o{ *  -> , axis=1) * tl.sum(}do",
            says="This is the sum of o times the sum of do. Multiply first, then sum."),
        Mutant("summed-over-the-tile", "o * do{, axis=1 -> }",
            says="Each tile was summed as a whole. Delta has one number for each row: axis=1."),
        Mutant("mean", " * do, axis=1){ ->  / D}", says="This is the mean of o times do. Delta is their sum."),
        Mutant("minus-delta", "delta = { -> -}tl.sum", says="This is minus delta."),
        Mutant("over-the-rows", " * do, axis={1 -> 0})", says="summed-over-rows"),
        Mutant("rows-a-tile-apart", "[:, None] * {D -> BLOCK_D} ",
            says="Row m was read from m * BLOCK_D on. Rows lie D elements apart, however wide the tile is.",
            seen="reads-outside"),
        Mutant("rows-all-the-same", "offsets = { -> 0 * }offs_m", seen=("wrong-values", "rows-after-first")),
        Mutant("rows-across", " offs_m[{:, None -> None, :}] ",
            says=(
                "All rows of a tile got one number: in the address rows and columns both run across. Rows go down: "
                "offs_m[:, None]."
            )),
        Mutant("rows-one-apart", "[:, None] {* D  -> }",
            says="Row m was read from element m on. Rows lie D elements apart: m * D + d."),
        Mutant("rows-and-columns-exchanged", "{* D + offs_d[None, :] -> + offs_d[None, :] * M}",
            says="summed-over-rows"),
        Mutant("no-column-mask", "offs_d[None, :] {< D -> >= 0}", seen="reads-outside"),
        Mutant("no-row-mask", "[:, None] {< M -> >= 0})", seen="reads-outside"),
        Mutant("no-load-mask-at-all", "(o_ptr + offsets, {mask=mask, other=0.0 -> }).to(tl.float32",
            "{mask=mask, other=0.0 -> }", seen="reads-outside"),
        Mutant("no-store-mask", "{, mask=offs_m < M -> }", seen="out-of-bounds-store"),
        Mutant("mask-one-short", "mask=offs_m < M{ ->  - 1})", seen=("unwritten-tail", "unwritten")),
        Mutant("o-of-the-first-tile",
            "(o_ptr + {offsets -> tl.arange(0, BLOCK_M)[:, None] * D + offs_d[None, :]}, mask=",
            seen=("wrong-values", "rows-after-first", "wrong-tail")),
        Mutant("in-half-precision", "(o_ptr + offsets, mask=mask, other=0.0){.to(tl.float32) -> }",
            "{.to(tl.float32) -> }",
            says="Products and sum were rounded to half precision. Take both tiles to float32 first.",
            seen="wrong-values"),
        Mutant("no-other", "(o_ptr + offsets, mask=mask{, other=0.0 -> }).to(tl.float32)", "mask{, other=0.0 -> }",
            seen="no-other"),
        Mutant("rounded-to-half", " * do, axis=1){ -> .to(tl.float16)}",
            says="The sum was rounded to half precision. Delta is float32."),
        Mutant("rows-below-d", ":, None] < {M -> D}) ",
            says="Row D and all rows after it came out as 0. The mask lets D rows in; there are M."),
        Mutant("result-in-half-precision", "={torch.float32 -> o.dtype}", seen="wrong-dtype"),
        Mutant("strides-ignored", "{.contiguous(), do.contiguous() -> , do}", seen=("strided-only", "reads-outside")),
        Mutant("never-stored", "{    tl.store(delta_ptr + offs_m, delta, mask=offs_m < M)\n -> }", seen="unwritten"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            replace="""
def attention_delta(o, do):
    if o.shape != do.shape:
        raise ValueError("shapes")
    return (o * do).sum(dim=-1).float()
"""),
    ],
    "flash_bwd_dq": [
        # what the fifth reader of the old page tried
        Mutant("delta-missing", "{(dp - delta[:, None]) -> dp}", says="dQ: delta is not subtracted from dP."),
        Mutant("dq-without-scale", "Lq, dq{ * scale -> }", says="dQ is not multiplied by the scale."),
        Mutant("base-two", "where(seen, tl.{exp -> exp2}",
            says="dQ: P is a power of 2. lse is a natural logarithm: P = tl.exp(s - lse)."),
        Mutant("lse-not-in-base-two", "seen, tl.{exp(s -> exp2(s * 1.4426950408889634}",
            says=(
                "dQ: P is a power of 2 of scores that have the factor log2(e), but lse has not. Both need it, or "
                "neither with tl.exp."
            )),
        Mutant("scores-times-log2e", "seen, tl.exp(s { -> * 1.4426950408889634 }- ",
            says="dQ: the scores have the factor log2(e). It belongs to tl.exp2, not to tl.exp."),
        Mutant("lse-by-column", "- lse[{:, None -> None, :}]",
            says=(
                "dQ: lse lies along the wrong axis of the tile. It belongs to queries: are they the tile's rows or "
                "its columns?"
            )),
        Mutant("delta-by-column", "delta[{:, None -> None, :}]",
            says="dQ: delta lies along the wrong axis of the tile. It belongs to queries."),
        Mutant("not-masked", "{where(seen, tl.exp(s - lse[:, None]), 0.0 -> exp(s - lse[:, None]}", says="not-masked"),
        Mutant("only-the-end-masked", "{(limit - start)[:, None] -> Lk - start}", says="not-masked"),
        Mutant("own-key-missing", "limit - start{ ->  - 1})[",
            says=(
                "dQ: each query misses the last key that it sees. The columns below `limit - start` count, all of "
                "them."
            )),
        Mutant("one-key-too-many", "seen = cols <{ -> =} (",
            says="dQ: each query sees one key too many. It sees the columns *below* `limit - start`."),
        Mutant("dq-of-the-last-tile", " {dq,  -> }input_precision",
            says=(
                "dQ holds what the last tile of keys gave: the sum so far was overwritten. Give dq to tl.dot as its "
                "third argument."
            )),
        Mutant("scale-ignored", "causal, {scale -> None})",
            says="dQ: computed with 1 / sqrt(D), whatever `scale` says."),
        Mutant("masked-before-the-exponential",
            '{where(seen, tl.exp(s - lse[:, None]), 0.0 -> exp(tl.where(seen, s, float("-inf")) - lse[:, None]}',
            says="nan-where-nothing-is-seen"),
        Mutant("dq-with-log2e", "Lq, dq * {scale -> (scale * 1.4426950408889634)},",
            says="dQ has a factor log2(e) too many. It belongs to the exponent alone."),
        Mutant("products-rounded", 'v){, input_precision="ieee" -> })', seen="property"),
        # what the page warns of, and others
        Mutant("past-the-end-not-masked",
            "{where(seen, tl.exp(s - lse[:, None]) -> exp(s - lse[:, None])\n"
            "        if IS_CAUSAL:\n"
            "            p = tl.where(seen, p}",
            says=(
                "dQ is NaN: past the end of K the score is 0 and P = exp(-lse) infinite, times 0. Set P to 0 there "
                "too, not only where `causal` asks for it."
            )),
        Mutant("masked-scores-zero",
            "{where(seen, tl.exp(s - lse[:, None]), 0.0 -> exp(tl.where(seen, s, 0.0) - lse[:, None]}",
            says="dQ: where a key is not seen the score is 0, so P is exp(-lse). P has to be 0."),
        Mutant("mask-not-moved", "{(limit - start) -> limit}",
            says=(
                "dQ: the mask is the first tile's in each round. Of a tile that begins at `start` a query sees the "
                "columns below `limit - start`."
            )),
        Mutant("mask-upside-down", "seen = cols {< -> >=} ", says="dq-zero"),
        Mutant("limit-of-each-column", "start)[{:, None -> None, :}]", says="not-masked"),
        Mutant("delta-added", "ds = p * (dp {- -> +} ", says="dQ: delta is added to dP, not subtracted."),
        Mutant("delta-outside", "{(dp - delta[:, None]) -> dp - delta[:, None]}",
            says="dQ: delta is subtracted from P times dP. Subtract it from dP, then multiply by P."),
        Mutant("ds-without-p", "{p * (dp - delta[:, None]) -> dp - delta[:, None]}",
            says="dQ: dS is dP - delta alone. It has to be multiplied by P."),
        Mutant("lse-for-delta", "* (dp - {delta -> lse}[", says="dQ: lse was subtracted from dP instead of delta."),
        Mutant("minus-ds", "{dp - delta[:, None] -> delta[:, None] - dp}",
            says="dQ: the sign is wrong. dS is P (dP - delta)."),
        Mutant("dq-scaled-twice", ", dq * scale{ ->  * scale}, ",
            says="dQ is multiplied by the scale twice. Once is enough."),
        Mutant("unscaled-scores", 'ieee"){ * scale -> }', says="dQ: P is made from q k without the scale."),
        Mutant("no-scale-at-all", 'ieee"){ * scale -> }', "Lq, dq{ * scale -> }",
            says="The scale is missing twice: in the scores, and in dQ."),
        Mutant("lse-ignored", "{ - lse[:, None] -> }", says="dQ: lse is not subtracted from the scores."),
        Mutant("lse-added", "tl.exp(s {- -> +} lse", says="dQ: lse is added to the scores, not subtracted."),
        Mutant("dq-from-p", "dq = tl.dot({ds -> p}", says="dQ is made from P. It is dS times K."),
        Mutant("dq-from-dp", "dq = tl.dot({ds -> dp}",
            says="dQ is made from dP. It is dS times K, and dS is P (dP - delta)."),
        Mutant("dq-times-v", "(k.dtype), {k -> v}, ", says="dQ is made from v. It is dS times K."),
        Mutant("dp-from-k", "do, tl.trans({v -> k})", says="dQ: dP is made from k. It is dO times V."),
        Mutant("dp-from-q", "dp = tl.dot({do -> q},", says="dQ: dP is made from q. It is dO times V."),
        Mutant("scores-of-v", "q, tl.trans({k -> v})", says="dQ: the scores are made from v. They are q times k."),
        Mutant("scores-of-do", "s = tl.dot({q -> do}, ", says="dQ: the scores are made from do. They are q times k."),
        Mutant("first-tile-again", "k_ptr, kv_head, {start -> 0}, Lk, ", "kv_head, {start -> 0}, ",
            says="dQ: each round takes the first tile of k and v. Load from `start` on."),
        Mutant("first-tile-of-k", "k_ptr, kv_head, {start -> 0}, Lk, ",
            says="dQ: each round takes the first tile of k. Load from `start` on."),
        Mutant("first-tile-of-v", "v_ptr, kv_head, {start -> 0}, Lk, ",
            says="dQ: each round takes the first tile of v. Load from `start` on."),
        Mutant("masked-by-a-product", "{where(seen, tl.exp(s - lse[:, None]), 0.0) -> exp(s - lse[:, None]) * seen}",
            says="nan-where-nothing-is-seen"),
        Mutant("dq-added-twice", "dq { -> +}= tl.dot(ds",
            says="dQ: the sum so far is added twice. tl.dot adds its third argument already."),
        Mutant("dq-in-the-scores", 'k), { -> dq, }input_precision="',
            says="dQ: dq was added to the scores. Only the last product adds to what is there."),
        Mutant("steps-of-the-other-side", "end, {BLOCK_N -> BLOCK_M}):",
            says="dQ: the walk takes steps of BLOCK_M. Its tiles have BLOCK_N keys."),
        Mutant("stored-in-the-walk", "{ ->     }store_rows(dq_ptr", seen=("unwritten", "unwritten-tail")),
        Mutant("lse-outside", "{ - lse[:, None]) -> ) - lse[:, None]}",
            says="dQ: lse is subtracted from the exponential. Subtract it from the score."),
        Mutant("always-causal", "{cols < (limit - start) -> start + cols <= offs_m}",
            says=(
                "dQ: query i sees key j if j <= i, whatever `causal` and Lk - Lq say. The mask has to come from "
                "`limit - start`."
            )),
        Mutant("diagonal-from-the-corner",
            "{cols < (limit - start)[:, None] -> (cols < Lk - start) & (start + cols <= offs_m[:, None] + (0 if "
            "IS_CAUSAL else Lk))}",
            says=(
                "dQ: the diagonal begins in the first corner. With Lk - Lq keys more, each query sees as many more: "
                "the mask has to come from `limit - start`."
            )),
        Mutant("maximum-for-lse", "tl.exp(s - {lse -> tl.max(s, axis=1)}[",
            says="dQ: the tile's maximum is subtracted from the scores. Here it is lse."),
        Mutant("softmax-of-a-tile",
            " {lse[:, None]) -> tl.max(s, axis=1)[:, None]) / tl.sum(tl.exp(s - tl.max(s, axis=1)[:, None]), "
            "axis=1)[:, None]}",
            says="dQ: P is the softmax of a tile's scores. A row has more tiles: P comes from lse."),
        Mutant("delta-scaled", " * (dp - { -> scale * }delta",
            says="dQ: delta is multiplied by the scale before it is subtracted from dP."),
        Mutant("dp-scaled", "ds = p * (dp { -> * scale }-",
            says="dQ: dP is multiplied by the scale. It is dO times V, no more."),
        Mutant("ds-transposed", "dq = tl.dot({ds -> tl.trans(ds)}",
            says="dQ: dS is transposed before it is multiplied by K. Leave it as it is."),
        Mutant("last-k-transposed", "(k.dtype), {k -> tl.trans(k)}, ",
            says="dQ: K is transposed in the last product. dS times K needs it as it is."),
        Mutant("keys-placed-by-lq", "k_ptr, kv_head, start, {Lk -> Lq}, D, BLOCK_N, ", "kv_head, start, {Lk -> Lq}, ",
            says="dQ: k and v were read as heads of Lq rows. They have Lk.", seen="reads-outside"),
        Mutant("first-tile-only", " range(0, {end -> 0 + BLOCK_N},",
            says="dQ: only the first tile of keys was added up."),
        Mutant("first-tile-left-out", "in range(0{ ->  + BLOCK_N}, end", says="dq-zero"),
        Mutant("full-tiles-only", " range(0, end{ ->  // BLOCK_N * BLOCK_N},", says="last-tile-left-out"),
        Mutant("start-counts-tiles", ", {end, BLOCK_N -> tl.cdiv(end, BLOCK_N)}",
            says="dQ: `start` went up by 1 in each round. It goes up by BLOCK_N."),
        Mutant("keys-of-the-queries-head", "k_ptr, {kv_head -> head}, ", "v_ptr, {kv_head -> head},",
            seen=("reads-outside", "wrong-values")),
        Mutant("k-not-transposed", "q, {tl.trans(k) -> k}",
            says="dQ: the scores are q times k. They need k transposed: `tl.trans`."),
        Mutant("v-not-transposed", "do, {tl.trans(v) -> v}",
            says="dQ: dP is do times v. It needs v transposed: `tl.trans`."),
        Mutant("ds-not-cast", "ds{.to(k.dtype) -> }", seen=("raised", "does-not-compile", "float32-product")),
        Mutant("dp-transposed", "{do, tl.trans(v -> v, tl.trans(do}",
            says=(
                "dQ: the tile of dP is transposed against that of P: rows and columns are queries and keys in both, "
                "in one order."
            )),
        Mutant("walks-past-the-diagonal", " range(0, {end -> Lk},", seen="property"),
        Mutant("walk-begins-at-first", "start in range({0 -> first}, ",
            says="dQ: the walk begins at the number of the first query. It begins at key 0."),
        Mutant("start-in-steps-of-one", ", end{, BLOCK_N -> }",
            says=(
                "dQ: `start` went up by 1 in each round, so the tiles overlap. It goes up by BLOCK_N: the third "
                "argument of `range`."
            )),
        Mutant("tiles-of-first", "k_ptr, kv_head, {start -> first}, Lk, ", "kv_head, {start -> first}, ",
            says=(
                "dQ: k and v are loaded from `first` on in each round. That is where the queries begin; this "
                "round's keys begin at `start`."
            )),
        Mutant("k-of-first", "k_ptr, kv_head, {start -> first}, Lk, ",
            says="dQ: k is loaded from `first` on in each round. This round's keys begin at `start`."),
        Mutant("v-of-first", "v_ptr, kv_head, {start -> first}, Lk, ",
            says="dQ: v is loaded from `first` on in each round. This round's keys begin at `start`."),
        Mutant("limit-changed-in-the-walk",
            "{seen = cols < (limit - start) -> limit = limit - start\n        seen = cols < limit}",
            says="last-tile-left-out"),
        Mutant("mask-moved-by-first", "limit - {start -> first})",
            says=(
                "dQ: the mask is moved by `first`, where the queries begin. The keys of this round begin at "
                "`start`: the columns below `limit - start` count."
            )),
        Mutant("scores-scaled-in-each-round",
            '{s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale -> q = q * scale\n'
            '        s = tl.dot(q, tl.trans(k), input_precision="ieee")}',
            says=(
                "dQ: q is multiplied by the scale again in each round, so the second tile has it twice. Multiply "
                "the product."
            )),
        Mutant("dq-scaled-in-each-round", 'dq, input_precision="ieee"){ ->  * scale}', "Lq, dq{ * scale -> }",
            says="dQ: the sum so far is multiplied by the scale again in each round. Once is enough, after the walk."),
        Mutant("exponentials-divided", "{ - lse[:, None]) -> ) / tl.exp(lse)[:, None]}",
            says=(
                "dQ: exp(s) / exp(lse) is exact on paper. Where scores are far from 0, both leave the range of "
                "float32: subtract first."
            )),
        Mutant("masked-exponent-zero",
            "{where(seen, tl.exp(s - lse[:, None]), 0.0 -> exp(tl.where(seen, s - lse[:, None], 0.0)}",
            says=(
                "dQ: where a key is not seen P is 1. That is exp(0): set P itself to 0, with tl.where around the "
                "exponential."
            )),
        Mutant("scores-crosswise", "({q, tl.trans(k -> k, tl.trans(q}",
            says="dQ: the tile of the scores has rows and columns exchanged. Queries go down, keys across."),
        Mutant("walks-to-the-other-length", " range(0, {end -> Lq},",
            says="dQ: the walk over the keys ends at Lq. It ends at `end`."),
        Mutant("stored-into-the-kv-head", "dq_ptr, {head -> kv_head}, ", seen=("unwritten", "unwritten-tail", "race")),
        Mutant("never-stored", "{    store_rows(dq_ptr, head, first, Lq, dq * scale, D, BLOCK_M, BLOCK_D)\n -> }",
            seen=("unwritten", "unwritten-tail")),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            replace="""
def flash_bwd_dq(do, q, k, v, lse, delta, causal=False, scale=None, tile=None):
    prepared(do, q, k, v, lse, delta, causal, scale)
    return torch.zeros_like(q)
"""),
    ],
    "flash_bwd_dkdv": [
        # what the fifth reader of the old page tried
        Mutant("dk-alone-unscaled", "Lk, dk{ * scale -> }", says="dk-without-scale"),
        Mutant("not-masked", "{where(seen, tl.exp(st - lse[None, :]), 0.0 -> exp(st - lse[None, :]}",
            says="not-masked-2"),
        Mutant("delta-missing", "{(dpt - delta[None, :]) -> dpt}", says="dK: delta is not subtracted from dP."),
        Mutant("dv-scaled", "first, Lk, dv{ ->  * scale}, D", says="dV is multiplied by the scale. Only dK takes it."),
        Mutant("base-two", "where(seen, tl.{exp -> exp2}",
            says="dK and dV: P is a power of 2. lse is a natural logarithm: P = tl.exp(s - lse)."),
        Mutant("lse-not-in-base-two", "seen, tl.{exp(st -> exp2(st * 1.4426950408889634}",
            says=(
                "dK and dV: P is a power of 2 of scores that have the factor log2(e), but lse has not. Both need "
                "it, or neither with tl.exp."
            )),
        Mutant("scores-times-log2e", "seen, tl.exp(st { -> * 1.4426950408889634 }-",
            says="dK and dV: the scores have the factor log2(e). It belongs to tl.exp2, not to tl.exp."),
        Mutant("lse-by-column", "- lse[{None, : -> :, None}]",
            says=(
                "dK and dV: lse lies along the wrong axis of the tile. It belongs to queries: are they the tile's "
                "rows or its columns?"
            )),
        Mutant("delta-by-column", "delta[{None, : -> :, None}]",
            says="dK: delta lies along the wrong axis of the tile. It belongs to queries."),
        Mutant("own-key-missing", "seen = cols >{= -> } (",
            says="dK and dV: the first query that sees a key is left out. `since` itself counts: `>=`."),
        Mutant("one-key-too-many", "since - start{ ->  - 1})",
            says="dK and dV: each key is seen by one query too many, the one before `since`."),
        Mutant("dk-overwritten", " {dk,  -> }input_precision", says="dk-of-the-last-tile"),
        Mutant("dv-of-the-last-tile", " {dv,  -> }input_precision",
            says=(
                "dV holds what the last tile of queries gave: the sum so far was overwritten. Give dv to tl.dot as "
                "its third argument."
            )),
        Mutant("both-overwritten", " {dk,  -> }input_precision", " {dv,  -> }input_precision",
            says="dk-of-the-last-tile"),
        Mutant("dv-in-dk", "store_rows({dk_ptr -> dv_ptr}", "store_rows({dv_ptr -> dk_ptr}, kv_head, first, Lk, dv",
            says="What is stored as dK is dV."),
        Mutant("swapped-values", "first, Lk, {dk -> dv} ", "first, Lk, {dv -> dk}, ", says="scaled-dv-in-dk"),
        Mutant("scale-ignored", "causal, {scale -> None})",
            says="dK and dV: computed with 1 / sqrt(D), whatever `scale` says."),
        Mutant("masked-before-the-exponential",
            '{where(seen, tl.exp(st - lse[None, :]), 0.0 -> exp(tl.where(seen, st, float("-inf")) - lse[None, :]}',
            says="nan-where-nothing-is-seen-2"),
        Mutant("dk-with-log2e", "Lk, dk * {scale -> (scale * 1.4426950408889634)},",
            says="dK has a factor log2(e) too many. It belongs to the exponent alone."),
        Mutant("products-rounded", 'do){, input_precision="ieee" -> })', seen="property"),
        # what the page warns of, and others
        Mutant("masked-scores-zero",
            "{where(seen, tl.exp(st - lse[None, :]), 0.0 -> exp(tl.where(seen, st, 0.0) - lse[None, :]}",
            says="dK and dV: where a key is not seen the score is 0, so P is exp(-lse). P has to be 0."),
        Mutant("mask-not-moved", "{(since - start) -> since}",
            says=(
                "dK and dV: the mask is the first tile's in each round. Of a tile that begins at `start` the "
                "columns from `since - start` on see the key."
            )),
        Mutant("mask-upside-down", "seen = cols {>= -> <} ", says="dk-zero"),
        Mutant("delta-added", "= pt * (dpt {- -> +} ", says="dK: delta is added to dP, not subtracted."),
        Mutant("delta-outside", "{(dpt - delta[None, :]) -> dpt - delta[None, :]}",
            says="dK: delta is subtracted from P times dP. Subtract it from dP, then multiply by P."),
        Mutant("ds-without-p", "{pt * (dpt - delta[None, :]) -> dpt - delta[None, :]}",
            says="dK: dS is dP - delta alone. It has to be multiplied by P."),
        Mutant("lse-for-delta", " (dpt - {delta -> lse}[", says="dK: lse was subtracted from dP instead of delta."),
        Mutant("minus-ds", "{dpt - delta[None, :] -> delta[None, :] - dpt}",
            says="dK: the sign is wrong. dS is P (dP - delta)."),
        Mutant("dk-scaled-twice", ", dk * scale{ ->  * scale}, ",
            says="dK is multiplied by the scale twice. Once is enough."),
        Mutant("scale-on-the-wrong-one", "Lk, dk{ * scale -> }", "first, Lk, dv{ ->  * scale}, D",
            says="dk-without-scale"),
        Mutant("unscaled-scores", 'ieee"){ * scale -> }', says="dK and dV: P is made from q k without the scale."),
        Mutant("no-scale-at-all", 'ieee"){ * scale -> }', "Lk, dk{ * scale -> }",
            says="The scale is missing twice: in the scores, and in dK."),
        Mutant("lse-ignored", "{ - lse[None, :] -> }", says="dK and dV: lse is not subtracted from the scores."),
        Mutant("lse-added", ", tl.exp(st {- -> +} ", says="dK and dV: lse is added to the scores, not subtracted."),
        Mutant("dv-stored-twice", "first, Lk, {dk -> dv} ", says="scaled-dv-in-dk"),
        Mutant("scaled-dk-in-dv", "first, Lk, {dv -> dk * scale}, ", says="What is stored as dV is dK."),
        Mutant("dk-in-dv", "first, Lk, {dv -> dk}, ", says="What is stored as dV is dK, without the scale."),
        Mutant("dk-from-p", "dk = tl.dot({dst -> pt}", says="dk-from-p"),
        Mutant("dk-from-dp", "dk = tl.dot({dst -> dpt}",
            says="dK is made from dP. It is dS transposed times Q, and dS is P (dP - delta)."),
        Mutant("dk-times-do", "(q.dtype), {q -> do}, ", says="dK is made from do. It is dS transposed times Q."),
        Mutant("dk-times-k", "(q.dtype), {q -> k}, ", says="dK is made from k. It is dS transposed times Q."),
        Mutant("dv-times-v", "do.dtype), {do -> v},", says="dV is made from v. It is P transposed times dO."),
        Mutant("dv-from-ds", '{            dv = tl.dot(pt.to(do.dtype), do, dv, input_precision="ieee")\n -> }',
            'delta[None, :]){ -> \n            dv = tl.dot(dst.to(do.dtype), do, dv, input_precision="ieee")}',
            says="dV is made from dS. It is P transposed times dO."),
        Mutant("dv-times-q", "do.dtype), {do -> q},", says="dV is made from q. It is P transposed times dO."),
        Mutant("products-exchanged", '{            dv = tl.dot(pt.to(do.dtype), do, dv, input_precision="ieee")\n -> }',
            'delta[None, :]){ -> \n            dv = tl.dot(dst.to(do.dtype), do, dv, input_precision="ieee")}',
            "tl.dot({dst -> pt}.to(q", says="dk-from-p"),
        Mutant("dp-from-k", "dpt = tl.dot({v -> k},", says="dK: dP is made from k. It is dO times V."),
        Mutant("dp-from-q", ", tl.trans({do -> q})", says="dK: dP is made from q. It is dO times V."),
        Mutant("scores-of-v", "st = tl.dot({k -> v},",
            says="dK and dV: the scores are made from v. They are q times k."),
        Mutant("scores-of-do", "k, tl.trans({q -> do})",
            says="dK and dV: the scores are made from do. They are q times k."),
        Mutant("one-head-of-the-group", "in range({GROUP -> 1}",
            says="dK and dV: only one query head of each group is counted."),
        Mutant("rows-of-the-keys-head", "(q_ptr, {head -> kv_head}, ", "(do_ptr, {head -> kv_head},",
            says="dK and dV: q and do were read at `kv_head`. They are in `head`."),
        Mutant("numbers-of-the-keys-head", "lse_ptr + {head -> kv_head} * ", "delta_ptr + {head -> kv_head} ",
            says="dK and dV: lse and delta were read at `kv_head`. They are in `head`."),
        Mutant("queries-of-the-keys-head", "(q_ptr, {head -> kv_head}, ", "(do_ptr, {head -> kv_head},",
            "lse_ptr + {head -> kv_head} * ", "delta_ptr + {head -> kv_head} ",
            says="dK and dV: what belongs to queries was read at `kv_head`. It is in `head`."),
        Mutant("first-tile-of-lse", "lse_ptr + head * Lq + offs_m{ ->  - start}, mask=offs_m < Lq, other",
            says="dK and dV: each round takes the lse of the first tile. Load it from `start` on."),
        Mutant("first-tile-of-delta", "delta_ptr + head * Lq + offs_m{ ->  - start}, mask=offs_m < Lq, other",
            says="dK: each round takes the delta of the first tile. Load it from `start` on."),
        Mutant("first-tile-of-numbers", "offs_m = {start +  -> }",
            says="dK and dV: each round takes lse and delta of the first tile. Load them from `start` on."),
        Mutant("dp-transposed", "{v, tl.trans(do -> do, tl.trans(v}",
            says=(
                "dK: the tile of dP is transposed against that of P: rows and columns are queries and keys in both, "
                "in one order."
            )),
        Mutant("mask-upside-down-with-its-own", "seen = cols {> -> <}=",
            says="dK and dV: the comparison with `since` is upside down. Queries see key j from `since[j]` on."),
        Mutant("walks-above-the-diagonal", "in range({begin -> 0}", seen="property"),
        Mutant("q-not-transposed", "k, {tl.trans(q) -> q}",
            says="dK and dV: the scores are k times q. They need q transposed: `tl.trans`."),
        Mutant("do-not-transposed", ", {tl.trans(do) -> do}",
            says="dK: dP is v times do. It needs do transposed: `tl.trans`."),
        Mutant("numbers-of-the-first-head", "lse_ptr + {head * Lq +  -> }offs_m, ", "+ {head * Lq +  -> }",
            says="dK and dV: lse and delta are those of the first head. Head `head` begins at head * Lq."),
        Mutant("first-tile-of-q", "q_ptr, head, {start -> 0}, Lq, ",
            says="dK and dV: each round takes the first tile of q. Load from `start` on."),
        Mutant("first-tile-of-do", "do_ptr, head, {start -> 0}, Lq, ",
            says="dK and dV: each round takes the first tile of do. Load from `start` on."),
        Mutant("first-tile-again", "q_ptr, head, {start -> 0}, Lq, ", ", head, {start -> 0},",
            says="dK and dV: each round takes the first tile of q and do. Load from `start` on."),
        Mutant("masked-by-a-product", "{where(seen, tl.exp(st - lse[None, :]), 0.0) -> exp(st - lse[None, :]) * seen}",
            says="nan-where-nothing-is-seen-2"),
        Mutant("dk-added-twice", "dk { -> +}= tl.dot(dst",
            says="dK: the sum so far is added twice. tl.dot adds its third argument already."),
        Mutant("dv-added-twice", "dv { -> +}= tl.dot(pt",
            says="dV: the sum so far is added twice. tl.dot adds its third argument already."),
        Mutant("dk-onto-dv", "q, {dk -> dv}, input_precision",
            says="dK: its product was added to dv. The third argument of tl.dot has to be dk."),
        Mutant("dv-onto-dk", "dtype), do, {dv -> dk}, ",
            says="dV: its product was added to dk. The third argument of tl.dot has to be dv."),
        Mutant("steps-of-the-other-side", " Lq, {BLOCK_M -> BLOCK_N}):",
            says="dK and dV: the walk takes steps of BLOCK_N. Its tiles have BLOCK_M queries."),
        Mutant("always-causal", "{cols >= (since - start) -> start + cols >= offs_n}",
            says=(
                "dK and dV: query i sees key j if j <= i, whatever `causal` and Lk - Lq say. The mask has to come "
                "from `since - start`."
            )),
        Mutant("diagonal-from-the-corner",
            "{cols >= (since - start -> start + cols >= (offs_n if IS_CAUSAL else since}",
            says=(
                "dK and dV: the diagonal begins in the first corner. With Lk - Lq keys more, each query sees as "
                "many more: the mask has to come from `since - start`."
            )),
        Mutant("maximum-for-lse", ".exp(st - {lse -> tl.max(st, axis=0)}[",
            says="dK and dV: the tile's maximum is subtracted from the scores. Here it is lse."),
        Mutant("softmax-of-a-tile",
            " {lse[None, :]) -> tl.max(st, axis=0)[None, :]) / tl.sum(tl.exp(st - tl.max(st, axis=0)[None, :]), "
            "axis=0)[None, :]}",
            says="dK and dV: P is the softmax of a tile's scores. A row has more tiles: P comes from lse."),
        Mutant("delta-scaled", "* (dpt - { -> scale * }delta",
            says="dK: delta is multiplied by the scale before it is subtracted from dP."),
        Mutant("dp-scaled", " = pt * (dpt { -> * scale }-",
            says="dK: dP is multiplied by the scale. It is dO times V, no more."),
        Mutant("dk-turned", "dk = tl.dot({dst -> tl.trans(dst)}",
            says="dK: dst is transposed already, and was transposed once more."),
        Mutant("dv-turned", "dv = tl.dot({pt -> tl.trans(pt)}",
            says="dV: pt is transposed already, and was transposed once more."),
        Mutant("queries-placed-by-lk", "q_ptr, head, start, {Lq -> Lk}, D, BLOCK_M, ", "head, start, {Lq -> Lk}, ",
            says="dK and dV: q and do were read as heads of Lk rows. They have Lq.", seen="reads-outside"),
        Mutant("walk-begins-at-first", "in range({begin -> first}",
            says=(
                "dK and dV: the walk begins at the number of the first key. The first query that sees it is at "
                "`begin`."
            )),
        Mutant("start-in-steps-of-one", "begin, Lq{, BLOCK_M -> }",
            says=(
                "dK and dV: `start` went up by 1 in each round, so the tiles overlap. It goes up by BLOCK_M: the "
                "third argument of `range`."
            )),
        Mutant("queries-of-first", "offs_m = {start -> first} ", "q_ptr, head, {start -> first}, Lq, ",
            ", head, {start -> first},",
            says=(
                "dK and dV: q, do, lse and delta are loaded from `first` on in each round. That is where the keys "
                "begin; this round's queries begin at `start`."
            )),
        Mutant("rows-of-first", "q_ptr, head, {start -> first}, Lq, ", ", head, {start -> first},",
            says="dK and dV: q and do are loaded from `first` on in each round. This round's queries begin at `start`."),
        Mutant("numbers-of-first", "offs_m = {start -> first} ",
            says=(
                "dK and dV: lse and delta are loaded from `first` on in each round. In `offs_m` the queries begin "
                "at `start`."
            )),
        Mutant("q-of-first", "q_ptr, head, {start -> first}, Lq, ",
            says="dK and dV: q is loaded from `first` on in each round. This round's queries begin at `start`."),
        Mutant("do-of-first", "do_ptr, head, {start -> first}, Lq, ",
            says="dK and dV: do is loaded from `first` on in each round. This round's queries begin at `start`."),
        Mutant("mask-moved-again",
            "{seen = cols >= (since - start) -> since = since - start\n            seen = cols >= since}",
            says=(
                "dK and dV: `since` is changed in each round, and the next head of the group begins with what is "
                "left of it. Leave `since` as it is: `since - start`."
            )),
        Mutant("mask-moved-by-first", "since - {start -> first})",
            says=(
                "dK and dV: the mask is moved by `first`, where the keys begin. The queries of this round begin at "
                "`start`: the columns from `since - start` on see the key."
            )),
        Mutant("scores-scaled-in-each-round",
            '{st = tl.dot(k, tl.trans(q), input_precision="ieee") * scale -> k = k * scale\n'
            '            st = tl.dot(k, tl.trans(q), input_precision="ieee")}',
            says=(
                "dK and dV: k is multiplied by the scale again in each round, so the second tile has it twice. "
                "Multiply the product."
            )),
        Mutant("dk-scaled-in-each-round", 'dk, input_precision="ieee"){ ->  * scale}', "Lk, dk{ * scale -> }",
            says="dK: the sum so far is multiplied by the scale again in each round. Once is enough, after the walk."),
        Mutant("masked-exponent-zero",
            "{where(seen, tl.exp(st - lse[None, :]), 0.0 -> exp(tl.where(seen, st - lse[None, :], 0.0)}",
            says=(
                "dK and dV: where a key is not seen P is 1. That is exp(0): set P itself to 0, with tl.where around "
                "the exponential."
            )),
        Mutant("scores-crosswise", "({k, tl.trans(q -> q, tl.trans(k}",
            says=(
                "dK and dV: the tile of the scores has rows and columns exchanged. In `st` keys go down, queries "
                "across."
            )),
        Mutant("last-head-of-the-group",
            "{ ->         dk = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)\n"
            "        dv = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)\n"
            "}        for start",
            says=(
                "dK and dV: only the last query head of each group is counted. Do dk and dv start again with each "
                "head?"
            )),
        Mutant("masked-for-dk-alone", "{where(seen, tl.exp(st - lse[None, :]), 0.0 -> exp(st - lse[None, :]}",
            "{pt * (dpt - delta[None, :] -> tl.where(seen, pt * (dpt - delta[None, :]), 0.0}", says="not-masked-2"),
        Mutant("first-tile-only", "range(begin, {Lq -> begin + BLOCK_M}, ",
            says="dK and dV: only the first tile of queries was added up."),
        Mutant("first-tile-left-out", "in range(begin{ ->  + BLOCK_M},", says="dk-zero"),
        Mutant("last-tile-left-out", "begin, Lq{ ->  // BLOCK_M * BLOCK_M}, BLOCK_M",
            says=(
                "dK and dV: nothing of the last, partly filled tile of queries counts. Does the walk end before it, "
                "or has a number that its mask takes been changed in an earlier round?"
            )),
        Mutant("start-counts-tiles", "begin, {Lq, BLOCK_M -> tl.cdiv(Lq, BLOCK_M)}",
            says="dK and dV: `start` went up by 1 in each round. It goes up by BLOCK_M."),
        Mutant("lse-without-other", "lse_ptr + head * Lq + offs_m, mask=offs_m < Lq{, other=0.0 -> })", seen="no-other"),
        Mutant("lse-not-masked", "lse_ptr + head * Lq + offs_m{, mask=offs_m < Lq, other=0.0 -> })",
            seen="reads-outside"),
        Mutant("walks-to-the-other-length", "range(begin, {Lq -> Lk}, ",
            says="dK and dV: the walk over the queries ends at Lk. It ends at Lq."),
        Mutant("pt-not-cast", "pt{.to(do.dtype) -> }", seen=("raised", "does-not-compile", "float32-product")),
        Mutant("dv-never-stored", "{    store_rows(dv_ptr, kv_head, first, Lk, dv, D, BLOCK_N, BLOCK_D)\n -> }",
            seen="unwritten"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            replace="""
def flash_bwd_dkdv(do, q, k, v, lse, delta, causal=False, scale=None, tile=None):
    prepared(do, q, k, v, lse, delta, causal, scale)
    return torch.zeros_like(k), torch.zeros_like(v)
"""),
    ],
    "flash_attention": [
        Mutant("dk-and-dv-swapped", "return dq, {dk, dv -> dv, dk},",
            says="The gradients of k and v are swapped. Return them in the order of forward's arguments."),
        Mutant("dq-not-first", "return {dq, dk -> dk, dq},",
            says="The gradients of q and k are swapped. Return them in the order of forward's arguments."),
        Mutant("one-gradient-short", "dv, None{, None -> }", seen="raised"),
        Mutant("no-nones", "dv{, None, None -> }", seen="raised"),
        Mutant("causal-not-kept", "scale = {causal -> False},", says="causal-not-kept"),
        Mutant("causal-not-handed-on", "lse, {ctx.causal -> False},", says="causal-not-kept"),
        Mutant("scale-not-kept", "= causal, {scale -> None}",
            says="The backward pass has another scale than the forward pass: `scale` was not handed on."),
        Mutant("defaults-backwards", "{, ctx.causal, ctx.scale -> }", says="causal-not-kept", seen="scale-not-kept"),
        Mutant("causal-not-used", "flash_gqa(q, k, v, {causal -> False}, scale)",
            says="The output is not causal: hand `causal` on to flash_gqa."),
        Mutant("scale-not-used", "flash_gqa(q, k, v, causal{, scale -> })",
            says="The output has the scale 1 / sqrt(D): hand `scale` on to flash_gqa."),
        Mutant("lse-and-o-swapped", " k, v, {o, lse -> lse, o})", seen="raised"),
        Mutant("k-and-v-swapped", "save_for_backward(q, {k, v -> v, k}, o",
            says="The backward pass took k for v and v for k: are they kept in one order and taken out in another?"),
        Mutant("q-and-k-swapped", "save_for_backward({q, k -> k, q},",
            says="The backward pass took q for k and k for q: are they kept in one order and taken out in another?"),
        Mutant("v-and-o-swapped", " k, {v, o -> o, v}, lse,",
            says="The backward pass took v for o and o for v: are they kept in one order and taken out in another?"),
        Mutant("do-and-q-swapped", "flash_bwd({do, q -> q, do}", says="The backward pass took do for q and q for do."),
        Mutant("forward-k-and-v-swapped", "flash_gqa(q, {k, v -> v, k}, causal,",
            says="The forward pass took k for v and v for k."),
        Mutant("forward-q-and-k-swapped", "flash_gqa({q, k -> k, q},",
            says="The forward pass took q for k and k for q."),
        Mutant("no-gradient-for-v", "return dq, dk, {dv -> None},", seen="raised"),
        Mutant("q-for-do", "= flash_bwd({do -> q}", says="The backward pass took q for do."),
        Mutant("returns-lse-too", "return o{ -> , lse}\n\n    ", seen=("raised", "wrong-type")),
        Mutant("tensors-on-ctx", "{save_for_backward -> kept = }", ".{saved_tensors -> kept}", seen="property"),
        Mutant("v-on-ctx", " k, {v, o, lse) -> o, lse)\n        ctx.v = v}",
            "{q, k, v, o, lse = ctx.saved_tensors -> (q, k, o, lse), v = ctx.saved_tensors, ctx.v}", seen="property"),
        Mutant("nothing-kept", "{ctx.save_for_backward(q, k, v, o, lse) -> pass}", seen="raised"),
    ],
}

VARIANTS = {
    "attention_delta": [
        Variant("larger-tiles", "triton.cdiv(M, {32 -> 64})", '"BLOCK_M": {32 -> 64},'),
        Variant("product-the-other-way", " tl.sum({o * do -> do * o}"),
        Variant("float32-after-both-loads", "(o_ptr + offsets, mask=mask, other=0.0){.to(tl.float32) -> }",
            "{.to(tl.float32) -> }", "tl.sum(o{ * do -> .to(tl.float32) * do.to(tl.float32)},"),
        Variant("one-line", "offs_m, {delta -> tl.sum(o * do, 1)}, "),
        Variant("columns-across", "{:, None] * D + offs_d[None, : -> None, :] * D + offs_d[:, None}",
            "{:, None] < M) & (offs_d[None, : -> None, :] < M) & (offs_d[:, None}", " * do, axis={1 -> 0})"),
    ],
    "flash_bwd_dq": [
        Variant("products-before-subtraction", "{(dp - delta[:, None]) -> dp - p * delta[:, None]}"),
        Variant("dp-first", '{ -> dp = tl.dot(do, tl.trans(v), input_precision="ieee")\n        }s = tl.dot(q, ',
            '{dp = tl.dot(do, tl.trans(v), input_precision="ieee")\n        ds -> ds}'),
        Variant("scale-in-the-exponential", 'ieee"){ * scale -> }', "seen, tl.exp(s { -> * scale }- "),
        Variant("powers-of-two", "{exp(s - lse[:, None] -> exp2((s - lse[:, None]) * 1.4426950408889634}"),
        Variant("scale-from-the-left", "Lq, {dq * scale -> scale * dq}"),
        Variant("scale-in-ds", "ds = { -> scale * }p * (dp -", "Lq, dq{ * scale -> }"),
        Variant("sum-added", "{= tl.dot(ds.to(k.dtype), k, dq -> += tl.dot(ds.to(k.dtype), k}"),
        Variant("mask-by-product",
            '{where(seen, tl.exp(s - lse[:, None]), 0.0 -> exp(tl.where(seen, s - lse[:, None], float("-inf"))}'),
        Variant("keys-numbered", "{cols < (limit - start) -> start + cols < limit}"),
        Variant("queries-in-the-other-order",
            "{(num_tiles - 1 - tl.program_id(0) % num_tiles) -> tl.program_id(0) % num_tiles}"),
        Variant("precision-in-tf32x3", 'v), input_precision="{ieee -> tf32x3}")'),
        Variant("cast-to-q", "tl.dot(ds.to({k -> q}."),
        Variant("tiles-counted",
            "{start in range(0, end, BLOCK_N): -> tile in range(tl.cdiv(end, BLOCK_N)):\n"
            "        start = tile * BLOCK_N}"),
        Variant("limit-in-steps", "{(limit - start) -> limit}",
            'dq, input_precision="ieee"){ -> \n        limit -= BLOCK_N}'),
    ],
    "flash_bwd_dkdv": [
        Variant("products-before-subtraction", "{(dpt - delta[None, :]) -> dpt - pt * delta[None, :]}"),
        Variant("dk-before-dv", '{            dv = tl.dot(pt.to(do.dtype), do, dv, input_precision="ieee")\n -> }',
            'dk, input_precision="ieee"){ -> \n'
            '            dv = tl.dot(pt.to(do.dtype), do, dv, input_precision="ieee")}'),
        Variant("scale-in-the-exponential", 'ieee"){ * scale -> }', "seen, tl.exp(st { -> * scale }-"),
        Variant("scale-in-ds", "dst = { -> scale * }pt * (dpt", "Lk, dk{ * scale -> }"),
        Variant("sums-added", "{= tl.dot(pt.to(do.dtype), do, dv -> += tl.dot(pt.to(do.dtype), do}",
            "{= tl.dot(dst.to(q.dtype), q, dk -> += tl.dot(dst.to(q.dtype), q}"),
        Variant("queries-numbered", "{cols >= (since - start) -> start + cols >= since}"),
        Variant("lse-of-absent-queries-infinite",
            'lse_ptr + head * Lq + offs_m, mask=offs_m < Lq, other={0.0 -> float("inf")})'),
        Variant("rows-first", "{st = tl.dot(k, tl.trans(q -> s = tl.dot(q, tl.trans(k}",
            "seen, tl.exp({st -> tl.trans(s)}"),
        Variant("stores-in-the-other-order",
            "{    store_rows(dk_ptr, kv_head, first, Lk, dk * scale, D, BLOCK_N, BLOCK_D)\n -> }",
            "dv, D, BLOCK_N, BLOCK_D){ -> \n"
            "    store_rows(dk_ptr, kv_head, first, Lk, dk * scale, D, BLOCK_N, BLOCK_D)}"),
        Variant("nothing-transposed", "{st = tl.dot(k, tl.trans(q -> s = tl.dot(q, tl.trans(k}",
            "{cols >= (since - start)[:, None -> start + tl.arange(0, BLOCK_M)[:, None] >= since[None, :}",
            "{pt = tl.where(seen, tl.exp(st - lse[None, : -> p = tl.where(seen, tl.exp(s - lse[:, None}",
            "dv = tl.dot({pt -> tl.trans(p)}", "{dpt = tl.dot(v, tl.trans(do -> dp = tl.dot(do, tl.trans(v}",
            "{dst = pt * (dpt - delta[None, : -> ds = p * (dp - delta[:, None}", "dk = tl.dot({dst -> tl.trans(ds)}"),
        Variant("limit-of-each-query",
            "{seen = cols >= (since - start)[:, None -> limit = offs_m + 1 + Lk - Lq if IS_CAUSAL else "
            "tl.full([BLOCK_M], Lk, tl.int32)\n"
            "            seen = offs_n[:, None] < limit[None, :}"),
        Variant("two-tensors",
            "{, dv = torch.empty((2, *k.shape), dtype=k.dtype, device=k ->  = torch.empty(k.shape, dtype=k.dtype, "
            "device=k.device)\n"
            "    dv = torch.empty(v.shape, dtype=v.dtype, device=v}"),
    ],
    "flash_attention": [
        Variant("keeps-one-tuple", "{causal, ctx.scale = causal, scale -> options = (causal, scale)}",
            "{ctx.causal, ctx.scale -> *ctx.options}"),
        Variant("unpacks-in-the-call", "{        q, k, v, o, lse = ctx.saved_tensors\n -> }",
            " {q, k, v, o, lse -> *ctx.saved_tensors}"),
        Variant("returns-a-list-as-tuple", "{dq, dk, dv, None, None -> (*(dq, dk, dv), None, None)}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
ONE_SIDE = "one factor in float32 makes the product float32"
TIMES_ZERO = "it is multiplied by what the other tile holds there, which is 0"
EQUIVALENT = {
    "attention_delta": {
        "o = tl.load(o_ptr + offsets, mask=mask, other=0.0).to(tl.float32) => o = tl.load(o_ptr + offsets, mask=mask, other=0.0)": ONE_SIDE,
        "do = tl.load(do_ptr + offsets, mask=mask, other=0.0).to(tl.float32) => do = tl.load(do_ptr + offsets, mask=mask, other=0.0)": ONE_SIDE,
        "o = tl.load(o_ptr + offsets, mask=mask, other=0.0).to(tl.float32) => o = tl.load(o_ptr + offsets, mask=mask, other=1.0).to(tl.float32)": TIMES_ZERO,
        "do = tl.load(do_ptr + offsets, mask=mask, other=0.0).to(tl.float32) => do = tl.load(do_ptr + offsets, mask=mask, other=1.0).to(tl.float32)": TIMES_ZERO,
    },
    "flash_bwd_dkdv": {
        "store_rows(dk_ptr, kv_head, first, Lk, dk * scale, D, BLOCK_N, BLOCK_D) store_rows(dv_ptr, kv_head, first, Lk, dv, D, BLOCK_N, BLOCK_D) => store_rows(dv_ptr, kv_head, first, Lk, dv, D, BLOCK_N, BLOCK_D) store_rows(dk_ptr, kv_head, first, Lk, dk * scale, D, BLOCK_N, BLOCK_D)": "two tensors, in any order",
        "lse = tl.load(lse_ptr + head * Lq + offs_m, mask=offs_m < Lq, other=0.0) => lse = tl.load(lse_ptr + head * Lq + offs_m, mask=offs_m < Lq, other=1.0)": "P of a query past the end is finite, and multiplies rows of zeros",
        "delta = tl.load(delta_ptr + head * Lq + offs_m, mask=offs_m < Lq, other=0.0) => delta = tl.load(delta_ptr + head * Lq + offs_m, mask=offs_m < Lq, other=1.0)": "dS of a query past the end is finite, and multiplies a row of zeros",
    },
}
