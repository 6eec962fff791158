"""Page 91: the facts show each patient's complaint, and with the mend it is gone."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

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


def test_columns_in_narrow_blocks_are_no_mend():
    """Kills: patient B as it came, in blocks of 16 columns: 32 programs, and not 2,048."""
    narrow = named("tall_sums").replace("block=64):", "block=16):")
    assert judged(PAGE, "tall_sums", narrow).finding.code == "slow"


def test_proton_s_figures():
    """Proton's nanoseconds of five calls on an H100, and the microseconds and GB/s of the text."""
    (text,) = [c.source for c in PAGE.cells if "Proton, one call" in c.source]
    for row, ns, moved in (
        ("scale_columns", (8_226_606, 933_840), 2 * 8192**2 * 4 + 8192 * 4),
        ("tall_sums", (23_858_713, 516_297 + 5_695), 2**17 * 512 * 4),
        ("clip_gradient", (4_930 + 5_470 + 9_505, 4_865 + 5_760 + 9_089), 0),
    ):
        (line,) = [line for line in text.splitlines() if line.startswith(f"# {row}"[2:])]
        for each in ns:
            us = each / 5000
            assert f"{us:,.0f} us" in line or f"{us:.1f} us" in line, (line, us)
            assert not moved or f"{5 * moved / each:,.0f} GB/s" in line, (line, 5 * moved / each)


def test_the_cell_of_proton(monkeypatch, capsys):
    """On a GPU, with a file as Proton wrote it there: the bytes of five calls by their time."""
    (cell,) = [c.source for c in PAGE.cells if "import triton.profiler" in c.source]
    helper = next(c.source for c in PAGE.cells if "def require_contiguous(" in c.source)
    typed = ["", helper, AS_IT_CAME["tall_sums"], MENDED["scale_columns"], MENDED["tall_sums"]]

    def with_proton(command, cwd, check):
        text = Path(cwd, command[1]).read_text()
        compile(text, "patients.py", "exec")
        assert MENDED["tall_sums"] in text and AS_IT_CAME["tall_sums"] not in text
        scopes = [
            {
                "frame": {"name": name, "type": "function"},
                "metrics": {"bytes": moved},
                "children": [
                    {"frame": {"name": "a"}, "metrics": {"count": 5, "time (ns)": 4000}},
                    {"frame": {"name": "b"}, "metrics": {"count": 5, "time (ns)": 6000}},
                ],
            }
            for name, moved in (("scale_columns", 40_000), ("tall_sums", 160_000))
        ]
        root = {"frame": {"name": "ROOT"}, "metrics": {"count": 0}, "children": scopes}
        Path(cwd, "patients.hatchet").write_text(json.dumps([root, {"CUDA": {}}]))

    notebook = SimpleNamespace(user_ns={"In": [*typed, cell]})
    monkeypatch.setattr("IPython.get_ipython", lambda: notebook)
    monkeypatch.setattr("subprocess.run", with_proton)
    exec(compile(cell, "cell", "exec"), {"DEVICE": "cuda"})
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["scale_columns", "2", "us", "4", "GB/s"],
        ["tall_sums", "2", "us", "16", "GB/s"],
    ]
