"""GELU (tanh form) and bias + GELU on a large tensor: bound by memory, one read and one write."""

import torch
import torch.nn.functional as F

from benchmarks.op import Op, Problem, compiled, normal, peer, rows, solution


def manual(x):
    """The formula as people write it: nine operators, 13 reads and 9 writes."""
    return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def native(x):
    return F.gelu(x, approximate="tanh")


def bias_manual(x, bias):
    return F.gelu(x + bias, approximate="tanh")


def _vector(n, **targets):
    return Problem(
        label=f"{n} fp32",
        make=normal(torch.float32, (n,)),
        bytes=8 * n,
        targets=targets,
    )


OPS = [
    Op(
        name="gelu",
        notebook="03_gelu_fusion",
        problems=[_vector(1 << 20), _vector(1 << 26, native=0.98)],
        exact=native,
        providers={
            "gelu_tanh": solution("gelu_tanh"),
            "eager formula": peer(manual),
            "native": peer(native),
            "compile static": compiled(manual, dynamic=False),
            "compile dynamic": compiled(manual, dynamic=True),
        },
    ),
    Op(
        name="bias_gelu",
        notebook="03_gelu_fusion",
        problems=[rows(8192, 4096, 1)],
        exact=bias_manual,
        providers={
            "bias_gelu": solution("bias_gelu"),
            "eager": peer(bias_manual),
            "compile static": compiled(bias_manual, dynamic=False),
            "compile dynamic": compiled(bias_manual, dynamic=True),
        },
    ),
]
