"""In the interpreting worker: run a call under the meter, answer with its picture and ledger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .tiles import CannotShow, picture, watch
from .traffic import as_json, summary


def measure(prepare: Callable[[], Any], request: dict[str, Any]) -> dict[str, Any]:
    """Answer to a meter request: {"svg", "text", "traffic"} or {"problem": sentence}."""
    try:
        fn, args, options = prepare()
        seen = watch(fn, args, options)
    except CannotShow as problem:
        return {"problem": str(problem)}
    answer: dict[str, Any] = {"traffic": as_json(summary(seen))}
    if "title" in request:
        drawn = picture(seen, request["title"], request["tensors"])
        answer |= {"svg": drawn.svg, "text": drawn.text}
    return answer
