"""Causal attention of sequences of many lengths, on one axis of tokens, in half precision."""

from importlib.util import find_spec
from itertools import pairwise

import torch
from torch.nn.functional import pad, scaled_dot_product_attention

from benchmarks.op import DTYPES, Op, Problem, optional, peer, solution
from tritonbook import target_arch


def block():
    """Queries of a tile, as on the page: `cu_tiles` counts such tiles."""
    return 128 if target_arch() >= 80 else 32


def exact(q, k, v, cu_seqlens, cu_tiles, longest):
    """The last head alone, a sequence at a time: all scores would not fit in float64."""
    q, k, v = (x[:, -1] for x in (q, k, v))
    o = torch.empty_like(q)
    for begin, end in pairwise(cu_seqlens.long().tolist()):
        s = q[begin:end] @ k[begin:end].T * q.shape[1] ** -0.5
        later = torch.ones_like(s).triu(1) > 0
        o[begin:end] = s.masked_fill(later, float("-inf")).softmax(1) @ v[begin:end]
    return o


def last_head(result):
    return result[:, -1] if result.dim() == 3 else result


def _tiles(flash_ragged):
    return lambda q, k, v, cu_seqlens, cu_tiles, longest: flash_ragged(
        q, k, v, cu_seqlens, cu_tiles, block()
    )


def padded(q, k, v, cu_seqlens, cu_tiles, longest):
    """Copied into rows of the longest sequence, and back."""
    T, lengths = len(q), cu_seqlens.diff()
    sequence = torch.repeat_interleave(lengths, output_size=T).long()
    position = torch.arange(T, device=q.device) - cu_seqlens[sequence]
    rows = []
    for x in (q, k, v):
        row = x.new_zeros(len(lengths), longest, *x.shape[1:])
        row[sequence, position] = x
        rows.append(row.transpose(1, 2))
    o = scaled_dot_product_attention(*rows, is_causal=True, enable_gqa=q.shape[1] > k.shape[1])
    return o.transpose(1, 2)[sequence, position]


def nested(q, k, v, cu_seqlens, cu_tiles, longest):
    """PyTorch's ragged batches, whose attention is FlashAttention-2."""
    offsets = cu_seqlens.long()
    q, k, v = (
        torch.nested.nested_tensor_from_jagged(x, offsets, min_seqlen=0, max_seqlen=longest)
        for x in (q, k, v)
    )
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).values()


def _varlen_attn(module):
    """PyTorch's own door to FlashAttention for packed sequences."""

    def attend(q, k, v, cu_seqlens, cu_tiles, longest):
        ends = cu_seqlens, cu_seqlens, longest, longest
        shared = {"enable_gqa": True} if q.shape[1] > k.shape[1] else {}
        return module.varlen_attn(q, k, v, *ends, window_size=(-1, 0), **shared)

    return attend


def _equal_heads():
    """Peers that want a key head for each query head, and why."""
    wanting = {"nested tensors"}
    # Its signature would say so too, at the price of 2 s: it imports torch's compiler.
    if torch.__version__ < "2.12" and find_spec("torch.nn.attention.varlen"):
        wanting.add("torch varlen_attn")
    return dict.fromkeys(wanting, "each query head wants a key head")


def _flash_attn(module):
    return lambda q, k, v, cu_seqlens, cu_tiles, longest: module.flash_attn_varlen_func(
        q, k, v, cu_seqlens, cu_seqlens, longest, longest, causal=True
    )


def _flashinfer(module):
    """It plans a batch on the CPU, once for all layers: the first call does, `run` is timed."""
    planned = []

    def attend(q, k, v, cu_seqlens, cu_tiles, longest):
        if not planned:
            room = torch.zeros(128 << 20, dtype=torch.uint8, device=q.device)
            wrapper = module.BatchPrefillWithRaggedKVCacheWrapper(room, "NHD")
            heads = q.shape[1], k.shape[1], q.shape[2]
            wrapper.plan(cu_seqlens, cu_seqlens, *heads, causal=True, q_data_type=q.dtype)
            planned.append(wrapper)
        return planned[0].run(q, k, v)

    return attend


def problem(lengths, H, HK, D, dtype="f16", word="", without=None, **targets):
    """word: what the lengths are like, for the label. without: peers that cannot, and why."""
    kind, T, longest = DTYPES[dtype], sum(lengths), max(lengths)

    def make(device):
        q = torch.randn(T, H, D, device=device, dtype=kind)
        k, v = torch.randn(2, T, HK, D, device=device, dtype=kind).unbind(0)
        sizes = torch.tensor(lengths, device=device)
        tiles = (sizes + block() - 1) // block()
        cu_seqlens, cu_tiles = (pad(x.cumsum(0), (1, 0)).to(torch.int32) for x in (sizes, tiles))
        return q, k, v, cu_seqlens, cu_tiles, longest

    return Problem(
        label=f"{len(lengths)} x {min(lengths)}-{longest}{word}, T{T} H{H}/{HK} D{D} {dtype}",
        make=make,
        bytes=kind.itemsize * 2 * T * (H + HK) * D + 8 * (len(lengths) + 1),
        flops=2 * H * D * sum(length**2 for length in lengths),
        targets=targets,
        without=without or ({} if H == HK else _equal_heads()),
    )


# The lengths of the page's table: 64 texts, most of them short, in no order.
MIXED = [int(16 * 256 ** (n * 29 % 64 / 63)) for n in range(64)]

OPS = [
    Op(
        name="flash_ragged",
        notebook="56_ragged_batches",
        problems=[
            problem(MIXED, 16, 16, 128),
            problem(MIXED, 32, 8, 128),
            problem([2048] * 16, 32, 8, 128, word=" alike"),
            problem([128] * 256, 16, 16, 64),
            problem([16384] + [64] * 128, 32, 8, 128, dtype="bf16"),
            problem(
                [0, 1, 0, 0] * 2500,
                16,
                16,
                64,
                without={"nested tensors": "with 7,500 empty sequences its call does not return"},
            ),
        ],
        exact=exact,
        part=last_head,
        providers={
            "flash_ragged": solution("flash_ragged", _tiles),
            "padded": peer(padded),
            "nested tensors": peer(nested),
            "torch varlen_attn": optional("torch.nn.attention.varlen", _varlen_attn),
            "flash_attn_varlen": optional("flash_attn", _flash_attn),
            "flashinfer": optional("flashinfer", _flashinfer),
        },
    )
]
