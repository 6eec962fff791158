"""Mistakes of 67_short_calls with what is said of each, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("predict", "no-strides", "called-too")

MUTANTS = {
    "kind_of": [
        Mutant("no-shape", "{shape, x.stride -> stride}", seen="no-shape"),
        Mutant("number-of-elements", "kind += [x.{shape -> numel()}", seen="no-shape"),
        Mutant("number-of-rows", "kind += [{x.shape -> len(x)}", seen="no-shape"),
        Mutant("number-of-dimensions", "kind += [x.{shape -> dim()}", seen="no-shape"),
        Mutant("no-strides", "x.{stride(), x. -> }", seen="no-strides"),
        Mutant("first-stride", "shape, x.stride({ -> 0})", seen="no-strides"),
        Mutant("last-stride", "shape, x.stride({ -> -1})", seen="no-strides"),
        Mutant("contiguous-or-not", "shape, x.{stride -> is_contiguous}", seen="no-strides"),
        Mutant("no-dtype", "{dtype, x.device -> device}", seen="no-dtype"),
        Mutant("floating-or-not", "stride(), x.{dtype -> is_floating_point()}", seen="no-dtype"),
        Mutant("bytes-and-floating", "stride(), x.dtype{ -> .itemsize, x.is_floating_point()}", seen="no-dtype"),
        Mutant("bytes-of-an-element", "stride(), x.{dtype -> element_size()}", seen="no-dtype"),
        Mutant("no-device", "dtype, {x.device,  -> }", seen="no-device"),
        Mutant("no-alignment", "{, addresses[-1] % 16 == 0 -> }", seen="no-alignment"),
        Mutant("multiples-of-4", "addresses[-1] % {16 -> 4} ", seen="no-alignment"),
        Mutant("alignment-of-the-first", ", addresses[{-1 -> 0}", seen="first-tensor-only"),
        Mutant("one-flag-for-all", "{, addresses[-1] % 16 == 0 -> }",
            "{ ->     kind.append(all(address % 16 == 0 for address in addresses))\n}    return tuple",
            seen="alignment-of-all-together"),
        Mutant("twins-of-the-last",
            "{if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address in addresses -> kind += "
            "[addresses.index(address) for address in addresses[-1:]}",
            seen="twins-counted"),
        Mutant("twins-to-come",
            "{if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address in addresses -> kind += [a in addresses[i + 1 :] "
            "for i, a in enumerate(addresses)}",
            seen="twins-counted"),
        Mutant("three-types", "{else -> elif isinstance(x, (int, float, str))}:", seen=("no-numbers", "no-types")),
        Mutant("but-none", "{else -> elif x is not None}:", seen="none-left-out"),
        Mutant("text-of-numbers", "{ += [type(x), x] -> .append(str(x))}", seen="no-types"),
        Mutant("identity-of-numbers", "= [type(x), {x -> id(x)}]", seen="identity-of-numbers"),
        Mutant("gradients", "dtype, x.{ -> requires_grad, x.}device", seen="gradients-count"),
        Mutant("type-of-tensors", "), x.dtype, { -> type(x), }x.", seen="gradients-count"),
        Mutant("multiples-of-4-elements", "{addresses[-1] % 16 -> x.storage_offset() % 4}",
            seen=("no-alignment", "offset-for-address")),
        Mutant("multiples-of-16-elements", " {addresses[-1] -> x.storage_offset()}", seen="another-multiple-of-16"),
        Mutant("offset-in-bytes", " {addresses[-1] -> x.storage_offset() * x.element_size()}",
            seen="offset-for-address"),
        Mutant("remainder", "[-1] % 16{ == 0 -> }", seen="remainder-counts"),
        Mutant("leaves", "dtype, x.{ -> is_leaf, x.}device", seen="gradients-count"),
        Mutant("multiples-of-an-element", "addresses[-1] % {16 -> (4 * x.element_size())} ", seen="no-alignment"),
        Mutant("whole-or-not", "kind += [type(x){ ->  is int},", seen="no-types"),
        Mutant("false-left-out", "{else -> elif x}:", seen="false-values-left-out"),
        Mutant("two-arguments", "for x in args{ -> [:2]}:", seen="first-arguments-only"),
        Mutant("size-of-numbers", "= [type(x), { -> abs(x) if isinstance(x, int) else }x]", seen="no-numbers"),
        Mutant("multiples-of-8", "addresses[-1] % {16 -> 8} ", seen="no-alignment"),
        Mutant("remainder-by-32", "[-1] % {16 == 0 -> 32}", seen=("another-multiple-of-16", "where-tensors-lie")),
        Mutant("the-address", "[-1]{ % 16 == 0 -> }", seen="where-tensors-lie"),
        Mutant("quotient", "[-1] {% 16 == 0 -> // 16}", seen="where-tensors-lie"),
        Mutant("the-tensor", "{ += [x.shape, x.stride(), x.dtype, x.device, addresses[-1] % 16 == 0] -> .append(x)}",
            seen="where-tensors-lie"),
        Mutant("version", "device, { -> x._version, }addresses[", seen="where-tensors-lie"),
        Mutant("no-parameters", "{isinstance(x, torch.Tensor) -> type(x) is torch.Tensor}",
            seen=("gradients-count", "where-tensors-lie", "raised")),
        Mutant("identity", "{addresses[-1] % 16 == 0 -> id(x)}", seen="where-tensors-lie"),
        Mutant("storage", "dtype, x.{device -> untyped_storage().data_ptr()}", seen="where-tensors-lie"),
        Mutant("no-type", "{ += [type(x), x] -> .append(x)}", seen="no-types"),
        Mutant("type-alone", "{ += [type(x), x] -> .append(type(x))}", seen="no-numbers"),
        Mutant("whole-numbers-alone", "{else -> elif isinstance(x, int)}:", seen="no-numbers"),
        Mutant("numbers-alone", "{else -> elif isinstance(x, (int, float))}:", seen="no-numbers"),
        Mutant("hash-of-numbers", "= [type(x), {x -> hash(x)}]", seen="no-numbers"),
        Mutant("true-or-not", "kind += [{type(x) -> x is True}", seen="no-types"),
        Mutant("three-arguments", "for x in args{ -> [:3]}:", seen="no-numbers"),
        Mutant("numbers-left-out", "{kind += [type(x), x] -> pass}", seen="no-numbers"),
        Mutant("first-argument-alone", "for x in args{ -> [:1]}:", seen="first-tensor-only"),
        Mutant("no-twins",
            "{    if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address in addresses]\n"
            " -> }",
            seen="no-twins"),
        Mutant("no-addresses", "{            addresses.append(x.data_ptr())\n -> }", " {addresses[-1] -> x.data_ptr()}",
            seen="no-twins"),
        Mutant("twins-by-identity", "append({x.data_ptr( -> id(x}", " {addresses[-1] -> x.data_ptr()}", seen="no-twins"),
        Mutant("twins-by-storage", "append(x.{ -> untyped_storage().}data_ptr", " {addresses[-1] -> x.data_ptr()}",
            seen="parts-are-twins"),
        Mutant("twins-of-the-first",
            "{if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address -> kind += [a == addresses[0] for a}",
            seen="twins-counted"),
        Mutant("twins-side-by-side",
            "{if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address in addresses -> kind += [a == b for a, b in "
            "zip(addresses, addresses[1:])}",
            seen="twins-counted"),
        Mutant("neighbours-are-twins", "(x.data_ptr(){ ->  // 16})", " {addresses[-1] -> x.data_ptr()}",
            seen="parts-are-twins"),
        Mutant("twins-of-one-dtype", "append({x.data_ptr( -> (x.data_ptr(), x.dtype}",
            " {addresses[-1] -> x.data_ptr()}", seen="no-twins"),
        Mutant("twins-of-the-first-or-side-by-side",
            "{if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address in addresses -> kind += [a == addresses[0] for a "
            "in addresses] + [a == b for a, b in zip(addresses, addresses[1:])}",
            seen="twins-counted"),
        Mutant("three-are-compared",
            "{if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address in addresses -> kind += [addresses[:1] == "
            "addresses[1:2], addresses[:1] == addresses[2:3], addresses[1:2] == addresses[2:3]}",
            seen="twins-counted"),
        Mutant("a-set", "return {tuple -> frozenset}(kind", seen=("order-lost", "first-tensor-only")),
        Mutant("twins-sorted",
            "{if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address in addresses] -> kind += "
            "sorted(addresses.index(address) for address in addresses)}",
            seen="twins-counted"),
        Mutant("a-generator",
            "{if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address in addresses] -> "
            "kind.append(addresses.index(address) for address in addresses)}",
            seen="where-tensors-lie"),
        Mutant("how-often",
            "{if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address -> kind += [addresses.count(a) for a}",
            seen="twins-counted"),
        Mutant("how-many-differ",
            "{if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address in addresses] -> "
            "kind.append(len(set(addresses)))}",
            seen="twins-counted"),
        Mutant("some-are-one",
            "{if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address in addresses] -> kind.append(len(set(addresses)) "
            "< len(addresses))}",
            seen="twins-counted"),
        Mutant("addresses-of-twins", "{[addresses.index(address) for address in addresses] -> addresses}",
            seen="where-tensors-lie"),
        Mutant("in-order-of-memory",
            "{if len(set(addresses)) < len(addresses):\n        kind += [addresses -> kind += [sorted(addresses)}",
            seen="where-tensors-lie"),
        Mutant("list-begun-anew-by-numbers", "kind {+ -> }= [type(", seen="nothing-of-the-tensor"),
        Mutant("sorted-by-text", "return tuple({kind -> sorted(map(str, kind))})", seen="order-lost"),
        Mutant("tensors-first", "{kind += [type(x), x] -> addresses.append((type(x), x))}",
            "{ -> kind += [a for a in addresses if isinstance(a, tuple)]\n"
            "    addresses = [a for a in addresses if not isinstance(a, tuple)]\n"
            "    }if len(set(addresses",
            seen="order-lost"),
        Mutant("list-begun-anew", "kind {+ -> }= [x.shape", seen="arguments-before-lost"),
        Mutant("list-begun-anew-at-the-end", "kind {+ -> }= [addresses", seen="arguments-before-lost"),
        Mutant("without-order", "return {tuple(kind -> frozenset(map(str, kind)}", seen=("order-lost", "no-numbers")),
        Mutant("a-list", "return {tuple(kind) -> kind}", seen="raised"),
    ],
    "replayed": [
        Mutant("always-recorded", "{kind not in kept -> True}", seen="never-replayed"),
        Mutant("nothing-kept", "result, {kept[kind] -> recording} ", seen=("never-replayed", "raised")),
        Mutant("first-tensors",
            (
                "    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first\n",
                "    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first\n"
                "    first = {}\n",
            ),
            "{[x for x in args if isinstance(x, torch.Tensor)] -> list(first.setdefault(kind, [x for x in args if "
            "isinstance(x, torch.Tensor)]))}",
            "{ -> first[kind] = [x for x in args if isinstance(x, torch.Tensor)]\n            }result, kept[kind",
            seen="first-tensors-again"),
        Mutant("made-once",
            (
                "    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first\n",
                "    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first\n"
                "    made = {}\n",
            ),
            "{[new.make() for new in recording.new] -> made.setdefault(kind, [new.make() for new in recording.new])}",
            seen="one-memory-for-all-results"),
        Mutant("use-does-not-count", "{        kept.move_to_end(kind)\n -> }", seen="recorded-longest-ago"),
        Mutant("latest-goes", "popitem({last=False -> }", seen="latest-goes"),
        Mutant("cleared", "{popitem(last=False -> clear(}", seen="everything-goes"),
        Mutant("cleared-before", "{            if len(kept) > most:\n                kept.popitem(last=False)\n -> }",
            "{ ->             if len(kept) >= most:\n                kept.clear()\n}            result", seen="all-go"),
        Mutant("one-too-many", "(kept) > most{ ->  + 1}:", seen="one-too-many"),
        Mutant("one-too-few", "len(kept) >{ -> =} most", seen="one-too-few"),
        Mutant("never-forgets", "{            if len(kept) > most:\n                kept.popitem(last=False)\n -> }",
            seen="none-goes"),
        Mutant("forgets-before-it-records",
            "{            if len(kept) > most:\n                kept.popitem(last=False)\n -> }",
            "{ ->             if len(kept) > most:\n                kept.popitem(last=False)\n}            result",
            seen="one-too-many"),
        Mutant("called-twice", "return {result -> fn(*args)}", seen="called-twice"),
        Mutant("none-is-returned", "return {fn(*args) -> None}", seen="nothing-returned"),
        Mutant("none-is-replayed", "{        if recording is None:\n            return fn(*args)\n -> }", seen="raised"),
        Mutant("last-tensor", "{recording.result(tensors) -> tensors[-1]}", seen="last-tensor-returned"),
        Mutant("first-tensor", "{recording.result(tensors) -> tensors[0]}", seen="argument-returned"),
        Mutant("all-tensors", "{recording.result(tensors) -> tensors}", seen="wrong-values"),
        Mutant("no-result", "{return recording -> recording}", seen="nothing-comes-back"),
        Mutant("goes-on", "{            return result\n -> }", seen="replayed-at-once"),
        Mutant("no-parameters", "{isinstance(x, torch.Tensor) -> type(x) is torch.Tensor}", seen="raised"),
        Mutant("no-gradients", "torch.Tensor){ ->  and not x.requires_grad}]", seen="raised"),
        Mutant("forgotten-after-an-error",
            "{return fn(*args) -> try:\n"
            "                return fn(*args)\n"
            "            except Exception:\n"
            "                del kept[kind]\n"
            "                raise}",
            seen="forgotten-after-an-error"),
        Mutant("another-is-used", "move_to_end({kind -> next(iter(kept))}", seen="another-counts-as-used"),
        Mutant("one-tensor-a-step", "step(tensors{ -> [0]})", seen="raised", on_gpu=("wrong-values",)),
        Mutant("a-tensor-for-each-step",
            "{step in recording.steps:\n            step(tensors -> x in tensors:\n            recording.steps[0](x}",
            seen="raised"),
        Mutant("nothing-new", "{tensors += [new.make() for new in recording.new] -> }", seen="raised"),
        Mutant("no-steps", "{        for step in recording.steps:\n            step(tensors)\n -> }",
            seen="wrong-values"),
        Mutant("first-step", "recording.steps{ -> [:1]}", seen="wrong-values"),
        Mutant("steps-backwards", "recording.steps{ -> [::-1]}", seen="wrong-values"),
        Mutant("new-ones-first",
            "{+= [new.make() for new in recording.new] -> = [new.make() for new in recording.new] + tensors}",
            seen="wrong-values"),
        Mutant("tensors-backwards", "for x in args{ -> [::-1]} ", seen="wrong-values"),
        Mutant("one-tensor",
            "{x for x in args if isinstance(x, torch.Tensor -> next(x for x in args if isinstance(x, torch.Tensor)}",
            seen=("raised", "wrong-values")),
        Mutant("each-tensor-once",
            "{[x for x in args if isinstance(x, torch.Tensor)] -> list(dict.fromkeys(x for x in args if "
            "isinstance(x, torch.Tensor)))}",
            seen="raised"),
        Mutant("copies-of-arguments", "tensors = [x{ -> .clone()} for", seen="copies-of-arguments"),
        Mutant("new-ones-like-the-argument", " += [{new.make( -> torch.empty_like(tensors[0]}", seen="wrong-values"),
        Mutant("new-ones-of-one-dtype", " += [{new.make( -> torch.empty(new.shape, device=tensors[0].device}",
            seen="wrong-values"),
        Mutant("hash-is-the-key", "{ -> kind = hash(kind)\n        }if kind not in", seen="numbers-do-not-count"),
        Mutant("tensors-are-the-key",
            "{ -> kind = kind_of([x for x in args if isinstance(x, torch.Tensor)])\n        }if kind not in",
            seen="numbers-do-not-count"),
        Mutant("none-counts-as-missing", "{kind not in kept -> kept.get(kind) is None}", seen="recorded-again"),
        Mutant("none-is-recorded-again", "return {fn(*args) -> record(fn, *args)[0]}", seen="recorded-again"),
        Mutant("use-of-none-does-not-count", "{        kept.move_to_end(kind)\n -> }",
            "{ ->         kept.move_to_end(kind)\n}        tensors =", seen="use-without-recording-does-not-count"),
        Mutant("recordings-alone-are-counted", "if {len(kept -> sum(each is not None for each in kept.values()}) >",
            seen="none-goes"),
        Mutant("room-before-it-records",
            "{            if len(kept) > most:\n                kept.popitem(last=False)\n -> }",
            "{ ->             if len(kept) >= most:\n                kept.popitem(last=False)\n}            result",
            seen="room-made-too-early"),
        Mutant("room-at-each-use",
            "{ ->         if len(kept) >= most:\n            kept.popitem(last=False)\n}        recording",
            seen=("one-too-few", "wrong-values")),
        Mutant("cleared-after-an-error",
            "{result, kept[kind] -> try:\n"
            "                result, recording = record(fn, *args)\n"
            "            except Exception:\n"
            "                kept.clear()\n"
            "                raise\n"
            "            kept[kind] = recording\n"
            "            #}",
            seen="cleared-after-an-error"),
        Mutant("swallows-errors",
            "{result, kept[kind] -> try:\n"
            "                result, recording = record(fn, *args)\n"
            "            except Exception:\n"
            "                return None\n"
            "            kept[kind] = recording\n"
            "            #}",
            seen="swallowed"),
        Mutant("full-means-full",
            "{kept[kind] = record(fn, *args) -> recording = record(fn, *args)\n"
            "            if len(kept) < most:\n"
            "                kept[kind] = recording}",
            "{            if len(kept) > most:\n                kept.popitem(last=False)\n -> }", seen="latest-goes"),
        Mutant("called-too", "{ ->         if kept[kind] is not None:\n            fn(*args)\n}        recording",
            seen="called-and-replayed"),
        Mutant("none-dropped", "{ -> del kept[kind]\n            }return fn(*args", seen="none-dropped"),
        Mutant("a-step-for-each-new-one",
            "{tensors += [new.make() for new in recording.new] -> for new, step in zip(recording.new, "
            "recording.steps):\n"
            "            tensors.append(new.make())\n"
            "            step(tensors)}",
            "{        for step in recording.steps:\n            step(tensors)\n -> }",
            seen=("argument-returned", "wrong-values")),
        Mutant("two-at-most", "(kept) > {most -> 2}:", seen="one-too-few"),
        Mutant("contiguous-tensors", "tensors = [x{ -> .contiguous()} for", seen="copies-of-arguments"),
        Mutant("new-ones-without-strides",
            " += [{new.make( -> torch.zeros(new.shape, dtype=new.dtype, device=tensors[0].device}", seen="wrong-values"),
        Mutant("each-step-twice", "{ ->             step(tensors)\n}        return recording", seen="steps-twice"),
        Mutant("nothing-new-nothing-replayed", "recording is None{ ->  or not recording.new}:",
            seen=("never-replayed", "wrong-values")),
        Mutant("called-before", "result{ ->  = fn(*args)\n            _}, kept[kind",
            seen="called-before-it-was-recorded"),
        Mutant("first-result",
            (
                "    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first\n",
                "    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first\n"
                "    results = {}\n",
            ),
            "record(fn, *args){ -> \n            results[kind] = result}",
            "{recording.result(tensors) -> results[kind]}", seen="first-tensors-again"),
        Mutant("all-arguments", "{[x for x in args if isinstance(x, torch.Tensor)] -> list(args)}", seen="raised"),
        Mutant("kept-too-early", "{ -> kept[kind] = None\n            }result, kept[kind",
            seen="kept-before-it-was-recorded"),
        Mutant("one-dictionary", "{ -> kept = OrderedDict()\n\n\n}def replayed(fn",
            ("    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first\n", ""),
            seen="one-dictionary-for-all"),
        Mutant("arguments-in-one-tuple", "record(fn, {* -> }args", seen="raised"),
        Mutant("result-and-recording-exchanged", "{result, kept[kind] -> kept[kind], result}",
            seen=("raised", "wrong-values")),
    ],
}

VARIANTS = {
    "kind_of": [
        Variant("always-which-are-one", "{if len(set(addresses)) < len(addresses):\n         -> }"),
        Variant("two-tuples", "return tuple(kind){ -> , len(addresses)}"),
        Variant("alike-in-pairs",
            "{if len(set(addresses)) < len(addresses):\n"
            "        kind += [addresses.index(address) for address -> kind += [a == b for a in addresses for b}"),
    ],
    "replayed": [
        Variant("a-class",
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
"""),
        Variant("taken-out-and-put-back",
            "{kept.move_to_end(kind)\n        recording = kept[kind] -> recording = kept[kind] = kept.pop(kind)}"),
        Variant("while-there-is-no-room", "{if -> while} len(kept) >"),
        Variant("plain-dictionary", ("OrderedDict()", "{}"), "kept{.move_to_end -> [kind] = kept.pop}",
            "{kept.popitem(last=False) -> del kept[next(iter(kept))]}"),
    ],
}

EQUIVALENT = {
    "kind_of": {
        "kind += [x.shape, x.stride(), x.dtype, x.device, addresses[-1] % 16 == 0] => kind += [x.shape, x.stride(), x.dtype, x.device, addresses[-1] % 16 != 0]": "tells the same calls apart",
        "if len(set(addresses)) < len(addresses): => if True:": "0, 1, 2 for tensors that differ tells no more than nothing",
        "if len(set(addresses)) < len(addresses): => if len(set(addresses)) <= len(addresses):": "the same: there are never more",
    }
}
