"""Shared memory, barriers and global memory of a simulated program, and who touched what when.

Every access to shared memory is kept with its stamp. A new one must come later than all earlier
ones that it could disturb, by something that the kernel waited for; else it is named.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .machine import Actor, Clock, Fault, Machine, Place, here

Box = tuple[tuple[int, int], ...]  # from, to in each dimension of an allocation


@dataclass(frozen=True)
class Access:
    """One actor reads or writes a box."""

    box: Box
    writes: bool
    stamp: tuple[int, int]
    actor: Actor
    place: Place
    fenced: bool = True  # False: written by threads, not yet shown to copy engine and tensor cores

    def meets(self, box: Box) -> bool:
        pairs = zip(self.box, box, strict=True)
        return all(start < stop2 and start2 < stop for (start, stop), (start2, stop2) in pairs)


class Allocation:
    """Memory of a program, at first without values."""

    def __init__(self, machine: Machine, name: str, dtype: torch.dtype, shape: Sequence[int]):
        self.machine, self.name = machine, name
        self.values = torch.empty(tuple(shape), dtype=dtype)
        if dtype.is_floating_point:
            self.values.fill_(float("nan"))
        self.written = torch.zeros(tuple(shape), dtype=torch.bool)
        self.accesses: list[Access] = []

    def touch(self, actor: Actor, box: Box, *, writes: bool, engine: bool) -> None:
        """Note an access of `actor`. engine: by the copy engine or the tensor cores.

        Raises Fault where it could meet an earlier access, or one that has not finished.
        """
        place = here()
        for other in self.accesses:
            if (writes or other.writes) and other.meets(box):
                if not actor.knows(other.stamp):
                    raise self._race(other, actor, box, writes)
                if engine and not other.fenced:
                    raise Fault(
                        "no-fence",
                        f"{self.part(box)} was stored at {other.place}; {actor.name} at {place} "
                        "may not see it yet: fence_async_shared() is missing in between",
                    )
        if not writes and not self.written[_slices(box)].all():
            raise Fault(
                "unwritten",
                f"{self.part(box)} is read at {place}, and nothing has been put there yet",
            )
        if writes:  # what this one covers, and comes after, cannot be met any more
            inside = [other for other in self.accesses if not _covers(box, other.box)]
            self.accesses = inside
            self.written[_slices(box)] = True
        self.accesses.append(Access(box, writes, actor.act(), actor, place, engine or not writes))

    def fence(self, me: Actor) -> None:
        """Show what `me` knows to have been stored to copy engine and tensor cores."""
        shown = [a if a.fenced or not me.knows(a.stamp) else _fenced(a) for a in self.accesses]
        self.accesses = shown

    def part(self, box: Box) -> str:
        """`a_tiles[2]`: as the kernel names it."""
        (first, last), (_, size) = box[0], ((0, self.values.shape[0]))
        return f"{self.name}[{first}]" if last - first == 1 and size > 1 else self.name

    def _race(self, other: Access, actor: Actor, box: Box, writes: bool) -> Fault:
        part, place = self.part(box), here()
        if other.writes and not writes:
            return Fault(
                "early-read",
                f"{actor.name} at {place} reads {part}, and has not waited for what "
                f"{other.actor.name} of {other.place} puts there",
            )
        if writes and not other.writes:
            return Fault(
                "overwritten",
                f"{actor.name} at {place} overwrites {part} while {other.actor.name} of "
                f"{other.place} may still read it",
            )
        return Fault(
            "two-writers",
            f"{actor.name} at {place} and {other.actor.name} of {other.place} write {part} in "
            "no certain order",
        )


def _covers(box: Box, other: Box) -> bool:
    pairs = zip(box, other, strict=True)
    return all(start <= start2 and stop2 <= stop for (start, stop), (start2, stop2) in pairs)


def _fenced(access: Access) -> Access:
    return Access(access.box, access.writes, access.stamp, access.actor, access.place)


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(start, stop) for start, stop in box)


class Shared:
    """A view of an allocation, as `gl.shared_memory_descriptor`.

    dims: for each dimension of the view that of the allocation which it cuts, or None.
    """

    def __init__(self, owner: Allocation, view: torch.Tensor, box: Box, dims: list[int | None]):
        self.owner, self.view, self.box, self.dims = owner, view, box, dims

    @classmethod
    def whole(cls, owner: Allocation) -> Shared:
        shape = owner.values.shape
        return cls(owner, owner.values, tuple((0, n) for n in shape), list(range(len(shape))))

    @property
    def shape(self) -> list[int]:
        return list(self.view.shape)

    @property
    def dtype(self) -> torch.dtype:
        return self.view.dtype

    def index(self, index: int) -> Shared:
        cut = self.slice(index, 1)
        return Shared(self.owner, cut.view[0], cut.box, self.dims[1:])

    def slice(self, start: int, length: int, dim: int = 0) -> Shared:
        start, size = int(start), self.view.shape[dim]
        if not 0 <= start <= start + length <= size:
            raise Fault(
                "outside",
                f"{self.owner.name} has {size} parts, and {here()} takes number "
                f"{start if length == 1 else start + length - 1}",
            )
        box, cut = list(self.box), self.dims[dim]
        if cut is not None:
            first = box[cut][0]
            box[cut] = (first + start, first + start + length)
        return Shared(self.owner, self.view.narrow(dim, start, length), tuple(box), self.dims)

    def permute(self, order: Sequence[int]) -> Shared:
        dims = [self.dims[each] for each in order]
        return Shared(self.owner, self.view.permute(*order), self.box, dims)

    def reshape(self, shape: Sequence[int]) -> Shared:
        """Its parts are told apart no further after this."""
        view = self.view.view(tuple(int(n) for n in shape))
        return Shared(self.owner, view, self.box, [None] * view.ndim)

    def store(self, value: torch.Tensor) -> None:
        machine = self.owner.machine
        machine.step()
        self.owner.touch(machine.me(), self.box, writes=True, engine=False)
        self.view.copy_(value)

    def load(self, layout: Any = None) -> torch.Tensor:
        machine = self.owner.machine
        machine.step()
        self.owner.touch(machine.me(), self.box, writes=False, engine=False)
        return self.view.clone()


class Barriers:
    """Barriers side by side in shared memory, until one is chosen by `index`."""

    def __init__(self, machine: Machine, name: str, count: int):
        several = (f"{name}[{n}]" for n in range(count))
        self.each = (
            [Barrier(machine, told) for told in several] if count > 1 else [Barrier(machine, name)]
        )
        self.name = name

    def __getattr__(self, wanted: str) -> Any:
        raise Fault(
            "no-index",
            f"{here()} takes {self.name} for one barrier, and it has {len(self.each)}: "
            f"{self.name.rpartition('.')[2]}.index(slot) is one",
        )

    def index(self, index: int) -> Barrier:
        if not 0 <= index < len(self.each):
            raise Fault(
                "outside",
                f"{self.name} has {len(self.each)} barriers, and {here()} takes number {index}",
            )
        return self.each[index]


class Barrier:
    """Counts arrivals and bytes; a phase ends when none of either is missing."""

    def __init__(self, machine: Machine, name: str):
        self.machine, self.name = machine, name
        self.count = 0  # arrivals that end a phase; 0: not initialised
        self.missing, self.bytes = 0, 0
        self.ended = 0  # phases that have ended
        self.clock: Clock = {}
        self.seen: dict[int, int] = {}  # by partition: up to which ended phase it has waited

    def init(self, count: int) -> None:
        self.count = self.missing = int(count)

    def _check(self) -> None:
        if not self.count:
            raise Fault("not-initialised", f"{self.name} is used at {here()} before mbarrier.init")

    def expect(self, size: int) -> None:
        self.bytes += int(size)
        self.arrive(1)

    def arrive(self, count: int) -> None:
        self._check()
        me = self.machine.me()
        if self.missing < count:
            raise Fault(
                "too-many-arrivals",
                f"{me.name} arrives at {self.name} at {here()}, and its phase has all of its "
                f"{self.count} arrivals: it has to end before the next one begins",
            )
        self.missing -= int(count)
        self._learn(me.tell())

    def landed(self, copy: Actor, size: int) -> None:
        """The copy engine has delivered `size` bytes."""
        self.bytes -= size
        self._learn(copy.clock)

    def _learn(self, clock: Clock) -> None:
        for number, time in clock.items():
            self.clock[number] = max(time, self.clock.get(number, 0))
        if self.missing == 0 and self.bytes == 0:
            self.ended += 1
            self.missing = self.count

    def wait(self, phase: int) -> None:
        """Go on when a phase of this parity has ended last; the one before the first is odd."""
        self._check()
        phase = int(phase)
        if phase not in (0, 1):
            raise Fault(
                "phase", f"{here()} waits for phase {phase} of {self.name}: phases are 0 and 1"
            )
        self.machine.wait(lambda: (self.ended - 1) % 2 == phase, lambda: self._told(phase))
        me = self.machine.me()
        if self.seen.get(me.number) == self.ended:
            raise Fault(
                "phase-twice",
                f"{me.name} waits at {here()} for phase {phase} of {self.name}, which it has "
                "waited for before: nothing new has arrived since",
            )
        self.seen[me.number] = self.ended
        me.learn(self.clock)

    def _told(self, phase: int) -> str:
        still = f"{self.missing} of {self.count} arrivals" if self.missing else ""
        if self.bytes > 0:
            still += (" and " if still else "") + f"{self.bytes} bytes"
        said = f"phase {phase} of {self.name}, which is in phase {self.ended % 2}"
        if self.bytes < 0:
            said += f", got {-self.bytes} bytes more than it was told to expect"
        return f"{said} and lacks {still}" if still else said


@dataclass(frozen=True)
class PointerType:
    """The dtype of a pointer, as a kernel asks for it: `x_ptr.dtype.element_ty`."""

    element_ty: torch.dtype


class Pointer:
    """Addresses in a tensor: memory, one offset or a tile of them, and where the tensor lies."""

    def __init__(self, memory: torch.Tensor, offsets: Any, inside: range):
        self.memory, self.offsets, self.inside = memory, offsets, inside

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Pointer:
        storage = tensor.untyped_storage()
        flat = torch.empty(0, dtype=tensor.dtype).set_(storage)
        first = tensor.storage_offset()
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        last = first + sum((size - 1) * stride for size, stride in steps)
        return cls(flat, first, range(first, last + 1 if tensor.numel() else first))

    @property
    def dtype(self) -> PointerType:
        return PointerType(self.memory.dtype)

    def __add__(self, offsets: Any) -> Pointer:
        return Pointer(self.memory, self.offsets + offsets, self.inside)

    __radd__ = __add__

    def _places(self, mask: Any) -> tuple[torch.Tensor, torch.Tensor]:
        places = torch.as_tensor(self.offsets, dtype=torch.int64)
        keep = torch.ones_like(places, dtype=torch.bool) if mask is None else torch.as_tensor(mask)
        places, keep = torch.broadcast_tensors(places, keep)
        wrong = keep & ((places < self.inside.start) | (places >= self.inside.stop))
        if wrong.any():
            raise Fault("outside", f"{here()} uses an address outside its tensor")
        return places, keep

    def load(self, mask: Any, other: Any) -> torch.Tensor:
        places, keep = self._places(mask)
        fill = float("nan") if self.memory.dtype.is_floating_point else -1
        if not keep.any():
            return torch.full(places.shape, fill if other is None else other).to(self.memory.dtype)
        values = self.memory[torch.where(keep, places, self.inside.start)]
        return torch.where(keep, values, fill if other is None else other).to(self.memory.dtype)

    def store(self, value: Any, mask: Any) -> None:
        places, keep = self._places(mask)
        values = torch.as_tensor(value).to(self.memory.dtype).expand(places.shape)
        self.memory[places[keep]] = values[keep]


_CALL = re.compile(r"\s*(\w+)\s*=\s*\w+\(")


def name_of_allocation() -> str:
    """The name that the kernel gives the memory it allocates: what stands before the `=`.

    A helper that the kernel calls as `k_ring = new_ring(...)` gives `k_ring.full`.
    """
    frame = sys._getframe(1)
    folder = __file__.rpartition("/")[0]
    while frame.f_back is not None and frame.f_code.co_filename.startswith(folder):
        frame = frame.f_back
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    found = re.match(r"\s*(\w+)\s*=", line)
    name = found.group(1) if found else "shared memory"
    caller = frame.f_back
    while caller is not None and caller.f_code.co_filename.startswith(folder):
        caller = caller.f_back
    if caller is not None:
        above = _CALL.match(linecache.getline(caller.f_code.co_filename, caller.f_lineno))
        return f"{above.group(1)}.{name}" if above else name
    return name
