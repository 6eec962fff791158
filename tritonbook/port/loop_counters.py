"""The number of a loop over `range`: Python's in the interpreter, a tensor to the compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def counted(interp: Any) -> Callable[..., Iterator[int]]:
    """`range` for kernels: its numbers, and their sums and products, have `.to` and `.dtype`.
    interp: the module `triton.runtime.interpreter`."""

    class Counter(int):
        def to(self, *args: Any, **options: Any) -> Any:
            return interp._implicit_cvt(int(self)).to(*args, **options)

        cast = to

        @property
        def dtype(self) -> Any:
            return interp._implicit_cvt(int(self)).dtype

    def kept(operation: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: int, other: Any) -> Any:
            found = operation(self, other) if type(other) in (int, Counter) else NotImplemented
            return Counter(found) if type(found) is int else found

        return method

    for name in ("add", "sub", "mul", "floordiv", "mod"):
        for method in (f"__{name}__", f"__r{name}__"):
            setattr(Counter, method, kept(getattr(int, method)))

    def numbers(*bounds: Any, **options: Any) -> Iterator[int]:
        return map(Counter, range(*bounds))

    return numbers
