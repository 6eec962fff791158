"""What the checks of 54_linear_cross_entropy try: cases, references, mistakes that have a name."""

import weakref

import torch
import triton

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, tensor
from tritonbook.port.dispatch import DispatchMode

from ..shared.walks import whole_tiles

INFINITY = float("inf")


def gradient_and_losses(z, targets):
    """Gradient [T, V] and losses [T] of logits z; a negative target does not count."""
    counts = (targets >= 0)[:, None]
    target = (torch.arange(z.shape[1]) == targets[:, None]) & counts
    z_target = torch.where(target, z, 0).sum(-1)
    losses = torch.where(counts[:, 0], z.logsumexp(-1) - z_target, 0)
    return torch.where(counts, z.softmax(-1) - target.to(z.dtype), 0), losses


def in_place_ref(logits, targets, losses):
    dz, found = gradient_and_losses(logits, targets)
    return dz, found.to(losses.dtype)


def some_targets(T, V, skipped=(), none=-100):
    """Targets that meet the first and the last word; those of the tokens `skipped` are `none`."""
    given = [(V - 1, 0, *range(1, V, 3))[t % (2 + len(range(1, V, 3)))] for t in range(T)]
    return {t: none if t in skipped else word for t, word in enumerate(given)}


def targets_of(T, V, skipped=(), none=-100):
    return tensor(T, dtype="int64", values="zeros", planted=some_targets(T, V, skipped, none))


def row_case(note, T, V, skipped=(), block=16, layout="contiguous", none=-100, **logits):
    return case(
        note,
        logits=tensor(T, V, layout=layout, **logits),
        targets=targets_of(T, V, skipped, none),
        losses=tensor(T, dtype="float32"),
        options={"block": block},
        dtype=logits.get("dtype", "float32"),
    )


def one_above(generator, shape):
    """Numbers below what a careless minus infinity is. The first target is the word above."""
    z = torch.full(shape, -2e30, dtype=torch.float64)
    z[0, -1] = z[1, 5] = -1e30
    return z


ROWS = [
    row_case("one tile", 4, 16),
    row_case("37 words in tiles of 16", 6, 37),
    row_case("two tokens that do not count", 5, 40, skipped=(1, 4)),
    row_case("tokens with a target of -1", 3, 20, skipped=(0, 2), none=-1),
    row_case("logits around 100: exponentials overflow", 4, 50, mean=100.0, scale=9.0),
    row_case("logits around -200: exponentials vanish", 4, 50, mean=-200.0, scale=9.0),
    row_case(
        "each row rises: every tile brings a larger maximum", 4, 50, values="rising", scale=5.0
    ),
    row_case("logits of -2e30, but for one a token", 2, 20, values=one_above),
    row_case("half precision", 4, 100, block=32, dtype="float16"),
    row_case("rows with gaps", 3, 33, layout="strided"),
    row_case("a forbidden word", 3, 21, planted={(0, 5): -INFINITY, (1, 7): -INFINITY}),
    row_case("the first tile forbidden", 2, 40, planted={(0, v): -INFINITY for v in range(16)}),
    case(
        "targets for another number of tokens",
        logits=tensor(4, 8),
        targets=targets_of(3, 8),
        losses=tensor(4, dtype="float32"),
        raises=ValueError,
    ),
    row_case("no tokens", 0, 20),
    case(
        "words that do not lie side by side",
        logits=tensor(4, 8, layout="transposed"),
        targets=targets_of(4, 8),
        losses=tensor(4, dtype="float32"),
        raises=ValueError,
    ),
]

HIDDEN_ROWS = [
    row_case("1,000 words", 3, 1000, block=256, skipped=(0,)),
    row_case("one token, one word", 1, 1),
    row_case("the block as it is", 2, 300, block=8192),
    row_case("bfloat16", 5, 130, block=64, dtype="bfloat16", scale=3.0),
    row_case("rising, in half precision", 3, 90, values="rising", scale=8.0, dtype="float16"),
    row_case("nobody counts", 3, 20, skipped=(0, 1, 2)),
]


def float32_rows(z):
    """As the kernel sees them: what overflows there overflows here."""
    return z.float()


def from_lse(z, targets, losses, lse):
    """Gradient and losses that come out with this lse."""
    counts = (targets >= 0)[:, None]
    target = (torch.arange(z.shape[1]) == targets[:, None]) & counts
    z_target = torch.where(target, z, 0).sum(-1)
    dz = torch.where(counts, torch.exp(z - lse[:, None]) - target.to(z.dtype), 0)
    return dz, torch.where(counts[:, 0], lse - z_target, 0).to(losses.dtype)


def with_lse(formula):
    def wrong(logits, targets, losses, *, block=8192):
        return from_lse(logits, targets, losses, formula(float32_rows(logits), block).double())

    return wrong


def not_rescaled(z, block):
    m, total = torch.full((z.shape[0],), -1e38), torch.zeros(z.shape[0])
    for tile in z.split(min(block, triton.next_power_of_2(z.shape[1])), dim=1):
        m = torch.maximum(m, tile.amax(1))
        total = total + torch.exp(tile - m[:, None]).sum(1)
    return m + total.log()


def from_minus_infinity(z, block):
    first = z[:, : min(block, triton.next_power_of_2(z.shape[1]))]
    return torch.where(first.amax(1) == -INFINITY, torch.nan, z.logsumexp(-1))


def lane_of_each_tile(logits, targets, losses, *, block=8192):
    V = logits.shape[1]
    width = min(block, triton.next_power_of_2(V))
    dz, _ = gradient_and_losses(logits, targets)
    lanes = torch.nn.functional.pad(logits, (0, -V % width), value=-INFINITY)
    in_tile = torch.arange(lanes.shape[1]) % width
    picked = torch.where(in_tile == targets[:, None], lanes, 0).sum(-1)
    found = torch.where(targets >= 0, logits.logsumexp(-1) - picked, 0)
    return dz, found.to(losses.dtype)


def picked_in_the_last_tile(logits, targets, losses, *, block=8192):
    """z_target is that of the last tile, 0 where the target lies before it."""
    V = logits.shape[1]
    width = min(block, triton.next_power_of_2(V))
    dz, _ = gradient_and_losses(logits, targets)
    there = (targets >= (V - 1) // width * width)[:, None]
    picked = torch.where(there & (torch.arange(V) == targets[:, None]), logits, 0).sum(-1)
    found = torch.where(targets >= 0, logits.logsumexp(-1) - picked, 0)
    return dz, found.to(losses.dtype)


def skipped_as_they_were(logits, targets, losses):
    dz, found = in_place_ref(logits, targets, losses)
    counts = targets >= 0
    return torch.where(counts[:, None], dz, logits), torch.where(counts, found, losses)


def one_added(logits, targets, losses):
    dz, found = in_place_ref(logits, targets, losses)
    one = torch.arange(logits.shape[1]) == targets[:, None]
    return dz + 2 * one.to(logits.dtype), found


def padded_with_zeros(z, block):
    width = min(block, triton.next_power_of_2(z.shape[1]))
    return torch.nn.functional.pad(z, (0, -z.shape[1] % width)).logsumexp(-1)


def last_tile(z, block):
    return z.split(min(block, triton.next_power_of_2(z.shape[1])), dim=1)[-1].logsumexp(-1)


def of_the_tiles_so_far(logits, targets, losses, *, block=8192):
    """Each tile's gradient has the lse of the tiles up to it: what the first walk knows there."""
    width = min(block, triton.next_power_of_2(logits.shape[1]))
    _, found = in_place_ref(logits, targets, losses)
    last = torch.arange(logits.shape[1]) // width * width + width - 1
    lse = logits.logcumsumexp(1)[:, last.clamp(max=logits.shape[1] - 1)]
    one = (torch.arange(logits.shape[1]) == targets[:, None]).to(logits.dtype)
    return torch.where((targets >= 0)[:, None], torch.exp(logits - lse) - one, 0), found


def one_tile_again_and_again(which):
    """The second walk stays on one tile: what it has written there is read again."""

    def wrong(logits, targets, losses, *, block=8192):
        _, found = in_place_ref(logits, targets, losses)
        tile = torch.arange(logits.shape[1]) // min(block, triton.next_power_of_2(logits.shape[1]))
        here = tile == (tile.max() if which == "last" else 0)
        one = (torch.arange(logits.shape[1]) == targets[:, None]).to(logits.dtype)
        z, lse = logits, logits.logsumexp(1, keepdim=True)
        for _ in range(int(tile.max()) + 1):
            dz = torch.where((targets >= 0)[:, None], torch.exp(z - lse) - one, 0)
            z = torch.where(here, dz, z)
        return z, found

    return wrong


def not_loaded_again(logits, targets, losses, *, block=8192):
    """All tiles of the second walk have the z that the first one ended with."""
    V = logits.shape[1]
    width = min(block, triton.next_power_of_2(V))
    _, found = in_place_ref(logits, targets, losses)
    padded = torch.nn.functional.pad(logits, (0, -V % width), value=-INFINITY)
    z = padded[:, -width:].repeat(1, padded.shape[1] // width)[:, :V]
    one = (torch.arange(V) == targets[:, None]).to(logits.dtype)
    softmax = torch.exp(z - logits.logsumexp(1, keepdim=True))
    return torch.where((targets >= 0)[:, None], softmax - one, 0), found


def sum_not_shifted(z, block):
    m, total = torch.full((z.shape[0],), -1e38), torch.zeros(z.shape[0])
    for tile in z.split(min(block, triton.next_power_of_2(z.shape[1])), dim=1):
        m_new = torch.maximum(m, tile.amax(1))
        total = total * torch.exp(m - m_new) + torch.exp(tile).sum(1)
        m = m_new
    return m + total.log()


def first_tile(z, block):
    return z[:, : min(block, triton.next_power_of_2(z.shape[1]))].logsumexp(-1)


def everybody_counts(logits, targets, losses):
    """A skipped token has a softmax for its gradient and lse for its loss."""
    dz, found = gradient_and_losses(logits, targets)
    skipped = targets < 0
    dz = torch.where(skipped[:, None], logits.softmax(-1), dz)
    return dz, torch.where(skipped, logits.logsumexp(-1), found).to(losses.dtype)


def softmax_alone(logits, targets, losses):
    dz, found = in_place_ref(logits, targets, losses)
    counts = (targets >= 0)[:, None]
    return torch.where(counts, logits.softmax(-1), dz), found


def one_in_every_tile(logits, targets, losses, *, block=8192):
    """The 1 is subtracted in the lane of the target, in each tile."""
    T, V = logits.shape
    width = min(block, triton.next_power_of_2(V))
    counts = (targets >= 0)[:, None]
    lane = torch.arange(V) % width == targets[:, None]
    _, found = in_place_ref(logits, targets, losses)
    return torch.where(counts, logits.softmax(-1) - lane.to(logits.dtype), 0), found


def backwards(logits, targets, losses):
    dz, found = in_place_ref(logits, targets, losses)
    return -dz, found


def softmax_of(exponential):
    """A gradient whose softmax is exponential(z, lse)."""

    def wrong(logits, targets, losses):
        _, found = in_place_ref(logits, targets, losses)
        counts = (targets >= 0)[:, None]
        one = (torch.arange(logits.shape[1]) == targets[:, None]).to(logits.dtype)
        softmax = exponential(logits, logits.logsumexp(-1, keepdim=True))
        return torch.where(counts, softmax - one, 0), found

    return wrong


def ones_elsewhere(logits, targets, losses):
    _, found = in_place_ref(logits, targets, losses)
    counts = (targets >= 0)[:, None]
    others = torch.arange(logits.shape[1]) != targets[:, None]
    return torch.where(counts, logits.softmax(-1) - others.to(logits.dtype), 0), found


def loss_of(formula):
    """A loss that is formula(lse, z_target, sum of the row), beside a right gradient."""

    def wrong(logits, targets, losses):
        dz, _ = gradient_and_losses(logits, targets)
        z_target = logits.gather(1, targets.clamp_min(0)[:, None])[:, 0]
        found = formula(logits.logsumexp(-1), z_target, logits.sum(-1))
        return dz, torch.where(targets >= 0, found, 0).to(losses.dtype)

    return wrong


def sum_beside(number, lanes):
    """lse with a maximum of `number` at least, and with `lanes(V, block)` lanes that hold it."""

    def lse(z, block):
        m = z.amax(1).clamp_min(number)
        total = torch.exp(z - m[:, None]).sum(1) + lanes(z.shape[1], block) * torch.exp(number - m)
        return m + torch.log(total)

    return with_lse(lse)


ROW_MISTAKES = {
    "starts-too-high": (
        sum_beside(-1e9, lambda V, block: 0),
        "m_i starts above all logits of the row, and all exponentials are 0. Start it at -1e38.",
    ),
    "padding-too-high": (
        sum_beside(-1e9, lambda V, block: -V % block),
        "Masked lanes hold a number that is not below all logits, and wins the maximum. Give them "
        'minus infinity, `float("-inf")`.',
    ),
    "lse-without-maximum": (
        with_lse(lambda z, block: torch.log(torch.exp(z - z.amax(1, keepdim=True)).sum(1))),
        "l_i is a sum that was taken with m_i subtracted. lse is m_i + log(l_i), and exp(z) / l_i "
        "lacks the same m_i.",
    ),
    "maximum-not-subtracted": (
        with_lse(lambda z, block: torch.log(torch.exp(z).sum(1))),
        "The exponentials overflow or vanish: was the maximum subtracted from them?",
    ),
    "not-rescaled": (
        with_lse(not_rescaled),
        "The sum was not put right when a tile brought a larger maximum. It needs the old m_i.",
    ),
    "starts-at-minus-infinity": (
        with_lse(from_minus_infinity),
        "A first tile of minus infinity makes the row NaN. m_i starts at a finite number, and "
        "never becomes smaller: it is the larger one of itself and the tile's maximum.",
    ),
    "target-of-another-tile": (
        lane_of_each_tile,
        "z_target picks a lane in every tile. Compare the target with the word's number in the "
        "whole row, `start` included.",
    ),
    "padding-counted": (
        with_lse(padded_with_zeros),
        "Masked lanes took part as zeros. Which `other=` leaves maximum and sum unchanged?",
    ),
    "last-tile-only": (
        with_lse(last_tile),
        "lse knows the last tile of words alone: the tiles before it are lost.",
    ),
    "first-tile-only": (
        with_lse(first_tile),
        "lse knows the first tile of words alone. Does the first walk reach the end?",
    ),
    "lse-is-the-maximum": (
        with_lse(lambda z, block: z.amax(1)),
        "The maximum alone takes the place of lse. lse is m_i plus the logarithm of the sum l_i.",
    ),
    "lse-is-a-product": (
        with_lse(lambda z, block: z.amax(1) * (z.logsumexp(1) - z.amax(1))),
        "lse is m_i plus the logarithm of l_i, not times it.",
    ),
    "log-of-both": (
        with_lse(lambda z, block: torch.log(z.amax(1) + torch.exp(z.logsumexp(1) - z.amax(1)))),
        "The logarithm was taken of m_i + l_i. It belongs to l_i alone.",
    ),
    "logarithm-subtracted": (
        with_lse(lambda z, block: 2 * z.amax(1) - z.logsumexp(1)),
        "lse is the maximum plus the logarithm of the sum, not less it.",
    ),
    "exp2-in-the-sum": (
        with_lse(
            lambda z, block: z.amax(1) + torch.log(torch.exp2(z - z.amax(1, keepdim=True)).sum(1))
        ),
        "The sum was taken with `tl.exp2`. The softmax has base e: `tl.exp`.",
    ),
    "log-forgotten": (
        with_lse(lambda z, block: z.amax(1) + torch.exp(z - z.amax(1, keepdim=True)).sum(1)),
        "lse is m_i + l_i here. It is m_i plus the logarithm of l_i.",
    ),
    "sum-not-shifted": (
        with_lse(sum_not_shifted),
        "m_new is not subtracted from the exponents of the tile's own sum.",
    ),
    "last-tile-again": (
        one_tile_again_and_again("last"),
        "The second walk stays on the last tile, where the first one ended. It needs offsets of "
        "its own.",
    ),
    "first-tile-again": (
        one_tile_again_and_again("first"),
        "The second walk stays on the first tile: its offsets lack `start`.",
    ),
    "not-loaded-again": (
        not_loaded_again,
        "The second walk has one z for all tiles, the last of the first walk. Load each one again.",
    ),
    "lse-of-the-tiles-so-far": (
        of_the_tiles_so_far,
        "A tile's gradient was made in the first walk, when lse knew the tiles up to it alone. It "
        "needs a second walk.",
    ),
    "nan": (
        lambda logits, targets, losses: tuple(
            torch.full_like(part, torch.nan) for part in (logits, losses)
        ),
        "Look at the exponents first. z - m_new and m_i - m_new are never positive, so their "
        "exponentials never overflow.",
    ),
    "log-base-two": (
        with_lse(
            lambda z, block: z.amax(1) + torch.log2(torch.exp(z - z.amax(1, keepdim=True)).sum(1))
        ),
        "The logarithm has base 2. Exponentials to base e go with `tl.log`.",
    ),
    "everybody-counts": (
        everybody_counts,
        "A token with a negative target does not count. Its loss and its gradient are 0, stored.",
    ),
    "skipped-as-they-were": (
        skipped_as_they_were,
        "For a token that does not count nothing was stored. Its loss and its gradient are 0: "
        "store zeros.",
    ),
    "one-added": (one_added, "1 is added at the target. Subtract it."),
    "no-one-subtracted": (
        softmax_alone,
        "The gradient is the softmax alone. Subtract 1 at the target.",
    ),
    "one-in-every-tile": (
        one_in_every_tile,
        "1 is subtracted in every tile. Compare the target with the word's number in the whole "
        "row, `start` included.",
    ),
    "gradient-backwards": (backwards, "The gradient has the wrong sign: softmax minus 1."),
    "exp2-in-the-gradient": (
        softmax_of(lambda z, lse: torch.exp2(z - lse)),
        "The gradient's softmax has base 2: `tl.exp`, since lse has base e.",
    ),
    "divided-by-lse": (
        softmax_of(lambda z, lse: torch.exp(z) / lse),
        "The exponentials are divided by lse, a logarithm. The softmax is exp(z - lse).",
    ),
    "divided-by-lse-too": (
        softmax_of(lambda z, lse: torch.exp(z - z.amax(-1, keepdim=True)) / lse),
        "The exponentials are divided by lse, a logarithm. The softmax is exp(z - lse).",
    ),
    "no-exponential": (
        softmax_of(lambda z, lse: z - lse),
        "z - lse is the logarithm of the softmax. Take its exponential.",
    ),
    "exponent-backwards": (
        softmax_of(lambda z, lse: torch.exp(lse - z)),
        "The exponent is turned round: the softmax is exp(z - lse).",
    ),
    "not-divided-by-the-sum": (
        softmax_of(lambda z, lse: torch.exp(z)),
        "The exponentials are of z alone. The softmax is exp(z - lse).",
    ),
    "ones-elsewhere": (
        ones_elsewhere,
        "1 is subtracted at every word but the target: the branches of `tl.where` are swapped.",
    ),
    "one-everywhere": (
        lambda logits, targets, losses: (
            torch.where((targets >= 0)[:, None], logits.softmax(-1) - 1, 0),
            in_place_ref(logits, targets, losses)[1],
        ),
        "1 is subtracted at every word. Subtract it at the target alone.",
    ),
    "mean-of-losses": (
        loss_of(lambda lse, z_target, total: (lse - z_target) / len(lse)),
        "The losses are divided by the number of tokens. The contract asks for each token's own.",
    ),
    "target-overwritten": (
        loss_of(lambda lse, z_target, total: lse - torch.exp(z_target - lse) + 1),
        "The target's logit was read after the second walk: by then the gradient stands there.",
    ),
    "target-added": (
        loss_of(lambda lse, z_target, total: lse + z_target),
        "The loss is lse less the target's logit, not plus.",
    ),
    "all-logits-picked": (
        loss_of(lambda lse, z_target, total: lse - total),
        "z_target is the sum of all logits. Keep the target's lane, and 0 in the others.",
    ),
    "target-of-the-last-tile": (
        picked_in_the_last_tile,
        "z_target is forgotten in the next tile. Each tile adds to it.",
    ),
    "minus-infinity-beside-the-target": (
        loss_of(lambda lse, z_target, total: lse + INFINITY),
        "z_target is minus infinity. Under a sum, the lanes beside the target hold 0.",
    ),
    "others-picked": (
        loss_of(lambda lse, z_target, total: lse - total + z_target),
        "z_target is the sum of all logits but the target's: the comparison is turned round.",
    ),
    "loss-is-the-logit": (
        loss_of(lambda lse, z_target, total: z_target),
        "The loss is the target's logit. Subtract it from lse.",
    ),
    "target-not-subtracted": (
        loss_of(lambda lse, z_target, total: lse),
        "This is lse. The loss is lse less the target's logit: is z_target added up?",
    ),
    "loss-backwards": (
        loss_of(lambda lse, z_target, total: z_target - lse),
        "The loss has the wrong sign: lse less the target's logit.",
    ),
}


# --- linear_cross_entropy


def linear_ref(x, w, targets):
    dz, losses = gradient_and_losses(x @ w.T, targets)
    return losses.to(torch.promote_types(x.dtype, torch.float32)), dz @ w, dz.T @ x


def quarters(generator, shape):
    """Numbers whose products and sums are exact in half precision, and so are the logits."""
    return torch.randint(-2, 3, shape, generator=generator).double() / 4


def linear_case(note, T, D, V, skipped=(), piece=4, **more):
    values = quarters if "dtype" in more else "normal"
    return case(
        note,
        x=tensor(T, D, values=values),
        w=tensor(V, D, values=values, scale=1.0 if "dtype" in more else D**-0.5),
        targets=targets_of(T, V, skipped),
        options={"piece": piece},
        **more,
    )


LAYERS = [
    linear_case("pieces of 4, the last one shorter", 10, 8, 21),
    linear_case("one piece", 5, 16, 12, piece=8),
    linear_case("tokens that do not count", 9, 8, 30, skipped=(0, 5)),
    linear_case("pieces of one token", 3, 8, 17, piece=1),
    linear_case("half precision", 7, 16, 25, dtype="float16"),
    case(
        "weights of another width",
        x=tensor(4, 8),
        w=tensor(5, 7),
        targets=targets_of(4, 5),
        raises=ValueError,
    ),
    linear_case("no tokens", 0, 8, 12),
]

HIDDEN_LAYERS = [
    linear_case("pieces of 5", 13, 12, 40, piece=5, skipped=(3,)),
    linear_case("a piece that nobody fills", 6, 20, 9, piece=256),
    linear_case("one token, one word", 1, 4, 1),
    linear_case("bfloat16", 8, 16, 33, piece=8, dtype="bfloat16"),
]


def of_pieces(change):
    """A mistake: change(list of (rows, dz), x, w) -> dx, dw."""

    def wrong(x, w, targets, *, piece=256):
        dz, losses = gradient_and_losses(x @ w.T, targets)
        dx, dw = dz @ w, dz.T @ x
        parts = [slice(at, at + piece) for at in range(0, x.shape[0], piece)]
        dx, dw = change(parts, dz, x, w, dx, dw)
        return losses.to(torch.promote_types(x.dtype, torch.float32)), dx, dw

    return wrong


def _only(which):
    return of_pieces(
        lambda parts, dz, x, w, dx, dw: (dx, dz[parts[which]].T @ x[parts[which]] if parts else dw)
    )


def at_every_token(parts, dz, x, w, dx, dw):
    size = parts[0].stop if parts else 0
    return dx, sum(dz[t : t + size].T @ x[t : t + size] for t in range(len(dz)))


def first_rows_of_x(parts, dz, x, w, dx, dw):
    return dx, sum(dz[part].T @ x[: len(dz[part])] for part in parts)


def of_the_logits(parts, dz, x, w, dx, dw):
    z = x @ w.T
    return z @ w, z.T @ x


def fewer_logits(fn):
    """No more logits may be in memory than those of two pieces.

    Two, as Python makes the new ones before the old ones lose their name.
    """
    T, D, V, piece = 50, 8, 21, 10
    x, w = torch.randn(T, D, device=DEVICE), torch.randn(V, D, device=DEVICE)
    with Alive(lambda shape: V in shape and D not in shape) as logits:
        fn(x, w, torch.arange(T, device=DEVICE) % V, piece=piece)
    rows = logits.most // V
    assert rows <= 2 * piece, (
        f"The values are right, but with {T} tokens in pieces of {piece} the logits of {rows} "
        "tokens are in memory at once. Make those of a piece inside the loop, and keep no others."
    )


class Alive(DispatchMode):
    """How many numbers tensors of the shapes `wanted` held together, at the highest point."""

    def __init__(self, wanted):
        super().__init__()
        self.wanted, self.made, self.most = wanted, [], 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.ndim == 2 and self.wanted(result.shape):
            self.made.append(weakref.ref(result))
        tensors = [tensor for made in self.made if (tensor := made()) is not None]
        sizes = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
        bytes_each = tensors[0].element_size() if tensors else 1
        self.most = max(self.most, sum(sizes.values()) // bytes_each)
        return result


def a_row_too_many(parts, dz, x, w, dx, dw):
    longer = [slice(part.start, part.stop + 1) for part in parts]
    return dx, sum(dz[part].T @ x[part] for part in longer)


LAYER_MISTAKES = {
    "at-every-token": (
        of_pieces(at_every_token),
        "A piece begins at every token, so dw gets each share many times. Step by `piece`.",
    ),
    "nan": (
        lambda x, w, targets: tuple(torch.full_like(part, torch.nan) for part in (x, x, w)),
        "Was fresh memory added to? `dx` is made empty: write into it. `dw` begins at 0.",
    ),
    "a-row-too-many": (
        of_pieces(a_row_too_many),
        "Each piece ends one token too late: the first token of the next one counts twice in dw.",
    ),
    "last-piece-only": (
        _only(-1),
        "dw holds the share of the last piece alone. Every piece adds to it.",
    ),
    "first-piece-only": (_only(0), "dw holds the share of the first piece alone."),
    "first-rows-of-x": (
        of_pieces(first_rows_of_x),
        "dw was made with the first rows of x in each piece. Take the rows of the piece.",
    ),
    "products-of-logits": (
        of_pieces(of_the_logits),
        "dx and dw were made from the logits. The kernel turns them into the gradient first.",
    ),
    "mean-of-losses": (
        lambda x, w, targets: tuple(
            part / max(1, int((targets >= 0).sum())) if part.ndim == 2 else part
            for part in linear_ref(x, w, targets)
        ),
        "These are gradients of the mean. The contract asks for those of the sum.",
    ),
}


def half_products(dtype):
    """dz is rounded to the dtype before it is multiplied; dw once more for each piece."""
    loose = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}.get(dtype, 1e-5)
    because = "dz is rounded before its products, and dw once for each piece"
    return Tolerance(relative=loose, of_row_max=loose, because=because)


def digits_of_lse(dtype):
    """An lse of 200 has 5 digits behind the point in float32, and so has all that it is used in."""
    small = {torch.float16: 1e-3, torch.bfloat16: 8e-3}.get(dtype, 3e-5)
    return Tolerance(relative=small, of_row_max=1e-5, because="lse is a float32 of up to 200")


CHECKS = {
    "cross_entropy_in_place": Check(
        in_place_ref,
        ROWS,
        HIDDEN_ROWS,
        launches=1,
        inplace=("logits", "losses"),
        results=("the gradient, in logits", "losses"),
        tolerance=digits_of_lse,
        max_tile=lambda logits, targets, losses, block=8192: block,
        max_programs=lambda logits, targets, losses, block=8192: logits.shape[0],
        mistakes=ROW_MISTAKES,
        also=[whole_tiles(ROWS[1])],
    ),
    "linear_cross_entropy": Check(
        linear_ref,
        LAYERS,
        HIDDEN_LAYERS,
        results=("losses", "dx", "dw"),
        also=[fewer_logits],
        allow=("mm", "addmm_", "add_", "copy_"),
        tolerance=half_products,
        mistakes=LAYER_MISTAKES,
    ),
}
