"""The traffic ledger of one call: bytes per tensor, and how often each was asked for."""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import dataclass, replace

from .. import style
from ..words import later, say
from .findings import find
from .ledger import SECTOR, ledger
from .record import Record
from .tile_picture import size_text

HEAD = later("tensor | size | read | times | written | times")


@dataclass(frozen=True)
class TensorTraffic:
    """Bytes of one tensor. *_distinct: each element once, however often it was touched.

    moved: whole sectors of 32 bytes, in which memory is moved, each once for a load or store.
    """

    name: str
    nbytes: int
    read: int = 0
    read_distinct: int = 0
    written: int = 0
    written_distinct: int = 0
    moved: int = 0


@dataclass(frozen=True)
class Traffic:
    """The ledger of one call: bytes per tensor, and what went wrong.

    Bytes are what the programs ask for; a GPU's caches may serve repeats. flops: of `tl.dot` only.
    masked: lanes that a mask switches off. busiest: bytes of the program that asks for most.
    """

    tensors: tuple[TensorTraffic, ...]
    flops: int
    programs: int
    launches: int
    masked: int
    findings: tuple[tuple[str, str], ...] = ()
    busiest: int = 0

    @property
    def read(self) -> int:
        return sum(tensor.read for tensor in self.tensors)

    @property
    def written(self) -> int:
        return sum(tensor.written for tensor in self.tensors)

    @property
    def bytes(self) -> int:
        return self.read + self.written

    @property
    def moved(self) -> int:
        """Bytes of the sectors that hold what is asked for, if no cache serves a second time."""
        return sum(tensor.moved for tensor in self.tensors)

    @property
    def intensity(self) -> float:
        """FLOPs of dots for each byte asked for."""
        return self.flops / self.bytes if self.bytes else 0.0

    def __getitem__(self, name: str) -> TensorTraffic:
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        names = ", ".join(tensor.name for tensor in self.tensors)
        raise KeyError(later(f"there is no tensor {name}; there are {names}"))

    def table(self) -> list[tuple[str, ...]]:
        """Rows of text, the heading first."""
        rows = [tuple(say(HEAD).split(" | "))]
        for t in self.tensors:
            rows.append(
                (t.name, size_text(t.nbytes), size_text(t.read), _times(t.read, t.read_distinct))
                + (size_text(t.written), _times(t.written, t.written_distinct))
            )
        total = (say("all"), "", size_text(self.read), "", size_text(self.written), "")
        return [*rows, total]

    def _summary(self) -> list[str]:
        counted = say(
            f"{self.programs:,} {'program' if self.programs == 1 else 'programs'} in "
            f"{self.launches} {'launch' if self.launches == 1 else 'launches'}"
        )
        if self.masked:
            lanes = f"{self.masked:,}"
            counted = say("{counted}, {lanes} masked lanes", counted=counted, lanes=lanes)
        lines = [counted]
        if self.flops:
            lines.append(
                say(f"{self.flops:,} FLOPs in dots: {self.intensity:.3g} for each byte asked for")
            )
        return lines + [f"! {say(sentence)}" for _, sentence in self.findings]

    def __str__(self) -> str:
        return "\n".join([*style.columns(self.table(), right=True), *self._summary()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = [[html.escape(cell) for cell in row] for row in self.table()]
        below = "".join(f"<div>{html.escape(line)}</div>" for line in self._summary())
        return style.table(rows, head, right=True) + below


def _times(moved: int, distinct: int) -> str:
    return f"{moved / distinct:.3g}×" if distinct else ""


def summary(seen: Record, findings: bool = True) -> Traffic:
    """Sum up what a meter saw, over all launches. findings: False where they were asked for."""
    book = ledger(seen, strays=False)
    tensors: dict[int, TensorTraffic] = {}
    asked: Counter[int] = Counter()  # bytes by program
    for use in book.uses:
        region = use.region
        for program, steps in use.order.items():
            asked[program] += region.itemsize * sum(elements.size for _, elements in steps)
        row = tensors.get(id(region), TensorTraffic(region.name, region.nbytes))
        row = replace(row, moved=row.moved + SECTOR * use.sectors)
        if use.direction == "loads":
            row = replace(row, read=use.bytes_moved, read_distinct=use.bytes_distinct)
        else:
            row = replace(row, written=use.bytes_moved, written_distinct=use.bytes_distinct)
        tensors[id(region)] = row
    return Traffic(
        tensors=tuple(tensors.values()),
        flops=sum(launch.flops for launch in seen.launches),
        programs=len(book.programs),
        launches=len(seen.launches),
        masked=sum(use.masked for use in book.uses),
        findings=tuple(find(seen)) if findings else (),
        busiest=max(asked.values(), default=0),
    )
