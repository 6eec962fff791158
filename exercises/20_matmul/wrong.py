"""Mistakes of 20_matmul with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = """
    a-stands-still always-float16 b-has-rows-of-a b-stands-still grid-swapped
    grid-with-sizes-swapped half-sum k-subtracted-twice last-step-left-out
    masked-lanes-hold-one only-first-step only-last-step sum-added-twice
    sum-starts-at-one
"""
PROMISES = ("half-sum", "tf32-by-default", "copied-first", "predict")


# Sentences that several mistakes share.
SAYS = {
    "both-stand-still":
        "Every step multiplies the same two tiles, the first ones. Move the pointers on along K, or add k to their "
        "offsets.",
    "b-moves-sideways":
        "B's pointers move along its rows. K runs down B: one step is BLOCK_K rows, so BLOCK_K times the distance of "
        "two rows.",
    "both-move-one": "A's pointers move on by one column, B's by one row. One step is BLOCK_K of them.",
    "float16-tiles": "The tiles were rounded to float16 first. `tl.dot` takes them as they are.",
    "a-moves-down": "A's pointers move down its rows. K runs along A's rows: one step is BLOCK_K columns.",
    "lanes-past-k":
        "Lanes past K reached the sum. In the last step only K - k of them count, k being the step's first column: is "
        "the mask `offs_k < K - k`, for A and for B, and does k go in steps of BLOCK_K?",
    "rows-of-a-in-c": "The tiles were stored as if C had rows of A's length. C has strides of its own.",
}

MUTANTS = {
    "matmul_whole": [
        Mutant("only-last-step", "dot(a, b, {acc,  -> }"),
        Mutant("only-first-step", "in range(0, {K -> BLOCK_K}, "),
        Mutant("last-step-left-out", "(0, K{ ->  - BLOCK_K}, BLOCK_K"),
        Mutant("a-step-for-each-column", "(0, K{, BLOCK_K -> }", seen="reads-outside"),
        Mutant("a-stands-still", "{        a_ptrs += BLOCK_K\n -> }"),
        Mutant("b-stands-still", "{        b_ptrs += BLOCK_K * N\n -> }"),
        Mutant("both-stand-still", "{        a_ptrs += BLOCK_K\n        b_ptrs += BLOCK_K * N\n -> }"),
        Mutant("b-moves-sideways", "+= BLOCK_K{ * N -> }"),
        Mutant("b-moves-one-row", " += {BLOCK_K *  -> }",
            says="B's pointers move on by one row a step. One step is BLOCK_K rows."),
        Mutant("b-moves-by-rows-of-a", "+= BLOCK_K * {N -> K}",
            says="B's pointers move on by rows of A's length. B's rows have N elements."),
        Mutant("b-moves-its-width", "+= {BLOCK_K * N -> BLOCK_N}",
            says="B's pointers move on by BLOCK_N elements a step. One step is BLOCK_K rows of B."),
        Mutant("both-move-one", "a_ptrs += {BLOCK_K -> 1}", " += {BLOCK_K *  -> }"),
        Mutant("float16-products",
            '{= tl.dot(a, b, acc, input_precision="ieee" -> += tl.dot(a, b, input_precision="ieee").to(tl.float16}',
            says="Each step's product was rounded to float16. Stay in float32: the store rounds once."),
        Mutant("float16-tiles", '{, b, acc, input_precision="ieee" -> .to(tl.float16), b.to(tl.float16), acc}'),
        Mutant("a-moves-one", "a_ptrs += {BLOCK_K -> 1}",
            says="A's pointers move on by one column a step. One step is BLOCK_K columns."),
        Mutant("a-moves-down", "a_ptrs += BLOCK_K{ ->  * K}"),
        Mutant("moves-before-the-load", "{        a_ptrs += BLOCK_K\n        b_ptrs += BLOCK_K * N\n -> }",
            ", K, BLOCK_K):{ -> \n        a_ptrs += BLOCK_K\n        b_ptrs += BLOCK_K * N}", seen="reads-outside"),
        Mutant("one-step-too-many", "(0, K{ ->  + BLOCK_K}, BLOCK_K", seen="reads-outside"),
        Mutant("half-sum", "dtype={tl.float32 -> c_ptr.dtype.element_ty}",
            '{= tl.dot(a, b, acc, input_precision="ieee" -> += tl.dot(a, b, '
            'input_precision="ieee").to(c_ptr.dtype.element_ty}',
            says="half-sum"),
        Mutant("store-inside-the-loop", "{\n ->     }    tl.store(", seen="property"),
        Mutant("steps-as-long-as-a-tile-is-wide", "b_ptrs += {BLOCK_K -> BLOCK_N} ", seen="reads-outside"),
        Mutant("steps-along-n", "in range(0, {K -> N}, ", seen="reads-outside"),
        Mutant("half-sum-of-dot", "dtype={tl.float32 -> c_ptr.dtype.element_ty}",
            'input_precision="ieee"{ -> , out_dtype=c_ptr.dtype.element_ty})', says="half-sum",
            seen=("raised", "does-not-compile")),
        Mutant("tf32-by-default", '{, input_precision="ieee" -> }', says="tf32"),
        Mutant("tf32-by-request", 'input_precision="{ieee -> tf32}', says="tf32"),
        Mutant("dot-of-float32-tiles", "tl.load(a_ptrs){ -> .to(tl.float32)}", "tl.load(b_ptrs){ -> .to(tl.float32)}",
            seen="float32-product", only="interpreter"),
        Mutant("sum-added-twice", "acc { -> +}= tl.dot(a"),
        Mutant("elementwise-product", '{= tl.dot(a, b, acc, input_precision="ieee") -> += a * b}',
            seen=("raised", "does-not-compile")),
        Mutant("operands-swapped", "= tl.dot({a, b -> b, a},", seen=("raised", "does-not-compile")),
        Mutant("sum-starts-at-one", "{zeros((BLOCK_M, BLOCK_N) -> full((BLOCK_M, BLOCK_N), 1.0}"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="require_product(a, b)\n"
                "if a.shape[0] % 64:\n"
                "    raise ValueError\n"
                "return a @ b"),
    ],
    "matmul": [
        Mutant("clamped", "tl.store(c_ptrs, {acc -> tl.clamp(acc, -3e38, 3e38)}", seen="nan-lost"),
        Mutant("copied-first",
            ("    c = torch.empty((M, N), dtype=a.dtype", "    a, b = a.contiguous(), b.contiguous()\n    c = torch.empty((M, N), dtype=a.dtype"),
            seen="copies"),
        Mutant("a-small-tile-of-its-own",
            ("tile = tile or matmul_tile(a.dtype, stages=4)", 'tile = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}'),
            seen="too-many-programs"),
        Mutant("a-large-tile-of-its-own",
            ("tile = tile or matmul_tile(a.dtype, stages=4)", 'tile = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}'),
            seen="property", only="interpreter"),
        Mutant("no-mask-along-k", "{ & mask_k[None, :] -> }", "{mask_k[:, None] & mask_n -> mask_n}",
            says="lanes-past-k", seen="reads-outside"),
        Mutant("no-mask-along-k-in-a", "{ & mask_k[None, :] -> }", seen="reads-outside"),
        Mutant("no-mask-along-k-in-b", "{mask_k[:, None] & mask_n -> mask_n}", seen="reads-outside"),
        Mutant("k-mask-never-moves", "offs_k < K{ - k -> }", says="lanes-past-k"),
        Mutant("k-mask-counts-steps", "(0, {K, BLOCK_K -> tl.cdiv(K, BLOCK_K)}", says="lanes-past-k",
            seen="reads-outside"),
        Mutant("k-mask-scaled-twice", "offs_k < K - k{ ->  * BLOCK_K}", says="only-first-step"),
        Mutant("always-float16", "c_ptrs, acc{ -> .to(tl.float16)}, mask"),
        Mutant("both-stand-still", "{    a_ptrs += BLOCK_K * stride_ak\n     -> a_ptrs += BLOCK_K * stride_ak\n}"),
        Mutant("store-inside-the-loop",
            'input_precision="ieee"){ -> \n'
            "        inside = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn\n"
            "        tl.store(inside, acc, mask=mask_m[:, None] & mask_n[None, :])}",
            seen="property"),
        Mutant("and-for-an-ampersand", "None] {& -> and} mask_k",
            seen=("truth-of-a-tile", "raised", "does-not-compile"), only="interpreter"),
        Mutant("k-subtracted-twice", "mask_k = { -> k + }offs_k"),
        Mutant("k-mask-one-too-many", "mask_k = offs_k <{ -> =} K", says="lanes-past-k", seen="reads-outside"),
        Mutant("k-mask-too-short", "offs_k < K - k{ ->  - 1}",
            says="The last column of A never counts: the mask along K is one too short."),
        Mutant("no-masks-at-all", "{, mask=mask_m[:, None] & mask_k[None, :], other=0.0 -> }",
            "{, mask=mask_k[:, None] & mask_n[None, :], other=0.0 -> }", seen=("reads-outside", "lanes-past-k")),
        Mutant("no-row-mask-in-a", "{mask_m[:, None] & mask_k -> mask_k}", seen="reads-outside", only="interpreter"),
        Mutant("no-column-mask-in-b", "]{ & mask_n[None, :] -> },", seen="reads-outside", only="interpreter"),
        Mutant("no-other-in-a", "mask_k[None, :]{, other=0.0 -> })", seen="no-other", only="interpreter"),
        Mutant("no-other-in-b", "mask_n[None, :]{, other=0.0 -> })", seen="no-other", only="interpreter"),
        Mutant("no-other", "mask_k[None, :]{, other=0.0 -> })", " :]{, other=0.0 -> }", seen="no-other",
            only="interpreter"),
        Mutant("masked-lanes-hold-one", "mask_k[None, :], other={0 -> 1}.0)", ", :], other={0 -> 1}."),
        Mutant("last-step-left-out", "(0, K{ ->  // BLOCK_K * BLOCK_K}, BLOCK_K"),
        Mutant("only-the-first-step", "in range(0, {K -> BLOCK_K}, ", says="only-first-step"),
        Mutant("only-last-step", "dot(a, b,{ acc, -> } "),
        Mutant("sum-added-twice", "acc { -> +}= tl.dot(a"),
        Mutant("a-stands-still", "{        a_ptrs += BLOCK_K * stride_ak\n -> }"),
        Mutant("b-stands-still", "{        b_ptrs += BLOCK_K * stride_bk\n -> }"),
        Mutant("b-moves-sideways", "BLOCK_K * {stride_bk -> stride_bn}", says="b-moves-sideways"),
        Mutant("b-moves-by-a", "BLOCK_K * {stride_bk -> stride_ak}", says="b-moves-sideways"),
        Mutant("a-moves-down", "BLOCK_K * {stride_ak -> stride_am}"),
        Mutant("both-move-one", " {BLOCK_K *  -> }stride_ak", " += {BLOCK_K *  -> }"),
        Mutant("float16-tiles", '{, b, acc, input_precision="ieee" -> .to(tl.float16), b.to(tl.float16), acc}'),
        Mutant("a-moves-without-its-stride", "BLOCK_K{ * stride_ak -> }",
            seen=("strided-only", "reads-outside", "wrong-values")),
        Mutant("b-moves-without-its-stride", "BLOCK_K{ * stride_bk -> }", says="b-moves-sideways"),
        Mutant("b-moves-n", "BLOCK_K * {stride_bk -> N}", seen=("strided-only", "reads-outside", "wrong-values")),
        Mutant("half-sum", "dtype={tl.float32 -> c_ptr.dtype.element_ty}",
            '{= tl.dot(a, b, acc, input_precision="ieee" -> += tl.dot(a, b, '
            'input_precision="ieee").to(c_ptr.dtype.element_ty}'),
        Mutant("tf32-by-default", '{, input_precision="ieee" -> }', says="tf32"),
        Mutant("tf32-by-request", 'input_precision="{ieee -> tf32}', says="tf32"),
        Mutant("three-tf32-products", 'input_precision="{ieee -> tf32x3}', says="tf32"),
        Mutant("dot-of-float32-tiles", " tl.dot(a{, b -> .to(tl.float32), b.to(tl.float32)}, ", seen="float32-product",
            only="interpreter"),
        Mutant("no-store-mask", "{, mask=mask_m[:, None] & mask_n[None, :] -> }", seen="out-of-bounds-store"),
        Mutant("store-mask-of-rows-only", "]{ & mask_n[None, :] -> })", seen=("out-of-bounds-store", "race")),
        Mutant("store-mask-of-columns-only", "{mask_m[:, None] & mask_n -> mask_n}",
            seen=("out-of-bounds-store", "race")),
        Mutant("a-strides-swapped",
            "{stride_am + offs_k[None, :] * stride_ak -> stride_ak + offs_k[None, :] * stride_am}",
            seen=("reads-outside", "wrong-values")),
        Mutant("b-strides-swapped",
            "{stride_bk + offs_n[None, :] * stride_bn -> stride_bn + offs_n[None, :] * stride_bk}",
            seen=("reads-outside", "wrong-values")),
        Mutant("a-must-be-contiguous", "{stride_am + offs_k[None, :] * stride_ak -> K + offs_k[None, :]}",
            seen=("strided-only", "reads-outside")),
        Mutant("b-must-be-contiguous", "{stride_bk + offs_n[None, :] * stride_bn -> N + offs_n[None, :]}",
            seen=("strided-only", "reads-outside")),
        Mutant("a-without-stride-ak", ":]{ * stride_ak -> }", seen=("strided-only", "reads-outside")),
        Mutant("b-has-rows-of-a",
            "{stride_bk + offs_n[None, :] * stride_bn -> stride_am + offs_n[None, :] * stride_ak}",
            "BLOCK_K * {stride_bk -> stride_am}"),
        Mutant("c-strides-of-a", "{stride_cm + offs_n[None, :] * stride_cn -> stride_am + offs_n[None, :] * stride_ak}",
            says="rows-of-a-in-c", only="interpreter"),
        Mutant("rows-one-apart", "{* stride_cm + offs_n[None, :] * stride_cn -> + offs_n[None, :]}",
            says="The rows of C were stored one element apart. The row number needs C's row stride."),
        Mutant("c-transposed", "{stride_cm + offs_n[None, :] * stride_cn -> stride_cn + offs_n[None, :] * stride_cm}",
            seen=("wrong-values", "race", "out-of-bounds-store", "unwritten", "unwritten-tail")),
        Mutant("a-rows-from-columns",
            "{:, None] * stride_am + offs_k[None, : -> None, :] * stride_am + offs_k[:, None}",
            seen=("raised", "does-not-compile")),
        Mutant("grid-swapped",
            '{M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N -> N, tile["BLOCK_N"]), triton.cdiv(M, tile["BLOCK_M}'),
        Mutant("grid-with-sizes-swapped",
            '{BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N -> BLOCK_N"]), triton.cdiv(N, tile["BLOCK_M}'),
        Mutant("grid-rounds-down",
            '{triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]) -> M // tile["BLOCK_M"], N // '
            'tile["BLOCK_N"]}',
            seen="unwritten-tail"),
        Mutant("grid-one-too-many",
            '{triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]) -> M // tile["BLOCK_M"] + 1, N // '
            'tile["BLOCK_N"] + 1}',
            seen="too-many-programs"),
        Mutant("grid-of-elements", '{triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]) -> M, N}',
            seen="too-many-programs"),
        Mutant("grid-of-one-dimension", '{, triton.cdiv(N, tile["BLOCK_N"]) ->  * triton.cdiv(N, tile["BLOCK_N"]),}',
            says="Only the first column of tiles was computed: every `pid_n` is 0. The grid needs a second number, "
                "that of the tiles along N."),
        Mutant("grid-of-one-number", '{, triton.cdiv(N, tile["BLOCK_N"]) -> }', seen="raised"),
        Mutant("float32-result", " dtype={a.dtype -> torch.float32}", seen="wrong-dtype"),
        Mutant("takes-any-shapes", "{    require_product(a, b)\n -> }", seen="should-raise"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            replace="def matmul(a, b, tile=None):\n    require_product(a, b)\n    return a @ b\n"),
        Mutant("torch-after-all", "return {c -> torch.mm(a, b)}", seen="torch-compute"),
        Mutant("copies-its-inputs", "{ -> a = a + 0\n    }(M, K), N = a.", seen="torch-compute"),
    ],
}

VARIANTS = {
    "matmul_whole": [
        Variant("dot-added-afterwards", "{= tl.dot(a, b, acc -> += tl.dot(a, b}"),
        Variant("counts-steps", "{_ in range(0, K, -> step in range(K //}"),
        Variant("addresses-from-k", "for {_ -> k} in range", "tl.load(a_ptrs{ ->  + k})",
            "tl.load(b_ptrs{ ->  + k * N})", "{        a_ptrs += BLOCK_K\n        b_ptrs += BLOCK_K * N\n -> }"),
        Variant("while-loop", "{for _ in range(0, K, BLOCK_K): -> k = 0\n    while k < K:\n        k += BLOCK_K}"),
        Variant("loads-with-masks", "tl.load(a_ptrs{ -> , mask=offs_k[None, :] < K, other=0.0})"),
        Variant("cast-at-the-end", "= BLOCK_K * N\n{ ->     acc = acc.to(c_ptr.dtype.element_ty)\n}"),
    ],
    "matmul": [
        Variant("own-tile", "{matmul_tile(a.dtype, stages=4 -> dict(BLOCK_M=32, BLOCK_N=32, BLOCK_K=16}",
            'tile["BLOCK_N"])){ ->   # as given}'),
        Variant("counts-steps", "{k in range(0, K, BLOCK_K -> step in range(0, tl.cdiv(K, BLOCK_K)}",
            "offs_k < K - {k -> step * BLOCK_K}"),
        Variant("mask-from-k", "{offs_k < K - k -> k + offs_k < K}"),
        Variant("dot-added-afterwards", "{= tl.dot(a, b, acc -> += tl.dot(a, b}"),
        Variant("addresses-from-k",
            "{        a_ptrs += BLOCK_K * stride_ak\n        b_ptrs += BLOCK_K * stride_bk\n -> }",
            "tl.load(a_ptrs{ ->  + k * stride_ak},", "tl.load(b_ptrs{ ->  + k * stride_bk},"),
        Variant("rows-wrap-around", "a_ptr + {offs_m -> (offs_m % M)}[:,", "{mask_m[:, None] & mask_k -> mask_k}"),
        Variant("cast-before-the-store", "c_ptrs, acc{ -> .to(c_ptr.dtype.element_ty)}, mask"),
        Variant("grid-as-a-function",
            '{(triton.cdiv(M, tile["BLOCK_M"]), triton.cdiv(N, tile -> lambda meta: (triton.cdiv(M, '
            'meta["BLOCK_M"]), triton.cdiv(N, meta}'),
        Variant("masks-compared-in-place",
            "{mask_m[:, None] & mask_k[None, :] -> (offs_m[:, None] < M) & (offs_k[None, :] < K - k)}"),
        Variant("zeros-by-where", "mask_k[None, :]{, other= -> )\n        a = tl.where(mask_k[None, :], a, }0.0)"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "matmul_whole": {
        "for _ in range(0, K, BLOCK_K): => for _ in range(1, K, BLOCK_K):": "as many steps: K is a multiple of BLOCK_K, and nobody asks for the value",
    },
    "matmul": {
        "c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn => c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :]": "the wrapper makes a contiguous result: its last stride is 1",
        "a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=0.0) => a = tl.load(a_ptrs, mask=mask_m[:, None] & mask_k[None, :], other=1.0)": "0 on one side is enough: 1 times 0",
        "b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=0.0) => b = tl.load(b_ptrs, mask=mask_k[:, None] & mask_n[None, :], other=1.0)": "0 on one side is enough: 1 times 0",
    },
}
