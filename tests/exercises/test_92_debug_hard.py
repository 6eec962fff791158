"""Page 92: each patient has the complaint that its text tells of, and loses it with the mend."""

from __future__ import annotations

import pytest
import torch
from patients import as_it_came, symptom

from tritonbook import traffic
from tritonbook.course import gaps
from tritonbook.course.exercises import get, load

PAGE = get("92_debug_hard")
AS_IT_CAME = as_it_came(PAGE)
MENDED = {key: gaps.solved_text(cell.source) for key, cell in PAGE.answers().items()}


@pytest.mark.parametrize(
    ("key", "ill", "well"),
    [
        (
            "shift_gradient",
            "first to last: wrong rows []\nlast to first: wrong rows [15, 31]",
            "last to first: wrong rows []",
        ),
        (
            "window_attend",
            "NaN at these numbers of keys: 64 to 99",
            "NaN at these numbers of keys: none",
        ),
        (
            "row_squares",
            "128 columns: [128.0, 128.0]\n100 columns: [nan, nan]\n120 columns: [120.0, 120.0]\n"
            "90 columns: [nan, nan]",
            "100 columns: [100.0, 100.0]",
        ),
        (
            "cache_rows",
            "layer 0: rows that changed: [3]\nlayer 1: rows that changed: [0, 2]",
            "layer 0: rows that changed: []\nlayer 1: rows that changed: [0, 2]",
        ),
        ("expert_sums", "[32, 48] [32.0, 16.0]\nStopped after 2 s.", "[20, 48] [20.0, 28.0]"),
    ],
)
def test_the_complaint_is_there_and_goes_with_the_mend(key: str, ill: str, well: str, capsys):
    assert ill in symptom(PAGE, key, AS_IT_CAME[key], capsys)
    said = symptom(PAGE, key, MENDED[key], capsys)
    assert well in said and "nan" not in said and "Stopped" not in said


def test_patient_6_is_seen_by_traffic():
    """The hint: a cell at which two programs meet, without running anything backwards."""
    given = torch.randn(40, 4)
    ill = load(PAGE, {"shift_gradient": AS_IT_CAME["shift_gradient"]}).shift_gradient
    assert "another program" in str(traffic(ill, given, 0.5))
    assert "another program" not in str(traffic(load(PAGE).shift_gradient, given, 0.5))


def test_patient_8_needs_full_pieces():
    """The hint: 100 columns in 8 pieces of 16 leave one piece empty; 120 leave none."""
    pieces = {N: -(-N // (-(-(-(-N // 8)) // 16) * 16)) for N in (128, 100, 120, 90)}  # noqa: B002
    assert pieces == {128: 8, 100: 7, 120: 8, 90: 6}
