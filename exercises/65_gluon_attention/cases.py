"""What the checks of 65_gluon_attention try: cases, references, and mistakes that have a name."""

from tritonbook.checking import Check, case

from .page import next_tile_ref, same_order


def takes_every_tile_once(fn):
    for programs in (1, 2, 5, 8):
        got = sorted(fn(turn, pid, programs) for turn in range(4) for pid in range(programs))
        missing = sorted(set(range(4 * programs)) - set(got))
        assert not missing, f"With {programs} programs nobody takes tile {missing[0]} in 4 turns."


SHARE_SUSPECTS = {
    "forwards": (
        same_order,
        "This turn goes forwards. The turns 1, 3, 5 go backwards, or program 0 gets the longest "
        "tile every time.",
    ),
    "backwards": (
        lambda turn, pid, programs: turn * programs + programs - 1 - pid,
        "This turn goes backwards. The turns 0, 2, 4 go forwards.",
    ),
    "off-by-one": (
        lambda turn, pid, programs: turn * programs + (programs - pid if turn % 2 else pid),
        "Backwards, program 0 takes number `programs`, which belongs to the next turn. The last "
        "of a turn is `programs - 1`.",
    ),
    "side-by-side": (
        lambda turn, pid, programs: 2 * programs * (turn // 2) + 2 * pid + turn % 2,
        "Two turns give a program two tiles side by side. The second turn should go backwards.",
    ),
}

SHARE_CASES = [
    case("the first turn", turn=0, pid=2, programs=8),
    case("the second turn, program 0", turn=1, pid=0, programs=8),
    case("the second turn, the last program", turn=1, pid=7, programs=8),
    case("the third turn", turn=2, pid=5, programs=8),
    case("an odd number of programs", turn=3, pid=1, programs=5),
]


HIDDEN_SHARE_CASES = [
    case("one program, turn 0", turn=0, pid=0, programs=1),
    case("one program, turn 3", turn=3, pid=0, programs=1),
    case("two programs", turn=5, pid=1, programs=2),
    case("an H100, backwards", turn=31, pid=17, programs=132),
    case("an H100, forwards", turn=30, pid=131, programs=132),
    case("the middle of an odd number", turn=1, pid=2, programs=5),
]

CHECKS = {
    "next_tile": Check(
        next_tile_ref,
        SHARE_CASES,
        HIDDEN_SHARE_CASES,
        triton=False,
        mistakes=SHARE_SUSPECTS,
        also=[takes_every_tile_once],
    ),
}
