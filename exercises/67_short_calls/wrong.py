"""Wrong answers of 67_short_calls with the diagnosis each must get, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

TENSOR = "kind += [x.shape, x.stride(), x.dtype, x.device, addresses[-1] % 16 == 0]"
OTHER = "kind += [type(x), x]"
ADDRESSES = "            addresses.append(x.data_ptr())\n"
TWINS = """    if len(set(addresses)) < len(addresses):
        kind += [addresses.index(address) for address in addresses]
"""

RECORD = "result, kept[kind] = record(fn, *args)"
ROOM = """            if len(kept) > most:
                kept.popitem(last=False)
"""
USED = "        kept.move_to_end(kind)\n"
NONE = """        if recording is None:
            return fn(*args)
"""
GIVEN = "tensors = [x for x in args if isinstance(x, torch.Tensor)]"
NEW = "tensors += [new.make() for new in recording.new]"
STEPS = """        for step in recording.steps:
            step(tensors)
"""
RESULT = "return recording.result(tensors)"
KEPT = "    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first\n"

FIRST = "        if kind not in kept:\n"
BODY = f"""{FIRST}            {RECORD}
{ROOM}            return result
{USED}        recording = kept[kind]
{NONE}        {GIVEN}
        {NEW}
{STEPS}        {RESULT}
"""


def in_tensor(old, new=""):
    """The line of a tensor with another entry."""
    return (TENSOR, TENSOR.replace(old, new))


MUTANTS = {
    "kind_of": [
        Mutant("no_shape", "no-shape", in_tensor("x.shape, ")),
        Mutant("number_of_elements", "no-shape", in_tensor("x.shape", "x.numel()")),
        Mutant("number_of_rows", "no-shape", in_tensor("x.shape", "len(x)")),
        Mutant("number_of_dimensions", "no-shape", in_tensor("x.shape", "x.dim()")),
        Mutant("no_strides", "no-strides", in_tensor("x.stride(), ")),
        Mutant("first_stride", "no-strides", in_tensor("x.stride()", "x.stride(0)")),
        Mutant("last_stride", "no-strides", in_tensor("x.stride()", "x.stride(-1)")),
        Mutant("contiguous_or_not", "no-strides", in_tensor("x.stride()", "x.is_contiguous()")),
        Mutant("no_dtype", "no-dtype", in_tensor("x.dtype, ")),
        Mutant("floating_or_not", "no-dtype", in_tensor("x.dtype", "x.is_floating_point()")),
        Mutant("bytes_and_floating", "no-dtype", in_tensor("x.dtype", "x.dtype.itemsize, x.is_floating_point()")),
        Mutant("bytes_of_an_element", "no-dtype", in_tensor("x.dtype", "x.element_size()")),
        Mutant("no_device", "no-device", in_tensor("x.device, ")),
        Mutant("no_alignment", "no-alignment", in_tensor(", addresses[-1] % 16 == 0")),
        Mutant("multiples_of_4", "no-alignment", in_tensor("% 16", "% 4")),
        Mutant("alignment_of_the_first", "first-tensor-only", in_tensor("addresses[-1]", "addresses[0]")),
        Mutant("one_flag_for_all", "alignment-of-all-together", in_tensor(", addresses[-1] % 16 == 0"), (TWINS, TWINS + "    kind.append(all(address % 16 == 0 for address in addresses))\n")),
        Mutant("twins_of_the_last", "twins-counted", (TWINS, "    kind += [addresses.index(address) for address in addresses[-1:]]\n")),
        Mutant("twins_to_come", "twins-counted", (TWINS, "    kind += [a in addresses[i + 1 :] for i, a in enumerate(addresses)]\n")),
        Mutant("three_types", ("no-numbers", "no-types"), ("else:", "elif isinstance(x, (int, float, str)):")),
        Mutant("but_none", "none-left-out", ("else:", "elif x is not None:")),
        Mutant("text_of_numbers", "no-types", (OTHER, "kind.append(str(x))")),
        Mutant("identity_of_numbers", "identity-of-numbers", (OTHER, "kind += [type(x), id(x)]")),
        Mutant("gradients", "gradients-count", in_tensor("x.dtype", "x.dtype, x.requires_grad")),
        Mutant("type_of_tensors", "gradients-count", in_tensor("x.dtype", "x.dtype, type(x)")),
        Mutant("multiples_of_4_elements", ("no-alignment", "offset-for-address"), in_tensor("x.device, addresses[-1] % 16 == 0", "x.device, x.storage_offset() % 4 == 0")),
        Mutant("multiples_of_16_elements", "another-multiple-of-16", in_tensor("addresses[-1] % 16 == 0", "x.storage_offset() % 16 == 0")),
        Mutant("offset_in_bytes", "offset-for-address", in_tensor("addresses[-1] % 16 == 0", "x.storage_offset() * x.element_size() % 16 == 0")),
        Mutant("remainder", "remainder-counts", in_tensor("% 16 == 0", "% 16")),
        Mutant("leaves", "gradients-count", in_tensor("x.dtype", "x.dtype, x.is_leaf")),
        Mutant("multiples_of_an_element", "no-alignment", in_tensor("% 16", "% (4 * x.element_size())")),
        Mutant("whole_or_not", "no-types", (OTHER, "kind += [type(x) is int, x]")),
        Mutant("false_left_out", "false-values-left-out", ("else:", "elif x:")),
        Mutant("two_arguments", "first-arguments-only", ("for x in args:", "for x in args[:2]:")),
        Mutant("size_of_numbers", "no-numbers", (OTHER, "kind += [type(x), abs(x) if isinstance(x, int) else x]")),
        Mutant("multiples_of_8", "no-alignment", in_tensor("% 16", "% 8")),
        Mutant("remainder_by_32", ("another-multiple-of-16", "where-tensors-lie"), in_tensor("% 16 == 0", "% 32")),
        Mutant("the_address", "where-tensors-lie", in_tensor(" % 16 == 0")),
        Mutant("quotient", "where-tensors-lie", in_tensor("% 16 == 0", "// 16")),
        Mutant("the_tensor", "where-tensors-lie", (TENSOR, "kind.append(x)")),
        Mutant("version", "where-tensors-lie", in_tensor("x.device", "x.device, x._version")),
        Mutant("no_parameters", ("gradients-count", "where-tensors-lie", "raised"), ("isinstance(x, torch.Tensor)", "type(x) is torch.Tensor")),
        Mutant("identity", "where-tensors-lie", in_tensor("addresses[-1] % 16 == 0", "id(x)")),
        Mutant("storage", "where-tensors-lie", in_tensor("x.device", "x.untyped_storage().data_ptr()")),
        Mutant("no_type", "no-types", (OTHER, "kind.append(x)")),
        Mutant("type_alone", "no-numbers", (OTHER, "kind.append(type(x))")),
        Mutant("whole_numbers_alone", "no-numbers", ("else:", "elif isinstance(x, int):")),
        Mutant("numbers_alone", "no-numbers", ("else:", "elif isinstance(x, (int, float)):")),
        Mutant("hash_of_numbers", "no-numbers", (OTHER, "kind += [type(x), hash(x)]")),
        Mutant("true_or_not", "no-types", (OTHER, "kind += [x is True, x]")),
        Mutant("three_arguments", "no-numbers", ("for x in args:", "for x in args[:3]:")),
        Mutant("numbers_left_out", "no-numbers", (OTHER, "pass")),
        Mutant("first_argument_alone", "first-tensor-only", ("for x in args:", "for x in args[:1]:")),
        Mutant("no_twins", "no-twins", (TWINS, "")),
        Mutant("no_addresses", "no-twins", (ADDRESSES, ""), in_tensor("addresses[-1]", "x.data_ptr()")),
        Mutant("twins_by_identity", "no-twins", (ADDRESSES, "            addresses.append(id(x))\n"), in_tensor("addresses[-1]", "x.data_ptr()")),
        Mutant("twins_by_storage", "parts-are-twins", (ADDRESSES, "            addresses.append(x.untyped_storage().data_ptr())\n"), in_tensor("addresses[-1]", "x.data_ptr()")),
        Mutant("twins_of_the_first", "twins-counted", (TWINS, "    kind += [a == addresses[0] for a in addresses]\n")),
        Mutant("twins_side_by_side", "twins-counted", (TWINS, "    kind += [a == b for a, b in zip(addresses, addresses[1:])]\n")),
        Mutant("neighbours_are_twins", "parts-are-twins", (ADDRESSES, "            addresses.append(x.data_ptr() // 16)\n"), in_tensor("addresses[-1]", "x.data_ptr()")),
        Mutant("twins_of_one_dtype", "no-twins", (ADDRESSES, "            addresses.append((x.data_ptr(), x.dtype))\n"), in_tensor("addresses[-1]", "x.data_ptr()")),
        Mutant("twins_of_the_first_or_side_by_side", "twins-counted", (TWINS, "    kind += [a == addresses[0] for a in addresses] + [a == b for a, b in zip(addresses, addresses[1:])]\n")),
        Mutant("three_are_compared", "twins-counted", (TWINS, "    kind += [addresses[:1] == addresses[1:2], addresses[:1] == addresses[2:3], addresses[1:2] == addresses[2:3]]\n")),
        Mutant("a_set", ("order-lost", "first-tensor-only"), ("return tuple(kind)", "return frozenset(kind)")),
        Mutant("twins_sorted", "twins-counted", (TWINS, "    kind += sorted(addresses.index(address) for address in addresses)\n")),
        Mutant("a_generator", "where-tensors-lie", (TWINS, "    kind.append(addresses.index(address) for address in addresses)\n")),
        Mutant("how_often", "twins-counted", (TWINS, "    kind += [addresses.count(a) for a in addresses]\n")),
        Mutant("how_many_differ", "twins-counted", (TWINS, "    kind.append(len(set(addresses)))\n")),
        Mutant("some_are_one", "twins-counted", (TWINS, "    kind.append(len(set(addresses)) < len(addresses))\n")),
        Mutant("addresses_of_twins", "where-tensors-lie", ("kind += [addresses.index(address) for address in addresses]", "kind += addresses")),
        Mutant("in_order_of_memory", "where-tensors-lie", (TWINS, "    kind += [sorted(addresses).index(address) for address in addresses]\n")),
        Mutant("list_begun_anew_by_numbers", "nothing-of-the-tensor", ("kind += [type", "kind = [type")),
        Mutant("sorted_by_text", "order-lost", ("return tuple(kind)", "return tuple(sorted(map(str, kind)))")),
        Mutant("tensors_first", "order-lost", (OTHER, "addresses.append((type(x), x))"), (TWINS, "    kind += [a for a in addresses if isinstance(a, tuple)]\n    addresses = [a for a in addresses if not isinstance(a, tuple)]\n" + TWINS)),
        Mutant("list_begun_anew", "arguments-before-lost", ("kind += [x.shape", "kind = [x.shape")),
        Mutant("list_begun_anew_at_the_end", "arguments-before-lost", ("kind += [addresses", "kind = [addresses")),
        Mutant("without_order", ("order-lost", "no-numbers"), ("return tuple(kind)", "return frozenset(map(str, kind))")),
        Mutant("a_list", "raised", ("return tuple(kind)", "return kind")),
    ],
    "replayed": [
        Mutant("always_recorded", "never-replayed", ("if kind not in kept:", "if True:")),
        Mutant("nothing_kept", ("never-replayed", "raised"), ("result, kept[kind] = record", "result, recording = record")),
        Mutant("first_tensors", "first-tensors-again", (KEPT, f"{KEPT}    first = {{}}\n"), (GIVEN, "tensors = list(first.setdefault(kind, [x for x in args if isinstance(x, torch.Tensor)]))"), (RECORD, f"first[kind] = [x for x in args if isinstance(x, torch.Tensor)]\n            {RECORD}")),
        Mutant("made_once", "one-memory-for-all-results", (KEPT, f"{KEPT}    made = {{}}\n"), (NEW, "tensors += made.setdefault(kind, [new.make() for new in recording.new])")),
        Mutant("use_does_not_count", "recorded-longest-ago", (USED, "")),
        Mutant("latest_goes", "latest-goes", ("popitem(last=False)", "popitem()")),
        Mutant("cleared", "everything-goes", ("kept.popitem(last=False)", "kept.clear()")),
        Mutant("cleared_before", "all-go", (ROOM, ""), (FIRST, f"{FIRST}            if len(kept) >= most:\n                kept.clear()\n")),
        Mutant("one_too_many", "one-too-many", ("if len(kept) > most:", "if len(kept) > most + 1:")),
        Mutant("one_too_few", "one-too-few", ("if len(kept) > most:", "if len(kept) >= most:")),
        Mutant("never_forgets", "none-goes", (ROOM, "")),
        Mutant("forgets_before_it_records", "one-too-many", (ROOM, ""), (FIRST, f"{FIRST}            if len(kept) > most:\n                kept.popitem(last=False)\n")),
        Mutant("called_twice", "called-twice", ("            return result\n", "            return fn(*args)\n")),
        Mutant("none_is_returned", "nothing-returned", ("            return fn(*args)\n", "            return None\n")),
        Mutant("none_is_replayed", "raised", (NONE, "")),
        Mutant("last_tensor", "last-tensor-returned", (RESULT, "return tensors[-1]")),
        Mutant("first_tensor", "argument-returned", (RESULT, "return tensors[0]")),
        Mutant("all_tensors", "wrong-values", (RESULT, "return tensors")),
        Mutant("no_result", "nothing-comes-back", (RESULT, "recording.result(tensors)")),
        Mutant("goes_on", "replayed-at-once", ("            return result\n", "")),
        Mutant("no_parameters", "raised", (GIVEN, "tensors = [x for x in args if type(x) is torch.Tensor]")),
        Mutant("no_gradients", "raised", (GIVEN, "tensors = [x for x in args if isinstance(x, torch.Tensor) and not x.requires_grad]")),
        Mutant("forgotten_after_an_error", "forgotten-after-an-error", ("            return fn(*args)\n", "            try:\n                return fn(*args)\n            except Exception:\n                del kept[kind]\n                raise\n")),
        Mutant("another_is_used", "another-counts-as-used", (USED, "        kept.move_to_end(next(iter(kept)))\n")),
        Mutant("one_tensor_a_step", "raised", ("            step(tensors)\n", "            step(tensors[0])\n"), on_gpu=("wrong-values",)),
        Mutant("a_tensor_for_each_step", "raised", (STEPS, "        for x in tensors:\n            recording.steps[0](x)\n")),
        Mutant("nothing_new", "raised", (NEW, "")),
        Mutant("no_steps", "wrong-values", (STEPS, "")),
        Mutant("first_step", "wrong-values", ("in recording.steps:", "in recording.steps[:1]:")),
        Mutant("steps_backwards", "wrong-values", ("in recording.steps:", "in recording.steps[::-1]:")),
        Mutant("new_ones_first", "wrong-values", (NEW, "tensors = [new.make() for new in recording.new] + tensors")),
        Mutant("tensors_backwards", "wrong-values", (GIVEN, "tensors = [x for x in args[::-1] if isinstance(x, torch.Tensor)]")),
        Mutant("one_tensor", ("raised", "wrong-values"), (GIVEN, "tensors = [next(x for x in args if isinstance(x, torch.Tensor))]")),
        Mutant("each_tensor_once", "raised", (GIVEN, "tensors = list(dict.fromkeys(x for x in args if isinstance(x, torch.Tensor)))")),
        Mutant("copies_of_arguments", "copies-of-arguments", (GIVEN, "tensors = [x.clone() for x in args if isinstance(x, torch.Tensor)]")),
        Mutant("new_ones_like_the_argument", "wrong-values", ("new.make()", "torch.empty_like(tensors[0])")),
        Mutant("new_ones_of_one_dtype", "wrong-values", ("new.make()", "torch.empty(new.shape, device=tensors[0].device)")),
        Mutant("hash_is_the_key", "numbers-do-not-count", (FIRST, f"        kind = hash(kind)\n{FIRST}")),
        Mutant("tensors_are_the_key", "numbers-do-not-count", (FIRST, f"        kind = kind_of([x for x in args if isinstance(x, torch.Tensor)])\n{FIRST}")),
        Mutant("none_counts_as_missing", "recorded-again", (FIRST, "        if kept.get(kind) is None:\n")),
        Mutant("none_is_recorded_again", "recorded-again", ("            return fn(*args)\n", "            return record(fn, *args)[0]\n")),
        Mutant("use_of_none_does_not_count", "use-without-recording-does-not-count", (USED, ""), (NONE, f"{NONE}{USED}")),
        Mutant("recordings_alone_are_counted", "none-goes", ("len(kept) > most", "sum(each is not None for each in kept.values()) > most")),
        Mutant("room_before_it_records", "room-made-too-early", (ROOM, ""), (FIRST, f"{FIRST}            if len(kept) >= most:\n                kept.popitem(last=False)\n")),
        Mutant("room_at_each_use", ("one-too-few", "wrong-values"), (USED, f"{USED}        if len(kept) >= most:\n            kept.popitem(last=False)\n")),
        Mutant("cleared_after_an_error", "cleared-after-an-error", ("            result, kept[kind]", "            try:\n                result, recording = record(fn, *args)\n            except Exception:\n                kept.clear()\n                raise\n            kept[kind] = recording\n            #")),
        Mutant("swallows_errors", "swallowed", ("            result, kept[kind]", "            try:\n                result, recording = record(fn, *args)\n            except Exception:\n                return None\n            kept[kind] = recording\n            #")),
        Mutant("full_means_full", "latest-goes", (RECORD, "result, recording = record(fn, *args)\n            if len(kept) < most:\n                kept[kind] = recording"), (ROOM, "")),
        Mutant("called_too", "called-and-replayed", (USED, f"{USED}        if kept[kind] is not None:\n            fn(*args)\n")),
        Mutant("none_dropped", "none-dropped", ("            return fn(*args)\n", "            del kept[kind]\n            return fn(*args)\n")),
        Mutant("a_step_for_each_new_one", ("argument-returned", "wrong-values"), (NEW, "for new, step in zip(recording.new, recording.steps):\n            tensors.append(new.make())\n            step(tensors)"), (STEPS, "")),
        Mutant("two_at_most", "one-too-few", ("len(kept) > most", "len(kept) > 2")),
        Mutant("contiguous_tensors", "copies-of-arguments", (GIVEN, "tensors = [x.contiguous() for x in args if isinstance(x, torch.Tensor)]")),
        Mutant("new_ones_without_strides", "wrong-values", ("new.make()", "torch.zeros(new.shape, dtype=new.dtype, device=tensors[0].device)")),
        Mutant("each_step_twice", "steps-twice", ("            step(tensors)\n", "            step(tensors)\n            step(tensors)\n")),
        Mutant("nothing_new_nothing_replayed", ("never-replayed", "wrong-values"), ("if recording is None:", "if recording is None or not recording.new:")),
        Mutant("called_before", "called-before-it-was-recorded", (RECORD, "result = fn(*args)\n            _, kept[kind] = record(fn, *args)")),
        Mutant("first_result", "first-tensors-again", (KEPT, f"{KEPT}    results = {{}}\n"), (RECORD, f"{RECORD}\n            results[kind] = result"), (RESULT, "return results[kind]")),
        Mutant("all_arguments", "raised", (GIVEN, "tensors = list(args)")),
        Mutant("kept_too_early", "kept-before-it-was-recorded", (RECORD, f"kept[kind] = None\n            {RECORD}")),
        Mutant("one_dictionary", "one-dictionary-for-all", ("def replayed(fn, most=64):", "kept = OrderedDict()\n\n\ndef replayed(fn, most=64):"), (KEPT, "")),
        Mutant("arguments_in_one_tuple", "raised", ("record(fn, *args)", "record(fn, args)")),
        Mutant("result_and_recording_exchanged", ("raised", "wrong-values"), (RECORD, "kept[kind], result = record(fn, *args)")),
    ],
}

VARIANTS = {
    "kind_of": [
        Variant("always_which_are_one", (TWINS, "    kind += [addresses.index(address) for address in addresses]\n")),
        Variant("two_tuples", ("    return tuple(kind)", "    return tuple(kind), len(addresses)")),
        Variant("alike_in_pairs", (TWINS, "    kind += [a == b for a in addresses for b in addresses]\n")),
    ],
    "replayed": [
        Variant(
            "a_class",
            replace="""
from collections import OrderedDict

from tritonbook.seeing.calls import told


class replayed:
    def __init__(self, fn, most=64):
        self.fn, self.most, self.kept = fn, most, OrderedDict()

    def __call__(self, *args):
        kind = kind_of(args)
        if kind not in self.kept:
            result, self.kept[kind] = record(self.fn, *args)
            while len(self.kept) > self.most:
                self.kept.popitem(last=False)
            return result
        self.kept.move_to_end(kind)
        recording = self.kept[kind]
        if recording is None:
            return self.fn(*args)
        tensors = [*filter(torch.is_tensor, args), *(new.make() for new in recording.new)]
        for step in recording.steps:
            step(tensors)
        return recording.result(tensors)


def replays_told(how, order, most):
    return told(replayed, add, add_kernel, how, order, most)
""",
        ),
        Variant("taken_out_and_put_back", (f"{USED}        recording = kept[kind]\n", "        recording = kept[kind] = kept.pop(kind)\n")),
        Variant("while_there_is_no_room", ("if len(kept) > most:", "while len(kept) > most:")),
        Variant("plain_dictionary", ("OrderedDict()", "{}"), (USED, "        kept[kind] = kept.pop(kind)\n"), ("kept.popitem(last=False)", "del kept[next(iter(kept))]")),
    ],
}

EQUIVALENT = {
    "kind_of": {
        "kind += [x.shape, x.stride(), x.dtype, x.device, addresses[-1] % 16 == 0] => kind += [x.shape, x.stride(), x.dtype, x.device, addresses[-1] % 16 != 0]": "tells the same calls apart",
        "if len(set(addresses)) < len(addresses): => if True:": "0, 1, 2 for tensors that differ tells no more than nothing",
        "if len(set(addresses)) < len(addresses): => if len(set(addresses)) <= len(addresses):": "the same: there are never more",
    }
}
