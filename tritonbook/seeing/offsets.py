"""Offsets that wrap round in a large tensor: numbers of 32 bits, multiplied by a size.

A program's number has 32 bits, as have the numbers in most tables, and so has their product with a
size or a stride that fits in 32 bits: from 2**31 elements on it is another number. No case is so
large. So what comes from a program's number or from a load carries a mark in the interpreter, which
says by what it was multiplied in 32 bits, until a product in 64 bits makes an index of it, or it is
added to an address.
"""

from __future__ import annotations

import contextlib
import linecache
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from .findings import code_text
from .record import Launched, Place, Record
from .regions import extent

# A multiplication: its place, by what, and whether that is a constant of the kernel's text.
Product = tuple[Place, int, bool]

_CONSTANTS = ("get_int32", "get_int64")
# What is an index afterwards, whatever it was.
_PARTS = ("idiv", "sdiv", "udiv", "srem", "urem")
_KEEP = (
    *("add", "sub", "minsi", "minui", "maxsi", "maxui", "int_cast"),
    *("splat", "unsplat", "broadcast", "expand_dims", "reshape", "trans"),
)


class Offsets:
    """The marks of a launch. place: finds what is running of the kernel."""

    def __init__(self, place: Callable[[], Place]):
        self.place = place
        self.begin()

    def begin(self) -> None:
        """A launch begins."""
        self._largest: dict[Product, int] = {}
        self._added_to: dict[Product, set[int]] = {}  # addresses
        self._widths: set[int] = set()

    def narrow(self, tensors: list[torch.Tensor]) -> list[tuple[Place, bool, int]]:
        """The products in 32 bits that lead through one of the launch's tensors: their place,
        whether they are by a constant, and the number of that tensor.

        One that stays in its first half is none: it counts columns, or pieces of a row. Nor is a
        multiple of a tile's width: it counts tiles.
        """
        widths = [width for width in self._widths if width > 1]
        found = set()
        for product, addresses in self._added_to.items():
            place, factor, constant = product
            if any(factor % width == 0 for width in widths):
                continue
            for number, tensor in enumerate(tensors):
                first, size = tensor.data_ptr(), extent(tensor.shape, tensor.stride())
                last = first + size * tensor.element_size()
                long = 2 * self._largest[product] >= size
                if long and any(first <= address < last for address in addresses):
                    found.add((place, constant, number))
        return sorted(found)

    @contextlib.contextmanager
    def marking(self, builder: Any) -> Iterator[None]:
        """Inside, the interpreter's values carry marks. builder: its class."""
        by_name: dict[str, Callable[..., Any]] = {
            **dict.fromkeys(_CONSTANTS, _constant),
            **dict.fromkeys((f"create_{name}" for name in _PARTS), _index),
            **dict.fromkeys((f"create_{name}" for name in _KEEP), _kept),
            **dict.fromkeys((name for name in dir(builder) if "_icmp" in name), _index),
            "create_get_program_id": lambda made, given: self.source(made),
            "create_select": lambda made, given: _kept(made, given[1:]),
            "create_mul": self._multiplied,
            "create_addptr": self._added,
            "create_make_range": self._ranged,
        }
        originals = {name: getattr(builder, name) for name in by_name if hasattr(builder, name)}
        try:
            for name, original in originals.items():
                setattr(builder, name, _after(original, by_name[name]))
            yield
        finally:
            for name, original in originals.items():
                setattr(builder, name, original)

    def source(self, made: Any) -> None:
        """A program's number, or a tile that was loaded."""
        if made.data.dtype.kind in "iu":
            made.products = frozenset()

    def combined(self, made: Sequence[Any], given: Sequence[Any]) -> None:
        """A sum, or another reduction or scan: of ones and zeros it counts."""
        if _products(tuple(given)) is not None:
            for each in made:
                self.source(each)

    # --- what a value that was just made gets; given: what it was made from

    def _multiplied(self, made: Any, given: tuple[Any, ...]) -> None:
        known = _products(given)
        if known is None or made.data.dtype.kind not in "iu":
            return
        sizes = [each for each in given if not hasattr(each, "products")]
        factor = _number(sizes[0]) if sizes else 1
        if factor in (0, 1):
            made.products = known
        elif made.data.dtype.itemsize > 4:
            made.products = frozenset()
        else:
            constant = hasattr(sizes[0], "is_constant")
            made.products = known | {(self.place(), factor, constant)}
            largest = int(np.abs(made.data).max(initial=0))
            for product in made.products:
                self._largest[product] = max(largest, self._largest.get(product, 0))

    def _added(self, made: Any, given: tuple[Any, ...]) -> None:
        for product in getattr(given[1], "products", ()):
            address = int(given[0].data.reshape(-1)[0])
            self._added_to.setdefault(product, set()).add(address)

    def _ranged(self, made: Any, given: tuple[Any, ...]) -> None:
        self._widths.add(made.data.size)


def narrow_place(record: Record, among: Sequence[str] = ()) -> str:
    """ "`row * N` in `kernel`": the last product in 32 bits through a large tensor, or "".

    among: names of tensors, through which one by a constant of the kernel's text counts too.
    Without it the tensor is any of the larger ones: statistics of rows are few.
    """
    largest = max((region.size for region in record.regions), default=0)
    for launch in record.launches:
        begins = list(launch.arguments.values())
        for place, constant, number in reversed(launch.narrow):
            counts = [
                region.name in among if among else not constant and 2 * region.size >= largest
                for region in record.regions
                if region.start <= begins[number] < region.end
            ]
            if any(counts):
                return f"{_written(launch, place)} in `{launch.kernel}`"
    return ""


def _written(launch: Launched, place: Place) -> str:
    """A product as the kernel's text has it; its whole line where the place in it is not known."""
    line, first, end = place
    text = linecache.getline(launch.file, line).encode()[first:end].decode()
    return f"`{text}`" if text else code_text(launch, line) or "one line"


def _after(original: Any, mark: Callable[[Any, tuple[Any, ...]], None]) -> Any:
    def method(self: Any, *given: Any, **named: Any) -> Any:
        made = original(self, *given, **named)
        mark(made, given)
        return made

    return method


def _products(given: tuple[Any, ...]) -> frozenset[Product] | None:
    found = None
    for each in given:  # in every operation of a kernel: without a list
        known = getattr(each, "products", None)
        if known is not None:
            found = found | known if found else known
    return found


def _kept(made: Any, given: tuple[Any, ...]) -> None:
    known = _products(given)
    if known is not None:
        made.products = known
    elif given and hasattr(given[-1], "is_constant"):
        made.is_constant = True  # spread over a tile


def _index(made: Any, given: tuple[Any, ...]) -> None:
    if _products(given) is not None:
        made.products = frozenset()


def _constant(made: Any, given: tuple[Any, ...]) -> None:
    made.is_constant = True


def _number(value: Any) -> int:
    """The number that a value is, in each lane; 1 where lanes differ."""
    lanes = np.asarray(value.data).reshape(-1)
    return int(lanes[0]) if lanes.size and (lanes == lanes[0]).all() else 1
