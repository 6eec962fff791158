"""Mistakes of 63_gluon_pipeline with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

SHARED = "grid-swapped"
PROMISES = ("no-ring", "one-group-too-few", "never-waits")

RACE = ("early-read", "unwritten")

RING_OF_SUMS = """\
    for early in gl.static_range(SLOTS - 1):
        order_tile(x_ptr, tiles, early, M, N, stride_xm)
    for number in range(gl.cdiv(N, 128)):
        async_copy.wait_group(SLOTS - 2)
        x = tiles.index(number % SLOTS).load(ROWS)
        order_tile(x_ptr, tiles, number + SLOTS - 1, M, N, stride_xm)
        acc += x
"""
NO_RING_OF_SUMS = """\
    for start in range(0, N, 128):
        offs_n = start + gl.arange(0, 128, gl.SliceLayout(0, ROWS))[None, :]
        mask = (offs_m[:, None] < M) & (offs_n < N)
        acc += gl.load(x_ptr + offs_m[:, None] * stride_xm + offs_n, mask=mask, other=0.0)
"""
LOADED = """\
gl.load(
            x_ptr + offs_m[:, None] * stride_xm
            + (number * 128 + gl.arange(0, 128, gl.SliceLayout(0, ROWS)))[None, :],
            mask=(offs_m[:, None] < M)
            & ((number * 128 + gl.arange(0, 128, gl.SliceLayout(0, ROWS)))[None, :] < N),
            other=0.0,
        )"""
ONE_AHEAD_OF_SUMS = """\
    order_tile(x_ptr, tiles, 0, M, N, stride_xm)
    for number in range(gl.cdiv(N, 128)):
        order_tile(x_ptr, tiles, number + 1, M, N, stride_xm)
        async_copy.wait_group(1)
        acc += tiles.index(number % SLOTS).load(ROWS)
"""
STEP = """\
        async_copy.wait_group(SLOTS - 2)
        a = a_tiles.index(step % SLOTS).load(gl.DotOperandLayout(0, ACC, 2))
        b = b_tiles.index(step % SLOTS).load(gl.DotOperandLayout(1, ACC, 2))
        ahead = step + SLOTS - 1
        order_step(a_ptr, b_ptr, a_tiles, b_tiles, ahead, M, N, K, stride_am, stride_bk)
"""
ORDERED_FIRST = """\
        ahead = step + SLOTS - 1
        order_step(a_ptr, b_ptr, a_tiles, b_tiles, ahead, M, N, K, stride_am, stride_bk)
        async_copy.wait_group(SLOTS - 2)
        a = a_tiles.index(step % SLOTS).load(gl.DotOperandLayout(0, ACC, 2))
        b = b_tiles.index(step % SLOTS).load(gl.DotOperandLayout(1, ACC, 2))
"""
BEFORE = """\
    for early in gl.static_range(SLOTS - 1):
        order_step(a_ptr, b_ptr, a_tiles, b_tiles, early, M, N, K, stride_am, stride_bk)
"""
LOOP = "    for step in range(gl.cdiv(K, BLOCK_K)):\n"
RING_OF_STEPS = BEFORE + LOOP + STEP
A_LOADED = (
    "a = a_tiles.index(step % SLOTS).load(gl.DotOperandLayout(0, ACC, 2))",
    """A: gl.constexpr = gl.DotOperandLayout(0, ACC, 2)
        rows = gl.program_id(0) * BLOCK_M + gl.arange(0, BLOCK_M, gl.SliceLayout(1, A))[:, None]
        ks = step * BLOCK_K + gl.arange(0, BLOCK_K, gl.SliceLayout(0, A))[None, :]
        a = gl.load(a_ptr + rows * stride_am + ks, mask=(rows < M) & (ks < K), other=0.0)""",
)
NO_RING_OF_STEPS = LOOP + """\
        A: gl.constexpr = gl.DotOperandLayout(0, ACC, 2)
        B: gl.constexpr = gl.DotOperandLayout(1, ACC, 2)
        rows = gl.program_id(0) * BLOCK_M + gl.arange(0, BLOCK_M, gl.SliceLayout(1, A))[:, None]
        cols = gl.program_id(1) * BLOCK_N + gl.arange(0, BLOCK_N, gl.SliceLayout(0, B))[None, :]
        ks = step * BLOCK_K + gl.arange(0, BLOCK_K, gl.SliceLayout(0, A))[None, :]
        a = gl.load(a_ptr + rows * stride_am + ks, mask=(rows < M) & (ks < K), other=0.0)
        ks = step * BLOCK_K + gl.arange(0, BLOCK_K, gl.SliceLayout(1, B))[:, None]
        b = gl.load(b_ptr + ks * stride_bk + cols, mask=(ks < K) & (cols < N), other=0.0)
"""
ONE_AHEAD_OF_STEPS = (
    BEFORE.replace("SLOTS - 1", "1")
    + LOOP
    + ORDERED_FIRST.replace("step + SLOTS - 1", "step + 1").replace("SLOTS - 2", "1")
)

# Sentences that several mistakes share.
SAYS = {
    "size-of-another-axis":
        "A mask asks for the size of another axis. In a tile of A rows are below M and columns below K, in a tile of B "
        "rows below K and columns below N.",
}

MUTANTS = {
    "row_sums": [
        Mutant("never-waits", "{        async_copy.wait_group(SLOTS - 2)\n -> }", seen=RACE),
        Mutant("all-are-waited-for", "wait_group({SLOTS - 2 -> 0}", seen="property"),
        Mutant("a-step-for-each-number", "{gl.cdiv(N, 128) -> N}", seen=("property", "timeout")),
        Mutant("one-group-too-few", "wait_group(SLOTS - {2 -> 1})", seen=RACE),
        Mutant("waits-for-as-many-as-slots", "wait_group(SLOTS{ - 2 -> }", seen=RACE),
        Mutant("waits-after-the-load",
            "{async_copy.wait_group(SLOTS - 2) … SLOTS).load(ROWS -> x = tiles.index(number % SLOTS).load(ROWS)\n"
            "        async_copy.wait_group(SLOTS - 2}", seen=RACE),
        Mutant("waits-after-the-order",
            "{async_copy.wait_group(SLOTS - 2) … M, N, stride_xm -> x = tiles.index(number % SLOTS).load(ROWS)\n"
            "        order_tile(x_ptr, tiles, number + SLOTS - 1, M, N, stride_xm)\n"
            "        async_copy.wait_group(SLOTS - 2}", seen=RACE),
        Mutant("ring-not-filled",
            "{    for early in gl.static_range(SLOTS - 1): … order_tile(x_ptr, tiles, early, M, N, stride_xm)\n -> }",
            seen=RACE),
        Mutant("one-tile-too-few-ahead", "static_range(SLOTS - {1 -> 2})",
            seen=("early-read", "unwritten", "wrong-values")),
        Mutant("one-tile-too-many-ahead", "static_range(SLOTS{ - 1 -> })",
            seen=("early-read", "wrong-values", "unwritten", "two-writers")),
        Mutant("orders-the-next-tile", "number + {SLOTS -  -> }",
            seen=("two-writers", "early-read", "unwritten", "wrong-values")),
        Mutant("orders-a-slot-too-far", "number + SLOTS{ - 1 -> },", seen=("early-read", "unwritten", "wrong-values")),
        Mutant("never-orders-again", "{        order_tile(x_ptr, tiles, number + SLOTS - 1, M, N, stride_xm)\n -> }",
            seen=("early-read", "wrong-values", "unwritten")),
        Mutant("reads-the-next-slot", "= tiles.index({number -> (number + 1)} % SLOTS).",
            seen=("early-read", "wrong-values", "unwritten")),
        Mutant("reads-one-slot", "index({number % SLOTS -> 0}).",
            says="Every step reads slot 0. Tile t lies in slot t % SLOTS.", seen=("early-read", "wrong-values", "unwritten")),
        Mutant("no-remainder", "(number{ % SLOTS -> }).", seen="outside"),
        Mutant("rest-left-out", "{gl.cdiv(N, 128) -> N // 128}",
            says="A last tile that is not full is left out. `gl.cdiv` rounds up."),
        Mutant("last-tile-only", "acc {+ -> }= x", says="Only the last tile is in the sums. Each tile adds to acc."),
        Mutant("round-the-ring", "{number + SLOTS - 1 -> (number + SLOTS - 1) % SLOTS}",
            says="The first tiles come again and again. The number to order goes on: it has no remainder."),
        Mutant("no-ring", (RING_OF_SUMS, NO_RING_OF_SUMS), seen="property"),
        Mutant("ring-never-read", ("tiles.index(number % SLOTS).load(ROWS)", LOADED), seen="property"),
        Mutant("one-tile-ahead", (RING_OF_SUMS, ONE_AHEAD_OF_SUMS), seen="property"),
        Mutant("ordered-before-the-wait",
            "{async_copy.wait_group(SLOTS - 2) … order_tile(x_ptr, tiles, number + SLOTS - 1, M, N, stride_xm -> "
            "order_tile(x_ptr, tiles, number + SLOTS - 1, M, N, stride_xm)\n"
            "        async_copy.wait_group(SLOTS - 2)\n"
            "        x = tiles.index(number % SLOTS).load(ROWS}", seen="property"),
        Mutant("second-commit", "SLOTS - 1, M, N, stride_xm){ -> \n        async_copy.commit_group()}\n        acc",
            seen="property"),
        Mutant("second-wait", "acc += x{ -> \n        async_copy.wait_group(0)}", seen="property"),
        Mutant("four-slots-ahead", "wait_group({SLOTS - 2 -> 2}", seen=("property", "early-read", "unwritten")),
        Mutant("wait-for-a-number", "wait_group({SLOTS - 2 -> number}", seen="constant"),
        Mutant("cdiv-of-triton", "range({gl -> triton}.cdiv(", seen="not-gluon"),
        Mutant("cdiv-of-tl", "range({gl -> tl}.cdiv(", seen="not-gluon"),
        Mutant("wait-for-fewer-than-none", "wait_group(SLOTS - {2 -> 3})", seen="constant"),
        Mutant("store-in-the-loop", "acc += x{ -> \n        gl.store(sums_ptr + offs_m, gl.sum(acc, axis=1), mask=offs_m < M)}",
            seen="property"),
        Mutant("numbers-for-tiles", "range({gl.cdiv(N, 128) -> 0, N, 128}", seen="two-writers"),
        Mutant("as-many-steps-as-slots", "range({gl.cdiv(N, 128) -> SLOTS}):",
            says="The loop has as many steps as the ring has slots. It has one for each tile of the row."),
        Mutant("last-tiles-left-out", "{gl.cdiv(N, 128) -> gl.cdiv(N, 128) - (SLOTS - 1)}", seen="zeros",
            says="The last SLOTS - 1 tiles are ordered and never added. Past the row's end zeros arrive, and do no harm."),
        Mutant("sums-by-torch", "{M, N = x.shape … return sums -> return x.sum(dim=1)}",
            seen=("torch-compute", "no-kernel-launched")),
    ],
    "matmul_pipeline": [
        Mutant("never-waits", "{        async_copy.wait_group(SLOTS - 2)\n -> }", seen=RACE),
        Mutant("all-are-waited-for", "wait_group({SLOTS - 2 -> 0}", seen="property"),
        Mutant("a-step-for-each-of-K", "{gl.cdiv(K, BLOCK_K) -> K}", seen=("property", "timeout")),
        Mutant("one-group-too-few", "wait_group(SLOTS - {2 -> 1})", seen=RACE),
        Mutant("group-not-closed", "{\n    async_copy.commit_group() -> }", seen=RACE),
        Mutant("group-closed-too-early",
            "{async_copy_global_to_shared(b_slot, b_ptr … async_copy.commit_group( -> commit_group()\n"
            "    async_copy.async_copy_global_to_shared(b_slot, b_ptr + b_rows + offs_n, mask=b_mask}", seen=RACE),
        Mutant("b-from-the-next-slot", "= b_tiles.index({step -> (step + 1)} % SLOTS)",
            seen=("early-read", "unwritten", "wrong-values")),
        Mutant("ring-not-filled",
            "{    for early in gl.static_range(SLOTS - 1): … b_tiles, early, M, N, K, stride_am, stride_bk)\n -> }",
            seen=RACE),
        Mutant("one-step-too-few-ahead", "static_range(SLOTS - {1 -> 2})",
            seen=("early-read", "unwritten", "wrong-values")),
        Mutant("orders-the-next-step", "step + {SLOTS -  -> }", seen=("early-read", "unwritten", "two-writers")),
        Mutant("same-step-again", "step{ + SLOTS - 1 -> }", seen=("early-read", "unwritten", "wrong-values")),
        Mutant("k-not-masked-in-a", " (offs_ak < K{ ->  + 16})",
            seen=("wrong-values", "nan", "outside", "reads-outside")),
        Mutant("m-not-masked", "(offs_m < M{ ->  + 128}) & (offs_ak", seen=("outside", "reads-outside", "wrong-values")),
        Mutant("n-masked-with-k", "K) & (offs_n < {N -> K})", says="size-of-another-axis",
            seen=("zeros", "outside", "reads-outside")),
        Mutant("n-masked-with-m", "K) & (offs_n < {N -> M})", says="size-of-another-axis", seen="outside"),
        Mutant("k-masked-with-n", "(offs_ak < {K -> N})", says="size-of-another-axis", seen="outside"),
        Mutant("sizes-of-a-swapped", "(offs_m < {M) & (offs_ak < K -> K) & (offs_ak < M})",
            says="size-of-another-axis", seen="outside"),
        Mutant("acc-added-twice", "acc { -> +}= mma_v2(a", says="acc is added twice: `+=`, and once more by `mma_v2`."),
        Mutant("product-thrown-away", "{acc = mma -> mma}_v2(a", seen="zeros",
            says="`mma_v2` changes no tile: it returns acc + a @ b, which acc has to become."),
        Mutant("walk-along-N", "range(gl.cdiv({K -> N},",
            says="The walk has as many steps as N needs. It goes along K."),
        Mutant("last-step-only", "mma_v2(a, b, {acc -> gl.zeros([BLOCK_M, BLOCK_N], gl.float32, ACC)})",
            says="Only the last step along K is in c. `mma_v2(a, b, acc)` adds to acc."),
        Mutant("rest-left-out", "{gl.cdiv(K, BLOCK_K) -> K // BLOCK_K}",
            says="A last step that is not full is left out. `gl.cdiv` rounds up.", seen="zeros"),
        Mutant("numbers-for-steps", "range({gl.cdiv(K, BLOCK_K) -> 0, K, BLOCK_K}", seen="two-writers",
            says="`step` goes on by BLOCK_K. It counts steps: `range(gl.cdiv(K, BLOCK_K))`."),
        Mutant("blocks-swapped", "{0], BLOCK_N=tile[1 -> 1], BLOCK_N=tile[0}", seen=("unwritten-tail", "wrong-tail")),
        Mutant("grid-swapped", "{M, tile[0]), triton.cdiv(N, tile[1 -> N, tile[1]), triton.cdiv(M, tile[0}",
            seen=("wrong-values", "unwritten", "unwritten-tail", "wrong-tail", "race")),
        Mutant("one-row-of-tiles", "{triton.cdiv(M, tile[0]) -> 1}", seen="other-programs"),
        Mutant("strides-swapped", "K, {a.stride(0), b -> b.stride(0), a}.stride",
            seen=("wrong-values", "outside", "reads-outside")),
        Mutant("no-ring", (RING_OF_STEPS, NO_RING_OF_STEPS), seen="property"),
        Mutant("no-ring-of-a", A_LOADED, seen="property"),
        Mutant("one-step-ahead", (RING_OF_STEPS, ONE_AHEAD_OF_STEPS), seen="property"),
        Mutant("ordered-before-the-wait", (STEP, ORDERED_FIRST), seen="property"),
        Mutant("second-commit", "ahead, M, N, K, stride_am, stride_bk){ -> \n        async_copy.commit_group()}",
            seen="property"),
        Mutant("second-wait", "mma_v2(a, b, acc){ -> \n        async_copy.wait_group(0)}", seen="property"),
        Mutant("a-group-for-each-copy",
            "{ ->     async_copy.commit_group()\n}    async_copy.async_copy_global_to_shared(b_slot", seen="property"),
        Mutant("always-four-slots", "SLOTS={slots -> 4}", seen="property"),
        Mutant("eight-warps", "num_warps={4 -> 8}", seen="warps", on_gpu=("does-not-compile",)),
        Mutant("a-without-mask", "offs_ak{, mask=a_mask -> }", seen=("outside", "reads-outside")),
        Mutant("product-by-torch", seen=("torch-compute", "no-kernel-launched"),
            body="(M, K), N = a.shape, b.shape[1]\n"
                "if K != b.shape[0] or a.dtype != b.dtype or a.dtype not in (torch.float16, torch.bfloat16) or K % "
                "16 or N % 16:\n"
                "    raise ValueError('a, b')\n"
                "return a @ b"),
    ],
}

VARIANTS = {
    "row_sums": [
        Variant("order-first",
            "{async_copy.wait_group(SLOTS - 2) … order_tile(x_ptr, tiles, number + SLOTS - 1, M, N, stride_xm -> "
            "order_tile(x_ptr, tiles, number + SLOTS - 1, M, N, stride_xm)\n"
            "        async_copy.wait_group(SLOTS - 1)\n"
            "        x = tiles.index(number % SLOTS).load(ROWS}"),
        Variant("order-last",
            "{order_tile(x_ptr, tiles, number + SLOTS - 1, M, N, stride_xm) … acc += x -> acc += x\n"
            "        order_tile(x_ptr, tiles, number + SLOTS - 1, M, N, stride_xm)}"),
        Variant("slot-kept",
            "{x = tiles.index(number % SLOTS) -> slot = tiles.index(number % SLOTS)\n        x = slot}"),
        Variant("load-before-other-work", "acc {+= -> = acc +} x"),
    ],
    "matmul_pipeline": [
        Variant("order-first", (STEP, ORDERED_FIRST.replace("SLOTS - 2", "SLOTS - 1"))),
        Variant("two-groups-a-step",
            "{ ->     async_copy.commit_group()\n}    async_copy.async_copy_global_to_shared(b_slot",
            "wait_group({SLOTS - 2 -> 2 * (SLOTS - 2)}"),
        Variant("multiply-then-order",
            "{ahead = step + SLOTS - 1 … acc = mma_v2(a, b, acc -> acc = mma_v2(a, b, acc)\n"
            "        ahead = step + SLOTS - 1\n"
            "        order_step(a_ptr, b_ptr, a_tiles, b_tiles, ahead, M, N, K, stride_am, stride_bk}"),
        Variant("b-ordered-first",
            "{a_slot, a_ptr … b_rows + offs_n, mask=b_mask -> b_slot, b_ptr + b_rows + offs_n, mask=b_mask)\n"
            "    async_copy.async_copy_global_to_shared(a_slot, a_ptr + a_rows + offs_ak, mask=a_mask}"),
        Variant("slot-inline",
            "{a_slot, b_slot = a_tiles.index(step % SLOTS), b_tiles.index(step % SLOTS -> slot = step % SLOTS\n"
            "    a_slot, b_slot = a_tiles.index(slot), b_tiles.index(slot}"),
    ],
}

EQUIVALENT = {
    "matmul_pipeline": {
        "async_copy.async_copy_global_to_shared(a_slot, a_ptr + a_rows + offs_ak, mask=a_mask) async_copy.async_copy_global_to_shared(b_slot, b_ptr + b_rows + offs_n, mask=b_mask) => async_copy.async_copy_global_to_shared(b_slot, b_ptr + b_rows + offs_n, mask=b_mask) async_copy.async_copy_global_to_shared(a_slot, a_ptr + a_rows + offs_ak, mask=a_mask)": "the order of two copies of one group",
        "a = a_tiles.index(step % SLOTS).load(gl.DotOperandLayout(0, ACC, 2)) => a = a_tiles.index(step % SLOTS).load(gl.DotOperandLayout(0, ACC, 3))": "the compiler refuses this width; the simulator knows no layouts",
        "b = b_tiles.index(step % SLOTS).load(gl.DotOperandLayout(1, ACC, 2)) => b = b_tiles.index(step % SLOTS).load(gl.DotOperandLayout(1, ACC, 3))": "the compiler refuses this width; the simulator knows no layouts",
    },
}
