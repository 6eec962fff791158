"""The gradients of LayerNorm and RMSNorm in PyTorch, as notebook 13 writes them in formulas.

For rows of x [M, N], with a gradient dy [M, N] from above and a weight w [N]. The results have the
dtypes of x and w; gradients of the weights are summed over all rows.
"""

from __future__ import annotations

import torch


def layernorm_backward_ref(dy, x, w, mean, rstd) -> tuple[torch.Tensor, ...]:
    """(dx [M, N], dw [N], db [N]); mean and rstd = 1 / sqrt(variance + eps), [M], are given."""
    mean, rstd = mean[:, None], rstd[:, None]
    x_hat = (x - mean) * rstd
    wdy = w * dy
    dx = rstd * (wdy - x_hat * (x_hat * wdy).mean(-1, keepdim=True) - wdy.mean(-1, keepdim=True))
    return dx.to(x.dtype), (x_hat * dy).sum(0).to(w.dtype), dy.sum(0).to(w.dtype)


def rmsnorm_backward_ref(dy, x, w, eps) -> tuple[torch.Tensor, ...]:
    """(dx [M, N], dw [N])."""
    rstd = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
    x_hat = x * rstd
    wdy = w * dy
    dx = rstd * (wdy - x_hat * (x_hat * wdy).mean(-1, keepdim=True))
    return dx.to(x.dtype), (x_hat * dy).sum(0).to(w.dtype)


def backward_terms(dy, *rest) -> int:
    """How many terms are summed, along rows or down columns: sets the tolerance of the check."""
    return max(*dy.shape, 1)
