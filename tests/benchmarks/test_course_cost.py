"""The cost of the course: measured on passes only, in new processes, and said with its place."""

import json
import time

import pytest

from benchmarks import cost, report


def data(load=0.0):
    return {
        "date": "2026-01-01",
        "versions": {"gpu": "no GPU", "torch": "9.9", "triton": "8.8", "python": "3.99"},
        "machine": {"cpu": "Paper CPU", "cores": 4, "load_before": load},
        "cold": [5.0, 9.0, 6.0],
        "checks": [
            {
                "exercise": "01_a",
                "key": "add",
                "first": 2.5,
                "again": [1.0, 3.0, 1.5],
                "failed": None,
            },
            {"exercise": "01_a", "key": "sub", "first": None, "again": [], "failed": "wrong"},
        ],
    }


def test_a_failed_check_has_no_seconds():
    """Kills: timing a check that raised, which is often fast."""

    def wrong():
        raise AssertionError("two cases fail\nmore")

    assert cost.check_seconds(wrong, 2) == {"first": None, "again": [], "failed": "two cases fail"}


def test_the_first_call_is_kept_apart():
    """Kills: compilation in the median of the calls after it."""
    waits = [0.2, 0.0, 0.0]
    found = cost.check_seconds(lambda: time.sleep(waits.pop(0)), 2)
    assert found["first"] >= 0.2 and len(found["again"]) == 2 and max(found["again"]) < 0.2


def test_the_table_shows_medians_spread_and_place():
    """Kills: a mean for a median, a failure counted as a pass, figures without their machine."""
    text = cost.table(data())
    assert "2.50     1.50  1.00 to 3.00" in text
    assert "failed: wrong" in text and "1 of 2 passed" in text
    assert "empty caches: 6.0 s (5.0 to 9.0, 3 runs)" in text
    assert "Paper CPU, 4 cores; torch 9.9, Triton 8.8, Python 3.99; 2026-01-01" in text
    assert "NOT QUIET" not in text


def test_a_busy_machine_is_said():
    """Kills: figures from a loaded machine that look like others."""
    assert "NOT QUIET: the load was 3.0" in cost.table(data(load=3.0))


def test_a_process_that_fails_is_an_error():
    """Kills: the seconds of a Python that stopped at its first import."""
    with pytest.raises(RuntimeError, match="exit code 1: ValueError: no"):
        cost.cold_seconds("raise ValueError('no')")


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["nothing"], "There is no exercise 'nothing'"),
        (["01", "--repeat", "0"], "--repeat is 0"),
        (["01", "--out", "/no/such/folder/x.json"], "there is no folder"),
        (["01", "--out", "/"], "is a folder; name a file"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, says, capsys):
    """Kills: a traceback, or minutes of measuring before the output's folder is looked at."""
    assert cost.main(arguments) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1


@pytest.mark.slow
def test_a_real_notebook_is_measured(tmp_path, capsys):
    """Kills: a worker whose own prints break its JSON; checks that never ran; the report reading
    the cost file as results."""
    path = tmp_path / "cost.json"
    assert cost.main(["00", "--repeat", "1", "--out", str(path)]) == 0
    found = json.loads(path.read_text())
    assert [check["key"] for check in found["checks"]] == ["tile_ranges", "copy"]
    assert all(check["first"] > 0 and len(check["again"]) == 1 for check in found["checks"])
    assert len(found["cold"]) == 1 and found["cold"][0] > 0.5
    assert "2 of 2 passed" in capsys.readouterr().out
    with pytest.raises(ValueError, match="holds no"):
        report.read(path)
