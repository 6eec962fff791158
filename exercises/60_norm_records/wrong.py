"""Wrong answers of 60_norm_records with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

# --- norm_rows
LOAD_A = "    x_a = tl.load(a_ptrs, mask=mask_a, other=0.0, eviction_policy=KEEP).to(tl.float32)\n"
LOAD_B = LOAD_A.replace("x_a", "x_b").replace("a_ptrs", "b_ptrs").replace("mask_a", "mask_b")
MEAN_OF_BOTH = "mean = (tl.sum(x_a, axis=1) + tl.sum(x_b, axis=1)) / N"
CENTRE_A = "x_a = tl.where(mask_a, x_a - mean[:, None], 0.0)"
CENTRE_B = CENTRE_A.replace("_a", "_b")
SQUARES = "squares = tl.sum(x_a * x_a, axis=1) + tl.sum(x_b * x_b, axis=1)"
RSTD = "rstd = tl.rsqrt(squares / N + eps)"
BLOCK_A = "    BLOCK_A = max(triton.next_power_of_2(N) // 2, 1)\n"
BLOCK_B = "    return BLOCK_A, triton.next_power_of_2(max(N - BLOCK_A, 1))\n"
GRID = "norm_rows_kernel[(-(-M // rows),)]"
WIDE = "too-wide-a-tile"

# --- norm_together
W_LOAD = "    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)\n"
BOTH = "    tl.store(mean_ptr + pid, mean)\n    tl.store(m2_ptr + pid, m2)\n"
WAIT = "    wait_for_all(arrived_ptr + row, PIECES)\n"
PLACES = "places = row * PIECES + offs_s"
MEAN_S = 'mean_s = tl.load(mean_ptr + places, mask=mask_s, other=0.0, cache_modifier=".cg")'
M2_S = 'm2_s = tl.load(m2_ptr + places, mask=mask_s, other=0.0, cache_modifier=".cg")'
LOADS = f"    {PLACES}\n    {MEAN_S}\n    {M2_S}\n"
MEAN = "mean = tl.sum(n_s * mean_s, axis=0) / N"
APART = "apart = mean_s - mean"
VARIANCE = "variance = tl.sum(m2_s + n_s * apart * apart, axis=0) / N"
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

# --- softmax
X_A = 'x_a = tl.load(a_ptrs, mask=mask_a, other=float("-inf")).to(tl.float32)'
X_B = X_A.replace("x_a", "x_b").replace("a_ptrs", "b_ptrs").replace("mask_a", "mask_b")
LARGEST = "largest = tl.maximum(tl.max(x_a, axis=1), tl.max(x_b, axis=1))"
E_A = "tl.exp(x_a - largest[:, None])"
E_B = E_A.replace("_a", "_b")
SCALE = "scale = 1.0 / (tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1))"


def _rules(name, text, expected=("property",)):
    """A wrong plan: other rules."""
    return Mutant(name, expected, (RULES, text.rstrip("\n") + "\n"))


MUTANTS = {
    "norm_rows": [
        # --- sums of both tiles
        Mutant("sums_of_the_first_tile", "first-tile-alone", (MEAN_OF_BOTH, "mean = tl.sum(x_a, axis=1) / N"), (SQUARES, "squares = tl.sum(x_a * x_a, axis=1)")),
        Mutant("sums_of_the_second_tile", "second-tile-alone", (MEAN_OF_BOTH, "mean = tl.sum(x_b, axis=1) / N"), (SQUARES, "squares = tl.sum(x_b * x_b, axis=1)")),
        Mutant("squares_of_the_first_tile", ("first-tile-alone", "squares-of-the-first-tile"), (SQUARES, "squares = tl.sum(x_a * x_a, axis=1)")),
        Mutant("mean_of_the_first_tile", "mean-of-the-first-tile", (MEAN_OF_BOTH, "mean = tl.sum(x_a, axis=1) / N")),
        Mutant("each_tile_its_mean", "own-mean", (MEAN_OF_BOTH, "mean = tl.sum(x_a, axis=1) / BLOCK_A"), (CENTRE_B, CENTRE_B.replace("mean[:, None]", "(tl.sum(x_b, axis=1) / (N - BLOCK_A))[:, None]"))),
        Mutant("second_tile_not_centred", "first-tile-centred", (CENTRE_B, "pass")),
        Mutant("first_tile_twice", ("off-by-row",), (SQUARES, SQUARES.replace("x_b * x_b", "x_a * x_a"))),
        Mutant("squares_of_the_sums", "off-by-row", (SQUARES, "both = tl.sum(x_a, axis=1) + tl.sum(x_b, axis=1)\n    squares = both * both")),
        Mutant("brackets_forgotten", "only-the-second-divided", (MEAN_OF_BOTH, "mean = tl.sum(x_a, axis=1) + tl.sum(x_b, axis=1) / N")),
        # --- masks
        Mutant("padding_not_zeroed", ("padding-counted", "second-tile-padding"), (CENTRE_B, "x_b = x_b - mean[:, None]")),
        Mutant("load_without_mask", ("reads-outside",), (LOAD_B, LOAD_B.replace("mask=mask_b, other=0.0, ", "")), only="interpreter"),
        Mutant("other_forgotten", "no-other", (LOAD_B, LOAD_B.replace("other=0.0, ", "")), only="interpreter"),
        Mutant("masked_lanes_hold_one", ("masked-lanes-counted", "off-by-row", "wrong-values"), (LOAD_B, LOAD_B.replace("other=0.0", "other=1.0"))),
        Mutant("masks_swapped", ("raised", "does-not-compile", "wrong-values"), (LOAD_A, LOAD_A.replace("mask_a", "mask_b")), (LOAD_B, LOAD_B.replace("mask_b", "mask_a"))),
        # --- loads
        Mutant("first_tile_loaded_twice", ("raised", "wrong-tail", "wrong-values", "does-not-compile"), (LOAD_B, LOAD_B.replace("b_ptrs", "rows + tl.arange(0, BLOCK_B)[None, :]"))),
        Mutant("squares_in_half", ("squares-overflow", "overflow", "nan", "wrong-values"), (LOAD_A, LOAD_A.replace(".to(tl.float32)", "")), (LOAD_B, LOAD_B.replace(".to(tl.float32)", ""))),
        Mutant("elements_two_apart", ("reads-outside", "wrong-values", "strided-only"), (LOAD_A, LOAD_A.replace("a_ptrs", "rows + 2 * offs_a[None, :]"))),
        # --- the formula
        Mutant("never_centred", ("rmsnorm", "mean-not-subtracted", "mean-square-for-variance"), ("if b_ptr is not None:\n        mean", "if False:\n        mean")),
        Mutant("always_centred", ("layernorm",), ("if b_ptr is not None:\n        mean", "if True:\n        mean")),
        Mutant("the_other_way_round", ("layernorm",), ("if b_ptr is not None:\n        mean", "if b_ptr is None:\n        mean")),
        Mutant("mean_not_divided", ("sum-for-mean", "sum-for-mean-layernorm"), (MEAN_OF_BOTH, MEAN_OF_BOTH.replace(" / N", ""))),
        Mutant("squares_not_divided", ("sum-not-mean",), (RSTD, RSTD.replace(" / N", ""))),
        Mutant("divided_by_n_minus_1", ("unbiased", "unbiased-layernorm"), (RSTD, RSTD.replace("/ N", "/ (N - 1)"))),
        Mutant("mean_over_the_lanes", ("mean-over-tile", "wrong-values"), (MEAN_OF_BOTH, MEAN_OF_BOTH.replace("/ N", "/ (BLOCK_A + BLOCK_B)"))),
        Mutant("both_over_the_lanes", "divided-by-lanes", (MEAN_OF_BOTH, MEAN_OF_BOTH.replace("/ N", "/ (BLOCK_A + BLOCK_B)")), (RSTD, RSTD.replace("/ N", "/ (BLOCK_A + BLOCK_B)"))),
        Mutant("no_eps", ("no-eps", "no-eps-layernorm"), (RSTD, RSTD.replace(" + eps", ""))),
        Mutant("eps_outside", ("eps-outside-root", "eps-outside-root-layernorm"), (RSTD, "rstd = 1 / (tl.sqrt(squares / N) + eps)")),
        Mutant("root_for_its_inverse", ("root-for-its-inverse",), (RSTD, RSTD.replace("tl.rsqrt", "tl.sqrt"))),
        Mutant("sum_of_the_whole_tile", ("off-by-row", "sum-of-all-rows"), (SQUARES, "squares = tl.sum(x_a * x_a) + tl.sum(x_b * x_b) + 0.0 * tl.sum(x_a, axis=1)")),
        Mutant("digits_lost", "property", (MEAN_OF_BOTH, MEAN_OF_BOTH + "\n        raw = tl.sum(x_a * x_a, axis=1) + tl.sum(x_b * x_b, axis=1) - N * mean * mean"), (SQUARES, SQUARES + "\n    if b_ptr is not None:\n        squares = raw")),
        Mutant("rstd_twice", "no-root", (RSTD, RSTD + "\n    x_a *= rstd[:, None]\n    x_b *= rstd[:, None]")),
        # --- the wrapper
        Mutant("one_tile_is_enough", "property", (BLOCK_A, "    BLOCK_A = triton.next_power_of_2(N)\n")),
        Mutant("half_twice", "property", (BLOCK_A, "    BLOCK_A = max(triton.next_power_of_2(N) // 4, 1)\n"), (BLOCK_B, "    return BLOCK_A, BLOCK_A\n")),
        Mutant("halves_twice", "property", (BLOCK_B, "    return BLOCK_A, BLOCK_A\n")),
        Mutant("rest_rounded_down", "property", (BLOCK_B, "    return BLOCK_A, max(1 << max(N - BLOCK_A, 1).bit_length() - 1, 1)\n")),
        Mutant("rest_not_rounded", "property", (BLOCK_B, "    return BLOCK_A, max(N - BLOCK_A, 1)\n")),
        Mutant("widths_swapped", "property", (BLOCK_B, "    return triton.next_power_of_2(max(N - BLOCK_A, 1)), BLOCK_A\n")),
        Mutant("none_for_one_element", "property", (BLOCK_A, "    BLOCK_A = triton.next_power_of_2(N) // 2\n")),
        Mutant("none_for_the_rest", "property", (BLOCK_B, "    return BLOCK_A, triton.next_power_of_2(N - BLOCK_A)\n"), (BLOCK_A, "    BLOCK_A = triton.next_power_of_2(N)\n")),
        Mutant("torch_stand_in", ("no-kernel-launched", "torch-compute"), replace="def tile_widths(N):\n" + BLOCK_A + BLOCK_B + "\n\ndef norm_rows(x, w, b=None, eps=1e-6, rows=4, num_warps=4, keep=''):\n    as_rows(x, w, b)\n    if b is None:\n        return torch.nn.functional.rms_norm(x, w.shape, w, eps)\n    return torch.nn.functional.layer_norm(x, w.shape, w, b, eps)\n"),
    ],
    "norm_together": [
        Mutant("sum_stored", ("sum-for-mean", "sum-for-mean-layernorm"), (BOTH, BOTH.replace("mean_ptr + pid, mean", "mean_ptr + pid, tl.sum(x, axis=0)"))),
        # --- the order
        Mutant("nobody_waits", EARLY, (WAIT, "")),
        Mutant("loads_before_the_wait", EARLY, (WAIT + LOADS, LOADS + WAIT)),
        Mutant("one_load_before_the_wait", EARLY, (WAIT, f"    {PLACES}\n    {M2_S}\n" + WAIT), (f"    {M2_S}\n    {MEAN}", f"    {MEAN}")),
        Mutant("stores_after_the_wait", EARLY, (BOTH, ""), (WAIT, WAIT + BOTH)),
        Mutant("one_store_after_the_wait", EARLY, ("    tl.store(m2_ptr + pid, m2)\n", ""), (WAIT, WAIT + "    tl.store(m2_ptr + pid, m2)\n")),
        Mutant("mean_not_stored", EARLY, ("    tl.store(mean_ptr + pid, mean)\n", "")),
        Mutant("m2_not_stored", EARLY, ("    tl.store(m2_ptr + pid, m2)\n", "")),
        Mutant("waits_for_one_more", ("raised",), (WAIT, WAIT.replace("PIECES", "PIECES + 1")), only="interpreter"),
        Mutant("waits_for_the_lanes", ("raised",), (WAIT, WAIT.replace("PIECES", "BLOCK_S")), only="interpreter"),
        Mutant("waits_for_one", EARLY, (WAIT, WAIT.replace("PIECES", "1"))),
        Mutant("waits_at_the_first_counter", ("raised", *EARLY), (WAIT, WAIT.replace("arrived_ptr + row", "arrived_ptr")), only="interpreter"),
        Mutant("a_counter_each", ("raised", "reads-outside", "out-of-bounds-store"), (WAIT, WAIT.replace("+ row", "+ pid")), only="interpreter"),
        # --- places
        Mutant("places_of_row_0", EARLY + ("first-row",), (PLACES, "places = offs_s"), on_gpu=("first-row-for-all",)),
        Mutant("places_from_pid", ("reads-outside", "reads-unwritten", "wrong-values"), (PLACES, "places = pid + offs_s")),
        Mutant("rows_of_lanes", ("reads-outside", "reads-unwritten", "wrong-values", "rows-after-first", "nan"), (PLACES, PLACES.replace("PIECES", "BLOCK_S"))),
        Mutant("stored_at_the_piece", ("nan", "race", "wrong-values"), (BOTH, BOTH.replace("+ pid", "+ pid % PIECES"))),
        Mutant("swapped", "stores-swapped", (MEAN_S, MEAN_S.replace("mean_ptr", "m2_ptr")), (M2_S, M2_S.replace("m2_ptr", "mean_ptr"))),
        Mutant("own_again", ("own-statistics",), (LOADS, ""), (MEAN, "mean = mean"), (APART, "pass"), (VARIANCE, "variance = m2 / tl.minimum(N - start, BLOCK_N)")),
        # --- the merge
        Mutant("mean_of_means", ("mean-of-means",), (MEAN, "mean = tl.sum(mean_s, axis=0) / PIECES")),
        Mutant("means_summed", ("wrong-values", "mean-of-means"), (MEAN, "mean = tl.sum(mean_s, axis=0)")),
        Mutant("only_their_m2", ("m2-of-pieces",), (VARIANCE, "variance = tl.sum(m2_s, axis=0) / N")),
        Mutant("divided_by_pieces", "divided-by-pieces", (VARIANCE, VARIANCE.replace("/ N", "/ PIECES"))),
        Mutant("mean_subtracted_again", "nan", (VARIANCE, "variance = tl.sum(m2_s, axis=0) / N - mean * mean")),
        Mutant("digits_lost", "property", (VARIANCE, "variance = (tl.sum(m2_s + n_s * mean_s * mean_s, axis=0) - N * mean * mean) / N")),
        Mutant("distance_not_weighted", ("distance-not-weighted",), (VARIANCE, VARIANCE.replace("n_s * apart", "apart"))),
        Mutant("m2_times_n", "m2-times-n", (VARIANCE, "variance = tl.sum(n_s * (m2_s + apart * apart), axis=0) / N")),
        Mutant("distance_not_squared", ("distance-not-squared", "m2-of-pieces"), (VARIANCE, VARIANCE.replace("n_s * apart * apart", "n_s * apart"))),
        Mutant("not_divided", ("sum-not-divided", "sum-not-mean"), (VARIANCE, VARIANCE.replace(" / N", ""))),
        Mutant("mean_not_divided", ("wrong-values", "sum-for-mean"), (MEAN, MEAN.replace(" / N", ""))),
        Mutant("divided_by_n_minus_1", ("unbiased", "wrong-values", "constant-factor", "unbiased-layernorm"), (VARIANCE, VARIANCE.replace("/ N", "/ (N - 1)"))),
        Mutant("idle_lanes_hold_one", ("off-by-row", "masked-lanes-counted"), (M2_S, M2_S.replace("other=0.0", "other=1.0"))),
        Mutant("m2_without_other", "no-other", (M2_S, M2_S.replace(", other=0.0", "")), only="interpreter"),
        Mutant("own_mean", ("wrong-values",), (MEAN, "pass")),
        # --- y
        Mutant("own_means", "own-means", ("y = (x - mean)", "y = centred")),
        Mutant("mean_not_subtracted", ("mean-not-subtracted", "rmsnorm", "mean-kept"), ("y = (x - mean)", "y = x")),
        Mutant("bias_forgotten", ("no-bias", "unused-input"), ("* w + b\n", "* w\n")),
        Mutant("no_eps", ("no-eps", "no-eps-layernorm"), ("variance + eps", "variance")),
        Mutant("rows_as_x", ("strided-only", "out-of-bounds-store", "unwritten"), ("y_ptr + row * N", "y_ptr + row * STRIDE_XM")),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race"), ("offs_n, y, mask=mask_n)", "offs_n, y)")),
        Mutant("every_piece_first", ("race", "unwritten-tail", "unwritten", "out-of-bounds-store"), ("y_ptr + row * N + offs_n", "y_ptr + row * N + tl.arange(0, BLOCK_N)")),
        # --- the weight
        Mutant("first_weights", ("wrong-tail", "first-weights"), (W_LOAD, W_LOAD.replace("offs_n,", "tl.arange(0, BLOCK_N),"))),
        Mutant("no_weight", "no-weight", (W_LOAD, "    w = 1.0\n")),
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
        Mutant("rows_and_columns_swapped", "property", ("def norm_plan(M, N, num_sms):", "def norm_plan(N, M, num_sms):")),
        Mutant("torch_stand_in", ("no-kernel-launched", "torch-compute"), ("    return norm_record(x, w, None, eps)", "    as_rows(x, w)\n    return torch.nn.functional.rms_norm(x, w.shape, w, eps)")),
    ],
    "softmax_record": [
        Mutant("first_tile_loaded_with_zeros", ("padding-counted", "masked-lanes-counted", "wrong-values"), (X_B, X_B.replace('float("-inf")', "0.0"))),
        Mutant("no_other", ("no-other", "padding-counted"), (X_B, X_B.replace(', other=float("-inf")', "")), only="interpreter"),
        Mutant("no_mask", ("reads-outside",), (X_B, X_B.replace('mask=mask_b, other=float("-inf")', "").replace(", )", ")")), only="interpreter"),
        Mutant("largest_of_the_first_tile", ("overflow", "first-largest"), (LARGEST, "largest = tl.max(x_a, axis=1)")),
        Mutant("largest_of_the_second_tile", ("overflow", "second-largest", "nothing-subtracted"), (LARGEST, "largest = tl.max(x_b, axis=1)")),
        Mutant("each_its_largest", ("wrong-values", "each-tile-by-itself", "off-by-row"), (E_B, "tl.exp(x_b - tl.max(x_b, axis=1)[:, None])")),
        Mutant("largest_of_all_rows", ("nan", "overflow", "wrong-values", "first-largest", "nothing-subtracted"), (LARGEST, "largest = tl.max(x_a, axis=1) * 0 + tl.maximum(tl.max(x_a), tl.max(x_b))")),
        Mutant("smaller_of_both", ("overflow", "first-largest"), (LARGEST, LARGEST.replace("tl.maximum", "tl.minimum"))),
        Mutant("nothing_subtracted", ("overflow", "nothing-subtracted"), (E_A, "tl.exp(x_a)"), (E_B, "tl.exp(x_b)")),
        Mutant("zeros_for_the_largest", ("nothing-subtracted", "overflow"), (LARGEST, "largest = tl.maximum(tl.maximum(tl.max(x_a, axis=1), tl.max(x_b, axis=1)), 0.0)")),
        Mutant("own_largest_one_sum", "own-largest", (E_A, E_A.replace("largest", "tl.max(x_a, axis=1)")), (E_B, E_B.replace("largest", "tl.max(x_b, axis=1)"))),
        Mutant("sum_of_the_whole_tile", ("sum-of-the-tile", "nan"), (SCALE, "scale = 1.0 / (tl.sum(e_a) + tl.sum(e_b)) + 0.0 * largest")),
        Mutant("a_large_number_for_infinity", ("padding-counted", "wrong-values", "nan", "not-normalised", "zeros"), (X_A, X_A.replace('float("-inf")', "-1e4")), (X_B, X_B.replace('float("-inf")', "-1e4"))),
        Mutant("largest_lies", ("does-not-compile", "wrong-values", "nan", "raised"), (E_A, E_A.replace("[:, None]", "[None, :]"))),
        Mutant("largest_numbers_added", ("nothing-subtracted", "overflow", "nan"), (LARGEST, LARGEST.replace("tl.maximum(tl.max(x_a, axis=1), ", "(tl.max(x_a, axis=1) + "))),
        Mutant("sum_of_the_first_tile", "first-tile-alone", (SCALE, "scale = 1.0 / tl.sum(e_a, axis=1)")),
        Mutant("sum_of_the_second_tile", "second-tile-alone", (SCALE, "scale = 1.0 / tl.sum(e_b, axis=1)")),
        Mutant("first_sum_twice", ("off-by-row", "constant-factor", "wrong-values"), (SCALE, SCALE.replace("e_b", "e_a"))),
        Mutant("brackets_forgotten", ("off-by-row", "wrong-values"), (SCALE, "scale = 1.0 / tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1)")),
        Mutant("multiplied", "multiplied", (SCALE, "scale = tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1)")),
        Mutant("not_normalised", "not-normalised", (SCALE, "scale = tl.full((BLOCK_M,), 1.0, tl.float32)")),
        Mutant("base_two", "base-two", (E_A, E_A.replace("exp", "exp2")), (E_B, E_B.replace("exp", "exp2"))),
        Mutant("first_tile_twice", ("wrong-values", "does-not-compile", "raised", "wrong-tail", "reads-outside", "unwritten"), (E_B, E_B.replace("x_b", "x_a"))),
        Mutant("torch_stand_in", ("no-kernel-launched", "torch-compute"), replace="def softmax_record(x):\n    return torch.softmax(x, dim=-1)\n"),
    ],
}

VARIANTS = {
    "norm_rows": [
        Variant("by_bits", (BLOCK_A + BLOCK_B, "    BLOCK_A = max(1 << (N - 1).bit_length() >> 1, 1)\n    return BLOCK_A, 1 << (max(N - BLOCK_A, 1) - 1).bit_length()\n")),
        Variant("no_hint", (LOAD_A, LOAD_A.replace(", eviction_policy=KEEP", "")), (LOAD_B, LOAD_B.replace(", eviction_policy=KEEP", ""))),
        Variant("first_tile_is_full", (CENTRE_A, "x_a = x_a - mean[:, None]"), (SQUARES, SQUARES)),
        Variant("sqrt_and_divide", (RSTD, "rstd = 1 / tl.sqrt(squares / N + eps)")),
        Variant("masked_by_product", (CENTRE_B, "x_b = (x_b - mean[:, None]) * mask_b")),
        Variant("upright_from_the_start", (MEAN_OF_BOTH, "mean = (tl.sum(x_a, axis=1, keep_dims=True) + tl.sum(x_b, axis=1, keep_dims=True)) / N"), (CENTRE_A, CENTRE_A.replace("[:, None]", "")), (CENTRE_B, CENTRE_B.replace("[:, None]", ""))),
    ],
    "norm_together": [
        Variant("weight_first", (W_LOAD, ""), (BOTH, W_LOAD + BOTH)),
        Variant("weight_after_the_wait", (W_LOAD, ""), (WAIT, WAIT + W_LOAD)),
        Variant("other_order_of_stores", (BOTH, "    tl.store(m2_ptr + pid, m2)\n    tl.store(mean_ptr + pid, mean)\n")),
        Variant("place_by_row_and_piece", (BOTH, BOTH.replace("+ pid", "+ row * PIECES + pid % PIECES"))),
        Variant("pointers_moved", (LOADS, LOADS.replace(PLACES, "mean_ptr += row * PIECES\n    m2_ptr += row * PIECES\n    places = offs_s"))),
        Variant("no_modifier", (MEAN_S, MEAN_S.replace(', cache_modifier=".cg"', "")), (M2_S, M2_S.replace(', cache_modifier=".cg"', ""))),
        Variant("two_sums", (VARIANCE, "variance = (tl.sum(m2_s, axis=0) + tl.sum(n_s * apart * apart, axis=0)) / N")),
    ],
    "rmsnorm_record": [
        Variant("two_rules_turned", (RULES, "    if N > 32768 or (N > 16384 and M < num_sms):\n        if M * -(-N // 32768) > num_sms:\n            return (\"loop\",)\n" + PIECES.replace("        ", "        ") + FITS.partition("\n")[2].replace("        ", "    "))),
        Variant("piece_by_division", (PIECES, PIECES.replace("        piece = 256\n        while M * -(-N // piece) > num_sms:\n            piece *= 2\n", "        each = num_sms // max(M, 1)  # programs for a row\n        piece = max(256, triton.next_power_of_2(-(-N // each)))\n"))),
        Variant("warps_by_threads", (FITS, FITS.replace("two_tiles // (2 * num_warps * 32) >= 32", "num_warps * 32 * 64 <= two_tiles"))),
        Variant("warps_by_a_formula", (FITS, FITS.replace(f"        {WARPS}\n        while two_tiles // (2 * num_warps * 32) >= 32:\n            num_warps *= 2\n", "        num_warps = 1 if 128 < N <= 1024 else max(4, triton.next_power_of_2(two_tiles // 1024 + 1) // 2)\n"))),
    ],
    "softmax_record": [
        Variant("divided", (SCALE, "total = tl.sum(e_a, axis=1) + tl.sum(e_b, axis=1)\n    scale = 1 / total")),
        Variant("upright_from_the_start", (LARGEST, LARGEST.replace("axis=1)", "axis=1, keep_dims=True)")), (E_A, E_A.replace("[:, None]", "")), (E_B, E_B.replace("[:, None]", ""))),
        Variant("by_exp2", (E_A, "tl.exp2((x_a - largest[:, None]) * 1.4426950408889634)"), (E_B, "tl.exp2((x_b - largest[:, None]) * 1.4426950408889634)")),
        Variant("first_tile_is_full", (X_A, X_A.replace('float("-inf")', "0.0"))),
        Variant("float32_from_the_largest_on", (X_A, X_A.replace(".to(tl.float32)", "")), (X_B, X_B.replace(".to(tl.float32)", ""))),
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
