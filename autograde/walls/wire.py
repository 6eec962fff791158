"""The line between checker and candidate: JSON with a size cap, then raw buffers with a size cap.

Nothing that comes from the candidate is unpickled, evaluated or imported. A message is data;
whoever receives it checks its shape before use.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tritonbook.limits import PATIENCE, nobody_waits
from tritonbook.words import later

HEADER_CAP = 8 << 20  # bytes of JSON in one message
BUFFERS_CAP = 512 << 20  # bytes of all buffers of one message
BUFFER_COUNT_CAP = 4096
START_SECONDS = 120.0  # of a process
_PREFIX = struct.Struct("!IIQ")  # bytes of JSON, number of buffers, bytes of all buffers


class WireError(Exception):
    """The other side broke the protocol: too big, not JSON, not the agreed shape."""


class PeerGone(Exception):
    """The other side closed the line: its process ended."""


class PeerSlow(Exception):
    """The other side did not answer in time."""


class NotReady(RuntimeError):
    """A process did not start, by the grader's fault: one sentence."""


class ProcessEnded(RuntimeError):
    """A process of the submission's is gone, or must not be listened to any more."""


@dataclass
class Message:
    """One message: a JSON object and the raw buffers that it refers to by position."""

    body: dict[str, Any]
    buffers: list[bytes]


class Deadline:
    """So many seconds from now, without those that `waiting` has grown by meanwhile."""

    def __init__(self, seconds: float, waiting: Callable[[], float]):
        self._waiting, self._began = waiting, waiting()
        self._end, self._most = time.monotonic() + seconds, PATIENCE * seconds

    def left(self) -> float:
        left = self._end - time.monotonic()
        return left if left > 0 else left + min(self._waiting() - self._began, self._most)


class Line:
    """One end of a socket pair. `receive` raises WireError, PeerGone or PeerSlow, nothing else."""

    def __init__(self, end: socket.socket):
        self.socket = end
        self._piece = bytearray(1 << 18)  # new memory for each costs more than what comes in it
        self.waiting = nobody_waits  # how long those at the other end have waited for a processor

    def send(
        self,
        body: dict[str, Any],
        buffers: Sequence[bytes | memoryview] = (),
        seconds: float | None = None,
    ) -> None:
        """Send one message. Raises PeerGone, or PeerSlow when it is not taken in `seconds`."""
        text = json.dumps(body, separators=(",", ":")).encode()
        sizes = b"".join(struct.pack("!Q", len(buffer)) for buffer in buffers)
        total = sum(len(buffer) for buffer in buffers)
        if len(text) > HEADER_CAP or total > BUFFERS_CAP or len(buffers) > BUFFER_COUNT_CAP:
            raise WireError(f"message too big: {len(text)} bytes of JSON, {total} of buffers")
        self.socket.settimeout(seconds)
        try:
            self.socket.sendall(_PREFIX.pack(len(text), len(buffers), total) + sizes + text)
            for buffer in buffers:
                self.socket.sendall(buffer)
        except TimeoutError:
            raise PeerSlow("the message was not taken in time") from None
        except OSError as error:
            raise PeerGone(str(error)) from None

    def receive(self, seconds: float | None = None) -> Message:
        """The next message, within `seconds` in which the other end had a processor."""
        deadline = None if seconds is None else Deadline(seconds, self.waiting)
        length, count, total = _PREFIX.unpack(self._exactly(_PREFIX.size, deadline))
        if length > HEADER_CAP or total > BUFFERS_CAP or count > BUFFER_COUNT_CAP:
            raise WireError(f"message too big: {length} bytes of JSON, {total} of buffers")
        sizes = struct.unpack(f"!{count}Q", self._exactly(8 * count, deadline))
        if sum(sizes) != total:
            raise WireError("the sizes of the buffers do not add up")
        text = self._exactly(length, deadline)
        try:
            body = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise WireError(f"not JSON: {type(error).__name__}") from None
        if not isinstance(body, dict):
            raise WireError("the message is not an object")
        return Message(body, [self._exactly(size, deadline) for size in sizes])

    def wait_until_ready(self, who: str) -> None:
        """Wait for the process at the other end to start. Raises NotReady."""
        try:
            ready = self.receive(START_SECONDS).body == {"ready": True}
        except (PeerGone, PeerSlow, WireError) as error:
            raise NotReady(
                later(
                    f"{who} did not start ({error}): is memory short, or torch on a slow disk? Run "
                    "`autograde retry` with fewer --workers."
                )
            ) from None
        if not ready:
            raise NotReady(later(f"{who} did not say that it is ready: run `autograde retry`."))

    def _exactly(self, size: int, deadline: Deadline | None) -> bytes:
        parts, piece = bytearray(), memoryview(self._piece)
        while len(parts) < size:
            left = None if deadline is None else deadline.left()
            if left is not None and left <= 0:
                raise PeerSlow("no answer in time")
            self.socket.settimeout(left)
            try:
                count = self.socket.recv_into(piece[: size - len(parts)])
            except TimeoutError:
                continue
            except OSError as error:
                raise PeerGone(str(error)) from None
            if not count:
                raise PeerGone("the line was closed")
            parts += piece[:count]
        return bytes(parts)

    def close(self) -> None:
        self.socket.close()
