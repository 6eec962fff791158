"""Mistakes of 02_measure with what is said of each, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("no-wait-in-the-timed-call", "memory-only", "innermost")

MUTANTS = {
    "bench_ms": [
        Mutant("no-wait-in-the-timed-call", "{gpu.synchronize()\n         -> }", seen="launch-timed"),
        Mutant("clock-read-before-the-wait",
            "{gpu.synchronize()\n"
            "        times.append((gpu.clock() - start) * 1e3 -> times.append((gpu.clock() - start) * 1e3)\n"
            "        gpu.synchronize(}",
            seen="launch-timed"),
        Mutant("no-warm-up", "{for _ in range(warmup):\n        fn()\n     -> }", seen="no-warm-up"),
        Mutant("no-wait-after-the-warm-up", "\n{    gpu.synchronize()\n -> }", seen="earlier-work-timed"),
        Mutant("wait-only-if-there-was-a-warm-up", "{ ->     }gpu.synchronize()\n\n    ", seen="earlier-work-timed"),
        Mutant("mean", "statistics.{median -> mean}", seen="mean"),
        Mutant("all-calls-as-one",
            (
                "    times = []\n"
                "    for _ in range(rep):\n"
                "        start = gpu.clock()\n"
                "        fn()\n"
                "        gpu.synchronize()\n"
                "        times.append((gpu.clock() - start) * 1e3)\n"
                "    return statistics.median(times)\n",
                "    start = gpu.clock()\n"
                "    for _ in range(rep):\n"
                "        fn()\n"
                "    gpu.synchronize()\n"
                "    return (gpu.clock() - start) * 1e3 / rep\n",
            ),
            seen="one-wait-at-the-end"),
        Mutant("seconds", "- start){ * 1e3 -> }", seen="seconds"),
        Mutant("microseconds", "- start) * {1e3 -> 1e6}", seen="microseconds"),
        Mutant("divides-by-a-thousand", "() - start) {* -> /} ", seen="thousandths-of-seconds"),
        Mutant("start-minus-end", "{gpu.clock() - start -> start - gpu.clock()}", seen="negative"),
        Mutant("least-time", "{statistics.median -> min}", seen="least"),
        Mutant("longest-time", "{statistics.median -> max}", seen="largest"),
        Mutant("sum-of-times", "{statistics.median -> sum}", seen="sum"),
        Mutant("last-time-only", "{statistics.median(times) -> times[-1]}", seen="last-only"),
        Mutant("lower-median", "statistics.{median -> median_low}", seen="half-a-median-below"),
        Mutant("one-warm-up-call", "in range({warmup -> 1}", seen="raised"),
        Mutant("ten-calls-whatever-rep-says", "_ in range({rep -> 10}", seen="raised"),
        Mutant("one-call-too-many", " in range(rep{ ->  + 1})", seen="raised"),
        Mutant("launch-subtracted",
            "{start = gpu.clock()\n        fn -> before = gpu.clock()\n        fn()\n        start = gpu.clock}",
            seen="launch-missing"),
        Mutant("clock-not-restarted",
            "{for _ in range(rep):\n        start = gpu.clock() -> start = gpu.clock()\n    for _ in range(rep):}",
            seen="clock-not-restarted"),
        Mutant("no-result", "{return  -> }statistics", seen="wrong-type"),
        Mutant("upper-median", "{statistics.median(times) -> sorted(times)[rep // 2]}", seen="half-a-median"),
        Mutant("ten-warm-up-calls", "in range({warmup -> 10}", seen="raised"),
        Mutant("warm-up-counted-in", "{    for _ in range(warmup):\n        fn()\n    gpu.synchronize()\n\n -> }",
            "_ in range({ -> warmup + }rep", seen="warm-up-timed"),
        Mutant("wait-after-the-clock-has-started", "\n{    gpu.synchronize()\n -> }",
            ")\n{ ->         gpu.synchronize()\n}        fn()", seen=("earlier-work-timed", "wrong-values")),
        Mutant("warm-up-and-rep-swapped", "fn, {warmup, rep -> rep, warmup}", seen="swapped"),
        Mutant("pythons-own-clock", "{start = gpu.clock -> import time\n        start = time.perf_counter}",
            "append(({gpu.clock -> time.perf_counter}", seen="raised"),
        Mutant("no-idle-start-and-seconds", "\n{    gpu.synchronize()\n -> }", "- start){ * 1e3 -> }",
            seen="earlier-work-timed-in-seconds"),
        Mutant("no-wait-and-seconds", "{gpu.synchronize()\n         -> }", "- start){ * 1e3 -> }",
            seen="launch-timed-in-seconds"),
        Mutant("mean-and-seconds", "statistics.{median -> mean}", "- start){ * 1e3 -> }", seen="mean-in-seconds"),
        Mutant("no-warm-up-and-seconds", "{for _ in range(warmup):\n        fn()\n     -> }", "- start){ * 1e3 -> }",
            seen="no-warm-up-in-seconds"),
        Mutant("mean-and-no-idle-start", "statistics.{median -> mean}", "\n{    gpu.synchronize()\n -> }",
            seen="mean-of-earlier-work"),
        Mutant("waits-for-the-real-gpu", "\n        {gpu -> torch.cuda}.synchronize()", seen=("raised", "launch-timed")),
    ],
    "intensity": [
        Mutant("upside-down", " {flops / bytes -> bytes / flops}", seen="upside-down"),
        Mutant("whole-number", " flops /{ -> /} bytes", seen="whole-number"),
        Mutant("product", "return flops {/ -> *} ", seen="product"),
        Mutant("difference", "return flops {/ -> -} ", seen="difference"),
        Mutant("rounded", " {flops / bytes -> round(flops / bytes, 2)}", seen="wrong-values"),
        Mutant("no-check", "if {bytes <= 0 -> False}:", seen="should-raise"),
        Mutant("no-operations-refused", "if {bytes <= 0 -> bytes <= 0 or flops <= 0}:", seen="raised"),
        Mutant("zero-divides", "if bytes <{= -> } 0:", seen="should-raise"),
        Mutant("negative-bytes-pass", "if bytes {< -> =}= 0:", seen="should-raise"),
        Mutant("refuses-less-than-a-byte", "if bytes <{= 0 ->  1}:", seen="raised"),
        Mutant("refuses-a-copy", "if bytes <= 0{ ->  or flops <= 0}:", seen="raised"),
        Mutant("returns-zero-instead", ('raise ValueError(f"a kernel moves more than {bytes} bytes")', "return 0.0"),
            seen="should-raise"),
        Mutant("text", ("return flops / bytes", 'return f"{flops / bytes}"'), seen=("wrong-values", "wrong-type")),
    ],
    "roofline_ms": [
        Mutant("sum", "{max(memory_ms, arithmetic_ms) -> memory_ms + arithmetic_ms}", seen="sum"),
        Mutant("smaller", "return {max -> min}(memory_ms", seen="smaller"),
        Mutant("memory-only", "{max(memory_ms, arithmetic_ms) -> memory_ms}", seen="smaller"),
        Mutant("arithmetic-only", "{max(memory_ms, arithmetic_ms) -> arithmetic_ms}", seen="smaller"),
        Mutant("seconds", "peak_bw * 1e9){ * 1e3 -> }", " * 1e12){ * 1e3 -> }", seen="too-small"),
        Mutant("microseconds", "return { -> 1e3 * }max(memory_ms", seen="too-large"),
        Mutant("megabytes", "(peak_bw * {1e9 -> 1e6}", seen="too-large"),
        Mutant("divides-by-a-thousand", "peak_bw * 1e9) {* -> /} 1e3", "peak_flops * 1e12) {* -> /} ",
            seen="divided-by-a-thousand"),
        Mutant("no-brackets", "{(peak_bw * 1e9) -> peak_bw * 1e9}", "{(peak_flops * 1e12) -> peak_flops * 1e12}",
            seen="no-brackets"),
        Mutant("rate-over-amount", "{bytes / (peak_bw * 1e9) -> (peak_bw * 1e9) / bytes}",
            "{flops / (peak_flops * 1e12) -> (peak_flops * 1e12) / flops}", seen="rate-over-amount"),
        Mutant("whole-milliseconds", "{max(memory_ms, arithmetic_ms -> int(max(memory_ms, arithmetic_ms)}",
            seen="whole-number"),
        Mutant("gibibytes", "(peak_bw * {1e9 -> 2**30}", seen="binary-units"),
        Mutant("gigaflops", "peak_flops * {1e12 -> 1e9}", seen="gigaflops"),
        Mutant("peaks-swapped", "bytes / ({peak_bw -> peak_flops}", " / ({peak_flops -> peak_bw} * 1e12",
            seen="swapped-peaks"),
        Mutant("bits", "memory_ms = { -> 8 * }bytes", seen="wrong-values"),
        Mutant("mean-of-both", "{max(memory_ms, arithmetic_ms) -> (memory_ms + arithmetic_ms) / 2}",
            seen="half-the-sum"),
        Mutant("ridge-upside-down",
            "{max(memory_ms, arithmetic_ms) -> memory_ms if flops * peak_bw * 1e9 > bytes * peak_flops * 1e12 else "
            "arithmetic_ms}",
            seen="smaller"),
        Mutant("no-units-at-all", "{(peak_bw * 1e9) * 1e3 -> peak_bw}", "{(peak_flops * 1e12) * 1e3 -> peak_flops}",
            seen="no-units"),
        Mutant("units-forgotten-in-the-choice",
            "{max(memory_ms, arithmetic_ms) -> memory_ms if bytes / peak_bw > flops / peak_flops else arithmetic_ms}",
            seen="units-of-the-choice"),
    ],
    "find_sync": [
        Mutant("innermost", "outermost = {max -> min}", seen="innermost"),
        Mutant("any-thread", '{            and e["tid"] == call["tid"]\n -> }', seen="any-thread"),
        Mutant("start-only", 'and {end -> call["ts"]} <= e["', seen="start-only"),
        Mutant("end-only", '{            and e["ts"] <= call["ts"]\n -> }', seen="end-only"),
        Mutant("strictly-inside", '["ts"] <{= -> } call', seen="strictly-inside"),
        Mutant("order-of-the-trace", '{sorted(calls, key=lambda e: e["ts"]) -> calls}', seen="order-of-the-list"),
        Mutant("longest-first", 'lambda e: {e["ts -> -e["dur}"', seen="longest-first"),
        Mutant("any-category", '{e["cat"] == "cuda_runtime" and  -> }', seen="any-category"),
        Mutant("name-contains-synchronize",
            '{e["cat"] == "cuda_runtime" and e["name"] in WAITING_CALLS -> "Synchronize" in e["name"]}',
            seen="wrong-values"),
        Mutant("asynchronous-copies-too", "{ in WAITING_CALLS -> .startswith(WAITING_CALLS)}",
            seen="asynchronous-copies"),
        Mutant("copies-forgotten", " WAITING_CALLS{ -> [:-1]}", seen="copies-forgotten"),
        Mutant("annotations-count-as-operators", '"] {== "cpu_op" -> in ("cpu_op", "user_annotation")}',
            seen="any-operator"),
        Mutant("time-of-the-operator", '"name"], {call -> outermost}[', seen="time-of-the-operator"),
        Mutant("only-inside-operators", "{ -> if around:\n            }found.append((", seen="only-in-operators"),
        Mutant("launches-too", '{ and e["name"] in WAITING_CALLS -> }', seen="launches-too"),
        Mutant("name-of-the-call", "append(({outermost -> call}[", seen="name-of-the-call"),
        Mutant("milliseconds", ' call["dur"]{ ->  / 1e3}))', seen="milliseconds"),
        Mutant("end-never-compared", '{            and end <= e["ts"] + e["dur"]\n -> }', seen="end-never-compared"),
        Mutant("order-of-the-ends", 'lambda e: e["ts"]{ ->  + e["dur"]}):', seen="order-of-the-ends"),
        Mutant("earliest-start-whatever-its-end",
            '{max(around, key=lambda e: e["dur -> min(around, key=lambda e: e["ts}', seen="first-listed"),
        Mutant("each-operator-once", "return {found -> list(dict.fromkeys(found))}", seen="once-each"),
        Mutant("first-wait-only", "return found{ -> [:1]}", seen="first-only"),
        Mutant("sums-by-operator",
            (
                "    return found",
                "    total = {}\n"
                "    for name, waited in found:\n"
                "        total[name] = total.get(name, 0) + waited\n"
                "    return list(total.items())",
            ),
            seen="merged"),
        Mutant("first-operator-of-the-list",
            '{max(around, key=lambda e: e["dur"], default=call) -> around[0] if around else call}', seen="first-listed"),
        Mutant("an-overlap-is-enough", '{call["ts"]\n            and end -> end\n            and call["ts"]}',
            seen="overlap"),
        Mutant("shortest-first", 'lambda e: e["{ts -> dur}"])', seen="shortest-first"),
        Mutant("names-without-times", "return {found -> [name for name, _ in found]}",
            seen=("wrong-values", "wrong-type")),
    ],
}

VARIANTS = {
    "bench_ms": [
        Variant("events",
            "{ = gpu.clock()\n"
            "        fn()\n"
            "        gpu.synchronize()\n"
            "        times.append((gpu.clock() - start) * 1e3 -> , end = gpu.event(), gpu.event()\n"
            "        start.record()\n"
            "        fn()\n"
            "        end.record()\n"
            "        gpu.synchronize()\n"
            "        times.append(start.elapsed_time(end)}"),
        Variant("wait-before-each-call-too", "{ -> gpu.synchronize()\n        }start = gpu.clock"),
        Variant("median-by-hand",
            "{return statistics.median(times) -> times.sort()\n"
            "    return (times[(rep - 1) // 2] + times[rep // 2]) / 2}"),
        Variant("wait-after-each-warm-up-call",
            "{for _ in range(warmup):\n"
            "        fn()\n"
            " -> gpu.synchronize()\n"
            "    for _ in range(warmup):\n"
            "        fn()\n"
            "    }"),
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
