"""Square matrix products in float16: bound by arithmetic from 2048 on."""

import torch

from benchmarks.op import Op, Problem, Provider, compiled, normal, peer, solution


def cublas(a, b):
    return a @ b


def _linear(x, w, bias):
    return torch.relu(x @ w + bias)


def _square(size, **targets):
    return Problem(
        label=f"{size}x{size}x{size} fp16",
        make=normal(torch.float16, (size, size), (size, size)),
        bytes=6 * size * size,
        flops=2 * size**3,
        targets=targets,
    )


def _layer(size):
    return Problem(
        label=f"{size}x{size}x{size} fp16 relu",
        make=lambda device: (
            torch.randn(size, size, device=device, dtype=torch.float16),
            torch.randn(size, size, device=device, dtype=torch.float16) * size**-0.5,
            torch.randn(size, device=device, dtype=torch.float16),
        ),
        bytes=6 * size * size + 2 * size,
        flops=2 * size**3,
    )


def _gluon():
    """What page 64 gives ready-made."""
    from tritonbook.course import exercises

    return exercises.load("64_gluon_matmul").matmul_gluon


def _with_relu(linear_act):
    return lambda x, w, bias: linear_act(x, w, bias, "relu")


OPS = [
    Op(
        name="matmul",
        notebook="22_autotune",
        problems=[
            _square(2048, cublas=0.98),
            _square(4096, cublas=0.95),
            _square(8192, cublas=1.0),
        ],
        exact=cublas,
        providers={
            "matmul": solution("matmul"),
            "matmul_grouped": solution("matmul_grouped"),
            "cublas": peer(cublas),
            "matmul_tuned": solution("matmul_tuned"),
            "matmul_record": solution("matmul", record=True),
            "matmul_gluon": Provider(_gluon, ours=True),
        },
    ),
    Op(
        name="linear_act",
        notebook="21_matmul_grouped",
        problems=[_layer(4096)],
        exact=_linear,
        providers={
            "linear_act": solution("linear_act", _with_relu),
            "eager": peer(_linear),
            "compile static": compiled(_linear, dynamic=False),
        },
    ),
]
