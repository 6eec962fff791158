"""Mistakes of 01_vector_add with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant, usual

SHARED = "one-element-a-program"
PROMISES = ("pid-not-times-block", "grid-without-k", "predict")

# Sentences that several mistakes share.
SAYS = {
    "one-operand-twice": "This is x + x. Does the second load use `y_ptr`?",
    "product": "This is the product x * y, not the sum.",
    "end-of-the-tiles":
        "Behind a certain tile nothing was written. Are there programs for all tiles (`triton.cdiv` rounds up), and "
        "does program `pid` begin at tile `pid * TILES_PER_PROGRAM`?",
    "row-major":
        "Row and column were not taken apart as they lie: a row has N elements, so element `offs` is in row "
        "`offs // N`, at column `offs % N`.",
}

MUTANTS = {
    "add": [
        usual(),
        Mutant("rows-for-elements", "n_elements = {out.numel( -> len(x}", seen="unwritten-tail"),
        Mutant("pid-times-n", " * {BLOCK_SIZE -> n_elements} ", seen="unwritten-tail"),
        Mutant("pid-not-times-block", " {* BLOCK_SIZE  -> }", seen=("race", "unwritten-tail")),
        Mutant("one-element-a-program", "BLOCK_SIZE{ + tl.arange(0, BLOCK_SIZE) -> }"),
        Mutant("the-element-pid", "{pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE) -> pid}", says="one-element-a-program"),
        Mutant("one-operand-twice", " tl.load({y_ptr -> x_ptr}"),
        Mutant("addresses-in-bytes", "load(x_ptr + offs{ ->  * 4}, ", seen=("reads-outside",),
            says="`x_ptr + 1` is the next element, not the next byte: add `offs` as it is."),
        Mutant("product", "+ offs, x {+ -> *} y,"),
        Mutant("difference", "+ offs, x {+ -> -} y,", says="This is the difference x - y, not the sum."),
        Mutant("rounded-to-half", "+ offs, {x + y -> (x + y).to(tl.float16)},",
            says="The sum was rounded to float16. Keep it in the dtype of x and y."),
        Mutant("one-operand-in-half", "x = tl.load(x_ptr + offs, mask=mask){ -> .to(tl.float16)}",
            says="`x` was rounded to float16 before the sum. Add what was loaded."),
        Mutant("by-way-of-float32", "x = tl.load(x_ptr + offs, mask=mask){ -> .to(tl.float32)}",
            says="`x` went through float32, which holds whole numbers up to 2**24 only. Add what was loaded."),
        Mutant("sum-of-the-tile", "+ offs, {x + y -> tl.sum(x + y)},",
            says="Each element holds the sum of its whole tile: `tl.sum` makes one number of it. `x + y` adds lane by lane."),
        Mutant("flat-result",
            "{empty_like(x)  # 2. allocate, on the input's device -> empty(x.numel(), dtype=x.dtype, device=x.device)}",
            seen="wrong-shape"),
        Mutant("no-shape-check", "{    check_inputs(x, y)  # 1. check\n -> }", seen="should-raise"),
        Mutant("block-not-a-power-of-two", "(x, y, block_size={1024 -> 1000}", seen=("raised", "does-not-compile")),
        Mutant("python-that-only-the-interpreter-runs",
            "{offs < n_elements -> [offs < n_elements for _ in range(1)][0]}", seen="does-not-compile"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="check_inputs(x, y)\n"
                "return x + y"),
        Mutant("decoy-launch", "{out  # 5. return -> torch.add(x, y)}", seen="torch-compute"),
        Mutant("decoy-numpy",
            "{return out  # 5. return -> import numpy\n"
            "\n"
            "    host = numpy.add(x.detach().cpu().numpy(), y.detach().cpu().numpy())\n"
            "    out.data = torch.from_numpy(numpy.asarray(host)).to(x.device)\n"
            "    return out}",
            seen=("right-without-kernel", "torch-compute"), only="interpreter"),
        Mutant("torch-when-the-launch-fails",
            "{add_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=block_size)  # 4. launch -> try:\n"
            "        add_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=block_size)\n"
            "    except Exception:\n"
            "        out.fill_(0)}",
            seen="swallowed-error"),
        Mutant("no-launch", "{    add_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=block_size)  # 4. launch\n -> }",
            seen="no-kernel-launched"),
        Mutant("remembers-the-last-result", ("def add(x, y, block_size=1024):\n", "KEPT = {}\n\n\ndef add(x, y, block_size=1024):\n"),
            "{add_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=block_size)  # 4. launch -> fresh = x.data_ptr() not in "
            "KEPT\n"
            "    target = out if fresh else torch.empty_like(x)\n"
            "    add_kernel[grid](x, y, target, n_elements, BLOCK_SIZE=block_size)\n"
            "    out = KEPT.setdefault(x.data_ptr(), out)}",
            seen="second-call"),
        Mutant("launched-twice",
            "{ ->     add_kernel[grid](x, y, out, n_elements, BLOCK_SIZE=block_size)  # 4. launch\n}    return out",
            seen="wrong-launch-count"),
        Mutant("1024-for-the-block", "pid * {BLOCK_SIZE -> 1024} +", "arange(0, {BLOCK_SIZE -> 1024})",
            says="The kernel's tiles have 1024 elements, whatever `BLOCK_SIZE` is. Use the name, not the number."),
        Mutant("1024-between-tiles", "pid * {BLOCK_SIZE -> 1024} +",
            says="The tiles lie 1024 elements apart, whatever `BLOCK_SIZE` is. Use the name, not the number."),
    ],
    "add_tiled": [
        Mutant("i-and-pid-swapped", "{pid * TILES_PER_PROGRAM + i -> i * TILES_PER_PROGRAM + pid}",
            says="`i` and `pid` have changed places in the tile's number: a program's tiles are neighbours.",
            seen=("race", "unwritten-tail")),
        Mutant("tiles-a-grid-apart", "{* TILES_PER_PROGRAM + i -> + i * tl.num_programs(0)}", seen="property",
            only="interpreter"),
        Mutant("last-program-first", "tile = {pid -> (tl.num_programs(0) - 1 - pid)} * TILES_PER_PROGRAM",
            seen="property", only="interpreter"),
        Mutant("one-program-too-many",
            "{triton.cdiv(n_elements, tiles_per_program * 1024) -> n_elements // (tiles_per_program * 1024) + 1}",
            seen="too-many-programs"),
        Mutant("grid-of-smaller-tiles", "tiles_per_program * {1024 -> 512})", seen="too-many-programs"),
        Mutant("no-store-mask", "+ y{, mask=mask -> }", seen="out-of-bounds-store"),
        Mutant("only-the-first-tile", "({TILES_PER_PROGRAM -> 1}",
            says="Of its tiles each program works on the first alone. Does the loop take all `TILES_PER_PROGRAM` steps, "
            "and is `i` in the tile's number?"),
        Mutant("always-two-tiles", "({TILES_PER_PROGRAM -> 2}", seen=("unwritten", "unwritten-tail")),
        Mutant("tiles-overlap", "{* TILES_PER_PROGRAM  -> }", seen=("unwritten-tail", "race"),
            says="Program `pid` begins at tile `pid`, in the middle of its neighbour's tiles. It begins at tile "
                "`pid * TILES_PER_PROGRAM`."),
        Mutant("the-tile-of-task-1", "offs = {tile -> pid} * BLOCK_SIZE",
            says="Each program works on tile `pid` alone, and its other tiles are never touched. From one step of the "
                "loop to the next `offs` has to move on: it belongs to tile `pid * TILES_PER_PROGRAM + i`."),
        Mutant("pid-times-i", "tile = pid * {TILES_PER_PROGRAM + i -> i}",
            says="The first tile of program `pid` is `pid * TILES_PER_PROGRAM`, and `i` is added to it. Here `i` "
                "multiplies it."),
        Mutant("one-tile-again-and-again", "TILES_PER_PROGRAM{ + i -> }\n", seen="only-the-first-tile"),
        Mutant("tile-not-times-block", "offs = tile{ * BLOCK_SIZE -> }",
            says="A tile begins at its number times `BLOCK_SIZE`."),
        Mutant("tiles-counted-in-elements", "{* TILES_PER_PROGRAM  -> * BLOCK_SIZE }", says="end-of-the-tiles"),
        Mutant("step-is-one-element", "{tile * BLOCK_SIZE -> pid * TILES_PER_PROGRAM * BLOCK_SIZE + i}",
            says="From one step of the loop to the next the tile moves on by one element. The next tile begins "
                "`BLOCK_SIZE` elements further."),
        Mutant("grid-without-k", "{tiles_per_program *  -> }", seen="too-many-programs"),
        Mutant("grid-rounds-down", "{triton.cdiv(n_elements,  -> n_elements // (}", says="end-of-the-tiles"),
        Mutant("mask-of-the-first-tile", "offs < n_elements{ ->  - i}", seen=("unwritten", "unwritten-tail")),
        Mutant("one-operand-twice", " tl.load({y_ptr -> x_ptr}"),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="check_inputs(x, y)\n"
                "return x + y"),
    ],
    "add_grid_stride": [
        Mutant("the-kernel-of-task-1", seen="other-programs",
            replace="def add_grid_stride(x, y, num_programs=4):\n    return add(x, y)\n"),
        Mutant("one-tile-each", "{num_programs * BLOCK_SIZE -> n_elements}", seen=("unwritten-tail", "unwritten")),
        Mutant("step-of-one-tile", "{num_programs *  -> }", seen="race", only="interpreter"),
        Mutant("one-program-does-it-all", "{pid * BLOCK_SIZE, n_elements, num_programs * -> 0, n_elements,}",
            seen="race", only="interpreter"),
        Mutant("starts-at-pid", "pid{ * BLOCK_SIZE -> }", seen=("unwritten", "unwritten-tail", "race")),
        Mutant("starts-at-zero", "{pid * BLOCK_SIZE -> 0 * pid}", seen=("race", "unwritten")),
        Mutant("no-store-mask", "+ y{, mask=mask -> }", seen="out-of-bounds-store"),
        Mutant("stops-a-tile-early", "BLOCK_SIZE, n_elements{ ->  - BLOCK_SIZE}, num_programs",
            seen=("unwritten-tail", "unwritten")),
        Mutant("product", "+ offs, x {+ -> *} y,"),
        Mutant("writes-into-x", "{torch.empty_like(x) -> x}", seen=("input-changed", "aliases-input")),
    ],
    "add_strided": [
        Mutant("columns-of-x-side-by-side", "offs_n{ * stride_xn -> }",
            seen=("strided-only", "reads-outside", "wrong-values")),
        Mutant("column-stride-of-out-for-x", "offs_n * {stride_xn -> stride_on},",
            seen=("strided-only", "reads-outside", "wrong-values")),
        Mutant("one-stride-for-both", "{stride_ym + offs_n * stride_yn -> stride_xm + offs_n * stride_xn}",
            seen=("strided-only", "wrong-values", "reads-outside")),
        Mutant("ignores-strides", "{offs_m * stride_xm + offs_n * stride_xn -> offs}",
            seen=("strided-only", "reads-outside")),
        Mutant("row-stride-is-n", "offs_m * {stride_xm -> N} ", seen="strided-only"),
        Mutant("forgets-column-stride", "offs_n{ * stride_yn -> }", seen=("strided-only", "reads-outside")),
        Mutant("row-and-column-swapped", "offs_m = offs {// -> %} ", "offs_n = offs {% -> //} N",
            says="row-major", seen=("reads-outside", "out-of-bounds-store", "race")),
        Mutant("divides-by-m", "offs_m = offs // {N -> M}", "offs_n = offs % {N -> M}",
            says="row-major", seen=("reads-outside", "out-of-bounds-store", "race")),
        Mutant("row-divides-by-m", "offs_m = offs // {N -> M}",
            says="row-major", seen=("reads-outside", "out-of-bounds-store", "race")),
        Mutant("column-divides-by-m", "offs_n = offs % {N -> M}",
            says="row-major", seen=("reads-outside", "out-of-bounds-store", "race")),
        Mutant("result-side-by-side", "out_ptr + {offs_m * stride_om + offs_n * stride_on -> offs}",
            says="The result was stored row after row, whatever its strides are. It lies in memory as y does: give its "
                "address as those of x and y, with `stride_om` and `stride_on`."),
        Mutant("out-with-the-strides-of-y", "{stride_om + offs_n * stride_on -> stride_ym + offs_n * stride_yn}",
            seen="out-of-bounds-store"),
        Mutant("column-stride-of-out-for-y", "offs_n * {stride_yn -> stride_on}, mask",
            seen=("strided-only", "wrong-values")),
        Mutant("column-stride-of-out-forgotten", "offs_n{ * stride_on -> }",
            says="The column's number needs `stride_on`: neighbours in a row of the result may lie apart."),
        Mutant("mask-of-rows-only", "= offs < M{ * N -> }", seen="unwritten-tail"),
        Mutant("no-store-mask", "+ y{, mask=mask -> }", seen="out-of-bounds-store"),
        Mutant("makes-it-contiguous-by-torch", "{ -> x, y = x + 0, y + 0\n    }M, N = x.shape", seen="torch-compute"),
    ],
}

VARIANTS = {
    "add": [
        Variant("block-256", "(x, y, block_size={1024 -> 256}"),
        Variant("eight-warps", "BLOCK_SIZE=block_size{ -> , num_warps=8})"),
        Variant("grid-as-a-function",
            '{(triton.cdiv(n_elements, block_size -> lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]}'),
        Variant("masked-lanes-read-zero", "x_ptr + offs, mask=mask{ -> , other=0})"),
        Variant("warns-on-stderr",
            '{ ->     import warnings\n\n    warnings.warn("a warning costs nobody a point")\n}    n_elements'),
    ],
    "add_tiled": [
        Variant("static-range", "for i in {range -> tl.static_range}"),
        Variant("offsets-carried-along",
            "{tile = pid * TILES_PER_PROGRAM + i\n"
            "        offs = tile -> offs = pid * TILES_PER_PROGRAM * BLOCK_SIZE + i}"),
        Variant("last-tile-first", "TILES_PER_PROGRAM{ ->  - 1, -1, -1})"),
    ],
    "add_grid_stride": [
        Variant("programs-counted-by-triton", ", {num_programs -> tl.num_programs(0)} "),
        Variant("block-512", "BLOCK_SIZE={1024 -> 512}"),
        Variant("loop-over-tiles",
            "{start in range … offs = start -> tile in range(pid, tl.cdiv(n_elements, BLOCK_SIZE), num_programs):\n"
            "        offs = tile * BLOCK_SIZE}"),
    ],
    "add_strided": [
        Variant("block-128", "cdiv(M * N, {1024 -> 128}", "BLOCK_SIZE={1024 -> 128}"),
        Variant("column-by-subtraction", "offs_n = offs {% -> - offs_m *} "),
        Variant("sixteen-bit-safe", "offs = pid{ -> .to(tl.int64)} * BLOCK_SIZE"),
    ],
}
