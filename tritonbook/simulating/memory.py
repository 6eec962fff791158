"""Shared memory, barriers and global memory of a simulated program, and who touched what when.

Every access to shared memory is kept with its stamp. A new one must come later than all earlier
ones that it could disturb, by something that the kernel waited for; else it is named.
"""

from __future__ import annotations

import linecache
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import FrameType, SimpleNamespace
from typing import Any

import torch

from ..seeing.regions import extent
from .machine import (
    Actor,
    Arrival,
    Clock,
    Fault,
    Machine,
    Partition,
    Passed,
    Place,
    here,
    kernel_frame,
    together,
)

_NEW = ". On a new barrier phase 1 counts as ended"
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
        place = self.machine.place()
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
                f"{self.part(box)} is read at {place}, and nothing has been put there yet"
                + _waited_last(actor, self.machine.barriers),
            )
        if writes:  # what this one covers, and comes after, cannot be met any more
            inside = [other for other in self.accesses if not _covers(box, other.box)]
            self.accesses = inside
            self.written[_slices(box)] = True
        self.accesses.append(Access(box, writes, actor.act(), actor, place, engine or not writes))

    def fence(self, me: Actor) -> None:
        """Show what `me` knows to have been stored to copy engine and tensor cores."""
        self.accesses = [
            each if each.fenced or not me.knows(each.stamp) else replace(each, fenced=True)
            for each in self.accesses
        ]

    def part(self, box: Box) -> str:
        """`a_tiles[2]`: as the kernel names it."""
        first, last = box[0]
        one_of_several = last - first == 1 and self.values.shape[0] > 1
        return f"{self.name}[{first}]" if one_of_several else self.name

    def _race(self, other: Access, actor: Actor, box: Box, writes: bool) -> Fault:
        part, place = self.part(box), self.machine.place().whole()
        there = other.place.whole()
        if other.writes and not writes:
            return Fault(
                "early-read",
                f"{actor.name} at {place} reads {part}, and has not waited for what "
                f"{other.actor.name} of {there} puts there" + _not_seen(actor, other.actor),
            )
        if writes and not other.writes:
            return Fault(
                "overwritten",
                f"{actor.name} at {place} overwrites {part} while {other.actor.name} of "
                f"{there} may still read it" + _let_through(actor, other.actor),
            )
        return Fault(
            "two-writers",
            f"{actor.name} at {place} and {other.actor.name} of {there} write {part} in "
            "no certain order" + _let_through(actor, other.actor),
        )


def _waited_last(reader: Actor, barriers: bool) -> str:
    """Where who reads has waited last. barriers: whether the program has any."""
    who = reader if isinstance(reader, Partition) else reader.by
    if who is None or not barriers:
        return ""
    if who.passed is None:
        return f". {who.name} has waited at no barrier"
    where = who.passed.place.whole()
    said = f". {who.name} waited last for {who.passed.barrier.name} at {where}"
    return said + _NEW * (who.passed.ended == 0)


def _not_seen(reader: Actor, copy: Actor) -> str:
    """Whether who reads has waited where the copy arrives, and for which phase."""
    who = reader if isinstance(reader, Partition) else reader.by
    if who is None or copy.lands is None:
        return ""
    name = copy.lands.name
    seen = who.waited.get(id(copy.lands))
    if seen is None:
        return f". {who.name} has never waited for {name}, where that copy arrives"
    if seen.ended == 0:
        wait = seen.place.whole()
        return f". {who.name} waited at {wait}" + _NEW
    why = _let_through(copy, reader) if copy.passed and copy.passed.ended else ""
    if why:
        return f". {who.name} has waited for an earlier phase of {name}" + why
    return f". {who.name} has waited at {seen.place.whole()}, for an earlier phase of {name}"


def _let_through(writer: Actor, missed: Actor) -> str:
    """Which barrier let a copy be ordered too early, and whose arrivals ended its phase.

    missed: who still reads there, or writes. Where one partition orders both, no barrier is to
    blame: a wait of its own is missing.
    """
    who = missed if isinstance(missed, Partition) else missed.by
    by, passed, reads = writer.by, writer.passed, missed.lands is None
    if who is None or by is None or passed is None or (who is by and reads):
        return ""
    name = passed.barrier.name
    if passed.ended == 0:
        return f". {passed.place.whole()} let it through, and no phase of {name} had ended yet"
    started = missed.clock[who.number] if reads and missed is not who else math.inf
    for each in passed.arrivals:
        if each.who is who and each.time > started:
            return (
                f". Before the copy, {by.name} waited for {name}. {who.name} arrived there, and "
                f"had not waited for {missed.name}: {each.place.whole()}"
            )
    alike: dict[str, dict[str, int]] = {}
    for one in dict.fromkeys(each.who for each in passed.arrivals):
        own = [each for each in passed.arrivals if each.who is one]
        names = alike.setdefault(together(each.place for each in own), {})
        names[one.name] = sum(each.count for each in own)
    said = f". Before the copy, {by.name} waited for {name}"
    for places, names in alike.items():
        told = ", ".join(f"{one} × {count}" for one, count in names.items())
        said += f". In that phase arrived {told}: {places}"
    if not reads:
        return said + f". None of them had waited for the other copy, at {missed.lands.name}"
    if all(each.who is not who for each in passed.arrivals):
        return said + f". None of them is {who.name}'s"
    return said


def _covers(box: Box, other: Box) -> bool:
    pairs = zip(box, other, strict=True)
    return all(start <= start2 and stop2 <= stop for (start, stop), (start2, stop2) in pairs)


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
            said = f"`{self.owner.name}` has {size} parts, and {here()} takes number {start}"
            if length > 1:
                said = (
                    f"`{self.owner.name}` has {size} parts, and {here()} takes {length} from "
                    f"number {start} on: a slice has a start and a length"
                )
            raise Fault("outside", said)
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
        machine.me().note_copies()
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
                f"`{self.name}` has {len(self.each)} barriers, and {here()} takes number {index}",
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
        self.arrivals: list[Arrival] = []  # of the phase that goes on
        self.before: tuple[Arrival, ...] = ()  # of the one that ended last

    def init(self, count: int) -> None:
        self.count = self.missing = int(count)
        self.machine.barriers = True

    def _check(self) -> None:
        if not self.count:
            raise Fault("not-initialised", f"{self.name} is used at {here()} before mbarrier.init")

    def expect(self, size: int) -> None:
        self.bytes += int(size)
        self.arrive(1, expects=True)

    def arrive(self, count: int, expects: bool = False) -> None:
        self._check()
        me = self.machine.me()
        place = self.machine.place()
        if self.missing < count:
            had = (
                f"its phase has all of its {self.count} arrivals: it has to end before the next "
                "one begins"
            )
            if expects and self.bytes > 0:
                had += (
                    ". Bytes for it are still to come: is it the slot's own barrier, does one "
                    "expect serve all copies of the slot, and was the slot waited for, until it "
                    "was empty, before it was filled again?"
                )
            if self.missing:
                had = f"counts {count}: its phase lacks {self.missing} of {self.count} arrivals"
            raise Fault(
                "too-many-arrivals",
                f"{me.name} arrives at {self.name} at {place.whole()}, and {had}",
            )
        self.missing -= int(count)
        self.arrivals.append(Arrival(me, int(count), place, me.clock[me.number], expects))
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
            self.before, self.arrivals = tuple(self.arrivals), []

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
                f"{me.name} waits at {me.place.whole()} for phase {phase} of {self.name}, which "
                "it has waited for before: nothing new has arrived since"
                + ". Are these the slot and the phase of this round?",
            )
        self.seen[me.number] = self.ended
        me.passed = me.waited[id(self)] = Passed(self, me.place, self.ended, self.before)
        me.learn(self.clock)

    def _told(self, phase: int) -> str:
        last = (*self.before, *self.arrivals)[-1:]
        said = f"phase {phase} of `{self.name}`" + f". It is in phase {self.ended % 2}"
        if self.missing:
            said += f". It lacks {self.missing} of {self.count} arrivals"
            who = last[0].who.name if last else ""
            if last and not last[0].expects:
                said += f". The last one was {who}'s, at {last[0].place.whole()}"
            else:
                said += f". The last one was {who}'s" if last else ": nobody has arrived"
        if self.bytes > 0:
            said += f". It lacks {self.bytes} bytes"
        if self.bytes < 0:
            said += f". It has got {-self.bytes} bytes more than it was told to expect"
        return said


class Pointer:
    """Addresses in a tensor: memory, one offset or a tile of them, and where the tensor lies."""

    def __init__(self, memory: torch.Tensor, offsets: Any, inside: range):
        self.memory, self.offsets, self.inside = memory, offsets, inside

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Pointer:
        storage = tensor.untyped_storage()
        flat = torch.empty(0, dtype=tensor.dtype).set_(storage)
        first = tensor.storage_offset()
        return cls(flat, first, range(first, first + extent(tensor.shape, tensor.stride())))

    @property
    def dtype(self) -> SimpleNamespace:
        return SimpleNamespace(element_ty=self.memory.dtype)  # as a kernel asks for it

    def __add__(self, offsets: Any) -> Pointer:
        return Pointer(self.memory, self.offsets + offsets, self.inside)

    __radd__ = __add__

    def _places(self, mask: Any) -> tuple[torch.Tensor, torch.Tensor]:
        places = torch.as_tensor(self.offsets, dtype=torch.int64)
        keep = torch.ones_like(places, dtype=torch.bool) if mask is None else torch.as_tensor(mask)
        places, keep = torch.broadcast_tensors(places, keep)
        wrong = keep & ((places < self.inside.start) | (places >= self.inside.stop))
        if wrong.any():
            why = "it has no mask" if mask is None else _first_in(wrong)
            raise Fault("outside", f"{here()} uses an address outside its tensor: {why}")
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
        values = torch.as_tensor(value).to(self.memory.dtype)
        try:
            values = values.expand(places.shape)
        except RuntimeError:
            shapes = list(values.shape), list(places.shape)
            raise Fault(
                "raised",
                f"{here()} stores values of shape {shapes[0]}, and its addresses have {shapes[1]}",
            ) from None
        self.memory[places[keep]] = values[keep]


def _first_in(wrong: torch.Tensor) -> str:
    """Where in its tile a mask lets the first address through that lies outside."""
    at = wrong.nonzero()[0].tolist()
    if len(at) == 2:
        return f"its mask is True there, first in row {at[0]} and column {at[1]} of the tile"
    if at:
        return f"its mask is True there, first in place {at[0]} of the tile"
    return "its mask is True"


def name_of_allocation() -> str:
    """The name that the kernel gives the memory it allocates: what stands before the `=`.

    A helper that the kernel calls as `k_ring = new_ring(...)` gives `k_ring.full`.
    """
    frame = kernel_frame(sys._getframe(1))
    caller = kernel_frame(frame.f_back) if frame is not None else None
    found = re.match(r"\s*(\w+)\s*=", _text_at(frame))
    name = found[1] if found else "shared memory"
    above = re.match(r"\s*(\w+)\s*=\s*\w+\(", _text_at(caller))
    return f"{above[1]}.{name}" if above else name


def _text_at(frame: FrameType | None) -> str:
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno) if frame else ""
