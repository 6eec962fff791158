"""The simulated GPU must behave as the real one where timing goes wrong."""

import statistics
import time

import pytest

from tritonbook.timing import SimulatedKernel, gpu, simulated_bench, simulated_gpu, timeline


def test_the_queue_runs_kernels_one_after_another():
    # Kills: a device that makes the host wait at each launch, which hides a missing synchronise.
    with simulated_gpu() as device:
        kernel = SimulatedKernel(device, [1.0], launch_ms=0.01)
        for _ in range(3):
            kernel()
        assert gpu.clock() == pytest.approx(0.03e-3)
        gpu.synchronize()
        assert gpu.clock() == pytest.approx(3.01e-3)


def test_the_first_call_compiles_and_the_schedule_repeats_its_last_entry():
    with simulated_gpu() as device:
        kernel = SimulatedKernel(device, [3.0, 1.0], launch_ms=0.0, first_ms=500.0)
        spans = []
        for _ in range(3):
            start = gpu.clock()
            kernel()
            gpu.synchronize()
            spans.append((gpu.clock() - start) * 1e3)
        assert spans == pytest.approx([503.0, 1.0, 1.0])


def test_events_measure_on_the_device():
    with simulated_gpu() as device:
        start, end = gpu.event(), gpu.event()
        start.record()
        SimulatedKernel(device, [2.0], launch_ms=0.5)()
        end.record()
        assert start.elapsed_time(end) == pytest.approx(2.5)


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


def test_a_right_benchmark_gets_the_time_of_its_call():
    found = simulated_bench(timed(gpu.clock, 2, 3), [9.0, 8.0, 2.0], 0.5, 100.0, 50.0, 2, 3)
    assert found == pytest.approx(2.5)
