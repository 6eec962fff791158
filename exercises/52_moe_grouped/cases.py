"""What the checks of 52_moe_grouped try: cases, references, mistakes that have a name."""

import torch
import triton

from tritonbook import DEVICE, hook_launch, traffic
from tritonbook.checking import Check, case, tensor
from tritonbook.port.idle_lanes import hold_zero
from tritonbook.seeing.tiles import CannotShow

from ..shared import products
from .page import grouped_matmul_ref, grouped_tile, route_ref, sort_by_expert_ref

NEVER = 1e30  # no answer holds it: where a mistake gives what is no number


# --- route


def route_case(note, T, E, k, dtype="float32", **logits):
    return case(note, logits=tensor(T, E, **logits), k=k, dtype=dtype)


def spread(generator, shape):
    """Logits so far apart that exponentials of all but the largest vanish."""
    return (
        torch.stack(
            [torch.randperm(shape[1], generator=generator) for _ in range(shape[0])]
        ).double()
        * -120.0
    )


def deep(generator, shape):
    """Logits below what a careless "minus infinity" is, such as -1e9; 128 is one float32 step."""
    return spread(generator, shape) / 120 * 128 - 1.5 * 2**30


ROUTES = [
    # of 2 too many a mistake would swap the weights, and be taken for another
    route_case("4 of 8 experts", 5, 8, 4),
    route_case("2 of 8 experts", 5, 8, 2),
    route_case("3 of 6 experts", 4, 6, 3, mean=-4.0),
    route_case("the best one alone", 4, 5, 1),
    route_case("all of them", 3, 5, 5),
    route_case("equal logits", 6, 7, 3, values="integers", high=3),
    route_case("logits around 100: exponentials overflow", 3, 8, 2, mean=100.0, scale=4.0),
    route_case("logits around -200: exponentials vanish", 3, 8, 2, mean=-200.0, scale=4.0),
    route_case("logits far apart", 3, 6, 4, values=spread),
    route_case("logits far below 0", 3, 6, 3, values=deep),
    route_case("half precision", 4, 12, 4, dtype="float16"),
    case("more than there are", logits=tensor(3, 4), k=5, raises=ValueError),
    route_case("no tokens", 0, 8, 2),
    case("none", logits=tensor(3, 4), k=0, raises=ValueError),
    case("not contiguous", logits=tensor(3, 4, layout="transposed"), k=2, raises=ValueError),
]

HIDDEN_ROUTES = [
    route_case("8 of 128 experts", 4, 128, 8),
    route_case("bfloat16, with equal logits", 6, 33, 5, dtype="bfloat16"),
    route_case("one token, one expert", 1, 1, 1),
    route_case("all equal", 3, 10, 4, values="ones"),
]


def chosen_by(logits, k, key):
    """The k that have the smallest key, as experts and their logits."""
    experts = key.sort(dim=1, stable=True).indices[:, :k]
    return logits.gather(1, experts), experts.to(torch.int32)


def best_of(logits, k):
    return chosen_by(logits, k, -logits)


def weighted(weights):
    """A mistake with the right experts: weights(logits of the best, all logits)."""

    def wrong(logits, k):
        best, experts = best_of(logits, k)
        return weights(best, logits).to(torch.float32).nan_to_num(NEVER), experts

    return wrong


def chosen(key):
    """A mistake with other experts, those of the smallest key(logits); weights to match."""

    def wrong(logits, k):
        best, experts = chosen_by(logits, k, key(logits))
        return best.softmax(1).to(torch.float32), experts

    return wrong


def removed_by(change):
    """A mistake: change(z, numbers of the winners) is what is left after each step."""

    def wrong(logits, k):
        z, kept, experts = logits, [], []
        for _ in range(k):
            best = z.max(1, keepdim=True)
            kept.append(best.values)
            experts.append(best.indices)
            z = change(z, best.indices)
        weights = torch.cat(kept, 1).softmax(1).nan_to_num(NEVER)
        return weights.to(torch.float32), torch.cat(experts, 1).to(torch.int32)

    return wrong


def next_best_kept(logits, k):
    best, experts = best_of(logits, k)
    following = torch.nn.functional.pad(logits, (0, 1), value=-torch.inf)
    return best_of(following, k + 1)[0][:, 1:].softmax(1).to(torch.float32), experts


def last_of_equals(logits, k):
    E = logits.shape[1]
    best, experts = chosen_by(logits.flip(1), k, -logits.flip(1))
    return best.softmax(1).to(torch.float32), (E - 1 - experts).to(torch.int32)


def of_vanished(logits, k):
    """The best by float32 exponentials, where small ones are all 0."""
    p = torch.exp((logits - logits.amax(1, keepdim=True)).float())
    best, experts = chosen_by(logits, k, -p)
    return best.softmax(1).to(torch.float32), experts


def backwards_ref(logits, k):
    weights, experts = route_ref(logits, k)
    return weights.flip(1), experts.flip(1)


def with_arms_swapped(logits, k):
    """`where(offs_k == j, chosen, new)`: each step changes all lanes but its own."""
    best, experts = best_of(logits, k)
    kept = torch.full((len(logits), triton.next_power_of_2(k)), -torch.inf, dtype=logits.dtype)
    for j in range(k):
        own = kept[:, j].clone()
        kept[:] = best[:, j, None]
        kept[:, j] = own
    return kept.softmax(1)[:, :k].to(torch.float32), experts


def in_lane_of_the_expert(logits, k):
    """`where(offs_k == expert, ...)`: lanes that no winner has stay minus infinity."""
    best, experts = best_of(logits, k)
    width = triton.next_power_of_2(k)
    kept = torch.full((len(logits), max(width, logits.shape[1])), -torch.inf, dtype=logits.dtype)
    kept = kept.scatter(1, experts.long(), best)[:, :width]
    return kept.softmax(1)[:, :k].to(torch.float32), experts


def of_numbers(logits, k):
    experts = best_of(logits, k)[1]
    return experts.to(logits.dtype).softmax(1).to(torch.float32), experts


def one_short(best, z):
    k = best.shape[1]
    return torch.nn.functional.pad(best[:, : k - 1].softmax(1), (0, 1))


def beside_a_number(best, z):
    """Lanes of the tile that no expert gets hold -1e9."""
    lanes = triton.next_power_of_2(best.shape[1]) - best.shape[1]
    top = best.amax(1, keepdim=True)
    if lanes:
        top = top.clamp_min(-1e9)
    e = torch.exp(best - top)
    return e / (e.sum(1, keepdim=True) + lanes * torch.exp(-1e9 - top))


ROUTE_MISTAKES = {
    "padding-of-the-chosen": (
        weighted(beside_a_number),
        "Lanes of `chosen` that no expert gets hold a number, and it wins the softmax. They stay "
        "at minus infinity.",
    ),
    "not-renormalised": (
        weighted(lambda best, z: torch.exp(best - z.logsumexp(1, keepdim=True))),
        "These are shares of all E experts. Divide by the sum over the k best: a token's weights "
        "add up to 1.",
    ),
    "last-of-equals": (
        last_of_equals,
        "Of equal logits the last one was taken. The smaller number wins.",
    ),
    "chosen-by-exponentials": (
        of_vanished,
        "Small exponentials are all 0 in float32, and then equal. Take the best by their logits.",
    ),
    "winner-made-small": (
        removed_by(lambda z, winners: z.scatter(1, winners, -1e9)),
        "A winner's lane became a small number, and logits may be smaller: then it wins again. "
        "Make it minus infinity.",
    ),
    "winner-made-zero": (
        removed_by(lambda z, winners: z.scatter(1, winners, 0)),
        "A winner's lane became 0, or another number that beats smaller logits. Make it minus "
        "infinity.",
    ),
    "smallest": (chosen(lambda z: z), "These are the k smallest logits."),
    "equals-removed": (
        removed_by(lambda z, winners: z.masked_fill(z == z.gather(1, winners), -torch.inf)),
        "All lanes that equal the winner were removed. Only its own lane may go.",
    ),
    "next-best-kept": (
        next_best_kept,
        "The logits that were kept are those of the next best. Keep a winner's logit before its "
        "lane becomes minus infinity.",
    ),
    "first-ones": (
        chosen(lambda z: torch.arange(z.shape[1]).expand(z.shape)),
        "These are experts 0 to k - 1, whatever their logits.",
    ),
    "arms-swapped": (
        with_arms_swapped,
        "Each step changed all lanes of `chosen` but its own. `tl.where` takes its second argument "
        "where the condition holds, and its third elsewhere.",
    ),
    "numbers-for-logits": (
        of_numbers,
        "This is the softmax of the experts' numbers. `chosen` holds their logits.",
    ),
    "best-comes-last": (backwards_ref, "The best comes last. It comes first."),
    "maximum-not-subtracted": (
        weighted(lambda best, z: torch.exp(best.float()) / torch.exp(best.float()).sum(1, True)),
        "The exponentials overflow or vanish. Subtract the largest logit first.",
    ),
    "logits-for-weights": (
        weighted(lambda best, z: best),
        "These are the logits of the best. Their softmax is asked for.",
    ),
    "no-softmax": (
        weighted(lambda best, z: best / best.sum(1, keepdim=True)),
        "The logits were divided by their sum. Their exponentials count.",
    ),
    "not-divided": (
        weighted(lambda best, z: torch.exp(best - best.amax(1, keepdim=True))),
        "The exponentials are not divided by their sum.",
    ),
    "base-two": (
        weighted(lambda best, z: torch.softmax(best * 0.6931471805599453, 1)),
        "The softmax has base 2: `tl.exp` is asked for, not `tl.exp2`.",
    ),
    "softmax-of-minus": (
        weighted(lambda best, z: (-best).softmax(1)),
        "Small logits weigh most: a sign is turned round.",
    ),
    "mean": (
        weighted(lambda best, z: torch.full_like(best, 1 / best.shape[1])),
        "All k weights are equal. Did the same expert win k times, or did each lane of `chosen` "
        "get the same logit?",
    ),
    "one-short": (
        weighted(one_short),
        "The last of the k best has no weight. Does the loop take k steps?",
    ),
    "first-left-out": (
        weighted(lambda best, z: torch.nn.functional.pad(best[:, :-1].softmax(1), (1, 0))),
        "The first of the k best has no weight. Does the loop begin with j = 0?",
    ),
    "last-kept-alone": (
        weighted(lambda best, z: torch.eye(best.shape[1])[-1].expand(best.shape)),
        "The last of the k best has all the weight: each step made the other lanes of `chosen` "
        "minus infinity. They keep what they have: `tl.where(offs_k == j, ..., chosen)`.",
    ),
    "lane-of-the-expert": (
        in_lane_of_the_expert,
        "The logit of an expert went to the lane with the expert's number. `chosen` has a lane for "
        "each of the k best: lane j in step j.",
    ),
    "softmax-twice": (
        weighted(
            lambda best, z: torch.exp(best - z.logsumexp(1, keepdim=True)).softmax(1),
        ),
        "The softmax was taken twice: over all experts, and again over the k best. Take it once, "
        "of the k best logits.",
    ),
    "softmax-of-weights": (
        weighted(lambda best, z: best.softmax(1).softmax(1)),
        "The softmax was taken twice.",
    ),
    "sigmoid": (
        weighted(lambda best, z: best.sigmoid()),
        "These are sigmoids of the logits. Their softmax is asked for.",
    ),
}


# --- sort_by_expert


def experts_of(given, k, E):
    """Experts [T, k] as a list of lists: random ones below E, or those given, one after another."""
    if isinstance(given, int):
        seeded = torch.Generator().manual_seed(1000 * given + 10 * k + E)
        return torch.randint(0, E, (given, k), generator=seeded)
    return torch.tensor(given).view(-1, k)


def sort_case(note, given, k, E, block=16):
    experts = experts_of(given, k, E)
    return case(
        note,
        experts=tensor(*experts.shape, dtype="int32", values=lambda *_: experts),
        E=E,
        options={"block": block},
    )


SORTS = [
    # wrong counts lead to no place outside of order here, so they are found as such
    sort_case("all choose the first of 3", [0] * 40, 2, 3),
    sort_case("one tile", [2, 0, 0, 3, 2, 3, 0, 2, 3, 2, 0, 2], 2, 4),
    sort_case("35 choices in tiles of 16", 35, 1, 4),
    sort_case("20 tokens, 2 of 5 experts", 20, 2, 5),
    sort_case("8 experts, three of them with no choice", [5, 2] * 9 + [1, 6, 3], 3, 8),
    sort_case("all choose the last of 3", [2] * 21, 3, 3),
    sort_case("one tile that is full", 8, 2, 3),
    case(
        "64-bit experts",
        experts=tensor(4, 2, dtype="int64", values="zeros"),
        E=2,
        raises=ValueError,
    ),
    sort_case("no tokens", 0, 2, 3),
    case(
        "not contiguous",
        experts=tensor(4, 2, dtype="int32", values="zeros", layout="transposed"),
        E=2,
        raises=ValueError,
    ),
]

HIDDEN_SORTS = [
    sort_case("31 experts", 40, 4, 31),
    sort_case("32 experts, tiles of 64", 90, 2, 32, block=64),
    sort_case("the block as it is", 300, 2, 16, block=4096),
    sort_case("one choice", [4], 1, 7),
    sort_case("one expert", 33, 1, 1),
]


def ordered(change):
    """A mistake in the order alone: change(order, experts of all choices, k, width of a tile)."""

    def wrong(experts, E, *, block=4096):
        order, offsets = sort_by_expert_ref(experts, E)
        width = min(block, triton.next_power_of_2(len(order) + 1))
        changed = change(order, experts.flatten(), experts.shape[1], width)
        return changed.to(torch.int32), offsets

    return wrong


def counted(change):
    """A mistake in the offsets alone: change(experts of all choices, E, width of a tile)."""

    def wrong(experts, E, *, block=4096):
        order, offsets = sort_by_expert_ref(experts, E)
        width = min(block, triton.next_power_of_2(len(order) + 1))
        return order, change(experts.flatten(), E, width).to(torch.int32)

    return wrong


def padded_with(expert):
    """Masked lanes of the last tile are choices of an expert, a number or a function of E."""

    def change(experts, E, width):
        return offsets_of(
            torch.nn.functional.pad(experts, (0, -len(experts) % width), value=expert(E)), E
        )

    return change


def offsets_of(experts, E):
    return torch.nn.functional.pad(torch.bincount(experts, minlength=E).cumsum(0), (1, 0))


def ends_for_begins(experts, E, width):
    ends = offsets_of(experts, E)[1:]
    return torch.cat([ends, ends[-1:]])


def whole_tiles(experts, E, width):
    return offsets_of(experts[: len(experts) // width * width], E)


def one_by_one(experts, E, width):
    """The walk's steps have one choice, and its tiles `width`."""
    steps = [offsets_of(experts[start : start + width], E) for start in range(len(experts))]
    return sum(steps)


def summed_twice(experts, E, width):
    return torch.nn.functional.pad(offsets_of(experts, E)[1:].cumsum(0), (1, 0))


def backwards(order, experts, k, width):
    """Choices of an expert in falling order."""
    N = len(experts)
    return N - 1 - experts.flip(0).sort(stable=True).indices


def places(order, experts, k, width):
    back = torch.empty_like(order)
    back[order.long()] = torch.arange(len(order), dtype=order.dtype)
    return back


SORT_MISTAKES = {
    "padding-is-expert-0": (
        counted(padded_with(lambda E: 0)),
        "More choices of expert 0 were counted than there are. Masked lanes need a bin that is no "
        "expert's, such as E. Or does each step count the same tile? `offs_n` goes on by `start`.",
    ),
    "padding-is-the-last-expert": (
        counted(padded_with(lambda E: E - 1)),
        "Masked lanes were counted for expert E - 1. They need a bin that is no expert's, such "
        "as E.",
    ),
    "counted-up": (
        counted(ends_for_begins),
        "`offsets[e]` is where expert e ends. It is the sum of the counts before e, and nobody may "
        "count it up later.",
    ),
    "last-tile-counted": (
        counted(lambda experts, E, width: offsets_of(experts.split(width)[-1], E)),
        "Only the last tile was counted. Add the counts of all tiles.",
    ),
    "first-tile-counted": (
        counted(lambda experts, E, width: offsets_of(experts[:width], E)),
        "Only the first tile was counted. Does the walk reach the end?",
    ),
    "whole-tiles-counted": (
        counted(whole_tiles),
        "The last tile, which is not full, was not counted.",
    ),
    "one-by-one": (
        counted(one_by_one),
        "Choices were counted again and again. The walk's step is a tile: `range(0, N, BLOCK_N)`.",
    ),
    "summed-twice": (
        counted(summed_twice),
        "The counts were summed up twice. `counts` holds the counts: the store makes the "
        "cumulative sum.",
    ),
    "falling-order": (
        ordered(backwards),
        "The choices of an expert stand in falling order. The first goes to `place`.",
    ),
    "lane-for-choice": (
        ordered(lambda order, experts, k, width: order % width),
        "The lane in its tile was stored. A choice's number counts from the first tile on.",
    ),
    "token-for-choice": (
        ordered(lambda order, experts, k, width: order // k),
        "The tokens were stored. `order` holds choices; their tokens are `order // k`.",
    ),
    "experts-stored": (
        ordered(lambda order, experts, k, width: experts[order.long()]),
        "The experts were stored. `order` holds the numbers of the choices.",
    ),
    "not-sorted": (
        ordered(lambda order, experts, k, width: torch.arange(len(order))),
        "The choices stand in their old order.",
    ),
    "places-stored": (
        ordered(places),
        "Choice c holds its place. It is the other way round: a place holds its choice.",
    ),
}


# --- grouped_matmul

# three sizes: one block is not taken for another
TILE = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 64, "num_warps": 4, "num_stages": 2}


def grouped_case(note, given, k, E, D, F, tile=TILE, dtype="float32"):
    experts = experts_of(given, k, E)
    order, offsets = sort_by_expert_ref(experts, E)
    return case(
        note,
        x=tensor(len(experts), D),
        w=tensor(E, D, F),
        order=tensor(len(order), dtype="int32", values=lambda *_: order),
        offsets=tensor(E + 1, dtype="int32", values=lambda *_: offsets),
        k=k,
        options={"tile": tile},
        dtype=dtype,
    )


# Groups of sizes for which each mistake in the scheduling leaves other rows out: none is taken for
# another. (A grid of tokens is large enough here, and so is one of E programs.)
RAGGED = [[0] * 9, [1] * 20, [3] * 40, [4] * 5]

GROUPS = [
    grouped_case("groups of 9, 20, 0, 40, 5, 0 and 0", sum(RAGGED, []), 2, 7, 48, 40),
    grouped_case("one tile an expert", [0, 1, 1, 2, 2, 0, 1, 0], 2, 3, 16, 40),
    grouped_case("experts of several tiles", 60, 2, 3, 16, 16),
    grouped_case("empty experts", [1, 4, 4, 1, 1, 2] * 7, 3, 6, 16, 16),
    grouped_case("all choose one expert", [2] * 40, 2, 4, 16, 16),
    grouped_case("few choices, many experts", [8, 1, 5, 0, 3, 6], 2, 9, 16, 16),
    grouped_case("odd sizes", 15, 3, 5, 37, 19),
    grouped_case("one choice a token", 30, 1, 4, 16, 33),
    grouped_case(
        "half precision, the tile as it is", 80, 2, 2, 64, 256, tile=None, dtype="float16"
    ),
    case(
        "rows for another number of tokens",
        x=tensor(5, 16),
        w=tensor(2, 16, 16),
        order=tensor(8, dtype="int32", values="zeros"),
        offsets=tensor(3, dtype="int32", values="zeros"),
        k=2,
        raises=ValueError,
    ),
]

HIDDEN_GROUPS = [
    grouped_case("12 experts", 50, 2, 12, 24, 40),
    grouped_case("tiles of 32 rows", 70, 2, 3, 48, 20, tile=TILE | {"BLOCK_M": 32}),
    grouped_case("exactly full tiles", [0] * 16 + [1] * 32, 2, 2, 16, 16),
    grouped_case("the tile as it is", 20, 4, 7, 40, 72, tile=None),
    grouped_case("bfloat16, the tile as it is", 33, 2, 5, 64, 96, tile=None, dtype="bfloat16"),
    grouped_case("one choice in all", [3], 1, 5, 16, 16),
    grouped_case("one expert", 20, 1, 1, 17, 17),
]


def expert_of(order, offsets):
    """The expert at each place of order."""
    return torch.searchsorted(offsets[1:].contiguous(), torch.arange(len(order)), right=True)


def product(token, expert=None, row=None):
    """A mistake: y[row] = x[token] @ w[expert], for each place; functions of what a place knows.

    They get place, choice, expert, k, T and E, as tensors and numbers.
    """

    def wrong(x, w, order, offsets, k=1):
        given = {
            "place": torch.arange(len(order)),
            "choice": order.long(),
            "expert": expert_of(order, offsets),
            "k": k,
            "T": len(x),
            "E": len(w),
        }
        chosen = (expert or (lambda expert, **_: expert))(**given).expand(len(order))
        y = torch.full((len(order), w.shape[2]), NEVER, dtype=x.dtype)
        found = torch.einsum("nd,ndf->nf", x[token(**given).clamp_max(len(x) - 1)], w[chosen])
        y[(row or (lambda choice, **_: choice))(**given)] = found
        return y

    return wrong


def its_token(choice, k, **_):
    return choice // k


def matrices_apart(step):
    """A mistake: matrices begin step(D, F) elements apart."""

    def wrong(x, w, order, offsets, k=1):
        E, D, F = w.shape
        begins = torch.arange(E)[:, None] * step(D, F) + torch.arange(D * F)
        return grouped_matmul_ref(x, w.flatten()[begins].view(E, D, F), order, offsets, k)

    return wrong


def rows_apart(step):
    """A mistake: rows of x begin step(D, F) elements apart."""

    def wrong(x, w, order, offsets, k=1):
        T, D = x.shape
        begins = torch.arange(T)[:, None] * step(D, w.shape[2]) + torch.arange(D)
        moved = x.flatten()[begins.clamp_max(T * D - 1)]
        return grouped_matmul_ref(moved, w, order, offsets, k)

    return wrong


def tiles_of(counts, rows, begins=None):
    return (counts + rows - 1) // rows


def scheduled(
    programs=lambda N, E, rows, **_: N // rows + E,
    tiles_of=tiles_of,
    ends_by=torch.le,
    first=lambda begin, tile, before, rows: begin + (tile - before) * rows,
    matrix=lambda expert, tile: expert,
):
    """A mistake in who takes which tile. Rows that no program takes are never written."""

    def wrong(x, w, order, offsets, k=1, *, tile=None):
        right = grouped_matmul_ref(x, w, order, offsets, k)
        if tile is None:
            return right
        N, (E, _, F), rows = len(order), w.shape, tile["BLOCK_M"]
        tiles = tiles_of(offsets.diff(), rows, offsets[:-1])
        y = torch.full_like(right, torch.nan)
        width = tile["BLOCK_N"]
        for number in range(programs(N=N, E=E, rows=rows, T=len(x), F=F, width=width)):
            expert = int(ends_by(tiles.cumsum(0), number).sum())
            if expert < E:
                begin = first(offsets[expert], number, tiles[:expert].sum(), rows)
                own = order[begin : min(begin + rows, offsets[expert + 1])]
                y[own] = x[own // k] @ w[min(matrix(expert, number), E - 1)]
        return y

    return wrong


TOO_FEW = (
    "The grid has too few programs. Each expert may have one tile that is not full, beside the "
    "full ones of all choices."
)


def masked_rows_stored(x, w, order, offsets, k=1):
    y = grouped_matmul_ref(x, w, order, offsets, k)
    y[0] = 0
    return y


GROUP_MISTAKES = {
    "remainder-for-token": (
        product(lambda choice, T, **_: choice % T),
        "Row `c % T` of x was taken for choice c. A token's k choices stand side by side: its "
        "number is `c // k`.",
    ),
    "slot-for-token": (
        product(lambda choice, k, **_: choice % k),
        "Row `c % k` of x was taken for choice c. That is which of its token's choices it is; the "
        "token is `c // k`.",
    ),
    "order-forgotten": (
        product(lambda place, k, **_: place // k),
        "The rows of x were taken as they stand. `order` says which choice has which place.",
    ),
    "order-forgotten-in-both": (
        product(lambda place, k, **_: place // k, row=lambda place, **_: place),
        "Rows of x and y were taken as they stand. `order` says which choice has which place.",
    ),
    "rows-left-sorted": (
        product(its_token, row=lambda place, **_: place),
        "The rows of y stand in the sorted order. Row c belongs to choice c.",
    ),
    "stored-by-token": (
        product(its_token, row=lambda choice, k, **_: choice // k),
        "The rows went to their tokens. y has a row for each choice.",
    ),
    "first-matrix": (
        product(its_token, expert=lambda expert, **_: torch.zeros_like(expert)),
        "Every choice met the matrix of expert 0.",
    ),
    "masked-rows-stored": (
        masked_rows_stored,
        "Row 0 of y was overwritten with zeros. Lanes past the expert's end hold choice 0: mask "
        "the store by `mask_m` too.",
    ),
    "rows-for-matrices": (
        matrices_apart(lambda D, F: D),
        "Matrices were looked for too near to each other. Each has D * F elements.",
    ),
    "columns-for-matrices": (
        matrices_apart(lambda D, F: F),
        "Matrices were looked for too near to each other. Each has D * F elements.",
    ),
    "previous-matrix": (
        product(its_token, expert=lambda expert, **_: (expert - 1).clamp_min(0)),
        "Choices met the matrix of the expert before theirs.",
    ),
    "rows-not-apart": (
        rows_apart(lambda D, F: 1),
        "Rows of x were looked for one element apart. Each has D elements.",
    ),
    "rows-as-wide-as-y": (
        rows_apart(lambda D, F: F),
        "Rows of x were looked for F elements apart. Each has D elements.",
    ),
    "choices-for-tiles": (
        scheduled(tiles_of=lambda counts, rows, begins: counts),
        "`tiles` holds the choices of each expert. BLOCK_M of them fill one tile.",
    ),
    "tiles-rounded-down": (
        scheduled(tiles_of=lambda counts, rows, begins: counts // rows),
        "Only full tiles were counted. An expert's last tile may be partly empty: round up.",
    ),
    "tiles-across-experts": (
        scheduled(
            tiles_of=lambda counts, rows, begins: (
                tiles_of(begins + counts, rows) - tiles_of(begins, rows)
            )
        ),
        "Tiles were counted as if they lay across experts: an end and a begin were rounded up, "
        "each for itself. Count an expert's choices first, and round their number up.",
    ),
    "tiles-between-multiples": (
        scheduled(tiles_of=lambda counts, rows, begins: (begins + counts) // rows - begins // rows),
        "Tiles were counted as if they lay across experts: an end and a begin were rounded down, "
        "each for itself. Count an expert's choices first, and round their number up.",
    ),
    "begin-for-tiles-before": (
        scheduled(
            first=lambda begin, tile, before, rows: begin + (tile - begin // rows) * rows,
        ),
        "The tiles before an expert were counted as if all were full. Some are not: sum `tiles` "
        "of the smaller experts.",
    ),
    "ends-before": (
        scheduled(ends_by=torch.lt),
        "A tile went to the expert before its own. Count the experts whose tiles end at or "
        "before it: `<=`.",
    ),
    "tile-of-all": (
        scheduled(first=lambda begin, tile, before, rows: begin + tile * rows),
        "`first` counts the tiles of all experts. Only those of its own expert come between "
        "the expert's begin and this tile.",
    ),
    "begin-forgotten": (
        scheduled(first=lambda begin, tile, before, rows: tile * rows),
        "`first` is BLOCK_M times the tile's number, as if all tiles were full. It counts from "
        "its expert's begin.",
    ),
    "matrix-of-the-tile": (
        scheduled(matrix=lambda expert, tile: tile),
        "Tile t met matrix t. It needs the matrix of its expert.",
    ),
    "stops-at-e-tiles": (
        scheduled(programs=lambda N, E, rows, **_: min(E, N // rows + E)),
        "Tiles from number E on were left out. Has the grid only E programs for them, or does a "
        "program return by its own number? It returns when the *expert* that it found is none.",
    ),
    "grid-of-full-tiles": (scheduled(programs=lambda N, rows, **_: N // rows), TOO_FEW),
    "grid-of-cdiv": (scheduled(programs=lambda N, rows, **_: tiles_of(N, rows)), TOO_FEW),
    "grid-of-one-more": (scheduled(programs=lambda N, rows, **_: tiles_of(N, rows) + 1), TOO_FEW),
    "grid-of-the-larger": (
        scheduled(programs=lambda N, E, rows, **_: max(N // rows, E)),
        "The grid has too few programs. It needs one for each full tile *and* one for each expert, "
        "not the larger of the two numbers.",
    ),
    "grid-of-tokens": (
        scheduled(programs=lambda T, E, rows, **_: T // rows + E),
        "The grid counts tokens. Each token has k choices, and choices fill the tiles.",
    ),
    "grid-turned": (
        scheduled(programs=lambda F, width, **_: tiles_of(F, width)),
        "The grid's axes are swapped: axis 0 counts tiles, axis 1 blocks of columns.",
    ),
    "next-matrix": (
        product(its_token, expert=lambda expert, E, **_: (expert + 1).clamp_max(E - 1)),
        "Choices met the matrix of the expert after theirs.",
    ),
}


def never_asks(fn):
    """Whatever the offsets hold, the same grid starts: the CPU does not know them."""
    grids = []

    def note(call, kernel, grid, args, kwargs):
        grids.append(tuple(grid(kwargs) if callable(grid) else grid))

    x, w = torch.zeros(40, 16, device=DEVICE), torch.zeros(4, 16, 16, device=DEVICE)
    order = torch.arange(40, device=DEVICE, dtype=torch.int32)
    for ends in (40, 40, 40, 40), (1, 18, 20, 40):
        offsets = torch.tensor([0, *ends], device=DEVICE, dtype=torch.int32)
        with hook_launch(note):
            fn(x, w, order, offsets, 1, TILE)
    assert grids[0] == grids[1], (
        f"The grid depends on what `offsets` holds: {grids[0]} and {grids[1]} for the same shapes. "
        "To know it the CPU waits for the GPU. Take a bound that holds for any offsets."
    )


def zeros_do_not_help(fn):
    """A GPU's masked lanes may hold anything where a load has no `other=`, 0 too."""
    experts = torch.tensor([[1], [0], [1]], device=DEVICE, dtype=torch.int32)
    with hold_zero():
        _, offsets = fn(experts, 2)
        try:
            written = sum(tensor.written for tensor in traffic(fn, experts, 2).tensors)
        except CannotShow:
            written = 0
    assert offsets.tolist() == [0, 1, 3] and written <= 4 * (3 + 3), (
        "A load has a mask and no `other=`, so its masked lanes may hold anything: 0, say, and "
        "then they are choices of expert 0. Give them a number that is no expert's."
    )


def most_programs(x, w, order, offsets, k=1, tile=None):
    tile = tile or grouped_tile(len(order), len(w), x.dtype)
    columns = triton.cdiv(w.shape[2], tile["BLOCK_N"])
    return (triton.cdiv(len(order), tile["BLOCK_M"]) + len(w)) * columns


CHECKS = {
    "route": Check(
        route_ref,
        ROUTES,
        HIDDEN_ROUTES,
        launches=1,
        results=("weights", "experts"),
        programs=lambda logits, k: logits.shape[0],
        terms=lambda logits, k: k,
        mistakes=ROUTE_MISTAKES,
    ),
    "sort_by_expert": Check(
        sort_by_expert_ref,
        SORTS,
        HIDDEN_SORTS,
        launches=2,
        results=("order", "offsets"),
        max_tile=lambda experts, E, block=4096: max(block, triton.next_power_of_2(E + 1)),
        also=[zeros_do_not_help],
        mistakes=SORT_MISTAKES,
    ),
    "grouped_matmul": Check(
        grouped_matmul_ref,
        GROUPS,
        HIDDEN_GROUPS,
        launches=1,
        no_tf32=True,
        max_programs=most_programs,
        also=[never_asks, products.uses_the_tile(GROUPS[2])],
        terms=lambda x, w, order, offsets, k=1, tile=None: x.shape[1],
        mistakes=GROUP_MISTAKES,
    ),
}
