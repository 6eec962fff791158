"""Mistakes that RMSNorm invites, however its work is divided; for the checks of pages 11 and 12.

Each is a formula on the reference's arguments x, w, eps, and the sentence that names it.
"""

import torch


def exact(x, w, eps):
    """RMSNorm of each row."""
    return scaled(x, w, eps, x.pow(2).sum(-1, keepdim=True))


def scaled(x, w, eps, total):
    """Rows normalised as if `total` were the sum of their squares."""
    return x * torch.rsqrt(total.double() / x.shape[-1] + eps) * w


def _half_total(x, w, eps, *, dtype):
    """The squares and their sum in the dtype of x."""
    total = x.pow(2).to(dtype).double().sum(-1, keepdim=True).to(dtype)
    return scaled(x, w, eps, total).to(dtype)


def _rounded_twice(x, w, eps, *, dtype):
    return (exact(x, torch.ones_like(w), eps).to(dtype).double() * w).to(dtype)


def _first_row(x, w, eps):
    return scaled(x, w, eps, x.reshape(-1, x.shape[-1])[:1].pow(2).sum())


ROW_MISTAKES = {
    "no-weight": (
        lambda x, w, eps: exact(x, torch.ones_like(w), eps),
        "The row is normalised, but not multiplied by the weight.",
    ),
    "sum-not-mean": (
        lambda x, w, eps: x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + eps) * w,
        "The sum of squares is not divided by N: the formula has their mean.",
    ),
    "eps-outside-root": (
        lambda x, w, eps: x / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps) * w,
        "`eps` is added outside the root. It belongs inside: tiny rows tell the difference.",
    ),
    "no-eps": (
        lambda x, w, eps: exact(x, w, 0.0),
        "`eps` is missing, or added where it has no effect. It belongs inside the root, beside the "
        "mean: rows of tiny numbers tell the difference.",
    ),
    "fixed-eps": (
        lambda x, w, eps: exact(x, w, 1e-6),
        "`eps` is always 1e-6 here, whatever the caller passes.",
    ),
    "eps-before-the-mean": (
        lambda x, w, eps: x * torch.rsqrt((x.pow(2).sum(-1, keepdim=True) + eps) / x.shape[-1]) * w,
        "`eps` is added to the sum. Add it to the mean, after the division by N.",
    ),
    "root-for-its-inverse": (
        lambda x, w, eps: x * torch.sqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w,
        "The row is multiplied by the root. It has to be divided by it: `tl.rsqrt`.",
    ),
    "no-root": (
        lambda x, w, eps: x / (x.pow(2).mean(-1, keepdim=True) + eps) * w,
        "This divides by the mean square, not by its root.",
    ),
    "mean-of-x": (
        lambda x, w, eps: x * torch.rsqrt(x.mean(-1, keepdim=True) + eps) * w,
        "The mean is taken of x, not of its square.",
    ),
    "mean-of-magnitudes": (
        lambda x, w, eps: x * torch.rsqrt(x.abs().mean(-1, keepdim=True) + eps) * w,
        "The mean is taken of |x|, not of its square.",
    ),
    "layernorm": (
        lambda x, w, eps: exact(x - x.mean(-1, keepdim=True), w, eps),
        "The mean is subtracted first: that is LayerNorm. RMSNorm leaves the mean alone.",
    ),
    "one-plus-weight": (
        lambda x, w, eps: exact(x, 1 + w, eps),
        "The row is multiplied by 1 + w. Here it is w alone.",
    ),
    "weight-added": (
        lambda x, w, eps: exact(x, torch.ones_like(w), eps) + w,
        "The weight is added to the row. Multiply by it.",
    ),
    "row-missing": (
        lambda x, w, eps: exact(x, w, eps) / x,
        "This is the weight over the root: the row itself is missing as a factor.",
    ),
    "row-added": (
        lambda x, w, eps: x + exact(x, w, eps) / x,
        "The row is added, where it has to be multiplied.",
    ),
    "eps-subtracted": (
        lambda x, w, eps: exact(x, w, -eps),
        "`eps` is subtracted: a row of tiny numbers has the root of a negative number. Add it.",
    ),
    "first-weight-only": (
        lambda x, w, eps: exact(x, w[:1].expand_as(w), eps),
        "Every element is multiplied by the first weight. Load a tile of weights.",
    ),
    "sum-of-all-rows": (
        lambda x, w, eps: scaled(x, w, eps, x.pow(2).sum()),
        "The squares of all rows went into one sum. Each row has its own.",
    ),
    "mean-of-all-rows": (
        lambda x, w, eps: scaled(x, w, eps, x.pow(2).mean() * x.shape[-1]),
        "One mean for the whole matrix. Each row has its own.",
    ),
    "first-row-for-all": (
        _first_row,
        "All rows are divided by the root of the first one. Each row has its own sum.",
    ),
    "squares-overflow": (
        lambda x, w, eps: x * 0.0,
        "All results are zero: the sum of the squares is infinity. Did the squares, or the buffer "
        "that holds their sum, overflow in half precision? Go to float32 before you square. Or do "
        "masked lanes come in as infinity? Their square has to be 0.",
    ),
    "rounded-twice": (
        _rounded_twice,
        "The row was rounded to half precision before the weight was multiplied. Round once, at "
        "the store.",
    ),
    "sum-in-half-precision": (
        _half_total,
        "The sum of squares was taken in half precision: it lost digits. Add up in float32.",
    ),
}
