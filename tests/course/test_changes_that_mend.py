"""Which changes of an answer's text are tried, and which of them first."""

import ast

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


def same(one, two):
    return ast.unparse(ast.parse(one)) == ast.unparse(ast.parse(two))


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
    found = [
        mend for mend in mends(KERNEL.replace(right, wrong), (), ()) if same(mend.text, KERNEL)
    ]
    assert found and words in found[0].says


def test_what_the_finding_quotes_is_changed_first():
    """Kills: six seconds spent before the line that the card names, or what makes its names."""
    said = "It writes outside `y` at `tl.store(y_ptr + pid_m * stride_ym...`."
    lines = list(dict.fromkeys(mend.line for mend in mends(KERNEL, (), (), said)))
    assert lines[0].startswith("tl.store(")
    assert set(lines[1:4]) == {"mask = offs_n < M", "offs_n = pid_m * B + tl.arange(0, B)", Z}


def test_a_bound_that_is_too_wide_is_no_mend():
    """Kills: "another function than `tl.minimum`" said of a loop that ends a tile too soon."""
    assert not any("tl.maximum(N" in mend.text for mend in mends(KERNEL, (), ()))
