"""What the checks of 10_rmsnorm_rows try: cases, references, and mistakes that have a name."""

import torch
import triton

from tritonbook import DEVICE, traffic
from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.seeing.tiles import CannotShow

from .page import rmsnorm_ref

EPS = 1e-6

CASES = [
    case("a row that fills its tile", x=tensor(4, 128), w=tensor(128), eps=EPS),
    case("a row that does not", x=tensor(5, 100), w=tensor(100), eps=EPS),
    case("tiny numbers", x=tensor(4, 200, scale=1e-3), w=tensor(200), eps=1e-5),
    case("rows with gaps", x=tensor(6, 70, layout="strided"), w=tensor(70), eps=EPS),
    case("transposed", x=tensor(6, 40, layout="transposed"), w=tensor(40), eps=EPS),
    case("half precision", dtype="float16", x=tensor(4, 700), w=tensor(700), eps=EPS),
    case("bfloat16", dtype="bfloat16", x=tensor(4, 700), w=tensor(700), eps=EPS),
    case(
        "half precision, large",
        dtype="float16",
        x=tensor(3, 300, scale=400),
        w=tensor(300),
        eps=EPS,
    ),
    case("three dimensions", x=tensor(2, 3, 65), w=tensor(65), eps=EPS),
    case("no rows", x=tensor(0, 64), w=tensor(64), eps=EPS),
    case("a weight of another length", x=tensor(2, 8), w=tensor(9), eps=EPS, raises=ValueError),
]


def _padded_mean(x, w, eps):
    square = x.pow(2).sum(dim=-1, keepdim=True) / triton.next_power_of_2(x.shape[-1])
    return x * torch.rsqrt(square + eps) * w


def _row_added_twice(x, w, eps):
    """Program m takes row 2 m of x; where there is none, it reads what is no number."""
    rows = x.reshape(-1, x.shape[-1])
    wanted = 2 * torch.arange(rows.shape[0])
    inside = (wanted < rows.shape[0])[:, None]
    read = torch.where(inside, rows[wanted.clamp_max(rows.shape[0] - 1)], float("nan"))
    return rmsnorm_ref(read, w, eps).reshape(x.shape)


def _scaled(x, w, eps, total):
    return x * torch.rsqrt(total.double() / x.shape[-1] + eps) * w


def _half_total(x, w, eps, *, dtype):
    """The squares and their sum in the dtype of x."""
    total = x.pow(2).to(dtype).double().sum(-1, keepdim=True).to(dtype)
    return _scaled(x, w, eps, total).to(dtype)


def _half_lanes(x, w, eps, *, dtype, block=4096):
    """A running sum of squares for each lane, in the dtype of x."""
    padded = torch.nn.functional.pad(x, (0, -x.shape[-1] % block))
    lanes = torch.zeros(*x.shape[:-1], block, dtype=dtype)
    for piece in padded.pow(2).to(dtype).split(block, dim=-1):
        lanes = (lanes.float() + piece.float()).to(dtype)
    return _scaled(x, w, eps, lanes.double().sum(-1, keepdim=True).to(dtype)).to(dtype)


def _rounded_twice(x, w, eps, *, dtype):
    return (rmsnorm_ref(x, torch.ones_like(w), eps).to(dtype).double() * w).to(dtype)


IN_HALF = "The sum of squares was taken in half precision: it lost digits. Add up in float32."

SUSPECTS = {
    "no-weight": (
        lambda x, w, eps: rmsnorm_ref(x, torch.ones_like(w), eps),
        "The row is normalised, but not multiplied by the weight.",
    ),
    "divided-by-tile": (
        _padded_mean,
        "The mean is taken over the lanes of the tile. Divide by N, the number of elements.",
    ),
    "sum-not-mean": (
        lambda x, w, eps: x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + eps) * w,
        "This divides by the root of the sum of squares. It should be the root of their mean.",
    ),
    "eps-outside-root": (
        lambda x, w, eps: x / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps) * w,
        "`eps` is added outside the root. It belongs inside: tiny rows tell the difference.",
    ),
    "no-eps": (
        lambda x, w, eps: rmsnorm_ref(x, w, 0.0),
        "`eps` is missing from the root. Rows of tiny numbers tell the difference.",
    ),
    "root-for-its-inverse": (
        lambda x, w, eps: x * torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w,
        "The row is multiplied by the root. It has to be divided by it: `tl.rsqrt`.",
    ),
    "eps-before-the-mean": (
        lambda x, w, eps: x * torch.rsqrt((x.pow(2).sum(-1, keepdim=True) + eps) / x.shape[-1]) * w,
        "`eps` is added to the sum. Add it to the mean, after the division by N.",
    ),
    "mean-of-magnitudes": (
        lambda x, w, eps: x * torch.rsqrt(x.abs().mean(-1, keepdim=True) + eps) * w,
        "The mean is taken of |x|, not of its square.",
    ),
    "one-plus-weight": (
        lambda x, w, eps: rmsnorm_ref(x, 1 + w, eps),
        "The row is multiplied by 1 + w. Here it is w alone.",
    ),
    "no-root": (
        lambda x, w, eps: x / (x.pow(2).mean(-1, keepdim=True) + eps) * w,
        "This divides by the mean square, not by its root.",
    ),
    "layernorm": (
        lambda x, w, eps: rmsnorm_ref(x - x.mean(-1, keepdim=True), w, eps),
        "The mean is subtracted first: that is LayerNorm. RMSNorm leaves the mean alone.",
    ),
    "mean-of-x": (
        lambda x, w, eps: x * torch.rsqrt(x.mean(-1, keepdim=True) + eps) * w,
        "The mean is taken of x, not of its square.",
    ),
    "squares-overflow": (
        lambda x, w, eps: x * 0.0,
        "All results are zero: the sum of the squares is infinity. Do masked lanes come in as "
        "minus infinity, as in softmax? Their square has to be 0. Or did the squares, or their "
        "sum, overflow in half precision? Go to float32 before you square.",
    ),
    "first-weight-only": (
        lambda x, w, eps: rmsnorm_ref(x, w[:1].expand_as(w), eps),
        "Every element is multiplied by the first weight. Load a tile of weights.",
    ),
    "row-added-twice": (
        _row_added_twice,
        "Program m took row 2 m: the row number is added to the address twice.",
    ),
    "rounded-twice": (
        _rounded_twice,
        "The row was rounded to half precision before the weight was multiplied. Round once, at "
        "the store.",
    ),
    "sum-in-half-precision": (_half_total, IN_HALF),
}


def _last_piece(x, w, eps, *, block=4096):
    last = x[..., (x.shape[-1] - 1) // block * block :]
    return _scaled(x, w, eps, last.pow(2).sum(-1, keepdim=True))


def _first_piece(x, w, eps, *, block=4096):
    return _scaled(x, w, eps, x[..., :block].pow(2).sum(-1, keepdim=True))


def _whole_pieces(x, w, eps, *, block=4096):
    whole = x[..., : x.shape[-1] // block * block]
    return _scaled(x, w, eps, whole.pow(2).sum(-1, keepdim=True))


def _sum_in_each_lane(x, w, eps, *, block=4096):
    return _scaled(x, w, eps, block * x.pow(2).sum(-1, keepdim=True))


def _first_weights(x, w, eps, *, block=4096):
    return rmsnorm_ref(x, w[torch.arange(x.shape[-1]) % block], eps)


PIECE_SUSPECTS = SUSPECTS | {
    "divided-by-tile": (
        lambda x, w, eps, *, block=4096: _scaled(
            x, w, eps, x.pow(2).sum(-1, keepdim=True) * x.shape[-1] / block
        ),
        "The sum is divided by the lanes of a piece. Divide by N, the number of elements.",
    ),
    "sum-in-half-precision": (_half_lanes, IN_HALF),
    "last-piece-only": (
        _last_piece,
        "Only the last piece was squared and summed: the sum so far was overwritten.",
    ),
    "first-piece-only": (
        _first_piece,
        "Only the first piece was squared and summed. Does each round load its own piece?",
    ),
    "last-piece-left-out": (
        _whole_pieces,
        "The last, partly filled piece took no part in the sum. Where does the first walk end?",
    ),
    "sum-in-each-lane": (
        _sum_in_each_lane,
        "Each lane of `squares` holds the sum of all lanes. Add the tile of squares to it; the "
        "lanes are added up after the loop.",
    ),
    "first-weights": (
        _first_weights,
        "Every piece was multiplied by the weights of the first one. Load the piece's own.",
    ),
}

HIDDEN_ROWS = [
    case("one element", x=tensor(1, 1), w=tensor(1), eps=EPS),
    case("one row of 17", x=tensor(1, 17), w=tensor(17), eps=EPS),
    case("tiny numbers", x=tensor(4, 255, scale=1e-3), w=tensor(255), eps=1e-5),
    case("a large mean", x=tensor(3, 1000, mean=50), w=tensor(1000), eps=EPS),
    case("transposed", x=tensor(7, 33, layout="transposed"), w=tensor(33), eps=EPS),
    case("a long row", x=tensor(2, 4097), w=tensor(4097), eps=EPS),
    case("bfloat16", dtype="bfloat16", x=tensor(4, 200), w=tensor(200), eps=EPS),
    case(
        "half x, full w",
        x=tensor(3, 90, dtype="float16"),
        w=tensor(90, dtype="float16"),
        eps=EPS,
    ),
    case("zeros", x=tensor(2, 50, values="zeros"), w=tensor(50), eps=EPS),
]

PIECES = [
    case("pieces that fit", x=tensor(3, 256), w=tensor(256), eps=EPS, options={"block": 64}),
    case("a last piece of 4", x=tensor(3, 100), w=tensor(100), eps=EPS, options={"block": 32}),
    case(
        "rows with gaps",
        x=tensor(4, 90, layout="strided"),
        w=tensor(90),
        eps=EPS,
        options={"block": 64},
    ),
    case("less than a piece", x=tensor(2, 50), w=tensor(50), eps=EPS, options={"block": 128}),
    case(
        "transposed",
        x=tensor(6, 40, layout="transposed"),
        w=tensor(40),
        eps=EPS,
        options={"block": 32},
    ),
    case(
        "tiny numbers",
        x=tensor(3, 200, scale=1e-3),
        w=tensor(200),
        eps=1e-5,
        options={"block": 64},
    ),
    case(
        "three dimensions",
        x=tensor(2, 3, 65),
        w=tensor(65),
        eps=EPS,
        options={"block": 32},
    ),
    case(
        "bfloat16, many pieces",
        dtype="bfloat16",
        x=tensor(2, 2000),
        w=tensor(2000),
        eps=EPS,
        options={"block": 16},
    ),
    case(
        "half precision, large",
        dtype="float16",
        x=tensor(3, 300, scale=400),
        w=tensor(300),
        eps=EPS,
        options={"block": 128},
    ),
    case("no rows", x=tensor(0, 64), w=tensor(64), eps=EPS),
]

HIDDEN_PIECES = [
    case("one element", x=tensor(1, 1), w=tensor(1), eps=EPS, options={"block": 16}),
    case("one more than a piece", x=tensor(4, 65), w=tensor(65), eps=EPS, options={"block": 64}),
    case(
        "tiny numbers",
        x=tensor(3, 255, scale=1e-3),
        w=tensor(255),
        eps=1e-5,
        options={"block": 64},
    ),
    case(
        "a large mean",
        x=tensor(2, 1000, mean=50),
        w=tensor(1000),
        eps=EPS,
        options={"block": 256},
    ),
    case(
        "rising rows",
        x=tensor(2, 500, values="rising", scale=9),
        w=tensor(500),
        eps=EPS,
        options={"block": 128},
    ),
    case(
        "transposed",
        x=tensor(5, 77, layout="transposed"),
        w=tensor(77),
        eps=EPS,
        options={"block": 32},
    ),
    case(
        "bfloat16",
        dtype="bfloat16",
        x=tensor(3, 200),
        w=tensor(200),
        eps=EPS,
        options={"block": 64},
    ),
    case("three dimensions", x=tensor(2, 2, 130), w=tensor(130), eps=EPS, options={"block": 64}),
    case("a long row", x=tensor(1, 9000), w=tensor(9000), eps=EPS),
]


def one_a_row(x, w, eps, block=4096):
    """Programs of both schemes; several rows a program is another one."""
    return x.shape[:-1].numel()


def a_piece(x, w, eps, block=4096):
    """Elements that a loop holds at once."""
    return block


def stores_once(fn):
    """In the interpreter, where every store is seen."""
    x = torch.randn(2, 200, device=DEVICE)
    try:
        moved = traffic(fn, x, torch.ones(200, device=DEVICE), block=64).tensors
    except CannotShow:
        return
    written = sum(each.written for each in moved) / sum(each.written_distinct for each in moved)
    assert written <= 1, (
        f"The values are right, but each element is stored {written:.3g} times. A walk goes from "
        "piece to piece: `range(0, N, BLOCK_N)`."
    )


CHECKS = {
    "rmsnorm_row": Check(
        rmsnorm_ref,
        CASES,
        HIDDEN_ROWS,
        launches=1,
        programs=one_a_row,
        tolerance=rounded_once(terms=4096),
        mistakes=SUSPECTS,
    ),
    "rmsnorm_loop": Check(
        rmsnorm_ref,
        PIECES,
        HIDDEN_PIECES,
        launches=1,
        programs=one_a_row,
        max_tile=a_piece,
        also=[stores_once],
        tolerance=rounded_once(terms=4096),
        mistakes=PIECE_SUSPECTS,
    ),
}
