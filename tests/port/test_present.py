"""torch or Triton missing, broken or shadowed: one sentence and a command, in Jupyter too."""

import os
import platform
import subprocess
import sys

import pytest
import torch

from tritonbook.port import device, present
from tritonbook.port.pairs import triton_for

CELL = "from tritonbook import DEVICE, bench, check, setup\\nsetup()"
JUPYTER = f"""
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance(colors="NoColor").run_cell("{CELL}")
import os, sys
sys.stdout.flush()
os._exit(0)  # to take torch apart is half of the work
"""
COMMANDS = """
from tritonbook.cli import main
from tritonbook.command import leave
print(main(["doctor"]), main(["check", "01"]))
leave(0)
"""
PIP = f"{sys.executable} -m {triton_for(torch.__version__)}"
LIBRARY = "raise ImportError('libtriton.so: version `GLIBC_2.99\\' not found (required by it).')"

# What stands in a folder that Python looks into first, what is in the environment; the words of
# the sentence and of the mend.
MACHINES = {
    "no Triton": (
        {"triton.py": "raise ModuleNotFoundError('No', name='triton')"},
        {},
        f"Triton is not installed for {sys.executable}.",
        PIP,
    ),
    "no torch": (
        {"torch.py": "raise ModuleNotFoundError('No', name='torch')"},
        {},
        f"torch is not installed for {sys.executable}.",
        "-m pip install 'torch==",
    ),
    "a Triton for another system": (
        {"triton.py": LIBRARY},
        {},
        "Triton cannot be imported: libtriton.so: version `GLIBC_2.99' not found (required by it).",
        PIP,
    ),
    "libraries of another CUDA": (
        {"torch.py": "raise ImportError('libcudart.so.12: undefined symbol: x')"},
        {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"},
        "torch cannot be imported: libcudart.so.12: undefined symbol: x.",
        "unset LD_LIBRARY_PATH",
    ),
    "a learner's own triton.py": (
        {"triton.py": "notes = 1"},
        {},
        "triton.py is imported in place of Triton, because it has the same name.",
        "Rename ",
    ),
    "a learner's own torch.py": (
        {"torch.py": "notes = 1"},
        {},
        "torch.py is imported in place of torch, because it has the same name.",
        "Rename ",
    ),
    "a learner's own numpy.py": (
        {"numpy.py": "notes = 1"},
        {},
        "numpy.py is imported in place of numpy, because it has the same name.",
        "Rename ",
    ),
    "a learner's own folder triton": (
        {"triton/__init__.py": ""},
        {},
        "triton/__init__.py is imported in place of Triton",
        "Rename ",
    ),
    "compiled, and no GPU": (
        {},
        {"TRITON_INTERPRET": "0", "CUDA_VISIBLE_DEVICES": ""},
        "TRITON_INTERPRET=0 asks for compiled kernels, but torch finds no GPU here.",
        "unset TRITON_INTERPRET",
    ),
}


@pytest.mark.parametrize("case", MACHINES)
def test_the_set_up_cell_and_the_doctor_say_it_in_a_sentence(case, tmp_path):
    """Kills: a traceback, where one sentence says what to do."""
    files, variables, sentence, mend = MACHINES[case]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    env = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    env |= {"PYTHONPATH": str(tmp_path), **variables}

    def run(program):
        command = [sys.executable, "-c", program]
        return subprocess.run(command, env=env, capture_output=True, text=True)

    cell, typed = run(JUPYTER), run(COMMANDS)
    first, second = cell.stdout.splitlines()
    assert sentence in first and second.startswith("  mend: ") and mend in second
    assert "Traceback" not in cell.stderr
    assert typed.stderr == cell.stdout, typed.stderr  # of the check; the doctor has none
    assert sentence in typed.stdout and mend in typed.stdout
    assert "C compiler" in typed.stdout  # the rest is judged
    assert typed.stdout.splitlines()[-1] == "1 2"


def test_torch_loads_without_a_look_for_garbage(python):
    """Kills: a fifth of that time spent on it; a collector that stays off, or that is turned on
    where it was off."""
    text = """
import gc, sys
gc.{}able()
runs = []
gc.callbacks.append(lambda phase, info: runs.append("triton" in sys.modules))
import tritonbook
print(runs.count(False), gc.isenabled())
"""
    for word, after in ("en", "True"), ("dis", "False"):
        done = python.run("-c", text.format(word))
        few, enabled = done.stdout.split()
        assert int(few) < 100 and enabled == after, done


def test_on_another_system_the_mend_is_linux(monkeypatch):
    """Kills: `pip install triton` where there is no wheel."""
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(present.NotReady, match="not installed") as error:
        present.demand()
    assert "WSL2" in error.value.mend and "pip" not in error.value.mend


def test_an_AMD_gpu_is_left_to_the_interpreter(monkeypatch):
    """Kills: ROCm's torch, which calls its GPUs "cuda", taken for NVIDIA's."""
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.version, "hip", None)
    assert not device._interpreter_wanted()
    monkeypatch.setattr(torch.version, "hip", "6.4.1")
    assert device._interpreter_wanted()
