"""Mistakes of 04_softmax with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "not-divided not-normalised row-added-twice"
PROMISES = ("masked-lanes-are-zero", "block-of-1024", "three-walks")

# Sentences that several mistakes share.
SAYS = {
    "padding-too-high":
        "Masked lanes hold a number that is not below all of the row's, and wins the maximum. Give them minus "
        'infinity, `float("-inf")`.',
    "padding-counted":
        "Masked lanes took part as zeros. Which `other=` leaves a maximum and a sum of exponentials unchanged?",
    "maximum-not-subtracted":
        "0 was subtracted here, not the row's maximum, and the exponentials left float32. Is a maximum subtracted, and "
        "can a zero win it: a masked lane, or a start of 0?",
    "sum-in-half-precision": "The sum of exponentials was rounded to half precision. Sum in float32.",
    "starts-too-high":
        "`m_i` starts above all numbers of the row, and all exponentials are 0. Start it below what a row may hold, at "
        "-1e38.",
    "not-rescaled":
        "The sum of the earlier tiles was added as it is. Is `l_i` multiplied by exp(m_i - m_new), and is `m_i` still "
        "the old maximum in that line?",
    "rescaled-the-wrong-way":
        "Old and new sum do not belong to one maximum. The old sum is multiplied by exp(m_i - m_new), and the new "
        "tile's exponentials are taken from m_new.",
}

MUTANTS = {
    "softmax": [
        Mutant("never-above-0", "{x - tl.max(x, axis=0) -> tl.minimum(x - tl.max(x, axis=0), 0.0)}", seen="nan-lost"),
        Mutant("padding-at-minus-10000", '={float("-inf") -> -1e4}', says="padding-too-high"),
        Mutant("padding-at-minus-1e9", '={float("-inf") -> -1e9}', says="padding-too-high"),
        Mutant("columns-side-by-side", "offs_n{ * stride_xn -> }",
            seen=("strided-only", "reads-outside", "wrong-values", "out-of-bounds-store")),
        Mutant("column-stride-of-x-for-out", "offs_n * {stride_on -> stride_xn}",
            seen=("strided-only", "reads-outside", "wrong-values", "out-of-bounds-store")),
        Mutant("tritons-own", "{    e = tl.exp(x - tl.max(x, axis=0))\n -> }",
            "{e * (1.0 / tl.sum(e, axis=0) -> tl.softmax(x}", seen="not-by-hand"),
        Mutant("row-in-the-columns", "offs_n = { -> pid_m * BLOCK_N + }tl.arange", seen="unwritten-tail"),
        Mutant("masked-lanes-are-zero", '={float("-inf") -> 0.0}', says="padding-counted"),
        Mutant("other-forgotten", '{, other=float("-inf") -> }', says="padding-counted", only="interpreter"),
        Mutant("maximum-shifted-by-zeros", '={float("-inf") -> 0.0}',
            "{exp(x - tl.max(x, axis=0) -> where(mask_n, tl.exp(x - tl.max(x, axis=0)), 0.0}",
            says="maximum-not-subtracted", seen="overflow"),
        Mutant("maximum-not-subtracted", "{ - tl.max(x, axis=0) -> }", says="maximum-not-subtracted"),
        Mutant("minimum-subtracted", "exp(x - tl.{max -> min}", seen=("overflow", "nan")),
        Mutant("not-normalised", "{ * (1.0 / tl.sum(e, axis=0)) -> }"),
        Mutant("divided-by-n", "{tl.sum(e, axis=0) -> N}",
            says="The exponentials were divided by the number of columns, not by their sum."),
        Mutant("divided-by-tile", "{tl.sum(e, axis=0) -> BLOCK_N}",
            says="The exponentials were divided by the number of lanes, not by their sum."),
        Mutant("base-two", "e = tl.{exp -> exp2}(x -",
            says="This is a softmax to base 2. With `tl.exp2` the exponent needs the factor log2(e)."),
        Mutant("of-minus-x",
            "{x - tl.max(x, axis=0) -> tl.min(tl.where(mask_n, x, float('inf')), axis=0) - x)\n"
            "    e = tl.where(mask_n, e, 0.0}",
            says="This is the softmax of -x."),
        Mutant("logarithm", " = {e * (1.0 /  -> x - tl.max(x, axis=0) - tl.log(}",
            says="This is the logarithm of the softmax."),
        Mutant("one-stride-for-two-tensors", "pid_m * {stride_om -> stride_xm} ",
            seen=("strided-only", "out-of-bounds-store")),
        Mutant("rows-are-n-apart", "pid_m * {stride_xm -> N} ", seen="strided-only"),
        Mutant("column-stride-forgotten", "offs_n{ * stride_xn -> }", seen=("strided-only", "reads-outside")),
        Mutant("every-row-is-the-first", "{ + pid_m * stride_xm -> }", seen="rows-after-first"),
        Mutant("no-store-mask", "out{, mask=mask_n -> }", seen="out-of-bounds-store"),
        Mutant("read-back-by-other-lanes",
            ", mask=mask_n){ -> \n"
            "    mirrored = out_ptr + pid_m * stride_om + (N - 1 - offs_n) * stride_on\n"
            "    tl.store(mirrored, tl.load(mirrored, mask=mask_n), mask=mask_n)}",
            seen="no-barrier", only="interpreter"),
        Mutant("rows-along-axis-1", "program_id(axis={0 -> 1}).", "softmax_kernel[({M, -> 1, M})", seen="grid-limit"),
        Mutant("no-load-mask", '{, mask=mask_n, other=float("-inf") -> }', seen=("reads-outside", "wrong-values"),
            only="interpreter"),
        Mutant("block-of-1024", "{triton.next_power_of_2(N) -> 1024}", seen=("unwritten-tail", "wrong-values")),
        Mutant("last-row-left-out", "softmax_kernel[({M -> max(M - 1, 1)},", seen=("unwritten-tail", "unwritten")),
        Mutant("sum-in-float16", ".sum(e{, axis=0 -> .to(tl.float16), axis=0).to(tl.float32}",
            says="sum-in-half-precision"),
        Mutant("sum-in-the-dtype-of-x", ".sum(e{, axis=0 -> .to(x_ptr.dtype.element_ty), axis=0).to(tl.float32}",
            says="sum-in-half-precision"),
        Mutant("row-added-twice", "x_ptr + { -> 2 * }pid_m *", seen="reads-outside"),
        Mutant("exponentials-in-half-precision",
            "{x - tl.max(x, axis=0) -> (x - tl.max(x, axis=0)).to(out_ptr.dtype.element_ty)).to(tl.float32}",
            seen=("does-not-compile", "raised")),
        Mutant("stores-by-index", "{tl.store(out_ptrs, out, mask=mask_n) -> out_ptr[offs_n] = out}",
            seen=("raised", "does-not-compile")),
        Mutant("writes-into-x", "{torch.empty((M, N), dtype=x.dtype, device=x.device) -> x}",
            seen=("input-changed", "aliases-input")),
        Mutant("always-float32", " dtype={x.dtype -> torch.float32}", seen="wrong-dtype"),
        Mutant("no-check-of-the-width", "if N > {65536 -> 1 << 30}:", seen="should-raise"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            replace="def softmax(x):\n    require_matrix(x)\n    return torch.softmax(x, dim=-1)\n"),
        Mutant("divided-by-torch", "{ * (1.0 / tl.sum(e, axis=0)) -> }", "return out{ ->  / out.sum(-1, keepdim=True)}",
            seen="torch-compute"),
    ],
    "softmax_online": [
        Mutant("never-above-0", "tl.exp({x.to(tl.float32) - m_i -> tl.minimum(x.to(tl.float32) - m_i, 0.0)}", "tl.exp({x - m_new -> tl.minimum(x - m_new, 0.0)}", seen="nan-lost"),
        Mutant("padding-too-high", '={float("-inf") -> -1e4}'),
        Mutant("starts-at-minus-50000", "m_i = -{1e38 -> 50000.0}", says="starts-too-high"),
        Mutant("starts-at-minus-1e9", "m_i = -{1e38 -> 1e9}", says="starts-too-high"),
        Mutant("columns-side-by-side", " x_row_ptr + offs_n{ * stride_xn -> }", "offs_n{ * stride_xn -> }",
            seen=("strided-only", "reads-outside", "wrong-values", "out-of-bounds-store")),
        Mutant("column-stride-of-x-for-out", "offs_n * {stride_on -> stride_xn},",
            seen=("strided-only", "reads-outside", "wrong-values", "out-of-bounds-store")),
        Mutant("the-kernel-of-task-1", seen="tile-too-large",
            replace="def softmax_online(x, block=16384):\n    return softmax(x)\n"),
        Mutant("exponentials-of-the-old-maximum", "exp(x - {m_new -> m_i}),",
            says="Every share is 0. Either `l_i` is infinite, as when a tile's exponentials are taken from the old "
                "`m_i`, or a factor is 0."),
        Mutant("tile-by-tile",
            " * (1.0 / {l_i -> tl.sum(tl.where(mask_n, tl.exp(x.to(tl.float32) - m_i), 0.0), axis=0)})",
            says="Each tile is divided by its own sum. `l_i` is the sum of the whole row."),
        Mutant("written-too-early",
            "        m_i = m_new\n"
            "{ ->         tl.store(out_row_ptr + offs_n * stride_on, tl.exp(x - m_i) / l_i, mask=mask_n)\n}",
            "\n\n    for start in range(0, {N -> 0}, BLOCK_N):",
            says="Each tile got the maximum and the sum so far. Write in a second walk, when both are those of the "
                "whole row."),
        Mutant("second-walk-in-half-steps", "m_i = m_new … BLOCK_N{ ->  // 2}", seen="property", only="interpreter"),
        Mutant("three-walks",
            "m_i = m_new … { -> l_i = 0.0\n"
            "    for start in range(0, N, BLOCK_N):\n"
            "        offs_n = start + tl.arange(0, BLOCK_N)\n"
            "        mask_n = offs_n < N\n"
            "        x_ptrs = x_row_ptr + offs_n * stride_xn\n"
            '        x = tl.load(x_ptrs, mask=mask_n, other=float("-inf")).to(tl.float32)\n'
            "        l_i += tl.sum(tl.exp(x - m_i), axis=0)\n"
            "\n"
            "    }for start", seen="property", only="interpreter"),
        Mutant("sum-not-rescaled", "{ * tl.exp(m_i - m_new) -> }", says="not-rescaled"),
        Mutant("rescaled-the-wrong-way", "exp({m_i - m_new -> m_new - m_i}", says="rescaled-the-wrong-way",
            seen=("overflow", "nan")),
        Mutant("rescaled-the-wrong-way-without-overflow", "exp({m_i - m_new -> tl.minimum(m_new - m_i, 80.0)}",
            says="rescaled-the-wrong-way", seen=("overflow", "nan", "wrong-values", "off-by-row")),
        Mutant("maximum-of-the-last-tile", "{maximum(m_i, tl.max(x, axis=0) -> max(x, axis=0}",
            says="`m_i` holds the maximum of the last tile, not the largest so far: compare with the old `m_i`."),
        Mutant("starts-at-minus-infinity", 'm_i = {-1e38 -> float("-inf")}',
            says="A tile of minus infinity made the row NaN: -inf - (-inf). Start `m_i` at a finite number."),
        Mutant("starts-at-zero", "m_i = {-1e38 -> 0.0}", says="maximum-not-subtracted"),
        Mutant("sum-starts-at-one", "m_i = {-1e38 -> 0.0}", "l_i = {0 -> 1}.0", says="maximum-not-subtracted",
            seen=("constant-factor", "wrong-values", "off-by-row")),
        Mutant("masked-lanes-are-zero", '={float("-inf") -> 0.0}', says="padding-counted"),
        Mutant("other-forgotten", '{, other=float("-inf") -> }', says="padding-counted", only="interpreter"),
        Mutant("no-first-load-mask", '{, mask=mask_n, other=float("-inf") -> }', seen=("reads-outside", "wrong-values"),
            only="interpreter"),
        Mutant("first-tile-only", "0\n    for start in range(0, {N -> BLOCK_N}, BLOCK_N):",
            says="Maximum and sum are those of the first tile. Does the first walk reach the row's end?"),
        Mutant("last-tile-left-out", "    l_i = 0.0\n    for start in range(0, N{ ->  - BLOCK_N + 1}",
            says="The last, partly filled tile took no part in maximum and sum. Where does the walk end?"),
        Mutant("sum-of-the-last-tile", "{l_i * tl.exp(m_i - m_new) +  -> }",
            says="`l_i` holds the sum of the last tile alone: the sum so far was overwritten."),
        Mutant("always-the-same-tile",
            "offs_n = { -> 0 * }start + tl.arange(0, BLOCK_N)\n        mask_n = offs_n < N\n        x_ptrs",
            seen="off-by-row"),
        Mutant("exp2-in-the-sum", "tl.sum(tl.{exp -> exp2}(x", seen="off-by-row"),
        Mutant("not-normalised", "{ * (1.0 / l_i) -> }"),
        Mutant("maximum-not-subtracted", "{tl.maximum(m_i, tl.max(x, axis=0) -> 0.0 * tl.max(x, axis=0}",
            "m_i = {-1e38 -> 0.0}", says="maximum-not-subtracted"),
        Mutant("sum-in-half-precision", "{ -> l_i = l_i.to(tl.float16).to(tl.float32)\n        }m_i = m_new"),
        Mutant("column-stride-forgotten", " x_row_ptr + offs_n{ * stride_xn -> }",
            seen=("strided-only", "reads-outside")),
        Mutant("rows-are-n-apart", "pid_m * {stride_xm -> N}", seen="strided-only"),
        Mutant("row-added-twice", " x_row_ptr + { -> pid_m * stride_xm + }offs_n * ",
            "x_row_ptr + { -> pid_m * stride_xm + }offs_n *", seen="reads-outside"),
        Mutant("mask-of-the-first-tile",
            "0\n"
            "    for start in range(0, N, BLOCK_N):\n"
            "        offs_n = start + tl.arange(0, BLOCK_N)\n"
            "        mask_n = {offs_n -> tl.arange(0, BLOCK_N)} < N",
            seen=("reads-outside", "out-of-bounds-store")),
        Mutant("tl-max-of-two-numbers", "m_new = tl.{maximum -> max}", seen=("raised", "does-not-compile")),
        Mutant("exponentials-in-half-precision",
            ".exp({x - m_new -> (x - m_new).to(out_ptr.dtype.element_ty)).to(tl.float32}",
            seen=("does-not-compile", "raised")),
        Mutant("no-store-mask", "out{, mask=mask_n -> }", seen="out-of-bounds-store"),
        Mutant("second-walk-stops-early", "\n\n    for start in range(0, {N -> BLOCK_N}, BLOCK_N):",
            seen=("unwritten-tail", "unwritten")),
        Mutant("torch-stand-in", "{M, N = x.shape … return out -> return torch.softmax(x, dim=-1)}",
            seen="no-kernel-launched"),
    ],
    "softmax_masked": [
        Mutant("padding-too-high", '={float("-inf") -> -1e4}'),
        Mutant("lengths-ignored", "offs_n < {length -> N}", says="All columns took part. `lengths` was not used."),
        Mutant("empty-row-is-nan", "{where(counts, tl.exp(x - tl.max(x, axis=0)), 0.0 -> exp(x - tl.max(x, axis=0)}",
            "{maximum(tl.sum(e, axis=0), 1. -> sum(e, axis=}", seen=("nan", "overflow")),
        Mutant("zero-over-zero", "{maximum(tl.sum(e, axis=0), 1. -> sum(e, axis=}", seen=("nan", "overflow")),
        Mutant("uniform-when-empty",
            "{where(counts, tl.exp(x - tl.max(x, axis=0)), 0.0 -> exp(x - tl.maximum(tl.max(x, axis=0), -1e30)}",
            "{e / tl.maximum(tl.sum(e, axis=0), 1.0 -> tl.where(length > 0, e / tl.maximum(tl.sum(e, axis=0), 1.0), "
            "1.0 / N}",
            says="An empty row must be zeros, not equal shares."),
        Mutant("one-column-too-many", "offs_n <{ -> =} length", ", mask=counts{ ->  & (offs_n < N)},",
            says="Column lengths[m] took part. The last one that counts is lengths[m] - 1."),
        Mutant("one-column-too-few", "offs_n < length{ ->  - 1}", seen=("wrong-values", "nan")),
        Mutant("length-of-row-0", "lengths_ptr{ + pid_m -> }",
            says="Every row used lengths[0]. The address of the length needs the row."),
        Mutant("only-what-counts-is-stored", "mask={offs_n < N -> counts}", seen=("unwritten", "unwritten-tail")),
        Mutant("no-store-mask", "{, mask=offs_n < N -> }", seen="out-of-bounds-store"),
        Mutant("masked-by-multiplication", '{counts, other=float("-inf") -> offs_n < N, other=0.0}',
            "{e = tl.where(counts, tl.exp(x - tl.max(x, axis=0)), 0.0 -> x = x * counts.to(tl.float32)\n"
            "    e = tl.exp(x - tl.max(x, axis=0)) * counts.to(tl.float32}",
            seen=("nan", "overflow", "reads-outside", "wrong-values", "zeros")),
        Mutant("one-stride-for-two-tensors", "pid_m * {stride_om -> stride_xm} ",
            seen=("strided-only", "out-of-bounds-store")),
        Mutant("not-divided", "{ / tl.maximum(tl.sum(e, axis=0), 1.0) -> }", seen="off-by-row"),
        Mutant("no-check-of-lengths", "{lengths.shape != (M,) or not lengths.is_contiguous() -> False}",
            seen="should-raise"),
    ],
}

VARIANTS = {
    "softmax": [
        Variant("read-back-after-a-barrier",
            ", mask=mask_n){ -> \n"
            "    tl.debug_barrier()\n"
            "    mirrored = out_ptr + pid_m * stride_om + (N - 1 - offs_n) * stride_on\n"
            "    tl.store(mirrored, tl.load(mirrored, mask=mask_n), mask=mask_n)}"),
        Variant("offsets-of-32-bits", "){.to(tl.int64) -> }"),
        Variant("four-warps", "{warps_for(BLOCK_N) -> 4}"),
        Variant("larger-block", "BLOCK_N = { -> 2 * }triton"),
        Variant("divided-element-by-element", "{* (1.0 / tl.sum(e, axis=0) -> / tl.sum(e, axis=0}"),
        Variant("exp2-with-factor", "{exp(x - tl.max(x, axis=0) -> exp2((x - tl.max(x, axis=0)) * 1.4426950408889634}"),
        Variant("where-instead-of-other", '={float("-inf") -> 0.0}',
            '{ -> x = tl.where(mask_n, x, float("-inf"))\n    }e = tl.exp(x -'),
        Variant("large-negative-number", '={float("-inf") -> -1e38}'),
        Variant("cast-before-the-store", "out_ptrs, out{ -> .to(out_ptr.dtype.element_ty)}, mask"),
        # tl.max gives float32, so the rest of the formula is computed in float32 all the same.
        Variant("no-cast-after-the-load", "{.to(tl.float32) -> }"),
        Variant("evict-first", 'float("-inf"){ -> , eviction_policy="evict_first"})'),
    ],
    "softmax_online": [
        Variant("tiles-of-4096", "x, block={16384 -> 4096}"),
        Variant("in-three-steps",
            "{l_i = l_i * tl.exp(m_i - m_new) + -> scale = tl.exp(m_i - m_new)\n"
            "        l_i = l_i * scale\n"
            "        l_i +=}"),
        Variant("minus-infinity-handled", 'm_i = {-1e38 -> float("-inf")}',
            '{l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new -> safe = tl.where(m_new == float("-inf"), '
            "0.0, m_new)\n"
            "        l_i = l_i * tl.exp(m_i - safe) + tl.sum(tl.exp(x - safe}"),
        Variant("two-walks-for-the-sum", "m_i = m_new{ ->  * 1.0}"),
        Variant("hints-to-the-cache", 'float("-inf"){ -> , eviction_policy="evict_last"})'),
        Variant("second-walk-backwards",
            "offs_n = { -> (tl.cdiv(N, BLOCK_N) - 1) * BLOCK_N - }start + tl.arange(0, BLOCK_N)\n"
            "        mask_n = offs_n < N\n"
            "        x "),
        Variant("divided-element-by-element", " {* (1.0 / l_i) -> / l_i}"),
        Variant("cast-before-the-store", "stride_on, out{ -> .to(out_ptr.dtype.element_ty)}, mask"),
        Variant("lowest-float32", "m_i = -{1e38 -> 3.4028234663852886e38}"),
        Variant("four-rows-a-program",
            "{BLOCK_N = … BLOCK_N) -> four_rows_kernel[(triton.cdiv(M, 4),)](\n"
            "        x, out, M, N, *x.stride(), *out.stride(),\n"
            "        BLOCK_N=min(block, triton.next_power_of_2(N)), num_warps=8,}", kernels='''
@triton.jit
def four_rows_kernel(
    x_ptr, out_ptr, M, N, stride_xm, stride_xn, stride_om, stride_on, BLOCK_N: tl.constexpr
):
    offs_m = tl.program_id(axis=0).to(tl.int64) * 4 + tl.arange(0, 4)[:, None]
    x_rows, out_rows = x_ptr + offs_m * stride_xm, out_ptr + offs_m * stride_om
    m_i, l_i = tl.full((4, 1), -1e38, tl.float32), tl.zeros((4, 1), tl.float32)
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)[None, :]
        mask = (offs_m < M) & (offs_n < N)
        x = tl.load(x_rows + offs_n * stride_xn, mask=mask, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=1, keep_dims=True))
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=1, keep_dims=True)
        m_i = m_new
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)[None, :]
        mask = (offs_m < M) & (offs_n < N)
        x = tl.load(x_rows + offs_n * stride_xn, mask=mask).to(tl.float32)
        tl.store(out_rows + offs_n * stride_on, tl.exp(x - m_i) / l_i, mask=mask)
'''),
    ],
    "softmax_masked": [
        Variant("four-warps", "{warps_for(BLOCK_N) -> 4}"),
        Variant("empty-row-by-where",
            "{out = e / tl.maximum(tl.sum(e, axis=0) -> total = tl.sum(e, axis=0)\n"
            "    out = e / tl.where(total > 0, total}"),
        Variant("finite-maximum",
            "{where(counts, tl.exp(x - tl.max(x, axis=0)), 0.0 -> exp(x - tl.maximum(tl.max(x, axis=0), -1e38)}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "softmax": {
        'x = tl.load(x_ptrs, mask=mask_n, other=float("-inf")).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=float("-inf"))': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on => out_ptrs = out_ptr + pid_m * stride_om + offs_n': "the wrapper makes a contiguous result: its last stride is 1",
        'e = tl.exp(x - tl.max(x, axis=0)) => e = tl.exp(x - tl.max(x))': "a tile of one dimension has one axis",
        'out = e * (1.0 / tl.sum(e, axis=0)) => out = e * (1.0 / tl.sum(e))': "a tile of one dimension has one axis",
    },
    "softmax_online": {
        'x = tl.load(x_ptrs, mask=mask_n, other=float("-inf")).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=float("-inf"))': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'm_new = tl.maximum(m_i, tl.max(x, axis=0)) => m_new = tl.maximum(m_i, tl.max(x))': "a tile of one dimension has one axis",
        'l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0) => l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new))': "a tile of one dimension has one axis",
        'tl.store(out_row_ptr + offs_n * stride_on, out, mask=mask_n) => tl.store(out_row_ptr + offs_n, out, mask=mask_n)': "the wrapper makes a contiguous result: its last stride is 1",
        'out = tl.exp(x.to(tl.float32) - m_i) * (1.0 / l_i) => out = tl.exp(x - m_i) * (1.0 / l_i)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
    },
    "softmax_masked": {
        'x = tl.load(x_ptrs, mask=counts, other=float("-inf")).to(tl.float32) => x = tl.load(x_ptrs, mask=counts, other=float("-inf"))': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on => out_ptrs = out_ptr + pid_m * stride_om + offs_n': "the wrapper makes a contiguous result: its last stride is 1",
        'tl.store(out_ptrs, out.to(out_ptr.dtype.element_ty), mask=offs_n < N) => tl.store(out_ptrs, out, mask=offs_n < N)': "tl.store casts",
        'out = e / tl.maximum(tl.sum(e, axis=0), 1.0) => out = e / tl.maximum(tl.sum(e), 1.0)': "a tile of one dimension has one axis",
        'e = tl.where(counts, tl.exp(x - tl.max(x, axis=0)), 0.0) => e = tl.where(counts, tl.exp(x - tl.max(x)), 0.0)': "a tile of one dimension has one axis",
    },
}
