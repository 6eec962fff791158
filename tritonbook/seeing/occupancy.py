"""How many programs fit on one multiprocessor at a time: registers, shared memory, warps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..words import later

REGISTERS = 65536  # 32-bit registers of a multiprocessor, on every capability below
_ALLOCATION = 256  # registers are given out per warp in units of this many


@dataclass(frozen=True)
class Limits:
    """Limits of one multiprocessor (CUDA programming guide, table of compute capabilities)."""

    gpu: str  # a GPU that stands for this capability
    warps: int
    programs: int
    shared: int  # bytes of shared memory for all programs together
    reserved: int  # bytes of it that each program costs on top of its own


LIMITS = {
    75: Limits("T4", 32, 16, 65536, 0),
    80: Limits("A100", 64, 32, 167936, 1024),
    86: Limits("A10", 48, 16, 102400, 1024),
    89: Limits("L4", 48, 24, 102400, 1024),
    90: Limits("H100", 64, 32, 233472, 1024),
}


def occupancy(registers: int, shared: int, warps: int, arch: int) -> dict[str, Any]:
    """Three facts about programs with `registers` per thread, `shared` bytes, `warps` warps each.

    programs_per_sm; occupancy: the fraction of a multiprocessor's warps in use; limited_by:
    "registers", "shared memory", "warps" or "programs".
    """
    limits = LIMITS[arch]
    per_warp = -(-max(registers, 1) * 32 // _ALLOCATION) * _ALLOCATION
    room = {
        "warps": limits.warps // warps,
        later("registers"): REGISTERS // per_warp // warps,
    }
    if shared:
        room["shared memory"] = limits.shared // (shared + limits.reserved)
    room["programs"] = limits.programs
    programs = min(room.values())
    # Where several limits agree: a full house first, then what a kernel's author can change.
    limited_by = next(name for name, count in room.items() if count == programs)
    return {
        "programs_per_sm": programs,
        "occupancy": programs * warps / limits.warps,
        "limited_by": limited_by,
    }
