"""One process for all kill matrices of a session: each of its own would import torch again."""

import contextlib

import pytest

from tritonbook.build import matrix
from tritonbook.device import INTERPRET


@pytest.fixture(scope="session")
def worker():
    with pytest.MonkeyPatch.context() as patch, contextlib.closing(matrix.Worker()) as shared:
        if INTERPRET:  # a mutant that spins for ever need not do so for 20 s
            patch.setenv("TRITONBOOK_CALL_SECONDS", "8")
        yield shared
