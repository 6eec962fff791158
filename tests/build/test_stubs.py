"""Open gaps are compiled: one whose rest needs the gap's names is named, with its line."""

from pathlib import Path

from small_page import write_page

from tritonbook.build import stubs
from tritonbook.course.exercises import Exercise

PAGE = """\
# %% tags=["setup"]
import torch
import triton
import triton.language as tl
{setup}

# %% tags=["answer"] key="double"
@triton.jit
def double_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
{kernel}


def double(x):
    out = torch.empty_like(x)
    double_kernel[(1,)](x, out, BLOCK=16)
    return out

# %% tags=["check"] key="double" points=3
check(double)
"""
WHOLE = """\
    ### BEGIN SOLUTION
    y = 2 * tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, y)
    ### END SOLUTION"""
BELOW = """\
    ### BEGIN SOLUTION
    y = 2 * tl.load(x_ptr + offs)
    ### END SOLUTION
    tl.store(out_ptr + offs, y)"""
CASES = """\
from tritonbook.checking import Check, case, tensor

CHECKS = {"double": Check(lambda x: 2 * x, [case("one tile", x=tensor(16))])}
"""


def page(folder: Path, slug: str, kernel: str, setup: str = "") -> Exercise:
    return Exercise(write_page(folder, slug, PAGE.format(kernel=kernel, setup=setup), cases=CASES))


def test_an_open_gap_that_does_not_compile_is_named_with_its_line(tmp_path):
    """Kills: a page whose cells a learner cannot run before the gap is filled; a good one that is
    refused beside it."""
    good, bad = page(tmp_path, "17_whole", WHOLE), page(tmp_path, "18_below", BELOW)
    (problem,) = stubs.problems([good, bad])
    line = next(n for n, row in enumerate(bad.path.read_text().splitlines(), 1) if "answer" in row)
    assert (problem.path, problem.line) == (bad.path, line)
    assert "the open gap of 'double' does not compile" in str(problem)


def test_cells_that_fail_around_an_open_gap_are_named(tmp_path):
    failing = page(tmp_path, "19_failing", WHOLE, setup="raise OSError('no file')")
    (problem,) = stubs.problems([failing])
    assert "with the gap of 'double' open the cells fail (OSError: no file)" in str(problem)


def test_an_open_host_function_has_nothing_to_compile(tmp_path):
    """Kills: the error of its stub, which a learner is meant to see, told of as a problem."""
    text = PAGE.format(kernel=WHOLE, setup="").replace(
        "    out = torch", "    ### BEGIN SOLUTION\n    out = torch"
    )
    text = text.replace("    return out\n", "    return out\n    ### END SOLUTION\n")
    host = Exercise(write_page(tmp_path, "20_host", text, cases=CASES))
    assert stubs.problems([host]) == [] == stubs.problems([])
