"""Run one item: a candidate and an engine behind walls, a checker beside them, and a verdict or
the reason for none."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import multiprocessing
import multiprocessing.connection
import multiprocessing.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tritonbook.port import device
from tritonbook.timing import clock

from ..walls import candidate, engine, sandbox
from ..walls.wire import Line, PeerGone, PeerSlow, WireError
from . import checker
from .compiler import Busy, shared
from .course import Course
from .lending import Lending, lending
from .turns import Turns, this_gpu
from .work import GradedCheck, ItemId, Submission, Verdict

# Loaded once in the process that all others are forked from. None of it touches a GPU.
PRELOAD = [
    *("torch", "triton", "triton.language", "numpy"),
    *("autograde.judge.execute", "autograde.judge.warm"),
]
MAX_SOCKET_PATH = 107  # bytes of a Unix socket's address
GPU_WAIT_SECONDS = 1800.0  # for others to leave the GPU; does not count as the exercise's time
# For everything that polls a process. `start` polls all that were begun here: where another thread
# ends and closes one meanwhile, it reads from a closed descriptor, or for ever from its heir.
_processes = threading.Lock()
_OUT_OF_MEMORY = ("MemoryError", "can't allocate memory", "CUDA out of memory", "bad_alloc")


@dataclass
class Setting:
    """How items are run on this machine."""

    level: str = "plain"
    limits: sandbox.Limits = sandbox.Limits()
    image: Path | None = None


class Executor:
    """Runs items one after another; several executors may run side by side in threads."""

    def __init__(self, setting: Setting):
        self.setting = setting
        # torch.cuda.is_available() must not open the driver in the process that forks.
        os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        _short_socket_path()
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(PRELOAD)
        self.judges: set[BaseProcess] = set()
        self.compiler = shared()

    def run(
        self, course: Course, submission: Submission, exercise: GradedCheck, attempt: int = 1
    ) -> Verdict:
        """Grade one exercise of one submission. Never raises for what the student's code does."""
        started = time.monotonic()
        answer = exercise.check.replace("check-", "answer-", 1)
        if answer in submission.missing:
            sentence = "The answer's cell was not handed in."
            found: dict[str, Any] = {"status": "MISSING", "code": "missing", "sentence": sentence}
        else:
            found = self._run(course, submission, exercise)
            if found["code"] == checker.COURSE_CELL:
                found = self._whose_fault(found, course, submission, exercise)
        return _verdict(
            found,
            course,
            submission,
            exercise,
            attempt,
            self.setting.level,
            time.monotonic() - started,
        )

    def _run(self, course: Course, submission: Submission, exercise: GradedCheck) -> dict[str, Any]:
        try:
            lent = lending(course, exercise.check)
        except (OSError, ValueError) as problem:
            return _infra(f"What the course lends to this notebook cannot be read: {problem}")
        folder = Path(tempfile.mkdtemp(prefix="workbook-"))
        os.chmod(folder, 0o755)
        ends = [end for _ in range(3) for end in socket.socketpair()]
        for_candidate, to_candidate, for_engine, to_engine, verdict_out, verdict_in = ends
        limits = self.setting.limits
        processes: list[BaseProcess | subprocess.Popen] = []
        try:
            processes.append(self._start(candidate, for_candidate, folder / "candidate"))
            if device.INTERPRET:  # on a GPU the checker runs kernels itself
                processes.append(self._start(engine, for_engine, folder / "engine"))
            lines = (to_candidate, to_engine if device.INTERPRET else None, verdict_out)
            judge = self._fork(_check, (*lines, course, submission, exercise, lent, limits))
            self.judges.add(judge)
            runners = list(processes)
            processes.append(judge)
            for end in ends[:-1]:
                end.close()
            return self._await(Line(verdict_in), runners, judge)
        except (OSError, EOFError) as error:  # EOFError: the process that forks was killed
            problem = f"{type(error).__name__}: {error}"
            return _infra(f"The grader could not start its processes: {problem}")
        finally:
            for end in ends:
                end.close()
            self.judges -= set(processes)
            for process in processes:
                _stop(process)
            shutil.rmtree(folder, ignore_errors=True)

    def _whose_fault(
        self,
        found: dict[str, Any],
        course: Course,
        submission: Submission,
        exercise: GradedCheck,
    ) -> dict[str, Any]:
        """A cell of the course's own failed. Does it with the course's own answers too?"""
        solved = {cell.name: cell.source for cell in course.answers()}
        above = [cell for cell in submission.cells[: exercise.before] if cell.role != "extra"]
        cells = [
            cell.model_copy(update={"source": solved.get(cell.name, cell.source)}) for cell in above
        ]
        own = submission.model_copy(update={"cells": tuple(cells)})
        again = self._run(course, own, exercise.model_copy(update={"before": len(cells)}))
        if again["status"] != "PASS":
            return found
        sentence = f"{found['sentence']}. Without your cells it runs: see what those above it do."
        return {"status": "FAIL", "code": "raised", "sentence": sentence}

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

    def _start(
        self, module: types.ModuleType, end: socket.socket, folder: Path
    ) -> BaseProcess | subprocess.Popen:
        """A process behind walls that serves `end` as the module's `main` does."""
        level, limits = self.setting.level, self.setting.limits
        folder.mkdir(mode=0o755)
        if level in ("namespaces", "plain"):
            arguments = (end, level, folder, limits, module.main)
            return self._fork(candidate.start_forked, arguments)
        program = ["-m", module.__name__, json.dumps(dataclasses.asdict(limits))]
        if level == "apptainer":
            if self.setting.image is None:
                raise OSError("the level apptainer needs an image")
            waits = 0.0 if device.INTERPRET else 2 * GPU_WAIT_SECONDS
            command = sandbox.container_command(self.setting.image, limits.wall_seconds + waits)
            command += ["python3"]
        else:
            command = [*sandbox.bubblewrap_command(), sys.executable]
        return subprocess.Popen(
            [*command, *program],
            stdin=end.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=sandbox.environment() | {"PATH": os.environ.get("PATH", "/usr/bin:/bin")},
        )

    def _await(
        self, line: Line, runners: list[BaseProcess | subprocess.Popen], judge: BaseProcess
    ) -> dict[str, Any]:
        """The checker's outcome; where there is none, what that means."""
        seconds = self.setting.limits.wall_seconds
        deadline = time.monotonic() + seconds
        try:
            found = line.receive(seconds).body
            while "compile" in found or "gpu" in found:
                # What others are waited for costs an exercise none of its time.
                began = time.monotonic()
                if "compile" in found:
                    answer = self.compiler.ask(
                        found["compile"], lambda: _exit_status(judge, 0) is None
                    )
                    line.send(answer, (), 60)
                elif found["gpu"] == "waits":
                    try:
                        line.receive(GPU_WAIT_SECONDS)
                    except PeerSlow:
                        return _infra(f"The GPU was not free for {GPU_WAIT_SECONDS:g} s.")
                deadline += time.monotonic() - began
                found = line.receive(max(0.1, deadline - time.monotonic())).body
        except PeerSlow:
            return {
                "status": "TIMEOUT",
                "code": "timeout",
                "sentence": f"Not done within {seconds:g} s, all cases together.",
            }
        except Busy as problem:
            return _infra(str(problem))
        except (PeerGone, WireError):
            return _infra(f"The checker's process ended with status {_exit_status(judge, 5)}.")
        if found.get("status") == "CRASH" and any(map(_killed_for_memory, runners)):
            found |= {"status": "OOM", "code": "out-of-memory"}
            found["sentence"] = "The process was ended because it used too much memory."
        elif found.get("status") != "INFRA" and _names_memory(str(found.get("sentence"))):
            found |= {"status": "OOM", "code": "out-of-memory"}
        return found

    def close(self) -> None:
        """End what still runs in other threads: it comes to INFRA."""
        for judge in list(self.judges):
            with _processes, contextlib.suppress(ValueError):  # it ended by itself just now
                judge.kill()


def _short_socket_path() -> None:
    """Have `multiprocessing` keep its sockets where their path fits into 107 bytes.

    It puts them below TMPDIR, which on clusters is often a long path, and the forkserver then
    cannot start. Its folder is chosen once a process, on first use.
    """
    name = "/pymp-12345678/listener-12345678"
    folder = tempfile.gettempdir()
    if len(os.fsencode(folder + name)) <= MAX_SOCKET_PATH:
        return
    before = tempfile.tempdir
    for short in ("/tmp", "/var/tmp", "/dev/shm"):
        if os.access(short, os.W_OK | os.X_OK):
            tempfile.tempdir = short
            break
    try:
        multiprocessing.util.get_temp_dir()
    finally:
        tempfile.tempdir = before


def _check(
    line_end: socket.socket,
    engine_end: socket.socket | None,
    verdict_end: socket.socket,
    course: Course,
    submission: Submission,
    exercise: GradedCheck,
    lent: Lending,
    limits: sandbox.Limits,
) -> None:
    """The checker's process: grade, send the outcome, end."""
    sandbox.die_with_parent()  # a driver that was killed leaves none behind
    ends = [line_end, verdict_end, *([engine_end] if engine_end else [])]
    sandbox.close_other_files([end.fileno() for end in ends])
    if device.INTERPRET:  # a submission's allocations are carried out here
        sandbox.limit_memory(2 * limits.memory)
    verdict = Line(verdict_end)
    try:

        def compiler(request: dict[str, Any]) -> dict[str, Any]:
            verdict.send({"compile": request})
            return verdict.receive().body  # the driver bounds the wait, and ends this process

        if not device.INTERPRET:
            _take_turns(Turns(this_gpu()), verdict)
        engine_line = Line(engine_end) if engine_end else None
        what = (course, submission, exercise, lent, limits.call_seconds, compiler)
        outcome = checker.run_check(Line(line_end), engine_line, *what)
        verdict.send(
            {
                "status": outcome.status,
                "code": outcome.code,
                "sentence": outcome.sentence,
                "reports": outcome.reports,
            }
        )
    except BaseException:  # noqa: BLE001  (whatever it was, the driver hears of it and retries)
        verdict.send(_infra(traceback.format_exc()[-3000:]))


def _take_turns(turns: Turns, verdict: Line) -> None:
    """Share the GPU from now on, and have it alone from the first figure on until the end.

    The driver hears of each wait, so that it costs the exercise none of its time.
    """

    def wait(for_what: Callable[[], None]) -> None:
        verdict.send({"gpu": "waits"})
        for_what()
        verdict.send({"gpu": "works"})

    def alone() -> None:
        if not turns.is_alone:
            wait(turns.alone)

    wait(turns.share)
    clock.wait_before_timing(alone)


def not_run(
    course: Course, submission: Submission, exercise: GradedCheck, attempt: int, sentence: str
) -> Verdict:
    """The verdict on an item that could not be run: INFRA, with the reason."""
    return _verdict(_infra(sentence), course, submission, exercise, attempt, "none", 0.0)


def _infra(sentence: str) -> dict[str, Any]:
    return {"status": "INFRA", "code": "infra", "sentence": sentence}


def _names_memory(sentence: str) -> bool:
    return any(word in sentence for word in _OUT_OF_MEMORY)


def _killed_for_memory(process: BaseProcess | subprocess.Popen) -> bool:
    """Whether a process that ended was killed from outside: the kernel does that for memory."""
    if isinstance(process, subprocess.Popen):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2)
        return process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    return _exit_status(process, 2) in (-signal.SIGKILL, 128 + signal.SIGKILL)


def _exit_status(process: BaseProcess, seconds: float) -> int | None:
    """None while it runs; waits so long for its end."""
    multiprocessing.connection.wait([process.sentinel], seconds)
    with _processes:
        return process.exitcode


def _stop(process: BaseProcess | subprocess.Popen) -> None:
    """Kill a process and its session; the walls take the rest of its tree along."""
    if process.pid is None:
        return
    if isinstance(process, subprocess.Popen):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return
    with _processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if process.is_alive() and os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    while _exit_status(process, 1) is None:
        pass
    with _processes:
        process.close()


def _verdict(
    found: dict[str, Any],
    course: Course,
    submission: Submission,
    exercise: GradedCheck,
    attempt: int,
    level: str,
    seconds: float,
) -> Verdict:
    # What a student wrote may hold halves of characters, which no file can hold.
    found = json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
    status = found["status"]
    points = None if status == "INFRA" else exercise.points if status == "PASS" else 0.0
    return Verdict(
        item=ItemId(
            student=submission.student,
            assignment=submission.assignment,
            notebook=submission.notebook,
            key=exercise.key,
        ),
        digest=submission.digest,
        course=course.digest,
        attempt=attempt,
        status=status,
        points=points,
        maximum=exercise.points,
        code=str(found["code"])[:80],
        sentence=str(found["sentence"])[:4000],
        sandbox=level,
        seconds=round(seconds, 3),
        reports=tuple(found.get("reports", ())),
    )
