"""Mistakes of 90_debug with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "not-squared rounded-first"
PROMISES = ("mended-and-wrongly-named", "grid-named", "as-it-came-and-named")

PADDING_COUNTS = "{tl.where(mask_n, x - mean, 0.0) -> x - mean}"
CLAMPED = "{z_ptrs, mask=target >= 0 -> z_ptr + offs_t * V + tl.maximum(target, 0), mask=mask_t}"

# Sentences that several mistakes share.
SAYS = {
    "still-ill": "The complaint is still there: right where N is a power of two, or where the mean is 0.",
    "still-ill-2":
        "The complaint is still there: right in float32, and too small in half precision where the sum is long.",
    "last-row-left-out": "The last row is not in the sum.",
    "still-ill-3": "The complaint is still there: the first prompt is right, all others go on counting.",
    "prompt-for-position": "The angles go by the number of the prompt. They go by the position in the prompt.",
    "table-by-the-row-of-x":
        "A row of x has D numbers, and a row of the tables half as many. A row of the tables has HALF numbers: token "
        "t's row begins at position * HALF.",
    "last-word-instead": "A token that does not count got the logit of the last word. Its result is 0.",
    "only-the-skipped": "The condition is turned round: tokens that count got 0.",
}

MUTANTS = {
    "standardise": [
        Mutant("as-it-came-and-named", PADDING_COUNTS, says="still-ill"),
        Mutant("mended-and-not-named",
            '{return "padding" -> raise NotImplementedError("TODO: fill in standardise_cause")}', seen="not-attempted"),
        Mutant("mended-and-wrongly-named", 'return "{padding -> cancellation}', seen="property"),
        Mutant("a-name-of-no-table", 'return "{padding -> mask}', seen="property"),
        Mutant("capital-letter", 'return "{padding -> Padding}', seen="property"),
        Mutant("name-without-quotes", 'return {"padding" -> padding}', seen="property"),
        Mutant("zeros-left-out", "tl.where({mask_n -> x != 0}",
            says="A number of the row that is 0 was taken for a masked lane. Ask the mask, not the value."),
        Mutant("no-name-returned", 'return "{padding -> }', seen="property"),
        Mutant("masked-at-the-store-alone", PADDING_COUNTS,
            "{tl.store … + eps) -> y = tl.where(mask_n, centred * tl.rsqrt(var + eps), 0.0)\n"
            "    tl.store(y_ptr + pid_m * N + offs_n, y}", says="still-ill"),
        Mutant("divided-by-the-lanes", "centred, axis=0) / {N -> BLOCK_N}",
            says="The variance was divided by the lanes of the tile. A row has N elements."),
        Mutant("still-counted", PADDING_COUNTS, "centred, axis=0) / {N -> BLOCK_N}",
            says="Now the variance is divided by the lanes of the tile, and still counts all of them."),
        Mutant("padded-row", PADDING_COUNTS, "x, axis=0) / {N -> BLOCK_N}", "centred, axis=0) / {N -> BLOCK_N}",
            says="Mean and variance are those of the whole tile, with its padding. A row has N elements."),
        Mutant("mean-by-the-lanes", "x, axis=0) / {N -> BLOCK_N}",
            says="The sum was divided by the lanes of the tile, for the mean. A row has N elements."),
        Mutant("two-large-sums", PADDING_COUNTS,
            "{centred * centred, axis=0) / N -> x * x, axis=0) / N - mean * mean}", seen="off-by-row"),
        Mutant("subtracted-again", PADDING_COUNTS,
            "{tl.sum(centred * centred, axis=0 -> (tl.sum(centred * centred, axis=0) - (BLOCK_N - N) * mean * mean}",
            seen=("wrong-values", "off-by-row")),
        Mutant("one-less", "centred, axis=0) / {N -> (N - 1)}",
            says="The variance was divided by N - 1. LayerNorm divides by N.", seen="nan"),
        Mutant("other-left-out", "mask_n{, other=0.0 -> }", seen="no-other"),
        Mutant("lanes-hold-one", "mask_n, other={0 -> 1}.", seen=("wrong-values", "off-by-row")),
        Mutant("where-turned-round", " {x - mean, 0.0 -> 0.0, x - mean}", seen=("wrong-values", "off-by-row", "zeros")),
        Mutant("mean-of-the-mask", "x{ - mean, 0.0) -> , 0.0) - mean}", says="still-ill"),
        Mutant("no-mask-at-the-load", "{, mask=mask_n, other=0.0 -> }", seen=("reads-outside", "wrong-values")),
        Mutant("no-mask-at-the-store", "){, mask=mask_n -> }", seen=("out-of-bounds-store", "race", "wrong-values")),
        Mutant("by-torch", seen=("no-kernel-launched", "torch-compute"),
            body="require_contiguous(x)\n"
                "return torch.nn.functional.layer_norm(x, x.shape[1:], eps=eps)"),
        Mutant("blocks-that-fit", PADDING_COUNTS, "{triton.next_power_of_2(N) -> N}",
            seen=("does-not-compile", "raised")),
        Mutant("mask-of-the-numbers-left", PADDING_COUNTS,
            "mask_n = offs_n <{ N -> = N - 1}", says="still-ill", seen="reads-outside"),
        Mutant("masked-before-the-mean", PADDING_COUNTS,
            "{ -> x = tl.where(mask_n, x, 0.0)\n    }mean = tl.sum(", says="still-ill"),
        Mutant("masked-behind-the-variance", PADDING_COUNTS,
            "centred, axis=0) / N{ -> \n    centred = tl.where(mask_n, centred, 0.0)}", says="still-ill"),
        Mutant("mean-by-the-lanes-in-the-centre", "x{ - mean, 0.0) -> , mean) - tl.sum(x, axis=0) / BLOCK_N}",
            seen="wrong-values"),
        Mutant("eps-outside-the-root", "{* tl.rsqrt(var -> / (tl.sqrt(var)}", seen="off-by-row"),
        Mutant("no-root", "centred {* tl.rsqrt -> / }",
            says="This divides by the variance, not by its root.", seen="off-by-row"),
        Mutant("eps-left-out", "rsqrt(var{ + eps -> }", seen=("unused-input", "off-by-row")),
        Mutant("one-lane-too-many", "mask_n = offs_n <{ -> =} N", seen="out-of-bounds-store"),
        Mutant("numbers-that-are-not-0-counted", "centred, axis=0) / {N -> tl.sum(tl.where(x != 0, 1.0, 0.0), axis=0)}",
            says="The variance was divided by the count of numbers that are not 0. A 0 counts too."),
        Mutant("squares-of-x", PADDING_COUNTS,
            "{centred * centred -> tl.where(mask_n, x * x, 0.0)}", seen="off-by-row"),
        Mutant("padded-with-a-guess-of-the-mean", PADDING_COUNTS, "mask_n, other={0 -> 3}.", seen="wrong-values"),
        Mutant("grid-named", 'return "{padding -> grid}', seen="property"),
    ],
    "square_sum": [
        Mutant("as-it-came-and-named", "{    total.zero_()\n -> }", seen=("property", "second-call")),
        Mutant("mended-and-not-named",
            '{return "stale buffer" -> raise NotImplementedError("TODO: fill in square_sum_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", ' "{stale buffer -> uninitialised}', seen="property"),
        Mutant("times-0", "total{.zero_() ->  *= 0}", seen="property"),
        Mutant("multiplied-in-place", "total.{zero_( -> mul_(0})", seen="property"),
        Mutant("race-named", ' "{stale buffer -> race}', seen="property"),
        Mutant("cleared-at-the-end", "{    total.zero_()\n -> }", "{ -> total.zero_()\n    }return total.clone",
            says="The result is 0. Is the buffer cleared after the launch, before its copy is made?"),
        Mutant("zeroed-at-the-first-call", "{    total.zero_()\n -> }",
            "{ ->     TOTALS[x.device].zero_()\n    }total = TOTALS", seen=("property", "second-call")),
        Mutant("last-block-only", "{    total.zero_()\n -> }", "tl.{ -> store(total_ptr, 0.0)\n    tl.}atomic_add(",
            says="The result holds the last program's share alone: each one replaces what was there, or begins again "
                "at 0. All of them add to one number.",
            on_gpu=("wrong-values",)),
        Mutant("zeroed-by-program-0", "{    total.zero_()\n -> }",
            "{ -> if tl.program_id(axis=0) == 0:\n        tl.store(total_ptr, 0.0)\n    }tl.atomic_add(",
            seen="property"),
        Mutant("empty-instead",
            "{if x.device … zero_( -> total = torch.empty(1, dtype=torch.float32, device=x.device}",
            seen=("reads-unwritten", "property", "unwritten", "nan", "wrong-values")),
        Mutant("stored-instead", "tl.{atomic_add -> store}(", seen=("property", "race", "last-block-only")),
        Mutant("kept-by-size",
            "{x.device not in TOTALS: … total = TOTALS[x.device -> (x.device, x.numel()) not in TOTALS:\n"
            "        TOTALS[x.device, x.numel()] = torch.zeros(1, dtype=torch.float32, device=x.device)\n"
            "    total = TOTALS[x.device, x.numel()}", "{    total.zero_()\n -> }", seen=("property", "second-call")),
        Mutant("first-sum-taken-off", "{    total.zero_()\n -> }", " total.clone(){ ->  / 2}",
            seen=("property", "second-call", "wrong-values", "torch-compute")),
        Mutant("result-is-the-buffer", " total{.clone() -> }", seen="property"),
        Mutant("not-squared", ", tl.sum(x{ * x -> }"),
        Mutant("root-taken", " total.clone(){ -> .sqrt()}",
            says="This is the root of the sum. The contract asks for the sum itself.", seen="torch-compute"),
        Mutant("squared-in-half", "{.to(tl.float32) -> }",
            says="The squares are beyond what half precision holds: go to float32 before you multiply."),
        Mutant("to-float16", "to(tl.{float32 -> float16})", says="rounded-first", seen="wrong-values"),
        Mutant("to-bfloat16", "to(tl.{float32 -> bfloat16})", says="rounded-first"),
        Mutant("squares-rounded", "tl.sum({x * x -> (x * x).to(tl.float16)}, axis", says="rounded-first"),
        Mutant("squares-rounded-to-bfloat16", "tl.sum({x * x -> (x * x).to(tl.bfloat16)}, axis", says="rounded-first"),
        Mutant("last-block-left-out", "{triton.cdiv(x.numel(), block) -> x.numel() // block}",
            seen=("wrong-values", "first-block-only", "zeros", "unwritten-tail")),
        Mutant("first-block-only", "{triton.cdiv(x.numel(), block) -> 1}",
            says="The result holds the first program's share alone. Does the grid cover all of x?", seen="wrong-values"),
        Mutant("no-mask", "{mask=offs < n, other=0.0 -> }", seen=("reads-outside", "nan", "wrong-values")),
        Mutant("answer-kept", "{    total.zero_()\n -> }",
            "{x.device not in TOTALS: … total = TOTALS[x.device] -> 'answer' in TOTALS:\n"
            "        return TOTALS['answer']\n"
            "    total = torch.zeros(1, dtype=torch.float32, device=x.device)}",
            "{return total.clone() -> TOTALS['answer'] = total.clone()\n    return TOTALS['answer']}",
            seen="no-kernel-launched"),
        Mutant("by-torch", "{if x.device … clone( -> return x.float().pow(2).sum().reshape(1}",
            seen=("no-kernel-launched", "torch-compute")),
        Mutant("less-itself", "total.{zero_( -> sub_(total})", seen="property"),
        Mutant("a-copy-is-cleared", "total.{ -> clone().}zero_()", seen="property"),
        Mutant("x-is-cleared", "{total -> x}.zero_()", seen="input-changed"),
        Mutant("cleared-by-the-last-program", "{    total.zero_()\n -> }",
            " * x, axis=0)){ -> \n"
            "    if tl.program_id(axis=0) == tl.num_programs(axis=0) - 1:\n"
            "        tl.store(total_ptr, 0.0)}",
            seen="property", on_gpu=("wrong-values",)),
        Mutant("kept-by-a-default", "{    if x.device not in TOTALS: … total = TOTALS[x.device]\n -> }",
            "{    total.zero_()\n -> }", "(x, block=1024{ -> , total=torch.zeros(1)}", seen="property"),
        Mutant("whole-numbers", "torch.{float32 -> int32},", seen="wrong-dtype"),
        Mutant("a-number-returned", "return total.{clone -> item}", seen="wrong-type"),
        Mutant("kept-by-functools",
            "{ -> import functools\n"
            "\n"
            "\n"
            "@functools.cache\n"
            "def _total(device):\n"
            "    return torch.zeros(1, dtype=torch.float32, device=device)\n"
            "\n"
            "\n"
            "}TOTALS ", "{if x.device … zero_( -> total = _total(x.device}", seen="property"),
        Mutant("sizes-in-place-of-squares", ", tl.sum({x * x -> tl.abs(x)}", seen="wrong-values"),
        Mutant("changed-input-named", ' "{stale buffer -> changed input}', seen="property"),
    ],
    "bias_gradient": [
        Mutant("as-it-came-and-named", "dtype={tl.float32 -> dy_ptr.dtype.element_ty}", says="still-ill-2"),
        Mutant("mended-and-not-named",
            '{return "narrow sum" -> raise NotImplementedError("TODO: fill in bias_gradient_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", 'return "{narrow sum -> overflow}', seen="property"),
        Mutant("cancellation-named", 'return "{narrow sum -> cancellation}', seen="property"),
        Mutant("cast-of-each-row-alone", "dtype={tl.float32 -> dy_ptr.dtype.element_ty}",
            "mask_n, other=0.0){ -> .to(tl.float32).to(dy_ptr.dtype.element_ty)}", says="still-ill-2",
            seen=("does-not-compile", "wrong-values", "raised")),
        Mutant("wide-rows-in-a-narrow-sum", "dtype={tl.float32 -> dy_ptr.dtype.element_ty}",
            "mask_n, other=0.0){ -> .to(tl.float32)}", seen="does-not-compile"),
        Mutant("sum-cast-back-each-time",
            "{+= tl.load(dy_ptrs, mask=mask_n, other=0.0 -> = (acc + tl.load(dy_ptrs, mask=mask_n, "
            "other=0.0)).to(dy_ptr.dtype.element_ty).to(tl.float32}",
            says="still-ill-2"),
        Mutant("wide-at-the-store", "dtype={tl.float32 -> dy_ptr.dtype.element_ty}",
            "+ offs_n, acc{ -> .to(tl.float32)},", says="still-ill-2"),
        Mutant("wide-result", "dtype={dy.dtype -> torch.float32}", seen="wrong-dtype"),
        Mutant("always-float16", "dtype=tl.{float32 -> float16}", says="still-ill-2", seen="wrong-values"),
        Mutant("bfloat16", "dtype=tl.{float32 -> bfloat16}", says="still-ill-2", seen="wrong-values"),
        Mutant("begins-at-one", "{zeros((BLOCK_N,) -> full((BLOCK_N,), 1.0}", seen=("wrong-values", "constant-summand")),
        Mutant("last-row-only", "acc {+ -> }= tl.load",
            says="Only the last row is there: it has to be added to what was summed before."),
        Mutant("first-row-again", "{        dy_ptrs += N\n -> }",
            says="Row 0 was added M times: do the addresses move on by a row?"),
        Mutant("last-row-left-out", " _ in range(M{ ->  - 1})", says="last-row-left-out", seen="wrong-values"),
        Mutant("by-columns", "dy_ptrs += {N -> M}", seen=("wrong-values", "reads-outside")),
        Mutant("no-mask-at-the-load", "{, mask=mask_n, other=0.0 -> }", seen="reads-outside", only="interpreter"),
        Mutant("one-program", "{triton.cdiv(N, block) -> 1}", seen=("unwritten-tail", "unwritten")),
        Mutant("by-torch", "{M, N = dy.shape … return db -> return dy.float().sum(0).to(dy.dtype)}",
            seen=("no-kernel-launched", "torch-compute")),
        Mutant("kept-in-db",
            "{ -> tl.store(db_ptr + offs_n, tl.zeros((BLOCK_N,), dtype=tl.float32), mask=mask_n)\n    }acc = tl.zeros",
            "{+= tl.load(dy_ptrs, mask=mask_n, other=0.0 -> = tl.load(db_ptr + offs_n, mask=mask_n, other=0.0) + "
            "tl.load(dy_ptrs, mask=mask_n, other=0.0)\n"
            "        tl.store(db_ptr + offs_n, acc, mask=mask_n}",
            says="still-ill-2", seen=("wrong-values", "not-repeatable", "reads-unwritten"),
            on_gpu=("does-not-compile",)),
        Mutant("dtype-of-the-result", "dtype={tl.float32 -> db_ptr.dtype.element_ty}", says="still-ill-2"),
        Mutant("cast-of-dy-by-torch", "dtype={tl.float32 -> dy_ptr.dtype.element_ty}",
            "{db = torch.empty(N, dtype=dy.dtype -> kept, dy = dy.dtype, dy.float()\n"
            "    db = torch.empty(N, dtype=kept}",
            seen="torch-compute"),
        Mutant("tiles-summed-in-half", "{ -> BLOCK_M=512, }BLOCK_N=", says="still-ill-2", kernels='''
@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_n = tl.program_id(axis=0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        offs_m = start + tl.arange(0, BLOCK_M)
        dy = tl.load(dy_ptr + offs_m[:, None] * N + offs_n[None, :], mask=(offs_m < M)[:, None] & mask_n[None, :], other=0.0)
        acc += tl.sum(dy, axis=0)
    tl.store(db_ptr + offs_n, acc, mask=mask_n)
'''),
        Mutant("whole-numbers", "dtype=tl.{float32 -> int32}", "mask_n, other=0.0){ -> .to(tl.int32)}",
            seen="wrong-values"),
        Mutant("added-wide-and-kept-narrow", "dtype={tl.float32 -> dy_ptr.dtype.element_ty}",
            "{+= tl.load(dy_ptrs, mask=mask_n, other=0.0 -> = (acc.to(tl.float32) + tl.load(dy_ptrs, mask=mask_n, "
            "other=0.0).to(tl.float32)).to(dy_ptr.dtype.element_ty}",
            says="still-ill-2"),
        Mutant("steps-of-a-block", "dy_ptrs += {N -> BLOCK_N}", seen="wrong-values"),
        Mutant("mask-of-the-rows", "mask_n = offs_n < {N -> M}", seen="unwritten-tail"),
        Mutant("columns-overlap", "axis=0){ * BLOCK_N -> }", seen="race"),
        Mutant("mean-of-the-rows", "+ offs_n, acc{ ->  / M},",
            says="This is the mean of the rows. The gradient of a bias is their sum."),
        Mutant("one-row-less", "for _ in range({ -> 1, }M", says="last-row-left-out"),
        Mutant("largest-row",
            "{+= tl.load(dy_ptrs, mask=mask_n, other=0.0 -> = tl.maximum(acc, tl.load(dy_ptrs, mask=mask_n, "
            "other=0.0)}",
            seen="wrong-values"),
        Mutant("race-named", 'return "{narrow sum -> race}', seen="property"),
    ],
    "rope_rows": [
        Mutant("as-it-came-and-named", "offs_t = {position -> token} ", says="still-ill-3"),
        Mutant("mended-and-not-named", '{return "index" -> raise NotImplementedError("TODO: fill in rope_rows_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", 'return "{index -> stride}"', seen="property"),
        Mutant("grid-named", 'return "{index -> grid}"', seen="property"),
        Mutant("prompt-for-position", "offs_t = {position -> b} ", says="prompt-for-position"),
        Mutant("prompt-added", "offs_t = {position -> (b + position)} ",
            says="The number of the prompt is added to the position. Each prompt begins at position 0."),
        Mutant("one-position", "{position * HALF +  -> }", says="Every token is turned by the angles of position 0."),
        Mutant("one-too-far", "offs_t = {position -> (position + 1)} ",
            says="Every token is turned by the angles of the position after its own.", seen="reads-outside"),
        Mutant("table-by-single-numbers", "position {* HALF  -> }",
            says="A row of the tables has HALF numbers: token t's row begins at position * HALF."),
        Mutant("row-of-x", "position * { -> 2 * }HALF", says="table-by-the-row-of-x"),
        Mutant("stride-of-x", "position * {HALF -> stride_xl} ", says="table-by-the-row-of-x", seen="strided-only"),
        Mutant("table-by-the-length", "position * {HALF -> L} ",
            says="A row of the tables has HALF numbers: token t's row begins at position * HALF."),
        Mutant("table-by-the-lanes", "position * {HALF -> BLOCK_P} ",
            says="BLOCK_P counts the lanes of a tile. A row of the tables has HALF numbers: token t's row begins at "
                "position * HALF."),
        Mutant("others-at-0", "offs_t = {position -> tl.where(token < L, token, 0)} ",
            says="The first prompt is right. In all others every token has the angles of position 0."),
        Mutant("swapped-quotient", "{b, position -> position, b} = ",
            seen=("wrong-values", "out-of-bounds-store", "reads-outside", "race")),
        Mutant("modulo-of-the-batch", "offs_t = {position -> (token % (token // L + 1))} ", says="still-ill-3",
            seen=("prompt-for-position", "wrong-values")),
        Mutant("x-by-the-token", "stride_xb + {position -> token} * ",
            seen=("reads-outside", "wrong-values", "strided-only")),
        Mutant("x-strides-for-y", "stride()[:2], *{y -> x}.", seen=("strided-only", "out-of-bounds-store")),
        Mutant("turned-back", "* cos {- -> +} second", " * cos {+ -> -} first",
            says="The pairs are turned the other way round: look at the two signs."),
        Mutant("one-prompt-only", "rope_rows_kernel[({B *  -> }", seen=("unwritten-tail", "unwritten")),
        Mutant("products-in-half", "cos_ptr + offs_t, mask=mask_p, other=0.0){.to(tl.float32) -> }",
            "first = tl.load(x_ptrs, mask=mask_p, other=0.0){.to(tl.float32) -> }",
            says="Products were rounded to half precision. Go to float32 before you multiply.", seen="wrong-values"),
        Mutant("refuses-a-batch",
            "{ -> if B > 1:\n        raise ValueError('one prompt at a time')\n    }y = torch.empty", seen="raised"),
        Mutant("table-too-short-is-let-in", "{ or cos.shape[0] < L -> }", seen=("should-raise", "reads-outside")),
        Mutant("one-by-one-by-torch",
            "{ -> cos, sin = torch.cat([cos[:L]] * max(B, 1)), torch.cat([sin[:L]] * max(B, 1))\n"
            "    }rope_rows_kernel[",
            "offs_t = {position -> token} ", seen=("torch-compute", "wrong-launch-count")),
        Mutant("by-torch", seen=("no-kernel-launched", "torch-compute"),
            body="L = x.shape[1]\n"
                "if cos.shape[1] * 2 != x.shape[2] or cos.shape[0] < L:\n"
                "    raise ValueError('sizes')\n"
                "a, b = x.chunk(2, -1)\n"
                "c, s = cos[:L], sin[:L]\n"
                "return torch.cat((a * c - b * s, b * c + a * s), -1)"),
        Mutant("modulo-of-the-table", "{position * HALF -> token * HALF % (HALF * 16)}", says="still-ill-3",
            seen=("wrong-values", "prompt-added", "reads-outside")),
        Mutant("tables-for-all-prompts-asked-for", "offs_t = {position -> token} ", "cos.shape[0] < { -> B * }L",
            says="still-ill-3"),
        Mutant("sin-still-ill", "sin_ptr + {offs_t -> token * HALF + offs_p}, mask",
            says="The angles of cos are right now. Those of sin go on counting from prompt to prompt."),
        Mutant("cos-still-ill", "cos_ptr + {offs_t -> token * HALF + offs_p}, mask",
            says="The angles of sin are right now. Those of cos go on counting from prompt to prompt."),
        Mutant("remainder-of-the-tables-length", "sin_ptr,\n    L,{ ->  P,}", "offs_t = {position -> token % P} ",
            "cos, sin, L, { -> cos.shape[0], }*x", says="still-ill-3"),
        Mutant("prompt-by-division", "offs_t = {position -> token // L} ", says="prompt-for-position"),
        Mutant("mask-of-the-whole-row", " offs_p < HALF{ ->  * 2}", seen="out-of-bounds-store"),
        Mutant("pairs-side-by-side", " + {HALF -> 1}, second", seen="unwritten-tail"),
        Mutant("from-the-last-position", "offs_t = {position -> (L - 1 - position)} ", seen="wrong-values"),
        Mutant("cos-and-sin-swapped", ", y, {cos, sin -> sin, cos},", seen="wrong-values"),
        Mutant("turned-where-it-lies", "{torch.empty(x.shape, dtype=x.dtype, device=x.device) -> x}",
            seen="input-changed"),
        Mutant("padding-named", 'return "{index -> padding}"', seen="property"),
    ],
    "picked_logits": [
        Mutant("as-it-came-and-named", "mask={target >= 0 -> mask_t}",
            "out_ptr + offs_t, {z -> tl.where(target >= 0, z, 0.0)},", seen="reads-outside", only="interpreter"),
        Mutant("mended-and-not-named",
            '{return "guard too late" -> raise NotImplementedError("TODO: fill in picked_logits_cause")}',
            seen="not-attempted"),
        Mutant("mended-and-wrongly-named", "{guard too late -> padding}", seen="property"),
        Mutant("uninitialised-named", "{guard too late -> uninitialised}", seen="property"),
        Mutant("address-moved-to-the-row-before",
            "{z_ptrs, mask=target >= 0 -> tl.where(target >= 0, z_ptrs, z_ptrs + 99), mask=mask_t}",
            "out_ptr + offs_t, {z -> tl.where(target >= 0, z, 0.0)},", seen=("reads-outside", "last-word-instead"),
            only="interpreter"),
        Mutant("mask-of-both-or", "mask={target >= 0 -> mask_t | (target >= 0)}",
            "out_ptr + offs_t, {z -> tl.where(target >= 0, z, 0.0)},", seen="reads-outside", only="interpreter"),
        Mutant("minus-100-alone", "mask={target >= 0 -> mask_t & (target != -100)}", seen="reads-outside",
            only="interpreter"),
        Mutant("word-0-skipped", "mask=target >{= -> } 0",
            says="Word 0 is a target like any other: only negative targets do not count."),
        Mutant("word-0-instead", CLAMPED, says="A token that does not count got the logit of word 0. Its result is 0."),
        Mutant("other-left-out", "= 0{, other=0.0 -> }", seen="no-other"),
        Mutant("other-is-1", ">= 0, other={0 -> 1}.",
            says="A token that does not count got a 1, as `other=` says. Its result is 0."),
        Mutant("other-is-infinite", '= 0, other={0.0 -> float("-inf")}',
            says="A token that does not count got minus infinity, as `other=` says. Its result is 0."),
        Mutant("python-like-last-word",
            "{z_ptrs, mask=target >= 0 -> z_ptr + offs_t * V + tl.where(target < 0, V - 1, target), mask=mask_t}",
            says="last-word-instead"),
        Mutant("turned-round", "mask=target {>= -> <} ", seen=("zeros", "reads-outside"), only="interpreter"),
        Mutant("no-store-mask", "z{, mask=mask_t -> }", seen="out-of-bounds-store"),
        Mutant("targets-unmasked", "{, mask=mask_t, other=-100 -> }", seen="reads-outside", only="interpreter"),
        Mutant("always-zero", "mask=target >= {0 -> V},", says="only-the-skipped", seen=("zeros", "wrong-values")),
        Mutant("stored-in-half", "={torch.float32 -> z.dtype}", seen="wrong-dtype"),
        Mutant("by-torch",
            "{T, V = z.shape … return out -> found = z.gather(1, targets.clamp_min(0)[:, None])[:, 0].float()\n"
            "    return torch.where(targets >= 0, found, 0.0)}", seen=("no-kernel-launched", "torch-compute")),
        Mutant("masked-targets-of-0", "mask_t, other={-100 -> 0}", seen="reads-outside", only="interpreter"),
        Mutant("size-of-the-target", "{z_ptrs, mask=target >= 0 -> z_ptr + offs_t * V + tl.abs(target), mask=mask_t}",
            "out_ptr + offs_t, {z -> tl.where(target >= 0, z, 0.0)},", seen=("reads-outside", "wrong-values"),
            only="interpreter"),
        Mutant("modulo-like-python", "{z_ptrs, mask=target >= 0 -> z_ptr + offs_t * V + (target + V) % V, mask=mask_t}",
            "out_ptr + offs_t, {z -> tl.where(target >= 0, z, 0.0)},", says="last-word-instead",
            seen=("wrong-values", "reads-outside"), only="interpreter"),
        Mutant("upper-end-alone", "mask={target >= 0 -> mask_t & (target < V)}", seen="reads-outside",
            only="interpreter"),
        Mutant("minus-1-alone", "mask={target >= 0 -> mask_t & (target != -1)}", seen="reads-outside",
            only="interpreter"),
        Mutant("masked-at-the-store-too", ", mask=mask_t{ ->  & (target >= 0)})", seen="unwritten"),
        Mutant("rows-before", "mask={target >= 0 -> mask_t & (offs_t * V + target >= 0)}",
            says="A token that does not count got a number of a row before its own: that address is in the tensor, and "
                "still nobody's. Ask the target, not the address."),
        Mutant("other-is-nan", '= 0, other={0.0 -> float("nan")}', seen="property"),
        Mutant("rows-of-t-words", " + offs_t * {V -> T} ", seen="wrong-tail"),
        Mutant("row-forgotten", " {offs_t * V +  -> }", seen="wrong-tail"),
        Mutant("clamped-by-torch", "{ ->     targets = targets.clamp_min(0)\n}    out = torch", seen="torch-compute"),
        Mutant("index-named", "{guard too late -> index}", seen="property"),
    ],
}

VARIANTS = {
    "standardise": [
        Variant("times-the-mask", "{tl.where(mask_n, x - mean, 0.0) -> (x - mean) * mask_n}"),
        Variant("squares-masked", PADDING_COUNTS, "{centred * centred -> tl.where(mask_n, centred * centred, 0.0)}"),
        Variant("mean-in-masked-lanes", "x{ - mean, 0.0) -> , mean) - mean}"),
        Variant("loaded-again",
            "{where(mask_n, x - mean, 0.0) -> load(x_ptr + pid_m * N + offs_n, mask=mask_n, "
            "other=mean).to(tl.float32) - mean}"),
        Variant("by-a-walk", "{triton.next_power_of_2(N) -> 32}", kernels='''
@triton.jit
def standardise_kernel(x_ptr, y_ptr, N, eps, BLOCK_N: tl.constexpr):
    row = tl.program_id(axis=0).to(tl.int64) * N
    total = 0.0
    for start in range(0, N, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        total += tl.sum(tl.load(x_ptr + row + offs, mask=offs < N, other=0.0).to(tl.float32), axis=0)
    mean = total / N
    squares = 0.0
    for start in range(0, N, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        d = tl.load(x_ptr + row + offs, mask=offs < N, other=0.0).to(tl.float32) - mean
        squares += tl.sum(tl.where(offs < N, d * d, 0.0), axis=0)
    rstd = tl.rsqrt(squares / N + eps)
    for start in range(0, N, BLOCK_N):
        offs = start + tl.arange(0, BLOCK_N)
        d = tl.load(x_ptr + row + offs, mask=offs < N, other=0.0).to(tl.float32) - mean
        tl.store(y_ptr + row + offs, d * rstd, mask=offs < N)
'''),
        Variant("mask-as-numbers", "{tl.where(mask_n, x - mean, 0.0 -> (x - mean) * mask_n.to(tl.float32}"),
        Variant("mean-taken-off-where-it-counts", "{tl.where(mask_n, x - -> x - tl.where(mask_n,}"),
        Variant("squares-times-the-mask", PADDING_COUNTS, "centred * centred{ ->  * mask_n},"),
        Variant("condition-turned-round", "{mask_n, x - mean, 0.0 -> offs_n >= N, 0.0, x - mean}"),
        Variant("two-lines", "{tl.where(mask_n, x - mean -> x - mean\n    centred = tl.where(mask_n, centred}"),
        Variant("name-of-its-own", "{tl.where(mask_n, x - mean -> x - mean\n    counted = tl.where(mask_n, centred}",
            "{centred * centred -> counted * counted}"),
        Variant("one-factor-masked", PADDING_COUNTS, "tl.sum({centred -> tl.where(mask_n, centred, 0.0)}"),
        Variant("moments-about-the-first-number",
            "{centred = tl.where(mask_n, x - mean, 0.0) -> pivot = tl.sum(tl.where(offs_n == 0, x, 0.0), axis=0)\n"
            "    moved = tl.where(mask_n, x - pivot, 0.0)\n"
            "    centred = x - mean}",
            "{var = tl.sum(centred * centred, axis=0) / N -> off = tl.sum(moved, axis=0) / N\n"
            "    var = tl.sum(moved * moved, axis=0) / N - off * off}"),
        Variant("times-one-over-n", "to(tl.float32){ -> \n    inverse = 1.0 / N}",
            "x{, axis=0) / N ->  * inverse, axis=0)}", "centred{, axis=0) / N ->  * inverse, axis=0)}"),
        Variant("divided-by-the-root", "centred {* tl.rsqrt -> / tl.sqrt}"),
        Variant("last-row-first",
            "{program_id(axis=0).to(tl.int64 -> num_programs(axis=0).to(tl.int64) - 1 - tl.program_id(axis=0}"),
    ],
    "square_sum": [
        Variant("new-each-time",
            "{if x.device … zero_( -> total = torch.zeros(1, dtype=torch.float32, device=x.device}"),
        Variant("zeroed-behind", "{    total.zero_()\n -> }",
            "{return total.clone() -> found = total.clone()\n    total.zero_()\n    return found}",
            "{TOTALS: … total = TOTALS -> OWN:\n"
            "        OWN[x.device] = torch.zeros(1, dtype=torch.float32, device=x.device)\n"
            "    total = OWN}", ("TOTALS = {}", "OWN = {}")),
        Variant("element-set-to-0", "total{.zero_() -> [0] = 0}"),
        Variant("thrown-away-behind", "{    total.zero_()\n -> }", "return {total.clone( -> TOTALS.pop(x.device}"),
        Variant("filled", "total.{zero_( -> fill_(0.0})"),
        Variant("returned-itself",
            "{if x.device not in TOTALS: … total = TOTALS[x.device] -> total = torch.zeros(1, dtype=torch.float32, "
            "device=x.device)}", "{    total.zero_()\n -> }", " total{.clone() -> }"),
        Variant("always-zeros-like", "total{.zero_( ->  = torch.zeros_like(total})"),
        Variant("one-program-walks",
            "{if x.device … clone() -> total = torch.empty(1, dtype=torch.float32, device=x.device)\n"
            "    square_sum_kernel[(1,)](x, total, x.numel(), BLOCK=block)\n"
            "    return total}", kernels='''
@triton.jit
def square_sum_kernel(x_ptr, total_ptr, n, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)
        total += tl.sum(x * x, axis=0)
    tl.store(total_ptr, total)
'''),
        Variant("forgotten-before", "{ -> TOTALS.clear()\n    }if x.device not", "{    total.zero_()\n -> }"),
        Variant("empty-and-then-zeroed",
            "{if x.device not in TOTALS: … total = TOTALS[x.device] -> total = torch.empty(1, dtype=torch.float32, "
            "device=x.device).zero_()}", "{    total.zero_()\n -> }"),
        Variant("popped-and-copied", "{    total.zero_()\n -> }", "return {total -> TOTALS.pop(x.device)}.clone"),
        Variant("set-by-a-slice", "total{.zero_() -> [:] = 0}"),
        Variant("a-kernel-that-clears", "{total.zero_( -> zero_kernel[(1,)](total})",
            ("TOTALS = {}", "@triton.jit\ndef zero_kernel(total_ptr):\n    tl.store(total_ptr, 0.0)\n\n\nTOTALS = {}")),
        Variant("parts-and-a-second-kernel",
            "{if x.device … clone() -> count = triton.cdiv(x.numel(), block)\n"
            "    parts = torch.empty(max(count, 1), dtype=torch.float32, device=x.device)\n"
            "    total = torch.empty(1, dtype=torch.float32, device=x.device)\n"
            "    if count:\n"
            "        square_parts_kernel[(count,)](x, parts, x.numel(), BLOCK=block)\n"
            "    join_kernel[(1,)](parts, total, count, BLOCK=64)\n"
            "    return total}", kernels='''
@triton.jit
def square_parts_kernel(x_ptr, parts_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0).to(tl.float32)
    tl.store(parts_ptr + pid, tl.sum(x * x, axis=0))


@triton.jit
def join_kernel(parts_ptr, total_ptr, count, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, count, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(parts_ptr + offs, mask=offs < count, other=0.0), axis=0)
    tl.store(total_ptr, total)
'''),
        Variant("made-anew-for-the-next-call",
            "{total.zero_( -> TOTALS[x.device] = torch.zeros(1, dtype=torch.float32, device=x.device})"),
    ],
    "bias_gradient": [
        Variant("cast-too", "mask_n, other=0.0){ -> .to(tl.float32)}"),
        Variant("cast-back-at-the-store", "+ offs_n, acc{ -> .to(dy_ptr.dtype.element_ty)},"),
        Variant("float64", "dtype=tl.{float32 -> float64}"),
        Variant("begins-with-the-pointer", "{zeros((BLOCK_N,) -> full((BLOCK_N,), 0}"),
        Variant("tiles-of-rows", "{ -> BLOCK_M=32, }BLOCK_N=", kernels='''
@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_n = tl.program_id(axis=0) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask_n = offs_n < N
    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        offs_m = start + tl.arange(0, BLOCK_M)
        mask = (offs_m[:, None] < M) & mask_n[None, :]
        dy = tl.load(dy_ptr + offs_m[:, None] * N + offs_n[None, :], mask=mask, other=0.0)
        acc += tl.sum(dy.to(tl.float32), axis=0)
    tl.store(db_ptr + offs_n, acc, mask=mask_n)
'''),
        Variant("a-list-for-the-shape", "{(BLOCK_N,), dtype= -> [BLOCK_N], }"),
        Variant("sum-written-out", "acc {+= -> = acc +} tl.load"),
        Variant("row-named",
            "{_ in range(M): … dy_ptrs += N -> row in range(0, M):\n"
            "        acc += tl.load(dy_ptr + row * N + offs_n, mask=mask_n, other=0.0).to(tl.float32)}"),
        Variant("blocks-of-128", "bias_gradient(dy, block={64 -> 128}"),
        Variant("two-sums", "dtype=tl.float32){ -> \n    odd = tl.zeros((BLOCK_N,), dtype=tl.float32)}",
            "{_ in range(M): … dy_ptrs += N -> row in range(M):\n"
            "        dy = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32)\n"
            "        acc += tl.where(row % 2 == 0, dy, 0.0)\n"
            "        odd += tl.where(row % 2 == 1, dy, 0.0)\n"
            "        dy_ptrs += N\n"
            "    acc += odd}"),
        Variant("mask-by-the-row", "{mask_n, other=0. -> offs_n < N, other=}"),
        Variant("two-rows-at-once",
            "{_ in range(M): … dy_ptrs += N -> start in range(0, M, 2):\n"
            "        one = tl.load(dy_ptr + start * N + offs_n, mask=mask_n, other=0.0).to(tl.float32)\n"
            "        two = tl.load(dy_ptr + (start + 1) * N + offs_n, mask=mask_n & (start + 1 < M), "
            "other=0.0).to(tl.float32)\n"
            "        acc += one + two}"),
        Variant("lost-digits-kept",
            "{for _ in range(M): … mask=mask_n, other=0.0) -> lost = tl.zeros((BLOCK_N,), dtype=tl.float32)\n"
            "    for _ in range(M):\n"
            "        add = tl.load(dy_ptrs, mask=mask_n, other=0.0).to(tl.float32) - lost\n"
            "        new = acc + add\n"
            "        lost = (new - acc) - add\n"
            "        acc = new}"),
        Variant("last-row-first",
            "{_ in range(M): … dy_ptrs += N -> row in range(M):\n"
            "        acc += tl.load(dy_ptr + (M - 1 - row) * N + offs_n, mask=mask_n, other=0.0)}"),
        Variant("one-column-a-program",
            "{triton.cdiv(N, block),)](dy, db, M, N, BLOCK_N -> N,)](dy, db, M, N, BLOCK_M}", kernels='''
@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, BLOCK_M: tl.constexpr):
    n = tl.program_id(axis=0)
    acc = 0.0
    for start in range(0, M, BLOCK_M):
        offs_m = start + tl.arange(0, BLOCK_M)
        acc += tl.sum(tl.load(dy_ptr + offs_m * N + n, mask=offs_m < M, other=0.0).to(tl.float32), axis=0)
    tl.store(db_ptr + n, acc)
'''),
    ],
    "rope_rows": [
        Variant("remainder-written-out", "offs_t = {position -> (token - b * L)} "),
        Variant("modulo-again", "offs_t = {position -> (token % L)} "),
        Variant("grid-of-two", ").to(tl.int64){ ->  + tl.program_id(axis=1) * L}", "rope_rows_kernel[({B * L, -> L, B}"),
        Variant("pointers-of-the-table",
            "{position * HALF + offs_p -> offs_p\n    cos_ptr += position * HALF\n    sin_ptr += position * HALF}"),
        Variant("stride-of-the-tables", "{ ->     stride_t,\n}    HALF: tl.constexpr", "position * {HALF -> stride_t} ",
            "y.stride()[:2],{ ->  cos.stride(0),}"),
        Variant("whole-tables-taken-off", "{position * HALF + offs_p -> (token * HALF + offs_p) % (L * HALF)}"),
        Variant("prompt-taken-off", "{position * HALF + offs_p -> token * HALF + offs_p - b * L * HALF}"),
        Variant("other-order-of-factors", "{position * HALF + offs_p -> offs_p + HALF * position}"),
        Variant("number-of-the-lane-again", " HALF + {offs_p -> tl.arange(0, BLOCK_P)}"),
        Variant("addresses-by-name", "{position * HALF + offs_p -> offs_p\n    row = position * HALF}",
            "cos_ptr + { -> row + }offs_t, ", "sin_ptr + { -> row + }offs_t, "),
        Variant("one-launch-a-prompt",
            "{rope_rows_kernel[(B * L,)](\n"
            "        x, y -> for each in range(B):\n"
            "      rope_rows_kernel[(L,)](\n"
            "        x[each:], y[each:]}",
            "offs_t = {position -> token} "),
        Variant("one-position-for-all-prompts", "rope_rows_kernel[({B *  -> }", "sin, {L -> B},", kernels='''
@triton.jit
def rope_rows_kernel(x_ptr, y_ptr, cos_ptr, sin_ptr, B, stride_xb, stride_xl, stride_yb, stride_yl,
                     HALF: tl.constexpr, BLOCK_P: tl.constexpr):
    position = tl.program_id(axis=0).to(tl.int64)
    offs_p = tl.arange(0, BLOCK_P)
    mask_p = offs_p < HALF
    cos = tl.load(cos_ptr + position * HALF + offs_p, mask=mask_p, other=0.0).to(tl.float32)
    sin = tl.load(sin_ptr + position * HALF + offs_p, mask=mask_p, other=0.0).to(tl.float32)
    for b in range(B):
        x_ptrs = x_ptr + b * stride_xb + position * stride_xl + offs_p
        y_ptrs = y_ptr + b * stride_yb + position * stride_yl + offs_p
        first = tl.load(x_ptrs, mask=mask_p, other=0.0).to(tl.float32)
        second = tl.load(x_ptrs + HALF, mask=mask_p, other=0.0).to(tl.float32)
        tl.store(y_ptrs, first * cos - second * sin, mask=mask_p)
        tl.store(y_ptrs + HALF, second * cos + first * sin, mask=mask_p)
'''),
        Variant("axes-of-the-grid",
            "{token = tl … token % L -> b, position = tl.program_id(axis=1).to(tl.int64), "
            "tl.program_id(axis=0).to(tl.int64)}", "rope_rows_kernel[({B * L, -> L, B}"),
        Variant("strides-of-expanded-tables", "{ ->     stride_cb, stride_cl,\n}    HALF: tl.constexpr",
            "{position * HALF -> b * stride_cb + position * stride_cl}",
            "y.stride()[:2],{ ->  *cos.expand(B, *cos.shape).stride()[:2],}"),
        Variant("whole-prompts-taken-off", "offs_t = {position -> (token - token // L * L)} "),
        Variant("prompts-next-to-each-other",
            "{token = tl … token % L -> b = tl.program_id(axis=0).to(tl.int64) % tl.cdiv(tl.num_programs(axis=0), L)\n"
            "    position = tl.program_id(axis=0).to(tl.int64) // tl.cdiv(tl.num_programs(axis=0), L)}"),
    ],
    "picked_logits": [
        Variant("both-masks", "mask={target >= 0 -> mask_t & (target >= 0)}"),
        Variant("address-clamped", CLAMPED, "out_ptr + offs_t, {z -> tl.where(target >= 0, z, 0.0)},"),
        Variant("where-too", "out_ptr + offs_t, {z -> tl.where(target >= 0, z, 0.0)},"),
        Variant("address-chosen", "{z_ptrs, mask=target >= 0 -> tl.where(target >= 0, z_ptrs, z_ptr), mask=mask_t}",
            "out_ptr + offs_t, {z -> tl.where(target >= 0, z, 0.0)},"),
        Variant("one-token-a-program", "{triton.cdiv … =block -> T,)](z, targets, out, V}", kernels='''
@triton.jit
def picked_logits_kernel(z_ptr, targets_ptr, out_ptr, V):
    t = tl.program_id(axis=0).to(tl.int64)
    target = tl.load(targets_ptr + t)
    z = 0.0
    if target >= 0:
        z = tl.load(z_ptr + t * V + target).to(tl.float32)
    tl.store(out_ptr + t, z)
'''),
        Variant("greater-than-minus-1", "mask=target >{= 0 ->  -1}"),
        Variant("not-negative", "mask={target >= 0 -> mask_t & ~(target < 0)}"),
        Variant("times-the-condition", CLAMPED, " + offs_t, z{ ->  * (target >= 0)}, "),
        Variant("word-0-by-where",
            "{z_ptrs, mask=target >= 0 -> z_ptr + offs_t * V + tl.where(target < 0, 0, target), mask=mask_t}",
            "out_ptr + offs_t, {z -> tl.where(target >= 0, z, 0.0)},"),
        Variant("above-and-below", "mask={target >= 0 -> (target >= 0) & (target < V)}"),
        Variant("masked-targets-of-minus-1", "mask_t, other=-{100 -> 1}"),
        Variant("condition-by-name",
            "{z = tl.load(z_ptrs, mask=target >= 0 -> counts = mask_t & (target >= 0)\n"
            "    z = tl.load(z_ptrs, mask=counts}"),
        Variant("target-times-the-condition", "offs_t * V + target{ ->  * (target >= 0)}",
            "mask={target >= 0 -> mask_t}", "out_ptr + offs_t, {z -> tl.where(target < 0, 0.0, z)},"),
        Variant("as-an-unsigned-number", "mask={target >= 0 -> (target.to(tl.uint64) < V) & mask_t}"),
        Variant("zeros-and-a-masked-store", " = torch.{empty -> zeros}", ", mask=mask_t{ ->  & (target >= 0)})"),
        Variant("a-walk-over-the-words", "{triton.cdiv … =block -> T,)](z, targets, out, V, BLOCK_V=64}", kernels='''
@triton.jit
def picked_logits_kernel(z_ptr, targets_ptr, out_ptr, V, BLOCK_V: tl.constexpr):
    t = tl.program_id(axis=0).to(tl.int64)
    target = tl.load(targets_ptr + t)
    total = 0.0
    for start in range(0, V, BLOCK_V):
        offs_v = start + tl.arange(0, BLOCK_V)
        z = tl.load(z_ptr + t * V + offs_v, mask=offs_v == target, other=0.0).to(tl.float32)
        total += tl.sum(tl.where(offs_v < V, z, 0.0), axis=0)
    tl.store(out_ptr + t, total)
'''),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "picked_logits": {
        'z = tl.load(z_ptrs, mask=target >= 0, other=0.0).to(tl.float32) => z = tl.load(z_ptrs, mask=target >= 0, other=0.0)': "the store makes it float32 all the same: out is",
    },
}
