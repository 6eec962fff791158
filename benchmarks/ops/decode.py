"""One token of Llama 3 8B over a cache in pages, in float16: one layer, sequences of one length."""

import torch
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.op import Op, Problem, compiled, optional, peer, solution

H, HK, D, PAGE = 32, 8, 128, 16


def exact(q, k_cache, v_cache, table, lengths, k, v):
    """From the contiguous keys and values, a sequence at a time: float64 takes much room."""
    return torch.stack([_one_sequence(*each) for each in zip(q, k, v, strict=True)])


def _one_sequence(q, k, v):
    s = q.view(len(k), -1, q.shape[1]) @ k.transpose(1, 2) * q.shape[1] ** -0.5
    return (torch.softmax(s, dim=-1) @ v).view(q.shape)


def _on_pages(decode):
    """Without the contiguous keys and values, which only the peer without pages takes."""
    return lambda q, k_cache, v_cache, table, lengths, k, v: decode(
        q, k_cache, v_cache, table, lengths
    )


def without_pages(q, k_cache, v_cache, table, lengths, k, v):
    """Contiguous k and v come ready-made: gathering pages is not timed."""
    return scaled_dot_product_attention(q[:, :, None], k, v, enable_gqa=True)[:, :, 0]


def gathered(q, k_cache, v_cache, table, lengths, k, v):
    """PyTorch's attention over a cache in pages: they are put side by side first."""
    k, v = (cache[table].flatten(1, 2).transpose(1, 2) for cache in (k_cache, v_cache))
    return scaled_dot_product_attention(q[:, :, None], k, v, enable_gqa=True)[:, :, 0]


def flex_without_pages(q, k_cache, v_cache, table, lengths, k, v):
    """PyTorch's attention that is compiled for its mask; here there is none."""
    return flex_attention(q[:, :, None], k, v, enable_gqa=True)[:, :, 0]


def _flashinfer(use_tensor_cores):
    """FlashInfer, which plans the pieces of a step on the CPU. A server plans once for all layers,
    so the first call does it, and `run` alone is timed. A plan holds lengths and page numbers, no
    addresses of caches: it is good for copies elsewhere in memory too.

    Four queries share a key head: whether tensor cores pay is not clear, so both are tried.
    """

    def build(module):
        planned = []

        def decode(q, k_cache, v_cache, table, lengths, k, v):
            if not planned:
                planned.append(_planned(module, use_tensor_cores, q, k_cache, table, lengths))
            return planned[0].run(q, (k_cache, v_cache))

        return decode

    return build


def _planned(module, use_tensor_cores, q, k_cache, table, lengths):
    room = torch.zeros(128 << 20, dtype=torch.uint8, device=q.device)  # the recommended size
    wrapper = module.BatchDecodeWithPagedKVCacheWrapper(
        room, "NHD", use_tensor_cores=use_tensor_cores
    )
    page = k_cache.shape[1]
    pages = (lengths + page - 1) // page
    used = torch.arange(table.shape[1], device=table.device) < pages[:, None]
    wrapper.plan(
        torch.nn.functional.pad(pages.cumsum(0), (1, 0)).to(torch.int32),
        table[used],
        (lengths - 1) % page + 1,  # tokens in the last page
        q.shape[1],
        k_cache.shape[2],
        q.shape[2],
        page,
        q_data_type=q.dtype,
        kv_data_type=k_cache.dtype,
    )
    return wrapper


def _llama(B, tokens, on_device=None, **targets):
    def make(device):
        pages = tokens // PAGE
        q = torch.randn(B, H, D, device=device, dtype=torch.float16)
        shape = 2, B * pages, PAGE, HK, D
        k_cache, v_cache = torch.randn(shape, device=device, dtype=torch.float16).unbind(0)
        table = torch.randperm(B * pages, device=device).view(B, pages)
        lengths = torch.full((B,), tokens, device=device, dtype=torch.int32)
        k, v = (
            cache[table].flatten(1, 2).transpose(1, 2).contiguous() for cache in (k_cache, v_cache)
        )
        return q, k_cache, v_cache, table.to(torch.int32), lengths, k, v

    return Problem(
        label=f"B{B} S{tokens} H{H}/{HK} D{D} pages of {PAGE} f16",
        make=make,
        bytes=2 * (2 * B * tokens * HK * D + 2 * B * H * D) + 4 * B * (tokens // PAGE + 1),
        flops=4 * B * H * tokens * D,
        targets=targets,
        device_targets=on_device or {},
    )


OPS = [
    Op(
        name="paged_decode",
        notebook="50_split_kv_decode",
        problems=[
            _llama(1, 1024),
            _llama(8, 1024),
            _llama(32, 4096),
            _llama(1, 32768, on_device={"flashinfer": 1.0}, flashinfer=1.0),
            *(_llama(B, 32768, flashinfer=1.0) for B in (4, 16, 32)),
            _llama(1, 131072),
        ],
        exact=exact,
        providers={
            "paged_decode": solution("paged_decode", _on_pages),
            "SDPA, no pages": peer(without_pages),
            "SDPA, pages gathered": peer(gathered),
            "flex attention, no pages": compiled(flex_without_pages, dynamic=False),
            "flashinfer": optional("flashinfer", _flashinfer(use_tensor_cores=False)),
            "flashinfer tensor cores": optional("flashinfer", _flashinfer(use_tensor_cores=True)),
        },
    )
]
