"""What an exercise promises about its compiled kernels: the header's `limits`.

    limits: {sm_75: fits, sm_80: no spills}

`fits`: compiles, within that GPU's shared memory. `no spills`: fits, and no register is spilled to
memory. `spills 8`: fits, and at most 8 bytes per thread are. A GPU that is not named is compiled
for and shown, and nothing is promised about it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from ..seeing.occupancy import LIMITS

GPUS = {arch: each.gpu for arch, each in LIMITS.items()}
# The course's reference GPU: every exercise with a kernel promises that nothing spills there, or
# on a Hopper GPU, if that is the only one that its kernels are made for.
REFERENCE, HOPPER = 80, 90


def name(arch: int) -> str:
    """A GPU as headers and sentences name it: sm_80."""
    return f"sm_{arch}"


def most_spilled(limit: str) -> float:
    """Bytes per thread that a limit allows to be spilled. Raises ValueError for other words."""
    if limit == "fits":
        return math.inf
    if limit == "no spills":
        return 0
    number = re.fullmatch(r"spills ([1-9]\d{0,3})", limit)
    if number is None:
        raise ValueError(limit)
    return int(number[1])


def slips(header: Mapping[str, str], has_kernels: bool) -> Iterator[tuple[str, str]]:
    """(problem, mend) for each thing in a header's limits that makes no sense."""
    allowed = {}
    for gpu, limit in header.items():
        if gpu not in map(name, GPUS):
            yield f"'limits' names the GPU {gpu!r}", f"use one of {', '.join(map(name, GPUS))}"
        try:
            allowed[gpu] = most_spilled(limit)
        except ValueError:
            yield f"'limits' says {limit!r} of {gpu}", "write fits, no spills or spills 8 (bytes)"
            allowed[gpu] = 0
    reference = name(HOPPER if set(header) == {name(HOPPER)} else REFERENCE)
    if not has_kernels:
        if header:
            yield "'limits' is there and no kernel is", "take the line out"
    elif allowed.get(reference, math.inf) > 0:
        mend = f"add 'limits: {{{reference}: no spills}}', and make the kernels keep it"
        yield f"'limits' does not promise 'no spills' on {reference}", mend


def broken(limit: str | None, ok: bool | None, message: str, spills: int) -> str:
    """How one compiled function breaks its limit, or "" when it keeps it or has none."""
    if limit is None:
        return ""
    if ok is None:
        return f"was not compiled: {message}"
    if not ok:
        return message
    if spills > most_spilled(limit):
        return f"spills {spills} bytes per thread; its limit is '{limit}'"
    return ""
