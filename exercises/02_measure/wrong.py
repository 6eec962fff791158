"""Mistakes of 02_measure with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("no-wait-in-the-timed-call", "memory-only", "innermost")

# Sentences that several mistakes share.
SAYS = {
    "launch-timed": "This is the time of the launch alone. Does each timed call wait for the GPU?",
    "earlier-work-timed": "Work that was still in the queue is counted. Wait for it before the clock starts.",
    "one-wait-at-the-end": "All calls were timed as one. Each call is to start and end on an idle GPU.",
    "thousandths-of-seconds": "A million times too small. A second has 1000 milliseconds: multiply, do not divide.",
    "half-a-median-below": "With an even number of times the median lies halfway between the two in the middle.",
    "whole-number": "The fraction was cut off.",
    "smaller": "This is the smaller of the two times. Were bytes and operations both looked at?",
    "too-large": "A thousand times too large. A second has 1e3 milliseconds, a GB/s is 1e9 bytes a second.",
    "start-only": "An operator that ends before the wait does got it. The whole call must lie inside.",
    "longest-first": "The waits are sorted by how long they took. They should be in order of time.",
    "bits": "A byte was counted as 8. The bandwidth is in bytes, not in bits.",
    "no-brackets": "`a / b * c` is `(a / b) * c`. Put a peak and its unit into brackets.",
    "rate-over-amount": "A rate was divided by an amount. A time is an amount over a rate.",
    "first-listed": "This is the first operator of the list that holds the wait, not the outermost one.",
}

MUTANTS = {
    "bench_ms": [
        Mutant("no-wait-in-the-timed-call", "{gpu.synchronize()\n         -> }", says="launch-timed"),
        Mutant("wait-before-the-call",
            "{fn()\n        gpu.synchronize()\n        times.append -> gpu.synchronize()\n        fn()\n        times.append}",
            says="The wait stands before `fn()`: it waits for the call before, and of this call the launch alone is "
                "timed. Wait after `fn()`."),
        Mutant("clock-read-before-the-wait",
            "{gpu.synchronize()\n"
            "        times.append((gpu.clock() - start) * 1e3 -> times.append((gpu.clock() - start) * 1e3)\n"
            "        gpu.synchronize(}",
            says="launch-timed"),
        Mutant("no-warm-up", "{for _ in range(warmup):\n        fn()\n     -> }",
            says="The first calls were timed too. They compile and warm up."),
        Mutant("no-wait-after-the-warm-up", "\n{    gpu.synchronize()\n -> }", says="earlier-work-timed"),
        Mutant("wait-only-if-there-was-a-warm-up", "{ ->     }gpu.synchronize()\n\n    ", says="earlier-work-timed"),
        Mutant("mean", "statistics.{median -> mean}",
            says="This is the mean. One slow call spoils it: take the median."),
        Mutant("all-calls-as-one",
            "{times = [] … return statistics.median(times) -> start = gpu.clock()\n"
            "    for _ in range(rep):\n"
            "        fn()\n"
            "    gpu.synchronize()\n"
            "    return (gpu.clock() - start) * 1e3 / rep}", says="one-wait-at-the-end"),
        Mutant("seconds", "- start){ * 1e3 -> }",
            says="This is in seconds. `gpu.clock()` gives seconds, the result is in milliseconds."),
        Mutant("microseconds", "- start) * {1e3 -> 1e6}", says="This is in microseconds, a thousand times too many."),
        Mutant("divides-by-a-thousand", "() - start) {* -> /} ", says="thousandths-of-seconds"),
        Mutant("start-in-milliseconds", "{(gpu.clock() - start) * 1e3 -> gpu.clock() - start * 1e3}",
            says="The time is negative: `*` comes before `-`, so that `start` alone is in milliseconds. Put the "
                "difference into brackets."),
        Mutant("start-minus-end", "{gpu.clock() - start -> start - gpu.clock()}",
            says="The time is negative. Take the end minus the start."),
        Mutant("least-time", "{statistics.median -> min}",
            says="This is the least time. The task asks for the median."),
        Mutant("longest-time", "{statistics.median -> max}",
            says="This is the largest time. The task asks for the median."),
        Mutant("sum-of-times", "{statistics.median -> sum}",
            says="This is the time of all calls together. The task asks for one call's."),
        Mutant("last-time-only", "{statistics.median(times) -> times[-1]}",
            says="This is the time of the last call alone."),
        Mutant("lower-median", "statistics.{median -> median_low}", says="half-a-median-below"),
        Mutant("middle-of-the-list", "{statistics.median(times) -> times[rep // 2]}",
            says="This is the call in the middle. The median is the middle of the times in order of size."),
        Mutant("warm-up-taken-off", " in range(rep{ ->  - warmup})", seen="raised",
            says="Too few calls were timed: `rep` calls follow those of the warm-up."),
        Mutant("rounded", "return {statistics.median(times) -> round(statistics.median(times))}", seen="wrong-values"),
        Mutant("one-warm-up-call", "in range({warmup -> 1}", seen="raised"),
        Mutant("ten-calls-whatever-rep-says", "_ in range({rep -> 10}", seen="raised"),
        Mutant("one-call-too-many", " in range(rep{ ->  + 1})", seen="raised"),
        Mutant("launch-subtracted",
            "{start = gpu.clock()\n        fn -> before = gpu.clock()\n        fn()\n        start = gpu.clock}",
            says="The launch is missing from the time. Start the clock before the call of `fn`."),
        Mutant("clock-not-restarted",
            "{for _ in range(rep):\n        start = gpu.clock() -> start = gpu.clock()\n    for _ in range(rep):}",
            says="Each time also holds the calls before it. Read the clock again before each call."),
        Mutant("no-result", "{return  -> }statistics", seen="wrong-type"),
        Mutant("upper-median", "{statistics.median(times) -> sorted(times)[rep // 2]}", says="half-a-median-below"),
        Mutant("ten-warm-up-calls", "in range({warmup -> 10}", seen="raised"),
        Mutant("warm-up-counted-in", "{    for _ in range(warmup):\n        fn()\n    gpu.synchronize()\n\n -> }",
            "_ in range({ -> warmup + }rep",
            says="The calls of the warm-up were timed too. Keep only the times of the `rep` calls."),
        Mutant("wait-after-the-clock-has-started", "\n{    gpu.synchronize()\n -> }",
            ")\n{ ->         gpu.synchronize()\n}        fn()", says="earlier-work-timed", seen="wrong-values"),
        Mutant("warm-up-and-rep-swapped", "fn, {warmup, rep -> rep, warmup}",
            says="`rep` calls were the warm-up and `warmup` calls were timed: the two are swapped."),
        Mutant("pythons-own-clock", "{start = gpu.clock -> import time\n        start = time.perf_counter}",
            "append(({gpu.clock -> time.perf_counter}", seen="raised"),
        Mutant("no-idle-start-and-seconds", "\n{    gpu.synchronize()\n -> }", "- start){ * 1e3 -> }",
            says="Two things: work that was still in the queue is counted, so wait for it before the clock starts. And "
                "the result is in seconds."),
        Mutant("no-wait-and-seconds", "{gpu.synchronize()\n         -> }", "- start){ * 1e3 -> }",
            says="Two things: this is the time of the launch alone, so let each timed call wait for the GPU. And it is "
                "in seconds."),
        Mutant("mean-and-seconds", "statistics.{median -> mean}", "- start){ * 1e3 -> }",
            says="Two things: this is the mean, so take the median. And it is in seconds."),
        Mutant("no-warm-up-and-seconds", "{for _ in range(warmup):\n        fn()\n     -> }", "- start){ * 1e3 -> }",
            says="Two things: the first calls, which compile and warm up, were timed too. And the result is in seconds."),
        Mutant("mean-and-no-idle-start", "statistics.{median -> mean}", "\n{    gpu.synchronize()\n -> }",
            says="Two things: this is the mean, so take the median. And work that was still in the queue is counted: "
                "wait for it before the clock starts."),
        Mutant("waits-for-the-real-gpu", "\n        {gpu -> torch.cuda}.synchronize()",
            says="launch-timed", seen="raised"),
    ],
    "intensity": [
        Mutant("upside-down", " {flops / bytes -> bytes / flops}", says="These are bytes per operation."),
        Mutant("whole-number", " flops /{ -> /} bytes", says="whole-number"),
        Mutant("product", "return flops {/ -> *} ", says="This is the product of the two."),
        Mutant("difference", "return flops {/ -> -} ", says="This is the difference of the two."),
        Mutant("rounded", " {flops / bytes -> round(flops / bytes, 2)}", seen="wrong-values"),
        Mutant("bits", "return flops / {bytes -> (8 * bytes)}", says="bits"),
        Mutant("no-check", "if {bytes <= 0 -> False}:", seen="should-raise"),
        Mutant("no-operations-refused", "if {bytes <= 0 -> bytes <= 0 or flops <= 0}:", seen="raised"),
        Mutant("zero-divides", "if bytes <{= -> } 0:", seen="should-raise"),
        Mutant("negative-bytes-pass", "if bytes {< -> =}= 0:", seen="should-raise"),
        Mutant("refuses-less-than-a-byte", "if bytes <{= 0 ->  1}:", seen="raised"),
        Mutant("returns-zero-instead", ('raise ValueError(f"a kernel moves more than {bytes} bytes")', "return 0.0"),
            seen="should-raise"),
        Mutant("text", ("return flops / bytes", 'return f"{flops / bytes}"'), seen=("wrong-values", "wrong-type")),
    ],
    "roofline_ms": [
        Mutant("sum", "{max(memory_ms, arithmetic_ms) -> memory_ms + arithmetic_ms}",
            says="This is the sum. Both go on at the same time."),
        Mutant("smaller", "return {max -> min}(memory_ms", says="smaller"),
        Mutant("memory-only", "{max(memory_ms, arithmetic_ms) -> memory_ms}", says="smaller"),
        Mutant("arithmetic-only", "{max(memory_ms, arithmetic_ms) -> arithmetic_ms}", says="smaller"),
        Mutant("seconds", "peak_bw * 1e9){ * 1e3 -> }", " * 1e12){ * 1e3 -> }",
            says="A thousand times too small. Is this in seconds?"),
        Mutant("microseconds", "return { -> 1e3 * }max(memory_ms", says="too-large"),
        Mutant("megabytes", "(peak_bw * {1e9 -> 1e6}", says="too-large"),
        Mutant("divides-by-a-thousand", "peak_bw * 1e9) {* -> /} 1e3", "peak_flops * 1e12) {* -> /} ",
            says="thousandths-of-seconds"),
        Mutant("no-brackets", "{(peak_bw * 1e9) -> peak_bw * 1e9}", "{(peak_flops * 1e12) -> peak_flops * 1e12}",
            says="no-brackets"),
        Mutant("rate-over-amount", "{bytes / (peak_bw * 1e9) -> (peak_bw * 1e9) / bytes}",
            "{flops / (peak_flops * 1e12) -> (peak_flops * 1e12) / flops}", says="rate-over-amount"),
        Mutant("whole-milliseconds", "{max(memory_ms, arithmetic_ms -> int(max(memory_ms, arithmetic_ms)}",
            says="whole-number"),
        Mutant("gibibytes", "(peak_bw * {1e9 -> 2**30}", says="A GB/s is 1e9 bytes a second, not 2**30."),
        Mutant("gigaflops", "peak_flops * {1e12 -> 1e9}",
            says="The operations take a thousand times too long. A TFLOP/s is 1e12 operations a second."),
        Mutant("peaks-swapped", "bytes / ({peak_bw -> peak_flops}", " / ({peak_flops -> peak_bw} * 1e12",
            says="The bytes were divided by the operations' peak, and the operations by the bytes'."),
        Mutant("bits", "memory_ms = { -> 8 * }bytes", says="bits"),
        Mutant("no-brackets-around-the-bandwidth", "{(peak_bw * 1e9) -> peak_bw * 1e9}", says="no-brackets"),
        Mutant("no-brackets-around-the-operations", "{(peak_flops * 1e12) -> peak_flops * 1e12}", says="no-brackets"),
        Mutant("bandwidth-over-bytes", "{bytes / (peak_bw * 1e9) -> (peak_bw * 1e9) / bytes}", says="rate-over-amount"),
        Mutant("operations-upside-down", "{flops / (peak_flops * 1e12) -> (peak_flops * 1e12) / flops}",
            says="rate-over-amount"),
        Mutant("units-swapped", "(peak_bw * {1e9 -> 1e12}", "peak_flops * {1e12 -> 1e9}",
            says="The units have changed places: a GB/s is 1e9 bytes a second, a TFLOP/s 1e12 operations."),
        Mutant("one-time-in-seconds", " * 1e12){ * 1e3 -> }",
            says="One time is in seconds, the other in milliseconds. Turn both into milliseconds."),
        Mutant("mean-of-both", "{max(memory_ms, arithmetic_ms) -> (memory_ms + arithmetic_ms) / 2}",
            says="This is the mean of the two times."),
        Mutant("ridge-upside-down",
            "{max(memory_ms, arithmetic_ms) -> memory_ms if flops * peak_bw * 1e9 > bytes * peak_flops * 1e12 else "
            "arithmetic_ms}",
            says="smaller"),
        Mutant("no-units-at-all", "{(peak_bw * 1e9) * 1e3 -> peak_bw}", "{(peak_flops * 1e12) * 1e3 -> peak_flops}",
            says="The units are missing: a GB/s is 1e9 bytes a second, a TFLOP/s 1e12 operations."),
        Mutant("units-forgotten-in-the-choice",
            "{max(memory_ms, arithmetic_ms) -> memory_ms if bytes / peak_bw > flops / peak_flops else arithmetic_ms}",
            says="The wrong one of the two times was taken. GB/s and TFLOP/s are not the same unit: turn both into "
                "milliseconds before you compare them."),
    ],
    "find_sync": [
        Mutant("innermost", "outermost = {max -> min}",
            says="This is the innermost operator around the wait. The outermost stands in your code."),
        Mutant("any-thread", '{            and e["tid"] == call["tid"]\n -> }',
            says="An operator of another thread got the wait. Compare `tid`."),
        Mutant("start-only", 'and {end -> call["ts"]} <= e["', says="start-only"),
        Mutant("end-only", '{            and e["ts"] <= call["ts"]\n -> }',
            says="An operator that begins after the wait did got it. The whole call must lie inside."),
        Mutant("strictly-inside", '["ts"] <{= -> } call', says="An operator may begin in the same moment as its wait."),
        Mutant("order-of-the-trace", '{sorted(calls, key=lambda e: e["ts"]) -> calls}',
            says="The waits are in the order of the list. They should be in order of time."),
        Mutant("longest-first", 'lambda e: {e["ts -> -e["dur}"', says="longest-first"),
        Mutant("any-category", '{e["cat"] == "cuda_runtime" and  -> }',
            says='A kernel was taken for a wait because of its name. Only `cat == "cuda_runtime"` counts.'),
        Mutant("name-contains-synchronize",
            '{e["cat"] == "cuda_runtime" and e["name"] in WAITING_CALLS -> "Synchronize" in e["name"]}',
            seen="wrong-values"),
        Mutant("asynchronous-copies-too", "{ in WAITING_CALLS -> .startswith(WAITING_CALLS)}",
            says="`cudaMemcpyAsync` does not wait. Compare the whole name."),
        Mutant("copies-forgotten", " WAITING_CALLS{ -> [:-1]}",
            says="Not all of `WAITING_CALLS` were looked for: `cudaMemcpy` waits as well."),
        Mutant("annotations-count-as-operators", '"] {== "cpu_op" -> in ("cpu_op", "user_annotation")}',
            says='An annotation was taken for an operator. Only `cat == "cpu_op"` counts.'),
        Mutant("time-of-the-operator", '"name"], {call -> outermost}[',
            says="This is how long the operator took. Give how long its waiting call took."),
        Mutant("only-inside-operators", "{ -> if around:\n            }found.append((",
            says="A wait in no operator is missing. It gives its own name."),
        Mutant("launches-too", '{ and e["name"] in WAITING_CALLS -> }',
            says="Calls that do not wait are there too. Only the names in `WAITING_CALLS` wait."),
        Mutant("name-of-the-call", "append(({outermost -> call}[",
            says="This is the name of the waiting call. Give that of the outermost operator around it."),
        Mutant("milliseconds", ' call["dur"]{ ->  / 1e3}))', says="`dur` is in microseconds already."),
        Mutant("end-never-compared", '{            and end <= e["ts"] + e["dur"]\n -> }', says="start-only"),
        Mutant("order-of-the-ends", 'lambda e: e["ts"]{ ->  + e["dur"]}):',
            says="The waits are in the order in which they end. Sort them by their start, `ts`."),
        Mutant("earliest-start-whatever-its-end",
            '{max(around, key=lambda e: e["dur -> min(around, key=lambda e: e["ts}', says="first-listed"),
        Mutant("each-operator-once", "return {found -> list(dict.fromkeys(found))}",
            says="Two waits that look alike were given once. Give each of them."),
        Mutant("first-wait-only", "return found{ -> [:1]}", says="Only the first wait is given."),
        Mutant("sums-by-operator",
            "{return found -> total = {}\n"
            "    for name, waited in found:\n"
            "        total[name] = total.get(name, 0) + waited\n"
            "    return list(total.items())}",
            says="Waits of operators with one name were added up. Give each of them."),
        Mutant("first-operator-of-the-list",
            '{max(around, key=lambda e: e["dur"], default=call) -> around[0] if around else call}',
            says="first-listed"),
        Mutant("an-overlap-is-enough", '{call["ts"]\n            and end -> end\n            and call["ts"]}',
            says="An operator got the wait that only overlaps with it. The whole call must lie inside."),
        Mutant("shortest-first", 'lambda e: e["{ts -> dur}"])', says="longest-first"),
        Mutant("names-without-times", "return {found -> [name for name, _ in found]}",
            seen=("wrong-values", "wrong-type")),
    ],
}

VARIANTS = {
    "bench_ms": [
        Variant("events",
            "{ = gpu.clock() … times.append((gpu.clock() - start) * 1e3 -> , end = gpu.event(), gpu.event()\n"
            "        start.record()\n"
            "        fn()\n"
            "        end.record()\n"
            "        gpu.synchronize()\n"
            "        times.append(start.elapsed_time(end)}"),
        Variant("times-of-the-warm-up-left-out",
            body="times = []\n"
                "for _ in range(warmup + rep):\n"
                "    gpu.synchronize()\n"
                "    start = gpu.clock()\n"
                "    fn()\n"
                "    gpu.synchronize()\n"
                "    times.append((gpu.clock() - start) * 1e3)\n"
                "return statistics.median(times[warmup:])"),
        Variant("wait-before-each-call-too", "{ -> gpu.synchronize()\n        }start = gpu.clock"),
        Variant("median-by-hand",
            "{return statistics.median(times) -> times.sort()\n"
            "    return (times[(rep - 1) // 2] + times[rep // 2]) / 2}"),
        Variant("wait-after-each-warm-up-call",
            "{for _ in range(warmup): … fn()\n"
            " -> gpu.synchronize()\n"
            "    for _ in range(warmup):\n"
            "        fn()\n"
            "    }    gpu"),
        Variant("milliseconds-at-the-end", "- start){ * 1e3 -> }", "return { -> 1000 * }statistics"),
    ],
    "intensity": [
        Variant("checked-the-other-way", "if {bytes <= -> not bytes >} 0:"),
        Variant("as-floats", " {flops / bytes -> float(flops) / float(bytes)}"),
        Variant("another-text", ('f"a kernel moves more than {bytes} bytes"', '"bytes must be positive"')),
    ],
    "roofline_ms": [
        Variant("units-folded", "{(peak_bw * 1e9) * 1e3 -> peak_bw / 1e6}"),
        Variant("by-intensity",
            "{max(memory_ms, arithmetic_ms) -> arithmetic_ms if flops * peak_bw * 1e9 > bytes * peak_flops * 1e12 "
            "else memory_ms}"),
        Variant("max-of-a-list", "{memory_ms, arithmetic_ms -> [memory_ms, arithmetic_ms]}"),
    ],
    "find_sync": [
        Variant("lists-instead-of-pairs", '{(outermost["name"], call["dur"]) -> [outermost["name"], call["dur"]]}'),
        Variant("earliest-start-is-outermost",
            '{max(around, key=lambda e: e["dur"] -> min(around, key=lambda e: (e["ts"], -e["dur"])}'),
        Variant("sorted-first", '{ -> trace = sorted(trace, key=lambda e: e["ts"])\n    }calls = [e for',
            '{sorted(calls, key=lambda e: e["ts"]) -> calls}'),
    ],
}
