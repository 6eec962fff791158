"""The limit of a call that whoever grades can lower from outside."""

import time

import pytest

from tritonbook import case, check
from tritonbook.checking import CheckFailed


def spins(n):
    while True:
        n += 1


def test_the_environment_lowers_the_limit_of_a_call(monkeypatch):
    """Kills: a limit that is read and not used, so that each endless loop costs 20 s."""
    monkeypatch.setenv("TRITONBOOK_CALL_SECONDS", "0.3")
    began = time.monotonic()
    with pytest.raises(CheckFailed) as failed:
        check(spins, lambda n: n, [case("one", n=1)], key="spins", triton=False)
    assert failed.value.report.finding.code == "timeout" and time.monotonic() - began < 10
