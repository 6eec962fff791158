"""What host and GPU did when: record it with torch.profiler, and draw it as a timeline."""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.profiler import ProfilerActivity, profile

if TYPE_CHECKING:
    from .plots import Plot

# The host waits for the GPU inside these CUDA calls.
WAITING_CALLS = (
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaMemcpy",
)
_KEPT = ("cpu_op", "cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset", "user_annotation")


def record_trace(fn: Callable[[], Any]) -> list[dict[str, Any]]:
    """Run `fn` once under torch.profiler; its events as dictionaries, in order of time.

    Each has name, cat ("cpu_op", "cuda_runtime", "kernel", ...), tid, ts and dur in microseconds,
    counted from the first event. Without a GPU only the host's operators appear.
    """
    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
        torch.cuda.synchronize()
    # Without this torch 2.11 warns that events are dropped between cycles, of which there is one.
    known = inspect.signature(profile.__init__).parameters
    options = {"acc_events": True} if "acc_events" in known else {}
    with profile(activities=activities, **options) as profiler:
        fn()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "trace.json"
        profiler.export_chrome_trace(str(path))
        found = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    events = [
        {key: event[key] for key in ("name", "cat", "tid", "ts", "dur")}
        for event in found
        if event.get("ph") == "X" and event.get("cat") in _KEPT and "dur" in event
    ]
    first = min((event["ts"] for event in events), default=0)
    for event in events:
        event["ts"] = float(event["ts"]) - float(first)
        event["dur"] = float(event["dur"])
    return sorted(events, key=lambda event: (event["ts"], -event["dur"]))


def timeline(trace: list[dict[str, Any]], title: str = "", label: str = "") -> Plot:
    """Three lanes over time: the host's launches, the host's waits, the GPU's kernels."""
    from .plots import COLOURS, HATCHES, INK, Plot, caption, card

    host = [event for event in trace if event["cat"] == "cuda_runtime"]
    lanes = {
        "host: launches": [e for e in host if "Launch" in e["name"]],
        "host: waits": [e for e in host if e["name"] in WAITING_CALLS],
        "GPU: kernels": [e for e in trace if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")],
    }
    figure, axes = card(7.2, 2.3)
    for i, events in enumerate(lanes.values()):
        spans = [(event["ts"] * 1e-3, event["dur"] * 1e-3) for event in events]
        axes.broken_barh(
            spans, (i - 0.35, 0.7), color=COLOURS[i], hatch=HATCHES[i], edgecolor=INK, linewidth=0.5
        )
    axes.set_yticks(range(len(lanes)), list(lanes))
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds")
    caption(figure, axes, title, label)
    end = max((event["ts"] + event["dur"] for event in trace), default=0.0)
    busy = sum(event["dur"] for event in lanes["GPU: kernels"])
    waited = sum(event["dur"] for event in lanes["host: waits"])
    said = (
        f"{end * 1e-3:.3g} ms in all; the GPU works {busy * 1e-3:.3g} ms; "
        f"the host waits {waited * 1e-3:.3g} ms in {len(lanes['host: waits'])} calls"
    )
    return Plot(figure, f"Timeline: {title}. {said}. {label}")
