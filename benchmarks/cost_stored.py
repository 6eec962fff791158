"""The stored parts of the course's cost, read and looked at before anything is made of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from .cost_machine import busy

# A file's name in results/ and what writes it. A GPU's cost file is named after the GPU.
INTERPRETER, SUITE = "cost_interpreter.json", "cost_suite.json"
CLASSES, FAULTS = "grading_speed.json", "grading_gpu.json"
_TO = "--json benchmarks/results/"
TAKEN_BY = {
    INTERPRETER: "`python -m benchmarks.cost` without a GPU",
    SUITE: "`python -m benchmarks.cost --suite`",
    CLASSES: f"`python -m autograde.measure --students 10 50 200 {_TO}{CLASSES}` without a GPU",
    FAULTS: f"`python -m autograde.neighbours --workers 12 {_TO}{FAULTS}` on a GPU",
}
ON_GPU = "`python -m benchmarks.cost` on a GPU"


class Broken(ValueError):
    """What is wrong with a stored file, as the words that follow its name."""


@dataclass(frozen=True)
class Source:
    """Where a figure comes from, in words."""

    machine: str
    versions: str
    date: str


@dataclass(frozen=True)
class Checks:
    """Seconds of each passed check by (exercise, key): first call, and median of those after."""

    source: Source
    place: str  # "interpreter", or the GPU
    cold: list[float]
    passed: dict[tuple[str, str], tuple[float, float]]
    failed: list[tuple[str, str]]


@dataclass(frozen=True)
class Suite:
    source: Source
    seconds: float  # wall clock
    cpu_seconds: float
    passed: int
    skipped: int


@dataclass(frozen=True)
class Graded:
    """A class of `students` of one notebook. Seconds; None where nobody measured them."""

    source: Source
    notebook: str
    students: int
    workers: int
    wall: float
    overhead: float | None = None  # a notebook, beyond its tests
    tests: float | None = None  # a notebook
    stock_students: int = 0  # the first ones, which stock nbgrader graded one after another
    stock: float | None = None  # a submission

    @property
    def each(self) -> float:
        return self.wall / self.students


@dataclass(frozen=True)
class Stored:
    """All that there is; None, or nothing in a list, for what was never measured."""

    interpreter: Checks | None
    gpus: list[Checks]
    suite: Suite | None
    classes: dict[int, Graded]
    faults: Graded | None


def read(folder: Path) -> Stored:
    """The stored parts in `folder`. Raises ValueError in one sentence for a broken file."""
    named = set(TAKEN_BY)
    gpus = [path for path in sorted(folder.glob("cost_*.json")) if path.name not in named]
    return Stored(
        _file(folder / INTERPRETER, _interpreted),
        [found for path in gpus if (found := _file(path, _compiled))],
        _file(folder / SUITE, _suite),
        _file(folder / CLASSES, _classes) or {},
        _file(folder / FAULTS, _faults),
    )


def _file(path: Path, parse: Callable[[Any], Any]) -> Any:
    try:
        return parse(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    except Broken as error:
        problem = str(error)
    except ValueError:
        problem = "is not JSON"
    again = f"measure again with {TAKEN_BY.get(path.name, ON_GPU)}"
    raise ValueError(f"{path} {problem}; {again}, or restore the file from git.")


def _interpreted(data: Any) -> Checks:
    if _gpu(data):
        raise Broken(f"was measured on {_gpu(data)}, not in the interpreter")
    return _checks(data, "interpreter")


def _compiled(data: Any) -> Checks:
    if not _gpu(data):
        raise Broken("was not measured on a GPU")
    return _checks(data, _gpu(data))


def _checks(data: Any, place: str) -> Checks:
    cold = [_seconds(value, "cold") for value in _get(data, "cold", list)]
    if not cold:
        raise Broken("holds no seconds in `cold`")
    passed, failed = {}, []
    for check in _get(data, "checks", list):
        name = _get(check, "exercise", str), _get(check, "key", str)
        if check.get("failed"):
            failed.append(name)
            continue
        again = [_seconds(value, "again") for value in _get(check, "again", list)]
        if not again:
            raise Broken(f"holds no seconds in `again` of {' '.join(name)}")
        passed[name] = _seconds(check.get("first"), "first"), median(again)
    return Checks(_source(data), place, cold, passed, failed)


def _suite(data: Any) -> Suite:
    return Suite(
        _source(data),
        _seconds(_get(data, "seconds"), "seconds"),
        _seconds(_get(data, "cpu_seconds"), "cpu_seconds"),
        _count(data, "passed", 1),
        _count(data, "skipped", 0),
    )


def _classes(data: Any) -> dict[int, Graded]:
    """By number of students; one run of `autograde.measure`, or a list of them."""
    found = {}
    for run in data if isinstance(data, list) else [data]:
        versions = _get(run, "versions", dict) | {"python": _get(run, "python", str)}
        machine = {"cores": _count(run, "cores", 1), "load_before": _get(run, "load_before", float)}
        whole = {"date": _get(run, "date", str), "versions": versions, "machine": machine}
        source = _source(whole)
        for one in _get(run, "classes", list):
            students, stock = _count(one, "students", 1), _count(one, "stock_students", 1)
            found[students] = Graded(
                source,
                _get(run, "notebook", str),
                students,
                _count(one, "workers", 1),
                _seconds(_get(one, "wall"), "wall"),
                _get(one, "overhead", float),
                _seconds(_get(one, "tests"), "tests"),
                stock,
                _seconds(_get(one, "stock_wall"), "stock_wall") / stock,
            )
    return found


def _faults(data: Any) -> Graded:
    if not _gpu(data):
        raise Broken("was not measured on a GPU")
    students = _count(data, "submissions", 1)
    each = _seconds(_get(data, "seconds_per_submission"), "seconds_per_submission")
    return Graded(
        _source(data),
        _get(data, "exercise", str),
        students,
        _count(data, "workers", 1),
        students * each,
    )


def _gpu(data: Any) -> str:
    """The GPU's name; empty for the interpreter, which has no compute capability."""
    versions = _get(data, "versions", dict)
    return _get(versions, "gpu", str) if _get(versions, "capability", str) else ""


def _source(data: Any) -> Source:
    versions = _get(data, "versions", dict)
    machine = _get(data, "machine", dict) if "machine" in data else {}
    words = [versions.get("gpu"), machine.get("cpu") or "CPU not stored"]
    if machine:
        cores, load = _count(machine, "cores", 1), _get(machine, "load_before", float)
        words.append(f"{cores} cores")
        if busy(machine):
            words.append(f"NOT QUIET (load {load:g} before)")
    names = {"torch": "torch", "triton": "Triton", "nbgrader": "nbgrader", "python": "Python"}
    found = [f"{said} {versions[name]}" for name, said in names.items() if name in versions]
    if not found:
        raise Broken("names no version of torch or Triton in `versions`")
    machine_said = ", ".join(word for word in words if word)
    return Source(machine_said, ", ".join(found), _get(data, "date", str))


def _get(data: Any, name: str, kind: type = object) -> Any:
    if not isinstance(data, Mapping) or name not in data:
        raise Broken(f"holds no `{name}`")
    value = data[name]
    if kind is float:
        return _number(value, name)
    if not isinstance(value, kind) or kind is str and not (value or name == "capability"):
        raise Broken(f"holds {value!r} as `{name}`")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Broken(f"holds {value!r} as `{name}`, which is no number")
    return value


def _seconds(value: Any, name: str) -> float:
    if _number(value, name) <= 0:
        raise Broken(f"holds {value!r} as seconds of `{name}`")
    return value


def _count(data: Any, name: str, least: int) -> int:
    value = _get(data, name)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise Broken(f"holds {value!r} as `{name}`, where a count of {least} or more belongs")
    return value
