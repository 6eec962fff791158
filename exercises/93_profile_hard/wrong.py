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

FULL_LOOP = """    for k in range(0, first, BLOCK_K):  # all of it lies below the diagonal
        offs_k = k + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=offs_t < T, other=0.0)
        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=offs_n < N, other=0.0)
        acc = tl.dot(a, b, acc)
"""
END = "start, end = first, tl.minimum(first + BLOCK_T, T)"
ALL = ((FULL_LOOP, ""), (END, "start, end = 0, T"))  # as it came
EARLIER = ((FULL_LOOP, ""), (END, "start, end = 0, tl.minimum(first + BLOCK_T, T)"))
LOOP = "for k in range(start, end, BLOCK_K):"
MASK_A = "mask_a = (offs_t < T) & (offs_k[None, :] <= offs_t)"
MASK_B = "mask_b = (offs_k < T)[:, None] & (offs_n < N)"
T_DOT = "        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=mask_b, other=0.0)\n        acc = tl.dot(a, b, acc)\n"
WHERE = T_DOT.replace("        acc", "        a = tl.where(offs_k[None, :] <= offs_t, a, 0.0)\n        acc")
WHOLE = "mask_a = (offs_t < T) & (offs_k < T)[None, :]"
T_LAUNCH = "a, b, c, T, N, BLOCK_T=tile, BLOCK_N=tile, BLOCK_K=min(tile, 32)"

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
        Mutant("no_power_of_two", ("raised", "does-not-compile"), (WARPS, "num_warps = max(1, min(16, triton.cdiv(N, 1024)))")),
        Mutant("warps_set_and_not_given", "slow", (WARPS, "num_warps = 16"), (ROW_LAUNCH, ROW_LAUNCH.replace("num_warps=num_warps", "num_warps=1"))),
        Mutant("few_registers_by_decree", "slow", (WARPS, "num_warps = 1"), (ROW_LAUNCH, ROW_LAUNCH.replace("num_warps=num_warps", "num_warps=num_warps, maxnreg=255"))),
        Mutant("exponentials_computed_again", "slow", (WARPS, "num_warps = 1"), (ROW_STORE, "total = tl.sum(p, axis=0)\n    " + ROW_STORE.replace("p / tl.sum(p, axis=0)", "tl.exp(x - tl.max(x, axis=0)) / total"))),
        Mutant("warps_by_the_rows", "slow", ("num_warps = max(1, min(16, BLOCK_N // 1024))", "num_warps = 4 if M > 4 else 1")),
        Mutant("one_stage", "slow", ("num_warps = max(1, min(16, BLOCK_N // 1024))", "num_warps = 1"), ("num_warps=num_warps", "num_warps=num_warps, num_stages=1")),
        Mutant("registers_allowed", "slow", ("num_warps = max(1, min(16, BLOCK_N // 1024))", "num_warps = 1"), ("num_warps=num_warps", "num_warps=num_warps, maxnreg=255")),
        Mutant("behind_the_largest_row", "slow", ("num_warps = max(1, min(16, BLOCK_N // 1024))", "num_warps = 16 if N > 16384 else 1")),
        Mutant("masked_lanes_hold_0", "padding-counts", ("other=float(\"-inf\")", "other=0.0")),
        Mutant("divided_by_the_sum_of_x", "off-by-row", ("tl.store(y_ptr + row + offs_n, p / tl.sum(p, axis=0), mask=mask_n)", "tl.store(y_ptr + row + offs_n, p / tl.sum(x, axis=0), mask=mask_n)")),
        Mutant("wide_rows_refused", "raised", ("N > 16384", "N > 8192")),
        Mutant("few_programs_named", "property", ("return \"spills\"", "return \"few programs\"")),
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
        Mutant("always_float16", ("float16-tiles", "nan", "overflow", "wrong-values"), (DOT, DOT.replace("tl.dot(a, b, acc)", "tl.dot(a.to(tl.float16), b.to(tl.float16), acc)"))),
        Mutant("always_bfloat16", ("bfloat16-tiles", "wrong-values"), (DOT, DOT.replace("tl.dot(a, b, acc)", "tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16), acc)"))),
        Mutant("cast_by_the_wrapper", ("torch-compute", "float32-product", "slow"), ("    c = torch.empty((M, N), dtype=a.dtype, device=a.device)\n", "    c = torch.empty((M, N), dtype=a.dtype, device=a.device)\n    a, b = a.float(), b.float()\n")),
        Mutant("operands_swapped", ("wrong-values", "does-not-compile", "raised"), (DOT, DOT.replace("tl.dot(a, b, acc)", "tl.dot(b, a, acc)"))),
        Mutant("product_in_half", "wrong-values", ("acc = tl.dot(a, b, acc)", "acc += tl.dot(a, b, out_dtype=tl.float16)")),
        Mutant("summed_by_hand", "slow", ("acc = tl.dot(a, b, acc)", "acc += tl.sum(a[:, :, None].to(tl.float32) * b[None, :, :].to(tl.float32), axis=1)")),
        Mutant("one_tile_cast", ("does-not-compile", "raised"), ("acc = tl.dot(a, b, acc)", "acc = tl.dot(a, b.to(tl.float32), acc)")),
        Mutant("both_tiles_cast", "float32-product", ("acc = tl.dot(a, b, acc)", "acc = tl.dot(a.to(tl.float32), b.to(tl.float32), acc)")),
        Mutant("acc_rounded_each_turn", "wrong-values", ("acc = tl.dot(a, b, acc)", "acc = tl.dot(a, b, acc).to(a_ptr.dtype.element_ty).to(tl.float32)")),
        Mutant("acc_overwritten", "last-tile-only", ("acc = tl.dot(a, b, acc)", "acc = tl.dot(a, b)")),
        Mutant("one_column_too_many", "reads-outside", ("(offs_k < K)[None, :]", "(offs_k <= K)[None, :]"), only="interpreter"),
        Mutant("rows_of_k_columns", "reads-outside", ("offs_k[:, None] * N", "offs_k[:, None] * K"), only="interpreter"),
        Mutant("float64_named", "property", ("return \"no tensor cores\"", "return \"float64\"")),
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
        Mutant("a_table_of_float64", "slow", (ROOT, "root = tl.load(root_ptr)"), ("y_ptr, n, BLOCK: tl.constexpr", "y_ptr, root_ptr, n, BLOCK: tl.constexpr"), ("(x, y, n, BLOCK=block)", "(x, y, torch.full((1,), 0.7978845608028654, dtype=torch.float64, device=x.device), n, BLOCK=block)")),
        Mutant("half_because_x_may_be", ("half-constant", "bfloat16-constant", "wrong-values"), (ROOT, "root = tl.full((1,), 0.7978845608028654, dtype=tl.float16)")),
        Mutant("sign_lost", "sign-of-the-exponent", (Y, Y.replace("-2 * u", "2 * u"))),
        Mutant("twice_forgotten", "half-the-exponent", (Y, Y.replace("-2 * u", "-u"))),
        Mutant("cube_in_float64", "slow", ("u = root * (x + 0.044715 * x * x * x)", "u = root * (x + (0.044715 * x.to(tl.float64) * x * x).to(tl.float32))")),
        Mutant("u_in_float64", "slow", ("u = root * (x + 0.044715 * x * x * x)", "u = root * (x + 0.044715 * x * x * x)\n    u = u.to(tl.float64)")),
        Mutant("divisor_in_float64", "slow", ("y = x / (1 + tl.exp(-2 * u))", "y = x / (1 + tl.exp(-2 * u)).to(tl.float64)")),
        Mutant("a_tile_of_float64", "slow", ("root = 0.7978845608028654", "root = tl.full((BLOCK,), 0.7978845608028654, dtype=tl.float64)")),
        Mutant("erf", "erf", ("y = x / (1 + tl.exp(-2 * u))", "y = 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))")),
        Mutant("four_digits", "wrong-by-value", ("root = 0.7978845608028654", "root = 0.7978")),
        Mutant("ten_times_the_cube", "ten-times-the-cube", ("u = root * (x + 0.044715 * x * x * x)", "u = root * (x + 0.44715 * x * x * x)")),
        Mutant("no_cube", "no-cube", ("u = root * (x + 0.044715 * x * x * x)", "u = root * x")),
        Mutant("root_of_half_pi", "wrong-values", ("root = 0.7978845608028654", "root = 1.2533141373155")),
        Mutant("many_launches_named", "property", ("return \"float64\"", "return \"many launches\"")),
    ],
    "lower_matmul": [
        Mutant("as_it_came_and_named", "slow", *ALL),
        Mutant("as_it_came_and_wrongly_named", "slow", *ALL, cause("masked loop", "repeated loads")),
        Mutant("mended_and_not_named", "not-attempted", unnamed("lower_matmul", "masked loop")),
        Mutant("mended_and_wrongly_named", "property", cause("masked loop", "uncoalesced")),
        Mutant("ends_earlier_and_keeps_its_mask", "slow", *EARLIER),
        Mutant("masked_behind_the_load_and_goes_on", "slow", *ALL, (MASK_A, WHOLE), (T_DOT, WHERE), only="interpreter"),
        Mutant("loads_of_b_masked_too", "slow", *ALL, (MASK_B, "mask_b = (offs_k < tl.minimum(first + BLOCK_T, T))[:, None] & (offs_n < N)")),
        Mutant("result_of_the_product_masked", "slow", *ALL, (T_DOT, T_DOT.replace("acc = tl.dot(a, b, acc)", "acc += tl.where(k < first + BLOCK_T, tl.dot(a, b), 0.0)"))),
        Mutant("larger_steps", "slow", *ALL, (T_LAUNCH, T_LAUNCH.replace("min(tile, 32)", "tile"))),
        Mutant("end_of_all_rows_rounded", "slow", (FULL_LOOP, ""), (END, "start, end = 0, tl.cdiv(T, BLOCK_T) * BLOCK_T")),
        Mutant("a_little_earlier", "slow", (FULL_LOOP, ""), (END, "start, end = 0, tl.minimum(first + BLOCK_T + T // 2, T)")),
        Mutant("two_loops_with_the_same_mask", "slow", (FULL_LOOP, FULL_LOOP.replace("mask=offs_t < T", "mask=(offs_t < T) & (offs_k[None, :] <= offs_t)"))),
        Mutant("full_tiles_and_then_all", "full-tiles-twice", (END, "start, end = 0, tl.minimum(first + BLOCK_T, T)")),
        Mutant("second_loop_goes_to_the_end", "slow", (END, "start, end = first, T"), only="interpreter"),
        Mutant("without_the_diagonal_s_tile", ("tiles-before", "wrong-values", "zeros"), (END, "start, end = first, first")),
        Mutant("full_tiles_left_out", "diagonal-s-tile-alone", (FULL_LOOP, "")),
        Mutant("full_tiles_up_to_the_end_of_the_tile", "diagonal-s-tile-twice", (FULL_LOOP, FULL_LOOP.replace("range(0, first,", "range(0, first + BLOCK_T,"))),
        Mutant("mask_dropped", ("wrong-values", "reads-outside", "full-product"), (MASK_A, WHOLE)),
        Mutant("without_the_diagonal", "diagonal-left-out", (MASK_A, MASK_A.replace("<= offs_t", "< offs_t"))),
        Mutant("upper", ("upper", "wrong-values", "reads-outside"), (MASK_A, MASK_A.replace("<=", ">=") + " & (offs_k[None, :] < T)"), (FULL_LOOP, ""), (END, "start, end = 0, T")),
        Mutant("end_by_the_program", ("wrong-values", "wrong-tail", "tiles-before"), (END, "start, end = first, tl.program_id(axis=0) + 1")),
        Mutant("end_by_columns", ("wrong-values", "tiles-before", "wrong-tail"), (END, "start, end = first, tl.minimum(first + BLOCK_K // 2, first)")),
        Mutant("rows_of_a_full_tile_unmasked", ("reads-outside", "wrong-values"), (FULL_LOOP, FULL_LOOP.replace(", mask=offs_t < T, other=0.0", "")), only="interpreter"),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def lower_matmul(a, b, tile=64):\n    require_contiguous(a, b)\n    return a.tril() @ b\n\n\ndef lower_matmul_cause():\n    return 'masked loop'\n"),
        Mutant("full_tiles_one_too_few", ("wrong-values", "wrong-tail", "tiles-before"), (FULL_LOOP, FULL_LOOP.replace("range(0, first,", "range(0, first - BLOCK_K,"))),
        Mutant("diagonal_twice", "diagonal-s-tile-twice", (FULL_LOOP, FULL_LOOP.replace("range(0, first,", "range(0, first + BLOCK_K,"))),
        Mutant("by_columns_of_the_program", ("wrong-values", "wrong-tail", "tiles-before", "slow"), (END, "start, end = first, tl.minimum((tl.program_id(axis=1) + 1) * BLOCK_N, T)")),
        Mutant("acc_begins_again", "diagonal-s-tile-alone", (END, END + "\n    acc = tl.zeros((BLOCK_T, BLOCK_N), dtype=tl.float32)")),
        Mutant("half_of_the_full_tiles", "wrong-tail", ("    for k in range(0, first, BLOCK_K):  # all of it lies below the diagonal\n", "    for k in range(0, first // 2, BLOCK_K):  # all of it lies below the diagonal\n")),
        Mutant("first_tile_left_out", "wrong-tail", ("    for k in range(0, first, BLOCK_K):  # all of it lies below the diagonal\n", "    for k in range(BLOCK_K, first, BLOCK_K):  # all of it lies below the diagonal\n")),
        Mutant("rows_of_a_tile_alike", "rows-of-a-tile-alike", ("mask_a = (offs_t < T) & (offs_k[None, :] <= offs_t)", "mask_a = (offs_t < T) & (offs_k[None, :] <= first)")),
        Mutant("one_masked_loop_to_the_end", "slow", ("    for k in range(0, first, BLOCK_K):  # all of it lies below the diagonal\n", "    for k in range(0, 0, BLOCK_K):  # all of it lies below the diagonal\n"), ("start, end = first, tl.minimum(first + BLOCK_T, T)", "start, end = 0, T")),
        Mutant("one_step_on_the_diagonal", "one-step-on-the-diagonal", ("start, end = first, tl.minimum(first + BLOCK_T, T)", "start, end = first, tl.minimum(first + BLOCK_K, T)")),
        Mutant("rows_of_b_unmasked", "reads-outside", ("mask_b = (offs_k < T)[:, None] & (offs_n < N)", "mask_b = offs_n < N"), only="interpreter"),
        Mutant("masked_weights_of_1", "wrong-values", ("mask=mask_a, other=0.0", "mask=mask_a, other=1.0")),
        Mutant("acc_times_0", "diagonal-s-tile-alone", ("start, end = first, tl.minimum(first + BLOCK_T, T)", "start, end = first, tl.minimum(first + BLOCK_T, T)\n    acc *= 0")),
        Mutant("no_tensor_cores_named", "property", ("return \"masked loop\"", "return \"no tensor cores\"")),
    ],
}

VARIANTS = {
    "softmax_wide": [
        Variant("always_16", (WARPS, "num_warps = 16")),
        Variant("always_8", (WARPS, "num_warps = 8")),
        Variant("four_where_it_is_narrow", (WARPS, "num_warps = 4 if BLOCK_N <= 4096 else 16")),
        Variant("by_the_columns", (WARPS, "num_warps = min(max(triton.next_power_of_2(N) // 512, 1), 16)")),
        Variant("a_loop_over_pieces", replace="@triton.jit\ndef softmax_wide_kernel(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):\n    row = tl.program_id(axis=0).to(tl.int64) * N\n    m, l = float('-inf'), 0.0\n    for start in range(0, N, BLOCK_N):\n        offs = start + tl.arange(0, BLOCK_N)\n        x = tl.load(x_ptr + row + offs, mask=offs < N, other=float('-inf')).to(tl.float32)\n        new = tl.maximum(m, tl.max(x, axis=0))\n        l = l * tl.exp(m - new) + tl.sum(tl.exp(x - new), axis=0)\n        m = new\n    for start in range(0, N, BLOCK_N):\n        offs = start + tl.arange(0, BLOCK_N)\n        x = tl.load(x_ptr + row + offs, mask=offs < N, other=float('-inf')).to(tl.float32)\n        tl.store(y_ptr + row + offs, tl.exp(x - m) / l, mask=offs < N)\n\n\ndef softmax_wide(x):\n    require_contiguous(x)\n    M, N = x.shape\n    if N > 16384:\n        raise ValueError('too wide')\n    y = torch.empty_like(x)\n    softmax_wide_kernel[(M,)](x, y, N, BLOCK_N=2048)\n    return y\n\n\ndef softmax_wide_cause():\n    return \"spills\"\n"),
        Variant("always_4", (WARPS, "num_warps = 4")),
        Variant("always_32", (WARPS, "num_warps = 32")),
        Variant("three_sizes", (WARPS, "if N <= 1024:\n        num_warps = 2\n    elif N <= 4096:\n        num_warps = 4\n    else:\n        num_warps = 16")),
        Variant("16_numbers_a_thread", (WARPS, "num_warps = max(4, min(32, BLOCK_N // 512))")),
        Variant("times_the_inverse", (ROW_STORE, ROW_STORE.replace("p / tl.sum(p, axis=0)", "p * (1 / tl.sum(p, axis=0))"))),
        Variant("powers_of_two", (P, "p = tl.exp2((x - tl.max(x, axis=0)) * 1.4426950408889634)")),
        Variant("loaded_twice_with_8_warps", (WARPS, "num_warps = 8"), (P, P + "\n    p = tl.exp(tl.load(x_ptr + row + offs_n, mask=mask_n, other=float('-inf')).to(tl.float32) - tl.max(x, axis=0))")),
        Variant("three_walks_over_pieces", replace="@triton.jit\ndef softmax_wide_kernel(x_ptr, y_ptr, N, BLOCK_N: tl.constexpr):\n    row = tl.program_id(axis=0).to(tl.int64) * N\n    offs_n = tl.arange(0, BLOCK_N)\n    m, l = float('-inf'), 0.0\n    for start in range(0, N, BLOCK_N):\n        x = tl.load(x_ptr + row + start + offs_n, mask=start + offs_n < N, other=float('-inf')).to(tl.float32)\n        m = tl.maximum(m, tl.max(x, axis=0))\n    for start in range(0, N, BLOCK_N):\n        x = tl.load(x_ptr + row + start + offs_n, mask=start + offs_n < N, other=float('-inf')).to(tl.float32)\n        l += tl.sum(tl.exp(x - m), axis=0)\n    for start in range(0, N, BLOCK_N):\n        x = tl.load(x_ptr + row + start + offs_n, mask=start + offs_n < N, other=float('-inf')).to(tl.float32)\n        tl.store(y_ptr + row + start + offs_n, tl.exp(x - m) / l, mask=start + offs_n < N)\n\n\ndef softmax_wide(x):\n    require_contiguous(x)\n    M, N = x.shape\n    if N > 16384:\n        raise ValueError('too wide')\n    y = torch.empty_like(x)\n    softmax_wide_kernel[(M,)](x, y, N, BLOCK_N=4096, num_warps=8)\n    return y\n\n\ndef softmax_wide_cause():\n    return \"spills\"\n"),
        Variant("two_tiles_of_half_a_row", replace='@triton.jit\ndef softmax_wide_kernel(x_ptr, y_ptr, N, HALF: tl.constexpr):\n    row = tl.program_id(axis=0).to(tl.int64) * N\n    one = tl.arange(0, HALF)\n    two = HALF + tl.arange(0, HALF)\n    a = tl.load(x_ptr + row + one, mask=one < N, other=float("-inf")).to(tl.float32)\n    b = tl.load(x_ptr + row + two, mask=two < N, other=float("-inf")).to(tl.float32)\n    top = tl.maximum(tl.max(a, axis=0), tl.max(b, axis=0))\n    a, b = tl.exp(a - top), tl.exp(b - top)\n    total = tl.sum(a, axis=0) + tl.sum(b, axis=0)\n    tl.store(y_ptr + row + one, a / total, mask=one < N)\n    tl.store(y_ptr + row + two, b / total, mask=two < N)\n\n\ndef softmax_wide(x):\n    require_contiguous(x)\n    M, N = x.shape\n    if N > 16384:\n        raise ValueError("a row has at most 16,384 columns")\n    y = torch.empty_like(x)\n    half = max(triton.next_power_of_2(N) // 2, 1)\n    softmax_wide_kernel[(M,)](x, y, N, HALF=half, num_warps=8)\n    return y\n\n\ndef softmax_wide_cause():\n    """What ailed the patient: a name of the table."""\n    return "spills"\n'),
        Variant("a_row_as_a_matrix", replace='@triton.jit\ndef softmax_wide_kernel(x_ptr, y_ptr, N, ROWS: tl.constexpr, COLS: tl.constexpr):\n    row = tl.program_id(axis=0).to(tl.int64) * N\n    offs = tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]\n    x = tl.load(x_ptr + row + offs, mask=offs < N, other=float("-inf")).to(tl.float32)\n    p = tl.exp(x - tl.max(tl.max(x, axis=1), axis=0))\n    tl.store(y_ptr + row + offs, p / tl.sum(tl.sum(p, axis=1), axis=0), mask=offs < N)\n\n\ndef softmax_wide(x):\n    require_contiguous(x)\n    M, N = x.shape\n    if N > 16384:\n        raise ValueError("a row has at most 16,384 columns")\n    y = torch.empty_like(x)\n    rows = triton.cdiv(triton.next_power_of_2(N), 512)\n    softmax_wide_kernel[(M,)](x, y, N, ROWS=rows, COLS=512, num_warps=16)\n    return y\n\n\ndef softmax_wide_cause():\n    """What ailed the patient: a name of the table."""\n    return "spills"\n'),
        Variant("a_table_of_warps", ("num_warps = max(1, min(16, BLOCK_N // 1024))", "num_warps = {16384: 16, 8192: 8, 4096: 8}.get(BLOCK_N, 4)")),
        Variant("doubled_until_it_fits", ("num_warps = max(1, min(16, BLOCK_N // 1024))", "num_warps = 4\n    while BLOCK_N // (32 * num_warps) > 64 and num_warps < 32:\n        num_warps *= 2")),
    ],
    "half_matmul": [
        Variant("added_outside", (DOT, DOT.replace("acc = tl.dot(a, b, acc)", "acc += tl.dot(a, b)"))),
        Variant("precision_named", (DOT, DOT.replace("tl.dot(a, b, acc)", 'tl.dot(a, b, acc, input_precision="ieee")'))),
        Variant("cast_back_first", (DOT, DOT.replace("tl.dot(a, b, acc)", "tl.dot(a.to(tl.float32).to(a_ptr.dtype.element_ty), b, acc)"))),
        Variant("eight_warps", (TILES, TILES.replace("BLOCK_K=32", "BLOCK_K=32, num_warps=8"))),
        Variant("deeper_tiles", (TILES, TILES.replace("BLOCK_K=32", "BLOCK_K=64"))),
        Variant("tf32_named_for_halves", (DOT, DOT.replace("tl.dot(a, b, acc)", 'tl.dot(a, b, acc, input_precision="tf32")'))),
        Variant("result_by_name", (DOT, DOT.replace("tl.dot(a, b, acc)", "tl.dot(a, b, acc, out_dtype=tl.float32)"))),
        Variant("acc_by_name", (DOT, DOT.replace("tl.dot(a, b, acc)", "tl.dot(a, b, acc=acc)"))),
        Variant("cast_at_the_store", (C_STORE, C_STORE.replace(" acc,", " acc.to(c_ptr.dtype.element_ty),"))),
        Variant("four_stages", (TILES, TILES.replace("BLOCK_K=32", "BLOCK_K=32, num_stages=4"))),
        Variant("tiles_of_128", ("tile=64)", "tile=128)"), (TILES, TILES.replace("BLOCK_K=32", "BLOCK_K=32, num_warps=8"))),
        Variant("steps_counted", ("for k in range(0, K, BLOCK_K):\n", "for step in range(tl.cdiv(K, BLOCK_K)):\n        k = step * BLOCK_K\n")),
        Variant("columns_on_the_first_axis", ("tl.program_id(axis=0) * BLOCK_M", "tl.program_id(axis=1) * BLOCK_M"), ("tl.program_id(axis=1) * BLOCK_N", "tl.program_id(axis=0) * BLOCK_N"), ("triton.cdiv(M, tile), triton.cdiv(N, tile)", "triton.cdiv(N, tile), triton.cdiv(M, tile)")),
        Variant("product_turned_round", ("acc = tl.dot(a, b, acc)", "acc += tl.trans(tl.dot(tl.trans(b), tl.trans(a)))")),
        Variant("one_axis_of_programs", ("offs_m = tl.program_id(axis=0) * BLOCK_M", "tiles_n = tl.cdiv(N, BLOCK_N)\n    offs_m = tl.program_id(axis=0) // tiles_n * BLOCK_M"), ("tl.program_id(axis=1) * BLOCK_N", "tl.program_id(axis=0) % tiles_n * BLOCK_N"), ("[(triton.cdiv(M, tile), triton.cdiv(N, tile))]", "[(triton.cdiv(M, tile) * triton.cdiv(N, tile),)]")),
        Variant("no_tf32_by_its_old_name", ("acc = tl.dot(a, b, acc)", "acc = tl.dot(a, b, acc, allow_tf32=False)")),
    ],
    "gelu_digits": [
        Variant("float32_by_name", (ROOT, FULL.replace("float64", "float32"))),
        Variant("cast_at_once", (ROOT, "root: tl.constexpr = 0.7978845608028654")),
        Variant("in_the_formula", (ROOT + "\n", "\n"), (U, U.replace("root", "0.7978845608028654"))),
        Variant("fewer_digits", (ROOT, "root = 0.7978846")),
        Variant("root_of_it", (ROOT, "root = tl.sqrt(tl.full((1,), 0.6366197723675814, dtype=tl.float32))")),
        Variant("float64_and_cast_at_once", (ROOT, FULL + "\n    root = root.to(tl.float32)")),
        Variant("an_argument", (ROOT + "\n", "\n"), ("y_ptr, n, BLOCK: tl.constexpr", "y_ptr, n, root, BLOCK: tl.constexpr"), ("(x, y, n, BLOCK=block)", "(x, y, n, (2 / torch.pi) ** 0.5, BLOCK=block)")),
        Variant("a_constant_of_the_kernel", (ROOT + "\n", "\n"), ("y_ptr, n, BLOCK: tl.constexpr", "y_ptr, n, root: tl.constexpr, BLOCK: tl.constexpr"), ("(x, y, n, BLOCK=block)", "(x, y, n, (2 / torch.pi) ** 0.5, BLOCK=block)")),
        Variant("by_sigmoid", (Y, "y = x * tl.sigmoid(2 * u)")),
        Variant("by_powers_of_two", (Y, "y = x / (1 + tl.exp2(-2.8853900817779268 * u))")),
        Variant("x_taken_out", (U, "u = root * x * (1 + 0.044715 * x * x)")),
        Variant("a_tile_of_float32", (ROOT, "root = tl.full((BLOCK,), 0.7978845608028654, dtype=tl.float32)")),
        Variant("multiplied_out", (U, "u = 0.7978845608028654 * x + 0.035677408136300125 * x * x * x"), (ROOT + "\n", "\n")),
        Variant("tanh_written_out", (Y, "t = 2 / (1 + tl.exp(-2 * u)) - 1\n    y = 0.5 * x * (1 + t)")),
        Variant("root_by_a_function", ("root = 0.7978845608028654", "root = root_of(2 / 3.141592653589793)"), ("@triton.jit", "@triton.jit\ndef root_of(value: tl.constexpr):\n    return tl.sqrt(value + tl.zeros((1,), tl.float32))\n\n\n@triton.jit")),
        Variant("a_constant_of_the_page", ("root = 0.7978845608028654\n", "\n"), ("u = root * (x + 0.044715 * x * x * x)", "u = ROOT * (x + 0.044715 * x * x * x)"), ("@triton.jit", "ROOT = tl.constexpr(0.7978845608028654)\n\n\n@triton.jit")),
        Variant("nested", ("u = root * (x + 0.044715 * x * x * x)", "u = x * (root + 0.0356774081 * (x * x))")),
        Variant("a_float32_in_memory", ("root = 0.7978845608028654", "root = tl.load(root_ptr)"), ("y_ptr, n, BLOCK: tl.constexpr", "y_ptr, root_ptr, n, BLOCK: tl.constexpr"), ("(x, y, n, BLOCK=block)", "(x, y, torch.full((1,), 0.7978845608028654, dtype=torch.float32, device=x.device), n, BLOCK=block)")),
    ],
    "lower_matmul": [
        Variant("end_by_the_tile_s_number", (END, "start, end = first, tl.minimum((tl.program_id(axis=0) + 1) * BLOCK_T, T)")),
        Variant("masked_behind_the_load", *EARLIER, (MASK_A, WHOLE), (T_DOT, WHERE)),
        Variant("diagonal_masked_behind_the_load", (MASK_A, WHOLE), (T_DOT, WHERE)),
        Variant("asks_in_the_loop", *ALL, (MASK_A, WHOLE), (T_DOT, WHERE.replace("        acc = tl.dot(a, b, acc)", "        if k < first + BLOCK_T:\n            acc = tl.dot(a, b, acc)"))),
        Variant("diagonal_first", (FULL_LOOP, ""), (END, "start, end = first, tl.minimum(first + BLOCK_T, T)"), (T_DOT, T_DOT + FULL_LOOP)),
        Variant("tiles_of_32", ("tile=64)", "tile=32)")),
        Variant("full_tiles_counted", ("for k in range(0, first, BLOCK_K):  # all of it lies below the diagonal\n", "for step in range(0, first // BLOCK_K):\n        k = step * BLOCK_K\n")),
        Variant("masks_of_a_full_product", (FULL_LOOP, FULL_LOOP.replace("mask=offs_t < T", "mask=(offs_t < T) & (offs_k < T)[None, :]").replace("mask=offs_n < N", "mask=(offs_k < T)[:, None] & (offs_n < N)"))),
        Variant("longest_first", ("first = tl.program_id(axis=0) * BLOCK_T", "first = (tl.num_programs(axis=0) - 1 - tl.program_id(axis=0)) * BLOCK_T")),
        Variant("compared_the_other_way", (MASK_A, "mask_a = (offs_t < T) & (offs_t >= offs_k[None, :])")),
        Variant("eight_warps", (T_LAUNCH, T_LAUNCH.replace("min(tile, 32)", "min(tile, 32), num_warps=8"))),
        Variant("added_outside", (FULL_LOOP, FULL_LOOP.replace("acc = tl.dot(a, b, acc)", "acc += tl.dot(a, b)"))),
        Variant("one_square_on_the_diagonal", (T_LAUNCH, T_LAUNCH.replace("min(tile, 32)", "tile"))),
        Variant("ends_without_a_minimum", (END, "start, end = first, first + BLOCK_T"), (MASK_A, MASK_A.replace("(offs_t < T)", "(offs_t < T) & (offs_k[None, :] < T)"))),
        Variant("one_loop_with_a_flag", replace='@triton.jit\ndef walk(acc, a_ptr, b_ptr, offs_t, offs_n, start, end, T, N, ON_DIAGONAL: tl.constexpr, BLOCK_K: tl.constexpr):\n    for k in range(start, end, BLOCK_K):\n        offs_k = k + tl.arange(0, BLOCK_K)\n        if ON_DIAGONAL:\n            mask_a = (offs_t < T) & (offs_k[None, :] <= offs_t)\n        else:\n            mask_a = offs_t < T\n        a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=mask_a, other=0.0)\n        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=(offs_k < T)[:, None] & (offs_n < N), other=0.0)\n        acc = tl.dot(a, b, acc)\n    return acc\n\n\n@triton.jit\ndef lower_matmul_kernel(a_ptr, b_ptr, c_ptr, T, N, BLOCK_T: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):\n    first = tl.program_id(axis=0) * BLOCK_T\n    offs_t = first + tl.arange(0, BLOCK_T)[:, None]\n    offs_n = tl.program_id(axis=1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]\n    acc = tl.zeros((BLOCK_T, BLOCK_N), dtype=tl.float32)\n    acc = walk(acc, a_ptr, b_ptr, offs_t, offs_n, 0, first, T, N, False, BLOCK_K)\n    acc = walk(acc, a_ptr, b_ptr, offs_t, offs_n, first, tl.minimum(first + BLOCK_T, T), T, N, True, BLOCK_K)\n    tl.store(c_ptr + offs_t * N + offs_n, acc, mask=(offs_t < T) & (offs_n < N))\n\n\ndef lower_matmul(a, b, tile=64):\n    require_contiguous(a, b)\n    T, N = b.shape\n    c = torch.empty_like(b)\n    lower_matmul_kernel[(triton.cdiv(T, tile), triton.cdiv(N, tile))](\n        a, b, c, T, N, BLOCK_T=tile, BLOCK_N=tile, BLOCK_K=min(tile, 32)\n    )\n    return c\n\n\ndef lower_matmul_cause():\n    """What ailed the patient: a name of the table."""\n    return "masked loop"\n'),
        Variant("columns_on_the_first_axis", ("first = tl.program_id(axis=0) * BLOCK_T", "first = tl.program_id(axis=1) * BLOCK_T"), ("offs_n = tl.program_id(axis=1) * BLOCK_N", "offs_n = tl.program_id(axis=0) * BLOCK_N"), ("(triton.cdiv(T, tile), triton.cdiv(N, tile))", "(triton.cdiv(N, tile), triton.cdiv(T, tile))")),
        Variant("two_sums", ("start, end = first, tl.minimum(first + BLOCK_T, T)", "start, end = first, tl.minimum(first + BLOCK_T, T)\n    below = acc\n    acc = tl.zeros((BLOCK_T, BLOCK_N), dtype=tl.float32)"), ("tl.store(c_ptr + offs_t * N + offs_n, acc,", "tl.store(c_ptr + offs_t * N + offs_n, acc + below,")),
        Variant("from_the_diagonal_down", ("    for k in range(0, first, BLOCK_K):  # all of it lies below the diagonal\n", "    for back in range(0, first, BLOCK_K):\n        k = first - BLOCK_K - back\n")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
IDLE = "a row of a or a column of b that is off makes one of c that is not stored"
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
        "a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=offs_t < T, other=0.0) => a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=offs_t < T)": IDLE,
        "b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=offs_n < N, other=0.0) => b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=offs_n < N)": IDLE,
        "a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=offs_t < T, other=0.0) => a = tl.load(a_ptr + offs_t * T + offs_k[None, :], mask=offs_t < T, other=1.0)": IDLE,
        "b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=offs_n < N, other=0.0) => b = tl.load(b_ptr + offs_k[:, None] * N + offs_n, mask=offs_n < N, other=1.0)": IDLE,
        "start, end = first, tl.minimum(first + BLOCK_T, T) => start, end = first, first + BLOCK_T": "the masks hold k to the rows that exist",
    },
}
