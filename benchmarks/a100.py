"""What an A100 may take for a call that was timed on an H100: a model, not a measurement.

    share = published_ms(H100) / measured ms on the H100
    A100  = published_ms(A100) / share
    published_ms(GPU) = max(bytes / published bandwidth, operations / published fp16 rate)

The share is what the call reached of the H100's data sheet; the model says that it reaches the
same share of the A100's. A call bound by memory on both thus takes 3350 / 2039 = 1.64 times as
long, one bound by arithmetic on both 989.5 / 312 = 3.17 times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .results import markdown
from .runner import best


@dataclass(frozen=True)
class Published:
    """Rates of a data sheet: GB/s of memory, and dense fp16 TFLOP/s of the tensor cores."""

    name: str
    gbps: float
    tflops: float
    source: str

    def ms(self, bytes: float, flops: float) -> float:
        """Milliseconds that the data sheet allows for this traffic and arithmetic."""
        return max(bytes / self.gbps / 1e6, flops / self.tflops / 1e9)


A100 = Published("A100-SXM4-80GB", 2039, 312, "NVIDIA A100 Tensor Core GPU data sheet")
# The sheet gives 1,979 TFLOP/s with sparsity; dense is half of it.
H100 = Published("H100-SXM5-80GB", 3350, 1979 / 2, "NVIDIA H100 Tensor Core GPU data sheet")
# The name under which torch knows the GPU of that sheet: other H100s have other rates.
MEASURED_ON = "NVIDIA H100 80GB HBM3"

# A call that takes over twice its floor waits for the host or for itself; rates say nothing of it.
LEAST_PERCENT = 50


def share(ms: float, bytes: float, flops: float) -> float:
    """What a call of `ms` milliseconds on the H100 reached of its data sheet, from 0 to 1."""
    return H100.ms(bytes, flops) / ms


def expected_ms(ms: float, bytes: float, flops: float) -> float:
    """Milliseconds that the model expects on the A100 of a call that took `ms` on the H100."""
    return A100.ms(bytes, flops) / share(ms, bytes, flops)


def facts(
    compiled: Iterable[Mapping[str, Any]], op: str, problem: str, name: str
) -> list[dict[str, Any]]:
    """What our row `name` of a problem of the operation `op` compiles to for sm_80.

    compiled: the list of that name in matrix/architectures.json. One entry for each kernel, with
    `name`, `registers`, `spills` (bytes per thread), `shared_bytes`, `occupancy` (0 to 1) and
    more. Empty where the problem was not compiled.
    """
    wanted = (op, problem, name, 80)
    for one in compiled:
        if (one["op"], one["case"], one["key"], one["arch"]) == wanted:
            return one["kernels"]
    return []


def section(data: Mapping[str, Any], compiled: list[dict[str, Any]]) -> str:
    """The report's section on the A100, as Markdown; empty for results of another GPU.

    data: a results file's. compiled: as for `facts`.
    """
    if data["gpu"] != MEASURED_ON:
        return ""
    body, left_out = [], []
    for name, entry in sorted(data["ops"].items(), key=lambda item: (item[1]["notebook"], item[0])):
        for problem in entry["problems"]:
            own = best(problem["rows"])
            if own is None:
                continue
            title = f"`{name}` {problem['label']}"
            if own["percent"] < LEAST_PERCENT:
                left_out.append(f"{title} ({own['percent']:.0f} %)")
                continue
            expected = expected_ms(own["ms"], problem["bytes"], problem["flops"])
            reached = share(own["ms"], problem["bytes"], problem["flops"])
            known = facts(compiled, name, problem["label"], own["name"])
            kernels = "<br>".join(map(_kernel, known))
            body.append(
                [
                    title,
                    f"{own['percent']:.0f} %",
                    f"{100 * reached:.0f} %",
                    f"{own['ms']:.3g} ms",
                    f"{expected:.3g} ms",
                    f"{expected / own['ms']:.2f}",
                    kernels or "not compiled",
                ]
            )
    return _SECTION.format(
        a100=A100,
        h100=H100,
        table=markdown(_HEAD, body),
        least=LEAST_PERCENT,
        left_out=", ".join(left_out) or "none",
    )


_HEAD = [
    "problem",
    "H100: floor",
    "H100: data sheet",
    "H100, measured",
    "A100, model, not measured",
    "A100 / H100, model",
    "compiled for sm_80",
]

_SECTION = """## What to expect on an A100: a model, not measured

No A100 ran for this table. Its times for an A100 come from a formula:

    A100 time = max(bytes / {a100.gbps:,} GB/s, operations / {a100.tflops:g} TFLOP/s) / share
    share     = max(bytes / {h100.gbps:,} GB/s, operations / {h100.tflops:g} TFLOP/s) / H100 time

The rates are memory bandwidth and dense fp16 tensor-core rate of the
{a100.source} ({a100.name}) and the
{h100.source} ({h100.name}). The share is the column *H100: data
sheet*; the model assumes that a call reaches the same share of the A100's sheet. It leaves out

- the L2 cache: 40 MB on the A100, 50 MB on the H100;
- instructions that the A100 lacks: TMA copies and `wgmma`. Code for sm_80 uses `cp.async` and
  `mma.sync` instead, which may reach another share of the A100 than `wgmma` did of the H100;
- other tiles, which a solution may choose for the A100, and its 108 SMs instead of 132;
- the host's time for a launch, which follows neither rate.

{table}

The last column is the compile gate's, from
[architectures.json](../matrix/architectures.json), for the same problem: of each kernel the
registers per thread (r), bytes per thread that spilled, shared memory per program, and occupancy.

No model below {least} % of the floor, where neither rate decides: {left_out}."""


def _kernel(kernel: Mapping[str, Any]) -> str:
    shared = kernel["shared_bytes"]
    memory = f"{shared / 1024:.3g} KiB" if shared >= 1024 else f"{shared} B"
    spills = f"spills {kernel['spills']}" if kernel["spills"] else "no spills"
    occupancy = f"{100 * kernel['occupancy']:.0f} %"
    return f"`{kernel['name']}`: {kernel['registers']} r, {spills}, {memory}, {occupancy}"
