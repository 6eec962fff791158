"""Mistakes of 13_layernorm with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = """
    bias-before-weight bias-in-the-factor masked-lanes-hold-one mean-not-subtracted mean-square-for-variance no-bias
    no-weight not-scaled only-the-mean-scaled rmsnorm root-for-its-inverse row-added-twice sum-for-mean unbiased
    variance-over-tile weight-for-bias weight-rounded x-in-the-dtype-of-w
"""
PROMISES = ("padding-counted", "lost-digits", "mean-of-means")

TORCH = """
def {name}(x, w, b, eps=1e-5, {knob}=None):
    return torch.nn.functional.layer_norm(x, w.shape, w, b, eps)
"""


def _torch(name, knob):
    return Mutant("torch-stand-in", seen="no-kernel-launched", replace=TORCH.format(name=name, knob=knob))


# Sentences that several mistakes share.
SAYS = {
    "means-summed":
        "The tiles were merged by plain sums or averages. Tiles with different means, or different counts, "
        "need welford_combine.",
    "squares-overflow":
        "All that is left is the bias: the normalised row is 0. Did the squares overflow, in half precision or by "
        "masked lanes of minus infinity? Or is the mask the wrong way round?",
    "no-eps": "`eps` makes no difference: it is missing, or it is added outside the root.",
    "two-empty-parts":
        "Right but for two empty parts, which give 0 / 0. Divide by something that is n wherever n is not 0.",
}

MUTANTS = {
    "layernorm": [
        Mutant("padding-counted", "{tl.where(mask_n, x - mean, 0.0) -> x - mean}", says="padding-counted"),
        Mutant("weight-rounded", "w_ptr + offs_n, mask=mask_n){.to(tl.float32) -> .to(x_ptr.dtype.element_ty).to(tl.float32)}"),
        Mutant("x-in-the-dtype-of-w",
            "x_ptrs, mask=mask_m & mask_n, other=0.0){.to(tl.float32) -> .to(w_ptr.dtype.element_ty).to(tl.float32)}"),
        Mutant("result-in-the-dtype-of-w", "y = torch.empty(x.shape, dtype={x.dtype -> w.dtype}", seen="wrong-dtype"),
        Mutant("nan-in-the-weight-lost", "centred * rstd * {w -> tl.maximum(w, -1e30)} + b", seen="nan-lost"),
        Mutant("nan-in-the-bias-lost", "centred * rstd * w + {b -> tl.maximum(b, -1e30)}", seen="nan-lost"),
        Mutant("nan-in-the-mean-lost", "{mean = tl.sum(x, axis=1 -> x = tl.maximum(x, -1e30)\n    mean = tl.sum(x, axis=1}", seen="nan-lost"),
        Mutant("unbiased", "keep_dims=True) / {N -> tl.maximum(N - 1, 1)} "),
        Mutant("lost-digits",
            "{centred * centred, axis=1, keep_dims=True) / N -> x * x, axis=1, keep_dims=True) / N - mean * mean}",
            seen="property"),
        Mutant("mean-over-tile", "x, axis=1, keep_dims=True) / {N -> BLOCK_N}",
            says="The mean is taken over the lanes of the tile. Divide by N, the number of elements."),
        Mutant("variance-over-tile", "keep_dims=True) / {N -> BLOCK_N} "),
        Mutant("not-scaled", "centred * {rstd *  -> }"),
        Mutant("squares-overflow", " {x - mean, 0.0 -> 0.0, x - mean}"),
        Mutant("eps-added-to-rstd", "True) / N{ + eps) -> ) + eps}", says="no-eps"),
        Mutant("mean-in-half",
            "{tl.sum(x, axis=1, keep_dims=True) / N -> (tl.sum(x, axis=1, keep_dims=True) / "
            "N).to(x_ptr.dtype.element_ty).to(tl.float32)}",
            says="The mean was rounded to half precision before it was subtracted. Keep it in float32."),
        Mutant("sum-for-mean", "x, axis=1, keep_dims=True){ / N -> }"),
        Mutant("mean-not-subtracted", "y = {centred -> x} * "),
        Mutant("rmsnorm", "mask_n, x{ - mean -> },"),
        Mutant("mean-square-for-variance", "{centred * centred -> x * x}"),
        Mutant("mean-of-magnitudes", "{centred * centred -> tl.abs(centred)}",
            says="The variance is a mean of |x - mean|. Take the squares."),
        Mutant("no-weight", "centred * rstd {* w  -> }+"),
        Mutant("no-bias", "* rstd * w{ + b -> }"),
        Mutant("bias-before-weight", "{centred * rstd * w + b -> (centred * rstd + b) * w}"),
        Mutant("bias-in-the-factor", "* rstd * {w + b -> (w + b)}"),
        Mutant("only-the-mean-scaled", "y = {centred -> x - mean} * "),
        Mutant("bias-subtracted", "* rstd * w {+ -> -} b", says="The bias is subtracted. Add it."),
        Mutant("weight-for-bias", "* rstd * {w + b -> b + w}"),
        Mutant("fixed-eps", "True) / N + {eps -> 1e-5})", says="`eps` is always 1e-5 here, whatever the caller passes."),
        Mutant("no-eps", "True) / N{ + eps -> }", says="no-eps"),
        Mutant("eps-outside-root",
            "{tl.rsqrt(tl.sum(centred * centred, axis=1, keep_dims=True) / N -> 1.0 / (tl.sqrt(tl.sum(centred * "
            "centred, axis=1, keep_dims=True) / N)}",
            says="`eps` is added outside the root. It belongs inside: tiny numbers tell the difference."),
        Mutant("eps-before-the-mean",
            "{tl.sum(centred * centred, axis=1, keep_dims=True) / N + eps -> (tl.sum(centred * centred, axis=1, "
            "keep_dims=True) + eps) / N}",
            says="`eps` is added to the sum of squares. Add it to the variance, after the division by N."),
        Mutant("no-root", "rstd = {tl.rsqrt -> 1.0 / }", says="This divides by the variance, not by its root."),
        Mutant("root-for-its-inverse", "rstd = tl.{rsqrt -> sqrt}"),
        Mutant("sum-not-mean", "keep_dims=True) {/ N  -> }", says="The squares are summed, but not divided by N."),
        Mutant("row-stride-is-n", "offs_m * {stride_xm -> N} ", seen=("strided-only", "reads-outside")),
        Mutant("column-stride-is-one", "offs_n{ * stride_xn -> }", seen=("strided-only", "reads-outside")),
        Mutant("strides-swapped", "{stride_xm + offs_n * stride_xn -> stride_xn + offs_n * stride_xm}",
            seen=("strided-only", "reads-outside")),
        Mutant("stride-of-x-for-y", "offs_m * {stride_ym -> stride_xm} ", seen=("strided-only", "out-of-bounds-store")),
        Mutant("column-stride-of-x-for-y", "offs_n * {stride_yn -> stride_xn}",
            seen=("strided-only", "out-of-bounds-store", "race")),
        Mutant("always-row-zero", "{offs_m * stride_xm -> 0 * offs_m}", seen=("rows-moved", "rows-after-first")),
        Mutant("row-added-twice", "x_ptr + { -> 2 * }offs_m *", seen="reads-outside"),
        Mutant("every-row-to-row-zero", "{offs_m * stride_ym -> 0 * offs_m}", seen=("race", "unwritten-tail")),
        Mutant("no-mask-at-the-store", "y{, mask=mask_m & mask_n -> }", seen=("out-of-bounds-store", "race")),
        Mutant("no-mask-at-the-load", "{, mask=mask_m & mask_n, other=0.0 -> }", seen="reads-outside"),
        Mutant("other-forgotten", "mask_n{, other=0.0 -> }", seen="no-other", only="interpreter"),
        Mutant("masked-lanes-hold-one", "mask_n, other={0 -> 1}.", seen="wrong-values"),
        Mutant("masked-lanes-as-in-softmax", 'mask_n, other={0.0 -> float("-inf")}', seen=("nan", "overflow")),
        Mutant("sums-in-half", "0){.to(tl.float32) -> }", seen="overflow"),
        Mutant("rounded-twice", "{centred * rstd -> (centred * rstd).to(x_ptr.dtype.element_ty).to(tl.float32)}",
            says="Some step was rounded to half precision. Compute in float32, round once, at the store."),
        Mutant("root-stored-as-rstd", "rstd = tl.{rsqrt -> sqrt}", "centred {* -> /} rstd", seen="property"),
        Mutant("variance-stored-as-rstd",
            "{rsqrt(tl.sum(centred * centred, axis=1, keep_dims=True) / N + eps) -> sum(centred * centred, axis=1, "
            "keep_dims=True) / N}",
            "centred * {rstd -> tl.rsqrt(rstd + eps)} ", seen="property"),
        Mutant("mean-stored-is-another", "* rstd * w + b{ -> \n    mean = 0.0 * mean}", seen="property"),
        Mutant("stats-swapped", "offs_m, {mean -> rstd}, ", "rstd_ptr + offs_m, {rstd -> mean}, mask=mask_m)",
            seen="property"),
        Mutant("stats-not-stored",
            "{    tl.store(mean_ptr + offs_m, mean, mask=mask_m) … offs_m, rstd, mask=mask_m)\n -> }", seen="property"),
        Mutant("stats-all-in-one-place", "mean_ptr + { -> 0 * }offs_m, ", seen="race"),
        Mutant("sums-of-columns", "x, axis={1 -> 0}, keep_dims=", seen=("raised", "does-not-compile", "wrong-values")),
        Mutant("sums-lie-down", "x, axis=1{, keep_dims=True -> }) / N",
            seen=("raised", "does-not-compile", "wrong-values")),
        Mutant("rows-share-a-mean", "x{, axis=1, keep_dims=True) / N -> ) / (N * BLOCK_M)}",
            says="All rows of a tile share one mean. Each has its own: sum over `axis=1`, `keep_dims=True`."),
        Mutant("rows-share-a-sum", "x{, axis=1, keep_dims=True -> }",
            says="All rows of a tile share one mean. Each has its own: sum over `axis=1`, `keep_dims=True`."),
        Mutant("rows-share-both-sums", "x{, axis=1, keep_dims=True -> }", "{, axis=1, keep_dims=True -> }",
            says="All rows of a tile share one mean and one variance. Each has its own: sum over `axis=1`, "
                "`keep_dims=True`."),
        Mutant("both-over-tile", "x, axis=1, keep_dims=True) / {N -> BLOCK_N}", "keep_dims=True) / {N -> BLOCK_N} ",
            says="Mean and variance are taken over the lanes of the tile. Divide both by N, the number of elements."),
        Mutant("mean-subtracted-twice", "y = {centred -> (centred - mean)} * ",
            says="The mean is subtracted twice in y. What is centred already needs no second one."),
        Mutant("padding-holds-eps", " x - mean, {0.0 -> eps}", seen="off-by-row"),
        Mutant("zeros-as-padding", "{mask_n, x - mean, 0.0 -> x == 0, 0.0, x - mean}",
            says="Elements that are 0 are taken for padding. Ask `mask_n` which lanes are elements."),
        Mutant("statistics-in-half", "offs_m, mean{ -> .to(x_ptr.dtype.element_ty)}, mask",
            "offs_m, rstd{ -> .to(x_ptr.dtype.element_ty)}, mask", seen="property"),
        Mutant("no-mask-for-the-mean", "mean{, mask=mask_m -> }", seen="out-of-bounds-store"),
        Mutant("rows-past-the-end-loaded", "={mask_m & mask_n -> mask_n},", seen="reads-outside"),
        Mutant("rows-past-the-end-stored", "={mask_m & mask_n -> mask_n})", seen=("out-of-bounds-store", "race")),
        Mutant("columns-past-the-end-loaded", "mask_m{ & mask_n -> },", seen="reads-outside"),
        Mutant("statistics-past-the-end", "rstd{, mask=mask_m -> }", seen=("out-of-bounds-store", "property")),
        Mutant("mask-one-short", "mask_m & {mask_n -> (offs_n < N - 1)})",
            seen=("unwritten", "unwritten-tail", "wrong-values")),
        Mutant("float32-result", " dtype={x.dtype -> torch.float32}", seen="wrong-dtype"),
        Mutant("rows-returned", "if stats else {y -> y_rows}", seen="wrong-shape"),
        Mutant("no-check-of-the-vectors", "{    require_vectors(x, w, b)\n -> }", seen="should-raise"),
        _torch("layernorm", "stats"),
    ],
    "welford_combine": [
        Mutant("distance-from-the-merged-mean", "{delta * n_a * share_b -> (mean_b - mean) * n_b}", seen="property"),
        Mutant("delta-term-subtracted", "m2_a + m2_b {+ -> -} ",
            says="In M2 the term with delta is subtracted. Add it."),
        Mutant("mean-of-a-forgotten", "mean = {mean_a +  -> }",
            says="The mean is delta times the share of b. It begins at mean_a."),
        Mutant("share-over-n-a", " tl.maximum({n -> n_a},",
            says="n_b is divided by n_a. Its share is that of n, the count of both."),
        Mutant("large-squares",
            "{m2_b + delta * delta * n_a * share_b -> n_a * mean_a * mean_a + m2_b + n_b * mean_b * mean_b - n * "
            "mean * mean}",
            seen="property"),
        Mutant("nan-in-a-mean-lost", "{mean_a + delta * share_b -> tl.maximum(mean_a + delta * share_b, -1e30)}",
            seen="nan-lost"),
        Mutant("nan-in-m2-lost",
            "{m2_a + m2_b + delta * delta * n_a * share_b -> tl.maximum(m2_a + m2_b + delta * delta * n_a * share_b, 0.0)}",
            seen="nan-lost"),
        Mutant("count-of-1", "n = {n_a + n_b -> tl.maximum(n_a + n_b, 1.0)}",
            says="Two empty parts give a count of 1. Guard the divisor, and return n as it is."),
        Mutant("no-guard", "{tl.maximum(n, 1.0) -> n}", says="two-empty-parts"),
        Mutant("divided-by-n-plus-1", " {tl.maximum(n, -> (n +}",
            says="The share of b is divided by n + 1. The divisor is n, but for two empty parts."),
        Mutant("guard-on-b-alone", "{maximum(n, 1.0 -> where(n_b == 0, n_a, n}", says="two-empty-parts",
            seen=("nan", "wrong-values")),
        Mutant("guard-in-the-mean-alone", " n_a * {share_b -> n_b / n}", says="two-empty-parts"),
        Mutant("delta-not-squared", " * {delta *  -> }n_a", says="M2 grows by delta *squared* times n_a n_b / n."),
        Mutant("no-delta-term", "{ + delta * delta * n_a * share_b -> }",
            says="M2 is the plain sum. The two parts have different means: the term with delta is missing."),
        Mutant("delta-term-without-n-a", "delta * {n_a *  -> }", says="In M2 the term with delta lacks the factor n_a."),
        Mutant("delta-term-not-divided", " n_a * {share_b -> n_b}",
            says="In M2 the product n_a n_b has to be divided by n."),
        Mutant("delta-term-with-n", "* delta * {n_a -> n} ",
            says="In M2 the term with delta has n where it should have n_a."),
        Mutant("m2-averaged", " = {m2_a + m2_b -> (n_a * m2_a + n_b * m2_b) / tl.maximum(n, 1.0)}",
            says="The two M2 are averaged as variances would be. They are sums: add them."),
        Mutant("weighted-mean-unguarded", "{mean_a + delta * share_b -> (n_a * mean_a + n_b * mean_b) / n}",
            says="two-empty-parts"),
        Mutant("guard-by-a-small-number", "{tl.maximum(n, 1.0 -> (n + 1e-5}", seen="wrong-values"),
        Mutant("two-shares", " delta * n_a { -> / tl.maximum(n, 1.0) }*",
            says="In M2 the product n_a n_b is divided by n twice."),
        Mutant("m2-divided", "return n, mean, m2{ ->  / tl.maximum(n, 1.0)}",
            says="M2 is divided by n here. It stays a sum; only at the very end it becomes a variance."),
        Mutant("mean-of-means", "delta * {share_b -> 0.5}",
            says="This is the mean of the two means. A larger part weighs more."),
        Mutant("share-of-the-other", "delta * {share_b -> n_a / tl.maximum(n, 1.0)}",
            says="The mean moves from mean_a towards mean_b by the share of b, not of a."),
        Mutant("delta-term-with-n-b", "* delta * {n_a -> n_b} ",
            says="In M2 the term with delta has n_b twice. It needs n_a n_b / n."),
        Mutant("divided-by-the-minimum", "n_b / tl.{maximum -> minimum}",
            says="n_b is divided by 1, not by n, where there are elements. The larger of the two divides."),
        Mutant("mean-comes-first", "return {n, mean, m2 -> mean, m2, n}",
            says="The mean comes back in the place of the count. The order is n, mean, M2."),
        Mutant("delta-the-wrong-way", "{mean_b - mean_a -> mean_a - mean_b}",
            says="The mean moves away from b. delta is mean_b - mean_a."),
        Mutant("from-mean-b", "mean = {mean_a -> mean_b} ",
            says="The mean starts from mean_b. It goes from mean_a towards mean_b, by the share of b."),
        Mutant("mean-stays", "{ + delta * share_b -> }", says="The mean is still that of part a."),
        Mutant("m2-of-a-lost", " = {m2_a + m2_b -> m2_b}", says="M2 of part a is missing in the sum."),
        Mutant("m2-of-b-lost", " = m2_a{ + m2_b -> }", says="M2 of part b is missing in the sum."),
        Mutant("count-of-a", "return {n -> n_a}, mean", says="The count that is returned is that of part a alone."),
        Mutant("results-swapped", "return n, {mean, m2 -> m2, mean}",
            says="Mean and M2 have changed places. The order is n, mean, M2."),
        Mutant("two-results", "return {n,  -> }mean", seen=("raised", "does-not-compile")),
        Mutant("an-if-for-tiles", "{ -> if n == 0:\n        n = n + 1.0\n    }delta = mean_b",
            seen=("truth-of-a-tile", "raised", "does-not-compile", "wrong-values", "two-empty-parts", "constant-summand")),
        Mutant("n-minus-one", "n = n_a + n_b{ ->  - 1.0}", seen=("wrong-values", "constant-summand")),
    ],
    "layernorm_welford": [
        Mutant("count-so-far", "{sum(mask_n.to(tl.float32), axis=0 -> minimum(N, start + BLOCK_N}",
            says="Every tile counts all elements up to its end. Count its own."),
        Mutant("zeros-as-padding", "tl.sum({mask_n -> (x != 0)}.",
            says="Elements that are 0 are not counted. Count with `mask_n`."),
        Mutant("count-in-half", "to(tl.{float32 -> float16}),",
            says="The count of a tile was summed in half precision, which holds no odd number above 2,048."),
        Mutant("averaged-in-turn",
            "{welford_combine(n, mean, m2, n_tile, mean_tile, m2_tile) -> n + n_tile, (mean + mean_tile) / 2, m2 + "
            "m2_tile}",
            says="means-summed"),
        Mutant("count-not-kept", "{n -> _}, mean, m2 = welford_combine",
            says="Each tile's mean takes the place of the row's. Either n stays 0 (keep the count that welford_combine "
                "returns), or `mean` is overwritten before the merge."),
        Mutant("the-kernel-of-task-1", seen=("other-programs", "tile-too-large"),
            body="return layernorm(x, w, b, eps)"),
        Mutant("lost-digits",
            "{, mean, m2 = welford_combine(n, mean, m2, n_tile, mean_tile, m2_tile ->  += n_tile\n"
            "        mean += tl.sum(x, axis=0) / N\n"
            "        m2 += tl.sum(x * x, axis=0}",
            "rsqrt(m2 / N { -> - mean * mean }+", seen="property"),
        Mutant("padding-counted", "{tl.where(mask_n, x - mean_tile, 0.0) -> x - mean_tile}",
            says="Masked lanes are counted in the M2 of a tile: after the subtraction they hold minus the mean. Set "
                "them to 0 again."),
        Mutant("every-tile-full", "{tl.sum(mask_n.to(tl.float32), axis=0) -> BLOCK_N * 1.0}",
            says="Every tile counts as a full one. The last tile has fewer elements: count with its mask."),
        Mutant("count-of-the-row", "{tl.sum(mask_n.to(tl.float32), axis=0) -> N * 1.0}",
            says="Every tile counts as the whole row, N. Count its own elements."),
        Mutant("mean-over-tile", "axis=0) / {n_tile -> BLOCK_N}",
            says="The sum of a tile is divided by its lanes. Divide by the count of its elements."),
        Mutant("mean-over-row", "axis=0) / {n_tile -> N}",
            says="The sum of a tile is divided by N. Divide by the count of the tile."),
        Mutant("variance-for-m2", "centred, axis=0){ ->  / n_tile}",
            says="The variance of a tile is merged as its M2. M2 is a sum: nothing divides it."),
        Mutant("m2-of-x", "{centred * centred -> x * x}",
            says="The M2 of a tile sums squares of x, or of what lost its mean twice. They should be those of the "
                "distances from the mean."),
        Mutant("weight-rounded", "w_ptr + offs_n, mask=mask_n){.to(tl.float32) -> .to(x_ptr.dtype.element_ty).to(tl.float32)}"),
        Mutant("x-in-the-dtype-of-w",
            "x_row_ptr + offs_n * stride_xn, mask=mask_n){.to(tl.float32) -> .to(w_ptr.dtype.element_ty).to(tl.float32)}"),
        Mutant("result-in-the-dtype-of-w", "y = torch.empty(x.shape, dtype={x.dtype -> w.dtype}", seen="wrong-dtype"),
        Mutant("nan-in-the-weight-lost", "(x - mean) * rstd * {w -> tl.maximum(w, -1e30)} + b", seen="nan-lost"),
        Mutant("nan-in-the-bias-lost", "(x - mean) * rstd * w + {b -> tl.maximum(b, -1e30)}", seen="nan-lost"),
        Mutant("nan-in-a-tile-lost", "{ -> x = tl.maximum(x, -1e4)\n        }n_tile = tl.sum(mask_n.to(tl.float32), axis=0)\n        mean_tile = tl.sum(x, axis=0) / n_tile\n", seen="nan-lost"),
        Mutant("m2-summed",
            "{n, mean, m2 = welford_combine(n, mean, m2, n_tile, mean_tile, m2_tile) -> mean += n_tile * mean_tile "
            "/ N\n"
            "        n += n_tile\n"
            "        m2 += m2_tile}",
            says="means-summed"),
        Mutant("means-summed",
            "{n, mean, m2 = welford_combine(n, mean, m2, n_tile, mean_tile, m2_tile) -> mean += mean_tile\n"
            "        n += n_tile\n"
            "        m2 += m2_tile}"),
        Mutant("sides-mixed", "{mean, m2, n_tile, mean_tile -> n_tile, mean, mean_tile, m2}",
            seen=("wrong-values", "nan", "overflow")),
        Mutant("nothing-merged", "{n, mean, m2 =  -> }welford_combine",
            says="Mean and M2 are still 0 after the loop. Is what welford_combine returns kept?"),
        Mutant("last-tile-only",
            "{welford_combine(n, mean, m2, n_tile, mean_tile, m2_tile) -> n_tile, mean_tile, m2_tile}",
            says="Mean and variance are those of the last tile: what was there before is not merged."),
        Mutant("first-tile-again", " x_row_ptr + {offs_n -> tl.arange(0, BLOCK_N)} * stride_xn",
            says="Each round loads the first tile again. Its columns are `offs_n`.", seen="reads-outside"),
        Mutant("mean-of-the-last-tile", "y = (x - {mean -> mean_tile})",
            says="The second walk subtracts the mean of the last tile. Subtract that of the row.", seen="raised",
            on_gpu=("does-not-compile",)),
        Mutant("mask-of-the-first-tile", "{ -> mask_n = tl.arange(0, BLOCK_N) < N\n        }x_ptrs = x_row_ptr",
            seen="reads-outside"),
        Mutant("no-mask-at-the-load", "{, mask=mask_n, other=0.0 -> }", seen="reads-outside"),
        Mutant("other-forgotten", "mask_n{, other=0.0 -> }", seen="no-other", only="interpreter"),
        Mutant("masked-lanes-hold-one", "mask_n, other={0 -> 1}.", seen="wrong-values"),
        Mutant("column-stride-is-one", " x_row_ptr + offs_n{ * stride_xn -> }", seen=("strided-only", "reads-outside")),
        Mutant("row-stride-is-n", "x_ptrs = {x_row_ptr -> x_ptr + pid_m * N} ", seen=("strided-only", "reads-outside")),
        Mutant("row-added-twice", " x_row_ptr + { -> pid_m * stride_xm + }offs_n * ", says="row-added-twice",
            seen="reads-outside"),
        Mutant("row-added-twice-in-both", " x_row_ptr + { -> pid_m * stride_xm + }offs_n * ",
            "x_row_ptr + { -> pid_m * stride_xm + }offs_n *", says="row-added-twice", seen="reads-outside"),
        Mutant("sums-in-half", "0){.to(tl.float32) -> }",
            says="The sums or means of the tiles were rounded to half precision. Stay in float32 from the load on."),
        Mutant("squares-overflow", "0){.to(tl.float32) -> }",
            "{centred * centred, axis=0 -> (centred * centred).to(x_ptr.dtype.element_ty), axis=0).to(tl.float32}",
            seen=("overflow", "nan", "wrong-values")),
        Mutant("not-scaled", "mean) * {rstd *  -> }"),
        Mutant("tile-by-tile",
            "{y = (x - mean) * rstd -> mean_t = tl.sum(tl.where(mask_n, x, 0.0), axis=0) / "
            "tl.sum(mask_n.to(tl.float32), axis=0)\n"
            "        apart = tl.where(mask_n, x - mean_t, 0.0)\n"
            "        var_t = tl.sum(apart * apart, axis=0) / tl.sum(mask_n.to(tl.float32), axis=0)\n"
            "        y = (x - mean_t) * tl.rsqrt(var_t + eps)}",
            says="Each tile was normalised by its own mean and variance. The tiles of a row share theirs.",
            seen=("raised", "does-not-compile")),
        Mutant("no-weight", ") * rstd {* w  -> }+"),
        Mutant("no-bias", "* rstd * w{ + b -> }"),
        Mutant("bias-before-weight", "{x - mean) * rstd * w + b -> (x - mean) * rstd + b) * w}"),
        Mutant("bias-in-the-factor", "* rstd * {w + b -> (w + b)}"),
        Mutant("only-the-mean-scaled", "y = {(x - mean) -> x - mean}"),
        Mutant("count-to-the-end", "{tl.sum(mask_n.to(tl.float32), axis=0) -> (N - start) * 1.0}",
            says="Every tile counts the elements from its start to the end of the row. Count its own."),
        Mutant("centred-by-the-mean-so-far", "x - {mean_tile -> mean},",
            says="M2 sums distances from `mean`, that of the tiles before. Take them from the tile's own."),
        Mutant("mean-not-subtracted", "y = {(x - mean) -> x}"),
        Mutant("divided-by-m2", "- mean) {* rstd -> / m2}", seen=("wrong-values", "off-by-row")),
        Mutant("first-weights", "w_ptr + {offs_n -> tl.arange(0, BLOCK_N)}, mask",
            "b_ptr + {offs_n -> tl.arange(0, BLOCK_N)},",
            says="Every tile got the weights and biases of the first one. Load the tile's own."),
        Mutant("first-biases", "b_ptr + {offs_n -> tl.arange(0, BLOCK_N)}, mask",
            says="Every tile got the biases of the first one. Load the tile's own."),
        Mutant("no-mask-at-the-store", "y{, mask=mask_n -> }", seen=("out-of-bounds-store", "race")),
        Mutant("mask-of-the-first-tile-in-walk-two",
            "{offs_n -> tl.arange(0, BLOCK_N)} < N\n"
            "        x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n).to(tl.float32)",
            seen=("out-of-bounds-store", "reads-outside")),
        Mutant("column-stride-of-x-for-y", "offs_n * {stride_yn -> stride_xn},",
            seen=("strided-only", "out-of-bounds-store", "race")),
        Mutant("row-number-again-at-the-store", "y_row_ptr + { -> pid_m * stride_ym + }offs_n *",
            seen=("out-of-bounds-store", "unwritten", "unwritten-tail", "race")),
        _torch("layernorm_welford", "block"),
    ],
}

VARIANTS = {
    "layernorm": [
        Variant("four-warps", "{max(1, BLOCK_M * BLOCK_N // 1024) -> 4}"),
        Variant("sqrt-and-divide", "rstd = {tl.rsqrt -> 1.0 / tl.sqrt}"),
        Variant("wider-tile", "BLOCK_N = { -> 2 * }triton"),
        Variant("mask-by-product", "{tl.where(mask_n, x - mean, 0.0 -> (x - mean) * mask_n.to(tl.float32}"),
        Variant("mask-the-squares", "{tl.where(mask_n, x - mean, 0.0) -> x - mean}",
            "{centred * centred -> tl.where(mask_n, centred * centred, 0.0)}"),
        Variant("cast-before-the-store", "store(y_ptrs, y{ -> .to(y_ptr.dtype.element_ty)}, "),
        Variant("hint-to-the-cache", 'mask_n, other=0.0{ -> , eviction_policy="evict_last"}).'),
    ],
    "welford_combine": [
        Variant("product-before-the-division", " {n_a * share_b -> (n_a * n_b) / tl.maximum(n, 1.0)}"),
        Variant("where-before-the-division", "{maximum(n, 1.0 -> where(n == 0, 1.0, n}"),
        Variant("where-after-the-division", "{n_b / tl.maximum(n, 1 -> tl.where(n > 0, n_b / n, 0}"),
        Variant("weighted-mean", "{mean_a + delta * share_b -> (n_a * mean_a + n_b * mean_b) / tl.maximum(n, 1.0)}"),
        Variant("maximum-with-a-small-number", "maximum(n, {1.0 -> 1e-6}"),
        Variant("from-the-other-side",
            "{mean_a + delta * share_b -> tl.where(n_b > 0, mean_b - delta * (1.0 - share_b), mean_a)}"),
    ],
    "layernorm_welford": [
        Variant("a-part-in-each-lane",
            "{, mean, m2 = 0.0, 0.0, 0.0 ->  = tl.zeros([BLOCK_N], dtype=tl.float32)\n"
            "    mean = tl.zeros([BLOCK_N], dtype=tl.float32)\n"
            "    m2 = tl.zeros([BLOCK_N], dtype=tl.float32)}",
            "{n_tile = tl.sum(mask_n.to(tl.float32), axis=0) … n, mean, m2 = welford_combine(n, mean, m2, n_tile, "
            "mean_tile, m2_tile) -> n, mean, m2 = welford_combine(n, mean, m2, mask_n.to(tl.float32), x, 0.0)}",
            "{rstd = tl.rsqrt(m2 / N -> n, mean, m2 = tl.reduce((n, mean, m2), 0, welford_combine)\n"
            "    rstd = tl.rsqrt(m2 / n}"),
        Variant("count-by-arithmetic", "{sum(mask_n.to(tl.float32), axis=0) -> minimum(N - start, BLOCK_N) * 1.0}"),
        Variant("four-warps", "{warps_for(BLOCK_N) -> 4}"),
        Variant("divided-by-the-count", ".rsqrt(m2 / {N -> n} "),
        Variant("where-for-the-count", "{mask_n.to(tl.float32 -> tl.where(mask_n, 1.0, 0.0}"),
        Variant("tile-first", "{n, mean, m2, n_tile, mean_tile, m2_tile -> n_tile, mean_tile, m2_tile, n, mean, m2}"),
        Variant("two-walks-for-the-statistics",
            "{rstd = tl.rsqrt(m2 -> squares = tl.zeros([BLOCK_N], dtype=tl.float32)\n"
            "    for start in range(0, N, BLOCK_N):\n"
            "        offs_n = start + tl.arange(0, BLOCK_N)\n"
            "        x = tl.load(x_row_ptr + offs_n * stride_xn, mask=offs_n < N, other=0.0)\n"
            "        apart = tl.where(offs_n < N, x.to(tl.float32) - mean, 0.0)\n"
            "        squares += apart * apart\n"
            "    rstd = tl.rsqrt(tl.sum(squares, axis=0)}"),
    ],
}

ONE_AXIS = "a tile of one dimension has one axis"
FLOAT32 = "float32 all the same: the other operand is"
LAST_STRIDE = "the wrapper makes a contiguous result: its last stride is 1"
EQUIVALENT = {
    "welford_combine": {
        "combine_kernel[(1,)](a, b, out, P, BLOCK_P=BLOCK_P) => combine_kernel[(1,)](b, a, out, P, BLOCK_P=BLOCK_P)": "merging is commutative",
    },
    "layernorm_welford": {
        "n_tile = tl.sum(mask_n.to(tl.float32), axis=0) => n_tile = tl.sum(mask_n.to(tl.float32))": ONE_AXIS,
        "m2_tile = tl.sum(centred * centred, axis=0) => m2_tile = tl.sum(centred * centred)": ONE_AXIS,
        "mean_tile = tl.sum(x, axis=0) / n_tile => mean_tile = tl.sum(x) / n_tile": ONE_AXIS,
        "n_tile = tl.sum(mask_n.to(tl.float32), axis=0) => n_tile = tl.sum(mask_n, axis=0)": "tl.sum counts true lanes in int32, and what is computed with it is float32",
        "x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n).to(tl.float32) => x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n)": FLOAT32,
        "w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n)": FLOAT32,
        "b = tl.load(b_ptr + offs_n, mask=mask_n).to(tl.float32) => b = tl.load(b_ptr + offs_n, mask=mask_n)": FLOAT32,
        "tl.store(y_row_ptr + offs_n * stride_yn, y, mask=mask_n) => tl.store(y_row_ptr + offs_n, y, mask=mask_n)": LAST_STRIDE,
    },
}
