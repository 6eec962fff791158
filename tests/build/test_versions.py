"""The run over pairs of torch and Triton, and the generated parts of the README."""

import subprocess
from subprocess import CalledProcessError

import pytest

from tritonbook.build import readme, versions
from tritonbook.build.release import Release
from tritonbook.build.versions import PAIRS, Pair
from tritonbook.port import pairs


def short(text):
    return ".".join(text.split(".")[:2])


def test_oldest_pinned_and_newest_are_run_as_the_pairs_that_they_are():
    """Kills: a Triton beside a torch that it was not built for, sold as that release."""
    run = [(short(pair.torch), short(pair.triton)) for pair in PAIRS]
    known = list(pairs.PAIRS.items())
    assert run[0] == known[0] and run[-1] == known[-1]
    assert ("2.13", "3.7") in run and set(run) <= set(known)


def test_the_installed_pair_is_one_of_them():
    """Kills: 5 GB fetched again for what is there; a CPU build taken for another release."""
    assert [pair.installed() for pair in PAIRS].count(True) == 1


@pytest.fixture
def fake_python(monkeypatch, tmp_path):
    """A Python that fetches packages and runs the course without doing either."""
    made = tmp_path / "python"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(versions.sys, "executable", str(made))

    def write(pip="", answer=""):
        made.write_text(
            f'#!/bin/sh\necho "$@ path=$PYTHONPATH" >> {tmp_path}/calls\n'
            f'case "$2" in pip) {pip or "exit 0"};;\n'
            # As `tritonbook.child` answers: behind the word that the question begins with.
            f"*) echo ready; read line; echo $(echo $line | cut -c3-18)'{answer}';; esac\n"
        )
        made.chmod(0o755)
        return tmp_path

    return write


OLD = Pair("2.6.0", "3.2.0")


ASKED = '{"torch": "2.6.0", "triton": "3.2.0"}'


def test_a_pair_is_fetched_once_and_goes_before_what_is_installed(fake_python):
    """Kills: gigabytes fetched at every run; a run that never sees what was fetched."""
    calls = fake_python(answer=ASKED) / "calls"
    for _ in range(2):
        versions.run_on(OLD, [], True)
    (fetched, *ran) = calls.read_text().splitlines()
    place = str(versions.packages(OLD, triton_alone=False))
    assert fetched.count(place) == 1 and "torch==2.6.0" in fetched and "triton==3.2.0" in fetched
    assert len(ran) == 2 and all(line.endswith(f"path={place}") for line in ran)


def test_what_pip_could_not_fetch_is_not_used(fake_python):
    """Kills: a half-made folder that runs the next time."""
    fake_python("exit 1")
    with pytest.raises(CalledProcessError):
        versions.packages(OLD, triton_alone=False)
    calls = fake_python() / "calls"
    calls.unlink()
    versions.packages(OLD, triton_alone=False)
    assert calls.read_text().count("pip install") == 1


def test_a_run_counts_solutions_and_wrong_answers():
    found = versions.run_here(["00"])
    assert found["solutions"] == found["solutions_passed"] == 3
    assert found["mutants"] == found["mutants_refused"] == 3
    assert found["failures"] == []


@pytest.mark.parametrize("torch, triton", [("2.13.0+cpu", "3.2.0"), ("2.6.0", "3.7.1")])
def test_the_wrong_pair_is_not_passed_off_as_the_right_one(fake_python, torch, triton):
    """Kills: a Python that sees the installed torch or Triton before the pair's."""
    fake_python(answer=f'{{"torch": "{torch}", "triton": "{triton}"}}')
    with pytest.raises(RuntimeError, match="wanted torch 2.6.0 with Triton 3.2.0, ran torch"):
        versions.run_on(OLD, [], True)


def test_the_installed_torch_will_do_where_it_was_asked_for(fake_python):
    """Kills: a quick run that fetches 3 GB; one that takes the installed Triton for the old."""
    calls = fake_python(answer='{"torch": "2.13.0+cpu", "triton": "3.2.0"}') / "calls"
    assert versions.run_on(OLD, [], True, installed_torch=True)["triton"] == "3.2.0"
    assert "torch==" not in calls.read_text() and "--no-deps" in calls.read_text()
    fake_python(answer='{"torch": "2.13.0+cpu", "triton": "3.7.1"}')
    with pytest.raises(RuntimeError, match="ran torch 2.13.0 with Triton 3.7.1"):
        versions.run_on(OLD, [], True, installed_torch=True)


def test_fill_replaces_what_stands_between_the_markers_and_nothing_else():
    text = "a\n<!-- t: generated -->\nold\n<!-- end of t -->\nz\n"
    once = readme.fill(text, "t", "new \\1")
    assert once == "a\n<!-- t: generated -->\nnew \\1\n<!-- end of t -->\nz\n"
    assert readme.fill(once, "t", "new \\1") == once
    with pytest.raises(ValueError, match="<!-- u: generated -->"):
        readme.fill(text, "u", "")


def test_the_version_table_has_a_row_a_run():
    """Kills: counts in the wrong column; a table without its date."""
    run = {"torch": "2.6.0+cu124", "triton": "3.2.0", "numpy": "2.4.6", "python": "3.11.7"}
    run |= {"solutions": 3, "solutions_passed": 2, "mutants": 5, "mutants_refused": 5}
    text = readme.version_table({"date": "2026-01-01", "runs": [run]})
    assert "| 2.6.0+cu124 | 3.2.0 | 2.4.6 | 3.11.7 | 2 of 3 | 5 of 5 |" in text
    assert "2026-01-01" in text


def test_a_fork_s_address_reaches_every_line_of_the_readme():
    """Kills: an address that stands in a file by hand; a Colab link to our notebook."""
    fork = Release("https://github.com/someone/else", "1.2.3")
    ours = readme.read_release(versions.ROOT).repository.removeprefix("https://github.com/")
    text = (versions.ROOT / "README.md").read_text()
    assert ours in text
    changed = readme.addressed(text, fork)
    assert ours not in changed and "git clone https://github.com/someone/else && cd else" in changed
    assert fork.colab("notebooks/00_start_here.ipynb") + ")\n" in changed
    assert "https://someone.github.io/else/" in changed


def test_the_address_stands_in_one_file_by_hand():
    """Kills: a second place that a fork has to find."""
    name = readme.read_release(versions.ROOT).repository.removeprefix("https://github.com/")
    listed = subprocess.run(
        ["git", "grep", "-lF", name], cwd=versions.ROOT, capture_output=True, text=True
    )
    generated = ("notebooks/", "solutions/", "autograde/source/", "README.")
    by_hand = [line for line in listed.stdout.splitlines() if not line.startswith(generated)]
    assert by_hand == ["pyproject.toml"]


def test_the_readme_is_up_to_date():
    """`make sync` writes it; this is what tells a contributor who forgot."""
    for path, content in readme.generated(versions.ROOT).items():
        assert path.read_bytes() == content, "run make sync"
