"""The A100 model against numbers worked out by hand."""

import pytest
from paper_results import row, stored

from benchmarks import a100


def test_bound_by_memory_on_both():
    """Kills: the two bandwidths swapped, or GB/s read as GiB/s."""
    # 3.35 GB take 1 ms of the H100's sheet; a call of 2 ms reached half of it. On the A100 the
    # sheet allows 3.35 / 2039 s = 1.64296 ms; at half of that, 3.28592 ms.
    assert a100.share(2.0, 3.35e9, 0) == pytest.approx(0.5)
    assert a100.expected_ms(2.0, 3.35e9, 0) == pytest.approx(3.28592, rel=1e-5)


def test_bound_by_arithmetic_on_both():
    """Kills: the rate with sparsity in place of the dense one."""
    # 989.5 GFLOP take 1 ms of the H100's sheet and 989.5 / 312 = 3.171474 ms of the A100's.
    assert a100.share(1.25, 1e6, 989.5e9) == pytest.approx(0.8)
    assert a100.expected_ms(1.25, 1e6, 989.5e9) == pytest.approx(3.964343, rel=1e-6)


def test_a_call_between_the_two_ridges_changes_its_limit():
    """Kills: one ratio for each kind of kernel, whatever its operations per byte."""
    # 200 operations per byte: 1 GB takes 0.298507 ms of the H100's memory, 200 GFLOP 0.202122 ms
    # of its arithmetic. On the A100 0.490436 and 0.641026 ms: arithmetic decides there.
    assert a100.share(0.298507, 1e9, 200e9) == pytest.approx(1, rel=1e-5)
    assert a100.expected_ms(0.298507, 1e9, 200e9) == pytest.approx(0.641026, rel=1e-5)


def compiled(key, arch, registers, op="double", case="200 fp32"):
    kernel = {"name": f"{key}_kernel", "registers": registers, "spills": 0, "shared_bytes": 8}
    kernel |= {"occupancy": 1.0}
    return {"op": op, "case": case, "key": key, "arch": arch, "kernels": [kernel]}


def test_facts_are_of_the_same_problem_on_sm_80():
    """Kills: the facts of a check, which is small; of another problem, GPU or function."""
    known = [
        compiled("double", 80, 99, op=""),
        compiled("double", 80, 99, case="300 fp32"),
        compiled("double", 90, 99),
        compiled("other", 80, 99),
        compiled("double", 80, 30),
    ]
    (kernel,) = a100.facts(known, "double", "200 fp32", "double")
    assert kernel["name"] == "double_kernel" and kernel["registers"] == 30
    assert a100.facts(known, "double", "200 fp32", "nobody") == []


def test_the_table_says_model_and_leaves_out_calls_far_from_their_floor():
    """Kills: a figure that reads as measured; a launch's time scaled by a bandwidth."""
    data = stored(row("double", 2.0, True, percent=90.0), gpu=a100.MEASURED_ON)
    text = a100.section(data, [compiled("double", 80, 20)])
    assert "a model, not measured" in text.splitlines()[0]
    assert "| A100, model, not measured |" in text
    # 1 GB: 0.298507 of 2 ms is 15 % of the H100's sheet; 0.490436 ms of the A100's over that share.
    assert "| 90 % | 15 % | 2 ms | 3.29 ms | 1.64 | `double_kernel`: 20 r, no spills, 8 B" in text
    far = stored(row("double", 2.0, True, percent=49.0), gpu=a100.MEASURED_ON)
    text = a100.section(far, [])
    assert "neither rate decides: `double` 200 fp32 (49 %)." in text and "3.29" not in text


def test_another_gpus_results_get_no_model():
    """Kills: an H100's data sheet applied to figures of another GPU."""
    assert a100.section(stored(row("double", 2.0, True), gpu="NVIDIA H100 PCIe"), []) == ""


def test_a_problem_that_was_not_compiled_is_said_to_be():
    data = stored(row("double", 2.0, True, percent=90.0), gpu=a100.MEASURED_ON)
    assert "| not compiled |" in a100.section(data, [])
