"""What is stopped, by the clock or by hand, says so in one line and leaves nothing behind."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

import tritonbook
from tests.port.test_plain_words import double_with
from tests.port.triton_mistakes import GOOD
from tritonbook.checking import Check, card, case, run_check, tensor
from tritonbook.checking.asks import launches
from tritonbook.limits import CheckTimeout, interruptible, last_lines, not_counted, time_limit
from tritonbook.seeing import tiles

import triton.language as tl  # isort: skip

interpreted = pytest.mark.skipif(
    not tritonbook.INTERPRET, reason="a GPU's kernel cannot be stopped"
)
CHECK = Check(lambda x: 2 * x, [case(n, x=tensor(70)) for n in ("one", "two")], asks=[launches(1)])
ENDLESS = f"while n > 0:\n    pid += 0\n{GOOD}"
PRINTS = f"print('offs', offs)\n{GOOD}"


def state():
    """What calls of an answer patch while they run."""
    from triton.runtime.interpreter import GridExecutor, InterpreterBuilder

    owners = (tl, tl.core, tl.math, tl.tensor, GridExecutor, InterpreterBuilder, torch.Tensor)
    handlers = [signal.getsignal(each) for each in (signal.SIGALRM, signal.SIGPROF)]
    return [dict(vars(each)) for each in owners], handlers, sys.stdout, sys.stderr


@interpreted
def test_a_picture_that_never_ends_is_stopped_as_a_check_is(monkeypatch):
    """Kills: `show_tiles` of an endless loop, which nothing but a restart stopped."""
    tritonbook.show_tiles(double_with(GOOD), torch.ones(70))  # what is made at the first call stays
    monkeypatch.setattr(tiles, "WORK", 0.5)
    before = state()
    with pytest.raises(tiles.CannotShow) as stopped:
        tritonbook.show_tiles(double_with(ENDLESS), torch.ones(70))
    said = str(stopped.value)
    assert said.startswith("Stopped after 0.5 s. It was at `") and "Does every loop end" in said
    assert state() == before


def test_the_place_is_a_line_that_somebody_wrote():
    """Kills: "It was at ``.", in a function that Python made, as those of a dataclass."""
    made: dict = {}
    exec("def init(): 1 / 0", made)
    with pytest.raises(ZeroDivisionError) as raised:
        made["init"]()
    assert last_lines(raised.value).endswith('made["init"]()')


@interpreted
@pytest.mark.parametrize("call", ["run", "show_tiles"])
def test_an_interrupt_is_one_line_and_leaves_nothing_patched(call, capsys):
    """Kills: thousands of characters of library frames; a meter that goes on after it."""
    calls = {
        "run": lambda fn: run_check(fn, CHECK, "double"),
        "show_tiles": lambda fn: tritonbook.show_tiles(fn, torch.ones(70)),
    }
    calls["run"](double_with(GOOD))  # what is made at the first call stays
    before, shell = state(), InteractiveShell.instance()

    def go():
        threading.Timer(0.5, _thread.interrupt_main).start()
        with interruptible():
            calls[call](double_with(ENDLESS))

    shell.user_ns["go"] = go
    try:
        shell.run_cell("go()")
    finally:
        InteractiveShell.clear_instance()
    told = capsys.readouterr().out
    assert told.strip() == "Interrupted. What had been found by then is not kept."
    assert state() == before


@interpreted
def test_what_is_printed_is_kept_once(capsys):
    """Kills: 40,000 characters from all cases above the card."""
    report = run_check(double_with(PRINTS), CHECK, "double")
    assert capsys.readouterr().out == ""
    assert report.printed.count("offs") == 2  # programs of one call
    shown = card.as_html(report)
    assert "offs" in shown.partition("Printed in the first call")[2]
    assert "offs" not in shown.partition("<details")[0]
    assert "printed in the first call:" in card.as_text(report)


def test_a_compilers_time_is_not_the_answers():
    """Kills: "Stopped after 20 s. It was at `os.waitpid`", of an answer whose compiler waited."""
    with time_limit(0.3), not_counted():
        time.sleep(0.6)
    with pytest.raises(CheckTimeout), time_limit(0.3):
        with not_counted():
            time.sleep(0.4)
        time.sleep(5)
