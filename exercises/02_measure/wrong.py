"""Wrong answers of 02_measure with the diagnosis each must get, and right answers of other form."""

from tritonbook.course.mutants import Mutant, Variant

WARM_UP = "    for _ in range(warmup):\n        fn()\n    gpu.synchronize()\n"
TIMED = """\
        start = gpu.clock()
        fn()
        gpu.synchronize()
        times.append((gpu.clock() - start) * 1e3)
"""
MEDIAN = "return statistics.median(times)"
ALL_AT_ONCE = """\
    start = gpu.clock()
    for _ in range(rep):
        fn()
    gpu.synchronize()
    return (gpu.clock() - start) * 1e3 / rep
"""
LOOP = "    times = []\n    for _ in range(rep):\n" + TIMED + "    " + MEDIAN + "\n"

MUTANTS = {
    "bench_ms": [
        Mutant("no_wait_in_the_timed_call", "launch-timed", (TIMED, TIMED.replace("        gpu.synchronize()\n", ""))),
        Mutant("clock_read_before_the_wait", "launch-timed", (TIMED, "        start = gpu.clock()\n        fn()\n        times.append((gpu.clock() - start) * 1e3)\n        gpu.synchronize()\n")),
        Mutant("no_warm_up", "no-warm-up", (WARM_UP, "    gpu.synchronize()\n")),
        Mutant("no_wait_after_the_warm_up", "earlier-work-timed", (WARM_UP, WARM_UP.replace("    gpu.synchronize()\n", ""))),
        Mutant("wait_only_if_there_was_a_warm_up", "earlier-work-timed", (WARM_UP, "    for _ in range(warmup):\n        fn()\n        gpu.synchronize()\n")),
        Mutant("mean", "mean", (MEDIAN, "return statistics.mean(times)")),
        Mutant("all_calls_as_one", "one-wait-at-the-end", (LOOP, ALL_AT_ONCE)),
        Mutant("seconds", "seconds", (" * 1e3)", ")")),
        Mutant("microseconds", "microseconds", ("1e3", "1e6")),
        Mutant("divides_by_a_thousand", "thousandths-of-seconds", (" * 1e3)", " / 1e3)")),
        Mutant("start_minus_end", "negative", ("(gpu.clock() - start)", "(start - gpu.clock())")),
        Mutant("least_time", "least", (MEDIAN, "return min(times)")),
        Mutant("longest_time", "largest", (MEDIAN, "return max(times)")),
        Mutant("sum_of_times", "sum", (MEDIAN, "return sum(times)")),
        Mutant("last_time_only", "last-only", (MEDIAN, "return times[-1]")),
        Mutant("lower_median", "half-a-median-below", (MEDIAN, "return statistics.median_low(times)")),
        Mutant("one_warm_up_call", "raised", ("range(warmup)", "range(1)")),
        Mutant("ten_calls_whatever_rep_says", "raised", ("range(rep)", "range(10)")),
        Mutant("one_call_too_many", "raised", ("range(rep)", "range(rep + 1)")),
        Mutant("launch_subtracted", "launch-missing", (TIMED, "        before = gpu.clock()\n        fn()\n        start = gpu.clock()\n        gpu.synchronize()\n        times.append((gpu.clock() - start) * 1e3)\n")),
        Mutant("clock_not_restarted", "clock-not-restarted", ("    for _ in range(rep):\n        start = gpu.clock()\n", "    start = gpu.clock()\n    for _ in range(rep):\n")),
        Mutant("no_result", "wrong-type", (MEDIAN, "statistics.median(times)")),
        Mutant("upper_median", "half-a-median", (MEDIAN, "return sorted(times)[rep // 2]")),
        Mutant("ten_warm_up_calls", "raised", ("range(warmup)", "range(10)")),
        Mutant("warm_up_counted_in", "warm-up-timed", (WARM_UP + "\n", ""), ("range(rep)", "range(warmup + rep)")),
        Mutant("wait_after_the_clock_has_started", ("earlier-work-timed", "wrong-values"), (WARM_UP, WARM_UP.replace("    gpu.synchronize()\n", "")), ("        start = gpu.clock()\n", "        start = gpu.clock()\n        gpu.synchronize()\n")),
        Mutant("warm_up_and_rep_swapped", "swapped", ("(fn, warmup, rep)", "(fn, rep, warmup)")),
        Mutant("pythons_own_clock", "raised", ("start = gpu.clock()", "import time\n        start = time.perf_counter()"), ("(gpu.clock() - start)", "(time.perf_counter() - start)")),
        Mutant("waits_for_the_real_gpu", ("raised", "launch-timed"), (TIMED, TIMED.replace("gpu.synchronize()", "torch.cuda.synchronize()"))),
    ],
    "intensity": [
        Mutant("upside_down", "upside-down", ("flops / bytes", "bytes / flops")),
        Mutant("whole_number", "whole-number", ("flops / bytes", "flops // bytes")),
        Mutant("product", "product", ("flops / bytes", "flops * bytes")),
        Mutant("difference", "difference", ("flops / bytes", "flops - bytes")),
        Mutant("rounded", "wrong-values", ("flops / bytes", "round(flops / bytes, 2)")),
        Mutant("no_check", ("should-raise",), ("bytes <= 0", "False")),
        Mutant("zero_divides", ("should-raise",), ("bytes <= 0", "bytes < 0")),
        Mutant("negative_bytes_pass", ("should-raise",), ("bytes <= 0", "bytes == 0")),
        Mutant("refuses_less_than_a_byte", ("raised",), ("bytes <= 0", "bytes < 1")),
        Mutant("refuses_a_copy", ("raised",), ("bytes <= 0", "bytes <= 0 or flops <= 0")),
        Mutant("returns_zero_instead", ("should-raise",), ('raise ValueError(f"a kernel moves more than {bytes} bytes")', "return 0.0")),
        Mutant("text", ("wrong-values", "wrong-type"), ("return flops / bytes", 'return f"{flops / bytes}"')),
    ],
    "roofline_ms": [
        Mutant("sum", "sum", ("max(memory_ms, arithmetic_ms)", "memory_ms + arithmetic_ms")),
        Mutant("smaller", "smaller", ("max(memory_ms", "min(memory_ms")),
        Mutant("memory_only", "smaller", ("max(memory_ms, arithmetic_ms)", "memory_ms")),
        Mutant("arithmetic_only", "smaller", ("max(memory_ms, arithmetic_ms)", "arithmetic_ms")),
        Mutant("seconds", ("too-small",), ("(peak_bw * 1e9) * 1e3", "(peak_bw * 1e9)"), ("(peak_flops * 1e12) * 1e3", "(peak_flops * 1e12)")),
        Mutant("microseconds", "too-large", ("return max(", "return 1e3 * max(")),
        Mutant("megabytes", "too-large", ("peak_bw * 1e9", "peak_bw * 1e6")),
        Mutant("divides_by_a_thousand", "divided-by-a-thousand", ("(peak_bw * 1e9) * 1e3", "(peak_bw * 1e9) / 1e3"), ("(peak_flops * 1e12) * 1e3", "(peak_flops * 1e12) / 1e3")),
        Mutant("no_brackets", "no-brackets", ("(peak_bw * 1e9)", "peak_bw * 1e9"), ("(peak_flops * 1e12)", "peak_flops * 1e12")),
        Mutant("rate_over_amount", "rate-over-amount", ("bytes / (peak_bw * 1e9)", "(peak_bw * 1e9) / bytes"), ("flops / (peak_flops * 1e12)", "(peak_flops * 1e12) / flops")),
        Mutant("whole_milliseconds", "whole-number", ("return max(memory_ms, arithmetic_ms)", "return int(max(memory_ms, arithmetic_ms))")),
        Mutant("gibibytes", "binary-units", ("peak_bw * 1e9", "peak_bw * 2**30")),
        Mutant("gigaflops", "gigaflops", ("peak_flops * 1e12", "peak_flops * 1e9")),
        Mutant("peaks_swapped", "swapped-peaks", ("bytes / (peak_bw", "bytes / (peak_flops"), ("flops / (peak_flops", "flops / (peak_bw")),
        Mutant("bits", "wrong-values", ("memory_ms = bytes", "memory_ms = 8 * bytes")),
        Mutant("mean_of_both", "half-the-sum", ("max(memory_ms, arithmetic_ms)", "(memory_ms + arithmetic_ms) / 2")),
        Mutant("ridge_upside_down", "smaller", ("return max(memory_ms, arithmetic_ms)", "return memory_ms if flops * peak_bw * 1e9 > bytes * peak_flops * 1e12 else arithmetic_ms")),
        Mutant("no_units_at_all", "no-units", (" / (peak_bw * 1e9) * 1e3", " / peak_bw"), (" / (peak_flops * 1e12) * 1e3", " / peak_flops")),
        Mutant("units_forgotten_in_the_choice", "units-of-the-choice", ("return max(memory_ms, arithmetic_ms)", "return memory_ms if bytes / peak_bw > flops / peak_flops else arithmetic_ms")),
    ],
    "find_sync": [
        Mutant("innermost", "innermost", ("outermost = max(", "outermost = min(")),
        Mutant("any_thread", "any-thread", ('            and e["tid"] == call["tid"]\n', "")),
        Mutant("start_only", "start-only", ('            and end <= e["ts"] + e["dur"]\n', '            and call["ts"] <= e["ts"] + e["dur"]\n')),
        Mutant("end_only", "end-only", ('            and e["ts"] <= call["ts"]\n', "")),
        Mutant("strictly_inside", "strictly-inside", ('e["ts"] <= call["ts"]', 'e["ts"] < call["ts"]')),
        Mutant("order_of_the_trace", "order-of-the-list", ('sorted(calls, key=lambda e: e["ts"])', "calls")),
        Mutant("longest_first", "longest-first", ('sorted(calls, key=lambda e: e["ts"])', 'sorted(calls, key=lambda e: -e["dur"])')),
        Mutant("any_category", "any-category", ('e["cat"] == "cuda_runtime" and ', "")),
        Mutant("name_contains_synchronize", "wrong-values", ('e["cat"] == "cuda_runtime" and e["name"] in WAITING_CALLS', '"Synchronize" in e["name"]')),
        Mutant("asynchronous_copies_too", "asynchronous-copies", ('e["name"] in WAITING_CALLS', 'e["name"].startswith(WAITING_CALLS)')),
        Mutant("copies_forgotten", "copies-forgotten", ("in WAITING_CALLS", "in WAITING_CALLS[:-1]")),
        Mutant("annotations_count_as_operators", "any-operator", ('e["cat"] == "cpu_op"', 'e["cat"] in ("cpu_op", "user_annotation")')),
        Mutant("time_of_the_operator", "time-of-the-operator", ('(outermost["name"], call["dur"])', '(outermost["name"], outermost["dur"])')),
        Mutant("only_inside_operators", "only-in-operators", ('        found.append((outermost["name"], call["dur"]))', '        if around:\n            found.append((outermost["name"], call["dur"]))')),
        Mutant("launches_too", "launches-too", (' and e["name"] in WAITING_CALLS', "")),
        Mutant("name_of_the_call", "name-of-the-call", ('(outermost["name"], call["dur"])', '(call["name"], call["dur"])')),
        Mutant("milliseconds", "milliseconds", ('call["dur"]))', 'call["dur"] / 1e3))')),
        Mutant("end_never_compared", "end-never-compared", ('            and end <= e["ts"] + e["dur"]\n', "")),
        Mutant("order_of_the_ends", "order-of-the-ends", ('key=lambda e: e["ts"])', 'key=lambda e: e["ts"] + e["dur"])')),
        Mutant("earliest_start_whatever_its_end", "first-listed", ('max(around, key=lambda e: e["dur"], default=call)', 'min(around, key=lambda e: e["ts"], default=call)')),
        Mutant("each_operator_once", "once-each", ("    return found", "    return list(dict.fromkeys(found))")),
        Mutant("first_wait_only", "first-only", ("    return found", "    return found[:1]")),
        Mutant("sums_by_operator", "merged", ("    return found", "    total = {}\n    for name, waited in found:\n        total[name] = total.get(name, 0) + waited\n    return list(total.items())")),
        Mutant("first_operator_of_the_list", "first-listed", ('max(around, key=lambda e: e["dur"], default=call)', "around[0] if around else call")),
        Mutant("an_overlap_is_enough", "overlap", ('            and e["ts"] <= call["ts"]\n            and end <= e["ts"] + e["dur"]\n', '            and e["ts"] <= end\n            and call["ts"] <= e["ts"] + e["dur"]\n')),
        Mutant("shortest_first", "shortest-first", ('sorted(calls, key=lambda e: e["ts"])', 'sorted(calls, key=lambda e: e["dur"])')),
        Mutant("names_without_times", ("wrong-values", "wrong-type"), ("    return found", "    return [name for name, _ in found]")),
    ],
}

VARIANTS = {
    "bench_ms": [
        Variant("events", (TIMED, "        start, end = gpu.event(), gpu.event()\n        start.record()\n        fn()\n        end.record()\n        gpu.synchronize()\n        times.append(start.elapsed_time(end))\n")),
        Variant("wait_before_each_call_too", ("        start = gpu.clock()\n", "        gpu.synchronize()\n        start = gpu.clock()\n")),
        Variant("median_by_hand", (MEDIAN, "times.sort()\n    return (times[(rep - 1) // 2] + times[rep // 2]) / 2")),
        Variant("wait_after_each_warm_up_call", (WARM_UP, "    gpu.synchronize()\n    for _ in range(warmup):\n        fn()\n        gpu.synchronize()\n")),
        Variant("milliseconds_at_the_end", (" * 1e3)", ")"), (MEDIAN, "return 1000 * statistics.median(times)")),
    ],
    "intensity": [
        Variant("checked_the_other_way", ("bytes <= 0", "not bytes > 0")),
        Variant("as_floats", ("flops / bytes", "float(flops) / float(bytes)")),
        Variant("another_text", ('f"a kernel moves more than {bytes} bytes"', '"bytes must be positive"')),
    ],
    "roofline_ms": [
        Variant("units_folded", ("bytes / (peak_bw * 1e9) * 1e3", "bytes / peak_bw / 1e6")),
        Variant("by_intensity", ("return max(memory_ms, arithmetic_ms)", "return arithmetic_ms if flops * peak_bw * 1e9 > bytes * peak_flops * 1e12 else memory_ms")),
        Variant("max_of_a_list", ("max(memory_ms, arithmetic_ms)", "max([memory_ms, arithmetic_ms])")),
    ],
    "find_sync": [
        Variant("lists_instead_of_pairs", ('(outermost["name"], call["dur"])', '[outermost["name"], call["dur"]]')),
        Variant("earliest_start_is_outermost", ('max(around, key=lambda e: e["dur"], default=call)', 'min(around, key=lambda e: (e["ts"], -e["dur"]), default=call)')),
        Variant("sorted_first", ('    calls = [e for e in trace if', '    trace = sorted(trace, key=lambda e: e["ts"])\n    calls = [e for e in trace if'), ('sorted(calls, key=lambda e: e["ts"])', "calls")),
    ],
}
