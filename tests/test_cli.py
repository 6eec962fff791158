"""The `tritonbook` command as typed: exit codes, one sentence for bad input."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from tritonbook import cli
from tritonbook.course import records

WRONG = "def double(x):\n    return 3 * x"
SETUP = "import triton\nimport triton.language as tl"
KERNEL = """\
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, 2 * x, mask=offs < n)


def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""


@pytest.fixture
def run(tmp_path, python, small_notebook):
    environment = {**os.environ, "TRITONBOOK_HOME": str(tmp_path / "home"), "TRITON_INTERPRET": "1"}

    def go(*arguments):
        return python.run("-m", "tritonbook.cli", *arguments, env=environment, cwd=tmp_path)

    go.environment = environment
    return go


def test_a_right_kernel_passes_and_is_kept(run, tmp_path, small_notebook):
    """A kernel, so that Triton must find the source of a cell in its file."""
    done = run("check", small_notebook(SETUP, answer=KERNEL, demands="asks=[launches(1)]"))
    assert done.returncode == 0, done.stderr
    assert "1 of 1 checks passed" in done.stdout
    kept = json.loads((tmp_path / "home" / "progress.json").read_text())["checks"]["double"]
    assert kept["passed"]["name"] == "double"


def test_a_wrong_answer_is_1_with_the_reason(run, tmp_path, small_notebook):
    done = run("check", small_notebook(answer=WRONG))
    assert done.returncode == 1
    assert re.search(r"^ *✗ +double +wrong +\S", done.stdout, re.MULTILINE), done.stdout


def test_a_process_that_dies_is_said(run, tmp_path, small_notebook):
    done = run("check", small_notebook("import os; os._exit(0)"))
    assert done.returncode == 1 and "process died" in done.stdout


def test_watch_checks_again_after_a_save(run, tmp_path, small_notebook):
    path = small_notebook(answer=WRONG)
    command = [sys.executable, "-u", "-m", "tritonbook.cli", "check", str(path), "--watch"]
    log = tmp_path / "log"
    with log.open("w") as out:
        # A runner started in the background ignores Ctrl+C, and its children would too.
        heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731
        watcher = subprocess.Popen(
            command, env=run.environment, stdout=out, cwd=tmp_path, preexec_fn=heed
        )

        def wait_for(text, count):
            end = time.monotonic() + 300
            while log.read_text().count(text) < count and time.monotonic() < end:
                time.sleep(0.1)
            assert log.read_text().count(text) >= count, log.read_text()

        wait_for("Watching", 1)
        assert "0 of 1 checks passed" in log.read_text()
        small_notebook()
        wait_for("Watching", 2)
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(200) == 0
    assert "1 of 1 checks passed" in log.read_text()


def test_a_page_is_started_as_a_file_and_never_over_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["start", "1"]) == 0
    assert "tritonbook check 01_vector_add.py --watch" in capsys.readouterr().out
    path = tmp_path / "01_vector_add.py"
    path.write_text("# %%\nmine = 1\n")
    assert cli.main(["start", "01"]) == 2
    assert "tritonbook reset 01" in capsys.readouterr().err
    assert path.read_text() == "# %%\nmine = 1\n"
    assert cli.main(["check", "01"]) == 2
    assert "has no cells that check" in capsys.readouterr().err


def test_leaving_at_once_loses_nothing(python):
    """Kills: output that stays in a buffer, or helpers that outlive the command."""
    text = "import atexit; from tritonbook.command import leave; atexit.register(print, 'end')"
    done = python.run("-c", f"{text}\nprint('before')\nleave(3)\nprint('after')")
    assert (done.returncode, done.stdout, done.stderr) == (3, "before\nend\n", "")


def test_doctor_ends_with_1_where_something_needs_mending(run):
    done = run("doctor")
    assert done.returncode == int("✗ problem" in done.stdout)
    assert "platform       Linux on" in done.stdout


def test_progress_is_shown_and_forgotten(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TRITONBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRITONBOOK_PROGRESS", raising=False)
    records.record("double", "passed", WRONG)
    assert cli.main(["progress"]) == 0 and "Your progress:" in capsys.readouterr().out
    assert cli.main(["progress", "--reset", "double"]) == 0
    assert capsys.readouterr().out == "Forgot 1 check.\n"


def test_facts_compile_for_a_named_gpu_without_one(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TRITONBOOK_HOME", str(tmp_path))
    assert cli.main(["facts", "add", "--arch", "90"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("add (workbook), ") and "sm_90" in said
    assert "registers" in said


def test_the_verb_alone_is_answered_with_the_list_of_verbs(run):
    done = run()
    assert done.returncode == 2 and not done.stdout
    assert "usage: tritonbook" in done.stderr and "start  " in done.stderr


def test_what_a_verb_does_not_know_is_its_own_mistake(run):
    """Kills: `tritonbook next 5` sent to the page of all verbs."""
    done = run("next", "5")
    assert done.returncode == 2
    assert done.stderr == (
        "tritonbook next: unrecognized arguments: 5; see tritonbook next --help.\n"
    )


@pytest.mark.parametrize("dashes", [[], ["--"]], ids=["as they are", "after --"])
def test_jupyters_own_options_go_to_jupyter(dashes, monkeypatch, tmp_path):
    """Kills: `tritonbook lab --no-browser` refused; an option torn from its value."""
    given = []
    # Which pages lie there has its own tests, and other ones' folders of pages may be in use here.
    monkeypatch.setattr("tritonbook.course.desk.lay_out", lambda folder: [])
    monkeypatch.setattr("tritonbook.lab.run", lambda folder, more: given.append((folder, more)))
    own = ["--no-browser", "--port", "8889"]
    cli.main(["lab", "--folder", str(tmp_path), *dashes, *own])
    assert given == [(tmp_path, own)]
