"""Pages as plain files."""

import pytest

from tritonbook.course import gaps, plain, terminal
from tritonbook.course.exercises import Exercise, exercises, get


@pytest.mark.parametrize("exercise", exercises(), ids=lambda each: each.slug)
def test_every_page_comes_back_from_its_file(exercise):
    """Kills: a cell, a tag or a line that is lost on the way; a solution or hint in the file."""
    text = plain.text_of(exercise)
    cells = plain.cells_of(text)
    code = [cell for cell in exercise.cells if cell.kind == "code"]
    assert [cell.tags for cell in cells] == [cell.tags for cell in code]
    for cell, original in zip(cells, code, strict=True):
        source = original.source
        if original.role == "answer":
            source = gaps.learner_text(source)
        if original.role != "setup":
            assert cell.source.strip() == source.strip()
        assert text.splitlines()[cell.line - 1].startswith("# %%")
    assert "<summary>Hint" not in text and "SOLUTION" not in text
    compile(text, "page.py", "exec")


def test_a_file_in_which_somebody_made_cells_of_his_own_is_read():
    text = "# %%\nx = 1\n# %% [md] notes\n# text\n# %% my own title\ny = 2\n# %%pasted\nz = 3\n"
    assert [cell.source.strip() for cell in plain.cells_of(text)] == ["x = 1", "y = 2", "z = 3"]


def test_one_answer_is_replaced_and_nothing_else():
    text = plain.text_of(get("01"))
    solved = gaps.solved_text(get("01").answers()["add_tiled"].source)
    changed = plain.with_answer(text, "add_tiled", solved)
    before, after = plain.cells_of(text), plain.cells_of(changed)
    differ = [a.key for a, b in zip(before, after, strict=True) if a.source != b.source]
    assert differ == ["add_tiled"]
    assert plain.with_answer(changed, "add_tiled", gaps.learner_text(solved)) != text
    assert plain.with_answer(text, "no_such", "x") is None


@pytest.fixture
def run(small_notebook, tmp_path):
    """Run the page of `double` as a plain file, with this answer."""
    small_notebook()
    page = Exercise(tmp_path / "pages" / "98_double" / "page.py")
    setup = "from tritonbook import check\nimport torch"
    text = plain.text_of(page).replace("import os\nimport torch", setup)

    def go(answer, only=None):
        path = tmp_path / "98_double.py"
        path.write_text(plain.with_answer(text, "double", answer))
        return terminal.run_notebook(path, only)

    return go


def test_a_plain_file_is_run_like_a_notebook(run):
    done = run("def double(x):\n    return x + x")
    assert done.passed and done.checks[0].key == "double"
    assert run("def double(x):\n    return 3 * x").checks[0].state == "wrong"
    assert run("def double(x):\n    return 3 * x", only=[]).checks == []


def test_errors_name_the_line_of_the_file(run, tmp_path):
    """Kills: the line of a cell, which no editor shows."""
    done = run("def double(x):\n    return 2 * (x")
    lines = (tmp_path / "98_double.py").read_text().splitlines()
    line = lines.index("    return 2 * (x") + 1
    assert done.checks[0].reason == f"SyntaxError: '(' was never closed (line {line})"
    done = run("def double(x):\n    return 2 * x\nprint(1 / 0)")
    line = (tmp_path / "98_double.py").read_text().splitlines().index("print(1 / 0)") + 1
    assert done.broken == [f"ZeroDivisionError: division by zero (line {line})"]
