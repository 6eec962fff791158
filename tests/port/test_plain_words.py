"""Errors of Triton in a learner's words: each provoked, each told in one sentence."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tritonbook import facts
from tritonbook.checking import Check, case, run_check, tensor
from tritonbook.checking.asks import launches
from tritonbook.port.plain_words import _table
from tritonbook.port.source_file import module_of

from .triton_mistakes import LAUNCH, MISTAKES

MODULE = """\
import numpy as np
import tritonbook
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
{lines}


def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    {launch}
    return out
"""
CHECK = Check(lambda x: 2 * x, [case("ragged", x=tensor(150))], asks=[launches(1)])


def double_with(lines: str, launch: str = LAUNCH, above: str = "") -> Callable[..., Any]:
    """The answer with these lines in its kernel, this launch, and `above` before the kernel."""
    return module_of(above + text_of(lines, launch), "double.py", "_double", {}).double


def text_of(lines: str, launch: str) -> str:
    return MODULE.format(lines=textwrap.indent(lines, "    "), launch=launch)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_learner_reads_one_sentence_and_not_tritons(name: str):
    """Kills: `int has no len()`, "PassManager::run failed" and their like on a card."""
    mistake = MISTAKES[name]
    found = run_check(double_with(mistake.lines, mistake.launch), CHECK, "double").finding
    assert found.sentence.startswith(mistake.sentence), found
    for words in ("Error", "dynamic_func", "PassManager", "constexpr["):
        assert words not in found.sentence


@pytest.mark.parametrize(
    "line", ["no sentence below", "   indented by three", "|begins with a bar"]
)
def test_a_line_of_the_table_that_is_neither_is_named(line: str):
    """Kills: a pattern that lost its sentence glued to the next one."""
    assert _table("# remark\n\na\n|b\n    Two\n    words.\n") == [("a|b", "Two words.")]
    with pytest.raises(AssertionError, match=re.escape(line)):
        _table(f"{line}\nb\n    Words.\n")


def test_facts_say_it_too():
    """Kills: "unsupported AST node type: ListComp", which on a card another rule names first."""
    listed = facts(double_with("parts = [i for i in range(BLOCK)]"), torch.ones(4))
    assert "A kernel cannot contain a comprehension." in str(listed)


COMPILED = """\
import os, sys
os.environ["TRITON_INTERPRET"] = "0"
import torch
sys.path.insert(0, {folder!r})
from tritonbook.checking.errors import explain_error
from tritonbook.checking.slips import put_into_words
from tritonbook.port.compat import fake_gpu
for name in {names!r}:
    module = __import__(name)
    try:
        with fake_gpu(80):
            module.double(torch.randn(150))
    except Exception as error:
        found = put_into_words(explain_error(error), [module.double_kernel.fn])
        print(name, found.code, found.sentence, sep="|")
"""
ON_A_GPU = (
    "pow",
    "shape_mismatch",
    "return_value",
    "index_store",
    "larger_of_two_tiles",
    "if_tile",
)


def test_on_a_gpu_the_compiler_is_told_in_the_same_words(tmp_path: Path):
    """Kills: "Triton cannot compile the kernel." alone, where the run itself compiles."""
    for name in ON_A_GPU:
        text = text_of(MISTAKES[name].lines, MISTAKES[name].launch)
        (tmp_path / f"{name}.py").write_text(text)
    script = COMPILED.format(folder=str(tmp_path), names=ON_A_GPU)
    asked = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    told = dict(line.split("|", 1) for line in asked.stdout.splitlines())
    for name in ON_A_GPU:
        said = told.get(name, asked.stderr)
        assert said.startswith(f"does-not-compile|{MISTAKES[name].sentence}"), said
