"""A Llama block as anybody writes it in PyTorch. It knows nothing of Triton or of this workbook."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F


class PlainLlamaBlock(torch.nn.Module):
    """Grouped-query attention with RoPE, then SwiGLU, each after an RMSNorm.

    Takes x [B, T, width] with T <= length; `heads` share `kv_heads` pairs of keys and values.
    """

    def __init__(
        self,
        width: int = 32,
        heads: int = 4,
        kv_heads: int = 2,
        hidden: int = 48,
        length: int = 8,
    ):
        super().__init__()
        self.groups, self.size = heads // kv_heads, width // heads
        linear = functools.partial(torch.nn.Linear, bias=False)
        self.q, self.o = linear(width, width), linear(width, width)
        self.k, self.v = (linear(width, kv_heads * self.size) for _ in range(2))
        self.gate, self.up = linear(width, hidden), linear(width, hidden)
        self.down = linear(hidden, width)
        self.norm1, self.norm2 = (torch.nn.RMSNorm(width, eps=1e-6) for _ in range(2))
        frequency = 10000 ** (-torch.arange(0, self.size, 2) / self.size)
        angle = torch.outer(torch.arange(length), frequency).repeat(1, 2)
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())
        self.register_buffer("mask", torch.full((length, length), float("-inf")).triu(1))

    def rotate(self, x: torch.Tensor) -> torch.Tensor:  # [B, heads, T, size]
        one, two = x.chunk(2, dim=-1)
        T = x.shape[2]
        return x * self.cos[:T] + torch.cat([-two, one], dim=-1) * self.sin[:T]

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        B, T, width = x.shape
        q, k, v = (w(x).view(B, T, -1, self.size).transpose(1, 2) for w in (self.q, self.k, self.v))
        q, k = self.rotate(q), self.rotate(k)
        k, v = (a.repeat_interleave(self.groups, dim=1) for a in (k, v))
        scores = q @ k.transpose(2, 3) * self.size**-0.5 + self.mask[:T, :T]
        y = torch.softmax(scores, dim=-1) @ v
        return self.o(y.transpose(1, 2).reshape(B, T, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.norm1(x))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))
