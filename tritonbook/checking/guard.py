"""Guard bands and poison: tensors that tell when a kernel reads or writes where it should not.

A guarded tensor is a view into a larger buffer. What lies around the view is filled with NaN or
with large values, so that a stray read shows in the result and a stray write shows in the buffer.
A poisoned tensor starts as one particular NaN, so that what was never written can be told apart
from a NaN that was computed.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch

from ..seeing.memory import copy_elements
from ..seeing.regions import extent

_LARGE = 3e4  # representable in float16
_ALIGN = 16  # bytes; Triton specialises pointers that are divisible by 16
_ROW_PAD = 19  # elements between strided rows: odd, so that nothing is aligned by luck
_FAR = 4096  # elements between rows that are "apart": no tile of one reaches the next

# One NaN that no arithmetic produces, by item size in bytes. It is a signalling one: computing with
# it sets its quiet bit, so a result made from unwritten memory does not look unwritten itself.
_POISON_BITS = {2: 0x7D5A, 4: 0x7F80DEAD, 8: 0x7FF00000DEADBEEF}
_POISON_BITS_BFLOAT16 = 0x7F9A
_INTEGER_OF_SIZE = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(values: torch.Tensor) -> torch.Tensor:
    """The same memory as integers, so that NaN equals NaN. Needs a dense tensor."""
    return values.view(_INTEGER_OF_SIZE[values.element_size()])


def same_bits(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Whether two tensors have the same shape, dtype and bits; NaN equals NaN."""
    if one.dtype != two.dtype:
        return False
    return torch.equal(bits(one.detach().contiguous()), bits(two.detach().contiguous()))


def fresh(value: Any) -> Any:
    """A copy of a list or another collection; anything else as it is."""
    return copy.deepcopy(value) if isinstance(value, _COLLECTIONS) else value


def changed(one: Any, two: Any) -> bool:
    """Whether an argument is no longer what it was: a tensor bit by bit, a collection with all
    that it holds."""
    if isinstance(two, torch.Tensor):
        return not (isinstance(one, torch.Tensor) and same_bits(one, two))
    if isinstance(two, dict):
        return list(one) != list(two) or any(changed(one[key], two[key]) for key in two)
    if isinstance(two, (list, tuple)):
        return len(one) != len(two) or any(map(changed, one, two))
    plain = isinstance(two, (set, bytearray, str, int, float))
    return plain and one != two and not (one != one and two != two)  # NaN is NaN


_COLLECTIONS = (list, tuple, dict, set, bytearray)


def _poison_value(dtype: torch.dtype) -> int:
    if dtype == torch.bfloat16:
        return _POISON_BITS_BFLOAT16
    if dtype == torch.bool:
        return 1
    if dtype.is_floating_point and dtype.itemsize in _POISON_BITS:
        return _POISON_BITS[dtype.itemsize]
    return torch.iinfo(_INTEGER_OF_SIZE[dtype.itemsize]).max


def poison_(buffer: torch.Tensor) -> torch.Tensor:
    """Fill a dense tensor with the poison of its dtype (floats: a marked NaN, integers: max)."""
    if buffer.numel():
        bits(buffer).fill_(_poison_value(buffer.dtype))
    return buffer


def is_poison(values: torch.Tensor) -> torch.Tensor:
    """Boolean tensor, same shape: which elements still hold the poison. False for bool dtype."""
    if values.dtype == torch.bool:
        return torch.zeros_like(values)
    return bits(values.contiguous()) == _poison_value(values.dtype)


def _fill_(buffer: torch.Tensor, fill: str) -> None:
    if buffer.dtype.is_floating_point or buffer.dtype.is_complex:
        large = min(_LARGE, torch.finfo(buffer.dtype).max)
        values = {"nan": math.nan, "large": large, "small": -large, "zero": 0, "least": -math.inf}
        buffer.fill_(values[fill])
    elif buffer.dtype == torch.bool:
        buffer.fill_(fill in ("nan", "large"))
    else:
        info = torch.iinfo(buffer.dtype)
        buffer.fill_({"nan": info.max, "large": info.max // 2, "zero": 0}.get(fill, info.min))


def _strides(shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
    """Element strides of `shape` in `layout`."""
    if not shape:
        return ()
    memory = list(shape)
    if layout == "transposed" and len(shape) >= 2:
        memory[-1], memory[-2] = memory[-2], memory[-1]
    gap = {"strided": _ROW_PAD, "apart": _FAR}.get(layout, 0)
    row = memory[-1] + (gap if len(shape) >= 2 else 0)
    spaced = layout == "spaced" or (layout == "strided" and len(shape) == 1)
    strides = [2 if spaced else 1]
    step = max(row, 1) * strides[0]
    for size in reversed(memory[:-1]):
        strides.insert(0, step)
        step *= max(size, 1)
    if layout == "transposed" and len(shape) >= 2:
        strides[-1], strides[-2] = strides[-2], strides[-1]
    if layout == "expanded":
        strides[0] = 0
    return tuple(strides)


def _margin(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Elements before and after: a tile of 8192, or some 130 rows past the end of a matrix."""
    widest = max((s for s, n in zip(strides, shape, strict=True) if n > 1), default=1)
    margin = max(8192, min(130 * widest if len(shape) >= 2 else 2 * widest, 1 << 21))
    unit = _ALIGN // math.gcd(_ALIGN, itemsize)
    return -(-margin // unit) * unit


@dataclass
class Guarded:
    """A view with margins. `buffer` is 1-D and dense, `view` is what the kernel gets.

    Margins may be 2 million elements long, so they are not copied: one number fills them.
    """

    name: str
    buffer: torch.Tensor
    view: torch.Tensor
    before: Any = None  # copy of the stretch that the view spans, on the same device
    filled: int = 0  # the bits of each element of the margins

    @classmethod
    def allocate(
        cls,
        name: str,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: torch.dtype,
        device: torch.device | str,
        shift: int = 0,
    ) -> Guarded:
        margin = _margin(shape, strides, dtype.itemsize)
        total = 2 * margin + extent(shape, strides) + shift
        buffer = torch.empty(total, dtype=dtype, device=device)
        return cls(name, buffer, buffer.as_strided(shape, strides, margin + shift))

    @classmethod
    def place(cls, name: str, values: torch.Tensor, layout: str, device: str, fill: str) -> Guarded:
        """Put `values` (CPU) on `device` in `layout`, with margins of `fill`."""
        shape = tuple(values.shape)
        strides = _strides(shape, layout)
        shift = 1 if layout == "offset" else 0
        guarded = cls.allocate(name, shape, strides, values.dtype, device, shift)
        guarded.rewrite(values, fill)
        return guarded

    def rewrite(self, values: torch.Tensor, fill: str) -> None:
        """New values and margins at the same addresses."""
        _fill_(self.buffer, fill)
        copy_elements(values, self.view)
        self.remember()

    def remember(self) -> None:
        """What kernels are to find there, to compare with later."""
        first, end = self._span()
        self.before, self.filled = self.buffer[first:end].clone(), int(bits(self.buffer[:1]))

    def note_values(self) -> None:
        """What the view holds by now was put there by others than kernels."""
        self._as_before().copy_(self.view)

    def blank(self) -> torch.Tensor:
        """Which elements of the view held nothing before any kernel ran, in their order."""
        return is_poison(self._as_before()).flatten()

    def _as_before(self) -> torch.Tensor:
        return self.before.as_strided(self.view.shape, self.view.stride())

    def _span(self) -> tuple[int, int]:
        """Buffer positions from the view's first element to one past its last."""
        first = self.view.storage_offset()
        return first, first + extent(tuple(self.view.shape), self.view.stride())

    def _changed_within(self, inside: bool) -> bool:
        """Whether the stretch that the view spans changed, on its elements or in its gaps."""
        first, end = self._span()
        now, before = bits(self.buffer[first:end]), bits(self.before)
        if torch.equal(now, before):
            return False
        changed = now != before
        mine = torch.zeros_like(changed)
        mine.as_strided(self.view.shape, self.view.stride(), 0).fill_(True)
        return bool((changed & (mine if inside else ~mine)).any())

    def _written(self, margin: torch.Tensor) -> bool:
        """Whether an element of a margin, as integers, changed. Least and greatest are found in a
        tenth of the time of a comparison."""
        return any(int(value) != self.filled for value in margin.aminmax())

    def interior_changed(self) -> bool:
        """Whether the kernel wrote to this tensor's own elements."""
        return self._changed_within(inside=True)

    def margin_written(self) -> int | None:
        """Distance in elements of the nearest stray write from the view; None when there is none.

        Positive: that many elements past the end; negative: before the start; 0: between rows.
        """
        first, end = self._span()
        now = bits(self.buffer)
        if self._written(now[end:]):
            return int((now[end:] != self.filled).nonzero()[0]) + 1
        if self._written(now[:first]):
            return int((now[:first] != self.filled).nonzero()[-1]) - first
        gaps = end - first > self.view.numel()
        return 0 if gaps and self._changed_within(inside=False) else None


def guard_output(made: torch.Tensor, keep: bool, large: bool = False) -> Guarded:
    """A guarded twin of a freshly allocated tensor: same shape, strides, dtype and device.

    keep: copy the contents (zeros, full); otherwise the interior is poisoned (empty), or holds
    large numbers, which a kernel cannot tell from values.
    """
    twin = Guarded.allocate("output", tuple(made.shape), made.stride(), made.dtype, made.device)
    poison_(twin.buffer)
    if keep and made.numel():
        twin.view.copy_(made)
    elif large:
        _fill_(twin.view, "large")
    twin.remember()
    return twin
