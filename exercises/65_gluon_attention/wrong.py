"""Mistakes of 65_gluon_attention with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "score-zero m-starts-at-zero"
PROMISES = ("waits-for-the-phase-of-full", "both-at-once", "both-waits-before-the-softmax")

EARLY = ("early-read", "unwritten")
AGAIN = ("overwritten", "too-many-arrivals", "two-writers")


# Sentences that several mistakes share.
SAYS = {
    "tile-for-row": "Tiles are loaded from rows 0, 1, 2, ... and overlap. Tile t begins at row 128 * t.",
    "exp-for-exp2": "The exponents have log2(e) once too often. `scale` holds it, for powers of 2.",
}

MUTANTS = {
    "two_products": [
        Mutant("waits-for-the-phase-of-full", "slot), phase{ ^ 1 -> }", seen="deadlock"),
        Mutant("waits-for-the-copy-it-has-not-ordered", "mbarrier.wait({empty -> full}.",
            seen=("deadlock", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("orders-without-waiting", "{    mbarrier.wait(empty.index(slot), phase ^ 1)\n -> }", seen=AGAIN),
        Mutant("waits-after-the-order",
            "{wait(empty.index … tiles.index(slot)) -> expect(full.index(slot), desc.block_type.nbytes)\n"
            "    tma.async_copy_global_to_shared(desc, place, full.index(slot), tiles.index(slot))\n"
            "    mbarrier.wait(empty.index(slot), phase ^ 1)}", seen=AGAIN),
        Mutant("phase-never-changes", "SLOTS, {number // SLOTS % 2 -> 0}",
            seen=("deadlock", "phase-twice", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("phase-changes-with-every-tile", "SLOTS, number {// SLOTS  -> }% 2",
            seen=("deadlock", "phase-twice", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("phase-is-a-count", "SLOTS, number // SLOTS{ % 2 -> }", seen="phase"),
        Mutant("no-remainder", "number{ % SLOTS -> },", seen="outside"),
        Mutant("always-slot-0", " {number % SLOTS -> 0}",
            seen=("deadlock", "phase-twice", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("expects-no-bytes",
            "{expect(full.index(slot), desc.block_type.nbytes -> arrive(full.index(slot), count=1}",
            seen=("early-read", "unwritten", "deadlock", "too-many-arrivals")),
        Mutant("nothing-is-expected", "{    mbarrier.expect(full.index(slot), desc.block_type.nbytes)\n -> }",
            seen=("deadlock", "early-read", "unwritten")),
        Mutant("expects-both-tiles", "block_type.nbytes{ ->  * 2}", seen="deadlock"),
        Mutant("expects-at-empty", "mbarrier.expect({full -> empty}.",
            seen=("deadlock", "early-read", "unwritten", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("copy-ends-at-empty", ", place, {full -> empty}.",
            seen=("deadlock", "early-read", "unwritten", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("takes-without-waiting", "{mbarrier.wait(full … SLOTS % 2) -> pass}", seen=EARLY),
        Mutant("takes-the-phase-before", " // SLOTS % 2{ ->  ^ 1})", seen=("early-read", "unwritten", "phase-twice")),
        Mutant("takes-when-empty", "mbarrier.wait({full -> empty}.",
            seen=("deadlock", "early-read", "unwritten", "phase-twice")),
        Mutant("takes-from-phase-0", " {number // SLOTS % 2 -> 0})",
            seen=("deadlock", "phase-twice", "early-read", "unwritten")),
        Mutant("takes-the-next-tile", "{number % SLOTS), number -> (number + 1) % SLOTS), (number + 1)}",
            seen=("deadlock", "early-read", "unwritten", "phase-twice")),
        Mutant("never-releases", "{mbarrier.arrive … count=1) -> pass}", seen="deadlock"),
        Mutant("releases-full", ".arrive({empty -> full}.",
            seen=("deadlock", "too-many-arrivals", "early-read", "unwritten")),
        Mutant("releases-for-both", "[0]), count={1 -> 2})",
            seen=("deadlock", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("releases-the-next-slot", "empty.index({number -> (number + 1)} % ",
            seen=("deadlock", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("from-the-first-tile-on", "{(steps - 1 - step) -> step}", seen="property"),
        Mutant("one-tile-too-far", " (steps - {1 -  -> }",
            says="Rows 0 to 127 are never loaded, and zeros from beyond the last row are. Step 0 wants tile steps - 1."),
        Mutant("tile-for-row", "{(steps - 1 - step) * 128 -> steps - 1 - step}", says="tile-for-row"),
        Mutant("same-rows", "steps - 1{ - step -> }", says="The last tile is loaded in every step."),
        Mutant("rows-too-close", "- step) * {128 -> 64},",
            says="Each tile begins 64 rows after the one before it. A tile of keys or values has 128."),
        Mutant("heads-not-shared", " head{ // share -> }",
            says="Query heads 0 to share - 1 have head 0 of K and V, the next ones head 1: here each one has a head of "
                "its own number."),
        Mutant("heads-by-remainder", "batch, head {// -> %} ",
            says="Query heads 0 to share - 1 have head 0 of K and V, the next ones head 1: here it is the remainder."),
        Mutant("one-batch", "place = [{batch -> 0}", says="Each batch gets the keys and values of batch 0."),
        Mutant("batch-for-head", "{batch, head // share -> head // share, batch}",
            says="Batch and head are exchanged: a place is [batch, head, row, 0]."),
        Mutant("head-times-share", "batch, head {// -> *} ", seen="zeros"),
        Mutant("rows-by-slots", "- step) * {128 -> ring[0].shape[0]},", says="tile-for-row"),
        Mutant("expects-before-it-waits",
            "{wait(empty.index … desc.block_type.nbytes -> expect(full.index(slot), desc.block_type.nbytes)\n"
            "    mbarrier.wait(empty.index(slot), phase ^ 1}", seen="too-many-arrivals"),
        Mutant("arrives-and-expects",
            "{ -> mbarrier.arrive(full.index(slot), count=1)\n    }tma.async_copy_global_to_shared",
            seen="too-many-arrivals"),
        Mutant("the-loader-releases", ".index(slot))\n{ ->     mbarrier.arrive(empty.index(slot), count=1)\n}",
            seen=("early-read", "unwritten", "overwritten")),
        Mutant("waits-for-its-own-copy", ".index(slot))\n{ ->     mbarrier.wait(full.index(slot), phase)\n}",
            seen="property"),
        Mutant("takes-by-number", ", number {// SLOTS  -> }% 2)", seen=EARLY),
        Mutant("takes-without-remainder", "(number{ % SLOTS -> }),", seen="outside"),
        Mutant("releases-twice",
            "0]), count=1)\n{ ->     mbarrier.arrive(empty.index(number % tiles.shape[0]), count=1)\n}",
            seen=("early-read", "unwritten", "overwritten")),
        Mutant("releases-without-remainder", "{ % tiles.shape[0] -> }", seen="outside"),
        Mutant("releases-the-slot-before", "empty.index({number -> (number - 1)} % ", seen="outside"),
        Mutant("waits-in-place-of-a-release",
            "{arrive(empty.index(number % tiles.shape[0]), count=1 -> wait(empty.index(number % tiles.shape[0]), "
            "number // tiles.shape[0] % 2}",
            seen="deadlock"),
        Mutant("one-step-too-few", "step in range(steps{ ->  - 1}):", seen="deadlock"),
        Mutant("one-step-too-many", "step in range(steps{ ->  + 1}):", seen=("unfinished", "deadlock")),
        Mutant("not-numbered", "place, ring, {step -> 0})",
            seen=("deadlock", "phase-twice", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("numbered-from-1", "place, ring, step{ ->  + 1})",
            seen=("deadlock", "phase-twice", "early-read", "unwritten", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("numbered-from-the-end", "place, ring, {step -> steps - 1 - step})",
            seen=("deadlock", "phase-twice", "early-read", "unwritten", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("nothing-is-loaded", "{put(desc, place, ring, step) -> pass}", seen="deadlock"),
        Mutant("by-torch",
            "{launch(two_products_kernel, q, k, v, slots -> q @ (k.transpose(-2, -1) @ "
            "v).repeat_interleave(q.shape[1] // k.shape[1], dim=1}", seen=("torch-compute", "no-kernel-launched")),
    ],
    "flash_ahead": [
        Mutant("score-zero", ' {float("-inf") -> -1e6})'),
        Mutant("m-starts-at-zero", '[64], {float("-inf") -> -1e6}'),
        Mutant("m-updated-first", "{ -> m = m_new\n    }alpha = gl.exp2",
            says="alpha is 1 in each step: m holds the new maximum already when alpha is computed."),
        Mutant("p-of-the-tile", "scale - {m_new -> (gl.max(s, axis=1) * scale)}[",
            says="p takes off the maximum of its own tile. It is the new m, as in alpha."),
        Mutant("l-rescaled-again", "{ ->     l = l * alpha\n}    acc, p = warpgroup_mma_wait",
            says="l is multiplied by alpha once more, and this tile's sum with it."),
        Mutant("acc-in-half", "acc = acc{ -> .to(gl.float16).to(gl.float32)} * gl", seen="property"),
        Mutant("l-in-half",
            "{l * alpha + gl.sum(p, axis=1 -> (l * alpha + gl.sum(p, axis=1)).to(gl.float16).to(gl.float32}",
            seen="property"),
        Mutant("log2-e-twice",
            "{m - m_new … None] -> (m - m_new) * 1.4426950408889634)\n"
            "    p = gl.exp2((s * scale - m_new[:, None]) * 1.4426950408889634}", says="exp-for-exp2"),
        Mutant("no-running-maximum", "{maximum(m, gl.max(s, axis=1) * scale) -> max(s, axis=1) * scale}",
            says="The new m is the maximum of this tile alone. The one before counts too."),
        Mutant("maximum-not-scaled", "axis=1){ * scale -> }",
            says="The maximum of s is taken for m without `scale`. m is in units of s * scale."),
        Mutant("alpha-upside-down", "exp2({m - m_new -> m_new - m}",
            says="alpha is turned over: it is the old maximum less the new one, and 1 at the most.", seen="nan"),
        Mutant("exp-for-exp2", "gl.{exp2 -> exp}(m", "gl.{exp2 -> exp}(s", says="exp-for-exp2", seen="wrong-values"),
        Mutant("exp-in-p", "p = gl.{exp2 -> exp}(s ",
            says="p is a power of e, or has log2(e) once more: `scale` has it for powers of 2."),
        Mutant("exp-in-alpha", "alpha = gl.{exp2 -> exp}(m",
            says="alpha is a power of e, or has log2(e) once more: m is in units for powers of 2."),
        Mutant("no-maximum", "{ - m_new[:, None] -> }",
            says="No maximum is taken off before the exponential: large scores leave the range of floats.", seen="nan"),
        Mutant("not-scaled", "exp2(s {* scale  -> }",
            says="The scores are not multiplied by `scale` before the exponential.", seen=("wrong-values", "nan")),
        Mutant("l-not-rescaled", "l = l {* alpha  -> }",
            says="l still belongs to the old maximum when the new sum is added: l * alpha comes first."),
        Mutant("l-forgotten", "= {l * alpha +  -> }",
            says="l is the sum of this tile alone: what came before, times alpha, belongs to it."),
        Mutant("l-of-the-columns", "sum(p, axis={1 -> 0})", seen=("raised", "wrong-values", "does-not-compile")),
        Mutant("keys-of-this-tile", "take(k_ring, number{ + 1 -> })",
            seen=("early-read", "unwritten", "phase-twice", "deadlock")),
        Mutant("keys-of-the-tile-after", "take(k_ring, number + {1 -> 2})",
            seen=("deadlock", "early-read", "unwritten")),
        Mutant("values-of-the-next-tile", "take(v_ring, number{ ->  + 1})",
            seen=("deadlock", "early-read", "unwritten", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("values-from-the-ring-of-keys", " take({v_ring -> k_ring}, number",
            seen=("early-read", "unwritten", "overwritten", "too-many-arrivals", "two-writers", "phase-twice", "deadlock", "wrong-values")),
        Mutant("keys-from-the-ring-of-values", " take({k_ring -> v_ring}, number",
            seen=("early-read", "unwritten", "overwritten", "too-many-arrivals", "two-writers", "phase-twice", "deadlock", "wrong-values")),
        Mutant("keys-not-transposed", "k{.permute((1, 0)) -> }", seen=("size", "raised", "does-not-compile")),
        Mutant("output-forgotten", "acc, { -> use_acc=False, }is_async=",
            says="The outputs of all steps but the last two are lost: each product is added to acc."),
        Mutant("scores-at-once", "False{, is_async=True -> }", seen="property"),
        Mutant("output-at-once", "acc{, is_async=True -> }", seen=("property", "operand", "raised")),
        Mutant("both-at-once", "False{, is_async=True -> }", "{, is_async=True -> }", seen="property"),
        Mutant("scores-awaited-in-between", "{ ->     s = warpgroup_mma_wait(0, deps=[s])\n}    v = take(v_ring",
            seen="property"),
        Mutant("output-before-scores",
            "{k = take(k_ring, number + 1) … warpgroup_mma(p, v, acc, is_async=True) -> v = take(v_ring, number)\n"
            "    acc = warpgroup_mma(p, v, acc, is_async=True)\n"
            "    k = take(k_ring, number + 1)\n"
            "    s = warpgroup_mma(q, k.permute((1, 0)), zeros, use_acc=False, is_async=True)}",
            seen=("early-use", "operand", "property")),
        Mutant("scores-not-waited-for", "{    s = warpgroup_mma_wait(1, deps=[s])\n -> }",
            seen=("early-use", "overwritten")),
        Mutant("two-may-be-unfinished", "warpgroup_mma_wait({1 -> 2},", seen=("early-use", "overwritten")),
        Mutant("both-waited-for-at-once", "warpgroup_mma_wait({1 -> 0},", seen=("property", "operand")),
        Mutant("both-waits-before-the-softmax",
            "{p_next, alpha, m, l … deps=[acc, p] -> acc, p = warpgroup_mma_wait(0, deps=[acc, p])\n"
            "    p_next, alpha, m, l = softmax_step(s, m, l, scale}", seen="property"),
        Mutant("one-wait-for-both",
            "{ = warpgroup_mma_wait(1, deps=[s -> , acc, p = warpgroup_mma_wait(0, deps=[s, acc, p}",
            "{    acc, p = warpgroup_mma_wait(0, deps=[acc, p])\n -> }", seen="property"),
        Mutant("keys-released-too-early",
            "{s = warpgroup_mma_wait(1, deps=[s])\n"
            "    release(k_ring, number + 1 -> release(k_ring, number + 1)\n"
            "    s = warpgroup_mma_wait(1, deps=[s]}",
            seen="overwritten"),
        Mutant("keys-released-when-ordered", "{ ->     release(k_ring, number + 1)\n}    v = take(v_ring",
            "{release(k_ring, number + 1)\n     -> }p_next", seen="overwritten"),
        Mutant("keys-never-released", "{release(k_ring, number + 1)\n     -> }", seen="deadlock"),
        Mutant("other-keys-released", "release(k_ring, number{ + 1 -> })",
            seen=("deadlock", "early-read", "unwritten", "overwritten", "too-many-arrivals", "two-writers")),
        Mutant("values-released-too-early",
            "{acc, p = warpgroup_mma_wait(0, deps=[acc, p]) … release(v_ring, number -> release(v_ring, number)\n"
            "    acc, p = warpgroup_mma_wait(0, deps=[acc, p]}", seen="overwritten"),
        Mutant("values-never-released", "{    release(v_ring, number)\n -> }", seen="deadlock"),
        Mutant("releases-swapped", "release({k_ring -> v_ring}, number", "release({v_ring -> k_ring}, number)",
            seen=("early-read", "unwritten", "overwritten", "too-many-arrivals", "deadlock")),
        Mutant("output-not-waited-for", "{    acc, p = warpgroup_mma_wait(0, deps=[acc, p])\n -> }",
            seen=("early-use", "overwritten")),
        Mutant("one-output-may-be-unfinished", "warpgroup_mma_wait({0 -> 1},", seen=("early-use", "overwritten")),
        Mutant("p-not-kept", "{, p = warpgroup_mma_wait(0, deps=[acc, p ->  = warpgroup_mma_wait(0, deps=[acc}",
            seen="operand"),
        Mutant("acc-not-rescaled", "{    acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, OUT))[:, None]\n -> }",
            says="acc still belongs to the old maximum when the next output is added. Once it is finished, multiply it "
                "by alpha."),
        Mutant("acc-rescaled-too-early",
            "{, p = warpgroup_mma_wait(0, deps=[acc, p]) … acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, "
            "OUT))[:, None] ->  = acc * gl.convert_layout(alpha, gl.SliceLayout(1, OUT))[:, None]\n"
            "    acc, p = warpgroup_mma_wait(0, deps=[acc, p])\n"
            "    release(v_ring, number)}", seen="early-use"),
        Mutant("acc-divided", "acc = acc {* -> /} gl", says="acc is divided by alpha. It is multiplied by it, as l is."),
        Mutant("l-rescaled-with-the-new-sum", "{l * alpha + gl.sum(p, axis=1) -> (l + gl.sum(p, axis=1)) * alpha}",
            seen="off-by-row"),
        Mutant("p-of-the-old-maximum", "scale - {m_new -> m}[", seen="nan"),
        Mutant("scores-multiply-the-values", " warpgroup_mma({p -> s}, v", seen=("early-use", "does-not-compile")),
        Mutant("values-not-waited-for",
            "{take(v_ring, number -> v_ring[0].index(number % v_ring[0].shape[0]).reshape([128, q.shape[1]]}",
            seen=EARLY),
        Mutant("both-released-when-ordered",
            "{ ->     release(k_ring, number + 1)\n    release(v_ring, number)\n}    return s, ",
            "{    release(k_ring, number + 1)\n -> }    p_next", "{    release(v_ring, number)\n -> }    acc",
            seen="overwritten"),
        Mutant("released-in-both-gaps",
            "{ ->     release(k_ring, number + 1)\n    release(v_ring, number)\n}    return s, ",
            seen=("early-read", "unwritten", "overwritten")),
        Mutant("next-values-released", "release(v_ring, number{ ->  + 1})",
            seen=("deadlock", "early-read", "unwritten", "overwritten")),
        Mutant("values-released-with-the-keys",
            "{p_next, alpha, m, l … release(v_ring, number -> release(v_ring, number)\n"
            "    p_next, alpha, m, l = softmax_step(s, m, l, scale)\n"
            "    acc, p = warpgroup_mma_wait(0, deps=[acc, p]}", seen="overwritten"),
        Mutant("keys-released-for-values", "release({v_ring, number -> k_ring, number + 1})", seen="deadlock"),
        Mutant("wait-without-a-name", "{s =  -> }warpgroup_mma_wait", seen=("does-not-compile", "early-use")),
        Mutant("p-replaced-before-the-wait", "{p_next -> p}, alpha,", "acc, {p -> p_next} = warpgroup_mma_wait",
            seen="operand"),
        Mutant("acc-and-p-exchanged", "{acc, p -> p, acc} = warpgroup_mma_wait", seen=("does-not-compile", "size")),
        Mutant("alpha-in-its-own-layout", "{gl.convert_layout(alpha, gl.SliceLayout(1, OUT)) -> alpha}",
            seen="does-not-compile"),
        Mutant("alpha-for-columns", "alpha, gl.SliceLayout(1, OUT))[{:, None -> None, :}]",
            seen=("does-not-compile", "raised")),
        Mutant("acc-rescaled-with-l", "convert_layout({alpha -> l}", seen=("wrong-values", "nan")),
        Mutant("m-not-kept", "p_next, alpha, {m -> m_new}, l =",
            says="m stays the maximum of the first tile. softmax_step returns the new one: keep it."),
    ],
    "flash_gluon": [
        Mutant("only-group-1-waits",
            "{mbarrier.wait(baton.index(GROUP), (number + 1 - GROUP) -> if GROUP == 1:\n"
            "        mbarrier.wait(baton.index(1), number}",
            seen=("deadlock", "property")),
        Mutant("no-turns", "{    mbarrier.wait(baton.index(GROUP), (number + 1 - GROUP) % 2)\n -> }",
            "{    mbarrier.arrive(baton.index(1 - GROUP), count=1)\n -> }", seen="property"),
        Mutant("never-waits", "{    mbarrier.wait(baton.index(GROUP), (number + 1 - GROUP) % 2)\n -> }",
            seen=("property", "too-many-arrivals")),
        Mutant("never-hands-over", "{    mbarrier.arrive(baton.index(1 - GROUP), count=1)\n -> }", seen="deadlock"),
        Mutant("keeps-the-baton", "baton.index({1 -  -> }", seen=("deadlock", "too-many-arrivals", "phase-twice")),
        Mutant("waits-at-the-others-barrier", "baton.index({ -> 1 - }GROUP",
            seen=("deadlock", "phase-twice", "property", "too-many-arrivals")),
        Mutant("nobody-begins", "number{ + 1 - GROUP -> }", seen="deadlock"),
        Mutant("both-begin", "number + 1{ - GROUP -> })",
            seen=("deadlock", "property", "too-many-arrivals", "phase-twice")),
        Mutant("phase-never-changes", "{(number + 1 - GROUP) % 2 -> 1 - GROUP}", seen=("deadlock", "phase-twice")),
        Mutant("phase-is-a-count", "{(number + 1 - GROUP) % 2 -> number + 1 - GROUP}", seen="phase"),
        Mutant("remainder-below-zero", ", (number {+ 1  -> }", seen="phase"),
        Mutant("hands-over-before-the-order",
            "{s, acc = order … GROUP), count=1 -> mbarrier.arrive(baton.index(1 - GROUP), count=1)\n"
            "    s, acc = order(GROUP, q, p, acc, k_ring, v_ring, baton, number}",
            seen=("property", "too-many-arrivals")),
        Mutant("waits-after-the-order",
            "{mbarrier.wait … baton, number -> s, acc = order(GROUP, q, p, acc, k_ring, v_ring, baton, number)\n"
            "    mbarrier.wait(baton.index(GROUP), (number + 1 - GROUP) % 2}", seen="property"),
        Mutant("group-0-alone-waits", "{ -> if GROUP == 0:\n        }mbarrier.wait(",
            seen=("property", "too-many-arrivals", "deadlock")),
        Mutant("hands-over-in-every-other-turn", "GROUP), count=1{ -> , pred=number % 2 == 0})", seen="deadlock"),
        Mutant("hands-over-twice", "GROUP), count={1 -> 2})",
            seen=("too-many-arrivals", "deadlock", "phase-twice", "property")),
        Mutant("hands-over-to-both", "{ ->     mbarrier.arrive(baton.index(GROUP), count=1)\n}    return s, ",
            seen=("deadlock", "too-many-arrivals")),
        Mutant("hands-over-after-the-scores", "{ -> s = warpgroup_mma_wait(1, deps=[s])\n    }mbarrier.arrive",
            seen="property"),
        Mutant("hands-over-after-both-products",
            "{ -> s, acc = warpgroup_mma_wait(0, deps=[s, acc])\n    }mbarrier.arrive", seen=("operand", "property")),
        Mutant("phase-changes-every-other-time", "GROUP), (number { -> // 2 }+", seen=("phase-twice", "deadlock")),
        Mutant("barriers-by-number", "baton.index({GROUP -> number % 2})", "index({1 - GROUP -> (number + 1) % 2}",
            seen=("deadlock", "phase-twice", "property")),
        Mutant("orders-the-next-step", "GROUP, q, p, acc, k_ring, v_ring, baton, number{ ->  + 1})",
            seen=("two-writers", "deadlock", "early-read", "unwritten")),
        Mutant("returns-nothing", "{    return s, acc\n -> }", seen=("does-not-compile", "raised")),
        Mutant("always-step-0", "GROUP, q, p, acc, k_ring, v_ring, baton, {number -> 0})",
            seen=("phase-twice", "deadlock", "early-read", "unwritten", "overwritten", "too-many-arrivals", "two-writers")),
    ],
}

VARIANTS = {
    "two_products": [
        Variant("expects-after-the-order",
            "{mbarrier.expect(full.index(slot), desc.block_type.nbytes) … full.index(slot), tiles.index(slot) -> "
            "tma.async_copy_global_to_shared(desc, place, full.index(slot), tiles.index(slot))\n"
            "    mbarrier.expect(full.index(slot), desc.block_type.nbytes}"),
        Variant("phase-by-difference", "slot), {phase ^ 1 -> 1 - phase}"),
        Variant("barriers-kept",
            "{mbarrier.expect … place, full.index(slot) -> arrived = full.index(slot)\n"
            "    mbarrier.expect(arrived, desc.block_type.nbytes)\n"
            "    tma.async_copy_global_to_shared(desc, place, arrived}"),
        Variant("first-round-does-not-wait",
            "{mbarrier.wait(empty.index(slot), phase ^ 1 -> if number >= SLOTS:\n"
            "        mbarrier.wait(empty.index(slot), (number // SLOTS - 1) % 2}"),
        Variant("row-counts-down",
            "{for step in range(steps): … put(desc, place, ring, step) -> row = (steps - 1) * 128\n"
            "    for step in range(steps):\n"
            "        put(desc, [batch, head // share, row, 0], ring, step)\n"
            "        row -= 128}"),
        Variant("rows-of-the-descriptor", "- step) * {128 -> desc.block_type.shape[2]},"),
        Variant("one-arrival-by-default", "shape[0]){, count=1 -> }",
            " {number // SLOTS % 2 -> (number // SLOTS) & 1})"),
        Variant("walks-down",
            "{place = [batch, head // share, (steps - 1 - step) * 128 -> row = steps * 128 - (step + 1) * 128\n"
            "        place = [batch, head // share, row}"),
        Variant("number-counts-down",
            "{step in range(steps): … put(desc, place, ring, step -> tile in range(steps - 1, -1, -1):\n"
            "        put(desc, [batch, head // share, tile * 128, 0], ring, steps - 1 - tile}"),
    ],
    "flash_ahead": [
        Variant("acc-of-zeros", "{use_acc=False,  -> }"),
        Variant("both-tiles-first",
            "{s = warpgroup_mma(q, k … v = take(v_ring, number -> v = take(v_ring, number)\n"
            "    s = warpgroup_mma(q, k.permute((1, 0)), zeros, use_acc=False, is_async=True}"),
        Variant("keys-released-after-the-softmax",
            "{release(k_ring, number + 1) … m, l, scale -> p_next, alpha, m, l = softmax_step(s, m, l, scale)\n"
            "    release(k_ring, number + 1}"),
        Variant("values-released-last",
            "{release(v_ring, number) … acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, OUT))[:, None] -> "
            "acc = acc * gl.convert_layout(alpha, gl.SliceLayout(1, OUT))[:, None]\n"
            "    release(v_ring, number)}"),
        Variant("all-deps-each-time",
            "{ = warpgroup_mma_wait(1, deps=[s -> , acc, p = warpgroup_mma_wait(1, deps=[s, acc, p}"),
        Variant("scores-awaited-in-order-too", "{ ->     s = warpgroup_mma_wait(1, deps=[s])\n}    return s, "),
        Variant("m-in-units-of-s", "axis=1){ * scale -> }", "exp2({m - m_new -> (m - m_new) * scale}",
            "{s * scale - m_new[:, None] -> (s - m_new[:, None]) * scale}"),
        Variant("alpha-converted-before-the-wait",
            "{acc, p = warpgroup_mma_wait(0, deps=[acc, p]) … acc = acc * gl.convert_layout(alpha, "
            "gl.SliceLayout(1, OUT))[:, None] -> alpha = gl.convert_layout(alpha, gl.SliceLayout(1, OUT))\n"
            "    acc, p = warpgroup_mma_wait(0, deps=[acc, p])\n"
            "    acc *= alpha[:, None]\n"
            "    release(v_ring, number)}"),
        Variant("max-as-a-method", "(m, {gl.max(s,  -> s.max(}"),
        Variant("scaled-first",
            "{m_new = gl.maximum(m, gl.max(s, axis=1) * scale -> s = s * scale\n"
            "    m_new = gl.maximum(m, gl.max(s, axis=1)}",
            "exp2(s {* scale  -> }"),
        Variant("l-before-p-is-named", "{l * alpha + gl.sum(p, axis=1) -> gl.sum(p, axis=1) + alpha * l}"),
    ],
    "flash_gluon": [
        Variant("group-1-begins", "(number + {1 -  -> }"),
        Variant("barriers-swapped", "baton.index({ -> 1 - }GROUP", "(baton.index({1 -  -> }GROUP), count"),
        Variant("a-branch-for-each-group",
            "{mbarrier.wait(baton.index(GROUP), (number + 1 - GROUP) -> if GROUP == 0:\n"
            "        mbarrier.wait(baton.index(0), (number + 1) % 2)\n"
            "    else:\n"
            "        mbarrier.wait(baton.index(1), number}"),
        Variant("the-first-turn-does-not-wait", "{ -> if (GROUP == 1) | (number > 0):\n        }mbarrier.wait("),
        Variant("phase-by-xor", "{+ 1 - GROUP) % 2 -> & 1) ^ (1 - GROUP)}"),
    ],
}

EQUIVALENT = {
    "two_products": {
        "mbarrier.expect(full.index(slot), desc.block_type.nbytes) tma.async_copy_global_to_shared(desc, place, full.index(slot), tiles.index(slot)) => tma.async_copy_global_to_shared(desc, place, full.index(slot), tiles.index(slot)) mbarrier.expect(full.index(slot), desc.block_type.nbytes)": "the phase waits for the arrival of expect, whatever has landed before",
        "mbarrier.arrive(empty.index(number % tiles.shape[0]), count=1) => mbarrier.arrive(empty.index(number % tiles.shape[0]))": "one arrival is the default",
    },
    "flash_ahead": {
        "s = warpgroup_mma(q, k.permute((1, 0)), zeros, use_acc=False, is_async=True) => s = warpgroup_mma(q, k.permute((1, 0)), zeros, is_async=True)": "zeros are added",
    },
    "flash_gluon": {
        "mbarrier.arrive(baton.index(1 - GROUP), count=1) => mbarrier.arrive(baton.index(1 - GROUP))": "one arrival is the default",
        "mbarrier.wait(baton.index(GROUP), (number + 1 - GROUP) % 2) => mbarrier.wait(baton.index(GROUP), (number + 1 + GROUP) % 2)": "the same parity",
        "mbarrier.wait(baton.index(GROUP), (number + 1 - GROUP) % 2) => mbarrier.wait(baton.index(GROUP), (number + 2 - GROUP) % 2)": "group 1 begins",
    },
}
