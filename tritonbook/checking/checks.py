"""A check as data: what is asked of a function, and on which inputs. Nothing here runs anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .asks import LAST, Ask
from .cases import Case
from .compare import Tolerance
from .mended import Mends
from .mistakes import Mistake
from .report import Finding


@dataclass(frozen=True)
class Speed:
    """A timed case: it takes `at_least` times the baseline's speed on this GPU to pass."""

    case: Case
    baseline: Callable[..., Any]
    at_least: float = 0.8
    name: str = "torch"


@dataclass(frozen=True)
class Check:
    """What a page asks of one function of the learner's.

    reference: gets float64 CPU tensors and returns float64; results are expected in the dtype that
    it would return for the case's own dtypes.
    cases: what the visible check tries. hidden: what a grader tries besides; other sizes and seeds.
    wide: cases of so many programs that they fit along axis 0 of a grid alone, each named after
    what is so many: their launches are looked at, and not carried out.
    through: the name of a function beside the answer, on the page, which is called in its place.
    look: gives what is called in place of the answer, None where it cannot be had.
    beside: names of functions of the page that assertions get after the function itself.
    triton: False for a plain Python function, which needs no proof of a launch.
    ranks: it is called on several ranks, which are simulated, on a GPU in a process beside.
    asks: what the task asks for besides right values, from `asks.py`. A bare function is an
    assertion on the answer, for the visible cases; a Check, of a helper (`through` or
    `look`), comes first.
    allow: further torch operators. deterministic: False where two calls may differ in their last
    bits. inplace: names of arguments that are the result.
    terms: length of the reduction, for the tolerance: a number, or a function of the arguments.
    tolerance: a Tolerance, or a function from the output's dtype to one; one of two arguments gets
    the case's dtype too: a float32 result of half-precision inputs has their digits.
    nan: where to look if a result is NaN for no known reason: a sentence.
    known: gives the mistakes that have a name. mends: gives small changes of an answer, each as a
    call that makes the changed function, and the change. elsewhere: on a GPU, gives the cause that
    the interpreter names, from the answer and the note of the case that is wrong.
    timeout: seconds a call; the environment's TRITONBOOK_CALL_SECONDS can lower it.
    speed: a timed case with its baseline, on a GPU.
    arch: the GPU that the kernels are compiled for where there is none, as 80: an A100.
    """

    reference: Callable[..., Any]
    cases: Sequence[Case]
    hidden: Sequence[Case] = ()
    wide: Sequence[Case] = ()
    through: str | None = None
    look: Callable[..., Any] | None = None
    beside: tuple[str, ...] = ()
    triton: bool = True
    ranks: bool = False
    asks: Sequence[Ask | Callable[..., None] | Check] = ()
    allow: Sequence[str] = ()
    results: Sequence[str] = ()
    deterministic: bool = True
    inplace: Sequence[str] = ()
    terms: int | Callable[..., int] = 1
    tolerance: Tolerance | Callable[..., Tolerance] | None = None
    nan: str = ""
    known: Callable[[], Sequence[Mistake]] = tuple
    mends: Callable[[Any, str], Mends] | None = None
    elsewhere: Callable[[Callable[..., Any], str], Finding | None] | None = None
    timeout: float = 20.0
    speed: Speed | None = None
    arch: int = 80

    def asked(self, when: str) -> list[Ask]:
        """The asks of one moment."""
        rules = (ask for ask in self.asks if not isinstance(ask, Check))
        asks = (ask if isinstance(ask, Ask) else Ask(LAST, ask) for ask in rules)
        return [ask for ask in asks if ask.when == when]

    def of_helpers(self) -> list[Check]:
        return [ask for ask in self.asks if isinstance(ask, Check)]

    def usable(self) -> list[Case]:
        """Visible cases that have a result, the timed one included."""
        timed = [self.speed.case] if self.speed else []
        return [*(case for case in self.cases if case.raises is None), *timed]
