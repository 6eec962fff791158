"""The job scripts, submitted to a one-node Slurm, in an image that Apptainer built and runs."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import one_node_slurm as one_node
import pytest
from course_folder import NAME, course_with

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.container
MISSING = one_node.missing_tools()
needs_slurm = pytest.mark.skipif(bool(MISSING), reason=f"not here: {', '.join(MISSING)}")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with one_node.Slurm(tmp_path_factory.mktemp("slurm") / "one") as running:
        yield running


@pytest.fixture
def submit(cluster, tool, image, tmp_path):
    """Submit a script of singularity/ as a user would, from a folder that holds a checkout."""
    shutil.copytree(ROOT / "singularity", tmp_path / "singularity")
    variables = {
        "PATH": f"{tool}:{os.environ['PATH']}",
        "WORKBOOK_IMAGE": str(image),
        "TMPDIR": str(tmp_path / "node"),
        "HOME": "/nowhere",
    }
    (tmp_path / "node").mkdir()

    def go(script, *arguments, options=(), **more):
        command = [*options, f"singularity/{script}", *arguments]
        return cluster.submit(*command, cwd=tmp_path, **{**variables, **more})

    return go


def wait_for(path, text, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if path.exists() and text in path.read_text():
            return path.read_text()
        time.sleep(0.3)
    raise AssertionError(path.read_text() if path.exists() else f"no {path}")


def fetch(address, token=None):
    request = urllib.request.Request(address)
    if token:
        request.add_header("Authorization", f"token {token}")
    try:
        return urllib.request.urlopen(request, timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code


@needs_slurm
def test_jupyter_answers_only_with_the_token_and_leaves_nothing_behind(cluster, submit, tmp_path):
    job = submit("jupyter.sbatch")
    log = tmp_path / f"workbook-{job}.log"
    text = wait_for(log, "To end it")
    port = re.search(r"-L 8888:127\.0\.0\.1:(\d+) -J ", text)[1]
    token_file = Path(re.search(r"the token in\s+(\S+)", text)[1])
    token = token_file.read_text()
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600 and len(token) > 40
    assert fetch(f"http://127.0.0.1:{port}/api/contents") == 403
    assert fetch(f"http://127.0.0.1:{port}/api/contents/01_vector_add.ipynb", token) == 200
    processes = subprocess.run(["ps", "axeww"], capture_output=True, text=True).stdout
    assert token not in processes and token not in log.read_text()

    subprocess.run(["scancel", job], env=cluster.environment, check=True)
    cluster.wait(job)
    time.sleep(2)
    assert not token_file.exists() and list((tmp_path / "node").iterdir()) == []
    assert "Closing JupyterLab." in log.read_text()
    with pytest.raises(urllib.error.URLError):
        fetch(f"http://127.0.0.1:{port}/api")


@needs_slurm
def test_a_second_start_keeps_the_learners_work(cluster, submit, tmp_path):
    work = tmp_path / "workbook"
    work.mkdir()
    (work / "01_vector_add.ipynb").write_text('"mine"')
    job = submit("jupyter.sbatch")
    wait_for(tmp_path / f"workbook-{job}.log", "To end it")
    subprocess.run(["scancel", job], env=cluster.environment, check=True)
    cluster.wait(job)
    assert (work / "01_vector_add.ipynb").read_text() == '"mine"'
    assert (work / "00_start_here.ipynb").exists()


@needs_slurm
def test_jupyter_closes_in_order_when_its_time_is_over(cluster, submit, tmp_path):
    """Slurm's warning signal reaches the script; here it comes at once, sent by hand.

    Kills: a signal that ends the shell around the server, which then runs on without a job."""
    job = submit("jupyter.sbatch")
    log = tmp_path / f"workbook-{job}.log"
    port = re.search(r"-L 8888:127\.0\.0\.1:(\d+) -J ", wait_for(log, "To end it"))[1]
    subprocess.run(["scancel", "--batch", "-s", "TERM", job], env=cluster.environment, check=True)
    assert cluster.wait(job)["JobState"] == "COMPLETED"
    assert list((tmp_path / "node").iterdir()) == []
    assert "received signal 15, stopping" in log.read_text()  # JupyterLab's own words
    with pytest.raises(urllib.error.URLError):
        fetch(f"http://127.0.0.1:{port}/api")


@needs_slurm
@pytest.mark.parametrize(
    ("kind", "folder", "end", "words"),
    [
        ("image", "solutions", ("COMPLETED", "0:0"), ("add: passed", "1 of 1 checks passed")),
        ("sif", "solutions", ("COMPLETED", "0:0"), ("add: passed", "1 of 1 checks passed")),
        ("image", "notebooks", ("FAILED", "1:0"), ("not attempted",)),
    ],
)
def test_a_notebook_is_checked_and_the_job_ends_as_its_check(
    cluster, submit, kind, folder, end, words, request, image, tmp_path
):
    shutil.copy(image / "opt" / "workbook" / folder / "01_vector_add.ipynb", tmp_path)
    where = str(request.getfixturevalue(kind))
    job = submit("check.sbatch", "01_vector_add.ipynb", "--only", "add", WORKBOOK_IMAGE=where)
    state = cluster.wait(job)
    text = (tmp_path / f"workbook-check-{job}.log").read_text()
    assert (state["JobState"], state["ExitCode"]) == end, text
    assert all(each in text for each in words)


@needs_slurm
@pytest.mark.parametrize(
    "arguments, variables, sentence",
    [
        ((), {}, "Name a notebook"),
        (("nowhere.ipynb",), {}, "There is no file nowhere.ipynb"),
        (("x.ipynb",), {"WORKBOOK_IMAGE": "/no/image"}, "There is no image /no/image"),
        (("x.ipynb",), {"PATH": "/usr/bin:/bin"}, "Neither apptainer nor singularity"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(
    cluster, submit, tmp_path, arguments, variables, sentence
):
    job = submit("check.sbatch", *arguments, **variables)
    assert cluster.wait(job)["ExitCode"] == "2:0"
    text = (tmp_path / f"workbook-check-{job}.log").read_text()
    assert sentence in text and len(text.splitlines()) == 1


@needs_slurm
def test_slurm_takes_the_sites_settings(cluster, tmp_path):
    """Kills: an option of `submit` that sbatch does not know, or that means something else."""
    folder = tmp_path / "singularity"
    shutil.copytree(ROOT / "singularity", folder)
    (folder / "site.env").write_text(
        "WORKBOOK_PARTITION=gpu\nWORKBOOK_GRES=gpu:2\nWORKBOOK_MINUTES=7\nWORKBOOK_MEMORY_GB=3\n"
    )
    command = [folder / "submit", "--parsable", "--hold", "check", "x.ipynb"]
    done = subprocess.run(
        command, cwd=tmp_path, env=cluster.environment, capture_output=True, text=True, check=True
    )
    job = done.stdout.strip()
    state = cluster.state(job)
    subprocess.run(["scancel", job], env=cluster.environment, check=True)
    assert (state["Partition"], state["TimeLimit"]) == ("gpu", "00:07:00")
    assert state["MinMemoryNode"] == "3G" and "gpu:2" in state["TresPerNode"]


@needs_slurm
def test_a_course_is_graded_in_the_image(cluster, submit, tmp_path):
    """Kills: walls that cannot be built inside the container."""
    course = course_with(tmp_path, "alice")
    job = submit("grade.sbatch", NAME, WORKBOOK_COURSE=str(course))
    state = cluster.wait(job, seconds=300)
    text = (tmp_path / f"workbook-grade-{job}.log").read_text()
    assert (state["JobState"], state["ExitCode"]) == ("COMPLETED", "0:0"), text
    assert "PASS" in text
    (report,) = course.rglob("report.md")
    assert "Sandbox: namespaces" in report.read_text()


@needs_slurm
def test_the_slurm_runner_starts_the_images_python(cluster, tool, image, tmp_path):
    """Kills: a node's own Python; a course folder or a variable that the image does not get."""
    course = course_with(tmp_path, "alice")
    script = ROOT / "singularity" / "python.sh"
    command = [sys.executable, "-m", "autograde", "grade", NAME, "--course", course]
    command += ["--runner", "slurm", "--slurm", f"python={script}"]
    variables = {"WORKBOOK_COURSE": course, "WORKBOOK_IMAGE": image}
    done = subprocess.run(
        command,
        env={
            **cluster.environment,
            **{name: str(value) for name, value in variables.items()},
            "PATH": f"{tool}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
    )
    logs = "".join(path.read_text() for path in course.glob("work/*/slurm/*/submitit/*.err"))
    assert done.returncode == 0, done.stderr + logs
    lines = [json.loads(line) for line in (course / "work" / NAME / "ledger.jsonl").open()]
    assert {(line["status"], line["sandbox"]) for line in lines} == {("PASS", "namespaces")}
