"""What student code reaches: not the checker, not the compiler, not the grader's own limits."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from corpus import RIGHT, WRONG, answer
from grading import Grader, awaited, needs_walls
from test_sandbox import found_inside

from autograde.judge import checker
from autograde.judge.execute import Executor, Setting
from autograde.judge.work import Item, Verdict
from autograde.walls import fence, sandbox, visible
from autograde.walls.tape import TapeError, decode
from tritonbook.build import matrix
from tritonbook.checking.report import Finding
from tritonbook.course.exercises import Exercise, get

LEVELS = [level for level in sandbox.available() if level in ("namespaces", "bubblewrap")]


def _double(grader: Grader, text: str) -> Verdict:
    return grader.grade("double", double=text)


@needs_walls
def test_a_library_does_not_lead_to_python(grader: Grader, tmp_path: Path) -> None:
    """Kills: a wrong kernel that patches the checker through what libdevice has imported."""
    mark = tmp_path / "mark"
    code = "import tritonbook.checking.report as r; r.Report.passed = True; "
    code += f"open({str(mark)!r}, 'w').close()"
    kernel = "from triton.language.extra.cuda import libdevice\n" + WRONG.replace(
        "    mask =", f"    libdevice.core.builtins.exec({code!r})\n    mask ="
    )
    verdict = _double(grader, answer(kernel=kernel))
    assert (verdict.status, verdict.points) == ("POLICY", 0)
    assert not mark.exists()


@needs_walls
def test_an_options_name_is_no_program(grader: Grader, tmp_path: Path) -> None:
    """Kills: code in the name of a launch option, which the compile gate writes into a file that
    runs as the grader."""
    mark = tmp_path / "mark"
    name = f"num_warps=(open({str(mark)!r}, 'w').close(), 4)[1], num_stages"
    text = answer().replace("BLOCK_SIZE=64)", f"BLOCK_SIZE=64, **{{{name!r}: 2}})")
    verdict = _double(grader, text)
    assert (verdict.status, verdict.points) == ("POLICY", 0)
    assert not mark.exists()
    assert _double(grader, text.replace(repr(name), "'num_warps'")).status == "PASS"


@needs_walls
def test_a_kernel_cannot_print_hidden_inputs(grader: Grader) -> None:
    """Kills: `assert`, with the values that the kernel read as its message, in the feedback."""
    # The branch is not there in visible cases, or the compiler would refuse the message.
    loud = "    if LOUD:\n        assert n < 200, f'read {tl.sum(x, 0)} of {n}'\n    tl.store"
    kernel = RIGHT.replace("    tl.store", loud).replace(
        "n, BLOCK_SIZE: tl.constexpr", "n, BLOCK_SIZE: tl.constexpr, LOUD: tl.constexpr = False"
    )
    text = answer(kernel=kernel).replace("BLOCK_SIZE=64)", "BLOCK_SIZE=64, LOUD=x.numel() > 100)")
    verdict = _double(grader, text)
    assert verdict.status == "FAIL"
    values = re.compile(r"read \W*-?\d")
    told = json.dumps([verdict.sentence, *(each for each in verdict.reports if each["hidden"])])
    assert "On a hidden case it raised AssertionError." in told and not values.search(told)
    # Of a visible case the notebook has shown the same already.
    seen = _double(grader, text.replace("numel() > 100", "numel() > 10").replace("200", "90"))
    assert values.search(json.dumps(seen.reports))


@needs_walls
def test_a_cell_of_the_course_that_never_ran_is_nobodys_fault(exercise: Exercise) -> None:
    """Kills: a workbook that does not run in the candidate's process, taken for a student's
    doing because an added cell stands above."""
    made = Grader(exercise)
    cells = [
        dataclasses.replace(cell, source="import os\nassert os.getppid() > 1\n" + cell.source)
        if cell.role == "setup"
        else cell
        for cell in made.course.cells
    ]  # a process behind walls has no parent; the checker has
    made.course = dataclasses.replace(made.course, cells=tuple(cells))
    verdict = made.grade("double", extra="a = 1", double=answer())
    assert (verdict.status, verdict.points) == ("INFRA", None), verdict
    assert "setup" in verdict.sentence


def test_a_hidden_case_shows_no_value() -> None:
    """Kills: a plain function whose result, or whose error's text, is what it was given."""
    shown = {
        ("raised", "It raised ValueError: [3, 1, 4]"): "On a hidden case it raised ValueError.",
        (
            "raised",
            "It raised InterpreterError: KeyError(3)",
        ): "On a hidden case it raised KeyError.",
        ("raised", "Too few arguments. (TypeError: 3.1)"): "On a hidden case it raised TypeError.",
        (
            "raised",
            "It raised Rows31Columns37: no",
        ): "On a hidden case it raised an error of your own.",
        ("raised", "It raised CompilationError: n"): "On a hidden case it raised CompilationError.",
        (
            "should-raise",
            "This call should raise ValueError, not Rows31.",
        ): "This call should raise ValueError, not an error of your own.",
        (
            "wrong-values",
            "Expected 4, got [3, 1, 4].",
        ): "On a hidden case the result is another one than it should be.",
        ("wrong-values", "The last row is wrong."): "The last row is wrong.",
        ("race", "Two programs store to one place."): "Two programs store to one place.",
    }
    for (code, sentence), said in shown.items():
        assert checker._said(Finding(code, sentence)).sentence == said


FETCHED = {
    "reference": "exercises.reference('rmsnorm_split')",
    "another task of the page": "exercises.reference('rmsnorm_split_det')",
    "the list cleared": "(exercises.LENT.clear(), exercises.reference('rmsnorm_split_det'))[1]",
    "the list gone": "(setattr(exercises, 'LENT', None), exercises.reference('rmsnorm_split'))[1]",
    "the module": "exercises.load(exercises.get('11')).rmsnorm_split_det",
    "a page that is not lent": "exercises.reference('rmsnorm_backward')",
    "lent further down": "exercises.reference('rmsnorm_loop')",
}


@needs_walls
def test_no_solution_can_be_fetched() -> None:
    """Kills: a solution that the candidate's process can get, of this page or of another; a lent
    kernel handed in as the answer."""
    made = Grader(get("11"))
    head = "from tritonbook.course import exercises\n\n\n"
    head += "def rmsnorm_split(x, w, eps, num_splits):\n    return "
    for way, code in FETCHED.items():
        borrowed = f"{head}{code}(x, w, eps)\n"
        verdict = made.grade("rmsnorm_split", rmsnorm_split=borrowed)
        assert (verdict.points, verdict.code) == (0, "raised"), (way, verdict)
        assert "LookupError" in verdict.sentence or "no page" in verdict.sentence, verdict


LOOK = """
import os, sys
from tritonbook.course import exercises
package = os.path.dirname(os.path.dirname(exercises.__file__))
read = [os.environ["TRITONBOOK_EXERCISES"], package, "/tmp"]  # each file, whatever its name
named = [*sys.path, package + "/..", "/usr", "/opt", "/home", "/root"]  # some 50,000 files
found, everything = [], list(map(os.path.realpath, read))
for root in dict.fromkeys([*everything, *map(os.path.realpath, named)]):
    for folder, _, files in os.walk(root):
        for name in files:
            if root in everything:
                asked = name.endswith((".py", ".ipynb"))
            else:
                asked = name == "page.py" or name.endswith(".ipynb") or "exercises" in folder
            if asked:
                try:
                    text = open(folder + "/" + name, "rb").read()
                except OSError:
                    continue
                if b"### BEGIN SOL" + b"UTION" in text and b"def rmsnorm_split" in text:
                    found.append(folder + "/" + name)
raise RuntimeError(f"found {found[:3]} in {os.environ}")
"""


@needs_walls
@pytest.mark.parametrize("level", LEVELS)
def test_no_solution_lies_where_a_candidate_can_read(level: str, exercise: Exercise) -> None:
    """Kills: exercises, or an installed copy of them, inside the walls or named there."""
    made = Grader(exercise, level)
    verdict = made.grade("double", call_seconds=200.0, double=answer(LOOK.strip()))
    assert "found [] in" in verdict.sentence, verdict.sentence
    assert "/exercises'" not in verdict.sentence


def test_solutions_inside_visible_folders_are_covered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: an installed workbook, which carries the exercises in its package."""
    packaged = tmp_path / "site-packages" / "tritonbook" / "_exercises"
    packaged.mkdir(parents=True)
    monkeypatch.setattr(visible, "visible_folders", lambda: [tmp_path / "site-packages"])
    monkeypatch.setattr(visible.exercises, "directory", lambda: packaged)
    assert visible.covered_folders() == [packaged]
    covered = sandbox.bubblewrap_command()
    assert covered[covered.index(str(packaged)) - 1] == "--tmpfs"
    image = sandbox.container_command(Path("x.sif"))
    assert any(part.endswith(":/opt/workbook/exercises:ro") for part in image)
    if "namespaces" not in LEVELS:
        pytest.skip("no namespaces here")
    (packaged / "01_secret.py").touch()
    text = f"import os\nfound = os.listdir({str(packaged)!r})"
    assert found_inside("namespaces", text, tmp_path) == []


@needs_walls
def test_the_solution_is_no_answer_where_no_kernel_shows_whose_it_is() -> None:
    """Kills: `reference` of the very task handed in, where the answer is plain Python."""
    made = Grader(get("00"))
    borrowed = "import tritonbook\n\ntile_ranges = tritonbook.reference('tile_ranges')\n"
    verdict = made.grade("tile_ranges", tile_ranges=borrowed)
    assert (verdict.status, verdict.points) == ("FAIL", 0), verdict


@needs_walls
def test_a_check_sees_how_large_a_tensor_an_answer_makes() -> None:
    """Kills: attention in one piece, right in its values, where the task is to do it in tiles."""
    made = Grader(get("41"))
    key = "attention_tiled_torch"
    (wrong,) = [
        attempt
        for attempt in matrix.attempts(made.exercise, key)
        if (attempt.kind, attempt.name) == ("mutant", "all-scores-at-once")
    ]
    verdict = made.grade(key, **{key: wrong.text})
    assert (verdict.status, verdict.code) == ("FAIL", "property"), verdict


@pytest.mark.parametrize("level", LEVELS)
def test_a_candidate_has_the_runs_own_limits(level: str, grader: Grader) -> None:
    """Kills: default limits where Python starts anew; a limit that is set for the wrong process, or
    not at all; root inside."""
    look = "import os, resource as r\nlimits = [r.getrlimit(n)[0] for n in "
    look += "(r.RLIMIT_NPROC, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, r.RLIMIT_CORE, r.RLIMIT_AS)]\n"
    look += "first = open('/proc/self/oom_score_adj').read().strip()\n"
    look += "raise ValueError(f'{limits[:4]} {limits[4] > 0} {os.getuid() > 0} {first}')"
    submission = grader.handed_in(double=answer(look))
    limits = dataclasses.replace(sandbox.Limits(), processes=9, files=5 << 20)
    executor = Executor(Setting(level, limits))
    verdict = executor.run(Item(grader.course, submission, submission.exercises[0]))
    not_root = level == "namespaces" or os.getuid() > 0  # bubblewrap keeps the user's number
    assert f"[9, {5 << 20}, 256, 0] True {not_root} 1000" in verdict.sentence, verdict.sentence


def test_a_forked_candidate_keeps_its_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kills: an environment that is emptied before what is to be kept of it is read, so that a
    candidate sees other GPUs than its job's."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    text = "import os\nfound = os.environ['CUDA_VISIBLE_DEVICES']"
    assert found_inside("plain", text, tmp_path) == "7"


@pytest.mark.parametrize(
    ("status", "came_to"), [("FAIL", "OOM"), ("INFRA", "INFRA"), ("CRASH", "OOM")]
)
def test_only_a_students_memory_costs_points(status: str, came_to: str) -> None:
    """Kills: a checker that found no memory taken for a student's fault, and scored 0."""
    said = {"status": status, "code": "x", "sentence": "MemoryError"}
    assert awaited((0.0, said)).status == came_to


def test_a_process_that_forks_and_dies_is_the_graders_failure(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills: an EOFError that ends the run of a whole class."""

    def dead(target: object, arguments: object) -> None:
        raise EOFError("unexpected EOF")

    monkeypatch.setattr(grader.executor, "_fork", dead)
    monkeypatch.setattr(grader, "level", "plain")
    verdict = _double(grader, answer())
    assert (verdict.status, verdict.points) == ("INFRA", None)
    assert "was ended" in verdict.sentence and "autograde retry" in verdict.sentence


@needs_walls
def test_closing_ends_what_runs(grader: Grader) -> None:
    """Kills: an interrupt after which the command waits for a student's endless loop; a checker
    that dies taken for a wrong answer."""
    submission = grader.handed_in(double=answer("while True: pass"))
    executor = Executor(Setting(LEVELS[0], sandbox.Limits(call_seconds=600.0, wall_seconds=800.0)))
    with ThreadPoolExecutor(1) as pool:
        item = Item(grader.course, submission, submission.exercises[0])
        running = pool.submit(executor.run, item)
        while not executor.judges:
            time.sleep(0.05)
        time.sleep(1.0)
        executor.close()
        verdict = running.result(timeout=200)
    assert (verdict.status, verdict.points) == ("INFRA", None)
    assert not executor.judges


def test_the_fence_at_the_end_of_all_addresses() -> None:
    """Kills: an address so high that its end overflows and seems to lie inside; the range from
    address 0 on of a tensor without memory."""
    x = torch.zeros(4)
    fence.allow([x, torch.empty(1 << 40, device="meta")])
    element = SimpleNamespace(primitive_bitwidth=32)
    top = np.array([x.data_ptr(), x.data_ptr() + 13, np.iinfo(np.int64).max - 1], dtype=np.uint64)
    pointers = SimpleNamespace(data=top, get_element_ty=lambda: element)
    assert fence._held(pointers).tolist() == [True, False, False]
    assert len(fence._ranges) == 1


OPENED = """\
from tritonbook.checking.report import Report

calls = []


@triton.jit
def poke_kernel(x_ptr, at, value):
    target = tl.full((1,), at, tl.int64).to(tl.pointer_type(tl.int64), bitcast=True)
    tl.store(target, tl.full((1,), value, tl.int64))


"""
# Where CPython keeps the getter of a property; `bool` of any report is true. Not in the first call:
# the meter would leave the store out.
POKE = "calls.append(1)\n"
POKE += "if calls[1:]: poke_kernel[(1,)](x, id(Report.__dict__['passed']) + 16, id(bool))"
META = "torch.empty((), device='meta').expand(1 << 48)"
META += ".clone(memory_format=torch.contiguous_format)"


@needs_walls
def test_a_meta_tensor_does_not_open_the_fence(grader: Grader) -> None:
    """Kills: one store over the getter of the verdict, through a range that a tensor without
    memory opened; a device that has no memory, played."""
    opened = answer(f"held = {META}\n{POKE}", kernel=f"{WRONG}\n{OPENED}")
    verdict = _double(grader, opened)
    assert (verdict.status, verdict.points) == ("FAIL", 0), verdict
    assert "'meta'" in verdict.sentence
    assert _double(grader, answer(POKE, kernel=f"{WRONG}\n{OPENED}")).points == 0
    with pytest.raises(TapeError, match="'meta'"):  # from a tape that is made up
        decode({"device": "meta"}, lambda data: data)
