"""bench with a scripted clock: no GPU is needed to see what it does with the figures."""

import pytest
import torch

from tritonbook.style import digits
from tritonbook.timing import Ceilings, bench, bench_sweep
from tritonbook.timing.clock import CudaClock, Span, WallClock

PEAKS = Ceilings(gpu="Paper GPU", copy_gbps=1000.0, fp16_tflops=100.0, measured="2026-01-01")


class ScriptedClock:
    """A GPU's clock whose answers are given: milliseconds by function name."""

    label = "scripted"
    on_gpu = True

    def __init__(self, ms, device=None):
        self.ms, self.device, self.replayed, self.warmups = ms, device or {}, [], []

    def _name(self, fn):
        return fn.func.__name__

    def time(self, fn, warmup, rep):
        median = self.ms[self._name(fn)]
        self.warmups.append(warmup)
        return Span(median, 0.9 * median, 1.2 * median)

    def device_time(self, fn):
        self.replayed.append(self._name(fn))
        return self.device.get(self._name(fn))


def slow(x):
    return x + 1


def fast(x):
    return x + 1


X = torch.ones(8)


def run(ms, device=None, **options):
    timer = ScriptedClock(ms, device)
    result = bench(
        {"slow": slow, "fast": fast}, X, timer=timer, peaks=PEAKS, baseline="slow", **options
    )
    return result, timer


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({}, 25),
        ({"flops": 0.9e11}, 25),
        ({"flops": 1e11}, 1000),
        ({"flops": 1e11, "warmup": 30}, 30),
        ({"flops": 1e11, "warmup": 0}, 0),
    ],
)
def test_large_products_are_timed_after_a_second_of_work(options, want):
    # Kills: the first of a table timed at a clock that the GPU cannot hold; a second for each
    # small kernel; a warm-up of the caller's that is not taken.
    _, timer = run({"slow": 2.0, "fast": 0.5}, **options)
    assert timer.warmups == [want, want]


def test_without_a_gpu_nothing_is_warmed_for_a_second():
    # Kills: seconds of waiting for each row of a page that is read without a GPU.
    timer = ScriptedClock({"slow": 2.0})
    timer.on_gpu = False
    bench({"slow": slow}, X, timer=timer, flops=1e12)
    assert timer.warmups == [25]


def test_rates_share_of_ceiling_and_ratio():
    # Kills: bytes over seconds off by 1e3, ratio upside down, ceiling taken from arithmetic alone;
    # a remark on ordinary input.
    result, _ = run({"slow": 2.0, "fast": 0.5}, bytes=4e8, flops=1e9)
    assert result["fast"].gbps == pytest.approx(800.0)
    assert result["fast"].tflops == pytest.approx(2.0)
    assert result["fast"].percent == pytest.approx(80.0)
    assert result.ratio("fast") == pytest.approx(4.0)
    assert result.ratio("slow") == 1.0
    assert result.notes == [] and "device" not in result.table()


def test_arithmetic_sets_the_floor_when_it_takes_longer():
    result, _ = run({"slow": 2.0, "fast": 1.0}, bytes=1e6, flops=5e10)
    assert result["fast"].percent == pytest.approx(50.0)


def test_a_figure_has_three_digits():
    """Kills: 0.123456, 12.3456 and 1234.5, whose last digits are another in the next run."""
    shown = [digits(ms) for ms in (0.0070, 0.123456, 12.3456, 123.456, 999.7, 1234.5)]
    assert shown == ["0.00700", "0.123", "12.3", "123", "1,000", "1,234"]


def test_a_short_call_has_two_figures():
    # Kills: one figure for tiny kernels; a graph replay for every kernel.
    result, timer = run({"slow": 0.050, "fast": 0.040}, {"fast": 0.004})
    assert timer.replayed == ["fast"]
    assert result["fast"].device_ms == 0.004 and result["slow"].device_ms is None
    assert "device ms" in result.table() and "CUDA graph" in result.table()
    assert result.ratio("fast", "device_ms") is None  # only one of the two rows has the figure


def test_two_figures_where_the_bytes_could_be_moved_in_a_short_call():
    # Kills: no device figure for a short kernel behind a busy host.
    result, timer = run({"slow": 1.6, "fast": 0.080}, {"fast": 0.004, "slow": 0.7}, bytes=4e6)
    assert timer.replayed == ["slow", "fast"]
    assert result.ratio("fast", "device_ms") == pytest.approx(175)


@pytest.mark.parametrize(
    ("fns", "x", "baseline", "said"),
    [
        (slow, torch.ones(0, 4), None, r"argument 0 has shape \(0, 4\): no elements"),
        ({"slow": lambda x: x[:0]}, X, None, "the result of slow"),
        ({"slow": slow}, X, "quick", "baseline 'quick' is not among"),
        ({}, X, None, "at least one function"),
    ],
)
def test_what_cannot_be_timed_is_said(fns, x, baseline, said):
    with pytest.raises(ValueError, match=said):
        bench(fns, x, baseline=baseline)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_non_finite_input_says_so(value):
    x = torch.tensor([1.0, value])
    result = bench(slow, x, timer=ScriptedClock({"slow": 1.0}), peaks=PEAKS)
    assert any("argument 0 holds NaN or infinities" in note for note in result.notes)
    assert "note: argument 0" in result.table()


def test_the_interpreter_has_no_rates_no_ceiling_and_says_what_it_is():
    # Kills: GB/s or a share of a GPU's ceiling for numpy's wall clock.
    result = bench(slow, X, bytes=4e8, flops=1e9, timer=WallClock(), peaks=None)
    row = result["slow"]
    assert row.gbps is row.tflops is row.percent is row.device_ms is None
    assert "wall clock of Triton's interpreter" in result.table()
    assert "GB/s" not in result.table()


def test_wall_clock_takes_at_least_three_calls_after_one_more():
    calls = []
    span = WallClock().time(lambda: calls.append(1), warmup=0, rep=0)
    assert len(calls) == 4 and span.low <= span.median <= span.high


def test_sweep_keeps_one_result_per_value_and_the_gpu_alone_where_calls_are_short():
    timer = ScriptedClock({"slow": 0.060, "fast": 0.040}, {"fast": 0.007})
    sweep = bench_sweep(
        "width",
        [64, 128],
        lambda n: {"fns": {"slow": slow, "fast": fast}, "args": (torch.ones(n),), "bytes": 1e3 * n},
        timer=timer,
        peaks=PEAKS,
        title="By width",
    )
    assert [result["fast"].gbps for result in sweep.results] == pytest.approx([1.6, 3.2])
    title, _, *lines = [line.split() for line in sweep.table().splitlines()]
    alone = ["GPU", "alone", "0.00700"]
    assert title == ["By", "width"]
    assert lines[:4] == [["64", "0.0600", "0.0400"], alone, ["128", "0.0600", "0.0400"], alone]
    drawn = sweep._repr_html_()
    assert drawn.startswith("<b>By width</b><div") and drawn.count("GPU alone") == 2


@pytest.mark.gpu
@pytest.mark.timed
def test_on_a_gpu_the_copy_stays_below_its_own_ceiling():
    from tritonbook.timing import ceilings

    x = torch.randn(1 << 26, device="cuda")
    y = torch.empty_like(x)
    result = bench({"copy": lambda: y.copy_(x)}, bytes=2 * x.numel() * 4)
    assert 50 < result["copy"].percent < 115
    assert ceilings() is ceilings()  # measured once


@pytest.mark.gpu
@pytest.mark.timed
def test_on_a_gpu_a_tiny_kernel_gets_its_device_figure():
    x = torch.randn(1024, device="cuda")
    result = bench({"tiny": lambda: x + 1})
    assert 0 < result["tiny"].device_ms < result["tiny"].ms


@pytest.mark.gpu
@pytest.mark.timed
def test_on_a_gpu_what_cannot_be_captured_has_no_device_figure():
    x = torch.randn(1024, device="cuda")
    assert CudaClock().device_time(lambda: x.sum().item()) is None
    assert (x + 1).sum().isfinite()  # the failed capture left the GPU usable
