"""What the helper process runs: exported functions, in the mode that the notebook's is not in.

With TRITON_INTERPRET=0 it compiles for a GPU that need not be there, with 1 it interprets and
measures (see `process`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import traceback
from dataclasses import asdict
from typing import Any

from ..port import source_file
from ..words import speaking
from .arguments import decode
from .pretend import PretendCuda, serve_operators_on_the_cpu

serve_operators_on_the_cpu()
_loaded: dict[str, Any] = {}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """What `compile_all` or `measure` answers, or {"crash": why there is no answer}."""
    sys.path += [place for place in request["path"] if place not in sys.path]

    def call() -> Any:
        with PretendCuda():
            fn = load(request["source"], request["entry"])
            args = [decode(value, load) for value in request["args"]]
            options = {name: decode(value, load) for name, value in request["options"].items()}
            return fn, args, options

    try:
        if request["job"] == "compile":
            from .compile_job import compile_all as job
        else:
            job = measure
        # `tl.static_print` in a loop that is written out fills a disk.
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            return job(call, request)
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        return {"crash": f"{type(error).__name__}: {error}"}


def load(text: str, entry: str) -> Any:
    """What `entry` names in exported source, which is run once."""
    name = "exported_" + hashlib.sha256(text.encode()).hexdigest()[:16]
    if name not in _loaded:
        _loaded[name] = source_file.module_of(text, f"<{name}>", name, {})
    return eval(entry, vars(_loaded[name]))


def measure(prepare: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Run a call under the meter: {"svg", "text", "traffic"} or {"problem": sentence}."""
    from .tiles import CannotShow, picture, watch
    from .traffic import summary

    try:
        seen = watch(*prepare())
    except CannotShow as problem:
        return {"problem": str(problem)}
    found: dict[str, Any] = {"traffic": asdict(summary(seen))}
    if "title" in request:
        with speaking(request["lang"]):
            drawn = picture(seen, request["title"], request["tensors"])
        found |= {"svg": drawn.svg, "text": drawn.text}
    return found
