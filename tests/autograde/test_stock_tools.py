"""nbgrader's own tools on a course folder that `autograde` graded: they see nothing unusual."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from grading import NAME, exported, keep, needs_walls

from autograde.classroom import demo

pytestmark = [pytest.mark.slow, pytest.mark.system, needs_walls]


@pytest.fixture(scope="module")
def graded(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two students, graded by the command that an instructor types."""
    course = Path(shutil.copytree(released, tmp_path_factory.mktemp("graded") / "course"))
    keep(course, "s1_right", "s4_no_mask")
    command = [sys.executable, "-m", "autograde", "grade", NAME, "--course", str(course)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return course


def test_the_assignment_can_be_made_again(graded: Path, tmp_path: Path) -> None:
    """Kills: a gradebook after which `generate_assignment` fails, or forgets the scores; scores
    that nbgrader's export does not find."""
    course = Path(shutil.copytree(graded, tmp_path / "course"))
    done = demo.nbgrader(course, "generate_assignment", NAME, "--force")
    assert done.returncode == 0, done.stdout
    assert exported(course) == {"s1_right": 6.0, "s4_no_mask": 2.0}


@pytest.fixture(scope="module")
def formgrader(graded: Path) -> Iterator[Callable[[str], str]]:
    """A jupyter server with nbgrader's extension in the course folder; fetches one page of it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyter_server", "--no-browser", "--ip=127.0.0.1"]
    command += [f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=t0ken"]
    command += ["--allow-root", f"--ServerApp.root_dir={graded}"]
    log = graded / "server.log"
    with log.open("w") as file:
        server = subprocess.Popen(
            command,
            cwd=graded,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=os.environ | {"JUPYTER_RUNTIME_DIR": str(graded / ".runtime")},
            start_new_session=True,
        )

    def fetch(path: str) -> str:
        address = f"http://127.0.0.1:{port}/formgrader/{path}"
        request = urllib.request.Request(address, headers={"Authorization": "token t0ken"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.read().decode()

    try:
        end = time.monotonic() + 400
        while True:
            try:
                fetch("api/assignments")
                break
            except (urllib.error.URLError, ConnectionError):
                assert server.poll() is None and time.monotonic() < end, log.read_text()[-3000:]
                time.sleep(0.3)
        yield fetch
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def test_formgrader_shows_the_scores(formgrader: Callable[[str], str]) -> None:
    """Kills: submissions that formgrader lists as not autograded, or with another score."""
    (assignment,) = json.loads(formgrader("api/assignments"))
    assert (assignment["name"], assignment["num_submissions"]) == (NAME, 2)
    rows = json.loads(formgrader(f"api/submissions/{NAME}"))
    found = {row["student"]: (row["autograded"], row["score"], row["max_score"]) for row in rows}
    assert found == {"s1_right": (True, 6.0, 6.0), "s4_no_mask": (True, 2.0, 6.0)}
    assert not any(row["needs_manual_grade"] for row in rows)


def test_formgrader_opens_a_submission(formgrader: Callable[[str], str]) -> None:
    """Kills: a notebook that the person who grades by hand cannot open."""
    rows = json.loads(formgrader(f"api/submitted_notebooks/{NAME}/{NAME}"))
    row = next(row for row in rows if row["student"] == "s4_no_mask")
    page = formgrader(f"submissions/{row['id']}/")
    assert "writes outside" in page and "double_kernel" in page
    for path in ("manage_assignments", "gradebook", f"gradebook/{NAME}", "manage_students"):
        assert "nbgrader" in formgrader(path).lower()
