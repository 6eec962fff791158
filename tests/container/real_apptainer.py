"""The real Apptainer, prepared once: a Debian that has the package, and a base to build from.

Debian's package needs a newer C library than many machines have, so it is installed into a root
folder of its own, in the user's cache; 0.6 GB with the base. The script `apptainer` beside this
file runs it from there; a copy lies in the cache, and `PATH` with that folder first finds it.

What an image is made from comes from a registry in the definition file; here it is the same Debian,
made by debootstrap, with this machine's settings for pip. Nothing else of the file is changed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
DEFINITION = ROOT / "singularity" / "workbook.def"
MIRROR = "http://deb.debian.org/debian"
RELEASE = "sid"  # no release of Debian has the package
PACKAGES = ("apptainer", "squashfuse")
NEEDED = ("debootstrap", "unshare", "pivot_root", "chroot")
USER = "learner"  # number 1000 in the images and to the tool
CERTIFICATES = "/run/certificates.crt"
DONE = "made-from.txt"


class NotToBeHad(Exception):
    """There is no Apptainer to be had for this machine. One sentence."""


def cache() -> Path:
    """Where the tool is kept; `PATH` with this folder first finds it."""
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(folder) / "tritonbook" / "apptainer"


def prepare() -> Path:
    """Make what is not in the cache yet; returns the folder with `apptainer`. Raises NotToBeHad."""
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing or os.getuid():
        raise NotToBeHad(f"needs root and {', '.join(NEEDED)}")
    place = cache()
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs at once would write into each other's
        _once(place / "debian", f"{MIRROR} {RELEASE} {PACKAGES} {USER}", _tool)
        _once(place / "base", f"{MIRROR} {base_release()} {_pip_settings()}", _base)
        shutil.copy(HERE / "apptainer", place / "apptainer.new")
        (place / "apptainer.new").rename(place / "apptainer")
        if bundle := _certificates():
            shutil.copyfile(bundle, place / "certificates.crt")
    return place


def base_release() -> str:
    """The Debian release that the definition's image is made of."""
    return re.search(r"(?m)^From: debian:([a-z]+)-slim$", DEFINITION.read_text())[1]


def _once(folder: Path, recipe: str, make: Callable[[Path], None]) -> None:
    done = folder / DONE
    if done.is_file() and done.read_text() == recipe:
        return
    shutil.rmtree(folder, ignore_errors=True)
    make(folder)
    done.write_text(recipe)


def _debootstrap(release: str, folder: Path) -> None:
    address = f"{MIRROR}/dists/{release}/InRelease"
    try:
        urllib.request.urlopen(address, timeout=30).close()
    except urllib.error.URLError as problem:
        raise NotToBeHad(f"cannot fetch {address}: {problem}") from None
    command = ["debootstrap", "--variant=minbase", "--include=ca-certificates", release]
    subprocess.run([*command, str(folder), MIRROR], check=True, stdout=subprocess.DEVNULL)


def _tool(folder: Path) -> None:
    """A Debian with Apptainer and an ordinary user."""
    _debootstrap(RELEASE, folder)

    def inside(*command: str) -> str:
        done = subprocess.run(
            ["chroot", str(folder), *command], check=True, text=True, stdout=subprocess.PIPE
        )
        return done.stdout

    if "Candidate: (none)" in (said := inside("apt-cache", "policy", PACKAGES[0])) or not said:
        raise NotToBeHad(f"Debian {RELEASE} has no package {PACKAGES[0]} now")
    inside("apt-get", "install", "-qq", "-y", "--no-install-recommends", *PACKAGES)
    inside("apt-get", "clean")
    inside("useradd", "--uid", "1000", "--create-home", "--home-dir", f"/var/home/{USER}", USER)
    # The script's user namespace makes user 1000 of whoever starts it; here that is root.
    inside("chown", "-R", "root:root", f"/var/home/{USER}")
    (folder / "etc" / "hosts").touch()
    # Root's further numbers, for `build --fakeroot`: root may lack a right that the tool wants.
    for name in ("subuid", "subgid"):
        (folder / "etc" / name).write_text("root:100000:65536\n")
    os.mknod(folder / "fuse", 0o666 | 0o020000, os.makedev(10, 229))
    (folder / "fuse").chmod(0o666)


def _base(folder: Path) -> None:
    """What stands for the registry's image: no device nodes, and pip's sources as here."""
    _debootstrap(base_release(), folder)
    for node in (folder / "dev").iterdir():
        shutil.rmtree(node) if node.is_dir() and not node.is_symlink() else node.unlink()
    (folder / "etc" / "pip.conf").write_text(_pip_settings())
    # `apptainer build --bind` makes no mount points.
    for place in (*_pip_folders(), CERTIFICATES):
        target = folder / str(place).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch() if place == CERTIFICATES else target.mkdir(exist_ok=True)


def _pip() -> dict[str, str]:
    """pip's settings here that say where packages come from."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    pairs = (line.split("=", 1) for line in listed.splitlines() if "=" in line)
    values = {key.split(".")[-1]: value.strip("'\"") for key, value in pairs}
    return {
        name: values[name].replace("\\n", " ")
        for name in ("find-links", "index-url", "extra-index-url")
        if name in values
    }


def _pip_settings() -> str:
    """The same as a pip.conf for the inside of an image."""
    lines = [f"{name} = {value}" for name, value in _pip().items()]
    if _certificates():
        lines.append(f"cert = {CERTIFICATES}")
    return "\n".join(["[global]", "timeout = 180", *lines, ""])


def _pip_folders() -> list[Path]:
    """Folders of this machine that pip's settings name."""
    found = []
    for value in _pip().values():
        for scheme, path in re.findall(r"(file://)?(/[^\s'/][^\s']*)", value):
            # A local index refers to files beside it.
            place = Path(path).parent if scheme else Path(path)
            if place.is_dir() and place not in found:
                found.append(place)
    return found


def _certificates() -> str | None:
    return os.environ.get("SSL_CERT_FILE") or os.environ.get("PIP_CERT")


def definition_here(folder: Path) -> Path:
    """The workbook's definition with its first two lines changed: the base is the one made here."""
    lines = DEFINITION.read_text().splitlines(keepends=True)
    assert [line.split(":")[0] for line in lines[:2]] == ["Bootstrap", "From"]
    path = folder / "workbook.def"
    path.write_text(f"Bootstrap: localimage\nFrom: {cache() / 'base'}\n{''.join(lines[2:])}")
    return path


def environment(**more: str) -> dict[str, str]:
    """A user's plain environment, with the tool in PATH."""
    return {"PATH": f"{cache()}:/usr/bin:/bin", "HOME": f"/var/home/{USER}", **more}


def build(target: Path, *options: str, source: Path, cwd: Path) -> str:
    """`apptainer build` in `cwd`, where %files are; what it printed. AssertionError with that."""
    binds = [f"{place}:{place}" for place in _pip_folders()]
    binds += [f"{cache() / 'certificates.crt'}:{CERTIFICATES}"] if _certificates() else []
    settings = ["--bind", ",".join(binds)] if binds and source.suffix == ".def" else []
    return ran("build", "--fakeroot", *settings, *options, target, source, cwd=cwd)


def ran(*arguments: str | Path, status: int = 0, cwd: Path = ROOT, **variables: str) -> str:
    """Run apptainer; its standard output and errors as one text. AssertionError with that."""
    done = subprocess.run(
        ["apptainer", *map(str, arguments)],
        cwd=cwd,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == status, done.stdout[-5000:]
    return done.stdout
