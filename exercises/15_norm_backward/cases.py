"""What the checks of 15_norm_backward try: cases and references."""

from types import SimpleNamespace

import torch
import triton

from tritonbook.checking import Check, case, rounded_once, tensor
from tritonbook.checking.asks import by_hand, launches, stores_once

# --- column_sums


NAN = float("nan")


def column_sums_ref(partials, dtype):
    return partials.sum(0).to(dtype)


STORED_AGAIN = (
    "The values are right, but each sum is stored {times:.3g} times. The store comes after the "
    "loop, when the sums are whole."
)

SUMS = [
    case("one tile", partials=tensor(64, 16, dtype="float32"), out=torch.float32),
    case("70 rows, 20 columns", partials=tensor(70, 20, dtype="float32"), out=torch.float32),
    case("few rows", partials=tensor(3, 33, dtype="float32"), out=torch.float32),
    case(
        "three tiles of rows, a NaN in the second",
        partials=tensor(150, 8, dtype="float32", planted={(100, 3): NAN}),
        out=torch.float32,
    ),
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


def backward_of(*shape, num_programs, x_layout="contiguous", x_planted=None, w="normal", **dy):
    """Arguments and options of a case; x_layout, x_planted: of x, w: values of w."""
    rows = torch.Size(shape[:-1]).numel()

    def means(generator, shape):
        return row_means(rows)

    def rstds(generator, shape):
        return torch.rsqrt(row_sizes(rows).pow(2) + EPS)

    return {
        "dy": tensor(*shape, **dy),
        "x": tensor(*shape, layout=x_layout, values=known_rows, planted=x_planted or {}),
        "w": tensor(shape[-1], values=w),
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


BACKWARD = [
    case("a program for each row", **backward_of(4, 32, num_programs=4)),
    case(
        "three programs, ten rows, a NaN in dy and one in x",
        **backward_of(10, 37, num_programs=3, planted={(1, 7): NAN}, x_planted={(4, 9): NAN}),
    ),
    case("x has gaps", **backward_of(5, 40, num_programs=2, x_layout="strided")),
    case("dy transposed", **backward_of(6, 35, num_programs=4, layout="transposed")),
    case("x transposed", **backward_of(6, 35, num_programs=4, x_layout="transposed")),
    case("dy is one row repeated", **backward_of(5, 33, num_programs=2, layout="expanded")),
    case("half precision", dtype="float16", **backward_of(6, 45, num_programs=2)),
    case("a large mean of g", **backward_of(2, 3, 40, num_programs=4, mean=5, w="positive")),
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
    case(
        "a row with a NaN",
        **rms_backward_of(4, 40, num_programs=2, planted={(1, 7): float("nan")}),
    ),
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
        asks=[by_hand("atomic_add"), launches(1), stores_once(STORED_AGAIN)],
        terms=lambda partials, dtype: max(partials.shape[0], 1),
    ),
    "layernorm_backward": Check(
        layernorm_backward_ref,
        BACKWARD,
        HIDDEN_BACKWARD,
        results=("dx", "dw", "db"),
        asks=[by_hand("atomic_add"), launches(2)],
        tolerance=rounded_once(terms=4096),
    ),
    "rmsnorm_backward": Check(
        rmsnorm_backward_ref,
        RMS_BACKWARD,
        HIDDEN_RMS_BACKWARD,
        results=("dx", "dw"),
        asks=[by_hand("atomic_add"), launches(2)],
        tolerance=rounded_once(terms=4096),
    ),
}
