"""Page 93: the facts show each patient's complaint, and with the mend it is gone."""

from __future__ import annotations

import csv

import pytest
import torch
from patients import as_it_came, judged, mended

from tritonbook import facts, traffic
from tritonbook.course.exercises import get, load

PAGE = get("93_profile_hard")
AS_IT_CAME = as_it_came(PAGE)
MENDED = mended(PAGE)


def both(key: str):
    """The patient as it came, and mended."""
    return getattr(load(PAGE, {key: AS_IT_CAME[key]}), key), getattr(load(PAGE), key)


@pytest.mark.parametrize(("warps", "least", "most"), [(1, 1000, 1e9), (2, 1, 1e9), (4, 0, 0)])
def test_patient_e_spills_and_its_prediction(warps, least, most):
    text = AS_IT_CAME["softmax_wide"].replace("num_warps = 1\n", f"num_warps = {warps}\n")
    (found,) = facts(load(PAGE, {"softmax_wide": text}).softmax_wide, torch.empty(64, 16384))
    assert least <= found.spills <= most
    assert warps > 1 or found.occupancy >= 0.5  # it says nothing of what ails E


def test_patient_f_has_no_tensor_cores():
    tiles = torch.empty(2, 256, 256, dtype=torch.float16)
    ill, well = (facts(fn, *tiles)[0] for fn in both("half_matmul"))
    assert (ill.tensor_cores, ill.spills) == (0, 0)
    assert well.tensor_cores > 0 and well.tf32 == 0


def test_patient_g_computes_in_float64():
    ill, well = (facts(fn, torch.empty(2**20))[0] for fn in both("gelu_digits"))
    assert ill.float64 > 100 and well.float64 == 0
    assert ("float64 instructions", str(ill.float64)) in ill.rows()
    assert "float64" not in str(well.rows())
    assert ill.vector_loads == ill.loads and not ill.spills
    behind_u = AS_IT_CAME["gelu_digits"].replace(
        "* x * x * x)\n", "* x * x * x)\n    u = u.to(tl.float32)\n"
    )
    kept = facts(load(PAGE, {"gelu_digits": behind_u}).gelu_digits, torch.empty(2**20))[0]
    assert 0 < kept.float64 < ill.float64 / 4  # the prediction: a few, the exponential was most


def test_patient_h_multiplies_everything():
    a, b = torch.randn(256, 256).half(), torch.randn(256, 64).half()
    ill, well = (traffic(fn, a, b, tile=32) for fn in both("lower_matmul"))
    assert ill.flops == 2 * 256 * 256 * 64 and well.flops == ill.flops * 36 // 64
    assert not ill.findings and ill.bytes > well.bytes


def test_the_mask_of_patient_h_takes_its_loads_apart():
    """Kills: a text that blames the tiles of zeros alone: an earlier end leaves such loads."""
    tiles = torch.empty(256, 256).half(), torch.empty(256, 64).half()
    (ill,), (well,) = (facts(fn, *tiles) for fn in both("lower_matmul"))
    assert 2 * ill.vector_loads < ill.loads and 2 * well.vector_loads > well.loads
    earlier = AS_IT_CAME["lower_matmul"].replace(
        "start, end = 0, T", "start, end = 0, tl.minimum(first + BLOCK_T, T)"
    )
    (kept,) = facts(load(PAGE, {"lower_matmul": earlier}).lower_matmul, *tiles)
    assert (kept.loads, kept.vector_loads) == (ill.loads, ill.vector_loads)


def test_the_arithmetic_of_patient_g():
    """The prediction: 24 instructions for each number, on an L4 and on an H100."""
    ill, _ = (facts(fn, torch.empty(2**20))[0] for fn in both("gelu_digits"))
    each = ill.float64 / (1024 / (32 * ill.warps))
    assert each == pytest.approx(24, abs=2)
    assert 2**26 * each / (58 * 2 * 2e9) == pytest.approx(7e-3, rel=0.15)
    assert 2**26 * each / (132 * 64 * 1.7e9) == pytest.approx(0.11e-3, rel=0.15)


def test_what_the_hardware_counted():
    """Each sentence below ncu's table, from the table."""
    (cell,) = [c.source for c in PAGE.cells if "NCU = " in c.source]
    rows = list(csv.DictReader(cell.split('"""')[1].splitlines()))
    found = {(row["patient"], row["state"]): row for row in rows}
    for (patient, state), row in found.items():
        for column, value in row.items():
            if column not in ("patient", "state"):
                found[patient, state][column] = int(value)
    assert {patient for patient, _ in found} == set(PAGE.answers())

    e, f, g, h = (
        [found[patient, state] for state in ("came", "mended")]
        for patient in ("softmax_wide", "half_matmul", "gelu_digits", "lower_matmul")
    )
    assert e[0]["local"] == pytest.approx(64e6, rel=0.01) and e[1]["local"] == 0
    assert e[0]["local"] * 32 == pytest.approx(2e9, rel=0.02)
    x_and_y = 2 * 4096 * 16384 * 4
    assert x_and_y == pytest.approx(0.5e9, rel=0.08)
    assert f[0]["tensor"] < 0.03 * f[1]["tensor"] and f[1]["tensor"] == 2**19
    assert 2048**3 / f[1]["tensor"] == 2**33 / 2**19 == 16_384
    assert g[0]["fp64"] == pytest.approx(55e6, rel=0.01) and g[1]["fp64"] == 0
    assert g[0]["fp64"] * 32 / 2**26 == pytest.approx(26, abs=0.1)
    assert h[1]["tensor"] == pytest.approx(h[0]["tensor"] / 2, rel=0.02)
    assert h[1]["lsu"] == pytest.approx(h[0]["lsu"] / 6, rel=0.05)
    assert h[1]["ns"] == pytest.approx(h[0]["ns"] / 5, rel=0.1)


def test_halves_of_another_kind_are_refused():
    """Kills: tiles made float16 whatever they are: bfloat16 reaches further."""
    for dtype in ("float16", "bfloat16"):
        text = MENDED["half_matmul"].replace(
            "(a, b, acc)", f"(a.to(tl.{dtype}), b.to(tl.{dtype}), acc)"
        )
        assert judged(PAGE, "half_matmul", text).finding.code == f"{dtype}-tiles"
