"""What the checks of 45_llama_decode_train try: cases and references."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, rounded_once, tensor
from tritonbook.checking.asks import launches
from tritonbook.checking.cases import arguments
from tritonbook.port.dispatch import DispatchMode

from ..shared import llama
from ..shared.llama import KERNELS_WORK, PRODUCTS, block_arguments, block_ref

# --- one token more


def decode_ref(*arguments):
    """The whole layer at once: what the steps must add up to."""
    return block_ref(*arguments[:-1])


def decode_case(note, B, L, prefill, dtype="float32", **sizes):
    return case(note, dtype=dtype, **block_arguments(B, L, **sizes), prefill=prefill)


DECODE_CASES = [
    decode_case("three at once, then two; wide tables", 2, 5, 3, positions=9),
    decode_case("token by token", 1, 4, 1, heads=2, kv_heads=2),
    decode_case("half precision", 1, 6, 4, dtype="float16"),
]

HIDDEN_DECODE_CASES = [
    decode_case("all at once", 1, 6, 6),
    decode_case("another model", 2, 4, 2, D=40, F=70, heads=8, kv_heads=2),
    decode_case("a longer text", 1, 20, 18, heads=2, kv_heads=1, dtype="float16"),
    decode_case("bfloat16", 1, 5, 4, heads=3, kv_heads=1, dtype="bfloat16"),
]

# --- the way back through the gate


def silu_mul_backward_ref(dhidden, gate, up):
    s = torch.sigmoid(gate)
    return dhidden * up * (s + gate * s * (1 - s)), dhidden * gate * s


def gate_case(note, *shape, dtype="float32", raises=None, gate=(), layout="contiguous", **how):
    return case(
        note,
        dtype=dtype,
        raises=raises,
        dhidden=tensor(*shape, layout=layout),
        gate=tensor(*(gate or shape), **how),
        up=tensor(*shape),
    )


GATE_CASES = [
    gate_case("a few rows", 5, 70),
    gate_case("more than one tile, ragged", 3, 1031),
    gate_case("large gates", 4, 60, scale=40.0),
    gate_case("half precision", 6, 90, dtype="float16"),
    gate_case("bfloat16", 3, 130, dtype="bfloat16"),
    gate_case("another shape", 4, 8, gate=(8, 4), raises=ValueError),
]

HIDDEN_GATE_CASES = [
    gate_case("one element", 1, 1),
    gate_case("exactly a tile", 2, 512),
    gate_case("no rows", 0, 64),
    gate_case("many tiles", 9, 700, dtype="float16"),
    gate_case("very negative gates", 3, 100, mean=-60.0),
    gate_case("three dimensions", 2, 3, 50),
    gate_case("a gradient with gaps", 4, 30, layout="strided", raises=ValueError),
]


def gate_digits(dtype):
    """A GPU takes exp(x) as a power of two, and rounds x times log2(e): 2**-24 of x is lost."""
    usual = rounded_once(terms=4)(dtype)
    because = f"{usual.because}; exponents of up to 64, rounded in float32"
    return Tolerance(usual.relative + 64 * 2.0**-24, usual.of_row_max, usual.absolute, because)


# --- gradients


def gradients_ref(x, dy, *rest, layer=block_ref):
    with torch.enable_grad():
        leaves = [t.detach().requires_grad_() for t in (x, *rest[:7])]
        y = layer(*leaves, *rest[7:])
        return y.detach(), *torch.autograd.grad(y, leaves[::-1], dy)


def gradients_close(dtype):
    usual = llama.close_enough(dtype)
    return Tolerance(4 * usual.relative, 4 * usual.of_row_max, usual.relative, usual.because)


def training_case(note, B, L, **sizes):
    arguments = block_arguments(B, L, **sizes)
    x = arguments.pop("x")
    return case(note, x=x, dy=tensor(B, L, x.shape[2]), **arguments)


GRADIENTS = ("dw_down", "dw_up", "dw_gate", "dnorm_mlp", "dw_o", "dw_qkv", "dnorm_attn", "dx")
TRAINING = (*PRODUCTS, "t", "cat", "copy_", "slice_backward", "split_with_sizes_backward")

TRAINING_CASES = [
    # Equal heads first: there gradients fit together that shapes would stop elsewhere.
    training_case("equal heads", 1, 3, D=16, F=24, heads=2, kv_heads=2),
    training_case("four heads share two", 2, 5),
]

HIDDEN_TRAINING_CASES = [
    training_case("an odd length", 1, 18, heads=2, kv_heads=1),
    training_case("one token", 2, 1),
    training_case("odd widths, eight heads share two", 1, 6, D=40, F=70, heads=8),
]

DECODING = (*PRODUCTS, "copy_", "cat", "index_copy_", "index_put_", "arange")
DECODE = block_arguments(1, 3) | {"prefill": 2}
TRAIN = training_case("", 1, 3).arguments


NEW = ("empty", "zeros", "full", "clone", "cat", "copy", "repeat", "index_select", "select_index")


def never_copies_the_cache(fn):
    """Token by token, only both caches and the result are as large as a half-filled cache."""
    L, size, kv_heads = 24, 16, 2
    largest = kv_heads * L // 2 * size

    class Watch(DispatchMode):
        made = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            new = isinstance(result, torch.Tensor) and any(name in str(func) for name in NEW)
            if new and "copy_" not in str(func) and result.numel() >= largest:
                self.made += 1
            return result

    given = case("", **block_arguments(1, L, kv_heads=kv_heads, size=size), prefill=1)
    given = [x.to(DEVICE) if isinstance(x, torch.Tensor) else x for x in arguments(given)]
    with Watch() as watch:
        fn(*given)
    assert watch.made <= 3, (
        "The values are right, but the steps make new tensors as large as the filled part of a "
        "cache: it is copied, joined or turned as a whole for each token. Write the new keys and "
        "values into it, and hand on views: `cache_k[:, :, :end]`."
    )


CHECKS = {
    "llama_decode": Check(
        decode_ref,
        DECODE_CASES,
        HIDDEN_DECODE_CASES,
        allow=(*DECODING, *KERNELS_WORK),
        tolerance=llama.close_enough,
        nan=(
            "Until something is written, a cache of this check holds NaN. Do k and v go into "
            "it, all the new tokens, before attention reads it?"
        ),
        asks=[lambda fn: llama.only_products(fn, DECODE, DECODING), never_copies_the_cache],
    ),
    "silu_mul_backward": Check(
        silu_mul_backward_ref,
        GATE_CASES,
        HIDDEN_GATE_CASES,
        asks=[launches(1)],
        results=("dgate", "dup"),
        tolerance=gate_digits,
    ),
    "llama_train": Check(
        gradients_ref,
        TRAINING_CASES,
        HIDDEN_TRAINING_CASES,
        through="layer_gradients",
        results=("y", *GRADIENTS),
        allow=(*TRAINING, *KERNELS_WORK),
        tolerance=gradients_close,
        asks=[lambda fn: llama.only_products(fn, TRAIN, TRAINING)],
    ),
}
