"""Wrong answers of 40_rope with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

INTERLEAVED = "first, second = 2 * offs_p, 2 * offs_p + 1"
HALF_SPLIT = "first, second = offs_p, offs_p + HALF"
LOAD_A = "a = tl.load(x_rows + first * stride_xd, mask=mask).to(tl.float32)"
LOAD_B = "b = tl.load(x_rows + second * stride_xd, mask=mask).to(tl.float32)"
FIRST = "tl.store(y_rows + first * stride_yd, a * cos - b * sin, mask=mask)"
SECOND = "tl.store(y_rows + second * stride_yd, b * cos + a * sin, mask=mask)"
BOTH = FIRST + "\n    " + SECOND
LAUNCH_BACK = "    launch_rope(dq, dk, dq_in, dk_in, cos, sin, interleaved, pos_offset, -1.0)\n"

# Whole rows, taken apart in registers: the page says that it is the way out.
WHOLE_ROWS = '''
@triton.jit
def turn_heads(
    x_ptr, y_ptr, cos, sin,
    stride_xh, stride_xd,
    stride_yh, stride_yd,
    H: tl.constexpr, HALF: tl.constexpr, INTERLEAVED: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_P: tl.constexpr,
):
    offs_h = tl.arange(0, BLOCK_H)[:, None]
    offs_d = tl.arange(0, 2 * BLOCK_P)[None, :]
    if INTERLEAVED:
        cols = offs_d
    else:
        cols = offs_d // 2 + offs_d % 2 * HALF
    mask = (offs_h < H) & (offs_d < 2 * HALF)
    x = tl.load(x_ptr + offs_h * stride_xh + cols * stride_xd, mask=mask).to(tl.float32)
    a, b = tl.split(tl.reshape(x, [BLOCK_H, BLOCK_P, 2]))
    y = tl.reshape(tl.join(a * cos - b * sin, b * cos + a * sin), [BLOCK_H, 2 * BLOCK_P])
    tl.store(y_ptr + offs_h * stride_yh + cols * stride_yd, y, mask=mask)


'''


def instead(text):
    """Edits that take another `turn_heads`, defined as `text`, in place of the page's."""
    named = text.replace("def turn_heads(", "def turn_whole_rows(")
    return (
        ("@triton.jit\ndef rope_kernel(", named.strip() + "\n\n\n@triton.jit\ndef rope_kernel("),
        ("    turn_heads(\n        q_ptr", "    turn_whole_rows(\n        q_ptr"),
        ("    turn_heads(\n        k_ptr", "    turn_whole_rows(\n        k_ptr"),
    )


MUTANTS = {
    "rope": [
        Mutant("turned_back", "wrong-sign", (FIRST, FIRST.replace("-", "+")), (SECOND, SECOND.replace("b * cos +", "b * cos -"))),
        Mutant("both_signs_plus", "wrong-sign-first", (FIRST, FIRST.replace("-", "+"))),
        Mutant("both_signs_minus", "wrong-sign-second", (SECOND, SECOND.replace("b * cos +", "b * cos -"))),
        Mutant("sine_meets_the_wrong_partner", "sine-of-the-other-second", (SECOND, SECOND.replace("a * sin", "b * sin"))),
        Mutant("sine_meets_the_wrong_partner_first", "sine-of-the-other-first", (FIRST, FIRST.replace("b * sin", "a * sin"))),
        Mutant("cosine_meets_the_wrong_partner", "cosine-of-the-other-second", (SECOND, SECOND.replace("b * cos", "a * cos"))),
        Mutant("cos_and_sin_swapped", "sin-for-cos", (FIRST, FIRST.replace("a * cos - b * sin", "a * sin - b * cos")), (SECOND, SECOND.replace("b * cos + a * sin", "b * sin + a * cos"))),
        Mutant("no_sine", "no-sine", (FIRST, FIRST.replace(" - b * sin", "")), (SECOND, SECOND.replace(" + a * sin", ""))),
        Mutant("second_from_the_new_a", "new-a", (FIRST, "a = a * cos - b * sin\n    " + FIRST.replace("a * cos - b * sin", "a"))),
        Mutant("first_from_the_new_b", "new-b", (BOTH, "b = b * cos + a * sin\n    " + SECOND.replace("b * cos + a * sin", "b") + "\n    " + FIRST)),
        Mutant("results_swapped", "results-swapped", (FIRST, FIRST.replace("first", "second")), (SECOND, SECOND.replace("second", "first"))),
        Mutant("stored_as_loaded", "not-turned", (FIRST, FIRST.replace("a * cos - b * sin", "a")), (SECOND, SECOND.replace("b * cos + a * sin", "b"))),
        Mutant("both_results_into_first", "second-into-first", (SECOND, SECOND.replace("second", "first"))),
        Mutant("only_the_first_result", "second-unwritten", (SECOND, "pass")),
        Mutant("b_from_the_columns_of_a", "first-for-both", (LOAD_B, LOAD_B.replace("second", "first"))),
        Mutant("a_and_b_swapped", "partners-swapped", (LOAD_A, LOAD_A.replace("first", "second")), (LOAD_B, LOAD_B.replace("second", "first"))),
        Mutant("b_without_its_columns", "b-from-one-column-0", (LOAD_B, LOAD_B.replace(" + second * stride_xd", ""))),
        Mutant("stride_added", "a-one-further", (LOAD_A, LOAD_A.replace("first * stride_xd", "first + stride_xd"))),
        Mutant("pairings_swapped", "other-pairing", ("    if INTERLEAVED:", "    if not INTERLEAVED:")),
        Mutant("always_half_split", "other-pairing", (INTERLEAVED, "first, second = offs_p + 0, offs_p + HALF")),
        Mutant("always_interleaved", "other-pairing", (HALF_SPLIT, "first, second = 2 * offs_p, 1 + 2 * offs_p")),
        Mutant("columns_swapped", "wrong-sign", (HALF_SPLIT, "first, second = offs_p + HALF, offs_p"), (INTERLEAVED, "first, second = 2 * offs_p + 1, 2 * offs_p")),
        Mutant("interleaved_pairs_overlap", "interleaved-columns-0", (INTERLEAVED, "first, second = offs_p, offs_p + 1")),
        Mutant("interleaved_twice_the_first", "interleaved-columns-1", (INTERLEAVED, "first, second = offs_p, 2 * offs_p")),
        Mutant("second_is_first", "same-columns", (HALF_SPLIT, "first, second = offs_p, offs_p")),
        Mutant("half_of_the_tile", ("out-of-bounds-store", "reads-outside"), (HALF_SPLIT, HALF_SPLIT.replace("HALF", "BLOCK_P"))),
        Mutant("interleaved_one_too_far", ("out-of-bounds-store", "reads-outside"), (INTERLEAVED, "first, second = 2 * offs_p + 1, 2 * offs_p + 2")),
        Mutant("heads_forgotten", "rows-moved", (LOAD_A, LOAD_A.replace("x_rows", "x_ptr")), (LOAD_B, LOAD_B.replace("x_rows", "x_ptr"))),
        Mutant("heads_added_twice", "reads-outside", (LOAD_A, LOAD_A.replace("x_rows", "x_rows + offs_h * stride_xh")), (LOAD_B, LOAD_B.replace("x_rows", "x_rows + offs_h * stride_xh"))),
        Mutant("in_half_precision", "in-half-precision", (LOAD_A, LOAD_A.replace(".to(tl.float32)", "")), (LOAD_B, LOAD_B.replace(".to(tl.float32)", "")), (FIRST, FIRST.replace("cos", "cos.to(a.dtype)").replace("sin", "sin.to(a.dtype)")), (SECOND, SECOND.replace("cos", "cos.to(a.dtype)").replace("sin", "sin.to(a.dtype)")), on_gpu=("wrong-values",)),
        Mutant("loads_without_column_stride", ("strided-only", "reads-outside"), (LOAD_A, LOAD_A.replace(" * stride_xd", "")), (LOAD_B, LOAD_B.replace(" * stride_xd", ""))),
        Mutant("stores_without_column_stride", ("strided-only", "out-of-bounds-store", "race"), (FIRST, FIRST.replace(" * stride_yd", "")), (SECOND, SECOND.replace(" * stride_yd", ""))),
        Mutant("stores_with_the_stride_of_x", "property", (FIRST, FIRST.replace("stride_yd", "stride_xd")), (SECOND, SECOND.replace("stride_yd", "stride_xd"))),
        Mutant("loads_with_the_stride_of_y", "property", (LOAD_A, LOAD_A.replace("stride_xd", "stride_yd")), (LOAD_B, LOAD_B.replace("stride_xd", "stride_yd"))),
        Mutant("no_mask_at_the_loads", "reads-outside", (LOAD_A, LOAD_A.replace(", mask=mask", "")), (LOAD_B, LOAD_B.replace(", mask=mask", ""))),
        Mutant("no_mask_at_the_stores", ("out-of-bounds-store", "race"), (FIRST, FIRST.replace(", mask=mask", "")), (SECOND, SECOND.replace(", mask=mask", ""))),
        Mutant("loads_again_after_a_store", "property", (SECOND, LOAD_A + "\n    " + SECOND)),
        # what the page gives
        Mutant("mask_forgets_the_heads", ("out-of-bounds-store", "reads-outside"), ("mask = (offs_h < H) & (offs_p < HALF)", "mask = (offs_h >= 0) & (offs_p < HALF)")),
        Mutant("mask_forgets_the_pairs", ("out-of-bounds-store", "reads-outside", "race"), ("mask = (offs_h < H) & (offs_p < HALF)", "mask = (offs_h < H) & (offs_p >= 0)")),
        Mutant("no_pos_offset", "no-offset", ("cos_ptr + (pos_offset + token)", "cos_ptr + token"), ("sin_ptr + (pos_offset + token)", "sin_ptr + token")),
        Mutant("batch_shifts_the_position", ("reads-outside", "rows-after-first"), ("cos_ptr + (pos_offset + token)", "cos_ptr + (pos_offset + token + b)"), ("sin_ptr + (pos_offset + token)", "sin_ptr + (pos_offset + token + b)")),
        Mutant("tables_swapped", "sin-for-cos", ("        q, k, q_out, k_out, cos, sin,\n        pos_offset,", "        q, k, q_out, k_out, sin, cos,\n        pos_offset,")),
        Mutant("heads_of_q_for_k", ("out-of-bounds-store", "reads-outside", "race"), ("HK, HALF, INTERLEAVED, BLOCK_HK", "H, HALF, INTERLEAVED, BLOCK_HK"), ("BLOCK_HK=triton.next_power_of_2(HK)", "BLOCK_HK=triton.next_power_of_2(H)")),
        Mutant("heads_of_k_for_q", ("unwritten", "unwritten-tail"), ("        H, HALF, INTERLEAVED, BLOCK_H,", "        HK, HALF, INTERLEAVED, BLOCK_H,")),
        Mutant("output_has_the_input_strides", ("out-of-bounds-store", "strided-only", "unwritten", "property"), ("        stride_qh, stride_qd, stride_oh, stride_od,\n", "        stride_qh, stride_qd, stride_qh, stride_qd,\n")),
        Mutant("batch_forgotten", ("unwritten-tail", "unwritten", "race"), ("tl.program_id(1).to(tl.int64)", "0 * tl.program_id(1).to(tl.int64)")),
        Mutant("writes_into_q", ("input-changed", "aliases-input"), ("out or (torch.empty_like(q), torch.empty_like(k))", "out or (q, torch.empty_like(k))")),
        Mutant("out_ignored", "property", ("out or (torch.empty_like(q), torch.empty_like(k))", "(torch.empty_like(q), torch.empty_like(k))")),
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
        Mutant("tables_swapped", "sin-for-cos", ("dk_in, cos, sin,", "dk_in, sin, cos,")),
        Mutant("no_sign_but_a_factor", "not-a-sign", ("pos_offset, -1.0)", "pos_offset, -2.0)")),
        Mutant("forgets_interleaved", "other-pairing", ("cos, sin, interleaved, pos_offset, -1.0", "cos, sin, False, pos_offset, -1.0")),
        Mutant("forgets_the_offset", "no-offset", ("interleaved, pos_offset, -1.0", "interleaved, 0, -1.0")),
        Mutant("returns_dk_first", ("swapped", "wrong-shape"), ("return dq_in, dk_in", "return dk_in, dq_in")),
        Mutant("launches_dk_first", ("swapped", "wrong-shape", "out-of-bounds-store"), ("launch_rope(dq, dk,", "launch_rope(dk, dq,")),
        Mutant("one_tensor_for_both", ("swapped", "wrong-shape"), ("dq_in, dk_in = torch.empty_like(dq), torch.empty_like(dk)", "dq_in = dk_in = torch.empty_like(dq)")),
        Mutant("returns_dq_alone", "wrong-type", ("return dq_in, dk_in", "return dq_in")),
        Mutant("returns_what_it_got", "unchanged", ("return dq_in, dk_in", "return dq, dk")),
        Mutant("changes_the_gradients", ("input-changed", "aliases-input"), ("    dq_in, dk_in = torch.empty_like(dq), torch.empty_like(dk)\n", "    dq_in, dk_in = dq, dk\n")),
        Mutant("dk_with_the_shape_of_dq", "wrong-shape", ("torch.empty_like(dk)", "torch.empty_like(dq)")),
        Mutant("turns_the_result_again", "wrong-launch-count", (LAUNCH_BACK, LAUNCH_BACK + "    launch_rope(dq_in, dk_in, dq_in, dk_in, cos, sin, interleaved, pos_offset, 1.0)\n")),
        Mutant("no_launch", "no-kernel-launched", (LAUNCH_BACK, "")),
        Mutant("negates_by_torch", "torch-compute", ("cos, sin, interleaved, pos_offset, -1.0", "cos, -sin, interleaved, pos_offset, 1.0")),
        Mutant("always_float32", "wrong-dtype", ("torch.empty_like(dq), torch.empty_like(dk)", "torch.empty_like(dq, dtype=torch.float32), torch.empty_like(dk)")),
        Mutant("no_shape_check", "should-raise", ("    check_rope_inputs(dq, dk, cos, sin, pos_offset)\n", "")),
    ],
}

VARIANTS = {
    "rope": [
        Variant("one_warp", ("num_warps=min(8, max(1, BLOCK_H * BLOCK_P // 256))", "num_warps=1")),
        Variant("products_by_subtraction", (FIRST, FIRST.replace("a * cos - b * sin", "-(b * sin - a * cos)"))),
        Variant(
            "columns_by_arithmetic",
            ("        " + INTERLEAVED, "        first = offs_p * 2\n        second = first + 1"),
            ("        " + HALF_SPLIT, "        first = offs_p\n        second = first + HALF"),
        ),
        Variant("results_before_the_stores", (FIRST, "new_a, new_b = a * cos - b * sin, b * cos + a * sin\n    " + FIRST.replace("a * cos - b * sin", "new_a")), (SECOND, SECOND.replace("b * cos + a * sin", "new_b"))),
        Variant("second_store_first", (BOTH, SECOND + "\n    " + FIRST)),
        Variant("addresses_from_the_start", (LOAD_A, LOAD_A.replace("x_rows", "x_ptr + offs_h * stride_xh")), (SECOND, SECOND.replace("y_rows", "y_ptr + offs_h * stride_yh"))),
        Variant("whole_rows", *instead(WHOLE_ROWS)),
        Variant("contiguous_results", ("torch.empty_like(q), torch.empty_like(k)", "torch.empty(q.shape, dtype=q.dtype, device=q.device), torch.empty(k.shape, dtype=k.dtype, device=k.device)")),
        Variant("twice_the_heads_in_a_tile", ("BLOCK_H=BLOCK_H", "BLOCK_H=2 * BLOCK_H")),
    ],
    "rope_backward": [
        Variant("contiguous_results", ("torch.empty_like(dq), torch.empty_like(dk)", "torch.empty(dq.shape, dtype=dq.dtype, device=dq.device), torch.empty_like(dk)")),
        Variant("results_by_name", ("return dq_in, dk_in", "result = (dq_in, dk_in)\n    return result")),
        Variant("allocates_one_by_one", ("dq_in, dk_in = torch.empty_like(dq), torch.empty_like(dk)", "dq_in = torch.empty_like(dq)\n    dk_in = torch.empty_like(dk)")),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
PRODUCT = "the other factors, cos and sin, are float32, and so is the product"
EQUIVALENT = {
    "rope": {
        f"{LOAD_A} => {LOAD_A.removesuffix('.to(tl.float32)')}": PRODUCT,
        f"{LOAD_B} => {LOAD_B.removesuffix('.to(tl.float32)')}": PRODUCT,
    },
}
