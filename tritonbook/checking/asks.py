"""What a task asks for besides right values.

Each ask gets a call, what the meter saw of it, or what is compiled, and gives a Finding or None.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..language.kernel_text import language_names
from ..seeing.findings import float32_products
from .cases import DTYPES, Case
from .diagnose import parsed
from .launches import Launch
from .report import Finding, count
from .trial import Trial

# When an ask is asked: of each call, by the kernels' text and by its launches; of a right one, by
# what the meter saw; of what is compiled; and of the function, before all cases, after the visible
# ones and after the hidden ones.
TEXT, LAUNCHES, METER, COMPILED, FACTS = "text", "launches", "meter", "compiled", "facts"
FIRST, LAST, HIDDEN = "first", "last", "hidden"

_TUNES_AGAIN = (
    "A second call of the same sizes tries the tuner's configs again. Make the tuner once, outside "
    "the wrapper, and let its `key=` name sizes alone."
)
_NARROW = (
    "The values are right. But at {place} a program's number, or one that was loaded, is "
    "multiplied by a size in 32 bits: beyond 2**31 elements the product wraps round, and the "
    "address is another one. This page asks for 64 bits: `.to(tl.int64)` on the number, before it "
    "is multiplied."
)
_TF32 = Finding(
    "tf32",
    "Compiled for an A100, your kernel multiplies float32 tiles on the tensor cores, which take "
    'TF32 alone, three decimal digits. Ask for float32 in `tl.dot`: input_precision="ieee".',
)
_STORED_AGAIN = (
    "The values are right, but each element is stored {times:.2g} times: the store stands inside "
    "the loop. Put it behind the loop."
)

Rule = Callable[..., Any]  # gets a call's arguments and options


@dataclass(frozen=True)
class Ask:
    """One thing that a task asks for.

    when: one of the words above. finds: gets a `Call` (TEXT, LAUNCHES, METER) or `Made` (COMPILED),
    and gives a Finding or None; else an assertion: on the function and those beside it, or on the
    `KernelFacts` of the cases with these notes, by note. words: a pattern of what the page says of
    it before the gap; beside: a docstring may say it.
    """

    when: str
    finds: Callable[..., Any]
    words: str = ""
    beside: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Call:
    """A call of the answer. seen: the meter's record of it, None on a GPU. other: calls it on
    another case. again: it was called before, with the same sizes. fn: what was called."""

    trial: Trial
    seen: Any
    other: Callable[[Case], Trial]
    again: bool = False
    fn: Any = None

    @functools.cached_property
    def launched(self) -> list[Launch]:
        return own(self.trial)

    @functools.cached_property
    def traffic(self) -> Any:
        from ..seeing.traffic import summary

        return summary(self.seen, findings=False)

    def due(self, rule: Rule) -> Any:
        """What a rule gives for this call's arguments and options."""
        case = self.trial.case
        return rule(*case.filled(self.trial.values), **case.options)


@dataclass(frozen=True)
class Made:
    """A case and its compiled kernels, as `KernelFacts`."""

    case: Case
    kernels: tuple[Any, ...]


def launches(number: int) -> Ask:
    """So many launches in each call that has elements."""

    def finds(call: Call) -> Finding | None:
        if call.again and call.trial.watch.tried:
            return Finding("wrong-launch-count", _TUNES_AGAIN)
        if len(call.launched) == number or is_empty(call.trial):
            return None
        return Finding(
            "wrong-launch-count",
            f"Kernel launches in one call: {len(call.launched)}. This task asks for {number}.",
        )

    names = ("no", "one", "two", "three", "four")
    return Ask(LAUNCHES, finds, f"{names[number]} launch")


def no_copies() -> Ask:
    """PyTorch copies no tensor: the kernel takes any strides."""

    def finds(call: Call) -> Finding | None:
        if not call.trial.watch.copies:
            return None
        return Finding(
            "copies",
            "A tensor is copied first (`.contiguous()`, `.clone()`, `.reshape()`), which is a "
            "launch of its own. Give the kernel the strides.",
        )

    return Ask(LAUNCHES, finds, "no copy")


def starts(rule: Rule) -> Ask:
    """As many programs as the rule gives: the task asks for one way of doing it."""

    def finds(call: Call) -> Finding | None:
        started, due = _started(call), call.due(rule)
        if not call.launched or started == due:
            return None
        return Finding(
            "other-programs",
            _option_without_effect(call, rule, due)
            or f"Programs started: {started}. This task's way of doing it takes {due}.",
        )

    return Ask(LAUNCHES, finds, "program", beside=True)


def starts_at_most(rule: Rule) -> Ask:
    """No larger grid than the rule gives: the largest sensible one."""

    def finds(call: Call) -> Finding | None:
        started, most = _started(call), call.due(rule)
        if started <= most:
            return None
        if said := _option_without_effect(call, rule, most):
            return Finding("too-many-programs", said)
        why = "Does the grid take into account how much one program covers?"
        if started == most + 1 and (sum_of := _quotient_and_one(call, most)):
            why = (
                f"`{sum_of}` is one too many where the division leaves no rest. `triton.cdiv` "
                "rounds up."
            )
        return Finding(
            "too-many-programs",
            f"{started} programs were started where {most} {'is' if most == 1 else 'are'} "
            f"enough. {why}",
        )

    return Ask(LAUNCHES, finds, "program", beside=True)


def by_hand(name: str) -> Ask:
    """The kernels do without this function of Triton's."""

    def finds(call: Call) -> Finding | None:
        if not any(name in language_names(fn) for fn in call.trial.watch.sources.values()):
            return None
        return Finding(
            "not-by-hand",
            f"The kernel uses `{name}` of Triton: this task asks for a way without it.",
        )

    return Ask(TEXT, finds, name, beside=True)


def tiles_of_at_most(rule: Rule, size: Callable[[Any], int] = math.prod) -> Ask:
    """No load or store of more elements than the rule gives. size: of a tile, from its shape; max
    where the rule is on a piece of a row, and a program may take several rows."""

    def finds(call: Call) -> Finding | None:
        widest = max((size((1, *each.shape)) for each in call.seen.accesses), default=0)
        most = call.due(rule)
        if widest <= most:
            return None
        return Finding(
            "tile-too-large",
            f"One load or store takes {widest} elements at once. This task asks for pieces "
            f"of at most {most}, one after the other.",
        )

    return Ask(METER, finds, "block|tiles? of|pieces? of", beside=True)


def shares_work(least: int = 200_000) -> Ask:
    """No program has most of a launch, two thirds. least: bytes that a launch asks for; a smaller
    one may be a single tile. A single row may be one program's, however often it is read."""

    def finds(call: Call) -> Finding | None:
        if call.trial.case.rows() == 1:
            return None
        for launch, accesses in call.seen.by_launch().items():
            asked: Counter[tuple[int, ...]] = Counter()
            for access in accesses:
                asked[access.program] += access.itemsize * access.active.size
            most, total = max(asked.values()), asked.total()
            if total < least or 3 * most <= 2 * total:
                continue
            kernel = call.seen.launches[launch].kernel
            return Finding(
                "unshared-work",
                f"The values are right, but of the {total:,} bytes that `{kernel}` asks for, one "
                f"program asks for {most:,}. It runs on one multiprocessor, while all others of "
                "the GPU wait. Start a program for each tile.",
            )
        return None

    return Ask(METER, finds, "program", beside=True)


def stores_once(says: str = _STORED_AGAIN) -> Ask:
    """No element is stored twice. says: the sentence for whoever does, with `{times}`."""

    def finds(call: Call) -> Finding | None:
        written = sum(tensor.written for tensor in call.traffic.tensors)
        distinct = sum(tensor.written_distinct for tensor in call.traffic.tensors)
        if written <= distinct:
            return None
        return Finding("property", says.format(times=written / distinct))

    return Ask(METER, finds)


def moves(rule: Callable[..., None]) -> Ask:
    """Asserts something of a call's `Traffic` (bytes, sectors, flops), which the rule gets before
    arguments and options."""

    def finds(call: Call) -> Finding | None:
        try:
            call.due(functools.partial(rule, call.traffic))
        except AssertionError as error:
            return Finding("slow", str(error))
        return None

    return Ask(METER, finds)


def offsets_of_64_bits(*names: str) -> Ask:
    """Offsets into these arguments have 64 bits."""

    def finds(call: Call) -> Finding | None:
        place = narrow_place(call.trial.case, call.seen, names)
        return Finding("int32-offset", _NARROW.format(place=place)) if place else None

    return Ask(METER, finds)


def multiplies_in_half(name: str, kernel: str) -> Ask:
    """Where this argument is in half precision, so are the tiles that a kernel multiplies; for
    calls whose other arguments are not, such as a state or gates."""

    def finds(call: Call) -> Finding | None:
        half = call.trial.values[name].dtype in (torch.float16, torch.bfloat16)
        launched = [each for each in call.seen.launches if half and each.kernel == kernel]
        return next((Finding(*each) for each in float32_products(launched)), None)

    return Ask(METER, finds, "dtype")


def exact_float32() -> Ask:
    """Products of float32 stay float32, judged from what is compiled: the interpreter knows no
    TF32."""

    def finds(made: Made) -> Finding | None:
        tensor_cores = any(kernel.tensor_cores for kernel in made.kernels)
        return _TF32 if all_float32(made.case) and tensor_cores else None

    return Ask(COMPILED, finds, "TF32")


def compiled(judge: Callable[[dict[str, tuple[Any, ...]]], None], *notes: str) -> Ask:
    """What the compiler must have made, for an A100, of the visible cases with these notes: an
    assertion on the kernels that each of them launched, `KernelFacts` by note."""
    return Ask(FACTS, judge, notes=notes)


def at_first(assertion: Callable[..., None]) -> Ask:
    """An assertion on the function that comes before all cases: none is tried where it fails."""
    return Ask(FIRST, assertion)


def on_hidden(assertion: Callable[..., None]) -> Ask:
    """An assertion on the function that comes after the hidden cases."""
    return Ask(HIDDEN, assertion)


def narrow_place(case: Case, seen: Any, names: tuple[str, ...] = ()) -> str:
    """Where an offset has 32 bits though a tensor (or one of these names) may be large; nothing
    where the case cannot tell."""
    layouts = set() if names else {spec.layout for spec in case.specs().values()}
    # elsewhere columns are far apart, and in a single row they lead through the tensor
    if seen is None or layouts - {"contiguous"} or case.rows() == 1:
        return ""
    from ..seeing.offsets import narrow_place as narrow

    return narrow(seen, names)


def own(trial: Trial) -> list[Launch]:
    """The launches of kernels that no library holds."""
    return [launch for launch in trial.watch.launches if not launch.from_library]


def is_empty(trial: Trial) -> bool:
    """Whether a case has no elements, so that a function may return without a launch."""
    return any(not value.numel() for value in trial.values.values())


def all_float32(case: Case) -> bool:
    """Whether all its floating tensors are: a table of int32 is not multiplied."""
    kinds = {spec.dtype or case.effective_dtype() for spec in case.specs().values()}
    return {kind for kind in kinds if DTYPES[kind].is_floating_point} == {"float32"}


def _started(call: Call) -> int:
    """Programs of the largest launch."""
    return max((launch.programs for launch in call.launched), default=0)


def _quotient_and_one(call: Call, most: int) -> str:
    """`n // size + 1`, as the function has it written, where `size` goes into a tensor without a
    rest, so many times."""
    if not inspect.isfunction(call.fn):
        return ""
    given = {name: each.default for name, each in inspect.signature(call.fn).parameters.items()}
    given |= call.trial.case.options
    numbers = {value.numel() for value in call.trial.values.values()}
    for node in ast.walk(parsed(call.fn)):
        match node:
            case ast.BinOp(ast.BinOp(_, ast.FloorDiv(), size), ast.Add(), ast.Constant(1)):
                known = given.get(size.id) if isinstance(size, ast.Name) else None
                each = size.value if isinstance(size, ast.Constant) else known
                if isinstance(each, int) and most * each in numbers:
                    return ast.unparse(node)
    return ""


def _option_without_effect(call: Call, rule: Rule, due: int) -> str:
    """Says which option of a call the grid should depend on and does not, if there is one."""
    case = call.trial.case
    for name in case.options:
        rest = {other: value for other, value in case.options.items() if other != name}
        less = replace(case, options=rest)
        if rule(*case.filled(call.trial.values), **rest) == due:
            continue
        again = call.other(less)
        same = [each.grid for each in own(again)] == [each.grid for each in call.launched]
        if again.error is None and same:
            return (
                f"`{name}` is not used for the grid: it is the same without it, "
                f"{count(_started(call), 'program')}, where {due} {'is' if due == 1 else 'are'} "
                "due."
            )
    return ""
