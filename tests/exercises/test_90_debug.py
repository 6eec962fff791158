"""Page 90: each patient has the complaint that its text tells of, and loses it with the mend."""

from __future__ import annotations

import ast
import re

import pytest
import torch

from tritonbook.course import gaps
from tritonbook.course.cases import checks, run_page_check
from tritonbook.course.exercises import get, load

PAGE = get("90_debug")
PATIENTS = tuple(PAGE.answers())
AS_IT_CAME = {key: gaps.learner_text(cell.source) for key, cell in PAGE.answers().items()}


def symptom(key: str, text: str, capsys) -> str:
    """What the symptom cell of a patient prints with this answer."""
    torch.manual_seed(0)
    names = dict(vars(load(PAGE, {key: text})))
    cells = list(PAGE.cells)
    after = next(i for i, cell in enumerate(cells) if cell.role == "hint" and cell.key == key)
    helper = next(cell for cell in cells if cell.source.startswith("def compare("))
    for cell in (helper, next(cell for cell in cells[after:] if cell.kind == "code")):
        capsys.readouterr()
        tree = ast.parse(cell.source)
        last = tree.body[-1]
        if isinstance(last, ast.Expr):  # what a notebook shows of a cell's last line
            tree.body[-1] = ast.parse(f"shown = {ast.unparse(last)}").body[0]
        exec(compile(tree, "cell", "exec"), names)
        print(names.get("shown"))
    return capsys.readouterr().out


def lines(said: str, *words: str) -> list[str]:
    return [line for line in said.splitlines() if all(word in line for word in words)]


def test_patient_1_is_right_for_powers_of_two_alone(capsys):
    said = symptom("standardise", AS_IT_CAME["standardise"], capsys)
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
    said = symptom("square_sum", AS_IT_CAME["square_sum"], capsys)
    assert "[1200.0, 2400.0, 3600.0]" in said and "True" in said


def test_patient_3_stands_still_in_half_precision(capsys):
    said = symptom("bias_gradient", AS_IT_CAME["bias_gradient"], capsys)
    assert "[200.0, 1000.0, 3000.0]" in lines(said, "float32")[0]
    assert "[200.0, 1000.0, 2048.0]" in lines(said, ".float16")[0]
    assert "[200.0, 256.0, 256.0]" in lines(said, "bfloat16")[0]


def test_patient_4_is_wrong_in_the_second_prompt(capsys):
    said = symptom("rope_rows", AS_IT_CAME["rope_rows"], capsys)
    assert "rows [1] of 2 wrong" in lines(said, "both prompts:")[0]
    assert "program 3 row 3 column 0" in said.partition("cos (8 by 2)")[2].partition("x (2 by")[0]


def test_patient_5_is_right_and_reads_outside(capsys):
    said = symptom("picked_logits", AS_IT_CAME["picked_logits"], capsys)
    got, want = re.match(r"(\[.*?\]) should be (\[.*?\])", said).groups()
    assert got == want
    assert "reads outside `z` (up to 100 elements before its start) with 1 lane" in said


@pytest.mark.parametrize("key", PATIENTS)
def test_the_mended_patient_has_no_complaint(key: str, capsys):
    said = symptom(key, gaps.solved_text(PAGE.answers()[key].source), capsys)
    assert "wrong" not in said and "outside" not in said
    if key == "square_sum":
        assert "[1200.0, 1200.0, 1200.0]" in said
    if key == "bias_gradient":
        assert "[200.0, 1000.0, 3008.0]" in lines(said, "bfloat16")[0]  # the page's prediction
        assert said.count("[200.0, 1000.0, 3000.0]") == 2


def test_the_page_s_table_names_what_the_checks_know():
    """Kills: a cause that a check calls unknown, or one that no table shows."""
    (table,) = [c.source for c in PAGE.cells if "| name | cause |" in c.source]
    shown = set(re.findall(r'^\| `"([^"]+)"` \|', table, flags=re.MULTILINE))
    for key, check in checks(PAGE).items():
        with pytest.raises(AssertionError, match="no name of the table") as error:
            check.before[0](None, lambda: "nothing")
        assert set(str(error.value).rpartition("They are: ")[2].rstrip(".").split(", ")) == shown, (
            key
        )


def judged(key: str, text: str):
    return run_page_check(load(PAGE, {key: text}), key, hidden=False)


@pytest.mark.parametrize("key", PATIENTS)
def test_a_cause_counts_with_a_mended_kernel_alone(key: str):
    """Kills: a point for a guess. And a mended kernel whose cause nobody has named is told so."""
    stub = f'raise NotImplementedError("TODO: fill in {key}_cause")'
    solved = gaps.solved_text(PAGE.answers()[key].source)
    named = solved.rstrip().splitlines()[-1].strip()
    assert judged(key, AS_IT_CAME[key]).state == "not attempted"
    assert judged(key, AS_IT_CAME[key].replace(stub, named)).state == "wrong"
    assert judged(key, solved.replace(named, stub)).state == "not attempted"


@pytest.mark.parametrize("key", PATIENTS)
def test_a_wrong_cause_is_told_what_speaks_against_it(key: str):
    solved = gaps.solved_text(PAGE.answers()[key].source)
    named = solved.rstrip().splitlines()[-1].strip()
    report = judged(key, solved.replace(named, 'return "grid"'))
    assert report.state == "wrong"
    assert report.finding.sentence.startswith(
        "The kernel is mended. But 'grid' is not what ailed it: "
    )
    assert all(row.state == "passed" for row in report.cases)


def test_the_arithmetic_of_patient_3():
    """The hint: 2,048 + 1 in float16. The answer: bfloat16's numbers near 3,000 lie 16 apart."""
    assert torch.tensor(2048.0).half() + 1 == 2048
    assert torch.tensor(3000.0).bfloat16() == 3008 and 3000 / 16 == 187.5
    assert torch.finfo(torch.float16).max == 65504
