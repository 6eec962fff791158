"""Triton's settings, which stand in `triton.knobs` since 3.4; before, in the environment alone."""

from __future__ import annotations

from typing import Any

try:
    from triton import knobs
except ImportError:
    knobs = None


def _groups() -> dict[str, Any]:
    """The groups of settings, by name. What was set in Python is in an instance's own dict."""
    kind = getattr(knobs, "base_knobs", ())
    return {name: each for name, each in vars(knobs or object).items() if isinstance(each, kind)}


def knob_values() -> dict[str, dict[str, Any]]:
    """What was set in Python, by group."""
    return {name: dict(vars(group)) for name, group in _groups().items()}


def set_knobs(values: dict[str, dict[str, Any]]) -> None:
    """Have just this set in Python; all else follows the environment."""
    for name, group in _groups().items():
        vars(group).clear()
        vars(group).update(values[name])


def follow_environment(name: str) -> None:
    """Have one setting of the runtime follow the environment, whatever was set in Python."""
    runtime = _groups().get("runtime")
    if runtime is not None:
        vars(runtime).pop(name, None)
