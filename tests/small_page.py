"""Pages that tests make up."""

from pathlib import Path

HEADER = """\
# ---
# workbook:
#   title: Toy
#   minutes: 5
#   needs: interpreter
#   requires: []
#   you_will:
#     - see
# ---

"""

DOUBLE = """\
# %% tags=["setup"]
import os
import torch

# %% tags=["answer"] key="double"
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% tags=["check"] key="double" points=3
check(double)
"""
OF_NUMBERS = """\
from tritonbook.checking import Check, case

CHECKS = {
    "double": Check(
        lambda x: 2 * x, [case("two", x=2)], [case("below zero", x=-1)], triton=False
    )
}
"""


def write_page(folder: Path, slug: str, cells: str = DOUBLE, **files: str) -> Path:
    """A page of these cells below a header, and other files of its folder: its page.py."""
    (folder / slug).mkdir(parents=True, exist_ok=True)
    for name, text in {"page": HEADER + cells, **files}.items():
        (folder / slug / f"{name}.py").write_text(text)
    return folder / slug / "page.py"
