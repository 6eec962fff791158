"""Who acts, in which order, and what each is known to have seen.

Actors are the partitions of a program (warps with one job) and everything that finishes late: each
asynchronous copy and each product. Partitions run one at a time, in threads of their own; where
they touch what others touch, the machine chooses who goes on. Late actors finish when the machine
chooses, or when they are waited for.

Each actor has a vector clock (Mattern 1989): for each other actor, up to which of its acts this one
is known to come later. So two acts that no wait orders are found in every order, also where the
order at hand happens to give the right values.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import linecache
import random
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any

import triton

from ..words import say

_ROOM = str(Path(__file__).parent)
# What stands between a kernel and this folder: Triton's interpreter, and its mends.
_BETWEEN = (_ROOM, str(Path(triton.__file__).parent), str(Path(__file__).parents[1] / "port"))
Clock = dict[int, int]


class Fault(RuntimeError):
    """What a kernel does wrong. kind: a word for it; the text says who, what and where."""

    def __init__(self, kind: str, sentence: str):
        super().__init__(sentence)
        self.kind = kind

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the sentence names the kernel's line."""
        return [f"{type(self).__name__}: {say(str(self))}"]


class _StoppedError(BaseException):
    """Raised in partitions that are left over when another one failed."""


@dataclass(frozen=True)
class Place:
    """A line of the kernel, said by its text."""

    function: str
    line: int
    file: str = ""
    caller: Place | None = None
    calls: frozenset[Any] | set[Any] = field(default=frozenset(), compare=False)  # all of them

    def __str__(self) -> str:
        text = linecache.getline(self.file, self.line).strip() or f"line {self.line}"
        return f"`{text if len(text) < 70 else text[:67] + '...'}` in `{self.function}`"

    def whole(self) -> str:
        """With the call, where there are several: one of them may be what is wrong."""
        return f"{self}, called by {self.caller}" if len(self.calls) > 1 else str(self)


def together(places: Iterable[Place]) -> str:
    """Several places, with each line said once."""
    told: dict[str, list[str]] = {}
    for place in dict.fromkeys(places):
        calls = told.setdefault(str(place), [])
        calls += [str(place.caller)] if len(place.calls) > 1 else []
    return " and ".join(
        f"{line}, called by {' and by '.join(calls)}" if calls else line
        for line, calls in told.items()
    )


def kernel_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of a kernel's, from `frame` outwards; None at a partition's end."""
    while frame is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        if frame.f_code is Machine._live.__code__:
            return None
        frame = frame.f_back
    return frame


def _place(frame: FrameType) -> Place:
    return Place(frame.f_code.co_name, frame.f_lineno, frame.f_code.co_filename)


def here() -> Place:
    """The kernel's line that is being executed: the innermost one outside this folder."""
    frame = kernel_frame(sys._getframe(1))
    return _place(frame) if frame is not None else Place("a job", 0)


@dataclass(eq=False)  # each is itself alone
class Actor:
    """One partition, copy or product. `name` is said in sentences: `multiply 0`, `the copy`."""

    number: int
    name: str
    place: Place
    clock: Clock = field(default_factory=dict)
    finish: Callable[[], None] | None = None  # of a late actor, until it has finished
    by: Partition | None = None  # who ordered a late actor
    passed: Passed | None = None  # the barrier that it waited for last before it did
    lands: Any = None  # the barrier at which a copy arrives

    def act(self) -> tuple[int, int]:
        """The stamp of an act: later ones of this actor have another."""
        return self.number, self.clock[self.number]

    def knows(self, stamp: tuple[int, int]) -> bool:
        return self.clock.get(stamp[0], 0) >= stamp[1]

    def learn(self, clock: Clock) -> None:
        for number, time in clock.items():
            if self.clock.get(number, 0) < time:
                self.clock[number] = time

    def tell(self) -> Clock:
        """What others learn of this actor now; its later acts are not in it."""
        told = dict(self.clock)
        self.clock[self.number] += 1
        return told


@dataclass(frozen=True)
class Arrival:
    """Who has arrived at a barrier, how often, where, and when by its own clock."""

    who: Partition
    count: int
    place: Place
    time: int
    expects: bool  # bytes, by mbarrier.expect


@dataclass(frozen=True)
class Passed:
    """A wait at a barrier that is over: how many phases had ended, and with which arrivals."""

    barrier: Any
    place: Place
    ended: int
    arrivals: tuple[Arrival, ...]


@dataclass(frozen=True)
class Awaited:
    """A wait for products that is over: which it waited for, which it left under way."""

    place: Place
    finished: tuple[Actor, ...]
    left: tuple[Actor, ...]


_watchers: list[list[tuple[str, int]]] = []
_overlaps: list[list[str]] = []


@contextlib.contextmanager
def watch(watchers: list[list[Any]]) -> Iterator[list[Any]]:
    seen: list[Any] = []
    watchers.append(seen)
    try:
        yield seen
    finally:
        watchers.remove(seen)


def watch_products() -> contextlib.AbstractContextManager[list[tuple[str, int]]]:
    """Inside, asynchronous products are noted: who orders one, has waited or computes exponentials,
    and how many of its own may be under way then. Of who orders copies by threads also, at each
    read of shared memory, `NAME has ordered` how many of them, and how many `NAME has under way`;
    and `NAME closes a group` of how many. Orders follow each other, each from beginning to end."""
    return watch(_watchers)


def watch_overlaps() -> contextlib.AbstractContextManager[list[str]]:
    """Inside, it is noted who does what: `NAME waits for its copies`, at a barrier of copies that
    it ordered itself, `NAME orders product 3, 8 copies so far` (anybody's), `NAME multiplies`, or
    `NAME multiplies while it stores`, `NAME stores numbers of its own`, from registers, and `NAME
    arrives at BARRIER, 2 products under way`. Of kernels that another process runs nothing is
    heard."""
    return watch(_overlaps)


def hear_of_products(told: list[list[Any]]) -> None:
    """Note what another process has seen. Raises ValueError where that is something else."""
    for name, count in told:
        if type(name) is not str or type(count) is not int:
            raise ValueError("not what was seen of products")
        for seen in _watchers:
            seen.append((name, count))


class _Gate:
    """A semaphore of one, from one lock: threads change places at each access."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self.acquire = self._lock.acquire

    def release(self) -> None:
        with contextlib.suppress(RuntimeError):  # it is open already
            self._lock.release()


class Partition(Actor):
    """An actor with code of its own, in a thread that runs when it is told to."""

    def __init__(self, number: int, name: str, job: Callable[[], Any], clock: Clock):
        super().__init__(number, name, Place(name, 0), clock | {number: 1})
        self.job = job
        self.go = _Gate()
        self.blocked: Callable[[], bool] | None = None  # true as soon as it can go on
        self.waits_for: Callable[[], str] = str
        self.over = False
        self.products: list[Actor] = []  # those under way, in order
        self.operands: dict[int, Any] = {}  # by product: the tile in registers that it reads
        self.groups: list[list[Actor]] = [[]]  # asynchronous copies; the last group is open
        self.copies = 0  # of those, ordered so far
        self.stores: list[Actor] = []  # copies to global memory that are under way
        self.ordered: set[str] = set()  # names of barriers at which its own copies arrive
        self.waited: dict[int, Passed] = {}  # the last wait at each barrier, by its id
        self.awaited: Awaited | None = None  # the last wait for products
        self.multiplied = 0  # products ordered so far
        self.thread = 0  # its number
        self.running: Any = None  # of a rank's program: which it is

    def note_products(self) -> None:
        self.note(self.name, len(self.products))

    def note_copies(self) -> None:
        if self.copies:
            self.note(f"{self.name} has ordered", self.copies)
            self.note(f"{self.name} has under way", sum(map(len, self.groups)))

    def note_overlap(self, what: str) -> None:
        for seen in _overlaps:
            seen.append(f"{self.name} {what}")

    def note(self, what: str, count: int) -> None:
        for seen in _watchers:
            seen.append((what, count))


class Machine:
    """One program, in one order. order: a number; the same one gives the same order again."""

    def __init__(self, order: int):
        self.chance = random.Random(order)
        # In some orders late actors wait for their last moment, in some they hurry.
        self.patience = (0.0, 1.0, 0.1, 0.5)[order % 4]
        self.partitions: list[Partition] = []
        self.late: list[Actor] = []
        self.back = _Gate()
        self.error: BaseException | None = None
        self.now: Partition  # while it runs
        self.numbers = itertools.count(1)
        self.barriers = False  # whether there are any
        self.copies = 0  # ordered into shared memory so far
        self.calls: dict[Any, set[tuple[str, int]]] = {}  # by a function's code: where it is called

    # --- what partitions call
    def me(self) -> Partition:
        return self.now

    def step(self) -> None:
        """A moment at which others may go first."""
        self._go_on(self.me())

    def wait(self, ready: Callable[[], bool], told: Callable[[], str]) -> None:
        """Go on when `ready()` is true; `told()` says what is waited for."""
        me = self.me()
        me.blocked, me.waits_for, me.place = ready, told, self.place()
        self._go_on(me)
        me.blocked = None

    def place(self) -> Place:
        """As `here`, with the call of the function in which that line stands."""
        frame = kernel_frame(sys._getframe(1))
        outer = kernel_frame(frame.f_back) if frame is not None else None
        if frame is None or outer is None:
            return here()
        calls = self.calls.setdefault(frame.f_code, set())
        calls.add((outer.f_code.co_filename, outer.f_lineno))
        return replace(_place(frame), caller=_place(outer), calls=calls)

    def start(self, name: str, finish: Callable[[Actor], None]) -> Actor:
        """A late actor that begins now; `finish` is called once, at some time from now on."""
        me = self.me()
        actor = Actor(next(self.numbers), name, self.place(), by=me, passed=me.passed)
        actor.clock = me.tell() | {actor.number: 1}
        actor.finish = lambda: finish(actor)
        self.late.append(actor)
        return actor

    def complete(self, actor: Actor) -> None:
        """Let a late actor finish now, if it has not."""
        if actor.finish is not None:
            finish, actor.finish = actor.finish, None
            self.late.remove(actor)
            finish()

    def split(self, jobs: list[tuple[str, Callable[[], Any]]]) -> None:
        """Run jobs beside each other as partitions; go on when all are over."""
        self.join(self.begin(jobs))

    def begin(self, jobs: list[tuple[str, Callable[[], Any]]]) -> list[Partition]:
        """New partitions, beside the one that asks."""
        clock = self.me().tell()
        made = [Partition(next(self.numbers), name, job, dict(clock)) for name, job in jobs]
        for partition in made:
            self._begin(partition)
            self.partitions.append(partition)
        return made

    def join(self, made: list[Partition]) -> None:
        """Go on when these are over."""
        me = self.me()
        self.wait(lambda: all(each.over for each in made), lambda: "its partitions")
        for partition in made:
            me.learn(partition.clock)

    # --- the order
    def run(self, name: str, job: Callable[[], Any]) -> None:
        """Run a program to its end. Raises Fault, or what its code raises."""
        first = Partition(next(self.numbers), name, job, {})
        self.partitions = [first]
        self._begin(first)
        self.now = first
        first.go.release()
        try:
            self.back.acquire()
            if self.error is None:
                self._leftovers()
        except BaseException as outside:  # the time is up, while one goes on and on
            self.error = outside
            stop = ctypes.pythonapi.PyThreadState_SetAsyncExc
            stop(ctypes.c_ulong(self.now.thread), ctypes.py_object(_StoppedError))
            raise
        finally:
            self.error = self.error or _StoppedError()
            for partition in self.partitions:
                if not partition.over:
                    partition.go.release()
                    self.back.acquire()
        if not isinstance(self.error, _StoppedError):
            raise self.error

    def _choose(self) -> Partition:
        """The partition that goes on; late actors that are chosen before finish here."""
        while True:
            able = [p for p in self.partitions if not p.over and (p.blocked is None or p.blocked())]
            if self.late and (not able or self.chance.random() < self.patience):
                self.complete(self.chance.choice(self._may_finish()))
            elif able:
                return self.chance.choice(able)
            else:
                raise Fault("deadlock", self._who_waits())

    def _may_finish(self) -> list[Actor]:
        """Copies finish in any order, products of one partition in theirs."""
        queued = set()
        for partition in self.partitions:
            queued |= {id(each) for each in [p for p in partition.products if p.finish][1:]}
        return [actor for actor in self.late if id(actor) not in queued]

    def _who_waits(self) -> str:
        stuck = [p for p in self.partitions if not p.over and p.waits_for() != "its partitions"]
        alike: dict[tuple[str, str], list[str]] = {}
        for p in stuck:
            alike.setdefault((p.place.whole(), p.waits_for()), []).append(p.name)
        said = "everybody waits, and nobody can end it"
        for (place, told), names in alike.items():
            said += f". Waiting: {', '.join(names)} at {place} for {told}"
        return said

    def _leftovers(self) -> None:
        """Refuse what goes on without the program. Copies by threads (groups) end with them."""
        threads = {id(copy) for p in self.partitions for group in p.groups for copy in group}
        waited_for = [actor for p in self.partitions for actor in p.products + p.stores]
        for actor in waited_for + [actor for actor in self.late if id(actor) not in threads]:
            sentence = f"the program ends, and {actor.name} of {actor.place} was not waited for. "
            sentence += "Is a wait missing, or was more ordered than is used?"
            self.error = Fault("unfinished", sentence)

    # --- threads
    def _begin(self, partition: Partition) -> None:
        thread = threading.Thread(target=self._live, args=(partition,), daemon=True)
        thread.start()
        partition.thread = thread.ident or 0

    def _live(self, partition: Partition) -> None:
        partition.go.acquire()
        try:
            if self.error is None:
                partition.job()
        except _StoppedError:
            pass
        except BaseException as error:
            self.error = error
        partition.over = True
        if self.error is None and not self.partitions[0].over:
            try:
                self._resume(self._choose())
                return
            except BaseException as error:
                self.error = error
        self.back.release()

    def _resume(self, partition: Partition) -> None:
        self.now = partition
        partition.go.release()

    def _go_on(self, me: Partition) -> None:
        """Let the chosen one run; return when it is this one's turn again."""
        if self.error is not None:  # it was stopped from outside
            raise _StoppedError
        chosen = self._choose()
        if chosen is not me:
            self._resume(chosen)
            me.go.acquire()
            if self.error is not None:
                raise _StoppedError
