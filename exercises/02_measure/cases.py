"""What the checks of 02_measure try: cases, references, and mistakes that have a name."""

import dataclasses
import statistics

from tritonbook.checking import Check, Tolerance, case
from tritonbook.timing import gpu, simulated_bench
from tritonbook.timing.trace import WAITING_CALLS

# --- bench_ms: it and its mistakes run on the simulated GPU


def on_the_simulated_gpu(bench):
    return lambda *schedule: simulated_bench(bench, *schedule)


def timed(take=statistics.median, *, warm_up=True, idle=True, wait=True, ms=1e3):
    """A benchmark function; each argument leaves one thing out, or does it in another way.

    take: from the times of the timed calls, and those of the warm-up, to the result.
    """

    def bench(fn, warmup, rep):
        warmup = warmup if warm_up else 0
        times = []
        for call in range(warmup + rep):
            if idle and call == warmup:
                gpu.synchronize()
            start = gpu.clock()
            fn()
            if wait and call >= warmup:
                gpu.synchronize()
            times.append((gpu.clock() - start) * ms)
        return take(times[warmup:])

    return on_the_simulated_gpu(bench)


def all_as_one(fn, warmup, rep):
    for _ in range(warmup):
        fn()
    gpu.synchronize()
    start = gpu.clock()
    for _ in range(rep):
        fn()
    gpu.synchronize()
    return (gpu.clock() - start) * 1e3 / rep


def without_the_launch(run_ms, launch_ms, *others):
    return bench_ms_ref(run_ms, launch_ms, *others) - launch_ms


def from_the_first_start(times):
    """The clock was started once: each time holds those before it."""
    return statistics.median(sum(times[: i + 1]) for i in range(len(times)))


bench_ms_ref = timed()


def with_the_warm_up(*schedule):
    *kernel, warmup, rep = schedule
    return timed(idle=False)(*kernel, 0, warmup + rep)


def swapped(*schedule):
    *kernel, warmup, rep = schedule
    return bench_ms_ref(*kernel, rep, warmup) if warmup else 0.0


BENCH_SUSPECTS = {
    "launch-timed": (
        timed(wait=False),
        "This is the time of the launch alone. Does each timed call wait for the GPU?",
    ),
    "no-warm-up": (
        timed(warm_up=False),
        "The first calls were timed too. They compile and warm up.",
    ),
    "earlier-work-timed": (
        timed(idle=False),
        "Work that was still in the queue is counted. Wait for it before the clock starts.",
    ),
    "warm-up-timed": (
        with_the_warm_up,
        "The calls of the warm-up were timed too. Keep only the times of the `rep` calls.",
    ),
    "mean": (timed(statistics.mean), "This is the mean. One slow call spoils it: take the median."),
    "least": (timed(min), "This is the least time. The task asks for the median."),
    "largest": (timed(max), "This is the largest time. The task asks for the median."),
    "sum": (timed(sum), "This is the time of all calls together. The task asks for one call's."),
    "last-only": (timed(lambda times: times[-1]), "This is the time of the last call alone."),
    "half-a-median": (
        timed(statistics.median_high),
        "With an even number of times the median lies halfway between the two in the middle.",
    ),
    "half-a-median-below": (
        timed(statistics.median_low),
        "With an even number of times the median lies halfway between the two in the middle.",
    ),
    "one-wait-at-the-end": (
        on_the_simulated_gpu(all_as_one),
        "All calls were timed as one. Each call is to start and end on an idle GPU.",
    ),
    "clock-not-restarted": (
        timed(from_the_first_start),
        "Each time also holds the calls before it. Read the clock again before each call.",
    ),
    "launch-missing": (
        without_the_launch,
        "The launch is missing from the time. Start the clock before the call of `fn`.",
    ),
    "seconds": (
        timed(ms=1.0),
        "This is in seconds. `gpu.clock()` gives seconds, the result is in milliseconds.",
    ),
    "microseconds": (timed(ms=1e6), "This is in microseconds, a thousand times too many."),
    "thousandths-of-seconds": (
        timed(ms=1e-3),
        "A million times too small. A second has 1000 milliseconds: multiply, do not divide.",
    ),
    "launch-timed-in-seconds": (
        timed(wait=False, ms=1.0),
        "Two things: this is the time of the launch alone, so let each timed call wait for the "
        "GPU. And it is in seconds.",
    ),
    "earlier-work-timed-in-seconds": (
        timed(idle=False, ms=1.0),
        "Two things: work that was still in the queue is counted, so wait for it before the clock "
        "starts. And the result is in seconds.",
    ),
    "no-warm-up-in-seconds": (
        timed(warm_up=False, ms=1.0),
        "Two things: the first calls, which compile and warm up, were timed too. And the result is "
        "in seconds.",
    ),
    "mean-in-seconds": (
        timed(statistics.mean, ms=1.0),
        "Two things: this is the mean, so take the median. And it is in seconds.",
    ),
    "mean-of-earlier-work": (
        timed(statistics.mean, idle=False),
        "Two things: this is the mean, so take the median. And work that was still in the queue is "
        "counted: wait for it before the clock starts.",
    ),
    "negative": (timed(ms=-1e3), "The time is negative. Take the end minus the start."),
    "swapped": (
        swapped,
        "`rep` calls were the warm-up and `warmup` calls were timed: the two are swapped.",
    ),
}


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
UNLIKE = [2.0, 3.0, 4.0, 7.0, 9.0, 2.5]

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


INTENSITY_SUSPECTS = {
    "upside-down": (lambda bytes, flops: bytes / (flops or 1), "These are bytes per operation."),
    "whole-number": (lambda bytes, flops: flops // bytes, "The fraction was cut off."),
    "product": (lambda bytes, flops: flops * bytes, "This is the product of the two."),
    "difference": (lambda bytes, flops: flops - bytes, "This is the difference of the two."),
}

INTENSITY_CASES = [
    case("a matrix product", bytes=2_000_000, flops=8_000_000_000),
    case("GELU", bytes=8, flops=9),
    case("vector add", bytes=12, flops=1),
    case("a copy computes nothing", bytes=8, flops=0),
    case("half a byte for each element", bytes=0.5, flops=2),
    case("no bytes", bytes=0, flops=5, raises=ValueError),
    case("fewer than no bytes", bytes=-8, flops=2, raises=ValueError),
]


def two_times(bytes, flops, peak_bw, peak_flops):
    """Milliseconds of the bytes and of the operations."""
    return bytes / peak_bw / 1e6, flops / peak_flops / 1e9


def roofline_ms_ref(*work):
    return max(two_times(*work))


def larger_number(bytes, flops, peak_bw, peak_flops):
    """Chooses by the bare quotients, GB/s beside TFLOP/s, and converts afterwards."""
    memory, arithmetic = two_times(bytes, flops, peak_bw, peak_flops)
    return memory if bytes / peak_bw > flops / peak_flops else arithmetic


ROOFLINE_SUSPECTS = {
    "units-of-the-choice": (
        larger_number,
        "The wrong one of the two times was taken. GB/s and TFLOP/s are not the same unit: turn "
        "both into milliseconds before you compare them.",
    ),
    "sum": (lambda *a: sum(two_times(*a)), "This is the sum. Both go on at the same time."),
    "smaller": (
        lambda *a: min(two_times(*a)),
        "This is the smaller of the two times. Were bytes and operations both looked at?",
    ),
    "half-the-sum": (lambda *a: sum(two_times(*a)) / 2, "This is the mean of the two times."),
    "no-units": (
        lambda bytes, flops, bw, peak: max(bytes / bw, flops / peak),
        "The units are missing: a GB/s is 1e9 bytes a second, a TFLOP/s 1e12 operations.",
    ),
    "gigaflops": (
        lambda bytes, flops, bw, peak: max(two_times(bytes, flops, bw, peak / 1e3)),
        "The operations take a thousand times too long. A TFLOP/s is 1e12 operations a second.",
    ),
    "swapped-peaks": (
        lambda bytes, flops, bw, peak: max(two_times(bytes, flops, peak, bw)),
        "The bytes were divided by the operations' peak, and the operations by the bytes'.",
    ),
    "binary-units": (
        lambda bytes, flops, bw, peak: max(two_times(bytes, flops, bw * 2**30 / 1e9, peak)),
        "A GB/s is 1e9 bytes a second, not 2**30.",
    ),
    "no-brackets": (
        lambda bytes, flops, bw, peak: max(bytes / bw * 1e12, flops / peak * 1e15),
        "`a / b * c` is `(a / b) * c`. Put a peak and its unit into brackets.",
    ),
    "rate-over-amount": (
        lambda bytes, flops, bw, peak: max(bw * 1e12 / (bytes or 1), peak * 1e15 / (flops or 1)),
        "A rate was divided by an amount. A time is an amount over a rate.",
    ),
    "whole-number": (lambda *a: max(two_times(*a)) // 1, "The fraction was cut off."),
    "divided-by-a-thousand": (
        lambda *a: max(two_times(*a)) / 1e6,
        "A million times too small. A second has 1000 milliseconds: multiply, do not divide.",
    ),
    "too-small": (
        lambda *a: max(two_times(*a)) / 1e3,
        "A thousand times too small. Is this in seconds?",
    ),
    "too-large": (
        lambda *a: max(two_times(*a)) * 1e3,
        "A thousand times too large. A second has 1e3 milliseconds, a GB/s is 1e9 bytes a second.",
    ),
}


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

# --- find_sync: traces written down, and a reference whose arguments leave one thing out


def event(name, cat, ts, dur, tid=1):
    """One event of a profiler's trace; times in microseconds."""
    return {"name": name, "cat": cat, "tid": tid, "ts": ts, "dur": dur}


def begins_before(operator, call):
    return operator["ts"] <= call["ts"] <= operator["ts"] + operator["dur"]


def ends_after(operator, call):
    return call["ts"] + call["dur"] <= operator["ts"] + operator["dur"]


def holds(operator, call):
    return begins_before(operator, call) and ends_after(operator, call)


def overlaps(operator, call):
    begins_within = call["ts"] <= operator["ts"] <= call["ts"] + call["dur"]
    return begins_within or begins_before(operator, call)


def longest(operators):
    return max(operators, key=lambda e: e["dur"])


def shortest(operators):
    return min(operators, key=lambda e: e["dur"])


def waits(
    inside=holds,
    outermost=longest,
    order=lambda call: call["ts"],
    cats=("cuda_runtime",),
    names=WAITING_CALLS,
    operator_cats=("cpu_op",),
    one_thread=True,
    result=lambda operator, call: (operator["name"], call["dur"]),
):
    def find(trace):
        calls = [e for e in trace if e["cat"] in cats and e["name"] in names]
        found = []
        for call in sorted(calls, key=order):
            operators = [e for e in trace if e["cat"] in operator_cats and inside(e, call)]
            if one_thread:
                operators = [e for e in operators if e["tid"] == call["tid"]]
            found.append(result(outermost(operators) if operators else call, call))
        return found

    return find


find_sync_ref = waits()


def merged(trace):
    total = {}
    for name, waited in find_sync_ref(trace):
        total[name] = total.get(name, 0) + waited
    return list(total.items())


SYNC_SUSPECTS = {
    "innermost": (
        waits(outermost=shortest),
        "This is the innermost operator around the wait. The outermost stands in your code.",
    ),
    "first-listed": (
        waits(outermost=lambda operators: operators[0]),
        "This is the first operator of the list that holds the wait, not the outermost one.",
    ),
    "any-thread": (
        waits(one_thread=False),
        "An operator of another thread got the wait. Compare `tid`.",
    ),
    "overlap": (
        waits(inside=overlaps),
        "An operator got the wait that only overlaps with it. The whole call must lie inside.",
    ),
    "start-only": (
        waits(inside=begins_before),
        "An operator that ends before the wait does got it. The whole call must lie inside.",
    ),
    "end-never-compared": (
        waits(inside=lambda e, call: e["ts"] <= call["ts"]),
        "An operator that ends before the wait does got it. The whole call must lie inside.",
    ),
    "end-only": (
        waits(inside=ends_after),
        "An operator that begins after the wait did got it. The whole call must lie inside.",
    ),
    "strictly-inside": (
        waits(inside=lambda e, call: holds(e, call) and e["ts"] < call["ts"]),
        "An operator may begin in the same moment as its wait.",
    ),
    "any-category": (
        waits(cats=("cuda_runtime", "kernel")),
        'A kernel was taken for a wait because of its name. Only `cat == "cuda_runtime"` counts.',
    ),
    "any-operator": (
        waits(operator_cats=("cpu_op", "user_annotation")),
        'An annotation was taken for an operator. Only `cat == "cpu_op"` counts.',
    ),
    "launches-too": (
        waits(names=(*WAITING_CALLS, "cudaLaunchKernel", "cudaMemcpyAsync")),
        "Calls that do not wait are there too. Only the names in `WAITING_CALLS` wait.",
    ),
    "time-of-the-operator": (
        waits(result=lambda operator, call: (operator["name"], operator["dur"])),
        "This is how long the operator took. Give how long its waiting call took.",
    ),
    "name-of-the-call": (
        waits(result=lambda operator, call: (call["name"], call["dur"])),
        "This is the name of the waiting call. Give that of the outermost operator around it.",
    ),
    "milliseconds": (
        waits(result=lambda operator, call: (operator["name"], call["dur"] / 1e3)),
        "`dur` is in microseconds already.",
    ),
    "only-in-operators": (
        lambda trace: [found for found in find_sync_ref(trace) if found[0] not in WAITING_CALLS],
        "A wait in no operator is missing. It gives its own name.",
    ),
    "copies-forgotten": (
        waits(names=[name for name in WAITING_CALLS if "Memcpy" not in name]),
        "Not all of `WAITING_CALLS` were looked for: `cudaMemcpy` waits as well.",
    ),
    "asynchronous-copies": (
        waits(names=(*WAITING_CALLS, "cudaMemcpyAsync")),
        "`cudaMemcpyAsync` does not wait. Compare the whole name.",
    ),
    "order-of-the-list": (
        waits(order=lambda call: 0),
        "The waits are in the order of the list. They should be in order of time.",
    ),
    "order-of-the-ends": (
        waits(order=lambda call: call["ts"] + call["dur"]),
        "The waits are in the order in which they end. Sort them by their start, `ts`.",
    ),
    "longest-first": (
        waits(order=lambda call: -call["dur"]),
        "The waits are sorted by how long they took. They should be in order of time.",
    ),
    "shortest-first": (
        waits(order=lambda call: call["dur"]),
        "The waits are sorted by how long they took. They should be in order of time.",
    ),
    "merged": (merged, "Waits of operators with one name were added up. Give each of them."),
    "once-each": (
        lambda trace: list(dict.fromkeys(find_sync_ref(trace))),
        "Two waits that look alike were given once. Give each of them.",
    ),
    "first-only": (lambda trace: find_sync_ref(trace)[:1], "Only the first wait is given."),
}

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
        mistakes=BENCH_SUSPECTS,
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
        mistakes=INTENSITY_SUSPECTS,
    ),
    "roofline_ms": Check(
        roofline_ms_ref,
        ROOFLINE_CASES,
        HIDDEN_ROOFLINE_CASES,
        triton=False,
        mistakes=ROOFLINE_SUSPECTS,
    ),
    "find_sync": Check(
        find_sync_ref,
        SYNC_CASES,
        [later(each) for each in SYNC_CASES],
        triton=False,
        mistakes=SYNC_SUSPECTS,
    ),
}
