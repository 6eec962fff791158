"""Mistakes of 64_gluon_matmul with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "grid-swapped"
PROMISES = ("expects-one-tile", "waits-for-full", "each-product-waited-for")

RACE = ("early-read", "unwritten", "overwritten", "two-writers", "phase-twice")
STUCK = ("deadlock",)
VALUES = ("wrong-values", "zeros", "nan", "wrong-tail")


NEVER_EMPTIED = "{        mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1)\n -> }"

MUTANTS = {
    "matmul_ring": [
        Mutant("nothing-expected",
            "{    mbarrier.expect(arrived, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=there)\n -> }",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "deadlock")),
        Mutant("drained-each-round",
            "{ ->         if slot == SLOTS - 1:\n            acc = warpgroup_mma_wait(0, deps=[acc])\n}        ahead ",
            seen="property", only="interpreter"),
        Mutant("expects-one-tile", "{ + b_desc.block_type.nbytes -> }",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "deadlock")),
        Mutant("expects-numbers-not-bytes",
            "{a_desc.block_type.nbytes + b_desc.block_type.nbytes -> BLOCK_M * BLOCK_K + BLOCK_K * BLOCK_N}",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "deadlock")),
        Mutant("arrives-and-expects-nothing", "{expect(arrived … b_desc.block_type.nbytes -> arrive(arrived, count=1}",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "deadlock")),
        Mutant("expects-each-tile-apart", "block_type.nbytes{ + -> , pred=there)\n    mbarrier.expect(arrived,}",
            seen="too-many-arrivals"),
        Mutant("ring-as-a-list", " full{.index(slot) -> [slot]}", seen="raised"),
        Mutant("deps-is-no-list", "1, deps={[acc] -> acc})", seen="raised"),
        Mutant("bytes-of-the-descriptor", "a_desc.{block_type. -> }nbytes", seen="raised"),
        Mutant("expect-turned",
            "{arrived, a_desc.block_type.nbytes + b_desc.block_type.nbytes -> a_desc.block_type.nbytes + "
            "b_desc.block_type.nbytes, arrived}",
            seen="raised"),
        Mutant("one-barrier-for-all", " full.index({slot -> 0})",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("b-not-ordered",
            "{    tma.async_copy_global_to_shared(b_desc, b_place, arrived, b_tiles.index(slot), pred=there)\n -> }",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "deadlock")),
        Mutant("a-twice", "{b_desc, b_place, arrived, b_tiles -> a_desc, a_place, arrived, a_tiles}",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "deadlock", "size")),
        Mutant("b-over-a", "arrived, {b_tiles -> a_tiles}.index",
            seen=("size", "early-read", "unwritten", "overwritten", "two-writers", "phase-twice")),
        Mutant("ordered-beyond-the-end", "nbytes{, pred=there -> }", "a_tiles.index(slot){, pred=there -> }",
            "{, pred=there -> }", seen=("unfinished", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("copies-beyond-the-end", "a_tiles.index(slot){, pred=there -> }", "){, pred=there -> }",
            seen="unfinished"),
        Mutant("whole-ring-as-a-tile", " a_tiles{.index(slot) -> },", seen="size"),
        Mutant("no-barrier-chosen", "full{.index(slot) -> },", seen="no-index"),
        Mutant("a-and-b-swapped", "{a_tiles.index(slot), b_tiles -> b_tiles.index(slot), a_tiles}", seen="size"),
        Mutant("product-thrown-away", "{acc =  -> }warpgroup_mma(", seen=("zeros", "wrong-values")),
        Mutant("ahead-from-this-step", "tile_n, {ahead -> step}, ", seen=VALUES),
        Mutant("first-step-left-out", "in range({ -> 1, }steps",
            seen=("unfinished", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("ring-not-filled",
            "{    for early in gl.static_range(SLOTS - 1): … early, tile_m, tile_n, early, early < steps)\n -> }",
            seen=STUCK),
        Mutant("one-step-too-few", "static_range(SLOTS - {1 -> 2})",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "deadlock")),
        Mutant("one-step-too-many", "static_range(SLOTS{ - 1 -> })",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("early-steps-that-are-not-there", " {early < steps -> True}", seen="unfinished"),
        Mutant("never-waits", "{        mbarrier.wait(full.index(slot), step // SLOTS % 2)\n -> }", seen=RACE),
        Mutant("phase-never-changes", "{step // SLOTS % 2 -> 0}",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "deadlock")),
        Mutant("phase-changes-with-every-step", "step {// SLOTS  -> }",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "deadlock")),
        Mutant("phase-counts-rounds", "step // SLOTS{ % 2 -> }", seen="phase"),
        Mutant("other-phase", " // SLOTS % 2{ ->  ^ 1})",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "deadlock")),
        Mutant("no-remainder", "= step{ % SLOTS -> }", seen="outside"),
        Mutant("product-before-the-wait",
            "{mbarrier.wait(full.index(slot), step // SLOTS % 2) … b_tiles.index(slot), acc, is_async=True -> acc = "
            "warpgroup_mma(a_tiles.index(slot), b_tiles.index(slot), acc, is_async=True)\n"
            "        mbarrier.wait(full.index(slot), step // SLOTS % 2}", seen=RACE),
        Mutant("product-not-waited-for", "{        acc = warpgroup_mma_wait(1, deps=[acc])\n -> }", seen="overwritten"),
        Mutant("waits-for-two", "warpgroup_mma_wait({1 -> 2},", seen="overwritten"),
        Mutant("ordered-before-the-product-is-done",
            "{acc = warpgroup_mma_wait(1, deps=[acc]) … tile_n, ahead, ahead < steps -> ahead = step + SLOTS - 1\n"
            "        order_step(a_desc, b_desc, ring, ahead, tile_m, tile_n, ahead, ahead < steps)\n"
            "        acc = warpgroup_mma_wait(1, deps=[acc]}", seen="overwritten"),
        Mutant("one-slot-too-far", "step + SLOTS{ - 1 -> }",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("orders-the-next", "step + {SLOTS -  -> }",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("orders-this-step-in-it",
            "{    for early in gl.static_range(SLOTS - 1): … early, tile_m, tile_n, early, early < steps)\n -> }",
            "{ -> order_step(a_desc, b_desc, ring, step, tile_m, tile_n, step, True)\n        }mbarrier.wait(",
            "{        ahead = step + SLOTS - 1 … b_desc, ring, ahead, tile_m, tile_n, ahead, ahead < steps)\n -> }",
            seen="property"),
        Mutant("one-step-ahead-in-any-ring",
            "{for early in … early, early < steps -> order_step(a_desc, b_desc, ring, 0, tile_m, tile_n, 0, True}",
            "step + {SLOTS -  -> }", seen="property"),
        Mutant("each-product-waited-for", "warpgroup_mma_wait({1 -> 0},", seen="property"),
        Mutant("products-that-are-not-asynchronous", "{, is_async=True -> }", seen="property"),
        Mutant("last-product-not-waited-for", "{acc = warpgroup_mma_wait(0, deps=[acc])\n     -> }",
            seen=("early-use", "unfinished")),
        Mutant("product-not-added", " acc, { -> use_acc=False, }is_async", seen=VALUES),
        Mutant("product-by-torch", seen=("torch-compute", "no-kernel-launched"),
            body="new_product(a, b, tile)\n"
                "if b.shape[1] % 8:\n"
                "    raise ValueError('b')\n"
                "return a @ b"),
    ],
    "matmul_jobs": [
        Mutant("waits-for-the-load-before",
            "{mbarrier.wait(empty.index(number % SLOTS), number // SLOTS % 2 ^ 1 -> if number > 0:\n"
            "                mbarrier.wait(empty.index((number - 1) % SLOTS), (number - 1) // SLOTS % 2}",
            seen="property"),
        Mutant("waits-one-slot-further", "{number % SLOTS), number -> (number + 1) % SLOTS), (number + 1)}",
            seen="property"),
        Mutant("waits-for-its-own-copies",
            "            order_step(a_desc, b_desc, ring, number, tile_m, tile_n, step, True)\n"
            "{ ->             mbarrier.wait(ring[2].index(number % SLOTS), number // SLOTS % 2)\n}", seen="property"),
        Mutant("waits-for-its-own-phase", " SLOTS % 2{ ^ 1 -> }", seen=STUCK),
        Mutant("never-waits", "{            mbarrier.wait(empty.index(number % SLOTS), number // SLOTS % 2 ^ 1)\n -> }",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals")),
        Mutant("waits-after-the-order",
            "{mbarrier.wait(empty.index(number % SLOTS), number // SLOTS % 2 ^ 1) … b_desc, ring, number, tile_m, "
            "tile_n, step, True -> order_step(a_desc, b_desc, ring, number, tile_m, tile_n, step, True)\n"
            "            mbarrier.wait(empty.index(number % SLOTS), number // SLOTS % 2 ^ 1}",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("phase-always-1", "{number // SLOTS % 2 ^  -> }",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("phase-always-0", "{number // SLOTS % 2 ^ 1 -> 0}", seen=STUCK),
        Mutant("phase-of-the-step", "SLOTS), {number -> step} //",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("phase-counts-rounds", " // SLOTS {% 2  -> }", seen="phase"),
        Mutant("waits-for-full", "mbarrier.wait({empty -> ring[2]}.",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("waits-for-the-next-slot", "empty.index({number -> (number + 1)}",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("slot-of-the-step", "empty.index({number -> step}",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("orders-by-step", " ring, {number -> step},",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("steps-numbered-through", " tile_n, {step -> number},", seen=VALUES),
        Mutant("never-counts", "True)\n{            number += 1\n -> }",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("counts-tiles", "True)\n        {     -> }number += 1",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("counts-anew-for-each-tile",
            "    SLOTS: gl.constexpr = ring[0].shape[0]\n"
            "    {number = 0 … tile_m, tile_n = tile_of(tile, grid_m, grid_n) -> for tile in "
            "range(gl.program_id(0), grid_m * grid_n, gl.num_programs(0)):\n"
            "        tile_m, tile_n = tile_of(tile, grid_m, grid_n)\n"
            "        number = 0}",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("one-tile-only",
            "]\n"
            "    number = 0\n"
            "    for tile in range(gl.program_id(0), {grid_m * grid_n, gl.num_programs(0) -> gl.program_id(0) + 1}):",
            seen=STUCK),
        Mutant("all-tiles-in-each-program",
            "]\n"
            "    number = 0\n"
            "    for tile in range({gl.program_id(0), grid_m * grid_n, gl.num_programs(0) -> grid_m * grid_n}):",
            seen=("wrong-values", "zeros", "nan", "wrong-tail", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("neighbouring-tiles",
            "for tile in range(gl.program_id(0), grid_m * grid_n{, gl.num_programs(0) -> }):\n"
            "        tile_m, tile_n = tile_of(tile, grid_m, grid_n)\n"
            "        for",
            seen=("wrong-values", "zeros", "nan", "wrong-tail", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("rows-and-columns-swapped",
            "{tile_m, tile_n -> tile_n, tile_m} = tile_of(tile, grid_m, grid_n)\n        for", seen=VALUES),
        Mutant("grid-swapped", "tile_m, tile_n = tile_of(tile, {grid_m, grid_n -> grid_n, grid_m})\n        for",
            seen=VALUES),
        Mutant("last-step-left-out", "step in range(steps{ ->  - 1}):",
            says="The last step along K is missing: a tile has `steps` of them.",
            seen=("deadlock", "wrong-values", "zeros", "nan", "wrong-tail")),
        Mutant("a-step-too-many", "step in range(steps{ ->  + 1}):",
            seen=("unfinished", "wrong-values", "zeros", "nan", "wrong-tail", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("arrives-at-empty-itself",
            "{ ->             mbarrier.arrive(empty.index(number % SLOTS), count=1)\n}            order_step",
            seen=("too-many-arrivals", "overwritten", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("first-wait-a-slot-late", "{ -> if number > SLOTS:\n                }mbarrier.wait(empty",
            seen=("too-many-arrivals", "overwritten", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("ordered-only-early", "tile_n, step, {True -> step > 0}", seen=STUCK),
        Mutant("product-by-torch", seen=("torch-compute", "no-kernel-launched"),
            body="new_product(a, b, tile)\n"
                "if b.shape[1] % 8:\n"
                "    raise ValueError('b')\n"
                "return a @ b"),
    ],
    "matmul_groups": [
        Mutant("never-waits", "{mbarrier.wait(full.index(slot), number // SLOTS % 2)\n             -> }", seen=RACE),
        Mutant("other-phase", " // SLOTS % 2{ ->  ^ 1})",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "deadlock")),
        Mutant("phase-of-the-step", "slot), {number -> step} ",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("slot-of-the-step", "slot = {number -> step} ",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock", "wrong-values", "zeros", "nan", "wrong-tail")),
        Mutant("both-groups-the-upper-half", "slice({GROUP * ROWS -> 0}", seen=VALUES),
        Mutant("starts-at-the-group", "slice(GROUP{ * ROWS -> }", seen=VALUES),
        Mutant("halves-swapped", ").slice({GROUP -> (1 - GROUP)} ", seen=VALUES),
        Mutant("product-not-added", " acc, { -> use_acc=False, }is_async", seen=VALUES),
        Mutant("released-before-the-wait",
            "{acc = warpgroup_mma_wait(1, deps=[acc]) … SLOTS - 1) % SLOTS), count=1, pred=step > 0 -> "
            "mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1, pred=step > 0)\n"
            "            acc = warpgroup_mma_wait(1, deps=[acc]}", seen="overwritten"),
        Mutant("releases-its-own-slot", "{(number + SLOTS - 1) % SLOTS), count=1, pred=step > 0 -> slot), count=1}",
            NEVER_EMPTIED, seen=("overwritten", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("releases-the-next-slot", "mbarrier.arrive(empty.index((number + {SLOTS -  -> }1) % SLOTS), count=1,",
            seen=("overwritten", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("released-in-the-first-step-too", "{, pred=step > 0 -> }",
            seen=("too-many-arrivals", "overwritten", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("never-released",
            "{            mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1, pred=step > 0)\n -> }",
            seen=STUCK),
        Mutant("last-slot-never-released", NEVER_EMPTIED, seen=STUCK),
        Mutant("last-slot-released-early",
            "{acc = warpgroup_mma_wait(0, deps=[acc]) … mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), "
            "count=1 -> mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1)\n"
            "        acc = warpgroup_mma_wait(0, deps=[acc]}", seen="overwritten"),
        Mutant("only-one-group-releases", " pred={step > 0 -> (step > 0) & (GROUP == 0)}", seen=STUCK),
        Mutant("two-arrivals-each", "SLOTS), count={1 -> 2},",
            seen=("too-many-arrivals", "unfinished", "deadlock", "overwritten")),
        Mutant("releases-full", "mbarrier.arrive({empty -> full}.index((number + SLOTS - 1) % SLOTS), count=1,",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("each-product-waited-for",
            "{1, deps=[acc]) … SLOTS - 1) % SLOTS), count=1, pred=step > 0 -> 0, deps=[acc])\n"
            "            mbarrier.arrive(empty.index(slot), count=1}", NEVER_EMPTIED, seen="property"),
        Mutant("products-that-are-not-asynchronous", "{, is_async=True -> }", seen="property"),
        Mutant("whole-tile-of-a", "{.slice(GROUP * ROWS, ROWS) -> }", seen="size"),
        Mutant("number-as-pred", " pred=step{ > 0 -> }", seen="pred"),
        Mutant("whole-c-stored", "c_place, {c_tile -> c_tiles})", seen="size"),
        Mutant("a-slot-short", "static_range(SLOTS{ ->  - 1})", seen="not-initialised"),
        Mutant("waits-for-two-products", "warpgroup_mma_wait({1 -> 2},", seen="overwritten"),
        Mutant("never-counts", "{    number += 1\n         -> }",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("counts-tiles", "{     -> }number += ",
            seen=("early-read", "unwritten", "overwritten", "two-writers", "phase-twice", "too-many-arrivals", "unfinished", "deadlock")),
        Mutant("last-product-not-waited-for", "{acc = warpgroup_mma_wait(0, deps=[acc])\n         -> }",
            seen=("early-use", "overwritten")),
        Mutant("result-overwrites-the-last", "{tma.store_wait(0)\n         -> }", seen="overwritten"),
        Mutant("store-waited-for-before-the-walk", "{ -> tma.store_wait(0)\n        }for step in range",
            seen="property"),
        Mutant("store-waited-for-at-once", "\n    { ->     tma.store_wait(0)\n    }tma.store_wait(0)", seen="property"),
        Mutant("result-before-the-store-is-done",
            "{tma.store_wait(0)\n"
            "        c_tile.store(acc.to(c_desc.dtype) -> c_tile.store(acc.to(c_desc.dtype))\n"
            "        tma.store_wait(0}",
            seen="overwritten"),
        Mutant("no-fence", "{fence_async_shared()\n         -> }", seen="no-fence"),
        Mutant("fence-before-the-store",
            "{c_tile.store(acc.to(c_desc.dtype))\n"
            "        fence_async_shared( -> fence_async_shared()\n"
            "        c_tile.store(acc.to(c_desc.dtype)}",
            seen="no-fence"),
        Mutant("never-stored", "{    c_tile.store(acc.to(c_desc.dtype)) …  -> }tma.store_wait",
            seen=("wrong-values", "zeros", "nan", "wrong-tail", "unwritten")),
        Mutant("stored-over-each-other", "c_desc, {c_place -> [tile_m * 2 * ROWS, tile_n * BLOCK_N]},",
            seen=("two-writers", "overwritten", "unwritten-tail", "wrong-values", "zeros", "nan", "wrong-tail")),
        Mutant("empty-waits-for-one", "slot), count={2 -> 1})", seen=("too-many-arrivals", "overwritten")),
        Mutant("empty-waits-for-three", "slot), count={2 -> 3})", seen=STUCK),
        Mutant("full-waits-for-two", "slot), count={1 -> 2})", seen=STUCK),
        Mutant("one-slot-initialised",
            "{for slot in gl … mbarrier.init(empty.index(slot -> mbarrier.init(full.index(0), count=1)\n"
            "    mbarrier.init(empty.index(0}", seen="not-initialised"),
        Mutant("product-by-torch", seen=("torch-compute", "no-kernel-launched"),
            body="new_product(a, b, tile)\n"
                "if b.shape[1] % 8:\n"
                "    raise ValueError('b')\n"
                "return a @ b"),
    ],
}

VARIANTS = {
    "matmul_ring": [
        Variant("b-ordered-first",
            "{a_desc, a_place, arrived, a_tiles.index(slot), pred=there) … tma.async_copy_global_to_shared(b_desc, "
            "b_place, arrived, b_tiles -> b_desc, b_place, arrived, b_tiles.index(slot), pred=there)\n"
            "    tma.async_copy_global_to_shared(a_desc, a_place, arrived, a_tiles}"),
        Variant("expected-after-the-copies",
            "{mbarrier.expect … b_place, arrived, b_tiles.index(slot), pred=there) -> "
            "tma.async_copy_global_to_shared(a_desc, a_place, arrived, a_tiles.index(slot), pred=there)\n"
            "    tma.async_copy_global_to_shared(b_desc, b_place, arrived, b_tiles.index(slot), pred=there)\n"
            "    mbarrier.expect(arrived, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=there)}"),
        Variant("if-there",
            "{mbarrier.expect … b_place, arrived, b_tiles.index(slot), pred=there) -> if there:\n"
            "        mbarrier.expect(arrived, a_desc.block_type.nbytes + b_desc.block_type.nbytes)\n"
            "        tma.async_copy_global_to_shared(a_desc, a_place, arrived, a_tiles.index(slot))\n"
            "        tma.async_copy_global_to_shared(b_desc, b_place, arrived, b_tiles.index(slot))}"),
        Variant("phase-by-and", "{step // SLOTS % 2 -> (step // SLOTS) & 1}"),
        Variant("phase-of-two-rounds", "step {// SLOTS % 2 -> % (2 * SLOTS) // SLOTS}"),
        Variant("expected-beyond-the-end", "nbytes{, pred=there -> }"),
    ],
    "matmul_jobs": [
        Variant("phase-by-subtraction", "{number // SLOTS % 2 ^ 1 -> 1 - number // SLOTS % 2}"),
        Variant("phase-of-the-round-before", "{number // SLOTS % 2 ^ 1 -> (number // SLOTS + 1) % 2}"),
        Variant("first-round-not-waited-for", "{ -> if number >= SLOTS:\n                }mbarrier.wait(empty"),
        Variant("number-from-tile-and-step",
            "{ -> number = tile // gl.num_programs(0) * steps\n        }for step in range"),
        Variant("keyword", "tile_n, step, { -> there=}True"),
    ],
    "matmul_groups": [
        Variant("slot-of-the-load-before", "{+ SLOTS - 1 -> - 1 + SLOTS}) % SLOTS), count=1,"),
        Variant("released-in-the-next-tile", "count=1, pred={step -> number}", NEVER_EMPTIED),
        Variant("if-not-the-first",
            "{mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1, pred=step > 0 -> if step > 0:\n"
            "                mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1}"),
        Variant("stored-before-the-release",
            "{mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1) … "
            "c_tile.store(acc.to(c_desc.dtype) -> tma.store_wait(0)\n"
            "        c_tile.store(acc.to(c_desc.dtype))\n"
            "        mbarrier.arrive(empty.index((number + SLOTS - 1) % SLOTS), count=1}"),
        Variant("two-loops-of-init", "{ -> for slot in gl.static_range(SLOTS):\n    }    mbarrier.init(empty"),
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
