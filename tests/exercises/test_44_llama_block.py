"""The block against the page's plain one, in odd sizes, and the page's proof."""

import re

import pytest
import torch

from tritonbook import DEVICE
from tritonbook.course.exercises import get, load
from tritonbook.course.page_checks import load_cases, pictures

PAGE = get("44_llama_block")
BLOCK = load(PAGE)
# hidden, intermediate, heads, kv_heads
SMALL = (192, 288, 6, 2)
LARGE = [(192, 512, 6, 2), (896, 1216, 14, 2), (960, 1280, 15, 5), (2048, 5632, 32, 4)]
CLOSE = {torch.float32: 1e-5, torch.bfloat16: 2.0**-6}


def names_of_examples(*wanted):
    """What the page's worked cells with these words define, which are no part of the module."""
    names = dict(vars(BLOCK))
    for cell in PAGE.cells:
        if cell.kind == "code" and any(words in cell.source for words in wanted):
            exec(cell.source, names)
    return names


def state_of(hidden, inner, heads, kv_heads, dtype):
    size = hidden // heads
    made = load_cases(PAGE).state_of(hidden, inner, heads, kv_heads, size)
    state = {name: t * t.shape[-1] ** -0.5 for name, t in made.items()}
    state |= {name: 1 + t for name, t in state.items() if "layernorm" in name}
    return {name: t.to(DEVICE, dtype) for name, t in state.items()}


def inputs(sizes, length, dtype):
    hidden, _, heads, kv_heads = sizes
    torch.manual_seed(0)
    x = torch.randn(2, length, hidden, device=DEVICE, dtype=dtype)
    size = hidden // heads
    angle = torch.arange(length)[:, None] * 10_000.0 ** (-torch.arange(0, size, 2) / size)
    return x, angle.cos().to(DEVICE, dtype), angle.sin().to(DEVICE, dtype), heads, kv_heads


def block(state, x, cos, sin, heads, kv_heads):
    return BLOCK.llama_block(x, *BLOCK.from_hugging_face(state), cos, sin, heads, kv_heads)


def assert_alike(got, want, x, dtype):
    assert got.dtype == want.dtype == dtype
    assert (got - want).norm() < CLOSE[dtype] * (want - x).norm()  # of what the layer adds to x


@pytest.mark.parametrize("length", [1, 37])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_it_is_the_pages_plain_layer(length, dtype):
    """Kills: a contract whose PyTorch is not what the check asks for."""
    state, (x, cos, sin, *heads) = state_of(*SMALL, dtype), inputs(SMALL, length, dtype)
    want = names_of_examples("def plain_layer")["plain_layer"](x, state, cos, sin)
    assert_alike(block(state, x, cos, sin, *heads), want, x, dtype)


def test_the_page_s_proof_holds():
    """Where transformers is installed, against Hugging Face's layer. Kills: heads in another order,
    RoPE of the other form, a weight that is not transposed."""
    torch.manual_seed(0)
    names = names_of_examples("def plain_layer", 'find_spec("transformers")')
    assert_alike(names["got"], names["want"], names["x"], torch.float32)


@pytest.mark.gpu
@pytest.mark.parametrize("sizes", LARGE, ids=str)
@pytest.mark.parametrize("length", [37, 2049])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_it_is_right_in_odd_sizes(sizes, length, dtype):
    """Kills: tiles, groups of heads or strides that only fit Llama 3's own numbers."""
    state, (x, cos, sin, *heads) = state_of(*sizes, dtype), inputs(sizes, length, dtype)
    exact = {name: t.double() for name, t in state.items()}
    plain = names_of_examples("def plain_layer")["plain_layer"]
    want = plain(x.double(), exact, cos.double(), sin.double()).to(dtype)
    assert_alike(block(state, x, cos, sin, *heads), want, x, dtype)


def test_any_four_functions_can_be_handed_in():
    """Kills: a layer that calls a kernel by its own name, which no measurement could replace."""
    cases, calls = load_cases(PAGE), []
    arguments = cases.drawn(cases.BLOCK)

    class Counted:
        def __getattr__(self, name):
            calls.append(name)
            return getattr(BLOCK.MINE, name)

    got = BLOCK.llama_block(*arguments, ops=Counted())
    assert sorted(calls) == ["flash_gqa", "rmsnorm", "rmsnorm", "rope", "silu_mul"]
    assert torch.equal(got, BLOCK.llama_block(*arguments))


def test_the_picture_tells_kernels_from_products():
    picture = pictures("llama_block").draw_layer()
    yours = " ".join(re.findall(r"Kernels of yours are (.*?)\.", picture.text))
    for name in vars(BLOCK.MINE):
        assert f"`{name}`" in yours and f">{name}<" in picture.svg
    assert "w_o" not in yours
