"""Page 91: Proton's figures and its cell."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

from patients import as_it_came, mended

from tritonbook.course.exercises import get

PAGE = get("91_profile")
AS_IT_CAME = as_it_came(PAGE)
MENDED = mended(PAGE)


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
