"""From where an error sits to what caused it: one sentence, never the test's code."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from .compare import Difference
from .report import Finding


@dataclass
class Evidence:
    """What the diagnosis may look at for one wrong result.

    The callables run further trials: `contiguous_is_right` is None when the case is contiguous
    already; `fill_matters` says whether other margins change the result.
    """

    difference: Difference
    kernels: dict[str, Callable[..., Any]]
    mistakes: list[tuple[str, str, torch.Tensor]]  # code, sentence, what that mistake would give
    contiguous_is_right: Callable[[], bool] | None
    fill_matters: Callable[[], bool]
    empty_grid: bool
    magnitude: float  # largest finite input
    unused_inputs: Callable[[], list[str]] = list  # what the result should depend on and does not


def has_open_gap(kernel: Callable[..., Any]) -> bool:
    """Whether the kernel, or a jitted function that it calls, still holds a gap's bare `pass`."""
    return any(_holds_pass(function) for function in (kernel, *_jitted_callees(kernel)))


def _holds_pass(function: Callable[..., Any]) -> bool:
    return any(isinstance(node, ast.Pass) for node in ast.walk(parsed(function)))


def _has_loop(kernel: Callable[..., Any]) -> bool:
    return any(
        isinstance(node, (ast.For, ast.While))
        for function in (kernel, *_jitted_callees(kernel))
        for node in ast.walk(parsed(function))
    )


def loads_without_other(kernels: Iterable[Callable[..., Any]]) -> list[str]:
    """The calls of `load` that have a mask and do not say what masked lanes hold, as written."""
    functions = [f for kernel in kernels for f in (kernel, *_jitted_callees(kernel))]
    calls = [
        node
        for function in functions
        for node in ast.walk(parsed(function))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "load"
    ]
    found = []
    for call in calls:
        named = {keyword.arg for keyword in call.keywords}
        masked = "mask" in named or len(call.args) > 1
        if masked and "other" not in named and len(call.args) < 3:
            found.append(ast.unparse(call))
    return list(dict.fromkeys(found))


def parsed(function: Callable[..., Any]) -> ast.AST:
    """The function's text as a tree; an empty one where there is no text."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return ast.Module([], [])


def _jitted_callees(kernel: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Functions under `@triton.jit` that the kernel's code names, as plain Python functions."""
    code, names = getattr(kernel, "__code__", None), getattr(kernel, "__globals__", {})
    # JITFunction and the interpreter's InterpretedFunction both keep the function as `fn`
    found = [getattr(names.get(name), "fn", None) for name in (code.co_names if code else ())]
    return [function for function in found if inspect.isfunction(function)]


def diagnose(evidence: Evidence) -> Finding:
    """Name the cause of a wrong result, most specific explanation first."""
    for rule in _RULES:
        finding = rule(evidence)
        if finding:
            return finding
    where = _where(evidence.difference.bad)
    advice = (
        "Work out the first element by hand." if where == "everywhere" else "All else is right."
    )
    return Finding("wrong-values", f"The values are wrong {where}. {advice}")


def first_bad(difference: Difference) -> str:
    """Index, value and expected value of the first wrong element."""
    spots = difference.bad.nonzero()
    index = tuple(int(i) for i in spots[0])
    shown = index[0] if len(index) == 1 else index
    got = float(difference.got[index])
    value = "never written" if bool(difference.unwritten[index]) else f"{got:.6g}"
    return f"first at [{shown}]: got {value}, expected {float(difference.expected[index]):.6g}"


def bad_strip(difference: Difference, parts: int = 32) -> list[float]:
    """Share of wrong elements in `parts` equal stretches of the flattened output."""
    flat = difference.bad.flatten().float()
    return [float(chunk.mean()) for chunk in flat.chunk(min(parts, flat.numel()))]


def _nothing_written(e: Evidence) -> Finding | None:
    if not bool(e.difference.unwritten.all()):
        return None
    if any(has_open_gap(kernel) for kernel in e.kernels.values()):
        return Finding("not-attempted", "The gap in the kernel is still open.")
    if e.empty_grid:
        return Finding(
            "unwritten-tail",
            "The grid has no program at all for this size. Round the number of programs up "
            "(`triton.cdiv`), not down.",
        )
    return Finding(
        "unwritten",
        "The kernel ran but wrote nothing to the output. Is there a `tl.store`, and is its mask "
        "ever true?",
    )


def _known_mistake(e: Evidence) -> Finding | None:
    """The known mistake whose result lies nearest, if one lies within a few tolerances."""
    difference = e.difference
    best: tuple[float, Finding | None] = (4.0, None)
    for code, sentence, value in e.mistakes:
        if value.shape != difference.got.shape:
            continue
        bound = difference.tolerance.bound(value) + 1e-300
        if bool(((difference.expected - value).abs() <= bound).all()):
            continue  # on this case the mistake makes no difference
        alike = (difference.got == value) | (difference.got.isnan() & value.isnan())
        error = torch.where(alike, 0.0, (difference.got - value).abs() / bound)
        distance = float(error.nan_to_num(nan=torch.inf).max())
        if distance < best[0]:
            best = (distance, Finding(code, sentence))
    return best[1]


def _strided_only(e: Evidence) -> Finding | None:
    if e.contiguous_is_right is None or not e.contiguous_is_right():
        return None
    return Finding(
        "strided-only",
        "Right on contiguous input, wrong when the tensor has gaps between its rows (or "
        "elements). Use the strides that the wrapper passes, one for each tensor.",
    )


def _partly_unwritten(e: Evidence) -> Finding | None:
    hole = e.difference.unwritten & e.difference.bad
    if not bool(hole.any()):
        return None
    flat = hole.flatten()
    start = int(flat.nonzero()[0])
    if bool(flat[start:].all()):
        return Finding("unwritten-tail", _tail(e, start, hole))
    if hole.ndim >= 2:
        columns = hole.reshape(-1, hole.shape[-1]).all(dim=0)
        if bool(columns.any()) and bool(columns[int(columns.nonzero()[0]) :].all()):
            first = int(columns.nonzero()[0])
            return Finding(
                "unwritten-tail",
                f"Column {first} and all columns after it were never written. "
                + (
                    "Does the loop over the row reach its end?"
                    if any(_has_loop(kernel) for kernel in e.kernels.values())
                    else "Does the row have enough programs, and does each one use its own number "
                    "for its columns?"
                ),
            )
    share = float(hole.float().mean())
    return Finding(
        "unwritten",
        f"{share:.0%} of the output was never written, in several places. Which tiles does no "
        "program take?",
    )


def _tail(e: Evidence, start: int, hole: torch.Tensor) -> str:
    if start == hole.numel() - 1:
        return "Only the last element was not written. Is the mask, or the range, one too short?"
    text = f"Nothing was written from element {_unravel(start, hole)} to the end. "
    if any(_has_loop(kernel) for kernel in e.kernels.values()):
        return text + (
            "Does the loop of each program take all of its tiles, and does the grid have enough "
            "programs (`triton.cdiv`)?"
        )
    return text + (
        "Does the grid have enough programs (`triton.cdiv`), does each one store to a place of its "
        "own, and does its mask let the whole tile through?"
    )


def _unravel(flat: int, like: torch.Tensor) -> str:
    index = [int(i) for i in torch.unravel_index(torch.tensor(flat), like.shape)]
    return str(index[0]) if len(index) == 1 else str(tuple(index))


def _outside(e: Evidence) -> Finding | None:
    if not e.fill_matters():
        return None
    return Finding(
        "reads-outside",
        "The result depends on memory outside the tensor. Some load has a wrong address, or takes "
        "lanes past the end: it needs `mask=`, and `other=` where masked lanes reach a sum or a "
        "maximum.",
    )


def _not_finite(e: Evidence) -> Finding | None:
    got, want = e.difference.got, e.difference.expected
    strange = e.difference.bad & ~got.isfinite() & want.isfinite()
    if not bool(strange.any()):
        return None
    # What an open gap leaves empty, another kernel of the page divides by.
    if any(has_open_gap(kernel) for kernel in e.kernels.values()):
        return Finding("not-attempted", "The gap in the kernel is still open.")
    kind = "NaN" if bool(got[strange].isnan().any()) else "infinity"
    if e.magnitude > 30:
        return Finding(
            "overflow",
            f"The result is {kind} where the inputs are large (up to {e.magnitude:.3g}). Some step "
            "overflows: an exponential, or a square in half precision. Compute in float32, and "
            "in a form where no infinity meets a zero or another infinity.",
        )
    return Finding(
        "nan",
        f"The result is {kind} where a number is expected, {_where(strange)}. What makes NaN: the "
        "root or logarithm of a negative number, 0 / 0, an infinity less another.",
    )


def _transposed(e: Evidence) -> Finding | None:
    got, want = e.difference.got, e.difference.expected
    if got.ndim < 2 or got.shape[-1] != got.shape[-2] or got.shape[-1] < 2:
        return None
    if bool(((got.transpose(-1, -2) - want).abs() <= e.difference.tolerance.bound(want)).all()):
        return Finding("transposed", "This is the transpose of the right result.")
    return None


def _constant_factor(e: Evidence) -> Finding | None:
    got, want = e.difference.got.flatten(), e.difference.expected.flatten()
    usable = got.isfinite() & want.isfinite() & (want.abs() > 1e-3 * want.abs().max())
    if int(usable.sum()) < 8:
        return None
    ratio = got[usable] / want[usable]
    factor = float(ratio.median())
    if abs(factor - 1) < 1e-3 or factor == 0 or float((ratio / factor - 1).abs().max()) > 1e-3:
        return None
    return Finding(
        "constant-factor",
        f"Every element is {factor:.6g} times the right value. Which constant is missing or "
        "counted twice?",
    )


def _zeros(e: Evidence) -> Finding | None:
    got, bad = e.difference.got, e.difference.bad
    if int(bad.sum()) < 4 or not bool((got[bad] == 0).all()):
        return None
    return Finding(
        "zeros",
        f"The result is 0 {_where(bad)}, where it should not be. Was nothing added up, is a factor "
        "0, or does an exponential underflow?",
    )


def _factor_of_a_row(e: Evidence) -> Finding | None:
    """Each row, or each column, is right up to a factor or a summand of its own."""
    got, want = e.difference.got, e.difference.expected
    if got.ndim < 2 or not bool(got.isfinite().all() and want.isfinite().all()):
        return None
    got, want = got.reshape(-1, got.shape[-1]), want.reshape(-1, want.shape[-1])
    for dim, one, cause in (
        (1, "row", "what the row has as a whole (its sum, mean or maximum)"),
        (0, "column", "what the column has as a whole (its weight or bias)"),
    ):
        if got.shape[dim] < 4 or got.shape[1 - dim] < 2:
            continue
        large = want.abs() > 1e-2 * want.abs().amax(dim=dim, keepdim=True)
        factor = torch.where(large, got / want, torch.nan).nanmedian(dim=dim, keepdim=True).values
        summand = (got - want).median(dim=dim, keepdim=True).values
        if bool((factor != 0).all()) and _explains(got / factor, got, want):
            how = f"a factor of its own (in {one} 0: {float(factor.flatten()[0]):.4g})"
        elif _explains(got - summand, got, want):
            how = f"a summand of its own (in {one} 0: {float(summand.flatten()[0]):.4g})"
        else:
            continue
        return Finding(
            f"off-by-{one}", f"Each {one} is right up to {how}: look at {cause}, not at the rest."
        )
    return None


def _explains(mended: torch.Tensor, got: torch.Tensor, want: torch.Tensor) -> bool:
    """Whether the mend takes away nearly all of the error, not only what rounding leaves of it."""
    return float((mended - want).abs().max()) <= 0.02 * float((got - want).abs().max())


def _unused(e: Evidence) -> Finding | None:
    names = [f"`{name}`" for name in e.unused_inputs()]
    if not names:
        return None
    which, it = " and ".join(names), "holds" if len(names) == 1 else "hold"
    return Finding("unused-input", f"The result is the same whatever {which} {it}.")


def _moved(e: Evidence) -> Finding | None:
    """Every row is right, for another row."""
    got, want = e.difference.got, e.difference.expected
    if got.ndim < 2 or got.shape[-1] < 2 or not 2 <= (rows := got[..., 0].numel()) <= 64:
        return None
    got, want = got.reshape(rows, -1), want.reshape(rows, -1)
    bound = e.difference.tolerance.bound(e.difference.expected).reshape(rows, -1)
    alike = ((got[:, None] - want[None]).abs() <= bound[None]).all(dim=2)
    if not bool(alike.any(dim=1).all()) or bool(alike.diagonal().all()):
        return None
    home = [int(each.nonzero()[0]) for each in alike]
    row = next(i for i in range(rows) if not bool(alike[i, i]))
    if len(set(home)) == 1:
        text = f"Every row holds the result of row {home[0]}."
    else:
        text = f"Each row is the right result of some row: row {row} holds that of row {home[row]}."
    code = "rows-after-first" if set(home) == {0} else "rows-moved"
    return Finding(code, f"{text} Look at how the row gets into the address.")


def _where(bad: torch.Tensor) -> str:
    """Where the wrong elements lie: what is certain without a cause."""
    if bool(bad.all()):
        return "everywhere"
    named = {1: ("element",), 2: ("row", "column")}.get(bad.ndim)
    names = named or [f"index of dimension {d}" for d in range(bad.ndim)]
    parts = []
    for d, name in enumerate(names):
        hit = bad.transpose(0, d).flatten(1).any(dim=1) if bad.ndim > 1 else bad
        if not bool(hit.all()):
            parts.append(f"{name} {_some(hit)} of {hit.numel()}")
    share = f"in {int(bad.sum())} of {bad.numel()} elements"
    return f"{share} ({', '.join(parts)})" if parts else share


def _some(hit: torch.Tensor) -> str:
    """`3`, `0, 2, 5` or `4 to 9`."""
    places = [int(i) for i in hit.nonzero()]
    if len(places) > 2 and places[-1] - places[0] == len(places) - 1:
        return f"{places[0]} to {places[-1]}"
    return ", ".join(map(str, places[:6])) + (", ..." if len(places) > 6 else "")


def _location(e: Evidence) -> Finding | None:
    bad = e.difference.bad
    if bad.ndim >= 2 and bad.shape[0] > 1:
        rows = bad.reshape(-1, bad.shape[-1]).any(dim=1)
        if not bool(rows[0]) and bool(rows[1:].float().mean() > 0.9):
            return Finding(
                "rows-after-first",
                "The first row is right, the rows after it are wrong. Does the row's address "
                "use the row number times the row stride?",
            )
        columns = bad.reshape(-1, bad.shape[-1]).any(dim=0)
        first = int(columns.nonzero()[0])
        if first > 0 and first >= bad.shape[-1] // 4 and bool(columns[first:].float().mean() > 0.9):
            return Finding(
                "wrong-tail",
                f"Right up to column {first}, wrong from there to the end of each row: look at "
                "the last tile of a row.",
            )
    flat = bad.flatten()
    first = int(flat.nonzero()[0])
    if first > 0 and first >= flat.numel() // 4 and bool(flat[first:].float().mean() > 0.9):
        return Finding(
            "wrong-tail",
            f"Right up to element {_unravel(first, bad)}, wrong from there to the end: look at "
            "the last tile.",
        )
    return None


_RULES = (
    _nothing_written,
    _known_mistake,
    _strided_only,
    _partly_unwritten,
    _outside,
    _not_finite,
    _transposed,
    _zeros,
    _constant_factor,
    _factor_of_a_row,
    _moved,
    _unused,
    _location,
)
