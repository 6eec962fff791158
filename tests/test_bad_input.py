"""Bad input to any command of the workbook: one sentence on standard error, exit code 2, no more.

The instructor's command has tests of its own, in tests/autograde.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import benchmarks.__main__ as benchmarks
from tritonbook import cli, command
from tritonbook.build import __main__ as build
from tritonbook.port.device import INTERPRET

# Files that are not what they are named; {t} in an argument is the folder that they lie in.
FILES = {
    "text.ipynb": b"hello",
    "list.ipynb": b"[]",
    "binary.ipynb": b"\xff\xfe\x00\x01",
    "cells.ipynb": b'{"cells": 3}',
    "source.ipynb": b'{"cells": [{"cell_type": "code", "source": 5, "metadata": []}]}',
    "meta.ipynb": b'{"cells": [{"cell_type": "code", "source": "x", "metadata": {"tags": 4}}]}',
    "other.json": b"{",
}
LEARNER = """
nope|doctor extra|progress extra|progress --reset nope|progress --reset
check|check 99|check nope|check {t}/none.ipynb|check {t}/text.ipynb|check {t}/list.ipynb
check {t}/binary.ipynb|check {t}/folder.ipynb|check {t}/cells.ipynb|check {t}/source.ipynb
check {t}/meta.ipynb|check {t}/other.json|check kernel.py|check vector_ad|check 01 --only nope
check 01 --only|check --nope 01
certify {t}|certify {t}/none/page.html|certify /dev/full|certify a b|certify --name
lab --folder {t}/other.json|lab --folder {t}/other.json/in|certify --exam {t}/none.json
facts|facts nope|facts 99|facts add --arch 33|facts add --arch x|facts tile_ranges
"""
AUTHOR = """
|nope|sync nope|check 99|execute nope|execute nope --allow-interpreter
new|new nope|new 17|new 01_vector_add|new ../x|new 17_Scan|new 17_scan extra
kill-matrix extra|kill-matrix --exercise nope|kill-matrix --exercise nope --key
compile-check nope|compile-check 01 99|compile-check 01 --nope
matrix 99|matrix 01 99|matrix 01 --triton 1.0|matrix 01 --nope
--root {t}/none sync|--root {t}/folder.ipynb check|--root {t}/other.json sync
"""
MEASURER = """
nope|softmax nope|--nope|sweep sofmax
"""
COMMANDS = {
    "tritonbook": cli.main,
    "build": build.main,
    "benchmarks": benchmarks.main,
}
LINES = {
    "tritonbook": LEARNER,
    "build": AUTHOR,
    "benchmarks": MEASURER,
}
CASES = [
    pytest.param(COMMANDS[name], line.split(), id=f"{name} {line}")
    for name, lines in LINES.items()
    for line in lines.strip("\n").replace("\n", "|").split("|")
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRITONBOOK_HOME", str(tmp_path / "home"))
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.ipynb").mkdir()
    return tmp_path


@pytest.mark.parametrize(("main", "arguments"), CASES)
def test_bad_input_is_one_sentence_and_exit_2(main, arguments, folder, capsys):
    """Kills: a traceback, a page of usage, work done before the refusal, or a code of success."""
    before = sorted(folder.rglob("*"))
    try:
        code = main([argument.replace("{t}", str(folder)) for argument in arguments])
    except SystemExit as stop:
        code = stop.code
    said = capsys.readouterr()
    assert code == 2
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.endswith((".", "?")) and not line.endswith(("..", "?.")) and "Errno" not in line
    home = folder / "home"
    after = [path for path in sorted(folder.rglob("*")) if home not in (path, *path.parents)]
    assert after == before


def test_help_is_no_bad_input(capsys):
    for main in COMMANDS.values():
        with pytest.raises(SystemExit) as stop:
            main(["--help"])
        assert stop.value.code == 0
    assert "usage: tritonbook" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FileNotFoundError(2, "No such file or directory", "x.json"), "x.json: No such file or"),
        (KeyError("there is no 'x'"), "there is no 'x'."),
        (LookupError("did you mean 'x'?"), "did you mean 'x'?"),
        (ValueError("two\n  lines"), "two lines."),
        (RuntimeError(), "RuntimeError."),
    ],
)
def test_an_error_as_a_sentence(error, text):
    assert command.sentence(error).startswith(text)


def test_benchmarks_need_a_gpu(capsys):
    """Kills: times of the interpreter in the results of a GPU."""
    if not INTERPRET:
        pytest.skip("there is a GPU")
    assert benchmarks.main(["softmax"]) == 2
    assert "need a CUDA GPU" in capsys.readouterr().err
