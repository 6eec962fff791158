"""In the worker: compile every kernel that a wrapper launches, and read off the facts."""

from __future__ import annotations

import inspect
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton

from ..port.compat import fake_gpu, hook_launch, launch_arguments, name_triton_quickly
from ..port.machine_faults import ToolFailed, machines_fault
from ..port.tuners import timing
from .compile_errors import explain
from .occupancy import occupancy
from .pretend import PretendCuda

name_triton_quickly()


def compile_all(prepare: Callable[[], Any], request: dict[str, Any]) -> dict[str, Any]:
    """Answer to a compile request: {"kernels": [...]} or {"error": {...}}."""
    arch = request["arch"]
    found: dict[str, dict[str, Any]] = {}  # each kernel once, with the launch that asked for it
    failed = None

    def around(call: Any, fn: Any, grid: Any, args: Any, kwargs: Any) -> Any:
        nonlocal failed
        try:
            compiled = call()
        except Exception as error:
            failed = error
            raise
        if compiled is None or timing():  # on an empty grid a launch may be skipped
            return compiled
        named = launch_arguments(fn, args, kwargs)
        key = compiled.hash
        if key not in found:
            told = {"constants": _constants(fn, named), "grid": _grid(grid, named)}
            found[key] = {"launches": 0, **_facts(compiled, arch), **told}
        found[key]["launches"] += 1
        return compiled

    with fake_gpu(arch), hook_launch(around):
        try:
            fn, args, options = prepare()
            with PretendCuda(), torch.random.fork_rng(devices=[]):
                fn(*args, **options)
        except (Exception, SystemExit) as error:
            launched = error is failed or isinstance(error, ToolFailed)
            answer = explain(error, launched, arch)
            return {"error": answer, "kernels": list(found.values())}
    kernels = list(found.values())
    if not request.get("ptx"):
        for kernel in kernels:
            del kernel["ptx"]
    return {"kernels": kernels}


def _constants(fn: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Compile-time arguments by name, as numbers or text."""
    found = {}
    for name, parameter in inspect.signature(fn).parameters.items():
        if "constexpr" in str(parameter.annotation) and name in named:
            value = getattr(named[name], "value", named[name])
            plain = isinstance(value, (bool, int, float, str)) or value is None
            told = value if plain else getattr(value, "__name__", str(value))
            found[name] = told[:200] if isinstance(told, str) else told
    return found


def _grid(grid: Any, named: dict[str, Any]) -> list[int]:
    grid = grid(named) if callable(grid) else grid
    return [int(size) for size in (grid if isinstance(grid, (tuple, list)) else (grid,))]


def _facts(compiled: Any, arch: int) -> dict[str, Any]:
    ptx = compiled.asm["ptx"]
    registers, stack = _resources(compiled.asm["cubin"])
    metadata = compiled.metadata

    def count(pattern: str) -> int:
        return len(re.findall(pattern, ptx))

    return {
        "name": getattr(metadata, "name", None) or compiled.name,
        "arch": arch,
        "registers": registers,
        "spills": stack,
        "shared_bytes": metadata.shared,
        "warps": metadata.num_warps,
        "stages": metadata.num_stages,
        "loads": count(r"\bld\.global") + count(r"cp\.async\.c[ag]\."),
        "vector_loads": count(r"\bld\.global\S*\.v[248]") + count(r"cp\.async\.cg\."),
        "wide_loads": count(r"\bld\.global\S*\.(v4\.b32|v2\.b64)") + count(r"cp\.async\.cg\."),
        "stores": count(r"\bst\.global"),
        "vector_stores": count(r"\bst\.global\S*\.v[248]"),
        "async_copies": count(r"cp\.async\.c[ag]\."),
        "mma": count(r"\bmma\.sync"),
        "tf32": count(r"\bmma\.sync\S*\.tf32"),
        "wgmma": count(r"\bwgmma\.mma_async"),
        "atomics": count(r"\b(?:atom|red)\."),
        "float64": count(r"\b(?:add|sub|mul|fma|div|rcp|sqrt|cvt)\S*\.f64"),
        **occupancy(registers, metadata.shared, metadata.num_warps, arch),
        "ptx": ptx,
    }


def _resources(cubin: bytes) -> tuple[int, int]:
    """(registers, bytes of stack) per thread. Stack in a Triton kernel means spilled registers."""
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [tool, "-res-usage", file.name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise ToolFailed(machines_fault(error)) from None
    found = re.search(r"REG:(\d+) STACK:(\d+)", done.stdout)
    return int(found[1]), int(found[2])
