"""A stand-in for building with Apptainer, where there is none: the same sections, really executed.

python tests/container/standin.py FOLDER [--base BASE] makes FOLDER a root file system:
1. debootstrap of the distribution that the definition's image is made from (or a copy of BASE);
2. %files copied, %post run inside it under bubblewrap, with the network, as root;
3. %environment and %runscript put where Apptainer puts them;
4. %test run inside it, read-only, without network and without a home.
The script `apptainer` beside this file then runs commands in such a root. What this does not show:
Apptainer's own reading of the file, image formats, `--nv`, set-uid or user-namespace set-up.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tritonbook.build import definition

ROOT = Path(__file__).resolve().parents[2]
DEFINITION = ROOT / "singularity" / "workbook.def"
MIRROR = "http://deb.debian.org/debian"
NEEDED = ("debootstrap", "bwrap")
SKIPPED = ("__pycache__", ".ipynb_checkpoints", "*.egg-info")
CERTIFICATES = "/run/certificates.crt"


def missing_tools() -> list[str]:
    """Tools that this needs and that are not installed."""
    return [tool for tool in NEEDED if not shutil.which(tool)]


def _pip_options() -> tuple[list[str], list[str]]:
    """bwrap options that give pip inside the same sources as pip here: (binds, variables)."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True
    ).stdout
    found = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    values = {key.split(".")[-1]: value.strip("'\"") for key, value in found.items()}
    binds, variables = [], []
    for name in ("find-links", "index-url", "extra-index-url"):
        if name not in values:
            continue
        value = values[name].replace("\\n", " ")
        variables += ["--setenv", f"PIP_{name.upper().replace('-', '_')}", value]
        for scheme, path in re.findall(r"(file://)?(/[^\s'/][^\s']*)", value):
            # A local index refers to files beside it.
            place = Path(path).parent if scheme else Path(path)
            if place.exists():
                binds += ["--ro-bind", str(place), str(place)]
    bundle = os.environ.get("SSL_CERT_FILE") or values.get("cert")
    if bundle:
        binds += ["--ro-bind", bundle, CERTIFICATES]
        variables += [
            "--setenv",
            "PIP_CERT",
            CERTIFICATES,
            "--setenv",
            "SSL_CERT_FILE",
            CERTIFICATES,
        ]
    return binds, variables


def bootstrap(folder: Path, base: Path | None) -> None:
    """A minimal Debian: copied from `base`, or made by debootstrap."""
    if base:
        subprocess.run(["cp", "-a", f"{base}/.", str(folder)], check=True)
        return
    image = definition.parse(DEFINITION.read_text()).header["from"]
    release = image.partition(":")[2].removesuffix("-slim")
    command = ["debootstrap", "--variant=minbase", "--include=ca-certificates"]
    subprocess.run([*command, release, str(folder), MIRROR], check=True, stdout=subprocess.DEVNULL)


def copy_files(found: definition.Definition, folder: Path) -> None:
    """What %files says."""
    for source, destination in found.files():
        target = folder / destination.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / source).is_dir():
            ignore = shutil.ignore_patterns(*SKIPPED)
            shutil.copytree(ROOT / source, target, ignore=ignore, dirs_exist_ok=True)
        else:
            shutil.copyfile(ROOT / source, target)


def _shell(folder: Path, script: str, options: list[str]) -> None:
    command = ["bwrap", "--die-with-parent", *options, "/bin/sh", "-c", script]
    subprocess.run(command, check=True)


def run_post(found: definition.Definition, folder: Path, arguments: dict[str, str]) -> None:
    """%post: writable, with the network; apt changes users, so capabilities stay."""
    binds, variables = _pip_options()
    options = ["--bind", str(folder), "/", "--dev", "/dev", "--proc", "/proc"]
    options += [
        "--perms",
        "1777",
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/run",
        "--ro-bind",
        "/etc/resolv.conf",
        "/etc/resolv.conf",
        *binds,
    ]
    options += ["--clearenv", "--setenv", "PATH", "/usr/sbin:/usr/bin:/sbin:/bin", *variables]
    options += ["--cap-add", "ALL"]
    _shell(folder, found.filled("post", **arguments), options)


def install_scripts(found: definition.Definition, folder: Path) -> None:
    """%environment and %runscript at the paths that Apptainer uses."""
    place = folder / ".singularity.d"
    (place / "env").mkdir(parents=True, exist_ok=True)
    (place / "env" / "90-environment.sh").write_text(found.filled("environment"))
    (place / "runscript").write_text(f"#!/bin/sh\n{found.filled('runscript')}")
    (place / "runscript").chmod(0o755)


def run_test(found: definition.Definition, folder: Path) -> None:
    """%test: the root read-only, no network, a home that does not exist."""
    options = ["--ro-bind", str(folder), "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    options += ["--unshare-net", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin"]
    options += ["--setenv", "HOME", "/nowhere"]
    script = f". /.singularity.d/env/90-environment.sh\n{found.filled('test')}"
    _shell(folder, script, options)


def build(folder: Path, base: Path | None = None, arguments: dict[str, str] | None = None) -> None:
    """Everything in order; raises CalledProcessError where a section fails."""
    found = definition.parse(DEFINITION.read_text())
    folder.mkdir(parents=True)
    steps = {
        "bootstrap": lambda: bootstrap(folder, base),
        "%files": lambda: copy_files(found, folder),
        "%post": lambda: run_post(found, folder, arguments or {}),
        "%environment": lambda: install_scripts(found, folder),
        "%test": lambda: run_test(found, folder),
    }
    for name, step in steps.items():
        start = time.monotonic()
        print(f"== {name}", flush=True)
        step()
        print(f"== {name}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base", type=Path)
    chosen = parser.parse_args()
    build(chosen.folder, chosen.base)
