"""The gate of a Llama layer, the layer itself, and a narrow MLP in one kernel."""

import torch
import torch.nn.functional as F

from benchmarks.op import DTYPES, Op, Problem, compiled, normal, optional, peer, solution


def gate(gate, up):
    return F.silu(gate) * up


def swiglu(x, w_gate, w_up, w_down):
    return (F.silu(x @ w_gate) * (x @ w_up)) @ w_down


def gelu_mlp(x, w1, w2):
    return F.gelu(x @ w1, approximate="tanh") @ w2


def weight(device, rows, columns, linear=False):
    """bfloat16, scaled so that a product with it keeps the size of its input. linear: as
    torch.nn.Linear keeps it, (out, in), passed transposed."""
    kept = (torch.randn(rows, columns, device=device) * rows**-0.5).to(torch.bfloat16)
    return kept.T.contiguous().T if linear else kept


def _rows(device, rows, columns):
    return torch.randn(rows, columns, device=device, dtype=torch.bfloat16)


def gate_problem(rows, columns, dtype="bf16", **targets):
    return Problem(
        label=f"{rows}x{columns} {dtype}",
        make=normal(DTYPES[dtype], (rows, columns), (rows, columns)),
        bytes=3 * DTYPES[dtype].itemsize * rows * columns,
        targets={name.replace("_", " "): least for name, least in targets.items()},
    )


def _llama(tokens, model, hidden, linear=False, **targets):
    return Problem(
        label=f"T{tokens} D{model} H{hidden} bf16" + (" nn.Linear" if linear else ""),
        make=lambda device: (
            _rows(device, tokens, model),
            weight(device, model, hidden, linear),
            weight(device, model, hidden, linear),
            weight(device, hidden, model, linear),
        ),
        bytes=2 * (2 * tokens * model + 3 * model * hidden),
        flops=6 * tokens * model * hidden,
        targets={name.replace("_", " "): least for name, least in targets.items()},
    )


def _narrow(tokens, width, **targets):
    return Problem(
        label=f"T{tokens} D{width} H{4 * width} bf16",
        make=lambda device: (
            _rows(device, tokens, width),
            weight(device, width, 4 * width),
            weight(device, 4 * width, width),
        ),
        bytes=2 * (2 * tokens * width + 8 * width * width),
        flops=16 * tokens * width * width,
        targets={name.replace("_", " "): least for name, least in targets.items()},
    )


OPS = [
    Op(
        name="silu_mul",
        notebook="23_fused_mlp",
        problems=[
            gate_problem(4096, 14336, compile_static=1.0, liger=1.0),
            gate_problem(16, 14336),
        ],
        exact=gate,
        providers={
            "silu_mul": solution("silu_mul"),
            "eager": peer(gate),
            "compile static": compiled(gate, dynamic=False),
            "liger": optional("liger_kernel.ops.swiglu", lambda m: m.LigerSiLUMulFunction.apply),
        },
    ),
    Op(
        name="mlp_swiglu",
        notebook="23_fused_mlp",
        problems=[
            _llama(4096, 4096, 14336, compile_static=1.0),
            _llama(4096, 4096, 14336, linear=True),
            _llama(16, 4096, 14336, compile_static=1.05),
            _llama(16, 4096, 14336, linear=True),
        ],
        exact=swiglu,
        providers={
            "mlp_swiglu": solution("mlp_swiglu"),
            "compile static": compiled(swiglu, dynamic=False),
            "eager": peer(swiglu),
        },
    ),
    Op(
        name="mlp_gelu_fused",
        notebook="24_mlp_one_kernel",
        problems=[
            _narrow(65536, 64, compile_static=1.5),
            _narrow(65536, 128, compile_static=1.5),
            _narrow(65536, 256, compile_static=1.0),
            _narrow(8192, 128),
            _narrow(128, 128),
            _narrow(8192, 512),
            _narrow(4096, 1024),
            _narrow(128, 4096),
        ],
        exact=gelu_mlp,
        providers={
            "mlp_gelu_fused": solution("mlp_gelu_fused"),
            "eager": peer(gelu_mlp),
            "compile static": compiled(gelu_mlp, dynamic=False),
        },
    ),
]
