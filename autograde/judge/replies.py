"""What a candidate sends back by value: tensors, errors, calls of the instructor's functions.

All of it is distrusted data. Raises TapeError for what no candidate's program sends.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from tritonbook.words import later

from ..walls.tape import TapeError, decode_call, encode
from .player import tensor_from


def not_followed(problem: str) -> str:
    """What is said where a student's process sends what the grader's program there never does."""
    return later(
        f"The grader cannot follow what came back from your code ({problem}): change nothing of "
        "PyTorch's or Triton's own, and return results of the size that is asked for."
    )


def returned(data: dict[str, Any], buffers: list[bytes]) -> Any:
    """A tensor that a call returned by value."""
    body = data.get("tensor")
    if not (isinstance(body, list) and len(body) == 2 and isinstance(body[1], int)):
        raise TapeError("not a value")
    if not 0 <= body[1] < len(buffers):
        raise TapeError("not a buffer")
    description = dict(body[0]) if isinstance(body[0], dict) else {}
    return tensor_from(description | {"device": "cpu"}, buffers[body[1]])


def run_callback(body: dict[str, Any], callbacks: list[Callable[..., Any]]) -> dict[str, Any]:
    """Call one of the instructor's functions for the candidate; plain values only."""

    def refuse(data: Any) -> Any:
        raise TapeError("a callback takes plain values")

    number = body.get("callback")
    if not (isinstance(number, int) and 0 <= number < len(callbacks)):
        raise TapeError("no such callback")
    args, kwargs = decode_call(body.get("args"), body.get("kwargs"), refuse)
    try:
        return {"result": encode(callbacks[number](*args, **kwargs), refuse)}
    except Exception as error:  # noqa: BLE001  (the instructor's function may raise on purpose)
        return {"raised": f"{type(error).__name__}: {error}"[:500]}


def rebuilt(data: Any) -> BaseException:
    """An exception like the one in the candidate: a builtin type, or one of its name."""
    if not isinstance(data, dict):
        raise TapeError("not an error")
    names, text = data.get("types"), data.get("text")
    if not (isinstance(names, list) and names and all(isinstance(n, str) for n in names)):
        raise TapeError("not an error")
    if not isinstance(text, str):
        raise TapeError("not an error")
    found = [getattr(builtins, name, None) for name in names]
    base = next(
        (kind for kind in found if isinstance(kind, type) and issubclass(kind, BaseException)),
        RuntimeError,
    )
    if not issubclass(base, (Exception, SystemExit)) or issubclass(base, UnicodeError):
        base = RuntimeError  # KeyboardInterrupt would stop the checker; UnicodeError wants more
    if names[0] != base.__name__ and names[0].isidentifier():
        base = type(names[0], (base,), {})
    made: Any = base(text[:2000])
    where = data.get("where")  # the student's own line: the frames here are the grader's
    made.where = where[:300] if isinstance(where, str) else ""
    return made
