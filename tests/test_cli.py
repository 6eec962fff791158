"""The `tritonbook` command as typed: exit codes, one sentence for bad input, data with --json."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tritonbook import cli

SETUP = (
    "from tritonbook import case, check, setup, tensor\n"
    "import torch\nimport triton\nimport triton.language as tl\nsetup()"
)
KERNEL = """\
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, {value}, mask=offs < n)


def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""
CHECK = "check(double, lambda x: 2 * x, [case('ragged', x=tensor(100))], key='double')"


def cell(name, source, points=None):
    metadata = {}
    if name.startswith(("answer", "check")):
        metadata["nbgrader"] = {"grade_id": name, "solution": name.startswith("answer")}
        metadata["nbgrader"].update(grade=points is not None, points=points)
    return {
        "cell_type": "code",
        "id": name,
        "metadata": metadata,
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def notebook(path, value="2 * x", extra=(), check=CHECK):
    cells = [
        cell("setup", SETUP),
        *(cell(f"mine{i}", source) for i, source in enumerate(extra)),
        cell("answer-double", KERNEL.format(value=value)),
        cell("check-double", check, 3),
    ]
    path.write_text(
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    return path


@pytest.fixture
def run(tmp_path):
    environment = {**os.environ, "TRITONBOOK_HOME": str(tmp_path / "home"), "TRITON_INTERPRET": "1"}

    def go(*arguments, **options):
        command = [sys.executable, "-m", "tritonbook.cli", *map(str, arguments)]
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, **options
        )

    go.environment = environment
    return go


def test_a_right_answer_passes_and_is_kept(run, tmp_path):
    done = run("check", notebook(tmp_path / "a.ipynb"))
    assert done.returncode == 0, done.stderr
    assert "1 of 1 checks passed" in done.stdout
    kept = json.loads((tmp_path / "home" / "progress.json").read_text())["checks"]["double"]
    assert kept["passed"]["name"] == "double"


def test_a_wrong_answer_is_1_with_the_reason(run, tmp_path):
    done = run("check", notebook(tmp_path / "a.ipynb", value="3 * x"), "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert not found["passed"] and found["checks"][0]["state"] == "wrong"
    assert found["checks"][0]["reason"] and found["checks"][0]["points"] == 3


def test_cells_that_the_learner_added_run_and_magics_do_no_harm(run, tmp_path):
    path = notebook(tmp_path / "a.ipynb", "SCALE * x", ["%timeit 1\nSCALE = tl.constexpr(2)"])
    assert run("check", path).returncode == 0


def test_a_broken_cell_is_named_and_the_rest_still_runs(run, tmp_path):
    done = run("check", notebook(tmp_path / "a.ipynb", extra=["1 / 0", "import sys; sys.exit(0)"]))
    assert done.returncode == 0
    assert "cell 2: ZeroDivisionError: division by zero (line 1 of the cell)" in done.stdout
    assert "cell 3: SystemExit" in done.stdout


def test_names_of_the_runner_do_not_leak_into_the_notebook(run, tmp_path):
    """Kills: running the cells in the runner's own namespace, where `json` is imported."""
    done = run("check", notebook(tmp_path / "a.ipynb", extra=["json.dumps(1)"]))
    assert "NameError: name 'json' is not defined" in done.stdout


def test_a_check_that_breaks_without_a_verdict_is_no_pass(run, tmp_path):
    path = notebook(tmp_path / "a.ipynb", check="check(no_such_name, None, [])")
    done = run("check", path, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["checks"][0]["state"] == "error"


def test_a_check_that_checks_nothing_is_no_pass(run, tmp_path):
    done = run("check", notebook(tmp_path / "a.ipynb", check="pass"), "--json")
    assert done.returncode == 1


def test_a_process_that_dies_is_said(run, tmp_path):
    done = run("check", notebook(tmp_path / "a.ipynb", extra=["import os; os._exit(0)"]))
    assert done.returncode == 1 and "process died" in done.stdout


def test_watch_checks_again_after_a_save(run, tmp_path):
    path = notebook(tmp_path / "a.ipynb", value="3 * x")
    command = [sys.executable, "-u", "-m", "tritonbook.cli", "check", str(path), "--watch"]
    log = tmp_path / "log"
    with log.open("w") as out:
        watcher = subprocess.Popen(command, env=run.environment, stdout=out, cwd=tmp_path)

        def wait_for(text, count):
            end = time.monotonic() + 60
            while log.read_text().count(text) < count and time.monotonic() < end:
                time.sleep(0.1)
            assert log.read_text().count(text) >= count, log.read_text()

        wait_for("Watching", 1)
        assert "0 of 1 checks passed" in log.read_text()
        notebook(path)
        wait_for("Watching", 2)
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(20) == 0
    assert "1 of 1 checks passed" in log.read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "nowhere.ipynb"),
        ("check", "kernel.py"),
        ("check", "99"),
        ("check", "vector_ad"),
        ("check", "broken.ipynb"),
        ("check", "list.ipynb"),
        ("check", "good.ipynb", "--only", "nope"),
        ("progress", "--reset", "nope"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.setenv("TRITONBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.ipynb").write_text("{")
    (tmp_path / "list.ipynb").write_text('["cells"]')
    notebook(tmp_path / "good.ipynb")
    assert cli.main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.strip().splitlines()) == 1
    assert said.err.strip().endswith(".")


def test_an_unknown_verb_is_exit_2():
    with pytest.raises(SystemExit) as stop:
        cli.main(["frobnicate"])
    assert stop.value.code == 2


def test_doctor_says_the_same_in_text_and_json(run):
    text, data = run("doctor"), run("doctor", "--json")
    found = json.loads(data.stdout)
    assert text.returncode == data.returncode == int(not found["healthy"])
    assert all(f["name"] in text.stdout for f in found["findings"])


def test_progress_in_text_and_json(run, tmp_path):
    run("check", notebook(tmp_path / "a.ipynb"))
    assert "Your progress:" in run("progress").stdout
    assert set(json.loads(run("progress", "--json").stdout)) >= {"passed", "points", "notebooks"}
    assert run("progress", "--reset", "double").stdout == "Forgot 1 check.\n"
