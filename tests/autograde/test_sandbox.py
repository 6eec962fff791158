"""Probes from inside the walls: none may find, reach, write or leave behind anything."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import probes
import pytest

from autograde.classroom import cli
from autograde.classroom.record import exchange
from autograde.classroom.run import refuse_in_view
from autograde.judge.course import BadCourse
from autograde.walls import confine, inside, sandbox, visible

WALLS = [level for level in sandbox.available() if level in ("namespaces", "bubblewrap")]
pytestmark = pytest.mark.skipif(not WALLS, reason="no namespaces and no bubblewrap here")


def found_inside(level: str, text: str, folder: Path) -> Any:
    """Run Python text behind the walls; what it left in `found`."""
    if level == "bubblewrap":
        text = f"import json\n{text}\nprint(json.dumps(found, default=str))"
        command = [*sandbox.bubblewrap_command(), sys.executable, "-c", text]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def serve(end: socket.socket, own: Path) -> None:
        names: dict[str, Any] = {}
        exec(text, names)
        end.sendall(json.dumps(names["found"], default=str).encode())

    (folder / "root").mkdir()
    ours, theirs = socket.socketpair()
    arguments = (theirs, level, folder / "root", sandbox.Limits(), serve)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=inside.start_forked, args=arguments)
    process.start()
    theirs.close()
    with ours, ours.makefile() as stream:
        said = stream.read()
    process.join()
    return json.loads(said)


def test_an_environment_that_is_a_link_leads_somewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: a class whose kernels do not compile, each a 0, because `.venv` is a link to what the
    compiler's process does not see."""
    (tmp_path / "real").mkdir()
    (tmp_path / ".venv").symlink_to("real")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    assert {tmp_path / "real", tmp_path / ".venv"} <= set(visible.visible_folders())


@pytest.mark.parametrize("level", WALLS)
def test_probes_find_nothing(level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: a bind too many, a wall that is writable, a network, an inherited environment."""
    secret = tmp_path / "gradebook.db"
    secret.write_text("grades")
    monkeypatch.setenv("WORKBOOK_PROBE", "secret")
    with probes.probe(secret) as text:
        found = found_inside(level, text, tmp_path)
    probes.assert_nothing_found(found)


@pytest.mark.parametrize("level", WALLS)
def test_a_workbook_below_tmp_is_seen(
    level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: a fresh /tmp that is mounted over the folders bound into it."""
    package = tmp_path / "workbook"
    package.mkdir()
    (package / "one.py").touch()
    assert package.is_relative_to("/tmp")
    folders = visible.visible_folders()
    monkeypatch.setattr(visible, "visible_folders", lambda: [*folders, package])
    text = f"import os\nfound = {{'names': os.listdir({str(package)!r})}}\n"
    text += "try:\n    open('/tmp/mine', 'w')\nexcept OSError as e:\n    found['error'] = str(e)\n"
    found = found_inside(level, text, tmp_path)
    assert found == {"names": ["one.py"]}


@pytest.mark.parametrize("level", WALLS)
def test_detached_processes_end_with_the_walls(level: str, tmp_path: Path) -> None:
    """Kills: a child with a session of its own that is still there afterwards."""
    mark = str(900_000 + os.getpid())
    found_inside(level, f"MARK = {mark!r}\n" + probes.LEAVER, tmp_path)
    probes.assert_gone(mark)


def test_walls_are_tried_until_some_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: a container that starts Python and torch, to see that it would, before each run."""
    tried: list[str] = []
    monkeypatch.setattr(sandbox, "works", lambda level, image=None: tried.append(level) or True)
    assert sandbox.choose("auto", None, force=False) == sandbox.LEVELS[0]
    assert tried == [sandbox.LEVELS[0]]


def test_hidden_tests_are_refused_without_walls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: a machine without any sandbox that grades all the same, and says nothing."""
    monkeypatch.setattr(sandbox, "works", lambda level, image=None: level == "plain")
    with pytest.raises(sandbox.NoWalls, match="--force"):
        sandbox.choose("auto", None, force=False)
    assert sandbox.choose("auto", None, force=True) == "plain"
    with pytest.raises(sandbox.NoWalls):
        sandbox.choose("bubblewrap", None, force=True)


@pytest.mark.parametrize(
    "image, uid, sentence",
    [
        (None, 1000, "name the image with --image"),
        ("nowhere.sif", 1000, "there is no image"),
        ("here.sif", 0, "started by root it leaves root's rights to students' code"),
        ("here.sif", 1000, "lacks what students. code needs"),
    ],
)
def test_an_image_that_cannot_serve_is_refused_before_anything_runs(
    image: str | None, uid: int, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: a level that counts as working because a program of that name is there, so that every
    exercise comes back as the grader's own failure; root's rights for students' code."""
    tool = tmp_path / "apptainer"
    tool.write_text("#!/bin/sh\nexit 1\n")
    tool.chmod(0o755)
    (tmp_path / "here.sif").write_text("no image")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "getuid", lambda: uid)
    monkeypatch.setattr(sandbox, "_namespaces_work", lambda: True)
    monkeypatch.setattr(sandbox, "_bubblewrap_works", lambda: True)
    with pytest.raises(sandbox.NoWalls, match=sentence):
        sandbox.choose("apptainer", image and tmp_path / image, force=False)


def test_a_course_that_candidates_can_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kills: hidden tests, or verdicts on their way, in a folder that is bound into the walls."""
    (tmp_path / "seen" / "course").mkdir(parents=True)
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "work").symlink_to(tmp_path / "seen")
    assert visible.shown_in(tmp_path) is None
    monkeypatch.setattr(visible, "visible_folders", lambda: [tmp_path / "seen"])
    for course in (tmp_path / "seen" / "course", tmp_path / "course"):
        assert cli.main(["ingest", "x", "--course", str(course)]) == 2
        assert "which students' code can read" in capsys.readouterr().err


def test_the_exchange_is_covered_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: hand-ins of the whole class in a folder below /usr, which candidates can read; a class
    that is not graded because this machine has no exchange."""
    usual, course = tmp_path / "usr" / "nbgrader", tmp_path / "course"
    (usual / "exchange").mkdir(parents=True)
    (tmp_path / "usr" / "other").mkdir()
    course.mkdir()
    monkeypatch.setattr(visible, "visible_folders", lambda: [tmp_path / "usr"])
    monkeypatch.setattr(visible, "EXCHANGE", usual)
    assert usual in visible.covered_folders()
    refuse_in_view(exchange(course))
    monkeypatch.setattr(visible, "EXCHANGE", tmp_path / "usr" / "never made")
    refuse_in_view(exchange(course))
    chosen = f"c = get_config()\nc.Exchange.root = {str(tmp_path / 'usr' / 'other')!r}\n"
    (course / "nbgrader_config.py").write_text(chosen)
    with pytest.raises(BadCourse, match="which students' code can read"):
        refuse_in_view(exchange(course))


def test_the_folder_for_walls_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: a mount point left behind by every candidate."""
    with tempfile.TemporaryDirectory() as folder:  # of its own: other tests start candidates, too
        monkeypatch.setattr(tempfile, "tempdir", folder)
        sandbox._namespaces_work.__wrapped__()
        assert not list(Path(folder).iterdir())


CALLS = """
import ctypes, os, subprocess, threading
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": (250, 319, 29, 272), "aarch64": (219, 279, 194, 97)}[os.uname().machine]
keyctl, memfd, shmget, unshare = number
found = {
    "a keyring": libc.syscall(keyctl, 0, -3, 0) >= 0,  # its own, even
    "memory without a name": libc.syscall(memfd, b"x", 0) >= 0,
    "memory of System V": libc.syscall(shmget, 0, 4096, 0o1600) >= 0,
    "a user namespace": libc.syscall(unshare, 0x10000000) >= 0,
    "many files": any(os.statvfs(place).f_files > 1 << 16 for place in ("/tmp", "/dev/shm")),
}
done = subprocess.run(["/bin/sh", "-c", "echo started"], capture_output=True, text=True)
thread = threading.Thread(target=lambda: found.update(thread=True))
thread.start()
thread.join()
found |= {"started": done.stdout, "first to go": open("/proc/self/oom_score_adj").read().strip()}
found["gives way"] = os.getpriority(os.PRIO_PROCESS, 0) - NICE >= 5
"""


@pytest.mark.parametrize("level", [level for level in WALLS if level == "namespaces"])
def test_no_keys_and_no_memory_of_nobodys(level: str, tmp_path: Path) -> None:
    """Kills: memory that no limit of a process counts; children that leave a neighbour no
    processor. And: threads and programs that do not start any more."""
    nice = min(os.getpriority(os.PRIO_PROCESS, 0), 14)
    found = found_inside(level, f"NICE = {nice}\n{CALLS}", tmp_path)
    here = ["a keyring", "memory without a name", "memory of System V", "a user namespace"]
    assert not any(found[name] for name in [*here, "many files"]), found
    assert found["started"] == "started\n" and found["thread"] and found["gives way"]
    assert found["first to go"] == "1000"


WRITES = """
import os
found = {}
for place in ("/tmp", "/dev/shm", "/dev", "/", *COVERED):
    try:
        with open(f"{place}/x", "wb") as file:
            file.write(b"x")
        held = os.statvfs(place)
        found[place] = held.f_blocks * held.f_frsize
    except OSError:
        pass
"""


@pytest.mark.parametrize("level", WALLS)
def test_what_can_be_written_is_bounded(level: str, tmp_path: Path) -> None:
    """Kills: a `tmpfs` that takes half of the machine's memory, which counts for no process."""
    covered = [str(path) for path in visible.covered_folders()]
    found = found_inside(level, f"COVERED = {covered}\n{WRITES}", tmp_path)
    assert found == {"/tmp": sandbox.Limits.files, "/dev/shm": sandbox.Limits.files}


def test_a_keyring_of_ones_own() -> None:
    """Kills: the grader's Kerberos tickets in a student's error message, where no filter stands; a
    filter that comes first and refuses to leave them."""
    add, control = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
    libc, key = ctypes.CDLL(None, use_errno=True), (b"user", b"a key of the grader's")
    if libc.syscall(add, *key, b"secret", 6, -3) < 0:
        pytest.skip("no keyrings here")

    def finds() -> bool:
        return bool(libc.syscall(control, 10, -3, *key, 0) >= 0)

    assert finds()
    child = os.fork()
    if child == 0:
        confine.refuse_calls = lambda *told: os._exit(finds())
        confine.limit_resources(sandbox.Limits(), gpu=False)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
