"""Small changes of a wrong answer's own text: what mends it is among them, and what is said."""

import re

import pytest

from tritonbook.course.mends import mends

KERNEL = """
@triton.jit
def kernel(x_ptr, w_ptr, y_ptr, N, stride_xm, stride_ym, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    best = -1e38
    total = 0.0
    for start in range(0, N, BLOCK):
        offs = start + lanes
        mask = offs < N
        x = tl.load(x_ptr + row * stride_xm + offs, mask=mask, other=0.0).to(tl.float32)
        new = tl.maximum(best, tl.max(x, axis=0))
        alpha = tl.exp(best - new)
        part = tl.sum(tl.where(mask, tl.exp(x - new), 0.0), axis=0)
        total = total * alpha + part
        best = new
    w = tl.load(w_ptr + lanes, mask=lanes < N, other=0.0)
    y = 0.5 * w / tl.sqrt(total + eps)
    tl.store(y_ptr + row * stride_ym + lanes, y, mask=lanes < N)


def call(x, w, y):
    N = x.shape[1]
    kernel[(x.shape[0],)](x, w, y, N, x.stride(0), y.stride(0), 1e-6, BLOCK=N)
"""
WRONG = {
    "operation": ("best - new)", "best + new)"),
    "comparison": ("mask = offs < N", "mask = offs <= N"),
    "name": ("row * stride_ym", "row * stride_xm"),
    "names": ("(x, w, y, N", "(x, y, w, N"),
    "number": ("0.5 * w", "1.0 * w"),
    "function": ("tl.exp(x - new)", "tl.exp2(x - new)"),
    "axis": ("tl.max(x, axis=0)", "tl.max(x, axis=1)"),
    "too much": ("total + eps", "total + eps + 1"),
    "missing": ("total = total * alpha + part", "total = total + part"),
    "unapplied": ("tl.sqrt(total + eps)", "(total + eps)"),
    "unmasked": ("tl.where(mask, tl.exp(x - new), 0.0)", "tl.exp(x - new)"),
    "stale": ("        best = new\n", ""),
    "cast": ("y, mask=lanes", "y.to(tl.float16), mask=lanes"),
    "range": ("range(0, N, BLOCK)", "range(BLOCK, N, BLOCK)"),
}


def squeezed(text):
    """Without what changes no meaning here: blanks and brackets."""
    return re.sub(r"[\s()]", "", text)


def mended(right, wrong):
    """The change that makes a text right, and its number."""
    found = enumerate(mends(wrong, (), ()))
    return next(
        ((mend, number) for number, mend in found if squeezed(mend.text) == squeezed(right)),
        (None, None),
    )


@pytest.mark.parametrize("kind", WRONG)
def test_a_natural_mistake_has_a_change_that_mends_it(kind):
    """Kills: a kind of change that is gone; one that comes too late to be tried in six seconds."""
    right, wrong = WRONG[kind]
    assert right in KERNEL
    mend, number = mended(KERNEL, KERNEL.replace(right, wrong))
    assert mend is not None
    assert mend.kind == kind
    assert number < 900
    assert mend.line in mend.says.replace("...", "")


@pytest.mark.parametrize("sign", ["<=", ">", ">="])
def test_a_comparison_is_changed_to_any_other(sign):
    """Kills: a mask that is turned round (`offs > N`), for which no change is found."""
    mend, _ = mended(KERNEL, KERNEL.replace("mask = offs < N", f"mask = offs {sign} N"))
    assert mend is not None
    assert mend.kind == "comparison"


def test_a_sum_that_is_overwritten_goes_on():
    wrong = KERNEL.replace("total = total * alpha + part", "total = part")
    goes_on = KERNEL.replace("total = total * alpha + part", "total = total + part")
    mend, _ = mended(goes_on, wrong)
    assert "forgets what it was before" in mend.says


def test_what_the_page_gives_is_left_alone():
    """Kills: a helper, or a given line, that is told to be wrong."""
    lines = {" ".join(row.split()) for row in KERNEL.splitlines()}
    assert list(mends(KERNEL, (), lines)) == []
    assert {mend.line for mend in mends(KERNEL, ("kernel",), ())} == {
        "N = x.shape[1]",
        "kernel[(x.shape[0],)](x, w, y, N, x.stride(0), y.stride(0), 1e-6, BLOCK=N)",
    }


def test_sizes_of_tiles_are_left_alone():
    """Kills: a wrong loop that is told to be right with a tile that takes all of a row."""
    wrong = KERNEL.replace("BLOCK=N)", "BLOCK=min(N, 64))")
    assert all("BLOCK=min(N, 64)" in mend.text for mend in mends(wrong, (), ()))


def test_no_text_comes_twice():
    texts = [mend.text for mend in mends(KERNEL, (), ())]
    assert len(texts) == len(set(texts))
    assert KERNEL not in texts
