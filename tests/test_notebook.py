"""What the set-up cell prints, and errors that are one line in a notebook."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tritonbook import __version__, notebook, words
from tritonbook.notebook import machinery
from tritonbook.port import device


@pytest.mark.parametrize("made_for", [None, __version__])
def test_the_set_up_cell_prints_the_machine_alone(made_for, capsys):
    notebook.setup(made_for=made_for)
    assert capsys.readouterr().out == f"{device.describe()}\n"


def test_another_version_is_named_in_one_sentence(capsys):
    """Kills: a page of an old release that fails in its middle, and nobody knows why."""
    notebook.setup(made_for="0.0.9")
    _, line = capsys.readouterr().out.splitlines()
    assert line == (
        f"This page belongs to workbook 0.0.9, and {__version__} is installed here: if a cell "
        f"fails, fetch the page that belongs to {__version__}, or install 0.0.9."
    )


def test_a_page_that_is_loaded_prints_nothing(capsys):
    with machinery():
        notebook.setup(made_for="0.0.9")
    assert capsys.readouterr().out == ""


def lines_of(error: Exception) -> list[str]:
    """What a notebook shows of an error that a function raised."""

    def raises():
        raise error

    shell = SimpleNamespace(
        InteractiveTB=SimpleNamespace(structured_traceback=lambda *_, **__: ["a", "traceback"]),
        _showtraceback=lambda *_: None,
    )
    try:
        raises()
    except Exception as caught:
        return notebook._one_line(shell, type(caught), caught, caught.__traceback__)


def test_a_function_that_the_check_needs_and_that_was_not_run_is_one_line():
    """Kills: the inside of the check, shown to a learner who skipped a cell."""
    missing = NameError("choose is not defined. Run the cell that defines it.", name="choose")
    assert lines_of(missing) == [
        "NameError: choose is not defined. Run the cell that defines it first."
    ]
    assert lines_of(NameError("name 'y' is not defined", name="y")) == ["a", "traceback"]


def test_an_error_of_the_workbook_is_in_the_readers_language():
    """Kills: `bench` that refuses a baseline in English, on a Chinese page."""
    with words.speaking("zh"):
        for error in KeyError("no row 'a'; there are b, c"), ValueError("of the reader's own"):
            assert lines_of(error) == ["a", "traceback"]
            said = error.args[0]
            assert said == "of the reader's own" or said == "没有 'a' 这一行；现有的是 b、c"


def test_a_gpu_that_is_not_there_is_one_line(monkeypatch):
    """Kills: forty lines of PyTorch's for `device="cuda"`, or after `torch.set_default_device`."""
    monkeypatch.setattr(device, "INTERPRET", True)
    for error in (
        AssertionError("Torch not compiled with CUDA enabled"),
        RuntimeError("Found no NVIDIA driver on your system. Please check that you have one."),
    ):
        assert lines_of(error) == [
            "There is no GPU here. Write DEVICE where a device is named: with a GPU it is the GPU."
        ]
    assert lines_of(RuntimeError("another")) == ["a", "traceback"]


@pytest.mark.parametrize(
    "cell", ["```python\nx = 2\n```", "\n~~~ py\nx = 2\n", "```\n  x = 2\n\n```\n", "x = 2\n```"]
)
def test_a_cell_pasted_with_its_fence_runs(cell, monkeypatch, capsys):
    """Kills: "SyntaxError: invalid syntax", of code as a chatbot gives it."""
    shell = InteractiveShell()
    monkeypatch.setattr(notebook, "_shell", lambda: shell)
    notebook.setup()
    notebook.setup()  # once more
    assert shell.run_cell(cell).success and shell.user_ns["x"] == 2
    said = 'x = """\n```\n3\n```\n"""'
    assert shell.run_cell(said).success and shell.user_ns["x"] == "\n```\n3\n```\n"
    assert shell.input_transformers_cleanup.count(notebook.unfenced) == 1
