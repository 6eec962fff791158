"""Mistakes of 92_debug_hard with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "maximum-not-kept not-squared rounded-first scale-missing"
PROMISES = ("mended-and-wrongly-named", "programs-in-reverse", "as-it-came-and-named")

# Sentences that several mistakes share.
SAYS = {
    "still-ill": "The complaint is still there: NaN as soon as the query sees no key of the first tile.",
    "maximum-from-above":
        "All scores are far below 0 here, and below the number with which the maximum begins. So it stays where it is, "
        "and the exponentials vanish.",
    "everything-seen": "The query sees all keys. The window ends at the last `window` of them.",
    "still-ill-2":
        "The complaint is still there: the check fills fresh memory with NaN, and it comes out wherever a piece of a "
        "row is empty.",
    "squared-in-half":
        "Squares, or sums of them, are beyond what half precision holds: float32 for both, and for `partials`.",
    "partials-in-half": "The partial sums were rounded to half precision. Let `partials` be float32.",
    "added-in-half": "Rows, or the sums of tiles, were rounded to half precision. Go to float32 first, and stay there.",
    "padding-in-slot-0": "A padding token went to slot 0. It goes nowhere.",
    "padding-in-the-last-slot": "A padding token went to the last slot, as in Python. It goes nowhere.",
    "first-tile-only": "Only the first tile of each expert is in the sum.",
    "whole-tiles-only": "A last tile that is not full is left out. It counts as far as it goes.",
    "rounded-up-to-tiles": "An expert's last tile counts rows of the next expert. The mask ends at `end`.",
    "from-row-0": "Each expert begins at row 0. Its rows begin where those of the one before it end.",
    "steps-of-one": "A tile begins at every row, so rows are added many times. Step by BLOCK_M.",
    "last-tile-only": "Only the last tile of each expert is in the sum. Where does `acc` begin, and how often?",
}

MUTANTS = {
    "shift_gradient": [
        Mutant("as-it-came-and-named", "y = dy{.clone() -> }", seen="property"),
        Mutant("mended-and-not-named",
            '{return "race" -> raise NotImplementedError("TODO: fill in shift_gradient_cause")}', seen="not-attempted"),
        Mutant("mended-and-wrongly-named", 'return "{race -> stale buffer}"', seen="property"),
        Mutant("grid-named", 'return "{race -> grid}"', seen="property"),
        Mutant("a-name-of-the-other-table", 'return "{race -> index}"', seen="property"),
        Mutant("a-view-is-no-copy", " y = dy.{clone( -> view(T, D}", seen="property"),
        Mutant("nothing-added", "dy{.clone(), dy -> , dy.clone()}",
            says="dy is as it was: was the result stored there?", seen=("property", "unwritten", "wrong-values")),
        Mutant("smaller-pieces", "y = dy{.clone() -> }", "{ -> block = 4\n    }grid = (triton",
            seen=("race", "property")),
        Mutant("a-barrier", "y = dy{.clone() -> }", "{ -> tl.debug_barrier()\n        }row = after", seen="property"),
        Mutant("loaded-as-volatile", "y = dy{.clone() -> }", "T), other=0.0{ -> , volatile=True})", seen="property"),
        Mutant("row-before", "{+ D, mask=mask_d & (t + 1 < T -> - D, mask=mask_d & (t > 0}",
            says="Each row got the row before it. In the gradient it is the row after it.", seen="wrong-values"),
        Mutant("last-row-reads-on", "{ & (t + 1 < T) -> }", seen="reads-outside"),
        Mutant("last-row-left-out", "{triton.cdiv(T, block -> max(T // block, 1}",
            seen=("property", "wrong-values", "wrong-tail")),
        Mutant("row-kept", "{        row = after\n -> }", seen="rows-after-first"),
        Mutant("a-left-out", "row + a{ * after -> fter}", says="The row after it was added as it is: `a` is missing."),
        Mutant("by-torch", seen=("no-kernel-launched", "torch-compute"),
            body="require_contiguous(dy)\n"
                "dy[:-1] += a * dy[1:]"),
        Mutant("returned-instead", "dy{.clone(), dy -> , torch.empty_like(dy)}",
            "{ -> global kept\n    kept = y\n    }shift_gradient_kernel[", seen="unwritten"),
        Mutant("borders-left-out", " & (t + 1 < {T -> tl.minimum(first + BLOCK_T, T)})",
            says="The last row of each piece got nothing. The row after it counts too, though it belongs to another "
                "program.",
            on_gpu=("property",)),
        Mutant("from-the-end", "y = dy{.clone() -> }", "offs = {first -> (tl.minimum(first + BLOCK_T, T) - 1)} *",
            "{row = tl.load … BLOCK_T, T)): -> for back in range(first, tl.minimum(first + BLOCK_T, T)):\n"
            "        t = first + tl.minimum(first + BLOCK_T, T) - 1 - back\n"
            "        row = tl.load(x_ptr + offs, mask=mask_d, other=0.0)}", "{        row = after\n -> }",
            "offs {+ -> -}= D", says="Each row got the new row after it, and not the old one.",
            seen=("property", "wrong-values")),
        Mutant("synchronised-before", "dy{.clone(), dy -> , dy\n    if dy.is_cuda:\n        torch.cuda.synchronize()}",
            seen="property"),
        Mutant("no-copy-by-to", " y = dy.{clone( -> to(dy.dtype}", seen="property"),
        Mutant("no-copy-by-contiguous", ", y = dy.{clone -> contiguous}", seen="property"),
        Mutant("border-read-first", "y = dy{.clone() -> }",
            "{ -> border = tl.load(x_ptr + (first + BLOCK_T) * D + offs_d, mask=mask_d & (first + BLOCK_T < T), "
            "other=0.0)\n"
            "    }row = tl.load(",
            "{ -> after = tl.where(t + 1 == first + BLOCK_T, border, after)\n        }row = after", seen="property",
            only="interpreter"),
        Mutant("programs-in-reverse", "y = dy{.clone() -> }",
            "{tl.program_id(axis=0 -> (tl.num_programs(axis=0) - 1 - tl.program_id(axis=0)}", seen="race"),
        Mutant("added-atomically", "y = dy{.clone() -> }", "{store(y_ptr + offs, row + -> atomic_add(y_ptr + offs,}",
            seen="property"),
        Mutant("taken-off", "+ offs, row {+ -> -} ",
            says="The row after it was taken off, and not added: a sign is turned round."),
        Mutant("a-on-the-row-itself", "offs, {row + a * -> a * row +}",
            says="`a` stands at the row itself. It belongs to the row after it."),
        Mutant("last-row-asks-for-itself", "mask_d & (t {+ 1  -> }", seen="reads-outside", only="interpreter"),
        Mutant("steps-of-the-block", "offs += {D -> BLOCK_D}", seen="out-of-bounds-store"),
        Mutant("uninitialised-named", 'return "{race -> uninitialised}"', seen="property"),
    ],
    "window_attend": [
        Mutant("as-it-came-and-named", 'm_i, l_i = {-1e38 -> float("-inf")}', says="still-ill"),
        Mutant("mended-and-not-named",
            '{return "infinity" -> raise NotImplementedError("TODO: fill in window_attend_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", 'return "{infinity -> overflow}', seen="property"),
        Mutant("padding-named", 'return "{infinity -> padding}', seen="property"),
        Mutant("starts-at-zero", "m_i, l_i = {-1e38 -> 0.0}", says="maximum-from-above"),
        Mutant("zero-for-NaN", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "{tl.store(o_ptr + offs_d, acc / l_i -> o = acc / l_i\n"
            "    tl.store(o_ptr + offs_d, tl.where(o == o, o, 0.0)}",
            says="The NaN is gone, and the result with it: 0 is no better. The keys in the window count.",
            seen=("still-ill", "zeros")),
        Mutant("unseen-keys-count", 'm_i, l_i = {-1e38 -> float("-inf")}', ' {float("-inf") -> 0.0})',
            says="Keys that are not seen take part, with the score 0 or another that is not far below the others. They "
                "must not take part at all.",
            seen="wrong-values"),
        Mutant("starts-at-minus-60000", "m_i, l_i = -{1e38 -> 60000.0}", says="maximum-from-above"),
        Mutant("starts-at-minus-100", "m_i, l_i = -{1e38 -> 100.0}", says="maximum-from-above"),
        Mutant("everything-seen", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "{(offs_t < T) & (offs_t >= T - window) -> offs_t < T}", says="everything-seen"),
        Mutant("window-from-zero-on", " >= {T - window -> 0}", says="everything-seen", seen="wrong-values"),
        Mutant("one-key-too-few", "& (offs_t >{= -> } T",
            says="The window is one key too short: the first one that counts is T - window.",
            seen=("nan", "still-ill", "zero-for-NaN")),
        Mutant("one-key-too-many", ">= T - window{ ->  - 1})",
            says="The window is one key too long: the first one that counts is T - window."),
        Mutant("begins-a-tile-too-late", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "start in range({0 -> tl.maximum(0, T - window + BLOCK_T - 1) // BLOCK_T * BLOCK_T}, ",
            seen=("wrong-values", "zeros", "nan")),
        Mutant("begins-unaligned-and-late", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "start in range({0 -> tl.maximum(0, T - window + 1)}, ", seen=("wrong-values", "one-key-too-few", "nan")),
        Mutant("maximum-not-kept", "{        m_i = m_new\n -> }", seen=("wrong-values", "nan", "overflow")),
        Mutant("by-torch", seen=("no-kernel-launched", "torch-compute"),
            body="T, D = k.shape\n"
                "if window < 1 or D & (D - 1):\n"
                "    raise ValueError('window')\n"
                "k, v = k[-window:].float(), v[-window:].float()\n"
                "return ((k @ q.float() * D**-0.5).softmax(0) @ v).to(q.dtype)"),
        Mutant("old-factor-alone-guarded", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "{l_i = l_i * tl.exp(m_i - m_new) -> old = tl.where(m_i == m_new, 1.0, tl.exp(m_i - m_new))\n"
            "        l_i = l_i * old}",
            " {tl.exp(m_i - m_new) -> old} ", says="still-ill", seen="nan"),
        Mutant("new-exponentials-alone-guarded", 'm_i, l_i = {-1e38 -> float("-inf")}',
            ".{exp(s - m_new -> where(seen, tl.exp(s - m_new), 0.0}", says="still-ill", seen="nan"),
        Mutant("a-little-in-the-divisor", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "offs_d, acc / {l_i -> (l_i + 1e-20)})", says="still-ill", seen="nan"),
        Mutant("starts-at-plus-infinity", 'm_i, l_i = {-1e38 -> float("inf")}',
            seen=("wrong-values", "nan", "zeros", "maximum-from-above")),
        Mutant("nan-of-p-made-zero", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "exp(s - m_new){ -> \n        p = tl.where(p == p, p, 0.0)}", says="still-ill"),
        Mutant("starts-at-minus-10000", "m_i, l_i = -{1e38 -> 1e4}", says="maximum-from-above"),
        Mutant("old-maximum-alone-made-zero", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "max(s, axis=0)){ -> \n        m_i = tl.where(m_i == float('-inf'), 0.0, m_i)}", says="still-ill"),
        Mutant("begins-before-the-first-key", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "start in range({0 -> T - window}, ", seen="reads-outside", only="interpreter"),
        Mutant("begins-behind-the-window", 'm_i, l_i = {-1e38 -> float("-inf")}', "start in range({0 -> window}, ",
            seen="nan"),
        Mutant("first-keys", "(offs_t {>= T - -> <}",
            says="The query sees the first `window` keys. It sees the last ones."),
        Mutant("scale-missing", "float32) {* scale -> }", seen="wrong-values"),
        Mutant("scores-in-half", "* k, axis=1){ -> .to(k_ptr.dtype.element_ty)}",
            says="The scores were rounded to half precision: what a large one loses counts in an exponential."),
        Mutant("weighted-in-half", "p[:, None]{ -> .to(v_ptr.dtype.element_ty)} *",
            "v_ptr + offs, mask=seen[:, None], other=0.0){.to(tl.float32) -> }",
            says="`p` and `v` were multiplied in half precision. All but the store is in float32 here."),
        Mutant("sum-not-brought-along", "{= l_i * tl.exp(m_i - m_new) + -> +=}",
            says="The sum of earlier tiles belongs to their maximum. Where a tile brings a larger one, `l_i` is "
                "multiplied by exp(m_i - m_new) first."),
        Mutant("values-not-brought-along", "{= acc * tl.exp(m_i - m_new) + -> +=}",
            says="What earlier tiles gave belongs to their maximum. Where a tile brings a larger one, `acc` is "
                "multiplied by exp(m_i - m_new) first."),
        Mutant("narrow-sum-named", 'return "{infinity -> narrow sum}', seen="property"),
    ],
    "row_squares": [
        Mutant("as-it-came-and-named", " = torch.{zeros -> empty}", says="still-ill-2"),
        Mutant("mended-and-not-named",
            '{return "uninitialised" -> raise NotImplementedError("TODO: fill in row_squares_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", '"{uninitialised -> stale buffer}', seen="property"),
        Mutant("race-named", '"{uninitialised -> race}', seen="property"),
        Mutant("one-place-less-is-read", " = torch.{zeros -> empty}", "< num_splits{ ->  - 1}, ", says="still-ill-2",
            seen=("last-piece-left-out", "wrong-values")),
        Mutant("full-pieces-only", " = torch.{zeros -> empty}", "num_splits, { -> full, }BLOCK_S:",
            " < {num_splits -> full},", "num_splits, { -> N // piece_size, }BLOCK_S=",
            says="A last piece that is shorter is not in the sum. It counts as far as it goes.",
            seen=("wrong-values", "last-piece-left-out")),
        Mutant("out-is-zeroed-instead", " = torch.{zeros -> empty}", " torch.{empty -> zeros}(M", says="still-ill-2"),
        Mutant("zero-in-a-full-piece-alone", " = torch.{zeros -> empty}",
            "{piece * piece_size < N -> (piece + 1) * piece_size <= N + piece_size}", says="still-ill-2", seen="nan"),
        Mutant("NaN-made-zero", " = torch.{zeros -> empty}",
            "{tl.store(out_ptr + row, tl.sum(partials, axis= -> total = tl.sum(partials, axis=0)\n"
            "    tl.store(out_ptr + row, tl.where(total == total, total, 0.}",
            seen=("reads-unwritten", "wrong-values", "zeros")),
        Mutant("NaN-of-each-place-made-zero", " = torch.{zeros -> empty}",
            "{ -> partials = tl.where(partials == partials, partials, 0.0)\n    }tl.store(out_ptr",
            seen=("property", "reads-unwritten")),
        Mutant("zeros-of-the-input-dtype", "), dtype={torch.float32 -> x.dtype}, device=", says="squared-in-half"),
        Mutant("ones-beside", " = torch.{zeros -> ones}",
            says="Each piece without columns adds a 1. Nothing is to be found in its place."),
        Mutant("kept-and-never-cleared", "torch.{zeros((M -> empty((M * 2}", says="still-ill-2",
            seen=("property", "wrong-values", "nan")),
        Mutant("last-piece-left-out", "{(offs < piece_size) & (offs_n < N) -> offs_n + BLOCK_N <= N}",
            says="The last piece with columns is not in the sum.", seen=("wrong-values", "full-pieces-only")),
        Mutant("not-squared", ", tl.sum(x{ * x -> }"),
        Mutant("squared-in-half", "{.to(tl.float32) -> }", says="squared-in-half"),
        Mutant("to-bfloat16", "to(tl.{float32 -> bfloat16})", says="rounded-first"),
        Mutant("to-float16", "to(tl.{float32 -> float16})", says="rounded-first", seen="wrong-values"),
        Mutant("partials-in-bfloat16", "), dtype=torch.{float32 -> bfloat16}, device=", says="partials-in-half"),
        Mutant("piece-rounded-to-bfloat16", "tl.sum(x * x, axis=0){ -> .to(tl.bfloat16)}", says="partials-in-half"),
        Mutant("by-torch", "{M, N = x.shape … return out -> return x.float().pow(2).sum(1)}",
            seen=("no-kernel-launched", "torch-compute")),
        Mutant("no-more-splits-than-sixteens",
            "{partials = torch.zeros -> num_splits = max(min(num_splits, triton.cdiv(N, 16)), 1)\n"
            "    partials = torch.empty}",
            says="still-ill-2", seen=("nan", "reads-unwritten")),
        Mutant("pieces-not-rounded", "{triton.cdiv(N, num_splits), 16) * 16 -> N, num_splits)}",
            " = torch.{zeros -> empty}", says="still-ill-2", seen=("nan", "reads-unwritten")),
        Mutant("other-of-the-load", " = torch.{zeros -> empty}",
            "num_splits, other=0.0{ -> , eviction_policy='evict_first'})", says="still-ill-2"),
        Mutant("places-chosen-again", " = torch.{zeros -> empty}",
            "num_splits, other=0.0){ -> \n    partials = tl.where(offs_s < num_splits, partials, 0.0)}",
            says="still-ill-2"),
        Mutant("first-places-cleared",
            "{zeros((M, num_splits), dtype=torch.float32, device=x.device) -> empty((M, num_splits), "
            "dtype=torch.float32, device=x.device)\n"
            "    partials[:, 0] = 0}",
            says="still-ill-2"),
        Mutant("last-places-cleared",
            "{zeros((M, num_splits), dtype=torch.float32, device=x.device) -> empty((M, num_splits), "
            "dtype=torch.float32, device=x.device)\n"
            "    partials[:, -1] = 0}",
            seen="reads-unwritten", only="interpreter"),
        Mutant("negative-ones-cut-off", " = torch.{zeros -> empty}",
            "{ -> partials = tl.maximum(partials, 0.0)\n    }tl.store(out_ptr", says="still-ill-2"),
        Mutant("one-piece-more-stored", " = torch.{zeros -> empty}", "piece_size <{ -> =} N", says="still-ill-2"),
        Mutant("one-place-a-row", "M,{ num_splits -> }),", seen="out-of-bounds-store", on_gpu=("property",)),
        Mutant("row-not-multiplied", " {* num_splits  -> }", seen="wrong-tail"),
        Mutant("added-to-fresh-memory", " = torch.{zeros -> empty}", "tl.{store -> atomic_add}(partials_ptr",
            seen="reads-unwritten", only="interpreter"),
        Mutant("into-the-next-piece", "{(offs < piece_size) & (offs_n < N) -> offs_n < N}",
            says="The last lanes of a tile take columns of the next piece, which counts them too. The mask ends with "
                "the piece."),
        Mutant("kept-from-call-to-call",
            "{torch.zeros((M, num_splits), dtype=torch.float32, device=x.device -> P.setdefault((M, num_splits), "
            "torch.zeros((M, num_splits), dtype=torch.float32, device=x.device)}",
            ("def row_squares(", "P = {}\n\n\ndef row_squares("), seen="property"),
        Mutant("padding-named", '"{uninitialised -> padding}', seen="property"),
    ],
    "cache_rows": [
        Mutant("as-it-came-and-named", "{ & (slot >= 0) -> }", seen="out-of-bounds-store"),
        Mutant("mended-and-not-named",
            '{return "unchecked index" -> raise NotImplementedError("TODO: fill in cache_rows_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", "{unchecked index -> stride}", seen="property"),
        Mutant("race-named", "{unchecked index -> race}", seen="property"),
        Mutant("slot-0-left-out", "mask_d & (slot >{= -> } 0",
            says="Slot 0 is a slot like any other: only negative ones are none."),
        Mutant("clamped", "{load(slots_ptr + t -> maximum(tl.load(slots_ptr + t), 0}", says="padding-in-slot-0",
            seen="race"),
        Mutant("last-slot-as-in-python", " cache_ptr, { -> S, }D,",
            "slots_ptr + t){ -> \n    slot = tl.where(slot < 0, S - 1, slot)}",
            "slots, cache, { -> cache.shape[0], }D,", says="padding-in-the-last-slot",
            seen=("raised", "race", "out-of-bounds-store")),
        Mutant("minus-one-alone", "mask_d & (slot {>= 0 -> != -1}", seen="out-of-bounds-store"),
        Mutant("turned-round", "mask_d & (slot {>= -> <} ", seen="unwritten"),
        Mutant("or-instead-of-and", "mask=mask_d {& -> |} ", seen=("out-of-bounds-store", "race", "wrong-values")),
        Mutant("zeros-are-stored",
            "{tl.store … slot >= 0) -> row = tl.where(slot >= 0, row, 0.0)\n"
            "    tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d}", seen="out-of-bounds-store"),
        Mutant("guarded-address-is-slot-0",
            "{slot * D + offs_d, row, mask=mask_d & (slot >= 0) -> tl.where(slot >= 0, slot, 0) * D + offs_d, row, "
            "mask=mask_d}",
            says="padding-in-slot-0", seen="race"),
        Mutant("padding-by-its-size",
            "{slot * D + offs_d, row, mask=mask_d & (slot >= 0) -> tl.abs(slot) * D + offs_d, row, mask=mask_d}",
            says="A padding token went to the slot of its number without the minus. It goes nowhere."),
        Mutant("only-the-load-is-masked", "{ & (slot >= 0) -> }", ", mask=mask_d{ ->  & (slot >= 0)},",
            seen="out-of-bounds-store"),
        Mutant("padding-refused", "{ & (slot >= 0) -> }",
            "{ ->     if bool((slots < 0).any()):\n        raise ValueError('padding')\n}    if cache.shape",
            seen="torch-compute"),
        Mutant("sorted-out-by-torch", "{ -> rows, slots = rows[slots >= 0], slots[slots >= 0]\n    }T, D = rows.shape",
            seen="torch-compute"),
        Mutant("by-torch",
            "{cache_rows_kernel[(T … next_power_of_2(D)) -> cache[slots[slots >= 0]] = rows[slots >= 0]}",
            seen=("no-kernel-launched", "torch-compute")),
        Mutant("chosen-at-the-value",
            "{row, mask=mask_d & (slot >= 0) -> tl.where(slot >= 0, row, tl.load(cache_ptr + slot * D + offs_d, "
            "mask=mask_d, other=0.0)), mask=mask_d}",
            seen="out-of-bounds-store"),
        Mutant("token-for-slot", "cache_ptr + {slot -> t} ",
            seen=("out-of-bounds-store", "wrong-values", "unwritten", "race")),
        Mutant("nothing-stored", "cache_rows_kernel[(T{ ->  - 1},)", says="No row was stored.",
            seen=("wrong-values", "unwritten", "wrong-tail", "unwritten-tail")),
        Mutant("mask-at-the-slot", "slots_ptr + t{ -> , mask=t >= 0, other=0})", "{ & (slot >= 0) -> }",
            seen="out-of-bounds-store"),
        Mutant("remainder-as-in-python", " cache_ptr, { -> S, }D,",
            "{slot * D + offs_d, row, mask=mask_d & (slot >= 0) -> (slot + S) % S * D + offs_d, row, mask=mask_d}",
            "slots, cache, { -> cache.shape[0], }D,", says="padding-in-the-last-slot"),
        Mutant("upper-end-alone", " cache_ptr, { -> S, }D,", "mask_d & (slot {>= 0 -> < S}",
            "slots, cache, { -> cache.shape[0], }D,", seen="out-of-bounds-store"),
        Mutant("asserted-alone",
            '{store(cache_ptr … slot >= 0) -> device_assert(slot >= 0, "slot")\n'
            "    tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d}", seen="out-of-bounds-store"),
        Mutant("token-asked", "mask_d & ({slot -> t} ", seen="out-of-bounds-store"),
        Mutant("address-asked", "mask_d & (slot {>= 0 -> * D + offs_d >= -D}", seen="out-of-bounds-store"),
        Mutant("row-times-the-condition", "{, mask=mask_d & (slot >= 0) ->  * (slot >= 0), mask=mask_d}",
            seen="out-of-bounds-store"),
        Mutant("clamped-by-torch", "{ ->     slots = slots.clamp(min=0)\n}    if cache.shape", seen="torch-compute"),
        Mutant("slots-of-the-block", " + slot * {D -> BLOCK_D} + ", seen="out-of-bounds-store"),
        Mutant("a-copy-is-filled", "{ -> cache = cache.clone()\n    }T, D = rows.shape", seen="unwritten"),
        Mutant("uninitialised-named", "{unchecked index -> uninitialised}", seen="property"),
    ],
    "expert_sums": [
        Mutant("as-it-came-and-named", "while row {< -> !=} end", seen="timeout"),
        Mutant("mended-and-not-named",
            '{return "endless loop" -> raise NotImplementedError("TODO: fill in expert_sums_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", ' "{endless loop -> padding}', seen="property"),
        Mutant("race-named", ' "{endless loop -> race}', seen="property"),
        Mutant("one-turn-alone", "{while -> if} row < end", says="first-tile-only",
            seen=("zeros", "race", "wrong-values")),
        Mutant("steps-of-nothing", "row += {BLOCK_M -> 0}", seen="timeout"),
        Mutant("no-step", "{        row += BLOCK_M\n -> }", seen="timeout"),
        Mutant("whole-tiles-alone", "while row {< -> + BLOCK_M <=} end", says="whole-tiles-only"),
        Mutant("steps-back", "while row {< -> !=} end",
            "row {+= BLOCK_M -> = tl.where(row + BLOCK_M > end, row - 1, row + BLOCK_M)}", seen="wrong-values"),
        Mutant("last-row-left-out", "(offs_m < end{ ->  - 1})",
            says="The last row of each expert is left out: rows go up to `end`, which is none of them.",
            seen="wrong-values"),
        Mutant("mask-without-the-end", "(offs_m < end{ ->  + BLOCK_M})", says="rounded-up-to-tiles",
            seen=("reads-outside", "wrong-values")),
        Mutant("end-is-rounded-up",
            "{while row < -> end = row + (end - row + BLOCK_M - 1) // BLOCK_M * BLOCK_M\n    while row !=} end",
            says="rounded-up-to-tiles", seen=("reads-outside", "wrong-values")),
        Mutant("end-is-rounded-down",
            "{while row < -> end = row + (end - row) // BLOCK_M * BLOCK_M\n    while row !=} end",
            says="whole-tiles-only"),
        Mutant("begins-at-0", "{while row < end -> for row in range(0, end, BLOCK_M)}",
            "{        row += BLOCK_M\n -> }", says="from-row-0"),
        Mutant("range-without-a-step", "{while row < end -> for row in range(row, end)}",
            "{        row += BLOCK_M\n -> }", says="steps-of-one"),
        Mutant("steps-of-one", "row += {BLOCK_M -> 1}", says="steps-of-one"),
        Mutant("acc-begins-in-the-loop", "while row < end:{ -> \n        acc = tl.zeros((BLOCK_D,), dtype=tl.float32)}",
            says="last-tile-only"),
        Mutant("every-expert-from-row-0", "{ - 1, mask=e > 0, other=0) -> ) * 0}", says="from-row-0"),
        Mutant("last-tile-alone", "acc {+ -> }= tl.sum(", says="last-tile-only"),
        Mutant("refuses-ragged-experts",
            "{ -> if x.shape[0] % block:\n        raise ValueError('pad the experts')\n    }out = torch.empty",
            "while row {< -> !=} end", seen=("timeout", "torch-compute")),
        Mutant("by-torch", seen=("no-kernel-launched", "torch-compute"),
            body="require_contiguous(x, ends)\n"
                "total = torch.cat((torch.zeros_like(x[:1], dtype=torch.float32), x.float().cumsum(0)))\n"
                "total = total[ends]\n"
                "return torch.cat((total[:1], total[1:] - total[:-1]))"),
        Mutant("less-or-equal-and-no-mask", "while row <{ -> =} end",
            "{(offs_m < end) & (offs_d < D) -> offs_d < D + 0 * offs_m}", says="rounded-up-to-tiles",
            seen=("reads-outside", "wrong-values")),
        Mutant("until-the-end-is-met-or-all-rows", "while {row < end -> (row != end) & (row != end + BLOCK_M)}",
            seen=("timeout", "wrong-values")),
        Mutant("stops-after-a-thousand", "while {row < end -> (row != end) & (row < 1000)}", "(offs_m < {end -> 1000})",
            seen="reads-outside"),
        Mutant("while-equal", "while row {< -> ==} end", seen="zeros"),
        Mutant("while-greater", "while row {< -> >} end", seen="zeros"),
        Mutant("one-behind-the-end", "while row {< end -> != end + 1}:", seen="timeout"),
        Mutant("last-tile-left-out", "{while row < end -> for row in range(row, end - BLOCK_M, BLOCK_M)}",
            "{        row += BLOCK_M\n -> }",
            says="The last tile of each expert is left out, whether it is full or not."),
        Mutant("one-step-to-the-end", "row += {BLOCK_M -> end - row}", says="first-tile-only"),
        Mutant("begin-forgotten-in-the-range", "{while row < end -> for row in range(0, end - row, BLOCK_M)}",
            "{        row += BLOCK_M\n -> }", seen="rows-after-first"),
        Mutant("end-of-the-next-expert", "(ends_ptr + e{ ->  + 1})", seen="timeout"),
        Mutant("one-row-too-many", " (offs_m <{ -> =} end", seen="reads-outside", only="interpreter"),
        Mutant("added-in-half", "{.to(tl.float32) -> }"),
        Mutant("to-float16", "to(tl.{float32 -> float16})", says="added-in-half", seen="wrong-values"),
        Mutant("to-bfloat16", "to(tl.{float32 -> bfloat16})", says="added-in-half"),
        Mutant("tiles-rounded-to-float16", "tl.sum(x, axis=0){ -> .to(tl.float16)}", says="added-in-half",
            seen="wrong-values"),
        Mutant("sum-in-the-input-dtype", "dtype={tl.float32 -> x_ptr.dtype.element_ty}", seen="does-not-compile"),
        Mutant("two-turns-at-most", "{while row < end -> turns = 0\n    while (row != end) & (turns < 2)}",
            "row += BLOCK_M{ -> \n        turns += 1}", seen="wrong-tail"),
        Mutant("unchecked-index-named", ' "{endless loop -> unchecked index}', seen="property"),
    ],
}

VARIANTS = {
    "shift_gradient": [
        Variant("one-program-has-all-rows", "y = dy{.clone() -> }",
            "{grid = (triton.cdiv(T, block -> block = max(T, 1)\n    grid = (min(T, 1}"),
        Variant("copied-into-memory-of-its-own", "{dy.clone(), dy -> torch.empty_like(dy), dy\n    x.copy_(dy)}"),
        Variant("names-of-its-own", "{x, y = dy.clone() -> before = dy.clone()\n    x, y = before}"),
        Variant("programs-of-columns",
            "{x, y = dy.clone … next_power_of_2(D)\n"
            "     -> shift_gradient_kernel[(triton.cdiv(D, 4),)](dy, a, T, D, BLOCK_D=4}", kernels='''
@triton.jit
def shift_gradient_kernel(y_ptr, a, T, D, BLOCK_D: tl.constexpr):
    offs_d = tl.program_id(axis=0) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask_d = offs_d < D
    y_ptrs = y_ptr + offs_d
    row = tl.load(y_ptrs, mask=mask_d & (T > 0), other=0.0)
    for t in range(T):
        after = tl.load(y_ptrs + D, mask=mask_d & (t + 1 < T), other=0.0)
        tl.store(y_ptrs, row + a * after, mask=mask_d)
        row = after
        y_ptrs += D
'''),
        Variant("tiles-from-a-copy",
            "{T, D = dy.shape … next_power_of_2(D)\n"
            "     -> n = dy.numel()\n"
            "    shift_gradient_kernel[(triton.cdiv(n, 64),)](dy.clone(), dy, a, n, dy.shape[1], BLOCK=64}", kernels='''
@triton.jit
def shift_gradient_kernel(x_ptr, y_ptr, a, n, D, BLOCK: tl.constexpr):
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    after = tl.load(x_ptr + offs + D, mask=offs + D < n, other=0.0)
    tl.store(y_ptr + offs, x + a * after, mask=offs < n)
'''),
        Variant("copied-by-torch-clone", " y = {dy.clone( -> torch.clone(dy}"),
        Variant("detached-and-copied", ", y = dy.{ -> detach().}clone"),
        Variant("elements-copied", " = {dy.clone(), -> torch.empty_like(dy), dy\n    x[:] =}"),
        Variant("written-elsewhere-and-brought-back", "dy{.clone(), dy -> , torch.empty_like(dy)}",
            "next_power_of_2(D)\n    )\n{ ->     dy.copy_(y)\n}"),
        Variant("brought-back-by-a-slice", "dy{.clone(), dy -> , torch.empty_like(dy)}",
            "next_power_of_2(D)\n    )\n{ ->     dy[:] = y\n}"),
        Variant("only-the-borders-are-kept", "y_ptr,{ ->  borders_ptr,}",
            "{after = tl … other=0.0) -> last = (t + 1) % BLOCK_T == 0\n"
            "        after = tl.load(x_ptr + offs + D, mask=mask_d & (t + 1 < T) & (not last), other=0.0)\n"
            "        border = tl.load(borders_ptr + ((t + 1) // BLOCK_T - 1) * D + offs_d, mask=mask_d & (t + 1 < "
            "T) & last, other=0.0)\n"
            "        after += border}",
            "{.clone(), dy -> , dy\n"
            "    borders = dy[block::block].clone()}", "{ -> borders, }a, T, D, BLOCK_T"),
        Variant("columns-walked-by-index",
            "{x, y = dy.clone … next_power_of_2(D)\n"
            "     -> shift_gradient_kernel[(triton.cdiv(D, block),)](dy, a, T, D, BLOCK_D=block}", kernels='''
@triton.jit
def shift_gradient_kernel(y_ptr, a, T, D, BLOCK_D: tl.constexpr):
    offs_d = tl.program_id(axis=0) * BLOCK_D + tl.arange(0, BLOCK_D)
    mask_d = offs_d < D
    for t in range(0, T - 1):
        row = tl.load(y_ptr + t * D + offs_d, mask=mask_d, other=0.0)
        after = tl.load(y_ptr + (t + 1) * D + offs_d, mask=mask_d, other=0.0)
        tl.store(y_ptr + t * D + offs_d, row + a * after, mask=mask_d)
'''),
        Variant("borders-kept-by-a-kernel",
            "{    x, y = dy. … (), dy\n -> }",
            "{shift_gradient_kernel[grid … next_power_of_2(D)\n"
            "     -> if T == 0:\n"
            "        return\n"
            "    kept = torch.empty((grid[0], D), dtype=dy.dtype, device=dy.device)\n"
            "    wide = triton.next_power_of_2(D)\n"
            "    keep_kernel[grid](dy, kept, T, D, BLOCK_T=block, BLOCK_D=wide)\n"
            "    shift_gradient_kernel[grid](dy, kept, a, T, D, BLOCK_T=block, BLOCK_D=wide}", kernels='''
@triton.jit
def keep_kernel(x_ptr, kept_ptr, T, D, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
    p = tl.program_id(axis=0).to(tl.int64)
    offs_d = tl.arange(0, BLOCK_D)
    first = (p + 1) * BLOCK_T
    row = tl.load(x_ptr + first * D + offs_d, mask=(offs_d < D) & (first < T), other=0.0)
    tl.store(kept_ptr + p * D + offs_d, row, mask=offs_d < D)


@triton.jit
def shift_gradient_kernel(x_ptr, kept_ptr, a, T, D, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
    p = tl.program_id(axis=0).to(tl.int64)
    offs_d = tl.arange(0, BLOCK_D)
    mask_d = offs_d < D
    first = p * BLOCK_T
    last = tl.minimum(first + BLOCK_T, T)
    row = tl.load(x_ptr + first * D + offs_d, mask=mask_d & (first < T), other=0.0)
    for t in range(first, last):
        after = tl.load(x_ptr + (t + 1) * D + offs_d, mask=mask_d & (t + 1 < last), other=0.0)
        if t + 1 == last:
            after = tl.load(kept_ptr + p * D + offs_d, mask=mask_d, other=0.0)
        tl.store(x_ptr + t * D + offs_d, row + a * after, mask=mask_d)
        row = after
'''),
        Variant("copied-by-a-kernel",
            "{x, y = dy.clone … next_power_of_2(D)\n"
            "     -> n = dy.numel()\n"
            "    x = torch.empty_like(dy)\n"
            "    grid = (triton.cdiv(n, 64),)\n"
            "    if n:\n"
            "        copy_kernel[grid](dy, x, n, BLOCK=64)\n"
            "        shift_gradient_kernel[grid](x, dy, a, n, D, BLOCK=64}", kernels='''
@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)


@triton.jit
def shift_gradient_kernel(x_ptr, y_ptr, a, n, D, BLOCK: tl.constexpr):
    offs = tl.program_id(axis=0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)
    after = tl.load(x_ptr + offs + D, mask=offs + D < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + offs, x + a * after, mask=offs < n)
'''),
    ],
    "window_attend": [
        Variant("begins-at-the-window", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "start in range({0 -> tl.maximum(0, T - window)}, "),
        Variant("begins-at-its-tile", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "start in range({0 -> tl.maximum(0, T - window) // BLOCK_T * BLOCK_T}, "),
        Variant("empty-tiles-are-jumped-over", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "max(s, axis=0)){ -> \n        m_new = tl.maximum(m_new, -1e30)}"),
        Variant("large-and-finite-scores", "m_i, l_i = -{1e38 -> 1e30}", ' {float("-inf") -> -1e38}'),
        Variant("maximum-where-it-is-one", 'm_i, l_i = {-1e38 -> float("-inf")}',
            '{ -> m_new = tl.where(m_new == float("-inf"), -1e38, m_new)\n        }p = tl.exp(s -'),
        Variant("exponentials-masked", "{exp(s - m_new -> where(seen, tl.exp(s - m_new), 0.0}"),
        Variant("smallest-float32", "m_i, l_i = -{1e38 -> 3.4e38}"),
        Variant("keys-cut-by-the-wrapper", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "{ -> k, v = k[max(T - window, 0) :], v[max(T - window, 0) :]\n    T = len(k)\n    }o = torch.empty_like"),
        Variant("one-tile-for-all", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "{ -> block = triton.next_power_of_2(T)\n    }o = torch.empty_like"),
        Variant("both-factors-guarded", 'm_i, l_i = {-1e38 -> float("-inf")}',
            ".{exp(s - m_new -> where(seen, tl.exp(s - m_new), 0.0)\n"
            '        old = tl.where(m_i == float("-inf"), 0.0, tl.exp(m_i - m_new)}',
            "l_i * {tl.exp(m_i - m_new) -> old} + ", " {tl.exp(m_i - m_new) -> old} "),
        Variant("finite-scores-alone", ' {float("-inf") -> -1e38}'),
        Variant("empty-tiles-jumped-by-if", 'm_i, l_i = {-1e38 -> float("-inf")}',
            '{        s = tl.where(seen, tl.sum(q[None, :] * k, axis=1), float("-inf")) … m_i = m_new\n'
            " ->         if start + BLOCK_T > T - window:\n"
            '            s = tl.where(seen, tl.sum(q[None, :] * k, axis=1), float("-inf"))\n'
            "            m_new = tl.maximum(m_i, tl.max(s, axis=0))\n"
            "            p = tl.exp(s - m_new)\n"
            "            l_i = l_i * tl.exp(m_i - m_new) + tl.sum(p, axis=0)\n"
            "            acc = acc * tl.exp(m_i - m_new) + tl.sum(p[:, None] * v, axis=0)\n"
            "            m_i = m_new\n}"),
        Variant("begins-at-the-last-windows-tile", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "start in range({0 -> (T - tl.minimum(window, T)) // BLOCK_T * BLOCK_T}, "),
        Variant("from-the-last-tile-back", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "{start in range(0, T, BLOCK_T): -> back in range(0, T, BLOCK_T):\n"
            "        start = (T - 1) // BLOCK_T * BLOCK_T - back}"),
        Variant("maximum-in-a-walk-of-its-own", replace='''
@triton.jit
def window_attend_kernel(q_ptr, k_ptr, v_ptr, o_ptr, T, first, scale, D: tl.constexpr, BLOCK_T: tl.constexpr):
    offs_d = tl.arange(0, D)
    q = tl.load(q_ptr + offs_d).to(tl.float32) * scale
    top = float("-inf")
    for start in range(first, T, BLOCK_T):
        offs_t = start + tl.arange(0, BLOCK_T)
        k = tl.load(k_ptr + offs_t[:, None] * D + offs_d[None, :], mask=(offs_t < T)[:, None], other=0.0).to(tl.float32)
        s = tl.where(offs_t < T, tl.sum(q[None, :] * k, axis=1), float("-inf"))
        top = tl.maximum(top, tl.max(s, axis=0))
    total = 0.0
    acc = tl.zeros((D,), dtype=tl.float32)
    for start in range(first, T, BLOCK_T):
        offs_t = start + tl.arange(0, BLOCK_T)
        offs = offs_t[:, None] * D + offs_d[None, :]
        k = tl.load(k_ptr + offs, mask=(offs_t < T)[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_ptr + offs, mask=(offs_t < T)[:, None], other=0.0).to(tl.float32)
        s = tl.where(offs_t < T, tl.sum(q[None, :] * k, axis=1), float("-inf"))
        p = tl.exp(s - top)
        total += tl.sum(p, axis=0)
        acc += tl.sum(p[:, None] * v, axis=0)
    tl.store(o_ptr + offs_d, acc / total)


def window_attend(q, k, v, window, block=16):
    require_contiguous(q, k, v)
    T, D = k.shape
    if window < 1 or T < 1 or D & (D - 1):
        raise ValueError("it takes a key, a window of 1 or more, and a power of two for D")
    o = torch.empty_like(q)
    window_attend_kernel[(1,)](q, k, v, o, T, max(T - window, 0), D**-0.5, D=D, BLOCK_T=block)
    return o
'''),
        Variant("begins-with-a-score",
            "{m_i, l_i = -1e38 -> last = tl.load(k_ptr + (T - 1) * D + offs_d).to(tl.float32)\n"
            "    m_i, l_i = tl.sum(q * last, axis=0)}"),
        Variant("empty-maximum-is-zero", 'm_i, l_i = {-1e38 -> float("-inf")}',
            "max(s, axis=0)){ -> \n        m_new = tl.where(m_new == float('-inf'), 0.0, m_new)}"),
    ],
    "row_squares": [
        Variant("every-program-stores", " = torch.{zeros -> empty}",
            "{if piece * piece_size < N: … place = row * tl.num_programs(axis=1) + piece\n"
            "     -> x = tl.load(x_ptr + row * N + offs_n, mask=mask, other=0.0).to(tl.float32)\n"
            "    place = row * tl.num_programs(axis=1) + piece\n}"),
        Variant("new-zeros",
            "{zeros((M, num_splits), dtype=torch.float32, device=x.device -> empty((M, num_splits), "
            "dtype=torch.float32, device=x.device).fill_(0.0}"),
        Variant("full-of-zeros", "{zeros((M, num_splits) -> full((M, num_splits), 0.0}"),
        Variant("only-written-places-are-read", " = torch.{zeros -> empty}", "num_splits, { -> used, }BLOCK_S:",
            " < {num_splits -> used},", "num_splits, { -> triton.cdiv(N, piece_size), }BLOCK_S="),
        Variant("a-zero-is-stored-too", " = torch.{zeros -> empty}",
            "        tl.store(partials_ptr + place, tl.sum(x * x, axis=0))\n"
            "{ ->     else:\n"
            "        tl.store(partials_ptr + row * tl.num_programs(axis=1) + piece, 0.0)\n}"),
        Variant("no-more-programs-than-pieces",
            "{partials = torch.zeros -> num_splits = triton.cdiv(N, piece_size)\n    partials = torch.empty}"),
        Variant("zeroed-where-it-lies",
            "{zeros((M, num_splits), dtype=torch.float32, device=x.device -> empty((M, num_splits), "
            "dtype=torch.float32, device=x.device)\n"
            "    partials.zero_(}"),
        Variant("new-zeros-of-x", "{torch.zeros … x.device -> x.new_zeros((M, num_splits), dtype=torch.float32}"),
        Variant("places-with-columns-are-read", " = torch.{zeros -> empty}",
            "out_ptr, { -> N, piece_size, }num_splits,",
            "{offs_s < num_splits -> (offs_s < num_splits) & (offs_s * piece_size < N)}",
            "out, { -> N, piece_size, }num_splits,"),
        Variant("zero-first-and-then-the-sum", " = torch.{zeros -> empty}",
            "{ -> tl.store(partials_ptr + row * tl.num_programs(axis=1) + piece, 0.0)\n    }if piece * piece_size"),
        Variant("added-to-the-result-at-once",
            "{partials = … (num_splits) -> out = torch.zeros(M, dtype=torch.float32, device=x.device)\n"
            "    block = triton.next_power_of_2(piece_size)\n"
            "    row_squares_kernel[(M, num_splits)](x, out, N, piece_size, BLOCK_N=block}", kernels='''
@triton.jit
def row_squares_kernel(x_ptr, out_ptr, N, piece_size, BLOCK_N: tl.constexpr):
    row, piece = tl.program_id(axis=0).to(tl.int64), tl.program_id(axis=1)
    offs = tl.arange(0, BLOCK_N)
    offs_n = piece * piece_size + offs
    mask = (offs < piece_size) & (offs_n < N)
    x = tl.load(x_ptr + row * N + offs_n, mask=mask, other=0.0).to(tl.float32)
    tl.atomic_add(out_ptr + row, tl.sum(x * x, axis=0))
'''),
        Variant("one-program-a-row",
            "{    piece_size … device)\n"
            " -> }", "{row_partials_kernel … (num_splits) -> row_squares_kernel[(M,)](x, out, N, BLOCK_N=64}",
            kernels='''
@triton.jit
def row_squares_kernel(x_ptr, out_ptr, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(axis=0).to(tl.int64)
    total = 0.0
    for start in range(0, N, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        x = tl.load(x_ptr + row * N + offs_n, mask=offs_n < N, other=0.0).to(tl.float32)
        total += tl.sum(x * x, axis=0)
    tl.store(out_ptr + row, total)
'''),
        Variant("condition-that-always-holds", " = torch.{zeros -> empty}", "{* piece_size < N -> >= 0}"),
        Variant("cleared-by-a-kernel",
            "{zeros((M, num_splits), dtype=torch.float32, device=x.device -> empty((M, num_splits), "
            "dtype=torch.float32, device=x.device)\n"
            "    zero_kernel[(M,)](partials, num_splits, BLOCK_S=triton.next_power_of_2(num_splits)}",
            "{ -> @triton.jit\n"
            "def zero_kernel(partials_ptr, num_splits, BLOCK_S: tl.constexpr):\n"
            "    offs = tl.arange(0, BLOCK_S)\n"
            "    row = tl.program_id(axis=0).to(tl.int64)\n"
            "    tl.store(partials_ptr + row * num_splits + offs, offs * 0.0, mask=offs < num_splits)\n"
            "\n"
            "\n"
            "}def row_squares("),
        Variant("pieces-of-any-length", " = torch.{zeros -> empty}",
            "{piece_size = triton.cdiv(triton.cdiv(N, num_splits), 16) * 16 -> num_splits = min(num_splits, N)\n"
            "    piece_size = triton.cdiv(N, num_splits)\n"
            "    num_splits = triton.cdiv(N, piece_size)}"),
        Variant("pieces-side-by-side",
            "{row * tl.num_programs(axis=1) + piece -> piece * tl.num_programs(axis=0) + row}",
            "{row * num_splits + offs_s -> offs_s * tl.num_programs(axis=0) + row}"),
    ],
    "cache_rows": [
        Variant("by-a-branch",
            "{tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0) -> if slot >= 0:\n"
            "        tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d}"),
        Variant("mask-of-its-own",
            "{tl.store(cache_ptr + slot * D + offs_d, row, mask=mask_d & (slot >= 0) -> kept = mask_d & (slot > "
            "-1)\n"
            "    tl.store(cache_ptr + slot * D + offs_d, row, mask=kept}"),
        Variant("row-loaded-for-slots-alone", ", mask=mask_d{ ->  & (slot >= 0)},"),
        Variant("upper-end-too", " cache_ptr, { -> S, }D,", "& (slot >= 0){ ->  & (slot < S)})",
            "slots, cache, { -> cache.shape[0], }D,"),
        Variant("returns-early", "slots_ptr + t){ -> \n    if slot < 0:\n        return}", "{ & (slot >= 0) -> }"),
        Variant("not-negative", "mask_d & {(slot >= -> ~(slot <}"),
        Variant("no-columns-for-nobody", "{mask_d & (slot >= -> offs_d < tl.where(slot >= 0, D,}"),
        Variant("address-held-back-too", "cache_ptr + {slot -> tl.maximum(slot, 0)} "),
        Variant("mask-of-all", "mask_d = {offs_d < D -> (offs_d < D) & (slot >= 0)}", "mask_d{ & (slot >= 0) -> }"),
        Variant("pointer-moved", "{tl.store(cache_ptr + slot * D -> cache_ptr += slot * D\n    tl.store(cache_ptr}"),
        Variant("columns-in-blocks", "{triton.next_power_of_2(D) -> 16}", kernels='''
@triton.jit
def cache_rows_kernel(rows_ptr, slots_ptr, cache_ptr, D, BLOCK_D: tl.constexpr):
    t = tl.program_id(axis=0).to(tl.int64)
    slot = tl.load(slots_ptr + t)
    if slot >= 0:
        for start in range(0, D, BLOCK_D):
            offs_d = start + tl.arange(0, BLOCK_D)
            row = tl.load(rows_ptr + t * D + offs_d, mask=offs_d < D, other=0.0)
            tl.store(cache_ptr + slot * D + offs_d, row, mask=offs_d < D)
'''),
        Variant("four-tokens-a-program",
            "{T,)](rows, slots, cache, D -> triton.cdiv(T, 4),)](rows, slots, cache, T, D, BLOCK_T=4}", kernels='''
@triton.jit
def cache_rows_kernel(rows_ptr, slots_ptr, cache_ptr, T, D, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
    offs_t = tl.program_id(axis=0).to(tl.int64) * BLOCK_T + tl.arange(0, BLOCK_T)
    slots = tl.load(slots_ptr + offs_t, mask=offs_t < T, other=-1)
    offs_d = tl.arange(0, BLOCK_D)
    kept = (slots >= 0)[:, None] & (offs_d < D)[None, :]
    rows = tl.load(rows_ptr + offs_t[:, None] * D + offs_d[None, :], mask=kept, other=0.0)
    tl.store(cache_ptr + slots[:, None] * D + offs_d[None, :], rows, mask=kept)
'''),
        Variant("length-of-nobody-is-0", "slots_ptr + t){ -> \n    D_kept = tl.where(slot < 0, 0, D)}",
            "{mask_d & (slot >= 0) -> offs_d < D_kept}"),
        Variant("as-an-unsigned-number", " cache_ptr, { -> S, }D,", "mask_d & (slot{ >= 0 -> .to(tl.uint64) < S}",
            "slots, cache, { -> cache.shape[0], }D,"),
    ],
    "expert_sums": [
        Variant("by-range", "{while row < end -> for row in range(row, end, BLOCK_M)}",
            "{        row += BLOCK_M\n -> }"),
        Variant("greater", "while {row < end -> end > row}"),
        Variant("one-turn-more", "while row <{ -> =} end"),
        Variant("count-of-tiles",
            "{while row < end -> tiles = (end - row + BLOCK_M - 1) // BLOCK_M\n    for _ in range(tiles)}"),
        Variant("what-is-left", "while {row < end -> end - row > 0}"),
        Variant("not-at-or-behind", "while {row < end -> not (row >= end)}"),
        Variant("last-step-is-shorter", "while row {< -> !=} end", "row += {BLOCK_M -> tl.minimum(BLOCK_M, end - row)}"),
        Variant("end-is-met", "while row {< -> !=} end", "row {+= BLOCK_M -> = tl.minimum(row + BLOCK_M, end)}"),
        Variant("end-of-the-tiles",
            "{while row < end -> last = row + tl.cdiv(end - row, BLOCK_M) * BLOCK_M\n    while row != last}"),
        Variant("summed-over-rows-at-the-end", "zeros(({BLOCK_D, -> BLOCK_M, BLOCK_D}", "{tl.sum(x, axis=0) -> x}",
            "offs_out, {acc -> tl.sum(acc, axis=0)},"),
        Variant("number-of-rows-counts", "{while row < end -> for done in range(0, end - row, BLOCK_M)}",
            "offs_m = row + { -> done + }tl", "{        row += BLOCK_M\n -> }"),
        Variant("whole-tiles-of-x", "{while row < end -> for row in range(row // BLOCK_M * BLOCK_M, end, BLOCK_M)}",
            "mask = (offs_m { -> >= begin) & (offs_m }<", " > 0, other=0){ -> \n    begin = row}",
            "{        row += BLOCK_M\n -> }"),
        Variant("a-program-for-each-row",
            "{D = ends.shape … next_power_of_2(D)\n"
            "     -> (M, D) = ends.shape[0], x.shape\n"
            "    out = torch.zeros((E, D), dtype=torch.float32, device=x.device)\n"
            "    expert_sums_kernel[(M,)](x, ends, out, M, D, E, BLOCK_D=triton.next_power_of_2(D)}",
            only="interpreter", kernels='''
@triton.jit
def expert_sums_kernel(x_ptr, ends_ptr, out_ptr, M, D, E, BLOCK_D: tl.constexpr):
    m = tl.program_id(axis=0)
    e = 0
    for i in range(E):
        if tl.load(ends_ptr + i) <= m:
            e = i + 1
    offs_d = tl.arange(0, BLOCK_D)
    if e < E:
        x = tl.load(x_ptr + m * D + offs_d, mask=offs_d < D, other=0.0).to(tl.float32)
        tl.atomic_add(out_ptr + e * D + offs_d, x, mask=offs_d < D)
'''),
        Variant("one-row-a-turn", "ends, block={16 -> 1}"),
        Variant("from-the-end-back",
            "{while row < end -> start = row\n    row = end - BLOCK_M\n    while row + BLOCK_M > start}",
            "mask = (offs_m { -> >= start) & (offs_m }<", "row {+ -> -}= BLOCK_M"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "window_attend": {
        'm_i, l_i = -1e38, 0.0 => m_i, l_i = -1e38, 1.0': "the first tile that is seen multiplies it by an exponential that is 0",
    },
    "row_squares": {
        'partials = torch.zeros((M, num_splits), dtype=torch.float32, device=x.device) => partials = torch.zeros((M, num_splits), device=x.device)': "float32 is what zeros makes",
    },
    "expert_sums": {
        'while row < end: => while row <= end:': "one turn more, in which every lane is masked",
    },
}
