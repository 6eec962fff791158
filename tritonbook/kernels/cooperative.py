"""Cooperative launches: all programs run at the same time, so they may wait for each other.

The GPU starts such a launch only if it has room for all programs at once, and refuses it otherwise
("too many blocks in cooperative launch"). Triton has them from version 3.3 on.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import torch

from ..port.device import INTERPRET
from ..port.in_turn import Launch
from ..replay import lasting

# After .port.device, which decides between GPU and interpreter before Triton is imported.
import triton  # isort: skip
import triton.language as tl  # isort: skip
from triton.backends.nvidia.compiler import CUDAOptions  # isort: skip
from triton.runtime import driver  # isort: skip

TRITON_HAS_IT = any(
    field.name == "launch_cooperative_grid" for field in dataclasses.fields(CUDAOptions)
)

_counters: dict[tuple[torch.device, int, int, int], torch.Tensor] = {}


def can_launch_cooperatively() -> bool:
    """May programs of one launch wait for each other?"""
    return TRITON_HAS_IT or INTERPRET


def arrival_counters(device: torch.device, rows: int, count: int) -> torch.Tensor:
    """Counters [rows], int64, for `wait_for_all`: each is shared by `count` programs.

    They are made once, for each device, stream and shape, and kept: a launch leaves them at a
    multiple of `count`, where the next begins. Two streams must not share them.
    """
    return lasting(partial(_counters_of, device, rows, count))


def _counters_of(device: torch.device, rows: int, count: int) -> torch.Tensor:
    if device.type != "cuda":  # the kernel is compiled, not run
        return torch.zeros(rows, dtype=torch.int64, device=device)
    stream = driver.active.get_current_stream(device.index)  # PyTorch's makes an object: 3 us
    key = (device, stream, rows, count)
    if (found := _counters.get(key)) is not None:
        return found
    made = torch.zeros(rows, dtype=torch.int64, device=device)
    if not torch.cuda.is_current_stream_capturing():
        # inside a CUDA graph, zeroing is only noted down: such counters belong to the graph
        _counters[key] = made
    return made


@triton.jit
def wait_for_all(arrived_ptr, count):
    """Return when `count` programs have called this: each may load what the others stored before.

    arrived_ptr: one of `arrival_counters`. Assumes a cooperative launch.
    """
    tl.debug_barrier()  # one thread counts for all: they have stored by then
    # acq_rel, the default: what this program stored is seen by whoever sees the new count
    arrived = tl.atomic_add(arrived_ptr, 1) + 1
    goal = (arrived + count - 1) // count * count
    while arrived < goal:
        arrived = tl.atomic_add(arrived_ptr, 0, sem="acquire")


def _wait_in_turn(arrived_ptr: Any, count: Any) -> None:
    """`wait_for_all` in the interpreter: programs that have not begun run now."""
    launch = Launch.running()
    count = _number(count)
    tl.debug_barrier()
    arrived = _number(tl.atomic_add(arrived_ptr, 1)) + 1
    goal = -(-arrived // count) * count
    while arrived < goal:
        if not launch.run_another():
            raise RuntimeError(
                f"A program waits for {goal - arrived} more to arrive, and all have begun: it "
                "would wait for ever. `count` is how many programs call this with their counter. "
                "(Without a GPU a program can wait once, no more.)"
            )
        arrived = _number(tl.atomic_add(arrived_ptr, 0))


def _number(value: Any) -> int:
    """An interpreter's scalar, or a number, as Python's int."""
    return int(value.handle.data.item()) if hasattr(value, "handle") else int(value)


if INTERPRET:

    @triton.jit
    def wait_for_all(arrived_ptr, count):  # noqa: F811
        """As above, where programs run one after the other."""
        _wait_in_turn(arrived_ptr, count)


__all__ = ["arrival_counters", "can_launch_cooperatively", "wait_for_all"]
