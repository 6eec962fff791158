"""The clinic's pages: what a symptom cell prints with an answer, and how an answer is judged."""

from __future__ import annotations

import ast

import torch

from tritonbook.checking import Report
from tritonbook.course import gaps
from tritonbook.course.exercises import Exercise, load
from tritonbook.course.page_checks import run_page_check
from tritonbook.seeing.tiles import traffic


def as_it_came(page: Exercise) -> dict[str, str]:
    """The answer cell of each patient as a learner gets it."""
    return {key: gaps.learner_text(cell.source) for key, cell in page.answers().items()}


def mended(page: Exercise) -> dict[str, str]:
    """The same cells as solved."""
    return {key: gaps.solved_text(cell.source) for key, cell in page.answers().items()}


def stub_and_cause(page: Exercise, key: str) -> tuple[str, str]:
    """The line of a patient's cell whose place the cause takes, and the line that names it."""
    stub = f'raise NotImplementedError("TODO: fill in {key}_cause")'
    return stub, mended(page)[key].rstrip().splitlines()[-1].strip()


def symptom(page: Exercise, key: str, text: str, capsys) -> str:
    """What the symptom cell of a patient prints with this answer."""
    torch.manual_seed(0)
    names = dict(vars(load(page, {key: text})))
    cells = list(page.cells)
    hints = {cell.key: at for at, cell in enumerate(cells) if cell.role == "hint"}
    symptoms = {
        patient: next(cell for cell in cells[at:] if cell.kind == "code")
        for patient, at in hints.items()
    }
    helpers = [cell for cell in cells[: hints[key]] if cell.kind == "code" and cell.role is None]
    for cell in (*(cell for cell in helpers if cell not in symptoms.values()), symptoms[key]):
        capsys.readouterr()
        tree = ast.parse(cell.source)
        last = tree.body[-1]
        if isinstance(last, ast.Expr):  # what a notebook shows of a cell's last line
            tree.body[-1] = ast.parse(f"shown = {ast.unparse(last)}").body[0]
        exec(compile(tree, "cell", "exec"), names)
        print(names.get("shown"))
    if key == "picked_logits":  # its values are right: the learner has to choose a tool
        print(traffic(names[key], names["z"], names["targets"]))
    return capsys.readouterr().out


def judged(page: Exercise, key: str, text: str) -> Report:
    """What the visible check says of an answer."""
    return run_page_check(load(page, {key: text}), key, hidden=False)
