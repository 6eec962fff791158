"""Results and curves of a training, kept with the workbook for readers without a GPU."""

import dataclasses

import pytest

from tritonbook.timing import BenchResult, Ceilings, Row, Sweep, bench, bench_sweep, stored
from tritonbook.timing.clock import WallClock

CURVES = {"your kernels": [5.5, 2.25], "torch": [5.5, 2.125]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "DIRECTORY", tmp_path)
    monkeypatch.setenv("TRITONBOOK_STORE_BENCH", str(tmp_path))
    return tmp_path


def test_a_stored_result_is_labelled_as_measured_elsewhere(folder):
    # Kills: a CPU reader taking another machine's figures for their own.
    first, again = (bench({"one": lambda: 1}, stored="demo", timer=WallClock()) for _ in range(2))
    assert "wall clock" in first.table() and "another machine" not in first.table()
    assert "another machine" in again.table() and again["one"].ms == first["one"].ms


def test_results_come_back_as_they_were(folder):
    row, peaks = Row("one", 1.0, 0.9, 1.1, gbps=2.0), Ceilings("Paper GPU", 1000.0, 100.0)
    here = BenchResult([row], "a clock", True, peaks=peaks)
    far = dataclasses.replace(here, elsewhere=True)
    for made, found in ((here, far), (Sweep("n", [1], [here]), Sweep("n", [1], [far]))):
        stored.keep("demo", made)
        assert stored.load("demo") == found


def test_a_stored_result_is_no_sweep(folder):
    """Kills: one name given to two results of a page, whose plot then fails far from here."""
    bench({"one": lambda: 1}, stored="demo", timer=WallClock())
    with pytest.raises(TypeError, match="stored as 'demo' is a BenchResult, no Sweep"):
        bench_sweep("n", [1], lambda n: {"fns": {}}, stored="demo", timer=WallClock())


def test_curves_come_back_as_measured_elsewhere(folder):
    """Kills: a CPU reader taking another machine's training for their own."""
    made = stored.Curves(CURVES, "what it wrote: — é")
    assert "another machine" not in made.label
    stored.keep("demo", made)
    found = stored.load("demo")
    assert (found.curves, found.text) == (CURVES, "what it wrote: — é")
    assert found.label == f"measured on another machine: {made.label}"


def test_nothing_is_written_unasked(folder, monkeypatch):
    monkeypatch.delenv("TRITONBOOK_STORE_BENCH")
    stored.keep("demo", stored.Curves(CURVES))
    assert stored.load("demo") is None
