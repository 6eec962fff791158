"""Colab, played: a machine with torch, triton, numpy, matplotlib and ipykernel, not the workbook.

The first cell of a notebook must fetch the workbook and the rest must run. The address that it
fetches from stands for a zip of this commit here; what Colab shows is looked at by hand.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tritonbook.build.release import read_release

ROOT = Path(__file__).resolve().parents[2]
GIVEN = ("torch", "triton", "numpy", "matplotlib", "ipykernel")

pytestmark = pytest.mark.container


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A virtual environment with what Colab has, as a Jupyter kernel named colab."""
    folder = tmp_path_factory.mktemp("colab")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    command = [python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", *GIVEN]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    kernel = folder / "jupyter" / "kernels" / "colab"
    kernel.mkdir(parents=True)
    start = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": start, "display_name": "colab", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    prefix = "--prefix=triton-workbook/"
    archive = folder / "workbook.zip"
    subprocess.run(["git", "archive", prefix, "-o", archive, "HEAD"], cwd=ROOT, check=True)
    return folder


@pytest.fixture
def run(machine, tmp_path, monkeypatch):
    """Run a notebook top to bottom on that machine; the texts of its outputs, by cell."""
    monkeypatch.setenv("JUPYTER_PATH", str(machine / "jupyter"))
    monkeypatch.setenv("TRITONBOOK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("PATH", f"{machine / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def go(path):
        text = path.read_text()
        address = read_release(ROOT).archive
        assert text.count(address) == 1
        notebook = nbformat.reads(text.replace(address, f"file://{machine}/workbook.zip"), 4)
        client = NotebookClient(
            notebook,
            kernel_name="colab",
            timeout=300,
            allow_errors=True,
            resources={"metadata": {"path": str(tmp_path)}},
        )
        client.execute()
        return {cell.id: outputs(cell) for cell in notebook.cells if cell.cell_type == "code"}

    return go


def outputs(cell):
    found = []
    for output in cell.outputs:
        text = output.get("text") or "".join(output.get("traceback", ()))
        found.append(text or output.get("data", {}).get("text/plain", ""))
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(found))


def test_an_untouched_notebook_installs_itself_and_runs_to_its_end(run):
    shown = run(ROOT / "notebooks" / "01_vector_add.ipynb")
    assert "Triton's interpreter" in shown["setup"] and "Error" not in shown["setup"]
    assert "not attempted" in shown["check-add"]
    broken = [name for name, text in shown.items() if "Traceback" in text]
    assert broken == []


def test_a_solved_notebook_passes(run):
    shown = run(ROOT / "solutions" / "01_vector_add.ipynb")
    assert "add: passed" in shown["check-add"]
