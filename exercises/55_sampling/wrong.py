"""Mistakes of 55_sampling with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("counters-of-a-tile", "best-never-kept", "never-moves-lo")

BADLY = ("wrong-values", "wrong-tail", "rows-after-first")

# top_p_filter on whole numbers in the order of the logits, as a radix sort has them.
IN_ORDER = """@triton.jit
def in_order(z):
    bits = z.to(tl.float32).to(tl.int32, bitcast=True)
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


"""
BY_BITS = (
    ("@triton.jit\ndef top_p_kernel", IN_ORDER + "@triton.jit\ndef top_p_kernel"),
    "lo, hi = {m_i - 32.0, m_i -> in_order(m_i - 32.0), in_order(m_i) + 1}",
    "mid = {(lo + hi) / 2 -> (lo & hi) + ((lo ^ hi) >> 1)}",
    "where({z -> in_order(z)} >= mid",
    "where({z -> in_order(z)} >= lo",
    "STEPS={24 -> 32}",
)

# Sentences that several mistakes share.
SAYS = {
    "seed-ignored": "These are the numbers of seed 0. Give `tl.rand` the seed.",
    "seed-and-counter-swapped": "The seed and the counters are swapped: `tl.rand(seed, offsets)`.",
    "mask-inverted": "The mask is the wrong way round: u < p has probability p, and those go.",
    "padding-wins": "A lane past the end of the row won. What must `other=` be under a maximum?",
    "starts-at-zero":
        "`best` starts at a number that no score of the row reaches, and so it has no word. Start below all of them, "
        "at minus infinity.",
    "no-noise":
        "This is the most likely word, whatever the temperature. Add the noise, which is another number for each word.",
    "temperature-inverted":
        "The temperature acts the wrong way round: a high one must make the noise count for more. Multiply the noise "
        "by it.",
    "never-replaced":
        "The word stays 0: no score was higher than `best`. Does `best` change before it is compared, or is a score "
        "NaN, as the logarithm of a negative number is?",
    "last-tile-only":
        "The word is the best of the last tile. Replace the word only by a higher score, and keep the best score.",
    "replaced-by-lower":
        "The word is replaced by lower scores, and kept before higher ones. Turn the `tl.where` round.",
    "u-cut-too-high": "u was cut off too high: `tl.rand` gives smaller numbers too. Only 0 is to be avoided.",
    "upper-end":
        "The word that reaches p is missing. `hi` may be too high for it, `lo` never is: words with z >= lo stay.",
    "hi-moves-always":
        "Every word stays, or nearly, as if the mass were never enough: does `hi` move in every step? `mass` is one "
        "number, the sum over all words from mid on. Where it reaches p times `l_i`, `lo` becomes mid. The last walk "
        "compares with `lo`.",
    "only-the-best":
        "Only the most likely word stays: the mass was enough in every step. It has to reach p times `l_i`, starts at "
        "0 in each step, and leaves out the words below mid.",
    "the-others-kept": "The most likely words are out, and the others stay. Turn the comparison round.",
}

MUTANTS = {
    "dropout": [
        Mutant("counters-of-a-tile", "rand(seed, {offs -> tl.arange(0, BLOCK)})",
            says="Every tile got the same random numbers. The counter is the element's number, not its lane."),
        Mutant("counters-overlap", "rand(seed, {offs -> pid + tl.arange(0, BLOCK)})",
            says="Neighbouring tiles share random numbers: their counters begin 1 apart, not BLOCK."),
        Mutant("number-of-a-program", "rand(seed, {offs -> pid + tl.zeros((BLOCK,), tl.int32)})",
            says="A whole tile stays or goes: it has one random number. Each element needs its own."),
        Mutant("seed-for-each-tile", "rand(seed{, offs ->  + pid, tl.arange(0, BLOCK)}",
            says="The seed changes from tile to tile, so another block would give another mask. Keep the seed, and "
                "count elements."),
        Mutant("seed-ignored", "= tl.rand({seed -> 0}"),
        Mutant("seed-and-counter-swapped", "rand({seed, offs -> offs, seed}"),
        Mutant("mask-inverted", "seed, offs) {>= -> <} ", says="mask-inverted"),
        Mutant("branches-swapped", "{x / (1 - p), 0.0 -> 0.0, x / (1 - p)}", says="mask-inverted"),
        Mutant("mask-inverted-and-scale", "seed, offs) {>= -> <} ", ", x / {(1 - p) -> p},",
            says="p is the probability to go to 0, not to stay."),
        Mutant("mask-inverted-no-scale", "seed, offs) {>= -> <} ", "keep, x{ / (1 - p) -> }",
            says="The mask is the wrong way round, and the factor 1 / (1 - p) is missing."),
        Mutant("scale-forgotten", "keep, x{ / (1 - p) -> }",
            says="The numbers that stay are as they were. Divide them by 1 - p."),
        Mutant("scale-by-p", ", x / {(1 - p) -> p},",
            says="Divided by p. What stays has probability 1 - p: divide by that."),
        Mutant("scale-multiplied", "where(keep, x {/ -> *} ",
            says="Multiplied by 1 - p. Divide: fewer numbers must make up for the others."),
        Mutant("scale-one-plus-p", ", x / (1 {- -> +} p),", says="Divided by 1 + p instead of 1 - p."),
        Mutant("nothing-dropped", "{tl.where(keep, x / (1 - p), 0.0 -> x / (1 - p}",
            says="No number became 0. Is the mask used?"),
        Mutant("dropped-not-zero", "/ (1 - p), {0.0 -> x}", says="What should be dropped is still there. It becomes 0."),
        Mutant("u-of-p", "seed, offs) >{= -> } p",
            says="With p = 0 nothing may go, but u can be 0, and 0 > 0 is false. Use >=."),
        Mutant("from-the-other-end", "seed, offs) {>= -> < 1 -} ",
            says="u < 1 - p is as likely, but the contract keeps the numbers with u >= p."),
        Mutant("normal-numbers", "keep = tl.{rand -> randn}", seen=("wrong-values", "wrong-tail")),
        Mutant("brackets-missing", ", x / {(1 - p) -> 1 - p},",
            says="p was subtracted from x: `x / 1 - p` divides by 1. Brackets around 1 - p."),
        Mutant("against-1-minus-p", "seed, offs) >= { -> 1 - }p",
            says="u >= 1 - p has the probability p. What stays has u >= p."),
        Mutant("x-compared", "{tl.rand(seed, offs) -> x}",
            says="x was compared with p. It is the random number that decides."),
        Mutant("dropped-to-minus-infinity", '/ (1 - p), {0.0 -> float("-inf")}',
            says="What is dropped is minus infinity here. It becomes 0."),
        Mutant("half-p", "keep = { -> 0.5 * }tl.rand", seen="zeros"),
        Mutant("same-tile-again", "{pid * BLOCK +  -> }", seen=("unwritten-tail", "wrong-values", "race")),
        Mutant("computed-in-half", "{.to(tl.float32) -> }", "keep, x {/ (1 - p -> * (1 / (1 - p)).to(x.dtype})",
            seen="wrong-values"),
        Mutant("no-mask-at-the-store", ", y{, mask=mask -> }", seen="out-of-bounds-store"),
        Mutant("no-mask-at-the-load", "offs{, mask=mask -> }", seen="reads-outside", only="interpreter"),
        Mutant("stored-into-x", "tl.store({y_ptr -> x_ptr}", seen=("input-changed", "unwritten")),
        Mutant("by-torch", "{y, N = torch … return y -> return torch.nn.functional.dropout(x, p)}",
            seen=("no-kernel-launched", "torch-compute")),
    ],
    "sample": [
        Mutant("padding-at-minus-10000", '={float("-inf") -> -1e4}', says="padding-wins"),
        Mutant("best-of-minus-1e9", ' {float("-inf") -> -1e9}', says="starts-at-zero"),
        Mutant("same-in-each-row", ", {pid_b * V +  -> }",
            says="Every row has the same random numbers. Word v of row b has the counter b V + v."),
        Mutant("same-in-each-tile", " * V + {offs_v -> tl.arange(0, BLOCK_V)})",
            says="The tiles of a row have the same random numbers. Use the word's number in the whole row."),
        Mutant("same-in-all-tiles", "{pid_b * V + offs_v -> tl.arange(0, BLOCK_V)}",
            says="All tiles of all rows have the same random numbers. Word v of row b has the counter b V + v."),
        Mutant("counters-overlap", "seed, pid_b {* V  -> }",
            says="The counters are b + v, so neighbouring rows share them. A row begins V later: b V + v."),
        Mutant("counters-from-padding", "seed, pid_b * {V -> BLOCK_V} ",
            says="The rows' counters are a tile apart. They are V apart: b V + v."),
        Mutant("seed-for-each-row", "seed{, pid_b * V + ->  + pid_b,}",
            says="Each row has a seed of its own. The contract keeps the seed, and counts: b V + v."),
        Mutant("seed-ignored", "maximum(tl.rand({seed -> 0}"),
        Mutant("seed-and-counter-swapped", "{seed, pid_b * V + offs_v -> pid_b * V + offs_v, seed}"),
        Mutant("no-noise", "{ - temperature * tl.log(-tl.log(u)) -> }", says="no-noise"),
        Mutant("noise-alone",
            "{z.to(tl.float32) - temperature * tl.log(-tl.log(u -> tl.where(offs_v < V, -tl.log(-tl.log(u)), "
            "float('-inf'}",
            says="The noise decides alone: the logits are missing."),
        Mutant("temperature-ignored", "{temperature * tl -> tl}",
            says="The temperature does nothing. Multiply the noise by it."),
        Mutant("temperature-multiplied", "{- temperature * -> * temperature -}", says="temperature-inverted"),
        Mutant("noise-divided", "{temperature * tl.log(-tl.log(u)) -> tl.log(-tl.log(u)) / temperature}",
            says="temperature-inverted"),
        Mutant("divided-by-zero", "{- temperature * -> / temperature -}",
            says="Divided by the temperature, which may be 0. Multiply the noise by it instead."),
        Mutant("noise-backwards", "tl.float32) {- -> +} ",
            says="The noise has the wrong sign. It is the negative logarithm of a waiting time."),
        Mutant("waiting-time-added", "log({-tl.log(u) -> u}",
            says="-log(u) was added, a waiting time. The noise is -log of that."),
        Mutant("waiting-time-subtracted", "{- temperature * tl.log(-tl.log(u) -> + temperature * tl.log(u}",
            says="log(u) was added, a negative waiting time. The noise is -log of the waiting time."),
        Mutant("u-mirrored", ".log(-tl.log({ -> 1 - }u", says="1 - u is as random as u, but the contract takes u."),
        Mutant("uniform-added", "{- temperature * tl.log(-tl.log(u)) -> + temperature * u}",
            says="u was added as it is. The noise is -log(-log(u))."),
        Mutant("minus-forgotten", "temperature * tl.log({- -> }tl", says="never-replaced"),
        Mutant("normal-noise", "maximum(tl.{rand -> randn}",
            "{- temperature * tl.log(-tl.log(u)) -> + temperature * u}", seen=BADLY),
        Mutant("log-base-two", "tl.{log(-tl.log -> log2(-tl.log2}",
            says="Logarithms of base 2. `tl.log` is the natural one."),
        Mutant("exponentials", "{z.to(tl.float32 -> tl.exp(z.to(tl.float32)}",
            says="The noise was added to exponentials. It belongs to logits."),
        Mutant("first-tile-only", "in range(0, {V -> BLOCK_V}, ",
            says="The word is the best of the first tile. Later tiles may be better."),
        Mutant("last-tile-only", "{tl.where(top > best, start + lane, word) -> start + lane}", says="last-tile-only"),
        Mutant("best-never-kept", "{        best = tl.maximum(best, top)\n -> }", says="last-tile-only"),
        Mutant("start-times-block", ", start { -> * BLOCK_V }+ lane",
            says="`start` counts words already. The word's number is start + lane."),
        Mutant("where-turned-round", "{start + lane, word -> word, start + lane}", says="replaced-by-lower"),
        Mutant("lower-wins", "where({top > best -> best > top}", says="replaced-by-lower"),
        Mutant("u-never-above-1e-10", " tl.{maximum -> minimum}(tl", says="no-noise"),
        Mutant("u-cut-at-1e-6", "offs_v), 1e-{10 -> 6}", says="u-cut-too-high"),
        Mutant("u-plus-1e-8",
            "{maximum(tl.rand(seed, pid_b * V + offs_v), 1e-10) -> rand(seed, pid_b * V + offs_v) + 1e-8}",
            says="u-cut-too-high"),
        Mutant("start-twice", " * V + { -> start + }offs_v)",
            says="The counters have `start` in them twice. Word v of row b has the counter b V + v."),
        Mutant("word-of-all-rows", " > best, { -> pid_b * V + }start",
            says="This is the word's counter, b V + v. The result is v, its number in its own row."),
        Mutant("counters-by-words", "{pid_b * V + offs_v -> offs_v * tl.num_programs(0) + pid_b}",
            says="The counters go down the columns. Word v of row b has b V + v."),
        Mutant("scores-in-half",
            "{z.to(tl.float32) - temperature * tl.log(-tl.log(u) -> (z.to(tl.float32) - temperature * "
            "tl.log(-tl.log(u))).to(z.dtype}",
            says="The scores were rounded to half precision, and the highest ones became equal. Compute them in "
                "float32."),
        Mutant("word-by-word", "temperature, seed{, BLOCK_V=BLOCK_V, num_warps=8 -> }", seen="property", only="interpreter",
            kernels='''
@triton.jit
def sample_kernel(z_ptr, words_ptr, V, stride_zb, temperature, seed):
    pid_b = tl.program_id(axis=0)
    row_ptr = z_ptr + pid_b.to(tl.int64) * stride_zb
    best, word = float("-inf"), 0
    for v in range(0, V):
        u = tl.maximum(tl.rand(seed, pid_b * V + v), 1e-10)
        score = tl.load(row_ptr + v).to(tl.float32) - temperature * tl.log(-tl.log(u))
        word = tl.where(score > best, v, word)
        best = tl.maximum(best, score)
    tl.store(words_ptr + pid_b, word)
'''),
        Mutant("u-cut-at-1e-3", "offs_v), 1e-{10 -> 3}", says="u-cut-too-high"),
        Mutant("higher-than-before", "{tl.maximum(best, top) -> top}",
            says="Each tile is compared with the one before it. `best` is the highest score of all so far."),
        Mutant("lane-for-word", ", {start +  -> }lane",
            says="This is the lane in its tile. The word's number needs `start`."),
        Mutant("tile-for-word", ", start{ + lane -> }",
            says="This is the first word of the tile that has the best one. Its lane is missing."),
        Mutant("later-of-equals", "where(top >{ -> =} best",
            says="Of equal scores the first word wins: replace it only by a score that is higher."),
        Mutant("last-lane-of-equals", "return_indices=True{ -> , return_indices_tie_break_left=False}",
            says="Of equal scores the first word wins, inside a tile too."),
        Mutant("smallest-wins", "lane = tl.{max -> min}(",
            seen=("zeros", "wrong-values", "wrong-tail", "rows-after-first")),
        Mutant("padding-of-0", '={float("-inf") -> 0.0}', says="padding-wins"),
        Mutant("other-forgotten", '{, other=float("-inf") -> }', says="padding-wins",
            seen=("no-other", "wrong-values", "wrong-tail", "rows-after-first"), only="interpreter"),
        Mutant("zero-as-it-is", "{maximum(tl.rand(seed, pid_b * V + offs_v), 1e-10 -> rand(seed, pid_b * V + offs_v}",
            says="u was 0. Its noise is minus infinity, and 0 times that is NaN: keep u above 0."),
        Mutant("best-starts-at-0", ' {float("-inf") -> 0.0}', says="starts-at-zero"),
        Mutant("no-mask", '{, mask=offs_v < V, other=float("-inf") -> }',
            seen=("reads-outside", "padding-wins", "wrong-values", "wrong-tail", "rows-after-first"),
            only="interpreter"),
        Mutant("rows-are-v-apart", "int64) * {stride_zb -> V}", seen=("strided-only", "wrong-values")),
        Mutant("first-row", "{pid_b.to(tl.int64) * stride_zb -> 0}", seen=BADLY),
        Mutant("int32", "dtype=torch.{int64 -> int32},", seen="wrong-dtype"),
        Mutant("one-tile-for-all", "{min(block, triton.next_power_of_2(V) -> triton.next_power_of_2(V}",
            seen="tile-too-large"),
        Mutant("any-temperature", "{ or temperature < 0 -> }", seen="should-raise"),
        Mutant("any-strides", "{logits.stride(1) != 1 or  -> }", seen="should-raise"),
        Mutant("by-torch",
            "{B, V = logits … return words -> return torch.multinomial(logits.float().softmax(-1), 1)[:, 0]}",
            seen=("no-kernel-launched", "torch-compute")),
    ],
    "top_p_filter": [
        Mutant("starts-too-high", "m_i, l_i = -{1e38 -> 1e6}", says="m-starts-at-zero"),
        Mutant("too-few-steps", "p, STEPS={24 -> 16}",
            says="Words stay that are too unlikely: the steps end while `lo` and `hi` are more than 0.00001 apart."),
        Mutant("zeros-by-their-bits", *BY_BITS,
            says="0.0 and -0.0 are equal logits, though their bits are not: compared as whole numbers they part."),
        Mutant("upper-end", "where(z >= {lo -> hi},", says="upper-end"),
        Mutant("above-hi", ".where(z >{= lo ->  hi}", says="upper-end",
            seen=("wrong-values", "wrong-tail", "rows-after-first")),
        Mutant("above-lo", ".where(z >{= -> } lo", says="upper-end"),
        Mutant("padding-counted",
            'z = tl.load(row_ptr + offs_v, mask=offs_v < V, other={float("-inf") -> 0.0})\n            ',
            says="Lanes past the end of the row count as words with the logit 0. What must `other=` be?"),
        Mutant("not-normalised", "mass >= p{ * l_i -> }", says="only-the-best"),
        Mutant("divided-twice", "enough = mass { -> / l_i }>", says="hi-moves-always",
            seen=("wrong-values", "wrong-tail", "rows-after-first")),
        Mutant("l-i-without-p", "= mass >= {p *  -> }",
            says="Every word with any probability stays: the mass is compared with `l_i`, not p times that.",
            on_gpu=("wrong-values",)),
        Mutant("complement", "enough = mass >= {p -> (1 - p)} ", says="The words that stay have 1 - p. They need p."),
        Mutant("maximum-not-subtracted", "float32){ - m_i -> }",
            says="The maximum was not subtracted from the exponent, but `l_i` was taken with it."),
        Mutant("mid-subtracted", "float32) - {m_i -> mid})",
            says="mid was subtracted from the exponent. Subtract `m_i`, as in `l_i`."),
        Mutant("words-counted-against-the-mass", "where(z >= mid, {e -> 1.0},",
            says="Words were counted. Add up their exponentials: a likely word weighs more."),
        Mutant("words-counted", "where(z >= mid, {e -> 1.0},", "mass >= p * {l_i -> V}",
            says="Words were counted. Add up their exponentials: a likely word weighs more."),
        Mutant("last-tile-only", "mass {+ -> }= tl.sum",
            says="The mass is that of the last tile of the row. Add up all of them."),
        Mutant("first-tile-only", "\n        for start in range(0, {V -> BLOCK_V}, BLOCK_V):",
            says="The mass is that of the first tile of the row. Does the walk reach the end?"),
        Mutant("exp2", "e = tl.{exp -> exp2}(z.to",
            says="The exponentials have base 2, but `l_i` has base e: `tl.exp`."),
        Mutant("steps-of-one", "\n        for start in range(0, V{, BLOCK_V -> }):",
            says="The walk steps by 1, so words are counted many times. Step by BLOCK_V."),
        Mutant("e-for-z", "(tl.where({z -> e} >= ", says="e was compared with mid. mid is a logit: compare z."),
        Mutant("distance-for-z", "where(z { -> - m_i }>= mid",
            says="z - m_i was compared with mid. mid is a logit: compare z."),
        Mutant("moved-after-each-tile", "{enough = mass >= p * l_i\n ->     enough = mass >= p * l_i\n    }",
            says="`lo` and `hi` move after each tile of a row. First add up the whole row, then move one."),
        Mutant("-1e+09-for-the-others", ' {float("-inf") -> -1e9}',
            says="The words that go have -1e+09. The contract asks for minus infinity."),
        Mutant("-3.4e+38-for-the-others", ' {float("-inf") -> -3.4e38}',
            says="The words that go have -3.4e+38. The contract asks for minus infinity."),
        Mutant("mass-from-lo", "where(z >= {mid -> lo},",
            says="The mass is that of the words from `lo` on. It decides about mid: take the words from mid on."),
        Mutant("turned-round", ".where(z {> -> <}= lo",
            says="The comparison of the last walk is turned round: words with z >= lo stay."),
        Mutant("mid-for-the-threshold", "where(z >= {lo -> mid},", says="upper-end", on_gpu=("does-not-compile",)),
        Mutant("sum-forgotten", "{sum(tl.where(z >= mid, e, 0.0), axis= -> where(z >= mid, e, 0.}",
            says="hi-moves-always", seen=("does-not-compile", "raised")),
        Mutant("hi-stands-still",
            "{, hi = tl.where(enough, mid, lo), tl.where(enough, hi, mid ->  = tl.where(enough, mid, lo}",
            says="`lo` moves, and `hi` never does. Where the mass is not enough, `hi` becomes mid."),
        Mutant("never-moves-lo", "{lo, hi = tl.where(enough, mid, lo), -> hi =}", says="hi-moves-always"),
        Mutant("both-moved", "{tl.where(enough, hi, mid) -> mid}",
            says="`lo` and `hi` became mid in the same step. One of them stays where it is."),
        Mutant("zeros-for-the-others", ' {float("-inf") -> 0.0}',
            says="The words that go have the logit 0, which is not unlikely. Minus infinity forbids them."),
        Mutant("branches-swapped", '{z, float("-inf") -> float("-inf"), z}', says="the-others-kept"),
        Mutant("nothing-filtered", '{tl.where(z >= lo, z, float("-inf")) -> z}', says="hi-moves-always"),
        Mutant("own-probability", ".where({z >= lo -> tl.exp(z.to(tl.float32) - m_i) >= p * l_i}",
            says="Each word was compared with p alone. Add up the words from mid on."),
        Mutant("share-of-the-best", ".where({z >= lo -> tl.exp(z.to(tl.float32) - m_i) >= p}",
            says="These are the words with p times the probability of the best. Add up probabilities."),
        Mutant("only-the-best", "where(z >= {lo -> m_i},", says="only-the-best"),
        Mutant("maximum-subtracted", "where(z >= lo, z{ ->  - m_i}, ",
            says="The logits of the words that stay have lost the maximum. They stay as they are."),
        Mutant("exponentials-stored", "where(z >= lo, {z -> tl.exp(z.to(tl.float32) - m_i)},",
            says="Exponentials were stored. The words that stay keep their logits."),
        Mutant("probabilities-stored", "where(z >= lo, {z -> tl.exp(z.to(tl.float32) - m_i) / l_i},",
            says="Probabilities were stored. The words that stay keep their logits."),
        Mutant("written-into-the-logits", "store({out_row_ptr -> row_ptr}", seen=("input-changed", "unwritten")),
        Mutant("no-mask-at-the-store", "kept{, mask=offs_v < V -> }",
            seen=("out-of-bounds-store", "rows-after-first", "race")),
        Mutant("no-mask-at-the-last-load", "offs_v{, mask=offs_v < V -> })", seen="reads-outside", only="interpreter"),
        Mutant("by-torch", "{B, V = logits … return out -> return top_p_ref(logits, p)}",
            seen=("no-kernel-launched", "torch-compute")),
    ],
}

VARIANTS = {
    "dropout": [
        Variant("float32-by-p", "{.to(tl.float32) -> }"),
        Variant("product-with-the-mask", "{tl.where(keep, x / (1 - p), 0.0 -> x * keep.to(tl.float32) / (1 - p}"),
        Variant("divided-at-the-end", "{ / (1 - p), 0.0 -> , 0.0) / (1 - p}"),
        Variant("factor-first", "keep, x {/ (1 - p -> * (1 / (1 - p)})"),
        Variant("the-other-way-round", "seed, offs) {>= -> <} ", "{x / (1 - p), 0.0 -> 0.0, x / (1 - p)}"),
        Variant("other-of-0", "offs, mask=mask{ -> , other=0.0})."),
        Variant("small-tiles", "seed, block={1024 -> 64}"),
        Variant("four-numbers-at-once",
            "{keep = tl.rand(seed, offs) -> u, _, _, _ = tl.rand4x(seed, offs)\n    keep = u}"),
    ],
    "sample": [
        Variant("argmax-and-max", "{, return_indices=True -> ), tl.argmax(scores, axis=0}"),
        Variant("by-if",
            "{word = tl.where(top > best, start + lane, word) -> if top > best:\n            word = start + lane}",
            "{best = tl.maximum(best, top) -> if top > best:\n            best = top}"),
        Variant("finite-start", ' {float("-inf") -> -1e38}'),
        Variant("smaller-than-any", "offs_v), 1e-{10 -> 20}"),
        Variant("zero-by-where",
            "{maximum(tl.rand(seed, pid_b * V + offs_v) -> rand(seed, pid_b * V + offs_v)\n"
            "        u = tl.where(u > 0, u}"),
        Variant("noise-by-name",
            "{scores = z.to(tl.float32) - temperature * tl.log(-tl.log(u)) -> g = -tl.log(-tl.log(u))\n"
            "        scores = z.to(tl.float32) + temperature * g}"),
        Variant("mask-after-the-noise", '={float("-inf") -> 0.0}',
            '{ -> scores = tl.where(offs_v < V, scores, float("-inf"))\n        }top, lane = tl'),
        Variant("one-warp", "BLOCK_V, num_warps={8 -> 1}"),
        Variant("two-small-numbers",
            "{maximum(tl.rand(seed, pid_b * V + offs_v), 1e-10 -> rand(seed, pid_b * V + offs_v}",
            "log(-tl.log(u{) ->  + 1e-20) + 1e-20})"),
        Variant("added-1e-9", "{maximum(tl.rand(seed, pid_b * V + offs_v), 1e-10 -> rand(seed, pid_b * V + offs_v}",
            "log(-tl.log(u{) ->  + 1e-9) + 1e-9})"),
        Variant("best-of-each-lane",
            '{, word = float("-inf"), 0 ->  = tl.full([BLOCK_V], float("-inf"), tl.float32)\n'
            "    words = tl.zeros([BLOCK_V], tl.int32)}",
            "{top, lane = tl … best = tl.maximum(best, top -> words = tl.where(scores > best, offs_v, words)\n"
            "        best = tl.maximum(best, scores}",
            "{ -> word = tl.min(tl.where(best == tl.max(best, axis=0), words, V), axis=0)\n    }tl.store(words_ptr"),
        Variant("added-1e-10",
            "{maximum(tl.rand(seed, pid_b * V + offs_v), 1e-10) -> rand(seed, pid_b * V + offs_v) + 1e-10}"),
    ],
    "top_p_filter": [
        Variant("by-their-bits", (BY_BITS[0][0], BY_BITS[0][1].replace("z.to(", "tl.where(z == 0.0, 0.0, z).to(")), *BY_BITS[1:]),
        Variant("forbidden-by-adding", '{tl.where(z >= lo, z, float("-inf")) -> z + tl.where(z >= lo, 0.0, float("-inf"))}'),
        Variant("by-if",
            "{lo, hi = tl.where(enough, mid, lo), tl.where(enough, hi, mid) -> if enough:\n"
            "            lo = mid\n"
            "        else:\n"
            "            hi = mid}"),
        Variant("probability", "mass {>= p * l_i -> / l_i >= p}"),
        Variant("mask-from-probability", "{tl.where(z >= mid, e, 0.0 -> e * (z >= mid).to(tl.float32}"),
        Variant("middle-by-half", "enough, hi, mid){ ->   # the threshold is between them}"),
        Variant("float32-all-the-way", "tl.where(z{ -> .to(tl.float32)} >= lo"),
        Variant("other-at-the-end", "offs_v, mask=offs_v < V{ -> , other=0.0})"),
        Variant("more-steps", "), p, STEPS={24 -> 30}"),
        Variant("small-tiles", " p, block={8192 -> 128}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "dropout": {
        "x = tl.load(x_ptr + offs, mask=mask).to(tl.float32) => x = tl.load(x_ptr + offs, mask=mask)": "a division of half precision by a float32 is float32",
    },
    "sample": {
        "if B > 0: => if True:": "Triton launches nothing over an empty grid",
        "if B > 0: => if B >= 0:": "Triton launches nothing over an empty grid",
        'best, word = float("-inf"), 0 => best, word = float("-inf"), 1': "one word of each row is allowed, and its score is above minus infinity",
        "row_ptr = z_ptr + pid_b.to(tl.int64) * stride_zb => row_ptr = z_ptr + pid_b * stride_zb": "it takes more than 2^31 elements to tell, which no check can have",
        "scores = z.to(tl.float32) - temperature * tl.log(-tl.log(u)) => scores = z - temperature * tl.log(-tl.log(u))": "float32 all the same: u is, and it meets every z",
        "scores = z.to(tl.float32) - temperature * tl.log(-tl.log(u)) => scores = z.to(tl.float32) - temperature * tl.log(-tl.log2(u))": "the waiting times in another unit: the same number is added to all scores of a row",
    },
    "top_p_filter": {
        "enough = mass >= p * l_i => enough = mass > p * l_i": "both are equal by chance of rounding alone",
        "mass += tl.sum(tl.where(z >= mid, e, 0.0), axis=0) => mass += tl.sum(tl.where(z >= mid, e, 0.0))": "a tile of one dimension has one axis",
        "mass += tl.sum(tl.where(z >= mid, e, 0.0), axis=0) => mass += tl.sum(tl.where(z > mid, e, 0.0), axis=0)": "a word just at mid counts in the next steps: they come as close to it from below",
    },
}
