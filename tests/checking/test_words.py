"""What the card says of errors and of a finding's place: each mistake provoked in a kernel."""

import pytest

import tritonbook
from tests.port.test_plain_words import double_with
from tests.port.triton_mistakes import LAUNCH, LOAD, STORE
from tests.seeing import kernels
from tritonbook.checking import Check, case, run_check, tensor
from tritonbook.checking.asks import launches, no_copies
from tritonbook.checking.report import Finding
from tritonbook.checking.slips import in_words_of_blocks

pytestmark = pytest.mark.skipif(not tritonbook.INTERPRET, reason="the interpreter's words")

CHECK = Check(lambda x: 2 * x, [case("ragged", x=tensor(150))], asks=[launches(1), no_copies()])


@pytest.mark.parametrize(
    ("lines", "launch", "code", "words"),
    [
        ("y = x / 2 if mask else 0.0", LAUNCH, "truth-of-a-tile", "lane by lane"),
        ("top, at = tl.max(x, axis=0)", LAUNCH, "does-not-compile", "return_indices=True"),
        ("y = tl.rand(0.5, offs)", LAUNCH, "does-not-compile", "`tl.rand"),
        (
            "m = 1e-39\nfor i in range(n):\n    m = tl.max(x, axis=0)",
            LAUNCH,
            "",
            "`m` is float32 in",
        ),
        ("def then(a, b):\n    return a", LAUNCH, "does-not-compile", "Define it above"),
        (
            "i = offs - 3\nx = tl.load(x_ptr + i, mask=mask & i >= 0)",
            LAUNCH,
            "reads-outside",
            "put each comparison of the mask in brackets",
        ),
        (
            "i = tl.where(offs < 9, -7, offs)\nx = tl.load(x_ptr + i, mask=mask & (i != -1))",
            LAUNCH,
            "reads-outside",
            "Let the mask ask for `>= 0` as well, or the address is off",
        ),
        ("", f"exec('i_{{d}} = {{d}} n')\n    {LAUNCH}", "raised", "line `i_{d} = {d} n`: invalid"),
        ("", f"torch.mm(print('', end=''), x)\n    {LAUNCH}", "raised", "`mm` was given None"),
        ("", LAUNCH.replace("(x,", "(x.clone(),"), "copies", "Give the kernel the strides"),
        (
            "",
            f"torch.library.custom_op('n.f', print, mutates_args=(), schema='()')\n    {LAUNCH}",
            "raised",
            "`namespace::name`",
        ),
        ("", f"torch.vmap(lambda i: 1 / 0)(x)\n    {LAUNCH}", "raised", "ZeroDivisionError"),
        ("pass", f"out.zero_()\n    {LAUNCH}", "not-attempted", "line `pass` is still there"),
    ],
)
def test_a_mistake_is_told_in_a_learners_words(lines, launch, code, words):
    """Kills: Triton's own words, and a cause that is none, on a card."""
    whole = lines if lines == "pass" else f"{LOAD}\n{lines}\n{STORE}"
    found = run_check(double_with(whole, launch), CHECK, "double").finding
    assert found.code == (code or found.code) and words in found.sentence, found


def test_a_remainder_of_a_number_below_zero_is_told_of():
    """Kills: "an index below 0 is an address too" alone, where Python's `-1 % n` is n - 1."""
    lines = f"i = (offs - 1) % n\nx = tl.load(x_ptr + i, mask=mask, other=0.0)\n{STORE}"
    found = run_check(double_with(lines, LAUNCH), CHECK, "double").finding
    assert found.code == "reads-outside", found
    assert found.sentence.endswith(
        "`(offs - 1) % n`: of a number below 0 a kernel makes what C "
        "makes, `-1 % n` is -1 and `-1 // n` is 0."
    )


def test_what_is_left_of_a_loop_is_never_below_zero():
    """Kills: a warning of `-1 // n` where K - k is what a loop up to K has before it."""
    lines = (
        f"{LOAD}\nfor k in range(0, n, BLOCK):\n"
        "    x += tl.load(x_ptr + offs + n + (n - k) // 2, mask=mask, other=0.0)\n"
        f"{STORE}"
    )
    found = run_check(double_with(lines, LAUNCH), CHECK, "double").finding
    assert found.code == "reads-outside" and "below 0" not in found.sentence, found


def test_an_atomic_operation_without_a_mask_is_told_that_it_has_none():
    """Kills: "its mask lets them through" of the mask of ones that Triton makes."""
    lines = f"{LOAD}\ntl.atomic_add(out_ptr + offs, 2 * x)"
    found = run_check(double_with(lines, LAUNCH), CHECK, "double").finding
    assert found.code == "out-of-bounds-store" and "lets them through" not in found.sentence, found


def test_a_kernel_of_block_pointers_is_told_its_word_for_a_mask():
    """Kills: "a load needs a mask" alone, where `mask=` is refused by Triton."""
    said = Finding("reads-outside", "A load needs a mask.")
    found = in_words_of_blocks(said, [kernels.blocks_kernel.fn])
    assert found.sentence == (
        "A load needs a mask. With block pointers a mask is `boundary_check=`, at each load and "
        "store."
    )
    assert in_words_of_blocks(said, [kernels.add_kernel.fn]) is said
