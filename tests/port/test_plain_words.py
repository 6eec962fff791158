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

from tritonbook import facts, traffic, words
from tritonbook.checking import Check, case, run_check, tensor
from tritonbook.checking.asks import launches
from tritonbook.port.plain_words import _LINES, ERRORS, as_message, stanzas
from tritonbook.port.source_file import module_of

from .triton_mistakes import GOOD, LAUNCH, MISTAKES

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
    for theirs in ("Error", "dynamic_func", "PassManager", "constexpr["):
        assert theirs not in f"{found.sentence}\n{found.detail}"


def test_a_plain_function_is_not_told_of_tuners_that_are_not_there():
    """Kills: a tuner's brackets, told to whoever forgot `@triton.jit`."""
    mistake = MISTAKES["no_jit"]
    found = run_check(double_with(mistake.lines, mistake.launch), CHECK, "double").finding
    assert found.sentence == mistake.sentence


def test_a_name_that_a_kernel_lacks_is_told_where_nothing_is_compiled_ahead():
    """Kills: "was the cell run that defines it?", of a name in a kernel's text."""
    mistake = MISTAKES["no_argument"]
    plain = Check(lambda x: 2 * x, CHECK.cases, triton=False)
    found = run_check(double_with(mistake.lines, mistake.launch), plain, "double").finding
    assert found.sentence.startswith(mistake.sentence), found


IN_CHINESE = {
    "grid_int": "网格是元组，只有一个数时也一样：`(n,)`，要带逗号。",
    "missing_arg": "调用时漏了 'n'。把实参和函数的参数逐个对照。",
    "too_many_args": "调用给了 5 个参数，而应该是 4 个。请逐个对照。",
    "block_twice": "`BLOCK` 给了两次，一次按位置，一次按名字。",
    "pow": "`**` 不能用于 tile。写成乘积：`x * x`。",
    "index_store": "指针是地址，不是数组，不能用下标。",
    "not_of_a_tile": "Python 的 `not` 需要一个真值，而 tile 有许多个：写 `~`。",
    "many_warps": "一个 program 需要 2,048 个线程，而 A100（sm_80）只有 1,024。",
    "name_set_below": "这里用到了 `x`，而它到下面才有值：`x = tl.load(",
    "name_without_triton": "这里没有定义 `cdiv`。是不是想写 `triton.cdiv`？",
    "address_not_loaded": "`y` 是地址。要用那里存放的值来计算，先用 `tl.load` 读取。",
    "store_without_comma": "`out_ptr + offs` 是地址，却加上了要写入的值。",
    "store_value_first": "`tl.store` 的第一个参数应该是地址：指针加偏移。",
}


@pytest.mark.parametrize("name", IN_CHINESE)
def test_a_chinese_learner_reads_it_in_chinese(name: str):
    """Kills: a sentence whose groups are filled in, and which no message is found for; a language
    that changes what is found."""
    answer = double_with(MISTAKES[name].lines, MISTAKES[name].launch)
    with words.speaking("zh"):
        found = run_check(answer, CHECK, "double").finding
        said = words.say(found.sentence)
    assert said.startswith(IN_CHINESE[name])
    assert not re.search("[a-z]{3} [a-z]{3}", re.sub("`[^`]*`", "", said)), said
    assert found == run_check(answer, CHECK, "double").finding


def test_every_sentence_of_the_table_has_its_chinese():
    """Kills: a message whose pattern fits none of its sentences, or another's first."""
    known = words.read(words.PACKAGE / "zh_CN" / "LC_MESSAGES" / "port.po")
    held = {"1": "n_rows", "2": "fp16", "3": "int32", "4": "int64"}
    for _, sentence in [*ERRORS, *_LINES]:
        # Of groups side by side one alone holds something.
        single = re.sub(r"(\\\d)(?:\\\d)+", r"\1", sentence)
        filled, chinese = single, known[as_message(sentence)]
        for number, value in held.items():
            filled = filled.replace(f"\\{number}", value)
            chinese = chinese.replace(f"{{part{number}}}", value)
        with words.speaking("zh"):
            assert words.say(filled) == chinese
            assert words.say(f"{filled} Those lanes need a mask.").startswith(chinese)


@pytest.mark.parametrize(
    "line", ["no sentence below", "   indented by three", "|begins with a bar"]
)
def test_a_line_of_the_table_that_is_neither_is_named(line: str):
    """Kills: a pattern that lost its sentence glued to the next one."""
    assert stanzas("# remark\n\na\n|b\n    Two\n    words.\n") == [("a|b", "Two words.")]
    with pytest.raises(AssertionError, match=re.escape(line)):
        stanzas(f"{line}\nb\n    Words.\n")


def test_facts_say_it_too():
    """Kills: "unsupported AST node type: ListComp", which on a card another rule names first."""
    listed = facts(double_with("parts = [i for i in range(BLOCK)]"), torch.ones(4))
    assert "A kernel cannot contain a comprehension." in str(listed)
    with words.speaking("zh"):
        assert "写成循环，或者用 tile 计算。\nmask = offs < n\nparts" in str(listed)


def test_facts_and_traffic_are_said_in_chinese_too():
    """Kills: an English head or row on a Chinese page; figures that a language changes."""
    answer, x = double_with(GOOD), torch.ones(150)
    bytes_read = traffic(answer, x).read
    with words.speaking("zh"):
        told = f"{facts(answer, x)}\n{traffic(answer, x)}"
        assert traffic(answer, x).read == bytes_read
    told = re.sub("double_kernel|warps?|out|program|lane|Tensor Core", "", told)
    assert not re.search("[a-z]{3}", told), told
    assert "占用率" in told and "84 个" in told


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


def test_a_call_that_stopped_is_told_once():
    """Kills: a footer that says in Triton's words what the card has said in plain ones."""
    answer = double_with(GOOD, MISTAKES["no_grid"].launch)
    assert "compile" not in run_check(answer, CHECK, "double").gates
