"""`show_tiles` and `traffic`: interpret a function's kernels and show what they touch."""

from __future__ import annotations

import html
import inspect
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from .. import device
from .arguments import CannotSend, encode
from .ledger import ledger
from .memory import RoomyAllocations, roomy
from .meter import Meter, meter
from .svg import Picture
from .tile_picture import draw, size_text


class CannotShow(Exception):
    """The function cannot be watched. The text says why."""

    def _render_traceback_(self) -> list[str]:
        return [f"CannotShow: {self}"]


@dataclass(frozen=True)
class TensorTraffic:
    """Bytes of one tensor. *_distinct: each element once, however often it was touched."""

    name: str
    nbytes: int
    read: int
    read_distinct: int
    written: int
    written_distinct: int


@dataclass(frozen=True)
class Traffic:
    """The ledger of one call: bytes per tensor, and what went wrong.

    Bytes are what the programs ask for; a GPU's caches may serve repeats. flops: of `tl.dot` only.
    masked, outside: lanes. shared_stores: elements stored by several programs without atomics.
    """

    tensors: tuple[TensorTraffic, ...]
    flops: int
    programs: int
    launches: int
    masked: int
    outside: int
    shared_stores: int
    findings: tuple[tuple[str, str], ...] = ()

    @property
    def read(self) -> int:
        return sum(tensor.read for tensor in self.tensors)

    @property
    def written(self) -> int:
        return sum(tensor.written for tensor in self.tensors)

    @property
    def bytes(self) -> int:
        return self.read + self.written

    @property
    def intensity(self) -> float:
        """FLOPs of dots for each byte asked for."""
        return self.flops / self.bytes if self.bytes else 0.0

    def __getitem__(self, name: str) -> TensorTraffic:
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise KeyError(f"{name}; there are {', '.join(t.name for t in self.tensors)}")

    def table(self) -> list[tuple[str, ...]]:
        """Rows of text, the heading first."""
        rows = [("tensor", "size", "read", "times", "written", "times")]
        for t in self.tensors:
            rows.append(
                (t.name, size_text(t.nbytes), size_text(t.read), _times(t.read, t.read_distinct))
                + (size_text(t.written), _times(t.written, t.written_distinct))
            )
        total = ("all", "", size_text(self.read), "", size_text(self.written), "")
        return [*rows, total]

    def _summary(self) -> list[str]:
        several = "launch" if self.launches == 1 else "launches"
        lines = [f"{self.programs:,} programs in {self.launches} {several}"]
        if self.masked:
            lines[0] += f", {self.masked:,} masked lanes"
        if self.flops:
            lines.append(
                f"{self.flops:,} FLOPs in dots: {self.intensity:.3g} for each byte asked for"
            )
        return lines + [f"! {sentence}" for _, sentence in self.findings]

    def __str__(self) -> str:
        rows = self.table()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = []
        for row in rows:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, *self._summary()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def cells(row: tuple[str, ...], tag: str) -> str:
            style = "padding:2px 12px 2px 0;text-align:"
            return "".join(
                f'<{tag} style="{style}{"right" if i else "left"}">{html.escape(cell)}</{tag}>'
                for i, cell in enumerate(row)
            )

        head, *rows = self.table()
        body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
        below = "".join(f"<div>{html.escape(line)}</div>" for line in self._summary())
        return (
            '<table style="border-collapse:collapse;font-size:13px"><thead><tr>'
            f"{cells(head, 'th')}</tr></thead><tbody>{body}</tbody></table>{below}"
        )


def _times(moved: int, distinct: int) -> str:
    return f"{moved / distinct:.3g}×" if distinct else ""


def show_tiles(
    fn: Callable[..., Any],
    *args: Any,
    tensors: Iterable[str] | None = None,
    title: str | None = None,
    **options: Any,
) -> Picture:
    """Draw which program loads and stores which cells when `fn(*args, **options)` runs.

    Uses Triton's interpreter, on copies: keep the tensors small. tensors: names of those to draw
    (default: all). Shows masked lanes, lanes outside a tensor, cells stored by several programs,
    bytes moved. Raises CannotShow when no kernel runs or the function fails.
    """
    wanted = None if tensors is None else list(tensors)
    title = title or getattr(fn, "__name__", "kernel").replace("<lambda>", "kernel")
    if not device.INTERPRET:
        answer = _elsewhere(fn, args, options, {"title": title, "tensors": wanted})
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
    return summary(watch(fn, args, options))


def picture(seen: Meter, title: str, wanted: list[str] | None = None) -> Picture:
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
        grid = tuple(launch.grid[: _rank(launch.grid)])
        count = len(part.programs)
        several = "program" if count == 1 else "programs"
        sections.append((f"{count:,} {several} of {launch.kernel}, grid {grid}", part))
    note = f"{len(kinds) - 3} more kernels are not drawn." if len(kinds) > 3 else ""
    if len(seen.launches) > len(kinds):
        note += f" The call made {len(seen.launches)} launches."
    heading = f"{title}: {sections[0][0]}" if len(sections) == 1 else f"{title}: several kernels"
    return draw(heading, sections, note.strip())


def _rank(grid: tuple[int, ...]) -> int:
    return max([i + 1 for i, size in enumerate(grid) if size > 1], default=1)


def summary(seen: Meter) -> Traffic:
    """Sum up what a meter saw, over all launches."""
    book = ledger(seen)
    rows: dict[int, dict[str, Any]] = {}
    for use in book.uses:
        region = use.region
        row = rows.setdefault(
            id(region),
            {"name": region.name, "nbytes": region.nbytes, "loads": None, "stores": None},
        )
        row[use.direction] = use
    tensors = []
    for row in rows.values():
        loads, stores = row["loads"], row["stores"]
        tensors.append(
            TensorTraffic(
                row["name"],
                row["nbytes"],
                loads.bytes_moved if loads else 0,
                loads.bytes_distinct if loads else 0,
                stores.bytes_moved if stores else 0,
                stores.bytes_distinct if stores else 0,
            )
        )
    return Traffic(
        tensors=tuple(tensors),
        flops=book.flops,
        programs=len(book.programs),
        launches=len(seen.launches),
        masked=sum(use.masked for use in book.uses),
        outside=sum(use.outside for use in book.uses),
        shared_stores=sum(use.clashes for use in book.uses),
        findings=tuple(book.findings),
    )


def watch(fn: Callable[..., Any], args: Iterable[Any], options: dict[str, Any]) -> Meter:
    """Run `fn` under the meter on roomy copies of its tensors."""
    args = list(args)
    names = _argument_names(fn, args)
    copies = [roomy(value) if isinstance(value, torch.Tensor) else value for value in args]
    options = {k: roomy(v) if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    known = {name: value for name, value in zip(names, copies, strict=True)}
    known |= options
    known = {name: value for name, value in known.items() if isinstance(value, torch.Tensor)}
    try:
        with meter(known, record_only=True) as seen, RoomyAllocations() as made:
            fn(*copies, **options)
    except Exception as error:
        cause = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        if isinstance(cause, NotImplementedError) and str(cause).startswith("TODO"):
            raise CannotShow(f"Nothing to show yet: the gap is still open ({cause}).") from None
        raise CannotShow(f"The call failed: {type(cause).__name__}: {cause}") from error
    if not seen.accesses:
        what = "No kernel was launched" if not seen.launches else "The kernel touched no memory"
        raise CannotShow(f"{what}, so there is nothing to show.")
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
    from ..course.closure import ExportError, export
    from .process import WorkerError, worker

    with tempfile.TemporaryDirectory(prefix="tritonbook-") as folder:
        try:
            exported = export(fn)
            request = {
                "job": "meter",
                "source": exported.text,
                "entry": exported.entry,
                "args": [encode(value, Path(folder)) for value in args],
                "options": {name: encode(v, Path(folder)) for name, v in options.items()},
                "path": [place for place in sys.path if place],
                **extra,
            }
            answer = worker(interpret=True).ask(request, timeout=120)
        except (ExportError, CannotSend, WorkerError) as problem:
            raise CannotShow(str(problem)) from problem
    if "problem" in answer:
        raise CannotShow(answer["problem"])
    return answer


def as_json(found: Traffic) -> dict[str, Any]:
    """A Traffic as plain data, to be sent between processes."""
    return asdict(found)
