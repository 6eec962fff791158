"""Notebook 30 where its kernels are compiled: what needs a GPU to be run, but none to be traced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KEYS = ("register_library", "register_custom", "register_triton")


@pytest.fixture(scope="module")
def answered():
    script = Path(__file__).with_name("compiled_operators.py")
    done = subprocess.run(
        [sys.executable, str(script), *KEYS],
        env={**os.environ, "TRITON_INTERPRET": "0"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_every_question_is_answered_with_compiled_kernels(answered, key):
    """Kills: a question marked as GPU only that the solution fails there, where nobody looks."""
    assert answered[f"solution {key}"] == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["launch_not_wrapped", "a_closed_box"])
def test_mutants_that_only_a_gpu_shows_are_killed(answered, name):
    """Kills: a launch on fake tensors, which ends all work on a real GPU, and no word of it."""
    assert answered[name] == "opcheck-faketensor"


@pytest.mark.slow
def test_the_table_shows_boxes_and_the_kernel_inside(answered):
    """Kills: a table in which each way looks the same to the compiler."""
    seen = answered["table"]
    assert list(seen) == ["plain function", "Library", "custom_op", "triton_op"]
    for name in ("plain function", "triton_op"):
        assert "triton_kernel_wrapper" in seen[name] and "getitem" not in seen[name]
    for name in ("Library", "custom_op"):
        assert seen[name].count(",") == 1 and "rmsnorm" in seen[name]
