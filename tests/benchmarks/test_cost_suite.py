"""The test suite's time is stored when the suite passed, and else nothing is. The suites here are
stand-ins of one line."""

import json
import signal
import subprocess
import sys
import time

import psutil
import pytest

from benchmarks import cost, cost_suite

PASSED = "import sys; print('....s', flush=True); print('4 passed, 1 skipped in 0.10s')"


def stand_in(monkeypatch, script, setup="pass", versions="print('{}')"):
    monkeypatch.setattr(cost_suite, "SETUP", (sys.executable, "-c", setup))
    monkeypatch.setattr(cost_suite, "SUITE", (sys.executable, "-c", script))
    monkeypatch.setattr(cost_suite, "PYTHON", sys.executable)
    monkeypatch.setattr(cost_suite, "_VERSIONS", versions)  # importing torch takes seconds


def test_a_passed_suite_is_stored_with_all_that_its_time_means(monkeypatch, tmp_path, capsys):
    """Kills: set-up in the suite's time; CPU seconds of this process instead of the suite's; output
    that is swallowed; a time without machine, versions or date."""
    burn = "import time; end = time.process_time() + 0.5\nwhile time.process_time() < end: pass\n"
    stand_in(
        monkeypatch,
        burn + PASSED,
        setup="import time; time.sleep(4)",
        versions=cost_suite._VERSIONS,
    )
    out = tmp_path / "suite.json"
    assert cost.main(["--suite", "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert 0.5 <= found["cpu_seconds"] <= found["seconds"] + 0.1 and found["seconds"] < 4
    assert (found["passed"], found["skipped"]) == (4, 1)
    assert found["machine"]["cpu"] and found["machine"]["cores"] >= 1
    assert found["machine"]["load_before"] >= 0
    assert {"torch", "triton", "python", "gpu"} <= set(found["versions"])
    assert found["command"].endswith(PASSED) and len(found["date"]) == 10
    said = capsys.readouterr().out
    assert "....s\n4 passed" in said and f"written to {out}" in said


@pytest.mark.parametrize("load", [1.0, 1.5])
def test_a_busy_machine_is_said(monkeypatch, tmp_path, capsys, load):
    """Kills: a suite's time beside other work that looks like others."""
    stand_in(monkeypatch, PASSED)
    place = {"cpu": "Paper CPU", "cores": 4, "load_before": load}
    monkeypatch.setattr(cost_suite, "machine", lambda: place)
    assert cost.main(["--suite", "--out", str(tmp_path / "suite.json")]) == 0
    assert ("NOT QUIET: the load was 1.5" in capsys.readouterr().out) == (load > 1)


@pytest.mark.parametrize(
    "suite, setup, says",
    [
        ("print('1 failed, 3 passed in 0.10s'); raise SystemExit(2)", "pass", "exit code 2"),
        ("print('no tests ran in 0.10s')", "pass", "of no test that it passed"),
        (PASSED, "raise SystemExit(3)", "exit code 3"),
    ],
)
def test_a_failed_suite_stores_nothing(monkeypatch, tmp_path, capsys, suite, setup, says):
    """Kills: the time of a suite that stopped early; an older file lost to a failure."""
    stand_in(monkeypatch, suite, setup)
    out = tmp_path / "suite.json"
    out.write_text("older")
    assert cost.main(["--suite", "--out", str(out)]) == 1
    said = capsys.readouterr().err
    assert says in said and said.endswith(": nothing is stored.\n") and said.count("\n") == 1
    assert out.read_text() == "older"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_suite_stores_nothing_and_leaves_nothing_running(tmp_path, sent):
    """Kills: a time of half a suite; tests that run on after Ctrl-C, `timeout` or a batch system;
    waiting for ever on a suite that ignores the interruption."""
    suite = (
        "import os, signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "print('pid', os.getpid(), flush=True); time.sleep(100)"
    )
    out = tmp_path / "suite.json"
    script = (
        # started in a shell's background, these tests and their children ignore SIGINT
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sys; from pathlib import Path; from benchmarks import cost_suite as c\n"
        f"c.SETUP = (sys.executable, '-c', ''); c.SUITE = (sys.executable, '-c', {suite!r})\n"
        f"c.PYTHON, c._VERSIONS, c.PATIENCE_S = sys.executable, 'print(0)', 1\n"
        f"sys.exit(c.main(Path({str(out)!r})))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=cost_suite.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        child = int(process.stdout.readline().split()[1])
        process.send_signal(sent)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and not out.exists()
    assert said == "The suite was interrupted: nothing is stored.\n"
    for _ in range(50):
        if not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie":
            return
        time.sleep(0.1)
    pytest.fail("the suite still runs")


@pytest.mark.parametrize(
    "output, counts",
    [
        ("3 passed in 1.0s\n12 passed, 3 skipped, 1 warning in 70.12s (0:01:10)\n", (12, 3)),
        ("\x1b[32m\x1b[1m7 passed\x1b[0m\x1b[32m in 0.5s\x1b[0m\n", (7, 0)),
        ("5 xpassed, 1 xfailed in 0.5s\nmake: done\n", (0, 0)),
        ("9 passed the door\n", (0, 0)),
    ],
)
def test_tests_are_counted_by_the_last_summary(output, counts):
    """Kills: the summary of a pytest that a test ran; expected failures as passes; colours."""
    assert tuple(cost_suite.counts(output).values()) == counts


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["--suite", "--out", "/no/such/folder/x.json"], "there is no folder"),
        (["--suite", "--table"], "not allowed with argument"),
        (["--suite", "01"], "take no notebooks"),
        (["--table", "--repeat", "2"], "no --repeat"),
    ],
)
def test_bad_input_is_said_before_the_suite_runs(monkeypatch, arguments, says, capsys):
    """Kills: ten minutes of tests before an output that cannot be written; options that are
    silently ignored."""
    stand_in(monkeypatch, "raise SystemExit('ran')")
    try:
        code = cost.main(arguments)
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr().err
    assert code == 2 and says in said and said.count("\n") == 1


def test_a_machine_without_make_is_said(monkeypatch, tmp_path, capsys):
    """Kills: a traceback where `make` is not installed."""
    monkeypatch.setattr(cost_suite, "SETUP", ("no-such-make", "setup"))
    assert cost.main(["--suite", "--out", str(tmp_path / "x.json")]) == 2
    assert capsys.readouterr().err == "no-such-make: No such file or directory.\n"


def test_the_suite_is_that_of_make_test():
    """Kills: a stored time of some other command than the one that the table names."""
    assert cost_suite.SUITE == ("make", "test") and cost_suite.SETUP == ("make", "setup")
