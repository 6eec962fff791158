"""Wrong answers of 90_debug with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant


def cause(right, wrong):
    return (f'return "{right}"', f'return "{wrong}"')


CENTRED = "centred = tl.where(mask_n, x - mean, 0.0)"
MEAN = "mean = tl.sum(x, axis=0) / N"
VAR = "var = tl.sum(centred * centred, axis=0) / N"
OTHER = "mask=mask_n, other=0.0).to(tl.float32)"
STORE = "tl.store(y_ptr + pid_m * N + offs_n, centred * tl.rsqrt(var + eps), mask=mask_n)"

ZERO = "    total.zero_()\n"
KEPT = """    if x.device not in TOTALS:
        TOTALS[x.device] = torch.zeros(1, dtype=torch.float32, device=x.device)
    total = TOTALS[x.device]
"""
NEW = "    total = torch.zeros(1, dtype=torch.float32, device=x.device)\n"
SQUARES = "tl.atomic_add(total_ptr, tl.sum(x * x, axis=0))"

ACC = "acc = tl.zeros((BLOCK_N,), dtype=tl.float32)"
NARROW = "acc = tl.zeros((BLOCK_N,), dtype=dy_ptr.dtype.element_ty)"
ADD = "acc += tl.load(dy_ptrs, mask=mask_n, other=0.0)"
LOOP = f"    for _ in range(M):\n        {ADD}\n        dy_ptrs += N\n"

TABLE = "offs_t = position * HALF + offs_p"
ROWS = "b, position = token // L, token % L"
X_PTRS = "x_ptrs = x_ptr + b * stride_xb + position * stride_xl + offs_p"
FIRST = "tl.store(y_ptrs, first * cos - second * sin, mask=mask_p)"

POSITIONS = """@triton.jit
def rope_rows_kernel(x_ptr, y_ptr, cos_ptr, sin_ptr, B, stride_xb, stride_xl, stride_yb, stride_yl,
                     HALF: tl.constexpr, BLOCK_P: tl.constexpr):
    position = tl.program_id(axis=0).to(tl.int64)
    offs_p = tl.arange(0, BLOCK_P)
    mask_p = offs_p < HALF
    cos = tl.load(cos_ptr + position * HALF + offs_p, mask=mask_p, other=0.0).to(tl.float32)
    sin = tl.load(sin_ptr + position * HALF + offs_p, mask=mask_p, other=0.0).to(tl.float32)
    for b in range(B):
        x_ptrs = x_ptr + b * stride_xb + position * stride_xl + offs_p
        y_ptrs = y_ptr + b * stride_yb + position * stride_yl + offs_p
        first = tl.load(x_ptrs, mask=mask_p, other=0.0).to(tl.float32)
        second = tl.load(x_ptrs + HALF, mask=mask_p, other=0.0).to(tl.float32)
        tl.store(y_ptrs, first * cos - second * sin, mask=mask_p)
        tl.store(y_ptrs + HALF, second * cos + first * sin, mask=mask_p)


def rope_rows(x, cos, sin):
    require_contiguous(cos, sin)
    B, L, D = x.shape
    if cos.shape != sin.shape or cos.shape[1] * 2 != D or cos.shape[0] < L or x.stride(2) != 1:
        raise ValueError("x must be (B, L, D), cos and sin (P, D/2) with P >= L")
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    rope_rows_kernel[(L,)](
        x, y, cos, sin, B, *x.stride()[:2], *y.stride()[:2],
        HALF=D // 2, BLOCK_P=triton.next_power_of_2(D // 2),
    )
    return y


def rope_rows_cause():
    return "index"
"""

PICK = "z = tl.load(z_ptrs, mask=target >= 0, other=0.0).to(tl.float32)"
OUT = "tl.store(out_ptr + offs_t, z, mask=mask_t)"
TARGET = "target = tl.load(targets_ptr + offs_t, mask=mask_t, other=-100)"
LATE = "z = tl.load(z_ptrs, mask=mask_t, other=0.0).to(tl.float32)"
WHERE = "tl.store(out_ptr + offs_t, tl.where(target >= 0, z, 0.0), mask=mask_t)"

MUTANTS = {
    "standardise": [
        Mutant("as_it_came_and_named", "still-ill", (CENTRED, "centred = x - mean")),
        Mutant("mended_and_not_named", "not-attempted", ('return "padding"', 'raise NotImplementedError("TODO: fill in standardise_cause")')),
        Mutant("mended_and_wrongly_named", "property", cause("padding", "cancellation")),
        Mutant("a_name_of_no_table", "property", cause("padding", "mask")),
        Mutant("capital_letter", "property", cause("padding", "Padding")),
        Mutant("name_without_quotes", "property", ('return "padding"', "return padding")),
        Mutant("zeros_taken_for_masked", "zeros-left-out", (CENTRED, CENTRED.replace("mask_n", "x != 0"))),
        Mutant("no_name_returned", "property", cause("padding", "")),
        Mutant("masked_at_the_store_alone", "still-ill", (CENTRED, "centred = x - mean"), (STORE, "y = tl.where(mask_n, centred * tl.rsqrt(var + eps), 0.0)\n    tl.store(y_ptr + pid_m * N + offs_n, y, mask=mask_n)")),
        Mutant("divided_by_the_lanes", "divided-by-the-lanes", (VAR, VAR.replace("/ N", "/ BLOCK_N"))),
        Mutant("lanes_counted_and_divided_by", "still-counted", (CENTRED, "centred = x - mean"), (VAR, VAR.replace("/ N", "/ BLOCK_N"))),
        Mutant("both_by_the_lanes", "padded-row", (CENTRED, "centred = x - mean"), (MEAN, MEAN.replace("/ N", "/ BLOCK_N")), (VAR, VAR.replace("/ N", "/ BLOCK_N"))),
        Mutant("mean_by_the_lanes", "mean-by-the-lanes", (MEAN, MEAN.replace("/ N", "/ BLOCK_N"))),
        Mutant("two_large_sums", "off-by-row", (CENTRED, "centred = x - mean"), (VAR, "var = tl.sum(x * x, axis=0) / N - mean * mean")),
        Mutant("subtracted_again", ("wrong-values", "off-by-row"), (CENTRED, "centred = x - mean"), (VAR, "var = (tl.sum(centred * centred, axis=0) - (BLOCK_N - N) * mean * mean) / N")),
        Mutant("one_less", ("one-less", "nan"), (VAR, VAR.replace("/ N", "/ (N - 1)"))),
        Mutant("other_left_out", "no-other", (OTHER, "mask=mask_n).to(tl.float32)")),
        Mutant("lanes_hold_one", ("wrong-values", "off-by-row"), (OTHER, OTHER.replace("0.0", "1.0"))),
        Mutant("where_turned_round", ("wrong-values", "off-by-row", "zeros"), (CENTRED, "centred = tl.where(mask_n, 0.0, x - mean)")),
        Mutant("mean_of_the_mask", "still-ill", (CENTRED, "centred = tl.where(mask_n, x, 0.0) - mean")),
        Mutant("no_mask_at_the_load", ("reads-outside", "wrong-values"), (f"x_ptrs, {OTHER}", "x_ptrs).to(tl.float32)")),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race", "wrong-values"), (STORE, STORE.replace(", mask=mask_n", ""))),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def standardise(x, eps=1e-5):\n    require_contiguous(x)\n    return torch.nn.functional.layer_norm(x, x.shape[1:], eps=eps)\n\n\ndef standardise_cause():\n    return 'padding'\n"),
        Mutant("blocks_that_fit", ("does-not-compile", "raised"), (CENTRED, "centred = x - mean"), ("BLOCK_N=triton.next_power_of_2(N)", "BLOCK_N=N")),
        Mutant("mask_of_the_numbers_left", ("still-ill", "reads-outside"), (CENTRED, "centred = x - mean"), ("mask_n = offs_n < N\n", "mask_n = offs_n <= N - 1\n")),
        Mutant("masked_before_the_mean", "still-ill", (CENTRED, "centred = x - mean"), (MEAN, "x = tl.where(mask_n, x, 0.0)\n    " + MEAN)),
        Mutant("masked_behind_the_variance", "still-ill", (CENTRED, "centred = x - mean"), (VAR, VAR + "\n    centred = tl.where(mask_n, centred, 0.0)")),
        Mutant("mean_by_the_lanes_in_the_centre", "wrong-values", ("centred = tl.where(mask_n, x - mean, 0.0)", "centred = tl.where(mask_n, x, mean) - tl.sum(x, axis=0) / BLOCK_N")),
        Mutant("eps_outside_the_root", "off-by-row", ("centred * tl.rsqrt(var + eps)", "centred / (tl.sqrt(var) + eps)")),
        Mutant("no_root", "off-by-row", ("centred * tl.rsqrt(var + eps)", "centred / (var + eps)")),
        Mutant("eps_left_out", ("unused-input", "off-by-row"), ("centred * tl.rsqrt(var + eps)", "centred * tl.rsqrt(var)")),
        Mutant("one_lane_too_many", "out-of-bounds-store", ("mask_n = offs_n < N", "mask_n = offs_n <= N")),
        Mutant("numbers_that_are_not_0_counted", "numbers-that-are-not-0-counted", ("var = tl.sum(centred * centred, axis=0) / N", "var = tl.sum(centred * centred, axis=0) / tl.sum(tl.where(x != 0, 1.0, 0.0), axis=0)")),
        Mutant("squares_of_x", "off-by-row", ("centred = tl.where(mask_n, x - mean, 0.0)", "centred = x - mean"), ("var = tl.sum(centred * centred, axis=0) / N", "var = tl.sum(tl.where(mask_n, x * x, 0.0), axis=0) / N")),
        Mutant("padded_with_a_guess_of_the_mean", "wrong-values", ("centred = tl.where(mask_n, x - mean, 0.0)", "centred = x - mean"), ("other=0.0", "other=3.0")),
        Mutant("grid_named", "property", ("return \"padding\"", "return \"grid\"")),
    ],
    "square_sum": [
        Mutant("as_it_came_and_named", ("property", "second-call"), (ZERO, "")),
        Mutant("mended_and_not_named", "not-attempted", ('return "stale buffer"', 'raise NotImplementedError("TODO: fill in square_sum_cause")')),
        Mutant("mended_and_wrongly_named", "property", cause("stale buffer", "uninitialised")),
        Mutant("times_0", "property", ("total.zero_()", "total *= 0")),
        Mutant("multiplied_in_place", "property", ("total.zero_()", "total.mul_(0)")),
        Mutant("race_named", "property", cause("stale buffer", "race")),
        Mutant("zeroed_after_the_launch", "cleared-at-the-end", (ZERO, ""), ("    return total.clone()", "    total.zero_()\n    return total.clone()")),
        Mutant("zeroed_at_the_first_call", ("property", "second-call"), (ZERO, ""), ("device=x.device)\n    total", "device=x.device)\n        TOTALS[x.device].zero_()\n    total")),
        Mutant("zeroed_by_every_program", "last-block-only", (ZERO, ""), ("    tl.atomic_add(", "    tl.store(total_ptr, 0.0)\n    tl.atomic_add("), on_gpu=("wrong-values",)),
        Mutant("zeroed_by_program_0", "property", (ZERO, ""), ("    tl.atomic_add(", "    if tl.program_id(axis=0) == 0:\n        tl.store(total_ptr, 0.0)\n    tl.atomic_add(")),
        Mutant("empty_instead", ("reads-unwritten", "property", "unwritten", "nan", "wrong-values"), (KEPT, NEW.replace("zeros", "empty")), (ZERO, "")),
        Mutant("stored_instead", ("property", "race", "last-block-only"), (SQUARES, SQUARES.replace("atomic_add", "store"))),
        Mutant("kept_by_size", ("property", "second-call"), (KEPT, KEPT.replace("x.device not in", "(x.device, x.numel()) not in").replace("TOTALS[x.device]", "TOTALS[x.device, x.numel()]")), (ZERO, "")),
        Mutant("first_sum_taken_off", ("property", "second-call", "wrong-values", "torch-compute"), (ZERO, ""), ("total.clone()", "total.clone() / 2")),
        Mutant("result_is_the_buffer", "property", ("return total.clone()", "return total")),
        Mutant("not_squared", "not-squared", (SQUARES, SQUARES.replace("x * x", "x"))),
        Mutant("root", ("root-taken", "torch-compute"), ("total.clone()", "total.clone().sqrt()")),
        Mutant("squared_in_half", "squared-in-half", ("other=0.0).to(tl.float32)", "other=0.0)")),
        Mutant("last_block_left_out", ("wrong-values", "first-block-only", "zeros", "unwritten-tail"), ("triton.cdiv(x.numel(), block)", "x.numel() // block")),
        Mutant("one_program", ("first-block-only", "wrong-values"), ("grid = (triton.cdiv(x.numel(), block),)", "grid = (1,)")),
        Mutant("no_mask", ("reads-outside", "nan", "wrong-values"), ("mask=offs < n, other=0.0", "")),
        Mutant("answer_kept", "no-kernel-launched", (ZERO, ""), (KEPT, "    if 'answer' in TOTALS:\n        return TOTALS['answer']\n" + NEW), ("return total.clone()", "TOTALS['answer'] = total.clone()\n    return TOTALS['answer']")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def square_sum(x, block=1024):\n    require_contiguous(x)\n    return x.float().pow(2).sum().reshape(1)\n\n\ndef square_sum_cause():\n    return 'stale buffer'\n"),
        Mutant("less_itself", "property", ("    total.zero_()\n", "    total.sub_(total)\n")),
        Mutant("a_copy_is_cleared", "property", ("    total.zero_()\n", "    total.clone().zero_()\n")),
        Mutant("x_is_cleared", "input-changed", ("    total.zero_()\n", "    x.zero_()\n")),
        Mutant("cleared_by_the_last_program", "property", ("    total.zero_()\n", ""), ("    tl.atomic_add(total_ptr, tl.sum(x * x, axis=0))", "    tl.atomic_add(total_ptr, tl.sum(x * x, axis=0))\n    if tl.program_id(axis=0) == tl.num_programs(axis=0) - 1:\n        tl.store(total_ptr, 0.0)")),
        Mutant("kept_by_a_default", "property", ("    if x.device not in TOTALS:\n        TOTALS[x.device] = torch.zeros(1, dtype=torch.float32, device=x.device)\n    total = TOTALS[x.device]\n", ""), ("    total.zero_()\n", ""), ("def square_sum(x, block=1024):", "def square_sum(x, block=1024, total=torch.zeros(1)):")),
        Mutant("whole_numbers", "wrong-dtype", ("dtype=torch.float32", "dtype=torch.int32")),
        Mutant("a_number_returned", "wrong-type", ("return total.clone()", "return total.item()")),
        Mutant("kept_by_functools", "property", ("    if x.device not in TOTALS:\n        TOTALS[x.device] = torch.zeros(1, dtype=torch.float32, device=x.device)\n    total = TOTALS[x.device]\n", "    total = _total(x.device)\n"), ("    total.zero_()\n", ""), ("TOTALS = {}", "import functools\n\n\n@functools.cache\ndef _total(device):\n    return torch.zeros(1, dtype=torch.float32, device=device)\n\n\nTOTALS = {}")),
        Mutant("sizes_in_place_of_squares", "wrong-values", ("tl.sum(x * x, axis=0)", "tl.sum(tl.abs(x), axis=0)")),
        Mutant("changed_input_named", "property", ("return \"stale buffer\"", "return \"changed input\"")),
    ],
    "bias_gradient": [
        Mutant("as_it_came_and_named", "still-ill", (ACC, NARROW)),
        Mutant("mended_and_not_named", "not-attempted", ('return "narrow sum"', 'raise NotImplementedError("TODO: fill in bias_gradient_cause")')),
        Mutant("mended_and_wrongly_named", "property", cause("narrow sum", "overflow")),
        Mutant("cancellation_named", "property", cause("narrow sum", "cancellation")),
        Mutant("cast_of_each_row_alone", ("still-ill", "does-not-compile", "wrong-values", "raised"), (ACC, NARROW), (ADD, "acc += tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32).to(dy_ptr.dtype.element_ty)")),
        Mutant("wide_rows_in_a_narrow_sum", "does-not-compile", (ACC, NARROW), (ADD, "acc += tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)")),
        Mutant("sum_cast_back_each_time", "still-ill", (ADD, "acc = (acc + tl.load(dy_ptrs, mask=mask_n, other=0.0)).to(dy_ptr.dtype.element_ty).to(tl.float32)")),
        Mutant("wide_at_the_store", "still-ill", (ACC, NARROW), ("offs_n, acc, mask", "offs_n, acc.to(tl.float32), mask")),
        Mutant("wide_result", ("wrong-dtype", "still-ill"), ("dtype=dy.dtype", "dtype=torch.float32")),
        Mutant("always_float16", ("still-ill", "wrong-values"), (ACC, ACC.replace("float32", "float16"))),
        Mutant("bfloat16", ("still-ill", "wrong-values"), (ACC, ACC.replace("float32", "bfloat16"))),
        Mutant("begins_at_one", ("wrong-values", "constant-summand"), (ACC, "acc = tl.full((BLOCK_N,), 1.0, dtype=tl.float32)")),
        Mutant("last_row_only", "last-row-only", (ADD, ADD.replace("+=", "="))),
        Mutant("first_row_again", "first-row-again", ("        dy_ptrs += N\n", "")),
        Mutant("last_row_left_out", ("last-row-left-out", "wrong-values"), ("range(M)", "range(M - 1)")),
        Mutant("by_columns", ("wrong-values", "reads-outside"), ("dy_ptrs += N", "dy_ptrs += M")),
        Mutant("no_mask_at_the_load", "reads-outside", (ADD, "acc += tl.load(dy_ptrs)"), only="interpreter"),
        Mutant("one_program", ("unwritten-tail", "unwritten"), ("(triton.cdiv(N, block),)", "(1,)")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def bias_gradient(dy, block=64):\n    require_contiguous(dy)\n    return dy.float().sum(0).to(dy.dtype)\n\n\ndef bias_gradient_cause():\n    return 'narrow sum'\n"),
        Mutant("kept_in_db", ("still-ill", "wrong-values", "not-repeatable", "reads-unwritten"), (ACC, "tl.store(db_ptr + offs_n, tl.zeros((BLOCK_N,), dtype=tl.float32), mask=mask_n)\n    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)"), (ADD, "acc = tl.load(db_ptr + offs_n, mask=mask_n, other=0.0) + tl.load(dy_ptrs, mask=mask_n, other=0.0)\n        tl.store(db_ptr + offs_n, acc, mask=mask_n)")),
        Mutant("dtype_of_the_result", "still-ill", (ACC, NARROW.replace("dy_ptr", "db_ptr"))),
        Mutant("cast_of_dy_by_torch", "torch-compute", (ACC, NARROW), ("    db = torch.empty(N, dtype=dy.dtype", "    kept, dy = dy.dtype, dy.float()\n    db = torch.empty(N, dtype=kept")),
        Mutant("tiles_summed_in_half", "still-ill", replace='@triton.jit\ndef bias_gradient_kernel(dy_ptr, db_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):\n    offs_n = tl.program_id(axis=0) * BLOCK_N + tl.arange(0, BLOCK_N)\n    mask_n = offs_n < N\n    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)\n    for start in range(0, M, BLOCK_M):\n        offs_m = start + tl.arange(0, BLOCK_M)\n        dy = tl.load(dy_ptr + offs_m[:, None] * N + offs_n[None, :], mask=(offs_m < M)[:, None] & mask_n[None, :], other=0.0)\n        acc += tl.sum(dy, axis=0)\n    tl.store(db_ptr + offs_n, acc, mask=mask_n)\n\n\ndef bias_gradient(dy, block=64):\n    require_contiguous(dy)\n    M, N = dy.shape\n    db = torch.empty(N, dtype=dy.dtype, device=dy.device)\n    bias_gradient_kernel[(triton.cdiv(N, block),)](dy, db, M, N, BLOCK_M=512, BLOCK_N=block)\n    return db\n\n\ndef bias_gradient_cause():\n    """What ailed the patient: a name of the table."""\n    return "narrow sum"\n'),
        Mutant("whole_numbers", "wrong-values", ("acc = tl.zeros((BLOCK_N,), dtype=tl.float32)", "acc = tl.zeros((BLOCK_N,), dtype=tl.int32)"), ("acc += tl.load(dy_ptrs, mask=mask_n, other=0.0)", "acc += tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.int32)")),
        Mutant("added_wide_and_kept_narrow", "still-ill", ("acc = tl.zeros((BLOCK_N,), dtype=tl.float32)", "acc = tl.zeros((BLOCK_N,), dtype=dy_ptr.dtype.element_ty)"), ("acc += tl.load(dy_ptrs, mask=mask_n, other=0.0)", "acc = (acc.to(tl.float32) + tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)).to(dy_ptr.dtype.element_ty)")),
        Mutant("steps_of_a_block", "wrong-values", ("dy_ptrs += N", "dy_ptrs += BLOCK_N")),
        Mutant("mask_of_the_rows", "unwritten-tail", ("mask_n = offs_n < N", "mask_n = offs_n < M")),
        Mutant("columns_overlap", "race", ("tl.program_id(axis=0) * BLOCK_N", "tl.program_id(axis=0)")),
        Mutant("mean", "mean-of-the-rows", ("offs_n, acc, mask", "offs_n, acc / M, mask")),
        Mutant("one_row_less", "last-row-left-out", ("range(M)", "range(1, M)")),
        Mutant("largest_row", "wrong-values", ("acc += tl.load(dy_ptrs, mask=mask_n, other=0.0)", "acc = tl.maximum(acc, tl.load(dy_ptrs, mask=mask_n, other=0.0))")),
        Mutant("race_named", "property", ("return \"narrow sum\"", "return \"race\"")),
    ],
    "rope_rows": [
        Mutant("as_it_came_and_named", "still-ill", (TABLE, TABLE.replace("position", "token"))),
        Mutant("mended_and_not_named", "not-attempted", ('return "index"', 'raise NotImplementedError("TODO: fill in rope_rows_cause")')),
        Mutant("mended_and_wrongly_named", "property", cause("index", "stride")),
        Mutant("grid_named", "property", cause("index", "grid")),
        Mutant("prompt_for_position", "prompt-for-position", (TABLE, TABLE.replace("position", "b"))),
        Mutant("prompt_added", "prompt-added", (TABLE, TABLE.replace("position", "(b + position)"))),
        Mutant("first_position", "one-position", (TABLE, "offs_t = offs_p")),
        Mutant("one_too_far", ("one-too-far", "reads-outside"), (TABLE, TABLE.replace("position", "(position + 1)"))),
        Mutant("row_of_one_number", "table-by-single-numbers", (TABLE, "offs_t = position + offs_p")),
        Mutant("row_of_x", "table-by-the-row-of-x", (TABLE, "offs_t = position * 2 * HALF + offs_p")),
        Mutant("stride_of_x", ("table-by-the-row-of-x", "strided-only"), (TABLE, "offs_t = position * stride_xl + offs_p")),
        Mutant("row_of_the_length", "table-by-the-length", (TABLE, "offs_t = position * L + offs_p")),
        Mutant("row_of_the_lanes", "table-by-the-lanes", (TABLE, "offs_t = position * BLOCK_P + offs_p")),
        Mutant("other_prompts_at_0", "others-at-0", (TABLE, "offs_t = tl.where(token < L, token, 0) * HALF + offs_p")),
        Mutant("swapped_quotient", ("wrong-values", "out-of-bounds-store", "reads-outside", "race"), (ROWS, "position, b = token // L, token % L")),
        Mutant("modulo_of_the_batch", ("still-ill", "prompt-for-position", "wrong-values"), (TABLE, "offs_t = (token % (token // L + 1)) * HALF + offs_p")),
        Mutant("x_by_the_token", ("reads-outside", "wrong-values", "strided-only"), (X_PTRS, X_PTRS.replace("position", "token"))),
        Mutant("x_strides_for_y", ("strided-only", "out-of-bounds-store"), ("*x.stride()[:2], *y.stride()[:2]", "*x.stride()[:2], *x.stride()[:2]")),
        Mutant("turned_back", "turned-back", (FIRST, FIRST.replace("-", "+")), ("second * cos + first * sin", "second * cos - first * sin")),
        Mutant("one_prompt_only", ("unwritten-tail", "unwritten"), ("[(B * L,)]", "[(L,)]")),
        Mutant("refuses_a_batch", ("raised",), ("    y = torch.empty(x.shape", "    if B > 1:\n        raise ValueError('one prompt at a time')\n    y = torch.empty(x.shape")),
        Mutant("table_too_short_is_let_in", ("should-raise", "reads-outside"), (" or cos.shape[0] < L", "")),
        Mutant("one_by_one_by_torch", ("torch-compute", "wrong-launch-count"), ("    rope_rows_kernel[(B * L,)](\n        x, y, cos, sin, L,", "    cos, sin = torch.cat([cos[:L]] * max(B, 1)), torch.cat([sin[:L]] * max(B, 1))\n    rope_rows_kernel[(B * L,)](\n        x, y, cos, sin, L,"), (TABLE, TABLE.replace("position", "token"))),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def rope_rows(x, cos, sin):\n    L = x.shape[1]\n    if cos.shape[1] * 2 != x.shape[2] or cos.shape[0] < L:\n        raise ValueError('sizes')\n    a, b = x.chunk(2, -1)\n    c, s = cos[:L], sin[:L]\n    return torch.cat((a * c - b * s, b * c + a * s), -1)\n\n\ndef rope_rows_cause():\n    return 'index'\n"),
        Mutant("modulo_of_the_table", ("still-ill", "wrong-values", "prompt-added", "reads-outside"), (TABLE, "offs_t = token * HALF % (HALF * 16) + offs_p")),
        Mutant("tables_for_all_prompts_asked_for", "still-ill", (TABLE, TABLE.replace("position", "token")), ("cos.shape[0] < L or", "cos.shape[0] < B * L or")),
        Mutant("cos_alone_mended", "sin-still-ill", ("tl.load(sin_ptr + offs_t", "tl.load(sin_ptr + token * HALF + offs_p")),
        Mutant("sin_alone_mended", "cos-still-ill", ("tl.load(cos_ptr + offs_t", "tl.load(cos_ptr + token * HALF + offs_p")),
        Mutant("remainder_of_the_tables_length", "still-ill", ("    L,\n    stride_xb", "    L, P,\n    stride_xb"), ("offs_t = position * HALF + offs_p", "offs_t = token % P * HALF + offs_p"), ("x, y, cos, sin, L, *", "x, y, cos, sin, L, cos.shape[0], *")),
        Mutant("prompt_by_division", "prompt-for-position", ("offs_t = position * HALF + offs_p", "offs_t = token // L * HALF + offs_p")),
        Mutant("mask_of_the_whole_row", "out-of-bounds-store", ("mask_p = offs_p < HALF", "mask_p = offs_p < HALF * 2")),
        Mutant("pairs_side_by_side", "unwritten-tail", ("y_ptrs + HALF", "y_ptrs + 1")),
        Mutant("from_the_last_position", "wrong-values", ("offs_t = position * HALF + offs_p", "offs_t = (L - 1 - position) * HALF + offs_p")),
        Mutant("cos_and_sin_swapped", "wrong-values", ("x, y, cos, sin, L", "x, y, sin, cos, L")),
        Mutant("turned_where_it_lies", "input-changed", ("y = torch.empty(x.shape, dtype=x.dtype, device=x.device)", "y = x")),
        Mutant("padding_named", "property", ("return \"index\"", "return \"padding\"")),
    ],
    "picked_logits": [
        Mutant("as_it_came_and_named", "reads-outside", (PICK, LATE), (OUT, WHERE), only="interpreter"),
        Mutant("mended_and_not_named", "not-attempted", ('return "guard too late"', 'raise NotImplementedError("TODO: fill in picked_logits_cause")')),
        Mutant("mended_and_wrongly_named", "property", cause("guard too late", "padding")),
        Mutant("uninitialised_named", "property", cause("guard too late", "uninitialised")),
        Mutant("address_moved_to_the_row_before", ("reads-outside", "last-word-instead"), (PICK, LATE.replace("z_ptrs", "tl.where(target >= 0, z_ptrs, z_ptrs + 99)")), (OUT, WHERE), only="interpreter"),
        Mutant("mask_of_both_or", "reads-outside", (PICK, PICK.replace("target >= 0", "mask_t | (target >= 0)")), (OUT, WHERE), only="interpreter"),
        Mutant("minus_100_alone", "reads-outside", (PICK, PICK.replace("target >= 0", "mask_t & (target != -100)")), only="interpreter"),
        Mutant("word_0_not_taken", "word-0-skipped", (PICK, PICK.replace(">= 0", "> 0"))),
        Mutant("clamped_alone", "word-0-instead", (PICK, "z = tl.load(z_ptr + offs_t * V + tl.maximum(target, 0), mask=mask_t, other=0.0).to(tl.float32)")),
        Mutant("other_left_out", "no-other", (PICK, PICK.replace(", other=0.0", ""))),
        Mutant("other_is_one", "other-is-1", (PICK, PICK.replace("other=0.0", "other=1.0"))),
        Mutant("other_is_infinite", "other-is-infinite", (PICK, PICK.replace("other=0.0", 'other=float("-inf")'))),
        Mutant("python_like_last_word", "last-word-instead", (PICK, "z = tl.load(z_ptr + offs_t * V + tl.where(target < 0, V - 1, target), mask=mask_t, other=0.0).to(tl.float32)")),
        Mutant("turned_round", ("zeros", "only-the-skipped", "reads-outside"), (PICK, PICK.replace(">= 0", "< 0")), only="interpreter"),
        Mutant("no_store_mask", ("out-of-bounds-store",), (OUT, "tl.store(out_ptr + offs_t, z)")),
        Mutant("targets_unmasked", ("reads-outside",), (TARGET, "target = tl.load(targets_ptr + offs_t)"), only="interpreter"),
        Mutant("always_zero", ("zeros", "wrong-values", "only-the-skipped"), (PICK, PICK.replace(">= 0", ">= V"))),
        Mutant("stored_in_half", ("wrong-dtype",), ("dtype=torch.float32", "dtype=z.dtype")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def picked_logits(z, targets, block=16):\n    require_contiguous(z, targets)\n    found = z.gather(1, targets.clamp_min(0)[:, None])[:, 0].float()\n    return torch.where(targets >= 0, found, 0.0)\n\n\ndef picked_logits_cause():\n    return 'guard too late'\n"),
        Mutant("masked_targets_of_0", "reads-outside", (TARGET, TARGET.replace("-100", "0")), only="interpreter"),
        Mutant("size_of_the_target", ("reads-outside", "wrong-values"), (PICK, "z = tl.load(z_ptr + offs_t * V + tl.abs(target), mask=mask_t, other=0.0).to(tl.float32)"), (OUT, WHERE), only="interpreter"),
        Mutant("modulo_like_python", ("last-word-instead", "wrong-values", "reads-outside"), (PICK, "z = tl.load(z_ptr + offs_t * V + (target + V) % V, mask=mask_t, other=0.0).to(tl.float32)"), (OUT, WHERE), only="interpreter"),
        Mutant("upper_end_alone", "reads-outside", ("z = tl.load(z_ptrs, mask=target >= 0, other=0.0).to(tl.float32)", "z = tl.load(z_ptrs, mask=mask_t & (target < V), other=0.0).to(tl.float32)"), only="interpreter"),
        Mutant("minus_1_alone", "reads-outside", ("z = tl.load(z_ptrs, mask=target >= 0, other=0.0).to(tl.float32)", "z = tl.load(z_ptrs, mask=mask_t & (target != -1), other=0.0).to(tl.float32)"), only="interpreter"),
        Mutant("masked_at_the_store_too", "unwritten", ("tl.store(out_ptr + offs_t, z, mask=mask_t)", "tl.store(out_ptr + offs_t, z, mask=mask_t & (target >= 0))")),
        Mutant("address_not_negative", "rows-before", ("z = tl.load(z_ptrs, mask=target >= 0, other=0.0).to(tl.float32)", "z = tl.load(z_ptrs, mask=mask_t & (offs_t * V + target >= 0), other=0.0).to(tl.float32)")),
        Mutant("other_is_nan", "property", ("z = tl.load(z_ptrs, mask=target >= 0, other=0.0).to(tl.float32)", "z = tl.load(z_ptrs, mask=target >= 0, other=float(\"nan\")).to(tl.float32)")),
        Mutant("rows_of_t_words", "wrong-tail", ("z_ptrs = z_ptr + offs_t * V + target", "z_ptrs = z_ptr + offs_t * T + target")),
        Mutant("row_forgotten", "wrong-tail", ("z_ptrs = z_ptr + offs_t * V + target", "z_ptrs = z_ptr + target")),
        Mutant("clamped_by_torch", "torch-compute", ("    T, V = z.shape\n", "    T, V = z.shape\n    targets = targets.clamp_min(0)\n")),
        Mutant("index_named", "property", ("return \"guard too late\"", "return \"index\"")),
    ],
}

VARIANTS = {
    "standardise": [
        Variant("times_the_mask", (CENTRED, "centred = (x - mean) * mask_n")),
        Variant("squares_masked", (CENTRED, "centred = x - mean"), (VAR, "var = tl.sum(tl.where(mask_n, centred * centred, 0.0), axis=0) / N")),
        Variant("mean_in_masked_lanes", (CENTRED, "centred = tl.where(mask_n, x, mean) - mean")),
        Variant("loaded_again", (CENTRED, "centred = tl.load(x_ptr + pid_m * N + offs_n, mask=mask_n, other=mean).to(tl.float32) - mean")),
        Variant("by_a_walk", replace="@triton.jit\ndef standardise_kernel(x_ptr, y_ptr, N, eps, BLOCK_N: tl.constexpr):\n    row = tl.program_id(axis=0).to(tl.int64) * N\n    total = 0.0\n    for start in range(0, N, BLOCK_N):\n        offs = start + tl.arange(0, BLOCK_N)\n        total += tl.sum(tl.load(x_ptr + row + offs, mask=offs < N, other=0.0).to(tl.float32), axis=0)\n    mean = total / N\n    squares = 0.0\n    for start in range(0, N, BLOCK_N):\n        offs = start + tl.arange(0, BLOCK_N)\n        d = tl.load(x_ptr + row + offs, mask=offs < N, other=0.0).to(tl.float32) - mean\n        squares += tl.sum(tl.where(offs < N, d * d, 0.0), axis=0)\n    rstd = tl.rsqrt(squares / N + eps)\n    for start in range(0, N, BLOCK_N):\n        offs = start + tl.arange(0, BLOCK_N)\n        d = tl.load(x_ptr + row + offs, mask=offs < N, other=0.0).to(tl.float32) - mean\n        tl.store(y_ptr + row + offs, d * rstd, mask=offs < N)\n\n\ndef standardise(x, eps=1e-5):\n    require_contiguous(x)\n    M, N = x.shape\n    y = torch.empty_like(x)\n    standardise_kernel[(M,)](x, y, N, eps, BLOCK_N=32)\n    return y\n\n\ndef standardise_cause():\n    return \"padding\"\n"),
        Variant("mask_as_numbers", (CENTRED, "centred = (x - mean) * mask_n.to(tl.float32)")),
        Variant("mean_taken_off_where_it_counts", (CENTRED, "centred = x - tl.where(mask_n, mean, 0.0)")),
        Variant("squares_times_the_mask", (CENTRED, "centred = x - mean"), (VAR, "var = tl.sum(centred * centred * mask_n, axis=0) / N")),
        Variant("condition_turned_round", (CENTRED, "centred = tl.where(offs_n >= N, 0.0, x - mean)")),
        Variant("two_lines", (CENTRED, "centred = x - mean\n    centred = tl.where(mask_n, centred, 0.0)")),
        Variant("name_of_its_own", (CENTRED, "centred = x - mean\n    counted = tl.where(mask_n, centred, 0.0)"), (VAR, "var = tl.sum(counted * counted, axis=0) / N")),
        Variant("one_factor_masked", (CENTRED, "centred = x - mean"), (VAR, "var = tl.sum(tl.where(mask_n, centred, 0.0) * centred, axis=0) / N")),
        Variant("moments_about_the_first_number", ("centred = tl.where(mask_n, x - mean, 0.0)", "pivot = tl.sum(tl.where(offs_n == 0, x, 0.0), axis=0)\n    moved = tl.where(mask_n, x - pivot, 0.0)\n    centred = x - mean"), ("var = tl.sum(centred * centred, axis=0) / N", "off = tl.sum(moved, axis=0) / N\n    var = tl.sum(moved * moved, axis=0) / N - off * off")),
        Variant("times_one_over_n", ("x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)", "x = tl.load(x_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n    inverse = 1.0 / N"), ("mean = tl.sum(x, axis=0) / N", "mean = tl.sum(x * inverse, axis=0)"), ("var = tl.sum(centred * centred, axis=0) / N", "var = tl.sum(centred * centred * inverse, axis=0)")),
        Variant("divided_by_the_root", ("centred * tl.rsqrt(var + eps)", "centred / tl.sqrt(var + eps)")),
        Variant("last_row_first", ("pid_m = tl.program_id(axis=0).to(tl.int64)", "pid_m = tl.num_programs(axis=0).to(tl.int64) - 1 - tl.program_id(axis=0)")),
    ],
    "square_sum": [
        Variant("new_each_time", (KEPT, NEW), (ZERO, "")),
        Variant("zeroed_behind", (ZERO, ""), ("    return total.clone()", "    found = total.clone()\n    total.zero_()\n    return found"), (KEPT, KEPT.replace("TOTALS", "OWN")), ("TOTALS = {}", "OWN = {}")),
        Variant("element_set_to_0", ("total.zero_()", "total[0] = 0")),
        Variant("thrown_away_behind", (ZERO, ""), ("    return total.clone()", "    return TOTALS.pop(x.device)")),
        Variant("filled", ("total.zero_()", "total.fill_(0.0)")),
        Variant("returned_itself", (KEPT, NEW), (ZERO, ""), ("total.clone()", "total")),
        Variant("always_zeros_like", (ZERO, "    total = torch.zeros_like(total)\n")),
        Variant("one_program_walks", replace="@triton.jit\ndef square_sum_kernel(x_ptr, total_ptr, n, BLOCK: tl.constexpr):\n    total = 0.0\n    for start in range(0, n, BLOCK):\n        offs = start + tl.arange(0, BLOCK)\n        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)\n        total += tl.sum(x * x, axis=0)\n    tl.store(total_ptr, total)\n\n\ndef square_sum(x, block=1024):\n    require_contiguous(x)\n    total = torch.empty(1, dtype=torch.float32, device=x.device)\n    square_sum_kernel[(1,)](x, total, x.numel(), BLOCK=block)\n    return total\n\n\ndef square_sum_cause():\n    return \"stale buffer\"\n"),
        Variant("forgotten_before", (KEPT, "    TOTALS.clear()\n" + KEPT), (ZERO, "")),
        Variant("empty_and_then_zeroed", (KEPT, NEW.replace("torch.zeros(1, dtype=torch.float32, device=x.device)", "torch.empty(1, dtype=torch.float32, device=x.device).zero_()")), (ZERO, "")),
        Variant("popped_and_copied", ("    total.zero_()\n", ""), ("    return total.clone()", "    return TOTALS.pop(x.device).clone()")),
        Variant("set_by_a_slice", ("    total.zero_()\n", "    total[:] = 0\n")),
        Variant("a_kernel_that_clears", ("    total.zero_()\n", "    zero_kernel[(1,)](total)\n"), ("TOTALS = {}", "@triton.jit\ndef zero_kernel(total_ptr):\n    tl.store(total_ptr, 0.0)\n\n\nTOTALS = {}")),
        Variant("parts_and_a_second_kernel", replace='@triton.jit\ndef square_parts_kernel(x_ptr, parts_ptr, n, BLOCK: tl.constexpr):\n    pid = tl.program_id(axis=0)\n    offs = pid.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)\n    tl.store(parts_ptr + pid, tl.sum(x * x, axis=0))\n\n\n@triton.jit\ndef join_kernel(parts_ptr, total_ptr, count, BLOCK: tl.constexpr):\n    total = 0.0\n    for start in range(0, count, BLOCK):\n        offs = start + tl.arange(0, BLOCK)\n        total += tl.sum(tl.load(parts_ptr + offs, mask=offs < count, other=0.0), axis=0)\n    tl.store(total_ptr, total)\n\n\ndef square_sum(x, block=1024):\n    require_contiguous(x)\n    count = triton.cdiv(x.numel(), block)\n    parts = torch.empty(max(count, 1), dtype=torch.float32, device=x.device)\n    total = torch.empty(1, dtype=torch.float32, device=x.device)\n    if count:\n        square_parts_kernel[(count,)](x, parts, x.numel(), BLOCK=block)\n    join_kernel[(1,)](parts, total, count, BLOCK=64)\n    return total\n\n\ndef square_sum_cause():\n    """What ailed the patient: a name of the table."""\n    return "stale buffer"\n'),
        Variant("made_anew_for_the_next_call", ("    total.zero_()\n", "    TOTALS[x.device] = torch.zeros(1, dtype=torch.float32, device=x.device)\n")),
    ],
    "bias_gradient": [
        Variant("cast_too", (ADD, "acc += tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)")),
        Variant("cast_back_at_the_store", ("offs_n, acc, mask", "offs_n, acc.to(dy_ptr.dtype.element_ty), mask")),
        Variant("float64", (ACC, ACC.replace("float32", "float64"))),
        Variant("begins_with_the_pointer", (ACC, "acc = tl.full((BLOCK_N,), 0, dtype=tl.float32)")),
        Variant("tiles_of_rows", replace="@triton.jit\ndef bias_gradient_kernel(dy_ptr, db_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):\n    offs_n = tl.program_id(axis=0) * BLOCK_N + tl.arange(0, BLOCK_N)\n    mask_n = offs_n < N\n    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)\n    for start in range(0, M, BLOCK_M):\n        offs_m = start + tl.arange(0, BLOCK_M)\n        mask = (offs_m[:, None] < M) & mask_n[None, :]\n        dy = tl.load(dy_ptr + offs_m[:, None] * N + offs_n[None, :], mask=mask, other=0.0)\n        acc += tl.sum(dy.to(tl.float32), axis=0)\n    tl.store(db_ptr + offs_n, acc, mask=mask_n)\n\n\ndef bias_gradient(dy, block=64):\n    require_contiguous(dy)\n    M, N = dy.shape\n    db = torch.empty(N, dtype=dy.dtype, device=dy.device)\n    bias_gradient_kernel[(triton.cdiv(N, block),)](dy, db, M, N, BLOCK_M=32, BLOCK_N=block)\n    return db\n\n\ndef bias_gradient_cause():\n    return \"narrow sum\"\n"),
        Variant("a_list_for_the_shape", (ACC, "acc = tl.zeros([BLOCK_N], tl.float32)")),
        Variant("sum_written_out", (ADD, "acc = acc + tl.load(dy_ptrs, mask=mask_n, other=0.0)")),
        Variant("row_named", (LOOP, "    for row in range(0, M):\n        acc += tl.load(dy_ptr + row * N + offs_n, mask=mask_n, other=0.0).to(tl.float32)\n")),
        Variant("blocks_of_128", ("block=64)", "block=128)")),
        Variant("two_sums", (ACC, ACC + "\n    odd = tl.zeros((BLOCK_N,), dtype=tl.float32)"), (LOOP, "    for row in range(M):\n        dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n        acc += tl.where(row % 2 == 0, dy, 0.0)\n        odd += tl.where(row % 2 == 1, dy, 0.0)\n        dy_ptrs += N\n    acc += odd\n")),
        Variant("mask_by_the_row", (ADD, "acc += tl.load(dy_ptrs, mask=offs_n < N, other=0)")),
        Variant("two_rows_at_once", ("    for _ in range(M):\n        acc += tl.load(dy_ptrs, mask=mask_n, other=0.0)\n        dy_ptrs += N\n", "    for start in range(0, M, 2):\n        one = tl.load(dy_ptr + start * N + offs_n, mask=mask_n, other=0.0).to(tl.float32)\n        two = tl.load(dy_ptr + (start + 1) * N + offs_n, mask=mask_n & (start + 1 < M), other=0.0).to(tl.float32)\n        acc += one + two\n")),
        Variant("lost_digits_kept", ("    for _ in range(M):\n        acc += tl.load(dy_ptrs, mask=mask_n, other=0.0)\n        dy_ptrs += N\n", "    lost = tl.zeros((BLOCK_N,), dtype=tl.float32)\n    for _ in range(M):\n        add = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32) - lost\n        new = acc + add\n        lost = (new - acc) - add\n        acc = new\n        dy_ptrs += N\n")),
        Variant("last_row_first", ("    for _ in range(M):\n        acc += tl.load(dy_ptrs, mask=mask_n, other=0.0)\n        dy_ptrs += N\n", "    for row in range(M):\n        acc += tl.load(dy_ptr + (M - 1 - row) * N + offs_n, mask=mask_n, other=0.0)\n")),
        Variant("one_column_a_program", replace='@triton.jit\ndef bias_gradient_kernel(dy_ptr, db_ptr, M, N, BLOCK_M: tl.constexpr):\n    n = tl.program_id(axis=0)\n    acc = 0.0\n    for start in range(0, M, BLOCK_M):\n        offs_m = start + tl.arange(0, BLOCK_M)\n        acc += tl.sum(tl.load(dy_ptr + offs_m * N + n, mask=offs_m < M, other=0.0).to(tl.float32), axis=0)\n    tl.store(db_ptr + n, acc)\n\n\ndef bias_gradient(dy, block=64):\n    require_contiguous(dy)\n    M, N = dy.shape\n    db = torch.empty(N, dtype=dy.dtype, device=dy.device)\n    bias_gradient_kernel[(N,)](dy, db, M, N, BLOCK_M=block)\n    return db\n\n\ndef bias_gradient_cause():\n    """What ailed the patient: a name of the table."""\n    return "narrow sum"\n'),
    ],
    "rope_rows": [
        Variant("remainder_written_out", (TABLE, "offs_t = (token - b * L) * HALF + offs_p")),
        Variant("modulo_again", (TABLE, "offs_t = (token % L) * HALF + offs_p")),
        Variant("grid_of_two", ("token = tl.program_id(axis=0).to(tl.int64)", "token = tl.program_id(axis=0).to(tl.int64) + tl.program_id(axis=1) * L"), ("[(B * L,)]", "[(L, B)]")),
        Variant("pointers_of_the_table", (TABLE, "offs_t = offs_p\n    cos_ptr += position * HALF\n    sin_ptr += position * HALF")),
        Variant("stride_of_the_tables", ("    stride_yb, stride_yl,\n", "    stride_yb, stride_yl,\n    stride_t,\n"), (TABLE, "offs_t = position * stride_t + offs_p"), ("*y.stride()[:2],\n", "*y.stride()[:2], cos.stride(0),\n")),
        Variant("whole_tables_taken_off", (TABLE, "offs_t = (token * HALF + offs_p) % (L * HALF)")),
        Variant("prompt_taken_off", (TABLE, "offs_t = token * HALF + offs_p - b * L * HALF")),
        Variant("other_order_of_factors", (TABLE, "offs_t = offs_p + HALF * position")),
        Variant("number_of_the_lane_again", (TABLE, "offs_t = position * HALF + tl.arange(0, BLOCK_P)")),
        Variant("addresses_by_name", (TABLE, "offs_t = offs_p\n    row = position * HALF"), ("tl.load(cos_ptr + offs_t", "tl.load(cos_ptr + row + offs_t"), ("tl.load(sin_ptr + offs_t", "tl.load(sin_ptr + row + offs_t")),
        Variant("one_launch_a_prompt", ("    rope_rows_kernel[(B * L,)](\n        x, y, cos, sin, L,", "    for each in range(B):\n      rope_rows_kernel[(L,)](\n        x[each:], y[each:], cos, sin, L,"), (TABLE, TABLE.replace("position", "token"))),
        Variant("one_position_for_all_prompts", replace=POSITIONS),
        Variant("axes_of_the_grid", ("token = tl.program_id(axis=0).to(tl.int64)\n    b, position = token // L, token % L", "b, position = tl.program_id(axis=1).to(tl.int64), tl.program_id(axis=0).to(tl.int64)"), ("[(B * L,)]", "[(L, B)]")),
        Variant("strides_of_expanded_tables", ("    stride_yb, stride_yl,\n", "    stride_yb, stride_yl,\n    stride_cb, stride_cl,\n"), ("offs_t = position * HALF + offs_p", "offs_t = b * stride_cb + position * stride_cl + offs_p"), ("*y.stride()[:2],\n", "*y.stride()[:2], *cos.expand(B, *cos.shape).stride()[:2],\n")),
        Variant("whole_prompts_taken_off", ("offs_t = position * HALF + offs_p", "offs_t = (token - token // L * L) * HALF + offs_p")),
        Variant("prompts_next_to_each_other", ("token = tl.program_id(axis=0).to(tl.int64)\n    b, position = token // L, token % L", "b = tl.program_id(axis=0).to(tl.int64) % tl.cdiv(tl.num_programs(axis=0), L)\n    position = tl.program_id(axis=0).to(tl.int64) // tl.cdiv(tl.num_programs(axis=0), L)")),
    ],
    "picked_logits": [
        Variant("both_masks", (PICK, PICK.replace("target >= 0", "mask_t & (target >= 0)"))),
        Variant("address_clamped", (PICK, "z = tl.load(z_ptr + offs_t * V + tl.maximum(target, 0), mask=mask_t, other=0.0).to(tl.float32)"), (OUT, WHERE)),
        Variant("where_too", (OUT, WHERE)),
        Variant("address_chosen", (PICK, LATE.replace("z_ptrs", "tl.where(target >= 0, z_ptrs, z_ptr)")), (OUT, WHERE)),
        Variant("one_token_a_program", replace="@triton.jit\ndef picked_logits_kernel(z_ptr, targets_ptr, out_ptr, V):\n    t = tl.program_id(axis=0).to(tl.int64)\n    target = tl.load(targets_ptr + t)\n    z = 0.0\n    if target >= 0:\n        z = tl.load(z_ptr + t * V + target).to(tl.float32)\n    tl.store(out_ptr + t, z)\n\n\ndef picked_logits(z, targets, block=16):\n    require_contiguous(z, targets)\n    T, V = z.shape\n    out = torch.empty(T, dtype=torch.float32, device=z.device)\n    picked_logits_kernel[(T,)](z, targets, out, V)\n    return out\n\n\ndef picked_logits_cause():\n    return \"guard too late\"\n"),
        Variant("greater_than_minus_1", (PICK, PICK.replace(">= 0", "> -1"))),
        Variant("not_negative", (PICK, PICK.replace("target >= 0", "mask_t & ~(target < 0)"))),
        Variant("times_the_condition", (PICK, "z = tl.load(z_ptr + offs_t * V + tl.maximum(target, 0), mask=mask_t, other=0.0).to(tl.float32)"), (OUT, "tl.store(out_ptr + offs_t, z * (target >= 0), mask=mask_t)")),
        Variant("word_0_by_where", (PICK, "z = tl.load(z_ptr + offs_t * V + tl.where(target < 0, 0, target), mask=mask_t, other=0.0).to(tl.float32)"), (OUT, WHERE)),
        Variant("above_and_below", (PICK, PICK.replace("target >= 0", "(target >= 0) & (target < V)"))),
        Variant("masked_targets_of_minus_1", (TARGET, TARGET.replace("-100", "-1"))),
        Variant("condition_by_name", (PICK, "counts = mask_t & (target >= 0)\n    " + PICK.replace("target >= 0", "counts"))),
        Variant("target_times_the_condition", ("z_ptrs = z_ptr + offs_t * V + target", "z_ptrs = z_ptr + offs_t * V + target * (target >= 0)"), ("z = tl.load(z_ptrs, mask=target >= 0, other=0.0).to(tl.float32)", "z = tl.load(z_ptrs, mask=mask_t, other=0.0).to(tl.float32)"), ("tl.store(out_ptr + offs_t, z, mask=mask_t)", "tl.store(out_ptr + offs_t, tl.where(target < 0, 0.0, z), mask=mask_t)")),
        Variant("as_an_unsigned_number", ("z = tl.load(z_ptrs, mask=target >= 0, other=0.0).to(tl.float32)", "z = tl.load(z_ptrs, mask=(target.to(tl.uint64) < V) & mask_t, other=0.0).to(tl.float32)")),
        Variant("zeros_and_a_masked_store", ("out = torch.empty(T, dtype=torch.float32, device=z.device)", "out = torch.zeros(T, dtype=torch.float32, device=z.device)"), ("tl.store(out_ptr + offs_t, z, mask=mask_t)", "tl.store(out_ptr + offs_t, z, mask=mask_t & (target >= 0))")),
        Variant("a_walk_over_the_words", replace='@triton.jit\ndef picked_logits_kernel(z_ptr, targets_ptr, out_ptr, V, BLOCK_V: tl.constexpr):\n    t = tl.program_id(axis=0).to(tl.int64)\n    target = tl.load(targets_ptr + t)\n    total = 0.0\n    for start in range(0, V, BLOCK_V):\n        offs_v = start + tl.arange(0, BLOCK_V)\n        z = tl.load(z_ptr + t * V + offs_v, mask=offs_v == target, other=0.0).to(tl.float32)\n        total += tl.sum(tl.where(offs_v < V, z, 0.0), axis=0)\n    tl.store(out_ptr + t, total)\n\n\ndef picked_logits(z, targets, block=16):\n    require_contiguous(z, targets)\n    T, V = z.shape\n    out = torch.empty(T, dtype=torch.float32, device=z.device)\n    picked_logits_kernel[(T,)](z, targets, out, V, BLOCK_V=64)\n    return out\n\n\ndef picked_logits_cause():\n    """What ailed the patient: a name of the table."""\n    return "guard too late"\n'),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "picked_logits": {
        'z = tl.load(z_ptrs, mask=target >= 0, other=0.0).to(tl.float32) => z = tl.load(z_ptrs, mask=target >= 0, other=0.0)': "the store makes it float32 all the same: out is",
    },
}
