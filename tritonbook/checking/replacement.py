"""Questions to a context manager that replaces PyTorch's operators inside its block.

Is everything replaced, does a model still compute the same, and is it undone whatever happens?
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from ..plain_llama import PlainLlamaBlock
from ..port import device
from ..seeing.dispatcher import launches_by_operator, restored

Block = Callable[..., contextlib.AbstractContextManager[Any]]

# What a forward pass of PlainLlamaBlock needs, and what its backward pass needs on top.
FORWARD = {"add.Tensor", "mul.Tensor", "silu", "_softmax", "rms_norm", "mm"}
BACKWARD = {"silu_backward"}

SENTENCES = {
    "not-replaced": "Inside the block some operators still run on PyTorch's own kernels.",
    "leaks": "After the block operators still run on your kernels. Restore them.",
    "leaks-after-error": "After an error in the block the operators are not restored.",
    "swallows-errors": "An error inside the block vanished. Let it through.",
    "no-names": "The block must yield the list of the names that were replaced, in order.",
    "replaces-others": "With `names` given, exactly these operators are replaced.",
    "unknown-accepted": "An unknown name must raise KeyError.",
    "nested": "A block inside a block: leaving the inner one must leave the outer one as it was.",
    "second-use": "The first block works, the second one does not.",
    "model-differs": "The model gives other numbers than with PyTorch's operators.",
}


def block_and_tokens(
    dtype: torch.dtype = torch.float32, batch: int = 2, **sizes: int
) -> tuple[PlainLlamaBlock, torch.Tensor]:
    """A PlainLlamaBlock with fixed weights, and its input [batch, length, width], on the device."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = PlainLlamaBlock(**sizes).to(device.DEVICE, dtype)
        x = torch.randn(batch, len(model.mask), model.norm1.weight.numel())
    return model, x.to(device.DEVICE, dtype)


def _sample(rows: int = 5, columns: int = 32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(rows, columns, generator=generator).to(device.DEVICE)


def replaced_now() -> list[str]:
    """Names of the operators that run on replaced kernels at this moment, proved by a launch."""
    x = _sample()
    probes = {
        "add.Tensor": lambda: x + x,
        "mul.Tensor": lambda: x * x,
        "silu": lambda: F.silu(x),
        "silu_backward": lambda: torch.ops.aten.silu_backward(x, x),
        "gelu": lambda: F.gelu(x),
        "_softmax": lambda: torch.softmax(x, -1),
        "rms_norm": lambda: F.rms_norm(x, (32,), x[0], 1e-6),
        "mm": lambda: x @ x.t(),
    }
    found = []
    for name, call in probes.items():
        with launches_by_operator() as counts:
            call()
        found += [name] if counts[name] else []
    return found


def _inside(block: Block, names: Sequence[str]) -> str:
    with block():
        return "ok" if replaced_now() == list(names) else "not-replaced"


def _after(block: Block, names: Sequence[str]) -> str:
    with block():
        pass
    return "leaks" if replaced_now() else "ok"


def _after_an_error(block: Block, names: Sequence[str]) -> str:
    try:
        with block():
            raise ZeroDivisionError
    except ZeroDivisionError:
        return "leaks-after-error" if replaced_now() else "ok"
    return "swallows-errors"


def _names(block: Block, names: Sequence[str]) -> str:
    with block() as got:
        return "ok" if got is not None and list(got) == list(names) else "no-names"


def _some(block: Block, names: Sequence[str]) -> str:
    with block(["silu", "mm"]) as got:
        if list(got) != ["silu", "mm"]:
            return "no-names"
        return "ok" if replaced_now() == ["silu", "mm"] else "replaces-others"


def _unknown(block: Block, names: Sequence[str]) -> str:
    try:
        with block(["mul.Tensor", "no such operator"]):
            return "unknown-accepted"
    except KeyError:
        return "leaks-after-error" if replaced_now() else "ok"


def _nested(block: Block, names: Sequence[str]) -> str:
    with block(["mul.Tensor"]):
        with block(["silu"]):
            if replaced_now() != ["mul.Tensor", "silu"]:
                return "nested"
        if replaced_now() != ["mul.Tensor"]:
            return "nested"
    return "leaks" if replaced_now() else "ok"


def _twice(block: Block, names: Sequence[str]) -> str:
    for _ in range(2):
        if _inside(block, names) != "ok":
            return "second-use"
    return "leaks" if replaced_now() else "ok"


def near(got: torch.Tensor, want: torch.Tensor, relative: float) -> bool:
    """Equal up to `relative` times the largest wanted element, and of the same dtype?"""
    error = (got.double() - want.double()).abs().max()
    return got.dtype == want.dtype and bool(error <= relative * want.double().abs().max())


def _numbers(block: Block, names: Sequence[str]) -> str:
    """Numbers, broadcasting and dtypes as before."""
    whole, x = torch.arange(6, device=device.DEVICE), _sample(5, 6)

    def results() -> list[torch.Tensor]:
        return [
            *(3 * whole, whole + 0.5, x + 1, x.half() * 0.5, x + whole, (x + 2.0).t() * x[0, 0]),
            *(torch.add(whole, x, alpha=2), torch.softmax(x, 0)),
            *(F.gelu(x), F.gelu(x, approximate="tanh")),
        ]

    want = results()
    with block():
        got = results()
    same = all(near(g, w, 1e-3) for g, w in zip(got, want, strict=True))
    return "ok" if same else "model-differs"


def _model(
    block: Block,
    names: Sequence[str],
    dtype: torch.dtype = torch.float32,
    relative: float = 1e-4,
) -> str:
    model, x = block_and_tokens(dtype)
    with torch.no_grad():
        want = model(x)
        with block(), launches_by_operator() as counts:
            got = model(x)
    if set(counts) != FORWARD:
        return "not-replaced"
    return "ok" if near(got, want, relative) else "model-differs"


def _bfloat16(block: Block, names: Sequence[str]) -> str:
    return _model(block, names, torch.bfloat16, 4 * 2**-8)  # a few roundings to 8 bits


def _gradients(block: Block, names: Sequence[str]) -> str:
    model, x = block_and_tokens()
    parameters = list(model.parameters())
    want = torch.autograd.grad(model(x).pow(2).mean(), parameters)
    with block(), launches_by_operator() as counts:
        got = torch.autograd.grad(model(x).pow(2).mean(), parameters)
    if not set(counts) >= FORWARD | BACKWARD:
        return "not-replaced"
    same = all(near(g, w, 1e-4) for g, w in zip(got, want, strict=True))
    return "ok" if same else "model-differs"


QUESTIONS: dict[str, Callable[[Block, Sequence[str]], str]] = {
    "inside": _inside,
    "after": _after,
    "after an error": _after_an_error,
    "names": _names,
    "some": _some,
    "unknown": _unknown,
    "nested": _nested,
    "twice": _twice,
    "model": _model,
    "bfloat16": _bfloat16,
    "numbers": _numbers,
    "gradients": _gradients,
}


def examine(block: Block, question: str, names: Sequence[str]) -> str:
    """Ask one question of QUESTIONS: "ok", or a code of SENTENCES for what is wrong.

    names: every operator that `block()` replaces, in order.
    """
    with restored():  # a block that leaks must not spoil the next question
        return QUESTIONS[question](block, names)


def suspects() -> dict[str, tuple[Callable[[str], str], str]]:
    """SENTENCES in the form that `Check` takes as mistakes."""
    return {code: (lambda question, code=code: code, text) for code, text in SENTENCES.items()}
