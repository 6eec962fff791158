"""The checker's end of the line to the process that runs kernels (`engine.py`).

Everything that a call does but the kernels themselves is done, and observed, in the checker. A
launch passes by whoever watches launches there (who may mute it or let it fail), and what is left
is sent: the kernel's vetted text, its arguments, the bytes of its tensors. Bytes come back.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
from collections.abc import Iterator, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import torch

from tritonbook.limits import CheckTimeout
from tritonbook.port import source_file
from tritonbook.port.compat import announce_launch, hook_launch
from tritonbook.port.idle_lanes import they_hold_zero
from tritonbook.port.order import point
from tritonbook.seeing.meter import running
from tritonbook.simulating import hear_of_products
from tritonbook.words import later

from ..walls.accesses import facts, unpacked
from ..walls.kernels import KernelId, KernelLibrary
from ..walls.tape import TapeError, describe, encode
from ..walls.wire import BUFFERS_CAP, Line, PeerGone, PeerSlow, ProcessEnded, WireError
from .player import Launcher, Stores
from .replies import not_followed, rebuilt
from .work import Outcome, Status

MOST_MEMORY = BUFFERS_CAP // 2  # bytes of one launch's tensors: what a meter saw comes back too


class LocalLauncher(Launcher):
    """Runs kernels in this process: on a GPU, where they are compiled."""

    def vet(self, id: KernelId) -> None:
        self.library.get(id)

    def launch(
        self, id: KernelId, grid: tuple[int, ...], args: list[Any], options: dict[str, Any]
    ) -> None:
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


class EngineLauncher(Launcher):
    """Has kernels run by the process at the other end of `line`.

    call_seconds: the longest launch.
    """

    def __init__(self, library: KernelLibrary, line: Line, call_seconds: float):
        super().__init__(library)
        self.line, self.call_seconds = line, call_seconds
        self._declared: dict[KernelId, tuple[FunctionType, list[str]]] = {}
        self._ids: dict[FunctionType, KernelId] = {}

    def vet(self, id: KernelId) -> None:
        self._declaration(id)

    def launch(
        self, id: KernelId, grid: tuple[int, ...], args: list[Any], options: dict[str, Any]
    ) -> None:
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
            source_file.remember(file, text)
            function = _declared(ast.parse(text), name, file, helpers)
            self._declared[id] = function, [name, file, text]
            self._ids[function] = id
        return self._declared[id]

    def _carry_out(self, id: KernelId, grid: tuple[int, ...], args: Any, options: Any) -> None:
        meter = running()
        body, blocks = self._message(id, grid, list(args), dict(options), meter is not None)
        if sum(block.size for block in blocks) > MOST_MEMORY:
            raise MemoryError(f"one launch's tensors take more than {MOST_MEMORY >> 20} MB")
        self.carried_out += 1
        reply, buffers = self._ask(body, blocks)
        try:
            for block, data in zip(blocks, buffers, strict=False):
                if len(data) != block.size:
                    raise TapeError("memory came back in another size")
            if len(buffers) < len(blocks):
                raise TapeError("memory did not come back")
            raised = _chained(reply.get("raised"), *self._declaration(id)[1][:2])
            hear_of_products(reply.get("products", []))
            rest = buffers[len(blocks) :]
            if self.stores is not None:
                self.stores.append(_stores(rest[: len(blocks)], blocks))
                rest = rest[len(blocks) :]
            if meter is not None and reply.get("seen", 0) is None:
                sentence = later(
                    "One launch loads and stores more than the grader can follow: look at the "
                    "answer, and give its points by hand."
                )
                raise self._ended("INFRA", "infra", sentence)
            if meter is not None and "seen" in reply:
                accesses, strays = unpacked(reply, rest, blocks)
                meter.add(accesses, strays, grid, *facts(reply["seen"]))
        except (TapeError, ValueError, TypeError, OverflowError) as error:
            raise self._ended("POLICY", "policy", not_followed(str(error))) from None
        for block, data in zip(blocks, buffers, strict=False):
            block[:] = np.frombuffer(data, dtype=np.uint8)
        if raised is not None:
            raise raised

    def _message(
        self,
        id: KernelId,
        grid: Sequence[int],
        args: list[Any],
        options: dict[str, Any],
        metered: bool,
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
            "idle_zero": they_hold_zero(),
            "point": point(),
            "note_stores": self.stores is not None,
        }
        return body, blocks

    def _ask(
        self, body: dict[str, Any], blocks: list[np.ndarray]
    ) -> tuple[dict[str, Any], list[bytes]]:
        if self.trouble is not None:
            raise ProcessEnded(self.trouble.sentence)
        try:
            self.line.send(body, [block.data for block in blocks], self.call_seconds)
            message = self.line.receive(self.call_seconds)
        except PeerSlow:
            raise self._too_slow(self.call_seconds) from None
        except PeerGone:
            sentence = later(
                "The process that runs your kernels ended in the middle of one: is a tile far too "
                "large?"
            )
            raise self._ended("CRASH", "crashed", sentence) from None
        except WireError as error:
            raise self._ended("POLICY", "policy", not_followed(str(error))) from None
        except BaseException as late:  # the call's time is up: the answer would meet another launch
            self._too_slow(getattr(late, "seconds", 0.0) or self.call_seconds)
            raise
        return message.body, message.buffers

    def _too_slow(self, seconds: float) -> CheckTimeout:
        sentence = later(
            f"Stopped after {seconds:g} s. Does a loop ever end, and is the grid small enough?"
        )
        self._ended("TIMEOUT", "timeout", sentence)
        return CheckTimeout(sentence)

    def _ended(self, status: Status, code: str, sentence: str) -> ProcessEnded:
        self.trouble = Outcome(status, code, sentence)
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
    exec(compile(ast.Module([*functions], []), file, "exec"), names)
    for alias, helper in helpers.items():  # as `triton.jit` would hold them: the check looks there
        names[alias] = SimpleNamespace(fn=helper)
    return names[name]


def _memory(address: int, size: int) -> np.ndarray:
    """The bytes at an address of this process; no operator of torch's is called."""
    if not size:
        return np.zeros(0, dtype=np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def _stores(sent: list[bytes], blocks: list[np.ndarray]) -> Stores:
    """Which bytes of each block were stored to. Raises TapeError."""
    if [len(data) for data in sent] != [-(-block.size // 8) for block in blocks]:
        raise TapeError("not what a launch stored to")
    marks = [np.unpackbits(np.frombuffer(data, dtype=np.uint8)) for data in sent]
    return [each[: block.size] for each, block in zip(marks, blocks, strict=True)]


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
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
    return error
