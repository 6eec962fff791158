"""Solutions compiled for GPUs that are not here, and the limits that they must keep."""

import tritonbook
from tritonbook.build import architectures
from tritonbook.build.architectures import Compiled
from tritonbook.course.calls import calls
from tritonbook.course.exercises import get

KERNEL = {
    "name": "add_kernel",
    "registers": 32,
    "spills": 0,
    "shared_bytes": 2048,
    "mma": 8,
    "wgmma": 0,
}


def compiled(arch=80, ok=True, message="", **changes):
    kernels = ({**KERNEL, **changes},) if ok else ()
    return Compiled("01_vector_add", "add", "x 10", arch, ok, message, kernels)


def test_the_first_notebook_fits_an_a100_and_a_t4():
    found = architectures.compile_course(["01"], [75, 80])
    assert {(one.key, one.arch) for one in found} >= {("add", 75), ("add", 80)}
    assert architectures.problems(found) == []
    assert all(one.kernels[0]["registers"] > 0 for one in found)


def test_every_broken_limit_is_named():
    """Kills: a spill that nobody hears of; 'not compiled' counted as compiled."""
    assert architectures.problems([compiled()]) == []
    for broken, words in (
        (compiled(spills=8), "spills 8 bytes"),
        (compiled(ok=False, message="too much shared memory"), "too much shared memory"),
        (compiled(ok=None, message="no answer"), "was not compiled: no answer"),
        (Compiled("01", "add", "x", 80, True, "", ()), "no kernel was launched"),
    ):
        (sentence,) = architectures.problems([broken])
        assert words in sentence


def test_spills_elsewhere_are_shown_but_break_nothing():
    found = [compiled(75, spills=8)]
    assert architectures.problems(found) == []
    assert "spills 8" in architectures.markdown(found, "2026-01-01", {"triton": "3.7.1"})


def test_an_excuse_must_be_for_a_graded_function():
    from tritonbook.course.exercises import exercises

    keys = {key for exercise in exercises() for key in exercise.checks()}
    assert {*architectures.MAY_SPILL, *architectures.NOT_ON_T4} <= keys


def test_the_table_has_a_row_a_kernel_and_a_column_a_gpu():
    found = [compiled(75, ok=False), compiled(80), compiled(90)]
    text = architectures.markdown(found, "2026-01-01", {"triton": "3.7.1"})
    row = next(line for line in text.splitlines() if "add_kernel" in line)
    assert row.count("|") == 9 and "32 r, 2 KiB, t 8" in row


def test_calls_are_read_without_running_the_check():
    found = calls(get("01_vector_add"), "add")
    assert found and found[0].function.__name__ == "add" and found[0].launches_kernels
    largest = found[0].largest()
    assert largest.raises is None and largest in found[0].cases


def test_plain_python_is_told_from_kernels():
    (call, *_) = calls(get("00_start_here"), "tile_ranges")
    assert not call.launches_kernels


def test_sizes_are_rounded_up_together():
    """Kills: rounding one of two sizes that must agree; touching an argument that is no tensor."""
    case = tritonbook.case("c", a=tritonbook.tensor(3, 300), b=tritonbook.tensor(300, 1), n=70)
    rounded = architectures.aligned(case)
    assert rounded.arguments["a"].shape == (16, 304) and rounded.arguments["b"].shape == (304, 1)
    assert rounded.arguments["n"] == 70 and case.arguments["a"].shape == (3, 300)
