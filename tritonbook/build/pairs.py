"""A Python with each pair of torch and Triton, made once with pip, outside the checkout.

torch and Triton are released together, so a version that the course claims to support is a pair.
The pair that is installed here runs in this Python. Every other one gets a virtual environment in
the user's cache folder, with the pins of constraints.txt for everything else: what the container's
build does with `--build-arg TORCH=... --build-arg TRITON=...`. About 5 GB each, because torch's
releases on PyPI bring the CUDA libraries; they run on a CPU all the same.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WHEELS = ROOT / "build" / "out" / "triton"
# What the gates import beside the pair itself.
BESIDE = ("numpy", "matplotlib", "rich")
DONE = "made-from.txt"
# An environment variable: how many seconds pip may take for a pair (default 3600).
PATIENCE = "WORKBOOK_FETCH_SECONDS"


@dataclass(frozen=True)
class Pair:
    """One release of torch and the Triton that it was built for."""

    torch: str
    triton: str

    def __str__(self) -> str:
        return f"torch {self.torch} with Triton {self.triton}"

    def installed(self) -> bool:
        """Is it what this Python has? A build of one's own (2.13.0+cpu) is the same release."""
        try:
            found = [version(name).split("+")[0] for name in ("torch", "triton")]
        except PackageNotFoundError:
            return False
        return found == [self.torch, self.triton]


# The oldest supported, one in the middle, the pinned, the newest.
PAIRS = (
    Pair("2.6.0", "3.2.0"),
    Pair("2.9.1", "3.5.1"),
    Pair("2.13.0", "3.7.1"),
    Pair("2.15.0", "3.9.0"),
)


class NotToBeHad(Exception):
    """pip finds no such torch for this Python and platform. One sentence."""


def folder(pair: Pair) -> Path:
    """Where a pair's environment is kept, one for each Python."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    python = f"py{sys.version_info[0]}{sys.version_info[1]}"
    name = f"torch-{pair.torch}-triton-{pair.triton}-{python}"
    return Path(cache) / "tritonbook" / "pairs" / name


def python_of(pair: Pair) -> Path:
    """The Python that has the pair; its environment is made when it is not there or out of date.

    Raises NotToBeHad.
    """
    if pair.installed():
        return Path(sys.executable)
    place = folder(pair)
    place.parent.mkdir(parents=True, exist_ok=True)
    with open(place.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs at once would write into each other's
        wanted = pins(pair)
        done = place / DONE
        if not (done.is_file() and done.read_text(encoding="utf-8") == wanted):
            _make(pair, place, wanted)
    return place / "bin" / "python"


def pins(pair: Pair) -> str:
    """constraints.txt with this pair in it. sympy is free: each torch names its own."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^torch==.*$", f"torch=={pair.torch}", text)
    text = re.sub(r"(?m)^triton==.*$", f"triton=={pair.triton}", text)
    return re.sub(r"(?m)^sympy==.*\n", "", text)


def _make(pair: Pair, place: Path, wanted: str) -> None:
    print(f"making {place} (once; about 3 GB to fetch)", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
    constraints = place / "constraints.txt"
    constraints.write_text(wanted, encoding="utf-8")
    command = [str(place / "bin" / "python"), "-m", "pip", "install", "-q"]
    command += [
        "--disable-pip-version-check",
        "--no-cache-dir",
        "--no-compile",
        "--only-binary",
        ":all:",
    ]
    command += ["-c", str(constraints), f"torch=={pair.torch}", f"triton=={pair.triton}", *BESIDE]
    seconds = float(os.environ.get(PATIENCE) or 3600)
    try:
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=seconds)
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
    except subprocess.TimeoutExpired:
        done, said = None, [f"pip did not end in {seconds:g} s"]
    if done is None or done.returncode:
        shutil.rmtree(place, ignore_errors=True)  # gigabytes, and perhaps the disk is full
        raise NotToBeHad((said or ["pip install failed"])[-1].removeprefix("ERROR:").strip())
    (place / DONE).write_text(wanted, encoding="utf-8")


def unpacked_triton(release: str) -> Path:
    """The folder of an unpacked Triton wheel, to be put before the installed one: no torch of its.

    For where the whole pair is not to be had, or too much to fetch. Raises CalledProcessError.
    """
    place = WHEELS / release
    if (place / "triton").is_dir():
        return place
    downloads = WHEELS / "wheels"
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "-d", str(downloads), f"triton=={release}"], check=True)
    (wheel,) = downloads.glob(f"triton-{release}-*.whl")
    draft = WHEELS / f"{release}.part"
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            mode = member.external_attr >> 16
            path = archive.extract(member, draft)
            if mode & 0o111:  # zipfile forgets that ptxas is a program
                os.chmod(path, 0o755)
    wheel.unlink()
    draft.rename(place)  # a folder of that name is whole
    return place
