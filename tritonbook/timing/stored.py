"""Results kept with the workbook: a reader without a GPU sees a real plot, labelled as such.

They are written on a GPU with TRITONBOOK_STORE_BENCH=<directory> while the notebooks run, and are
committed in `tritonbook/timing/stored/`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from .result import BenchResult, Sweep

DIRECTORY = Path(__file__).parent / "stored"


def load(name: str) -> BenchResult | Sweep | None:
    """The stored result `name`, marked as measured elsewhere; None if none was kept."""
    path = DIRECTORY / f"{name}.json"
    if not path.exists():
        return None
    found = json.loads(path.read_text(encoding="utf-8"))
    if found["kind"] == "sweep":
        sweep = Sweep.from_dict(found)
        for result in sweep.results:
            result.elsewhere = True
        return sweep
    result = BenchResult.from_dict(found)
    result.elsewhere = True
    return result


def keep(name: str, result: BenchResult | Sweep) -> None:
    """Write `result` where TRITONBOOK_STORE_BENCH says; without that variable, do nothing."""
    directory = os.environ.get("TRITONBOOK_STORE_BENCH")
    if not directory:
        return
    Path(directory).mkdir(parents=True, exist_ok=True)
    text = json.dumps(result.to_dict(), indent=1, sort_keys=True)
    (Path(directory) / f"{name}.json").write_text(text + "\n", encoding="utf-8")
