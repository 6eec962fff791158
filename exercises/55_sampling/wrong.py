"""Wrong answers of 55_sampling with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

OFFS = "offs = pid * BLOCK + tl.arange(0, BLOCK)"
LOAD_X = "x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)"
KEEP = "keep = tl.rand(seed, offs) >= p"
Y = "y = tl.where(keep, x / (1 - p), 0.0)"
STORE_Y = "tl.store(y_ptr + offs, y, mask=mask)"

START = 'best, word = float("-inf"), 0'
LOAD_Z = 'z = tl.load(row_ptr + offs_v, mask=offs_v < V, other=float("-inf"))'
U = "u = tl.maximum(tl.rand(seed, pid_b * V + offs_v), 1e-10)"
SCORES = "scores = z.to(tl.float32) - temperature * tl.log(-tl.log(u))"
TOP = "top, lane = tl.max(scores, axis=0, return_indices=True)"
WORD = "word = tl.where(top > best, start + lane, word)"
BEST = "best = tl.maximum(best, top)"
ALLOWED = "logits.stride(1) != 1 or temperature < 0"

E = "e = tl.exp(z.to(tl.float32) - m_i)"
MASS = "mass += tl.sum(tl.where(z >= mid, e, 0.0), axis=0)"
ENOUGH = "enough = mass >= p * l_i"
MOVE = "lo, hi = tl.where(enough, mid, lo), tl.where(enough, hi, mid)"
AGAIN = "z = tl.load(row_ptr + offs_v, mask=offs_v < V)\n"
KEPT = 'kept = tl.where(z >= lo, z, float("-inf"))'
STORE_Z = "tl.store(out_row_ptr + offs_v, kept, mask=offs_v < V)"
WALK = '        mass = 0.0\n        for start in range(0, V, BLOCK_V):'

WORD_BY_WORD = """@triton.jit
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


def sample(logits, temperature, seed, block=4096):
    if logits.ndim != 2 or logits.stride(1) != 1 or temperature < 0:
        raise ValueError("logits must be (B, V), words side by side; temperature at least 0")
    B, V = logits.shape
    words = torch.empty(B, dtype=torch.int64, device=logits.device)
    if B > 0:
        sample_kernel[(B,)](logits, words, V, logits.stride(0), temperature, seed)
    return words
"""

BADLY = ("wrong-values", "wrong-tail", "rows-after-first")

MUTANTS = {
    "dropout": [
        Mutant("counters_of_a_tile", "counters-of-a-tile", (KEEP, "keep = tl.rand(seed, tl.arange(0, BLOCK)) >= p")),
        Mutant("counters_overlap", "counters-overlap", (KEEP, KEEP.replace("offs", "pid + tl.arange(0, BLOCK)"))),
        Mutant("one_number_for_a_tile", "number-of-a-program", (KEEP, "keep = tl.rand(seed, pid + tl.zeros((BLOCK,), tl.int32)) >= p")),
        Mutant("seed_for_each_tile", "seed-for-each-tile", (KEEP, "keep = tl.rand(seed + pid, tl.arange(0, BLOCK)) >= p")),
        Mutant("seed_ignored", "seed-ignored", (KEEP, "keep = tl.rand(0, offs) >= p")),
        Mutant("seed_and_counter_swapped", "seed-and-counter-swapped", (KEEP, KEEP.replace("seed, offs", "offs, seed"))),
        Mutant("mask_inverted", "mask-inverted", (KEEP, KEEP.replace(">=", "<"))),
        Mutant("branches_swapped", "mask-inverted", (Y, "y = tl.where(keep, 0.0, x / (1 - p))")),
        Mutant("p_is_to_stay", "mask-inverted-and-scale", (KEEP, KEEP.replace(">=", "<")), (Y, "y = tl.where(keep, x / p, 0.0)")),
        Mutant("mask_inverted_no_scale", "mask-inverted-no-scale", (KEEP, KEEP.replace(">=", "<")), (Y, "y = tl.where(keep, x, 0.0)")),
        Mutant("scale_forgotten", "scale-forgotten", (Y, "y = tl.where(keep, x, 0.0)")),
        Mutant("scale_by_p", "scale-by-p", (Y, "y = tl.where(keep, x / p, 0.0)")),
        Mutant("scale_multiplied", "scale-multiplied", (Y, "y = tl.where(keep, x * (1 - p), 0.0)")),
        Mutant("one_plus_p", "scale-one-plus-p", (Y, "y = tl.where(keep, x / (1 + p), 0.0)")),
        Mutant("nothing_dropped", "nothing-dropped", (Y, "y = x / (1 - p)")),
        Mutant("dropped_stay_as_they_are", "dropped-not-zero", (Y, "y = tl.where(keep, x / (1 - p), x)")),
        Mutant("greater_than_p", "u-of-p", (KEEP, KEEP.replace(">=", ">"))),
        Mutant("against_1_minus_p", "from-the-other-end", (KEEP, "keep = tl.rand(seed, offs) < 1 - p")),
        Mutant("normal_numbers", ("wrong-values", "wrong-tail"), (KEEP, "keep = tl.randn(seed, offs) >= p")),
        Mutant("brackets_missing", "brackets-missing", (Y, "y = tl.where(keep, x / 1 - p, 0.0)")),
        Mutant("at_least_1_minus_p", "against-1-minus-p", (KEEP, "keep = tl.rand(seed, offs) >= 1 - p")),
        Mutant("x_compared", "x-compared", (KEEP, "keep = x >= p")),
        Mutant("dropped_to_infinity", "dropped-to-minus-infinity", (Y, Y.replace("0.0", 'float("-inf")'))),
        Mutant("half_p", "zeros", (KEEP, "keep = 0.5 * tl.rand(seed, offs) >= p")),
        Mutant("same_tile_again", ("unwritten-tail", "wrong-values", "race"), (OFFS, "offs = tl.arange(0, BLOCK)")),
        Mutant("computed_in_half", ("low-precision", "wrong-values", "precision"), (LOAD_X, LOAD_X.replace(".to(tl.float32)", "")), (Y, "y = tl.where(keep, x * (1 / (1 - p)).to(x.dtype), 0.0)")),
        Mutant("no_mask_at_the_store", "out-of-bounds-store", (STORE_Y, "tl.store(y_ptr + offs, y)")),
        Mutant("no_mask_at_the_load", "reads-outside", (LOAD_X, "x = tl.load(x_ptr + offs).to(tl.float32)"), only="interpreter"),
        Mutant("stored_into_x", ("input-changed", "unwritten"), (STORE_Y, "tl.store(x_ptr + offs, y, mask=mask)")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def dropout(x, p, seed, block=1024):\n    if not 0 <= p < 1 or not x.is_contiguous():\n        raise ValueError('p')\n    return torch.nn.functional.dropout(x, p)\n"),
    ],
    "sample": [
        Mutant("padding_at_minus_10000", "padding-wins", ('other=float("-inf")', "other=-1e4")),
        Mutant("best_of_minus_1e9", "starts-at-zero", ('best, word = float("-inf"), 0', "best, word = -1e9, 0")),
        Mutant("same_in_each_row", "same-in-each-row", (U, U.replace("pid_b * V + offs_v", "offs_v"))),
        Mutant("same_in_each_tile", "same-in-each-tile", (U, U.replace("pid_b * V + offs_v", "pid_b * V + tl.arange(0, BLOCK_V)"))),
        Mutant("same_in_all_tiles", "same-in-all-tiles", (U, U.replace("pid_b * V + offs_v", "tl.arange(0, BLOCK_V)"))),
        Mutant("counters_overlap", "counters-overlap", (U, U.replace("pid_b * V + offs_v", "pid_b + offs_v"))),
        Mutant("counters_from_padding", "counters-from-padding", (U, U.replace("pid_b * V + offs_v", "pid_b * BLOCK_V + offs_v"))),
        Mutant("seed_for_each_row", "seed-for-each-row", (U, U.replace("seed, pid_b * V + offs_v", "seed + pid_b, offs_v"))),
        Mutant("seed_ignored", "seed-ignored", (U, U.replace("tl.rand(seed,", "tl.rand(0,"))),
        Mutant("seed_and_counter_swapped", "seed-and-counter-swapped", (U, U.replace("seed, pid_b * V + offs_v", "pid_b * V + offs_v, seed"))),
        Mutant("one_number_a_row", "no-noise", (U, U.replace("pid_b * V + offs_v", "pid_b + 0 * offs_v"))),
        Mutant("no_noise", "no-noise", (SCORES, "scores = z.to(tl.float32)")),
        Mutant("noise_alone", "noise-alone", (SCORES, "scores = tl.where(offs_v < V, -tl.log(-tl.log(u)), float('-inf'))")),
        Mutant("temperature_ignored", "temperature-ignored", (SCORES, SCORES.replace("temperature * ", ""))),
        Mutant("temperature_multiplied", "temperature-inverted", (SCORES, "scores = z.to(tl.float32) * temperature - tl.log(-tl.log(u))")),
        Mutant("noise_divided", "temperature-inverted", (SCORES, "scores = z.to(tl.float32) - tl.log(-tl.log(u)) / temperature")),
        Mutant("logits_divided", "divided-by-zero", (SCORES, "scores = z.to(tl.float32) / temperature - tl.log(-tl.log(u))")),
        Mutant("noise_backwards", "noise-backwards", (SCORES, SCORES.replace("- temperature", "+ temperature"))),
        Mutant("waiting_time_added", "waiting-time-added", (SCORES, "scores = z.to(tl.float32) - temperature * tl.log(u)")),
        Mutant("waiting_time_subtracted", "waiting-time-subtracted", (SCORES, "scores = z.to(tl.float32) + temperature * tl.log(u)")),
        Mutant("mirrored", "u-mirrored", (SCORES, SCORES.replace("-tl.log(u)", "-tl.log(1 - u)"))),
        Mutant("uniform_added", "uniform-added", (SCORES, "scores = z.to(tl.float32) + temperature * u")),
        Mutant("minus_forgotten", "never-replaced", (SCORES, "scores = z.to(tl.float32) - temperature * tl.log(tl.log(u))")),
        Mutant("normal_noise", BADLY, (U, U.replace("tl.rand", "tl.randn")), (SCORES, "scores = z.to(tl.float32) + temperature * u")),
        Mutant("log2", "log-base-two", (SCORES, SCORES.replace("tl.log(-tl.log(u))", "tl.log2(-tl.log2(u))"))),
        Mutant("exponentials", "exponentials", (SCORES, "scores = tl.exp(z.to(tl.float32)) - temperature * tl.log(-tl.log(u))")),
        Mutant("first_tile_only", "first-tile-only", ("range(0, V, BLOCK_V)", "range(0, BLOCK_V, BLOCK_V)")),
        Mutant("last_tile_only", "last-tile-only", (WORD, "word = start + lane")),
        Mutant("best_never_kept", "last-tile-only", (f"        {BEST}\n", "")),
        Mutant("start_times_block", "start-times-block", (WORD, WORD.replace("start + lane", "start * BLOCK_V + lane"))),
        Mutant("where_turned_round", "replaced-by-lower", (WORD, "word = tl.where(top > best, word, start + lane)")),
        Mutant("lower_wins", "replaced-by-lower", (WORD, "word = tl.where(best > top, start + lane, word)")),
        Mutant("u_never_above_1e_10", "no-noise", (U, U.replace("tl.maximum", "tl.minimum"))),
        Mutant("u_cut_at_1e_6", "u-cut-too-high", (U, U.replace("1e-10", "1e-6"))),
        Mutant("u_plus_1e_8", "u-cut-too-high", (U, "u = tl.rand(seed, pid_b * V + offs_v) + 1e-8")),
        Mutant("start_twice", "start-twice", (U, U.replace("offs_v", "start + offs_v"))),
        Mutant("word_of_all_rows", "word-of-all-rows", (WORD, WORD.replace("start + lane", "pid_b * V + start + lane"))),
        Mutant("counters_by_words", "counters-by-words", (U, U.replace("pid_b * V + offs_v", "offs_v * tl.num_programs(0) + pid_b"))),
        Mutant("scores_in_half", "scores-in-half", (SCORES, SCORES.replace("scores = ", "scores = (") + ").to(z.dtype)")),
        Mutant("word_by_word", "property", replace=WORD_BY_WORD, only="interpreter"),
        Mutant("u_cut_at_1e_3", "u-cut-too-high", (U, U.replace("1e-10", "1e-3"))),
        Mutant("best_of_the_tile_before", "higher-than-before", (BEST, "best = top")),
        Mutant("lane_for_word", "lane-for-word", (WORD, WORD.replace("start + lane", "lane"))),
        Mutant("start_for_word", "tile-for-word", (WORD, WORD.replace("start + lane", "start"))),
        Mutant("best_updated_first", "never-replaced", (f"        {BEST}\n", ""), (WORD, f"{BEST}\n        {WORD}")),
        Mutant("later_of_equals", "later-of-equals", (WORD, WORD.replace("top > best", "top >= best"))),
        Mutant("last_lane_of_equals", "last-lane-of-equals", (TOP, "top, lane = tl.max(scores, axis=0, return_indices=True, return_indices_tie_break_left=False)")),
        Mutant("smallest_wins", ("zeros", *BADLY), (TOP, TOP.replace("tl.max", "tl.min"))),
        Mutant("padding_of_0", "padding-wins", (LOAD_Z, LOAD_Z.replace('float("-inf")', "0.0"))),
        Mutant("other_forgotten", ("padding-wins", "no-other", *BADLY), (LOAD_Z, LOAD_Z.replace(', other=float("-inf")', "")), only="interpreter"),
        Mutant("u_may_be_0", "zero-as-it-is", (U, "u = tl.rand(seed, pid_b * V + offs_v)")),
        Mutant("best_starts_at_0", "starts-at-zero", (START, "best, word = 0.0, 0")),
        Mutant("no_mask", ("reads-outside", "padding-wins", *BADLY), (LOAD_Z, "z = tl.load(row_ptr + offs_v)"), only="interpreter"),
        Mutant("rows_are_v_apart", ("strided-only", "wrong-values"), ("pid_b.to(tl.int64) * stride_zb", "pid_b.to(tl.int64) * V")),
        Mutant("first_row", BADLY, ("pid_b.to(tl.int64) * stride_zb", "0")),
        Mutant("int32", "wrong-dtype", ("dtype=torch.int64", "dtype=torch.int32")),
        Mutant("one_tile_for_all", "tile-too-large", ("min(block, triton.next_power_of_2(V))", "triton.next_power_of_2(V)")),
        Mutant("any_temperature", "should-raise", (ALLOWED, "logits.stride(1) != 1")),
        Mutant("any_strides", "should-raise", (ALLOWED, "temperature < 0")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def sample(logits, temperature, seed, block=4096):\n    if logits.ndim != 2 or logits.stride(1) != 1 or temperature < 0:\n        raise ValueError('logits')\n    return torch.multinomial(logits.float().softmax(-1), 1)[:, 0]\n"),
    ],
    "top_p_filter": [
        Mutant("upper_end", "upper-end", (KEPT, KEPT.replace("z >= lo", "z >= hi"))),
        Mutant("above_hi", ("upper-end", *BADLY), (KEPT, KEPT.replace("z >= lo", "z > hi"))),
        Mutant("above_lo", "upper-end", (KEPT, KEPT.replace("z >= lo", "z > lo"))),
        Mutant("padding_of_0", "padding-counted", (f'{LOAD_Z}\n            {E}', f'{LOAD_Z}\n            {E}'.replace('float("-inf")', "0.0"))),
        Mutant("moved_the_wrong_way", "hi-moves-always", (ENOUGH, "enough = mass < p * l_i")),
        Mutant("lo_and_hi_swapped", "hi-moves-always", (MOVE, "lo, hi = tl.where(enough, lo, mid), tl.where(enough, mid, hi)")),
        Mutant("not_normalised", "only-the-best", (ENOUGH, "enough = mass >= p")),
        Mutant("divided_twice", ("hi-moves-always", *BADLY), (ENOUGH, "enough = mass / l_i >= p * l_i")),
        Mutant("p_forgotten", "l-i-without-p", (ENOUGH, "enough = mass >= l_i"), on_gpu=("wrong-values",)),
        Mutant("complement", "complement", (ENOUGH, "enough = mass >= (1 - p) * l_i")),
        Mutant("maximum_not_subtracted", "maximum-not-subtracted", (E, "e = tl.exp(z.to(tl.float32))")),
        Mutant("mid_subtracted", "mid-subtracted", (E, "e = tl.exp(z.to(tl.float32) - mid)")),
        Mutant("mass_below", "hi-moves-always", (MASS, MASS.replace("z >= mid", "z < mid"))),
        Mutant("mass_branches_swapped", "hi-moves-always", (MASS, MASS.replace("e, 0.0", "0.0, e"))),
        Mutant("words_counted", "words-counted-against-the-mass", (MASS, MASS.replace("e, 0.0", "1.0, 0.0"))),
        Mutant("words_counted_of_v", "words-counted", (MASS, MASS.replace("e, 0.0", "1.0, 0.0")), (ENOUGH, "enough = mass >= p * V")),
        Mutant("mass_never_reset", "only-the-best", ("        mass = 0.0\n", ""), ("    lo, hi = m_i - 32.0, m_i\n", "    lo, hi = m_i - 32.0, m_i\n    mass = 0.0\n")),
        Mutant("last_tile_only", "last-tile-only", (MASS, MASS.replace("+=", "="))),
        Mutant("first_tile_only", "first-tile-only", (WALK, WALK.replace("range(0, V", "range(0, BLOCK_V"))),
        Mutant("all_the_mass", "only-the-best", (MASS, "mass += tl.sum(e, axis=0)")),
        Mutant("exp2", "exp2", (E, E.replace("tl.exp", "tl.exp2"))),
        Mutant("steps_of_one", "steps-of-one", (WALK, WALK.replace("range(0, V, BLOCK_V)", "range(0, V)"))),
        Mutant("e_compared", "e-for-z", (MASS, MASS.replace("z >= mid", "e >= mid"))),
        Mutant("distance_compared", "distance-for-z", (MASS, MASS.replace("z >= mid", "z - m_i >= mid"))),
        Mutant("moved_in_the_walk", "moved-after-each-tile", (f"        {ENOUGH}\n        {MOVE}", f"            {ENOUGH}\n            {MOVE}")),
        Mutant("not_forbidden", "-1e+09-for-the-others", (KEPT, KEPT.replace('float("-inf")', "-1e9"))),
        Mutant("lowest_number_for_infinity", "-3.4e+38-for-the-others", (KEPT, KEPT.replace('float("-inf")', "-3.4e38"))),
        Mutant("mass_from_lo", "mass-from-lo", (MASS, MASS.replace("z >= mid", "z >= lo"))),
        Mutant("at_most_lo", "turned-round", (KEPT, KEPT.replace(">=", "<="))),
        Mutant("mid_for_the_threshold", "upper-end", (KEPT, KEPT.replace("z >= lo", "z >= mid"))),
        Mutant("sum_forgotten", ("hi-moves-always", "does-not-compile", "raised"), (MASS, "mass += tl.where(z >= mid, e, 0.0)")),
        Mutant("never_moves_hi", "hi-stands-still", (MOVE, "lo = tl.where(enough, mid, lo)")),
        Mutant("never_moves_lo", "hi-moves-always", (MOVE, "hi = tl.where(enough, hi, mid)")),
        Mutant("one_moves_always", "both-moved", (MOVE, "lo, hi = tl.where(enough, mid, lo), mid")),
        Mutant("zeros_for_the_others", "zeros-for-the-others", (KEPT, KEPT.replace('float("-inf")', "0.0"))),
        Mutant("others_kept", "the-others-kept", (KEPT, KEPT.replace("z >= lo", "z < lo"))),
        Mutant("branches_swapped", "the-others-kept", (KEPT, 'kept = tl.where(z >= lo, float("-inf"), z)')),
        Mutant("nothing_filtered", "hi-moves-always", (KEPT, "kept = z")),
        Mutant("own_probability", "own-probability", (KEPT, 'kept = tl.where(tl.exp(z.to(tl.float32) - m_i) >= p * l_i, z, float("-inf"))')),
        Mutant("share_of_the_best", "share-of-the-best", (KEPT, 'kept = tl.where(tl.exp(z.to(tl.float32) - m_i) >= p, z, float("-inf"))')),
        Mutant("only_the_best", "only-the-best", (KEPT, 'kept = tl.where(z >= m_i, z, float("-inf"))')),
        Mutant("maximum_subtracted", "maximum-subtracted", (KEPT, 'kept = tl.where(z >= lo, z - m_i, float("-inf"))')),
        Mutant("exponentials_stored", "exponentials-stored", (KEPT, 'kept = tl.where(z >= lo, tl.exp(z.to(tl.float32) - m_i), float("-inf"))')),
        Mutant("probabilities_stored", "probabilities-stored", (KEPT, 'kept = tl.where(z >= lo, tl.exp(z.to(tl.float32) - m_i) / l_i, float("-inf"))')),
        Mutant("written_into_the_logits", ("input-changed", "unwritten"), (STORE_Z, STORE_Z.replace("out_row_ptr", "row_ptr"))),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "rows-after-first", "race"), (STORE_Z, STORE_Z.replace(", mask=offs_v < V", ""))),
        Mutant("no_mask_at_the_last_load", "reads-outside", (AGAIN, "z = tl.load(row_ptr + offs_v)\n"), only="interpreter"),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def top_p_filter(logits, p, block=8192):\n    if logits.ndim != 2 or logits.stride(1) != 1 or not 0 < p < 1:\n        raise ValueError('p')\n    return top_p_ref(logits, p)\n"),
    ],
}

VARIANTS = {
    "dropout": [
        Variant("float32_by_p", (LOAD_X, LOAD_X.replace(".to(tl.float32)", ""))),
        Variant("product_with_the_mask", (Y, "y = x * keep.to(tl.float32) / (1 - p)")),
        Variant("divided_at_the_end", (Y, "y = tl.where(keep, x, 0.0) / (1 - p)")),
        Variant("factor_first", (Y, "y = tl.where(keep, x * (1 / (1 - p)), 0.0)")),
        Variant("the_other_way_round", (KEEP, "keep = tl.rand(seed, offs) < p"), (Y, "y = tl.where(keep, 0.0, x / (1 - p))")),
        Variant("other_of_0", (LOAD_X, LOAD_X.replace("mask=mask", "mask=mask, other=0.0"))),
        Variant("small_tiles", ("block=1024", "block=64")),
        Variant("four_numbers_at_once", (KEEP, "u, _, _, _ = tl.rand4x(seed, offs)\n    keep = u >= p")),
    ],
    "sample": [
        Variant("argmax_and_max", (TOP, "top, lane = tl.max(scores, axis=0), tl.argmax(scores, axis=0)")),
        Variant("by_if", (WORD, "if top > best:\n            word = start + lane"), (BEST, "if top > best:\n            best = top")),
        Variant("finite_start", (START, "best, word = -1e38, 0")),
        Variant("smaller_than_any", (U, U.replace("1e-10", "1e-20"))),
        Variant("zero_by_where", (U, "u = tl.rand(seed, pid_b * V + offs_v)\n        u = tl.where(u > 0, u, 1e-10)")),
        Variant("noise_by_name", (SCORES, "g = -tl.log(-tl.log(u))\n        scores = z.to(tl.float32) + temperature * g")),
        Variant("mask_after_the_noise", (LOAD_Z, LOAD_Z.replace('float("-inf")', "0.0")), (TOP, f'scores = tl.where(offs_v < V, scores, float("-inf"))\n        {TOP}')),
        Variant("one_warp", ("num_warps=8", "num_warps=1")),
        Variant("two_small_numbers", (U, "u = tl.rand(seed, pid_b * V + offs_v)"), (SCORES, SCORES.replace("-tl.log(u)", "-tl.log(u + 1e-20) + 1e-20"))),
        Variant("added_1e_9", (U, "u = tl.rand(seed, pid_b * V + offs_v)"), (SCORES, SCORES.replace("-tl.log(u)", "-tl.log(u + 1e-9) + 1e-9"))),
        Variant("best_of_each_lane", (START, 'best = tl.full([BLOCK_V], float("-inf"), tl.float32)\n    words = tl.zeros([BLOCK_V], tl.int32)'), (f"        {TOP}\n        {WORD}\n        {BEST}\n", "        words = tl.where(scores > best, offs_v, words)\n        best = tl.maximum(best, scores)\n"), ("    tl.store(words_ptr + pid_b, word)", "    word = tl.min(tl.where(best == tl.max(best, axis=0), words, V), axis=0)\n    tl.store(words_ptr + pid_b, word)")),
        Variant("added_1e_10", (U, "u = tl.rand(seed, pid_b * V + offs_v) + 1e-10")),
    ],
    "top_p_filter": [
        Variant("by_if", (MOVE, "if enough:\n            lo = mid\n        else:\n            hi = mid")),
        Variant("probability", (ENOUGH, "enough = mass / l_i >= p")),
        Variant("mask_from_probability", (MASS, "mass += tl.sum(e * (z >= mid).to(tl.float32), axis=0)")),
        Variant("middle_by_half", (MOVE, MOVE + "  # the threshold is between them")),
        Variant("float32_all_the_way", (KEPT, 'kept = tl.where(z.to(tl.float32) >= lo, z, float("-inf"))')),
        Variant("other_at_the_end", (AGAIN, "z = tl.load(row_ptr + offs_v, mask=offs_v < V, other=0.0)\n")),
        Variant("more_steps", ("STEPS=24", "STEPS=30")),
        Variant("small_tiles", ("block=8192", "block=128")),
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
        "words = torch.empty(B, dtype=torch.int64, device=logits.device) => words = torch.empty(B, dtype=torch.int64)": "without a GPU there is one device; with one the launch fails",
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
