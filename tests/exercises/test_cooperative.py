"""Cooperative launches: the records' RMSNorm and LayerNorm of few long rows."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl  # noqa: F401  (every kernel must see it)

from benchmarks.records import layernorm
from benchmarks.records import rmsnorm as rms_record
from tritonbook import DEVICE, cooperative, reference
from tritonbook.course.exercises import get, load
from tritonbook.port.device import INTERPRET
from tritonbook.seeing.compiled import compile_gate

NORMS = torch.nn.functional
on_a_gpu = pytest.mark.skipif(INTERPRET, reason="there is no CUDA GPU here")
on_a_cpu = pytest.mark.skipif(not INTERPRET, reason="shows what happens without a GPU")
has_it = pytest.mark.skipif(
    not cooperative.TRITON_HAS_IT, reason="this Triton has no cooperative launches"
)


@pytest.fixture(scope="module")
def rms():
    return rms_record


@triton.jit
def _nobody_waits(arrived_ptr, count):
    """In the place of `wait_for_all`, where programs run one after the other."""


def _values(M, N, dtype=torch.float32):
    return torch.randn(M, N, device=DEVICE, dtype=dtype), torch.randn(N, device=DEVICE, dtype=dtype)


def _exact(x, w, eps):
    return NORMS.rms_norm(x.double(), w.shape, w.double(), eps)


def _close(got, want):
    error = (got.double() - want).norm() / want.norm()
    return error.item() < {torch.float32: 1e-6, torch.bfloat16: 4e-3}[got.dtype]


@on_a_cpu
@pytest.mark.parametrize(("M", "N", "block"), [(1, 64, 64), (3, 100, 32), (2, 33, 16), (2, 17, 32)])
def test_its_arithmetic_where_nobody_has_to_wait(rms, M, N, block, monkeypatch):
    """A first launch leaves all partial sums, a second finds them. Kills: partial sums of another
    row or piece, no mask past the end of the row, a mean over padded columns, no weight."""
    monkeypatch.setattr(rms, "wait_for_all", _nobody_waits)
    x, w = _values(M, N)
    splits = triton.cdiv(N, block)
    y = torch.full((M + 1, N), torch.nan)  # the last row is nobody's
    partials = torch.full((M * splits,), torch.nan)
    for _ in range(2):
        rms.rmsnorm_cooperative_kernel[(splits, M)](
            x, w, partials, torch.zeros(M, dtype=torch.int64), y, N, 1e-5,
            BLOCK_N=block, BLOCK_S=triton.next_power_of_2(splits),
        )  # fmt: skip
    assert _close(y[:M], _exact(x, w, 1e-5))
    assert y[M].isnan().all()


@on_a_cpu
def test_without_a_gpu_rmsnorm_takes_its_two_launches(rms):
    """Kills: a program in the interpreter that waits for programs which come after it."""
    x, w = _values(2, 5000)
    page = load(get("12_rmsnorm_choose"))
    pieces = page.splits_for(2, 5000, 132)
    assert torch.equal(rms.rmsnorm_cooperative(x, w), page.rmsnorm_split_det(x, w, 1e-6, pieces))


@on_a_cpu
@pytest.mark.parametrize(("M", "N", "pieces"), [(2, 5000, 4), (3, 33, 4), (1, 1, 3), (2, 100, 7)])
def test_layernorm_without_a_gpu_is_right_in_its_two_launches(M, N, pieces):
    """Kills: statistics of another row or piece, an empty piece that counts, a lost mean."""
    x, w = _values(M, N)
    x, b = x + 3, torch.randn(N)
    want = NORMS.layer_norm(x.double(), (N,), w.double(), b.double(), 1e-5)
    for how in (False, True):
        got = layernorm.layernorm_split(x, w, b, 1e-5, pieces, cooperative=how)
        torch.testing.assert_close(got.double(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sms", [20, 108, 132])
@pytest.mark.parametrize(
    ("M", "N"),
    [(8, 262_144), (8, 262_145), (1, 1_048_576), (7, 65_537), (10, 1000), (1, 1), (3, 17)],
)
def test_there_is_a_place_for_every_program(rms, M, N, sms, monkeypatch):
    """Kills: more programs than multiprocessors, columns in no piece, pieces of no power of two."""
    monkeypatch.setattr(rms, "multiprocessors", lambda: sms)
    block, pieces = rms.one_piece_for_each_sm(M, N)
    assert M * pieces <= sms
    assert (pieces - 1) * block < N <= pieces * block
    assert block & (block - 1) == 0


@pytest.mark.parametrize("shape", [(0, 64), (1, 1)])
def test_no_rows_and_one_element_are_rows_too(rms, shape):
    """Kills: a division by a piece of no columns."""
    x, w = torch.randn(shape, device=DEVICE), torch.randn(shape[1], device=DEVICE)
    y = rms.rmsnorm_cooperative(x, w)
    torch.testing.assert_close(y, NORMS.rms_norm(x, w.shape, w, 1e-6))


def _wide(*shape):
    """Every second column of a tensor: rows with gaps, of `shape`."""
    return torch.randn(*shape[:-1], 2 * shape[-1], device=DEVICE)[..., ::2]


OUT_OF_PLACE = {
    "many rows": lambda: (torch.randn(133, 64, device=DEVICE), torch.randn(64, device=DEVICE)),
    "a piece beyond the registers": lambda: _values(1, 133 * 32768),
    "rows with gaps": lambda: (_wide(3, 20_000), torch.randn(20_000, device=DEVICE)),
    "a weight with gaps": lambda: (torch.randn(3, 20_000, device=DEVICE), _wide(20_000)),
}


def never_in_one_launch(rms, monkeypatch):
    """As on a GPU that could; a launch fails at once, where it might wait for ever."""
    monkeypatch.setattr(rms, "can_launch_cooperatively", lambda: True)
    monkeypatch.setattr(rms, "rmsnorm_cooperative_kernel", None)


@pytest.mark.parametrize("what", OUT_OF_PLACE)
def test_what_one_launch_is_not_made_for_takes_two(rms, what, monkeypatch):
    """Kills: wrong values, no end, or a refusal where two launches would do."""
    taken = []
    page = load(get("12_rmsnorm_choose"))
    two = page.rmsnorm_split_det

    def noted(*arguments):
        taken.append("two launches")
        return two(*arguments)

    monkeypatch.setattr(page, "rmsnorm_split_det", noted)
    never_in_one_launch(rms, monkeypatch)
    x, w = OUT_OF_PLACE[what]()
    if what == "a weight with gaps":
        with pytest.raises(ValueError, match="w must be contiguous"):
            rms.rmsnorm_cooperative(x, w)
    else:
        assert _close(rms.rmsnorm_cooperative(x, w), _exact(x, w, 1e-6))
    assert taken == ["two launches"]


def test_a_weight_of_another_length_is_refused(rms, monkeypatch):
    """Kills: memory behind the weight read as weight."""
    never_in_one_launch(rms, monkeypatch)
    x = torch.randn(3, 20_000, device=DEVICE)
    for length in (19_999, 20_001):
        with pytest.raises(ValueError, match="w must be contiguous with shape"):
            rms.rmsnorm_cooperative(x, torch.randn(length, device=DEVICE))


@has_it
@pytest.mark.parametrize(
    ("shape", "kernels"),
    [
        ((8, 262_144), ["rmsnorm_cooperative_kernel"]),
        ((2, 4, 262_144), ["rmsnorm_cooperative_kernel"]),
        ((100, 70_000), ["rmsnorm_partials_kernel", "rmsnorm_join_kernel"]),
        ((200, 100_000), ["rmsnorm_loop_kernel"]),
        ((16_384, 4096), ["rmsnorm_hinted_kernel"]),
        ((1 << 20, 64), ["rmsnorm_hinted_kernel"]),
    ],
)
def test_the_record_shares_few_long_rows_in_one_launch(rms, shape, kernels):
    """Kills: a record that stays with two launches, or that makes too many programs wait."""
    x = torch.empty(shape, dtype=torch.bfloat16, device="meta")
    w = torch.empty(shape[-1], dtype=torch.bfloat16, device="meta")
    found = compile_gate(rms.rmsnorm_record, (x, w), {}, 90, timeout=120)
    assert found.ok, found.message
    assert sorted(kernel.name for kernel in found.kernels) == sorted(kernels)


@has_it
@pytest.mark.parametrize("arch", [75, 90])
def test_one_kernel_is_launched_where_there_is_a_gpu(rms, arch):
    """Kills: two launches in silence; a row that does not fit the registers."""
    x, w = (
        torch.empty(shape, dtype=torch.bfloat16, device="meta") for shape in [(8, 262_144), 262_144]
    )
    found = compile_gate(rms.rmsnorm_cooperative, (x, w), {}, arch, timeout=120)
    assert found.ok, found.message
    assert [(k.name, k.spills) for k in found.kernels] == [("rmsnorm_cooperative_kernel", 0)]
    found = compile_gate(
        layernorm.layernorm_split, (x, w, w, 1e-5, 16), {"cooperative": True}, arch, timeout=120
    )
    assert found.ok, found.message
    assert [(k.name, k.spills) for k in found.kernels] == [("layernorm_join_kernel", 0)]


@on_a_gpu
@has_it
@pytest.mark.gpu
class TestOnAGpu:
    def test_it_agrees_to_the_bit_with_two_launches(self, rms):
        """300 calls in changing shapes. Kills: counters that one shape leaves where another cannot
        begin, a counter that must be set back, partial sums read before they are all there."""
        two = reference("rmsnorm_split_det")
        shapes = [(8, 262_144), (1, 1_048_576), (3, 50_001), (66, 1000), (1, 17), (5, 262_144)]
        values = {shape: _values(*shape, torch.bfloat16) for shape in shapes}
        wanted = {
            (M, N): two(x, w, 1e-6, rms.one_piece_for_each_sm(M, N)[1])
            for (M, N), (x, w) in values.items()
        }
        for _ in range(50):
            for shape, (x, w) in values.items():
                got = rms.rmsnorm_cooperative(x, w)
                if shape[1] % 16 == 0:  # there both cut the row alike
                    assert torch.equal(got, wanted[shape])
                else:
                    assert _close(got, wanted[shape].double())

    def test_it_is_rmsnorm(self, rms):
        for M, N in [(8, 262_144), (3, 50_001), (1, 17)]:
            x, w = _values(M, N)
            assert _close(rms.rmsnorm_cooperative(x, w, 1e-3), _exact(x, w, 1e-3))

    def test_layernorm_in_one_launch(self):
        """Kills: statistics of the piece before the row's are merged."""
        for M, N, pieces in [(8, 262_144, 16), (3, 5000, 7), (1, 100, 1)]:
            x, w = _values(M, N)
            b = torch.randn(N, device=DEVICE)
            want = NORMS.layer_norm((x + 3).double(), (N,), w.double(), b.double(), 1e-5)
            for _ in range(20):
                assert _close(layernorm.layernorm_split(x + 3, w, b, 1e-5, pieces, True), want)

    def test_two_streams_do_not_wait_for_each_other(self, rms):
        """Kills: counters shared by two streams, where the programs of one count for the other."""
        x, w = _values(2, 200_000, torch.bfloat16)
        want = rms.rmsnorm_cooperative(x, w)
        streams = [torch.cuda.Stream() for _ in range(2)]
        torch.cuda.synchronize()
        results = []
        for _ in range(100):
            for stream in streams:
                with torch.cuda.stream(stream):
                    results.append(rms.rmsnorm_cooperative(x, w))
        torch.cuda.synchronize()
        assert all(torch.equal(got, want) for got in results)

    def test_a_graph_is_replayed_between_calls(self, rms):
        """Kills: counters of a graph that an ordinary call takes, without the zeros."""
        x, w = _values(4, 100_000, torch.bfloat16)
        want = rms.rmsnorm_cooperative(x, w)
        cooperative._counters.clear()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            inside = [rms.rmsnorm_cooperative(x, w) for _ in range(3)]
        for _ in range(5):
            graph.replay()
            assert torch.equal(rms.rmsnorm_cooperative(x, w), want)
            assert all(torch.equal(got, want) for got in inside)

    def test_too_many_programs_are_refused_by_the_gpu(self, rms):
        """Kills: a launch that is not cooperative, whose programs would wait for ever."""
        M, N, block = 4, 1 << 20, 1024  # 4096 programs
        x, w = _values(M, N)
        pieces = N // block
        arguments = (x, w, torch.empty(M * pieces, device=DEVICE))
        counters = torch.zeros(M, dtype=torch.int64, device=DEVICE)
        with pytest.raises(RuntimeError, match="cooperative"):
            rms.rmsnorm_cooperative_kernel[(pieces, M)](
                *arguments, counters, torch.empty_like(x), N, 1e-6,
                BLOCK_N=block, BLOCK_S=1024, num_warps=16, launch_cooperative_grid=True,
            )  # fmt: skip
