"""Mistakes of 61_matmul_records with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = """
    a-stands-still b-has-rows-of-a b-stands-still half-sum only-first-step
    only-last-step sum-added-twice
"""
PROMISES = ("predict", "a-program-a-tile", "never-cut")

UNWRITTEN = ("unwritten", "unwritten-tail")


# Sentences that several mistakes share.
SAYS = {
    "first-tiles-only": (
        "Each program's first tile is right, and no other tile is written. Does the loop go on to `tiles` in steps "
        "of `num_programs`, and does `corner` get the tile's number?"
    ),
    "turns-rounded-down": (
        "The tiles of the last wave are missing: how many a program takes is rounded down. A `range` from `pid` to "
        "`tiles` needs no number of turns."
    ),
    "rest-left-out": (
        "The last step along K is in no part: something is rounded down. Let part p begin at `steps * p // parts`, "
        "and end where the next one begins."
    ),
    "whole-counts-waves": "`whole` counts tiles. You have taken the number of full waves.",
    "cut-in-1-part": "In 1 part no tile is cut: there `tail` is 0, and `whole` is all tiles.",
    "a-wave": "A wave is `programs` tiles. `tail` is what full waves leave: `tiles % programs`.",
    "not-parts": "`tail` and `whole` count tiles, not parts of tiles.",
    "time-first": "The time comes first, then the parts.",
    "full-waves-missing": "The full waves are missing.",
    "parts-fit-one-wave": "All parts together fit one wave: `tail * parts` is `programs` at most.",
    "first-part-missing": "The first part is missing. Does part 0 begin with step 0, and the sum with part 0?",
}

MUTANTS = {
    "matmul_staying": [
        Mutant("sum-goes-on", "{        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n -> }",
            "{ -> acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n    }for tile in range",
            says=(
                "A program's second tile holds the sum of its first one too: `acc` begins anew with each tile, "
                "inside the loop over tiles."
            )),
        Mutant("one-tile-a-program", "{tiles, num_programs -> pid + 1}", says="first-tiles-only"),
        Mutant("every-program-takes-all", "{pid, tiles, num_programs -> 0, tiles}", seen="race"),
        Mutant("every-tile-from-its-own-on", "tiles{, num_programs -> }", seen="race"),
        Mutant("all-begin-with-tile-0", "tile in range({pid -> 0}", seen=("race", "unwritten", "unwritten-tail")),
        Mutant("step-is-the-number-of-tiles", " {num_programs -> tiles})", says="first-tiles-only"),
        Mutant("last-tile-left-out", ", tiles{ ->  - 1}, num_programs",
            says="The last tile alone is missing. A `range` ends before its second number: `tiles`."),
        Mutant("first-tiles-left-out", " in range(pid{ ->  + num_programs},",
            says="Each program's first tile is missing, and all others are right: the loop begins with tile `pid`."),
        Mutant("only-full-waves", ", tiles{ ->  // num_programs * num_programs}, num_programs",
            says="turns-rounded-down"),
        Mutant("store-after-the-loop", "{     -> }put(c, acc",
            "{ -> m, n = 0, 0\n    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n    }for tile in range",
            seen=UNWRITTEN),
        Mutant("corner-of-the-program", "= corner({tile -> pid}, M", says="first-tiles-only"),
        Mutant("corner-sides-swapped", " {BLOCK_M, BLOCK_N -> BLOCK_N, BLOCK_M})",
            says="`corner` takes BLOCK_M before BLOCK_N: here they have changed places."),
        Mutant("corner-turned", "{m, n -> n, m} = corner(",
            says="`corner` gives m first, then n: here they have changed places."),
        Mutant("columns-for-steps", "(0, {K, BLOCK_K -> tl.cdiv(K, BLOCK_K)}",
            says="The tiles of a step begin at column `step * BLOCK_K`: here they begin at the number of the step."),
        Mutant("last-step-left-out", "(0, K{ ->  - BLOCK_K + 1}, BLOCK_K", says="last-step-left-out"),
        Mutant("only-first-step", "in range(0, {K -> BLOCK_K}, "),
        Mutant("only-last-step", " {acc,  -> }input_precision"),
        Mutant("sum-added-twice", "acc { -> +}= tl.dot(x"),
        Mutant("a-stands-still", "fetch(a, m, {k -> 0}, "),
        Mutant("b-stands-still", "= fetch(b, {k -> 0}, "),
        Mutant("one-tile-too-many", ", tiles{ ->  + 1}, num_programs", seen="property"),
        Mutant("b-turned", " fetch(b, {k, n -> n, k}",
            says="B's tiles begin at row n and column k: `fetch` takes the row first, and B's is k."),
        Mutant("a-times-block", " fetch(a, m{ ->  * BLOCK_M}, k",
            says="A's tiles begin at row `m * BLOCK_M`. m is a row already, not the number of a tile."),
        Mutant("b-times-block", "fetch(b, k, n{ ->  * BLOCK_N}, K",
            says="B's tiles begin at column `n * BLOCK_N`. n is a column already, not the number of a tile."),
        Mutant("a-step-a-column", "(0, K{, BLOCK_K -> }",
            says=(
                "Each column of A is counted up to BLOCK_K times: the walk along K goes in steps of 1. A tile holds "
                "BLOCK_K columns."
            )),
        Mutant("ways-swapped", "BLOCK_K, {A_HOW -> B_HOW})", "BLOCK_N, {B_HOW -> A_HOW})",
            seen=("raised", "does-not-compile", "wrong-values")),
        Mutant("a-turned", " fetch(a, {m, k -> k, m}",
            says="A's tiles begin at row k and column m: `fetch` takes the row first, and A's is m."),
        Mutant("b-of-the-first-column", "fetch(b, k, {n -> 0}, ", seen=("wrong-values", "wrong-tail")),
        Mutant("half-sum", "dtype=tl.{float32 -> float16}",
            "{= tl.dot(x, y, acc, input_precision=PRECISION -> += tl.dot(x, y, "
            "input_precision=PRECISION).to(tl.float16}",
            seen=("raised", "does-not-compile")),
        Mutant("tf32-by-default", "{, input_precision=PRECISION -> }", seen="property",
            on_gpu=("wrong-tail", "wrong-values")),
        Mutant("b-has-rows-of-a", "N, {stride_bk, stride_bn -> stride_am, stride_ak}, "),
        Mutant("stored-with-m-for-n", "c, acc, m, {n -> m}, ",
            seen=("race", "unwritten", "unwritten-tail", "wrong-values")),
        Mutant("stores-each-step", "{ ->     }put(c, acc, m,", seen=("property", "wrong-values")),
        Mutant("only-as-many-as-programs", "{tiles, num_programs -> num_programs, tiles}", says="first-tiles-only"),
        Mutant("corner-sizes-swapped", "(tile, {M, N -> N, M}, BLOCK_M,",
            says="`corner` takes M before N: here they have changed places."),
        Mutant("put-turned", "(c, acc, {m, n -> n, m},",
            says="Tiles are stored at row n and column m: `put` takes the row first, and that is m."),
        Mutant("strides-of-a-swapped", ", {stride_am, stride_ak -> stride_ak, stride_am},",
            says="A's strides have changed places. `fetch` takes that of the rows first, `stride_am`."),
        Mutant("strides-of-b-swapped", "N, {stride_bk, stride_bn -> stride_bn, stride_bk}, ",
            says="B's strides have changed places. `fetch` takes that of the rows first, `stride_bk`."),
        Mutant("first-step-left-out", "k in range({0 -> BLOCK_K}, ",
            says="The first step along K is missing: it begins at column 0."),
        Mutant("steps-of-block-n", "0, K, {BLOCK_K -> BLOCK_N})",
            says="The walk along K goes in steps of BLOCK_N. A tile of A has BLOCK_K columns."),
        Mutant("steps-to-n", "in range(0, {K -> N}, ", says="last-step-left-out"),
        Mutant("turns-counted", "{pid, tiles, num_programs -> 0, tl.cdiv(tiles, num_programs)}", seen="race"),
        Mutant("neighbours-past-the-end",
            "{for tile in range(pid, tiles, num_programs -> each = tl.cdiv(tiles, num_programs)\n"
            "    for tile in range(pid * each, pid * each + each}",
            seen="property"),
        Mutant("bounds-of-b-swapped", "(b, k, n, {K, N -> N, K}", seen=("reads-outside", "out-of-bounds-load")),
        Mutant("bounds-of-a-swapped", "(a, m, k, {M, K -> K, M}", seen=("zeros", "wrong-values")),
        Mutant("sides-of-b-swapped", "{BLOCK_K, BLOCK_N -> BLOCK_N, BLOCK_K}", seen=("does-not-compile", "raised")),
        Mutant("float32-by-hand", 'input_precision={PRECISION -> "ieee"}', seen="property"),
        Mutant("columns-first",
            "{corner(tile, M, N, BLOCK_M, BLOCK_N) -> tile % tl.cdiv(M, BLOCK_M) * BLOCK_M, tile // tl.cdiv(M, "
            "BLOCK_M) * BLOCK_N}",
            seen="property"),
        Mutant("rows-first",
            "{corner(tile, M, N, BLOCK_M, BLOCK_N) -> tile // tl.cdiv(N, BLOCK_N) * BLOCK_M, tile % tl.cdiv(N, "
            "BLOCK_N) * BLOCK_N}",
            seen="property"),
        Mutant("walk-to-n", "in range(0, {K -> N}, ",
            says="The walk ends at N. It goes along K: `range(0, K, BLOCK_K)`.", seen="last-step-left-out"),
        Mutant("all-tiles-of-c", "range(pid, {tiles -> tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)}, ", seen="property"),
        Mutant("turns-rounded-down",
            "{tile in range(pid, tiles, num_programs): -> turn in range(tiles // num_programs):\n"
            "        tile = pid + turn * num_programs}",
            says="turns-rounded-down"),
        Mutant("a-for-b", "y = fetch({b -> a}, k", seen=("reads-outside", "out-of-bounds-load")),
        Mutant("sizes-swapped-in-put", " n, {M, N -> N, M}, stride_cm", seen="out-of-bounds-store"),
        Mutant("descriptors-alone",
            "{fetch(a, m, k, M, K, stride_am, stride_ak, BLOCK_M, BLOCK_K, A_HOW -> a.load([m, k]}",
            "{fetch(b, k, n, K, N, stride_bk, stride_bn, BLOCK_K, BLOCK_N, B_HOW -> b.load([k, n]}",
            seen=("does-not-compile", "raised")),
        Mutant("a-program-a-tile", "{min(tiles, programs or multiprocessors()) -> tiles}", seen="other-programs"),
        Mutant("torch-stand-in", seen=("no-kernel-launched", "torch-compute"),
            replace='''
def matmul_staying(a, b, tile=None, programs=None):
    require_product(a, b)
    return a @ b
'''),
    ],
    "matmul_split": [
        Mutant("every-part-walks-all", "{steps * part // parts, steps * (part + 1) // parts -> 0, steps}",
            says="Tiles of the last wave are `parts` times too large: each part walks along all of K."),
        Mutant("rest-left-out",
            "{* part // parts, steps * (part + 1) // parts -> // parts * part, steps // parts * (part + 1)}",
            says="rest-left-out"),
        Mutant("nothing-is-divided",
            "{part // parts, steps * (part + 1) // parts -> (part // parts), steps * ((part + 1) // parts)}",
            seen="property"),
        Mutant("all-in-the-first-part",
            "{steps * part // parts, steps * (part + 1) // parts -> 0, steps if part == 0 else 0}", seen="property"),
        Mutant("rest-to-the-last",
            "{for step in range(steps * part // parts, steps * (part + 1) // parts -> each = steps // parts\n"
            "    for step in range(each * part, steps if part == parts - 1 else each * (part + 1)}",
            seen="property"),
        Mutant("part-after", "{part // parts, steps * (part + 1 -> (part + 1) // parts, steps * (part + 2}",
            says="first-part-missing"),
        Mutant("from-the-start", "{steps * part // parts -> 0}",
            says="Each part begins with step 0: the first steps are counted again and again."),
        Mutant("to-the-end", "{ * (part + 1) // parts -> }",
            says="Each part goes on to the last step: the last steps are counted again and again."),
        Mutant("one-step-too-many", " 1) // parts{ ->  + 1}):",
            says="The step between two parts is counted twice. A `range` ends before its second number."),
        Mutant("one-step-too-few", " 1) // parts{ ->  - 1}):",
            says="The last step of each part is missing. A `range` ends before its second number."),
        Mutant("columns-for-steps-of-a-part", "step{ * BLOCK_K -> }",
            says="The tiles of a step begin at column `step * BLOCK_K`: here they begin at the number of the step."),
        Mutant("float32-by-hand", 'input_precision={PRECISION -> "ieee"}', seen="property"),
        Mutant("b-fetched-like-a", "BLOCK_N, {B_HOW -> A_HOW})",
            seen=("does-not-compile", "raised", "wrong-values", "reads-outside")),
        Mutant("a-fetched-like-b-in-the-tail", "BLOCK_K, {A_HOW -> B_HOW})",
            says="A is fetched in B's way, by columns. Its own is `A_HOW`.", seen=("does-not-compile", "raised")),
        Mutant("mean-of-parts", "(c_ptr, acc{ ->  / parts}, m",
            says="The sum was divided by `parts`. They are parts of one sum: add them."),
        Mutant("steps-of-the-pid", "{part // parts, steps * (part -> pid // parts, steps * (pid}",
            says="The steps of a part come from its number in the tile, `part`, not from `pid`."),
        Mutant("parts-as-long-as-their-number",
            "{steps * part // parts, steps * (part + 1) // -> part * parts, (part + 1) *}",
            says="A part has `parts` steps here. It has about `steps / parts` of them."),
        Mutant("whole-columns-divided",
            "{steps * part // parts, steps * (part + 1) // parts -> K * part // parts // BLOCK_K, K * (part + 1) // "
            "parts // BLOCK_K}",
            says="rest-left-out"),
        Mutant("sum-in-float16", "(c_ptr, acc{ -> .to(tl.float16)}, m",
            says="The sum was rounded to float16 before `put`, which rounds to c's own dtype.", seen="half-digits"),
        Mutant("last-step-of-each-part", " {acc,  -> }input_precision",
            says=(
                "Only the last step of each part counts. `tl.dot(x, y, acc, ...)` adds to acc; without acc it "
                "starts from zero."
            )),
        Mutant("parts-on-top-of-each-other", "parts_ptr + pid { -> // parts }*", seen=("race", "wrong-values"),
            on_gpu=("nan",)),
        Mutant("parts-one-apart", "{* (BLOCK_M * BLOCK_N)  -> }", seen=("race", "wrong-values")),
        Mutant("parts-of-the-part", "parts_ptr + {pid -> part} *", seen=("race", "wrong-values")),
        Mutant("rounded-parts", ") + offs, acc{ -> .to(tl.float16)})",
            says="The parts were rounded to half precision. They are float32 until they are added."),
        Mutant("first-part-only", "range(0, {parts -> 1})",
            says="Only the first part is in c. Add all parts of a tile."),
        Mutant("last-part-only", "acc {+ -> }= tl.load", says="Only the last part is in c. Add the parts: `acc +=`."),
        Mutant("first-part-missing", "part in range({0 -> 1}, ", says="first-part-missing"),
        Mutant("last-part-missing", "range(0, parts{ ->  - 1}):",
            says="The last part is missing. Add parts 0 to `parts - 1`."),
        Mutant("tf32-by-default", "{, input_precision=PRECISION -> }", seen="property",
            on_gpu=("wrong-tail", "wrong-values")),
        Mutant("stores-each-step", "{ ->     }tl.store(parts_ptr", seen=("property", "wrong-values", "nan")),
        Mutant("puts-each-part", "{ ->     }put(c_ptr, acc", seen="property"),
        Mutant("parts-of-the-first-tile", "{(t * parts + part) -> part}",
            says=(
                "Each cut tile is the sum of the first one's parts. Those of tile t begin behind t times `parts` "
                "others."
            )),
        Mutant("tiles-one-part-apart", " = (t {* parts  -> }",
            says="Each tile has `parts` parts: those of tile t begin behind `t * parts` others, not behind t."),
        Mutant("rows-on-top", ", acc, m{ + row -> }",
            says="All rows of a tile are put into its first ones: these begin at row `m + row`."),
        Mutant("rows-of-the-tile-forgotten", "c_ptr, acc, {m +  -> }",
            seen=("race", "unwritten", "unwritten-tail", "wrong-values")),
        Mutant("wide-rows", "stride_cm, {ROWS -> BLOCK_M},",
            seen=("race", "wrong-values", "raised", "does-not-compile")),
        Mutant("tail-of-waves", "tail = tiles {% -> //} ",
            says="`tail` is what full waves leave. You have taken their number."),
        Mutant("all-tiles-are-cut", "tiles {% programs  -> }",
            says="All tiles are cut. Those of full waves are not."),
        Mutant("one-part-is-cut-too", "{ if parts > 1 else 0 -> }", says="cut-in-1-part"),
        Mutant("tail-is-never-cut", "{tiles % programs if parts > 1 else  -> }",
            says="No tile is ever cut. From 2 parts on the last wave's are."),
        Mutant("tail-computed-twice", "= tiles{ - tail -> }",
            says="`whole` has the tiles that are cut, too: these are computed twice."),
        Mutant("whole-counts-waves", "= tiles {- tail -> // programs}", says="whole-counts-waves"),
        Mutant("steps-of-block-n-of-a-part", "step * {BLOCK_K -> BLOCK_N}",
            says="The tiles of a step begin at column `step * BLOCK_K`, not at `step * BLOCK_N`."),
        Mutant("from-its-number-on", "{steps * part // parts, steps * (part + 1) // parts -> part, steps}",
            says=(
                "Part p has all steps from p on. Its own are every `parts`-th of these, or those from `steps * p // "
                "parts` to the next part's."
            )),
        Mutant("columns-divided",
            "{steps * part // parts, steps * (part + 1) // parts -> K * part // parts, K * (part + 1) // parts, "
            "BLOCK_K}",
            "step{ * BLOCK_K -> }",
            says=(
                "Where a part ends within a step, columns count twice: a step is BLOCK_K wide. Divide the steps, "
                "not the columns."
            )),
        Mutant("first-step-of-each-part", "/ parts{ ->  + 1}, steps", says="The first step of each part is missing."),
        Mutant("each-from-step-0",
            "{steps * part // parts, steps * (part + 1) -> 0, steps * (part + 1) // parts - steps * part}",
            says="Each part walks as many steps as it should, but from step 0 on."),
        Mutant("b-turned-in-the-tail", " fetch(b, {k, n -> n, k}",
            says="B's tiles begin at row n and column k: `fetch` takes the row first, and B's is k."),
        Mutant("a-times-block-in-the-tail", "= fetch(a, m{ ->  * BLOCK_M}, ",
            says="A's tiles begin at row `m * BLOCK_M`. m is a row already, not the number of a tile."),
        Mutant("first-part-each-time", "{(t * parts + part) -> t * parts}",
            says="The first part of a tile is added `parts` times. The address needs `part`."),
        Mutant("parts-one-row-apart", ") * {(BLOCK_M * BLOCK_N) -> BLOCK_N}",
            says="A part is `BLOCK_M * BLOCK_N` numbers, and the sum takes the next part from `BLOCK_N` numbers on."),
        Mutant("parts-some-rows-apart", ") * ({BLOCK_M -> ROWS} * BLOCK_N",
            says=(
                "A part is `BLOCK_M * BLOCK_N` numbers, and the sum takes the next part from `ROWS * BLOCK_N` "
                "numbers on."
            )),
        Mutant("parts-one-column-apart", ") * {(BLOCK_M * BLOCK_N) -> BLOCK_M}",
            says="A part is `BLOCK_M * BLOCK_N` numbers, and the sum takes the next part from `BLOCK_M` numbers on."),
        Mutant("rounded-sum",
            "{+= tl.load(parts_ptr + place + offs -> = (acc + tl.load(parts_ptr + place + "
            "offs)).to(tl.float16).to(tl.float32}",
            says="The sum was rounded to half precision after each part. It is float32 until it is put."),
        Mutant("one-part-too-many", "range(0, parts{ ->  + 1}):", seen=("reads-outside", "out-of-bounds-load")),
        Mutant("tiles-before-counted", "place = ({t -> (whole + t)} * parts",
            seen=("reads-outside", "out-of-bounds-load")),
        Mutant("quotient-and-rest",
            "{tail = tiles % programs if parts > 1 else 0\n"
            "    whole = tiles - tail -> whole, tail = divmod(tiles, programs)}",
            says="whole-counts-waves"),
        Mutant("places-left-free", "tail = { -> programs - }tiles %",
            says="`tail` is how many tiles the last wave has, not how many places it leaves free."),
        Mutant("rest-of-parts", "tiles % {programs -> parts} ", says="a-wave"),
        Mutant("tail-counts-parts", " % programs { -> * parts }if", says="not-parts"),
        Mutant("whole-less-all-parts", "= tiles - tail{ ->  * parts}", says="not-parts"),
        Mutant("a-full-wave-is-cut", "{tiles % programs -> (tiles % programs or programs)}",
            says="A full wave is not cut: where no tile is left, `tail` is 0."),
        Mutant("last-programs-tiles", "{tiles % programs -> min(tiles, programs)}", says="a-wave"),
        Mutant("waves-of-the-gpu", "tiles % {programs -> multiprocessors()} ",
            says="A wave is as many tiles as the argument `programs` says."),
        Mutant("from-3-parts-on", " if parts > {1 -> 2} ", says="From 2 parts on tiles are cut."),
        Mutant("one-part-alone", "{tiles % programs if parts > 1 else 0 -> 0 if parts > 1 else tiles % programs}",
            says="`tail` is 0 in 1 part. From 2 parts on tiles are cut."),
        Mutant("one-wave-is-not-cut", "parts > 1 { -> and tiles > programs }else",
            says="Where there are fewer tiles than programs, the last wave is the only one, and is cut too."),
        Mutant("full-waves-are-cut", "tail = tiles { -> - tiles }%",
            says="The tiles of full waves are cut, and those that they leave are not."),
        Mutant("one-tile-more", " % programs { -> + 1 }if", seen="wrong-values"),
        Mutant("tiles-lost-in-one-part", "= tiles - {tail -> tiles % programs}", says="cut-in-1-part"),
        Mutant("torch-stand-in", seen=("no-kernel-launched", "torch-compute"),
            replace='''
def matmul_split(a, b, parts, tile=None, programs=None):
    require_product(a, b)
    return a @ b
'''),
    ],
    "matmul_record": [
        Mutant("powers-of-two",
            "{range(1, programs // tail + 1) -> [each for each in (1, 2, 4, 8, 16, 32, 64) if each <= programs // "
            "tail]}",
            says="All numbers of parts are tried, 3 and 5 too."),
        Mutant("an-exact-fit-left-out", "(1, {programs -> (programs - 1)} /",
            says="`tail * parts` may be `programs` exactly."),
        Mutant("no-parts", "return before, {1 -> None}", seen="wrong-values"),
        Mutant("never-cut", "{programs // tail + 1 -> 2}",
            says=(
                "Nothing is cut here. Are all numbers of parts tried that fit the last wave, do they shorten it, and is what "
                "they add divided by `SUMMED`?"
            )),
        Mutant("as-many-parts-as-fit", "parts))\n    return {min(found) -> found[-1]}",
            says="As many parts as fit are not always best. Take the number with the least time."),
        Mutant("largest-time", "return {min -> max}(found)\n\n\n@", says="Take the least time, not the greatest."),
        Mutant("sums-forgotten", "{ + tail * parts * BLOCK_M * BLOCK_N / SUMMED -> }",
            says="The parts' numbers go to memory and back, `SUMMED` a nanosecond: that is missing."),
        Mutant("sums-of-one-tile", " CUT + {tail *  -> }",
            says="Each tile of the last wave has parts: count the numbers of all `tail` tiles."),
        Mutant("sums-of-one-part", "tail * {parts *  -> }",
            says="Each part of a tile has `BLOCK_M * BLOCK_N` numbers of its own: `parts` times as many."),
        Mutant("sums-of-the-result", "{tail * parts * BLOCK_M * BLOCK_N -> M * N}", seen="wrong-values"),
        Mutant("launches-forgotten", "last += {CUT +  -> }", says="Two more launches take `CUT`: that is missing."),
        Mutant("one-part-costs-too", "if {parts > 1 -> True}:",
            says="A last wave that is not cut has no `CUT` and no sums: they come from 2 parts on."),
        Mutant("ends-of-the-last-wave-forgotten", ") * step{ + ends -> }",
            says="The last wave in parts has its `ends` too."),
        Mutant("parts-rounded-down", "{triton.cdiv(steps, parts) -> steps // parts}",
            says="The last wave takes as long as its longest part: `triton.cdiv(steps, parts)` steps."),
        Mutant("half-steps", "{triton.cdiv(steps, parts) -> steps / parts}",
            says="A part has whole steps: the longest has `triton.cdiv(steps, parts)`."),
        Mutant("one-part-too-few", "programs // tail{ + 1 -> }",
            says=(
                "`programs // tail` parts may be tried too: a `range` ends before its second number."
            ), seen="raised"),
        Mutant("more-parts-than-programs", "{programs // tail -> steps}", says="parts-fit-one-wave"),
        Mutant("quotient-and-rest-swapped", "{waves, tail -> tail, waves} = ",
            says="Full waves and tiles left have changed places: `divmod` gives the quotient first.", seen="raised"),
        Mutant("columns-for-steps", "{triton.cdiv(K, BLOCK_K) -> K}",
            says="A step is BLOCK_K columns: K has fewer steps than columns."),
        Mutant("bytes-for-numbers", "BLOCK_M * BLOCK_N { -> * 4 }/", says="`SUMMED` counts numbers, not bytes."),
        Mutant("pairs-of-parts-first", "{before + last, parts -> parts, before + last}", says="time-first"),
        Mutant("whole-nanoseconds", "BLOCK_N /{ -> /} SUMMED", says="Times are not rounded."),
        Mutant("no-parts-where-no-tail", "return before, {1 -> 0}", seen="wrong-values"),
        Mutant("tiles-rounded-down", "{triton.cdiv(M, BLOCK_M) * triton.cdiv(N, -> (M // BLOCK_M) * (N //}",
            says="Tiles at the edges count too: round up, `triton.cdiv`.", seen="raised"),
        Mutant("rows-for-columns", "{BLOCK_M) * triton.cdiv(N, BLOCK_N -> BLOCK_N) * triton.cdiv(N, BLOCK_M}",
            says="M goes with BLOCK_M, N with BLOCK_N."),
        Mutant("steps-rounded-down", "{triton.cdiv(K, BLOCK_K) -> K // BLOCK_K}",
            says="The last step along K may be a short one, and it counts: round up."),
        Mutant("waves-rounded-up", "before = {waves -> triton.cdiv(tiles, programs)} ",
            says="Full waves are rounded down: the last wave comes on its own."),
        Mutant("full-waves-forgotten", "{waves * (steps * step + ends) -> 0}", says="full-waves-missing"),
        Mutant("ends-once", "{(steps * step + ends) -> steps * step + ends}",
            says="Each full wave has its `ends`: brackets around `steps * step + ends`."),
        Mutant("no-tail-forgotten", "{    if tail == 0:\n        return before, 1\n -> }", seen=("wrong-values", "raised")),
        Mutant("no-tail-is-a-wave", "{if tail == 0:\n        return before, 1 -> tail = tail or programs}",
            says="Where no tile is left, there is no last wave, and it takes no time."),
        Mutant("pair-turned-round", "parts))\n    return min(found){ -> [::-1]}", says="time-first"),
        Mutant("time-alone", "parts))\n    return min(found){ -> [0]}", seen=("wrong-values", "raised")),
        Mutant("parts-alone-count", "append(({before +  -> }", says="full-waves-missing"),
        Mutant("ends-of-full-waves-forgotten", "{(steps * step + ends) -> steps * step}",
            says="Each full wave has its `ends` too."),
        Mutant("one-step-a-wave", " ({steps * step -> step}",
            says="A full wave walks along all steps: `steps * step`."),
        Mutant("launches-for-each-part", "last += { -> parts * }CUT + ",
            says="Two more launches take `CUT`, in however many parts."),
        Mutant("launches-twice", "last += { -> 2 * }CUT + ", says="`CUT` is the time of both launches together."),
        Mutant("there-and-back", " += CUT + { -> 2 * }tail",
            says="`SUMMED` numbers a nanosecond: that is there and back, so each counts once."),
        Mutant("ends-are-shared", "{triton.cdiv(steps, parts) * step + ends -> (steps * step + ends) / parts}",
            says="Parts share the steps alone: each has `ends` of its own, and whole steps."),
        Mutant("parts-rounded-up", "{programs // tail -> triton.cdiv(programs, tail)}",
            says="All parts together fit one wave: `programs // tail` is rounded down."),
        Mutant("as-many-parts-as-programs", "programs {// tail  -> }", says="parts-fit-one-wave"),
        Mutant("cut-always", "parts in range({1 -> 2},", seen=("wrong-values", "raised")),
        Mutant("waves-of-the-gpu", "tiles, {programs -> multiprocessors()})",
            says="Take the `programs` that `estimate` is given.", seen="raised"),
        Mutant("equal-times-more-parts", "parts))\n    return min(found{ -> , key=lambda one: (one[0], -one[1])})",
            says="Of equal times take fewer parts."),
        Mutant("tiles-by-area", "{, BLOCK_M) * triton.cdiv(N, ->  * N, BLOCK_M *}", seen="wrong-values"),
        Mutant("torch-stand-in", "{matmul_split(a, b, parts, dict(zip(NAMES, tile, strict=True)), programs) -> a @ b}",
            seen=("no-kernel-launched", "torch-compute")),
    ],
}

VARIANTS = {
    "matmul_staying": [
        Variant("range-of-triton", "tile in { -> tl.}range(pid"),
        Variant("neighbouring-tiles",
            "{for tile in range(pid, tiles, num_programs -> each = tl.cdiv(tiles, num_programs)\n"
            "    for tile in range(pid * each, min(tiles, pid * each + each)}"),
        Variant("steps-counted",
            "{k in range(0, K, BLOCK_K): -> step in range(0, tl.cdiv(K, BLOCK_K)):\n            k = step * BLOCK_K}"),
        Variant("product-added", "{= tl.dot(x, y, acc -> += tl.dot(x, y}"),
        Variant("b-first",
            "{x = fetch(a, m, k, M, K, stride_am, stride_ak, BLOCK_M, BLOCK_K, A_HOW)\n"
            "            y = fetch(b, k, n, K, N, stride_bk, stride_bn, BLOCK_K, BLOCK_N, B_HOW -> y = fetch(b, k, "
            "n, K, N, stride_bk, stride_bn, BLOCK_K, BLOCK_N, B_HOW)\n"
            "            x = fetch(a, m, k, M, K, stride_am, stride_ak, BLOCK_M, BLOCK_K, A_HOW}"),
        Variant("while-loop",
            "{for tile in range(pid, tiles, num_programs): -> tile = pid - num_programs\n"
            "    while tile + num_programs < tiles:\n"
            "        tile += num_programs}"),
        Variant("turns-counted",
            "{tile in range(pid, tiles, num_programs): -> turn in range(0, tl.cdiv(tiles - pid, num_programs)):\n"
            "        tile = pid + turn * num_programs}"),
        Variant("by-keyword",
            "{m, k, M, K, stride_am, stride_ak, BLOCK_M, BLOCK_K,  -> row=m, column=k, rows=M, columns=K, "
            "stride_xr=stride_am, stride_xc=stride_ak, HIGH=BLOCK_M, WIDE=BLOCK_K, HOW=}"),
        Variant("precision-by-place", "{input_precision= -> }"),
        Variant("last-first",
            "{tile in range(pid, tiles, num_programs): -> back in range(pid, tiles, num_programs):\n"
            "        tile = tiles - 1 - back}"),
    ],
    "matmul_split": [
        Variant("rounded-up",
            "{for step in range(steps * part // parts, steps * (part + 1) // parts -> each = tl.cdiv(steps, parts)\n"
            "    for step in range(part * each, part * each + each}"),
        Variant("rounded-up-and-cut",
            "{for step in range(steps * part // parts, steps * (part + 1) // parts -> each = tl.cdiv(steps, parts)\n"
            "    for step in range(part * each, min(steps, part * each + each)}"),
        Variant("every-so-many-steps", "{steps * part // parts, steps * (part + 1) // -> part, steps,}"),
        Variant("place-in-one", "{        place = (t * parts + part) * (BLOCK_M * BLOCK_N)\n -> }",
            "parts_ptr + {place -> (t * parts + part) * BLOCK_M * BLOCK_N}"),
        Variant("last-part-first", " parts + {part -> parts - 1 - part})"),
        Variant("whole-first",
            "{tail = tiles % programs if parts > 1 else 0\n"
            "    whole = tiles - tail -> whole = tiles if parts == 1 else tiles // programs * programs\n"
            "    tail = tiles - whole}"),
        Variant("rest-to-the-first",
            "{for step in range(steps * part // parts, steps * (part + 1) // parts -> each, rest = steps // parts, "
            "steps % parts\n"
            "    first = part * each + tl.minimum(part, rest)\n"
            "    last = first + each\n"
            "    if part < rest:\n"
            "        last += 1\n"
            "    for step in range(first, last}"),
        Variant("columns-counted",
            "{step in range(steps * part // parts, steps * (part + 1) // parts -> k in range(steps * part // parts "
            "* BLOCK_K, steps * (part + 1) // parts * BLOCK_K, BLOCK_K}",
            "{        k = step * BLOCK_K\n -> }"),
        Variant("stored-by-hand",
            '{put(c_ptr, acc, m + row, n, M, N, stride_cm, ROWS, BLOCK_N, "pointers" -> tl.store(c_ptr + (m + '
            "offs_m)[:, None] * stride_cm + (n + offs_n)[None, :], acc.to(c_ptr.dtype.element_ty), mask=(m + offs_m "
            "< M)[:, None] & (n + offs_n < N)[None, :]}"),
        Variant("pair-by-condition",
            "{tail = tiles % programs if parts > 1 else 0\n"
            "    whole = tiles - tail -> whole, tail = (tiles, 0) if parts == 1 else (tiles - tiles % programs, "
            "tiles % programs)}"),
        Variant("times-a-truth", "{tiles % programs if parts > 1 else 0 -> (parts > 1) * (tiles % programs)}"),
        Variant("parts-move-on", "{        place = (t * parts + part) * (BLOCK_M * BLOCK_N)\n -> }",
            "{ -> parts_ptr += t * parts * (BLOCK_M * BLOCK_N)\n    }for part in range",
            " {place + offs) -> offs)\n        parts_ptr += BLOCK_M * BLOCK_N}"),
    ],
    "matmul_record": [
        Variant("first-uncut",
            "{]\n    for parts in range(1 -> (before + steps * step + ends, 1)]\n    for parts in range(2}"),
        Variant("no-more-parts-than-steps", "{programs // tail -> min(programs // tail, steps)}"),
        Variant("rounded-by-hand", "{triton.cdiv(steps, -> -(-steps //}"),
        Variant("tail-by-remainder",
            "{, tail = divmod(tiles, programs) ->  = tiles // programs\n    tail = tiles - waves * programs}"),
        Variant("best-so-far", "1\n    {found = [] -> best = None}",
            "{found.append((before + last, parts))\n"
            "    return min(found) -> if best is None or before + last < best[0]:\n"
            "            best = before + last, parts\n"
            "    return best}"),
        Variant("a-list", "return {min(found -> list(min(found)})\n\n\n@"),
        Variant("least-by-time", "parts))\n    return min(found{ -> , key=lambda one: one[0]})"),
        Variant("numbers-of-a-tile-first",
            "{tail * parts * BLOCK_M * BLOCK_N / SUMMED -> BLOCK_M * BLOCK_N / SUMMED * tail * parts}"),
        Variant("sum-in-two-steps", "last += CUT{ + -> \n            last +=} "),
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
