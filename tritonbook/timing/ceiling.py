"""What this GPU can do at best: the rate of a plain copy and of a large fp16 matrix product.

Both are measured, not read from a data sheet: no kernel reaches the data sheet, and the GPU you
were given may run at other clocks than the one in the brochure.
"""

from __future__ import annotations

import datetime
import functools
from dataclasses import dataclass

import torch

from ..port import device
from ..style import digits
from .clock import CudaClock


@dataclass(frozen=True)
class Ceilings:
    """Measured peaks of one GPU."""

    gpu: str
    copy_gbps: float  # bytes read plus bytes written, per second, in GB/s
    fp16_tflops: float  # 2 M N K operations over the time of a matrix product, in TFLOP/s
    measured: str = ""  # date

    def floor_ms(self, bytes: float = 0, flops: float = 0) -> float:
        """Milliseconds below which no kernel with this traffic and arithmetic can go."""
        return max(bytes / self.copy_gbps / 1e6, flops / self.fp16_tflops / 1e9)

    @property
    def ridge(self) -> float:
        """Operations per byte at which the two peaks take equally long."""
        return self.fp16_tflops * 1e3 / self.copy_gbps

    @property
    def rates(self) -> str:
        """Both peaks in words."""
        copy_gbps, fp16_tflops = digits(self.copy_gbps), digits(self.fp16_tflops)
        return f"copy {copy_gbps} GB/s, fp16 matmul {fp16_tflops} TFLOP/s"

    def __str__(self) -> str:
        return f"{self.gpu}: {self.rates}, measured {self.measured}"


def ceilings() -> Ceilings | None:
    """The peaks of the current GPU, measured once per device and process; None without a GPU."""
    return None if device.INTERPRET else _known(torch.cuda.current_device())


@functools.cache
def _known(number: int) -> Ceilings:
    return measured_ceilings()


def measured_ceilings() -> Ceilings:
    """The peaks of the current GPU, measured now."""
    time = CudaClock().time
    free, _ = torch.cuda.mem_get_info()
    # Far larger than any L2 cache, yet at most an eighth of what is free.
    count = max(1 << 24, min(1 << 29, free // 8) // 4 // 1024 * 1024)
    source = torch.randn(count, device="cuda")
    target = torch.empty_like(source)
    copy_ms = time(lambda: target.copy_(source), 25, 100).median
    copied = 2 * source.numel() * source.element_size()

    side = 8192 if free > 20e9 else 4096
    # Random operands: a product of zeros draws less power and runs faster than any real one.
    a = torch.randn(side, side, device="cuda", dtype=torch.float16)
    b = torch.randn(side, side, device="cuda", dtype=torch.float16)
    product_ms = time(lambda: a @ b, 25, 100).median
    return Ceilings(
        gpu=torch.cuda.get_device_name(),
        copy_gbps=copied / copy_ms / 1e6,
        fp16_tflops=2 * side**3 / product_ms / 1e9,
        measured=datetime.date.today().isoformat(),
    )
