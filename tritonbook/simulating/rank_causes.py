"""Why nothing orders what two programs do, from the flags that one of them has looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .machine import Clock, Partition, Place

ACQUIRES, RELEASES = ("acquire", "acq_rel"), ("release", "acq_rel")


@dataclass(frozen=True)
class Act:
    """A read or a write: by which program, in which of its rank's launches, when and where."""

    who: Partition
    name: str
    rank: int
    launch: int
    stamp: tuple[int, int]
    place: Place

    @property
    def program(self) -> tuple[str, int]:
        """Which program of which launch: a partition may run several, one after the other."""
        return self.name, self.launch


@dataclass(frozen=True)
class Raised:
    """How a flag got its value. how: `store` or an atomic's sem, as it is written; scope: so."""

    act: Act
    how: str
    scope: str


@dataclass
class Flag:
    """One word that atomics touch. clock: what whoever acquires it learns."""

    clock: Clock = field(default_factory=dict)
    raised: Raised | None = None


@dataclass(frozen=True)
class Seen:
    """A program's last look at a flag. how, scope: as for Raised, or `load`."""

    name: str
    place: Place
    how: str
    scope: str
    raised: Raised | None


def why(looks: Sequence[Seen], act: Act, other: Act) -> str:
    """Why nothing orders an act after another one's. looks: of the program that acts."""
    if other.rank == act.rank:
        return ". Both are of one rank, whose programs wait for each other by flags too"
    raising = [
        (look, look.raised) for look in looks if look.raised and look.raised.act.rank == other.rank
    ]
    if not raising:
        return looked(looks, other.rank)
    own = [each for each in raising if each[1].act.program == other.program]
    look, raised = (own or raising)[-1]
    at = raised.act.place.whole()
    if raised.act.launch < other.launch:
        return (
            f". {look.name}, for which it waited at {look.place.whole()}, was still up from an "
            "earlier launch: nobody has put it back"
        )
    if look.how == "load":
        return (
            f". It waited for {look.name} by `tl.load`, which orders nothing: an atomic with "
            'sem="acquire" does'
        )
    if look.how not in ACQUIRES:
        return (
            f'. It waited for {look.name} with sem="{look.how}", which shows nothing of what came '
            'before: "acquire" does'
        )
    if raised.how == "store":
        return (
            f". {look.name} was raised by `tl.store` ({at}), which orders nothing: an atomic with "
            'sem="release" does'
        )
    if raised.how not in RELEASES:
        return (
            f'. {look.name} was raised with sem="{raised.how}" ({at}), which takes nothing along '
            'of what came before: "release" does'
        )
    if not look.scope == raised.scope == "sys":
        if raised.scope != "sys":
            return (
                f'. {look.name} was raised with scope="{raised.scope}", which ends at the GPU\'s '
                'own memory: between GPUs it is "sys"'
            )
        return (
            f'. It waited for {look.name} with scope="{look.scope}", which ends at the GPU\'s own '
            'memory: between GPUs it is "sys"'
        )
    if raised.act.program == other.program:
        return f". {look.name}, for which it waited, was raised before that ({at})"
    return (
        f". {look.name}, for which it waited, was raised by {raised.act.name} ({at}), which knows "
        "nothing of it"
    )


def looked(looks: Sequence[Seen], rank: int) -> str:
    """That a program has waited for no flag that a rank has raised, or for one raised too early."""
    for look in looks[::-1]:
        if look.raised is not None and look.raised.act.rank == rank:
            at = look.raised.act.place.whole()
            return (
                f". It waited for {look.name}, which was raised at {at}: is the store before that, "
                "and to this place?"
            )
    if looks and all(look.raised is None for look in looks):
        last = looks[-1]
        return f". It looked at {last.name} ({last.place.whole()}), which nobody had raised"
    return f". It has waited for no flag that rank {rank} raises"
