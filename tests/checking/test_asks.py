"""What a task asks for besides right values, where no page's mistakes show it."""

import torch
import triton
import triton.language as tl

from tritonbook.checking import Check, case, tensor
from tritonbook.checking.asks import shares_work, starts_at_most, stores_once

from . import answers
from .answers import run


@triton.jit
def in_the_loop_kernel(x_ptr, out_ptr, n_elements, rounds, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n_elements
    for turn in range(rounds):
        x = tl.load(x_ptr + offs, mask=mask)
        tl.store(out_ptr + offs, x * (turn + 1), mask=mask)


def stores_twice(x):
    out = torch.empty_like(x)
    in_the_loop_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), 2, BLOCK_SIZE=64)
    return out


def test_an_element_that_is_stored_again_is_told_in_the_task_s_words():
    """Kills: a store in the loop, whose last round makes the values right."""
    cases, asked = [case("ragged", x=tensor(70))], "{times:.2g} times."
    said = run(stores_twice, lambda x: 2 * x, cases, asks=[stores_once(asked)]).finding
    assert (said.code, said.sentence) == ("property", "2 times.")
    assert run(answers.right, lambda x: 2 * x, cases, asks=[stores_once(asked)]).passed


def one_more(x):
    n = x.numel()
    return answers.launch(answers.scale_kernel, x, grid=(n // 64 + 1,))


def smaller_tiles(x):
    return answers.launch(answers.scale_kernel, x, grid=(triton.cdiv(x.numel(), 48),))


def smaller_and_one(x):
    n = x.numel()
    return answers.launch(answers.scale_kernel, x, grid=(n // 48 + 1,))


def computed_and_one(x):
    n = x.numel()
    return answers.launch(answers.scale_kernel, x, grid=(n // (lambda: 64)() + 1,))


def test_a_quotient_and_one_is_told_from_a_grid_of_smaller_tiles():
    """Kills: "how much one program covers" asked of `n // size + 1`, and its cause told of another
    grid; a learner's text that the check evaluates."""
    cases = [case("two tiles", x=tensor(128)), case("ragged", x=tensor(70))]
    asks = [starts_at_most(lambda x: triton.cdiv(x.numel(), 64))]

    def found(fn):
        return run(fn, lambda x: 2 * x, cases, asks=asks).finding

    began = "3 programs were started where 2 are enough. "
    assert found(one_more).sentence.startswith(f"{began}`n // 64 + 1` is one too many")
    for fn in (smaller_tiles, smaller_and_one, computed_and_one):
        assert found(fn).sentence.startswith(f"{began}Does the grid")


@triton.jit
def walks_kernel(x_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK_SIZE, n_elements, tl.num_programs(0) * BLOCK_SIZE):
        offs = start + tl.arange(0, BLOCK_SIZE)
        mask = offs < n_elements
        tl.store(out_ptr + offs, 2 * tl.load(x_ptr + offs, mask=mask), mask=mask)


def test_a_program_that_has_most_of_a_launch_is_told():
    """Kills: one program that walks over all tiles, or has one tile for all; a small tensor's only
    program refused, or a single row's, or some that walk."""

    def found(n_elements, programs, block=1024, rows=()):
        def fn(x):
            out = torch.empty_like(x)
            walks_kernel[(programs,)](x, out, x.numel(), BLOCK_SIZE=block)
            return out

        cases = [case("a case", x=tensor(*rows, n_elements))]
        return run(fn, lambda x: 2 * x, cases, asks=[shares_work()]).finding

    said = found(30_000, 1)
    assert said.code == "unshared-work"
    assert "of the 240,000 bytes that `walks_kernel` asks for, one program asks for 240,000" in (
        said.sentence
    )
    assert found(30_000, 1, 32_768).code == "unshared-work"
    assert found(30_000, 2) is None and found(2_000, 1) is None
    assert found(30_000, 1, rows=[1]) is None and found(15_000, 1, rows=[2]) is not None


def test_a_helper_is_checked_before_the_answer_and_its_mistakes_have_names():
    """Kills: a helper's cases that are no rows of the card; kernels that run beside a wrong one; a
    check that fails where nobody can look at the helper."""

    def found(look):
        known = answers.mistakes(("rounded-up", lambda n: -(-n // 2), "Round down."))
        seven = [case("seven", n=7)]
        helper = Check(lambda n: n // 2, seven, look=look, triton=False, known=known)
        return run(answers.right, lambda x: 2 * x, [case("ragged", x=tensor(70))], asks=[helper])

    wrong = found(lambda fn: lambda n: 4)
    assert (wrong.finding.code, wrong.finding.sentence) == ("rounded-up", "Round down.")
    assert [(row.note, row.state) for row in wrong.cases] == [("seven", "wrong")]
    right = found(lambda fn: lambda n: 3)
    assert right.passed and [row.note for row in right.cases] == ["seven", "ragged"]
    assert found(lambda fn: None).passed
