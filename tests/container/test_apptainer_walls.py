"""The autograder's level `apptainer`, for real: graded as an ordinary user."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import probes
import pytest
from course_folder import NAME, course_with

from autograde.judge import execute
from autograde.walls import sandbox, visible

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.container
# The tests run as root, whom the level refuses.
AS_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
TORCH_ONLY = "def add(x, y):\n    return x + y\n"


@pytest.fixture(autouse=True)
def user(tool, monkeypatch):
    """The tool in PATH, and what a user's shell may hold that must not get in."""
    monkeypatch.setenv("PATH", f"{tool}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("WORKBOOK_PROBE", "secret")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/apps/cuda/lib64")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")


def command(image, text, seconds=60.0):
    """Python text behind the walls."""
    return [*AS_USER, *sandbox.container_command(image, seconds), "python3", "-c", text]


def inside(image, text):
    """What the text left in `found`."""
    text = f"import json\n{text}\nprint(json.dumps(found, default=str))"
    done = subprocess.run(
        command(image, text), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_right_and_a_wrong_submission_get_their_grades(image, tmp_path):
    """Kills: a candidate started with a Python that has no torch; a level that lets torch do it."""
    course = course_with(tmp_path, "alice", bob=TORCH_ONLY)
    grade = [*AS_USER, sys.executable, "-m", "autograde", "grade", NAME, "--course", course]
    grade += ["--sandbox", "apptainer", "--image", image, "--workers", "1"]
    done = subprocess.run(
        grade, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (course / "work" / NAME / "ledger.jsonl").open()]
    found = {(line["item"]["student"], line["item"]["key"]): line for line in lines}
    assert {line["sandbox"] for line in lines} == {"apptainer"}
    assert found["bob", "add"]["code"] == "no-kernel-launched"
    assert {line["status"] for who, line in found.items() if who != ("bob", "add")} == {"PASS"}
    assert len(found) == 8


@pytest.mark.parametrize("kind", ["image", "sif"])
def test_probes_find_nothing(kind, request, tmp_path):
    """Kills: a bind too many, an image that can be written, a network, an inherited environment."""
    secret = tmp_path / "gradebook.db"
    secret.write_text("grades")
    with probes.probe(secret) as text:
        probes.assert_nothing_found(inside(request.getfixturevalue(kind), text))


def test_the_image_keeps_its_own_python_libraries_and_locale(image):
    """Kills: the grader's PATH, which hides torch; a host's LD_LIBRARY_PATH before the driver's."""
    names = ("PATH", "LD_LIBRARY_PATH", "LC_ALL", "TRITON_CACHE_DIR")
    text = f"import os, sys\nfound = {{n: os.environ.get(n) for n in {names}}}"
    found = inside(image, text + "\nfound['python'] = sys.prefix")
    assert found == {
        "PATH": "/opt/venv/bin:/usr/local/bin:/usr/bin:/bin",
        "LD_LIBRARY_PATH": "/.singularity.d/libs",
        "LC_ALL": "C.UTF-8",
        "TRITON_CACHE_DIR": "/tmp/triton",
        "python": "/opt/venv",
    }


def test_the_images_own_solutions_are_covered(image):
    """Kills: the answers of the course, read by a candidate from the image that it runs in."""
    folders = [f"/opt/workbook/{name}" for name in visible.WITH_SOLUTIONS]
    text = f"import os\nfound = [os.listdir(folder) for folder in {folders}]"
    assert inside(image, text) == [[] for _ in folders]


def test_detached_processes_end_with_the_container(image):
    """Kills: a child with a session of its own that is still there afterwards."""
    mark = str(900_000 + os.getpid())
    inside(image, f"MARK = {mark!r}\n{probes.LEAVER}")
    probes.assert_gone(mark)


def test_stopping_a_candidate_takes_its_tree_along(image):
    """Kills: a container that goes on when the grader stops waiting for an endless answer."""
    mark = str(910_000 + os.getpid())
    text = f"MARK = {mark!r}\n{probes.LEAVER}\ntime.sleep(600)"
    end, _ = socket.socketpair()
    start = (end, command(image, text), dict(os.environ))
    process = execute.Executor(execute.Setting())._fork(execute._become, start)
    wait_for_sleep(mark)
    execute._stop(process)
    probes.assert_gone(mark)


def test_a_candidate_does_not_outlive_its_grader_for_long(image, tmp_path):
    """Kills: a sleeping container that nobody ends when the grader was killed by force."""
    mark = str(920_000 + os.getpid())
    text = f"MARK = {mark!r}\n{probes.LEAVER}\ntime.sleep(600)"
    starter = f"import subprocess\nsubprocess.run({command(image, text, seconds=1.0)!r})"
    grader = subprocess.Popen([sys.executable, "-c", starter])
    wait_for_sleep(mark)
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    probes.assert_gone(mark, seconds=15)


def wait_for_sleep(mark):
    """Until the process that LEAVER leaves is there."""
    end = time.monotonic() + 30
    while not probes.sleeps(mark):
        assert time.monotonic() < end, "the candidate did not start"
        time.sleep(0.1)
