"""Which changes of an answer's text are tried, and which of them first."""

import ast
import functools

import pytest

from tritonbook.course.mends import mends

KERNEL = """\
@triton.jit
def kernel(x_ptr, y_ptr, M, N, stride_xm, stride_xn, stride_ym, stride_yn, B: tl.constexpr):
    pid_m = tl.program_id(0)
    offs_n = pid_m * B + tl.arange(0, B)
    mask = offs_n < M
    x = tl.load(x_ptr + pid_m * stride_xm + offs_n * stride_xn, mask=mask)
    total = 2 * tl.sum(x * x) - 1
    for start in range(0, tl.minimum(N, (pid_m + 1) * B), B):
        kept = total
        total = total * 2
    y = x * (total - kept)
    z = tl.rsqrt(y + x)
    tl.store(y_ptr + pid_m * stride_ym + offs_n * stride_yn, z, mask=mask & (offs_n < M))
"""
Z = "z = tl.rsqrt(y + x)"
WALK = """\
@triton.jit
def kernel(q_ptr, k_ptr, o_ptr, L, window, D, stride_km, B: tl.constexpr):
    lanes = tl.arange(0, B)
    begin = tl.maximum(L - window, 0)
    m_i = tl.full([B], float("-inf"), tl.float32)
    acc = tl.zeros([B], tl.float32)
    for start in range(begin, L, B):
        cols = start + lanes
        inside = cols < L
        whole = cols >= window
        s = tl.load(q_ptr + cols // D, mask=inside & whole, other=0.0)
        k_ptr += B * stride_km
        m_new = tl.maximum(m_i, s)
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(-s)
        acc = acc * alpha + p * p
        m_i = m_new
    tile = tl.program_id(0) * B + lanes
    tl.store(o_ptr + tile, tl.where(lanes < L, acc, 0.0), mask=lanes < L + 1)
"""


@functools.lru_cache(8)  # what all are compared with
def plain(text):
    """A text without its layout."""
    return ast.unparse(ast.parse(text))


def same(one, two):
    return plain(one) == plain(two)


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("pid_m * stride_ym + offs_n * stride_yn", "pid_m * stride_xm + offs_n * stride_xn",
         "`stride_xm` and `stride_xn` are the strides of another tensor"),
        ("pid_m * stride_xm + offs_n * stride_xn", "offs_n * stride_xm + pid_m * stride_xn",
         "`offs_n` and `pid_m` have changed places"),
        ("mask=mask & (offs_n < M)", "mask=mask", "`mask` is not the mask that belongs there"),
        ("x * (total - kept)", "x * total - kept", "the parentheses of `x * total - kept`"),
        ("tl.rsqrt(y + x)", "tl.rsqrt(y) + x", "the parentheses of `tl.rsqrt(y) + x`"),
        ("tl.sum(x * x) - 1", "tl.sum(x * x - 1)", "the parentheses of `tl.sum(x * x - 1)`"),
        ("(pid_m + 1) * B", "pid_m * B", "another number than `pid_m` belongs there"),
        ("pid_m * B + tl.arange(0, B)", "pid_m + tl.arange(0, B)", "is missing at `pid_m`"),
        ("x * (total - kept)", "x / (total - kept)", "another operation or sign belongs in"),
        ("        kept = total\n        total = total * 2\n",
         "        total = total * 2\n        kept = total\n", "stands too early or too late"),
    ],
)  # fmt: skip
def test_a_mistake_has_its_mend(right, wrong, words):
    """Kills: a natural mistake whose mend is not among the changes, or is told in other words."""
    assert KERNEL.count(right) == 1
    tried = mends(KERNEL.replace(right, wrong), (), ())
    assert words in next(mend.says for mend in tried if same(mend.text, KERNEL))


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("tl.maximum(L - window, 0)", "L - window", "a function or a power is missing at"),
        ("range(begin, L, B)", "range(0, L, B)", "the loop begins or ends at the wrong place"),
        ("range(begin, L, B)", "range(begin, L - 1, B)", "`1` is too much"),
        ("cols // D", "cols", "a divisor is missing at `cols`"),
        ("B * stride_km", "B", "missing at `B`"),
        ("acc = acc * alpha + p * p", "acc += p * p", "missing at `acc`"),
        ("p * p", "alpha * alpha", "something else belongs in the place of `alpha`"),
        ("mask=inside & whole", "mask=inside", "`inside` is not the mask that belongs there"),
        ("tl.exp(-s)", "tl.exp(s)", "another operation or sign belongs in `tl.exp(s)`"),
        ("acc, 0.0)", "acc, 1.0)", "another number than `1.0` belongs there"),
        ('tl.full([B], float("-inf"), tl.float32)', "tl.zeros([B], tl.float32)",
         "another number than `tl.zeros` belongs there"),
        ("cols = start + lanes", "cols = start + tl.arange(0, B)", "the place of `tl.arange"),
        ("lanes < L + 1", "lanes < L", "missing at `L`"),
        ("lanes < L + 1", "lanes < L + B", "something else belongs in the place of `B`"),
        ("tl.program_id(0) * B + lanes", "tl.program_id(0) + lanes", "missing at `tl.program_id"),
    ],
)  # fmt: skip
def test_a_mistake_of_a_walk_has_its_mend(right, wrong, words):
    """Kills: a bound, a beginning, a mask or a factor of a loop that no change gives back."""
    assert WALK.count(right) == 1
    tried = mends(WALK.replace(right, wrong), (), ())
    assert any(words in mend.says and same(mend.text, WALK) for mend in tried)


def test_a_line_is_moved_further_than_past_its_neighbour():
    """Kills: a new maximum that is kept before the factor is taken from the old one."""
    late = "        m_i = m_new\n"
    early = WALK.replace(late, "").replace("        alpha =", f"{late}        alpha =")
    found = next(mend for mend in mends(early, (), ()) if same(mend.text, WALK))
    assert found.line == "m_i = m_new" and "too early or too late" in found.says


def test_no_name_is_read_before_it_has_a_value():
    """Kills: a second in ten spent on changes that cannot run."""
    assert not any("arange(0, p)" in mend.text for mend in mends(WALK, (), ()))
    assert not any("L - start" in mend.text for mend in mends(WALK, (), ()))


def test_what_the_finding_quotes_is_changed_first():
    """Kills: six seconds spent before the line that the card names, or what makes its names."""
    said = "It writes outside `y` at `tl.store(y_ptr + pid_m * stride_ym...`."
    lines = list(dict.fromkeys(mend.line for mend in mends(KERNEL, (), (), said)))
    assert lines[0].startswith("tl.store(")
    assert set(lines[1:4]) == {"mask = offs_n < M", "offs_n = pid_m * B + tl.arange(0, B)", Z}


def test_a_bound_that_is_too_wide_is_no_mend():
    """Kills: "another function than `tl.minimum`" said of a loop that ends a tile too soon."""
    assert not any("tl.maximum(N" in mend.text for mend in mends(KERNEL, (), ()))
