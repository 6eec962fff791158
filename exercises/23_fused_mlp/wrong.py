"""Mistakes of 23_fused_mlp with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "gate-and-up-swapped tf32"
PROMISES = ("silu-in-torch", "two-walks", "predict")

GATE_STORE = "tl.store(out_ptr + pid_m * stride_om + offs_n * stride_on, out, mask=mask_n)"
UNWRITTEN = ("unwritten", "unwritten-tail")
STRIDES = ("strided-only", "reads-outside")

LOAD_X = "x = tl.load(x_ptrs, mask=mask_m & rest[None, :], other=0.0)"
LOAD_W = "w = tl.load(w_ptrs, mask=rest[:, None] & mask_w, other=0.0)"

# Sentences that several mistakes share.
SAYS = {
    "no-silu": "This is gate * up, without the SiLU.",
    "sigmoid-for-silu": "This is sigmoid(gate) * up. SiLU is gate * sigmoid(gate).",
    "no-up": "This is silu(gate): up is missing.",
    "added": "This is silu(gate) + up. The two are multiplied.",
    "silu-of-both": "The SiLU was taken of both. It belongs to gate alone.",
    "silu-of-the-product": "The SiLU was taken of gate * up. It belongs to gate alone.",
    "sign-of-the-exponential": "This is gate / (1 + exp(gate)) * up. The exponent of the sigmoid is -gate.",
    "base-two": "The exponential has base 2. `tl.exp2` needs the factor log2(e) in its exponent.",
    "one-forgotten": "This is gate / exp(-gate) * up. The sigmoid is 1 / (1 + exp(-gate)).",
    "gate-weight-twice": "Both products use w_gate.",
    "up-weight-twice": "Both products use w_up.",
    "steps-rounded":
        "gate, up, the SiLU or a sum was rounded to half precision on the way. Compute in float32, and round at the "
        "store.",
    "last-step-only":
        "Only the last step of the loop counts. Is both made before the loop, and is it the third argument of "
        "`tl.dot(x, w, both, ...)`, which adds to it?",
    "first-step-only":
        "Only the first step of the loop counts. Does the loop reach D, and does its mask let the later steps through?",
    "tail-left-out":
        "The last columns of x never entered the sums. The loop goes to D, range(0, D, BLOCK_K), and a mask cuts its "
        "last step.",
}

MUTANTS = {
    "silu_mul": [
        Mutant("gate-and-up-swapped", "{gate * tl.sigmoid(gate) * up -> up * tl.sigmoid(up) * gate}"),
        Mutant("no-silu", "{tl.sigmoid(gate) *  -> }"),
        Mutant("sigmoid-for-silu", "out = {gate *  -> }tl"),
        Mutant("no-up", "sigmoid(gate){ * up -> }"),
        Mutant("added", "sigmoid(gate) {* -> +} up"),
        Mutant("silu-of-both", "sigmoid(gate) * up{ ->  * tl.sigmoid(up)}"),
        Mutant("silu-of-the-product", "{tl.sigmoid(gate) * up -> up * tl.sigmoid(gate * up)}"),
        Mutant("sign-of-the-exponential", "{* tl.sigmoid(gate -> / (1.0 + tl.exp(gate)}"),
        Mutant("base-two", "{* tl.sigmoid(gate -> / (1.0 + tl.exp2(-gate)}"),
        Mutant("exponential-overflows", "tl.{sigmoid(gate -> exp(gate) / (1 + tl.exp(gate)}", seen=("nan", "overflow")),
        Mutant("steps-rounded",
            "{gate * tl.sigmoid(gate) * up -> (gate * tl.sigmoid(gate)).to(out_ptr.dtype.element_ty) * "
            "up.to(out_ptr.dtype.element_ty)}"),
        Mutant("sigmoid-of-half-precision", "gate_ptrs, mask=mask_n){.to(tl.float32) -> }",
            seen=("does-not-compile", "raised")),
        Mutant("one-forgotten", " {* tl.sigmoid( -> / tl.exp(-}"),
        Mutant("rounded-to-half", "stride_on, out{ -> .to(tl.float16)}, mask", seen="half-digits"),
        Mutant("no-store-mask", "out{, mask=mask_n -> }", seen="out-of-bounds-store"),
        Mutant("no-load-mask", "gate_ptrs{, mask=mask_n -> }", seen="reads-outside", only="interpreter"),
        Mutant("up-uses-strides-of-gate", "{stride_um + offs_n * stride_un -> stride_gm + offs_n * stride_gn}",
            seen=("strided-only", "reads-outside", "wrong-values")),
        Mutant("gate-uses-strides-of-up", "{stride_gm + offs_n * stride_gn -> stride_um + offs_n * stride_un}",
            seen=("strided-only", "reads-outside", "wrong-values")),
        Mutant("out-uses-strides-of-gate", "pid_m * {stride_om -> stride_gm} ",
            seen=("strided-only", "reads-outside", "out-of-bounds-store")),
        Mutant("columns-of-up-side-by-side", "offs_n{ * stride_un -> }", seen=STRIDES),
        Mutant("columns-of-gate-side-by-side", "offs_n{ * stride_gn -> }", seen=STRIDES),
        Mutant("rows-of-gate-packed", "pid_m * {stride_gm -> N} ", seen=STRIDES),
        Mutant("gate-read-twice", "tl.load({up_ptrs -> gate_ptrs}", seen=("wrong-values", "unused-input")),
        Mutant("first-row-only", "{pid_m * stride_gm +  -> }", seen=STRIDES),
        Mutant("one-tile-for-each-row", "{ * triton.cdiv(N, 512) -> }", seen=UNWRITTEN),
        Mutant("grid-rounds-down", "{triton.cdiv(N, -> (N //}", seen=UNWRITTEN),
        Mutant("float32-result", "dtype={gate.dtype -> torch.float32}", seen="wrong-dtype"),
        Mutant("takes-any-shapes", "{shape != up.shape -> ndim != up.ndim}", seen="should-raise"),
        Mutant("lies-like-gate", "{empty((M, N), dtype=gate.dtype, device=gate.device -> empty_like(gate}",
            seen="property"),
        Mutant("in-place", "{torch.empty((M, N), dtype=gate.dtype, device=gate.device) -> gate}",
            seen=("aliases-input", "input-changed")),
        Mutant("silu-in-torch", "{ -> gate = torch.nn.functional.silu(gate)\n    }M, N = gate.shape",
            seen="torch-compute"),
    ],
    "gate_up_swiglu": [
        Mutant("gate-and-up-swapped", "{gate / (1.0 + tl.exp(-gate)) * up -> up * tl.sigmoid(up) * gate}",
            says="gate-and-up-swapped"),
        Mutant("no-silu", "{/ (1.0 + tl.exp(-gate))  -> }"),
        Mutant("sigmoid-for-silu", "{gate / (1.0 + tl.exp(-gate) -> tl.sigmoid(gate}"),
        Mutant("no-up", "{/ (1.0 + tl.exp(-gate)) * up -> * tl.sigmoid(gate)}"),
        Mutant("silu-of-both", "{/ (1.0 + tl.exp(-gate)) * up -> * tl.sigmoid(gate) * up * tl.sigmoid(up)}"),
        Mutant("gate-weight-twice", "exp(-gate)) * {up -> gate}"),
        Mutant("up-weight-twice", "{gate / (1.0 + tl.exp(-gate -> up / (1.0 + tl.exp(-up}"),
        Mutant("halves-taken-the-wrong-way-round", "{gate, up -> up, gate} = halves", says="gate-and-up-swapped"),
        Mutant("x-stands-still", "{        x_ptrs += BLOCK_K * stride_xd\n -> }",
            says="x stands still: every step multiplies its first tile. Advance its pointers along D."),
        Mutant("weights-stand-still", "{        w_ptrs += BLOCK_K * stride_wd\n -> }",
            says="The weights stand still: every step multiplies their first tile. Advance their pointers along D."),
        Mutant("nothing-advances", "{        x_ptrs += BLOCK_K * stride_xd\n -> }",
            "{        w_ptrs += BLOCK_K * stride_wd\n -> }",
            says="Every step multiplies the same tiles. Advance the pointers of x and of the weights along D."),
        Mutant("x-advances-by-one", " {BLOCK_K *  -> }stride_xd",
            says="x moves on by one column in each step. A step is BLOCK_K long."),
        Mutant("weights-advance-by-one", " {BLOCK_K *  -> }stride_wd",
            says="The tile of weights moves on by one row in each step. A step is BLOCK_K long."),
        Mutant("all-advance-by-one", " {BLOCK_K *  -> }stride_xd", " += {BLOCK_K *  -> }",
            says="Each pointer moves on by one row or column in each step. A step is BLOCK_K long."),
        Mutant("sign-of-the-exponential", "+ tl.exp({- -> }gate"),
        Mutant("base-two", " (1.0 + tl.{exp -> exp2}"),
        Mutant("added", "{/ (1.0 + tl.exp(-gate)) * -> * tl.sigmoid(gate) +}"),
        Mutant("x-advances-without-its-stride", "BLOCK_K{ * stride_xd -> }", seen=("strided-only", "reads-outside")),
        Mutant("weights-move-sideways", "BLOCK_K{ * stride_wd -> }",
            says="The weights move on along a row, by BLOCK_K elements in each step. Along D their elements lie "
                "`stride_wd` apart."),
        Mutant("step-of-the-other", "BLOCK_K * {stride_wd -> stride_gd}",
            says="w_up moves on by a step that is not its own: that of w_gate, or a row's length. Each column of the "
                "wide tile takes its own, `stride_wd`."),
        Mutant("up-with-strides-of-gate", "{tl.where(of_gate, stride_gd, stride_ud) -> stride_gd}",
            "{tl.where(of_gate, stride_gh, stride_uh) -> stride_gh}",
            says="w_up was read as if it lay in memory as w_gate does. Each weight has strides of its own."),
        Mutant("gate-with-strides-of-up", "{tl.where(of_gate, stride_gd, stride_ud) -> stride_ud}",
            "{tl.where(of_gate, stride_gh, stride_uh) -> stride_uh}",
            says="w_gate was read as if it lay in memory as w_up does. Each weight has strides of its own."),
        Mutant("columns-of-x-side-by-side", ":]{ * stride_xd -> }", "BLOCK_K{ * stride_xd -> }",
            seen=("strided-only", "reads-outside")),
        Mutant("gate-like-up", "BLOCK_K * {stride_wd -> stride_ud}",
            says="w_gate moves on by a step that is not its own: that of w_up, or a row's length. Each column of the "
                "wide tile takes its own, `stride_wd`.",
            seen="step-of-the-other"),
        Mutant("exponential-overflows", "{/ (1.0 + tl.exp(- -> * tl.exp(gate) / (1 + tl.exp(}",
            seen=("nan", "overflow")),
        Mutant("silu-of-the-product", "{/ (1.0 + tl.exp(-gate)) * up -> * up\n    out = out * tl.sigmoid(out)}"),
        Mutant("one-forgotten", "{(1.0 + tl.exp(-gate) -> tl.exp(-gate}"),
        Mutant("halves-by-turns", "{halves(both, BLOCK_M, BLOCK_N -> tl.split(both.reshape(BLOCK_M, BLOCK_N, 2)}",
            says="Neighbouring columns were told apart, not the two halves. `halves` does that."),
        Mutant("x-moves-by-d", " += {BLOCK_K -> d} * stride_xd",
            says="x moves on by d in each step. A step is BLOCK_K long, and pointers keep where they have got to."),
        Mutant("weights-move-by-d", " += {BLOCK_K -> d} * stride_wd",
            says="The tile of weights moves on by d in each step. A step is BLOCK_K long, and pointers keep where they "
                "have got to."),
        Mutant("steps-rounded",
            '{= tl.dot(x, w, both, input_precision="ieee" -> += tl.dot(x, w, '
            'input_precision="ieee").to(out_ptr.dtype.element_ty}',
            says="steps-rounded"),
        Mutant("steps-in-float16",
            '{= tl.dot(x, w, both, input_precision="ieee" -> += tl.dot(x, w, input_precision="ieee").to(tl.float16}',
            says="steps-rounded"),
        Mutant("result-in-half", "out_ptrs, out{ -> .to(tl.float16)}, mask", seen="half-digits"),
        Mutant("loop-counts-by-one", "(0, D{, BLOCK_K -> }", seen="reads-outside"),
        Mutant("both-move-by-d", " += {BLOCK_K -> d} * stride_xd", "w_ptrs += {BLOCK_K -> d} ",
            says="Each pointer moves on by d in each step. A step is BLOCK_K long, and pointers keep where they have "
                "got to."),
        Mutant("last-column-left-out", "d + offs_d < D{ ->  - 1}",
            says="The last column of x never entered the sums: the mask along D is one too short."),
        Mutant("both-made-in-the-loop",
            "{ -> both = tl.zeros((BLOCK_M, 2 * BLOCK_N), dtype=tl.float32)\n        }w = tl.load(w_ptrs",
            says="last-step-only"),
        Mutant("brackets-forgotten", " {rest[None, :] -> offs_d[None, :] < D - d}",
            seen=("reads-outside", "does-not-compile")),
        Mutant("two-walks",
            "{both = tl.zeros((BLOCK_M, 2 * BLOCK_N), dtype=tl.float32) -> gate = tl.zeros((BLOCK_M, BLOCK_N), "
            "dtype=tl.float32)\n"
            "    gate_ptrs = gate_ptr + offs_d[:, None] * stride_gd + offs_h[None, :] * stride_gh\n"
            "    up = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n"
            "    up_ptrs = up_ptr + offs_d[:, None] * stride_ud + offs_h[None, :] * stride_uh\n"
            "    x_first = x_ptrs\n"
            "    for d in range(0, D, BLOCK_K):\n"
            "        rest = d + offs_d < D\n"
            "        x = tl.load(x_first, mask=mask_m & rest[None, :], other=0.0)\n"
            "        gate = tl.dot(x, tl.load(gate_ptrs, mask=rest[:, None] & mask_h, other=0.0), gate, "
            'input_precision="ieee")\n'
            "        x_first += BLOCK_K * stride_xd\n"
            "        gate_ptrs += BLOCK_K * stride_gd}",
            "{w = tl.load(w_ptrs, mask=rest[:, None] & mask_w, other=0.0) -> wide = rest[:, None] & mask_h}",
            "{both = tl.dot(x, w, both -> up = tl.dot(x, tl.load(up_ptrs, mask=wide, other=0.0), up}",
            "{w_ptrs += BLOCK_K * stride_wd -> up_ptrs += BLOCK_K * stride_ud}",
            "{    gate, up = halves(both, BLOCK_M, BLOCK_N)\n -> }", seen="property"),
        Mutant("tile-under-another-name", "{x -> a} = tl.load(x_ptrs", seen=("does-not-compile", "raised")),
        Mutant("stored-in-the-loop",
            "        w_ptrs += BLOCK_K * stride_wd\n"
            "{ ->         gate, up = halves(both, BLOCK_M, BLOCK_N)\n"
            "        out = gate / (1.0 + tl.exp(-gate)) * up\n"
            "        tl.store(out_ptrs, out, mask=mask_m & mask_h)\n}",
            "{gate, up = halves(both, BLOCK_M, BLOCK_N)\n"
            "    out = gate / (1.0 + tl.exp(-gate)) * up … tl.store(out_ptrs, out, mask=mask_m & mask_h) -> pass}",
            seen="property"),
        Mutant("sums-added-twice", "both { -> +}= tl.dot(",
            says="The sum so far is added twice in each step. `tl.dot(x, w, both, ...)` has added both already: "
                "assign, no `+=`."),
        Mutant("first-step-only", "in range(0, {D -> min(D, BLOCK_K)}, ", says="first-step-only"),
        Mutant("last-step-dropped", "in range(0, D{ ->  - BLOCK_K + 1}, ", says="tail-left-out"),
        Mutant("loop-over-h", "in range(0, {D -> H}, ", says="tail-left-out", seen="first-step-only"),
        Mutant("sum-gated-in-the-loop", "{ -> both = both * tl.sigmoid(both)\n        }x_ptrs += BLOCK_K",
            seen="wrong-values"),
        Mutant("gated-in-each-step",
            "{ ->     out = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n}    for d in range",
            '{both = tl.dot(x, w, both, input_precision="ieee") -> gate, up = halves(tl.dot(x, w, '
            'input_precision="ieee"), BLOCK_M, BLOCK_N)\n'
            "        out += gate * tl.sigmoid(gate) * up}",
            "{    gate, up = halves(both, BLOCK_M, BLOCK_N)\n    out = gate / (1.0 + tl.exp(-gate)) * up\n -> }",
            says="The gate was applied in each step of the loop. It needs the whole sums: it comes after the loop."),
        Mutant("no-mask-along-d", "{ & rest[None, :] -> }", "{rest[:, None] &  -> }", seen=("reads-outside", "nan")),
        Mutant("weights-not-masked-past-h", "None]{ & mask_w -> }", seen=("reads-outside", "nan"), only="interpreter"),
        Mutant("mask-of-one-half", "None] & {mask_w -> mask_h},", seen=("does-not-compile", "raised")),
        Mutant("not-taken-apart", "{, up = halves(both, BLOCK_M, BLOCK_N) ->  = up = both}",
            seen=("does-not-compile", "raised")),
        Mutant("no-mask-of-x-along-d", "{ & rest[None, :] -> }", seen=("reads-outside", "nan")),
        Mutant("mask-never-moves", "rest = {d +  -> }offs_d", seen=("reads-outside", "nan")),
        Mutant("mask-of-all-steps", "{d + offs_d < D -> offs_d + d < BLOCK_K}", says="first-step-only"),
        Mutant("mask-one-too-many", "d + offs_d <{ -> =} D", seen=("reads-outside", "nan", "wrong-values")),
        Mutant("other-forgotten", " :]{, other=0.0 -> }", "mask_w{, other=0.0 -> }", seen="no-other",
            only="interpreter"),
        Mutant("sums-rounded-before-the-gate",
            "{ -> both = both.to(out_ptr.dtype.element_ty).to(tl.float32)\n    }gate, up = halves",
            says="steps-rounded"),
        Mutant("up-rounded-before-the-gate",
            "{ -> up = up.to(out_ptr.dtype.element_ty).to(tl.float32)\n    }out = gate / (", says="steps-rounded",
            seen="wrong-values"),
        Mutant("no-input-precision", '{, input_precision="ieee" -> }', seen="tf32"),
        Mutant("tf32", 'input_precision="{ieee -> tf32}', seen="tf32"),
        Mutant("no-store-mask", "{, mask=mask_m & mask_h -> }", seen="out-of-bounds-store"),
        Mutant("store-mask-of-rows", "mask_m{ & mask_h -> }", seen="out-of-bounds-store"),
        Mutant("not-stored", "{tl.store(out_ptrs, out, mask=mask_m & mask_h) -> out = out}",
            seen=("unwritten", "unwritten-tail", "not-attempted")),
        Mutant("grid-rounds-down", "{triton.cdiv(H, -> (H //}", seen=UNWRITTEN),
        Mutant("takes-any-shapes", "{shape != w_up.shape or x.shape[1] != w_gate.shape[0] -> ndim != w_up.ndim}",
            seen="should-raise"),
        Mutant("gate-in-torch", "return out{ ->  * 1}", seen="torch-compute"),
        Mutant("contiguous-copies", "{ -> w_gate, w_up = w_gate.contiguous(), w_up.contiguous()\n    }M, D = x.shape",
            seen="property"),
        Mutant("copy-of-one", "{ -> w_up = w_up.clone()\n    }M, D = x.shape", seen="property"),
        Mutant("three-kernels",
            "{M, D = x.shape … return out -> return silu_mul(matmul_tuned(x, w_gate), matmul_tuned(x, w_up))}",
            seen="wrong-launch-count"),
    ],
    "mlp_swiglu": [
        Mutant("gate-and-up-swapped", " {w_gate, w_up -> w_up, w_gate})"),
        Mutant("gate-weight-twice", " w_gate, {w_up -> w_gate})"),
        Mutant("up-weight-twice", "(x, {w_gate -> w_up}, w_up)"),
        Mutant("down-forgotten", "{matmul_tuned(hidden, w_down) -> hidden}", seen="wrong-shape"),
        Mutant("down-in-torch", "{matmul_tuned(hidden, w_down) -> hidden @ w_down}", seen="torch-compute"),
        Mutant("down-transposed", "hidden, w_down{ -> .T})", seen=("raised", "wrong-shape")),
        Mutant("hidden-computed-twice", "{ ->     hidden = gate_up_swiglu(x, w_gate, w_up)\n}    return matmul_tuned",
            seen="property"),
        Mutant("copy-of-down", "hidden, w_down{ -> .contiguous()})", seen="property"),
        Mutant("gate-of-task-1",
            "{gate_up_swiglu(x, w_gate, w_up -> silu_mul(matmul_tuned(x, w_gate), matmul_tuned(x, w_up)}",
            seen="property"),
        Mutant("no-gate", "{gate_up_swiglu(x, w_gate -> matmul_tuned(x}",
            says="The gate is missing: this is x @ w_up @ w_down."),
        Mutant("all-in-torch",
            "{hidden = … w_down) -> return (torch.nn.functional.silu(x @ w_gate) * (x @ w_up)) @ w_down}",
            seen=("no-kernel-launched", "torch-compute")),
        Mutant("gate-in-torch",
            "{gate_up_swiglu(x, w_gate -> torch.nn.functional.silu(matmul_tuned(x, w_gate)) * matmul_tuned(x}",
            seen="torch-compute"),
        Mutant("two-results", "hidden, w_down){ -> , hidden}", seen="wrong-type"),
        Mutant("no-return", "{return  -> }matmul_tuned", seen="wrong-type"),
    ],
}

VARIANTS = {
    "silu_mul": [
        Variant("tiles-of-256", "triton.cdiv(N, {512 -> 256}", "), BLOCK_N={512 -> 256, num_warps=2}"),
        Variant("silu-by-division", "{* tl.sigmoid(gate -> / (1.0 + tl.exp(-gate)}"),
        Variant("other-order", "{gate * tl.sigmoid(gate) * up -> up * (gate * tl.sigmoid(gate))}"),
        Variant("masked-lanes-read-zero", "gate_ptrs, mask=mask_n{ -> , other=0.0}).to(tl"),
        Variant("cast-before-the-store", "stride_on, out{ -> .to(out_ptr.dtype.element_ty)}, mask"),
        Variant("up-goes-to-float32-by-itself", "up_ptrs, mask=mask_n){.to(tl.float32) -> }"),
    ],
    "gate_up_swiglu": [
        Variant("tiles-of-32",
            "{gate_up_tile(M, x.dtype -> dict(BLOCK_M=32, BLOCK_N=32, BLOCK_K=16, num_warps=4, num_stages=2}"),
        Variant("dot-added-afterwards", "{= tl.dot(x, w, both -> += tl.dot(x, w}"),
        Variant("silu-by-sigmoid", "{/ (1.0 + tl.exp(-gate) -> * tl.sigmoid(gate}"),
        Variant("cast-before-the-store", "out_ptrs, out{ -> .to(out_ptr.dtype.element_ty)}, mask"),
        Variant("steps-counted",
            "{d in range … offs_d < D -> step in range(0, tl.cdiv(D, BLOCK_K)):\n"
            "        rest = offs_d < D - step * BLOCK_K}"),
        Variant("pointers-by-d", "tl.load(x_ptrs{ ->  + d * stride_xd},",
            "{        x_ptrs += BLOCK_K * stride_xd\n -> }"),
        Variant("halves-by-split",
            "{halves(both, BLOCK_M, BLOCK_N -> tl.split(tl.trans(both.reshape(BLOCK_M, 2, BLOCK_N), 0, 2, 1)}"),
        Variant("two-sums",
            "{both = tl.zeros((BLOCK_M, 2 * BLOCK_N), dtype=tl.float32) -> gate = tl.zeros((BLOCK_M, BLOCK_N), "
            "dtype=tl.float32)\n"
            "    gate_ptrs = gate_ptr + offs_d[:, None] * stride_gd + offs_h[None, :] * stride_gh\n"
            "    up = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)\n"
            "    up_ptrs = up_ptr + offs_d[:, None] * stride_ud + offs_h[None, :] * stride_uh}",
            "{w = tl.load(w_ptrs, mask=rest[:, None] & mask_w, other=0.0) -> wide = rest[:, None] & mask_h}",
            "{both = tl.dot(x, w, both -> gate = tl.dot(x, tl.load(gate_ptrs, mask=wide, other=0.0), gate, "
            'input_precision="ieee")\n'
            "        up = tl.dot(x, tl.load(up_ptrs, mask=wide, other=0.0), up}",
            "{w_ptrs += BLOCK_K * stride_wd -> gate_ptrs += BLOCK_K * stride_gd\n"
            "        up_ptrs += BLOCK_K * stride_ud}",
            "{    gate, up = halves(both, BLOCK_M, BLOCK_N)\n -> }"),
        Variant("zero-weights-are-enough", "rest[None, :]{ ->  & (offs_d[None, :] >= 0)},"),
    ],
    "mlp_swiglu": [
        Variant("in-one-line", "{hidden = … hidden -> return matmul_tuned(gate_up_swiglu(x, w_gate, w_up)}"),
        Variant("by-keyword", " {w_gate, w_up -> w_up=w_up, w_gate=w_gate})"),
        Variant("by-the-product-of-page-20", 'return {matmul_tuned -> reference("matmul")}'),
    ],
}

ONE_FACTOR = "the other factor of each such product is 0"
EQUIVALENT = {
    "silu_mul": {
        "up = tl.load(up_ptrs, mask=mask_n).to(tl.float32) => up = tl.load(up_ptrs, mask=mask_n)": "it goes to float32 in the product with the SiLU",
        f"{GATE_STORE} => {GATE_STORE.replace('offs_n * stride_on', 'offs_n')}": "out is contiguous, so its columns lie side by side",
    },
    "gate_up_swiglu": {
        f"{load} => {load.replace('0.0', '1.0')}": ONE_FACTOR for load in (LOAD_X, LOAD_W)
    },
}
