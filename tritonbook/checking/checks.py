"""A check as data: what is asked of a function, and on which inputs. Nothing here runs anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from .cases import Case
from .compare import Tolerance
from .report import Finding
from .suspects import Known

Mistakes = dict[str, tuple[Callable[..., Any], str]]


@dataclass(frozen=True)
class Speed:
    """A timed case: it takes `at_least` times the baseline's speed on this GPU to pass."""

    case: Case
    baseline: Callable[..., Any]
    at_least: float = 0.8
    name: str = "torch"


@dataclass(frozen=True)
class Facts:
    """What the compiler must have made of the visible cases with these notes, for an A100.

    judge: gets the kernels that each of them launched, as `KernelFacts` by the case's note, and
    asserts what must hold of them. Judged with and without a GPU.
    """

    judge: Callable[[dict[str, tuple[Any, ...]]], None]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Check:
    """What a page asks of one function of the learner's.

    reference: gets float64 CPU tensors and returns float64; results are expected in the dtype that
    it would return for the case's own dtypes.
    cases: what the visible check tries. hidden: what a grader tries besides; other sizes and seeds.
    through: the name of a function beside the answer, on the page, which is called in its place.
    beside: names of functions of the page that `before` and `also` get after the function itself.
    triton: False for a plain Python function, which needs no proof of a launch.
    launches: the exact number of launches of a call. max_programs: a function of the arguments and
    options that gives the largest sensible grid. Where a task asks for one way of doing it:
    programs (likewise: exactly so many), max_tile (likewise: the most elements in one load or
    store), by_hand (functions of Triton's that the kernel must not call).
    allow: further torch operators. deterministic: False where two calls may differ in their last
    bits. inplace: names of arguments that are the result. copies: False where torch may not copy a
    tensor, as the kernel takes any strides.
    no_tf32: products of float32 stay float32; judged from what is compiled for a float32 case, as
    the interpreter knows no TF32.
    int64: names of arguments for which the page asks for offsets of 64 bits: those of 32 are
    refused. Elsewhere a card that passed says that they wrap round beyond 2**31 elements.
    terms: length of the reduction, for the tolerance: a number, or a function of the arguments.
    tolerance: a Tolerance, or a function from the output's dtype to one.
    nan: where to look if a result is NaN for no known reason: a sentence.
    mistakes: {code: (wrong formula, sentence)}, formulas that a wrong answer is compared with,
    where no mutant can be. They get the reference's arguments; keyword-only parameters get options
    of the call that have their name (a tile's width), and `dtype` that of the case.
    known: gives further mistakes that have a name. elsewhere: on a GPU, gives the cause that the
    interpreter names, from the answer and the note of the case that is wrong.
    also, hidden_also: functions with assertions of their own, for the visible cases and the hidden.
    before: such functions that come first: no case is tried where one of them fails.
    timeout: seconds a call; the environment's TRITONBOOK_CALL_SECONDS can lower it.
    speed: a timed case with its baseline, on a GPU.
    arch: the GPU that the kernels are compiled for where there is none, as 80: an A100.
    facts: what the compiler must have made of visible cases, a `Facts`.
    traffic: a function with assertions of its own on bytes, sectors and flops, in the interpreter:
    it gets each case's `Traffic`, then its arguments and options.
    """

    reference: Callable[..., Any]
    cases: Sequence[Case]
    hidden: Sequence[Case] = ()
    through: str | None = None
    beside: tuple[str, ...] = ()
    triton: bool = True
    launches: int | None = None
    max_programs: Callable[..., int] | None = None
    programs: Callable[..., int] | None = None
    max_tile: Callable[..., int] | None = None
    by_hand: Sequence[str] = ()
    allow: Sequence[str] = ()
    results: Sequence[str] = ()
    deterministic: bool = True
    inplace: Sequence[str] = ()
    copies: bool = True
    no_tf32: bool = False
    int64: Sequence[str] = ()
    terms: int | Callable[..., int] = 1
    tolerance: Tolerance | Callable[[torch.dtype], Tolerance] | None = None
    nan: str = ""
    mistakes: Mistakes = field(default_factory=dict)
    known: Callable[[], Sequence[Known]] = tuple
    elsewhere: Callable[[Callable[..., Any], str], Finding | None] | None = None
    before: Sequence[Callable[..., None]] = ()
    also: Sequence[Callable[..., None]] = ()
    hidden_also: Sequence[Callable[..., None]] = ()
    timeout: float = 20.0
    speed: Speed | None = None
    arch: int = 80
    facts: Facts | None = None
    traffic: Callable[..., None] | None = None

    def usable(self) -> list[Case]:
        """Visible cases that have a result, the timed one included."""
        timed = [self.speed.case] if self.speed else []
        return [*(case for case in self.cases if case.raises is None), *timed]
