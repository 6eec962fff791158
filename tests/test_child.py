"""A process of its own: what it answers, and what becomes of one that does not."""

import os
import sys
import time

import pytest

from tritonbook.child import Child, Ended


def work(what, seconds=0):
    print("not an answer")
    os.write(1, b"nor is this\n")
    if what == "end":
        os._exit(3)
    time.sleep(seconds)
    return [what, os.getpid(), os.environ.get("MARK"), sys.stdin.read()]


def child(**how):
    return Child(f"{__name__}:work", PYTHONPATH=os.pathsep.join(sys.path), **how)


def test_one_process_answers_again_and_again(capfd):
    """Kills: prints that pass for answers; our own process; an `input()` that waits for ever."""
    with child(MARK="m") as other:
        first, second = other.ask("one"), other.ask("two")
    assert first[0] == "one" and second == ["two", first[1], "m", ""] and first[1] != os.getpid()
    assert capfd.readouterr().err.count("nor is this") == 2


def test_one_that_ends_or_takes_too_long_gives_no_answer():
    with child() as other, pytest.raises(Ended, match="its process ended with exit code 3"):
        other.ask("end")
    with child() as other, pytest.raises(Ended, match="stopped after 0.1 s"):
        other.ask("slow", 60, seconds=0.1)
