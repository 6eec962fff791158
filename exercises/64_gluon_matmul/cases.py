"""What the checks of 64_gluon_matmul try: cases, references, and mistakes that have a name."""

from tritonbook.checking import Check, case

from .page import ring_length_ref, ring_slot_ref

RING_SUSPECTS = {
    "never-flips": (
        lambda number, slots: (number % slots, 0),
        "The phase is always 0. Each time a slot is used again, its barrier is in the other phase.",
    ),
    "flips-with-every-load": (
        lambda number, slots: (number % slots, number % 2),
        "The phase changes from load to load. It changes from round to round: each slot has a "
        "barrier of its own.",
    ),
    "counts-rounds": (
        lambda number, slots: (number % slots, number // slots),
        "The phase is the number of the round. Barriers know two phases only, 0 and 1.",
    ),
    "other-phase": (
        lambda number, slots: (number % slots, 1 - number // slots % 2),
        "The phases are the wrong way round. The first load into a slot ends phase 0.",
    ),
    "swapped": (
        lambda number, slots: (number // slots % 2, number % slots),
        "The pair is (phase, slot); the slot comes first.",
    ),
}

RING_CASES = [
    case("the third round", number=10, slots=4),
    case("the first load", number=0, slots=4),
    case("the last slot", number=3, slots=4),
    case("the second round", number=4, slots=4),
    case("three slots", number=11, slots=3),
]


def _length(element=2, barriers=16, staged=True, b=True):
    def wrong(block_m, block_n, block_k, out_n, limit=232_448):
        slot = (block_m + b * block_n) * block_k * element + barriers
        return (limit - staged * block_m * out_n * element) // slot

    return wrong


LENGTH_SUSPECTS = {
    "no-result": (
        _length(staged=False),
        "The ring takes all of the shared memory. The finished tile of C lies there too.",
    ),
    "no-b": (_length(b=False), "A slot holds a tile of A and a tile of B."),
    "no-barriers": (
        _length(barriers=0),
        "Two barriers of 8 bytes come with each slot. Here they are what does not fit.",
    ),
    "float32": (_length(element=4), "An element has 2 bytes."),
}

LENGTH_CASES = [
    case("short steps", block_m=128, block_n=256, block_k=32, out_n=256),
    case("gated", block_m=128, block_n=256, block_k=64, out_n=128),
    case("barriers decide", block_m=64, block_n=64, block_k=64, out_n=256, limit=196_688),
    case("tiles of 128 x 256", block_m=128, block_n=256, block_k=64, out_n=256),
    case("two slots, to the byte", block_m=32, block_n=32, block_k=32, out_n=32, limit=10_272),
    case(
        "a byte short of two slots",
        block_m=32,
        block_n=32,
        block_k=32,
        out_n=32,
        limit=10_271,
        raises=ValueError,
    ),
    case("one slot only", block_m=256, block_n=256, block_k=128, out_n=32, raises=ValueError),
]

HIDDEN_RING_CASES = [
    case("one slot, an even round", number=6, slots=1),
    case("one slot, an odd round", number=7, slots=1),
    case("two slots", number=3, slots=2),
    case("five slots", number=14, slots=5),
    case("eight slots, far on", number=100_003, slots=8),
    case("the end of a round", number=15, slots=8),
]

HIDDEN_LENGTH_CASES = [
    case("square tiles", block_m=128, block_n=128, block_k=64, out_n=128),
    case("two slots exactly", block_m=64, block_n=64, block_k=64, out_n=64, limit=8192 + 2 * 16400),
    case(
        "a byte short of two",
        block_m=64,
        block_n=64,
        block_k=64,
        out_n=64,
        limit=8192 + 2 * 16400 - 1,
        raises=ValueError,
    ),
    case("a tile that is higher than wide", block_m=256, block_n=128, block_k=64, out_n=128),
    case("an A100's limit", block_m=128, block_n=128, block_k=32, out_n=128, limit=166_912),
    case("nothing fits", block_m=512, block_n=512, block_k=64, out_n=512, raises=ValueError),
]

CHECKS = {
    "ring_slot": Check(
        ring_slot_ref,
        RING_CASES,
        HIDDEN_RING_CASES,
        triton=False,
        mistakes=RING_SUSPECTS,
    ),
    "ring_length": Check(
        ring_length_ref,
        LENGTH_CASES,
        HIDDEN_LENGTH_CASES,
        triton=False,
        mistakes=LENGTH_SUSPECTS,
    ),
}
