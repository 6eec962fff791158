"""Without a GPU too, torch traces a kernel that `torch.library.wrap_triton` hands it."""

from __future__ import annotations

import functools
import logging
from typing import Any


def trace_interpreted_kernels() -> None:
    """Let `wrap_triton` show an interpreted kernel to whoever traces.

    torch knows a kernel by Triton's class JITFunction, and the interpreter's kernels are of another
    one. An operator made by `triton_op` could be called there, and that was all: no fake result, no
    graph, no opcheck. A stand-in of the right class is traced, and where it is launched the
    interpreter runs.
    """
    import torch
    import torch._library.triton as library
    from triton.runtime.interpreter import InterpretedFunction
    from triton.runtime.jit import JITFunction

    class StandIn(JITFunction):
        def __init__(self, kernel: Any) -> None:
            super().__init__(kernel.fn)
            self.interpreted = kernel

        def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
            return self.interpreted[grid](*args, **kwargs)

    stand_in, original = functools.cache(StandIn), library.wrap_triton

    @functools.wraps(original)
    def wrap_triton(kernel: Any) -> Any:
        if not isinstance(kernel, InterpretedFunction):
            return original(kernel)
        return original(stand_in(kernel)) if library.is_wrap_triton_enabled() else kernel

    torch.library.wrap_triton = wrap_triton
    # To see what a kernel writes, torch compiles it, which the interpreter prevents. It then takes
    # all arguments for written, which is safe, and logs 200 lines, which nobody needs.
    logging.getLogger("torch._dynamo").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    return "assuming every input is mutated" not in record.getMessage()
