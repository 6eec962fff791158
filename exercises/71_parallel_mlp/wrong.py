"""Mistakes of 71_parallel_mlp with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant, usual

SHARED = "a-rank-is-missing gate-and-up-swapped two-ranks-alone"
PROMISES = ("all-weights", "no-second-meeting", "awaited-after-the-sum")

# Sentences that several mistakes share.
SAYS = {
    "part-alone": "This is one rank's part. The result is the sum of all ranks' parts.",
    "rank-0-each-time": "Rank 0's tile was added once for each rank. Rank `other` has a tile of its own.",
    "mean": "This is the mean over the ranks. The contract asks for the sum.",
    "own-part-twice": "Your own tile counts twice: once from registers, once from symmetric memory.",
    "largest": "This is the largest of the parts, or 0. The contract asks for the sum.",
    "first-tile-everywhere": "Each program adds the first tile of the parts. A tile lies where `offs` says.",
}

CUT = "first, stop = {rank.number * H // rank.count, (rank.number + 1) * H // rank.count -> %s}"
FIRST_TILE = "tl.arange(0, BLOCK_M)[:, None] * N + tl.arange(0, BLOCK_N)[None, :]"
BUT = ("grid-one-short", "no-return", "always-float32")
BADLY = ("wrong-values", "early-read", "reads-outside", "out-of-bounds-store", "two-writers")
ORDER = ("deadlock", "early-read", "overwritten")


def of_sums(spaces):
    """Mistakes of the loop that adds. spaces: before its lines."""
    then = f":\n{spaces}part_ptr"
    return [
        Mutant("rank-0-each-time", "pointer_to(part_table_ptr, {other -> 0}, out_ptr)"),
        Mutant("own-part-each-time", "pointer_to(part_table_ptr, {other -> rank}, out_ptr)",
            says="Your own tile was added once for each rank. Rank `other` has a tile of its own."),
        Mutant("begins-with-its-own", "part_table_ptr, {other -> (rank + other) % RANKS}, out", seen="property"),
        Mutant("a-rank-is-missing", "static_range({RANKS -> RANKS - 1})" + then),
        Mutant("own-part-missing", "static_range({RANKS -> 1, RANKS})" + then,
            says="a-rank-is-missing"),
        Mutant("two-ranks-alone", "static_range({RANKS -> 2})" + then),
        Mutant("one-rank-too-many", "static_range({RANKS -> RANKS + 1})" + then, seen="reads-outside"),
        Mutant("one-rank-alone", "total {+= -> =} tl.load", says="This is the last rank's part alone. Add each of them to `total`."),
        Mutant("largest", "{total += tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32) -> "
            "total = tl.maximum(total, tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32))}"),
        Mutant("mean", "out_ptr + offs, total{ ->  / RANKS}"),
        Mutant("pointer-like-the-table", "pointer_to(part_table_ptr, other, {out_ptr -> part_table_ptr})", seen=BADLY),
        Mutant("parts-of-the-flags", "pointer_to({part -> flag}_table_ptr, other", seen=BADLY),
        Mutant("first-tile-everywhere", "part_ptr + {offs -> " + FIRST_TILE + "}, mask", seen=("early-read", "reads-outside")),
        Mutant("no-mask-at-the-load", "part_ptr + offs{, mask=mask, other=0.0 -> })", seen=("reads-outside", "early-read")),
        Mutant("no-mask-at-the-result", "out_ptr + offs, total{, mask=mask -> })", seen=("out-of-bounds-store")),
        Mutant("always-float32", "torch.empty_like(x{ -> , dtype=torch.float32})", seen=BADLY),
        Mutant("no-return", "{    return out\n -> }", seen="raised"),
    ]  # fmt: skip


MUTANTS = {
    "parallel_mlp": [
        usual(),
        Mutant("part-alone", "return {all_reduce(rank, part.view(-1)).view(part.shape) -> part}",
            seen="wrong-launch-count"),
        Mutant("share-of-rank-0", CUT % "0, H // rank.count",
            says="Every rank takes rank 0's share. Rank r's begins at r * H // R."),
        Mutant("share-of-the-next", CUT % "(rank.number + 1) % rank.count * H // rank.count, "
            "((rank.number + 1) % rank.count + 1) * H // rank.count",
            says="Every rank takes the share of the next one."),
        Mutant("shares-backwards", CUT % "(rank.count - 1 - rank.number) * H // rank.count, (rank.count - rank.number) * H // rank.count",
            says="The last rank takes the first share. Rank r's begins at r * H // R."),
        Mutant("shares-of-the-quotient", CUT % "rank.number * (H // rank.count), (rank.number + 1) * (H // rank.count)",
            says="All shares have H // R columns, and the last H % R columns belong to nobody."),
        Mutant("shares-of-whole-tiles", CUT % "rank.number * -(-H // rank.count), (rank.number + 1) * -(-H // rank.count)",
            says="Shares have H / R columns, rounded up. The contract's begin at r * H // R: theirs differ by one column at most."),
        Mutant("rest-to-the-last", CUT % "rank.number * (H // rank.count), H if rank.number + 1 == rank.count else (rank.number + 1) * (H // rank.count)",
            says="The last rank takes all that is left over. The contract's shares begin at r * H // R: they differ by one column at most."),
        Mutant("one-column-missing", "(rank.number + 1) * H // rank.count{ ->  - 1}",
            says="The last column of each share belongs to nobody: `stop` is where the next one begins."),
        Mutant("one-column-twice", "(rank.number + 1) * H // rank.count{ ->  + 1}",
            says="The last column of each share is the first one of the next: `stop` stands beyond the share."),
        Mutant("every-r-th-column", "w_gate[:, {first:stop -> rank.number :: rank.count}]",
            "w_up[:, {first:stop -> rank.number :: rank.count}]", "w_down[{first:stop -> rank.number :: rank.count}]",
            says="A share is every R-th column. The contract's is one piece, from r * H // R on."),
        Mutant("all-weights", "return {w_gate[:, first:stop], w_up[:, first:stop], w_down[first:stop] -> w_gate, w_up, w_down}",
            says="Every rank multiplies by all columns. It holds only its share."),
        Mutant("cut-after-the-product",
            "gate_up_swiglu(x, {gate, up) -> w_gate, w_up)[:, rank.number * len(w_down) // rank.count :][:, : len(down)]}",
            seen="property"),
        Mutant("copied", "return w_gate[:, first:stop]{ -> .contiguous()}", seen="copies"),
        Mutant("gate-of-rank-0", "w_gate[:, {first:stop -> : stop - first}]",
            says="w_gate is cut at other columns than w_up and w_down."),
        Mutant("up-of-rank-0", "w_up[:, {first:stop -> : stop - first}]",
            says="w_up is cut at other columns than w_gate and w_down."),
        Mutant("down-of-rank-0", "w_down[{first:stop -> : stop - first}]",
            says="Hidden values are multiplied by other rows of w_down than their own."),
        Mutant("gate-twice", "stop], {w_up -> w_gate}[:", says="Both products use w_gate."),
        Mutant("up-twice", "return {w_gate -> w_up}[:", says="Both products use w_up."),
        Mutant("gate-and-up-swapped", "gate_up_swiglu(x, {gate, up -> up, gate})"),
        Mutant("no-gate", "{gate_up_swiglu(x, gate, up) -> matmul_grouped(x, up)}",
            says="This is the layer without its gate."),
        Mutant("down-whole", "w_down{[first:stop] -> }", seen="raised"),
        Mutant("down-by-columns", "w_down[{first:stop -> :, first:stop}]", seen="raised"),
        Mutant("gate-by-rows", "w_gate[{:, first:stop -> first:stop}]", seen="raised"),
        Mutant("added-twice", "return {all_reduce(rank, part.view(-1)) -> all_reduce(rank, all_reduce(rank, part.view(-1)))}",
            says="The sum was added up once more: it counts R times.", seen="wrong-launch-count"),
        Mutant("mean", "view(part.shape){ ->  / rank.count}", seen="torch-compute"),
        Mutant("by-torch", "part = {matmul_grouped(hidden, down) -> hidden @ down}", seen="torch-compute"),
        Mutant("one-row", ".view(-1)){.view(part.shape) -> }", seen="raised"),
        Mutant("no-return", "{return all_reduce -> all_reduce}", seen="raised"),
    ],
    "parallel_mlp_fused": [
        usual(but=BUT),
        *of_sums("        "),
        Mutant("no-first-meeting", "{    meet(flag_table_ptr, rank, 0, RANKS)\n -> }", seen="early-read"),
        Mutant("no-second-meeting", "{    meet(flag_table_ptr, rank, 1, RANKS)\n -> }", seen=("overwritten", "early-read")),
        Mutant("met-before-the-part-is-there",
            "{tl.store(own_ptr + offs, acc, mask=mask)\n    meet(flag_table_ptr, rank, 0, RANKS) -> "
            "meet(flag_table_ptr, rank, 0, RANKS)\n    tl.store(own_ptr + offs, acc, mask=mask)}", seen="early-read"),
        Mutant("met-twice-before-the-sum", "{    meet(flag_table_ptr, rank, 1, RANKS)\n -> }",
            "rank, 0, RANKS){ -> \n    meet(flag_table_ptr, rank, 1, RANKS)}", seen=("overwritten", "early-read")),
        Mutant("same-turn-twice", "meet(flag_table_ptr, rank, {1 -> 0}, RANKS)", seen=ORDER),
        Mutant("met-by-the-parts", "meet({flag -> part}_table_ptr, rank, 0, RANKS)", seen=(*ORDER, *BADLY)),
        Mutant("met-as-rank-0", "meet(flag_table_ptr, {rank -> 0}, 0, RANKS)", seen=ORDER),
        Mutant("part-never-stored", "{tl.store(own_ptr + offs, acc, mask=mask) -> own_ptr += 0}", seen="early-read"),
        Mutant("part-at-its-beginning", "own_ptr + {offs -> " + FIRST_TILE + "}, acc", seen=("two-writers", *BADLY)),
        Mutant("no-mask-at-the-part", "own_ptr + offs, acc{, mask=mask -> })", seen=("out-of-bounds-store", "two-writers")),
        Mutant("part-to-the-result", "tl.store({own_ptr -> out_ptr} + offs, acc, mask=mask)", seen="early-read"),
        Mutant("own-tile-from-registers",
            "{total += tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32) -> "
            "total += tl.where(other == rank, acc, tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32))}",
            seen="property"),
        Mutant("own-part-twice", "total = {tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32) -> acc}"),
        Mutant("part-alone", "out_ptr + offs, {total -> acc}, mask", seen="unused-input"),
        Mutant("gate-and-up-swapped", "{gate, up -> up, gate}), torch"),
    ],
    "parallel_mlp_late": [
        usual(but=(*BUT, "one-program")),
        *of_sums("            "),
        Mutant("nothing-is-awaited", "{        await_flags(flag_table_ptr, rank, late, 0, RANKS)\n -> }", seen="early-read"),
        Mutant("awaited-after-the-sum", "{        await_flags(flag_table_ptr, rank, late, 0, RANKS)\n -> }",
            "        {raise_flags(flag_table_ptr, rank, late, 1, RANKS) -> await_flags(flag_table_ptr, rank, late, 0, RANKS)\n"
            "        raise_flags(flag_table_ptr, rank, late, 1, RANKS)}", seen="early-read"),
        Mutant("awaits-its-own-tile", "await_flags(flag_table_ptr, rank, {late -> pid}, 0, RANKS)", seen=(*ORDER, *BADLY)),
        Mutant("awaits-turn-1", "await_flags(flag_table_ptr, rank, late, {0 -> 1}, RANKS)", seen=ORDER),
        Mutant("nobody-says-that-it-was-read", "{        raise_flags(flag_table_ptr, rank, late, 1, RANKS)\n -> }", seen=ORDER),
        Mutant("raised-before-it-is-read", "{        raise_flags(flag_table_ptr, rank, late, 1, RANKS)\n -> }",
            "await_flags(flag_table_ptr, rank, late, 0, RANKS)\n{ ->         raise_flags(flag_table_ptr, rank, late, 1, RANKS)\n}",
            seen=("overwritten", "early-read")),
        Mutant("raised-for-another-tile", "raise_flags(flag_table_ptr, rank, {late -> pid}, 1, RANKS)", seen=(*ORDER, *BADLY)),
        Mutant("raised-in-turn-0", "raise_flags(flag_table_ptr, rank, late, {1 -> 0}, RANKS)", seen=ORDER),
        Mutant("readers-are-not-awaited", "{    if last >= 0:\n        await_flags(flag_table_ptr, rank, last, 1, RANKS)\n -> }",
            seen=("overwritten", "early-read")),
        Mutant("last-awaits-turn-0", "await_flags(flag_table_ptr, rank, last, {1 -> 0}, RANKS)", seen=ORDER),
        Mutant("last-for-late", "await_flags(flag_table_ptr, rank, {last -> late}, 1, RANKS)", seen=(*ORDER, *BADLY)),
        Mutant("before-the-first-tile", "if {(late >= 0) & (late < tiles) -> late < tiles}:", seen=(*ORDER, *BADLY)),
        Mutant("past-the-last-tile", "if {(late >= 0) & (late < tiles) -> late >= 0}:", seen=(*ORDER, *BADLY)),
        Mutant("without-tile-0", "if (late {>= -> >} 0)", seen=(*ORDER, "unwritten", "unwritten-tail")),
        Mutant("last-without-tile-0", "if last {>= -> >} 0", seen=ORDER),
        Mutant("last-too-soon", "if {last -> late} >= 0:\n        await_flags", seen=(*ORDER, *BADLY)),
        Mutant("place-of-its-own-tile", "place_of({late -> pid}, M", seen=(*ORDER, *BADLY, "unwritten", "unwritten-tail")),
        Mutant("awaits-at-once", "late = pid{ - lag -> }", "last = late{ - lag -> }",
            "grid = ({tiles + 2 * lag -> tiles},)", seen="property"),
        Mutant("grid-of-tiles", "grid = ({tiles + 2 * lag -> tiles},)",
            says="The last tiles are never added: program t + lag adds tile t, and there are no programs beyond the tiles.",
            seen=(*ORDER, "unwritten", "unwritten-tail")),
        Mutant("grid-without-the-last", "grid = (tiles + {2 * lag -> lag},)", seen=ORDER),
        Mutant("grid-one-too-few", "grid = (tiles + 2 * lag{ ->  - 1},)", seen=ORDER),
        Mutant("grid-one-too-many", "grid = (tiles + 2 * lag{ ->  + 1},)", seen=(*ORDER, *BADLY)),
        Mutant("grid-twice", "grid = ({tiles + 2 * lag -> 2 * tiles + 2 * lag},)", seen=(*ORDER, *BADLY)),
    ],
}  # fmt: skip

VARIANTS = {
    "parallel_mlp": [
        Variant("two-dimensions", "all_reduce(rank, {part.view(-1)).view(part.shape) -> part)}"),
        Variant("reshaped", "part.{view(-1)).view -> flatten()).reshape}(part.shape)"),
        Variant("a-function-of-its-own", CUT % "(rank.number * H) // rank.count, (rank.number * H + H) // rank.count"),
        Variant("narrowed", "{w_down[first:stop] -> w_down.narrow(0, first, stop - first)}"),
    ],
    "parallel_mlp_fused": [
        Variant("small-tiles", "min(tile[\"BLOCK_N\"], {128 -> 32})"),
        Variant("the-other-way-round", "pointer_to(part_table_ptr, {other -> RANKS - 1 - other}, out_ptr)"),
        Variant("without-the-promise", "{pointer_to(part_table_ptr, other, out_ptr) -> tl.load(part_table_ptr + other).to(out_ptr.dtype)}"),
        Variant("met-after-the-result",
            "{    meet(flag_table_ptr, rank, 1, RANKS)\n    tl.store(out_ptr + offs, total, mask=mask) -> "
            "    tl.store(out_ptr + offs, total, mask=mask)\n    meet(flag_table_ptr, rank, 1, RANKS)}"),
        Variant("zeros-like", "total = {tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32) -> tl.zeros_like(acc)}"),
    ],
    "parallel_mlp_late": [
        Variant("the-other-way-round", "pointer_to(part_table_ptr, {other -> RANKS - 1 - other}, out_ptr)"),
        Variant("stored-before-it-raises",
            "{        raise_flags(flag_table_ptr, rank, late, 1, RANKS)\n        tl.store(out_ptr + offs, total, mask=mask) -> "
            "        tl.store(out_ptr + offs, total, mask=mask)\n        raise_flags(flag_table_ptr, rank, late, 1, RANKS)}"),
        Variant("readers-first", "{    if last >= 0:\n        await_flags(flag_table_ptr, rank, last, 1, RANKS)\n -> }",
            "{    if (late >= 0) & -> "
            "    if last >= 0:\n        await_flags(flag_table_ptr, rank, last, 1, RANKS)\n    if (late >= 0) &} (late < tiles)"),
        Variant("readers-at-once", "{    if last > … rank, last ->         await_flags(flag_table_ptr, rank, late}",
            "{2 *  -> }lag,)"),
        Variant("without-the-promise", "{pointer_to(part_table_ptr, other, out_ptr) -> tl.load(part_table_ptr + other).to(out_ptr.dtype)}"),
    ],
}  # fmt: skip

# Changes by machine (`make mutate`) that are no mistakes.
SUMS = {
    "part_ptr = pointer_to(part_table_ptr, other, out_ptr) => part_ptr = pointer_to(other, part_table_ptr, out_ptr)": "the same sum of table and place",
    "total += tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32) => total += tl.load(part_ptr + offs, mask=mask, other=0.0)": "total is float32, and so is what is added to it",
    "total += tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32) => total += tl.load(part_ptr + offs, mask=mask).to(tl.float32)": "lanes that are off are not stored",
    "total += tl.load(part_ptr + offs, mask=mask, other=0.0).to(tl.float32) => total += tl.load(part_ptr + offs, mask=mask, other=1.0).to(tl.float32)": "lanes that are off are not stored",
}
EQUIVALENT = {
    "parallel_mlp_fused": {
        **SUMS,
        "meet(flag_table_ptr, rank, 1, RANKS) tl.store(out_ptr + offs, total, mask=mask) => tl.store(out_ptr + offs, total, mask=mask) meet(flag_table_ptr, rank, 1, RANKS)": "the result is private: nobody waits for it",
    },
    "parallel_mlp_late": {
        **SUMS,
        "raise_flags(flag_table_ptr, rank, late, 1, RANKS) tl.store(out_ptr + offs, total, mask=mask) => tl.store(out_ptr + offs, total, mask=mask) raise_flags(flag_table_ptr, rank, late, 1, RANKS)": "the result is private: nobody waits for it",
        "await_flags(flag_table_ptr, rank, late, 0, RANKS) => await_flags(rank, flag_table_ptr, late, 0, RANKS)": "the same sum of table and place",
        "await_flags(flag_table_ptr, rank, last, 1, RANKS) => await_flags(rank, flag_table_ptr, last, 1, RANKS)": "the same sum of table and place",
        "offs_m, offs_n = place_of(late, M, N, BLOCK_M, BLOCK_N) => offs_m, offs_n = place_of(late, M, N, BLOCK_N, BLOCK_M)": "an A100's tile is square; where one is not, the shapes do not fit, and nothing compiles",
    },
}
