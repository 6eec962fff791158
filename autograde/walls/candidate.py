"""The process that holds a student's code, and nothing else worth having.

It gets the cells of one notebook and then calls to make. It never sees a hidden test, a reference,
a seed or, for Triton exercises, the values of an argument. Whatever it sends back is data that the
checker distrusts.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import linecache
import socket
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tritonbook import limits
from tritonbook.checking.host_memory import default_device, no_default_device
from tritonbook.checking.launches import Launch, seeing_reads
from tritonbook.course import exercises
from tritonbook.notebook import machinery
from tritonbook.port import source_file
from tritonbook.port.compat import hook_launch
from tritonbook.port.dispatch import DispatchMode
from tritonbook.port.tuners import choosing, hearing
from tritonbook.simulating import watch_flags, watch_foreign, watch_loads

from .settings import Machine, put_back
from .tape import (
    Recorder,
    TapeError,
    decode,
    decode_call,
    describe,
    encode,
    laid_on,
    memory,
    raw,
    told,
)
from .wire import Line, Message, PeerGone

_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_STUDENTS = ("answer-", "extra-")  # how the names of cells begin that are not the course's
Reply = tuple[dict[str, Any], list[bytes]]  # with its buffers


def main(end: socket.socket, folder: Path) -> None:
    """Serve calls on `end` until it closes. `folder` is a writable folder of this process's own."""
    limits.waiting = lambda: limits.scheduled("self")[1]  # for a processor: no cell's own time
    limits.working = lambda: limits.scheduled("self")[0]
    line = Line(end)
    candidate = Candidate(line, folder)
    line.send({"ready": True})
    with contextlib.suppress(PeerGone):
        while True:
            candidate.answer(line.receive())


class _Largest(DispatchMode):
    """Remembers how many elements the largest floating tensor has that torch makes meanwhile, and
    how many tensors it copies."""

    elements = copies = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        self.copies += func.name() == "aten::clone"
        if isinstance(made, torch.Tensor) and made.is_floating_point():
            self.elements = max(self.elements, made.numel())
        return made


class _NoShell:
    """What `get_ipython()` gives here: magics do nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


class Candidate:
    """Runs cells in one namespace, as a notebook does, and calls the functions they define."""

    def __init__(self, line: Line, folder: Path):
        self.line = line
        self.folder = folder
        self.module = types.ModuleType("__main__")
        self.names = vars(self.module)
        self.names["get_ipython"] = lambda: _NoShell()
        self.names["display"] = lambda *args, **kwargs: None
        self.defined: dict[str, Any] = {}
        self.recorder = Recorder()
        self.machine = Machine()
        self.stand_ins: dict[int, torch.Tensor] = {}
        self.memory: dict[int, torch.UntypedStorage] = {}

    def answer(self, message: Message) -> None:
        """Do what one message asks and send the reply."""
        body = message.body
        handlers = {"cells": self.run_cells, "tape": self.call_on_tape, "values": self.call_values}
        # A cell may have said where tensors are made: that holds in the call itself, not around it.
        cells = body["do"] == "cells"
        with contextlib.nullcontext() if cells else no_default_device(self.machine.device):
            reply, buffers = handlers[body["do"]](body, message.buffers)
        self.line.send(reply, buffers)

    # --- cells

    def run_cells(self, body: dict[str, Any], buffers: list[bytes]) -> Reply:
        """Run cells in order. An error ends its own cell only, as in a notebook."""
        errors = {}
        exercises.LENT = body["lent"]
        sys.modules["__main__"] = self.module
        with machinery():
            for name, text in body["cells"]:
                try:
                    # What the course's own cells set, as a seed, is theirs to set.
                    own = name.startswith(_STUDENTS)
                    with put_back(cell=True) if own else contextlib.nullcontext():
                        self._run_cell(name, text, body["cell_seconds"])
                except BaseException as error:  # noqa: BLE001  (SystemExit too ends the cell only)
                    errors[name] = _error(error, self.folder)
        self.defined = dict(self.names)
        return {"errors": errors}, []

    def _run_cell(self, name: str, text: str, seconds: float) -> None:
        # Triton reads a kernel's source from its file, so each cell is one.
        path = self.folder / f"{name}.py"
        path.write_text(text, encoding="utf-8", errors="replace")
        source_file.remember(str(path), text)
        tree = ast.parse(text, str(path))
        whole = compile(tree, str(path), "exec", dont_inherit=True)  # a notebook's own rules
        flags = whole.co_flags & _FUTURE
        with limits.time_limit(seconds):
            for node in tree.body:
                part = ast.Module([node], [])
                with self.machine.held():
                    exec(compile(part, str(path), "exec", flags, dont_inherit=True), self.names)

    def _function(self, name: str) -> Any:
        """As the cells left it, whatever a call has made of the name since."""
        if name not in self.defined:
            raise NameError(f"name '{name}' is not defined")
        return self.defined[name]

    # --- a call whose values stay with the checker

    def call_on_tape(self, body: dict[str, Any], buffers: list[bytes]) -> Reply:
        """Call a function on stand-ins; reply with the tape of what it did."""
        recorder = self.recorder
        recorder.fail_at = body["fail_at"]
        self.forget(body["gone"]["numbers"], body["gone"]["storages"])
        stand_ins = [self._stand_in(tensor) for tensor in body["tensors"]]
        resolve = self._resolver(stand_ins)
        try:
            function = self._function(body["function"])
            args, kwargs = decode_call(body["args"], body["kwargs"], resolve)
            watched = (
                choosing(body["config"]),
                hearing(recorder.choice),
                hook_launch(recorder.launch),
                seeing_reads(recorder.look),
                recorder,
                recorder.memory,
                default_device(),
            )
            with put_back(), machinery(), contextlib.ExitStack() as stack:
                for each in watched:
                    stack.enter_context(each)
                result = function(*args, **kwargs)
            reply = {"result": encode(result, recorder.reference)}
            # Taken while the result is alive: what is dropped from here on, the next tape says.
            steps, constants = recorder.take()
        except BaseException as error:  # noqa: BLE001
            reply = {"raised": _error(error, self.folder)}
            steps, constants = recorder.take()
        return reply | {"steps": steps}, constants

    def _stand_in(self, tensor: dict[str, Any]) -> torch.Tensor:
        """A tensor with the layout of the real one, and numbers that mean nothing in it.

        What is one address, or one tensor, for the checker is one here too, over all calls: a
        function that remembers results by either must meet the same surprise as in a notebook.
        """
        if tensor["number"] not in self.stand_ins:
            storage = tensor["storage"]
            if storage not in self.memory:
                block = torch.full((tensor["bytes"],), 0x3C, dtype=torch.uint8)
                self.memory[storage] = block.to(tensor["device"]).untyped_storage()
            made = laid_on(self.memory[storage], tensor)
            self.stand_ins[tensor["number"]] = made
            self.recorder.adopt(made, tensor["number"])
        return self.stand_ins[tensor["number"]]

    def forget(self, numbers: list[int], storages: list[int]) -> None:
        """Drop stand-ins whose twins are gone."""
        for number in numbers:
            self.stand_ins.pop(number, None)
        for storage in storages:
            self.memory.pop(storage, None)

    # --- a call with values, for plain Python functions

    def call_values(self, body: dict[str, Any], buffers: list[bytes]) -> Reply:
        """Call a function on real values; reply with its result and the arguments' memory."""
        blocks = [memory(data).untyped_storage() for data in buffers]
        tensors = [laid_on(blocks[each["storage"]], each) for each in body["tensors"]]
        resolve = self._resolver(tensors)
        sent: list[bytes] = []

        def reference(value: Any) -> dict[str, Any]:
            if not isinstance(value, torch.Tensor):
                raise TypeError(f"a {type(value).__name__} cannot be returned here")
            data = value.detach().cpu().contiguous()
            sent.append(raw(data))
            return {"tensor": [describe(data), len(sent) - 1]}

        try:
            function = self._function(body["function"])
            args, kwargs = decode_call(body["args"], body["kwargs"], resolve)
            made, launched = _Largest(), []
            flags: list[Any] = []
            foreign: dict[int, set[int]] = {}
            loads: list[Any] = []

            def launch(call: Any, fn: Any, *_: Any) -> Any:
                launched.append(Launch(fn.__name__, fn.__code__.co_filename, ()))
                return call()

            with put_back(), machinery(), contextlib.ExitStack() as stack:
                # Else nothing watches: below a mode or a hook torch.compile refuses to work.
                if body["watched"]:
                    flags = stack.enter_context(watch_flags())
                    foreign = stack.enter_context(watch_foreign())
                    loads = stack.enter_context(watch_loads())
                    stack.enter_context(hook_launch(launch))
                    stack.enter_context(made)
                result = function(*args, **kwargs)
            own = sum(not each.from_library for each in launched)
            pairs = {(me.rank, me.name, by.rank, by.name) for me, by in flags}
            reply = {"result": encode(result, reference), "largest": made.elements}
            reply |= {"launches": own, "copies": made.copies, "flags": sorted(pairs)}
            reply["foreign"] = [[rank, sorted(loaded)] for rank, loaded in foreign.items()]
            reply["loads"] = _of_arguments(loads, tensors)
        except BaseException as error:  # noqa: BLE001
            sent.clear()
            reply = {"raised": _error(error, self.folder)}
        kept = [raw(tensor.detach().contiguous()) for tensor in tensors]
        return reply | {"arguments": len(kept)}, [*sent, *kept]

    def _resolver(self, tensors: list[torch.Tensor]) -> Callable[[dict[str, Any]], Any]:
        def resolve(data: dict[str, Any]) -> Any:
            if "t" in data:
                return tensors[data["t"]]
            if "callback" in data:
                return self._callback(data["callback"])
            raise TapeError("not a value")

        return resolve

    def _callback(self, number: int) -> Callable[..., Any]:
        """A stand-in for a function that is an argument: calling it asks the checker."""

        def call(*args: Any, **kwargs: Any) -> Any:
            def reference(value: Any) -> Any:
                raise TypeError(f"a {type(value).__name__} cannot be passed back")

            body = {
                "callback": number,
                "args": encode(list(args), reference),
                "kwargs": encode(kwargs, reference),
            }
            self.line.send(body)
            reply = self.line.receive().body
            if "raised" in reply:
                raise RuntimeError(reply["raised"])
            return decode(reply["result"], _no_references)

        call.__name__ = f"argument_{number}"
        return call


def _no_references(data: dict[str, Any]) -> Any:
    raise TapeError("not a plain value")


def _of_arguments(loads: list[Any], tensors: list[torch.Tensor]) -> list[list[Any]]:
    """Which elements of the arguments each rank has loaded: rank, number of the argument, and how
    many bytes after its first one they begin."""
    found: dict[tuple[int, int], set[int]] = {}
    for rank, addresses in loads:
        for number, tensor in enumerate(tensors):
            offsets = addresses - tensor.data_ptr()
            inside = offsets[(offsets >= 0) & (offsets < tensor.nbytes)]
            found.setdefault((rank, number), set()).update(inside.tolist())
    return [[rank, number, sorted(offsets)] for (rank, number), offsets in found.items() if offsets]


def _error(error: BaseException, folder: Path) -> dict[str, Any]:
    """An exception as data, with the last line of the student's code."""
    while error.__cause__ is not None:
        error = error.__cause__
    where = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if file.startswith(str(folder)):
            source = linecache.getline(file, line).strip()
            where = f"line {line}, in {frame.f_code.co_name}: {source}"[:300]
    return told(error) | {"where": where}
