"""What a kept verdict depends on."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import known_good
import pytest
from small_page import write_page

from tritonbook.build import kept
from tritonbook.course.exercises import Exercise

PAGE = """\
# %% [markdown]
# Words.

# %% tags=["answer"] key="{name}"
def {name}(x):
    ### BEGIN SOLUTION
    return {body}
    ### END SOLUTION
"""


@pytest.fixture
def course(tmp_path):
    """Three pages: the second uses the first, the third stands alone."""
    bodies = {"one": "x", "two": "mine('one')(x)", "three": "x + 1"}
    for number, (name, body) in enumerate(bodies.items()):
        cells = PAGE.format(name=name, body=body)
        texts = {"cases": "CHECKS = {}\n", "wrong": "MUTANTS = {}\n"}
        write_page(tmp_path, f"0{number}_{name}", cells, **texts)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "norms.py").write_text("A = 1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("00_one/page.py", "return x", "return -x", {"one", "two"}),
        ("00_one/page.py", "Words.", "Other words.", set()),
        ("00_one/wrong.py", "{}", "{'one': []}", {"one"}),
        ("01_two/cases.py", "{}", "{1: 2}", {"two"}),
        ("shared/norms.py", "1", "2", {"one", "two", "three"}),
    ],
)
def test_a_verdict_depends_on_what_its_check_reads(course, file, old, new, changed):
    """Kills: a verdict that outlives the page, the case or the other page's function that it was
    given with; all of them thrown away for a word."""

    def digests() -> dict[str, str]:
        pages = (Exercise(path) for path in sorted(course.glob("*/page.py")))
        return {page.slug[3:]: kept.knowledge(page) for page in pages}

    before = digests()
    path = course / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    after = digests()
    assert {name for name in before if before[name] != after[name]} == changed


def test_a_line_cut_off_costs_itself_alone(course, tmp_path):
    """Kills: a run that was stopped while it wrote, after which none starts any more."""
    page = Exercise(course / "00_one" / "page.py")
    kept.Kept(page, tmp_path).put(["passed"], "one", "text")
    path = tmp_path / "00_one.jsonl"
    path.write_text('{"id": "0", "sa\n' + path.read_text() + '{"id"')
    found = kept.Kept(page, tmp_path)
    assert found.get("one", "text") == ["passed"] and found.get("one", "other") is None


def test_a_verdict_depends_on_package_and_versions(course, monkeypatch, tmp_path):
    """Kills: verdicts of an older check, or of another Triton."""
    package = tmp_path / "package"
    for name in ("checking/judge.py", "build/matrix.py", "build/sync.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("A = 1\n")
    monkeypatch.setattr(kept, "PACKAGE", package)

    found = {"torch": "2.11.0+cpu", "triton": "3.6.0", "gpu": "none", "numpy": "2.5.2"}
    monkeypatch.setattr(kept, "versions", lambda: found)

    def digest() -> str:
        kept._package.cache_clear()
        return kept._package()

    seen = [digest()]
    for name in ("checking/judge.py", "build/matrix.py"):
        (package / name).write_text("A = 2\n")
        seen.append(digest())
    for name in ("torch", "triton", "gpu"):
        found[name] = "9.9"
        seen.append(digest())
    assert len(set(seen)) == 6
    (package / "build" / "sync.py").write_text("A = 2\n")
    found |= {"torch": "9.9+cu130", "numpy": "9.9"}
    assert digest() == seen[-1]
    kept._package.cache_clear()


def test_a_page_that_changed_itself_is_tried_again(course, monkeypatch):
    """Kills: all pages tried after each change of the package, where their verdicts are kept; a
    page that its author has changed, and that waits for its turn in a sample."""
    page = Exercise(course / "00_one" / "page.py")
    good = known_good.KnownGood("good")
    good.folder = course / "kept"
    monkeypatch.setattr(known_good, "exercises", lambda: [page])
    monkeypatch.setattr(kept, "drawn", lambda *sample: False)
    config = SimpleNamespace(getoption={"thorough": False, "seed": 0}.get)

    def tried(stands_on: str) -> bool:
        return good.is_tried(page, lambda: stands_on, config)

    assert not tried("a package")
    good.keep(page, lambda: "a package")
    assert not tried("a package") and not tried("another package")
    page.path.write_text(page.path.read_text().replace("Words.", "Other words."))
    assert tried("another package")


def test_a_test_of_a_page_that_failed_stays_due(course, monkeypatch):
    """Kills: a failure that the next run leaves to the sample, because a test beside it passed; a
    test that its author has just changed, and that waits for its turn; a page drawn in part."""
    page, path = Exercise(course / "00_one" / "page.py"), course / "test_one.py"
    monkeypatch.setattr(known_good, "ROOT", course)
    monkeypatch.setattr(known_good, "stands_on", lambda *texts: known_good.kept.digest(*texts[1:]))
    config = SimpleNamespace(getoption={"thorough": False, "seed": 0}.get)

    def due(drawn: bool, *names: str) -> dict:
        monkeypatch.setattr(kept, "drawn", lambda *sample: drawn)
        tests = known_good.Tests(page, path)
        found = {name: tests.tried(name, config) for name in names}
        return {name: passed for name, passed in found.items() if passed}

    path.write_text("first")
    assert not due(False, "a", "b")
    due(True, "a", "b")["a"]()
    assert [*due(False, "a", "b")] == ["b"] and [*due(True, "a", "b")] == ["b"]
    path.write_text("second")
    assert [*due(False, "a", "b")] == ["a", "b"]


def test_a_file_that_is_named_and_a_gpu_leave_nothing_out(monkeypatch):
    """Kills: an author who asks for a page's tests, or a GPU's run, and is told that they pass."""
    monkeypatch.setattr(known_good.Tests, "tried", lambda *asked: None)
    slug, here = known_good.exercises()[0].slug, Path(__file__)

    def skipped(arguments: list[str], **marks) -> bool:
        item = Mock(path=here, stash={}, get_closest_marker=marks.get)
        options = {"thorough": False, "seed": 0}.get
        known_good.sort_out(SimpleNamespace(args=arguments, getoption=options), [item])
        return item.add_marker.called

    page = pytest.mark.page(slug).mark
    assert skipped(["tests"], page=page) and not skipped(["tests"])
    assert not skipped([f"{here}::test_it"], page=page)
    assert not skipped(["tests"], page=page, gpu=page)
