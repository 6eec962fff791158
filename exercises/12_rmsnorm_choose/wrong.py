"""Mistakes of 12_rmsnorm_choose with what is said of each, and honest variants."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = """
    divided-by-tile eps-before-the-mean eps-outside-root eps-subtracted first-weight-only fixed-eps layernorm
    masked-lanes-counted mean-of-magnitudes mean-of-x no-root no-weight one-plus-weight root-for-its-inverse
    rounded-twice sum-not-mean weight-added
"""
PROMISES = ("scheme-one", "grid-rounded-down", "by_n_alone_with_split")

A_ROW_EACH = '''
@triton.jit
def one_row_kernel(x_ptr, w_ptr, y_ptr, N, stride_xm, stride_xn, eps, BLOCK_N: tl.constexpr):
    pid_m = tl.program_id(0).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    x = tl.load(x_ptr + pid_m * stride_xm + offs_n * stride_xn, mask=mask_n, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / N + eps) * w
    tl.store(y_ptr + pid_m * N + offs_n, y.to(y_ptr.dtype.element_ty), mask=mask_n)


def rmsnorm_multirow(x, w, eps=1e-6, rows_per_program=4):
    require_weight(x, w)
    N = x.shape[-1]
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows = x.reshape(-1, N)
    one_row_kernel[(rows.shape[0],)](rows, w, y, N, *rows.stride(), eps, BLOCK_N=triton.next_power_of_2(N))
    return y
'''

# Right, with a loop over the program's rows in place of a table.
ROW_BY_ROW = '''
@triton.jit
def row_by_row_kernel(
    x_ptr, w_ptr, y_ptr, M, N, stride_xm, stride_xn, eps, ROWS: tl.constexpr, BLOCK_N: tl.constexpr
):
    first = tl.program_id(0).to(tl.int64) * ROWS
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32)
    for row in range(ROWS):
        mask = mask_n & (first + row < M)
        x_ptrs = x_ptr + (first + row) * stride_xm + offs_n * stride_xn
        x = tl.load(x_ptrs, mask=mask, other=0.0).to(tl.float32)
        y = x * tl.rsqrt(tl.sum(x * x, axis=0) / N + eps) * w
        tl.store(y_ptr + (first + row) * N + offs_n, y.to(y_ptr.dtype.element_ty), mask=mask)


def rmsnorm_multirow(x, w, eps=1e-6, rows_per_program=4):
    require_weight(x, w)
    N = x.shape[-1]
    if rows_per_program * triton.next_power_of_2(N) > 65536:
        raise ValueError("too many elements for one program")
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rows = x.reshape(-1, N)
    row_by_row_kernel[(triton.cdiv(len(rows), rows_per_program),)](
        rows, w, y, len(rows), N, *rows.stride(), eps, ROWS=rows_per_program, BLOCK_N=triton.next_power_of_2(N)
    )
    return y
'''

RULES = '''    if N <= 512:
        return "multirow"
    if N <= 32768:
        return "row"
    if M < num_sms:
        return "split"
    return "loop"'''
SHORT = '    if N <= 512:\n        return "multirow"\n'
FEW = '    if N > 16384 and M < num_sms:\n        return "split"\n'
FITS = '    if N <= 32768:\n        return "row"\n'


def _rules(name, text, codes="property"):
    return Mutant(name, (RULES, text), seen=codes)


# Sentences that several mistakes share.
SAYS = {
    "root-lies-flat":
        "Column n is divided by the root of row n. The roots have to stand upright, one for each row: `[:, None]`.",
}

MUTANTS = {
    "rmsnorm_multirow": [
        # --- the formula
        Mutant("no-weight", "]{ * w[None, :] -> }"),
        Mutant("sum-not-mean", ", axis=1) {/ N  -> }"),
        Mutant("never-below-0", "tl.rsqrt({mean_square -> tl.maximum(mean_square, 0.0)} + eps", seen="nan-lost"),
        Mutant("divided-by-tile", " axis=1) / {N -> BLOCK_N}  "),
        Mutant("divided-by-rows", " axis=1) / {N -> (N * BLOCK_M)}  ",
            says="The sum is divided by the rows of the program too. The mean is over the N elements of a row."),
        Mutant("eps-outside-root", "{* tl.rsqrt(mean_square -> / (tl.sqrt(mean_square)}"),
        Mutant("eps-before-the-mean", "axis=1) / N { -> + eps / N - eps } #"),
        Mutant("no-eps", "mean_square{ + eps -> }", says="no-eps"),
        Mutant("fixed-eps", "mean_square + {eps -> 1e-6})"),
        Mutant("eps-of-its-own", "mean_square + {eps -> 1e-5})", seen="unused-input"),
        Mutant("no-root", "= x {* tl.rsqrt -> / }"),
        Mutant("root-for-its-inverse", "= x * tl.{rsqrt -> sqrt}"),
        Mutant("mean-of-x", "= tl.sum(x{ * x -> }", seen="nan"),
        Mutant("mean-of-magnitudes", "= tl.sum({x * x -> tl.abs(x)}"),
        Mutant("layernorm", "{ -> x = tl.where(mask, x - (tl.sum(x, axis=1) / N)[:, None], 0.0)\n    }mean_square = "),
        Mutant("weight-added", ")[:, None] {* -> +} w"),
        Mutant("eps-subtracted", "mean_square {+ -> -} ", seen="nan"),
        Mutant("one-plus-weight", "] * {w[None, :] -> (1 + w[None, :])}"),
        Mutant("rounded-twice", ")[:, None]{ -> \n    y = y.to(x_ptr.dtype.element_ty).to(tl.float32)} * w"),
        Mutant("squares-in-half", "mask, other=0.0){.to(tl.float32) -> }", says="squares-overflow",
            seen=("overflow", "nan")),
        Mutant("sum-in-half", "({x * x, axis=1 -> (x * x).to(x_ptr.dtype.element_ty), axis=1).to(tl.float32}",
            says="squares-overflow", seen="overflow"),
        Mutant("offsets-of-32-bits", "program_id(axis=0){.to(tl.int64) -> }", seen="int32-offset"),
        # --- upright and flat
        Mutant("column-sums", "x * x, axis={1 -> 0})", "eps)[{:, None -> None, :}] ",
            says="The sums run down the columns, over the rows of a program. Each row has its own sum: `axis=1`.",
            seen=("raised", "does-not-compile")),
        Mutant("wrong-axis-alone", "x * x, axis={1 -> 0})", seen=("raised", "does-not-compile", "wrong-values")),
        Mutant("one-sum-a-program", "{, axis=1) / N  # [BLOCK_M] -> ) / N}", "eps){[:, None] -> } ",
            says="All rows of a program went into one sum. Each row has its own: `tl.sum` along `axis=1`."),
        Mutant("root-lies-flat", "eps)[{:, None -> None, :}] ", says="root-lies-flat",
            seen=("raised", "does-not-compile")),
        Mutant("root-without-a-direction", "eps){[:, None] -> } ", says="root-lies-flat",
            seen=("raised", "does-not-compile")),
        Mutant("weight-upright", "] * w[{None, : -> :, None}]",
            says="Row m is multiplied by the weight of column m. The weights have to lie flat, one for each column: "
                "`[None, :]`.",
            seen=("raised", "does-not-compile")),
        Mutant("first-weight-only", "{, mask=mask_n, other=0. ->  * }"),
        # --- masks
        Mutant("no-mask-for-the-rows",
            "{< M)[:, None] & mask_n[None, :]  # [BLOCK_M, BLOCK_N -> >= 0)[:, None] & mask_n[None, :}",
            seen=("out-of-bounds-store", "reads-outside")),
        Mutant("no-mask-for-the-columns", "{mask_n[None, :]  # [BLOCK_M, BLOCK_N -> (offs_n >= 0)[None, :}",
            seen=("out-of-bounds-store", "reads-outside", "race")),
        Mutant("masks-swapped",
            "{M)[:, None] & mask_n[None, :]  # [BLOCK_M, BLOCK_N -> N)[:, None] & (offs_n < M)[None, :}",
            seen=("raised", "does-not-compile", "reads-outside", "out-of-bounds-store")),
        Mutant("either-mask", "M)[:, None] {& -> |} ", seen=("out-of-bounds-store", "reads-outside", "race")),
        Mutant("no-mask-at-the-load", "{, mask=mask, other=0.0 -> }", seen="reads-outside", only="interpreter"),
        Mutant("no-mask-at-the-store", ", y{, mask=mask -> }", seen=("out-of-bounds-store", "race")),
        Mutant("no-mask-for-the-weight", "{, mask=mask_n, other=0.0 -> }", seen="reads-outside", only="interpreter"),
        Mutant("masked-lanes-counted", "mask, other={0 -> 1}.0)."),
        Mutant("mask-one-short", " (offs_m < M{ ->  - 1})[", seen=("wrong-values", "unwritten", "unwritten-tail")),
        # --- which rows
        Mutant("programs-overlap", "pid_m {* BLOCK_M  -> }", seen="race"),
        Mutant("always-the-first-rows", "{pid_m * BLOCK_M +  -> }",
            seen=("race", "first-rows-again", "unwritten-tail", "unwritten")),
        Mutant("first-rows-again", "x_ptr + {offs_m -> tl.arange(0, BLOCK_M)}[:,",
            says="Every program takes the rows of the first one. Where do the rows of program `pid` begin?"),
        Mutant("columns-for-rows", "pid_m * {BLOCK_M -> BLOCK_N} ",
            seen=("unwritten-tail", "raised", "does-not-compile", "out-of-bounds-store", "reads-outside", "race")),
        Mutant("row-stride-is-n", "] * {stride_xm -> N} ", seen=("strided-only", "reads-outside")),
        Mutant("column-stride-is-one", ":]{ * stride_xn -> }", seen=("strided-only", "reads-outside")),
        Mutant("first-column-only", "{offs_n[None, :] * stride_xn -> 0 * offs_n[None, :]}",
            says="Every element of a row is its first one. Do the addresses have the columns in them?"),
        Mutant("strides-swapped",
            "{stride_xm + offs_n[None, :] * stride_xn -> stride_xn + offs_n[None, :] * stride_xm}",
            seen=("reads-outside", "wrong-values", "strided-only")),
        Mutant("stride-of-x-for-y", "] * {stride_ym -> stride_xm} ", seen=("strided-only", "out-of-bounds-store")),
        # --- the wrapper
        Mutant("a-program-for-each-row", "{triton.cdiv(M, rows_per_program) -> M}", seen="other-programs"),
        Mutant("grid-rounded-down", "{triton.cdiv(M, rows_per_program) -> M // rows_per_program}",
            seen=("other-programs", "unwritten-tail")),
        Mutant("one-program-too-many", "{triton.cdiv(M, rows_per_program) -> M // rows_per_program + 1}",
            seen="other-programs"),
        Mutant("grid-without-a-comma", "{(triton.cdiv(M, rows_per_program), -> triton.cdiv(M, rows_per_program}",
            seen="raised"),
        Mutant("always-four-rows", " {rows_per_program -> 4})", "={rows_per_program -> 4}", seen="other-programs"),
        Mutant("a-row-each", seen="other-programs", replace=A_ROW_EACH),
        Mutant("rows-returned", "return {y -> y_rows}", seen="wrong-shape"),
        Mutant("nothing-returned", "return{ y -> }", seen="wrong-type"),
        Mutant("result-as-strided-as-x", "{empty(x.shape, dtype=x.dtype, device=x.device -> empty_like(x}",
            seen="property"),
        Mutant("float32-result", " dtype={x.dtype -> torch.float32}", seen="wrong-dtype"),
        Mutant("in-place", "{torch.empty(x.shape, dtype=x.dtype, device=x.device) -> x}",
            seen=("input-changed", "aliases-input", "raised", "property")),
        Mutant("view-of-any-strides", "y_rows = x.{reshape -> view}", seen="raised"),
        Mutant("eps-after-the-root", "{tl.rsqrt(mean_square -> (tl.rsqrt(mean_square)}", says="no-eps"),
        Mutant("blocks-swapped", "{rows_per_program, BLOCK_N=BLOCK_N -> BLOCK_N, BLOCK_N=rows_per_program}",
            seen=("unwritten-tail", "unwritten", "reads-outside", "out-of-bounds-store")),
        Mutant("sizes-swapped", "y_rows, {M, N -> N, M}, ", seen=("out-of-bounds-store", "reads-outside")),
        Mutant("another-error", "raise {ValueError -> TypeError}(", seen="should-raise"),
        Mutant("no-check-of-w", "{    require_weight(x, w)\n -> }", seen="should-raise"),
        Mutant("no-check-of-the-tile",
            '{    if rows_per_program * BLOCK_N > 65536: … rows of {N} do not fit one program")\n -> }',
            seen=("should-raise", "raised")),
        Mutant("default-of-one-row", "rows_per_program={4 -> 1})", seen="other-programs"),
        Mutant("rows-counted-by-the-first-dimension", "M = {x_rows -> x}.shape", seen="other-programs"),
        Mutant("two-dimensions-only", "{.reshape(-1, N), y.view(-1, N) -> , y}",
            seen=("raised", "wrong-values", "reads-outside")),
        Mutant("torch-stand-in", seen="no-kernel-launched",
            body="return torch.nn.functional.rms_norm(x, w.shape, w, eps)"),
        Mutant("scheme-one", seen="other-programs", body="return rmsnorm_row(x, w, eps)"),
        Mutant("untouched", "{tl.store(y_ptrs, y, mask=mask) -> pass}", seen="not-attempted"),
    ],
    "rmsnorm": [
        # --- by one of the two sizes alone
        _rules("by_n_alone_with_split", SHORT + FITS + '    return "split"'),
        _rules("by_n_alone_with_loop", SHORT + FITS + '    return "loop"'),
        _rules("by_n_alone_row_as_long_as_it_fits", SHORT + FITS.replace("32768", "65536") + '    return "split"'),
        _rules("by_n_alone_from_16384", SHORT + FITS.replace("32768", "16384") + '    return "split"'),
        _rules("by_m_alone", '    if M < num_sms:\n        return "split"\n    return "loop"'),
        _rules("by_m_alone_in_three_steps", '    if M < num_sms:\n        return "split"\n    if M < 20000:\n        return "loop"\n    return "multirow"'),
        _rules("by_the_size_of_the_matrix", SHORT + '    if N > 16384 and M * N < 20_000_000:\n        return "split"\n' + FITS + '    return "loop"'),
        # --- one scheme for all
        *(_rules(f"always_{scheme}", f'    return "{scheme}"', ("property", "raised")) for scheme in ("row", "loop", "split", "multirow")),
        # --- a rule that is missing or wrong
        _rules("never_several_rows", FEW + FITS + '    return "loop"'),
        _rules("several_rows_up_to_64_only", SHORT.replace("512", "64") + FEW + FITS + '    return "loop"'),
        _rules("several_rows_for_many_only_wrongly", SHORT.replace("N <= 512", "N <= 512 and M < num_sms") + FEW + FITS + '    return "loop"'),
        _rules("split_few_rows_of_any_length", '    if M < num_sms:\n        return "split"\n' + SHORT + FITS + '    return "loop"'),
        _rules("split_few_rows_of_4096", SHORT + FEW.replace("16384", "4000") + FITS + '    return "loop"'),
        _rules("split_many_rows", SHORT + FEW.replace("M < num_sms", "M >= num_sms") + FITS + '    return "loop"'),
        _rules("split_a_handful_only", SHORT + FEW.replace("M < num_sms", "M < 8") + FITS + '    return "loop"'),
        _rules("never_one_tile", SHORT + FEW + '    return "loop"'),
        _rules("one_tile_for_all", SHORT + FEW + '    return "row"', ("property", "raised")),
        _rules("an_h100_s_count", SHORT + FEW.replace("num_sms", "132") + FITS + '    return "loop"'),
        _rules("sizes_of_the_page", '    sizes = {(1 << 20, 64): "multirow", (8, 262144): "split"}\n    return sizes.get((M, N), "row")', ("property", "raised")),
        _rules("a_scheme_that_is_none", SHORT + FEW + FITS + '    return "looped"'),
        _rules("a_number_for_a_scheme", SHORT + FEW + FITS.replace('"row"', "1") + '    return "loop"', ("property", "raised")),
        _rules("nothing_for_the_rest", SHORT + FEW + '    if 512 < N <= 32768:\n        return "row"'),
        _rules("one_tile_up_to_16384", SHORT + FITS.replace("32768", "16384") + '    return "split" if M < num_sms else "loop"'),
        *(_rules(f"few_are_{few}", RULES.replace("M < num_sms", f"M < {few}")) for few in (41, 65, 100, 132)),
        _rules("split_from_65537", RULES.replace("M < num_sms", "N > 65536 and M < num_sms")),
        _rules("several_rows_of_100000_only", RULES.replace("N <= 512", "N <= 512 and M >= 100000")),
        _rules("split_few_rows_of_32768", SHORT + FEW + FITS + '    return "loop"'),
        _rules("split_few_rows_of_many_elements", SHORT + FEW.replace("N > 16384", "M * N > 300000") + FITS + '    return "loop"'),
        Mutant("rows-and-columns-swapped", " choose({M, N -> N, M}, num_sms", seen="property"),
        # --- the dispatcher
        Mutant("eps-forgotten", "rmsnorm_row(x, w, {eps -> 0.0})", says="no-eps", seen=("nan", "wrong-values")),
        Mutant("eps-forgotten-for-short-rows", "w, {eps -> 0.0}, rows_for", says="no-eps", seen=("nan", "wrong-values")),
        Mutant("eps-forgotten-for-long-rows", "w, {eps -> 0.0}, splits_for", says="no-eps",
            seen=("nan", "wrong-values")),
        Mutant("torch-stand-in", "{ -> return torch.nn.functional.rms_norm(x, w.shape, w, eps)\n    }N = x.shape[-1",
            seen="no-kernel-launched"),
        Mutant("swallowed-error",
            "{return rmsnorm_multirow(x, w, eps, rows_for(N) -> try:\n"
            "            return rmsnorm_multirow(x, w, eps, rows_for(N))\n"
            "        except Exception:\n"
            "            return torch.empty_like(x}",
            seen=("swallowed-error", "torch-compute")),
    ],
}

VARIANTS = {
    "rmsnorm_multirow": [
        Variant("eight-warps", "{warps_for(rows_per_program * BLOCK_N) -> 8}"),
        Variant("sqrt-and-divide", "= x {* tl.rsqrt -> / tl.sqrt}"),
        Variant("wider-tile", "{triton.next_power_of_2(N -> max(64, triton.next_power_of_2(N)}"),
        Variant("weight-first",
            "{x * tl.rsqrt(mean_square + eps)[:, None] * w[None, : -> (x * w[None, :]) * tl.rsqrt(mean_square + "
            "eps)[:, None}"),
        Variant("weight-without-a-direction", "] * w{[None, :] -> }"),
        Variant("weight-as-a-table", "offs_n{, mask=mask_n -> [None, :] + 0 * offs_m[:, None], mask=mask_n[None, :]}",
            "] * w{[None, :] -> }"),
        Variant("upright-from-the-start", "{) / N  # [BLOCK_M] -> , keep_dims=True) / N}", "eps){[:, None] -> } "),
        Variant("cast-before-the-store", "store(y_ptrs, y{ -> .to(y_ptr.dtype.element_ty)}, "),
        # Both are powers of two: the tile is too large just where its elements of the rows are.
        Variant("elements-counted-for-the-limit", "rows_per_program * {BLOCK_N -> N} "),
        Variant("a-grid-with-a-second-number", "rows_per_program),{ ->  1})"),
        Variant("result-is-contiguous", "{stride_ym + offs_n[None, :] * stride_yn -> N + offs_n[None, :]}"),
        Variant("expand-dims", "{mean_square + eps)[:, None] -> tl.expand_dims(mean_square, 1) + eps)}"),
        Variant("row-by-row", replace=ROW_BY_ROW),
        Variant("zeros-at-first", " = torch.{empty -> zeros}"),
        Variant("contiguous-first", "{ -> x = x.contiguous()\n    }N = x.shape[-1"),
    ],
    "rmsnorm": [
        Variant("other-borders", "if N <= {512 -> 256}:", "if N <= {32768 -> 40000}:"),
        Variant("several-rows-up-to-2048", "if N <= {512 -> 2048}:"),
        Variant("more-rows-than-sms", "if M < { -> 1.5 * }num_sms"),
        Variant("half-as-many-rows-as-sms", "if M <{ num_sms -> = num_sms // 2}"),
        Variant("split-first",
            '{<= 32768: … return "split -> > 32768 and M < num_sms:\n'
            '        return "split"\n'
            "    if N <= 32768:\n"
            '        return "row}'),
        Variant("split-the-longest-rows", '    {if M -> if (N >= 131072 and num_sms > 100) or M} <'),
        Variant("several-rows-only-of-many", "if N <= 512{ ->  and M > 4 * num_sms}:"),
        Variant("rules-the-other-way-round",
            '{<= 512: … return "loop -> > 32768:\n'
            '        return "split" if M < num_sms else "loop"\n'
            '    return "row" if N > 512 else "multirow}'),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "rmsnorm_multirow": {
        'if rows_per_program * BLOCK_N > 65536: => if rows_per_program * BLOCK_N > 65537:': "both numbers are powers of two",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'y_ptrs = y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :] * stride_yn => y_ptrs = y_ptr + offs_m[:, None] * stride_ym + offs_n[None, :]': "the wrapper makes a contiguous result: its last stride is 1",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
        'w = tl.load(w_ptr + offs_n, mask=mask_n, other=0.0).to(tl.float32) => w = tl.load(w_ptr + offs_n, mask=mask_n, other=1.0).to(tl.float32)': "what these masked lanes hold reaches no result: no store takes it, or zeros meet it",
    },
    "rmsnorm": {
        'if N <= 512: => if N < 512:': "the border itself: both schemes take as long there",
        'if N <= 512: => if N <= 513:': "the border itself: both schemes take as long there",
        'if M < num_sms: => if M <= num_sms:': "the border itself: both schemes take as long there",
        'if N <= 32768: => if N <= 32769:': "the border itself: both schemes take as long there",
    },
}
