"""How assertions look at an answer at work. Of one that runs in another process, as a grader's
does, they see nothing, and hold."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from tritonbook.language.kernel_text import refusal
from tritonbook.seeing.tiles import CannotShow


def where_shown(assertion: Callable[..., None]) -> Callable[..., None]:
    """An assertion that holds where `watch` or `traffic` cannot show anything."""

    @functools.wraps(assertion)
    def held(*given: Any, **named: Any) -> None:
        with contextlib.suppress(CannotShow):
            assertion(*given, **named)

    return held


def names_beside(fn: Callable[..., Any]) -> dict[str, Any]:
    """The names that a function finds where it was written; {} where nobody can look."""
    return getattr(inspect.unwrap(fn), "__globals__", {})


def for_a_kernel(fn: Callable[..., Any], says: str) -> Callable[..., Any] | None:
    """The learner's function itself, for a kernel to call; None where a grader has a stand-in for
    it, whose text says nothing.

    Raises AssertionError, with `says` before the reason, where the oldest Triton's language has not
    all of its text; the compiler here may know more.
    """
    fn = inspect.unwrap(fn)
    own = getattr(getattr(fn, "__code__", None), "co_name", None)
    if own != getattr(fn, "__name__", ""):
        return None
    refused = refusal(fn)
    assert refused is None, says + refused.sentence
    return fn


@contextlib.contextmanager
def standing_in(names: dict[str, Any], **others: Any) -> Iterator[None]:
    """Others stand for a while where those of these names stand."""
    kept = {name: names[name] for name in others}
    names.update(others)
    try:
        yield
    finally:
        names.update(kept)
