"""Mistakes of 42_flash_gqa with what is said of each, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = """
    acc-counted-twice acc-not-rescaled acc-starts-again end-is-everything end-of-the-first-query factor-in-another-base
    factor-scaled first-head-only full-of-the-last-query keys-for-values last-tile-only log2e-twice
    lse-heads-behind-tokens lse-in-base-2 lse-of-mixed-bases lse-without-max m-starts-at-zero maximum-added
    maximum-along-queries maximum-before-the-mask maximum-in-other-units maximum-not-kept maximum-of-another-query
    maximum-of-the-tile maximum-of-the-whole-tile maximum-scaled-again maximum-scaled-in-p multiplied-by-the-sum
    no-maximum not-divided nothing-rescaled nothing-summed score-zero sum-along-queries sum-not-rescaled
    sum-of-the-whole-tile sum-starts-again values-for-keys weights-without-maximum
"""
PROMISES = ("every-tile-masked", "copied-first", "rows-are-positions")

VALUES = ("wrong-values", "wrong-tail", "rows-after-first", "nan")
UNWRITTEN = ("unwritten", "unwritten-tail")

BY_TORCH = (
    "attend = torch.nn.functional.scaled_dot_product_attention\n"
    "o = attend(q, k, v, is_causal=causal, enable_gqa=True)\n"
    "return o, torch.zeros(o.shape[:-1])"
)

# Sentences that several mistakes share.
SAYS = {
    "bounds-lengths-swapped":
        "bounds takes the number of queries, Lq, and then that of keys, Lk. Here it is given something else "
        "for one of them.",
    "full-without-own-key":
        "`full` is a tile short where the first query's own key ends a tile: that query sees i + 1 + Lk - Lq keys, its "
        "own included.",
    "above-the-last-key": "More keys than there are: the last query of a tile may lie past Lq. At most Lk.",
    "offset-not-below-zero":
        "With more queries than keys, Lk - Lq is negative and has to stay so: query i sees i + 1 + Lk - Lq keys, and "
        "the first queries see nothing.",
    "end-one-key-too-many": "The walk ends one key too late: the last query sees i + 1 + Lk - Lq keys.",
    "limit-one-short":
        "In the masked tiles a row misses the last key that it should see: limit is a number of keys, one more than "
        "the position of the last.",
    "limit-one-too-far":
        "In the masked tiles a row sees one key too many: limit is the number of keys that it sees, i + 1 + Lk - Lq.",
    "limit-ignores-causal": "Without causal every row sees all keys: limit is Lk then.",
    "limit-is-everything":
        "In the tiles at the diagonal, rows see keys that come after them: limit is the same for all rows. It grows "
        "with the position.",
    "end-of-the-first-row": "The walk of a program ends where its first row ends. Its last row sees the most keys.",
    "full-of-the-last-row":
        "Full tiles go by the last row of the tile. The first one sees fewer keys: it looks into the future.",
    "second-phase-lost":
        "The keys of the masked tiles never take part: either the walk ends before them, or limit shuts them out.",
    "limit-of-the-first-tile":
        "The keys are compared with the row of the tile, 0 to BLOCK_M - 1, as if each tile were the first one. limit "
        "and `cols` both count from the first key of the text: take nothing off.",
    "sum-of-rounded-weights":
        "l adds up weights that are rounded to half precision. Round p only for the product: m, l and acc are float32.",
    "v-strides-swapped":
        "The row stride and the column stride of V are swapped in the call of attend. In a contiguous head a row is D "
        "elements from the next.",
    "diagonal-from-the-top-left":
        "limit lacks the offset, or has it with the wrong sign: the last query sees the last key, so position i sees i "
        "+ 1 + Lk - Lq keys.",
    "query-rows-one-apart": "The rows of q are read one element apart: a position counts stride_qm elements.",
}

MUTANTS = {
    "walk_bounds": [
        Mutant("always-causal", "{    if not causal:\n        first, last = Lq - 1, Lq - 1\n -> }",
            says="Without causal each query sees all Lk keys, wherever it stands."),
        Mutant("causal-ignored", "{if not causal:\n         -> }",
            says="causal makes no difference here. With it, query i sees i + 1 + Lk - Lq keys."),
        Mutant("no-offset", "first + 1{ + Lk - Lq -> }))", " + 1{ + Lk - Lq -> }", "last = {Lq - 1, Lq -> Lk - 1, Lk}",
            says="The last query sees the last key: query i sees i + 1 + Lk - Lq keys, not i + 1."),
        Mutant("offset-upside-down", "first + 1 + {Lk - Lq -> Lq - Lk}))", " + 1 + {Lk - Lq -> Lq - Lk}",
            "Lq {- 1, Lq - 1 -> + Lk, Lq + Lk}",
            says="The offset has the wrong sign: with a cache Lk is larger, and the queries see more."),
        Mutant("own-key-missing", "first + {1 +  -> }Lk -", "Lk, last + {1 +  -> }",
            says="A query sees its own key too: i + 1 + Lk - Lq of them, one more than here."),
        Mutant("end-without-own-key", "last + {1 +  -> }Lk -",
            says="The walk ends one key too early: the last query sees its own key too."),
        Mutant("own-key-missing-in-full", "first + {1 +  -> }Lk -", says="full-without-own-key"),
        Mutant("full-of-the-last-query", "return {fewest -> most} "),
        Mutant("end-of-the-first-query", " BLOCK_N, {most -> fewest}"),
        Mutant("full-one-key-too-many", ", first + {1 -> 2} + ",
            says="`full` counts one key too many for the first query: it sees i + 1 + Lk - Lq keys."),
        Mutant("at-most-the-queries", " min({Lk -> Lq}, first", " max(0, min({Lk -> Lq}",
            says="Both are numbers of keys: at most Lk. Here they are at most Lq."),
        Mutant("nothing-at-all", "fewest = {max(0, min -> min(0, max}(Lk,", "most = {max(0, min -> min(0, max}",
            says="Both are always 0, as min(0, ...) is. Between 0 and Lk lies max(0, min(Lk, ...))."),
        Mutant("first-still-causal", "{first, last = Lq - 1, -> last =}",
            says="Without causal the first query too sees all keys, and `full` goes by it."),
        Mutant("all-queries-at-the-last-key", "{Lq - 1, Lq - 1 -> Lk, Lk}", seen=VALUES),
        Mutant("nothing-is-full", "{fewest // BLOCK_N * BLOCK_N -> 0}",
            says="No tile is full, so the whole walk is masked: that is page 41's. How many keys does even the first "
                "query see?"),
        Mutant("full-not-in-tiles", "{ // BLOCK_N * BLOCK_N -> }",
            says="`full` has to be a multiple of BLOCK_N: the masked walk begins there with a tile."),
        Mutant("full-in-tiles", "BLOCK_N{ * BLOCK_N -> }",
            says="`full` is a number of keys here and below. This counts tiles: multiply by BLOCK_N."),
        Mutant("full-rounded-up", "{fewest // BLOCK_N -> triton.cdiv(fewest, BLOCK_N)}",
            says="`full` is rounded up. In its last tile the first query does not see all keys: round down."),
        Mutant("full-one-tile-short", "{fewest // BLOCK_N -> max(0, fewest // BLOCK_N - 1)}",
            says="full-without-own-key"),
        Mutant("end-rounded-up", " BLOCK_N, {most -> triton.cdiv(most, BLOCK_N) * BLOCK_N}",
            says="`end` is the number of keys that the last query sees, as it is. Nothing is rounded."),
        Mutant("end-is-everything", " BLOCK_N, {most -> Lk}"),
        Mutant("never-brought-between", "{max(0, min(Lk, first + 1 + Lk - Lq)) -> first + 1 + Lk - Lq}",
            "{max(0, min(Lk, last + 1 + Lk - Lq)) -> last + 1 + Lk - Lq}", says="above-the-last-key"),
        Mutant("above-the-last-key", "{min(Lk, first + 1 + Lk - Lq) -> first + 1 + Lk - Lq}",
            "{min(Lk, last + 1 + Lk - Lq) -> last + 1 + Lk - Lq}", says="above-the-last-key"),
        Mutant("below-zero", "{max(0, min(Lk, first + 1 + Lk - Lq) -> min(Lk, first + 1 + Lk - Lq}",
            "{max(0, min(Lk, last + 1 + Lk - Lq) -> min(Lk, last + 1 + Lk - Lq}",
            says="A negative number of keys: with more queries than keys the first ones see nothing. At least 0."),
        Mutant("in-the-other-order", "{fewest // BLOCK_N * BLOCK_N, most -> most, fewest // BLOCK_N * BLOCK_N}",
            says="The pair is (full, end); full comes first."),
        Mutant("returns-one-number", "{fewest // BLOCK_N * BLOCK_N,  -> }", seen="wrong-values"),
        Mutant("not-causal-sees-the-tile", "{Lq - 1, Lq - 1 -> last, last}", seen="wrong-values"),
        Mutant("offset-not-below-zero", "first + 1 + {Lk - Lq -> max(0, Lk - Lq)}))",
            "+ 1 + {Lk - Lq -> max(0, Lk - Lq)})", says="offset-not-below-zero"),
        Mutant("offset-not-below-zero-in-full", "first + 1 + {Lk - Lq -> max(0, Lk - Lq)}))",
            says="offset-not-below-zero"),
        Mutant("one-key-too-many", ", first + {1 -> 2} + ", "(Lk, last + {1 -> 2} ", says="end-one-key-too-many"),
        Mutant("one-key-too-many-at-the-end", "Lk, last + {1 -> 2} + ", says="end-one-key-too-many"),
        Mutant("both-in-tiles", "{ * BLOCK_N, most -> , most // BLOCK_N}",
            says="Both are numbers of keys. These are numbers of tiles."),
        Mutant("full-below-zero", "{max(0, min(Lk, first + 1 + Lk - Lq) -> min(Lk, first + 1 + Lk - Lq}",
            says="`full` is negative: with more queries than keys the first ones see nothing. At least 0."),
        Mutant("end-at-most-the-queries", ", min({Lk -> Lq}, last",
            says="The walk goes over keys, so it ends at Lk at most. Here it ends at Lq at most."),
        Mutant("comprehension-is-no-triton",
            "{fewest = max(0, min(Lk, first + 1 + Lk - Lq)) -> seen = [max(0, min(Lk, i + 1 + Lk - Lq)) for i in "
            "(first, last)]\n"
            "    fewest = seen[0]}",
            "{max(0, min(Lk, last + 1 + Lk - Lq)) -> seen[1]}", seen="property"),
        Mutant("int-is-no-triton", "{fewest // BLOCK_N -> int(fewest / BLOCK_N)}", seen="property"),
    ],
    "flash_two_phases": [
        Mutant("m-starts-at-zero", "BLOCK_M], -{1e38 -> 1e6}"),
        Mutant("no-mask",
            "{            if MASKED:\n"
            '                s = tl.where(cols[None, :] < limit[:, None], s, float("-inf"))\n -> }',
            says="no-mask-on-scores", seen="limit-is-everything"),
        Mutant("score-zero", ' {float("-inf") -> 0.0}'),
        Mutant("limit-upside-down", "None, :] {< -> >=} limit",
            says="The comparison with limit is upside down: in masked tiles rows see the keys from limit on, not those "
                "below it."),
        Mutant("limit-one-short", " = offs_m {+ 1  -> }"),
        Mutant("limit-one-too-far", " = offs_m + {1 -> 2} "),
        Mutant("limit-ignores-causal", "{ if CAUSAL else offs_m * 0 + L -> }"),
        Mutant("limit-is-everything", "{+ 1 if CAUSAL else offs_m  -> }"),
        Mutant("bounds-in-tiles", "first = pid_m{ * BLOCK_M -> }",
            says="bounds wants the first and the last query of the tile. This gives it the number of the tile: "
                "multiply by BLOCK_M."),
        Mutant("end-of-the-first-row", "{ + BLOCK_M - 1 -> }"),
        Mutant("full-of-the-last-row", " bounds(first{ ->  + BLOCK_M - 1},"),
        Mutant("bounds-always-causal", " L, L, {CAUSAL -> True},",
            says="The bounds are causal ones whatever is asked: hand on CAUSAL."),
        Mutant("bounds-never-causal", " L, L, {CAUSAL -> False},",
            says="The bounds are those without causal: hand on CAUSAL. As it is, full tiles reach into the future."),
        Mutant("one-masked-walk", "q, k_ptr, v_ptr, {full -> 0}, end, limit, qk_scale, ", seen="property",
            only="interpreter"),
        Mutant("second-phase-lost", ", v_ptr, full, {end -> full}, limit, qk_scale, "),
        Mutant("maximum-in-other-units", "=1){ * qk_scale -> }"),
        Mutant("p-unscaled", "(s {* qk_scale  -> }", says="no-scale-at-all",
            seen=("wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("weights-without-maximum", "{ - m_new[:, None] -> }"),
        Mutant("tf32-in-the-second-product", ']{, input_precision="ieee" -> }', seen="tf32", only="interpreter"),
        Mutant("nothing-scaled", "=1){ * qk_scale -> }", "(s {* qk_scale  -> }", says="no-scale-at-all"),
        Mutant("scaled-twice", "{ -> s = s * qk_scale\n            }p = tl.exp2(s ", seen=VALUES),
        Mutant("log2e-twice", "p = tl.{exp2 -> exp}(s ", "alpha = tl.{exp2 -> exp}"),
        Mutant("factor-in-another-base", " = tl.{exp2 -> exp}(m_i"),
        Mutant("no-maximum", "{tl.maximum(m_i, tl.max(s, axis=1) * qk_scale) -> m_i * 0}",
            "{tl.exp2(m_i - m_new) -> m_i * 0 + 1}"),
        Mutant("maximum-of-the-tile", "{maximum(m_i, tl.max(s, axis=1) * qk_scale) -> max(s, axis=1) * qk_scale}"),
        Mutant("maximum-not-kept", "{            m_i = m_new\n -> }"),
        Mutant("nothing-rescaled", "{ -> m_i = m_new\n            }alpha = tl.exp2"),
        Mutant("acc-not-rescaled", "{ * alpha[:, None] -> }"),
        Mutant("sum-not-rescaled", "= l_i {* alpha  -> }"),
        Mutant("sum-along-queries", "sum(p, axis={1 -> 0})"),
        Mutant("every-tile-masked", "{if MASKED:\n                 -> }s", seen="property", only="interpreter"),
        Mutant("one-query-more", " + BLOCK_M{ - 1 -> }", seen="property", only="interpreter"),
        Mutant("sum-starts-again", "{l_i * alpha +  -> }"),
        Mutant("acc-starts-again", "{acc * alpha[:, None],  -> }"),
        Mutant("nothing-summed", "{ + tl.sum(p, axis=1) -> }"),
        Mutant("maximum-added", " * qk_scale {- -> +} "),
        Mutant("maximum-of-another-query", "m_new[{:, None -> None, :}]"),
        Mutant("maximum-before-the-mask",
            "{            if MASKED:\n"
            '                s = tl.where(cols[None, :] < limit[:, None], s, float("-inf"))\n -> }',
            "1) * qk_scale){ -> \n"
            "            if MASKED:\n"
            '                s = tl.where(cols[None, :] < limit[:, None], s, float("-inf"))}'),
        Mutant("maximum-of-the-whole-tile", ".max(s{, axis=1 -> }"),
        Mutant("maximum-along-queries", "max(s, axis={1 -> 0}) "),
        Mutant("sum-of-the-whole-tile", ".sum(p{, axis=1 -> }"),
        Mutant("multiplied-by-the-sum", "+ rows, acc {/ -> *} "),
        Mutant("last-tile-only", "{l_i * alpha +  -> }", "{acc * alpha[:, None],  -> }"),
        Mutant("not-divided", "{ / l_i[:, None] -> }"),
        Mutant("lse-of-mixed-bases", "{(m_i + tl.log2(l_i)) * LN_2 -> m_i + tl.log(l_i)}"),
        Mutant("lse-in-base-2", "{(m_i + tl.log2(l_i)) * LN_2 -> m_i + tl.log2(l_i)}"),
        Mutant("lse-without-max", "{(m_i + tl.log2(l_i)) * LN_2 -> tl.log(l_i)}"),
        Mutant("maximum-scaled-in-p", "{s * qk_scale - m_new[:, None] -> (s - m_new[:, None]) * qk_scale}"),
        Mutant("factor-scaled", "exp2({m_i - m_new -> (m_i - m_new) * qk_scale}"),
        Mutant("maximum-scaled-again", "1){ * qk_scale) -> ) * qk_scale}"),
        Mutant("acc-counted-twice", "acc { -> +}= tl.dot(p"),
        Mutant("last-is-the-width", "{first + BLOCK_M - 1 -> BLOCK_M}",
            says="The last query of the tile is number first + BLOCK_M - 1. bounds is given the tile's width for it."),
        Mutant("bounds-of-another-tile", "{full -> first = tl.program_id(0) * BLOCK_M\n    full}, end = bounds",
            says="The bounds are those of tile program_id(0). The programs take the tiles from the last one on: this "
                "one's is `pid_m`."),
        Mutant("first-by-the-keys-tile", "{full -> first = pid_m * BLOCK_N\n    full}, end = bounds", seen="property",
            only="interpreter"),
        Mutant("bounds-in-tiles-of-queries", "CAUSAL, {BLOCK_N -> BLOCK_M})", seen="property", only="interpreter"),
        Mutant("limit-of-the-first-tile", "limit = {offs_m -> tl.arange(0, BLOCK_M)} ", says="limit-of-the-first-tile"),
        Mutant("limit-less-start", "limit[:, None]{ ->  - start}, s", says="limit-of-the-first-tile"),
        Mutant("weights-rounded-before-the-sum", "alpha + tl.sum(p{ -> .to(q.dtype).to(tl.float32)},",
            says="sum-of-rounded-weights"),
        Mutant("weights-in-half-precision", "m_new[:, None]){ -> .to(q.dtype)}", says="sum-of-rounded-weights",
            seen=("wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("mask-crosswise", "{None, :] < limit[:, None -> :, None] < limit[None, :}",
            says="The mask has its axes exchanged: in `s` queries go down and keys across, so limit is limit[:, None] "
                "and the keys are cols[None, :]."),
        Mutant("mask-of-the-first-tile", "tl.where({cols -> offs_n}[",
            says="The mask compares a key's number in its tile, 0 to BLOCK_N - 1, with limit. `cols` has the keys' own "
                "numbers."),
        Mutant("acc-rescaled-after",
            '{ * alpha[:, None], input_precision="ieee") -> , input_precision="ieee") * alpha[:, None]}',
            says="What a tile adds to acc is multiplied by alpha too, which is 0 in the first tile. alpha is for what "
                "was there before."),
        Mutant("masked-scores-a-number", ' {float("-inf") -> -1e6}', seen=("property", "wrong-values"), only="interpreter"),
        Mutant("masked-scores-as-low-as-m", ' {float("-inf") -> -1e38}', seen="property", only="interpreter"),
        Mutant("m-starts-at-minus-infinity", 'BLOCK_M], {-1e38 -> float("-inf")}', seen="property", only="interpreter"),
        Mutant("strides-swapped", "qk_scale, {D, 1, D, 1 -> 1, D, 1, D}",
            says="Row strides and column strides are swapped in the call of attend. In a contiguous head a row is D "
                "elements from the next."),
        Mutant("v-strides-swapped", "qk_scale, D, 1, {D, 1 -> 1, D},"),
        Mutant("values-for-keys", "q, {k_ptr, v_ptr -> v_ptr, k_ptr}, full, end, limit, qk_scale, "),
        Mutant("keys-for-values", "q, k_ptr, {v_ptr -> k_ptr}, full, end, limit, qk_scale, "),
        Mutant("p-never-cast", "(p{.to(v.dtype) -> }", seen=("raised", "does-not-compile")),
        Mutant("no-store-mask", "]{, mask=offs_m[:, None] < L -> }", seen=("out-of-bounds-store", "race")),
        Mutant("torch-stand-in", body=BY_TORCH, seen="no-kernel-launched"),
    ],
    "flash_gqa": [
        Mutant("copied-first",
            ("    o, lse = torch.empty_like(q),", "    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()\n    o, lse = torch.empty_like(q),"),
            seen="copies"),
        Mutant("one-masked-walk", ", v_ptr, {full -> 0},", seen="property", only="interpreter"),
        Mutant("first-far-too-small", "pid_m {* BLOCK_M  -> }/", seen="property", only="interpreter"),
        Mutant("last-without-group", "{(pid_m * BLOCK_M + BLOCK_M - 1) // GROUP -> pid_m * BLOCK_M + BLOCK_M - 1}",
            seen="property", only="interpreter"),
        Mutant("bounds-without-group",
            "{ // GROUP, (pid_m * BLOCK_M + BLOCK_M - 1) // GROUP -> , pid_m * BLOCK_M + BLOCK_M - 1}",
            says="The bounds of the tile are taken from rows where positions are meant: divide the first and the last "
                "row by GROUP. As it is, full tiles reach into the future."),
        Mutant("full-without-group", "BLOCK_M{ // GROUP -> }",
            says="`first` is a row where a position is meant: divide it by GROUP. As it is, full tiles reach into the "
                "future.",
            seen="bounds-without-group"),
        Mutant("last-position-missing", "{* BLOCK_M + BLOCK_M - 1) // GROUP -> + 1) * BLOCK_M // GROUP - 1}",
            says="The walk ends before the position of the tile's last row: that is (pid_m * BLOCK_M + BLOCK_M - 1) // "
                "GROUP, also where GROUP does not divide the tile."),
        Mutant("group-does-not-divide-the-tile",
            "{BLOCK_M // GROUP, (pid_m * BLOCK_M + BLOCK_M - 1) // GROUP -> (BLOCK_M // GROUP), (pid_m + 1) * "
            "(BLOCK_M // GROUP) - 1}",
            says="BLOCK_M // GROUP positions to a tile: that is right only where GROUP divides it. Take the first and "
                "the last row of the tile, then divide.",
            seen="last-position-missing"),
        Mutant("full-of-the-last-row", "= bounds({first -> last}"),
        Mutant("end-of-the-first-row", "bounds(first, {last -> first},"),
        Mutant("second-phase-lost", "v_ptr, full, {end -> full},"),
        Mutant("last-position-one-more", "{* BLOCK_M + BLOCK_M - 1) -> + 1) * BLOCK_M}", seen="property",
            only="interpreter"),
        Mutant("bounds-lengths-swapped", "last, {Lq, Lk -> Lk, Lq}, "),
        Mutant("bounds-of-keys-alone", "first, last, {Lq -> Lk}, ", says="bounds-lengths-swapped"),
        Mutant("bounds-of-queries-alone", "Lq, {Lk -> Lq}, CAUSAL", says="bounds-lengths-swapped"),
        Mutant("limit-without-queries", "+ 1 + Lk {- Lq  -> }",
            says="limit lacks - Lq: position i sees i + 1 + Lk - Lq keys."),
        Mutant("diagonal-in-rows", "limit = {position -> offs_m} ",
            says="The diagonal goes by rows. It depends on the position: the heads of a group see the same keys."),
        Mutant("diagonal-from-the-top-left", "+ 1 {+ Lk - Lq  -> }", says="diagonal-from-the-top-left"),
        Mutant("offset-upside-down", " + 1 + {Lk - Lq -> Lq - Lk}", says="diagonal-from-the-top-left"),
        Mutant("limit-not-below-zero", " + 1 + {Lk - Lq -> tl.maximum(Lk - Lq, 0)}",
            says="With more queries than keys, Lk - Lq is negative and has to stay so: position i sees i + 1 + Lk - Lq "
                "keys, and the first ones see nothing."),
        Mutant("limit-of-the-last-row", "{position + 1 + Lk - Lq -> last + 1 + Lk - Lq + position * 0}",
            says="limit is that of the tile's last row for all of its rows. It grows with the position."),
        Mutant("scaled-before-attend", "mask, other=0.0){ -> \n    q = (q * qk_scale).to(q.dtype)}",
            says="The scores are multiplied by qk_scale twice: attend does it, so q goes in as it is."),
        Mutant("nothing-seen-has-lse-0", ' {float("-inf") -> 0.0}',
            says="A row that sees no key has an lse of minus infinity, the log of 0. Here it is 0."),
        Mutant("limit-one-short", "position + {1 +  -> }"),
        Mutant("limit-one-too-far", " position + {1 -> 2} "),
        Mutant("limit-ignores-causal", "{ if CAUSAL else position * 0 + Lk -> }"),
        Mutant("limit-is-everything", "{+ 1 + Lk - Lq if CAUSAL else position  -> }"),
        Mutant("heads-modulo", "{* GROUP + offs_m % GROUP -> + offs_m % GROUP * HK}",
            says="Query head h reads key head h % HK. Heads of a group are neighbours: h // GROUP.",
            seen=("unwritten", "unwritten-tail", "race")),
        Mutant("group-forgotten-in-head", ", hk {* GROUP  -> }+",
            seen=("race", "unwritten", "unwritten-tail", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("key-head-forgotten-in-head", " hk * {GROUP -> 0} + ",
            seen=("race", "unwritten", "unwritten-tail", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("position-by-remainder", "{// GROUP, hk * GROUP + offs_m % -> % GROUP, hk * GROUP + offs_m //}",
            seen=("race", "reads-outside", "out-of-bounds-store", "unwritten", "unwritten-tail", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("rows-head-by-head", "{// GROUP, hk * GROUP + offs_m % GROUP -> % Lq, hk * GROUP + offs_m // Lq}",
            seen=VALUES),
        Mutant("rows-are-positions", "offs_m{ // GROUP -> }",
            seen=("race", "reads-outside", "out-of-bounds-store", "unwritten", "unwritten-tail", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("one-query-head", "offs_m {% GROUP -> * 0}",
            seen=("race", "unwritten", "unwritten-tail", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("queries-of-the-first-batch", "{b * stride_qb +  -> }",
            says="All batches take the queries of the first one."),
        Mutant("queries-of-key-heads", "stride_qb + {head -> hk} * ",
            says="All rows of a group read the queries of one head. In the address of q it is the query head that "
                "counts."),
        Mutant("query-rows-one-apart", "at * {stride_qm -> stride_qd}", says="query-rows-one-apart"),
        Mutant("no-row-stride-of-q", "at{ * stride_qm -> }", says="query-rows-one-apart"),
        Mutant("first-column-of-q", "{ + offs_d * stride_qd -> }",
            says="Every column of the tile q holds the first one: add offs_d times its stride."),
        Mutant("query-rows-dense", "at * {stride_qm -> D}", seen=("strided-only", "property", "reads-outside")),
        Mutant("query-columns-side-by-side", "offs_d{ * stride_qd -> }",
            seen=("strided-only", "reads-outside", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("strides-of-k-for-v", "{STRIDE_VN, STRIDE_VD -> stride_qm, stride_qd}",
            seen=("strided-only", "reads-outside", "property", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("columns-of-q-as-in-o", "offs_d * {stride_qd -> stride_od},",
            seen=("property", "strided-only", "reads-outside", "out-of-bounds-store")),
        Mutant("columns-of-o-as-in-q", "offs_d * {stride_od -> stride_qd},",
            seen=("property", "strided-only", "reads-outside", "out-of-bounds-store")),
        Mutant("strides-of-v-for-k", "{STRIDE_KN, STRIDE_KD -> STRIDE_VN, STRIDE_VD}",
            seen=("strided-only", "reads-outside", "out-of-bounds-store", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("batches-of-q-as-in-o", "b * {stride_qb -> stride_ob} ",
            seen=("strided-only", "reads-outside", "out-of-bounds-store")),
        Mutant("k-strides-swapped", "{STRIDE_KN, STRIDE_KD -> STRIDE_KD, STRIDE_KN}",
            says="The row stride and the column stride of K are swapped in the call of attend. In a contiguous head a "
                "row is D elements from the next.",
            seen=("reads-outside", "out-of-bounds-store")),
        Mutant("o-through-strides-of-q",
            "{stride_ob + head * stride_oh + at * stride_om -> stride_qb + head * stride_qh + at * stride_qm}",
            seen=("out-of-bounds-store", "strided-only", "unwritten", "unwritten-tail", "property")),
        Mutant("no-mask-on-columns", " & (offs_d {< D -> >= 0}", seen=("reads-outside", "out-of-bounds-store", "race")),
        Mutant("no-mask-on-rows", "{mask_m[:, None] -> (offs_m[:, None] >= 0)}",
            seen=("reads-outside", "out-of-bounds-store", "race")),
        Mutant("no-other-for-q", "mask{, other=0.0 -> }", seen="no-other", only="interpreter"),
        Mutant("v-strides-swapped", "{STRIDE_VN, STRIDE_VD -> STRIDE_VD, STRIDE_VN}"),
        Mutant("k-rows-one-apart", "{STRIDE_KN -> STRIDE_KD}, STRIDE_KD",
            says="The rows of K are read as far apart as columns: its row stride comes first. In a contiguous head a "
                "row is D elements from the next."),
        Mutant("v-rows-one-apart", "STRIDE_KD, {STRIDE_VN -> STRIDE_VD},",
            says="The rows of V are read as far apart as columns: its row stride comes first. In a contiguous head a "
                "row is D elements from the next."),
        Mutant("values-for-keys", "q, {k_ptr, v_ptr -> v_ptr, k_ptr}, "),
        Mutant("nothing-seen-is-nan", " acc / {l_safe -> l_i}[",
            says="A row that sees no key has l_i = 0, and 0 / 0 is NaN. Its o is 0."),
        Mutant("nothing-seen-has-an-lse", "{tl.where(l_i == 0.0, float … LN_2) -> (m_i + tl.log2(l_safe)) * LN_2}",
            says="A row that sees no key has an lse of minus infinity, the log of 0. Here it is what m_i starts with."),
        Mutant("lse-of-nothing", "= tl.where(l_i {= -> !}= 0.0, float",
            says="lse is minus infinity where rows have seen keys. That is for rows with l_i = 0 alone: look at the "
                "condition and the order of `tl.where`."),
        Mutant("lse-in-base-2", "l_safe)) * {LN_2 -> 1.0}"),
        Mutant("lse-of-mixed-bases", "{(m_i + tl.log2(l_safe)) * LN_2 -> m_i + tl.log(l_safe)}"),
        Mutant("lse-in-the-order-of-rows", "{* GROUP + head) * Lq + position -> + hk) * GROUP * Lq + offs_m}",
            says="The numbers of lse are right and lie in another order: by rows of the tile, where a position comes "
                "before its head. lse is (B, H, Lq).",
            seen=("unwritten", "unwritten-tail")),
        Mutant("lse-heads-behind-tokens",
            "{(b * HK * GROUP + head) * Lq + position -> b * HK * GROUP * Lq + position * HK * GROUP + head}",
            seen="lse-in-the-order-of-rows"),
        Mutant("lse-forgets-the-batch", "{(b * HK * GROUP + head) -> head}",
            seen=("race", "unwritten", "unwritten-tail", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("lse-by-key-head", "{* GROUP + head -> + hk}",
            seen=("race", "unwritten", "unwritten-tail", "wrong-values", "wrong-tail", "rows-after-first", "nan")),
        Mutant("not-divided", "{ / l_safe[:, None] -> }"),
        Mutant("first-head-only", "{stride_kb + hk * stride_kh -> 0}", "{stride_vb + hk * stride_vh -> 0}"),
        Mutant("heads-of-the-first-batch", "{b * stride_kb +  -> }", "{b * stride_vb +  -> }",
            says="All batches read the keys and values of the first one."),
        Mutant("grid-without-group", "Lq{ * (H // HK) -> },", seen=UNWRITTEN),
        Mutant("scaled-by-torch", "{ -> q = q * 1.0\n    }HK, Lk = k.shape", seen="torch-compute"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="if q.shape[1] % k.shape[1] or (scale is not None and scale <= 0):\n"
                "    raise ValueError('head counts')\n" + BY_TORCH),
    ],
}

VARIANTS = {
    "walk_bounds": [
        Variant("by-comparisons",
            "{max(0, min(Lk, first + 1 + Lk - Lq)) -> first + 1 + Lk - Lq\n"
            "    if fewest < 0:\n"
            "        fewest = 0\n"
            "    if fewest > Lk:\n"
            "        fewest = Lk}"),
        Variant("last-query-at-most", "{Lk, last + 1 + Lk - Lq) -> last, Lq - 1) + 1 + Lk - Lq}"),
        Variant("by-the-remainder", "fewest {// BLOCK_N * -> - fewest %}"),
        Variant("all-keys-at-once", "{first, last = Lq - 1, Lq - 1 -> return Lk // BLOCK_N * BLOCK_N, Lk}"),
        Variant("the-other-way-round", " = {max(0, min(Lk -> min(Lk, max(0}, first",
            " {max(0, min(Lk -> min(Lk, max(0}"),
    ],
    "flash_two_phases": [
        Variant("sum-after-the-product", "{            l_i = l_i * alpha + tl.sum(p, axis=1)\n -> }",
            "{ -> l_i = l_i * alpha + tl.sum(p, axis=1)\n            }m_i = m_new"),
        Variant("scores-scaled-first", ")\n            { -> s = s * qk_scale\n            }if MASKED:",
            "=1){ * qk_scale -> }", "(s {* qk_scale  -> }"),
        Variant("limit-by-minimum",
            "{offs_m + 1 if CAUSAL else offs_m * 0 -> tl.minimum(offs_m + 1, L) if CAUSAL else tl.zeros([BLOCK_M], "
            "tl.int32)}"),
        Variant("last-row-by-the-next-tile", "first, {first + -> (pid_m + 1) *}"),
        Variant("acc-rescaled-by-itself",
            "{tl.dot(p.to(v.dtype), v, acc * alpha[:, None] -> acc * alpha[:, None]\n"
            "            acc += tl.dot(p.to(v.dtype), v}"),
        Variant("m-starts-elsewhere", "BLOCK_M], -{1e38 -> 1e30}"),
        Variant("mask-the-other-way-round",
            '{< limit[:, None], s, float("-inf") -> >= limit[:, None], float("-inf"), s}'),
        Variant("o-first",
            "{    tl.store(lse_ptr + head * L + offs_m, (m_i + tl.log2(l_i)) * LN_2, mask=offs_m < L)\n -> }",
            "None] < L){ -> \n    tl.store(lse_ptr + head * L + offs_m, m_i * LN_2 + tl.log(l_i), mask=offs_m < L)}"),
    ],
    "flash_gqa": [
        Variant("head-by-subtraction",
            "{, head = offs_m // GROUP, hk * GROUP + offs_m % GROUP ->  = offs_m // GROUP\n"
            "    head = hk * GROUP + (offs_m - position * GROUP)}"),
        Variant("last-position-by-the-next-row", "({pid_m * BLOCK_M + -> (pid_m + 1) *}"),
        Variant("last-position-not-past-the-end",
            "{(pid_m * BLOCK_M + BLOCK_M - 1) // GROUP -> tl.minimum(Lq - 1, (pid_m * BLOCK_M + BLOCK_M - 1) // "
            "GROUP)}"),
        Variant("limit-is-a-number", "{position * 0 +  -> }"),
        Variant("lse-by-one-where", "{where(l_i == 0.0, 1.0, l_i -> maximum(l_i, 1e-30}"),
        Variant("limit-by-minimum", "{position + 1 + Lk - Lq -> tl.minimum(position + 1 + Lk - Lq, Lk)}"),
        Variant("head-counted-over-batches",
            "{b * HK * GROUP + head -> tl.program_id(1).to(tl.int64) * GROUP + offs_m % GROUP}"),
        Variant("contiguous-results", "{torch.empty_like(q -> q.new_empty(q.shape}"),
        Variant("log-of-nothing", "{tl.where(l_i == 0.0, float … LN_2) -> (m_i + tl.log2(l_i)) * LN_2}"),
        Variant("bounds-from-the-positions", "{pid_m * BLOCK_M / … // GROUP -> tl.min(position), tl.max(position)}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
A_NUMBER = "a number stands for as many rows as the tile has"
EQUIVALENT = {
    "walk_bounds": {
        'fewest = max(0, min(Lk, first + 1 + Lk - Lq)) => fewest = max(1, min(Lk, first + 1 + Lk - Lq))': "0 keys and 1 key are both no full tile: a tile has 16 keys or more",
    },
    "flash_gqa": {
        'at = position.to(tl.int64) => at = position': "it shows beyond 2^31 elements only, which no case has",
        'limit = position + 1 + Lk - Lq if CAUSAL else position * 0 + Lk => limit = position + 1 + Lk - Lq if CAUSAL else Lk': A_NUMBER,
        'limit = position + 1 + Lk - Lq if CAUSAL else position * 0 + Lk => limit = position + 1 + Lk - Lq if CAUSAL else 0 + Lk': A_NUMBER,
        'l_safe = tl.where(l_i == 0.0, 1.0, l_i) => l_safe = tl.where(l_i == 0.0, 2.0, l_i)': "acc is 0 there, and so is 0 / 2; lse does not take it",
        'q = tl.load(q_rows[:, None] + offs_d * stride_qd, mask=mask, other=0.0) => q = tl.load(q_rows[:, None] + offs_d * stride_qd, mask=mask, other=1.0)': "a row past the end is not stored, and a column past D meets the zeros of k",
    },
}
