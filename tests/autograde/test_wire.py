"""The line: nothing but data of bounded size gets through, whatever the other side sends."""

from __future__ import annotations

import signal
import socket
import struct
import threading
from typing import Any

import numpy as np
import pytest

import tritonbook  # noqa: F401  (decides on the interpreter before Triton is imported)
from autograde.walls.tape import TapeError, decode, encode
from autograde.walls.wire import HEADER_CAP, Line, PeerGone, PeerSlow, WireError


@pytest.fixture
def pair() -> tuple[Line, socket.socket]:
    ours, theirs = socket.socketpair()
    yield Line(ours), theirs
    ours.close()
    theirs.close()


def test_a_message_arrives_whole(pair: tuple[Line, socket.socket]) -> None:
    """Kills: a short read taken for the whole message; buffers in another order."""
    line, end = pair
    big = bytes(range(256)) * 8000
    sender = threading.Thread(target=Line(end).send, args=({"a": [1, None]}, [b"", big, b"x"]))
    sender.start()
    message = line.receive(10)
    sender.join()
    assert message.body == {"a": [1, None]}
    assert message.buffers == [b"", big, b"x"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (struct.pack("!IIQ", HEADER_CAP + 1, 0, 0), "too big"),
        (struct.pack("!IIQ", 2, 0, 1 << 60), "too big"),
        (struct.pack("!IIQ", 2, 1 << 20, 0), "too big"),
        (struct.pack("!IIQ", 2, 1, 5) + struct.pack("!Q", 4) + b"{}", "add up"),
        (struct.pack("!IIQ", 3, 0, 0) + b"\x80\x04N", "not JSON"),  # a pickle
        (struct.pack("!IIQ", 2, 0, 0) + b"[]", "not an object"),
        (struct.pack("!IIQ", 40000, 0, 0) + b"[" * 40000, "not JSON"),
    ],
)
def test_a_broken_message_is_refused(
    pair: tuple[Line, socket.socket], data: bytes, problem: str
) -> None:
    """Kills: memory taken on the sender's word; deep nesting that ends the process."""
    line, end = pair
    end.sendall(data)
    with pytest.raises(WireError, match=problem):
        line.receive(5)


def test_silence_and_death_are_told_apart(pair: tuple[Line, socket.socket]) -> None:
    """Kills: an endless wait; a crash shown as a time-out."""
    line, end = pair
    with pytest.raises(PeerSlow):
        line.receive(0.1)
    end.sendall(b"\0\0")  # half of a prefix, then the end
    end.close()
    with pytest.raises(PeerGone):
        line.receive(5)


def test_a_trickle_does_not_stretch_the_limit(pair: tuple[Line, socket.socket]) -> None:
    """Kills: a deadline that starts anew with every byte."""
    line, end = pair
    stop = threading.Event()

    def trickle() -> None:
        for _ in range(16):
            if stop.wait(0.1):
                return
            end.sendall(b"\0")

    thread = threading.Thread(target=trickle)
    thread.start()
    with pytest.raises(PeerSlow):
        line.receive(0.5)
    stop.set()
    thread.join()


# --- what a message says


def _nothing(value: Any) -> Any:
    raise TapeError("no such value")


@pytest.mark.parametrize(
    ("number", "written"), [(np.float64(0.5), 0.5), (signal.SIGINT, 2), (True, True), (1e-6, 1e-6)]
)
def test_numbers_of_other_kinds_are_numbers(number, written) -> None:
    """Kills: an honest `eps = np.float64(...)` that passes in a notebook and fails the grader."""
    found = encode(number, _nothing)
    assert (found, type(found)) == (written, type(written))


@pytest.mark.parametrize(
    "made_up", [{"dtype": []}, {"tl": []}, {"dict": [[{"tuple": [{"list": []}]}, 1]]}]
)
def test_what_nobody_writes_breaks_the_protocol(made_up) -> None:
    """Kills: a made-up value that ends the grader with a TypeError, its own fault."""
    with pytest.raises(TapeError):
        decode(made_up, _nothing)
