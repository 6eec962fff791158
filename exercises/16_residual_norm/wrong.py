"""Mistakes of 16_residual_norm with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant, usual

SHARED = """
    cut-off divided-by-tile eps-before-the-mean no-weight one-plus-weight root-for-its-inverse rounded-up
    scale-is-the-largest steps-of-128 sum-in-half-precision tiny-scale weight-rounded x-in-the-dtype-of-w zero-scale
"""
PROMISES = ("predict", "norm-of-the-exact-sum", "through-memory")

# Sentences that several mistakes share.
SAYS = {
    "no-residual": "The residual takes no part: y and s are those of x alone.",
    "norm-of-x":
        "s is right, and y is the norm of x. The sum is what is normalised: s, not x, goes into the squares and into "
        "y.",
    "residual-after-the-norm":
        "x was normalised, and the residual added to the result. Add first: s = x + residual, then the norm of s.",
    "mean-of-x": "The root is that of x's mean square. It is the mean square of s, the sum.",
    "numerator-x": "x is divided by the root of s. Divide s itself.",
    "s-scaled": "s holds the normalised numbers too. It is the plain sum x + residual: store it before you go on.",
    "exact-sum-overwritten": "s holds x. Store the sum.",
    "no-eps": "`eps` is missing from the root. Rows of tiny numbers tell the difference.",
    "eps-outside": "`eps` is added outside the root. It belongs inside: tiny rows tell the difference.",
    "sum-not-mean": "This divides by the root of the sum of squares. It should be the root of their mean.",
    "residual-by-x":
        "The residual was read with the strides of x. It lies in memory in its own way: `stride_rm`, `stride_rn`, as "
        "in `residual_ptrs`.",
    "subtracted": "The residual was subtracted. It is added.",
    "rounded-on-the-way":
        "y was rounded to half precision before it was finished. From s on all is float32, up to the last store.",
    "s-is-the-residual": "s holds the old residual. Store the sum, and return it: it is the next half's residual.",
    "results-swapped": "The results are swapped: the norm comes first, then the sum.",
    "largest-without-abs":
        "The largest in size may be a negative number: take `tl.abs` of each number first, then the maximum.",
    "always-half":
        "The sum is rounded to one dtype of half precision, whatever dtype x has. `s_ptr.dtype.element_ty` is the "
        "right one in each call.",
    "scale-of-one":
        "q is y itself, rounded: in steps of 1. Divide y by the row's scale first, which is max |y| / 127.",
}

STRIDES = ("strided-only", "reads-outside", "wrong-values")


def _of_both(last):
    """Mistakes that both kernels invite. last: the text before the line that makes y."""
    return [
        Mutant("no-residual", "s = (x{ + residual -> }).to", says="no-residual"),
        Mutant("subtracted", "s = (x {+ -> -} residual", says="subtracted"),
        Mutant("norm-of-x", "{s = s.to(tl.float32) -> s = x}", says="norm-of-x"),
        Mutant("mean-of-x", "tl.sum({s * s -> x * x}, axis=0)", says="mean-of-x"),
        Mutant("numerator-x", "y = {s -> x} * tl.rsqrt", says="numerator-x"),
        Mutant("residual-after-the-norm", "{s = s.to(tl.float32) -> s = x}",
            "tl.rsqrt(mean_square + eps) * w{ ->  + residual}", says="residual-after-the-norm"),
        Mutant("residual-twice", "tl.rsqrt(mean_square + eps) * w{ ->  + residual}",
            says="The residual is added to y once more. It is part of s, and of nothing else."),
        Mutant("always-float16", "(x + residual).to({s_ptr.dtype.element_ty -> tl.float16})", says="always-half"),
        Mutant("always-bfloat16", "(x + residual).to({s_ptr.dtype.element_ty -> tl.bfloat16})", says="always-half"),
        Mutant("weight-in-the-sum", "s = (x + residual{ ->  * w}).to",
            says="The residual was multiplied by the weight. s is the plain sum; the weight belongs to y."),
        Mutant("norm-of-the-exact-sum", "{s = (x + residual).to(s_ptr.dtype.element_ty) -> s = x + residual}",
            seen="property"),
        Mutant("sum-in-half-precision", "{s = s.to(tl.float32)\n    mean_square -> mean_square}",
            seen=("overflow", "nan", "wrong-values", "property", "zeros", "does-not-compile")),
        Mutant("rounded-before-the-weight",
            "= s * tl.rsqrt(mean_square + eps) { -> \n    y = y.to(s_ptr.dtype.element_ty).to(tl.float32) }* w",
            says="rounded-on-the-way", seen="property"),
        Mutant("no-eps", "tl.rsqrt(mean_square{ + eps -> })", says="no-eps"),
        Mutant("eps-outside-root", "y = s {* tl.rsqrt(mean_square + eps) -> / (tl.sqrt(mean_square) + eps)}",
            says="eps-outside"),
        Mutant("eps-before-the-mean", "tl.sum(s * s, axis=0) / N{ ->  + eps / N - eps}"),
        Mutant("divided-by-tile", "tl.sum(s * s, axis=0) / {N -> BLOCK_N}", says="divided-by-tile"),
        Mutant("sum-not-mean", "tl.sum(s * s, axis=0){ / N -> }", says="sum-not-mean"),
        Mutant("no-weight", "tl.rsqrt(mean_square + eps){ * w -> }", says="no-weight"),
        Mutant("one-plus-weight", "tl.rsqrt(mean_square + eps) * {w -> (1 + w)}"),
        Mutant("mean-subtracted", "{ -> s = tl.where(mask_n, s - tl.sum(s, axis=0) / N, 0.0)\n    }mean_square = ",
            says="layernorm"),
        Mutant("root-for-its-inverse", "y = s * tl.{rsqrt -> sqrt}"),
        Mutant("residual-with-strides-of-x", "row * {stride_rm + offs_n * stride_rn -> stride_xm + offs_n * stride_xn}",
            says="residual-by-x", seen=STRIDES),
        Mutant("row-stride-is-n", "x_ptr + row * {stride_xm -> N} ", seen=STRIDES),
        Mutant("column-stride-is-one", "row * stride_rm + offs_n{ * stride_rn -> }", seen=STRIDES),
        Mutant("always-row-zero", "residual_ptr + { -> 0 * }row *", says=(
            "Every row gets the residual of the first one. Row m's begins at m times `stride_rm`."),
            seen="rows-after-first"),
        Mutant("result-in-row-zero", "out = { -> 0 * }row", seen=("race", "unwritten-tail", "unwritten")),
        Mutant("result-with-strides-of-x", "out = row * {N + offs_n -> stride_xm + offs_n * stride_xn}",
            seen=("strided-only", "out-of-bounds-store", "unwritten", "wrong-values")),
        Mutant("x-without-mask", "x = tl.load(x_ptrs{, mask=mask_n, other=0.0 -> })", seen="reads-outside"),
        Mutant("no-other", "x = tl.load(x_ptrs, mask=mask_n{, other=0.0 -> })",
            "residual = tl.load(residual_ptrs, mask=mask_n{, other=0.0 -> })", seen="no-other"),
        Mutant("masked-lanes-hold-one", "x = tl.load(x_ptrs, mask=mask_n, other={0.0 -> 1.0})",
            says="masked-lanes-counted", seen="off-by-row"),
        Mutant("s-not-stored", "{    tl.store(s_ptr + out, s, mask=mask_n)\n -> }", seen=("unwritten", "unwritten-tail")),
        Mutant("s-is-x", "tl.store(s_ptr + out, {s -> x},", says="exact-sum-overwritten"),
        Mutant("s-is-the-residual", "tl.store(s_ptr + out, {s -> residual},",
            says="s-is-the-residual"),
        Mutant("s-is-normalised", "{    tl.store(s_ptr + out, s, mask=mask_n)\n -> }",
            "tl.rsqrt(mean_square + eps) * w{ -> \n    tl.store(s_ptr + out, y, mask=mask_n)}", says="s-scaled"),
        Mutant("s-over-the-residual", "tl.store({s_ptr + out -> residual_ptrs}, s", seen=("input-changed", "unwritten")),
        Mutant("no-store-mask", "tl.store(s_ptr + out, s{, mask=mask_n -> })", seen=("out-of-bounds-store", "race")),
        Mutant("reads-s-back", "s = {s.to(tl.float32) -> tl.load(s_ptr + out, mask=mask_n, other=0.0).to(tl.float32)}",
            seen=("slow", "no-barrier")),
        Mutant("reads-x-again",
            "mean_square = tl.sum(s * s, axis=0) / N{ -> \n"
            "    s = (tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) + residual)"
            ".to(s_ptr.dtype.element_ty).to(tl.float32)}",
            seen="slow", only="interpreter"),
        Mutant("sum-by-torch", "x_rows, r_rows = {x -> (x + residual)}.reshape(-1, N)", "N), {residual -> (0 * residual)}.reshape",
            seen=("torch-compute", "raised")),
        Mutant("no-check-of-shapes", "{    require_rows(x, residual, w)\n -> }", seen="should-raise"),
        Mutant("residual-is-the-result", "    return {"+last+", s -> "+last+", residual}",
            says="s-is-the-residual", seen=("aliases-input", "other-tensor")),
        Mutant("float32-sum", "s = torch.empty(x.shape, dtype={x.dtype -> torch.float32}", seen="wrong-dtype")
        if last != "y" else
        Mutant("float32-results", "torch.empty(x.shape, dtype={x.dtype -> torch.float32}", seen="wrong-dtype"),
    ]


MUTANTS = {
    "add_rmsnorm": [
        usual(but=("no-load-masks", "no-store-mask")),
        *_of_both("y"),
        Mutant("weight-rounded", "w_ptr + offs_n, mask=mask_n, other=0.0){.to( -> .to(x_ptr.dtype.element_ty).to(}tl.float32)"),
        Mutant("x-in-the-dtype-of-w", "x_ptrs, mask=mask_n, other=0.0){.to( -> .to(w_ptr.dtype.element_ty).to(}tl.float32)"),
        Mutant("result-in-the-dtype-of-w", "y, s = (torch.empty(x.shape, dtype={x.dtype -> w.dtype}", seen="wrong-dtype"),
        Mutant("nan-in-x-lost", "s = ({x -> tl.maximum(x, -1e30)} + residual).to(s_ptr", seen="nan-lost"),
        Mutant("never-below-0", "tl.rsqrt({mean_square -> tl.maximum(mean_square, 0.0)} + eps", seen="nan-lost"),
        Mutant("clamped", "s = {(x + residual) -> tl.clamp(x + residual, -65504.0, 65504.0)}.to(s_ptr", seen="nan-lost"),
        Mutant("results-swapped", "    return {y, s -> s, y}", says="results-swapped"),
        Mutant("y-not-stored", "{    tl.store(y_ptr + out, y, mask=mask_n)\n -> }", seen=("unwritten", "unwritten-tail")),
        Mutant("y-alone", "    return {y, s -> y}", seen=("wrong-type", "wrong-shape", "raised")),
        Mutant("s-in-half-added", "{ + residual -> .to(tl.float16) + residual.to(tl.float16)})",
            seen=("half-digits", "wrong-values", "overflow", "nan")),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="s = x + residual\n"
                "return torch.nn.functional.rms_norm(s, w.shape, w, eps), s"),
        Mutant("two-launches", seen="wrong-launch-count",
            replace='''
@triton.jit
def sum_kernel(x_ptr, r_ptr, s_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(x_ptr + offs, mask=offs < n) + tl.load(r_ptr + offs, mask=offs < n)
    tl.store(s_ptr + offs, s, mask=offs < n)


@triton.jit
def norm_kernel(s_ptr, w_ptr, y_ptr, N, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK_N)
    s = tl.load(s_ptr + row * N + offs, mask=offs < N, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs, mask=offs < N, other=0.0).to(tl.float32)
    y = s * tl.rsqrt(tl.sum(s * s, axis=0) / N + eps) * w
    tl.store(y_ptr + row * N + offs, y, mask=offs < N)


def add_rmsnorm(x, residual, w, eps=1e-6):
    require_rows(x, residual, w)
    x, residual = x.contiguous(), residual.contiguous()
    s, y, N = torch.empty_like(x), torch.empty_like(x), x.shape[-1]
    sum_kernel[(triton.cdiv(x.numel(), 1024),)](x, residual, s, x.numel(), BLOCK=1024)
    norm_kernel[(x.numel() // N,)](s, w, y, N, eps, BLOCK_N=triton.next_power_of_2(N))
    return y, s
'''),
    ],
    "add_rmsnorm_int8": [
        *_of_both("q, scales"),
        Mutant("steps-of-128", "largest / {127 -> 128}, 1"),
        Mutant("steps-of-255", "largest / {127 -> 255}, 1",
            says="The scale is max |y| / 255 here: the largest number becomes 255, and int8 ends at 127."),
        Mutant("cut-off", "q = {tl.floor(y / scale + 0.5) -> y / scale}"),
        Mutant("half-added-and-cut", "q = {tl.floor(y / scale + 0.5) -> y / scale + 0.5}",
            says="Right for positive numbers. Below 0, adding 0.5 and cutting rounds the wrong way: it is `tl.floor(v "
                "+ 0.5)`."),
        Mutant("rounded-down", "y / scale{ + 0.5 -> })",
            says="q was rounded down. The nearest whole number is `tl.floor(v + 0.5)`."),
        Mutant("rounded-up", "q = tl.{floor(y / scale + 0.5 -> ceil(y / scale})"),
        Mutant("half-added-to-y", "tl.floor({y / scale + 0.5 -> (y + 0.5) / scale})",
            says="0.5 was added to y. It is half a step: add it to y / scale."),
        Mutant("not-divided", "tl.floor(y{ / scale -> } + 0.5)", says="scale-of-one"),
        Mutant("multiplied-by-the-scale", "tl.floor(y {/ -> *} scale",
            says="q is y times the scale. In steps of the scale, y is y / scale."),
        Mutant("s-quantised", "tl.floor({y -> s} / scale",
            says="s was quantised, with the scale of y. Quantise y, the norm."),
        Mutant("scale-of-s", "tl.max(tl.abs({y -> s}), axis=0)",
            says="The scale is that of s. It is max |y| / 127, of what is quantised."),
        Mutant("scale-before-the-weight", "tl.max(tl.abs({y -> s * tl.rsqrt(mean_square + eps)}), axis=0)",
            says="The scale was taken before the weight came in. It is max |y| / 127, of the finished norm."),
        Mutant("largest-without-abs", "largest = tl.max({tl.abs(y) -> y}, axis=0)", says="largest-without-abs"),
        Mutant("mean-for-maximum", "largest = tl.{max(tl.abs(y), axis=0) -> sum(tl.abs(y), axis=0) / N}",
            says="The scale is made of the mean of |y|. It takes the maximum, or the larger numbers do not fit."),
        Mutant("zero-scale", "scale = {tl.where(largest > 0, largest / 127, 1.0) -> largest / 127}"),
        Mutant("tiny-scale", "scale = tl.{where(largest > 0, largest / 127, 1.0) -> maximum(largest, 1e-10) / 127}"),
        Mutant("scale-at-least-one", "scale = tl.{where(largest > 0, largest / 127 -> maximum(largest / 127}, 1.0)",
            says="No scale is below 1 here. Only a row of zeros has the scale 1; any other divides its largest by 127."),
        Mutant("scale-plus-epsilon", "largest / 127{ ->  + 1e-5}, 1.0)",
            says="The scale is max |y| / 127 alone. Nothing is added to it."),
        Mutant("scale-plus-little", "largest / 127{ ->  + 1e-8}, 1.0)", "scale = tl.where(largest > {0 -> -1},",
            says="The scale is max |y| / 127, and 1 for a row of zeros. Nothing is added to it."),
        Mutant("scale-is-the-largest", "largest > 0, largest{ / 127 -> }, 1.0)"),
        Mutant("scale-upside-down", "largest > 0, {largest / 127 -> 127 / largest}, 1.0)", "tl.floor(y {/ -> *} scale",
            says="The scale is upside down: y is about scale times q, so the scale is max |y| / 127."),
        Mutant("rounded-on-the-way", "y = {s * tl.rsqrt(mean_square + eps) * w -> "
            "(s * tl.rsqrt(mean_square + eps) * w).to(s_ptr.dtype.element_ty).to(tl.float32)}",
            says="rounded-on-the-way", seen="property"),
        Mutant("scale-in-the-first-place", "tl.store(scales_ptr{ + row -> }, scale)",
            seen=("unwritten", "race", "unwritten-tail")),
        Mutant("x-in-the-dtype-of-w", "x_ptrs, mask=mask_n, other=0.0){.to( -> .to(w_ptr.dtype.element_ty).to(}tl.float32)"),
        Mutant("weight-rounded", "w_ptr + offs_n, mask=mask_n, other=0.0){.to( -> .to(x_ptr.dtype.element_ty).to(}tl.float32)",
            seen="property"),
        Mutant("scale-not-stored", "{    tl.store(scales_ptr + row, scale)\n -> }", seen=("unwritten", "unwritten-tail")),
        Mutant("scale-beside-each-number", "tl.store(scales_ptr + {row, scale -> out, scale + 0 * y, mask=mask_n})",
            seen=("out-of-bounds-store", "race")),
        Mutant("largest-stored", "tl.store(scales_ptr + row, {scale -> largest})",
            says="The largest number was stored as the scale. One step is a 127th of it.", seen="constant-factor"),
        Mutant("q-not-stored", "{    tl.store(q_ptr + out, q.to(tl.int8), mask=mask_n)\n -> }",
            seen=("unwritten", "unwritten-tail")),
        Mutant("int16-result", "q = torch.empty(x.shape, dtype=torch.{int8 -> int16}", seen="wrong-dtype"),
        Mutant("scales-in-half", "scales = torch.empty(x.shape[:-1], dtype={torch.float32 -> x.dtype}",
            seen="wrong-dtype"),
        Mutant("scales-keep-a-dimension", "torch.empty({x.shape[:-1] -> (*x.shape[:-1], 1)}", seen="wrong-shape"),
        Mutant("results-in-another-order", "    return {q, scales, s -> q, s, scales}",
            seen=("wrong-shape", "wrong-dtype")),
        Mutant("through-memory", seen="wrong-launch-count",
            replace='''
@triton.jit
def to_int8_kernel(y_ptr, q_ptr, scales_ptr, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offs = tl.arange(0, BLOCK_N)
    y = tl.load(y_ptr + row * N + offs, mask=offs < N, other=0.0).to(tl.float32)
    largest = tl.max(tl.abs(y), axis=0)
    scale = tl.where(largest > 0, largest / 127, 1.0)
    tl.store(q_ptr + row * N + offs, tl.floor(y / scale + 0.5).to(tl.int8), mask=offs < N)
    tl.store(scales_ptr + row, scale)


def add_rmsnorm_int8(x, residual, w, eps=1e-6):
    y, s = add_rmsnorm(x, residual, w, eps)
    q = torch.empty(x.shape, dtype=torch.int8, device=x.device)
    scales = torch.empty(x.shape[:-1], dtype=torch.float32, device=x.device)
    N = x.shape[-1]
    to_int8_kernel[(scales.numel(),)](y, q, scales, N, BLOCK_N=triton.next_power_of_2(N))
    return q, scales, s
'''),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="s = x + residual\n"
                "y = torch.nn.functional.rms_norm(s.float(), w.shape, w.float(), eps)\n"
                "scales = y.abs().amax(-1) / 127\n"
                "return (y / scales[..., None]).round().to(torch.int8), scales, s"),
    ],
}

VARIANTS = {
    "add_rmsnorm": [
        Variant("four-warps", "num_warps={warps_for(BLOCK_N) -> 4}"),
        Variant("added-in-the-dtype-of-memory", "x = tl.load(x_ptrs, mask=mask_n, other=0.0){.to(tl.float32) -> }",
            "residual = tl.load(residual_ptrs, mask=mask_n, other=0.0){.to(tl.float32) -> }",
            "s = {(x + residual).to(s_ptr.dtype.element_ty) -> x + residual}"),
        Variant("cast-back-and-forth", "s = (x + residual).to(s_ptr.dtype.element_ty){ -> .to(tl.float32)}"),
        Variant("sqrt-and-divide", "y = s {* tl.rsqrt -> / tl.sqrt}"),
        Variant("s-stored-last", "{    tl.store(s_ptr + out, s, mask=mask_n)\n -> }",
            "tl.store(y_ptr + out, y, mask=mask_n){ -> \n    tl.store(s_ptr + out, s, mask=mask_n)}"),
        Variant("wider-tile", "BLOCK_N = { -> 2 * }triton"),
        Variant("dtype-of-x", "(x + residual).to({s_ptr -> x_ptr}.dtype"),
    ],
    "add_rmsnorm_int8": [
        Variant("four-warps", "num_warps={warps_for(BLOCK_N) -> 4}"),
        Variant("multiplied-by-the-inverse", "tl.floor(y {/ scale -> * (1.0 / scale)} +"),
        Variant("rounded-by-sign", "q = {tl.floor(y / scale + 0.5) -> y / scale + tl.where(y > 0, 0.5, -0.5)}"),
        Variant("rounded-from-above", "tl.{floor(y / scale + -> ceil(y / scale -} 0.5)"),
        Variant("clamped",
            "q = {tl.floor(y / scale + 0.5) -> tl.minimum(tl.maximum(tl.floor(y / scale + 0.5), -127.0), 127.0)}"),
        Variant("largest-and-least", "{max(tl.abs(y), axis=0) -> maximum(tl.max(y, axis=0), -tl.min(y, axis=0))}"),
        Variant("scale-by-if",
            "scale = {tl.where(largest > 0, largest / 127, 1.0) -> largest / 127\n"
            "    if largest == 0:\n"
            "        scale = 1.0}"),
        Variant("round-to-even", "q = {tl.floor(y / scale + 0.5) -> (y / scale + 12582912.0) - 12582912.0}"),
        Variant("sqrt-and-divide", "y = s {* tl.rsqrt -> / tl.sqrt}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "add_rmsnorm": {
        'tl.store(s_ptr + out, s, mask=mask_n) s = s.to(tl.float32) => s = s.to(tl.float32) tl.store(s_ptr + out, s, mask=mask_n)': "rounded already: back in float32 it is the same number, and the store loses nothing",
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=0.0)': "float32 all the same: the residual is",
        'residual = tl.load(residual_ptrs, mask=mask_n, other=0.0).to(tl.float32) => residual = tl.load(residual_ptrs, mask=mask_n, other=0.0)': "float32 all the same: x is",
        'mean_square = tl.sum(s * s, axis=0) / N => mean_square = tl.sum(s * s) / N': "a tile of one dimension has one axis",
    },
    "add_rmsnorm_int8": {
        'tl.store(s_ptr + out, s, mask=mask_n) s = s.to(tl.float32) => s = s.to(tl.float32) tl.store(s_ptr + out, s, mask=mask_n)': "rounded already: back in float32 it is the same number, and the store loses nothing",
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=0.0)': "float32 all the same: the residual is",
        'residual = tl.load(residual_ptrs, mask=mask_n, other=0.0).to(tl.float32) => residual = tl.load(residual_ptrs, mask=mask_n, other=0.0)': "float32 all the same: x is",
        'largest = tl.max(tl.abs(y), axis=0) => largest = tl.max(tl.abs(y))': "a tile of one dimension has one axis",
        'mean_square = tl.sum(s * s, axis=0) / N => mean_square = tl.sum(s * s) / N': "a tile of one dimension has one axis",
        'tl.store(q_ptr + out, q.to(tl.int8), mask=mask_n) => tl.store(q_ptr + out, q, mask=mask_n)': "a store casts to the dtype of the pointer, and q is a whole number",
    },
}
