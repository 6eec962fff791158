"""What the checks of 44_llama_block try: cases and references."""

import inspect
from types import SimpleNamespace

import torch

from tritonbook.checking import Check, case
from tritonbook.port.dispatch import DispatchMode

from ..shared import llama
from ..shared.llama import attention_arguments, block_arguments, drawn
from .page import MINE

ATTENTION, BLOCK = attention_arguments(1, 5), block_arguments(1, 5)


def takes_them_from_ops(fn, specs, wanted):
    """Each of the functions in `ops` is called as often as wanted, and none but these."""
    if "ops" not in inspect.signature(fn).parameters:
        return  # it stands for a function in another process, which can be given no functions
    arguments, calls = drawn(specs), dict.fromkeys(vars(MINE), 0)

    def counted(name):
        def call(*given, **options):
            calls[name] += 1
            return getattr(MINE, name)(*given, **options)

        return call

    fn(*arguments, ops=SimpleNamespace(**{name: counted(name) for name in calls}))
    for name, count in wanted.items():
        assert calls[name], (
            f"`ops.{name}` is never called. Take the four functions from `ops`, in both halves, so "
            "that others can be handed in."
        )
        assert calls[name] >= count, (
            f"`ops.{name}` is called for one half alone. Hand `ops` on to `attention_half`, and "
            "use it in the MLP's half too."
        )
        assert calls[name] == count, (
            f"`ops.{name}` is called {calls[name]} times in one call; {count} would be enough."
        )


def heads_as_they_lie(fn):
    """Nothing is copied on the way to `rope`, and o may lie head by head in memory."""
    if "ops" not in inspect.signature(fn).parameters:
        return

    class Watch(DispatchMode):
        copies, turned = 0, False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.copies += not self.turned and func.name().startswith("aten::clone")
            return func(*args, **(kwargs or {}))

    watch = Watch()

    def rope(*given, **options):
        watch.turned = True
        return MINE.rope(*given, **options)

    def head_by_head(*given, **options):
        o, lse = MINE.flash_gqa(*given, **options)
        return o.contiguous(), lse

    others = {"rope": rope, "flash_gqa": head_by_head}
    try:
        with watch:
            fn(*drawn(ATTENTION), ops=SimpleNamespace(**(vars(MINE) | others)))
    except RuntimeError as error:
        raise AssertionError(
            "With an attention whose o lies head by head in memory, as PyTorch's, it raises "
            f"RuntimeError: {error}. `.reshape` copies where a view cannot be had."
        ) from error
    assert not watch.copies, (
        "Something is copied before the turn (`contiguous`, `clone` or `reshape`). Views of the "
        "product are enough: the kernels take strides."
    )


def both(note, dtype="float32", **sizes):
    """The same case for the half with attention and for the layer."""
    return (
        case(note, dtype=dtype, **attention_arguments(**sizes)),
        case(note, dtype=dtype, **block_arguments(**sizes)),
    )


CASES = [
    # Equal heads first: there mistakes fit together that shapes would stop elsewhere.
    both("equal heads, two texts", B=2, L=7, heads=2, kv_heads=2),
    both("four heads share two", B=1, L=11),
    both("one token, a large eps", B=3, L=1, eps=0.3),
    both(
        "three heads share one, tables (P, d)", B=1, L=7, heads=3, kv_heads=1, positions=9, copies=2
    ),
    both("half precision", B=1, L=9, dtype="float16"),
]

HIDDEN_CASES = [
    both("eight heads share two", B=1, L=7, heads=8, kv_heads=2),
    both("odd widths", B=2, L=5, D=40, F=70),
    both("long tables, (P, d)", B=1, L=4, positions=9, copies=2),
    both("bfloat16", B=1, L=12, heads=6, kv_heads=2, dtype="bfloat16"),
    both("more tokens", B=1, L=33, heads=2, kv_heads=1, dtype="float16"),
]


def state_of(D, F, heads, kv_heads, size, dtype=torch.float32):
    """A layer's weights by Hugging Face's names; each number says where it belongs."""
    wide, narrow = heads * size, kv_heads * size
    shapes = {
        "self_attn.q_proj": (wide, D),
        "self_attn.k_proj": (narrow, D),
        "self_attn.v_proj": (narrow, D),
        "self_attn.o_proj": (D, wide),
        "mlp.gate_proj": (F, D),
        "mlp.up_proj": (F, D),
        "mlp.down_proj": (D, F),
        "input_layernorm": (D,),
        "post_attention_layernorm": (D,),
    }
    generator = torch.Generator().manual_seed(0)
    return {
        f"{name}.weight": torch.randn(*shape, generator=generator).to(dtype)
        for name, shape in shapes.items()
    }


def short(state):
    return {name.split(".")[-2].removesuffix("_proj"): t for name, t in state.items()}


def weights_ref(state):
    w = {name: t.t() for name, t in short(state).items()}
    qkv = torch.cat([w["q"], w["k"], w["v"]], dim=1)
    first, second = w["input_layernorm"], w["post_attention_layernorm"]
    return first, qkv, w["o"], second, w["gate"], w["up"], w["down"]


OF_ATTENTION = {"rmsnorm": 1, "rope": 1, "flash_gqa": 1}
OF_A_LAYER = {"rmsnorm": 2, "rope": 1, "flash_gqa": 1, "silu_mul": 1}
BY_KERNELS = {
    "allow": (*llama.PRODUCTS, *llama.KERNELS_WORK),
    "tolerance": llama.close_enough,
}
CHECKS = {
    "from_hugging_face": Check(
        weights_ref,
        [
            case("equal heads, square", state=state_of(8, 8, 2, 2, 4)),
            case("four heads share two", state=state_of(12, 20, 4, 2, 4)),
        ],
        [
            case("other sizes", state=state_of(10, 6, 3, 1, 2)),
            case("half precision", state=state_of(16, 24, 2, 1, 8, torch.float16)),
        ],
        triton=False,
    ),
    "attention_half": Check(
        llama.attention_ref,
        [attention for attention, _ in CASES],
        [attention for attention, _ in HIDDEN_CASES],
        **BY_KERNELS,
        asks=[
            lambda fn: llama.only_products(fn, ATTENTION),
            lambda fn: takes_them_from_ops(
                fn, ATTENTION, {"rmsnorm": 1, "rope": 1, "flash_gqa": 1}
            ),
            heads_as_they_lie,
        ],
    ),
    "llama_block": Check(
        llama.block_ref,
        [block for _, block in CASES],
        [block for _, block in HIDDEN_CASES],
        **BY_KERNELS,
        asks=[
            lambda fn: llama.only_products(fn, BLOCK),
            lambda fn: takes_them_from_ops(fn, BLOCK, OF_A_LAYER),
        ],
    ),
}
