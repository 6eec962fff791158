"""The checker's end of the line to the process that runs kernels (`engine.py`).

Everything that a call does but the kernels themselves is done, and observed, in the checker. A
launch passes by whoever watches launches there (who may mute it or let it fail), and what is left
is sent: the kernel's vetted text, its arguments, the bytes of its tensors. Bytes come back.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import linecache
from collections.abc import Iterator, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import torch

from tritonbook.checking.trial import CheckTimeout
from tritonbook.port.compat import announce_launch, hook_launch
from tritonbook.seeing.meter import Access, running

from .engine import KINDS, MAX_RANK, ROW
from .kernels import KernelId, KernelLibrary
from .replies import rebuilt
from .tape import TapeError, describe, encode
from .wire import BUFFERS_CAP, Line, PeerGone, PeerSlow, ProcessEnded, Trouble, WireError


class LocalLauncher:
    """Runs kernels in this process: on a GPU, where they are compiled."""

    def __init__(self, library: KernelLibrary):
        self.library = library
        self.trouble: Trouble | None = None
        self.carried_out = 0  # launches that nobody who watches kept from running

    def vet(self, id: KernelId) -> None:
        self.library.get(id)

    def launch(self, id: KernelId, grid: tuple[int, ...], args: list, options: dict) -> None:
        named = {name: self._real(value) for name, value in options.items()}
        self.library.get(id)[grid](*map(self._real, args), **named)

    def _real(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._real, value))
        return self.library.get(value) if isinstance(value, KernelId) else value

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Inside, launches are counted below everybody who watches them."""

        def count(call: Any, fn: Any, grid: Any, args: Any, kwargs: Any) -> Any:
            self.carried_out += 1
            return call()

        with hook_launch(count):
            yield


class Launcher:
    """Has kernels run by the process at the other end of `line`.

    call_seconds: the longest launch.
    """

    def __init__(self, library: KernelLibrary, line: Line, call_seconds: float):
        self.library, self.line, self.call_seconds = library, line, call_seconds
        self.trouble: Trouble | None = None
        self.carried_out = 0
        self._declared: dict[KernelId, tuple[FunctionType, list[str]]] = {}
        self._ids: dict[FunctionType, KernelId] = {}

    def vet(self, id: KernelId) -> None:
        self._declaration(id)

    def launch(self, id: KernelId, grid: tuple[int, ...], args: list, options: dict) -> None:
        announce_launch(self._declaration(id)[0], grid, args, options)

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Inside, launches of the submission's are carried out, below everybody who watches."""

        def around(call: Any, fn: Any, grid: Any, args: Any, kwargs: Any) -> Any:
            id = self._ids.get(fn)
            return call() if id is None else self._carry_out(id, grid, args, kwargs)

        with hook_launch(around):
            yield

    def _declaration(self, id: KernelId) -> tuple[FunctionType, list[str]]:
        """The kernel as a function that is never called, and its name, file and text."""
        if id not in self._declared:
            text, name = self.library.source(id), self.library.name(id)
            helpers = {alias: self._declaration(helper)[0] for alias, helper in id.helpers}
            file = f"<kernel {len(self._declared)} of {id.cell}, line {id.line}>"
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
            function = _declared(ast.parse(text), name, file, helpers)
            self._declared[id] = function, [name, file, text]
            self._ids[function] = id
        return self._declared[id]

    def _carry_out(self, id: KernelId, grid: tuple[int, ...], args: Any, options: Any) -> None:
        meter = running()
        body, blocks = self._message(id, grid, list(args), dict(options), meter is not None)
        if sum(block.size for block in blocks) > BUFFERS_CAP:
            raise MemoryError(f"one launch's tensors take more than {BUFFERS_CAP >> 20} MB")
        self.carried_out += 1
        reply, buffers = self._ask(body, blocks)
        try:
            for block, data in zip(blocks, buffers, strict=False):
                if len(data) != block.size:
                    raise TapeError("memory came back in another size")
            if len(buffers) < len(blocks):
                raise TapeError("memory did not come back")
            raised = _chained(reply.get("raised"), *self._declaration(id)[1][:2])
            if meter is not None and "seen" in reply:
                accesses, strays = _seen(reply, buffers[len(blocks) :], blocks)
                flops, locks, line = _facts(reply["seen"])
                meter.add(accesses, strays, grid, flops, locks, line)
        except (TapeError, ValueError, TypeError, OverflowError) as error:
            sentence = f"What runs the kernels broke the protocol: {error}."
            raise self._ended("POLICY", "policy", sentence) from None
        for block, data in zip(blocks, buffers, strict=False):
            block[:] = np.frombuffer(data, dtype=np.uint8)
        if raised is not None:
            raise raised

    def _message(
        self, id: KernelId, grid: Sequence[int], args: list, options: dict, metered: bool
    ) -> tuple[dict[str, Any], list[np.ndarray]]:
        kernels: list[Any] = []
        numbers: dict[KernelId, int] = {}
        tensors: list[dict[str, Any]] = []
        storages: dict[tuple[int, int], int] = {}
        blocks: list[np.ndarray] = []

        def number(kernel: KernelId) -> int:
            if kernel not in numbers:
                numbers[kernel] = len(kernels)
                kernels.append(None)
                helpers = {alias: number(helper) for alias, helper in kernel.helpers}
                kernels[numbers[kernel]] = [*self._declaration(kernel)[1], helpers]
            return numbers[kernel]

        def reference(value: Any) -> dict[str, Any]:
            if isinstance(value, KernelId):
                return {"kernel": number(value)}
            if not isinstance(value, torch.Tensor):
                raise TypeError(f"a {type(value).__name__} cannot be passed to a kernel")
            storage = value.untyped_storage()
            place = storage.data_ptr(), storage.nbytes()
            if place not in storages:
                storages[place] = len(blocks)
                blocks.append(_memory(*place))
            tensors.append(describe(value) | {"storage": storages[place]})
            return {"t": len(tensors) - 1}

        number(id)  # the first
        body = {
            "grid": list(grid),
            "args": encode(args, reference),
            "options": encode(options, reference),
            "kernels": kernels,
            "tensors": tensors,
            "metered": metered,
        }
        return body, blocks

    def _ask(self, body: dict, blocks: list[np.ndarray]) -> tuple[dict[str, Any], list[bytes]]:
        if self.trouble is not None:
            raise ProcessEnded(self.trouble.sentence)
        try:
            self.line.send(body, blocks, self.call_seconds)
            message = self.line.receive(self.call_seconds)
        except PeerSlow:
            raise self._too_slow() from None
        except PeerGone:
            sentence = "The process that runs your kernels ended in one of them."
            raise self._ended("CRASH", "crashed", sentence) from None
        except WireError as error:
            sentence = f"What runs the kernels broke the protocol: {error}."
            raise self._ended("POLICY", "policy", sentence) from None
        except BaseException:  # the time of the call is up: the answer would meet another launch
            self._too_slow()
            raise
        return message.body, message.buffers

    def _too_slow(self) -> CheckTimeout:
        sentence = f"Stopped after {self.call_seconds:g} s. Does a loop ever end, and is the grid "
        sentence += "small enough?"
        self._ended("TIMEOUT", "timeout", sentence)
        return CheckTimeout(sentence)

    def _ended(self, status: str, code: str, sentence: str) -> ProcessEnded:
        self.trouble = Trouble(status, code, sentence)
        self.line.close()
        return ProcessEnded(sentence)


def _declared(
    tree: ast.Module, name: str, file: str, helpers: dict[str, FunctionType]
) -> FunctionType:
    """The function of a vetted text, with nothing in it evaluated: no default, no decorator."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for node in functions:
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        node.decorator_list, node.returns = [], None
        given.defaults, given.kw_defaults = [], [None] * len(given.kwonlyargs)
        for argument in filter(None, every):
            argument.annotation = None
    names: dict[str, Any] = {}
    exec(compile(ast.Module(functions, []), file, "exec"), names)
    for alias, helper in helpers.items():  # as `triton.jit` would hold them: the check looks there
        names[alias] = SimpleNamespace(fn=helper)
    return names[name]


def _memory(address: int, size: int) -> np.ndarray:
    """The bytes at an address of this process; no operator of torch's is called."""
    if not size:
        return np.zeros(0, dtype=np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def _chained(data: Any, name: str, file: str) -> BaseException | None:
    """The exception that a kernel raised, with what it was raised from. Raises TapeError."""
    if data is None:
        return None
    if not isinstance(data, list) or not 0 < len(data) <= 10:
        raise TapeError("not errors")
    errors = [_raised_at(rebuilt(each), each.get("line"), name, file) for each in data]
    for error, cause in zip(errors, errors[1:], strict=False):
        error.__cause__ = cause
    return errors[0]


def _raised_at(error: BaseException, line: Any, name: str, file: str) -> BaseException:
    """The error as if it had been raised in that line of the kernel, which a card then shows."""
    if not isinstance(error, Exception):
        error = RuntimeError(str(error))
    if type(line) is int and 0 < line < 1 << 16:
        code = compile("\n" * (line - 1) + "raise error", file, "exec").replace(co_name=name)
        try:
            exec(code, {"error": error})
        except type(error):
            error.__traceback__ = error.__traceback__.tb_next
    return error


def _facts(data: Any) -> tuple[int, bool, int | None]:
    """Floating-point operations, whether programs take turns, line of a float32 product."""
    if not (isinstance(data, list) and len(data) == 3):
        raise TapeError("not what a meter sees")
    flops, locks, line = data
    if not (type(flops) is int and type(locks) is bool and (line is None or type(line) is int)):
        raise TapeError("not what a meter sees")
    return flops, locks, line


def _seen(
    reply: dict[str, Any], buffers: list[bytes], blocks: list[np.ndarray]
) -> tuple[list[Access], list[np.ndarray]]:
    """Accesses with this process's addresses, and which of their lanes lie in no tensor's memory.

    Addresses are only compared here, never followed. Raises TapeError, ValueError.
    """
    if len(buffers) != 3:
        raise TapeError("not what a meter sees")
    rows = np.frombuffer(buffers[0], dtype=np.int64).reshape(-1, ROW)
    theirs = np.frombuffer(buffers[1], dtype=np.int64)
    masks = np.frombuffer(buffers[2], dtype=np.uint8).astype(bool)
    sizes = [_size(row) for row in rows.tolist()]
    masked = [size if row[6] else 0 for size, row in zip(sizes, rows.tolist(), strict=True)]
    if sum(sizes) != theirs.size or sum(masked) != masks.size:
        raise TapeError("what a meter sees does not add up")
    ours, outside = _translated(theirs, reply.get("bases"), blocks)
    accesses, strays = [], []
    at = at_mask = 0
    for row, size, hidden in zip(rows.tolist(), sizes, masked, strict=True):
        program, (kind, itemsize, line, _, rank) = tuple(row[:3]), row[3:8]
        mask = masks[at_mask : at_mask + hidden] if row[6] else None
        shape = tuple(row[8 : 8 + rank])
        found = Access(-1, program, KINDS[kind], itemsize, ours[at : at + size], mask, line, shape)
        accesses.append(found)
        strays.append(outside[at : at + size])
        at, at_mask = at + size, at_mask + hidden
    return accesses, strays


def _size(row: list[int]) -> int:
    """Lanes of an access. Raises TapeError for a row that no meter writes."""
    program, (kind, itemsize, line, masked, rank) = row[:3], row[3:8]
    shape = row[8 : 8 + max(0, min(rank, MAX_RANK))]
    good = 0 <= rank <= MAX_RANK and all(0 <= n < 1 << 40 for n in shape)
    good = good and all(0 <= n < 1 << 31 for n in (*program, line))
    if not (good and 0 <= kind < len(KINDS) and 1 <= itemsize <= 16 and masked in (0, 1)):
        raise TapeError("not an access")
    size = 1
    for n in shape:
        size *= n
    return size


def _translated(
    theirs: np.ndarray, bases: Any, blocks: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Addresses of the other process in this one's tensors, and which lie in none.

    Those keep their distance from the nearest: a card tells how far outside they are.
    """
    whole = isinstance(bases, list) and len(bases) == len(blocks)
    if not whole or not all(type(base) is int and 0 <= base < 1 << 62 for base in bases):
        raise TapeError("not addresses")
    held = [(base, block) for base, block in zip(bases, blocks, strict=True) if block.size]
    if not held:
        return theirs, np.ones(theirs.shape, dtype=bool)
    held.sort(key=lambda pair: pair[0])
    starts = np.array([base for base, _ in held], dtype=np.int64)
    ends = starts + np.array([block.size for _, block in held])
    moved = np.array([block.ctypes.data for _, block in held], dtype=np.int64) - starts
    below = np.clip(np.searchsorted(starts, theirs, side="right") - 1, 0, len(held) - 1)
    above = np.clip(below + 1, 0, len(held) - 1)
    outside = (theirs < starts[below]) | (theirs >= ends[below])
    nearer = outside & (np.abs(starts[above] - theirs) < np.abs(theirs - ends[below]))
    return theirs + moved[np.where(nearer, above, below)], outside
