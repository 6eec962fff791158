"""Processes that several threads begin and end at once."""

import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import popen_forkserver

from grading import solutions

from autograde.judge import execute
from autograde.judge.execute import Executor, Setting


def test_no_two_threads_poll_the_same_process(monkeypatch):
    """Kills: `start` in one thread, which polls every process, while another ends and closes one of
    them: the first then waits on a closed descriptor's heir, and the class with it, for ever."""
    polled, twice = set(), []
    poll = popen_forkserver.Popen.poll

    def slow_poll(self, *flags):
        if id(self) in polled:
            twice.append(self.pid)
        polled.add(id(self))
        time.sleep(0.002)
        try:
            return poll(self, *flags)
        finally:
            polled.discard(id(self))

    monkeypatch.setattr(popen_forkserver.Popen, "poll", slow_poll)
    executor = Executor(Setting())

    def begin_and_end(_):
        process = executor._fork(time.sleep, (0.01,))
        execute._exit_status(process, 0.02)
        execute._stop(process)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(begin_and_end, range(40)))
    assert not twice


def _what_is_loaded():
    """In a forked process: 0 where torch and all that a role needs is there, and no page is."""
    pages = [name for name in sys.modules if name.startswith(("_workbook_", "_tritonbook_ex"))]
    needed = {"torch", "autograde.walls.candidate", "autograde.walls.engine"}
    sys.exit(len(pages) + 100 * len(needed - set(sys.modules)))


def test_what_all_are_forked_from_is_warm_and_knows_no_page():
    """Kills: an import for each process; a candidate that finds hidden cases in its own memory."""
    executor = Executor(Setting())
    process = executor._fork(_what_is_loaded, ())
    assert execute._exit_status(process, 60) == 0
    execute._stop(process)


def test_a_gradient_is_taken_where_none_was_foreseen(grader):
    """Kills: a cell that fails because what torch loads late cannot be loaded behind the walls."""
    lines = "import sys, torch\nassert 'sympy' not in sys.modules\n"
    lines += "x = torch.ones(2, requires_grad=True)\ntorch.autograd.grad(x * 2, x, torch.ones(2))\n"
    verdict = grader.grade("double", double=lines + solutions(grader.exercise)["double"])
    assert verdict.status == "PASS", verdict


def test_a_process_that_ended_keeps_its_status():
    """Kills: a status that another thread's poll took, and 255 instead."""
    executor = Executor(Setting())
    ended = executor._fork(exit, (7,))
    assert execute._exit_status(ended, 10) == 7
    later = executor._fork(time.sleep, (60,))  # polls `ended` again
    assert execute._exit_status(ended, 0) == 7
    assert execute._exit_status(later, 0.01) is None
    for process in (ended, later):
        execute._stop(process)


def test_what_a_leader_leaves_behind_is_stopped():
    """Kills: a container that outlives its verdict, because its first process was killed alone."""
    ours, theirs = socket.socketpair()
    program = ["sh", "-c", "exec 3<&0; sleep 600 & exit 7"]  # `sleep` keeps the other end open
    process = Executor(Setting())._fork(execute._become, (theirs, program, {}))
    theirs.close()
    assert execute._exit_status(process, 10) == 7
    execute._stop(process)
    ours.settimeout(10)
    assert ours.recv(1) == b""
