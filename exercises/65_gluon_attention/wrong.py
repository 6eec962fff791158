"""Wrong answers of 65_gluon_attention with the diagnosis each must get, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

SLOT = "    slot, phase = number % SLOTS, number // SLOTS % 2\n"
EMPTY = "    mbarrier.wait(empty.index(slot), phase ^ 1)\n"
EXPECT = "    mbarrier.expect(full.index(slot), desc.block_type.nbytes)\n"
COPY = "    tma.async_copy_global_to_shared(desc, place, full.index(slot), tiles.index(slot))\n"
FULL = "    mbarrier.wait(full.index(number % SLOTS), number // SLOTS % 2)\n"
RELEASE = "    mbarrier.arrive(empty.index(number % tiles.shape[0]), count=1)\n"
STEPS = "    for step in range(steps):\n        place = "
PLACE = "[batch, head // share, (steps - 1 - step) * 128, 0]"
PUT = "        put(desc, place, ring, step)\n"
EARLY = ("early-read", "unwritten")
AGAIN = ("overwritten", "too-many-arrivals", "two-writers")

M_NEW = "    m_new = gl.maximum(m, gl.max(s, axis=1) * scale)\n"
ALPHA = "    alpha = gl.exp2(m - m_new)\n"
P = "    p = gl.exp2(s * scale - m_new[:, None])\n"
L = "    l = l * alpha + gl.sum(p, axis=1)\n"
TAKE_K = "    k = take(k_ring, number + 1)\n"
SCORES = "    s = warpgroup_mma(q, k.permute((1, 0)), zeros, use_acc=False, is_async=True)\n"
TAKE_V = "    v = take(v_ring, number)\n"
OUTPUT = "    acc = warpgroup_mma(p, v, acc, is_async=True)\n"
WAIT_S = "    s = warpgroup_mma_wait(1, deps=[s])\n"
FREE_K = "    release(k_ring, number + 1)\n"
SOFTMAX = "    p_next, alpha, m, l = softmax_step(s, m, l, scale)\n"
WAIT_O = "    acc, p = warpgroup_mma_wait(0, deps=[acc, p])\n"
FREE_V = "    release(v_ring, number)\n"
RESCALE = "    acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, OUT))[:, None]\n"

TURN = "    mbarrier.wait(baton.index(GROUP), (number + 1 - GROUP) % 2)\n"
ORDER = "    s, acc = order(GROUP, q, p, acc, k_ring, v_ring, baton, number)\n"
HAND = "    mbarrier.arrive(baton.index(1 - GROUP), count=1)\n"

MUTANTS = {
    "two_products": [
        Mutant("waits_for_the_phase_of_full", "deadlock", (EMPTY, EMPTY.replace("phase ^ 1", "phase"))),
        Mutant("waits_for_the_copy_it_has_not_ordered", ("deadlock", *AGAIN), (EMPTY, EMPTY.replace("empty", "full"))),
        Mutant("orders_without_waiting", AGAIN, (EMPTY, "")),
        Mutant("waits_after_the_order", AGAIN, (EMPTY + EXPECT + COPY, EXPECT + COPY + EMPTY)),
        Mutant("phase_never_changes", ("deadlock", "phase-twice", *AGAIN), (SLOT, SLOT.replace("number // SLOTS % 2", "0"))),
        Mutant("phase_changes_with_every_tile", ("deadlock", "phase-twice", *AGAIN), (SLOT, SLOT.replace("number // SLOTS % 2", "number % 2"))),
        Mutant("phase_is_a_count", "phase", (SLOT, SLOT.replace(" % 2", ""))),
        Mutant("no_remainder", "outside", (SLOT, SLOT.replace("number % SLOTS,", "number,"))),
        Mutant("always_slot_0", ("deadlock", "phase-twice", *AGAIN), (SLOT, SLOT.replace("number % SLOTS,", "0,"))),
        Mutant("expects_no_bytes", (*EARLY, "deadlock", "too-many-arrivals"), (EXPECT, "    mbarrier.arrive(full.index(slot), count=1)\n")),
        Mutant("nothing_is_expected", ("deadlock", *EARLY), (EXPECT, "")),
        Mutant("expects_both_tiles", "deadlock", (EXPECT, EXPECT.replace("nbytes", "nbytes * 2"))),
        Mutant("expects_at_empty", ("deadlock", *EARLY, *AGAIN), (EXPECT, EXPECT.replace("full", "empty"))),
        Mutant("copy_ends_at_empty", ("deadlock", *EARLY, *AGAIN), (COPY, COPY.replace("full", "empty"))),
        Mutant("takes_without_waiting", EARLY, (FULL, "    pass\n")),
        Mutant("takes_the_phase_before", (*EARLY, "phase-twice"), (FULL, FULL.replace("% 2)", "% 2 ^ 1)"))),
        Mutant("takes_when_empty", ("deadlock", *EARLY, "phase-twice"), (FULL, FULL.replace("full", "empty"))),
        Mutant("takes_from_phase_0", ("deadlock", "phase-twice", *EARLY), (FULL, FULL.replace("number // SLOTS % 2", "0"))),
        Mutant("takes_the_next_tile", ("deadlock", *EARLY, "phase-twice"), (FULL, FULL.replace("number", "(number + 1)"))),
        Mutant("never_releases", "deadlock", (RELEASE, "    pass\n")),
        Mutant("releases_full", ("deadlock", "too-many-arrivals", *EARLY), (RELEASE, RELEASE.replace("empty", "full"))),
        Mutant("releases_for_both", ("deadlock", *AGAIN), (RELEASE, RELEASE.replace("count=1", "count=2"))),
        Mutant("releases_the_next_slot", ("deadlock", *AGAIN), (RELEASE, RELEASE.replace("number %", "(number + 1) %"))),
        Mutant("from_the_first_tile_on", "property", (PLACE, PLACE.replace("(steps - 1 - step)", "step"))),
        Mutant("one_tile_too_far", "one-tile-too-far", (PLACE, PLACE.replace("steps - 1 - step", "steps - step"))),
        Mutant("tile_for_row", "tile-for-row", (PLACE, PLACE.replace("(steps - 1 - step) * 128", "steps - 1 - step"))),
        Mutant("always_the_same_tile", "same-rows", (PLACE, PLACE.replace("(steps - 1 - step)", "(steps - 1)"))),
        Mutant("tiles_of_64", "rows-too-close", (PLACE, PLACE.replace("* 128", "* 64"))),
        Mutant("head_of_the_queries", "heads-not-shared", (PLACE, PLACE.replace("head // share", "head"))),
        Mutant("heads_by_remainder", "heads-by-remainder", (PLACE, PLACE.replace("head // share", "head % share"))),
        Mutant("first_batch_always", "one-batch", (PLACE, PLACE.replace("batch, head //", "0, head //"))),
        Mutant("batch_and_head_exchanged", "batch-for-head", (PLACE, PLACE.replace("batch, head // share", "head // share, batch"))),
        Mutant("head_times_share", "zeros", (PLACE, PLACE.replace("//", "*"))),
        Mutant("rows_by_slots", "tile-for-row", (PLACE, PLACE.replace("* 128", "* ring[0].shape[0]"))),
        Mutant("expects_before_it_waits", "too-many-arrivals", (EMPTY + EXPECT, EXPECT + EMPTY)),
        Mutant("arrives_and_expects", "too-many-arrivals", (COPY, "    mbarrier.arrive(full.index(slot), count=1)\n" + COPY)),
        Mutant("the_loader_releases", (*EARLY, "overwritten"), (COPY, COPY + "    mbarrier.arrive(empty.index(slot), count=1)\n")),
        Mutant("waits_for_its_own_copy", "property", (COPY, COPY + "    mbarrier.wait(full.index(slot), phase)\n")),
        Mutant("takes_by_number", EARLY, (FULL, FULL.replace("// SLOTS % 2", "% 2"))),
        Mutant("takes_without_remainder", "outside", (FULL, FULL.replace("index(number % SLOTS)", "index(number)"))),
        Mutant("releases_twice", (*EARLY, "overwritten"), (RELEASE, RELEASE * 2)),
        Mutant("releases_without_remainder", "outside", (RELEASE, RELEASE.replace(" % tiles.shape[0]", ""))),
        Mutant("releases_the_slot_before", "outside", (RELEASE, RELEASE.replace("number %", "(number - 1) %"))),
        Mutant("waits_in_place_of_a_release", "deadlock", (RELEASE, "    mbarrier.wait(empty.index(number % tiles.shape[0]), number // tiles.shape[0] % 2)\n")),
        Mutant("one_step_too_few", "deadlock", (STEPS, STEPS.replace("range(steps)", "range(steps - 1)"))),
        Mutant("one_step_too_many", ("unfinished", "deadlock"), (STEPS, STEPS.replace("range(steps)", "range(steps + 1)"))),
        Mutant("not_numbered", ("deadlock", "phase-twice", *AGAIN), (PUT, PUT.replace("step", "0"))),
        Mutant("numbered_from_1", ("deadlock", "phase-twice", *EARLY, *AGAIN), (PUT, PUT.replace("step", "step + 1"))),
        Mutant("numbered_from_the_end", ("deadlock", "phase-twice", *EARLY, *AGAIN), (PUT, PUT.replace("step", "steps - 1 - step"))),
        Mutant("nothing_is_loaded", "deadlock", (PUT, "        pass\n")),
        Mutant("by_torch", ("torch-compute", "no-kernel-launched"), replace="def two_products(q, k, v, slots=2):\n    if q.dtype not in (torch.float16, torch.bfloat16) or q.shape[1] % k.shape[1] or q.shape[3] not in (16, 32, 64, 128):\n        raise ValueError('q')\n    return q @ (k.transpose(-2, -1) @ v).repeat_interleave(q.shape[1] // k.shape[1], dim=1)\n"),
    ],
    "flash_ahead": [
        Mutant("m_updated_first", "m-updated-first", (ALPHA, "    m = m_new\n" + ALPHA)),
        Mutant("p_of_the_tile", "p-of-the-tile", (P, P.replace("m_new[:, None]", "(gl.max(s, axis=1) * scale)[:, None]"))),
        Mutant("l_rescaled_again", "l-rescaled-again", (SOFTMAX, SOFTMAX + "    l = l * alpha\n")),
        Mutant("acc_in_half", "property", (RESCALE, RESCALE.replace("acc * gl", "acc.to(gl.float16).to(gl.float32) * gl"))),
        Mutant("l_in_half", "property", (L, "    l = (l * alpha + gl.sum(p, axis=1)).to(gl.float16).to(gl.float32)\n")),
        Mutant("log2_e_twice", "exp-for-exp2", (ALPHA + P, (ALPHA + P).replace("gl.exp2(m - m_new)", "gl.exp2((m - m_new) * 1.4426950408889634)").replace("gl.exp2(s * scale - m_new[:, None])", "gl.exp2((s * scale - m_new[:, None]) * 1.4426950408889634)"))),
        Mutant("no_running_maximum", "no-running-maximum", (M_NEW, M_NEW.replace("gl.maximum(m, gl.max(s, axis=1) * scale)", "gl.max(s, axis=1) * scale"))),
        Mutant("maximum_not_scaled", "maximum-not-scaled", (M_NEW, M_NEW.replace(" * scale", ""))),
        Mutant("alpha_upside_down", ("alpha-upside-down", "nan", "inf"), (ALPHA, ALPHA.replace("m - m_new", "m_new - m"))),
        Mutant("exp_for_exp2", ("exp-for-exp2", "wrong-values"), (ALPHA + P, (ALPHA + P).replace("exp2", "exp"))),
        Mutant("exp_in_p_alone", "exp-in-p", (P, P.replace("exp2", "exp"))),
        Mutant("exp_in_alpha_alone", "exp-in-alpha", (ALPHA, ALPHA.replace("exp2", "exp"))),
        Mutant("no_maximum", ("no-maximum", "nan", "inf"), (P, P.replace(" - m_new[:, None]", ""))),
        Mutant("scores_not_scaled", ("not-scaled", "wrong-values", "nan", "inf"), (P, P.replace("s * scale", "s"))),
        Mutant("l_not_rescaled", "l-not-rescaled", (L, L.replace("l * alpha", "l"))),
        Mutant("l_forgotten", "l-forgotten", (L, L.replace("l * alpha + ", ""))),
        Mutant("l_of_the_columns", ("raised", "wrong-values", "does-not-compile"), (L, L.replace("axis=1", "axis=0"))),
        Mutant("keys_of_this_tile", (*EARLY, "phase-twice", "deadlock"), (TAKE_K, TAKE_K.replace("number + 1", "number"))),
        Mutant("keys_of_the_tile_after", ("deadlock", *EARLY), (TAKE_K, TAKE_K.replace("number + 1", "number + 2"))),
        Mutant("values_of_the_next_tile", ("deadlock", *EARLY, *AGAIN), (TAKE_V, TAKE_V.replace("number", "number + 1"))),
        Mutant("values_from_the_ring_of_keys", (*EARLY, *AGAIN, "phase-twice", "deadlock", "wrong-values"), (TAKE_V, TAKE_V.replace("v_ring", "k_ring"))),
        Mutant("keys_from_the_ring_of_values", (*EARLY, *AGAIN, "phase-twice", "deadlock", "wrong-values"), (TAKE_K, TAKE_K.replace("k_ring", "v_ring"))),
        Mutant("keys_not_transposed", ("size", "raised", "does-not-compile"), (SCORES, SCORES.replace("k.permute((1, 0))", "k"))),
        Mutant("output_not_added", "output-forgotten", (OUTPUT, OUTPUT.replace("is_async", "use_acc=False, is_async"))),
        Mutant("scores_at_once", "property", (SCORES, SCORES.replace(", is_async=True", ""))),
        Mutant("output_at_once", ("property", "operand", "raised"), (OUTPUT, OUTPUT.replace(", is_async=True", ""))),
        Mutant("both_at_once", "property", (SCORES, SCORES.replace(", is_async=True", "")), (OUTPUT, OUTPUT.replace(", is_async=True", ""))),
        Mutant("scores_awaited_in_between", "property", (SCORES, SCORES + "    s = warpgroup_mma_wait(0, deps=[s])\n")),
        Mutant("output_before_scores", ("early-use", "operand", "property"), (TAKE_K + SCORES + TAKE_V + OUTPUT, TAKE_V + OUTPUT + TAKE_K + SCORES)),
        Mutant("scores_not_waited_for", ("early-use", "overwritten"), (WAIT_S, "")),
        Mutant("two_may_be_unfinished", ("early-use", "overwritten"), (WAIT_S, WAIT_S.replace("(1,", "(2,"))),
        Mutant("both_waited_for_at_once", ("property", "operand"), (WAIT_S, WAIT_S.replace("(1,", "(0,"))),
        Mutant("both_waits_before_the_softmax", "property", (SOFTMAX + WAIT_O, WAIT_O + SOFTMAX)),
        Mutant("one_wait_for_both", "property", (WAIT_S, "    s, acc, p = warpgroup_mma_wait(0, deps=[s, acc, p])\n"), (WAIT_O, "")),
        Mutant("keys_released_too_early", "overwritten", (WAIT_S + FREE_K, FREE_K + WAIT_S)),
        Mutant("keys_released_when_ordered", "overwritten", (SCORES, SCORES + FREE_K), (FREE_K + SOFTMAX, SOFTMAX)),
        Mutant("keys_never_released", "deadlock", (FREE_K + SOFTMAX, SOFTMAX)),
        Mutant("other_keys_released", ("deadlock", *EARLY, *AGAIN), (FREE_K + SOFTMAX, FREE_K.replace("number + 1", "number") + SOFTMAX)),
        Mutant("values_released_too_early", "overwritten", (WAIT_O + FREE_V, FREE_V + WAIT_O)),
        Mutant("values_never_released", "deadlock", (FREE_V, "")),
        Mutant("releases_swapped", (*EARLY, "overwritten", "too-many-arrivals", "deadlock"), (FREE_K + SOFTMAX, FREE_K.replace("k_ring", "v_ring") + SOFTMAX), (FREE_V, FREE_V.replace("v_ring", "k_ring"))),
        Mutant("output_not_waited_for", ("early-use", "overwritten"), (WAIT_O, "")),
        Mutant("one_output_may_be_unfinished", ("early-use", "overwritten"), (WAIT_O, WAIT_O.replace("(0,", "(1,"))),
        Mutant("p_not_kept", "operand", (WAIT_O, "    acc = warpgroup_mma_wait(0, deps=[acc])\n")),
        Mutant("acc_not_rescaled", "acc-not-rescaled", (RESCALE, "")),
        Mutant("acc_rescaled_too_early", "early-use", (WAIT_O + FREE_V + RESCALE, RESCALE + WAIT_O + FREE_V)),
        Mutant("acc_divided", "acc-divided", (RESCALE, RESCALE.replace("acc * gl", "acc / gl"))),
        Mutant("l_rescaled_with_the_new_sum", "off-by-row", (L, "    l = (l + gl.sum(p, axis=1)) * alpha\n")),
        Mutant("p_of_the_old_maximum", "nan", (P, P.replace("m_new", "m"))),
        Mutant("scores_multiply_the_values", ("early-use", "does-not-compile"), (OUTPUT, OUTPUT.replace("(p,", "(s,"))),
        Mutant("values_not_waited_for", EARLY, (TAKE_V, "    v = v_ring[0].index(number % v_ring[0].shape[0]).reshape([128, q.shape[1]])\n")),
        Mutant("both_released_when_ordered", "overwritten", (OUTPUT, OUTPUT + FREE_K + FREE_V), (WAIT_S + FREE_K, WAIT_S), (WAIT_O + FREE_V, WAIT_O)),
        Mutant("released_in_both_gaps", (*EARLY, "overwritten"), (OUTPUT, OUTPUT + FREE_K + FREE_V)),
        Mutant("next_values_released", ("deadlock", *EARLY, "overwritten"), (FREE_V, FREE_V.replace("number", "number + 1"))),
        Mutant("values_released_with_the_keys", "overwritten", (FREE_K + SOFTMAX + WAIT_O + FREE_V, FREE_K + FREE_V + SOFTMAX + WAIT_O)),
        Mutant("keys_released_for_values", "deadlock", (FREE_V, FREE_K)),
        Mutant("wait_without_a_name", ("does-not-compile", "early-use"), (WAIT_S, WAIT_S.replace("s = ", "", 1))),
        Mutant("p_replaced_before_the_wait", "operand", (SOFTMAX, SOFTMAX.replace("p_next", "p")), (WAIT_O, WAIT_O.replace("acc, p =", "acc, p_next ="))),
        Mutant("acc_and_p_exchanged", ("does-not-compile", "size"), (WAIT_O, WAIT_O.replace("acc, p =", "p, acc ="))),
        Mutant("alpha_in_its_own_layout", "does-not-compile", (RESCALE, "    acc = acc * alpha[:, None]\n")),
        Mutant("alpha_for_columns", ("does-not-compile", "raised"), (RESCALE, RESCALE.replace("[:, None]", "[None, :]"))),
        Mutant("acc_rescaled_with_l", ("wrong-values", "nan", "inf"), (RESCALE, RESCALE.replace("alpha", "l"))),
        Mutant("softmax_of_the_old_state", "m-not-kept", (SOFTMAX, SOFTMAX.replace("p_next, alpha, m, l =", "p_next, alpha, m_new, l ="))),
    ],
    "flash_gluon": [
        Mutant("only_group_1_waits", ("deadlock", "property"), (TURN, "    if GROUP == 1:\n        mbarrier.wait(baton.index(1), number % 2)\n")),
        Mutant("no_turns", "property", (TURN, ""), (HAND, "")),
        Mutant("never_waits", ("property", "too-many-arrivals"), (TURN, "")),
        Mutant("never_hands_over", "deadlock", (HAND, "")),
        Mutant("keeps_the_baton", ("deadlock", "too-many-arrivals", "phase-twice"), (HAND, HAND.replace("1 - GROUP", "GROUP"))),
        Mutant("waits_at_the_others_barrier", ("deadlock", "phase-twice", "property", "too-many-arrivals"), (TURN, TURN.replace("baton.index(GROUP)", "baton.index(1 - GROUP)"))),
        Mutant("nobody_begins", "deadlock", (TURN, TURN.replace("number + 1 - GROUP", "number"))),
        Mutant("both_begin", ("deadlock", "property", "too-many-arrivals", "phase-twice"), (TURN, TURN.replace("number + 1 - GROUP", "number + 1"))),
        Mutant("phase_never_changes", ("deadlock", "phase-twice"), (TURN, TURN.replace("(number + 1 - GROUP) % 2", "1 - GROUP"))),
        Mutant("phase_is_a_count", "phase", (TURN, TURN.replace("(number + 1 - GROUP) % 2", "number + 1 - GROUP"))),
        Mutant("remainder_below_zero", "phase", (TURN, TURN.replace("number + 1 - GROUP", "number - GROUP"))),
        Mutant("hands_over_before_the_order", ("property", "too-many-arrivals"), (ORDER + HAND, HAND + ORDER)),
        Mutant("waits_after_the_order", "property", (TURN + ORDER, ORDER + TURN)),
        Mutant("of_task_2", "property", (TURN + ORDER + HAND, ORDER)),
        Mutant("group_0_alone_waits", ("property", "too-many-arrivals", "deadlock"), (TURN, "    if GROUP == 0:\n    " + TURN)),
        Mutant("hands_over_in_every_other_turn", "deadlock", (HAND, HAND.replace("count=1", "count=1, pred=number % 2 == 0"))),
        Mutant("hands_over_twice", ("too-many-arrivals", "deadlock", "phase-twice", "property"), (HAND, HAND.replace("count=1", "count=2"))),
        Mutant("hands_over_to_both", ("deadlock", "too-many-arrivals"), (HAND, HAND + HAND.replace("1 - GROUP", "GROUP"))),
        Mutant("hands_over_after_the_scores", "property", (HAND, "    s = warpgroup_mma_wait(1, deps=[s])\n" + HAND)),
        Mutant("hands_over_after_both_products", ("operand", "property"), (HAND, "    s, acc = warpgroup_mma_wait(0, deps=[s, acc])\n" + HAND)),
        Mutant("phase_changes_every_other_time", ("phase-twice", "deadlock"), (TURN, TURN.replace("number + 1", "number // 2 + 1"))),
        Mutant("barriers_by_number", ("deadlock", "phase-twice", "property"), (TURN, TURN.replace("baton.index(GROUP)", "baton.index(number % 2)")), (HAND, HAND.replace("1 - GROUP", "(number + 1) % 2"))),
        Mutant("orders_the_next_step", ("two-writers", "deadlock", *EARLY), (ORDER, ORDER.replace("number)", "number + 1)"))),
        Mutant("returns_nothing", ("does-not-compile", "raised"), ("    return s, acc\n", "")),
        Mutant("always_step_0", ("phase-twice", "deadlock", *EARLY, *AGAIN), (ORDER, ORDER.replace("number", "0"))),
    ],
}

VARIANTS = {
    "two_products": [
        Variant("expects_after_the_order", (EXPECT + COPY, COPY + EXPECT)),
        Variant("phase_by_difference", (EMPTY, EMPTY.replace("phase ^ 1", "1 - phase"))),
        Variant("barriers_kept", (EXPECT + COPY, "    arrived = full.index(slot)\n" + (EXPECT + COPY).replace("full.index(slot)", "arrived"))),
        Variant("first_round_does_not_wait", (EMPTY, "    if number >= SLOTS:\n        mbarrier.wait(empty.index(slot), (number // SLOTS - 1) % 2)\n")),
        Variant("row_counts_down", (STEPS + PLACE + "\n" + PUT, "    row = (steps - 1) * 128\n    for step in range(steps):\n        put(desc, [batch, head // share, row, 0], ring, step)\n        row -= 128\n")),
        Variant("rows_of_the_descriptor", (PLACE, PLACE.replace("128", "desc.block_type.shape[2]"))),
        Variant("one_arrival_by_default", (RELEASE, RELEASE.replace(", count=1", "")), (FULL, FULL.replace("number // SLOTS % 2", "(number // SLOTS) & 1"))),
        Variant("walks_down", (STEPS + PLACE, "    for step in range(steps):\n        row = steps * 128 - (step + 1) * 128\n        place = [batch, head // share, row, 0]")),
        Variant("number_counts_down", (STEPS + PLACE + "\n" + PUT, "    for tile in range(steps - 1, -1, -1):\n        put(desc, [batch, head // share, tile * 128, 0], ring, steps - 1 - tile)\n")),
    ],
    "flash_ahead": [
        Variant("acc_of_zeros", (SCORES, SCORES.replace("use_acc=False, ", ""))),
        Variant("both_tiles_first", (TAKE_K + SCORES + TAKE_V, TAKE_K + TAKE_V + SCORES)),
        Variant("keys_released_after_the_softmax", (FREE_K + SOFTMAX, SOFTMAX + FREE_K)),
        Variant("values_released_last", (FREE_V + RESCALE, RESCALE + FREE_V)),
        Variant("all_deps_each_time", (WAIT_S, "    s, acc, p = warpgroup_mma_wait(1, deps=[s, acc, p])\n")),
        Variant("scores_awaited_in_order_too", (OUTPUT, OUTPUT + "    s = warpgroup_mma_wait(1, deps=[s])\n")),
        Variant("m_in_units_of_s", (M_NEW, "    m_new = gl.maximum(m, gl.max(s, axis=1))\n"), (ALPHA, "    alpha = gl.exp2((m - m_new) * scale)\n"), (P, "    p = gl.exp2((s - m_new[:, None]) * scale)\n")),
        Variant("alpha_converted_before_the_wait", (WAIT_O + FREE_V + RESCALE, "    alpha = gl.convert_layout(alpha, gl.SliceLayout(1, OUT))\n    acc, p = warpgroup_mma_wait(0, deps=[acc, p])\n    acc *= alpha[:, None]\n" + FREE_V)),
        Variant("max_as_a_method", (M_NEW, M_NEW.replace("gl.max(s, axis=1)", "s.max(axis=1)"))),
        Variant("scaled_first", (M_NEW, "    s = s * scale\n    m_new = gl.maximum(m, gl.max(s, axis=1))\n"), (P, P.replace("s * scale", "s"))),
        Variant("l_before_p_is_named", (P + L, "    p = gl.exp2(s * scale - m_new[:, None])\n    l = gl.sum(p, axis=1) + alpha * l\n")),
    ],
    "flash_gluon": [
        Variant("group_1_begins", (TURN, TURN.replace("number + 1 - GROUP", "number + GROUP"))),
        Variant("barriers_swapped", (TURN, TURN.replace("baton.index(GROUP)", "baton.index(1 - GROUP)")), (HAND, HAND.replace("1 - GROUP", "GROUP"))),
        Variant("a_branch_for_each_group", (TURN, "    if GROUP == 0:\n        mbarrier.wait(baton.index(0), (number + 1) % 2)\n    else:\n        mbarrier.wait(baton.index(1), number % 2)\n")),
        Variant("the_first_turn_does_not_wait", (TURN, "    if (GROUP == 1) | (number > 0):\n    " + TURN)),
        Variant("phase_by_xor", (TURN, TURN.replace("(number + 1 - GROUP) % 2", "(number & 1) ^ (1 - GROUP)"))),
    ],
}

EQUIVALENT = {
    "two_products": {
        "mbarrier.expect(full.index(slot), desc.block_type.nbytes) tma.async_copy_global_to_shared(desc, place, full.index(slot), tiles.index(slot)) => tma.async_copy_global_to_shared(desc, place, full.index(slot), tiles.index(slot)) mbarrier.expect(full.index(slot), desc.block_type.nbytes)": "the phase waits for the arrival of expect, whatever has landed before",
        "mbarrier.arrive(empty.index(number % tiles.shape[0]), count=1) => mbarrier.arrive(empty.index(number % tiles.shape[0]))": "one arrival is the default",
    },
    "flash_ahead": {
        "s = warpgroup_mma(q, k.permute((1, 0)), zeros, use_acc=False, is_async=True) => s = warpgroup_mma(q, k.permute((1, 0)), zeros, is_async=True)": "zeros are added",
    },
    "flash_gluon": {
        "mbarrier.arrive(baton.index(1 - GROUP), count=1) => mbarrier.arrive(baton.index(1 - GROUP))": "one arrival is the default",
        "mbarrier.wait(baton.index(GROUP), (number + 1 - GROUP) % 2) => mbarrier.wait(baton.index(GROUP), (number + 1 + GROUP) % 2)": "the same parity",
        "mbarrier.wait(baton.index(GROUP), (number + 1 - GROUP) % 2) => mbarrier.wait(baton.index(GROUP), (number + 2 - GROUP) % 2)": "group 1 begins",
    },
}
