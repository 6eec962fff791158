"""Residual, RMSNorm and int8 in one pass, in bfloat16."""

import torch
import torch.nn.functional as F

from benchmarks.op import Op, Problem, compiled, normal, optional, peer, solution

EPS = 1e-6


def add_eager(x, residual, w):
    s = x + residual
    return F.rms_norm(s, w.shape, w, EPS), s


def int8_eager(x, residual, w):
    s = x + residual
    y = F.rms_norm(s, w.shape, w, EPS)
    scales = y.abs().amax(dim=-1).float() / 127
    return (y / scales[:, None]).round().to(torch.int8), scales, s


def int8_exact(x, residual, w):
    y, s = add_eager(x, residual, w)
    scales = y.abs().amax(dim=-1) / 127
    return y / scales[:, None], scales, s  # q before it is rounded


def _liger(module):
    return lambda x, residual, w: module.LigerFusedAddRMSNormFunction.apply(x, residual, w, EPS)


def _vllm(module):
    """vLLM's kernel writes y over x and s over the residual."""

    def run(x, residual, w):
        module.fused_add_rms_norm(x, residual, w, EPS)
        return x, residual

    return run


def _vllm_int8(module):
    def run(x, residual, w):
        q, scales = module.rms_norm_dynamic_per_token_quant(
            x, w, EPS, torch.int8, residual=residual
        )
        return q, scales.view(-1), residual

    return run


def pair(M, N, bytes_of_element, **targets):
    """x and residual [M, N] and a weight [N]. targets: by the peers' names, with _ for a space."""
    return Problem(
        label=f"{M}x{N} bf16",
        make=normal(torch.bfloat16, (M, N), (M, N), (N,)),
        bytes=bytes_of_element * M * N + 2 * N,
        targets={name.replace("_", " "): least for name, least in targets.items()},
    )


SHAPES = ((16384, 4096), (8192, 8192), (65536, 1024))

OPS = [
    Op(
        name="add_rmsnorm",
        notebook="16_residual_norm",
        problems=[pair(M, N, 8, compile_static=0.95, liger=0.95, vllm=0.95) for M, N in SHAPES],
        exact=add_eager,
        providers={
            "add_rmsnorm": solution("add_rmsnorm"),
            "torch": peer(add_eager),
            "compile static": compiled(add_eager, dynamic=False),
            "compile dynamic": compiled(add_eager, dynamic=True),
            "liger": optional("liger_kernel.ops.fused_add_rms_norm", _liger),
            "vllm": optional("vllm._custom_ops", _vllm),
        },
    ),
    Op(
        name="add_rmsnorm_int8",
        notebook="16_residual_norm",
        problems=[pair(M, N, 7, compile_static=0.95, vllm=0.95) for M, N in SHAPES],
        exact=int8_exact,
        # q is rounded, by half a step of 1; scales are those of a sum that was rounded to bfloat16
        tolerance={"int8": 5e-2, "float32": 1e-2},
        providers={
            "add_rmsnorm_int8": solution("add_rmsnorm_int8"),
            "torch": peer(int8_eager),
            "compile static": compiled(int8_eager, dynamic=False),
            "vllm": optional("vllm._custom_ops", _vllm_int8),
        },
    ),
]
