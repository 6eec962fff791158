"""What a meter saw in the engine, as bytes: written there, read and distrusted in the checker."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tritonbook.seeing.record import KINDS, Access, Place, Twice

from .tape import TapeError

MAX_RANK = 8  # of a tile
# One row of int64 for each access: its program, kind, size of an element, line, phase, whether it
# has a mask, whether its copies count, rank and shape. All lanes' addresses follow in one buffer,
# the masks in another.
HEAD = 10
ROW = HEAD + MAX_RANK


def packed(accesses: list[Access], most: int) -> list[np.ndarray] | None:
    """Rows, addresses and masks of what a meter saw, as bytes; None: more than `most`."""
    if sum(8 * ROW + 9 * access.addresses.size for access in accesses) > most:
        return None
    rows: np.ndarray = np.zeros((len(accesses), ROW), dtype=np.int64)
    for row, access in zip(rows, accesses, strict=True):
        rank = len(access.shape)
        if rank > MAX_RANK:
            raise TapeError("a tile of more dimensions than Triton has")
        kind, masked = KINDS.index(access.kind), access.mask is not None
        told = (kind, access.itemsize, access.line, access.phase, masked, access.spread, rank)
        row[3:HEAD] = told
        row[:3], row[HEAD : HEAD + rank] = access.program, access.shape
    addresses = [access.addresses for access in accesses]
    masks = [access.mask for access in accesses if access.mask is not None]
    empty: np.ndarray = np.zeros(0, dtype=np.int64)
    parts = (rows.reshape(-1), np.concatenate([empty, *addresses]), np.concatenate([[], *masks]))
    kinds = (np.int64, np.int64, np.bool_)
    return [
        part.astype(kind, copy=False).view(np.uint8)
        for part, kind in zip(parts, kinds, strict=True)
    ]


def facts(
    data: Any,
) -> tuple[int, bool, int | None, list[tuple[Place, bool, int]], Twice | None]:
    """Floating-point operations, whether programs take turns, line of a float32 product, places of
    offsets in 32 bits, lanes that store other values to one place."""
    if not (isinstance(data, list) and len(data) == 5):
        raise TapeError("not what a meter sees")
    flops, locks, line, narrow, twice = data
    if not (type(flops) is int and type(locks) is bool and (line is None or type(line) is int)):
        raise TapeError("not what a meter sees")
    if not (isinstance(narrow, list) and all(map(_is_narrow, narrow))):
        raise TapeError("not what a meter sees")
    products = [(tuple(at), constant, tensor) for at, constant, tensor in narrow]
    if twice is not None:
        if not (isinstance(twice, list) and len(twice) == 3 and _are_places(*twice)):
            raise TapeError("not what a meter sees")
        twice = tuple(twice[0]), *twice[1:]
    return flops, locks, line, products, twice


def _is_narrow(data: Any) -> bool:
    whole = isinstance(data, list) and len(data) == 3 and type(data[1]) is bool
    return whole and _are_places(data[0], data[2])


def _are_places(three: Any, *others: Any) -> bool:
    if not (isinstance(three, list) and len(three) == 3):
        return False
    return all(type(each) is int and 0 <= each < 1 << 31 for each in (*three, *others))


def unpacked(
    reply: dict[str, Any], buffers: list[bytes], blocks: list[np.ndarray]
) -> tuple[list[Access], list[np.ndarray]]:
    """Accesses with this process's addresses, and which of their lanes lie in no tensor's memory.

    Addresses are only compared here, never followed. Raises TapeError, ValueError.
    """
    if len(buffers) != 3:
        raise TapeError("not what a meter sees")
    rows = np.frombuffer(buffers[0], dtype=np.int64).reshape(-1, ROW)
    theirs = np.frombuffer(buffers[1], dtype=np.int64)
    masks = np.frombuffer(buffers[2], dtype=np.uint8).astype(bool)
    sizes = [_size(row) for row in rows.tolist()]
    masked = [size if row[7] else 0 for size, row in zip(sizes, rows.tolist(), strict=True)]
    if sum(sizes) != theirs.size or sum(masked) != masks.size:
        raise TapeError("what a meter sees does not add up")
    ours, outside = _translated(theirs, reply.get("bases"), blocks)
    accesses, strays = [], []
    at = at_mask = 0
    for row, size, hidden in zip(rows.tolist(), sizes, masked, strict=True):
        program, (kind, itemsize, line, phase, _, spread, rank) = tuple(row[:3]), row[3:HEAD]
        mask = masks[at_mask : at_mask + hidden] if row[7] else None
        shape = tuple(row[HEAD : HEAD + rank])
        lanes = ours[at : at + size]
        found = Access(-1, program, KINDS[kind], itemsize, lanes, mask, line, shape, phase=phase)
        found.spread = bool(spread)
        accesses.append(found)
        strays.append(outside[at : at + size])
        at, at_mask = at + size, at_mask + hidden
    return accesses, strays


def _size(row: list[int]) -> int:
    """Lanes of an access. Raises TapeError for a row that no meter writes."""
    program, (kind, itemsize, line, phase, masked, spread, rank) = row[:3], row[3:HEAD]
    shape = row[HEAD : HEAD + max(0, min(rank, MAX_RANK))]
    good = 0 <= rank <= MAX_RANK and all(0 <= n < 1 << 40 for n in shape)
    good = good and all(0 <= n < 1 << 31 for n in (*program, line, phase))
    if not (good and 0 <= kind < len(KINDS) and 1 <= itemsize <= 16 and {masked, spread} <= {0, 1}):
        raise TapeError("not an access")
    return math.prod(shape)


def _translated(
    theirs: np.ndarray, bases: Any, blocks: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Addresses of the other process in this one's tensors, and which lie in none.

    Those keep their distance from the nearest: a card tells how far outside they are.
    """
    whole = isinstance(bases, list) and len(bases) == len(blocks)
    if not whole or not all(type(base) is int and 0 <= base < 1 << 62 for base in bases):
        raise TapeError("not addresses")
    held = [(base, block) for base, block in zip(bases, blocks, strict=True) if block.size]
    if not held:
        return theirs, np.ones(theirs.shape, dtype=bool)
    held.sort(key=lambda pair: pair[0])
    starts = np.array([base for base, _ in held], dtype=np.int64)
    ends = starts + np.array([block.size for _, block in held])
    moved = np.array([block.ctypes.data for _, block in held], dtype=np.int64) - starts
    below = np.clip(np.searchsorted(starts, theirs, side="right") - 1, 0, len(held) - 1)
    above = np.clip(below + 1, 0, len(held) - 1)
    outside = (theirs < starts[below]) | (theirs >= ends[below])
    nearer = outside & (np.abs(starts[above] - theirs) < np.abs(theirs - ends[below]))
    return theirs + moved[np.where(nearer, above, below)], outside
