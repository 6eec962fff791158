"""Run solved notebooks and keep their outputs, with the machine that they come from."""

from __future__ import annotations

import copy
import datetime
import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from ..course.exercises import Exercise
from . import outputs, sync, views
from .release import Release

CELL_SECONDS = 600
# What a library says about the author's Jupyter is of no use to a reader.
QUIET = {"PYTHONWARNINGS": "ignore:IProgress not found"}


class ExecutionError(RuntimeError):
    """A cell of a solved notebook failed; the text names the notebook and quotes the error."""


def execute(exercise: Exercise, release: Release, root: Path) -> Path:
    """Run solutions/NN_slug.ipynb from its exercise file, store its outputs, return its path.

    The outputs carry the hash of their source, the GPU, the versions and the date. Raises
    ExecutionError where a cell fails; the file then stays as it was.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    from ..port.device import versions

    notebook = views.solution(exercise, release)
    client = NotebookClient(
        copy.deepcopy(notebook),
        timeout=CELL_SECONDS,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(root)}},
    )
    try:
        # A home of its own: progress starts empty, and the author's is left alone. Checks and
        # solutions come from the pages of this checkout.
        with tempfile.TemporaryDirectory() as home:
            own = {"TRITONBOOK_HOME": home, "TRITONBOOK_EXERCISES": str(root / "exercises")}
            done = client.execute(env={**os.environ, **QUIET, **own})
            places = {home: "~/.local/share/tritonbook", f"{Path.home()}/": "~/"}
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise ExecutionError(f"{exercise.slug}: {error}") from error
    for cell, ran in zip(notebook.cells, done.cells, strict=True):
        if cell.cell_type == "code":
            cell.outputs = [_tidy(output, places) for output in ran.outputs]
            cell.execution_count = ran.execution_count
    notebook.metadata.workbook["made_from"] = NotebookNode(outputs.source_hashes(notebook))
    notebook.metadata.workbook["executed"] = NotebookNode(
        versions(), date=datetime.date.today().isoformat()
    )
    _, path, _ = sync.paths(root, exercise.slug)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(views.to_bytes(notebook))
    return path


def _tidy(output: NotebookNode, places: Mapping[str, str]) -> NotebookNode:
    """An output without what is twice there, and with places as a reader has them: their own home,
    and a cell where Jupyter names a file that is gone."""
    text = json.dumps(output)
    for place, name in places.items():
        text = text.replace(json.dumps(place)[1:-1], name)
    text = re.sub(r"/\w[\w/.-]*/ipykernel_\d+/\d+\.py", "cell.py", text)
    output = nbformat.from_dict(json.loads(text))
    data = output.get("data", {})
    # A picture comes twice: in HTML with its text for live notebooks, and plain. Pages that are
    # stored need it once, and GitHub draws the plain one.
    if any(kind.startswith("image/") for kind in data):
        data.pop("text/html", None)
    return output
