"""Run one item: a candidate and an engine behind walls, a checker beside them, and a verdict or
the reason for none.

They are forked from one process, which has torch loaded (`template.py`); this one has not.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import json
import multiprocessing
import multiprocessing.connection
import multiprocessing.util
import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil

from tritonbook.command import sentence
from tritonbook.words import later

from ..walls import confine, sandbox, visible
from ..walls.wire import Line, PeerGone, PeerSlow, WireError
from .compiler import Busy, Compiler, place
from .watch import Queue, Watch, memory_kills
from .work import COURSE_CELL, Item, Outcome, Verdict, infra

MAX_SOCKET_PATH = 107  # bytes of a Unix socket's address
LOAD_SECONDS = 300.0  # for torch and Triton, on a disk that others use
GPU_WAIT_SECONDS = 1800.0  # for others to leave the GPU; does not count as the exercise's time
# For everything that polls a process. `start` polls all that were begun here: where another thread
# ends and closes one meanwhile, it reads from a closed descriptor, or for ever from its heir.
_processes = threading.Lock()
_OUT_OF_MEMORY = ("MemoryError", "can't allocate memory", "CUDA out of memory", "bad_alloc")


@dataclass
class Setting:
    """How items are run on this machine."""

    level: str = "plain"
    limits: confine.Limits = confine.Limits()
    image: Path | None = None


class Executor:
    """Runs items one after another; several executors may run side by side in threads."""

    def __init__(self, setting: Setting):
        self.setting = setting
        # torch.cuda.is_available() must not open the driver in the process that forks.
        os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        # torch's profiler prints two lines for each trace; it reads this once.
        os.environ.setdefault("KINETO_LOG_LEVEL", "6")
        _short_socket_path()
        os.environ["AUTOGRADE_COMPILER"] = place()
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["autograde.judge.ahead", "autograde.judge.template"])
        self.judges: set[BaseProcess] = set()
        self.closed = False
        self.compiler = functools.partial(Compiler, kept={})  # makes one

    def run(self, item: Item) -> Verdict:
        """Grade one exercise of one submission. Never raises for what the student's code does."""
        started = time.monotonic()
        if any("autograd" in cell.source for cell in item.course.cells):
            os.environ["AUTOGRADE_GRADIENTS"] = "1"  # read when the first process is started
        answer = item.exercise.check.replace("check-", "answer-", 1)
        if answer in item.submission.missing:
            key = item.exercise.key
            sentence = later(
                f"No cell that could be read defines `{key}`: see the notes on how your hand-in "
                "was read."
            )
            found = Outcome("MISSING", "missing", sentence)
        else:
            found = self._run(item)
            if found.code == COURSE_CELL:
                found = self._whose_fault(found, item)
        return _verdict(found, item, self.setting.level, time.monotonic() - started)

    @functools.cached_property
    def _interprets(self) -> bool:
        """Whether kernels run in the interpreter here. Raises OSError where none can run."""
        process = self._fork(_tell, ())
        self.judges.add(process)
        try:
            status = _exit_status(process, LOAD_SECONDS)
        finally:
            self.judges.discard(process)
            _stop(process)
        if status not in _MODES:
            raise OSError(later("torch and Triton cannot be loaded, see `tritonbook doctor`"))
        return _MODES[status]

    def _run(self, item: Item) -> Outcome:
        folder = Path(tempfile.mkdtemp(prefix="workbook-"))
        os.chmod(folder, 0o755)
        ends = [end for _ in range(3) for end in socket.socketpair()]
        for_candidate, to_candidate, for_engine, to_engine, verdict_out, verdict_in = ends
        limits = self.setting.limits
        processes: list[BaseProcess] = []
        try:
            interprets, kills = self._interprets, memory_kills()
            processes.append(self._start("candidate", for_candidate, folder / "candidate"))
            if interprets:  # on a GPU the checker runs kernels itself
                processes.append(self._start("engine", for_engine, folder / "engine"))
            lines = (to_candidate, to_engine if interprets else None, verdict_out)
            roots = [process.pid for process in processes if process.pid is not None]
            judge = self._fork(_judge, (*lines, item, limits, roots))
            self.judges.add(judge)
            if self.closed:
                self.close()
            runners = list(processes)
            processes.append(judge)
            for end in ends[:-1]:
                end.close()
            verdict = Line(verdict_in)
            verdict.waiting = Queue([*roots, *filter(None, [judge.pid])]).seconds_now
            watching = Watch(roots, limits, gpu=not interprets)
            with watching as watch, self.compiler() as compiler:
                found = self._await(verdict, judge, compiler)
                codes = {_exit_status(each, 2) for each in runners if found.status == "CRASH"}
                killed = bool(codes & {-signal.SIGKILL, 128 + signal.SIGKILL})
                short = -signal.SIGKILL in codes and memory_kills() > kills
                return _used_up(watch, limits, found, killed, short)
        except EOFError:
            return infra(
                later(
                    "The process from which all others are started was ended: is memory short? Run "
                    "`autograde retry` with fewer --workers."
                )
            )
        except OSError as error:
            what = sentence(error).rstrip(".")
            return infra(
                later(
                    f"The grader could not start its processes ({what}): mend that, then run "
                    "`autograde retry`."
                )
            )
        finally:
            for end in ends:
                end.close()
            self.judges -= set(processes)
            for process in processes:
                _stop(process)
            shutil.rmtree(folder, ignore_errors=True)

    def _whose_fault(self, found: Outcome, item: Item) -> Outcome:
        """A cell of the course's own failed. Does it with the course's own answers too?"""
        solved = {cell.name: cell.source for cell in item.course.answers()}
        above = item.submission.cells[: item.exercise.before]
        cells = [
            cell.model_copy(update={"source": solved.get(cell.name, cell.source)})
            for cell in above
            if cell.role != "extra"
        ]
        own = item.submission.model_copy(update={"cells": tuple(cells)})
        exercise = item.exercise.model_copy(update={"before": len(cells)})
        if self._run(Item(item.course, own, exercise)).status != "PASS":
            said = later("Mend that cell in source/, then run `autograde retry`.")
            return infra(f"{found.sentence.rstrip('.')}. {said}")
        said = later("Without your cells it runs: see what those above it do.")
        return Outcome("FAIL", "raised", f"{found.sentence.rstrip('.')}. {said}")

    def _fork(self, target: Callable[..., None], arguments: tuple[Any, ...]) -> BaseProcess:
        """Start a process from the one that has everything loaded."""
        process = self.context.Process(target=target, args=arguments)
        with _processes:
            # Otherwise each process imports the driver's main module again before it starts.
            own = sys.modules["__main__"]
            sys.modules["__main__"] = types.ModuleType("__main__")
            try:
                process.start()
            finally:
                sys.modules["__main__"] = own
        return process

    def _start(self, name: str, end: socket.socket, folder: Path) -> BaseProcess:
        """A process behind walls that serves `end`: the candidate or the engine."""
        level, limits = self.setting.level, self.setting.limits
        folder.mkdir(mode=0o755)
        if level in ("namespaces", "plain"):
            return self._fork(_go_inside, (name, end, level, folder, limits))
        program = ["-m", "autograde.walls.inside", name, json.dumps(dataclasses.asdict(limits))]
        waits = 0.0 if self._interprets else 2 * GPU_WAIT_SECONDS
        seconds = limits.wall_seconds + waits
        command = sandbox.python_command(level, self.setting.image, seconds)
        environment = visible.environment() | {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}
        return self._fork(_become, (end, [*command, *program], environment))

    def _await(self, line: Line, judge: BaseProcess, compiler: Compiler) -> Outcome:
        """The checker's outcome; where there is none, what that means."""
        seconds = self.setting.limits.wall_seconds
        deadline = time.monotonic() + seconds
        try:
            found = line.receive(seconds).body
            while "compile" in found or "gpu" in found:
                # What others are waited for costs an exercise none of its time.
                began = time.monotonic()
                if "compile" in found:
                    request = found["compile"]
                    answer = compiler.ask(request, lambda: _exit_status(judge, 0) is None)
                    line.send(answer, (), 60)
                elif found["gpu"] == "waits":
                    try:
                        line.receive(GPU_WAIT_SECONDS)
                    except PeerSlow:
                        return infra(
                            later(
                                f"The GPU was not free for {GPU_WAIT_SECONDS:g} s: end what else "
                                "uses it, then run `autograde retry`."
                            )
                        )
                deadline += time.monotonic() - began
                found = line.receive(max(0.1, deadline - time.monotonic())).body
        except PeerSlow:
            sentence = later(
                f"Not done within {seconds:g} s, all cases together: is a grid or a loop larger "
                "than it has to be?"
            )
            return Outcome("TIMEOUT", "timeout", sentence)
        except Busy as problem:
            return infra(str(problem))
        except (PeerGone, WireError):
            status = _exit_status(judge, 5)
            return infra(
                later(
                    f"The process that judges was ended (status {status}): is memory short? Run "
                    "`autograde retry` with fewer --workers."
                )
            )
        outcome = Outcome(**found)
        if outcome.status != "INFRA" and any(word in outcome.sentence for word in _OUT_OF_MEMORY):
            return replace(outcome, status="OOM", code="out-of-memory")
        return outcome

    def close(self) -> None:
        """End what still runs in other threads, and what they start: it comes to INFRA."""
        self.closed = True
        for judge in list(self.judges):
            with _processes, contextlib.suppress(ValueError):  # it ended by itself just now
                judge.kill()


def _used_up(
    watch: Watch, limits: confine.Limits, found: Outcome, killed: bool, short: bool
) -> Outcome:
    """What was found, where the watch did not end the processes, nor anybody else.

    killed: whether one of them was, as the kernel does for memory. short: and it did kill for that
    meanwhile.
    """
    if found.status not in ("CRASH", "OOM"):
        return found
    if watch.found == "memory":
        most = f"{limits.memory / (1 << 30):g} GB"
        sentence = later(
            f"Your code and its kernels used more than {most} of memory together: start no "
            "processes of your own, and keep fewer tensors."
        )
        return replace(found, status="OOM", code="out-of-memory", sentence=sentence)
    if watch.found == "files":
        sentence = later(
            f"Your code made more than {confine.MOST_FILES} temporary files: make none."
        )
        return replace(found, status="CRASH", code="crashed", sentence=sentence)
    if watch.found == "time":
        sentence = later(
            f"Your code and its kernels used more than {limits.wall_seconds:g} s of the "
            "processor's time together: start no processes or threads of your own."
        )
        return replace(found, status="TIMEOUT", code="timeout", sentence=sentence)
    if short and watch.most < limits.memory / 2:
        return infra(
            later(
                "This machine ran out of memory, and Linux ended a process of this exercise, "
                f"which used {watch.most / (1 << 30):.1f} GB: run `autograde retry` with fewer "
                "--workers."
            )
        )
    if killed:
        sentence = later("Your code was ended, for it used too much memory: keep fewer tensors.")
        return replace(found, status="OOM", code="out-of-memory", sentence=sentence)
    return found


def _short_socket_path() -> None:
    """Have `multiprocessing` keep its sockets where their path fits into 107 bytes.

    It puts them below TMPDIR, which on clusters is often a long path, and the forkserver then
    cannot start. Its folder is chosen once a process, on first use.
    """
    before = tempfile.gettempdir()
    if len(os.fsencode(f"{before}/pymp-12345678/listener-12345678")) <= MAX_SOCKET_PATH:
        return
    tempfile.tempdir = "/tmp"
    try:
        multiprocessing.util.get_temp_dir()
    finally:
        tempfile.tempdir = before


def not_run(item: Item, sentence: str) -> Verdict:
    """The verdict on an item that could not be run: INFRA, with the reason."""
    return _verdict(infra(sentence), item, "none", 0.0)


# --- what a process does that was forked from the one with torch

_MODES = {10: True, 11: False}  # by exit status: does it interpret?


def _tell() -> None:
    """Say how kernels run here."""
    from tritonbook.port import device

    sys.exit(next(status for status, mode in _MODES.items() if mode == device.INTERPRET))


def _go_inside(
    name: str, end: socket.socket, level: str, root: Path, limits: confine.Limits
) -> None:
    """Be the candidate or the engine."""
    from ..walls import inside

    serve = importlib.import_module(f"autograde.walls.{name}").main
    inside.start_forked(end, level, root, limits, serve)


def _judge(*arguments: Any) -> None:
    """Be the checker."""
    from . import checker

    checker.main(*arguments)


def _become(end: socket.socket, command: list[str], environment: dict[str, str]) -> None:
    """Become a program, with `end` as its standard input."""
    os.setsid()
    os.dup2(end.fileno(), 0)
    confine.close_other_files([0])
    os.execvpe(command[0], command, environment)


def _exit_status(process: BaseProcess, seconds: float) -> int | None:
    """None while it runs; waits so long for its end."""
    multiprocessing.connection.wait([process.sentinel], seconds)
    with _processes:
        return process.exitcode


def _stop(process: BaseProcess) -> None:
    """Kill a process and its group; the walls take the rest of its tree along."""
    pid = process.pid
    assert pid is not None  # it was started
    with _processes:
        process.kill()
    while _exit_status(process, 1) is None:
        pass
    with _processes:
        process.close()
    # The number of a leader that ended is given to nobody while its group has a process.
    if not psutil.pid_exists(pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


def _verdict(found: Outcome, item: Item, level: str, seconds: float) -> Verdict:
    points = {"INFRA": None, "PASS": item.exercise.points}.get(found.status, 0.0)
    told = {
        "code": found.code[:80],
        "sentence": found.sentence[:4000],
        "reports": found.reports,
    }
    # What a student wrote may hold halves of characters, which no file can hold.
    told = json.loads(json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"))
    return Verdict(
        **dict(item.asked),
        status=found.status,
        points=points,
        sandbox=level,
        seconds=round(seconds, 3),
        **told,
    )
