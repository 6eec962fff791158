"""The process in which a submission's kernels run, in Triton's interpreter: one launch at a time.

In the interpreter a pointer is an address of the process. So this one holds nothing worth having:
it gets a kernel's text, its arguments and the bytes of its tensors, and returns those bytes as they
are afterwards. It knows no reference, no expected value, no seed, no verdict; not whether a call is
a case, nor which tensor is a result. It stands behind the candidate's walls. Whatever it sends back
is data that the checker distrusts.
"""

from __future__ import annotations

import contextlib
import socket
import traceback
from pathlib import Path
from typing import Any

from tritonbook.port import source_file
from tritonbook.port.compat import causes
from tritonbook.port.idle_lanes import hold_zero
from tritonbook.port.order import interrupt
from tritonbook.seeing.meter import Meter, meter
from tritonbook.simulating import watch_products

from . import fence
from .accesses import packed
from .tape import decode_call, laid_on, memory, told
from .wire import BUFFERS_CAP, Line, Message, PeerGone


def main(end: socket.socket, folder: Path) -> None:
    """Serve launches on `end` until it closes."""
    fence.install()
    line = Line(end)
    engine = Engine()
    line.send({"ready": True})
    with contextlib.suppress(PeerGone):
        while True:
            line.send(*engine.answer(line.receive()))


class Engine:
    """Carries out launches. A kernel's text is defined once."""

    def __init__(self) -> None:
        self._defined: dict[tuple[Any, ...], Any] = {}

    def answer(self, message: Message) -> tuple[dict[str, Any], list[Any]]:
        """The reply to one launch: memory as it is afterwards and, if asked for, what was
        stored to and what was seen."""
        body = message.body
        blocks = [memory(data) for data in message.buffers]
        tensors = [laid_on(blocks[t["storage"]].untyped_storage(), t) for t in body["tensors"]]

        def resolve(data: dict[str, Any]) -> Any:
            if "t" in data:
                return tensors[data["t"]]
            return self._kernel(body["kernels"], data["kernel"])

        fence.allow(blocks)
        if body["note_stores"]:
            fence.note_stores(blocks)
        seen: Meter | None = None
        try:
            kernel = self._kernel(body["kernels"], 0)
            args, options = decode_call(body["args"], body["options"], resolve)
            nothing, point = contextlib.nullcontext(), body["point"]
            halt = interrupt((tuple(point[0]), point[1])) if point else nothing
            watch, zero = meter() if body["metered"] else nothing, hold_zero(body["idle_zero"])
            with halt, watch as seen, zero, watch_products() as products:
                kernel[tuple(body["grid"])](*args, **options)
            reply: dict[str, Any] = {"raised": None, "products": products}
        except Exception as error:  # noqa: BLE001  (the checker hears of whatever a kernel raises)
            reply = {"raised": [_raised(each, body["kernels"][0][1]) for each in causes(error)]}
        sent = [block.numpy() for block in blocks]
        if body["note_stores"]:
            sent += [fence.stored(block) for block in blocks]
        if seen is not None and seen.launches:
            launch = seen.launches[-1]
            narrow, twice = launch.narrow, launch.twice
            reply["seen"] = [launch.flops, launch.locks, launch.float32_dot, narrow, twice]
            reply["bases"] = [block.data_ptr() for block in blocks]
            parts = packed(seen.accesses, BUFFERS_CAP - sum(block.nbytes for block in sent))
            if parts is None:
                reply["seen"] = None
            sent += parts or []
        return reply, sent

    def _kernel(self, kernels: list[Any], number: int) -> Any:
        name, file, text, numbers = kernels[number]
        helpers = {alias: self._kernel(kernels, each) for alias, each in numbers.items()}
        known = name, text, tuple((alias, id(helper)) for alias, helper in helpers.items())
        if known not in self._defined:
            module = source_file.module_of(text, file, f"_submitted_{len(self._defined)}", helpers)
            self._defined[known] = getattr(module, name)
        return self._defined[known]


def _raised(error: BaseException, file: str) -> dict[str, Any]:
    """An exception as data, with its line in the kernel's file; 0: none."""
    line = 0
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == file:
            line = number
    return told(error) | {"line": line}
