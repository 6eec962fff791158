"""Mistakes of 46_window_sinks with what is said of each, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant, usual

SHARED = "end-is-everything end-of-the-first-query full-of-the-last-query keys-for-values not-divided score-zero"
PROMISES = ("walk-from-zero", "sink-not-summed", "infinity-over-infinity", "whole-cache")

# Sentences that several mistakes share.
SAYS = {
    "sink-in-another-base":
        "The sink's weight is off: m_i and the exponentials are in base 2, so the sink is multiplied by LOG2_E, and by "
        "nothing else.",
    "sink-not-summed":
        "The sink takes no weight: l_i starts at 0. When the sink alone has been seen m is its logit, and its own "
        "exponential is 1.",
    "starts-without-a-sink":
        "The sink is ignored: m_i has to start at it. l_i's 1 is rescaled with m_i, so with -1e38 it vanishes.",
    "m-may-be-minus-infinity":
        "Without a sink m_i starts at minus infinity, and minus infinity less itself is NaN where a row has seen "
        "nothing yet. m_i is at least -1e38.",
    "acc-starts-at-one": "acc starts with ones. The sink has no value: acc starts at 0.",
    "window-one-key-too-many":
        "A query sees one key too many: its own key and the window - 1 before it, so own - col is below window.",
    "window-one-key-short": (
        "A query sees one key too few: its own key and the window - 1 before it, so own - col runs from 0 to window - 1."
    ),
    "decode-one-key-too-many": "One key too many is seen: the last `window` keys begin at length - window.",
    "decode-one-key-short": "One key too few is seen: the last `window` keys begin at length - window.",
    "begin-of-the-last-query":
        "The walk begins where the last query's window does. The first query sees older keys.",
    "inner-of-the-first-query":
        "`inner` goes by the first query. The last one no longer sees its oldest keys: full tiles begin where the last "
        "query's window does.",
    "masked-scores-a-number":
        "Masked scores are a number. A row that has seen nothing, or scores far below it, gives them weight. They are "
        "minus infinity.",
    "cap-forgotten": "No cap is put on the scores: `attend` calls `capped`, and its own last argument is CAP.",
    "first-keys":
        "The first keys are seen, and it should be the last ones: the walk begins at length - window, and `cols` at "
        "`start`.",
    "never-masked":
        "At both edges of the window queries see all keys of a tile. `seen` joins two comparisons by `&`, it belongs "
        "under `if MASKED:`, and MASKED is true in phases 0 and 2.",
    "behind-the-last-token":
        "Keys behind the sequence's last token take part, and there may be anything: `seen` ends at length.",
    "cap-of-unscaled-scores": "The cap is put on the bare products of q and k. Scale them first: s * scale.",
    "no-weight-without-a-sink":
        "Without a sink l_i starts at 0, and a row that sees nothing is 0 / 0. Let it start at 1: a sink's own "
        "exponential is 1, and after -1e38 the 1 vanishes by itself.",
}

MUTANTS = {
    "window_bounds": [
        Mutant("begin-without-own-key", "first + {1 -> 0} - window",
            says="`begin` is a key too early where a window begins with a tile: with own key j the oldest key is j + 1 "
                "- window."),
        Mutant("begin-one-key-late", "first + {1 -> 2} - window",
            says="`begin` loses a key: with own key j the oldest key is j + 1 - window."),
        Mutant("begin-of-the-last-query", "begin = max(0, {first -> last}"),
        Mutant("begin-rounded-up", "begin = {max(0, first + 1 - window) -> (max(0, first + 1 - window) + BLOCK_N - 1)}",
            says="`begin` is rounded up: the keys of the tile before it are lost. Round down."),
        Mutant("begin-not-rounded", "first + 1 - window){ // BLOCK_N * BLOCK_N -> }",
            says="`begin` has to be a multiple of BLOCK_N, rounded down: full tiles follow from there in whole tiles."),
        Mutant("begin-in-tiles", "first + 1 - window) // BLOCK_N{ * BLOCK_N -> }",
            says="`begin` is a number of keys. This counts tiles: multiply by BLOCK_N."),
        Mutant("begin-at-zero", "begin = {max(0, first + 1 - window) // BLOCK_N * BLOCK_N -> 0}",
            says="The walk begins at key 0, so all tiles before the window are visited. The first query's oldest key says where."),
        Mutant("begin-below-zero", "begin = {max(0, first + 1 - window) -> (first + 1 - window)}",
            says="`begin` is negative where the window reaches past the first key. At least 0."),
        Mutant("inner-of-the-first-query", "inner = (max(0, {last -> first}"),
        Mutant("inner-is-begin", "inner = {(max(0, last + 1 - window) + BLOCK_N - 1) // BLOCK_N * BLOCK_N -> begin}",
            says="`inner` is `begin`, so no tile at the left edge is masked. Full tiles begin where the last query's window does, rounded up."),
        Mutant("inner-rounded-down", "last + 1 - window){ + BLOCK_N - 1 -> }",
            says="`inner` is rounded down: in its first tile the last query does not see all keys. Round up."),
        Mutant("inner-a-whole-tile-up", "+ BLOCK_N{ - 1) -> )}",
            says="`inner` is a tile late where the last query's window begins with a tile: x rounded up is (x + BLOCK_N - 1) // BLOCK_N * BLOCK_N."),
        Mutant("inner-without-own-key", "last + {1 -> 0} - window",
            says="`inner` is a key early: the last query's oldest key is last + 1 - window."),
        Mutant("inner-one-key-late", "last + {1 -> 2} - window",
            says="`inner` is a key late: the last query's oldest key is last + 1 - window."),
        Mutant("inner-below-zero", "inner = ({max(0, last + 1 - window) -> last + 1 - window}",
            says="`inner` is negative where all windows reach past the first key. At least 0."),
        Mutant("full-of-the-last-query", "max(0, {first + 1) -> last + 1)}"),
        Mutant("full-without-own-key", "max(0, {first + 1) -> first)}",
            says="`full` is a tile short where the first query's own key ends a tile: it sees first + 1 keys."),
        Mutant("full-before-inner", "full = {max(inner, max(0, first + 1) // BLOCK_N * BLOCK_N) -> max(0, first + 1) // BLOCK_N * BLOCK_N}",
            says="`full` lies before `inner` where the window is small. The second masked part begins at `full`, so "
                "tiles would be visited twice: at least `inner`."),
        Mutant("full-rounded-up", "max(inner, {max(0, first + 1) -> (max(0, first + 1) + BLOCK_N - 1)}",
            says="`full` is rounded up: in its last tile the first query does not see all keys. Round down."),
        Mutant("nothing-is-full", "full = {max(inner, max(0, first + 1) // BLOCK_N * BLOCK_N) -> inner}",
            says="No tile is full. From `inner` up to the first query's own key all queries see all keys."),
        Mutant("end-of-the-first-query", "end = max(0, {last -> first}"),
        Mutant("end-without-own-key", "end = max(0, last{ + 1 -> })",
            says="The walk ends a key early: the last query sees its own key too, and `end` is one past it."),
        Mutant("end-rounded-up", "end = {max(0, last + 1) -> (max(0, last + 1) + BLOCK_N - 1) // BLOCK_N * BLOCK_N}",
            says="`end` is the number of keys that the last query sees. It is not rounded."),
        Mutant("end-below-zero", "end = {max(0, last + 1) -> last + 1}",
            says="`end` is negative: with more queries than keys the first ones see nothing. At least 0."),
        Mutant("end-is-everything", "end = {max(0, last + 1) -> Lk}"),
        Mutant("in-another-order", "{begin, inner, full, end -> begin, full, inner, end}\n",
            says="The order is (begin, inner, full, end)."),
        Mutant("offset-twice", "first + {1 - window) //  -> Lk - Lq + 1 - window) // }",
            says="Lk - Lq is added twice: the given line has turned `first` and `last` into own keys."),
        Mutant("rounded-by-a-negative", "{(max(0, last + 1 - window) + BLOCK_N - 1) // BLOCK_N -> -(-max(0, last + 1 - window) // BLOCK_N)}",
            seen="property"),
        Mutant("int-is-no-triton", "begin = {max(0, first + 1 - window) // BLOCK_N -> int(max(0, first + 1 - window) / BLOCK_N)}",
            seen="property"),
    ],
    "flash_window": [
        usual(),
        Mutant("infinity-over-infinity", "{CAP - 2 * CAP / (power + 1) -> CAP * (power - 1) / (power + 1)}",
            says="tanh is made from (e^2u - 1) / (e^2u + 1): where the power is infinite that is infinity over "
                "infinity, NaN. 1 - 2 / (e^2u + 1) is 1 there."),
        Mutant("cap-not-multiplied", "{CAP - 2 * CAP -> 1 - 2} / (power",
            says="Scores end at -1 and 1: tanh is multiplied by CAP."),
        Mutant("tanh-of-half", "({2 / CAP -> 1 / CAP}",
            says="The exponential is of s / CAP. In tanh u it is e to the 2 u, with u = s / CAP."),
        Mutant("tanh-of-the-product", "({2 / CAP -> 2 * CAP}",
            says="tanh is taken of s * CAP. Divide by CAP: tanh(s / CAP)."),
        Mutant("tanh-of-s", "s{ * (2 / CAP) ->  * 2.0}",
            says="tanh is taken of s itself, so that 2 is near the cap already. It is tanh(s / CAP)."),
        Mutant("power-of-two", "power = tl.{exp -> exp2}(",
            says="The power in tanh has base 2, and should have base e: `tl.exp`, or log2(e) times the argument."),
        Mutant("bracket-around-the-one", "{power = tl.exp(s * (2 / CAP))\n    return CAP - 2 * CAP / (power + 1) -> return CAP * tl.sigmoid(s * (2 / CAP)) * 2 - 1}",
            says="The 1 is taken off after the multiplication by CAP. tanh is 2 sigmoid(2u) - 1, in brackets."),
        Mutant("hard-cap", "{CAP - 2 * CAP / (power + 1) -> tl.minimum(tl.maximum(s, -CAP), CAP)}",
            says="Scores are cut off at the cap. A soft cap is cap * tanh(s / cap)."),
        Mutant("sigmoid-for-tanh", "{CAP - 2 * CAP -> CAP - CAP} / (power",
            says="Scores lie between 0 and the cap: that is a sigmoid. tanh is 1 - 2 / (e^2u + 1)."),
        Mutant("tanh-upside-down", "{CAP - 2 * CAP / (power + 1) -> 2 * CAP / (power + 1) - CAP}",
            says="The sign of the capped scores is wrong: tanh is 1 - 2 / (e^2u + 1)."),
        Mutant("cap-forgotten", "        s = {capped(s * scale, CAP) -> s * scale}", says="cap-forgotten"),
        Mutant("cap-of-unscaled-scores", "capped(s{ * scale -> }, CAP)"),
        Mutant("scaled-after-the-cap", "capped({s * scale, CAP) -> s, CAP) * scale}", says="cap-of-unscaled-scores"),
        Mutant("cap-after-the-mask",
            "{    if CAP > 0:\n        s = capped(s * scale, CAP)\n -> }",
            's, float("-inf")){ -> \n    if CAP > 0:\n        s = capped(s * scale, CAP)}',
            says="The cap comes after the mask: minus infinity becomes -cap, a score like others, and keys that a "
                "query must not see take weight. Cap first."),
        Mutant("never-masked", '{    if MASKED:\n        s = tl.where(seen, s, float("-inf"))\n -> }', says="never-masked"),
        Mutant("mask-upside-down", 'where(seen, {s, float("-inf") -> float("-inf"), s}',
            says="The two values of `tl.where` are swapped: the keys that a query must not see are kept."),
        Mutant("score-zero", '{float("-inf") -> 0.0})'),
        Mutant("masked-scores-a-number", ', s, {float("-inf") -> -1e4}', says="masked-scores-a-number"),
        Mutant("masked-scores-as-low-as-m", ', s, {float("-inf") -> -1e38}', says="masked-scores-a-number"),
        Mutant("every-tile-masked", "    {if MASKED:\n        s -> s} = tl.where", seen="property", only="interpreter"),
        Mutant("sink-in-another-base", "(m_i, sink{ * LOG2_E -> })"),
        Mutant("sink-scaled", "(m_i, sink * LOG2_E{ ->  * scale})", says="sink-in-another-base"),
        Mutant("m-may-be-minus-infinity", "m_i = {tl.maximum(m_i, sink * LOG2_E) -> m_i * 0 + sink * LOG2_E}", seen="nan"),
        Mutant("starts-without-a-sink", "m_i = tl.maximum(m_i, {sink * LOG2_E -> -1e38})"),
        Mutant("sink-not-summed", "l_i += {1.0 -> 0.0}", seen="nan"),
        Mutant("sink-summed-as-a-logit", "l_i += {1.0 -> tl.exp(sink)}",
            says="l_i gets e to the sink. It is in units of the maximum, and that is the sink: exp2(m - m) is 1."),
        Mutant("m-plus-sink", "m_i = {tl.maximum(m_i, sink * LOG2_E) -> m_i + sink * LOG2_E}",
            says="The sink is added to m_i, which was -1e38 and stays there. m_i is the larger of the two."),
        Mutant("weight-by-the-old-m", "l_i += {1.0 -> tl.exp2(sink * LOG2_E - m_i)}", says="no-weight-without-a-sink"),
        Mutant("sink-capped", "(m_i, {sink * LOG2_E -> (capped(sink, CAP) if CAP > 0 else sink) * LOG2_E})",
            says="The cap is put on the sink too. It is for the scores of keys."),
        Mutant("window-one-key-too-many", "(age {< -> <=} window)"),
        Mutant("window-one-key-short", "(age < window{ -> - 1})"),
        Mutant("own-key-missing", "(age {>= -> >} 0)", says="A query does not see its own key: own - col is 0 there, and counts."),
        Mutant("future-seen", "{(age >= 0) & (age < window) -> age < window}",
            says="At the diagonal queries see keys that come after them: `seen` has the window's left edge alone."),
        Mutant("past-unlimited", "{(age >= 0) & (age < window) -> age >= 0}",
            says="At the left edge queries see keys before their window: `seen` has the diagonal alone."),
        Mutant("age-turned-round", "{own[:, None] - cols[None, :] -> cols[None, :] - own[:, None]}",
            says="The difference is turned round: queries see keys after their own. It is own - cols."),
        Mutant("age-without-the-cache", "{own -> offs_m}[:, None]",
            says="The difference is taken from the number of the query. With a cache its own key is Lk - Lq further: `own`."),
        Mutant("age-in-the-tile", "{cols -> offs_n}[None, :]",
            says="The difference takes a key's number in its tile. `cols` has the keys' own numbers."),
        Mutant("crosswise", "{own[:, None] - cols[None, :] -> own[None, :] - cols[:, None]}", seen=("raised", "does-not-compile")),
        Mutant("left-edge-unmasked", "PHASE {!= 1 -> == 2}",
            says="The tiles at the window's left edge are not masked: phases 0 and 2 are, phase 1 is not."),
        Mutant("diagonal-unmasked", "PHASE {!= 1 -> == 0}",
            says="The tiles at the diagonal are not masked: phases 0 and 2 are, phase 1 is not."),
        Mutant("every-phase-masked", "{PHASE != 1 -> True}, CAP", seen="property", only="interpreter"),
        Mutant("cap-not-handed-on", "PHASE != 1, {CAP -> 0.0})", says="cap-forgotten"),
        Mutant("maximum-not-kept", "            {m_i, l_i, acc -> _, l_i, acc} = attend(",
            says="m_i stays at the sink, and l_i and acc are in units of the new maximum: keep all three that `attend` returns."),
        Mutant("keys-and-values-swapped", "            m_i, l_i, acc = attend(q, {k, v -> v, k}, seen", says="values-for-keys"),
        Mutant("walk-from-zero", "begins = {begin -> 0} if", seen="property", only="interpreter"),
        Mutant("walk-to-the-last-key", " PHASE == 1 else {end -> Lk})", seen="property", only="interpreter"),
        Mutant("heads-on-axis-1", "first = tl.program_id(0){ % tiles -> } * ", "{(tl.program_id(0) // tiles) -> tl.program_id(1)}",
            "[({triton.cdiv(Lq, BLOCK_M) * B * H, -> triton.cdiv(Lq, BLOCK_M), B * H})]", seen="grid-limit"),
        Mutant("torch-stand-in", "{o = torch … return o -> return window_ref(q, k, v, sinks, window, cap)}",
            seen="no-kernel-launched"),
    ],
    "window_decode": [
        usual(),
        Mutant("sink-in-another-base", "(sinks{ * LOG2_E -> },"),
        Mutant("starts-without-a-sink", "{tl.maximum(sinks * LOG2_E, -1e38) -> tl.full([BLOCK_G], -1e38, tl.float32)}"),
        Mutant("m-starts-at-minus-1e6", "tl.maximum(sinks * LOG2_E, {-1e38 -> -1e6})", says="m-starts-at-zero"),
        Mutant("sink-not-summed", "BLOCK_G], {1.0 -> 0.0}", seen="nan"),
        Mutant("weight-by-the-old-m", "l_i = {tl.full([BLOCK_G], 1.0, tl.float32) -> tl.exp2(sinks * LOG2_E - m_i)}",
            says="no-weight-without-a-sink"),
        Mutant("acc-starts-at-one", "acc = tl.{zeros([BLOCK_G, D] -> full([BLOCK_G, D], 1.0}"),
        Mutant("whole-cache", "range({tl.maximum(length - window, 0) -> 0}",
            says="All tokens of the cache are seen. The walk begins at length - window, or at 0."),
        Mutant("first-keys", "range({tl.maximum(length - window, 0), length -> 0, tl.minimum(length, window)}",
            says="first-keys"),
        Mutant("decode-one-key-too-many", "(length - window{ ->  - 1}, 0)"),
        Mutant("decode-one-key-short", "(length - window{ ->  + 1}, 0)"),
        Mutant("begins-below-zero", "range({tl.maximum(length - window, 0) -> length - window}", seen=("reads-outside", "nan", "wrong-values")),
        Mutant("masked-from-zero", "range({tl.maximum(length - window, 0) -> 0}", "seen = {cols[None, :] < length -> (cols[None, :] < length) & (cols[None, :] >= length - window)}",
            seen="slow", only="interpreter"),
        Mutant("walk-to-the-last-slot", ", 0), {length -> T}, BLOCK_N", "{cols[:, None] < length -> cols[:, None] < T}", "{cols[None, :] < length -> cols[None, :] < T}",
            says="behind-the-last-token", seen="nan"),
        Mutant("no-mask-on-loads", "{cols[:, None] < length -> cols[:, None] >= 0}", seen=("nan", "reads-outside")),
        Mutant("no-mask-on-keys", "k_ptr + tile{, mask=mask, other=0.0 -> }", seen=("nan", "reads-outside", "slow"), only="interpreter"),
        Mutant("no-mask-on-values", "v_ptr + tile{, mask=mask, other=0.0 -> }", seen=("nan", "reads-outside")),
        Mutant("padding-counted", "seen = cols[None, :] {< length -> >= 0}",
            says="In the last tile lanes without a key take weight, their scores are 0: `seen` ends at length."),
        Mutant("seen-one-too-far", "cols[None, :] {< -> <=} length",
            says="The lane behind the last token takes weight: cols < length."),
        Mutant("cap-not-handed-on", "scale, True, {CAP -> 0.0})", says="cap-forgotten"),
        Mutant("newest-token-missing", "seen = cols[None, :] < length{ ->  - 1}",
            says="The newest token takes no weight: it is number length - 1, and seen."),
        Mutant("first-tile-always", "cols = {start -> tl.maximum(length - window, 0)} + offs_n",
            says="Every step reads the first tile. Its keys begin at `start`."),
        Mutant("keys-from-zero", "cols = {start +  -> }offs_n", says="first-keys"),
        Mutant("steps-of-rows", "length, {BLOCK_N -> BLOCK_G}):",
            says="The walk goes on by BLOCK_G keys, and a tile holds BLOCK_N: keys count twice."),
        Mutant("rows-one-apart", "tile, mask = cols[:, None]{ * D -> } + offs_d, ",
            says="Keys are looked for one number apart. Each has D numbers."),
        Mutant("keys-for-values", "tl.load({v_ptr -> k_ptr} + tile"),
        Mutant("keys-and-values-swapped", "attend(q, {k, v -> v, k}, seen", says="values-for-keys"),
        Mutant("maximum-not-kept", "        {m_i, l_i, acc -> _, l_i, acc} = attend(",
            says="m_i stays at the sink, and l_i and acc are in units of the new maximum: keep all three that `attend` returns."),
        Mutant("not-divided", "acc{ / l_i[:, None] -> }, mask"),
        Mutant("stored-for-16-heads", "l_i[:, None]{, mask=mask_g[:, None] -> }", seen=("out-of-bounds-store", "race")),
        Mutant("torch-stand-in", seen=("no-kernel-launched", "torch-compute"),
            body="require_heads(q, k_cache, v_cache, sinks, window, cap)\n"
                "return torch.cat([window_ref(q[b:b + 1, :, None], k_cache[b:b + 1, :, :n], v_cache[b:b + 1, :, :n], "
                "sinks, window, cap)[:, :, 0] for b, n in enumerate(lengths.tolist())])"),
    ],
}

VARIANTS = {
    "window_bounds": [
        Variant("by-the-remainder", "begin = {max(0, first + 1 - window) // BLOCK_N * BLOCK_N -> max(0, first + 1 - window)\n    begin = begin - begin % BLOCK_N}"),
        Variant("one-more-query-tile", "{(max(0, last + 1 - window) + BLOCK_N - 1) // BLOCK_N * BLOCK_N -> max(0, last + BLOCK_N - window) // BLOCK_N * BLOCK_N}"),
        Variant("clamped-at-the-end", "full = max(inner, {max(0, first + 1) // BLOCK_N * BLOCK_N -> (first + 1) // BLOCK_N * BLOCK_N}"),
        Variant("by-comparisons", "end = {max(0, last + 1) -> last + 1\n    if end < 0:\n        end = 0}"),
    ],
    "flash_window": [
        Variant("by-the-sigmoid", "{power = tl.exp(s * (2 / CAP))\n    return CAP - 2 * CAP / (power + 1) -> return CAP * (2 * tl.sigmoid(s * (2 / CAP)) - 1)}"),
        Variant("falling-power", "tl.exp({s * (2 / CAP) -> -2 * s / CAP}", "{CAP - 2 * CAP / (power + 1) -> 2 * CAP / (1 + power) - CAP}"),
        Variant("two-comparisons", "{age = own[:, None] - cols[None, :]\n            seen = (age >= 0) & (age < window) -> right, left = own[:, None], own[:, None] - window\n            seen = (cols[None, :] <= right) & (cols[None, :] > left)}"),
        Variant("start-anew", "m_i = {tl.maximum(m_i, sink * LOG2_E)\n    l_i += 1.0 -> tl.zeros([BLOCK_M], tl.float32) + tl.maximum(sink * LOG2_E, -1e30)\n    l_i = tl.full([BLOCK_M], 1.0, tl.float32)}"),
        Variant("weight-of-the-sink", "l_i += {1.0 -> tl.exp2(tl.maximum(sink * LOG2_E, -1e38) - m_i)}"),
        Variant("sink-at-the-end", "{    m_i = tl.maximum(m_i, sink * LOG2_E)\n    l_i += 1.0\n -> }",
            ("    tl.store(o_ptr", "    m_new = tl.maximum(m_i, sink * LOG2_E)\n    acc = acc * tl.exp2(m_i - m_new)[:, None]\n    l_i = l_i * tl.exp2(m_i - m_new) + tl.exp2(sink * LOG2_E - m_new)\n    l_i = tl.where(l_i == 0.0, 1.0, l_i)\n    tl.store(o_ptr")),
        Variant("masked-by-adding", '{tl.where(seen, s, float("-inf")) -> s + tl.where(seen, 0.0, float("-inf"))}'),
        Variant("other-tiles", "else (32, {16, 8 -> 32, 4}, 1)"),
    ],
    "window_decode": [
        Variant("begins-with-a-tile", "range({tl.maximum(length - window, 0) -> tl.maximum(length - window, 0) // BLOCK_N * BLOCK_N}",
            "{mask = cols[:, None] * D + offs_d, cols[:, None] < length -> mask = cols[:, None] * D + offs_d, (cols < length)[:, None] & (cols >= length - window)[:, None]}",
            "seen = {cols[None, :] < length -> (cols[None, :] < length) & (cols[None, :] >= length - window)}"),
        Variant("smaller-tiles", "BLOCK_N={BLOCK_N -> 16}"),
        Variant("from-the-last-key-back",
            "range({tl.maximum(length - window, 0), length, BLOCK_N -> 0, tl.minimum(length, window), BLOCK_N}",
            "cols = {start + offs_n -> length - 1 - start - offs_n}",
            "{cols[:, None] < length -> (start + offs_n)[:, None] < tl.minimum(length, window)}", "{cols[None, :] < length -> (start + offs_n)[None, :] < tl.minimum(length, window)}"),
        # Each tile that is visited has a key that all rows see, so m is a number after the first.
        Variant("sink-as-it-is", "{tl.maximum(sinks * LOG2_E, -1e38) -> sinks * LOG2_E}"),
        Variant("start-by-where", "{tl.maximum(sinks * LOG2_E, -1e38) -> tl.where(sinks > -1e37, sinks * LOG2_E, -1e38)}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
NOT_SEEN = "no query sees such a key: its score becomes minus infinity"
EQUIVALENT = {
    "window_bounds": {
        "begin = max(0, first + 1 - window) // BLOCK_N * BLOCK_N => begin = max(1, first + 1 - window) // BLOCK_N * BLOCK_N": "a tile has 16 keys or more: key 1 lies in the first one too",
        "full = max(inner, max(0, first + 1) // BLOCK_N * BLOCK_N) => full = max(inner, max(1, first + 1) // BLOCK_N * BLOCK_N)": "a tile has 16 keys or more: one key is no full tile",
    },
    "window_decode": {
        "m_i = tl.maximum(sinks * LOG2_E, -1e38) => m_i = sinks * LOG2_E": "each tile that is visited has a key that all rows see: m is a number after the first",
        "k = tl.load(k_ptr + tile, mask=mask, other=0.0) => k = tl.load(k_ptr + tile, mask=mask)": NOT_SEEN,
        "k = tl.load(k_ptr + tile, mask=mask, other=0.0) => k = tl.load(k_ptr + tile, mask=mask, other=1.0)": NOT_SEEN,
        "v = tl.load(v_ptr + tile, mask=mask, other=0.0) => v = tl.load(v_ptr + tile, mask=mask, other=1.0)": "their p is 0, and 0 times 1 is 0",
    },
}
