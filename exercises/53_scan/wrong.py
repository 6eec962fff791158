"""Mistakes of 53_scan with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "keys-for-values"
PROMISES = ("carry-forgotten", "step-by-step", "state-forgotten")

STEP_BY_STEP = """@triton.jit
def gated_scan_kernel(a_ptr, b_ptr, h_ptr, last_ptr, T):
    row = tl.program_id(0).to(tl.int64) * T
    h = 0.0
    for t in range(0, T):
        a = tl.load(a_ptr + row + t).to(tl.float32)
        h = a * h + tl.load(b_ptr + row + t).to(tl.float32)
        tl.store(h_ptr + row + t, h)
    tl.store(last_ptr + tl.program_id(0), h)


def gated_scan(a, b, block=2048):
    if a.shape != b.shape or not a.is_contiguous() or not b.is_contiguous():
        raise ValueError("a and b must be contiguous, and of one shape (M, T)")
    M, T = b.shape
    h = torch.empty_like(b)
    last = torch.empty(M, dtype=torch.float32, device=b.device)
    if M > 0:
        gated_scan_kernel[(M,)](a, b, h, last, T)
    return h, last
"""

BADLY = ("wrong-values", "wrong-tail", "rows-after-first")

# Sentences that several mistakes share.
SAYS = {
    "carry-forgotten": "Every tile begins at 0 again. Add the carry: the total of all tiles before it.",
    "carry-without-the-last": "The carry leaves out the last number of each tile. Take it after that number.",
    "carry-forgotten-2":
        "Every tile begins at 0 again: the carry is missing, or it is 0. Does `tl.where` keep the last lane of the "
        "tile?",
    "a-and-b-swapped": "a and b have changed places: in the launch, at the loads, or in the scan.",
    "inputs-not-gated": "b is added up without gates. In `then` the earlier one, b1, goes through the later gate.",
    "order-swapped":
        "The steps are taken in the wrong order. The earlier pair is b1, and the later gate a2 acts on it.",
    "last-gate-of-padding": "`last` is 0: masked lanes hold the gate 0, which forgets everything. Which gate keeps h?",
    "last-input-of-padding": "Masked lanes went on adding 1 to `last`. Which b changes nothing?",
    "state-forgotten": "Only tokens of the same chunk count. Add q times the state.",
}

MUTANTS = {
    "cumsum_rows": [
        Mutant("clamped", "y = {carry + tl.cumsum(x, axis=0) -> tl.minimum(tl.maximum(carry + tl.cumsum(x, axis=0), -1e30), 1e30)}", seen="nan-lost"),
        Mutant("carry-forgotten", "y = {carry +  -> }tl", says="carry-forgotten"),
        Mutant("carry-overwritten", "carry {+ -> }= tl.sum",
            says="The carry knows the tile before alone. Add the tile's total to it, do not replace it."),
        Mutant("carry-too-early", "{        carry += tl.sum(x, axis=0)\n -> }",
            "{ -> carry += tl.sum(x, axis=0)\n        }y = carry + tl",
            says="The carry holds the tile's own total already. It may change after the tile has used it."),
        Mutant("carry-doubled", " += tl.sum({x -> tl.where(tl.arange(0, BLOCK_N) == BLOCK_N - 1, y, 0.0)}, ",
            says="The last y contains the old carry. Add the tile's own total, or replace the carry by y."),
        Mutant("carry-without-the-last", " += tl.sum({x -> tl.where(tl.arange(0, BLOCK_N) < BLOCK_N - 1, x, 0.0)}, ",
            says="carry-without-the-last"),
        Mutant("carry-is-a-number", " += tl.sum({x -> tl.where(tl.arange(0, BLOCK_N) == BLOCK_N - 1, x, 0.0)}, ",
            says="The carry grew by one number of each tile, the last. It needs the sum of all of them."),
        Mutant("carry-is-the-maximum", "carry += tl.{sum -> max}",
            says="The carry grew by the largest number of each tile. It needs the sum."),
        Mutant("carry-is-the-largest-y", "carry {+= tl.sum(x -> = tl.max(y}",
            says="The carry is the largest y of the tile. That is the last one only where no x is negative."),
        Mutant("loaded-in-float16", ".to(tl.{float32 -> float16}", "{ -> x = x.to(tl.float32)\n        }y = carry + tl",
            says="x was rounded to float16. Go to float32."),
        Mutant("stored-in-float16", "offs_n, y{ -> .to(tl.float16)}, mask",
            says="y was rounded to float16, though it has the dtype of x. The store casts by itself."),
        Mutant("carry-in-each-lane", "{carry + tl.cumsum(x -> tl.cumsum(x + carry}",
            says="The carry was added to every lane before the scan, which adds it up again and again. Scan x alone, "
                "and add the carry then."),
        Mutant("carry-is-a-tile", "{+= tl.sum(x, axis=0) -> = y}",
            says="Each lane carries its own y on to the next tile. A carry is one number: the total so far.",
            seen=("does-not-compile", "raised")),
        Mutant("carry-adds-a-tile", "{tl.sum(x, axis=0) -> y}",
            says="Each lane adds its own y to a carry of its own. A carry is one number: the total so far.",
            seen=("does-not-compile", "raised")),
        Mutant("all-pairs-of-lanes",
            "{y = carry + tl.cumsum(x, axis=0 -> i = tl.arange(0, BLOCK_N)\n"
            "        y = carry + tl.sum(tl.where(i[:, None] >= i[None, :], x[None, :], 0.0), axis=1}",
            seen=("raised", "does-not-compile")),
        Mutant("number-by-number",
            "{x = tl.load(x_row … tl.sum(x, axis=0) -> for n in range(start, tl.minimum(start + BLOCK_N, N)):\n"
            "            carry += tl.load(x_row + n).to(tl.float32)\n"
            "            tl.store(y_row + n, carry)}", seen="property", only="interpreter"),
        Mutant("carry-sums-y", " += tl.sum({x -> y}, ",
            says="The carry grew by the sum of the running sums, y. It needs the sum of x."),
        Mutant("steps-of-one", "(0, N{, BLOCK_N -> }",
            says="The loop steps by 1, so tiles overlap and numbers are added many times. Step by BLOCK_N."),
        Mutant("tile-in-half", "{.to(tl.float32) -> }",
            says="The tile was added up in half precision. Go to float32 before the scan and the sum."),
        Mutant("exclusive", "cumsum(x, axis=0){ ->  - x}",
            says="y leaves out its own x: this scan is exclusive. The contract asks for x[0] to x[n]."),
        Mutant("exclusive-in-tiles",
            ".sum(x, axis=0){ ->  - tl.sum(tl.where(tl.arange(0, BLOCK_N) == BLOCK_N - 1, x, 0.0), axis=0)}",
            says="carry-without-the-last"),
        Mutant("from-the-right", "cumsum(x, axis=0{ -> , reverse=True})",
            says="These are sums from the right end. Scan from the left, without `reverse`."),
        Mutant("carry-subtracted", "carry {+ -> -}= tl.sum", says="The carry is subtracted. Add it."),
        Mutant("subtracts-what-comes-later",
            "{tl.cumsum(x, axis=0) -> (tl.sum(x, axis=0) - tl.cumsum(x, axis=0, reverse=True)) + x}", seen="property"),
        Mutant("total-everywhere", "{cumsum(x, axis=0) -> sum(x, axis=0) + 0.0 * x}",
            says="Every lane has the tile's total. `tl.cumsum` keeps the totals on the way."),
        Mutant("not-scanned", "{tl.cumsum(x, axis=0) -> x}",
            says="Inside a tile nothing is added up: the carry plus x. `tl.cumsum` gives the running sums."),
        Mutant("carry-in-half",
            "{+= tl.sum(x, axis=0 -> = (carry + tl.sum(x, axis=0)).to(y_ptr.dtype.element_ty).to(tl.float32}",
            says="The carry is kept in half precision, and small numbers vanish in it. Carry float32."),
        Mutant("scan-in-half", "{.to(tl.float32) -> }", "cumsum(x, axis=0){ -> .to(tl.float32)}",
            "tl.sum(x{ -> .to(tl.float32)}, axis",
            says="The tile was added up in half precision. Go to float32 before the scan."),
        Mutant("product", "carry + tl.{cumsum -> cumprod}",
            seen=("wrong-values", "rows-after-first", "overflow", "zeros")),
        Mutant("no-mask-at-the-store", "y{, mask=offs_n < N -> }",
            seen=("out-of-bounds-store", "rows-after-first", "race")),
        Mutant("no-mask-at-the-load", "{, mask=offs_n < N, other=0.0 -> }", seen="reads-outside", only="interpreter"),
        Mutant("first-tile-again", "offs_n = {start +  -> }", seen=("wrong-values", "unwritten-tail", "wrong-tail")),
        Mutant("last-tile-left-out", "(0, N{ ->  - BLOCK_N + 1}, BLOCK_N", seen=("unwritten-tail", "unwritten")),
        Mutant("rows-are-n-apart", "pid_m * {stride_xm -> N},", seen=("strided-only", "wrong-values")),
        Mutant("one-tile-for-all", "{min(block, triton.next_power_of_2(N) -> triton.next_power_of_2(N}",
            seen="tile-too-large"),
        Mutant("by-torch", "{M, N = x.shape … return y -> return x.cumsum(1)}",
            seen=("torch-compute", "no-kernel-launched")),
    ],
    "gated_scan": [
        Mutant("clamped", "h = {A * carry + B -> tl.clamp(A * carry + B, -1e30, 1e30)}", seen="nan-lost"),
        Mutant("carry-forgotten", "= {A * carry +  -> }", says="carry-forgotten-2"),
        Mutant("carry-not-gated", "h = {A *  -> }carry ",
            says="The carry was added as it is. The pair (A, B) is a step: it takes the carry times A."),
        Mutant("carry-by-one-gate", "h = {A -> a} * carry ",
            says="The carry went through each lane's own gate, a. It needs A, the product of all of them."),
        Mutant("carry-before-B", " A * {carry + B -> (carry + B)}",
            says="A stands before carry and B. The pair (A, B) is the step h -> A h + B."),
        Mutant("b-for-B", " A * carry + {B -> b}",
            says="A times the carry is there, and then b alone. The scan's B holds the steps before it."),
        Mutant("lane-of-the-row", "lanes == {BLOCK_T -> T} ", says="carry-forgotten-2"),
        Mutant("carry-of-one-tile", "tl.where({ -> start + }lanes",
            says="The carry reaches the second tile and no other: it is 0 from then on. The lanes of a tile are 0 to "
                "BLOCK - 1 in every tile. Which one is the last?"),
        Mutant("carry-is-the-largest", "{sum(tl.where(lanes == BLOCK_T - 1, h, 0.0) -> max(h}",
            says="The carry is the largest h of the tile. It needs the last one.", seen="wrong-values"),
        Mutant("steps-of-one", "0, T{, BLOCK_T -> })",
            says="The loop steps by 1, so tiles overlap and steps are taken many times. Step by the tile."),
        Mutant("arguments-mixed", "then(a1, {b1, a2 -> a2, b1}",
            says="`then` gets a1, b1, a2, b2: a pair, then the next pair. Its arguments stand in another order."),
        Mutant("step-by-step", seen="property", only="interpreter", replace=STEP_BY_STEP),
        Mutant("b-unchecked", "{ or not b.is_contiguous() -> }", seen="should-raise"),
        Mutant("a-unchecked", "{ or not a.is_contiguous() -> }", seen="should-raise"),
        Mutant("lengths-compared-alone", "shape{ != b.shape -> [1] != b.shape[1]}", seen="should-raise"),
        Mutant("all-lanes-but-the-last", "BLOCK_T - 1, {h, 0.0 -> 0.0, h}",
            says="The carry is the sum of all lanes but the last. Are the two values of `tl.where` swapped?"),
        Mutant("a-and-b-swapped", "gated_scan_kernel[(M,)]({a, b -> b, a},", says="a-and-b-swapped"),
        Mutant("gate-of-the-second", ", a2 * {b1 + b2 -> b2 + b1}",
            says="`then` multiplies b2 by a2. It is the earlier one, b1, that goes through the later gate."),
        Mutant("gate-of-both", ", a2 * {b1 + b2 -> (b1 + b2)}",
            says="`then` multiplies b2 by a2 too. Only the earlier one, b1, goes through the later gate."),
        Mutant("two-scans",
            "{, B = tl.associative_scan((a, b), axis=0, combine_fn=then ->  = tl.cumprod(a, axis=0)\n"
            "        B = tl.cumsum(b, axis=0}",
            says="inputs-not-gated"),
        Mutant("scan-in-half", "1.0){.to(tl.float32) -> }", "{.to(tl.float32) -> }",
            says="The pairs were scanned in half precision. Take a and b to float32 before the scan."),
        Mutant("gates-not-multiplied", "return a2{ * a1 -> }",
            says="A is the last gate alone. The first value of `then` is the product of both gates."),
        Mutant("first-gate-kept", "return {a2 * a1 -> a1}",
            says="A is the first gate alone. The first value of `then` is the product of both gates."),
        Mutant("gates-added", "return {a2 * a1 -> a1 + a2}",
            says="`then` adds the gates. Work the prediction out again: what stands before h?"),
        Mutant("order-swapped", ", {a2 * b1 + b2 -> a1 * b2 + b1}", says="order-swapped"),
        Mutant("gate-of-the-first", "return a2 * a1, {a2 -> a1} ",
            says="`then` multiplies b1 by a1. The earlier result goes through the later gate."),
        Mutant("inputs-not-gated", " * a1, {a2 *  -> }b1", says="inputs-not-gated"),
        Mutant("exclusive", " {A * carry + B -> (A * carry + B - b) / a}",
            says="h[t] is the state before step t. The contract asks for the one after it.", seen="wrong-values"),
        Mutant("returned-backwards", "{a1, a2 * b1 + b2 -> b1 + b2, a2 * a1}",
            says="`then` returns its two values in the other order. The gate comes first, as in (a, b)."),
        Mutant("gates-alone", "{A, B -> B, A} = tl.associative_scan",
            says="This is the product of the gates: A, not h."),
        Mutant("gates-and-inputs-swapped", "associative_scan(({a, b -> b, a})", says="a-and-b-swapped"),
        Mutant("carry-too-early", "== {BLOCK_T - 1 -> 0}",
            says="The first lane of each tile was carried. Carry the last one."),
        Mutant("lane-before-the-last", "= BLOCK_T - {1 -> 2},", seen=BADLY),
        Mutant("no-such-lane", "== BLOCK_T{ - 1 -> }", says="carry-forgotten-2", seen="unused-input"),
        Mutant("last-is-a-sum", "{tl.where(lanes == BLOCK_T - 1, h, 0.0) -> h}",
            says="`last` is the sum of a tile's h. Keep its last lane, and 0 in the others.", seen="wrong-values"),
        Mutant("carry-is-B", "BLOCK_T - 1, {h -> B}, ",
            says="The carry is the last lane of B, which begins at 0 in each tile. Carry that of h."),
        Mutant("carry-added-up", "carry { -> +}= tl.sum", seen=BADLY),
        Mutant("masked-gate-0", "mask, other={1 -> 0}.", says="last-gate-of-padding"),
        Mutant("masked-input-1", "mask, other={0 -> 1}.", says="last-input-of-padding"),
        Mutant("other-forgotten-a", "mask{, other=1.0 -> }", says="last-gate-of-padding",
            seen=("wrong-values", "nan", "no-other"), only="interpreter"),
        Mutant("other-forgotten-b", "mask{, other=0.0 -> }", says="last-input-of-padding",
            seen=("wrong-values", "nan", "no-other"), only="interpreter"),
        Mutant("last-never-stored", "{tl.store(last_ptr + row, carry) -> carry += 0.0}",
            seen=("unwritten", "unwritten-tail", "nan")),
        Mutant("last-of-the-tile-before", "{tl.store(last_ptr + row, carry) -> pass}",
            " h, mask=mask){ -> \n        tl.store(last_ptr + row, carry)}",
            says="`last` is the carry from before the last tile. Store it when all tiles are done.",
            seen="wrong-values"),
        Mutant("last-of-row-0", "last_ptr{ + row -> }",
            seen=("unwritten", "unwritten-tail", "race", "wrong-values", "rows-after-first")),
        Mutant("state-in-half", " 0.0), axis=0){ -> .to(h_ptr.dtype.element_ty).to(tl.float32)}",
            says="The carry is kept in half precision, and small inputs vanish in it. Carry float32."),
        Mutant("no-mask-at-the-store", ", h{, mask=mask -> }", seen=("out-of-bounds-store", "rows-after-first", "race")),
        Mutant("gates-in-half", "1.0){.to(tl.float32) -> }",
            says="The gates are multiplied in half precision. Go to float32 before the scan."),
        Mutant("division-by-gates",
            "{, B = tl.associative_scan((a, b), axis=0, combine_fn=then ->  = tl.cumprod(a, axis=0)\n"
            "        B = A * tl.cumsum(b / A, axis=0}",
            says="This is the form with a cumulative product and a sum. It divides by the product, which becomes 0. "
                "Scan the pairs.",
            seen="nan"),
        Mutant("backwards", "=0, { -> reverse=True, }combine_fn", seen=BADLY),
        Mutant("last-in-the-dtype-of-b", "={torch.float32 -> b.dtype}", seen="wrong-dtype"),
        Mutant("results-swapped", "return {h, last -> last, h}", seen=("wrong-shape", "wrong-dtype")),
        Mutant("strides-ignored", "{ or not a.is_contiguous() or not b.is_contiguous() -> }", seen="should-raise"),
        Mutant("torch-loop",
            "{M, T = b.shape … return h, last -> h, steps = torch.zeros_like(b[:, 0]), []\n"
            "    for t in range(b.shape[1]):\n"
            "        h = a[:, t] * h + b[:, t]\n"
            "        steps.append(h)\n"
            "    return torch.stack(steps, 1), h.float()}", seen=("torch-compute", "no-kernel-launched")),
    ],
    "linear_attention": [
        Mutant("heads-on-axis-1", "head = tl.program_id({0 -> 1})", "offs_e = tl.program_id({1 -> 0})", "[({B * H, D // BLOCK_E -> D // BLOCK_E, B * H})]", seen="grid-limit"),
        Mutant("clamped", "tl.store(o_ptrs, {o -> tl.clamp(o, -60000.0, 60000.0)}", seen="nan-lost"),
        Mutant("future-of-the-chunk", "{        scores = tl.where(causal, scores, 0.0)\n -> }",
            says="Tokens see the later ones of their chunk. Mask the scores."),
        Mutant("past-masked", "tl.where({causal -> tl.trans(causal)}",
            says="The mask keeps the future of the chunk and drops its past."),
        Mutant("future-only", "causal, {scores, 0.0 -> 0.0, scores}",
            says="Inside a chunk only the future counts. Are the two values of `tl.where` swapped?"),
        Mutant("mask-from-the-start", "tl.where({causal -> (start + offs_t)[:, None] >= offs_t[None, :]}",
            says="From the second chunk on, tokens see the later ones of their chunk. The mask has `start` on one of "
                "its sides alone: count both rows and columns from the chunk's first token."),
        Mutant("mask-without-a-past", "tl.where({causal -> offs_t[:, None] >= (start + offs_t)[None, :]}",
            says="From the second chunk on, a token sees none of its own chunk. The mask has `start` on one of its "
                "sides alone: count both rows and columns from the chunk's first token."),
        Mutant("state-k-v", "dot({tl.trans(k) -> k}", seen=("raised", "does-not-compile")),
        Mutant("values-transposed", "{tl.trans(k), v -> k, tl.trans(v)}", seen=("raised", "does-not-compile")),
        Mutant("keys-left-transposed",
            "{scores = tl.dot(q, tl.trans(k) -> k = tl.trans(k)\n        scores = tl.dot(q, k}",
            seen=("raised", "does-not-compile")),
        Mutant("diagonal-missing", "tl.where({causal -> offs_t[:, None] > offs_t[None, :]}",
            says="A token does not see itself: the diagonal of the scores is 0."),
        Mutant("state-forgotten", '{o = tl.dot(q, state.to(q.dtype), o, input_precision="ieee") -> pass}',
            says="state-forgotten"),
        Mutant("state-of-one-chunk", " {state,  -> }input_precision",
            says="The state knows the chunk before alone. Add to it, do not replace it."),
        Mutant("state-never-grows", '{state = tl.dot(tl.trans(k), v, state, input_precision="ieee") -> pass}',
            says="The state stays 0. Add k transposed times v after each chunk.", on_gpu=("not-attempted",)),
        Mutant("state-too-early", '{        state = tl.dot(tl.trans(k), v, state, input_precision="ieee")\n -> }',
            '{scores -> state = tl.dot(tl.trans(k), v, state, input_precision="ieee")\n        scores} = tl.dot',
            says="The state holds the chunk already when o takes it: its tokens count twice, and the future counts. "
                "Update it after o."),
        Mutant("chunk-forgotten", " {o,  -> }input_precision",
            says="Only the chunks before count. The scores inside the chunk are missing."),
        Mutant("diagonal-twice",
            "{ ->         scores += tl.where(offs_t[:, None] == offs_t[None, :], scores, 0.0)\n"
            "}        o = tl.dot(scores",
            says="Each token counts itself twice: the diagonal comes from two places."),
        Mutant("infinity-for-zero", 'causal, scores, {0.0 -> float("-inf")}', seen=("nan", "overflow", "wrong-values")),
        Mutant("softmax-kept",
            ', scores, {0.0) -> float("-inf"))\n'
            "        scores = tl.exp(scores - tl.max(scores, axis=1)[:, None])\n"
            "        scores = scores / tl.sum(scores, axis=1)[:, None]}",
            says="There is a softmax inside the chunk. Linear attention has none."),
        Mutant("tf32-scores", '){, input_precision="ieee" -> }', seen="tf32"),
        Mutant("tf32-state", 'state{, input_precision="ieee" -> }', seen="tf32"),
        Mutant("scaled", "o_ptrs, o{ ->  * D**-0.5}, mask",
            says="The scores are scaled by 1/sqrt(D). The contract has no scale."),
        Mutant("state-in-half", 'state, input_precision="ieee"){ -> .to(q.dtype).to(tl.float32)}',
            says="The state is kept in half precision, and what later chunks add vanishes in it. Round a copy to enter "
                "the dot, and carry float32."),
        Mutant("store-unmasked", ", o{, mask=mask -> }", seen=("out-of-bounds-store", "race", "rows-after-first")),
        Mutant("not-stored", "{tl.store(o_ptrs, o, mask=mask) -> o += 0.0}", seen=("unwritten", "unwritten-tail")),
        Mutant("keys-not-transposed", "q, {tl.trans(k) -> k}", seen=("does-not-compile", "wrong-values", "raised")),
        Mutant("keys-for-queries", "tl.dot({q -> k}, state",
            says="k times the state was added. The state is asked by q."),
        Mutant("keys-for-values", "), {v -> k}, input_precision", seen="unused-input"),
        Mutant("queries-in-the-state", "tl.trans({k -> q}), v", seen="unused-input"),
        Mutant("state-doubled", "state { -> +}= tl.dot",
            says="The old state is added twice: `+=`, and once more as what `tl.dot` adds to."),
        Mutant("inside-twice", "o { -> +}= tl.dot(q, ",
            says="What comes from inside the chunk is added twice. `tl.dot(a, b, o)` has added o already."),
        Mutant("exponentials", "causal, {scores -> tl.exp(scores)},",
            says="The scores went through an exponential. Without a softmax there is none."),
        Mutant("scores-transposed", "({q, tl.trans(k -> k, tl.trans(q}",
            says="The scores are transposed: row t belongs to q, column s to k. Which of them is turned?"),
        Mutant("state-subtracted", "{= tl.dot(tl.trans(k), v, state -> -= tl.dot(tl.trans(k), v}",
            seen="constant-factor"),
        Mutant("by-torch", "{o = torch … return o, state -> return (q @ k.mT).tril() @ v, (k.mT @ v).float()}",
            seen=("torch-compute", "no-kernel-launched")),
    ],
}

VARIANTS = {
    "cumsum_rows": [
        Variant("carry-from-y", "carry {+= tl.sum(x -> = tl.sum(tl.where(offs_n == start + BLOCK_N - 1, y, 0.0)}"),
        Variant("small-tiles", "(x, block={2048 -> 128}"),
        Variant("eight-warps", "BLOCK_N=BLOCK_N{ -> , num_warps=8})"),
        Variant("carry-added-to-the-first",
            "{carry + tl.cumsum(x -> tl.cumsum(x + tl.where(offs_n == start, carry, 0.0)}"),
        Variant("cast-at-the-store", "offs_n, y{ -> .to(y_ptr.dtype.element_ty)}, mask"),
        Variant("carry-is-a-tile", "carry = {0.0 -> tl.zeros([1], tl.float32)}"),
    ],
    "gated_scan": [
        Variant("products-the-other-way", "{a2 * a1, a2 * b1 -> a1 * a2, b1 * a2}"),
        Variant("carry-in-the-first-step",
            "{ -> b += tl.where(lanes == 0, a * carry, 0.0)\n        }A, B = tl.associative_scan",
            "= {A * carry +  -> }"),
        Variant("last-of-each-tile-stored", "{tl.store(last_ptr + row, carry) -> pass}",
            " 0.0), axis=0){ -> \n        tl.store(last_ptr + row, carry)}"),
        Variant("fma", " {A * carry + B -> tl.fma(A, carry + tl.zeros([BLOCK_T], tl.float32), B)}"),
        Variant("carry-by-product",
            "{tl.where(lanes == BLOCK_T - 1, h, 0.0 -> h * (lanes == BLOCK_T - 1).to(tl.float32}"),
        Variant("small-tiles", " b, block={2048 -> 64}"),
    ],
    "linear_attention": [
        Variant("state-by-plus", "{= tl.dot(tl.trans(k), v, state -> += tl.dot(tl.trans(k), v}"),
        Variant("outside-first", "{scores.to(v.dtype), v -> q, state.to(q.dtype)}",
            ".dot({q, state.to(q.dtype) -> scores.to(v.dtype), v}, o"),
        Variant("mask-by-product", "{tl.where(causal, scores, 0.0 -> scores * causal.to(tl.float32}"),
        Variant("mask-by-tokens", "tl.where({causal -> tokens >= start + offs_t[None, :]}"),
        Variant("wider-slices", "BLOCK_E = min(D, {32 -> 16})"),
        Variant("eight-warps", "BLOCK_E=BLOCK_E{ -> , num_warps=8}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "cumsum_rows": {
        "carry += tl.sum(x, axis=0) => carry += tl.sum(x)": "a tile of one dimension has one axis",
        "y = carry + tl.cumsum(x, axis=0) => y = carry + tl.cumsum(x)": "axis 0 is the default",
        "x = tl.load(x_row + offs_n, mask=offs_n < N, other=0.0).to(tl.float32) => x = tl.load(x_row + offs_n, mask=offs_n < N).to(tl.float32)": "masked lanes stand at the end of the last tile: no lane and no carry that counts comes after them",
        "x = tl.load(x_row + offs_n, mask=offs_n < N, other=0.0).to(tl.float32) => x = tl.load(x_row + offs_n, mask=offs_n < N, other=1.0).to(tl.float32)": "masked lanes stand at the end of the last tile: no lane and no carry that counts comes after them",
    },
    "gated_scan": {
        "if M > 0: => if True:": "Triton launches nothing over an empty grid",
        "if M > 0: => if M >= 0:": "Triton launches nothing over an empty grid",
        "row = tl.program_id(axis=0).to(tl.int64) => row = tl.program_id(axis=0)": "it takes more than 2^31 elements to tell, which no check can have",
        "last = torch.empty(M, dtype=torch.float32, device=b.device) => last = torch.empty(M, device=b.device)": "float32 is PyTorch's default",
        "carry = tl.sum(tl.where(lanes == BLOCK_T - 1, h, 0.0), axis=0) => carry = tl.sum(tl.where(lanes == BLOCK_T - 1, h, 0.0))": "a tile of one dimension has one axis",
    },
}
