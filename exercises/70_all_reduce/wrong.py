"""Mistakes of 70_all_reduce with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant, usual

SHARED = "a-rank-is-missing two-ranks-alone"
PROMISES = ("table-for-the-part", "raised-relaxed", "stored-at-home-alone")

# Sentences that several mistakes share.
SAYS = {
    "one-rank-alone": "This is one rank's part, not the sum. Add each of them to `acc`.",
    "rank-0-each-time":
        "Rank 0's part was added once for each rank. The address of rank `other` is the table's entry `other`.",
    "mean": "This is the mean over the ranks. The contract asks for the sum.",
    "first-tile-everywhere":
        "Each program adds the first tile of the parts. A tile begins where `offs` says, in every rank's part.",
}

# Symmetric memory is asked first, and the check calls with what the first call gave.
BUT = ("mask-one-too-far", "no-return", "always-float32")
BADLY = ("wrong-values", "early-read", "reads-outside")

MUTANTS = {
    "sum_ranks": [
        usual(but=BUT),
        Mutant("rank-0-each-time", "table_ptr{ + other -> })", says="rank-0-each-time"),
        Mutant("one-rank-alone", "acc {+= -> =} part", says="one-rank-alone"),
        Mutant("a-rank-is-missing", "static_range({RANKS -> RANKS - 1})", says="a-rank-is-missing",
            seen=("wrong-values", "zeros")),
        Mutant("own-part-missing", "static_range({RANKS -> 1, RANKS})", says="a-rank-is-missing",
            seen=("wrong-values", "zeros")),
        Mutant("one-rank-too-many", "static_range({RANKS -> RANKS + 1})", seen="reads-outside"),
        Mutant("two-ranks-alone", "static_range({RANKS -> 2})"),
        Mutant("next-address", "table_ptr + other{ ->  + 1})", seen="reads-outside"),
        Mutant("first-tile-everywhere", "part_ptr + {offs -> tl.arange(0, BLOCK)}, mask", says="first-tile-everywhere"),
        Mutant("pointer-to-float32", "{out_ptr.dtype -> tl.pointer_type(tl.float32)})", seen=BADLY),
        Mutant("no-pointer", "other){.to(out_ptr.dtype) -> }", seen=("raised", "does-not-compile")),
        Mutant("address-of-a-number", "{out_ptr.dtype -> tl.float32}", seen=("raised", "does-not-compile")),
        Mutant("table-for-the-part", "{tl.load(table_ptr + other).to(out_ptr.dtype) -> table_ptr + other}", seen=BADLY),
        Mutant("part-of-the-table", "tl.load({part_ptr -> table_ptr} + offs", seen=BADLY),
        Mutant("mean", "{part.to(tl.float32) -> part.to(tl.float32) / RANKS}", says="mean"),
        Mutant("largest", "{acc += part.to(tl.float32) -> acc = tl.maximum(acc, part.to(tl.float32))}",
            says="This is the largest of the parts, or 0. The contract asks for the sum.", seen="wrong-values"),
        Mutant("product", "acc {+ -> *}= part", seen="zeros"),
        Mutant("subtracted", "acc {+ -> -}= part", seen=("constant-factor", "wrong-values")),
        Mutant("magnitudes", "part{.to(tl.float32) -> .to(tl.float32).abs()}", says="The magnitudes of the parts were added."),
        Mutant("mask-one-too-far", "mask = offs {< -> <=} N", seen=("reads-outside", "out-of-bounds-store")),
        Mutant("always-float32", "torch.empty_like(x{ -> , dtype=torch.float32})",
            seen=("reads-outside", "out-of-bounds-store")),
        Mutant("no-return", "{    return out\n -> }", seen="raised"),
        Mutant("whole-numbers", "part.to(tl.{float32 -> int32})",
            says="The parts were cut to whole numbers before they were added."),
        Mutant("no-first-barrier", "block)\n    {rank.barrier()\n    sum -> sum}_ranks_kernel", seen="early-read"),
        Mutant("no-second-barrier", "BLOCK=block)\n    {rank.barrier()\n    return out -> return out}",
            seen=("overwritten", "early-read")),
        Mutant("adds-before-it-puts", "{    put_kernel[grid](x, part, N, BLOCK=block)\n    rank.barrier()\n -> }",
            "{rank.barrier()\n    return -> put_kernel[grid](x, part, N, BLOCK=block)\n    rank.barrier()\n    return}",
            seen="early-read"),
        Mutant("by-torch", "{sum_ranks_kernel[grid](table -> x = x * rank.count\n    sum_ranks_kernel[grid](table}",
            seen="torch-compute"),
    ],
    "all_reduce": [
        usual(but=BUT),
        # --- meet
        Mutant("no-threads-barrier", "{    tl.debug_barrier()\n -> }", seen="no-barrier"),
        Mutant("raised-relaxed", '{sem="release -> sem="relaxed}', seen="early-read"),
        Mutant("awaited-relaxed", '{sem="acquire -> sem="relaxed}', seen=("early-read", "no-barrier")),
        Mutant("raised-with-acquire", '{sem="release -> sem="acquire}', seen="early-read"),
        Mutant("awaited-with-release", '{sem="acquire -> sem="release}', seen=("early-read", "no-barrier")),
        Mutant("raised-for-one-gpu", '"release"{, scope="sys" -> }', seen="early-read"),
        Mutant("awaited-for-one-gpu", '"acquire"{, scope="sys" -> }', seen="early-read"),
        Mutant("raised-at-home", "tl.load(table_ptr + {other -> rank})", seen="deadlock"),
        Mutant("awaited-abroad", "tl.load(table_ptr + {rank -> 0})", seen=("deadlock", *BADLY, "overwritten")),
        Mutant("raised-in-another-place", "theirs_ptr + first + {rank -> other}, 1,", seen="deadlock"),
        Mutant("awaited-in-another-place", "home_ptr + first + {other -> rank}", seen=("deadlock", "early-read")),
        Mutant("not-put-back", "flag_ptr, 1, {0 -> 1}, sem", seen=("early-read", "overwritten")),
        Mutant("awaits-a-flag-that-is-down", 'scope="sys") {!= 1 -> == 1}', seen=("deadlock", "early-read", "overwritten")),
        Mutant("awaits-0", "flag_ptr, {1, 0 -> 0, 1}, sem", seen=("deadlock", "early-read", "overwritten")),
        Mutant("awaited-by-a-load", '{tl.atomic_cas(flag_ptr, 1, 0, sem="acquire", scope="sys") -> tl.load(flag_ptr)}',
            seen=("early-read", "overwritten", "no-barrier")),
        Mutant("raised-by-a-store", '{atomic_xchg … "sys" -> store(theirs_ptr + first + rank, 1}', seen="early-read"),
        Mutant("one-set-for-both-meetings", "{* 2 + turn) -> * 2)}", seen=("deadlock", "early-read", "overwritten")),
        Mutant("flags-of-program-0", "{(tl.program_id(axis=0) * 2 + turn) -> turn}",
            seen=("deadlock", "early-read", "overwritten")),
        Mutant("raised-at-one-rank-too-few", "\n    for other in tl.static_range({RANKS -> RANKS - 1}):\n        theirs_ptr",
            seen="deadlock"),
        Mutant("one-rank-is-not-awaited", "\n    for other in tl.static_range({RANKS -> RANKS - 1}):\n        flag_ptr",
            seen=("early-read", "overwritten")),
        Mutant("awaits-before-it-raises",
            "{ -> own_ptr = tl.load(table_ptr + rank).to(tl.pointer_type(tl.int32)) + first + other\n"
            '        while tl.atomic_cas(own_ptr, 1, 0, sem="acquire", scope="sys") != 1:\n'
            "            pass\n"
            "        }tl.atomic_xchg",
            "    {for other in tl.static_range(RANKS):\n        flag_ptr = home_ptr + first + other\n"
            '        while tl.atomic_cas(flag_ptr, 1, 0, sem="acquire", scope="sys") != 1:\n'
            "            pass -> tl.debug_barrier()}", seen="deadlock"),
        Mutant("flags-of-64-bits", ".to(tl.pointer_type(tl.{int32 -> int64}))\n        tl.atomic",
            seen=("deadlock", "out-of-bounds-store", "early-read")),
        # --- the kernel
        Mutant("mask-one-too-far", "mask = offs {< -> <=} N", seen=("reads-outside", "out-of-bounds-store")),
        Mutant("always-float32", "torch.empty_like(x{ -> , dtype=torch.float32})",
            seen=("reads-outside", "out-of-bounds-store")),
        Mutant("no-return", "{    return out\n -> }", seen="raised"),
        Mutant("no-first-meeting", "{    meet(flag_table_ptr, rank, 0, RANKS)\n -> }", seen="early-read"),
        Mutant("no-second-meeting", "{    meet(flag_table_ptr, rank, 1, RANKS)\n -> }",
            seen=("overwritten", "early-read")),
        Mutant("met-before-the-part-is-there",
            "{tl.store(own_ptr + offs, x, mask=mask)\n    meet(flag_table_ptr, rank, 0, RANKS) -> "
            "meet(flag_table_ptr, rank, 0, RANKS)\n    tl.store(own_ptr + offs, x, mask=mask)}", seen="early-read"),
        Mutant("met-twice-before-the-sum", "{    meet(flag_table_ptr, rank, 1, RANKS)\n -> }",
            "rank, 0, RANKS){ -> \n    meet(flag_table_ptr, rank, 1, RANKS)}", seen=("overwritten", "early-read")),
        Mutant("same-turn-twice", "{1 -> 0}, RANKS", seen=("deadlock", "early-read", "overwritten")),
        Mutant("part-never-stored", "{tl.store(own_ptr + offs, x, mask=mask) -> own_ptr += 0}", seen="early-read"),
        Mutant("part-of-rank-0", "own_ptr = pointer_to(part_table_ptr, {rank -> 0}, out_ptr)", seen=("two-writers", "early-read")),
        Mutant("begins-with-its-own", "part_table_ptr, {other -> (rank + other) % RANKS}, out", seen="property"),
        Mutant("rank-0-each-time", "pointer_to(part_table_ptr, {other -> 0}, out_ptr)", says="rank-0-each-time"),
        Mutant("pointer-like-the-table", "pointer_to(part_table_ptr, other, {out_ptr -> part_table_ptr})", seen=BADLY),
        Mutant("parts-of-the-flags", "pointer_to({part -> flag}_table_ptr, other", seen=BADLY),
        Mutant("one-rank-alone", "acc {+= -> =} tl.load", says="one-rank-alone"),
        Mutant("own-part-twice", "acc = {tl.zeros([BLOCK], tl.float32) -> x.to(tl.float32)}",
            says="Your own part counts twice: once as `x`, once from its place in the table."),
        Mutant("first-tile-everywhere", "part_ptr + {offs -> tl.arange(0, BLOCK)}, mask",
            says="first-tile-everywhere", seen="early-read"),
        Mutant("mean", "out_ptr + offs, acc{ ->  / RANKS}", says="mean"),
        Mutant("input-as-result", "out_ptr + offs, {acc -> x}", says="This is your own x. Store `acc`.",
            seen=("unused-input", "wrong-values")),
        Mutant("two-launches", "{programs = triton -> x = sum_ranks(rank, x) / rank.count\n    programs = triton}",
            seen=("torch-compute", "wrong-launch-count")),
    ],
    "all_reduce_large": [
        usual(but=BUT),
        Mutant("always-float32", "torch.empty_like(x{ -> , dtype=torch.float32})",
            seen=("reads-outside", "out-of-bounds-store")),
        Mutant("no-return", "{    return out\n -> }", seen="raised"),
        Mutant("adds-the-first-share", "part_ptr + {mine -> offs}",
            says="Every rank adds the first share. Its own begins at `mine`.", seen="early-read"),
        Mutant("stores-at-the-first-share", "sum_ptr + {mine -> offs}", seen=("two-writers", "early-read")),
        Mutant("stored-at-home-alone", "sum_table_ptr, {other -> rank}", seen="early-read"),
        Mutant("stored-at-rank-0", "pointer_to(sum_table_ptr, {other -> 0}, out_ptr)", seen="early-read"),
        Mutant("stored-among-the-parts", "pointer_to({sum -> part}_table_ptr, other, out_ptr)\n        tl.store",
            seen=("early-read", "overwritten", "two-writers")),
        Mutant("added-from-the-sums", "{part_table_ptr -> sum_table_ptr}, other", seen="early-read"),
        Mutant("own-part-alone", "pointer_to(part_table_ptr, {other -> rank}, out_ptr)\n        acc",
            says="Your own part was added once for each rank. The address of rank `other` is the table's entry `other`."),
        Mutant("rank-0-each-time", "pointer_to(part_table_ptr, {other -> 0}, out_ptr)\n        acc", says="rank-0-each-time"),
        Mutant("one-rank-alone", "acc {+= -> =} tl.load", says="one-rank-alone"),
        Mutant("a-rank-is-missing", "static_range({RANKS -> RANKS - 1}):\n        part_ptr", says="a-rank-is-missing"),
        Mutant("one-rank-gets-no-sum", "static_range({RANKS -> RANKS - 1}):\n        sum_ptr", seen="early-read"),
        Mutant("mean", "mine, acc{ ->  / RANKS}, mask", says="mean"),
        Mutant("stored-before-all-are-added", "{for other in tl.static_range(RANKS):\n     -> }    sum_ptr",
            says="The sum is stored before all parts are in it: its store stands in the loop that adds.",
            seen="early-read"),
        Mutant("no-mask-at-the-load", "part_ptr + mine{, mask=mask, other=0.0 -> })",
            seen=("reads-outside", "early-read")),
        Mutant("no-mask-at-the-store", "mine, acc{, mask=mask -> })", seen=("out-of-bounds-store", "two-writers")),
        Mutant("mask-of-the-share-alone", "mask = {inside & (mine < N) -> inside}",
            seen=("reads-outside", "early-read", "out-of-bounds-store")),
        Mutant("no-first-meeting", "{    meet(flag_table_ptr, rank, 0, RANKS)\n -> }", seen="early-read"),
        Mutant("no-second-meeting", "{    meet(flag_table_ptr, rank, 1, RANKS)\n -> }",
            seen=("early-read", "overwritten")),
        Mutant("added-before-all-meet", "{    meet(flag_table_ptr, rank, 0, RANKS)\n -> }",
            "acc, mask=mask){ -> \n    meet(flag_table_ptr, rank, 0, RANKS)}", seen="early-read"),
        Mutant("two-shots-of-one-share", "{mine = rank * size + offs -> mine = (RANKS - 1 - rank) * size + offs}",
            "sum_ptr + {mine -> rank * size + offs}", seen=("wrong-values", "early-read", "out-of-bounds-store")),
        Mutant("own-numbers-for-the-sum", "sum_ptr + mine, {acc -> x}, mask",
            says="x holds your own numbers, of the last share. Store `acc`.", seen=("nan", "wrong-values")),
        Mutant("one-shot",
            "    acc = tl.zeros([BLOCK], tl.float32)\n"
            "    {for other in … mine, acc, mask=mask) -> sum_ptr = pointer_to(sum_table_ptr, rank, out_ptr)\n"
            "    for share in range(RANKS):\n"
            "        mask = inside & (share * size + offs < N)\n"
            "        acc = tl.zeros([BLOCK], tl.float32)\n"
            "        for other in tl.static_range(RANKS):\n"
            "            part_ptr = pointer_to(part_table_ptr, other, out_ptr) + share * size\n"
            "            acc += tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32)\n"
            "        tl.store(sum_ptr + share * size + offs, acc, mask=mask)}", seen="property"),
        Mutant("part-for-the-result", "sums_ptr = pointer_to({sum -> part}_table_ptr",
            says="This is your own x: the parts were copied to `out`, not the sums.", seen=("unused-input", "wrong-values")),
    ],
}

VARIANTS = {
    "sum_ranks": [
        Variant("the-other-way-round", "table_ptr + {other -> RANKS - 1 - other})"),
        Variant("pointer-by-its-element", "{out_ptr.dtype -> tl.pointer_type(out_ptr.dtype.element_ty)})"),
        Variant("one-line", "{part = tl.load … acc += part -> acc += tl.load(part_ptr + offs, mask=mask, other=0.0)}"),
        Variant("aligned", "{tl.load(table_ptr + other).to(out_ptr.dtype) -> pointer_to(table_ptr, other, out_ptr)}"),
        Variant("small-tiles", "x, block={1024 -> 256})"),
    ],
    "all_reduce": [
        Variant("raised-by-adding", "tl.atomic_{xchg -> add}(theirs"),
        Variant("raised-as-soon-as-it-is-down",
            '{tl.atomic_xchg(theirs_ptr + first + rank, 1, sem="release", scope="sys") -> '
            'while tl.atomic_cas(theirs_ptr + first + rank, 0, 1, sem="release", scope="sys") != 0:\n            pass}',
            "{* 2 + turn) -> * 2)}"),
        Variant("acquire-and-release", '{sem="acquire" -> sem="acq_rel"}'),
        Variant("default-sem", '{sem="release", scope -> scope}'),
        Variant("met-after-the-result",
            "{    meet(flag_table_ptr, rank, 1, RANKS)\n    tl.store(out_ptr + offs, acc, mask=mask) -> "
            "    tl.store(out_ptr + offs, acc, mask=mask)\n    meet(flag_table_ptr, rank, 1, RANKS)}"),
        Variant("not-for-itself",
            '{theirs_ptr = tl … first + rank, 1, sem="release", scope="sys") -> if other != rank:\n'
            "            theirs_ptr = tl.load(table_ptr + other).to(tl.pointer_type(tl.int32))\n"
            '            tl.atomic_xchg(theirs_ptr + first + rank, 1, sem="release", scope="sys")}',
            '        {while tl.atomic_cas(flag_ptr, 1, 0, sem="acquire", scope="sys") != 1:\n'
            "            pass -> if other != rank:\n"
            '            while tl.atomic_cas(flag_ptr, 1, 0, sem="acquire", scope="sys") != 1:\n'
            "                pass}"),
        Variant("without-the-promise",
            "{pointer_to(part_table_ptr, other, out_ptr) -> tl.load(part_table_ptr + other).to(out_ptr.dtype)}"),
        Variant("small-tiles", "max({1024 -> 256}, min"),
    ],
    "all_reduce_large": [
        Variant("without-the-promise",
            "{pointer_to(sum_table_ptr, other, out_ptr) -> tl.load(sum_table_ptr + other).to(out_ptr.dtype)}"),
        Variant("the-other-way-round", "pointer_to(part_table_ptr, {other -> RANKS - 1 - other}, out_ptr)\n        acc"),
        Variant("each-begins-elsewhere", "part_table_ptr, {other -> (rank + other) % RANKS}"),
        Variant("own-sum-last", "pointer_to(sum_table_ptr, {other -> (rank + 1 + other) % RANKS}, out_ptr)"),
        Variant("small-tiles", "max({1024 -> 256}, min"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "sum_ranks": {
        "part = tl.load(part_ptr + offs, mask=mask, other=0.0) => part = tl.load(part_ptr + offs, mask=mask)": "lanes that are off are not stored",
        "part = tl.load(part_ptr + offs, mask=mask, other=0.0) => part = tl.load(part_ptr + offs, mask=mask, other=1.0)": "lanes that are off are not stored",
        "acc += part.to(tl.float32) => acc += part": "acc is float32, and so is what is added to it",
    },
    "all_reduce": {
        "part_ptr = pointer_to(part_table_ptr, other, out_ptr) => part_ptr = pointer_to(other, part_table_ptr, out_ptr)": "the same sum of table and place",
        "acc += tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32) => acc += tl.load(part_ptr + offs, mask=mask, other=0.0)": "acc is float32, and so is what is added to it",
        "acc += tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32) => acc += tl.load(part_ptr + offs, mask=mask).to(tl.float32)": "lanes that are off are not stored",
        "acc += tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32) => acc += tl.load(part_ptr + offs, mask=mask, other=1.0).to(tl.float32)": "lanes that are off are not stored",
        "meet(flag_table_ptr, rank, 1, RANKS) tl.store(out_ptr + offs, acc, mask=mask) => tl.store(out_ptr + offs, acc, mask=mask) meet(flag_table_ptr, rank, 1, RANKS)": "the result is private: nobody waits for it",
        'tl.atomic_xchg(theirs_ptr + first + rank, 1, sem="release", scope="sys") => tl.atomic_xchg(theirs_ptr + first + rank, 1, scope="sys")': "the default does both, acquire and release",
        'while tl.atomic_cas(flag_ptr, 1, 0, sem="acquire", scope="sys") != 1: => while tl.atomic_cas(flag_ptr, 1, 0, scope="sys") != 1:': "the default does both, acquire and release",
    },
    "all_reduce_large": {
        "part_ptr = pointer_to(part_table_ptr, other, out_ptr) => part_ptr = pointer_to(other, part_table_ptr, out_ptr)": "the same sum of table and place",
        "sum_ptr = pointer_to(sum_table_ptr, other, out_ptr) => sum_ptr = pointer_to(other, sum_table_ptr, out_ptr)": "the same sum of table and place",
        "acc += tl.load(part_ptr + mine, mask=mask, other=0.0).to(tl.float32) => acc += tl.load(part_ptr + mine, mask=mask, other=0.0)": "acc is float32, and so is what is added to it",
        "acc += tl.load(part_ptr + mine, mask=mask, other=0.0).to(tl.float32) => acc += tl.load(part_ptr + mine, mask=mask).to(tl.float32)": "lanes that are off are not stored",
        "acc += tl.load(part_ptr + mine, mask=mask, other=0.0).to(tl.float32) => acc += tl.load(part_ptr + mine, mask=mask, other=1.0).to(tl.float32)": "lanes that are off are not stored",
    },
}
