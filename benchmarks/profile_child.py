"""What `ncu` runs for `benchmarks.profile`: each provider of one problem, called once in turn.

`python -m benchmarks.profile_child OPERATION PROBLEM PROVIDER...`; the last line of its output is
JSON: the providers that were called, and why others were not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

import tritonbook  # noqa: F401  (must come before Triton)

# isort: split
import triton
import triton.language as tl

from .op import Missing, Op, all_ops

WARM_UPS = 2  # the first call compiles and tunes, the second may still fill caches


@triton.jit
def profile_marker_kernel(x_ptr):
    tl.store(x_ptr, 0.0)


# Its grid says whose kernels follow. Named ranges (NVTX) would not do: they belong to one thread,
# and autograd launches the backward pass from another.
MARKER = profile_marker_kernel.__name__


def call_in_turn(
    op: Op,
    label: str,
    names: Sequence[str],
    *,
    device: str = "cuda",
    mark: Callable[[int], Any],
    start: Callable[[], Any],
    stop: Callable[[], Any],
    wait: Callable[[], Any],
) -> dict[str, Any]:
    """Warm the named providers up, then call each once between `start` and `stop`.

    mark(n) is called before the n-th of those that ran, counted from 1; wait() waits for the GPU.
    Returns {"called": names in that order, "reasons": name -> why it was not called}.
    """
    problem = next(problem for problem in op.problems if problem.label == label)
    torch.manual_seed(torch.seed() % (1 << 31))
    args = problem.make(device)
    ready: dict[str, Callable[..., Any]] = {}
    reasons: dict[str, str] = {}
    for name in names:
        try:
            fn = op.providers[name].load()
            for _ in range(WARM_UPS):
                fn(*args)
            wait()
        except Missing as reason:
            reasons[name] = str(reason)
        except Exception as failure:  # one peer that breaks must not cost the others their profile
            reasons[name] = f"raised {type(failure).__name__}: {str(failure)[:200]}"
        else:
            ready[name] = fn
    mark(1)  # compiled before the profile starts
    wait()
    start()
    for number, fn in enumerate(ready.values(), 1):
        mark(number)
        fn(*args)
        wait()
    stop()
    return {"called": list(ready), "reasons": reasons}


def main(arguments: Sequence[str]) -> int:
    name, label, *providers = arguments
    scratch = torch.zeros(1, device="cuda")

    def start() -> None:
        # ncu saves and restores what a kernel could write: nothing that is no longer in use.
        torch.cuda.empty_cache()
        torch.cuda.profiler.start()

    said = call_in_turn(
        all_ops()[name],
        label,
        providers,
        mark=lambda number: profile_marker_kernel[(number,)](scratch),
        start=start,
        stop=torch.cuda.profiler.stop,
        wait=torch.cuda.synchronize,
    )
    print(json.dumps(said))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
