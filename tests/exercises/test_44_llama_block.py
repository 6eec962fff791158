"""The block against Hugging Face's layer with the same weights, and its training path."""

import pytest
import torch

import tritonbook
from tritonbook.course.exercises import get, load

BLOCK = load(get("44_llama_block"))


def block_and_arguments(seed=0):
    """A block of four heads that share two, its input and tables."""
    torch.manual_seed(seed)
    shapes = {"w_qkv": (32, 128), "w_o": (64, 32), "w_gate": (32, 48), "w_up": (32, 48)}
    shapes |= {"w_down": (48, 32), "norm_attn": (32,), "norm_mlp": (32,)}
    weights = {
        name: torch.randn(*shape, device=tritonbook.DEVICE) * shape[0] ** -0.5
        for name, shape in shapes.items()
    }
    angle = torch.randn(5, 8, device=tritonbook.DEVICE)
    x = torch.randn(1, 5, 32, device=tritonbook.DEVICE)
    return BLOCK.TritonLlamaBlock(weights, 4, 2), (x, angle.cos(), angle.sin())


def test_inference_and_training_agree():
    """Kills: a training path that drifts away from the block that is used."""
    block, arguments = block_and_arguments()
    trained = block(*arguments)
    with torch.no_grad():
        used = block(*arguments)
    assert trained.requires_grad and not used.requires_grad
    torch.testing.assert_close(trained.detach(), used, rtol=1e-4, atol=1e-5)


def test_every_weight_gets_a_gradient():
    """Kills: a part that is not connected to autograd."""
    block, arguments = block_and_arguments()
    block(*arguments).square().sum().backward()
    for name, weight in block.named_parameters():
        assert weight.grad is not None and float(weight.grad.abs().sum()) > 0, name


@pytest.mark.parametrize("length", [1, 9])
@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 1e-5), (torch.bfloat16, 2.0**-6)])
def test_it_matches_a_layer_of_transformers(length, dtype, close):
    """Kills: heads in another order, RoPE of the other form, a weight that is not transposed."""
    transformers = pytest.importorskip("transformers", reason="a peer, not a dependency")
    from transformers.models.llama import modeling_llama

    config = transformers.LlamaConfig(
        hidden_size=64,
        intermediate_size=112,
        num_attention_heads=4,
        num_key_value_heads=2,
        attn_implementation="eager",
    )
    torch.manual_seed(0)
    layer = modeling_llama.LlamaDecoderLayer(config, 0).to(tritonbook.DEVICE, dtype)
    angles = modeling_llama.LlamaRotaryEmbedding(config).to(tritonbook.DEVICE)
    x = torch.randn(2, length, 64, device=tritonbook.DEVICE, dtype=dtype)
    cos, sin = angles(x, torch.arange(length, device=tritonbook.DEVICE)[None])
    hidden = torch.full((length, length), float("-inf"), device=x.device, dtype=dtype).triu(1)
    with torch.no_grad():
        want = layer(x, attention_mask=hidden[None, None], position_embeddings=(cos, sin))
        want = want[0] if isinstance(want, tuple) else want
        got = BLOCK.TritonLlamaBlock.from_hugging_face(layer, config)(x, cos[0], sin[0])
    assert got.dtype == want.dtype == dtype
    assert (got - want).norm() < close * (want - x).norm()  # of what the layer adds to x
