"""The run over Triton's versions, and the generated parts of the README."""

import sys

import pytest

from tritonbook.build import readme, versions
from tritonbook.findings import PAIRS


def test_oldest_pinned_and_newest_are_run():
    short = [".".join(version.split(".")[:2]) for version in versions.TRITONS]
    assert short[0] == list(PAIRS.values())[0] and short[-1] == list(PAIRS.values())[-1]
    assert "3.7" in short and set(short) <= set(PAIRS.values())


def test_a_run_counts_solutions_and_wrong_answers():
    found = versions.run_here(["00"], {"mutant": 1, "variant": 0, "untouched": 0})
    assert found["solutions"] == found["solutions_passed"] == 2
    assert found["mutants"] == found["mutants_refused"] == 2
    assert found["failures"] == []


def test_the_wrong_triton_is_not_passed_off_as_the_right_one(monkeypatch, tmp_path):
    """Kills: an unpacked wheel that Python never sees, so that the installed one runs."""
    (tmp_path / "triton").mkdir()
    monkeypatch.setattr(versions, "unpacked", lambda version: tmp_path)
    fake = tmp_path / "fake"
    fake.write_text(f'#!{sys.executable}\nprint(\'{{"triton": "3.7.1"}}\')\n')
    fake.chmod(0o755)
    monkeypatch.setattr(versions.sys, "executable", str(fake))
    with pytest.raises(RuntimeError, match="wanted Triton 3.2.0, ran 3.7.1"):
        versions.run_on("3.2.0", [], True)


def test_fill_replaces_what_stands_between_the_markers_and_nothing_else():
    text = "a\n<!-- t: generated -->\nold\n<!-- end of t -->\nz\n"
    once = readme.fill(text, "t", "new \\1")
    assert once == "a\n<!-- t: generated -->\nnew \\1\n<!-- end of t -->\nz\n"
    assert readme.fill(once, "t", "new \\1") == once
    with pytest.raises(ValueError, match="<!-- u: generated -->"):
        readme.fill(text, "u", "")


def test_the_version_table_has_a_row_a_run():
    run = {"torch": "2.13.0", "triton": "3.2.0", "numpy": "2.4.6", "python": "3.11.7"}
    run |= {"solutions": 3, "solutions_passed": 2, "mutants": 5, "mutants_refused": 5}
    text = readme.version_table({"date": "2026-01-01", "runs": [run]})
    assert "| 2.13.0 | 3.2.0 | 2.4.6 | 3.11.7 | 2 of 3 | 5 of 5 |" in text
    assert "2026-01-01" in text


def test_the_readme_is_up_to_date():
    """`make sync` writes it; this is what tells a contributor who forgot."""
    for path, content in readme.generated(versions.ROOT).items():
        assert path.read_bytes() == content, "run make sync"
