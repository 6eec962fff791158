"""A Slurm of one node for the job scripts: munge, controller and daemon in a folder of their own.

Needs root and Debian's packages slurmctld, slurmd, slurm-client and munge. Two character devices
stand for two GPUs. The node claims more cores and memory than there may be, and no limit on memory
is enforced: that takes cgroups.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch")
CONFIGURATION = """\
ClusterName=course
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2
KillWait=20
ReturnToService=2
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=64000 Gres=gpu:2 State=UNKNOWN
PartitionName=gpu Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing_tools() -> list[str]:
    """What is not installed; being another user than root counts."""
    found = [tool for tool in NEEDED if not shutil.which(tool)]
    return found + (["root"] if os.getuid() else [])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Slurm:
    """Start with `with Slurm(folder) as slurm`; `environment` lets sbatch and scontrol find it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self) -> Slurm:
        folder, host = self.folder, socket.gethostname().split(".")[0]
        for name in ("state", "spool"):
            (folder / name).mkdir(parents=True)
        ports = {"controller": free_port(), "daemon": free_port()}
        values = {"folder": folder, "host": host, **ports}
        (folder / "slurm.conf").write_text(CONFIGURATION.format(**values))
        (folder / "gres.conf").write_text(f"NodeName={host} Name=gpu File={folder}/gpu[0-1]\n")
        for number in range(2):
            os.mknod(folder / f"gpu{number}", 0o600 | 0o020000, os.makedev(1, 3))
        key = folder / "munge.key"
        key.write_bytes(os.urandom(256))
        key.chmod(0o600)
        munge = {
            "key-file": key,
            "socket": folder / "munge.socket",
            "pid-file": folder / "munged.pid",
        }
        munge |= {"log-file": folder / "munged.log", "seed-file": folder / "munge.seed"}
        self._run("munged", "--force", *(f"--{name}={path}" for name, path in munge.items()))
        self._run("slurmctld", "-c")
        self._run("slurmd")
        end = time.monotonic() + 200
        while "idle" not in self.output("sinfo", "-h", "-o", "%t"):
            if time.monotonic() > end:
                raise RuntimeError((folder / "slurmctld.log").read_text()[-2000:])
            time.sleep(0.2)
        return self

    def __exit__(self, *failure: object) -> None:
        files = [self.folder / f"{name}.pid" for name in ("slurmd", "slurmctld", "munged")]
        pids = [int(file.read_text()) for file in files if file.exists()]
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + 15
        while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
            time.sleep(0.1)

    def _run(self, *command: str) -> None:
        subprocess.run(command, env=self.environment, check=True)

    def output(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        return done.stdout

    def submit(self, *arguments: str | Path, cwd: Path, **variables: str) -> str:
        """sbatch; returns the job's number. Raises CalledProcessError with sbatch's words."""
        command = ["sbatch", "--parsable", *map(str, arguments)]
        done = subprocess.run(
            command,
            env={**self.environment, **variables},
            cwd=cwd,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def state(self, job: str) -> dict[str, str]:
        """What scontrol says of a job: JobState, ExitCode, ..."""
        words = self.output("scontrol", "-o", "show", "job", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def wait(self, job: str, seconds: float = 400) -> dict[str, str]:
        """Wait until the job has ended; its last state. Raises TimeoutError."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.state(job)
            if found.get("JobState") not in ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING"):
                return found
            time.sleep(0.3)
        raise TimeoutError(f"job {job}: {self.state(job)}")
