"""Mistakes of 31_op_library with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("strides-ignored", "one-program", "no-finally", "nothing-replaced")

A_GLOBAL_LIB = '{ -> LIB = torch.library.Library("aten", "IMPL")\n\n\n}@contextlib.contextmanager'

# Sentences that several mistakes share.
SAYS = {
    "first-index-is-zero": "The first dimension's index is 0 everywhere. What is left in `rest` when its turn comes?",
    "last-dimension-only": "Only the last dimension's index entered the address.",
    "not-restored-after-an-error":
        "After an error in the block the operators are still replaced. What must happen in every case stands in "
        "`finally`.",
    "never-restored":
        "After the block the operators are still replaced. Close the library with `_destroy()`: it stays open as long "
        "as anybody holds it.",
    "error-swallowed": "An error inside the block vanished. It has to come out.",
    "not-replaced":
        "Inside the block PyTorch's own operators run. Is each function put in its place before the `yield`, by "
        '`implement` and in the library of "aten", and is that still open there?',
    "one-of-several":
        "Of several operators only the last one is replaced. Is each put in its place inside the loop? A library that "
        "nobody holds any more may be gone.",
    "refused-from-the-start":
        'A RuntimeError comes before the block begins. Is the library of the kind "IMPL" and of "aten"? Does '
        "`implement` get library, name and function, in this order?",
    "yields-more-than-once":
        "The function yields more than once. One `yield` comes after all replacements, in no loop. An error of the "
        "block comes out at it, and there is no second block to yield to.",
    "times-dy": "dy and y are exchanged outside of the sum.",
    "sum-in-half-precision": "The sum was rounded to half precision. Convert what you load to float32.",
    "result-laid-out-like-y":
        "The kernel writes row after row, and the result is laid out like a transposed input. Allocate it contiguous.",
}

MUTANTS = {
    "kernel_source": [
        Mutant("first-dimension-first", "{reversed(range(1, ndim) -> range(ndim - 1}",
            ('    lines.append("    i_0 = rest")\n', '    lines.append(f"    i_{ndim - 1} = rest")\n'),
            says="The first dimension's index changes fastest. It is the last one's that does: divide by the last size "
                "first."),
        Mutant("in-the-order-of-the-sizes", "{reversed(range(1, ndim) -> range(1, ndim}",
            says="Right with two dimensions, and with three it divides by the sizes in another order: the last one "
                "comes first."),
        Mutant("first-index-overwritten", "reversed(range({1,  -> }", says="first-index-is-zero"),
        Mutant("first-index-divided", '    i_0 = rest{ ->  // size_0}"',
            says="first-index-is-zero", seen="wrong-values"),
        Mutant("strides-ignored",
            ('address = " + ".join(f"i_{d} * stride_{x}_{d}" for d in range(ndim))', 'address = "offs"'),
            says="An operand was read one element after the other. Its address is made of its indices and its own "
                "strides.", seen="reads-outside"),
        Mutant("strides-of-the-first-operand", ("i_{d} * stride_{x}_{d}", "i_{d} * stride_{operands[0]}_{d}"),
            says="The second operand was read with the strides of the first.", seen="reads-outside"),
        Mutant("first-operand-for-all", ("tl.load({x}_ptr", "tl.load({operands[0]}_ptr"),
            says="Every operand was read from the memory of x."),
        Mutant("last-dimension-alone",
            '{" + ".join(f"i_{d} * stride_{x}_{d}" for d in range(ndim)) -> f"i_{ndim - 1} * stride_{x}_{ndim - 1}"}',
            says="last-dimension-only"),
        Mutant("first-dimension-left-out", "in range({ndim)) -> 1, ndim)) or '0'}",
            says="last-dimension-only", seen=("wrong-values", "raised"), on_gpu=("does-not-compile",)),
        Mutant("not-converted", "mask){.to(COMPUTE) -> }",
            says="The formula was computed in the operands' dtype, and each step rounded to it. Convert what you load "
                "to COMPUTE."),
        Mutant("always-float32", "mask).to({COMPUTE -> tl.float32}",
            says="Whole numbers were computed in float32, which has 24 binary digits. Convert what you load to COMPUTE."),
        Mutant("quotient-not-taken", ('        lines.append(f"    rest = rest // size_{d}")\n', ""),
            seen=("reads-outside", "wrong-values")),
        Mutant("quotient-before-the-remainder",
            '{(f"    i_{d} = rest % size_{d}") … rest = rest // size_{d}") -> (f"    rest = rest // size_{d}")\n'
            '        lines.append(f"    i_{d} = rest % size_{d}")}',
            says="The quotient was taken before the remainder. An index is the remainder of what was there before."),
        Mutant("divided-by-the-dimension-before", ("rest = rest // size_{d}", "rest = rest // size_{d - 1}"),
            seen=("reads-outside", "wrong-values")),
        Mutant("remainder-of-the-element", ("i_{d} = rest % size_{d}", "i_{d} = offs % size_{d}"),
            says="Each index is a remainder of the element's number. After the first one it is that of `rest`, the "
                "quotient."),
        Mutant("no-mask-in-the-load", (", mask=mask).to(COMPUTE)", ").to(COMPUTE)"),
            seen=("reads-outside", "wrong-values"), only="interpreter"),
        Mutant("first-index-by-the-last-size", '{"    i_0 = rest -> f"    i_0 = rest % size_{ndim - 1}}',
            says="The first dimension's index starts again too early: its remainder is by the size of the last "
                "dimension. What is left in `rest` is the index itself."),
        Mutant("sizes-of-the-dimension-before", ("rest % size_{d}", "rest % size_{d - 1}"),
            says="The index of a dimension is the remainder by the size of the one before it."),
        Mutant("remainder-by-the-stride", ("rest % size_{d}", "rest % stride_{operands[0]}_{d}"),
            says="An index is the remainder by a stride. How many places a dimension has says its size."),
        Mutant("strides-in-reverse", ('stride_{x}_{d}" for d', 'stride_{x}_{ndim - 1 - d}" for d'),
            says="The strides stand in reverse: the last index was multiplied by the first stride.",
            seen="reads-outside"),
        Mutant("index-times-size", ("i_{d} * stride_{x}_{d}", "i_{d} * size_{d}"),
            says="The indices were multiplied by sizes. How far apart two neighbours lie in memory says the stride.",
            seen="reads-outside"),
        Mutant("stride-0-is-taken-for-1", ("i_{d} * stride_{x}_{d}", "i_{d} * tl.maximum(stride_{x}_{d}, 1)"),
            seen=("reads-outside", "wrong-values", "rows-after-first")),
        Mutant("two-dimensions-at-most", "in range({ndim -> min(ndim, 2)}))", seen=("wrong-values", "raised")),
        Mutant("addresses-multiplied", 'address = " {+ -> *} ',
            says="The products of index and stride were multiplied with each other. Their sum is the address.",
            seen="reads-outside"),
        Mutant("no-first-index", '{    lines.append("    i_0 = rest")\n -> }', seen=("raised", "does-not-compile")),
        Mutant("no-load", "{tl.load({x}_ptr + {address}, mask=mask).to(COMPUTE) -> {x}_ptr + {address}}",
            seen=("raised", "does-not-compile")),
        Mutant("no-blanks", 'append("{     -> }i_0', seen=("raised", "does-not-compile")),
        Mutant("names-not-put-in", ('lines.append(f"    {x} = tl.load', 'lines.append("    {x} = tl.load'),
            seen=("raised", "does-not-compile")),
    ],
    "softmax_backward": [
        Mutant("one-program-walks",
            "def {softmax_backward_kernel(\n -> one_row(\n    pid_m,\n}",
            "{    pid_m = tl.program_id(axis=0).to(tl.int64)\n -> }",
            "{ -> @triton.jit\n"
            "def all_rows(dy_ptr, y_ptr, dx_ptr, M, N, sdm, sdn, sym, syn, BLOCK_N: tl.constexpr):\n"
            "    for m in range(0, M):\n"
            "        one_row(m, dy_ptr, y_ptr, dx_ptr, N, sdm, sdn, sym, syn, BLOCK_N)\n"
            "\n"
            "\n"
            "}def softmax_backward(dy",
            "{softmax_backward_kernel[(M,)](\n        dy, y, dx, -> all_rows[(1,)](\n        dy, y, dx, M,} N",
            seen="unshared-work", only="interpreter"),
        Mutant("copied-first", "{ -> dy, y = dy.contiguous(), y.contiguous()\n    }M, N = y.shape", seen="copies"),
        Mutant("sum-left-out", "{(dy - tl.sum(y * dy, axis=0)) -> dy}", says="The sum is missing: this is y dy."),
        Mutant("sum-outside", "{(dy - tl.sum(y * dy, axis=0) -> dy - tl.sum(y * dy, axis=0}",
            says="y is a factor of both: y (dy - sum). Are the brackets missing?"),
        Mutant("one-for-dy", "= y * ({dy -> 1} - tl", says="The sum is subtracted from dy, not from 1."),
        Mutant("stored-by-strides-of-y", "pid_m * {N + offs_n -> stride_ym + offs_n * stride_yn}",
            says="The result is contiguous, and was stored with the strides of y.", seen="strided-only"),
        Mutant("the-widest-tile-always", "{triton.next_power_of_2(N) -> 16384}", seen="tile-too-large"),
        Mutant("sum-not-weighted", "tl.sum({y *  -> }dy,", says="The sum adds up dy alone. It is the sum of y dy."),
        Mutant("sum-of-y-alone", "tl.sum(y{ * dy -> },", says="The sum adds up y alone. It is the sum of y dy."),
        Mutant("y-at-the-sum-alone", "{y * (dy - tl.sum(y * dy, axis=0) -> dy - y * tl.sum(y * dy, axis=0}",
            says="y is a factor of both, y (dy - sum), and here of the sum alone."),
        Mutant("sum-of-squares", "tl.sum(y * {dy -> y},", says="The sum adds up y y. It is the sum of y dy."),
        Mutant("product-of-sums", "tl.sum(y{ *  -> , axis=0) * tl.sum(}dy,",
            says="The sums of y and of dy are multiplied. It is the sum of the products y dy."),
        Mutant("softmax-of-y",
            '{ -> y = tl.where(mask_n, y, float("-inf"))\n'
            "    y = tl.exp(y - tl.max(y, axis=0))\n"
            "    y = y / tl.sum(y, axis=0)\n"
            "    }dx = y * (dy - tl",
            says="A softmax of y is taken. y is the result of one already."),
        Mutant("largest-not-sum", " (dy - tl.{sum -> max}(",
            says="The largest of y dy was subtracted. It is their sum."),
        Mutant("dy-left-out", "{(dy - tl.sum(y * dy, axis=0) -> tl.sum(y * dy, axis=0}",
            says="This is y times the sum. It is y times the difference of dy and the sum."),
        Mutant("mean-not-sum", "* dy, axis=0){ ->  / N})", says="This subtracts the mean of y dy, not its sum."),
        Mutant("not-times-y", "{y * (dy - tl.sum(y * dy, axis=0) -> dy - tl.sum(y * dy, axis=0}",
            says="The difference is right, and it was not multiplied by y."),
        Mutant("y-and-dy-exchanged", "dx = {y * (dy -> dy * (y} - tl", says="times-dy"),
        Mutant("sum-added", "= y * (dy {- -> +} tl", says="The sum was added. It is subtracted."),
        Mutant("negative", "{dy - tl.sum(y * dy, axis=0) -> tl.sum(y * dy, axis=0) - dy}",
            says="The sign is wrong everywhere: it is dy minus the sum."),
        Mutant("of-a-log-softmax", "{y * (dy - tl.sum(y * dy, axis=0) -> dy - y * tl.sum(dy, axis=0}",
            says="This is the gradient of a logarithm of softmax."),
        Mutant("sigmoid", "{y * (dy - tl.sum(y * dy, axis=0) -> dy * y * (1.0 - y}",
            says="dy y (1 - y) is the gradient of a sigmoid. In a softmax every element of a row depends on all of it."),
        Mutant("sum-in-half-precision", "{y * dy, axis=0 -> (y * dy).to(tl.float16), axis=0).to(tl.float32}",
            says="sum-in-half-precision", seen=("overflow", "nan")),
        Mutant("never-float32", "dy_ptrs, mask=mask_n, other=0.0){.to(tl.float32) -> }", "{.to(tl.float32) -> }",
            says="sum-in-half-precision"),
        Mutant("padding-counted", "dy_ptrs, mask=mask_n, other={0 -> 1}.0).to(tl.float32", "mask_n, other={0 -> 1}.",
            says="Masked lanes took part in the sum as ones. They have to hold 0."),
        Mutant("padding-infinite", 'dy_ptrs, mask=mask_n, other={0.0 -> float("-inf")}).to(tl.float32)',
            says="A masked lane holds infinity, and 0 times infinity is NaN. In this sum masked lanes hold 0."),
        Mutant("no-mask-in-the-loads", "dy_ptrs{, mask=mask_n, other=0.0 -> }", "{, mask=mask_n, other=0.0 -> }",
            seen="reads-outside"),
        Mutant("no-mask-in-the-store", "dx{, mask=mask_n -> }", seen=("out-of-bounds-store", "race")),
        Mutant("strides-of-y-for-both", " y, dx, N, *{dy -> y}", seen=("strided-only", "reads-outside")),
        Mutant("strides-of-dy-for-both", ".stride(), *{y -> dy}.", seen=("strided-only", "reads-outside")),
        Mutant("no-strides-in-the-kernel", "{stride_dm + offs_n * stride_dn -> N + offs_n}",
            "{stride_ym + offs_n * stride_yn -> N + offs_n}", seen=("strided-only", "reads-outside")),
        Mutant("columns-side-by-side", "offs_n{ * stride_dn -> }", seen=("strided-only", "reads-outside")),
        Mutant("every-row-is-the-first", "{ + pid_m * stride_dm -> }", "{ + pid_m * stride_ym -> }",
            seen="rows-after-first"),
        Mutant("result-laid-out-like-dy", "{empty((M, N), dtype=y.dtype, device=y.device -> empty_like(dy}",
            says="result-laid-out-like-y"),
        Mutant("result-laid-out-like-y", "{empty((M, N), dtype=y.dtype, device=y.device -> empty_like(y}",
            says="result-laid-out-like-y"),
        Mutant("one-program", "softmax_backward_kernel[({M -> 1},", seen=("unwritten", "unwritten-tail")),
        Mutant("a-program-for-each-column", "softmax_backward_kernel[({M -> N},",
            seen=("out-of-bounds-store", "unwritten", "unwritten-tail")),
        Mutant("tile-of-128", "{triton.next_power_of_2(N) -> 128}",
            seen=("unwritten-tail", "unwritten", "wrong-values")),
        Mutant("sum-of-1024-elements", "offs_n = tl.{ -> program_id(1) * BLOCK_N + tl.}arange",
            "{triton.next_power_of_2(N) -> 1024}", "softmax_backward_kernel[(M,{ ->  triton.cdiv(N, BLOCK_N)})",
            says="Each 1024 elements of a row have a sum of their own. It runs over the whole row: a tile that holds "
                "it, or a loop that has added up before anything is stored."),
        Mutant("tile-of-n", "{triton.next_power_of_2(N) -> N}", seen=("raised", "does-not-compile")),
        Mutant("always-float32", "{dtype=y.dtype, device -> device}", seen="wrong-dtype"),
        Mutant("writes-over-dy", "{torch.empty((M, N), dtype=y.dtype, device=y.device) -> dy}",
            seen=("input-changed", "aliases-input")),
        Mutant("no-check-of-the-shapes", "{dy.shape != y.shape or  -> }", seen="should-raise"),
        Mutant("elements-counted-for-the-shape", "{shape != y.shape -> numel() != y.numel()}", seen="should-raise"),
        Mutant("no-check-of-the-rank", "{y.dim() != 2 or  -> }", seen="should-raise"),
        Mutant("narrower-than-the-contract", "shape[1] >{ -> =} 16384", seen="raised"),
        Mutant("no-check-of-the-width", "{ or y.shape[1] > 16384 -> }", seen="should-raise"),
        Mutant("torch-computes", "{if y.dim … return dx -> return softmax_backward_ref(dy, y)}",
            seen="no-kernel-launched", kernels='''
def softmax_backward_ref(dy, y):
    return y * (dy - (y * dy).sum(dim=-1, keepdim=True))
'''),
        Mutant("sum-by-torch", "{ -> total = (y * dy).sum(-1)\n    }BLOCK_N = triton", seen="torch-compute"),
    ],
    "use_kernels": [
        Mutant("no-finally",
            'lib = torch.library.Library("aten", "IMPL") … {try: …  -> for name, function in replacements.items():\n'
            "        implement(lib, name, function)\n"
            "    yield\n"
            "}    lib._destroy", says="not-restored-after-an-error"),
        Mutant("left-to-the-garbage-collector",
            '    lib = torch.library.Library("aten", "IMPL")\n'
            "    {try: … lib._destroy() -> for name, function in replacements.items():\n"
            "        implement(lib, name, function)\n"
            "    yield}", says="never-restored"),
        Mutant("replaced-before-the-try",
            '    lib = torch.library.Library("aten", "IMPL")\n'
            "    {try: … implement(lib, name, function) -> for name, function in replacements.items():\n"
            "        implement(lib, name, function)\n"
            "    try:}",
            says="One function could not be put in its place, and the ones before it stayed in theirs. What can fail "
                "stands in `try`, what must happen in every case in `finally`."),
        Mutant("never-restored", "{ -> KEPT = []\n\n\n}@contextlib.contextmanager",
            '    lib = torch.library.Library("aten", "IMPL")\n'
            "    {try: … lib._destroy() -> KEPT.append(lib)\n"
            "    for name, function in replacements.items():\n"
            "        implement(lib, name, function)\n"
            "    yield}", says="never-restored"),
        Mutant("restored-after-good-blocks-alone", "{finally -> except ZeroDivisionError:\n        raise\n    else}:",
            says="not-restored-after-an-error"),
        Mutant("errors-vanish", "{ -> except Exception:\n        pass\n    }finally:", says="error-swallowed"),
        Mutant("return-in-finally", "lib._destroy()\n{ ->         return\n}", says="error-swallowed"),
        Mutant("nothing-replaced", "{implement(lib, name, function) -> pass}", says="not-replaced"),
        Mutant("restored-before-the-block",
            '    lib = torch.library.Library("aten", "IMPL")\n'
            "    {try: … lib._destroy() -> for name, function in replacements.items():\n"
            "        implement(lib, name, function)\n"
            "    lib._destroy()\n"
            "    yield}", says="not-replaced"),
        Mutant("replaced-after-the-block",
            "{for name, function in replacements.items(): … yield -> yield\n"
            "        for name, function in replacements.items():\n"
            "            implement(lib, name, function)}\n"
            "    finally:", says="not-replaced"),
        Mutant("one-library-for-all", A_GLOBAL_LIB, 'lib = {torch.library.Library("aten", "IMPL") -> LIB}',
            says="A block uses a library that an earlier block has closed. Each block opens one of its own."),
        Mutant("one-library-kept-open", A_GLOBAL_LIB, 'lib = {torch.library.Library("aten", "IMPL") -> LIB}',
            "{lib._destroy() -> pass}", says="never-restored", seen="one-library-for-all"),
        Mutant("only-the-last-name", "{ -> pass\n        }implement(lib,", says="one-of-several"),
        Mutant("only-the-first-name", "{replacements.items() -> list(replacements.items())[:1]}",
            says="Of several operators only the first one is replaced. Does the loop go through all?"),
        Mutant("a-library-for-each-held-by-one-name",
            '{lib = torch.library.Library("aten", "IMPL") … for name, function in replacements.items(): -> try:\n'
            "        for name, function in replacements.items():\n"
            '            lib = torch.library.Library("aten", "IMPL")}', says="one-of-several", seen="never-restored"),
        Mutant("put-in-place-by-hand", "{implement(lib, name, function) -> lib.impl(name, function, DEVICE.upper())}",
            says="A function is not put in its place by `implement`. A composite operator, such as `rms_norm`, has a "
                "gradient only if it is replaced above autograd, and `implement` does that."),
        Mutant("restored-if-one-is-refused",
            "{        yield\n    finally:\n        lib._destroy() ->     except Exception:\n        lib._destroy()\n"
            "        raise\n    yield\n    lib._destroy()}", says="not-restored-after-an-error"),
        Mutant("a-library-for-each-the-last-one-closed",
            '{lib = torch.library.Library("aten", "IMPL") -> libraries = []}',
            '{ -> lib = torch.library.Library("aten", "IMPL")\n'
            "            libraries.append(lib)\n"
            "            }implement",
            says="Each operator has a library of its own here, and only the last one is closed."),
        Mutant("arguments-swapped", " {name, function -> function, name})", says="refused-from-the-start"),
        Mutant("of-the-kind-def", '("aten", "{IMPL -> DEF}', says="refused-from-the-start"),
        Mutant("without-a-device", "{implement(lib,  -> lib.impl(}", says="not-replaced"),
        Mutant("library-of-a-global-name",
            "{lib -> global LIB\n"
            "    LIB} = torch", "implement({lib -> LIB}", "{lib -> LIB}._destroy",
            says="After a block in a block the outer one stays replaced: the inner one took its library's name. Keep "
                "the library in a local variable."),
        Mutant("a-yield-in-except", "{ -> except Exception:\n        yield\n    }finally:",
            says="yields-more-than-once"),
        Mutant("yields-after-the-try",
            "{    yield\n    finally:\n        lib._destroy() -> finally:\n        lib._destroy()\n    yield}",
            says="not-replaced"),
        Mutant("all-on-the-last-function", "name, {function -> list(replacements.values())[-1]})", seen="wrong-values"),
        Mutant("a-fragment", '("aten", "{IMPL -> FRAGMENT}',
            ("implement(lib", "lib.define(name + '(Tensor x) -> Tensor'); implement(lib"),
            says="refused-from-the-start", seen=("raised", "not-replaced")),
        Mutant("a-yield-for-each", "{ ->     }yield", says="yields-more-than-once"),
        Mutant("library-deleted-and-not-closed", "{lib._destroy() -> del lib}", says="never-restored"),
        Mutant("no-decorator", "{@contextlib.contextmanager\n -> }", seen="raised"),
        Mutant("no-yield", "{yield -> pass}", seen="raised"),
    ],
}

VARIANTS = {
    "kernel_source": [
        Variant("first-index-with-remainder", '    i_0 = rest{ ->  % size_0}"'),
        Variant("all-dimensions-alike", "reversed(range({1,  -> }", '{    lines.append("    i_0 = rest")\n -> }'),
        Variant("counted-down", "{reversed(range(1, ndim) -> range(ndim - 1, 0, -1}"),
        Variant("index-by-subtraction",
            '{(f"    i_{d} = rest % size_{d}") … rest = rest // size_{d}") -> (f"    q = rest // size_{d}")\n'
            '        lines.append(f"    i_{d} = rest - q * size_{d}")\n'
            '        lines.append("    rest = q")}'),
        Variant("wide-offsets", ("i_{d} * stride", "i_{d}.to(tl.int64) * stride")),
        Variant("masked-lanes-are-zero", ("mask=mask).to(COMPUTE)", "mask=mask, other=0).to(COMPUTE)")),
        Variant("pointer-moved-dimension-by-dimension",
            '{address = … address} -> lines.append(f"    at = {x}_ptr")\n'
            "        for d in range(ndim):\n"
            '            lines.append(f"    at += i_{d} * stride_{x}_{d}")\n'
            '        lines.append(f"    {x} = tl.load(at}'),
        Variant("address-in-a-line-of-its-own",
            '{ = tl.load({x}_ptr + {address} -> _ptrs = {x}_ptr + {address}")\n'
            '        lines.append(f"    {x} = tl.load({x}_ptrs}'),
    ],
    "softmax_backward": [
        Variant("four-warps", "{min(max(BLOCK_N // 512, 1), 16) -> 4}"),
        Variant("warps-not-chosen", "{, num_warps=min(max(BLOCK_N // 512, 1), 16) -> }"),
        Variant("dtypes-checked-too", "shape[1] > 16384{ ->  or dy.dtype != y.dtype or not y.is_floating_point()}"),
        Variant("nothing-to-do-for-no-rows", "{ ->     if M == 0:\n        return y.new_empty(M, N)\n}    dx = torch"),
        Variant("last-row-first", "{tl.program_id(axis=0 -> (tl.num_programs(0) - 1 - tl.program_id(axis=0)}"),
        Variant("weighted-first",
            "{dx = y * (dy - tl.sum(y * dy, axis=0) -> weighted = y * dy\n"
            "    dx = weighted - y * tl.sum(weighted, axis=0}"),
        Variant("cast-before-the-store", "offs_n, dx{ -> .to(dx_ptr.dtype.element_ty)}, mask"),
        Variant("wider-tile", "BLOCK_N = { -> 2 * }triton"),
        Variant("result-like-y",
            "{empty((M, N), dtype=y.dtype, device=y.device -> empty_like(y, memory_format=torch.contiguous_format}"),
        Variant("other-for-dy-alone", "(y_ptrs, mask=mask_n{, other=0.0 -> }).to(tl.",
            "{ -> y = tl.where(mask_n, y, 0.0)\n    }dx = y * (dy - tl"),
        Variant("several-rows-a-program",
            "{BLOCK_N = … BLOCK_N // 512, 1), 16), -> rows_kernel[(triton.cdiv(M, 2),)](\n"
            "        dy, y, dx, M, N, *dy.stride(), *y.stride(), ROWS=2, BLOCK_N=triton.next_power_of_2(N)}",
            kernels='''
def softmax_backward_ref(dy, y):
    return y * (dy - (y * dy).sum(dim=-1, keepdim=True))


@triton.jit
def rows_kernel(
    dy_ptr, y_ptr, dx_ptr, M, N, stride_dm, stride_dn, stride_ym, stride_yn,
    ROWS: tl.constexpr, BLOCK_N: tl.constexpr,
):
    rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :]
    mask = (rows < M) & (cols < N)
    dy = tl.load(dy_ptr + rows * stride_dm + cols * stride_dn, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + rows * stride_ym + cols * stride_yn, mask=mask, other=0.0).to(tl.float32)
    dx = y * (dy - tl.sum(y * dy, axis=1)[:, None])
    tl.store(dx_ptr + rows * N + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)
'''),
    ],
    "use_kernels": [
        Variant("exit-stack",
            '    lib = torch.library.Library("aten", "IMPL")\n'
            "    {try: … lib._destroy() -> with contextlib.ExitStack() as stack:\n"
            "        stack.callback(lib._destroy)\n"
            "        for name, function in replacements.items():\n"
            "            implement(lib, name, function)\n"
            "        yield}"),
        Variant("in-except-and-else",
            "{finally -> except BaseException:\n        lib._destroy()\n        raise\n    else}:"),
        Variant("scoped-library",
            '{lib = torch.library … lib._destroy() -> with torch.library._scoped_library("aten", "IMPL") as lib:\n'
            "        for name, function in replacements.items():\n"
            "            implement(lib, name, function)\n"
            "        yield}"),
        Variant("gives-the-names", "yield{ ->  list(replacements)}"),
        Variant("a-library-for-each", '{lib = torch.library.Library("aten", "IMPL") -> libraries = []}',
            '{implement(lib -> libraries.append(torch.library.Library("aten", "IMPL"))\n'
            "            implement(libraries[-1]}",
            "{ -> for lib in libraries:\n"
            "            }lib._destroy"),
        Variant("opened-inside",
            '{torch.library.Library("aten", "IMPL")\n'
            "    try: -> None\n"
            "    try:\n"
            '        lib = torch.library.Library("aten", "IMPL")}'),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "softmax_backward": {
        'pid_m = tl.program_id(axis=0).to(tl.int64) => pid_m = tl.program_id(axis=0)': "it shows beyond 2**31 elements only, which no case has",
        'dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32) => dy = tl.load(dy_ptrs, mask=mask_n, other=0.0)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'y = tl.load(y_ptrs, mask=mask_n, other=0.0).to(tl.float32) => y = tl.load(y_ptrs, mask=mask_n, other=0.0)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'dx = y * (dy - tl.sum(y * dy, axis=0)) => dx = y * (dy - tl.sum(y * dy))': "a tile of one dimension has one axis",
        'dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32) => dy = tl.load(dy_ptrs, mask=mask_n, other=1.0).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'y = tl.load(y_ptrs, mask=mask_n, other=0.0).to(tl.float32) => y = tl.load(y_ptrs, mask=mask_n, other=1.0).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
    },
}
