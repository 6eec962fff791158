"""Mistakes of 62_attention_records with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = """
    acc-not-rescaled causal-one-too-far keys-for-values log2e-twice maximum-along-queries maximum-not-kept
    maximum-of-the-tile maximum-scaled-in-p multiplied-by-the-sum not-divided nothing-rescaled score-zero
    sum-not-rescaled sum-starts-again weights-without-maximum
"""
PROMISES = ("addresses-where-described", "one-head-after-another", "rest-left-out")

VALUES = ("wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow")
UNWRITTEN = ("unwritten", "unwritten-tail")
OUTSIDE = ("reads-outside", "out-of-bounds-store")
BROKEN = ("raised", "does-not-compile", "property")

STEP = "x_ptr += start.to(tl.int64) * stride_xn"

# Sentences that several mistakes share.
SAYS = {
    "last-group-not-smaller":
        "The last group has fewer heads where at_once does not divide them: count those that are left.",
    "all-heads-at-once":
        "All heads take part from the start: their keys do not fit in the cache together. at_once heads at a time.",
    "first-columns-always": "The columns begin at 0 whatever FIRST is.",
    "first-rows-always": "Every tile holds the first rows. Its rows begin at `start`.",
}

MUTANTS = {
    "which_tile": [
        Mutant("shortest-first", "return {tiles - 1 -  -> }",
            says="The first tiles come first. They see the fewest keys: the last tile, tiles - 1, should start first."),
        Mutant("one-tile-too-far", "return tiles - {1 -  -> }",
            says="A tile number is one too high. The last is tiles - 1, and it goes down by one for each whole group "
                "of heads: divide the place by the heads of the group."),
        Mutant("last-group-not-smaller", "{min(at_once, heads - first) -> at_once}", says="last-group-not-smaller"),
        Mutant("largest-group", "size = {min -> max}(at_once", says="all-heads-at-once", seen="wrong-values"),
        Mutant("one-head-after-another", " place {// size -> % tiles}", "+ place {% size -> // tiles}",
            says="In a group the heads come one after another. Each tile number comes for all heads of the group, then "
                "the next: the longest walks of all of them first."),
        Mutant("all-heads-at-once", "{pid // (at_once * tiles) * at_once -> 0}",
            "{min(at_once, heads - first) -> heads}", says="all-heads-at-once"),
        Mutant("heads-of-the-first-group", "size, {first +  -> }",
            says="Each group takes the heads 0, 1, ... again. Add the group's first head."),
        Mutant("number-of-the-group", "tiles){ * at_once -> }",
            says="A number of groups stands where heads are counted: times at_once."),
        Mutant("fractions", "first = pid /{/ -> } (",
            says="`/` makes fractions. Groups and heads are whole numbers: `//`."),
        Mutant("groups-of-programs", "{(at_once * tiles) -> at_once}", seen="wrong-values"),
        Mutant("place-is-the-program", "{ - first * tiles -> }",
            says="The place counts within the group: its first program has place 0."),
        Mutant("place-by-this-group", "{- first * tiles -> % (tiles * size)}",
            says="The place counts from the group's first program, pid - first * tiles. A smaller last group has "
                "another remainder."),
        Mutant("number-of-the-group-alone", "tiles){ * at_once -> }", "{- first * tiles -> % (at_once * tiles)}",
            says="A number of groups stands where heads are counted: times at_once."),
        Mutant("place-by-the-group", " pid {- first * -> %}", seen="wrong-values"),
        Mutant("head-comes-first",
            "{tiles - 1 - place // size, first + place % -> first + place % size, tiles - 1 - place //}",
            says="The pair is (tile, head); the tile comes first."),
        Mutant("heads-backwards", " first + { -> size - 1 - }place", says="Tiles run backwards, heads do not."),
        Mutant("quotient-for-remainder", " 1 - place {// -> %} ", "+ place {% -> //} size",
            says="`//` and `%` have changed places. Neighbouring programs have neighbouring heads: the remainder by "
                "the heads of the group."),
        Mutant("head-by-the-program", "first + {place -> pid} ",
            says="The head was taken by pid. Its place in the group says which: place % size."),
        Mutant("below-zero", "{tiles - 1 - place // size -> (-1 - place) // size + tiles}", seen="property"),
        Mutant("divmod-is-no-triton", "{pid // (at_once * tiles) -> divmod(pid, at_once * tiles)[0]}", seen="property"),
        Mutant("int-is-no-triton", "{pid // (at_once * tiles -> int(pid / (at_once * tiles)}", seen="property"),
        Mutant("heads-not-subtracted", " heads{ - first -> }", says="last-group-not-smaller"),
    ],
    "take_columns": [
        Mutant("zero-added", "tl.store(y_ptrs, tile{ ->  + 0.0}, mask", seen="other-bits"),
        Mutant("first-columns-of-addresses", "offs_d = {FIRST +  -> }tl", says="first-columns-always"),
        Mutant("heads-and-batches-swapped", "x_ptr.load([{b, h -> h, b}",
            says="A descriptor's indices follow the tensor's dimensions: batch, head, row, column. Here batch and head "
                "are swapped."),
        Mutant("rows-for-columns", ", {start, FIRST -> FIRST, start}",
            says="A descriptor's indices follow the tensor's dimensions: batch, head, row, column. Here row and column "
                "are swapped."),
        Mutant("first-batch-only", "x_ptr.load([{b -> 0},", says="All batches hold the first one's numbers."),
        Mutant("one-head-for-all", "x_ptr.load([{b, h -> 0, 0}",
            says="All heads hold the numbers of head 0 of batch 0."),
        Mutant("first-columns-again", " start, {FIRST -> 0}]", says="first-columns-always"),
        Mutant("first-tile-always", "h, {start -> 0}, FIRST", says="first-rows-always"),
        Mutant("start-in-tiles", ", start{ ->  // BLOCK_N}, FIRST", seen=VALUES),
        Mutant("four-dimensions", "{.reshape(BLOCK_N, WIDTH) -> }", seen=BROKEN),
        Mutant("reshaped-the-other-way", "{BLOCK_N, WIDTH -> WIDTH, BLOCK_N}", seen=BROKEN),
        Mutant("addresses-where-described", "if { -> not }DESCRIBED:", seen=BROKEN),
        Mutant("no-else", "{else -> if 1}:", seen="property", only="interpreter"),
        Mutant("start-forgotten", "int64) * {stride_xn -> 0}", says="first-rows-always",
            seen=("wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow")),
        Mutant("start-without-stride", "int64){ * stride_xn -> }", seen=VALUES),
        Mutant("end-not-masked", "{start + offs_n < L -> offs_n >= 0}", seen=OUTSIDE, only="interpreter"),
        Mutant("tile-masked-by-its-row", "mask=({start +  -> }", seen=OUTSIDE, only="interpreter"),
        Mutant("columns-not-masked", " & (offs_d {< D -> >= 0}",
            seen=("reads-outside", "out-of-bounds-store", "wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow"),
            only="interpreter"),
        Mutant("no-mask", "{, mask=(start + offs_n < L) & (offs_d < D), other=0.0 -> }", seen=OUTSIDE,
            only="interpreter"),
        Mutant("strides-swapped", "{stride_xn + offs_d * stride_xd -> stride_xd + offs_d * stride_xn}",
            seen=("strides-swapped", "reads-outside", "out-of-bounds-store", "wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow")),
        Mutant("other-is-one", "< D), other={0 -> 1}.",
            says="Columns past the last one hold what `other=` says. It has to be 0."),
        Mutant("other-is-infinite", ' D), other={0.0 -> float("-inf")}',
            says="Columns past the last one hold what `other=` says. It has to be 0."),
        Mutant("no-mask-at-the-store", "{, mask=offs_n < L -> }", seen=("out-of-bounds-store", "race")),
        Mutant("last-row-not-stored", "mask=offs_n < L{ ->  - 1})",
            seen=("unwritten", "unwritten-tail", "wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow")),
        Mutant("always-from-the-first-row", "x_ptr, b, h, start{ ->  * 0}, L, stride_xn, stride_xd, ",
            says="first-rows-always"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="return torch.nn.functional.pad(x, (0, width))[..., first : first + width].contiguous()"),
    ],
    "flash_gqa_record": [
        Mutant("rest-not-in-scores",
            '{            if D2 > 0:\n                s = tl.dot(q2, tl.trans(k2), s, input_precision="ieee")\n -> }',
            says="The scores know the first D1 columns of the heads alone. Where D2 > 0, q2 and k2 add to them."),
        Mutant("rest-alone-in-scores", " {s,  -> }input_precision",
            says="The scores know the last columns of the heads alone: the second product takes the place of the "
                "first. Add to it."),
        Mutant("first-columns-twice", '{= tl.dot(q2, tl.trans(k2), s, input_precision="ieee") -> += s}', seen=VALUES),
        Mutant("first-part-twice", "s { -> +}= tl.dot(q2,",
            says="The first D1 columns count twice in the scores. `tl.dot(a, b, s)` has added s already: assign, no "
                "`+=`."),
        Mutant("scaled-twice", '), input_precision="ieee"){ ->  * qk_scale}',
            says="The scores are scaled twice: where s holds qk_scale already, m_new and p take s as it is."),
        Mutant("rest-of-k-with-q", "s = tl.dot({q2 -> q},", seen=BROKEN),
        Mutant("every-tile-masked", "{if MASKED:\n                 -> }", seen="property", only="interpreter"),
        Mutant("p-masked-not-s",
            '{            if MASKED: … s = tl.where(cols[None, :] < limit[:, None], s, float("-inf"))\n -> }',
            "exp2(m_i - m_new){ -> \n"
            "            if MASKED:\n"
            "                p = tl.where(cols[None, :] < limit[:, None], p, 0.0)}",
            seen=("wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow", "zeros")),
        Mutant("own-position-for-limit", "None, :] <{ limit -> = (position + Lk - Lq)}",
            says="Without causal every row sees all keys. `limit` knows that: compare with it."),
        Mutant("natural-exponential", "p = tl.{exp2 -> exp}(s ",
            says="p is an exponential to base e. qk_scale brings the scores to base 2: `tl.exp2`."),
        Mutant("rest-left-out",
            '{            if D2 > 0:\n                s = tl.dot(q2, tl.trans(k2), s, input_precision="ieee")\n -> }',
            "{            if D2 > 0:\n"
            '                acc2 = tl.dot(p, v2, acc2 * alpha[:, None], input_precision="ieee")\n -> }',
            says="q2, k2 and v2 are never used: the scores lack the last columns of the heads, and so does o."),
        Mutant("sum-in-half", "stride_od, acc{ -> .to(q.dtype)} /", "o2 = acc2{ -> .to(q.dtype)} / l_safe",
            says="acc went to half precision before it was divided by l: a long sum overflows. Divide first."),
        Mutant("no-tile-masked",
            '{            if MASKED: … s = tl.where(cols[None, :] < limit[:, None], s, float("-inf"))\n -> }',
            says="no-mask-on-scores", seen="score-zero"),
        Mutant("masked-where-full", "if MASKED{ ->  == 0}:", says="no-mask-on-scores"),
        Mutant("score-zero", ' {float("-inf") -> 0.0})'),
        Mutant("limit-upside-down", "cols[None, :] {< -> >=} ",
            says="The comparison with limit is upside down: a row sees the keys below its limit."),
        Mutant("causal-one-too-far", "None, :] <{ -> =} limit"),
        Mutant("place-in-the-tile", " tl.where({cols -> (cols - start)}", says="no-mask-on-scores",
            seen=("score-zero", "wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow")),
        Mutant("maximum-in-other-units", "=1){ * qk_scale -> }",
            says="m_new takes the largest bare product. It is in units of scaled scores: scale it."),
        Mutant("maximum-of-the-tile", "{maximum(m_i, tl.max(s, axis=1) * qk_scale) -> max(s, axis=1) * qk_scale}"),
        Mutant("maximum-along-queries", "max(s, axis={1 -> 0}) ",
            seen=("raised", "does-not-compile", "property", "wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow")),
        Mutant("maximum-before-the-rest",
            '), input_precision="ieee")\n'
            "            { -> m_new = tl.maximum(m_i, tl.max(s, axis=1) * qk_scale)\n"
            "            }if D2 > 0:",
            "{m_new = tl.maximum(m_i, tl.max(s, axis=1) * qk_scale)\n             -> }p",
            seen=("wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow", "zeros")),
        Mutant("weights-without-maximum", "{ - m_new[:, None] -> }"),
        Mutant("maximum-scaled-in-p", "{s * qk_scale - m_new[:, None] -> (s - m_new[:, None]) * qk_scale}"),
        Mutant("log2e-twice", "p = tl.{exp2 -> exp}(s ", "alpha = tl.{exp2 -> exp}"),
        Mutant("factor-upside-down", "exp2({m_i - m_new -> m_new - m_i}", seen=VALUES),
        Mutant("sum-not-rescaled", "= l_i {* alpha  -> }"),
        Mutant("sum-starts-again", "{l_i * alpha +  -> }"),
        Mutant("acc-not-rescaled", "acc{ * alpha[:, None] -> }", says="acc-not-rescaled",
            seen=("wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow")),
        Mutant("nothing-rescaled-too", "acc{ * alpha[:, None] -> }", "{ * alpha[:, None] -> }", says="acc-not-rescaled"),
        Mutant("rest-not-rescaled", "acc2{ * alpha[:, None] -> }",
            says="The first D1 columns of o are right. acc2 is not rescaled by alpha when m grows."),
        Mutant("rest-starts-again", "{acc2 * alpha[:, None],  -> }",
            says="The first D1 columns of o are right. acc2 holds what the last tile of keys adds."),
        Mutant("rest-of-o-is-zero",
            "{            if D2 > 0:\n"
            '                acc2 = tl.dot(p, v2, acc2 * alpha[:, None], input_precision="ieee")\n -> }',
            says="The first D1 columns of o are right, the others 0: acc2 is never added to."),
        Mutant("rest-of-keys", " tl.dot(p, {v2 -> k2},", seen=VALUES),
        Mutant("rest-counted-twice", "acc2 { -> +}= tl.dot(",
            says="The first D1 columns of o are right. The old acc2 is added twice (`+=`)."),
        Mutant("keys-for-values", " tl.dot(p, {v -> k}, ", " tl.dot(p, {v2 -> k2},"),
        Mutant("maximum-not-kept", "{            m_i = m_new\n -> }"),
        Mutant("nothing-rescaled", "{ -> m_i = m_new\n            }alpha = tl.exp2"),
        Mutant("p-never-cast", "{            p = p.to(v.dtype)\n -> }", seen=BROKEN),
        Mutant("tf32-in-the-rest", 's{, input_precision="ieee" -> }', seen="tf32", only="interpreter"),
        Mutant("rest-not-stored",
            "    tl.store(o_rows[:, None] + offs_d * stride_od, acc / l_safe[:, None], mask=mask)\n"
            "{    if D2 > 0: … tl.store(o_rows[:, None] + offs_2 * stride_od, o2, mask=mask_2)\n -> }", seen=UNWRITTEN),
        Mutant("rest-over-the-first", "{offs_2 * stride_od, o2, mask=mask_2 -> offs_d * stride_od, o2, mask=mask}",
            "o2 = {acc2 -> acc} / l_safe",
            seen=("unwritten", "unwritten-tail", "wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow")),
        Mutant("rest-into-the-first-columns", "] + {offs_2 -> (offs_2 - D1)} * stride_od",
            seen=("unwritten", "unwritten-tail", "wrong-values", "wrong-tail", "rows-after-first", "nan", "overflow", "race")),
        Mutant("rest-not-divided", "acc2{ / l_safe[:, None] -> }",
            says="The first D1 columns of o are right. The others are not divided by the sum l."),
        Mutant("not-divided", "acc{ / l_safe[:, None] -> }", "{ / l_safe[:, None] -> }"),
        Mutant("multiplied-by-the-sum", "stride_od, acc {/ -> *} ", "o2 = acc2 {/ -> *} l_safe"),
        Mutant("nothing-seen-is-nan", "acc / {l_safe -> l_i}[:,", "acc2 / {l_safe -> l_i}[",
            says="A row that sees no key has l_i = 0, and 0 / 0 is NaN: divide by l_safe."),
        Mutant("rest-without-mask", "o2{, mask=mask_2 -> }", seen=("out-of-bounds-store", "race")),
        Mutant("first-without-mask", "None]{, mask=mask -> }", seen=("out-of-bounds-store", "race")),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            replace='''
def flash_gqa_record(q, k, v, causal=False, scale=None):
    if q.shape[1] % k.shape[1] or (scale is not None and scale <= 0):
        raise ValueError('q')
    o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=True)
    return o, torch.zeros(o.shape[:-1])
'''),
    ],
}

VARIANTS = {
    "which_tile": [
        Variant("by-the-remainder", "{- first * tiles -> % (at_once * tiles)}"),
        Variant("group-first",
            "{first = pid // (at_once * tiles) -> group = pid // (tiles * at_once)\n    first = group}"),
        Variant("the-last-head", "{at_once, heads - first) -> first + at_once, heads) - first}"),
    ],
    "take_columns": [
        Variant("tile-first",
            "{return x_ptr.load([b, h, start, FIRST]) -> tile = x_ptr.load([b, h, start, FIRST])\n        return tile}"),
        Variant("reshape-by-tl",
            "{x_ptr.load([b, h, start, FIRST]).reshape(BLOCK_N, WIDTH -> tl.reshape(x_ptr.load([b, h, start, "
            "FIRST]), (BLOCK_N, WIDTH)}"),
        Variant("rows-in-the-offsets",
            "{x_ptr += start.to(tl.int64) * stride_xn -> offs_n = (start + offs_n).to(tl.int64)}",
            "=({start +  -> }offs_n"),
    ],
    "flash_gqa_record": [
        Variant("sum-by-addition", "{= tl.dot(q2, tl.trans(k2), s -> += tl.dot(q2, tl.trans(k2)}"),
        Variant("rest-first",
            '{            acc = tl.dot … ieee")\n -> }',
            '{ -> acc = tl.dot(p, v, acc * alpha[:, None], input_precision="ieee")\n'
            "            }m_i = m_new"),
        Variant("acc-rescaled-by-itself",
            "{tl.dot(p, v, acc * alpha[:, None] -> acc * alpha[:, None]\n            acc += tl.dot(p, v}"),
        Variant("scores-scaled-first", "{ -> s = s * qk_scale\n            }if MASKED:", "=1){ * qk_scale -> }",
            "(s {* qk_scale  -> }"),
        Variant("sum-after-the-product", "{            l_i = l_i * alpha + tl.sum(p, axis=1)\n -> }",
            "m_i = m_new\n{ -> }", "{ -> l_i = l_i * alpha + tl.sum(p, axis=1)\n            }p = p.to(v.dtype"),
        Variant("cast-in-both", "{p = p.to(v … dot(p -> acc = tl.dot(p.to(v.dtype)}", "dot(p{ -> .to(v.dtype)},"),
        Variant("new-names", "{p = tl.exp2(s * qk_scale -> weights = s * qk_scale\n            p = tl.exp2(weights}"),
    ],
}

WIDE = "D2 is 0, or 16 and more"
FAR = "shows where an offset passes the largest int32"
EQUIVALENT = {
    "take_columns": {f"{STEP} => x_ptr += start * stride_xn": FAR},
    "flash_gqa_record": {
        "if D2 > 0: => if D2 > 1:": WIDE,
        "if D2 > 0: => if D2 > 1: (2)": WIDE,
        "if D2 > 0: => if D2 > 1: (3)": WIDE,
    },
}
