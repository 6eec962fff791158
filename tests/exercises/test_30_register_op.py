"""Notebook 30: its checks where kernels are compiled, and what a learner's own file does."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch

from tritonbook import DEVICE
from tritonbook.course.exercises import get, load
from tritonbook.course.page_checks import call, pictures
from tritonbook.export.writer import export

KEYS = ("register_custom", "register_library", "register_triton")


@pytest.fixture(scope="module")
def answered(python):
    script = Path(__file__).with_name("compiled_operators.py")
    done = python.run(script, env={**os.environ, "TRITON_INTERPRET": "0"})
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.page("30_register_op")
@pytest.mark.slow
@pytest.mark.parametrize(
    "name, code",
    [
        *((key, "passed") for key in KEYS),
        ("not-wrapped", "launch-not-wrapped"),
        ("calls-the-wrapper", "launch-not-wrapped"),
        ("a-closed-box-with-a-fake", "closed-box"),
    ],
)
def test_answers_are_judged_with_compiled_kernels(answered, name, code):
    """Kills: a fact that only the interpreter can tell, so that nobody passes on a GPU; a launch on
    fake tensors, which ends all work on a real GPU, and no word of it."""
    assert answered[name] == code


@pytest.mark.page("30_register_op")
@pytest.mark.slow
def test_graphs_show_boxes_and_the_kernel_inside(answered):
    """Kills: a table in which each way looks the same to the compiler."""
    assert any("triton_kernel_wrapper" in name for name in answered["graph of register_triton"])
    for key in KEYS[:2]:
        add, box, multiply = answered[f"graph of {key}"]
        assert (add, multiply) == ("aten.add.Tensor", "aten.mul.Tensor") and "rmsnorm" in box


@pytest.mark.parametrize("key", KEYS)
def test_an_operator_can_be_registered_from_its_kept_source(key, tmp_path, monkeypatch):
    """Kills: a library held in a dictionary that no file can hold, so that `mine` has no source."""
    exercise = get("30_register_op")
    getattr(load(exercise), key)(f"held_by_{key}")  # its library is open while the text is written
    source = export(call(exercise, key).function).text
    (tmp_path / f"kept_{key}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    operator = getattr(__import__(f"kept_{key}"), key)(f"kept_{key}")
    x, w = torch.randn(3, 8, device=DEVICE), torch.ones(8, device=DEVICE)
    want = torch.nn.functional.rms_norm(x, (8,), w, 1e-5)
    torch.testing.assert_close(operator(x, w, 1e-5), want)


def test_floors_stand_in_the_order_of_a_call():
    """Kills: floors upside down; a text for screen readers that says less than the picture."""
    floors = [("Autograd", "notes", "you"), ("CUDA", "computes", "a < b")]
    picture = pictures("register_op").draw_floors("Down", floors)
    assert picture.svg.index("Autograd") < picture.svg.index("CUDA")
    assert "a &lt; b" in picture.svg and "a < b" not in picture.svg
    for words in ("Autograd", "notes", "you", "CUDA", "computes"):
        assert words in picture.text
