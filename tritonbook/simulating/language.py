"""The names of Gluon that the course's kernels use, on a `Machine`.

What each does on a GPU stands in Triton's `experimental/gluon/language`. Of layouts only the number
of a product's warps is looked at: whether they fit is the compiler's to say.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch

from .machine import Actor, Awaited, Fault, Machine, here
from .memory import Allocation, Barrier, Barriers, Pointer, Shared, name_of_allocation


class Value(torch.Tensor):
    """A tile in registers."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():  # half the time of torch's own
            made = func(*args, **(kwargs or {}))
        return made.as_subclass(cls) if type(made) is torch.Tensor else made

    def split(self) -> tuple[Value, Value]:  # type: ignore[override]
        return self[..., 0], self[..., 1]

    def max(self, axis: int | None = None, **_: Any) -> Value:  # type: ignore[override]
        return self.amax() if axis is None else self.amax(axis)


def value(tensor: torch.Tensor) -> Value:
    return tensor.as_subclass(Value)


class Whole(int):
    """A whole number of the kernel, which may be told its type, as `x.to(gl.int64)`."""

    def to(self, dtype: Any) -> Whole:
        return self


def _closed(name: str) -> Callable[..., Any]:
    plain = getattr(int, name)

    def method(self: Whole, *others: Any) -> Any:
        result = plain(self, *others)
        return Whole(result) if type(result) is int else result

    return method


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "neg"):
    setattr(Whole, f"__{_name}__", _closed(f"__{_name}__"))


def _quotient(x: int, y: int) -> Whole:
    """As a GPU divides: towards 0. Python goes down, so -1 // 2 and -1 % 2 are others there."""
    return Whole(abs(int(x)) // abs(int(y)) * (1 if (x < 0) == (y < 0) else -1))


def _remainder(x: int, y: int) -> Whole:
    return Whole(int(x) - int(y) * int(_quotient(x, y)))


def _of_whole(divide: Callable[[int, int], Whole], turned: bool) -> Callable[[Any, Any], Any]:
    def method(self: Whole, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        return divide(other, self) if turned else divide(self, other)

    return method


for _name, _divide in (("floordiv", _quotient), ("mod", _remainder)):
    setattr(Whole, f"__{_name}__", _of_whole(_divide, turned=False))
    setattr(Whole, f"__r{_name}__", _of_whole(_divide, turned=True))


class Unfinished:
    """What an asynchronous product will give. It can be added to, and waited for."""

    def __init__(self, actor: Actor):
        self.actor = actor
        self.result: Value | None = None

    def __getattr__(self, name: str) -> Any:
        raise self._early()

    def _early(self, *_: Any) -> Fault:
        me, late = self.actor.by, "which may not be finished: warpgroup_mma_wait comes first"
        wait = me.awaited if me is not None else None
        if wait is not None and self.actor in wait.left:
            late = f"which may not be finished: {wait.place} lets {len(wait.left)} be unfinished"
            if wait.finished:
                late += f". The one that it waits for is that of {wait.finished[-1].place}"
        elif wait is not None and self.actor in wait.finished:
            late = f"and not what {wait.place} returns for a name in deps: that is the result"
        return Fault(
            "early-use", f"{here()} uses the result of the product of {self.actor.place}, {late}"
        )


def _refuse(self: Unfinished, *_: Any) -> Any:
    raise self._early()


for _name in ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "neg", "getitem"):
    setattr(Unfinished, f"__{_name}__", _refuse)


class Descriptor:
    """A matrix in global memory, as the copy engine knows it: base, shape, strides, tile."""

    def __init__(self, made: Any):
        self.base, self.sizes, self.strides = made.base, list(made.shape), list(made.strides)
        self.layout, self.dtype = made.layout, made.base.dtype
        self.block_shape = list(made.block_shape)
        self.nbytes_per_cta = math.prod(self.block_shape) * made.base.element_size()
        self.block_type = SimpleNamespace(shape=self.block_shape, nbytes=self.nbytes_per_cta)

    def cut(self, place: Sequence[int]) -> tuple[torch.Tensor, tuple[slice, ...]]:
        """The part of the matrix under a tile, and where it lies in the tile."""
        whole = self.base.as_strided(self.sizes, self.strides)
        if len(place) != len(self.sizes):
            raise Fault(
                "place",
                f"{here()} names a place of {len(place)} numbers, and the tensor has "
                f"{len(self.sizes)} dimensions",
            )
        starts = [int(start) for start in place]
        stops = [start + n for start, n in zip(starts, self.block_shape, strict=True)]
        inside = [
            (min(max(start, 0), size), min(max(stop, 0), size))
            for start, stop, size in zip(starts, stops, self.sizes, strict=True)
        ]
        there = tuple(slice(low, max(low, high)) for low, high in inside)
        here_ = tuple(
            slice(s.start - start, s.stop - start) for s, start in zip(there, starts, strict=True)
        )
        return whole[there], here_


class _Layout:
    """Any layout: what it was made of."""

    def __init__(self, *arguments: Any, **named: Any):
        self.arguments = (*arguments, *named.values())


class BarrierLayout(_Layout):
    pass


class Language:
    """Gluon's modules for one program, their functions as attributes.

    grid: how many programs; program: which one this is.
    """

    def __init__(
        self, machine: Machine, program: tuple[int, ...], grid: tuple[int, ...], num_warps: int
    ):
        self.machine, self.program, self.grid = machine, program, grid
        self.num_warps = num_warps
        self.allocations: list[Allocation] = []
        exponentials = {name: self._heard(_MATHS[name]) for name in ("exp", "exp2")}
        self.gl = SimpleNamespace(
            **dict.fromkeys(_LAYOUTS, _Layout), **_TYPES, **(_MATHS | exponentials),
            NVMMADistributedLayout=self._of_product,
            constexpr=lambda x: x,
            program_id=lambda axis=0: Whole(self.program[axis]),
            num_programs=lambda axis=0: Whole(self.grid[axis]),
            num_warps=lambda: Whole(num_warps), num_ctas=lambda: Whole(1),
            allocate_shared_memory=self.allocate_shared_memory,
            warp_specialize=self.warp_specialize,
            barrier=machine.step, thread_barrier=machine.step,
            load=lambda p, mask=None, other=None, **_: value(p.load(mask, other)),
            store=self._store,
        )  # fmt: skip
        self.mbarrier = SimpleNamespace(
            MBarrierLayout=BarrierLayout,
            init=lambda barrier, count: barrier.init(count),
            invalidate=lambda barrier: None,
            expect=self._stepped(lambda barrier, size: barrier.expect(size)),
            arrive=self._stepped(self._arrive_at),
            wait=self._stepped(self._wait_at),
        )
        self.tma = SimpleNamespace(
            async_copy_global_to_shared=self.tma_load,
            async_copy_shared_to_global=self.tma_store,
            store_wait=self.store_wait,
        )
        self.async_copy = SimpleNamespace(
            async_copy_global_to_shared=self.async_load,
            commit_group=self.commit_group,
            wait_group=self.wait_group,
        )

    def _store(self, pointers: Pointer, x: Any, mask: Any = None, **_: Any) -> None:
        self.machine.me().note_overlap("stores numbers of its own")
        pointers.store(x, mask)

    def _of_product(self, version: Sequence[int], warps: Sequence[int], *shape: Any) -> _Layout:
        """The layout of a product. Of mma_v2 all warps of the launch take part."""
        if version[0] == 2 and math.prod(warps) != self.num_warps:
            raise Fault(
                "warps",
                f"{here()} is for {math.prod(warps)} warps, and the launch has "
                f"num_warps={self.num_warps}",
            )
        return _Layout(version, warps, *shape)

    def _heard(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        """Who watches products hears how many are under way while it is computed."""

        def heard(*arguments: Any) -> Any:
            self.machine.me().note_products()
            return compute(*arguments)

        return heard

    def _stepped(self, act: Callable[..., None]) -> Callable[..., None]:
        def stepped(*arguments: Any, pred: Any = True, **named: Any) -> None:
            if _is_on(pred):
                self.machine.step()
                act(*arguments, **named)

        return stepped

    # --- memory
    def allocate_shared_memory(
        self, dtype: torch.dtype, shape: Sequence[int], layout: Any, value: Any = None
    ) -> Any:
        name = name_of_allocation()
        if isinstance(layout, BarrierLayout):
            made = Barriers(self.machine, name, int(shape[0]) if len(shape) > 1 else 1)
            return made if len(shape) > 1 else made.each[0]
        owner = Allocation(self.machine, name, dtype, shape)
        self.allocations.append(owner)
        shared = Shared.whole(owner)
        if value is not None:
            shared.store(value)
        return shared

    def fence_async_shared(self, cluster: bool = False) -> None:
        self.machine.step()
        for each in self.allocations:
            each.fence(self.machine.me())

    # --- jobs
    def warp_specialize(
        self, jobs: Sequence[Any], warps: Any = None, registers: Any = None
    ) -> None:
        """Each (function, arguments) in warps of its own; the first in the program's."""
        names = [getattr(function, "__name__", "a job") for function, _ in jobs]
        told = [
            name if names.count(name) == 1 else f"{name} {names[:n].count(name)}"
            for n, name in enumerate(names)
        ]
        self.machine.split(
            [
                (name, partial(function, *given))
                for name, (function, given) in zip(told, jobs, strict=True)
            ]
        )

    # --- the copy engine
    def _arrive_at(self, barrier: Barrier, count: int = 1) -> None:
        me = self.machine.me()
        me.note_overlap(f"arrives at {barrier.name}, {len(me.products)} products under way")
        barrier.arrive(count)

    def _wait_at(self, barrier: Barrier, phase: int, deps: Sequence[Any] = ()) -> None:
        barrier.wait(phase)
        me = self.machine.me()
        if barrier.name in me.ordered:
            me.note_overlap("waits for its copies")

    def tma_load(
        self,
        desc: Descriptor,
        place: Sequence[int],
        barrier: Barrier,
        tile: Shared,
        pred: Any = True,
        **_: Any,
    ) -> None:
        if not _is_on(pred):
            return
        self.machine.step()
        _check_copy("descriptor, place, barrier, tile", desc, tile)
        desc.cut(place)  # a wrong place, or no single barrier, is named where it is given
        landed = barrier.landed
        self.machine.me().ordered.add(barrier.name)

        def finish(copy: Actor) -> None:
            part, there = desc.cut(place)
            values = torch.zeros(tuple(desc.block_shape), dtype=desc.dtype)
            values[there] = part
            tile.view.copy_(values.view(tile.view.shape))
            landed(copy, desc.nbytes_per_cta)

        copy = self.machine.start("the copy", finish)
        copy.lands = barrier
        self.machine.copies += 1
        tile.owner.touch(copy, tile.box, writes=True, engine=True)

    def tma_store(self, desc: Descriptor, place: Sequence[int], tile: Shared, **_: Any) -> None:
        self.machine.step()
        _check_copy("descriptor, place, tile", desc, tile)
        desc.cut(place)

        def finish(copy: Actor) -> None:
            part, there = desc.cut(place)
            part.copy_(tile.view.reshape(tuple(desc.block_shape))[there])

        copy = self.machine.start("the copy", finish)
        tile.owner.touch(copy, tile.box, writes=False, engine=True)
        self.machine.me().stores.append(copy)

    def store_wait(self, pendings: int = 0) -> None:
        self.machine.step()
        self._await(self.machine.me().stores, pendings)

    def _await(self, actors: list[Actor], unfinished: int) -> None:
        """Wait until at most so many of them are unfinished, the oldest first."""
        me = self.machine.me()
        while len(actors) > unfinished:
            actor = actors.pop(0)
            self.machine.complete(actor)
            me.learn(actor.clock)

    # --- copies by threads
    def async_load(self, tile: Shared, pointers: Pointer, mask: Any = None, **_: Any) -> None:
        self.machine.step()

        def finish(copy: Actor) -> None:
            zero = 0.0 if tile.dtype.is_floating_point else 0
            tile.view.copy_(pointers.load(mask, zero))

        pointers._places(mask)  # addresses are refused where they are made
        copy = self.machine.start("the copy", finish)
        tile.owner.touch(copy, tile.box, writes=True, engine=False)
        me = self.machine.me()
        me.groups[-1].append(copy)
        me.copies += 1

    def commit_group(self) -> None:
        me = self.machine.me()
        me.note(f"{me.name} closes a group", len(me.groups[-1]))
        me.groups.append([])

    def wait_group(self, num_outstanding: int = 0) -> None:
        if isinstance(num_outstanding, Whole):
            raise Fault(
                "constant",
                f"{here()}: the number for wait_group is a constant, such as SLOTS or 2"
                + ". This one is known only when the kernel runs",
            )
        if num_outstanding < 0:
            raise Fault(
                "constant",
                f"{here()}: fewer than 0 groups cannot be left over"
                + f". The number is {num_outstanding}",
            )
        self.machine.step()
        groups = self.machine.me().groups
        while len(groups) - 1 > num_outstanding:  # the last one is open
            self._await(groups[0], 0)
            groups.pop(0)

    # --- tensor cores
    def warpgroup_mma(
        self, a: Any, b: Shared, acc: Any, *, use_acc: Any = True, is_async: bool = False, **_: Any
    ) -> Any:
        self.machine.step()
        me = self.machine.me()
        before = acc if isinstance(acc, Unfinished) else None
        shapes = [list(each.shape) for each in (a, b)]
        if not isinstance(acc, Unfinished):
            shapes.append(list(acc.shape))
        if shapes[0][1:] != shapes[1][:1] or shapes[2:] not in ([], [[shapes[0][0], shapes[1][1]]]):
            raise Fault("size", f"{here()}: a, b and acc have the shapes {shapes}")

        def finish(actor: Actor) -> None:
            left = a.view if isinstance(a, Shared) else a
            product = left.float() @ b.view.float()
            start = before.result if before is not None else acc
            made.result = value(product + start) if use_acc else value(product)

        actor = self.machine.start("the product", finish)
        made = Unfinished(actor)
        for operand in (a, b):
            if isinstance(operand, Shared):
                operand.owner.touch(actor, operand.box, writes=False, engine=True)
        me.products.append(actor)
        me.note_overlap(f"orders product {me.multiplied}, {self.machine.copies} copies so far")
        me.multiplied += 1
        me.note_overlap("multiplies while it stores" if me.stores else "multiplies")
        if not is_async:
            self._await(me.products, 0)
            return made.result
        if not isinstance(a, Shared):
            me.operands[actor.number] = a
        me.note_products()
        return made

    def warpgroup_mma_wait(self, num_outstanding: int = 0, deps: Sequence[Any] = ()) -> Any:
        if isinstance(deps, Unfinished):
            raise TypeError(
                "'warpgroup_mma_accumulator' object is not iterable"
            )  # as Triton has it
        self.machine.step()
        me = self.machine.me()
        finished = me.products[: max(0, len(me.products) - int(num_outstanding))]
        self._await(me.products, num_outstanding)
        me.awaited = Awaited(here(), tuple(finished), tuple(me.products))
        me.note_products()
        for product in finished:
            operand = me.operands.pop(product.number, None)
            if operand is not None and not any(operand is each for each in deps):
                later = [
                    d.actor for d in deps if isinstance(d, Unfinished) and d.actor in me.products
                ]
                if later:
                    raise Fault(
                        "operand",
                        f"{here()} waits for the product of {product.place}, and deps has the "
                        f"result of the product of {later[0].place}, which was ordered after it"
                        + ". Products finish in their order: what is needed first is ordered first",
                    )
                raise Fault(
                    "operand",
                    f"{here()} waits for the product of {product.place}, and what it multiplies "
                    "from registers is not among the deps: its registers may be used again before"
                    + ". Is that the product to wait for first, and does the name in deps still "
                    "hold what it multiplies?",
                )
        done = tuple(_finished(each) for each in deps)
        return done[0] if len(done) == 1 else done

    def mma_v2(self, a: torch.Tensor, b: torch.Tensor, acc: torch.Tensor, **_: Any) -> Value:
        return value(acc + a.float() @ b.float())


def _is_on(pred: Any) -> bool:
    """Whether an instruction with this `pred` does something. The compiler takes no number."""
    if type(pred) is int or isinstance(pred, Whole):
        raise Fault("pred", f"{here()}: pred is True or False, not the number {pred}")
    return bool(pred)


def _check_copy(order: str, desc: Any, tile: Any) -> None:
    """Raise Fault unless the arguments are in their order, and both tiles of one size."""
    if not (isinstance(desc, Descriptor) and isinstance(tile, Shared)):
        raise Fault("arguments", f"{here()}: the arguments are {order}, in this order")
    found = [n for n in tile.shape if n > 1]
    if found != [n for n in desc.block_shape if n > 1]:
        raise Fault(
            "size",
            f"{here()}: the descriptor's tile is {desc.block_shape}, the memory {tile.shape}",
        )


def _finished(each: Any) -> Any:
    if isinstance(each, Unfinished) and each.result is not None and each.actor.finish is None:
        return each.result
    return each


def _tile(made: Callable[..., torch.Tensor]) -> Callable[..., Value]:
    def function(*arguments: Any, **named: Any) -> Any:
        plain = [a if isinstance(a, torch.Tensor) else torch.tensor(a) for a in arguments]
        if all(isinstance(a, int) for a in arguments):  # two whole numbers stay one
            return Whole(int(made(*plain, **named)))
        return value(made(*plain, **named))

    return function


def _without_nan(x: torch.Tensor, instead: float, axis: int) -> torch.Tensor:
    """A tile whose NaNs win nothing; where there is nothing else they stay."""
    nan = x.isnan()
    return torch.where(nan & ~nan.all(dim=axis, keepdim=True), instead, x) if nan.any() else x


_LAYOUTS = (
    *("AutoLayout", "BlockedLayout", "DotOperandLayout", "NVMMASharedLayout"),
    *("PaddedSharedLayout", "SliceLayout", "SwizzledSharedLayout"),
)
_TYPES = {
    name: getattr(torch, name)
    for name in ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64")
} | {"int1": torch.bool}
_SAME = ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "abs")  # as in torch
_MATHS: dict[str, Any] = {name: _tile(getattr(torch, name)) for name in _SAME} | {
    "maximum": _tile(torch.fmax),  # of a NaN and a number the number, as below
    "minimum": _tile(torch.fmin),
    "zeros": lambda shape, dtype, layout=None: value(torch.zeros(tuple(shape), dtype=dtype)),
    "full": lambda shape, x, dtype, layout=None: value(torch.full(tuple(shape), x, dtype=dtype)),
    "arange": lambda start, stop, layout=None: value(torch.arange(start, stop)),
    "where": lambda mask, x, y: value(torch.where(mask, x, y)),
    "max": lambda x, axis: value(_without_nan(x, -math.inf, axis).amax(dim=axis)),
    "min": lambda x, axis: value(_without_nan(x, math.inf, axis).amin(dim=axis)),
    "sum": lambda x, axis: value(torch.sum(x, dim=axis)),
    "expand_dims": lambda x, axis: x.unsqueeze(axis),
    "convert_layout": lambda x, layout=None, **_: x,
    "set_auto_layout": lambda x, layout=None: x,
    "cdiv": lambda x, y: Whole(-(-int(x) // int(y))),
    "static_range": range,
    "static_assert": lambda *_: None,
    "assume": lambda *_: None,
    "multiple_of": lambda x, *_: x,
    "max_contiguous": lambda x, *_: x,
    "cast": lambda x, dtype: x.to(dtype),
    "fma": lambda x, y, z: x * y + z,
    "index": operator.index,
}  # fmt: skip
# What a kernel may name, by the module that it stands in.
GL = "triton.experimental.gluon.language"
_any = Language(Machine(0), (0,), (1,), 4)
NAMES: dict[str, frozenset[str]] = {
    GL: frozenset(vars(_any.gl)),
    f"{GL}.nvidia.ampere": frozenset(["mma_v2"]),
    f"{GL}.nvidia.ampere.async_copy": frozenset(vars(_any.async_copy)),
    f"{GL}.nvidia.hopper": frozenset(["fence_async_shared", "warpgroup_mma", "warpgroup_mma_wait"]),
    f"{GL}.nvidia.hopper.mbarrier": frozenset(vars(_any.mbarrier)),
    f"{GL}.nvidia.hopper.tma": frozenset(vars(_any.tma)),
}
