"""Mistakes of 66_rope_records with what is said of each, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "no-offset not-turned"
PROMISES = ("nothing-taken-apart", "loads-of-q-after-its-stores", "one-token-a-program")

LOAD_COS = "cos = tl.load(cos_ptrs, mask=mask_p).to(tl.float32)"
LOAD_SIN = "sin = tl.load(sin_ptrs, mask=mask_p).to(tl.float32)"
LOAD_Q = "q_a, q_b = load_pairs(q_ptr, q_rows, mask_q, stride_qd, HALF, INTERLEAVED, BLOCK_P)"
LOAD_K = "k_a, k_b = load_pairs(k_ptr, k_rows, mask_k, stride_kd, HALF, INTERLEAVED, BLOCK_P)"
STORE_Q = """store_pairs(
        q_out_ptr, o_rows, mask_q, q_a, q_b, stride_od, HALF, INTERLEAVED, BLOCK_P
    )"""
STORE_K = """store_pairs(
        k_out_ptr, p_rows, mask_k, k_a, k_b, stride_pd, HALF, INTERLEAVED, BLOCK_P
    )"""
BLOCK_T = "BLOCK_T = max(1, pairs // (BLOCK_H * BLOCK_P))"
OUTSIDE = ("out-of-bounds-store", "reads-outside", "race")

# Sentences that several mistakes share.
SAYS = {
    "as-it-was":
        "The rows come out as they went in: neighbours were not parted, or joined again. `tl.split` of (BLOCK_M, "
        "BLOCK_P, 2) gives `first` for the left half, `second` for the right one.",
    "halves-loaded":
        "Interleaved, the halves of a head are loaded as partners. `tl.split` takes the last dimension apart: there "
        "the two neighbours have to stand, (..., BLOCK_P, 2).",
    "partners-swapped": "The partners have changed places: of the two columns the first partner has the lower one.",
    "halves-stored":
        "Interleaved, the results are stored as two halves. `tl.join` puts two partners side by side, and `tl.reshape` "
        "leaves them there.",
    "the-other": "It holds the heads of the other tensor, turned: q stands where k belongs, or k where q does.",
}

MUTANTS = {
    "to_halves": [
        Mutant("zero-added", "tl.store(y_ptrs, first{ ->  + 0.0}, mask", seen="other-bits"),
        Mutant("nothing-taken-apart", "{first, second … second -> tl.store(y_ptr + offs_m * 2 * HALF + offs_d, x}",
            says="as-it-was"),
        Mutant("reshaped-to-two-halves", "BLOCK_M, {BLOCK_P, 2 -> 2, BLOCK_P}", seen=("raised", "does-not-compile")),
        Mutant("halves-for-neighbours",
            "{reshape(x, (BLOCK_M, BLOCK_P, 2) -> trans(tl.reshape(x, (BLOCK_M, 2, BLOCK_P)), 0, 2, 1}",
            says="as-it-was"),
        Mutant("split-without-reshape", "{tl.reshape(x, (BLOCK_M, BLOCK_P, 2)) -> x}",
            seen=("raised", "does-not-compile")),
        Mutant("neighbours-exchanged",
            "{y_ptrs = y_ptr … HALF, second -> y = tl.reshape(tl.join(second, first), (BLOCK_M, 2 * BLOCK_P))\n"
            "    tl.store(y_ptr + offs_m * 2 * HALF + offs_d, y}",
            says="Neighbours are exchanged, and stay neighbours: that is `exchange_kernel`."),
        Mutant("halves-exchanged", "{first, second -> second, first} ",
            says="The halves have changed places: the even columns, `first`, belong on the left."),
        Mutant("first-twice", " HALF, {second -> first},",
            says="Both halves hold the even columns: `second` belongs on the right."),
        Mutant("second-twice", "y_ptrs, {first -> second},",
            says="Both halves hold the odd columns: `first` belongs on the left."),
        Mutant("second-over-first", "(y_ptrs{ + HALF -> }",
            says="The odd columns lie on the left, where the even ones belong, and the right half was never written: "
                "`second` belongs HALF columns further on."),
        Mutant("second-unwritten", "{    tl.store(y_ptrs + HALF, second, mask=mask)\n -> }",
            says="The right half was never written: `second`, the odd columns, belongs there."),
        Mutant("first-unwritten", "{    tl.store(y_ptrs, first, mask=mask)\n -> }",
            says="The left half was never written: `first`, the even columns, belongs there."),
        Mutant("second-half-behind-the-tile", "y_ptrs + {HALF -> BLOCK_P},", seen=("out-of-bounds-store", "race")),
        Mutant("second-half-one-further", "y_ptrs + HALF{ ->  + 1}, ", seen=("out-of-bounds-store", "race")),
        Mutant("half-a-row-apart", "offs_m * {2 *  -> }HALF",
            says="The rows of y stand HALF elements apart, each over the end of the one before it. A row of y has 2 * "
                "HALF.",
            seen="race", on_gpu=("wrong-values", "unwritten-tail", "unwritten")),
        Mutant("rows-as-far-as-the-tile", "offs_m * 2 * {HALF -> BLOCK_P} ", seen=("out-of-bounds-store", "unwritten")),
        Mutant("rows-by-the-stride-of-x", "offs_m * {2 * HALF -> stride_xm} ",
            seen=("out-of-bounds-store", "strided-only", "race")),
        Mutant("load-without-mask", "stride_xd{, mask=mask -> }", seen="reads-outside"),
        Mutant("load-without-columns-in-its-mask", "offs_d {< 2 * HALF -> >= 0}", seen="reads-outside"),
        Mutant("stores-without-mask", "first{, mask=mask -> }", "second{, mask=mask -> }",
            seen=("out-of-bounds-store", "race")),
        Mutant("rows-past-the-end-stored", " = (offs_m {< M -> >= 0}) & (offs_p", seen="out-of-bounds-store"),
        Mutant("columns-past-the-half-stored", "(offs_p {< HALF -> >= 0}", seen=("out-of-bounds-store", "race")),
        Mutant("mask-of-the-tile", "{    mask = (offs_m < M) & (offs_p < HALF)\n -> }",
            seen=("raised", "does-not-compile")),
        Mutant("half-loaded", "offs_d < {2 *  -> }HALF",
            says="Only the first HALF columns of x take part. A row has 2 * HALF of them: that is the mask of the "
                "load."),
        Mutant("column-stride-is-one", "offs_d{ * stride_xd -> }", seen=("strided-only", "reads-outside")),
        Mutant("row-stride-is-the-width", "offs_m * {stride_xm -> 2 * HALF} ", seen=("strided-only", "reads-outside")),
        Mutant("every-second-of-the-tile", "stride_xm + { -> 2 * }offs_d", seen="reads-outside"),
        Mutant("row-0-for-all", "x_ptr + { -> 0 * }offs_m *", seen=("rows-after-first", "rows-moved")),
        Mutant("row-added", "offs_m {* -> +} stride_xm",
            says="The number of the row is added to `stride_xm`. Multiply it."),
        Mutant("odd-columns-accepted",
            ('    if D % 2 == 1:\n        raise ValueError(f"{D} columns do not make pairs")\n', ""),
            seen="should-raise"),
        Mutant("rows-rounded-down", "{triton.cdiv(M, BLOCK_M) -> M // BLOCK_M}", seen=("unwritten", "unwritten-tail")),
        Mutant("torch-stand-in", "{y = torch … return y -> return torch.cat((x[:, 0::2], x[:, 1::2]), dim=1)}",
            seen=("no-kernel-launched", "torch-compute")),
        Mutant("columns-two-apart",
            "{(offs_d < 2 * HALF) … tl.store(y_ptrs + HALF, second, mask=mask) -> (offs_p < HALF)\n"
            "    x_ptrs = x_ptr + offs_m * stride_xm + 2 * offs_p * stride_xd\n"
            "    y_ptrs = y_ptr + offs_m * 2 * HALF + offs_p\n"
            "    tl.store(y_ptrs, tl.load(x_ptrs, mask=mask), mask=mask)\n"
            "    tl.store(y_ptrs + HALF, tl.load(x_ptrs + stride_xd, mask=mask), mask=mask)}", seen="property",
            only="interpreter"),
        Mutant("whole-rows-to-places-of-their-own",
            "{first, second … HALF, second, mask=mask) -> places = offs_d // 2 + offs_d % 2 * HALF\n"
            "    tl.store(y_ptr + offs_m * 2 * HALF + places, x, mask=mask)}", seen="property", only="interpreter"),
        Mutant("left-half-past-its-end", "first, mask={mask -> offs_m + 0 * offs_p < M})", seen=("property", "no-barrier"),
            only="interpreter"),
    ],
    "rope_record": [
        # --- load_pairs
        Mutant("reshaped-to-two-halves", "1], {BLOCK_P, 2 -> 2, BLOCK_P}", seen=("raised", "does-not-compile")),
        Mutant("halves-for-neighbours",
            "{reshape(x, (x.shape[0], x.shape[1], BLOCK_P -> permute(tl.reshape(x, (x.shape[0], x.shape[1], 2, "
            "BLOCK_P)), (0, 1, 3}",
            says="halves-loaded"),
        Mutant("interleaved-partners-swapped", "{first, second -> second, first} ",
            says="Interleaved, the partners are loaded in the wrong order: `tl.split` gives the even columns first."),
        Mutant("half-loaded", "mask = mask_rows & (offs_d < {2 *  -> }HALF)\n        x",
            says="Interleaved, only the first HALF columns of a head are loaded. A head has 2 * HALF."),
        Mutant("mask-of-pairs-for-heads",
            "if INTERLEAVED:\n        mask = mask_rows & ({offs_d < 2 * -> offs_p <} HALF)\n        x",
            seen=("raised", "does-not-compile")),
        Mutant("heads-without-mask", "offs_d * stride_xd{, mask=mask -> })", seen="reads-outside"),
        Mutant("heads-past-the-end-loaded", "mask = {mask_rows &  -> }(offs_d < 2 * HALF)\n        x",
            "offs_d * stride_xd, mask=mask{ ->  & (mask_rows | True)})", seen="reads-outside"),
        Mutant("halves-without-mask", "offs_p * stride_xd{, mask=mask -> })", ") * stride_xd{, mask=mask -> })",
            seen="reads-outside"),
        Mutant("pairs-past-the-head-loaded",
            "else:\n        mask = mask_rows & (offs_p < {HALF -> BLOCK_P})\n        first", seen="reads-outside"),
        Mutant("second-half-behind-the-tile", "(offs_p + {HALF -> BLOCK_P}) * stride_xd", seen="reads-outside"),
        Mutant("loads-without-column-stride", "offs_p{ * stride_xd -> }",
            "{(offs_p + HALF) * stride_xd -> offs_p + HALF}", seen=("strided-only", "reads-outside")),
        Mutant("heads-without-column-stride", "offs_d{ * stride_xd -> }", seen=("strided-only", "reads-outside")),
        Mutant("a-one-further", "offs_p {* -> +} stride_xd",
            says="The first partner was loaded one column further on. Multiply the number of the pair by the stride, "
                "and add nothing."),
        Mutant("stride-times-the-pair-alone", "{(offs_p + HALF) * stride_xd -> offs_p * stride_xd + HALF}",
            seen=("strided-only", "reads-outside")),
        Mutant("first-for-both", " + (offs_p{ + HALF -> }) * stride_xd",
            says="Both partners are the first one: the second one is never used."),
        Mutant("halves-the-wrong-way-round", "{first -> second} = tl.load",
            "{second -> first} = tl.load(x_ptr + rows + (", says="partners-swapped"),
        Mutant("always-half-split-loads",
            "if {INTERLEAVED -> False}:\n        mask = mask_rows & (offs_d < 2 * HALF)\n        x",
            says="halves-loaded"),
        Mutant("neighbours-loaded",
            "if {INTERLEAVED -> True}:\n        mask = mask_rows & (offs_d < 2 * HALF)\n        x",
            says="Half-split, neighbours are loaded as partners: that is the interleaved form."),
        Mutant("head-from-one-column-0", "{offs_d * stride_xd -> 0 * offs_d}",
            says="Interleaved, all columns of a head are the same number: its address lacks `offs_d`."),
        Mutant("a-from-one-column-0", "{offs_p * stride_xd -> 0 * offs_p}",
            says="The first partner is the same number for all pairs of a head: its address lacks the columns."),
        # --- store_pairs
        Mutant("interleaved-results-swapped", "join({first, second -> second, first})",
            says="Interleaved, the two results have changed places: `tl.join` takes the even columns first."),
        Mutant("first-result-twice", "join(first, {second -> first})",
            says="Both partners become first cos - second sin. The second one becomes second cos + first sin."),
        Mutant("joined-as-halves", "{join(first, second -> permute(tl.join(first, second), (0, 1, 3, 2)}",
            says="halves-stored"),
        Mutant("join-and-no-reshape", "{pairs = tl … BLOCK_P) -> y = tl.join(first, second}",
            seen=("raised", "does-not-compile")),
        Mutant("half-stored", "mask = mask_rows & (offs_d < {2 *  -> }HALF)\n        pairs",
            says="Interleaved, only the first HALF columns of a head were written. A head has 2 * HALF."),
        Mutant("heads-stored-without-mask", ", y{, mask=mask -> }", seen=OUTSIDE),
        Mutant("heads-past-their-end-stored",
            "if INTERLEAVED:\n        mask = mask_rows & (offs_d {< 2 * HALF -> >= 0})\n        pairs", seen=OUTSIDE),
        Mutant("halves-stored-without-mask", "first{, mask=mask -> }", "second{, mask=mask -> }", seen=OUTSIDE),
        Mutant("rows-past-the-end-stored",
            "mask = {mask_rows & (offs_p < HALF -> (offs_p < HALF) & (first == first})\n        tl", seen=OUTSIDE),
        Mutant("second-result-behind-the-tile", "(offs_p + {HALF -> BLOCK_P}) * stride_yd", seen=OUTSIDE),
        Mutant("second-into-first", " + (offs_p{ + HALF -> }) * stride_yd",
            says="Both results are stored into the columns of the first partners, the second one over the first."),
        Mutant("second-unwritten",
            "{        tl.store(y_ptr + rows + (offs_p + HALF) * stride_yd, second, mask=mask)\n -> }",
            says="The columns of the second partners were never written: second cos + first sin belongs there."),
        Mutant("results-swapped", "stride_yd, {first -> second}, ", ") * stride_yd, {second -> first}, mask=mask)",
            says="The two results have changed places: first cos - second sin belongs into the columns of the first "
                "partners."),
        Mutant("stores-without-column-stride", "offs_p{ * stride_yd -> }", "HALF){ * stride_yd -> }",
            seen=("strided-only", "out-of-bounds-store", "reads-outside", "race", "unwritten")),
        Mutant("heads-stored-without-column-stride", "offs_d{ * stride_yd -> }",
            seen=("strided-only", "out-of-bounds-store", "reads-outside", "race", "unwritten")),
        Mutant("always-half-split-stores",
            "if {INTERLEAVED -> False}:\n        mask = mask_rows & (offs_d < 2 * HALF)\n        pairs",
            says="halves-stored"),
        Mutant("neighbours-stored",
            "if {INTERLEAVED -> True}:\n        mask = mask_rows & (offs_d < 2 * HALF)\n        pairs",
            says="Half-split, the results are stored as neighbours: that is the interleaved form."),
        # --- both
        Mutant("always-interleaved",
            "if {INTERLEAVED -> True}:\n        mask = mask_rows & (offs_d < 2 * HALF)\n        x",
            "if {INTERLEAVED -> True}:", says="other-pairing"),
        Mutant("always-half-split",
            "if {INTERLEAVED -> False}:\n        mask = mask_rows & (offs_d < 2 * HALF)\n        x",
            "if {INTERLEAVED -> False}:", says="other-pairing"),
        Mutant("pairings-swapped",
            "offs_d = tl.arange(0, 2 * BLOCK_P)[None, None, :]\n"
            "    if { -> not }INTERLEAVED:\n"
            "        mask = mask_rows & (offs_d < 2 * HALF)\n"
            "        x",
            "if { -> not }INTERLEAVED", says="other-pairing"),
        Mutant("halves-in-and-out",
            "{reshape(x, (x.shape[0], x.shape[1], BLOCK_P -> permute(tl.reshape(x, (x.shape[0], x.shape[1], 2, "
            "BLOCK_P)), (0, 1, 3}",
            "{join(first, second -> permute(tl.join(first, second), (0, 1, 3, 2)}", says="other-pairing"),
        Mutant("neighbours-backwards", "{first, second -> second, first} ", "join({first, second -> second, first})",
            says="wrong-sign"),
        # --- cos and sin
        Mutant("no-offset", "cos_ptr + ({pos_offset +  -> }offs_l) *", "({pos_offset +  -> }"),
        Mutant("no-offset-of-sin", "sin_ptr + ({pos_offset +  -> }offs_l) *",
            says="The positions of sin start at 0. Token l has the position `pos_offset + l`."),
        Mutant("offset-twice", "cos_ptr + ({ -> 2 * }pos_offset + ", " + ({ -> 2 * }pos_offset",
            says="The positions have `pos_offset` added twice.", seen="reads-outside"),
        Mutant("first-token", " (pos_offset + { -> tl.program_id(0) * BLOCK_T + 0 * }offs_l) * stride_cl",
            "pos_offset + { -> tl.program_id(0) * BLOCK_T + 0 * }offs_l)",
            says="The positions are those of the program's first token, for all its tokens. Each has its own."),
        Mutant("one-position", " (pos_offset + { -> 0 * }offs_l) * stride_cl", "pos_offset + { -> 0 * }offs_l)",
            says="The positions are all that of the call's first token. Each token has its own."),
        Mutant("number-in-the-program", "(pos_offset + {offs_l -> tl.arange(0, BLOCK_T)[:, None, None]}) * stride_cl",
            "pos_offset + {offs_l -> tl.arange(0, BLOCK_T)[:, None, None]})",
            says="The positions start again in each program. `offs_l` knows the tokens before it."),
        Mutant("number-in-the-program-of-cos", "pos_offset + offs_l{ ->  % BLOCK_T}) * stride_cl",
            says="The positions of cos start again in each program. `offs_l` knows the tokens before it."),
        Mutant("program-number", " (pos_offset + { -> tl.program_id(0) + 0 * }offs_l) * stride_cl",
            "pos_offset + { -> tl.program_id(0) + 0 * }offs_l)",
            says="The positions count programs. A program has BLOCK_T tokens."),
        Mutant("batch-shifts-the-position", "pos_offset + offs_l{ ->  + b}) * stride_cl",
            "pos_offset + offs_l{ ->  + b})", seen=("reads-outside", "rows-after-first")),
        Mutant("position-added", "offs_l) {* -> +} stride_cl", "offs_l) {* -> +} stride_sl",
            says="The position is added to the stride of cos and sin. Multiply it."),
        Mutant("cos-of-one-pair", "{offs_p * stride_cd -> 0 * offs_p}",
            says="For all pairs of a token cos has one number: `offs_p` belongs into the address."),
        Mutant("cos-sin-of-one-pair", "{offs_p * stride_cd -> 0 * offs_p}", "{offs_p * stride_sd -> 0 * offs_p}",
            says="For all pairs of a token cos and sin have one number: `offs_p` belongs into the address."),
        Mutant("cos-for-both", ".load({sin_ptrs -> cos_ptrs}",
            says="sin holds what cos holds. It comes from `sin_ptr`, at an address of its own."),
        Mutant("sin-for-cos", "{cos -> sin} = tl.load(", "{sin -> cos} = tl.load(sin_ptrs",
            says="In both results, first cos - second sin and second cos + first sin, cos and sin have changed places."),
        Mutant("sin-with-the-strides-of-cos", "{stride_sl + offs_p * stride_sd -> stride_cl + offs_p * stride_cd}",
            seen=("strided-only", "reads-outside")),
        Mutant("cos-side-by-side", "offs_p{ * stride_cd -> }",
            says="The columns of cos are taken side by side. In the table they stand `stride_cd` apart."),
        Mutant("cos-sin-side-by-side", "offs_p{ * stride_cd -> }", "offs_p{ * stride_sd -> }",
            says="The columns of cos and sin are taken side by side. In the table they stand `stride_cd` and "
                "`stride_sd` apart."),
        Mutant("tables-without-tokens-in-their-mask", "mask_p = {mask_l -> (offs_l >= 0)} & ", seen="reads-outside"),
        Mutant("tables-without-mask", "cos_ptrs{, mask=mask_p -> }", "sin_ptrs{, mask=mask_p -> }",
            seen="reads-outside"),
        # --- loads and stores of the kernel
        Mutant("q-with-the-column-stride-of-k", "mask_q, {stride_qd -> stride_kd}, ",
            seen=("strided-only", "reads-outside")),
        Mutant("k-with-the-column-stride-of-q", "mask_k, {stride_kd -> stride_qd}, ",
            seen=("strided-only", "reads-outside")),
        Mutant("q-out-with-the-stride-of-q", "q_b, {stride_od -> stride_qd}, ", seen="property"),
        Mutant("k-out-with-the-stride-of-q-out", "k_b, {stride_pd -> stride_od}, ",
            seen=("strided-only", "unwritten", "out-of-bounds-store", "reads-outside", "race")),
        Mutant("rows-of-q-for-k", "({k_ptr, k_rows -> q_ptr, q_rows}", says="the-other",
            seen=("out-of-bounds-store", "reads-outside", "race")),
        Mutant("mask-of-q-for-k", "k_rows, {mask_k -> mask_q}, ",
            seen=("raised", "does-not-compile", "out-of-bounds-store", "reads-outside", "race")),
        Mutant("mask-of-q-for-k-out", "p_rows, {mask_k -> mask_q}, ",
            seen=("raised", "does-not-compile", "out-of-bounds-store", "reads-outside", "race")),
        Mutant("heads-of-q-counted-for-k", "(offs_hk < {HK -> H})", seen=OUTSIDE),
        Mutant("tokens-past-the-end", "mask_l = offs_l {< L -> >= 0}", seen=OUTSIDE),
        Mutant("q-stored-for-k", "mask_k, {k_a, k_b -> q_a, q_b},", says="the-other"),
        Mutant("k-stored-for-q", "mask_q, {q_a, q_b -> k_a, k_b},", says="the-other"),
        Mutant("k-stored-over-q", "{k_out_ptr, p_rows -> q_out_ptr, o_rows}", says="the-other",
            seen=("unwritten", "race")),
        Mutant("only-q-stored",
            "{    store_pairs(\n"
            "        k_out_ptr, p_rows, mask_k, k_a, k_b, stride_pd, HALF, INTERLEAVED, BLOCK_P\n"
            "    )\n -> }", seen="unwritten"),
        Mutant("not-turned", "{k_a, k_b = k_a * cos - k_b * sin, k_b * cos + k_a * sin -> pass}"),
        Mutant("partners-swapped-in-the-kernel", "{q_a, q_b -> q_b, q_a} = load_pairs", says="partners-swapped"),
        Mutant("k-partners-swapped-in-the-kernel", "{k_a, k_b -> k_b, k_a} = load_pairs", says="partners-swapped"),
        # --- the turn
        Mutant("turned-back", "{- q_b * sin, q_b * cos + -> + q_b * sin, q_b * cos -}", says="wrong-sign"),
        Mutant("wrong-sign-first", "k_a * cos {- -> +} k_b",
            says="In the first result, first cos - second sin, the product with sin has the wrong sign."),
        Mutant("sine-of-the-other-second", "q_b * cos + {q_a -> q_b} ",
            says="In the second result, second cos + first sin, sin is multiplied by the wrong partner."),
        Mutant("no-sine", "{ - k_b * sin, k_b * cos + k_a * sin -> , k_b * cos}",
            says="In both results, first cos - second sin and second cos + first sin, the product with sin is missing."),
        Mutant("new-a", "{, q_b = q_a * cos - q_b * sin, ->  = q_a * cos - q_b * sin\n    q_b =}",
            says="The second result was computed from the new first partner. Both formulas need the first partner that "
                "was loaded."),
        Mutant("second-of-the-other-first", "q_a * cos - {q_b -> k_b} ",
            says="In the first result, first cos - second sin, the second partner is that of the other tensor: q and k "
                "are mixed up."),
        Mutant("q-meets-k", "k_b * cos + {k_a -> q_a} ", seen=("undue-input", "wrong-tail", "wrong-values")),
        Mutant("in-half-precision",
            "{q_a, q_b = q_a * cos - q_b * sin, q_b * cos + q_a * sin -> half = q_ptr.dtype.element_ty\n"
            "    q_a, q_b, c, s = q_a.to(half), q_b.to(half), cos.to(half), sin.to(half)\n"
            "    q_a, q_b = q_a * c - q_b * s, q_b * c + q_a * s}",
            says="Products and sums were rounded to half precision. `load_pairs` gives float32: take cos and sin there "
                "too, and leave all of them there. The store rounds, once.",
            on_gpu=("wrong-values",)),
        Mutant("loads-of-q-after-its-stores",
            "        k_out_ptr, p_rows, mask_k, k_a, k_b, stride_pd, HALF, INTERLEAVED, BLOCK_P\n"
            "    ){ -> \n"
            "    q_a, q_b = load_pairs(q_ptr, q_rows, mask_q, stride_qd, HALF, INTERLEAVED, BLOCK_P)\n"
            "    q_a, q_b = q_a * cos - q_b * sin, q_b * cos + q_a * sin\n"
            "    store_pairs(\n"
            "        q_out_ptr, o_rows, mask_q, q_a, q_b, stride_od, HALF, INTERLEAVED, BLOCK_P\n"
            "    )}", seen="property"),
        # --- the wrapper
        Mutant("one-token-a-program", "{max(1, pairs // (BLOCK_H * BLOCK_P)) -> 1}",
            seen=("property", "other-programs")),
        Mutant("tokens-of-the-pairs-alone", "{(BLOCK_H * BLOCK_P) -> BLOCK_P}", seen=("property", "other-programs")),
        Mutant("heads-of-k-counted-too", "pairs // ({BLOCK_H -> triton.next_power_of_2(H + HK)}",
            seen=("property", "other-programs")),
        Mutant("elements-for-pairs", "BLOCK_H * { -> 2 * }BLOCK_P))", seen=("property", "other-programs")),
        Mutant("pairs-of-one-text",
            "{max(1, pairs // (BLOCK_H * BLOCK_P -> min(triton.next_power_of_2(L), max(1, pairs // (BLOCK_H * "
            "BLOCK_P // 2)}",
            seen=("property", "other-programs")),
        Mutant("always-512", " max(1, {pairs -> 512} ", seen=("property", "other-programs")),
        Mutant("none-for-a-large-token", "{max(1, pairs // (BLOCK_H * BLOCK_P) -> pairs // (BLOCK_H * BLOCK_P}",
            seen=("raised", "property")),
        Mutant("heads-and-pairs-as-they-are", "({BLOCK_H * BLOCK_P -> H * D // 2}",
            seen=("property", "raised", "does-not-compile", "other-programs")),
        Mutant("grid-rounded-down", "{triton.cdiv(L, BLOCK_T) -> L // BLOCK_T}",
            seen=("other-programs", "unwritten", "unwritten-tail")),
        Mutant("one-batch", ", BLOCK_T), {B -> 1})", seen=("other-programs", "unwritten")),
        Mutant("writes-into-q", "{torch.empty_like(q) -> q}", seen=("input-changed", "aliases-input")),
        Mutant("out-ignored",
            "{out or (torch.empty_like(q), torch.empty_like(k) -> torch.empty_like(q), torch.empty_like(k}",
            seen="property"),
        Mutant("out-returned-unwritten",
            "{out or (torch.empty_like(q), torch.empty_like(k) -> torch.empty_like(q), torch.empty_like(k}",
            "return {q_out, k_out -> out or (q_out, k_out)}", seen="property"),
        Mutant("no-shape-check", "{    check_rope_inputs(q, k, cos, sin, pos_offset, out)\n -> }", seen="should-raise"),
        Mutant("torch-stand-in", seen=("no-kernel-launched", "torch-compute"),
            body="check_rope_inputs(q, k, cos, sin, pos_offset)\n"
                "return rope_ref(q, k, cos, sin, interleaved, pos_offset)"),
        Mutant("two-columns-apart-as-page-40",
            "{    if INTERLEAVED:\n"
            "        mask = mask_rows & (offs_d < 2 * HALF)\n"
            "        x = tl.load … HALF) * stride_xd, mask=mask)\n"
            " ->     first_columns, second_columns = offs_p, offs_p + HALF\n"
            "    if INTERLEAVED:\n"
            "        first_columns, second_columns = 2 * offs_p, 2 * offs_p + 1\n"
            "    mask = mask_rows & (offs_p < HALF)\n"
            "    first = tl.load(x_ptr + rows + first_columns * stride_xd, mask=mask)\n"
            "    second = tl.load(x_ptr + rows + second_columns * stride_xd, mask=mask)\n}",
            seen="property", only="interpreter"),
        Mutant("k-loaded-after-the-stores-of-q",
            "{    k_a, k_b = load_pairs(k_ptr, k_rows, mask_k, stride_kd, HALF, INTERLEAVED, BLOCK_P)\n -> }",
            "){ -> \n"
            "    k_a, k_b = load_pairs(k_ptr, k_rows, mask_k, stride_kd, HALF, INTERLEAVED, BLOCK_P)}\n"
            "    store_pairs",
            "{k_a, k_b = k_a * cos - k_b * sin, k_b * cos + k_a * sin -> pass}",
            ")\n    { -> k_a, k_b = k_a * cos - k_b * sin, k_b * cos + k_a * sin\n    }store_pairs(", seen="property",
            only="interpreter"),
        Mutant("stored-two-columns-apart-as-page-40",
            "{    if INTERLEAVED:\n"
            "        mask = mask_rows & (offs_d < 2 * HALF)\n"
            "        pairs = tl.join … HALF) * stride_yd, second, mask=mask)\n"
            " ->     first_columns, second_columns = offs_p, offs_p + HALF\n"
            "    if INTERLEAVED:\n"
            "        first_columns, second_columns = 2 * offs_p, 2 * offs_p + 1\n"
            "    mask = mask_rows & (offs_p < HALF)\n"
            "    tl.store(y_ptr + rows + first_columns * stride_yd, first, mask=mask)\n"
            "    tl.store(y_ptr + rows + second_columns * stride_yd, second, mask=mask)\n}",
            seen="property", only="interpreter"),
        Mutant("first-half-past-its-end", "first, mask={mask -> mask_rows & (offs_p >= 0)})", seen=("property", "no-barrier"),
            only="interpreter"),
        Mutant("tables-in-half", "cos_ptrs, mask=mask_p).to({tl.float32 -> q_ptr.dtype.element_ty})",
            ").to({tl.float32 -> q_ptr.dtype.element_ty})",
            says="cos and sin were rounded to half precision. They may come in float32: take them as float32, and "
                "leave them there."),
        Mutant("rows-left-out", "x_ptr + { -> 0 * }rows + offs_d", "x_ptr + { -> 0 * }rows + offs_p",
            "x_ptr + { -> 0 * }rows",
            says="Every head of every token is turned from the first head of the first token: `rows` belongs into the "
                "address."),
        Mutant("offset-in-elements", "cos_ptr + {(pos_offset + offs_l) -> pos_offset + offs_l} * ",
            "{(pos_offset + offs_l) -> pos_offset + offs_l}",
            says="`pos_offset` is added as a number of elements. It counts rows of the tables: multiply it by their "
                "stride."),
    ],
}

VARIANTS = {
    "to_halves": [
        Variant("one-warp", "{min(16, max(1, BLOCK_M * BLOCK_P // 256)) -> 1}"),
        Variant("stores-in-the-other-order",
            "{, first, mask=mask)\n"
            "    tl.store(y_ptrs + HALF, second ->  + HALF, second, mask=mask)\n"
            "    tl.store(y_ptrs, first}"),
        Variant("one-store-of-both",
            "{y_ptrs = y_ptr + offs_m * 2 * HALF + offs_p … tl.store(y_ptrs + HALF, second, mask=mask) -> both = "
            "tl.trans(tl.join(first, second), 0, 2, 1)  # [BLOCK_M, 2, BLOCK_P]\n"
            "    half = tl.arange(0, 2)[None, :, None]\n"
            "    pair = tl.arange(0, BLOCK_P)[None, None, :]\n"
            "    y_ptrs = y_ptr + offs_m[:, :, None] * 2 * HALF + half * HALF + pair\n"
            "    tl.store(y_ptrs, both, mask=(offs_m[:, :, None] < M) & (pair < HALF))}"),
        Variant("masked-lanes-hold-zero", "stride_xd, mask=mask{ -> , other=0.0})"),
        Variant("rows-by-their-width", "offs_m * {2 * HALF -> (HALF + HALF)} ",
            " M, {*x.stride( -> x.stride(0), x.stride(1}"),
    ],
    "rope_record": [
        Variant("one-warp", "{min(8, max(1, BLOCK_T * BLOCK_H * BLOCK_P // 256)) -> 1}"),
        Variant("whole-heads-by-columns",
            '"""(first, second): the partners of each pair, [tokens, heads, BLOCK_P], float32.""" … {mask = '
            "mask_rows & (offs_d < 2 * HALF) … rows + (offs_p + HALF) * stride_xd, mask=mask) -> cols = offs_d\n"
            "    else:\n"
            "        cols = offs_d // 2 + offs_d % 2 * HALF\n"
            "    x = tl.load(x_ptr + rows + cols * stride_xd, mask=mask_rows & (offs_d < 2 * HALF))\n"
            "    first, second = tl.split(tl.reshape(x, (x.shape[0], x.shape[1], BLOCK_P, 2)))}",
            "{mask = mask_rows & (offs_d < 2 * HALF) … HALF) * stride_yd, second, mask=mask) -> cols = offs_d\n"
            "    else:\n"
            "        cols = offs_d // 2 + offs_d % 2 * HALF\n"
            "    y = tl.interleave(first, second)\n"
            "    tl.store(y_ptr + rows + cols * stride_yd, y, mask=mask_rows & (offs_d < 2 * HALF))}"),
        Variant("interleave-for-join", "{pairs = tl … BLOCK_P) -> y = tl.interleave(first, second}"),
        Variant("halves-stored-as-one-tile",
            "{mask = mask_rows & (offs_p < HALF)\n"
            "        tl … second, mask=mask -> both = tl.join(first, second)\n"
            "        half = tl.arange(0, 2)[None, None, None, :]\n"
            "        pair = offs_p[:, :, :, None]\n"
            "        places = y_ptr + rows[:, :, :, None] + (pair + half * HALF) * stride_yd\n"
            "        tl.store(places, both, mask=mask_rows[:, :, :, None] & (pair < HALF)}"),
        Variant("tables-from-the-position-on",
            "= {cos_ptr … stride_cd -> (cos_ptr + pos_offset * stride_cl) + (offs_l * stride_cl + offs_p * stride_cd)}",
            "{(pos_offset + offs_l) -> pos_offset * stride_sl + offs_l}"),
        Variant("stored-together-at-the-end",
            "{q_out_ptr, o_rows, mask_q, q_a, q_b, stride_od, HALF, INTERLEAVED, BLOCK_P … p_rows, mask_k, k_a, "
            "k_b, stride_pd -> k_out_ptr, p_rows, mask_k, k_a, k_b, stride_pd, HALF, INTERLEAVED, BLOCK_P\n"
            "    )\n"
            "    store_pairs(\n"
            "        q_out_ptr, o_rows, mask_q, q_a, q_b, stride_od}"),
        Variant("by-subtraction",
            "{q_a * cos - q_b * sin, q_b * cos + q_a * sin -> -(q_b * sin - q_a * cos), q_a * sin + q_b * cos}"),
        Variant("a-token-more-by-a-loop",
            "{max(1, pairs // (BLOCK_H * BLOCK_P)) -> 1\n"
            "    while 2 * BLOCK_T * BLOCK_H * BLOCK_P <= pairs:\n"
            "        BLOCK_T *= 2}"),
        Variant("contiguous-results",
            "{empty_like(q), torch.empty_like(k -> empty(q.shape, dtype=q.dtype, device=q.device), "
            "torch.empty(k.shape, dtype=k.dtype, device=k.device}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
PRODUCT = "the other factors, the partners, are float32, and so is the product"
SUM = "an address is a sum: its summands may change places"


def flat(call, begins=None):
    """A call in one line, as `make mutate` prints it; begins: other first arguments."""
    line = " ".join(call.split())
    if begins:
        name, rest = line.split("( ")
        line = f"{name}{begins}, {rest.split(', ', 2)[2].removesuffix(' )')})"
    return line


EQUIVALENT = {
    "rope_record": {
        f"{LOAD_COS} => {LOAD_COS.removesuffix('.to(tl.float32)')}": PRODUCT,
        f"{LOAD_SIN} => {LOAD_SIN.removesuffix('.to(tl.float32)')}": PRODUCT,
        f"{flat(STORE_Q)} {flat(STORE_K)} => {flat(STORE_K)} {flat(STORE_Q)}": "all is loaded by then",
        f"{LOAD_Q} => {LOAD_Q.replace('q_ptr, q_rows', 'q_rows, q_ptr')}": SUM,
        f"{LOAD_K} => {LOAD_K.replace('k_ptr, k_rows', 'k_rows, k_ptr')}": SUM,
        f"{flat(STORE_Q)} => {flat(STORE_Q, '(o_rows, q_out_ptr')}": SUM,
        f"{flat(STORE_K)} => {flat(STORE_K, '(p_rows, k_out_ptr')}": SUM,
        f"{BLOCK_T} => BLOCK_T = max(1, triton.cdiv(pairs, BLOCK_H * BLOCK_P))": (
            "all three are powers of two: nothing is left over, or 1 comes out"
        ),
    },
}
