"""What the checks of 67_short_calls try: pairs of calls, stories of calls, and named mistakes."""

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


def confused(*changes):
    """The answer, wrong for these changes."""
    return lambda change: one_kind(change) != (change in changes)


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

LIES_WHERE = ("memory", "values", "a parameter", "memory, 16 bytes further")
LIES_WHERE += ("another twice", "three tensors")

KIND_MISTAKES = {
    "nothing-of-the-tensor": (
        confused("everything"),
        "A tensor of another shape, dtype and strides has the same kind. Does something of the "
        "tensor get into the tuple, and does it stay there? `kind += [...]` adds to a list, "
        "`kind = [...]` begins a new one.",
    ),
    "gradients-count": (
        confused("a parameter", "a result that asks"),
        "A tensor that asks for a gradient, or a parameter, has a kind of its own. It launches the "
        "same.",
    ),
    "another-multiple-of-16": (
        confused("memory, 16 bytes further"),
        "A tensor 16 bytes further in memory has another kind. Of its address in bytes, "
        "`x.data_ptr()`, it counts whether it is a multiple of 16, and nothing else.",
    ),
    "remainder-counts": (
        confused("memory, 4 or 8 bytes further"),
        "Tensors that begin 4 and 8 bytes behind a multiple of 16 have two kinds. What remains "
        "does not count, only whether something does.",
    ),
    "offset-for-address": (
        confused("memory of others"),
        "A tensor 4 bytes behind a multiple of 16 has the kind of one that begins there. Its "
        "offset counts from the beginning of its memory, which may lie anywhere. Take the address, "
        "`x.data_ptr()`.",
    ),
    "where-tensors-lie": (
        confused(*LIES_WHERE),
        "Two calls with tensors in other memory have two kinds. Is there something in the tuple "
        "that is new in each call: an address as it is, which one is lower, the tensor itself or "
        "what it holds, a generator, a method without its brackets? Of an address it counts "
        "whether it is a multiple of 16.",
    ),
    "no-shape": (
        confused("shape", "last size", "shape, as many elements"),
        "Two tensors of different shapes have one kind. Each size counts.",
    ),
    "no-strides": (
        confused("strides", "first stride", "last stride"),
        "Two tensors of one shape have one kind, though their strides differ, as those of a matrix "
        "and its transpose. Each stride counts.",
    ),
    "no-dtype": (
        confused("dtype", "size of a dtype", "dtype, both halves"),
        "Two tensors of different dtypes have one kind.",
    ),
    "no-device": (confused("device"), "Two tensors on different devices have one kind."),
    "no-alignment": (
        confused("memory, 4 bytes further", "memory, 8 bytes further", "halves, 8 bytes further"),
        "A tensor whose address is a multiple of 16 has the kind of one whose address is not. "
        "Kernels that load 16 bytes at once fail on the second.",
    ),
    "first-tensor-only": (
        confused("second tensor", "second tensor, 4 bytes further"),
        "Something of the first tensor alone counts, or the order is lost: a set has none. All of "
        "every argument has to count, in its place.",
    ),
    "alignment-of-all-together": (
        confused("which one lies 4 bytes further", "both 4 bytes further"),
        "It is known whether some tensor lies at a multiple of 16, and not which. Each tensor has "
        "a place of its own in the tuple.",
    ),
    "no-numbers": (
        confused("number", "float", "text", "-1 and -2", "1 and -1", "a dtype", "fourth argument"),
        "Calls with other values that are no tensors have one kind. A number may be compiled in. "
        "(Hashes of -1 and -2 are equal.)",
    ),
    "identity-of-numbers": (
        confused("the same float"),
        "1e-5 and another 1e-5 have two kinds. The value counts, not where Python keeps it.",
    ),
    "arguments-before-lost": (
        confused("number before a tensor", "one twice, of another shape"),
        "What was in the list before is lost. Add to it: `kind += [...]`.",
    ),
    "false-values-left-out": (
        confused("None", "0 or nothing"),
        "An argument that counts as False, such as 0 or None, leaves nothing in the tuple.",
    ),
    "no-types": (
        confused("1 and True", "1 and 1.0", "1.0 and True", "1 and its text", "None"),
        "Two values of different types have one kind. 1, 1.0 and True are equal for Python, and 1 "
        'has the text of "1". Put the type beside the value.',
    ),
    "no-twins": (
        confused("one tensor twice", "two views of one memory", "one memory, two dtypes"),
        "f(x, x) has the kind of f(x, y), or f(x, a view of x) has. Add which tensors begin at the "
        "same address, whatever their shapes and dtypes.",
    ),
    "parts-are-twins": (
        confused("two parts of one memory", "two neighbours, 4 bytes apart"),
        "Two parts of one tensor count as one. They share a storage, and begin at two addresses.",
    ),
    "twins-counted": (
        confused(
            "which one twice",
            "the first twice",
            "the second twice",
            "the first and the third",
            "the first two, or the outer ones",
            "two twice",
            "crossed pairs",
            "the second and the fourth",
            "the last two of two pairs",
        ),
        "It is known that some tensors begin at one address, and not which: any two of them may.",
    ),
    "first-arguments-only": (
        confused("one more", "fourth argument", "the second twice", "the first and the third"),
        "The first arguments alone count. All of them have to.",
    ),
    "none-left-out": (
        confused("None before or after"),
        "None leaves nothing in the tuple. It has a place in it, as every argument.",
    ),
    "order-lost": (
        confused("order", "before or after", "None before or after", "one more"),
        "The order of the arguments is lost, or how often one comes.",
    ),
}

# --- replayed

NO_RECORDING = ("never again", "fails again")


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
            if wrong == "numbers" and how == "numbers":
                letter = "A"
            x, recorded = 100.0 * step, known.get(letter)
            again = how in NO_RECORDING or recorded == "an error" or wrong == "never replayed"
            if recorded and again and wrong == "nothing":
                results.append(None)
                continue
            if not recorded or again:
                counts[number] += 1
                fails = {"fails at first": counts[number] == 1, "fails again": counts[number] == 2}
                if fails.get(how, how == "C fails" and letter == "C"):
                    results.append(None if wrong == "swallowed" else "failed")
                    if wrong == "forgotten" and recorded:
                        del known[letter]
                    if wrong == "cleared":
                        known.clear()
                    if wrong == "kept too early":
                        known[letter] = "an error"
                    if wrong == "room too early" and len(known) >= most:
                        known.popitem(last=False)
                    continue
            if not recorded:
                first = counts[number]
                counts[number] += wrong in ("called twice", "called before")
                # which of the two runs was recorded, and which gave the result
                recorded = (first if wrong == "called twice" else counts[number]), x
                known[letter] = recorded
                forget(known, letter, most + room, forgets)
                shown = first if wrong == "called before" else counts[number]
                found = values(
                    how, x, shown, recorded=wrong not in ("called twice", "called before")
                )
                if wrong == "at once" and again:
                    counts[number] += 1
                    found = values(how, x, counts[number])
                if wrong == "at once" and how == "in place":
                    found = [x + 2 * first]
            else:
                if forgets == "used" and not (again and wrong == "unused"):
                    known.move_to_end(next(iter(known)) if wrong == "another" else letter)
                if again:
                    found = values(how, x, counts[number], recorded=wrong == "recorded again")
                    if wrong == "dropped":
                        del known[letter]
                else:
                    stamp, first = recorded
                    counts[number] += wrong == "called too"
                    found = values(how, first if wrong == "first tensors" else x, stamp)
                    if wrong == "twice" and how == "in place":
                        found = [x + 2 * stamp]
                    if wrong == "copies" and how == "every second":
                        found = [x + stamp]
                    others = {"last tensor": found[-1:], "argument": [x], "no return": [None]}
                    found = others.get(wrong, found)
                    for place in places.setdefault((number, letter), []):
                        if wrong == "one memory":
                            results[place] = found[0]
                    places[number, letter].append(len(results))
            results += found
    return results


def values(how, x, stamp, recorded=False):
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

STORY_MISTAKES = {
    # before never-replayed: after an error the two are one
    "kept-before-it-was-recorded": (
        mistaken(wrong="kept too early"),
        "After an error the kind counts as one that cannot be recorded. Keep nothing before "
        "`record` has returned.",
    ),
    "forgotten-after-an-error": (
        mistaken(wrong="forgotten"),
        "After an error the kind is recorded anew. What is kept stays as it was.",
    ),
    "cleared-after-an-error": (
        mistaken(wrong="cleared"),
        "After an error all kinds had gone. What is kept stays as it was.",
    ),
    "swallowed": (
        mistaken(wrong="swallowed"),
        "The function raised an error, and the call returned None. Let the error come out.",
    ),
    "one-too-few": (mistaken(room=-1), "One kind less than `most` is kept."),
    "called-and-replayed": (
        mistaken(wrong="called too"),
        "The function was called for a kind that had come before, and replayed as well. Replay it "
        "alone.",
    ),
    "copies-of-arguments": (
        mistaken(wrong="copies"),
        "Copies of arguments went to the steps, whose elements lie side by side: the launch was "
        "recorded for the strides of the arguments. Hand on the tensors themselves.",
    ),
    "replayed-at-once": (
        mistaken(wrong="at once"),
        "The first call of a kind goes on after `record`, as if it were a later one. Return what "
        "`record` gave.",
    ),
    "nothing-comes-back": (
        mistaken(wrong="no return"),
        "A replay returns nothing. Return what `recording.result(tensors)` gives.",
    ),
    "steps-twice": (
        mistaken(wrong="twice"),
        "What the call launched was launched twice. Take each step once.",
    ),
    "never-replayed": (
        mistaken(wrong="never replayed"),
        "The function was called again for a kind that had come before. (Or is there something in "
        "`kind_of` that is new in each call?)",
    ),
    "first-tensors-again": (
        mistaken(wrong="first tensors"),
        "Later calls give what the first one gave: their own tensors are not used.",
    ),
    "one-memory-for-all-results": (
        mistaken(wrong="one memory"),
        "A later call has overwritten an earlier result. Make the new tensors in each call.",
    ),
    "use-without-recording-does-not-count": (
        mistaken(wrong="unused"),
        "A kind whose recording is None went, though it had been used since. Its use counts, too.",
    ),
    "none-dropped": (
        mistaken(wrong="dropped"),
        "A kind whose recording is None is forgotten once it is used, and recorded again. It is "
        "kept as every other.",
    ),
    "recorded-longest-ago": (
        mistaken(forgets="recorded"),
        "The kind recorded longest ago went, though it had been used since. Is a kind made the "
        "last one when it is used?",
    ),
    "another-counts-as-used": (
        mistaken(wrong="another"),
        "A kind that is used has to become the last one. Another one does.",
    ),
    "latest-goes": (
        mistaken(forgets="latest"),
        "Where there is no room, the newest kind is not kept. The one used longest ago goes: "
        "`popitem(last=False)`.",
    ),
    "all-go": (mistaken(forgets="all"), "Where one kind has to go, all went."),
    "everything-goes": (
        mistaken(forgets="everything"),
        "Where one kind has to go, all went, the newest with them.",
    ),
    "one-too-many": (mistaken(room=1), "One kind more than `most` is kept."),
    "none-goes": (
        mistaken(room=99),
        "Kinds stay that should have gone. At most `most` are kept, those with None among them.",
    ),
    "called-twice": (
        mistaken(wrong="called twice"),
        "The function is called once more while it is recorded. `record` has called it, and "
        "returns its result.",
    ),
    "called-before-it-was-recorded": (
        mistaken(wrong="called before"),
        "The function is called once more before it is recorded. `record` calls it, and returns "
        "its result.",
    ),
    "recorded-again": (
        mistaken(wrong="recorded again"),
        "What cannot be recorded was recorded again, which takes long. None is kept as well: then "
        "call the function itself.",
    ),
    "room-made-too-early": (
        mistaken(wrong="room too early"),
        "After an error another kind had gone. Make room after `record` has returned.",
    ),
    "numbers-do-not-count": (
        mistaken(wrong="numbers"),
        "Two calls with other numbers shared a recording. Is `kind` the key, as `kind_of` made it "
        "of all arguments? (Hashes of -1 and -2 are equal.)",
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
        "The argument comes back as it was. Take every step, also where nothing is new, and return "
        "`recording.result(tensors)`.",
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
