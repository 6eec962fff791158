"""What lanes and programs do to each other: stores that nobody waits for.

A program's lanes are threads of several warps. On a GPU each goes on alone until a barrier, which
also makes what it stored visible to the others; in the interpreter all lanes store before any of
them loads. Compiled for an A100, these hold every thread until all have come:

- `tl.debug_barrier()`;
- a reduction, a scan or a product of tiles, whose values pass through shared memory. One of at most
  32 values passes from lane to lane of a warp, and holds nobody;
- an atomic operation on one address, for what follows: its result is told to all threads. Before
  it there is nothing, whatever its `sem=`: one thread carries it out, and releases its own stores.

The thread that stores a value loads it back where a tile of the same shape has it at the same
place, and the threads of a single warp load after they have stored. (When another program sees what
they stored is another matter.) Of a tile of fewer elements than threads, or a number, others have
copies, which they load for themselves: theirs count where `Copies` says so.

The other way round, a load before a store: what a lane stores of what another one loaded came to it
through one of the above, so nobody stores too early. But a single number is loaded by every thread
for itself. A tile of more than 32 elements that covers it is stored by several warps, and one of
them may do so before another has loaded.

A store after a store is the same: of two lanes that store to one place, either may be the last one.
That does no harm where both store the same.

Programs of a launch wait for each other by atomic operations alone: between any two accesses of one
that nobody waits for, others may go all their way.
"""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..words import later
from .findings import cell_text, code_text, program_text
from .record import ATOMIC, KINDS, LOAD, STORE, WARP, Access, Launched, Record, Twice, without_ones
from .regions import Region


def without_barrier(record: Record) -> list[tuple[str, str]]:
    """(code, sentence) of the first load that may come too early, or too late; or nothing."""
    for number, accesses in record.by_launch().items():
        launch = record.launches[number]
        for of_one_tensor in _by_tensor(record.regions, accesses):
            text = ""
            if launch.warps > 1:
                text = _read_back(record, launch, of_one_tensor)
                text = text or _stored_over(record, launch, of_one_tensor)
            if not text and any(a.kind == ATOMIC for a in accesses):
                text = _released(record, launch, of_one_tensor, accesses)
            if text:
                return [("no-barrier", text)]
        if launch.twice:
            return [_said_of_storing_twice(launch, *launch.twice)]
    return []


def stored_twice(launch: Launched, accesses: Iterable[Access]) -> Twice | None:
    """The first two stores of a program's lanes to one place, of which either may be the last."""
    stores = [each for each in accesses if each.values is not None and each.active.size]
    places = np.concatenate([store.active for store in stores] or [_NOWHERE])
    if np.unique(places).size == places.size:
        return None
    for store, before in _since_a_barrier(stores, lambda each: True):
        if _in_itself(store):
            return store.program, store.line, store.line
        for other in before if launch.warps > 1 else ():
            if _over(other, store):
                return store.program, other.line, store.line
    return None


_NOWHERE = np.zeros(0, dtype=np.int64)


def _in_itself(store: Access) -> bool:
    """Whether two of its lanes store other values to one place."""
    places, values = _sorted(store)
    return bool(((places[1:] == places[:-1]) & (values[1:] != values[:-1])).any())


def _over(other: Access, store: Access) -> bool:
    """Whether a lane stores another value where another lane has stored before."""
    lanes = _lanes(store)
    lanes = lanes[_stored(other, store.addresses[lanes])]
    lanes = lanes[~_by_the_same_thread(other, store, lanes)]
    if not lanes.size or other.itemsize != store.itemsize:
        return False
    assert store.values is not None
    places, values = _sorted(other)
    before = values[np.searchsorted(places, store.addresses[lanes])]
    return bool((before != store.values[lanes]).any())


def _sorted(store: Access) -> tuple[np.ndarray, np.ndarray]:
    """The places of a store's active lanes, in order, and what it stores there."""
    assert store.values is not None
    values = store.values if store.mask is None else store.values[store.mask]
    order = np.argsort(store.active, kind="stable")
    return store.active[order], values[order]


def meetings(record: Record) -> Iterator[tuple[int, tuple[tuple[int, int, int], int], str]]:
    """Where it may matter what other programs do just before an access, the first and the second of
    each line that come to what several touch and one changes: the launch's number, the program with
    how many accesses it has made, and a sentence for where it does.

    Nothing where all that programs do to a place is one atomic operation each, or none: `find`
    tells of the latter, whether or not it does harm.
    """
    for number, accesses in record.by_launch().items():
        launch = record.launches[number]
        if launch.together or not any(a.kind == ATOMIC and a.active.size for a in accesses):
            continue
        places, at = np.unique(np.concatenate([a.active for a in accesses]), return_inverse=True)
        who = np.concatenate([np.full(a.active.size, _number(a, launch)) for a in accesses])
        kinds = np.concatenate([np.full(a.active.size, KINDS.index(a.kind)) for a in accesses])
        first, last = np.full(places.size, who.max()), np.full(places.size, who.min())
        np.minimum.at(first, at, who)
        np.maximum.at(last, at, who)
        changed, plain, twice = np.zeros((3, places.size), dtype=bool)
        changed[at[kinds != KINDS.index(LOAD)]] = True
        plain[at[kinds != KINDS.index(ATOMIC)]] = True
        visits, times = np.unique(at * (who.max() + 1) + who, return_counts=True)
        twice[visits[times > 1] // (who.max() + 1)] = True
        shared = places[(first != last) & changed & (plain | twice)]
        made, at_line, tried = Counter[tuple[int, int, int]](), Counter[Any](), set()
        for access in accesses:
            meeting = np.isin(access.active, shared)
            place = access.line, access.kind, at_line[access.program, access.line, access.kind]
            if meeting.any() and place[2] < 2 and place not in tried:
                tried.add(place)
                told = _said_of_meeting(record, launch, access, int(access.active[meeting][0]))
                yield number, (access.program, made[access.program]), told
            at_line[access.program, access.line, access.kind] += meeting.any()
            made[access.program] += 1


def _number(access: Access, launch: Launched) -> int:
    return int(np.ravel_multi_index(access.program, launch.grid))


def _by_tensor(regions: list[Region], accesses: list[Access]) -> Iterable[list[Access]]:
    """The accesses to each storage that the launch both loads from and stores to."""
    starts = sorted({region.start for region in regions})
    found: dict[int, list[Access]] = defaultdict(list)
    for access in accesses:
        lane = 0 if access.mask is None else int(access.mask.argmax())  # the first active one
        if access.mask is None or access.mask[lane]:
            found[bisect.bisect(starts, int(access.addresses[lane]))].append(access)
    for group in found.values():
        kinds = {access.kind for access in group}
        if len(kinds) > 1 and kinds != {LOAD, ATOMIC}:
            yield group


def _since_a_barrier(
    accesses: Iterable[Access], kept: Callable[[Access], bool]
) -> Iterator[tuple[Access, list[Access]]]:
    """Each access, and what its program has done before, since a barrier, of what is kept."""
    pending: dict[tuple[int, int, int], list[Access]] = defaultdict(list)
    for access in accesses:
        before = pending[access.program]
        if before and before[0].phase != access.phase:
            before.clear()
        yield access, before
        if kept(access):
            before.append(access)


def _read_back(record: Record, launch: Launched, accesses: list[Access]) -> str:
    """A load, or an update, of what another lane of the program has just stored."""
    for access, stores in _since_a_barrier(accesses, lambda each: each.kind == STORE):
        if access.kind == STORE:
            continue
        lanes = _lanes(access)
        for store in reversed(stores):
            stored = _stored(store, access.addresses[lanes])
            foreign = stored & ~_by_the_same_thread(store, access, lanes)
            if foreign.any():
                address = int(access.addresses[lanes[foreign][0]])
                return _said_of_reading(record, launch, store, access, address)
            if access.spread and stored.any():
                address = int(access.addresses[lanes[stored][0]])
                return _said_of_reading_copies(record, launch, store, access, address)
            lanes = lanes[~stored]
    return ""


def _stored_over(record: Record, launch: Launched, accesses: list[Access]) -> str:
    """A store over a number, or a tile of copies, that several warps have just loaded."""

    def by_all(access: Access) -> bool:
        return access.kind == LOAD and (access.addresses.size == 1 or access.spread)

    for access, loads in _since_a_barrier(accesses, by_all):
        for load in loads if access.kind == STORE else ():
            if access.addresses.size > WARP or load.spread:
                over = _stored(access, load.active)
                if over.any():
                    address = int(load.active[over][0])
                    return _said_of_storing_over(record, launch, load, access, address)
    return ""


def _lanes(access: Access) -> np.ndarray:
    lanes = np.arange(access.addresses.size)
    return lanes if access.mask is None else lanes[access.mask]


def _stored(store: Access, addresses: np.ndarray) -> np.ndarray:
    """Boolean, per address: is it one that this store wrote to?"""
    written = store.active
    if addresses.size == 0 or addresses.max() < written.min() or addresses.min() > written.max():
        return np.zeros(addresses.shape, dtype=bool)
    return np.isin(addresses, written)


def _by_the_same_thread(store: Access, access: Access, lanes: np.ndarray) -> np.ndarray:
    """Boolean, per lane of `access`: does the lane at its place in `store` write to its address?"""
    if without_ones(store.shape) != without_ones(access.shape):
        return np.zeros(lanes.shape, dtype=bool)
    same = store.addresses[lanes] == access.addresses[lanes]
    return same if store.mask is None else same & store.mask[lanes]


def _released(
    record: Record, launch: Launched, accesses: list[Access], everything: list[Access]
) -> str:
    """A load of what another program stored and, with its next atomic operation, let go too early.

    accesses: those of one tensor; everything: those of the launch, in their order.
    """
    at = {id(access): number for number, access in enumerate(everything)}
    first = min(int(access.active.min()) for access in accesses)
    last = max(int(access.active.max()) for access in accesses)
    writer = np.full(last - first + 1, -1)  # by byte: the number of the latest store
    for access in accesses:
        number, bytes_ = at[id(access)], access.active - first
        if access.kind == STORE:
            writer[bytes_] = number
            continue
        if access.kind != LOAD:
            continue
        for written in np.unique(writer[bytes_]).tolist():
            store = everything[written]
            if written < 0 or store.program == access.program or store.addresses.size == 1:
                continue
            signs = [
                each
                for each in everything[written + 1 : number]
                if each.kind == ATOMIC and each.program == store.program
            ]
            if signs and all(each.phase == store.phase for each in signs):
                address = first + int(bytes_[writer[bytes_] == written][0])
                return _said_of_letting_go(record, launch, store, signs[0], access, address)
    return ""


def _said_of_reading(
    record: Record, launch: Launched, store: Access, access: Access, address: int
) -> str:
    does = {LOAD: "reads", ATOMIC: "updates"}[access.kind]
    return (
        f"Program {program_text(access.program, launch)} of `{launch.kernel}` {does} "
        f"{_cell(record, address)} at {_code(launch, access)}, which another lane of the program "
        f"stored at {_code(launch, store)}: on a GPU its lanes do not wait for each other. Put "
        "`tl.debug_barrier()` between the two."
    )


def _said_of_reading_copies(
    record: Record, launch: Launched, store: Access, access: Access, address: int
) -> str:
    return (
        f"Program {program_text(access.program, launch)} of `{launch.kernel}` reads "
        f"{_cell(record, address)} at {_code(launch, access)} with several warps, and "
        f"one of them has stored it at {_code(launch, store)}: on a GPU they do not wait for each "
        "other. Put `tl.debug_barrier()` between the two."
    )


def _said_of_storing_over(
    record: Record, launch: Launched, load: Access, store: Access, address: int
) -> str:
    return (
        f"Program {program_text(load.program, launch)} of `{launch.kernel}` stores to "
        f"{_cell(record, address)} at {_code(launch, store)}, which all of its warps "
        f"read at {_code(launch, load)}: on a GPU they do not wait for each other, and one may "
        "store before another has read. Put `tl.debug_barrier()` between the two."
    )


def _said_of_storing_twice(
    launch: Launched, program: tuple[int, int, int], first: int, second: int
) -> tuple[str, str]:
    one, other = _line(launch, first), _line(launch, second)
    of = program_text(program, launch)
    if first == second:
        return "race", (
            f"Lanes of program {of} of `{launch.kernel}` store different values to one place at "
            f"{one}: on a GPU it is luck which of them stays. Let one lane store there, or add "
            "with `tl.atomic_add`."
        )
    return "no-barrier", (
        f"Program {of} of `{launch.kernel}` stores at {other} where another of its lanes stored "
        f"another value at {one}: on a GPU its lanes do not wait for each other, and either value "
        "may stay. Put `tl.debug_barrier()` between the two."
    )


def _said_of_letting_go(
    record: Record, launch: Launched, store: Access, sign: Access, access: Access, address: int
) -> str:
    return (
        f"Program {program_text(store.program, launch)} of `{launch.kernel}` stores "
        f"{_cell(record, address)} at {_code(launch, store)} and tells the others at "
        f"{_code(launch, sign)}; program {program_text(access.program, launch)} reads it at "
        f"{_code(launch, access)}. On a GPU one lane tells them while others may not have stored "
        "yet. Put `tl.debug_barrier()` between the store and the atomic operation."
    )


def _said_of_meeting(record: Record, launch: Launched, access: Access, address: int) -> str:
    does = {LOAD: "reads", STORE: later("stores"), ATOMIC: "updates"}[access.kind]
    return (
        f"Program {program_text(access.program, launch)} of `{launch.kernel}` {does} "
        f"{_cell(record, address)} at {_code(launch, access)}, and other programs change it. On a "
        "GPU all of them may come first, and then the result is wrong. What depends on their order "
        "belongs into one atomic operation, such as `tl.atomic_add`, or into a second launch."
    )


def _cell(record: Record, address: int) -> str:
    for region in record.regions:
        element = int(region.elements(np.array([address]))[0]) if region.size else -1
        if element >= 0:
            return f"{cell_text(region, element)} of `{region.name}`"
    return "a place"


def _code(launch: Launched, access: Access) -> str:
    return _line(launch, access.line)


def _line(launch: Launched, line: int) -> str:
    return code_text(launch, line) or "one of its lines"
