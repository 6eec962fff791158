"""Page 90: what its text tells of two patients, and its file for memcheck."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

from patients import as_it_came, mended, symptom

from tritonbook.course.exercises import get
from tritonbook.course.page_checks import pictures

PAGE = get("90_debug")
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


def test_patient_5_is_right(capsys):
    said = symptom(PAGE, "picked_logits", AS_IT_CAME["picked_logits"], capsys)
    got, want = re.match(r"(\[.*?\]) should be (\[.*?\])", said).groups()
    assert got == want


def test_the_file_for_memcheck_runs_by_itself(monkeypatch, capsys):
    """The cell on a GPU: what it makes of the notebook's cells is a program with the answer."""
    (cell,) = [c.source for c in PAGE.cells if ".sanitize(" in c.source]
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
    module = pictures("debug")
    monkeypatch.setattr(module, "DEVICE", "cuda")
    exec(compile(cell, "cell", "exec"), {"pictures": lambda name: module})

    ((command, env),) = asked
    assert command[:3] == ["/cuda/compute-sanitizer", "--tool", "memcheck"]
    assert env["PYTORCH_NO_CUDA_MEMORY_CACHING"] == "1"
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].replace(" ", "").startswith("tensor([0.0000,")
    assert shown[1:] == ["line 0", "line 1", "line 2", "line 3", "line 4", "line 8"]
