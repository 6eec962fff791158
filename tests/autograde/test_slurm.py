"""Grading through a real Slurm of one node: same scores, whatever happens to jobs or driver."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import one_node_slurm
import psutil
import pytest
from grading import (
    LEVEL,
    NAME,
    declared_scores,
    hand_in,
    ingested,
    needs_walls,
    scores,
    solutions,
    until,
)

from autograde.classroom.slurm import SlurmError, SlurmRunner, SlurmSettings
from autograde.judge.execute import Setting
from autograde.walls import sandbox
from tritonbook.course.exercises import Exercise

MISSING = one_node_slurm.missing_tools()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.system,
    pytest.mark.skipif(bool(MISSING), reason=f"no Slurm here: {', '.join(MISSING)}"),
    needs_walls,
]
ROOT = Path(__file__).resolve().parents[2]
LIMITS = sandbox.Limits(call_seconds=6.0)
QUICK = {"workers": 1, "memory_gb": 1, "poll_seconds": 0.2, "settle_seconds": 1.0}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[one_node_slurm.Slurm]:
    with one_node_slurm.Slurm(tmp_path_factory.mktemp("slurm") / "one") as running:
        yield running


@pytest.fixture
def course(cluster: one_node_slurm.Slurm, course: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
    return course


def _lines(course: Path) -> list[dict]:
    path = course / "work" / NAME / "ledger.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def test_the_driver_killed_and_resumed_gives_the_scores_of_this_machine(
    course: Path, exercise: Exercise
) -> None:
    """Kills: a score that depends on where it was made (test_run has this machine's); jobs of a
    killed driver that are run again, or forgotten; a verdict that travels in a pickle; hidden
    tests left readable."""
    command = [sys.executable, "-m", "autograde", "grade", NAME, "--course", str(course)]
    command += ["--runner", "slurm", "--call-seconds", "6", "--slurm", "chunk=8"]
    for name, value in QUICK.items():
        command += ["--slurm", f"{name}={value}"]
    driver = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    until(lambda: bool(_lines(course)))
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    assert 0 < len(_lines(course)) < 16
    session = ingested(course)
    settings = SlurmSettings(chunk=8, **QUICK)
    session.run(SlurmRunner(session.folder / "slurm", Setting(LEVEL, LIMITS), settings))
    session.record()

    assert scores(course) == declared_scores(exercise)
    lines = _lines(course)
    assert len(lines) == 16 and all(line["attempt"] == 1 for line in lines)
    (batch,) = (course / "work" / NAME / "slurm").iterdir()
    assert batch.stat().st_mode & 0o077 == 0
    assert not list(batch.glob("chunk-*")), "hidden tests stay where logs are kept"
    results = list(batch.glob("submitit/*_result.pkl"))
    assert len(results) == 2
    assert all(pickle.loads(path.read_bytes()) == ("success", None) for path in results)


# Takes its time, so that a job can be lost inside it.
SLOW = """
def halves(n):
    import time
    time.sleep(0.4)
    return [n // 2, n - n // 2]
"""


def _kill(text: str) -> bool:
    """End the processes whose command line has this text; returns whether there were any."""
    running = psutil.process_iter(["cmdline"])
    found = [each for each in running if text in " ".join(each.info["cmdline"] or [])]
    for process in found:
        process.kill()
    return bool(found)


def test_a_lost_job_costs_nobody_points(
    course: Path, exercise: Exercise, cluster: one_node_slurm.Slurm
) -> None:
    """Kills: scancel, or a dead slurmstepd, that scores a student whose code it cut off; what the
    job had done run again; a retry in the company of others; a job left in the queue."""
    students = ["t1", "t2"]
    hand_in(course, dict.fromkeys(students, solutions(exercise) | {"halves": SLOW}))
    session = ingested(course, students)
    settings = SlurmSettings(chunk=2, **QUICK)
    runner = SlurmRunner(session.folder / "slurm", Setting(LEVEL, LIMITS), settings)
    driver = ThreadPoolExecutor(1).submit(session.run, runner)
    # A job is inside `halves` when its first verdict, on `double`, is there.
    lost: set[str] = set()
    while len(lost) < 2:
        assert not driver.done(), driver.exception()
        for path in course.glob("work/*/slurm/*/out/*-000.json"):
            chunk, name = path.name[3], path.parents[1].name
            if chunk in lost:
                continue
            listed = cluster.output("squeue", "-h", "-r", f"--name={name}", "-o", "%K %A %i")
            jobs = {line.split()[0]: line.split()[1:] for line in listed.splitlines()}
            if chunk == "0":
                subprocess.run(["scancel", jobs["0"][1]], env=cluster.environment, check=True)
            else:
                assert _kill(f"slurmstepd: [{jobs['1'][0]}.")
            lost.add(chunk)
        time.sleep(0.02)
    wait([driver], 120)
    _kill(str(course))  # srun waits for its daemon for ever
    driver.result(0)
    session.record()

    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for line in _lines(course):
        key = line["item"]["student"], line["item"]["key"]
        found.setdefault(key, []).append((line["attempt"], line["status"]))
    assert found["t1", "double"] == found["t2", "double"] == [(1, "PASS")]
    assert found["t1", "halves"] == [(1, "INFRA"), (2, "PASS")]
    assert found["t2", "halves"] == [(1, "PASS")]  # the process itself was not hurt
    assert {points for who, points in scores(course).items() if who[0] in students} == {2.0, 4.0}
    plans = [json.loads(p.read_text())["chunks"] for p in course.glob("work/*/slurm/*/closed.json")]
    assert sorted(len(chunk) for plan in plans for chunk in plan) == [1, 2, 2]
    until(lambda: not cluster.output("squeue", "-h"))


# Runs the command here, with the environment that the image would get and nothing else.
APPTAINER = """#!/bin/bash
shift
variables=(PATH={path}:/usr/bin:/bin)
while [[ $1 == --* ]]; do
    case $1 in
    --nv | --cleanenv) shift ;;
    --env) variables+=("$2"); shift 2 ;;
    --pwd) cd "$2"; shift 2 ;;
    --bind) echo "$2" >>"{bound}"; shift 2 ;;
    *) shift 2 ;;
    esac
done
shift
exec env -i "${{variables[@]}}" TMPDIR="{scratch}" "$@"
"""


def test_a_job_runs_in_the_image(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: a variable that submitit needs and the image does not get; a folder that is not bound;
    `singularity/python.sh` and the runner each with its own idea of the course."""
    tools = tmp_path / "bin"
    tools.mkdir()
    text = APPTAINER.format(
        path=Path(sys.executable).parent, bound=tmp_path / "bound", scratch=tmp_path
    )
    (tools / "apptainer").write_text(text)
    (tools / "apptainer").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setenv("WORKBOOK_IMAGE", str(tools))
    monkeypatch.setenv("WORKBOOK_COURSE", str(course))
    session = ingested(course, ["s1_right"])
    settings = SlurmSettings(python=str(ROOT / "singularity" / "python.sh"), **QUICK)
    session.run(SlurmRunner(session.folder / "slurm", Setting("auto", LIMITS), settings))
    logs = "".join(path.read_text() for path in course.glob("work/*/slurm/*/submitit/*.err"))
    assert session.summary() == {"PASS": 2}, logs
    assert str(course) in (tmp_path / "bound").read_text().split()


def test_what_slurm_refuses_is_one_sentence(course: Path) -> None:
    """Kills: a traceback of sbatch's; items that count as tried although no job was taken."""
    session = ingested(course, ["s1_right"])
    settings = SlurmSettings(partition="nowhere")
    runner = SlurmRunner(session.folder / "slurm", Setting(LEVEL, LIMITS), settings)
    with pytest.raises(SlurmError, match=r"^Slurm took no job \(.*partition"):
        session.run(runner)
    assert _lines(course) == []
    assert len(session.open_items()) == 2
