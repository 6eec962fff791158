"""The job scripts as text; tests/container runs them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "singularity"
JOBS = sorted(FOLDER.glob("*.sbatch"))
SHELL = [*JOBS, *sorted(FOLDER.glob("*.sh"))]


def test_all_the_jobs_are_there():
    assert [path.stem for path in JOBS] == ["check", "grade", "jupyter"]


@pytest.mark.parametrize("path", SHELL, ids=lambda path: path.name)
def test_bash_can_read_it(path):
    subprocess.run(["bash", "-n", path], check=True)


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shellcheck_has_nothing_to_say():
    done = subprocess.run(
        ["shellcheck", "-x", *(path.name for path in SHELL)],
        cwd=FOLDER,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.name)
def test_slurm_reads_every_request(path):
    """Slurm stops at the first command: a request after it is ignored without a word."""
    lines = path.read_text().splitlines()
    assert lines[0] == "#!/bin/bash"
    command = next(i for i, line in enumerate(lines) if line and not line.startswith("#"))
    requests = [i for i, line in enumerate(lines) if line.startswith("#SBATCH")]
    assert requests and max(requests) < command
    text = "\n".join(lines)
    for wanted in ("--gres=gpu:1", "--time=", "--mem=", "--output="):
        assert f"#SBATCH {wanted}" in text


@pytest.mark.parametrize("path", SHELL, ids=lambda path: path.name)
def test_nothing_is_fetched_at_run_time(path):
    assert not re.search(
        r"\b(?:curl|wget|pip|conda|git|apt-get)\b|https?://(?!127)", path.read_text()
    )


@pytest.mark.parametrize("path", SHELL, ids=lambda path: path.name)
def test_no_secret_on_a_command_line(path):
    """Everybody on the node can read command lines: kills --token=..., --env JUPYTER_TOKEN=..."""
    assert not re.search(r"token=|JUPYTER_TOKEN=", path.read_text(), re.IGNORECASE)
