"""Wrong answers of 17_gluon_attention with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

PLACE = "place = pid if turn % 2 == 0 else programs - 1 - pid"
NUMBER = "return turn * programs + place"

MUTANTS = {
    "next_tile": [
        Mutant("same_order", "forwards", (PLACE, "place = pid")),
        Mutant("always_backwards", "backwards", (PLACE, "place = programs - 1 - pid")),
        Mutant("backwards_first", "backwards", ("turn % 2 == 0", "turn % 2 == 1")),
        Mutant("off_by_one", "off-by-one", ("programs - 1 - pid", "programs - pid")),
        Mutant("backwards_from_the_second_turn_on", "backwards", ("turn % 2 == 0", "turn == 0")),
        Mutant("backwards_once", "forwards", ("turn % 2 == 0", "turn != 1")),
        Mutant("side_by_side", "side-by-side", (NUMBER, "return 2 * programs * (turn // 2) + 2 * pid + turn % 2")),
        Mutant("place_only", "wrong-values", (NUMBER, "return place")),
        Mutant("as_many_programs_as_an_h100", "wrong-values", (NUMBER, "return turn * 132 + place")),
        Mutant("by_program_first", "wrong-values", (NUMBER, "return place * programs + turn")),
        Mutant("turns_from_one", "wrong-values", (NUMBER, "return (turn + 1) * programs + place")),
        Mutant("a_float", ("wrong-type", "wrong-values"), (NUMBER, "return turn * programs + place + 0.5")),
        Mutant("returns_nothing", ("wrong-type", "wrong-values"), (NUMBER, "_ = turn * programs + place")),
    ],
}

VARIANTS = {
    "next_tile": [
        Variant("without_a_condition", (PLACE, "place = pid + turn % 2 * (programs - 1 - 2 * pid)")),
        Variant("asks_for_the_odd_turn", (PLACE, "place = programs - 1 - pid if turn % 2 else pid")),
        Variant("counts_back_from_the_next_turn", (PLACE, ""), (NUMBER, "return turn * programs + pid if turn % 2 == 0 else (turn + 1) * programs - 1 - pid")),
    ],
}
