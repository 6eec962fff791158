"""Wrong answers of 40_rope with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

FIRST = "tl.store(y_rows + first * stride_yd, a * cos - b * sin, mask=mask)"
SECOND = "tl.store(y_rows + second * stride_yd, b * cos + a * sin, mask=mask)"
LAUNCH_BACK = "    launch_rope(dq, dk, dq_in, dk_in, cos, sin, interleaved, pos_offset, -1.0)\n"

MUTANTS = {
    "rope": [
        Mutant("wrong_sign_of_sin", "turned-back", (FIRST, FIRST.replace("-", "+")), (SECOND, SECOND.replace("b * cos +", "b * cos -"))),
        Mutant("both_signs_plus", ("wrong-values", "wrong-tail", "one-partner-for-both"), (FIRST, FIRST.replace("-", "+"))),
        Mutant("sine_meets_the_wrong_partner", "one-partner-for-both", (SECOND, SECOND.replace("a * sin", "b * sin"))),
        Mutant("pairings_swapped", "other-pairing", ("    if INTERLEAVED:", "    if not INTERLEAVED:")),
        Mutant("always_half_split", "other-pairing", ("first, second = 2 * offs_p, 2 * offs_p + 1", "first, second = offs_p, offs_p + HALF")),
        Mutant("always_interleaved", "other-pairing", ("first, second = offs_p, offs_p + HALF", "first, second = 2 * offs_p, 2 * offs_p + 1")),
        Mutant("no_pos_offset", "no-offset", ("cos_ptr + (pos_offset + token)", "cos_ptr + token"), ("sin_ptr + (pos_offset + token)", "sin_ptr + token")),
        Mutant("batch_shifts_the_position", ("reads-outside", "rows-after-first"), ("cos_ptr + (pos_offset + token)", "cos_ptr + (pos_offset + token + b)"), ("sin_ptr + (pos_offset + token)", "sin_ptr + (pos_offset + token + b)")),
        Mutant("tables_swapped", "sin-for-cos", ("        q, k, q_out, k_out, cos, sin,\n        pos_offset,", "        q, k, q_out, k_out, sin, cos,\n        pos_offset,")),
        Mutant("mask_forgets_the_heads", ("out-of-bounds-store", "reads-outside"), ("mask = (offs_h < H) & (offs_p < HALF)", "mask = (offs_h >= 0) & (offs_p < HALF)")),
        Mutant("mask_forgets_the_pairs", ("out-of-bounds-store", "reads-outside", "race"), ("mask = (offs_h < H) & (offs_p < HALF)", "mask = (offs_h < H) & (offs_p >= 0)")),
        Mutant("no_mask_where_one_size_fits", ("out-of-bounds-store", "reads-outside"), ("BLOCK_H != H or BLOCK_P", "BLOCK_H != H and BLOCK_P")),
        Mutant("heads_of_q_for_k", ("out-of-bounds-store", "reads-outside", "race"), ("HK, HALF, INTERLEAVED, BLOCK_HK", "H, HALF, INTERLEAVED, BLOCK_HK"), ("BLOCK_HK=triton.next_power_of_2(HK)", "BLOCK_HK=triton.next_power_of_2(H)")),
        Mutant("heads_of_k_for_q", ("unwritten", "unwritten-tail"), ("        H, HALF, INTERLEAVED, BLOCK_H,", "        HK, HALF, INTERLEAVED, BLOCK_H,")),
        Mutant("output_has_the_input_strides", ("out-of-bounds-store", "strided-only", "unwritten", "property"), ("        stride_qh, stride_qd, stride_oh, stride_od,\n", "        stride_qh, stride_qd, stride_qh, stride_qd,\n")),
        Mutant("rows_assumed_contiguous", ("strided-only", "reads-outside"), ("b = tl.load(x_rows + second * stride_xd, mask=mask)", "b = tl.load(x_rows + second, mask=mask)"), ("a = tl.load(x_rows + first * stride_xd, mask=mask)", "a = tl.load(x_rows + first, mask=mask)")),
        Mutant("batch_forgotten", ("unwritten-tail", "unwritten", "race"), ("tl.program_id(1).to(tl.int64)", "0 * tl.program_id(1).to(tl.int64)")),
        Mutant("in_half_precision", ("wrong-values", "wrong-tail"), ("mask=mask).to(tl.float32)\n    b = ", "mask=mask).to(tl.float16)\n    b = ")),
        Mutant("writes_into_q", ("input-changed", "aliases-input"), ("out or (torch.empty_like(q), torch.empty_like(k))", "out or (q, torch.empty_like(k))")),
        Mutant("out_ignored", "property", ("out or (torch.empty_like(q), torch.empty_like(k))", "(torch.empty_like(q), torch.empty_like(k))")),
        Mutant("loads_again_after_a_store", "property", (SECOND, "a = tl.load(x_rows + first * stride_xd, mask=mask).to(tl.float32)\n    " + SECOND)),
        Mutant("out_returned_unwritten", "property", ("    return q_out, k_out", "    return out or (q_out, k_out)"), ("q_out, k_out = out or (torch.empty_like(q), torch.empty_like(k))", "q_out, k_out = torch.empty_like(q), torch.empty_like(k)")),
        Mutant("forgets_k", ("unwritten", "input-changed"), ("        k_ptr + b * stride_kb + token * stride_kl,\n        k_out_ptr + b * stride_pb + token * stride_pl,", "        k_ptr + b * stride_kb + token * stride_kl,\n        k_ptr + b * stride_kb + token * stride_kl,")),
        Mutant("one_program_a_batch", ("unwritten", "unwritten-tail", "rows-after-first"), ("rope_kernel[(L, B)]", "rope_kernel[(L, 1)]")),
        Mutant("no_shape_check", "should-raise", ("    check_rope_inputs(q, k, cos, sin, pos_offset, out)\n", "")),
        Mutant(
            "torch_stand_in",
            "no-kernel-launched",
            replace='''
def launch_rope(*arguments):
    pass


def rope(q, k, cos, sin, interleaved=False, pos_offset=0, out=None):
    check_rope_inputs(q, k, cos, sin, pos_offset)
    return rope_ref(q, k, cos, sin, interleaved, pos_offset)
''',
        ),
    ],
    "rope_backward": [
        Mutant("turns_forwards", "turned-forwards", ("pos_offset, -1.0)", "pos_offset, 1.0)")),
        Mutant("forgets_interleaved", "other-pairing", ("cos, sin, interleaved, pos_offset, -1.0", "cos, sin, False, pos_offset, -1.0")),
        Mutant("forgets_the_offset", "no-offset", ("interleaved, pos_offset, -1.0", "interleaved, 0, -1.0")),
        Mutant("returns_dk_first", ("swapped", "wrong-shape"), ("return dq_in, dk_in", "return dk_in, dq_in")),
        Mutant("returns_dq_alone", "wrong-type", ("return dq_in, dk_in", "return dq_in")),
        Mutant("changes_the_gradients", ("input-changed", "aliases-input"), ("    dq_in, dk_in = torch.empty_like(dq), torch.empty_like(dk)\n", "    dq_in, dk_in = dq, dk\n")),
        Mutant("dk_with_the_shape_of_dq", "wrong-shape", ("torch.empty_like(dk)", "torch.empty_like(dq)")),
        Mutant("turns_the_result_again", ("wrong-launch-count",), (LAUNCH_BACK, LAUNCH_BACK + "    launch_rope(dq_in, dk_in, dq_in, dk_in, cos, sin, interleaved, pos_offset, 1.0)\n")),
        Mutant("no_launch", "no-kernel-launched", (LAUNCH_BACK, "")),
        Mutant("negates_by_torch", "torch-compute", ("cos, sin, interleaved, pos_offset, -1.0", "cos, -sin, interleaved, pos_offset, 1.0")),
        Mutant("always_float32", "wrong-dtype", ("torch.empty_like(dq), torch.empty_like(dk)", "torch.empty_like(dq, dtype=torch.float32), torch.empty_like(dk)")),
        Mutant("no_shape_check", "should-raise", ("    check_rope_inputs(dq, dk, cos, sin, pos_offset)\n", "")),
    ],
}

VARIANTS = {
    "rope": [
        Variant("one_warp", ("num_warps=8", "num_warps=1")),
        Variant("products_by_subtraction", (FIRST, FIRST.replace("a * cos - b * sin", "-(b * sin - a * cos)"))),
        Variant(
            "columns_by_arithmetic",
            ("        first, second = 2 * offs_p, 2 * offs_p + 1\n", "        first = offs_p * 2\n        second = first + 1\n"),
            ("        first, second = offs_p, offs_p + HALF\n", "        first = offs_p\n        second = first + HALF\n"),
        ),
        Variant("contiguous_results", ("torch.empty_like(q), torch.empty_like(k)", "torch.empty(q.shape, dtype=q.dtype, device=q.device), torch.empty(k.shape, dtype=k.dtype, device=k.device)")),
        Variant("twice_the_heads_in_a_tile", ("BLOCK_H=triton.next_power_of_2(H)", "BLOCK_H=2 * triton.next_power_of_2(H)")),
    ],
    "rope_backward": [
        Variant("contiguous_results", ("torch.empty_like(dq), torch.empty_like(dk)", "torch.empty(dq.shape, dtype=dq.dtype, device=dq.device), torch.empty_like(dk)")),
        Variant("results_by_name", ("return dq_in, dk_in", "result = (dq_in, dk_in)\n    return result")),
        Variant("allocates_one_by_one", ("dq_in, dk_in = torch.empty_like(dq), torch.empty_like(dk)", "dq_in = torch.empty_like(dq)\n    dk_in = torch.empty_like(dk)")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "rope": {
        'a = tl.load(x_rows + first * stride_xd, mask=mask).to(tl.float32) => a = tl.load(x_rows + first * stride_xd, mask=mask)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
        'b = tl.load(x_rows + second * stride_xd, mask=mask).to(tl.float32) => b = tl.load(x_rows + second * stride_xd, mask=mask)': "float32 all the same: the other operand is, or a sum or maximum makes it so",
    },
}
