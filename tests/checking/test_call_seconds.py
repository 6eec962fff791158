"""The limit of a call that whoever grades can lower from outside."""

import time

from tritonbook.checking import case, run


def spins(n):
    while True:
        n += 1


def test_the_environment_lowers_the_limit_of_a_call(monkeypatch):
    """Kills: a limit that is read and not used, so that each endless loop costs 20 s."""
    monkeypatch.setenv("TRITONBOOK_CALL_SECONDS", "0.3")
    began = time.monotonic()
    found = run(spins, lambda n: n, [case("one", n=1)], triton=False)
    assert found.finding.code == "timeout" and time.monotonic() - began < 10
