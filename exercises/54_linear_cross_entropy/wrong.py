"""Wrong answers of 54_linear_cross_entropy with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

LOAD = 'tl.load(row_ptr + offs_v, mask=offs_v < V, other=float("-inf"))'
AGAIN = "tl.load(row_ptr + offs_v, mask=offs_v < V).to(tl.float32)"
SUM = "l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(z - m_new), axis=0)"
PICK = "z_target += tl.sum(tl.where(offs_v == target, z, 0.0), axis=0)"
LSE = "lse = m_i + tl.log(l_i)"
LOSS = "tl.store(losses_ptr + pid_t, tl.where(counts, lse - z_target, 0.0))"
DZ = "dz = tl.exp(z - lse) - tl.where(offs_v == target, 1.0, 0.0)"
STORE = "tl.store(row_ptr + offs_v, tl.where(counts, dz, 0.0), mask=offs_v < V)"
FIRST = "    for start in range(0, V, BLOCK_V):\n        offs_v = start + tl.arange(0, BLOCK_V)\n        z = " + LOAD
SECOND = "    for start in range(0, V, BLOCK_V):\n        offs_v = start + tl.arange(0, BLOCK_V)\n        z = " + AGAIN
ZERO = ("padding-counted", "wrong-values", "maximum-not-subtracted")

LOGITS = "z = torch.mm(x[rows], w.T)"
KERNEL = "cross_entropy_in_place(z, targets[rows], losses[rows])"
DX = "torch.mm(z, w, out=dx[rows])"
DW = "dw.addmm_(z.T, x[rows])"

WORD_BY_WORD = """@triton.jit
def cross_entropy_kernel(z_ptr, targets_ptr, losses_ptr, V, stride_zt):
    pid_t = tl.program_id(axis=0).to(tl.int64)
    target = tl.load(targets_ptr + pid_t)
    row_ptr = z_ptr + pid_t * stride_zt
    counts = target >= 0
    m_i, l_i, z_target = -1e38, 0.0, 0.0
    for v in range(0, V):
        z = tl.load(row_ptr + v).to(tl.float32)
        m_new = tl.maximum(m_i, z)
        l_i = l_i * tl.exp(m_i - m_new) + tl.exp(z - m_new)
        m_i = m_new
        z_target += tl.where(v == target, z, 0.0)
    lse = m_i + tl.log(l_i)
    tl.store(losses_ptr + pid_t, tl.where(counts, lse - z_target, 0.0))
    for v in range(0, V):
        dz = tl.exp(tl.load(row_ptr + v).to(tl.float32) - lse) - tl.where(v == target, 1.0, 0.0)
        tl.store(row_ptr + v, tl.where(counts, dz, 0.0))


def cross_entropy_in_place(logits, targets, losses, block=8192):
    require_rows(logits, targets, losses)
    T, V = logits.shape
    if T > 0:
        cross_entropy_kernel[(T,)](logits, targets, losses, V, logits.stride(0))
"""

MUTANTS = {
    "cross_entropy_in_place": [
        Mutant("starts_at_minus_50000", "starts-too-high", ("m_i, l_i, z_target = -1e38", "m_i, l_i, z_target = -50000.0")),
        Mutant("padding_at_minus_10000", "padding-too-high", ('other=float("-inf")', "other=-1e4")),
        Mutant("lse_without_maximum", "lse-without-maximum", (LSE, "lse = tl.log(l_i)")),
        Mutant("maximum_not_subtracted", "maximum-not-subtracted", ("m_i, l_i, z_target = -1e38", "m_i, l_i, z_target = 0.0"), ("m_new = tl.maximum(m_i, tl.max(z, axis=0))", "m_new = m_i")),
        Mutant("not_rescaled", "not-rescaled", (SUM, SUM.replace(" * tl.exp(m_i - m_new)", ""))),
        Mutant("maximum_updated_first", "not-rescaled", (SUM, "m_i = m_new\n        " + SUM)),
        Mutant("masked_lanes_are_zero", "padding-counted", (LOAD, LOAD.replace('float("-inf")', "0.0"))),
        Mutant("other_forgotten", "padding-counted", (LOAD, LOAD.replace(', other=float("-inf")', "")), only="interpreter"),
        Mutant("sum_of_the_last_tile", ("last-tile-only", "wrong-values"), (SUM, "l_i = tl.sum(tl.exp(z - m_new), axis=0)")),
        Mutant("first_tile_only", "first-tile-only", (FIRST, FIRST.replace("range(0, V", "range(0, BLOCK_V"))),
        Mutant("maximum_of_the_tile_alone", "starts-at-minus-infinity", ("m_new = tl.maximum(m_i, tl.max(z, axis=0))", "m_new = tl.max(z, axis=0)")),
        Mutant("lse_by_a_product", "lse-is-a-product", (LSE, LSE.replace("m_i +", "m_i *"))),
        Mutant("logarithm_of_both", "log-of-both", (LSE, "lse = tl.log(m_i + l_i)")),
        Mutant("minus_100_alone", "everybody-counts", ("counts = target >= 0", "counts = target != -100")),
        Mutant("returns_for_a_skipped_token", "skipped-as-they-were", ("counts = target >= 0", "counts = target >= 0\n    if target < 0:\n        return")),
        Mutant("skipped_gradient_not_stored", "skipped-as-they-were", (STORE, STORE.replace("tl.where(counts, dz, 0.0), mask=offs_v < V", "dz, mask=(offs_v < V) & counts"))),
        Mutant("one_is_added", "one-added", (DZ, DZ.replace("- tl.where", "+ tl.where"))),
        Mutant("exp_over_lse", "divided-by-lse", (DZ, DZ.replace("tl.exp(z - lse)", "tl.exp(z) / lse"))),
        Mutant("shifted_exp_over_lse", "divided-by-lse-too", (DZ, DZ.replace("tl.exp(z - lse)", "tl.exp(z - m_i) / lse"))),
        Mutant("logarithm_of_the_softmax", "no-exponential", (DZ, DZ.replace("tl.exp(z - lse)", "(z - lse)"))),
        Mutant("exponent_turned_round", "exponent-backwards", (DZ, DZ.replace("z - lse", "lse - z"))),
        Mutant("minus_infinity_beside_it", "minus-infinity-beside-the-target", (PICK, PICK.replace("z, 0.0", 'z, float("-inf")'))),
        Mutant("last_tile_left_out", "wrong-values", (FIRST, FIRST.replace("range(0, V", "range(0, V - BLOCK_V + 1"))),
        Mutant("logarithm_forgotten", "log-forgotten", (LSE, "lse = m_i + l_i")),
        Mutant("gradient_in_the_first_walk", "lse-of-the-tiles-so-far", (PICK, f"{PICK}\n        {DZ.replace('tl.exp(z - lse)', 'tl.exp(z - m_i) / l_i')}\n        tl.store(row_ptr + offs_v, tl.where(target >= 0, dz, 0.0), mask=offs_v < V)"), (f"{SECOND}\n        {DZ}\n        {STORE}\n", "")),
        Mutant("rescaled_the_wrong_way", "nan", (SUM, SUM.replace("m_i - m_new)", "m_new - m_i)", 1))),
        Mutant("one_everywhere", "one-everywhere", (DZ, "dz = tl.exp(z - lse) - 1.0")),
        Mutant("one_up_to_the_target", "wrong-values", (DZ, DZ.replace("offs_v == target", "offs_v <= target"))),
        Mutant("mean_of_losses", "mean-of-losses", (LOSS, LOSS.replace("lse - z_target", "(lse - z_target) / tl.num_programs(0)"))),
        Mutant("target_read_after_the_walk", "target-overwritten", (LOSS, "pass"), (STORE, f"{STORE}\n    z_target = tl.load(row_ptr + target, mask=counts, other=0.0).to(tl.float32)\n    {LOSS}")),
        Mutant("word_by_word", "property", replace=WORD_BY_WORD, only="interpreter"),
        Mutant("sum_not_shifted", "sum-not-shifted", (SUM, SUM.replace("z - m_new", "z"))),
        Mutant("offsets_of_the_first_walk", "last-tile-again", (SECOND, SECOND.replace("        offs_v = start + tl.arange(0, BLOCK_V)\n", "")), on_gpu=("does-not-compile",)),
        Mutant("offsets_without_start", "first-tile-again", (SECOND, SECOND.replace("start + tl.arange", "tl.arange"))),
        Mutant("not_loaded_again", "not-loaded-again", (f"        z = {AGAIN}\n", "")),
        Mutant("log2", "log-base-two", (LSE, LSE.replace("tl.log(", "tl.log2("))),
        Mutant("everybody_counts", "everybody-counts", ("counts = target >= 0", "counts = target >= -1000")),
        Mutant("word_0_does_not_count", "zeros", ("counts = target >= 0", "counts = target > 0")),
        Mutant("softmax_left", "everybody-counts", (STORE, STORE.replace("tl.where(counts, dz, 0.0)", "dz"))),
        Mutant("loss_of_all", "everybody-counts", (LOSS, LOSS.replace("tl.where(counts, lse - z_target, 0.0)", "lse - z_target"))),
        Mutant("softmax_alone", "no-one-subtracted", (DZ, "dz = tl.exp(z - lse)")),
        Mutant("one_in_every_tile", "one-in-every-tile", (DZ, DZ.replace("offs_v ==", "tl.arange(0, BLOCK_V) =="))),
        Mutant("target_of_a_tile", "target-of-another-tile", (PICK, PICK.replace("offs_v ==", "tl.arange(0, BLOCK_V) =="))),
        Mutant("gradient_backwards", "gradient-backwards", (STORE, STORE.replace("dz, 0.0", "-dz, 0.0"))),
        Mutant("target_not_subtracted", "target-not-subtracted", (LOSS, LOSS.replace("lse - z_target", "lse"))),
        Mutant("target_of_the_last_tile", "target-of-the-last-tile", (PICK, PICK.replace("+=", "="))),
        Mutant("loss_backwards", "loss-backwards", (LOSS, LOSS.replace("lse - z_target", "z_target - lse"))),
        Mutant("softmax_of_the_sum", ("wrong-values", "nan", "overflow"), (DZ, DZ.replace("z - lse", "z - l_i"))),
        Mutant("starts_at_minus_infinity", "starts-at-minus-infinity", ("z_target = -1e38", 'z_target = float("-inf")')),
        Mutant("no_mask_at_the_store", ("rows-after-first", "out-of-bounds-store"), (STORE, STORE.replace(", mask=offs_v < V", ""))),
        Mutant("no_mask_at_the_second_load", "reads-outside", (AGAIN, "tl.load(row_ptr + offs_v).to(tl.float32)"), only="interpreter"),
        Mutant("always_the_first_row", ("wrong-values", "rows-after-first", "race", "unwritten-tail"), ("row_ptr = z_ptr + pid_t * stride_zt", "row_ptr = z_ptr")),
        Mutant("rows_are_v_apart", ("strided-only", "wrong-values"), ("pid_t * stride_zt", "pid_t * V")),
        Mutant("second_walk_stops_early", ("wrong-values", "unwritten-tail", "wrong-tail"), (SECOND, SECOND.replace("range(0, V", "range(0, BLOCK_V"))),
        Mutant("losses_by_torch", ("torch-compute", "no-kernel-launched", "input-changed"), replace="def cross_entropy_in_place(logits, targets, losses, block=8192):\n    require_rows(logits, targets, losses)\n    counts = targets >= 0\n    losses.copy_(torch.nn.functional.cross_entropy(logits.float(), targets.clamp(min=0), reduction='none') * counts)\n    dz = logits.float().softmax(-1)\n    dz[torch.arange(len(dz)), targets.clamp(min=0)] -= 1\n    logits.copy_(dz * counts[:, None])\n"),
    ],
    "linear_cross_entropy": [
        Mutant("only_the_last_piece", "last-piece-only", (DW, "torch.mm(z.T, x[rows], out=dw)")),
        Mutant("first_rows_of_x", "first-rows-of-x", (DW, "dw.addmm_(z.T, x[: len(z)])")),
        Mutant("products_before_the_kernel", "products-of-logits", (f"        {KERNEL}\n", ""), (DW, f"{DW}\n        {KERNEL}")),
        Mutant("all_logits_at_once", "property", (f"    for start in range(0, T, piece):\n        rows = slice(start, start + piece)\n        {LOGITS}\n        {KERNEL}\n        {DX}\n        {DW}\n", f"    rows = slice(0, T)\n    {LOGITS}\n    {KERNEL}\n    {DX}\n    {DW}\n")),
        Mutant("all_logits_first", "property", ("    for start in range(0, T, piece):\n", "    logits = torch.mm(x, w.T)\n    for start in range(0, T, piece):\n"), (LOGITS, "z = logits[rows]")),
        Mutant("all_pieces_first", "property", ("    for start in range(0, T, piece):\n", "    logits = [torch.mm(part, w.T) for part in x.split(piece)]\n    for start in range(0, T, piece):\n"), (LOGITS, "z = logits[start // piece]")),
        Mutant("pieces_kept", "property", ("    for start in range(0, T, piece):\n", "    kept = []\n    for start in range(0, T, piece):\n"), (LOGITS, f"{LOGITS}\n        kept.append(z)")),
        Mutant("piece_ignored", "property", ("range(0, T, piece)", "range(0, T, 256)"), ("start + piece", "start + 256")),
        Mutant("a_row_too_many", "a-row-too-many", ("start + piece", "start + piece + 1")),
        Mutant("gradient_of_a_copy", "products-of-logits", (KERNEL, KERNEL.replace("(z,", "(z.clone(),"))),
        Mutant("a_piece_at_every_token", "at-every-token", ("range(0, T, piece)", "range(0, T)")),
        Mutant("added_to_fresh_memory", "nan", (DX, "dx[rows].addmm_(z, w)")),
        Mutant("last_piece_left_out", ("wrong-values", "unwritten-tail", "unwritten"), ("range(0, T, piece)", "range(0, T - piece + 1, piece)")),
        Mutant("losses_of_the_first_piece", ("wrong-values", "unwritten-tail", "unwritten"), (KERNEL, "cross_entropy_in_place(z, targets[rows], losses[: len(z)])")),
        Mutant("targets_of_the_first_piece", ("wrong-values", "wrong-tail"), (KERNEL, "cross_entropy_in_place(z, targets[: len(z)], losses[rows])")),
        Mutant("dx_into_the_first_rows", ("unwritten-tail", "unwritten", "wrong-values"), (DX, "torch.mm(z, w, out=dx[: len(z)])")),
        Mutant("steps_of_one", ("unwritten", "wrong-values", "unwritten-tail"), ("slice(start, start + piece)", "slice(start, start + 1)")),
        Mutant("wrong_order", ("raised",), (DW, "dw.addmm_(x[rows].T, z)")),
        Mutant("dw_not_added", ("zeros", "constant-factor", "wrong-values"), (f"        {DW}\n", "")),
        Mutant("uninitialised", ("nan", "wrong-values", "unwritten"), ("torch.zeros_like(w)", "torch.empty_like(w)")),
        Mutant("returned_in_another_order", ("wrong-shape", "wrong-type", "wrong-dtype", "swapped"), ("return losses, dx, dw", "return losses, dw, dx")),
        Mutant("torch_stand_in", ("no-kernel-launched", "torch-compute"), replace="def linear_cross_entropy(x, w, targets, piece=256):\n    if w.shape[1] != x.shape[1]:\n        raise ValueError('sizes')\n    z = x @ w.T\n    dz = z.float().softmax(-1)\n    dz[torch.arange(len(dz)), targets] -= 1\n    return torch.nn.functional.cross_entropy(z.float(), targets, reduction='none'), dz.to(x.dtype) @ w, dz.T.to(x.dtype) @ x\n"),
    ],
}

VARIANTS = {
    "cross_entropy_in_place": [
        Variant("softmax_from_the_sum", (DZ, DZ.replace("tl.exp(z - lse)", "tl.exp(z - m_i) / l_i"))),
        Variant("four_warps", ("num_warps=16", "num_warps=4")),
        Variant("one_by_cast", (DZ, "dz = tl.exp(z - lse) - (offs_v == target).to(tl.float32)")),
        Variant("counts_by_product", (STORE, "tl.store(row_ptr + offs_v, dz * counts.to(tl.float32), mask=offs_v < V)")),
        Variant("target_by_its_address", (PICK, "pass"), (LSE, LSE + "\n    z_target = tl.load(row_ptr + target, mask=target >= 0, other=0.0).to(tl.float32)")),
        Variant("target_by_a_maximum", ("z_target = -1e38, 0.0, 0.0", "z_target = -1e38, 0.0, -1e38"), (PICK, "z_target = tl.maximum(z_target, tl.max(tl.where(offs_v == target, z, -1e38), axis=0))")),
        Variant("returns_early", ("    m_i, l_i, z_target = -1e38, 0.0, 0.0", "    m_i, l_i, z_target = -1e38, 0.0, 0.0  # nothing else")),
        Variant("small_tiles", ("block=8192", "block=64")),
        Variant("other_in_the_second_walk", (AGAIN, AGAIN.replace("mask=offs_v < V", "mask=offs_v < V, other=0.0"))),
    ],
    "linear_cross_entropy": [
        Variant("logits_by_operator", (LOGITS, "z = x[rows] @ w.T")),
        Variant("dx_by_copy", (DX, "dx[rows] = z @ w")),
        Variant("dw_by_operator", (DW, "dw += z.T @ x[rows]")),
        Variant("one_memory_for_all", ("    for start in range(0, T, piece):\n", "    memory = torch.empty((piece, w.shape[0]), dtype=x.dtype, device=x.device)\n    for start in range(0, T, piece):\n"), (LOGITS, "z = torch.mm(x[rows], w.T, out=memory[: min(piece, T - start)])")),
        Variant("old_piece_let_go", (DW, f"{DW}\n        del z")),
        Variant("dw_in_float32", ("    for start in range(0, T, piece):\n", "    wide = torch.zeros(w.shape, dtype=torch.float32, device=w.device)\n    for start in range(0, T, piece):\n"), (f"        {DW}\n", "        wide += torch.mm(z.T, x[rows])\n    dw.copy_(wide)\n")),
        Variant("end_by_min", ("slice(start, start + piece)", "slice(start, min(start + piece, T))")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "cross_entropy_in_place": {
        'z = z.to(tl.float32) => z = z': "float32 all the same: m_new is, and it meets every z",
        'z = z.to(tl.float32) m_new = tl.maximum(m_i, tl.max(z, axis=0)) => m_new = tl.maximum(m_i, tl.max(z, axis=0)) z = z.to(tl.float32)': "the maximum is float32 all the same: m_i is",
        'z = z.to(tl.float32) => pass': "float32 all the same: m_new is, and it meets every z",
        'z = tl.load(row_ptr + offs_v, mask=offs_v < V).to(tl.float32) => z = tl.load(row_ptr + offs_v, mask=offs_v < V)': "float32 all the same: lse is",
        'm_new = tl.maximum(m_i, tl.max(z, axis=0)) => m_new = tl.maximum(m_i, tl.max(z))': "a tile of one dimension has one axis",
        'l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(z - m_new), axis=0) => l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(z - m_new))': "a tile of one dimension has one axis",
        'z_target += tl.sum(tl.where(offs_v == target, z, 0.0), axis=0) => z_target += tl.sum(tl.where(offs_v == target, z, 0.0))': "a tile of one dimension has one axis",
        'dz = tl.exp(z - lse) - tl.where(offs_v == target, 1.0, 0.0) => dz = tl.exp(z - lse) - tl.where(1.0, offs_v == target, 0.0)': "the condition 1.0 is true, so what is taken is the comparison: 1 at the target, else 0",
    },
    "linear_cross_entropy": {
        'torch.mm(z, w, out=dx[rows]) dw.addmm_(z.T, x[rows]) => dw.addmm_(z.T, x[rows]) torch.mm(z, w, out=dx[rows])': "the two products do not touch each other's results",
    },
}
