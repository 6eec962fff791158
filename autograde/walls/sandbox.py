"""Walls around a candidate: which there are on this machine, and how a process goes behind them.

The ladder, best first. `namespaces` forks from a process that has torch loaded, so it costs no
import; the commands start Python anew.

    apptainer    a container image: --containall --no-home --net --network none [--nv]; no root
    bubblewrap   bwrap --unshare-all, read-only binds of Python and the libraries
    namespaces   the same walls built here: user, mount, PID, network and IPC namespaces
    plain        resource limits only: the student's code can read what the grader can read
"""

from __future__ import annotations

import ctypes
import functools
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tritonbook.course import exercises

from . import container

LEVELS = ("apptainer", "bubblewrap", "namespaces", "plain")
# With equal walls the one that starts fastest comes first.
ORDER = ("namespaces", "bubblewrap", "apptainer", "plain")
ROOT = Path(__file__).resolve().parents[2]
# What candidate and engine import; the folder `autograde` also holds hidden tests.
SHOWN = (ROOT / "tritonbook", ROOT / "autograde" / "walls", ROOT / "autograde" / "__init__.py")
SYSTEM_FOLDERS = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin", "/opt/conda", "/nix/store")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives", "/etc/OpenCL")
DEVICES = ("null", "zero", "full", "random", "urandom")
# An image has its own Python, libraries and locale.
OF_THE_IMAGE = ("PATH", "HOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL")
GPU_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps", "nvidia-modeset")

_NEWNS, _NEWUTS, _NEWIPC = 0x00020000, 0x04000000, 0x08000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_RDONLY, _NOSUID, _NODEV, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


class SandboxError(OSError):
    """A wall could not be built here."""


class NoWalls(RuntimeError):
    """There are no walls here that may be used: one sentence."""


@dataclass(frozen=True)
class Limits:
    """What one candidate may use."""

    call_seconds: float = 30.0  # one call of a function, or all cells
    wall_seconds: float = 240.0  # one exercise, start to verdict
    memory: int = 4 << 30  # bytes beyond what the process starts with
    files: int = 256 << 20  # bytes: temporary files, and any single file
    processes: int = 64


def available(image: Path | None = None) -> list[str]:
    """The levels that work here, best first; "plain" always does."""
    works = {
        "namespaces": _namespaces_work(),
        "bubblewrap": _bubblewrap_works(),
        "apptainer": image is not None and container_trouble(image) is None,
        "plain": True,
    }
    return [level for level in ORDER if works[level]]


def choose(level: str, image: Path | None, force: bool) -> str:
    """The level to use for `level`, which may be "auto". Raises NoWalls where there is none."""
    found = available(image)
    chosen = found[0] if level == "auto" else level
    if chosen not in found:
        why = f": {container_trouble(image)}" if chosen == "apptainer" else ""
        works = ", ".join(found)
        raise NoWalls(f"The sandbox {chosen!r} does not work here{why}. These do: {works}.")
    if chosen == "plain" and not force:
        raise NoWalls(
            "There are no walls here around students' code: it could read the hidden tests. "
            "Install bubblewrap, or run again with --force."
        )
    return chosen


@functools.cache
def _bubblewrap_works() -> bool:
    if not shutil.which("bwrap"):
        return False
    command = [*bubblewrap_command(), sys.executable, "-c", "import autograde.walls.wire"]
    done = subprocess.run(command, capture_output=True, timeout=60, env=environment())
    return done.returncode == 0


@functools.cache
def _namespaces_work() -> bool:
    """Try it in a child. The folder that becomes its root is removed again."""
    if sys.platform != "linux" or os.uname().machine not in _PIVOT_ROOT:
        return False
    with tempfile.TemporaryDirectory() as root:
        child = os.fork()
        if child == 0:
            try:
                enter_namespaces(Path(root), Limits())
                os._exit(0 if os.getpid() == 1 else 1)
            except BaseException:  # noqa: BLE001  (whatever it was: no namespaces here)
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# --- what a candidate may see


def visible_folders() -> list[Path]:
    """Folders that Python, torch, Triton and the workbook need, to be bound read-only."""
    found = [Path(folder) for folder in SYSTEM_FOLDERS]
    found += [Path(sys.base_prefix), Path(sys.prefix)]
    found += [Path(entry) for entry in sys.path if entry.endswith(("-packages", "dist-packages"))]
    kept: list[Path] = []
    for folder in found:
        if folder.is_dir() and not any(folder.is_relative_to(other) for other in kept):
            kept.append(folder)
    return [*kept, *(path for path in SHOWN if path.is_dir())]


def covered_folders() -> list[Path]:
    """Folders with solutions in them that lie inside visible ones: an empty one hides each."""
    known = [exercises.directory()]
    known += [ROOT / name for name in ("exercises", "solutions", "autograde/source")]
    found = []
    for folder in visible_folders():
        for path in [*known, *folder.glob("tritonbook/_exercises"), *folder.glob("_exercises")]:
            if path.is_dir() and path.resolve().is_relative_to(folder.resolve()):
                found.append(folder / path.resolve().relative_to(folder.resolve()))
    return list(dict.fromkeys(found))


def shown_in(folder: Path) -> Path | None:
    """The visible folder that `folder` lies in, where a candidate could read it; None: in none."""
    place = folder.resolve()
    return next((f for f in visible_folders() if place.is_relative_to(f.resolve())), None)


def visible_files() -> list[Path]:
    """Single files: the loader's cache, and what makes a package of this one's room."""
    return [
        path for path in (*map(Path, SYSTEM_FILES), *SHOWN) if path.exists() and not path.is_dir()
    ]


def devices() -> list[Path]:
    """Device nodes: the harmless ones, and the GPU's where there is one."""
    gpus = sorted(Path("/dev").glob("nvidia[0-9]*"))
    names = [Path("/dev") / name for name in (*DEVICES, *GPU_DEVICES)]
    return [path for path in (*names, *gpus) if path.exists()]


def environment() -> dict[str, str]:
    """What a candidate's environment holds: nothing of the grader's own."""
    kept = ("LANG", "LC_ALL", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "TRITON_INTERPRET")
    found = {name: os.environ[name] for name in kept if name in os.environ}
    return found | {
        "PATH": "/usr/bin:/bin",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(ROOT),
        "TRITON_CACHE_DIR": "/tmp/triton",
        "TRITONBOOK_HOME": "/tmp/home",
        "TRITONBOOK_EXERCISES": "/tmp/no-exercises",  # what cells need of them, they are lent
    }


def bubblewrap_command() -> list[str]:
    """The start of a command line; the program to run follows."""
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    command += ["--cap-drop", "ALL"]
    for name, value in environment().items():
        command += ["--setenv", name, value]
    command += ["--proc", "/proc", "--tmpfs", "/tmp", "--dev", "/dev"]
    for path in devices():
        if path.name.startswith("nvidia"):
            command += ["--dev-bind", str(path), str(path)]
    for path in [*visible_folders(), *visible_files()]:
        if path.is_symlink():
            command += ["--symlink", os.readlink(path), str(path)]
        else:
            command += ["--ro-bind", str(path), str(path)]
    for path in covered_folders():
        command += ["--tmpfs", str(path)]
    return [*command, "--chdir", "/tmp", "--remount-ro", "/"]


def container_command(image: Path, seconds: float = Limits.wall_seconds) -> list[str]:
    """The same for Apptainer or SingularityCE; Python and torch come from the image.

    The container is killed after `seconds`, even where the grader no longer exists.
    """
    variables = {k: v for k, v in environment().items() if k not in OF_THE_IMAGE}
    gpu = any(path.name.startswith("nvidia") for path in devices())
    return container.command(image, SHOWN, variables, gpu, seconds + 5)


def container_trouble(image: Path | None) -> str | None:
    """Why the level apptainer cannot be used with this image, in one sentence; None: it can."""
    return container.trouble(image, container_command(image) if image else ())


# --- resource limits, in the process that they are for


def limit_resources(limits: Limits, gpu: bool) -> None:
    """Set rlimits for this process and its children. A GPU needs address space without bound."""
    for rule, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.files),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_CPU, int(limits.wall_seconds) + 5),
    ):
        _lower(rule, value)
    if not gpu:
        limit_memory(limits.memory)


def limit_memory(size: int) -> None:
    """Let this process have `size` bytes beyond what it holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + size)


def _lower(rule: int, value: int) -> None:
    _, hard = resource.getrlimit(rule)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(rule, (bound, bound))


# --- namespaces, built by hand


def enter_namespaces(root: Path, limits: Limits, gpu: bool = False) -> None:
    """Go behind walls. Returns in the process that is inside, as number 1 of its PID namespace.

    root: an empty folder. The caller's process stays outside, waits, and ends as the inner one
    ended; killing it kills everything inside. Raises SandboxError.
    """
    os.umask(0o022)  # the user inside must get through the folders made here
    inner_uid = 100_000 + os.getpid() % 900_000 if os.getuid() == 0 else os.getuid()
    flags = _NEWNS | _NEWPID | _NEWNET | _NEWIPC | _NEWUTS
    if os.getuid() != 0:
        flags |= _NEWUSER
    uid, gid = os.getuid(), os.getgid()
    _call("unshare", flags)
    if flags & _NEWUSER:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _build_root(root, limits, gpu)
    child = os.fork()
    if child:
        _wait_outside(child)
    _mount_proc()
    _call("umount2", b"/.old", _DETACH)
    os.rmdir("/.old")
    _mount(None, "/", None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)
    if uid == 0:
        os.setgroups([])
        os.setresgid(inner_uid, inner_uid, inner_uid)
        os.setresuid(inner_uid, inner_uid, inner_uid)
    _drop_privileges()
    limit_resources(limits, gpu)
    os.chdir("/tmp")
    os.setsid()


def die_with_parent() -> None:
    """Have this process killed when the one that started it ends, however that ends."""
    _call("prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def _wait_outside(child: int) -> None:
    """Stay as the handle of the inner process: same end, and death takes it along."""
    die_with_parent()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(128 - status if status < 0 else status)


def _build_root(root: Path, limits: Limits, gpu: bool) -> None:
    """A root folder that holds read-only binds of what is visible, /dev, /tmp, and nothing else.

    gpu: with what is mounted below the visible folders too: containers get the driver's libraries
    as mounts below /usr.
    """
    _mount(None, "/", None, _REC | _PRIVATE)
    _mount("tmpfs", root, "tmpfs", _NOSUID | _NODEV, "size=1m,mode=755")
    alone = os.getuid() == 0 and not _in_user_namespace() and not gpu
    recursive = 0 if alone else _REC
    size = limits.files
    for name in ("tmp", "dev/shm"):  # first: the workbook itself may lie below /tmp
        (root / name).mkdir(parents=True, exist_ok=True)
        _mount("tmpfs", root / name, "tmpfs", _NOSUID | _NODEV, f"size={size},mode=1777")
    for path in [*visible_folders(), *visible_files(), *devices()]:
        target = root / path.relative_to("/")
        if path.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(os.readlink(path))
            continue
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        _mount(path, target, None, _BIND | recursive)
        if not path.is_relative_to("/dev"):
            _mount(None, target, None, _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)
    for path in covered_folders():
        target = root / path.relative_to("/")
        _mount("tmpfs", target, "tmpfs", _NOSUID | _NODEV | _RDONLY, "size=4k,mode=755")
    (root / "proc").mkdir()
    (root / ".old").mkdir()
    number = _PIVOT_ROOT[os.uname().machine]
    _call("syscall", number, str(root).encode(), str(root / ".old").encode())
    os.chdir("/")


def _in_user_namespace() -> bool:
    """Whether this process is root only inside a user namespace."""
    return Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"]


def _mount_proc() -> None:
    """The new PID namespace's own /proc; some containers forbid it, and little is lost."""
    try:
        _mount("proc", "/proc", "proc", _NOSUID | _NODEV)
    except SandboxError:
        return


def _drop_privileges() -> None:
    """No capabilities, no new privileges, no core; die with the process outside."""

    class Header(ctypes.Structure):
        _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]

    class Data(ctypes.Structure):
        _fields_ = [(name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable")]

    _call("capset", ctypes.byref(Header(0x20080522, 0)), ctypes.byref((Data * 2)()))
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call("prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)
    die_with_parent()  # last: a change of user clears it


def _mount(
    source: Path | str | None,
    target: Path | str,
    kind: str | None,
    flags: int,
    options: str | None = None,
) -> None:
    texts = [None if text is None else str(text).encode() for text in (source, target, kind)]
    data = None if options is None else options.encode()
    try:
        _call("mount", texts[0], texts[1], texts[2], ctypes.c_ulong(flags), data)
    except SandboxError as error:
        raise SandboxError(error.errno, f"mount {target}: {error.strerror}") from None


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    """Call a libc function that returns 0. Raises SandboxError."""
    if getattr(_libc(), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise SandboxError(number, f"{name}: {os.strerror(number)}")


def close_other_files(kept: Sequence[int]) -> None:
    """Close every descriptor but `kept`; standard streams become /dev/null unless kept."""
    null = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        if stream not in kept:
            os.dup2(null, stream)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number > 2 and number not in kept:
            try:
                os.close(number)
            except OSError:
                continue  # the descriptor of the listing itself
