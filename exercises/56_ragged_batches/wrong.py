"""Mistakes of 56_ragged_batches with what is said of each, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant, usual

SHARED = "first-head-only keys-for-values m-starts-at-zero score-zero"
PROMISES = ("queries-from-token-0", "every-sequence-looked-at", "full-to-the-end")

WRONG = ("wrong-values", "wrong-tail", "rows-after-first", "nan")
UNWRITTEN = ("unwritten", "unwritten-tail")
OUTSIDE = ("reads-outside", "out-of-bounds-store", "race")

STEP = """        mid = (lo + hi) // 2
        begun = tl.load(cu_ptr + mid) <= n
        lo = tl.where(begun, mid, lo)
        hi = tl.where(begun, hi, mid)
"""

# Sentences that several mistakes share.
SAYS = {
    "16-bits":
        "A number of 16 bits wraps round at 32,768, and there may be more sequences and more tokens. Keep 32 bits.",
    "same-middle":
        "All steps look at one and the same middle. mid is that of lo and hi, and hi becomes mid where sequence mid "
        "has not begun.",
    "stays-once-it-went-right":
        "Once a step has gone to the right, all that follow look at that middle again. mid is that of lo and hi, "
        "`(lo + hi) // 2`, and hi stays where sequence mid has begun.",
    "first-token-to-the-one-before":
        "The first token of a sequence is given to a sequence before it. Sequence s has begun at n where `cu[s] <= n`, "
        "equality included.",
    "hi-stays":
        "`hi` never comes down, and the search looks at one middle again and again. Where sequence mid has not begun, "
        "mid is the new hi.",
    "lo-past-the-middle":
        "`lo` went past its sequence: where sequence mid has begun, it may be the one. The new lo is mid itself.",
    "keys-of-other-sequences":
        "The keys are not those of the tile's sequence. The first is token `cu_seqlens[sequence]`, and before it come "
        "HK heads of D numbers for each token.",
    "grid-of-full-tiles":
        "The grid has too few programs: each sequence may have one tile that is not full, beside the full ones of all "
        "tokens.",
    "as-many-tiles-as-sequences":
        "Tiles from number B on are left out. Has the grid B programs for them, or does a program return by the number "
        "of sequences? There are cu_tiles[B] tiles, and the grid is a bound for that.",
    "counted-from-the-tile":
        "From a sequence's second tile on, queries see none of their own tile's keys. `end` and `limit` count from the "
        "sequence's first key, not from the tile's.",
    "past-the-sequence":
        "Keys past the sequence's last one are read. `end` is the smaller one of L and first + BLOCK_M, and from there "
        "on `attend` masks the keys.",
    "too-few-keys":
        "Queries miss keys at the end of their walk. `end` counts from the sequence's first key: it is the smaller one "
        "of L and first + BLOCK_M.",
}

MUTANTS = {
    "locate_tokens": [
        usual(),
        Mutant("fourteen-steps", "cu_seqlens, sequence, position, B, T, {steps -> min(steps, 14)}",
            says="The search ends early where there are many sequences. It takes as many steps as the number of "
                "sequences has binary digits, `steps` of them."),
        Mutant("sequence-of-16-bits", "sequence_ptr + offs_t, {sequence -> sequence.to(tl.int16)}", says="16-bits",
            seen=("reads-outside", "wrong-tail")),
        Mutant("position-of-16-bits", "position_ptr + offs_t, {position -> position.to(tl.int16)}", says="16-bits",
            seen="wrong-tail"),
        Mutant("middle-of-16-bits", "mid = {(lo + hi) // 2 -> ((lo + hi) // 2).to(tl.int16)}", says="16-bits",
            seen="reads-outside"),
        Mutant("strictly-begun", "mid) {<= -> <} n", says="first-token-to-the-one-before"),
        Mutant("hi-stays", "hi = {tl.where(begun, hi, mid) -> hi}", seen=WRONG),
        Mutant("lo-stays", "lo = {tl.where(begun, mid, lo) -> lo}",
            says="`lo` stays 0. Where sequence mid has begun, mid is the new lo."),
        Mutant("lo-past-the-middle", "tl.where(begun, {mid, lo -> mid + 1, lo}", says="lo-past-the-middle",
            seen=("reads-outside", *WRONG)),
        Mutant("hi-before-the-middle", "begun, hi, {mid -> mid - 1}",
            says="`hi` went below what it may be: n < cu[hi] has to hold, and cu[mid] is the smallest that is known to."),
        Mutant("sides-swapped", "where(begun, {mid, lo -> lo, mid}", "where(begun, {hi, mid -> mid, hi}",
            says="The search goes the wrong way. Where sequence mid has begun, what is looked for lies in mid or after "
                "it: lo becomes mid, and hi stays."),
        Mutant("one-further-each-time", (STEP, "        lo += (tl.load(cu_ptr + lo + 1) <= n).to(tl.int32)\n"),
            says="Each step goes one sequence on, so `steps` of them come no further than sequence `steps`. Halve what "
                "is left: look at the middle of lo and hi.",
            seen=("reads-outside", *WRONG)),
        Mutant("one-after-the-other", "for {_ in range(steps) -> i in range(1, B)}:",
            (STEP, "        lo = tl.where(tl.load(cu_ptr + i) <= n, i, lo)\n"), seen="slow", only="interpreter"),
        Mutant("middle-of-hi", "mid = {(lo + hi) -> hi} // 2", says="stays-once-it-went-right"),
        Mutant("hi-always-the-middle", "hi = {tl.where(begun, hi, mid) -> mid}", says="stays-once-it-went-right"),
        Mutant("half-of-the-difference", "mid = ({lo + hi -> hi - lo}) // 2",
            says="Half of the difference is how far the middle lies behind lo: `lo + (hi - lo) // 2`.", seen="timeout"),
        Mutant("middle-of-all", "mid = {(lo + hi) -> B} // 2",
            says="same-middle"),
        Mutant("hi-from-the-middle-on", "hi = tl.where(begun, {hi, mid -> mid, hi})",
            says="same-middle"),
        Mutant("lo-to-the-middle", "lo = tl.where(begun, {mid, lo -> lo, mid})",
            says="lo moves where it has to stay. Where sequence mid has begun, lo becomes mid; where it has not, lo stays."),
        Mutant("middle-for-its-number", "begun = {tl.load(cu_ptr + mid) -> mid} <= n",
            says="mid is the number of a sequence, and n that of a token. Compare n with where sequence mid begins: cu[mid]."),
        Mutant("not-begun", "mid) {<= -> >=} n",
            says="The comparison is the wrong way round: sequence mid has begun at n where `cu[mid] <= n`."),
        Mutant("ends-for-begins", "cu_ptr + mid{ -> + 1}) <=",
            says="But for number 0, each sequence is one too small. Is n compared with cu[mid + 1], where sequence mid "
                "ends, or is 1 taken off at the end? Sequence mid has begun where `cu[mid] <= n`.",
            seen=WRONG),
        Mutant("one-step-too-few", "in range(steps{ -> - 1}):",
            says="The search ends one step too early: `steps` of them are needed to leave one sequence."),
        Mutant("last-sequence-left-out", "hi = lo + B{ -> - 1}\n",
            says="The last sequence is never found: hi begins at B, since n < cu[B] holds for all tokens."),
        Mutant("tile-for-tokens", "find({offs_t -> tl.program_id(0)}, ",
            says="All tokens of a tile get one sequence, that of the tile's own number. Search for `offs_t`.",
            seen=("raised", "does-not-compile", *WRONG)),
        Mutant("place-in-the-tile", "find({offs_t -> tl.arange(0, BLOCK_T)}, ",
            says="The search is for a token's place in its tile. From the second tile on that is another token."),
        Mutant("position-in-the-tile", "position = {offs_t -> tl.arange(0, BLOCK_T)} -",
            says="The position is counted from the token's place in its tile. From the second tile on, its number is "
                "`offs_t`."),
        Mutant("position-is-the-place", "position = {offs_t - tl.load(cu_ptr + sequence) -> tl.arange(0, BLOCK_T)}",
            says="The position is the token's place in its tile of tokens. It counts from the sequence's first token: "
                "take that one's number off `offs_t`."),
        Mutant("position-less-sequence", "position = offs_t - {tl.load(cu_ptr + sequence) -> sequence}",
            says="The number of the sequence was taken off. Take off the number of its first token, `cu[sequence]`."),
        Mutant("position-from-the-end", "cu_ptr + sequence{ -> + 1})",
            says="The position is counted from the sequence's end. Its first token is number cu[sequence]."),
        Mutant("position-backwards", "position = {offs_t - tl.load(cu_ptr + sequence) -> tl.load(cu_ptr + sequence) - offs_t}",
            seen="constant-factor"),
        Mutant("position-from-1", "position = offs_t{ -> + 1} -", seen=("constant-summand", "wrong-values")),
        Mutant("position-is-the-token", "position = offs_t{ - tl.load(cu_ptr + sequence) -> }",
            says="The position is the token's number in the batch. Take off that of its sequence's first token."),
        Mutant("begin-by-token", "tl.load(cu_ptr + {sequence -> offs_t})",
            says="`cu` has a number for each sequence, not for each token: load cu[sequence].",
            seen=("reads-outside", "no-other")),
        Mutant("sequence-less-one", "= find(offs_t, cu_ptr, B, steps){ -> - 1}",
            says="The sequence is one too small. `find` gives the number itself.", seen="reads-outside"),
        Mutant("stores-swapped", "sequence_ptr + offs_t, {sequence -> position}, mask",
            "position_ptr + offs_t, {position -> sequence}, mask",
            says="The two results are swapped: `sequence` holds the positions, `position` the sequences."),
        Mutant("stored-by-sequence", "position_ptr + {offs_t -> sequence}, ", seen=("race", *UNWRITTEN)),
        Mutant("position-not-stored", "{tl.store(position_ptr + offs_t, position, mask=mask_t) -> position += 0}",
            seen=UNWRITTEN),
        Mutant("every-sequence-looked-at",
            "mid = (lo + hi) // 2\n        begun = tl.load(cu_ptr + mid) <= n\n"
            "        lo = {tl.where(begun, mid, lo)\n        hi = tl.where(begun, hi, mid) -> tl.zeros_like(lo)\n"
            "        for s in range(1, B):\n            lo += (tl.load(cu_ptr + s + n * 0) <= n).to(tl.int32)}",
            seen="slow", only="interpreter"),
        Mutant("by-torch", seen=("torch-compute", "no-kernel-launched"),
            body="if cu_seqlens.dtype != torch.int32:\n"
                '    raise ValueError("int32")\n'
                "token = torch.arange(T, dtype=torch.int32, device=cu_seqlens.device)\n"
                "sequence = (torch.searchsorted(cu_seqlens, token, right=True) - 1).to(torch.int32)\n"
                "return sequence, token - cu_seqlens[sequence]"),
    ],
    "flash_ragged": [
        Mutant("fourteen-steps", "{(B - 1).bit_length() -> min((B - 1).bit_length(), 14)}",
            says="The search ends early where there are many sequences: it takes as many steps as B - 1 has binary "
                "digits.", seen="reads-outside"),
        Mutant("sequence-of-16-bits", "sequence = find(tile, cu_tiles_ptr, B, steps){ -> .to(tl.int16)}", says="16-bits",
            seen="reads-outside"),
        Mutant("one-program-walks",
            "def {flash_ragged_kernel(\n     -> one_tile(\n    tile, head, }q_ptr",
            "{    tile, head = tl.program_id(0), tl.program_id(1)\n -> }",
            "{    if tile >= tl.load(cu_tiles_ptr + B):\n        return\n -> }",
            "{ -> @triton.jit\n"
            "def all_tiles(q, k, v, o, seqlens, tiles, B, steps, scale, H: tl.constexpr, HK: tl.constexpr,\n"
            "              D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):\n"
            "    for tile in range(0, tl.load(tiles + B)):\n"
            "        for head in range(0, H):\n"
            "            one_tile(tile, head, q, k, v, o, seqlens, tiles, B, steps, scale, H, HK, D, BLOCK_M, BLOCK_N)\n"
            "\n"
            "\n"
            "}def blocks_of",
            "{flash_ragged_kernel[grid -> all_tiles[(1,)}](",
            seen="unshared-work", only="interpreter"),
        # here they are `keys-unmasked`, and `store-unmasked`: it crosses into the next sequence
        usual(but=("no-load-masks", "no-store-mask")),
        Mutant("score-zero", ' {float("-inf") -> -1e6}'),
        Mutant("too-little-taken-off", ' {float("-inf") -> s - 1e6}', says="score-zero"),
        Mutant("m-starts-at-zero", "BLOCK_M], -{1e38 -> 50000.0}"),
        Mutant("no-return", "{    if tile >= tl.load(cu_tiles_ptr + B):\n        return\n -> }",
            seen="property", only="interpreter"),  # on a GPU nothing shows of a program without a tile
        Mutant("one-tile-too-many", "if tile {>= -> >} tl.load", seen="property", only="interpreter"),
        Mutant("one-tile-too-few", "if tile >= tl.load(cu_tiles_ptr + B){ -> - 1}:",
            says="The last tile of the batch returns without its work: there are cu_tiles[B] tiles, from 0 on.",
            seen=UNWRITTEN),
        Mutant("returns-by-the-sequences", "if tile >= {tl.load(cu_tiles_ptr + B) -> B}:",
            says="as-many-tiles-as-sequences", seen=(*OUTSIDE, *UNWRITTEN)),
        Mutant("searched-among-tokens", "find(tile, {cu_tiles_ptr -> cu_seqlens_ptr}, B",
            says="The tile's number was looked for in cu_seqlens, which counts tokens. Tiles have prefix sums of their "
                "own, cu_tiles.",
            seen=(*OUTSIDE, *UNWRITTEN)),
        Mutant("token-looked-for-among-tokens", "find({tile, cu_tiles_ptr -> tile * BLOCK_M, cu_seqlens_ptr}, B",
            says="Tile p does not begin at token p * BLOCK_M: earlier sequences may have tiles that are not full. Look "
                "for the tile in cu_tiles.",
            seen=(*OUTSIDE, *UNWRITTEN)),
        Mutant("sequence-is-the-tile", "sequence = {find(tile, cu_tiles_ptr, B, steps) -> tile}",
            says="Tile p was taken for sequence p, as if each had one tile. `find` says whose it is.",
            seen=(*OUTSIDE, *UNWRITTEN)),
        Mutant("begin-by-tile", "cu_seqlens_ptr + {sequence) -> tile)}\n    L",
            says="`begin` was looked up by the tile's number. cu_seqlens has a number for each sequence.",
            seen=(*OUTSIDE, *UNWRITTEN)),
        Mutant("length-is-the-end", "sequence + 1){ - begin -> }",
            says="cu_seqlens[sequence + 1] is the token where the sequence ends, counted in the batch. Its length is "
                "that less begin.",
            seen=(*OUTSIDE, "slow")),
        Mutant("length-of-the-batch",
            "L = {tl.load(cu_seqlens_ptr + sequence + 1) -> tl.load(cu_seqlens_ptr + B)} - begin",
            seen="property", on_gpu=("race", *WRONG)),
        Mutant("first-among-all-tiles", "first = {(tile - tl.load(cu_tiles_ptr + sequence)) -> tile} * BLOCK_M",
            says="A tile's first position was taken from its number in the batch. Take off the tiles of the sequences "
                "before: cu_tiles[sequence].",
            seen=UNWRITTEN),
        Mutant("first-tile-of-each", "first = {(tile - tl.load(cu_tiles_ptr + sequence)) * BLOCK_M -> 0}",
            says="Every tile takes the first queries of its sequence: `first` is 0.", seen=("race", *UNWRITTEN)),
        Mutant("first-in-tiles", "sequence)){ * BLOCK_M -> }",
            says="`first` is a number of tiles. A tile has BLOCK_M queries: multiply.", seen=("race", *UNWRITTEN)),
        Mutant("first-by-keys", "sequence)) * {BLOCK_M -> BLOCK_N}", seen=("race", "slow", *UNWRITTEN)),
        Mutant("queries-from-token-0", "rows = {(begin + position) -> position}.to(tl.int64)",
            says="The queries are the batch's first tokens. A query's token is `begin` plus its position.",
            seen=("race", *UNWRITTEN)),
        Mutant("begin-twice", "position = {first -> begin + first} +",
            says="`begin` counts twice: a position is counted from the sequence's first token.", seen=UNWRITTEN),
        Mutant("heads-forgotten", ".to(tl.int64) * H{ + head -> }", seen=("race", *UNWRITTEN),
            says="Every head takes the queries of head 0: add `head` to the row."),
        Mutant("queries-as-far-as-keys", "(tl.int64) * {H -> HK} + head", seen=("race", *UNWRITTEN),
            says="The queries were looked for as far apart as keys. A token has H rows of q, and HK of k."),
        Mutant("heads-one-behind-the-other",
            "rows = {(begin + position).to(tl.int64) * H + head -> head * tl.load(cu_seqlens_ptr + B).to(tl.int64) + begin + position}",
            says="q was read as if each head had all its tokens together, as on page 41. Here the H heads of a token "
                "lie side by side: element (t, h, d) is number (t * H + h) * D + d."),
        Mutant("offsets-of-32-bits", "(begin + position){.to(tl.int64) -> } * H", seen="int32-offset"),
        Mutant("keys-of-32-bits", "(begin{.to(tl.int64) -> } * HK", seen="int32-offset"),
        Mutant("mask-by-token", "mask = position[:, None] < {L -> tl.load(cu_seqlens_ptr + B) - begin}",
            seen="property", on_gpu=("race", "reads-outside", *WRONG)),
        Mutant("mask-of-tokens", "mask = {position -> (begin + position)}[:, None] < L",
            says="The mask compares a token's number in the batch with a length. Compare the position.", seen=UNWRITTEN),
        Mutant("mask-one-too-far", "mask = position[:, None] {< -> <=} L",
            seen=("property", "race", "out-of-bounds-store"), on_gpu=WRONG),
        Mutant("mask-one-short", "mask = position[:, None] < L{ -> - 1}", seen=UNWRITTEN),
        Mutant("store-unmasked", "offsets, o{, mask=mask -> })", seen=("property", "out-of-bounds-store")),
        Mutant("keys-from-token-0", "key = {(begin.to(tl.int64) * HK + head // (H // HK)) -> head // (H // HK)} * D",
            says="keys-of-other-sequences"),
        Mutant("keys-as-far-as-queries", "key = (begin.to(tl.int64) * {HK -> H} +",
            says="keys-of-other-sequences", seen=("reads-outside",)),
        Mutant("keys-without-heads", "key = (begin.to(tl.int64){ * HK -> } +", says="keys-of-other-sequences"),
        Mutant("keys-in-rows", "head // (H // HK)){ * D -> }\n", says="keys-of-other-sequences"),
        Mutant("first-head-only", "* HK{ + head // (H // HK) -> }) * D"),
        Mutant("heads-in-turn", "head {// (H // HK) -> % HK}",
            says="Query head h reads the key head h % HK. Heads that share their keys stand side by side: it is `h // "
                "(H // HK)`."),
        Mutant("head-over-key-heads", "head // {(H // HK) -> HK}) * D",
            says="Query head h reads the key head h // HK. It is the other way round: H // HK query heads share a key "
                "head, so `h // (H // HK)`."),
        Mutant("key-heads-one-apart", "* HK + head // (H // HK){) * D -> * 1) * D - head // (H // HK) * (D - 1)}",
            says="The key heads were looked for one element apart. Each head of a token has D elements."),
        Mutant("head-for-key-head", "* HK + head{ // (H // HK) -> })",
            says="Query head h reads the key head h, and there are HK of them alone: `h // (H // HK)`.",
            seen=("reads-outside",)),
        Mutant("keys-d-apart", "qk_scale, {HK * D -> D},",
            says="The keys of a head were read D elements apart. Between two keys of one head lie all HK heads of a "
                "token: HK * D."),
        Mutant("keys-h-apart", "qk_scale, {HK -> H} * D,",
            says="The keys were read as far apart as queries, H * D elements. k and v have HK heads: HK * D.",
            seen=("reads-outside",)),
        Mutant("keys-for-values", "k_ptr + key, {v_ptr -> k_ptr} + key", seen="unused-input"),
        Mutant("full-to-the-last-query", "v_ptr + key, {first -> first + BLOCK_M}, end",
            says="`full` is too large: the first query of the tile does not see all those keys, and in full tiles "
                "nothing is masked. It is the position of the first query.",
            seen=("reads-outside", "slow", *WRONG)),
        Mutant("full-to-the-end", "v_ptr + key, {first, end -> end, end}",
            says="All keys up to `end` are taken as full, and so nothing is masked: queries see keys that come after "
                "them. Full are those below the position of the first query.",
            seen=("reads-outside", *WRONG)),
        Mutant("full-one-too-many", "v_ptr + key, {first -> first + 1}, end",
            says="`full` is the position of the tile's first query, with no 1 added: it has to be a multiple of "
                "BLOCK_N, since full tiles are taken whole and without a mask.",
            seen=("reads-outside", "slow", *WRONG)),
        Mutant("full-in-tiles", "v_ptr + key, {first -> first // BLOCK_N}, end",
            says="`full` is a number of keys, and this is one of tiles: it is the position of the tile's first query.",
            seen=("reads-outside", "slow", *WRONG)),
        Mutant("full-by-the-token", "v_ptr + key, {first -> begin + first}, end",
            says="`full` is a number of keys in the sequence, so it does not depend on where that begins: the position "
                "of the tile's first query.",
            seen=("reads-outside", "slow")),
        Mutant("end-of-the-sequence", "end = {tl.minimum(L, first + BLOCK_M) -> L}", seen="slow", only="interpreter"),
        Mutant("end-of-the-tile", "end = {tl.minimum(L, first + BLOCK_M) -> first + BLOCK_M}",
            says="past-the-sequence", seen=("reads-outside", "slow")),
        Mutant("keys-unmasked", "k_ptr + tile{, mask=inside, other=zero -> })", "v_ptr + tile{, mask=inside, other=zero -> })",
            says="past-the-sequence", seen="reads-outside"),
        Mutant("end-of-the-larger", "end = tl.{minimum -> maximum}(L, first",
            says="past-the-sequence", seen=("reads-outside", "slow")),
        Mutant("end-before-the-tile", "tl.minimum(L, first{ + BLOCK_M -> })", says="too-few-keys", seen="nan"),
        Mutant("end-from-the-tile", "tl.minimum(L, first + BLOCK_M{) -> ) - first}", says="counted-from-the-tile"),
        Mutant("end-less-first", "end = {tl.minimum(L, first + BLOCK_M) -> L - first}",
            says="too-few-keys", seen="nan"),
        Mutant("end-one-short", "tl.minimum(L, first + BLOCK_M{ -> - 1})", says="too-few-keys"),
        Mutant("limit-one-short", "end, {position + 1 -> position}, qk_scale",
            says="A query does not see its own key: limit is a number of keys, its position plus 1.", seen="nan"),
        Mutant("limit-one-too-far", "end, {position + 1 -> position + 2}, qk_scale",
            says="Queries see one key too many, the next one: limit is the position plus 1."),
        Mutant("limit-by-token", "end, {position + 1 -> begin + position + 1}, qk_scale",
            says="`limit` counts from the first token of the batch. The keys that `attend` sees count from the first "
                "of the sequence: take the position."),
        Mutant("not-causal", "end, {position + 1 -> position * 0 + end}, qk_scale",
            says="Each query sees all keys up to the last query of its tile. limit is its own position plus 1."),
        Mutant("scale-to-base-e", "{LOG2_E / D**0.5 -> D**-0.5}",
            says="The exponentials are to base 2: their scale is log2(e) / sqrt(D), `LOG2_E / D**0.5`."),
        Mutant("scale-forgotten", "{LOG2_E / D**0.5 -> LOG2_E}", says="The scale 1 / sqrt(D) is missing."),
        Mutant("scale-of-d", "LOG2_E / D{**0.5 -> }", says="Scores are divided by the root of D, not by D."),
        Mutant("one-step-short", "bit_length(){ -> - 1}, LOG2_E",
            says="The search ends one step too early. B sequences take `(B - 1).bit_length()` steps.",
            seen=("race", "out-of-bounds-store", *UNWRITTEN)),
        Mutant("grid-of-all-tokens", "{T // BLOCK_M + min(B, T) -> triton.cdiv(T, BLOCK_M)}", says="grid-of-full-tiles",
            seen=UNWRITTEN),
        Mutant("grid-of-sequences", "{T // BLOCK_M + min(B, T) -> B}", says="as-many-tiles-as-sequences",
            seen=(*UNWRITTEN, "too-many-programs")),
        Mutant("grid-with-empty-ones", "+ {min(B, T) -> B}, H", seen="too-many-programs"),
        Mutant("grid-of-tokens", "({T // BLOCK_M + min(B, T) -> T}, H", seen="too-many-programs"),
        Mutant("one-head", "min(B, T), {H -> 1})", seen=UNWRITTEN),
        Mutant("keys-heads-for-a-grid", "min(B, T), {H -> HK})", seen=UNWRITTEN),
        Mutant("torch-stand-in", seen=("torch-compute", "no-kernel-launched"),
            body="if len(q) != len(k) or not q.is_contiguous():\n"
                '    raise ValueError("shapes")\n'
                "return flash_ragged_ref(q, k, v, cu_seqlens, cu_tiles, BLOCK_M)"),
    ],
}

VARIANTS = {
    "locate_tokens": [
        Variant("middle-from-lo", "mid = {(lo + hi) // 2 -> lo + (hi - lo) // 2}"),
        Variant("middle-rounded-up", "mid = (lo + hi{ -> + 1}) // 2"),
        Variant("by-arithmetic", "lo = {tl.where(begun, mid, lo) -> lo + (mid - lo) * begun.to(tl.int32)}"),
        Variant("other-way-round", "begun = tl.load(cu_ptr + mid) {<= -> >} n", "where(begun, {mid, lo -> lo, mid}",
            "where(begun, {hi, mid -> mid, hi}"),
        Variant("begin-masked", "tl.load(cu_ptr + sequence{ -> , mask=mask_t, other=0})"),
        Variant("middle-of-the-ends", "mid = {(lo + hi) // 2 -> (lo + hi) // 2 - 1}",
            "begun = tl.load(cu_ptr + mid{ -> + 1}) <= n",
            "where(begun, {mid, lo -> mid + 1, lo}", "where(begun, hi, {mid -> mid + 1})"),
        Variant("position-first",
            "    {tl.store(sequence_ptr + offs_t, sequence, mask=mask_t)\n    tl.store(position_ptr + offs_t, position, mask=mask_t) -> "
            "tl.store(position_ptr + offs_t, position, mask=mask_t)\n    tl.store(sequence_ptr + offs_t, sequence, mask=mask_t)}"),
    ],
    "flash_ragged": [
        Variant("longest-first", "tile, head = {tl.program_id(0) -> tl.num_programs(0) - 1 - tl.program_id(0)}, tl"),
        Variant("heads-first", "tile, head = {tl.program_id(0), tl.program_id(1) -> tl.program_id(1), tl.program_id(0)}",
            "grid = ({T // BLOCK_M + min(B, T), H -> H, T // BLOCK_M + min(B, T)})"),
        Variant("limit-at-most-end", "end, {position + 1 -> tl.minimum(position + 1, end)}, qk_scale"),
        Variant("tokens-for-positions", "mask = {position[:, None] < L -> (begin + position)[:, None] < begin + L}"),
        Variant("nothing-is-full", "v_ptr + key, {first -> 0}, end"),
        Variant("full-in-whole-tiles", "k_ptr + key, v_ptr + key, {first -> first // BLOCK_N * BLOCK_N}, end"),
        Variant("tightest-grid",
            "grid = {(T // BLOCK_M + min(B, T), H) -> (min(B, T) + (T - min(B, T)) // BLOCK_M, H)}"),
        Variant("begin-of-64-bits", "begin = tl.load(cu_seqlens_ptr + sequence){ -> .to(tl.int64)}\n",
            "(begin + position){.to(tl.int64) -> } * H", "(begin{.to(tl.int64) -> } * HK"),
        Variant("grid-rounded-up", "{T // BLOCK_M + -> triton.cdiv(T, BLOCK_M) +} min(B, T), H"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
NOT_STORED = "a query past the end of its sequence is not stored"
MORE_STEPS = "a step more changes nothing: lo and hi are neighbours"
LAUNCH = "q, k, v, o, cu_seqlens, cu_tiles, B, {}, LOG2_E / D**0.5,"
EQUIVALENT = {
    "flash_ragged": {
        "q = tl.load(q_ptr + offsets, mask=mask, other=0.0) => q = tl.load(q_ptr + offsets, mask=mask)": NOT_STORED,
        "q = tl.load(q_ptr + offsets, mask=mask, other=0.0) => q = tl.load(q_ptr + offsets, mask=mask, other=1.0)": NOT_STORED,
        "grid = (T // BLOCK_M + min(B, T), H) => grid = (triton.cdiv(T, BLOCK_M) + min(B, T), H)": "a bound too, by one program higher",
        "key = (begin.to(tl.int64) * HK + head // (H // HK)) * D => key = (begin.to(tl.int64) * HK + head // (triton.cdiv(H, HK))) * D": "H is a multiple of HK",
        **{
            f"{LAUNCH.format('(B - 1).bit_length()')} => {LAUNCH.format(steps)}": MORE_STEPS
            for steps in ("(B).bit_length()", "(B + 1).bit_length()", "(B - 0).bit_length()")
        },
    },
}
