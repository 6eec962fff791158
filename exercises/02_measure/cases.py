"""What the checks of 02_measure try: cases and references."""

import dataclasses
import statistics

from tritonbook.checking import Check, Tolerance, case
from tritonbook.timing.trace import WAITING_CALLS

# --- bench_ms


def bench_ms_ref(run_ms, launch_ms, first_ms, waiting_ms, warmup, rep):
    calls = [*run_ms, *[run_ms[-1]] * (warmup + rep)]  # the last one holds for all further calls
    calls[0] += first_ms
    return launch_ms + statistics.median(calls[warmup : warmup + rep])


def timing(note, run_ms, warmup, rep, launch_ms=0.01, first_ms=0.0, waiting_ms=0.0):
    return case(
        note,
        run_ms=run_ms,
        launch_ms=launch_ms,
        first_ms=first_ms,
        waiting_ms=waiting_ms,
        warmup=warmup,
        rep=rep,
    )


# Of six different times, no two of median, mean, least, largest and last are alike.
UNLIKE = [2.0, 9.0, 7.0, 4.0, 3.0, 2.5]

BENCH_CASES = [
    timing("every call another time", [30.0, 6.0, 5.0, *UNLIKE], 3, 6, first_ms=100.0),
    timing("one slow call among five", [2.0, 2.0, 2.0, 40.0, 2.0], warmup=1, rep=5),
    timing("a tiny kernel", [0.002], warmup=1, rep=3),
    timing("one timed call", [3.0, 3.0, 5.0], warmup=2, rep=1),
    timing("work in the queue, no warm-up", [1.5], warmup=0, rep=1, waiting_ms=60.0),
    timing("work in the queue, and a warm-up", [1.5], warmup=1, rep=1, waiting_ms=60.0),
]

EXACT = Tolerance(1e-6, because="the simulated clocks are exact")

HIDDEN_BENCH_CASES = [
    timing("every call another time", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], warmup=3, rep=4),
    timing("work in the queue", [2.5], warmup=0, rep=2, waiting_ms=90.0),
    timing("no warm-up asked for", [4.0, 1.0, 2.0], warmup=0, rep=3),
    timing("an even number of calls", [1.0, 3.0], warmup=0, rep=2),
    timing("a slow host", [0.5], warmup=2, rep=4, launch_ms=3.0),
    timing("many calls", [1.0] * 20 + [8.0] * 5 + [1.0], warmup=5, rep=60),
    timing("a steady kernel", [2.0], warmup=2, rep=5),
]

# --- intensity and roofline_ms


def intensity_ref(bytes, flops):
    return flops / bytes


def roofline_ms_ref(bytes, flops, peak_bw, peak_flops):
    return max(bytes / peak_bw / 1e6, flops / peak_flops / 1e9)


INTENSITY_CASES = [
    case("a matrix product", bytes=2_000_000, flops=8_000_000_000),
    case("GELU", bytes=8, flops=9),
    case("vector add", bytes=12, flops=1),
    case("a copy computes nothing", bytes=8, flops=0),
    case("half a byte for each element", bytes=0.5, flops=2),
    case("no bytes", bytes=0, flops=5, raises=ValueError),
    case("fewer than no bytes", bytes=-8, flops=2, raises=ValueError),
]


def work(note, bytes, flops, peak_bw, peak_flops):
    return case(note, bytes=bytes, flops=flops, peak_bw=peak_bw, peak_flops=peak_flops)


ROOFLINE_CASES = [
    work("bound by memory", 6e9, 1e6, 3000, 700),
    work("bound by arithmetic", 1e6, 7e12, 3000, 700),
    work("vector add on an A100", 201_326_592, 16_777_216, 1555, 312),
    work("GELU on an H100", 536_870_912, 603_979_776, 3000, 67),
]

HIDDEN_ROOFLINE_CASES = [
    work("a copy", 2e9, 0, 2000, 50),
    work("no traffic", 0, 5e13, 2000, 50),
    work("both equally long", 4e9, 1e11, 2000, 50),
    work("a T4", 3e8, 65e9, 300, 65),
]

# --- find_sync: traces written down


def find_sync_ref(trace):
    calls = [e for e in trace if e["cat"] == "cuda_runtime" and e["name"] in WAITING_CALLS]
    calls.sort(key=lambda call: call["ts"])
    return [(outermost(trace, call)["name"], call["dur"]) for call in calls]


def outermost(trace, call):
    """The longest operator around a call; the call itself where there is none."""
    operators = [e for e in trace if e["cat"] == "cpu_op" and e["tid"] == call["tid"]]
    around = [e for e in operators if e["ts"] <= call["ts"] and end(call) <= end(e)]
    return max(around, key=lambda e: e["dur"], default=call)


def end(event):
    return event["ts"] + event["dur"]


def event(name, cat, ts, dur, tid=1):
    """One event of a profiler's trace; times in microseconds."""
    return {"name": name, "cat": cat, "tid": tid, "ts": ts, "dur": dur}


ITEM = [
    event("aten::add", "cpu_op", 0, 20),
    event("cudaLaunchKernel", "cuda_runtime", 5, 6),
    event("add_kernel", "kernel", 30, 400, tid=7),
    event("aten::item", "cpu_op", 40, 410),
    event("aten::_local_scalar_dense", "cpu_op", 45, 400),
    event("cudaMemcpyAsync", "cuda_runtime", 50, 8),
    event("cudaStreamSynchronize", "cuda_runtime", 60, 380),
]

NO_WAIT = [
    event("aten::mm", "cpu_op", 0, 30),
    event("cudaLaunchKernel", "cuda_runtime", 10, 6),
    event("gemm", "kernel", 20, 900, tid=7),
]

AT_THE_END = [*NO_WAIT, event("cudaDeviceSynchronize", "cuda_runtime", 35, 890)]

UNSORTED = [
    event("cudaStreamSynchronize", "cuda_runtime", 900, 50),
    event("aten::_to_copy", "cpu_op", 102, 60),
    event("aten::_local_scalar_dense", "cpu_op", 105, 50),
    event("aten::copy_", "cpu_op", 890, 80),
    event("aten::item", "cpu_op", 100, 70),
    event("cudaStreamSynchronize", "cuda_runtime", 110, 40),
    event("cudaStreamSynchronize", "cuda_runtime", 1000, 45),
]

TWO_THREADS = [
    event("autograd::engine", "cpu_op", 0, 1000, tid=2),
    event("aten::nonzero", "cpu_op", 200, 300, tid=1),
    event("cudaStreamSynchronize", "cuda_runtime", 250, 100, tid=1),
    event("cudaEventSynchronize", "cuda_runtime", 270, 20, tid=3),
]

TOO_SHORT = [
    event("aten::item", "cpu_op", 10, 30),
    event("cudaStreamSynchronize", "cuda_runtime", 35, 60),
    event("aten::add", "cpu_op", 90, 40),
    event("step", "user_annotation", 0, 5000),
]

MISLEADING = [
    event("my_cudaStreamSynchronize_kernel", "kernel", 0, 500, tid=7),
    event("cudaStreamSynchronize", "kernel", 5, 5, tid=7),
    event("aten::nonzero", "cpu_op", 30, 90),
    event("cudaStreamSynchronize", "cuda_runtime", 35, 60),
    event("cudaMemcpyAsync", "cuda_runtime", 100, 9),
]

COPIES = [
    event("aten::copy_", "cpu_op", 0, 95),
    event("aten::to", "cpu_op", 0, 100),
    event("cudaMemcpy", "cuda_runtime", 10, 80),
    event("aten::to", "cpu_op", 200, 100),
    event("aten::copy_", "cpu_op", 205, 90),
    event("cudaMemcpy", "cuda_runtime", 210, 80),
]

WHOLE = [
    event("aten::item", "cpu_op", 50, 40),
    event("cudaStreamSynchronize", "cuda_runtime", 50, 40),
]

SYNC_CASES = [
    case("one wait in aten::item", trace=ITEM),
    case("no wait", trace=NO_WAIT),
    case("a wait outside of any operator", trace=AT_THE_END),
    case("events in any order", trace=UNSORTED),
    case("several threads", trace=TWO_THREADS),
    case("no operator around the whole wait", trace=TOO_SHORT),
    case("names that mislead", trace=MISLEADING),
    case("blocking copies", trace=COPIES),
    case("the operator is nothing but the wait", trace=WHOLE),
    case("an empty trace", trace=[]),
]


def later(each):
    """The same case at another time, in which everything takes three times as long."""
    trace = each.arguments["trace"]
    shifted = [{**e, "ts": 3 * e["ts"] + 1000, "dur": 3 * e["dur"]} for e in trace]
    return dataclasses.replace(each, arguments={"trace": shifted})


CHECKS = {
    "bench_ms": Check(
        bench_ms_ref,
        BENCH_CASES,
        HIDDEN_BENCH_CASES,
        through="bench_simulated",
        triton=False,
        tolerance=EXACT,
    ),
    "intensity": Check(
        intensity_ref,
        INTENSITY_CASES,
        [
            case("a fraction", bytes=3, flops=7),
            case("a copy does nothing", bytes=5, flops=0),
            case("large numbers", bytes=1e12, flops=3e3),
            case("less than one byte an element", bytes=0.25, flops=2),
            case("negative", bytes=-4, flops=2, raises=ValueError),
        ],
        triton=False,
    ),
    "roofline_ms": Check(
        roofline_ms_ref,
        ROOFLINE_CASES,
        HIDDEN_ROOFLINE_CASES,
        triton=False,
    ),
    "find_sync": Check(
        find_sync_ref,
        SYNC_CASES,
        [later(each) for each in SYNC_CASES],
        triton=False,
    ),
}
