"""Mistakes of 03_gelu_fusion with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "bias-subtracted"
PROMISES = ("two-launches", "exponential-that-overflows", "predict")

ALLOCATE = "    out = torch.empty_like(x)\n"


def pointwise(name, arithmetic):
    """Mistakes that any kernel of one tensor can make; `arithmetic` is its line of arithmetic."""
    store = "tl.store(out_ptr + offs, out, mask=mask)"
    launch = f"    {name}_kernel[grid](x, out, n_elements, BLOCK_SIZE=1024)\n"
    return [
        Mutant("no-store-mask", (store, store.replace(", mask=mask", "")), seen="out-of-bounds-store"),
        Mutant("mask-one-too-far", ("offs < n_elements", "offs <= n_elements"), seen="out-of-bounds-store"),
        Mutant("mask-one-short", ("offs < n_elements", "offs < n_elements - 1"), seen="unwritten-tail"),
        Mutant("no-load-mask", ("tl.load(x_ptr + offs, mask=mask)", "tl.load(x_ptr + offs)"), seen="reads-outside",
            only="interpreter"),
        Mutant("grid-rounds-down", ("triton.cdiv(n_elements, 1024)", "n_elements // 1024"), seen="unwritten-tail"),
        Mutant("writes-into-x", (ALLOCATE, "    out = x\n"), seen=("input-changed", "aliases-input")),
        Mutant("always-float32", (ALLOCATE, "    out = torch.empty(x.shape, dtype=torch.float32, device=x.device)\n"),
            seen="wrong-dtype"),
        Mutant("no-check-of-the-layout", ("    require_contiguous(x)\n", ""), seen="should-raise"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            replace=f"def {name}(x):\n    require_contiguous(x)\n    return {name}_ref(x)\n"),
        Mutant("decoy-launch", ("    return out", f"    return {name}_ref(x)"), seen="torch-compute"),
        Mutant("two-launches", (launch, launch + launch), seen="wrong-launch-count"),
        Mutant("stores-twice", (store, f"{store}\n    {store}"), seen="slow", only="interpreter"),
        Mutant("loads-twice",
            (arithmetic, arithmetic.replace("out = x", "again = tl.load(x_ptr + offs, mask=mask).to(tl.float32)\n    out = again")),
            seen="slow", only="interpreter"),
        Mutant("in-float64", ("mask=mask).to(tl.float32)", "mask=mask).to(tl.float64)"), seen="slow"),
        Mutant("unchanged", (arithmetic, "out = x"), says="This is x itself: the sigmoid is missing."),
    ]


# Sentences that several mistakes share.
SAYS = {
    "rounded-between":
        "A value between load and store is rounded to half precision. Convert to float32 right after the load, and "
        "stay there.",
    "half-arithmetic":
        "A value between load and store is rounded to half precision. Convert to float32 right after the load, and "
        "stay there.",
    "erf-form": "This is GELU's other form, with erf. The task asks for the tanh form.",
    "sigmoid-of-u": "This is x sigmoid(u). tanh u is 2 sigmoid(2u) - 1: a factor of 2 is missing inside.",
    "bias-of-the-column":
        "The address of the bias has the row in it. The bias has one number for each column, the same in every row: "
        "`offs_n * stride_bn`.",
    "square-for-cube": "The polynomial has x squared where it should have x cubed.",
}

MUTANTS = {
    "silu": [
        Mutant("never-below-minus-1", "tl.store(out_ptr + offs, {out -> tl.maximum(out, -1.0)}", seen="nan-lost"),
        *pointwise("silu", "out = x * tl.sigmoid(x)"),
        Mutant("still-relu", "out = {x * tl.sigmoid(x) -> tl.maximum(x, 0.0)}", says="This is still relu(x)."),
        Mutant("only-sigmoid", "out = {x *  -> }tl.sigmoid", says="This is the sigmoid alone. The factor x is missing."),
        Mutant("sigmoid-of-minus-x", " tl.sigmoid({ -> -}x)",
            says="This is x sigmoid(-x). Look at the sign inside the exponential."),
        Mutant("one-minus", "{* tl.sigmoid(x) -> / (1 - tl.exp(-x))}",
            says="The sigmoid is 1 over 1 + exp(-x). The sign before the exponential is wrong."),
        Mutant("sigmoid-added", "out = x {* -> +} tl.sigmoid", says="This is x plus its sigmoid. Multiply the two."),
        Mutant("power-of-two", "{* tl.sigmoid(x) -> / (1 + tl.exp2(-x))}",
            says="`tl.exp2` is a power of 2. The sigmoid has a power of e: `tl.exp`."),
        Mutant("bracket-missing", "out = x {* tl.sigmoid(x) -> / 1 + tl.exp(-x)}",
            says="`x / 1 + tl.exp(-x)` divides first. Put `1 + tl.exp(-x)` in brackets."),
        Mutant("tanh", "* {tl.sigmoid(x -> (2 * tl.sigmoid(2 * x) - 1}", says="This is x tanh(x)."),
        Mutant("exponential-that-overflows", "* tl.{sigmoid(x -> exp(x) / (1 + tl.exp(x)}", seen="overflow"),
        Mutant("sigmoid-in-the-tensors-dtype", "{.to(tl.float32) -> }", seen=("does-not-compile", "raised")),
        Mutant("half-arithmetic", " tl.sigmoid(x){ -> .to(tl.float16).to(tl.float32)}"),
        Mutant("only-the-sigmoid-in-float32", "{.to(tl.float32) -> }",
            " tl.sigmoid(x{ -> .to(tl.float32)).to(x.dtype})", says="half-arithmetic"),
        Mutant("hard-swish", "* tl.{sigmoid(x -> minimum(tl.maximum(x / 6 + 0.5, 0.0), 1.0}", seen="wrong-values"),
    ],
    "gelu_tanh": [
        Mutant("never-below-minus-1", "tl.store(out_ptr + offs, {out -> tl.maximum(out, -1.0)}", seen="nan-lost"),
        *pointwise("gelu_tanh", "out = x * tl.sigmoid(2 * u)"),
        Mutant("sigmoid-for-tanh", "out = {x * tl.sigmoid(2 * u) -> 0.5 * x * (1 + tl.sigmoid(2 * u))}",
            says="sigmoid(2u) stands where tanh u belongs. tanh u is 2 sigmoid(2u) - 1."),
        Mutant("tanh-from-two-exponentials",
            "{out = x * tl.sigmoid(2 * u -> e = tl.exp(2 * u)\n    out = 0.5 * x * (1 + (e - 1) / (e + 1)}",
            seen="overflow"),
        Mutant("erf-form", "{x * tl.sigmoid(2 * u -> 0.5 * x * (1 + tl.erf(x * 0.7071067811865476)}"),
        Mutant("sigmoid-of-u", "tl.sigmoid({2 *  -> }"),
        Mutant("sigmoid-of-minus-u", "tl.sigmoid({2 -> -2} * u",
            says="This is x sigmoid(-2u). Look at the sign inside the sigmoid."),
        Mutant("x-for-u", "tl.sigmoid(2 * {u -> x}", says="This is x sigmoid(2x): u was not used."),
        Mutant("only-u", "out = {x * tl.sigmoid(2 * u) -> u}", says="This is u itself. What follows it is missing."),
        Mutant("u-before-the-sigmoid", "out = {x -> u} * tl.sigmoid", says="The factor before the sigmoid is u. It is x."),
        Mutant("cubic-term-subtracted", "(x {+ -> -} 0.044715 * x", says="The cubic term of u was subtracted. Add it."),
        Mutant("root-of-two-alone", "{SQRT_2_OVER_PI -> 0.4501581580785531}",
            says="This has sqrt(2) / pi in u. The root covers the whole fraction: sqrt(2 / pi)."),
        Mutant("cube-of-the-sum",
            "{(x + 0.044715 * x * x * x) -> ((x + 0.044715 * x) * (x + 0.044715 * x) * (x + 0.044715 * x))}",
            says="The whole bracket of u is cubed. Only the second x in it is."),
        Mutant("tanh-alone", "{tl.sigmoid(2 * u) -> (2 * tl.sigmoid(u) - 1)}",
            says="This is x tanh(u / 2). Of 1 + tanh u, half of it, remains sigmoid(2u)."),
        Mutant("half-left", "out = { -> 0.5 * }x * tl.sigmoid",
            says="The ½ is gone with the 2: of tanh u = 2 sigmoid(2u) - 1 remains x sigmoid(2u)."),
        Mutant("half-missing", "out = { -> 2 * }x * tl.sigmoid", says="The factor 1/2 is missing."),
        Mutant("one-missing", "{tl.sigmoid(2 * u -> (tl.sigmoid(2 * u) - 0.5}", says="The 1 before tanh is missing."),
        Mutant("bracket-misplaced", "{(x + 0.044715 * x * x * x) -> x + 0.044715 * x * x * x}",
            says="The root multiplies x alone here. It multiplies the whole polynomial: put brackets around that."),
        Mutant("square-for-cube", "044715 * x * x{ * x -> }"),
        Mutant("no-cubic-term", "{ + 0.044715 * x * x * x -> }", says="The cubic term is missing from u."),
        Mutant("quick-gelu", ".sigmoid({2 * u -> 1.702 * x}",
            says="This is the quick approximation x sigmoid(1.702 x), not the tanh form."),
        Mutant("silu", ".sigmoid({2 * u -> x}", says="This is SiLU."),
        Mutant("coefficient", "x + 0.{044715 -> 44715} *", says="The coefficient of the cube is 0.044715, not 0.44715."),
        Mutant("root-missing", "SQRT_2_OVER_PI * { -> SQRT_2_OVER_PI * }(",
            says="The root is missing: the factor of u is sqrt(2 / pi), not 2 / pi."),
        Mutant("factor-missing", "{SQRT_2_OVER_PI -> 1.0}", says="The factor sqrt(2 / pi) is missing from u."),
        Mutant("half-arithmetic", "{ -> u = u.to(out_ptr.dtype.element_ty).to(tl.float32)\n    }out = x * tl.sigmoid"),
        Mutant("rough-constant", "{SQRT_2_OVER_PI -> 0.8}", seen=("wrong-values", "wrong-by-value")),
        Mutant("constant-of-two-digits", "x + 0.{044715 -> 045} *", seen="wrong-values"),
        Mutant("everything-in-the-tensors-dtype", "{.to(tl.float32) -> }", seen=("does-not-compile", "raised")),
        Mutant("cube-in-half-precision", "044715 * {x * x * x -> (x * x * x).to(tl.float16).to(tl.float32)}",
            says="half-arithmetic"),
        Mutant("cube-by-torch", "{ ->     cube = x * x * x\n}    n_elements", seen="torch-compute"),
    ],
    "bias_gelu": [
        Mutant("never-below-minus-1", "tl.store(out_ptrs, {out -> tl.maximum(out, -1.0)}", seen="nan-lost"),
        Mutant("bias-missing", "{    x += bias\n -> }", says="The bias was not added."),
        Mutant("row-in-the-columns", "offs_n = {pid_n -> pid_m} ", seen="unwritten-tail"),
        Mutant("sigmoid-of-u", "tl.sigmoid({2 *  -> }"),
        Mutant("square-for-cube", "044715 * x * x{ * x -> }"),
        Mutant("erf-form", "{x * tl.sigmoid(2 * u -> 0.5 * x * (1 + tl.erf(x * 0.7071067811865476)}"),
        Mutant("bias-after", "{    x += bias\n -> }", "sigmoid(2 * u){ ->  + bias}",
            says="The bias was added after the GELU instead of before it."),
        Mutant("bias-by-row", "{offs_n * stride_bn -> pid_m * stride_bn + 0 * offs_n}",
            says="Row m got bias[m]. The bias belongs to the columns."),
        Mutant("first-bias-for-all", "{offs_n * stride_bn -> 0 * offs_n}",
            says="Every column got bias[0]. The address of the bias needs the column."),
        Mutant("bias-at-the-flat-index", "{offs_n * stride_bn -> pid_m * N + offs_n}", says="bias-of-the-column",
            seen=("reads-outside",)),
        Mutant("bias-of-row-and-column", "{offs_n * stride_bn -> (pid_m + offs_n) * stride_bn}",
            says="bias-of-the-column", seen=("reads-outside",)),
        Mutant("bias-stride-forgotten", "offs_n{ * stride_bn -> }", seen=("strided-only", "reads-outside")),
        Mutant("rows-are-n-apart", "pid_m * {stride_xm -> N} ", seen="strided-only"),
        Mutant("column-stride-forgotten", "offs_n{ * stride_xn -> }", seen=("strided-only", "reads-outside")),
        Mutant("one-stride-for-two-tensors", "pid_m * {stride_om -> stride_xm} ",
            seen=("strided-only", "out-of-bounds-store")),
        Mutant("every-row-is-the-first", "{ + pid_m * stride_xm -> }", seen="rows-after-first"),
        Mutant("no-store-mask", "out{, mask=mask_n -> }", seen="out-of-bounds-store"),
        Mutant("one-tile-a-row", "{triton.cdiv(N, 1024) -> 1}", seen=("unwritten-tail", "unwritten")),
        Mutant("grid-rounds-down", "{triton.cdiv(N, -> max(1, N //}", seen=("unwritten-tail", "unwritten")),
        Mutant("grid-turned-round", "{M, triton.cdiv(N, 1024) -> triton.cdiv(N, 1024), M}",
            seen=("unwritten", "unwritten-tail", "out-of-bounds-store")),
        Mutant("half-arithmetic",
            "x {+= bias -> = (x.to(out_ptr.dtype.element_ty) + bias.to(out_ptr.dtype.element_ty)).to(tl.float32)}"),
        Mutant("bias-only-in-u", "{x += -> z = x +} bias", "{x + 0.044715 * x * x * x -> z + 0.044715 * z * z * z}",
            says="The bias is in u but not in the factor before the sigmoid. Add it once, at the start."),
        Mutant("bias-not-in-u", "{    x += bias\n -> }", "out = {x -> (x + bias)} * tl.sigmoid",
            says="The bias is in the factor before the sigmoid but not in u. Add it once, at the start."),
        Mutant("bias-multiplied", "x {+= -> *=} bias", says="x was multiplied by the bias. Add it."),
        Mutant("bias-subtracted", "x {+ -> -}= bias"),
        Mutant("bias-with-the-column-stride-of-x", "offs_n * {stride_bn -> stride_xn},",
            seen=("strided-only", "reads-outside")),
        Mutant("out-with-the-strides-of-x", "{stride_om + offs_n * stride_on -> stride_xm + offs_n * stride_xn}",
            seen=("strided-only", "out-of-bounds-store")),
        Mutant("tile-number-forgotten", "{pid_n * BLOCK_SIZE +  -> }", seen=("unwritten-tail", "race")),
        Mutant("every-row-into-the-first", "{ + pid_m * stride_om -> }", seen=("unwritten-tail", "race")),
        Mutant("no-load-mask", "x_ptrs{, mask=mask_n -> }", seen="reads-outside", only="interpreter"),
        Mutant("no-shape-check", "{bias.shape != x.shape[1:] or  -> }", seen="should-raise"),
        Mutant("bias-added-by-torch", "{ -> x = x + bias\n    bias = bias - bias\n    }M, N = x.shape",
            seen="torch-compute"),
    ],
    "gelu_backward": [
        Mutant("dy-missing", "dx = {dy -> 1.0} * (s +",
            says="This is the derivative itself. It has to be multiplied by dy."),
        Mutant("second-term-missing", "{ + x * s * (1 - s) * 2 * du -> }",
            says="This is dy times s. The second term of the product rule is missing."),
        Mutant("first-term-missing", "= dy * ({s +  -> }x ", says="The first term of the product rule, s, is missing."),
        Mutant("one-minus-s-missing", "s * {(1 - s) *  -> }", says="The factor 1 - s is missing from the second term."),
        Mutant("sigmoid-of-u", "tl.sigmoid({2 *  -> }", says="s is the sigmoid of u here. It is that of 2u."),
        Mutant("factor-missing", "= {SQRT_2_OVER_PI -> 1.0} ", says="The factor sqrt(2 / pi) is missing from du/dx."),
        Mutant("cube-for-square", "044715 * x * x{ ->  * x})", says="du/dx has x cubed where it should have x squared."),
        Mutant("two-missing", "(1 - s) * {2 *  -> }",
            says="The 2 is missing: s is a function of 2u, so du/dx comes in twice."),
        Mutant("three-missing", "SQRT_2_OVER_PI * (1 + {3 *  -> }",
            says="The 3 is missing from du/dx: the derivative of x^3 is 3 x^2."),
        Mutant("sign-of-one-minus-s", "* s * (1 {- -> +} s) ", says="The derivative of s has 1 - s, not 1 + s."),
        Mutant("derivative-of-tanh", "x * {s * (1 - s) -> (1 - s * s)}",
            says="1 - s * s is the derivative of tanh. The sigmoid's is s * (1 - s)."),
        Mutant("x-missing", "dy * (s + {x *  -> }s", says="The factor x is missing from the second term."),
        Mutant("s-missing", "x * {s *  -> }(1", says="The factor s is missing from the second term."),
        Mutant("dy-added", "dx = dy {* -> +} (s", says="dy was added. It multiplies the derivative."),
        Mutant("one-missing-from-du", "SQRT_2_OVER_PI * ({1 +  -> }3", says="The 1 is missing from du/dx: it is the derivative of x."),
        Mutant("x-for-its-square", "3 * 0.044715 * x{ * x -> })", says="du/dx has x where it should have x squared."),
        Mutant("dy-and-x-swapped", "dy = tl.load({dy_ptr -> x_ptr}", "x = tl.load({x_ptr -> dy_ptr}",
            says="`dy` and `x` were each loaded from the other's address."),
        Mutant("forward", "{(s + x * s * (1 - s) * 2 * du) -> x * s}",
            says="This is dy times GELU, not its derivative."),
        Mutant("tanh-that-overflows",
            "{s = tl.sigmoid(2 * SQRT_2_OVER_PI * (x + 0.044715 * x * x * x) -> e = tl.exp(2 * SQRT_2_OVER_PI * (x "
            "+ 0.044715 * x * x * x))\n"
            "    s = e / (1 + e}",
            seen=("overflow", "nan")),
        Mutant("second-term-without-dy", "{(s + x * s * (1 - s) * 2 * du) -> s + x * s * (1 - s) * 2 * du}",
            says="dy multiplies only the first term. It multiplies the whole derivative."),
        Mutant("first-term-without-dy", "{dy * (s + x * s * (1 - s) * 2 * du) -> s + dy * x * s * (1 - s) * 2 * du}",
            says="dy multiplies only the second term. It multiplies the whole derivative."),
        Mutant("sign", " dy * (s {+ -> -} x *", says="The second term has the wrong sign."),
        Mutant("dy-twice", " tl.load({x_ptr -> dy_ptr}", seen="unused-input"),
        Mutant("no-store-mask", " dx{, mask=mask -> }", seen="out-of-bounds-store"),
        Mutant("grid-rounds-down", "{triton.cdiv(n_elements, 1024) -> n_elements // 1024}", seen="unwritten-tail"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="if dy.shape != x.shape:\n"
                "    raise ValueError\n"
                'return torch.ops.aten.gelu_backward(dy, x, approximate="tanh")'),
    ],
}

BLOCK_256 = Variant("block-256", ("triton.cdiv(n_elements, 1024)", "triton.cdiv(n_elements, 256)"),
    ("BLOCK_SIZE=1024", "BLOCK_SIZE=256"))
EIGHT_WARPS = Variant("eight-warps", ("BLOCK_SIZE=1024)", "BLOCK_SIZE=1024, num_warps=8)"))
WRITTEN_CAST = Variant("cast-before-the-store",
    ("out_ptr + offs, out,", "out_ptr + offs, out.to(out_ptr.dtype.element_ty),"))

VARIANTS = {
    "silu": [
        BLOCK_256,
        EIGHT_WARPS,
        WRITTEN_CAST,
        Variant("written-out", "{* tl.sigmoid(x -> / (1 + tl.exp(-x)}"),
        Variant("by-exp2", "{* tl.sigmoid(x -> / (1 + tl.exp2(-1.4426950408889634 * x)}"),
    ],
    "gelu_tanh": [
        BLOCK_256,
        EIGHT_WARPS,
        WRITTEN_CAST,
        Variant("tanh-through-sigmoid", "{x * tl.sigmoid(2 * u -> 0.5 * x * (1 + 2 * tl.sigmoid(2 * u) - 1}"),
        Variant("exp-of-a-negative-number",
            "{out = x * tl.sigmoid(2 * u -> e = tl.exp(-2 * tl.abs(u))\n"
            "    t = (1 - e) / (1 + e)\n"
            "    out = 0.5 * x * (1 + tl.where(u >= 0, t, -t)}"),
        Variant("horner", "{(x + 0.044715 * x -> x * (1 + 0.044715}"),
    ],
    "bias_gelu": [
        Variant("block-128", "triton.cdiv(N, {1024 -> 128}", "BLOCK_SIZE={1024 -> 128}"),
        Variant("whole-row-in-one-tile", "{triton.cdiv(N, 1024) -> 1}",
            "BLOCK_SIZE={1024 -> triton.next_power_of_2(N)}"),
        Variant("masked-lanes-read-zero", "stride_bn, mask=mask_n{ -> , other=0.0}).to(tl"),
        Variant("sixty-four-bit-rows", "program_id(axis=0){ -> .to(tl.int64)}"),
    ],
    "gelu_backward": [
        BLOCK_256,
        Variant("cast-before-the-store", "offs, dx{ -> .to(dx_ptr.dtype.element_ty)}, mask"),
        Variant("through-tanh",
            "{dx = dy * (s + x * s * (1 - s) * 2 -> t = 2 * s - 1\n"
            "    dx = dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t)}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "bias_gelu": {
        'x = tl.load(x_ptrs, mask=mask_n).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'bias = tl.load(bias_ptr + offs_n * stride_bn, mask=mask_n).to(tl.float32) => bias = tl.load(bias_ptr + offs_n * stride_bn, mask=mask_n)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'out_ptrs = out_ptr + pid_m * stride_om + offs_n * stride_on => out_ptrs = out_ptr + pid_m * stride_om + offs_n': "the wrapper makes a contiguous result: its last stride is 1",
    },
    "gelu_backward": {
        'dy = tl.load(dy_ptr + offs, mask=mask).to(tl.float32) => dy = tl.load(dy_ptr + offs, mask=mask)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
    },
}
