"""A tuner's timing runs are none of the answer's, and each of its configs has to be right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tritonbook.checking import Check, card, case, run_check, tensor
from tritonbook.checking.asks import launches, starts_at_most
from tritonbook.port.device import INTERPRET
from tritonbook.port.source_file import module_of

ANSWER = """\
import tritonbook
import torch
import triton
import triton.language as tl


@triton.autotune({tuner})
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, {value}, mask=offs < n)


def double(x):
    out = torch.empty_like(x)
    double_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    return out
"""
CONFIGS = "[triton.Config({'BLOCK': size}) for size in (64, 128, 32)], key=['n']"
CHECK = Check(
    lambda x: 2 * x,
    [case("ragged", x=tensor(150)), case("another", x=tensor(333))],
    asks=[launches(1), starts_at_most(lambda x: -(-x.numel() // 32))],
)
MORE = [
    "restore_value=['out_ptr']",
    "reset_to_zero=['out_ptr']",
    "pre_hook=lambda named, reset_only=False: named['out_ptr'].zero_()",
    "prune_configs_by={'early_config_prune': lambda configs, named, **more: configs[:2]}",
    "warmup=5, rep=20",
    "use_cuda_graph=True",
    "do_bench=lambda call, quantiles: triton.testing.do_bench(call, quantiles=quantiles)",
]


def double_with(tuner: str, value: str = "x * 2") -> Callable[..., Any]:
    return module_of(ANSWER.format(tuner=tuner, value=value), "double.py", "_double", {}).double


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("more", ["", *MORE])
def test_a_tuned_kernel_is_launched_once(more: str):
    """Kills: timing runs among the launches, torch's work in a tuner's own hooks, a clock that
    needs a GPU."""
    report = run_check(double_with(f"{CONFIGS}, {more}"), CHECK, "double")
    assert report.passed, card.as_text(report)


def test_a_second_check_says_the_same():
    """Kills: configs that are tried only while the tuner knows no winner."""
    double = double_with(CONFIGS, "x * 2 + (BLOCK == 32)")
    for _ in range(2):
        said = run_check(double, CHECK, "double").finding.sentence
        chosen = said.startswith("Every element is 1 too large") and not INTERPRET  # by its clock
        assert chosen or said.startswith("With BLOCK=32, which the tuner may choose"), said


def test_a_config_that_strays_is_refused():
    """Kills: a store outside by a config that was not chosen here."""
    text = ANSWER.format(tuner=CONFIGS, value="x * 2")
    text = text.replace("x * 2, mask=offs < n", "x * 2, mask=offs < n + (BLOCK == 128)")
    finding = run_check(module_of(text, "double.py", "_strays", {}).double, CHECK, "double").finding
    assert finding and finding.code == "out-of-bounds-store"


def test_a_tuner_that_tunes_each_time_is_told():
    """Kills: free launches for who calls each of them a timing run."""
    tuner = CONFIGS.replace("'n'", "'n', 'x_ptr'")
    finding = run_check(double_with(tuner), CHECK, "double").finding
    assert finding and finding.code == "wrong-launch-count"
    assert "tries the tuner's configs again" in finding.sentence


def test_a_tuner_hides_no_second_launch():
    """Kills: a count that leaves out whatever stands in an answer with a tuner."""
    text = ANSWER.format(tuner=CONFIGS, value="x * 2")
    launch = next(line for line in text.splitlines() if "lambda meta" in line)
    twice = module_of(text.replace(launch, f"{launch}\n{launch}"), "double.py", "_twice", {})
    finding = run_check(twice.double, CHECK, "double").finding
    assert finding and "in one call: 2." in finding.sentence


def test_an_accumulator_that_nobody_resets_is_found():
    """Kills: a tuner whose runs do nothing here, and add up on a GPU."""
    text = ANSWER.format(tuner=CONFIGS, value="x * 2").replace("tl.store", "tl.atomic_add")
    text = text.replace("torch.empty_like", "torch.zeros_like")
    finding = run_check(module_of(text, "double.py", "_adds", {}).double, CHECK, "double").finding
    assert finding and finding.code == "changed-by-tries", finding
    reset = text.replace("key=['n']", "key=['n'], reset_to_zero=['out_ptr']")
    report = run_check(module_of(reset, "double.py", "_resets", {}).double, CHECK, "double")
    assert report.passed, card.as_text(report)


@pytest.mark.skipif(not INTERPRET, reason="a GPU has a clock")
def test_the_choice_is_the_same_in_each_run():
    """Kills: a verdict that hangs on the wall clock."""
    import torch

    from tritonbook.checking.launches import watching

    x = torch.ones(100)
    for _ in range(3):
        with watching() as watch:
            double_with(CONFIGS)(x)
        assert [each["BLOCK"] for each in watch.chosen] == [64] and watch.tried == 3
