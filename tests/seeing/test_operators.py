"""What PyTorch gets to know of an operator, without a GPU too."""

import logging

import pytest
import torch
import triton
import triton.language as tl

from tritonbook import DEVICE
from tritonbook.seeing.operators import graph_of, operator_fact


@triton.jit
def double_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offs = tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs, mask=offs < n_elements, other=0.0)
    tl.store(y_ptr + offs, 2 * x, mask=offs < n_elements)


def launched(kernel, x, n=None):
    y = torch.empty_like(x)
    kernel[(1,)](x, y, n or x.numel(), BLOCK_SIZE=16)
    return y


def boxed(namespace):
    def double(x: torch.Tensor) -> torch.Tensor:
        return launched(double_kernel, x)

    operator = torch.library.custom_op(f"{namespace}::double", double, mutates_args=())
    operator.register_fake(lambda x: torch.empty_like(x))
    return operator


def opened(namespace):
    def double(x: torch.Tensor) -> torch.Tensor:
        return launched(torch.library.wrap_triton(double_kernel), x)

    return torch.library.triton_op(f"{namespace}::double", double, mutates_args=())


def unwrapped(namespace):
    def double(x: torch.Tensor) -> torch.Tensor:
        return launched(double_kernel, x)

    return torch.library.triton_op(f"{namespace}::double", double, mutates_args=())


def forgotten(namespace):
    lib = torch.library.Library(namespace, "FRAGMENT")
    lib.define("double(Tensor x) -> Tensor")
    lib.impl("double", lambda x: launched(double_kernel, x), DEVICE.upper())
    return getattr(torch.ops, namespace).double


def half(namespace):
    def double(x: torch.Tensor) -> torch.Tensor:
        return launched(double_kernel, x, x.numel() // 2)

    return torch.library.custom_op(f"{namespace}::double", double, mutates_args=())


def fact(register, what):
    x = torch.arange(6.0).reshape(2, 3)
    return operator_fact(register, what, (x,), torch.ones(2, 3))


def test_a_graph_shows_the_kernel_of_a_triton_op_and_a_box_otherwise(capfd):
    """Kills: an interpreted kernel launched while it is traced; 200 lines of torch's log."""
    x = torch.arange(6.0, device=DEVICE)
    assert "triton_kernel_wrapper" in " ".join(graph_of(opened("seen1"), x))
    assert graph_of(boxed("seen2"), x) == ["seen2.double.default"]
    assert "Traceback" not in capfd.readouterr().err


def test_a_wrapped_kernel_computes_where_it_is_called_and_where_it_was_compiled():
    """Kills: a stand-in that is traced and never launches the interpreter."""
    x, operator = torch.arange(6.0, device=DEVICE), opened("seen3")
    assert torch.equal(operator(x), 2 * x)
    seen = fact(opened, "in a graph")
    assert seen["seen as"] == "the kernel"
    assert torch.equal(seen["result"], 4 * (torch.arange(6.0).reshape(2, 3) + 1))


@pytest.mark.parametrize(
    ("register", "what", "said"),
    [
        # Kills: a kernel that reads from address 0, which ends the process with some versions.
        (unwrapped, "fake", "a kernel was launched on fake tensors"),
        (unwrapped, "in a graph", "a kernel was launched on fake tensors"),
        # Kills: a call of freed memory.
        (forgotten, "result", "its library is closed"),
        (forgotten, "fake", "its library is closed"),
        (forgotten, "schema", "its library is closed"),
        (forgotten, "registered again", "its library is closed"),
        # Kills: memory that happens to hold the right numbers of the call before.
        (half, "result", "a part of the result was not written"),
    ],
)
def test_what_stands_in_the_way_is_said(register, what, said):
    assert fact(register, what) == said


def test_a_graph_break_is_raised():
    """Kills: a graph of the part before the break, shown as that of the whole."""
    with pytest.raises(Exception, match="(?i)data-dependent|control flow"):
        graph_of(lambda x: x + 1 if x.sum() > 0 else x, torch.ones(3, device=DEVICE))


def test_what_a_fake_raises_is_not_logged_beside_it():
    """Kills: thirty lines of PyTorch's log above the card's one sentence."""

    def registered(namespace):
        operator = boxed(namespace)
        operator.register_fake(lambda x: torch.empty(x.shape, x.dtype))
        return operator

    lines = []
    handler, log = logging.Handler(), logging.getLogger("torch._subclasses.fake_tensor")
    handler.emit = lines.append
    log.addHandler(handler)
    try:
        with pytest.raises(TypeError):
            fact(registered, "fake")
            fact(registered, "in a graph")
    finally:
        log.removeHandler(handler)
    assert not lines and not log.disabled
