"""What notebook 31 cannot say in its checks: dtypes, what its model runs on, what is compiled."""

from __future__ import annotations

import re

import pytest
import torch
from machine_code import compiled

from tritonbook import DEVICE
from tritonbook.course.exercises import get, load
from tritonbook.seeing.blocks import told
from tritonbook.seeing.dispatcher import called_operators, implement, listed, restored

LIBRARY = load(get("31_op_library"))
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.int64, torch.int32, torch.uint8)


@pytest.fixture(scope="module")
def page():
    """What the cells of the page leave behind up to its prediction, as a learner runs them."""
    exercise = get("31_op_library")
    names = dict(vars(LIBRARY))
    for cell in exercise.cells:
        if cell.role == "predict":
            return names
        if cell.kind == "code" and cell.role is None and "show" not in cell.source:
            exec(compile(cell.source, f"<{exercise.slug}>", "exec"), names)
    raise AssertionError("the page has no box")


@pytest.mark.page("31_op_library")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("other", [0.5, 3, "tensor", "row", "rank 0"])
def test_every_dtype_computes_as_pytorch_does(dtype, other):
    """Kills: a number that counts as a tensor; bytes that do not wrap round."""
    x = torch.tensor([[0, 1, 3, 100], [127, 200, 255, 7]], device=DEVICE).to(dtype)
    kinds = {"tensor": x.flip(0), "row": x[0], "rank 0": torch.tensor(2.0)}
    y = kinds.get(other, other)
    for formula, theirs in (("x + y", torch.add), ("x * y", torch.mul)):
        ours = LIBRARY.pointwise("tried", formula)(x, y)
        torch.testing.assert_close(ours, theirs(x, y), rtol=1e-6, atol=0)


def test_what_no_kernel_can_do_is_refused():
    """Kills: float64 computed in float32; a sum of booleans that is 2."""
    add = LIBRARY.pointwise("add", "x + y")
    for dtype in (torch.float64, torch.bool):
        x = torch.ones(3, device=DEVICE).to(dtype)
        with pytest.raises(ValueError, match="no kernel"):
            add(x, x)


def test_a_rank_is_compiled_once_and_contiguous_tensors_are_vectors(monkeypatch):
    """Kills: a kernel that is generated anew at each call, or for each rank without need."""
    made = []
    original = LIBRARY.kernel_source
    monkeypatch.setattr(
        LIBRARY, "kernel_source", lambda *how: made.append(how[-1]) or original(*how)
    )
    multiply = LIBRARY.pointwise("multiply", "x * y")
    x = torch.ones(2, 3, 4, device=DEVICE)
    for _ in range(2):
        multiply(x, x)
        multiply(x[0], x[0])
        multiply(x, x[:, :, :1])
    assert made == [1, 3]


def test_the_model_runs_on_the_learners_kernels(page):
    """Kills: a list of launches that the box below it calls wrong; gradients that differ."""
    launches, called = page["counted"]()
    assert set(launches) == set(page["KERNELS"]) and launches["mm"] == 12
    assert max(page["errors"]) < 1e-5
    assert not set(called) & {"bmm", "addmm", "matmul"}


def test_leaks_end_with_the_story():
    """Kills: a wrong answer that leaves its kernels behind for the next story."""
    import contextlib

    @contextlib.contextmanager
    def leaking(replacements):
        lib = torch.library.Library("aten", "IMPL")
        for name, function in replacements.items():
            implement(lib, name, function)
        yield

    assert told(leaking, [[["sin"], ["look"]], "look"]) == [["sin"], ["sin"]]
    assert told(leaking, ["look"]) == [[]]
    with restored():
        lib = torch.library.Library("aten", "IMPL")
        implement(lib, "sin", torch.zeros_like)
        assert torch.sin(torch.ones(2, device=DEVICE))[0] == 0
    assert torch.sin(torch.ones(2, device=DEVICE))[0] != 0


def test_called_operators_are_counted_also_backward():
    """Kills: a list of what stays with PyTorch that forgets the backward pass, or names views."""
    x = torch.randn(4, 4, device=DEVICE, requires_grad=True)
    with called_operators() as names:
        torch.nn.functional.gelu(x.t()).sum().backward()
    assert names["gelu"] == names["gelu_backward"] == 1
    assert "t" not in names
    assert listed(names).split(", ")[0].endswith(" 1") and listed(type(names)()) == "none"


def test_rows_with_gaps_are_loaded_four_at_a_time():
    """Kills: index arithmetic that hides neighbours from the compiler, or divides per element."""
    multiply = LIBRARY.pointwise("f", "x * y")
    (kernel,) = compiled(multiply, (torch.empty(64, 96)[:, :64], torch.empty(64, 64)), ptx=True)
    assert kernel.wide_loads == kernel.loads > 0
    assert len(re.findall(r"\b(?:div|rem)\.[su]\d+", kernel.ptx)) <= 2  # a thread has 8 elements
