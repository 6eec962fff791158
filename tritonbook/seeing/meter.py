"""The meter: every address that a kernel touches, seen in Triton's interpreter.

Loads, stores, atomics and dots of an interpreted kernel pass a handful of builder methods. Inside
`with meter(...)` those methods note each lane's address, and keep lanes that point outside all
memory of the call from being touched: a wrong mask becomes a sentence, not a crash.
"""

from __future__ import annotations

import contextlib
import itertools
import linecache
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np
import torch

from ..port.compat import hook_launch, launch_arguments, tensor_of
from ..port.idle_lanes import filled, lanes_of
from ..port.tuners import timing
from .barriers import stored_twice
from .copies import Copies, mark
from .findings import crowded, find, float32_products, misdirected, reads_unwritten
from .offsets import Offsets
from .record import ATOMIC, LOAD, STORE, WARP, Access, Launched, Place, Record, Twice
from .regions import Region


class OutOfBounds(IndexError):
    """A lane that is not masked points outside its tensor."""


class Meter(Record):
    """Fills its record while kernels run, and says what it shows to be wrong."""

    def __init__(self, tensors: dict[str, torch.Tensor] | None = None, strays_only: bool = False):
        super().__init__(tensors)
        self.strays_only = strays_only
        self.left_all_memory = False  # a lane was kept from an address outside every storage
        self.offsets = Offsets(lambda: _place_in(self.launches[-1].file))
        self.copies = Copies(self.accesses)
        self._phases: Counter[tuple[int, ...]] = Counter()  # of the latest launch's programs

    def findings_of_call(
        self,
        inputs: dict[str, Any],
        outputs: list[Any],
        masking_helps: Callable[[], bool] | None = None,
    ) -> list[tuple[str, str]]:
        """What `find` says, told afterwards which tensors were inputs and outputs of the call.

        They are guarded inputs by name and guarded allocations of the call, objects with a `.view`;
        an output is named after the kernel's parameter.
        """
        names = {p: name for launch in self.launches for name, p in launch.arguments.items()}
        for name, guarded in inputs.items():
            self.register(name, guarded.view)
        for guarded in outputs:
            name = names.get(guarded.view.data_ptr(), "output").removesuffix("_ptr")
            self.register(name, guarded.view)
        found = find(self, masking_helps)
        kinds = {guarded.view.dtype for guarded in inputs.values()}
        kinds = {kind for kind in kinds if kind.is_floating_point}
        if kinds and kinds <= {torch.float16, torch.bfloat16}:
            found += float32_products(self.launches)
        return found

    def reads_unwritten(self, outputs: list[Any]) -> str:
        """One sentence where a kernel reads what nobody wrote; after `findings_of_call`."""
        return reads_unwritten(self, _blank(outputs))

    def crowded(self, outputs: list[Any]) -> str:
        """One sentence where lanes of one store share a place of a tensor that has places left;
        after `findings_of_call`."""
        return crowded(self, _blank(outputs))

    def misdirected(self, inputs: set[str], outputs: list[Any]) -> str:
        """One sentence where what should be stored to an output goes to an input; after
        `findings_of_call`."""
        return misdirected(self, {each.view.data_ptr() for each in outputs}, inputs)

    def add(
        self,
        accesses: list[Access],
        strays: list[np.ndarray],
        grid: tuple[int, ...],
        flops: int,
        locks: bool,
        float32_dot: int | None,
        narrow: list[tuple[Place, bool, int]],
        twice: Twice | None,
    ) -> None:
        """What the latest launch did, where another process carried it out and looked.

        strays: for each access its lanes that lie in no tensor of the launch; they were left out.
        """
        launch = self.launches[-1]
        launch.grid = (*grid, 1, 1)[:3]
        launch.flops += flops
        launch.locks |= locks
        launch.float32_dot, launch.twice = float32_dot, twice
        tensors = len(launch.arguments)
        launch.narrow = [product for product in narrow if product[2] < tensors]
        for access, outside in zip(accesses, strays, strict=True):
            access.launch = len(self.launches) - 1
            lanes = outside if access.mask is None else outside & access.mask
            if lanes.any():
                self.left_all_memory = True
                access.addresses = self._in_no_tensor(access, lanes)
            if lanes.any() or not self.strays_only:
                self.accesses.append(access)

    def _in_no_tensor(self, access: Access, lanes: np.ndarray) -> np.ndarray:
        """Its addresses, where those of `lanes` do not fall into another tensor by chance."""
        held = np.zeros(lanes.shape, dtype=bool)
        for region in self.regions:
            held |= region.holds(access.addresses, access.itemsize)
        return np.where(lanes & held, 0, access.addresses)

    # --- called while kernels run

    def _around(self, call: Any, fn: Any, grid: Any, args: Any, kwargs: Any) -> Any:
        code = getattr(fn, "__code__", None)
        launch = Launched(fn.__name__, code.co_filename if code else "")
        launch.together = bool(kwargs.get("launch_cooperative_grid"))
        launch.warps = int(kwargs.get("num_warps") or launch.warps)
        tensors = []
        for name, value in launch_arguments(fn, args, kwargs).items():
            value = tensor_of(value)
            if isinstance(value, torch.Tensor):
                tensors.append(value)
                launch.arguments[name] = value.data_ptr()
                self._guess(name, value)
        self.launches.append(launch)
        self._phases.clear()
        self.offsets.begin()
        if timing():
            return self._tried(call)
        known = len(self.accesses)
        result = call()
        launch.narrow += self.offsets.narrow(tensors)
        launch.twice = launch.twice or stored_twice(launch, self.accesses[known:])
        return result

    def all_wait(self, builder: Any) -> None:
        """The lanes of the program that is running wait for each other here."""
        self._phases[tuple(builder.grid_idx)] += 1

    def _tried(self, call: Callable[[], Any]) -> Any:
        """A launch by which a tuner tries a config: none of the call's own, but for lanes that
        stray."""
        known, noted = len(self.accesses), self.strays_only
        self.strays_only = True
        try:
            return call()
        finally:
            self.strays_only = noted
            if len(self.accesses) == known:
                self.launches.pop()

    def _guess(self, name: str, tensor: torch.Tensor) -> None:
        """A tensor that nobody registered: take the bounds of the whole tensor it is a view of."""
        base = tensor if tensor._base is None else tensor._base
        region = Region(name.removesuffix("_ptr"), base, guessed=True)
        if all(region.start != known.start for known in self.regions):
            self.regions.append(region)

    def _note(
        self,
        builder: Any,
        kind: str,
        pointers: Any,
        mask: Any,
        has_mask: bool = False,
        through: str = "",
    ) -> np.ndarray:
        """Record one access; return the mask of lanes that may be carried out."""
        launch = self.launches[-1]
        launch.grid = tuple(int(n) for n in builder.grid_dim)
        addresses = np.asarray(pointers.data).astype(np.int64, copy=False)
        wanted = np.broadcast_to(np.asarray(mask, dtype=bool), addresses.shape)
        flat, lanes = addresses.reshape(-1), wanted.reshape(-1)
        program = tuple(int(i) for i in builder.grid_idx)
        access = Access(
            launch=len(self.launches) - 1,
            program=program,
            kind=kind,
            itemsize=max(1, pointers.get_element_ty().primitive_bitwidth // 8),
            addresses=flat.copy(),
            mask=None if lanes.all() else lanes.copy(),
            line=_line_in(launch.file),
            shape=addresses.shape,
            has_mask=has_mask,
            through=through,
            phase=self._phases[program],
        )
        safe = np.zeros(flat.shape, dtype=bool)
        for region in self.regions:
            safe |= region.holds(flat, access.itemsize)
            if safe.all():
                break
        strays = (lanes & ~safe).any()
        if strays or not self.strays_only:
            self.accesses.append(access)
        self.left_all_memory |= bool(strays)
        if kind == ATOMIC and flat.size == 1:
            self.all_wait(builder)
        return (lanes & safe).reshape(addresses.shape)


def _blank(outputs: list[Any]) -> dict[int, np.ndarray]:
    """By the address of its first element, which elements of an output held nothing at first."""
    return {each.view.data_ptr(): each.blank().numpy() for each in outputs}


_running: list[Meter] = []


def running() -> Meter | None:
    """The meter whose block this is, for whoever carries launches out elsewhere."""
    return _running[-1] if _running else None


def _has_mask(frame: Any) -> bool:
    """Whether a masked access was given its mask: an atomic operation makes one of ones itself."""
    atomic = frame.f_code.co_name.startswith("atomic_")
    for _ in range(6 if atomic else 0):
        if frame.f_code.co_name.startswith("atomic_") and frame.f_locals.get("mask", ()) is None:
            return False
        frame = frame.f_back
    return True


def _line_in(file: str) -> int:
    """Line of the kernel that is running."""
    frame = _frame_in(file)
    return frame.f_lineno if frame else 0


def _place_in(file: str) -> Place:
    """Place in the kernel that is running of what it does; from Python 3.11 on within its line."""
    frame = _frame_in(file)
    if frame is None:
        return 0, 0, 0
    line, code = frame.f_lineno, frame.f_code
    # the columns of a function in a function are counted without its indentation
    inner = linecache.getline(file, code.co_firstlineno).startswith((" ", "\t"))
    if hasattr(code, "co_positions") and not inner:
        at = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None))
        if at[:2] == (line, line):
            return line, at[2] or 0, at[3] or 0
    return line, 0, 0


def _frame_in(file: str) -> FrameType | None:
    """The nearest caller whose code comes from `file`."""
    frame: FrameType | None = sys._getframe(4)
    while frame is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    return frame


def fenced() -> contextlib.AbstractContextManager[Meter]:
    """Keep lanes from all memory but that of the tensors of each launch; note only such lanes.

    For calls whose tensors nobody can name beforehand: lighter than `meter`, and finds less.
    """
    return meter(strays_only=True)


@contextlib.contextmanager
def meter(
    tensors: dict[str, torch.Tensor] | None = None, strays_only: bool = False
) -> Iterator[Meter]:
    """Watch all kernels launched inside the block. Interpreter only; blocks must not be nested.

    tensors: names and views whose elements are in bounds; kernels' other tensor arguments are
    added as they are launched. Lanes outside every storage are not carried out: loads of them give
    `other` or 0.
    """
    import triton.language as tl
    from triton.runtime import interpreter

    seen = Meter(tensors, strays_only)
    Builder, TensorHandle = interpreter.InterpreterBuilder, interpreter.TensorHandle

    accesses = ("masked_load", "masked_store", "atomic_rmw", "atomic_cas")
    names = [f"create_{name}" for name in (*accesses, "dot", "barrier")]
    originals = {name: getattr(Builder, name) for name in names}
    combine = {kind: kind.apply_impl for kind in (interpreter.ReduceOps, interpreter.ScanOps)}

    def only(self: Any, kind: str, pointers: Any, mask: Any) -> Any:
        """The mask of the lanes that may be carried out. Descriptors give a bare array as mask."""
        # Without a mask the builder's own `create_load` makes one of ones; a descriptor does too.
        frame = sys._getframe(2)
        made = re.fullmatch(r"create_(?:(\w+)_)?(?:load|store)", frame.f_code.co_name)
        given = _has_mask(frame) if made is None else frame.f_locals.get("boundary_check")
        through = made[1] or "" if made else ""
        lanes = seen._note(self, kind, pointers, mask.data, bool(given), through)
        return TensorHandle(lanes, tl.int1)

    # Descriptors name some of the other arguments of a load. Lanes that are kept from their address
    # get zeros; those that the kernel's own mask switches off hold what it says.
    def load(self: Any, pointers: Any, mask: Any, other: Any, *rest: Any, **named: Any) -> Any:
        safe = only(self, LOAD, pointers, mask)
        if other is None and not safe.data.all():
            other = filled(interpreter, pointers, lanes_of(mask))
        loaded = originals["create_masked_load"](self, pointers, safe, other, *rest, **named)
        seen.offsets.source(loaded)
        if not seen.strays_only:
            seen.copies.loaded(loaded, seen.launches[-1].warps, pointers, mask, other)
        return loaded

    def store(self: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        seen.copies.used(pointers.data.shape, pointers, value, mask)
        mask = only(self, STORE, pointers, mask)
        if not seen.strays_only:
            stored = np.ascontiguousarray(np.broadcast_to(value.data, pointers.data.shape))
            seen.accesses[-1].values = stored.reshape(-1).view(f"u{stored.itemsize}")
        return originals["create_masked_store"](self, pointers, value, mask, *rest)

    def rmw(self: Any, op: Any, pointers: Any, value: Any, mask: Any, *rest: Any) -> Any:
        seen.copies.used(pointers.data.shape, pointers, value, mask)
        mask = only(self, ATOMIC, pointers, mask)
        seen.launches[-1].locks |= "XCHG" in str(op).upper()
        return originals["create_atomic_rmw"](self, op, pointers, value, mask, *rest)

    def cas(self: Any, pointers: Any, *rest: Any) -> Any:
        allowed = seen._note(self, ATOMIC, pointers, True)
        seen.launches[-1].locks = True
        if not allowed.all():  # compare-and-swap has no mask
            raise OutOfBounds(find(seen)[0][1])
        return originals["create_atomic_cas"](self, pointers, *rest)

    def dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        launch = seen.launches[-1]
        launch.flops += 2 * a.data.size * b.data.shape[-1]
        if launch.float32_dot is None and a.dtype.scalar.is_fp32():  # b has the same, or it raises
            launch.float32_dot = _line_in(launch.file)
        seen.all_wait(self)
        for tile in (a, b):
            seen.copies.used(tile.data.shape, tile)
        return originals["create_dot"](self, a, b, *rest)

    def barrier(self: Any) -> None:
        seen.all_wait(self)

    def combined(self: Any, tiles: Any) -> Any:
        given = [tile.handle for tile in tiles]
        if given[0].data.size > WARP:
            seen.all_wait(interpreter.interpreter_builder)
        made = combine[type(self)](self, tiles)
        results = made if isinstance(made, (list, tuple)) else (made,)
        handles = [result.handle for result in results]
        seen.offsets.combined(handles, given)
        if marks := seen.copies.used(given[0].data.shape, *given):
            mark(handles, marks)
        return made

    replacements = dict(zip(names, (load, store, rmw, cas, dot, barrier), strict=True))
    _running.append(seen)
    try:
        with contextlib.ExitStack() as patches:
            patches.enter_context(mock.patch.multiple(Builder, **replacements))
            for kind in combine:
                patches.enter_context(mock.patch.object(kind, "apply_impl", combined))
            if not strays_only:
                patches.enter_context(seen.offsets.marking(Builder))
                patches.enter_context(seen.copies.marking(Builder))
            patches.enter_context(hook_launch(seen._around))
            yield seen
    finally:
        _running.pop()
