"""The record of attention on an H100: three programs at a time, and when keys are described."""

import pytest
import torch

from benchmarks.records import attention as record
from tritonbook import descriptors
from tritonbook.course.cases import load_cases
from tritonbook.port.compat import hook_launch, triton_version
from tritonbook.port.device import DEVICE, INTERPRET
from tritonbook.seeing.compiled import compile_gate

HALF = torch.float16
in_the_interpreter = pytest.mark.skipif(not INTERPRET, reason="asks the interpreter")
with_descriptors = pytest.mark.skipif(
    triton_version() < (3, 6), reason="tensor descriptors want Triton 3.6"
)
with_a_copy_engine = pytest.mark.skipif(
    INTERPRET or not descriptors.can_describe(), reason="needs an H100 and Triton 3.6"
)


@pytest.fixture
def h100(monkeypatch):
    """The wrapper decides as on an H100; what it launches is still interpreted."""
    monkeypatch.setattr(descriptors, "target_arch", lambda: 90)
    monkeypatch.setattr(descriptors, "triton_version", lambda: (3, 7))
    monkeypatch.setattr(record, "target_arch", lambda: 90)


def heads_behind_tokens(B, H, L, D, dtype=HALF, make=torch.randn):
    """(B, H, L, D) as a layer hands it over: the heads of one token lie side by side."""
    return make(B, L, H, D, device=DEVICE).to(dtype).transpose(1, 2)


def attention(H, HK, Lq, Lk, D, causal, dtype=HALF):
    """One call, what it should give, and the flags of its launches."""
    q = heads_behind_tokens(2, H, Lq, D, dtype)
    k, v = (heads_behind_tokens(2, HK, Lk, D, dtype) for _ in range(2))
    # the largest score of a row comes late; beside k and v lie numbers that would show
    k = k * torch.linspace(0.2, 3, Lk, device=DEVICE).to(dtype)[:, None]
    wide = torch.full((2, HK, Lk + 70, D), 60.0, dtype=dtype, device=DEVICE)
    wide[:, :, :Lk] = v
    v = wide[:, :, :Lk]
    flags = []

    def note(call, fn, grid, args, kwargs):
        flags.append((kwargs["DESCRIBED"], kwargs["BLOCK_M"]))
        return call()

    with hook_launch(note):
        got = record.attention_record(q, k, v, causal)
    exact = [x.double().cpu() for x in (q, k, v)]
    want = load_cases("42_flash_gqa").attention_ref(*exact, causal)
    return got, want, flags


def assert_attention(got, want):
    """p and o are rounded once to their dtype, whose largest value here is below 8."""
    (o, lse), (o_want, lse_want) = got, want
    step = 8 * torch.finfo(o.dtype).eps
    torch.testing.assert_close(o.double().cpu(), o_want, rtol=0, atol=step)
    torch.testing.assert_close(lse.double().cpu(), lse_want.double(), rtol=1e-5, atol=1e-4)


SIZES = [
    (2, 2, 128, 256, 64),
    (2, 2, 70, 150, 64),  # ragged ends of both
    (1, 1, 65, 130, 128),
    (3, 3, 200, 130, 64),  # queries that see nothing
    (4, 1, 37, 150, 128),  # a group of four, 148 rows
    (6, 2, 50, 50, 64),
]


@in_the_interpreter
@with_descriptors
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("H", "HK", "Lq", "Lk", "D"), SIZES)
def test_described_keys_give_attention(h100, H, HK, Lq, Lk, D, causal):
    """Kills: a tile of another head, batch or place, k in place of v, keys behind the last, tiles
    of a wrong length, descriptors that take a row's length for its stride."""
    got, want, flags = attention(H, HK, Lq, Lk, D, causal)
    assert flags == [(True, 64)]
    assert_attention(got, want)


@in_the_interpreter
@with_descriptors
def test_described_bfloat16(h100):
    """Kills: p that is rounded to float16 for the second product."""
    got, want, flags = attention(2, 2, 64, 140, 64, True, torch.bfloat16)
    assert flags[0][0]
    assert_attention(got, want)


KEYS = torch.zeros(1, 2, 256, 64, dtype=HALF)
LARGE_KEYS = torch.zeros(1, 2, 256, 128, dtype=HALF)


@pytest.mark.parametrize("k", [KEYS, LARGE_KEYS, KEYS.bfloat16(), LARGE_KEYS[..., :64]])
def test_large_tiles_of_halves_are_described(h100, k):
    chosen = record.tiles(k, k, 64)
    assert chosen["DESCRIBED"] and chosen["BLOCK_M"] == 64 and chosen["num_warps"] == 4


@pytest.mark.parametrize(
    ("why", "k", "v", "rows"),
    [
        ("few rows, as in decoding", KEYS, KEYS, 63),
        ("float32", KEYS.float(), KEYS.float(), 256),
        ("heads of another size", LARGE_KEYS[..., :80], LARGE_KEYS[..., :80], 256),
        ("every second number of k", LARGE_KEYS[..., ::2], KEYS, 256),
        ("every second number of v", KEYS, LARGE_KEYS[..., ::2], 256),
        ("an odd address", LARGE_KEYS[..., 4:68], KEYS, 256),
        ("rows of 136 bytes", torch.zeros(1, 2, 256, 68, dtype=HALF)[..., :64], KEYS, 256),
        ("one head for all", KEYS[:, :1].expand(1, 2, 256, 64), KEYS, 256),
        ("no keys", KEYS[:, :, :0], KEYS[:, :, :0], 256),
    ],
)
def test_what_the_copy_engine_does_not_take_comes_through_addresses(h100, why, k, v, rows):
    """Kills: each condition left out, one at a time."""
    assert not record.tiles(k, v, rows)["DESCRIBED"], why


@pytest.mark.parametrize("arch", [75, 80, 89, 100])
def test_other_gpus_keep_the_tiles_that_were_found_for_them(h100, monkeypatch, arch):
    """Kills: descriptors where nobody has measured them, or where there are none."""
    before = record.tiles(KEYS, KEYS, 256)
    monkeypatch.setitem(vars(record), "target_arch", lambda: arch)
    assert before["DESCRIBED"] and not record.tiles(KEYS, KEYS, 256)["DESCRIBED"]


def test_an_older_triton_knows_no_descriptors(h100, monkeypatch):
    monkeypatch.setattr(descriptors, "triton_version", lambda: (3, 5))
    assert not record.tiles(KEYS, KEYS, 256)["DESCRIBED"]


def _compiled(D, causal=True, kv_heads=8, described=True):
    """The kernel that is launched on an H100, compiled here."""
    q = torch.empty(2, 8, 512, D, dtype=HALF, device="meta")
    k = torch.empty(2, kv_heads if described else 1, 512, D, dtype=HALF, device="meta")
    k = k.expand(2, kv_heads, 512, D)  # one head for all comes through addresses
    found = compile_gate(record.attention_record, (q, k, k, causal), {}, 90, timeout=120)
    assert found.ok, found.message
    (kernel,) = found.kernels
    return kernel


@with_descriptors
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("D", [64, 128])
@pytest.mark.parametrize("kv_heads", [2, 8])
def test_three_programs_fit_on_a_multiprocessor(D, causal, kv_heads):
    """Kills: more registers or stages than leave room for three. With heads of 128, a few numbers
    that are needed only after the loop may wait in memory."""
    kernel = _compiled(D, causal, kv_heads)
    assert kernel.programs_per_sm == 3 and kernel.wgmma
    assert kernel.spills <= (64 if D == 128 else 0)


def test_large_tiles_leave_room_for_one():
    kernel = _compiled(128, described=False)
    assert (kernel.programs_per_sm, kernel.spills) == (1, 0)


@pytest.mark.gpu
@with_a_copy_engine
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("H", "HK", "Lq", "Lk", "D"), [*SIZES, (8, 2, 1000, 1500, 128)])
def test_described_keys_give_attention_on_an_h100(H, HK, Lq, Lk, D, causal):
    """Kills: what the interpreter cannot see, as a tile that is used before it has arrived."""
    for dtype in (HALF, torch.bfloat16):
        got, want, flags = attention(H, HK, Lq, Lk, D, causal, dtype)
        assert flags[0][0]
        assert_attention(got, want)
