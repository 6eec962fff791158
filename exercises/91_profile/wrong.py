"""Mistakes of 91_profile with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("few-programs-named", "recompilation-named", "as-it-came-and-named")


def launched(grid, constants):
    """The edit of `scale_columns` that starts its kernel over another grid, with other constants."""
    return f"{{grid = (M … BLOCK=block -> scale_columns_kernel[{grid}](x, w, y, M, N, {constants}}}"


TILES = """@triton.jit
def scale_columns_kernel(x_ptr, w_ptr, y_ptr, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    offs_m = tl.program_id(axis=0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    offs_n = tl.program_id(axis=1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    mask = (offs_m < M) & (offs_n < N)
    w = tl.load(w_ptr + offs_n, mask=offs_n < N, other=0.0)
    x = tl.load(x_ptr + offs_m * N + offs_n, mask=mask, other=0.0)
    tl.store(y_ptr + offs_m * N + offs_n, x * w, mask=mask)
"""


def of_tiles(rows, columns):
    grid = f"(triton.cdiv(M, {rows}), triton.cdiv(N, {columns}))"
    return launched(grid, f"ROWS={rows}, COLUMNS={columns}")


WALKS_DOWN = """@triton.jit
def scale_columns_kernel(x_ptr, w_ptr, y_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    offs_n = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs_n < N
    w = tl.load(w_ptr + offs_n, mask=mask, other=0.0)
    first = tl.program_id(axis=1).to(tl.int64) * ROWS
    for m in range(first, tl.minimum(first + ROWS, M)):
        x = tl.load(x_ptr + m * N + offs_n, mask=mask, other=0.0)
        tl.store(y_ptr + m * N + offs_n, x * w, mask=mask)
"""


def of_walks(rows):
    return launched(f"(triton.cdiv(N, block), triton.cdiv(M, {rows}))", f"ROWS={rows}, BLOCK=block")


# One program walks over all of x, or takes it whole.
ONE_PROGRAM = """@triton.jit
def clip_kernel(x_ptr, most, n, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)
        total += tl.sum(x * x, axis=0)
    factor = tl.minimum(most / (tl.sqrt(total) + 1e-12), 1.0)
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
        tl.store(x_ptr + offs, x * factor, mask=offs < n)
"""


FACTOR = "factor = tl.minimum(most / (tl.sqrt(tl.load(total_ptr)) + 1e-12), 1.0)"
DOWN_A_COLUMN = (
    "{m = tl.program_id … other=0.0) -> n = tl.program_id(axis=0)\n"
    "    offs_m = tl.program_id(axis=1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n"
    "    mask = offs_m < M\n"
    "    offs = offs_m * N + n\n"
    "    w = tl.load(w_ptr + n)}"
)
COLUMNS_AS_THEY_CAME = (DOWN_A_COLUMN, "{M, triton.cdiv(N -> N, triton.cdiv(M}")
PIECES_OF_512 = (
    "{rows = tl … first + rows -> first = tl.program_id(axis=1) * 512\n"
    "    last = tl.minimum(first + 512}"
)
SUMS_AS_THEY_CAME = (
    "{rows = tl … rows, M) -> first, last = 0, M}",
    "tl.{atomic_add -> store}(", "= torch.{zeros -> empty}(", "{ triton.cdiv(M, 512) -> }",
)


# Sentences that several mistakes share.
SAYS = {
    "norm-in-half": "The squares of the norm were rounded to half precision. Square and add in float32.",
    "never-scaled":
        "No gradient is scaled, however large it is. Is the norm there when the factor is computed, and does it divide "
        "`most`?",
    "two-grids":
        "Kernel and grid count different things: axis 0 rows in one and columns in the other. Change both: `(M, "
        "triton.cdiv(N, block))` for rows on axis 0.",
    "two-pieces-of-rows":
        "A program's piece of rows and that of the grid have two sizes: rows are left out, or added twice.",
    "decay-for-its-rest": "The decay says how much of avg stays: avg is moved by 1 - decay.",
}

MUTANTS = {
    "scale_columns": [
        Mutant("one-program-walks", launched("(triton.cdiv(N, block), 1)", "ROWS=M, BLOCK=block"), kernels=WALKS_DOWN,
            seen="unshared-work", only="interpreter"),
        Mutant("rows-along-axis-1", "axis={0 -> 1}", "axis={1 -> 0}) ",
            "{M, triton.cdiv(N, block) -> triton.cdiv(N, block), M}", seen="grid-limit"),
        Mutant("as-it-came-and-named", *COLUMNS_AS_THEY_CAME, seen="slow", only="interpreter"),
        Mutant("as-it-came-and-wrongly-named", *COLUMNS_AS_THEY_CAME,
            'return "{uncoalesced -> few programs}', seen="slow", only="interpreter"),
        Mutant("mended-and-not-named",
            '{return "uncoalesced" -> raise NotImplementedError("TODO: fill in scale_columns_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", 'return "{uncoalesced -> repeated loads}', seen="property"),
        Mutant("a-name-of-no-table", 'return "{uncoalesced -> coalescing}', seen="property"),
        Mutant("another-block", *COLUMNS_AS_THEY_CAME, " w, block={1024 -> 256}", seen="slow", only="interpreter"),
        Mutant("more-warps", *COLUMNS_AS_THEY_CAME,
            ", BLOCK=block{ -> , num_warps=8})", seen="slow", only="interpreter"),
        Mutant("neighbours-first-in-the-grid",
            "{m = tl.program_id(axis=0).to(tl.int64) … offs_n, mask=mask, other=0.0) -> n = tl.program_id(axis=1)\n"
            "    offs_m = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n"
            "    mask = offs_m < M\n"
            "    offs = offs_m * N + n\n"
            "    w = tl.load(w_ptr + n)}", "{M, triton.cdiv(N, block) -> triton.cdiv(M, block), N}", seen="slow",
            only="interpreter"),
        Mutant("hints-for-the-compiler", *COLUMNS_AS_THEY_CAME,
            "tl.load(w_ptr + n){ -> \n    offs = tl.multiple_of(offs, 16)}", seen="slow", only="interpreter"),
        Mutant("two-columns-at-once", of_tiles("min(block, 32)", 2), kernels=TILES, seen="slow", only="interpreter"),
        Mutant("store-alone-mended", *COLUMNS_AS_THEY_CAME,
            "y_ptr + {offs -> n * M + offs_m}, x", seen=("wrong-values", "slow", "transposed", "out-of-bounds-store")),
        Mutant("weights-by-the-row", "{offs_n, mask=mask, other=0.0 -> m}",
            says="Each row got a weight of its own. The weights belong to the columns.",
            seen=("reads-outside", "wrong-values")),
        Mutant("one-weight", "{ + offs_n, mask=mask, other=0.0 -> }", says="Every column got the first weight.",
            seen="wrong-values"),
        Mutant("weights-of-the-first-block",
            "{offs_n, mask=mask -> tl.arange(0, BLOCK), mask=mask & (tl.arange(0, BLOCK) < N)}",
            says="The columns of each block got the weights of the first block: what do the lanes of w add to the "
                "block's number?",
            seen=("wrong-values", "reads-outside")),
        Mutant("grid-forgotten", "{M, triton.cdiv(N -> N, triton.cdiv(M}", says="two-grids",
            seen=("unwritten", "unwritten-tail", "out-of-bounds-store", "reads-outside")),
        Mutant("kernel-forgotten",
            DOWN_A_COLUMN, says="two-grids", seen=("unwritten", "unwritten-tail", "out-of-bounds-store", "reads-outside")),
        Mutant("mask-of-the-rows", "mask = offs_n < {N -> M}",
            seen=("out-of-bounds-store", "reads-outside", "unwritten", "unwritten-tail")),
        Mutant("row-by-m-rows", "offs = m * {N -> M} +",
            seen=("out-of-bounds-store", "reads-outside", "unwritten", "wrong-values", "race")),
        Mutant("no-mask-at-the-store", "* w{, mask=mask -> }", seen=("out-of-bounds-store", "race", "wrong-values")),
        Mutant("by-torch", "{M, N = x.shape … return y -> return x * w}", seen=("no-kernel-launched", "torch-compute")),
        Mutant("transposed-first",
            "{m = tl.program_id … other=0.0 -> n = tl.program_id(axis=0)\n"
            "    offs_m = tl.program_id(axis=1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n"
            "    mask = offs_m < M\n"
            "    offs = n * M + offs_m\n"
            "    w = tl.load(w_ptr + n}", "{M, triton.cdiv(N -> N, triton.cdiv(M}", "grid](x{ -> .t().contiguous()}",
            "return y{ -> .view(N, M).t().contiguous()}", seen="copies"),
        Mutant("axes-of-the-grid-alone-swapped", "{M, triton.cdiv(N, block) -> triton.cdiv(N, block), M}",
            seen=("unwritten", "unwritten-tail", "reads-outside", "out-of-bounds-store", "wrong-values", "race")),
        Mutant("column-times-rows", "{m * N + offs_n -> offs_n * M + m}",
            seen=("wrong-values", "out-of-bounds-store", "race", "unwritten", "reads-outside")),
        Mutant("mask-forgotten-at-w", "offs_n{, mask=mask, other=0.0 -> }", seen=("reads-outside", "wrong-values"),
            only="interpreter"),
        Mutant("four-columns-at-once", of_tiles("min(block, 32)", 4), kernels=TILES, seen="slow", only="interpreter"),
        Mutant("walks-down-a-column", "{grid = (M … [grid -> scale_columns_kernel[(N,)}", seen="slow",
            only="interpreter", kernels='''
@triton.jit
def scale_columns_kernel(x_ptr, w_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    n = tl.program_id(axis=0)
    w = tl.load(w_ptr + n)
    for start in range(0, M, BLOCK):
        offs_m = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs_m * N + n, mask=offs_m < M, other=0.0)
        tl.store(y_ptr + offs_m * N + n, x * w, mask=offs_m < M)
'''),
        Mutant("grid-rounded-down", "{triton.cdiv(N, block) -> N // block}", seen="unwritten-tail"),
        Mutant("weights-added", "y_ptr + offs, x {* -> +} ", seen="wrong-values"),
        Mutant("weights-twice", " offs, x * w{ ->  * w}, ", seen="off-by-an-input"),
        Mutant("rows-by-the-block", ").to(tl.int64){ ->  * BLOCK}", seen="out-of-bounds-store"),
        Mutant("written-to-x", "{torch.empty_like(x) -> x}", seen="input-changed"),
        Mutant("weights-of-another-remainder", "{offs_n, mask=mask -> offs % M, mask=mask & (offs % M < N)}",
            seen="wrong-values"),
        Mutant("few-programs-named", 'return "{uncoalesced -> few programs}', seen="property"),
    ],
    "tall_sums": [
        Mutant("as-it-came-and-named", *SUMS_AS_THEY_CAME, seen="slow"),
        Mutant("as-it-came-and-wrongly-named", *SUMS_AS_THEY_CAME, ' "{few programs -> spills}', seen="slow"),
        Mutant("mended-and-not-named",
            '{return "few programs" -> raise NotImplementedError("TODO: fill in tall_sums_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", ' "{few programs -> uncoalesced}', seen="property"),
        Mutant("more-warps", *SUMS_AS_THEY_CAME, "BLOCK_N=block{ -> , num_warps=16})", seen="slow"),
        Mutant("larger-tiles", *SUMS_AS_THEY_CAME, " N, BLOCK_M={32 -> 128}", seen="slow"),
        Mutant("columns-of-32", *SUMS_AS_THEY_CAME, "tall_sums(x, block={64 -> 32}", seen="slow"),
        Mutant("four-columns-each", *SUMS_AS_THEY_CAME,
            "tall_sums(x, block={64 -> 4}", seen="slow", only="interpreter"),
        Mutant("grid-forgotten", "{ triton.cdiv(M, 512) -> }", seen="slow"),
        Mutant("two-pieces", "{triton.cdiv(M, 512) -> 2 if M > 600 else 1}", seen="slow"),
        Mutant("every-piece-whole", "{rows = tl … rows, M) -> first, last = 0, M}",
            says="Each program added all rows: the sum is there once for each piece."),
        Mutant("last-piece", "tl.{atomic_add -> store}(",
            says="Only one piece of rows is in the sum: the others are overwritten. Several programs have a share in "
                "each result.",
            seen=("race", "wrong-values")),
        Mutant("never-set-to-0", "= torch.{zeros -> empty}(",
            seen=("reads-unwritten", "nan", "unwritten", "wrong-values", "property")),
        Mutant("set-to-0-by-program-0", "= torch.{zeros -> empty}(",
            "{ -> if tl.program_id(axis=1) == 0:\n"
            "        tl.store(out_ptr + offs_n, 0.0, mask=mask_n)\n"
            "    }tl.atomic_add(",
            seen="race", on_gpu=("one-piece", "wrong-values")),
        Mutant("one-piece", "axis=1) * {rows -> M}", says="Only the first piece of rows is in the sum.",
            seen="wrong-values"),
        Mutant("into-the-next-piece", "offs_m < {last -> M})",
            says="Rows are added twice: the last tile of a piece goes on into the next piece. The mask of the rows "
                "ends with the piece."),
        Mutant("last-piece-of-512-left-out", PIECES_OF_512, "{triton.cdiv(M, 512) -> M // 512}",
            says="The rows behind the last whole piece are left out: `triton.cdiv` rounds up."),
        Mutant("pieces-of-512-in-a-grid-of-1024", PIECES_OF_512, "cdiv(M, {512 -> 1024})", says="two-pieces-of-rows"),
        Mutant("pieces-of-512-by-256", PIECES_OF_512, "axis=1) * {512 -> 256}", says="two-pieces-of-rows"),
        Mutant("pieces-of-512-by-tiles", PIECES_OF_512, "axis=1) * {512 -> BLOCK_M}", says="two-pieces-of-rows"),
        Mutant("pieces-of-512-by-columns", PIECES_OF_512, "cdiv({M, 512) -> N, 512)}",
            says="The grid's second number goes by the columns. It counts pieces of rows: there are M."),
        Mutant("pieces-of-512-by-axis-0", PIECES_OF_512, "program_id(axis={1) -> 0)} * 512",
            says="Rows and columns go by one number of the grid. Axis 1 counts the pieces of rows."),
        Mutant("pieces-of-512-end-at-N", PIECES_OF_512, "first + 512, {M -> N})",
            says="The last row was compared with N, the number of columns. Rows end at M."),
        Mutant("pieces-of-512-to-the-end", PIECES_OF_512, "last = {tl.minimum(first + 512, M) -> M}",
            says="Every piece goes on to the last row: later rows are added again and again."),
        Mutant("pieces-of-512-without-end", PIECES_OF_512, "{tl.minimum(first + 512, M) -> first + 512}",
            says="The last piece may be shorter than the others: its rows end at M.",
            seen=("reads-outside", "wrong-values")),
        Mutant("every-piece-from-row-0", PIECES_OF_512, "range({first -> 0}, last",
            says="Every piece begins at row 0: early rows are added again and again."),
        Mutant("a-row-of-each-piece", "first + rows, M{ ->  - 1})", says="The last row of each piece is left out.",
            seen="wrong-values"),
        Mutant("no-end", "{tl.minimum(first + rows, M) -> first + rows}",
            says="The last piece may be shorter than the others: its rows end at M.",
            seen=("reads-outside", "wrong-values")),
        Mutant("piece-by-axis-0", "first = tl.program_id(axis={1 -> 0})",
            says="Rows and columns go by one number of the grid. Axis 1 counts the pieces of rows.", seen="wrong-values"),
        Mutant("loop-to-the-last-row", "range(first, {last -> M},", seen="slow", only="interpreter"),
        Mutant("rest-left-out", "{tl.cdiv(M, tl.num_programs(axis=1) -> M // tl.num_programs(axis=1}",
            says="The last rows are left out: M rows in equal pieces leave some over. Round up."),
        Mutant("all-rows-in-the-first-piece", "num_programs(axis={1 -> 2}))", seen="slow", only="interpreter"),
        Mutant("a-program-a-row", "triton.cdiv(M, {512 -> 1})", seen="too-many-programs"),
        Mutant("pieces-of-the-wrong-axis", "num_programs(axis={1 -> 0}))",
            seen=("wrong-values", "one-piece", "every-piece-whole")),
        Mutant("mean", "+ offs_n, acc{ ->  / M},", says="This is the mean of the rows. The sum is asked for."),
        Mutant("by-torch", "{M, N = x.shape … return out -> return x.float().sum(0)}",
            seen=("no-kernel-launched", "torch-compute")),
        Mutant("parts-added-by-torch", "{atomic_add(out_ptr -> store(out_ptr + tl.program_id(axis=1) * N}",
            "{out = torch.zeros(N, dtype=torch.float32, device=x.device) -> }",
            ".cdiv(M, 512)){ -> \n    out = torch.zeros((grid[1], N), dtype=torch.float32, device=x.device)}",
            "return out{ -> .sum(0)}", seen="torch-compute"),
        Mutant("zeroed-after-the-launch", "= torch.{zeros -> empty}(", "{ -> out.zero_()\n    }return out",
            seen=("reads-unwritten", "zeros", "nan", "unwritten", "wrong-values")),
        Mutant("column-pieces-instead", *SUMS_AS_THEY_CAME, "tall_sums(x, block={64 -> 16}", seen="slow"),
        Mutant("rows-of-the-next-piece-too", "(first + rows{ ->  + BLOCK_M},",
            seen=("wrong-values", "every-piece-whole", "not-repeatable")),
        Mutant("each-adds-its-share-of-all", "{rows = tl … rows, M) -> first, last = 0, M}",
            "acc{ ->  / tl.num_programs(axis=1)}, mask", seen="slow", only="interpreter"),
        Mutant("the-others-idle",
            "{rows = tl.cdiv … tl.minimum(first + rows, M) -> first = tl.where(tl.program_id(axis=1) == 0, 0, M)\n"
            "    last = M}", seen="slow", only="interpreter"),
        Mutant("three-pieces", "{triton.cdiv(M, 512) -> 3 if M >= 2048 else 1}", seen="slow", only="interpreter"),
        Mutant("pieces-overlap", "axis=1) * {rows -> BLOCK_M}", seen="wrong-values"),
        Mutant("gaps-between-pieces", "(first + rows{ ->  - BLOCK_M},", seen="wrong-values"),
        Mutant("largest-part", "tl.{atomic_add -> atomic_max}(", seen="wrong-values"),
        Mutant("sums-of-the-input-dtype", "={torch.float32 -> x.dtype}", seen="wrong-dtype"),
        Mutant("begins-at-1", "= torch.{zeros -> ones}(", seen="constant-summand"),
        Mutant("no-mask-at-the-sum", "acc{, mask=mask_n -> }", seen="out-of-bounds-store"),
        Mutant("sums-that-are-kept",
            "{torch.zeros(N, dtype=torch.float32, device=x.device -> OUT.setdefault((x.device, N), torch.zeros(N, "
            "dtype=torch.float32, device=x.device)}",
            ("def tall_sums(", "OUT = {}\n\n\ndef tall_sums("), seen="property"),
        Mutant("rows-of-m-columns", "[:, None] * {N -> M} ", seen="reads-outside", only="interpreter"),
        Mutant("masked-loop-named", ' "{few programs -> masked loop}', seen="property"),
    ],
    "average_step": [
        Mutant("as-it-came-and-named",
            "{avg_ptr, x_ptr, n, decay, BLOCK: tl.constexpr -> \n"
            "    avg_ptr, x_ptr, n: tl.constexpr, decay: tl.constexpr, BLOCK: tl.constexpr\n}", seen="slow"),
        Mutant("as-it-came-and-wrongly-named",
            "{avg_ptr, x_ptr, n, decay, BLOCK: tl.constexpr -> \n"
            "    avg_ptr, x_ptr, n: tl.constexpr, decay: tl.constexpr, BLOCK: tl.constexpr\n}",
            '"{recompilation -> many launches}', seen="slow"),
        Mutant("mended-and-not-named",
            '{return "recompilation" -> raise NotImplementedError("TODO: fill in average_step_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", '"{recompilation -> host waits}', seen="property"),
        Mutant("length-alone-freed", "n, decay{ -> : tl.constexpr}, BLOCK:", seen="slow"),
        Mutant("decay-alone-freed", "x_ptr, n{ -> : tl.constexpr}, decay", seen="slow"),
        Mutant("the-step-in-its-place", " n, {decay -> step: tl.constexpr}, BLOCK:",
            " + {(1 - decay -> 9 / (10 + step})", ", x, n, {decay -> step},", seen="slow"),
        Mutant("marked-in-the-wrapper", " n, {decay -> tl.constexpr(decay)}, BLOCK=",
            "x_ptr, n, decay{ -> : tl.constexpr},", seen="slow"),
        Mutant("not-specialised-and-still-constant", '@triton.jit{ -> (do_not_specialize=["decay"])}',
            "n, decay{ -> : tl.constexpr}, BLOCK:", seen=("slow", "raised", "does-not-compile")),
        Mutant("decay-rounded", "x_ptr, n{, decay -> : tl.constexpr, decay: tl.constexpr}, BLOCK",
            "{(1 + step) / (10 + step -> round((1 + step) / (10 + step), 1}", seen="wrong-values"),
        Mutant("one-decay", "{(1 + step) / (10 + step) -> 2 / 11}", says="The decay is that of step 1 at every step.",
            seen="wrong-values"),
        Mutant("only-x", "(1 + step) /{ -> /} (",
            says="avg became x: nothing of it stayed. Did the decay become 0, as a whole number?"),
        Mutant("other-way-round", "{avg + (1 - decay) * (x - avg -> x + (1 - decay) * (avg - x}",
            says="decay-for-its-rest"),
        Mutant("away-from-x", ") * ({x - avg -> avg - x}),", says="avg moved away from x: a sign is turned round."),
        Mutant("decay-for-its-rest", "+ {(1 - decay) -> decay} ", says="decay-for-its-rest"),
        Mutant("stored-to-x", "store({avg_ptr -> x_ptr} ", seen=("input-changed", "wrong-values", "unwritten")),
        Mutant("no-mask", "mask = offs < n{ ->  + BLOCK}", seen=("out-of-bounds-store", "reads-outside")),
        Mutant("by-torch", "{n, decay = … =block -> avg.lerp_(x, 9 / (10 + step)}",
            seen=("no-kernel-launched", "torch-compute")),
        Mutant("no-casts", "avg_ptr + offs, mask=mask, other=0.0){.to(tl.float32) -> }", "{.to(tl.float32) -> }",
            seen="wrong-values"),
        Mutant("block-as-large-as-the-tensor", "x_ptr, n{ -> : tl.constexpr}, decay",
            "decay, BLOCK={block -> triton.next_power_of_2(n)}", seen="slow"),
        Mutant("decay-as-text-of-a-constant", "n, decay{ -> : tl.constexpr}, BLOCK:", "offs, avg + (1{ -> .0} - ",
            seen="slow"),
        Mutant("step-for-decay", " n, {decay -> step}, BLOCK=", seen="unwritten"),
        Mutant("arguments-in-another-order", " x, {n, decay -> decay, n}, ",
            seen=("raised", "does-not-compile", "wrong-values", "unwritten", "input-changed", "unused-input")),
        Mutant("a-constant-that-nobody-reads", " decay, { -> STEP: tl.constexpr, }BLOCK:",
            " decay, { -> STEP=step, }BLOCK=", seen="slow"),
        Mutant("warps-by-the-step", ", BLOCK=block{ -> , num_warps=2 ** (step % 4)})", seen="slow"),
        Mutant("one-step-too-far", "{1 + step) / (10 -> 2 + step) / (11}", seen="wrong-values"),
        Mutant("nine-for-ten", " + step) / ({10 -> 9}", seen="wrong-values"),
        Mutant("a-copy-is-moved", "{ ->     avg = avg.clone()\n}    n, decay =", seen="unwritten"),
        Mutant("few-programs-named", '"{recompilation -> few programs}', seen="property"),
    ],
    "clip_gradient": [
        Mutant("as-it-came-and-named", "x_ptr, {total_ptr -> total}, most", "{tl.load(total_ptr) -> total}",
            "x, total{ -> .item()}, most", seen="property"),
        Mutant("as-it-came-and-wrongly-named", "x_ptr, {total_ptr -> total}, most", "{tl.load(total_ptr) -> total}",
            "x, total{ -> .item()}, most", 'return "{host waits -> few programs}', seen="property"),
        Mutant("second-launch-saved", "{ -> if total.item() > most * most:\n        }clip_kernel[grid", seen="property"),
        Mutant("wrapper-alone-mended", "x_ptr, {total_ptr -> total}, most", "{tl.load(total_ptr) -> total}",
            seen=("does-not-compile", "raised", "wrong-values", "always-scaled", "never-scaled")),
        Mutant("kernel-alone-mended", "x, total{ -> .item()}, most", seen=("property", "does-not-compile", "raised")),
        Mutant("mended-and-not-named",
            '{return "host waits" -> raise NotImplementedError("TODO: fill in clip_gradient_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", 'return "{host waits -> many launches}', seen="property"),
        Mutant("float-of-it", "{ -> if float(total) > most * most:\n        }clip_kernel[grid", seen="property"),
        Mutant("bare-if", "{ -> if total > most * most:\n        }clip_kernel[grid", seen="property"),
        Mutant("to-the-cpu-first", "{ -> if total.cpu() > most * most:\n        }clip_kernel[grid", seen="property"),
        Mutant("a-list-of-one", "{ -> if total.tolist()[0] > most * most:\n        }clip_kernel[grid", seen="property"),
        Mutant("numpy", "{ -> if total.cpu().numpy()[0] > most * most:\n        }clip_kernel[grid", seen="property"),
        Mutant("waits-before-and-looks", "{ -> torch.cuda.synchronize()\n    }clip_kernel[grid", seen="property"),
        Mutant("always-read-and-then-launched", "{ -> norm = total.item() ** 0.5\n    }clip_kernel[grid",
            seen="property"),
        Mutant("factor-made-by-python", "{ -> most = min(most, float(total[0]) ** 0.5)\n    }clip_kernel[grid",
            seen="property"),
        Mutant("pointers-swapped", "grid]({x, total -> total, x}, most",
            seen=("out-of-bounds-store", "input-changed", "wrong-values")),
        Mutant("never-scaled", "{clip_kernel[grid](x, total, most, n, BLOCK=block) -> return}",
            seen=("wrong-values", "unwritten")),
        Mutant("always-scaled",
            "{tl.minimum(most / (tl.sqrt(tl.load(total_ptr)) + 1e-12), 1.0 -> most / (tl.sqrt(tl.load(total_ptr)) + "
            "1e-12}",
            says="A gradient below the limit is scaled up to it. It stays as it is."),
        Mutant("squared-in-half", "{.to(tl.float32) -> }",
            says="The squares are beyond what half precision holds: go to float32 before you multiply."),
        Mutant("norm-of-float16", "to(tl.{float32 -> float16})", says="norm-in-half"),
        Mutant("norm-of-bfloat16", "to(tl.{float32 -> bfloat16})", says="norm-in-half"),
        Mutant("factor-of-float16", "x * factor{ -> .to(tl.float16)}, mask",
            says="The factor was rounded to half precision. It stays in float32."),
        Mutant("by-the-square", "{sqrt(tl.load(total_ptr) -> load(total_ptr}",
            says="x was divided by the square of its norm.", seen="wrong-values"),
        Mutant("limit-squared", "total, most{ ->  * most}, n", says="x was scaled to the square of the limit.",
            seen="wrong-values"),
        Mutant("one-program", "clip_kernel[{grid -> (1,)}]", seen=("wrong-values", "wrong-tail")),
        Mutant("by-torch", "{n, total … most, n, BLOCK=block -> x.mul_((most / (x.norm() + 1e-12)).clamp(max=1.0)}",
            seen=("no-kernel-launched", "torch-compute")),
        Mutant("factor-made-by-torch", "x_ptr, {total_ptr -> factor_ptr}, most",
            "{minimum(most / (tl.sqrt(tl.load(total_ptr)) + 1e-12), 1.0 -> load(factor_ptr}",
            "{clip_kernel[grid](x, total -> factor = (most / (total.sqrt() + 1e-12)).clamp(max=1.0)\n"
            "    clip_kernel[grid](x, factor}",
            seen="torch-compute"),
        Mutant("asked-whether-it-is-above", "{ -> if (total > most * most).any():\n        }clip_kernel[grid",
            seen="property"),
        Mutant("read-as-a-number-type", "{ -> norm = math.sqrt(total)\n    }clip_kernel[grid",
            "{ -> import math\n\n\n}def clip_gradient(", seen="property"),
        Mutant("address-for-the-number", "{tl.load(total_ptr) -> total_ptr}",
            seen=("does-not-compile", "raised", "wrong-values")),
        Mutant("root-forgotten-in-the-comparison",
            "{factor = tl.minimum(most / (tl.sqrt(tl.load(total_ptr)) + 1e-12 -> total = tl.load(total_ptr)\n"
            "    factor = tl.where(total > most, most / tl.sqrt(total}",
            seen=("wrong-values", "constant-factor", "always-scaled", "never-scaled", "by-the-square")),
        Mutant("norm-by-torch",
            "{norm_kernel[grid](x, total, n, BLOCK=block -> total = x.float().pow(2).sum().reshape(1}",
            seen="torch-compute"),
        Mutant("read-and-written-back",
            "{ -> (number,) = total.tolist()\n    total.fill_(number)\n    }clip_kernel[grid", seen="property"),
        Mutant("copied-without-waiting-and-read",
            "{ -> norm = total.to('cpu', non_blocking=True)\n    total.fill_(float(norm))\n    }clip_kernel[grid",
            seen="property"),
        Mutant("compared-by-a-method", "{ -> if bool(total.gt(most * most)):\n        }clip_kernel[grid",
            seen="property"),
        Mutant("total-of-fresh-memory", "), torch.{zeros -> empty}", seen="reads-unwritten", only="interpreter"),
        Mutant("ratio-turned-round",
            "{most / (tl.sqrt(tl.load(total_ptr)) + 1e-12) -> tl.sqrt(tl.load(total_ptr)) / most}", says="never-scaled",
            seen="unwritten"),
        Mutant("clipped-by-the-factor", "offs, {x * factor -> tl.minimum(x, factor)}", seen="wrong-values"),
        Mutant("total-of-each-lane", "load(total_ptr{ ->  + offs})", seen="reads-outside", only="interpreter"),
        Mutant("no-norm", "{norm_kernel[grid](x, total, n, BLOCK=block) -> pass}", says="never-scaled", seen="unwritten"),
        Mutant("norm-after-the-clipping",
            "{norm_kernel[grid](x, total, n, BLOCK=block)\n"
            "    clip_kernel[grid](x, total, most -> clip_kernel[grid](x, total, most, n, BLOCK=block)\n"
            "    norm_kernel[grid](x, total}",
            says="never-scaled", seen="unwritten"),
        Mutant("recompilation-named", 'return "{host waits -> recompilation}', seen="property"),
        Mutant("one-program-walks", "{n, total = … total, most, n -> clip_kernel[(1,)](x, most, x.numel()}",
            kernels=ONE_PROGRAM, seen="unshared-work", only="interpreter"),
        Mutant("one-tile-for-all",
            "{n, total = … =block)\n    clip_kernel[grid](x, total, most, n, BLOCK=block -> n = x.numel()\n"
            "    clip_kernel[(1,)](x, most, n, BLOCK=triton.next_power_of_2(max(n, 1))}",
            kernels=ONE_PROGRAM, seen="unshared-work", only="interpreter"),
        Mutant("norm-by-one-program", "{offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n"
            "    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)\n"
            "    tl.atomic_add(total_ptr, tl.sum(x * x, axis=0)) -> acc = 0.0\n"
            "    for start in range(0, n, BLOCK):\n"
            "        offs = start + tl.arange(0, BLOCK)\n"
            "        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)\n"
            "        acc += tl.sum(x * x, axis=0)\n"
            "    tl.atomic_add(total_ptr, acc)}", "norm_kernel[{grid -> (1,)}]", seen="unshared-work",
            only="interpreter"),
    ],
}

VARIANTS = {
    "scale_columns": [
        Variant("block-of-256", " w, block={1024 -> 256}"),
        Variant("eight-columns-fill-a-sector", of_tiles("min(block, 32)", 8), kernels=TILES),
        Variant("tiles-of-32-columns", of_tiles("min(block, 32)", 32), kernels=TILES),
        Variant("a-row-in-a-loop", "{grid = (M … grid](x, w, y, M -> scale_columns_kernel[(M,)](x, w, y}", kernels='''
@triton.jit
def scale_columns_kernel(x_ptr, w_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(axis=0).to(tl.int64) * N
    for start in range(0, N, BLOCK):
        offs_n = start + tl.arange(0, BLOCK)
        w = tl.load(w_ptr + offs_n, mask=offs_n < N, other=0.0)
        x = tl.load(x_ptr + row + offs_n, mask=offs_n < N, other=0.0)
        tl.store(y_ptr + row + offs_n, x * w, mask=offs_n < N)
'''),
        Variant("one-long-line",
            "{    M, N = x.shape\n -> }",
            "{grid = (M … grid](x, w, y, M, N -> scale_columns_kernel[(triton.cdiv(x.numel(), block),)](x, w, y, "
            "x.numel(), x.shape[1]}", kernels='''
@triton.jit
def scale_columns_kernel(x_ptr, w_ptr, y_ptr, n, N, BLOCK: tl.constexpr):
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    w = tl.load(w_ptr + offs % N, mask=mask, other=0.0)
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(y_ptr + offs, x * w, mask=mask)
'''),
        Variant("one-axis-of-programs",
            "{tl.program_id(axis=0 … axis=1 -> (tl.program_id(axis=0) // tl.cdiv(N, BLOCK)).to(tl.int64)\n"
            "    offs_n = (tl.program_id(axis=0) % tl.cdiv(N, BLOCK)}",
            "{, triton.cdiv(N, block) ->  * triton.cdiv(N, block),}"),
        Variant("no-lane-for-nothing", "{ -> block = min(block, triton.next_power_of_2(N))\n    }grid = (M, triton"),
        Variant("eight-warps", ", BLOCK=block{ -> , num_warps=8})"),
        Variant("pointers-moved-to-the-row", "{offs = m * N + -> x_ptr += m * N\n    y_ptr += m * N\n    offs =}"),
        Variant("mask-of-rows-and-columns", "mask = {offs_n < N -> (offs_n < N) & (m < M)}"),
        Variant("float32-in-between",
            " + offs, {x * w -> (x.to(tl.float32) * w.to(tl.float32)).to(y_ptr.dtype.element_ty)}"),
        Variant("weights-stay-for-16-rows", of_walks(16), kernels=WALKS_DOWN),
        Variant("four-rows-at-once", of_tiles(4, "block"), kernels=TILES),
        Variant("weights-stay-for-64-rows", of_walks(64), kernels=WALKS_DOWN),
        Variant("32-rows-at-once", of_tiles(32, "block"), kernels=TILES),
        Variant("programs-that-stay",
            "{grid = (M … [grid -> if x.numel():\n"
            "        scale_columns_kernel[(min(M * triton.cdiv(N, block), 2048),)}", kernels='''
@triton.jit
def scale_columns_kernel(x_ptr, w_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    tiles = tl.cdiv(N, BLOCK)
    for job in range(tl.program_id(axis=0), M * tiles, tl.num_programs(axis=0)):
        m = (job // tiles).to(tl.int64)
        offs_n = job % tiles * BLOCK + tl.arange(0, BLOCK)
        w = tl.load(w_ptr + offs_n, mask=offs_n < N, other=0.0)
        x = tl.load(x_ptr + m * N + offs_n, mask=offs_n < N, other=0.0)
        tl.store(y_ptr + m * N + offs_n, x * w, mask=offs_n < N)
'''),
        Variant("tiles-of-16-by-64", of_tiles(16, 64), kernels=TILES),
    ],
    "tall_sums": [
        Variant("rows-of-256", "triton.cdiv(M, {512 -> 256})"),
        Variant("a-program-a-tile", "triton.cdiv(M, {512 -> 32})"),
        Variant("four-warps-more", "BLOCK_N=block{ -> , num_warps=8})"),
        Variant("pieces-by-turns", "{rows = tl … rows, M) -> first, last = tl.program_id(axis=1) * BLOCK_M, M}",
            "BLOCK_M{ ->  * tl.num_programs(axis=1)}):"),
        Variant("whole-tiles-a-piece",
            "{M, tl.num_programs(axis=1)) -> tl.cdiv(M, BLOCK_M), tl.num_programs(axis=1)) * BLOCK_M}"),
        Variant("two-kernels",
            "{out = torch … BLOCK_M=32 -> parts = triton.cdiv(M, 128)\n"
            "    partial = torch.empty((parts, N), dtype=torch.float32, device=x.device)\n"
            "    out = torch.empty(N, dtype=torch.float32, device=x.device)\n"
            "    parts_kernel[(triton.cdiv(N, block), parts)](x, partial, M, N, BLOCK_M=128, BLOCK_N=block)\n"
            "    join_kernel[(triton.cdiv(N, block),)](partial, out, parts, N}", kernels='''
@triton.jit
def parts_kernel(x_ptr, parts_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_n = tl.program_id(axis=0) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_m = (tl.program_id(axis=1) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]
    x = tl.load(x_ptr + offs_m[:, None] * N + offs_n[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(parts_ptr + tl.program_id(axis=1) * N + offs_n, tl.sum(x, axis=0), mask=offs_n < N)


@triton.jit
def join_kernel(parts_ptr, out_ptr, parts, N, BLOCK_N: tl.constexpr):
    offs_n = tl.program_id(axis=0) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for part in range(0, parts):
        acc += tl.load(parts_ptr + part * N + offs_n, mask=offs_n < N, other=0.0)
    tl.store(out_ptr + offs_n, acc, mask=offs_n < N)
'''),
        Variant("empty-and-then-zeroed",
            "{zeros(N, dtype=torch.float32, device=x.device -> empty(N, dtype=torch.float32, device=x.device)\n"
            "    out.zero_(}"),
        Variant("larger-tiles-of-rows", " N, BLOCK_M={32 -> 64}"),
        Variant("pieces-on-the-first-axis", "(axis={0 -> 1}", "axis={1 -> 0}))", "{1 -> 0}) * rows",
            "{N, block), triton.cdiv(M, 512 -> M, 512), triton.cdiv(N, block}"),
        Variant("one-axis-of-programs",
            "{offs_n = tl.program_id(axis=0) -> blocks = tl.cdiv(N, BLOCK_N)\n"
            "    offs_n = tl.program_id(axis=0) % blocks}", "axis={1) -> 0) // blocks})", "axis={1) -> 0) // blocks}",
            "{, triton.cdiv(M, 512) ->  * triton.cdiv(M, 512),}"),
        Variant("always-512-rows", PIECES_OF_512),
        Variant("up-to-256-pieces", "{triton.cdiv(M, 512 -> min(triton.cdiv(M, 32), 256}"),
        Variant("summed-over-rows-at-the-end", "zeros(({BLOCK_N, -> BLOCK_M, BLOCK_N}",
            "{tl.sum(x.to(tl.float32), axis=0 -> x.to(tl.float32}", "+ offs_n, {acc -> tl.sum(acc, axis=0)},"),
        Variant("end-by-the-mask-alone", "range(first, {last -> first + rows},"),
        Variant("at-least-one-piece",
            "{grid = (triton.cdiv(N, block), triton.cdiv(M, 512) -> pieces = max(triton.cdiv(M, 512), 1)\n"
            "    grid = (triton.cdiv(N, block), pieces}"),
        Variant("last-tile-first", "offs_m = {start + -> (first + last - 1 - start) -}",
            "({offs_m < last -> (offs_m >= first) & (offs_m < last)}"),
        Variant("product-with-ones",
            "{acc += tl.sum(x.to(tl.float32 -> ones = tl.full((16, BLOCK_M), 1.0, dtype=x.dtype)\n"
            '        acc += tl.max(tl.dot(ones, x, input_precision="ieee"}'),
        Variant("added-tile-by-tile",
            "{acc += tl.sum(x.to(tl.float32), axis=0 -> tl.atomic_add(out_ptr + offs_n, tl.sum(x.to(tl.float32), "
            "axis=0), mask=mask_n}",
            "{    tl.atomic_add(out_ptr + offs_n, acc, mask=mask_n)\n -> }"),
    ],
    "average_step": [
        Variant("block-of-128", "step, block={1024 -> 128}"),
        Variant("block-by-the-length", ", BLOCK=block){ -> }",
            "{ ->     block = min(block, triton.next_power_of_2(max(x.numel(), 1)))\n}    n, decay ="),
        Variant("step-as-an-argument", " n, {decay -> step}, BLOCK:", " + {(1 - decay -> 9 / (10 + step})",
            ", x, n, {decay -> step},"),
        Variant("not-specialised", '@triton.jit{ -> (do_not_specialize=["n"])}'),
        Variant("decay-in-memory", "+ (1 - {decay -> tl.load(decay)}) * (x",
            " n, {decay -> torch.full((1,), decay, device=x.device)}, BLOCK="),
        Variant("by-its-other-form", "{avg + (1 - decay) * (x - avg) -> decay * avg + (1 - decay) * x}"),
        Variant("what-remains-is-an-argument", " n, {decay -> rest}, BLOCK:", "+ {(1 - decay) -> rest} ",
            ", x, n, { -> 1 - }decay,"),
        Variant("arguments-by-name", ")]({avg, x, n,  -> avg_ptr=avg, x_ptr=x, n=n, decay=}"),
        Variant("four-warps-by-name", ", BLOCK=block{ -> , num_warps=4})"),
        Variant("nothing-specialised", '@triton.jit{ -> (do_not_specialize=["n", "decay"])}'),
        Variant("fraction-in-two-arguments", " n, {decay -> up, down}, BLOCK:", "+ (1 - {decay -> up / down}) * (x",
            ", x, n, {decay -> float(1 + step), float(10 + step)},"),
        Variant("decay-made-in-the-kernel", " n, {decay -> step}, BLOCK:",
            "+ (1 - {decay -> (1.0 + step) / (10.0 + step)}) * (x", ", x, n, {decay -> step},"),
        Variant("a-program-walks", "mask = {offs < n -> (offs < n) & (n > 0)}"),
        Variant("flag-stays-a-constant", ": tl.constexpr{ -> , WIDE: tl.constexpr = True}"),
        Variant("masks-inline", "avg), mask={mask -> offs < n})"),
        Variant("both-weights-of-the-rest", " n, {decay -> rest}, BLOCK:",
            "{+ (1 - decay) * (x - avg) -> * (1 - rest) + rest * x}", ", x, n, {decay -> 9 / (10 + step)},"),
        Variant("multiplied-and-added-at-once", "{avg + (1 - decay) * (x - -> tl.fma(x - avg, 1 - decay,}"),
        Variant("from-x-back", "{avg + (1 - decay) * (x - avg -> x + decay * (avg - x}"),
    ],
    "clip_gradient": [
        Variant("new-each-time", "torch.zeros({1 -> ()},"),
        Variant("kernel-skips-its-work",
            "{x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)\n"
            "     -> if factor < 1.0:\n"
            "        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)\n"
            "        }"),
        Variant("where",
            "{factor = tl.minimum(most / (tl.sqrt(tl.load(total_ptr)) -> norm = tl.sqrt(tl.load(total_ptr))\n"
            "    factor = tl.where(norm > most, most / (norm}"),
        Variant("looks-at-the-size-alone", "{ -> if n > 0:\n        }clip_kernel[grid"),
        Variant("returns-nothing-by-name", "most, n, BLOCK=block)\n{ ->     return None\n}"),
        Variant("empty-and-then-zeroed",
            "{zeros(1, dtype=torch.float32, device=x.device -> empty(1, dtype=torch.float32, device=x.device).zero_(}"),
        Variant("larger-of-norm-and-limit",
            "{tl.minimum(most / (tl.sqrt(tl.load(total_ptr)) + 1e-12), 1.0 -> most / "
            "tl.maximum(tl.sqrt(tl.load(total_ptr)), most}"),
        Variant("squares-compared",
            "{factor = tl.minimum(most / (tl.sqrt(tl.load(total_ptr)) + 1e-12 -> total = tl.load(total_ptr)\n"
            "    factor = tl.where(total > most * most, most / tl.sqrt(total}"),
        Variant("norm-named-first",
            "{factor = … total_ptr)) + 1e-12), 1.0 -> norm = tl.sqrt(tl.load(total_ptr))\n"
            "    factor = tl.minimum(1.0, most / (norm + 1e-12)}"),
        Variant("inverse-root", "{/ (tl.sqrt(tl.load(total_ptr)) + 1e-12 -> * tl.rsqrt(tl.load(total_ptr) + 1e-24}"),
        Variant("returns-early",
            "{factor = tl.minimum(most / (tl.sqrt(tl.load(total_ptr)) + 1e-12), 1.0 -> total = tl.load(total_ptr)\n"
            "    if total <= most * most:\n"
            "        return\n"
            "    factor = most / tl.sqrt(total}"),
        Variant("block-of-256", "most, block={1024 -> 256}"),
        Variant("float32-in-between",
            "{\n"
            "    tl.store(x_ptr + offs, x * factor -> .to(tl.float32)\n"
            "    tl.store(x_ptr + offs, (x * factor).to(x_ptr.dtype.element_ty)}"),
        Variant("a-kernel-for-the-factor", "x_ptr, {total_ptr -> factor_ptr}, most",
            "{minimum(most / (tl.sqrt(tl.load(total_ptr)) + 1e-12), 1.0 -> load(factor_ptr}",
            "{clip_kernel[grid](x, total -> factor = torch.empty_like(total)\n"
            "    factor_kernel[(1,)](total, factor, most)\n"
            "    clip_kernel[grid](x, factor}",
            "{ -> @triton.jit\n"
            "def factor_kernel(total_ptr, factor_ptr, most):\n"
            "    norm = tl.sqrt(tl.load(total_ptr))\n"
            "    tl.store(factor_ptr, tl.minimum(most / (norm + 1e-12), 1.0))\n"
            "\n"
            "\n"
            "}def clip_gradient("),
        Variant("two-pointers-to-x", "(x_ptr, { -> y_ptr, }total_ptr, most", "tl.store({x_ptr -> y_ptr} ",
            "(x, { -> x, }total, most"),
        Variant("parts-summed-by-each-program",
            "{, total = … most, n ->  = x.numel()\n"
            "    count = triton.cdiv(n, block)\n"
            "    parts = torch.empty(max(count, 1), dtype=torch.float32, device=x.device)\n"
            "    if count:\n"
            "        norm_kernel[(count,)](x, parts, n, BLOCK=block)\n"
            "        clip_kernel[(count,)](x, parts, most, n, count}", kernels='''
@triton.jit
def norm_kernel(x_ptr, parts_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)
    tl.store(parts_ptr + pid, tl.sum(x * x, axis=0))


@triton.jit
def clip_kernel(x_ptr, parts_ptr, most, n, count, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, count, BLOCK):
        each = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(parts_ptr + each, mask=each < count, other=0.0), axis=0)
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    factor = tl.minimum(most / (tl.sqrt(total) + 1e-12), 1.0)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(x_ptr + offs, x * factor, mask=offs < n)
'''),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
FLOAT32 = "float32 all the same: the decay is, or the other operand"
IDLE = "what these masked lanes hold reaches no result: the store has the same mask"
TINY = "it keeps 0 / 0 away, and a limit of 0 is no limit"
LARGE = "no tensor of a check is that large"
EQUIVALENT = {
    "scale_columns": {
        "m = tl.program_id(axis=0).to(tl.int64) => m = tl.program_id(axis=0)": LARGE,
        "w = tl.load(w_ptr + offs_n, mask=mask, other=0.0) => w = tl.load(w_ptr + offs_n, mask=mask)": IDLE,
        "w = tl.load(w_ptr + offs_n, mask=mask, other=0.0) => w = tl.load(w_ptr + offs_n, mask=mask, other=1.0)": IDLE,
    },
    "tall_sums": {
        "out = torch.zeros(N, dtype=torch.float32, device=x.device) => out = torch.zeros(N, device=x.device)": "torch's default dtype is float32",
        "grid = (triton.cdiv(N, block), triton.cdiv(M, 512)) => grid = (triton.cdiv(N, block), triton.cdiv(M, 513))": "pieces of 513 rows are as good",
    },
    "average_step": {
        "avg = tl.load(avg_ptr + offs, mask=mask, other=0.0).to(tl.float32) => avg = tl.load(avg_ptr + offs, mask=mask, other=0.0)": FLOAT32,
        "x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32) => x = tl.load(x_ptr + offs, mask=mask, other=0.0)": FLOAT32,
        "offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK) => offs = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)": LARGE,
        "avg = tl.load(avg_ptr + offs, mask=mask, other=0.0).to(tl.float32) => avg = tl.load(avg_ptr + offs, mask=mask).to(tl.float32)": IDLE,
        "x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32) => x = tl.load(x_ptr + offs, mask=mask).to(tl.float32)": IDLE,
        "avg = tl.load(avg_ptr + offs, mask=mask, other=0.0).to(tl.float32) => avg = tl.load(avg_ptr + offs, mask=mask, other=1.0).to(tl.float32)": IDLE,
        "x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32) => x = tl.load(x_ptr + offs, mask=mask, other=1.0).to(tl.float32)": IDLE,
    },
    "clip_gradient": {
        "x = tl.load(x_ptr + offs, mask=offs < n, other=0.0) => x = tl.load(x_ptr + offs, mask=offs < n)": IDLE,
        "x = tl.load(x_ptr + offs, mask=offs < n, other=0.0) => x = tl.load(x_ptr + offs, mask=offs < n, other=1.0)": IDLE,
        "offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK) => offs = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)": LARGE,
        f"{FACTOR} => {FACTOR.replace(' + 1e-12', '')}": TINY,
        f"{FACTOR} => {FACTOR.replace('+ 1e-12', '- 1e-12')}": TINY,
        f"{FACTOR} => {FACTOR.replace('1e-12', '0.0')}": TINY,
    },
}
