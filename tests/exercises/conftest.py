"""Processes that a whole session shares: each one of its own would import torch again."""

import contextlib

import pytest
from jupyter_client.manager import KernelManager

from tritonbook.build import matrix
from tritonbook.port.device import INTERPRET


@pytest.fixture(scope="session")
def worker():
    """What runs the kill matrices."""
    # A mutant that waits for ever need not do so for 20 s; one that spins is stopped after 5 s of
    # work. Said to this process alone: a grader's tests run in the same session.
    with contextlib.closing(matrix.CheckProcess(call_seconds=10 if INTERPRET else None)) as shared:
        yield shared


@pytest.fixture(scope="session")
def kernel():
    """A running Jupyter kernel. Whoever uses it clears its names first."""
    manager = KernelManager(kernel_name="python3")
    manager.client_class = "jupyter_client.asynchronous.AsyncKernelClient"  # what nbclient talks to
    manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)
