"""The author's verbs: what they write, say and return."""

from __future__ import annotations

import re
import shutil

import pytest

from tritonbook.build import __main__, stubs


@pytest.fixture
def without_compiler(monkeypatch):
    """For who asks nothing of open gaps: the process that compiles them takes 2 s to start."""
    monkeypatch.setattr(stubs, "problems", lambda exercises: [])


GENERATED = [
    "notebooks/17_twice.ipynb",
    "solutions/17_twice.ipynb",
    "autograde/source/17_twice/17_twice.ipynb",
]


@pytest.mark.usefixtures("without_compiler")
def test_sync_then_check(course, run):
    """Kills: comparing some of the three views, or comparing loosely."""
    code, out, err = run("check")
    assert code == 1 and all(f"{name} differs from its source" in out for name in GENERATED)
    code, out, err = run("sync")
    assert (code, err) == (0, "")
    assert sorted(out.split()) == sorted(["wrote", *GENERATED, "wrote", "wrote"])
    assert run("sync") == (0, "", "")
    assert run("check") == (0, "1 exercises: rules kept, 3 files up to date\n", "")
    for name in GENERATED:
        path = course.root / name
        path.write_text(path.read_text() + "\n")
    code, out, _ = run("check")
    assert code == 1
    assert out.splitlines() == [
        f"{name} differs from its source; run make sync" for name in GENERATED
    ]


@pytest.mark.usefixtures("without_compiler")
def test_notebooks_of_a_removed_exercise_go(course, run):
    more = course.copied("18_more").parent
    run("sync")
    shutil.rmtree(more)
    code, out, _ = run("check")
    assert code == 1 and "notebooks/18_more.ipynb comes from no exercise" in out
    code, out, _ = run("sync")
    assert "removed autograde/source/18_more/18_more.ipynb" in out
    assert not (course.root / "autograde" / "source" / "18_more").exists()
    assert run("check")[0] == 0


def test_a_broken_exercise_gives_one_sentence_and_code_2(course, run):
    run("sync")
    course.edit(" points=2", "")
    for verb in ("sync", "check"):
        code, _, err = run(verb)
        assert code == 2
        assert err.splitlines() == [
            "17_twice/page.py, line 93: check cells state points, and no others; "
            "add points=2, or remove it."
        ]
        assert "Traceback" not in err


def test_codes_prints_each_finding_with_a_sentence(run):
    """Kills: a code that an author meets in the kill matrix and finds explained nowhere."""
    code, out, _ = run("codes")
    assert code == 0 and re.search("second-call +cause: The first call is right", out)
    assert re.search(r"race +place: .+ \(interpreter alone\)", out)


def test_new_writes_the_three_files(run):
    code, out, _ = run("new", "18_scan")
    assert code == 0 and out.splitlines() == [
        f"wrote exercises/18_scan/{name}.py" for name in ("page", "cases", "wrong")
    ]


@pytest.mark.usefixtures("without_compiler")
def test_page_does_every_step_and_goes_on_after_one_that_failed(course, run, monkeypatch):
    """Kills: an author who is told of one fault a round; a step that is left out, or asked of all
    pages; a summary that says ok of what broke."""
    asked = {}

    def step(name, outcome):
        def done(options):
            asked[name] = (getattr(options, "exercise", None), options.slugs)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(__main__, f"_{name}", done)

    for name in ("kill_matrix", "mutate", "compile_check"):  # each has its own tests
        step(name, 0)
    run("new", "18_more")
    tests = course.root / "tests" / "exercises" / "test_17_twice.py"
    tests.parent.mkdir(parents=True)
    (tests.parents[1] / "conftest.py").write_text(
        'def pytest_addoption(parser):\n    parser.addoption("--thorough", action="store_true")\n'
    )
    (course.root / "tests" / "course").mkdir()
    (course.root / "tests" / "seeing").mkdir()
    for each in (
        tests,
        *map(tests.parents[1].joinpath, ("seeing/test_prediction.py", "test_documents.py")),
    ):
        each.write_text("def test_17_twice():\n    pass\n")
    code, out, err = run("page", "twice")
    names = "sync", "rules", "style", "format", "kill matrix", "mutate", "compile-check", "tests"
    names += ("documents",)
    ok = ", ".join(f"{name} ok" for name in names)
    assert (code, out.splitlines()[-1]) == (0, f"17_twice: {ok}"), err
    assert asked["kill_matrix"][0] == "17_twice" and asked["mutate"][1] == ["17_twice"]

    step("kill_matrix", RuntimeError("the process died"))
    step("mutate", 1)
    tests.write_text("def test_17_twice():\n    assert not 1\n")
    course.edit("CHECKS = {", "CHECKS  = {", course.cases)
    code, out, err = run("page", "17")
    failed = {"format", "kill matrix", "mutate", "tests"}
    said = ", ".join(f"{n} {'FAILED' if n in failed else 'ok'}" for n in names)
    assert (code, out.splitlines()[-1]) == (1, f"17_twice: {said}"), err
    assert "the process died" in err.lower()

    asked.clear()
    course.edit("CHECKS  = {", "CHECKS  = {{", course.cases)
    code, out, err = run("page", "17")
    said = ", ".join(f"{name} not tried" for name in names[4:])
    assert (code, asked) == (1, {}) and out.splitlines()[-1].endswith(said), out


def test_an_open_gap_that_does_not_compile_is_said(course, run):
    """Kills: a stub that leaves a name undefined which the rest of the kernel uses."""
    store = "    tl.store(out_ptr + offs, 2 * x, mask=mask)\n"
    end = "    ### END SOLUTION\n\n\ndef"
    course.edit(store + end, end.replace("\n\n\ndef", "\n" + store + "\n\ndef"))
    run("sync")
    code, _, err = run("check")
    assert code == 2
    assert "line 43: the open gap of 'twice' does not compile (NameError" in err
    assert len(err.splitlines()) == 1


def test_the_kill_matrix_of_the_template_and_a_mutant_that_survives(course, run):
    code, out, _ = run("kill-matrix", "--exercise", "17")
    assert code == 0, out
    verdicts = ["accepted", "recognised", *["killed"] * 13, "accepted", "accepted"]
    assert re.findall("|".join({*verdicts}), out.partition("13 of 13")[0]) == verdicts
    assert "13 of 13 mutants killed, 3 right answers accepted" in out
    harmless = 'Mutant("sum", "{2 * x -> x + x}, mask", seen="property")'
    text = course.wrong.read_text()
    course.wrong.write_text(f"{text}\nMUTANTS = {{'twice': [{harmless}]}}\nVARIANTS = {{}}\n")
    code, out, _ = run("kill-matrix")
    assert code == 1 and "SURVIVED" in out and "1 not as intended" in out
