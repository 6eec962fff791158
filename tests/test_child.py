"""A process of its own: what it answers, and what becomes of one that does not."""

import os
import sys
import time

import pytest

from tritonbook.child import Child, Ended, TooSlow


def work(what, seconds=0):
    print("not an answer")
    os.write(1, b"nor is this\n")
    if what == "end":
        os._exit(3)
    time.sleep(seconds)
    return [what, os.getpid(), os.environ.get("MARK"), sys.stdin.read()]


def child(**how):
    return Child(f"{__name__}:work", PYTHONPATH=os.pathsep.join(sys.path), **how)


def test_one_process_answers_again_and_again_until_it_takes_too_long(capfd):
    """Kills: prints that pass for answers; our own process; an `input()` that waits for ever."""
    with child(MARK="m") as other:
        first, second = other.ask("one"), other.ask("two")
        assert first[0] == "one" and first[1] != os.getpid()
        assert second == ["two", first[1], "m", ""]
        assert capfd.readouterr().err.count("nor is this") == 2
        with pytest.raises(TooSlow, match="stopped after 0.1 s"):
            other.ask("slow", 60, seconds=0.1)


def test_one_that_ends_gives_no_answer():
    with child() as other, pytest.raises(Ended, match="its process ended with exit code 3"):
        other.ask("end")
