"""Wrong answers of 93_profile_hard with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant


def cause(right, wrong):
    return (f'return "{right}"', f'return "{wrong}"')


def unnamed(key, right):
    return (f'return "{right}"', f'raise NotImplementedError("TODO: fill in {key}_cause")')


WARPS = "num_warps = max(1, min(16, BLOCK_N // 1024))"
ROW_LOAD = 'x = tl.load(x_ptr + row + offs_n, mask=mask_n, other=float("-inf")).to(tl.float32)'
P = "p = tl.exp(x - tl.max(x, axis=0))"
ROW_STORE = "tl.store(y_ptr + row + offs_n, p / tl.sum(p, axis=0), mask=mask_n)"
ROW_LAUNCH = "softmax_wide_kernel[(M,)](x, y, N, BLOCK_N=BLOCK_N, num_warps=num_warps)"

DOT = "acc = tl.dot(a, b, acc)\n\n    tl.store(c_ptr + offs_m"
TAIL = "\n\n    tl.store(c_ptr + offs_m"
WIDE = 'a, b = a.to(tl.float32), b.to(tl.float32)\n        acc = tl.dot(a, b, acc, input_precision="ieee")' + TAIL
TILES = "a, b, c, M, N, K, BLOCK_M=tile, BLOCK_N=tile, BLOCK_K=32"
C_STORE = "tl.store(c_ptr + offs_m * N + offs_n, acc, mask=(offs_m < M) & (offs_n < N))"

ROOT = "root = 0.7978845608028654"
FULL = "root = tl.full((1,), 0.7978845608028654, dtype=tl.float64)"
U = "u = root * (x + 0.044715 * x * x * x)"
Y = "y = x / (1 + tl.exp(-2 * u))"
X_LOAD = "x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)"
Y_STORE = "tl.store(y_ptr + offs, y, mask=mask)"

END = "end = tl.minimum(first + BLOCK_T, T)"
LOOP = "for k in range(0, end, BLOCK_K):"
MASK_A = "mask_a = (offs_t < T) & (offs_k[None, :] <= offs_t)"
T_DOT = "        acc = tl.dot(a, b, acc)\n"
T_LAUNCH = "a, b, c, T, N, BLOCK_T=tile, BLOCK_N=tile, BLOCK_K=32"

MUTANTS = {
    "softmax_wide": [
        Mutant("as_it_came_and_named", "slow", (WARPS, "num_warps = 1")),
        Mutant("as_it_came_and_wrongly_named", "slow", (WARPS, "num_warps = 1"), cause("spills", "few programs")),
        Mutant("mended_and_not_named", "not-attempted", unnamed("softmax_wide", "spills")),
        Mutant("mended_and_wrongly_named", "property", cause("spills", "repeated loads")),
        Mutant("a_name_of_no_table", "property", cause("spills", "registers")),
        Mutant("two_warps", "slow", (WARPS, "num_warps = 2")),
        Mutant("another_number_of_stages", "slow", (WARPS, "num_warps = 1"), (ROW_LAUNCH, ROW_LAUNCH.replace("num_warps=num_warps", "num_warps=num_warps, num_stages=1"))),
        Mutant("kept_in_half", ("slow", "wrong-values"), (WARPS, "num_warps = 1"), (P, "p = tl.exp(x - tl.max(x, axis=0)).to(tl.float16)"), (ROW_STORE, ROW_STORE.replace("p / tl.sum(p, axis=0)", "p.to(tl.float32) / tl.sum(p.to(tl.float32), axis=0)"))),
        Mutant("loaded_twice_with_one_warp", "slow", (WARPS, "num_warps = 1"), (P, P + "\n    p = tl.exp(tl.load(x_ptr + row + offs_n, mask=mask_n, other=float('-inf')).to(tl.float32) - tl.max(x, axis=0))")),
        Mutant("half_as_many_warps_where_it_is_wide", "slow", (WARPS, "num_warps = 4 if N < 8192 else 2")),
        Mutant("a_smaller_tile_alone", ("unwritten", "unwritten-tail", "wrong-values", "wrong-tail"), (WARPS, "BLOCK_N, num_warps = min(BLOCK_N, 1024), 4")),
        Mutant("no_maximum", ("no-maximum", "overflow", "nan", "wrong-values"), (P, "p = tl.exp(x)")),
        Mutant("not_divided", "not-divided", (ROW_STORE, ROW_STORE.replace("p / tl.sum(p, axis=0)", "p"))),
        Mutant("padding_of_0", ("padding-counts", "wrong-values", "off-by-row"), (ROW_LOAD, ROW_LOAD.replace('float("-inf")', "0.0"))),
        Mutant("no_limit", "should-raise", ("    if N > 16384:\n        raise ValueError(\"a row has at most 16,384 columns\")\n", "")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def softmax_wide(x):\n    require_contiguous(x)\n    if x.shape[1] > 16384:\n        raise ValueError('too wide')\n    return x.softmax(-1)\n\n\ndef softmax_wide_cause():\n    return 'spills'\n"),
    ],
    "half_matmul": [
        Mutant("as_it_came_and_named", ("float32-product", "slow"), (DOT, WIDE)),
        Mutant("as_it_came_and_wrongly_named", ("float32-product", "slow"), (DOT, WIDE), cause("no tensor cores", "spills")),
        Mutant("mended_and_not_named", "not-attempted", unnamed("half_matmul", "no tensor cores")),
        Mutant("mended_and_wrongly_named", "property", cause("no tensor cores", "repeated loads")),
        Mutant("tf32", ("float32-product", "slow"), (DOT, WIDE.replace(', input_precision="ieee"', ""))),
        Mutant("three_times_tf32", ("float32-product", "slow"), (DOT, WIDE.replace("ieee", "tf32x3"))),
        Mutant("smaller_tiles", ("float32-product", "slow"), (DOT, WIDE), ("tile=64)", "tile=32)")),
        Mutant("more_warps", ("float32-product", "slow"), (DOT, WIDE), (TILES, TILES.replace("BLOCK_K=32", "BLOCK_K=32, num_warps=8"))),
        Mutant("sums_of_products", "slow", (DOT, "acc += tl.sum(a[:, :, None].to(tl.float32) * b[None, :, :].to(tl.float32), axis=1)" + TAIL), ("tile=64)", "tile=16)"), (TILES, TILES.replace("BLOCK_M=tile, BLOCK_N=tile", "BLOCK_M=16, BLOCK_N=16")), ("triton.cdiv(M, tile), triton.cdiv(N, tile)", "triton.cdiv(M, 16), triton.cdiv(N, 16)")),
        Mutant("one_cast_alone", ("does-not-compile", "raised"), (DOT, DOT.replace("tl.dot(a, b, acc)", "tl.dot(a.to(tl.float32), b, acc)"))),
        Mutant("acc_forgotten", ("last-tile-only", "wrong-values"), (DOT, DOT.replace("tl.dot(a, b, acc)", "tl.dot(a, b)"))),
        Mutant("acc_in_half", ("does-not-compile", "wrong-values", "raised", "half-accumulator"), (DOT, DOT.replace("tl.dot(a, b, acc)", "tl.dot(a, b, acc.to(tl.float16), out_dtype=tl.float16).to(tl.float32)"))),
        Mutant("no_mask_along_k", ("reads-outside", "wrong-values"), ("mask_a = (offs_m < M) & (offs_k < K)[None, :]", "mask_a = offs_m < M")),
        Mutant("result_in_float32", "wrong-dtype", ("dtype=a.dtype", "dtype=torch.float32")),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store",), (C_STORE, C_STORE.replace(", mask=(offs_m < M) & (offs_n < N)", ""))),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def half_matmul(a, b, tile=64):\n    require_contiguous(a, b)\n    return a @ b\n\n\ndef half_matmul_cause():\n    return 'no tensor cores'\n"),
    ],
    "gelu_digits": [
        Mutant("as_it_came_and_named", "slow", (ROOT, FULL)),
        Mutant("as_it_came_and_wrongly_named", "slow", (ROOT, FULL), cause("float64", "spills")),
        Mutant("mended_and_not_named", "not-attempted", unnamed("gelu_digits", "float64")),
        Mutant("mended_and_wrongly_named", "property", cause("float64", "uncoalesced")),
        Mutant("cast_behind_u", "slow", (ROOT, FULL), (U, U + "\n    u = u.to(tl.float32)")),
        Mutant("cast_at_the_store", "slow", (ROOT, FULL), (Y_STORE, Y_STORE.replace("offs, y,", "offs, y.to(tl.float32),"))),
        Mutant("other_number_first", "slow", (U, "u = root * (x + tl.full((1,), 0.044715, dtype=tl.float64) * x * x * x)")),
        Mutant("x_in_float64", "slow", (X_LOAD, X_LOAD.replace("float32", "float64"))),
        Mutant("another_block", "slow", (ROOT, FULL), ("block=1024)", "block=512)")),
        Mutant("exponential_alone", "slow", (Y, "y = x / (1 + tl.exp(-2 * u.to(tl.float64))).to(tl.float32)")),
        Mutant("half_constant", ("half-constant", "wrong-values"), (ROOT, "root = tl.full((1,), 0.7978845608028654, dtype=tl.float16).to(tl.float32)")),
        Mutant("bfloat16_constant", ("bfloat16-constant", "wrong-values"), (ROOT, "root = tl.full((1,), 0.7978845608028654, dtype=tl.bfloat16).to(tl.float32)")),
        Mutant("rounded", "rounded", (ROOT, "root = 0.8")),
        Mutant("no_root", "two-over-pi", (ROOT, "root = 0.6366197723675814")),
        Mutant("quick_formula", "quick", (Y, "y = x / (1 + tl.exp(-1.702 * x))")),
        Mutant("square_for_cube", ("wrong-values",), (U, "u = root * (x + 0.044715 * x * x)")),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store",), (Y_STORE, Y_STORE.replace(", mask=mask", ""))),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def gelu_digits(x, block=1024):\n    require_contiguous(x)\n    return torch.nn.functional.gelu(x, approximate='tanh')\n\n\ndef gelu_digits_cause():\n    return 'float64'\n"),
    ],
    "lower_matmul": [
        Mutant("as_it_came_and_named", "slow", (END, "end = T"), only="interpreter"),
        Mutant("as_it_came_and_wrongly_named", "slow", (END, "end = T"), cause("masked work", "repeated loads"), only="interpreter"),
        Mutant("mended_and_not_named", "not-attempted", unnamed("lower_matmul", "masked work")),
        Mutant("mended_and_wrongly_named", "property", cause("masked work", "uncoalesced")),
        Mutant("loads_of_b_masked_too", "slow", (END, "end = T"), ("mask_b = (offs_k < T)[:, None]", "mask_b = (offs_k < tl.minimum(first + BLOCK_T, T))[:, None]"), only="interpreter"),
        Mutant("result_of_the_product_masked", "slow", (END, "end = T"), (T_DOT, "        acc += tl.where(k < first + BLOCK_T, tl.dot(a, b), 0.0)\n"), only="interpreter"),
        Mutant("larger_steps", "slow", (END, "end = T"), (T_LAUNCH, T_LAUNCH.replace("BLOCK_K=32", "BLOCK_K=64")), only="interpreter"),
        Mutant("end_of_all_rows_rounded", "slow", (END, "end = tl.cdiv(T, BLOCK_T) * BLOCK_T"), only="interpreter"),
        Mutant("a_little_earlier", "slow", (END, "end = tl.minimum(first + BLOCK_T + T // 2, T)"), only="interpreter"),
        Mutant("before_the_diagonal", ("tiles-before", "wrong-values"), (END, "end = first")),
        Mutant("mask_dropped_too", ("full-product", "wrong-values"), (MASK_A, "mask_a = (offs_t < T) & (offs_k[None, :] < T)"), (END, "end = T")),
        Mutant("mask_dropped", ("wrong-values", "reads-outside", "full-product"), (MASK_A, "mask_a = (offs_t < T) & (offs_k[None, :] < T)")),
        Mutant("without_the_diagonal", "diagonal-left-out", (MASK_A, MASK_A.replace("<= offs_t", "< offs_t"))),
        Mutant("upper", ("upper", "wrong-values", "reads-outside"), (MASK_A, MASK_A.replace("<=", ">=")), (END, "end = T")),
        Mutant("end_by_the_program", ("wrong-values", "wrong-tail"), (END, "end = tl.program_id(axis=0) + 1")),
        Mutant("end_by_columns", ("wrong-values", "tiles-before"), (END, "end = tl.minimum(first + BLOCK_K, T)")),
        Mutant("first_row_s_end", ("wrong-values", "tiles-before"), (END, "end = first + 1")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def lower_matmul(a, b, tile=64):\n    require_contiguous(a, b)\n    return a.tril() @ b\n\n\ndef lower_matmul_cause():\n    return 'masked work'\n"),
    ],
}

VARIANTS = {
    "softmax_wide": [
        Variant("always_16", (WARPS, "num_warps = 16")),
        Variant("always_8", (WARPS, "num_warps = 8")),
        Variant("four_where_it_is_narrow", (WARPS, "num_warps = 4 if BLOCK_N <= 4096 else 16")),
        Variant("by_the_columns", (WARPS, "num_warps = min(max(triton.next_power_of_2(N) // 512, 1), 16)")),
        Variant("a_loop_over_pieces", replace="@triton.jit\ndef softmax_wide_kernel(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):\n    row = tl.program_id(axis=0).to(tl.int64) * N\n    m, l = float('-inf'), 0.0\n    for start in range(0, N, BLOCK_N):\n        offs = start + tl.arange(0, BLOCK_N)\n        x = tl.load(x_ptr + row + offs, mask=offs < N, other=float('-inf')).to(tl.float32)\n        new = tl.maximum(m, tl.max(x, axis=0))\n        l = l * tl.exp(m - new) + tl.sum(tl.exp(x - new), axis=0)\n        m = new\n    for start in range(0, N, BLOCK_N):\n        offs = start + tl.arange(0, BLOCK_N)\n        x = tl.load(x_ptr + row + offs, mask=offs < N, other=float('-inf')).to(tl.float32)\n        tl.store(y_ptr + row + offs, tl.exp(x - m) / l, mask=offs < N)\n\n\ndef softmax_wide(x):\n    require_contiguous(x)\n    M, N = x.shape\n    if N > 16384:\n        raise ValueError('too wide')\n    y = torch.empty_like(x)\n    softmax_wide_kernel[(M,)](x, y, N, BLOCK_N=2048)\n    return y\n\n\ndef softmax_wide_cause():\n    return \"spills\"\n"),
    ],
    "half_matmul": [
        Variant("added_outside", (DOT, DOT.replace("acc = tl.dot(a, b, acc)", "acc += tl.dot(a, b)"))),
        Variant("precision_named", (DOT, DOT.replace("tl.dot(a, b, acc)", 'tl.dot(a, b, acc, input_precision="ieee")'))),
        Variant("cast_back_first", (DOT, DOT.replace("tl.dot(a, b, acc)", "tl.dot(a.to(tl.float32).to(a_ptr.dtype.element_ty), b, acc)"))),
        Variant("eight_warps", (TILES, TILES.replace("BLOCK_K=32", "BLOCK_K=32, num_warps=8"))),
        Variant("deeper_tiles", (TILES, TILES.replace("BLOCK_K=32", "BLOCK_K=64"))),
    ],
    "gelu_digits": [
        Variant("float32_by_name", (ROOT, FULL.replace("float64", "float32"))),
        Variant("cast_at_once", (ROOT, "root: tl.constexpr = 0.7978845608028654")),
        Variant("in_the_formula", (ROOT + "\n", "\n"), (U, U.replace("root", "0.7978845608028654"))),
        Variant("fewer_digits", (ROOT, "root = 0.7978846")),
        Variant("root_of_it", (ROOT, "root = tl.sqrt(tl.full((1,), 0.6366197723675814, dtype=tl.float32))")),
    ],
    "lower_matmul": [
        Variant("by_the_tile_s_number", (END, "end = tl.minimum((tl.program_id(axis=0) + 1) * BLOCK_T, T)")),
        Variant("not_held_to_t", (END, "end = first + BLOCK_T"), (MASK_A, MASK_A + " & (offs_k[None, :] < T)")),
        Variant("asks_in_the_loop", (END, "end = T"), (T_DOT, "        if k < first + BLOCK_T:\n            acc = tl.dot(a, b, acc)\n")),
        Variant("two_loops", (END, "for k in range(0, first, BLOCK_K):\n        offs_k = k + tl.arange(0, BLOCK_K)\n        a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=(offs_t < T) & (offs_k < first)[None, :], other=0.0)\n        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=(offs_k < first)[:, None] & (offs_n < N), other=0.0)\n        acc = tl.dot(a, b, acc)\n    end = tl.minimum(first + BLOCK_T, T)"), (LOOP, "for k in range(first, end, BLOCK_K):")),
        Variant("tiles_of_32", ("tile=64)", "tile=32)")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
ENOUGH = "other numbers of warps, and nothing spills with any of them"
EQUIVALENT = {
    "softmax_wide": {
        f"{WARPS} => {WARPS.replace(old, new)}": ENOUGH
        for old, new in (
            ("max(1", "max(2"),
            ("min(", "max("),
            ("16", "17"),
            (" // 1024", ""),
            ("BLOCK_N // 1024", "1024"),
            ("BLOCK_N // 1024", "triton.cdiv(BLOCK_N, 1024)"),
            ("1024", "1"),
        )
    },
    "lower_matmul": {
        f"{END} => end = first + BLOCK_T": "the mask of a holds k to the rows that exist",
    },
}
