"""RMSNorm and LayerNorm in bfloat16, from a million short rows to one row of a million."""

import torch
import torch.nn.functional as F

from benchmarks.op import Op, Problem, Provider, compiled, normal, optional, peer, rows, solution


def rms_eager(x, w):
    return F.rms_norm(x, w.shape, w, 1e-6)


def layer_eager(x, w, b):
    return F.layer_norm(x, w.shape, w, b, 1e-5)


def _liger_rms(module):
    return lambda x, w: module.LigerRMSNormFunction.apply(x, w, 1e-6, 0.0, "llama", False)


def _liger_layer(module):
    return lambda x, w, b: module.LigerLayerNormFunction.apply(x, w, b, 1e-5)


def _in_pieces(layernorm_split):
    """LayerNorm that shares a row among programs, in pieces of 4096 columns."""
    return lambda x, w, b: layernorm_split(x, w, b, 1e-5, -(-x.shape[-1] // 4096))


LIGER_STOPS = {"liger": "takes rows of up to 65536"}
ONE_TILE_STOPS = {**LIGER_STOPS, "layernorm": "a row does not fit one program"}


def _gradients(forward):
    """x, w, b, dy -> gradients of the three, through autograd."""

    def run(x, w, b, dy):
        leaves = [value.detach().requires_grad_() for value in (x, w, b)]
        # Backwards in this thread, for everyone: to hand a Python class to autograd's own thread
        # and back takes longer than the kernels.
        with torch.autograd.set_multithreading_enabled(False):
            return torch.autograd.grad(forward(*leaves), leaves, dy)

    return run


def _our_gradients():
    forward, backward = solution("layernorm").load(), solution("layernorm_backward").load()

    class LayerNorm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b):
            y, mean, rstd = forward(x, w, b, 1e-5, stats=True)
            ctx.save_for_backward(x, w, mean, rstd)
            return y

        @staticmethod
        def backward(ctx, dy):
            return backward(dy, *ctx.saved_tensors)

    return _gradients(LayerNorm.apply)


def _our_passes():
    """The kernels of `_our_gradients`, one after the other, without autograd."""
    forward, backward = solution("layernorm").load(), solution("layernorm_backward").load()

    def run(x, w, b, dy):
        _, mean, rstd = forward(x, w, b, 1e-5, stats=True)
        return backward(dy, x, w, mean, rstd)

    return run


def _passes_without_autograd(x, w, b, dy):
    """PyTorch's two kernels, called as we call ours in `_our_passes`."""
    shape = w.shape
    _, mean, rstd = torch.ops.aten.native_layer_norm(x, shape, w, b, 1e-5)
    wanted = [True, True, True]
    return torch.ops.aten.native_layer_norm_backward(dy, x, shape, mean, rstd, w, b, wanted)


def _compiled_gradients():
    """The forward pass compiled, and with it the backward pass that autograd derives."""
    return _gradients(compiled(layer_eager, dynamic=False).load())


def _trained(M, N):
    return Problem(
        label=f"{M}x{N} bf16",
        make=normal(torch.bfloat16, (M, N), (N,), (N,), (M, N)),
        bytes=10 * M * N,  # forward: x, y; backward: x, dy, dx
        targets={"torch": 1.3},
    )


LAYER_PEERS = {
    "torch": peer(layer_eager),
    "compile static": compiled(layer_eager, dynamic=False),
    "compile dynamic": compiled(layer_eager, dynamic=True),
    "liger": optional("liger_kernel.ops.layer_norm", _liger_layer),
}

OPS = [
    Op(
        name="rmsnorm",
        notebook="12_rmsnorm_choose",
        problems=[
            rows(16384, 4096, 1, liger=1.0, compile_static=1.0),
            rows(16384, 8192, 1, liger=1.0, compile_static=1.0),
            rows(1048576, 64, 1, compile_static=1.0),
            rows(524288, 128, 1, compile_static=1.0),
            rows(8, 262144, 1, LIGER_STOPS, on_device=1.05, compile_static=2.0, torch=20.0),
            rows(32, 65536, 1, on_device=1.05, compile_static=1.0),
            rows(1, 1048576, 1, LIGER_STOPS, on_device=1.05, compile_static=2.0),
        ],
        exact=rms_eager,
        providers={
            "rmsnorm": solution("rmsnorm"),
            "rmsnorm record": solution("rmsnorm", record=True),
            "torch": peer(rms_eager),
            "compile static": compiled(rms_eager, dynamic=False),
            "compile dynamic": compiled(rms_eager, dynamic=True),
            "liger": optional("liger_kernel.ops.rms_norm", _liger_rms),
        },
    ),
    Op(
        name="layernorm",
        notebook="13_layernorm",
        problems=[
            rows(16384, 4096, 2, torch=1.0, liger=1.0, compile_static=0.95),
            rows(16384, 8192, 2, torch=1.0, liger=1.0, compile_static=0.95),
            rows(1048576, 64, 2, torch=1.0, liger=1.0, compile_static=0.95),
            rows(1024, 131072, 2, ONE_TILE_STOPS, torch=1.0),
        ],
        exact=layer_eager,
        providers={
            "layernorm": solution("layernorm"),
            "layernorm_welford": solution("layernorm_welford"),
            "layernorm record": solution("layernorm", record=True),
            **LAYER_PEERS,
        },
    ),
    Op(
        name="layernorm of long rows",
        notebook="14_layernorm_split",
        problems=[rows(8, 262144, 2, LIGER_STOPS, on_device=1.0, compile_static=1.5)],
        exact=layer_eager,
        providers={
            "layernorm_split": solution("layernorm_split", _in_pieces),
            "layernorm record": solution("layernorm", record=True),
            **LAYER_PEERS,
        },
    ),
    Op(
        name="layernorm forward and backward",
        notebook="15_norm_backward",
        problems=[_trained(16384, 4096)],
        exact=_gradients(layer_eager),
        providers={
            "layernorm": Provider(_our_gradients, ours=True, launches=_our_passes),
            "torch": peer(_gradients(layer_eager)),
            "compile static": Provider(_compiled_gradients),
            "liger": optional(
                "liger_kernel.ops.layer_norm", lambda module: _gradients(_liger_layer(module))
            ),
        },
    ),
    # Autograd calls a Python class of ours, but C++ of PyTorch's. So here without it, for both.
    Op(
        name="layernorm passes",
        notebook="15_norm_backward",
        problems=[_trained(16384, 4096)],
        exact=_gradients(layer_eager),
        providers={
            "layernorm_backward": Provider(_our_passes, ours=True),
            "torch": peer(_passes_without_autograd),
        },
    ),
]
