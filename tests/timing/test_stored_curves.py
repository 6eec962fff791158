"""Curves of a training, kept with the workbook for readers without a GPU."""

import pytest

from tritonbook.timing import bench, stored
from tritonbook.timing.clock import WallClock

CURVES = {"your kernels": [5.5, 2.25], "torch": [5.5, 2.125]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "DIRECTORY", tmp_path)
    monkeypatch.setenv("TRITONBOOK_STORE_BENCH", str(tmp_path))
    return tmp_path


def test_curves_come_back_as_measured_elsewhere(folder):
    """Kills: a CPU reader taking another machine's training for their own."""
    made = stored.Curves(CURVES, "what it wrote: — é")
    assert "NOT THIS MACHINE" not in made.label
    stored.keep("demo", made)
    found = stored.load("demo")
    assert (found.curves, found.text) == (CURVES, "what it wrote: — é")
    assert found.label == f"NOT THIS MACHINE: {made.label}"


def test_nothing_is_written_unasked(folder, monkeypatch):
    monkeypatch.delenv("TRITONBOOK_STORE_BENCH")
    stored.keep("demo", stored.Curves(CURVES))
    assert stored.load("demo") is None


def test_curves_are_no_table(folder):
    """Kills: one name given to a training and to a table of times."""
    stored.keep("demo", stored.Curves(CURVES))
    with pytest.raises(TypeError, match="is a Curves, no BenchResult"):
        bench({"one": lambda: 1}, stored="demo", timer=WallClock())
