"""Page 90: each patient has the complaint that its text tells of, and loses it with the mend."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from patients import as_it_came, mended, symptom

from tritonbook.course.exercises import get

PAGE = get("90_debug")
PATIENTS = tuple(PAGE.answers())
AS_IT_CAME = as_it_came(PAGE)
MENDED = mended(PAGE)


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
    said = symptom(PAGE, key, MENDED[key], capsys)
    assert "wrong" not in said and "outside" not in said
    if key == "square_sum":
        assert "[1200.0, 1200.0, 1200.0]" in said
    if key == "bias_gradient":
        assert "[200.0, 1000.0, 3008.0]" in lines(said, "bfloat16")[0]  # the page's prediction
        assert said.count("[200.0, 1000.0, 3000.0]") == 2


def test_the_file_for_memcheck_runs_by_itself(monkeypatch, capsys):
    """The cell on a GPU: what it makes of the notebook's cells is a program with the answer."""
    (cell,) = [c.source for c in PAGE.cells if "surroundings" in c.source]
    helper = next(c.source for c in PAGE.cells if "def require_contiguous(" in c.source)
    first, answer = AS_IT_CAME["picked_logits"], MENDED["picked_logits"]
    typed = SimpleNamespace(user_ns={"In": ["", helper, first, answer, "check(x)", cell]})
    run, asked = subprocess.run, []

    def python_alone(command, env, **more):
        asked.append((command, env))
        text = Path(command[-1]).read_text()
        assert answer in text and first not in text
        Path(command[-1]).write_text(text.replace('"cuda"', '"cpu"'))
        done = run(command[-2:], env=env | {"TRITON_INTERPRET": "1"}, check=True, **more)
        lines = [f"line {n}" for n in range(9)]
        return SimpleNamespace(stdout="\n".join([done.stdout.strip(), "= Host Frame: x", *lines]))

    monkeypatch.setattr("IPython.get_ipython", lambda: typed)
    monkeypatch.setattr("shutil.which", lambda name, path: f"/cuda/{name}")
    monkeypatch.setattr("subprocess.run", python_alone)
    exec(compile(cell, "cell", "exec"), {"DEVICE": "cuda"})

    ((command, env),) = asked
    assert command[:3] == ["/cuda/compute-sanitizer", "--tool", "memcheck"]
    assert env["PYTORCH_NO_CUDA_MEMORY_CACHING"] == "1"
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].replace(" ", "").startswith("tensor([0.0000,")
    assert shown[1:] == ["line 0", "line 1", "line 2", "line 3", "line 4", "line 8"]
