"""Wrong answers of 64_gluon_matmul with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

RACE = ("early-read", "unwritten", "overwritten", "two-writers", "phase-twice")
STUCK = ("deadlock",)
STEP = ("too-many-arrivals", "unfinished", *STUCK)
VALUES = ("wrong-values", "zeros", "nan", "wrong-tail")

# --- matmul_ring
EXPECT = "    mbarrier.expect(arrived, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=there)\n"
COPY_A = "    tma.async_copy_global_to_shared(a_desc, a_place, arrived, a_tiles.index(slot), pred=there)\n"
COPY_B = "    tma.async_copy_global_to_shared(b_desc, b_place, arrived, b_tiles.index(slot), pred=there)\n"
FILL = "    for early in gl.static_range(SLOTS - 1):\n        order_step(a_desc, b_desc, ring, early, tile_m, tile_n, early, early < steps)\n"
WAIT = "        mbarrier.wait(full.index(slot), step // SLOTS % 2)\n"
MULTIPLY = "        acc = warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot), acc, is_async=True)\n"
ONE = "        acc = warpgroup_mma_wait(1, deps=[acc])\n"
AHEAD = "        order_step(a_desc, b_desc, ring, ahead, tile_m, tile_n, ahead, ahead < steps)\n"
ALL = "    acc = warpgroup_mma_wait(0, deps=[acc])\n    c_tile = gl"

# --- matmul_jobs
EMPTY = "            mbarrier.wait(empty.index(number % SLOTS), number // SLOTS % 2 ^ 1)\n"
ORDER = "            order_step(a_desc, b_desc, ring, number, tile_m, tile_n, step, True)\n"
COUNT = "            number += 1\n    \n"
WALK = "    number = 0\n    for tile in range(gl.program_id(0), grid_m * grid_n, gl.num_programs(0)):\n        tile_m, tile_n = tile_of(tile, grid_m, grid_n)\n        for step in range(steps):\n"

# --- matmul_groups
FULL = "            mbarrier.wait(full.index(slot), number // SLOTS % 2)\n            a = "
SLICE = "            a = a_tiles.index(slot).slice(GROUP * ROWS, ROWS)\n"
PRODUCT = "            acc = warpgroup_mma(a, b_tiles.index(slot), acc, is_async=True)\n"
BEFORE = "            acc = warpgroup_mma_wait(1, deps=[acc])\n"
RELEASE = "            mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1, pred=step > 0)\n"
NEXT = "            number += 1\n        acc"
LAST = "        acc = warpgroup_mma_wait(0, deps=[acc])\n        mbarrier"
FINAL = "        mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1)\n"
STORED = "        tma.store_wait(0)\n        c_tile"
PUT = "        c_tile.store(acc.to(c_desc.dtype))\n        fence_async_shared()\n        tma.async_copy_shared_to_global(c_desc, c_place, c_tile)\n    "

MUTANTS = {
    "matmul_ring": [
        Mutant("nothing_expected", (*RACE, *STUCK), (EXPECT, "")),
        Mutant("drained_each_round", "property", (ONE, ONE + "        if slot == SLOTS - 1:\n            acc = warpgroup_mma_wait(0, deps=[acc])\n"), only="interpreter"),
        Mutant("expects_one_tile", (*RACE, *STUCK), (" + b_desc.block_type.nbytes, pred=there)", ", pred=there)")),
        Mutant("expects_numbers_not_bytes", (*RACE, *STUCK), ("a_desc.block_type.nbytes + b_desc.block_type.nbytes", "BLOCK_M * BLOCK_K + BLOCK_K * BLOCK_N")),
        Mutant("arrives_and_expects_nothing", (*RACE, *STUCK), (EXPECT, "    mbarrier.arrive(arrived, count=1, pred=there)\n")),
        Mutant("expects_each_tile_apart", "too-many-arrivals", (EXPECT, "    mbarrier.expect(arrived, a_desc.block_type.nbytes, pred=there)\n    mbarrier.expect(arrived, b_desc.block_type.nbytes, pred=there)\n")),
        Mutant("ring_as_a_list", "raised", ("arrived = full.index(slot)", "arrived = full[slot]")),
        Mutant("deps_is_no_list", "raised", (ONE, ONE.replace("[acc]", "acc"))),
        Mutant("bytes_of_the_descriptor", "raised", ("a_desc.block_type.nbytes +", "a_desc.nbytes +")),
        Mutant("expect_turned", "raised", (EXPECT, "    mbarrier.expect(a_desc.block_type.nbytes + b_desc.block_type.nbytes, arrived, pred=there)\n")),
        Mutant("one_barrier_for_all", (*RACE, *STEP), ("arrived = full.index(slot)", "arrived = full.index(0)")),
        Mutant("b_not_ordered", (*RACE, *STUCK), (COPY_B, "")),
        Mutant("a_twice", (*RACE, *STUCK, "size"), (COPY_B, COPY_A)),
        Mutant("b_over_a", ("size", *RACE), (COPY_B, COPY_B.replace("b_tiles", "a_tiles"))),
        Mutant("ordered_beyond_the_end", ("unfinished", *STEP), (EXPECT + COPY_A + COPY_B, (EXPECT + COPY_A + COPY_B).replace(", pred=there", ""))),
        Mutant("copies_beyond_the_end", "unfinished", (COPY_A + COPY_B, (COPY_A + COPY_B).replace(", pred=there", ""))),
        Mutant("whole_ring_as_a_tile", "size", (COPY_A, COPY_A.replace("a_tiles.index(slot)", "a_tiles"))),
        Mutant("no_barrier_chosen", "no-index", (WAIT, WAIT.replace("full.index(slot)", "full"))),
        Mutant("a_and_b_swapped", "size", (MULTIPLY, MULTIPLY.replace("a_tiles.index(slot), b_tiles.index(slot)", "b_tiles.index(slot), a_tiles.index(slot)"))),
        Mutant("product_thrown_away", ("zeros", "wrong-values"), (MULTIPLY, MULTIPLY.replace("acc = warp", "warp"))),
        Mutant("ahead_from_this_step", VALUES, (AHEAD, AHEAD.replace("tile_n, ahead,", "tile_n, step,"))),
        Mutant("first_step_left_out", ("unfinished", *STEP), ("in range(steps):\n        slot", "in range(1, steps):\n        slot")),
        Mutant("ring_not_filled", STUCK, (FILL, "")),
        Mutant("one_step_too_few", (*RACE, *STUCK), ("gl.static_range(SLOTS - 1)", "gl.static_range(SLOTS - 2)")),
        Mutant("one_step_too_many", (*RACE, *STEP), ("gl.static_range(SLOTS - 1)", "gl.static_range(SLOTS)")),
        Mutant("early_steps_that_are_not_there", "unfinished", ("early, early < steps", "early, True")),
        Mutant("never_waits", RACE, (WAIT, "")),
        Mutant("phase_never_changes", (*RACE, *STUCK), ("step // SLOTS % 2", "0")),
        Mutant("phase_changes_with_every_step", (*RACE, *STUCK), ("step // SLOTS % 2", "step % 2")),
        Mutant("phase_counts_rounds", "phase", ("step // SLOTS % 2", "step // SLOTS")),
        Mutant("other_phase", (*RACE, *STUCK), ("step // SLOTS % 2", "step // SLOTS % 2 ^ 1")),
        Mutant("no_remainder", "outside", ("        slot = step % SLOTS\n", "        slot = step\n")),
        Mutant("product_before_the_wait", RACE, (WAIT + MULTIPLY, MULTIPLY + WAIT)),
        Mutant("product_not_waited_for", "overwritten", (ONE, "")),
        Mutant("waits_for_two", "overwritten", (ONE, ONE.replace("(1", "(2"))),
        Mutant("ordered_before_the_product_is_done", "overwritten", (ONE + "        ahead = step + SLOTS - 1\n" + AHEAD, "        ahead = step + SLOTS - 1\n" + AHEAD + ONE)),
        Mutant("one_slot_too_far", (*RACE, *STEP), ("ahead = step + SLOTS - 1", "ahead = step + SLOTS")),
        Mutant("orders_the_next", (*RACE, *STEP), ("ahead = step + SLOTS - 1", "ahead = step + 1")),
        Mutant("orders_this_step_in_it", "property", (FILL, ""), (WAIT, "        order_step(a_desc, b_desc, ring, step, tile_m, tile_n, step, True)\n" + WAIT), ("        ahead = step + SLOTS - 1\n" + AHEAD, "")),
        Mutant("one_step_ahead_in_any_ring", "property", (FILL, "    order_step(a_desc, b_desc, ring, 0, tile_m, tile_n, 0, True)\n"), ("ahead = step + SLOTS - 1", "ahead = step + 1")),
        Mutant("each_product_waited_for", "property", (ONE, ONE.replace("(1", "(0"))),
        Mutant("products_that_are_not_asynchronous", "property", (MULTIPLY, MULTIPLY.replace(", is_async=True", ""))),
        Mutant("last_product_not_waited_for", ("early-use", "unfinished"), (ALL, "    c_tile = gl")),
        Mutant("product_not_added", VALUES, (MULTIPLY, MULTIPLY.replace("is_async", "use_acc=False, is_async"))),
        Mutant("product_by_torch", ("torch-compute", "no-kernel-launched"), replace="def matmul_ring(a, b, tile=(128, 256, 64), slots=4):\n    new_product(a, b, tile)\n    if b.shape[1] % 8:\n        raise ValueError('b')\n    return a @ b\n"),
    ],
    "matmul_jobs": [
        Mutant("waits_for_the_load_before", "property", (EMPTY, "            if number > 0:\n                mbarrier.wait(empty.index((number - 1) % SLOTS), (number - 1) // SLOTS % 2)\n")),
        Mutant("waits_one_slot_further", "property", (EMPTY, "            mbarrier.wait(empty.index((number + 1) % SLOTS), (number + 1) // SLOTS % 2 ^ 1)\n")),
        Mutant("waits_for_its_own_copies", "property", (ORDER, ORDER + "            mbarrier.wait(ring[2].index(number % SLOTS), number // SLOTS % 2)\n")),
        Mutant("waits_for_its_own_phase", STUCK, ("number // SLOTS % 2 ^ 1", "number // SLOTS % 2")),
        Mutant("never_waits", (*RACE, "too-many-arrivals"), (EMPTY, "")),
        Mutant("waits_after_the_order", (*RACE, *STEP), (EMPTY + ORDER, ORDER + EMPTY)),
        Mutant("phase_always_1", (*RACE, *STEP), ("number // SLOTS % 2 ^ 1", "1")),
        Mutant("phase_always_0", STUCK, ("number // SLOTS % 2 ^ 1", "0")),
        Mutant("phase_of_the_step", (*RACE, *STEP), ("number // SLOTS % 2 ^ 1", "step // SLOTS % 2 ^ 1")),
        Mutant("phase_counts_rounds", "phase", ("number // SLOTS % 2 ^ 1", "number // SLOTS ^ 1")),
        Mutant("waits_for_full", (*RACE, *STEP), ("mbarrier.wait(empty.index", "mbarrier.wait(ring[2].index")),
        Mutant("waits_for_the_next_slot", (*RACE, *STEP), ("empty.index(number % SLOTS)", "empty.index((number + 1) % SLOTS)")),
        Mutant("slot_of_the_step", (*RACE, *STEP), ("empty.index(number % SLOTS)", "empty.index(step % SLOTS)")),
        Mutant("orders_by_step", (*RACE, *STEP), ("ring, number, tile_m, tile_n, step, True", "ring, step, tile_m, tile_n, step, True")),
        Mutant("steps_numbered_through", VALUES, ("ring, number, tile_m, tile_n, step, True", "ring, number, tile_m, tile_n, number, True")),
        Mutant("never_counts", (*RACE, *STEP), ("step, True)\n            number += 1\n", "step, True)\n")),
        Mutant("counts_tiles", (*RACE, *STEP), ("step, True)\n            number += 1\n", "step, True)\n        number += 1\n")),
        Mutant("counts_anew_for_each_tile", (*RACE, *STEP), (WALK, WALK.replace("    number = 0\n", "", 1).replace("        for step", "        number = 0\n        for step"))),
        Mutant("one_tile_only", STUCK, (WALK, WALK.replace("range(gl.program_id(0), grid_m * grid_n, gl.num_programs(0))", "range(gl.program_id(0), gl.program_id(0) + 1)"))),
        Mutant("all_tiles_in_each_program", (*VALUES, *STEP), (WALK, WALK.replace("range(gl.program_id(0), grid_m * grid_n, gl.num_programs(0))", "range(grid_m * grid_n)"))),
        Mutant("neighbouring_tiles", (*VALUES, *STEP), (WALK, WALK.replace("range(gl.program_id(0), grid_m * grid_n, gl.num_programs(0))", "range(gl.program_id(0), grid_m * grid_n)"))),
        Mutant("rows_and_columns_swapped", VALUES, (WALK, WALK.replace("tile_m, tile_n = tile", "tile_n, tile_m = tile"))),
        Mutant("grid_swapped", VALUES, (WALK, WALK.replace("tile_of(tile, grid_m, grid_n)", "tile_of(tile, grid_n, grid_m)"))),
        Mutant("last_step_left_out", (*STUCK, *VALUES), (WALK, WALK.replace("range(steps)", "range(steps - 1)"))),
        Mutant("a_step_too_many", ("unfinished", *VALUES, *STEP), (WALK, WALK.replace("range(steps)", "range(steps + 1)"))),
        Mutant("arrives_at_empty_itself", ("too-many-arrivals", "overwritten", *STEP), (EMPTY, EMPTY + "            mbarrier.arrive(empty.index(number % SLOTS), count=1)\n")),
        Mutant("first_wait_a_slot_late", ("too-many-arrivals", "overwritten", *STEP), (EMPTY, "            if number > SLOTS:\n    " + EMPTY)),
        Mutant("ordered_only_early", STUCK, ("step, True)", "step, step > 0)")),
        Mutant("product_by_torch", ("torch-compute", "no-kernel-launched"), replace="def matmul_jobs(a, b, tile=(128, 256, 64), slots=3, programs=None):\n    new_product(a, b, tile)\n    if b.shape[1] % 8:\n        raise ValueError('b')\n    return a @ b\n"),
    ],
    "matmul_groups": [
        Mutant("never_waits", RACE, (FULL, "            a = ")),
        Mutant("other_phase", (*RACE, *STUCK), ("number // SLOTS % 2)\n            a =", "number // SLOTS % 2 ^ 1)\n            a =")),
        Mutant("phase_of_the_step", (*RACE, *STEP), ("number // SLOTS % 2)\n            a =", "step // SLOTS % 2)\n            a =")),
        Mutant("slot_of_the_step", (*RACE, *STEP, *VALUES), ("            slot = number % SLOTS\n            mbarrier.wait(full.index(slot), number // SLOTS % 2)\n            a", "            slot = step % SLOTS\n            mbarrier.wait(full.index(slot), number // SLOTS % 2)\n            a")),
        Mutant("both_groups_the_upper_half", VALUES, ("slice(GROUP * ROWS, ROWS)", "slice(0, ROWS)")),
        Mutant("starts_at_the_group", VALUES, ("slice(GROUP * ROWS, ROWS)", "slice(GROUP, ROWS)")),
        Mutant("halves_swapped", VALUES, ("slice(GROUP * ROWS, ROWS)", "slice((1 - GROUP) * ROWS, ROWS)")),
        Mutant("product_not_added", VALUES, (PRODUCT, PRODUCT.replace("is_async", "use_acc=False, is_async"))),
        Mutant("released_before_the_wait", "overwritten", (BEFORE + RELEASE, RELEASE + BEFORE)),
        Mutant("releases_its_own_slot", ("overwritten", *STEP), (RELEASE, "            mbarrier.arrive(empty.index(slot), count=1)\n"), (FINAL, "")),
        Mutant("releases_the_next_slot", ("overwritten", *STEP), (RELEASE, RELEASE.replace("number + SLOTS - 1", "number + 1"))),
        Mutant("released_in_the_first_step_too", ("too-many-arrivals", "overwritten", *STEP), (", pred=step > 0", "")),
        Mutant("never_released", STUCK, (RELEASE, "")),
        Mutant("last_slot_never_released", STUCK, (FINAL, "")),
        Mutant("last_slot_released_early", "overwritten", (LAST + FINAL[8:].removeprefix("mbarrier"), FINAL + "        acc = warpgroup_mma_wait(0, deps=[acc])\n")),
        Mutant("only_one_group_releases", STUCK, (RELEASE, RELEASE.replace("pred=step > 0", "pred=(step > 0) & (GROUP == 0)"))),
        Mutant("two_arrivals_each", (*STEP, "overwritten"), (RELEASE, RELEASE.replace("count=1", "count=2"))),
        Mutant("releases_full", (*RACE, *STEP), (RELEASE, RELEASE.replace("empty", "full"))),
        Mutant("each_product_waited_for", "property", (BEFORE + RELEASE, "            acc = warpgroup_mma_wait(0, deps=[acc])\n            mbarrier.arrive(empty.index(slot), count=1)\n"), (FINAL, "")),
        Mutant("products_that_are_not_asynchronous", "property", (PRODUCT, PRODUCT.replace(", is_async=True", ""))),
        Mutant("whole_tile_of_a", "size", (SLICE, "            a = a_tiles.index(slot)\n")),
        Mutant("number_as_pred", "pred", ("pred=step > 0", "pred=step")),
        Mutant("whole_c_stored", "size", ("c_desc, c_place, c_tile)", "c_desc, c_place, c_tiles)")),
        Mutant("a_slot_short", "not-initialised", ("for slot in gl.static_range(SLOTS):", "for slot in gl.static_range(SLOTS - 1):")),
        Mutant("waits_for_two_products", ("overwritten",), (BEFORE, BEFORE.replace("(1", "(2"))),
        Mutant("never_counts", (*RACE, *STEP), (NEXT, "        acc")),
        Mutant("counts_tiles", (*RACE, *STEP), (NEXT, "        number += 1\n        acc")),
        Mutant("last_product_not_waited_for", ("early-use", "overwritten"), (LAST, "        mbarrier")),
        Mutant("result_overwrites_the_last", "overwritten", (STORED, "        c_tile")),
        Mutant("store_waited_for_before_the_walk", "property", ("        for step in range(steps):\n            slot = number % SLOTS\n            mbarrier.wait(full.index(slot), number // SLOTS % 2)\n            a = a_tiles.index(slot).slice(", "        tma.store_wait(0)\n        for step in range(steps):\n            slot = number % SLOTS\n            mbarrier.wait(full.index(slot), number // SLOTS % 2)\n            a = a_tiles.index(slot).slice(")),
        Mutant("store_waited_for_at_once", "property", ("        tma.async_copy_shared_to_global(c_desc, c_place, c_tile)\n    ", "        tma.async_copy_shared_to_global(c_desc, c_place, c_tile)\n        tma.store_wait(0)\n    ")),
        Mutant("result_before_the_store_is_done", "overwritten", (STORED + ".store(acc.to(c_desc.dtype))\n", "        c_tile.store(acc.to(c_desc.dtype))\n        tma.store_wait(0)\n")),
        Mutant("no_fence", "no-fence", ("        fence_async_shared()\n        tma.async_copy_shared_to_global(c_desc, c_place", "        tma.async_copy_shared_to_global(c_desc, c_place")),
        Mutant("fence_before_the_store", "no-fence", ("        c_tile.store(acc.to(c_desc.dtype))\n        fence_async_shared()\n        tma.async_copy_shared_to_global(c_desc, c_place", "        fence_async_shared()\n        c_tile.store(acc.to(c_desc.dtype))\n        tma.async_copy_shared_to_global(c_desc, c_place")),
        Mutant("never_stored", (*VALUES, "unwritten"), (PUT, "    ")),
        Mutant("stored_over_each_other", ("two-writers", "overwritten", "unwritten-tail", *VALUES), ("c_desc, c_place, c_tile)", "c_desc, [tile_m * 2 * ROWS, tile_n * BLOCK_N], c_tile)")),
        Mutant("empty_waits_for_one", ("too-many-arrivals", "overwritten"), ("init(empty.index(slot), count=2)", "init(empty.index(slot), count=1)")),
        Mutant("empty_waits_for_three", STUCK, ("init(empty.index(slot), count=2)", "init(empty.index(slot), count=3)")),
        Mutant("full_waits_for_two", STUCK, ("init(full.index(slot), count=1)\n        mbarrier.init(empty.index(slot), count=2)", "init(full.index(slot), count=2)\n        mbarrier.init(empty.index(slot), count=2)")),
        Mutant("one_slot_initialised", "not-initialised", ("    for slot in gl.static_range(SLOTS):\n        mbarrier.init(full.index(slot), count=1)\n        mbarrier.init(empty.index(slot), count=2)", "    mbarrier.init(full.index(0), count=1)\n    mbarrier.init(empty.index(0), count=2)")),
        Mutant("product_by_torch", ("torch-compute", "no-kernel-launched"), replace="def matmul_groups(a, b, tile=(128, 256, 64), slots=3, programs=None):\n    new_product(a, b, tile)\n    if b.shape[1] % 8:\n        raise ValueError('b')\n    return a @ b\n"),
    ],
}

VARIANTS = {
    "matmul_ring": [
        Variant("b_ordered_first", (COPY_A + COPY_B, COPY_B + COPY_A)),
        Variant("expected_after_the_copies", (EXPECT + COPY_A + COPY_B, COPY_A + COPY_B + EXPECT)),
        Variant("if_there", (EXPECT + COPY_A + COPY_B, "    if there:\n" + "".join("    " + line.replace(", pred=there", "") for line in (EXPECT + COPY_A + COPY_B).splitlines(keepends=True)))),
        Variant("phase_by_and", ("step // SLOTS % 2", "(step // SLOTS) & 1")),
        Variant("phase_of_two_rounds", ("step // SLOTS % 2", "step % (2 * SLOTS) // SLOTS")),
        Variant("expected_beyond_the_end", (EXPECT, EXPECT.replace(", pred=there", ""))),
    ],
    "matmul_jobs": [
        Variant("phase_by_subtraction", ("number // SLOTS % 2 ^ 1", "1 - number // SLOTS % 2")),
        Variant("phase_of_the_round_before", ("number // SLOTS % 2 ^ 1", "(number // SLOTS + 1) % 2")),
        Variant("first_round_not_waited_for", (EMPTY, "            if number >= SLOTS:\n    " + EMPTY)),
        Variant("number_from_tile_and_step", (WALK, WALK.replace("        for step", "        number = tile // gl.num_programs(0) * steps\n        for step"))),
        Variant("keyword", ("tile_n, step, True)", "tile_n, step, there=True)")),
    ],
    "matmul_groups": [
        Variant("slot_of_the_load_before", ("(number + SLOTS - 1) % SLOTS), count=1, pred=step > 0)", "(number - 1 + SLOTS) % SLOTS), count=1, pred=step > 0)")),
        Variant("released_in_the_next_tile", ("pred=step > 0", "pred=number > 0"), (FINAL, "")),
        Variant("if_not_the_first", (RELEASE, "            if step > 0:\n    " + RELEASE.replace(", pred=step > 0", ""))),
        Variant("stored_before_the_release", (LAST + FINAL[8:].removeprefix("mbarrier") + "        tma.store_wait(0)\n        c_tile.store(acc.to(c_desc.dtype))\n", "        acc = warpgroup_mma_wait(0, deps=[acc])\n        tma.store_wait(0)\n        c_tile.store(acc.to(c_desc.dtype))\n" + FINAL)),
        Variant("two_loops_of_init", ("        mbarrier.init(full.index(slot), count=1)\n        mbarrier.init(empty.index(slot), count=2)", "        mbarrier.init(full.index(slot), count=1)\n    for slot in gl.static_range(SLOTS):\n        mbarrier.init(empty.index(slot), count=2)")),
    ],
}

EQUIVALENT = {
    "matmul_ring": {
        "mbarrier.expect(arrived, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=there) tma.async_copy_global_to_shared(a_desc, a_place, arrived, a_tiles.index(slot), pred=there) => tma.async_copy_global_to_shared(a_desc, a_place, arrived, a_tiles.index(slot), pred=there) mbarrier.expect(arrived, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=there)": "the phase waits for the loader's arrival: bytes may come before they are expected",
        "tma.async_copy_global_to_shared(a_desc, a_place, arrived, a_tiles.index(slot), pred=there) tma.async_copy_global_to_shared(b_desc, b_place, arrived, b_tiles.index(slot), pred=there) => tma.async_copy_global_to_shared(b_desc, b_place, arrived, b_tiles.index(slot), pred=there) tma.async_copy_global_to_shared(a_desc, a_place, arrived, a_tiles.index(slot), pred=there)": "the order of two copies to one barrier",
        "mbarrier.expect(arrived, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=there) => mbarrier.expect(arrived, a_desc.block_type.nbytes + b_desc.block_type.nbytes)": "nobody waits for a step that is not there",
    },
    "matmul_groups": {
        "mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1) tma.store_wait(0) => tma.store_wait(0) mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1)": "the slot is free already; it is told a little later",
        "mbarrier.init(full.index(slot), count=1) mbarrier.init(empty.index(slot), count=2) => mbarrier.init(empty.index(slot), count=2) mbarrier.init(full.index(slot), count=1)": "the order of two initialisations",
        "mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1) => mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS))": "count is 1 where nothing is said",
        "mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1, pred=step > 0) => mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), pred=step > 0)": "count is 1 where nothing is said",
        "mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1) => mbarrier.arrive(empty.index((number - 1) % SLOTS), count=1)": "the same slot; for number 0 nobody arrives",
        "mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1) => mbarrier.arrive(empty.index((number - SLOTS - 1) % SLOTS), count=1)": "the simulator takes remainders as Python does; on a GPU they may be negative",
        "mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1, pred=step > 0) => mbarrier.arrive(empty.index((number - 1) % SLOTS), count=1, pred=step > 0)": "the same slot; for number 0 nobody arrives",
        "mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1, pred=step > 0) => mbarrier.arrive(empty.index((number - SLOTS - 1) % SLOTS), count=1, pred=step > 0)": "the simulator takes remainders as Python does; on a GPU they may be negative",
    },
}
