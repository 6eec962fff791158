"""What the checks of 90_doubling try."""

from tritonbook.checking import Check, case, tensor

from .page import double_ref, halves_ref

CHECKS = {
    "double": Check(
        double_ref,
        cases=[case("one tile", x=tensor(64)), case("a tail", x=tensor(100))],
        hidden=[case("hidden: 257", x=tensor(257), seed=3)],
    ),
    "halves": Check(
        halves_ref,
        cases=[case("even", n=4), case("odd", n=7)],
        hidden=[case("hidden: none", n=0), case("hidden: 1001", n=1001)],
        triton=False,
    ),
}
