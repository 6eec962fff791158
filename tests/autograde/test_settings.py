"""What a cell or a call changes in torch, Triton and the process costs no other task."""

from __future__ import annotations

import corpus
import pytest
from grading import Grader

LINES = {
    "a device that is not here": "import torch\ntorch.set_default_device('cuda')",
    "the interpreter switched off": """\
import os, triton
os.environ["TRITON_INTERPRET"] = "0"
if hasattr(triton, "knobs"):  # else the environment is not asked
    vars(triton.knobs.runtime).pop("interpret", None)
""",
    "Python's own functions": """\
import builtins
builtins.len = lambda x: 0
builtins.isinstance = builtins.hasattr = lambda *told: True
""",
    "a default dtype": "import torch\ntorch.set_default_dtype(torch.float64)",
    "gradients": "import torch\ntorch.set_grad_enabled(False)",
    "warnings": "import warnings\nwarnings.simplefilter('error')",
    "the folder": "import os\nos.chdir('/')",
    "the search path": "import sys\nsys.path.clear()",
    "the environment": "import os\nos.environ.clear()",
}
KNOB = "import triton\ntriton.knobs.runtime.interpret = False"
TOLD = """\
def halves(n):
    import numpy, os, sys, torch, warnings
    found = [str(torch.get_default_dtype()), torch.is_grad_enabled(), os.getcwd() != "/"]
    found += [bool(sys.path), os.environ.get("TRITON_INTERPRET"), torch.empty(0).device.type]
    found += [torch.are_deterministic_algorithms_enabled(), torch._tensor_str.PRINT_OPTS.precision]
    found += [numpy.get_printoptions()["precision"], torch.initial_seed() != 3]
    found += [any(each[0] == "error" for each in warnings.filters)]
    raise ValueError(repr(found))
"""
MORE = """\
import numpy, torch
torch.use_deterministic_algorithms(True)
torch.set_printoptions(precision=1)
numpy.set_printoptions(precision=1)
torch.set_num_threads(1)
"""


@pytest.mark.parametrize("lines", [*LINES.values(), KNOB], ids=[*LINES, "a knob"])
def test_a_line_costs_no_task(lines: str, grader: Grader) -> None:
    """Kills: every task at CRASH, or without a launch, for one line in a cell above them."""
    if lines == KNOB:
        pytest.importorskip("triton.knobs")
    for key in ("double", "halves"):
        verdict = grader.grade(key, extra=lines)
        assert verdict.status == "PASS", verdict.sentence


IN_ITS_OWN_CELL = {
    "a device that is not here": LINES["a device that is not here"] + "\ntorch.zeros(1)",
    "the interpreter switched off": LINES["the interpreter switched off"],
    "a knob": KNOB,
    "Python's own functions": LINES["Python's own functions"],
}


@pytest.mark.parametrize("lines", IN_ITS_OWN_CELL.values(), ids=IN_ITS_OWN_CELL)
def test_a_line_costs_not_its_own_task(lines: str, grader: Grader) -> None:
    """Kills: a kernel below the line, in its cell, that is made for a GPU that is not here; a call
    that changes what the grader itself then does."""
    if lines == KNOB:
        pytest.importorskip("triton.knobs")
    kernel = corpus.KERNEL.format(value="x + x")
    above = f"{lines}\n{corpus.HEAD}{kernel}{corpus.WRAPPER.format(first='', last='')}"
    verdict = grader.grade("double", double=above)
    assert verdict.status == "PASS", verdict.sentence


def test_settings_are_put_back(grader: Grader) -> None:
    """Kills: a setting that the next cell still finds."""
    plain = grader.grade("halves", halves=TOLD).sentence
    lines = "\n".join([*LINES.values(), MORE])
    assert grader.grade("halves", halves=TOLD, extra=lines).sentence == plain


def test_a_number_without_end_is_a_sentence(grader: Grader) -> None:
    """Kills: CRASH for a number that JSON does not write."""
    verdict = grader.grade("halves", halves="def halves(n):\n    return [10**4400, n]")
    assert (verdict.status, "too large" in verdict.sentence) == ("FAIL", True), verdict.sentence
