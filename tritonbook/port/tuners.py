"""`@triton.autotune` for whoever watches: its timing runs are not the launch that was asked for,
and where nothing can be timed a config is chosen all the same.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

from .device import INTERPRET

_timing: list[bool] = []
_asked: list[int] = []  # which config to take, of those that pruning leaves; the innermost last
_runs: list[dict[str, int]] = []  # of the tuners that are choosing: configs tried, and that fit
_hears: list[Callable[[], None]] = []


def timing() -> bool:
    """Does a tuner try a config now? What runs meanwhile is none of the caller's launches."""
    return bool(_timing)


@contextlib.contextmanager
def trying() -> Iterator[None]:
    """Inside, `timing()` holds: a tuner tries a config here, or in the process that is played."""
    _timing.append(True)
    try:
        yield
    finally:
        _timing.pop()


@contextlib.contextmanager
def choosing(number: int | None) -> Iterator[None]:
    """Inside, tuners time nothing and take this config of those that pruning leaves them; the first
    where there are fewer. None: as they would."""
    if number is None:
        yield
        return
    _asked.append(number)
    try:
        yield
    finally:
        _asked.pop()


def asked_for() -> int | None:
    """The number of the innermost `choosing`."""
    return _asked[-1] if _asked else None


@contextlib.contextmanager
def hearing(note: Callable[[], None]) -> Iterator[None]:
    """Inside, `note()` is called for each call of a tuner that has a choice."""
    _hears.append(note)
    try:
        yield
    finally:
        _hears.pop()


def tell_of_a_choice() -> None:
    """A tuner with a choice was called, here or in the process that is played."""
    for note in _hears:
        note()


def clock_once(fn: Callable[[], Any], quantiles: Any = None, **options: Any) -> Any:
    """Stand-in for do_bench where there is no GPU, so that `@triton.autotune` can choose."""
    start = time.perf_counter()
    fn()
    elapsed = (time.perf_counter() - start) * 1e3
    return [elapsed] * len(quantiles) if quantiles else elapsed


@functools.cache
def know_tuners() -> None:
    """Let tuners tell when they try configs, and choose where there is no GPU.

    Without one there is nothing to time. In the interpreter each config runs once, against the
    wall clock, whatever `do_bench=`, `warmup=` or `use_cuda_graph=` says: those ask for a GPU.
    While a check watches, the first config is taken, the same in each run; where kernels are only
    compiled, the first that fits, and no further one is compiled.
    """
    from triton.runtime import autotuner, driver

    owner = autotuner.Autotuner
    run, bench = owner.run, owner._bench

    @functools.wraps(run)
    def run_telling(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(self.configs) > 1:
            tell_of_a_choice()
        kept = {name: vars(self)[name] for name in ("cache", "cache_results") if name in vars(self)}
        if _asked:  # what is chosen by number is no winner to be kept, in memory or on disk
            vars(self).update({"cache": {}, "cache_results": False})
        _runs.append({"tried": 0, "fit": 0})
        try:
            return run(self, *args, **kwargs)
        finally:
            _runs.pop()
            if _asked:
                vars(self).update(kept)

    @functools.wraps(bench)
    def bench_telling(self: Any, *args: Any, **kwargs: Any) -> Any:
        count = _runs[-1] if _runs else {"tried": 0, "fit": 0}
        place = count["tried"]
        count["tried"] += 1
        if _asked:
            return [0.0 if place == _asked[-1] else 1.0 + place] * 3
        with trying():
            if not getattr(driver.active, "only_compiles", False):
                return bench(self, *args, **kwargs)
            if count["fit"] and not INTERPRET:
                return [float("inf")] * 3
            self.do_bench = clock_once
            took = bench(self, *args, **kwargs)
        count["fit"] += took[0] < float("inf")
        return [1.0 + place] * 3 if _hears and count["fit"] else took

    owner.run, owner._bench = run_telling, bench_telling
