"""What the meter writes down: launches, the addresses of every access, whose memory they are."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import torch

from .regions import Region

KINDS = LOAD, STORE, ATOMIC = "load", "store", "atomic"
WARP = 32  # lanes
Place = tuple[int, int, int]  # in a kernel's text: line, and its bytes from and to; 0, 0: unknown
# Lanes of one program that store other values to one place, none after the other: that program, and
# the lines of the two stores, which may be one.
Twice = tuple[tuple[int, int, int], int, int]


@dataclass
class Launched:
    """One kernel launch. `arguments`: data pointers by parameter name. `flops`: of its dots."""

    kernel: str
    file: str
    grid: tuple[int, ...] = (1,)
    arguments: dict[str, int] = field(default_factory=dict)
    flops: int = 0
    locks: bool = False  # atomic compare-and-swap or exchange: programs may take turns
    together: bool = False  # all programs are on the GPU at once, and may wait for each other
    float32_dot: int | None = None  # line of the first tl.dot of two float32 tiles
    warps: int = 4  # of a program
    # Products in 32 bits that lead through a tensor: place, whether by a constant, the tensor's
    # place among the arguments (`Offsets`).
    narrow: list[tuple[Place, bool, int]] = field(default_factory=list)
    twice: Twice | None = None

    @property
    def rank(self) -> int:
        """How many dimensions of the grid are used."""
        return max([i + 1 for i, size in enumerate(self.grid) if size > 1], default=1)


@dataclass
class Access:
    """One load, store or atomic of one program. `addresses`: bytes, flat; `shape`: the tile's."""

    launch: int
    program: tuple[int, int, int]
    kind: str
    itemsize: int
    addresses: np.ndarray
    mask: np.ndarray | None  # True: the lane is active; None: all are
    line: int  # in the kernel's file; 0 when unknown
    shape: tuple[int, ...] = ()
    has_mask: bool = False  # the kernel gives one, though it may let every lane through
    through: str = ""  # what makes its addresses: "tensor_pointer" (a block), "descriptor", a tile
    phase: int = 0  # how often all lanes of the program had waited for each other before it
    values: np.ndarray | None = None  # bits of what a store stores, flat
    spread: bool = False  # a load of copies, which several warps use (`Copies`)

    @property
    def direction(self) -> str:
        """loads, or stores with atomics."""
        return "loads" if self.kind == LOAD else "stores"

    @property
    def active(self) -> np.ndarray:
        return self.addresses if self.mask is None else self.addresses[self.mask]


def without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size > 1)


class Record:
    """What was seen. Regions: the registered tensors, and those that kernels were launched with."""

    def __init__(self, tensors: dict[str, torch.Tensor] | None = None):
        self.launches: list[Launched] = []
        self.accesses: list[Access] = []
        self.regions: list[Region] = []
        for name, tensor in (tensors or {}).items():
            self.register(name, tensor)

    def register(self, name: str, tensor: torch.Tensor) -> None:
        """Give `tensor`'s memory a name and bounds: the view's own elements, not its storage's.

        May be called late, also after the `with` block; it replaces what a launch had told.
        """
        region = Region(name, tensor)
        self.regions = [r for r in self.regions if not (r.guessed and r.start == region.start)]
        self.regions.append(region)

    def by_launch(self) -> dict[int, list[Access]]:
        """The accesses of each launch that has any, by its number."""
        found: dict[int, list[Access]] = defaultdict(list)
        for access in self.accesses:
            found[access.launch].append(access)
        return found

    def stored(self, tensor: torch.Tensor) -> torch.Tensor:
        """Which elements of a tensor on the CPU the kernels stored to, in its shape."""
        storage = tensor.untyped_storage()
        written = np.zeros(storage.nbytes(), dtype=bool)
        for access in self.accesses:
            if access.kind == LOAD:
                continue
            first = access.active - storage.data_ptr()
            for byte in range(access.itemsize):
                place = first + byte
                written[place[(place >= 0) & (place < written.size)]] = True
        whole = torch.from_numpy(written[: written.size - written.size % tensor.element_size()])
        elements = whole.view(-1, tensor.element_size()).all(dim=1)
        return elements.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
