"""Mistakes of 51_int_matmul with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = """
    always-float16 cut-off half-the-row high-nibbles-only last-step-left-out nibbles-swapped packed-stands-still
    rounded-up scale-is-the-largest steps-of-128 tiny-scale x-moves-by-bytes x-stands-still zero-scale
"""
PROMISES = ("scale-of-each-tile", "scales-in-the-loop", "nibbles-swapped", "predict")

OUTSIDE = ("reads-outside", "wrong-values", "nan")


# Sentences that several mistakes share.
SAYS = {
    "scale-of-one":
        "q is x itself, rounded: in steps of 1. Divide by the row's scale, which is max |x| / 127, and 1 for a row of "
        "zeros only.",
    "scales-twice": "Both scales were applied twice.",
    "int16-sum": "The sums were cut to 16 bits on the way: after a few products int16 is full. int32.",
    "float-sum":
        "Large sums lost digits: float32 is exact up to 2^24 only. Sum in int32, and apply the scales after the loop.",
    "stored-across": "Rows and columns of y are swapped in the store's addresses: y[m, n] is at `offs_m * N + offs_n`.",
    "low-is-the-byte": "The even weights are whole bytes. Take the low nibble alone.",
}

MUTANTS = {
    "quantize_rows": [
        Mutant("steps-of-128", "largest / {127 -> 128}, 1"),
        Mutant("steps-of-255", " {largest / 127 -> 2 * largest / 255}",
            says="The scale is too small: the largest number must become 127."),
        Mutant("steps-of-128-clamped", "largest / {127 -> 128}, 1",
            "{floor(x / scale + 0.5 -> minimum(tl.floor(x / scale + 0.5), 127.0}",
            says="The largest number becomes 128, and is cut to 127. Divide by 127: then nothing is cut."),
        Mutant("scale-of-255", "largest / {127 -> 255}, 1",
            says="The scale is max |x| / 255 here: the largest number becomes 255, and int8 ends at 127."),
        Mutant("cut-off", "{tl.floor(x / scale + 0.5) -> x / scale}"),
        Mutant("half-added-and-cut", "{tl.floor(x / scale + 0.5) -> x / scale + 0.5}",
            says="Right for positive numbers. Below 0, adding 0.5 and cutting rounds the wrong way: it is `tl.floor(x "
                "+ 0.5)`."),
        Mutant("rounded-down", " / scale{ + 0.5 -> }",
            says="q was rounded down. The nearest whole number is `tl.floor(x + 0.5)`."),
        Mutant("rounded-up", "{floor(x / scale + 0.5 -> ceil(x / scale}"),
        Mutant("scale-plus-epsilon", "{tl.where(largest > 0, largest / 127, 1.0) -> largest / 127 + 1e-8}",
            says="The scale is max |x| / 127 alone, and 1 for a row of zeros. Nothing is added to it, and no small "
                "number stands in for 0."),
        Mutant("half-added-afterwards", "/ scale{ + 0.5) -> ) + 0.5}",
            says="Half a step was added after `tl.floor`. It comes before: `tl.floor(x / scale + 0.5)`."),
        Mutant("half-added-after-the-cut", "{tl.floor(x / scale + 0.5) -> (x / scale).to(tl.int32) + 0.5}",
            says="The digits behind the point were cut off, and half a step was added to what was left. It comes "
                "before: `tl.floor(x / scale + 0.5)`."),
        Mutant("sign-lost", " = tl.floor({x -> tl.abs(x)} ",
            says="q has no signs. `tl.abs` is for the largest number; q is x / scale, rounded."),
        Mutant("half-precision-on-the-way",
            ")\n"
            "    for start in range(0, K, BLOCK_K):\n"
            "        offs_k = start + tl.arange(0, BLOCK_K)\n"
            "        x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0).to(tl.{float32 -> float16})",
            seen=("wrong-values", "overflow", "nan", "zeros", "rows-after-first", "wrong-tail")),
        Mutant("scale-of-one-and-clamped",
            "{floor(x / scale + 0.5 -> minimum(tl.maximum(tl.floor(x + 0.5), -127.0), 127.0}",
            says="q is x itself, rounded and cut to what int8 holds. Divide by the row's scale first; then nothing is "
                "out of range."),
        Mutant("scale-of-zeros-divided", "largest{ / 127, 1.0) -> , 1.0) / 127}",
            says="A row of zeros has the scale 1 / 127 here. It is 1: divide inside `tl.where`."),
        Mutant("largest-at-least-one", "{where(largest > 0, largest / 127, 1.0) -> maximum(largest, 1.0) / 127}",
            says="Rows whose numbers are all smaller than 1 got the scale 1 / 127. Only a row of zeros has a scale of "
                "its own, which is 1; any other row divides its largest number by 127."),
        Mutant("scale-at-least-one", "{where(largest > 0,  -> maximum(}",
            says="No scale is below 1 here. Only a row of zeros has the scale 1 for its own sake; any other row "
                "divides its largest number by 127, however small that is."),
        Mutant("rounded-before-division", "{ / scale + 0.5) -> ) / scale + 0.5}",
            says="x was rounded, and then divided. Divide first: steps of the scale are counted."),
        Mutant("half-added-to-x", "{x / scale + 0.5 -> (x + 0.5) / scale}",
            says="0.5 was added to x. It is half a step: add it to x / scale."),
        Mutant("x-stored", "q_row + offs_k, {q -> x}.", says="x itself was stored, cut to a whole number. Store q."),
        Mutant("one-added", " / scale + {0.5 -> 1}",
            says="q is the next whole number above. Add half a step before `tl.floor`, not a whole one."),
        Mutant("not-divided", "floor(x {/ scale  -> }", says="scale-of-one"),
        Mutant("scale-of-one", "{tl.where(largest > 0, largest / 127, 1.0) -> 1.0}", says="scale-of-one"),
        Mutant("largest-of-the-last-tile", "{maximum(largest, tl.max(tl.abs(x), axis=0) -> max(tl.abs(x), axis=0}",
            says="The scale knows the last tile of the row alone: `largest` forgets what it was before."),
        Mutant("last-tile-again",
            "{x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0).to(tl.float32)\n         -> }q",
            says="Every tile of q is the last tile of x. The second walk has to load x again.",
            on_gpu=("does-not-compile",)),
        Mutant("largest-added", "{= tl.maximum(largest, tl.max(tl.abs(x), axis=0) -> += tl.max(tl.abs(x), axis=0}",
            says="`largest` is the sum of the tiles' largest numbers. Keep the larger of the two."),
        Mutant("without-sign-lost", ".max({tl.abs(x) -> x}",
            says="The largest number may be negative: take `tl.abs` before the maximum."),
        Mutant("abs-of-the-maximum", "{max(tl.abs(x), axis=0 -> abs(tl.max(x, axis=0)}",
            seen=("wrong-values", "without-sign-lost")),
        Mutant("mean-for-maximum", "{max(tl.abs(x), axis=0) -> sum(tl.abs(x), axis=0) / BLOCK_K}", seen="wrong-values"),
        Mutant("scale-of-each-tile", "{    tl.store(scales_ptr + pid_m, scale)\n -> }",
            "{ -> largest = tl.max(tl.abs(x), axis=0)\n"
            "        scale = tl.where(largest > 0, largest / 127, 1.0)\n"
            "        tl.store(scales_ptr + pid_m, scale)\n"
            "        }q = tl.floor(x",
            says="Each tile was quantised by its own largest number. The contract has one scale for a row."),
        Mutant("zero-scale", "{tl.where(largest > 0, largest / 127, 1.0) -> largest / 127}"),
        Mutant("tiny-scale", "{where(largest > 0, largest / 127, 1.0) -> maximum(largest, 1e-10) / 127}"),
        Mutant("scale-is-the-largest", " largest{ / 127 -> }"),
        Mutant("scale-upside-down", " {largest / 127 -> 127 / largest}", " tl.floor(x {/ -> *} ",
            says="The scale is upside down: x is about s q, so s is max |x| / 127."),
        Mutant("scale-upside-down-and-divided", " {largest / 127 -> 127 / largest}",
            seen=("wrong-values", "scale-upside-down", "multiplied-by-the-scale")),
        Mutant("multiplied-by-the-scale", " tl.floor(x {/ -> *} ",
            says="q is x times the scale. In steps of the scale, x is x / s."),
        Mutant("scale-not-stored", "{    tl.store(scales_ptr + pid_m, scale)\n -> }",
            seen=("unwritten", "unwritten-tail")),
        Mutant("scale-in-the-first-place", "scales_ptr{ + pid_m -> }", seen=("unwritten", "race", "unwritten-tail")),
        Mutant("q-in-rows-of-x", "tl.store({q_row -> q_ptr + pid_m * stride_xm}",
            seen=("out-of-bounds-store", "unwritten", "strided-only", "unwritten-tail")),
        Mutant("no-mask-at-the-store", "){, mask=offs_k < K -> }",
            seen=("out-of-bounds-store", "race", "rows-after-first")),
        Mutant("first-tile-only", ")\n    for start in range(0, {K -> BLOCK_K}, BLOCK_K):",
            says="Only the first tile of each row is quantised: the second walk goes on to K, as the first one does.",
            seen=("unwritten", "unwritten-tail", "wrong-tail")),
        Mutant("by-torch", seen=("no-kernel-launched", "torch-compute"),
            body="if x.ndim != 2 or x.stride(1) != 1:\n"
                "    raise ValueError('rows')\n"
                "scales = x.float().abs().amax(1) / 127\n"
                "scales = torch.where(scales > 0, scales, 1.0)\n"
                "return (x.float() / scales[:, None]).round().to(torch.int8), scales"),
    ],
    "matmul_w8a8": [
        Mutant("a-small-tile-of-its-own",
            ("tile = tile or tile_for(M, 128)", 'tile = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}'),
            seen="too-many-programs"),
        Mutant("a-large-tile-of-its-own",
            ("tile = tile or tile_for(M, 128)", 'tile = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}'),
            seen="property", only="interpreter"),
        Mutant("scales-swapped", "tl.load({sx_ptr -> sw_ptr}", "tl.load({sw_ptr -> sx_ptr} + offs_n",
            says="The scales are swapped: sx belongs to the rows, `sx[:, None]`, and sw to the columns.",
            seen=("reads-outside", "wrong-values", "nan")),
        Mutant("scales-turned", "{:, None] * sw[None, : -> None, :] * sw[:, None}", seen=("raised", "does-not-compile")),
        Mutant("no-scales", "{sx = tl.load … None, :] -> y = acc}",
            says="These are the sums of integers. Multiply them by both scales."),
        Mutant("only-scales-of-x", "{ * sw[None, :] -> }", says="The weights' scales are missing."),
        Mutant("only-scales-of-w", "{sx[:, None] * sw -> sw}", says="The scales of x are missing."),
        Mutant("scales-twice", " * sw[None, :]{ -> \n    y = y * sx[:, None] * sw[None, :]}", says="scales-twice"),
        Mutant("scales-of-x-twice", " * sw[None, :]{ -> \n    y = y * sx[:, None]}",
            says="The scales of x were applied twice."),
        Mutant("scales-in-the-loop",
            "{acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32 -> sx = tl.load(sx_ptr + offs_m, mask=mask_m, "
            "other=0.0)\n"
            "    sw = tl.load(sw_ptr + offs_n, mask=mask_n, other=0.0)\n"
            "    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32}",
            "{= tl.dot(x, w, acc, out_dtype=tl.int32) -> += tl.dot(x, w) * sx[:, None] * sw[None, :]}",
            "acc += tl.dot(x, w) * sx[:, None] * sw[None, :] … {sx = tl.load … sx[:, None] * sw[None, :] -> y = acc}",
            says="Each step was scaled, and the sum of the steps is rounded each time. Sum the integers, and apply the "
                "scales once, after the loop."),
        Mutant("scales-in-the-loop-and-after",
            "{acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32 -> sx = tl.load(sx_ptr + offs_m, mask=mask_m, "
            "other=0.0)\n"
            "    sw = tl.load(sw_ptr + offs_n, mask=mask_n, other=0.0)\n"
            "    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32}",
            "{= tl.dot(x, w, acc, out_dtype=tl.int32) -> += tl.dot(x, w) * sx[:, None] * sw[None, :]}",
            says="scales-twice"),
        Mutant("scales-added", "{sx[:, None] * sw[None, :] -> (sx[:, None] + sw[None, :])}",
            says="The scales were added to each other. They are factors."),
        Mutant("divided-by-scales", "{* sx[:, None] * -> / sx[:, None] /}",
            says="The sums were divided by the scales. x is about s q: multiply."),
        Mutant("scales-of-the-first-tile", "sx_ptr + {offs_m -> tl.arange(0, BLOCK_M)},",
            "sw_ptr + {offs_n -> tl.arange(0, BLOCK_N)},",
            says="Every tile got the scales of the first one. Load them at `offs_m` and `offs_n`."),
        Mutant("first-scales", "{ + offs_m, mask=mask_m, other=0.0 -> }", "{ + offs_n, mask=mask_n, other=0.0 -> }",
            "{[:, None] * sw[None, :] ->  * sw}",
            says="All rows and columns got the first scale. Load a vector of them."),
        Mutant("int8-sum", " dtype=tl.{int32 -> int8})",
            "{= tl.dot(x, w, acc, out_dtype=tl.int32 -> += tl.dot(x, w).to(tl.int8}",
            says="The sums were cut to 8 bits on the way. Keep `acc` in int32.", seen=("raised", "does-not-compile")),
        Mutant("int16-sum", " dtype=tl.{int32 -> int16})",
            "{= tl.dot(x, w, acc, out_dtype=tl.int32 -> += tl.dot(x, w).to(tl.int16}", says="int16-sum"),
        Mutant("int16-products", "{= tl.dot(x, w, acc, out_dtype=tl.int32 -> += tl.dot(x, w).to(tl.int16}",
            says="int16-sum", seen="wrong-values"),
        Mutant("float-sum", " dtype=tl.{int32 -> float32})",
            "{= tl.dot(x, w, acc, out_dtype=tl.int32 -> += tl.dot(x, w}", says="float-sum"),
        Mutant("float16-tiles", " dtype=tl.{int32 -> float32})",
            "{, w, acc, out_dtype=tl.int32 -> .to(tl.float16), w.to(tl.float16), acc}", says="float-sum"),
        Mutant("float16-dot-int32-sum",
            "{= tl.dot(x, w, acc, out_dtype= -> += tl.dot(x.to(tl.float16), w.to(tl.float16)).to(}", seen="property"),
        Mutant("float32-dot-int32-sum",
            "{= tl.dot(x, w, acc, out_dtype= -> += tl.dot(x.to(tl.float32), w.to(tl.float32), "
            'input_precision="ieee").to(}',
            seen="property"),
        Mutant("no-out-dtype", "{, out_dtype=tl.int32 -> }", seen=("raised", "does-not-compile")),
        Mutant("sum-added-twice", "acc { -> +}= tl.dot(x",
            says="The sum so far is added twice in each step. `tl.dot(x, w, acc, ...)` adds acc already: assign, no "
                "`+=`."),
        Mutant("only-last-step", "{, acc, out_dtype=tl.int32 -> }",
            says="Only the last step counts. Does the dot add to acc?"),
        Mutant("x-stands-still", "load(x_ptrs{ + k -> }", says="Every step uses the first tile of x."),
        Mutant("w-stands-still", "load(w_ptrs{ + k -> }", says="Every step uses the first tile of w."),
        Mutant("both-stand-still", "load(x_ptrs{ + k -> }", "load(w_ptrs{ + k -> }",
            says="Every step multiplies the first two tiles. Go on along K: `x_ptrs + k`."),
        Mutant("one-element-a-step", "(0, K{, BLOCK_K -> }",
            says="The loop goes on by one element, and its tiles overlap: `range(0, K, BLOCK_K)`."),
        Mutant("steps-of-rows", ", K, {BLOCK_K -> BLOCK_M}):",
            says="The loop goes on by BLOCK_M, and its tiles have BLOCK_K numbers along K: `range(0, K, BLOCK_K)`."),
        Mutant("steps-of-columns", ", K, {BLOCK_K -> BLOCK_N}):",
            says="The loop goes on by BLOCK_N, and its tiles have BLOCK_K numbers along K: `range(0, K, BLOCK_K)`."),
        Mutant("k-counts-steps", "(0, {K, BLOCK_K -> tl.cdiv(K, BLOCK_K)}",
            says="k counts steps here, and was used as a number of elements. `range(0, K, BLOCK_K)` counts elements."),
        Mutant("w-moves-by-rows", "w_ptrs + k{ ->  * K}, mask=", seen=OUTSIDE),
        Mutant("w-moves-by-n", "w_ptrs + k{ ->  * N}, mask=", seen=OUTSIDE),
        Mutant("no-mask-along-k", "{ & mask_k[None, :] -> }", "{mask_k[:, None] & mask_n -> mask_n}", seen=OUTSIDE),
        Mutant("mask-never-moves", "offs_k < K{ - k -> }", seen=("reads-outside", "wrong-values", "nan")),
        Mutant("no-row-mask", "{mask_m[:, None] & mask_k -> mask_k}", seen=OUTSIDE, only="interpreter"),
        Mutant("no-other", "mask_k[None, :]{, other=0 -> })", "None, :]{, other=0 -> }", seen="no-other",
            only="interpreter"),
        Mutant("last-step-left-out", "in range(0, {K -> (K - 1) // BLOCK_K * BLOCK_K}, ",
            says="The last step along K is missing."),
        Mutant("whole-steps-only", "(0, K{ ->  // BLOCK_K * BLOCK_K}, BLOCK_K",
            seen=("wrong-values", "zeros", "last-step-left-out")),
        Mutant("only-first-step", "in range(0, {K -> BLOCK_K}, ",
            says="Only the first step along K counts: does the loop go on, and does the mask let it?"),
        Mutant("always-float16", "y_ptrs, y{ -> .to(tl.float16)}, mask"),
        Mutant("float16-sums", "to(tl.{float32 -> float16})", seen=("wrong-values", "overflow", "nan")),
        Mutant("no-store-mask", "{, mask=mask_m[:, None] & mask_n[None, :] -> }", seen=("out-of-bounds-store", "race")),
        Mutant("rows-of-k", "[:, None] * {N -> K} ", seen=("out-of-bounds-store", "race", "wrong-values", "unwritten")),
        Mutant("stored-across", "{offs_m[:, None] * N + offs_n[None, : -> offs_n[None, :] * M + offs_m[:, None}"),
        Mutant("store-in-the-loop",
            "out_dtype=tl.int32){ -> \n"
            "        now = acc.to(tl.float32) * tl.load(sx_ptr + offs_m, mask=mask_m, other=0.0)[:, None] * "
            "tl.load(sw_ptr + offs_n, mask=mask_n, other=0.0)[None, :]\n"
            "        tl.store(y_ptr + offs_m[:, None] * N + offs_n[None, :], now, mask=mask_m[:, None] & "
            "mask_n[None, :])}",
            seen="property"),
        Mutant("int-mm", seen=("no-kernel-launched", "torch-compute"),
            body="if xq.shape[1] != wq.shape[1]:\n"
                "    raise ValueError('sizes')\n"
                "return ((xq.float() @ wq.float().T) * sx[:, None] * sw).to(dtype)"),
    ],
    "matmul_w4a16": [
        Mutant("a-small-tile-of-its-own",
            ("tile = tile or tile_for(M, 64)", 'tile = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}'),
            seen="too-many-programs"),
        Mutant("a-large-tile-of-its-own",
            ("tile = tile or tile_for(M, 64)", 'tile = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}'),
            seen="property", only="interpreter"),
        Mutant("nibbles-swapped", "{<< 4 >> 4, packed -> >> 4, packed << 4}"),
        Mutant("halves",
            "{interleave(packed << 4 >> 4, packed >> 4 -> reshape(tl.trans(tl.join(packed << 4 >> 4, packed >> 4), "
            "0, 2, 1), BLOCK_N, BLOCK_K}",
            says="The low nibbles stand before all high ones. They take turns along k: `tl.interleave`."),
        Mutant("low-without-sign", "packed {<< 4 >> 4 -> & 15}",
            says="The low nibble lost its sign: 13 stands for -3. Push it to the top of the byte first."),
        Mutant("high-without-sign", "4, {packed >> 4 -> (packed >> 4) & 15}",
            says="The high nibble lost its sign. `packed >> 4` alone keeps it."),
        Mutant("both-without-sign", "{<< 4 >> 4, packed >> 4 -> & 15, (packed >> 4) & 15}",
            says="The nibbles lost their signs: 8 to 15 stand for -8 to -1."),
        Mutant("eight-subtracted", "{packed << 4 >> 4, packed >> 4 -> (packed & 15) - 8, ((packed >> 4) & 15) - 8}",
            says="8 was subtracted from the nibbles. Here they are signed: 15 stands for -1."),
        Mutant("low-not-shifted-back", "packed << 4{ >> 4 -> }",
            says="The low nibbles are 16 times too large: after `<< 4` they need `>> 4`."),
        Mutant("low-is-the-byte", "packed{ << 4 >> 4 -> }", says="low-is-the-byte"),
        Mutant("shifts-in-another-order", "packed {<< 4 >> -> >> 4 <<}",
            says="`>> 4 << 4` clears the low nibble. To keep it, push it up first: `<< 4 >> 4`."),
        Mutant("remainder-and-quotient", "{<< 4 >> 4, packed >> 4 -> % 16, packed // 16}",
            says="In a kernel `%` and `//` of negative numbers go towards 0, so these are not the nibbles. Shift."),
        Mutant("added-and-scaled", ".to(x.dtype)){ -> , acc})",
            says="The dot adds acc, and so does `+=`. Leave acc out of the dot: it is not scaled again."),
        Mutant("half-the-row", "(0, K{ ->  // 2}, BLOCK_K"),
        Mutant("one-step-a-group", ", K, {BLOCK_K -> GROUP}):",
            says="The loop goes on by GROUP, and each step takes BLOCK_K: `range(0, K, BLOCK_K)`."),
        Mutant("low-nibbles-only", ">> 4, packed { -> << 4 }>",
            says="Every weight is a low nibble. The odd ones are in the high nibbles."),
        Mutant("high-nibbles-only", "interleave(packed {<< 4  -> }"),
        Mutant("high-is-the-byte", "4, packed{ >> 4 -> }",
            says="The odd weights are whole bytes. Take the high nibble alone: `packed >> 4`."),
        Mutant("no-scales", "{ * scales[None, :] -> }",
            says="These are products with unscaled weights. Multiply each step by its scales."),
        Mutant("scales-twice", "x, tl.trans({w -> (w * scales[:, None])}.",
            says="The scales were applied twice: to the weights, and to the product."),
        Mutant("first-group", "scales_ptrs{ + k // GROUP -> }",
            says="All steps got the scales of the first group. Which group is k in?"),
        Mutant("last-group", "{ * scales[None, :] -> }", "{ -> acc = acc * scales[None, :]\n    }y_ptrs = y_ptr",
            says="The whole sum got the scales of the last group. Each step has scales of its own.",
            on_gpu=("does-not-compile",)),
        Mutant("step-for-group", " + k // {GROUP -> BLOCK_K},",
            says="The step's number was taken for the group's. A group may have several steps: `k // GROUP`.",
            seen=("reads-outside", "wrong-values", "nan")),
        Mutant("k-for-group", " + k{ // GROUP -> },", seen=OUTSIDE),
        Mutant("sum-scaled-again", "{+= tl.dot(x, tl.trans(w.to(x.dtype)) -> = tl.dot(x, tl.trans(w.to(x.dtype)), acc}",
            says="Each step scales the whole sum so far again. Scale the new product alone, then add."),
        Mutant("scales-of-rows", "scales[{None, : -> :, None}]", seen=("raised", "does-not-compile")),
        Mutant("half-sum", "dtype=tl.{float32 -> float16}",
            "{tl.dot(x, tl.trans(w.to(x.dtype))) * scales[None, :] -> (tl.dot(x, tl.trans(w.to(x.dtype))) * "
            "scales[None, :]).to(tl.float16)}",
            says="The sum was rounded to float16 on the way. Keep `acc` in float32."),
        Mutant("only-last-step", "acc {+ -> }= tl.dot(", says="Only the last step counts. Add to acc."),
        Mutant("only-first-step", "in range(0, {K -> BLOCK_K}, ", says="Only the first step along K counts."),
        Mutant("last-step-left-out", "(0, K{ ->  - BLOCK_K}, BLOCK_K", seen=("wrong-values", "zeros")),
        Mutant("x-stands-still", "load(x_ptrs{ + k -> }"),
        Mutant("packed-stands-still", "packed_ptrs{ + k // 2 -> }"),
        Mutant("packed-moves-by-k", "packed_ptrs + k{ // 2 -> }", seen=OUTSIDE),
        Mutant("both-stand-still", "load(x_ptrs{ + k -> }", "packed_ptrs{ + k // 2 -> }",
            says="Every step uses the first tiles of x and packed. Go on along K."),
        Mutant("not-transposed", "{tl.trans(w.to(x.dtype) -> w.to(x.dtype}", seen=("raised", "does-not-compile")),
        Mutant("int8-into-the-dot", "(w{.to(x.dtype) -> }", seen=("raised", "does-not-compile")),
        Mutant("stored-across", "{offs_m[:, None] * N + offs_n[None, : -> offs_n[None, :] * M + offs_m[:, None}"),
        Mutant("x-cut-to-int8", "{, tl.trans(w.to(x.dtype) -> .to(tl.int8), tl.trans(w}",
            says="x was cut to int8, and its fractions are lost. The dot wants one dtype: give the weights that of x, "
                "`w.to(x.dtype)`."),
        Mutant("reshaped", "{trans(w.to(x.dtype) -> reshape(w.to(x.dtype), BLOCK_K, BLOCK_N}",
            says="The tile of weights was reshaped, not turned: `tl.reshape` reads it on line by line. `tl.trans` "
                "swaps rows and columns."),
        Mutant("x-moves-by-bytes", "load(x_ptrs + k{ ->  // 2}, "),
        Mutant("group-of-bytes", " + k // { -> 2 // }GROUP,",
            says="The group's number was counted in bytes, and moves half as fast. k counts weights: `k // GROUP`."),
        Mutant("weights-over-seven", "x, tl.trans({w -> (w / 7)}.", seen="constant-factor"),
        Mutant("no-row-mask", "{, mask=mask_m, other=0.0 -> }", seen=OUTSIDE, only="interpreter"),
        Mutant("no-mask-of-packed", "{, mask=mask_n[:, None], other=0 -> }", seen=OUTSIDE, only="interpreter"),
        Mutant("no-mask-of-scales", "{, mask=mask_n, other=0.0 -> }", seen=OUTSIDE, only="interpreter"),
        Mutant("unpacked-by-torch", seen=("no-kernel-launched", "torch-compute"),
            body="if x.dtype != torch.float16 or x.shape[1] % group or group < 32:\n"
                "    raise ValueError('sizes')\n"
                "q = torch.stack((packed << 4 >> 4, packed >> 4), dim=-1).flatten(1)\n"
                "return (x.float() @ (q * scales.float().repeat_interleave(group, 1)).T).half()"),
    ],
}

VARIANTS = {
    "quantize_rows": [
        Variant("four-warps", "BLOCK_K, num_warps={8 -> 4}"),
        Variant("maximum-of-the-whole-tile",
            "{maximum(largest, tl.max(tl.abs(x), axis=0) -> max(tl.maximum(largest, tl.abs(x)), axis=0}"),
        Variant("multiplied-by-the-inverse", "floor(x {/ scale -> * (1.0 / scale)} "),
        Variant("rounded-by-sign", "{tl.floor(x / scale +  -> x / scale + tl.where(x > 0, 0.5, -}"),
        Variant("rounded-from-above", "{floor(x / scale + -> ceil(x / scale -}"),
        Variant("clamped", "{floor(x / scale + 0.5 -> minimum(tl.maximum(tl.floor(x / scale + 0.5), -127.0), 127.0}"),
        Variant("scale-stored-last", "{    tl.store(scales_ptr + pid_m, scale)\n -> }",
            "mask=offs_k < K){ -> \n    tl.store(scales_ptr + pid_m, scale)}"),
        Variant("one-by-comparison",
            "{tl.where(largest > 0, largest / 127, 1.0 -> largest / 127 + (largest == 0).to(tl.float32}"),
        Variant("small-tiles", "(x, block={8192 -> 64}"),
        Variant("a-maximum-for-each-lane", "largest = {0.0 -> tl.zeros((BLOCK_K,), tl.float32)}",
            "{max(tl.abs(x), axis=0 -> abs(x}", "{ -> largest = tl.max(largest, axis=0)\n    }scale = tl.where"),
        Variant("second-walk-backwards",
            "    tl.store(scales_ptr + pid_m, scale)\n"
            "    for start in range({0, K,  -> (K - 1) // BLOCK_K * BLOCK_K, -1, -}"),
        Variant("scale-by-if",
            "{tl.where(largest > 0, largest / 127, 1.0) -> largest / 127\n    if largest == 0:\n        scale = 1.0}"),
        Variant("largest-and-least", "{max(tl.abs(x), axis=0 -> maximum(tl.max(x, axis=0), -tl.min(x, axis=0)}"),
        Variant("divided-by-the-largest", "floor(x {/ scale -> * 127 / tl.where(largest > 0, largest, 1.0)} "),
    ],
    "matmul_w8a8": [
        Variant("dot-added-afterwards", "{= tl.dot(x, w, acc, out_dtype=tl.int32 -> += tl.dot(x, w}"),
        Variant("scales-in-one", "{sx[:, None] * sw[None, :] -> (sx[:, None] * sw[None, :])}"),
        Variant("promoted", "{.to(tl.float32) -> }"),
        Variant("zeros-as-floats", "mask_k[None, :], other=0{ -> .0})"),
        Variant("mask-from-k", "{offs_k < K - k -> k + offs_k < K}"),
        Variant("cast-before-the-store", "y_ptrs, y{ -> .to(y_ptr.dtype.element_ty)}, mask"),
        Variant("counts-steps",
            "{k in range(0, K, BLOCK_K): -> step in range(0, tl.cdiv(K, BLOCK_K)):\n        k = step * BLOCK_K}"),
        Variant("scales-before-the-loop",
            "{ -> sx = tl.load(sx_ptr + offs_m, mask=mask_m, other=0.0)\n"
            "    sw = tl.load(sw_ptr + offs_n, mask=mask_n, other=0.0)\n"
            "    }acc = tl.zeros", "acc = tl.dot(x, w, acc, out_dtype=tl.int32) … {sx = tl.load …  -> }y = acc"),
        Variant("pointers-move", "load(x_ptrs{ + k -> }", "load(w_ptrs{ + k -> }",
            "out_dtype=tl.int32){ -> \n        x_ptrs += BLOCK_K\n        w_ptrs += BLOCK_K}"),
        Variant("one-axis",
            "{pid_m, pid_n = tl.program_id(0), tl.program_id(1) -> wide = tl.cdiv(N, BLOCK_N)\n"
            "    pid_m, pid_n = tl.program_id(0) // wide, tl.program_id(0) % wide}",
            '{, triton.cdiv(N, tile["BLOCK_N"]) ->  * triton.cdiv(N, tile["BLOCK_N"]),}'),
        Variant("turned-in-the-kernel",
            "{w_ptrs + k, mask=mask_k[:, None] & mask_n -> w_ptr + offs_n[:, None] * K + k + offs_k[None, :], "
            "mask=mask_n[:, None] & mask_k}",
            "= tl.dot(x, {w -> tl.trans(w)},"),
        Variant("while-loop", "{for k in range(0, K, BLOCK_K) -> k = 0\n    while k < K}",
            "out_dtype=tl.int32){ -> \n        k += BLOCK_K}"),
        Variant("own-tile", "{tile_for(M, 128 -> dict(BLOCK_M=32, BLOCK_N=64, BLOCK_K=64}"),
    ],
    "matmul_w4a16": [
        Variant("scaled-first",
            "{acc += tl.dot(x, tl.trans(w.to(x.dtype))) * scales[None, :] -> w = (w * scales[:, None]).to(x.dtype)\n"
            "        acc = tl.dot(x, tl.trans(w), acc)}"),
        Variant("signs-by-xor", "{packed << 4 >> 4 -> ((packed & 15) ^ 8) - 8}"),
        Variant("join-and-reshape",
            "{interleave(packed << 4 >> 4, packed >> 4 -> reshape(tl.join(packed << 4 >> 4, packed >> 4), BLOCK_N, "
            "BLOCK_K}"),
        Variant("low-by-where",
            "{w = tl.interleave(packed << 4 >> 4 -> low = packed & 15\n"
            "        w = tl.interleave(tl.where(low > 7, low - 16, low)}"),
        Variant("cast-first", "(w{.to(x.dtype) -> ).to(tl.float16}"),
        Variant("scales-in-float32", "mask_n, other=0.0){ -> \n        scales = scales.to(tl.float32)}"),
        Variant("product-first",
            "{acc += tl.dot(x, tl.trans(w.to(x.dtype))) -> new = tl.dot(x, tl.trans(w.to(x.dtype)))\n"
            "        acc = acc + new}"),
        Variant("pointers-move", "load(x_ptrs{ + k -> }", "packed_ptrs{ + k // 2 -> }",
            "scales[None, :]{ -> \n        x_ptrs += BLOCK_K\n        packed_ptrs += BLOCK_K // 2}"),
        Variant("nibbles-in-32-bits",
            "{w = tl.interleave(packed << 4 >> 4, packed -> wide = packed.to(tl.int32)\n"
            "        w = tl.interleave(wide << 28 >> 28, wide}"),
        Variant("two-dots",
            "{w = tl.interleave … dtype -> low, high = (packed << 4 >> 4).to(x.dtype), (packed >> 4).to(x.dtype)  "
            "# [BLOCK_N, BLOCK_K]\n"
            "        even, odd = tl.split(tl.reshape(x, BLOCK_M, BLOCK_K // 2, 2))\n"
            "        acc += (tl.dot(even, tl.trans(low)) + tl.dot(odd, tl.trans(high}"),
        Variant("groups-and-their-steps",
            "{k in range(0, K, BLOCK_K): -> number in range(0, K // GROUP):\n"
            "      for inside in range(0, GROUP, BLOCK_K):\n"
            "        k = number * GROUP + inside}"),
        Variant("own-tile", "or {tile_for(M,  -> dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "quantize_rows": {
        'x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0).to(tl.float32) => x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0)': "float32 all the same: largest is in the first walk, and scale in the second",
        'largest = tl.maximum(largest, tl.max(tl.abs(x), axis=0)) => largest = tl.maximum(largest, tl.max(tl.abs(x)))': "a tile of one dimension has one axis",
        'tl.store(q_row + offs_k, q.to(tl.int8), mask=offs_k < K) => tl.store(q_row + offs_k, q, mask=offs_k < K)': "the store casts to int8, and q is a whole number",
        'x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0).to(tl.float32) => x = tl.load(x_row + offs_k, mask=offs_k < K).to(tl.float32)': "of the second walk: masked lanes are not stored",
        'x = tl.load(x_row + offs_k, mask=offs_k < K, other=0.0).to(tl.float32) => x = tl.load(x_row + offs_k, mask=offs_k < K, other=1.0).to(tl.float32)': "of the second walk: masked lanes are not stored",
    },
    "matmul_w8a8": {
        'sx = tl.load(sx_ptr + offs_m, mask=mask_m, other=0.0) => sx = tl.load(sx_ptr + offs_m, mask=mask_m)': "rows past M are not stored",
        'sw = tl.load(sw_ptr + offs_n, mask=mask_n, other=0.0) => sw = tl.load(sw_ptr + offs_n, mask=mask_n)': "columns past N are not stored",
        'x = tl.load(x_ptrs + k, mask=mask_m[:, None] & mask_k[None, :], other=0) => x = tl.load(x_ptrs + k, mask=mask_m[:, None] & mask_k[None, :])': "0 on the other side is enough: an integer times 0 is 0",
        'w = tl.load(w_ptrs + k, mask=mask_k[:, None] & mask_n[None, :], other=0) => w = tl.load(w_ptrs + k, mask=mask_k[:, None] & mask_n[None, :])': "0 on the other side is enough: an integer times 0 is 0",
        'sx = tl.load(sx_ptr + offs_m, mask=mask_m, other=0.0) => sx = tl.load(sx_ptr + offs_m, mask=mask_m, other=1.0)': "rows past M are not stored",
        'sw = tl.load(sw_ptr + offs_n, mask=mask_n, other=0.0) => sw = tl.load(sw_ptr + offs_n, mask=mask_n, other=1.0)': "columns past N are not stored",
        'y = acc.to(tl.float32) * sx[:, None] * sw[None, :] => y = acc * sx[:, None] * sw[None, :]': "int32 times float32 is float32",
        'x = tl.load(x_ptrs + k, mask=mask_m[:, None] & mask_k[None, :], other=0) => x = tl.load(x_ptrs + k, mask=mask_m[:, None] & mask_k[None, :], other=1)': "0 on the other side is enough: an integer times 0 is 0",
        'w = tl.load(w_ptrs + k, mask=mask_k[:, None] & mask_n[None, :], other=0) => w = tl.load(w_ptrs + k, mask=mask_k[:, None] & mask_n[None, :], other=1)': "0 on the other side is enough: an integer times 0 is 0",
    },
    "matmul_w4a16": {
        'x = tl.load(x_ptrs + k, mask=mask_m, other=0.0) => x = tl.load(x_ptrs + k, mask=mask_m)': "rows past M are not stored, and K needs no mask",
        'packed = tl.load(packed_ptrs + k // 2, mask=mask_n[:, None], other=0) => packed = tl.load(packed_ptrs + k // 2, mask=mask_n[:, None])': "columns past N are not stored, and K needs no mask",
        'scales = tl.load(scales_ptrs + k // GROUP, mask=mask_n, other=0.0) => scales = tl.load(scales_ptrs + k // GROUP, mask=mask_n)': "columns past N are not stored",
        'x = tl.load(x_ptrs + k, mask=mask_m, other=0.0) => x = tl.load(x_ptrs + k, mask=mask_m, other=1.0)': "rows past M are not stored, and K needs no mask",
        'packed = tl.load(packed_ptrs + k // 2, mask=mask_n[:, None], other=0) => packed = tl.load(packed_ptrs + k // 2, mask=mask_n[:, None], other=1)': "columns past N are not stored, and K needs no mask",
        'scales = tl.load(scales_ptrs + k // GROUP, mask=mask_n, other=0.0) => scales = tl.load(scales_ptrs + k // GROUP, mask=mask_n, other=1.0)': "columns past N are not stored",
    },
}
