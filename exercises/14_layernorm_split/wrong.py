"""Mistakes of 14_layernorm_split with what is said of each, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "root-for-its-inverse unbiased weight-for-bias weight-rounded x-in-the-dtype-of-w"
PROMISES = ("means-summed", "merge-not-launched", "averages", "predict")

# Sentences that several mistakes share.
SAYS = {
    "means-summed":
        "The pieces were merged by plain sums or averages. Pieces with different means, or different counts, "
        "need welford_combine: tl.reduce.",
    "count-of-a-piece":
        "Every piece counts piece_size elements. The last ones may have fewer: count with a mask that knows both ends, "
        "of the piece and of the row.",
    "nothing-but-nan":
        "Every result is NaN. Until the merge has stored a row's mean and one over its root, both are NaN: does it "
        "store the two, each at pid_m, and before the third kernel starts?",
    "statistics-swapped": "Mean and one over the root have changed places, at a store or in a launch.",
}

MUTANTS = {
    "piece_stats": [
        Mutant("nan-in-a-mean-lost", "tl.store(mean_ptr + place, {mean -> tl.maximum(mean, -1e30)})", seen="nan-lost"),
        Mutant("nan-in-m2-lost",
            "{tl.sum(centred * centred, axis=0) -> tl.maximum(tl.sum(centred * centred, axis=0), 0.0)}", seen="nan-lost"),
        Mutant("count-below-none",
            "{sum(mask_n.to(tl.float32), axis=0 -> minimum(piece_size, N - pid_s * piece_size).to(tl.float32}",
            says="An empty piece that begins past the row's end counts fewer than 0 elements. Count with the mask."),
        Mutant("past-the-row-counted", ".where({mask_n -> offs < piece_size},",
            says="Lanes past the end of the row are counted in M2: after the subtraction they hold minus the mean. Set "
                "all masked lanes to 0 again."),
        Mutant("zeros-not-counted", "tl.sum({mask_n -> (x != 0)}.",
            says="Elements that are 0 are not counted. Count the mask, not the values."),
        Mutant("count-and-mean-swapped", "n_ptr + place, {n -> mean})", "mean_ptr + place, {mean -> n})",
            says="Count and mean have changed places."),
        Mutant("padding-counted", "{tl.where(mask_n, x - mean, 0.0) -> x - mean}",
            says="Masked lanes are counted in M2: after the subtraction they hold minus the mean. Set them to 0 again."),
        Mutant("counts-a-whole-piece", "{tl.sum(mask_n.to(tl.float32), axis=0) -> piece_size * 1.0}",
            " tl.maximum({n -> tl.sum(mask_n.to(tl.float32), axis=0)},", says="count-of-a-piece"),
        Mutant("piece-size-for-the-count", "{tl.sum(mask_n.to(tl.float32), axis=0) -> piece_size * 1.0}",
            says="count-of-a-piece", seen="mean-over-piece"),
        Mutant("count-of-the-tile", "{tl.sum(mask_n.to(tl.float32), axis=0) -> BLOCK_N * 1.0}",
            says="Every piece counts the lanes of its tile. Count with the mask.", seen="count-of-a-piece"),
        Mutant("mean-over-piece", "{tl.maximum(n, 1.0) -> piece_size}",
            says="The sum is divided by piece_size. A short piece has fewer elements: divide by its count."),
        Mutant("mean-over-tile", "{tl.maximum(n, 1.0) -> BLOCK_N}",
            says="The sum is divided by the lanes of the tile. Divide by the count of the piece.",
            seen="mean-over-piece"),
        Mutant("mean-over-row", "{tl.maximum(n, 1.0) -> N}",
            says="The sum is divided by N, the elements of the row. Divide by the count of the piece."),
        Mutant("empty-piece", "{tl.maximum(n, 1.0) -> n}",
            says="Right but for empty pieces: their mean is 0 / 0. Divide by something that is not 0."),
        Mutant("divided-by-n-plus-one", " {tl.maximum(n, -> (n +}", seen=("wrong-values", "constant-factor")),
        Mutant("sum-for-mean", "+ place, {mean -> tl.sum(x, axis=0)})",
            says="The sum of the piece is stored. Its mean is asked for."),
        Mutant("variance-for-m2", "centred, axis=0){ ->  / tl.maximum(n, 1.0)})",
            says="The variance is stored. M2 is the sum of the squares: nothing divides it."),
        Mutant("root-for-m2",
            "{sum(centred * centred, axis=0 -> sqrt(tl.sum(centred * centred, axis=0) / tl.maximum(n, 1.0)}",
            says="The standard deviation is stored. M2 is the plain sum of the squares."),
        Mutant("squares-of-x", "{centred * centred -> x * x}",
            says="M2 sums the squares of x. It should be those of the distances from the mean."),
        Mutant("lost-digits", "{centred * centred, axis=0) -> x * x, axis=0) - n * mean * mean}", seen="property"),
        Mutant("mean-and-m2-swapped", "tl.store({m2_ptr -> mean_ptr }", "store({mean_ptr -> m2_ptr} +",
            says="Mean and M2 have changed places."),
        Mutant("all-pieces-in-one-place", " + {place -> pid_m}, mean", seen=("race", "unwritten", "unwritten-tail")),
        Mutant("m2-never-stored", "{    tl.store(m2_ptr + place, tl.sum(centred * centred, axis=0))\n -> }",
            seen=("unwritten", "unwritten-tail")),
        Mutant("other-order", "{pid_m * num_splits + pid_s -> pid}",
            says="The numbers are right, but not in their places: place is pid_m * num_splits + pid_s."),
        Mutant("row-stride-is-n", "pid_m * {stride_xm -> N} ", seen=("strided-only", "reads-outside")),
        Mutant("column-stride-is-one", "offs_n{ * stride_xn -> }", seen=("strided-only", "reads-outside")),
        Mutant("first-piece-again", "stride_xm + {offs_n -> offs} ",
            says="Every program took the elements of the row's first piece. offs_n knows the piece."),
        Mutant("program-for-the-row", "x_ptr + {pid_m -> pid} ", seen=("reads-outside", "wrong-values", "nan")),
        Mutant("no-mask-at-the-load", "{, mask=mask_n, other=0.0 -> }", seen="reads-outside"),
        Mutant("other-forgotten", "mask_n{, other=0.0 -> }", seen="no-other", only="interpreter"),
        Mutant("into-the-next-piece", "{ -> mask_n = offs_n < N\n    }x = tl.load(x_ptrs",
            says="Pieces overlap: a tile is wider than a piece, and its mask lets the next piece in.",
            seen="reads-outside"),
        Mutant("mask-of-the-piece-alone", "{ -> mask_n = offs < piece_size\n    }x = tl.load(x_ptrs",
            seen=("reads-outside", "count-of-a-piece")),
        Mutant("in-half", "){.to(tl.float32) -> }",
            "{centred * centred -> (centred * centred).to(x_ptr.dtype.element_ty)}",
            seen=("overflow", "nan", "wrong-values")),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="x = x.reshape(-1, x.shape[-1])\n"
                "cut = torch.nn.functional.pad(x, (0, num_splits * pieces(x.shape[1], num_splits)[0] - "
                "x.shape[1])).unflatten(1, (num_splits, -1))\n"
                "n = torch.ones_like(cut).sum(-1)\n"
                "return n, cut.mean(-1), cut.var(-1) * n"),
    ],
    "layernorm_split": [
        Mutant("nan-in-a-piece-lost", "row_mean_ptr + pid_m, {mean -> tl.maximum(mean, -1e30)})",
            "{m2 / n -> tl.maximum(m2 / n, 0.0)} + eps", seen="nan-lost"),
        Mutant("weight-rounded", "w_ptr + offs_n, mask=mask_n, other=0.0){.to( -> .to(x_ptr.dtype.element_ty).to(}tl.float32)"),
        Mutant("x-in-the-dtype-of-w", "x_ptrs, mask=mask_n, other=0.0){.to( -> .to(w_ptr.dtype.element_ty).to(}tl.float32)"),
        Mutant("result-in-the-dtype-of-w", "y = torch.empty(x.shape, dtype={x.dtype -> w.dtype}", seen="wrong-dtype"),
        Mutant("first-pieces-only", "BLOCK_S={BLOCK_S -> BLOCK_N}",
            says="Only the first pieces of a row are merged: there are more pieces than lanes. The merge has a lane "
                "for each piece, `BLOCK_S` of them."),
        Mutant("x-for-x-rows", "{x_rows -> x}, w, b, ",
            says="The third kernel walks through x with the strides of x_rows. Where x is not contiguous, x_rows is a "
                "copy in another order: pass x_rows itself."),
        Mutant("rstd-not-stored", "{    tl.store(row_rstd_ptr + pid_m, tl.rsqrt(m2 / n + eps))\n -> }",
            says="nothing-but-nan", seen="reads-unwritten"),
        Mutant("m2-summed",
            "{n, mean, m2 = tl.reduce((n, mean, m2), 0, welford_combine -> m2 = tl.sum(m2, axis=0)\n"
            "    mean = tl.sum(n * mean, axis=0) / tl.sum(n, axis=0)\n"
            "    n = tl.sum(n, axis=0}",
            says="means-summed"),
        Mutant("averages",
            "{reduce((n, mean, m2), 0, welford_combine -> sum(n, axis=0), tl.sum(mean, axis=0) / num_splits, "
            "tl.sum(m2, axis=0}",
            says="means-summed"),
        Mutant("means-summed",
            "{reduce((n, mean, m2), 0, welford_combine -> sum(n, axis=0), tl.sum(mean, axis=0), tl.sum(m2, axis=0}"),
        Mutant("mean-of-means", "{ -> average = tl.sum(mean, axis=0) / num_splits\n    }n, mean, m2 = tl",
            "+ pid_m, {mean -> average})",
            says="The pieces' means are averaged. A piece of 1 element does not weigh as much as a full one."),
        Mutant("idle-lanes-count", "(n_ptr + places, mask=mask_s, other={0 -> 1}.0)",
            says="Lanes of the merge that have no piece count as one element. Their count is 0."),
        Mutant("counts-without-mask", "(n_ptr + places{, mask=mask_s, other=0.0 -> })",
            seen=("reads-outside", "nan", "wrong-values")),
        Mutant("other-forgotten", "(n_ptr + places, mask=mask_s{, other=0.0 -> })", seen="no-other", only="interpreter"),
        Mutant("first-rows-statistics", "(n_ptr + {places -> offs_s}, mask=", "mean_ptr + {places -> offs_s}, mask",
            "m2_ptr + {places -> offs_s},", says="Every row was normalised with the statistics of the first one."),
        Mutant("places-by-the-tile", "mean_ptr + {places -> pid_m * BLOCK_S + offs_s}, mask",
            seen=("reads-outside", "nan", "rows-after-first")),
        Mutant("m2-over-pieces", ".rsqrt(m2 / {n -> num_splits} ",
            says="M2 is divided by the number of pieces. The variance is M2 divided by the count."),
        Mutant("unbiased", ".rsqrt(m2 / {n -> (n - 1)} "),
        Mutant("fixed-eps", "(m2 / n + {eps -> 1e-5})", says="`eps` is always 1e-5 here, whatever the caller passes."),
        Mutant("buffers-swapped", "n, {mean, m2 -> m2, mean}, row_mean",
            says="Mean and M2 of the pieces have changed places, at a load or in a launch."),
        Mutant("no-eps", "rsqrt(m2 / n{ + eps -> }",
            says="`eps` makes no difference: it is missing, or it is added outside the root."),
        Mutant("eps-outside-root", "{tl.rsqrt(m2 / n -> 1.0 / (tl.sqrt(m2 / n)}",
            says="`eps` is added outside the root. It belongs inside: tiny numbers tell the difference."),
        Mutant("sum-not-mean", ".rsqrt(m2 {/ n  -> }", says="The squares are summed, but not divided by N."),
        Mutant("root-for-its-inverse", "pid_m, tl.{rsqrt -> sqrt}"),
        Mutant("variance-for-rstd", "{tl.rsqrt(m2 / n + eps) -> m2 / n + eps}",
            says="The row is multiplied by its variance. Store one over the root: `tl.rsqrt`."),
        Mutant("statistics-swapped", "store({row_mean_ptr -> row_rstd_ptr} ",
            "tl.store({row_rstd_ptr -> row_mean_ptr} + pid_m, tl", says="statistics-swapped"),
        Mutant("weight-for-bias", "x_rows, {w, b -> b, w}, "),
        Mutant("statistics-of-the-row-in-one-place", "row_mean_ptr{ + pid_m -> },",
            seen=("race", "first-rows-statistics", "nan", "wrong-values")),
        Mutant("first-row-merged", "layernorm_merge_kernel[({M -> 1},",
            says="Only the first row has its statistics, the others are NaN. One program merges one row: how many "
                "programs does the merge need?",
            seen="reads-unwritten"),
        Mutant("a-merge-program-for-each-piece", "layernorm_merge_kernel[(M{ ->  * num_splits},",
            seen=("out-of-bounds-store", "reads-outside")),
        Mutant("a-program-a-row-at-the-end", "M{ * num_splits -> }",
            seen=("unwritten-tail", "unwritten", "wrong-launch-count")),
        Mutant("merge-not-launched", "{    layernorm_merge_kernel[(M,)]( … )\n -> }    layernorm_scale_kernel",
            seen=("nan", "reads-outside", "wrong-launch-count")),
        Mutant("scale-not-launched", "{    layernorm_scale_kernel[(M * num_splits,)]( … )\n -> }    return",
            seen=("unwritten", "wrong-launch-count", "not-attempted")),
        Mutant("launched-in-the-wrong-order",
            "{layernorm_merge_kernel[(M,)]( … ) -> layernorm_scale_kernel[(M * num_splits,)](\n"
            "        x_rows, w, b, row_mean, row_rstd, y_rows, M, N, piece_size,\n"
            "        *x_rows.stride(), *y_rows.stride(),\n"
            "        BLOCK_N=BLOCK_N, num_warps=warps_for(BLOCK_N),\n"
            "    )\n"
            "    layernorm_merge_kernel[(M,)](\n"
            "        n, mean, m2, row_mean, row_rstd, num_splits, eps, BLOCK_S=BLOCK_S, num_warps=4\n"
            "    )}\n"
            "    return y", says="nothing-but-nan", seen=("reads-unwritten", "reads-outside", "overflow")),
        Mutant("n-and-piece-size-swapped", ", M, {N, piece_size -> piece_size, N},",
            seen=("unwritten", "unwritten-tail", "race", "out-of-bounds-store", "reads-outside")),
        Mutant("strides-of-x-for-y", "stride(), *{y_rows -> x_rows}",
            seen=("strided-only", "out-of-bounds-store", "race")),
        Mutant("rows-returned", "return {y -> y_rows}", seen="wrong-shape"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="return torch.nn.functional.layer_norm(x, w.shape, w, b, eps)"),
    ],
}

VARIANTS = {
    "piece_stats": [
        Variant("count-by-arithmetic",
            "{sum(mask_n.to(tl.float32), axis=0) -> minimum(tl.maximum(N - pid_s * piece_size, 0), piece_size) * 1.0}"),
        Variant("where-for-the-divisor", "{maximum(n, 1.0 -> where(n == 0, 1.0, n}"),
        Variant("where-after-the-division",
            "{sum(x, axis=0) / tl.maximum(n, 1 -> where(n > 0, tl.sum(x, axis=0) / n, 0}"),
        Variant("mask-by-product", "{tl.where(mask_n, x - mean, 0.0 -> (x - mean) * mask_n.to(tl.float32}"),
        Variant("one-warp", "{warps_for(BLOCK_N) -> 1}"),
        Variant("zeroed-buffers", " = torch.{empty -> zeros}"),
    ],
    "layernorm_split": [
        Variant("weighted-sums",
            "{n, mean, m2 = tl.reduce((n, mean, m2), 0, welford_combine) -> total = tl.sum(n, axis=0)\n"
            "    common = tl.sum(n * mean, axis=0) / total\n"
            "    m2 = tl.sum(m2 + n * (mean - common) * (mean - common), axis=0)\n"
            "    n, mean = total, common}"),
        Variant("divided-by-all-counts",
            ".rsqrt(m2 / {n -> tl.sum(tl.load(n_ptr + places, mask=mask_s, other=0.0), axis=0)} "),
        Variant("sqrt-and-divide", "pid_m, {tl.rsqrt -> 1.0 / tl.sqrt}"),
        Variant("one-warp-merges", "BLOCK_S, num_warps={4 -> 1}"),
        Variant("a-wider-tile-of-pieces", "BLOCK_S = { -> 2 * }triton"),
        Variant("stats-by-another-name", "{n, mean, m2 = piece_stats(x_rows -> found = piece_stats(x}",
            "{n, mean, m2 -> *found}, row_mean"),
    ],
}

ONE_AXIS = "a tile of one dimension has one axis"
EQUIVALENT = {
    "piece_stats": {
        "n = tl.sum(mask_n.to(tl.float32), axis=0) => n = tl.sum(mask_n.to(tl.float32))": ONE_AXIS,
        "n = tl.sum(mask_n.to(tl.float32), axis=0) => n = tl.sum(mask_n, axis=0)": "tl.sum counts true lanes in int32, and the division and the store make float32 of it",
        "mean = tl.sum(x, axis=0) / tl.maximum(n, 1.0) => mean = tl.sum(x) / tl.maximum(n, 1.0)": ONE_AXIS,
        "tl.store(m2_ptr + place, tl.sum(centred * centred, axis=0)) => tl.store(m2_ptr + place, tl.sum(centred * centred))": ONE_AXIS,
    },
    "layernorm_split": {
        "mean = tl.load(mean_ptr + places, mask=mask_s, other=0.0) => mean = tl.load(mean_ptr + places, mask=mask_s, other=1.0)": "the mean of a part without elements has a share of 0",
    },
}
