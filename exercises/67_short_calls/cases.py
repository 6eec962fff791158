"""What the checks of 67_short_calls try: pairs of calls, stories of calls, and named mistakes."""

from collections import OrderedDict

from tritonbook.checking import Check, case

# --- kind_of

SAME = {
    "memory",
    "values",
    "memory, 16 bytes further",
    "another twice",
    "three tensors",
    "nothing",
}


def one_kind(change):
    return change in SAME


def confused(*changes):
    """The answer, wrong for these changes."""
    return lambda change: one_kind(change) != (change in changes)


def changed(note, change):
    return case(note, change=change)


KINDS = [
    changed("other memory: one kind", "memory"),
    changed("other values: one kind", "values"),
    changed("another shape", "shape"),
    changed("another shape, as many elements, the same strides", "shape, as many elements"),
    changed("other strides", "strides"),
    changed("another last stride", "last stride"),
    changed("another dtype", "dtype"),
    changed("another device", "device"),
    changed("4 bytes further in memory", "memory, 4 bytes further"),
    changed("16 bytes further: one kind", "memory, 16 bytes further"),
    changed("another shape of the second tensor", "second tensor"),
    changed("another number", "number"),
    changed("another number before a tensor", "number before a tensor"),
    changed("1 and True", "type of a number"),
    changed("numbers in another order", "order"),
    changed("a number more", "one more"),
    changed("f(x, y) and f(x, x)", "one tensor twice"),
    changed("f(x, x) and f(y, y): one kind", "another twice"),
    changed("f(x, x) and f(y, y), y of another shape", "one twice, of another shape"),
    changed("f(x, y, x) and f(x, y, y)", "which one twice"),
    changed("f(x, y, z) and f(z, x, y): one kind", "three tensors"),
]

HIDDEN_KINDS = [
    changed("2.0 and 2", "type of a number, the other way"),
    changed("None and 0", "None"),
    changed("f(x, 3, y, y) and f(x, 3, y, z)", "a number between"),
    changed("no arguments: one kind", "nothing"),
]

LIES_WHERE = ("memory", "values", "memory, 16 bytes further", "another twice", "three tensors")

KIND_MISTAKES = {
    "where-tensors-lie": (
        confused(*LIES_WHERE),
        "Two calls with tensors in other memory have two kinds. Is an address in the tuple as it "
        "is, or the tensor itself? Of an address the remainder by 16 counts.",
    ),
    "no-shape": (
        confused("shape", "shape, as many elements"),
        "The shape of a tensor is not in the tuple.",
    ),
    "no-strides": (
        confused("strides", "last stride"),
        "Two tensors of one shape have one kind, though their strides differ: a matrix and its "
        "transpose, or every second column of another. Each stride counts.",
    ),
    "no-dtype": (confused("dtype"), "float32 and int32 have one kind. The dtype is missing."),
    "no-device": (confused("device"), "The device of a tensor is not in the tuple."),
    "no-alignment": (
        confused("memory, 4 bytes further"),
        "A tensor whose address is a multiple of 16 has the kind of one whose address is not. "
        "Kernels that load 16 bytes at once fail on the second.",
    ),
    "first-tensor-only": (
        confused("second tensor"),
        "Only the first tensor's shape counts. Every argument has to.",
    ),
    "no-numbers": (
        confused("number", "order", "one more"),
        "Calls with other numbers have one kind. A number may be compiled in.",
    ),
    "arguments-before-lost": (
        confused("number before a tensor", "one twice, of another shape"),
        "What was in the list before is lost. Add to it: `kind += [...]`.",
    ),
    "no-types": (
        confused("type of a number"),
        "1 and True have one kind: they are equal for Python. Put the type beside the value.",
    ),
    "order-lost": (confused("order"), "The order of the arguments is lost."),
    "no-twins": (
        confused("one tensor twice"),
        "f(x, x) has the kind of f(x, y). Add which tensors begin at the same address.",
    ),
    "twins-counted": (
        confused("which one twice"),
        "f(x, y, x) has the kind of f(x, y, y): it is known that two tensors are one, and not "
        "which.",
    ),
}

# --- replayed


def follow(how, order, most, forgets="used", room=0, wrong=""):
    """What a story tells, or would tell with a mistake.

    forgets: which kind goes for a new one: that "used" longest ago, that "recorded" longest ago,
    the "latest", "all" others or "everything". room: how many more than `most` are kept. wrong:
    what else is.
    """
    starts = [0, 50] if how == "two functions" else [0]
    counts, results, places = list(starts), [], {}
    kept = [OrderedDict() for _ in starts]
    if wrong == "one dictionary":
        kept = [kept[0] for _ in starts]
    for step, letter in enumerate(order, 1):
        for number, known in enumerate(kept):
            x, recorded = 100.0 * step, known.get(letter)
            again = how == "never again" or recorded == "an error" or wrong == "never replayed"
            if recorded and again and wrong == "nothing":
                results.append(None)
                continue
            if not recorded or again:
                counts[number] += 1
                if how == "fails at first" and counts[number] == 1:
                    results.append("failed")
                    if wrong == "kept too early":
                        known[letter] = "an error"
                    continue
            if not recorded:
                recorded = known[letter] = counts[number], x
                counts[number] += wrong == "called twice"
                forget(known, letter, most + room, forgets)
                found = values(how, x, counts[number])
            else:
                if forgets == "used":
                    known.move_to_end(letter)
                if again:
                    found = values(how, x, counts[number])
                else:
                    stamp, first = recorded
                    found = values(how, first if wrong == "first tensors" else x, stamp)
                    found = {"last tensor": found[-1:], "argument": [x]}.get(wrong, found)
                    for place in places.setdefault((number, letter), []):
                        if wrong == "one memory":
                            results[place] = found[0]
                    places[number, letter].append(len(results))
            results += found
    return results


def values(how, x, stamp):
    """What the function of a story gives."""
    if how in ("two launches", "a copy between"):
        return [x + stamp + 10]
    return [x + stamp, x, x + 10] if how == "three results" else [x + stamp]


def forget(known, letter, room, forgets):
    """Drop a kind where there is no room, in one of the ways of `follow`."""
    if len(known) <= room:
        return
    if forgets in ("all", "everything"):
        latest = known[letter]
        known.clear()
        if forgets == "all":
            known[letter] = latest
    else:
        known.popitem(last=forgets == "latest")


def mistaken(**how_wrong):
    return lambda how, order, most: follow(how, order, most, **how_wrong)


def calls(note, order, most=64, how="adds"):
    return case(note, how=how, order=order, most=most)


STORIES = [
    calls("two functions", "ABAB", how="two functions"),
    calls("three calls of one kind", "AAA"),
    calls("two kinds by turns", "ABABA"),
    calls("two launches a call", "AAB", how="two launches"),
    calls("a launch, a copy, a launch", "AA", how="a copy between"),
    calls("three results, an argument among them", "AA", how="three results"),
    calls("what cannot be recorded", "AAA", how="never again"),
    calls("room for two kinds", "ABACCBDBA", most=2),
    calls("room for three", "ABCDABCDD", most=3),
    calls("an error in the first call", "AAA", how="fails at first"),
]

HIDDEN_STORIES = [
    calls("room for one kind", "ABBAAB", most=1),
    calls("four kinds, room for three", "ABCADBACD", most=3),
    calls("five kinds", "ABCDEEDCBA", how="two launches"),
    calls("two functions, room for two", "ABCABC", most=2, how="two functions"),
    calls("three results of two kinds", "ABAB", how="three results"),
]

STORY_MISTAKES = {
    # before never-replayed: after an error the two are one
    "kept-before-it-was-recorded": (
        mistaken(wrong="kept too early"),
        "After an error the kind counts as one that cannot be recorded. Keep nothing before "
        "`record` has returned.",
    ),
    "never-replayed": (
        mistaken(wrong="never replayed"),
        "The function itself is called each time. A kind that is kept must not call it.",
    ),
    "first-tensors-again": (
        mistaken(wrong="first tensors"),
        "Later calls compute with the tensors of the first one. Give the steps those of this call.",
    ),
    "one-memory-for-all-results": (
        mistaken(wrong="one memory"),
        "A later call has overwritten an earlier result. Make the new tensors in each call.",
    ),
    "recorded-longest-ago": (
        mistaken(forgets="recorded"),
        "The kind recorded longest ago went, though it had been used since. Is a kind made the "
        "last one when it is used?",
    ),
    "latest-goes": (
        mistaken(forgets="latest"),
        "The newest kind went, not the one used longest ago: `popitem(last=False)`.",
    ),
    "all-go": (mistaken(forgets="all"), "Where one kind has to go, all went."),
    "everything-goes": (
        mistaken(forgets="everything"),
        "Where one kind has to go, all went, the newest with them.",
    ),
    "one-too-many": (mistaken(room=1), "One kind more than `most` is kept."),
    "one-too-few": (mistaken(room=-1), "One kind less than `most` is kept."),
    "none-goes": (mistaken(room=99), "No kind ever goes. At most `most` may be kept."),
    "called-twice": (
        mistaken(wrong="called twice"),
        "The function is called once more while it is recorded. `record` has called it, and "
        "returns its result.",
    ),
    "nothing-returned": (
        mistaken(wrong="nothing"),
        "Where the recording is None, nothing is returned. Call the function.",
    ),
    "last-tensor-returned": (
        mistaken(wrong="last tensor"),
        "The last tensor is returned, not what the call returned: `recording.result(tensors)`.",
    ),
    "argument-returned": (
        mistaken(wrong="argument"),
        "The argument is returned, not what the call returned: `recording.result(tensors)`.",
    ),
    "one-dictionary-for-all": (
        mistaken(wrong="one dictionary"),
        "Two replayed functions share their recordings. Each needs a dictionary of its own.",
    ),
}

CHECKS = {
    "kind_of": Check(
        one_kind,
        KINDS,
        HIDDEN_KINDS,
        through="kinds_compared",
        triton=False,
        mistakes=KIND_MISTAKES,
    ),
    "replayed": Check(
        follow,
        STORIES,
        HIDDEN_STORIES,
        through="replays_told",
        triton=False,
        mistakes=STORY_MISTAKES,
    ),
}
