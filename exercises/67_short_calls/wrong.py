"""Mistakes of 67_short_calls with what is said of each, and right ones of other form."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("predict", "no-strides", "called-too")

# Sentences that several mistakes share.
SAYS = {
    "no-shape": "Two tensors of different shapes have one kind. Each size counts.",
    "no-strides":
        "Two tensors of one shape have one kind, though their strides differ, as those of a matrix and its transpose. "
        "Each stride counts.",
    "no-dtype": "Two tensors of different dtypes have one kind.",
    "no-alignment":
        "A tensor whose address is a multiple of 16 has the kind of one whose address is not. Kernels that load 16 "
        "bytes at once fail on the second.",
    "first-tensor-only":
        "Something of the first tensor alone counts, or the order is lost: a set has none. All of every argument has "
        "to count, in its place.",
    "twins-counted": "It is known that some tensors begin at one address, and not which: any two of them may.",
    "no-numbers":
        "Calls with other values that are no tensors have one kind. A number may be compiled in. (Hashes of -1 and -2 "
        "are equal.)",
    "no-types":
        "Two values of different types have one kind. 1, 1.0 and True are equal for Python, and 1 has the text of "
        '"1". Put the type beside the value.',
    "gradients-count":
        "A tensor that asks for a gradient, or a parameter, has a kind of its own. It launches the same.",
    "another-multiple-of-16":
        "A tensor 16 bytes further in memory has another kind. Of its address in bytes, `x.data_ptr()`, it counts "
        "whether it is a multiple of 16, and nothing else.",
    "where-tensors-lie":
        "Two calls with tensors in other memory have two kinds. Is there something in the tuple that is new in each "
        "call: an address as it is, which one is lower, the tensor itself or what it holds, a generator, a method "
        "without its brackets? Of an address it counts whether it is a multiple of 16.",
    "no-twins":
        "f(x, x) has the kind of f(x, y), or f(x, a view of x) has. Add which tensors begin at the same address, "
        "whatever their shapes and dtypes.",
    "parts-are-twins": "Two parts of one tensor count as one. They share a storage, and begin at two addresses.",
    "order-lost": "The order of the arguments is lost, or how often one comes.",
    "arguments-before-lost": "What was in the list before is lost. Add to it: `kind += [...]`.",
    "never-replayed":
        "The function was called again for a kind that had come before. (Or is there something in `kind_of` that is "
        "new in each call?)",
    "first-tensors-again": "Later calls give what the first one gave: their own tensors are not used.",
    "latest-goes":
        "Where there is no room, the newest kind is not kept. The one used longest ago goes: `popitem(last=False)`.",
    "one-too-many": "One kind more than `most` is kept.",
    "one-too-few": "One kind less than `most` is kept.",
    "none-goes": "Kinds stay that should have gone. At most `most` are kept, those with None among them.",
    "argument-returned":
        "The argument comes back as it was. Take every step, also where nothing is new, and return "
        "`recording.result(tensors)`.",
    "copies-of-arguments":
        "Copies of arguments went to the steps, whose elements lie side by side: the launch was recorded for the "
        "strides of the arguments. Hand on the tensors themselves.",
    "numbers-do-not-count":
        "Two calls with other numbers shared a recording. Is `kind` the key, as `kind_of` made it of all arguments? "
        "(Hashes of -1 and -2 are equal.)",
    "recorded-again":
        "What cannot be recorded was recorded again, which takes long. None is kept as well: then call the function "
        "itself.",
}

MUTANTS = {
    "kind_of": [
        Mutant("no-shape", "{shape, x.stride -> stride}", says="no-shape"),
        Mutant("number-of-elements", "kind += [x.{shape -> numel()}", says="no-shape"),
        Mutant("number-of-rows", "kind += [{x.shape -> len(x)}", says="no-shape"),
        Mutant("number-of-dimensions", "kind += [x.{shape -> dim()}", says="no-shape"),
        Mutant("no-strides", "x.{stride(), x. -> }", says="no-strides"),
        Mutant("first-stride", "shape, x.stride({ -> 0})", says="no-strides"),
        Mutant("last-stride", "shape, x.stride({ -> -1})", says="no-strides"),
        Mutant("contiguous-or-not", "shape, x.{stride -> is_contiguous}", says="no-strides"),
        Mutant("no-dtype", "{dtype, x.device -> device}", says="no-dtype"),
        Mutant("floating-or-not", "stride(), x.{dtype -> is_floating_point()}", says="no-dtype"),
        Mutant("bytes-and-floating", "stride(), x.dtype{ -> .itemsize, x.is_floating_point()}", says="no-dtype"),
        Mutant("bytes-of-an-element", "stride(), x.{dtype -> element_size()}", says="no-dtype"),
        Mutant("no-device", "dtype, {x.device,  -> }", says="Two tensors on different devices have one kind."),
        Mutant("no-alignment", "{, addresses[-1] % 16 == 0 -> }", says="no-alignment"),
        Mutant("multiples-of-4", "addresses[-1] % {16 -> 4} ", says="no-alignment"),
        Mutant("alignment-of-the-first", ", addresses[{-1 -> 0}", says="first-tensor-only"),
        Mutant("one-flag-for-all", "{, addresses[-1] % 16 == 0 -> }",
            "{ ->     kind.append(all(address % 16 == 0 for address in addresses))\n}    return tuple",
            says="It is known whether some tensor lies at a multiple of 16, and not which. Each tensor has a place of "
                "its own in the tuple."),
        Mutant("twins-of-the-last",
            "{if len(set(addresses)) < len(addresses): … kind += [addresses.index(address) for address in addresses "
            "-> kind += [addresses.index(address) for address in addresses[-1:]}", says="twins-counted"),
        Mutant("twins-to-come",
            "{if len(set(addresses)) < len(addresses): … kind += [addresses.index(address) for address in addresses "
            "-> kind += [a in addresses[i + 1 :] for i, a in enumerate(addresses)}", says="twins-counted"),
        Mutant("three-types", "{else -> elif isinstance(x, (int, float, str))}:", says="no-numbers", seen="no-types"),
        Mutant("but-none", "{else -> elif x is not None}:",
            says="None leaves nothing in the tuple. It has a place in it, as every argument."),
        Mutant("text-of-numbers", "{ += [type(x), x] -> .append(str(x))}", says="no-types"),
        Mutant("identity-of-numbers", "= [type(x), {x -> id(x)}]",
            says="1e-5 and another 1e-5 have two kinds. The value counts, not where Python keeps it."),
        Mutant("gradients", "dtype, x.{ -> requires_grad, x.}device", says="gradients-count"),
        Mutant("type-of-tensors", "), x.dtype, { -> type(x), }x.", says="gradients-count"),
        Mutant("multiples-of-4-elements", "{addresses[-1] % 16 -> x.storage_offset() % 4}",
            says="no-alignment", seen="offset-in-bytes"),
        Mutant("multiples-of-16-elements", " {addresses[-1] -> x.storage_offset()}", says="another-multiple-of-16"),
        Mutant("offset-in-bytes", " {addresses[-1] -> x.storage_offset() * x.element_size()}",
            says="A tensor 4 bytes behind a multiple of 16 has the kind of one that begins there. Its offset counts "
                "from the beginning of its memory, which may lie anywhere. Take the address, `x.data_ptr()`."),
        Mutant("remainder", "[-1] % 16{ == 0 -> }",
            says="Tensors that begin 4 and 8 bytes behind a multiple of 16 have two kinds. What remains does not "
                "count, only whether something does."),
        Mutant("leaves", "dtype, x.{ -> is_leaf, x.}device", says="gradients-count"),
        Mutant("multiples-of-an-element", "addresses[-1] % {16 -> (4 * x.element_size())} ", says="no-alignment"),
        Mutant("whole-or-not", "kind += [type(x){ ->  is int},", says="no-types"),
        Mutant("false-left-out", "{else -> elif x}:",
            says="An argument that counts as False, such as 0 or None, leaves nothing in the tuple."),
        Mutant("two-arguments", "for x in args{ -> [:2]}:",
            says="The first arguments alone count. All of them have to."),
        Mutant("size-of-numbers", "= [type(x), { -> abs(x) if isinstance(x, int) else }x]", says="no-numbers"),
        Mutant("multiples-of-8", "addresses[-1] % {16 -> 8} ", says="no-alignment"),
        Mutant("remainder-by-32", "[-1] % {16 == 0 -> 32}", says="another-multiple-of-16", seen="where-tensors-lie"),
        Mutant("the-address", "[-1]{ % 16 == 0 -> }", says="where-tensors-lie"),
        Mutant("quotient", "[-1] {% 16 == 0 -> // 16}", says="where-tensors-lie"),
        Mutant("the-tensor", "{ += [x.shape … addresses[-1] % 16 == 0] -> .append(x)}", says="where-tensors-lie"),
        Mutant("version", "device, { -> x._version, }addresses[", says="where-tensors-lie"),
        Mutant("no-parameters", "{isinstance(x, torch.Tensor) -> type(x) is torch.Tensor}",
            says="gradients-count", seen=("raised", "where-tensors-lie")),
        Mutant("identity", "{addresses[-1] % 16 == 0 -> id(x)}", says="where-tensors-lie"),
        Mutant("storage", "dtype, x.{device -> untyped_storage().data_ptr()}", says="where-tensors-lie"),
        Mutant("no-type", "{ += [type(x), x] -> .append(x)}", says="no-types"),
        Mutant("type-alone", "{ += [type(x), x] -> .append(type(x))}", says="no-numbers"),
        Mutant("whole-numbers-alone", "{else -> elif isinstance(x, int)}:", says="no-numbers"),
        Mutant("numbers-alone", "{else -> elif isinstance(x, (int, float))}:", says="no-numbers"),
        Mutant("hash-of-numbers", "= [type(x), {x -> hash(x)}]", says="no-numbers"),
        Mutant("true-or-not", "kind += [{type(x) -> x is True}", says="no-types"),
        Mutant("three-arguments", "for x in args{ -> [:3]}:", says="no-numbers"),
        Mutant("numbers-left-out", "{kind += [type(x), x] -> pass}", says="no-numbers"),
        Mutant("first-argument-alone", "for x in args{ -> [:1]}:", says="first-tensor-only"),
        Mutant("no-twins", "{    if len(set(addresses)) < len(addresses): … for address in addresses]\n -> }",
            says="no-twins"),
        Mutant("no-addresses", "{            addresses.append(x.data_ptr())\n -> }", " {addresses[-1] -> x.data_ptr()}",
            says="no-twins"),
        Mutant("twins-by-identity", "append({x.data_ptr( -> id(x}", " {addresses[-1] -> x.data_ptr()}",
            says="no-twins"),
        Mutant("twins-by-storage", "append(x.{ -> untyped_storage().}data_ptr", " {addresses[-1] -> x.data_ptr()}",
            says="parts-are-twins"),
        Mutant("twins-of-the-first", "{if len(set …  address -> kind += [a == addresses[0] for a}",
            says="twins-counted"),
        Mutant("twins-side-by-side",
            "{if len(set(addresses)) < len(addresses): … kind += [addresses.index(address) for address in addresses "
            "-> kind += [a == b for a, b in zip(addresses, addresses[1:])}", says="twins-counted"),
        Mutant("neighbours-are-twins", "(x.data_ptr(){ ->  // 16})", " {addresses[-1] -> x.data_ptr()}",
            says="parts-are-twins"),
        Mutant("twins-of-one-dtype", "append({x.data_ptr( -> (x.data_ptr(), x.dtype}",
            " {addresses[-1] -> x.data_ptr()}", says="no-twins"),
        Mutant("twins-of-the-first-or-side-by-side",
            "{if len(set …  addresses -> kind += [a == addresses[0] for a in addresses] + [a == b for a, b in "
            "zip(addresses, addresses[1:])}", says="twins-counted"),
        Mutant("three-are-compared",
            "{if len(set(addresses)) < len(addresses): … for address in addresses -> kind += [addresses[:1] == "
            "addresses[1:2], addresses[:1] == addresses[2:3], addresses[1:2] == addresses[2:3]}", says="twins-counted"),
        Mutant("a-set", "return {tuple -> frozenset}(kind", says="order-lost", seen="first-tensor-only"),
        Mutant("twins-sorted",
            "{if len(set(addresses)) < len(addresses): … kind += [addresses.index(address) for address in "
            "addresses] -> kind += sorted(addresses.index(address) for address in addresses)}", says="twins-counted"),
        Mutant("a-generator",
            "{if len(set(addresses)) < len(addresses): … kind += [addresses.index(address) for address in "
            "addresses] -> kind.append(addresses.index(address) for address in addresses)}", says="where-tensors-lie"),
        Mutant("how-often", "{if len(set …  address -> kind += [addresses.count(a) for a}", says="twins-counted"),
        Mutant("how-many-differ", "{if len(set … addresses] -> kind.append(len(set(addresses)))}",
            says="twins-counted"),
        Mutant("some-are-one",
            "{if len(set(addresses)) < len … in addresses] -> kind.append(len(set(addresses)) < len(addresses))}",
            says="twins-counted"),
        Mutant("addresses-of-twins", "{[addresses.index(address) for address in addresses] -> addresses}",
            says="where-tensors-lie"),
        Mutant("in-order-of-memory", "{if len(set … [addresses -> kind += [sorted(addresses)}",
            says="where-tensors-lie"),
        Mutant("list-begun-anew-by-numbers", "kind {+ -> }= [type(",
            says="A tensor of another shape, dtype and strides has the same kind. Does something of the tensor get "
                "into the tuple, and does it stay there? `kind += [...]` adds to a list, `kind = [...]` begins a new "
                "one."),
        Mutant("sorted-by-text", "return tuple({kind -> sorted(map(str, kind))})", says="order-lost"),
        Mutant("tensors-first", "{kind += [type(x), x] -> addresses.append((type(x), x))}",
            "{ -> kind += [a for a in addresses if isinstance(a, tuple)]\n"
            "    addresses = [a for a in addresses if not isinstance(a, tuple)]\n"
            "    }if len(set(addresses",
            says="order-lost"),
        Mutant("list-begun-anew", "kind {+ -> }= [x.shape", says="arguments-before-lost"),
        Mutant("list-begun-anew-at-the-end", "kind {+ -> }= [addresses", says="arguments-before-lost"),
        Mutant("without-order", "return {tuple(kind -> frozenset(map(str, kind)}",
            says="order-lost", seen="no-numbers"),
        Mutant("a-list", "return {tuple(kind) -> kind}", seen="raised"),
    ],
    "replayed": [
        Mutant("always-recorded", "{kind not in kept -> True}", says="never-replayed"),
        Mutant("nothing-kept", "result, {kept[kind] -> recording} ", says="never-replayed", seen="raised"),
        Mutant("first-tensors",
            "    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first\n"
            "{ ->     first = {}\n}",
            "{[x for x in args if isinstance(x, torch.Tensor)] -> list(first.setdefault(kind, [x for x in args if "
            "isinstance(x, torch.Tensor)]))}",
            "{ -> first[kind] = [x for x in args if isinstance(x, torch.Tensor)]\n            }result, kept[kind",
            says="first-tensors-again"),
        Mutant("made-once",
            "    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first\n"
            "{ ->     made = {}\n}",
            "{[new.make() for new in recording.new] -> made.setdefault(kind, [new.make() for new in recording.new])}",
            says="A later call has overwritten an earlier result. Make the new tensors in each call."),
        Mutant("use-does-not-count", "{        kept.move_to_end(kind)\n -> }",
            says="The kind recorded longest ago went, though it had been used since. Is a kind made the last one when "
                "it is used?"),
        Mutant("latest-goes", "popitem({last=False -> }", says="latest-goes"),
        Mutant("cleared", "{popitem(last=False -> clear(}",
            says="Where one kind has to go, all went, the newest with them."),
        Mutant("cleared-before", "{            if len(kept) > most:\n                kept.popitem(last=False)\n -> }",
            "{ ->             if len(kept) >= most:\n                kept.clear()\n}            result",
            says="Where one kind has to go, all went."),
        Mutant("one-too-many", "(kept) > most{ ->  + 1}:", says="one-too-many"),
        Mutant("one-too-few", "len(kept) >{ -> =} most", says="one-too-few"),
        Mutant("never-forgets", "{            if len(kept) > most:\n                kept.popitem(last=False)\n -> }",
            says="none-goes"),
        Mutant("forgets-before-it-records",
            "{            if len(kept) > most:\n                kept.popitem(last=False)\n -> }",
            "{ ->             if len(kept) > most:\n                kept.popitem(last=False)\n}            result",
            says="one-too-many"),
        Mutant("called-twice", "return {result -> fn(*args)}",
            says="The function is called once more while it is recorded. `record` has called it, and returns its "
                "result."),
        Mutant("none-is-returned", "return {fn(*args) -> None}",
            says="Where the recording is None, nothing is returned. Call the function."),
        Mutant("none-is-replayed", "{        if recording is None:\n            return fn(*args)\n -> }", seen="raised"),
        Mutant("last-tensor", "{recording.result(tensors) -> tensors[-1]}",
            says="The last tensor is returned, not what the call returned: `recording.result(tensors)`."),
        Mutant("first-tensor", "{recording.result(tensors) -> tensors[0]}", says="argument-returned"),
        Mutant("all-tensors", "{recording.result(tensors) -> tensors}", seen="wrong-values"),
        Mutant("no-result", "{return recording -> recording}",
            says="A replay returns nothing. Return what `recording.result(tensors)` gives."),
        Mutant("goes-on", "{            return result\n -> }",
            says="The first call of a kind goes on after `record`, as if it were a later one. Return what `record` "
                "gave."),
        Mutant("no-parameters", "{isinstance(x, torch.Tensor) -> type(x) is torch.Tensor}", seen="raised"),
        Mutant("no-gradients", "torch.Tensor){ ->  and not x.requires_grad}]", seen="raised"),
        Mutant("forgotten-after-an-error",
            "{return fn(*args) -> try:\n"
            "                return fn(*args)\n"
            "            except Exception:\n"
            "                del kept[kind]\n"
            "                raise}",
            says="After an error the kind is recorded anew. What is kept stays as it was."),
        Mutant("another-is-used", "move_to_end({kind -> next(iter(kept))}",
            says="A kind that is used has to become the last one. Another one does."),
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
        Mutant("copies-of-arguments", "tensors = [x{ -> .clone()} for", says="copies-of-arguments"),
        Mutant("new-ones-like-the-argument", " += [{new.make( -> torch.empty_like(tensors[0]}", seen="wrong-values"),
        Mutant("new-ones-of-one-dtype", " += [{new.make( -> torch.empty(new.shape, device=tensors[0].device}",
            seen="wrong-values"),
        Mutant("hash-is-the-key", "{ -> kind = hash(kind)\n        }if kind not in", says="numbers-do-not-count"),
        Mutant("tensors-are-the-key",
            "{ -> kind = kind_of([x for x in args if isinstance(x, torch.Tensor)])\n        }if kind not in",
            says="numbers-do-not-count"),
        Mutant("none-counts-as-missing", "{kind not in kept -> kept.get(kind) is None}", says="recorded-again"),
        Mutant("none-is-recorded-again", "return {fn(*args) -> record(fn, *args)[0]}", says="recorded-again"),
        Mutant("use-of-none-does-not-count", "{        kept.move_to_end(kind)\n -> }",
            "{ ->         kept.move_to_end(kind)\n}        tensors =",
            says="A kind whose recording is None went, though it had been used since. Its use counts, too."),
        Mutant("recordings-alone-are-counted", "if {len(kept -> sum(each is not None for each in kept.values()}) >",
            says="none-goes"),
        Mutant("room-before-it-records",
            "{            if len(kept) > most:\n                kept.popitem(last=False)\n -> }",
            "{ ->             if len(kept) >= most:\n                kept.popitem(last=False)\n}            result",
            says="After an error another kind had gone. Make room after `record` has returned."),
        Mutant("room-at-each-use",
            "{ ->         if len(kept) >= most:\n            kept.popitem(last=False)\n}        recording",
            says="one-too-few", seen="wrong-values"),
        Mutant("cleared-after-an-error",
            "{result, kept[kind] -> try:\n"
            "                result, recording = record(fn, *args)\n"
            "            except Exception:\n"
            "                kept.clear()\n"
            "                raise\n"
            "            kept[kind] = recording\n"
            "            #}",
            says="After an error all kinds had gone. What is kept stays as it was."),
        Mutant("swallows-errors",
            "{result, kept[kind] -> try:\n"
            "                result, recording = record(fn, *args)\n"
            "            except Exception:\n"
            "                return None\n"
            "            kept[kind] = recording\n"
            "            #}",
            says="The function raised an error, and the call returned None. Let the error come out."),
        Mutant("full-means-full", "result, {kept[kind] -> recording}", "{> -> <} most:",
            "{.popitem(last=False) -> [kind] = recording}", says="latest-goes"),
        Mutant("called-too", "{ ->         if kept[kind] is not None:\n            fn(*args)\n}        recording",
            says="The function was called for a kind that had come before, and replayed as well. Replay it alone."),
        Mutant("none-dropped", "{ -> del kept[kind]\n            }return fn(*args",
            says="A kind whose recording is None is forgotten once it is used, and recorded again. It is kept as every "
                "other."),
        Mutant("a-step-for-each-new-one",
            "{tensors + … steps: -> for new, step in zip(recording.new, recording.steps):\n"
            "            tensors.append(new.make())}", says="argument-returned", seen="wrong-values"),
        Mutant("two-at-most", "(kept) > {most -> 2}:", says="one-too-few"),
        Mutant("contiguous-tensors", "tensors = [x{ -> .contiguous()} for", says="copies-of-arguments"),
        Mutant("new-ones-without-strides",
            " += [{new.make( -> torch.zeros(new.shape, dtype=new.dtype, device=tensors[0].device}", seen="wrong-values"),
        Mutant("each-step-twice", "{ ->             step(tensors)\n}        return recording",
            says="What the call launched was launched twice. Take each step once."),
        Mutant("nothing-new-nothing-replayed", "recording is None{ ->  or not recording.new}:",
            says="never-replayed", seen="wrong-values"),
        Mutant("called-before", "result{ ->  = fn(*args)\n            _}, kept[kind",
            says="The function is called once more before it is recorded. `record` calls it, and returns its result."),
        Mutant("first-result",
            "    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first\n"
            "{ ->     results = {}\n}", "record(fn, *args){ -> \n            results[kind] = result}",
            "{recording.result(tensors) -> results[kind]}", says="first-tensors-again"),
        Mutant("all-arguments", "{[x for x in args if isinstance(x, torch.Tensor)] -> list(args)}", seen="raised"),
        Mutant("kept-too-early", "{ -> kept[kind] = None\n            }result, kept[kind",
            says="After an error the kind counts as one that cannot be recorded. Keep nothing before `record` has "
                "returned."),
        Mutant("one-dictionary", "{ -> kept = OrderedDict()\n\n\n}def replayed(fn",
            ("    kept = OrderedDict()  # kind -> recording or None; the one used longest ago comes first\n", ""),
            says="Two replayed functions share their recordings. Each needs a dictionary of its own."),
        Mutant("arguments-in-one-tuple", "record(fn, {* -> }args", seen="raised"),
        Mutant("result-and-recording-exchanged", "{result, kept[kind] -> kept[kind], result}",
            seen=("raised", "wrong-values")),
    ],
}

VARIANTS = {
    "kind_of": [
        Variant("always-which-are-one", "{if len(set(addresses)) < len(addresses):\n         -> }"),
        Variant("two-tuples", "return tuple(kind){ -> , len(addresses)}"),
        Variant("alike-in-pairs", "{if len(set …  address -> kind += [a == b for a in addresses for b}"),
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
        Variant("taken-out-and-put-back", "{kept.move_to_end … kind] -> recording = kept[kind] = kept.pop(kind)}"),
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
