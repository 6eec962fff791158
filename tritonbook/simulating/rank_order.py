"""The streams of all ranks, in one order: who goes on, and what programs do to memory."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import torch

from ..port.idle_lanes import filled, lanes_of
from ..port.launch_later import ACCESSES, Later, accesses
from .machine import Clock, Fault, Machine, Partition, watch
from .rank_causes import RELEASES, Act
from .rank_memory import Memory, Part, as_number, peek

MEET = "meet"  # stands in a stream where all ranks wait for each other
_loads: list[list[tuple[int, np.ndarray]]] = []
_foreign: list[dict[int, set[int]]] = []
_flags: list[list[tuple[Act | _Told, Act | _Told]]] = []
_MANY = {"load": 64, "atomic": 2}  # so often the same look, one after the other, is a wait


def watch_loads() -> contextlib.AbstractContextManager[list[tuple[int, np.ndarray]]]:
    """Inside, each load of a program is noted: its rank, and the addresses of lanes that are on."""
    return watch(_loads)


@contextlib.contextmanager
def watch_foreign() -> Iterator[dict[int, set[int]]]:
    """Inside, it is noted for each rank which addresses of others it loads, a tile at a time."""
    found: dict[int, set[int]] = {}
    _foreign.append(found)
    try:
        yield found
    finally:
        _foreign.remove(found)


def watch_flags() -> contextlib.AbstractContextManager[list[tuple[Act | _Told, Act | _Told]]]:
    """Inside, it is noted who has awaited a flag and put it back, and who had raised it: each has
    `rank` and `name`."""
    return watch(_flags)


def are_ranks_watched() -> bool:
    """Whether somebody asks who awaits whose flags, or who loads what."""
    return bool(_flags or _foreign or _loads)


def hear_of_ranks(flags: Any, foreign: Any, loads: Any) -> None:
    """Note what another process has seen: rank and name of who has awaited a flag, and of who had
    raised it; a rank and the addresses of others that it has loaded; a rank and what addresses of
    ours it would have loaded. Raises TypeError or ValueError where that is something else."""
    for rank, addresses in (*foreign, *loads):
        if {type(each) for each in (rank, *addresses)} != {int}:
            raise ValueError("not who has loaded what")
    for rank, addresses in foreign:
        _note_foreign(rank, addresses)
    for rank, addresses in loads:
        for heard in _loads:
            heard.append((rank, np.array(addresses, dtype=np.int64)))
    for pair in flags:
        if [type(each) for each in pair] != [int, str, int, str]:
            raise ValueError("not who has awaited a flag")
        rank, name, other, by = pair
        for seen in _flags:
            seen.append((_Told(rank, name), _Told(other, by)))


def _note_foreign(rank: int, addresses: Iterable[int]) -> None:
    for found in _foreign:
        found.setdefault(rank, set()).update(addresses)


@dataclass(frozen=True)
class _Told:
    """Of an act in another process."""

    rank: int
    name: str


@dataclass
class World:
    """All that the ranks of one `on_ranks` share, from call to call."""

    count: int
    parts: dict[str, list[Part]] = field(default_factory=dict)
    streams: list[list[Later | str]] = field(default_factory=list)

    def part(self, name: str, rank: int, shape: tuple[int, ...], dtype: torch.dtype) -> Part:
        """What a rank holds under this name. Raises Fault where another shape was asked for."""
        if name not in self.parts:
            parts = [Part(name, owner, shape, dtype, self.count) for owner in range(self.count)]
            self.parts[name] = parts
        found = self.parts[name][rank]
        if (found.shape, found.dtype) != (shape, dtype):
            raise Fault(
                "size",
                f"rank {rank} asks for {name} of shape {list(shape)} and {dtype}, and it has shape "
                f"{list(found.shape)} and {found.dtype}: symmetric memory is alike on all ranks, "
                "and in all calls",
            )
        return found


def run_streams(world: World, order: int) -> None:
    """All streams, in one order."""
    machine = _Ranks(world, order)
    builder = type(machine.builder)
    hooks = {f"create_{name}": getattr(machine, name) for name in ACCESSES}
    bound = {name: _method(hook) for name, hook in hooks.items()}
    try:
        with mock.patch.multiple(builder, **bound):
            machine.run("the ranks", machine.start_streams)
    finally:
        for scope in machine.scopes[::-1]:
            scope.restore()


def _method(hook: Callable[..., Any]) -> Callable[..., Any]:
    def method(builder: Any, *args: Any, **named: Any) -> Any:
        return hook(*args, **named)

    return method


@dataclass
class _Running:
    """What a partition is at: a program of a launch."""

    rank: int
    launch: int
    program: tuple[int, int, int]
    grid: tuple[int, int, int]
    apart: str = ""  # where lanes touched what others see, since they waited for each other
    look: tuple[Any, ...] = ()  # the last look at memory that changed nothing
    times: int = 0


class _Ranks(Machine):
    """The streams of all ranks, in one order."""

    def __init__(self, world: World, order: int):
        from triton.runtime.interpreter import interpreter_builder

        super().__init__(order)
        self.world, self.order, self.builder = world, order, interpreter_builder
        self.own = accesses()
        self.memory = Memory(
            (part for parts in world.parts.values() for part in parts), world.count
        )
        for part in self.memory.parts:
            part.forget()
        for rank, stream in enumerate(world.streams):
            for launch in stream:
                if isinstance(launch, Later):
                    for name, tensor in launch.tensors.items():
                        self.memory.know(rank, name, tensor)
        # So many programs of a launch run at once; the others begin when these have ended.
        self.room = (None, 1, 2)[order % 3]
        self.slow = order // 2 % world.count  # the rank that comes last, in some orders
        self.met: list[tuple[int, Clock]] = []
        self.latest: Partition | None = None
        self.waiting: list[int] = [0] * world.count  # programs that have not begun, by rank
        self.scopes: list[Any] = []  # of the interpreter's language, to be put back

    # --- streams
    def start_streams(self) -> None:
        self.split(
            [
                (f"rank {rank}", functools.partial(self._stream, rank, stream))
                for rank, stream in enumerate(self.world.streams)
            ]
        )

    def begin(self, jobs: list[tuple[str, Callable[[], Any]]]) -> list[Partition]:
        # A thread has no context of its own: whoever asked may have set something.
        return super().begin(
            [(name, functools.partial(contextvars.copy_context().run, job)) for name, job in jobs]
        )

    def join(self, made: list[Partition]) -> None:
        super().join(made)
        self.partitions = [p for p in self.partitions if not p.over]

    def _stream(self, rank: int, stream: list[Later | str]) -> None:
        meetings = launches = 0
        for item in stream:
            if isinstance(item, Later):
                self._launch(rank, launches, item)
                launches += 1
            else:
                self._meet(meetings)
                meetings += 1

    def _launch(self, rank: int, number: int, launch: Later) -> None:
        from triton.runtime import interpreter

        self.scopes.append(interpreter._patch_lang(launch.fn))
        programs = [
            (x, y, z)
            for x in range(launch.grid[0])
            for y in range(launch.grid[1])
            for z in range(launch.grid[2])
        ]
        self.waiting[rank] = len(programs)
        room = len(programs) if launch.together or self.room is None else self.room

        def work() -> None:
            while programs:
                self._program(rank, number, launch, programs.pop(0))

        me, name = self.me(), self.me().name
        others = self.begin([(name, work)] * (min(room, len(programs)) - 1))
        work()  # the stream does as one of them: each is a thread, and a grader counts them
        me.name, me.running = name, None
        self.join(others)

    def _program(self, rank: int, which: int, launch: Later, program: tuple[int, int, int]) -> None:
        me = self.me()
        self.waiting[rank] -= 1
        number = ",".join(map(str, program if max(launch.grid[1:]) > 1 else program[:1]))
        me.name = f"program {number} of rank {rank}"
        me.running = _Running(rank, which, program, launch.grid)
        self._turn(me)
        launch.fn(**launch.arguments)

    def _meet(self, number: int) -> None:
        """Wait until all ranks are here."""
        me = self.me()
        if number == len(self.met):
            self.met.append((0, {}))
        came, clock = self.met[number]
        self.met[number] = came + 1, clock
        for actor, time in me.tell().items():
            clock[actor] = max(time, clock.get(actor, 0))
        count = self.world.count
        self.wait(
            lambda: self.met[number][0] == count,
            lambda: f"all ranks at its rank.barrier() number {number + 1}",
        )
        me.learn(clock)

    # --- the order
    def _choose(self) -> Partition:
        able = [p for p in self.partitions if not p.over and (p.blocked is None or p.blocked())]
        if not able:
            raise Fault("deadlock", self._who_waits())
        way = self.order % 4
        if way == 1 and self.latest in able and self.chance.random() < 0.95:
            return self.latest
        if way == 2:
            able = [p for p in able if _rank_of(p) != self.slow] or able
        if way == 3 and self.chance.random() < 0.9:
            first = min(map(_rank_of, able))
            able = [p for p in able if _rank_of(p) == first]
        self.latest = self.chance.choice(able)
        return self.latest

    def _resume(self, partition: Partition) -> None:
        self._turn(partition)
        super()._resume(partition)

    def _turn(self, partition: Partition) -> None:
        """Triton's interpreter knows one program at a time."""
        running = partition.running
        if running is not None:
            self.builder.grid_dim = running.grid
            self.builder.grid_idx = running.program

    def _who_waits(self) -> str:
        said = super()._who_waits()
        for rank, left in enumerate(self.waiting):
            if left:
                said += (
                    f". Rank {rank} has {left} program{'s' * (left > 1)} more, without room to "
                    "begin: a GPU need not run all programs of a launch at once"
                )
                break
        return said

    # --- what programs do
    def _act(self) -> Act:
        me = self.me()
        at: _Running = me.running
        return Act(me, me.name, at.rank, at.launch, me.act(), self.place())

    def masked_load(self, pointers: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:
        from triton.runtime import interpreter

        if other is None and not lanes_of(mask).all():
            other = filled(interpreter, pointers, lanes_of(mask))
        addresses, itemsize = _words(pointers, lanes_of(mask))
        shared = self.memory.shared(addresses)
        if shared:
            self.step()
        act = self._act()
        self.memory.touch(act, addresses, itemsize, writes=False)
        for seen in _loads:
            seen.append((act.rank, addresses))
        if shared:
            if _foreign and addresses.size > 1:
                _note_foreign(act.rank, self.memory.foreign(act.rank, addresses).tolist())
            self._apart(act, addresses)
            self._wait_for_news("load", act, addresses, itemsize)
            if addresses.size == 1:
                self.memory.acquire(act, addresses, "load", "")
            self.memory.unread(act, addresses, itemsize)
        return self.own["masked_load"](self.builder, pointers, mask, other, *rest, **named)

    def masked_store(self, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        addresses, itemsize = _words(pointers, lanes_of(mask))
        shared = self.memory.shared(addresses)
        if shared:
            self.step()
        act = self._act()
        self.memory.touch(act, addresses, itemsize, writes=True)
        if shared:
            self._apart(act, addresses)
            if addresses.size == 1:
                self.memory.release(act, addresses, "store", "")
        act.who.running.look = ()
        return self.own["masked_store"](self.builder, pointers, value, mask, *rest)

    def atomic_rmw(self, op: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        call = functools.partial(self.own["atomic_rmw"], self.builder, op, pointers, value, mask)
        return self._atomic(call, pointers, lanes_of(mask), "", *rest)

    def atomic_cas(self, pointers: Any, compared: Any, value: Any, *rest: Any) -> Any:
        call = functools.partial(self.own["atomic_cas"], self.builder, pointers, compared, value)
        lanes = np.ones(np.shape(pointers.data), bool)
        due = str(np.asarray(compared.data).reshape(-1)[0])
        return self._atomic(call, pointers, lanes, due, *rest)

    def _atomic(
        self,
        call: Callable[..., Any],
        pointers: Any,
        lanes: np.ndarray,
        due: str,
        sem: Any,
        scope: Any,
    ) -> Any:
        self.step()
        addresses, itemsize = _words(pointers, lanes)
        act, how, reach = self._act(), _sem(sem), _scope(scope)
        at: _Running = act.who.running
        self.memory.reach(act, addresses, itemsize)
        if how in RELEASES and at.apart and addresses.size:
            self._needs_barrier(act, addresses)
        self._wait_for_news("atomic", act, addresses, itemsize, due)
        before = peek(addresses, itemsize)
        self.memory.acquire(act, addresses, how, reach)
        result = call(sem, scope)
        if peek(addresses, itemsize) != before:
            if how == "acquire":
                self._note_flags(act, addresses)
            self.memory.release(act, addresses, how, reach)
            at.look = ()
        if how == "acquire":
            at.apart = ""  # all lanes get what one of them has read
        return result

    def _note_flags(self, act: Act, addresses: np.ndarray) -> None:
        for address in map(int, addresses):
            if raised := self.memory.flags[address].raised:
                for seen in _flags:
                    seen.append((act, raised.act))

    def barrier(self, *_: Any) -> None:
        self.me().running.apart = ""

    def _apart(self, act: Act, addresses: np.ndarray) -> None:
        if addresses.size > 1:
            act.who.running.apart = str(act.place)

    def _needs_barrier(self, act: Act, addresses: np.ndarray) -> None:
        flag = self.memory.name_of(act.rank, int(addresses[0]))
        raise Fault(
            "no-barrier",
            f"{act.name} at {act.place.whole()} changes {flag}, and lanes of "
            f"{act.who.running.apart} may not be done: one lane changes the flag for all, so they "
            "meet before, at tl.debug_barrier()",
        )

    def _wait_for_news(
        self, kind: str, act: Act, addresses: np.ndarray, itemsize: int, due: str = ""
    ) -> None:
        """Where a program looks at the same words again and again, let it wait until they change.
        due: what it wants to find there, where that is known.

        So a loop that waits ends as soon as it can, and one that never can is a deadlock.
        """
        at: _Running = act.who.running
        held = peek(addresses, itemsize)
        look = (kind, act.place.file, act.place.line, addresses.tobytes(), held)
        at.times = at.times + 1 if look == at.look else 0
        at.look = look
        if at.times >= _MANY[kind] and addresses.size:
            flag = self.memory.name_of(act.rank, int(addresses[0]))
            now = as_number(held, itemsize)
            said = f"{due} in {flag}" if due else f"another value in {flag}"
            said += self._last_change(int(addresses[0]), now)
            self.wait(lambda: peek(addresses, itemsize) != held, lambda: said)

    def _last_change(self, address: int, now: int) -> str:
        flag = self.memory.flags.get(address)
        if flag is None or flag.raised is None:
            return f". It holds {now}, and nobody has changed it"
        act = flag.raised.act
        return f". It holds {now}, last changed by {act.name} at {act.place.whole()}"


def _rank_of(partition: Partition) -> int:
    running = partition.running
    return running.rank if running is not None else -1


def _words(pointers: Any, lanes: Any) -> tuple[np.ndarray, int]:
    """The addresses of lanes that are on, and the bytes of an element."""
    addresses = np.asarray(pointers.data).astype(np.int64, copy=False).reshape(-1)
    on = np.broadcast_to(np.asarray(lanes, dtype=bool), np.shape(pointers.data)).reshape(-1)
    itemsize = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
    return addresses if on.all() else addresses[on], itemsize


def _sem(sem: Any) -> str:
    """As a kernel writes it."""
    name = str(sem).rpartition(".")[2].lower()
    return {"acquire_release": "acq_rel"}.get(name, name)


def _scope(scope: Any) -> str:
    name = str(scope).rpartition(".")[2].lower()
    return {"system": "sys"}.get(name, name)
