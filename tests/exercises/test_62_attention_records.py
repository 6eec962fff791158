"""Page 62: three programs on an H100, and when keys are described."""

import pytest
import torch
from machine_code import compiled
from needs import copy_engine, descriptors, interpreter

from tritonbook.course.page_checks import load_cases
from tritonbook.port.compat import hook_launch
from tritonbook.port.device import DEVICE

PAGE = "62_attention_records"
HALF = torch.float16


def heads_behind_tokens(B, H, L, D, dtype=HALF):
    """(B, H, L, D) as a layer hands it over: the heads of one token lie side by side."""
    return torch.randn(B, L, H, D, device=DEVICE).to(dtype).transpose(1, 2)


def attention(page, H, HK, Lq, Lk, D, causal, dtype=HALF):
    """One call, what it should give, and whether its launch took descriptors."""
    q = heads_behind_tokens(2, H, Lq, D, dtype)
    k, v = (heads_behind_tokens(2, HK, Lk, D, dtype) for _ in range(2))
    # the largest score of a row comes late; beside k and v lie numbers that would show
    k = k * torch.linspace(0.2, 3, Lk, device=DEVICE).to(dtype)[:, None]
    wide = torch.full((2, HK, Lk + 70, D), 60.0, dtype=dtype, device=DEVICE)
    wide[:, :, :Lk] = v
    v = wide[:, :, :Lk]
    flags = []

    def note(call, fn, grid, args, kwargs):
        flags.append(kwargs["DESCRIBED"])
        return call()

    with hook_launch(note):
        got = page.flash_gqa_record(q, k, v, causal)
    exact = [x.double().cpu() for x in (q, k, v)]
    return got, load_cases("62_attention_records").attention_ref(*exact, causal), flags


def assert_attention(got, want):
    """p and o are rounded once to their dtype, whose largest value here is below 8."""
    (o, lse), (o_want, lse_want) = got, want
    step = 8 * torch.finfo(o.dtype).eps
    torch.testing.assert_close(o.double().cpu(), o_want, rtol=0, atol=step)
    torch.testing.assert_close(lse.double().cpu(), lse_want.double(), rtol=1e-5, atol=1e-4)


SIZES = [
    (2, 2, 70, 350, 64),  # ragged ends of both
    (1, 1, 65, 330, 96),
    (3, 3, 400, 330, 64),  # queries that see nothing
    (4, 1, 37, 350, 80),  # a group of four, 148 rows
    (6, 2, 50, 270, 160),
]


@interpreter
@descriptors
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("H", "HK", "Lq", "Lk", "D"), SIZES)
def test_described_keys_give_attention(page, H, HK, Lq, Lk, D, causal):
    """Kills: keys behind the last one, descriptors that take a row's length for its stride."""
    got, want, flags = attention(page, H, HK, Lq, Lk, D, causal)
    assert flags == [1]
    assert_attention(got, want)


KEYS = torch.zeros(1, 2, 257, 64, dtype=HALF)


@pytest.mark.parametrize("k", [KEYS.float(), KEYS[..., ::2], KEYS[:, :1].expand(1, 2, 257, 64)])
def test_what_the_copy_engine_does_not_take_comes_through_addresses(page, k):
    assert not page.chosen(KEYS, KEYS, k)["described"]
    assert not page.chosen(KEYS, k, KEYS)["described"]


@descriptors
@pytest.mark.parametrize(("rows", "keys"), [(63, 300), (300, 256)])
def test_so_does_little_work(page, rows, keys):
    """Kills: descriptors that take the host longer than the kernel takes the GPU."""
    assert page.chosen(KEYS, KEYS, KEYS)["described"]
    assert not page.chosen(
        KEYS[:, :, :1].expand(1, 2, rows, 64), *[KEYS[:, :, :1].repeat(1, 1, keys, 1)] * 2
    )["described"]


def kernel_of(page, D, causal=True, kv_heads=8):
    """The kernel that is launched on an H100, compiled here."""
    q = torch.empty(2, 8, 2048, D, dtype=HALF, device="meta")
    k = torch.empty(2, kv_heads, 2048, D, dtype=HALF, device="meta")
    (kernel,) = compiled(page.flash_gqa_record, (q, k, k, causal))
    return kernel


@pytest.mark.page(PAGE)
@descriptors
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("D", [64, 80, 96, 128])
@pytest.mark.parametrize("kv_heads", [2, 8])
def test_three_programs_fit_on_a_multiprocessor(page, D, causal, kv_heads):
    """Kills: more registers or stages than leave room for three. A few numbers that are needed only
    after the loop may wait in memory."""
    kernel = kernel_of(page, D, causal, kv_heads)
    assert kernel.programs_per_sm >= 3 and kernel.wgmma
    assert kernel.spills <= 64


def test_one_width_is_the_least_that_holds_a_head(page):
    """Kills: parts that lose columns, that could be narrower, or that are no powers of two."""
    sizes = (16, 32, 64, 128, 256)
    ways = [(one, 0) for one in sizes] + [(a, b) for a in sizes for b in sizes if b < a]
    for D in range(1, 257):
        enough = [way for way in ways if sum(way) >= D]
        assert page.column_parts(D) == min(enough, key=lambda way: (sum(way), way[1])), D


@pytest.mark.gpu
@copy_engine
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("H", "HK", "Lq", "Lk", "D"), [*SIZES, (8, 2, 1000, 1500, 128)])
def test_described_keys_give_attention_on_an_h100(page, H, HK, Lq, Lk, D, causal):
    """Kills: what the interpreter cannot see, as a tile that is used before it has arrived."""
    for dtype in (HALF, torch.bfloat16):
        got, want, flags = attention(page, H, HK, Lq, Lk, D, causal, dtype)
        assert flags[0]
        assert_attention(got, want)
