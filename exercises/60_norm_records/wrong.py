"""Mistakes of 60_norm_records with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = """
    eps-outside-root masked-lanes-hold-one mean-not-subtracted no-bias no-eps no-weight not-normalised rmsnorm
    root-for-its-inverse squares-overflow sum-for-mean sum-not-mean sum-of-all-rows
"""
PROMISES = ("four_warps", "nobody-waits", "sizes_of_the_page")

BLOCK_A = "    BLOCK_A = max(triton.next_power_of_2(N) // 2, 1)\n"
BLOCK_B = "    return BLOCK_A, triton.next_power_of_2(max(N - BLOCK_A, 1))\n"

EARLY = ("reads-unwritten", "race")  # what the memory held, or another program's in luck

# --- the rules
WARPS = "num_warps = 1 if 128 < one_tile <= 1024 else 4"
FITS = f"""    if N <= 16384 or (N <= 32768 and M >= num_sms):
        {WARPS}
        while two_tiles // (2 * num_warps * 32) >= 32:
            num_warps *= 2
        return "rows", max(1, 1024 // one_tile), num_warps
"""
PIECES = """        piece = 256
        while M * -(-N // piece) > num_sms:
            piece *= 2
        return "together", piece, min(max(piece // 512, 1), 16)
"""
TOGETHER = "    if M * -(-N // 32768) <= num_sms:  # pieces of 32,768 can run together\n" + PIECES
RULES = FITS + TOGETHER + '    return ("loop",)\n'


def _rules(name, text, expected=("property",)):
    """A wrong plan: other rules."""
    return Mutant(name, (RULES, text.rstrip("\n") + "\n"), seen=expected)


# Sentences that several mistakes share.
SAYS = {
    "first-tile-alone": "The sums know the first tile alone. A row's sum is that of both tiles.",
    "unbiased": "The sum of squares is divided by N - 1. Divide it by N.",
    "padding-counted":
        "Masked lanes took part. Which `other=` leaves a largest number and a sum of exponentials unchanged?",
    "first-largest":
        "An exponential left float32. From both tiles the largest number of the row is subtracted, and that may stand "
        "in either tile.",
    "nothing-subtracted":
        "The exponentials left float32. Is the row's largest number subtracted, and can a zero win it?",
}

MUTANTS = {
    "norm_rows": [
        # --- sums of both tiles
        Mutant("sums-of-the-first-tile", "{(tl.sum(x_a, axis=1) + tl.sum(x_b, axis=1) -> tl.sum(x_a, axis=1}",
            "{ + tl.sum(x_b * x_b, axis=1) -> }", says="first-tile-alone"),
        Mutant("second-tile-alone", "{(tl.sum(x_a, axis=1) + tl.sum(x_b, axis=1) -> tl.sum(x_b, axis=1}",
            "{x_a * x_a, axis=1) + tl.sum(x_b -> x_b}",
            says="The sums know the second tile alone. A row's sum is that of both tiles."),
        Mutant("squares-of-the-first-tile", "{ + tl.sum(x_b * x_b, axis=1) -> }", says="first-tile-alone"),
        Mutant("mean-of-the-first-tile", "{(tl.sum(x_a, axis=1) + tl.sum(x_b, axis=1) -> tl.sum(x_a, axis=1}",
            says="The mean knows the first tile alone. A row's sum is that of both tiles."),
        Mutant("own-mean", "{(tl.sum(x_a, axis=1) + tl.sum(x_b, axis=1)) / N -> tl.sum(x_a, axis=1) / BLOCK_A}",
            " x_b - {mean -> (tl.sum(x_b, axis=1) / (N - BLOCK_A))}[:,",
            says="From each tile its own mean is subtracted. The mean is that of the whole row."),
        Mutant("first-tile-centred", "{x_b = tl.where(mask_b, x_b - mean[:, None], 0.0) -> pass}",
            says="The mean is subtracted from the first tile alone."),
        Mutant("first-tile-twice", ".sum({x_b * x_b -> x_a * x_a}", seen="off-by-row"),
        Mutant("squares-of-the-sums",
            "{squares = … x_b, axis=1) -> both = tl.sum(x_a, axis=1) + tl.sum(x_b, axis=1)\n"
            "    squares = both * both}", seen="off-by-row"),
        Mutant("only-the-second-divided",
            "{(tl.sum(x_a, axis=1) + tl.sum(x_b, axis=1) -> tl.sum(x_a, axis=1) + tl.sum(x_b, axis=1}",
            says="For the mean only the second tile's sum is divided by N: brackets around both sums."),
        # --- masks
        Mutant("padding-counted", "{tl.where(mask_b, x_b - mean[:, None], 0.0) -> x_b - mean[:, None]}"),
        Mutant("load-without-mask", "{mask=mask_b, other=0.0,  -> }", seen="reads-outside", only="interpreter"),
        Mutant("other-forgotten", "mask_b, {other=0.0,  -> }eviction_policy=", seen="no-other", only="interpreter"),
        Mutant("masked-lanes-hold-one", "mask_b, other={0 -> 1}.0, ", seen=("off-by-row", "wrong-values")),
        Mutant("masks-swapped", "a_ptrs, mask={mask_a -> mask_b}", "b_ptrs, mask={mask_b -> mask_a}, other=",
            seen=("raised", "does-not-compile", "wrong-values")),
        # --- loads
        Mutant("first-tile-loaded-twice", "tl.load({b_ptrs -> rows + tl.arange(0, BLOCK_B)[None, :]}",
            seen=("raised", "wrong-tail", "wrong-values", "does-not-compile")),
        Mutant("squares-overflow", "mask_a, other=0.0, eviction_policy=KEEP){.to(tl.float32) -> }",
            "KEEP){.to(tl.float32) -> }", seen=("overflow", "nan", "wrong-values")),
        Mutant("elements-two-apart", "tl.load({a_ptrs -> rows + 2 * offs_a[None, :]}",
            seen=("reads-outside", "wrong-values", "strided-only")),
        # --- the formula
        Mutant("rmsnorm", "if {b_ptr is not None -> False}:\n        mean"),
        Mutant("always-centred", "if {b_ptr is not None -> True}:\n        mean", says="layernorm"),
        Mutant("the-other-way-round", ")\n    if b_ptr is {not  -> }None:", says="layernorm"),
        Mutant("sum-for-mean", ", axis=1)){ / N -> }"),
        Mutant("sum-not-mean", "rsqrt(squares {/ N  -> }"),
        Mutant("unbiased", "rsqrt(squares / {N -> (N - 1)} "),
        Mutant("mean-over-tile", ", axis=1)) / {N -> (BLOCK_A + BLOCK_B)}",
            says="The mean is taken over the lanes of the tile. Divide by N, the number of elements.",
            seen="wrong-values"),
        Mutant("divided-by-lanes", ", axis=1)) / {N -> (BLOCK_A + BLOCK_B)}",
            "rsqrt(squares / {N -> (BLOCK_A + BLOCK_B)} ",
            says="The sums are divided by the lanes of both tiles. A row has N elements."),
        Mutant("no-eps", "squares / N{ + eps -> }"),
        Mutant("eps-outside-root", "{tl.rsqrt(squares / N -> 1 / (tl.sqrt(squares / N)}"),
        Mutant("root-for-its-inverse", "rstd = tl.{rsqrt -> sqrt}"),
        Mutant("sum-of-all-rows", "{, axis=1) + tl.sum(x_b * x_b -> ) + tl.sum(x_b * x_b) + 0.0 * tl.sum(x_a}",
            seen="off-by-row"),
        Mutant("digits-lost",
            ", axis=1)) / N{ -> \n"
            "        raw = tl.sum(x_a * x_a, axis=1) + tl.sum(x_b * x_b, axis=1) - N * mean * mean}",
            "squares = tl.sum(x_a * x_a, axis=1) + tl.sum(x_b * x_b, axis=1){ -> \n"
            "    if b_ptr is not None:\n"
            "        squares = raw}",
            seen="property"),
        Mutant("no-root", "squares / N + eps){ -> \n    x_a *= rstd[:, None]\n    x_b *= rstd[:, None]}",
            says="This divides by the mean square, not by its root. Is the root missing, or was x multiplied by `rstd` "
                "already? `scale_and_store` does it."),
        # --- the wrapper
        Mutant("one-tile-is-enough", "{max(triton.next_power_of_2(N) // 2, 1 -> triton.next_power_of_2(N}",
            seen="property"),
        Mutant("half-twice", "next_power_of_2(N) // {2 -> 4},",
            "{triton.next_power_of_2(max(N - BLOCK_A, 1)) -> BLOCK_A}", seen="property"),
        Mutant("halves-twice", "{triton.next_power_of_2(max(N - BLOCK_A, 1)) -> BLOCK_A}", seen="property"),
        Mutant("rest-rounded-down",
            "{triton.next_power_of_2(max(N - BLOCK_A, 1) -> max(1 << max(N - BLOCK_A, 1).bit_length() - 1, 1}",
            seen="property"),
        Mutant("rest-not-rounded", "{triton.next_power_of_2(max(N - BLOCK_A, 1) -> max(N - BLOCK_A, 1}",
            seen="property"),
        Mutant("widths-swapped",
            "{BLOCK_A, triton.next_power_of_2(max(N - BLOCK_A, 1)) -> triton.next_power_of_2(max(N - BLOCK_A, 1)), "
            "BLOCK_A}",
            seen="property"),
        Mutant("none-for-one-element", "{max(triton.next_power_of_2(N) // 2, 1) -> triton.next_power_of_2(N) // 2}",
            seen="property"),
        Mutant("none-for-the-rest", "{max(N - BLOCK_A, 1) -> N - BLOCK_A}",
            "{max(triton.next_power_of_2(N) // 2, 1 -> triton.next_power_of_2(N}", seen="property"),
        Mutant("torch-stand-in", seen=("no-kernel-launched", "torch-compute"),
            replace="def tile_widths(N):\n" + BLOCK_A + BLOCK_B + "\n\ndef norm_rows(x, w, b=None, eps=1e-6, rows=4, num_warps=4, keep=''):\n    as_rows(x, w, b)\n    if b is None:\n        return torch.nn.functional.rms_norm(x, w.shape, w, eps)\n    return torch.nn.functional.layer_norm(x, w.shape, w, b, eps)\n"),
    ],
    "norm_together": [
        Mutant("sum-for-mean", "mean_ptr + pid, {mean -> tl.sum(x, axis=0)})",
            says="A piece's sum stands for its mean. n_s is multiplied with it, so store the mean."),
        # --- the order
        Mutant("nobody-waits", "{    wait_for_all(arrived_ptr + row, PIECES)\n -> }", seen=EARLY),
        Mutant("loads-before-the-wait",
            "{    wait_for_all … PIECES)\n -> }",
            "{ -> wait_for_all(arrived_ptr + row, PIECES)\n"
            "    }mean = tl.sum(n_s", seen=EARLY),
        Mutant("one-load-before-the-wait",
            "{ -> places = row * PIECES + offs_s\n"
            '    m2_s = tl.load(m2_ptr + places, mask=mask_s, other=0.0, cache_modifier=".cg")\n'
            "    }wait_for_all(arrived_ptr",
            '{m2_s = tl.load(m2_ptr + places, mask=mask_s, other=0.0, cache_modifier=".cg")\n    mean -> mean}',
            seen=EARLY),
        Mutant("stores-after-the-wait", "{    tl.store(mean_ptr + pid, mean)\n    tl.store(m2_ptr + pid, m2)\n -> }",
            "{ ->     tl.store(mean_ptr + pid, mean)\n    tl.store(m2_ptr + pid, m2)\n}    places = row", seen=EARLY),
        Mutant("one-store-after-the-wait", "{    tl.store(m2_ptr + pid, m2)\n -> }",
            "{ ->     tl.store(m2_ptr + pid, m2)\n}    places = row", seen=EARLY),
        Mutant("mean-not-stored", "{    tl.store(mean_ptr + pid, mean)\n -> }", seen=EARLY),
        Mutant("m2-not-stored", "{    tl.store(m2_ptr + pid, m2)\n -> }", seen=EARLY),
        Mutant("waits-for-one-more", "+ row, PIECES{ ->  + 1})", seen="raised", only="interpreter"),
        Mutant("waits-for-the-lanes", "+ row, {PIECES -> BLOCK_S})", seen="raised", only="interpreter"),
        Mutant("waits-for-one", "+ row, {PIECES -> 1})", seen=EARLY),
        Mutant("waits-at-the-first-counter", "arrived_ptr{ + row -> }", seen=("raised", "reads-unwritten", "race"),
            only="interpreter"),
        Mutant("a-counter-each", "arrived_ptr + {row -> pid},", seen=("raised", "reads-outside", "out-of-bounds-store"),
            only="interpreter"),
        # --- places
        Mutant("first-row", "{row * PIECES +  -> }", says="Every row has the sums of row 0: the places know the row.",
            seen=("reads-unwritten", "race")),
        Mutant("places-from-pid", "= {row * PIECES -> pid}", seen=("reads-outside", "reads-unwritten", "wrong-values")),
        Mutant("rows-of-lanes", " row * {PIECES -> BLOCK_S} ",
            seen=("reads-outside", "reads-unwritten", "wrong-values", "rows-after-first", "nan")),
        Mutant("stored-at-the-piece", "pid{ ->  % PIECES}, mean", "pid{ ->  % PIECES}, m2",
            seen=("nan", "race", "wrong-values")),
        Mutant("stores-swapped", "load({mean_ptr -> m2_ptr} ", "m2_s = tl.load({m2_ptr -> mean_ptr} + places, mask",
            says="mean_s and m2_s have changed places: which of the two goes where?"),
        Mutant("own-statistics",
            '{    places = row * PIECES + offs_s … mask=mask_s, other=0.0, cache_modifier=".cg")\n -> }    mean',
            "{tl.sum(n_s * mean_s, axis=0) / N -> mean}", "{apart = mean_s - mean -> pass}",
            "{tl.sum(m2_s + n_s * apart * apart, axis=0) / N -> m2 / tl.minimum(N - start, BLOCK_N)}",
            says="Each piece is normalised by itself. Mean and variance are those of the whole row."),
        # --- the merge
        Mutant("mean-of-means", "{n_s * mean_s, axis=0) / N -> mean_s, axis=0) / PIECES}",
            says="The pieces' means are averaged. A piece of 1 element weighs less than a full one: n_s."),
        Mutant("means-summed", "{n_s * mean_s, axis=0) / N -> mean_s, axis=0)}", seen=("wrong-values", "mean-of-means")),
        Mutant("m2-of-pieces", "{ + n_s * apart * apart -> }",
            says="The variance lacks what lies between the pieces: each adds n_s times the squared distance of its "
                "mean from that of the row."),
        Mutant("divided-by-pieces", "apart, axis=0) / {N -> PIECES}",
            says="The sum of squares is divided by the number of pieces. Divide it by N, the elements."),
        Mutant("mean-subtracted-again", "{ + n_s * apart * apart, axis=0) / N -> , axis=0) / N - mean * mean}",
            seen="nan"),
        Mutant("digits-lost",
            "{tl.sum(m2_s + n_s * apart * apart, axis=0 -> (tl.sum(m2_s + n_s * mean_s * mean_s, axis=0) - N * mean "
            "* mean}",
            seen="property"),
        Mutant("distance-not-weighted", "(m2_s + {n_s *  -> }",
            says="The squared distance of a piece's mean counts once. It counts for n_s elements."),
        Mutant("m2-times-n", "{m2_s + n_s * apart * apart -> n_s * (m2_s + apart * apart)}",
            says="m2 is multiplied by n_s, too. It is a sum already: n_s belongs to the squared distance."),
        Mutant("distance-not-squared", " apart{ * apart -> }", says="The distance of a piece's mean is not squared.",
            seen="m2-of-pieces"),
        Mutant("sum-not-divided", "apart, axis=0){ / N -> }", says="The sum of squares is not divided by N."),
        Mutant("mean-not-divided", "mean_s, axis=0){ / N -> }", seen=("wrong-values", "sum-for-mean", "unused-input")),
        Mutant("unbiased", "apart, axis=0) / {N -> (N - 1)}", seen=("wrong-values", "constant-factor")),
        Mutant("idle-lanes-hold-one", "m2_ptr + places, mask=mask_s, other={0 -> 1}", seen="off-by-row"),
        Mutant("m2-without-other", 'm2_ptr + places, mask=mask_s, {other=0.0,  -> }cache_modifier=".cg")',
            seen="no-other", only="interpreter"),
        Mutant("own-mean", "{mean = tl.sum(n_s * mean_s, axis=0) / N -> pass}", seen="wrong-values"),
        # --- y
        Mutant("own-means", "y = {(x - mean) -> centred}",
            says="y subtracts the mean of the piece. Subtract that of the row: x is still there."),
        Mutant("mean-not-subtracted", "y = {(x - mean) -> x}"),
        Mutant("no-bias", "+ eps) * w{ + b -> }", seen="unused-input"),
        Mutant("no-eps", "variance{ + eps -> }"),
        Mutant("rows-as-x", "y_ptr + row * {N -> STRIDE_XM} ",
            seen=("strided-only", "out-of-bounds-store", "unwritten")),
        Mutant("no-mask-at-the-store", "y{, mask=mask_n -> }", seen=("out-of-bounds-store", "race")),
        Mutant("every-piece-first", " N + {offs_n -> tl.arange(0, BLOCK_N)}, y",
            seen=("race", "unwritten-tail", "unwritten", "out-of-bounds-store")),
        # --- the weight
        Mutant("first-weights", "w_ptr + {offs_n -> tl.arange(0, BLOCK_N)}, mask", seen=("wrong-tail", "first-weights")),
        Mutant("no-weight", "{tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) -> 1.0}"),
    ],
    "rmsnorm_record": [
        _rules("always_rows", '    return "rows", max(1, 2048 // one_tile), min(max(one_tile // 1024, 4), 32)'),
        _rules("always_loop", '    return ("loop",)'),
        _rules("never_together", FITS + '    return ("loop",)'),
        _rules("never_loop", FITS + TOGETHER.replace("    if M * -(-N // 32768) <= num_sms:  # pieces of 32,768 can run together\n", "    if True:\n"), ("property", "timeout")),
        _rules("together_for_few", "    if M < num_sms:\n" + PIECES + FITS + '    return ("loop",)'),
        _rules("four_rows_each", '    if N <= 16384:\n        return "rows", 4, 4\n' + TOGETHER + '    return ("loop",)'),
        _rules("a_row_each", '    if N <= 16384:\n        return "rows", 1, min(max(one_tile // 1024, 4), 16)\n' + TOGETHER + '    return ("loop",)'),
        _rules("four_warps", '    if N <= 16384:\n        return "rows", max(1, 2048 // one_tile), 4\n' + TOGETHER + '    return ("loop",)'),
        _rules("rows_of_a_tile_for_all", '    if N <= 16384:\n        return "rows", 2048 // one_tile, 4\n' + TOGETHER + '    return ("loop",)', ("property", "raised")),
        _rules("small_pieces", FITS + TOGETHER.replace("        while M * -(-N // piece) > num_sms:\n            piece *= 2\n", "") + '    return ("loop",)'),
        _rules("nothing_beyond_16384", FITS.replace(" or (N <= 32768 and M >= num_sms)", "") + TOGETHER + '    return ("loop",)'),
        _rules("sixteen_warps_at_most_for_32768", FITS.replace("while two", "while num_warps < 8 and two") + TOGETHER + '    return ("loop",)'),
        _rules("thirty_two_warps", FITS.replace("one_tile), num_warps", "one_tile), 32") + TOGETHER + '    return ("loop",)'),
        _rules("sixteen_warps_together", FITS + TOGETHER.replace("min(max(piece // 512, 1), 16)", "16") + '    return ("loop",)'),
        _rules("two_rows_at_least", FITS.replace("max(1,", "max(2,") + TOGETHER + '    return ("loop",)'),
        _rules("as_many_rows_as_multiprocessors", FITS + TOGETHER.replace("M * -(-N // 32768) <=", "M <=") + '    return ("loop",)'),
        _rules("an_h100_s_count", FITS + TOGETHER.replace("> num_sms", "> 132") + '    return ("loop",)'),
        _rules("pieces_of_one_row", FITS + TOGETHER.replace("while M * -(-N", "while -(-N") + '    return ("loop",)'),
        _rules("rounded_down", FITS + TOGETHER.replace("-(-N // piece) >", "(N // piece) >") + '    return ("loop",)'),
        _rules("one_piece_a_row", FITS + TOGETHER.replace("piece = 256", "piece = one_tile") + '    return ("loop",)'),
        _rules("pieces_not_doubled", FITS + TOGETHER.replace("piece *= 2", "piece += 256") + '    return ("loop",)'),
        _rules("no_tuple", FITS + TOGETHER + '    return "loop"'),
        _rules("another_name", FITS.replace('"rows"', '"row"') + TOGETHER + '    return ("loop",)'),
        _rules("nothing_for_the_rest", FITS + TOGETHER.rstrip()),
        _rules("sizes_of_the_page", '    if (M, N) == (8, 262_144):\n        return "together", 16384, 16\n    return "rows", max(1, 2048 // one_tile), min(max(one_tile // 1024, 4), 32)'),
        _rules("rows_of_32768_for_all", FITS.replace("N <= 16384 or (N <= 32768 and M >= num_sms)", "N <= 32768") + TOGETHER + '    return ("loop",)'),
        _rules("an_h100_s_rows", FITS.replace("M >= num_sms", "M >= 132") + TOGETHER + '    return ("loop",)'),
        _rules("pieces_of_65536", FITS + TOGETHER.replace("32768) <=", "65536) <=") + '    return ("loop",)'),
        _rules("rows_and_warps_swapped", FITS.replace("max(1, 1024 // one_tile), num_warps", "num_warps, max(1, 1024 // one_tile)") + TOGETHER + '    return ("loop",)'),
        _rules("half_of_the_multiprocessors", RULES.replace("M >= num_sms", "M >= num_sms // 2")),
        _rules("one_warp_from_257", RULES.replace("128 < one_tile", "256 < one_tile")),
        _rules("a_border_of_12288", RULES.replace("16384", "12288")),
        _rules("two_thousand_lanes", RULES.replace("1024 //", "2048 //")),
        _rules("pieces_from_1024", RULES.replace("piece = 256", "piece = 1024")),
        _rules("warps_of_256", RULES.replace("// 512", "// 256")),
        _rules("twenty_four_lanes_a_thread", RULES.replace(">= 32", ">= 24")),
        _rules("warps_of_one_tile", RULES.replace("while two_tiles", "while one_tile")),
        _rules("pieces_by_elements", RULES.replace("M * -(-N // 32768) <= num_sms", "M * N <= 32768 * num_sms")),
        _rules("one_warp_for_narrow_rows", RULES.replace("128 < one_tile <= 1024", "one_tile <= 1024")),
        _rules("four_warps_for_all_rows", RULES.replace(WARPS, "num_warps = 4")),
        _rules("rows_by_width", FITS.replace("1024 // one_tile", "1024 // N") + TOGETHER + '    return ("loop",)', ("property", "does-not-compile")),
        _rules("warps_by_rows", FITS.replace(WARPS, "num_warps = 1").replace(">= 32", ">= 4") + TOGETHER + '    return ("loop",)'),
        Mutant("rows-and-columns-swapped", "norm_plan({M, N -> N, M}", seen="property"),
        Mutant("torch-stand-in",
            "{return norm_record(x, w, None -> as_rows(x, w)\n    return torch.nn.functional.rms_norm(x, w.shape, w}",
            seen=("no-kernel-launched", "torch-compute")),
    ],
    "softmax_record": [
        Mutant("first-tile-loaded-with-zeros", 'mask_b, other={float("-inf") -> 0.0}).to(', says="padding-counted",
            seen="wrong-values"),
        Mutant("no-other", 'mask_b{, other=float("-inf") -> }', seen=("no-other", "padding-counted"),
            only="interpreter"),
        Mutant("no-mask", '{, mask=mask_b, other=float("-inf") -> }', seen="reads-outside", only="interpreter"),
        Mutant("largest-of-the-first-tile", "{maximum(tl.max(x_a, axis=1), tl.max(x_b, axis=1) -> max(x_a, axis=1}",
            says="first-largest", seen="overflow"),
        Mutant("first-largest", "{maximum(tl.max(x_a, axis=1), tl.max(x_b, axis=1) -> max(x_b, axis=1}",
            seen=("overflow", "nothing-subtracted")),
        Mutant("each-tile-by-itself", "x_b - {largest -> tl.max(x_b, axis=1)}[:,",
            says="Each tile has a softmax of its own. Largest number and sum are those of the whole row.",
            seen=("wrong-values", "off-by-row")),
        Mutant("largest-of-all-rows",
            "{maximum(tl.max(x_a, axis=1), tl.max(x_b, axis=1 -> max(x_a, axis=1) * 0 + tl.maximum(tl.max(x_a), "
            "tl.max(x_b}",
            says="first-largest", seen=("nan", "overflow", "wrong-values", "nothing-subtracted")),
        Mutant("smaller-of-both", "largest = tl.{maximum -> minimum}", says="first-largest", seen="overflow"),
        Mutant("nothing-subtracted-too", "x_a{ - largest[:, None] -> }", "{ - largest[:, None] -> }",
            seen=("overflow", "nothing-subtracted")),
        Mutant("zeros-for-the-largest",
            "{max(x_a, axis=1), tl.max(x_b, axis=1) -> maximum(tl.max(x_a, axis=1), tl.max(x_b, axis=1)), 0.0}",
            says="nothing-subtracted", seen="overflow"),
        Mutant("own-largest", "x_a - {largest -> tl.max(x_a, axis=1)}[:,", "x_b - {largest -> tl.max(x_b, axis=1)}[",
            says="From each tile its own largest number is subtracted, and both are divided by one sum. Largest number "
                "and sum are those of the whole row."),
        Mutant("sum-of-the-tile", "{, axis=1) + tl.sum(e_b, axis=1)) -> ) + tl.sum(e_b)) + 0.0 * largest}",
            says="The exponentials of all rows are in one sum: `axis=1` for each row's.", seen="nan"),
        Mutant("a-large-number-for-infinity", 'mask_a, other={float("-inf") -> -1e4}).to(', '={float("-inf") -> -1e4}',
            says="padding-counted", seen=("wrong-values", "nan", "not-normalised", "zeros")),
        Mutant("largest-lies", " largest[{:, None -> None, :}]),",
            seen=("does-not-compile", "wrong-values", "nan", "raised")),
        Mutant("largest-numbers-added", "{tl.maximum(tl.max(x_a, axis=1), -> (tl.max(x_a, axis=1) +}",
            says="nothing-subtracted", seen=("overflow", "nan")),
        Mutant("first-tile-alone", "{(tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1) -> tl.sum(e_a, axis=1}",
            says="The sum knows the first tile alone. A row's sum is that of both tiles."),
        Mutant("second-tile-alone", "{(tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1) -> tl.sum(e_b, axis=1}",
            says="The sum knows the second tile alone. A row's sum is that of both tiles."),
        Mutant("first-sum-twice", ") + tl.sum({e_b -> e_a}", seen=("off-by-row", "constant-factor", "wrong-values")),
        Mutant("brackets-forgotten",
            "{(tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1) -> tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1}",
            seen=("off-by-row", "wrong-values")),
        Mutant("multiplied",
            "{1.0 / (tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1) -> tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1}",
            says="The exponentials are multiplied by their sum. They have to be divided by it."),
        Mutant("not-normalised",
            "{1.0 / (tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1) -> tl.full((BLOCK_M,), 1.0, tl.float32}"),
        Mutant("base-two", "e_b = tl.{exp -> exp2}(x_a", "None]), tl.{exp -> exp2}(",
            says="This is a softmax to base 2: `tl.exp`, not `tl.exp2`."),
        Mutant("first-tile-twice", "), tl.exp({x_b -> x_a} ",
            seen=("wrong-values", "does-not-compile", "raised", "wrong-tail", "reads-outside", "unwritten")),
        Mutant("torch-stand-in", seen=("no-kernel-launched", "torch-compute"),
            replace="def softmax_record(x):\n    return torch.softmax(x, dim=-1)\n"),
    ],
}

VARIANTS = {
    "norm_rows": [
        Variant("by-bits",
            "{triton.next_power_of_2(N) // 2, 1) … BLOCK_A, 1) -> 1 << (N - 1).bit_length() >> 1, 1)\n"
            "    return BLOCK_A, 1 << (max(N - BLOCK_A, 1) - 1).bit_length(}"),
        Variant("no-hint", "mask_a, other=0.0{, eviction_policy=KEEP -> }).to(tl.float32",
            "{, eviction_policy=KEEP -> }"),
        Variant("first-tile-is-full", "{tl.where(mask_a, x_a - mean[:, None], 0.0) -> x_a - mean[:, None]}",
            "* x_b, axis=1){ -> }"),
        Variant("sqrt-and-divide", "rstd = {tl.rsqrt -> 1 / tl.sqrt}"),
        Variant("masked-by-product", "{tl.where(mask_b, x_b - mean[:, None], 0.0) -> (x_b - mean[:, None]) * mask_b}"),
        Variant("upright-from-the-start",
            "{) + tl.sum(x_b, axis=1 -> , keep_dims=True) + tl.sum(x_b, axis=1, keep_dims=True}",
            "x_a - mean{[:, None] -> }, 0.", " mean{[:, None] -> }"),
    ],
    "norm_together": [
        Variant("weight-first", "{    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)\n -> }",
            "{ -> w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)\n    }tl.store(mean_ptr"),
        Variant("weight-after-the-wait",
            "{    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)\n -> }",
            "{ ->     w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)\n}    places = row"),
        Variant("other-order-of-stores",
            "{mean_ptr + pid, mean)\n"
            "    tl.store(m2_ptr + pid, m2 -> m2_ptr + pid, m2)\n"
            "    tl.store(mean_ptr + pid, mean}"),
        Variant("place-by-row-and-piece", "{pid -> row * PIECES + pid % PIECES}, mean",
            "m2_ptr + {pid -> row * PIECES + pid % PIECES}"),
        Variant("pointers-moved",
            "{places = row * PIECES + -> mean_ptr += row * PIECES\n    m2_ptr += row * PIECES\n    places =}"),
        Variant("no-modifier", 'mean_ptr + places, mask=mask_s, other=0.0{, cache_modifier=".cg" -> })',
            '{, cache_modifier=".cg" -> }'),
        Variant("two-sums",
            "{tl.sum(m2_s + n_s * apart * apart, axis=0 -> (tl.sum(m2_s, axis=0) + tl.sum(n_s * apart * apart, "
            "axis=0)}"),
    ],
    "rmsnorm_record": [
        Variant("two-rules-turned",
            '{<= 16384 or (N … return ("loop",) -> > 32768 or (N > 16384 and M < num_sms):\n'
            "        if M * -(-N // 32768) > num_sms:\n"
            '            return ("loop",)\n'
            "        piece = 256\n"
            "        while M * -(-N // piece) > num_sms:\n"
            "            piece *= 2\n"
            '        return "together", piece, min(max(piece // 512, 1), 16)\n'
            "    num_warps = 1 if 128 < one_tile <= 1024 else 4\n"
            "    while two_tiles // (2 * num_warps * 32) >= 32:\n"
            "        num_warps *= 2\n"
            '    return "rows", max(1, 1024 // one_tile), num_warps}'),
        Variant("piece-by-division",
            "{piece = 256 … piece *= 2 -> each = num_sms // max(M, 1)  # programs for a row\n"
            "        piece = max(256, triton.next_power_of_2(-(-N // each)))}"),
        Variant("warps-by-threads", "{two_tiles // (2 * num_warps * 32) >= 32 -> num_warps * 32 * 64 <= two_tiles}"),
        Variant("warps-by-a-formula",
            "{one_tile <= 1024 else 4 … num_warps *= 2 -> N <= 1024 else max(4, triton.next_power_of_2(two_tiles // "
            "1024 + 1) // 2)}"),
    ],
    "softmax_record": [
        Variant("divided",
            "{scale = 1.0 / (tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1)) -> total = tl.sum(e_a, axis=1) + "
            "tl.sum(e_b, axis=1)\n"
            "    scale = 1 / total}"),
        Variant("upright-from-the-start",
            "{), tl.max(x_b, axis=1 -> , keep_dims=True), tl.max(x_b, axis=1, keep_dims=True}",
            " largest{[:, None] -> }),", "largest{[:, None] -> }"),
        Variant("by-exp2", "{exp(x_a - largest[:, None] -> exp2((x_a - largest[:, None]) * 1.4426950408889634}",
            "{exp(x_b - largest[:, None] -> exp2((x_b - largest[:, None]) * 1.4426950408889634}"),
        Variant("first-tile-is-full", 'mask_a, other={float("-inf") -> 0.0}).to('),
        Variant("float32-from-the-largest-on", 'mask_a, other=float("-inf")){.to(tl.float32) -> }',
            "{.to(tl.float32) -> }"),
    ],
}

EQUIVALENT = {
    "norm_rows": {
        "BLOCK_A = max(triton.next_power_of_2(N) // 2, 1) => BLOCK_A = max(triton.cdiv(triton.next_power_of_2(N), 2), 1)": "differs for 1 alone, and 1 is the least",
        "x_a = tl.where(mask_a, x_a - mean[:, None], 0.0) => x_a = x_a - mean[:, None]": "the first tile is full but for rows that do not exist",
        "x_a = tl.load(a_ptrs, mask=mask_a, other=0.0, eviction_policy=KEEP).to(tl.float32) => x_a = tl.load(a_ptrs, mask=mask_a, eviction_policy=KEEP).to(tl.float32)": "the first tile is full but for rows that do not exist",
        "x_a = tl.where(mask_a, x_a - mean[:, None], 0.0) => x_a = tl.where(mask_a, x_a - mean[:, None], 1.0)": "the first tile is full but for rows that do not exist",
        "x_a = tl.load(a_ptrs, mask=mask_a, other=0.0, eviction_policy=KEEP).to(tl.float32) => x_a = tl.load(a_ptrs, mask=mask_a, other=1.0, eviction_policy=KEEP).to(tl.float32)": "the first tile is full but for rows that do not exist",
    },
    "norm_together": {
        "w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0)": "float32 all the same: the other operand is",
        "mean = tl.sum(n_s * mean_s, axis=0) / N => mean = tl.sum(n_s * mean_s) / N": "a tile of one dimension has one axis",
        "variance = tl.sum(m2_s + n_s * apart * apart, axis=0) / N => variance = tl.sum(m2_s + n_s * apart * apart) / N": "a tile of one dimension has one axis",
        "w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32)": "what these masked lanes hold reaches no result: no store takes it",
        "w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=1.0).to(tl.float32)": "what these masked lanes hold reaches no result: no store takes it",
        'mean_s = tl.load(mean_ptr + places, mask=mask_s, other=0.0, cache_modifier=".cg") => mean_s = tl.load(mean_ptr + places, mask=mask_s, other=1.0, cache_modifier=".cg")': "a lane without a piece counts 0 elements",
    },
    "rmsnorm_record": {
        "if M * -(-N // 32768) <= num_sms: => if M * -(-N // 32768) < num_sms:": "the border itself: both ways take as long there",
        "if N <= 16384 or (N <= 32768 and M >= num_sms): => if N < 16384 or (N <= 32768 and M >= num_sms):": "the border itself: both ways take as long there",
        "if N <= 16384 or (N <= 32768 and M >= num_sms): => if N <= 16385 or (N <= 32768 and M >= num_sms):": "the border itself: both ways take as long there",
        "if N <= 16384 or (N <= 32768 and M >= num_sms): => if N <= 16384 or (N < 32768 and M >= num_sms):": "the border itself: both ways take as long there",
        "if N <= 16384 or (N <= 32768 and M >= num_sms): => if N <= 16384 or (N <= 32768 and M > num_sms):": "the border itself: both ways take as long there",
        "if N <= 16384 or (N <= 32768 and M >= num_sms): => if N <= 16384 or (N <= 32769 and M >= num_sms):": "the border itself: both ways take as long there",
        "if M * -(-N // 32768) <= num_sms: => if M * -(-N // 32769) <= num_sms:": "the border itself: both ways take as long there",
        "num_warps = 1 if 128 < one_tile <= 1024 else 4 => num_warps = 1 if 129 < one_tile <= 1024 else 4": "lanes of a tile are a power of two",
        "num_warps = 1 if 128 < one_tile <= 1024 else 4 => num_warps = 1 if 128 < one_tile <= 1025 else 4": "lanes of a tile are a power of two",
        "while two_tiles // (2 * num_warps * 32) >= 32: => while triton.cdiv(two_tiles, 2 * num_warps * 32) >= 32:": "lanes are a sum of two powers of two: none lies just below the border",
        "while M * -(-N // piece) > num_sms: => while M * -(-N // piece) >= num_sms:": "it differs where every multiprocessor would have a piece",
        "piece = 256 => piece = 1": "long rows end at larger pieces all the same",
        'return "rows", max(1, 1024 // one_tile), num_warps => return "rows", max(1, triton.cdiv(1024, one_tile)), num_warps': "both are powers of two",
        'return "together", piece, min(max(piece // 512, 1), 16) => return "together", piece, min(max(triton.cdiv(piece, 512), 1), 16)': "it differs for 256, where both are 1",
    },
    "softmax_record": {
        'x_a = tl.load(a_ptrs, mask=mask_a, other=float("-inf")).to(tl.float32) => x_a = tl.load(a_ptrs, mask=mask_a, other=float("-inf"))': "float32 all the same: tl.max gives it, and the difference from it",
        'x_b = tl.load(b_ptrs, mask=mask_b, other=float("-inf")).to(tl.float32) => x_b = tl.load(b_ptrs, mask=mask_b, other=float("-inf"))': "float32 all the same: tl.max gives it, and the difference from it",
        'x_a = tl.load(a_ptrs, mask=mask_a, other=float("-inf")).to(tl.float32) => x_a = tl.load(a_ptrs, mask=mask_a).to(tl.float32)': "the first tile is full but for rows that do not exist",
        'x_a = tl.load(a_ptrs, mask=mask_a, other=float("-inf")).to(tl.float32) => x_a = tl.load(a_ptrs, mask=mask_a, other=0.0).to(tl.float32)': "the first tile is full but for rows that do not exist",
    },
}
