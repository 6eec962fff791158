"""What the checks of 54_linear_cross_entropy try: cases and references."""

import weakref

import torch

from tritonbook import DEVICE
from tritonbook.checking import Check, Tolerance, case, tensor
from tritonbook.checking.asks import launches, starts_at_most, tiles_of_at_most
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


SURE = {(0, 99): 12.0, (1, 0): 13.0, (2, 1): 14.0}  # the targets' logits

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
    row_case("a row with a NaN", 3, 40, planted={(1, 7): float("nan")}),
    # Near 1 a probability of half precision has few digits, and what is due is how much it lacks.
    row_case(
        "bfloat16, words nearly sure",
        *(4, 100),
        block=32,
        dtype="bfloat16",
        scale=3.0,
        planted=SURE,
    ),
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
    row_case("half precision", 5, 130, block=64, dtype="float16", scale=3.0),
    row_case("rising, in half precision", 3, 90, values="rising", scale=8.0, dtype="float16"),
    row_case("nobody counts", 3, 20, skipped=(0, 1, 2)),
]


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
        asks=[
            launches(1),
            starts_at_most(lambda logits, targets, losses, block=8192: logits.shape[0]),
            tiles_of_at_most(lambda logits, targets, losses, block=8192: block, max),
            whole_tiles(ROWS[1]),
        ],
        inplace=("logits", "losses"),
        results=("the gradient, in logits", "losses"),
        tolerance=digits_of_lse,
        nan=(
            "Look at the exponents first. z - m_new and m_i - m_new are never positive, so "
            "their exponentials never overflow."
        ),
    ),
    "linear_cross_entropy": Check(
        linear_ref,
        LAYERS,
        HIDDEN_LAYERS,
        results=("losses", "dx", "dw"),
        asks=[fewer_logits],
        allow=("mm", "addmm", "addmm_", "add_", "copy_"),
        tolerance=half_products,
        nan=("Was fresh memory added to? `dx` is made empty: write into it. `dw` begins at 0."),
    ),
}
