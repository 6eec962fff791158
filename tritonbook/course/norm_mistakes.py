"""Known mistakes of LayerNorm and of merging statistics, as formulas with a sentence each.

A check with `mistakes=` compares a wrong result with them, to name the mistake.
"""

from __future__ import annotations

import torch
import triton


def _layernorm(x, w, b, eps):
    return _scaled(x, w, b, eps, _mean(x), _variance(x))


def _scaled(x, w, b, eps, mean, variance):
    return (x - mean) * torch.rsqrt(variance + eps) * w + b


def _mean(x):
    return x.mean(dim=-1, keepdim=True)


def _variance(x):
    return x.var(dim=-1, keepdim=True, correction=0)


def _with_padding(x, w, b, eps, *knob):
    N = x.shape[-1]
    lanes = (triton.next_power_of_2(N) - N) * _mean(x).pow(2)
    return _scaled(x, w, b, eps, _mean(x), _variance(x) + lanes / N)


LAYERNORM_MISTAKES = {
    "padding-counted": (
        _with_padding,
        "The masked lanes are counted in the variance: after the subtraction they hold minus the "
        "mean. Set them to 0 again.",
    ),
    "unbiased": (
        lambda x, w, b, eps, *knob: _scaled(
            x, w, b, eps, _mean(x), _variance(x) * x.shape[-1] / max(x.shape[-1] - 1, 1)
        ),
        "The variance is divided by N - 1. LayerNorm divides by N.",
    ),
    "mean-not-subtracted": (
        lambda x, w, b, eps, *knob: _scaled(x, w, b, eps, 0.0, _variance(x)),
        "The row is scaled by its deviation, but its mean is not subtracted.",
    ),
    "rmsnorm": (
        lambda x, w, b, eps, *knob: _scaled(x, w, b, eps, 0.0, _mean(x.pow(2))),
        "The mean is never subtracted: this is RMSNorm.",
    ),
    "mean-square-for-variance": (
        lambda x, w, b, eps, *knob: _scaled(x, w, b, eps, _mean(x), _mean(x.pow(2))),
        "The mean square stands in for the variance: subtract the mean before you square.",
    ),
    "no-weight": (
        lambda x, w, b, eps, *knob: _layernorm(x, torch.ones_like(w), b, eps),
        "The row is normalised, but not multiplied by the weight.",
    ),
    "no-bias": (
        lambda x, w, b, eps, *knob: _layernorm(x, w, torch.zeros_like(b), eps),
        "The bias is missing.",
    ),
    "bias-before-weight": (
        lambda x, w, b, eps, *knob: _layernorm(x, w, b * w, eps),
        "The bias is added before the weight is multiplied. It comes last.",
    ),
    "eps-outside-root": (
        lambda x, w, b, eps, *knob: (x - _mean(x)) / (_variance(x).sqrt() + eps) * w + b,
        "`eps` is added outside the root. It belongs inside: tiny rows tell the difference.",
    ),
    "no-eps": (
        lambda x, w, b, eps, *knob: _layernorm(x, w, b, 0.0),
        "`eps` is missing. Rows of tiny numbers tell the difference.",
    ),
    "no-root": (
        lambda x, w, b, eps, *knob: (x - _mean(x)) / (_variance(x) + eps) * w + b,
        "This divides by the variance, not by its root.",
    ),
    "sum-not-mean": (
        lambda x, w, b, eps, *knob: _scaled(x, w, b, eps, _mean(x), _variance(x) * x.shape[-1]),
        "The squares are summed, but not divided by N.",
    ),
    "squares-overflow": (
        lambda x, w, b, eps, *knob: x * 0.0 + b,
        "All that is left is the bias: the squares overflowed to infinity in half precision. "
        "Convert to float32 before you square.",
    ),
}


def _merged(n_a, mean_a, m2_a, n_b, mean_b, m2_b):
    n = n_a + n_b
    share = n_b / n.clamp_min(1)
    delta = mean_b - mean_a
    return n, mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share


def _combine_suspect(formula):
    def wrong(n_a, mean_a, m2_a, n_b, mean_b, m2_b):
        n = (n_a + n_b).clamp_min(1)
        right = _merged(n_a, mean_a, m2_a, n_b, mean_b, m2_b)
        return formula(*right, n_a / n, n_b / n, n_a, n_b, mean_b - mean_a, mean_a, m2_a + m2_b)

    return wrong


COMBINE_MISTAKES = {
    "delta-not-squared": (
        _combine_suspect(lambda n, mean, m2, sa, sb, na, nb, d, ma, s: (n, mean, s + d * na * sb)),
        "M2 grows by delta *squared* times n_a n_b / n.",
    ),
    "no-delta-term": (
        _combine_suspect(lambda n, mean, m2, sa, sb, na, nb, d, ma, s: (n, mean, s)),
        "M2 is the plain sum. The two parts have different means: the term with delta is missing.",
    ),
    "mean-of-means": (
        _combine_suspect(lambda n, mean, m2, sa, sb, na, nb, d, ma, s: (n, ma + d / 2, m2)),
        "This is the mean of the two means. A larger part weighs more.",
    ),
    "share-of-the-other": (
        _combine_suspect(lambda n, mean, m2, sa, sb, na, nb, d, ma, s: (n, ma + d * sa, m2)),
        "The mean moves from mean_a towards mean_b by the share of b, not of a.",
    ),
}
