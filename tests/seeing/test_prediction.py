"""The box beside the learner's guesses: what it says, and above all what it does not give away."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.exercises.test_notebooks import names
from tritonbook import traffic
from tritonbook.course.exercises import Exercise, exercises, load
from tritonbook.seeing.prediction import Measured, predict, time_of
from tritonbook.timing import stored
from tritonbook.timing.result import BenchResult, Row

from . import kernels

ROOT = Path(__file__).parents[2]
BOXES = [e for e in exercises(ROOT / "exercises") if any(c.role == "predict" for c in e.cells)]


def result(on_gpu: bool = True, **times: float) -> BenchResult:
    rows = [Row(name, ms, ms, ms) for name, ms in times.items()]
    machine = {"gpu": "GPU of this test", "torch": "2", "triton": "3"}
    return BenchResult(rows, "a clock", on_gpu, machine=machine, date="2026-01-02")


def one(guess, measured, hint="Count the trips."):
    return predict({"a question": guess}, measured=[measured], hints=[hint])


def every_form(box) -> str:
    return repr(box) + box._repr_html_()


def test_an_open_guess_gives_nothing_away_and_measures_nothing():
    """Kills: a box that shows the figure, its hint or its source before there is a guess."""

    def measure():
        raise AssertionError("measured without a guess")

    shown = every_form(one(None, measure)) + every_form(one(None, Measured(31337.0, "ms", "H100")))
    for secret in ("31337", "31,337", "H100", "Count the trips", "guess / measured"):
        assert secret not in shown
    assert "Write your guess in place of None, then run this cell again." in shown


def test_one_open_guess_stays_closed_beside_a_filled_one():
    """Kills: one guess that opens the whole box."""
    box = predict(
        {"first": 100, "second": None},
        measured=[Measured(100.0, "ms"), Measured(31337.0, "ms")],
        hints=["h1", "h2"],
    )
    assert box.headline == "Your predictions: 1 of 1 right, 1 open"
    assert "31337" not in every_form(box) and "31,337" not in every_form(box)


@pytest.mark.parametrize(
    ("guess", "verdict"),
    [(100, "right"), (110, "right"), (91, "right"), (111, "close"), (90, "close")]
    + [(200, "close"), (50, "close"), (201, "off"), (49, "off"), (1e9, "off")],
)
def test_verdicts_are_factors_not_differences(guess, verdict):
    """Kills: limits that are off by one side, or a difference that forgives every small guess."""
    (line,) = one(guess, Measured(100.0, "ms")).lines
    assert line.verdict == verdict
    assert f"guess / measured = {guess / 100:.3g}" in line.figures


@pytest.mark.parametrize(
    ("guess", "measured", "unit", "said"),
    [
        (95, 100, "bytes", "Within 10 %."),
        (30, 100, "bytes", "Too little by a factor of 3.33. Count the trips."),
        (300, 100, "bytes", "Too much by a factor of 3. Count the trips."),
        (150_000, 100, "times", "Too much by a factor of 1,500. Count the trips."),
        (1000, 1, "times", "Too much by a factor of 1,000. Count the trips."),
        (2100, 1, "ms", "Too much by a factor of 2,100. Count the trips."),
        (0.3, 300, "bytes", "Is it the unit? The box counts bytes, not kB, MB or GB."),
        (300e3, 300, "bytes", "Is it the unit? The box counts bytes, not kB, MB or GB."),
        (0.29, 300, "ms", "unit? The box counts milliseconds, not seconds or microseconds."),
    ],
)
def test_a_guess_that_is_off_gets_the_hint_or_its_unit(guess, measured, unit, said):
    """Kills: "you forgot a trip" said to somebody who wrote kilobytes or microseconds."""
    (line,) = one(guess, Measured(measured, unit)).lines
    assert line.sentence.endswith(said)


@pytest.mark.parametrize("guess", ["0.2", 0, -1, float("nan"), float("inf"), True, [1], "<b>"])
def test_what_is_no_number_is_said_in_the_box(guess):
    """Kills: a traceback, or a division by zero, for a slip of the pen; markup let through."""
    (line,) = one(guess, Measured(31337.0, "ms")).lines
    assert line.verdict == "no number" and "Write digits without quotes" in line.sentence
    assert "31,337" not in every_form(one(guess, Measured(31337.0, "ms")))
    assert "<b>" not in one(guess, Measured(1.0, "ms"))._repr_html_()


def test_a_measured_zero_is_compared():
    """Kills: ZeroDivisionError in place of the box, for a kernel that moves nothing."""
    (line,) = predict({"q": 5}, measured=[0], hints=["It stores nothing."]).lines
    assert (line.verdict, line.sentence) == ("off", "It stores nothing.")
    assert "measured 0" in line.figures


def test_numpys_numbers_are_numbers():
    guesses = {"a": np.int64(5), "b": np.float32(5)}
    lines = predict(guesses, measured=[np.int64(5), 5], hints=["", ""]).lines
    assert [line.verdict for line in lines] == ["right", "right"]


def test_times_of_the_interpreter_are_never_compared():
    """Kills: a millisecond of the interpreter taken for a GPU's, in a time or in a ratio."""
    here = result(on_gpu=False, add=31337.0, torch=1.0)
    for found in (time_of(here, "add"), time_of(here, "add", over="torch")):
        box = one(31337, found)
        assert box.lines[0].verdict == "not compared"
        assert "says nothing about a GPU" in every_form(box)
        assert "guess / measured" not in every_form(box)
    assert one(1, time_of(here, "add")).headline == "Your predictions: nothing compared"


def test_a_stored_time_stands_in_under_its_gpus_name():
    """Kills: a stored figure passed off as this machine's."""
    here = result(on_gpu=False, add=31337.0)
    found = time_of(here, "add", stored="vector_add")
    kept = stored.load("vector_add")
    assert found.value == kept["add"].ms and found.unit == "ms"
    shown = every_form(one(found.value, found))
    assert f"measured on another machine: {kept.machine['gpu']}" in shown and kept.date in shown


def test_a_gpus_own_time_wins_over_the_stored_one():
    found = time_of(result(add=9.0, torch=3.0), "add", stored="vector_add")
    assert found.value == 9.0 and "GPU of this test" in found.label
    assert time_of(result(add=9.0, torch=3.0), "add", over="torch").value == 3.0
    with pytest.raises(KeyError, match="no row 'ad'"):
        time_of(result(add=9.0), "ad")


def test_a_stored_table_of_other_rows_compares_nothing():
    elsewhere = dataclasses.replace(result(add=1.0), elsewhere=True)
    assert time_of(elsewhere, "renamed").value is None


def test_many_bytes_are_told_in_kilobytes_too():
    (line,) = one(20e3, Measured(20e3, "bytes")).lines
    assert "20,000 bytes (20 kB)" in line.figures


def test_a_gap_still_open_or_a_cell_not_run_is_one_sentence():
    """Kills: a traceback under the box of somebody who has just opened the notebook."""

    def open_gap():
        raise NotImplementedError("TODO: fill in add")

    for found in (open_gap, lambda: timed_that_nobody_measured):  # noqa: F821
        (line,) = one(3, found).lines
        assert line.verdict == "not measured yet" and "Run the cells above" in line.sentence


def test_a_kernel_that_touches_nothing_may_be_a_gap():
    """Kills: a traceback, or "touched no memory", for a kernel that holds nothing but `pass`."""
    (line,) = one(3, lambda: traffic(kernels.open_gap, torch.ones(3))).lines
    assert line.verdict == "not measured yet"
    assert line.sentence.endswith("the kernel touched no memory. Is the gap above still open?")


def test_an_authors_slip_raises():
    with pytest.raises(ValueError, match="1 questions, 2 measurements and 1 hints"):
        predict({"q": None}, measured=[1, 2], hints=["h"])


def test_words_and_signs_say_what_colours_say_and_nothing_needs_a_style():
    """Kills: a box that is empty or unordered where a page strips styles and classes."""
    box = predict(
        {"one < two": 100, "three": 300, "four": None},
        measured=[Measured(100.0, "ms", "GPU & date")] * 3,
        hints=["h"] * 3,
    )
    html = box._repr_html_()
    assert not re.search(r"<(script|style|link|iframe)|class=|https?:|onclick", html)
    bare = re.sub(r"<(\w+)[^>]*>", r"<\1>", html)
    words = re.sub(r"<[^>]+>", " ", bare)
    order = ["1 of 2 right", "✓ right", "one &lt; two", "GPU &amp; date", "✗ off", "three"]
    order += ["○ your turn", "four"]
    places = [words.index(text) for text in order]
    assert places == sorted(places)
    assert [line.verdict for line in box.lines] == ["right", "off", "your turn"]


# --- the boxes of the course: the derivation below a box gives numbers that the box calls right

# What the folded derivations arrive at, in the order of the questions.
DERIVED = {
    "60_norm_records": (5120, 20, 61_440),  # six programs, as the pinned Triton compiles it
    "61_matmul_records": (5, 104_164),
    "62_attention_records": (3, 1.33),
    "01_vector_add": (240_000, 0.0485),
    "02_measure": (176, 0.194, 0.188),
    "03_gelu_fusion": (40_000, 1.42, 0.130),
    "04_softmax": (144_000, 0.0323),
    "10_rmsnorm_rows": (65_536, 0.065, 1.05),
    "11_rmsnorm_split": (96_000, 0.097),
    "12_rmsnorm_choose": (2_048, 0.0646, 9.8),
    "13_layernorm": (0.0646, 1.0),
    "14_layernorm_split": (164_000, 0.420),
    "15_norm_backward": (188_416, 0.101),
    "16_residual_norm": (98_304, 81_920, 73_760),
    "20_matmul": (131_072, 147_456, 1.69),
    "21_matmul_grouped": (24, 0.86),
    "22_autotune": (2, 1.0),
    "23_fused_mlp": (384_000, 0.085, 1.03),
    "24_mlp_one_kernel": (115_200, 2.5),
    "31_op_library": (12, 54_000),
    "40_rope": (8_192, 0.040, 8),
    "41_flash_attention": (6_144, 0.54),
    "42_flash_gqa": (62, 524_288, 4),
    "43_flash_backward": (10_240, 4.5),
    "44_llama_block": (1_376_256, 2.80),
    "45_llama_decode_train": (5.545, 12_800),
    "46_window_sinks": (18, 14, 4_096),
    "50_split_kv_decode": (25_600, 0.129),
    "51_int_matmul": (4.125, 32_768),
    "52_moe_grouped": (9, 16_384, 16),
    "53_scan": (16_000, 32_768, 131_072, 16_384),
    "54_linear_cross_entropy": (24_000,),
    "55_sampling": (8_000, 208_000, 2),
    "56_ragged_batches": (8_192, 2.25, 10),
    "57_fp8_fp4": (4.25, 0.00195, 37, 8.5),
    "58_delta_rule": (163_840,),
    "59_same_bits": (4_096,),
    "63_gluon_pipeline": (65_536, 10, 49_152),
    "64_gluon_matmul": (208,),
    "65_gluon_attention": (160, 3),
    "66_rope_records": (250, 8),
    "67_short_calls": (100, 2.9),
    "70_all_reduce": (1, 0.25),
    "71_parallel_mlp": (1.03, 0.112, 0.258, 0.783),
}
# Where a floor is all that can be derived, the derivation says so, and may be no more than close.
CLOSE = {
    ("04_softmax", 1),
    ("11_rmsnorm_split", 1),
    ("13_layernorm", 0),
    ("14_layernorm_split", 1),
    ("21_matmul_grouped", 1),
    ("23_fused_mlp", 1),
    ("40_rope", 1),
    ("40_rope", 2),
    ("41_flash_attention", 1),
    ("43_flash_backward", 1),
    ("50_split_kv_decode", 1),
    ("62_attention_records", 1),
    ("66_rope_records", 1),
    ("67_short_calls", 1),
}


def filled(exercise: Exercise) -> str:
    """The predict cell with the derived numbers written in, as an expression to evaluate."""
    (cell,) = [cell for cell in exercise.cells if cell.role == "predict"]
    missing = f'add to DERIVED what the folds arrive at: "{exercise.slug}": (...),'
    assert exercise.slug in DERIVED, missing
    guesses = iter(DERIVED[exercise.slug])
    tree = ast.parse(cell.source)
    call = tree.body[-1].value
    call.args[0].values = [ast.Constant(next(guesses)) for _ in call.args[0].values]
    assert next(guesses, None) is None
    return ast.unparse(tree.body[0]) + "\nbox = " + ast.unparse(call)


def kept_results(exercise: Exercise) -> dict:
    """The results kept with the workbook, by the names that the page's cells give them."""
    found = {}
    for node in ast.parse(exercise.path.read_text()).body:
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        if ast.unparse(node.value.func) in ("mine", "reference"):  # names of functions
            continue
        for part in (*node.value.args, *(each.value for each in node.value.keywords)):
            if isinstance(part, ast.Constant) and (kept := stored.load(str(part.value))):
                found[node.targets[0].id] = kept
    return found


def names_above(exercise: Exercise) -> dict:
    """What the cells leave behind that the box asks for, run as the page has them on a machine
    without a GPU."""
    found = vars(load(exercise)) | kept_results(exercise)
    box = [cell.role for cell in exercise.cells].index("predict")
    needed, wanted = [], names(exercise.cells[box])[0] - found.keys()
    for cell in reversed(exercise.cells[:box]):
        if cell.kind == "code" and cell.role is None:
            read, made = names(cell)
            if made & wanted:
                needed.append(cell)
                wanted |= read - made - found.keys()
    for cell in reversed(needed):
        exec(cell.source, found)
    return found


@pytest.mark.page
@pytest.mark.parametrize("exercise", BOXES, ids=lambda e: e.slug)
def test_the_derivation_is_right(exercise: Exercise):
    """Kills: a folded derivation that the box below it calls wrong; a box that asks a kernel for
    something it cannot do."""
    torch.manual_seed(0)
    found = names_above(exercise)
    exec(compile(filled(exercise), "<box>", "exec"), found)
    for number, line in enumerate(found["box"].lines):
        close = (exercise.slug, number) in CLOSE
        assert line.verdict == "right" or close and line.verdict == "close", line
