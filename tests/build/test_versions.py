"""The run over pairs of torch and Triton, and the generated parts of the README."""

import sys

import pytest

from tritonbook import findings
from tritonbook.build import pairs, readme, versions
from tritonbook.build.pairs import PAIRS, Pair


def short(text):
    return ".".join(text.split(".")[:2])


def test_oldest_pinned_and_newest_are_run_as_the_pairs_that_they_are():
    """Kills: a Triton beside a torch that it was not built for, sold as that release."""
    run = [(short(pair.torch), short(pair.triton)) for pair in PAIRS]
    known = list(findings.PAIRS.items())
    assert run[0] == known[0] and run[-1] == known[-1]
    assert ("2.13", "3.7") in run and set(run) <= set(known)


def test_the_installed_pair_runs_in_this_python():
    """Kills: 5 GB fetched again for what is there; a CPU build taken for another release."""
    (here,) = [pair for pair in PAIRS if pair.installed()]
    assert str(pairs.python_of(here)) == sys.executable


def test_every_other_pin_holds_in_the_environment_of_a_pair():
    """Kills: a pair run with whatever numpy is newest; a sympy that its torch refuses."""
    lines = pairs.pins(Pair("2.6.0", "3.2.0")).splitlines()
    assert "torch==2.6.0" in lines and "triton==3.2.0" in lines
    assert not [line for line in lines if line.startswith("sympy")]
    ours = (versions.ROOT / "constraints.txt").read_text().splitlines()
    changed = [line for line in ours if line not in lines]
    assert len(changed) == 3 and all(
        line.startswith(("torch", "triton", "sympy")) for line in changed
    )


@pytest.fixture
def fake_python(monkeypatch, tmp_path):
    """A Python that makes environments and runs the course without doing either."""
    made = tmp_path / "python"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(pairs.sys, "executable", str(made))

    def write(pip="", answer=""):
        made.write_text(
            f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n'
            f'case "$2" in venv) mkdir -p "$4/bin"; cp "$0" "$4/bin/python";;\n'
            f"pip) {pip or 'exit 0'};;\n*) echo '{answer}';; esac\n"
        )
        made.chmod(0o755)
        return tmp_path

    return write


OLD = Pair("2.6.0", "3.2.0")


def test_an_environment_is_made_once_and_again_when_a_pin_changes(fake_python, monkeypatch):
    """Kills: a half-made environment that is used; one that outlives its pins."""
    calls = fake_python() / "calls"
    first = pairs.python_of(OLD)
    assert first == pairs.folder(OLD) / "bin" / "python" and pairs.python_of(OLD) == first
    assert calls.read_text().count("-m venv") == 1
    assert "torch==2.6.0 triton==3.2.0" in calls.read_text()
    monkeypatch.setattr(pairs, "pins", lambda pair: "numpy==1\n")
    pairs.python_of(OLD)
    assert calls.read_text().count("-m venv") == 2


def test_a_pair_that_pip_cannot_find_runs_with_the_installed_torch_and_says_so(
    fake_python, monkeypatch, tmp_path
):
    """Kills: a table that shows torch 2.6 where 2.13 ran."""
    answer = '{"torch": "2.13.0+cpu", "triton": "3.2.0"}'
    fake_python('echo "ERROR: no torch 2.6.0 for Python 3.99" >&2; exit 1', answer)
    monkeypatch.setattr(versions, "unpacked_triton", lambda release: tmp_path)
    found = versions.run_on(OLD, [], True)
    assert found["wanted"] == "2.6.0" and found["torch"] == "2.13.0+cpu"
    assert found["because"] == "no torch 2.6.0 for Python 3.99"
    assert not pairs.folder(OLD).exists()  # gigabytes go, and the next time tries again


def test_a_slow_line_ends_the_wait_for_a_pair(fake_python, monkeypatch):
    """Kills: a test run that waits for gigabytes until somebody ends it."""
    fake_python("exec sleep 60")
    monkeypatch.setenv(pairs.PATIENCE, "0.5")
    with pytest.raises(pairs.NotToBeHad, match="pip did not end in 0.5 s"):
        pairs.python_of(OLD)
    assert not pairs.folder(OLD).exists()


def test_a_run_counts_solutions_and_wrong_answers():
    found = versions.run_here(["00"], {"mutant": 1, "variant": 0, "untouched": 0})
    assert found["solutions"] == found["solutions_passed"] == 2
    assert found["mutants"] == found["mutants_refused"] == 2
    assert found["failures"] == []


@pytest.mark.parametrize("torch, triton", [("2.13.0+cpu", "3.2.0"), ("2.6.0", "3.7.1")])
def test_the_wrong_pair_is_not_passed_off_as_the_right_one(fake_python, torch, triton):
    """Kills: a Python that sees the installed torch or Triton before the pair's."""
    fake_python(answer=f'{{"torch": "{torch}", "triton": "{triton}"}}')
    with pytest.raises(RuntimeError, match="wanted torch 2.6.0 with Triton 3.2.0, ran torch"):
        versions.run_on(OLD, [], True)


def test_fill_replaces_what_stands_between_the_markers_and_nothing_else():
    text = "a\n<!-- t: generated -->\nold\n<!-- end of t -->\nz\n"
    once = readme.fill(text, "t", "new \\1")
    assert once == "a\n<!-- t: generated -->\nnew \\1\n<!-- end of t -->\nz\n"
    assert readme.fill(once, "t", "new \\1") == once
    with pytest.raises(ValueError, match="<!-- u: generated -->"):
        readme.fill(text, "u", "")


def test_the_version_table_has_a_row_a_run_and_names_a_substitute():
    """Kills: a row that hides which torch ran."""
    run = {"torch": "2.6.0+cu124", "triton": "3.2.0", "numpy": "2.4.6", "python": "3.11.7"}
    run |= {"solutions": 3, "solutions_passed": 2, "mutants": 5, "mutants_refused": 5}
    run |= {"wanted": "2.6.0", "because": ""}
    text = readme.version_table({"date": "2026-01-01", "runs": [run]})
    assert "| 2.6.0+cu124 | 3.2.0 | 2.4.6 | 3.11.7 | 2 of 3 | 5 of 5 |" in text
    assert "2026-01-01" in text and "not" not in text
    run |= {"torch": "2.13.0", "because": "no wheel for this Python."}
    text = readme.version_table({"date": "2026-01-01", "runs": [run]})
    assert "| 2.13.0, not 2.6.0 | 3.2.0 |" in text and "own: no wheel for this Python." in text


def test_the_readme_is_up_to_date():
    """`make sync` writes it; this is what tells a contributor who forgot."""
    for path, content in readme.generated(versions.ROOT).items():
        assert path.read_bytes() == content, "run make sync"
