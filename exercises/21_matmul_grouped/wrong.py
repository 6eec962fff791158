"""Mistakes of 21_matmul_grouped with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "bias-subtracted both-stand-still grid-swapped half-sum k-subtracted-twice no-bias tf32"
PROMISES = ("row-by-row", "a-list-of-tiles", "second-operator-in-torch")

# Pointers are made once, before the loop; who uses it moves them.
POINTERS_THAT_MOVE = (
    (
        "        offs_k = k + tl.arange(0, BLOCK_K).to(tl.int64)\n"
        "        x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_k[None, :] * stride_xk\n"
        "        w_ptrs = w_ptr + offs_k[:, None] * stride_wk + offs_n[None, :] * stride_wn\n",
        "",
    ),
    "{ -> offs_k = tl.arange(0, BLOCK_K)\n"
    "    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_k[None, :] * stride_xk\n"
    "    w_ptrs = w_ptr + offs_k[:, None] * stride_wk + offs_n[None, :] * stride_wn\n"
    "    }acc = tl.zeros",
)


A_GRID_OF_TWO_AXES = '{ * triton.cdiv(N, tile["BLOCK_N"]), -> , triton.cdiv(N, tile["BLOCK_N"])}'
TWO_PROGRAM_IDS = "{tile_of(tl.program_id(0), grid_m, grid_n, 8 -> tl.program_id(0), tl.program_id(1}"

# Sentences that several mistakes share.
SAYS = {
    "row-by-row":
        "This is row by row, and the group makes no difference. Inside a group, go down its first column of tiles, "
        "then down the second.",
    "short-last-group": "Right until the last group: it may have fewer rows than the others. How many are left?",
    "all-rows-left": "A group has `group` rows, unless fewer are left: take the smaller of the two.",
    "number-not-inside":
        "The column is counted from the first program of all. Count inside the group: `pid` less the programs of the "
        "groups before.",
    "row-and-column-swapped":
        "Rows and columns of tiles are swapped. `tile_of` takes pid, grid_m, grid_n and the group, in this order, and "
        "gives the row of the tile first.",
    "grid-of-rows-only":
        "Only the first column of tiles was computed. The grid is one number, the tiles along M times those along N, "
        "and `tile_of` gives `pid_m` and `pid_n`.",
    "no-activation": "The activation was not applied.",
    "bias-by-row": "The bias was added along the wrong axis: one number for each row, not for each column.",
    "grid-of-one-dimension":
        "Only the first column of tiles was computed. With `tile_of` the grid is one number, the tiles along M times "
        "those along N. Without it there are two numbers and two program ids.",
}

MUTANTS = {
    "swizzle": [
        Mutant("row-by-row", "{first_m + inside % rows, inside // rows -> pid // grid_n, pid % grid_n}",
            says="row-by-row"),
        Mutant("column-by-column", "{first_m + inside % rows, inside // rows -> pid % grid_m, pid // grid_m}",
            says="This is column by column over all rows: the group makes no difference."),
        Mutant("group-of-squares", "per_group = group * {grid_n -> group}",
            says="A group was counted as a square. It has `group` rows, and each of them `grid_n` tiles."),
        Mutant("group-of-all-tiles", "per_group = {group -> grid_m} ",
            says="A group was taken for all tiles. It has `group` rows of `grid_n` tiles each."),
        Mutant("rows-by-columns", "rows = min({grid_m -> grid_n}",
            says="`grid_n` counts columns of tiles. How many *rows* are left: `grid_m` less the first one."),
        Mutant("along-the-row", "{rows, inside // rows -> grid_n, inside // grid_n}",
            says="Inside a group, remainder and quotient are by its number of rows, not by `grid_n`."),
        Mutant("group-for-number-inside", "inside = pid {% -> //} ",
            says="The number of the group was taken for the number inside it. That is the remainder."),
        Mutant("first-row-for-programs-before", "pid {% per_group -> - first_m}",
            says="The number inside a group is `pid` less the *programs* before, not the rows before: `pid % ...`."),
        Mutant("rows-divided-away", "{per_group * group -> (per_group * group)}",
            says="Group g begins at row g * group. `pid // (a * b)` divides by both: no brackets."),
        Mutant("every-group-is-full", "{min(grid_m - first_m, group) -> group}", says="short-last-group"),
        Mutant("rows-left-only", "{min(grid_m - first_m, group) -> grid_m - first_m}", says="all-rows-left"),
        Mutant("larger-of-the-two", "rows = {min -> max}(grid_m", says="all-rows-left"),
        Mutant("row-and-column-swapped", "{first_m + inside % rows, inside // -> inside // rows, first_m + inside %}",
            says="The pair is (pid_n, pid_m). The row of tiles comes first."),
        Mutant("across-first", "{% rows, inside // rows -> // grid_n, inside % grid_n}", says="row-by-row"),
        Mutant("swapped-inside-the-group", "{% rows, inside // -> // rows, inside %}",
            says="Inside a group, row and column are swapped: the remainder is the row, the quotient the column, as in "
                "`who_kernel`."),
        Mutant("group-of-columns", "group * {grid_n -> grid_m}",
            says="A group was taken for `group * grid_m` tiles. It has `group` rows of `grid_n` tiles each.",
            seen="raised"),
        Mutant("group-number-for-row", "per_group{ * group -> }",
            says="The number of the group was taken for its first row. Group g begins at row g * group."),
        Mutant("row-inside-the-group", "return {first_m +  -> }",
            says="This is the row inside the group. Add the group's first row."),
        Mutant("not-inside", "pid{ % per_group -> }", says="number-not-inside"),
        Mutant("column-not-inside", " rows, {inside -> pid} ", says="number-not-inside"),
        Mutant("by-group-instead-of-rows", "{rows, inside // rows -> group, inside // group}", says="short-last-group"),
        Mutant("column-by-whole-group", "inside // {rows -> group}",
            says="In the last group the column is off: it has fewer rows than `group`. Divide by its own number of "
                "rows."),
        Mutant("row-by-whole-group", "inside % {rows -> group},",
            says="In the last group the row is off: it has fewer rows than `group`. Take the remainder by its own "
                "number of rows."),
        Mutant("rows-of-the-last-group", "{min(grid_m - first_m, group) -> grid_m % group or group}",
            says="Every group got as many rows as the last one. Only the last may have fewer than `group`."),
        Mutant("groups-of-columns", "{ -> grid_m, grid_n = grid_n, grid_m\n    }per_group = group",
            "{first_m + inside % rows, inside // -> inside // rows, first_m + inside %}",
            says="These are groups of columns of tiles, row by row. A group is `group` rows of tiles, column by "
                "column."),
        Mutant("divmod-of-inside",
            "{return first_m + inside % rows, inside // rows -> pid_n, row = divmod(inside, rows)\n"
            "    return first_m + row, pid_n}",
            seen="property"),
        Mutant("a-quotient-cut", "{pid // per_group -> int(pid / per_group)}", seen="property"),
        Mutant("a-list-of-tiles",
            "{first_m + inside % rows, inside // rows -> [(first_m + m, n) for n in range(grid_n) for m in "
            "range(rows)][inside]}",
            seen="property"),
        Mutant("real-division", "inside /{/ -> } rows", seen=("wrong-values", "wrong-type")),
        Mutant("last-group-one-short", "grid_m - first_m{ ->  - 1},", seen=("wrong-values", "raised")),
        Mutant("returns-nothing", "{return first_m + inside % rows, inside // rows -> _ = first_m}", seen="wrong-type"),
        Mutant("returns-a-number", "{, inside // rows -> }", seen="wrong-values"),
    ],
    "matmul_grouped": [
        Mutant("a-small-tile-of-its-own",
            ("tile = tile or matmul_tile(a.dtype)", 'tile = {"BLOCK_M": 16, "BLOCK_N": 16, "BLOCK_K": 32}'),
            seen="too-many-programs"),
        Mutant("a-large-tile-of-its-own",
            ("tile = tile or matmul_tile(a.dtype)", 'tile = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}'),
            seen="property", only="interpreter"),
        Mutant("row-by-row", "{tile_of(pid, grid_m, grid_n, GROUP_M) -> pid // grid_n, pid % grid_n}", seen="property",
            only="interpreter"),
        Mutant("column-by-column", "{tile_of(pid, grid_m, grid_n, GROUP_M) -> pid % grid_m, pid // grid_m}",
            seen="property", only="interpreter"),
        Mutant("groups-of-one", "grid_n, {GROUP_M -> 1})", seen="property", only="interpreter"),
        Mutant("one-group-for-all", "grid_n, {GROUP_M -> grid_m})", seen="property", only="interpreter"),
        Mutant("two-numbers-as-in-page-20",
            "{pid = tl.program_id(0) … grid_m, grid_n, GROUP_M -> pid_m, pid_n = tl.program_id(0), tl.program_id(1}",
            A_GRID_OF_TWO_AXES, seen="property", only="interpreter"),
        Mutant("row-and-column-swapped", "{pid_m, pid_n -> pid_n, pid_m} =", says="row-and-column-swapped"),
        Mutant("both-pairs-swapped",
            "{pid_m, pid_n = tile_of(pid, grid_m, grid_n, -> pid_n, pid_m = tile_of(pid, grid_n, grid_m,}",
            seen="property", only="interpreter"),
        Mutant("swizzle-itself", "= {tile_of -> swizzle}(pid", seen="does-not-compile"),
        Mutant("grid-of-other-tiles",
            '{(M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]) -> (M, 128) * triton.cdiv(N, 256)}',
            says="There are too few programs: tiles of 128 x 256 were counted. The tile of this call is in `tile`: its "
                "BLOCK_M and BLOCK_N."),
        Mutant("sizes-for-numbers-of-tiles", " {grid_m, grid_n -> M, N},",
            says="`tile_of` was told M and N. It takes numbers of tiles: `grid_m` and `grid_n`."),
        Mutant("a-group-too-few-arguments", "grid_n{, GROUP_M -> }", seen=("raised", "does-not-compile")),
        Mutant("grid-of-rows-only", '{ * triton.cdiv(N, tile["BLOCK_N"]) -> }', says="grid-of-rows-only"),
        Mutant("grid-of-columns-only", '{M, tile["BLOCK_M"]) * triton.cdiv( -> }',
            says="There are as many programs as tiles along N. The grid is the tiles along M times the tiles along N."),
        Mutant("two-program-ids",
            "{pid = tl.program_id(0) … grid_m, grid_n, GROUP_M -> pid_m, pid_n = tl.program_id(0), tl.program_id(1}",
            says="grid-of-rows-only"),
        Mutant("grid-rounds-m-down", "{triton.cdiv(M, -> (M //}",
            says="Some tiles have no program. Round the number of tiles along M up: `triton.cdiv`."),
        Mutant("grid-rounds-n-down", "{triton.cdiv(N, -> (N //}",
            says="Some tiles have no program. Round the number of tiles along N up: `triton.cdiv`."),
        Mutant("grid-rounds-once", '{, tile["BLOCK_M"]) * triton.cdiv(N, ->  * N, tile["BLOCK_M"] *}',
            says="There are too few programs: M * N was divided. Count the tiles along M and along N, each rounded up, "
                "and multiply."),
        Mutant("grid-of-two-numbers", A_GRID_OF_TWO_AXES, says="grid-of-rows-only", seen="race"),
        Mutant("grid-rounds-down",
            '{triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, -> (M // tile["BLOCK_M"]) * (N //}',
            says="Some tiles have no program. Round both numbers of tiles up: `triton.cdiv`."),
        Mutant("grid-of-elements", '({triton.cdiv … BLOCK_N"]) -> M * N}', seen=("too-many-programs", "timeout")),
        Mutant("grid-of-the-sum", 'BLOCK_M"]) {* -> +} triton',
            says="There are too few programs: the two numbers of tiles were added. Multiply them."),
        Mutant("grid-without-comma", '["BLOCK_N"]){, -> })', seen="raised"),
        Mutant("last-tile-left-out", 'tile["BLOCK_N"]){ ->  - 1},',
            says="The last tile has no program: the grid is one too small."),
        Mutant("all-take-the-first", ".program_id({0 -> 1})",
            says="Every program took the first tile. Does `tile_of` get the program's number first, and is that "
                "`tl.program_id(0)`?"),
        Mutant("a-list-of-tiles", seen=("torch-compute", "no-kernel-launched"),
            replace="def matmul_grouped(a, b, tile=None):\n    return torch.matmul(a, b)\n"),
    ],
    "linear_act": [
        Mutant("one-program-walks", "{linear_act_kernel -> one_tile}(", "{ -> pid, }x_ptr,",
            "{tl.program_id(0) -> pid}",
            "{ -> @triton.jit\n"
            "def all_tiles(x, w, bias, out, M, N, K, sxm, sxk, swk, swn, sbn, som, son, tiles, ACT: tl.constexpr,\n"
            "              BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):\n"
            "    for i in range(0, tiles):\n"
            "        one_tile(tl.full([], i, tl.int64), x, w, bias, out, M, N, K, sxm, sxk, swk, swn, sbn, som, "
            "son, ACT,\n"
            "                 BLOCK_M, BLOCK_N, BLOCK_K)\n"
            "\n"
            "\n"
            "}def linear_act", "{linear_act_kernel[grid -> all_tiles[(1,)}", "out.stride(),{ ->  *grid,}",
            seen="unshared-work", only="interpreter"),
        Mutant("no-bias", "{ + bias.to(tl.float32)[None, :] -> }"),
        Mutant("no-activation",
            "{activate(acc + bias.to(tl.float32)[None, :], ACT) -> acc + bias.to(tl.float32)[None, :]}",
            says="no-activation"),
        Mutant("act-is-no-constant", "ACT{: tl.constexpr -> },\n    BLOCK_M", seen="does-not-compile"),
        Mutant("activation-in-every-step", 'input_precision="ieee"){ -> \n        acc = activate(acc, ACT)}',
            says="The activation was applied in every step of the loop. It belongs behind the loop."),
        Mutant("bias-after-activation",
            "{ + bias.to(tl.float32)[None, :], ACT) -> , ACT) + bias.to(tl.float32)[None, :]}",
            says="The bias was added after the activation. It belongs inside."),
        Mutant("bias-by-row",
            "{offs_n * stride_bn, mask=offs_n < N -> offs_m * stride_bn, mask=(offs_m < M) & (offs_m < N)}",
            "float32)[{None, : -> :, None}]", says="bias-by-row"),
        Mutant("bias-of-rows-with-mask-of-rows",
            "{offs_n * stride_bn, mask=offs_n < N -> offs_m * stride_bn, mask=offs_m < M}",
            "float32)[{None, : -> :, None}]", says="bias-by-row", seen="reads-outside"),
        Mutant("bias-along-the-wrong-axis", "float32)[{None, : -> :, None}]", says="bias-by-row",
            seen=("raised", "does-not-compile", "wrong-values")),
        Mutant("bias-ignores-its-stride", "offs_n{ * stride_bn -> }", seen=("strided-only", "reads-outside")),
        Mutant("bias-with-stride-of-w", "offs_n * {stride_bn -> stride_wn},",
            seen=("strided-only", "reads-outside", "wrong-values")),
        Mutant("bias-without-mask", "{, mask=offs_n < N, other=0.0 -> }", seen="reads-outside", only="interpreter"),
        Mutant("bias-of-the-first-tile",
            "{offs_n * stride_bn, mask=offs_n -> tl.arange(0, BLOCK_N) * stride_bn, mask=tl.arange(0, BLOCK_N)}",
            says="Every tile got the bias of the first columns. Which offsets belong to this tile's?",
            seen="reads-outside"),
        Mutant("first-bias-only", "{ + offs_n * stride_bn, mask=offs_n < N, other=0.0 -> }", "float32){[None, :] -> }",
            says="Every column got the first number of the bias. Load a tile of it."),
        Mutant("bias-subtracted", "activate(acc {+ -> -} "),
        Mutant("bias-multiplied", "activate(acc {+ -> *} ", seen="wrong-values"),
        Mutant("bias-in-every-step",
            'input_precision="ieee"){ -> \n'
            "        b = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N, other=0.0)\n"
            "        acc += b.to(tl.float32)[None, :]}",
            "{ + bias.to(tl.float32)[None, :] -> }",
            says="The bias was added in every step of the loop. It belongs behind the loop."),
        Mutant("relu-always", 'ACT={act -> "relu"}, **tile', says="This is ReLU for every `act`. Is `ACT` passed on?"),
        Mutant("silu-always", 'None, :], {ACT -> "silu"})', says="This is SiLU for every `act`. Is `ACT` passed on?"),
        Mutant("rounded-before-the-bias", " activate(acc{ -> .to(out_ptr.dtype.element_ty).to(tl.float32)} ",
            says="The product was rounded to half precision before the bias was added. Stay in float32: the store "
                "rounds once."),
        Mutant("rounded-before-the-activation",
            "{activate(acc + bias.to(tl.float32)[None, :] -> acc + bias.to(tl.float32)[None, :]\n"
            "    y = activate(y.to(out_ptr.dtype.element_ty).to(tl.float32)}",
            says="The sum was rounded to half precision before the activation. Stay in float32: the store rounds once."),
        Mutant("activation-in-half",
            "{acc + bias.to(tl.float32)[None, :] -> (acc + bias.to(tl.float32)[None, :]).to(out_ptr.dtype.element_ty)}",
            seen=("raised", "does-not-compile", "wrong-values", "rounded-before-the-activation")),
        Mutant("half-sum", "dtype={tl.float32 -> out_ptr.dtype.element_ty}",
            '{= tl.dot(x, w, acc, input_precision="ieee" -> += tl.dot(x, w, '
            'input_precision="ieee").to(out_ptr.dtype.element_ty}',
            " activate(acc{ -> .to(tl.float32)} ", seen=("raised", "does-not-compile")),
        Mutant("tf32", '{, input_precision="ieee" -> }'),
        Mutant("dot-of-float32-tiles", " tl.dot(x{, w -> .to(tl.float32), w.to(tl.float32)}, ", seen="float32-product",
            only="interpreter"),
        Mutant("only-last-step", "dot(x, w,{ acc, -> }",
            says="Only the last step of the loop counts. `tl.dot(x, w, acc, ...)` adds to acc; without acc it starts "
                "from zero."),
        Mutant("a-stands-still", *POINTERS_THAT_MOVE, ":] < K{ ->  - k}), other=", ":, None] < K{ ->  - k}),",
            'input_precision="ieee"){ -> \n        pass\n        w_ptrs += BLOCK_K * stride_wk}',
            says="Every step uses the first tile of `x`. Move its pointers on along K."),
        Mutant("b-stands-still", *POINTERS_THAT_MOVE, ":] < K{ ->  - k}), other=", ":, None] < K{ ->  - k}),",
            'input_precision="ieee"){ -> \n        x_ptrs += BLOCK_K * stride_xk\n        pass}',
            says="Every step uses the first tile of `w`. Move its pointers on along K."),
        Mutant("b-moves-sideways", *POINTERS_THAT_MOVE, ":] < K{ ->  - k}), other=", ":, None] < K{ ->  - k}),",
            'input_precision="ieee"){ -> \n'
            "        x_ptrs += BLOCK_K * stride_xk\n"
            "        w_ptrs += BLOCK_K * stride_wn}",
            says="`w`'s pointers move along its rows. K runs down `w`: one step is BLOCK_K rows, so BLOCK_K times the "
                "distance of two rows."),
        Mutant("lanes-past-k", *POINTERS_THAT_MOVE, ":] < K), other=0.0){ -> }", "None] < K), other=0.0){ -> }",
            'input_precision="ieee"){ -> \n'
            "        x_ptrs += BLOCK_K * stride_xk\n"
            "        w_ptrs += BLOCK_K * stride_wk}",
            says="Lanes past K reached the sum. In the last step only K - k of them count, k being the step's first "
                "column: is the mask `offs_k < K - k`, for `x` and for `w`, and does k go in steps of BLOCK_K?"),
        Mutant("both-stand-still", "{k + tl.arange(0, BLOCK_K).to(tl.int64 -> tl.arange(0, BLOCK_K}",
            ":] < K{ ->  - k}), other=", ":, None] < K{ ->  - k}),"),
        Mutant("both-stand-still-unmasked", "{k + tl.arange(0, BLOCK_K).to(tl.int64 -> tl.arange(0, BLOCK_K}",
            says="Every step multiplies the same two tiles, the first ones. Move the pointers on along K, or add k to "
                "their offsets."),
        Mutant("k-subtracted-twice", ":] < K{ ->  - k}), other=", ":, None] < K{ ->  - k}),"),
        Mutant("no-mask-along-k", "{ & (offs_k[None, :] < K) -> }", "{ & (offs_k[:, None] < K) -> }",
            seen=("reads-outside", "lanes-past-k")),
        Mutant("no-other", ":] < K){, other=0.0 -> })", " K){, other=0.0 -> }", seen="no-other", only="interpreter"),
        Mutant("rows-of-a-in-c", "] * {stride_om -> stride_xm} ",
            says="The tiles were stored as if `out` had rows of `x`'s length. It has strides of its own.",
            only="interpreter"),
        Mutant("strides-in-another-order", "{x.stride(), *w -> w.stride(), *x}",
            seen=("wrong-values", "reads-outside", "out-of-bounds-store", "race", "unwritten", "unwritten-tail", "strided-only")),
        Mutant("copied-first", "{ -> x, w = x.contiguous(), w.contiguous()\n    }out = torch.empty", seen="copies"),
        Mutant("offsets-of-32-bits", "{pid_m.to(tl.int64) -> pid_m}", "{pid_n.to(tl.int64) -> pid_n}",
            "BLOCK_K){.to(tl.int64) -> }", seen="int32-offset"),
        Mutant("columns-of-32-bits", "{pid_n.to(tl.int64) -> pid_n}", seen="int32-offset", only="interpreter"),
        Mutant("sizes-in-another-order", "out, {M, N, K -> M, K, N}, ",
            says="N and K are swapped. Compare the order of the arguments in the launch with that in the kernel.",
            seen=("unwritten-tail", "out-of-bounds-store", "reads-outside")),
        Mutant("strides-of-bias-and-result-exchanged",
            "{*bias.stride(), *out.stride() -> *out.stride(), *bias.stride()}",
            seen=("unwritten-tail", "unwritten", "out-of-bounds-store", "race")),
        Mutant("stride-of-bias-left-out", "{bias.stride(), * -> }", seen=("raised", "does-not-compile")),
        Mutant("no-store-mask", "{, mask=mask_m & mask_n -> }", seen="out-of-bounds-store"),
        Mutant("store-mask-of-rows-only", "mask_m{ & mask_n -> }", seen=("out-of-bounds-store", "race")),
        Mutant("grid-of-rows-only", '{ * triton.cdiv(N, tile["BLOCK_N"]) -> }', says="grid-of-one-dimension"),
        Mutant("grid-rounds-down",
            '{triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, -> (M // tile["BLOCK_M"]) * (N //}',
            seen="unwritten-tail"),
        Mutant("grid-of-elements", '({triton.cdiv … BLOCK_N"]) -> M * N}', seen="too-many-programs"),
        Mutant("grid-swapped", TWO_PROGRAM_IDS,
            '{M, tile["BLOCK_M"]) * triton.cdiv(N, tile["BLOCK_N"]), -> N, tile["BLOCK_N"]), triton.cdiv(M, '
            'tile["BLOCK_M"])}'),
        Mutant("one-number-for-a-grid-of-two", TWO_PROGRAM_IDS, says="grid-of-one-dimension"),
        Mutant("two-numbers-for-a-grid-of-one", A_GRID_OF_TWO_AXES, says="grid-of-one-dimension"),
        Mutant("tiles-along-n-round-down", "{tl.cdiv(N, BLOCK_N) -> N // BLOCK_N}",
            seen=("unwritten", "unwritten-tail", "out-of-bounds-store")),
        Mutant("float32-result", " dtype={x.dtype -> torch.float32}", seen="wrong-dtype"),
        Mutant("no-return", "return {out -> None}", seen="wrong-type"),
        Mutant("takes-any-activation", "{act not in ACTIVATIONS or  -> }", seen="should-raise"),
        Mutant("second-operator-in-torch", "return out{ ->  * 1}", seen="torch-compute"),
        Mutant("product-by-torch", "{(M, K), N … return out -> return ACTIVATIONS[act](x @ w + bias)}",
            seen=("torch-compute", "no-kernel-launched")),
    ],
}

VARIANTS = {
    "swizzle": [
        Variant("if-for-the-last",
            "{min(grid_m - first_m, group) -> group if first_m + group <= grid_m else grid_m - first_m}"),
        Variant("remainder-by-subtraction", "pid {% per_group -> - first_m * grid_n}"),
        Variant("names-of-the-tutorial",
            "{inside = pid % per_group … rows, inside // rows -> pid_m = first_m + (pid % per_group) % rows\n"
            "    pid_n = (pid % per_group) // rows\n"
            "    return pid_m, pid_n}"),
    ],
    "matmul_grouped": [
        Variant("groups-of-4", "(), GROUP_M={8 -> 4},"),
        Variant("in-one-line",
            "{pid = tl.program_id(0)\n    pid_m, pid_n = tile_of(pid -> pid_m, pid_n = tile_of(tl.program_id(0)}"),
        Variant("number-of-tiles-again", " {grid_m, grid_n -> tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)},"),
        Variant("rule-written-out",
            "{pid_m, pid_n = tile_of(pid, grid_m, grid_n, GROUP_M) -> first = pid // (GROUP_M * grid_n) * GROUP_M\n"
            "    rows = tl.minimum(grid_m - first, GROUP_M)\n"
            "    pid_m = first + pid % (GROUP_M * grid_n) % rows\n"
            "    pid_n = pid % (GROUP_M * grid_n) // rows}"),
        Variant("grid-as-a-function",
            '{(triton.cdiv(M, tile["BLOCK_M"]) * triton.cdiv(N, tile -> lambda meta: (triton.cdiv(M, '
            'meta["BLOCK_M"]) * triton.cdiv(N, meta}'),
    ],
    "linear_act": [
        Variant("column-by-column", TWO_PROGRAM_IDS, A_GRID_OF_TWO_AXES),
        Variant("pointers-that-move", *POINTERS_THAT_MOVE, ":] < K{ ->  - k}), other=", ":, None] < K{ ->  - k}),",
            'input_precision="ieee"){ -> \n'
            "        x_ptrs += BLOCK_K * stride_xk\n"
            "        w_ptrs += BLOCK_K * stride_wk}"),
        Variant("column-by-column-with-pointers-that-move", TWO_PROGRAM_IDS, A_GRID_OF_TWO_AXES, *POINTERS_THAT_MOVE,
            ":] < K{ ->  - k}), other=", ":, None] < K{ ->  - k}),",
            'input_precision="ieee"){ -> \n'
            "        x_ptrs += BLOCK_K * stride_xk\n"
            "        w_ptrs += BLOCK_K * stride_wk}"),
        Variant("tiles-of-32", "{matmul_tile(x.dtype -> dict(BLOCK_M=32, BLOCK_N=32, BLOCK_K=32}"),
        Variant("wide-tiles", "{matmul_tile(x.dtype -> dict(BLOCK_M=64, BLOCK_N=128, BLOCK_K=16, num_warps=8}"),
        Variant("acc-starts-with-the-bias", "{ + bias.to(tl.float32)[None, :] -> }",
            "{    bias = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N, other=0.0)\n -> }",
            "{acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32) -> bias = tl.load(bias_ptr + offs_n * "
            "stride_bn, mask=offs_n < N, other=0.0)\n"
            "    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32) + bias.to(tl.float32)[None, :]}"),
        Variant("no-cast-of-the-bias", "{.to(tl.float32) -> }"),
        Variant("bias-as-a-row", "{ * stride_bn, mask=offs_n < N -> [None, :] * stride_bn, mask=mask_n}",
            "float32){[None, :] -> }"),
        Variant("branches-in-the-kernel",
            "{activate(acc + bias.to(tl.float32)[None, :] -> acc + bias.to(tl.float32)[None, :]\n"
            '    if ACT == "relu":\n'
            "        y = tl.where(y > 0, y, 0.0)\n"
            "    else:\n"
            "        y = activate(y}"),
        Variant("counts-steps",
            "{k in range(0, K, BLOCK_K): -> step in range(tl.cdiv(K, BLOCK_K)):\n        k = step * BLOCK_K}"),
        Variant("cast-before-the-store", "(out_ptrs, y{ -> .to(out_ptr.dtype.element_ty)}, "),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes, or none that shows here.
CONTIGUOUS = "the wrapper makes a contiguous result: its last stride is 1"
NEVER_STORED = "what the masked lanes hold is never stored"
ONE_SIDE = "0 on one side is enough: 1 times 0"
FAR = "shows where an offset passes the largest int32"
EQUIVALENT = {
    "linear_act": {
        "offs_k = k + tl.arange(0, BLOCK_K).to(tl.int64) => offs_k = k + tl.arange(0, BLOCK_K)": FAR,
        "bias = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N, other=0.0) => bias = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N)": NEVER_STORED,
        "bias = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N, other=0.0) => bias = tl.load(bias_ptr + offs_n * stride_bn, mask=offs_n < N, other=1.0)": NEVER_STORED,
        "out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :] * stride_on => out_ptrs = out_ptr + offs_m[:, None] * stride_om + offs_n[None, :]": CONTIGUOUS,
        "pid_m, pid_n = tile_of(tl.program_id(0), grid_m, grid_n, 8) => pid_m, pid_n = tile_of(tl.program_id(0), grid_m, grid_n, 1)": "the order of the tiles is a matter of speed",
        "pid_m, pid_n = tile_of(tl.program_id(0), grid_m, grid_n, 8) => pid_m, pid_n = tile_of(tl.program_id(0), grid_m, grid_n, 9)": "the order of the tiles is a matter of speed",
        "x = tl.load(x_ptrs, mask=mask_m & (offs_k[None, :] < K), other=0.0) => x = tl.load(x_ptrs, mask=mask_m & (offs_k[None, :] < K), other=1.0)": ONE_SIDE,
        "w = tl.load(w_ptrs, mask=mask_n & (offs_k[:, None] < K), other=0.0) => w = tl.load(w_ptrs, mask=mask_n & (offs_k[:, None] < K), other=1.0)": ONE_SIDE,
        "y = activate(acc + bias.to(tl.float32)[None, :], ACT) => y = activate(acc + bias[None, :], ACT)": "acc makes it float32",
    },
}
