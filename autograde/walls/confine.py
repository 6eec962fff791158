"""What a process does to itself before it runs a student's code: limits, and namespaces by hand."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import resource
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from . import visible
from .refusals import refuse_calls

_NEWNS, _NEWUTS, _NEWIPC = 0x00020000, 0x04000000, 0x08000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_RDONLY, _NOSUID, _NODEV, _REMOUNT, _BIND, _REC, _PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_JOIN_SESSION_KEYRING = 1
MOST_FILES = 1 << 16  # in a temporary folder: each takes a kilobyte that counts for no process
_LIBC = ctypes.CDLL(None, use_errno=True)


class SandboxError(OSError):
    """A wall could not be built here."""


@dataclass(frozen=True)
class Limits:
    """What one candidate may use."""

    call_seconds: float = 30.0  # one call of a function, or all cells
    wall_seconds: float = 240.0  # one exercise, start to verdict
    memory: int = 4 << 30  # bytes beyond what the process starts with
    files: int = 256 << 20  # bytes: temporary files, and any single file
    processor_seconds: float | None = None  # of one process; None: as long as an exercise may take
    processes: int = 64  # and threads; four times as many where a GPU's driver has its own

    def without_walls(self) -> Limits:
        """Where the processes of whoever grades count too."""
        return replace(self, processes=8 * self.processes)


# --- resource limits


def _leave_keyring() -> None:
    """Have a session keyring of one's own, an empty one. Raises SandboxError.

    The one that was there holds the keys of whoever grades: Kerberos, AFS, encrypted folders. No
    namespace keeps it apart.
    """
    number = _KEYCTL.get(os.uname().machine)
    if number and _LIBC.syscall(number, _JOIN_SESSION_KEYRING, None) < 0:
        problem = ctypes.get_errno()
        # A kernel without keys; a container that forbids the call to all of us.
        if problem not in (errno.ENOSYS, errno.EPERM, errno.EACCES):
            raise SandboxError(problem, f"keyctl: {os.strerror(problem)}")


def give_way() -> None:
    """Where memory is short, this process goes first; where processors are, it waits longest."""
    with contextlib.suppress(OSError):  # not everywhere is there such a file
        Path("/proc/self/oom_score_adj").write_text("1000")
    os.nice(5)


def limit_resources(limits: Limits, gpu: bool) -> None:
    """Set rlimits for this process and its children. A GPU needs address space without bound."""
    _leave_keyring()  # before the filter, which refuses that too
    for rule, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.files),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_NPROC, limits.processes * (4 if gpu else 1)),
        (resource.RLIMIT_CPU, int(limits.processor_seconds or limits.wall_seconds) + 5),
    ):
        _lower(rule, value)
    if not gpu:
        limit_memory(limits.memory)
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    with contextlib.suppress(SandboxError):  # a kernel without filters
        refuse_calls(functools.partial(_call, "prctl"), gpu)


def limit_memory(size: int) -> None:
    """Let this process have `size` bytes beyond what it holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + size)


def _lower(rule: int, value: int) -> None:
    _, hard = resource.getrlimit(rule)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(rule, (bound, bound))


def close_other_files(kept: Sequence[int]) -> None:
    """Close every descriptor but `kept`; standard streams become /dev/null unless kept."""
    null = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        if stream not in kept:
            os.dup2(null, stream)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number > 2 and number not in kept:
            with contextlib.suppress(OSError):  # the descriptor of the listing itself
                os.close(number)


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
    with contextlib.suppress(SandboxError):  # some containers forbid it, and little is lost
        _mount("proc", "/proc", "proc", _NOSUID | _NODEV)  # of the new PID namespace
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
    if status == -signal.SIGKILL:  # 137 can be chosen by a student's code
        os.kill(os.getpid(), signal.SIGKILL)
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
        options = f"size={size},nr_inodes={MOST_FILES},mode=1777"
        _mount("tmpfs", root / name, "tmpfs", _NOSUID | _NODEV, options)
    for path in [*visible.visible_folders(), *visible.visible_files(), *visible.devices()]:
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
    for path in visible.covered_folders():
        target = root / path.relative_to("/")
        _mount("tmpfs", target, "tmpfs", _NOSUID | _NODEV | _RDONLY, "size=4k,mode=755")
    (root / "proc").mkdir()
    (root / ".old").mkdir()
    number = PIVOT_ROOT[os.uname().machine]
    _call("syscall", number, str(root).encode(), str(root / ".old").encode())
    os.chdir("/")


def _in_user_namespace() -> bool:
    """Whether this process is root only inside a user namespace."""
    return Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"]


def _drop_privileges() -> None:
    """No capabilities, no core; die with the process outside."""

    class Header(ctypes.Structure):
        _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]

    class Data(ctypes.Structure):
        _fields_ = [(name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable")]

    _call("capset", ctypes.byref(Header(0x20080522, 0)), ctypes.byref((Data * 2)()))
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


def _call(name: str, *arguments: object) -> None:
    """Call a libc function that returns 0. Raises SandboxError."""
    if getattr(_LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise SandboxError(number, f"{name}: {os.strerror(number)}")
