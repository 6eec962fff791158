"""The committed report is what its results give, and hides no loss and no gap."""

import json
from dataclasses import replace

import pytest
from paper_results import row, stored
from PIL import Image

from benchmarks import pictures, report, results
from benchmarks.op import Op, Problem, Provider, peer

OP = Op(
    "double",
    "00_none",
    [Problem("200 fp32", lambda device: (), bytes=1e9)],
    exact=abs,
    providers={"double": Provider(lambda: abs, ours=True), "eager": peer(abs)},
)


def page(data, ops=None):
    return report.page(data, ops or {"double": OP}, "paper")


def section(text, title):
    return text.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize("path", report.stored(), ids=lambda path: path.stem)
def test_the_committed_report_is_what_the_command_gives(path):
    """Kills: results or operations that changed while the page did not; a list of losses that is
    cut at a number of lines, or at a smallest difference."""
    data = results.read(path)
    text = report.page(data, report.all_ops(), path.stem)
    hint = "stale: run python -m benchmarks.report"
    assert path.with_suffix(".md").read_text(encoding="utf-8") == text, hint
    with Image.open(path.with_name(f"{path.stem}_ratios.png")) as picture:
        assert picture.text["Description"] == pictures.stamp(data), hint
    lost = {key: value for key, value in results.ratios(data["ops"]).items() if value < 1}
    losses = section(text, "Where a peer is faster")
    assert losses.count("\n- ") == len(lost)
    for name, label, rival in lost:
        assert f"`{name}` {label}: **{rival}** takes " in losses


def test_a_case_in_which_a_peer_wins_is_named_with_its_ratio():
    """Kills: a list of losses that leaves one out, or the ratio upside down."""
    text = page(stored(row("double", 2.0, ours=True), row("eager", 1.0), row("slow", 3.0)))
    losses = section(text, "Where a peer is faster")
    assert "1 of 2 comparisons" in losses
    assert "`double` 200 fp32: **eager** takes 0.50 of our time\n" in losses
    assert "slow" not in losses
    assert "| **0.50** (0.41 to 0.61) | 1.50 (1.23 to 1.83) |" in text


def test_what_our_other_solutions_reach_is_said_where_a_target_was_set():
    """Kills: a target met by one kernel that passes for another's speed; a ratio upside down."""
    rows = row("double", 4.0, ours=True), row("quick", 2.0, ours=True), row("eager", 3.0)
    target = {"peer": "eager", "least": 1.0, "reached": 1.5, "met": True, "on_device": False}
    line = "- `double` 200 fp32, eager against others of ours: `double` 0.75\n"
    assert line in page(stored(*rows, targets=[target]))
    assert "others of ours" not in page(stored(*rows))
    assert "others of ours" not in page(stored(*rows[1:], targets=[target]))
    assert "others of ours" not in page(stored(*rows, targets=[target | {"on_device": True}]))


def test_a_narrow_loss_is_not_rounded_to_a_draw():
    """Kills: 0.9996 printed as 1.00."""
    text = page(stored(row("double", 1.0, ours=True), row("eager", 0.9996)))
    assert "takes 0.9996 of our time, within the spread" in text
    assert "**0.9996**" in text and results.shown(1.0004) == "1.00"


def test_a_loss_of_short_calls_shows_the_kernels_alone():
    """Kills: the device's ratio upside down, or taken from our slower solution."""
    ours = row("double", 2.0, True, device_ms=0.4), row("other", 2.1, True, device_ms=0.2)
    losses = section(
        page(stored(*ours, row("eager", 1.0, device_ms=0.3))), "Where a peer is faster"
    )
    assert "; kernels alone 1.50" in losses


def test_without_a_loss_the_section_says_so():
    text = page(stored(row("double", 1.0, ours=True), row("eager", 2.0)))
    assert section(text, "Where a peer is faster").strip() == "Nowhere."


def test_targets_and_refusals_are_shown():
    """Kills: a missed target or a refused provider left out of the page."""
    targets = [
        {"peer": "eager", "least": 1.2, "reached": 1.0, "met": False, "on_device": False},
        {"peer": "gone", "least": 1.1, "reached": None, "met": None, "on_device": False},
        {"peer": "eager", "least": 1.05, "reached": 1.2, "met": True, "on_device": True},
    ]
    refused = {"name": "gone", "ours": False, "state": "refused", "reason": "is off by 1"}
    text = page(stored(row("double", 1.0, True), row("eager", 1.0), refused, targets=targets))
    assert (
        "1.20 of eager **missed**; 1.10 of gone open, not run; 1.05 of eager on the device met"
        in text
    )
    assert "`double` 200 fp32, gone: refused, is off by 1" in text


def test_peak_memory_of_attention_and_of_the_layer_is_shown():
    """Kills: MB for MiB; the peak of our slower solution for ours; a page that needs the figure,
    which older files lack; operations whose memory is no point."""
    rows = (
        row("cudnn", 1.0, peak_bytes=3 * 2**20),
        row("flash_fwd", 1.0, ours=True, peak_bytes=2 * 2**20),
        row("slower", 2.0, ours=True, peak_bytes=2**20),
        row("eager", 1.0, peak_bytes=2**31),
        row("old", 1.0),
    )
    data = stored(*rows)
    assert "Peak memory" not in page(data)
    data["ops"]["flash_fwd"] = data["ops"].pop("double")
    memory = section(page(data), "Peak memory of a call")
    assert "| problem | ours | cudnn | eager |" in memory
    assert "| `flash_fwd` 200 fp32 | 2 MiB | 3 MiB | 2,048 MiB |" in memory
    without = [{k: v for k, v in row.items() if k != "peak_bytes"} for row in rows]
    data["ops"]["flash_fwd"]["problems"][0]["rows"] = without
    assert "Peak memory" not in page(data)


def test_what_has_no_figure_is_named():
    """Kills: an operation, a problem or a peer that vanishes from the page."""
    longer = replace(OP, problems=[*OP.problems, Problem("300 fp32", abs, bytes=1)])
    ops = {"double": longer, "triple": replace(OP, name="triple")}
    missing = section(page(stored(row("double", 1.0, True)), ops), "Not in this run")
    assert "- `triple` (00_none): 200 fp32" in missing
    assert "- `double` 300 fp32" in missing
    assert "- `double` 200 fp32: eager" in missing


def test_versions_date_and_rates_are_shown():
    data = stored(row("double", 1.0, True))
    run = "| 2026-01-01 | 9.9 | 8.8 | 3.99 | 1000 GB/s | 100 TFLOP/s |"
    assert f"{run} `double` |" in page(data)


def test_the_command_writes_the_page_and_its_picture(tmp_path, monkeypatch):
    """Kills: a picture that fails on a peer, an operation or a ratio that it has not met."""
    path = tmp_path / "paper.json"
    data = stored(row("double", 1.0, True), row("stranger", 90.0), row("eager", 0.2))
    more = stored(row("double", 1.0, True), row("cudnn", 0.5), flops=1e12)
    data["ops"]["product"] = more["ops"]["double"]
    path.write_text(json.dumps(data))
    monkeypatch.setattr(results, "DIRECTORY", tmp_path)
    monkeypatch.setattr("sys.argv", ["report"])
    report.main()
    assert (tmp_path / "paper.md").read_text().startswith("# The workbook's solutions on Paper GPU")
    with Image.open(tmp_path / "paper_ratios.png") as picture:
        assert picture.size[0] > 600 and picture.text["Description"].startswith("data ")


def test_the_readme_says_what_the_results_say():
    """Kills: a public sentence that counts an older run; a search for results that finds none, and
    with it a test of committed reports that runs never."""
    path = results.DIRECTORY / "nvidia_h100_80gb_hbm3.json"
    assert path in report.stored()
    ratios = results.ratios(results.read(path)["ops"])
    text = " ".join((results.DIRECTORY.parents[1] / "README.md").read_text().split())
    lost = sum(value < 1 for value in ratios.values())
    assert f"a peer is faster in {lost} of {len(ratios)} comparisons" in text
