"""Mistakes of 40_rope with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "no-offset not-turned other-pairing"
PROMISES = ("heads-forgotten", "pairings-swapped", "negates-by-torch")

LOAD_A = "a = tl.load(x_rows + first * stride_xd, mask=mask).to(tl.float32)"
LOAD_B = "b = tl.load(x_rows + second * stride_xd, mask=mask).to(tl.float32)"

TUNED = """@triton.autotune([triton.Config({{}}, num_warps=warps) for warps in (1, 4)], key=["H", "HK", "HALF"]{})
"""

# Sentences that several mistakes share.
SAYS = {
    "sin-for-cos": "In both results, a cos - b sin and b cos + a sin, cos and sin have changed places.",
    "swapped":
        "The gradient of one stands where that of the other belongs, in the launch or in what is returned. Or are both "
        "one tensor?",
}

MUTANTS = {
    "rope": [
        Mutant("copied-first",
            ("    q_out, k_out = out or", "    q, k = q.contiguous(), k.contiguous()\n    q_out, k_out = out or"),
            seen="copies"),
        Mutant("turned-back", ", a * cos {- -> +} b ", ", b * cos {+ -> -} a ", says="wrong-sign"),
        Mutant("wrong-sign-first", ", a * cos {- -> +} b ",
            says="In the first result, a cos - b sin, the product with sin has the wrong sign."),
        Mutant("wrong-sign-second", ", b * cos {+ -> -} a ",
            says="In the second result, b cos + a sin, the product with sin has the wrong sign."),
        Mutant("sine-of-the-other-second", " b * cos + {a -> b} *",
            says="In the second result, b cos + a sin, sin is multiplied by the wrong partner."),
        Mutant("sine-of-the-other-first", " a * cos - {b -> a} *",
            says="In the first result, a cos - b sin, sin is multiplied by the wrong partner."),
        Mutant("cosine-of-the-other-second", "stride_yd, {b -> a} *",
            says="In the second result, b cos + a sin, cos is multiplied by the wrong partner."),
        Mutant("cos-and-sin-swapped", " {cos - b * sin -> sin - b * cos}", " {cos + a * sin -> sin + a * cos}",
            says="sin-for-cos"),
        Mutant("no-sine", " cos{ - b * sin -> }", " cos{ + a * sin -> }",
            says="In both results, a cos - b sin and b cos + a sin, the product with sin is missing."),
        Mutant("new-a",
            "{tl.store(y_rows + first * stride_yd, a * cos - b * sin -> a = a * cos - b * sin\n"
            "    tl.store(y_rows + first * stride_yd, a}",
            says="The second result was computed from the new a. Both formulas need the a that was loaded."),
        Mutant("new-b",
            "{tl.store(y_rows + first … tl.store(y_rows + second * stride_yd, b * cos + a -> b = b * cos + a * sin\n"
            "    tl.store(y_rows + second * stride_yd, b, mask=mask)\n"
            "    tl.store(y_rows + first * stride_yd, a * cos - b}",
            says="The first result was computed from the new b. Both formulas need the b that was loaded."),
        Mutant("results-swapped", "y_rows + {first -> second} * ", ".store(y_rows + {second -> first} * stride_yd, b",
            says="The two results have changed places: a cos - b sin belongs into the columns `first`."),
        Mutant("not-turned", "{ * cos - b * sin -> }", "{ * cos + a * sin -> }"),
        Mutant("second-into-first", "y_rows + {second -> first} * ",
            says="Both results are stored into the columns `first`, the second one over the first."),
        Mutant("second-unwritten", "{tl.store(y_rows + second * stride_yd, b * cos + a * sin, mask=mask) -> pass}",
            says="The columns `second` were never written: b cos + a sin belongs there."),
        Mutant("first-for-both", "x_rows + {second -> first} * ",
            says="b holds what a holds: the second partner was loaded from the columns `first`."),
        Mutant("partners-swapped", "{first -> second} * stride_xd", "b = tl.load(x_rows + {second -> first}",
            says="a and b have changed places: a is the partner in the column `first`."),
        Mutant("b-from-one-column-0", "{ + second * stride_xd -> }",
            says="b is the same number for all pairs of a head: its address lacks the columns."),
        Mutant("a-one-further", "first {* -> +} stride_xd",
            says="a was loaded one column further on. Multiply `first` by the stride, and add nothing."),
        Mutant("pairings-swapped", "if { -> not }INTERLEAVED", says="other-pairing"),
        Mutant("always-half-split", "{2 * offs_p, 2 * offs_p + 1 -> offs_p + 0, offs_p + HALF}", says="other-pairing"),
        Mutant("always-interleaved", "{offs_p, offs_p + HALF -> 2 * offs_p, 1 + 2 * offs_p}", says="other-pairing"),
        Mutant("interleaved-columns-0", "{2 * offs_p, 2 * -> offs_p,}",
            says="In the interleaved form pair p has the columns 2p and 2p + 1. Try your line with pair 0, and with "
                "pair 1."),
        Mutant("interleaved-columns-1", "{2 * offs_p, 2 * offs_p + 1 -> offs_p, 2 * offs_p}",
            says="In the interleaved form pair p has the columns 2p and 2p + 1. Try your line with pair 0, and with "
                "pair 1."),
        Mutant("same-columns", " offs_p{ + HALF -> }", says="`first` and `second` are the same columns."),
        Mutant("half-of-the-tile", " offs_p + {HALF -> BLOCK_P}", seen=("out-of-bounds-store", "reads-outside")),
        Mutant("interleaved-one-too-far", "{, 2 * offs_p + 1 ->  + 1, 2 * offs_p + 2}",
            seen=("out-of-bounds-store", "reads-outside")),
        Mutant("heads-forgotten", "tl.load({x_rows -> x_ptr} + first", "tl.load({x_rows -> x_ptr}", seen="rows-moved"),
        Mutant("heads-added-twice", "x_rows + { -> offs_h * stride_xh + }first *",
            "x_rows + { -> offs_h * stride_xh + }second *", seen="reads-outside"),
        Mutant("in-half-precision", "first * stride_xd, mask=mask){.to(tl.float32) -> }", "mask){.to(tl.float32) -> }",
            " cos{ - b * sin -> .to(a.dtype) - b * sin.to(a.dtype)}",
            " cos{ + a * sin -> .to(a.dtype) + a * sin.to(a.dtype)}",
            says="Products and sums were rounded to half precision. Take a and b to float32, and leave cos and sin "
                "there: the store rounds, once.",
            on_gpu=("wrong-values",)),
        Mutant("loads-without-column-stride", "first{ * stride_xd -> }", "second{ * stride_xd -> }",
            seen=("strided-only", "reads-outside")),
        Mutant("stores-without-column-stride", "first{ * stride_yd -> }", "second{ * stride_yd -> }",
            seen=("strided-only", "out-of-bounds-store", "race")),
        Mutant("stores-with-the-stride-of-x", " * {stride_yd -> stride_xd}, a", "second * {stride_yd -> stride_xd},",
            seen="property"),
        Mutant("loads-with-the-stride-of-y", "first * {stride_xd -> stride_yd}, mask",
            "second * {stride_xd -> stride_yd},", seen="property"),
        Mutant("no-mask-at-the-loads", "first * stride_xd{, mask=mask -> }).to(", "stride_xd{, mask=mask -> }",
            seen="reads-outside"),
        Mutant("no-mask-at-the-stores", "b * sin{, mask=mask -> })", "sin{, mask=mask -> }",
            seen=("out-of-bounds-store", "race")),
        Mutant("loads-again-after-a-store",
            "{ -> a = tl.load(x_rows + first * stride_xd, mask=mask).to(tl.float32)\n    }tl.store(y_rows + second",
            seen="property"),
        # what the page gives
        Mutant("mask-forgets-the-heads", "= (offs_h {< H -> >= 0})", seen=("out-of-bounds-store", "reads-outside")),
        Mutant("mask-forgets-the-pairs", "offs_p {< HALF -> >= 0})",
            seen=("out-of-bounds-store", "reads-outside", "race")),
        Mutant("no-offset", "cos_ptr + {(pos_offset + token) -> token} * ", "{(pos_offset + token) -> token}"),
        Mutant("batch-shifts-the-position", "pos_offset + token{ ->  + b}) * stride_cl",
            "pos_offset + token{ ->  + b})", seen=("reads-outside", "rows-after-first")),
        Mutant("tables-swapped", "q, k, q_out, k_out, {cos, sin -> sin, cos},\n        ", says="sin-for-cos"),
        Mutant("heads-of-q-for-k", "{HK -> H}, HALF, INTERLEAVED", "next_power_of_2({HK -> H}",
            seen=("out-of-bounds-store", "reads-outside", "race")),
        Mutant("heads-of-k-for-q", "{H -> HK}, HALF, INTERLEAVED", seen=("unwritten", "unwritten-tail")),
        Mutant("output-has-the-input-strides", "{stride_oh, stride_od -> stride_qh, stride_qd}",
            seen=("out-of-bounds-store", "strided-only", "unwritten", "property")),
        Mutant("batch-forgotten", "(tl.int64), { -> 0 * }tl", seen=("unwritten-tail", "unwritten", "race")),
        Mutant("writes-into-q", "{torch.empty_like(q) -> q}", seen=("input-changed", "aliases-input")),
        Mutant("out-ignored", "k_out = {out or  -> }", seen="property"),
        Mutant("out-returned-unwritten", "return {q_out, k_out -> out or (q_out, k_out)}",
            "{out or (torch.empty_like(q), torch.empty_like(k) -> torch.empty_like(q), torch.empty_like(k}",
            seen="property"),
        Mutant("forgets-k",
            "{k_out_ptr + b * stride_pb + token * stride_pl -> k_ptr + b * stride_kb + token * stride_kl}",
            seen=("unwritten", "input-changed")),
        Mutant("tuned-over-its-inputs", ("@triton.jit\ndef rope_kernel", TUNED.format("") + "@triton.jit\ndef rope_kernel"),
            "{        num_warps=min(8, max(1, BLOCK_H * BLOCK_P // 256)),  # few heads need few threads\n -> }", seen="property"),
        Mutant("tokens-on-axis-1", "token, b = tl.program_id({0).to(tl.int64), tl.program_id(1 -> 1).to(tl.int64), tl.program_id(0})", "rope_kernel[({L, B -> B, L})", seen="grid-limit"),
        Mutant("one-program-a-batch", "rope_kernel[(L, {B -> 1})",
            seen=("unwritten", "unwritten-tail", "rows-after-first")),
        Mutant("no-shape-check", "{    check_rope_inputs(q, k, cos, sin, pos_offset, out)\n -> }", seen="should-raise"),
        Mutant("torch-stand-in",
            "{, out)\n"
            "    q_out … return q_out, k_out -> )\n"
            "    return rope_ref(q, k, cos, sin, interleaved, pos_offset)}", seen="no-kernel-launched", kernels='''
def launch_rope(*arguments):
    pass
'''),
    ],
    "rope_backward": [
        Mutant("turned-forwards", "pos_offset, {- -> }1", says="This is the forward turn. The gradient turns back."),
        Mutant("sin-for-cos", "dk_in, {cos, sin -> sin, cos}, ", says="cos and sin have changed places."),
        Mutant("not-a-sign", "pos_offset, -{1 -> 2}.",
            says="The angles are turned by more than their sign: `sign` is 1.0 or -1.0."),
        Mutant("other-pairing", ", {interleaved -> False},"),
        Mutant("no-offset", "interleaved, {pos_offset -> 0},"),
        Mutant("returns-dk-first", "return {dq_in, dk_in -> dk_in, dq_in}", says="swapped", seen="wrong-shape"),
        Mutant("launches-dk-first", "launch_rope({dq, dk -> dk, dq},", says="swapped",
            seen=("wrong-shape", "out-of-bounds-store")),
        Mutant("one-tensor-for-both",
            "{, dk_in = torch.empty_like(dq), torch.empty_like(dk ->  = dk_in = torch.empty_like(dq}", says="swapped",
            seen="wrong-shape"),
        Mutant("returns-dq-alone", "return dq_in{, dk_in -> }", seen="wrong-type"),
        Mutant("unchanged", "return {dq_in, dk_in -> dq, dk}",
            says="The gradients come back as they came in. Return the two new tensors."),
        Mutant("changes-the-gradients", "{torch.empty_like(dq), torch.empty_like(dk) -> dq, dk}",
            seen=("input-changed", "aliases-input")),
        Mutant("dk-with-the-shape-of-dq", ".empty_like({dk -> dq}", seen="wrong-shape"),
        Mutant("turns-the-result-again",
            "{ ->     launch_rope(dq_in, dk_in, dq_in, dk_in, cos, sin, interleaved, pos_offset, 1.0)\n}    return",
            seen="wrong-launch-count"),
        Mutant("no-launch", "{    launch_rope(dq, dk, dq_in, dk_in, cos, sin, interleaved, pos_offset, -1.0)\n -> }",
            seen="no-kernel-launched"),
        Mutant("negates-by-torch", "{sin, interleaved, pos_offset, - -> -sin, interleaved, pos_offset, }",
            seen="torch-compute"),
        Mutant("always-float32", "empty_like(dq{ -> , dtype=torch.float32})", seen="wrong-dtype"),
        Mutant("no-shape-check", "{    check_rope_inputs(dq, dk, cos, sin, pos_offset)\n -> }", seen="should-raise"),
    ],
}

VARIANTS = {
    "rope": [
        Variant("tuned", ("@triton.jit\ndef rope_kernel", TUNED.format(', restore_value=["q_out_ptr", "k_out_ptr"]') + "@triton.jit\ndef rope_kernel"),
            "{        num_warps=min(8, max(1, BLOCK_H * BLOCK_P // 256)),  # few heads need few threads\n -> }"),
        Variant("one-warp", "{min(8, max(1, BLOCK_H * BLOCK_P // 256)) -> 1}"),
        Variant("products-by-subtraction", "{a * cos - b * sin -> -(b * sin - a * cos)}"),
        Variant("columns-by-arithmetic", "{, second = 2 * offs_p, 2 * offs_p ->  = offs_p * 2\n        second = first}",
            "{, second = offs_p, offs_p ->  = offs_p\n        second = first}"),
        Variant("results-before-the-stores",
            "{tl.store(y_rows + first * stride_yd, a * cos - b * sin -> new_a, new_b = a * cos - b * sin, b * cos "
            "+ a * sin\n"
            "    tl.store(y_rows + first * stride_yd, new_a}",
            " {b * cos + a * sin -> new_b},"),
        Variant("second-store-first",
            "{first * stride_yd, a … stride_yd, b * cos + a -> second * stride_yd, b * cos + a * sin, mask=mask)\n"
            "    tl.store(y_rows + first * stride_yd, a * cos - b}"),
        Variant("addresses-from-the-start", "tl.load({x_rows -> x_ptr + offs_h * stride_xh} + first",
            "tl.store({y_rows -> y_ptr + offs_h * stride_yh} + second"),
        Variant("whole-rows",
            "def { -> turn_whole_rows(\n"
            "    x_ptr, y_ptr, cos, sin,\n"
            "    stride_xh, stride_xd,\n"
            "    stride_yh, stride_yd,\n"
            "    H: tl.constexpr, HALF: tl.constexpr, INTERLEAVED: tl.constexpr,\n"
            "    BLOCK_H: tl.constexpr, BLOCK_P: tl.constexpr,\n"
            "):\n"
            "    offs_h = tl.arange(0, BLOCK_H)[:, None]\n"
            "    offs_d = tl.arange(0, 2 * BLOCK_P)[None, :]\n"
            "    if INTERLEAVED:\n"
            "        cols = offs_d\n"
            "    else:\n"
            "        cols = offs_d // 2 + offs_d % 2 * HALF\n"
            "    mask = (offs_h < H) & (offs_d < 2 * HALF)\n"
            "    x = tl.load(x_ptr + offs_h * stride_xh + cols * stride_xd, mask=mask).to(tl.float32)\n"
            "    a, b = tl.split(tl.reshape(x, [BLOCK_H, BLOCK_P, 2]))\n"
            "    y = tl.reshape(tl.join(a * cos - b * sin, b * cos + a * sin), [BLOCK_H, 2 * BLOCK_P])\n"
            "    tl.store(y_ptr + offs_h * stride_yh + cols * stride_yd, y, mask=mask)\n"
            "\n"
            "\n"
            "@triton.jit\n"
            "def }rope_kernel",
            "{turn_heads -> turn_whole_rows}(\n        q_ptr", "{turn_heads -> turn_whole_rows}(\n        "),
        Variant("contiguous-results",
            "{empty_like(q), torch.empty_like(k -> empty(q.shape, dtype=q.dtype, device=q.device), "
            "torch.empty(k.shape, dtype=k.dtype, device=k.device}"),
        Variant("twice-the-heads-in-a-tile", "BLOCK_H={ -> 2 * }BLOCK_H"),
    ],
    "rope_backward": [
        Variant("contiguous-results", ".{empty_like(dq -> empty(dq.shape, dtype=dq.dtype, device=dq.device}"),
        Variant("results-by-name", "{return dq_in, dk_in -> result = (dq_in, dk_in)\n    return result}"),
        Variant("allocates-one-by-one", "{, dk_in = torch.empty_like(dq), ->  = torch.empty_like(dq)\n    dk_in =}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
PRODUCT = "the other factors, cos and sin, are float32, and so is the product"
EQUIVALENT = {
    "rope": {
        f"{LOAD_A} => {LOAD_A.removesuffix('.to(tl.float32)')}": PRODUCT,
        f"{LOAD_B} => {LOAD_B.removesuffix('.to(tl.float32)')}": PRODUCT,
    },
}
