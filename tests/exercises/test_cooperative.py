"""Programs that wait for each other: in the interpreter, compiled, and on a GPU."""

from __future__ import annotations

import needs
import pytest
import torch
import triton
import triton.language as tl
from machine_code import compiled

from tritonbook import DEVICE
from tritonbook.checking import run_check
from tritonbook.course.exercises import get, load
from tritonbook.course.page_checks import checks
from tritonbook.kernels import cooperative
from tritonbook.kernels.cooperative import arrival_counters, wait_for_all
from tritonbook.seeing.barriers import without_barrier
from tritonbook.seeing.meter import meter

PAGE = "60_norm_records"
NORMS = torch.nn.functional
has_it = pytest.mark.skipif(
    not cooperative.TRITON_HAS_IT, reason="this Triton has no cooperative launches"
)


@triton.jit
def _share_kernel(x_ptr, all_ptr, arrived_ptr, COUNT: tl.constexpr):
    """all[row, s] = what the program after s of the row stored."""
    pid = tl.program_id(0)
    row, own = pid // COUNT, pid % COUNT
    tl.store(x_ptr + pid, pid)
    wait_for_all(arrived_ptr + row, COUNT)
    tl.store(all_ptr + pid, tl.load(x_ptr + row * COUNT + (own + 1) % COUNT))


def _share(rows, count):
    nothing = torch.full((rows * count,), -1, dtype=torch.int64, device=DEVICE)
    x, found = nothing.clone(), nothing.clone()
    counters = arrival_counters(nothing.device, rows, count)
    _share_kernel[(rows * count,)](x, found, counters, COUNT=count, launch_cooperative_grid=True)
    return found.view(rows, count).cpu()


@has_it
@pytest.mark.parametrize(("rows", "count"), [(1, 1), (3, 4), (2, 66)])
def test_who_waits_finds_what_the_others_stored(rows, count):
    """Kills: programs that run when they are done, or twice, or under another's number."""
    for _ in range(3):  # counters go on where the launch before it left them
        assert torch.equal(
            _share(rows, count), torch.arange(rows * count).view(rows, count).roll(-1, 1)
        )


WAIT = "    wait_for_all(arrived_ptr + row, PIECES)\n"
STORES = "    tl.store(mean_ptr + pid, mean)\n    tl.store(m2_ptr + pid, m2)\n"


@needs.interpreter
def test_a_wait_before_the_stores_is_named():
    """Kills: an earlier launch blamed for what another program of this launch stores later."""
    text = get("60_norm_records").answers()["norm_together"].source
    assert text.count(WAIT) == text.count(STORES) == 1
    text = text.replace(WAIT, "").replace(STORES, WAIT + STORES)
    page = load("60_norm_records", {"norm_together": text})
    check = checks(get("60_norm_records"))["norm_together"]  # the meter says it: without causes
    found = run_check(page.norm_together, check, "norm_together", hidden=False).finding
    assert found.code == "reads-unwritten"
    assert "A program of this launch stores it later" in found.sentence


@triton.jit
def _pieces_kernel(parts_ptr, out_ptr, arrived_ptr, COUNT: tl.constexpr, N: tl.constexpr):
    """Each program stores a tile, waits, and takes that of the next one."""
    pid, offs = tl.program_id(0), tl.arange(0, N)
    tl.store(parts_ptr + pid * N + offs, offs + pid)
    wait_for_all(arrived_ptr, COUNT)
    tl.store(out_ptr + pid * N + offs, tl.load(parts_ptr + (pid + 1) % COUNT * N + offs))


@needs.interpreter
@has_it
def test_who_waits_finds_what_all_lanes_have_stored():
    """Kills: a wait whose one thread counts while others have not stored their part of a tile."""
    parts, out = torch.zeros(2, 3, 256, dtype=torch.int32)
    counters = arrival_counters(parts.device, 1, 3)
    with meter() as seen:
        _pieces_kernel[(3,)](parts, out, counters, 3, 256, launch_cooperative_grid=True)
    assert torch.equal(out[:, 0], torch.tensor([1, 2, 0], dtype=torch.int32))
    assert without_barrier(seen) == []


def _values(M, N, dtype=torch.float32):
    return torch.randn(M, N, device=DEVICE, dtype=dtype), torch.randn(N, device=DEVICE, dtype=dtype)


def _exact(x, w, b=None, eps=1e-6):
    x, w = x.double(), w.double()
    if b is None:
        return NORMS.rms_norm(x, w.shape, w, eps)
    return NORMS.layer_norm(x, w.shape, w, b.double(), eps)


def _close(got, want):
    error = (got.double() - want).norm() / want.norm()
    return error.item() < {torch.float32: 1e-6, torch.bfloat16: 4e-3}[got.dtype]


def _meta(*shape):
    return torch.empty(shape, dtype=torch.bfloat16, device="meta")


def test_without_cooperative_launches_the_pages_kernels_do_it(page, monkeypatch):
    """Kills: programs that wait on a Triton that cannot promise them a place."""
    monkeypatch.setattr(page, "can_launch_cooperatively", lambda: False)
    monkeypatch.setattr(page, "norm_together_kernel", None)
    x, w = _values(2, 40_001)
    assert page.norm_plan(2, 40_001, 132)[0] == "together"
    assert _close(page.rmsnorm_record(x, w), _exact(x, w))
    assert _close(page.layernorm_record(x, w, w, 1e-6), _exact(x, w, w))


@pytest.mark.parametrize("shape", [(3, 5000), (2, 20_000), (40, 64), (2, 3, 700), (0, 64), (5, 1)])
def test_the_records_are_the_norms(page, shape):
    """Kills: a record that loses a dimension, the weight, or rows that a tile does not fill."""
    x, w = torch.randn(shape, device=DEVICE), torch.randn(shape[-1], device=DEVICE)
    torch.testing.assert_close(page.rmsnorm_record(x, w, 1e-3), NORMS.rms_norm(x, w.shape, w, 1e-3))
    want = NORMS.layer_norm(x, w.shape, w, w, 1e-3)
    torch.testing.assert_close(page.layernorm_record(x, w, w, 1e-3), want)


@has_it
@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ((8, 262_144), "norm_together_kernel"),
        ((2, 4, 262_144), "norm_together_kernel"),
        ((200, 100_000), "rmsnorm_loop_kernel"),
        ((16_384, 4096), "norm_rows_kernel"),
        ((1 << 20, 64), "norm_rows_kernel"),
    ],
)
def test_the_record_takes_one_launch(page, shape, name):
    """Kills: a record that stays with two launches, or that makes too many programs wait."""
    found = compiled(page.rmsnorm_record, (_meta(*shape), _meta(shape[-1])))
    assert [kernel.name for kernel in found] == [name]


@has_it
@pytest.mark.parametrize("arch", [75, 90])
def test_a_piece_stands_in_registers(page, arch):
    """Kills: a piece so large that it spills."""
    x, w = _meta(8, 262_144), _meta(262_144)
    for record, arguments in ((page.rmsnorm_record, (x, w)), (page.layernorm_record, (x, w, w))):
        (kernel,) = compiled(record, arguments, arch)
        assert (kernel.name, kernel.spills) == ("norm_together_kernel", 0)


@needs.gpu
@has_it
@pytest.mark.gpu
class TestOnAGpu:
    def test_it_is_right_each_time(self, page):
        """Kills: counters that one shape leaves where another cannot begin, a counter that must be
        set back, sums read before they are all there."""
        shapes = [(8, 262_144), (1, 1_048_576), (3, 50_001), (66, 20_000), (5, 262_144)]
        values = {shape: _values(*shape, torch.bfloat16) for shape in shapes}
        wanted = {shape: (_exact(x, w), _exact(x, w, w)) for shape, (x, w) in values.items()}
        for _ in range(50):
            for shape, (x, w) in values.items():
                assert _close(page.rmsnorm_record(x, w), wanted[shape][0])
                assert _close(page.layernorm_record(x, w, w, 1e-6), wanted[shape][1])

    def test_two_streams_do_not_wait_for_each_other(self, page):
        """Kills: counters shared by two streams, where the programs of one count for the other."""
        x, w = _values(2, 200_000, torch.bfloat16)
        want = page.rmsnorm_record(x, w)
        streams = [torch.cuda.Stream() for _ in range(2)]
        torch.cuda.synchronize()
        results = []
        for _ in range(100):
            for stream in streams:
                with torch.cuda.stream(stream):
                    results.append(page.rmsnorm_record(x, w))
        torch.cuda.synchronize()
        assert all(torch.equal(got, want) for got in results)

    def test_a_graph_is_replayed_between_calls(self, page):
        """Kills: counters of a graph that an ordinary call takes, without the zeros."""
        x, w = _values(4, 100_000, torch.bfloat16)
        want = page.rmsnorm_record(x, w)
        cooperative._counters.clear()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            inside = [page.rmsnorm_record(x, w) for _ in range(3)]
        for _ in range(5):
            graph.replay()
            assert torch.equal(page.rmsnorm_record(x, w), want)
            assert all(torch.equal(got, want) for got in inside)

    def test_too_many_programs_are_refused_by_the_gpu(self, page):
        """Kills: a launch that is not cooperative, whose programs would wait for ever."""
        x, w = _values(4, 1 << 20)
        with pytest.raises(RuntimeError, match="cooperative"):
            page.norm_together(x, w, piece=1024)  # 4096 programs
