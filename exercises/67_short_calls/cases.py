"""What the checks of 67_short_calls try: pairs of calls, and stories of calls."""

from collections import OrderedDict

from tritonbook.checking import Check, case

# --- kind_of

SAME = {
    "memory",
    "values",
    "a parameter",
    "a result that asks",
    "memory, 16 bytes further",
    "memory, 4 or 8 bytes further",
    "the same float",
    "another twice",
    "three tensors",
    "nothing",
}


def one_kind(change):
    return change in SAME


def changed(note, change):
    return case(note, change=change)


KINDS = [
    changed("a tensor that differs in everything", "everything"),
    changed("other memory: one kind", "memory"),
    changed("other values: one kind", "values"),
    changed("a parameter that asks for a gradient: one kind", "a parameter"),
    changed("a result that asks for a gradient: one kind", "a result that asks"),
    changed("another shape", "shape"),
    changed("another last size", "last size"),
    changed("another shape, as many elements, the same strides", "shape, as many elements"),
    changed("other strides", "strides"),
    changed("another first stride", "first stride"),
    changed("another last stride", "last stride"),
    changed("another dtype", "dtype"),
    changed("float32 and float16", "size of a dtype"),
    changed("float16 and bfloat16", "dtype, both halves"),
    changed("another device", "device"),
    changed("4 bytes further in memory", "memory, 4 bytes further"),
    changed("8 bytes further in memory", "memory, 8 bytes further"),
    changed("16 bytes further: one kind", "memory, 16 bytes further"),
    changed("4 or 8 bytes further: one kind", "memory, 4 or 8 bytes further"),
    changed("4 bytes further in memory that is not PyTorch's", "memory of others"),
    changed("a float16 tensor 8 bytes further", "halves, 8 bytes further"),
    changed("another shape of the second tensor", "second tensor"),
    changed("the second tensor 4 bytes further in memory", "second tensor, 4 bytes further"),
    changed("another number", "number"),
    changed("1e-5 and 1e-6", "float"),
    changed("1e-5, computed twice: one kind", "the same float"),
    changed("1 and -1", "1 and -1"),
    changed("another dtype as an argument", "a dtype"),
    changed("None and 0", "None"),
    changed("f(x, 0) and f(x)", "0 or nothing"),
    changed("another text", "text"),
    changed("-1 and -2", "-1 and -2"),
    changed("another number before a tensor", "number before a tensor"),
    changed("1 and True", "1 and True"),
    changed("1 and 1.0", "1 and 1.0"),
    changed("1.0 and True", "1.0 and True"),
    changed("1 and its text", "1 and its text"),
    changed("numbers in another order", "order"),
    changed("f(x, 2) and f(2, x)", "before or after"),
    changed("f(x, None, 2) and f(x, 2, None)", "None before or after"),
    changed("a number more", "one more"),
    changed("another fourth argument", "fourth argument"),
    changed("one of two tensors further, or the other", "which one lies 4 bytes further"),
    changed("one of two tensors further, or both", "both 4 bytes further"),
    changed("f(x, y) and f(x, x)", "one tensor twice"),
    changed("f(x, x) and f(y, y): one kind", "another twice"),
    changed("f(x, x) and f(y, y), y of another shape", "one twice, of another shape"),
    changed("f(x, y, x) and f(x, y, y)", "which one twice"),
    changed("f(x, x, y) and f(x, y, z)", "the first twice"),
    changed("f(x, x, y) and f(x, y, x)", "the first two, or the outer ones"),
    changed("f(x, y, y) and f(x, y, z)", "the second twice"),
    changed("f(x, y, x) and f(x, y, z)", "the first and the third"),
    changed("f(x, x, y, y) and f(x, y, x, y)", "two twice"),
    changed("f(x, y, z, y) and f(x, y, z, w)", "the second and the fourth"),
    changed("f(x, x, y, y) and f(x, x, y, z)", "the last two of two pairs"),
    changed("f(x, y, x, y) and f(x, y, y, x)", "crossed pairs"),
    changed("f(x, y) and f(x, a view of x)", "two views of one memory"),
    changed("f(x, x) and f(x, y), of another dtype", "one memory, two dtypes"),
    changed("one part of a tensor twice, or two parts", "two parts of one memory"),
    changed("one part twice, or two that begin 4 bytes apart", "two neighbours, 4 bytes apart"),
    changed("f(x, y, z) and f(z, x, y): one kind", "three tensors"),
]

HIDDEN_KINDS = [
    changed("f(x, y, y, z) and f(x, y, w, z)", "the middle ones of four"),
    changed("None and a dtype", "None and a dtype"),
    changed("a dtype and its name", "a dtype and its name"),
    changed("f(x, 3, y, y) and f(x, 3, y, z)", "a number between"),
    changed("no arguments: one kind", "nothing"),
]


# --- replayed

NO_RECORDING = ("never again", "fails again")


def follow(how, order, most):
    """What a story tells."""
    starts = [0, 50] if how == "two functions" else [0]
    counts, results = list(starts), []
    kept = [OrderedDict() for _ in starts]  # kind -> the count of the call that was recorded
    for step, letter in enumerate(order, 1):
        for number, known in enumerate(kept):
            new = letter not in known
            if new or how in NO_RECORDING:
                counts[number] += 1
                fails = {"fails at first": counts[number] == 1, "fails again": counts[number] == 2}
                if fails.get(how, how == "C fails" and letter == "C"):
                    results.append("failed")
                    continue
                known[letter] = counts[number]
            known.move_to_end(letter)
            if len(known) > most:
                known.popitem(last=False)
            results += values(how, 100.0 * step, known[letter], new)
    return results


def values(how, x, stamp, recorded):
    """What the function of a story gives, and what else is told of it."""
    if how in NO_RECORDING:
        return [x + stamp, "recorded" if recorded else "called"]
    return {
        "two launches": [x + stamp + 10],
        "a copy between": [x + stamp + 10],
        "three results": [x + stamp, x, x + 10],
        "two tensors": [x + stamp, 100 * x + stamp],
        "a weight": [x + stamp, 100 * x + stamp],
        "one tensor twice": [x + stamp, x + stamp],
        "another shape and dtype": [x + stamp, "torch.float16", [2, 3], [1, 2]],
        "every second": [x + 50 + stamp],
    }.get(how, [x + stamp])


def calls(note, order, most=64, how="adds"):
    return case(note, how=how, order=order, most=most)


STORIES = [
    calls("two functions", "ABAB", how="two functions"),
    calls("five calls of one kind", "AAAAA"),
    calls("two kinds by turns", "ABABA"),
    calls("another number, another kind", "ABAB", how="numbers"),
    calls("two launches a call", "AAB", how="two launches"),
    calls("two tensors", "AAB", how="two tensors"),
    calls("a tensor and a parameter", "AAB", how="a weight"),
    calls("one tensor twice", "AA", how="one tensor twice"),
    calls("a launch, a copy, a launch", "AA", how="a copy between"),
    calls("results of another shape, dtype, strides", "AAA", how="another shape and dtype"),
    calls("every second element of a tensor", "AA", how="every second"),
    calls("three results, an argument among them", "AA", how="three results"),
    calls("an argument that is changed and returned", "AAA", how="in place"),
    calls("what cannot be recorded", "AAA", how="never again"),
    calls("room for two kinds", "ABACCBDBA", most=2),
    calls("room for two kinds that cannot be recorded", "ABACCBDBA", most=2, how="never again"),
    calls("two kinds, and room for them", "ABAB", most=2),
    calls("three kinds, and room for them", "ABCABC", most=3),
    calls("room for three", "ABCDABCDD", most=3),
    calls("room for three, one of them in use", "ABCBDB", most=3),
    calls("an error in the first call", "AAA", how="fails at first"),
    calls("an error where there is no more room", "ABCAB", most=2, how="C fails"),
    calls("an error in a later call that is not replayed", "AAA", how="fails again"),
]

HIDDEN_STORIES = [
    calls("room for one kind", "ABBAAB", most=1),
    calls("four kinds, room for three", "ABCADBACD", most=3),
    calls("five kinds", "ABCDEEDCBA", how="two launches"),
    calls("two functions, room for two", "ABCABC", most=2, how="two functions"),
    calls("three results of two kinds", "ABAB", how="three results"),
    calls("many numbers, room for two", "ABCBA", most=2, how="numbers"),
]

CHECKS = {
    "kind_of": Check(one_kind, KINDS, HIDDEN_KINDS, through="kinds_compared", triton=False),
    "replayed": Check(follow, STORIES, HIDDEN_STORIES, through="replays_told", triton=False),
}
