"""What is said of mistakes that several pages have, by their names."""

SAYS = {
    "a-rank-is-missing": "One rank's part is missing from the sum. All R parts count, your own too.",
    "a-stands-still": "Every step uses the first tile of A. Move its pointers on along K.",
    "acc-counted-twice": "The old acc is added twice, once with the factor and once without (`+=`).",
    "acc-not-rescaled": "When m grows, what is in acc was weighted with the old m: multiply it by exp(m_old - m_new).",
    "acc-starts-again": "acc holds what the last tile adds, alone: add to what was there, times the factor.",
    "always-causal": "With causal=False a query sees all keys. Here it sees those up to its own.",
    "always-float16": "The result was rounded to float16, whatever dtype it has. The store rounds by itself.",
    "b-has-rows-of-a": "B was read as if its rows were as far apart as A's. B has strides of its own.",
    "b-stands-still": "Every step uses the first tile of B. Move its pointers on along K.",
    "bias-before-weight": "The bias is added before the weight is multiplied. It comes last.",
    "bias-in-the-factor": "The row is multiplied by w + b. Multiply by the weight, then add the bias.",
    "bias-subtracted": "The bias was subtracted.",
    "both-stand-still":
        "Every step multiplies the same two tiles, the first ones. Move the pointers on along K, or add k to their "
        "offsets.",
    "causal-ignored": "Queries see keys that come after them: causal is ignored.",
    "causal-one-too-far":
        "The limit is one key too far to the right: a query sees its own position and those before it, and past the "
        "last key there is none.",
    "causal-strict": "The diagonal is one key too far to the left: a query may see its own position.",
    "cut-off": "q was cut, not rounded: `.to(tl.int8)` drops what is behind the point. Round first.",
    "divided-by-tile": "The mean is taken over the lanes of the tile. Divide by N, the number of elements.",
    "divided-in-every-tile": "acc is divided by l in every tile. Divide once, after the last one.",
    "end-is-everything": "The walk goes on to the last key. It may stop where the last query of the tile stops.",
    "end-of-the-first-query": "The walk ends where the first query ends. The last one sees more keys.",
    "eps-before-the-mean": "`eps` is added to the sum. Add it to the mean, after the division by N.",
    "eps-outside-root": "`eps` is added outside the root. It belongs inside: tiny rows tell the difference.",
    "eps-subtracted": "`eps` is subtracted: a row of tiny numbers has the root of a negative number. Add it.",
    "factor-in-another-base":
        "The factor for l and acc is to base e, and m is in base 2: both exponentials have to be exp2.",
    "factor-scaled": "The factor is exp2(m_i - m_new), without qk_scale: both are scaled already.",
    "first-head-only": "All heads read the keys and values of the first one: k and v begin at the program's own head.",
    "first-row-for-all": "All rows are divided by the root of the first one. Each row has its own sum.",
    "first-tile-always": "Every step of the walk reads the first tile of K and V. Its rows begin at `start`.",
    "first-tile-only":
        "Only the keys of the first tile take part. Does each step take its own, from `start` on? And is `end` a "
        "number of keys, that of the tile's last query?",
    "first-weight-only": "Every element is multiplied by the first weight. Load a tile of weights.",
    "fixed-eps": "`eps` is always 1e-6 here, whatever the caller passes.",
    "full-of-the-last-query":
        "`full` goes by the last query. The first one sees fewer keys: it would look into the future.",
    "gate-and-up-swapped": "gate and up have changed places: the SiLU belongs to gate.",
    "grid-rounds-down": "The ragged last tiles have no program. Round the number of tiles up: `triton.cdiv`.",
    "grid-swapped":
        "Some tiles have no program, and some programs have no tile: the numbers of tiles along M and along N have "
        "changed places, in the grid or where the kernel takes its own number apart.",
    "grid-with-sizes-swapped": "Some tiles have no program. It looks as if M was divided by BLOCK_N, N by BLOCK_M.",
    "half-sum": "The sum was rounded to half precision on the way. Keep `acc` in float32; the store rounds once.",
    "half-the-row": "Only the first half of the row was multiplied. K counts weights, not bytes.",
    "high-nibbles-only": "Every weight is a high nibble. The even ones are in the low nibbles.",
    "k-subtracted-twice":
        "k counts twice in the mask along K. Where the offsets hold k already it is `offs_k < K`, and otherwise "
        "`offs_k < K - k`.",
    "keys-for-values": "The weights are right, and what they weight is K instead of V.",
    "last-key-missing":
        "Each query misses the last key that it should see: its own position counts, and without causal so does the "
        "last key of all.",
    "last-step-left-out":
        "The last step along K is missing. With `range(0, K, BLOCK_K)` the loop has it, also where K is no multiple of "
        "BLOCK_K.",
    "last-tile-only":
        "Only the last tile of the walk counts. Do l and acc start again with each tile, or does the walk begin at the "
        "program's own queries, not at key 0?",
    "layernorm": "The mean is subtracted first: that is LayerNorm. RMSNorm leaves the mean alone.",
    "log2e-missing": "exp2 was given natural scores. The scale must include log2(e).",
    "log2e-twice": "log2(e) counts twice: in the scale, and in an exp that is not exp2 or in a second factor.",
    "lse-divided-by-ln2": "lse is divided by ln(2) where it should be multiplied by it.",
    "lse-heads-behind-tokens":
        "The numbers of lse are right and lie in another order. Query i of head h (counted over all batches) has "
        "element h * L + i.",
    "lse-in-base-2": "lse is in base 2. Multiply by ln(2).",
    "lse-is-the-sum": "lse holds l, the sum itself. It is m plus the log of l.",
    "lse-log-scaled-twice": "lse is (m + log(l)) * ln(2): m is in base 2, the log is natural. Use tl.log2(l).",
    "lse-log-subtracted": "lse is m minus the log of l. It is their sum.",
    "lse-log2-of-the-sum": "lse adds a natural m to log2(l). Bring both to one base.",
    "lse-maximum-in-base-2": "lse is the maximum alone, in base 2. The log of the sum is missing, and then ln(2).",
    "lse-of-mixed-bases": "lse adds m in base 2 to a natural log of l. Bring both to one base: (m + log2(l)) * ln(2).",
    "lse-without-logarithm": "lse is m + l: the logarithm of l is missing.",
    "lse-without-max": "lse is the log of the sum alone. The maximum is missing.",
    "lse-without-sum": "lse is the maximum alone. The log of the sum is missing.",
    "m-starts-at-zero":
        "m starts at a number (0?), as if such a score had been seen. Where all scores are far below it, all "
        "exponentials are 0. The largest of no scores is minus infinity.",
    "mask-upside-down": "The mask is upside down: queries see the keys from their last one on, not those up to it.",
    "masked-lanes-counted": "Masked lanes hold 1 and take part in the sum. Let them hold 0.",
    "masked-lanes-hold-one": "Masked lanes hold 1 and enter the sum: `other=0.0`.",
    "maximum-added": "The weights are exp(s + m_new). The maximum is subtracted: exp(s - m_new).",
    "maximum-along-queries": "The maximum runs along the queries. It runs over keys: axis=1.",
    "maximum-before-the-mask":
        "The maximum is taken before the mask: where a score that a query must not see is far larger, all its weights "
        "are 0. Mask first.",
    "maximum-in-other-units":
        "m is the largest bare product of q and k, and is subtracted from scaled scores: the weights become 0, or "
        "infinite. Scale it too.",
    "maximum-not-kept":
        "m_i stays what it was at the start, so the factor is always 0 and the last tile alone counts. Keep the new "
        "maximum at the end of the loop.",
    "maximum-of-another-query":
        "m_new[None, :] lays the maxima along the keys. Each belongs to a query, a row of the tile: m_new[:, None].",
    "maximum-of-the-tile":
        "The factor overflows where a tile has smaller scores than the one before it. m is the largest score so far, "
        "not that of this tile: take the maximum with the old m.",
    "maximum-of-the-whole-tile":
        "The maximum is one number for the whole tile, and the weights of a query whose scores are far smaller are all "
        "0. Each query has its own: axis=1.",
    "maximum-scaled-again":
        "The old m is scaled again in every step. Only the largest score of this tile takes qk_scale: m_i has it "
        "already.",
    "maximum-scaled-in-p":
        "m_new is scaled when it is subtracted, and scaled again with the difference: s * qk_scale - m_new.",
    "mean-not-subtracted": "The row is scaled by its deviation, but its mean is not subtracted.",
    "mean-of-magnitudes": "The mean is taken of |x|, not of its square.",
    "mean-of-x": "The mean is taken of x, not of its square.",
    "mean-square-for-variance": "The mean square of x stands in for the variance: square the distances from the mean.",
    "multiplied-by-the-sum": "The result is multiplied by the sum l. Divide by it.",
    "nibbles-swapped": "The nibbles are swapped: the low one holds the even k, and comes first.",
    "no-bias": "The bias is missing.",
    "no-diagonal-mask":
        "In the tile at the diagonal, queries see the keys after them: the mask covers the end of the keys only.",
    "no-eps":
        "`eps` is missing, or added where it has no effect. It belongs inside the root, beside the mean: rows of tiny "
        "numbers tell the difference.",
    "no-mask-on-scores":
        "In the tiles that a program visits, its queries see all keys, those after their own and those past the last "
        "one too. Is there a mask on the scores, and does it compare the keys' positions with the queries'?",
    "no-maximum":
        "An exponential overflows where scores are large. Is the running maximum subtracted in each: exp(s - m_new) "
        "for the weights, exp(m_old - m_new) for the factor?",
    "no-offset": "The positions start at 0. Token l has the position `pos_offset + l`.",
    "no-root": "This divides by the mean square, not by its root.",
    "no-scale-at-all": "The bare product of q and k goes into exp2. Multiply it by log2(e) / sqrt(D).",
    "no-weight": "The row is normalised, but not multiplied by the weight.",
    "not-divided": "The result is not divided by the sum l.",
    "not-normalised": "The exponentials are right, but they were not divided by their sum.",
    "not-scaled": "The mean is subtracted, but the row is not divided by the root of its variance.",
    "not-squared": "These are the numbers themselves added up. Square them first.",
    "not-turned": "It comes out as it went in: neither cos nor sin takes part.",
    "nothing-rescaled":
        "Neither l nor acc is rescaled. Is m overwritten before the factor exp(m_old - m_new) is computed? Then the "
        "factor is always 1.",
    "nothing-summed":
        "l is 0 at the end, and the result is divided by it. Each tile adds the sum of its weights p to l. The factor, "
        "0 in the first tile, is for what was there before.",
    "one-element-a-program":
        "Each program touches one element alone: `pid * BLOCK_SIZE` is where its tile begins, and `tl.arange(0, "
        "BLOCK_SIZE)` counts the lanes from there.",
    "one-plus-weight": "The row is multiplied by 1 + w. Here it is w alone.",
    "only-first-step":
        "Only the first step along K counts. Does the loop go on to K, and does its mask let the later steps through?",
    "only-last-step":
        "Only the last step of the loop counts. `tl.dot(a, b, acc, ...)` adds to acc; without acc it starts from zero.",
    "only-the-mean-scaled": "The root and the weight meet the mean alone: brackets around `x - mean`.",
    "other-pairing": "These are the pairs of the other form: half-split for interleaved, or the other way round.",
    "packed-stands-still": "Every step uses the first tile of packed. It moves on by k // 2 bytes.",
    "padding-counted":
        "The masked lanes are counted in the variance: after the subtraction they hold minus the mean. Set them to 0 "
        "again.",
    "queries-and-keys-swapped":
        "Q and K are swapped. Compare the order of the arguments in the launch with that in the kernel.",
    "queries-not-turned": "The keys are turned, the queries are not. `rope` returns both, q first.",
    "reduced-along-queries": "Maximum and sum run along the queries. Both run over keys: axis=1.",
    "rmsnorm": "The mean is never subtracted: this is RMSNorm.",
    "root-for-its-inverse": "The row is multiplied by the root. It has to be divided by it: `tl.rsqrt`.",
    "rounded-first": "x or its square was rounded to half precision. Square and add in float32.",
    "rounded-twice":
        "The row was rounded to half precision before the weight was multiplied. Round once, at the store.",
    "rounded-up": "q was rounded up. The nearest one is asked for.",
    "row-added-twice": "Program m took row 2 m: the row number is added to the address twice.",
    "scale-is-the-largest": "The scale is the largest number itself. One step is a 127th of it.",
    "scale-missing": "The scores are not multiplied by the scale, 1 / sqrt(D).",
    "scale-twice": "The scores are multiplied by the scale twice.",
    "scale-upside-down": "The scores are multiplied by sqrt(D). The scale is one over it.",
    "score-zero":
        "Scores that a query must not see take part in the softmax: they are 0 (exp(0) is 1), or another number that "
        "is not far below the others. They have to be minus infinity.",
    "squares-overflow":
        "All results are zero: the sum of the squares is infinity. Did the squares, or the buffer that holds their "
        "sum, overflow in half precision? Go to float32 before you square. Or do masked lanes come in as infinity? "
        "Their square has to be 0.",
    "start-counts-steps":
        "`start` counts 0, 1, 2 ... up to the number of tiles, so the tiles overlap. It is a number of keys: range(0, "
        "end, BLOCK_N).",
    "start-in-steps-of-one": "Each step of the walk goes on by one key, so the tiles overlap: range(0, end, BLOCK_N).",
    "start-in-steps-of-queries":
        "The walk goes on by BLOCK_M keys, and a tile holds BLOCK_N of them: some keys are left out.",
    "steps-of-128": "The largest number becomes 128, and int8 ends at 127. Divide by 127.",
    "sum-added-twice":
        "The sum so far is added twice in each step. `tl.dot(a, b, acc, ...)` has added acc already: assign, no `+=`.",
    "sum-along-queries": "l is summed along the queries. It is a sum over keys: axis=1.",
    "sum-counted-twice": "The old l is added twice, once with the factor and once without (`+=`).",
    "sum-for-mean": "The sum of the row is subtracted. Divide it by N: that is the mean.",
    "sum-in-half-precision": "The sum of squares was taken in half precision: it lost digits. Add up in float32.",
    "sum-not-mean": "The sum of squares is not divided by N: the formula has their mean.",
    "sum-not-rescaled": "When m grows, l was summed with the old m: multiply it by exp(m_old - m_new).",
    "sum-of-all-rows": "The squares of all rows went into one sum. Each row has its own.",
    "sum-of-the-whole-tile": "l adds the weights of all queries of the tile. Each query has a sum of its own: axis=1.",
    "sum-starts-again": "l holds the sum of the last tile alone: add to what was there, times the factor.",
    "sum-starts-at-one": "Everything is 1 too large: `acc` starts with ones.",
    "tf32": 'These are TF32 digits: float32 inputs were cut to 10 binary digits. Ask for input_precision="ieee".',
    "tiny-scale": "A row of zeros has the scale 1 by contract.",
    "too-little-taken-off":
        "A number is taken off the scores that a query must not see, and with it they may still be the largest. Put "
        "minus infinity in their place.",
    "two-ranks-alone": "Two ranks are added, however many there are. RANKS says how many.",
    "unbiased": "The variance is divided by N - 1. LayerNorm divides by N.",
    "values-for-keys": "K and V are swapped. Compare the order of the arguments in the launch with that in the kernel.",
    "variance-over-tile": "The variance is taken over the lanes of the tile. Divide by N, the number of elements.",
    "walk-ends-at-the-first-query":
        "The walk of a program ends where its first query ends. Its last query sees the most keys.",
    "walk-ends-before-the-diagonal":
        "The keys of the tile that holds the diagonal, or of the last one, never take part: either the walk ends "
        "before it, or its mask shuts them out. Row i sees i + 1 + Lk - Lq keys.",
    "walk-ends-causally": "Without causal the walk goes on to the last key. Here it ends at the tile's last query.",
    "weight-added": "The weight is added to the row. Multiply by it.",
    "weight-for-bias": "Weight and bias have changed places.",
    "weight-rounded":
        "The weight was rounded to the dtype of x before it was multiplied. It has a dtype of its own, and may have "
        "more digits than x: go to float32 from its load on.",
    "weights-without-maximum": "The weights exp(s) lack the maximum that the factor uses: exp(s - m_new).",
    "wrong-sign":
        "The arrows turn the wrong way. Either both products with sin have the wrong sign, or `first` and `second` "
        "have changed places.",
    "x-in-the-dtype-of-w":
        "x was rounded to the dtype of the weight, which has fewer digits here. Go to float32 from the load on.",
    "x-moves-by-bytes": "x goes on by k // 2. That is packed's step, in bytes. x has a number for each weight: k.",
    "x-stands-still": "Every step uses the first tile of x. It moves on by k.",
    "zero-scale": "A row of zeros has the scale 0 here, and 0 / 0 is NaN. Its scale is 1.",
}
