"""Triton Workbook: what every notebook imports.

Importing this package decides between GPU and interpreter before Triton is loaded, so it must come
before `import triton` (the set-up cell of each notebook does that).
"""

from .device import DEVICE, INTERPRET, versions  # noqa: I001  (must precede everything that imports triton)
from .compat import install_interpreter_fixes

install_interpreter_fixes()

__version__ = "0.1.0"
