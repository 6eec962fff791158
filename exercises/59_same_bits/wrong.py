"""Mistakes of 59_same_bits with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "no-maximum score-zero m-starts-at-zero"
PROMISES = ("pieces-by-splits", "one-split-always", "one-piece-a-program")

OUTSIDE = ("reads-outside", "wrong-values", "nan", "out-of-bounds-store")

# Sentences that several mistakes share.
SAYS = {
    "last-step-only": "Only the last step of a chunk counts. Does the dot add to acc?",
    "base-2": "m, l and lse are in base e here, as `attend` gives them: `tl.log` and `tl.exp`, not `tl.log2` and `tl.exp2`.",
    "first-step-only": "Only the first step of each chunk counts. The walk goes from the chunk's start to its end.",
    "first-chunk-again": "Every chunk multiplies the first 512 of K. Chunk c begins at `c * CHUNK`.",
    "last-chunk-only": "Only the last chunk of a program counts: `total` forgets the others.",
    "to-the-end-of-k": "Each chunk goes on to the end of K, and later chunks are counted again. A chunk ends after CHUNK.",
    "no-scale-of-the-old": "What was merged before has to be multiplied by `alpha` when the maximum changes.",
    "mean-of-parts": "The pieces count alike. A piece counts by e to the power of its lse.",
    "not-normalised": "The parts are not divided by their sum of weights: a part is acc / l.",
    "lse-is-m": "lse is m alone. It is m + log(l).",
    "end-of-the-first": "Every piece ends where the first one does, so later ones are empty. Piece p ends at (p + 1) PIECE.",
    "m-not-kept": "m stays what it was at the start: keep the new maximum at the end of each round.",
    "whole-sequence": "Each piece goes on to the sequence's end, and later pieces are counted again.",
}

MUTANTS = {
    "matmul_same": [
        Mutant("one-long-sum", "acc = { -> total if WHOLE else }tl.zeros",
            "{            total += acc -> \n            total = acc}", seen="property"),
        Mutant("pieces-by-splits", "{cdiv(K, CHUNK -> minimum(splits, tl.cdiv(K, CHUNK)}),",
            "{CHUNK, chunk * CHUNK + CHUNK -> tl.cdiv(tl.cdiv(K, splits), BLOCK_K) * BLOCK_K, tl.minimum(K, (chunk "
            "+ 1) * tl.cdiv(tl.cdiv(K, splits), BLOCK_K) * BLOCK_K)}",
            seen=("property", "reads-unwritten", "nan", "wrong-values")),
        Mutant("sum-goes-on", "{        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n -> }",
            "{ ->     acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n}    for chunk",
            says="Each chunk goes on from the sum of the one before, which is counted again. A chunk starts at zero."),
        Mutant("first-step-only", "chunk * CHUNK + {CHUNK -> BLOCK_K}, BLOCK_K", says="first-step-only"),
        Mutant("first-chunk-again", "{chunk * CHUNK, chunk * CHUNK + -> 0,}", says="first-chunk-again"),
        Mutant("to-the-end-of-k", "chunk * CHUNK, {chunk * CHUNK + CHUNK -> K}, BLOCK_K", says="to-the-end-of-k"),
        Mutant("from-the-first-k", "range({chunk * CHUNK -> 0}, chunk * CHUNK + CHUNK",
            says="Each chunk begins at k = 0, and earlier chunks are counted again. It begins at `chunk * CHUNK`."),
        Mutant("pointers-move-on", "load(a_ptrs{ + k -> },", "load(b_ptrs{ + k * N -> },",
            "tl.dot(a, b, acc){ -> \n            a_ptrs += BLOCK_K\n            b_ptrs += BLOCK_K * N}",
            says="The pointers move on from where this program's last chunk ended. With several programs its next "
                "chunk lies further on: it begins at k = chunk * CHUNK.", seen=OUTSIDE),
        Mutant("chunk-for-offset", "range({chunk * CHUNK, chunk * CHUNK + CHUNK -> chunk, chunk + CHUNK}, BLOCK_K",
            says="The chunk's number was taken for its first k. Chunk c begins at `c * CHUNK`."),
        Mutant("one-element-a-step", "chunk * CHUNK + CHUNK, {BLOCK_K -> BLOCK_K // 2})",
            says="The loop goes on by less than a tile, and its tiles overlap: steps of BLOCK_K."),
        Mutant("steps-too-long", "chunk * CHUNK + CHUNK, {BLOCK_K -> 2 * BLOCK_K})",
            says="The loop leaves out every second tile: steps of BLOCK_K."),
        Mutant("mask-never-moves", "offs_k < K{ - k -> }", seen=OUTSIDE),
        Mutant("no-mask-along-k", "{ & mask_k[None, :] -> }", "{mask_k[:, None] &  -> }", seen=OUTSIDE),
        Mutant("a-stands-still", "load(a_ptrs{ + k -> },", says="Every step uses the first tile of a. It moves on by k."),
        Mutant("b-stands-still", "load(b_ptrs{ + k * N -> },",
            says="Every step uses the first tile of b. It moves on by k rows, of N elements each."),
        Mutant("b-moves-by-k", "load(b_ptrs + k{ * N -> },", seen=OUTSIDE, says=(
            "b moves on by k elements. Its rows lie along N: k rows further on is `k * N`.")),
        Mutant("last-step-only", "tl.dot(a, b{, acc -> })", says="last-step-only"),
        Mutant("last-step-before-k", "chunk * CHUNK, {chunk * CHUNK + CHUNK -> tl.minimum(chunk * CHUNK + CHUNK, K)}, BLOCK_K",
            "tl.dot(a, b{, acc -> })", says="last-step-only"),
        Mutant("acc-counted-twice", "acc {= -> +=} tl.dot(a, b, acc",
            says="The sum so far is added twice in each step. `tl.dot(a, b, acc)` adds acc already."),
        Mutant("chunks-from-the-last", "parts_ptrs = parts_ptr + offs{ -> + (S - 1) * n}", "parts_ptrs {+ -> -}= n",
            "for {chunk -> back} in range(split", "splits):\n{ ->         chunk = tl.cdiv(K, CHUNK) - 1 - back\n}        # parts[chunk]",
            seen="property"),
        Mutant("tile-by-the-batch", "WHOLE=splits == 1, **{TILE -> (TILE | {\"BLOCK_K\": 128} if M > 256 else TILE)}",
            seen="property"),
        Mutant("lower-tile-for-few-rows", "WHOLE=splits == 1, **{TILE -> (TILE | {\"BLOCK_M\": 16} if M <= 16 else TILE)}",
            seen="property"),
        Mutant("added-as-they-come",
            "{split, tl.cdiv(K, CHUNK), splits -> \n"
            "        split * tl.cdiv(tl.cdiv(K, CHUNK), splits),\n"
            "        tl.minimum(tl.cdiv(K, CHUNK), (split + 1) * tl.cdiv(tl.cdiv(K, CHUNK), splits))}",
            "{store(out_ptrs -> atomic_add(out_ptr + offs_m[:, None] * N + offs_n[None, :]}", "else (({chunks,  -> }",
            "{empty -> zeros}(shape", "(out{ -> [None]},", seen="property", only="interpreter"),
        Mutant("last-chunk-only", "total {+= -> =} acc", says="last-chunk-only"),
        Mutant("half-sums", "total += acc{ -> .to(a_ptr.dtype.element_ty).to(tl.float32)}",
            seen=("property", "wrong-values", "half-digits")),
        Mutant("parts-in-half-precision", "((chunks, M, N), {torch.float32 -> a.dtype})",
            seen=("property", "wrong-values", "half-digits")),
        Mutant("nothing-added", "total += {acc -> 0 * acc}", seen="zeros"),
        Mutant("nothing-stored", "{            tl.store(out_ptrs, acc, mask=mask_m & mask_n) -> \n            pass}",
            seen=("reads-unwritten", "nan", "not-attempted")),
        Mutant("always-stored", "        {if WHOLE:\n            total += acc\n        else:\n            tl.store(out_ptrs -> "
            "total += acc\n        if True:\n            tl.store(out_ptrs}, acc", seen=("out-of-bounds-store", "race")),
        Mutant("no-store-mask", "tl.store(out_ptrs, acc{, mask=mask_m & mask_n -> })", seen=("out-of-bounds-store", "race")),
        Mutant("sum-by-torch", "{sum_parts(out, a.dtype) -> out.sum(0).to(a.dtype)}", seen="torch-compute"),
        Mutant("one-split-always", "{    splits = splits or splits_for(tiles, chunks)\n -> \n    splits = 1\n}",
            seen=("other-programs", "property")),
        Mutant("torch-stand-in", seen="no-kernel-launched", body="return a @ b"),
    ],
    "decode_same": [
        Mutant("heads-on-axis-1", "row, split, splits = tl.program_id({0), tl.program_id(1), tl.num_programs(1 -> 1), tl.program_id(0), tl.num_programs(0})", "pieces_kernel[({B * H, splits -> splits, B * H})]", seen="grid-limit"),
        Mutant("score-zero", ' {float("-inf") -> -1e6}'),
        Mutant("m-starts-at-zero", "[None, :], -{1e38 -> 1e6}, 0.0"),
        Mutant("merge-starts-at-minus-1e6", "l, acc = -{1e38 -> 1e6}", says="m-starts-at-zero"),
        Mutant("pieces-by-splits", "{cdiv(length, PIECE -> minimum(splits, tl.cdiv(length, PIECE)}),",
            "{piece * PIECE + PIECE -> (piece + 1) * tl.cdiv(length, tl.minimum(splits, tl.cdiv(length, PIECE)))}",
            "{PIECE -> tl.cdiv(length, tl.minimum(splits, tl.cdiv(length, PIECE)))}, end,",
            "{cdiv(length, PIECE -> minimum(pieces, tl.cdiv(length, PIECE)})):",
            seen=("property", "reads-unwritten", "nan", "wrong-values")),
        Mutant("longer-pieces-for-fewer-programs", '"PIECE": {PIECE -> max(PIECE, triton.cdiv(L, splits or 99))}',
            seen="property"),
        Mutant("warps-by-the-batch", "BLOCK_L=32, num_warps={4 -> 8 if B > 4 else 4}", seen="property"),
        Mutant("tile-by-the-room", "BLOCK_L={32 -> 128 if L > 2048 else 32}, num_warps", seen="property"),
        Mutant("merged-as-a-tile",
            "    m, l, acc = -1e38, 0.0, tl.zeros((D,), tl.float32)\n{ -> "
            "    offs_s = tl.arange(0, S)\n"
            "    there = offs_s < tl.cdiv(length, PIECE)\n"
            "    states = row * pieces + offs_s\n"
            "    lses = tl.load(lses_ptr + states, mask=there, other=float('-inf'))\n"
            "    p = tl.exp(lses - tl.max(lses, axis=0))\n"
            "    parts_ptrs = parts_ptr + states[:, None] * D + offs_d\n"
            "    parts = tl.load(parts_ptrs, mask=there[:, None], other=0.0)\n"
            "    l, acc = tl.sum(p, axis=0), tl.sum(p[:, None] * parts, axis=0)\n}",
            "for piece in range({tl.cdiv(length, PIECE) -> 0}):\n        state",
            "pieces,\n    H: tl.constexpr, D: tl.constexpr, PIECE: tl.constexpr{ -> , S: tl.constexpr},\n):\n",
            "lengths, out, pieces, {**sizes -> S=triton.next_power_of_2(pieces), **sizes}", seen="property"),
        Mutant("one-piece-a-program", "for piece in range(split, {tl.cdiv(length, PIECE) -> split + 1}, splits)",
            seen=("reads-unwritten", "nan", "wrong-values")),
        Mutant("all-pieces-each", "range({split, tl.cdiv(length, PIECE), splits -> tl.cdiv(length, PIECE)}):\n        end",
            seen="race"),
        Mutant("end-of-the-first", "{piece * PIECE +  -> }", says="end-of-the-first", seen="nan"),
        Mutant("whole-sequence", "end = {tl.minimum(piece * PIECE + PIECE, length) -> length}", says="whole-sequence"),
        Mutant("end-not-cut", "end = {tl.minimum(piece * PIECE + PIECE, length) -> piece * PIECE + PIECE}",
            seen=("nan", "reads-outside", "wrong-values"), says=(
                "The last piece goes on past the sequence's last token. It ends at `length`.")),
        Mutant("from-the-start", "v_ptr, {piece * PIECE -> 0}, end",
            says="Each piece begins at token 0, and the first tokens are counted again. Piece p begins at p PIECE."),
        Mutant("piece-for-token", "v_ptr, {piece * PIECE -> piece}, end",
            says="The piece's number was taken for its first token. Piece p begins at p PIECE."),
        Mutant("state-without-row", "state = {row * pieces + piece\n        tl.store -> piece\n        tl.store}",
            seen=("race", "reads-unwritten", "nan")),
        Mutant("state-by-split", "state = row * pieces + {piece\n        tl.store -> split\n        tl.store}",
            seen=("race", "reads-unwritten", "nan", "out-of-bounds-store", "wrong-values")),
        Mutant("not-normalised", "offs_d, acc{ / l -> })\n        tl.store(lses", says="not-normalised"),
        Mutant("lse-is-m", "tl.store(lses_ptr + state, m{ + tl.log(l) -> })", says="lse-is-m"),
        Mutant("lse-in-base-2", "tl.store(lses_ptr + state, m + tl.{log -> log2}(l))", says="base-2"),
        Mutant("merge-in-base-2", "alpha, weight = tl.{exp(m - m_new), tl.exp -> exp2(m - m_new), tl.exp2}(lse - m_new)", says="base-2"),
        Mutant("tokens-d-apart", "piece * PIECE, end, {H * D -> D}, D, BLOCK_L",
            says="The tokens of a head were read D elements apart. Between two of them lie all H heads: H * D.",
            seen=("reads-outside",)),
        Mutant("lse-is-l", "tl.store(lses_ptr + state, {m + tl.log(l) -> l})", says="lse-is-the-sum"),
        Mutant("lse-without-log", "tl.store(lses_ptr + state, m + {tl.log(l) -> l})", says="lse-without-logarithm"),
        Mutant("lse-log-subtracted", "tl.store(lses_ptr + state, m {+ -> -} tl.log(l))", says="lse-log-subtracted"),
        Mutant("lse-not-stored", "{        tl.store(lses_ptr + state, m + tl.log(l))\n -> }",
            seen=("reads-unwritten", "nan")),
        Mutant("part-not-stored", "{        tl.store(parts_ptr + state * D + offs_d, acc / l)\n -> }",
            seen=("reads-unwritten", "nan", "not-attempted")),
        Mutant("state-without-d", "parts_ptr + state{ * D -> } + offs_d, acc", seen=("race", "reads-unwritten", "nan")),
        Mutant("part-without-d", "state {* D  -> }+ offs_d)", seen=("wrong-values", "reads-unwritten", "nan")),
        Mutant("no-scale-of-the-old", "acc = acc{ * alpha -> } + part", says="no-scale-of-the-old"),
        Mutant("no-scale-of-l", "l = l{ * alpha -> } + weight",
            says="l has to be multiplied by `alpha` too, when the maximum changes."),
        Mutant("mean-of-parts", "alpha, weight = {tl.exp(m - m_new), tl.exp(lse - m_new) -> 1.0, 1.0}", says="mean-of-parts"),
        Mutant("weight-not-on-part", "acc * alpha + part{ * weight -> }",
            says="Each part counts once. Its weight is e to the power of lse - m_new."),
        Mutant("l-counts-pieces", "l = l * alpha + {weight -> 1.0}",
            says="l counts the pieces. It is the sum of their weights."),
        Mutant("maximum-not-kept", "{        m = m_new\n -> }", says="m-not-kept"),
        Mutant("no-maximum", "m_new = {tl.maximum(m, lse) -> m * 0}",
            seen=("nan", "overflow", "wrong-values", "zeros")),
        Mutant("newest-for-maximum", "m_new = {tl.maximum(m, lse) -> lse}",
            says="m_new is the newest lse, not the larger of the two: where an older one is far larger, exp overflows."),
        Mutant("exponents-swapped", "{tl.exp(m - m_new), tl.exp(lse - m_new) -> tl.exp(lse - m_new), tl.exp(m - m_new)}",
            says="The factors are swapped: what was there before is multiplied by exp(m - m_new), the new part by exp(lse - m_new)."),
        Mutant("last-part-only", "acc = {acc * alpha + part -> part} * weight", says="Only the last piece counts: acc forgets the others."),
        Mutant("merged-from-the-last", "for piece in range(tl.cdiv(length, PIECE){ ->  - 1, -1, -1}):", seen="property"),
        Mutant("merge-of-all-the-room", "range({tl.cdiv(length, PIECE) -> pieces}):\n        state",
            seen=("reads-unwritten", "nan")),
        Mutant("one-split-always", "{    splits = splits or splits_for(B * H, pieces, each=8)\n -> \n    splits = 1\n}",
            seen=("other-programs", "property")),
        Mutant("sums-in-half", "parts = torch.empty((B * H, pieces, D), dtype={torch.float32 -> q.dtype}",
            seen=("property", "wrong-values", "half-digits")),
        Mutant("no-check-of-shapes", "if {k.shape … shape != (B,) -> False}", seen=("should-raise", "reads-outside")),
        Mutant("torch-stand-in", seen="no-kernel-launched", body="return decode_same_ref(q, k, v, lengths)"),
    ],
}

VARIANTS = {
    "matmul_same": [
        Variant("dot-then-add", "acc {= tl.dot(a, b, acc) -> += tl.dot(a, b)}"),
        Variant("end-by-the-next-chunk", "{chunk * CHUNK + CHUNK -> (chunk + 1) * CHUNK}, BLOCK_K"),
        Variant("full-of-zeros", "acc = tl.{zeros((BLOCK_M, BLOCK_N), dtype= -> full((BLOCK_M, BLOCK_N), 0.0, }"),
    ],
    "decode_same": [
        Variant("end-by-the-next-piece", "{piece * PIECE + PIECE -> (piece + 1) * PIECE}, length"),
        Variant("weights-by-where", "{exp(m - m_new) -> where(m < m_new, tl.exp(m - m_new), 1.0)}"),
        Variant("inverse-once", "offs_d, acc {/ l -> * (1.0 / l)})\n        tl.store(lses"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "matmul_same": {
        'a = tl.load(a_ptrs + k, mask=mask_m & mask_k[None, :], other=0.0) => a = tl.load(a_ptrs + k, mask=mask_m & mask_k[None, :], other=1.0)': "along K they meet zeros of b, and their rows are never stored",
        'b = tl.load(b_ptrs + k * N, mask=mask_k[:, None] & mask_n, other=0.0) => b = tl.load(b_ptrs + k * N, mask=mask_k[:, None] & mask_n, other=1.0)': "along K they meet zeros of a, and their columns are never stored",
    },
}
