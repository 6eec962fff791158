"""Mistakes of 57_fp8_fp4 with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant, usual

SHARED = """
    half-the-row high-nibbles-only last-step-left-out nibbles-swapped packed-stands-still x-moves-by-bytes
    x-stands-still
"""
PROMISES = ("no-implicit-one", "by-the-type", "weights-in-float32", "predict")

OUTSIDE = ("reads-outside", "wrong-values", "nan")

# Sentences that several mistakes share.
SAYS = {
    "nearly-zero":
        "All numbers are nearly 0: the exponent did not come to its place. `+` binds tighter than `<<`, so put "
        "brackets around each shift, or use `|`. And the places are those of a float16, not of a bfloat16.",
    "no-mask-of-k": "The last step went past the end of the row, into the next one. K - k weights are left: mask the rest.",
    "sign-in-the-exponent":
        "The sign went along with the exponent: it became bit 14, and negative numbers are huge. Its place in a "
        "float16 is bit 15: take it out with `& 128`, and shift it by 8.",
    "sign-lost": "Negative numbers came out positive: the sign, bit 7 of the byte, has to become bit 15.",
    "sign-of-four-bits-lost": "Negative numbers came out positive: bit 3 of a nibble is its sign, and belongs to bit 15.",
    "four-bits-misplaced":
        "The fields of e2m1 did not come to their places in a float16: its one mantissa bit is the top one there, bit "
        "9, and the exponent follows.",
    "factor-of-four-bits":
        "The factor for e2m1 is another: float16 has bias 15, e2m1 has bias 1. That is 2 to the power of 14.",
    "low-nibbles-only": "Every weight is a low nibble. The odd ones are in the high nibbles: `packed >> 4`.",
    "scale-is-the-code": (
        "The scale is its code, as a number. The code is an exponent with bias 127, which `e8m0` reads: 127 stands for 1."
    ),
    "weights-reshaped":
        "The tile of weights was reshaped, not turned: `tl.reshape` reads it on line by line. `tl.trans` swaps rows "
        "and columns.",
    "bytes-masked": "Bytes past the end of the row were loaded. K - k weights are left, in half as many bytes.",
    "groups-masked": "Groups were masked by another number than theirs. Of the weights that are left 32 share a scale.",
    "few-bytes": "Packed moved on by too few bytes. A byte holds two weights: k // 2 bytes.",
    "wide-shift":
        "Bits were pushed out of a type that is too narrow: go to a wider one before `<<`, int16 for e2m1, int32 for "
        "e8m0.",
}

MUTANTS = {
    "decode_e4m3": [
        usual(),
        Mutant("sign-shifted-along", "{(code & 128) << 8 | (code & 127) -> code} << 7", says="sign-in-the-exponent"),
        Mutant("sign-by-seven", "& 128) << {8 -> 7}", says="sign-in-the-exponent"),
        Mutant("sign-left-out", "{(code & 128) << 8 |  -> }(", says="sign-lost"),
        Mutant("sign-by-nine", "& 128) << {8 -> 9}", says="sign-lost"),
        Mutant("added-before-the-shift",
            "{(code & 128) << 8 | (code & 127) << 7 -> (code & 127) << 7 + (code & 128) << 8}",
            says="nearly-zero"),
        Mutant("sign-not-moved", "& 128){ << 8 -> }",
            says="The sign stayed at bit 7, where the float16 has the last bit of the mantissa. It belongs to bit 15."),
        Mutant("sign-by-minus", "{(code & 128) << 8 |  -> }(", " * 256{ -> \n    x = tl.where(code > 127, -x, x)}",
            seen="property"),
        Mutant("and-after-both-shifts", "{(code & 128) << 8 | (code & 127) -> code & 128 << 8 | code & 127} << 7",
            seen=("raised", "does-not-compile")),
        Mutant("and-after-shift", "<< 8 | {(code & 127) -> code & 127} << 7",
            says="`<<` binds tighter than `&`: `code & 127 << 7` is `code & (127 << 7)`. Put brackets around the `&`."),
        Mutant("fields-by-eight", "& 127) << {7 -> 8}",
            says="The fields are one place too high: the mantissa's top bit, bit 2 of the byte, belongs to bit 9."),
        Mutant("fields-by-six", "& 127) << {7 -> 6}",
            says="The fields are one place too low: the mantissa's top bit, bit 2 of the byte, belongs to bit 9."),
        Mutant("fields-not-shifted", "& 127){ << 7 -> }",
            says="Exponent and mantissa were not shifted: they stayed in the mantissa of the float16."),
        Mutant("fields-in-bfloat16", "code & 127) << {7 -> 4}",
            "{float16, bitcast=True -> bfloat16, bitcast=True).to(tl.float32}", says="nearly-zero"),
        Mutant("no-factor", "=True){ * 256 -> }",
            says="All numbers are 256 times too small: E has bias 7 in e4m3, and 15 in a float16."),
        Mutant("factor-of-128", " * {256 -> 128}", says="All numbers are half of what they should be. 2 to the power of 15 - 7."),
        Mutant("divided", "=True) {* -> /} 256",
            says="The factor goes the wrong way: E = 7 means 1.0 in e4m3, and only 2 to the power of -8 in a float16."),
        Mutant("no-bitcast", "float16{, bitcast=True -> }",
            says="The bits were taken for a whole number: without `bitcast=True`, `.to(tl.float16)` asks for the same "
                "number in another type."),
        Mutant("read-as-bfloat16", "bits.to(tl.{float16 -> bfloat16}",
            says="The bits were read as bfloat16, whose fields have other places. They are a float16's."),
        Mutant("rebiased-by-integers", "| (code & 127) << 7{ -> ) + (8 << 10)}", "bits = {( -> ((}", "=True){ * 256 -> }",
            says="With E = 0 a subnormal number, 0 too, came out as a normal one. Adding 8 to E, or 1 + m / 8 in a "
                "formula, is right where E > 0 alone; a product of the float16 with 256 is right for both."),
        Mutant("sign-in-both", "(code & 128) << 8 | {(code & 127) -> code} << 7",
            says="The sign came to bit 15, and to bit 14 too, into the exponent. Shift `code & 127` by 7, without it."),
        Mutant("no-implicit-one",
            "{bits = (code … bitcast=True) * 256 -> E, m = code >> 3 & 15, (code & 7).to(tl.float32) / 8\n"
            "    power = ((tl.maximum(E, 1) + 120).to(tl.int32) << 23).to(tl.float32, bitcast=True)\n"
            "    x = power * m * tl.where(code > 127, -1.0, 1.0)}",
            says="Where E > 0 the mantissa comes after a 1: it is 1 + m / 8, not m / 8."),
        Mutant("subnormals-are-zero", " * 256{ -> \n    x = tl.where((code & 120) == 0, 0.0, x)}",
            says="With E = 0 the mantissa still counts: 0x01 is 2 to the power of -9, not 0."),
        Mutant("nan-forgotten", '{    x = tl.where((code & 127) == 127, float("nan"), x)\n -> }',
            says="0x7f and 0xff came out as 480 and -480. They are NaN."),
        Mutant("positive-nan-only", "where({(code & 127) -> code} ==",
            says="0xff came out as a number. NaN has two codes, with either sign: look at the other seven bits."),
        Mutant("negative-nan-only", "where({(code & 127) == 127 -> code == 255}",
            says="0x7f came out as a number. NaN has two codes, with either sign: look at the other seven bits."),
        Mutant("top-exponent-is-nan", "where((code & {127) == 127 -> 120) == 120}",
            says="256 to 448 came out as NaN. In e4m3 E = 15 is no special case; only with m = 7 is it NaN."),
        Mutant("negative-numbers-are-nan", "where({(code & 127) == 127 -> code > 127}",
            says="Every negative number came out as NaN. Only the codes 0x7f and 0xff are."),
        Mutant("full-mantissa-is-nan", "where((code & {127) == 127 -> 7) == 7}",
            says="Every number with m = 7 came out as NaN. Its exponent has to be 15, too: all seven bits are 1."),
        Mutant("nan-for-numbers", '127, {float("nan"), x -> x, float("nan")}',
            says="Numbers came out as NaN: `tl.where(condition, x, y)` takes x where the condition is true.", seen="nan"),
        Mutant("infinity-for-nan", 'float("{nan -> inf}")', says="e4m3 has no infinity: 0x7f and 0xff are NaN."),
        Mutant("top-exponent-is-infinity", "where((code & {127) == 127 -> 120) == 120}", 'float("{nan -> inf}")',
            says="256 to 448 came out as infinity, which e4m3 does not have. Only 0x7f and 0xff are no numbers."),
        Mutant("bits-stored", "x_ptr + offs, {x -> bits},", says="The bits were stored as whole numbers. Store x."),
        Mutant("code-stored", "x_ptr + offs, {x -> code},", says="The bytes were stored as whole numbers. Store x."),
        Mutant("wide-bits", "bits = ({code -> code.to(tl.int32)} &", seen=("raised", "does-not-compile")),
        Mutant("by-the-type",
            "{bits = (code … True) * 256 -> x = code.to(tl.uint8).to(tl.float8e4nv, bitcast=True).to(tl.float16)}",
            seen=("not-by-hand", "does-not-compile")),
        Mutant("by-torch", "{x = torch … return x -> return codes.view(torch.float8_e4m3fn).half()}",
            seen=("no-kernel-launched", "torch-compute")),
    ],
    "dequantize_mxfp4": [
        usual(),
        Mutant("nibble-signs-lost", "{(code & 8) << 12 |  -> }(", says="sign-of-four-bits-lost"),
        Mutant("nibble-sign-by-thirteen", "& 8) << {12 -> 13}", says="sign-of-four-bits-lost"),
        Mutant("nibble-sign-along", "{(code & 8) << 12 | (code & 7) -> code} << 9",
            says="The sign went along with the exponent. Bit 3 of a nibble belongs to bit 15: shift it by 12."),
        Mutant("nibble-sign-by-eleven", "& 8) << {12 -> 11}",
            says="The sign came to bit 14, into the exponent. From bit 3 to bit 15 it is 12 places.", seen="nan"),
        Mutant("nibble-sign-along-too", "<< 12 | {(code & 7) -> code} << 9",
            says="The sign came to bit 15, and to bit 12 too, into the exponent. Shift `code & 7` by 9, without it."),
        Mutant("nibble-sign-by-minus", "{(code & 8) << 12 |  -> }(",
            "{return bits.to(tl.float16, bitcast=True) * 16384 -> x = bits.to(tl.float16, bitcast=True) * 16384\n"
            "    return tl.where(code > 7, -x, x)}", seen="property"),
        Mutant("nibble-and-after-shift", "<< 12 | {(code & 7) -> code & 7} << 9",
            says="`<<` binds tighter than `&`: `code & 7 << 9` is `code & (7 << 9)`, which is 0. Put brackets around the `&`."),
        Mutant("places-of-e4m3", "& 7) << {9 -> 7}", says="four-bits-misplaced"),
        Mutant("one-place-too-high", "& 7) << {9 -> 10}", says="four-bits-misplaced"),
        Mutant("one-place-too-low", "& 7) << {9 -> 8}", says="four-bits-misplaced"),
        Mutant("factor-of-e4m3", " * {16384 -> 256}", says="factor-of-four-bits"),
        Mutant("factor-of-two-to-13", " * {16384 -> 8192}", says="factor-of-four-bits"),
        Mutant("factor-of-two-to-15", " * {16384 -> 32768}", says="factor-of-four-bits"),
        Mutant("no-factor", "float16, bitcast=True){ * 16384 -> }", says="factor-of-four-bits"),
        Mutant("no-bitcast-of-nibbles", "tl.float16{, bitcast=True -> }",
            says="The bits of e2m1 were taken for a whole number: `bitcast=True` is missing."),
        Mutant("rebiased-nibbles", "| (code & 7) << 9{ -> ) + (14 << 10)}", "bits = {( -> ((}",
            "float16, bitcast=True){ * 16384 -> }",
            says="With E = 0, 0 and 0.5 came out as normal numbers. Adding 14 to E is right where E > 0 alone; a "
                "product of the float16 with 16384 is right for both."),
        Mutant("nibble-sign-in-both", "{(code & 8) -> code} << 12",
            says="The whole nibble was shifted by 12, and its exponent came to bits 12 to 14. Only `code & 8` goes there."),
        Mutant("half-is-zero", "{return bits.to(tl.float16, bitcast=True) * 16384 -> x = bits.to(tl.float16, "
            "bitcast=True) * 16384\n    return tl.where((code & 6) == 0, 0.0, x)}",
            says="The codes 1 and 9 came out as 0: with E = 0 the mantissa still counts, 0.5 and -0.5."),
        Mutant("whole-numbers", "{bits.to(tl.float16, bitcast=True) * 16384 -> tl.where(code > 7, code - 16, code).to(tl.float16)}",
            says="The nibbles were read as whole numbers, as on page 51. These are floats: e2m1."),
        Mutant("scale-code-0-forgotten", "{tl.where(code == 0, 1 << 22, code.to(tl.int32) << 23) -> code.to(tl.int32) << 23}",
            says="The scale of code 0 came out as 0. It is 2 to the power of -127, half of the smallest normal number."),
        Mutant("scale-code-0-is-the-smallest", "0, 1{ << 22 -> },",
            says="The scale of code 0 is the smallest number there is. The mantissa's top bit is bit 22."),
        Mutant("scale-code-0-is-normal", "0, 1 << {22 -> 23},",
            says="Code 0 got the scale of code 1. It is half of that: the mantissa's top bit is bit 22."),
        Mutant("scale-code-0-is-one", "0, {1 << 22 -> 127 << 23},",
            says="The scale of code 0 came out as 1. It is 2 to the power of -127: a mantissa whose top bit, 22, is 1."),
        Mutant("scale-nan-forgotten", "return {tl.where … True) -> bits.to(tl.float32, bitcast=True}",
            says="The scale of code 255 came out as infinity. It is NaN."),
        Mutant("scale-in-8-bits", "code{.to(tl.int32) -> } << 23", says="wide-shift", seen=("raised", "does-not-compile")),
        Mutant("scale-one-place-too-low", "int32) << {23 -> 22}",
            says="The scale's exponent is one place too low. Float32 has 23 bits of mantissa, 0 to 22."),
        Mutant("scale-one-place-too-high", "int32) << {23 -> 24}",
            says="The scale's exponent is one place too high. Float32's begins at bit 23.", seen="nan"),
        Mutant("scale-1-is-nan", "code == {255 -> 127}", says="The scale 1, code 127, came out as NaN. Code 255 is.", seen="nan"),
        Mutant("large-scales-are-nan", "code {== 255 -> > 127}",
            says="All scales above 1 came out as NaN. Only code 255 is.", seen="nan"),
        Mutant("bias-subtracted", "{code.to(tl.int32) -> (code.to(tl.int32) - 127)} << 23",
            says="The bias was subtracted from the scale's code. Float32 has the same bias: shift the code as it is."),
        Mutant("bias-added", "{code.to(tl.int32) -> (code.to(tl.int32) + 127)} << 23",
            says="The bias was added to the scale's code. Float32 has the same bias: shift the code as it is."),
        Mutant("scale-is-the-exponent", "return {tl.where … True)) -> code.to(tl.float32) - 127}",
            says="The scale is the exponent itself. It is 2 to that power: shift the code to where float32 has it, and bitcast."),
        Mutant("scale-without-bitcast", "float32{, bitcast=True -> }",
            says="The scale's bits were taken for a whole number: `bitcast=True` is missing."),
        Mutant("scale-is-the-code", "return {tl.where … True) -> code.to(tl.float32}", says="scale-is-the-code"),
        Mutant("scale-by-exp2", "return {tl.where(code == 255, float(\"nan\"), bits.to(tl.float32, bitcast=True)) -> "
            "tl.where(code == 255, float(\"nan\"), tl.exp2(code.to(tl.float32) - 127))}", seen="not-by-hand"),
        Mutant("nibbles-swapped", "interleave({packed & 15, packed >> 4 -> packed >> 4, packed & 15})"),
        Mutant("halves", "{tl.interleave(packed & 15, packed >> 4) -> tl.reshape(tl.trans(tl.join(packed & 15, packed >> 4), 0, "
            "2, 1), packed.shape[0], 32)}",
            says="The low nibbles stand before all high ones. They take turns along k: `tl.interleave`."),
        Mutant("low-nibbles-only", "packed {>> 4) -> & 15)}.to", says="low-nibbles-only"),
        Mutant("high-nibbles-only", "interleave(packed {& 15 -> >> 4}"),
        Mutant("high-shifted-up", "packed {>> -> <<} 4).to",
            says="The high nibble was pushed out of its 8 bits: `packed >> 4` brings it down."),
        Mutant("high-is-the-byte", "{packed >> 4) -> packed)}.to", says="low-nibbles-only"),
        Mutant("codes-in-8-bits", "packed >> 4){.to(tl.int16) -> }", says="wide-shift",
            seen=("raised", "does-not-compile")),
        Mutant("no-scales", "{ * e8m0(scales)[:, None] -> }", says="The numbers are not multiplied by their scales."),
        Mutant("code-for-scale", "* {e8m0(scales) -> scales}[:", says="scale-is-the-code"),
        Mutant("divided-by-scales", "{* e8m0 -> / e8m0}", says="The numbers were divided by their scales. Multiply."),
        Mutant("scale-in-half", "* e8m0(scales)[:, None]{ -> .to(tl.float16)}",
            says="The scales were rounded to float16, which does not hold most of them. Multiply in float32."),
        Mutant("scales-along-columns", "e8m0(scales)[{:, None -> None, :}]", seen=("raised", "does-not-compile")),
        Mutant("one-scale-a-program", "scales_ptr + offs_g{, mask=mask_g -> * 0 + tl.program_id(0) * BLOCK_G, mask=mask_g}",
            says="All groups of a program got the scale of its first one. Each has its own, at `offs_g`."),
        Mutant("first-scales-always", "scales_ptr + {offs_g -> tl.arange(0, BLOCK_G)}, mask",
            says="All programs got the scales of the first one. A program's groups are `offs_g`."),
        Mutant("codes-stored", "w_ptrs, unpack({packed, scales) -> packed, scales) * 0 + tl.interleave(packed & 15, packed >> 4)},",
            says="The codes were stored as whole numbers. Store what `unpack` gives."),
        Mutant("no-mask-of-packed", "packed_ptrs{, mask=mask_g[:, None], other=0 -> }", seen=OUTSIDE, only="interpreter"),
        Mutant("no-mask-of-scales", "scales_ptr + offs_g{, mask=mask_g, other=0 -> }", seen=OUTSIDE, only="interpreter"),
        Mutant("no-mask-of-w", "scales){, mask=mask_g[:, None] -> })", seen=("out-of-bounds-store", "race")),
        Mutant("by-torch", seen=("no-kernel-launched", "torch-compute"), only="interpreter",
            body="N, K = packed.shape[0], 2 * packed.shape[1]\n"
                "require(packed=(packed, (N, K // 2), torch.uint8), scales=(scales, (N, K // 32), torch.uint8))\n"
                "if K % 32:\n"
                '    raise ValueError("K")\n'
                "return dequantize_mxfp4_ref(packed, scales, dtype)"),
    ],
    "matmul_mxfp4": [
        Mutant("a-small-tile-of-its-own", ("tile = tile or tile_for(M)", 'tile = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}'),
            seen="too-many-programs"),
        Mutant("a-large-tile-of-its-own", ("tile = tile or tile_for(M)", 'tile = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}'),
            seen="property", only="interpreter"),
        Mutant("through-float16", "(BLOCK_N, BLOCK_K)){ -> .to(tl.float16)}.to(x.dtype)",
            says="Weights went through float16, which ends at 65,504, on their way to bfloat16. Convert them to x's dtype at once."),
        Mutant("packed-moves-by-k", "packed_ptrs + k{ // 2 -> },",
            says="Packed moved on by k bytes. k counts weights, and a byte holds two.", seen=OUTSIDE),
        Mutant("scales-move-by-k", "scales_ptrs + k{ // 32 -> },",
            says="The scales moved on by k. k counts weights, and 32 of them share one.", seen=OUTSIDE),
        Mutant("scales-move-by-bytes", "scales_ptrs + k // {32 -> 16},",
            says="The scales moved on by one for 16 weights. k counts weights, and 32 of them share one.", seen=OUTSIDE),
        Mutant("step-for-group", "scales_ptrs + k // {32 -> BLOCK_K},",
            says="The scales moved on by one in each step. A step has BLOCK_K / 32 of them: `k // 32`."),
        Mutant("x-moves-by-bytes", "x_ptrs + k{ ->  // 2},"),
        Mutant("x-stands-still", "load(x_ptrs{ + k -> }"),
        Mutant("packed-stands-still", "packed_ptrs{ + k // 2 -> },"),
        Mutant("scales-stand-still", "scales_ptrs{ + k // 32 -> },",
            says="All steps got the scales of the first one. They move on by k // 32."),
        Mutant("weights-stand-still", "packed_ptrs{ + k // 2 -> },", "scales_ptrs{ + k // 32 -> },",
            says="Every step uses the first weights. Packed moves on by k // 2, scales by k // 32."),
        Mutant("half-the-row", "(0, K{ ->  // 2}, BLOCK_K"),
        Mutant("only-first-step", "in range(0, {K -> BLOCK_K}, ", says="Only the first step along K counts."),
        Mutant("last-step-left-out", "(0, K{ ->  - BLOCK_K}, BLOCK_K", seen=("wrong-values", "zeros")),
        Mutant("last-part-left-out", "(0, K{ ->  // BLOCK_K * BLOCK_K}, BLOCK_K", says="last-step-left-out"),
        Mutant("one-step-a-group", ", K, {BLOCK_K -> 32}):",
            says="The loop goes on by a group, and each step takes BLOCK_K: `range(0, K, BLOCK_K)`.", seen=OUTSIDE),
        Mutant("only-last-step", "tl.trans(w){, acc -> })", says="Only the last step counts. Add to acc."),
        Mutant("acc-counted-twice", "acc {= tl.dot( -> += tl.dot(}x", says="acc is counted twice: the dot adds it already, and so does `+=`."),
        Mutant("scales-in-another-order", "tl.reshape({scales, (GROUPS,) -> tl.trans(scales), (GROUPS,)})",
            says="The scales came in another order than the groups. Both go along K first: reshape them as they are."),
        Mutant("weights-reshaped", "{tl.trans(w) -> tl.reshape(w, (BLOCK_K, BLOCK_N))}", says="weights-reshaped"),
        Mutant("unpacked-to-k-by-n", "tl.reshape(w, {(BLOCK_N, BLOCK_K) -> (BLOCK_K, BLOCK_N)}).to", "{tl.trans(w) -> w},",
            says="weights-reshaped"),
        Mutant("not-transposed", "{tl.trans(w) -> w},", seen=("raised", "does-not-compile")),
        Mutant("not-reshaped", "{tl.reshape(packed, (GROUPS, 16)) -> packed},", seen=("raised", "does-not-compile")),
        Mutant("scales-as-a-tile", "{tl.reshape(scales, (GROUPS,)) -> scales})", seen=("raised", "does-not-compile")),
        Mutant("weights-in-float32", "(BLOCK_N, BLOCK_K)){.to(x.dtype) -> }", seen=("raised", "does-not-compile")),
        Mutant("dot-of-float32-tiles", "(BLOCK_N, BLOCK_K)){.to(x.dtype) -> }", "dot({x -> x.to(tl.float32)},", seen="float32-product",
            only="interpreter"),
        Mutant("steps-of-one", "(0, K{, -> //} BLOCK_K",
            says="k goes on by 1 in each step. It counts weights, from 0 to K by BLOCK_K: `range(0, K, BLOCK_K)`."),
        Mutant("packed-moves-by-sixteenths", "packed_ptrs + k // {2 -> 16},", says="few-bytes"),
        Mutant("packed-moves-by-fourths", "packed_ptrs + k // {2 -> 4},", says="few-bytes"),
        Mutant("always-float16", "y_ptrs, acc{ -> .to(tl.float16)},", says="always-float16"),
        Mutant("weights-always-float16", "(BLOCK_N, BLOCK_K)).to({x.dtype -> tl.float16})", seen=("raised", "does-not-compile")),
        Mutant("half-sum", "dtype=tl.{float32 -> float16}", "acc = {tl.dot(x, tl.trans(w), acc) -> (acc + tl.dot(x, tl.trans(w))).to(tl.float16)}",
            says="The sum was rounded to float16 on the way. Keep `acc` in float32."),
        Mutant("stored-across", "{offs_m[:, None] * N + offs_n[None, : -> offs_n[None, :] * M + offs_m[:, None}]",
            seen=("transposed", "out-of-bounds-store", "wrong-values", "unwritten", "race", "unwritten-tail")),
        Mutant("mask-of-rows-only", "mask=mask_m{ & (offs_n[None, :] < N) -> })",
            seen=("out-of-bounds-store", "race", "wrong-values")),
        Mutant("mask-upright", "{(offs_n[None, :] < N) -> mask_n})", seen=("raised", "does-not-compile", "unwritten", "out-of-bounds-store", "unwritten-tail")),
        Mutant("no-mask-of-x", "x_ptrs + k{, mask=mask_m & (offs_k < left), other=0.0 -> })", seen=OUTSIDE, only="interpreter"),
        Mutant("no-mask-of-packed", "k // 2{, mask=mask_b, other=0 -> })", seen=OUTSIDE, only="interpreter"),
        Mutant("no-mask-of-scales", "k // 32{, mask=mask_g, other=0 -> })", seen=OUTSIDE, only="interpreter"),
        Mutant("no-scale-past-k", "mask=mask_g{, other=0 -> })", seen="no-other"),
        Mutant("no-mask-of-rows", "mask={mask_m & (offs_k < left) -> offs_k < left}", seen=OUTSIDE, only="interpreter"),
        Mutant("no-mask-of-columns", "{mask_n & (offs_b < left // 2), mask_n & (offs_g < left // 32) -> offs_b < left // 2, offs_g < left // 32}", seen=OUTSIDE, only="interpreter"),
        Mutant("no-mask-of-k", "mask_m{ & (offs_k < left) -> },", "{mask_n & (offs_b < left // 2), mask_n & (offs_g < left // 32) -> mask_n, mask_n}",
            says="no-mask-of-k", seen=OUTSIDE),
        Mutant("all-of-k-in-each-step", "left = K{ - k -> }", says="no-mask-of-k", seen=OUTSIDE),
        Mutant("bytes-masked-as-weights", "offs_b < left{ // 2 -> }", seen=OUTSIDE, only="interpreter", says="bytes-masked"),
        Mutant("groups-masked-as-weights", "offs_g < left{ // 32 -> }", seen=OUTSIDE, says="groups-masked"),
        Mutant("groups-masked-as-bytes", "offs_g < left // {32 -> 2}", seen=OUTSIDE, says="groups-masked"),
        Mutant("bytes-of-the-whole-row", "offs_b < {left -> K} // 2", seen=OUTSIDE, says="bytes-masked", only="interpreter"),
        Mutant("groups-of-the-whole-row", "offs_g < {left -> K} // 32", seen=OUTSIDE, says="no-mask-of-k"),
        Mutant("x-of-the-whole-row", "(offs_k < {left -> K}), other", seen=OUTSIDE, says="no-mask-of-k"),
        Mutant("nan-past-k", "mask=mask_g, other={0 -> 255}",
            says="Groups past the end of the row got the scale NaN, code 255, and 0 times NaN is NaN. Load code 0 there.", seen="nan"),
        Mutant("product-thrown-away", "{acc = tl -> tl}.dot(",
            says="`tl.dot` changes no tile: it returns acc + x @ w, which acc has to become.", seen="zeros"),
        Mutant("weights-masked-as-bytes", "offs_k < left{ ->  // 2}",
            says="Half of what was left of x was masked. A byte holds two weights, x has a number for each."),
        Mutant("unpacked-by-torch", seen=("no-kernel-launched", "torch-compute"), only="interpreter",
            body="if x.shape[1] % 32 or x.dtype not in (torch.float16, torch.bfloat16):\n"
                '    raise ValueError("sizes")\n'
                "N, K = packed.shape[0], x.shape[1]\n"
                "require(packed=(packed, (N, K // 2), torch.uint8), scales=(scales, (N, K // 32), torch.uint8))\n"
                "return (x.float() @ dequantize_mxfp4_ref(packed, scales, torch.float32).T).to(x.dtype)"),
    ],
}

VARIANTS = {
    "decode_e4m3": [
        Variant("by-the-formula",
            "{bits = (code … bitcast=True) * 256 -> E, m = code >> 3 & 15, (code & 7).to(tl.float32) / 8\n"
            "    power = ((tl.maximum(E, 1) + 120).to(tl.int32) << 23).to(tl.float32, bitcast=True)\n"
            "    x = power * (m + (E > 0).to(tl.float32)) * tl.where(code > 127, -1.0, 1.0)}"),
        Variant("sign-by-product", "{(code & 128) << 8 |  -> }(",
            " * 256{ -> \n    x = x * tl.where(code > 127, -1.0, 1.0)}"),
        Variant("in-32-bits", "bits = {(code & 128) << 8 | (code & 127) << 7 -> code.to(tl.int32)\n"
            "    bits = ((bits & 128) << 8 | (bits & 127) << 7).to(tl.int16)}"),
        Variant("sign-by-the-byte", "{(code & 128) << 8 | (code & 127) << 7 -> code << 8 & -32768 | code << 7 & 16256}"),
        Variant("nan-as-bits", "(code & 127) << 7{ -> \n    bits = tl.where((code & 127) == 127, 0x7e00, bits).to(tl.int16)}",
            '{    x = tl.where((code & 127) == 127, float("nan"), x)\n -> }'),
        Variant("through-float32", "bitcast=True){ * 256 -> .to(tl.float32) * 256.0}"),
        Variant("subnormals-apart",
            "{bits.to(tl.float16, bitcast=True) * 256 -> (bits + (8 << 10)).to(tl.float16, bitcast=True)\n"
            "    small = (code & 7).to(tl.float32) * tl.where(code > 127, -0.001953125, 0.001953125)\n"
            "    x = tl.where((code & 120) == 0, small, x)}"),
        Variant("own-block", "(codes, block={1024 -> 256})"),
    ],
    "dequantize_mxfp4": [
        Variant("by-comparisons",
            "{bits = (code & 8) << 12 | (code & 7) << 9 … bitcast=True) * 16384 -> c = code & 7\n"
            "    x = tl.where(c < 4, c * 0.5, tl.where(c == 7, 6.0, c - 2.0))\n"
            "    return x * tl.where(code > 7, -1.0, 1.0)}"),
        Variant("nibbles-left-to-e2m1", "interleave(packed{ & 15 -> },"),
        Variant("decoded-before",
            "{codes = tl … codes -> low, high = e2m1((packed & 15).to(tl.int16)), e2m1((packed >> 4).to(tl.int16))\n"
            "    return tl.interleave(low, high}"),
        Variant("join-and-reshape", "{tl.interleave(packed & 15, packed >> 4) -> tl.reshape(tl.join(packed & 15, packed >> 4), "
            "packed.shape[0], 32)}"),
        Variant("promoted", "e2m1(codes){.to(tl.float32) -> } *"),
        Variant("codes-in-32-bits", "packed >> 4).to(tl.{int16 -> int32})", "return bits{ -> .to(tl.int16)}.to(tl.float16"),
        Variant("zero-afterwards", "{tl.where(code == 0, 1 << 22, code.to(tl.int32) << 23) -> code.to(tl.int32) << 23}",
            "return {tl.where(code == 255 -> tl.where(code == 0, 2.0**-127, tl.where(code == 255}",
            "bits.to(tl.float32, bitcast=True)){ -> )}"),
        Variant("nan-as-bits", "code.to(tl.int32) << 23){ -> \n    bits = tl.where(code == 255, 0x7fc00000, bits)}",
            "return {tl.where(code == 255, float(\"nan\"), bits.to(tl.float32, bitcast=True)) -> bits.to(tl.float32, bitcast=True)}"),
        Variant("zero-by-maximum", "{tl.where(code == 0, 1 << 22, code.to(tl.int32) << 23) -> tl.maximum(code.to(tl.int32) << 23, 1 << 22)}"),
        Variant("cast-at-the-store", "unpack(packed, scales){ -> .to(w_ptr.dtype.element_ty)},"),
        Variant("own-block", "dtype, block={128 -> 64})"),
    ],
    "matmul_mxfp4": [
        Variant("dot-added-afterwards", "acc {= tl.dot(x, tl.trans(w), acc) -> += tl.dot(x, tl.trans(w))}"),
        Variant("turned-first", "w = tl.reshape(w, (BLOCK_N, BLOCK_K)).to(x.dtype){ -> .trans()}", "{tl.trans(w) -> w}, acc"),
        Variant("cast-before-reshape", "GROUPS,))){ -> .to(x.dtype)}", "(BLOCK_N, BLOCK_K)){.to(x.dtype) -> }"),
        Variant("pointers-move", "load(x_ptrs{ + k -> }", "packed_ptrs{ + k // 2 -> },", "scales_ptrs{ + k // 32 -> },",
            "tl.trans(w), acc){ -> \n        x_ptrs += BLOCK_K\n        packed_ptrs += BLOCK_K // 2\n        scales_ptrs += BLOCK_K // 32}"),
        Variant("scaled-by-broadcast",
            "{unpack(tl … GROUPS,))) -> e2m1(tl.interleave(packed & 15, packed >> 4).to(tl.int16)).to(tl.float32)\n"
            "        w = tl.reshape(w, (BLOCK_N, BLOCK_K // 32, 32)) * e8m0(scales)[:, :, None]}"),
        # Compiled by Triton 3.6 for an H100 it gives wrong numbers; why is not known.
        Variant("two-dots",
            "GROUPS,))){ … acc = tl.dot(x, tl.trans(w), acc) -> .to(x.dtype)\n"
            "        low, high = tl.split(tl.reshape(w, (BLOCK_N, BLOCK_K // 2, 2)))\n"
            "        even, odd = tl.split(tl.reshape(x, (BLOCK_M, BLOCK_K // 2, 2)))\n"
            "        acc = tl.dot(odd, tl.trans(high), tl.dot(even, tl.trans(low), acc))}", only="interpreter"),
        Variant("cast-at-the-store", "y_ptrs, acc{ -> .to(y_ptr.dtype.element_ty)},"),
        Variant("counts-steps", "{k in range(0, K, BLOCK_K): -> step in range(0, tl.cdiv(K, BLOCK_K)):\n        k = step * BLOCK_K}"),
        Variant("own-tile", "or {tile_for(M) -> dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=32)}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "dequantize_mxfp4": {
        'packed = tl.load(packed_ptrs, mask=mask_g[:, None], other=0) => packed = tl.load(packed_ptrs, mask=mask_g[:, None])': "groups past G are not stored",
        'scales = tl.load(scales_ptr + offs_g, mask=mask_g, other=0) => scales = tl.load(scales_ptr + offs_g, mask=mask_g)': "groups past G are not stored",
        'return bits.to(tl.float16, bitcast=True) * 16384 => return bits.to(tl.float16, bitcast=True) * 16385': "16385 as a float16 is 16384",
        'return e2m1(codes).to(tl.float32) * e8m0(scales)[:, None] => return e2m1(codes) * e8m0(scales)[:, None]': "float16 times float32 is float32",
        'packed = tl.load(packed_ptrs, mask=mask_g[:, None], other=0) => packed = tl.load(packed_ptrs, mask=mask_g[:, None], other=1)': "groups past G are not stored",
        'scales = tl.load(scales_ptr + offs_g, mask=mask_g, other=0) => scales = tl.load(scales_ptr + offs_g, mask=mask_g, other=1)': "groups past G are not stored",
        'codes = tl.interleave(packed & 15, packed >> 4).to(tl.int16) => codes = tl.interleave(packed, packed >> 4).to(tl.int16)': "e2m1 looks at the lower four bits alone",
    },
    "matmul_mxfp4": {
        'packed = tl.load(packed_ptrs + k // 2, mask=mask_b, other=0) => packed = tl.load(packed_ptrs + k // 2, mask=mask_b)': "x is 0 past K, and columns past N are not stored",
        'x = tl.load(x_ptrs + k, mask=mask_m & (offs_k < left), other=0.0) => x = tl.load(x_ptrs + k, mask=mask_m & (offs_k < left), other=1.0)': "the weights are 0 past K, and rows past M are not stored",
        'packed = tl.load(packed_ptrs + k // 2, mask=mask_b, other=0) => packed = tl.load(packed_ptrs + k // 2, mask=mask_b, other=1)': "x is 0 past K, and columns past N are not stored",
        'scales = tl.load(scales_ptrs + k // 32, mask=mask_g, other=0) => scales = tl.load(scales_ptrs + k // 32, mask=mask_g, other=1)': "0 times another scale, too",
    },
}
