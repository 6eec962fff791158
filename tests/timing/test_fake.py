"""The simulated GPU must behave as the real one where timing goes wrong."""

import statistics
import time

import pytest

from tritonbook.timing import SimulatedKernel, gpu, simulated_bench, simulated_gpu, timeline


def test_outside_the_simulation_the_clock_is_the_machines_also_after_an_error():
    with pytest.raises(RuntimeError), simulated_gpu():
        assert gpu.clock() == 0.0
        raise RuntimeError
    assert gpu.clock() > 0.0
    gpu.synchronize()


def test_the_trace_nests_calls_under_their_operator_and_counts_waits():
    with simulated_gpu() as device:
        SimulatedKernel(device, [2.0], launch_ms=0.01)()
        with device.operator("aten::item"):
            device.synchronize("cudaStreamSynchronize")
    names = [event["name"] for event in device.trace]
    assert names == ["cudaLaunchKernel", "kernel", "aten::item", "cudaStreamSynchronize"]
    operator, wait = device.trace[2], device.trace[3]
    assert operator["ts"] == wait["ts"] and operator["dur"] == wait["dur"] == pytest.approx(2000)
    assert "waits 2 ms in 1 calls" in timeline(device.trace, "one step").alt


def timed(clock, warmup, rep):
    """A right benchmark function, with another clock or other counts."""

    def bench(fn, *asked):
        for _ in range(warmup):
            fn()
        gpu.synchronize()
        times = []
        for _ in range(rep):
            start = clock()
            fn()
            gpu.synchronize()
            times.append((clock() - start) * 1e3)
        return statistics.median(times)

    return bench


@pytest.mark.parametrize(
    ("bench", "sentence"),
    [
        (timed(time.perf_counter, 2, 3), "never read"),
        (timed(gpu.clock, 10, 3), "called 13 times; warmup=2 and rep=3 ask for 5"),
        (timed(gpu.clock, 2, 4), "called 6 times"),
    ],
)
def test_what_the_simulated_gpu_cannot_judge_is_said(bench, sentence):
    """Kills: "wrong values" for Python's own clock, and for a count of calls that is not asked."""
    with pytest.raises(RuntimeError, match=sentence):
        simulated_bench(bench, [2.0], 0.01, 0.0, 0.0, 2, 3)


@pytest.mark.parametrize(
    ("warmup", "rep", "want"),
    [(2, 3, 2.5), (0, 1, 109.5)],  # without a warm-up: launch, compilation and the first run
)
def test_a_right_benchmark_gets_the_time_of_its_call(warmup, rep, want):
    bench = timed(gpu.clock, warmup, rep)
    found = simulated_bench(bench, [9.0, 8.0, 2.0], 0.5, 100.0, 50.0, warmup, rep)
    assert found == pytest.approx(want)
