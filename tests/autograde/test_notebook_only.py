"""What only a notebook understands costs no points where no answer needs it."""

from __future__ import annotations

import ast
import sys
import time
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace

import pytest
from grading import Grader
from test_ingest import ANSWER, Book, _cell, _ingested

from autograde.classroom.cells import HandedCell
from autograde.classroom.matching import match
from autograde.classroom.notebook_only import _is_here, as_python, leave_out
from autograde.judge.course import Course
from autograde.judge.work import Item

LINES = [
    "x = !ls",
    "x = %timeit -o sum(range(3))",
    "!pip install \\\n    einops",
    "await __import__('asyncio').sleep(0)",
    "y = [z async for z in stream()]",
    "display(1)",
    "import google.colab",
    "from google.colab import drive\ndrive.mount('/content/drive')",
    "import kaggle, math",
    "import nowhere_to_be_found as nw\nfor name in nw.names:\n    print(name)",
    "%matplotlib inline",
    "%env A=1",
    "?print",
    "print??",
    "get_ipython().run_line_magic('load_ext', 'autoreload')",
    "files = !ls\nprint(files[0], len(files))",
    "%time SCALE = 2",
    "def shown():\n    %timeit 1\n    return nw",
]

STAYS = {  # what of them runs
    "display(1)": "display(1)",
    "import kaggle, math": "import math",
    "%time SCALE = 2": "SCALE = 2",
    LINES[-1]: "def shown():\n    get_ipython().run_line_magic('timeit', '1')\n    return nw",
}


@pytest.fixture(scope="module")
def course(grader: Grader) -> Course:
    return grader.course


@pytest.mark.parametrize("lines", LINES)
def test_a_line_is_left_out(lines: str, course: Course) -> None:
    """Kills: an answer that is no Python for a line beside it, or that ends where the line runs; a
    line that moves those below; one that is left out without a word."""
    notes: list[str] = []
    handed = [HandedCell("code", ("answer-halves",), f"{lines}\n{ANSWER}")]
    answers, _ = match(course, handed, notes)
    tree = ast.parse(answers["answer-halves"])
    at = answers["answer-halves"].split("\n").index(ANSWER.split("\n")[0])
    assert at == len(lines.split("\n"))
    above = [node for node in tree.body if node.lineno <= at and not isinstance(node, ast.Pass)]
    assert "\n".join(map(ast.unparse, above)) == STAYS.get(lines, "")
    told = any("left out" in note for note in notes)
    assert told == (STAYS.get(lines) != ast.unparse(ast.parse(as_python(lines))))


def test_all_of_them_are_graded(blank: Book, course: Course, folder: Path, grader: Grader) -> None:
    """Kills: a line that passes for Python and ends the cell where it runs."""
    _cell(blank, "answer-halves")["source"] = "\n".join([*LINES, ANSWER])
    _, submission = _ingested(course, folder, blank)
    exercise = next(each for each in submission.exercises if each.key == "halves")
    verdict = grader.executor.run(Item(course, submission, exercise))
    assert verdict.status == "PASS", verdict.sentence
    assert any("left out, as no answer needs it: " in note for note in submission.notes)


def _left(*sources: str) -> tuple[list[str], list[str]]:
    cells, left = leave_out([HandedCell("code", (), text, text) for text in sources], {"f"})
    return [cell.source for cell in cells], left


def test_what_an_answer_needs_stays() -> None:
    """Kills: an import or a value left out that an answer uses, through a helper or another cell;
    a wrong sentence in place of "No module named"."""
    needed = "import nowhere\nN = nowhere.n\ndef g():\n    return N\ndef f():\n    return g()"
    assert _left(needed) == ([needed], [])
    assert _left("import nowhere", "def f():\n    return nowhere.n") == (
        ["import nowhere", "def f():\n    return nowhere.n"],
        [],
    )
    assert _left("import math, nowhere\ndef f():\n    return math.pi")[0] == [
        "import math\ndef f():\n    return math.pi"
    ]
    tried = "try:\n    import nowhere\nexcept ImportError:\n    nowhere = None"
    assert _left(tried) == ([tried], [])


def test_what_is_left_out_is_told_as_it_was_written() -> None:
    text = as_python("x = !ls\nprint(x)\nf = 1")
    cell = HandedCell("code", (), text, "x = !ls\nprint(x)\nf = 1")
    (made,), left = leave_out([cell], {"f"})
    assert (made.source, left) == ("pass\npass\nf = 1", ["x = !ls", "print(x)"])


def test_an_answer_that_is_another_programs(course: Course) -> None:
    """Kills: "no answer needs it", said of the answer."""
    text = f"%%bash\n{ANSWER}"
    notes: list[str] = []
    match(course, [HandedCell("code", ("answer-halves",), as_python(text), text)], notes)
    assert notes[0].startswith("answer-halves: its cell begins with %%bash"), notes
    assert not any("left out" in note for note in notes)


@pytest.mark.parametrize(
    ("before", "after"), [("```python\n", "\n```"), ("\n~~~\n", "\n~~~\n"), ("``` py\n", "")]
)
def test_a_fence_around_an_answer(before: str, after: str, course: Course) -> None:
    """Kills: 0 for a right answer as a chatbot gives it; lines that move."""
    notes: list[str] = []
    cell = HandedCell("code", ("answer-halves",), f"{before}!ls\n{ANSWER}{after}")
    answers, _ = match(course, [cell], notes)
    assert ast.dump(ast.parse(answers["answer-halves"])) == ast.dump(ast.parse(f"pass\n{ANSWER}"))
    at = ANSWER.splitlines().index(line := "def halves(n):")
    assert answers["answer-halves"].splitlines()[before.count("\n") + 1 + at] == line
    assert any("around its code was left out" in note for note in notes), notes


def test_a_fence_amid_an_answer_is_told(course: Course) -> None:
    """Kills: "SyntaxError, line 1" and no word of what to take out; a fence in a string told."""
    notes: list[str] = []
    text = f"Here it is:\n```python\n{ANSWER}\n```\nIt doubles."
    match(course, [HandedCell("code", ("answer-halves",), text)], notes)
    assert any("```python is Markdown's" in note and "delete" in note for note in notes), notes
    notes.clear()
    text = f'{ANSWER}\nHOW = """\n```\nhalves(3)\n```\n"""'
    match(course, [HandedCell("code", ("answer-halves",), text)], notes)
    assert not any("Markdown" in note for note in notes), notes


@pytest.mark.parametrize("sign", ["\x0c", "# \u2028 ", "# \x85"])
def test_a_sign_that_ends_no_line(sign: str, course: Course) -> None:
    """Kills: an answer cut in the wrong place for a form feed or a U+2028 in a comment."""
    double = "def double_kernel(x):\n    return x\n\n\ndef double(x):\n    return x"
    text = f"import torch\n{sign}\n{ANSWER}\n{sign}\n{double}\n"
    answers, _ = match(course, [HandedCell("script", (), text)], [])
    for name, function in (("answer-halves", "halves"), ("answer-double", "double")):
        names: dict[str, object] = {}
        exec(compile(answers[name], name, "exec"), names)
        assert function in names


def test_a_module_beside_the_notebook_is_named(blank: Book, course: Course, folder: Path) -> None:
    """Kills: "No module named mine" without a word about the mine.py that was handed in."""
    _cell(blank, "answer-halves")["source"] = f"from mine import EVEN\n{ANSWER}"
    (folder / "mine.py").write_text("EVEN = 2\n")
    _, submission = _ingested(course, folder, blank)
    assert "copy what it needs of 'mine.py' into a cell" in " ".join(submission.notes)


def test_a_module_that_a_cell_writes_is_named(blank: Book, course: Course, folder: Path) -> None:
    """Kills: "No module named mine" where a cell above has written mine.py."""
    _cell(blank, "answer-halves")["source"] = f"from mine import EVEN\n{ANSWER}"
    text = "%%writefile mine.py\nEVEN = 2\n"
    cell = {"cell_type": "code", "metadata": {}, "source": text, "outputs": []}
    blank["cells"].insert(0, cell)
    _, submission = _ingested(course, folder, blank)
    assert "imports mine, which a cell writes to a file" in " ".join(submission.notes)


@pytest.mark.parametrize("ending", [".png", ".txt"])
def test_many_files_beside_the_notebook(
    ending: str, blank: Book, course: Course, folder: Path
) -> None:
    """Kills: an honest notebook that is MISSING beside 600 plots."""
    _cell(blank, "answer-halves")["source"] = ANSWER
    for number in range(600):
        (folder / f"{number}{ending}").touch()
    answers, submission = _ingested(course, folder, blank)
    assert answers["answer-halves"] == ANSWER and submission.notes == ()


def test_much_code_takes_no_minute(blank: Book, course: Course, folder: Path) -> None:
    """Kills: one student's 8 MB of code that a class waits a minute for."""
    text = "x = foo(a, b[1:2], {'k': 1}) + 3 * y\n" * 5000
    cells = [{"cell_type": "code", "metadata": {}, "source": f"{text}# {n}"} for n in range(40)]
    blank["cells"] += cells
    began = time.process_time()
    _, submission = _ingested(course, folder, blank)
    assert time.process_time() - began < 20
    assert any("kB of code were read" in note for note in submission.notes)


def test_special_lines_take_no_minute(blank: Book, course: Course, folder: Path) -> None:
    """Kills: a cell whose every line IPython reads anew; a hundred of them."""
    began = time.process_time()
    as_python("!ls\n" * 20_000)
    lines = ["%timeit f(1)\n!ls\nx = !ls\nawait f()\n" * 40]
    blank["cells"] += [{"cell_type": "code", "metadata": {}, "source": lines}] * 300
    _, submission = _ingested(course, folder, blank)
    assert time.process_time() - began < 10
    assert any("than are read" in note for note in submission.notes)


def test_an_installed_checkout_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: `from tritonbook import ...` left out, with a note on each hand-in of a class, where
    the workbook is found by a finder of its own, as `pip install -e` gives it one."""
    spec = ModuleSpec("only_its_finder_knows", None, origin="checkout")
    found = SimpleNamespace(find_spec=lambda name, path: spec if name == spec.name else None)
    line = f"import {spec.name}"
    cells = [HandedCell("code", (), line, written=line)]
    assert leave_out(cells, ())[1] == [line]
    _is_here.cache_clear()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, found])
    assert leave_out(cells, ()) == (cells, [])
