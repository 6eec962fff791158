"""What travels to a node and back: whole, about the right item, and read as data only."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from grading import course_of, verdict

from autograde.classroom import node, slurm
from autograde.classroom.batch import Batch
from autograde.classroom.ingest import rebuild
from autograde.classroom.slurm import SlurmError, SlurmRunner, SlurmSettings, read_settings
from autograde.judge import checker
from autograde.judge.execute import Setting
from autograde.judge.work import Item, Verdict
from autograde.walls import sandbox
from tritonbook.course.exercises import Exercise


@pytest.fixture
def item(exercise: Exercise) -> Item:
    course = course_of(exercise)
    submission = rebuild(course, "ann", [], [])
    return Item(course, submission, submission.exercises[0])


@pytest.fixture
def batch(item: Item, tmp_path: Path) -> Batch:
    made = Batch.create(tmp_path / "b", [[item]], Setting("auto"), False, 1)
    return Batch.read(made.folder)


def test_an_item_arrives_as_it_left(batch: Batch, item: Item) -> None:
    """Kills: a node that runs something else than what the ledger will say."""
    (arrived,) = batch.items(0)
    assert arrived == item
    assert arrived.submission.digest == item.submission.digest
    assert arrived.course.digest == item.course.digest
    limits = batch.plan.setting.limits
    assert limits == sandbox.Limits() and isinstance(limits.files, int)  # a mount option


def test_only_its_owner_reads_a_batch(batch: Batch) -> None:
    """Kills: hidden tests and the secret that other users of the cluster can read."""
    for folder in (batch.folder, batch.folder / "out", batch.folder.parent):
        assert stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0, folder


@pytest.mark.parametrize(
    "text",
    [
        b"\x80\x04N.",  # a pickle
        b"{}",
        b'{"status": "PASS"}',
        b"[" * 100_000,
        None,
    ],
)
def test_a_file_that_is_no_verdict_gives_no_points(batch: Batch, text: bytes | None) -> None:
    """Kills: a result that is unpickled; a torn or foreign file that ends the driver."""
    path = batch.path(0, 0)
    if text is None:
        with path.open("wb") as file:
            file.truncate((64 << 20) + 1)
    else:
        path.write_bytes(text)
    with pytest.raises(ValueError, match="0000-000.json"):
        batch.verdict(0, 0)


def test_a_verdict_on_something_else_is_not_taken(batch: Batch, item: Item) -> None:
    """Kills: another student's, an older submission's or an earlier attempt's verdict taken; a
    maximum that the job made up."""
    good = verdict(item, "PASS")
    batch.write(0, 0, good)
    assert batch.verdict(0, 0) == good
    other = item.id.model_copy(update={"student": "bob"})
    for change in (
        {"item": other},
        {"digest": "0" * 32},
        {"course": "0" * 32},
        {"attempt": 2},
        {"maximum": 100.0, "points": 100.0},
    ):
        batch.write(0, 0, verdict(item, "PASS").model_copy(update=change))
        with pytest.raises(ValueError, match="not about"):
            batch.verdict(0, 0)


def test_a_verdict_counts_only_if_the_job_outlives_it(
    item: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: a candidate that Slurm killed first, graded as one that crashed by itself."""

    def verdicts() -> Iterator[Verdict]:
        yield verdict(item, "CRASH")
        yield verdict(item, "PASS")
        now.append(400.0)
        yield verdict(item, "PASS")
        yield verdict(item, "FAIL")

    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[-1], sleep=lambda s: now.append(now[-1] + s))
    monkeypatch.setattr(node, "time", clock)
    seen = [(found.status, now[-1]) for found in node.outlived(verdicts(), grace=300.0)]
    assert seen == [("PASS", 0.0), ("PASS", 400.0), ("CRASH", 400.0), ("FAIL", 700.0)]


def test_a_controller_that_is_down_loses_no_job(
    batch: Batch, item: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: jobs taken for lost because squeue failed; a driver that waits for ever."""

    monkeypatch.setattr(slurm.subprocess, "run", Mock(side_effect=OSError("no controller")))
    settings = SlurmSettings(poll_seconds=0.01, settle_seconds=0)
    runner = SlurmRunner(batch.folder.parent, Setting("auto"), settings)
    polls = []

    def tell(text: str) -> None:
        polls.append(text)
        if len(polls) == 3:
            batch.write(0, 0, verdict(item, "PASS"))

    runner.on_state = tell
    assert [verdict.status for verdict in runner([item])] == ["PASS"]
    assert polls[0] == "1 running" and len(polls) >= 4
    assert not (batch.folder / "batch.json").exists()

    again = Batch.create(batch.folder.parent, [[item]], Setting("auto"), False, 1)
    monkeypatch.setattr(slurm, "SILENCE", 0.0)
    with pytest.raises(SlurmError, match=r"squeue does not answer \(no controller\)"):
        list(runner([item]))
    assert Batch.read(again.folder) == again


def test_a_batch_of_an_older_format_keeps_no_hidden_tests(batch: Batch) -> None:
    """Kills: hidden tests and the secret that stay for ever, whole or half written."""
    (batch.folder / ".chunk-0001.json.77").touch()
    (batch.folder / "batch.json").write_text("{}")
    assert not list(SlurmRunner(batch.folder.parent, Setting("auto"), SlurmSettings())([]))
    assert not list(batch.folder.glob("*chunk-*"))


def test_what_the_course_lends_is_read(item: Item, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: the end of a traceback in place of a sentence."""
    monkeypatch.setattr(checker, "lending", Mock(side_effect=OSError("no disk")))
    found = checker.run_check(Mock(), None, item, 1.0, Mock())
    assert (found.status, "(no disk): install" in found.sentence) == ("INFRA", True)


def test_a_node_without_walls_stops_the_run_and_scores_nobody(
    batch: Batch, item: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: hidden tests run without walls because the login node has some."""
    monkeypatch.setattr(sandbox, "works", lambda level, image=None: level == "plain")
    node._run(batch, 0)
    assert "Nothing here keeps" in batch.refusal()
    monkeypatch.setattr(SlurmRunner, "_states", lambda self, batch: {0: "COMPLETED"})
    runner = SlurmRunner(batch.folder.parent, Setting("auto"), SlurmSettings())
    with pytest.raises(SlurmError, match=f"node {os.uname().nodename}: Nothing here keeps"):
        list(runner([item]))


@pytest.mark.parametrize(
    ("text", "changes", "says"),
    [
        ("{", [], "not JSON"),
        ("[]", [], "no settings by their names"),
        ('{"partion": "gpu"}', [], "partion"),
        ("{}", ["gpu"], "NAME=VALUE"),
        ("{}", ["minutes=soon"], "minutes"),
        ("{}", ["chunk=0"], "chunk"),
        ("{}", ["gres=gpu:1", "workers=8"], "workers must be 1"),
        ("{}", ["minutes=5"], "minutes=5 is too short"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, changes: list[str], says: str) -> None:
    """Kills: a misspelt setting that is passed over; two exercises on one GPU; jobs that Slurm
    always ends before an exercise can be done."""
    (tmp_path / "slurm.json").write_text(text)
    with pytest.raises(SlurmError, match=says):
        SlurmRunner(tmp_path, Setting("auto"), read_settings(tmp_path, changes))


def test_settings_reach_sbatch(tmp_path: Path) -> None:
    """Kills: a limit, a GPU, a partition or an account that sbatch never hears of."""
    (tmp_path / "slurm.json").write_text('{"partition": "a100", "minutes": 30, "gres": "gpu:1"}')
    settings = read_settings(tmp_path, ["account=course", "memory_gb=7.5"])
    assert settings.workers == 1  # one CUDA process at a time on a GPU
    asked = settings.for_submitit("job")
    wanted = {"partition": "a100", "time": 30, "gres": "gpu:1", "account": "course", "mem": "7680M"}
    assert wanted.items() <= asked.items()
    assert read_settings(tmp_path / "nowhere").for_submitit("job")["mem"] == "24576M"


@pytest.mark.parametrize("site", [{}, {"PARTITION": "a100", "GRES": "gpu:a100:1", "MINUTES": "90"}])
def test_the_job_scripts_and_the_runner_share_a_sites_settings(
    tmp_path: Path, site: dict[str, str]
) -> None:
    """Kills: a setting of `singularity/submit` that the runner does not know, or takes as text."""
    script = Path(__file__).resolve().parents[2] / "singularity" / "submit"
    variables = {f"WORKBOOK_{name}": value for name, value in site.items()}
    done = subprocess.run(
        [script, "settings"], env=os.environ | variables, capture_output=True, text=True, check=True
    )
    (tmp_path / "slurm.json").write_text(done.stdout)
    settings = read_settings(tmp_path)
    for name, value in site.items():
        assert str(getattr(settings, name.lower())) == value
