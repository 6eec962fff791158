"""Processes that a whole session shares: each one of its own would import torch again."""

import contextlib

import pytest
from jupyter_client.manager import KernelManager

from tritonbook.build import matrix
from tritonbook.course.exercises import load
from tritonbook.port.device import INTERPRET


class _Unhurried(matrix.CheckProcess):
    """Whom a time limit stopped by surprise is asked once more, under its page's own limit: most
    likely the machine was busy. What spins is stopped after 5 s of work, however busy it is."""

    def ask(self, attempt: matrix.Attempt, *how, **more) -> matrix.Answer:
        answer = super().ask(attempt, *how, **more)
        if answer.code == "timeout" and "timeout" not in attempt.expected:
            with contextlib.closing(matrix.CheckProcess()) as patient:
                return patient.ask(attempt, *how, **more)
        return answer


@pytest.fixture(scope="module")
def page(request):
    """The solved page that a file of tests names as PAGE."""
    return load(request.module.PAGE)


@pytest.fixture(scope="session")
def worker():
    """What runs the kill matrices."""
    # Said to this process alone: a grader's tests run in the same session.
    with contextlib.closing(_Unhurried(call_seconds=20 if INTERPRET else None)) as shared:
        yield shared


@pytest.fixture(scope="session")
def kernel():
    """A running Jupyter kernel. Whoever uses it clears its names first."""
    manager = KernelManager(kernel_name="python3")
    manager.client_class = "jupyter_client.asynchronous.AsyncKernelClient"  # what nbclient talks to
    manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)
