"""Page 91: the facts show each patient's complaint, and with the mend it is gone."""

from __future__ import annotations

import pytest
import torch
from patients import as_it_came, judged, symptom

from tritonbook import facts, traffic
from tritonbook.course import gaps
from tritonbook.course.exercises import get, load

PAGE = get("91_profile")
AS_IT_CAME = as_it_came(PAGE)
MENDED = {key: gaps.solved_text(cell.source) for key, cell in PAGE.answers().items()}


def named(key: str) -> str:
    """The patient as it came, with its cause named."""
    stub = f'raise NotImplementedError("TODO: fill in {key}_cause")'
    return AS_IT_CAME[key].replace(stub, MENDED[key].rstrip().splitlines()[-1].strip())


@pytest.mark.parametrize(
    ("key", "ill", "well"),
    [
        (
            "scale_columns",
            ("asked for 33,280 bytes, moved 266,240", "0 of them vectors"),
            ("asked for 49,152 bytes, moved 49,152", "4, 4 of them vectors"),
        ),
        ("tall_sums", ("grid of programs          8\n",), ("8 × 256",)),
        (
            "average_step",
            ("{'n': 1000, 'decay': 0.18", "{'n': 1000, 'decay': 0.25", "{'n': 1001"),
            (
                "step 1, 1000 numbers: compiled for {'BLOCK': 1024}",
                "1001 numbers: compiled for {'B",
            ),
        ),
        ("clip_gradient", ("read by Python: 1",), ("read by Python: 0",)),
    ],
)
def test_the_complaint_is_there_and_goes_with_the_mend(key: str, ill, well, capsys):
    came, mended = (
        symptom(PAGE, key, AS_IT_CAME[key], capsys),
        symptom(PAGE, key, MENDED[key], capsys),
    )
    assert all(words in came for words in ill), came
    assert all(words in mended for words in well), mended


@pytest.mark.parametrize("key", tuple(PAGE.answers()))
def test_a_patient_s_values_are_right(key: str):
    """Kills: a patient that is wrong, and not only slow."""
    report = judged(PAGE, key, named(key))
    assert report.state == "wrong" and report.finding.code in ("slow", "property")
    assert report.finding.code == "property" or report.gates["values"] == "passed"


def test_eight_times_by_the_sector():
    """The prediction of patient A: 32 bytes for each float32."""
    fn = load(PAGE, {"scale_columns": AS_IT_CAME["scale_columns"]}).scale_columns
    seen = traffic(fn, torch.randn(64, 64), torch.randn(64), block=32)
    assert seen.moved == 8 * seen.bytes


def test_two_kernels_for_all_lengths():
    """The prediction of patient C: multiples of 16, and the others."""
    fn = load(PAGE, {"average_step": MENDED["average_step"]}).average_step
    texts = set()
    for n in (1000, 1001, 1007, 1008, 1024):
        for step in (2, 3):
            (kernel,) = facts(fn, torch.empty(n), torch.empty(n), step)
            texts.add(kernel.ptx)
    assert len(texts) == 2
