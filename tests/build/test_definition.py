"""The container's definition file, and the strict reader that watches it."""

from pathlib import Path

import pytest

from tritonbook.build import definition

ROOT = Path(__file__).resolve().parents[2]
DEF = ROOT / "singularity" / "workbook.def"
GOOD = """\
Bootstrap: docker
From: debian:bookworm-slim

# a comment
%arguments
    V=1

%files
    a.txt /opt/a.txt

%post
    set -e
    echo {{ V }}

%runscript
    exec true
"""


def problems(tmp_path, text):
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "x.def").write_text(text)
    return [problem.sentence for problem in definition.check(tmp_path / "x.def", tmp_path)]


def test_a_good_file_has_no_problem(tmp_path):
    assert problems(tmp_path, GOOD) == []


BROKEN = {
    "misspelt section": ("%post", "%psot", "%psot is no section."),
    "misspelt key": ("From:", "Fram:", "Fram is no header key."),
    "no value": ("From: debian:bookworm-slim", "From:", "must read 'Key: value'"),
    "no agent": ("Bootstrap: docker\n", "", "Bootstrap is missing"),
    "unknown agent": ("docker", "dokcer", "Bootstrap is dokcer"),
    "no image": ("From: debian:bookworm-slim\n", "", "needs a line 'From: image'"),
    "no tag": (":bookworm-slim", "", "names no tag"),
    "twice": ("%runscript", "%post", "%post is there twice."),
    "open quote": ("exec true", "exec 'true", "%runscript is no shell script"),
    "bash in sh": ("exec true", "if [[ x ]] { }", "%runscript is no shell script"),
    "empty": ("    exec true\n", "", "%runscript is empty."),
    "goes on": ("    set -e\n", "", "goes on after an error"),
    "undeclared": ("{{ V }}", "{{ W }}", "W has no default"),
    "unused": ("{{ V }}", "1", "V is declared and never used."),
    "half a variable": ("{{ V }}", "{{ V }", "opens no template variable"),
    "argument": ("V=1", "V 1", "must read NAME=value"),
    "missing file": ("a.txt /opt", "b.txt /opt", "b.txt is to be copied and does not exist."),
    "relative": ("/opt/a.txt", "opt/a.txt", "must be an absolute path."),
    "option": ("%post", "%post fast", "only -c may follow"),
    "tab": ("    set -e", "\tset -e", "tab"),
    "label": ("%runscript", "%labels\n    lonely\n\n%runscript", "'name value'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_every_kind_of_slip_is_named(tmp_path, name):
    old, new, sentence = BROKEN[name]
    assert GOOD.count(old) == 1
    assert any(sentence in found for found in problems(tmp_path, GOOD.replace(old, new)))


def test_the_workbooks_definition_is_sound():
    assert definition.check(DEF, ROOT) == []


def test_it_has_every_part_that_a_site_needs():
    found = definition.parse(DEF.read_text())
    wanted = {"arguments", "labels", "help", "files", "post", "environment", "runscript", "test"}
    assert set(found.sections) == wanted
    for tool in ("gcc", "python3-dev", "libc6-dev"):  # Triton's launcher is built at run time
        assert tool in found.sections["post"].text
    assert "TRITON_CACHE_DIR" in found.sections["environment"].text
    assert "pip" not in found.sections["runscript"].text  # offline at run time


def test_the_checker_counts_lines_from_the_file(tmp_path):
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "x.def").write_text(GOOD.replace("{{ V }}", "{{ W }}"))
    found = definition.check(tmp_path / "x.def", tmp_path)
    assert "echo {{ W }}" in GOOD.replace("{{ V }}", "{{ W }}").splitlines()[found[-1].line - 1]
