"""Mistakes of 10_rmsnorm_rows with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = """
    divided-by-tile eps-before-the-mean eps-outside-root first-weight-only layernorm masked-lanes-hold-one
    mean-of-magnitudes mean-of-x no-root no-weight one-plus-weight root-for-its-inverse rounded-twice row-added-twice
    sum-in-half-precision weight-rounded x-in-the-dtype-of-w
"""
PROMISES = ("sum-in-half-precision", "row-stride-is-n", "the-row-kernel-of-task-1")

# Right in its values: the way of a later page.
SEVERAL_ROWS = '''
@triton.jit
def several_rows_kernel(
    x_ptr, w_ptr, y_ptr, M, N, stride_xm, stride_xn, eps, ROWS: tl.constexpr, BLOCK_N: tl.constexpr
):
    rows = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    cols = tl.arange(0, BLOCK_N)[None, :]
    mask = (rows < M) & (cols < N)
    x = tl.load(x_ptr + rows * stride_xm + cols * stride_xn, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    y = x * tl.rsqrt(tl.sum(x * x, axis=1) / N + eps)[:, None] * w
    tl.store(y_ptr + rows * N + cols, y.to(y_ptr.dtype.element_ty), mask=mask)


def rmsnorm_row(x, w, eps=1e-6):
    require_weight(x, w)
    N = x.shape[-1]
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows = x.reshape(-1, N)
    several_rows_kernel[(triton.cdiv(rows.shape[0], 4),)](
        rows, w, y, rows.shape[0], N, *rows.stride(), eps,
        ROWS=4, BLOCK_N=triton.next_power_of_2(N),
    )
    return y
'''

# Sentences that several mistakes share.
SAYS = {
    "squares-overflow":
        "All results are zero: the sum of the squares is infinity. Do masked lanes come in as minus infinity, as in "
        "softmax? Their square has to be 0. Or did the squares, or their sum, overflow in half precision? Go to "
        "float32 before you square.",
    "no-eps": "`eps` is missing from the root. Rows of tiny numbers tell the difference.",
    "sum-not-mean": "This divides by the root of the sum of squares. It should be the root of their mean.",
}

MUTANTS = {
    "rmsnorm_row": [
        Mutant("weight-rounded", "w_ptr + offs_n, mask=mask_n, other=0.0){.to(tl.float32) -> .to(x_ptr.dtype.element_ty).to(tl.float32)}"),
        Mutant("x-in-the-dtype-of-w",
            "x_ptrs, mask=mask_n, other=0.0){.to(tl.float32) -> .to(w_ptr.dtype.element_ty).to(tl.float32)}"),
        Mutant("result-in-the-dtype-of-w", "y = torch.empty(x.shape, dtype={x.dtype -> w.dtype}", seen="wrong-dtype"),
        Mutant("nan-in-the-weight-lost", "tl.rsqrt(mean_square + eps) * {w -> tl.maximum(w, -1e30)}", seen="nan-lost"),
        Mutant("never-below-0", "tl.rsqrt({mean_square -> tl.maximum(mean_square, 0.0)} + eps", seen="nan-lost"),
        Mutant("masked-lanes-as-in-softmax", 'x_ptrs, mask=mask_n, other={0.0 -> float("-inf")}).to(tl.float32)',
            says="squares-overflow"),
        Mutant("row-in-the-columns", "offs_n = { -> pid_m * BLOCK_N + }tl.arange", seen="unwritten-tail"),
        Mutant("eps-after-the-root", "{tl.rsqrt(mean_square -> (tl.rsqrt(mean_square)}", says="no-eps"),
        Mutant("root-for-its-inverse", "= x * tl.{rsqrt -> sqrt}"),
        Mutant("eps-before-the-mean", "x, axis=0) / N{ ->  + eps / N - eps}"),
        Mutant("mean-of-magnitudes", "= tl.sum({x * x -> tl.abs(x)}"),
        Mutant("one-plus-weight", "mean_square + eps) * {w -> (1 + w)}"),
        Mutant("several-rows-a-program", seen="other-programs", replace=SEVERAL_ROWS),
        Mutant("no-weight", "mean_square + eps){ * w -> }"),
        Mutant("divided-by-tile", "x, axis=0) / {N -> BLOCK_N}"),
        Mutant("sum-not-mean", "x, axis=0){ / N -> }"),
        Mutant("eps-outside-root", "{* tl.rsqrt(mean_square -> / (tl.sqrt(mean_square)}"),
        Mutant("no-eps", "mean_square{ + eps -> }", says="no-eps"),
        Mutant("eps-of-its-own", "mean_square + {eps -> 1e-5}", seen="unused-input"),
        Mutant("no-root", "= x {* tl.rsqrt -> / }"),
        Mutant("layernorm", "{ -> x = tl.where(mask_n, x - tl.sum(x, axis=0) / N, 0.0)\n    }mean_square = "),
        Mutant("mean-of-x", "= tl.sum(x{ * x -> }", seen="nan"),
        Mutant("sum-in-half-precision", "x_ptrs, mask=mask_n, other=0.0){.to(tl.float32) -> }",
            seen=("squares-overflow", "overflow", "nan")),
        Mutant("running-sum-in-half", "({x * x, axis=0 -> (x * x).to(x_ptr.dtype.element_ty), axis=0).to(tl.float32}",
            says="squares-overflow", seen="sum-in-half-precision"),
        Mutant("rounded-twice", "mean_square + eps){ -> \n    y = y.to(x_ptr.dtype.element_ty).to(tl.float32)} * w"),
        Mutant("row-added-twice", "x_ptr + { -> 2 * }pid_m *", seen="reads-outside"),
        Mutant("first-weight-only", "{ + offs_n, mask=mask_n, other=0.0 -> }"),
        Mutant("row-stride-is-n", "pid_m * {stride_xm -> N} ", seen="strided-only"),
        Mutant("column-stride-is-one", "offs_n{ * stride_xn -> }", seen="strided-only"),
        Mutant("stride-of-x-for-y", "pid_m * {stride_ym -> stride_xm} ", seen=("strided-only", "out-of-bounds-store")),
        Mutant("always-row-zero", "{pid_m * stride_xm -> 0 * pid_m}", seen="rows-after-first"),
        Mutant("no-store-mask", "y{, mask=mask_n -> }", seen=("out-of-bounds-store", "race")),
        Mutant("no-load-mask", "x_ptrs{, mask=mask_n, other=0.0 -> }", seen="reads-outside"),
        Mutant("masked-lanes-hold-one", "x_ptrs, mask=mask_n, other={0 -> 1}.0).to(tl.float32", seen="off-by-row"),
        Mutant("no-other-before-the-sum", "x_ptrs, mask=mask_n{, other=0.0 -> }).to(tl", seen="no-other"),
        Mutant("mask-one-short", "mask_n = offs_n < N{ ->  - 1}", seen=("wrong-values", "unwritten", "unwritten-tail")),
        Mutant("float32-result", " dtype={x.dtype -> torch.float32}", seen="wrong-dtype"),
        Mutant("no-check-of-w", "{    require_weight(x, w)\n -> }", seen="should-raise"),
        Mutant("stand-in-with-the-right-name", seen="no-kernel-launched",
            replace='''
def triton_rmsnorm(x, w, eps):
    variance = x.float().pow(2).mean(-1, keepdim=True)
    return (x.float() * torch.rsqrt(variance + eps) * w.float()).to(x.dtype)


def rmsnorm_row(x, w, eps=1e-6):
    return triton_rmsnorm(x, w, eps)
'''),
        Mutant("root-by-torch", "{ -> scale = x.pow(2).mean()\n    }y = torch.empty", seen="torch-compute"),
        Mutant("in-place",
            "{torch.empty(x.shape, dtype=x.dtype, device=x.device) -> x.contiguous() if not x.is_contiguous() else x}",
            seen=("input-changed", "aliases-input")),
        Mutant("untouched", "{tl.store(y_ptr + pid_m * stride_ym + offs_n * stride_yn, y, mask=mask_n) -> pass}",
            seen="not-attempted"),
        Mutant("list-in-the-kernel", "{tl.arange(0, BLOCK_N) -> [tl.arange(0, BLOCK_N) for _ in range(1)][0]}",
            seen="does-not-compile"),
    ],
    "rmsnorm_loop": [
        Mutant("weight-rounded", "w_ptr + offs_n, mask=mask_n){.to(tl.float32) -> .to(x_ptr.dtype.element_ty).to(tl.float32)}"),
        Mutant("x-in-the-dtype-of-w",
            "x_row_ptr + offs_n * stride_xn, mask=mask_n){.to(tl.float32) -> .to(w_ptr.dtype.element_ty).to(tl.float32)}"),
        Mutant("result-in-the-dtype-of-w", "y = torch.empty(x.shape, dtype={x.dtype -> w.dtype}", seen="wrong-dtype"),
        Mutant("nan-in-the-weight-lost", "{ -> w = tl.maximum(w, -1e30)\n        }y = x * rstd", seen="nan-lost"),
        Mutant("never-below-0", "tl.rsqrt({tl.sum(squares, axis=0) / N -> tl.maximum(tl.sum(squares, axis=0) / N, 0.0)} + eps", seen="nan-lost"),
        Mutant("columns-side-by-side", " x_row_ptr + offs_n{ * stride_xn -> }",
            seen=("strided-only", "reads-outside", "wrong-values", "out-of-bounds-store")),
        Mutant("column-stride-of-x-for-y", "offs_n * {stride_yn -> stride_xn},",
            seen=("strided-only", "reads-outside", "wrong-values", "out-of-bounds-store")),
        Mutant("the-row-kernel-of-task-1", seen="tile-too-large",
            replace="def rmsnorm_loop(x, w, eps=1e-6, block=4096):\n    return rmsnorm_row(x, w, eps)\n"),
        Mutant("sum-in-each-lane", "squares += {x * x -> tl.sum(x * x, axis=0)}",
            says="Each lane of `squares` holds the sum of all lanes. Add the tile of squares to it; the lanes are "
                "added up after the loop."),
        Mutant("last-piece-left-out",
            "    squares = tl.zeros([BLOCK_N], dtype=tl.float32)\n    for start in range(0, N{ ->  - BLOCK_N + 1}",
            says="The last, partly filled piece took no part in the sum. Where does the first walk end?"),
        Mutant("second-walk-in-half-steps", "rstd = tl.rsqrt(tl.sum(squares, axis=0) / N + eps) … BLOCK_N{ ->  // 2}",
            seen="property", only="interpreter"),
        Mutant("last-piece-only", "squares {+ -> }= x *",
            says="Only the last piece was squared and summed: the sum so far was overwritten."),
        Mutant("mask-of-the-first-piece",
            "{offs_n -> tl.arange(0, BLOCK_N)} < N\n"
            "        x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n).to(tl.float32)",
            seen=("out-of-bounds-store", "reads-outside")),
        Mutant("no-mask-in-pass-two", "y{, mask=mask_n -> }", seen=("out-of-bounds-store", "race")),
        Mutant("no-other-before-the-sum", "mask_n{, other=0.0 -> }", seen="no-other"),
        Mutant("no-mask-in-pass-one", "{, mask=mask_n, other=0.0 -> }", seen="reads-outside"),
        Mutant("no-weight", "= x * rstd{ * w -> }"),
        Mutant("first-weights", "w_ptr + {offs_n -> tl.arange(0, BLOCK_N)},",
            says="Every piece was multiplied by the weights of the first one. Load the piece's own."),
        Mutant("divided-by-tile", ", axis=0) / {N -> BLOCK_N} ",
            says="The sum is divided by the lanes of a piece. Divide by N, the number of elements."),
        Mutant("sum-not-mean", ", axis=0) {/ N  -> }"),
        Mutant("eps-outside-root",
            "{tl.rsqrt(tl.sum(squares, axis=0) / N -> 1.0 / (tl.sqrt(tl.sum(squares, axis=0) / N)}"),
        Mutant("no-eps", "axis=0) / N{ + eps -> }"),
        Mutant("eps-of-its-own", "axis=0) / N + {eps -> 1e-5}", seen="unused-input"),
        Mutant("lanes-not-added-up", "rsqrt({tl.sum(squares, axis=0) -> squares} / N",
            says="Each lane is divided by the root of its own squares. The row has one root: `tl.sum` adds up the "
                "lanes of `squares`."),
        Mutant("row-stride-is-n-in-pass-two", "load({x_row_ptr -> x_ptr + pid_m * N}",
            seen=("strided-only", "reads-outside")),
        Mutant("row-stride-is-n-in-pass-one", "x_ptrs = {x_row_ptr -> x_ptr + pid_m * N} ",
            seen=("strided-only", "reads-outside")),
        Mutant("squares-overflow", "0){.to(tl.float32) -> }", seen=("overflow", "nan")),
        Mutant("sum-in-half-precision", "dtype={tl.float32 -> x_ptr.dtype.element_ty}",
            "squares {+= x * x -> = (squares + (x * x).to(x_ptr.dtype.element_ty)).to(x_ptr.dtype.element_ty)}",
            "tl.sum(squares{ -> .to(tl.float32)},"),
        Mutant("rounded-twice", "y = {x * rstd -> (x * rstd).to(x_ptr.dtype.element_ty).to(tl.float32)} *"),
        Mutant("row-added-twice", " x_row_ptr + { -> pid_m * stride_xm + }offs_n * ",
            "x_row_ptr + { -> pid_m * stride_xm + }offs_n *", seen="reads-outside"),
        Mutant("row-added-twice-in-pass-two", "(x_row_ptr + { -> pid_m * stride_xm + }offs_n * ",
            seen=("reads-outside", "wrong-values")),
        Mutant("first-piece-only", " x_row_ptr + {offs_n -> tl.arange(0, BLOCK_N)} * stride_xn",
            ", mask=mask_n{ ->  & (start == 0)},",
            says="Only the first piece was squared and summed. Does each round load its own piece?"),
        Mutant("pass-two-only-the-first-piece", "\n\n    for start in range(0, {N -> BLOCK_N}, BLOCK_N):",
            seen=("unwritten-tail", "unwritten")),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="return torch.nn.functional.rms_norm(x, w.shape, w, eps)"),
    ],
}

VARIANTS = {
    "rmsnorm_row": [
        Variant("four-warps", "{warps_for(BLOCK_N) -> 4}"),
        Variant("sqrt-and-divide", "= x {* tl.rsqrt -> / tl.sqrt}"),
        Variant("wider-tile", "BLOCK_N = { -> 2 * }triton"),
        Variant("cast-before-the-store", "stride_yn, y{ -> .to(y_ptr.dtype.element_ty)}, "),
        Variant("hint-to-the-cache",
            'x_ptrs, mask=mask_n, other=0.0{ -> , eviction_policy="evict_last"}).to(tl.float32)'),
        Variant("weight-first", "{x * tl.rsqrt(mean_square + eps) * w -> (x * w) * tl.rsqrt(mean_square + eps)}"),
    ],
    "rmsnorm_loop": [
        Variant("reduce-each-piece", "zeros([{BLOCK_N -> 1}", "squares += {x * x -> tl.sum(x * x, axis=0)}"),
        Variant("two-warps", "{warps_for(block) -> 2}"),
        Variant("keeps-one-over-the-root", " w_ptr, y_ptr,{ ->  rstd_ptr,}",
            "=0) / N + eps){ -> \n    tl.store(rstd_ptr + pid_m, rstd)}",
            "x_rows, w, y_rows,{ ->  torch.empty(x_rows.shape[0], dtype=torch.float32, device=x.device),} "),
        Variant("sqrt-and-divide", "rstd = {tl.rsqrt -> 1.0 / tl.sqrt}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "rmsnorm_row": {
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'mean_square = tl.sum(x * x, axis=0) / N => mean_square = tl.sum(x * x) / N': "a tile of one dimension has one axis",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32)': "what the masked lanes hold is never stored",
        'tl.store(y_ptr + pid_m * stride_ym + offs_n * stride_yn, y, mask=mask_n) => tl.store(y_ptr + pid_m * stride_ym + offs_n, y, mask=mask_n)': "the wrapper makes a contiguous result: its last stride is 1",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=1.0).to(tl.float32)': "what the masked lanes hold is never stored",
    },
    "rmsnorm_loop": {
        'x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n).to(tl.float32) => x = tl.load(x_row_ptr + offs_n * stride_xn, mask=mask_n)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'tl.store(y_row_ptr + offs_n * stride_yn, y, mask=mask_n) => tl.store(y_row_ptr + offs_n, y, mask=mask_n)': "the wrapper makes a contiguous result: its last stride is 1",
    },
}
