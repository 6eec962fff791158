"""Mistakes of 93_profile_hard with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("mended-and-wrongly-named", "no-tensor-cores-named", "as-it-came-and-named")

WARPS = "num_warps = max(1, min(16, BLOCK_N // 1024))"
# The tiles below the diagonal have no loop of their own.
NO_FULL_TILES = (
    "    for k in range(0, first, BLOCK_K):  # all of it lies below the diagonal\n"
    "        offs_k = k + tl.arange(0, BLOCK_K)\n"
    "        a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=offs_t < T, other=0.0)\n"
    "        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=offs_n < N, other=0.0)\n"
    "        acc = tl.dot(a, b, acc)\n",
    "",
)


IN_FLOAT32 = (
    "{acc = tl.dot(a, b, acc -> a, b = a.to(tl.float32), b.to(tl.float32)\n"
    '        acc = tl.dot(a, b, acc, input_precision="ieee"}'
)

A_FLOAT64 = "{0.7978845608028654 -> tl.full((1,), 0.7978845608028654, dtype=tl.float64)}"

BY_SUMS = "{= tl.dot(a, b, acc -> += tl.sum(a[:, :, None].to(tl.float32) * b[None, :, :].to(tl.float32), axis=1}"

# Sentences that several mistakes share.
SAYS = {
    "padding-counts":
        "Lanes past the end take part in the sum, with the score 0 or another that is not far below the others.",
    "last-tile-only": "Only the last tile along K is in the product: is acc kept from turn to turn?",
    "half-constant": "The constant is in half precision now: three digits are too few for float32.",
    "diagonal-s-tile-alone":
        "Only the tile on the diagonal is in the sum. The full tiles before it are left out, or what they gave is "
        "thrown away.",
    "diagonal-s-tile-twice":
        "The tile on the diagonal is in the sum twice, and once without its mask. Where does the first loop end?",
}

MUTANTS = {
    "softmax_wide": [
        Mutant("as-it-came-and-named", "{max(1, min(16, BLOCK_N // 1024)) -> 1}", seen="slow"),
        Mutant("as-it-came-and-wrongly-named", "{max(1, min(16, BLOCK_N // 1024)) -> 1}",
            'return "{spills -> few programs}', seen="slow"),
        Mutant("mended-and-not-named",
            '{return "spills" -> raise NotImplementedError("TODO: fill in softmax_wide_cause")}', seen="not-attempted"),
        Mutant("mended-and-wrongly-named", 'return "{spills -> repeated loads}', seen="property"),
        Mutant("a-name-of-no-table", 'return "{spills -> registers}', seen="property"),
        Mutant("two-warps", "{max(1, min(16, BLOCK_N // 1024)) -> 2}", seen="slow"),
        Mutant("another-number-of-stages", "{max(1, min(16, BLOCK_N // 1024)) -> 1}",
            "num_warps=num_warps{ -> , num_stages=1})", seen="slow"),
        Mutant("kept-in-half", "{max(1, min(16, BLOCK_N // 1024)) -> 1}", "max(x, axis=0)){ -> .to(tl.float16)}",
            ", p{ / tl.sum(p -> .to(tl.float32) / tl.sum(p.to(tl.float32)}", seen=("slow", "wrong-values")),
        Mutant("loaded-twice-with-one-warp", "{max(1, min(16, BLOCK_N // 1024)) -> 1}",
            "max(x, axis=0)){ -> \n"
            "    p = tl.exp(tl.load(x_ptr + row + offs_n, mask=mask_n, other=float('-inf')).to(tl.float32) - "
            "tl.max(x, axis=0))}",
            seen="slow"),
        Mutant("half-as-many-warps-where-it-is-wide", "{max(1, min(16, BLOCK_N // 1024)) -> 4 if N < 8192 else 2}",
            seen="slow"),
        Mutant("a-smaller-tile-alone",
            "{num_warps = max(1, min(16, BLOCK_N // 1024)) -> BLOCK_N, num_warps = min(BLOCK_N, 1024), 4}",
            seen=("unwritten", "unwritten-tail", "wrong-values", "wrong-tail")),
        Mutant("no-maximum", "{ - tl.max(x, axis=0) -> }",
            says="The maximum is not subtracted: exponentials of large numbers overflow.",
            seen=("overflow", "nan", "wrong-values")),
        Mutant("not-divided", "{ / tl.sum(p, axis=0) -> }", says="The exponentials are not divided by their sum."),
        Mutant("padding-of-0", '={float("-inf") -> 0.0}', says="padding-counts", seen=("wrong-values", "off-by-row")),
        Mutant("no-limit", '{    if N > 16384:\n        raise ValueError("a row has at most 16,384 columns")\n -> }',
            seen="should-raise"),
        Mutant("by-torch", "{y = torch … return y -> return x.softmax(-1)}",
            seen=("no-kernel-launched", "torch-compute")),
        Mutant("no-power-of-two", "{BLOCK_N // 1024 -> triton.cdiv(N, 1024)}", seen=("raised", "does-not-compile")),
        Mutant("warps-set-and-not-given", "{max(1, min(16, BLOCK_N // 1024)) -> 16}", "num_warps={num_warps -> 1}",
            seen="slow"),
        Mutant("few-registers-by-decree", "{max(1, min(16, BLOCK_N // 1024)) -> 1}",
            "num_warps=num_warps{ -> , maxnreg=255})", seen="slow"),
        Mutant("exponentials-computed-again", "{max(1, min(16, BLOCK_N // 1024)) -> 1}",
            "{tl.store(y_ptr + row + offs_n, p / tl.sum(p, axis=0) -> total = tl.sum(p, axis=0)\n"
            "    tl.store(y_ptr + row + offs_n, tl.exp(x - tl.max(x, axis=0)) / total}",
            seen="slow"),
        Mutant("warps-by-the-rows", "{max(1, min(16, BLOCK_N // 1024)) -> 4 if M > 4 else 1}", seen="slow"),
        Mutant("behind-the-largest-row", "{max(1, min(16, BLOCK_N // 1024)) -> 16 if N > 16384 else 1}", seen="slow"),
        Mutant("divided-by-the-sum-of-x", " p / tl.sum({p -> x},", seen="off-by-row"),
        Mutant("wide-rows-refused", "if N > {16384 -> 8192}:", seen="raised"),
        Mutant("few-programs-named", 'return "{spills -> few programs}', seen="property"),
    ],
    "half_matmul": [
        Mutant("as-it-came-and-named", IN_FLOAT32, seen=("float32-product", "slow")),
        Mutant("as-it-came-and-wrongly-named", IN_FLOAT32, "{no tensor cores -> spills}",
            seen=("float32-product", "slow")),
        Mutant("mended-and-not-named",
            '{return "no tensor cores" -> raise NotImplementedError("TODO: fill in half_matmul_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", "{no tensor cores -> repeated loads}", seen="property"),
        Mutant("tf32-by-default", "a{cc -> , b = a.to(tl.float32), b.to(tl.float32)\n        acc} = tl.dot(a",
            seen=("float32-product", "slow")),
        Mutant("three-times-tf32",
            "{acc = tl.dot(a, b, acc -> a, b = a.to(tl.float32), b.to(tl.float32)\n"
            '        acc = tl.dot(a, b, acc, input_precision="tf32x3"}',
            seen=("float32-product", "slow")),
        Mutant("smaller-tiles", IN_FLOAT32, "(a, b, tile={64 -> 32}", seen=("float32-product", "slow")),
        Mutant("more-warps", IN_FLOAT32, "tile, BLOCK_K=32{ -> , num_warps=8}", seen=("float32-product", "slow")),
        Mutant("sums-of-products", BY_SUMS, "(a, b, tile={64 -> 16}", "{tile, BLOCK_N=tile -> 16, BLOCK_N=16}",
            "{tile), triton.cdiv(N, tile -> 16), triton.cdiv(N, 16}", seen="slow"),
        Mutant("one-cast-alone", "acc = tl.dot(a{ -> .to(tl.float32)}, ", seen=("does-not-compile", "raised")),
        Mutant("acc-forgotten", ".dot(a, b{, acc -> }", says="last-tile-only", seen="wrong-values"),
        Mutant("acc-in-half", "dot(a, b, acc{ -> .to(tl.float16), out_dtype=tl.float16).to(tl.float32})",
            seen=("does-not-compile", "wrong-values", "raised")),
        Mutant("no-mask-along-k", "{(offs_m < M) & (offs_k < K)[None, :] -> offs_m < M}",
            seen=("reads-outside", "wrong-values")),
        Mutant("result-in-float32", " dtype={a.dtype -> torch.float32}", seen="wrong-dtype"),
        Mutant("no-mask-at-the-store", "{, mask=(offs_m < M) & (offs_n < N) -> }", seen="out-of-bounds-store"),
        Mutant("by-torch", "{(M, K), N … return c -> return a @ b}", seen=("no-kernel-launched", "torch-compute")),
        Mutant("float16-tiles", " tl.dot(a{, b -> .to(tl.float16), b.to(tl.float16)}, ",
            says="The tiles were made float16, and bfloat16 reaches further. Multiply them as they are.",
            seen=("nan", "overflow", "wrong-values")),
        Mutant("bfloat16-tiles", " tl.dot(a{, b -> .to(tl.bfloat16), b.to(tl.bfloat16)}, ",
            says="The tiles were made bfloat16, and float16 has three more binary digits. Multiply them as they are.",
            seen="wrong-values"),
        Mutant("cast-by-the-wrapper", "{ ->     a, b = a.float(), b.float()\n}    half_matmul_kernel",
            seen=("torch-compute", "float32-product", "slow")),
        Mutant("operands-swapped", "= tl.dot({a, b -> b, a},", seen=("wrong-values", "does-not-compile", "raised")),
        Mutant("product-in-half", "{= tl.dot(a, b, acc -> += tl.dot(a, b, out_dtype=tl.float16}", seen="wrong-values"),
        Mutant("summed-by-hand", BY_SUMS, seen="slow"),
        Mutant("one-tile-cast", ".dot(a, b{ -> .to(tl.float32)}, acc", seen=("does-not-compile", "raised")),
        Mutant("both-tiles-cast", " tl.dot(a{, b -> .to(tl.float32), b.to(tl.float32)}, ", seen="float32-product",
            on_gpu=("slow",)),
        Mutant("acc-rounded-each-turn", "dot(a, b, acc){ -> .to(a_ptr.dtype.element_ty).to(tl.float32)}",
            seen="wrong-values"),
        Mutant("one-column-too-many", " (offs_k <{ -> =} K)[None", seen="reads-outside", only="interpreter"),
        Mutant("rows-of-k-columns", ", None] * {N -> K} + ", seen="reads-outside", only="interpreter"),
        Mutant("float64-named", "{no tensor cores -> float64}", seen="property"),
    ],
    "gelu_digits": [
        Mutant("as-it-came-and-named", A_FLOAT64, seen="slow"),
        Mutant("as-it-came-and-wrongly-named", A_FLOAT64, 'return "{float64 -> spills}', seen="slow"),
        Mutant("mended-and-not-named",
            '{return "float64" -> raise NotImplementedError("TODO: fill in gelu_digits_cause")}', seen="not-attempted"),
        Mutant("mended-and-wrongly-named", 'return "{float64 -> uncoalesced}', seen="property"),
        Mutant("cast-behind-u", A_FLOAT64, "044715 * x * x * x){ -> \n    u = u.to(tl.float32)}", seen="slow"),
        Mutant("cast-at-the-store", A_FLOAT64, " offs, y{ -> .to(tl.float32)}, mask", seen="slow"),
        Mutant("other-number-first", "x + {0.044715 -> tl.full((1,), 0.044715, dtype=tl.float64)} *", seen="slow"),
        Mutant("x-in-float64", ".to(tl.{float32 -> float64}", seen="slow"),
        Mutant("another-block", A_FLOAT64, "(x, block={1024 -> 512}", seen="slow"),
        Mutant("exponential-alone", "tl.exp(-2 * u{) -> .to(tl.float64))).to(tl.float32})", seen="slow"),
        Mutant("half-constant",
            "{0.7978845608028654 -> tl.full((1,), 0.7978845608028654, dtype=tl.float16).to(tl.float32)}",
            says="half-constant", seen="wrong-values"),
        Mutant("bfloat16-constant",
            "{0.7978845608028654 -> tl.full((1,), 0.7978845608028654, dtype=tl.bfloat16).to(tl.float32)}",
            says="The constant is in bfloat16 now: two digits are too few.", seen="wrong-values"),
        Mutant("rounded", "{7978845608028654 -> 8}",
            says="The constant was rounded to 0.8. Float32 holds seven digits of it."),
        Mutant("two-over-pi", "{7978845608028654 -> 6366197723675814}",
            says="The constant is 2 / pi. Its root belongs there."),
        Mutant("quick", " tl.exp(-{2 * u -> 1.702 * x}",
            says="This is the short formula, x * sigmoid(1.702 x). The contract has the one with tanh."),
        Mutant("square-for-cube", "044715 * x * x{ * x -> }", seen="wrong-values"),
        Mutant("no-mask-at-the-store", ", y{, mask=mask -> }", seen="out-of-bounds-store"),
        Mutant("by-torch", "{y, n = torch … return y -> return torch.nn.functional.gelu(x, approximate='tanh')}",
            seen=("no-kernel-launched", "torch-compute")),
        Mutant("a-table-of-float64", "{0.7978845608028654 -> tl.load(root_ptr)}", "x_ptr, y_ptr, { -> root_ptr, }n,",
            "block),)](x, y, { -> torch.full((1,), 0.7978845608028654, dtype=torch.float64, device=x.device), }n,",
            seen="slow"),
        Mutant("half-because-x-may-be", "{0.7978845608028654 -> tl.full((1,), 0.7978845608028654, dtype=tl.float16)}",
            says="half-constant", seen=("bfloat16-constant", "wrong-values")),
        Mutant("sign-of-the-exponent", "1 + tl.exp({- -> }2 ",
            says="The sign of the exponent is turned round: what is far above 0 became 0, and what is far below it "
                "stayed."),
        Mutant("half-the-exponent", "+ tl.exp(-{2 *  -> }", says="The exponent has half its size: it is -2 u."),
        Mutant("cube-in-float64", "{0.044715 * x * x * x -> (0.044715 * x.to(tl.float64) * x * x).to(tl.float32)}",
            seen="slow"),
        Mutant("u-in-float64", "044715 * x * x * x){ -> \n    u = u.to(tl.float64)}", seen="slow"),
        Mutant("divisor-in-float64", "tl.exp(-2 * u)){ -> .to(tl.float64)}", seen="slow"),
        Mutant("a-tile-of-float64", "{0.7978845608028654 -> tl.full((BLOCK,), 0.7978845608028654, dtype=tl.float64)}",
            seen="slow"),
        Mutant("erf", "{x / (1 + tl.exp(-2 * u -> 0.5 * x * (1 + tl.erf(x * 0.7071067811865476}",
            says="This is GELU by its formula with erf. The contract has the one with tanh."),
        Mutant("four-digits", "{7978845608028654 -> 7978}", seen=("wrong-values", "wrong-by-value")),
        Mutant("ten-times-the-cube", "x + 0.{044715 -> 44715} *",
            says="The factor of the cube is 0.44715 here. It is 0.044715."),
        Mutant("no-cube", "{(x + 0.044715 * x * x * x) -> x}",
            says="The cube is missing: u is more than a multiple of x."),
        Mutant("root-of-half-pi", "{0.7978845608028654 -> 1.2533141373155}", seen="wrong-values"),
        Mutant("many-launches-named", 'return "{float64 -> many launches}', seen="property"),
    ],
    "lower_matmul": [
        Mutant("as-it-came-and-named", NO_FULL_TILES, "{first, tl.minimum(first + BLOCK_T, T) -> 0, T}", seen="slow"),
        Mutant("as-it-came-and-wrongly-named", NO_FULL_TILES,
            "{first, tl.minimum(first + BLOCK_T, T) -> 0, T}", 'return "{masked loop -> repeated loads}', seen="slow"),
        Mutant("mended-and-not-named",
            '{return "masked loop" -> raise NotImplementedError("TODO: fill in lower_matmul_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", 'return "{masked loop -> uncoalesced}', seen="property"),
        Mutant("ends-earlier-and-keeps-its-mask", NO_FULL_TILES, ", end = {first -> 0},", seen="slow"),
        Mutant("masked-behind-the-load-and-goes-on", NO_FULL_TILES,
            "{first, tl.minimum(first + BLOCK_T, T) -> 0, T}", "{[None, :] <= offs_t) ->  < T)[None, :]}",
            "a{cc ->  = tl.where(offs_k[None, :] <= offs_t, a, 0.0)\n        acc} = tl.dot(a", seen="slow",
            only="interpreter"),
        Mutant("loads-of-b-masked-too", NO_FULL_TILES, "{first, tl.minimum(first + BLOCK_T, T) -> 0, T}",
            " (offs_k < {T -> tl.minimum(first + BLOCK_T, T)})[", seen="slow"),
        Mutant("result-of-the-product-masked", NO_FULL_TILES, "{first, tl.minimum(first + BLOCK_T, T) -> 0, T}",
            "{= tl.dot(a, b, acc -> += tl.where(k < first + BLOCK_T, tl.dot(a, b), 0.0}", seen="slow"),
        Mutant("larger-steps",
            NO_FULL_TILES, "{first, tl.minimum(first + BLOCK_T, T) -> 0, T}", "={min(tile, 32) -> tile}", seen="slow"),
        Mutant("end-of-all-rows-rounded",
            NO_FULL_TILES, "{first, tl.minimum(first + BLOCK_T, T) -> 0, tl.cdiv(T, BLOCK_T) * BLOCK_T}", seen="slow"),
        Mutant("a-little-earlier", NO_FULL_TILES,
            "{first, tl.minimum(first + BLOCK_T -> 0, tl.minimum(first + BLOCK_T + T // 2}", seen="slow"),
        Mutant("two-loops-with-the-same-mask", "mask={offs_t < T -> (offs_t < T) & (offs_k[None, :] <= offs_t)}",
            seen="slow"),
        Mutant("full-tiles-twice", ", end = {first -> 0},",
            says="The full tiles are in the sum twice. Where does the second loop begin?"),
        Mutant("second-loop-goes-to-the-end", "{tl.minimum(first + BLOCK_T, T) -> T}", seen="slow", only="interpreter"),
        Mutant("tiles-before", "{tl.minimum(first + BLOCK_T, T) -> first}",
            says="The loop ends before the tile on the diagonal: its rows are left out.",
            seen=("wrong-values", "zeros")),
        Mutant("full-tiles-left-out", NO_FULL_TILES, says="diagonal-s-tile-alone"),
        Mutant("full-tiles-up-to-the-end-of-the-tile", "range(0, first{ ->  + BLOCK_T}, ", says="diagonal-s-tile-twice"),
        Mutant("full-product", "{[None, :] <= offs_t) ->  < T)[None, :]}",
            says="This is the full product: what lies above the diagonal counts. The mask has to stay.",
            seen=("wrong-values", "reads-outside")),
        Mutant("diagonal-left-out", ", :] <{= -> } offs_t",
            says="The diagonal is left out: row t takes part in its own sum."),
        Mutant("upper", ", :] {<= offs_t -> >= offs_t) & (offs_k[None, :] < T}",
            NO_FULL_TILES, "{first, tl.minimum(first + BLOCK_T, T) -> 0, T}",
            says="These are the rows from t on. The sum goes up to t.", seen=("wrong-values", "reads-outside")),
        Mutant("end-by-the-program", "{minimum(first + BLOCK_T, T) -> program_id(axis=0) + 1}",
            seen=("wrong-values", "wrong-tail", "tiles-before")),
        Mutant("end-by-columns", "first + {BLOCK_T, T -> BLOCK_K // 2, first}",
            seen=("wrong-values", "tiles-before", "wrong-tail")),
        Mutant("rows-of-a-full-tile-unmasked", "{, mask=offs_t < T, other=0.0 -> }",
            seen=("reads-outside", "wrong-values"), only="interpreter"),
        Mutant("by-torch", "{T, N = b.shape … return c -> return a.tril() @ b}",
            seen=("no-kernel-launched", "torch-compute")),
        Mutant("full-tiles-one-too-few", "range(0, first{ ->  - BLOCK_K}, ",
            seen=("wrong-values", "wrong-tail", "tiles-before")),
        Mutant("diagonal-twice", "range(0, first{ ->  + BLOCK_K}, ", says="diagonal-s-tile-twice"),
        Mutant("by-columns-of-the-program", "{first + BLOCK_T -> (tl.program_id(axis=1) + 1) * BLOCK_N}",
            seen=("wrong-values", "wrong-tail", "tiles-before", "slow")),
        Mutant("acc-begins-again", " + BLOCK_T, T){ -> \n    acc = tl.zeros((BLOCK_T, BLOCK_N), dtype=tl.float32)}",
            says="diagonal-s-tile-alone"),
        Mutant("half-of-the-full-tiles", "range(0, first{ ->  // 2}, ", seen="wrong-tail"),
        Mutant("first-tile-left-out", "k in range({0 -> BLOCK_K}, ", seen="wrong-tail"),
        Mutant("rows-of-a-tile-alike", " :] <= {offs_t -> first})",
            says="All rows of a tile sum up to the tile's first row. Each sums up to itself."),
        Mutant("one-masked-loop-to-the-end", "range(0, {first -> 0},",
            "{first, tl.minimum(first + BLOCK_T, T) -> 0, T}", seen="slow"),
        Mutant("one-step-on-the-diagonal", "first + {BLOCK_T -> BLOCK_K},",
            says="The second loop takes one step of BLOCK_K. The tile on the diagonal is BLOCK_T long."),
        Mutant("rows-of-b-unmasked", "{(offs_k < T)[:, None] & (offs_n < N) -> offs_n < N}", seen="reads-outside",
            only="interpreter"),
        Mutant("masked-weights-of-1", "mask_a, other={0 -> 1}.0)", seen="wrong-values"),
        Mutant("acc-times-0", " + BLOCK_T, T){ -> \n    acc *= 0}", says="diagonal-s-tile-alone"),
        Mutant("no-tensor-cores-named", 'return "{masked loop -> no tensor cores}', seen="property"),
    ],
}

VARIANTS = {
    "softmax_wide": [
        Variant("always-16", "{max(1, min(16, BLOCK_N // 1024)) -> 16}"),
        Variant("always-8", "{max(1, min(16, BLOCK_N // 1024)) -> 8}"),
        Variant("four-where-it-is-narrow", "{max(1, min(16, BLOCK_N // 1024)) -> 4 if BLOCK_N <= 4096 else 16}"),
        Variant("by-the-columns",
            "{max(1, min(16, BLOCK_N // 1024) -> min(max(triton.next_power_of_2(N) // 512, 1), 16}"),
        Variant("a-loop-over-pieces", "{BLOCK_N = … =num_warps -> softmax_wide_kernel[(M,)](x, y, N, BLOCK_N=2048}",
            kernels='''
@triton.jit
def softmax_wide_kernel(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(axis=0).to(tl.int64) * N
    m, l = float('-inf'), 0.0
    for start in range(0, N, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row + offs, mask=offs < N, other=float('-inf')).to(tl.float32)
        new = tl.maximum(m, tl.max(x, axis=0))
        l = l * tl.exp(m - new) + tl.sum(tl.exp(x - new), axis=0)
        m = new
    for start in range(0, N, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row + offs, mask=offs < N, other=float('-inf')).to(tl.float32)
        tl.store(y_ptr + row + offs, tl.exp(x - m) / l, mask=offs < N)
'''),
        Variant("always-4", "{max(1, min(16, BLOCK_N // 1024)) -> 4}"),
        Variant("always-32", "{max(1, min(16, BLOCK_N // 1024)) -> 32}"),
        Variant("three-sizes",
            "{num_warps = max(1, min(16, BLOCK_N // 1024)) -> if N <= 1024:\n"
            "        num_warps = 2\n"
            "    elif N <= 4096:\n"
            "        num_warps = 4\n"
            "    else:\n"
            "        num_warps = 16}"),
        Variant("16-numbers-a-thread", "{1, min(16, BLOCK_N // 1024 -> 4, min(32, BLOCK_N // 512}"),
        Variant("times-the-inverse", "{/ tl.sum(p, axis=0 -> * (1 / tl.sum(p, axis=0)}"),
        Variant("powers-of-two", "{exp(x - tl.max(x, axis=0) -> exp2((x - tl.max(x, axis=0)) * 1.4426950408889634}"),
        Variant("loaded-twice-with-8-warps", "{max(1, min(16, BLOCK_N // 1024)) -> 8}",
            "max(x, axis=0)){ -> \n"
            "    p = tl.exp(tl.load(x_ptr + row + offs_n, mask=mask_n, other=float('-inf')).to(tl.float32) - "
            "tl.max(x, axis=0))}"),
        Variant("three-walks-over-pieces",
            "{BLOCK_N = … =num_warps -> softmax_wide_kernel[(M,)](x, y, N, BLOCK_N=4096, num_warps=8}", kernels='''
@triton.jit
def softmax_wide_kernel(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(axis=0).to(tl.int64) * N
    offs_n = tl.arange(0, BLOCK_N)
    m, l = float('-inf'), 0.0
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + row + start + offs_n, mask=start + offs_n < N, other=float('-inf')).to(tl.float32)
        m = tl.maximum(m, tl.max(x, axis=0))
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + row + start + offs_n, mask=start + offs_n < N, other=float('-inf')).to(tl.float32)
        l += tl.sum(tl.exp(x - m), axis=0)
    for start in range(0, N, BLOCK_N):
        x = tl.load(x_ptr + row + start + offs_n, mask=start + offs_n < N, other=float('-inf')).to(tl.float32)
        tl.store(y_ptr + row + start + offs_n, tl.exp(x - m) / l, mask=start + offs_n < N)
'''),
        Variant("two-tiles-of-half-a-row",
            "{BLOCK_N = … =num_warps -> half = max(triton.next_power_of_2(N) // 2, 1)\n"
            "    softmax_wide_kernel[(M,)](x, y, N, HALF=half, num_warps=8}", kernels='''
@triton.jit
def softmax_wide_kernel(x_ptr, y_ptr, N, HALF: tl.constexpr):
    row = tl.program_id(axis=0).to(tl.int64) * N
    one = tl.arange(0, HALF)
    two = HALF + tl.arange(0, HALF)
    a = tl.load(x_ptr + row + one, mask=one < N, other=float("-inf")).to(tl.float32)
    b = tl.load(x_ptr + row + two, mask=two < N, other=float("-inf")).to(tl.float32)
    top = tl.maximum(tl.max(a, axis=0), tl.max(b, axis=0))
    a, b = tl.exp(a - top), tl.exp(b - top)
    total = tl.sum(a, axis=0) + tl.sum(b, axis=0)
    tl.store(y_ptr + row + one, a / total, mask=one < N)
    tl.store(y_ptr + row + two, b / total, mask=two < N)
'''),
        Variant("a-row-as-a-matrix",
            "{BLOCK_N = … =num_warps -> rows = triton.cdiv(triton.next_power_of_2(N), 512)\n"
            "    softmax_wide_kernel[(M,)](x, y, N, ROWS=rows, COLS=512, num_warps=16}", kernels='''
@triton.jit
def softmax_wide_kernel(x_ptr, y_ptr, N, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(axis=0).to(tl.int64) * N
    offs = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    x = tl.load(x_ptr + row + offs, mask=offs < N, other=float("-inf")).to(tl.float32)
    p = tl.exp(x - tl.max(tl.max(x, axis=1), axis=0))
    tl.store(y_ptr + row + offs, p / tl.sum(tl.sum(p, axis=1), axis=0), mask=offs < N)
'''),
        Variant("a-table-of-warps",
            "{max(1, min(16, BLOCK_N // 1024)) -> {16384: 16, 8192: 8, 4096: 8}.get(BLOCK_N, 4)}"),
        Variant("doubled-until-it-fits",
            "{max(1, min(16, BLOCK_N // 1024)) -> 4\n"
            "    while BLOCK_N // (32 * num_warps) > 64 and num_warps < 32:\n"
            "        num_warps *= 2}"),
    ],
    "half_matmul": [
        Variant("added-outside", "{= tl.dot(a, b, acc -> += tl.dot(a, b}"),
        Variant("precision-named", 'dot(a, b, acc{ -> , input_precision="ieee"})'),
        Variant("cast-back-first", "acc = tl.dot(a{ -> .to(tl.float32).to(a_ptr.dtype.element_ty)}, "),
        Variant("eight-warps", "tile, BLOCK_K=32{ -> , num_warps=8}"),
        Variant("deeper-tiles", "tile, BLOCK_K={32 -> 64}"),
        Variant("tf32-named-for-halves", 'dot(a, b, acc{ -> , input_precision="tf32"})'),
        Variant("result-by-name", "dot(a, b, acc{ -> , out_dtype=tl.float32})"),
        Variant("acc-by-name", "dot(a, b, acc{ -> =acc})"),
        Variant("cast-at-the-store", "+ offs_n, acc{ -> .to(c_ptr.dtype.element_ty)},"),
        Variant("four-stages", "tile, BLOCK_K=32{ -> , num_stages=4}"),
        Variant("tiles-of-128", "(a, b, tile={64 -> 128}", "tile, BLOCK_K=32{ -> , num_warps=8}"),
        Variant("steps-counted",
            "{k in range(0, K, BLOCK_K): -> step in range(tl.cdiv(K, BLOCK_K)):\n        k = step * BLOCK_K}"),
        Variant("columns-on-the-first-axis", "program_id(axis={0 -> 1})", ".program_id(axis={1 -> 0}) * BLOCK_N",
            "{M, tile), triton.cdiv(N -> N, tile), triton.cdiv(M}"),
        Variant("product-turned-round", "{= tl.dot(a, b, acc -> += tl.trans(tl.dot(tl.trans(b), tl.trans(a))}"),
        Variant("one-axis-of-programs",
            "{offs_m = tl.program_id(axis=0) -> tiles_n = tl.cdiv(N, BLOCK_N)\n"
            "    offs_m = tl.program_id(axis=0) // tiles_n}",
            "program_id(axis={1) -> 0) % tiles_n}", "{, triton.cdiv(N, tile) ->  * triton.cdiv(N, tile),}"),
        Variant("no-tf32-by-its-old-name", "dot(a, b, acc{ -> , allow_tf32=False})"),
    ],
    "gelu_digits": [
        Variant("float32-by-name", "{0.7978845608028654 -> tl.full((1,), 0.7978845608028654, dtype=tl.float32)}"),
        Variant("cast-at-once", "root{ -> : tl.constexpr} = 0.7978845608028654"),
        Variant("in-the-formula", "{root = 0.7978845608028654 -> }", "u = {root -> 0.7978845608028654} * (x "),
        Variant("fewer-digits", "{7978845608028654 -> 7978846}"),
        Variant("root-of-it", "{0.7978845608028654 -> tl.sqrt(tl.full((1,), 0.6366197723675814, dtype=tl.float32))}"),
        Variant("float64-and-cast-at-once",
            "{0.7978845608028654 -> tl.full((1,), 0.7978845608028654, dtype=tl.float64)\n"
            "    root = root.to(tl.float32)}"),
        Variant("an-argument", "{root = 0.7978845608028654 -> }", "y_ptr, n, { -> root, }BLOCK:",
            ", y, n, { -> (2 / torch.pi) ** 0.5, }BLOCK="),
        Variant("a-constant-of-the-kernel", "{root = 0.7978845608028654 -> }",
            "y_ptr, n, { -> root: tl.constexpr, }BLOCK:", ", y, n, { -> (2 / torch.pi) ** 0.5, }BLOCK="),
        Variant("by-sigmoid", "{/ (1 + tl.exp(-2 * u) -> * tl.sigmoid(2 * u}"),
        Variant("by-powers-of-two", "(1 + tl.{exp(-2 -> exp2(-2.8853900817779268}"),
        Variant("x-taken-out", "{(x + 0.044715 * x -> x * (1 + 0.044715}"),
        Variant("a-tile-of-float32", "{0.7978845608028654 -> tl.full((BLOCK,), 0.7978845608028654, dtype=tl.float32)}"),
        Variant("multiplied-out",
            "{root * (x + 0.044715 * x * x * x) -> 0.7978845608028654 * x + 0.035677408136300125 * x * x * x}",
            "{root = 0.7978845608028654 -> }"),
        Variant("tanh-written-out",
            "{y = x / (1 + tl.exp(-2 * u) -> t = 2 / (1 + tl.exp(-2 * u)) - 1\n    y = 0.5 * x * (1 + t}"),
        Variant("root-by-a-function", "{0.7978845608028654 -> root_of(2 / 3.141592653589793)}",
            "@triton.jit{ -> \n"
            "def root_of(value: tl.constexpr):\n"
            "    return tl.sqrt(value + tl.zeros((1,), tl.float32))\n"
            "\n"
            "\n"
            "@triton.jit}"),
        Variant("a-constant-of-the-page", "{root = 0.7978845608028654 -> }", "u = {root -> ROOT} * (x ",
            "{ -> ROOT = tl.constexpr(0.7978845608028654)\n\n\n}@triton.jit"),
        Variant("nested", "{root * (x + 0.044715 * x * x * x -> x * (root + 0.0356774081 * (x * x)}"),
        Variant("a-float32-in-memory", "{0.7978845608028654 -> tl.load(root_ptr)}", "x_ptr, y_ptr, { -> root_ptr, }n,",
            "block),)](x, y, { -> torch.full((1,), 0.7978845608028654, dtype=torch.float32, device=x.device), }n,"),
    ],
    "lower_matmul": [
        Variant("end-by-the-tile-s-number", "minimum({first + -> (tl.program_id(axis=0) + 1) *}"),
        Variant("masked-behind-the-load",
            NO_FULL_TILES, ", end = {first -> 0},", "{[None, :] <= offs_t) ->  < T)[None, :]}",
            "a{cc ->  = tl.where(offs_k[None, :] <= offs_t, a, 0.0)\n        acc} = tl.dot(a"),
        Variant("diagonal-masked-behind-the-load", "{[None, :] <= offs_t) ->  < T)[None, :]}",
            "mask_b, other=0.0)\n"
            "        a{cc ->  = tl.where(offs_k[None, :] <= offs_t, a, 0.0)\n"
            "        acc} = tl.dot(a, b, acc)"),
        Variant("asks-in-the-loop", NO_FULL_TILES,
            "{first, tl.minimum(first + BLOCK_T, T) -> 0, T}", "{[None, :] <= offs_t) ->  < T)[None, :]}",
            "a{cc ->  = tl.where(offs_k[None, :] <= offs_t, a, 0.0)\n"
            "        if k < first + BLOCK_T:\n"
            "            acc} = tl.dot(a"),
        Variant("diagonal-first", NO_FULL_TILES, " + BLOCK_T, T){ -> }",
            "dot(a, b, acc)\n"
            "{ ->     for k in range(0, first, BLOCK_K):  # all of it lies below the diagonal\n"
            "        offs_k = k + tl.arange(0, BLOCK_K)\n"
            "        a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=offs_t < T, other=0.0)\n"
            "        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=offs_n < N, other=0.0)\n"
            "        acc = tl.dot(a, b, acc)\n"
            "}"),
        Variant("tiles-of-32", "(a, b, tile={64 -> 32}"),
        Variant("full-tiles-counted",
            "{k in range(0 … diagonal -> step in range(0, first // BLOCK_K):\n"
            "        k = step * BLOCK_K}"),
        Variant("masks-of-a-full-product", "mask={offs_t < T -> (offs_t < T) & (offs_k < T)[None, :]}",
            "mask={offs_n < N -> (offs_k < T)[:, None] & (offs_n < N)}"),
        Variant("longest-first", "{tl.program_id(axis=0 -> (tl.num_programs(axis=0) - 1 - tl.program_id(axis=0)}"),
        Variant("compared-the-other-way", "{offs_k[None, :] <= offs_t -> offs_t >= offs_k[None, :]}"),
        Variant("eight-warps", "=min(tile, 32){ -> , num_warps=8}"),
        Variant("added-outside", "acc {= tl.dot(a, b, acc -> += tl.dot(a, b})\n    "),
        Variant("one-square-on-the-diagonal", "={min(tile, 32) -> tile}"),
        Variant("ends-without-a-minimum", "{tl.minimum(first + BLOCK_T, T) -> first + BLOCK_T}",
            "offs_k[None, :] <{ ->  T) & (offs_k[None, :] <}= "),
        Variant("one-loop-with-a-flag", replace='''
@triton.jit
def walk(acc, a_ptr, b_ptr, offs_t, offs_n, start, end, T, N, ON_DIAGONAL: tl.constexpr, BLOCK_K: tl.constexpr):
    for k in range(start, end, BLOCK_K):
        offs_k = k + tl.arange(0, BLOCK_K)
        if ON_DIAGONAL:
            mask_a = (offs_t < T) & (offs_k[None, :] <= offs_t)
        else:
            mask_a = offs_t < T
        a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=mask_a, other=0.0)
        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=(offs_k < T)[:, None] & (offs_n < N), other=0.0)
        acc = tl.dot(a, b, acc)
    return acc


@triton.jit
def lower_matmul_kernel(a_ptr, b_ptr, c_ptr, T, N, BLOCK_T: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    first = tl.program_id(axis=0) * BLOCK_T
    offs_t = first + tl.arange(0, BLOCK_T)[:, None]
    offs_n = tl.program_id(axis=1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    acc = tl.zeros((BLOCK_T, BLOCK_N), dtype=tl.float32)
    acc = walk(acc, a_ptr, b_ptr, offs_t, offs_n, 0, first, T, N, False, BLOCK_K)
    acc = walk(acc, a_ptr, b_ptr, offs_t, offs_n, first, tl.minimum(first + BLOCK_T, T), T, N, True, BLOCK_K)
    tl.store(c_ptr + offs_t * N + offs_n, acc, mask=(offs_t < T) & (offs_n < N))


def lower_matmul(a, b, tile=64):
    require_contiguous(a, b)
    T, N = b.shape
    c = torch.empty_like(b)
    lower_matmul_kernel[(triton.cdiv(T, tile), triton.cdiv(N, tile))](
        a, b, c, T, N, BLOCK_T=tile, BLOCK_N=tile, BLOCK_K=min(tile, 32)
    )
    return c
'''),
        Variant("columns-on-the-first-axis", "program_id(axis={0 -> 1})", ".program_id(axis={1 -> 0}) * BLOCK_N",
            "{T, tile), triton.cdiv(N -> N, tile), triton.cdiv(T}"),
        Variant("two-sums",
            " + BLOCK_T, T){ -> \n    below = acc\n    acc = tl.zeros((BLOCK_T, BLOCK_N), dtype=tl.float32)}",
            "+ offs_n, acc{ ->  + below},"),
        Variant("from-the-diagonal-down",
            "{k in range(0 … diagonal -> back in range(0, first, BLOCK_K):\n"
            "        k = first - BLOCK_K - back}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
IDLE = "a row of a or a column of b that is off makes one of c that is not stored"
ENOUGH = "other numbers of warps, and nothing spills with any of them"
EQUIVALENT = {
    "softmax_wide": {
        f"{WARPS} => {WARPS.replace(old, new)}": ENOUGH
        for old, new in (
            ("max(1", "max(2"),
            ("min(", "max("),
            ("16", "17"),
            (" // 1024", ""),
            ("BLOCK_N // 1024", "1024"),
            ("BLOCK_N // 1024", "triton.cdiv(BLOCK_N, 1024)"),
            ("1024", "1"),
        )
    },
    "lower_matmul": {
        "a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=offs_t < T, other=0.0) => a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=offs_t < T)": IDLE,
        "b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=offs_n < N, other=0.0) => b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=offs_n < N)": IDLE,
        "a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=offs_t < T, other=0.0) => a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=offs_t < T, other=1.0)": IDLE,
        "b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=offs_n < N, other=0.0) => b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=offs_n < N, other=1.0)": IDLE,
        "start, end = first, tl.minimum(first + BLOCK_T, T) => start, end = first, first + BLOCK_T": "the masks hold k to the rows that exist",
    },
}
