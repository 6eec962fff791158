"""Page 90: a drawing of where a result is wrong and what to suspect first, and memcheck."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tritonbook import DEVICE
from tritonbook.seeing import svg
from tritonbook.seeing.svg import Picture
from tritonbook.words import say

ROWS, COLUMNS, SIDE = 6, 11, 11.0
# (which cells are wrong, where that is, what to suspect)
PLACES = (
    (lambda m, n: n >= 8, "the last columns", "a mask, or the last tile has no program"),
    (lambda m, n: True, "all, for some sizes", "masked lanes in a sum or a maximum"),
    (lambda m, n: m >= 1, "all rows but row 0", "a stride, or a number in an address"),
    (lambda m, n: m >= 3, "the second batch", "what the batch adds to an address"),
    (
        lambda m, n: (m * 7 + n * 5) % 9 < 2,
        "other cells each time",
        "a race, or memory that nobody wrote",
    ),
)


def draw_places() -> Picture:
    """Five results with their wrong cells, and below each what to suspect."""
    wide, high, parts = COLUMNS * SIDE, ROWS * SIDE, []
    for number, (wrong, where, suspects) in enumerate(PLACES):
        x0 = number * (wide + 36)
        for m in range(ROWS):
            for n in range(COLUMNS):
                fill = svg.CLASH if wrong(m, n) else svg.FILLS[2]
                parts.append(svg.rect(x0 + n * SIDE, m * SIDE, SIDE, SIDE, fill))
        parts.append(svg.words(x0, high + 20, where, svg.SMALL, bold=True))
        for row, text in enumerate(svg.wrapped(suspects, 23)):
            parts.append(svg.words(x0, high + 37 + 15 * row, text, svg.SMALL))
    said = " ".join(f"Wrong: {where}. Suspect: {suspects}." for _, where, suspects in PLACES)
    text = f"Where a result is wrong says what to suspect first. {said}"
    width = len(PLACES) * (wide + 36) - 16
    return svg.titled(width, high + 58, "Where is it wrong? What to suspect first", text, parts)


def sanitize(names: tuple[str, ...], call: str) -> None:
    """Run `compute-sanitizer` on the cells of this notebook that define `names`, and on a call."""
    from IPython import get_ipython

    tool = shutil.which("compute-sanitizer", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")
    if DEVICE != "cuda" or not tool:
        print(say("It needs a GPU, and compute-sanitizer, which comes with the CUDA toolkit."))
        return
    cells = get_ipython().user_ns["In"]  # the text of the cells that were run
    parts = [[cell for cell in cells if f"def {name}(" in cell][-1] for name in names]
    head = "import torch, triton\nimport triton.language as tl\n"
    surroundings = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "patient.py")
        file.write_text(head + "\n\n".join([*parts, call]))
        command = [tool, "--tool", "memcheck", sys.executable, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, env=surroundings)
    lines = [line for line in done.stdout.splitlines() if "ost " not in line]  # of the host
    print(*lines[:6], *lines[6:][-1:], sep="\n")
