"""What a test of a kernel needs, as marks that skip it elsewhere and say why."""

import pytest

from tritonbook.kernels.descriptors import can_describe
from tritonbook.kernels.gluon import can_run_gluon
from tritonbook.port.compat import triton_version
from tritonbook.port.device import INTERPRET

interpreter = pytest.mark.skipif(not INTERPRET, reason="asks the interpreter")
gpu = pytest.mark.skipif(INTERPRET, reason="there is no CUDA GPU here")
descriptors = pytest.mark.skipif(
    triton_version() < (3, 6), reason="tensor descriptors want Triton 3.6"
)
copy_engine = pytest.mark.skipif(
    INTERPRET or not can_describe(), reason="needs an H100 and Triton 3.6"
)
gluon = pytest.mark.skipif(not can_run_gluon(), reason="needs an H100 and Triton 3.6")
