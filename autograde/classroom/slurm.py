"""Run items in Slurm jobs: arrays of chunks through submitit, verdicts through files.

submitit writes the job script, submits the array and starts Python on the node. What it pickles is
the name of a function of ours and a path; its result files are never opened here. Whether a job
still lives is asked of `squeue`: `sacct`, which submitit asks, knows nothing without accounting.

A driver that was killed finds its jobs again: a batch is on the disk before it is submitted, and
its jobs carry its name.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, ValidationError

from tritonbook.command import BadInput, sentence
from tritonbook.words import later

from ..judge.execute import Setting, not_run
from ..judge.work import Asked, Item, Record, Verdict
from .batch import Batch
from .node import run_chunk

ALIVE = {
    *("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "RESIZING"),
    *("REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SIGNALING", "SPECIAL_EXIT", "STAGE_OUT"),
}
MAX_ARRAY = 1000  # jobs of an array: Slurm's own default limit is 1001
SILENCE = 600.0  # seconds without an answer from squeue after which the driver gives up


class SlurmError(BadInput):
    """Slurm cannot be used, or a node refused: one sentence. No verdict is lost by it."""


class SlurmSettings(Record):
    """`slurm.json` in the course folder, and `--slurm NAME=VALUE`."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    gres: str | None = None  # such as "gpu:1"; None: no GPU, Triton's interpreter
    minutes: int = Field(60, ge=1)  # limit of one job
    workers: int = Field(4, ge=1)  # exercises at once in a job, a core each
    memory_gb: float | None = Field(None, gt=0)  # None: 6 GB a worker
    chunk: int = Field(20, ge=1)  # exercises a job
    jobs_at_once: int = Field(50, ge=1)
    setup: tuple[str, ...] = ()  # shell lines on the node before Python, such as "module load ..."
    python: str | None = None  # what starts Python on the node; None: the Python that runs this
    options: dict[str, str] = {}  # further options of sbatch, by long name
    poll_seconds: float = Field(5.0, gt=0)
    settle_seconds: float = Field(15.0, ge=0)  # a shared disk may show a file that late

    def for_submitit(self, name: str) -> dict[str, object]:
        """The same as submitit's parameters."""
        memory = self.memory_gb or 6.0 * self.workers
        found = {
            **self.model_dump(include={"partition", "account", "qos", "gres"}),
            "job_name": name,
            "time": self.minutes,
            "cpus_per_task": self.workers,
            "mem": f"{round(memory * 1024)}M",
            "array_parallelism": self.jobs_at_once,
            "setup": list(self.setup) or None,
            "additional_parameters": self.options,
        }
        return {key: value for key, value in found.items() if value}


def read_settings(root: Path, changes: Iterable[str] = ()) -> SlurmSettings:
    """`root/slurm.json` where there is one, with `NAME=VALUE` changes on top.

    Raises SlurmError, one sentence, for what is not understood.
    """
    path = root / "slurm.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as problem:
        raise SlurmError(f"{path} is not JSON ({problem}): mend it there.") from None
    if not isinstance(found, dict):
        raise SlurmError(
            f'{path} holds no settings by their names: write it as {{"partition": "gpu"}}.'
        )
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise SlurmError(f"--slurm {change!r}: write NAME=VALUE, such as partition=gpu.")
        found[name] = value
    try:
        settings = SlurmSettings.model_validate(found)
    except ValidationError as problem:
        first = problem.errors()[0]
        name, why = ".".join(str(part) for part in first["loc"]), first["msg"]
        known = ", ".join(SlurmSettings.model_fields)
        if first["type"] == "extra_forbidden":
            raise SlurmError(
                f"There is no Slurm setting {name}, which slurm.json or --slurm has: the settings "
                f"are {known}."
            ) from None
        raise SlurmError(f"Slurm setting {name}, of slurm.json or --slurm: {why}.") from None
    if settings.gres and "gpu" in settings.gres and settings.workers > 1:
        if "workers" in found:
            raise SlurmError(
                "With a GPU, the Slurm setting workers must be 1: write that, or leave it out."
            )
        settings = settings.model_copy(update={"workers": 1})
    return settings


@dataclass
class _Followed:
    """A batch that this driver waits for."""

    batch: Batch
    open: set[tuple[int, int]]  # (chunk, number) without a verdict yet
    gone: dict[int, float] = field(default_factory=dict)  # chunk -> since when it is not in Slurm
    states: dict[int, str] = field(default_factory=dict)
    done: float = 0.0  # since when nothing is open


class SlurmRunner:
    """Runs items in job arrays. `folder` lies on a disk that the nodes share."""

    def __init__(
        self, folder: Path, setting: Setting, settings: SlurmSettings, force: bool = False
    ):
        self.folder, self.setting, self.settings, self.force = folder, setting, settings, force
        self.on_state: Callable[[str], None] = lambda text: None
        self.heard = time.monotonic()
        seconds = setting.limits.wall_seconds
        if 60 * settings.minutes < seconds + 120:
            raise SlurmError(
                f"The Slurm setting minutes={settings.minutes} is too short, for one exercise may "
                f"take {seconds:g} s, and a node two minutes to start: raise it, or lower "
                "--wall-seconds."
            )

    def __call__(self, items: Iterable[Item]) -> Generator[Verdict, None, None]:
        """Verdicts as they come. Left early, jobs go on; the next call takes their verdicts."""
        by_key = {item.asked: item for item in items}
        followed = [self._follow(batch, by_key) for batch in self._earlier()]
        covered = {one.batch.plan.chunks[c][n] for one in followed for c, n in one.open}
        rest = [item for key, item in by_key.items() if key not in covered]
        if rest:
            followed.append(self._follow(self._submit(rest), by_key))
        while followed:
            for one in followed:
                yield from self._collect(one, by_key)
            followed = [one for one in followed if not self._over(one)]
            self.on_state(self._summary(followed))
            if followed:
                time.sleep(self.settings.poll_seconds)

    # --- batches

    def _earlier(self) -> list[Batch]:
        """Batches of a driver that was ended before they were."""
        found = []
        for folder in sorted(self.folder.glob("autograde-*")):
            # Without a whole batch.json it is closed, or its driver was killed before it was
            # submitted. Killed a moment later: Slurm knows no job, which is lost like any other.
            with contextlib.suppress(OSError):
                try:
                    found.append(Batch.read(folder))
                except (FileNotFoundError, ValidationError):  # nobody will wait for it
                    for path in folder.glob("*chunk-*.json*"):  # hidden tests, drafts too
                        path.unlink()
        return found

    def _follow(self, batch: Batch, by_key: dict[Asked, Item]) -> _Followed:
        """What of a batch is still asked for; jobs for anything else are cancelled."""
        chunks = batch.plan.chunks
        places = {(c, n) for c, chunk in enumerate(chunks) for n in range(len(chunk))}
        asked = {(c, n) for c, n in places if chunks[c][n] in by_key}
        if not asked:
            self._cancel(batch)
        return _Followed(batch, asked)

    def _submit(self, items: list[Item]) -> Batch:
        import submitit

        # What went wrong once runs alone, so that it can take no neighbour along.
        fresh = [item for item in items if item.attempt == 1]
        size = self.settings.chunk
        chunks = [fresh[at : at + size] for at in range(0, len(fresh), size)]
        chunks += [[item] for item in items if item.attempt > 1]
        chunks = chunks[:MAX_ARRAY]  # the rest stays open, and comes with the next call
        settings = self.settings
        batch = Batch.create(self.folder, chunks, self.setting, self.force, settings.workers)
        try:
            executor = submitit.SlurmExecutor(batch.folder / "submitit", python=settings.python)
            executor.update_parameters(**settings.for_submitit(batch.folder.name))
            executor.map_array(run_chunk, [str(batch.folder)] * len(chunks), range(len(chunks)))
        except (RuntimeError, OSError, subprocess.SubprocessError) as problem:
            batch.close()
            said = sentence(problem).rstrip(".")
            raise SlurmError(
                f"Slurm took no job ({said}): mend slurm.json or --slurm, and run the same command."
            ) from None
        return batch

    # --- verdicts

    def _collect(self, one: _Followed, by_key: dict[Asked, Item]) -> Iterator[Verdict]:
        """Verdicts of one batch that are there now, and INFRA for those that never will be."""
        # Asked before the files are read: a job that is over now has written all that it will.
        one.states = self._states(one.batch)
        if refusal := one.batch.refusal():
            one.batch.close()
            raise SlurmError(refusal)
        now = time.monotonic()
        for chunk in {chunk for chunk, _ in one.open}:
            if one.states.get(chunk, "GONE").split()[0] in ALIVE:
                one.gone.pop(chunk, None)
            else:
                one.gone.setdefault(chunk, now)
        for chunk, number in sorted(one.open):
            item = by_key[one.batch.plan.chunks[chunk][number]]
            try:
                verdict = one.batch.verdict(chunk, number)
            except ValueError as problem:
                verdict = not_run(item, later(f"The job's result was not taken: {problem}."))
            since = one.gone.get(chunk)
            if verdict is None and since and now - since >= self.settings.settle_seconds:
                state = one.states.get(chunk, later("not known to Slurm any more"))
                said = later(
                    f"The Slurm job ended ({state}) before this exercise was done: raise minutes "
                    "or memory_gb in slurm.json, then run `autograde retry`."
                )
                verdict = not_run(item, said)
            if verdict is not None:
                one.open.discard((chunk, number))
                yield verdict

    def _over(self, one: _Followed) -> bool:
        if one.open:
            return False
        now = time.monotonic()
        one.done = one.done or now
        alive = any(state.split()[0] in ALIVE for state in one.states.values())
        if alive and now - one.done < self.settings.settle_seconds:
            return False  # Python is ending
        if alive:  # a job whose daemon died stays in the queue until its limit
            self._cancel(one.batch)
        one.batch.close()
        return True

    # --- Slurm

    def _cancel(self, batch: Batch) -> None:
        """Best effort: a job that stays does no harm, its verdicts are not waited for."""
        with contextlib.suppress(OSError):
            subprocess.run(["scancel", f"--name={batch.folder.name}"], capture_output=True)

    def _states(self, batch: Batch) -> dict[int, str]:
        """State and reason of each chunk's job, as far as Slurm knows it. Raises SlurmError when
        Slurm has been silent for long."""
        command = ["squeue", "--noheader", "--array", "--states=all", f"--name={batch.folder.name}"]
        command.append("--format=%K|%T|%r|%N")
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            problem = done.stderr.strip() if done.returncode else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = str(error)
        if problem:
            if time.monotonic() - self.heard > SILENCE:
                raise SlurmError(
                    f"Slurm's squeue does not answer ({problem}): the jobs go on; run the same "
                    "command later to take what they found."
                )
            # Nothing is known: nobody is taken for ended.
            return {chunk: "RUNNING" for chunk in range(len(batch.plan.chunks))}
        self.heard = time.monotonic()
        found = {}
        for line in done.stdout.splitlines():
            task, state, reason, node = line.split("|")
            number = int(task) if task.isdigit() else 0  # one chunk alone is no array
            said = [word for word in (state, reason, node) if word not in ("", "None", "(null)")]
            found[number] = " ".join(said)
        return found

    def _summary(self, followed: list[_Followed]) -> str:
        counts: Counter[str] = Counter()
        for one in followed:
            for chunk in {chunk for chunk, _ in one.open}:
                words = one.states.get(chunk, "ended").lower().split()
                counts[" ".join(words[: 2 if words[0] == "pending" else 1])] += 1
        return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
