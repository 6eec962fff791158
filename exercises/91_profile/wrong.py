"""Wrong answers of 91_profile with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant


def cause(right, wrong):
    return (f'return "{right}"', f'return "{wrong}"')


def unnamed(key, right):
    return (f'return "{right}"', f'raise NotImplementedError("TODO: fill in {key}_cause")')


WALK = """    m = tl.program_id(axis=0).to(tl.int64)
    offs_n = tl.program_id(axis=1) * BLOCK + tl.arange(0, BLOCK)
    mask = offs_n < N
    offs = m * N + offs_n
    w = tl.load(w_ptr + offs_n, mask=mask, other=0.0)
"""
DOWN = """    n = tl.program_id(axis=0)
    offs_m = tl.program_id(axis=1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs_m < M
    offs = offs_m * N + n
    w = tl.load(w_ptr + n)
"""
GRID = "grid = (M, triton.cdiv(N, block))"
DOWN_GRID = "grid = (N, triton.cdiv(M, block))"
STORE = "tl.store(y_ptr + offs, x * w, mask=mask)"
LAUNCH = "scale_columns_kernel[grid](x, w, y, M, N, BLOCK=block)"
ILL = ((WALK, DOWN), (GRID, DOWN_GRID))


def columns_at_once(count):
    """A program with some columns of a block of rows."""
    return f"""@triton.jit
def scale_columns_kernel(x_ptr, w_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    offs_n = tl.program_id(axis=0) * {count} + tl.arange(0, {count})[None, :]
    offs_m = tl.program_id(axis=1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)[:, None]
    mask = (offs_m < M) & (offs_n < N)
    w = tl.load(w_ptr + offs_n, mask=offs_n < N, other=0.0)
    x = tl.load(x_ptr + offs_m * N + offs_n, mask=mask, other=0.0)
    tl.store(y_ptr + offs_m * N + offs_n, x * w, mask=mask)


def scale_columns(x, w, block=1024):
    require_contiguous(x, w)
    M, N = x.shape
    y = torch.empty_like(x)
    block = min(block, 32)
    scale_columns_kernel[(triton.cdiv(N, {count}), triton.cdiv(M, block))](x, w, y, M, N, BLOCK=block)
    return y


def scale_columns_cause():
    return "uncoalesced"
"""


WALKS_DOWN = """@triton.jit
def scale_columns_kernel(x_ptr, w_ptr, y_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    offs_n = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs_n < N
    w = tl.load(w_ptr + offs_n, mask=mask, other=0.0)
    first = tl.program_id(axis=1).to(tl.int64) * ROWS
    for m in range(first, tl.minimum(first + ROWS, M)):
        x = tl.load(x_ptr + m * N + offs_n, mask=mask, other=0.0)
        tl.store(y_ptr + m * N + offs_n, x * w, mask=mask)


def scale_columns(x, w, block=1024):
    require_contiguous(x, w)
    M, N = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(N, block), triton.cdiv(M, 16))
    scale_columns_kernel[grid](x, w, y, M, N, ROWS=16, BLOCK=block)
    return y


def scale_columns_cause():
    return "uncoalesced"
"""
ROWS_AT_ONCE = """@triton.jit
def scale_columns_kernel(x_ptr, w_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    offs_m = tl.program_id(axis=0).to(tl.int64) * 4 + tl.arange(0, 4)[:, None]
    offs_n = tl.program_id(axis=1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    mask = (offs_m < M) & (offs_n < N)
    w = tl.load(w_ptr + offs_n, mask=offs_n < N, other=0.0)
    x = tl.load(x_ptr + offs_m * N + offs_n, mask=mask, other=0.0)
    tl.store(y_ptr + offs_m * N + offs_n, x * w, mask=mask)


def scale_columns(x, w, block=1024):
    require_contiguous(x, w)
    M, N = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(M, 4), triton.cdiv(N, block))
    scale_columns_kernel[grid](x, w, y, M, N, BLOCK=block)
    return y


def scale_columns_cause():
    return "uncoalesced"
"""


SPLIT = """    rows = tl.cdiv(M, tl.num_programs(axis=1))
    first = tl.program_id(axis=1) * rows
    last = tl.minimum(first + rows, M)
"""
WHOLE = "    first, last = 0, M\n"
ADD = "tl.atomic_add(out_ptr + offs_n, acc, mask=mask_n)"
PUT = "tl.store(out_ptr + offs_n, acc, mask=mask_n)"
ZEROS = "out = torch.zeros(N, dtype=torch.float32, device=x.device)"
EMPTY = ZEROS.replace("zeros", "empty")
TALL_GRID = "grid = (triton.cdiv(N, block), triton.cdiv(M, 512))"
ONE_GRID = "grid = (triton.cdiv(N, block),)"
TALL_LAUNCH = "tall_sums_kernel[grid](x, out, M, N, BLOCK_M=32, BLOCK_N=block)"
TALL_ILL = ((SPLIT, WHOLE), (ADD, PUT), (ZEROS, EMPTY), (TALL_GRID, ONE_GRID))
ROW_MASK = "(offs_m < last)[:, None]"

SIGNATURE = "average_step_kernel(avg_ptr, x_ptr, n, decay, BLOCK: tl.constexpr)"
MOVE = "avg + (1 - decay) * (x - avg)"
STEP_LAUNCH = "(avg, x, n, decay, BLOCK=block)"
DECAY = "n, decay = x.numel(), (1 + step) / (10 + step)"
AVG_LOAD = "avg = tl.load(avg_ptr + offs, mask=mask, other=0.0).to(tl.float32)"

CLIP = "    clip_kernel[grid](x, total, most, n, BLOCK=block)\n"
SIGN = ("clip_kernel(x_ptr, total_ptr, most", "clip_kernel(x_ptr, total, most")
NUMBER = ("tl.load(total_ptr)", "total")
FACTOR = "factor = tl.minimum(most / (tl.sqrt(tl.load(total_ptr)) + 1e-12), 1.0)"


def only_if(condition):
    return (CLIP, f"    if {condition}:\n    {CLIP}")


MUTANTS = {
    "scale_columns": [
        Mutant("rows_along_axis_1", "grid-limit", (WALK, WALK.replace("axis=0", "axis=9").replace("axis=1", "axis=0").replace("axis=9", "axis=1")), (GRID, "grid = (triton.cdiv(N, block), M)")),
        Mutant("as_it_came_and_named", "slow", *ILL, only="interpreter"),
        Mutant("as_it_came_and_wrongly_named", "slow", *ILL, cause("uncoalesced", "few programs"), only="interpreter"),
        Mutant("mended_and_not_named", "not-attempted", unnamed("scale_columns", "uncoalesced")),
        Mutant("mended_and_wrongly_named", "property", cause("uncoalesced", "repeated loads")),
        Mutant("a_name_of_no_table", "property", cause("uncoalesced", "coalescing")),
        Mutant("another_block", "slow", *ILL, ("block=1024):", "block=256):"), only="interpreter"),
        Mutant("more_warps", "slow", *ILL, (LAUNCH, LAUNCH.replace("BLOCK=block", "BLOCK=block, num_warps=8")), only="interpreter"),
        Mutant("neighbours_first_in_the_grid", "slow", (WALK, DOWN.replace("axis=0", "axis=9").replace("axis=1", "axis=0").replace("axis=9", "axis=1")), (GRID, "grid = (triton.cdiv(M, block), N)"), only="interpreter"),
        Mutant("hints_for_the_compiler", "slow", (WALK, DOWN + "    offs = tl.multiple_of(offs, 16)\n"), (GRID, DOWN_GRID), only="interpreter"),
        Mutant("two_columns_at_once", "slow", replace=columns_at_once(2), only="interpreter"),
        Mutant("store_alone_mended", ("wrong-values", "slow", "transposed", "out-of-bounds-store"), *ILL, (STORE, "tl.store(y_ptr + n * M + offs_m, x * w, mask=mask)")),
        Mutant("weights_by_the_row", ("weights-by-the-row", "reads-outside", "wrong-values"), ("w = tl.load(w_ptr + offs_n, mask=mask, other=0.0)", "w = tl.load(w_ptr + m)")),
        Mutant("one_weight", ("one-weight", "wrong-values"), ("w = tl.load(w_ptr + offs_n, mask=mask, other=0.0)", "w = tl.load(w_ptr)")),
        Mutant("weights_of_the_first_block", ("weights-of-the-first-block", "wrong-values", "reads-outside"), ("w_ptr + offs_n, mask=mask", "w_ptr + tl.arange(0, BLOCK), mask=mask & (tl.arange(0, BLOCK) < N)")),
        Mutant("grid_forgotten", ("unwritten", "unwritten-tail", "out-of-bounds-store", "reads-outside"), (GRID, DOWN_GRID)),
        Mutant("kernel_forgotten", ("unwritten", "unwritten-tail", "out-of-bounds-store", "reads-outside"), (WALK, DOWN)),
        Mutant("mask_of_the_rows", ("out-of-bounds-store", "reads-outside", "unwritten", "unwritten-tail"), ("mask = offs_n < N", "mask = offs_n < M")),
        Mutant("row_by_m_rows", ("out-of-bounds-store", "reads-outside", "unwritten", "wrong-values", "race"), ("offs = m * N + offs_n", "offs = m * M + offs_n")),
        Mutant("no_mask_at_the_store", ("out-of-bounds-store", "race", "wrong-values"), (STORE, STORE.replace(", mask=mask", ""))),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def scale_columns(x, w, block=1024):\n    require_contiguous(x, w)\n    return x * w\n\n\ndef scale_columns_cause():\n    return 'uncoalesced'\n"),
        Mutant("transposed_first", ("torch-compute", "slow"), (WALK, DOWN.replace("offs_m * N + n", "n * M + offs_m")), (GRID, DOWN_GRID), (LAUNCH, LAUNCH.replace("(x, w, y,", "(x.t().contiguous(), w, y,")), ("    return y\n", "    return y.view(N, M).t().contiguous()\n")),
        Mutant("axes_of_the_grid_alone_swapped", ("unwritten", "unwritten-tail", "reads-outside", "out-of-bounds-store", "wrong-values", "race"), (GRID, "grid = (triton.cdiv(N, block), M)")),
        Mutant("column_times_rows", ("wrong-values", "out-of-bounds-store", "race", "unwritten", "reads-outside"), ("offs = m * N + offs_n", "offs = offs_n * M + m")),
        Mutant("mask_forgotten_at_w", ("reads-outside", "wrong-values"), ("w_ptr + offs_n, mask=mask, other=0.0", "w_ptr + offs_n"), only="interpreter"),
        Mutant("four_columns_at_once", "slow", replace='@triton.jit\ndef scale_columns_kernel(x_ptr, w_ptr, y_ptr, M, N, BLOCK: tl.constexpr):\n    offs_n = tl.program_id(axis=0) * 4 + tl.arange(0, 4)[None, :]\n    offs_m = tl.program_id(axis=1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)[:, None]\n    mask = (offs_m < M) & (offs_n < N)\n    w = tl.load(w_ptr + offs_n, mask=offs_n < N, other=0.0)\n    x = tl.load(x_ptr + offs_m * N + offs_n, mask=mask, other=0.0)\n    tl.store(y_ptr + offs_m * N + offs_n, x * w, mask=mask)\n\n\ndef scale_columns(x, w, block=1024):\n    require_contiguous(x, w)\n    M, N = x.shape\n    y = torch.empty_like(x)\n    scale_columns_kernel[(triton.cdiv(N, 4), triton.cdiv(M, block))](x, w, y, M, N, BLOCK=block)\n    return y\n\n\ndef scale_columns_cause():\n    """What ailed the patient: a name of the table."""\n    return "uncoalesced"\n', only="interpreter"),
        Mutant("walks_down_a_column", "slow", replace='@triton.jit\ndef scale_columns_kernel(x_ptr, w_ptr, y_ptr, M, N, BLOCK: tl.constexpr):\n    n = tl.program_id(axis=0)\n    w = tl.load(w_ptr + n)\n    for start in range(0, M, BLOCK):\n        offs_m = start + tl.arange(0, BLOCK)\n        x = tl.load(x_ptr + offs_m * N + n, mask=offs_m < M, other=0.0)\n        tl.store(y_ptr + offs_m * N + n, x * w, mask=offs_m < M)\n\n\ndef scale_columns(x, w, block=1024):\n    require_contiguous(x, w)\n    M, N = x.shape\n    y = torch.empty_like(x)\n    scale_columns_kernel[(N,)](x, w, y, M, N, BLOCK=block)\n    return y\n\n\ndef scale_columns_cause():\n    """What ailed the patient: a name of the table."""\n    return "uncoalesced"\n', only="interpreter"),
        Mutant("grid_rounded_down", "unwritten-tail", ("grid = (M, triton.cdiv(N, block))", "grid = (M, N // block)")),
        Mutant("weights_added", "wrong-values", ("tl.store(y_ptr + offs, x * w, mask=mask)", "tl.store(y_ptr + offs, x + w, mask=mask)")),
        Mutant("weights_twice", "off-by-an-input", ("tl.store(y_ptr + offs, x * w, mask=mask)", "tl.store(y_ptr + offs, x * w * w, mask=mask)")),
        Mutant("rows_by_the_block", "out-of-bounds-store", ("m = tl.program_id(axis=0).to(tl.int64)", "m = tl.program_id(axis=0).to(tl.int64) * BLOCK")),
        Mutant("written_to_x", "input-changed", ("y = torch.empty_like(x)", "y = x")),
        Mutant("weights_of_another_remainder", "wrong-values", ("w = tl.load(w_ptr + offs_n, mask=mask, other=0.0)", "w = tl.load(w_ptr + offs % M, mask=mask & (offs % M < N), other=0.0)")),
        Mutant("few_programs_named", "property", ("return \"uncoalesced\"", "return \"few programs\"")),
    ],
    "tall_sums": [
        Mutant("as_it_came_and_named", "slow", *TALL_ILL),
        Mutant("as_it_came_and_wrongly_named", "slow", *TALL_ILL, cause("few programs", "spills")),
        Mutant("mended_and_not_named", "not-attempted", unnamed("tall_sums", "few programs")),
        Mutant("mended_and_wrongly_named", "property", cause("few programs", "uncoalesced")),
        Mutant("more_warps", "slow", *TALL_ILL[:3], (TALL_GRID, ONE_GRID), (TALL_LAUNCH, TALL_LAUNCH.replace("=block)", "=block, num_warps=16)"))),
        Mutant("larger_tiles", "slow", *TALL_ILL, (TALL_LAUNCH, TALL_LAUNCH.replace("32", "128"))),
        Mutant("columns_of_32", "slow", *TALL_ILL, ("block=64)", "block=32)")),
        Mutant("four_columns_each", "slow", *TALL_ILL, ("block=64)", "block=4)"), only="interpreter"),
        Mutant("grid_forgotten", "slow", (TALL_GRID, ONE_GRID)),
        Mutant("two_pieces", "slow", (TALL_GRID, TALL_GRID.replace("triton.cdiv(M, 512)", "2 if M > 600 else 1"))),
        Mutant("not_split_in_the_kernel", "every-piece-whole", (SPLIT, WHOLE)),
        Mutant("stored_in_place_of_added", ("race", "last-piece", "wrong-values"), (ADD, PUT)),
        Mutant("never_set_to_0", ("reads-unwritten", "nan", "unwritten", "wrong-values", "property"), (ZEROS, EMPTY)),
        Mutant("set_to_0_by_program_0", "property", (ZEROS, EMPTY), (ADD, "if tl.program_id(axis=1) == 0:\n        tl.store(out_ptr + offs_n, 0.0, mask=mask_n)\n    " + ADD), on_gpu=("one-piece",)),
        Mutant("one_piece_only", ("one-piece", "wrong-values"), ("first = tl.program_id(axis=1) * rows", "first = tl.program_id(axis=1) * M")),
        Mutant("rows_beyond_the_piece", "into-the-next-piece", (ROW_MASK, "(offs_m < M)[:, None]")),
        Mutant("last_row_left_out", ("a-row-of-each-piece", "wrong-values"), ("last = tl.minimum(first + rows, M)", "last = tl.minimum(first + rows, M - 1)")),
        Mutant("no_end", ("reads-outside", "wrong-values"), ("last = tl.minimum(first + rows, M)", "last = first + rows"), on_gpu=("nan",)),
        Mutant("rounded_down", "rest-left-out", ("tl.cdiv(M, tl.num_programs(axis=1))", "M // tl.num_programs(axis=1)")),
        Mutant("all_rows_in_the_first_piece", "slow", ("tl.num_programs(axis=1)", "tl.num_programs(axis=2)"), only="interpreter"),
        Mutant("a_program_a_row", "too-many-programs", (TALL_GRID, TALL_GRID.replace("512", "1"))),
        Mutant("pieces_of_the_wrong_axis", ("wrong-values", "one-piece", "every-piece-whole"), ("tl.num_programs(axis=1)", "tl.num_programs(axis=0)")),
        Mutant("mean", "mean", (ADD, "tl.atomic_add(out_ptr + offs_n, acc / M, mask=mask_n)")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def tall_sums(x, block=64):\n    require_contiguous(x)\n    return x.float().sum(0)\n\n\ndef tall_sums_cause():\n    return 'few programs'\n"),
        Mutant("parts_added_by_torch", "torch-compute", ("tl.atomic_add(out_ptr + offs_n, acc, mask=mask_n)", "tl.store(out_ptr + tl.program_id(axis=1) * N + offs_n, acc, mask=mask_n)"), (ZEROS + "\n", "\n"), (TALL_GRID, TALL_GRID + "\n    out = torch.zeros((grid[1], N), dtype=torch.float32, device=x.device)"), ("    return out\n", "    return out.sum(0)\n")),
        Mutant("zeroed_after_the_launch", ("reads-unwritten", "zeros", "nan", "unwritten", "wrong-values"), (ZEROS, EMPTY), ("    return out\n", "    out.zero_()\n    return out\n")),
        Mutant("column_pieces_instead", "slow", *TALL_ILL, ("block=64)", "block=16)")),
        Mutant("rows_of_the_next_piece_too", ("wrong-values", "every-piece-whole", "not-repeatable"), ("last = tl.minimum(first + rows, M)", "last = tl.minimum(first + rows + BLOCK_M, M)")),
        Mutant("each_adds_its_share_of_all", "slow", ("    rows = tl.cdiv(M, tl.num_programs(axis=1))\n    first = tl.program_id(axis=1) * rows\n    last = tl.minimum(first + rows, M)\n", "    first, last = 0, M\n"), ("tl.atomic_add(out_ptr + offs_n, acc,", "tl.atomic_add(out_ptr + offs_n, acc / tl.num_programs(axis=1),"), only="interpreter"),
        Mutant("the_others_idle", "slow", ("    rows = tl.cdiv(M, tl.num_programs(axis=1))\n    first = tl.program_id(axis=1) * rows\n    last = tl.minimum(first + rows, M)\n", "    first = tl.where(tl.program_id(axis=1) == 0, 0, M)\n    last = M\n"), only="interpreter"),
        Mutant("three_pieces", "slow", ("grid = (triton.cdiv(N, block), triton.cdiv(M, 512))", "grid = (triton.cdiv(N, block), 3 if M >= 2048 else 1)"), only="interpreter"),
        Mutant("pieces_overlap", "wrong-values", ("    rows = tl.cdiv(M, tl.num_programs(axis=1))\n    first = tl.program_id(axis=1) * rows\n    last = tl.minimum(first + rows, M)\n", "    rows = tl.cdiv(M, tl.num_programs(axis=1))\n    first = tl.program_id(axis=1) * BLOCK_M\n    last = tl.minimum(first + rows, M)\n")),
        Mutant("gaps_between_pieces", "wrong-values", ("    rows = tl.cdiv(M, tl.num_programs(axis=1))\n    first = tl.program_id(axis=1) * rows\n    last = tl.minimum(first + rows, M)\n", "    rows = tl.cdiv(M, tl.num_programs(axis=1))\n    first = tl.program_id(axis=1) * rows\n    last = tl.minimum(first + rows - BLOCK_M, M)\n")),
        Mutant("largest_part", "wrong-values", ("tl.atomic_add(out_ptr + offs_n, acc, mask=mask_n)", "tl.atomic_max(out_ptr + offs_n, acc, mask=mask_n)")),
        Mutant("sums_of_the_input_dtype", "wrong-dtype", ("out = torch.zeros(N, dtype=torch.float32, device=x.device)", "out = torch.zeros(N, dtype=x.dtype, device=x.device)")),
        Mutant("begins_at_1", "constant-summand", ("out = torch.zeros(N, dtype=torch.float32, device=x.device)", "out = torch.ones(N, dtype=torch.float32, device=x.device)")),
        Mutant("no_mask_at_the_sum", "out-of-bounds-store", ("tl.atomic_add(out_ptr + offs_n, acc, mask=mask_n)", "tl.atomic_add(out_ptr + offs_n, acc)")),
        Mutant("sums_that_are_kept", "property", ("out = torch.zeros(N, dtype=torch.float32, device=x.device)", "out = OUT.setdefault((x.device, N), torch.zeros(N, dtype=torch.float32, device=x.device))"), ("def tall_sums(", "OUT = {}\n\n\ndef tall_sums(")),
        Mutant("rows_of_m_columns", "reads-outside", ("offs_m[:, None] * N", "offs_m[:, None] * M"), only="interpreter"),
        Mutant("masked_loop_named", "property", ("return \"few programs\"", "return \"masked loop\"")),
    ],
    "average_step": [
        Mutant("as_it_came_and_named", "slow", (SIGNATURE, "average_step_kernel(\n    avg_ptr, x_ptr, n: tl.constexpr, decay: tl.constexpr, BLOCK: tl.constexpr\n)")),
        Mutant("as_it_came_and_wrongly_named", "slow", (SIGNATURE, "average_step_kernel(\n    avg_ptr, x_ptr, n: tl.constexpr, decay: tl.constexpr, BLOCK: tl.constexpr\n)"), cause("recompilation", "many launches")),
        Mutant("mended_and_not_named", "not-attempted", unnamed("average_step", "recompilation")),
        Mutant("mended_and_wrongly_named", "property", cause("recompilation", "host waits")),
        Mutant("length_alone_freed", "slow", (SIGNATURE, SIGNATURE.replace("decay", "decay: tl.constexpr"))),
        Mutant("decay_alone_freed", "slow", (SIGNATURE, SIGNATURE.replace(" n,", " n: tl.constexpr,"))),
        Mutant("the_step_in_its_place", "slow", (SIGNATURE, SIGNATURE.replace("decay", "step: tl.constexpr")), (MOVE, "avg + 9 / (10 + step) * (x - avg)"), (STEP_LAUNCH, "(avg, x, n, step, BLOCK=block)")),
        Mutant("marked_in_the_wrapper", "slow", (STEP_LAUNCH, "(avg, x, n, tl.constexpr(decay), BLOCK=block)"), (SIGNATURE, SIGNATURE.replace("decay", "decay: tl.constexpr"))),
        Mutant("not_specialised_and_still_constant", ("slow", "raised", "does-not-compile"), ("@triton.jit", '@triton.jit(do_not_specialize=["decay"])'), (SIGNATURE, SIGNATURE.replace("decay", "decay: tl.constexpr"))),
        Mutant("decay_rounded", "wrong-values", (SIGNATURE, SIGNATURE.replace("decay", "decay: tl.constexpr").replace(" n,", " n: tl.constexpr,")), (DECAY, DECAY.replace("(1 + step) / (10 + step)", "round((1 + step) / (10 + step), 1)"))),
        Mutant("decay_of_step_1", ("one-decay", "wrong-values"), (DECAY, DECAY.replace("(1 + step) / (10 + step)", "2 / 11"))),
        Mutant("decay_as_a_whole_number", "only-x", (DECAY, DECAY.replace("(1 + step) /", "(1 + step) //"))),
        Mutant("other_way_round", "decay-for-its-rest", (MOVE, "x + (1 - decay) * (avg - x)")),
        Mutant("difference_turned_round", "away-from-x", (MOVE, "avg + (1 - decay) * (avg - x)")),
        Mutant("decay_for_its_rest", "decay-for-its-rest", (MOVE, "avg + decay * (x - avg)")),
        Mutant("stored_to_x", ("input-changed", "wrong-values", "unwritten"), ("tl.store(avg_ptr", "tl.store(x_ptr")),
        Mutant("no_mask", ("out-of-bounds-store", "reads-outside"), ("mask = offs < n", "mask = offs < n + BLOCK")),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def average_step(avg, x, step, block=1024):\n    require_contiguous(avg, x)\n    avg.lerp_(x, 9 / (10 + step))\n\n\ndef average_step_cause():\n    return 'recompilation'\n"),
        Mutant("no_casts", "wrong-values", (AVG_LOAD, AVG_LOAD.replace(".to(tl.float32)", "")), ("x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)", "x = tl.load(x_ptr + offs, mask=mask, other=0.0)")),
        Mutant("block_as_large_as_the_tensor", "slow", (SIGNATURE, SIGNATURE.replace(" n,", " n: tl.constexpr,")), (STEP_LAUNCH, "(avg, x, n, decay, BLOCK=block)".replace("BLOCK=block", "BLOCK=triton.next_power_of_2(n)"))),
        Mutant("decay_as_text_of_a_constant", "slow", (SIGNATURE, SIGNATURE.replace("decay", "decay: tl.constexpr")), (MOVE, "avg + (1.0 - decay) * (x - avg)")),
        Mutant("step_for_decay", "unwritten", (STEP_LAUNCH, "(avg, x, n, step, BLOCK=block)")),
        Mutant("arguments_in_another_order", ("raised", "does-not-compile", "wrong-values", "unwritten", "input-changed", "unused-input"), (STEP_LAUNCH, "(avg, x, decay, n, BLOCK=block)")),
        Mutant("a_constant_that_nobody_reads", "slow", ("average_step_kernel(avg_ptr, x_ptr, n, decay, BLOCK: tl.constexpr)", "average_step_kernel(avg_ptr, x_ptr, n, decay, STEP: tl.constexpr, BLOCK: tl.constexpr)"), ("(avg, x, n, decay, BLOCK=block)", "(avg, x, n, decay, STEP=step, BLOCK=block)")),
        Mutant("warps_by_the_step", "slow", ("(avg, x, n, decay, BLOCK=block)", "(avg, x, n, decay, BLOCK=block, num_warps=2 ** (step % 4))")),
        Mutant("one_step_too_far", "wrong-values", ("n, decay = x.numel(), (1 + step) / (10 + step)", "n, decay = x.numel(), (2 + step) / (11 + step)")),
        Mutant("nine_for_ten", "wrong-values", ("n, decay = x.numel(), (1 + step) / (10 + step)", "n, decay = x.numel(), (1 + step) / (9 + step)")),
        Mutant("a_copy_is_moved", "unwritten", ("    require_contiguous(avg, x)\n", "    require_contiguous(avg, x)\n    avg = avg.clone()\n")),
        Mutant("few_programs_named", "property", ("return \"recompilation\"", "return \"few programs\"")),
    ],
    "clip_gradient": [
        Mutant("as_it_came_and_named", "property", SIGN, NUMBER, (CLIP, CLIP.replace("total", "total.item()"))),
        Mutant("as_it_came_and_wrongly_named", "property", SIGN, NUMBER, (CLIP, CLIP.replace("total", "total.item()")), cause("host waits", "few programs")),
        Mutant("second_launch_saved", "property", only_if("total.item() > most * most")),
        Mutant("wrapper_alone_mended", ("does-not-compile", "raised", "wrong-values", "always-scaled", "never-scaled"), SIGN, NUMBER),
        Mutant("kernel_alone_mended", ("property", "does-not-compile", "raised"), (CLIP, CLIP.replace("total", "total.item()"))),
        Mutant("mended_and_not_named", "not-attempted", unnamed("clip_gradient", "host waits")),
        Mutant("mended_and_wrongly_named", "property", cause("host waits", "many launches")),
        Mutant("float_of_it", "property", only_if("float(total) > most * most")),
        Mutant("bare_if", "property", only_if("total > most * most")),
        Mutant("to_the_cpu_first", "property", only_if("total.cpu() > most * most")),
        Mutant("a_list_of_one", "property", only_if("total.tolist()[0] > most * most")),
        Mutant("numpy", "property", only_if("total.cpu().numpy()[0] > most * most")),
        Mutant("waits_before_and_looks", "property", (CLIP, "    torch.cuda.synchronize()\n" + CLIP)),
        Mutant("always_read_and_then_launched", "property", (CLIP, "    norm = total.item() ** 0.5\n" + CLIP)),
        Mutant("factor_made_by_python", "property", (CLIP, "    most = min(most, float(total[0]) ** 0.5)\n" + CLIP)),
        Mutant("pointers_swapped", ("out-of-bounds-store", "input-changed", "wrong-values"), (CLIP, CLIP.replace("x, total", "total, x"))),
        Mutant("never_clipped", ("never-scaled", "wrong-values", "unwritten"), (CLIP, "    return\n")),
        Mutant("always_scaled", "always-scaled", (FACTOR, "factor = most / (tl.sqrt(tl.load(total_ptr)) + 1e-12)")),
        Mutant("no_root", ("by-the-square", "wrong-values"), (FACTOR, FACTOR.replace("tl.sqrt(tl.load(total_ptr))", "tl.load(total_ptr)"))),
        Mutant("limit_squared", ("limit-squared", "wrong-values"), (CLIP, CLIP.replace("most", "most * most"))),
        Mutant("one_program", ("wrong-values", "wrong-tail"), (CLIP, CLIP.replace("[grid]", "[(1,)]"))),
        Mutant("by_torch", ("no-kernel-launched", "torch-compute"), replace="def clip_gradient(x, most, block=1024):\n    require_contiguous(x)\n    x.mul_((most / (x.norm() + 1e-12)).clamp(max=1.0))\n\n\ndef clip_gradient_cause():\n    return 'host waits'\n"),
        Mutant("factor_made_by_torch", ("torch-compute",), (SIGN[0], "clip_kernel(x_ptr, factor_ptr, most"), (FACTOR, "factor = tl.load(factor_ptr)"), (CLIP, "    factor = (most / (total.sqrt() + 1e-12)).clamp(max=1.0)\n    clip_kernel[grid](x, factor, most, n, BLOCK=block)\n")),
        Mutant("asked_whether_it_is_above", "property", (CLIP, "    if (total > most * most).any():\n    " + CLIP)),
        Mutant("read_as_a_number_type", "property", (CLIP, "    norm = math.sqrt(total)\n" + CLIP), ("def clip_gradient(", "import math\n\n\ndef clip_gradient(")),
        Mutant("address_for_the_number", ("does-not-compile", "raised", "wrong-values"), (FACTOR, FACTOR.replace("tl.load(total_ptr)", "total_ptr"))),
        Mutant("root_forgotten_in_the_comparison", ("wrong-values", "always-scaled", "never-scaled", "by-the-square"), (FACTOR, "total = tl.load(total_ptr)\n    factor = tl.where(total > most, most / tl.sqrt(total), 1.0)")),
        Mutant("norm_by_torch", "torch-compute", ("    norm_kernel[grid](x, total, n, BLOCK=block)\n", "    total = x.float().pow(2).sum().reshape(1)\n")),
        Mutant("read_and_written_back", "property", ("    clip_kernel[grid](x, total, most, n, BLOCK=block)\n", "    (number,) = total.tolist()\n    total.fill_(number)\n    clip_kernel[grid](x, total, most, n, BLOCK=block)\n")),
        Mutant("copied_without_waiting_and_read", "property", ("    clip_kernel[grid](x, total, most, n, BLOCK=block)\n", "    norm = total.to('cpu', non_blocking=True)\n    total.fill_(float(norm))\n    clip_kernel[grid](x, total, most, n, BLOCK=block)\n")),
        Mutant("compared_by_a_method", "property", ("    clip_kernel[grid](x, total, most, n, BLOCK=block)\n", "    if bool(total.gt(most * most)):\n        clip_kernel[grid](x, total, most, n, BLOCK=block)\n")),
        Mutant("total_of_fresh_memory", "reads-unwritten", ("torch.zeros(1", "torch.empty(1"), only="interpreter"),
        Mutant("ratio_turned_round", "unwritten", ("factor = tl.minimum(most / (tl.sqrt(tl.load(total_ptr)) + 1e-12), 1.0)", "factor = tl.minimum(tl.sqrt(tl.load(total_ptr)) / most, 1.0)")),
        Mutant("clipped_by_the_factor", "wrong-values", ("tl.store(x_ptr + offs, x * factor, mask=offs < n)", "tl.store(x_ptr + offs, tl.minimum(x, factor), mask=offs < n)")),
        Mutant("total_of_each_lane", "reads-outside", ("factor = tl.minimum(most / (tl.sqrt(tl.load(total_ptr)) + 1e-12), 1.0)", "factor = tl.minimum(most / (tl.sqrt(tl.load(total_ptr + offs)) + 1e-12), 1.0)"), only="interpreter"),
        Mutant("norm_after_the_clipping", "unwritten", ("    norm_kernel[grid](x, total, n, BLOCK=block)\n    clip_kernel[grid](x, total, most, n, BLOCK=block)\n", "    clip_kernel[grid](x, total, most, n, BLOCK=block)\n    norm_kernel[grid](x, total, n, BLOCK=block)\n")),
        Mutant("recompilation_named", "property", ("return \"host waits\"", "return \"recompilation\"")),
    ],
}

VARIANTS = {
    "scale_columns": [
        Variant("block_of_256", ("block=1024", "block=256")),
        Variant("eight_columns_fill_a_sector", replace=columns_at_once(8)),
        Variant("tiles_of_32_columns", replace=columns_at_once(32)),
        Variant("a_row_in_a_loop", replace="@triton.jit\ndef scale_columns_kernel(x_ptr, w_ptr, y_ptr, N, BLOCK: tl.constexpr):\n    row = tl.program_id(axis=0).to(tl.int64) * N\n    for start in range(0, N, BLOCK):\n        offs_n = start + tl.arange(0, BLOCK)\n        w = tl.load(w_ptr + offs_n, mask=offs_n < N, other=0.0)\n        x = tl.load(x_ptr + row + offs_n, mask=offs_n < N, other=0.0)\n        tl.store(y_ptr + row + offs_n, x * w, mask=offs_n < N)\n\n\ndef scale_columns(x, w, block=1024):\n    require_contiguous(x, w)\n    M, N = x.shape\n    y = torch.empty_like(x)\n    scale_columns_kernel[(M,)](x, w, y, N, BLOCK=block)\n    return y\n\n\ndef scale_columns_cause():\n    return \"uncoalesced\"\n"),
        Variant("one_long_line", replace="@triton.jit\ndef scale_columns_kernel(x_ptr, w_ptr, y_ptr, n, N, BLOCK: tl.constexpr):\n    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n    mask = offs < n\n    w = tl.load(w_ptr + offs % N, mask=mask, other=0.0)\n    x = tl.load(x_ptr + offs, mask=mask, other=0.0)\n    tl.store(y_ptr + offs, x * w, mask=mask)\n\n\ndef scale_columns(x, w, block=1024):\n    require_contiguous(x, w)\n    y = torch.empty_like(x)\n    scale_columns_kernel[(triton.cdiv(x.numel(), block),)](x, w, y, x.numel(), x.shape[1], BLOCK=block)\n    return y\n\n\ndef scale_columns_cause():\n    return \"uncoalesced\"\n"),
        Variant("one_axis_of_programs", (WALK, WALK.replace("tl.program_id(axis=0).to(tl.int64)", "(tl.program_id(axis=0) // tl.cdiv(N, BLOCK)).to(tl.int64)").replace("tl.program_id(axis=1)", "(tl.program_id(axis=0) % tl.cdiv(N, BLOCK))")), (GRID, "grid = (M * triton.cdiv(N, block),)")),
        Variant("no_lane_for_nothing", (GRID, "block = min(block, triton.next_power_of_2(N))\n    " + GRID)),
        Variant("eight_warps", (LAUNCH, LAUNCH.replace("BLOCK=block", "BLOCK=block, num_warps=8"))),
        Variant("pointers_moved_to_the_row", (WALK, WALK.replace("    offs = m * N + offs_n\n", "    x_ptr += m * N\n    y_ptr += m * N\n    offs = offs_n\n"))),
        Variant("mask_of_rows_and_columns", ("mask = offs_n < N", "mask = (offs_n < N) & (m < M)")),
        Variant("float32_in_between", (STORE, "tl.store(y_ptr + offs, (x.to(tl.float32) * w.to(tl.float32)).to(y_ptr.dtype.element_ty), mask=mask)")),
        Variant("weights_stay_for_16_rows", replace=WALKS_DOWN),
        Variant("four_rows_at_once", replace=ROWS_AT_ONCE),
        Variant("programs_that_stay", replace='@triton.jit\ndef scale_columns_kernel(x_ptr, w_ptr, y_ptr, M, N, BLOCK: tl.constexpr):\n    tiles = tl.cdiv(N, BLOCK)\n    for job in range(tl.program_id(axis=0), M * tiles, tl.num_programs(axis=0)):\n        m = (job // tiles).to(tl.int64)\n        offs_n = job % tiles * BLOCK + tl.arange(0, BLOCK)\n        w = tl.load(w_ptr + offs_n, mask=offs_n < N, other=0.0)\n        x = tl.load(x_ptr + m * N + offs_n, mask=offs_n < N, other=0.0)\n        tl.store(y_ptr + m * N + offs_n, x * w, mask=offs_n < N)\n\n\ndef scale_columns(x, w, block=1024):\n    require_contiguous(x, w)\n    M, N = x.shape\n    y = torch.empty_like(x)\n    if x.numel():\n        scale_columns_kernel[(min(M * triton.cdiv(N, block), 2048),)](x, w, y, M, N, BLOCK=block)\n    return y\n\n\ndef scale_columns_cause():\n    """What ailed the patient: a name of the table."""\n    return "uncoalesced"\n'),
        Variant("tiles_of_16_by_64", replace='@triton.jit\ndef scale_columns_kernel(x_ptr, w_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):\n    offs_m = tl.program_id(axis=1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)\n    offs_n = tl.program_id(axis=0) * BLOCK_N + tl.arange(0, BLOCK_N)\n    mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]\n    w = tl.load(w_ptr + offs_n, mask=offs_n < N, other=0.0)\n    offs = offs_m[:, None] * N + offs_n[None, :]\n    x = tl.load(x_ptr + offs, mask=mask, other=0.0)\n    tl.store(y_ptr + offs, x * w[None, :], mask=mask)\n\n\ndef scale_columns(x, w, block=1024):\n    require_contiguous(x, w)\n    M, N = x.shape\n    y = torch.empty_like(x)\n    grid = (triton.cdiv(N, 64), triton.cdiv(M, 16))\n    scale_columns_kernel[grid](x, w, y, M, N, BLOCK_M=16, BLOCK_N=64)\n    return y\n\n\ndef scale_columns_cause():\n    """What ailed the patient: a name of the table."""\n    return "uncoalesced"\n'),
    ],
    "tall_sums": [
        Variant("rows_of_256", (TALL_GRID, TALL_GRID.replace("512", "256"))),
        Variant("a_program_a_tile", (TALL_GRID, TALL_GRID.replace("512", "32"))),
        Variant("four_warps_more", (TALL_LAUNCH, TALL_LAUNCH.replace("=block)", "=block, num_warps=8)"))),
        Variant("pieces_by_turns", (SPLIT, "    first, last = tl.program_id(axis=1) * BLOCK_M, M\n"), ("range(first, last, BLOCK_M)", "range(first, last, BLOCK_M * tl.num_programs(axis=1))")),
        Variant("whole_tiles_a_piece", (SPLIT, SPLIT.replace("tl.cdiv(M, tl.num_programs(axis=1))", "tl.cdiv(tl.cdiv(M, BLOCK_M), tl.num_programs(axis=1)) * BLOCK_M"))),
        Variant("two_kernels", replace="@triton.jit\ndef parts_kernel(x_ptr, parts_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):\n    offs_n = tl.program_id(axis=0) * BLOCK_N + tl.arange(0, BLOCK_N)\n    offs_m = (tl.program_id(axis=1) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)\n    mask = (offs_m < M)[:, None] & (offs_n < N)[None, :]\n    x = tl.load(x_ptr + offs_m[:, None] * N + offs_n[None, :], mask=mask, other=0.0).to(tl.float32)\n    tl.store(parts_ptr + tl.program_id(axis=1) * N + offs_n, tl.sum(x, axis=0), mask=offs_n < N)\n\n\n@triton.jit\ndef join_kernel(parts_ptr, out_ptr, parts, N, BLOCK_N: tl.constexpr):\n    offs_n = tl.program_id(axis=0) * BLOCK_N + tl.arange(0, BLOCK_N)\n    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)\n    for part in range(0, parts):\n        acc += tl.load(parts_ptr + part * N + offs_n, mask=offs_n < N, other=0.0)\n    tl.store(out_ptr + offs_n, acc, mask=offs_n < N)\n\n\ndef tall_sums(x, block=64):\n    require_contiguous(x)\n    M, N = x.shape\n    parts = triton.cdiv(M, 128)\n    partial = torch.empty((parts, N), dtype=torch.float32, device=x.device)\n    out = torch.empty(N, dtype=torch.float32, device=x.device)\n    parts_kernel[(triton.cdiv(N, block), parts)](x, partial, M, N, BLOCK_M=128, BLOCK_N=block)\n    join_kernel[(triton.cdiv(N, block),)](partial, out, parts, N, BLOCK_N=block)\n    return out\n\n\ndef tall_sums_cause():\n    return \"few programs\"\n"),
        Variant("empty_and_then_zeroed", (ZEROS, EMPTY + "\n    out.zero_()")),
        Variant("larger_tiles_of_rows", (TALL_LAUNCH, TALL_LAUNCH.replace("32", "64"))),
        Variant("pieces_on_the_first_axis", (SPLIT, SPLIT.replace("axis=1", "axis=0")), ("offs_n = tl.program_id(axis=0)", "offs_n = tl.program_id(axis=1)"), (TALL_GRID, "grid = (triton.cdiv(M, 512), triton.cdiv(N, block))")),
        Variant("one_axis_of_programs", ("offs_n = tl.program_id(axis=0) * BLOCK_N", "blocks = tl.cdiv(N, BLOCK_N)\n    offs_n = tl.program_id(axis=0) % blocks * BLOCK_N"), (SPLIT, "    rows = tl.cdiv(M, tl.num_programs(axis=0) // blocks)\n    first = tl.program_id(axis=0) // blocks * rows\n    last = tl.minimum(first + rows, M)\n"), (TALL_GRID, "grid = (triton.cdiv(N, block) * triton.cdiv(M, 512),)")),
        Variant("always_512_rows", (SPLIT, "    first = tl.program_id(axis=1) * 512\n    last = tl.minimum(first + 512, M)\n")),
        Variant("up_to_256_pieces", (TALL_GRID, TALL_GRID.replace("triton.cdiv(M, 512)", "min(triton.cdiv(M, 32), 256)"))),
        Variant("summed_over_rows_at_the_end", ("acc = tl.zeros((BLOCK_N,), dtype=tl.float32)", "acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)"), ("acc += tl.sum(x.to(tl.float32), axis=0)", "acc += x.to(tl.float32)"), (ADD, ADD.replace("acc", "tl.sum(acc, axis=0)"))),
        Variant("end_by_the_mask_alone", ("range(first, last, BLOCK_M)", "range(first, first + rows, BLOCK_M)")),
        Variant("at_least_one_piece", ("grid = (triton.cdiv(N, block), triton.cdiv(M, 512))", "pieces = max(triton.cdiv(M, 512), 1)\n    grid = (triton.cdiv(N, block), pieces)")),
        Variant("last_tile_first", ("offs_m = start + tl.arange(0, BLOCK_M).to(tl.int64)", "offs_m = (first + last - 1 - start) - tl.arange(0, BLOCK_M).to(tl.int64)"), ("(offs_m < last)[:, None]", "((offs_m >= first) & (offs_m < last))[:, None]")),
        Variant("product_with_ones", ("acc += tl.sum(x.to(tl.float32), axis=0)", "ones = tl.full((16, BLOCK_M), 1.0, dtype=x.dtype)\n        acc += tl.max(tl.dot(ones, x, input_precision=\"ieee\"), axis=0)")),
        Variant("added_tile_by_tile", ("        acc += tl.sum(x.to(tl.float32), axis=0)\n", "        tl.atomic_add(out_ptr + offs_n, tl.sum(x.to(tl.float32), axis=0), mask=mask_n)\n"), ("    tl.atomic_add(out_ptr + offs_n, acc, mask=mask_n)\n", "")),
    ],
    "average_step": [
        Variant("block_of_128", ("block=1024", "block=128")),
        Variant("block_by_the_length", (STEP_LAUNCH, "(avg, x, n, decay, BLOCK=block)"), ("    require_contiguous(avg, x)\n", "    require_contiguous(avg, x)\n    block = min(block, triton.next_power_of_2(max(x.numel(), 1)))\n")),
        Variant("step_as_an_argument", (SIGNATURE, SIGNATURE.replace("decay", "step")), (MOVE, "avg + 9 / (10 + step) * (x - avg)"), (STEP_LAUNCH, "(avg, x, n, step, BLOCK=block)")),
        Variant("not_specialised", ("@triton.jit", '@triton.jit(do_not_specialize=["n"])')),
        Variant("decay_in_memory", (MOVE, "avg + (1 - tl.load(decay)) * (x - avg)"), (STEP_LAUNCH, "(avg, x, n, torch.full((1,), decay, device=x.device), BLOCK=block)")),
        Variant("by_its_other_form", (MOVE, "decay * avg + (1 - decay) * x")),
        Variant("what_remains_is_an_argument", (SIGNATURE, SIGNATURE.replace("decay", "rest")), (MOVE, "avg + rest * (x - avg)"), (STEP_LAUNCH, "(avg, x, n, 1 - decay, BLOCK=block)")),
        Variant("arguments_by_name", (STEP_LAUNCH, "(avg_ptr=avg, x_ptr=x, n=n, decay=decay, BLOCK=block)")),
        Variant("four_warps_by_name", (STEP_LAUNCH, "(avg, x, n, decay, BLOCK=block, num_warps=4)")),
        Variant("nothing_specialised", ("@triton.jit", '@triton.jit(do_not_specialize=["n", "decay"])')),
        Variant("fraction_in_two_arguments", (SIGNATURE, SIGNATURE.replace("decay", "up, down")), (MOVE, "avg + (1 - up / down) * (x - avg)"), (STEP_LAUNCH, "(avg, x, n, float(1 + step), float(10 + step), BLOCK=block)")),
        Variant("decay_made_in_the_kernel", (SIGNATURE, SIGNATURE.replace("decay", "step")), (MOVE, "avg + (1 - (1.0 + step) / (10.0 + step)) * (x - avg)"), (STEP_LAUNCH, "(avg, x, n, step, BLOCK=block)")),
        Variant("a_program_walks", ("    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n    mask = offs < n\n", "    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n    mask = (offs < n) & (n > 0)\n")),
        Variant("flag_stays_a_constant", (SIGNATURE, SIGNATURE.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, WIDE: tl.constexpr = True"))),
        Variant("masks_inline", ("tl.store(avg_ptr + offs, avg + (1 - decay) * (x - avg), mask=mask)", "tl.store(avg_ptr + offs, avg + (1 - decay) * (x - avg), mask=offs < n)")),
        Variant("both_weights_of_the_rest", ("average_step_kernel(avg_ptr, x_ptr, n, decay, BLOCK: tl.constexpr)", "average_step_kernel(avg_ptr, x_ptr, n, rest, BLOCK: tl.constexpr)"), ("avg + (1 - decay) * (x - avg)", "avg * (1 - rest) + rest * x"), ("(avg, x, n, decay, BLOCK=block)", "(avg, x, n, 9 / (10 + step), BLOCK=block)")),
        Variant("multiplied_and_added_at_once", ("avg + (1 - decay) * (x - avg)", "tl.fma(x - avg, 1 - decay, avg)")),
        Variant("from_x_back", ("avg + (1 - decay) * (x - avg)", "x + decay * (avg - x)")),
    ],
    "clip_gradient": [
        Variant("new_each_time", ("torch.zeros(1, dtype=torch.float32, device=x.device)", "torch.zeros((), dtype=torch.float32, device=x.device)")),
        Variant("kernel_skips_its_work", (FACTOR, FACTOR + "\n    if factor < 1.0:\n        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)\n        tl.store(x_ptr + offs, x * factor, mask=offs < n)"), ("    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)\n    tl.store(x_ptr + offs, x * factor, mask=offs < n)\n", "")),
        Variant("where", (FACTOR, "norm = tl.sqrt(tl.load(total_ptr))\n    factor = tl.where(norm > most, most / (norm + 1e-12), 1.0)")),
        Variant("looks_at_the_size_alone", (CLIP, "    if n > 0:\n    " + CLIP)),
        Variant("returns_nothing_by_name", (CLIP, CLIP + "    return None\n")),
        Variant("empty_and_then_zeroed", ("torch.zeros(1, dtype=torch.float32, device=x.device)", "torch.empty(1, dtype=torch.float32, device=x.device).zero_()")),
        Variant("larger_of_norm_and_limit", (FACTOR, "factor = most / tl.maximum(tl.sqrt(tl.load(total_ptr)), most)")),
        Variant("squares_compared", (FACTOR, "total = tl.load(total_ptr)\n    factor = tl.where(total > most * most, most / tl.sqrt(total), 1.0)")),
        Variant("norm_named_first", (FACTOR, "norm = tl.sqrt(tl.load(total_ptr))\n    factor = tl.minimum(1.0, most / (norm + 1e-12))")),
        Variant("inverse_root", (FACTOR, "factor = tl.minimum(most * tl.rsqrt(tl.load(total_ptr) + 1e-24), 1.0)")),
        Variant("returns_early", (FACTOR, "total = tl.load(total_ptr)\n    if total <= most * most:\n        return\n    factor = most / tl.sqrt(total)")),
        Variant("block_of_256", ("block=1024", "block=256")),
        Variant("float32_in_between", ("x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)\n    tl.store(x_ptr + offs, x * factor", "x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)\n    tl.store(x_ptr + offs, (x * factor).to(x_ptr.dtype.element_ty)")),
        Variant("a_kernel_for_the_factor", (SIGN[0], "clip_kernel(x_ptr, factor_ptr, most"), (FACTOR, "factor = tl.load(factor_ptr)"), (CLIP, "    factor = torch.empty_like(total)\n    factor_kernel[(1,)](total, factor, most)\n    clip_kernel[grid](x, factor, most, n, BLOCK=block)\n"), ("def clip_gradient(", "@triton.jit\ndef factor_kernel(total_ptr, factor_ptr, most):\n    norm = tl.sqrt(tl.load(total_ptr))\n    tl.store(factor_ptr, tl.minimum(most / (norm + 1e-12), 1.0))\n\n\ndef clip_gradient(")),
        Variant("two_pointers_to_x", ("clip_kernel(x_ptr, total_ptr, most, n", "clip_kernel(x_ptr, y_ptr, total_ptr, most, n"), ("tl.store(x_ptr + offs", "tl.store(y_ptr + offs"), ("clip_kernel[grid](x, total,", "clip_kernel[grid](x, x, total,")),
        Variant("parts_summed_by_each_program", replace='@triton.jit\ndef norm_kernel(x_ptr, parts_ptr, n, BLOCK: tl.constexpr):\n    pid = tl.program_id(axis=0)\n    offs = pid.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)\n    tl.store(parts_ptr + pid, tl.sum(x * x, axis=0))\n\n\n@triton.jit\ndef clip_kernel(x_ptr, parts_ptr, most, n, count, BLOCK: tl.constexpr):\n    total = 0.0\n    for start in range(0, count, BLOCK):\n        each = start + tl.arange(0, BLOCK)\n        total += tl.sum(tl.load(parts_ptr + each, mask=each < count, other=0.0), axis=0)\n    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)\n    factor = tl.minimum(most / (tl.sqrt(total) + 1e-12), 1.0)\n    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)\n    tl.store(x_ptr + offs, x * factor, mask=offs < n)\n\n\ndef clip_gradient(x, most, block=1024):\n    require_contiguous(x)\n    n = x.numel()\n    count = triton.cdiv(n, block)\n    parts = torch.empty(max(count, 1), dtype=torch.float32, device=x.device)\n    if count:\n        norm_kernel[(count,)](x, parts, n, BLOCK=block)\n        clip_kernel[(count,)](x, parts, most, n, count, BLOCK=block)\n\n\ndef clip_gradient_cause():\n    """What ailed the patient: a name of the table."""\n    return "host waits"\n'),
        Variant("one_program_for_all", replace='@triton.jit\ndef clip_kernel(x_ptr, most, n, BLOCK: tl.constexpr):\n    total = 0.0\n    for start in range(0, n, BLOCK):\n        offs = start + tl.arange(0, BLOCK)\n        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)\n        total += tl.sum(x * x, axis=0)\n    factor = tl.minimum(most / (tl.sqrt(total) + 1e-12), 1.0)\n    for start in range(0, n, BLOCK):\n        offs = start + tl.arange(0, BLOCK)\n        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)\n        tl.store(x_ptr + offs, x * factor, mask=offs < n)\n\n\ndef clip_gradient(x, most, block=1024):\n    require_contiguous(x)\n    clip_kernel[(1,)](x, most, x.numel(), BLOCK=block)\n\n\ndef clip_gradient_cause():\n    """What ailed the patient: a name of the table."""\n    return "host waits"\n'),
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
        "out = torch.zeros(N, dtype=torch.float32, device=x.device) => out = torch.zeros(N, dtype=torch.float32)": "the interpreter has one device; on a GPU Triton refuses it by name",
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
