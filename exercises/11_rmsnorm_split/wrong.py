"""Mistakes of 11_rmsnorm_split with what is said of each, and honest variants."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = """
    eps-before-the-mean eps-outside-root first-weight-only fixed-eps masked-lanes-counted mean-of-magnitudes mean-of-x
    no-eps no-root no-weight one-plus-weight root-for-its-inverse rounded-twice sum-not-mean sum-of-all-rows
    weight-rounded x-in-the-dtype-of-w
"""
PROMISES = ("one-launch-only", "the-atomics-of-task-1", "predict")

COLUMNS = "    offs_n = piece * piece_size + offs\n    mask_n = (offs < piece_size) & (offs_n < N)\n"
X_PTRS = "    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn\n"
X_LOAD = "    x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n"
W_LOAD = "    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)\n"
# The same lines stand in both kernels; what follows tells which is meant.
SUM = COLUMNS + "\n" + X_PTRS + X_LOAD + "\n"
SCALE = COLUMNS + "\n" + X_PTRS + X_LOAD + W_LOAD
STORE = "tl.store(y_ptr + row * stride_ym + offs_n * stride_yn, y, mask=mask_n)"
RESULT = "y = x * tl.rsqrt(mean_square + eps) * w"
HALF, HALF_W = "x_ptr.dtype.element_ty", "w_ptr.dtype.element_ty"
RACE = ("race", "nan", "reads-outside", "out-of-bounds-store")

ALL_AT_ONCE = """
@triton.jit
def rmsnorm_barrier_kernel(
    x_ptr, w_ptr, sums_ptr, done_ptr, y_ptr, N, num_splits, piece_size,
    stride_xm, stride_xn, stride_ym, stride_yn, eps, BLOCK_N: tl.constexpr,
):
    pid = tl.program_id(0)
    row = (pid // num_splits).to(tl.int64)
    offs = tl.arange(0, BLOCK_N)
    offs_n = pid % num_splits * piece_size + offs
    mask_n = (offs < piece_size) & (offs_n < N)
    x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0))
    tl.atomic_add(done_ptr + row, 1)
    while tl.atomic_add(done_ptr + row, 0) < num_splits:
        pass
    total = tl.atomic_add(sums_ptr + row, 0.0)
    y = x * tl.rsqrt(total / N + eps) * w
    y_ptrs = y_ptr + row * stride_ym + offs_n * stride_yn
    tl.store(y_ptrs, y.to(y_ptr.dtype.element_ty), mask=mask_n)


def {name}(x, w, eps=1e-6, num_splits=4):
    require_weight(x, w)
    N = x.shape[-1]
    piece_size, BLOCK_N = pieces(N, num_splits)
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    x_rows, y_rows = x.reshape(-1, N), y.view(-1, N)
    M = x_rows.shape[0]
    sums = torch.zeros(M, dtype=torch.float32, device=x.device)
    done = torch.zeros(M, dtype=torch.int32, device=x.device)
    rmsnorm_barrier_kernel[(M * num_splits,)](
        x_rows, w, sums, done, y_rows, N, num_splits, piece_size,
        *x_rows.stride(), *y_rows.stride(), eps, BLOCK_N=BLOCK_N,
    )
    return y
"""
TORCH = """
def {name}(x, w, eps=1e-6, num_splits=4):
    return torch.nn.functional.rms_norm(x, w.shape, w, eps)
"""


def _in_both(mean):
    """Wrong answers that both tasks can have. mean: how the second kernel has the row's sum."""
    return [
        # --- the formula
        Mutant("no-weight", (RESULT, RESULT.removesuffix(" * w"))),
        Mutant("sum-not-mean", (mean + " / N", mean)),
        Mutant("weight-rounded", (W_LOAD, W_LOAD.replace(".to(", f".to({HALF}).to("))),
        Mutant("x-in-the-dtype-of-w", (SCALE, SCALE.replace(X_LOAD, X_LOAD.replace(".to(", f".to({HALF_W}).to(")))),
        Mutant("result-in-the-dtype-of-w", "y = torch.empty(x.shape, dtype={x.dtype -> w.dtype}", seen="wrong-dtype"),
        Mutant("nan-in-the-weight-lost", (RESULT, RESULT.replace(" w", " tl.maximum(w, -1e30)")), seen="nan-lost"),
        Mutant("never-below-0", (mean + " / N", f"tl.maximum({mean} / N, 0.0)"), seen="nan-lost"),
        Mutant("divided-by-piece", (mean + " / N", mean + " / piece_size"),
            says="The sum is divided by the columns of a piece. The mean is over the N elements of the row."),
        Mutant("divided-by-tile", (mean + " / N", mean + " / BLOCK_N"),
            says="The sum is divided by the lanes of a tile. The mean is over the N elements of the row."),
        Mutant("eps-outside-root", (RESULT, "y = x / (tl.sqrt(mean_square) + eps) * w")),
        Mutant("eps-before-the-mean", (mean + " / N", f"({mean} + eps) / N"),
            (RESULT, "y = x * tl.rsqrt(mean_square) * w")),
        Mutant("no-eps", (RESULT, "y = x * tl.rsqrt(mean_square) * w")),
        Mutant("fixed-eps", (RESULT, RESULT.replace("eps", "1e-6"))),
        Mutant("eps-of-its-own", (RESULT, RESULT.replace("eps", "1e-5")), seen="unused-input"),
        Mutant("no-root", (RESULT, "y = x / (mean_square + eps) * w")),
        Mutant("root-for-its-inverse", ("tl.rsqrt(", "tl.sqrt(")),
        Mutant("mean-of-x", ("tl.sum(x * x, axis=0)", "tl.sum(x, axis=0)"), seen="nan"),
        Mutant("mean-of-magnitudes", ("tl.sum(x * x, axis=0)", "tl.sum(tl.abs(x), axis=0)")),
        Mutant("one-plus-weight", (RESULT, RESULT.replace("* w", "* (1 + w)"))),
        Mutant("rounded-twice", (RESULT, RESULT.removesuffix(" * w") + f"\n    y = y.to({HALF}).to(tl.float32) * w")),
        Mutant("squares-in-half", (SUM, SUM.replace(".to(tl.float32)", "")), says="squares-overflow",
            seen=("overflow", "nan")),
        # --- pieces and masks
        Mutant("counted-twice", (SUM, SUM.replace("(offs < piece_size) & ", "")),
            says="Some columns are counted twice. A tile can reach past its piece, into the next program's: mask these "
                "lanes too."),
        Mutant("one-column-twice", (SUM, SUM.replace("offs < piece_size", "offs <= piece_size")),
            says="Each piece counts one column more than it has, the first of the next one: `<`, not `<=`."),
        Mutant("no-mask-for-the-row", (SUM, SUM.replace(" & (offs_n < N)", "")), seen=("reads-outside", "nan")),
        Mutant("no-mask-at-all", (SUM, SUM.replace(", mask=mask_n, other=0.0", "")), seen=("reads-outside", "nan")),
        Mutant("masked-lanes-counted", (SUM, SUM.replace("0.0", "1.0"))),
        Mutant("masked-lanes-as-in-softmax", (SUM, SUM.replace("0.0", 'float("-inf")')), says="squares-overflow"),
        Mutant("tail-lost", (SUM, SUM.replace("offs_n < N", "offs_n < N // num_splits * num_splits")),
            says="The last columns of the row are missing from its sum: N is not always a multiple of `num_splits`.",
            seen="wrong-values"),
        Mutant("last-column-lost", (SUM, SUM.replace("offs_n < N", "offs_n < N - 1")),
            says="The last column of the row is missing from its sum. Is the mask one too short?"),
        Mutant("pieces-apart-by-tiles", (SUM, SUM.replace("piece * piece_size", "piece * BLOCK_N")),
            says="Pieces lie `piece_size` columns apart. Here they are `BLOCK_N` apart, and the columns between them "
                "belong to nobody."),
        Mutant("first-piece-for-all", (SUM, SUM.replace("piece * piece_size + offs", "offs")),
            says="Every program of a row has summed its first piece. Do the columns begin at `piece * piece_size`?"),
        Mutant("columns-by-pid", (SUM, SUM.replace("piece * piece_size", "pid * piece_size")),
            says="Only the first row has its sum, the others have 0. Columns begin at `piece * piece_size` in every "
                "row, not at `pid * piece_size`."),
        Mutant("first-weights", (W_LOAD, W_LOAD.replace("offs_n", "offs")),
            says="Every piece is multiplied by the weights of the first one. Load the piece's own.",
            seen="reads-outside"),
        Mutant("first-weight-only", (W_LOAD, "    w = tl.load(w_ptr).to(tl.float32)\n")),
        Mutant("pieces-overlap-at-the-store", (SCALE, SCALE.replace("(offs < piece_size) & ", "")), seen="race"),
        Mutant("no-mask-at-the-store", (STORE, STORE.replace(", mask=mask_n", "")),
            seen=("out-of-bounds-store", "race")),
        Mutant("no-mask-at-the-second-load",
            (SCALE, SCALE.replace("tl.load(x_ptrs, mask=mask_n, other=0.0)", "tl.load(x_ptrs)")), seen="reads-outside",
            only="interpreter"),
        Mutant("half-the-pieces-scaled", (RESULT, RESULT + "\n    mask_n = mask_n & (piece % 2 == 0)"),
            seen=("unwritten", "unwritten-tail")),
        # --- rows and strides
        Mutant("always-row-zero", (SUM, SUM.replace("row * stride_xm + ", "")), says="first-row-for-all",
            seen="wrong-values"),
        Mutant("row-stride-is-n", (SUM, SUM.replace("stride_xm", "N")), seen=("strided-only", "reads-outside")),
        Mutant("column-stride-is-one", (SUM, SUM.replace(" * stride_xn", "")), seen=("strided-only", "reads-outside")),
        Mutant("row-stride-is-n-in-the-second", (SCALE, SCALE.replace("stride_xm", "N")),
            seen=("strided-only", "reads-outside")),
        Mutant("row-stride-of-x-for-y", (STORE, STORE.replace("stride_ym", "stride_xm")),
            seen=("strided-only", "out-of-bounds-store")),
        Mutant("row-stride-n-for-all", (SUM, SUM.replace("stride_xm", "N")), (SCALE, SCALE.replace("stride_xm", "N")),
            seen="strided-only"),
        # --- wrapper
        Mutant("rows-returned", ("    return y", "    return y_rows"), seen="wrong-shape"),
        Mutant("no-check-of-w", ("    require_weight(x, w)\n", ""), seen="should-raise"),
        Mutant("whole-row-in-every-program",
            (SUM, "    offs_n = tl.arange(0, 8 * BLOCK_N)\n    x = tl.load(x_ptr + row * stride_xm + offs_n * stride_xn, mask=offs_n < N, other=0.0).to(tl.float32) * (piece == 0)\n\n"),
            seen="tile-too-large"),
        Mutant("untouched", (STORE, "pass"), seen="not-attempted"),
    ]


# Sentences that several mistakes share.
SAYS = {
    "sums-in-half-precision": "The buffer of sums is in half precision, where sums lose digits. Make it float32.",
    "last-piece-only": "The row's sum holds its last piece only: the programs overwrite each other.",
    "own-piece-only":
        "Each piece is normalised by its own sum. The root is taken over the whole row: the sums of all its pieces "
        "belong together.",
}

MUTANTS = {
    "rmsnorm_split": [
        *_in_both("tl.load(sums_ptr + row)"),
        Mutant("sums-of-nothing", " = torch.{zeros -> empty}",
            says="Every result is NaN. Whatever is added to NaN is NaN: what does `sums` hold before the first launch?",
            seen=("reads-unwritten", "reads-outside")),
        Mutant("stale-sums-on-the-second-call",
            "{sums = torch.zeros(M, dtype=torch.float32, device=x.device) -> key = ('sums', M, num_splits)\n"
            "    if key not in _KEPT:\n"
            "        _KEPT[key] = torch.zeros(M, dtype=torch.float32, device=x.device)\n"
            "    sums = _KEPT[key]}",
            ("@triton.jit\ndef rmsnorm_sums_kernel", "_KEPT = {}\n\n\n@triton.jit\ndef rmsnorm_sums_kernel"),
            seen=("second-call", "not-repeatable")),
        Mutant("sums-in-half-precision", "={torch.float32 -> x.dtype}",
            seen=("squares-overflow", "overflow", "nan", "raised", "does-not-compile")),
        Mutant("sums-stay-zero", "{tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0)) -> pass}",
            says="Every row's sum is 0 when the second kernel takes it. Does the first one add to `sums`?"),
        Mutant("buffer-for-one-row", "torch.zeros({M -> 1},", seen=("out-of-bounds-store", "reads-outside")),
        Mutant("last-piece-only", "tl.{atomic_add -> store}(", seen="race", on_gpu=("off-by-row",)),
        Mutant("load-add-exchange", "{atomic_add(sums_ptr + row, -> atomic_xchg(sums_ptr + row, tl.load(sums_ptr + row) +}",
            seen="race", only="interpreter"),
        Mutant("exchange-after-an-atomic", "{atomic_add(sums_ptr + row, -> atomic_xchg(sums_ptr + row, tl.atomic_add(sums_ptr + row, 0.0) +}",
            seen="race", only="interpreter"),
        Mutant("set-to-0-by-the-first-piece", "{tl.atomic_add(sums_ptr -> if piece == 0:\n        tl.store(sums_ptr + row, 0.0)\n"
            "    tl.atomic_add(sums_ptr}", "sums = torch.{zeros -> empty}", seen="race", only="interpreter"),
        Mutant("load-add-store", "{atomic_add(sums_ptr + row, -> store(sums_ptr + row, tl.load(sums_ptr + row) +}",
            seen="race", only="interpreter"),
        Mutant("sum-of-all-rows", "sums_ptr{ + row -> },", "sums_ptr{ + row -> }"),
        Mutant("sum-of-row-zero", "sums_ptr{ + row -> })", says="first-row-for-all"),
        Mutant("own-piece-only", "sums_ptr + {row -> pid},", "torch.zeros(M{ ->  * num_splits},",
            "sums_ptr + {row -> pid})"),
        Mutant("sums-by-piece", "sums_ptr + {row -> piece},",
            says="The sums are kept for each piece. Keep one for each row: its place is `sums_ptr + row`."),
        Mutant("sums-by-piece-in-both", "sums_ptr + {row -> piece},", "sums_ptr + {row -> piece})",
            says="The sums are kept for each piece. Keep one for each row: its place is `sums_ptr + row`."),
        Mutant("taken-by-piece", "sums_ptr + {row -> piece})",
            says="Each program took the sum of another row, the one with the number of its piece. Its own is at "
                "`sums_ptr + row`."),
        Mutant("buffer-of-ones", " = torch.{zeros -> ones}",
            says="Each row's sum is too large by 1. Does the buffer begin with zeros?"),
        Mutant("mean-of-means", " * x, axis=0){ ->  / piece_size})", "sums_ptr + row) / {N -> num_splits}",
            says="This is the mean of the pieces' means. The last piece is shorter than the others: add up sums, and "
                "divide by N once."),
        Mutant("divided-twice", " * x, axis=0){ ->  / N})", says="The sum is divided by N twice."),
        Mutant("grid-without-a-comma", "{(M * num_splits,) -> M * num_splits}", seen="raised"),
        Mutant("piece-missing-at-the-store", "stride_ym + {offs_n -> offs} * ", seen=("race", "wrong-values")),
        Mutant("sum-at-the-program", "sums_ptr + {row -> pid},",
            seen=("reads-outside", "out-of-bounds-store", "wrong-values")),
        Mutant("sums-by-torch", "{torch.zeros(M, dtype=torch.float32, device=x.device -> x_rows.float().pow(2).sum(-1}",
            seen=("torch-compute", "wrong-launch-count", "no-kernel-launched")),
        Mutant("a-program-per-row", "M{ * num_splits -> }", seen="other-programs"),
        Mutant("a-program-per-piece", "grid = ({M *  -> }num_splits", seen="other-programs"),
        Mutant("spin-barrier", seen=("timeout", "wrong-launch-count"),
            replace=ALL_AT_ONCE.replace("{name}", "rmsnorm_split")),
        Mutant("torch-stand-in", seen="no-kernel-launched", replace=TORCH.replace("{name}", "rmsnorm_split")),
        Mutant("one-launch-only", "{    rmsnorm_scale_kernel[grid]( … )\n -> }    return",
            seen=("unwritten", "wrong-launch-count")),
    ],
    "rmsnorm_split_det": [
        *_in_both("tl.sum(partials, axis=0)"),
        Mutant("the-atomics-of-task-1", seen="not-by-hand",
            body="return rmsnorm_split(x, w, eps, num_splits=num_splits)"),
        Mutant("places-of-nothing", "{tl.store(partials_ptr + pid, tl.sum(x * x, axis=0)) -> pass}",
            says="Every result is NaN, as a sum is with one NaN in it. A place that no program has written holds NaN: "
                "does every program store, and is every place that is read written?",
            seen=("not-attempted", "reads-outside")),
        Mutant("atomics-into-places", "tl.{store -> atomic_add}(partials_ptr", "torch.{empty -> zeros}(grid",
            seen="not-by-hand"),
        Mutant("last-piece-only", "partials_ptr + {pid -> row},",
            seen=("race", "nan", "reads-outside", "out-of-bounds-store")),
        Mutant("places-by-piece-alone", "partials_ptr + {pid -> piece},", seen=RACE),
        Mutant("places-that-overlap", "partials_ptr + {pid -> row + piece},",
            seen=("race", "nan", "reads-outside", "out-of-bounds-store", "wrong-values")),
        Mutant("rows-apart-by-block", "row * {num_splits -> BLOCK_S} + offs_s",
            seen=("nan", "wrong-values", "reads-outside")),
        Mutant("sums-of-the-row-after-pid", "+ {row * num_splits -> pid} ",
            seen=("nan", "wrong-values", "reads-outside")),
        Mutant("sums-of-other-rows", " row {* num_splits  -> }+ offs_s",
            says="Row m adds up the sums from place m on. Every row has `num_splits` places: where do its own begin?"),
        Mutant("mask-of-the-tile-of-sums", " < {num_splits -> BLOCK_S},", seen="reads-outside"),
        Mutant("divided-by-the-pieces", "partials, axis=0) / {N -> num_splits}",
            seen=("constant-factor", "wrong-values")),
        Mutant("sums-of-row-zero", " {row * num_splits +  -> }offs_s", says="first-row-for-all"),
        Mutant("own-piece-only", "{sum(partials, axis=0 -> load(partials_ptr + pid}"),
        Mutant("first-piece-only", "{sum(partials, axis=0 -> load(partials_ptr + row * num_splits}",
            says="The row's sum holds its first piece only."),
        Mutant("no-mask-on-the-sums", "{, mask=offs_s < num_splits, other=0.0 -> }", seen=("reads-outside", "nan")),
        Mutant("masked-sums-counted", "num_splits, other={0 -> 1}.0)",
            says="The tile of partial sums has lanes without a piece. They hold 1 and take part in the sum: let them "
                "hold 0."),
        Mutant("largest-piece-only", "tl.{sum -> max}(partials",
            says="The largest of the partial sums was taken, not their sum."),
        Mutant("sums-in-half-precision", "={torch.float32 -> x.dtype}",
            seen=("squares-overflow", "wrong-values", "overflow", "nan", "does-not-compile")),
        Mutant("a-place-per-row", "torch.empty({grid -> x_rows.shape[0]}",
            seen=("out-of-bounds-store", "reads-outside", "raised")),
        Mutant("one-launch-too-many",
            "{rmsnorm_join_kernel -> rmsnorm_partials_kernel[grid](\n"
            "        x_rows, partials, N, num_splits, piece_size, *x_rows.stride(), BLOCK_N=BLOCK_N\n"
            "    )\n"
            "    rmsnorm_join_kernel}[",
            seen="wrong-launch-count"),
        Mutant("spin-barrier", seen=("timeout", "wrong-launch-count", "not-by-hand"),
            replace=ALL_AT_ONCE.replace("{name}", "rmsnorm_split_det")),
        Mutant("torch-stand-in", seen="no-kernel-launched", replace=TORCH.replace("{name}", "rmsnorm_split_det")),
    ],
}

VARIANTS = {
    "rmsnorm_split": [
        Variant("compare-and-swap", "{tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0)) -> part = tl.sum(x * x, axis=0)\n"
            "    old, found = -1.0, tl.load(sums_ptr + row)\n"
            "    while found != old:\n"
            "        old = found\n"
            "        found = tl.atomic_cas(sums_ptr + row, old, old + part)}"),
        Variant("behind-a-lock", "{tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0)) -> part = tl.sum(x * x, axis=0)\n"
            "    lock_ptr = sums_ptr + tl.num_programs(0) // num_splits\n"
            "    while tl.atomic_cas(lock_ptr, 0.0, 1.0) != 0.0:\n"
            "        pass\n"
            "    tl.store(sums_ptr + row, tl.load(sums_ptr + row) + part)\n"
            "    tl.debug_barrier()\n"
            "    tl.atomic_xchg(lock_ptr, 0.0)}", "sums = torch.zeros(M{ ->  + 1}"),
        Variant("relaxed-atomics", ' * x, axis=0){ -> , sem="relaxed"})'),
        Variant("sqrt-and-divide", "= x {* tl.rsqrt -> / tl.sqrt}"),
        Variant("filled-with-zero", " torch.{zeros(M -> full((M,), 0.0}"),
        Variant("divided-before-the-add", " * x, axis=0){ ->  / N})", "sums_ptr + row){ / N -> }"),
        Variant("cast-before-the-store", "stride_yn, y{ -> .to(y_ptr.dtype.element_ty)}, "),
        Variant("mask-by-the-end-of-the-piece",
            "    offs = tl.arange(0, BLOCK_N)  # lanes, counted from the start of the piece\n"
            "\n"
            "    offs_n = piece * piece_size + offs\n"
            "    mask_n = {(offs < piece_size) & (offs_n < -> offs_n < tl.minimum((piece + 1) * piece_size,}"),
        Variant("pieces-as-wide-as-the-tile",
            "offs = tl.arange(0, BLOCK_N)  # lanes, counted from the start of the piece … {piece_size + offs\n"
            "    mask_n = (offs < piece_size -> BLOCK_N + offs\n"
            "    mask_n = (offs < BLOCK_N}",
            "{piece_size + offs\n    mask_n = (offs < piece_size -> BLOCK_N + offs\n    mask_n = (offs < BLOCK_N}"),
        Variant("one-column-of-sums", "zeros(M, { -> 1, }dtype="),
        Variant("sums-that-fit-the-grid", "torch.zeros(M{ ->  + 7},"),
    ],
    "rmsnorm_split_det": [
        Variant("zeroed-all-the-same", "torch.{empty -> zeros}(grid"),
        Variant("a-matrix-of-places", "torch.empty({grid -> x_rows.shape[0], num_splits}"),
        Variant("pieces-first", "partials_ptr + {pid -> piece * (tl.num_programs(0) // num_splits) + row},",
            "{row * num_splits + offs_s -> offs_s * (tl.num_programs(0) // num_splits) + row}"),
        Variant("place-by-row-and-piece", "partials_ptr + {pid -> row * num_splits + piece},"),
        Variant("sqrt-and-divide", "= x {* tl.rsqrt -> / tl.sqrt}"),
        Variant("squares-first", "tl.sum(x * x{ ->  * (1.0 / N)}, ", "partials, axis=0){ / N -> }"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "rmsnorm_split": {
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=0.0) (2)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'sums = torch.zeros(M, dtype=torch.float32, device=x.device) => sums = torch.zeros(M, device=x.device)': "torch's default dtype is float32",
        'tl.atomic_add(sums_ptr + row, tl.sum(x * x, axis=0)) => tl.atomic_add(sums_ptr + row, tl.sum(x * x))': "a tile of one dimension has one axis",
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n).to(tl.float32) (2)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'tl.store(y_ptr + row * stride_ym + offs_n * stride_yn, y, mask=mask_n) => tl.store(y_ptr + row * stride_ym + offs_n, y, mask=mask_n)': "the wrapper makes a contiguous result: its last stride is 1",
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=1.0).to(tl.float32) (2)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=1.0).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
    },
    "rmsnorm_split_det": {
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=0.0) (2)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'partials = torch.empty(grid, dtype=torch.float32, device=x.device) => partials = torch.empty(grid, device=x.device)': "torch's default dtype is float32",
        'tl.store(partials_ptr + pid, tl.sum(x * x, axis=0)) => tl.store(partials_ptr + pid, tl.sum(x * x))': "a tile of one dimension has one axis",
        'mean_square = tl.sum(partials, axis=0) / N => mean_square = tl.sum(partials) / N': "a tile of one dimension has one axis",
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n).to(tl.float32) (2)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'tl.store(y_ptr + row * stride_ym + offs_n * stride_yn, y, mask=mask_n) => tl.store(y_ptr + row * stride_ym + offs_n, y, mask=mask_n)': "the wrapper makes a contiguous result: its last stride is 1",
        'x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32) => x = tl.load(x_ptrs, mask=mask_n, other=1.0).to(tl.float32) (2)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=1.0).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
    },
}
