"""The profiler's events as plain dictionaries."""

import os

import pytest
import torch

from tritonbook.timing import record_trace


def work():
    with torch.profiler.record_function("my step"):
        torch.ones(64).cumsum(0).add(1)


def test_events_are_in_order_of_time_start_at_zero_and_say_what_they_are():
    # Kills: events in the order of their ends; time stamps of the machine's boot; an operator that
    # is taken for an annotation of the learner's.
    trace = record_trace(work)
    starts = [event["ts"] for event in trace]
    assert starts == sorted(starts) and starts[0] == 0.0
    assert all(set(event) == {"name", "cat", "tid", "ts", "dur"} for event in trace)
    found = {event["name"]: event["cat"] for event in trace}
    assert found["aten::cumsum"] == "cpu_op" and found["my step"] == "user_annotation"


@pytest.mark.slow
def test_a_trace_prints_nothing(python):
    """Kills: four red lines of PyTorch's profiler below the cell of a learner who did all right."""
    code = "import tritonbook.timing as t, torch; t.record_trace(lambda: torch.ones(3).exp())"
    bare = {name: value for name, value in os.environ.items() if name != "KINETO_LOG_LEVEL"}
    done = python.run("-c", code, env=bare)
    assert (done.returncode, done.stderr) == (0, "")
