"""Wrong answers of 61_matmul_records with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

TILES = "for tile in range(pid, tiles, num_programs):"
CORNER = "m, n = corner(tile, M, N, BLOCK_M, BLOCK_N)"
ACC = "acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)"
LOOP = "for k in range(0, K, BLOCK_K):"
X = "x = fetch(a, m, k, M, K, stride_am, stride_ak, BLOCK_M, BLOCK_K, A_HOW)"
Y = "y = fetch(b, k, n, K, N, stride_bk, stride_bn, BLOCK_K, BLOCK_N, B_HOW)"
DOT = "acc = tl.dot(x, y, acc, input_precision=PRECISION)"
PUT = "put(c, acc, m, n, M, N, stride_cm, BLOCK_M, BLOCK_N, C_HOW)"
UNWRITTEN = ("unwritten", "unwritten-tail")

STEPS = "for step in range(steps * part // parts, steps * (part + 1) // parts):"
K = "k = step * BLOCK_K"
STORE = "tl.store(parts_ptr + pid * (BLOCK_M * BLOCK_N) + offs, acc)"
PARTS = "for part in range(0, parts):"
PLACE = "place = (t * parts + part) * (BLOCK_M * BLOCK_N)"
ADD = "acc += tl.load(parts_ptr + place + offs)"
SUM = 'put(c_ptr, acc, m + row, n, M, N, stride_cm, ROWS, BLOCK_N, "pointers")'
TAIL = "tail = tiles % programs if parts > 1 else 0"
WHOLE = "whole = tiles - tail"

COUNT = "tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)"
WAVES = "waves, tail = divmod(tiles, programs)"
STEPS_K = "steps = triton.cdiv(K, BLOCK_K)"
BEFORE = "before = waves * (steps * step + ends)"
NO_TAIL = "    if tail == 0:\n        return before, 1\n"
TRIED = "for parts in range(1, programs // tail + 1):"
LAST = "last = triton.cdiv(steps, parts) * step + ends"
CUTS = "last += CUT + tail * parts * BLOCK_M * BLOCK_N / SUMMED"
APPEND = "found.append((before + last, parts))"
BEST = f"{APPEND}\n    return min(found)"

MUTANTS = {
    "matmul_staying": [
        Mutant("sum_goes_on", "sum-goes-on", (f"        {ACC}\n", ""), (f"    {TILES}", f"    {ACC}\n    {TILES}")),
        Mutant("one_tile_a_program", "first-tiles-only", (TILES, "for tile in range(pid, pid + 1):")),
        Mutant("every_program_takes_all", "race", (TILES, "for tile in range(0, tiles):")),
        Mutant("every_tile_from_its_own_on", "race", (TILES, "for tile in range(pid, tiles):")),
        Mutant("all_begin_with_tile_0", ("race", *UNWRITTEN), (TILES, "for tile in range(0, tiles, num_programs):")),
        Mutant("step_is_the_number_of_tiles", "first-tiles-only", (TILES, "for tile in range(pid, tiles, tiles):")),
        Mutant("last_tile_left_out", "last-tile-left-out", (TILES, "for tile in range(pid, tiles - 1, num_programs):")),
        Mutant("first_wave_left_out", "first-tiles-left-out", (TILES, "for tile in range(pid + num_programs, tiles, num_programs):")),
        Mutant("only_full_waves", UNWRITTEN, (TILES, "for tile in range(pid, tiles // num_programs * num_programs, num_programs):")),
        Mutant("store_after_the_loop", UNWRITTEN, (f"        {PUT}", f"    {PUT}"), (f"    {TILES}", f"    m, n = 0, 0\n    {ACC}\n    {TILES}")),
        Mutant("corner_of_the_program", "first-tiles-only", (CORNER, CORNER.replace("tile", "pid"))),
        Mutant("blocks_swapped_in_corner", "corner-sides-swapped", (CORNER, CORNER.replace("BLOCK_M, BLOCK_N", "BLOCK_N, BLOCK_M"))),
        Mutant("corner_swapped", "corner-turned", (CORNER, CORNER.replace("m, n =", "n, m ="))),
        Mutant("columns_for_steps", "columns-for-steps", (LOOP, "for k in range(0, tl.cdiv(K, BLOCK_K)):")),
        Mutant("last_step_left_out", "last-step-left-out", (LOOP, "for k in range(0, K - BLOCK_K + 1, BLOCK_K):")),
        Mutant("first_step_only", "only-first-step", (LOOP, "for k in range(0, BLOCK_K, BLOCK_K):")),
        Mutant("forgets_to_add", "only-last-step", (DOT, DOT.replace("x, y, acc,", "x, y,"))),
        Mutant("adds_twice", "sum-added-twice", (DOT, DOT.replace("acc =", "acc +="))),
        Mutant("a_stands_still", "a-stands-still", (X, X.replace("m, k,", "m, 0,"))),
        Mutant("b_stands_still", "b-stands-still", (Y, Y.replace("k, n,", "0, n,"))),
        Mutant("one_tile_too_many", "property", (TILES, "for tile in range(pid, tiles + 1, num_programs):")),
        Mutant("b_turned", "b-turned", (Y, Y.replace("k, n,", "n, k,"))),
        Mutant("a_times_block", "a-times-block", (X, X.replace("a, m,", "a, m * BLOCK_M,"))),
        Mutant("b_times_block", "b-times-block", (Y, Y.replace("k, n,", "k, n * BLOCK_N,"))),
        Mutant("steps_of_one", "a-step-a-column", (LOOP, "for k in range(0, K):")),
        Mutant("ways_swapped", ("raised", "does-not-compile", "wrong-values"), (X, X.replace("A_HOW", "B_HOW")), (Y, Y.replace("B_HOW", "A_HOW"))),
        Mutant("a_turned", "a-turned", (X, X.replace("m, k,", "k, m,"))),
        Mutant("b_of_the_first_column", ("wrong-values", "wrong-tail"), (Y, Y.replace("k, n,", "k, 0,"))),
        Mutant("half_sum", ("half-sum", "raised", "does-not-compile"), (ACC, ACC.replace("tl.float32", "tl.float16")), (DOT, "acc += tl.dot(x, y, input_precision=PRECISION).to(tl.float16)")),
        Mutant("tf32_by_default", "property", (DOT, "acc = tl.dot(x, y, acc)")),
        Mutant("rows_of_b_with_a_s_strides", "b-has-rows-of-a", (Y, Y.replace("stride_bk, stride_bn", "stride_am, stride_ak"))),
        Mutant("stored_with_m_for_n", ("race", *UNWRITTEN, "wrong-values"), (PUT, PUT.replace("m, n, M", "m, m, M"))),
        Mutant("stores_each_step", ("property", "wrong-values"), (f"        {PUT}", f"            {PUT}")),
        Mutant("only_as_many_as_programs", "first-tiles-only", (TILES, "for tile in range(pid, num_programs, tiles):")),
        Mutant("sizes_swapped_in_corner", "corner-sizes-swapped", (CORNER, CORNER.replace("M, N, BLOCK", "N, M, BLOCK"))),
        Mutant("columns_stored_as_rows", "put-turned", (PUT, PUT.replace("m, n, M", "n, m, M"))),
        Mutant("strides_of_a_swapped", "strides-of-a-swapped", (X, X.replace("stride_am, stride_ak", "stride_ak, stride_am"))),
        Mutant("strides_of_b_swapped", "strides-of-b-swapped", (Y, Y.replace("stride_bk, stride_bn", "stride_bn, stride_bk"))),
        Mutant("first_step_left_out", "first-step-left-out", (LOOP, "for k in range(BLOCK_K, K, BLOCK_K):")),
        Mutant("steps_of_block_n", "steps-of-block-n", (LOOP, "for k in range(0, K, BLOCK_N):")),
        Mutant("steps_to_n", "last-step-left-out", (LOOP, "for k in range(0, N, BLOCK_K):")),
        Mutant("turns_counted", "race", (TILES, "for tile in range(0, tl.cdiv(tiles, num_programs)):")),
        Mutant("neighbours_past_the_end", "property", (TILES, "each = tl.cdiv(tiles, num_programs)\n    for tile in range(pid * each, pid * each + each):")),
        Mutant("bounds_of_b_swapped", ("reads-outside", "out-of-bounds-load"), (Y, Y.replace("K, N,", "N, K,"))),
        Mutant("bounds_of_a_swapped", ("zeros", "wrong-values"), (X, X.replace("M, K,", "K, M,"))),
        Mutant("sides_of_b_swapped", ("does-not-compile", "raised"), (Y, Y.replace("BLOCK_K, BLOCK_N", "BLOCK_N, BLOCK_K"))),
        Mutant("a_for_b", ("reads-outside", "out-of-bounds-load"), (Y, Y.replace("fetch(b,", "fetch(a,"))),
        Mutant("sizes_swapped_in_put", "out-of-bounds-store", (PUT, PUT.replace("M, N,", "N, M,"))),
        Mutant("descriptors_alone", ("does-not-compile", "raised"), (X, "x = a.load([m, k])"), (Y, "y = b.load([k, n])")),
        Mutant("a_program_a_tile", "other-programs", ("min(tiles, programs or multiprocessors())", "tiles")),
        Mutant("torch_stand_in", ("no-kernel-launched", "torch-compute"), replace="def matmul_staying(a, b, tile=None, programs=None):\n    require_product(a, b)\n    return a @ b\n"),
    ],
    "matmul_split": [
        Mutant("every_part_walks_all", "every-part-walks-all", (STEPS, "for step in range(0, steps):")),
        Mutant("rest_left_out", "rest-left-out", (STEPS, "for step in range(steps // parts * part, steps // parts * (part + 1)):")),
        Mutant("nothing_is_divided", "property", (STEPS, "for step in range(steps * (part // parts), steps * ((part + 1) // parts)):")),
        Mutant("all_in_the_first_part", "property", (STEPS, "for step in range(0, steps if part == 0 else 0):")),
        Mutant("rest_to_the_last", "property", (STEPS, "each = steps // parts\n    for step in range(each * part, steps if part == parts - 1 else each * (part + 1)):")),
        Mutant("part_after", "first-part-missing", (STEPS, "for step in range(steps * (part + 1) // parts, steps * (part + 2) // parts):")),
        Mutant("from_the_start", "from-the-start", (STEPS, "for step in range(0, steps * (part + 1) // parts):")),
        Mutant("to_the_end", "to-the-end", (STEPS, "for step in range(steps * part // parts, steps):")),
        Mutant("one_step_too_many", "one-step-too-many", (STEPS, "for step in range(steps * part // parts, steps * (part + 1) // parts + 1):")),
        Mutant("one_step_too_few", "one-step-too-few", (STEPS, "for step in range(steps * part // parts, steps * (part + 1) // parts - 1):")),
        Mutant("columns_for_steps", ("columns-for-steps-of-a-part", "columns-for-steps"), (K, "k = step")),
        Mutant("forgets_to_add", "last-step-of-each-part", (DOT, DOT.replace("x, y, acc,", "x, y,"))),
        Mutant("parts_on_top_of_each_other", ("race", "wrong-values"), (STORE, "tl.store(parts_ptr + pid // parts * (BLOCK_M * BLOCK_N) + offs, acc)")),
        Mutant("parts_one_apart", ("race", "wrong-values"), (STORE, "tl.store(parts_ptr + pid + offs, acc)")),
        Mutant("parts_of_the_part", ("race", "wrong-values"), (STORE, "tl.store(parts_ptr + part * (BLOCK_M * BLOCK_N) + offs, acc)")),
        Mutant("half_parts", "rounded-parts", (STORE, STORE.replace("acc)", "acc.to(tl.float16))"))),
        Mutant("first_part_only", "first-part-only", (PARTS, "for part in range(0, 1):")),
        Mutant("last_part_only", "last-part-only", ("        acc += tl.load", "        acc = tl.load")),
        Mutant("first_part_missing", "first-part-missing", (PARTS, "for part in range(1, parts):")),
        Mutant("last_part_missing", "last-part-missing", (PARTS, "for part in range(0, parts - 1):")),
        Mutant("tf32_by_default", "property", (DOT, "acc = tl.dot(x, y, acc)")),
        Mutant("stores_each_step", ("wrong-values", "nan", "reads-unwritten"), (STORE, "    " + STORE)),
        Mutant("puts_each_part", "property", (f"    {SUM}", f"        {SUM}")),
        Mutant("parts_of_the_first_tile", "parts-of-the-first-tile", (PLACE, "place = part * (BLOCK_M * BLOCK_N)")),
        Mutant("parts_of_another_tile", "tiles-one-part-apart", (PLACE, "place = (t + part) * (BLOCK_M * BLOCK_N)")),
        Mutant("rows_on_top", "rows-on-top", (SUM, SUM.replace("m + row", "m"))),
        Mutant("rows_of_the_tile_forgotten", ("race", *UNWRITTEN, "wrong-values"), (SUM, SUM.replace("m + row", "row"))),
        Mutant("wide_rows", ("race", "wrong-values", "raised", "does-not-compile"), (SUM, SUM.replace("ROWS, BLOCK_N", "BLOCK_M, BLOCK_N"))),
        Mutant("tail_of_waves", "property", (TAIL, "tail = tiles // programs if parts > 1 else 0")),
        Mutant("all_tiles_are_cut", "property", (TAIL, "tail = tiles if parts > 1 else 0")),
        Mutant("one_part_is_cut_too", "property", (TAIL, "tail = tiles % programs")),
        Mutant("tail_is_never_cut", "property", (TAIL, "tail = 0")),
        Mutant("tail_computed_twice", "property", (WHOLE, "whole = tiles")),
        Mutant("whole_counts_waves", "property", (WHOLE, "whole = tiles // programs")),
        Mutant("steps_of_block_n", "steps-of-block-n-of-a-part", (K, "k = step * BLOCK_N")),
        Mutant("from_its_number_on", "from-its-number-on", (STEPS, "for step in range(part, steps):")),
        Mutant("columns_divided", "columns-divided", (STEPS, "for step in range(K * part // parts, K * (part + 1) // parts, BLOCK_K):"), (K, "k = step")),
        Mutant("first_step_of_each_part", "first-step-of-each-part", (STEPS, "for step in range(steps * part // parts + 1, steps * (part + 1) // parts):")),
        Mutant("each_from_step_0", "each-from-step-0", (STEPS, "for step in range(0, steps * (part + 1) // parts - steps * part // parts):")),
        Mutant("b_turned", "b-turned-in-the-tail", (Y, Y.replace("k, n,", "n, k,"))),
        Mutant("a_times_block", "a-times-block-in-the-tail", (X, X.replace("a, m,", "a, m * BLOCK_M,"))),
        Mutant("first_part_each_time", "first-part-each-time", (PLACE, "place = t * parts * (BLOCK_M * BLOCK_N)")),
        Mutant("parts_one_row_apart", "parts-one-row-apart", (PLACE, "place = (t * parts + part) * BLOCK_N")),
        Mutant("parts_some_rows_apart", "parts-some-rows-apart", (PLACE, "place = (t * parts + part) * (ROWS * BLOCK_N)")),
        Mutant("parts_one_column_apart", "parts-one-column-apart", (PLACE, "place = (t * parts + part) * BLOCK_M")),
        Mutant("rounded_sum", "rounded-sum", (ADD, "acc = (acc + tl.load(parts_ptr + place + offs)).to(tl.float16).to(tl.float32)")),
        Mutant("one_part_too_many", ("reads-outside", "out-of-bounds-load"), (PARTS, "for part in range(0, parts + 1):")),
        Mutant("tiles_before_counted", ("reads-outside", "out-of-bounds-load"), (PLACE, "place = ((whole + t) * parts + part) * (BLOCK_M * BLOCK_N)")),
        Mutant("quotient_and_rest", "property", (f"    {TAIL}\n    {WHOLE}\n", "    whole, tail = divmod(tiles, programs)\n")),
        Mutant("places_left_free", "property", (TAIL, "tail = programs - tiles % programs if parts > 1 else 0")),
        Mutant("rest_of_parts", "property", (TAIL, "tail = tiles % parts if parts > 1 else 0")),
        Mutant("tail_counts_parts", "property", (TAIL, "tail = tiles % programs * parts if parts > 1 else 0")),
        Mutant("whole_less_all_parts", "property", (WHOLE, "whole = tiles - tail * parts")),
        Mutant("a_full_wave_is_cut", "property", (TAIL, "tail = (tiles % programs or programs) if parts > 1 else 0")),
        Mutant("last_programs_tiles", "property", (TAIL, "tail = min(tiles, programs) if parts > 1 else 0")),
        Mutant("waves_of_the_gpu", "property", (TAIL, "tail = tiles % multiprocessors() if parts > 1 else 0")),
        Mutant("from_3_parts_on", "property", (TAIL, "tail = tiles % programs if parts > 2 else 0")),
        Mutant("one_part_alone", "property", (TAIL, "tail = 0 if parts > 1 else tiles % programs")),
        Mutant("one_wave_is_not_cut", "property", (TAIL, "tail = tiles % programs if parts > 1 and tiles > programs else 0")),
        Mutant("full_waves_are_cut", "property", (TAIL, "tail = tiles - tiles % programs if parts > 1 else 0")),
        Mutant("one_tile_more", "property", (TAIL, "tail = tiles % programs + 1 if parts > 1 else 0")),
        Mutant("tiles_lost_in_one_part", "property", (WHOLE, "whole = tiles - tiles % programs")),
        Mutant("torch_stand_in", ("no-kernel-launched", "torch-compute"), replace="def matmul_split(a, b, parts, tile=None, programs=None):\n    require_product(a, b)\n    return a @ b\n"),
    ],
    "matmul_record": [
        Mutant("never_cut", "property", (TRIED, "for parts in range(1, 2):")),
        Mutant("as_many_parts_as_fit", "property", (BEST, f"{APPEND}\n    return found[-1]")),
        Mutant("largest_time", "property", (BEST, f"{APPEND}\n    return max(found)")),
        Mutant("sums_forgotten", "property", (CUTS, "last += CUT")),
        Mutant("sums_of_one_tile", "property", (CUTS, CUTS.replace("tail * ", ""))),
        Mutant("sums_of_one_part", "property", (CUTS, CUTS.replace("parts * ", ""))),
        Mutant("sums_of_the_result", "property", (CUTS, CUTS.replace("tail * parts * BLOCK_M * BLOCK_N", "M * N"))),
        Mutant("launches_forgotten", "property", (CUTS, CUTS.replace("CUT + ", ""))),
        Mutant("one_part_costs_too", "property", ("        if parts > 1:\n            last += CUT", "        if True:\n            last += CUT")),
        Mutant("ends_of_the_last_wave_forgotten", "property", (LAST, LAST.replace(" + ends", ""))),
        Mutant("parts_rounded_down", "property", (LAST, "last = steps // parts * step + ends")),
        Mutant("half_steps", "property", (LAST, "last = steps / parts * step + ends")),
        Mutant("one_part_too_few", ("property", "raised"), (TRIED, "for parts in range(1, programs // tail):")),
        Mutant("more_parts_than_programs", "property", (TRIED, "for parts in range(1, steps + 1):")),
        Mutant("quotient_and_rest_swapped", ("property", "raised"), (WAVES, "tail, waves = divmod(tiles, programs)")),
        Mutant("columns_for_steps", "property", (STEPS_K, "steps = K")),
        Mutant("bytes_for_numbers", "property", (CUTS, CUTS.replace("BLOCK_N /", "BLOCK_N * 4 /"))),
        Mutant("pairs_of_parts_first", "property", (APPEND, "found.append((parts, before + last))")),
        Mutant("whole_nanoseconds", "property", (CUTS, CUTS.replace("/ SUMMED", "// SUMMED"))),
        Mutant("no_parts_where_no_tail", "property", ("return before, 1", "return before, 0")),
        Mutant("tiles_rounded_down", ("property", "raised"), (COUNT, "tiles = (M // BLOCK_M) * (N // BLOCK_N)")),
        Mutant("rows_for_columns", "property", (COUNT, COUNT.replace("M, BLOCK_M", "M, BLOCK_N").replace("N, BLOCK_N)", "N, BLOCK_M)"))),
        Mutant("steps_rounded_down", "property", (STEPS_K, "steps = K // BLOCK_K")),
        Mutant("waves_rounded_up", "property", (BEFORE, BEFORE.replace("waves *", "triton.cdiv(tiles, programs) *"))),
        Mutant("full_waves_forgotten", "property", (BEFORE, "before = 0")),
        Mutant("ends_once", "property", (BEFORE, "before = waves * steps * step + ends")),
        Mutant("no_tail_forgotten", ("property", "raised"), (NO_TAIL, "")),
        Mutant("no_tail_is_a_wave", "property", (NO_TAIL, "    tail = tail or programs\n")),
        Mutant("pair_turned_round", "property", (BEST, f"{APPEND}\n    return min(found)[::-1]")),
        Mutant("time_alone", ("property", "raised"), (BEST, f"{APPEND}\n    return min(found)[0]")),
        Mutant("parts_alone_count", "property", ("found.append((before + last, parts))", "found.append((last, parts))")),
        Mutant("ends_of_full_waves_forgotten", "property", (BEFORE, "before = waves * steps * step")),
        Mutant("one_step_a_wave", "property", (BEFORE, "before = waves * (step + ends)")),
        Mutant("launches_for_each_part", "property", (CUTS, CUTS.replace("CUT +", "parts * CUT +"))),
        Mutant("launches_twice", "property", (CUTS, CUTS.replace("CUT +", "2 * CUT +"))),
        Mutant("there_and_back", "property", (CUTS, CUTS.replace("tail *", "2 * tail *"))),
        Mutant("ends_are_shared", "property", (LAST, "last = (steps * step + ends) / parts")),
        Mutant("parts_rounded_up", "property", (TRIED, "for parts in range(1, triton.cdiv(programs, tail) + 1):")),
        Mutant("as_many_parts_as_programs", "property", (TRIED, "for parts in range(1, programs + 1):")),
        Mutant("cut_always", ("property", "raised"), (TRIED, "for parts in range(2, programs // tail + 1):")),
        Mutant("waves_of_the_gpu", "property", (WAVES, "waves, tail = divmod(tiles, multiprocessors())")),
        Mutant("equal_times_more_parts", "property", (BEST, f"{APPEND}\n    return min(found, key=lambda one: (one[0], -one[1]))")),
        Mutant("tiles_by_area", "property", (COUNT, "tiles = triton.cdiv(M * N, BLOCK_M * BLOCK_N)")),
        Mutant("torch_stand_in", ("no-kernel-launched", "torch-compute"), ("    return matmul_split(a, b, parts, dict(zip(NAMES, tile, strict=True)))", "    return a @ b")),
    ],
}

VARIANTS = {
    "matmul_staying": [
        Variant("range_of_triton", (TILES, "for tile in tl.range(pid, tiles, num_programs):")),
        Variant("neighbouring_tiles", (TILES, "each = tl.cdiv(tiles, num_programs)\n    for tile in range(pid * each, min(tiles, pid * each + each)):")),
        Variant("steps_counted", (LOOP, "for step in range(0, tl.cdiv(K, BLOCK_K)):\n            k = step * BLOCK_K")),
        Variant("product_added", (DOT, "acc += tl.dot(x, y, input_precision=PRECISION)")),
        Variant("float32_by_hand", (DOT, 'acc = tl.dot(x, y, acc, input_precision="ieee")')),
        Variant("b_first", (f"            {X}\n            {Y}\n", f"            {Y}\n            {X}\n")),
        Variant("while_loop", (TILES, "tile = pid - num_programs\n    while tile + num_programs < tiles:\n        tile += num_programs")),
        Variant("turns_counted", (TILES, "for turn in range(0, tl.cdiv(tiles - pid, num_programs)):\n        tile = pid + turn * num_programs")),
        Variant("by_keyword", (X, X.replace("a, m, k, M, K,", "a, row=m, column=k, rows=M, columns=K,").replace("stride_am, stride_ak", "stride_xr=stride_am, stride_xc=stride_ak").replace("BLOCK_M, BLOCK_K, A_HOW", "HIGH=BLOCK_M, WIDE=BLOCK_K, HOW=A_HOW"))),
        Variant("precision_by_place", (DOT, "acc = tl.dot(x, y, acc, PRECISION)")),
        Variant("last_first", (TILES, "for back in range(pid, tiles, num_programs):\n        tile = tiles - 1 - back")),
    ],
    "matmul_split": [
        Variant("rounded_up", (STEPS, "each = tl.cdiv(steps, parts)\n    for step in range(part * each, part * each + each):")),
        Variant("rounded_up_and_cut", (STEPS, "each = tl.cdiv(steps, parts)\n    for step in range(part * each, min(steps, part * each + each)):")),
        Variant("every_so_many_steps", (STEPS, "for step in range(part, steps, parts):")),
        Variant("place_in_one", (f"        {PLACE}\n", ""), (ADD, "acc += tl.load(parts_ptr + (t * parts + part) * BLOCK_M * BLOCK_N + offs)")),
        Variant("last_part_first", (PLACE, "place = (t * parts + parts - 1 - part) * (BLOCK_M * BLOCK_N)")),
        Variant("whole_first", (f"    {TAIL}\n    {WHOLE}\n", "    whole = tiles if parts == 1 else tiles // programs * programs\n    tail = tiles - whole\n")),
        Variant("float32_by_hand", (DOT, 'acc = tl.dot(x, y, acc, input_precision="ieee")')),
        Variant("rest_to_the_first", (STEPS, "each, rest = steps // parts, steps % parts\n    first = part * each + tl.minimum(part, rest)\n    last = first + each\n    if part < rest:\n        last += 1\n    for step in range(first, last):")),
        Variant("columns_counted", (STEPS, "for k in range(steps * part // parts * BLOCK_K, steps * (part + 1) // parts * BLOCK_K, BLOCK_K):"), (f"        {K}\n", "")),
        Variant("stored_by_hand", (SUM, "tl.store(c_ptr + (m + offs_m)[:, None] * stride_cm + (n + offs_n)[None, :], acc.to(c_ptr.dtype.element_ty), mask=(m + offs_m < M)[:, None] & (n + offs_n < N)[None, :])")),
        Variant("pair_by_condition", (f"    {TAIL}\n    {WHOLE}\n", "    whole, tail = (tiles, 0) if parts == 1 else (tiles - tiles % programs, tiles % programs)\n")),
        Variant("times_a_truth", (TAIL, "tail = (parts > 1) * (tiles % programs)")),
        Variant("parts_move_on", (f"        {PLACE}\n", ""), (PARTS, "parts_ptr += t * parts * (BLOCK_M * BLOCK_N)\n    " + PARTS), (ADD, "acc += tl.load(parts_ptr + offs)\n        parts_ptr += BLOCK_M * BLOCK_N")),
    ],
    "matmul_record": [
        Variant("first_uncut", ("    found = []\n    for parts in range(1, programs", "    found = [(before + steps * step + ends, 1)]\n    for parts in range(2, programs")),
        Variant("no_more_parts_than_steps", (TRIED, "for parts in range(1, min(programs // tail, steps) + 1):")),
        Variant("rounded_by_hand", (LAST, "last = -(-steps // parts) * step + ends")),
        Variant("tail_by_remainder", (WAVES, "waves = tiles // programs\n    tail = tiles - waves * programs")),
        Variant("best_so_far", ("    found = []\n    for parts in range(1, programs", "    best = None\n    for parts in range(1, programs"), ("        found.append((before + last, parts))\n    return min(found)", "        if best is None or before + last < best[0]:\n            best = before + last, parts\n    return best")),
        Variant("a_list", (BEST, f"{APPEND}\n    return list(min(found))")),
        Variant("least_by_time", (BEST, f"{APPEND}\n    return min(found, key=lambda one: one[0])")),
        Variant("numbers_of_a_tile_first", (CUTS, "last += CUT + BLOCK_M * BLOCK_N / SUMMED * tail * parts")),
        Variant("sum_in_two_steps", (CUTS, "last += CUT\n            last += tail * parts * BLOCK_M * BLOCK_N / SUMMED")),
    ],
}

EQUIVALENT = {
    "matmul_staying": {
        "put(c, acc, m, n, M, N, stride_cm, BLOCK_M, BLOCK_N, C_HOW) => put(c, acc, m, n, M, stride_cm, N, BLOCK_M, BLOCK_N, C_HOW)": "the wrapper makes c without gaps: its rows are N apart",
    },
    "matmul_split": {
        'put(c_ptr, acc, m + row, n, M, N, stride_cm, ROWS, BLOCK_N, "pointers") => put(c_ptr, acc, m + row, n, M, stride_cm, N, ROWS, BLOCK_N, "pointers")': "the wrapper makes c without gaps: its rows are N apart",
    },
}
