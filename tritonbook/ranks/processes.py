"""A process for each rank, all of them ended when one fails, dies or takes too long."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import torch

from ..child import Child, Ended, TooSlow
from ..export.writer import export
from ..home import triton_cache
from ..limits import last_lines
from ..simulating.machine import Fault
from ..words import say

SECONDS = 120.0  # a call, with what it compiles
# NVLink multicast stays off: a program that uses it and ends badly can take the host's GPUs along.
QUIET = {
    "NCCL_NVLS_ENABLE": "0",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    "NVSHMEM_DISABLE_NVLS": "1",
}


class RankFailed(RuntimeError):
    """A rank raised an error, died or took too long: which one, and why."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {say(str(self))}"]


class Processes:
    """One process for each rank, kept from call to call. count: of ranks, and of GPUs.

    function: what answers there. seconds: a call may take.
    """

    def __init__(
        self,
        count: int,
        function: str = "tritonbook.ranks.process:answer",
        seconds: float = SECONDS,
        **environment: str,
    ):
        self.count, self.function, self.seconds = count, function, seconds
        self._more = environment
        self._children: list[Child] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._log: Any = None
        self._closing = threading.Lock()

    def call(self, fn: Callable[..., Any], arguments: Sequence[torch.Tensor]) -> list[Any]:
        """What `fn(rank, ...)` returns on each rank, on the device of the arguments."""
        home = arguments[0].device if arguments else torch.device("cpu")
        folder = self._start()
        for number in range(self.count):
            own = [argument[number].detach().cpu().clone() for argument in arguments]
            torch.save(own, folder / f"in_{number}.pt")
        self.ask({"job": "call", **written(fn)})
        return [
            torch.load(folder / f"out_{number}.pt", map_location=home)
            for number in range(self.count)
        ]

    def ask(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """The answers of all ranks to one request. Raises RankFailed, and Fault."""
        self._start()
        with ThreadPoolExecutor(self.count) as pool:
            asked = {
                pool.submit(child.ask, request, seconds=self.seconds): number
                for number, child in enumerate(self._children)
            }
            answers: dict[int, dict[str, Any]] = {}
            try:
                for done in as_completed(asked):
                    number = asked[done]
                    answers[number] = self._answer(number, done.result)
            except BaseException:
                self.close()  # the others wait for it
                raise
        return [answers[number] for number in range(self.count)]

    def _answer(self, number: int, result: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        try:
            found = result()
        except TooSlow:
            raise RankFailed(
                f"rank {number} gave no answer in {self.seconds:g} s. Does it wait for a flag that "
                "nobody raises? All ranks were stopped"
            ) from None
        except Ended as reason:
            raise RankFailed(
                f"rank {number}: {reason}{self._said()}. The other ranks were stopped"
            ) from None
        if "fault" in found:
            raise Fault(*found["fault"])
        if "error" in found:
            raise RankFailed(f"rank {number}: {found['error']}. The other ranks were stopped")
        return found

    def _start(self) -> Path:
        """Start the processes, where there are none. Returns the folder that they share."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tritonbook-ranks-")
            self._log = tempfile.TemporaryFile()  # noqa: SIM115  (closed in close)
        folder = Path(self._folder.name)
        if not self._children:
            root = str(Path(__file__).resolve().parents[2])
            paths = dict.fromkeys([root, *(place for place in sys.path if place)])
            environment = {
                "PYTHONPATH": os.pathsep.join(paths),
                "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
                "TRITONBOOK_RANKS": str(folder),
                "TRITONBOOK_RANK_COUNT": str(self.count),
                **QUIET,
                **triton_cache(),
                **self._more,
            }
            self._children = [
                Child(
                    self.function,
                    output=self._log,
                    folder=folder,
                    TRITONBOOK_RANK=str(number),
                    **environment,
                )
                for number in range(self.number_of_processes)
            ]
        return folder

    @property
    def number_of_processes(self) -> int:
        return self.count

    def _said(self) -> str:
        """The last line that a process has printed."""
        if self._log is None:
            return ""
        self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - 4000))
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f" ({lines[-1]})" if lines else ""

    def close(self) -> None:
        """End all processes. Nothing of theirs is left."""
        with self._closing:
            children, self._children = self._children, []
            folder, self._folder = self._folder, None
        for child in children:
            child.close()
        if folder is not None:
            self._log.close()
            folder.cleanup()


class Simulated(Processes):
    """One process in which all ranks are simulated, on a machine without so many GPUs."""

    def __init__(self, count: int):
        super().__init__(
            count,
            "tritonbook.ranks.process:simulate",
            TRITON_INTERPRET="1",
            CUDA_VISIBLE_DEVICES="",
        )

    @property
    def number_of_processes(self) -> int:
        return 1

    def ask(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        self._start()
        try:
            child = self._children[0]
            return [self._answer(0, lambda: child.ask(request, seconds=self.seconds))]
        except BaseException:
            self.close()
            raise


def written(fn: Callable[..., Any]) -> dict[str, str]:
    """A function as text, for other processes. Raises ExportError."""
    made = export(fn)
    return {"text": made.text, "entry": made.entry}


def said_of(error: BaseException) -> str:
    """An error and its line, in one sentence."""
    where = last_lines(error)
    return f"{type(error).__name__}: {error}" + (f" ({where.splitlines()[-1]})" if where else "")
