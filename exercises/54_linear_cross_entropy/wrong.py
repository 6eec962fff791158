"""Mistakes of 54_linear_cross_entropy with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant

PROMISES = ("predict", "gradient-of-a-copy", "all-logits-at-once")

WORD_BY_WORD = """@triton.jit
def cross_entropy_kernel(z_ptr, targets_ptr, losses_ptr, V, stride_zt):
    pid_t = tl.program_id(axis=0).to(tl.int64)
    target = tl.load(targets_ptr + pid_t)
    row_ptr = z_ptr + pid_t * stride_zt
    counts = target >= 0
    m_i, l_i, z_target = -1e38, 0.0, 0.0
    for v in range(0, V):
        z = tl.load(row_ptr + v).to(tl.float32)
        m_new = tl.maximum(m_i, z)
        l_i = l_i * tl.exp(m_i - m_new) + tl.exp(z - m_new)
        m_i = m_new
        z_target += tl.where(v == target, z, 0.0)
    lse = m_i + tl.log(l_i)
    tl.store(losses_ptr + pid_t, tl.where(counts, lse - z_target, 0.0))
    for v in range(0, V):
        dz = tl.exp(tl.load(row_ptr + v).to(tl.float32) - lse) - tl.where(v == target, 1.0, 0.0)
        tl.store(row_ptr + v, tl.where(counts, dz, 0.0))


def cross_entropy_in_place(logits, targets, losses, block=8192):
    require_rows(logits, targets, losses)
    T, V = logits.shape
    if T > 0:
        cross_entropy_kernel[(T,)](logits, targets, losses, V, logits.stride(0))
"""

# Sentences that several mistakes share.
SAYS = {
    "not-rescaled": "The sum was not put right when a tile brought a larger maximum. It needs the old m_i.",
    "padding-counted": "Masked lanes took part as zeros. Which `other=` leaves maximum and sum unchanged?",
    "starts-at-minus-infinity":
        "A first tile of minus infinity makes the row NaN. m_i starts at a finite number, and never becomes smaller: "
        "it is the larger one of itself and the tile's maximum.",
    "everybody-counts": "A token with a negative target does not count. Its loss and its gradient are 0, stored.",
    "skipped-as-they-were":
        "For a token that does not count nothing was stored. Its loss and its gradient are 0: store zeros.",
    "products-of-logits": "dx and dw were made from the logits. The kernel turns them into the gradient first.",
}

MUTANTS = {
    "cross_entropy_in_place": [
        Mutant("target-stored-over", "{ - tl.where(offs_v == target, 1.0, 0.0) -> }", "counts, dz, 0.0), mask=offs_v < V){ -> \n"
            "    tl.store(row_ptr + target, tl.exp(z_target - lse) - 1.0, mask=counts)}", seen="no-barrier", only="interpreter"),
        Mutant("never-above-0", "dz = tl.exp({z - lse -> tl.minimum(z - lse, 0.0)}", "{lse - z_target -> tl.maximum(lse - z_target, 0.0)}", seen="nan-lost"),
        Mutant("exponentials-rounded", "tl.sum({tl.exp(z - m_new) -> tl.exp(z - m_new).to(z_ptr.dtype.element_ty).to(tl.float32)}, axis=0)",
            says="The exponentials were rounded to half precision before they were summed. Sum them in float32."),
        Mutant("gradient-rounded-twice", "dz = {tl.exp(z - lse) -> tl.exp(z - lse).to(z_ptr.dtype.element_ty).to(tl.float32)}",
            says="The softmax was rounded to half precision before 1 was subtracted from it. Near 1 it has few digits "
                "there: subtract in float32, and let the store round."),
        Mutant("starts-too-high", "z_target = -{1e38 -> 50000.0}",
            says="m_i starts above all logits of the row, and all exponentials are 0. Start it at -1e38."),
        Mutant("padding-too-high", '={float("-inf") -> -1e4}',
            says="Masked lanes hold a number that is not below all logits, and wins the maximum. Give them minus "
                'infinity, `float("-inf")`.'),
        Mutant("lse-without-maximum", "lse = {m_i +  -> }tl",
            says="l_i is a sum that was taken with m_i subtracted. lse is m_i + log(l_i), and exp(z) / l_i lacks the "
                "same m_i."),
        Mutant("loss-without-maximum", "counts, {lse -> tl.log(l_i)} - z_target",
            says="The loss is m_i + log(l_i) - z_target: l_i is a sum that was taken with m_i subtracted."),
        Mutant("maximum-not-subtracted", "z_target = {-1e38 -> 0.0}", "{tl.maximum(m_i, tl.max(z, axis=0)) -> m_i}",
            says="The exponentials overflow or vanish: was the maximum subtracted from them?"),
        Mutant("not-rescaled", "{* tl.exp(m_i - m_new)  -> }", says="not-rescaled"),
        Mutant("maximum-updated-first", "{ -> m_i = m_new\n        }l_i = l_i * tl", says="not-rescaled"),
        Mutant("masked-lanes-are-zero", '={float("-inf") -> 0.0}', says="padding-counted"),
        Mutant("other-forgotten", '{, other=float("-inf") -> }', says="padding-counted", only="interpreter"),
        Mutant("last-tile-only", "{l_i * tl.exp(m_i - m_new) +  -> }",
            says="lse knows the last tile of words alone: the tiles before it are lost.", seen="wrong-values"),
        Mutant("first-tile-only", "0\n    for start in range(0, {V -> BLOCK_V}, BLOCK_V):",
            says="lse knows the first tile of words alone. Does the first walk reach the end?"),
        Mutant("maximum-of-the-tile-alone", "{maximum(m_i, tl.max(z, axis=0) -> max(z, axis=0}",
            says="starts-at-minus-infinity"),
        Mutant("lse-is-a-product", "lse = m_i {+ -> *} tl", says="lse is m_i plus the logarithm of l_i, not times it."),
        Mutant("log-of-both", " {m_i + tl.log( -> tl.log(m_i + }",
            says="The logarithm was taken of m_i + l_i. It belongs to l_i alone."),
        Mutant("minus-100-alone", " = target {>= 0 -> != -100}", says="everybody-counts"),
        Mutant("returns-for-a-skipped-token", " = target >= 0{ -> \n    if target < 0:\n        return}",
            says="skipped-as-they-were"),
        Mutant("skipped-gradient-not-stored",
            "{tl.where(counts, dz, 0.0), mask=offs_v < V -> dz, mask=(offs_v < V) & counts}",
            says="skipped-as-they-were"),
        Mutant("one-added", "(z - lse) {- -> +} tl", says="1 is added at the target. Subtract it."),
        Mutant("divided-by-lse", "tl.exp(z{ - lse) -> ) / lse}",
            says="The exponentials are divided by lse, a logarithm. The softmax is exp(z - lse)."),
        Mutant("divided-by-lse-too", "tl.exp(z - {lse) -> m_i) / lse}",
            says="The exponentials are divided by lse, a logarithm. The softmax is exp(z - lse)."),
        Mutant("no-exponential", "dz = {tl.exp -> }(z ",
            says="z - lse is the logarithm of the softmax. Take its exponential."),
        Mutant("exponent-backwards", "tl.exp({z - lse -> lse - z}",
            says="The exponent is turned round: the softmax is exp(z - lse)."),
        Mutant("minus-infinity-beside-the-target", 'target, z, {0.0 -> float("-inf")}), ',
            says="z_target is minus infinity. Under a sum, the lanes beside the target hold 0."),
        Mutant("last-tile-left-out",
            "    m_i, l_i, z_target = -1e38, 0.0, 0.0\n    for start in range(0, V{ ->  - BLOCK_V + 1}",
            seen="wrong-values"),
        Mutant("log-forgotten", " + {tl.log(l_i) -> l_i}",
            says="lse is m_i + l_i here. It is m_i plus the logarithm of l_i."),
        Mutant("lse-of-the-tiles-so-far",
            " 0.0), axis=0){ -> \n"
            "        dz = tl.exp(z - m_i) / l_i - tl.where(offs_v == target, 1.0, 0.0)\n"
            "        tl.store(row_ptr + offs_v, tl.where(target >= 0, dz, 0.0), mask=offs_v < V)}",
            "    tl.store(losses_ptr + pid_t, tl.where(counts, lse - z_target, 0.0))\n"
            "{    for start in range(0, V, BLOCK_V): … offs_v, tl.where(counts, dz, 0.0), mask=offs_v < V)\n -> }",
            says="A tile's gradient was made in the first walk, when lse knew the tiles up to it alone. It needs a "
                "second walk."),
        Mutant("rescaled-the-wrong-way", "exp({m_i - m_new -> m_new - m_i}", seen="nan"),
        Mutant("one-everywhere", "{tl.where(offs_v == target, 1.0, 0.0) -> 1.0}",
            says="1 is subtracted at every word. Subtract it at the target alone."),
        Mutant("one-up-to-the-target", "tl.where(offs_v {= -> <}= target, 1", seen="wrong-values"),
        Mutant("mean-of-losses", "{lse - z_target -> (lse - z_target) / tl.num_programs(0)}",
            says="The losses are divided by the number of tokens. The contract asks for each token's own."),
        Mutant("target-overwritten", "{tl.store(losses_ptr + pid_t, tl.where(counts, lse - z_target, 0.0)) -> pass}",
            "), mask=offs_v < V){ -> \n"
            "    z_target = tl.load(row_ptr + target, mask=counts, other=0.0).to(tl.float32)\n"
            "    tl.store(losses_ptr + pid_t, tl.where(counts, lse - z_target, 0.0))}",
            says="The target's logit was read after the second walk: by then the gradient stands there."),
        Mutant("target-not-awaited", "{z_target += tl.sum(tl.where(offs_v == target, z, 0.0), axis=0) -> pass}",
            "log(l_i){ -> \n    z_target = tl.load(row_ptr + target, mask=target >= 0, other=0.0).to(tl.float32)}",
            seen="no-barrier", only="interpreter"),
        Mutant("lse-through-memory",
            " + tl.log(l_i){ -> \n"
            "    tl.store(losses_ptr + pid_t, lse)\n"
            "    lse = tl.load(losses_ptr + pid_t)}",
            seen="no-barrier", only="interpreter"),
        Mutant("lse-through-memory-stored-over",
            " + tl.log(l_i){ -> \n"
            "    tl.store(losses_ptr + pid_t, lse)\n"
            "    tl.debug_barrier()\n"
            "    lse = tl.load(losses_ptr + pid_t)}",
            seen="no-barrier", only="interpreter"),
        Mutant("word-by-word", seen="property", only="interpreter", replace=WORD_BY_WORD),
        Mutant("sum-not-shifted", ".exp(z{ - m_new -> }",
            says="m_new is not subtracted from the exponents of the tile's own sum."),
        Mutant("last-tile-again",
            "{offs_v = start + tl.arange(0, BLOCK_V)\n         -> }z = tl.load(row_ptr + offs_v, mask=offs_v < V)",
            says="The second walk stays on the last tile, where the first one ended. It needs offsets of its own.",
            on_gpu=("does-not-compile",)),
        Mutant("first-tile-again",
            "offs_v = {start +  -> }tl.arange(0, BLOCK_V)\n        z = tl.load(row_ptr + offs_v, mask=offs_v < V)",
            says="The second walk stays on the first tile: its offsets lack `start`."),
        Mutant("not-loaded-again", "{        z = tl.load(row_ptr + offs_v, mask=offs_v < V).to(tl.float32)\n -> }",
            says="The second walk has one z for all tiles, the last of the first walk. Load each one again.",
            on_gpu=("does-not-compile",)),
        Mutant("log-base-two", "= m_i + tl.{log -> log2}",
            says="The logarithm has base 2. Exponentials to base e go with `tl.log`."),
        Mutant("everybody-counts", " = target >= {0 -> -1000}", says="everybody-counts"),
        Mutant("word-0-does-not-count", " = target >{= -> } 0", seen="zeros"),
        Mutant("softmax-left", "{tl.where(counts, dz, 0.0) -> dz}", says="everybody-counts"),
        Mutant("loss-of-all", "{tl.where(counts, lse - z_target, 0.0) -> lse - z_target}", says="everybody-counts"),
        Mutant("no-one-subtracted", "{ - tl.where(offs_v == target, 1.0, 0.0) -> }",
            says="The gradient is the softmax alone. Subtract 1 at the target."),
        Mutant("one-in-every-tile", " tl.where({offs_v -> tl.arange(0, BLOCK_V)} == ",
            says="1 is subtracted in every tile. Compare the target with the word's number in the whole row, `start` "
                "included."),
        Mutant("target-of-another-tile", "(tl.where({offs_v -> tl.arange(0, BLOCK_V)} == ",
            says="z_target picks a lane in every tile. Compare the target with the word's number in the whole row, "
                "`start` included."),
        Mutant("gradient-backwards", "where(counts, { -> -}dz",
            says="The gradient has the wrong sign: softmax minus 1."),
        Mutant("target-not-subtracted", "lse{ - z_target -> }",
            says="This is lse. The loss is lse less the target's logit: is z_target added up?"),
        Mutant("target-of-the-last-tile", "z_target {+ -> }= tl",
            says="z_target is forgotten in the next tile. Each tile adds to it."),
        Mutant("loss-backwards", "{lse - z_target -> z_target - lse}",
            says="The loss has the wrong sign: lse less the target's logit."),
        Mutant("softmax-of-the-sum", "tl.exp(z - {lse -> l_i})", seen=("wrong-values", "nan", "overflow")),
        Mutant("starts-at-minus-infinity", 'z_target = {-1e38 -> float("-inf")}', says="starts-at-minus-infinity"),
        Mutant("no-mask-at-the-store", "){, mask=offs_v < V -> }", seen=("rows-after-first", "out-of-bounds-store")),
        Mutant("no-mask-at-the-second-load", "offs_v{, mask=offs_v < V -> })", seen="reads-outside", only="interpreter"),
        Mutant("always-the-first-row", "{ + pid_t * stride_zt -> }",
            seen=("wrong-values", "rows-after-first", "race", "unwritten-tail")),
        Mutant("rows-are-v-apart", "pid_t * {stride_zt -> V}", seen=("strided-only", "wrong-values"),
            on_gpu=("out-of-bounds-store",)),
        Mutant("second-walk-stops-early", ")\n    for start in range(0, {V -> BLOCK_V}, BLOCK_V):",
            seen=("wrong-values", "unwritten-tail", "wrong-tail")),
        Mutant("losses-by-torch", seen=("torch-compute", "no-kernel-launched", "input-changed"),
            body="require_rows(logits, targets, losses)\n"
                "counts = targets >= 0\n"
                "losses.copy_(torch.nn.functional.cross_entropy(logits.float(), targets.clamp(min=0), "
                "reduction='none') * counts)\n"
                "dz = logits.float().softmax(-1)\n"
                "dz[torch.arange(len(dz)), targets.clamp(min=0)] -= 1\n"
                "logits.copy_(dz * counts[:, None])"),
    ],
    "linear_cross_entropy": [
        Mutant("last-piece-only", "{dw.addmm_(z.T, x[rows] -> torch.mm(z.T, x[rows], out=dw}",
            says="dw holds the share of the last piece alone. Every piece adds to it."),
        Mutant("first-rows-of-x", "(z.T, x[{rows -> : len(z)}])",
            says="dw was made with the first rows of x in each piece. Take the rows of the piece."),
        Mutant("all-logits-at-once",
            "{for start in range(0, T, piece): …  -> rows = slice(0, T)\n"
            "    z = torch.mm(x[rows], w.T)\n"
            "    cross_entropy_in_place(z, targets[rows], losses[rows])\n"
            "    torch.mm(z, w, out=dx[rows])\n"
            "}    dw.addmm_", seen="property"),
        Mutant("all-logits-first", "{ -> logits = torch.mm(x, w.T)\n    }for start in range",
            "{torch.mm(x[rows], w.T) -> logits[rows]}", seen="property"),
        Mutant("all-pieces-first",
            "{ -> logits = [torch.mm(part, w.T) for part in x.split(piece)]\n    }for start in range",
            "{torch.mm(x[rows], w.T) -> logits[start // piece]}", seen="property"),
        Mutant("pieces-kept", "{ -> kept = []\n    }for start in range", "(x[rows], w.T){ -> \n        kept.append(z)}",
            seen="property"),
        Mutant("piece-ignored", "range(0, T, {piece -> 256})", "start + {piece -> 256})", seen="property"),
        Mutant("a-row-too-many", "start + piece{ ->  + 1})",
            says="Each piece ends one token too late: the first token of the next one counts twice in dw."),
        Mutant("gradient-of-a-copy", "cross_entropy_in_place(z{ -> .clone()}, ", says="products-of-logits"),
        Mutant("at-every-token", "range(0, T{, piece -> }",
            says="A piece begins at every token, so dw gets each share many times. Step by `piece`."),
        Mutant("added-to-fresh-memory", "{torch.mm(z, w, out=dx[rows] -> dx[rows].addmm_(z, w}", seen="nan"),
        Mutant("last-piece-left-out", "in range(0, T{ ->  - piece + 1}, ",
            seen=("wrong-values", "unwritten-tail", "unwritten")),
        Mutant("losses-of-the-first-piece", ", losses[{rows -> : len(z)}]",
            seen=("wrong-values", "unwritten-tail", "unwritten")),
        Mutant("targets-of-the-first-piece", " targets[{rows -> : len(z)}]", seen=("wrong-values", "wrong-tail")),
        Mutant("dx-into-the-first-rows", ", out=dx[{rows -> : len(z)}]",
            seen=("unwritten-tail", "unwritten", "wrong-values")),
        Mutant("steps-of-one", "start + {piece -> 1})", seen=("unwritten", "wrong-values", "unwritten-tail")),
        Mutant("wrong-order", "addmm_({z.T, x[rows] -> x[rows].T, z}", seen="raised"),
        Mutant("dw-not-added", "{        dw.addmm_(z.T, x[rows])\n -> }",
            seen=("zeros", "constant-factor", "wrong-values")),
        Mutant("uninitialised", "torch.{zeros_like -> empty_like}", seen=("nan", "wrong-values", "unwritten")),
        Mutant("returned-in-another-order", "losses, {dx, dw -> dw, dx}",
            seen=("wrong-shape", "wrong-type", "wrong-dtype")),
        Mutant("torch-stand-in", seen=("no-kernel-launched", "torch-compute"),
            body="if w.shape[1] != x.shape[1]:\n"
                "    raise ValueError('sizes')\n"
                "z = x @ w.T\n"
                "dz = z.float().softmax(-1)\n"
                "dz[torch.arange(len(dz)), targets] -= 1\n"
                "return torch.nn.functional.cross_entropy(z.float(), targets, reduction='none'), dz.to(x.dtype) @ "
                "w, dz.T.to(x.dtype) @ x"),
    ],
}

VARIANTS = {
    "cross_entropy_in_place": [
        Variant("softmax-from-the-sum", "tl.exp(z - {lse) -> m_i) / l_i}"),
        Variant("four-warps", ", num_warps={16 -> 4}"),
        Variant("one-by-cast", "{tl.where(offs_v == target, 1.0, 0.0 -> (offs_v == target).to(tl.float32}"),
        Variant("counts-by-product", "{tl.where(counts, dz, 0.0 -> dz * counts.to(tl.float32}"),
        Variant("target-by-its-address", "{z_target += tl.sum(tl.where(offs_v == target, z, 0.0), axis=0) -> pass}",
            " + tl.log(l_i){ -> \n"
            "    z_target = tl.load(row_ptr + target, mask=target >= 0, other=0.0).to(tl.float32)\n"
            "    tl.debug_barrier()}"),
        Variant("lse-through-memory",
            " + tl.log(l_i){ -> \n"
            "    tl.store(losses_ptr + pid_t, lse)\n"
            "    tl.debug_barrier()\n"
            "    lse = tl.load(losses_ptr + pid_t)\n"
            "    tl.debug_barrier()}"),
        Variant("target-before-the-walk", "{z_target += tl.sum(tl.where(offs_v == target, z, 0.0), axis=0) -> pass}",
            "1e38, 0.0, 0.0{ -> \n"
            "    z_target = tl.load(row_ptr + target, mask=target >= 0, other=0.0).to(tl.float32)}"),
        Variant("target-by-a-maximum", "1e38, 0.0, {0.0 -> -1e38}",
            "{+= tl.sum(tl.where(offs_v == target, z, 0.0), axis=0 -> = tl.maximum(z_target, tl.max(tl.where(offs_v "
            "== target, z, -1e38), axis=0)}"),
        Variant("returns-early", "1e38, 0.0, 0.0{ ->   # nothing else}"),
        Variant("small-tiles", "losses, block={8192 -> 64}"),
        Variant("other-in-the-second-walk", "mask=offs_v < V{ -> , other=0.0})."),
    ],
    "linear_cross_entropy": [
        Variant("logits-by-operator", "{torch.mm(x[rows], w.T) -> x[rows] @ w.T}"),
        Variant("dx-by-copy", "{torch.mm(z, w, out=dx[rows]) -> dx[rows] = z @ w}"),
        Variant("dw-by-operator", "{.addmm_(z.T, x[rows]) ->  += z.T @ x[rows]}"),
        Variant("dw-by-addmm", "{dw.addmm_(z.T, x[rows]) -> torch.addmm(dw, z.T, x[rows], out=dw)}"),
        Variant("one-memory-for-all",
            "{ -> memory = torch.empty((piece, w.shape[0]), dtype=x.dtype, device=x.device)\n    }for start in range",
            "(x[rows], w.T{ -> , out=memory[: min(piece, T - start)]})"),
        Variant("old-piece-let-go", "(z.T, x[rows]){ -> \n        del z}"),
        Variant("dw-in-float32",
            "{ -> wide = torch.zeros(w.shape, dtype=torch.float32, device=w.device)\n    }for start in range",
            "{dw.addmm_(z.T, x[rows] -> wide += torch.mm(z.T, x[rows])\n    dw.copy_(wide}"),
        Variant("end-by-min", " {start + piece -> min(start + piece, T)}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "cross_entropy_in_place": {
        'z = z.to(tl.float32) => z = z': "float32 all the same: m_new is, and it meets every z",
        'z = z.to(tl.float32) m_new = tl.maximum(m_i, tl.max(z, axis=0)) => m_new = tl.maximum(m_i, tl.max(z, axis=0)) z = z.to(tl.float32)': "the maximum is float32 all the same: m_i is",
        'z = z.to(tl.float32) => pass': "float32 all the same: m_new is, and it meets every z",
        'z = tl.load(row_ptr + offs_v, mask=offs_v < V).to(tl.float32) => z = tl.load(row_ptr + offs_v, mask=offs_v < V)': "float32 all the same: lse is",
        'm_new = tl.maximum(m_i, tl.max(z, axis=0)) => m_new = tl.maximum(m_i, tl.max(z))': "a tile of one dimension has one axis",
        'l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(z - m_new), axis=0) => l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(z - m_new))': "a tile of one dimension has one axis",
        'z_target += tl.sum(tl.where(offs_v == target, z, 0.0), axis=0) => z_target += tl.sum(tl.where(offs_v == target, z, 0.0))': "a tile of one dimension has one axis",
        'dz = tl.exp(z - lse) - tl.where(offs_v == target, 1.0, 0.0) => dz = tl.exp(z - lse) - tl.where(1.0, offs_v == target, 0.0)': "the condition 1.0 is true, so what is taken is the comparison: 1 at the target, else 0",
    },
    "linear_cross_entropy": {
        'torch.mm(z, w, out=dx[rows]) dw.addmm_(z.T, x[rows]) => dw.addmm_(z.T, x[rows]) torch.mm(z, w, out=dx[rows])': "the two products do not touch each other's results",
    },
}
