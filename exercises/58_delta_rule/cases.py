"""What the checks of 58_delta_rule try: cases and references."""

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, rounded_once, tensor
from tritonbook.checking.asks import exact_float32, launches, multiplies_in_half, offsets_of_64_bits
from tritonbook.words import later

from .page import delta_rule_ref


def delta_step_ref(q, k, v, g, beta, state, o):
    o, state = delta_rule_ref(*(x[:, :, None] for x in (q, k, v, g, beta)), state)
    return o[:, :, 0], state


def within_chunks_ref(q, k, g, beta, chunk):
    """By PyTorch's own inverse, of chunks with zeros behind the last token."""
    missing, dtype = -k.shape[2] % chunk, k.dtype
    q, k = (torch.nn.functional.pad(x, (0, 0, 0, missing)).to(g.dtype) for x in (q, k))
    q, k = (x.unflatten(2, (-1, chunk)) for x in (q, k))
    g, beta = (torch.nn.functional.pad(x, (0, missing)) for x in (g, beta))
    G, beta = g.unflatten(2, (-1, chunk)).cumsum(-1), beta.unflatten(2, (-1, chunk))
    fade = (G[..., :, None] - G[..., None, :]).exp().tril()
    lower = (beta[..., None] * fade * (k @ k.transpose(-2, -1))).tril(-1)
    inverse = torch.linalg.inv(torch.eye(chunk, dtype=g.dtype, device=g.device) + lower)
    return inverse.to(dtype), (fade * (q @ k.transpose(-2, -1))).to(dtype)


# --- what is drawn


def all_of(value):
    """A sampler: the same number everywhere."""
    return lambda generator, shape: torch.full(shape, value, dtype=torch.float64)


def between(low, high):
    def drawn(generator, shape):
        return low + (high - low) * torch.rand(shape, generator=generator, dtype=torch.float64)

    return drawn


def unit(generator, shape):
    """Keys of length 1."""
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
    return drawn / drawn.norm(dim=-1, keepdim=True)


def alike(generator, shape):
    """Keys of length 1, much like each other: the equations of a chunk depend on all tokens."""
    one = torch.randn((*shape[:-2], 1, shape[-1]), generator=generator, dtype=torch.float64)
    drawn = one + 0.7 * torch.randn(shape, generator=generator, dtype=torch.float64)
    return drawn / drawn.norm(dim=-1, keepdim=True)


def the_same(generator, shape):
    """One key of length 1 for all tokens of a head."""
    return unit(generator, (*shape[:-2], 1, shape[-1])).expand(shape)


def forgets(generator, shape):
    """Gates that forget nearly all at each seventh token and little at others. In a chunk of 16
    they sum up to -100 and less: exp(100) is infinite in float32."""
    g = -0.05 * torch.rand(shape, generator=generator, dtype=torch.float64)
    g[..., 2::7] = -50.0
    return g


MILD, NO_GATE, ALL = between(-0.3, 0.0), "zeros", "ones"


def text(B, H, *T, D, g=MILD, beta=None, k=alike, **more):
    """Tensors of a text, or of a token where T is left out."""
    return {
        "q": tensor(B, H, *T, D, **more.get("q", {})),
        "k": tensor(B, H, *T, D, values=k),
        "v": tensor(B, H, *T, D, **more.get("v", {})),
        "g": tensor(B, H, *T, values=g, dtype="float32"),
        "beta": tensor(B, H, *T, values=beta or between(0.2, 1.0), dtype="float32"),
        "state": tensor(B, H, D, D, dtype="float32", **more.get("state", {})),
    }


# --- delta_step


def token(note, B, H, D, dtype="float32", raises=None, **more):
    drawn = text(B, H, D=D, k=unit, **more) | {"o": tensor(B, H, D)}
    return case(note, **drawn, dtype=dtype, raises=raises)


TOKENS = [
    token("one head", 1, 1, 16),
    token("six heads", 2, 3, 32),
    token("beta is 0: nothing is written", 1, 2, 16, beta="zeros"),
    token("beta is 1, no gates", 1, 2, 16, g=NO_GATE, beta=ALL),
    token("two slices of columns", 1, 2, 64),
    token("half precision", 1, 2, 32, dtype="float16"),
    token("bfloat16", 1, 2, 16, dtype="bfloat16"),
    token("almost all is forgotten", 1, 2, 16, g=all_of(-40.0)),
    token("an empty state", 1, 1, 16, state={"values": "zeros"}),
    token("no sequences", 0, 2, 16),
    token("D of 24", 1, 1, 24, raises=ValueError),
]

HIDDEN_TOKENS = [
    token("D of 128", 1, 2, 128),
    token("many heads", 3, 5, 16),
    token("half precision, D of 64", 2, 1, 64, dtype="float16"),
]


# --- within_chunks


def chunks_case(note, B, H, T, D, chunk=16, dtype="float32", raises=None, **more):
    q = more.pop("q", {})
    drawn = text(B, H, T, D=D, q=q, **more)
    given = {name: drawn[name] for name in ("q", "k", "g", "beta")}
    return case(note, **given, chunk=chunk, dtype=dtype, raises=raises)


CHUNKS = [
    chunks_case("one chunk", 1, 1, 16, 16),
    chunks_case("three chunks and a rest", 2, 2, 55, 32),
    chunks_case("one chunk of 64", 1, 1, 64, 16, chunk=64),
    chunks_case("fewer tokens than a chunk", 1, 2, 5, 16, chunk=32),
    chunks_case("no gates, beta is 1", 1, 2, 32, 16, g=NO_GATE, beta=ALL),
    chunks_case("beta is 0", 1, 1, 20, 16, beta="zeros"),
    chunks_case("one key again and again", 1, 1, 64, 16, 64, k=the_same, g=NO_GATE, beta=ALL),
    chunks_case("gates that forget", 1, 2, 48, 16, g=forgets),
    chunks_case("half precision", 1, 2, 96, 64, chunk=32, dtype="float16"),
    chunks_case("bfloat16", 1, 1, 70, 64, chunk=64, dtype="bfloat16"),
    chunks_case("no sequences", 0, 2, 20, 16),
]

HIDDEN_CHUNKS = [
    chunks_case("100 tokens in chunks of 32", 1, 3, 100, 32, chunk=32),
    chunks_case("one token", 1, 1, 1, 16),
    chunks_case("D of 128", 1, 1, 40, 128, dtype="float16"),
    chunks_case("one key, gates that forget", 1, 1, 64, 16, 32, k=the_same, g=forgets, beta=ALL),
]


# --- delta_rule


def rule(note, B, H, T, D, chunk=16, dtype="float32", raises=None, **more):
    changed = more.pop("given", {})
    drawn = text(B, H, T, D=D, **more) | changed
    return case(note, **drawn, options={"chunk": chunk}, dtype=dtype, raises=raises)


RULES = [
    # As many tokens as columns would let a product turned the wrong way fit.
    rule("one chunk", 1, 1, 32, 16, chunk=32),
    rule("three chunks and a rest", 2, 2, 55, 32),
    rule("fewer tokens than a chunk", 1, 2, 5, 16, chunk=32),
    rule("an empty state to begin with", 1, 1, 40, 16, state={"values": "zeros"}),
    rule("no gates, beta is 1", 1, 2, 48, 16, g=NO_GATE, beta=ALL),
    rule("beta is 0: nothing is written", 1, 1, 40, 16, beta="zeros"),
    rule("one key again and again", 1, 1, 100, 16, chunk=64, k=the_same, g=NO_GATE, beta=ALL),
    rule("a long text with gates that forget", 1, 1, 300, 16, g=forgets),
    rule("half precision", 1, 2, 60, 32, dtype="float16"),
    rule("bfloat16, two slices of columns", 1, 1, 96, 64, chunk=32, dtype="bfloat16"),
    rule("the chunk as it is", 1, 1, 140, 64, chunk=64, dtype="float16"),
    rule("no sequences", 0, 2, 20, 16),
    rule("v longer than k", 1, 2, 20, 16, raises=ValueError, given={"v": tensor(1, 2, 24, 16)}),
]

HIDDEN_RULES = [
    rule("one token", 1, 1, 1, 16),
    rule("100 tokens in chunks of 32", 2, 1, 100, 32, chunk=32, dtype="float16"),
    rule("D of 128", 1, 1, 40, 128, chunk=32, dtype="bfloat16"),
    rule("one key, half precision", 1, 1, 50, 16, k=the_same, beta=ALL, dtype="float16"),
]


# A chunk's gates sum up to -150: in float32 a sum that large is wrong by 1e-5, and so is what its
# exponential is multiplied with.
GATES = 2e-5
SUMMED = later("the gates of a chunk are summed in float32")


def of_a_chunk(dtype):
    """Half precision multiplies the inverse in TF32, which cuts a factor by up to 1 in 1,024; what
    a turn of the loop gets wrong, the next turns hand on once, not more."""
    if dtype == torch.float32:
        return Tolerance(GATES, of_row_max=GATES, because=SUMMED)
    eps = torch.finfo(dtype).eps
    because = "the inverse comes of TF32 products, and is rounded once"
    return Tolerance(eps, of_row_max=1.5 * 2**-10, because=because)


def of_a_text(dtype, inputs):
    """Half precision: inverse, scores, state and u (twice) are rounded to enter a dot, and o at its
    store, each by up to half a step: about three steps of what is summed up, which is about 1 where
    a result is small by chance. It is no bound: in an emulation the cases' kinds of text stayed
    below 2, and a single key in bfloat16 with chunks of 64, which no case has, reached 3.5."""
    if inputs == torch.float32:
        return Tolerance(GATES, of_row_max=GATES, absolute=GATES, because=SUMMED)
    three = 3 * torch.finfo(inputs).eps
    because = "inverse, scores, state, u and o are rounded, six times half a step"
    return Tolerance(three, of_row_max=three, absolute=three, because=because)


def state_keeps_its_digits(fn):
    """Nothing is written, nothing fades: the state stays as it is, bit for bit."""
    q, k, v = torch.randn(3, 1, 1, 48, 16, device=DEVICE).to(torch.bfloat16)
    nothing = torch.zeros(1, 1, 48, device=DEVICE)
    state = torch.randn(1, 1, 16, 16, device=DEVICE)
    last = fn(q, k, v, nothing, nothing, state, chunk=16)[1]
    assert torch.equal(last, state), (
        "bfloat16, nothing is written (beta = 0) and nothing fades (g = 0): but the state has lost "
        "digits. Round a copy of it to enter a dot, and carry float32."
    )


CHECKS = {
    "delta_step": Check(
        delta_step_ref,
        TOKENS,
        HIDDEN_TOKENS,
        wide=[token("65,536 heads", 1, 65_536, 16, state={"values": "zeros"})],
        asks=[launches(1)],
        inplace=("o", "state"),
        results=("o", "the state"),
        tolerance=rounded_once(terms=128),
    ),
    "within_chunks": Check(
        within_chunks_ref,
        CHUNKS,
        HIDDEN_CHUNKS,
        wide=[chunks_case("65,536 heads", 1, 65_536, 1, 16)],
        asks=[launches(1), exact_float32(), offsets_of_64_bits("q", "k")],
        results=("inverse", "scores"),
        tolerance=of_a_chunk,
        nan="Subtract before the exponential: G[t] - G[s] is never above 0 where s <= t.",
    ),
    "delta_rule": Check(
        delta_rule_ref,
        RULES,
        HIDDEN_RULES,
        wide=[rule("65,536 heads", 1, 65_536, 1, 16, state={"values": "zeros"})],
        asks=[
            launches(2),
            exact_float32(),
            multiplies_in_half("k", "delta_rule_kernel"),
            state_keeps_its_digits,
        ],
        results=("o", "state"),
        tolerance=of_a_text,
        nan="Which exponent can be above 0? total - g and g never are.",
    ),
}
