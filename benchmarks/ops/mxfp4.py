"""MXFP4 weights times float16 tokens: the two products of a Llama 3 8B feed-forward layer."""

import torch

from benchmarks.op import Op, Problem, Provider, compiled, optional, peer, solution

VALUES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def unpacked(packed, scales, dtype):
    """w [N, K] in `dtype` from packed [N, K/2] and scales [N, K/32], by PyTorch."""
    table = torch.tensor(VALUES + [-value for value in VALUES], device=packed.device)
    codes = torch.stack((packed & 15, packed >> 4), dim=-1).flatten(1)
    groups = table[codes.int()].unflatten(1, (-1, 32))
    return (groups * torch.exp2(scales.float() - 127)[..., None]).flatten(1).to(dtype)


def cublas(x, packed, scales, w):
    """The weights come in float16, ready-made."""
    return x @ w.T


def unpack_then_cublas(x, packed, scales, w):
    return x @ unpacked(packed, scales, x.dtype).T


def _on_codes(matmul):
    return lambda x, packed, scales, w: matmul(x, packed, scales)


def _ours_then_cublas():
    from tritonbook.course.exercises import reference

    dequantize = reference("dequantize_mxfp4")
    return lambda x, packed, scales, w: x @ dequantize(packed, scales, x.dtype).T


def _marlin(module):
    """vLLM's kernel, whose weights are put in an order of its own once, at the first call."""
    prepared = []

    def product(x, packed, scales, w):
        N, K = w.shape
        if not prepared:
            layer = torch.nn.Module()
            layer.output_size_per_partition, layer.input_size_per_partition = N, K
            layer.params_dtype, layer.weight, layer.weight_scale = x.dtype, packed, scales
            module.prepare_fp4_layer_for_marlin(layer)
            prepared.append(layer)
        (layer,) = prepared
        return module.apply_fp4_marlin_linear(
            x, layer.weight, layer.weight_scale, None, layer.workspace, size_n=N, size_k=K
        )

    return product


def layer(tokens, N, K):
    def make(device):
        x = torch.randn(tokens, K, device=device, dtype=torch.float16)
        packed = torch.randint(0, 256, (N, K // 2), device=device).to(torch.uint8)
        scales = torch.randint(115, 123, (N, K // 32), device=device).to(torch.uint8)
        return x, packed, scales, unpacked(packed, scales, torch.float16)

    return Problem(
        label=f"{tokens} tokens, {N}x{K} f16",
        make=make,
        bytes=N * K // 2 + N * K // 32 + 2 * tokens * (N + K),
        flops=2 * tokens * N * K,
    )


OPS = [
    Op(
        name="matmul_mxfp4",
        notebook="57_fp8_fp4",
        problems=[
            *(layer(tokens, 14336, 4096) for tokens in (1, 4, 16, 64, 256, 4096)),
            *(layer(tokens, 4096, 14336) for tokens in (1, 16)),
        ],
        exact=cublas,
        providers={
            "matmul_mxfp4": solution("matmul_mxfp4", _on_codes),
            "dequantize_mxfp4, cublas": Provider(_ours_then_cublas, ours=True),
            "cublas float16": peer(cublas),
            "unpacked by torch, cublas": compiled(unpack_then_cublas, dynamic=False),
            "vllm marlin": optional(
                "vllm.model_executor.layers.quantization.utils.marlin_utils_fp4", _marlin
            ),
        },
    )
]
