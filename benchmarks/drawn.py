"""Shapes that nobody chose: sizes log-uniform, widths odd as often as not, three dtypes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import torch

from .op import DTYPES, Problem
from .ops import attention, delta_rule, mlp, mxfp4, ragged, residual, rope, same_bits, window


def _between(rng: random.Random, least: float, most: float) -> int:
    """A log-uniform whole number."""
    return round(math.exp(rng.uniform(math.log(least), math.log(most))))


def _width(rng: random.Random, least: int, most: int) -> int:
    """Half of them as drawn, the others multiples of 8 or of 64, as layers have them."""
    width = _between(rng, least, most)
    step = rng.choice([1, 1, 8, 64])
    return max(least, width // step * step)


def _matrices(dtype: torch.dtype) -> list[tuple[str, Callable[..., torch.Tensor]]]:
    """Words for how a matrix lies in memory, and what makes one of M x N; half of them plain."""

    def plain(device, M, N):
        return torch.randn(M, N, device=device, dtype=dtype)

    def cut(device, M, N):
        return torch.randn(M, N + 24, device=device, dtype=dtype)[:, 8 : N + 8]

    def transposed(device, M, N):
        return torch.randn(N, M, device=device, dtype=dtype).T

    return [("", plain), ("", plain), (" cut out", cut), (" transposed", transposed)]


def _rows(vectors: int) -> Callable[[random.Random], Problem]:
    """x [M, N], and so many vectors [N]."""

    def draw(rng: random.Random) -> Problem:
        name, dtype = rng.choice(list(DTYPES.items()))
        N = _width(rng, 32, 32768)
        M = max(1, _between(rng, 2**15, 2**27) // N)
        word, make_x = rng.choice(_matrices(dtype)[:3])  # nobody hands over rows in columns

        def make(device):
            ones = (torch.randn(N, device=device, dtype=dtype) for _ in range(vectors))
            return make_x(device, M, N), *ones

        size = dtype.itemsize
        return Problem(f"{M}x{N} {name}{word}", make, bytes=size * (2 * M * N + vectors * N))

    return draw


def _gate(rng: random.Random) -> Problem:
    name = rng.choice(list(DTYPES))
    N = _width(rng, 64, 32768)
    M = max(1, _between(rng, 2**15, 2**26) // N)
    return mlp.gate_problem(M, N, name)


def _product(rng: random.Random) -> Problem:
    name, dtype = rng.choice(list(DTYPES.items()))
    M, N, K = (_width(rng, 16, 8192) for _ in range(3))
    (a_word, make_a), (b_word, make_b) = rng.choices(_matrices(dtype), k=2)
    words = (f", a{a_word}" if a_word else "") + (f", b{b_word}" if b_word else "")
    return Problem(
        f"{M}x{N}x{K} {name}{words}",
        lambda device: (make_a(device, M, K), make_b(device, K, N)),
        bytes=dtype.itemsize * (M * K + K * N + M * N),
        flops=2 * M * N * K,
    )


def _rope(rng: random.Random) -> Problem:
    name = rng.choice(list(DTYPES))
    D, HK, group = rng.choice([64, 80, 96, 128]), rng.choice([1, 2, 4, 8]), rng.choice([1, 4, 7])
    B, L = _between(rng, 1, 8), _between(rng, 64, 8192)
    return rope.problem(B, L, HK * group, HK, D, name)


def _attention(rng: random.Random) -> Problem:
    name = rng.choice(["f16", "bf16"])
    D, H = rng.choice([32, 64, 64, 80, 96, 128, 128]), rng.choice([8, 16, 32])
    L = _between(rng, 50, 16384)
    B = max(1, min(8, _between(rng, 2**10, 2**17) // L))
    return attention.problem(B, H, L, D, causal=rng.random() < 0.7, dtype=name)


def _ragged(rng: random.Random) -> Problem:
    name = rng.choice(["f16", "bf16"])
    D, HK, group = rng.choice([64, 128, 128]), rng.choice([4, 8, 16]), rng.choice([1, 1, 4])
    longest = _between(rng, 64, 8192)
    texts = max(1, min(256, _between(rng, 2**11, 2**17) // longest))
    lengths = [_between(rng, 1, longest) for _ in range(texts)]
    return ragged.problem(lengths, HK * group, HK, D, name)


def _residual(rng: random.Random) -> Problem:
    N = _width(rng, 32, 16384)  # the page's contract
    return residual.pair(max(1, _between(rng, 2**15, 2**26) // N), N, 8)


def _heads(rng: random.Random) -> tuple[int, int, int]:
    """H, HK and D."""
    HK = rng.choice([2, 4, 8])
    return HK * rng.choice([1, 4, 8]), HK, rng.choice([64, 128])


def _window(rng: random.Random) -> Problem:
    L, heads, cap = _between(rng, 256, 16384), _heads(rng), rng.choice([None, None, 50.0])
    return window.problem(
        "drawn", max(1, min(8, 2**14 // L)), *heads[:2], L, heads[2], _between(rng, 16, L), cap
    )


def _window_token(rng: random.Random) -> Problem:
    T, (H, HK, D) = _between(rng, 256, 32768), _heads(rng)
    return window.token("drawn", _between(rng, 1, 64), H, HK, T, D, _between(rng, 16, T))


def _codes(rng: random.Random) -> Problem:
    return mxfp4.layer(_between(rng, 1, 64), *(_between(rng, 16, 448) * 32 for _ in range(2)))


def _delta_rule(rng: random.Random) -> Problem:
    B, H, D = _between(rng, 1, 8), rng.choice([8, 16, 32]), rng.choice([64, 128])
    return delta_rule.problem(B, H, D, min(_between(rng, 64, 8192), 2**15 // B))


def _delta_step(rng: random.Random) -> Problem:
    return delta_rule.problem(_between(rng, 1, 128), rng.choice([8, 16, 32]), rng.choice([64, 128]))


def _same_rows(rng: random.Random) -> Problem:
    return same_bits.rows(_between(rng, 1, 8192), *(_width(rng, 256, 8192) for _ in range(2)))


def _same_sequences(rng: random.Random) -> Problem:
    L = _between(rng, 64, 16384)
    return same_bits.sequences(
        _between(rng, 1, max(1, min(64, 2**17 // L))),
        L,
        rng.choice([8, 16, 32]),
        rng.choice([64, 128]),
    )


SWEEPS: dict[str, Callable[[random.Random], Problem]] = {
    "softmax": _rows(0),
    "rmsnorm": _rows(1),
    "layernorm": _rows(2),
    "silu_mul": _gate,
    "matmul": _product,
    "rope": _rope,
    "flash_fwd": _attention,
    "flash_ragged": _ragged,
    "add_rmsnorm": _residual,
    "flash_window": _window,
    "window_decode": _window_token,
    "matmul_mxfp4": _codes,
    "delta_rule": _delta_rule,
    "delta_step": _delta_step,
    "matmul_same": _same_rows,
    "decode_same": _same_sequences,
}


def drawn(name: str, seed: int, count: int) -> list[Problem]:
    """The problems of one operation: the same for the same seed."""
    rng = random.Random(f"{name} {seed}")
    return [SWEEPS[name](rng) for _ in range(count)]
