"""The ledger: who touched which element, and how many bytes that makes, from the meter's record."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from .findings import Touch, nearest, resolve
from .record import Access, Record
from .regions import Region

Program = tuple[int, int, int]
SECTOR = 32  # bytes: the least that an NVIDIA GPU moves between memory and a multiprocessor


@dataclass
class Use:
    """How one tensor was used in one direction (`loads`, or `stores` with atomics).

    first, last: per element, index of the program that touched it first or last, -1 for none.
    count: per element, number of different programs. order: per program, (step, elements) of each
    access; steps count the program's accesses to all tensors from 1.
    strays: (row, column, program, active) of lanes outside the tensor, masked or not. Rows and
    columns see the tensor as a matrix of all leading dimensions by the last.
    """

    region: Region
    direction: str
    first: np.ndarray
    last: np.ndarray
    count: np.ndarray
    atomic: bool = False
    order: dict[int, list[tuple[int, np.ndarray]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    strays: set[tuple[int, int, int, bool]] = field(default_factory=set)
    lanes: int = 0
    masked: int = 0
    outside: int = 0
    bytes_moved: int = 0
    sectors: int = 0

    @property
    def elements(self) -> int:
        return int((self.count > 0).sum())

    @property
    def bytes_distinct(self) -> int:
        return self.elements * self.region.itemsize

    @property
    def clashes(self) -> int:
        """Elements that more than one program stores to, without atomics."""
        return 0 if self.direction == "loads" or self.atomic else int((self.count > 1).sum())


@dataclass
class Ledger:
    """Everything about one launch, or about a whole call when made without `launch`."""

    uses: list[Use]
    programs: list[Program]

    def name(self, number: int) -> str:
        """A program's id as far as the grid has dimensions: `3`, or `1,2`."""
        used = max([i + 1 for p in self.programs for i in range(3) if p[i]], default=1)
        return ",".join(str(i) for i in self.programs[number][:used])


def matrix_shape(shape: tuple[int, ...]) -> tuple[int, int]:
    """(rows, columns) under which a tensor is drawn: all leading dimensions by the last."""
    if not shape:
        return 1, 1
    return int(np.prod(shape[:-1], dtype=np.int64)), shape[-1]


def ledger(record: Record, launch: int | None = None, strays: bool = True) -> Ledger:
    """Sum up the record, tensor by tensor, in the order in which they were first touched.

    strays: False where nobody draws the lanes outside the tensors.
    """
    touches = resolve(record)
    if launch is not None:
        touches = [t for t in touches if t.access.launch == launch]
    order = dict.fromkeys((touch.access.launch, touch.access.program) for touch in touches)
    numbers = {key: number for number, key in enumerate(order)}
    programs = [program for _, program in order]
    uses: dict[tuple[int, str], Use] = {}
    steps: dict[int, int] = defaultdict(int)
    for touch in touches:
        access = touch.access
        number = numbers[access.launch, access.program]
        near = touch.addresses if touch.addresses.size else access.addresses
        region = touch.region or nearest(record.regions, near)
        if region is None:
            continue
        use = uses.get((id(region), access.direction))
        if use is None:
            nobody = np.full(region.size, -1)
            use = Use(region, access.direction, nobody, nobody.copy(), np.zeros_like(nobody))
            uses[id(region), access.direction] = use
        steps[number] += 1
        _add(use, touch, number, steps[number])
        if strays:
            _add_strays(use, touch, number)
    return Ledger(list(uses.values()), programs)


def _add(use: Use, touch: Touch, program: int, step: int) -> None:
    access = touch.access
    inside = np.unique(touch.elements[touch.elements >= 0])
    use.lanes += access.addresses.size
    use.masked += access.addresses.size - access.active.size
    use.outside += int((touch.elements < 0).sum())
    use.bytes_moved += inside.size * use.region.itemsize
    use.sectors += np.unique((touch.addresses - use.region.first) // SECTOR).size
    use.atomic |= access.kind == "atomic"
    use.first[inside[use.first[inside] < 0]] = program
    # Programs run one after another, so an element is new to a program unless it came last.
    use.count[inside[use.last[inside] != program]] += 1
    use.last[inside] = program
    if inside.size:
        use.order[program].append((step, inside))


def _add_strays(use: Use, touch: Touch, program: int) -> None:
    """Where lanes outside the tensor would be, as rows and columns, from their neighbours."""
    access, region = touch.access, use.region
    if access.mask is None and (touch.elements >= 0).all():
        return
    rows, columns = matrix_shape(region.shape)
    known = np.full(access.addresses.size, -1, dtype=np.int64)
    known[touch.lanes] = touch.elements
    row, column = _extrapolate(access, region, known, columns)
    outside = (row < 0) | (row >= rows) | (column < 0) | (column >= columns)
    active = np.ones(known.size, dtype=bool) if access.mask is None else access.mask
    astray = outside | (active & (known < 0))
    mine = np.zeros(known.size, dtype=bool)
    mine[touch.lanes] = True
    for lane in np.flatnonzero(astray & (mine | ~active))[:4096]:
        use.strays.add((int(row[lane]), int(column[lane]), program, bool(active[lane])))


def _extrapolate(
    access: Access, region: Region, known: np.ndarray, columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of every lane: known ones by element, others by address from a known one."""
    width = access.shape[-1] if access.shape else 1
    addresses = access.addresses.reshape(-1, width)
    elements = known.reshape(-1, width)
    column_step = max(region.strides[-1] if region.strides else 1, 1) * region.itemsize
    row_step = (region.strides[-2] if len(region.strides) > 1 else 0) * region.itemsize
    row = np.zeros(addresses.shape, dtype=np.int64)
    column = np.zeros(addresses.shape, dtype=np.int64)
    for line in range(len(addresses)):
        lane = int(np.argmax(elements[line] >= 0))  # the first known one, or the first
        if elements[line, lane] >= 0:
            row[line], at = divmod(elements[line, lane], columns)
        else:
            offset = addresses[line, lane] - region.first
            row[line] = offset // row_step if row_step else 0
            at = (offset - row[line, lane] * row_step) // column_step
        column[line] = at + (addresses[line] - addresses[line, lane]) // column_step
    inside = elements >= 0
    row[inside] = elements[inside] // columns
    column[inside] = elements[inside] % columns
    return row.reshape(-1), column.reshape(-1)
