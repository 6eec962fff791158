"""Results kept with the workbook: a reader without a GPU sees a real plot, labelled as such.

They are written on a GPU with TRITONBOOK_STORE_BENCH=<directory> while the notebooks run, and are
committed in `tritonbook/timing/stored/`.
"""

from __future__ import annotations

import datetime
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..port.device import versions
from ..words import later
from .ceiling import Ceilings
from .result import BenchResult, Row, Sweep

DIRECTORY = Path(__file__).parent / "stored"


@dataclass
class Curves:
    """Series over the steps of a training, and what there is to say of them in words."""

    curves: dict[str, list[float]]
    text: str = ""
    machine: dict[str, str] = field(default_factory=versions)
    date: str = field(default_factory=lambda: datetime.date.today().isoformat())
    elsewhere: bool = False  # made on another machine and kept with the workbook

    @property
    def label(self) -> str:
        """Where they come from: GPU, versions and date, in one line."""
        gpu, torch, triton = (self.machine[name] for name in ("gpu", "torch", "triton"))
        made = f"torch {torch}, triton {triton}, {self.date}"
        if self.elsewhere:
            return later(f"measured on another machine: {gpu}, {made}")
        return f"{gpu}, {made}"


_KINDS = {BenchResult: "bench", Sweep: "sweep", Curves: "curves"}


def load(name: str) -> BenchResult | Sweep | Curves | None:
    """The stored result `name`, marked as measured elsewhere; None if none was kept."""
    path = DIRECTORY / f"{name}.json"
    if not path.exists():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    kind = found.pop("kind")
    if kind == "curves":
        return Curves(**found | {"elsewhere": True})
    if kind == "sweep":
        return Sweep(**found | {"results": [_table(each) for each in found["results"]]})
    return _table(found)


def _table(found: dict[str, Any]) -> BenchResult:
    rows = [Row(**row) for row in found["rows"]]
    peaks = found["peaks"] and Ceilings(**found["peaks"])
    return BenchResult(**found | {"rows": rows, "peaks": peaks, "elsewhere": True})


def keep(name: str | None, result: BenchResult | Sweep | Curves) -> None:
    """Write `result` where TRITONBOOK_STORE_BENCH says; without that, or a name, do nothing."""
    directory = os.environ.get("TRITONBOOK_STORE_BENCH")
    if not (name and directory):
        return
    Path(directory).mkdir(parents=True, exist_ok=True)
    found = {"kind": _KINDS[type(result)], **asdict(result)}
    text = json.dumps(found, indent=1, sort_keys=True)
    (Path(directory) / f"{name}.json").write_text(text + "\n", encoding="utf-8")
