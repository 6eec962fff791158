"""Wrong answers of 52_moe_grouped with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

BEST = "expert = tl.argmax(z, axis=0)"
NUMBER = "tl.store(experts_ptr + pid_t * k + j, expert)"
KEEP = "chosen = tl.where(offs_k == j, tl.max(z, axis=0), chosen)"
NEVER_AGAIN = 'z = tl.where(offs_e == expert, float("-inf"), z)'
P = "p = tl.exp(chosen - tl.max(chosen, axis=0))"
WEIGHTS = "tl.store(weights_ptr + pid_t * k + offs_k, p / tl.sum(p, axis=0), mask=offs_k < k)"

LOAD = "experts = tl.load(experts_ptr + offs_n, mask=offs_n < N, other=E)"
COUNT = "counts += tl.histogram(experts, BLOCK_E)"
OWN = "own = tl.load(experts_ptr + offs_n, mask=offs_n < N, other=-1) == expert"
PLACES = "places = place + tl.cumsum(ones, axis=0) - ones"
STORE = "tl.store(order_ptr + places, offs_n, mask=own)"
NEXT = "place += tl.sum(ones, axis=0)"
WALK = "    for start in range(0, N, BLOCK_N):\n        offs_n = start + tl.arange(0, BLOCK_N)\n        "

TILES = "tiles = tl.cdiv(ends - begins, BLOCK_M)"
TILES_TO = "tiles_to = tl.cumsum(tiles, axis=0)"
EXPERT = "expert = tl.sum((tiles_to <= tile).to(tl.int32), axis=0)"
RETURN = "    if expert >= E:\n        return\n"
BEFORE = "tiles_before = tl.sum(tl.where(offs_e < expert, tiles, 0), axis=0)"
FIRST = "first = tl.load(offsets_ptr + expert) + (tile - tiles_before) * BLOCK_M"
END = "end = tl.load(offsets_ptr + expert + 1)"
ROWS = "offs_m = first + tl.arange(0, BLOCK_M)"
MASK = "mask_m = offs_m < end"
CHOICES = "choices = tl.load(order_ptr + offs_m, mask=mask_m, other=0)"
X_ROWS = "x_rows = x_ptr + (choices // k).to(tl.int64) * D"
W_E = "w_e = w_ptr + expert.to(tl.int64) * D * F"
Y_PTRS = "y_ptrs = y_ptr + choices[:, None].to(tl.int64) * F + offs_n[None, :]"
Y_STORE = "tl.store(y_ptrs, acc, mask=mask_m[:, None] & mask_n[None, :])"
GRID = 'grid = (N // tile["BLOCK_M"] + E, triton.cdiv(F, tile["BLOCK_N"]))'

MUTANTS = {
    "route": [
        Mutant("padding_of_the_chosen", "padding-of-the-chosen", ('tl.full((BLOCK_K,), float("-inf"), tl.float32)', "tl.full((BLOCK_K,), -1e9, tl.float32)")),
        Mutant("not_renormalised", "not-renormalised", (P, "p = tl.exp(chosen - best)"), ("p / tl.sum(p, axis=0)", "p / total"), ("    for j in range(k):", "    best = tl.max(z, axis=0)\n    total = tl.sum(tl.exp(z - best), axis=0)\n    for j in range(k):")),
        Mutant("winner_not_removed", "mean", (NEVER_AGAIN, "pass")),
        Mutant("winner_made_zero", "winner-made-zero", (NEVER_AGAIN, NEVER_AGAIN.replace('float("-inf")', "0.0"))),
        Mutant("winner_made_small", "winner-made-small", (NEVER_AGAIN, NEVER_AGAIN.replace('float("-inf")', "-1e9"))),
        Mutant("winner_made_smaller_than_small", "winner-made-small", (NEVER_AGAIN, NEVER_AGAIN.replace('float("-inf")', "-1e4"))),
        Mutant("winner_made_minus_100", "winner-made-zero", (NEVER_AGAIN, NEVER_AGAIN.replace('float("-inf")', "-100.0"))),
        Mutant("equals_removed", "equals-removed", (NEVER_AGAIN, 'z = tl.where(z == tl.max(z, axis=0), float("-inf"), z)')),
        Mutant("others_removed", ("wrong-values", "nan", "mean"), (NEVER_AGAIN, "z = tl.where(offs_e == expert, z, float('-inf'))")),
        Mutant("removed_before_kept", "next-best-kept", (f"{KEEP}\n        {NEVER_AGAIN}", f"{NEVER_AGAIN}\n        {KEEP}")),
        Mutant("last_of_equals", "last-of-equals", (BEST, "expert = tl.max(tl.where(z == tl.max(z, axis=0), offs_e, 0), axis=0)")),
        Mutant("by_exponentials", "chosen-by-exponentials", ("    for j in range(k):", "    q = tl.exp(z - tl.max(z, axis=0))\n    for j in range(k):"), (BEST, "expert = tl.argmax(q, axis=0)"), (KEEP, "chosen = tl.where(offs_k == j, tl.sum(tl.where(offs_e == expert, z, 0.0), axis=0), chosen)"), (NEVER_AGAIN, "q = tl.where(offs_e == expert, -1.0, q)")),
        Mutant("smallest", ("smallest", "wrong-values", "nan", "mean"), (BEST, "expert = tl.argmin(z, axis=0)")),
        Mutant("value_for_number", ("wrong-values", "raised", "overflow", "compile-error"), (NUMBER, NUMBER.replace(", expert)", ", tl.max(z, axis=0))"))),
        Mutant("one_place", ("unwritten", "wrong-values", "unwritten-tail", "race"), (NUMBER, NUMBER.replace(" + j", ""))),
        Mutant("rows_not_k_apart", ("wrong-values", "race", "unwritten-tail", "rows-after-first"), (NUMBER, NUMBER.replace("pid_t * k + j", "pid_t + j"))),
        Mutant("backwards", "best-comes-last", (NUMBER, NUMBER.replace("pid_t * k + j", "pid_t * k + k - 1 - j"))),
        Mutant("kept_in_every_lane", "mean", (KEEP, "chosen = tl.full((BLOCK_K,), tl.max(z, axis=0), tl.float32)")),
        Mutant("maximum_not_subtracted", ("maximum-not-subtracted", "overflow"), (P, "p = tl.exp(chosen)")),
        Mutant("not_divided", "not-divided", (WEIGHTS, WEIGHTS.replace("p / tl.sum(p, axis=0)", "p"))),
        Mutant("logits_stored", "logits-for-weights", (WEIGHTS, WEIGHTS.replace("p / tl.sum(p, axis=0)", "chosen"))),
        Mutant("base_two", "base-two", (P, P.replace("tl.exp", "tl.exp2"))),
        Mutant("of_z", ("wrong-values", "nan"), (P, "p = tl.exp(chosen - tl.max(z, axis=0))")),
        Mutant("weights_not_masked", ("out-of-bounds-store", "race", "rows-after-first"), (WEIGHTS, WEIGHTS.replace(", mask=offs_k < k", ""))),
        Mutant("weights_masked_by_experts", ("out-of-bounds-store", "race", "rows-after-first"), (WEIGHTS, WEIGHTS.replace("mask=offs_k < k", "mask=offs_k < E"))),
        Mutant("weights_of_another_token", ("race", "wrong-values", "unwritten-tail", "rows-after-first"), (WEIGHTS, WEIGHTS.replace("pid_t * k", "pid_t"))),
        Mutant("where_turned_round", "arms-swapped", (KEEP, "chosen = tl.where(offs_k == j, chosen, tl.max(z, axis=0))")),
        Mutant("numbers_for_logits", "numbers-for-logits", (KEEP, "chosen = tl.where(offs_k == j, expert, chosen)")),
        Mutant("minus_turned_round", "softmax-of-minus", (P, "p = tl.exp(-(chosen - tl.max(chosen, axis=0)))")),
        Mutant("other_lanes_not_kept", "last-kept-alone", (KEEP, 'chosen = tl.where(offs_k == j, tl.max(z, axis=0), float("-inf"))')),
        Mutant("lane_of_the_expert", "lane-of-the-expert", (KEEP, "chosen = tl.where(offs_k == expert, tl.max(z, axis=0), chosen)")),
        Mutant("first_left_out", "first-left-out", ("    for j in range(k):", "    for j in range(1, k):")),
        Mutant("softmax_first", "softmax-twice", ("    for j in range(k):", "    z = tl.exp(z - tl.max(z, axis=0))\n    z = z / tl.sum(z, axis=0)\n    for j in range(k):")),
        Mutant("softmax_of_the_weights", "softmax-of-weights", (P, P + "\n    p = tl.where(offs_k < k, tl.exp(p / tl.sum(p, axis=0)), 0.0)")),
        Mutant("sigmoids", "sigmoid", (WEIGHTS, WEIGHTS.replace("p / tl.sum(p, axis=0)", "tl.sigmoid(chosen)"))),
        Mutant("one_short", "one-short", ("    for j in range(k):", "    for j in range(k - 1):")),
        Mutant("torch_stand_in", ("torch-compute", "no-kernel-launched"), replace="def route(logits, k):\n    if not 1 <= k <= logits.shape[1] or not logits.is_contiguous():\n        raise ValueError('k')\n    best, experts = logits.float().topk(k)\n    return best.softmax(1), experts.int()\n"),
    ],
    "sort_by_expert": [
        Mutant("masked_lanes_are_expert_0", "padding-is-expert-0", (LOAD, LOAD.replace("other=E", "other=0"))),
        Mutant("other_forgotten", ("property", "unwritten", "unwritten-tail"), (LOAD, LOAD.replace(", other=E", "")), only="interpreter"),
        Mutant("first_tile_again_and_again", "padding-is-expert-0", (WALK + LOAD, (WALK + LOAD).replace("start + tl.arange", "tl.arange"))),
        Mutant("last_expert_gets_them", "padding-is-the-last-expert", (LOAD, LOAD.replace("other=E", "other=E - 1"))),
        Mutant("last_tile_alone", "last-tile-counted", (COUNT, "counts = tl.histogram(experts, BLOCK_E)")),
        Mutant("first_tile_alone", "first-tile-counted", (WALK + LOAD, (WALK + LOAD).replace("range(0, N", "range(0, BLOCK_N"))),
        Mutant("last_tile_left_out", "whole-tiles-counted", (WALK + LOAD, (WALK + LOAD).replace("range(0, N", "range(0, N - BLOCK_N + 1"))),
        Mutant("one_choice_a_step", "one-by-one", (WALK + LOAD, (WALK + LOAD).replace("range(0, N, BLOCK_N)", "range(0, N)"))),
        Mutant("summed_in_each_tile", "summed-twice", (COUNT, "counts += tl.cumsum(tl.histogram(experts, BLOCK_E), axis=0)")),
        Mutant("summed_after_the_walk", "summed-twice", (COUNT, COUNT + "\n    counts = tl.cumsum(counts, axis=0)")),
        Mutant("other_forgotten_in_the_order", "property", (OWN, OWN.replace(", other=-1", "")), only="interpreter"),
        Mutant("inclusive", ("out-of-bounds-store", "unwritten"), (PLACES, "places = place + tl.cumsum(ones, axis=0)")),
        Mutant("lanes_for_choices", "lane-for-choice", (STORE, STORE.replace("offs_n, mask", "tl.arange(0, BLOCK_N), mask"))),
        Mutant("place_not_advanced", "unwritten-tail", (NEXT, "pass")),
        Mutant("advanced_by_the_tile", ("out-of-bounds-store",), (NEXT, "place += BLOCK_N")),
        Mutant("advanced_first", ("out-of-bounds-store", "wrong-values"), (f"        {PLACES}\n        {STORE}\n        {NEXT}\n", f"        {NEXT}\n        {PLACES}\n        {STORE}\n")),
        Mutant("all_lanes_stored", ("race", "out-of-bounds-store", "wrong-values"), (STORE, STORE.replace(", mask=own", ", mask=offs_n < N"))),
        Mutant("masked_lanes_are_mine", ("out-of-bounds-store", "wrong-values", "race"), (OWN, OWN.replace("other=-1", "other=0"))),
        Mutant("places_from_zero", ("race", "wrong-values", "unwritten-tail"), (PLACES, "places = tl.cumsum(ones, axis=0) - ones")),
        Mutant("falling", "falling-order", (PLACES, "places = tl.load(offsets_ptr + expert + 1) - 1 - (place - tl.load(offsets_ptr + expert)) - tl.cumsum(ones, axis=0) + ones")),
        Mutant("places_stored", ("places-stored", "wrong-values", "race"), (STORE, "tl.store(order_ptr + offs_n, places, mask=own)")),
        Mutant("tile_of_the_first", ("wrong-values", "race", "unwritten-tail", "out-of-bounds-store", "unwritten"), (WALK + OWN, (WALK + OWN).replace("start + tl.arange", "tl.arange"))),
        Mutant("stored_next_to_each_other", ("race", "wrong-values", "unwritten-tail", "out-of-bounds-store"), (STORE, STORE.replace("order_ptr + places", "order_ptr + place + offs_n - start"))),
        Mutant("atomic_places", "counted-up", (f"        {PLACES}\n        {STORE}\n        {NEXT}\n", f"        places = tl.atomic_add(offsets_ptr + expert + tl.zeros((BLOCK_N,), tl.int32), ones, mask=own)\n        {STORE}\n")),
        Mutant("torch_stand_in", ("torch-compute", "no-kernel-launched"), replace="def sort_by_expert(experts, E, block=4096):\n    if experts.dtype != torch.int32 or not experts.is_contiguous():\n        raise ValueError('experts')\n    flat = experts.flatten()\n    order = flat.sort(stable=True).indices\n    offsets = torch.zeros(E + 1, dtype=torch.int32, device=flat.device)\n    offsets[1:] = torch.bincount(flat, minlength=E).cumsum(0)\n    return order.int(), offsets\n"),
    ],
    "grouped_matmul": [
        Mutant("a_small_tile_of_its_own", "too-many-programs", ('tile = tile or grouped_tile(N, E, x.dtype)', 'tile = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}')),
        Mutant("a_large_tile_of_its_own", ("property", "too-many-programs"), ('tile = tile or grouped_tile(N, E, x.dtype)', 'tile = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}')),
        Mutant("masked_by_all_choices", "race", (END, "end = tl.load(offsets_ptr + E)")),
        Mutant("not_masked", "out-of-bounds-store", (MASK, "mask_m = offs_m >= 0"), on_gpu=("crashed",)),
        Mutant("mask_of_the_tile", "out-of-bounds-store", (MASK, "mask_m = tl.arange(0, BLOCK_M) < end")),
        Mutant("one_row_too_many", "out-of-bounds-store", (MASK, "mask_m = offs_m <= end")),
        Mutant("grid_too_small", "grid-of-full-tiles", (GRID, GRID.replace(" + E,", ","))),
        Mutant("grid_of_cdiv", "grid-of-cdiv", (GRID, GRID.replace('N // tile["BLOCK_M"] + E', 'triton.cdiv(N, tile["BLOCK_M"])'))),
        Mutant("one_more_than_cdiv", "grid-of-one-more", (GRID, GRID.replace('N // tile["BLOCK_M"] + E', 'triton.cdiv(N, tile["BLOCK_M"]) + 1'))),
        Mutant("grid_turned_round", "grid-turned", (GRID, 'grid = (triton.cdiv(F, tile["BLOCK_N"]), N // tile["BLOCK_M"] + E)')),
        Mutant("grid_of_tokens", ("grid-of-tokens", "grid-of-full-tiles"), (GRID, GRID.replace("N //", "len(x) //"))),
        Mutant("one_program_short", "grid-of-cdiv", (GRID, GRID.replace(" + E,", " + E - 2,"))),
        Mutant("tiles_of_choices_each", "too-many-programs", (GRID, GRID.replace('N // tile["BLOCK_M"] + E', "N"))),
        Mutant("every_expert_full_of_tiles", "too-many-programs", (GRID, GRID.replace('N // tile["BLOCK_M"] + E', 'triton.cdiv(N, tile["BLOCK_M"]) * E'))),
        Mutant("grid_from_offsets", "torch-compute", (GRID, 'grid = (int(((offsets[1:] - offsets[:-1] + tile["BLOCK_M"] - 1) // tile["BLOCK_M"]).sum()), triton.cdiv(F, tile["BLOCK_N"]))')),
        Mutant("grid_from_a_list", ("property", "torch-compute"), (GRID, 'at = offsets.tolist()\n    grid = (sum(triton.cdiv(b - a, tile["BLOCK_M"]) for a, b in zip(at, at[1:])), triton.cdiv(F, tile["BLOCK_N"]))')),
        Mutant("tiles_rounded_down", "tiles-rounded-down", (TILES, "tiles = (ends - begins) // BLOCK_M")),
        Mutant("choices_for_tiles", "choices-for-tiles", (TILES, "tiles = ends - begins")),
        Mutant("tiles_across_experts", "tiles-across-experts", (TILES, "tiles = tl.cdiv(ends, BLOCK_M) - tl.cdiv(begins, BLOCK_M)")),
        Mutant("tiles_between_multiples", "tiles-between-multiples", (TILES, "tiles = ends // BLOCK_M - begins // BLOCK_M")),
        Mutant("begin_for_tiles_before", "begin-for-tiles-before", (BEFORE, "tiles_before = tl.load(offsets_ptr + expert) // BLOCK_M")),
        Mutant("grid_of_the_larger", "grid-of-the-larger", (GRID, GRID.replace('N // tile["BLOCK_M"] + E', 'max(N // tile["BLOCK_M"], E)'))),
        Mutant("grid_of_experts", "stops-at-e-tiles", (GRID, GRID.replace('N // tile["BLOCK_M"] + E', "E"))),
        Mutant("slot_for_token", "slot-for-token", (X_ROWS, X_ROWS.replace("choices // k", "choices % k"))),
        Mutant("one_tile_an_expert", "unwritten", (TILES, "tiles = tl.full((BLOCK_E,), 1, tl.int32)")),
        Mutant("ends_less_than", "ends-before", (EXPERT, EXPERT.replace("<=", "<"))),
        Mutant("tiles_before_inclusive", "out-of-bounds-store", (BEFORE, BEFORE.replace("offs_e < expert", "offs_e <= expert"))),
        Mutant("expert_is_the_tile", ("wrong-tail", "unwritten", "wrong-values", "unwritten-tail", "race", "reads-outside", "out-of-bounds-load"), (EXPERT, "expert = tile")),
        Mutant("tile_number_of_all", "tile-of-all", (FIRST, "first = tl.load(offsets_ptr + expert) + tile * BLOCK_M")),
        Mutant("as_if_all_were_full", "begin-forgotten", (FIRST, "first = tile * BLOCK_M")),
        Mutant("stops_at_e_tiles", "stops-at-e-tiles", (RETURN, "    if tile >= E:\n        return\n")),
        Mutant("rows_one_apart", "rows-not-apart", (X_ROWS, "x_rows = x_ptr + (choices // k).to(tl.int64)")),
        Mutant("rows_of_y", "rows-as-wide-as-y", (X_ROWS, "x_rows = x_ptr + (choices // k).to(tl.int64) * F")),
        Mutant("first_tile_again", ("race", "unwritten", "unwritten-tail", "wrong-values"), (FIRST, "first = tl.load(offsets_ptr + expert)")),
        Mutant("first_by_columns", ("unwritten", "unwritten-tail"), (FIRST, FIRST.replace("BLOCK_M", "BLOCK_N"))),
        Mutant("tiles_of_columns", ("unwritten", "unwritten-tail"), (TILES, TILES.replace("BLOCK_M", "BLOCK_N"))),
        Mutant("tiles_of_one_row", ("race", "unwritten", "unwritten-tail", "wrong-values"), (FIRST, FIRST.replace(" * BLOCK_M", ""))),
        Mutant("no_return", ("reads-outside", "out-of-bounds-load", "race"), (RETURN, "")),
        Mutant("remainder_for_token", "remainder-for-token", (X_ROWS, "x_rows = x_ptr + choices % tl.cdiv(tl.load(offsets_ptr + E), k) * D")),
        Mutant("choice_for_token", ("reads-outside", "out-of-bounds-load"), (X_ROWS, "x_rows = x_ptr + choices * D")),
        Mutant("order_forgotten", "order-forgotten-in-both", (CHOICES, "choices = offs_m")),
        Mutant("order_forgotten_for_x", "order-forgotten", (X_ROWS, "x_rows = x_ptr + offs_m // k * D")),
        Mutant("rows_left_sorted", "rows-left-sorted", (Y_PTRS, "y_ptrs = y_ptr + offs_m[:, None] * F + offs_n[None, :]")),
        Mutant("stored_by_token", ("race", "stored-by-token"), (Y_PTRS, "y_ptrs = y_ptr + (choices // k)[:, None] * F + offs_n[None, :]"), on_gpu=("unwritten-tail",)),
        Mutant("first_matrix", "first-matrix", (W_E, "w_e = w_ptr")),
        Mutant("matrix_of_the_tile", "matrix-of-the-tile", (W_E, "w_e = w_ptr + tile.to(tl.int64) * D * F")),
        Mutant("rows_of_matrices", "rows-for-matrices", (W_E, "w_e = w_ptr + expert.to(tl.int64) * D")),
        Mutant("y_not_masked_by_columns", ("race", "out-of-bounds-store", "rows-after-first"), (Y_STORE, "tl.store(y_ptrs, acc, mask=mask_m[:, None])")),
        Mutant("y_not_masked_by_rows", "masked-rows-stored", (Y_STORE, "tl.store(y_ptrs, acc, mask=mask_n[None, :])")),
        Mutant("y_rows_d_apart", ("wrong-values", "race", "out-of-bounds-store", "unwritten-tail"), (Y_PTRS, Y_PTRS.replace("* F", "* D"))),
        Mutant("torch_stand_in", ("torch-compute", "no-kernel-launched"), replace="def grouped_matmul(x, w, order, offsets, k=1, tile=None):\n    if len(x) * k != len(order):\n        raise ValueError('sizes')\n    return grouped_matmul_ref(x, w, order, offsets, k)\n"),
    ],
}

VARIANTS = {
    "route": [
        Variant("softmax_over_all_first", ("    for j in range(k):", "    z -= tl.max(z, axis=0)\n    total = tl.sum(tl.exp(z), axis=0)\n    for j in range(k):"), (P, "p = tl.exp(chosen) / total")),
        Variant("argmax_by_hand", (BEST, "expert = tl.min(tl.where(z == tl.max(z, axis=0), offs_e, BLOCK_E), axis=0)")),
        Variant("argmax_of_max", (BEST, "best, expert = tl.max(z, axis=0, return_indices=True)"), (KEEP, "chosen = tl.where(offs_k == j, best, chosen)")),
        Variant("numbers_kept_in_a_tile", (f"        {NUMBER}\n", "        numbers = tl.where(offs_k == j, expert, numbers)\n"), ("    for j in range(k):", "    numbers = tl.zeros((BLOCK_K,), tl.int32)\n    for j in range(k):"), (WEIGHTS, WEIGHTS + "\n    tl.store(experts_ptr + pid_t * k + offs_k, numbers, mask=offs_k < k)")),
        Variant("first_kept_is_largest", (P, "p = tl.exp(chosen - tl.sum(tl.where(offs_k == 0, chosen, 0.0), axis=0))")),
        Variant("four_warps", ("num_warps=1", "num_warps=4")),
        Variant("least_float_for_infinity", (NEVER_AGAIN, NEVER_AGAIN.replace('float("-inf")', "-3e38"))),
        Variant("logit_loaded_again", (KEEP, "best = tl.load(logits_ptr + pid_t * E + expert).to(tl.float32)\n        chosen = tl.where(offs_k == j, best, chosen)")),
        Variant("number_by_a_mask", (NUMBER, "tl.store(experts_ptr + pid_t * k + offs_k, expert, mask=offs_k == j)")),
    ],
    "sort_by_expert": [
        Variant("last_bin_for_masked", (LOAD, LOAD.replace("other=E", "other=BLOCK_E - 1"))),
        Variant("no_bin_or_the_last", (LOAD, LOAD.replace("other=E", "other=-1"))),
        Variant("counted_by_comparison", (COUNT, "counts += tl.sum((experts[:, None] == offs_e[None, :]).to(tl.int32), axis=0)")),
        Variant("less_one", (PLACES, "places = place + tl.cumsum(ones, axis=0) - 1")),
        Variant("own_by_mask", (OWN, "own = (tl.load(experts_ptr + offs_n, mask=offs_n < N, other=0) == expert) & (offs_n < N)")),
        Variant("small_tiles", ("block=4096", "block=32")),
        Variant("masked_taken_off_again", (LOAD, LOAD.replace("other=E", "other=0")), (COUNT, "counts += tl.histogram(experts, BLOCK_E) - tl.where(offs_e == 0, tl.sum((offs_n >= N).to(tl.int32), axis=0), 0)")),
        Variant("masked_by_where", (COUNT, "counts += tl.histogram(tl.where(offs_n < N, experts, E), BLOCK_E)")),
        Variant("counts_its_steps", (WALK + OWN, (WALK + OWN).replace("range(0, N, BLOCK_N)", "range(tl.cdiv(N, BLOCK_N))").replace("start + tl.arange", "start * BLOCK_N + tl.arange"))),
        Variant("four_warps", ("order, N, BLOCK_N=BLOCK_N, num_warps=8", "order, N, BLOCK_N=BLOCK_N, num_warps=4")),
    ],
    "grouped_matmul": [
        Variant("expert_by_two_sides", (EXPERT, "expert = tl.sum(tl.where((tiles_to - tiles <= tile) & (tile < tiles_to), offs_e, 0), axis=0)"), (RETURN, "    if tile >= tl.sum(tiles, axis=0):\n        return\n")),
        Variant("first_by_where", (FIRST, "first = tl.sum(tl.where(offs_e == expert, begins + (tile - tiles_to + tiles) * BLOCK_M, 0), axis=0)"), (END, "end = tl.sum(tl.where(offs_e == expert, ends, 0), axis=0)")),
        Variant("before_by_maximum", (BEFORE, "tiles_before = tl.max(tl.where(offs_e < expert, tiles_to, 0), axis=0)")),
        Variant("choices_in_64_bits", (CHOICES, CHOICES + ".to(tl.int64)"), (X_ROWS, "x_rows = x_ptr + choices // k * D"), (Y_PTRS, "y_ptrs = y_ptr + choices[:, None] * F + offs_n[None, :]")),
        Variant("rounded_up", (GRID, GRID.replace('N // tile["BLOCK_M"]', 'triton.cdiv(N, tile["BLOCK_M"])'))),
        Variant("exact_bound", (GRID, 'least = min(N, E)\n    grid = (least + (N - least) // tile["BLOCK_M"], triton.cdiv(F, tile["BLOCK_N"]))')),
        Variant("cast_at_the_store", (Y_STORE, "tl.store(y_ptrs, acc.to(y_ptr.dtype.element_ty), mask=mask_m[:, None] & mask_n[None, :])")),
        Variant("no_return_but_no_rows", (RETURN, "    expert = tl.minimum(expert, E - 1)\n")),
        Variant("empty_experts_get_a_tile", (TILES, "tiles = tl.maximum(tl.cdiv(ends - begins, BLOCK_M), 1)")),
        Variant("expert_by_minimum", (EXPERT, "expert = tl.min(tl.where(tiles_to > tile, offs_e, BLOCK_E), axis=0)")),
        Variant("expert_by_begins", (EXPERT, "expert = tl.sum((tiles_to - tiles <= tile).to(tl.int32), axis=0) - 1")),
        Variant("expert_by_argmax", (EXPERT, "expert = tl.argmax((tiles_to > tile).to(tl.int32), axis=0)"), (RETURN, "    if tile >= tl.max(tiles_to, axis=0):\n        return\n")),
        Variant("before_by_its_lane", (BEFORE, "tiles_before = tl.sum(tl.where(offs_e == expert, tiles_to - tiles, 0), axis=0)")),
        Variant("one_more_than_full", (TILES, "tiles = (ends - begins) // BLOCK_M + 1")),
        Variant("grid_of_meta", (GRID, 'grid = lambda meta: (N // meta["BLOCK_M"] + E, triton.cdiv(F, meta["BLOCK_N"]))')),
        Variant("no_more_than_choices", (GRID, GRID.replace('N // tile["BLOCK_M"] + E', 'min(N, N // tile["BLOCK_M"] + E)'))),
        Variant("mask_by_count", (MASK, "mask_m = tl.arange(0, BLOCK_M) < end - first")),
    ],
}

ONE_AXIS = "a tile of one dimension has one axis"
FAR = "it shows beyond 2**31 elements only, which no case has"
MASKED = "masked lanes reach masked loads and stores alone"
# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "route": {
        "chosen = tl.where(offs_k == j, tl.max(z, axis=0), chosen) => chosen = tl.where(offs_k == j, tl.max(z), chosen)": ONE_AXIS,
        "p = tl.exp(chosen - tl.max(chosen, axis=0)) => p = tl.exp(chosen - tl.max(chosen))": ONE_AXIS,
        "tl.store(weights_ptr + pid_t * k + offs_k, p / tl.sum(p, axis=0), mask=offs_k < k) => tl.store(weights_ptr + pid_t * k + offs_k, p / tl.sum(p), mask=offs_k < k)": ONE_AXIS,
    },
    "sort_by_expert": {
        "place += tl.sum(ones, axis=0) => place += tl.sum(ones)": ONE_AXIS,
        "places = place + tl.cumsum(ones, axis=0) - ones => places = place + tl.cumsum(ones) - ones": "a tile of one dimension has one axis, and 0 is what is left out",
        "own = tl.load(experts_ptr + offs_n, mask=offs_n < N, other=-1) == expert => own = tl.load(experts_ptr + offs_n, mask=offs_n < N, other=-2) == expert": "no expert has that number either",
    },
    "grouped_matmul": {
        "if expert >= E: => if expert > E:": "a program without a tile finds BLOCK_E, which is above E",
        "tiles_to = tl.cumsum(tiles, axis=0) => tiles_to = tl.cumsum(tiles)": "a tile of one dimension has one axis, and 0 is what is left out",
        "expert = tl.sum((tiles_to <= tile).to(tl.int32), axis=0) => expert = tl.sum((tiles_to <= tile).to(tl.int32))": ONE_AXIS,
        "tiles_before = tl.sum(tl.where(offs_e < expert, tiles, 0), axis=0) => tiles_before = tl.sum(tl.where(offs_e < expert, tiles, 0))": ONE_AXIS,
        "x_rows = x_ptr + (choices // k).to(tl.int64) * D => x_rows = x_ptr + choices // k * D": FAR,
        "w_e = w_ptr + expert.to(tl.int64) * D * F => w_e = w_ptr + expert * D * F": FAR,
        "choices = tl.load(order_ptr + offs_m, mask=mask_m, other=0) => choices = tl.load(order_ptr + offs_m, mask=mask_m)": MASKED,
        "choices = tl.load(order_ptr + offs_m, mask=mask_m, other=0) => choices = tl.load(order_ptr + offs_m, mask=mask_m, other=1)": MASKED,
        'grid = (N // tile["BLOCK_M"] + E, triton.cdiv(F, tile["BLOCK_N"])) => grid = (triton.cdiv(N, tile["BLOCK_M"]) + E, triton.cdiv(F, tile["BLOCK_N"]))': "a bound too, by one program higher",
        "expert = tl.sum((tiles_to <= tile).to(tl.int32), axis=0) => expert = tl.sum(tiles_to <= tile, axis=0)": "the installed Triton adds comparisons as 32-bit integers; the page warns of old ones",
    },
}
