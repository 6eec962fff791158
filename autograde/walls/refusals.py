"""System calls that a submission's processes may not make: a filter that the kernel holds them to.

What gives memory that belongs to no process, and so counts for none: shared memory of System V's
and files without a name; and new user namespaces, whose root may mount a `tmpfs`. And the keyrings
of whoever grades.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # places in what a filter is shown
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NEWUSER = 0x10000000
_FOREIGN = 0x40000000  # from here on: x86_64's calls with short pointers
_PR_SET_SECCOMP, _FILTER = 22, 2

# By machine, what audit calls it, and the numbers of calls.
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_KEYS = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}  # add_key, request_key, keyctl
_MEMORY = {"x86_64": (29, 319, 447), "aarch64": (194, 279, 447)}  # shmget, memfd_create and _secret
_FLAGS = {"x86_64": (56, 272), "aarch64": (220, 97)}  # clone, unshare
_CLONE3 = 435  # its flags lie in memory, where no filter looks: C libraries then take `clone`


class _Step(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_uint16),
        ("yes", ctypes.c_uint8),
        ("no", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    ]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("steps", ctypes.POINTER(_Step))]


def _steps(machine: str, gpu: bool) -> list[tuple[int, int, int, int]]:
    """Instructions: code, how many to pass over where it holds, where it does not, a value."""
    refused = _RETURN, 0, 0, _REFUSE | errno.EPERM
    found = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _AUDIT[machine]),
        refused,
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _FOREIGN),
        refused,
    ]
    # A GPU's driver may want memory of the kind, and its memory is without bound anyway.
    for number in (*_KEYS[machine], *(() if gpu else _MEMORY[machine])):
        found += [(_EQUAL, 0, 1, number), refused]
    found += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _REFUSE | errno.ENOSYS)]
    for number in _FLAGS[machine]:
        found += [(_EQUAL, 0, 3, number), (_LOAD, 0, 0, _FIRST_ARGUMENT)]
        found += [(_ANY_BIT, 0, 1, _NEWUSER), refused, (_LOAD, 0, 0, _NUMBER)]
    return [*found, (_RETURN, 0, 0, _ALLOW)]


def refuse_calls(prctl: Callable[..., None], gpu: bool) -> None:
    """Put the filter before this process and its children. No new privileges must be set."""
    machine = os.uname().machine
    if machine not in _AUDIT:
        return
    steps = [_Step(*step) for step in _steps(machine, gpu)]
    program = _Program(len(steps), (_Step * len(steps))(*steps))
    prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)
