"""Mistakes of 58_delta_rule with what is said of each, and right ones."""

from tritonbook.course.mutants import Mutant, Variant, usual

SHARED = "tf32"
PROMISES = ("written-into-a-copy", "inverse-is-the-sum", "by-division")

# Sentences that several mistakes share.
SAYS = {
    "never-fades": "The state does not fade. Multiply what was loaded by a, before anything reads it.",
    "old-not-subtracted": (
        "v was written whole, as on page 53. The delta rule writes the difference to what the state holds under k."
    ),
    "beta-forgotten": "The whole difference is written. Multiply it by beta.",
    "stored-too-early": "The state was stored before u was added to it.",
    "k-for-q": "o was read under k. q reads the new state.",
    "turned": "The sum goes along a row of the state. k S sums over the rows: axis 0, with k upright, `k[:, None]`.",
    "o-turned": "o sums along a row of the state. q S sums over the rows: axis 0, with q upright, `q[:, None]`.",
    "beta-of-the-column": (
        "L has beta of the column, of the token that wrote. beta belongs to the token that reads, row t: "
        "`beta[:, None]`."
    ),
    "gates-not-summed": (
        "`g` holds the gates themselves. From token s to t the gates of all tokens between count: take the running "
        "sum first, `tl.cumsum`."
    ),
    "powers": (
        "Products like (I - L)(I + L^2)(I + L^4) are the inverse on paper. With one key again and again the powers "
        "of L grow beyond the digits of float32. Join neighbouring blocks: X - X M X."
    ),
    "chunk-forgotten": "Only the state counts for o. Add scores times u, before the store.",
    "state-forgotten": "Only tokens of the same chunk count. Add what q reads from the state.",
    "state-fades-not": "The state goes to the next chunk as it is. It fades by the whole chunk's gates: `tl.exp(total)`.",
}

UNFADED = "The old state is read before it has faded. u needs k times the faded state."

MUTANTS = {
    "delta_step": [
        Mutant("heads-on-axis-1", "head = tl.program_id({0 -> 1})", "offs_e = tl.program_id({1 -> 0})", "[({B * H, D // BLOCK_E -> D // BLOCK_E, B * H})]", seen="grid-limit"),
        usual(),
        Mutant("never-fades", "state = {a * tl -> tl}.load", says="never-fades"),
        Mutant("fades-after-the-read",
            "state = {a * tl.load(state_ptrs) -> tl.load(state_ptrs)}",
            "    state {+= k[:, None] * u[None, :] -> = a * state + k[:, None] * u[None, :]}",
            says=UNFADED),
        Mutant("fades-after-the-write",
            "state = {a * tl.load(state_ptrs) -> tl.load(state_ptrs)}",
            "    state {+= k[:, None] * u[None, :] -> = a * (state + k[:, None] * u[None, :])}",
            says="The gate comes last. The old state fades, and what is new does not."),
        Mutant("fades-for-the-read-alone", "state = {a * tl -> tl}.load", "(v - tl.sum({k -> a * k}[:, None]",
            says="Only what k reads has faded, and the state that u is added to has not. Multiply it by a where it is loaded."),
        Mutant("gate-twice", "v - {tl.sum -> a * tl.sum}",
            says="What was read under k has faded twice: a is in `state` already."),
        Mutant("old-not-subtracted", "beta * {(v - tl.sum(k[:, None] * state, axis=0)) -> v}",
            says="old-not-subtracted"),
        Mutant("old-added", "(v {- -> +} tl.sum", says="What the state holds was added to v. Subtract it."),
        Mutant("beta-forgotten", "u = {beta * -> 1.0 *} (v", says="beta-forgotten"),
        Mutant("beta-on-v-alone", "u = {beta * (v - tl.sum(k[:, None] * state, axis=0)) -> beta * v - tl.sum(k[:, None] * state, axis=0)}",
            says="beta multiplies v alone, and the old value is taken away whole. It multiplies the difference."),
        Mutant("erased-without-beta", "u = {beta * (v - tl.sum(k[:, None] * state, axis=0)) -> v - beta * tl.sum(k[:, None] * state, axis=0)}",
            says="beta multiplies the old value alone, and v is written whole. It multiplies the difference."),
        Mutant("o-from-the-old-state", "{    state += k[:, None] * u[None, :]\n -> }",
            "{ ->     state += k[:, None] * u[None, :]\n}    tl.store(state_ptrs",
            "    tl.store(state_ptrs, state)\n{    tl.store(o_ptrs, tl.sum(q[:, None] * state, axis=0))\n -> }",
            "{ ->     tl.store(o_ptrs, tl.sum(q[:, None] * state, axis=0))\n}    u = beta",
            says="q read the state before this token wrote to it. o is of the new state."),
        Mutant("stored-too-early", "{    tl.store(state_ptrs, state)\n -> }",
            "{ ->     tl.store(state_ptrs, state)\n}    state += k", says="stored-too-early"),
        Mutant("state-not-stored", "{    tl.store(state_ptrs, state)\n -> }",
            says="The state is as it was. `delta_step` changes it in place: store it.",
            seen=("unwritten", "unwritten-tail")),
        Mutant("o-not-stored", "{    tl.store(o_ptrs, tl.sum(q[:, None] * state, axis=0))\n -> }",
            seen=("unwritten", "unwritten-tail", "unused-input")),
        Mutant("k-for-q", "sum({q -> k}[:, None] * state, axis=0))", says="k-for-q", seen="unused-input"),
        Mutant("q-for-k", "u = beta * (v - tl.sum({k -> q}[:", says="What is corrected was read under q. It is read under k."),
        Mutant("turned-write", "state += {k[:, None] * u[None, :] -> k[None, :] * u[:, None]}",
            says="u stands upright and k lies: the state is written transposed. Row d gets k[d] times u.",
            seen=("does-not-compile", "raised")),
        Mutant("sum-along-rows", "(v - tl.sum(k[:, None] * state, axis={0 -> 1})", says="turned",
            seen=("does-not-compile", "raised")),
        Mutant("k-lies", "(v - tl.sum({k[:, None] * state, axis=0 -> k[None, :] * state, axis=1})", says="turned",
            seen=("does-not-compile", "raised")),
        Mutant("k-lies-and-is-summed-down", "(v - tl.sum({k[:, None] -> k[None, :]} * state", says="turned"),
        Mutant("o-along-rows-alone", "q[:, None] * state, axis={0 -> 1}))", says="o-turned"),
        Mutant("q-lies", "tl.sum({q[:, None] -> q[None, :]} * state", says="o-turned"),
        Mutant("beta-twice", "+= {k -> beta * k}[:, None] * u", says="beta counts twice: u has it already."),
        Mutant("o-along-rows", "tl.sum({q[:, None] * state, axis=0 -> q[None, :] * state, axis=1}))", says="turned",
            seen=("does-not-compile", "raised")),
        Mutant("v-written", "k[:, None] * {u -> v}[None",
            says="v was written and not u, so the difference is not used."),
        Mutant("state-replaced", "state {+= -> =} k[:, None] * u",
            says="The old state is gone: u was stored in its place. Add to what has faded."),
        Mutant("state-subtracted", "state {+= -> -=} k[:", says="u was taken away from the state. Add it."),
        Mutant("exponential-twice", "state = {a * tl -> tl.exp(a) * tl}.load",
            says="The exponential was taken of a, which is exp(g) already. The state fades by a."),
        Mutant("u-counted-twice", "tl.sum(q[:, None] * state, axis=0){ ->  + tl.sum(q * k) * u})",
            says="What this token wrote counts twice in o: the new state holds it already."),
        Mutant("rounded-state", "tl.store(state_ptrs, state{ -> .to(q_ptr.dtype.element_ty)})",
            says="The state was rounded to half precision before its store. It is float32."),
        Mutant("rounded-when-loaded",
            "state = {a * tl.load(state_ptrs) -> (a * tl.load(state_ptrs)).to(q_ptr.dtype.element_ty).to(tl.float32)}",
            says="The state was rounded to half precision before its use. It is carried in float32."),
        Mutant("written-into-a-copy", "{    require(state -> \n    state = state.clone()\n    require(state}", seen=("unwritten", "copies", "other-tensor")),
        Mutant("by-torch", seen=("torch-compute", "no-kernel-launched"),
            replace='''
def delta_step(q, k, v, g, beta, state, o):
    require(state, g, beta, q, k, v, o)
    q, k, v = (x.float()[:, :, None] for x in (q, k, v))
    state *= g.exp()[..., None, None]
    state += k.mT @ (beta[..., None, None] * (v - k @ state))
    o.copy_((q @ state)[:, :, 0])
'''),
    ],
    "within_chunks": [
        Mutant("heads-on-axis-1", "head, chunk = tl.program_id({0).to(tl.int64), tl.program_id(1 -> 1).to(tl.int64), tl.program_id(0})", "{tl.num_programs(1) -> tl.num_programs(0)}", "[({B * H, chunks -> chunks, B * H})]", seen="grid-limit"),
        usual(but=("grid-rounds-down", "grid-one-short", "one-program")),  # the wrapper is given
        Mutant("beta-of-the-column", "lower = beta{[:, None] -> [None, :]}", says="beta-of-the-column"),
        Mutant("beta-forgotten", "lower = {beta[:, None] *  -> }fade",
            says="L has no beta. Row t is multiplied by beta of token t."),
        Mutant("beta-in-scores", "scores = {fade -> beta[:, None] * fade}",
            says="The scores were multiplied by beta. That belongs to L alone."),
        Mutant("gates-not-summed", "g = {tl.cumsum(tl.load(g_ptr + rows, mask=mask, other=0.0), axis=0) -> tl.load(g_ptr + rows, mask=mask, other=0.0)}",
            says="gates-not-summed"),
        Mutant("gates-turned", "{g[:, None] - g[None, :] -> g[None, :] - g[:, None]}",
            says="The exponent is G[s] - G[t]: memory grows where it should fade. It is G[t] - G[s].",
            seen=("nan", "overflow")),
        Mutant("no-gates-in-lower", "lower = beta[:, None] * {fade *  -> }tl.dot",
            says="L has no gates. What token s wrote has faded when token t reads it."),
        Mutant("no-gates-in-scores", "scores = {fade * tl.dot -> tl.where(s <= t, 1.0, 0.0) * tl.dot}",
            says="The scores have no gates. What token s wrote has faded when token t reads it."),
        Mutant("split-exponentials",
            'fade = {tl.exp(tl.where(s <= t, g[:, None] - g[None, :], float("-inf"))) -> tl.where(s <= t, tl.exp(g)[:, None] * tl.exp(-g)[None, :], 0.0)}',
            says=(
                "exp(-G) overflows where memory fades fast, and exp(G) becomes 0. Subtract first: exp(G[t] - G[s])."
            ), seen="nan"),
        Mutant("mask-by-product",
            'fade = {tl.exp(tl.where(s <= t, g[:, None] - g[None, :], float("-inf"))) -> tl.exp(g[:, None] - g[None, :]) * (s <= t)}',
            says=(
                "The mask multiplies by 0, and above the diagonal the exponential can be infinite: 0 times infinity "
                "is NaN. Put minus infinity there before `tl.exp`."
            ), seen="nan"),
        Mutant("diagonal-missing", "where(s {<= -> <} t, g", says="A token does not see itself: the scores are 0 on the diagonal."),
        Mutant("no-mask", 'tl.where(s <= t, g[:, None] - g[None, :], {float("-inf") -> 0.0}',
            says="Above the diagonal the scores are not 0: tokens see later ones. `tl.exp` of minus infinity is 0."),
        Mutant("infinity-for-zero", 'float("-inf"))){ -> -tl.where(s <= t, 0.0, float("inf"))}',
            seen=("nan", "overflow", "wrong-values")),
        Mutant("mask-turned", "where({s <= t -> s >= t}, g", says="The mask keeps what comes later and drops the past.",
            seen=("nan", "overflow")),
        Mutant("inverse-is-the-sum", "inverse {-= -> +=} tl.dot(product",
            says="X M X was added. The inverse of a pair has a minus: X - X M X."),
        Mutant("one-turn", "{while size < CHUNK: -> while size < 2:}",
            says="The loop ends too early: the inverse holds small blocks only. Go on while size < CHUNK."),
        Mutant("last-turn-missing", "while size < {CHUNK -> CHUNK // 2}:",
            says="The last turn is missing: the two halves of the chunk are not joined."),
        Mutant("first-turn-missing", "size = {1 -> 2}\n",
            says="The first turn is missing: begin with blocks of one number, size = 1."),
        Mutant("first-order", "inverse -= {tl.dot(product, inverse, input_precision=PRECISION) -> product}",
            says="This is X - X M. The right factor X is missing: X - X M X."),
        Mutant("all-at-once", "pairs = {tl.where((t // size) ^ (s // size) == 1, lower, 0.0) -> tl.where(s < t, lower, 0.0)}",
            says="Each turn takes all of L. M is what joins the two blocks of a pair, and nothing else."),
        Mutant("pairs-of-any-neighbours", "tl.where({(t // size) ^ (s // size) == 1 -> t // size == s // size + 1}, lower",
            says=(
                "Blocks 1 and 2 were joined too. Pairs are 0 and 1, 2 and 3: `(t // size) ^ (s // size) == 1`."
            )),
        Mutant("all-other-blocks", "tl.where({(t // size) ^ (s // size) == 1 -> t // size != s // size}, lower",
            says="M holds all of L outside the blocks. It is what joins the two blocks of a pair: `(t // size) ^ (s // size) == 1`."),
        Mutant("m-x-m", "product = tl.dot({inverse, pairs -> pairs, inverse}, ",
            "tl.dot(product, {inverse -> pairs}, input",
            says="This is X - M X M. It is X - X M X."),
        Mutant("m-x-x", "product = tl.dot({inverse, pairs -> pairs, inverse}, ",
            says="This is X - M X X. M stands between the two X: X - X M X."),
        Mutant("x-x-m", "tl.dot({product, inverse -> inverse, product}, input",
            says="This is X - X X M. M stands between the two X: X - X M X."),
        Mutant("begins-with-the-difference", "inverse = {tl.where(s == t, 1.0, 0.0) -> tl.where(s == t, 1.0, 0.0) - tl.where(s < t, lower, 0.0)}\n    size",
            says="The loop began with I - L. It begins with X = I."),
        Mutant("beta-twice", "lower = beta[:, None] * {fade -> beta[None, :] * fade}",
            says="L has beta of both tokens. Only that of row t belongs there: u of token s has its own already."),
        Mutant("base-two", "fade = tl.{exp -> exp2}(tl.where",
            says="The gates are natural logarithms: `tl.exp`, not `tl.exp2`."),
        Mutant("all-of-lower", "pairs = {tl.where((t // size) ^ (s // size) == 1, lower, 0.0) -> lower}",
            says="Each turn takes all of L, its diagonal too. M is what joins the two blocks of a pair, and nothing else."),
        Mutant("blocks-for-pairs", "(s // size) == {1 -> 0}, lower",
            says="M holds the blocks, with the diagonal. It is what joins two of them: their numbers differ, `^` gives 1."),
        Mutant("steps-of-one", "size {*= 2 -> += 1}",
            says="`size` grows by 1, and blocks are joined that are no pairs of inverses. It doubles: `size *= 2`."),
        Mutant("zeros-on-the-diagonal", "tl.where(s == t, {1.0, 0.0 -> 0.0, 1.0})",
            says="The loop began with 0 on the diagonal, and 1 elsewhere. It begins with X = I.", seen=("nan", "overflow")),
        Mutant("whole-blocks", "tl.where({(t // size) ^ (s // size) == 1 -> (t // (2 * size) == s // (2 * size)) & (s < t)}, lower",
            says="M holds the small blocks' own part of L again, which X has taken in already. Join the two blocks only."),
        Mutant("inverse-of-lower-alone", "tl.where({s == t, 1.0, 0.0) -> s == t, 0.0, 0.0)}\n    size",
            says="The loop began with 0. It begins with X = I: 1 on the diagonal.", seen=("zeros", "unused-input")),
        Mutant("begins-with-ones", "tl.where({s == t, 1.0, 0.0) -> s <= t, 1.0, 0.0)}\n    size",
            says="The loop began with ones below the diagonal too. It begins with X = I."),
        Mutant("by-powers",
            "    {while size < CHUNK:\n        pairs = tl.where((t // size) ^ (s // size) == 1, lower, 0.0)\n"
            "        product = tl.dot(inverse, pairs, input_precision=PRECISION)\n"
            "        inverse -= tl.dot(product, inverse, input_precision=PRECISION) -> "
            "lower = tl.where(s < t, -lower, 0.0)\n    while size < CHUNK:\n"
            "        inverse += tl.dot(inverse, lower, input_precision=PRECISION)\n"
            "        lower = tl.dot(lower, lower, input_precision=PRECISION)}",
            says="powers", seen=("nan", "overflow")),
        Mutant("steps-of-two", "size {*= -> +=} 2", says=(
            "`size` grows by 2, and blocks are joined that are no pairs of inverses. It doubles: `size *= 2`."),
            seen=("timeout", "nan")),
        Mutant("queries-in-lower", "fade * tl.dot({k, tl.trans(k) -> q, tl.trans(k)}, input_precision=\"ieee\")\n    inverse",
            says="L was made of q. It is k times k transposed: what k reads of what was written under k."),
        Mutant("keys-in-scores", "scores = fade * tl.dot({q -> k}, tl.trans(k)", seen=("unused-input",),
            says="The scores were made of k alone. They are q times k transposed."),
        Mutant("scores-turned", "scores = fade * tl.dot({q, tl.trans(k -> k, tl.trans(q})",
            says="The scores are transposed: row t belongs to q, column s to k."),
        Mutant("scaled", "scores = fade *{ ->  D**-0.5 *} tl.dot", says="The scores were scaled by 1/sqrt(D). This contract has no scale.",
            seen="constant-factor"),
        Mutant("results-swapped", "tl.store({inverse_ptr + tile, inverse -> inverse_ptr + tile, scores})",
            "tl.store({scores_ptr + tile, scores -> scores_ptr + tile, inverse})", seen=("swapped", "wrong-values"),
            says="The two results have changed places."),
        Mutant("scores-not-stored", "{    tl.store(scores_ptr + tile, scores)\n -> }", seen=("unwritten", "unwritten-tail", "unused-input")),
        Mutant("inverse-not-stored", "{    tl.store(inverse_ptr + tile, inverse)\n -> }", seen=("unwritten", "unwritten-tail", "unused-input")),
        Mutant("stored-transposed", "* CHUNK + {t) * CHUNK + s -> s) * CHUNK + t}\n", says="Both tiles are stored transposed: row t is `t * CHUNK + s`.",
            seen="transposed"),
        Mutant("tiles-of-one-head", "tile = (({head * tl.num_programs(1) + chunk -> chunk}) *",
            seen=("race", "unwritten", "unwritten-tail")),
        Mutant("tiles-of-heads-first", "tile = ((head{ * tl.num_programs(1) + chunk -> + chunk * tl.num_programs(0)}) *",
            says="The tiles of all heads lie side by side, chunk by chunk. A head's chunks come one after the other."),
        Mutant("head-forgotten", "rows, mask = {head * T +  -> }chunk",
            says="Every head loads the tokens of head 0. Head h's begin at row h * T.", seen="undue-input"),
        Mutant("first-chunk-again", "rows, mask = head * T + {chunk * CHUNK + lanes, -> lanes,}",
            says="Every program loads the first chunk of its head. Where does chunk number `chunk` begin?",
            seen=("reads-outside",)),
        Mutant("head-of-32-bits", "tl.program_id(0){.to(tl.int64) -> }, tl.program_id(1)", seen="int32-offset", only="interpreter"),
        Mutant("mask-forgotten", "chunk * CHUNK + lanes {< T -> < T + CHUNK}", seen=("reads-outside", "wrong-values")),
        Mutant("masked-beta-is-1", "beta = tl.load(beta_ptr + rows, mask=mask, other={0.0 -> 1.0})",
            "k = tl.load(k_ptr + tile, mask=mask[:, None], other={0.0 -> 1.0})",
            says="Masked tokens have keys and beta of 1: rows behind the last token are not those of I. Load 0 there."),
        Mutant("tf32-scores", "scores = fade * tl.dot(q, tl.trans(k){, input_precision=\"ieee\" -> })", seen="tf32"),
        Mutant("tf32-inverse", "tl.dot(inverse, pairs{, input_precision=PRECISION -> })", seen="tf32"),
        Mutant("inverse-in-half",
            "pairs = tl.where((t // size) ^ (s // size) == 1, lower, 0.0){ -> .to(tl.float16).to(tl.float32)}",
            says="M was rounded to float16. The inverse is made in float32.", seen=("half-digits",)),
        Mutant("by-torch", seen=("torch-compute", "no-kernel-launched"),
            replace='''
def within_chunks(q, k, g, beta, chunk):
    B, H, T, D = k.shape
    require(k.new_empty((B, H, D, D)), g, beta, q, k)
    G = g.unflatten(2, (-1, chunk)).cumsum(-1)
    q, k = (x.unflatten(2, (-1, chunk)).float() for x in (q, k))
    fade = (G[..., :, None] - G[..., None, :]).exp().tril()
    lower = (beta.unflatten(2, (-1, chunk))[..., None] * fade * (k @ k.mT)).tril(-1)
    return torch.linalg.inv(torch.eye(chunk, device=k.device) + lower), fade * (q @ k.mT)
'''),
    ],
    "delta_rule": [
        Mutant("old-not-faded", "old = {tl.exp(g) *  -> }tl.dot",
            says="k reads the state as it was when the chunk began. Token t reads it faded: exp(G[t])."),
        Mutant("old-faded-to-the-end", "old = tl.exp({g -> total}) * tl",
            says="k reads the state as faded by the whole chunk. Token t reads it faded up to t: `tl.exp(g)`."),
        Mutant("old-faded-from-t-on", "old = tl.exp({g -> total - g}) * tl",
            says="k reads the state as faded from t to the chunk's end. Token t reads it faded up to t: `tl.exp(g)`."),
        Mutant("rows-of-the-state-fade", "tl.dot(k, {state.to(k.dtype) -> (tl.exp(g) * state).to(k.dtype)}, input_precision=\"ieee\")\n        u",
            seen=("raised", "does-not-compile")),
        Mutant("o-faded-to-the-end", "o = tl.exp({g -> total}) * tl",
            says="q reads the state as faded by the whole chunk. Token t reads it faded up to t: `tl.exp(g)`."),
        Mutant("scores-fade-again", "o = {tl.dot(scores, u.to(k.dtype), o, input_precision=\"ieee\") -> o + tl.exp(g) * tl.dot(scores, u.to(k.dtype), input_precision=\"ieee\")}",
            says="Scores times u was faded once more. The scores hold the gates from s to t already."),
        Mutant("total-is-no-factor", "{tl.exp(total) * state -> total * state}",
            says="The state was multiplied by `total`, a logarithm. It fades by `tl.exp(total)`.", seen="off-by-an-input"),
        Mutant("u-fades-by-total", "exp({total - g -> total})).to",
            says="Every u fades by the whole chunk. From token t to the end it fades by exp(total - G[t])."),
        Mutant("old-forgotten", "(beta * {(v - old) -> v})", says="old-not-subtracted"),
        Mutant("old-added", "(v {- -> +} old)", says="What the state holds was added to v. Subtract it."),
        Mutant("beta-forgotten", "inverse, ({beta * (v - old) -> v - old})", says="beta-forgotten"),
        Mutant("beta-on-v-alone", "({beta * (v - old) -> beta * v - old})",
            says="beta multiplies v alone, and the old value is taken away whole. It multiplies the difference."),
        Mutant("beta-after-the-inverse", "u = {tl.dot(inverse, (beta * (v - old)).to(k.dtype), input_precision=\"ieee\") -> beta * tl.dot(inverse, (v - old).to(k.dtype), input_precision=\"ieee\")}",
            says="beta multiplies behind the inverse. R has it: it comes before."),
        Mutant("no-inverse", "u = {tl.dot(inverse, (beta * (v - old)).to(k.dtype), input_precision=\"ieee\") -> beta * (v - old)}",
            says="u is R: tokens of a chunk do not see what earlier ones of it wrote. Multiply by the inverse."),
        Mutant("inverse-turned", "tl.dot({inverse -> tl.trans(inverse)}, (beta", says="The inverse is transposed: each u needs later tokens."),
        Mutant("inverse-for-scores", "tl.dot({scores -> inverse}, u", seen="unused-input",
            says="The inverse multiplies u a second time. For o the scores do."),
        Mutant("inverse-and-scores-swapped", "tl.dot({inverse -> scores}, (beta", "tl.dot({scores -> inverse}, u",
            says="`inverse` and `scores` have changed places."),
        Mutant("o-not-faded", "o = {tl.exp(g) *  -> }tl.dot(q",
            says="q reads the state as it was when the chunk began. Token t reads it faded: exp(G[t])."),
        Mutant("state-forgotten", "u.to(k.dtype), {o,  -> }input_precision", says="state-forgotten"),
        Mutant("chunk-forgotten", "{        o = tl.dot(scores, u.to(k.dtype), o, input_precision=\"ieee\")\n -> }",
            says="chunk-forgotten"),
        Mutant("scores-with-v", "tl.dot(scores, {u.to(k.dtype) -> v}, o",
            says="The scores multiply v, as on page 53. Here tokens wrote u."),
        Mutant("scores-with-R", "tl.dot(scores, {u.to(k.dtype) -> (beta * (v - old)).to(k.dtype)}, o",
            says="The scores multiply R. They multiply u, R behind the inverse."),
        Mutant("inside-twice", "o {= -> +=} tl.dot(scores", says="What comes from the state is added twice: `tl.dot(a, b, o)` has added o already."),
        Mutant("state-too-early",
            "{        o = tl.exp(g) * tl.dot(q, state.to(k.dtype), input_precision=\"ieee\")\n        o = tl.dot(scores, u.to(k.dtype), o, input_precision=\"ieee\")\n        tl.store(o_ptrs, o, mask=mask)\n -> }",
            "{        u = (u * tl.exp(total - g)).to(k.dtype)\n        state = tl.dot(tl.trans(k), u, tl.exp(total) * state, input_precision=\"ieee\")\n -> "
            "        faded = (u * tl.exp(total - g)).to(k.dtype)\n        state = tl.dot(tl.trans(k), faded, tl.exp(total) * state, input_precision=\"ieee\")\n"
            "        o = tl.exp(g) * tl.dot(q, state.to(k.dtype), input_precision=\"ieee\")\n        o = tl.dot(scores, u.to(k.dtype), o, input_precision=\"ieee\")\n        tl.store(o_ptrs, o, mask=mask)\n}",
            says="The state holds the chunk already when q reads it: its tokens count twice. Update it after o."),
        Mutant("state-fades-not", "tl.trans(k), u, {tl.exp(total) *  -> }state", says="state-fades-not"),
        Mutant("state-fades-by-g", "tl.trans(k), u, {tl.exp(total) * state -> tl.exp(tl.sum(tl.where(lanes[:, None] == 0, g, 0.0))) * state}",
            says="The state fades by one gate. It fades by those of the whole chunk: `tl.exp(total)`."),
        Mutant("u-not-faded", "u = {(u * tl.exp(total - g)) -> u}.to",
            says="What a token wrote goes to the next chunk as it is. Until the chunk ends it fades by exp(total - G[t])."),
        Mutant("u-fades-by-g", "exp({total - g -> g})).to",
            says="u fades by exp(G[t]), from the chunk's beginning. It fades until its end: exp(total - G[t])."),
        Mutant("u-grows", "exp({total - g -> g - total})).to",
            says="The exponent of u is turned round: it grows. It is total - G[t], never above 0.", seen=("nan", "overflow")),
        Mutant("by-division", "u = {(u * tl.exp(total - g)) -> (u * tl.exp(total) / tl.exp(g))}.to",
            says="exp(total) / exp(G) is 0 / 0 where memory fades fast. Subtract first: exp(total - G[t]).", seen="nan"),
        Mutant("faded-before-o", "u = tl.dot(inverse, (beta * (v - old)).to(k.dtype), input_precision=\"ieee\"){ ->  * tl.exp(total - g)}",
            "u = {(u * tl.exp(total - g)) -> u}.to",
            says="u has faded before o takes it. The scores hold the gates from s to t: fade u after o."),
        Mutant("state-of-one-chunk", "tl.trans(k), u, {tl.exp(total) * state,  -> }input_precision",
            says="The state knows the chunk before alone. Add to the old state, faded."),
        Mutant("state-never-grows", "state = {tl.dot(tl.trans(k), u, tl.exp(total) * state, input_precision=\"ieee\") -> tl.exp(total) * state}",
            says="Nothing is written to the state. Add k transposed times u."),
        Mutant("state-stands-still", "{        state = tl.dot(tl.trans(k), u, tl.exp(total) * state, input_precision=\"ieee\")\n -> }",
            says="The state stays as it was. Let it fade, and add k transposed times u."),
        Mutant("v-in-the-state", "u = (u{ * tl.exp(total - g)).to(k.dtype) ->  * 0 + v * tl.exp(total - g)).to(k.dtype)}",
            says="v went to the next chunk. The state gets u."),
        Mutant("queries-in-the-state", "tl.trans({k -> q}), u",
            says="The state was written under q. It is written under k."),
        Mutant("keys-for-queries", "tl.exp(g) * tl.dot({q -> k}, state", says="k reads the state for o. It is read by q."),
        Mutant("queries-for-keys", "old = tl.exp(g) * tl.dot({k -> q}, state", says="q reads what is to be corrected. It is read under k."),
        Mutant("keys-not-transposed", "tl.dot({tl.trans(k) -> k}, u",
            says="k is not transposed in the state's product. The state has D rows, one for each number of a key.",
            seen=("does-not-compile", "raised", "kernel-error")),
        Mutant("tf32", "old = tl.exp(g) * tl.dot(k, state.to(k.dtype){, input_precision=\"ieee\" -> })", seen="tf32"),
        Mutant("tf32-state", "tl.exp(total) * state{, input_precision=\"ieee\" -> })", seen="tf32"),
        Mutant("keys-for-float32-tiles", "old = tl.exp(g) * tl.dot({k, state.to(k.dtype) -> k.to(tl.float32), state},",
            seen="float32-product", only="interpreter"),
        Mutant("state-in-half", "tl.exp(total) * state, input_precision=\"ieee\"){ -> .to(k.dtype).to(tl.float32)}", seen="property"),
        Mutant("not-stored", "{        tl.store(o_ptrs, o, mask=mask)\n -> }", seen=("unwritten", "unwritten-tail", "unused-input")),
        Mutant("store-unmasked", "o_ptrs, o{, mask=mask -> }", seen=("out-of-bounds-store", "race", "rows-after-first")),
        Mutant("scaled", "o_ptrs, o{ ->  * D**-0.5}, mask", says="o was scaled by 1/sqrt(D). This contract has no scale.", seen="constant-factor"),
        Mutant("stored-before-the-chunk", "{        tl.store(o_ptrs, o, mask=mask)\n -> }",
            "{ ->         tl.store(o_ptrs, o, mask=mask)\n}        o = tl.dot(scores",
            says="chunk-forgotten"),
        Mutant("starts-empty", "state = {tl.load(state_ptr + states) -> tl.zeros([D, BLOCK_E], tl.float32)}", seen="unused-input"),
        Mutant("by-torch", seen=("torch-compute", "no-kernel-launched", "wrong-launch-count"),
            replace='''
def delta_rule(q, k, v, g, beta, state, chunk=64):
    require(state, g, beta, q, k, v)
    return delta_rule_ref(q, k, v, g, beta, state)
'''),
    ],
}

VARIANTS = {
    "delta_step": [
        Variant("new-state-by-name", "    state {+= k[:, None] * u[None, :] -> = state + k[:, None] * u[None, :]}"),
        Variant("erase-then-write",
            "    {u = beta * (v - tl.sum(k[:, None] * state, axis=0))\n    state += k[:, None] * u[None, :] -> "
            "old = tl.sum(k[:, None] * state, axis=0)\n    state -= beta * k[:, None] * old[None, :]\n    state += beta * k[:, None] * v[None, :]}"),
        Variant("o-from-parts", "{ -> before = tl.sum(q[:, None] * state, axis=0)\n    }u = beta * (v",
            "tl.store(o_ptrs, {tl.sum(q[:, None] * state, axis=0) -> before + tl.sum(q * k, axis=0) * u})"),
        Variant("narrow-slices", "BLOCK_E = min(D, {32 -> 16})"),
        Variant("turned-tile",
            "(v - tl.sum({k[:, None] * state, axis=0 -> tl.trans(state) * k[None, :], axis=1})"),
        Variant("eight-warps", "BLOCK_E=BLOCK_E{ -> , num_warps=8}"),
    ],
    "within_chunks": [
        Variant("mask-after-the-exponential",
            '{tl.exp(tl.where(s <= t, g[:, None] - g[None, :], float("-inf"))) -> tl.where(s <= t, tl.exp(g[:, None] - g[None, :]), 0.0)}'),
        Variant("at-most-one", '{tl.exp(tl.where(s <= t, g[:, None] - g[None, :], float("-inf"))) -> tl.where(s <= t, tl.exp(tl.minimum(g[:, None] - g[None, :], 0.0)), 0.0)}'),
        Variant("strictly-lower-first", "lower = {beta[:, None] * fade -> tl.where(s < t, beta[:, None] * fade, 0.0)}"),
        Variant("right-product-first", "tl.dot({inverse, pairs -> pairs, inverse}, ", "tl.dot({product, inverse -> inverse, product}, "),
        Variant("row-after-row",
            (
                "    size = 1\n    while size < CHUNK:\n"
                "        pairs = tl.where((t // size) ^ (s // size) == 1, lower, 0.0)\n"
                "        product = tl.dot(inverse, pairs, input_precision=PRECISION)\n"
                "        inverse -= tl.dot(product, inverse, input_precision=PRECISION)\n"
                "        size *= 2\n",
                "    lower = tl.where(s < t, lower, 0.0)\n"
                "    for i in range(1, CHUNK):\n"
                "        row = tl.sum(tl.where(t == i, lower, 0.0), axis=0)\n"
                "        found = tl.sum(row[:, None] * inverse, axis=0)\n"
                "        inverse -= tl.where(t == i, found[None, :], 0.0)\n",
            )),
        Variant("levels", "{    size = 1\n -> }", "    {while size < CHUNK: -> for level in tl.static_range(6):}",
            "{(t // size) ^ (s // size) -> (t >> level) ^ (s >> level)} == 1", "{        size *= 2\n -> }"),
        Variant("exact-products", '"ieee" if k.dtype == torch.float32 else "{tf32 -> tf32x3}"'),
        Variant("eight-warps", "CHUNK=chunk,{ ->  num_warps=8,}"),
    ],
    "delta_rule": [
        Variant("state-by-plus", "state = {tl.dot(tl.trans(k), u, tl.exp(total) * state -> tl.exp(total) * state + tl.dot(tl.trans(k), u}, input"),
        Variant("keys-faded", "{        u = (u * tl.exp(total - g)).to(k.dtype)\n -> }",
            "tl.dot({tl.trans(k), u -> tl.trans((k * tl.exp(total - g)).to(k.dtype)), u.to(k.dtype)}, tl.exp"),
        Variant("products-apart", "o = {tl.dot(scores, u.to(k.dtype), o, -> o + tl.dot(scores, u.to(k.dtype),} input"),
        Variant("rounded-once", "{ -> rounded = state.to(k.dtype)\n        }old = tl.exp(g)",
            "tl.dot(k, {state.to(k.dtype) -> rounded}", "tl.dot(q, {state.to(k.dtype) -> rounded}"),
        Variant("narrow-slices", "BLOCK_E = min(D, {32 -> 16})"),
        Variant("eight-warps", "num_warps={warps -> 8}"),
        Variant("one-stage", "num_stages={3 if k.element_size() == 2 else 2 -> 1}"),
    ],
}

# Changes by machine (`make mutate`) that are no mistakes.
EQUIVALENT = {
    "within_chunks": {
        "g = tl.cumsum(tl.load(g_ptr + rows, mask=mask, other=0.0), axis=0) => g = tl.cumsum(tl.load(g_ptr + rows, mask=mask, other=0.0))": "a tile of one dimension has one axis",
        "g = tl.cumsum(tl.load(g_ptr + rows, mask=mask, other=0.0), axis=0) => g = tl.cumsum(tl.load(g_ptr + rows, mask=mask, other=1.0), axis=0)": "at most 63 masked tokens: the fading is e^63 at most, a number, and meets rows of zeros",
        "k = tl.load(k_ptr + tile, mask=mask[:, None], other=0.0) => k = tl.load(k_ptr + tile, mask=mask[:, None], other=1.0)": "their beta is 0, their q too, and no token before them sees them",
        "beta = tl.load(beta_ptr + rows, mask=mask, other=0.0) => beta = tl.load(beta_ptr + rows, mask=mask, other=1.0)": "their k is 0",
        "inverse = tl.where(s == t, 1.0, 0.0) => inverse = tl.where(1.0, s == t, 0.0)": "1.0 is true, and s == t is 1 or 0 as a number",
        "while size < CHUNK: => while size <= CHUNK:": "one turn more finds no pairs",
    },
}
