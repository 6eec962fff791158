"""Page 90: each patient has the complaint that its text tells of, and loses it with the mend."""

from __future__ import annotations

import re

import pytest
import torch
from patients import as_it_came, mended, symptom

from tritonbook.course.exercises import get

PAGE = get("90_debug")
PATIENTS = tuple(PAGE.answers())
AS_IT_CAME = as_it_came(PAGE)


def lines(said: str, *words: str) -> list[str]:
    return [line for line in said.splitlines() if all(word in line for word in words)]


def test_patient_1_is_right_for_powers_of_two_alone(capsys):
    said = symptom(PAGE, "standardise", AS_IT_CAME["standardise"], capsys)
    assert all("right" in line for line in lines(said, "64 columns") + lines(said, "32 columns"))
    assert all(
        "[0, 1, 2, 3] of 4 wrong" in line for line in lines(said, "around 3") if "right" not in line
    )
    assert len(lines(said, "around 3", "wrong")) == 3  # 60, 40 and 33 columns

    # "The error grows with two things": the masked lanes and the mean.
    errors = [float(line.split()[-1]) for line in lines(said, "around 3", "wrong")]
    assert errors == sorted(errors)
    nearly = [float(line.split()[-1]) for line in lines(said, "around 0", "wrong")]
    assert max(nearly) < min(errors) / 5


def test_patient_2_is_right_at_the_first_call_alone(capsys):
    said = symptom(PAGE, "square_sum", AS_IT_CAME["square_sum"], capsys)
    assert "[1200.0, 2400.0, 3600.0]" in said and "True" in said


def test_patient_3_stands_still_in_half_precision(capsys):
    said = symptom(PAGE, "bias_gradient", AS_IT_CAME["bias_gradient"], capsys)
    assert "[200.0, 1000.0, 3000.0]" in lines(said, "float32")[0]
    assert "[200.0, 1000.0, 2048.0]" in lines(said, ".float16")[0]
    assert "[200.0, 256.0, 256.0]" in lines(said, "bfloat16")[0]


def test_patient_4_is_wrong_in_the_second_prompt(capsys):
    said = symptom(PAGE, "rope_rows", AS_IT_CAME["rope_rows"], capsys)
    assert "rows [1] of 2 wrong" in lines(said, "both prompts:")[0]
    assert "program 3 row 3 column 0" in said.partition("cos (8 by 2)")[2].partition("x (2 by")[0]


def test_patient_5_is_right_and_reads_outside(capsys):
    said = symptom(PAGE, "picked_logits", AS_IT_CAME["picked_logits"], capsys)
    got, want = re.match(r"(\[.*?\]) should be (\[.*?\])", said).groups()
    assert got == want
    assert "reads outside `z` (up to 100 elements before its start) with 1 lane" in said


@pytest.mark.parametrize("key", PATIENTS)
def test_the_mended_patient_has_no_complaint(key: str, capsys):
    said = symptom(PAGE, key, mended(PAGE)[key], capsys)
    assert "wrong" not in said and "outside" not in said
    if key == "square_sum":
        assert "[1200.0, 1200.0, 1200.0]" in said
    if key == "bias_gradient":
        assert "[200.0, 1000.0, 3008.0]" in lines(said, "bfloat16")[0]  # the page's prediction
        assert said.count("[200.0, 1000.0, 3000.0]") == 2


def test_the_arithmetic_of_patient_3():
    """The hint: 2,048 + 1 in float16. The answer: bfloat16's numbers near 3,000 lie 16 apart."""
    assert torch.tensor(2048.0).half() + 1 == 2048
    assert torch.tensor(3000.0).bfloat16() == 3008 and 3000 / 16 == 187.5
    assert torch.finfo(torch.float16).max == 65504
