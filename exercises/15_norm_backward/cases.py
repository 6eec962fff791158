"""What the checks of 15_norm_backward try: cases, references, and mistakes that have a name."""

from types import SimpleNamespace

import torch
import triton

from tritonbook import DEVICE, traffic
from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.seeing.tiles import CannotShow

# --- column_sums


def column_sums_ref(partials, dtype):
    return partials.sum(0).to(dtype)


def of_tiles(merge):
    """A mistake: merge(tiles) of the matrix in tiles of 64 rows, a list, gives the sums."""
    return lambda partials, dtype: merge(partials.split(64)).to(dtype)


def tiles_from(starts):
    """A mistake: tiles of 64 rows begin at starts(G), and some rows are counted more than once."""

    def wrong(partials, dtype):
        rows = torch.arange(len(partials))[:, None]
        first = torch.tensor(list(starts(len(partials))), dtype=torch.int64)
        times = ((first <= rows) & (rows < first + 64)).sum(1, keepdim=True)
        return (times * partials).sum(0).to(dtype)

    return wrong


def rows_apart(stride):
    """A mistake: rows begin `stride` places after each other, whatever N is."""

    def wrong(partials, dtype):
        G, N = partials.shape
        places = torch.arange(G)[:, None] * stride + torch.arange(N)
        found = partials.flatten()[places.clamp_max(G * N - 1)]
        return torch.where(places < G * N, found, torch.nan).sum(0).to(dtype)

    return wrong


def one_sum_a_program(partials, dtype):
    """All 16 columns of a program in one sum."""
    sums = partials.sum(0)
    groups = torch.nn.functional.pad(sums, (0, -len(sums) % 16)).unflatten(0, (-1, 16))
    return groups.sum(1).repeat_interleave(16)[: len(sums)].to(dtype)


SUM_MISTAKES = {
    "last-tile-only": (
        of_tiles(lambda tiles: tiles[-1].sum(0)),
        "Only the last tile of rows is summed: what was there before is overwritten.",
    ),
    "first-tile-only": (
        of_tiles(lambda tiles: tiles[0].sum(0)),
        "Only the first tile of rows is summed. Does the loop reach the last row, and do the rows "
        "of each round begin at start?",
    ),
    "first-tile-again": (
        of_tiles(lambda tiles: sum(tiles[0][: len(tile)].sum(0) for tile in tiles)),
        "Each round of the loop adds the first rows again. Its rows begin at start.",
    ),
    "first-tile-each-round": (
        of_tiles(lambda tiles: len(tiles) * tiles[0].sum(0)),
        "Each round of the loop adds the first rows again. Its rows begin at start.",
    ),
    "steps-of-one": (
        tiles_from(range),
        "The loop goes on by one row at a time, and its tiles overlap. It goes on by BLOCK_G.",
    ),
    "tiles-counted": (
        tiles_from(lambda G: range(triton.cdiv(G, 64))),
        "The loop counts tiles, 0, 1, 2, and its rows begin at those. A tile begins BLOCK_G "
        "rows after the one before.",
    ),
    "rows-side-by-side": (
        rows_apart(1),
        "Each row begins one place after the one before. Neighbouring rows are N apart.",
    ),
    "rows-a-tile-apart": (
        rows_apart(16),
        "Each row begins BLOCK_N places after the one before. Neighbouring rows are N apart.",
    ),
    "one-sum-a-program": (
        one_sum_a_program,
        "All columns of a program went into one sum. Each column has its own: `axis=0`.",
    ),
    "added-to-all-rows": (
        of_tiles(lambda tiles: 64 * sum(tile.sum(0) for tile in tiles)),
        "Every sum is BLOCK_G times too large. A tile that is summed already is added to each of "
        "the BLOCK_G rows of acc, and these are summed at the end: sum once.",
    ),
    "masked-lanes-are-one": (
        of_tiles(lambda tiles: sum(tile.sum(0) + 64 - len(tile) for tile in tiles)),
        "Masked lanes hold 1 and take part in the sums. Let them hold 0.",
    ),
    "mean-of-a-column": (
        lambda partials, dtype: partials.mean(0).to(dtype),
        "This is the mean of each column. Its sum is asked for.",
    ),
}


def stored_once(fn):
    """In the interpreter, where every store is seen."""
    try:
        moved = traffic(fn, torch.ones(150, 16, device=DEVICE), torch.float32).tensors
    except CannotShow:
        return
    times = sum(each.written for each in moved) / sum(each.written_distinct for each in moved)
    assert times <= 1, (
        f"The values are right, but each sum is stored {times:.3g} times. The store comes after "
        "the loop, when the sums are whole."
    )


SUMS = [
    case("one tile", partials=tensor(64, 16, dtype="float32"), out=torch.float32),
    case("70 rows, 20 columns", partials=tensor(70, 20, dtype="float32"), out=torch.float32),
    case("few rows", partials=tensor(3, 33, dtype="float32"), out=torch.float32),
    case("three tiles of rows", partials=tensor(150, 8, dtype="float32"), out=torch.float32),
    case("stored in half", partials=tensor(70, 40, dtype="float32", scale=30), out=torch.float16),
    case("no rows", partials=tensor(0, 20, dtype="float32"), out=torch.float32),
]

HIDDEN_SUMS = [
    case("one number", partials=tensor(1, 1, dtype="float32"), out=torch.float32),
    case("129 rows", partials=tensor(129, 17, dtype="float32", mean=2), out=torch.float32),
    case("bfloat16", partials=tensor(65, 100, dtype="float32"), out=torch.bfloat16),
]

# --- LayerNorm: rows whose statistics are known, since mean and rstd are arguments of their own

EPS = 1e-5


def row_means(rows):
    return 2 + 0.5 * torch.arange(rows, dtype=torch.float64)


def row_sizes(rows):
    return 0.6 + 0.3 * torch.arange(rows, dtype=torch.float64)


def known_rows(generator, shape):
    """Rows with the means and deviations of `row_means` and `row_sizes`."""
    x = torch.randn(shape, generator=generator, dtype=torch.float64)
    if shape[-1] > 1 and x.numel():
        x = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, correction=0)
    rows, lead = x[..., 0].numel(), (*shape[:-1], 1)
    return x * row_sizes(rows).view(lead) + row_means(rows).view(lead)


def backward_of(*shape, num_programs, layout="contiguous", x_layout="contiguous", **dy):
    """Arguments and options of a case; layout: of dy, x_layout: of x."""
    rows = torch.Size(shape[:-1]).numel()

    def means(generator, shape):
        return row_means(rows)

    def rstds(generator, shape):
        return torch.rsqrt(row_sizes(rows).pow(2) + EPS)

    return {
        "dy": tensor(*shape, layout=layout, **dy),
        "x": tensor(*shape, layout=x_layout, values=known_rows),
        "w": tensor(shape[-1]),
        "mean": tensor(rows, dtype="float32", values=means),
        "rstd": tensor(rows, dtype="float32", values=rstds),
        "options": {"num_programs": num_programs},
    }


def average(values):
    return values.mean(-1, keepdim=True)


def step(dy, x, w, mean, rstd):
    """All that the formulas need, for rows [M, N]; `shape` is that of x."""
    s = SimpleNamespace(shape=x.shape, N=x.shape[-1], tile=triton.next_power_of_2(x.shape[-1]))
    s.dy, s.x, s.w = dy.reshape(-1, s.N), x.reshape(-1, s.N), w
    s.r = rstd[:, None]
    s.centred = s.x - (0 if mean is None else mean[:, None])
    s.x_hat = s.centred * s.r
    s.g = w * s.dy
    s.g_mean, s.gx_mean = average(s.g), average(s.g * s.x_hat)
    s.dw_rows, s.db_rows = s.dy * s.x_hat, s.dy
    return s


def layernorm_dx(s):
    return s.r * (s.g - s.g_mean - s.x_hat * s.gx_mean)


def right(s):
    return layernorm_dx(s), s.dw_rows.sum(0), s.db_rows.sum(0)


def layernorm_backward_ref(dy, x, w, mean, rstd):
    dx, dw, db = right(step(dy, x, w, mean, rstd))
    return dx.to(x.dtype).reshape(x.shape), dw.to(w.dtype), db.to(w.dtype)


def in_place_of(**formulas):
    """A mistake: for dx, dw or db another formula of the `step`."""

    def wrong(dy, x, w, mean, rstd, *, num_programs=None):
        s = step(dy, x, w, mean, rstd)
        s.programs = min(num_programs or len(s.x), len(s.x))
        found = dict(zip(("dx", "dw", "db"), right(s), strict=True))
        found |= {name: formula(s) for name, formula in formulas.items()}
        return found["dx"].reshape(s.shape), found["dw"], found["db"]

    return wrong


def with_other(**changes):
    """A mistake in what dx is made from: x_hat or g by another formula. It shows in dx, which is
    compared first: dw is left right, so that a mistake in dw alone is not taken for this one."""

    def wrong(dy, x, w, mean, rstd, *, dtype=torch.float32):
        s = step(dy, x, w, mean, rstd)
        s.dtype = dtype
        for name, formula in changes.items():
            setattr(s, name, formula(s))
        s.g_mean, s.gx_mean = average(s.g), average(s.g * s.x_hat)
        dx, dw, db = right(s)
        return dx.reshape(s.shape), dw, db

    return wrong


def last_rows(rows, s):
    """The sum over programs of the last row that each of them takes."""
    return rows[-s.programs :].sum(0)


DX_MISTAKES = {
    "g-alone": (
        in_place_of(dx=lambda s: s.r * s.g),
        "dx is g times r. What a shift and a stretch of the row take back is missing.",
    ),
    "no-projection": (
        in_place_of(dx=lambda s: s.r * (s.g - s.g_mean)),
        "The term with mean(g x_hat) is missing in dx, or 0.",
    ),
    "projection-added": (
        in_place_of(dx=lambda s: s.r * (s.g - s.g_mean + s.x_hat * s.gx_mean)),
        "The term with mean(g x_hat) is added in dx. Subtract it.",
    ),
    "both-added": (
        in_place_of(dx=lambda s: s.r * (s.g + s.g_mean + s.x_hat * s.gx_mean)),
        "The two terms with means are added in dx. Subtract them.",
    ),
    "no-mean-term": (
        in_place_of(dx=lambda s: s.r * (s.g - s.x_hat * s.gx_mean)),
        "The mean of g is missing in dx: that is the formula of RMSNorm.",
    ),
    "mean-term-added": (
        in_place_of(dx=lambda s: s.r * (s.g + s.g_mean - s.x_hat * s.gx_mean)),
        "The mean of g is added in dx. Subtract it.",
    ),
    "no-rstd": (
        in_place_of(dx=lambda s: layernorm_dx(s) / s.r),
        "dx lacks the factor rstd.",
    ),
    "rstd-on-g-alone": (
        in_place_of(dx=lambda s: s.r * s.g - s.g_mean - s.x_hat * s.gx_mean),
        "rstd multiplies g alone. It multiplies the whole bracket.",
    ),
    "divided-by-rstd": (
        in_place_of(dx=lambda s: layernorm_dx(s) / s.r / s.r),
        "dx is divided by rstd. Multiply by it.",
    ),
    "rstd-twice": (
        in_place_of(dx=lambda s: layernorm_dx(s) * s.r),
        "dx has the factor rstd twice.",
    ),
    "no-weight": (
        with_other(g=lambda s: s.dy),
        "dx is made from dy without the weight: g = w dy.",
    ),
    "dy-for-g": (
        in_place_of(dx=lambda s: s.r * (s.dy - s.g_mean - s.x_hat * s.gx_mean)),
        "dx begins with dy. It is g, with the weight in it, from which the two parts are taken.",
    ),
    "mean-of-dy": (
        in_place_of(dx=lambda s: s.r * (s.g - average(s.dy) - s.x_hat * s.gx_mean)),
        "The mean of dy is subtracted in dx. It is the mean of g, with the weight in it.",
    ),
    "projection-of-dy": (
        in_place_of(dx=lambda s: s.r * (s.g - s.g_mean - s.x_hat * average(s.dy * s.x_hat))),
        "mean(dy x_hat) stands in dx. It is mean(g x_hat), with the weight in it.",
    ),
    "projection-of-x": (
        in_place_of(dx=lambda s: s.r * (s.g - s.g_mean - s.x_hat * average(s.g * s.x))),
        "mean(g x) stands in dx. It is mean(g x_hat).",
    ),
    "projection-of-g": (
        in_place_of(dx=lambda s: s.r * (s.g - s.g_mean - s.x_hat * s.g_mean)),
        "mean(g) stands twice in dx. x_hat is multiplied by mean(g x_hat).",
    ),
    "x-hat-alone": (
        in_place_of(dx=lambda s: s.r * (s.g - s.g_mean - s.x_hat)),
        "x_hat is subtracted as it is. It has to be multiplied by mean(g x_hat) first.",
    ),
    "projection-on-x": (
        in_place_of(dx=lambda s: s.r * (s.g - s.g_mean - s.x * s.gx_mean)),
        "mean(g x_hat) multiplies x. It multiplies x_hat.",
    ),
    "projection-without-x-hat": (
        in_place_of(dx=lambda s: s.r * (s.g - s.g_mean - s.gx_mean)),
        "mean(g x_hat) is subtracted as it is. It has to be multiplied by x_hat first.",
    ),
    "sums-for-means": (
        in_place_of(dx=lambda s: s.r * (s.g - s.N * s.g_mean - s.x_hat * s.N * s.gx_mean)),
        "The two means in dx are sums. Divide them by N.",
    ),
    "sum-of-g": (
        in_place_of(dx=lambda s: s.r * (s.g - s.N * s.g_mean - s.x_hat * s.gx_mean)),
        "The mean of g is a sum in dx. Divide it by N.",
    ),
    "sum-in-the-projection": (
        in_place_of(dx=lambda s: s.r * (s.g - s.g_mean - s.x_hat * s.N * s.gx_mean)),
        "The mean of g x_hat is a sum in dx. Divide it by N.",
    ),
    "means-over-tile": (
        in_place_of(dx=lambda s: s.r * (s.g - (s.g_mean + s.x_hat * s.gx_mean) * s.N / s.tile)),
        "The means in dx are taken over the lanes of the tile. Divide by N.",
    ),
    "mean-of-g-over-tile": (
        in_place_of(dx=lambda s: s.r * (s.g - s.g_mean * s.N / s.tile - s.x_hat * s.gx_mean)),
        "The mean of g is taken over the lanes of the tile. Divide by N.",
    ),
    "projection-over-tile": (
        in_place_of(dx=lambda s: s.r * (s.g - s.g_mean - s.x_hat * s.gx_mean * s.N / s.tile)),
        "The mean of g x_hat is taken over the lanes of the tile. Divide by N.",
    ),
    "x-hat-in-half": (
        with_other(x_hat=lambda s: s.x_hat.to(s.dtype).double()),
        "x_hat was rounded to half precision. Compute in float32, round once, at the store.",
    ),
    "x-hat-is-centred": (
        with_other(x_hat=lambda s: s.centred),
        "x_hat is x minus its mean here. Multiply by rstd.",
    ),
    "x-hat-divided": (
        with_other(x_hat=lambda s: s.centred / s.r),
        "x_hat is divided by rstd. rstd is one over the root already: multiply by it.",
    ),
    "x-hat-without-brackets": (
        with_other(x_hat=lambda s: s.x - (s.x - s.centred) * s.r),
        "rstd multiplies the mean alone: brackets around x - mean.",
    ),
    "x-hat-without-mean": (
        with_other(x_hat=lambda s: s.x * s.r),
        "x_hat is x times rstd here. Subtract the mean first.",
    ),
    "x-for-x-hat": (
        with_other(x_hat=lambda s: s.x),
        "x stands where x_hat belongs.",
    ),
}

DW_MISTAKES = {
    "dw-of-the-last-rows": (
        in_place_of(dw=lambda s: last_rows(s.dw_rows, s)),
        "Each program kept its last row only: dw has to grow, `+=`.",
    ),
    "dw-with-weight": (
        in_place_of(dw=lambda s: (s.g * s.x_hat).sum(0)),
        "dw has the weight in it. y = x_hat w + b: its derivative by w is x_hat alone.",
    ),
    "dw-of-x": (
        in_place_of(dw=lambda s: (s.dy * s.x).sum(0)),
        "dw sums dy x. It is dy x_hat.",
    ),
    "dw-of-the-centred": (
        in_place_of(dw=lambda s: (s.dy * s.centred).sum(0)),
        "dw sums dy (x - mean). It is dy x_hat, with rstd.",
    ),
    "dw-is-db": (
        in_place_of(dw=lambda s: s.dy.sum(0)),
        "dw sums dy alone, which is db. Multiply by x_hat.",
    ),
    "dw-without-dy": (
        in_place_of(dw=lambda s: s.x_hat.sum(0)),
        "dw sums x_hat alone. Multiply by dy.",
    ),
    "dw-rstd-twice": (
        in_place_of(dw=lambda s: (s.dw_rows * s.r).sum(0)),
        "dw has rstd once more: it is in x_hat already.",
    ),
    "dw-summed-along": (
        in_place_of(dw=lambda s: s.dw_rows.sum().expand(s.N)),
        "dw sums along the rows too. Add tile to tile, lane by lane.",
    ),
    "dw-of-dx": (
        in_place_of(dw=lambda s: (layernorm_dx(s) * s.x_hat).sum(0)),
        "dw is made from dx. It is made from dy.",
    ),
}

DB_MISTAKES = {
    "db-of-the-last-rows": (
        in_place_of(db=lambda s: last_rows(s.db_rows, s)),
        "Each program kept its last row only: db has to grow, `+=`.",
    ),
    "db-with-weight": (
        in_place_of(db=lambda s: s.g.sum(0)),
        "db has the weight in it. It is the sum of dy.",
    ),
    "db-is-dw": (
        in_place_of(db=lambda s: s.dw_rows.sum(0)),
        "db sums dy x_hat, which is dw. It is the sum of dy.",
    ),
    "db-summed-along": (
        in_place_of(db=lambda s: s.db_rows.sum().expand(s.N)),
        "db sums along the rows too. Add tile to tile, lane by lane.",
    ),
    "db-of-dx": (
        in_place_of(db=lambda s: layernorm_dx(s).sum(0)),
        "db is made from dx. It is the sum of dy.",
    ),
}

BACKWARD = [
    case("a program for each row", **backward_of(4, 32, num_programs=4)),
    case("three programs, ten rows", **backward_of(10, 37, num_programs=3)),
    case("x has gaps", **backward_of(5, 40, num_programs=2, x_layout="strided")),
    case("dy transposed", **backward_of(6, 35, num_programs=4, layout="transposed")),
    case("x transposed", **backward_of(6, 35, num_programs=4, x_layout="transposed")),
    case("dy is one row repeated", **backward_of(5, 33, num_programs=2, layout="expanded")),
    case("half precision", dtype="float16", **backward_of(6, 45, num_programs=2)),
    case("three dimensions", **backward_of(2, 3, 40, num_programs=4)),
    case("no rows", **backward_of(0, 24, num_programs=5)),
    case("a row too long", **backward_of(1, 4097, num_programs=1), raises=ValueError),
]

HIDDEN_BACKWARD = [
    case("more programs than rows", **backward_of(3, 17, num_programs=8)),
    case("one element", **backward_of(3, 1, num_programs=2)),
    case("dy transposed", **backward_of(9, 40, num_programs=4, layout="transposed")),
    case("bfloat16", dtype="bfloat16", **backward_of(12, 100, num_programs=5)),
    case("many rows", **backward_of(90, 24, num_programs=70)),
    case("three dimensions", **backward_of(3, 2, 50, num_programs=5)),
]

# --- RMSNorm


def rms_backward_of(
    *shape, num_programs, eps=1e-6, layout="contiguous", x_layout="contiguous", **x
):
    return {
        "dy": tensor(*shape, layout=layout),
        "x": tensor(*shape, layout=x_layout, **x),
        "w": tensor(shape[-1]),
        "eps": eps,
        "options": {"num_programs": num_programs},
    }


def rms_step(dy, x, w, eps):
    mean_square = x.reshape(-1, x.shape[-1]).pow(2).mean(-1)
    s = step(dy, x, w, None, torch.rsqrt(mean_square + eps))
    s.mean_square, s.eps = mean_square[:, None], eps
    return s


def rmsnorm_dx(s):
    return s.r * (s.g - s.x_hat * s.gx_mean)


def rmsnorm_backward_ref(dy, x, w, eps):
    s = rms_step(dy, x, w, eps)
    dx, dw = rmsnorm_dx(s), s.dw_rows.sum(0)
    return dx.to(x.dtype).reshape(x.shape), dw.to(w.dtype)


def rms_in_place_of(**formulas):
    def wrong(dy, x, w, eps, *, num_programs=None):
        s = rms_step(dy, x, w, eps)
        s.programs = min(num_programs or len(s.x), len(s.x))
        found = {"dx": rmsnorm_dx(s), "dw": s.dw_rows.sum(0)}
        found |= {name: formula(s) for name, formula in formulas.items()}
        return found["dx"].reshape(s.shape), found["dw"]

    return wrong


def rms_with_other(**changes):
    """r, x_hat or g by another formula, and what follows from it for dx."""

    def wrong(dy, x, w, eps):
        s = rms_step(dy, x, w, eps)
        for name, formula in changes.items():
            setattr(s, name, formula(s))
        if "x_hat" not in changes:
            s.x_hat = s.x * s.r
        s.gx_mean = average(s.g * s.x_hat)
        return rmsnorm_dx(s).reshape(s.shape), s.dw_rows.sum(0)

    return wrong


RMS_MISTAKES = {
    "g-alone": (
        rms_in_place_of(dx=lambda s: s.r * s.g),
        "dx is g times r. What a stretch of the row takes back is missing: mean(g x_hat).",
    ),
    "projection-added": (
        rms_in_place_of(dx=lambda s: s.r * (s.g + s.x_hat * s.gx_mean)),
        "The term with mean(g x_hat) is added in dx. Subtract it.",
    ),
    "layernorms": (
        rms_in_place_of(dx=lambda s: s.r * (s.g - s.g_mean - s.x_hat * s.gx_mean)),
        "The mean of g is subtracted in dx: that is LayerNorm. RMSNorm has no mean.",
    ),
    "mean-subtracted": (
        rms_with_other(x_hat=lambda s: (s.x - average(s.x)) * s.r),
        "x_hat has lost its mean: that is LayerNorm. Here it is x times rstd.",
    ),
    "no-rstd": (
        rms_in_place_of(dx=lambda s: rmsnorm_dx(s) / s.r),
        "dx lacks the factor rstd.",
    ),
    "projection-lacks-rstd": (
        rms_in_place_of(dx=lambda s: s.r * s.g - s.x_hat * s.gx_mean),
        "The second term of dx lacks a factor rstd. It multiplies the whole bracket, and x_hat "
        "stands in the bracket, not x.",
    ),
    "no-weight": (
        rms_with_other(g=lambda s: s.dy),
        "dx is made from dy without the weight: g = w dy.",
    ),
    "dy-for-g": (
        rms_in_place_of(dx=lambda s: s.r * (s.dy - s.x_hat * s.gx_mean)),
        "dx begins with dy. It is g, with the weight in it, from which a part is taken.",
    ),
    "projection-of-dy": (
        rms_in_place_of(dx=lambda s: s.r * (s.g - s.x_hat * average(s.dy * s.x_hat))),
        "mean(dy x_hat) stands in dx. It is mean(g x_hat), with the weight in it.",
    ),
    "projection-without-x-hat": (
        rms_in_place_of(dx=lambda s: s.r * (s.g - s.gx_mean)),
        "mean(g x_hat) is subtracted as it is. It has to be multiplied by x_hat first.",
    ),
    "projection-of-g": (
        rms_in_place_of(dx=lambda s: s.r * (s.g - s.x_hat * s.g_mean)),
        "mean(g) stands in dx. It is mean(g x_hat).",
    ),
    "x-hat-alone": (
        rms_in_place_of(dx=lambda s: s.r * (s.g - s.x_hat)),
        "x_hat is subtracted as it is. It has to be multiplied by mean(g x_hat) first.",
    ),
    "sum-in-the-projection": (
        rms_in_place_of(dx=lambda s: s.r * (s.g - s.x_hat * s.N * s.gx_mean)),
        "The mean of g x_hat is a sum in dx. Divide it by N.",
    ),
    "projection-over-tile": (
        rms_in_place_of(dx=lambda s: s.r * (s.g - s.x_hat * s.gx_mean * s.N / s.tile)),
        "The mean of g x_hat is taken over the lanes of the tile. Divide by N.",
    ),
    "no-eps": (
        rms_with_other(r=lambda s: torch.rsqrt(s.mean_square)),
        "`eps` makes no difference: it is missing in the root, or outside it.",
    ),
    "eps-outside-root": (
        rms_with_other(r=lambda s: 1 / (s.mean_square.sqrt() + s.eps)),
        "`eps` is added outside the root. It belongs inside.",
    ),
    "fixed-eps": (
        rms_with_other(r=lambda s: torch.rsqrt(s.mean_square + 1e-6)),
        "`eps` is always 1e-6 here, whatever the caller passes.",
    ),
    "sum-not-mean": (
        rms_with_other(r=lambda s: torch.rsqrt(s.mean_square * s.N + s.eps)),
        "The root is that of the sum of the squares. Divide the sum by N.",
    ),
    "squares-over-tile": (
        rms_with_other(r=lambda s: torch.rsqrt(s.mean_square * s.N / s.tile + s.eps)),
        "The mean of the squares is taken over the lanes of the tile. Divide by N.",
    ),
    "root-for-its-inverse": (
        rms_with_other(r=lambda s: torch.sqrt(s.mean_square + s.eps)),
        "This multiplies by the root. Take one over it: `tl.rsqrt`.",
    ),
    "mean-of-x-in-the-root": (
        rms_with_other(r=lambda s: torch.rsqrt(average(s.x) + s.eps)),
        "The root is that of the mean of x. It is that of the mean of its squares.",
    ),
    "variance-in-the-root": (
        rms_with_other(r=lambda s: torch.rsqrt(s.mean_square - average(s.x).pow(2) + s.eps)),
        "The variance is in the root: that is LayerNorm. RMSNorm has the mean of the squares.",
    ),
    "x-hat-divided": (
        rms_with_other(x_hat=lambda s: s.x / s.r),
        "x_hat is divided by rstd. rstd is one over the root already: multiply by it.",
    ),
    "no-root": (
        rms_with_other(r=lambda s: 1 / (s.mean_square + s.eps)),
        "This takes one over the mean square. Take one over its root: `tl.rsqrt`.",
    ),
    "squares-overflow": (
        rms_in_place_of(dx=lambda s: 0.0 * s.g),
        "dx is 0 everywhere: the squares overflowed in half precision. Square in float32.",
    ),
    "x-for-x-hat": (
        rms_with_other(x_hat=lambda s: s.x),
        "x stands where x_hat belongs.",
    ),
    "dw-of-the-last-rows": (
        rms_in_place_of(dw=lambda s: last_rows(s.dw_rows, s)),
        "Each program kept its last row only: dw has to grow, `+=`.",
    ),
    "dw-with-weight": (
        rms_in_place_of(dw=lambda s: (s.g * s.x_hat).sum(0)),
        "dw has the weight in it. y = x_hat w: its derivative by w is x_hat alone.",
    ),
    "dw-of-x": (
        rms_in_place_of(dw=lambda s: (s.dy * s.x).sum(0)),
        "dw sums dy x. It is dy x_hat.",
    ),
    "dw-of-dy": (
        rms_in_place_of(dw=lambda s: s.dy.sum(0)),
        "dw sums dy alone. Multiply by x_hat.",
    ),
    "dw-without-dy": (
        rms_in_place_of(dw=lambda s: s.x_hat.sum(0)),
        "dw sums x_hat alone. Multiply by dy.",
    ),
    "dw-rstd-twice": (
        rms_in_place_of(dw=lambda s: (s.dw_rows * s.r).sum(0)),
        "dw has rstd once more: it is in x_hat already.",
    ),
    "dw-summed-along": (
        rms_in_place_of(dw=lambda s: s.dw_rows.sum().expand(s.N)),
        "dw sums along the rows too. Add tile to tile, lane by lane.",
    ),
    "dw-of-dx": (
        rms_in_place_of(dw=lambda s: (rmsnorm_dx(s) * s.x_hat).sum(0)),
        "dw is made from dx. It is made from dy.",
    ),
}

RMS_BACKWARD = [
    case("a program for each row", **rms_backward_of(4, 32, num_programs=4, mean=1)),
    case("three programs, ten rows", **rms_backward_of(10, 37, num_programs=3, mean=1)),
    case("tiny numbers", **rms_backward_of(3, 40, num_programs=2, eps=3e-6, scale=1e-3)),
    case("x has gaps", **rms_backward_of(5, 40, num_programs=2, mean=1, x_layout="strided")),
    case("dy transposed", **rms_backward_of(6, 35, num_programs=4, layout="transposed")),
    case("x transposed", **rms_backward_of(6, 35, num_programs=4, x_layout="transposed")),
    case("dy is one row repeated", **rms_backward_of(5, 33, num_programs=2, layout="expanded")),
    case("half precision", dtype="float16", **rms_backward_of(6, 45, num_programs=2, scale=90)),
    case("three dimensions", **rms_backward_of(2, 3, 40, num_programs=4, mean=1)),
    case("no rows", **rms_backward_of(0, 24, num_programs=5)),
    case("a row too long", **rms_backward_of(1, 4097, num_programs=1), raises=ValueError),
]

HIDDEN_RMS_BACKWARD = [
    case("more programs than rows", **rms_backward_of(3, 17, num_programs=8, mean=1)),
    case("tiny numbers", **rms_backward_of(3, 40, num_programs=2, eps=1e-4, scale=1e-2)),
    case("dy transposed", **rms_backward_of(9, 40, num_programs=4, layout="transposed")),
    case("bfloat16", dtype="bfloat16", **rms_backward_of(12, 100, num_programs=5)),
    case("many rows", **rms_backward_of(90, 24, num_programs=70)),
    case("three dimensions", **rms_backward_of(3, 2, 50, num_programs=5)),
]

CHECKS = {
    "column_sums": Check(
        column_sums_ref,
        SUMS,
        HIDDEN_SUMS,
        launches=1,
        terms=lambda partials, dtype: max(partials.shape[0], 1),
        mistakes=SUM_MISTAKES,
        also=[stored_once],
    ),
    "layernorm_backward": Check(
        layernorm_backward_ref,
        BACKWARD,
        HIDDEN_BACKWARD,
        results=("dx", "dw", "db"),
        launches=2,
        tolerance=rounded_once(terms=4096),
        mistakes=DX_MISTAKES | DW_MISTAKES | DB_MISTAKES,
    ),
    "rmsnorm_backward": Check(
        rmsnorm_backward_ref,
        RMS_BACKWARD,
        HIDDEN_RMS_BACKWARD,
        results=("dx", "dw"),
        launches=2,
        tolerance=rounded_once(terms=4096),
        mistakes=RMS_MISTAKES,
    ),
}
