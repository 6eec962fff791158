"""Every missed target is explained or said to be unexplained, and its profile is shown."""

import json

import paper_ncu
import pytest
from paper_results import row, stored

from benchmarks import counters, misses, report, results
from benchmarks.op import all_ops

MISSED = {"peer": "eager", "least": 1.2, "reached": 0.9, "met": False}
MET = {"peer": "slow", "least": 1.0, "reached": 3.0, "met": True}
ENTRY = {
    "operation": "double",
    "problem": "200 fp32",
    "what": "larger tiles",
    "gain": 1.25,
    "kept": True,
    "where": "Paper GPU, results/paper.json",
}


def data():
    rows = row("double", 1.0, ours=True), row("eager", 0.9), row("slow", 3.0)
    return stored(*rows, targets=[MISSED, MET])


def a_profile():
    records = [counters.record(each) for each in counters.parse(paper_ncu.two_providers())]
    by_name = counters.between(records, paper_ncu.MARKER, ["double", "eager"])
    providers = [{"name": name, "kernels": kernels} for name, kernels in by_name.items()]
    return {
        "operation": "double",
        "problem": "200 fp32",
        "date": "2026-01-01",
        "ncu": "2025.3.1.0",
        "versions": {"torch": "9.9", "triton": "8.8"},
        "providers": [*providers, {"name": "liger", "reason": "not installed"}],
    }


def section(profiles=(), tried=()):
    return misses.section(data(), profiles, {"tried": list(tried)})


def test_a_missed_target_says_what_was_tried_and_what_it_gained():
    """Kills: a gain upside down or without its place; a met target among the missed."""
    text = section(tried=[{**ENTRY, "ms": [5.0, 4.0]}, {**ENTRY, "gain": 0.9, "kept": False}])
    assert "Asked for 1.20 of eager: 0.90 reached." in text and "slow" not in text
    assert (
        "- larger tiles: gain 1.25 (5 to 4 ms, kept; Paper GPU, results/paper.json)\n"
        "- larger tiles: gain 0.90 (not kept; Paper GPU, results/paper.json)"
    ) in text


def test_a_missed_target_that_nobody_looked_into_says_so():
    """Kills: what was tried for one problem shown for another."""
    assert "Not yet looked into." in section(tried=[{**ENTRY, "problem": "300 fp32"}])
    assert "Not yet looked into." not in section(tried=[ENTRY])


def test_a_profile_stands_beside_the_miss():
    """Kills: our kernels and the peer's not in one table; holes as zero; a small kernel hidden."""
    text = section([a_profile()])
    assert (
        "| `double` | `rmsnorm_row_kernel` | 16384 x 256 | 94.18 us | 134.3 + 67.11 MB | 88 % "
        "| 22 % | 0 % | 71 % | 33 % | 38 | 1056 | long scoreboard 60 %, wait 15 %, barrier 10 % |"
    ) in text
    holes = " | ".join(["n/a"] * 8)
    assert (
        f"| `eager` | `vectorized_layer_norm` | 16384 x 256 | 9 us | n/a + n/a MB | {holes} |"
        in text
    )
    assert "Profiled with ncu 2025.3.1.0, torch 9.9, Triton 8.8, 2026-01-01. " in text
    assert "eager: 2 kernels, 10 us. liger: not profiled, not installed." in text


def test_kernels_that_hardly_count_are_counted_and_not_listed():
    """Kills: a page of copies that hides the kernel that matters, or drops their time."""
    profile = a_profile()
    small = {**profile["providers"][1]["kernels"][1], "ns": 100.0}
    profile["providers"][1]["kernels"][1:] = [small, small]
    text = misses.table(profile)
    assert "splitKreduce" not in text
    assert "eager: 3 kernels, 9.2 us, 2 not listed (0.2 us)." in text


def test_without_profiles_no_table_and_without_misses_no_section():
    assert "ncu" not in section() and "| who |" not in section()
    assert "Nsight" not in section([{**a_profile(), "problem": "300 fp32"}])
    met = stored(row("double", 1.0, ours=True), row("slow", 3.0), targets=[MET])
    assert misses.section(met, [a_profile()], {"tried": [ENTRY]}) == ""


def test_the_report_holds_the_section_after_the_losses():
    text = report.page(data(), {}, [], "paper", [a_profile()], {"tried": [ENTRY]})
    losses, tried = text.index("## Where a peer is faster"), text.index("## Missed targets")
    assert losses < tried < text.index("## Not in this run")
    assert "`rmsnorm_row_kernel`" in text and "larger tiles: gain 1.25" in text


def test_the_report_command_reads_profiles_and_what_was_tried(tmp_path, monkeypatch):
    """Kills: a page that leaves out the file beside the results."""
    path = tmp_path / "paper.json"
    path.write_text(json.dumps(data()))
    misses.write_profiles(misses.profiles_path(path), "Paper GPU", [a_profile()])
    monkeypatch.setattr(misses, "TRIED", tmp_path / "tried.json")
    misses.TRIED.write_text(json.dumps({"tried": [ENTRY], "not_yet": []}))
    assert report.main([str(path)]) == 0
    text = (tmp_path / "paper.md").read_text()
    assert "`rmsnorm_row_kernel`" in text and "larger tiles: gain 1.25" in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"gain": "much"}, "entry 1 of `tried` needs 'gain', a float"),
        ({"what": None}, "needs 'what', a str"),
        ({"when": "today"}, "holds 'when', which no report shows"),
        ({"ms": [4.0, 5.0]}, "says a gain of 1.25, but 4.0 ms over 5.0 ms is another"),
    ],
)
def test_a_wrong_entry_is_one_sentence(tmp_path, change, says):
    """Kills: a gain that its own milliseconds contradict; a misspelt field that vanishes."""
    path = tmp_path / "tried.json"
    path.write_text(json.dumps({"tried": [{**ENTRY, **change}], "not_yet": []}))
    with pytest.raises(ValueError, match=says):
        misses.read_tried(path)


@pytest.mark.parametrize("text", ["{", "[]", '{"tried": []}'])
def test_a_file_that_is_none_is_one_sentence(tmp_path, capsys, monkeypatch, text):
    """Kills: a traceback of the report for a slip in a hand-kept file."""
    path = tmp_path / "paper.json"
    path.write_text(json.dumps(data()))
    monkeypatch.setattr(misses, "TRIED", tmp_path / "tried.json")
    misses.TRIED.write_text(text)
    assert report.main([str(path)]) == 2
    misses.TRIED.write_text('{"tried": [], "not_yet": []}')
    misses.profiles_path(path).write_text(text.replace("tried", "other"))
    assert report.main([str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_every_missed_target_was_tried_or_is_listed_as_not_yet():
    """Kills: a miss that the stored results show and nobody answers for."""
    kept = misses.read_tried(misses.TRIED)
    tried, not_yet = ({(e["operation"], e["problem"]) for e in kept[key]} for key in kept)
    for path in report.stored():
        for miss in misses.problems(report.read(path)["ops"]):
            assert miss in tried | not_yet, f"{miss} of {path.name} is not in {misses.TRIED.name}"
    assert not tried & not_yet
    there = {(name, problem.label) for name, op in all_ops().items() for problem in op.problems}
    assert tried | not_yet <= there


def test_milliseconds_of_what_was_tried_stand_where_it_says():
    """Kills: a gain from memory."""
    for entry in misses.read_tried(misses.TRIED)["tried"]:
        for place in results.DIRECTORY.glob("*.json"):
            if place.name in entry["where"]:
                text = place.read_text()
                assert all(f"{ms:g}" in text for ms in entry.get("ms", ())), entry["what"]
