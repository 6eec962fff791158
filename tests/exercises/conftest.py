"""Processes that a whole session shares: each one of its own would import torch again."""

import contextlib

import pytest
from jupyter_client.manager import KernelManager

from tritonbook.build import matrix
from tritonbook.device import INTERPRET


@pytest.fixture(scope="session")
def worker():
    """What runs the kill matrices."""
    with pytest.MonkeyPatch.context() as patch, contextlib.closing(matrix.Worker()) as shared:
        if INTERPRET:  # a mutant that spins for ever need not do so for 20 s
            patch.setenv("TRITONBOOK_CALL_SECONDS", "3")
        yield shared


@pytest.fixture(scope="session")
def kernel():
    """A running Jupyter kernel. Whoever uses it clears its names first."""
    manager = KernelManager(kernel_name="python3")
    manager.client_class = "jupyter_client.asynchronous.AsyncKernelClient"  # what nbclient talks to
    manager.start_kernel()
    yield manager
    manager.shutdown_kernel(now=True)
