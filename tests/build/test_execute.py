"""Solved notebooks are run, and say on what."""

from __future__ import annotations

import json

import pytest
from nbformat.v4 import new_output

from tritonbook import INTERPRET
from tritonbook.build import execute, sync
from tritonbook.port.device import versions


def solved(course) -> dict:
    return json.loads(sync.paths(course.root, "17_twice")[1].read_text())


@pytest.mark.slow
def test_execute_keeps_outputs_and_their_origin(course, run):
    """Kills: outputs without the machine they come from; a sync that throws them away."""
    run("sync")
    assert run("execute", "17", "--allow-interpreter")[0] == 0
    notebook = solved(course)
    executed = notebook["metadata"]["workbook"]["executed"]
    assert {key: executed[key] for key in versions()} == versions()
    assert len(executed["date"]) == len("2026-01-31")
    cells = {cell["id"]: cell for cell in notebook["cells"]}
    assert "passed" in json.dumps(cells["check-twice"]["outputs"])
    assert cells["setup"]["execution_count"] == 1
    assert sync.build(course.root).differing() == []


@pytest.mark.slow
def test_a_failing_solution_keeps_the_old_file(course, run):
    run("sync")
    before = solved(course)
    course.edit("out = torch.empty_like(x)", "out = torch.empty_like(y)")
    code, _, err = run("execute", "--allow-interpreter")
    assert code == 1 and "17_twice: " in err
    assert solved(course) == before


@pytest.mark.skipif(not INTERPRET, reason="there is a GPU, so execute runs")
def test_without_a_gpu_it_must_be_asked_for(run):
    """Kills: pictures of the interpreter's times among the solutions."""
    code, _, err = run("execute")
    assert code == 2 and "--allow-interpreter" in err


def test_stored_pictures_are_kept_once():
    """Kills: solutions of twice the size; pages where GitHub would have to draw data addresses."""
    data = {"text/html": "<img>", "image/svg+xml": "<svg/>", "text/plain": "words"}
    picture = execute._tidy(new_output("display_data", data), {})
    assert set(picture["data"]) == {"image/svg+xml", "text/plain"}
    card = execute._tidy(new_output("display_data", {"text/html": "<b>", "text/plain": "b"}), {})
    assert set(card["data"]) == {"text/html", "text/plain"}


def test_stored_outputs_name_no_place_of_the_authors():
    """Kills: a folder that was gone when the page was stored, or another one at each run."""
    said = 'kept in /tmp/x1; File "/tmp/ipykernel_17/99.py", line 2, in double'
    tidy = execute._tidy(new_output("stream", text=said), {"/tmp/x1": "~/here"})
    assert tidy.text == 'kept in ~/here; File "cell.py", line 2, in double'
