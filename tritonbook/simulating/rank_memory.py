"""Memory that all ranks reach, the flags in it, and who touched what when.

Every element knows who wrote it last and who of each rank read it last. A new access must come
later than those that it could disturb, by a flag that was waited for; else it is named.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .machine import Fault
from .rank_causes import ACQUIRES, RELEASES, Act, Flag, Raised, Seen, looked, why

tensor_of = torch.from_numpy  # as it is: whoever watches a call takes its tensors for the CPU's
MARGIN = 256  # bytes around each allocation, and what it is aligned to


class Part:
    """What one rank holds of a symmetric allocation, zeros at first."""

    def __init__(self, name: str, owner: int, shape: Sequence[int], dtype: torch.dtype, ranks: int):
        self.name, self.owner, self.shape, self.dtype = name, owner, tuple(shape), dtype
        self.itemsize, count = dtype.itemsize, math.prod(shape)
        raw = np.zeros(count * self.itemsize + 3 * MARGIN, np.uint8)
        skip = MARGIN + -raw.ctypes.data % MARGIN
        self.bytes = raw[skip : skip + count * self.itemsize]
        self.start = self.bytes.ctypes.data
        self.stop = self.start + self.bytes.size
        with torch._C.DisableTorchFunction():
            self.tensor = tensor_of(self.bytes).view(dtype).view(self.shape)
        self.acts: list[Act] = []
        self.stored = np.zeros(count, bool)  # by a kernel, in any call
        self.writer = np.full(count, -1, np.int32)
        self.readers = np.full((ranks, count), -1, np.int32)

    def forget(self) -> None:
        """A new beginning, at which everybody knows of everything before."""
        self.acts.clear()
        self.writer[:] = self.readers[:] = -1

    def said(self, elements: np.ndarray) -> str:
        """As the kernel's programs share it out: "`parts[64:128]` of rank 1"."""
        first, last = int(elements.min()), int(elements.max())
        if len(self.shape) > 1 and first == last:
            at = ", ".join(map(str, np.unravel_index(first, self.shape)))
        else:
            at = str(first) if first == last else f"{first}:{last + 1}"
        return f"`{self.name}[{at}]` of rank {self.owner}"


@dataclass(frozen=True)
class Private:
    """A tensor that one rank's launches were given."""

    name: str
    start: int
    stop: int
    itemsize: int


class Memory:
    """What the programs of all ranks touch."""

    def __init__(self, parts: Iterable[Part], ranks: int):
        self.parts = sorted(parts, key=lambda part: part.start)
        self._starts = np.array([part.start for part in self.parts], np.int64)
        self._stops = np.array([part.stop for part in self.parts], np.int64)
        self.ranks = ranks
        self.private: list[dict[int, Private]] = [{} for _ in range(ranks)]
        self.flags: dict[int, Flag] = {}
        self.seen: dict[tuple[str, int], dict[int, Seen]] = {}  # by program, then by address

    def know(self, rank: int, name: str, tensor: torch.Tensor) -> None:
        """A launch of this rank got this tensor."""
        with torch._C.DisableTorchFunction():
            size = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
            start, itemsize = tensor.data_ptr(), tensor.element_size()
            stop = start + (size + 1) * itemsize * bool(tensor.numel())
        if not any(part.start <= start < part.stop for part in self.parts):
            told = Private(name.removesuffix("_ptr"), start, stop, itemsize)
            self.private[rank].setdefault(start, told)

    def _looks(self, act: Act) -> list[Seen]:
        """A program's looks at flags, the last one last."""
        return [*self.seen.get(act.program, {}).values()]

    # --- plain accesses
    def shared(self, addresses: np.ndarray) -> bool:
        """Whether any of these lies in memory that all ranks reach."""
        return bool((self._homes(addresses, 1) >= 0).any())

    def foreign(self, rank: int, addresses: np.ndarray) -> np.ndarray:
        """Those of the addresses that lie in memory of another rank."""
        homes = self._homes(addresses, 1)
        owners = np.array([part.owner for part in self.parts])[homes]
        return addresses[(homes >= 0) & (owners != rank)]

    def _homes(self, addresses: np.ndarray, itemsize: int) -> np.ndarray:
        """The number of the part that holds each, -1 where none does."""
        if not self.parts:
            return np.full(addresses.shape, -1)
        found = np.searchsorted(self._starts, addresses, "right") - 1
        return np.where(addresses + itemsize <= self._stops[found], found, -1)

    def touch(self, act: Act, addresses: np.ndarray, itemsize: int, writes: bool) -> None:
        """Note the access of a load or store at these bytes.

        Raises Fault where it lies outside, or where nothing orders it with another's.
        """
        homes = self._homes(addresses, itemsize)
        for number in _numbers(homes):
            part = self.parts[number]
            mine = addresses[homes == number]
            self._touch_part(part, act, (mine - part.start) // part.itemsize, writes)
        self._in_private(act, addresses[homes < 0], itemsize, writes)

    def _in_private(self, act: Act, addresses: np.ndarray, itemsize: int, writes: bool) -> None:
        for own in self.private[act.rank].values():
            if not addresses.size:
                return
            addresses = addresses[(addresses < own.start) | (addresses + itemsize > own.stop)]
        if addresses.size:
            raise self._outside(act, addresses, writes)

    def _touch_part(self, part: Part, act: Act, elements: np.ndarray, writes: bool) -> None:
        number = len(part.acts)
        part.acts.append(act)
        writers = part.writer[elements]
        for other in _numbers(writers):
            if not act.who.knows(part.acts[other].stamp):
                raise self._race(part, part.acts[other], act, elements[writers == other], writes)
        if writes:
            for readers in part.readers[:, elements]:
                for other in _numbers(readers):
                    earlier = part.acts[other]
                    if earlier.who is not act.who and not act.who.knows(earlier.stamp):
                        raise self._overwritten(part, earlier, act, elements[readers == other])
            part.writer[elements] = number
            part.stored[elements] = True
            part.readers[:, elements] = -1
        else:
            part.readers[act.rank, elements] = number

    def _race(self, part: Part, other: Act, act: Act, elements: np.ndarray, writes: bool) -> Fault:
        where, here, there = part.said(elements), act.place.whole(), other.place.whole()
        if writes:
            return Fault(
                "two-writers",
                f"{act.name} at {here} stores to {where}, and so does {other.name} at {there}, in "
                "no certain order" + why(self._looks(act), act, other),
            )
        return self._early_read(where, act, other)

    def _early_read(self, where: str, act: Act, other: Act) -> Fault:
        here, there = act.place.whole(), other.place.whole()
        return Fault(
            "early-read",
            f"{act.name} at {here} reads {where}, and nothing says that what {other.name} stores "
            f"there at {there} has come" + why(self._looks(act), act, other),
        )

    def _overwritten(self, part: Part, other: Act, act: Act, elements: np.ndarray) -> Fault:
        """Either it is stored too late, and an older value was read, or too early."""
        where, here, there = part.said(elements), act.place.whole(), other.place.whole()
        found = _numbers(part.writer[elements])
        old = all(part.acts[each].launch < other.launch for each in found)
        if old and other.launch == act.launch:
            return self._early_read(where, other, act)
        return Fault(
            "overwritten",
            f"{act.name} at {here} overwrites {where}, which {other.name} at {there} may not have "
            "read yet" + why(self._looks(act), act, other),
        )

    def unread(self, act: Act, addresses: np.ndarray, itemsize: int) -> None:
        """Raises Fault where a load reads what nobody has stored, at any time."""
        homes = self._homes(addresses, itemsize)
        for number in _numbers(homes):
            part = self.parts[number]
            elements = (addresses[homes == number] - part.start) // part.itemsize
            empty = elements[~part.stored[elements]]
            if empty.size and not self._holds_flags(part):
                raise Fault(
                    "early-read",
                    f"{act.name} at {act.place.whole()} reads {part.said(empty)}, and no kernel "
                    "has stored anything there" + looked(self._looks(act), part.owner),
                )

    def _holds_flags(self, part: Part) -> bool:
        return any(part.start <= address < part.stop for address in self.flags)

    def _outside(self, act: Act, addresses: np.ndarray, writes: bool) -> Fault:
        kind = "out-of-bounds-store" if writes else "reads-outside"
        outside = f"{act.name} at {act.place.whole()} reads outside its tensors"
        if writes:
            outside = f"{act.name} at {act.place.whole()} stores outside its tensors"
        address = int(addresses[0])
        for rank, known in enumerate(self.private):
            for other in known.values():
                if rank != act.rank and other.start <= address < other.stop:
                    return Fault(
                        kind,
                        f"{outside}. In its place lies `{other.name}` of rank {rank}, which is no "
                        "symmetric memory: no other GPU reaches it",
                    )
        homes = [*self.private[act.rank].values(), *self.parts]
        home = min(homes, key=lambda each: _gap(each.start, each.stop, address))
        named = f"`{home.name}`"
        if isinstance(home, Part):
            named = f"`{home.name}` of rank {home.owner}"
        if address >= home.stop:
            past = (address - home.stop) // home.itemsize + 1
            where = f". The place is {past} element{'s' * (past > 1)} past the end of {named}"
        else:
            before = (home.start - address - 1) // home.itemsize + 1
            where = (
                f". The place is {before} element{'s' * (before > 1)} before the start of {named}"
            )
        if _gap(home.start, home.stop, address) > 1 << 20:
            where = ". The address is nobody's: is it an offset into a table of addresses?"
        return Fault(kind, outside + where)

    # --- flags
    def reach(self, act: Act, addresses: np.ndarray, itemsize: int) -> None:
        """Raises Fault where an atomic goes outside all memory of its rank."""
        homes = self._homes(addresses, itemsize)
        self._in_private(act, addresses[homes < 0], itemsize, writes=True)

    def name_of(self, rank: int, address: int) -> str:
        """A word as the kernel's programs share it out."""
        for part in self.parts:
            if part.start <= address < part.stop:
                return part.said(np.array([(address - part.start) // part.itemsize]))
        for own in self.private[rank].values():
            if own.start <= address < own.stop:
                return f"`{own.name}[{(address - own.start) // own.itemsize}]`"
        return "a word"

    def acquire(self, act: Act, addresses: np.ndarray, how: str, scope: str) -> None:
        """A program looks at flags. how: sem, or `load`."""
        looks = self.seen.setdefault(act.program, {})
        for address in map(int, addresses):
            flag = self.flags.setdefault(address, Flag())
            raised = flag.raised
            name = self.name_of(act.rank, address)
            looks.pop(address, None)  # the last look stands last
            looks[address] = Seen(name, act.place, how, scope, raised)
            near = raised is None or raised.act.rank == act.rank
            if how in ACQUIRES and (near or scope == raised.scope == "sys"):
                act.who.learn(flag.clock)

    def release(self, act: Act, addresses: np.ndarray, how: str, scope: str) -> None:
        """A program has changed flags. how: sem, or `store`."""
        clock = act.who.tell() if how in RELEASES else {}
        for address in map(int, addresses):
            flag = self.flags.setdefault(address, Flag())
            flag.raised = Raised(act, how, scope)
            if how == "store":
                flag.clock = {}
            for number, time in clock.items():
                flag.clock[number] = max(time, flag.clock.get(number, 0))


def _numbers(found: np.ndarray) -> list[int]:
    """Each number once, without -1."""
    if found.size and (found == found[0]).all():
        return [int(found[0])] if found[0] >= 0 else []
    return sorted(set(found[found >= 0].tolist()))


def _gap(start: int, stop: int, address: int) -> int:
    return start - address if address < start else max(0, address - stop + 1)


def peek(addresses: np.ndarray, itemsize: int) -> bytes:
    """What memory holds at these addresses."""
    return b"".join(ctypes.string_at(int(address), itemsize) for address in addresses)


def as_number(raw: bytes, itemsize: int) -> Any:
    """The first word of what memory holds, as a whole number."""
    return int.from_bytes(raw[:itemsize], "little", signed=True)
