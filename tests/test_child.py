"""A process of its own: what it answers, and what becomes of one that does not."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tritonbook.child import Child, Ended, TooSlow


def work(what, seconds=0):
    print("not an answer")
    os.write(1, b"nor is this\n")
    if what == "end":
        os._exit(3)
    if what.startswith("start"):
        started = subprocess.Popen(["sleep", "600"])
        Path(os.environ["MARK"]).write_text(f"{started.pid}")
        if what == "start and end":
            os._exit(3)
    time.sleep(seconds)
    return [what, os.getpid(), os.environ.get("MARK"), sys.stdin.read()]


# Without torch, which each process would import.
ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(sys.path), "TRITONBOOK_LATER": "1"}


def child(**how):
    return Child(f"{__name__}:work", **ENVIRONMENT, **how)


def test_a_copy_knows_what_was_there_and_prints_once(tmp_path):
    """Kills: what waits in a buffer, printed by both; a change there that is seen here."""
    text = f"""
import {__name__} as here
print("once", end=" ")
here.left = []
here.grow = lambda: here.left.append(1) or print("there") or len(here.left)
with here.Child("{__name__}:grow", copy=True, output=1) as other:
    print(other.ask(), other.ask(), here.left)
"""
    done = subprocess.run(
        [sys.executable, "-c", text],
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "once there\nthere\n1 2 []\n", done.stderr


def test_one_process_answers_again_and_again_until_it_takes_too_long(capfd):
    """Kills: prints that pass for answers; our own process; an `input()` that waits for ever."""
    with child(MARK="m") as other:
        first, second = other.ask("one"), other.ask("two")
        assert first[0] == "one" and first[1] != os.getpid()
        assert second == ["two", first[1], "m", ""]
        assert capfd.readouterr().err.count("nor is this") == 2
        with pytest.raises(TooSlow, match="stopped after 0.1 s"):
            other.ask("slow", 60, seconds=0.1)


@pytest.fixture(params=[False, True], ids=["another program", "a copy"])
def copy(request):
    return request.param


def test_one_that_ends_gives_no_answer(copy):
    with (
        child(copy=copy) as other,
        pytest.raises(Ended, match="its process ended with exit code 3"),
    ):
        other.ask("end")


def ends(mark):
    """Wait until the process that left its number there has ended."""
    number, last = int(mark.read_text()), time.monotonic() + 20
    while (stat := Path(f"/proc/{number}/stat")).exists() and " Z " not in stat.read_text():
        assert time.monotonic() < last, "it goes on"
        time.sleep(0.05)


@pytest.mark.parametrize("what", ["start", "start and end"])
def test_what_it_started_ends_with_it(what, copy, tmp_path):
    """Kills: ptxas that goes on for minutes after the compile was cut off, or had crashed."""
    with child(copy=copy, MARK=str(tmp_path / "mark")) as other, pytest.raises(Ended):
        other.ask(what, 600, seconds=20.0 if what == "start and end" else 2.0)
    ends(tmp_path / "mark")


def test_all_of_it_ends_with_its_parent(copy, tmp_path):
    """Kills: a notebook's kernel that was killed, and helpers that work on for nobody."""
    mark = tmp_path / "mark"
    text = f"from {__name__} import child\nchild(copy={copy}, MARK={str(mark)!r}).ask('start', 600)"
    with subprocess.Popen([sys.executable, "-c", text], env=os.environ | ENVIRONMENT) as one:
        while not (mark.exists() and mark.read_text()):
            time.sleep(0.05)
        one.send_signal(signal.SIGKILL)
    ends(mark)
