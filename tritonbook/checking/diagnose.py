"""From where an error sits to what caused it: one sentence, never the test's code."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from ..language.meanings import kernel_function
from ..words import later
from .compare import Difference
from .places import AXES, cell, hit_along, where
from .report import Finding

HALF = torch.finfo(torch.bfloat16).eps  # what is this near may be rounded to half precision


@dataclass
class Evidence:
    """What the diagnosis may look at for one wrong result.

    The callables run further trials: `known_mistake` finds one that gives these results;
    `contiguous_is_right` says whether the case is when its tensors are contiguous, which they are
    not; `fill_matters` whether other margins change the result; `wider_is_right` whether one more
    program along each axis of the grid makes all wrong cases right; `first_for_all` names an input
    of which each lane seems to have got the first number; `differs_again` whether the same
    arguments give another result in another call; `untuned_is_right` whether it is right where a
    tuner, which tried configs, tries none.
    """

    difference: Difference
    kernels: dict[str, Callable[..., Any]] = field(default_factory=dict)
    known_mistake: Callable[[], Finding | None] = lambda: None
    own_nan: str = ""  # where a page says to look if a result is NaN for no known reason
    contiguous_is_right: Callable[[], bool] = lambda: False
    fill_matters: Callable[[], bool] = lambda: False
    empty_grid: bool = False
    magnitude: float = 0.0  # largest finite input
    unused_inputs: Callable[[], list[str]] = list  # what the result should depend on and does not
    undue_inputs: Callable[[], list[str]] = list  # what it depends on and should not
    inputs: dict[str, torch.Tensor] = field(default_factory=dict)  # float64
    wider_is_right: Callable[[], bool] = lambda: False
    first_for_all: Callable[[], str] = str
    differs_again: Callable[[], bool] = lambda: False
    untuned_is_right: Callable[[], bool] = lambda: False


def still_open(name: str, detail: str = "") -> Finding:
    """name: of the function whose gap it is, which may belong to an earlier task. detail: of the
    error that came of it; else its line tells."""
    line = "" if detail else ": its line `pass` is still there"
    return Finding("not-attempted", f"The gap in `{name}` is still open{line}.", detail)


def open_gap(kernels: Iterable[Callable[..., Any]]) -> Finding | None:
    """Says which kernel, or jitted function that one calls, holds a gap's bare `pass`. One that is
    left below lines of the learner's is none."""
    for function in _with_callees(kernels):
        left = "# YOUR CODE HERE" not in _text(function) and _has_a_bare_pass(parsed(function))
        if left or _as_the_page_left(function):
            return still_open(function.__name__)
    return None


def _has_a_bare_pass(tree: ast.AST) -> bool:
    """A loop that waits for a flag has nothing else to do: that `pass` is no gap."""
    nodes = list(ast.walk(tree))
    waiting = {id(node.body[0]) for node in nodes if isinstance(node, ast.While)}
    return any(isinstance(node, ast.Pass) and id(node) not in waiting for node in nodes)


def gap_left(kernels: Iterable[Callable[..., Any]]) -> str:
    """The kernel, or jitted function that one calls, that holds a gap as the page left it, or
    `...` in its place; else an empty name."""
    for function in _with_callees(kernels):
        if _as_the_page_left(function) or any(map(_is_ellipsis, ast.walk(parsed(function)))):
            return function.__name__
    return ""


def _as_the_page_left(function: Callable[..., Any]) -> bool:
    return bool(re.search(r"# YOUR CODE HERE\s+(pass|\.\.\.)\s", f"{_text(function)}\n"))


def _is_ellipsis(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and value.value is Ellipsis


def _stores_in_a_loop(kernels: Iterable[Callable[..., Any]]) -> bool:
    functions = _with_callees(kernels)
    storing = {f.__name__ for f in functions if ".store(" in _text(f)} | {"store"}
    loops = [node for node in _nodes(kernels) if isinstance(node, (ast.For, ast.While))]
    return any(_called(part) in storing for loop in loops for part in ast.walk(loop))


def _loops_without_store(kernels: Iterable[Callable[..., Any]]) -> bool:
    """Whether there is a loop, and none around a store."""
    loops = any(isinstance(node, ast.For) for node in _nodes(kernels))
    return loops and not _stores_in_a_loop(kernels)


def loads_without_other(kernels: Iterable[Callable[..., Any]]) -> list[str]:
    """The calls of `load` that have a mask, or check a block's bounds, and do not say what the
    lanes beyond hold, as written."""
    found = []
    for call in _nodes(kernels):
        if not (isinstance(call, ast.Call) and _called(call) == "load"):
            continue
        named = {keyword.arg for keyword in call.keywords}
        masked = named & {"mask", "boundary_check"} or len(call.args) > 1
        if masked and not named & {"other", "padding_option"} and len(call.args) < 3:
            found.append(ast.unparse(call))
    return list(dict.fromkeys(found))


def _nodes(kernels: Iterable[Callable[..., Any]]) -> Iterator[ast.AST]:
    """All that stands in the text of the kernels and of what they call."""
    return (node for function in _with_callees(kernels) for node in ast.walk(parsed(function)))


def _called(node: ast.AST) -> str:
    """The last name of what is called; nothing where `node` is no call."""
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def parsed(function: Callable[..., Any]) -> ast.AST:
    """The function's text as a tree; an empty one where there is no text."""
    try:
        return ast.parse(_text(function))
    except SyntaxError:
        return ast.Module([], [])


def _text(function: Callable[..., Any]) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except OSError:
        return ""


def _with_callees(kernels: Iterable[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """The kernels and all functions under `@triton.jit` that they call, or that those call."""
    found = list(dict.fromkeys(kernels))
    for function in found:  # grows meanwhile
        named = [function.__globals__.get(name) for name in function.__code__.co_names]
        callees = filter(None, map(kernel_function, named))
        found += [each for each in callees if each not in found]
    return found


def diagnose(evidence: Evidence) -> Finding:
    """Name the cause of a wrong result, most specific explanation first."""
    found = next((found for rule in _RULES if (found := rule(evidence))), None)
    if found is not None:
        return found
    place = where(evidence.difference.bad)
    more = " Work out the first element by hand." if place == "everywhere" else ""
    return Finding("wrong-values", f"The values are wrong {place}.{more}")


def _nothing_written(e: Evidence) -> Finding | None:
    if not e.difference.untouched:
        return None
    if found := open_gap(e.kernels.values()):
        return found
    if e.empty_grid:
        return Finding(
            "unwritten-tail",
            "The grid has no program at all for this size. Is their number rounded down? "
            "`triton.cdiv` rounds up.",
        )
    # What is changed where it lies, and is as it was, may be so by a mistake of values. The code
    # stays: of what was never written the meter may say more.
    in_place = not bool(e.difference.unwritten.any())
    known = e.known_mistake() if in_place else None
    return Finding(
        "unwritten",
        known.sentence
        if known
        else "The kernel ran, and the result holds what it held before. Is there a store to its "
        "place, of new values, and does its mask, if it has one, ever let a lane through?",
    )


def _known_mistake(e: Evidence) -> Finding | None:
    return e.known_mistake()


def _half_digits(e: Evidence) -> Finding | None:
    """A float32 result that is right to the digits of half precision, and has no others."""
    got, want = e.difference.got, e.difference.expected
    if e.difference.dtype != torch.float32 or not bool(got.isfinite().all()):
        return None
    for half, name in ((torch.bfloat16, "bfloat16"), (torch.float16, "float16")):
        digits = got.to(half).double() == got
        near = (got - want).abs() <= 2 * torch.finfo(half).eps * want.abs() + 1e-6
        if int(got.count_nonzero()) >= 8 and bool((digits & near).all()):
            return Finding(
                "half-digits",
                f"The result has only numbers of {name}, which has fewer digits than float32: what "
                "is stored was rounded to it.",
            )
    return None


def _digits_lost(e: Evidence) -> Finding | None:
    """All errors are of the size of half precision's, away from zero and towards it. Rounding hits
    whom it hits: its rows, and the sizes of its numbers, say nothing."""
    d = e.difference
    error, want = d.got - d.expected, d.expected.abs()
    if not bool((error.abs() <= HALF * (want + want.square().mean().sqrt())).all()):
        return None
    ups = (error * d.expected.sign())[error.abs() > error.abs().max() / 16] > 0
    if ups.numel() < 4 or not 0.1 < float(ups.double().mean()) < 0.9:
        return None
    said = (
        f"The values are wrong {where(d.bad)}. The errors are small, and go up as well as down: "
        "are digits lost on the way, by a cast to a dtype that has fewer, a constant cut short, a "
        "difference of large numbers?"
    )
    if any(_called(node) == "dot" for node in _nodes(e.kernels.values())):
        said += " Of float32 tiles `tl.dot` may make a product in TF32, which has fewer digits."
    return Finding("wrong-values", said)


def _bits_lost(e: Evidence) -> Finding | None:
    """A task that only moves numbers, and all come near: something is computed on the way."""
    got, want, bad = e.difference.got, e.difference.expected, e.difference.bad
    moved = e.difference.tolerance is not None and e.difference.tolerance.bits
    if not moved or bool((e.difference.unwritten & bad).any()):
        return None
    near = (got - want).abs() <= 1e-2 * want.abs()
    if not bool((near | (got == want) | (got.isnan() & want.isnan())).all()):
        return None
    return Finding(
        "other-bits",
        f"The numbers come near, and their bits differ {where(bad)}. This task moves numbers, bit "
        "by bit: store what was loaded. A product, a sum (-0.0 + 0 is 0.0) or a conversion on the "
        "way changes some.",
    )


def _strided_only(e: Evidence) -> Finding | None:
    if not e.contiguous_is_right():
        return None
    return Finding(
        "strided-only",
        "Right on contiguous input, wrong when the tensor has gaps between its rows (or "
        "elements). Does each address use the strides that the wrapper passes for its tensor, each "
        "with its own index, and are the indices right?",
    )


def _partly_unwritten(e: Evidence) -> Finding | None:
    hole = e.difference.unwritten & e.difference.bad
    if not bool(hole.any()):
        return None
    if e.wider_is_right():
        return Finding(
            "unwritten-tail",
            "The grid has too few programs: with one more the result is right. Is their number "
            "rounded down (`triton.cdiv` rounds up), or is the size of one too small?",
        )
    flat = hole.flatten()
    start = int(flat.nonzero()[0])
    if start == hole.numel() - 1:
        what = "Only the last element was not written. Is the mask, or the range, one too short?"
        return Finding("unwritten-tail", what)
    if start == 0 and int(hole.sum()) == 1:
        what = (
            "Only the first element was not written. Do the offsets, or the mask, begin at 1? The "
            "first is 0."
        )
        return Finding("unwritten", what)
    loop = " or the loop around the store" if _stores_in_a_loop(e.kernels.values()) else ""
    look = (
        f"Either the grid{loop} ends before them, or the store's offsets miss them, or its mask "
        "shuts them out."
    )
    if bool(flat[start:].all()):
        what = f"Nothing was written from element {cell(start, hole)} to the end."
        return Finding("unwritten-tail", f"{what} {look}")
    if hole.ndim >= 2:
        columns = hole.reshape(-1, hole.shape[-1]).all(dim=0)
        if bool(columns.any()) and bool(columns[int(columns.nonzero()[0]) :].all()):
            first = int(columns.nonzero()[0])
            what = f"Column {first} and all columns after it were never written."
            return Finding("unwritten-tail", f"{what} {look}")
    missed = hole.reshape(-1, hole.shape[-1]).any(dim=0)
    if bool(missed[0]) and not bool(missed[-1]) and _loops_without_store(e.kernels.values()):
        look = (
            "Either the grid ends before them, or the store's offsets miss them, or its mask shuts "
            "them out, or the store stands behind its loop and runs for the last tile alone."
        )
    return Finding("unwritten", f"Part of the output was never written: {where(hole)}. {look}")


def _outside(e: Evidence) -> Finding | None:
    if not e.fill_matters():
        return None
    return Finding(
        "reads-outside",
        "The result depends on memory outside the tensor: some load takes lanes that have no "
        "element. Either its mask lets them through or is missing (and `other=`, where they reach "
        "a sum or a maximum), or its address is off.",
    )


def _not_finite(e: Evidence) -> Finding | None:
    got, want = e.difference.got, e.difference.expected
    strange = e.difference.bad & ~got.isfinite() & want.isfinite()
    if not bool(strange.any()):
        return None
    # What an open gap leaves empty, another kernel of the page divides by.
    if found := open_gap(e.kernels.values()):
        return found
    isnan = bool(got[strange].isnan().any())
    kind = "NaN" if isnan else later("infinity")
    if e.magnitude > 30:
        sums = any(_called(node) == "sum" for node in _nodes(e.kernels.values()))
        softmax = " In a softmax, subtract the row's largest number." if sums else ""
        return Finding(
            "overflow",
            f"The result is {kind} where the inputs are large (up to {e.magnitude:.3g}). Some step "
            "leaves the range of its numbers: a square or an exponential becomes infinite, or "
            "exponentials that are all 0 divide. Compute in float32, in a form where no infinity "
            f"meets a zero or another infinity.{softmax}",
        )
    if isnan:
        makes = e.own_nan or (
            "What makes NaN: the root or logarithm of a negative number, 0 / 0, an infinity less "
            "another or times 0."
        )
    elif bool(want.isinf().any()):
        makes = "Infinities belong elsewhere in this result: did one get to the wrong place?"
    else:
        makes = (
            "What makes infinity: a division by 0, the logarithm of 0, an exponential or a "
            "product that overflows."
        )
    return Finding(
        "nan", f"The result is {kind} where a number is expected, {where(strange)}. {makes}"
    )


def _nan_lost(e: Evidence) -> Finding | None:
    got, want, bad = e.difference.got, e.difference.expected, e.difference.bad
    if not bool(bad.any()) or not bool((want[bad].isnan() & ~got[bad].isnan()).all()):
        return None
    return Finding(
        "nan-lost",
        f"The result is a number where NaN is due, {where(bad)}: a NaN in an input was lost. Of "
        "NaN and a number `tl.maximum`, `tl.minimum` and `tl.clamp` take the number, and a "
        "comparison with NaN is false, so `tl.where` takes its last argument.",
    )


def _transposed(e: Evidence) -> Finding | None:
    got, want = e.difference.got, e.difference.expected
    if got.ndim < 2 or got.shape[-1] != got.shape[-2] or got.shape[-1] < 2:
        return None
    if bool(((got.transpose(-1, -2) - want).abs() <= e.difference.tolerance.bound(want)).all()):
        return Finding("transposed", "This is the transpose of the right result.")
    return None


def _zeros(e: Evidence) -> Finding | None:
    got, bad = e.difference.got, e.difference.bad
    if int(bad.sum()) < 4 or not bool((got[bad] == 0).all()):
        return None
    if found := open_gap(e.kernels.values()):
        return found
    return Finding(
        "zeros",
        f"The result is 0 {where(bad)}, where it should not be. What makes 0: a mask that "
        "lets nothing in, a place outside a descriptor's tensor, a sum to which nothing was added, "
        "a factor 0, the other branch of a `tl.where`, an exponential that underflows.",
    )


def _but_for_one_thing(e: Evidence) -> Finding | None:
    """Right up to one factor or summand, up to an input, or up to what each row or column has."""
    got, want = e.difference.got, e.difference.expected
    if got.numel() < 8 or not bool(got.isfinite().all() and want.isfinite().all()):
        return None
    return _constant(e.difference) or _of_an_input(e) or _of_rows(e)


def _constant(difference: Difference) -> Finding | None:
    found = _up_to(difference, (1, -1), 1)
    if found and found[0] == "factor":
        lone = difference.got.numel() == difference.got.shape[-1]  # a row's sum is a constant here
        which = "constant (or sum or maximum of the whole row)" if lone else later("constant")
        why = f"Which {which} is missing or counted twice?"
        if abs(found[1] - 1) < HALF:
            why = (
                "So near 1, it is hardly a missing constant: was a number that all share (a sum, a "
                "norm, a factor) rounded to half precision, or is a small one (an `eps`) left out?"
            )
        return Finding(
            "constant-factor", f"Every element is {found[1]:.6g} times the right value. {why}"
        )
    if found:
        return Finding(
            "constant-summand",
            f"Every element is {abs(found[1]):.6g} too {'large' if found[1] > 0 else 'small'}. "
            "Where does that come in?",
        )
    return None


def _of_an_input(e: Evidence) -> Finding | None:
    """What is wrong is one of the inputs: left out, or added or multiplied once too often."""
    got, want = e.difference.got, e.difference.expected
    for name, values in e.inputs.items():
        x = _like(values, got)
        if x is None:
            continue
        large = x.abs() > 1e-3 * x.abs().max()
        times = float(((got - want)[large] / x[large]).median())
        # Nobody would write the others.
        if 0.01 < abs(times) < 100 and _explains(e.difference, got - times * x):
            return Finding(
                "off-by-an-input",
                f"What comes out is the right result {'plus' if times > 0 else 'less'} "
                f"{abs(times):.4g} times `{name}`.",
            )
        if _explains(e.difference, torch.where(large, got / x, want)):
            return Finding("off-by-an-input", f"What comes out is the right result times `{name}`.")
    return None


def _like(values: torch.Tensor, got: torch.Tensor) -> torch.Tensor | None:
    """An input spread over the result's shape; None where that cannot be, or shows nothing."""
    finite = values.numel() > 1 and bool(values.isfinite().all())
    if not finite or bool((values == values.flatten()[0]).all()):
        return None
    fits = values.ndim <= got.ndim and values.shape == got.shape[got.ndim - values.ndim :]
    return values.expand(got.shape) if fits else None


def _of_rows(e: Evidence) -> Finding | None:
    """Each row, or each column, is right up to a factor or a summand of its own; or it is, before
    an input of one row (a bias) was added."""
    if found := _by_rows(e.difference, later("Each")):
        return found
    got, want = e.difference.got, e.difference.expected
    for name, values in e.inputs.items():
        x = _like(values, got) if values.ndim == 1 else None
        bare = x is not None and replace(e.difference, got=got - x, expected=want - x)
        if bare and (found := _by_rows(bare, f"But for `{name}`, each")):
            return found
    return None


def _by_rows(difference: Difference, each: str) -> Finding | None:
    rows = (-1, difference.got.shape[-1])
    for dim, one, code, cause in (
        (1, "row", "off-by-row", "what the row has as a whole (its sum, mean or maximum)"),
        (0, "column", "off-by-column", "what the column has as a whole (its weight or bias)"),
    ):
        size = difference.got.reshape(rows).shape
        found = _up_to(difference, rows, dim) if size[dim] >= 4 and size[1 - dim] >= 2 else None
        if found:
            how = f"a {found[0]} of its own (in {one} 0: {found[1]:.6g})"
            said = f"{each} {one} is right up to {how}: look at {cause}, not at the rest."
            return Finding(code, said)
    return None


def _up_to(difference: Difference, shape: tuple[int, int], dim: int) -> tuple[str, float] | None:
    """The "factor" or "summand" up to which all is right along a dimension, and its first value."""
    got, want = difference.got.reshape(shape), difference.expected.reshape(shape)
    large = want.abs() > 1e-2 * want.abs().amax(dim=dim, keepdim=True)
    factor = torch.where(large, got / want, torch.nan).nanmedian(dim=dim, keepdim=True).values
    summand = (got - want).median(dim=dim, keepdim=True).values
    for kind, number, mended in (
        (later("factor"), factor, got / factor),
        (later("summand"), summand, got - summand),
    ):
        if _explains(difference, mended.reshape(difference.got.shape)):
            return kind, float(number.flatten()[0])
    return None


def _explains(difference: Difference, mended: torch.Tensor) -> bool:
    """Whether the mend takes away nearly all of the error, and comes near the right values. What
    rounding leaves does not count, if the error is far above it."""
    got, want = difference.got, difference.expected
    error = min(float((got - want).abs().max()), float(want.abs().max()))
    bound = difference.tolerance.bound(want)
    if 10 * float(bound.max()) > error:
        bound = torch.zeros_like(bound)
    left = ((mended - want).abs() - bound).clamp_min(0)
    return float(left.max()) <= 0.02 * error


def _other_each_time(e: Evidence) -> Finding | None:
    if not e.differs_again():
        return None
    return Finding(
        "not-repeatable",
        "The same arguments give another result in each call. What gets into it that is no "
        "argument: an address, a random number of the host's, a counter that outlives the call, "
        "or, on a GPU, the order in which programs run?",
    )


def _first_for_all(e: Evidence) -> Finding | None:
    if int(e.difference.bad.sum()) < 4 or not (name := e.first_for_all()):
        return None
    return Finding(
        "first-for-all",
        f"Every lane got the first number of `{name}`. Are the offsets in the address of its load?",
    )


def _unused(e: Evidence) -> Finding | None:
    names = e.unused_inputs()
    if not names:
        return None
    which = " and ".join(f"`{name}`" for name in names)
    one, several = ("holds", "hold") if set(names) <= set(e.inputs) else ("is", "are")
    it = one if len(names) == 1 else several
    return Finding("unused-input", f"The result is the same whatever {which} {it}.")


def _undue(e: Evidence) -> Finding | None:
    names = e.undue_inputs()
    if not names:
        return None
    which = " and ".join(f"`{name}`" for name in names)
    return Finding(
        "undue-input",
        f"The result changes with {which}, and here it must not. Where does that get into it?",
    )


def _changed_by_tries(e: Evidence) -> Finding | None:
    if not e.untuned_is_right():
        return None
    return Finding(
        "changed-by-tries",
        "The result is right where `@triton.autotune` tries nothing. Each config that it tries "
        "runs on the tensors of the call and changes them: name those in `restore_value=`.",
    )


def _moved(e: Evidence) -> Finding | None:
    """Every row is right, for another row; or those that exist are, for the row twice as far."""
    got, want = e.difference.got, e.difference.expected
    if got.ndim < 2 or got.shape[-1] < 2 or not 2 <= (rows := got[..., 0].numel()) <= 64:
        return None
    got, want = got.reshape(rows, -1), want.reshape(rows, -1)
    bound = e.difference.tolerance.bound(e.difference.expected).reshape(rows, -1)
    alike = ((got[:, None] - want[None]).abs() <= bound[None]).all(dim=2)
    if bool(alike.diagonal().all()):
        return None
    half = range(-(-rows // 2))
    if rows >= 5 and not bool(alike[1, 1]) and all(bool(alike[m, 2 * m]) for m in half):
        return Finding(
            "row-added-twice",
            "Row 1 holds the result of row 2, row 2 that of row 4: the row's number gets into the "
            "address twice.",
        )
    # Rows that are alike, as normalised pairs, tell nothing of whose result it is.
    if not bool((alike[~alike.diagonal()].sum(dim=1) == 1).all()):
        return None
    home = [int(each.nonzero()[0]) for each in alike]
    row = next(i for i in range(rows) if not bool(alike[i, i]))
    if len(set(home)) == 1:
        text = f"Every row holds the result of row {home[0]}."
    else:
        text = f"Each row is the right result of some row: row {row} holds that of row {home[row]}."
    code = "rows-after-first" if set(home) == {0} else "rows-moved"
    return Finding(code, f"{text} Look at how the row gets into the address.")


def _by_value(e: Evidence) -> Finding | None:
    """Right where an input is small, or on one side of a number, and wrong elsewhere."""
    bad = e.difference.bad
    if int((~bad).sum()) < 4 or int(bad.sum()) < 4:
        return None
    for name, values in e.inputs.items():
        x = _like(values, e.difference.got)
        if x is None:
            continue
        for what, measure in ((f"`{name}`", x), (f"the size of `{name}`", x.abs())):
            right, wrong = measure[~bad], measure[bad]
            if float(right.max()) < float(wrong.min()):
                side = f"below {float(wrong.min()):.3g}, wrong from there on"
            elif float(right.min()) > float(wrong.max()):
                side = f"above {float(wrong.max()):.3g}, wrong up to there"
            else:
                continue
            return Finding("wrong-by-value", f"The values are right where {what} is {side}.")
    return None


def _location(e: Evidence) -> Finding | None:
    """Right at first and wrong from some place on, along one dimension."""
    bad = e.difference.bad
    for d, name in enumerate(AXES.get(bad.ndim, ())):
        hit = hit_along(bad, d)
        first = int(hit.nonzero()[0])
        if not first or not bool(hit[first:].float().mean() > 0.9):
            continue
        if name == "row" and first == 1:
            return Finding(
                "rows-after-first",
                "Row 0 is right, the rows after it are wrong: look at what the row's number does, "
                "in an address first of all.",
            )
        if first >= bad.shape[d] // 4:
            return Finding("wrong-tail", f"Right before {name} {first}, wrong from there on.")
    return None


_RULES = (
    _nothing_written,
    _known_mistake,
    _changed_by_tries,
    _bits_lost,
    _half_digits,
    _strided_only,
    _partly_unwritten,
    _moved,
    _outside,
    _not_finite,
    _nan_lost,
    _transposed,
    _zeros,
    _first_for_all,
    _other_each_time,
    _unused,
    _undue,
    _but_for_one_thing,
    _digits_lost,
    _location,
    _by_value,
)
