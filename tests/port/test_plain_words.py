"""Errors of Triton in a learner's words: each provoked, each told in one sentence."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tritonbook.checking import Check, case, run_check, tensor

from .triton_mistakes import MISTAKES

MODULE = """\
import math

import numpy as np
import tritonbook
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n{lines}


def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    {launch}
    return out
"""
CHECK = Check(lambda x: 2 * x, [case("ragged", x=tensor(150))], launches=1)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_learner_reads_one_sentence_and_not_tritons(name: str, tmp_path: Path):
    """Kills: `int has no len()`, "PassManager::run failed" and their like on a card."""
    mistake = MISTAKES[name]
    path = tmp_path / f"{name}.py"
    path.write_text(MODULE.format(lines=mistake.lines, launch=mistake.launch))
    spec = importlib.util.spec_from_file_location(f"_mistake_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = run_check(module.double, CHECK, "double").finding
    assert found.sentence.startswith(mistake.sentence), found
    for words in ("Error", "dynamic_func", "PassManager", "constexpr["):
        assert words not in found.sentence
