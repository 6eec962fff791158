"""What the checks of 41_flash_attention try."""

import torch

from tritonbook import DEVICE, traffic
from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import exact_float32, launches, offsets_of_64_bits, shares_work
from tritonbook.port.dispatch import DispatchMode

from ..shared.attention import DEEP, close_enough, growing, heads, hill
from ..shared.looking import where_shown
from .page import attention_ref

# --- attention_tiled_torch


def tiled_ref(q, k, v, block=16):
    return attention_ref(q, k, v, False)[0]


def never_all_scores(fn):
    """No tensor on the way may hold all scores."""

    class Watch(DispatchMode):
        largest, ready_made = 0, False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.ready_made |= "scaled_dot_product" in str(func)
            made = func(*args, **(kwargs or {}))
            if isinstance(made, torch.Tensor) and made.is_floating_point():
                self.largest = max(self.largest, made.numel())
            return made

    q, k, v = (torch.randn(1, 2, 64, 8, dtype=torch.float64) for _ in range(3))
    with Watch() as watch:
        fn(q, k, v, 16)
    assert not watch.ready_made, (
        "The values are right, and they are those of PyTorch's own attention. Write the walk over "
        "the tiles of keys."
    )
    assert watch.largest < 2 * 64 * 64, "A tensor with all Lq x Lk scores was made."


def torch_case(note, B, H, Lq, Lk, D, block=16, **more):
    q = tensor(B, H, Lq, D, **more.pop("queries", {}))
    k, v = tensor(B, H, Lk, D, **more), tensor(B, H, Lk, D)
    return case(note, dtype="float64", q=q, k=k, v=v, block=block)


TILED_CASES = [
    torch_case("one tile", 1, 2, 5, 16, 8),
    torch_case("three tiles and a rest", 1, 2, 20, 50, 8),
    torch_case("tiles of five", 1, 1, 4, 18, 8, block=5),
    torch_case("scores that grow", 2, 1, 9, 70, 16, values=growing(3.0)),
    # Not so large that an exponential overflows without a maximum: a wrong maximum shows alone.
    torch_case("scores of some hundreds", 1, 1, 9, 70, 16, values=growing(150.0)),
    torch_case("large scores that grow", 1, 1, 9, 70, 16, values=growing(2000.0)),
    torch_case("large scores, the largest in the middle", 1, 2, 6, 80, 8, values=hill(2000.0)),
    torch_case("all scores far below zero", 1, 1, 4, 40, 8, mean=-30.0, queries={"mean": 30.0}),
    torch_case(
        "scores of -2^30 that grow", *(1, 1, 4, 40, 16), queries=DEEP["queries"], **DEEP["keys"]
    ),
]

HIDDEN_TILED_CASES = [
    torch_case("one key", 1, 1, 3, 1, 4),
    torch_case("tiles of seven", 1, 2, 11, 30, 8, block=7),
    torch_case("larger scores that grow", 1, 2, 6, 60, 8, values=growing(3000.0)),
    torch_case("scores farther below zero", 1, 2, 3, 30, 16, mean=-40.0, queries={"mean": 30.0}),
]

# --- flash_fwd


FAR_BELOW = {"queries": {"mean": 8.0}, "keys": {"mean": -8.0}}


GAPS_IN_Q = "strided contiguous contiguous"
CASES = [
    heads("one tile, every key seen", 1, 2, 32, 16, causal=False),
    heads("three tiles and a rest, causal", 2, 2, 75, 32),
    heads("every key seen, a ragged end", 1, 2, 50, 16, causal=False),
    heads("large scores that grow", 1, 1, 100, 16, keys=growing(150.0)),
    heads("large scores, the largest in the middle", 1, 1, 96, 16, causal=False, keys=hill(150.0)),
    heads("all scores far below zero", 1, 1, 40, 16, **FAR_BELOW),
    heads("scores of -2^30 that grow", 1, 1, 40, 16, **DEEP),
    heads("half precision, causal", 1, 2, 150, 64, dtype="float16"),
    heads("one head of several tiles", 1, 1, 400, 64, dtype="float16"),
    heads("fewer tokens than a tile", 1, 3, 5, 16),
    heads("k longer than q", 1, 1, 20, 16, Lk=24, raises=ValueError),
    heads("memory with gaps", 1, 2, 20, 16, layouts=GAPS_IN_Q, raises=ValueError),
    heads("no tokens", 1, 2, 0, 16),
    heads("an odd head dimension", 1, 1, 20, 24, raises=ValueError),
]

HIDDEN_CASES = [
    heads("one token", 1, 1, 1, 16),
    heads("one token less than two tiles", 1, 2, 63, 16),
    heads("one token more than two tiles", 2, 1, 65, 64, causal=False),
    heads("large heads, half precision", 1, 1, 200, 128, dtype="float16"),
    heads("bfloat16, every key seen", 2, 1, 130, 32, causal=False, dtype="bfloat16"),
    heads("large scores, causal", 1, 2, 90, 16, keys=hill(120.0)),
    heads("scores that grow, half precision", 1, 1, 300, 16, dtype="float16", keys=growing(3.0)),
    heads("scores far below zero, every key seen", 1, 1, 50, 16, causal=False, **FAR_BELOW),
]


EARLY = 256  # queries that must not depend on later values


def stops_at_the_diagonal(fn):
    """NaN in every later value: 0 times NaN would show in a program that comes near it."""
    generator = torch.Generator().manual_seed(5)
    q, k, v = torch.randn(3, 1, 1, 300, 16, generator=generator).half().unbind(0)
    want = attention_ref(q.float(), k.float(), v.float())[0][:, :, :EARLY]
    v[:, :, EARLY:] = float("nan")
    got = fn(q.to(DEVICE), k.to(DEVICE), v.to(DEVICE), True)[0][:, :, :EARLY].float().cpu()
    early = got.isfinite().all(dim=-1)
    assert bool(early.all()), (
        f"Query {int((~early).flatten().nonzero()[0])} comes out as NaN where v holds NaN from row "
        f"{EARLY} on. A causal program has to stop at the tile of its last query: it reads tiles "
        "of keys that lie wholly above the diagonal."
    )
    assert torch.allclose(got, want, rtol=1e-2, atol=1e-2), (
        "Wrong values for 300 queries in float16."
    )


LOST = 9  # tiles of 64 keys: enough for what each adds to get lost


def acc_in_float32(fn):
    """All keys weigh the same, those of the first tile have large values, and what each later tile
    adds is less than half a step of float16 there: 0.45, where acc is 2,048 and a step is 2."""
    q, k = torch.zeros(2, 1, 1, LOST * 64, 16, dtype=torch.float16).unbind(0)
    v = torch.full_like(q, 0.45 / 64)
    v[:, :, :64] = 32.0
    v[..., 8:] = 1000.0  # and these columns of acc come to more than float16 holds
    want = v.float().mean(dim=2, keepdim=True)
    got = fn(q.to(DEVICE), k.to(DEVICE), v.to(DEVICE), False)[0].float().cpu()
    errors = ((got - want).abs() / want).nan_to_num(nan=torch.inf)
    error = errors[..., :8].max().item()
    assert error < 2**-10, (
        f"{LOST * 64} keys of one weight in float16: the result is {error:.1%} off. What each tile "
        "adds is small beside what acc holds, and gets lost in half precision. Keep acc and l in "
        "float32."
    )
    assert errors.max().item() < 2**-10, (
        f"{LOST * 64} keys of one weight and values of 1,000 in float16: acc passes 65,504, the "
        "largest number of float16, and the result is not 1,000. Divide by l in float32, then "
        "convert."
    )


LONG = 512


@where_shown
def reads_what_it_needs(fn):
    """Rows of k that all programs read. P programs that walk over all keys read P times L; where
    each has queries, its tile is smaller than L / (P - 1). 128: the largest tile of keys."""
    q, k, v = (torch.zeros(1, 1, LONG, 16, dtype=torch.float16, device=DEVICE) for _ in range(3))
    seen = [traffic(fn, q, k, v, causal) for causal in (False, True)]
    for tensor_seen in seen[0].tensors:
        times = tensor_seen.written / max(tensor_seen.written_distinct, 1)
        assert times <= 1, (
            f"`{tensor_seen.name}` is stored {times:.0f} times. The stores belong behind the loop."
        )
    # k is the second argument. In the grader it has another name.
    every, causal = (each.tensors[1].read // (16 * 2) for each in seen)
    programs = max(every // LONG, 1)
    tile = LONG / max(programs - 1, 1)
    most = sum(min(LONG, (number + 1) * tile + 128) for number in range(programs))
    assert causal <= most, (
        f"For {LONG} queries your {programs} programs read {causal:,} rows of k with causal=True, "
        f"and {every:,} without. If each has its share of the queries and stops at the diagonal, "
        f"{int(most):,} are enough. Are there programs without queries (the grid is cdiv(L, "
        "BLOCK_M)), or does a walk go on behind the diagonal?"
    )


WHERE_NAN_COMES_FROM = (
    "Minus infinity minus itself is NaN, and so is 0 / 0. Is the new m the larger of the old one "
    "and the scores? Is the factor exp(m_old - m_new), in this order, and do the weights subtract "
    "the new m? Does a query see any key of the first tile? Is a tile visited at all, and nothing "
    "but a score minus infinity?"
)
CHECKS = {
    "attention_tiled_torch": Check(
        tiled_ref,
        TILED_CASES,
        HIDDEN_TILED_CASES,
        triton=False,
        nan=WHERE_NAN_COMES_FROM,
        asks=[never_all_scores],
    ),
    "flash_fwd": Check(
        attention_ref,
        CASES,
        HIDDEN_CASES,
        asks=[
            launches(1),
            offsets_of_64_bits("q", "k", "v"),
            exact_float32(),
            shares_work(300_000),  # a short text may be one tile
            stops_at_the_diagonal,
            reads_what_it_needs,
            acc_in_float32,
        ],
        tolerance=close_enough,
        nan=WHERE_NAN_COMES_FROM,
    ),
}
