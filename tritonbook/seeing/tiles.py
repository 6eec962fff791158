"""`show_tiles` and `traffic`: interpret a function's kernels and show what they touch."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from ..export.values import ExportError
from ..limits import WORK, CheckTimeout, interruptible, said_of_timeout, time_limit
from ..port import device
from ..port.compat import causes
from ..words import language, later, say, titled
from .arguments import request
from .findings import find
from .ledger import ledger
from .memory import RoomyAllocations, roomy
from .meter import Meter, meter
from .process import WorkerError, worker
from .record import Record
from .svg import Picture
from .tile_picture import draw
from .traffic import TensorTraffic, Traffic, summary

SECONDS = 20.0  # that a call may take, as in a check


class CannotShow(Exception):
    """The function cannot be watched. The text says why."""

    def _render_traceback_(self) -> list[str]:
        return [f"CannotShow: {say(str(self))}"]


def show_tiles(
    fn: Callable[..., Any],
    *args: Any,
    tensors: Iterable[str] | None = None,
    **options: Any,
) -> Picture:
    """Draw which program loads and stores which cells when `fn(*args, **options)` runs.

    Uses Triton's interpreter, on copies: keep the tensors small. tensors: names of those to draw
    (default: all). Shows masked lanes, lanes outside a tensor, cells stored by several programs,
    bytes moved. Raises CannotShow when no kernel runs or the function fails.
    """
    wanted = None if tensors is None else list(tensors)
    title = getattr(fn, "__name__", "kernel").replace("<lambda>", "this call")
    if not device.INTERPRET:
        answer = _elsewhere(
            fn, args, options, {"title": title, "tensors": wanted, "lang": language()}
        )
        return Picture(answer["svg"], answer["text"])
    return picture(watch(fn, args, options), title, wanted)


def traffic(fn: Callable[..., Any], *args: Any, **options: Any) -> Traffic:
    """Count the bytes that the kernels of `fn(*args, **options)` read and write, per tensor.

    Uses Triton's interpreter, on copies. Raises CannotShow when no kernel runs or `fn` fails.
    """
    if not device.INTERPRET:
        answer = _elsewhere(fn, args, options, {})["traffic"]
        rows = tuple(TensorTraffic(**row) for row in answer.pop("tensors"))
        found = tuple((code, sentence) for code, sentence in answer.pop("findings"))
        return Traffic(tensors=rows, findings=found, **answer)
    return summary(watch(fn, args, options, patience=4.0))  # its tensors need not be small


def picture(seen: Record, title: str, wanted: list[str] | None = None) -> Picture:
    """Draw what a meter saw: one section for each kind of launch, at most three."""
    kinds: dict[tuple, int] = {}
    for number, launch in enumerate(seen.launches):
        kinds[launch.kernel, launch.grid] = number
    sections = []
    for number in list(kinds.values())[:3]:
        launch = seen.launches[number]
        part = ledger(seen, number)
        if wanted is not None:
            part.uses = [use for use in part.uses if use.region.name in wanted]
        grid = tuple(launch.grid[: launch.rank])
        count = len(part.programs)
        head = later("{count} program of {kernel}, grid {grid}")
        if count != 1:
            head = later("{count} programs of {kernel}, grid {grid}")
        sections.append((say(head, count=f"{count:,}", kernel=launch.kernel, grid=grid), part))
    note = say(f"{len(kinds) - 3} more kernels are not drawn.") if len(kinds) > 3 else ""
    if len(seen.launches) > len(kinds):
        note += " " + say(f"The call made {len(seen.launches)} launches.")
    several = say("{number} kernels", number=len(kinds))
    drawn = sections[0][0] if len(sections) == 1 else several
    return draw(titled(title, drawn), sections, [said for _, said in find(seen)], note.strip())


def watch(
    fn: Callable[..., Any], args: Iterable[Any], options: dict[str, Any], patience: float = 1.0
) -> Meter:
    """Run `fn` under the meter on roomy copies of its tensors, for no longer than a check would;
    patience: so many times as long."""
    args = list(args)
    names = _argument_names(fn, args)
    copies = [roomy(value) if isinstance(value, torch.Tensor) else value for value in args]
    options = {k: roomy(v) if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    known = {name: value for name, value in zip(names, copies, strict=True)}
    known |= options
    known = {name: value for name, value in known.items() if isinstance(value, torch.Tensor)}
    try:
        with (
            interruptible(),
            time_limit(patience * SECONDS, patience * WORK),
            meter(known) as seen,
            RoomyAllocations() as made,
        ):
            fn(*copies, **options)
    except CheckTimeout as error:
        raise CannotShow(said_of_timeout(error)) from None
    except Exception as error:
        cause = causes(error)[-1]
        if isinstance(cause, NotImplementedError) and str(cause).startswith("TODO"):
            raise CannotShow(f"Nothing to show yet: the gap is still open ({cause}).") from None
        raise CannotShow(f"The call failed: {type(cause).__name__}: {cause}") from error
    if not seen.accesses:
        what = "no kernel was launched" if not seen.launches else "the kernel touched no memory"
        raise CannotShow(f"Nothing to show yet: {what}. Is the gap above still open?")
    seen.kept = made.made
    return seen


def _argument_names(fn: Callable[..., Any], args: list[Any]) -> list[str]:
    try:
        names = list(inspect.signature(fn).parameters)
    except (TypeError, ValueError):  # built-in callables, such as the apply of autograd functions
        names = []
    return names[: len(args)] + [f"argument {i}" for i in range(len(names), len(args))]


def _elsewhere(
    fn: Callable[..., Any], args: Iterable[Any], options: dict[str, Any], extra: dict[str, Any]
) -> dict[str, Any]:
    """On a GPU: the same in a process of its own that has the interpreter."""
    with tempfile.TemporaryDirectory(prefix="tritonbook-") as folder:
        try:
            asked = request("meter", fn, args, options, Path(folder), **extra)
            answer = worker(interpret=True).ask(asked, timeout=120)
        except (ExportError, WorkerError) as problem:
            raise CannotShow(str(problem)) from problem
    if "problem" in answer:
        raise CannotShow(answer["problem"])
    return answer
