"""Timing: one clock for all, measured ceilings, plots, and a simulated GPU to learn on."""

# ruff: noqa: F401  (what is imported here is for others)

from .ceiling import Ceilings, ceilings
from .fake import SimulatedGPU, SimulatedKernel, gpu, simulated_bench, simulated_gpu
from .measure import bench, bench_sweep
from .result import BenchResult, Row, Sweep
from .trace import record_trace, timeline
