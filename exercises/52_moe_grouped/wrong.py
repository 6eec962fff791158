"""Mistakes of 52_moe_grouped with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("winner-not-removed", "inclusive", "grid-from-offsets")

# Sentences that several mistakes share.
SAYS = {
    "mean":
        "All k weights are equal. Did the same expert win k times, or did each lane of `chosen` get the same logit?",
    "winner-made-zero":
        "A winner's lane became 0, or another number that beats smaller logits. Make it minus infinity.",
    "padding-of-the-chosen":
        "Lanes of `chosen` that no expert gets hold a number, and it wins the softmax. They stay at minus infinity.",
    "winner-made-small":
        "A winner's lane became a small number, and logits may be smaller: then it wins again. Make it minus infinity.",
    "padding-is-expert-0":
        "More choices of expert 0 were counted than there are. Masked lanes need a bin that is no expert's, such as E. "
        "Or does each step count the same tile? `offs_n` goes on by `start`.",
    "summed-twice": "The counts were summed up twice. `counts` holds the counts: the store makes the cumulative sum.",
    "grid-of-cdiv":
        "The grid has too few programs. Each expert may have one tile that is not full, beside the full ones of all "
        "choices.",
    "stops-at-e-tiles":
        "Tiles from number E on were left out. Has the grid only E programs for them, or does a program return by its "
        "own number? It returns when the *expert* that it found is none.",
}

MUTANTS = {
    "route": [
        Mutant("padding-of-the-chosen", '), {float("-inf") -> -1e9}, ',
            says="padding-of-the-chosen"),
        Mutant("padding-far-down", '), {float("-inf") -> -1e30}, ', says="padding-of-the-chosen"),
        Mutant("not-renormalised", "{tl.max(chosen, axis=0) -> best}", "{tl.sum(p, axis=0) -> total}",
            "{ -> best = tl.max(z, axis=0)\n    total = tl.sum(tl.exp(z - best), axis=0)\n    }for j in range",
            says="These are shares of all E experts. Divide by the sum over the k best: a token's weights add up to 1."),
        Mutant("winner-not-removed", '{z = tl.where(offs_e == expert, float("-inf"), z) -> pass}', says="mean"),
        Mutant("winner-made-zero", 'expert, {float("-inf") -> 0.0}, ', says="winner-made-zero"),
        Mutant("winner-made-small", 'expert, {float("-inf") -> -1e9}, ', says="winner-made-small"),
        Mutant("winner-made-smaller-than-small", 'expert, {float("-inf") -> -1e4}, ', says="winner-made-small"),
        Mutant("winner-made-tiny", 'expert, {float("-inf") -> -1e30}, ', says="winner-made-small"),
        Mutant("winner-made-minus-100", 'expert, {float("-inf") -> -100.0}, ', says="winner-made-zero"),
        Mutant("equals-removed", "{offs_e == expert -> z == tl.max(z, axis=0)}",
            says="All lanes that equal the winner were removed. Only its own lane may go."),
        Mutant("others-removed", "{float(\"-inf\"), z -> z, float('-inf')}", seen=("wrong-values", "nan", "mean")),
        Mutant("next-best-kept",
            '{chosen = tl.where … expert, float("-inf"), z -> z = tl.where(offs_e == expert, float("-inf"), z)\n'
            "        chosen = tl.where(offs_k == j, tl.max(z, axis=0), chosen}",
            says="The logits that were kept are those of the next best. Keep a winner's logit before its lane becomes "
                "minus infinity."),
        Mutant("last-of-equals", " = tl.{argmax(z -> max(tl.where(z == tl.max(z, axis=0), offs_e, 0)}",
            says="Of equal logits the last one was taken. The smaller number wins."),
        Mutant("chosen-by-exponentials", "{ -> q = tl.exp(z - tl.max(z, axis=0))\n    }for j in range",
            "= tl.argmax({z -> q},", ", tl.{max(z -> sum(tl.where(offs_e == expert, z, 0.0)}, axis",
            '{z = tl.where(offs_e == expert, float("-inf"), z -> q = tl.where(offs_e == expert, -1.0, q}',
            says="Small exponentials are all 0 in float32, and then equal. Take the best by their logits."),
        Mutant("smallest", "expert = tl.{argmax -> argmin}", says="These are the k smallest logits.",
            seen=("wrong-values", "nan", "mean")),
        Mutant("value-for-number", "k + j, {expert -> tl.max(z, axis=0)})",
            says="`experts` holds the logit itself. What is stored is the number of its lane: `tl.argmax`.",
            seen=("wrong-values", "raised", "overflow")),
        Mutant("one-place", " pid_t * k{ + j -> }", seen=("unwritten", "wrong-values", "unwritten-tail", "race")),
        Mutant("rows-not-k-apart", " pid_t {* k  -> }+ j",
            seen=("wrong-values", "race", "unwritten-tail", "rows-after-first")),
        Mutant("best-comes-last", " pid_t * k + { -> k - 1 - }j", says="The best comes last. It comes first."),
        Mutant("kept-in-every-lane",
            "{where(offs_k == j, tl.max(z, axis=0), chosen -> full((BLOCK_K,), tl.max(z, axis=0), tl.float32}",
            says="mean"),
        Mutant("maximum-not-subtracted", "{ - tl.max(chosen, axis=0) -> }",
            says="The exponentials overflow or vanish. Subtract the largest logit first.", seen="overflow"),
        Mutant("not-divided", "{ / tl.sum(p, axis=0) -> }", says="The exponentials are not divided by their sum."),
        Mutant("logits-for-weights", "{p / tl.sum(p, axis=0) -> chosen}",
            says="These are the logits of the best. Their softmax is asked for."),
        Mutant("base-two", "p = tl.{exp -> exp2}(chosen",
            says="The softmax has base 2: `tl.exp` is asked for, not `tl.exp2`."),
        Mutant("of-z", "tl.max({chosen -> z},", seen=("wrong-values", "nan")),
        Mutant("weights-not-masked", "{, mask=offs_k < k -> }",
            seen=("out-of-bounds-store", "race", "rows-after-first")),
        Mutant("weights-masked-by-experts", "mask=offs_k < {k -> E})",
            seen=("out-of-bounds-store", "race", "rows-after-first")),
        Mutant("weights-of-another-token", " pid_t {* k  -> }+ offs_k",
            seen=("race", "wrong-values", "unwritten-tail", "rows-after-first")),
        Mutant("arms-swapped", "{tl.max(z, axis=0), chosen -> chosen, tl.max(z, axis=0)}",
            says="Each step changed all lanes of `chosen` but its own. `tl.where` takes its second argument where the "
                "condition holds, and its third elsewhere."),
        Mutant("numbers-for-logits", "{tl.max(z, axis=0) -> expert}",
            says="This is the softmax of the experts' numbers. `chosen` holds their logits."),
        Mutant("softmax-of-minus", "{chosen - tl.max(chosen, axis=0 -> -(chosen - tl.max(chosen, axis=0)}",
            says="Small logits weigh most: a sign is turned round."),
        Mutant("last-kept-alone", 'axis=0), {chosen -> float("-inf")})',
            says="The last of the k best has all the weight: each step made the other lanes of `chosen` minus "
                "infinity. They keep what they have: `tl.where(offs_k == j, ..., chosen)`."),
        Mutant("lane-of-the-step-removed", "where(offs_{e == expert -> e == j}, float",
            says="Lane j is made minus infinity. It is the winner's lane that must not win again: `expert`."),
        Mutant("others-made-zero", "axis=0), {chosen -> 0.0})",
            says="Only the last winner is kept: the other lanes became 0. Keep what was `chosen` before."),
        Mutant("lane-of-the-expert", "where(offs_k == {j -> expert},",
            says="The logit of an expert went to the lane with the expert's number. `chosen` has a lane for each of "
                "the k best: lane j in step j."),
        Mutant("first-left-out", "for j in range({ -> 1, }k",
            says="The first of the k best has no weight. Does the loop begin with j = 0?"),
        Mutant("softmax-twice",
            "{ -> z = tl.exp(z - tl.max(z, axis=0))\n    z = z / tl.sum(z, axis=0)\n    }for j in range",
            says="The softmax was taken twice: over all experts, and again over the k best. Take it once, of the k "
                "best logits."),
        Mutant("softmax-of-weights",
            "chosen, axis=0)){ -> \n    p = tl.where(offs_k < k, tl.exp(p / tl.sum(p, axis=0)), 0.0)}",
            says="The softmax was taken twice."),
        Mutant("sigmoid", "{p / tl.sum(p, axis=0 -> tl.sigmoid(chosen}",
            says="These are sigmoids of the logits. Their softmax is asked for."),
        Mutant("one-short", "j in range(k{ ->  - 1}):",
            says="The last of the k best has no weight. Does the loop take k steps?"),
        Mutant("torch-stand-in",
            "{weights = … return weights, experts -> best, experts = logits.float().topk(k)\n"
            "    return best.softmax(1), experts.int()}", seen=("torch-compute", "no-kernel-launched")),
    ],
    "sort_by_expert": [
        Mutant("masked-lanes-are-expert-0", " < N, other={E -> 0})", says="padding-is-expert-0"),
        Mutant("other-forgotten", "offs_n < N{, other=E -> }", says="The load of the histogram has no `other=`, so its "
            "masked lanes count for some expert. Give them a number that is no expert's.",
            seen=("property", "padding-is-expert-0"),
            only="interpreter"),
        Mutant("counted-in-half", "ones = own.to(tl.{int32 -> float16})", "places{ -> .to(tl.int32)}, offs_n",
            "place += tl.sum(ones, axis=0{) -> ).to(tl.int32)}",
            says="The choices are counted in half precision, which has no number between 2,048 and 2,050. Count in int32."),
        Mutant("first-tile-again-and-again", "offs_n = {start +  -> }tl.arange(0, BLOCK_N)\n        experts",
            says="padding-is-expert-0"),
        Mutant("padding-is-the-last-expert", " < N, other=E{ ->  - 1})",
            says="Masked lanes were counted for expert E - 1. They need a bin that is no expert's, such as E."),
        Mutant("last-tile-counted", "counts {+ -> }= tl.histogram",
            says="Only the last tile was counted. Add the counts of all tiles.", on_gpu=("does-not-compile",)),
        Mutant("first-tile-counted", "int64)\n    for start in range(0, {N -> BLOCK_N}, BLOCK_N):",
            says="Only the first tile was counted. Does the walk reach the end?"),
        Mutant("whole-tiles-counted",
            "    counts = tl.zeros((BLOCK_E,), tl.int64)\n    for start in range(0, N{ ->  - BLOCK_N + 1}",
            says="The last tile, which is not full, was not counted."),
        Mutant("one-by-one", "int64)\n    for start in range(0, N{, BLOCK_N -> }):",
            says="Choices were counted again and again. The walk's step is a tile: `range(0, N, BLOCK_N)`."),
        Mutant("summed-in-each-tile", "{histogram(experts, BLOCK_E -> cumsum(tl.histogram(experts, BLOCK_E), axis=0}",
            says="summed-twice"),
        Mutant("other-forgotten-in-the-order", " < N{, other=-1 -> }", seen="property", only="interpreter"),
        Mutant("inclusive", "axis=0){ - ones -> }", says="A cumulative sum counts the own lane too, so each choice "
            "goes one place too far: subtract the ones.",
            seen=("out-of-bounds-store", "unwritten")),
        Mutant("lane-for-choice", "places, {offs_n -> tl.arange(0, BLOCK_N)},",
            says="The lane in its tile was stored. A choice's number counts from the first tile on."),
        Mutant("place-not-advanced", "{place += tl.sum(ones, axis=0) -> pass}", says="`place` stays where it was, so "
            "each tile of choices goes to the places of the first. Add how many were its own.",
            seen="unwritten-tail"),
        Mutant("advanced-by-the-tile", "{tl.sum(ones, axis=0) -> BLOCK_N}", says="`place` moves on by the whole tile. "
            "Add how many of its choices were this expert's.",
            seen="out-of-bounds-store"),
        Mutant("advanced-first",
            "{places = place … place += tl.sum(ones, axis=0 -> place += tl.sum(ones, axis=0)\n"
            "        places = place + tl.cumsum(ones, axis=0) - ones\n"
            "        tl.store(order_ptr + places, offs_n, mask=own}", seen=("out-of-bounds-store", "wrong-values")),
        Mutant("all-lanes-stored", "offs_n, mask={own -> offs_n < N}",
            says="All choices of the tile are stored, not only this expert's: the mask of the store is `own`.",
            seen=("race", "out-of-bounds-store", "wrong-values")),
        Mutant("masked-lanes-are-mine", " < N, other={-1 -> 0}", says="Masked lanes come in as choices of expert 0, "
            "which takes them for its own. Give them a number that is no expert's.",
            seen=("out-of-bounds-store", "wrong-values", "race")),
        Mutant("places-from-zero", "places = {place +  -> }", says="The places begin at 0 for every expert, and for "
            "every tile. They begin at `place`.",
            seen=("race", "wrong-values", "unwritten-tail")),
        Mutant("falling-order",
            "{place + tl.cumsum(ones, axis=0) - -> tl.load(offsets_ptr + expert + 1) - 1 - (place - "
            "tl.load(offsets_ptr + expert)) - tl.cumsum(ones, axis=0) +}",
            says="The choices of an expert stand in falling order. The first goes to `place`."),
        Mutant("masked-lanes-are-everybodys", " < N, other={-1 -> expert}",
            says="Masked lanes come in as choices of this very expert. Give them a number that is no expert's.",
            seen=("out-of-bounds-store", "race")),
        Mutant("place-replaced", "place {+ -> }= tl.sum(ones",
            says="`place` is replaced by the number of choices in this tile. Add it: `+=`.",
            seen=("unwritten-tail", "race", "out-of-bounds-store")),
        Mutant("places-stored", "{places, offs_n -> offs_n, places}",
            says="Choice c holds its place. It is the other way round: a place holds its choice.",
            seen=("wrong-values", "race")),
        Mutant("tile-of-the-first", "offs_n = {start +  -> }tl.arange(0, BLOCK_N)\n        own",
            seen=("wrong-values", "race", "unwritten-tail", "out-of-bounds-store", "unwritten")),
        Mutant("stored-next-to-each-other", "order_ptr + {places -> place + offs_n - start},",
            seen=("race", "wrong-values", "unwritten-tail", "out-of-bounds-store")),
        Mutant("counted-up",
            "{place + tl.cumsum(ones, axis=0) - ones … place += tl.sum(ones, axis=0 -> tl.atomic_add(offsets_ptr + "
            "expert + tl.zeros((BLOCK_N,), tl.int32), ones, mask=own)\n"
            "        tl.store(order_ptr + places, offs_n, mask=own}",
            says="`offsets[e]` is where expert e ends. It is the sum of the counts before e, and nobody may count it "
                "up later."),
        Mutant("torch-stand-in",
            "{N = experts … return order -> flat = experts.flatten()\n"
            "    order = flat.sort(stable=True).indices\n"
            "    offsets = torch.zeros(E + 1, dtype=torch.int32, device=flat.device)\n"
            "    offsets[1:] = torch.bincount(flat, minlength=E).cumsum(0)\n"
            "    return order.int()}", seen=("torch-compute", "no-kernel-launched")),
    ],
    "grouped_matmul": [
        Mutant("a-small-tile-of-its-own",
            ("tile = tile or grouped_tile(N, E, x.dtype)", 'tile = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}'),
            seen="too-many-programs"),
        Mutant("a-large-tile-of-its-own",
            ("tile = tile or grouped_tile(N, E, x.dtype)", 'tile = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}'),
            seen=("property", "too-many-programs")),
        Mutant("masked-by-all-choices", "offsets_ptr + {expert + 1 -> E}", says="`end` is where all choices end, so an "
            "expert's last tile takes rows of the next. It ends at `offsets[expert + 1]`.",
            seen="race"),
        Mutant("not-masked", "= offs_m {< end -> >= 0}", seen="out-of-bounds-store", on_gpu=("crashed",)),
        Mutant("mask-of-the-tile", "mask_m = {offs_m -> tl.arange(0, BLOCK_M)} ", seen="out-of-bounds-store"),
        Mutant("one-row-too-many", "= offs_m <{ -> =} end", seen="out-of-bounds-store"),
        Mutant("grid-of-cdiv", '"BLOCK_M"]{ + E -> }'),
        Mutant("grid-of-cdiv-too", '{N // tile["BLOCK_M"] + E -> triton.cdiv(N, tile["BLOCK_M"])}', says="grid-of-cdiv"),
        Mutant("one-more-than-cdiv", '{N // tile["BLOCK_M"] + E -> triton.cdiv(N, tile["BLOCK_M"]) + 1}',
            says="grid-of-cdiv"),
        Mutant("grid-turned",
            '{N // tile["BLOCK_M"] + E, triton.cdiv(F, tile["BLOCK_N"]) -> triton.cdiv(F, tile["BLOCK_N"]), N // '
            'tile["BLOCK_M"] + E}',
            says="The grid's axes are swapped: axis 0 counts tiles, axis 1 blocks of columns."),
        Mutant("grid-of-tokens", "grid = ({N -> len(x)} // tile",
            says="The grid counts tokens. Each token has k choices, and choices fill the tiles."),
        Mutant("one-program-short", 'BLOCK_M"] + E{ ->  - 2}, ', says="grid-of-cdiv"),
        Mutant("tiles-of-choices-each", '{ // tile["BLOCK_M"] + E -> }', seen="too-many-programs"),
        Mutant("every-expert-full-of-tiles", '{N // tile["BLOCK_M"] + -> triton.cdiv(N, tile["BLOCK_M"]) *}',
            seen="too-many-programs"),
        Mutant("grid-from-offsets",
            '{N // tile["BLOCK_M"] + E -> int(((offsets[1:] - offsets[:-1] + tile["BLOCK_M"] - 1) // '
            'tile["BLOCK_M"]).sum())}',
            seen="torch-compute"),
        Mutant("grid-from-a-list",
            '{grid = (N // tile["BLOCK_M"] + E -> at = offsets.tolist()\n'
            '    grid = (sum(triton.cdiv(b - a, tile["BLOCK_M"]) for a, b in zip(at, at[1:]))}',
            seen=("property", "torch-compute")),
        Mutant("tiles-rounded-down", "{tl.cdiv(ends - begins, BLOCK_M) -> (ends - begins) // BLOCK_M}",
            says="Only full tiles were counted. An expert's last tile may be partly empty: round up."),
        Mutant("choices-for-tiles", "{tl.cdiv(ends - begins, BLOCK_M) -> ends - begins}",
            says="`tiles` holds the choices of each expert. BLOCK_M of them fill one tile."),
        Mutant("tiles-across-experts", "tl.cdiv(ends{ -  -> , BLOCK_M) - tl.cdiv(}",
            says="Tiles were counted as if they lay across experts: an end and a begin were rounded up, each for "
                "itself. Count an expert's choices first, and round their number up."),
        Mutant("tiles-between-multiples", "{tl.cdiv(ends - begins, BLOCK_M) -> ends // BLOCK_M - begins // BLOCK_M}",
            says="Tiles were counted as if they lay across experts: an end and a begin were rounded down, each for "
                "itself. Count an expert's choices first, and round their number up."),
        Mutant("begin-for-tiles-before",
            "{sum(tl.where(offs_e < expert, tiles, 0), axis=0) -> load(offsets_ptr + expert) // BLOCK_M}",
            says="The tiles before an expert were counted as if all were full. Some are not: sum `tiles` of the "
                "smaller experts."),
        Mutant("grid-of-the-larger", '{N // tile["BLOCK_M"] + E -> max(N // tile["BLOCK_M"], E)}',
            says="The grid has too few programs. It needs one for each full tile *and* one for each expert, not the "
                "larger of the two numbers."),
        Mutant("grid-of-experts", '{N // tile["BLOCK_M"] +  -> }', says="stops-at-e-tiles"),
        Mutant("slot-for-token", "+ (choices {// -> %} ",
            says="Row `c % k` of x was taken for choice c. That is which of its token's choices it is; the token is `c "
                "// k`."),
        Mutant("one-tile-an-expert", "{cdiv(ends - begins, BLOCK_M -> full((BLOCK_E,), 1, tl.int32}", seen="unwritten"),
        Mutant("ends-before", "tiles_to <{= -> } tile",
            says="A tile went to the expert before its own. Count the experts whose tiles end at or before it: `<=`."),
        Mutant("tiles-before-inclusive", "offs_e <{ -> =} expert", says="The expert's own tiles are counted among "
            "those before it: `offs_e < expert`.",
            seen="out-of-bounds-store"),
        Mutant("tiles-before-of-all", "tiles_before = tl.sum(tl.where(offs_e < expert, {tiles -> tiles_to}, 0)",
            says="The ends of all earlier experts' tiles are added up. What comes before is the sum of `tiles`.",
            seen=("out-of-bounds-store", "unwritten")),
        Mutant("begins-for-ends-of-tiles", "tiles_to = tl.cumsum(tiles, axis=0){ ->  - tiles}",
            says="`tiles_to` is where an expert's tiles begin. It is where they end: the sum with its own.",
            seen=("out-of-bounds-store", "unwritten")),
        Mutant("matrix-in-32-bits", "w_ptr + {expert.to(tl.int64) -> expert} * D", seen="int32-offset"),
        Mutant("rows-in-32-bits", "x_ptr + {(choices // k).to(tl.int64) -> (choices // k)} * D", seen="int32-offset"),
        Mutant("expert-is-the-tile", "{tl.sum((tiles_to <= tile).to(tl.int32), axis=0) -> tile}",
            seen=("wrong-tail", "unwritten", "wrong-values", "unwritten-tail", "race", "reads-outside")),
        Mutant("tile-of-all", "{(tile - tiles_before) -> tile}",
            says="`first` counts the tiles of all experts. Only those of its own expert come between the expert's "
                "begin and this tile."),
        Mutant("begin-forgotten", "{tl.load(offsets_ptr + expert) + (tile - tiles_before) -> tile}",
            says="`first` is BLOCK_M times the tile's number, as if all tiles were full. It counts from its expert's "
                "begin."),
        Mutant("stops-at-e-tiles", "if {expert -> tile} >= E", says="stops-at-e-tiles"),
        Mutant("rows-not-apart", ").to(tl.int64){ * D -> }",
            says="Rows of x were looked for one element apart. Each has D elements."),
        Mutant("rows-as-wide-as-y", ").to(tl.int64) * {D -> F}",
            says="Rows of x were looked for F elements apart. Each has D elements."),
        Mutant("first-tile-again", "{ + (tile - tiles_before) * BLOCK_M -> }",
            seen=("race", "unwritten", "unwritten-tail", "wrong-values")),
        Mutant("first-by-columns", "tiles_before) * {BLOCK_M -> BLOCK_N}", seen=("unwritten", "unwritten-tail")),
        Mutant("tiles-of-columns", "begins, {BLOCK_M -> BLOCK_N})", seen=("unwritten", "unwritten-tail")),
        Mutant("tiles-of-one-row", "tiles_before){ * BLOCK_M -> }",
            seen=("race", "unwritten", "unwritten-tail", "wrong-values")),
        Mutant("last-expert-for-none", "{    if expert >= E:\n        return\n -> }",
            "axis=0){ -> \n    expert = tl.minimum(expert, E - 1)}\n    tiles_before", seen="slow", only="interpreter"),
        Mutant("empty-experts-get-a-tile",
            "{cdiv(ends - begins, BLOCK_M -> maximum(tl.cdiv(ends - begins, BLOCK_M), 1}", seen="slow",
            only="interpreter"),
        Mutant("one-more-than-full", "{tl.cdiv(ends - begins, BLOCK_M) -> (ends - begins) // BLOCK_M + 1}", seen="slow",
            only="interpreter"),
        Mutant("no-return", "{    if expert >= E:\n        return\n -> }", seen=("reads-outside", "race")),
        Mutant("remainder-for-token", "{(choices // k).to(tl.int64 -> choices % tl.cdiv(tl.load(offsets_ptr + E), k}",
            says="Row `c % T` of x was taken for choice c. A token's k choices stand side by side: its number is `c // "
                "k`."),
        Mutant("choice-for-token", "{(choices // k).to(tl.int64) -> choices}",
            says="`choices` are numbers of choices, k of them for each token. The row of x is that of the token: "
                "`choices // k`.",
            seen="reads-outside"),
        Mutant("order-forgotten-in-both", "{tl.load(order_ptr + offs_m, mask=mask_m, other=0) -> offs_m}",
            says="Rows of x and y were taken as they stand. `order` says which choice has which place."),
        Mutant("order-forgotten", "{(choices // k).to(tl.int64) -> offs_m // k}",
            says="The rows of x were taken as they stand. `order` says which choice has which place."),
        Mutant("rows-left-sorted", "{choices[:, None].to(tl.int64) -> offs_m[:, None]}",
            says="The rows of y stand in the sorted order. Row c belongs to choice c."),
        Mutant("stored-by-token", "{choices[:, None].to(tl.int64) -> (choices // k)[:, None]}",
            says="The rows went to their tokens. y has a row for each choice.", seen="race", on_gpu=("unwritten-tail",)),
        Mutant("first-matrix", "{ + expert.to(tl.int64) * D * F -> }", says="Every choice met the matrix of expert 0."),
        Mutant("matrix-of-the-tile", "w_ptr + {expert -> tile}.",
            says="Tile t met matrix t. It needs the matrix of its expert."),
        Mutant("rows-for-matrices", "int64) * D{ * F -> }",
            says="Matrices were looked for too near to each other. Each has D * F elements."),
        Mutant("y-not-masked-by-columns", "]{ & mask_n[None, :] -> })",
            seen=("race", "out-of-bounds-store", "rows-after-first")),
        Mutant("masked-rows-stored", "{mask_m[:, None] & mask_n -> mask_n}",
            says="Row 0 of y was overwritten with zeros. Lanes past the expert's end hold choice 0: mask the store by "
                "`mask_m` too."),
        Mutant("y-rows-d-apart", ".int64) * {F -> D} + ",
            seen=("wrong-values", "race", "out-of-bounds-store", "unwritten-tail")),
        Mutant("torch-stand-in", "{y = torch … return y -> return grouped_matmul_ref(x, w, order, offsets, k)}",
            seen=("torch-compute", "no-kernel-launched")),
    ],
}

VARIANTS = {
    "route": [
        Variant("softmax-over-all-first",
            "{ -> z -= tl.max(z, axis=0)\n    total = tl.sum(tl.exp(z), axis=0)\n    }for j in range",
            "{ - tl.max(chosen, axis=0)) -> ) / total}"),
        Variant("argmax-by-hand", " = tl.{argmax(z -> min(tl.where(z == tl.max(z, axis=0), offs_e, BLOCK_E)}"),
        Variant("argmax-of-max",
            "{expert = tl.argmax(z, axis=0 -> best, expert = tl.max(z, axis=0, return_indices=True}",
            "{tl.max(z, axis=0) -> best}"),
        Variant("numbers-kept-in-a-tile",
            "{tl.store(experts_ptr + pid_t * k + j, expert -> numbers = tl.where(offs_k == j, expert, numbers}",
            "{ -> numbers = tl.zeros((BLOCK_K,), tl.int32)\n    }for j in range",
            "mask=offs_k < k){ -> \n    tl.store(experts_ptr + pid_t * k + offs_k, numbers, mask=offs_k < k)}"),
        Variant("first-kept-is-largest", " tl.{max(chosen -> sum(tl.where(offs_k == 0, chosen, 0.0)}"),
        Variant("four-warps", ", num_warps={1 -> 4})"),
        Variant("least-float-for-infinity", 'expert, {float("-inf") -> -3e38}, '),
        Variant("logit-loaded-again",
            "{chosen = tl.where(offs_k == j, tl.max(z, axis=0) -> best = tl.load(logits_ptr + pid_t * E + "
            "expert).to(tl.float32)\n"
            "        chosen = tl.where(offs_k == j, best}"),
        Variant("number-by-a-mask", " k + {j, expert -> offs_k, expert, mask=offs_k == j}"),
    ],
    "sort_by_expert": [
        Variant("last-bin-for-masked", " < N, other={E -> BLOCK_E - 1})"),
        Variant("no-bin-or-the-last", " < N, other={E -> -1})"),
        Variant("counted-by-comparison",
            "{histogram(experts, BLOCK_E -> sum((experts[:, None] == offs_e[None, :]).to(tl.int32), axis=0}"),
        Variant("less-one", "axis=0) - {ones -> 1}"),
        Variant("own-by-mask",
            "{tl.load(experts_ptr + offs_n, mask=offs_n < N, other=-1) == expert -> (tl.load(experts_ptr + offs_n, "
            "mask=offs_n < N, other=0) == expert) & (offs_n < N)}"),
        Variant("small-tiles", " E, block={4096 -> 32}"),
        Variant("masked-taken-off-again", " < N, other={E -> 0})",
            "experts, BLOCK_E){ ->  - tl.where(offs_e == 0, tl.sum((offs_n >= N).to(tl.int32), axis=0), 0)}"),
        Variant("masked-by-where", "histogram({experts -> tl.where(offs_n < N, experts, E)},"),
        Variant("counts-its-steps",
            "expert)\n"
            "    for start in range({0, N, BLOCK_N):\n"
            "        offs_n = start -> tl.cdiv(N, BLOCK_N)):\n"
            "        offs_n = start * BLOCK_N} + tl.arange(0, BLOCK_N)"),
        Variant("four-warps", "BLOCK_N, num_warps={8 -> 4})"),
    ],
    "grouped_matmul": [
        Variant("expert-by-two-sides",
            "{(tiles_to <= tile).to(tl.int32 -> tl.where((tiles_to - tiles <= tile) & (tile < tiles_to), offs_e, 0}",
            "if {expert >= E -> tile >= tl.sum(tiles, axis=0)}"),
        Variant("first-by-where",
            "{load(offsets_ptr + expert) + (tile - tiles_before) * BLOCK_M -> sum(tl.where(offs_e == expert, begins "
            "+ (tile - tiles_to + tiles) * BLOCK_M, 0), axis=0)}",
            "{load(offsets_ptr + expert + 1 -> sum(tl.where(offs_e == expert, ends, 0), axis=0}"),
        Variant("before-by-maximum", "{sum(tl.where(offs_e < expert, tiles -> max(tl.where(offs_e < expert, tiles_to}"),
        Variant("choices-in-64-bits", "mask_m, other=0){ -> .to(tl.int64)}",
            "{(choices // k).to(tl.int64) -> choices // k}", "]{.to(tl.int64) -> }"),
        Variant("rounded-up", '{N // tile["BLOCK_M"] -> triton.cdiv(N, tile["BLOCK_M"])}'),
        Variant("exact-bound",
            '{grid = (N // tile["BLOCK_M"] + E -> least = min(N, E)\n'
            '    grid = (least + (N - least) // tile["BLOCK_M"]}'),
        Variant("cast-at-the-store", "y_ptrs, acc{ -> .to(y_ptr.dtype.element_ty)}, mask"),
        Variant("expert-by-minimum",
            "{sum((tiles_to <= tile).to(tl.int32 -> min(tl.where(tiles_to > tile, offs_e, BLOCK_E}"),
        Variant("expert-by-begins", "{<= tile).to(tl.int32), axis=0) -> - tiles <= tile).to(tl.int32), axis=0) - 1}"),
        Variant("expert-by-argmax", "{sum((tiles_to <= -> argmax((tiles_to >}",
            "if {expert >= E -> tile >= tl.max(tiles_to, axis=0)}"),
        Variant("before-by-its-lane", "offs_e {< expert, -> == expert, tiles_to -}"),
        Variant("grid-of-meta",
            '{(N // tile["BLOCK_M"] + E, triton.cdiv(F, tile -> lambda meta: (N // meta["BLOCK_M"] + E, '
            "triton.cdiv(F, meta}"),
        Variant("no-more-than-choices", '{N // tile["BLOCK_M"] + E -> min(N, N // tile["BLOCK_M"] + E)}'),
        Variant("mask-by-count", "= {offs_m < end -> tl.arange(0, BLOCK_M) < end - first}"),
    ],
}

ONE_AXIS = "a tile of one dimension has one axis"
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
        "choices = tl.load(order_ptr + offs_m, mask=mask_m, other=0) => choices = tl.load(order_ptr + offs_m, mask=mask_m)": MASKED,
        "choices = tl.load(order_ptr + offs_m, mask=mask_m, other=0) => choices = tl.load(order_ptr + offs_m, mask=mask_m, other=1)": MASKED,
        'grid = (N // tile["BLOCK_M"] + E, triton.cdiv(F, tile["BLOCK_N"])) => grid = (triton.cdiv(N, tile["BLOCK_M"]) + E, triton.cdiv(F, tile["BLOCK_N"]))': "a bound too, by one program higher",
        "expert = tl.sum((tiles_to <= tile).to(tl.int32), axis=0) => expert = tl.sum(tiles_to <= tile, axis=0)": "the installed Triton adds comparisons as 32-bit integers; the page warns of old ones",
    },
}
