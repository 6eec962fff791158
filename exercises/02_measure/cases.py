"""What the checks of 02_measure try: cases, references, and mistakes that have a name."""

import statistics

from tritonbook.checking import Check, Tolerance, case


def true_times(run_ms, launch_ms, first_ms, calls):
    """What each of the calls numbered `calls` really takes, from an idle GPU to an idle GPU."""
    runs = [run_ms[min(i, len(run_ms) - 1)] for i in calls]
    compiling = [first_ms if i == 0 else 0 for i in calls]
    return [run + launch_ms + extra for run, extra in zip(runs, compiling, strict=True)]


def bench_ms_ref(run_ms, launch_ms, first_ms, waiting_ms, warmup, rep):
    times = true_times(run_ms, launch_ms, first_ms, range(warmup, warmup + rep))
    return statistics.median(times)


def without_warm_up(run_ms, launch_ms, first_ms, waiting_ms, warmup, rep):
    return statistics.median(true_times(run_ms, launch_ms, first_ms, range(rep)))


def with_mean(run_ms, launch_ms, first_ms, waiting_ms, warmup, rep):
    return statistics.mean(true_times(run_ms, launch_ms, first_ms, range(warmup, warmup + rep)))


def launches_only(run_ms, launch_ms, first_ms, waiting_ms, warmup, rep):
    return launch_ms + (first_ms if warmup == 0 and rep == 1 else 0)


def one_wait_at_the_end(run_ms, launch_ms, first_ms, waiting_ms, warmup, rep):
    """All calls timed as one, over their number: launches hide behind the work."""
    host = busy = 0.0
    for i in range(warmup, warmup + rep):
        host += launch_ms + (first_ms if i == 0 else 0)
        busy = max(host, busy) + run_ms[min(i, len(run_ms) - 1)]
    return busy / rep


def with_earlier_work(run_ms, launch_ms, first_ms, waiting_ms, warmup, rep):
    """The first timed call also waits for what was in the queue before."""
    host, busy = 0.0, waiting_ms
    for i in range(warmup):
        host += launch_ms + (first_ms if i == 0 else 0)
        busy = max(host, busy) + run_ms[min(i, len(run_ms) - 1)]
    times = true_times(run_ms, launch_ms, first_ms, range(warmup, warmup + rep))
    times[0] += max(0.0, busy - host - (times[0] - run_ms[min(warmup, len(run_ms) - 1)]))
    return statistics.median(times)


BENCH_SUSPECTS = {
    "launch-timed": (
        launches_only,
        "This is the time of the launch alone. Does each timed call wait for the GPU?",
    ),
    "no-warm-up": (without_warm_up, "The first calls were timed too. They compile and warm up."),
    "earlier-work-timed": (
        with_earlier_work,
        "Work that was still in the queue is counted. The clock must start on an idle GPU.",
    ),
    "mean": (with_mean, "This is the mean. One slow call spoils it: take the median."),
    "one-wait-at-the-end": (
        one_wait_at_the_end,
        "All calls were timed as one. Each call is to start and end on an idle GPU.",
    ),
    "seconds": (
        lambda *arguments: bench_ms_ref(*arguments) / 1e3,
        "This is in seconds. `gpu.clock()` gives seconds, the result is in milliseconds.",
    ),
}


def from_examples(examples):
    """A reference that knows the answers of worked examples: a list of (arguments, answer)."""

    def known(*arguments):
        return next(answer for given, answer in examples if list(given) == list(arguments))

    return known


def event(name, cat, ts, dur, tid=1):
    """One event of a profiler's trace; times in microseconds."""
    return {"name": name, "cat": cat, "tid": tid, "ts": ts, "dur": dur}


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


BENCH_CASES = [
    timing("a steady kernel", [2.0], warmup=2, rep=5),
    timing("a slow start", [9.0, 7.0, 5.0, 2.0], warmup=3, rep=3, first_ms=800.0),
    timing("one slow call among five", [2.0, 2.0, 2.0, 40.0, 2.0], warmup=1, rep=5),
    timing("a tiny kernel", [0.002], warmup=1, rep=3),
    timing("one timed call", [3.0, 3.0, 5.0], warmup=2, rep=1),
]

EXACT = Tolerance(1e-6, because="the simulated clocks are exact")

HIDDEN_BENCH_CASES = [
    timing("every call another time", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], warmup=3, rep=4),
    timing("work in the queue", [1.5], warmup=0, rep=1, waiting_ms=60.0),
    timing("work in the queue, with warm-up", [1.5], warmup=1, rep=1, waiting_ms=60.0),
    timing("no warm-up asked for", [4.0, 1.0, 2.0], warmup=0, rep=3),
    timing("an even number of calls", [1.0, 3.0], warmup=0, rep=2),
    timing("a slow host", [0.5], warmup=2, rep=4, launch_ms=3.0),
    timing("many calls", [1.0] * 20 + [8.0] * 5 + [1.0], warmup=5, rep=60),
]

INTENSITY_EXAMPLES = [((12, 1), 1 / 12), ((8, 10), 1.25), ((2_000_000, 8_000_000_000), 4000.0)]
HIDDEN_INTENSITY = [((3, 7), 7 / 3), ((5, 0), 0.0), ((1e12, 3e3), 3e-9), ((0.5, 2), 4.0)]

INTENSITY_SUSPECTS = {
    "upside-down": (lambda bytes, flops: bytes / (flops or 1), "These are bytes per operation."),
    "whole-number": (lambda bytes, flops: flops // bytes, "The fraction was cut off."),
}

INTENSITY_CASES = [
    case("GELU", bytes=8, flops=10),
    case("vector add", bytes=12, flops=1),
    case("a matrix product", bytes=2_000_000, flops=8_000_000_000),
    case("no bytes", bytes=0, flops=5, raises=ValueError),
]

ROOFLINE_EXAMPLES = [
    ((6e9, 1e6, 3000, 700), 2.0),
    ((1e6, 7e12, 3000, 700), 10.0),
    ((201_326_592, 16_777_216, 1555, 312), 0.12947047717041802),
]
HIDDEN_ROOFLINE = [
    ((2e9, 0, 2000, 50), 1.0),
    ((0, 5e13, 2000, 50), 1000.0),
    ((4e9, 1e11, 2000, 50), 2.0),
    ((3e8, 65e9, 300, 65), 1.0),
]


def two_times(bytes, flops, peak_bw, peak_flops):
    """Milliseconds of the bytes and of the operations."""
    return bytes / peak_bw / 1e6, flops / peak_flops / 1e9


ROOFLINE_SUSPECTS = {
    "sum": (lambda *a: sum(two_times(*a)), "This is the sum. Both go on at the same time."),
    "smaller": (
        lambda *a: min(two_times(*a)),
        "This is the smaller of the two times. Were bytes and operations both looked at?",
    ),
    "too-small": (
        lambda *a: max(two_times(*a)) / 1e3,
        "A thousand times too small. Is this in seconds?",
    ),
    "too-large": (
        lambda *a: max(two_times(*a)) * 1e3,
        "A thousand times too large. Microseconds? Or GFLOP/s where TFLOP/s are given?",
    ),
}

ROOFLINE_CASES = [
    case("bound by memory", bytes=6e9, flops=1e6, peak_bw=3000, peak_flops=700),
    case("bound by arithmetic", bytes=1e6, flops=7e12, peak_bw=3000, peak_flops=700),
    case(
        "vector add on an A100", bytes=201_326_592, flops=16_777_216, peak_bw=1555, peak_flops=312
    ),
]

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

SYNC_EXAMPLES = [
    ((ITEM,), [("aten::item", 380)]),
    ((NO_WAIT,), []),
    ((AT_THE_END,), [("cudaDeviceSynchronize", 890)]),
]

SYNC_CASES = [
    case("one wait in aten::item", trace=ITEM),
    case("no wait", trace=NO_WAIT),
    case("a wait outside of any operator", trace=AT_THE_END),
]

UNSORTED = [
    event("cudaStreamSynchronize", "cuda_runtime", 900, 50),
    event("aten::copy_", "cpu_op", 890, 80),
    event("aten::item", "cpu_op", 100, 70),
    event("cudaStreamSynchronize", "cuda_runtime", 110, 40),
]

TWO_THREADS = [
    event("autograd::engine", "cpu_op", 0, 1000, tid=2),
    event("aten::nonzero", "cpu_op", 200, 300, tid=1),
    event("cudaStreamSynchronize", "cuda_runtime", 250, 100, tid=1),
    event("cudaEventSynchronize", "cuda_runtime", 600, 20, tid=3),
]

MISLEADING = [
    event("my_cudaStreamSynchronize_kernel", "kernel", 0, 500, tid=7),
    event("cudaStreamSynchronize", "kernel", 5, 5, tid=7),
    event("aten::item", "cpu_op", 10, 30),
    event("cudaStreamSynchronize", "cuda_runtime", 35, 60),
    event("cudaMemcpyAsync", "cuda_runtime", 100, 9),
    event("step", "user_annotation", 0, 5000),
]

COPIES = [
    event("aten::to", "cpu_op", 0, 100),
    event("aten::copy_", "cpu_op", 5, 90),
    event("cudaMemcpy", "cuda_runtime", 10, 80),
    event("aten::to", "cpu_op", 200, 100),
    event("aten::copy_", "cpu_op", 205, 90),
    event("cudaMemcpy", "cuda_runtime", 210, 80),
]

WHOLE = [
    event("aten::item", "cpu_op", 50, 40),
    event("cudaStreamSynchronize", "cuda_runtime", 50, 40),
]

HIDDEN_SYNC = [
    ((UNSORTED,), [("aten::item", 40), ("aten::copy_", 50)]),
    ((TWO_THREADS,), [("aten::nonzero", 100), ("cudaEventSynchronize", 20)]),
    ((MISLEADING,), [("cudaStreamSynchronize", 60)]),
    ((COPIES,), [("aten::to", 80), ("aten::to", 80)]),
    ((WHOLE,), [("aten::item", 40)]),
    (([],), []),
]

CHECKS = {
    "bench_ms": Check(
        bench_ms_ref,
        BENCH_CASES,
        HIDDEN_BENCH_CASES,
        through="bench_simulated",
        triton=False,
        tolerance=EXACT,
        mistakes=BENCH_SUSPECTS,
    ),
    "intensity": Check(
        from_examples(INTENSITY_EXAMPLES + HIDDEN_INTENSITY),
        INTENSITY_CASES,
        [
            case("a fraction", bytes=3, flops=7),
            case("a copy does nothing", bytes=5, flops=0),
            case("large numbers", bytes=1e12, flops=3e3),
            case("less than one byte an element", bytes=0.5, flops=2),
            case("negative", bytes=-8, flops=2, raises=ValueError),
        ],
        triton=False,
        mistakes=INTENSITY_SUSPECTS,
    ),
    "roofline_ms": Check(
        from_examples(ROOFLINE_EXAMPLES + HIDDEN_ROOFLINE),
        ROOFLINE_CASES,
        [
            case("a copy", bytes=2e9, flops=0, peak_bw=2000, peak_flops=50),
            case("no traffic", bytes=0, flops=5e13, peak_bw=2000, peak_flops=50),
            case("both equally long", bytes=4e9, flops=1e11, peak_bw=2000, peak_flops=50),
            case("a T4", bytes=3e8, flops=65e9, peak_bw=300, peak_flops=65),
        ],
        triton=False,
        mistakes=ROOFLINE_SUSPECTS,
    ),
    "find_sync": Check(
        from_examples(SYNC_EXAMPLES + HIDDEN_SYNC),
        SYNC_CASES,
        [
            case("events in any order", trace=UNSORTED),
            case("several threads", trace=TWO_THREADS),
            case("names that mislead", trace=MISLEADING),
            case("blocking copies", trace=COPIES),
            case("the operator is nothing but the wait", trace=WHOLE),
            case("an empty trace", trace=[]),
        ],
        triton=False,
    ),
}
