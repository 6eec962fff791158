"""On a machine with a GPU, what the check says in the interpreter: the other side of `causes`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..checking import dtype_override, first_finding_only, run_check
from ..checking.codes import MEMORY, about, seen_on_gpu
from ..checking.mended import MENDS
from ..notebook import machinery
from ..port import source_file
from .exercises import Exercise, load
from .page_checks import checks, with_causes


def cause(request: dict[str, Any]) -> dict[str, str]:
    """Code and sentence of what the check of an answer finds here, if that is a cause: a mistake
    with a name, what the meter saw, or the line in which one change mends it.

    page: the path of its page.py. text, entry: the answer, as `export` wrote it. note: of the case
    that goes first.
    """
    exercise, key, note = Exercise(Path(request["page"])), request["key"], request["note"]
    asked = with_causes(exercise, key, checks(exercise)[key])
    every = sorted((*asked.cases, *asked.hidden), key=lambda case: case.note != note)
    # What is called through a function of the page was written down with it.
    check = replace(asked, cases=every, through=None, speed=None)
    home = vars(source_file.module_of(request["text"], f"{key}.py", f"_answer_{key}", {}))
    answer, beside = eval(request["entry"], home), {**vars(load(exercise)), **home}
    override, brief = dtype_override.set(request["dtype"]), first_finding_only.set(True)
    try:
        with machinery():
            found = run_check(answer, check, key, beside=beside.__getitem__).finding
    finally:
        dtype_override.reset(override)
        first_finding_only.reset(brief)
    if found is None:
        return {}
    named = found.code in {known.code for known in asked.known()}
    metered = about(found.code, MEMORY) or not seen_on_gpu(found.code)
    if not (named or metered or MENDS in found.sentence):
        return {}
    return {"code": found.code, "sentence": found.sentence}


def whole_report(request: dict[str, Any]) -> dict[str, Any]:
    """What the check of an answer finds here, as `Report.to_dict` gives it: of one that several
    ranks run. As for `cause`; hidden, brief: as for `run_check`."""
    exercise, key = Exercise(Path(request["page"])), request["key"]
    check = replace(with_causes(exercise, key, checks(exercise)[key]), through=None)
    home = vars(source_file.module_of(request["text"], f"{key}.py", f"_answer_{key}", {}))
    brief = first_finding_only.set(request["brief"])
    try:
        with machinery():
            answer = eval(request["entry"], home)
            return run_check(answer, check, key, hidden=request["hidden"]).to_dict()
    finally:
        first_finding_only.reset(brief)
