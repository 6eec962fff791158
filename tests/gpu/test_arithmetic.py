"""On a real GPU: is the arithmetic that the interpreter is held to the GPU's own?"""

import pytest
from port.test_arithmetic import (  # noqa: F401
    test_a_pair,
    test_a_reduction,
    test_an_atomic_addition,
    test_an_exchange_of_floats,
)

from tritonbook.port.device import INTERPRET

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(INTERPRET, reason="there is no CUDA GPU here")]
