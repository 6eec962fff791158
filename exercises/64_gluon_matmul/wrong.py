"""Wrong answers of 64_gluon_matmul with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

RING = "return number % slots, number // slots % 2"
SLOT = "slot = (block_m * block_k + block_k * block_n) * 2 + 2 * 8"
FINISHED = "finished = block_m * out_n * 2"
SLOTS = "slots = (limit - finished) // slot"

MUTANTS = {
    "ring_slot": [
        Mutant("phase_never_flips", "never-flips", (RING, "return number % slots, 0")),
        Mutant("phase_flips_with_every_load", "flips-with-every-load", (RING, "return number % slots, number % 2")),
        Mutant("phase_of_the_slot", "flips-with-every-load", (RING, "return number % slots, number % slots % 2")),
        Mutant("counts_rounds", "counts-rounds", (RING, "return number % slots, number // slots")),
        Mutant("other_phase", "other-phase", (RING, "return number % slots, number // slots % 2 ^ 1")),
        Mutant("pair_swapped", "swapped", (RING, "return number // slots % 2, number % slots")),
        Mutant("ring_of_two", "wrong-values", (RING, "return number % 2, number // slots % 2")),
        Mutant("round_begins_a_load_late", "other-phase", (RING, "return number % slots, (number - 1) // slots % 2")),
        Mutant("one_slot_too_many", "wrong-values", (RING, "return number % (slots + 1), number // (slots + 1) % 2")),
        Mutant("real_division", ("wrong-values", "wrong-type"), (RING, "return number % slots, number / slots % 2")),
        Mutant("slot_only", ("wrong-type", "wrong-values"), (RING, "return number % slots")),
        Mutant("returns_nothing", ("wrong-type", "wrong-values"), (RING, "_ = number % slots")),
    ],
    "ring_length": [
        Mutant("no_room_for_the_result", "no-result", (SLOTS, "slots = limit // slot")),
        Mutant("no_tile_of_b", "no-b", ("block_m * block_k + block_k * block_n", "block_m * block_k")),
        Mutant("no_tile_of_a", "wrong-values", ("block_m * block_k + block_k * block_n", "block_k * block_n")),
        Mutant("no_barriers", "no-barriers", (" + 2 * 8", "")),
        Mutant("one_barrier", "no-barriers", (" + 2 * 8", " + 8")),
        Mutant("elements_of_four_bytes", "float32", (SLOT, SLOT.replace(") * 2", ") * 4")), (FINISHED, FINISHED.replace("* 2", "* 4"))),
        Mutant("a_slot_in_elements", "wrong-values", (SLOT, SLOT.replace(") * 2", ")"))),
        Mutant("result_in_elements", "wrong-values", (FINISHED, "finished = block_m * out_n")),
        Mutant("result_of_the_whole_tile", "wrong-values", (FINISHED, "finished = block_m * block_n * 2")),
        Mutant("rounds_up", "wrong-values", (SLOTS, "slots = -((finished - limit) // slot)")),
        Mutant("rounds_to_nearest", "wrong-values", (SLOTS, "slots = round((limit - finished) / slot)")),
        Mutant("an_h100_always", "wrong-values", (SLOTS, "slots = (232_448 - finished) // slot")),
        Mutant("one_slot_is_enough", "should-raise", ("if slots < 2:", "if slots < 1:")),
        Mutant("three_at_least", "raised", ("if slots < 2:", "if slots < 3:")),
        Mutant("never_complains", "should-raise", ("if slots < 2:", "if slots is None:")),
        Mutant("a_float", ("wrong-type", "wrong-values"), (SLOTS, "slots = (limit - finished) / slot")),
        Mutant("returns_nothing", ("wrong-type", "wrong-values"), ("    return slots", "    _ = slots")),
    ],
}

VARIANTS = {
    "ring_slot": [
        Variant("remainder_by_subtraction", (RING, "return number - number // slots * slots, number // slots % 2")),
        Variant("phase_by_and", (RING, "return number % slots, number // slots & 1")),
        Variant("round_of_twice_the_slots", (RING, "return number % slots, number % (2 * slots) // slots")),
    ],
    "ring_length": [
        Variant("one_product", (SLOT, "slot = 2 * block_k * (block_m + block_n) + 16")),
        Variant("divmod", (SLOTS, "slots, _ = divmod(limit - finished, slot)")),
        Variant(
            "adds_one_by_one",
            (SLOTS, "slots = 0\n    while (slots + 1) * slot + finished <= limit:\n        slots += 1"),
        ),
    ],
}
